//! What we send by the API page, to the letter.

use league_protocol::fault::Code;
use league_protocol::message::Message;

use super::carried::{answers, of_a_match, of_the_manager};
use super::said;
use crate::dialects::samples::*;

fn spoken(messages: &[Message]) -> String {
    let knowledge = Knowledge::of("even_odd");
    let spoken = messages
        .iter()
        .map(|message| said(message, &knowledge.hints()).expect("there are words"));
    spoken.collect::<Vec<_>>().join("\n")
}

#[test]
fn match_is_spelled_as_the_page_spells_it() {
    insta::assert_snapshot!(spoken(&of_a_match()), @r###"
    GAME_INVITATION {"league_id":"league_2025_even_odd","round_id":"ROUND_1","match_id":"R1M1","game_type":"even_odd","opponent_id":"P02","role":"PLAYER_B","draw_commitment":"abababababababababababababababababababababababababababababababab"}
    GAME_JOIN_ACK {"match_id":"R1M1","player_id":"P01","arrival_timestamp":"2025-01-15T10:30:05Z","accept":true}
    GAME_JOIN_ACK {"match_id":"R1M1","accept":false}
    CHOOSE_PARITY_CALL {"league_id":"league_2025_even_odd","round_id":"ROUND_1","match_id":"R1M1","player_id":"P01","game_type":"even_odd","context":{"opponent_id":"P02","round_id":"ROUND_1","your_standings":{"wins":2,"losses":1,"draws":3}},"deadline":"2025-01-15T10:30:40Z"}
    GAME_MOVE_CALL {"league_id":"league_2025_even_odd","round_id":"ROUND_1","match_id":"R1M1","player_id":"P01","game_type":"tic_tac_toe","move_request":{"move_type":"place_mark","valid_options":[{"column":2,"row":0}],"context":{"opponent_id":"P02","round_id":"ROUND_1","your_standings":{"wins":2,"losses":1,"draws":3},"view":{"board":["X",null]},"turn_number":1}},"deadline":"2025-01-15T10:30:40Z"}
    CHOOSE_PARITY_RESPONSE {"match_id":"R1M1","parity_choice":"odd","nonce":"n-1"}
    GAME_OVER {"league_id":"league_2025_even_odd","round_id":"ROUND_1","match_id":"R1M1","game_type":"even_odd","role":"PLAYER_A","drawn_number":8,"your_choice":"even","opponent_choice":"odd","result":"WIN","points_earned":3,"winner_player_id":"P01","reason":"P01 chose even, number was 8 (even)","draw":{"commitment":"abababababababababababababababababababababababababababababababab","seed":"cdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcd","mode":"chance","attempt":1,"nonces":["n-1",""],"guarantee":"one nonce"}}
    GAME_OVER {"league_id":"league_2025_even_odd","round_id":"ROUND_1","match_id":"R1M1","game_type":"even_odd","role":"PLAYER_A","drawn_number":8,"your_choice":"odd","opponent_choice":"odd","result":"DRAW","points_earned":1,"winner_player_id":null,"reason":"P01 chose even, number was 8 (even)"}
    MATCH_RESULT_REPORT {"league_id":"league_2025_even_odd","round_id":"ROUND_1","match_id":"R1M1","game_type":"even_odd","attempt":2,"result":{"winner":"P01","score":{"P01":3,"P02":0},"details":{"drawn_number":8,"choices":{"P01":"even","P02":"odd"},"status":"WIN","reason":"P01 chose even, number was 8 (even)","game":{"drawn_number":8,"number_parity":"even"},"draw":{"commitment":"abababababababababababababababababababababababababababababababab","seed":"cdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcd","mode":"chance","attempt":1,"nonces":["n-1",""],"guarantee":"one nonce"}}}}
    MATCH_RESULT_REPORT {"league_id":"league_2025_even_odd","round_id":"ROUND_1","match_id":"R1M1","game_type":"even_odd","attempt":2,"result":{"winner":null,"score":{"P01":0,"P02":0},"details":{"drawn_number":null,"choices":{},"status":"TECHNICAL_LOSS","failed":{"P01":"E009","P02":"E001"},"reason":"no answer after 3 attempts","game":{}}}}
    START_MATCH_ACK {"match_id":"R1M1","accepted":false,"reason":"no seat free"}
    "###);
}

#[test]
fn manager_is_spelled_as_the_page_spells_it() {
    insta::assert_snapshot!(spoken(&of_the_manager()), @r###"
    LEAGUE_REGISTER_REQUEST {"player_meta":{"display_name":"AlphaBot","version":"1.0.0","protocol_version":"2.1.0","game_types":["even_odd"],"contact_endpoint":"http://127.0.0.1:8101/mcp"},"player_id":"P01"}
    LEAGUE_REGISTER_RESPONSE {"status":"REGISTERED","player_id":"P01","auth_token":"tok-p01-abc","manager_token":"tok-manager-abc","return_token":"tok-return-abc","league_id":"league_2025_even_odd"}
    LEAGUE_REGISTER_RESPONSE {"status":"REJECTED","reason":"Registration closed"}
    REFEREE_REGISTER_RESPONSE {"status":"ACCEPTED","referee_id":"REF01","auth_token":"tok-ref01-abc","manager_token":"tok-manager-abc","return_token":"tok-return-abc","league_id":"league_2025_even_odd","reason":null}
    ROUND_ANNOUNCEMENT {"league_id":"league_2025_even_odd","round_id":"ROUND_1","matches":[{"match_id":"R1M1","game_type":"even_odd","player_A_id":"P01","player_B_id":"P02","referee_endpoint":"http://127.0.0.1:8001/mcp","player_A_endpoint":"http://127.0.0.1:8101/mcp","player_B_endpoint":"http://127.0.0.1:8102/mcp","draw_commitment":"abababababababababababababababababababababababababababababababab","match_token":"tok-r1m1","referee_token_hash":"7451537e3d1b9d782d9b73a2c899a52a514e793db249f4f0231fd49ff467c475","attempt":2}]}
    ROUND_COMPLETED {"league_id":"league_2025_even_odd","round_id":"ROUND_1","matches_completed":2,"matches_played":2,"next_round_id":"ROUND_2","summary":{"total_matches":2,"wins":1,"draws":1,"technical_losses":0}}
    LEAGUE_STANDINGS_UPDATE {"league_id":"league_2025_even_odd","round_id":"ROUND_1","standings":[{"rank":1,"player_id":"P04","display_name":"","played":3,"wins":2,"draws":1,"losses":0,"points":7}]}
    QUERY_STANDINGS_RESPONSE {"league_id":"league_2025_even_odd","round_id":"ROUND_3","standings":[{"rank":1,"player_id":"P04","display_name":"","points":7,"played":3,"wins":2,"draws":1,"losses":0}]}
    LEAGUE_QUERY_RESPONSE {"league_id":"league_2025_even_odd","query_type":"GET_STANDINGS","success":true,"data":{"league_id":"league_2025_even_odd","round_id":"ROUND_3","standings":[{"display_name":"","draws":1,"losses":0,"played":3,"player_id":"P04","points":7,"rank":1,"wins":2}]}}
    QUERY_STANDINGS_REQUEST {"league_id":"league_2025_even_odd"}
    LEAGUE_QUERY {"league_id":"league_2025_even_odd","query_type":"GET_NEXT_MATCH","query_params":{"player_id":"P01"}}
    LEAGUE_ERROR {"error_code":"E012","error_name":"AUTH_TOKEN_INVALID","error_description":"AUTH_TOKEN_INVALID: this token is not yours","retryable":false,"original_message_type":"LEAGUE_QUERY","context":{"path":"auth_token","provided_token":"tok-p01-…"}}
    "###);
}

#[test]
fn answers_and_errors_name_their_rounds() {
    let mut messages = answers();
    messages.push(game_error("CHOOSE_PARITY_RESPONSE", Code::Timeout));
    messages.push(game_over(2, forfeited(false)));
    insta::assert_snapshot!(spoken(&messages), @r###"
    LEAGUE_QUERY_RESPONSE {"league_id":"league_2025_even_odd","query_type":"GET_SCHEDULE","success":true,"data":{"rounds":[{"matches":[{"game_type":"even_odd","match_id":"R2M1","player_A_id":"P01","player_B_id":"P03"}],"round_id":"ROUND_2"}],"total_rounds":3}}
    LEAGUE_QUERY_RESPONSE {"league_id":"league_2025_even_odd","query_type":"GET_NEXT_MATCH","success":true,"data":{"next_match":{"match_id":"R2M1","opponent_id":"P03","referee_endpoint":null,"round_id":"ROUND_2"}}}
    LEAGUE_QUERY_RESPONSE {"league_id":"league_2025_even_odd","query_type":"GET_NEXT_MATCH","success":false,"error":"nothing is scheduled"}
    GAME_ERROR {"match_id":"R1M1","player_id":"P01","affected_player":"P01","error_code":"E001","error_name":"TIMEOUT_ERROR","error_description":"TIMEOUT_ERROR: no answer came within 30 s","game_state":"COLLECTING_CHOICES","retryable":true,"action_required":"CHOOSE_PARITY_RESPONSE","retry_count":1,"max_retries":3,"retry_info":{"retry_count":1,"max_retries":3,"next_retry_at":"2025-01-15T10:31:12Z"},"consequence":"Technical loss if max retries exceeded","context":{"detail":"no answer came within 30 s"}}
    GAME_OVER {"league_id":"league_2025_even_odd","round_id":"ROUND_1","match_id":"R1M1","game_type":"even_odd","role":"PLAYER_B","drawn_number":null,"your_choice":null,"opponent_choice":null,"result":"TECHNICAL_LOSS","points_earned":0,"winner_player_id":"P01","reason":"no answer after 3 attempts"}
    "###);
}
