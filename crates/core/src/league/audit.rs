//! Checks whether an event can follow the events before it, from the journal alone.
//!
//! [`League::decide`](crate::machine::Machine::decide) makes events from commands and knows the
//! league's secret. Here the events are given and the secret is not: a draw can be checked against
//! the commitment of its round, but not how its seed was chosen.

use league_protocol::id::{MatchId, PlayerId, RefereeId};
use league_protocol::message::MatchResult;
use league_protocol::sender::Agent;
use league_protocol::time::Timestamp;
use thiserror::Error;

use super::event::{Event, Reassignment};
use super::report::ReportProblem;
use super::round::{LeagueFixture, LeagueRound, read_match_id};
use super::{League, Phase};
use crate::draw;

/// Why a fact cannot follow those before it.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Inconsistency {
    /// An agent registers a second time under the same id.
    #[error("`{0}` is in the league already")]
    Known(Agent),
    #[error("`{0}` is not in the league")]
    Unknown(Agent),
    /// The league is not as far as that, or farther.
    #[error("the league is {found}, expected {expected}")]
    Phase {
        expected: Phase,
        /// How far the league is.
        found: Phase,
    },
    /// There are not enough agents to begin with.
    #[error("the league begins with too few players or without a referee")]
    TooFew,
    /// It is another round's turn.
    #[error("this is round `{found}`, expected round `{expected}`")]
    Round {
        /// The round whose turn it is.
        expected: u32,
        /// The round in the event.
        found: u32,
    },
    /// The list for a round is not as long as the round.
    #[error("`{found}` are listed for `{expected}` matches")]
    Length {
        /// The matches of a round.
        expected: usize,
        /// The length of the list.
        found: usize,
    },
    /// Matches of the round have no result, or have all.
    #[error("the round has `{0}` matches without a result")]
    Open(u32),
    /// The present round has no such match.
    #[error("match `{0}` is not played in this round")]
    NoSuchMatch(MatchId),
    #[error("match `{0}` has its result already")]
    Twice(MatchId),
    /// Another referee has the match.
    #[error("match `{match_id}` is in the hands of {}, not of {}", hands(expected.as_ref()), hands(found.as_ref()))]
    Hands {
        match_id: MatchId,
        /// The referee that has it; `None` without one.
        expected: Option<RefereeId>,
        /// The referee in the event; `None` for the manager.
        found: Option<RefereeId>,
    },
    #[error("match `{0}` was not begun")]
    NotBegun(MatchId),
    /// Another attempt at the match counts.
    #[error("match `{match_id}` is at attempt `{expected}`, not `{found}`")]
    Attempt {
        match_id: MatchId,
        expected: u32,
        /// The attempt in the event.
        found: u32,
    },
    /// The manager rules only where a player is out of the league, and then in one way.
    #[error("match `{0}` cannot be ruled by the manager in this way")]
    Ruling(MatchId),
    /// The result does not follow from the rules.
    #[error("the result of match `{match_id}` is invalid: {problem}")]
    Result {
        match_id: MatchId,
        problem: ReportProblem,
    },
    /// A player is put out of the league too early, or once more.
    #[error(
        "`{player_id}` has lost `{found}` in a row by not playing, and is out after `{expected}`"
    )]
    NotOut {
        player_id: PlayerId,
        expected: u32,
        found: u32,
    },
}

fn hands(referee: Option<&RefereeId>) -> String {
    referee.map_or_else(|| "nobody".to_owned(), |referee| format!("`{referee}`"))
}

pub(crate) struct Auditor<'a> {
    pub(crate) league: &'a League,
}

impl Auditor<'_> {
    pub(crate) fn check(&self, event: &Event) -> Result<(), Inconsistency> {
        match event {
            Event::PlayerRegistered { player_id, .. } => {
                self.must_be(Phase::Registering)?;
                self.must_be_new(Agent::Player(player_id.clone()))
            }
            Event::RefereeRegistered { referee_id, .. } => {
                self.must_be_new(Agent::Referee(referee_id.clone()))
            }
            Event::AgentReturned { agent, .. } => self.must_be_known(agent.clone()),
            Event::LeagueStarted { .. } => {
                self.must_be(Phase::Registering)?;
                self.league
                    .check_enough()
                    .map_err(|_| Inconsistency::TooFew)
            }
            Event::RoundOpened {
                round,
                referees,
                commitments,
                ..
            } => {
                self.check_opening(*round, referees)?;
                self.must_be_one_each(commitments.len())
            }
            Event::MatchesMoved { moves, .. } => {
                moves.iter().try_for_each(|moved| self.check_move(moved))
            }
            Event::ResultRecorded {
                match_id,
                referee,
                attempt,
                result,
                at,
                ..
            } => self.check_result(match_id, referee.as_ref(), *attempt, result, *at),
            Event::ReportConflicted {
                match_id, referee, ..
            }
            | Event::ReportRefused {
                match_id, referee, ..
            } => {
                self.must_be_known(Agent::Referee(referee.clone()))?;
                self.must_be_scheduled(match_id)
            }
            Event::PlayerShutDown { player_id, .. } => self.check_shut_down(player_id),
            Event::RoundClosed { round, .. } => self.check_closing(*round),
            Event::LeagueCompleted { .. } => {
                let last = self.must_be_closed()?;
                must_be_round(self.league.schedule.rounds(), last)
            }
            Event::MatchAccepted { .. }
            | Event::AgentFailed { .. }
            | Event::AgentAnswered { .. }
            | Event::RefereeSuspended { .. }
            | Event::ProbesSent { .. }
            | Event::Stopped => Ok(()),
        }
    }

    fn check_opening(&self, round: u32, referees: &[RefereeId]) -> Result<(), Inconsistency> {
        let before = self.must_be_closed()?;
        must_be_round(before.saturating_add(1), round)?;
        must_be_round(round.min(self.league.schedule.rounds()), round)?;
        if !referees.is_empty() {
            self.must_be_one_each(referees.len())?;
        }
        let mut agents = referees.iter().cloned().map(Agent::Referee);
        agents.try_for_each(|referee| self.must_be_known(referee))
    }

    fn check_move(&self, moved: &Reassignment) -> Result<(), Inconsistency> {
        let fixture = self.must_be_open(&moved.match_id)?;
        if let Some(referee) = &moved.to {
            self.must_be_known(Agent::Referee(referee.clone()))?;
        }
        let (now, next) = (fixture.attempt, fixture.attempt.saturating_add(1));
        if moved.attempt == now || moved.attempt == next {
            return Ok(());
        }
        let match_id = moved.match_id.clone();
        Err(Inconsistency::Attempt {
            match_id,
            expected: next,
            found: moved.attempt,
        })
    }

    fn check_result(
        &self,
        match_id: &MatchId,
        referee: Option<&RefereeId>,
        attempt: u32,
        result: &MatchResult,
        at: Timestamp,
    ) -> Result<(), Inconsistency> {
        self.must_be(Phase::Running)?;
        let fixture = self.must_be_open(match_id)?;
        let expected = fixture.attempt;
        if attempt != expected {
            return Err(Inconsistency::Attempt {
                match_id: match_id.clone(),
                expected,
                found: attempt,
            });
        }
        match referee {
            Some(referee) => self.check_hands(fixture, referee)?,
            None => self.check_ruling(fixture, result, at)?,
        }
        let league = &self.league.rules.league_id;
        let checked = self.league.check_result(fixture, result, |opened| {
            opened.commitment == fixture.commitment && draw::keeps_promise(league, match_id, opened)
        });
        checked
            .map(|_| ())
            .map_err(|problem| Inconsistency::Result {
                match_id: match_id.clone(),
                problem,
            })
    }

    fn check_hands(
        &self,
        fixture: &LeagueFixture,
        referee: &RefereeId,
    ) -> Result<(), Inconsistency> {
        let match_id = fixture.match_id.clone();
        let holder = self.league.referee_of(fixture).map(|holder| &holder.id);
        if holder != Some(referee) {
            return Err(Inconsistency::Hands {
                match_id,
                expected: holder.cloned(),
                found: Some(referee.clone()),
            });
        }
        if fixture.is_started() {
            Ok(())
        } else {
            Err(Inconsistency::NotBegun(match_id))
        }
    }

    /// The manager's ruling follows from who is out of the league, but for the draw.
    fn check_ruling(
        &self,
        fixture: &LeagueFixture,
        result: &MatchResult,
        at: Timestamp,
    ) -> Result<(), Inconsistency> {
        let without_draw = |result: &MatchResult| MatchResult {
            draw: None,
            ..result.clone()
        };
        match self.league.ruled(at, fixture.pairing.index) {
            Some(Event::ResultRecorded {
                result: expected, ..
            }) if without_draw(&expected) == without_draw(result) => Ok(()),
            _ => Err(Inconsistency::Ruling(fixture.match_id.clone())),
        }
    }

    fn check_shut_down(&self, player_id: &PlayerId) -> Result<(), Inconsistency> {
        let unknown = || Inconsistency::Unknown(Agent::Player(player_id.clone()));
        let player = self.league.player(player_id).ok_or_else(unknown)?;
        if player.forfeits >= self.league.rules.max_fail && !player.shut_down {
            return Ok(());
        }
        Err(Inconsistency::NotOut {
            player_id: player_id.clone(),
            expected: self.league.rules.max_fail,
            found: player.forfeits,
        })
    }

    fn check_closing(&self, number: u32) -> Result<(), Inconsistency> {
        self.must_be(Phase::Running)?;
        let round = self.league.round.as_ref();
        must_be_round(round.map_or(0, |round| round.number), number)?;
        match round {
            Some(round) if round.open > 0 || round.closed => Err(Inconsistency::Open(round.open)),
            _ => Ok(()),
        }
    }

    /// The number of the last round, which is over; 0 before the first.
    fn must_be_closed(&self) -> Result<u32, Inconsistency> {
        self.must_be(Phase::Running)?;
        match &self.league.round {
            Some(LeagueRound { open, closed, .. }) if !closed => Err(Inconsistency::Open(*open)),
            round => Ok(round.as_ref().map_or(0, |round| round.number)),
        }
    }

    fn must_be_one_each(&self, found: usize) -> Result<(), Inconsistency> {
        let expected = self.league.schedule.matches_a_round() as usize;
        if found == expected {
            Ok(())
        } else {
            Err(Inconsistency::Length { expected, found })
        }
    }

    fn must_be(&self, expected: Phase) -> Result<(), Inconsistency> {
        let found = self.league.phase;
        if found == expected {
            Ok(())
        } else {
            Err(Inconsistency::Phase { expected, found })
        }
    }

    fn must_be_new(&self, agent: Agent) -> Result<(), Inconsistency> {
        match self.league.find_agent(&agent) {
            Some(_) => Err(Inconsistency::Known(agent)),
            None => Ok(()),
        }
    }

    fn must_be_known(&self, agent: Agent) -> Result<(), Inconsistency> {
        match self.league.find_agent(&agent) {
            Some(_) => Ok(()),
            None => Err(Inconsistency::Unknown(agent)),
        }
    }

    fn must_be_scheduled(&self, match_id: &MatchId) -> Result<(), Inconsistency> {
        read_match_id(match_id)
            .and_then(|(round, index)| self.league.schedule.pairing(round, index))
            .map(|_| ())
            .ok_or_else(|| Inconsistency::NoSuchMatch(match_id.clone()))
    }

    /// A match of the present round that has no result.
    fn must_be_open(&self, match_id: &MatchId) -> Result<&LeagueFixture, Inconsistency> {
        let index = self.league.index_now(match_id);
        let fixture = index.and_then(|index| self.league.round.as_ref()?.fixture(index));
        match fixture {
            Some(fixture) if fixture.result.is_none() => Ok(fixture),
            Some(_) => Err(Inconsistency::Twice(match_id.clone())),
            None => Err(Inconsistency::NoSuchMatch(match_id.clone())),
        }
    }
}

fn must_be_round(expected: u32, found: u32) -> Result<(), Inconsistency> {
    if found == expected {
        Ok(())
    } else {
        Err(Inconsistency::Round { expected, found })
    }
}

impl std::fmt::Display for Phase {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Registering => "registering",
            Self::Running => "running",
            Self::Completed => "completed",
        })
    }
}
