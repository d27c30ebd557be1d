//! One of each message of the model, with what every dialect can carry.

use std::sync::Arc;

use league_protocol::dialect::Hints;
use league_protocol::fault::Code;
use league_protocol::id::{GameType, LeagueId, MatchId, PlayerId};
use league_protocol::message::*;
use league_protocol::secret::{Commitment, DrawMode, Seed};
use league_protocol::time::Timestamp;
use league_protocol::token::{AuthToken, TokenHash};
use serde_json::{Map, Value, json};

pub(crate) fn league() -> LeagueId {
    LeagueId::new("league_2025_even_odd").expect("it is an id")
}

pub(crate) fn player(number: u32) -> PlayerId {
    PlayerId::numbered(number)
}

pub(crate) fn r1m1() -> MatchId {
    MatchId::numbered(1, 1)
}

pub(crate) fn game(name: &str) -> GameType {
    GameType::new(name).expect("it is an id")
}

/// What player P01 knows in its match with P02.
pub(crate) struct Knowledge {
    league: LeagueId,
    game: GameType,
    players: [PlayerId; 2],
}

impl Knowledge {
    pub(crate) fn of(game_type: &str) -> Self {
        Self {
            league: league(),
            game: game(game_type),
            players: [player(1), player(2)],
        }
    }

    pub(crate) fn hints(&self) -> Hints<'_> {
        Hints {
            league_id: Some(&self.league),
            game_type: Some(&self.game),
            reader: Some(&self.players[0]),
            opponent: Some(&self.players[1]),
            match_id: None,
            placeholders: false,
            synonyms: false,
            generic_moves: false,
        }
    }
}

pub(crate) fn register_request() -> Message {
    Message::PlayerRegisterRequest(Box::new(RegisterRequest {
        meta: AgentMeta {
            display_name: "AlphaBot".into(),
            version: "1.0.0".into(),
            protocol_version: Some("2.1.0".into()),
            game_types: vec![game("even_odd")],
            contact_endpoint: "http://127.0.0.1:8101/mcp".into(),
            max_concurrent_matches: None,
            speech: None,
            proofs: false,
            human: false,
        },
        wanted_id: Some("P01".into()),
        token: None,
        join_code: None,
        referee_key: None,
        is_plain: false,
    }))
}

pub(crate) fn rejected() -> Message {
    Message::PlayerRegisterResponse(RegisterResponse::Rejected {
        reason: "Registration closed".into(),
    })
}

pub(crate) fn announcement() -> Message {
    Message::from(RoundAnnouncement {
        league_id: league(),
        round_id: 1,
        matches: Rows::from([AnnouncedMatch {
            match_id: r1m1(),
            game_type: game("even_odd"),
            player_a: player(1),
            player_b: player(2),
            referee_endpoint: "http://127.0.0.1:8001/mcp".into(),
            endpoint_a: Some("http://127.0.0.1:8101/mcp".into()),
            endpoint_b: Some("http://127.0.0.1:8102/mcp".into()),
            commitment: Some(Commitment([0xab; 32])),
        }]),
        own: Some(OwnMatch {
            match_id: r1m1(),
            token: AuthToken::new("tok-r1m1"),
            referee_token: Some(TokenHash::of("tok-ref01-abc123")),
            attempt: 2,
        }),
    })
}

pub(crate) fn invitation() -> Message {
    Message::GameInvitation(Box::new(GameInvitation {
        league_id: league(),
        round_id: 1,
        match_id: r1m1(),
        game_type: game("even_odd"),
        role: Role::B,
        opponent_id: player(2),
        commitment: Some(Commitment([0xab; 32])),
        move_seconds: 30,
    }))
}

pub(crate) fn join_ack(accept: bool) -> Message {
    Message::from(GameJoinAck {
        match_id: r1m1(),
        player_id: None,
        arrival: None,
        accept,
        proof: None,
    })
}

pub(crate) fn move_call(game_type: &str) -> MoveCall {
    let even_odd = game_type == EVEN_ODD;
    MoveCall {
        league_id: league(),
        round_id: 1,
        match_id: r1m1(),
        player_id: player(1),
        opponent_id: player(2),
        game_type: game(game_type),
        move_type: if even_odd {
            "choose_parity"
        } else {
            "place_mark"
        }
        .into(),
        options: if even_odd {
            Arc::new([json!("even"), json!("odd")])
        } else {
            Arc::new([json!({"row": 0, "column": 2})])
        },
        view: Arc::new(if even_odd {
            Value::Null
        } else {
            json!({"board": ["X", null]})
        }),
        moves: Arc::new([]),
        turn_number: 1,
        record: WinLossDraw::default(),
        deadline: Timestamp::parse("2025-01-15T10:30:40Z").expect("it is a time"),
        move_seconds: 30,
    }
}

pub(crate) fn move_response(game_type: &str, choice: Value) -> MoveResponse {
    MoveResponse {
        match_id: r1m1(),
        player_id: None,
        game_type: game(game_type),
        move_type: (game_type != EVEN_ODD).then(|| "place_mark".into()),
        choice,
        nonce: Some("n-1".into()),
        reasoning: None,
        proof: None,
        model: None,
    }
}

pub(crate) fn result() -> MatchResult {
    MatchResult {
        players: [player(1), player(2)],
        status: MatchStatus::Win,
        winner: Some(player(1)),
        points: [3, 0],
        failed: ByPlayer::new(),
        choices: ByPlayer::from([(player(1), json!("even")), (player(2), json!("odd"))]),
        details: even_odd_details(8),
        reason: "P01 chose even, number was 8 (even)".into(),
        draw: Some(OpenedDraw {
            commitment: Commitment([0xab; 32]),
            seed: Some(Seed([0xcd; 32])),
            mode: DrawMode::Chance,
            attempt: 1,
            nonces: ["n-1".into(), String::new()],
        }),
        evidence: Evidence::default(),
    }
}

pub(crate) fn even_odd_details(number: u64) -> Map<String, Value> {
    let parity = if number.is_multiple_of(2) {
        "even"
    } else {
        "odd"
    };
    let details = json!({"drawn_number": number, "number_parity": parity});
    details.as_object().expect("it is an object").clone()
}

pub(crate) fn drawn() -> MatchResult {
    MatchResult {
        status: MatchStatus::Draw,
        winner: None,
        points: [1, 1],
        choices: ByPlayer::from([(player(1), json!("odd")), (player(2), json!("odd"))]),
        draw: None,
        ..result()
    }
}

/// Player P02 did not play; `both` says that neither did.
pub(crate) fn forfeited(both: bool) -> MatchResult {
    let mut failed = ByPlayer::from([(player(2), Code::Timeout)]);
    if both {
        failed.insert(player(1), Code::Connection);
    }
    MatchResult {
        status: MatchStatus::TechnicalLoss,
        winner: (!both).then(|| player(1)),
        points: [if both { 0 } else { 3 }, 0],
        failed,
        choices: ByPlayer::new(),
        details: Map::new(),
        reason: "no answer after 3 attempts".into(),
        draw: None,
        ..result()
    }
}

pub(crate) fn game_over(receiver: u32, result: MatchResult) -> Message {
    Message::from(GameOver {
        league_id: league(),
        round_id: 1,
        match_id: r1m1(),
        game_type: game("even_odd"),
        receiver: player(receiver),
        result: Arc::new(result),
    })
}

pub(crate) fn report(result: MatchResult) -> Message {
    Message::from(MatchResultReport {
        league_id: league(),
        round_id: 1,
        match_id: r1m1(),
        attempt: 2,
        order_token: None,
        game_over_told: None,
        game_type: game("even_odd"),
        result: Arc::new(result),
    })
}

pub(crate) fn row(
    rank: u32,
    shared_rank: u32,
    number: u32,
    [wins, draws, losses]: [u32; 3],
) -> StandingRow {
    StandingRow {
        rank,
        shared_rank,
        byes: 0,
        tie: None,
        player_id: player(number),
        display_name: "".into(),
        played: wins + draws + losses,
        wins,
        draws,
        losses,
        technical_losses: 0,
        points: wins * 3 + draws,
    }
}

pub(crate) fn game_error(action_required: &'static str, code: Code) -> Message {
    Message::GameError(Box::new(GameError {
        league_id: league(),
        round_id: 1,
        match_id: r1m1(),
        player_id: player(1),
        code,
        detail: "no answer came within 30 s".into(),
        action_required,
        state: MatchState::CollectingChoices,
        retry_count: 1,
        max_retries: 3,
        next_retry_at: Timestamp::parse("2025-01-15T10:31:12Z").ok(),
    }))
}
