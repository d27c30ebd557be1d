//! Verification of results: the rules must lead from the moves and the draw to the result, and what
//! the referee handed over and what players signed must agree with it. A journal is verified by the
//! same code as a report.

use league_games::Turn;
use league_protocol::id::{GameType, LeagueId, PlayerId};
use league_protocol::message::{MatchResult, MatchResultReport, MatchStatus};
use league_protocol::secret::Seed;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use thiserror::Error;

use super::League;
use super::round::LeagueFixture;
use super::standings::MatchEnding;
use crate::draw::{self, MAX_NONCE_LENGTH};
use crate::judge::Judged;

/// The longest sentence on how a match ended, in bytes.
pub(crate) const MAX_REASON: usize = 1_000;
/// The most moves that one seat may make in a match.
pub(crate) const MAX_MOVES: usize = 1_000;
/// The longest move of a technical loss, in bytes of JSON.
const MAX_CHOICE: usize = 4_096;

impl League {
    /// Checks a report against everything known of the match, `whole` being its result with all that
    /// the manager opens in it; returns how it ended.
    pub(crate) fn verify(
        &self,
        fixture: &LeagueFixture,
        report: &MatchResultReport,
        whole: &MatchResult,
    ) -> Result<MatchEnding, ReportProblem> {
        self.check_place(fixture, &report.league_id, report.round_id)?;
        if report.game_type != self.rules.game_type {
            return Err(ReportProblem::Game(report.game_type.clone()));
        }
        self.check_result(fixture, whole)
    }

    /// Checks that an opened result follows from the rules and from what is known of the match.
    pub(crate) fn check_result(
        &self,
        fixture: &LeagueFixture,
        result: &MatchResult,
    ) -> Result<MatchEnding, ReportProblem> {
        self.check_players(fixture, result)?;
        let ending = self.check_ending(result)?;
        let seed = self.check_draw(fixture, result)?;
        check_length(result)?;
        self.check_course(fixture, result, seed)?;
        Ok(ending)
    }

    /// Checks that a report or a request names the place of the match.
    pub(crate) fn check_place(
        &self,
        fixture: &LeagueFixture,
        league: &LeagueId,
        round: u32,
    ) -> Result<(), ReportProblem> {
        if *league != self.rules.league_id {
            return Err(ReportProblem::League(self.rules.league_id.clone()));
        }
        let (expected, found) = (fixture.pairing.round, round);
        if expected != found {
            return Err(ReportProblem::Round { expected, found });
        }
        Ok(())
    }

    pub(crate) fn check_players(
        &self,
        fixture: &LeagueFixture,
        result: &MatchResult,
    ) -> Result<(), ReportProblem> {
        let told = &result.players;
        match self.seats_of(fixture) {
            Some([a, b]) if *a == told[0] && *b == told[1] => Ok(()),
            Some([a, b]) => Err(ReportProblem::Players([a.clone(), b.clone()])),
            None => Err(ReportProblem::Players(told.clone())),
        }
    }

    pub(crate) fn check_ending(&self, result: &MatchResult) -> Result<MatchEnding, ReportProblem> {
        let lost_without_play = result.status == MatchStatus::TechnicalLoss;
        let ending =
            MatchEnding::of(result).ok_or(if lost_without_play || !result.failed.is_empty() {
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

    /// Checks that the draw is the promised one, and gives its seed.
    fn check_draw<'r>(
        &self,
        fixture: &LeagueFixture,
        result: &'r MatchResult,
    ) -> Result<&'r Seed, ReportProblem> {
        let Some(opened) = &result.draw else {
            return Err(ReportProblem::DrawMissing);
        };
        let kept = opened.attempt == fixture.draw_attempt()
            && opened.mode == self.rules.draws
            && opened.commitment == fixture.commitment
            && draw::keeps_promise(&self.rules.league_id, &fixture.match_id, opened);
        let seed = opened.seed.as_ref().filter(|_| kept);
        let mut nonces = opened.nonces.iter();
        match seed {
            None => Err(ReportProblem::Draw),
            Some(seed) if nonces.all(|nonce| nonce.len() <= MAX_NONCE_LENGTH) => Ok(seed),
            Some(_) => Err(ReportProblem::TooLong(ReportPart::Nonces)),
        }
    }

    /// Checks that a result tells the moves that were handed over, that it follows from its moves,
    /// and that the players that sign made them.
    fn check_course(
        &self,
        fixture: &LeagueFixture,
        result: &MatchResult,
        seed: &Seed,
    ) -> Result<(), ReportProblem> {
        let (moves, handed) = (&result.evidence.moves[..], fixture.handed_moves());
        if !moves.starts_with(handed) {
            return Err(ReportProblem::HandedOver);
        }
        let rolls = fixture.rolls().len();
        let expected = match self.judged(fixture, (seed, rolls), moves, &result.failed)? {
            Judged::Over(expected) => expected,
            Judged::Going(Turn::Dice) => return Err(ReportProblem::NotHandedOver),
            Judged::Going(_) => return Err(ReportProblem::Choices),
        };
        let is_played = expected.failed.is_empty();
        let is_fixed = is_played && rolls > 0 && moves.len() == handed.len();
        let nonces = |result: &MatchResult| result.draw.as_ref().map(|draw| draw.nonces.clone());
        if fixture.is_fixed() != is_fixed {
            Err(ReportProblem::HandedOver)
        } else if result.choices != expected.choices {
            Err(ReportProblem::Choices)
        } else if (result.status, &result.winner) != (expected.status, &expected.winner) {
            Err(ReportProblem::End)
        } else if result.details != expected.details && is_played {
            Err(ReportProblem::Details)
        } else if result.details != expected.details {
            Err(ReportProblem::Unplayed)
        } else if rolls > 0 && nonces(result) != nonces(&expected) {
            Err(ReportProblem::Draw)
        } else {
            self.check_opened(fixture, result)
        }
    }
}

pub(crate) fn check_length(result: &MatchResult) -> Result<(), ReportProblem> {
    if result.reason.len() > MAX_REASON {
        return Err(ReportProblem::TooLong(ReportPart::Reason));
    }
    let too_long = |choice: &Value| match choice {
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
        Value::String(text) => text.len() > MAX_CHOICE,
        Value::Array(moves) if moves.len() > MAX_MOVES => true,
        long => long.to_string().len() > MAX_CHOICE,
    };
    if result.choices.values().any(too_long) {
        return Err(ReportProblem::TooLong(ReportPart::Choices));
    }
    Ok(())
}

/// Why a report is not believed.
///
/// It is written into the journal while the match may still be running, so it never repeats a
/// choice, a number or a seed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Error)]
#[serde(rename_all = "snake_case")]
pub enum ReportProblem {
    #[error("this is not league `{0}`")]
    League(LeagueId),
    #[error("the match belongs to round `{expected}`, not `{found}`")]
    Round {
        expected: u32,
        /// The round in the report.
        found: u32,
    },
    #[error("the league does not play `{0}`")]
    Game(GameType),
    /// Other players, or at other seats.
    #[error("the players are `{}` at A and `{}` at B", .0[0], .0[1])]
    Players([PlayerId; 2]),
    /// `failed` does not fit the status.
    #[error("`failed` must name the one or two players of a technical loss, and nothing otherwise")]
    Failed,
    /// A winner that does not go with the status.
    #[error("the winner does not fit the status")]
    Winner,
    /// Points that do not follow.
    #[error("the points of this end are `{}` and `{}`", .0[0], .0[1])]
    Points([u32; 2]),
    /// A choice of someone who does not sit there.
    #[error("`choices` names the players of the match only")]
    Choosers,
    /// A part that is longer than it can honestly be.
    #[error("`{0}` is too long")]
    TooLong(ReportPart),
    /// The game never came to an end, and yet there are details of one.
    #[error("a technical loss has no details of the game")]
    Unplayed,
    /// The draw is not opened.
    #[error("`draw` must tell commitment, attempt and nonces")]
    DrawMissing,
    /// The draw does not keep the promise.
    #[error("the opened draw is not the one that was promised for this match and attempt")]
    Draw,
    /// The choices are no whole game.
    #[error("the choices do not complete a game")]
    Choices,
    /// The choices and the draw lead to another end.
    #[error("the choices and the draw lead to another result")]
    End,
    /// The choices and the draw lead to other details.
    #[error("the choices and the draw lead to other details")]
    Details,
    /// A roll was never requested.
    #[error("the moves must be handed over first: send `DRAW_REQUEST` when dice are due")]
    NotHandedOver,
    /// It does not agree with the moves that were handed over.
    #[error("the result must agree with the moves that were handed over")]
    HandedOver,
    /// No dice are due.
    #[error("no draw is due after these moves")]
    NoDraw,
    /// A player signs, and this is not its proof.
    #[error("the proof of `{0}` is missing or wrong")]
    Proof(PlayerId),
}

/// A part of a report that has a bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReportPart {
    Reason,
    Choices,
    /// What a player put into the draw.
    Nonces,
}

impl std::fmt::Display for ReportPart {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Reason => "reason",
            Self::Choices => "choices",
            Self::Nonces => "nonces",
        })
    }
}

impl ReportProblem {
    /// Where in the report the problem is.
    pub const fn path(&self) -> &'static str {
        match self {
            Self::League(_) => "league_id",
            Self::Round { .. } => "round_id",
            Self::Game(_) => "game_type",
            Self::Players(_) => "result.players",
            Self::Failed => "result.failed",
            Self::Winner => "result.winner",
            Self::Points(_) => "result.score",
            Self::Choosers | Self::Choices | Self::TooLong(ReportPart::Choices) => {
                "result.details.choices"
            }
            Self::TooLong(ReportPart::Reason) => "result.reason",
            Self::TooLong(ReportPart::Nonces) => "result.draw.nonces",
            Self::DrawMissing | Self::Draw | Self::NotHandedOver | Self::NoDraw => "result.draw",
            Self::HandedOver | Self::Proof(_) => "result.evidence",
            Self::End => "result.status",
            Self::Unplayed | Self::Details => "result.details",
        }
    }
}
