//! What we send in `league.v1`, to the letter.

use league_protocol::fault::Code;
use league_protocol::message::Message;

use super::carried::carried;
use super::said;
use crate::dialects::samples::*;

fn spoken(message: &Message) -> String {
    let knowledge = Knowledge::of("even_odd");
    said(message, &knowledge.hints()).expect("there are words")
}

#[test]
fn every_message_is_spelled_as_the_document_spells_it() {
    let mut messages = carried();
    messages.push(report(result()));
    messages.push(game_error("GAME_MOVE_RESPONSE", Code::InvalidMove));
    let lines: Vec<_> = messages.iter().map(spoken).collect();
    insta::assert_snapshot!(lines.join("\n"), @r###"
    LEAGUE_REGISTER_REQUEST {"league_id":"84be2ff4-91a9-5b99-b1a2-854c77ab3faa","round_id":0,"match_id":"REGISTRATION","player_meta":{"display_name":"AlphaBot","version":"1.0.0","game_types":["even_odd"],"contact_endpoint":"mcp://127.0.0.1:8101/mcp"},"player_id":"player_001"}
    LEAGUE_REGISTER_RESPONSE {"league_id":"84be2ff4-91a9-5b99-b1a2-854c77ab3faa","round_id":0,"match_id":"REGISTRATION","status":"ACCEPTED","player_id":"player_001","reason":null}
    LEAGUE_REGISTER_RESPONSE {"league_id":"84be2ff4-91a9-5b99-b1a2-854c77ab3faa","round_id":0,"match_id":"REGISTRATION","status":"REJECTED","player_id":null,"reason":"Registration closed"}
    LEAGUE_START_ANNOUNCEMENT {"league_id":"84be2ff4-91a9-5b99-b1a2-854c77ab3faa","round_id":1,"match_id":"ANNOUNCEMENT","league_info":{"total_rounds":3,"total_players":4,"game_type":"even_odd","schedule":[{"round_id":1,"matches":[{"match_id":"R1M1","player1":"player_001","player2":"player_alpha"}]}]}}
    GAME_INVITATION {"league_id":"84be2ff4-91a9-5b99-b1a2-854c77ab3faa","round_id":1,"match_id":"R1M1","game_info":{"game_type":"even_odd","opponent_id":"player_002","your_role":"defender","timeout_seconds":30,"draw_commitment":"abababababababababababababababababababababababababababababababab"}}
    GAME_INVITATION_RESPONSE {"league_id":"84be2ff4-91a9-5b99-b1a2-854c77ab3faa","round_id":1,"match_id":"R1M1","status":"READY"}
    GAME_INVITATION_RESPONSE {"league_id":"84be2ff4-91a9-5b99-b1a2-854c77ab3faa","round_id":1,"match_id":"R1M1","status":"DECLINED"}
    GAME_START {"league_id":"84be2ff4-91a9-5b99-b1a2-854c77ab3faa","round_id":1,"match_id":"R1M1","game_state":{"game_type":"even_odd","current_player":"player_001","rules":{"single_round":true,"timeout_per_move":30}}}
    PLAY_REQUEST {"league_id":"84be2ff4-91a9-5b99-b1a2-854c77ab3faa","round_id":1,"match_id":"R1M1","game_state":{"turn_number":2,"timeout_seconds":12,"game_specific_state":{"previous_plays":[]}}}
    PLAY_REQUEST {"league_id":"84be2ff4-91a9-5b99-b1a2-854c77ab3faa","round_id":1,"match_id":"R1M1","game_state":{"turn_number":2,"timeout_seconds":12,"game_specific_state":{"previous_plays":[],"game_type":"tic_tac_toe","move_type":"place_mark","valid_options":[{"column":2,"row":0}],"view":{"board":["X",null]}}}}
    PLAY_RESPONSE {"league_id":"84be2ff4-91a9-5b99-b1a2-854c77ab3faa","round_id":1,"match_id":"R1M1","play":{"action":"choose","value":"odd","reasoning":"a feeling","nonce":"n-1"}}
    PLAY_VALIDATION {"league_id":"84be2ff4-91a9-5b99-b1a2-854c77ab3faa","round_id":1,"match_id":"R1M1","validation":{"player_id":"player_002","play":{"action":"choose","value":"even"},"status":"VALID","error":null}}
    PLAY_VALIDATION {"league_id":"84be2ff4-91a9-5b99-b1a2-854c77ab3faa","round_id":1,"match_id":"R1M1","validation":{"player_id":"player_002","play":null,"status":"VALID","error":null}}
    PLAY_VALIDATION {"league_id":"84be2ff4-91a9-5b99-b1a2-854c77ab3faa","round_id":1,"match_id":"R1M1","validation":{"player_id":"player_002","play":null,"status":"INVALID","error":"Timeout exceeded"}}
    GAME_RESULT {"league_id":"84be2ff4-91a9-5b99-b1a2-854c77ab3faa","round_id":1,"match_id":"R1M1","result":{"winner":"player_001","loser":"player_002","outcome":"WIN","game_summary":{"player_001_choice":"even","player_002_choice":"odd","random_number":8,"number_parity":"even","winner_reason":"P01 chose even, number was 8 (even)","points":{"player_001":3,"player_002":0},"draw":{"commitment":"abababababababababababababababababababababababababababababababab","seed":"cdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcd","mode":"chance","attempt":1,"nonces":["n-1",""],"guarantee":"one nonce"}}}}
    GAME_RESULT {"league_id":"84be2ff4-91a9-5b99-b1a2-854c77ab3faa","round_id":1,"match_id":"R1M1","result":{"winner":null,"loser":null,"outcome":"DRAW","game_summary":{"player_001_choice":"odd","player_002_choice":"odd","random_number":8,"number_parity":"even","winner_reason":"P01 chose even, number was 8 (even)","points":{"player_001":1,"player_002":1}}}}
    GAME_RESULT {"league_id":"84be2ff4-91a9-5b99-b1a2-854c77ab3faa","round_id":1,"match_id":"R1M1","result":{"winner":"player_001","loser":"player_002","outcome":"FORFEIT","game_summary":{"player_001_choice":null,"player_002_choice":null,"winner_reason":"no answer after 3 attempts","points":{"player_001":3,"player_002":0},"failed":{"player_002":"E001"}}}}
    GAME_RESULT {"league_id":"84be2ff4-91a9-5b99-b1a2-854c77ab3faa","round_id":1,"match_id":"R1M1","result":{"winner":null,"loser":null,"outcome":"FORFEIT","game_summary":{"player_001_choice":null,"player_002_choice":null,"winner_reason":"no answer after 3 attempts","points":{"player_001":0,"player_002":0},"failed":{"player_001":"E009","player_002":"E001"}}}}
    ROUND_COMPLETE {"league_id":"84be2ff4-91a9-5b99-b1a2-854c77ab3faa","round_id":2,"match_id":"ROUND_SUMMARY","round_summary":{"matches_played":2,"standings":[{"rank":1,"player_id":"player_001","wins":1,"losses":0,"draws":1,"points":4},{"rank":1,"player_id":"player_003","wins":1,"losses":0,"draws":1,"points":4}]}}
    LEAGUE_COMPLETE {"league_id":"84be2ff4-91a9-5b99-b1a2-854c77ab3faa","round_id":3,"match_id":"FINAL_STANDINGS","final_standings":{"total_rounds":3,"total_matches":6,"champion":{"player_id":"player_001","display_name":"AlphaBot","wins":2,"losses":0,"win_rate":0.667,"draws":1,"points":7},"rankings":[{"rank":1,"player_id":"player_001","wins":2,"losses":0,"draws":1,"points":7},{"rank":2,"player_id":"player_002","wins":0,"losses":3,"draws":0,"points":0}]}}
    GAME_RESULT {"league_id":"84be2ff4-91a9-5b99-b1a2-854c77ab3faa","round_id":1,"match_id":"R1M1","result":{"winner":"player_001","loser":"player_002","outcome":"WIN","game_summary":{"player_001_choice":"even","player_002_choice":"odd","random_number":8,"number_parity":"even","winner_reason":"P01 chose even, number was 8 (even)","points":{"player_001":3,"player_002":0},"attempt":2,"draw":{"commitment":"abababababababababababababababababababababababababababababababab","seed":"cdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcd","mode":"chance","attempt":1,"nonces":["n-1",""],"guarantee":"one nonce"}}}}
    PLAY_VALIDATION {"league_id":"84be2ff4-91a9-5b99-b1a2-854c77ab3faa","round_id":1,"match_id":"R1M1","validation":{"player_id":"player_001","play":null,"status":"INVALID","error":"Choice not in allowed values","detail":"no answer came within 30 s"}}
    "###);
}
