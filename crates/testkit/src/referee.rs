//! A referee without a process, orders for it, and players that answer as a test wants.

use std::sync::Arc;
use std::time::Duration;

use league_core::breaker::BreakerRule;
use league_core::draw::{self, LeagueSecret};
use league_core::letter::{CallFailure, CallOutcome, Letter, Peer, PeerAnswer};
use league_core::machine::{Machine, Persistence};
use league_core::referee::{Command, CorrelationId, Event, Referee, RefereeRules, Refusal, Reply};
use league_core::timeouts::Timeouts;
use league_protocol::fault::Code;
use league_protocol::id::{GameType, LeagueId, MatchId, PlayerId, RefereeId};
use league_protocol::message::{
    DrawRequest, DrawResponse, GameJoinAck, MatchResult, MatchResultAck, Message, Mode, MoveCall,
    MoveResponse, PlayerEvidence, Score, StartMatch, StartMatchPlayer, WinLossDraw,
};
use league_protocol::secret::{Commitment, DrawMode, ProofKey, Seed};
use league_protocol::sender::{Agent, CallStyle, Dialect};
use league_protocol::time::Timestamp;
use league_protocol::token::{AuthToken, TokenHash};
use serde_json::{Value, json};

/// A referee at its desk, with all that it ever wrote and sent.
pub struct RefereeWorld {
    pub referee: Referee,
    pub now: Timestamp,
    /// The journal, as the lines of a file.
    pub journal: Vec<String>,
    pub events: Vec<Event>,
    /// Letters not delivered yet.
    pub out: Vec<Letter<CorrelationId>>,
    /// Every result that was ever reported.
    pub reports: Vec<Arc<MatchResult>>,
    /// After how many more facts the power fails.
    pub power: Option<usize>,
}

impl Default for RefereeWorld {
    fn default() -> Self {
        Self::with(rules())
    }
}

impl RefereeWorld {
    pub fn new() -> Self {
        Self::default()
    }

    pub fn with(rules: RefereeRules) -> Self {
        Self {
            referee: Referee::new(rules),
            now: second(0),
            journal: Vec::new(),
            events: Vec::new(),
            out: Vec::new(),
            reports: Vec::new(),
            power: None,
        }
    }

    /// A referee that has just taken this order.
    pub fn started(order: StartMatch) -> Self {
        let mut house = Self::new();
        house.order(order);
        house
    }

    pub fn order(&mut self, order: StartMatch) {
        let reply = self.tell(start(order, None)).unwrap();
        let Reply::StartMatchAck(ack) = reply else {
            panic!("{reply:?}")
        };
        assert!(ack.accepted, "{:?}", ack.reason);
    }

    pub fn tell(&mut self, command: Command) -> Result<Reply, Refusal> {
        let decision = self.referee.decide(self.now, &command);
        assert_eq!(self.referee.decide(self.now, &command), decision);
        for event in decision.events {
            if self.power == Some(0) {
                break;
            }
            self.power = self.power.map(|left| left - 1);
            self.note(event);
        }
        decision.answer
    }

    fn note(&mut self, event: Event) {
        match Referee::keep(&event) {
            Persistence::Journal => self.journal.push(serde_json::to_string(&event).unwrap()),
            Persistence::Memory => assert!(serde_json::to_string(&event).is_err(), "{event:?}"),
        }
        self.referee.apply(&event);
        let mut letters = Vec::new();
        self.referee.letters(&event, &mut letters);
        self.post(letters);
        self.events.push(event);
    }

    fn post(&mut self, letters: Vec<Letter<CorrelationId>>) {
        for letter in letters {
            if let Message::MatchResultReport(report) = &letter.message {
                self.reports.push(report.result.clone());
            }
            self.out.push(letter);
        }
    }

    /// Dies and starts again from the journal, with what `pending` still owes.
    pub fn restart(&mut self) {
        self.power = None;
        self.out.clear();
        self.referee = Referee::new(self.referee.rules().clone());
        for line in &self.journal {
            self.referee.apply(&serde_json::from_str(line).unwrap());
        }
        let pending = self.referee.pending();
        self.post(pending);
    }

    /// Takes all letters out of the tray.
    pub fn take(&mut self) -> Vec<Letter<CorrelationId>> {
        std::mem::take(&mut self.out)
    }

    /// Takes all letters and tells each in a few words.
    pub fn said(&mut self) -> Vec<String> {
        self.take().iter().map(told).collect()
    }

    /// Takes the only letter with this type to this player.
    pub fn only(&mut self, to: u32, kind: &str) -> Letter<CorrelationId> {
        let wanted = format!("P{to:02} {kind}");
        let mut found: Vec<_> = self
            .out
            .extract_if(.., |letter| told(letter) == wanted)
            .collect();
        assert_eq!(
            found.len(),
            1,
            "{wanted}: {:?}",
            self.out.iter().map(told).collect::<Vec<_>>()
        );
        found.remove(0)
    }

    pub fn hear(
        &mut self,
        letter: &Letter<CorrelationId>,
        outcome: CallOutcome,
    ) -> Result<Reply, Refusal> {
        let correlation = letter.correlation.clone().unwrap();
        self.tell(Command::Outcome {
            correlation,
            outcome,
        })
    }

    /// Both players come.
    pub fn both_join(&mut self) {
        for number in [1, 2] {
            let letter = self.only(number, "GAME_INVITATION");
            self.hear(&letter, join(&letter, true)).unwrap();
        }
    }

    /// A player is asked for a move and makes it; a draw that is due then is given.
    pub fn choose(&mut self, number: u32, choice: Value) {
        self.choose_only(number, choice);
        if self.out.iter().any(is_draw_request) {
            self.manager_draws();
        }
    }

    /// A player is asked for a move and makes it.
    pub fn choose_only(&mut self, number: u32, choice: Value) {
        let letter = self.only(number, "CHOOSE_PARITY_CALL");
        self.hear(&letter, chosen(&letter, choice)).unwrap();
    }

    /// Takes the only request for a draw.
    pub fn draw_request(&mut self) -> Letter<CorrelationId> {
        let mut found: Vec<_> = self
            .out
            .extract_if(.., |letter| is_draw_request(letter))
            .collect();
        assert_eq!(found.len(), 1);
        found.remove(0)
    }

    /// The manager gives the draw that was requested.
    pub fn manager_draws(&mut self) {
        let letter = self.draw_request();
        self.hear(&letter, drawn(&letter)).unwrap();
    }

    /// Lets time pass; the referee is woken whenever it wants to be.
    pub fn wait(&mut self, seconds: u64) {
        self.wait_until(self.now + Duration::from_secs(seconds));
    }

    pub fn wait_until(&mut self, end: Timestamp) {
        while let Some(due) = self.referee.wakeup().filter(|&due| due <= end) {
            self.now = self.now.max(due);
            let before = self.events.len();
            self.tell(Command::Tick).unwrap();
            if self.power == Some(0) {
                return;
            }
            assert!(
                self.events.len() > before,
                "woken for nothing at {}",
                self.now
            );
        }
        self.now = end;
    }

    /// What the referee found at the latest attempt, whether the manager has taken it or not.
    pub fn result(&self, match_id: &str) -> Option<Arc<MatchResult>> {
        let mine = |event: &&Event| event.match_id() == Some(&id(match_id));
        let found = |event: &Event| match event {
            Event::Decided { result, .. } => Some(Some(Arc::clone(result))),
            Event::MatchOpened { .. } => Some(None),
            _ => None,
        };
        self.events.iter().rev().filter(mine).find_map(found)?
    }

    /// The result as all may know it, with what the manager opened.
    pub fn shown(&self, match_id: &str) -> Option<Arc<MatchResult>> {
        self.referee.view(&id(match_id))?.result
    }

    /// The manager takes the result that was reported last.
    pub fn manager_acknowledges(&mut self) {
        let place = self
            .out
            .iter()
            .rposition(|letter| matches!(letter.message, Message::MatchResultReport(_)));
        let report = self.out.remove(place.unwrap());
        self.hear(&report, taken(&report)).unwrap();
    }

    /// The manager takes the report of the only match, and both players hear of its end.
    pub fn close(&mut self) {
        for expected in [
            &["league_manager MATCH_RESULT_REPORT"][..],
            &["P01 GAME_OVER", "P02 GAME_OVER"],
        ] {
            let letters = self.take();
            let said: Vec<_> = letters.iter().map(told).collect();
            assert_eq!(said, expected);
            for letter in &letters {
                self.hear(letter, plain(letter).unwrap()).unwrap();
            }
        }
        self.settle_notice();
    }

    /// The manager takes the only notice.
    pub fn settle_notice(&mut self) {
        let letters = self.take();
        let said: Vec<_> = letters.iter().map(told).collect();
        assert_eq!(said, ["league_manager GAME_OVER_TOLD"]);
        self.hear(&letters[0], acknowledged()).unwrap();
    }

    pub fn kinds(&self) -> Vec<&'static str> {
        self.events.iter().map(kind).collect()
    }

    /// Delivers letters to players with this behaviour until none is left.
    pub fn play(&mut self, behave: &mut dyn FnMut(&Letter<CorrelationId>) -> Option<CallOutcome>) {
        for _ in 0..500 {
            if self.power == Some(0) {
                return;
            }
            if self.out.is_empty() {
                match self.referee.wakeup() {
                    Some(due) => self.wait_until(due.max(self.now)),
                    None => return,
                }
            }
            for letter in self.take() {
                let Some(outcome) = letter
                    .correlation
                    .is_some()
                    .then(|| behave(&letter))
                    .flatten()
                else {
                    continue;
                };
                let _ = self.hear(&letter, outcome);
                if self.power == Some(0) {
                    return;
                }
            }
        }
        panic!("the match does not end");
    }
}

pub const SECRET: LeagueSecret = LeagueSecret([7; 32]);
pub const START: i64 = 1_765_661_400_000;

/// Where the chance comes from.
pub const MODE: DrawMode = DrawMode::Chance;

/// The secret behind the commitment of a match.
pub fn seed(match_id: &MatchId) -> Seed {
    SECRET.seed(&league(), match_id)
}

pub fn commitment(match_id: &MatchId) -> Commitment {
    draw::commitment(&league(), match_id, MODE, &seed(match_id))
}

/// The token of the first order to run a match.
pub fn order_token(match_id: &MatchId) -> AuthToken {
    let referee = RefereeId::numbered(1);
    SECRET.keyed().order_token(&league(), match_id, &referee, 1)
}

/// The token that proves the referee to a player.
pub fn match_token(match_id: &MatchId, number: u32) -> AuthToken {
    let player = player(number);
    SECRET
        .keyed()
        .match_token(&league(), match_id, &player, None)
}

/// The key of a player's proofs.
pub fn proof_key(match_id: &MatchId, number: u32) -> ProofKey {
    let owner = Agent::Player(player(number));
    let token = SECRET.return_token(&league(), &owner);
    draw::proof_key(&token, &league(), match_id, 1)
}

pub fn second(number: u64) -> Timestamp {
    Timestamp::from_millis(START) + Duration::from_secs(number)
}

pub fn league() -> LeagueId {
    LeagueId::new("league_2025_even_odd").unwrap()
}

pub fn id(text: &str) -> MatchId {
    MatchId::new(text).unwrap()
}

pub fn player(number: u32) -> PlayerId {
    PlayerId::numbered(number)
}

/// The token by which a player proves itself.
pub fn token(number: u32) -> AuthToken {
    AuthToken::mint(
        player(number).as_str(),
        &[u8::try_from(number).unwrap(); 32],
    )
}

pub fn rules() -> RefereeRules {
    RefereeRules {
        display_name: "Whistle".to_owned(),
        version: "1.0.0".to_owned(),
        wanted_id: None,
        key: None,
        endpoint: "http://127.0.0.1:8001/mcp".to_owned(),
        games: (league_games::all().iter())
            .map(|game| GameType::new(game.rules.game_type).unwrap())
            .collect(),
        max_concurrent: 2,
        timeouts: Timeouts::default(),
        breaker: BreakerRule::default(),
        manager: Arc::new(Peer {
            agent: Agent::Manager,
            endpoint: "http://127.0.0.1:8000/mcp".into(),
            dialect: Dialect::V2,
            speech: Some(CallStyle::Simple),
            is_foreign: false,
        }),
    }
}

/// An order for a match of Even/Odd between players 1 and 2.
pub fn order(match_id: &str) -> StartMatch {
    order_between(match_id, [1, 2])
}

pub fn order_between(match_id: &str, players: [u32; 2]) -> StartMatch {
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
        commitment: commitment(&match_id),
        draw_mode: MODE,
        order_token: order_token(&match_id),
        pace_ms: None,
        handed_over: None,
        players: players.map(|number| StartMatchPlayer {
            player_id: player(number),
            endpoint: format!("http://127.0.0.1:81{number:02}/mcp").into(),
            dialect: Dialect::V2,
            speech: Some(CallStyle::Simple),
            is_foreign: false,
            token_hash: token(number).hash(),
            match_token: match_token(&match_id, number),
            record: WinLossDraw {
                wins: number,
                losses: 0,
                draws: 1,
            },
            absent: false,
            extra_seconds: None,
        }),
        match_id,
    }
}

pub fn tic_tac_toe(match_id: &str) -> StartMatch {
    order_of("tic_tac_toe", match_id)
}

/// An order for a match of any game.
pub fn order_of(game: &str, match_id: &str) -> StartMatch {
    StartMatch {
        game_type: GameType::new(game).unwrap(),
        ..order(match_id)
    }
}

/// The manager's call to run a match.
pub fn start(order: StartMatch, token: Option<TokenHash>) -> Command {
    Command::StartMatch {
        order: Arc::new(order),
        token,
        barred: None,
    }
}

/// A letter in a few words: `P01 GAME_INVITATION`.
pub fn told(letter: &Letter<CorrelationId>) -> String {
    let to = match &letter.to.agent {
        Agent::Player(id) => id.to_string(),
        other => other.to_string(),
    };
    format!("{to} {}", letter.message.v2_type().unwrap_or("nothing"))
}

pub fn kind(event: &Event) -> &'static str {
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
        Event::QuestionPostponed { .. } => "postponed",
        Event::GivenBack { .. } => "given back",
        Event::Joined { .. } => "joined",
        Event::ChoiceSealed { .. } => "sealed",
        Event::DrawRequested { .. } => "drawing",
        Event::DrawFailed { .. } => "not drawn",
        Event::NumberDrawn { .. } => "drawn",
        Event::PlayerTold { .. } => "told",
        Event::ManagerNoticed { .. } => "noticed",
        Event::NoticeSettled { .. } => "notice settled",
        Event::AnswerLate { .. } => "late",
        Event::ReportTried { .. } => "reporting",
        Event::ReportFailed { .. } => "not reported",
        Event::ReportSettled { .. } => "settled",
    }
}

/// An answer with the token of the player that was asked.
pub fn answer(letter: &Letter<CorrelationId>, message: Message) -> CallOutcome {
    let asked = (1..=9).find(|&number| letter.to.agent == Agent::Player(player(number)));
    Ok(PeerAnswer {
        message,
        token: asked.map(|number| token(number).hash()),
    })
}

pub fn join(letter: &Letter<CorrelationId>, accept: bool) -> CallOutcome {
    let Message::GameInvitation(invitation) = &letter.message else {
        panic!("{}", told(letter))
    };
    let ack = GameJoinAck {
        match_id: invitation.match_id.clone(),
        player_id: None,
        arrival: None,
        accept,
        proof: None,
    };
    answer(letter, Message::from(ack))
}

pub fn call(letter: &Letter<CorrelationId>) -> &MoveCall {
    let Message::MoveCall(call) = &letter.message else {
        panic!("{}", told(letter))
    };
    call
}

pub fn response(letter: &Letter<CorrelationId>, choice: Value) -> MoveResponse {
    let call = call(letter);
    MoveResponse {
        match_id: call.match_id.clone(),
        player_id: Some(call.player_id.clone()),
        game_type: call.game_type.clone(),
        move_type: Some(Arc::clone(&call.move_type)),
        choice,
        nonce: Some(format!("nonce of {}", call.player_id)),
        reasoning: None,
        proof: None,
        model: None,
    }
}

pub fn chosen(letter: &Letter<CorrelationId>, choice: Value) -> CallOutcome {
    answer(
        letter,
        Message::MoveResponse(Arc::new(response(letter, choice))),
    )
}

pub fn acknowledged() -> CallOutcome {
    Ok(PeerAnswer {
        message: Message::Acknowledged,
        token: None,
    })
}

fn is_draw_request(letter: &Letter<CorrelationId>) -> bool {
    matches!(letter.message, Message::DrawRequest(_))
}

/// What was requested.
pub fn requested(letter: &Letter<CorrelationId>) -> &DrawRequest {
    let Message::DrawRequest(request) = &letter.message else {
        panic!("{}", told(letter))
    };
    request
}

/// The seed of a roll, as the manager gives it.
pub fn drawn(letter: &Letter<CorrelationId>) -> CallOutcome {
    let request = requested(letter);
    let Some(CorrelationId::Draw { roll, .. }) = letter.correlation else {
        panic!("{}", told(letter))
    };
    let seed = seed(&request.match_id);
    Ok(PeerAnswer {
        message: Message::from(DrawResponse {
            match_id: request.match_id.clone(),
            attempt: request.attempt,
            seed: draw::roll_seed(&seed, request.attempt, roll),
        }),
        token: None,
    })
}

/// The manager takes a result, and opens its seed and the key of player 1.
pub fn taken(letter: &Letter<CorrelationId>) -> CallOutcome {
    let Message::MatchResultReport(report) = &letter.message else {
        panic!("{}", told(letter))
    };
    let match_id = &report.match_id;
    let told = report.result.evidence.of(&player(1));
    Ok(PeerAnswer {
        message: Message::from(MatchResultAck {
            match_id: match_id.clone(),
            seed: seed(match_id),
            players: vec![PlayerEvidence {
                player_id: player(1),
                join: told.and_then(|told| told.join),
                key: Some(proof_key(match_id, 1)),
            }],
        }),
        token: None,
    })
}

pub fn failed(code: Code) -> CallOutcome {
    Err(CallFailure::of_peer(code, "as the test wants it"))
}

/// A letter that could not leave the machine of the referee.
pub fn unsent() -> CallOutcome {
    Err(CallFailure::local("no descriptors"))
}

/// A player that comes, plays the first option (player 1) or the last one, and hears the end; and a
/// manager that gives draws and takes results.
pub fn plain(letter: &Letter<CorrelationId>) -> Option<CallOutcome> {
    Some(match &letter.message {
        Message::GameInvitation(_) => join(letter, true),
        Message::MoveCall(call) => {
            let last = call.options.len() - 1;
            let index = if call.player_id == player(1) { 0 } else { last };
            chosen(letter, call.options[index].clone())
        }
        Message::DrawRequest(_) => drawn(letter),
        Message::MatchResultReport(_) => taken(letter),
        _ => acknowledged(),
    })
}

pub fn even() -> Value {
    json!("even")
}

pub fn odd() -> Value {
    json!("odd")
}
