//! Transcripts of matches, held back until each match is decided.
//!
//! The messages contain choices and seeds, so they stay in memory until the result is written;
//! later messages are written when the match is closed. The original text of a repaired reply is
//! kept as well: bounded, and without tokens, passwords and keys. The text is dropped if it may
//! contain these in a form that is not detected, or if it came with an HTTP error, since an error
//! page may reveal anything that its program knows.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use league_protocol::id::MatchId;
use league_protocol::peer::McpFault;
use league_protocol::redact::{hidden, is_secret_name, masked, without_secrets};
use league_protocol::time::Timestamp;
use serde_json::Value;

use crate::storage::documents::{TranscriptMessage, Verbatim};
use crate::storage::record::Transcript;

/// The most messages kept per match; further messages are dropped.
pub(crate) const LONGEST_TRANSCRIPT: usize = 512;
/// The largest message that is kept, in bytes; of a larger message only the type is kept.
pub(crate) const MAX_MESSAGE: usize = 16 * 1024;
/// Members that hold the commitment, the seed and the shares of a draw.
const OF_THE_DRAW: [&str; 6] = [
    "draw_commitment",
    "commitment",
    "draw_seed",
    "seed",
    "nonce",
    "nonces",
];

/// The transcripts of the matches in progress.
#[derive(Debug, Clone, Default)]
pub(crate) struct Transcripts(Arc<Mutex<BTreeMap<MatchId, Kept>>>);

/// The transcript of one match.
#[derive(Debug, Default)]
struct Kept {
    /// The number of messages already taken.
    given: usize,
    waiting: Vec<TranscriptMessage>,
}

impl Transcripts {
    /// Adds a message as it was decoded, and the original text if that differs. Tokens are removed.
    pub(crate) fn add(
        &self,
        match_id: &MatchId,
        timestamp: Timestamp,
        (from, to): (String, String),
        mut message: Value,
        verbatim: Option<Verbatim>,
    ) {
        without_tokens(&mut message);
        let message_type = message
            .get("message_type")
            .and_then(Value::as_str)
            .map(|name| name.chars().take(64).collect())
            .unwrap_or_default();
        if message.to_string().len() > MAX_MESSAGE {
            message = Value::Null;
        }
        let said = TranscriptMessage {
            timestamp,
            from,
            to,
            message_type,
            message,
            verbatim,
        };
        let mut matches = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // Messages of a match that is over or was never begun are dropped.
        if let Some(kept) = matches.get_mut(match_id)
            && kept.given + kept.waiting.len() < LONGEST_TRANSCRIPT
        {
            kept.waiting.push(said);
        }
    }

    /// Begins the transcript of a match, without messages of an earlier attempt.
    pub(crate) fn begin(&self, match_id: &MatchId) {
        let mut matches = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        matches.insert(match_id.clone(), Kept::default());
    }

    pub(crate) fn forget(&self, match_id: &MatchId) {
        let mut matches = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        matches.remove(match_id);
    }

    /// Takes the messages added since the last call, if there are any.
    pub(crate) fn take(&self, match_id: &MatchId, attempt: u32) -> Option<Transcript> {
        let mut matches = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = matches.get_mut(match_id)?;
        let messages = std::mem::take(&mut kept.waiting);
        kept.given += messages.len();
        (!messages.is_empty()).then(|| Transcript {
            match_id: match_id.clone(),
            attempt,
            messages,
        })
    }
}

/// Removes members whose name is or contains a secret, and masks values that look like secrets. The
/// numbers of the draw stay, however long: they are published after the match and verified.
fn without_tokens(value: &mut Value) {
    match value {
        Value::Object(members) => {
            members.retain(|name, _| !is_secret_name(name) && masked(name) == *name);
            for (name, value) in members {
                if OF_THE_DRAW.contains(&name.as_str()) {
                    without_tokens_but_numbers(value);
                } else {
                    without_tokens(value);
                }
            }
        }
        Value::Array(elements) => elements.iter_mut().for_each(without_tokens),
        Value::String(text) => {
            if let Cow::Owned(plain) = hidden(text) {
                *text = plain;
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn without_tokens_but_numbers(value: &mut Value) {
    match value {
        Value::String(text) if text.bytes().all(|sign| sign.is_ascii_hexdigit()) => {}
        Value::Array(elements) => elements.iter_mut().for_each(without_tokens_but_numbers),
        value => without_tokens(value),
    }
}

/// The most bytes kept of an original text.
pub(crate) const MAX_VERBATIM: usize = 4 * 1024;
/// The most bytes of it that are searched for secrets.
const MAX_SEARCHED: usize = 64 * 1024;
/// Replaces removed text.
const TAKEN_OUT: &str = "…";

/// Keeps an original reply with its HTTP status and the reason why it could not be decoded.
pub(crate) fn verbatim(said: &[u8], status: u16, problem: Option<&str>) -> Verbatim {
    if status >= 400 && !said.is_empty() {
        let broken = McpFault::Status(status);
        return Verbatim {
            text: None,
            bytes: said.len() as u64,
            cut: false,
            problem: problem.map(|_| broken.to_string()),
        };
    }
    let looked_at = &said[..said.len().min(MAX_SEARCHED)];
    let text = String::from_utf8_lossy(looked_at);
    let whole = looked_at.len() == said.len();
    let text = if whole {
        plain_text(&text)
    } else {
        plain_text(without_last_word(&text))
    };
    let end = text.as_deref().map(end_of);
    Verbatim {
        cut: !whole || text.as_ref().map(String::len) > end,
        text: text.zip(end).map(|(text, end)| text[..end].to_owned()),
        bytes: said.len() as u64,
        problem: problem.map(|problem| {
            let plain = plain_text(problem);
            plain.unwrap_or_else(|| TAKEN_OUT.to_owned())
        }),
    }
}

fn end_of(text: &str) -> usize {
    let ends = text
        .char_indices()
        .map(|(start, letter)| start + letter.len_utf8());
    ends.take_while(|end| *end <= MAX_VERBATIM)
        .last()
        .unwrap_or(0)
}

/// Drops the last word, which may be cut off.
fn without_last_word(text: &str) -> &str {
    text.trim_end_matches(is_part)
}

const fn is_part(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_')
}

/// The text without tokens; `None` if tokens may remain.
fn plain_text(text: &str) -> Option<String> {
    if text.contains('\0') {
        return None;
    }
    let plain = unescaped(text);
    if plain != text && without_secrets(&plain)? != plain {
        return None;
    }
    without_secrets(text).map(Cow::into_owned)
}

/// HTML entities for quotes.
const QUOTES: [(&str, &str); 6] = [
    ("&quot;", "\""),
    ("&#34;", "\""),
    ("&#x22;", "\""),
    ("&#39;", "'"),
    ("&#x27;", "'"),
    ("&apos;", "'"),
];

/// The text with HTML quote entities and `\u` escapes of ASCII characters resolved.
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
    use super::*;
    use league_protocol::token::AuthToken;
    use serde_json::json;

    #[test]
    fn tokens_are_taken_out_wherever_they_stand() {
        let transcripts = Transcripts::default();
        let id = MatchId::new("R1M1").unwrap();
        let message = json!({
            "message_type": "GAME_ERROR",
            "auth_token": "tok-secret",
            "context": [{"provided_token": "tok-secret", "left": 1}],
            "note": "mine is tok-p01-0123456789abcdef",
        });
        transcripts.begin(&id);
        let between = ("referee:REF01".to_owned(), "player:P01".to_owned());
        transcripts.add(&id, Timestamp::default(), between, message, None);
        let taken = transcripts.take(&id, 1).unwrap();
        let expected = json!({
            "message_type": "GAME_ERROR", "context": [{"left": 1}], "note": "mine is tok-p01-…",
        });
        assert_eq!(taken.messages[0].message, expected);
        assert!(transcripts.take(&id, 1).is_none());
    }

    #[test]
    fn nothing_of_a_valid_message_is_a_token_but_the_draw_can_be_read() {
        let transcripts = Transcripts::default();
        let id = MatchId::new("R1M1").unwrap();
        let digits = "0123456789abcdef".repeat(4);
        let message = json!({
            "message_type": "GAME_OVER",
            "note": digits,
            "more": format!("TOK-P01-{digits}"),
            "why": "refused with x-api-key: s3cr3t",
            digits.clone(): 1,
            "X-Api-Key": "s3cr3t",
            "draw": {"commitment": digits, "seed": digits, "nonces": [digits, "tok-p01-s3cr3t"]},
            "draw_commitment": digits,
            "nonce": digits,
        });
        transcripts.begin(&id);
        let between = ("referee:REF01".to_owned(), "player:P01".to_owned());
        transcripts.add(&id, Timestamp::default(), between, message, None);
        let taken = transcripts.take(&id, 1).unwrap();
        let expected = json!({
            "message_type": "GAME_OVER",
            "note": "…",
            "more": "…",
            "why": "refused with x-api-key: …",
            "draw": {"commitment": digits, "seed": digits, "nonces": [digits, "tok-p01-…"]},
            "draw_commitment": digits,
            "nonce": digits,
        });
        assert_eq!(taken.messages[0].message, expected);
    }

    #[test]
    fn what_is_given_out_counts_towards_the_longest_transcript() {
        let transcripts = Transcripts::default();
        let id = MatchId::new("R1M1").unwrap();
        transcripts.begin(&id);
        let mut given = 0;
        for _ in 0..3 {
            for _ in 0..LONGEST_TRANSCRIPT / 2 {
                let between = ("referee:REF01".to_owned(), "player:P01".to_owned());
                transcripts.add(&id, Timestamp::default(), between, json!({}), None);
            }
            given += transcripts
                .take(&id, 1)
                .map_or(0, |taken| taken.messages.len());
        }
        assert_eq!(given, LONGEST_TRANSCRIPT);
    }

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
            format!("{}{token}", "x ".repeat(MAX_VERBATIM / 2 - 10)),
            format!("{}{token}", "x ".repeat(MAX_SEARCHED / 2 - 10)),
        ] {
            let kept = kept(&said);
            let text = kept.text.unwrap_or_default();
            let lower = text.to_ascii_lowercase().replace('\0', "");
            assert!(!lower.contains(SECRET), "{said}: {text}");
            assert!(text.len() <= MAX_VERBATIM);
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
        let said = "é".repeat(MAX_VERBATIM);
        let kept = kept(&said);
        assert_eq!(kept.text.unwrap().len(), MAX_VERBATIM);
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
