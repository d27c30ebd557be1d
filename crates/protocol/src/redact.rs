//! Removes secrets from texts: tokens, passwords, keys.
//!
//! A text can have any format, so secrets are found by their form and by the name before them.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::ops::Range;

use crate::token;

/// The fewest bytes after the prefix of a key.
const SHORTEST_KEY: usize = 10;
/// The fewest bytes after the prefix of a word that is surely a key.
const SURELY_KEY: usize = 16;
/// The fewest bytes after the prefix of a token.
const SHORTEST_TOKEN: usize = 4;
/// How many hexadecimal digits in a row may be the secret part of a token.
const SECRET_DIGITS: usize = 40;
/// Replaces a removed secret.
const TAKEN_OUT: &str = "…";

/// Whether a name is that of a secret: `auth_token`, `X-Api-Key`.
pub fn is_secret_name(name: &str) -> bool {
    let bytes = name.as_bytes();
    let begins_secret = |start: usize| {
        let mut secrets = secret_names(bytes[start].to_ascii_lowercase()).iter();
        secrets.any(|secret| spells(&bytes[start..], secret))
    };
    (0..bytes.len()).any(begins_secret) || is_key(name)
}

/// Whether a text begins with this word, whatever stands between its letters.
fn spells(text: &[u8], word: &str) -> bool {
    let mut letters = text.iter().filter(|letter| letter.is_ascii_alphanumeric());
    word.bytes().all(|letter| {
        letters
            .next()
            .is_some_and(|it| it.to_ascii_lowercase() == letter)
    })
}

/// Parts of the names of secrets that begin with a letter, without separators.
const fn secret_names(first: u8) -> &'static [&'static str] {
    match first {
        b'a' => &["apikey", "accesskey", "authorization"],
        b'b' => &["bearer"],
        b'c' => &["credential", "cookie"],
        b'd' => &["drawseed"],
        b'j' => &["joincode", "jwt"],
        b'p' => &["password", "passwd", "passphrase", "pwd", "privatekey"],
        b's' => &["secret", "sessionid", "sessid"],
        b't' => &["token"],
        _ => &[],
    }
}

/// Whether a name is that of a service's key: `OPENAI_KEY`, `openaiKey`.
fn is_key(name: &str) -> bool {
    let ends = |end: &str| {
        let place = name.len().checked_sub(end.len());
        let last = place.and_then(|place| name.get(place..));
        last.is_some_and(|last| last.eq_ignore_ascii_case(end))
    };
    ends("_key") || ends("-key") || name.ends_with("Key")
}

/// Masks texts that have the form of a secret. This is enough for our own sentences: quotes of a
/// peer in them were [`hidden`] before, and a name with a colon in them is not a secret.
pub fn masked(text: &str) -> Cow<'_, str> {
    masked_by(FORMS, text)
}

/// Masks keys of well-known services and passwords in addresses, and nothing else: for readers who
/// must see tokens, hashes and members as they were written.
pub fn keys_masked(text: &str) -> Cow<'_, str> {
    masked_by([service_key, secret_of_address], text)
}

fn masked_by(forms: [Form; 2], text: &str) -> Cow<'_, str> {
    let mut found = [forms[0](text, 0), forms[1](text, 0)];
    if found == [None, None] {
        return Cow::Borrowed(text);
    }
    let mut shown = String::new();
    let mut end = 0;
    let first = |secret: &&Range<usize>| (secret.start, Reverse(secret.end));
    while let Some(secret) = found.iter().flatten().min_by_key(first).cloned() {
        shown.push_str(&text[end..secret.start]);
        shown.push_str(&token::mask(&text[secret.clone()]));
        end = secret.end;
        // Repeats only the searches whose match was passed, so that the time stays bounded.
        for (found, form) in found.iter_mut().zip(forms) {
            if found.as_ref().is_some_and(|found| found.start < end) {
                *found = form(text, end);
            }
        }
    }
    Cow::Owned(shown + &text[end..])
}

/// Hides secrets in a peer's text, by form and by name; hides the whole text if a structure has the
/// name of a secret.
pub fn hidden(text: &str) -> Cow<'_, str> {
    without_secrets(text).unwrap_or(Cow::Borrowed(TAKEN_OUT))
}

/// As [`hidden`], but `None` if a whole structure has the name of a secret, or is one.
pub fn without_secrets(text: &str) -> Option<Cow<'_, str>> {
    // Few texts have the dashes, and they are found more quickly than the words.
    if text.contains("-----") && text.contains("PRIVATE KEY-----") {
        return None;
    }
    let values = values_by_name(text)?;
    if values.is_empty() {
        return Some(masked(text));
    }
    let mut shown = String::with_capacity(text.len());
    let mut end = 0;
    for value in values {
        shown.push_str(&masked(&text[end..value.start]));
        shown.push_str(&token::mask(&text[value.clone()]));
        end = value.end;
    }
    shown.push_str(&masked(&text[end..]));
    Some(Cow::Owned(shown))
}

/// Characters of words and tokens.
static PARTS: [bool; 256] = {
    let (mut parts, mut letter) = ([false; 256], 0_u8);
    while letter < 128 {
        parts[letter as usize] = letter.is_ascii_alphanumeric() || matches!(letter, b'-' | b'_');
        letter += 1;
    }
    parts
};

fn is_part(letter: u8) -> bool {
    PARTS[usize::from(letter)]
}

/// The next word from a position on. Bytes are enough: no part of a word is in a longer character.
fn next_word(text: &str, from: usize) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    let start = from + bytes[from..].iter().position(|byte| is_part(*byte))?;
    let length = bytes[start..].iter().position(|byte| !is_part(*byte));
    Some(start..length.map_or(text.len(), |length| start + length))
}

/// What follows in a word after the prefix of a well-known service's keys.
fn after_prefixes(word: &str) -> impl Iterator<Item = &str> {
    let prefixes: &[&str] = match word.as_bytes().first() {
        Some(b'A') => &["AKIA", "ASIA", "AIza"],
        Some(b'e') => &["eyJ"],
        Some(b'g') => &[
            "ghp_",
            "gho_",
            "ghs_",
            "ghu_",
            "ghr_",
            "github_pat_",
            "glpat-",
            "gsk_",
        ],
        Some(b'h') => &["hf_"],
        Some(b'r') => &["rk_"],
        Some(b's') => &["sk-", "sk_"],
        Some(b'x') => &["xox"],
        _ => &[],
    };
    prefixes
        .iter()
        .filter_map(|prefix| word.strip_prefix(prefix))
}

/// Finds the first part of a text, from a position on, that has the form of a secret.
type Form = fn(&str, usize) -> Option<Range<usize>>;

const FORMS: [Form; 2] = [secret_word, secret_of_address];

/// Finds user and password in the first address that has them.
fn secret_of_address(text: &str, from: usize) -> Option<Range<usize>> {
    // Few texts have the sign, and it is found quickly.
    if !text[from..].contains('@') {
        return None;
    }
    let mut schemes = text[from..].match_indices("://");
    schemes.find_map(|(place, sign)| {
        let start = from + place + sign.len();
        let rest = &text[start..];
        let ends = |letter: char| letter.is_whitespace() || "/\"'<>".contains(letter);
        let host = &rest[..rest.find(ends).unwrap_or(rest.len())];
        let end = host.rfind('@').filter(|end| *end > 0)?;
        Some(start..start + end)
    })
}

/// Finds the first word that is surely the key of a service: long, and with a digit.
fn service_key(text: &str, from: usize) -> Option<Range<usize>> {
    let mut from = from;
    while let Some(word) = next_word(text, from) {
        let said = &text[word.clone()];
        let has_digit = |rest: &str| rest.bytes().any(|byte| byte.is_ascii_digit());
        if after_prefixes(said).any(|rest| rest.len() >= SURELY_KEY && has_digit(rest)) {
            return Some(word.start..end_of_secret(text, word.end));
        }
        from = word.end;
    }
    None
}

/// Finds the first word that has the form of a secret.
fn secret_word(text: &str, from: usize) -> Option<Range<usize>> {
    let (mut from, mut shown_next) = (from, false);
    while let Some(word) = next_word(text, from) {
        let said = &text[word.clone()];
        let blank = text[from..word.start].bytes().all(|letter| letter == b' ');
        let secret = match shown_next && blank && said.bytes().any(|byte| byte.is_ascii_digit()) {
            true => Some(0),
            false => secret_in(said),
        };
        if let Some(place) = secret {
            let start = word.start + place;
            return Some(start..end_of_secret(text, word.end));
        }
        shown_next = said.eq_ignore_ascii_case("bearer");
        from = word.end;
    }
    None
}

/// The end of a secret that began with a word: some contain more characters than words do. A full
/// stop at the end belongs to the sentence.
fn end_of_secret(text: &str, word: usize) -> usize {
    let more = |letter: u8| is_part(letter) || b".~+/=".contains(&letter);
    let rest = &text[word..];
    let end = rest.bytes().position(|letter| !more(letter));
    let rest = &rest[..end.unwrap_or(rest.len())];
    word + rest.trim_end_matches('.').len()
}

/// The position in a word where a secret begins, if there is one.
fn secret_in(word: &str) -> Option<usize> {
    // Most words are too short for the other checks.
    if word.len() < SHORTEST_TOKEN + 4 {
        return None;
    }
    let token = token_in(word);
    let before = &word[..token.unwrap_or(word.len())];
    let mut runs = before.as_bytes().split(|byte| !byte.is_ascii_hexdigit());
    let is_secret = before.len() >= SECRET_DIGITS && runs.any(|run| run.len() >= SECRET_DIGITS)
        || after_prefixes(before).any(|rest| rest.len() >= SHORTEST_KEY);
    if is_secret { Some(0) } else { token }
}

/// The position in a word where a token begins: `tok-<owner>-<secret>`, separated by `-` or `_`.
fn token_in(word: &str) -> Option<usize> {
    let bytes = word.as_bytes();
    let last = bytes.len().checked_sub(4 + SHORTEST_TOKEN)?;
    (0..=last).find(|&start| {
        // The cheapest question first: every word is searched.
        matches!(bytes[start + 3], b'-' | b'_')
            && bytes[start..start + 3].eq_ignore_ascii_case(b"tok")
            && (start == 0 || !bytes[start - 1].is_ascii_alphanumeric())
    })
}

/// The longest tag that is skipped, in characters.
const MAX_TAG: usize = 256;
/// Words that are never secrets.
const NOTHING: [&str; 3] = ["null", "true", "false"];

/// The value after the name of a secret.
enum NamedValue {
    /// A text at this range.
    Text(Range<usize>),
    /// An object or a list.
    Structure,
}

/// The ranges of the values; `None` if one of them is a whole structure.
fn values_by_name(text: &str) -> Option<Vec<Range<usize>>> {
    let mut values = Vec::new();
    let (mut from, mut before) = (0, 0);
    while let Some(word) = next_word(text, from) {
        // A name may have two words: `API key`.
        let is_next = text[from..word.start]
            .chars()
            .all(|letter| is_mark(letter) && letter != '\n');
        let name = if is_next { before } else { word.start }..word.end;
        let is_end = text[..word.start].ends_with("</");
        (from, before) = (word.end, word.start);
        if is_end || !is_secret_name(&text[name]) {
            continue;
        }
        match value_after(text, &word) {
            Some(NamedValue::Structure) => return None,
            Some(NamedValue::Text(value)) => {
                (from, before) = (value.end, value.end);
                values.push(value);
            }
            None => {}
        }
    }
    Some(values)
}

/// Whether a character can surround a name or a value.
const fn is_mark(letter: char) -> bool {
    matches!(letter, '"' | '\'' | '\\') || letter.is_whitespace()
}

/// The value that follows a name, if there is one.
fn value_after(text: &str, name: &Range<usize>) -> Option<NamedValue> {
    let after = &text[name.end..];
    let is_quoted = after.starts_with(['"', '\'', '\\']);
    let sign = after.trim_start_matches(is_mark);
    let is_listed = sign.starts_with(',') && begins_list(&text[..name.start]);
    let value = match sign.strip_prefix([':', '=', '>']) {
        Some(value) => value.trim_start_matches([':', '=', '>']),
        None if is_listed => &sign[1..],
        None => sign.strip_prefix('<').map(|_| sign)?,
    };
    let value = without_prefix(without_tags(value));
    let start = text.len() - value.len();
    let word = next_word(value, 0).map(|word| &value[word]);
    let says_nothing = |word: &str| value.starts_with(word) && NOTHING.contains(&word);
    let is_next = is_listed && quoted(value).is_none();
    if value.is_empty() || is_next || word.is_some_and(says_nothing) {
        return None;
    }
    if value.starts_with(['{', '[']) {
        return Some(NamedValue::Structure);
    }
    let range = quoted(value).unwrap_or_else(|| {
        let ends: &[char] = match is_quoted {
            true => &[',', '}', ']', '\n'],
            false => &['\n', '<', '"'],
        };
        0..value.find(ends).unwrap_or(value.len())
    });
    let range = start + range.start..start + range.end;
    (!range.is_empty()).then_some(NamedValue::Text(range))
}

/// Whether a text ends where a list begins, as in lists of names and values.
fn begins_list(before: &str) -> bool {
    let quote = before.trim_end_matches(is_mark);
    let quote = quote.strip_suffix(['b', 'u']).unwrap_or(quote);
    quote.ends_with(['(', '['])
}

/// A value without the prefix of a Python literal.
fn without_prefix(value: &str) -> &str {
    let bare = value.strip_prefix(['b', 'u']);
    bare.filter(|bare| bare.starts_with(['"', '\'']))
        .unwrap_or(value)
}

/// The text without leading tags and blanks.
fn without_tags(text: &str) -> &str {
    let mut rest = text.trim_start();
    while let Some(end) = rest.strip_prefix('<').and_then(end_of_tag) {
        rest = rest[end..].trim_start();
    }
    rest
}

/// The length of a tag whose beginning was read, up to its end.
fn end_of_tag(tag: &str) -> Option<usize> {
    let mut letters = tag.char_indices().take(MAX_TAG);
    letters.find_map(|(place, letter)| (letter == '>').then_some(place + 2))
}

/// The inside of a quoted value, which ends with the same quote. A nested text has escaped quotes,
/// and deeper nesting adds backslashes.
fn quoted(value: &str) -> Option<Range<usize>> {
    let inner = value.trim_start_matches('\\');
    let depth = value.len() - inner.len();
    let quote = inner
        .chars()
        .next()
        .filter(|sign| matches!(sign, '"' | '\''))?;
    let start = depth + 1;
    let mut ends = value.match_indices(quote).map(|(place, _)| place);
    let end = ends.find_map(|place| {
        let before = value.get(start..place)?;
        let escapes = before.len() - before.trim_end_matches('\\').len();
        (escapes % (2 * start) == depth).then_some(place - depth)
    });
    Some(start..end.unwrap_or(value.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_known_however_it_is_written() {
        for name in [
            "auth_token",
            "X-Api-Key",
            "api key",
            "OPENAI_API_KEY",
            "privateKey",
            "Set-Cookie",
            "Mcp-Session-Id",
            "OPENAI_KEY",
            "openaiKey",
            "order_token",
            "referee_key",
            "draw_seed",
            "draw_seeds",
            "proof_key",
        ] {
            assert!(is_secret_name(name), "{name}");
        }
        for name in [
            "", "choice", "match_id", "key", "monkey", "session", "seed", "nonce",
        ] {
            assert!(!is_secret_name(name), "{name}");
        }
    }

    #[test]
    fn ordinary_words_stay() {
        for text in [
            "token tok-ens took-over stock tok",
            "stok-p01-abc",
            "a task-based sk-model",
            "the bearer of this",
            "0123456789abcdef0123456789abcdef",
            "",
        ] {
            assert!(
                matches!(masked(text), Cow::Borrowed(same) if same == text),
                "{text}"
            );
        }
    }

    #[test]
    fn what_has_the_form_of_a_secret_is_masked_and_nothing_around_it() {
        let digits = "0123456789abcdef".repeat(4);
        for (text, shown) in [
            (format!("x={digits}, y"), "x=…, y"),
            (format!("é {} é", digits.to_uppercase()), "é … é"),
            (format!("x_tok-p01-{digits}."), "x_tok-p01-…."),
            ("TOK-P01-abc".to_owned(), "…"),
            ("tok-p01-a.b/c== d".to_owned(), "tok-p01-… d"),
            ("as bearer a1b2c3.".to_owned(), "as bearer …."),
            ("(sk-ant-A1b2C3d4)".to_owned(), "(…)"),
            ("x://a:b@c/d e://f@g".to_owned(), "x://…@c/d e://…@g"),
            ("x://sk-A1b2C3d4E5:b@c".to_owned(), "x://…@c"),
            (format!("{digits}_tok-p01-abcd"), "…"),
            ("sk-ant-A1b2C3d4 tok-p01-abcd".to_owned(), "… tok-p01-…"),
        ] {
            assert_eq!(masked(&text), shown, "{text}");
        }
    }

    #[test]
    fn what_has_the_name_of_a_secret_is_hidden_to_its_end() {
        for (text, shown) in [
            (r#"{"token": "a,b", "n": 1}"#, r#"{"token": "…", "n": 1}"#),
            (r#"{"token": 12, "n": 1}"#, r#"{"token": …, "n": 1}"#),
            (
                r#"{"a":"{\"pass\\word\":1}"}"#,
                r#"{"a":"{\"pass\\word\":…}"}"#,
            ),
            ("api key: a, b\nn: 1", "api key: …\nn: 1"),
            ("auth_token=tok-p01-abcd", "auth_token=tok-p01-…"),
            (r#"{"tokens": [1], "n": 1}"#, "…"),
        ] {
            assert_eq!(hidden(text), shown, "{text}");
        }
    }
}
