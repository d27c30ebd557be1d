//! A player without a process: its journal is text, and its letters are kept in a list.

use std::sync::Arc;
use std::time::Duration;

use league_core::letter::{CallFailure, CallOutcome, Letter, Peer, PeerAnswer};
use league_core::machine::{Machine, Persistence};
use league_core::player::{
    Command, CorrelationId, Event, MemoryRule, Player, PlayerNotice, PlayerRules, Refusal, Reply,
};
use league_core::timeouts::{Backoff, Timeouts};
use league_protocol::fault::Code;
use league_protocol::id::{GameType, LeagueId, MatchId, PlayerId};
use league_protocol::message::{
    ByPlayer, Enrolment, Evidence, GameInvitation, GameOver, MatchResult, MatchStatus, Message,
    MoveCall, OwnMatch, RegisterResponse, Role, RoundAnnouncement, Rows, WinLossDraw,
};
use league_protocol::sender::{Agent, CallStyle, Dialect};
use league_protocol::time::Timestamp;
use league_protocol::token::{AuthToken, TokenHash};
use serde_json::{Map, Value, json};

/// The player's own token after registration.
pub const OWN_TOKEN: &str = "tok-p01-own-secret";
/// The token announced for every match.
pub const MATCH_TOKEN: &str = "tok-r1m1-match-secret";
/// The player's share in the draw.
pub const NONCE: &str = "nonce-secret";

pub struct PlayerWorld {
    pub player: Player,
    pub journal: Vec<String>,
    pub letters: Vec<Letter<CorrelationId>>,
    pub events: Vec<Event>,
    pub now: Timestamp,
}

impl PlayerWorld {
    pub fn new(rules: PlayerRules) -> Self {
        Self {
            player: Player::new(rules),
            journal: Vec::new(),
            letters: Vec::new(),
            events: Vec::new(),
            now: Timestamp::from_millis(1_000_000),
        }
    }

    /// A player that is in the league as `P01`.
    pub fn enrolled(rules: PlayerRules) -> Self {
        let mut shell = Self::new(rules);
        shell.does(begin());
        let reply = shell.answers(accepted("P01"));
        assert_eq!(reply, granted());
        shell
    }

    /// Brings a command; journal facts go through their text, as they would through a file.
    pub fn tries(&mut self, command: Command) -> Result<Reply, Refusal> {
        let decision = self.player.decide(self.now, &command);
        if decision.answer.is_ok() {
            self.events.clear();
        }
        for event in decision.events {
            if Player::keep(&event) == Persistence::Journal {
                let line = serde_json::to_string(&event).unwrap();
                assert_eq!(serde_json::from_str::<Event>(&line).unwrap(), event);
                self.journal.push(line);
            }
            self.player.apply(&event);
            self.player.letters(&event, &mut self.letters);
            self.events.push(event);
        }
        decision.answer
    }

    pub fn does(&mut self, command: Command) -> Reply {
        self.tries(command).unwrap()
    }

    /// Answers the last letter.
    pub fn answers(&mut self, message: Message) -> Reply {
        let outcome = Ok(PeerAnswer {
            message,
            token: None,
        });
        self.hears(outcome)
    }

    pub fn hears(&mut self, outcome: CallOutcome) -> Reply {
        let correlation = self.letters.last().unwrap().correlation.unwrap();
        self.does(Command::Outcome {
            correlation,
            outcome,
        })
    }

    pub fn told(&mut self, news: PlayerNotice) -> Result<Reply, Refusal> {
        let token = Some(TokenHash::of(MATCH_TOKEN));
        self.tries(Command::Told { news, token })
    }

    /// Lets time pass until the player wants to be woken, and wakes it.
    pub fn sleeps(&mut self) -> Duration {
        let until = self.player.wakeup().expect("the player wants to be woken");
        let slept = until.since(self.now);
        self.now = self.now.max(until);
        self.does(Command::Tick);
        slept
    }

    /// Dies and comes back with nothing but the journal.
    pub fn restart(&mut self) {
        let mut player = Player::new(self.player.rules().clone());
        for line in &self.journal {
            player.apply(&serde_json::from_str(line).unwrap());
        }
        self.player = player;
        self.letters.clear();
        self.events.clear();
    }
}

/// A process that comes up without a token of earlier days.
pub fn begin() -> Command {
    Command::Begin { return_token: None }
}

pub fn rules() -> PlayerRules {
    PlayerRules {
        display_name: "Alpha".to_owned(),
        version: "1.0.0".to_owned(),
        endpoint: "http://127.0.0.1:8101/mcp".to_owned(),
        games: vec![GameType::new("even_odd").unwrap()],
        timeouts: Timeouts {
            backoff: Backoff::Fixed(Duration::from_secs(2)),
            ..Timeouts::default()
        },
        manager: Arc::new(Peer {
            agent: Agent::Manager,
            endpoint: "http://127.0.0.1:8000/mcp".into(),
            dialect: Dialect::V2,
            speech: Some(CallStyle::Simple),
            is_foreign: false,
        }),
        wanted_id: Some("P01".to_owned()),
        join_code: None,
        strict: false,
        memory: MemoryRule::default(),
        human: false,
    }
}

pub fn strict() -> PlayerRules {
    PlayerRules {
        strict: true,
        ..rules()
    }
}

pub fn league() -> LeagueId {
    LeagueId::new("league_2025_even_odd").unwrap()
}

pub fn player(id: &str) -> PlayerId {
    PlayerId::new(id).unwrap()
}

pub fn match_id(id: &str) -> MatchId {
    MatchId::new(id).unwrap()
}

pub fn accepted(id: &str) -> Message {
    accepted_in(id, league())
}

pub fn accepted_in(id: &str, league_id: LeagueId) -> Message {
    Message::PlayerRegisterResponse(RegisterResponse::from(Enrolment {
        id: player(id),
        token: AuthToken::new(OWN_TOKEN),
        league_id,
        manager_token: None,
        return_token: None,
        note: None,
    }))
}

pub fn silence(code: Code) -> CallOutcome {
    Err(CallFailure::of_peer(code, "nobody there"))
}

pub fn announcement(id: &str) -> PlayerNotice {
    announced(id, 1, MATCH_TOKEN)
}

/// The announcement of an attempt at a match.
pub fn announced(id: &str, attempt: u32, token: &str) -> PlayerNotice {
    PlayerNotice::RoundAnnouncement(
        RoundAnnouncement {
            league_id: league(),
            round_id: 1,
            matches: Rows::from([]),
            own: Some(OwnMatch {
                match_id: match_id(id),
                token: AuthToken::new(token),
                referee_token: None,
                attempt,
            }),
        }
        .into(),
    )
}

pub fn invitation(id: &str) -> GameInvitation {
    GameInvitation {
        league_id: league(),
        round_id: 1,
        match_id: match_id(id),
        game_type: GameType::new("even_odd").unwrap(),
        role: Role::A,
        opponent_id: player("P02"),
        commitment: None,
        move_seconds: 30,
    }
}

pub fn invited(id: &str, token: Option<&str>) -> Command {
    Command::Invited {
        invitation: Box::new(invitation(id)),
        token: token.map(TokenHash::of),
    }
}

pub fn call(shell: &PlayerWorld, id: &str, turn: u32) -> MoveCall {
    MoveCall {
        league_id: league(),
        round_id: 1,
        match_id: match_id(id),
        player_id: player("P01"),
        opponent_id: player("P02"),
        game_type: GameType::new("even_odd").unwrap(),
        move_type: "choose_parity".into(),
        options: Arc::new([json!("even"), json!("odd")]),
        view: Arc::new(json!({ "lowest": 1, "highest": 10 })),
        moves: Arc::new([]),
        turn_number: turn,
        record: WinLossDraw::default(),
        deadline: shell.now + Duration::from_secs(30),
        move_seconds: 30,
    }
}

pub fn wants(call: MoveCall) -> Command {
    Command::MoveWanted {
        call: Box::new(call),
        token: Some(TokenHash::of(MATCH_TOKEN)),
    }
}

pub fn chooses(id: &str, turn: u32, choice: Option<Value>) -> Command {
    Command::Chosen {
        match_id: match_id(id),
        turn,
        choice,
        nonce: Some(NONCE.to_owned()),
        reasoning: None,
        model: None,
    }
}

/// A match of `P01` against `P02` that ended so.
pub fn over(id: &str, round_id: u32, status: MatchStatus, winner: Option<&str>) -> GameOver {
    let points = match winner {
        Some("P01") => [3, 0],
        Some(_) => [0, 3],
        None if status == MatchStatus::Draw => [1, 1],
        None => [0, 0],
    };
    GameOver {
        league_id: league(),
        round_id,
        match_id: match_id(id),
        game_type: GameType::new("even_odd").unwrap(),
        receiver: player("P01"),
        result: Arc::new(MatchResult {
            players: [player("P01"), player("P02")],
            status,
            winner: winner.map(player),
            points,
            failed: ByPlayer::new(),
            choices: ByPlayer::from([
                (player("P01"), json!("even")),
                (player("P02"), json!("odd")),
            ]),
            details: Map::new(),
            reason: "P01 chose even, number was 8 (even)".to_owned(),
            draw: None,
            evidence: Evidence::default(),
        }),
    }
}

/// The same end with another pair of choices or players.
pub fn changed(over: GameOver, change: impl FnOnce(&mut MatchResult)) -> GameOver {
    let mut result = (*over.result).clone();
    change(&mut result);
    GameOver {
        result: Arc::new(result),
        ..over
    }
}

/// The shell's notice of admission.
pub fn granted() -> Reply {
    Reply::TokenGranted {
        token: AuthToken::new(OWN_TOKEN),
        return_token: None,
        note: None,
    }
}
