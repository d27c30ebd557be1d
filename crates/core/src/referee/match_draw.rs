//! The draw of a match: dice between the moves, the request for their seed, and what an earlier
//! attempt has handed over.

use std::sync::Arc;

use league_games::Seat;
use league_protocol::id::PlayerId;
use league_protocol::message::{HandedOver, SignedMove};
use league_protocol::secret::Seed;
use league_protocol::time::Timestamp;

use super::RefereeRules;
use super::event::{Event, ReportAnswer, SealedChoice};
use super::match_state::{Match, SEATS};
use super::match_step::{StepContext, outcome_bound, patient};
use crate::judge::{Course, Draw};

/// How far a request for a draw has come.
#[derive(Debug, Clone, Copy)]
pub(crate) enum DrawState {
    Sent { tried: u32, until: Timestamp },
    Resting { tried: u32, retry_at: Timestamp },
}

impl DrawState {
    /// Which try is, or was last, under way.
    pub(crate) const fn tried(self) -> u32 {
        match self {
            Self::Sent { tried, .. } | Self::Resting { tried, .. } => tried,
        }
    }

    pub(crate) const fn due(self) -> Timestamp {
        match self {
            Self::Sent { until: due, .. } | Self::Resting { retry_at: due, .. } => due,
        }
    }
}

impl Match {
    /// Hands the moves over for the roll that is due.
    pub(crate) fn request_draw(&self, at: Timestamp, rules: &RefereeRules) -> Event {
        Event::DrawRequested {
            match_id: self.fixture.match_id.clone(),
            at,
            until: at + outcome_bound(rules.report_retry()),
        }
    }

    pub(crate) fn wait_for_draw(
        &self,
        at: Timestamp,
        context: &StepContext<'_>,
        draw: DrawState,
    ) -> Option<Event> {
        match draw {
            _ if at < draw.due() => None,
            DrawState::Sent { .. } => Some(self.draw_unanswered(at, context)),
            DrawState::Resting { .. } => Some(self.request_draw(at, context.rules)),
        }
    }

    /// The request for a draw got no answer: it is sent again for as long as the league goes on.
    pub(crate) fn draw_unanswered(&self, at: Timestamp, context: &StepContext<'_>) -> Event {
        if context.league_over {
            return self.give_up(ReportAnswer::Unanswered, at);
        }
        let tried = self.draw.map_or(1, DrawState::tried);
        let wait = patient(context.rules.timeouts.backoff).wait(tried, self.chance(Seat::A));
        Event::DrawFailed {
            match_id: self.fixture.match_id.clone(),
            retry_at: at + wait,
        }
    }

    /// There will be no draw, and so no result from here.
    pub(crate) fn give_up(&self, report: ReportAnswer, at: Timestamp) -> Event {
        Event::Closed {
            match_id: self.fixture.match_id.clone(),
            report,
            opened: None,
            at,
        }
    }

    pub(crate) fn take_draw(&mut self, seed: Option<Seed>) {
        self.drawn = true;
        self.draw = None;
        if let Some(seed) = seed
            && self.seeds.get(self.course.rolls) != Some(&seed)
        {
            self.seeds.truncate(self.course.rolls);
            self.seeds.push(seed);
        }
        self.catch_up();
    }

    /// Lays the moves that are known and rolls the dice that are due between them, as far as their
    /// seeds are known: after a restart the rest waits for the manager's answer.
    pub(crate) fn catch_up(&mut self) {
        if self.missing > 0 {
            return;
        }
        let mut course = self.course.clone();
        let (moves, source) = (self.moves.iter().skip(course.laid), self.draw_source());
        let moves = moves.map(|(seat, sealed)| {
            let nonce = sealed.nonce.as_deref();
            (Some(seat.index() & 1), &sealed.choice, nonce)
        });
        // Each move was weighed when it came.
        let _ = course.lay(moves, |roll, nonces| source.dice(roll, nonces));
        self.course = course;
    }

    /// Takes over the moves and seeds that the manager holds. Moves that this referee wrote down
    /// after them stay.
    pub(crate) fn take_over(&mut self, held: &HandedOver) {
        let seat = |player: &PlayerId| {
            let mut seats = SEATS.into_iter();
            seats.find(|&seat| self.seated(seat).player_id == *player)
        };
        let handed = held.moves.iter().filter_map(|made| {
            let sealed = SealedChoice {
                choice: made.choice.clone(),
                nonce: made.nonce.clone(),
                proof: made.proof,
                model: made.model.clone(),
            };
            Some((seat(&made.player_id)?, Arc::new(sealed)))
        });
        let mut moves: Vec<_> = handed.collect();
        let known = moves.len().saturating_sub(self.missing);
        moves.extend(self.moves.drain(..).skip(known));
        for seat in SEATS {
            let made = moves.iter().filter(|(by, _)| *by == seat).count();
            self.slot_mut(seat).moves = u32::try_from(made).unwrap_or(u32::MAX);
        }
        self.moves = moves;
        if self.seeds.len() < held.seeds.len() {
            self.seeds.clone_from(&held.seeds);
        }
        self.course = Course::new(Arc::clone(&self.opening.table));
    }

    /// The number of the roll that is due, from 0.
    pub(crate) fn roll_number(&self) -> u32 {
        u32::try_from(self.course.rolls).unwrap_or(u32::MAX)
    }

    /// What the chance of the match follows from, as far as this referee knows it.
    pub(crate) fn draw_source(&self) -> Draw<'_> {
        Draw {
            league: &self.fixture.league_id,
            match_id: &self.fixture.match_id,
            commitment: self.fixture.commitment,
            mode: self.fixture.draw_mode,
            attempt: self.draw_attempt(),
            seed: None,
            rolls: self.seeds.clone(),
        }
    }

    /// The attempt whose seeds are used: a match that goes on keeps those of its first hand-over.
    pub(crate) fn draw_attempt(&self) -> u32 {
        let held = self
            .secrets
            .as_ref()
            .and_then(|secrets| secrets.handed_over.as_ref());
        held.map_or(self.fixture.attempt, |held| held.attempt)
    }

    pub(crate) fn players(&self) -> [PlayerId; 2] {
        let seated = self.fixture.players.each_ref();
        seated.map(|seated| seated.player_id.clone())
    }

    /// The moves on the table, in the order of play, with what their players put beside them.
    pub(crate) fn signed_moves(&self) -> Vec<SignedMove> {
        let laid = self.moves.iter().take(self.course.laid);
        let signed = laid.map(|(seat, sealed)| SignedMove {
            player_id: self.seated(*seat).player_id.clone(),
            choice: sealed.choice.clone(),
            nonce: sealed.nonce.clone(),
            proof: sealed.proof,
            model: sealed.model.clone(),
        });
        signed.collect()
    }
}
