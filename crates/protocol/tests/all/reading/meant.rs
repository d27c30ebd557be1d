//! Which message a misspelled type is taken for, where nobody knows what was asked.

use league_protocol::explain::{Explanation, explain_leniently};
use serde_json::{Value, json};

fn explained(message: &Value) -> Explanation {
    let mut all = explain_leniently(message.to_string().as_bytes(), None);
    assert_eq!(all.len(), 1, "{message}");
    all.remove(0)
}

/// A whole message of a player, but for its type and what it says.
fn said(message_type: &str, more: &Value) -> Value {
    let mut message = json!({
        "protocol": "league.v2",
        "message_type": message_type,
        "sender": "player:P01",
        "timestamp": "2025-01-15T10:30:00Z",
        "conversation_id": "conv-r1m1-001",
        "match_id": "R1M1",
        "player_id": "P01",
    });
    for (name, value) in more.as_object().expect("it is an object") {
        message[name] = value.clone();
    }
    message
}

#[test]
fn misspelled_answer_is_an_answer() {
    let choice = json!({"parity_choice": "even"});
    let joins = json!({"accept": true, "arrival_timestamp": "2025-01-15T10:30:00Z"});
    for (written, more, meant) in [
        ("CHOOSE_PARITY_RESPONCE", &choice, "CHOOSE_PARITY_RESPONSE"),
        ("CHOICE", &choice, "CHOOSE_PARITY_RESPONSE"),
        ("PARITY_RESPONSE", &choice, "CHOOSE_PARITY_RESPONSE"),
        ("JOIN_ACK", &joins, "GAME_JOIN_ACK"),
        ("GAME_JOIN", &joins, "GAME_JOIN_ACK"),
        ("GAME_JOIN_ACKNOWLEDGE", &joins, "GAME_JOIN_ACK"),
    ] {
        for sender in [json!("player:P01"), Value::Null] {
            let mut message = said(written, more);
            message["sender"] = sender;
            let explanation = explained(&message);
            assert!(explanation.valid, "{written}: {explanation:#?}");
            assert_eq!(
                explanation.message_type.as_deref(),
                Some(meant),
                "{written}"
            );
        }
    }
}

#[test]
fn misspelled_question_is_a_question() {
    let invites = json!({"sender": "referee:REF01", "player_id": null, "game_type": "even_odd",
        "role_in_match": "PLAYER_A", "opponent_id": "P02", "round_id": 1, "league_id": "l"});
    for written in ["GAME_INVITATON", "INVITE", "JOIN_GAME"] {
        let explanation = explained(&said(written, &invites));
        assert!(explanation.valid, "{written}: {explanation:#?}");
        let meant = explanation.message_type.as_deref();
        assert_eq!(meant, Some("GAME_INVITATION"), "{written}");
    }
}

#[test]
fn vague_message_or_wrong_sender_stays_an_error() {
    for (written, more) in [
        // Neither a choice nor what a question would tell.
        ("CHOICE", json!({})),
        ("GAME_JOIN", json!({})),
        // The nearest spelling is meant, also where something is missing for it.
        ("CHOOSE_PARITY_RESPONCE", json!({})),
        // Only a player chooses and comes.
        (
            "CHOICE",
            json!({"parity_choice": "even", "sender": "referee:REF01"}),
        ),
        (
            "GAME_JOIN",
            json!({"accept": true, "sender": "league_manager"}),
        ),
        // Both errors have such fields.
        (
            "FAILURE",
            json!({"sender": null, "error_code": "E001", "error_description": "late"}),
        ),
        ("BANANA", json!({"parity_choice": "even"})),
    ] {
        let explanation = explained(&said(written, &more));
        assert!(!explanation.valid, "{written} {more}: {explanation:#?}");
        assert_eq!(explanation.message_type.as_deref(), Some(written));
    }
}

#[test]
fn call_without_a_type_takes_it_from_its_method() {
    let params = json!({"match_id": "R1M1"});
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "choose_parity", "params": params});
    let explanation = explained(&call);
    assert!(explanation.valid, "{explanation:#?}");
    let meant = explanation.message_type.as_deref();
    assert_eq!(meant, Some("CHOOSE_PARITY_CALL"));
}
