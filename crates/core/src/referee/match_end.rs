//! How a match ends: the dice, the result, the points.

use std::sync::Arc;

use league_games::{Dice, Outcome, Seat, Table, Turn};
use league_protocol::fault::Code;
use league_protocol::message::{ByPlayer, MatchResult, MatchStatus, OpenedDraw};
use serde_json::{Map, Value};

use super::event::MatchOrder;
use super::match_state::{Loss, Match, SEATS, TablePosition};
use crate::draw;

/// The most rolls in a row that a game may ask for.
const MAX_ROLLS: u32 = 1_000;

/// The cause of a loss by a refused invitation: no code of the documents says it better.
const DECLINED: Code = Code::OutOfTurn;

impl Match {
    /// The result of a game that was played to its end.
    pub(crate) fn played(&self) -> Option<Arc<MatchResult>> {
        let Turn::Over(outcome) = self.table.turn() else {
            return None;
        };
        let score = &self.fixture.score;
        let (status, winner, points) = match outcome {
            Outcome::Win(seat) if seat == Seat::A => {
                (MatchStatus::Win, Some(seat), [score.win, score.loss])
            }
            Outcome::Win(seat) => (MatchStatus::Win, Some(seat), [score.loss, score.win]),
            Outcome::Draw => (MatchStatus::Draw, None, [score.draw; 2]),
        };
        let names = self
            .fixture
            .players
            .each_ref()
            .map(|seated| seated.player_id.as_str());
        Some(Arc::new(MatchResult {
            status,
            winner: winner.map(|seat| self.seated(seat).player_id.clone()),
            points,
            details: self.table.details(),
            reason: self.table.reason(&names),
            ..self.bare_result()?
        }))
    }

    /// The result of a match that one player, or both, did not play.
    pub(crate) fn forfeited(&self) -> Option<Arc<MatchResult>> {
        let score = &self.fixture.score;
        let lost = self.slots.each_ref().map(|slot| slot.loss.is_some());
        let (winner, points) = match lost {
            [true, false] => (Some(Seat::B), [score.technical_loss, score.win]),
            [false, true] => (Some(Seat::A), [score.win, score.technical_loss]),
            _ => (None, [score.technical_loss; 2]),
        };
        let causes = SEATS.into_iter().filter_map(|seat| self.cause(seat));
        Some(Arc::new(MatchResult {
            status: MatchStatus::TechnicalLoss,
            winner: winner.map(|seat| self.seated(seat).player_id.clone()),
            points,
            failed: self.failed(),
            reason: causes.collect::<Vec<_>>().join("; "),
            ..self.bare_result()?
        }))
    }

    /// The table with the dice rolled that are owed; `None` without the secrets.
    ///
    /// One row of numbers serves the whole match: a later roll goes on where the first one ended.
    pub(crate) fn rolled(&self) -> Option<TablePosition> {
        if self.first_roll.is_some() {
            return self.replayed(true);
        }
        let mut dice = self.dice()?;
        Some(TablePosition::changed(&*self.table, |table| {
            roll_all(table, &mut dice);
        }))
    }

    /// The table after all moves so far, with the dice rolled between them; `last` says whether
    /// dice that are owed now are rolled too. `None` without the secrets.
    pub(crate) fn replayed(&self, last: bool) -> Option<TablePosition> {
        let mut dice = self.dice()?;
        Some(TablePosition::changed(&*self.opening.table, |table| {
            for (seat, sealed) in self.moves.iter() {
                roll_all(table, &mut dice);
                // Each was weighed when it came.
                let _ = table.play(*seat, &sealed.choice);
            }
            if last {
                roll_all(table, &mut dice);
            }
        }))
    }

    fn dice(&self) -> Option<Dice> {
        let MatchOrder {
            league_id,
            match_id,
            ..
        } = &*self.fixture;
        let (seed, nonces) = (
            self.secrets.as_ref()?.seed,
            SEATS.map(|seat| self.nonce(seat)),
        );
        let attempt = self.fixture.attempt;
        Some(draw::dice_of(league_id, match_id, &seed, attempt, nonces))
    }

    /// A player's share in the draw: the nonce of its first move, if that came before the first
    /// roll; else an empty text.
    fn nonce(&self, seat: Seat) -> &str {
        let before = self.first_roll.unwrap_or(usize::MAX);
        let first = self.moves.iter().take(before).find(|(by, _)| *by == seat);
        let nonce = first.and_then(|(_, sealed)| sealed.nonce.as_deref());
        nonce.unwrap_or_default()
    }

    /// All that is needed to draw the numbers again.
    fn opened(&self) -> Option<OpenedDraw> {
        Some(OpenedDraw {
            commitment: self.fixture.commitment,
            seed: self.secrets.as_ref()?.seed,
            attempt: self.fixture.attempt,
            nonces: SEATS.map(|seat| self.nonce(seat).to_owned()),
        })
    }

    /// The members that every result has, with a draw without nonces.
    fn bare_result(&self) -> Option<MatchResult> {
        Some(MatchResult {
            players: self
                .fixture
                .players
                .each_ref()
                .map(|seated| seated.player_id.clone()),
            status: MatchStatus::Draw,
            winner: None,
            points: [0; 2],
            failed: ByPlayer::new(),
            choices: self.choices(),
            details: Map::new(),
            reason: String::new(),
            draw: Some(self.opened()?),
        })
    }

    /// What each player chose: its one move in a game of hidden moves, else the list of its moves.
    fn choices(&self) -> ByPlayer<Value> {
        let mut chosen = ByPlayer::new();
        for seat in SEATS {
            let mine = self.moves.iter().filter(|(by, _)| *by == seat);
            let mut moves = mine.map(|(_, sealed)| sealed.choice.clone());
            let Some(first) = moves.next() else { continue };
            let value = match moves.next() {
                None if self.rules().hidden_moves => first,
                second => [first].into_iter().chain(second).chain(moves).collect(),
            };
            chosen.insert(self.seated(seat).player_id.clone(), value);
        }
        chosen
    }

    fn failed(&self) -> ByPlayer<Code> {
        let lost = SEATS.into_iter().filter_map(|seat| {
            let code = match self.slot(seat).loss? {
                Loss::Declined => DECLINED,
                Loss::Failed(code) => code,
            };
            Some((self.seated(seat).player_id.clone(), code))
        });
        lost.collect()
    }

    fn cause(&self, seat: Seat) -> Option<String> {
        let player = &self.seated(seat).player_id;
        Some(match self.slot(seat).loss? {
            Loss::Declined => format!("{player} declined the invitation"),
            Loss::Failed(Code::Timeout) => format!("{player} did not answer in time (E001)"),
            Loss::Failed(Code::Connection) => format!("{player} could not be reached (E009)"),
            Loss::Failed(code) => format!("{player} gave no answer that counts ({code})"),
        })
    }
}

/// Rolls all dice that are owed now.
fn roll_all(table: &mut dyn Table, dice: &mut Dice) {
    for _ in 0..MAX_ROLLS {
        if table.turn() != Turn::Dice {
            break;
        }
        table.roll(dice);
    }
}
