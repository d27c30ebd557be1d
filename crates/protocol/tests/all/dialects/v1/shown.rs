//! Every example of 003: nothing wrong with it, nothing lost, and the meaning that it has.

use std::sync::Arc;

use league_protocol::id::{LeagueId, MatchId};
use league_protocol::message::*;
use league_protocol::time::Timestamp;
use league_protocol::token::AuthToken;
use serde_json::json;

use crate::dialects::examples_003::EXAMPLES;
use crate::dialects::samples::{game, move_call, player, r1m1, row};

use super::{Hints, Reading, read};

fn uuid() -> LeagueId {
    LeagueId::new("550e8400-e29b-41d4-a716-446655440000").expect("it is an id")
}

#[test]
fn every_example_reads_strictly_and_comes_out_as_it_went_in() {
    for example in EXAMPLES {
        for reading in [Reading::Lenient, Reading::Strict] {
            let read = read(example, reading, &players());
            assert_eq!(read.table(), [""; 0], "{example}");
            assert_eq!(
                read.written,
                serde_json::from_str::<serde_json::Value>(example).unwrap()
            );
            assert!(read.message.is_some());
        }
    }
}

/// What a player knows that has not been told the league's own id.
fn players() -> Hints<'static> {
    static PLAYERS: std::sync::LazyLock<[league_protocol::id::PlayerId; 2]> =
        std::sync::LazyLock::new(|| [player(1), player(2)]);
    Hints {
        reader: Some(&PLAYERS[0]),
        opponent: Some(&PLAYERS[1]),
        ..Hints::default()
    }
}

fn means(index: usize, expected: &Message) {
    let read = read(EXAMPLES[index], Reading::Lenient, &players());
    assert_eq!(read.message.as_ref(), Some(expected));
}

#[test]
fn registration_is_understood() {
    means(
        0,
        &Message::PlayerRegisterRequest(Box::new(RegisterRequest {
            meta: AgentMeta {
                display_name: "AlphaAgent".into(),
                version: "1.0.0".into(),
                protocol_version: None,
                game_types: vec![game("even_odd")],
                contact_endpoint: "http://player-alpha".into(),
                max_concurrent_matches: None,
                speech: None,
                proofs: false,
                human: false,
            },
            wanted_id: None,
            token: None,
            join_code: None,
            referee_key: None,
            is_plain: false,
        })),
    );
    means(
        1,
        &Message::PlayerRegisterResponse(RegisterResponse::from(Enrolment {
            id: player(1),
            token: AuthToken::new(""),
            league_id: uuid(),
            manager_token: None,
            return_token: None,
            note: None,
        })),
    );
}

#[test]
fn announcement_is_understood() {
    let listed = |number, a, b| MatchListing {
        match_id: MatchId::numbered(1, number),
        game_type: game("even_odd"),
        player_a: player(a),
        player_b: player(b),
    };
    means(
        2,
        &Message::from(LeagueStart {
            league_id: uuid(),
            total_rounds: 6,
            total_players: 4,
            game_type: game("even_odd"),
            schedule: Arc::new([RoundListing {
                round_id: 1,
                matches: vec![listed(1, 1, 2), listed(2, 3, 4)],
            }]),
        }),
    );
}

#[test]
fn match_is_understood() {
    means(
        3,
        &Message::GameInvitation(Box::new(GameInvitation {
            league_id: uuid(),
            round_id: 1,
            match_id: r1m1(),
            game_type: game("even_odd"),
            role: Role::A,
            opponent_id: player(2),
            commitment: None,
            move_seconds: 30,
        })),
    );
    means(4, &crate::dialects::samples::join_ack(true));
    means(
        5,
        &Message::from(GameStart {
            league_id: uuid(),
            round_id: 1,
            match_id: r1m1(),
            game_type: game("even_odd"),
            current_player: player(1),
            move_seconds: 30,
        }),
    );
    means(
        6,
        &Message::MoveCall(Box::new(MoveCall {
            league_id: uuid(),
            deadline: Timestamp::LAST,
            ..move_call("even_odd")
        })),
    );
    means(
        7,
        &Message::MoveResponse(Arc::new(MoveResponse {
            match_id: r1m1(),
            player_id: None,
            game_type: game("even_odd"),
            move_type: None,
            choice: json!("even"),
            nonce: None,
            reasoning: Some("Strategic choice based on opponent history".into()),
            proof: None,
            model: None,
        })),
    );
    means(
        8,
        &Message::PlayValidation(Box::new(PlayValidation {
            league_id: uuid(),
            round_id: 1,
            match_id: r1m1(),
            player_id: player(1),
            choice: Some(json!("even")),
            error: None,
        })),
    );
}

fn shown_result() -> Arc<MatchResult> {
    Arc::new(MatchResult {
        details: crate::dialects::samples::even_odd_details(42),
        reason: "player_001 correct, player_002 wrong".into(),
        draw: None,
        ..crate::dialects::samples::result()
    })
}

#[test]
fn result_is_the_end_of_a_match_for_a_player_and_a_report_for_the_manager() {
    means(
        9,
        &Message::from(GameOver {
            league_id: uuid(),
            round_id: 1,
            match_id: r1m1(),
            game_type: game("even_odd"),
            receiver: player(1),
            result: shown_result(),
        }),
    );
    let read = read(EXAMPLES[9], Reading::Strict, &Hints::default());
    let report = Message::from(MatchResultReport {
        league_id: uuid(),
        round_id: 1,
        match_id: r1m1(),
        attempt: 1,
        order_token: None,
        game_over_told: None,
        game_type: game("even_odd"),
        result: shown_result(),
    });
    assert_eq!(read.message, Some(report));
}

#[test]
fn other_form_of_a_summary_is_understood_too() {
    let moves = r#"{"moves": [{"turn": 1, "player_001": "even", "player_002": "odd", "number": 42, "winner": "player_001"}]}"#;
    let mut told: serde_json::Value = serde_json::from_str(EXAMPLES[9]).unwrap();
    told["result"]["game_summary"] = serde_json::from_str(moves).unwrap();
    let read = read(&told.to_string(), Reading::Strict, &players());
    assert_eq!(read.table(), [""; 0]);
    assert_eq!(read.written, told);
    let Some(Message::GameOver(over)) = read.message else {
        panic!("it is the end of a match");
    };
    assert_eq!(over.result.choices, shown_result().choices);
    assert_eq!(over.result.details["drawn_number"], 42);
}

#[test]
fn ends_of_rounds_and_leagues_are_understood() {
    let table = [
        row(1, 1, 1, [1, 0, 0]),
        row(2, 1, 3, [1, 0, 0]),
        row(3, 3, 2, [0, 0, 1]),
        row(4, 3, 4, [0, 0, 1]),
    ];
    means(
        10,
        &Message::from(RoundCompleted {
            league_id: uuid(),
            round_id: 1,
            next_round_id: None,
            summary: RoundSummary {
                total_matches: 2,
                ..RoundSummary::default()
            },
            standings: Rows::from(table),
        }),
    );
    let table = [
        row(1, 1, 1, [5, 0, 1]),
        row(2, 2, 3, [4, 0, 2]),
        row(3, 3, 2, [2, 0, 4]),
        row(4, 4, 4, [1, 0, 5]),
    ];
    means(
        11,
        &Message::from(LeagueCompleted {
            league_id: uuid(),
            total_rounds: 6,
            total_matches: 12,
            champion: Some(Champion {
                player_id: player(1),
                display_name: "AlphaAgent".into(),
                points: 15,
                wins: 5,
                losses: 1,
                played: 6,
            }),
            final_standings: Rows::from(table),
        }),
    );
}
