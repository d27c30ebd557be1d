//! Every example of 001: nothing wrong with it, nothing lost, and the meaning that it has.

use std::sync::Arc;

use league_protocol::fault::Code;
use league_protocol::message::*;
use league_protocol::token::AuthToken;
use serde_json::json;

use crate::dialects::examples_001::EXAMPLES;
use crate::dialects::samples::*;

use super::{Reading, read};

#[test]
fn every_example_reads_strictly_and_comes_out_as_it_went_in() {
    let knowledge = Knowledge::of("even_odd");
    for example in EXAMPLES {
        for reading in [Reading::Lenient, Reading::Strict] {
            let read = read(example, reading, &knowledge.hints());
            assert_eq!(read.table(), [""; 0], "{example}");
            assert_eq!(
                read.written,
                serde_json::from_str::<serde_json::Value>(example).unwrap()
            );
            assert!(read.message.is_some());
        }
    }
}

fn means(index: usize, expected: &Message) {
    let knowledge = Knowledge::of("even_odd");
    let read = read(EXAMPLES[index], Reading::Lenient, &knowledge.hints());
    assert_eq!(read.message.as_ref(), Some(expected));
}

#[test]
fn registration_is_understood() {
    let Message::PlayerRegisterRequest(mut request) = register_request() else {
        panic!("it is a request");
    };
    request.meta.protocol_version = None;
    request.wanted_id = None;
    means(0, &Message::PlayerRegisterRequest(request));
    means(
        1,
        &Message::PlayerRegisterResponse(RegisterResponse::from(Enrolment {
            id: player(1),
            token: AuthToken::new("tok_abc123xyz"),
            league_id: league(),
            manager_token: None,
            return_token: None,
            note: None,
        })),
    );
}

#[test]
fn match_is_understood() {
    means(
        2,
        &Message::GameInvitation(Box::new(GameInvitation {
            league_id: league(),
            round_id: 1,
            match_id: r1m1(),
            game_type: game("even_odd"),
            role: Role::A,
            opponent_id: player(2),
            commitment: None,
            move_seconds: 30,
        })),
    );
    means(3, &join_ack(true));
    means(
        4,
        &Message::MoveCall(Box::new(MoveCall {
            round_id: 0,
            ..move_call("even_odd")
        })),
    );
    means(
        5,
        &Message::MoveResponse(Arc::new(MoveResponse {
            nonce: None,
            ..move_response("even_odd", json!("even"))
        })),
    );
}

#[test]
fn result_is_understood_from_both_sides() {
    let Message::GameOver(over) = game_over(
        1,
        MatchResult {
            choices: [(player(1), json!("odd")), (player(2), json!("even"))].into(),
            details: even_odd_details(7),
            reason: String::new(),
            draw: None,
            ..result()
        },
    ) else {
        panic!("it is the end of a match");
    };
    means(
        6,
        &Message::from(GameOver {
            round_id: 0,
            ..GameOver::clone(&over)
        }),
    );
}

#[test]
fn table_is_asked_for_and_told() {
    means(
        7,
        &Message::from(LeagueQuery {
            league_id: None,
            query: Query::Standings,
            by_api_page: true,
        }),
    );
    means(
        8,
        &Message::LeagueQueryResponse(Box::new(LeagueQueryResponse {
            league_id: league(),
            query_type: "GET_STANDINGS",
            answer: Ok(QueryAnswer::Standings {
                round_id: 0,
                rows: Arc::new([row(1, 1, 4, [2, 1, 0])]),
            }),
            by_api_page: true,
        })),
    );
}

#[test]
fn error_is_understood_and_the_page_s_e003_is_our_e018() {
    let detail = "Player ID not found in registry";
    let error = LeagueError::new(Code::PlayerNotRegistered, detail);
    means(9, &Message::from(error));
    let knowledge = Knowledge::of("even_odd");
    let code = |name: &str| {
        let json = EXAMPLES[9].replace("E005", "E003");
        let json = json.replace("PLAYER_NOT_REGISTERED", name);
        match read(&json, Reading::Strict, &knowledge.hints()).message {
            Some(Message::LeagueError(error)) => error.code,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(code("PROTOCOL_MISMATCH"), Code::VersionMismatch);
    assert_eq!(code("MISSING_REQUIRED_FIELD"), Code::MissingField);
}
