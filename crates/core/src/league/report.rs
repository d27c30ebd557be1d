//! Verification of match results (ruling 26): a report counts if it is from the right referee, about
//! the right attempt, and if the rules lead from its choices and its draw to its result.

use std::sync::Arc;

use league_games::{Outcome, Seat, Turn};
use league_protocol::fault::Code;
use league_protocol::id::{GameType, LeagueId, MatchId, PlayerId};
use league_protocol::message::{ByPlayer, MatchResult, MatchResultReport, MatchStatus, OpenedDraw};
use league_protocol::time::Timestamp;
use league_protocol::token::hex;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};
use thiserror::Error;

use super::Decision;
use super::command::{Refusal, Reply};
use super::event::Event;
use super::roster::RefereeEntry;
use super::round::{self, FixtureStage, LeagueFixture};
use super::standings::MatchEnding;
use super::{AuthenticatedAgent, League, Phase};
use crate::draw::{self, MAX_NONCE_LENGTH};

impl League {
    pub(crate) fn weigh_report(
        &self,
        at: Timestamp,
        caller: &AuthenticatedAgent,
        report: &MatchResultReport,
    ) -> Result<Decision, Refusal> {
        let (number, referee) = self.calling_referee(caller)?;
        let fixture = self.reported(&report.match_id)?;
        check_right(fixture, number, report)?;
        let seated = self.in_their_seats(fixture, report);
        let report = seated.as_ref().unwrap_or(report);
        if let Some(standing) = &fixture.result {
            return Ok(self.weigh_again(at, fixture, referee, report, standing));
        }
        match self.verify(fixture, report) {
            Ok(ending) => Ok(Decision::accept(
                self.recorded(at, fixture, referee, report, ending),
                Reply::Acknowledged,
            )),
            Err(problem) => {
                let digest = self.digest(report);
                let event = Event::ReportRefused {
                    match_id: fixture.match_id.clone(),
                    referee: referee.id.clone(),
                    digest: digest.clone(),
                    problem: problem.clone(),
                    at,
                };
                let match_id = fixture.match_id.clone();
                let refusal = Refusal::BadReport { match_id, problem };
                let mut decision = refused(fixture, &digest, event, refusal);
                // It will not tell another end, so that waiting for one would be in vain.
                decision.events.extend(self.lose(at, fixture, number));
                Ok(decision)
            }
        }
    }

    /// The report with its players at their seats, if it names them the other way round: the
    /// members of an object have no order, so that nothing can be read from it.
    fn in_their_seats(
        &self,
        fixture: &LeagueFixture,
        report: &MatchResultReport,
    ) -> Option<MatchResultReport> {
        let [a, b] = self.seats_of(fixture)?;
        let [first, second] = &report.result.players;
        if first != b || second != a {
            return None;
        }
        let mut seated = report.clone();
        let result = Arc::make_mut(&mut seated.result);
        result.players.reverse();
        result.points.reverse();
        Some(seated)
    }

    /// The match that a report is about.
    fn reported(&self, match_id: &MatchId) -> Result<&LeagueFixture, Refusal> {
        if let Some(fixture) = self.fixture(match_id) {
            return Ok(fixture);
        }
        let named = round::read_match_id(match_id)
            .and_then(|(round, index)| self.schedule.pairing(round, index));
        let reached = self.round.as_ref().map_or(0, |round| round.number);
        match named {
            Some(pairing) if self.phase != Phase::Registering && pairing.round < reached => {
                Err(Refusal::LongDecided(match_id.clone()))
            }
            _ => Err(Refusal::UnknownMatch(match_id.clone())),
        }
    }

    /// A report of a match that has its result: the same again, or another.
    fn weigh_again(
        &self,
        at: Timestamp,
        fixture: &LeagueFixture,
        referee: &RefereeEntry,
        report: &MatchResultReport,
        standing: &Arc<MatchResult>,
    ) -> Decision {
        let same_match = report.league_id == self.rules.league_id
            && report.round_id == fixture.pairing.round
            && report.game_type == self.rules.game_type;
        if same_match && report.result == *standing {
            return Decision::reply(Reply::Acknowledged);
        }
        let digest = self.digest(report);
        let event = Event::ReportConflicted {
            match_id: fixture.match_id.clone(),
            referee: referee.id.clone(),
            digest: digest.clone(),
            at,
        };
        let refusal = Refusal::Conflict(fixture.match_id.clone());
        refused(fixture, &digest, event, refusal)
    }

    /// The result, what the referee takes up next, and who is out of the league by it.
    fn recorded(
        &self,
        at: Timestamp,
        fixture: &LeagueFixture,
        referee: &RefereeEntry,
        report: &MatchResultReport,
        ending: MatchEnding,
    ) -> Vec<Event> {
        let next = self.next_for(referee);
        let relief = match next {
            Some(_) => None,
            None => self.relieve_longest(at, referee),
        };
        let mut events = vec![Event::ResultRecorded {
            match_id: fixture.match_id.clone(),
            referee: Some(referee.id.clone()),
            attempt: fixture.attempt,
            result: Arc::clone(&report.result),
            next,
            at,
        }];
        events.extend(relief);
        for (seat, &number) in fixture.pairing.seats.iter().enumerate() {
            let Some(player) = self.players.get(number) else {
                continue;
            };
            let forfeits = player.forfeits.saturating_add(1);
            if ending.forfeited(seat) && !player.shut_down && forfeits >= self.rules.max_fail {
                let player_id = player.id.clone();
                events.push(Event::PlayerShutDown { player_id, at });
            }
        }
        events
    }

    /// The match that a referee takes up when it is done with one.
    pub(crate) fn next_for(&self, referee: &RefereeEntry) -> Option<MatchId> {
        if referee.running > referee.capacity {
            return None;
        }
        let index = *referee.queue.front()?;
        let fixture = self.round.as_ref()?.fixture(index)?;
        Some(fixture.match_id.clone())
    }

    /// The manager's own ruling on a match whose player is out of the league.
    pub(crate) fn ruled(&self, at: Timestamp, index: u32) -> Option<Event> {
        let fixture = self.round.as_ref()?.fixture(index)?;
        let players = self.seats_of(fixture)?.map(Clone::clone);
        let out = fixture.pairing.seats.map(|seat| {
            let player = self.players.get(seat);
            player.is_some_and(|player| player.shut_down)
        });
        let ending = match out {
            [true, true] => MatchEnding::BothForfeit,
            [true, false] => MatchEnding::Forfeit(0),
            [false, true] => MatchEnding::Forfeit(1),
            [false, false] => return None,
        };
        let absent: Vec<&str> = (0..2)
            .filter(|&seat| out[seat])
            .map(|seat| players[seat].as_str())
            .collect();
        let failed = players.iter().zip(out).filter(|(_, out)| *out);
        let result = MatchResult {
            status: MatchStatus::TechnicalLoss,
            winner: ending.winner().map(|seat| players[seat].clone()),
            points: [0, 1].map(|seat| ending.points(seat, &self.rules.score)),
            failed: failed
                .map(|(id, _)| (id.clone(), Code::Connection))
                .collect(),
            choices: ByPlayer::new(),
            details: serde_json::Map::new(),
            reason: match absent[..] {
                [one] => format!("{one} no longer takes part"),
                _ => format!("{} no longer take part", absent.join(" and ")),
            },
            draw: Some(OpenedDraw {
                commitment: fixture.commitment,
                seed: fixture.seed,
                attempt: fixture.attempt,
                nonces: [String::new(), String::new()],
            }),
            players,
        };
        Some(Event::ResultRecorded {
            match_id: fixture.match_id.clone(),
            referee: None,
            attempt: fixture.attempt,
            result: Arc::new(result),
            next: None,
            at,
        })
    }

    /// Identifies a report. The secret goes in first, so that a hidden choice cannot be found by
    /// trying.
    fn digest(&self, report: &MatchResultReport) -> String {
        let told = (
            (&report.league_id, report.round_id, &report.match_id),
            (report.attempt, &report.game_type, &report.result),
        );
        let text = serde_json::to_vec(&told).unwrap_or_default();
        let digest = Sha256::new().chain_update(self.secret.0).chain_update(text);
        hex(&digest.finalize().into())
    }
}

/// Whether this referee may report this match now.
fn check_right(
    fixture: &LeagueFixture,
    referee: u32,
    report: &MatchResultReport,
) -> Result<(), Refusal> {
    let match_id = || fixture.match_id.clone();
    if fixture.referee != Some(referee) {
        return Err(if fixture.former.contains(&referee) {
            Refusal::TakenAway(match_id())
        } else {
            Refusal::NotYours(match_id())
        });
    }
    if report.attempt != fixture.attempt {
        return Err(Refusal::OldAttempt {
            match_id: match_id(),
            current: fixture.attempt,
            found: report.attempt,
        });
    }
    match fixture.stage {
        FixtureStage::Ordered | FixtureStage::Running | FixtureStage::Finished => Ok(()),
        FixtureStage::Waiting | FixtureStage::Queued | FixtureStage::Unplayable => {
            Err(Refusal::NotStarted(match_id()))
        }
    }
}

/// A refusal that is noted once.
fn refused(fixture: &LeagueFixture, digest: &str, event: Event, refusal: Refusal) -> Decision {
    let mut events = Vec::new();
    if fixture.may_note(digest) {
        events.push(event);
    }
    Decision {
        events,
        answer: Err(refusal),
    }
}

/// The longest sentence on how a match ended, in bytes.
const MAX_REASON: usize = 1_000;
/// The most moves that one seat may make in a match.
const MAX_MOVES: usize = 1_000;
/// The longest move of a technical loss, in bytes of JSON.
const MAX_CHOICE: usize = 4_096;

impl League {
    /// Checks a report against everything known of the match; returns how it ended.
    ///
    /// The manager knows the seed, so it compares the opened one. Only a referee of the match knows
    /// it; otherwise a stolen token could report a match that was never played.
    pub(crate) fn verify(
        &self,
        fixture: &LeagueFixture,
        report: &MatchResultReport,
    ) -> Result<MatchEnding, ReportProblem> {
        self.check_match(fixture, report)?;
        self.check_result(fixture, &report.result, |opened| {
            opened.seed == fixture.seed && opened.commitment == fixture.commitment
        })
    }

    /// Checks that a result follows from the rules, with a draw that was `promised`.
    pub(crate) fn check_result(
        &self,
        fixture: &LeagueFixture,
        result: &MatchResult,
        promised: impl FnOnce(&OpenedDraw) -> bool,
    ) -> Result<MatchEnding, ReportProblem> {
        self.check_players(fixture, result)?;
        let ending = self.check_ending(result)?;
        check_draw(fixture, result, promised)?;
        check_length(result)?;
        match ending {
            MatchEnding::Win(_) | MatchEnding::Draw => self.play_again(fixture, result, ending)?,
            MatchEnding::Forfeit(_) | MatchEnding::BothForfeit if result.details.is_empty() => {}
            MatchEnding::Forfeit(_) | MatchEnding::BothForfeit => {
                return Err(ReportProblem::Unplayed);
            }
        }
        Ok(ending)
    }

    fn check_match(
        &self,
        fixture: &LeagueFixture,
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

    fn check_players(
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

    fn check_ending(&self, result: &MatchResult) -> Result<MatchEnding, ReportProblem> {
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

    /// Plays the game again from the choices and the draw.
    fn play_again(
        &self,
        fixture: &LeagueFixture,
        result: &MatchResult,
        ending: MatchEnding,
    ) -> Result<(), ReportProblem> {
        let mut table = self.opening.0.boxed_clone();
        let mut moves = [0, 1].map(|seat| moves_of(result, seat));
        let mut dice = result
            .draw
            .as_ref()
            .map(|opened| draw::dice(&self.rules.league_id, &fixture.match_id, opened));
        for _ in 0..2 * MAX_MOVES {
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
    ending: MatchEnding,
    whole: bool,
    same_details: bool,
) -> Result<(), ReportProblem> {
    let told = match ending {
        MatchEnding::Win(0) => Some(Outcome::Win(Seat::A)),
        MatchEnding::Win(_) => Some(Outcome::Win(Seat::B)),
        MatchEnding::Draw => Some(Outcome::Draw),
        MatchEnding::Forfeit(_) | MatchEnding::BothForfeit => None,
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
    fixture: &LeagueFixture,
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
    #[error("the draw must be opened: commitment, seed, attempt, nonces")]
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
            Self::DrawMissing | Self::Draw => "result.draw",
            Self::End => "result.status",
            Self::Unplayed | Self::Details => "result.details",
        }
    }
}
