//! Nothing that is printed holds a secret, wherever in a message the secret stands.

use league_protocol::dialect::Hints;
use league_protocol::explain::explain;
use league_protocol::finding::{Reading, excerpt};
use serde_json::{Value, json};

use super::{decoded, raw};

const SECRET: &str = "5ec2e7c0ffee";

/// Messages that hold a secret where no reader looks for one.
fn messages() -> Vec<Value> {
    let token = format!("tok-p01-{SECRET}");
    let long = format!("tok-p01-{}", SECRET.repeat(500));
    vec![
        json!({"message_type": "GAME_JOIN_ACK", "auth_token": [token]}),
        json!({"message_type": "GAME_JOIN_ACK", "auth_token": long}),
        json!({"message_type": "GAME_JOIN_ACK", "token": token}),
        json!({"message_type": "GAME_JOIN_ACK", "match_id": token, "sender": token}),
        json!({"message_type": "GAME_JOIN_ACK", token.as_str(): 1}),
        json!({"message_type": "FOO_REGISTER_RESPONSE", "auth_token": token}),
        json!({"message_type": token}),
        json!({
            "protocol": "league.v1",
            "message_type": "LEAGUE_REGISTER_RESPONSE",
            "status": "ACCEPTED",
            "auth_token": token,
        }),
        json!({"message_type": "START_MATCH", "order_token": [SECRET], "attempt": [token]}),
        json!({"message_type": "START_MATCH", "handed_over": {"draw_seeds": [SECRET]}}),
        json!({"message_type": "START_MATCH", "handed_over": {"draw_seeds": SECRET}}),
        json!({"message_type": "DRAW_REQUEST", "order_token": {"is": SECRET}}),
        json!({"message_type": "DRAW_RESPONSE", "draw_seed": [SECRET]}),
        json!({"message_type": "DRAW_RESPONSE", "draw_seed": SECRET}),
        json!({"message_type": "MATCH_RESULT_ACK", "draw_seed": SECRET}),
        json!({"message_type": "MATCH_RESULT_REPORT", "order_token": [SECRET]}),
        json!({"message_type": "REFEREE_REGISTER_REQUEST", "referee_key": [SECRET]}),
        json!({"message_type": "START_MATCH", "players": [{"match_token": {"is": token}}]}),
        json!({
            "message_type": "LEAGUE_ERROR",
            "error_code": "E012",
            "context": {"provided_token": token},
        }),
    ]
}

#[test]
fn no_decoded_message_prints_a_secret() {
    for message in messages() {
        let raw = raw(&message);
        let mut decoded = decoded(&raw, Reading::Lenient);
        let _ = decoded.message(&Hints::default());
        let printed = format!("{decoded:?}");
        let known = message["message_type"]
            .as_str()
            .is_some_and(|name| name.contains(SECRET));
        let named = message["match_id"].is_string();
        if !known && !named {
            assert!(!printed.contains(SECRET), "{message}\n{printed}");
        }
    }
}

#[test]
fn no_finding_and_no_explanation_prints_a_secret() {
    for message in messages() {
        for framed in [
            message.clone(),
            json!({"jsonrpc": "2.0", "id": 1, "result": message}),
        ] {
            for explanation in explain(framed.to_string().as_bytes(), Reading::Strict) {
                let printed = format!("{explanation:?}");
                assert!(!printed.contains(SECRET), "{message}\n{printed}");
                let findings = serde_json::to_string(&explanation).unwrap();
                assert!(!findings.contains(SECRET), "{message}\n{findings}");
            }
        }
    }
}

#[test]
fn excerpt_masks_what_looks_like_a_token() {
    for (text, shown) in [
        ("tok-p01-abc123", "tok-p01-…"),
        ("[\"tok_p01_abc123\", 1]", "[\"tok-p01-…\", 1]"),
        ("a tok-secret b TOK-p01-abc c", "a … b … c"),
        ("stok-p01-abc", "stok-p01-abc"),
        ("\u{1b}[2J", "\\u{1b}[2J"),
    ] {
        assert_eq!(excerpt(text), shown);
    }
}
