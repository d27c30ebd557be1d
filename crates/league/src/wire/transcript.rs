//! What is said in matches, held back until each is decided.
//!
//! Choices and seeds stand in these messages, so they stay in memory until the result is written;
//! what is said after that is written when the match is closed.

mod verbatim;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use league_protocol::id::MatchId;
use league_protocol::redact::{hidden, is_secret_name, masked};
use league_protocol::time::Timestamp;
use serde_json::Value;

use crate::storage::documents::{TranscriptMessage, Verbatim};
use crate::storage::record::Transcript;
pub(crate) use verbatim::verbatim;

/// How many messages of a match are kept; the rest of an endless quarrel is left out.
pub(crate) const LONGEST_TRANSCRIPT: usize = 512;
/// How large a message may be to be kept, in bytes; a larger one is named only.
pub(crate) const LARGEST_SAID: usize = 16 * 1024;
/// Members that hold the promise, the seed and the shares of a draw.
const OF_THE_DRAW: [&str; 6] = [
    "draw_commitment",
    "commitment",
    "draw_seed",
    "seed",
    "nonce",
    "nonces",
];

/// What is said in the matches that are being played.
#[derive(Debug, Clone, Default)]
pub(crate) struct Transcripts(Arc<Mutex<BTreeMap<MatchId, Kept>>>);

/// What was said in one match.
#[derive(Debug, Default)]
struct Kept {
    /// How much of it was given out already.
    given: usize,
    waiting: Vec<TranscriptMessage>,
}

impl Transcripts {
    /// Keeps what one agent said to another: the message as it was read, and what was really said
    /// where that is something else. Tokens are taken out.
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
        if message.to_string().len() > LARGEST_SAID {
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
        // What is said of a match that is over or was never begun is not kept.
        if let Some(kept) = matches.get_mut(match_id)
            && kept.given + kept.waiting.len() < LONGEST_TRANSCRIPT
        {
            kept.waiting.push(said);
        }
    }

    /// Begins the record of a match, without what was said in an earlier attempt.
    pub(crate) fn begin(&self, match_id: &MatchId) {
        let mut matches = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        matches.insert(match_id.clone(), Kept::default());
    }

    /// Forgets a match that is over.
    pub(crate) fn forget(&self, match_id: &MatchId) {
        let mut matches = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        matches.remove(match_id);
    }

    /// Gives out what was said in a match since it was last asked for, if anything was.
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

/// Takes every member out that is named as a secret or by one, and hides what looks like one. What
/// belongs to the draw stays, as long numbers may: it is told when the match is over, and compared.
fn without_tokens(value: &mut Value) {
    match value {
        Value::Object(members) => {
            members.retain(|name, _| !is_secret_name(name) && masked(name) == *name);
            for (name, value) in members {
                match OF_THE_DRAW.contains(&name.as_str()) {
                    true => without_tokens_but_numbers(value),
                    false => without_tokens(value),
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

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
}
