//! Habits of foreign players and hosts, one row each: times, words for yes, ends of matches,
//! acknowledgements of news, names of tools.

use league_protocol::dialect::Hints;
use league_protocol::finding::Reading;
use league_protocol::id::{MatchId, PlayerId};
use league_protocol::message::{MatchStatus, Message};
use league_protocol::peer::HttpReply;
use league_protocol::rpc::{Call, Id, Params};
use league_protocol::sender::{CallStyle, Dialect};
use league_protocol::time::Timestamp;
use league_protocol::tools::{PLAYER_TOOLS, REFEREE_TOOLS};
use league_protocol::wire::{Context, Inbound, SentCall, read_reply, receive, receive_tool_call};
use serde_json::{Value, json};

use super::raw;
use super::repaired::repaired;
use crate::dialects::samples;

#[test]
fn acceptance_of_an_invitation_is_read_from_any_word_for_it() {
    let said = [
        json!({"status": "received"}),
        json!({"status": "RECEIVED"}),
        json!({"status": "ready"}),
        json!({"status": "joined"}),
        json!({"status": "ready_to_play"}),
        json!({"message": "joined the game", "status": "joined"}),
        json!({"message_type": "GAME_JOIN_ACK", "status": "received", "match_id": "R1M1"}),
        json!({"message_type": "GAME_JOIN_ACK", "accept": "received"}),
        json!({"message_type": "INVITATION_RECEIVED", "status": "participating"}),
    ];
    for said in said {
        let types = &["GAME_JOIN_ACK", "LEAGUE_ERROR", "GAME_ERROR"];
        for method in [None, Some("game_join_ack")] {
            let made = repaired(&said, types, method);
            let Some((Message::GameJoinAck(ack), forgiven)) = made else {
                panic!("nothing is made of {said} by {method:?}: {made:?}");
            };
            assert!(ack.accept, "{said}");
            assert!(!forgiven.is_empty(), "{said}");
        }
    }
    let busy = json!({"message_type": "GAME_JOIN_ACK", "status": "unavailable"});
    let made = repaired(&busy, &["GAME_JOIN_ACK"], None);
    let declines = |(message, _): &(Message, Vec<String>)| matches!(message, Message::GameJoinAck(ack) if !ack.accept);
    assert!(made.as_ref().is_none_or(declines), "{made:?}");
}

#[test]
fn answer_that_comes_as_a_call_is_read_like_one_in_a_result() {
    let said = [
        (
            "GAME_JOIN_ACK",
            json!({"match_id": "R1M1", "status": "accepted"}),
        ),
        (
            "GAME_JOIN_ACK",
            json!({"message_type": "GAME_JOIN_ACK", "match_id": "R1M1", "status": "ACCEPTED"}),
        ),
        (
            "mcp_message",
            json!({"message_type": "GAME_JOIN_ACK", "match_id": "R1M1", "accepted": "yes"}),
        ),
    ];
    for (method, says) in said {
        let params = raw(&says);
        let call = Call {
            id: Id::number(1),
            method: method.into(),
            params: Params::Named(&params),
        };
        let context = Context {
            tools: &REFEREE_TOOLS,
            ..Context::default()
        };
        let Inbound::Message(received) = receive(&call, &context) else {
            panic!("{method} {says} is not read");
        };
        assert!(
            matches!(&received.message, Message::GameJoinAck(ack) if ack.accept),
            "{says}: {received:?}"
        );
        assert!(!received.findings.is_empty(), "{says}");
    }
}

/// What our player makes of the end of a match against P02 that it was told in these words.
fn told(says: &Value) -> Result<Message, String> {
    let (own, other) = (PlayerId::numbered(1), PlayerId::numbered(2));
    let match_id = MatchId::new("R1M1").expect("it is an id");
    let context = Context {
        hints: Hints {
            reader: Some(&own),
            opponent: Some(&other),
            match_id: Some(&match_id),
            ..Hints::default()
        },
        tools: &PLAYER_TOOLS,
        acknowledges_all: true,
        ..Context::default()
    };
    let at = Timestamp::from_millis(0);
    match receive_tool_call("notify_match_result", Some(&raw(says)), at, &context) {
        Some(Inbound::Message(received)) => {
            assert!(!received.findings.is_empty(), "nothing is noted of {says}");
            Ok(received.message)
        }
        other => Err(format!("{other:?}")),
    }
}

/// Who won, and the words in which hosts tell it.
fn ends() -> Vec<(Option<&'static str>, Value)> {
    let (lost, won, drawn) = (Some("P02"), Some("P01"), None);
    vec![
        // Flat, in the words of the main document.
        (
            lost,
            json!({"status": "WIN", "winner_player_id": "P02", "drawn_number": 7,
            "number_parity": "odd", "choices": {"P01": "even", "P02": "odd"}}),
        ),
        (
            drawn,
            json!({"status": "DRAW", "winner_player_id": null, "drawn_number": 7}),
        ),
        // Seen from the receiver.
        (
            lost,
            json!({"status": "LOSS", "drawn_number": 7, "your_choice": "even"}),
        ),
        (lost, json!({"status": "LOSE"})),
        (won, json!({"status": "VICTORY", "drawn_number": 8})),
        (won, json!({"result": "WON", "drawn_number": 8})),
        (drawn, json!({"outcome": "TIE"})),
        (
            lost,
            json!({"game_result": {"status": "LOSS", "drawn_number": 7}}),
        ),
        (
            lost,
            json!({"game_result": {"status": "LOSS", "winner_player_id": "P02"}}),
        ),
        (lost, json!({"game_result": "LOSS", "drawn_number": 7})),
        (
            won,
            json!({"result": {"status": "WIN", "winner_player_id": "P01", "drawn_number": 8}}),
        ),
        // The winner alone.
        (lost, json!({"winner": "P02"})),
        (won, json!({"winner_id": "P01", "drawn_number": 8})),
        (lost, json!({"game_result": {"winner": "P02"}})),
        (won, json!({"result": {"winner": "P01"}})),
        (drawn, json!({"winner": "DRAW", "drawn_number": 3})),
        (drawn, json!({"winner": null, "drawn_number": 3})),
    ]
}

#[test]
fn end_of_a_match_is_understood_in_every_shape_in_which_hosts_tell_it() {
    let mut wrong = Vec::new();
    for (winner, mut says) in ends() {
        for typed in [false, true] {
            says["match_id"] = "R1M1".into();
            if typed {
                says["protocol"] = "league.v2".into();
                says["message_type"] = "GAME_OVER".into();
                says["sender"] = "referee:REF01".into();
            }
            match told(&says) {
                Ok(Message::GameOver(over)) => {
                    let found = over.result.winner.as_ref().map(PlayerId::as_str);
                    let is_draw = over.result.status == MatchStatus::Draw;
                    if found != winner || is_draw != winner.is_none() {
                        wrong.push(format!("{says}: {over:?}"));
                    }
                }
                other => wrong.push(format!("{says}: {other:?}")),
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn end_of_a_match_that_says_too_little_or_two_things_is_not_made_up() {
    for says in [
        json!({"match_id": "R1M1"}),
        json!({"match_id": "R1M1", "drawn_number": 7}),
        json!({"match_id": "R1M1", "status": "LOSS", "winner": "P01"}),
        json!({"match_id": "R1M1", "status": "COMPLETED"}),
        json!({"match_id": "R1M1", "winner": "P07"}),
    ] {
        assert!(!matches!(told(&says), Ok(Message::GameOver(_))), "{says}");
    }
}

#[test]
fn acknowledgement_of_news_is_never_judged() {
    let news = [
        samples::game_over(1, samples::result()),
        samples::announcement(),
    ];
    for message in &news {
        for body in [
            json!({"jsonrpc": "2.0", "id": 1, "result": {"message_type": "ACK", "status": "x"}}),
            json!({"jsonrpc": "2.0", "id": 1, "result": {"message_type": "GAME_OVER_ACK"}}),
            json!({"jsonrpc": "2.0", "id": 1, "result": {
                "message_type": "GAME_JOIN_ACK", "protocol": "league.v9", "timestamp": "now"}}),
            json!({"jsonrpc": "2.0", "id": 1, "result": "thanks"}),
            json!({"jsonrpc": "2.0", "id": 1, "result": null}),
            json!({"message_type": 7}),
            json!("ok"),
            json!([]),
        ] {
            for reading in [Reading::Lenient, Reading::Strict] {
                let own = PlayerId::numbered(1);
                let call = SentCall {
                    id: 1,
                    message,
                    dialect: Dialect::V2,
                    style: CallStyle::Tool,
                    player: Some(&own),
                    is_kept: true,
                };
                let context = Context {
                    reading,
                    pinned: Some(Dialect::V2),
                    ..Context::default()
                };
                let text = body.to_string();
                let reply = HttpReply {
                    status: 200,
                    session: None,
                    body: text.as_bytes(),
                };
                let read = read_reply(&call, &reply, &context);
                let Ok(received) = read.read else {
                    panic!("{body} is judged: {:?}", read.read);
                };
                assert!(
                    received.findings.is_empty(),
                    "{body}: {:?}",
                    received.findings
                );
                assert!(!read.doubtful, "{body}");
            }
        }
    }
}
