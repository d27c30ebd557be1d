//! One match from the order to its last letter: its state, and how facts change it.
//!
//! What follows from the state is in `next.rs`, what an answer is worth in `answer.rs`, how it
//! ends in `end.rs`, what is said in `letters.rs`.

use std::sync::Arc;

use league_games::{Rules, Seat, Table};
use league_protocol::fault::Code;
use league_protocol::message::MatchResult;
use league_protocol::sender::{Agent, Speech};
use league_protocol::time::Timestamp;
use serde_json::Value;

use super::command::Question;
use super::end::changed;
use super::event::{Event, Verdict};
use super::fixture::{Fixture, Sealed, Seated, Secrets};
use super::opening::{NoTable, Opening};
use crate::letter::Peer;
use crate::patience::FIRST_WORDS;

/// The seats of every match.
pub(super) const SEATS: [Seat; 2] = [Seat::A, Seat::B];

/// One match that this referee runs; a copy shares all that a step leaves as it is.
#[derive(Clone)]
pub(super) struct Match {
    pub(super) fixture: Arc<Fixture>,
    /// When it was taken.
    pub(super) taken_at: Timestamp,
    pub(super) opening: Arc<Opening>,
    pub(super) secrets: Option<Arc<Secrets>>,
    pub(super) table: Arc<dyn Table>,
    pub(super) moves: Arc<Vec<(Seat, Arc<Sealed>)>>,
    pub(super) chairs: [Chair; 2],
    pub(super) started: bool,
    pub(super) drawn: bool,
    /// How many moves had been made when dice were rolled first.
    pub(super) first_roll: Option<usize>,
    pub(super) ending: Option<Ending>,
}

/// One player in a match.
#[derive(Debug, Clone)]
pub(super) struct Chair {
    pub(super) peer: Arc<Peer>,
    pub(super) joined: bool,
    /// Moves made.
    pub(super) moves: u32,
    /// How often the present question has failed.
    pub(super) failed: u32,
    pub(super) question: Option<Asking>,
    pub(super) retry_at: Option<Timestamp>,
    pub(super) loss: Option<Loss>,
}

/// A question that is open.
#[derive(Debug, Clone, Copy)]
pub(super) struct Asking {
    pub(super) at: Timestamp,
    pub(super) deadline: Timestamp,
}

/// Why a player has lost without playing.
#[derive(Debug, Clone, Copy)]
pub(super) enum Loss {
    Declined,
    Failed(Code),
}

/// What is left to do once the result stands.
#[derive(Debug, Clone)]
pub(super) struct Ending {
    pub(super) result: Arc<MatchResult>,
    pub(super) at: Timestamp,
    pub(super) report: Report,
    /// When the manager took the result, so that the players may know it.
    pub(super) shown_at: Option<Timestamp>,
    pub(super) told: [bool; 2],
    pub(super) closed: bool,
}

/// How far the report has come.
#[derive(Debug, Clone, Copy)]
pub(super) enum Report {
    /// Sent when the result stood; nothing was heard yet.
    Fresh,
    Sent {
        tried: u32,
        until: Timestamp,
    },
    Resting {
        tried: u32,
        retry_at: Timestamp,
    },
    Settled(Verdict),
}

impl Report {
    /// Which try is, or was last, under way.
    pub(super) const fn tried(self) -> u32 {
        match self {
            Self::Fresh | Self::Settled(_) => 1,
            Self::Sent { tried, .. } | Self::Resting { tried, .. } => tried,
        }
    }
}

impl Chair {
    fn new(seated: &Seated) -> Self {
        Self {
            peer: peer(seated),
            joined: false,
            moves: 0,
            failed: 0,
            question: None,
            retry_at: None,
            loss: None,
        }
    }

    /// When silence becomes a fact: at the deadline, and later by the time it takes to find out how
    /// the player takes calls, if that is not known for sure. Whoever carries the question keeps
    /// the player's own clock.
    pub(super) fn latest(&self, asking: Asking) -> Timestamp {
        match self.peer.speech {
            Some(Speech::Simple) => asking.deadline,
            Some(Speech::Mcp | Speech::Habit(_)) | None => asking.deadline + FIRST_WORDS,
        }
    }

    /// Begins the next question with all its attempts.
    fn turn_page(&mut self) {
        self.question = None;
        self.retry_at = None;
        self.failed = 0;
    }
}

fn peer(seated: &Seated) -> Arc<Peer> {
    Arc::new(Peer {
        agent: Agent::Player(seated.player_id.clone()),
        endpoint: seated.endpoint.clone(),
        dialect: seated.dialect,
        speech: seated.speech,
    })
}

impl Match {
    /// Sets up the table, like the last one if both begin the same way; refused if there is no
    /// such game or it cannot be played like this.
    pub(super) fn open(
        fixture: Arc<Fixture>,
        last: Option<&Arc<Opening>>,
        at: Timestamp,
    ) -> Result<Self, NoTable> {
        let (game_type, settings) = (&fixture.game_type, &fixture.settings);
        let opening = match last.filter(|last| last.fits(game_type, settings)) {
            Some(last) => Arc::clone(last),
            None => Arc::new(Opening::of(game_type, settings)?),
        };
        Ok(Self {
            taken_at: at,
            table: Arc::clone(&opening.table),
            opening,
            secrets: None,
            moves: Arc::default(),
            chairs: [0, 1].map(|seat| Chair::new(&fixture.players[seat])),
            started: false,
            drawn: false,
            first_roll: None,
            ending: None,
            fixture,
        })
    }

    pub(super) fn rules(&self) -> &Rules {
        &self.opening.rules
    }

    pub(super) fn seated(&self, seat: Seat) -> &Seated {
        &self.fixture.players[seat.index() & 1]
    }

    pub(super) fn chair(&self, seat: Seat) -> &Chair {
        &self.chairs[seat.index() & 1]
    }

    fn chair_mut(&mut self, seat: Seat) -> &mut Chair {
        &mut self.chairs[seat.index() & 1]
    }

    /// Whether it goes on: it has its secrets and no result.
    pub(super) fn is_playing(&self) -> bool {
        self.secrets.is_some() && self.ending.is_none()
    }

    /// 0 while the player is invited, then the number of the move that it owes.
    pub(super) fn turn_of(&self, seat: Seat) -> u32 {
        if self.started {
            self.chair(seat).moves.saturating_add(1)
        } else {
            0
        }
    }

    /// The question that is open for a seat.
    pub(super) fn question(&self, seat: Seat) -> Option<Question> {
        let chair = self.chair(seat);
        chair.question.map(|asking| Question {
            match_id: self.fixture.match_id.clone(),
            attempt: self.fixture.attempt,
            seat,
            turn: self.turn_of(seat),
            failed: chair.failed,
            asked_at: asking.at,
        })
    }

    /// Takes in a fact of this match.
    pub(super) fn apply(&mut self, event: &Event) {
        match event {
            Event::SecretsGiven { secrets, .. } => self.take_secrets(secrets.clone()),
            Event::Asked {
                seat, at, deadline, ..
            } => {
                let asking = Asking {
                    at: *at,
                    deadline: *deadline,
                };
                self.chair_mut(*seat).question = Some(asking);
            }
            Event::AttemptFailed {
                seat,
                failed,
                code,
                retry_at,
                ..
            } => {
                let chair = self.chair_mut(*seat);
                chair.question = None;
                chair.failed = *failed;
                chair.retry_at = *retry_at;
                if retry_at.is_none() {
                    chair.loss = Some(Loss::Failed(*code));
                }
            }
            Event::Joined { seat, .. } => {
                let chair = self.chair_mut(*seat);
                chair.question = None;
                chair.retry_at = None;
                chair.joined = true;
            }
            Event::Declined { seat, .. } => {
                let chair = self.chair_mut(*seat);
                chair.turn_page();
                chair.loss = Some(Loss::Declined);
            }
            Event::Started { .. } => {
                self.started = true;
                for chair in &mut self.chairs {
                    chair.turn_page();
                    chair.joined = true;
                }
            }
            Event::ChoiceSealed { seat, sealed, .. } => self.take_move(*seat, Arc::clone(sealed)),
            Event::MovePlayed {
                seat,
                choice,
                nonce,
                ..
            } => {
                let (choice, nonce) = (choice.clone(), nonce.clone());
                self.take_move(*seat, Arc::new(Sealed { choice, nonce }));
            }
            Event::NumberDrawn { .. } => self.roll(),
            Event::Readdressed { players, .. } => self.readdress(players),
            Event::Decided { result, at, .. } => self.finish(result.clone(), *at),
            _ => self.apply_to_ending(event),
        }
    }

    fn take_secrets(&mut self, secrets: Arc<Secrets>) {
        self.secrets = Some(secrets);
        // Dice that fell before a restart fall again the same way.
        if self.first_roll.is_some()
            && let Some(table) = self.replayed(false)
        {
            self.table = table;
        }
    }

    fn take_move(&mut self, seat: Seat, sealed: Arc<Sealed>) {
        if !self.play(seat, &sealed.choice) {
            // After a restart dice are owed that had been rolled before; the secrets bring them back.
            self.first_roll.get_or_insert(self.moves.len());
        }
        Arc::make_mut(&mut self.moves).push((seat, sealed));
        let chair = self.chair_mut(seat);
        chair.turn_page();
        chair.moves = chair.moves.saturating_add(1);
    }

    /// Plays a move at a table of its own; says whether it was legal.
    fn play(&mut self, seat: Seat, choice: &Value) -> bool {
        if let Some(own) = Arc::get_mut(&mut self.table) {
            return own.play(seat, choice).is_ok();
        }
        let mut legal = false;
        let own = changed(&*self.table, |own| legal = own.play(seat, choice).is_ok());
        if legal {
            self.table = own;
        }
        legal
    }

    fn readdress(&mut self, players: &[Seated; 2]) {
        for (chair, seated) in self.chairs.iter_mut().zip(players) {
            chair.peer = peer(seated);
        }
        Arc::make_mut(&mut self.fixture).players = players.clone();
    }

    fn finish(&mut self, result: Arc<MatchResult>, at: Timestamp) {
        for chair in &mut self.chairs {
            chair.turn_page();
        }
        self.ending = Some(Ending {
            result,
            at,
            report: Report::Fresh,
            shown_at: None,
            told: [false; 2],
            closed: false,
        });
    }

    fn apply_to_ending(&mut self, event: &Event) {
        if let Some(ending) = &mut self.ending {
            ending.apply(event);
        }
    }
}

impl Ending {
    /// Takes in a fact of a match whose result stands.
    pub(super) fn apply(&mut self, event: &Event) {
        let tried = self.report.tried();
        match event {
            Event::PlayerTold { seat, .. } => self.told[seat.index() & 1] = true,
            Event::ReportTried { until, .. } => {
                self.report = Report::Sent {
                    tried: tried.saturating_add(1),
                    until: *until,
                };
            }
            Event::ReportFailed { retry_at, .. } => {
                self.report = Report::Resting {
                    tried,
                    retry_at: *retry_at,
                };
            }
            Event::ReportSettled { report, at, .. } => {
                self.report = Report::Settled(*report);
                self.shown_at = (*report == Verdict::Acknowledged).then_some(*at);
            }
            Event::Closed { report, at, .. } => {
                if *report == Verdict::Acknowledged {
                    self.shown_at.get_or_insert(*at);
                }
                self.closed = true;
            }
            _ => {}
        }
    }
}

/// Shows no move that is still hidden.
impl std::fmt::Debug for Match {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Match")
            .field("fixture", &self.fixture)
            .field("chairs", &self.chairs)
            .field("moves", &self.moves.len())
            .field("started", &self.started)
            .field("drawn", &self.drawn)
            .field("ending", &self.ending)
            .finish_non_exhaustive()
    }
}
