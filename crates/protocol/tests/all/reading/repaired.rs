//! What is made out of messages that no document has, as they are seen in the wild.

use league_protocol::decode::decode;
use league_protocol::dialect::Hints;
use league_protocol::finding::{Notes, Reading, Severity};
use league_protocol::id::{MatchId, PlayerId};
use league_protocol::lenient::{Expected, MAX_REPAIRED, Repair, meant, repair};
use league_protocol::message::Message;
use league_protocol::sender::Dialect;
use serde_json::{Value, json};

const JOIN: &[&str] = &["GAME_JOIN_ACK", "LEAGUE_ERROR", "GAME_ERROR"];
const MOVE: &[&str] = &["GAME_MOVE_RESPONSE", "LEAGUE_ERROR", "GAME_ERROR"];
const CHOICE: &[&str] = &["CHOOSE_PARITY_RESPONSE", "LEAGUE_ERROR", "GAME_ERROR"];
pub(crate) const ADMITTED: &[&str] = &["LEAGUE_REGISTER_RESPONSE", "LEAGUE_ERROR"];

/// What is made of some content, and the places at which something was forgiven.
pub(crate) fn repaired(
    content: &Value,
    types: &[&'static str],
    method: Option<&str>,
) -> Option<(Message, Vec<String>)> {
    let mut notes = Notes::new(Reading::Lenient);
    let dialect = method.is_none().then_some(Dialect::V2);
    let expected = Expected {
        types,
        method,
        dialect,
    };
    let Repair::Message(raw) = repair(&content.to_string(), &expected, &mut notes)? else {
        return None;
    };
    let mut decoded = decode(&raw, Reading::Lenient, dialect).ok()?;
    let match_id = MatchId::new("R1M1").expect("it is an id");
    let reader = PlayerId::new("P01").expect("it is an id");
    let hints = Hints {
        match_id: Some(&match_id),
        reader: Some(&reader),
        ..Hints::default()
    };
    let message = decoded.message(&hints).ok()?;
    assert!(
        notes
            .findings
            .iter()
            .all(|finding| finding.severity == Severity::Deviation)
    );
    Some((
        message,
        notes
            .findings
            .into_iter()
            .map(|finding| finding.path)
            .collect(),
    ))
}

#[test]
fn acceptance_is_made_out_however_it_is_said() {
    for (accepts, said) in [
        (true, json!({"accepted": true})),
        (true, json!({"status": "ACCEPTED"})),
        (true, json!({"status": "ok"})),
        (
            true,
            json!({"message_type": "GAME_JOIN_ACK", "accepted": "true"}),
        ),
        (
            true,
            json!({"message_type": "GAME_JOIN_ACK", "accept": "yes"}),
        ),
        (true, json!({"message_type": "GAME_JOIN_ACK", "accept": 1})),
        (true, json!({"type": "GAME_JOIN_ACK", "response": "accept"})),
        (
            true,
            json!({"message_type": "GAME_JOIN_ACK", "match_id": "R1M1", "player_id": "P01"}),
        ),
        (
            false,
            json!({"message_type": "GAME_JOIN_ACK", "accept": {"value": "no"}}),
        ),
        (
            true,
            json!({"messageType": "game_join_ack", "data": {"accept": true}}),
        ),
        (
            true,
            json!({"jsonrpc": "2.0", "id": 1, "result": {"ready": true}}),
        ),
        (
            true,
            json!({"result": {"content": [{"type": "text", "text": "{\"accepted\": true}"}]}}),
        ),
        (false, json!({"accepted": false})),
        (false, json!({"status": "DECLINED"})),
        (
            false,
            json!({"message_type": "GAME_JOIN_ACK", "accept": "no"}),
        ),
    ] {
        let Some((Message::GameJoinAck(ack), forgiven)) = repaired(&said, JOIN, None) else {
            panic!("nothing is made of {said}");
        };
        assert_eq!(ack.accept, accepts, "{said}");
        assert!(!forgiven.is_empty(), "{said}");
    }
}

#[test]
fn move_is_made_out_wherever_it_is() {
    for said in [
        json!({"move": 4}),
        json!({"choice": 4}),
        json!({"move_data": 4}),
        json!({"move_data": {"move": 4}}),
        json!({"message_type": "GAME_MOVE_RESPONSE", "match_id": "R1M1", "move": 4}),
        json!({"message_type": "GAME_MOVE_RESPONSE", "move_data": 4}),
    ] {
        let made = repaired(&said, MOVE, None);
        let Some((Message::MoveResponse(response), forgiven)) = made else {
            panic!("nothing is made of {said}");
        };
        assert_eq!(response.choice, json!(4), "{said}");
        assert!(!forgiven.is_empty(), "{said}");
    }
}

#[test]
fn choice_is_made_out_wherever_it_is() {
    for said in [
        json!({"choice": "even"}),
        json!({"parity_choice": "EVEN"}),
        json!({"parity_choice": " Even "}),
        json!({"parity_choice": {"value": "even"}}),
        json!({"message_type": "CHOOSE_PARITY_RESPONSE", "match_id": "r1m1", "choice": "even"}),
        json!({"message_type": "CHOOSE_PARITY_RESPONSE", "choice": "even"}),
        json!({"message_type": "CHOOSE_PARITY_RESPONSE", "parityChoice": "even"}),
        json!({"message_type": "CHOOSE_PARITY_RESPONSE", "my_secret_pick": "Even"}),
        json!({"message_type": "PARITY_CHOICE", "parity_choice": "even"}),
        json!({"message_type": "CHOOSE_PARITY_RESPONSE", "data": {"choice": "even"}}),
        json!({"id": 3, "result": {"move": {"parity": "even"}}}),
        json!({"result": "{\"parity_choice\": \"even\"}"}),
        json!([{"parity_choice": "even"}]),
        json!({"result": {"structuredContent": {"result": {"choice": "even"}}}}),
        json!({"message_type": "CHOOSE_PARITY_RESPONSE", "choice": "even", "parity_choice": null}),
        json!({"message_type": "CHOOSE_PARITY_RESPONSE", "choice": "even", "parity_choice": ""}),
        json!({"result": {"choice": "even"}, "error": null}),
        json!({"result": {"choice": "even"}, "error": ""}),
    ] {
        let Some((Message::MoveResponse(response), forgiven)) = repaired(&said, CHOICE, None)
        else {
            panic!("nothing is made of {said}");
        };
        assert_eq!(response.choice, "even", "{said}");
        assert!(!forgiven.is_empty(), "{said}");
    }
}

#[test]
fn ambiguous_value_is_not_repaired() {
    for said in [
        json!({"mine": "even", "yours": "odd"}),
        json!({"parity_choice": "both"}),
        json!({"parity_choice": 2}),
        json!({"parity_choice": {"even": true, "odd": false}}),
        json!({"parity_choice": {"not": "even"}}),
        json!({"choice": "evn"}),
        json!([{"parity_choice": "even"}, {"parity_choice": "odd"}]),
        json!("even"),
        json!(null),
        json!({}),
    ] {
        assert!(repaired(&said, CHOICE, None).is_none(), "{said}");
    }
    for said in [
        json!({"accepted": true, "ready": false, "message_type": "GAME_JOIN_ACK"}),
        json!({"ready": true, "decision": "decline"}),
        json!({"message_type": "GAME_JOIN_ACK", "note": "not today"}),
        json!({"message_type": "GAME_JOIN_ACK", "accept": null}),
        json!({"message_type": "GAME_JOIN_ACK", "accept": ""}),
        json!({"jsonrpc": "2.0", "id": 7, "error": {"code": -32000, "message": "busy", "data": {"message_type": "GAME_JOIN_ACK", "match_id": "R1M1"}}}),
        json!({"result": {"accepted": false, "response": {"message_type": "GAME_JOIN_ACK", "match_id": "R1M1"}}}),
        json!({"message_type": "GAME_JOIN_ACK", "reason": "busy"}),
        json!({"message_type": "GAME_JOIN_ACK", "match_id": "R1M1", "arrival_timestamp": null}),
        json!({"message_type": "GAME_JOIN_ACK", "match_id": "R1M1", "arrival_timestamp": ""}),
        json!({"message_type": "GAME_JOIN_ACK", "match_id": " ", "player_id": "P01"}),
        json!({"message_type": "GAME_JOIN_ACK", "match_id": "R1M1", "player_id": {}}),
        json!({"message_type": "GAME_JOIN_ACK", "match_id": "R1M1", "player_id": []}),
    ] {
        assert!(repaired(&said, JOIN, None).is_none(), "{said}");
    }
    for said in [
        json!({"choice": "even", "move": "odd"}),
        json!({"opponent_last_choice": "even"}),
        json!({"message_type": "GAME_JOIN_ACK", "parity_choice": "even"}),
    ] {
        assert!(repaired(&said, CHOICE, None).is_none(), "{said}");
    }
}

#[test]
fn complaint_is_told_in_its_own_words() {
    for (said, words) in [
        (json!({"error": "Unknown method"}), "Unknown method"),
        (
            json!({"result": {"error": {"code": 7, "message": "not now"}}}),
            "not now",
        ),
        (json!({"detail": "Not Found"}), "Not Found"),
        (
            json!({
                "result": {"message_type": "GAME_JOIN_ACK", "match_id": "R1M1"},
                "error": {"code": -32000, "message": "I do not come"},
            }),
            "I do not come",
        ),
        (
            json!({
                "jsonrpc": "2.0", "id": 7, "error": "choice withdrawn",
                "result": {"message_type": "CHOOSE_PARITY_RESPONSE", "parity_choice": "even"},
            }),
            "choice withdrawn",
        ),
        (
            json!({"result": {
                "message_type": "CHOOSE_PARITY_RESPONSE", "choice": "even",
                "error": "choice withdrawn",
            }}),
            "choice withdrawn",
        ),
        (
            json!({"choice": "even", "error": {"message": "choice withdrawn"}}),
            "choice withdrawn",
        ),
        (
            json!({
                "message_type": "CHOOSE_PARITY_RESPONSE", "choice": "even",
                "error": {"message": "choice withdrawn"},
            }),
            "choice withdrawn",
        ),
    ] {
        let mut notes = Notes::new(Reading::Lenient);
        let expected = Expected {
            types: CHOICE,
            method: None,
            dialect: Some(Dialect::V2),
        };
        match repair(&said.to_string(), &expected, &mut notes) {
            Some(Repair::Complaint(told)) => assert_eq!(told, words),
            other => panic!("{said}: {other:?}"),
        }
    }
}

#[test]
fn nothing_is_repaired_for_a_strict_reader_or_out_of_a_heap() {
    let expected = Expected {
        types: CHOICE,
        method: None,
        dialect: Some(Dialect::V2),
    };
    let said = json!({"choice": "even"}).to_string();
    assert!(repair(&said, &expected, &mut Notes::new(Reading::Strict)).is_none());
    let heap = json!({"choice": "even", "beside": "x".repeat(MAX_REPAIRED)}).to_string();
    assert!(repair(&heap, &expected, &mut Notes::new(Reading::Lenient)).is_none());
}

#[test]
fn word_means_a_type_by_its_stems() {
    let player = [
        "GAME_INVITATION",
        "CHOOSE_PARITY_CALL",
        "GAME_MOVE_CALL",
        "PLAY_REQUEST",
        "GAME_OVER",
        "ROUND_ANNOUNCEMENT",
        "LEAGUE_STANDINGS_UPDATE",
        "ROUND_COMPLETED",
        "LEAGUE_COMPLETED",
        "GAME_ERROR",
        "GAME_START",
        "PLAY_VALIDATION",
        "LEAGUE_START_ANNOUNCEMENT",
    ];
    for (word, kind) in [
        ("handle_invitation", Some("GAME_INVITATION")),
        ("invite", Some("GAME_INVITATION")),
        ("gameInvitation", Some("GAME_INVITATION")),
        ("parity_choose", Some("CHOOSE_PARITY_CALL")),
        ("make_move", Some("GAME_MOVE_CALL")),
        ("play", Some("PLAY_REQUEST")),
        ("match_result", Some("GAME_OVER")),
        ("game_end", Some("GAME_OVER")),
        ("round_end", Some("ROUND_COMPLETED")),
        ("round_start", Some("ROUND_ANNOUNCEMENT")),
        ("league_end", Some("LEAGUE_COMPLETED")),
        ("standings", Some("LEAGUE_STANDINGS_UPDATE")),
        ("on_error", Some("GAME_ERROR")),
        ("dance", None),
        ("", None),
    ] {
        assert_eq!(meant(word, &player), kind, "{word}");
    }
}

#[test]
fn protocol_is_taken_by_any_spelling_of_its_name_and_no_other() {
    for (named, taken) in [
        ("league.v2", true),
        ("LEAGUE-V2", true),
        ("league.v2.1", true),
        ("v2", true),
        ("league.v9", false),
        ("league.v1", false),
        ("chess.v2", false),
    ] {
        let said =
            json!({"protocol": named, "message_type": "CHOOSE_PARITY_RESPONSE", "choice": "odd"});
        assert_eq!(repaired(&said, CHOICE, None).is_some(), taken, "{named}");
    }
}

#[test]
fn name_that_is_there_twice_is_never_forgiven() {
    for said in [
        r#"{"parity_choice":"even","parity_choice":"odd"}"#,
        r#"{"result":{"choice":"even","choice":"odd"}}"#,
        r#"{"result":"{\"choice\":\"even\",\"choice\":\"odd\"}"}"#,
    ] {
        let mut notes = Notes::new(Reading::Lenient);
        let expected = Expected {
            types: CHOICE,
            method: None,
            dialect: Some(Dialect::V2),
        };
        let made = repair(said, &expected, &mut notes);
        let chosen = match &made {
            Some(Repair::Message(raw)) => raw.get().contains("parity_choice"),
            _ => false,
        };
        assert!(!chosen, "{said}: {made:?}");
    }
}

#[test]
fn finding_on_a_choice_does_not_repeat_it() {
    let mut notes = Notes::new(Reading::Lenient);
    let expected = Expected {
        types: CHOICE,
        method: None,
        dialect: Some(Dialect::V2),
    };
    let said = r#"{"parity_choice":"ODD"}"#;
    assert!(repair(said, &expected, &mut notes).is_some());
    for finding in &notes.findings {
        let shown = format!("{} {}", finding.detail, finding.expected);
        assert!(!shown.contains("ODD"), "{shown}");
        assert!(shown.contains("odd") == shown.contains("even"), "{shown}");
    }
}

#[test]
fn result_of_a_response_is_where_a_message_belongs() {
    let answer = json!({"jsonrpc": "2.0", "id": 4, "result": {
        "protocol": "league.v2", "message_type": "GAME_JOIN_ACK", "sender": "player:P01",
        "timestamp": "2025-01-15T10:30:00Z", "conversation_id": "c", "match_id": "R1M1",
        "player_id": "P01", "arrival_timestamp": "2025-01-15T10:30:00Z", "accept": "yes",
    }});
    let (_, forgiven) = repaired(&answer, JOIN, None).unwrap();
    assert_eq!(forgiven, ["accept"], "and nothing else was done to it");
}

#[test]
fn fields_of_the_frame_are_not_part_of_the_message() {
    let envelope = |mut own: Value| {
        let members = own.as_object_mut().expect("it is an object");
        for (name, value) in [
            ("protocol", "league.v2"),
            ("sender", "player:P01"),
            ("timestamp", "2025-01-15T10:30:00Z"),
            ("conversation_id", "c"),
            ("match_id", "R1M1"),
        ] {
            members.insert(name.to_owned(), value.into());
        }
        own
    };
    for said in [
        envelope(json!({"jsonrpc": "2.0", "id": 7, "choice": "even"})),
        envelope(json!({"jsonrpc": "2.0", "id": 7, "result": "even"})),
        envelope(json!({"id": 7, "result": "even"})),
        envelope(json!({
            "jsonrpc": "2.0", "id": "P99", "message_type": "CHOOSE_PARITY_RESPONSE", "choice": "even",
        })),
        json!({"jsonrpc": "2.0", "id": 7, "server": "x", "result": {"choice": "even"}}),
        json!({"jsonrpc": "2.0", "id": 7, "result": {
            "choice": "even", "_meta": {"id": 9, "player": "P98"},
        }}),
        json!({"message_type": "CHOOSE_PARITY_RESPONSE", "choice": "even", "_meta": {"player": "P98"}}),
    ] {
        let Some((Message::MoveResponse(response), _)) = repaired(&said, CHOICE, None) else {
            panic!("nothing is made of {said}");
        };
        assert_eq!(response.choice, "even", "{said}");
        let named = response.player_id.as_ref().map(PlayerId::as_str);
        assert!(
            matches!(named, None | Some("P01")),
            "{said}: {named:?} is nobody's name"
        );
    }
    let own = json!({"id": "P07", "choice": "even"});
    let Some((Message::MoveResponse(response), _)) = repaired(&own, CHOICE, None) else {
        panic!("nothing is made of {own}");
    };
    let named = response.player_id.as_ref().map(PlayerId::as_str);
    assert_eq!(
        named,
        Some("P07"),
        "without a frame it is the message's own"
    );
    let admission = json!({"jsonrpc": "2.0", "id": 7, "status": "REGISTERED", "token": "tok-x"});
    assert!(
        repaired(&admission, ADMITTED, None).is_none(),
        "nobody was given an id"
    );
}
