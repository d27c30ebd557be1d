//! Reads and writes whole messages in one dialect, envelope and all.

use league_protocol::decode::decode;
use league_protocol::dialect::Hints;
use league_protocol::encode::{Sender, Stamp, encode};
use league_protocol::explain::{Lens, explain};
use league_protocol::finding::{Finding, Reading};
use league_protocol::id::{ConversationId, RefereeId};
use league_protocol::message::Message;
use league_protocol::rpc::members::members;
use league_protocol::sender::{Agent, Dialect};
use league_protocol::time::Timestamp;
use serde_json::Value;
use serde_json::value::RawValue;

/// What became of a message that was read.
pub(crate) struct Outcome {
    /// What was found, in reading and in understanding.
    pub(crate) findings: Vec<Finding>,
    /// The message, written again.
    pub(crate) written: Value,
    /// What it means.
    pub(crate) message: Option<Message>,
}

impl Outcome {
    /// Code, place and severity of each finding.
    pub(crate) fn table(&self) -> Vec<String> {
        let line = |f: &Finding| format!("{} {} {:?}", f.code, f.path, f.severity);
        self.findings.iter().map(line).collect()
    }
}

/// Reads a whole message, writes it again and understands it.
pub(crate) fn read(dialect: Dialect, json: &str, reading: Reading, hints: &Hints<'_>) -> Outcome {
    let raw: &RawValue = serde_json::from_str(json).expect("test data is JSON");
    let mut decoded = decode(raw, reading, Some(dialect)).expect("test data is an object");
    let message = decoded.message(hints).ok();
    let lens = Lens {
        reading,
        dialect: Some(dialect),
    };
    let explained = explain(json.as_bytes(), lens);
    Outcome {
        findings: decoded.notes.findings,
        written: serde_json::from_str(explained[0].again.text()).expect("it was written"),
        message,
    }
}

/// Says a message with the envelope around it; nothing if the dialect has no words for it.
pub(crate) fn whole(dialect: Dialect, message: &Message, hints: &Hints<'_>) -> Option<String> {
    let referee = Agent::Referee(RefereeId::numbered(1));
    let conversation = ConversationId::new("880e8400-e29b-41d4-a716-446655440003");
    let stamp = Stamp {
        sender: Sender::Agent(&referee),
        at: Timestamp::parse("2025-01-15T10:30:00Z").expect("it is a time"),
        conversation: &conversation,
        token: None,
    };
    let outgoing = encode(message, dialect, stamp, hints)?;
    let written = serde_json::to_string(&outgoing).expect("it can be written");
    written.contains("message_type").then_some(written)
}

/// Says a message: its type and the members of its body, in order.
pub(crate) fn said(dialect: Dialect, message: &Message, hints: &Hints<'_>) -> Option<String> {
    const ENVELOPE: usize = 5;
    let written = whole(dialect, message, hints)?;
    let split = members(&written).expect("it is an object");
    let body = split.iter().skip(ENVELOPE);
    let body: Vec<String> = body.map(|(name, raw)| format!("{name:?}:{raw}")).collect();
    let message_type: String = serde_json::from_str(split.get("message_type")?.get()).ok()?;
    Some(format!("{message_type} {{{}}}", body.join(",")))
}
