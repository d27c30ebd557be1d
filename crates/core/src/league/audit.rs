//! Checks whether an event can follow the events before it, from the journal alone.
//!
//! [`League::decide`](crate::machine::Machine::decide) makes events from commands and knows the
//! league's secret. Here the events are given and the secret is not: a draw can be checked against
//! the commitment of its round, but not how its seed was chosen.

use league_protocol::id::{MatchId, PlayerId, RefereeId};
use league_protocol::message::{MatchResult, SignedMove};
use league_protocol::sender::Agent;
use league_protocol::time::Timestamp;
use thiserror::Error;

use super::event::{Admission, Doubt, Event, Reassignment};
use super::lever::{Effect, Lever, LeverRefusal};
use super::roster::{PlayerEntry, RefereeEntry, place};
use super::round::{FixtureStage, LeagueFixture, LeagueRound, read_match_id};
use super::verify::ReportProblem;
use super::{League, Phase};

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
    /// The players of a round are not paired by the format of the league.
    #[error("the pairings of round `{0}` do not follow from the results before it")]
    Pairings(u32),
    /// Matches of the round have no result, or have all.
    #[error("the round has `{0}` matches without a result")]
    Open(u32),
    /// The present round has no such match.
    #[error("match `{0}` is not played in this round")]
    NoSuchMatch(MatchId),
    #[error("match `{0}` has its result already")]
    Twice(MatchId),
    #[error("player `{0}` is reinstated, though it was not put out for absence")]
    NotReinstated(PlayerId),
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
    /// The manager rules only where a player is out of the match or the moves that decide are handed
    /// over, and then in one way.
    #[error("match `{0}` cannot be ruled by the manager in this way")]
    Ruling(MatchId),
    /// The journal does not tell why the referee was admitted.
    #[error("referee `{0}` was admitted without key, listing or invitation")]
    Stranger(RefereeId),
    /// The moves that were handed over decide the match, so that no other referee may play it.
    #[error(
        "match `{0}` is decided by the moves that were handed over, and goes to no other referee"
    )]
    Fixed(MatchId),
    /// A loss is doubted too often, or of someone who does not play.
    #[error("no loss can be doubted in match `{0}`")]
    Doubt(MatchId),
    /// The rules of the league take proven draws only.
    #[error("referee `{0}` does not prove its draws, and this league takes proven draws only")]
    ToldDraws(RefereeId),
    /// A result is told by a referee that knows our orders, or is not the one that was told.
    #[error("match `{0}` has no such told result")]
    NotTold(MatchId),
    /// The moves cannot be handed over.
    #[error("the moves of match `{match_id}` are invalid: {problem}")]
    Moves {
        match_id: MatchId,
        problem: ReportProblem,
    },
    /// The result does not follow from the rules.
    #[error("the result of match `{match_id}` is invalid: {problem}")]
    Result {
        match_id: MatchId,
        problem: ReportProblem,
    },
    /// A lever that could not be pulled.
    #[error("the organiser could not do this: {0}")]
    Lever(#[from] LeverRefusal),
    /// What follows from a lever is not what the journal says.
    #[error("the effect of `{0}` does not follow from the events before it")]
    Effect(&'static str),
    #[error("player `{0}` registers, though registration is closed, full or limited to a roster")]
    NotAdmitted(PlayerId),
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
    #[expect(clippy::too_many_lines, reason = "one arm for each event")]
    pub(crate) fn check(&self, event: &Event) -> Result<(), Inconsistency> {
        match event {
            Event::PlayerRegistered {
                player_id,
                meta,
                at,
                ..
            } => {
                if !self.league.takes_players() {
                    self.must_be(Phase::Registering)?;
                }
                self.must_be_new(Agent::Player(player_id.clone()))?;
                self.check_seat(player_id, &meta.display_name, *at)
            }
            Event::RefereeRegistered {
                referee_id,
                meta,
                admitted,
                ..
            } => {
                self.must_be_new(Agent::Referee(referee_id.clone()))?;
                self.check_admission(referee_id, &meta.contact_endpoint, *admitted)
            }
            Event::RefereeInvited { .. } => Ok(()),
            Event::RefereeByDocuments { referee, .. } => self.check_by_documents(referee),
            Event::ResultTold { .. } => self.check_told(event),
            Event::AgentReturned { agent, .. } => self.must_be_known(agent.clone()),
            Event::OrganiserActed {
                act, effect, at, ..
            } => self.check_lever(act, effect, *at),
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
                pairings,
                byes,
                ..
            } => {
                self.check_opening(*round, referees)?;
                let matches = self.league.matches_to_open(*round) as usize;
                must_be_as_many(matches, commitments.len())?;
                self.check_pairings(*round, pairings, byes)
            }
            Event::MatchesAdded { .. } => self.check_added(event),
            Event::PlayerShutDown {
                player_id, absence, ..
            } => self.check_shut_down(player_id, *absence),
            Event::PlayerReinstated { player_id, .. } => self.check_reinstated(player_id),
            Event::RoundClosed { round, .. } => self.check_closing(*round),
            Event::LeagueCompleted { .. } => {
                if self.league.end_ordered {
                    return self.must_be(Phase::Running);
                }
                let last = self.must_be_closed()?;
                match self.league.has_round_after(last) {
                    true => must_be_round(last.saturating_add(1), last),
                    false => Ok(()),
                }
            }
            Event::MatchesMoved { .. }
            | Event::MovesReceived { .. }
            | Event::LossDoubted { .. }
            | Event::DeclinedAfterCall { .. }
            | Event::ResultRecorded { .. }
            | Event::ReportConflicted { .. }
            | Event::ReportRefused { .. } => self.check_match_event(event),
            Event::MatchAccepted { .. }
            | Event::OrderDeclined { .. }
            | Event::PlayerInformed { .. }
            | Event::OrdersReleased { .. }
            | Event::GameOverAwaited { .. }
            | Event::GameOverTold { .. }
            | Event::NewsReleased { .. }
            | Event::LossQuestioned { .. }
            | Event::CallConfirmed { .. }
            | Event::AgentFailed { .. }
            | Event::AgentAnswered { .. }
            | Event::RefereeSuspended { .. }
            | Event::ProbesSent { .. }
            | Event::LetterUnsent { .. }
            | Event::Resumed { .. }
            | Event::Stopped => Ok(()),
        }
    }

    /// The facts of one match.
    fn check_match_event(&self, event: &Event) -> Result<(), Inconsistency> {
        match event {
            Event::MatchesMoved { moves, .. } => {
                moves.iter().try_for_each(|moved| self.check_move(moved))
            }
            Event::MovesReceived {
                match_id,
                referee,
                attempt,
                moves,
                ..
            } => self.check_hand_over(match_id, referee, *attempt, moves),
            Event::LossDoubted {
                match_id,
                attempt,
                referee,
                player_id,
                doubt,
                ..
            } => self.check_doubt(match_id, *attempt, referee, player_id, *doubt),
            Event::DeclinedAfterCall {
                match_id,
                referee,
                player_id,
                ..
            } => {
                self.must_be_known(Agent::Referee(referee.clone()))?;
                self.must_be_known(Agent::Player(player_id.clone()))?;
                self.must_be_scheduled(match_id)
            }
            Event::ResultRecorded {
                match_id,
                referee,
                attempt,
                result,
                ..
            } => self.check_result(match_id, referee.as_ref(), *attempt, result),
            Event::ReportConflicted {
                match_id, referee, ..
            }
            | Event::ReportRefused {
                match_id, referee, ..
            } => {
                self.must_be_known(Agent::Referee(referee.clone()))?;
                self.must_be_scheduled(match_id)
            }
            _ => Ok(()),
        }
    }

    /// A lever could be pulled, and what follows from it is what the journal says.
    fn check_lever(
        &self,
        lever: &Lever,
        effect: &Effect,
        at: Timestamp,
    ) -> Result<(), Inconsistency> {
        let mut expected = self.league.effect(at, lever)?;
        expected.token = effect.token;
        if expected == *effect {
            Ok(())
        } else {
            Err(Inconsistency::Effect(lever.name()))
        }
    }

    /// A player is let in while registration is open, if the roster has its name, and as long as
    /// there is a seat or a place to wait.
    fn check_seat(
        &self,
        player: &PlayerId,
        name: &str,
        at: Timestamp,
    ) -> Result<(), Inconsistency> {
        let league = self.league;
        let is_listed = league.registration.lists(name);
        if league.registration(at).0 && is_listed && league.has_room() {
            Ok(())
        } else {
            Err(Inconsistency::NotAdmitted(player.clone()))
        }
    }

    /// A referee is let in by what spoke for it.
    fn check_admission(
        &self,
        referee: &RefereeId,
        endpoint: &str,
        admitted: Admission,
    ) -> Result<(), Inconsistency> {
        let league = self.league;
        let (rules, registering) = (&league.rules, league.phase == Phase::Registering);
        let allowed = match admitted {
            Admission::Organiser => league.invited.contains(&place(endpoint)),
            Admission::Key | Admission::Listed => registering,
            Admission::Open => registering && rules.open_referees,
        };
        if allowed {
            Ok(())
        } else {
            Err(Inconsistency::Stranger(referee.clone()))
        }
    }

    /// Moves are handed over by the referee of the match, up to a roll, and go on from those before.
    ///
    /// Dice between them show only with the result, and so do the keys of the proofs.
    fn check_hand_over(
        &self,
        match_id: &MatchId,
        referee: &RefereeId,
        attempt: u32,
        moves: &[SignedMove],
    ) -> Result<(), Inconsistency> {
        let fixture = self.must_be_in_hands(match_id, Some(referee), attempt)?;
        let before = fixture.handed_moves();
        let problem = |problem| Inconsistency::Moves {
            match_id: match_id.clone(),
            problem,
        };
        if fixture.handed.is_none() {
            self.league.check_moves(fixture, moves).map_err(problem)?;
        }
        let goes_on = moves.starts_with(before) && moves.len() > before.len();
        if fixture.is_fixed() || fixture.handed.is_some() && !goes_on {
            return Err(problem(ReportProblem::HandedOver));
        }
        Ok(())
    }

    /// A loss is doubted while its referee has the match, and so often as the rules allow.
    fn check_doubt(
        &self,
        match_id: &MatchId,
        attempt: u32,
        referee: &RefereeId,
        player: &PlayerId,
        doubt: Doubt,
    ) -> Result<(), Inconsistency> {
        let fixture = self.must_be_in_hands(match_id, Some(referee), attempt)?;
        let seats = self.league.seats_of(fixture).into_iter().flatten();
        let plays = seats.into_iter().any(|seated| seated == player);
        if plays && fixture.may_doubt(doubt) && !fixture.is_fixed() {
            Ok(())
        } else {
            Err(Inconsistency::Doubt(match_id.clone()))
        }
    }

    fn check_opening(&self, round: u32, referees: &[RefereeId]) -> Result<(), Inconsistency> {
        let before = self.must_be_closed()?;
        must_be_round(before.saturating_add(1), round)?;
        if !self.league.has_round_after(before) {
            return must_be_round(before, round);
        }
        self.check_referees(referees, self.league.matches_to_open(round) as usize)
    }

    /// One known referee for each match, or none at all.
    fn check_referees(&self, referees: &[RefereeId], matches: usize) -> Result<(), Inconsistency> {
        if !referees.is_empty() {
            must_be_as_many(matches, referees.len())?;
        }
        let mut agents = referees.iter().cloned().map(Agent::Referee);
        agents.try_for_each(|referee| self.must_be_known(referee))
    }

    /// Matches join the round when they are due, and are those that follow from the results.
    fn check_added(&self, event: &Event) -> Result<(), Inconsistency> {
        let Event::MatchesAdded {
            round,
            referees,
            commitments,
            pairings,
            at,
        } = event
        else {
            return Ok(());
        };
        self.must_be(Phase::Running)?;
        let league = self.league;
        must_be_round(league.round().map_or(0, LeagueRound::number), *round)?;
        let joining = league.joining().filter(|(due, _)| due <= at);
        let expected = joining.map(|(_, joining)| league.listed(&joining.pairings));
        if expected.as_ref() != Some(pairings) {
            return Err(Inconsistency::Pairings(*round));
        }
        must_be_as_many(pairings.len(), commitments.len())?;
        self.check_referees(referees, pairings.len())
    }

    /// The pairings are those that follow from the results by the format.
    fn check_pairings(
        &self,
        round: u32,
        pairings: &[[PlayerId; 2]],
        byes: &[PlayerId],
    ) -> Result<(), Inconsistency> {
        let (expected, resting) = self.league.listed_round();
        if expected == pairings && resting == byes {
            Ok(())
        } else {
            Err(Inconsistency::Pairings(round))
        }
    }

    fn check_move(&self, moved: &Reassignment) -> Result<(), Inconsistency> {
        let fixture = self.must_be_open(&moved.match_id)?;
        if let Some(referee) = &moved.to {
            self.must_be_known(Agent::Referee(referee.clone()))?;
        }
        let (now, next) = (fixture.attempt, fixture.attempt.saturating_add(1));
        let match_id = moved.match_id.clone();
        if fixture.is_fixed() && (moved.to.is_some() || moved.attempt != now) {
            return Err(Inconsistency::Fixed(match_id));
        }
        if moved.attempt == now || moved.attempt == next {
            return Ok(());
        }
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
    ) -> Result<(), Inconsistency> {
        let fixture = self.must_be_in_hands(match_id, referee, attempt)?;
        let ruling = match referee {
            None => Some(self.check_ruling(fixture, result)?),
            Some(_) => None,
        };
        if let Some((told, _)) = &fixture.told {
            return if **told == *result {
                Ok(())
            } else {
                Err(Inconsistency::NotTold(match_id.clone()))
            };
        }
        let result = ruling.as_ref().unwrap_or(result);
        let checked = self.league.check_result(fixture, result);
        checked
            .map(|_| ())
            .map_err(|problem| Inconsistency::Result {
                match_id: match_id.clone(),
                problem,
            })
    }

    /// A referee is found once to be by the documents, where results may be told.
    fn check_by_documents(&self, referee: &RefereeId) -> Result<(), Inconsistency> {
        self.must_be_known(Agent::Referee(referee.clone()))?;
        let mut known = self.league.exposed_referees();
        let is_new = known.all(|known| known != referee);
        if self.league.rules.takes_told_draws() && is_new {
            Ok(())
        } else {
            Err(Inconsistency::ToldDraws(referee.clone()))
        }
    }

    /// A result without a proven draw is told once, by a referee by the documents, and could have
    /// come about.
    fn check_told(&self, event: &Event) -> Result<(), Inconsistency> {
        let Event::ResultTold {
            match_id,
            referee,
            attempt,
            result,
            ..
        } = event
        else {
            return Ok(());
        };
        let fixture = self.must_be_in_hands(match_id, Some(referee), *attempt)?;
        let holder = self.league.referee_of(fixture);
        let is_first = fixture.told.is_none() && !fixture.is_contested;
        let may_tell = holder.is_some_and(RefereeEntry::is_by_documents);
        let checked = self.league.told_result(fixture, result);
        match checked {
            Ok((told, _)) if may_tell && is_first && told == **result => Ok(()),
            Ok(_) => Err(Inconsistency::NotTold(match_id.clone())),
            Err(problem) => Err(Inconsistency::Result {
                match_id: match_id.clone(),
                problem,
            }),
        }
    }

    /// A match that is played by this referee in this attempt; by none if the manager rules on it.
    fn must_be_in_hands(
        &self,
        match_id: &MatchId,
        referee: Option<&RefereeId>,
        attempt: u32,
    ) -> Result<&LeagueFixture, Inconsistency> {
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
        if let Some(referee) = referee {
            self.check_hands(fixture, referee)?;
        }
        Ok(fixture)
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

    /// The manager's ruling follows from the moves that are handed over, or from who is out; the seed
    /// and the keys that it opens are its own.
    fn check_ruling(
        &self,
        fixture: &LeagueFixture,
        result: &MatchResult,
    ) -> Result<MatchResult, Inconsistency> {
        let wrong = || Inconsistency::Ruling(fixture.match_id.clone());
        let seed = result.draw.as_ref().and_then(|draw| draw.seed);
        let ruling = seed.and_then(|seed| self.league.ruling(fixture, &seed));
        let (mut ruling, _) = ruling.ok_or_else(wrong)?;
        ruling.evidence.players.clone_from(&result.evidence.players);
        if ruling == *result && fixture.stage == FixtureStage::Unplayable {
            Ok(ruling)
        } else {
            Err(wrong())
        }
    }

    fn check_shut_down(&self, player_id: &PlayerId, absence: bool) -> Result<(), Inconsistency> {
        let unknown = || Inconsistency::Unknown(Agent::Player(player_id.clone()));
        let player = self.league.player(player_id).ok_or_else(unknown)?;
        let was_absent = player.absences == player.forfeits;
        let is_due = player.forfeits >= self.league.rules.max_fail && !player.is_out();
        if is_due && was_absent == absence {
            return Ok(());
        }
        Err(Inconsistency::NotOut {
            player_id: player_id.clone(),
            expected: self.league.rules.max_fail,
            found: player.forfeits,
        })
    }

    fn check_reinstated(&self, player_id: &PlayerId) -> Result<(), Inconsistency> {
        let player = self.league.player(player_id);
        if player.is_some_and(PlayerEntry::may_come_back) {
            return Ok(());
        }
        Err(Inconsistency::NotReinstated(player_id.clone()))
    }

    fn check_closing(&self, number: u32) -> Result<(), Inconsistency> {
        self.must_be(Phase::Running)?;
        let round = self.league.round.as_ref();
        must_be_round(round.map_or(0, |round| round.number), number)?;
        match round {
            Some(round) if round.open > 0 || round.closed => Err(Inconsistency::Open(round.open)),
            _ if self.league.joining().is_some() => Err(Inconsistency::Pairings(number)),
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
            .and_then(|(round, index)| self.league.pairing(round, index))
            .map(|_| ())
            .ok_or_else(|| Inconsistency::NoSuchMatch(match_id.clone()))
    }

    /// A match of the present round that has no result.
    fn must_be_open(&self, match_id: &MatchId) -> Result<&LeagueFixture, Inconsistency> {
        let index = self.league.index_now(match_id);
        let fixture = index.and_then(|index| self.league.round.as_ref()?.fixture(index));
        match fixture {
            Some(fixture) if fixture.result.is_none() && !fixture.is_closed() => Ok(fixture),
            Some(_) => Err(Inconsistency::Twice(match_id.clone())),
            None => Err(Inconsistency::NoSuchMatch(match_id.clone())),
        }
    }
}

fn must_be_as_many(expected: usize, found: usize) -> Result<(), Inconsistency> {
    if found == expected {
        Ok(())
    } else {
        Err(Inconsistency::Length { expected, found })
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
