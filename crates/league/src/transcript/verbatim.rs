//! What was really said, fit to be kept: bounded, and without tokens.
//!
//! The text may be anything, so tokens are looked for by their form and by what stands before them.
//! Where they could stand in a form in which they are not found, the text is left out.

use crate::record::Verbatim;

/// How much is kept of what was said, in bytes.
pub const LONGEST_VERBATIM: usize = 4 * 1024;
/// How much of it is looked at, in bytes.
const LONGEST_LOOK: usize = 64 * 1024;
/// How many hexadecimal digits in a row may be the secret part of a token.
const SECRET_DIGITS: usize = 40;
/// Words in the names of what nobody else may see.
const SECRET_NAMES: [&str; 7] = [
    "token",
    "secret",
    "password",
    "api_key",
    "apikey",
    "authorization",
    "bearer",
];
/// What stands for something that was taken out.
const TAKEN_OUT: &str = "…";

/// Keeps what was said, and why it could not be read.
pub fn verbatim(said: &[u8], problem: Option<&str>) -> Verbatim {
    let looked_at = &said[..said.len().min(LONGEST_LOOK)];
    let text = String::from_utf8_lossy(looked_at);
    let whole = looked_at.len() == said.len();
    let text = match whole {
        true => without_tokens(&text),
        false => without_tokens(without_last_word(&text)),
    };
    let end = text.as_deref().map(end_of);
    Verbatim {
        cut: !whole || text.as_ref().map(String::len) > end,
        text: text.zip(end).map(|(text, end)| text[..end].to_owned()),
        bytes: said.len() as u64,
        problem: problem.map(|problem| {
            let plain = without_tokens(problem);
            plain.unwrap_or_else(|| TAKEN_OUT.to_owned())
        }),
    }
}

fn end_of(text: &str) -> usize {
    let ends = text
        .char_indices()
        .map(|(start, letter)| start + letter.len_utf8());
    ends.take_while(|end| *end <= LONGEST_VERBATIM)
        .last()
        .unwrap_or(0)
}

/// What may have been cut into is no word.
fn without_last_word(text: &str) -> &str {
    text.trim_end_matches(is_part)
}

const fn is_part(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_')
}

/// The text without tokens; `None` if it is not certain that there are none.
fn without_tokens(text: &str) -> Option<String> {
    if text.contains('\0') {
        return None;
    }
    let plain = unescaped(text);
    if plain != text && hidden(&plain)? != plain {
        return None;
    }
    hidden(text)
}

/// A text in which letters that were written by their number are letters.
fn unescaped(text: &str) -> String {
    let mut parts = text.split("\\u");
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let number = part
            .get(..4)
            .and_then(|digits| u32::from_str_radix(digits, 16).ok());
        match number.and_then(char::from_u32).filter(char::is_ascii) {
            Some(letter) => {
                plain.push(letter);
                plain.push_str(&part[4..]);
            }
            None => {
                plain.push_str("\\u");
                plain.push_str(part);
            }
        }
    }
    plain
}

/// Hides what has the form of a token, or the name of one; `None` where a whole structure has it.
fn hidden(text: &str) -> Option<String> {
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find(is_part) {
        let (between, from) = rest.split_at(start);
        let end = from.find(|letter| !is_part(letter)).unwrap_or(from.len());
        let (word, after) = from.split_at(end);
        kept.push_str(between);
        if looks_secret(word) {
            kept.push_str(TAKEN_OUT);
        } else {
            kept.push_str(word);
        }
        rest = after;
        if is_secret_name(word)
            && let Some(value) = value_of(after)
        {
            let (sign, value) = after.split_at(value);
            if value.starts_with(['{', '[']) {
                return None;
            }
            kept.push_str(sign);
            kept.push_str(TAKEN_OUT);
            rest = &value[value
                .find(['"', '\'', '\\', ',', '}', '\n'])
                .unwrap_or(value.len())..];
        }
    }
    kept.push_str(rest);
    Some(kept)
}

/// Where the value begins, if this follows the name of something that has one.
fn value_of(after: &str) -> Option<usize> {
    let is_mark = |letter: char| matches!(letter, '"' | '\'' | '\\') || letter.is_whitespace();
    let sign = after.find(|letter| !is_mark(letter))?;
    let value = after[sign..].strip_prefix([':', '='])?;
    let value = value.trim_start_matches(is_mark);
    (!value.is_empty()).then_some(after.len() - value.len())
}

pub(super) fn is_secret_name(word: &str) -> bool {
    let lower = word.to_ascii_lowercase();
    SECRET_NAMES.iter().any(|name| lower.contains(name))
}

/// Whether a word is a token, or the secret part of one.
fn looks_secret(word: &str) -> bool {
    let lower = word.to_ascii_lowercase();
    let is_token = ["tok-", "tok_"].iter().any(|start| {
        lower
            .find(start)
            .is_some_and(|place| lower.len() - place > start.len() + 8)
    });
    is_token || has_long_number(&lower)
}

fn has_long_number(word: &str) -> bool {
    let runs = word.split(|letter: char| !letter.is_ascii_hexdigit());
    runs.map(str::len).any(|length| length >= SECRET_DIGITS)
}

#[cfg(test)]
mod tests {
    use league_protocol::token::AuthToken;

    use super::*;

    const SECRET: &str = "abababab";

    fn kept(said: &str) -> Verbatim {
        verbatim(said.as_bytes(), None)
    }

    #[test]
    fn why_it_was_not_read_holds_no_token_either() {
        let token = AuthToken::mint("P01", &[0xab; 32]);
        for (words, kept) in [
            ("bad auth_token: s3cr3t".to_owned(), "bad auth_token: …"),
            (format!("wrong: {}", "ab".repeat(32)), "wrong: …"),
            (format!("`{}` is none", token.reveal()), "`…` is none"),
            ("secret: {\"s3cr3t\": 1}".to_owned(), "…"),
            ("it is no JSON".to_owned(), "it is no JSON"),
        ] {
            let problem = verbatim(b"{}", Some(&words)).problem;
            assert_eq!(problem.as_deref(), Some(kept), "{words}");
        }
    }

    #[test]
    fn what_holds_no_token_is_kept_as_it_was_said() {
        for said in [
            "even",
            "{\"choice\" : \"even\", \"n\":1.50}",
            "<html>\n500 — oops</html>",
            r#"{"nonce":"0123456789abcdef0123456789abcdef","token":"#,
            "{\"caf\\u00e9\":1}",
            "",
        ] {
            let kept = kept(said);
            assert_eq!(kept.text.as_deref(), Some(said));
            assert!(!kept.cut);
            assert_eq!(kept.bytes, said.len() as u64);
        }
    }

    #[test]
    fn no_token_is_kept_however_it_is_written() {
        let token = AuthToken::mint("P01", &[0xab; 32]);
        let (token, digits) = (token.reveal(), "ab".repeat(32));
        let by_number = token.replace('-', "\\u002d");
        for said in [
            token.to_owned(),
            token.to_uppercase(),
            token.replace('-', "_"),
            digits.clone(),
            format!("my token is {digits}."),
            format!(r#"{{"auth_token":"{token}","choice":"even"}}"#),
            format!(r#"{{"auth_token" : "{SECRET}"}}"#),
            format!(r#"{{"Authorization":"Bearer {SECRET} {SECRET}"}}"#),
            format!(r#"{{"result":"{{\"auth_token\":\"{SECRET}\"}}"}}"#),
            format!(r#"{{"auth_token":{{"value":"{SECRET}"}}}}"#),
            format!("token={SECRET}&choice=even"),
            format!(r#"{{"x":"{by_number}"}}"#),
            format!(r#"{{"auth\u005ftoken":"{SECRET}"}}"#),
            format!(r#"{{"auth_\u0074oken":"{SECRET}"}}"#),
            token.chars().flat_map(|letter| [letter, '\0']).collect(),
            format!("{}{token}", "x ".repeat(LONGEST_VERBATIM / 2 - 10)),
            format!("{}{token}", "x ".repeat(LONGEST_LOOK / 2 - 10)),
        ] {
            let kept = kept(&said);
            let text = kept.text.unwrap_or_default();
            let lower = text.to_ascii_lowercase().replace('\0', "");
            assert!(!lower.contains(SECRET), "{said}: {text}");
            assert!(text.len() <= LONGEST_VERBATIM);
        }
    }

    #[test]
    fn what_stands_beside_a_token_is_kept() {
        let said = format!(r#"{{"auth_token":"{SECRET}","choice":"even"}}"#);
        let text = kept(&said).text.unwrap();
        assert_eq!(text, r#"{"auth_token":"…","choice":"even"}"#);
    }

    #[test]
    fn a_long_text_is_cut_and_says_so() {
        let said = "é".repeat(LONGEST_VERBATIM);
        let kept = kept(&said);
        assert_eq!(kept.text.unwrap().len(), LONGEST_VERBATIM);
        assert!(kept.cut);
        assert_eq!(kept.bytes, said.len() as u64);
    }

    #[test]
    fn what_is_no_text_is_shown_as_far_as_it_is_one() {
        let kept = verbatim(b"\xff\xfeeven", Some("it is no JSON"));
        assert_eq!(kept.text.as_deref(), Some("\u{fffd}\u{fffd}even"));
        assert_eq!(kept.problem.as_deref(), Some("it is no JSON"));
    }
}
