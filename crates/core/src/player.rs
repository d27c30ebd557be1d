//! A player: it gets into the league, comes to its matches, moves, and remembers.
//!
//! How to choose is left to a strategy outside: asked for a move, the machine replies
//! [`Reply::Think`], and the choice comes back as [`Command::Chosen`].

mod command;
mod contact;
mod event;
mod memory;
mod news;
mod play;
mod question;

use std::sync::Arc;

use league_protocol::id::{GameType, LeagueId, MatchId, PlayerId};
use league_protocol::message::{Rows, StandingRow};
use league_protocol::time::Timestamp;
use league_protocol::token::{AuthToken, TokenHash};

use crate::letter::{CallOutcome, Letter, Peer};
use crate::machine::{self, Machine, Persistence};
use crate::timeouts::Timeouts;
use contact::{Contact, LeaguePlace};
use news::Disputes;
use play::{Announcements, CallWatch, ChosenMove, JoinAnswer, MatchAnnouncement, OpenMatches};

pub use command::{
    Command, Fallback, MAX_NOTE_CHARS, PlayerNotice, PlayerPhase, PlayerView, Refusal, Reply, Think,
};
pub use contact::{MAX_REASON, MIN_WAIT, OUTCOME_GRACE};
pub use event::{Event, MoveQuestion};
pub use memory::{
    DISTINCT_CHOICES, KNOWN_ENDS, MAX_CHOICE, MatchOutcome, MatchRecord, Memory, MemoryRule,
    Opponent, RECENT_CHOICES, Statistics,
};
pub use news::{DrawProblem, SHOWN_DISPUTES};
pub use play::{
    ANNOUNCED_MATCHES, LATE_THOUGHT, MAX_REASONING, MAX_REPLY_RESERVE, MAX_THINK_TIME,
    OPEN_MATCHES, OPEN_MOVES,
};

type Decision = machine::Decision<Event, Reply, Refusal>;

/// The configuration of a player.
#[derive(Debug, Clone, PartialEq)]
pub struct PlayerRules {
    /// The name that people see.
    pub display_name: String,
    pub version: String,
    pub endpoint: String,
    pub games: Vec<GameType>,
    /// How long it waits for the manager.
    pub timeouts: Timeouts,
    pub manager: Arc<Peer>,
    /// The id it would like.
    pub wanted_id: Option<String>,
    /// The organiser's code for participants.
    pub join_code: Option<AuthToken>,
    /// Whether it comes only to matches that were announced to it.
    pub strict: bool,
    /// How much it keeps in memory.
    pub memory: MemoryRule,
    /// Whether it says that a person chooses its moves.
    pub human: bool,
}

/// Names a letter to the manager; the number counts them, so that a late answer is known as one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CorrelationId {
    /// A wish to be admitted.
    Registration(u32),
}

/// One player.
#[derive(Debug, Clone, PartialEq)]
pub struct Player {
    rules: Arc<PlayerRules>,
    contact: Contact,
    place: Option<LeaguePlace>,
    /// What it comes back and signs with; never in the journal.
    return_token: Option<AuthToken>,
    rejected: Option<String>,
    completed: Option<LeagueId>,
    doubted: Option<MatchId>,
    announced: Announcements,
    tables: OpenMatches,
    standings: Option<Rows<StandingRow>>,
    disputes: Disputes,
    memory: Memory,
}

impl Player {
    /// A player that has not asked for anything yet.
    pub fn new(rules: PlayerRules) -> Self {
        Self {
            contact: Contact::default(),
            place: None,
            return_token: None,
            rejected: None,
            completed: None,
            doubted: None,
            announced: Announcements::default(),
            tables: OpenMatches::default(),
            standings: None,
            disputes: Disputes::default(),
            memory: Memory::new(rules.memory),
            rules: Arc::new(rules),
        }
    }

    pub fn rules(&self) -> &PlayerRules {
        &self.rules
    }

    /// Its id, once it is admitted.
    pub fn player_id(&self) -> Option<&PlayerId> {
        self.place.as_ref().map(|place| &place.player_id)
    }

    /// Its league, once it is admitted.
    pub fn league_id(&self) -> Option<&LeagueId> {
        self.place.as_ref().map(|place| &place.league_id)
    }

    /// Whether the manager has to prove itself in its calls: it gave a token for that.
    pub fn knows_manager(&self) -> bool {
        self.manager_token().is_some()
    }

    /// Where it is on its way through the league.
    pub fn phase(&self) -> PlayerPhase {
        if !self.contact.is_quiet() {
            PlayerPhase::Registering
        } else if self.rejected.is_some() {
            PlayerPhase::Rejected
        } else if self.is_completed() {
            PlayerPhase::Completed
        } else if self.place.is_some() {
            PlayerPhase::Enrolled
        } else {
            PlayerPhase::Idle
        }
    }

    /// Why it was not admitted.
    pub fn rejection(&self) -> Option<&str> {
        self.rejected.as_deref()
    }

    /// Whether a match was announced to it.
    pub fn is_announced(&self, match_id: &MatchId) -> bool {
        self.announced.find(match_id).is_some()
    }

    /// Whether it has answered a call for a move, and the answer stands.
    pub fn has_moved(&self, match_id: &MatchId, turn: u32) -> bool {
        let open = self.open_move(match_id, turn);
        open.is_some_and(|open| open.answer.is_some())
    }

    pub fn memory(&self) -> &Memory {
        &self.memory
    }

    /// The player's state, without open choices.
    pub fn view(&self) -> PlayerView {
        PlayerView {
            display_name: self.rules.display_name.clone(),
            player_id: self.player_id().cloned(),
            league_id: self.league_id().cloned(),
            phase: self.phase(),
            statistics: *self.memory.statistics(),
            standing: self.standing().cloned(),
            open_matches: self.tables.ids().cloned().collect(),
            history: self.memory.history().cloned().collect(),
            disputed: self.disputes.list(),
        }
    }

    /// The latest standings that the manager told.
    pub fn standings(&self) -> Option<&Rows<StandingRow>> {
        self.standings.as_ref()
    }

    /// Its row in the latest standings.
    pub fn standing(&self) -> Option<&StandingRow> {
        let own = self.player_id()?;
        let mut rows = self.standings.as_ref()?.iter();
        rows.find(|row| row.player_id == *own)
    }

    /// An address on the site of its manager.
    pub fn page(&self, path: &str) -> String {
        let manager = &self.rules().manager.endpoint;
        format!("{}{path}", manager.strip_suffix("/mcp").unwrap_or(manager))
    }

    /// The address of its own page, once it is in a league.
    pub fn own_page(&self) -> Option<String> {
        Some(self.page(&format!("/player/{}", self.player_id()?)))
    }

    /// Its place in the latest standings, as a line for people.
    pub fn place_line(&self) -> Option<String> {
        let (row, page) = (self.standing()?, self.own_page()?);
        let (rank, points, players) = (row.rank, row.points, self.standings()?.len());
        let unit = if points == 1 { "point" } else { "points" };
        Some(format!(
            "we are number {rank} of {players}, with {points} {unit}: {page}"
        ))
    }

    fn manager_token(&self) -> Option<TokenHash> {
        self.place.as_ref().and_then(|place| place.manager)
    }

    fn is_completed(&self) -> bool {
        self.completed.is_some() && self.completed.as_ref() == self.league_id()
    }

    /// Applies the events of registration.
    fn apply_contact(&mut self, event: &Event) {
        match event {
            Event::Enrolled {
                player_id,
                league_id,
                manager,
                ..
            } => self.enrol(LeaguePlace {
                player_id: player_id.clone(),
                league_id: league_id.clone(),
                manager: *manager,
            }),
            Event::Rejected { reason, .. } => {
                self.rejected = Some(reason.clone());
                self.contact.settled();
            }
            Event::ManagerAsked {
                show_token,
                number,
                at,
            } => {
                let give_up_at = self.give_up_at(*at);
                self.contact.asked(*show_token, *number, give_up_at);
            }
            Event::ManagerSilent { retry_at, .. } => self.contact.silent(*retry_at),
            Event::ManagerNodded { retry_at } => self.contact.nodded(*retry_at),
            _ => {}
        }
    }

    /// Applies the announcement of a match; a new attempt begins with nothing said.
    fn apply_announcement(&mut self, event: &Event) {
        let Event::Announced {
            match_id,
            attempt,
            token,
            referee_token,
            commitment,
            ..
        } = event
        else {
            return;
        };
        let announced = MatchAnnouncement {
            token: *token,
            referee_token: *referee_token,
            commitment: *commitment,
            attempt: *attempt,
            watch: CallWatch::None,
        };
        if self.announced.add(match_id, announced) {
            self.tables.leave(match_id);
        }
    }

    fn enrol(&mut self, mut place: LeaguePlace) {
        match self.place.take() {
            // The manager's token lasts as long as the league; a later answer need not repeat it.
            // Another token is that of a new league, which may have the same id.
            Some(before) if before.league_id == place.league_id && !before.is_renewed(&place) => {
                place.manager = place.manager.or(before.manager);
            }
            Some(_) => {
                self.announced = Announcements::default();
                self.return_token = None;
                self.memory.forget_ends();
                self.standings = None;
            }
            None => {}
        }
        self.place = Some(place);
        self.rejected = None;
        self.completed = None;
        self.contact.settled();
    }

    fn decide_command(&self, at: Timestamp, command: &Command) -> Result<Decision, Refusal> {
        match command {
            Command::Begin { return_token } => Ok(self.begin(at, return_token.as_ref())),
            Command::Rest { return_token } => Ok(self.rest(return_token.as_ref())),
            Command::TokenRefused => Ok(self.register(at)),
            Command::Outcome {
                correlation,
                outcome,
            } => Ok(self.hear(at, correlation, outcome)),
            Command::Admitted {
                response,
                answers_us,
            } => self.admitted(at, response, *answers_us),
            Command::Invited { invitation, token } => self.invited(at, invitation, token.as_ref()),
            Command::MoveWanted { call, token } => self.move_wanted(at, call, token.as_ref()),
            Command::Chosen {
                match_id,
                turn,
                choice,
                nonce,
                reasoning,
                model,
            } => {
                let brought = ChosenMove {
                    choice: choice.as_ref(),
                    nonce: nonce.as_deref(),
                    reasoning: reasoning.as_deref(),
                    model: model.as_deref(),
                };
                self.chosen(match_id, *turn, &brought)
            }
            Command::CallQueried { query, token } => self.call_queried(query, token.as_ref()),
            Command::Told { news, token } => self.told(at, news, token.as_ref()),
            Command::StateWanted => Ok(Decision::reply(Reply::State(Box::new(self.view())))),
            Command::Tick => Ok(self.wake(at)),
        }
    }
}

impl Machine for Player {
    type Command = Command;
    type Event = Event;
    type Reply = Reply;
    type Refusal = Refusal;
    type CorrelationId = CorrelationId;

    fn tick() -> Command {
        Command::Tick
    }

    fn outcome(correlation: CorrelationId, outcome: CallOutcome) -> Command {
        Command::Outcome {
            correlation,
            outcome,
        }
    }

    fn decide(&self, at: Timestamp, command: &Command) -> Decision {
        self.decide_command(at, command).into()
    }

    fn apply(&mut self, event: &Event) {
        match event {
            Event::Enrolled { .. }
            | Event::Rejected { .. }
            | Event::ManagerAsked { .. }
            | Event::ManagerSilent { .. }
            | Event::ManagerNodded { .. } => self.apply_contact(event),
            Event::Announced { .. } => self.apply_announcement(event),
            Event::ReturnTokenKept { token } => self.return_token = Some(token.clone()),
            Event::AttemptWatched { match_id } => self.announced.watch(match_id),
            Event::DrawDisputed {
                match_id, problem, ..
            } => self.disputes.add(match_id, *problem),
            Event::Remembered { record } => {
                self.tables.leave(&record.match_id);
                self.memory.add(record);
            }
            Event::LeagueCompleted { league_id, .. } => self.completed = Some(league_id.clone()),
            Event::TokenDoubted { match_id } => self.doubted = Some(match_id.clone()),
            Event::Joined {
                match_id,
                game_type,
                opponent_id,
                accept,
                at,
            } => {
                let joined = JoinAnswer {
                    game_type: game_type.clone(),
                    opponent_id: opponent_id.clone(),
                    accept: *accept,
                    at: *at,
                };
                self.announced.called(match_id);
                self.tables.join(match_id, joined);
            }
            Event::Asked { match_id, question } => {
                self.announced.called(match_id);
                self.tables.ask(match_id, question.clone());
            }
            Event::Answered {
                match_id,
                turn,
                response,
                fallback,
            } => self
                .tables
                .answer(match_id, *turn, (response.clone(), *fallback)),
            Event::MoveRefused { match_id } => self.tables.forget_moves(match_id),
            Event::Left { match_id } => self.tables.leave(match_id),
            Event::Ranked { standings } => self.standings = Some(standings.clone()),
        }
    }

    fn letters(&self, event: &Event, out: &mut Vec<Letter<CorrelationId>>) {
        if let Event::ManagerAsked { show_token, .. } = event {
            out.push(self.letter(*show_token));
        }
    }

    fn pending(&self) -> Vec<Letter<CorrelationId>> {
        self.letter_under_way().into_iter().collect()
    }

    fn wakeup(&self) -> Option<Timestamp> {
        self.contact.wakeup()
    }

    fn keep(event: &Event) -> Persistence {
        event.keep()
    }
}
