//! Tells code from comments and literals, so that a rule may be spoken of without being broken.
//!
//! It knows as much of Rust's grammar as that takes, and no more.

/// Blanks comments and the insides of string and character literals; every newline stays.
///
/// The result has the length of the input, so a place in one is the same place in the other.
pub(crate) fn only(text: &str) -> String {
    let mut rest = text.as_bytes();
    let mut code = Vec::with_capacity(text.len());
    let mut in_word = false;
    while let Some(&byte) = rest.first() {
        let blank = comment(rest)
            .or_else(|| literal(rest, in_word))
            .unwrap_or(0)
            .min(rest.len());
        let take = blank.max(1);
        code.extend(rest[..take].iter().map(|&byte| {
            if byte == b'\n' || blank == 0 {
                byte
            } else {
                b' '
            }
        }));
        in_word = blank == 0 && is_word(byte);
        rest = &rest[take..];
    }
    String::from_utf8(code).expect("only whole characters are blanked")
}

/// Finds `word` where it stands alone, and gives its offsets.
pub(crate) fn find_word(code: &str, word: &str) -> Vec<usize> {
    let starts_in_word = word.bytes().next().is_some_and(is_word);
    let ends_in_word = word.bytes().last().is_some_and(is_word);
    code.match_indices(word)
        .map(|(offset, _)| offset)
        .filter(|&offset| {
            let before = code[..offset].bytes().last().is_some_and(is_word);
            let after = code[offset + word.len()..]
                .bytes()
                .next()
                .is_some_and(is_word);
            !(starts_in_word && before || ends_in_word && after)
        })
        .collect()
}

/// Gives what stands between the bracket that opens at the start of `code` and its partner.
pub(crate) fn bracketed(code: &str) -> &str {
    let mut depth = 0_usize;
    for (offset, byte) in code.bytes().enumerate() {
        match byte {
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' if depth <= 1 => return &code[1.min(offset)..offset],
            b')' | b']' | b'}' => depth -= 1,
            _ => {}
        }
    }
    code
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || !byte.is_ascii()
}

/// Measures the comment that starts here.
fn comment(rest: &[u8]) -> Option<usize> {
    if rest.starts_with(b"//") {
        return Some(
            rest.iter()
                .position(|&byte| byte == b'\n')
                .unwrap_or(rest.len()),
        );
    }
    if !rest.starts_with(b"/*") {
        return None;
    }
    let (mut depth, mut end) = (0_usize, 0);
    loop {
        match rest.get(end..end + 2) {
            None => return Some(rest.len()),
            Some(b"/*") => (depth, end) = (depth + 1, end + 2),
            Some(b"*/") if depth == 1 => return Some(end + 2),
            Some(b"*/") => (depth, end) = (depth - 1, end + 2),
            Some(_) => end += 1,
        }
    }
}

/// Measures the string or character literal that starts here.
fn literal(rest: &[u8], in_word: bool) -> Option<usize> {
    match rest {
        [b'"', ..] => Some(quoted(rest, b'"')),
        [b'\'', b'\\', ..] => Some(quoted(rest, b'\'')),
        [b'\'', tail @ ..] => character(tail).map(|length| length + 2),
        [b'r', tail @ ..] if !in_word => raw(tail).map(|length| length + 1),
        [b'b' | b'c', b'r', tail @ ..] if !in_word => raw(tail).map(|length| length + 2),
        _ => None,
    }
}

fn quoted(rest: &[u8], quote: u8) -> usize {
    let mut end = 1;
    while let Some(&byte) = rest.get(end) {
        match byte {
            b'\\' => end += 2,
            byte if byte == quote => return end + 1,
            _ => end += 1,
        }
    }
    end
}

/// Measures one character that a quote follows; without the quote it is a lifetime.
fn character(tail: &[u8]) -> Option<usize> {
    let next = tail.iter().skip(1).position(|&byte| byte & 0xC0 != 0x80)? + 1;
    (tail[next] == b'\'').then_some(next)
}

/// Measures a raw string from its first `#` or quote; anything else is a raw identifier.
fn raw(tail: &[u8]) -> Option<usize> {
    let hashes = tail.iter().take_while(|&&byte| byte == b'#').count();
    if tail.get(hashes) != Some(&b'"') {
        return None;
    }
    let mut end = vec![b'"'];
    end.resize(hashes + 1, b'#');
    let body = &tail[hashes + 1..];
    let length = body.windows(end.len()).position(|window| window == end);
    Some(length.map_or(tail.len(), |length| hashes + 1 + length + end.len()))
}

#[test]
fn comments_and_literals_are_blanked_and_code_is_kept() {
    for (text, expected) in [
        ("a // b\nc", "a     \nc"),
        ("a /* b /* c */ d */ e", "a                   e"),
        (r#"f("b\"c", d)"#, "f(      , d)"),
        (r##"f(r#"b"c"#, d)"##, "f(        , d)"),
        (r#"f(br"b", d)"#, "f(     , d)"),
        ("r#type + bar\"x\"", "r#type + bar   "),
        ("f('\"', '\\'', 'ä', b)", "f(   ,     ,     , b)"),
        ("fn f<'a>(b: &'a str)", "fn f<'a>(b: &'a str)"),
        ("\"a\nb\" c", "  \n   c"),
        ("\"never ends", "           "),
        ("\"never ends\\", "            "),
        ("/* never ends", "             "),
    ] {
        assert_eq!(only(text), expected, "{text}");
    }
}

#[test]
fn word_is_found_only_as_a_whole_word() {
    assert_eq!(
        find_word("Instant Instants my_Instant ::Instant", "Instant"),
        [0, 30]
    );
    assert_eq!(find_word("print!(); sprint!()", "print!("), [0]);
}

#[test]
fn brackets_are_matched() {
    assert_eq!(bracketed("(a(b)c) d"), "a(b)c");
    assert_eq!(bracketed("{a::{b}} d"), "a::{b}");
}
