//! What is said by the API page is read back without a finding and means the same.

use std::sync::Arc;

use league_protocol::fault::Code;
use league_protocol::id::{MatchId, RefereeId};
use league_protocol::message::*;
use league_protocol::time::Timestamp;
use league_protocol::token::AuthToken;
use serde_json::json;

use super::{Reading, read, whole};
use crate::dialects::samples::*;

/// The messages of a match, as far as this dialect carries them whole.
pub(crate) fn of_a_match() -> Vec<Message> {
    let arrival = Timestamp::parse("2025-01-15T10:30:05Z").ok();
    let record = WinLossDraw {
        wins: 2,
        losses: 1,
        draws: 3,
    };
    vec![
        invitation(),
        Message::from(GameJoinAck {
            match_id: r1m1(),
            player_id: Some(player(1)),
            arrival,
            accept: true,
            proof: None,
        }),
        join_ack(false),
        Message::MoveCall(Box::new(MoveCall {
            record,
            ..move_call("even_odd")
        })),
        Message::MoveCall(Box::new(MoveCall {
            record,
            ..move_call("tic_tac_toe")
        })),
        Message::MoveResponse(Arc::new(move_response("even_odd", json!("odd")))),
        game_over(1, result()),
        game_over(1, drawn()),
        report(result()),
        report(forfeited(true)),
        Message::from(StartMatchAck {
            match_id: r1m1(),
            accepted: false,
            reason: Some("no seat free".into()),
        }),
    ]
}

fn enrolment<Id>(id: Id, token: &str) -> Enrolment<Id> {
    Enrolment {
        id,
        token: AuthToken::new(token),
        league_id: league(),
        manager_token: Some(AuthToken::new("tok-manager-abc")),
        return_token: Some(AuthToken::new("tok-return-abc")),
        note: None,
    }
}

/// The messages between the manager and the others, as far as they are carried whole.
pub(crate) fn of_the_manager() -> Vec<Message> {
    let row = || row(1, 1, 4, [2, 1, 0]);
    vec![
        register_request(),
        Message::PlayerRegisterResponse(RegisterResponse::from(enrolment(
            player(1),
            "tok-p01-abc",
        ))),
        rejected(),
        Message::RefereeRegisterResponse(RegisterResponse::from(enrolment(
            RefereeId::numbered(1),
            "tok-ref01-abc",
        ))),
        announcement(),
        Message::from(RoundCompleted {
            league_id: league(),
            round_id: 1,
            next_round_id: Some(2),
            summary: RoundSummary {
                total_matches: 2,
                wins: 1,
                draws: 1,
                technical_losses: 0,
            },
            standings: Rows::from([]),
        }),
        Message::from(StandingsUpdate {
            league_id: league(),
            round_id: 1,
            standings: Rows::from([row()]),
        }),
        table(true),
        table(false),
        Message::from(LeagueQuery {
            league_id: Some(league()),
            query: Query::Standings,
            by_api_page: true,
        }),
        Message::from(LeagueQuery {
            league_id: Some(league()),
            query: Query::NextMatch(player(1)),
            by_api_page: false,
        }),
        league_error(),
    ]
}

fn table(by_api_page: bool) -> Message {
    Message::LeagueQueryResponse(Box::new(LeagueQueryResponse {
        league_id: league(),
        query_type: "GET_STANDINGS",
        answer: Ok(QueryAnswer::Standings {
            round_id: 3,
            rows: Arc::new([row(1, 1, 4, [2, 1, 0])]),
        }),
        by_api_page,
    }))
}

fn league_error() -> Message {
    let mut error = LeagueError::new(Code::TokenInvalid, "this token is not yours");
    error.original_message_type = Some("LEAGUE_QUERY".into());
    error.path = Some("auth_token".into());
    error
        .context
        .insert("provided_token".into(), "tok-p01-…".into());
    Message::from(error)
}

/// The answers whose rounds are in their free part.
pub(crate) fn answers() -> Vec<Message> {
    let schedule = QueryAnswer::Schedule {
        total_rounds: 3,
        rounds: Arc::new([RoundListing {
            round_id: 2,
            matches: vec![MatchListing {
                match_id: MatchId::numbered(2, 1),
                game_type: game("even_odd"),
                player_a: player(1),
                player_b: player(3),
            }],
        }]),
    };
    let next = QueryAnswer::NextMatch(NextMatch {
        match_id: MatchId::numbered(2, 1),
        round_id: 2,
        opponent_id: player(3),
        referee_endpoint: None,
    });
    let answer = |query_type, answer| {
        Message::LeagueQueryResponse(Box::new(LeagueQueryResponse {
            league_id: league(),
            query_type,
            answer,
            by_api_page: false,
        }))
    };
    vec![
        answer("GET_SCHEDULE", Ok(schedule)),
        answer("GET_NEXT_MATCH", Ok(next)),
        answer("GET_NEXT_MATCH", Err("nothing is scheduled".into())),
    ]
}

#[test]
fn encoded_message_reads_back_strictly_and_unchanged() {
    for message in [of_a_match(), of_the_manager(), answers()].concat() {
        let knowledge = Knowledge::of("even_odd");
        let json = whole(&message, &knowledge.hints()).expect("there are words for it");
        let read = read(&json, Reading::Strict, &knowledge.hints());
        assert_eq!(read.message, Some(message), "{json}");
        assert_eq!(read.table(), [""; 0], "{json}");
        assert_eq!(
            read.written,
            serde_json::from_str::<serde_json::Value>(&json).unwrap()
        );
    }
}

#[test]
fn move_of_another_game_passes_through() {
    let knowledge = Knowledge::of("tic_tac_toe");
    let message = Message::MoveResponse(Arc::new(move_response("tic_tac_toe", json!({"row": 1}))));
    let json = whole(&message, &knowledge.hints()).unwrap();
    let read = read(&json, Reading::Lenient, &knowledge.hints());
    assert_eq!(read.message, Some(message));
}

#[test]
fn game_error_loses_its_round_and_no_more() {
    let knowledge = Knowledge::of("even_odd");
    let message = game_error("CHOOSE_PARITY_RESPONSE", Code::Timeout);
    let json = whole(&message, &knowledge.hints()).unwrap();
    let read = read(&json, Reading::Strict, &knowledge.hints());
    let Message::GameError(error) = message else {
        panic!("it is an error");
    };
    let carried = GameError {
        round_id: 0,
        ..*error
    };
    assert_eq!(read.message, Some(Message::GameError(Box::new(carried))));
}

#[test]
fn each_side_of_a_match_is_told_its_own() {
    let knowledge = Knowledge::of("even_odd");
    let told = |receiver, result| {
        let json = whole(&game_over(receiver, result), &knowledge.hints()).unwrap();
        let told: serde_json::Value = serde_json::from_str(&json).unwrap();
        ["result", "points_earned", "your_choice", "opponent_choice"]
            .map(|name| told[name].to_string())
            .join(" ")
    };
    assert_eq!(told(1, result()), r#""WIN" 3 "even" "odd""#);
    assert_eq!(told(2, result()), r#""LOSS" 0 "odd" "even""#);
    assert_eq!(told(2, drawn()), r#""DRAW" 1 "odd" "odd""#);
    assert_eq!(told(1, forfeited(false)), r#""WIN" 3 null null"#);
    assert_eq!(told(2, forfeited(false)), r#""TECHNICAL_LOSS" 0 null null"#);
    assert_eq!(told(1, forfeited(true)), r#""TECHNICAL_LOSS" 0 null null"#);
}

#[test]
fn technical_loss_of_both_has_no_winner_and_seats_are_kept() {
    let knowledge = Knowledge::of("even_odd");
    let understood = |message| {
        let json = whole(&message, &knowledge.hints()).unwrap();
        match read(&json, Reading::Strict, &knowledge.hints()).message {
            Some(Message::GameOver(over)) => over.result.clone(),
            other => panic!("{other:?}"),
        }
    };
    let both = understood(game_over(1, forfeited(true)));
    assert_eq!(both.status, MatchStatus::TechnicalLoss);
    assert_eq!((both.winner.clone(), both.points), (None, [0, 0]));
    let seats = [player(2), player(1)];
    let other_seat = understood(game_over(
        1,
        MatchResult {
            players: seats.clone(),
            points: [0, 3],
            ..result()
        },
    ));
    assert_eq!(other_seat.players, seats);
    assert_eq!(other_seat.points, [0, 3]);
    assert_eq!(other_seat.draw, result().draw);
}

#[test]
fn message_outside_the_dialect_is_not_encoded() {
    let knowledge = Knowledge::of("even_odd");
    for message in [Message::Ping, Message::Acknowledged] {
        assert!(whole(&message, &knowledge.hints()).is_none());
    }
}
