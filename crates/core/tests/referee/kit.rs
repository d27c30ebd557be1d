//! Orders, players that do as they are told, and their answers.

pub(crate) use crate::house::House;

use std::sync::Arc;
use std::time::Duration;

use league_core::breaker::BreakerRule;
use league_core::draw::LeagueSecret;
use league_core::letter::{CallFailure, CallOutcome, Letter, Peer, PeerAnswer};
use league_core::referee::{Command, CorrelationId, Event, RefereeRules};
use league_core::timeouts::Timeouts;
use league_protocol::fault::Code;
use league_protocol::id::{GameType, LeagueId, MatchId, PlayerId};
use league_protocol::message::{
    GameJoinAck, Message, Mode, MoveCall, MoveResponse, Score, StartMatch, StartMatchPlayer,
    WinLossDraw,
};
use league_protocol::sender::{Agent, CallStyle, Dialect};
use league_protocol::time::Timestamp;
use league_protocol::token::{AuthToken, TokenHash};
use serde_json::{Value, json};

pub(crate) const SECRET: LeagueSecret = LeagueSecret([7; 32]);
pub(crate) const START: i64 = 1_765_661_400_000;

pub(crate) fn second(number: u64) -> Timestamp {
    Timestamp::from_millis(START) + Duration::from_secs(number)
}

pub(crate) fn league() -> LeagueId {
    LeagueId::new("league_2025_even_odd").unwrap()
}

pub(crate) fn id(text: &str) -> MatchId {
    MatchId::new(text).unwrap()
}

pub(crate) fn player(number: u32) -> PlayerId {
    PlayerId::numbered(number)
}

/// The token by which a player proves itself.
pub(crate) fn token(number: u32) -> AuthToken {
    AuthToken::mint(
        player(number).as_str(),
        &[u8::try_from(number).unwrap(); 32],
    )
}

pub(crate) fn rules() -> RefereeRules {
    RefereeRules {
        display_name: "Whistle".to_owned(),
        version: "1.0.0".to_owned(),
        wanted_id: None,
        endpoint: "http://127.0.0.1:8001/mcp".to_owned(),
        games: vec![
            GameType::new("even_odd").unwrap(),
            GameType::new("tic_tac_toe").unwrap(),
        ],
        max_concurrent: 2,
        timeouts: Timeouts::default(),
        breaker: BreakerRule::default(),
        manager: Arc::new(Peer {
            agent: Agent::Manager,
            endpoint: "http://127.0.0.1:8000/mcp".into(),
            dialect: Dialect::V2,
            speech: Some(CallStyle::Simple),
        }),
    }
}

/// An order for a match of Even/Odd between players 1 and 2.
pub(crate) fn order(match_id: &str) -> StartMatch {
    order_between(match_id, [1, 2])
}

pub(crate) fn order_between(match_id: &str, players: [u32; 2]) -> StartMatch {
    let match_id = id(match_id);
    StartMatch {
        league_id: league(),
        round_id: 1,
        attempt: 1,
        game_type: GameType::new("even_odd").unwrap(),
        settings: Value::Null,
        mode: Mode::Auto,
        step_token: None,
        strict: false,
        score: Score::default(),
        seed: SECRET.seed(&league(), &match_id),
        players: players.map(|number| StartMatchPlayer {
            player_id: player(number),
            endpoint: format!("http://127.0.0.1:81{number:02}/mcp").into(),
            dialect: Dialect::V2,
            speech: Some(CallStyle::Simple),
            token_hash: token(number).hash(),
            match_token: SECRET.match_token(&league(), &match_id, &player(number)),
            record: WinLossDraw {
                wins: number,
                losses: 0,
                draws: 1,
            },
        }),
        match_id,
    }
}

pub(crate) fn tic_tac_toe(match_id: &str) -> StartMatch {
    StartMatch {
        game_type: GameType::new("tic_tac_toe").unwrap(),
        ..order(match_id)
    }
}

/// The manager's call to run a match.
pub(crate) fn start(order: StartMatch, token: Option<TokenHash>) -> Command {
    Command::StartMatch {
        order: Arc::new(order),
        token,
        barred: None,
    }
}

/// A letter in a few words: `P01 GAME_INVITATION`.
pub(crate) fn told(letter: &Letter<CorrelationId>) -> String {
    let to = match &letter.to.agent {
        Agent::Player(id) => id.to_string(),
        other => other.to_string(),
    };
    format!("{to} {}", letter.message.v2_type().unwrap_or("nothing"))
}

pub(crate) fn kind(event: &Event) -> &'static str {
    match event {
        Event::Enrolled { .. } => "enrolled",
        Event::MatchOpened { .. } => "opened",
        Event::Readdressed { .. } => "readdressed",
        Event::Started { .. } => "started",
        Event::AttemptFailed { .. } => "failed",
        Event::Declined { .. } => "declined",
        Event::MovePlayed { .. } => "played",
        Event::Decided { .. } => "decided",
        Event::Closed { .. } => "closed",
        Event::LeagueEnded { .. } => "ended",
        Event::RegistrationTried { .. } => "registering",
        Event::RegistrationFailed { .. } => "not registered",
        Event::SecretsGiven { .. } => "secrets",
        Event::Asked { .. } => "asked",
        Event::Joined { .. } => "joined",
        Event::ChoiceSealed { .. } => "sealed",
        Event::NumberDrawn { .. } => "drawn",
        Event::PlayerTold { .. } => "told",
        Event::ReportTried { .. } => "reporting",
        Event::ReportFailed { .. } => "not reported",
        Event::ReportSettled { .. } => "settled",
    }
}

/// An answer with the token of whoever was asked.
pub(crate) fn answer(letter: &Letter<CorrelationId>, message: Message) -> CallOutcome {
    let asked = (1..=9).find(|&number| letter.to.agent == Agent::Player(player(number)));
    Ok(PeerAnswer {
        message,
        token: asked.map(|number| token(number).hash()),
    })
}

pub(crate) fn join(letter: &Letter<CorrelationId>, accept: bool) -> CallOutcome {
    let Message::GameInvitation(invitation) = &letter.message else {
        panic!("{}", told(letter))
    };
    let ack = GameJoinAck {
        match_id: invitation.match_id.clone(),
        player_id: None,
        arrival: None,
        accept,
    };
    answer(letter, Message::from(ack))
}

pub(crate) fn call(letter: &Letter<CorrelationId>) -> &MoveCall {
    let Message::MoveCall(call) = &letter.message else {
        panic!("{}", told(letter))
    };
    call
}

pub(crate) fn response(letter: &Letter<CorrelationId>, choice: Value) -> MoveResponse {
    let call = call(letter);
    MoveResponse {
        match_id: call.match_id.clone(),
        player_id: Some(call.player_id.clone()),
        game_type: call.game_type.clone(),
        move_type: Some(Arc::clone(&call.move_type)),
        choice,
        nonce: Some(format!("nonce of {}", call.player_id)),
        reasoning: None,
    }
}

pub(crate) fn chosen(letter: &Letter<CorrelationId>, choice: Value) -> CallOutcome {
    answer(
        letter,
        Message::MoveResponse(Arc::new(response(letter, choice))),
    )
}

pub(crate) fn acknowledged() -> CallOutcome {
    Ok(PeerAnswer {
        message: Message::Acknowledged,
        token: None,
    })
}

pub(crate) fn failed(code: Code) -> CallOutcome {
    Err(CallFailure {
        code,
        detail: "as the test wants it".to_owned(),
    })
}

/// A player that comes, plays the first option (player 1) or the last one, and hears the end.
pub(crate) fn plain(letter: &Letter<CorrelationId>) -> Option<CallOutcome> {
    Some(match &letter.message {
        Message::GameInvitation(_) => join(letter, true),
        Message::MoveCall(call) => {
            let last = call.options.len() - 1;
            let index = if call.player_id == player(1) { 0 } else { last };
            chosen(letter, call.options[index].clone())
        }
        _ => acknowledged(),
    })
}

pub(crate) fn even() -> Value {
    json!("even")
}

pub(crate) fn odd() -> Value {
    json!("odd")
}
