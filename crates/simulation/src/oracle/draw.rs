//! Works every draw out again, and plays every decided game again.

use std::collections::BTreeSet;
use std::sync::Arc;

use league_core::draw;
use league_core::player::DrawProblem;
use league_games::{Outcome, Seat, Table, Turn};
use league_protocol::id::{MatchId, PlayerId};
use league_protocol::message::{MatchResult, MatchStatus, MoveResponse, SignedMove};
use league_protocol::secret::{Commitment, Seed};
use serde_json::Value;

use super::{GroundTruth, Oracle, number};
use crate::lies::{Liar, Lie};
use crate::report::Invariant;
use crate::{CheckResult, NodeId, breach};

/// One draw in so many is worked out when nothing fails.
const FEW: u64 = 16;

impl GroundTruth {
    /// The seed of a match.
    pub(crate) fn seed(&self, match_id: &MatchId) -> Seed {
        let league = &self.rules.league_id;
        self.secrets.draws.seed(league, match_id)
    }

    /// The seed of a roll.
    pub(crate) fn roll_seed(&self, match_id: &MatchId, attempt: u32, roll: u32) -> Seed {
        draw::roll_seed(&self.seed(match_id), attempt, roll)
    }

    pub(crate) fn commitment(&self, match_id: &MatchId) -> Commitment {
        let (rules, seed) = (&self.rules, self.seed(match_id));
        draw::commitment(&rules.league_id, match_id, rules.draws, &seed)
    }

    /// Plays moves that were handed over, with the rolls between them, and rolls what is due after
    /// them; says whether dice were due there, and whether the game is over then.
    ///
    /// The attempt is the one whose seeds are used.
    pub(crate) fn replay(
        &self,
        match_id: &MatchId,
        attempt: u32,
        players: [Option<&PlayerId>; 2],
        moves: &[SignedMove],
    ) -> Option<(bool, bool)> {
        let mut table = (self.listing.open)(&self.rules.game_settings).ok()?;
        let (mut nonces, mut moved, mut rolls) = ([""; 2], [false; 2], 0);
        let mut roll = |table: &mut dyn Table, nonces: [&str; 2]| {
            let is_due = table.turn() == Turn::Dice;
            if is_due {
                let seed = self.roll_seed(match_id, attempt, rolls);
                let league = &self.rules.league_id;
                table.roll(&mut draw::dice_of(league, match_id, &seed, attempt, nonces));
                rolls += 1;
            }
            (is_due, rolls > 0)
        };
        for made in moves {
            let (_, has_rolled) = roll(&mut *table, nonces);
            let mut seats = players.iter();
            let place = seats.position(|player| *player == Some(&made.player_id))?;
            if !has_rolled && !moved[place] {
                nonces[place] = made.nonce.as_deref().unwrap_or_default();
            }
            moved[place] = true;
            let seat = if place == 0 { Seat::A } else { Seat::B };
            table.play(seat, &made.choice).ok()?;
        }
        let (is_due, _) = roll(&mut *table, nonces);
        Some((is_due, matches!(table.turn(), Turn::Over(_))))
    }
}

impl Oracle {
    /// Whether a round opens with the promise that belongs to the match.
    pub(crate) fn check_promise(&mut self, match_id: &MatchId, promise: Commitment) -> CheckResult {
        if !self.looks_at_draws() || self.facts.commitment(match_id) == promise {
            return Ok(());
        }
        let what = format!("the promise on `{match_id}` belongs to another seed");
        breach(Invariant::TheDrawKeepsItsPromise, what)
    }

    /// Whether a result that a referee has found is what the draw and the choices of the players
    /// make of it; the referee does not know the seed of the match.
    pub(crate) fn check_found(
        &mut self,
        match_id: &MatchId,
        attempt: u32,
        result: &Arc<MatchResult>,
    ) -> CheckResult {
        let mut opened = (**result).clone();
        if let Some(draw) = &mut opened.draw {
            if draw.seed.is_some() {
                let what = format!("a referee knows the seed of `{match_id}`");
                return breach(Invariant::NothingHiddenIsSeen, what);
            }
            draw.seed = Some(self.facts.seed(match_id));
        }
        self.check_result(match_id, attempt, &opened)
    }

    /// Whether a result with an open draw is what the draw and the choices of the players make of
    /// it.
    pub(crate) fn check_result(
        &mut self,
        match_id: &MatchId,
        attempt: u32,
        result: &MatchResult,
    ) -> CheckResult {
        if !self.looks_at_draws() {
            return Ok(());
        }
        let invariant = Invariant::TheDrawKeepsItsPromise;
        let Some(opened) = &result.draw else {
            return breach(invariant, format!("`{match_id}` opens no draw"));
        };
        let league = &self.facts.rules.league_id;
        let ours =
            opened.seed == Some(self.facts.seed(match_id)) && opened.mode == self.facts.rules.draws;
        // A match that goes on after a roll keeps the seeds of the attempt that rolled first.
        let held = self.league.handed(match_id);
        let is_of_attempt =
            opened.attempt == attempt || held.is_some_and(|held| held.drawn_in == opened.attempt);
        if !ours || !draw::keeps_promise(league, match_id, opened) || !is_of_attempt {
            return breach(
                invariant,
                format!("`{match_id}` was drawn from another seed"),
            );
        }
        self.check_said(match_id, result)?;
        self.check_moves_made(match_id, &result.evidence.moves)?;
        if result.status == MatchStatus::TechnicalLoss {
            return Ok(());
        }
        match self.play_again(match_id, result) {
            None => Ok(()),
            Some(what) => breach(invariant, format!("`{match_id}`: {what}")),
        }
    }

    /// Whether each player did make these moves, with these nonces and proofs, in this match.
    pub(crate) fn check_moves_made(&self, match_id: &MatchId, moves: &[SignedMove]) -> CheckResult {
        let number = number(match_id, self.facts.matches_a_round());
        let note = number.and_then(|number| self.matches.get(number));
        for made in moves {
            let who = self.holder(&made.player_id);
            let is_true = note.is_some_and(|note| {
                let mut all = note.said.iter();
                all.any(|(by, said)| {
                    Some(*by) == who
                        && said.choice == made.choice
                        && said.nonce == made.nonce
                        && said.proof == made.proof
                })
            });
            if !is_true {
                let what = format!("`{}` never made a move of `{match_id}`", made.player_id);
                return breach(Invariant::TheDrawKeepsItsPromise, what);
            }
        }
        Ok(())
    }

    /// No honest draw is disputed, except by a player that crashed and forgot its nonce; a false
    /// question of a liar is.
    pub(crate) fn check_dispute(
        &mut self,
        who: NodeId,
        match_id: &MatchId,
        problem: DrawProblem,
    ) -> CheckResult {
        let said = self.note(match_id).map(|note| &note.said);
        let shares = said.into_iter().flatten().filter(|(by, ..)| *by == who);
        let share = |(_, said): &(NodeId, Arc<MoveResponse>)| {
            (
                said.nonce.clone().unwrap_or_default(),
                said.choice.to_string(),
            )
        };
        let shares: BTreeSet<(String, String)> = shares.map(share).collect();
        let forgot = matches!(
            problem,
            DrawProblem::NonceChanged | DrawProblem::MoveChanged
        );
        if forgot && shares.len() > 1 {
            return Ok(());
        }
        let is_asked_falsely = |liar: Liar| liar.lie == Lie::FalseQuestion;
        if problem == DrawProblem::FalseQuestion && self.facts.liar.is_some_and(is_asked_falsely) {
            return Ok(());
        }
        let what = format!("player {who} does not believe the draw of `{match_id}`: {problem:?}");
        breach(Invariant::TheDrawKeepsItsPromise, what)
    }

    fn looks_at_draws(&mut self) -> bool {
        self.seen += 1;
        self.facts.faults || self.seen.is_multiple_of(FEW)
    }

    /// The points follow from the end.
    pub(crate) fn check_points(&self, match_id: &MatchId, result: &MatchResult) -> CheckResult {
        let score = &self.facts.rules.score;
        for seat in [0, 1] {
            let player = &result.players[seat];
            let won = result.winner.as_ref() == Some(player);
            let expected = match result.status {
                MatchStatus::Draw => score.draw,
                _ if won => score.win,
                MatchStatus::Win => score.loss,
                MatchStatus::TechnicalLoss => score.technical_loss,
            };
            if result.points[seat] != expected {
                let what = format!("`{player}` gets {} for `{match_id}`", result.points[seat]);
                return breach(Invariant::TableFollowsFromResults, what);
            }
        }
        Ok(())
    }

    /// Whether each player did choose so, with such a nonce, in this match.
    fn check_said(&self, match_id: &MatchId, result: &MatchResult) -> CheckResult {
        let number = number(match_id, self.facts.matches_a_round());
        let note = number.and_then(|number| self.matches.get(number));
        for seat in [0, 1] {
            let player = &result.players[seat];
            let who = self.holder(player);
            let said = |choice: &Value| {
                note.is_some_and(|note| {
                    let mut all = note.said.iter();
                    all.any(|(by, said)| Some(*by) == who && said.choice == *choice)
                })
            };
            let true_to_word = match result.choices.get(player) {
                None => true,
                Some(Value::Array(moves)) => moves.iter().all(said),
                Some(choice) => said(choice),
            };
            let nonce = result.draw.as_ref().map(|opened| &opened.nonces[seat]);
            let own_nonce = nonce.is_none_or(|nonce| {
                nonce.is_empty()
                    || note.is_some_and(|note| {
                        let mut all = note.said.iter();
                        all.any(|(by, own)| Some(*by) == who && own.nonce.as_ref() == Some(nonce))
                    })
            });
            if !true_to_word || !own_nonce {
                let what = format!("`{player}` never chose so in `{match_id}`");
                return breach(Invariant::TheDrawKeepsItsPromise, what);
            }
        }
        Ok(())
    }

    /// Replays a game from its choices; returns the difference, if any.
    fn play_again(&self, match_id: &MatchId, result: &MatchResult) -> Option<String> {
        let rules = &self.facts.rules;
        let Ok(mut table) = (self.facts.listing.open)(&rules.game_settings) else {
            return Some("the game cannot be set up".into());
        };
        let opened = result.draw.as_ref()?;
        let mut rolls = 0;
        let mut used = [0; 2];
        loop {
            match table.turn() {
                Turn::Dice => {
                    let Some(mut dice) = draw::dice(&rules.league_id, match_id, opened, rolls)
                    else {
                        return Some("its seed is not open".into());
                    };
                    rolls += 1;
                    table.roll(&mut dice);
                }
                Turn::Seats(seats) => {
                    for seat in seats {
                        let place = usize::from(seat == Seat::B);
                        let chosen = result.choices.get(&result.players[place]);
                        let chosen = match chosen {
                            Some(Value::Array(moves)) => moves.get(used[place]),
                            other => other,
                        };
                        used[place] += 1;
                        if chosen.is_none_or(|chosen| table.play(seat, chosen).is_err()) {
                            return Some("a move is missing or not legal".into());
                        }
                    }
                }
                Turn::Over(outcome) => {
                    let winner = match outcome {
                        Outcome::Win(seat) => Some(&result.players[usize::from(seat == Seat::B)]),
                        Outcome::Draw => None,
                    };
                    let same =
                        winner == result.winner.as_ref() && table.details() == result.details;
                    return (!same).then(|| "it ends differently".into());
                }
            }
        }
    }
}
