//! However much is forgiven, an error stays an error.

use league_protocol::dialect::Hints;
use league_protocol::finding::{MAX_FINDINGS, Reading, Severity};
use serde_json::json;

use super::{ack, decoded, raw, table};

#[test]
fn no_number_of_deviations_hides_an_error() {
    let mut message = ack();
    message["arrival_timestamp"] = "2025-01-15T10:30:00+02:00".into();
    for number in 0..2 * MAX_FINDINGS {
        message[format!("a{number:03}")] = number.into();
    }
    let raw = raw(&message);
    let mut decoded = decoded(&raw, Reading::Lenient);
    assert!(decoded.message(&Hints::default()).is_err());
    assert_eq!(decoded.notes.findings.len(), MAX_FINDINGS);
    let errors = decoded.notes.findings.iter();
    let errors = errors.filter(|finding| finding.severity == Severity::Error);
    assert_eq!(errors.count(), 1);
}

#[test]
fn time_of_an_envelope_is_a_time_in_utc_or_an_error() {
    for wrong in [
        "soon",
        "2025-01-15T10:30:00",
        "2025-01-15T10:30:00+0200",
        "",
    ] {
        let message = json!({
            "protocol": "league.v2",
            "message_type": "GAME_JOIN_ACK",
            "sender": "player:P01",
            "timestamp": wrong,
            "conversation_id": "conv-r1m1-001",
            "match_id": "R1M1",
            "player_id": "P01",
            "arrival_timestamp": "2025-01-15T10:30:00Z",
            "accept": true,
        });
        let raw = raw(&message);
        let found = decoded(&raw, Reading::Lenient).notes.findings;
        assert_eq!(table(&found), ["Error E021 timestamp"], "{wrong}");
    }
}
