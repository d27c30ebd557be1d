//! One match from the order to its last letter: its state, and how facts change it.
//!
//! Its players are in `chair.rs`, what follows from the state in `next.rs`, what an answer is worth in
//! `answer.rs`, how it ends in `end.rs`, what is said in `letters.rs`.

use std::sync::Arc;

use league_games::{Rules, Seat, Table};
use league_protocol::message::MatchResult;
use league_protocol::time::Timestamp;
use serde_json::Value;

use super::chair::{Chair, peer};
use super::command::Question;
use super::event::{Event, Verdict};
use super::fixture::{Fixture, Sealed, Seated, Secrets};
use super::opening::{NoTable, Opening};
use super::position::Position;

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
    pub(super) moves: Vec<(Seat, Arc<Sealed>)>,
    pub(super) chairs: [Chair; 2],
    pub(super) started: bool,
    pub(super) drawn: bool,
    /// How many moves had been made when dice were rolled first.
    pub(super) first_roll: Option<usize>,
    pub(super) ending: Option<Ending>,
    /// When it is due, as the referee has it in its list.
    pub(super) listed_at: Option<Timestamp>,
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
            moves: Vec::new(),
            chairs: [0, 1].map(|seat| Chair::new(&fixture.players[seat])),
            started: false,
            drawn: false,
            first_roll: None,
            ending: None,
            listed_at: None,
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
            Event::Asked { seat, .. }
            | Event::AttemptFailed { seat, .. }
            | Event::Joined { seat, .. }
            | Event::Declined { seat, .. } => self.chair_mut(*seat).apply(event),
            Event::Started { .. } => {
                self.started = true;
                for chair in &mut self.chairs {
                    chair.turn_page();
                    chair.joined = true;
                }
            }
            Event::ChoiceSealed {
                seat,
                sealed,
                position,
                ..
            } => self.take_move(*seat, Arc::clone(sealed), Some(position)),
            Event::MovePlayed {
                seat,
                choice,
                nonce,
                position,
                ..
            } => {
                let (choice, nonce) = (choice.clone(), nonce.clone());
                let sealed = Arc::new(Sealed { choice, nonce });
                self.take_move(*seat, sealed, position.0.as_ref());
            }
            Event::NumberDrawn { position, .. } => {
                self.drawn = true;
                self.first_roll.get_or_insert(self.moves.len());
                self.table = Arc::clone(&position.0);
            }
            Event::Readdressed { players, .. } => self.readdress(players),
            Event::Decided { result, at, .. } => self.finish(result.clone(), *at),
            _ => {
                if let Some(ending) = &mut self.ending {
                    ending.apply(event);
                }
            }
        }
    }

    fn take_secrets(&mut self, secrets: Arc<Secrets>) {
        self.secrets = Some(secrets);
        // Dice that fell before a restart fall again the same way.
        if self.first_roll.is_some()
            && let Some(position) = self.replayed(false)
        {
            self.table = position.0;
        }
    }

    fn take_move(&mut self, seat: Seat, sealed: Arc<Sealed>, position: Option<&Position>) {
        if let Some(position) = position {
            self.table = Arc::clone(&position.0);
        } else if !self.play(seat, &sealed.choice) {
            // After a restart dice are owed that had been rolled before; the secrets bring them back.
            self.first_roll.get_or_insert(self.moves.len());
        }
        self.moves.push((seat, sealed));
        let chair = self.chair_mut(seat);
        chair.turn_page();
        chair.moves = chair.moves.saturating_add(1);
    }

    /// Plays a move at a table of its own; says whether it was legal.
    fn play(&mut self, seat: Seat, choice: &Value) -> bool {
        let mut legal = false;
        let own = Position::changed(&*self.table, |own| legal = own.play(seat, choice).is_ok());
        if legal {
            self.table = own.0;
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
