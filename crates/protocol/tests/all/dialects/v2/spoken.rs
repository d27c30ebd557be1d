//! What we send in `league.v2`, to the letter; read strictly it has no finding and means the same.

use std::sync::Arc;

use league_protocol::fault::Code;
use league_protocol::id::{MatchId, RefereeId};
use league_protocol::message::*;
use league_protocol::time::Timestamp;
use league_protocol::token::AuthToken;
use serde_json::json;

use super::{Hints, Reading, read, said, whole};
use crate::dialects::samples::*;

fn of_a_match() -> Vec<Message> {
    let own = |game_type, choice| MoveResponse {
        player_id: Some(player(1)),
        ..move_response(game_type, choice)
    };
    vec![
        invitation(),
        Message::from(GameJoinAck {
            match_id: r1m1(),
            player_id: Some(player(1)),
            arrival: Timestamp::parse("2025-01-15T10:30:05Z").ok(),
            accept: true,
            proof: None,
        }),
        join_ack(false),
        Message::MoveCall(Box::new(move_call("even_odd"))),
        Message::MoveCall(Box::new(move_call("tic_tac_toe"))),
        Message::MoveResponse(Arc::new(own("even_odd", json!("odd")))),
        Message::MoveResponse(Arc::new(own("tic_tac_toe", json!(4)))),
        game_over(1, result()),
        game_over(1, drawn()),
        game_over(1, forfeited(true)),
        report(result()),
        report(forfeited(false)),
    ]
}

fn of_the_manager() -> Vec<Message> {
    let enrolment = Enrolment {
        id: RefereeId::numbered(1),
        token: AuthToken::new("tok-ref01-abc"),
        league_id: league(),
        manager_token: Some(AuthToken::new("tok-manager-abc")),
        return_token: Some(AuthToken::new("tok-return-abc")),
        note: None,
    };
    vec![
        register_request(),
        rejected(),
        Message::RefereeRegisterResponse(RegisterResponse::from(enrolment)),
        announcement(),
        Message::from(StandingsUpdate {
            league_id: league(),
            round_id: 1,
            standings: Rows::from([row(1, 1, 4, [2, 1, 0])]),
        }),
        Message::from(LeagueQuery {
            league_id: Some(league()),
            query: Query::NextMatch(player(1)),
            by_api_page: false,
        }),
        Message::LeagueQueryResponse(Box::new(LeagueQueryResponse {
            league_id: league(),
            query_type: "GET_NEXT_MATCH",
            answer: Ok(QueryAnswer::NextMatch(NextMatch {
                match_id: MatchId::numbered(2, 1),
                round_id: 2,
                opponent_id: player(3),
                referee_endpoint: Some("http://127.0.0.1:8001/mcp".into()),
            })),
            by_api_page: false,
        })),
        Message::from(LeagueError {
            original_message_type: Some("LEAGUE_QUERY".into()),
            path: Some("auth_token".into()),
            ..LeagueError::new(Code::TokenInvalid, "the token is not the sender's")
        }),
    ]
}

fn spoken(messages: &[Message]) -> String {
    let knowledge = Knowledge::of("even_odd");
    let lines = messages
        .iter()
        .map(|message| said(message, &knowledge.hints()).expect("there are words"));
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn encoded_message_is_strictly_valid_and_reads_back_unchanged() {
    for message in of_a_match().into_iter().chain(of_the_manager()) {
        let knowledge = Knowledge::of(match &message {
            Message::MoveResponse(response) => response.game_type.as_str(),
            _ => "even_odd",
        });
        let json = whole(&message, &knowledge.hints()).expect("there are words");
        // An answer that leaves out who gives it needs forgiveness.
        let bare = matches!(&message, Message::GameJoinAck(ack) if ack.player_id.is_none());
        let reading = if bare {
            Reading::Lenient
        } else {
            Reading::Strict
        };
        let heard = read(&json, reading, &knowledge.hints());
        assert!(
            bare || heard.findings.is_empty(),
            "{json}: {:?}",
            heard.table()
        );
        assert_eq!(heard.message, Some(message), "{json}");
    }
}

#[test]
fn match_is_spelled_as_the_document_spells_it() {
    insta::assert_snapshot!(spoken(&of_a_match()), @r#"
    GAME_INVITATION {"league_id":"league_2025_even_odd","round_id":1,"match_id":"R1M1","game_type":"even_odd","role_in_match":"PLAYER_B","opponent_id":"P02","draw_commitment":"abababababababababababababababababababababababababababababababab"}
    GAME_JOIN_ACK {"match_id":"R1M1","player_id":"P01","arrival_timestamp":"2025-01-15T10:30:05Z","accept":true}
    GAME_JOIN_ACK {"match_id":"R1M1","accept":false}
    CHOOSE_PARITY_CALL {"league_id":"league_2025_even_odd","round_id":1,"match_id":"R1M1","player_id":"P01","game_type":"even_odd","context":{"opponent_id":"P02","round_id":1,"your_standings":{"wins":0,"losses":0,"draws":0}},"deadline":"2025-01-15T10:30:40Z"}
    GAME_MOVE_CALL {"league_id":"league_2025_even_odd","round_id":1,"match_id":"R1M1","player_id":"P01","game_type":"tic_tac_toe","move_request":{"move_type":"place_mark","valid_options":[{"column":2,"row":0}],"context":{"opponent_id":"P02","round_id":1,"your_standings":{"wins":0,"losses":0,"draws":0},"view":{"board":["X",null]},"turn_number":1}},"deadline":"2025-01-15T10:30:40Z"}
    CHOOSE_PARITY_RESPONSE {"match_id":"R1M1","player_id":"P01","parity_choice":"odd","nonce":"n-1"}
    GAME_MOVE_RESPONSE {"match_id":"R1M1","player_id":"P01","game_type":"tic_tac_toe","move_data":{"move_type":"place_mark","choice":4},"nonce":"n-1"}
    GAME_OVER {"league_id":"league_2025_even_odd","round_id":1,"match_id":"R1M1","game_type":"even_odd","game_result":{"status":"WIN","winner_player_id":"P01","drawn_number":8,"number_parity":"even","choices":{"P01":"even","P02":"odd"},"reason":"P01 chose even, number was 8 (even)","score":{"P01":3,"P02":0},"draw":{"commitment":"abababababababababababababababababababababababababababababababab","seed":"cdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcd","mode":"chance","attempt":1,"nonces":["n-1",""],"guarantee":"one nonce"}}}
    GAME_OVER {"league_id":"league_2025_even_odd","round_id":1,"match_id":"R1M1","game_type":"even_odd","game_result":{"status":"DRAW","winner_player_id":null,"drawn_number":8,"number_parity":"even","choices":{"P01":"odd","P02":"odd"},"reason":"P01 chose even, number was 8 (even)","score":{"P01":1,"P02":1}}}
    GAME_OVER {"league_id":"league_2025_even_odd","round_id":1,"match_id":"R1M1","game_type":"even_odd","game_result":{"status":"TECHNICAL_LOSS","winner_player_id":null,"drawn_number":null,"number_parity":null,"choices":{},"reason":"no answer after 3 attempts","score":{"P01":0,"P02":0},"failed":{"P01":"E009","P02":"E001"}}}
    MATCH_RESULT_REPORT {"league_id":"league_2025_even_odd","round_id":1,"match_id":"R1M1","game_type":"even_odd","attempt":2,"result":{"winner":"P01","score":{"P01":3,"P02":0},"details":{"drawn_number":8,"choices":{"P01":"even","P02":"odd"},"status":"WIN","reason":"P01 chose even, number was 8 (even)","game":{"drawn_number":8,"number_parity":"even"},"draw":{"commitment":"abababababababababababababababababababababababababababababababab","seed":"cdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcd","mode":"chance","attempt":1,"nonces":["n-1",""],"guarantee":"one nonce"}}}}
    MATCH_RESULT_REPORT {"league_id":"league_2025_even_odd","round_id":1,"match_id":"R1M1","game_type":"even_odd","attempt":2,"result":{"winner":"P01","score":{"P01":3,"P02":0},"details":{"drawn_number":null,"choices":{},"status":"TECHNICAL_LOSS","failed":{"P02":"E001"},"reason":"no answer after 3 attempts","game":{}}}}
    "#);
}

#[test]
fn manager_is_spelled_as_the_document_spells_it() {
    insta::assert_snapshot!(spoken(&of_the_manager()), @r#"
    LEAGUE_REGISTER_REQUEST {"player_meta":{"display_name":"AlphaBot","version":"1.0.0","protocol_version":"2.1.0","game_types":["even_odd"],"contact_endpoint":"http://127.0.0.1:8101/mcp"},"player_id":"P01"}
    LEAGUE_REGISTER_RESPONSE {"status":"REJECTED","reason":"Registration closed"}
    REFEREE_REGISTER_RESPONSE {"status":"ACCEPTED","referee_id":"REF01","auth_token":"tok-ref01-abc","manager_token":"tok-manager-abc","return_token":"tok-return-abc","league_id":"league_2025_even_odd","reason":null}
    ROUND_ANNOUNCEMENT {"league_id":"league_2025_even_odd","round_id":1,"matches":[{"match_id":"R1M1","game_type":"even_odd","player_A_id":"P01","player_B_id":"P02","referee_endpoint":"http://127.0.0.1:8001/mcp","player_A_endpoint":"http://127.0.0.1:8101/mcp","player_B_endpoint":"http://127.0.0.1:8102/mcp","draw_commitment":"abababababababababababababababababababababababababababababababab","match_token":"tok-r1m1","referee_token_hash":"7451537e3d1b9d782d9b73a2c899a52a514e793db249f4f0231fd49ff467c475","attempt":2}]}
    LEAGUE_STANDINGS_UPDATE {"league_id":"league_2025_even_odd","round_id":1,"standings":[{"rank":1,"player_id":"P04","display_name":"","played":3,"wins":2,"draws":1,"losses":0,"points":7}]}
    LEAGUE_QUERY {"league_id":"league_2025_even_odd","query_type":"GET_NEXT_MATCH","query_params":{"player_id":"P01"}}
    LEAGUE_QUERY_RESPONSE {"league_id":"league_2025_even_odd","query_type":"GET_NEXT_MATCH","success":true,"data":{"next_match":{"match_id":"R2M1","opponent_id":"P03","referee_endpoint":"http://127.0.0.1:8001/mcp","round_id":2}}}
    LEAGUE_ERROR {"error_code":"E012","error_name":"AUTH_TOKEN_INVALID","error_description":"AUTH_TOKEN_INVALID: the token is not the sender's","original_message_type":"LEAGUE_QUERY","context":{"detail":"the token is not the sender's","path":"auth_token"},"retryable":false}
    "#);
}

#[test]
fn error_in_a_match_names_the_attempts_twice() {
    let error = game_error("CHOOSE_PARITY_RESPONSE", Code::Timeout);
    insta::assert_snapshot!(spoken(&[error]), @r#"GAME_ERROR {"match_id":"R1M1","player_id":"P01","affected_player":"P01","error_code":"E001","error_name":"TIMEOUT_ERROR","error_description":"TIMEOUT_ERROR: no answer came within 30 s","game_state":"COLLECTING_CHOICES","retryable":true,"action_required":"CHOOSE_PARITY_RESPONSE","retry_count":1,"max_retries":3,"retry_info":{"retry_count":1,"max_retries":3,"next_retry_at":"2025-01-15T10:31:12Z"},"consequence":"Technical loss if max retries exceeded","context":{"detail":"no answer came within 30 s"}}"#);
}

#[test]
fn token_of_a_round_that_all_are_told_stands_only_in_the_row_of_its_receiver() {
    let Message::RoundAnnouncement(round) = announcement() else {
        unreachable!()
    };
    let ids = [r1m1(), MatchId::numbered(1, 2)];
    let own = round.own.clone().unwrap();
    let rows = ids.clone().map(|match_id| AnnouncedMatch {
        match_id,
        ..round.matches.iter().next().unwrap().clone()
    });
    let matches = Rows::from(rows);
    for (place, match_id) in ids.into_iter().enumerate() {
        let token = AuthToken::new(format!("tok-{match_id}"));
        let told = Message::from(RoundAnnouncement {
            matches: matches.clone(),
            own: Some(OwnMatch {
                match_id: match_id.clone(),
                token,
                ..own.clone()
            }),
            ..(*round).clone()
        });
        let hints = Hints::default();
        let text = whole(&told, &hints).unwrap();
        let written: serde_json::Value = serde_json::from_str(&text).unwrap();
        let row = |place: usize| &written["matches"][place];
        assert_eq!(row(place)["match_token"], format!("tok-{match_id}"));
        assert_eq!(row(1 - place).get("match_token"), None);
        assert_eq!(row(1 - place)["player_A_id"], "P01");
        assert_eq!(read(&text, Reading::Strict, &hints).message, Some(told));
    }
}
