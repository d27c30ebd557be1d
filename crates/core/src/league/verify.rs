//! Whether a report can be true: everything that follows from the rules is worked out again.

use league_games::{Outcome, Seat, Turn};
use league_protocol::message::{MatchResult, MatchResultReport, MatchStatus, OpenedDraw};
use serde_json::Value;

use super::League;
use super::problem::{ReportPart, ReportProblem};
use super::round::Fixture;
use super::standings::Ending;
use crate::draw::{self, MAX_NONCE_LENGTH};

/// The longest sentence on how a match ended, in bytes.
const LONGEST_REASON: usize = 1_000;
/// The most moves that one seat may make in a match.
const MOST_MOVES: usize = 1_000;
/// The longest move of a technical loss, in bytes of JSON.
const LONGEST_CHOICE: usize = 4_096;

impl League {
    /// Checks a report against all that is known of the match; gives how it ended.
    ///
    /// The seed is ours, so the opened one is simply compared with it. Whoever was given the match
    /// knows it; without it a stolen token could report how a match ended that was never played.
    pub(super) fn verify(
        &self,
        fixture: &Fixture,
        report: &MatchResultReport,
    ) -> Result<Ending, ReportProblem> {
        self.check_match(fixture, report)?;
        self.check_result(fixture, &report.result, |opened| {
            opened.seed == fixture.seed && opened.commitment == fixture.commitment
        })
    }

    /// Checks that a result follows from the rules, with a draw that was `promised`.
    pub(super) fn check_result(
        &self,
        fixture: &Fixture,
        result: &MatchResult,
        promised: impl FnOnce(&OpenedDraw) -> bool,
    ) -> Result<Ending, ReportProblem> {
        self.check_players(fixture, result)?;
        let ending = self.check_ending(result)?;
        check_draw(fixture, result, promised)?;
        check_length(result)?;
        match ending {
            Ending::Win(_) | Ending::Draw => self.play_again(fixture, result, ending)?,
            Ending::Forfeit(_) | Ending::BothForfeit if result.details.is_empty() => {}
            Ending::Forfeit(_) | Ending::BothForfeit => return Err(ReportProblem::Unplayed),
        }
        Ok(ending)
    }

    fn check_match(
        &self,
        fixture: &Fixture,
        report: &MatchResultReport,
    ) -> Result<(), ReportProblem> {
        if report.league_id != self.rules.league_id {
            return Err(ReportProblem::League(self.rules.league_id.clone()));
        }
        let (expected, found) = (fixture.pairing.round, report.round_id);
        if expected != found {
            return Err(ReportProblem::Round { expected, found });
        }
        if report.game_type != self.rules.game_type {
            return Err(ReportProblem::Game(report.game_type.clone()));
        }
        Ok(())
    }

    fn check_players(&self, fixture: &Fixture, result: &MatchResult) -> Result<(), ReportProblem> {
        let told = &result.players;
        match self.seats_of(fixture) {
            Some([a, b]) if *a == told[0] && *b == told[1] => Ok(()),
            Some([a, b]) => Err(ReportProblem::Players([a.clone(), b.clone()])),
            None => Err(ReportProblem::Players(told.clone())),
        }
    }

    fn check_ending(&self, result: &MatchResult) -> Result<Ending, ReportProblem> {
        let lost_without_play = result.status == MatchStatus::TechnicalLoss;
        let ending =
            Ending::of(result).ok_or(if lost_without_play || !result.failed.is_empty() {
                ReportProblem::Failed
            } else {
                ReportProblem::Winner
            })?;
        let winner = ending.winner().map(|seat| &result.players[seat]);
        if winner != result.winner.as_ref() {
            return Err(ReportProblem::Winner);
        }
        let points = [0, 1].map(|seat| ending.points(seat, &self.rules.score));
        if points != result.points {
            return Err(ReportProblem::Points(points));
        }
        let mut choosers = result.choices.keys();
        if choosers.all(|chooser| result.players.contains(chooser)) {
            Ok(ending)
        } else {
            Err(ReportProblem::Choosers)
        }
    }

    /// Plays the game again from the choices and the draw.
    fn play_again(
        &self,
        fixture: &Fixture,
        result: &MatchResult,
        ending: Ending,
    ) -> Result<(), ReportProblem> {
        let mut table = self.opening.0.boxed_clone();
        let mut moves = [0, 1].map(|seat| moves_of(result, seat));
        let mut dice = result
            .draw
            .as_ref()
            .map(|opened| draw::dice(&self.rules.league_id, &fixture.match_id, opened));
        for _ in 0..2 * MOST_MOVES {
            match table.turn() {
                Turn::Over(outcome) => {
                    let whole = moves.iter().all(|moves| moves.is_empty());
                    return agree(outcome, ending, whole, table.details() == result.details);
                }
                Turn::Dice => table.roll(dice.as_mut().ok_or(ReportProblem::DrawMissing)?),
                Turn::Seats(seats) => {
                    for seat in seats {
                        let left = moves.get_mut(seat.index()).ok_or(ReportProblem::Choices)?;
                        let (mv, rest) = left.split_first().ok_or(ReportProblem::Choices)?;
                        table.play(seat, mv).map_err(|_| ReportProblem::Choices)?;
                        *left = rest;
                    }
                }
            }
        }
        Err(ReportProblem::Choices)
    }
}

/// The moves of a seat: a list in the order of play, or the one move of a game that has one.
fn moves_of(result: &MatchResult, seat: usize) -> &[Value] {
    match result.choices.get(&result.players[seat]) {
        Some(Value::Array(moves)) => moves,
        Some(mv) => std::slice::from_ref(mv),
        None => &[],
    }
}

fn agree(
    outcome: Outcome,
    ending: Ending,
    whole: bool,
    same_details: bool,
) -> Result<(), ReportProblem> {
    let told = match ending {
        Ending::Win(0) => Some(Outcome::Win(Seat::A)),
        Ending::Win(_) => Some(Outcome::Win(Seat::B)),
        Ending::Draw => Some(Outcome::Draw),
        Ending::Forfeit(_) | Ending::BothForfeit => None,
    };
    if told != Some(outcome) {
        Err(ReportProblem::End)
    } else if !whole {
        Err(ReportProblem::Choices)
    } else if !same_details {
        Err(ReportProblem::Details)
    } else {
        Ok(())
    }
}

fn check_draw(
    fixture: &Fixture,
    result: &MatchResult,
    promised: impl FnOnce(&OpenedDraw) -> bool,
) -> Result<(), ReportProblem> {
    let Some(opened) = &result.draw else {
        return Err(ReportProblem::DrawMissing);
    };
    if opened.attempt != fixture.attempt || !promised(opened) {
        return Err(ReportProblem::Draw);
    }
    let mut nonces = opened.nonces.iter();
    if nonces.all(|nonce| nonce.len() <= MAX_NONCE_LENGTH) {
        Ok(())
    } else {
        Err(ReportProblem::TooLong(ReportPart::Nonces))
    }
}

fn check_length(result: &MatchResult) -> Result<(), ReportProblem> {
    if result.reason.len() > LONGEST_REASON {
        return Err(ReportProblem::TooLong(ReportPart::Reason));
    }
    let too_long = |choice: &Value| match choice {
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
        Value::String(text) => text.len() > LONGEST_CHOICE,
        Value::Array(moves) if moves.len() > MOST_MOVES => true,
        long => long.to_string().len() > LONGEST_CHOICE,
    };
    if result.choices.values().any(too_long) {
        return Err(ReportProblem::TooLong(ReportPart::Choices));
    }
    Ok(())
}
