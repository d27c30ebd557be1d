//! What a reader may forgive, what it must not, and what it never tells.

mod admitted;
mod bounds;
mod carried;
mod contradictions;
mod frames;
mod habits;
mod meant;
mod repaired;
mod replies;
mod secrets;

use league_protocol::decode::{Decoded, decode};
use league_protocol::finding::{Finding, Reading};
use serde_json::value::RawValue;
use serde_json::{Value, json};

/// A message without a fault.
fn ack() -> Value {
    json!({
        "protocol": "league.v2",
        "message_type": "GAME_JOIN_ACK",
        "sender": "player:P01",
        "timestamp": "2025-01-15T10:30:00Z",
        "conversation_id": "conv-r1m1-001",
        "match_id": "R1M1",
        "player_id": "P01",
        "arrival_timestamp": "2025-01-15T10:30:00Z",
        "accept": true,
    })
}

/// A message as JSON that can be read.
fn raw(message: &Value) -> Box<RawValue> {
    serde_json::value::to_raw_value(message).expect("a value is JSON")
}

/// Reads a message in whatever dialect it is.
fn decoded(raw: &RawValue, reading: Reading) -> Decoded<'_> {
    decode(raw, reading, None).expect("it is an object")
}

/// Code, place and severity of each finding.
fn table(findings: &[Finding]) -> Vec<String> {
    let line = |f: &Finding| format!("{:?} {} {}", f.severity, f.code, f.path);
    findings.iter().map(line).collect()
}
