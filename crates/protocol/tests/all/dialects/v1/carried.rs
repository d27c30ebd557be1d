//! What is said in `league.v1` is read back without a finding and means the same.

use std::sync::Arc;

use league_protocol::dialect::names::league_uuid;
use league_protocol::fault::Code;
use league_protocol::id::{LeagueId, PlayerId};
use league_protocol::message::*;
use league_protocol::time::Timestamp;
use league_protocol::token::AuthToken;
use serde_json::json;

use super::{Hints, Reading, read, whole};
use crate::dialects::samples::*;

/// A player is let in; there is no token in this dialect.
fn admitted() -> Message {
    Message::PlayerRegisterResponse(RegisterResponse::from(Enrolment {
        id: player(1),
        token: AuthToken::new(""),
        league_id: league(),
        manager_token: None,
        return_token: None,
        note: None,
    }))
}

/// The messages that `league.v1` carries whole.
pub(crate) fn carried() -> Vec<Message> {
    let call = |game_type| MoveCall {
        deadline: Timestamp::LAST,
        turn_number: 2,
        move_seconds: 12,
        ..move_call(game_type)
    };
    let validation = |choice, error| PlayValidation {
        league_id: league(),
        round_id: 1,
        match_id: r1m1(),
        player_id: player(2),
        choice,
        error,
    };
    vec![
        new_player(),
        admitted(),
        rejected(),
        league_start(),
        invitation(),
        join_ack(true),
        join_ack(false),
        Message::from(GameStart {
            league_id: league(),
            round_id: 1,
            match_id: r1m1(),
            game_type: game("even_odd"),
            current_player: player(1),
            move_seconds: 30,
        }),
        Message::MoveCall(Box::new(call("even_odd"))),
        Message::MoveCall(Box::new(call("tic_tac_toe"))),
        Message::MoveResponse(Arc::new(MoveResponse {
            reasoning: Some("a feeling".into()),
            ..move_response("even_odd", json!("odd"))
        })),
        Message::PlayValidation(Box::new(validation(Some(json!("even")), None))),
        Message::PlayValidation(Box::new(validation(None, None))),
        Message::PlayValidation(Box::new(validation(None, Some("Timeout exceeded".into())))),
        game_over(1, result()),
        game_over(1, drawn()),
        game_over(1, forfeited(false)),
        game_over(1, forfeited(true)),
        Message::from(RoundCompleted {
            league_id: league(),
            round_id: 2,
            next_round_id: None,
            summary: RoundSummary {
                total_matches: 2,
                ..RoundSummary::default()
            },
            standings: Rows::from([row(1, 1, 1, [1, 1, 0]), row(2, 1, 3, [1, 1, 0])]),
        }),
        league_completed(),
    ]
}

/// A version of `league.v2` means nothing here and is not said.
fn new_player() -> Message {
    let Message::PlayerRegisterRequest(mut request) = register_request() else {
        panic!("it is a request");
    };
    request.meta.protocol_version = None;
    Message::PlayerRegisterRequest(request)
}

fn league_start() -> Message {
    let alpha = PlayerId::new("alpha").expect("it is an id");
    Message::from(LeagueStart {
        league_id: league(),
        total_rounds: 3,
        total_players: 4,
        game_type: game("even_odd"),
        schedule: Arc::new([RoundListing {
            round_id: 1,
            matches: vec![MatchListing {
                match_id: r1m1(),
                game_type: game("even_odd"),
                player_a: player(1),
                player_b: alpha,
            }],
        }]),
    })
}

fn league_completed() -> Message {
    Message::from(LeagueCompleted {
        league_id: league(),
        total_rounds: 3,
        total_matches: 6,
        champion: Some(Champion {
            player_id: player(1),
            display_name: "AlphaBot".into(),
            points: 7,
            wins: 2,
            losses: 0,
            played: 3,
        }),
        final_standings: Rows::from([row(1, 1, 1, [2, 1, 0]), row(2, 2, 2, [0, 0, 3])]),
    })
}

#[test]
fn encoded_message_reads_back_strictly_and_unchanged() {
    for message in carried() {
        let knowledge = match &message {
            Message::MoveCall(call) => Knowledge::of(call.game_type.as_str()),
            _ => Knowledge::of("even_odd"),
        };
        let json = whole(&message, &knowledge.hints()).expect("there are words for it");
        let read = read(&json, Reading::Strict, &knowledge.hints());
        assert_eq!(read.table(), [""; 0], "{json}");
        assert_eq!(read.message, Some(message), "{json}");
        assert_eq!(
            read.written,
            serde_json::from_str::<serde_json::Value>(&json).unwrap()
        );
    }
}

#[test]
fn report_to_the_manager_means_the_same() {
    let knowledge = Knowledge::of("even_odd");
    let manager = Hints {
        reader: None,
        opponent: None,
        ..knowledge.hints()
    };
    for result in [result(), drawn(), forfeited(false), forfeited(true)] {
        let message = report(result);
        let json = whole(&message, &manager).unwrap();
        let read = read(&json, Reading::Strict, &manager);
        assert_eq!(read.table(), [""; 0]);
        assert_eq!(read.message, Some(message));
    }
}

#[test]
fn move_of_another_game_passes_through() {
    let knowledge = Knowledge::of("tic_tac_toe");
    let mut response = move_response("tic_tac_toe", json!({"row": 1, "column": 1}));
    // 003 has no field for the kind of a play.
    response.move_type = None;
    let message = Message::MoveResponse(Arc::new(response));
    let json = whole(&message, &knowledge.hints()).unwrap();
    let read = read(&json, Reading::Strict, &knowledge.hints());
    assert_eq!(read.table(), [""; 0]);
    assert_eq!(read.message, Some(message));
}

#[test]
fn error_about_a_play_is_a_validation_that_failed() {
    let knowledge = Knowledge::of("even_odd");
    for (code, reason) in [
        (Code::Timeout, "Timeout exceeded"),
        (Code::InvalidMove, "Choice not in allowed values"),
        (Code::MissingField, "Invalid choice format"),
        (Code::Connection, "no answer came within 30 s"),
    ] {
        let error = game_error("CHOOSE_PARITY_RESPONSE", code);
        let json = whole(&error, &knowledge.hints()).unwrap();
        let read = read(&json, Reading::Strict, &knowledge.hints());
        assert_eq!(read.table(), [""; 0]);
        let Some(Message::PlayValidation(validation)) = read.message else {
            panic!("it is a validation");
        };
        assert_eq!(validation.error.as_deref(), Some(reason));
    }
    let error = game_error("GAME_JOIN_ACK", Code::Timeout);
    assert!(whole(&error, &knowledge.hints()).is_none());
}

#[test]
fn league_is_known_by_its_uuid_and_another_keeps_its_own() {
    let knowledge = Knowledge::of("even_odd");
    let league_of = |json: &str| match read(json, Reading::Strict, &knowledge.hints()).message {
        Some(Message::GameInvitation(invitation)) => invitation.league_id,
        other => panic!("{other:?}"),
    };
    let json = whole(&invitation(), &knowledge.hints()).unwrap();
    assert_eq!(league_of(&json), league());
    let uuid = league_uuid(&league());
    assert_eq!(
        league_of(&json.replace(&uuid, &uuid.to_uppercase())),
        league()
    );
    let other = "550e8400-e29b-41d4-a716-446655440000";
    assert_eq!(
        league_of(&json.replace(&uuid, other)),
        LeagueId::new(other).unwrap()
    );
}

#[test]
fn message_outside_the_dialect_is_not_encoded() {
    let hints = Hints::default();
    let update = Message::from(StandingsUpdate {
        league_id: league(),
        round_id: 1,
        standings: Rows::from([]),
    });
    let error = Message::from(LeagueError::new(Code::TokenMissing, "no token"));
    for message in [update, error, Message::Ping, Message::Acknowledged] {
        assert!(whole(&message, &hints).is_none(), "{message:?}");
    }
}
