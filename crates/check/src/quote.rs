//! Quotes of what was sent and what an agent said: cut and safe to print, else as it was written.

use league_protocol::redact::keys_masked;
use league_protocol::token;

/// Cuts a text, masks the secrets that it holds, and escapes characters that cannot be seen.
///
/// Only these exact values are masked, and keys of well-known services: an author must find in a
/// report what the agent said, and not what it resembles.
pub(crate) fn quote(text: &str, secrets: &[String], longest: usize) -> String {
    let mut told = text.to_owned();
    for secret in secrets.iter().filter(|secret| !secret.is_empty()) {
        told = told.replace(secret.as_str(), &token::mask(secret));
    }
    let told = keys_masked(&told);
    let mut shown = String::new();
    for letter in told.chars().take(longest) {
        match letter {
            '\\' | '"' | '\'' => shown.push(letter),
            other => shown.extend(other.escape_debug()),
        }
    }
    if told.chars().nth(longest).is_some() {
        shown.push('…');
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_secrets_are_masked_and_all_else_stays_as_it_was_written() {
        let secret = format!("tok-p01-{}", "5e".repeat(32));
        let secrets = [secret.clone(), "class of 7".to_owned()];
        let hash = "ab".repeat(32);
        for (text, shown) in [
            (
                format!(r#"{{"auth_token":"{secret}"}}"#),
                r#"{"auth_token":"tok-p01-…"}"#,
            ),
            ("key=class of 7;".to_owned(), "key=…;"),
            (
                r#"{"auth_token":5,"token":{"a":[1]}}"#.to_owned(),
                r#"{"auth_token":5,"token":{"a":[1]}}"#,
            ),
            (
                r#"{"auth_token":"tok-p01-"}"#.to_owned(),
                r#"{"auth_token":"tok-p01-"}"#,
            ),
            (
                "tok-heron-my-own token".to_owned(),
                "tok-heron-my-own token",
            ),
            (
                "token = self.tokens[key]".to_owned(),
                "token = self.tokens[key]",
            ),
            (
                format!(r#"{{"proof":"{hash}"}}"#),
                &*format!(r#"{{"proof":"{hash}"}}"#),
            ),
            (r#"{"a":"b\"c\u00e9"}"#.to_owned(), r#"{"a":"b\"c\u00e9"}"#),
            ("\u{1b}[31mred\n".to_owned(), r"\u{1b}[31mred\n"),
            (
                "sk-ant-a1B2c3D4e5F6g7H8i9 is a key".to_owned(),
                "… is a key",
            ),
        ] {
            assert_eq!(quote(&text, &secrets, 200), shown, "{text}");
        }
        assert_eq!(quote("four", &[], 3), "fou…");
    }
}
