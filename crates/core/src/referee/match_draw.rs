//! The draw of a match: dice between the moves, the request for their seed, and what an earlier
//! attempt has handed over.

use std::sync::Arc;

use league_games::{Dice, Seat, Turn};
use league_protocol::id::PlayerId;
use league_protocol::message::{HandedOver, SignedMove};
use league_protocol::secret::Seed;
use league_protocol::time::Timestamp;

use super::RefereeRules;
use super::event::{Event, ReportAnswer, SealedChoice};
use super::match_state::{Match, SEATS, TablePosition};
use super::match_step::{StepContext, outcome_bound, patient};
use crate::draw;
use crate::played::roll_all;

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

    pub(crate) fn take_draw(&mut self, seed: Option<Seed>, position: &TablePosition) {
        self.drawn = true;
        self.draw = None;
        self.table = Arc::clone(&position.0);
        if let Some(seed) = seed {
            self.first_roll.get_or_insert(self.laid);
            if self.seeds.get(self.rolls) != Some(&seed) {
                self.seeds.truncate(self.rolls);
                self.seeds.push(seed);
            }
            self.rolls += 1;
        }
        self.catch_up();
    }

    /// Lays the moves that are known and rolls the dice that are due between them, as far as their
    /// seeds are known: after a restart the rest waits for the manager's answer.
    pub(crate) fn catch_up(&mut self) {
        let is_done = self.laid == self.moves.len() && self.rolls == self.seeds.len();
        if self.missing > 0 || is_done {
            return;
        }
        let mut own = self.table.shared_clone();
        // It is not shared yet.
        let Some(table) = Arc::get_mut(&mut own) else {
            return;
        };
        loop {
            if table.turn() == Turn::Dice {
                let Some(seed) = self.seeds.get(self.rolls) else {
                    break;
                };
                self.first_roll.get_or_insert(self.laid);
                roll_all(table, &mut self.dice(seed));
                self.rolls += 1;
            } else {
                let Some((seat, sealed)) = self.moves.get(self.laid) else {
                    break;
                };
                // Each was weighed when it came.
                let _ = table.play(*seat, &sealed.choice);
                self.laid += 1;
            }
        }
        self.table = own;
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
        self.table = Arc::clone(&self.opening.table);
        (self.laid, self.rolls, self.first_roll) = (0, 0, None);
    }

    /// The table with the dice rolled that are owed, with the seed of this roll.
    pub(crate) fn rolled(&self, seed: &Seed) -> TablePosition {
        TablePosition::changed(&*self.table, |table| {
            roll_all(table, &mut self.dice(seed));
        })
    }

    /// The number of the roll that is due, from 0.
    pub(crate) fn roll_number(&self) -> u32 {
        u32::try_from(self.rolls).unwrap_or(u32::MAX)
    }

    /// The dice of a roll with this seed.
    pub(crate) fn dice(&self, seed: &Seed) -> Dice {
        let fixture = &self.fixture;
        let (league, match_id) = (&fixture.league_id, &fixture.match_id);
        let nonces = SEATS.map(|seat| self.nonce(seat));
        draw::dice_of(league, match_id, seed, self.draw_attempt(), nonces)
    }

    /// The attempt whose seeds are used: a match that goes on keeps those of its first hand-over.
    pub(crate) fn draw_attempt(&self) -> u32 {
        let held = self
            .secrets
            .as_ref()
            .and_then(|secrets| secrets.handed_over.as_ref());
        held.map_or(self.fixture.attempt, |held| held.attempt)
    }

    /// A player's share in the draw: the nonce of its first move, if that came before the first
    /// roll; else an empty text.
    pub(crate) fn nonce(&self, seat: Seat) -> &str {
        let before = self.first_roll.unwrap_or(self.laid);
        let first = self.moves.iter().take(before).find(|(by, _)| *by == seat);
        let nonce = first.and_then(|(_, sealed)| sealed.nonce.as_deref());
        nonce.unwrap_or_default()
    }

    /// The moves on the table, in the order of play, with what their players put beside them.
    pub(crate) fn signed_moves(&self) -> Vec<SignedMove> {
        let laid = self.moves.iter().take(self.laid);
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
