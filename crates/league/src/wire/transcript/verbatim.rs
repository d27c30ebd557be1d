//! What was really said, fit to be kept: bounded, and without tokens, passwords and keys.
//!
//! Where these could stand in a form in which they are not found, the text is left out; and all of
//! it, if it came with an HTTP status that says that something broke: an error page may tell
//! whatever its program knows.

use std::borrow::Cow;

use league_protocol::peer;
use league_protocol::redact::without_secrets;

use crate::storage::documents::Verbatim;

/// How much is kept of what was said, in bytes.
pub(crate) const LONGEST_VERBATIM: usize = 4 * 1024;
/// How much of it is looked at, in bytes.
const LONGEST_LOOK: usize = 64 * 1024;
/// What stands for something that was taken out.
const TAKEN_OUT: &str = "…";

/// Keeps what was said, with which status of HTTP, and why it could not be read.
pub(crate) fn verbatim(said: &[u8], status: u16, problem: Option<&str>) -> Verbatim {
    if status >= 400 && !said.is_empty() {
        let broken = peer::McpFault::Status(status);
        return Verbatim {
            text: None,
            bytes: said.len() as u64,
            cut: false,
            problem: problem.map(|_| broken.to_string()),
        };
    }
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
    if plain != text && without_secrets(&plain)? != plain {
        return None;
    }
    without_secrets(text).map(Cow::into_owned)
}

/// How pages write quotes.
const QUOTES: [(&str, &str); 6] = [
    ("&quot;", "\""),
    ("&#34;", "\""),
    ("&#x22;", "\""),
    ("&#39;", "'"),
    ("&#x27;", "'"),
    ("&apos;", "'"),
];

/// A text in which letters that were written by their number or name are letters.
fn unescaped(text: &str) -> String {
    let named = QUOTES.iter().filter(|(name, _)| text.contains(name));
    let plain = named.fold(Cow::Borrowed(text), |text, (name, quote)| {
        Cow::Owned(text.replace(name, quote))
    });
    let mut parts = plain.split("\\u");
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

#[cfg(test)]
mod tests {
    use league_protocol::token::AuthToken;

    use super::*;

    const SECRET: &str = "abababab";

    fn kept(said: &str) -> Verbatim {
        verbatim(said.as_bytes(), 200, None)
    }

    #[test]
    fn why_it_was_not_read_holds_no_token_either() {
        let token = AuthToken::mint("P01", &[0xab; 32]);
        for (words, kept) in [
            ("bad auth_token: s3cr3t".to_owned(), "bad auth_token: …"),
            (format!("wrong: {}", "ab".repeat(32)), "wrong: …"),
            (
                format!("`{}` is none", token.reveal()),
                "`tok-p01-…` is none",
            ),
            ("secret: {\"s3cr3t\": 1}".to_owned(), "…"),
            ("it is no JSON".to_owned(), "it is no JSON"),
        ] {
            let problem = verbatim(b"{}", 200, Some(&words)).problem;
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
    fn no_key_of_a_player_is_kept_by_whatever_name_it_goes() {
        for said in [
            "x-api-key: s3cr3t",
            "api-key: s3cr3t",
            "the API key = s3cr3t",
            "Cookie: session=s3cr3t; theme=dark",
            "Set-Cookie: a=b; id=s3cr3t",
            "PRIVATE-KEY: s3cr3t",
            "db credentials: s3cr3t",
            "<auth_token>s3cr3t</auth_token>",
            "<tr><td>OPENAI_API_KEY</td><td class=\"v\">s3cr3t</td></tr>",
            r#"<input name="password" value="s3cr3t">"#,
            r#"{"auth_token":"abc,s3cr3t"}"#,
            r#"{"password":"it's s3cr3t"}"#,
            r#"{"password":"a \" s3cr3t"}"#,
            r#"{"body":"{\"password\":\"it's \\\" s3cr3t\"}"}"#,
            "{'password': 'say \"s3cr3t\"'}",
            "password=it's s3cr3t",
            "ANTHROPIC_KEY=s3cr3t",
            r#"{"openaiKey":"s3cr3t"}"#,
            "[(b'host', b'x'), (b'x-api-key', b's3cr3t, s3cr3t')]",
            r#"[["Authorization", "s3cr3t"]]"#,
            "{b'token': b'a, s3cr3t'}",
            "postgres://league:s3cr3t@localhost/matches",
            "<pre>{&quot;password&quot;: &quot;s3cr3t&quot;}</pre>",
            "{&#39;api_key&#39;: &#39;s3cr3t&#39;}",
            "-----BEGIN PRIVATE KEY-----\ns3cr3t\n-----END PRIVATE KEY-----",
        ] {
            let text = kept(said).text.unwrap_or_default();
            assert!(!text.contains("s3cr3t"), "{said}: {text}");
        }
    }

    #[test]
    fn no_key_of_a_well_known_form_is_kept() {
        let half = ["eyJhbGciOiJIUzI1NiJ9", "eyJzdWIiOiIxIn0", "c2lnbmF0dXJl"];
        for key in [
            "sk-ant-api03-A1b2C3d4E5",
            "sk-proj-A1b2C3d4E5f6",
            "ghp_A1b2C3d4E5f6G7h8",
            "github_pat_A1b2C3d4E5",
            "AKIAA1B2C3D4E5F6G7H8",
            "xoxb-1234567890-abcdef",
            "AIzaSyA1b2C3d4E5f6G7",
            &half.join("."),
        ] {
            let text = kept(&format!("cannot log in with {key}.")).text.unwrap();
            assert_eq!(text.trim_end_matches('.'), "cannot log in with …");
        }
        let text = kept("it was sent as Bearer s3cr3t-s3cr3t").text.unwrap();
        assert_eq!(text, "it was sent as Bearer …");
    }

    #[test]
    fn an_error_page_is_not_kept_and_its_status_is_told() {
        let page = b"<h1>KeyError</h1> environ: OPENAI=s3cr3t";
        let kept = verbatim(page, 500, Some("the agent complains: KeyError s3cr3t"));
        assert_eq!(kept.text, None);
        assert_eq!(kept.bytes, page.len() as u64);
        let told = kept.problem.unwrap();
        assert_eq!(told, "the agent answered with the HTTP status 500");
        let read = verbatim(page, 404, None);
        assert_eq!((read.text, read.problem), (None, None));
    }

    #[test]
    fn what_stands_beside_a_token_is_kept() {
        let said = format!(r#"{{"auth_token":"{SECRET}","choice":"even"}}"#);
        let text = kept(&said).text.unwrap();
        assert_eq!(text, r#"{"auth_token":"…","choice":"even"}"#);
        for said in [
            r#"{"auth_token": null, "choice": "even"}"#,
            r#"{"auth_token": "", "choice": "even"}"#,
            "the token is missing",
            "a task-based sk-model",
            r#"{"missing":"auth_token","choice":"even"}"#,
            "call http://localhost:8101/mcp, or mail@example.org",
        ] {
            assert_eq!(kept(said).text.as_deref(), Some(said));
        }
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
        let kept = verbatim(b"\xff\xfeeven", 200, Some("it is no JSON"));
        assert_eq!(kept.text.as_deref(), Some("\u{fffd}\u{fffd}even"));
        assert_eq!(kept.problem.as_deref(), Some("it is no JSON"));
    }
}
