//! Messages and members that the documents do not have, in both spellings of `league.v2`: orders, the
//! hand-over of moves, proofs, and the question whether a referee has called.

use std::sync::Arc;

use league_protocol::dialect::Hints;
use league_protocol::encode::documented;
use league_protocol::finding::Reading;
use league_protocol::message::*;
use league_protocol::secret::{Commitment, DrawMode, Proof, ProofKey, Seed};
use league_protocol::sender::{CallStyle, Dialect};
use league_protocol::time::Timestamp;
use league_protocol::token::{AuthToken, TokenHash};
use serde_json::{Value, json};

use super::kit::{read, said, whole};
use super::samples::*;

#[test]
fn documented_messages_have_members_of_the_documents_alone() {
    let in_invitation = [
        "league_id",
        "round_id",
        "match_id",
        "game_type",
        "role_in_match",
        "role",
        "opponent_id",
        "game_info",
    ];
    let in_end = [
        "league_id",
        "round_id",
        "match_id",
        "game_type",
        "game_result",
        "drawn_number",
        "your_choice",
        "opponent_choice",
        "result",
        "points_earned",
    ];
    let in_announcement = ["league_id", "round_id", "matches"];
    let cases = [
        (announcement(), &in_announcement[..]),
        (game_over(1, result()), &in_end[..]),
        (invitation(), &in_invitation[..]),
    ];
    for (message, shown) in cases {
        for dialect in BOTH {
            let whole = whole(dialect, &message, &Hints::default()).unwrap();
            let members = serde_json::from_str(&whole).unwrap();
            let documented = documented(members);
            let envelope = [
                "protocol",
                "message_type",
                "sender",
                "timestamp",
                "conversation_id",
            ];
            let is_known = |name: &&String| {
                envelope.contains(&name.as_str()) || shown.contains(&name.as_str())
            };
            let unknown = documented.keys().find(|name| !is_known(name));
            assert_eq!(unknown, None, "{dialect:?} {documented:?}");
            let text = Value::Object(documented).to_string();
            for added in [
                "commitment",
                "match_token",
                "evidence",
                "\"draw\"",
                "\"seed\"",
            ] {
                assert!(!text.contains(added), "{added}: {text}");
            }
            assert!(whole.contains("commitment"), "{whole}");
        }
    }
}

/// Both spellings of `league.v2`.
const BOTH: [Dialect; 2] = [Dialect::V2, Dialect::V2Api];

fn signed(number: u32, choice: Value) -> SignedMove {
    SignedMove {
        player_id: player(number),
        choice,
        nonce: Some(format!("n-{number}")),
        proof: Some(Proof([0x11; 32])),
        model: Some(Box::new(model_use())),
    }
}

fn model_use() -> ModelUse {
    ModelUse {
        model: "stub".to_owned(),
        tokens_in: 400,
        tokens_out: 30,
        first_token_ms: Some(310),
        latency_ms: 842,
        fallback: Some("no answer in time".to_owned()),
    }
}

fn signed_moves() -> Vec<SignedMove> {
    let unsigned = SignedMove {
        nonce: None,
        proof: None,
        model: None,
        ..signed(2, json!("odd"))
    };
    vec![signed(1, json!("even")), unsigned]
}

fn start_match() -> Message {
    let seat = |number| StartMatchPlayer {
        player_id: player(number),
        endpoint: "http://127.0.0.1:8101/mcp".into(),
        dialect: Dialect::V2Api,
        speech: Some(CallStyle::Simple),
        is_foreign: false,
        token_hash: TokenHash::of("tok"),
        match_token: AuthToken::new("tok-r1m1"),
        record: WinLossDraw::default(),
        absent: false,
        extra_seconds: None,
    };
    Message::StartMatch(Arc::new(StartMatch {
        league_id: league(),
        round_id: 1,
        match_id: r1m1(),
        attempt: 2,
        game_type: game("even_odd"),
        settings: json!({"lowest": 1, "highest": 10}),
        mode: Mode::Auto,
        step_token: Some(TokenHash::of("step")),
        strict: false,
        score: Score::default(),
        commitment: Commitment([0xab; 32]),
        draw_mode: DrawMode::Reproducible,
        order_token: AuthToken::new("tok-order-abc"),
        pace_ms: None,
        handed_over: Some(HandedOver {
            attempt: 1,
            moves: signed_moves(),
            seeds: vec![Seed([0xcd; 32])],
        }),
        players: [seat(1), seat(2)],
    }))
}

fn signed_result(key: Option<ProofKey>) -> Arc<MatchResult> {
    let mut told = result();
    told.evidence = Evidence {
        players: vec![PlayerEvidence {
            player_id: player(1),
            join: Some(Proof([0x22; 32])),
            key,
        }],
        moves: signed_moves(),
    };
    // The manager opens seed and keys together.
    if key.is_none() {
        told.draw.as_mut().expect("there is a draw").seed = None;
    }
    Arc::new(told)
}

fn signed_report() -> Message {
    Message::from(MatchResultReport {
        league_id: league(),
        round_id: 1,
        match_id: r1m1(),
        attempt: 2,
        order_token: Some(AuthToken::new("tok-order-abc")),
        game_over_told: Some(false),
        game_type: game("even_odd"),
        result: signed_result(None),
    })
}

fn of_a_match() -> Vec<Message> {
    let open_game = MoveCall {
        moves: Arc::new([SignedMove {
            nonce: None,
            proof: None,
            model: None,
            ..signed(2, json!(4))
        }]),
        ..move_call("tic_tac_toe")
    };
    vec![
        start_match(),
        Message::from(GameJoinAck {
            match_id: r1m1(),
            player_id: Some(player(1)),
            arrival: Timestamp::parse("2025-01-15T10:30:05Z").ok(),
            accept: true,
            proof: Some(Proof([0x22; 32])),
        }),
        Message::MoveCall(Box::new(open_game)),
        Message::MoveResponse(Arc::new(MoveResponse {
            player_id: Some(player(1)),
            proof: Some(Proof([0x11; 32])),
            model: Some(Box::new(model_use())),
            ..move_response("even_odd", json!("odd"))
        })),
        Message::from(DrawRequest {
            league_id: league(),
            round_id: 1,
            match_id: r1m1(),
            attempt: 2,
            order_token: Some(AuthToken::new("tok-order-abc")),
            moves: signed_moves(),
        }),
        Message::from(DrawResponse {
            match_id: r1m1(),
            attempt: 2,
            seed: Seed([0xcd; 32]),
        }),
        signed_report(),
        Message::from(MatchResultAck {
            match_id: r1m1(),
            seed: Seed([0xcd; 32]),
            players: vec![PlayerEvidence {
                player_id: player(1),
                join: None,
                key: Some(ProofKey([0x33; 32])),
            }],
        }),
        Message::from(GameOver {
            league_id: league(),
            round_id: 1,
            match_id: r1m1(),
            game_type: game("even_odd"),
            receiver: player(1),
            result: signed_result(Some(ProofKey([0x33; 32]))),
        }),
    ]
}

fn of_the_manager() -> Vec<Message> {
    let Message::PlayerRegisterRequest(mut player_asks) = register_request() else {
        panic!("a player registers");
    };
    let mut referee_asks = player_asks.clone();
    player_asks.meta.proofs = true;
    referee_asks.meta.max_concurrent_matches = Some(2);
    referee_asks.wanted_id = Some("REF01".into());
    referee_asks.referee_key = Some(AuthToken::new("tok-referees-abc"));
    vec![
        Message::PlayerRegisterRequest(player_asks),
        Message::RefereeRegisterRequest(referee_asks),
        announcement(),
        Message::from(CallQuery {
            league_id: league(),
            match_id: r1m1(),
            attempt: 2,
        }),
        Message::from(CallQueryResponse {
            match_id: r1m1(),
            attempt: 2,
            called: false,
        }),
    ]
}

/// Every one of them in the main document's spelling, whole, by type.
pub(crate) fn written() -> impl Iterator<Item = (Dialect, String, Value)> {
    let all = of_a_match().into_iter().chain(of_the_manager());
    all.map(|message| {
        let json = whole(Dialect::V2, &message, &Knowledge::of("even_odd").hints());
        let json: Value =
            serde_json::from_str(&json.expect("there are words")).expect("it is JSON");
        let name = json["message_type"].as_str().expect("it has a type");
        (Dialect::V2, name.to_owned(), json)
    })
}

#[test]
fn addition_is_strictly_valid_and_reads_back_unchanged() {
    for dialect in BOTH {
        for message in of_a_match().into_iter().chain(of_the_manager()) {
            let knowledge = Knowledge::of("even_odd");
            let json = whole(dialect, &message, &knowledge.hints()).expect("there are words");
            let heard = read(dialect, &json, Reading::Strict, &knowledge.hints());
            assert_eq!(heard.table(), [""; 0], "{json}");
            assert_eq!(heard.message, Some(message), "{json}");
        }
    }
}

#[test]
fn hand_over_is_spelled_like_this() {
    let shown = of_a_match()
        .into_iter()
        .chain(of_the_manager())
        .filter(|message| {
            matches!(
                message,
                Message::StartMatch(_)
                    | Message::DrawRequest(_)
                    | Message::DrawResponse(_)
                    | Message::MatchResultAck(_)
                    | Message::CallQuery(_)
                    | Message::CallQueryResponse(_)
            )
        })
        .map(|message| said(Dialect::V2, &message, &Knowledge::of("even_odd").hints()).unwrap())
        .collect::<Vec<_>>()
        .join("\n");
    insta::assert_snapshot!(shown, @r#"
    START_MATCH {"league_id":"league_2025_even_odd","round_id":1,"match_id":"R1M1","attempt":2,"game_type":"even_odd","game_settings":{"highest":10,"lowest":1},"mode":"auto","step_token_hash":"3e64cc41cf8e07b43936d7bc4eaf8bdb8e2abcec1f44c7b915ac0a0c27ebc41a","strict":false,"scoring":{"win_points":3,"draw_points":1,"loss_points":0,"technical_loss_points":0},"draw_commitment":"abababababababababababababababababababababababababababababababab","draw_mode":"reproducible","order_token":"tok-order-abc","handed_over":{"attempt":1,"moves":[{"player_id":"P01","choice":"even","nonce":"n-1","proof":"1111111111111111111111111111111111111111111111111111111111111111","language_model":{"fallback":"no answer in time","first_token_ms":310,"latency_ms":842,"model":"stub","tokens_in":400,"tokens_out":30}},{"player_id":"P02","choice":"odd"}],"draw_seeds":["cdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcd"]},"players":[{"player_id":"P01","contact_endpoint":"http://127.0.0.1:8101/mcp","dialect":"v2-api","speech":"simple","token_hash":"1a7674eb4ee78df7e1ac439a93c3fa8e3c945784d4dec9fd8e3011738b2f1d62","match_token":"tok-r1m1","record":{"wins":0,"losses":0,"draws":0}},{"player_id":"P02","contact_endpoint":"http://127.0.0.1:8101/mcp","dialect":"v2-api","speech":"simple","token_hash":"1a7674eb4ee78df7e1ac439a93c3fa8e3c945784d4dec9fd8e3011738b2f1d62","match_token":"tok-r1m1","record":{"wins":0,"losses":0,"draws":0}}]}
    DRAW_REQUEST {"league_id":"league_2025_even_odd","round_id":1,"match_id":"R1M1","attempt":2,"order_token":"tok-order-abc","moves":[{"player_id":"P01","choice":"even","nonce":"n-1","proof":"1111111111111111111111111111111111111111111111111111111111111111","language_model":{"fallback":"no answer in time","first_token_ms":310,"latency_ms":842,"model":"stub","tokens_in":400,"tokens_out":30}},{"player_id":"P02","choice":"odd"}]}
    DRAW_RESPONSE {"match_id":"R1M1","attempt":2,"draw_seed":"cdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcd"}
    MATCH_RESULT_ACK {"status":"ok","match_id":"R1M1","draw_seed":"cdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcd","players":[{"player_id":"P01","proof_key":"3333333333333333333333333333333333333333333333333333333333333333"}]}
    CALL_QUERY {"league_id":"league_2025_even_odd","match_id":"R1M1","attempt":2}
    CALL_QUERY_RESPONSE {"match_id":"R1M1","attempt":2,"called":false}
    "#);
}

#[test]
fn message_without_additions_names_none_of_them() {
    let knowledge = Knowledge::of("even_odd");
    let Message::MatchResultReport(report) = report(result()) else {
        panic!("it is a report");
    };
    let plain = [
        register_request(),
        join_ack(true),
        Message::MoveResponse(Arc::new(move_response("even_odd", json!("odd")))),
        Message::MoveCall(Box::new(move_call("tic_tac_toe"))),
        Message::MatchResultReport(report),
    ];
    for message in plain {
        for dialect in BOTH {
            let json = whole(dialect, &message, &knowledge.hints()).expect("there are words");
            for added in ["proof", "order_token", "evidence", "\"moves\""] {
                assert!(!json.contains(added), "{added} in {json}");
            }
        }
    }
}

#[test]
fn person_registers_as_human_without_a_finding() {
    let knowledge = Knowledge::of("even_odd");
    let Message::PlayerRegisterRequest(mut request) = register_request() else {
        panic!("it registers a player")
    };
    request.meta.human = true;
    let message = Message::PlayerRegisterRequest(request);
    for dialect in BOTH {
        let json = whole(dialect, &message, &knowledge.hints()).unwrap();
        assert!(json.contains(r#""human":true"#), "{json}");
        let read = read(dialect, &json, Reading::Strict, &knowledge.hints());
        assert_eq!(read.table(), [""; 0]);
        assert_eq!(read.message.as_ref(), Some(&message));
        let silent = whole(dialect, &register_request(), &knowledge.hints()).unwrap();
        assert!(!silent.contains("human"), "{silent}");
    }
}

#[test]
fn additions_have_no_words_in_v1() {
    let knowledge = Knowledge::of("even_odd");
    for message in of_a_match() {
        let own = matches!(
            message,
            Message::StartMatch(_)
                | Message::DrawRequest(_)
                | Message::DrawResponse(_)
                | Message::MatchResultAck(_)
        );
        let said = said(Dialect::V1, &message, &knowledge.hints());
        assert_eq!(said.is_none(), own, "{said:?}");
        let said = said.unwrap_or_default();
        assert!(
            !said.contains("proof") && !said.contains("tok-order"),
            "{said}"
        );
    }
}

#[test]
fn model_that_is_told_out_of_bounds_counts_as_not_told() {
    let told = |change: fn(&mut ModelUse)| {
        let mut told = model_use();
        change(&mut told);
        told.is_bounded()
    };
    assert!(told(|_| {}));
    assert!(!told(|told| told.model.clear()));
    assert!(!told(|told| told.model = "m".repeat(ModelUse::MAX_TEXT + 1)));
    assert!(!told(|told| told.fallback = Some("\u{1b}[2J".to_owned())));
    assert!(!told(|told| told.tokens_out = ModelUse::MAX_NUMBER + 1));
    assert!(!told(|told| told.first_token_ms = Some(u64::MAX)));
}

#[test]
fn answer_to_a_query_tells_a_tie_and_news_do_not() {
    let tied = |number| StandingRow {
        byes: 0,
        tie: Some(1),
        ..row(number, number, number, [1, 1, 0])
    };
    let rows: Arc<[StandingRow]> = Arc::new([tied(1), tied(2), row(3, 3, 3, [0, 0, 2])]);
    let answer = Message::from(LeagueQueryResponse {
        league_id: league(),
        query_type: "GET_STANDINGS",
        answer: Ok(QueryAnswer::Standings {
            round_id: 2,
            rows: Arc::clone(&rows),
        }),
        by_api_page: false,
    });
    let text = whole(Dialect::V2, &answer, &Hints::default()).unwrap();
    assert_eq!(text.matches(r#""tied_rank":1"#).count(), 2, "{text}");
    let back = read(Dialect::V2, &text, Reading::Strict, &Hints::default()).message;
    assert_eq!(back, Some(answer));
    let news = Message::from(StandingsUpdate {
        league_id: league(),
        round_id: 2,
        standings: rows.into(),
    });
    let text = whole(Dialect::V2, &news, &Hints::default()).unwrap();
    assert!(!text.contains("tied_rank"), "{text}");
}
