//! The state of one match, from the order to its last letter, and how events change it. What follows
//! from the state is in `match_step.rs`.

use std::fmt;
use std::sync::Arc;

use league_games::{BadSettings, Rules, Seat, Table, Turn};
use league_protocol::fault::Code;
use league_protocol::id::GameType;
use league_protocol::message::{MatchResult, MatchState};
use league_protocol::secret::{Proof, Seed};
use league_protocol::sender::{Agent, CallStyle};
use league_protocol::time::Timestamp;
use serde_json::Value;
use thiserror::Error;

use super::command::{MatchView, PlayerQuestion};
use super::event::{
    Event, MatchOrder, OpenedSecrets, PrivateDetail, ReportAnswer, SealedChoice, SeatedPlayer,
    Secrets,
};
use super::match_draw::DrawState;
use crate::judge::Course;
use crate::letter::Peer;
use crate::timeouts::CALL_STYLE_TIMEOUT;

/// The seats of every match.
pub(crate) const SEATS: [Seat; 2] = [Seat::A, Seat::B];

/// One match that this referee runs; a copy shares all that a step leaves as it is.
#[derive(Clone)]
pub(crate) struct Match {
    pub(crate) fixture: Arc<MatchOrder>,
    pub(crate) taken_at: Timestamp,
    /// When its last step began.
    pub(crate) stepped_at: Timestamp,
    pub(crate) opening: Arc<GameOpening>,
    pub(crate) secrets: Option<Arc<Secrets>>,
    /// The table with the moves that wait for no dice.
    pub(crate) course: Course,
    pub(crate) moves: Vec<(Seat, Arc<SealedChoice>)>,
    /// How many of the last moves are secret, because a turn of both seats is not complete.
    pub(crate) sealed: usize,
    /// How many moves before these the manager holds, until an order brings them.
    pub(crate) missing: usize,
    pub(crate) slots: [PlayerSlot; 2],
    pub(crate) started: bool,
    pub(crate) drawn: bool,
    /// What the manager gave for the rolls so far.
    pub(crate) seeds: Vec<Seed>,
    /// The request for the draw that is due.
    pub(crate) draw: Option<DrawState>,
    pub(crate) ending: Option<Settlement>,
    /// Whether it was closed without a result.
    pub(crate) given_up: bool,
    /// Whether this machine cannot call the players, so that the match went back.
    pub(crate) given_back: bool,
    /// When it is due, as the referee has it in its list.
    pub(crate) listed_at: Option<Timestamp>,
}

/// The work left once the result is decided: report it and tell the players.
#[derive(Debug, Clone)]
pub(crate) struct Settlement {
    pub(crate) result: Arc<MatchResult>,
    pub(crate) at: Timestamp,
    pub(crate) report: ReportState,
    /// The result as all may know it, once the manager has taken it.
    pub(crate) shown: Option<ShownResult>,
    pub(crate) told: [bool; 2],
    /// Which of them the manager was told of.
    pub(crate) noticed: [bool; 2],
    /// How many notices to it are under way: the match is closed after them, so that a referee that
    /// restarts tells it again.
    pub(crate) notices: u32,
    /// When the manager is told again, if it did not know the referee's token.
    pub(crate) notice_again: Option<Timestamp>,
    pub(crate) closed: bool,
}

/// A result that the manager has taken, with what it opened.
#[derive(Debug, Clone)]
pub(crate) struct ShownResult {
    pub(crate) at: Timestamp,
    pub(crate) result: Arc<MatchResult>,
    pub(crate) opened: Option<Arc<OpenedSecrets>>,
}

/// How far the report has come.
#[derive(Debug, Clone, Copy)]
pub(crate) enum ReportState {
    /// Sent with the decision; no outcome yet.
    Fresh,
    Sent {
        tried: u32,
        until: Timestamp,
    },
    Resting {
        tried: u32,
        retry_at: Timestamp,
    },
    Settled(ReportAnswer),
}

impl ReportState {
    /// Which try is, or was last, under way.
    pub(crate) const fn tried(self) -> u32 {
        match self {
            Self::Fresh | Self::Settled(_) => 1,
            Self::Sent { tried, .. } | Self::Resting { tried, .. } => tried,
        }
    }
}

impl Match {
    /// Sets up the table, like the last one if both begin the same way; refused if there is no
    /// such game or it cannot be played like this.
    pub(crate) fn open(
        fixture: Arc<MatchOrder>,
        last: Option<&Arc<GameOpening>>,
        at: Timestamp,
    ) -> Result<Self, SetupError> {
        let (game_type, settings) = (&fixture.game_type, &fixture.settings);
        let opening = match last.filter(|last| last.fits(game_type, settings)) {
            Some(last) => Arc::clone(last),
            None => Arc::new(GameOpening::of(game_type, settings)?),
        };
        Ok(Self {
            taken_at: at,
            stepped_at: Timestamp::default(),
            course: Course::new(Arc::clone(&opening.table)),
            opening,
            secrets: None,
            moves: Vec::new(),
            sealed: 0,
            missing: fixture.handed_over,
            slots: [0, 1].map(|seat| PlayerSlot::new(&fixture.players[seat])),
            started: false,
            drawn: false,
            seeds: Vec::new(),
            draw: None,
            ending: None,
            given_up: false,
            given_back: false,
            listed_at: None,
            fixture,
        })
    }

    pub(crate) fn rules(&self) -> &Rules {
        &self.opening.rules
    }

    pub(crate) fn seated(&self, seat: Seat) -> &SeatedPlayer {
        &self.fixture.players[seat.index() & 1]
    }

    pub(crate) fn slot(&self, seat: Seat) -> &PlayerSlot {
        &self.slots[seat.index() & 1]
    }

    pub(crate) fn slot_mut(&mut self, seat: Seat) -> &mut PlayerSlot {
        &mut self.slots[seat.index() & 1]
    }

    /// Whether it goes on: it has its secrets and no result.
    pub(crate) fn is_playing(&self) -> bool {
        self.secrets.is_some() && self.ending.is_none() && !self.given_up
    }

    /// 0 while the player is invited, then the number of the move that it owes.
    pub(crate) fn turn_of(&self, seat: Seat) -> u32 {
        if self.started {
            self.slot(seat).moves.saturating_add(1)
        } else {
            0
        }
    }

    /// Whether an attempt at the present question of a seat was counted as failed.
    pub(crate) fn has_failed(&self, question: &PlayerQuestion) -> bool {
        let slot = self.slot(question.seat);
        question.attempt == self.fixture.attempt
            && question.turn == self.turn_of(question.seat)
            && question.failed < slot.failed
    }

    /// The question that is open for a seat.
    pub(crate) fn question(&self, seat: Seat) -> Option<PlayerQuestion> {
        let slot = self.slot(seat);
        slot.question.map(|asking| PlayerQuestion {
            match_id: self.fixture.match_id.clone(),
            attempt: self.fixture.attempt,
            seat,
            turn: self.turn_of(seat),
            failed: slot.failed,
            asked_at: asking.at,
        })
    }

    /// Takes in a fact of this match.
    pub(crate) fn apply(&mut self, event: &Event) {
        match event {
            Event::SecretsGiven { secrets, .. } => self.take_secrets(secrets.clone()),
            Event::Asked { seat, at, .. } => {
                self.stepped_at = *at;
                self.slot_mut(*seat).apply(event);
            }
            Event::QuestionPostponed { seat, .. }
            | Event::AttemptFailed { seat, .. }
            | Event::Joined { seat, .. }
            | Event::Declined { seat, .. } => self.slot_mut(*seat).apply(event),
            Event::GivenBack { .. } => self.give_back(),
            Event::Started { joins, at, .. } => {
                self.started = true;
                self.stepped_at = *at;
                for (slot, join) in self.slots.iter_mut().zip(joins) {
                    slot.turn_page();
                    slot.joined = true;
                    slot.join = *join;
                }
            }
            Event::ChoiceSealed { seat, sealed, .. } => self.seal_move(*seat, sealed),
            // The turn that it was sealed in is complete.
            Event::MovePlayed { .. } if self.sealed > 0 => self.sealed -= 1,
            Event::MovePlayed {
                seat,
                choice,
                nonce,
                proof,
                model,
                ..
            } => {
                let sealed = SealedChoice {
                    choice: choice.clone(),
                    nonce: nonce.clone(),
                    proof: *proof,
                    model: model.clone(),
                };
                self.take_move(*seat, Arc::new(sealed));
            }
            Event::DrawRequested { until, .. } => self.await_draw(*until),
            Event::DrawFailed { retry_at, .. } => self.rest_draw(*retry_at),
            Event::NumberDrawn { seed, .. } => self.take_draw(*seed),
            Event::Readdressed { players, .. } => self.readdress(players),
            Event::Decided { result, at, .. } => self.finish(result.clone(), *at),
            Event::Closed { .. } if self.ending.is_none() => self.given_up = true,
            _ => {
                if let Some(ending) = &mut self.ending {
                    ending.apply(event);
                }
            }
        }
    }

    fn await_draw(&mut self, until: Timestamp) {
        let tried = self.draw.map_or(0, DrawState::tried).saturating_add(1);
        self.draw = Some(DrawState::Sent { tried, until });
    }

    fn rest_draw(&mut self, retry_at: Timestamp) {
        let tried = self.draw.map_or(1, DrawState::tried);
        self.draw = Some(DrawState::Resting { tried, retry_at });
    }

    fn give_back(&mut self) {
        self.secrets = None;
        self.given_back = true;
        for slot in &mut self.slots {
            slot.turn_page();
        }
    }

    fn take_secrets(&mut self, secrets: Arc<Secrets>) {
        if let Some(held) = &secrets.handed_over {
            self.take_over(held);
        }
        self.missing = 0;
        self.secrets = Some(secrets);
        self.catch_up();
        // The order of a manager that restarted brings the seed that was requested.
        if self.course.table.turn() != Turn::Dice && self.draw.take().is_some() {
            self.drawn = true;
        }
    }

    fn take_move(&mut self, seat: Seat, sealed: Arc<SealedChoice>) {
        self.moves.push((seat, sealed));
        self.catch_up();
        let slot = self.slot_mut(seat);
        slot.turn_page();
        slot.moves = slot.moves.saturating_add(1);
    }

    /// Takes a secret move; that of a turn of both seats is written down when the turn is complete.
    fn seal_move(&mut self, seat: Seat, sealed: &Arc<SealedChoice>) {
        self.take_move(seat, Arc::clone(sealed));
        self.sealed += usize::from(!self.rules().hidden_moves);
    }

    fn readdress(&mut self, players: &[SeatedPlayer; 2]) {
        for (slot, seated) in self.slots.iter_mut().zip(players) {
            slot.peer = peer(seated);
        }
        Arc::make_mut(&mut self.fixture).players = players.clone();
    }

    fn finish(&mut self, result: Arc<MatchResult>, at: Timestamp) {
        for slot in &mut self.slots {
            slot.turn_page();
        }
        self.ending = Some(Settlement {
            result,
            at,
            report: ReportState::Fresh,
            shown: None,
            told: [false; 2],
            noticed: [false; 2],
            notices: 0,
            notice_again: None,
            closed: false,
        });
    }
}

impl Settlement {
    /// Takes in a fact of a match whose result stands.
    pub(crate) fn apply(&mut self, event: &Event) {
        let tried = self.report.tried();
        match event {
            Event::PlayerTold { seat, .. } => self.told[seat.index() & 1] = true,
            Event::ManagerNoticed { .. } => {
                (self.noticed, self.notice_again) = (self.told, None);
                self.notices = self.notices.saturating_add(1);
            }
            Event::NoticeSettled { again, .. } => {
                self.notices = self.notices.saturating_sub(1);
                if again.is_some() {
                    (self.noticed, self.notice_again) = ([false; 2], *again);
                }
            }
            Event::ReportTried { until, .. } => {
                self.report = ReportState::Sent {
                    tried: tried.saturating_add(1),
                    until: *until,
                };
            }
            Event::ReportFailed { retry_at, .. } => {
                self.report = ReportState::Resting {
                    tried,
                    retry_at: *retry_at,
                };
            }
            Event::ReportSettled {
                report, opened, at, ..
            } => {
                self.report = ReportState::Settled(*report);
                self.show(*report, opened.as_ref(), *at);
            }
            Event::Closed {
                report, opened, at, ..
            } => {
                if self.shown.is_none() {
                    self.show(*report, opened.as_ref(), *at);
                }
                self.closed = true;
            }
            _ => {}
        }
    }

    /// Shows a result that the manager has taken, with all that it opened.
    fn show(&mut self, report: ReportAnswer, opened: Option<&Arc<OpenedSecrets>>, at: Timestamp) {
        if report != ReportAnswer::Acknowledged {
            return;
        }
        let result = match opened {
            Some(opened) => Arc::new(opened.open(&self.result)),
            None => Arc::clone(&self.result),
        };
        let opened = opened.cloned();
        self.shown = Some(ShownResult { at, result, opened });
    }
}

/// Shows no move that is still hidden.
impl std::fmt::Debug for Match {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Match")
            .field("fixture", &self.fixture)
            .field("slots", &self.slots)
            .field("moves", &self.moves.len())
            .field("started", &self.started)
            .field("drawn", &self.drawn)
            .field("ending", &self.ending)
            .finish_non_exhaustive()
    }
}

/// One player in a match.
#[derive(Debug, Clone)]
pub(crate) struct PlayerSlot {
    pub(crate) peer: Arc<Peer>,
    pub(crate) joined: bool,
    /// What proves that it joined.
    pub(crate) join: Option<Proof>,
    pub(crate) moves: u32,
    /// How often the present question has failed.
    pub(crate) failed: u32,
    /// Since when the player cannot be reached.
    pub(crate) unreached_since: Option<Timestamp>,
    /// How often in a row it could not leave this machine.
    pub(crate) postponed: u32,
    pub(crate) question: Option<OpenQuestion>,
    pub(crate) retry_at: Option<Timestamp>,
    pub(crate) loss: Option<Loss>,
    /// The account of the failure that lost the match; not known after a restart.
    pub(crate) account: Option<PrivateDetail>,
}

/// A question that is open.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OpenQuestion {
    pub(crate) at: Timestamp,
    pub(crate) deadline: Timestamp,
}

/// Why a player has lost without playing.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Loss {
    Declined,
    Failed(Code),
}

impl PlayerSlot {
    pub(crate) fn new(seated: &SeatedPlayer) -> Self {
        Self {
            peer: peer(seated),
            joined: false,
            join: None,
            moves: 0,
            failed: 0,
            unreached_since: None,
            postponed: 0,
            question: None,
            retry_at: None,
            loss: None,
            account: None,
        }
    }

    /// When silence becomes a fact: at the deadline, extended by the time that detecting the call
    /// style may take. The shell keeps the player's own clock.
    pub(crate) fn latest(&self, asking: OpenQuestion) -> Timestamp {
        match self.peer.speech {
            Some(CallStyle::Simple) => asking.deadline,
            _ => asking.deadline + CALL_STYLE_TIMEOUT,
        }
    }

    /// Takes in a fact of this player alone.
    pub(crate) fn apply(&mut self, event: &Event) {
        match event {
            Event::Asked { at, deadline, .. } => {
                let (at, deadline) = (*at, *deadline);
                self.question = Some(OpenQuestion { at, deadline });
            }
            Event::QuestionPostponed { retry_at, .. } => {
                self.question = None;
                self.postponed = self.postponed.saturating_add(1);
                self.retry_at = Some(*retry_at);
            }
            Event::AttemptFailed {
                failed,
                code,
                aside,
                retry_at,
                at,
                ..
            } => {
                self.question = None;
                self.unreached_since = match code {
                    Code::Connection => self.unreached_since.or(Some(*at)),
                    _ => None,
                };
                self.postponed = 0;
                self.failed = *failed;
                self.retry_at = *retry_at;
                if retry_at.is_none() {
                    self.loss = Some(Loss::Failed(*code));
                    self.account.clone_from(aside);
                }
            }
            Event::Joined { proof, .. } => {
                self.turn_page();
                self.joined = true;
                self.join = *proof;
            }
            Event::Declined { .. } => {
                self.turn_page();
                self.loss = Some(Loss::Declined);
            }
            _ => {}
        }
    }

    /// Begins the next question with all its attempts.
    pub(crate) fn turn_page(&mut self) {
        self.question = None;
        self.retry_at = None;
        self.failed = 0;
        self.unreached_since = None;
        self.postponed = 0;
    }
}

pub(crate) fn peer(seated: &SeatedPlayer) -> Arc<Peer> {
    Arc::new(Peer {
        agent: Agent::Player(seated.player_id.clone()),
        endpoint: seated.endpoint.clone(),
        dialect: seated.dialect,
        speech: seated.speech,
        is_foreign: seated.is_foreign,
    })
}

/// Why a match cannot be set up.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub(crate) enum SetupError {
    #[error("unknown game")]
    UnknownGame,
    #[error(transparent)]
    BadSettings(#[from] BadSettings),
}

/// The first position of a game with certain settings, and each seat's view of it.
pub(crate) struct GameOpening {
    game_type: GameType,
    settings: Value,
    pub(crate) rules: Rules,
    pub(crate) move_type: Arc<str>,
    pub(crate) table: Arc<dyn Table>,
    pub(crate) views: [Arc<Value>; 2],
    pub(crate) options: [Arc<[Value]>; 2],
}

impl GameOpening {
    /// Sets a game up; fails for an unknown game or unusable settings.
    pub(crate) fn of(game_type: &GameType, settings: &Value) -> Result<Self, SetupError> {
        let listing = league_games::find(game_type.as_str()).ok_or(SetupError::UnknownGame)?;
        let table: Arc<dyn Table> = (listing.open)(settings)?.into();
        Ok(Self {
            game_type: game_type.clone(),
            settings: settings.clone(),
            rules: listing.rules,
            move_type: listing.rules.move_type.into(),
            views: SEATS.map(|seat| Arc::new(table.view(seat))),
            options: SEATS.map(|seat| table.options(seat).into()),
            table,
        })
    }

    /// Whether a match of this game with these settings begins so.
    pub(crate) fn fits(&self, game_type: &GameType, settings: &Value) -> bool {
        self.game_type == *game_type && self.settings == *settings
    }
}

/// Prints the game type only.
impl fmt::Debug for GameOpening {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "GameOpening({})", self.game_type)
    }
}

impl Match {
    /// Where the match stands.
    pub(crate) fn state(&self) -> MatchState {
        if self.ending.is_some() {
            return MatchState::Finished;
        }
        if !self.started {
            return MatchState::WaitingForPlayers;
        }
        match self.course.table.turn() {
            Turn::Seats(_) => MatchState::CollectingChoices,
            Turn::Dice | Turn::Over(_) => MatchState::DrawingNumber,
        }
    }

    /// The public state.
    pub(crate) fn view(&self) -> MatchView {
        let fixture = &self.fixture;
        let shown = self
            .ending
            .as_ref()
            .and_then(|ending| ending.shown.as_ref());
        let open = self.rules().open_moves(self.moves.len());
        let named = |(seat, sealed): &(Seat, Arc<SealedChoice>)| {
            (self.seated(*seat).player_id.clone(), sealed.choice.clone())
        };
        MatchView {
            league_id: fixture.league_id.clone(),
            round_id: fixture.round_id,
            match_id: fixture.match_id.clone(),
            attempt: fixture.attempt,
            game_type: fixture.game_type.clone(),
            state: self.state(),
            players: [0, 1].map(|seat| fixture.players[seat].player_id.clone()),
            moves: self.moves.iter().take(open).map(named).collect(),
            result: shown.map(|shown| Arc::clone(&shown.result)),
        }
    }
}
