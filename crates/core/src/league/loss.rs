//! Going on with a journal that lost its last lines, by the organiser's word.
//!
//! Lost lines may have opened seeds, so each match without a result gets a new one, which depends on
//! how many losses were accepted: the epoch. A result that was acknowledged before the loss comes
//! back unchanged: its referee reports it again, and its draw opens the seed of an earlier epoch. No
//! match is ordered before every referee was asked for what it has.

use std::sync::Arc;

use league_games::Turn;
use league_protocol::id::{MatchId, RefereeId};
use league_protocol::message::{MatchResult, MatchResultReport, MatchStatus, Message, OpenedDraw};
use league_protocol::secret::{Commitment, Seed};
use league_protocol::sender::Agent;
use league_protocol::time::Timestamp;

use super::command::{Refusal, Reply};
use super::event::Event;
use super::roster::{AgentIndex, RefereeEntry};
use super::round::{FixtureStage, HandOver, LeagueFixture, LeagueRound};
use super::standings::MatchEnding;
use super::verify::ReportProblem;
use super::{Decision, League};
use crate::draw;
use crate::letter::CallOutcome;

/// How many accepted losses are told apart.
const MAX_LOSSES: u32 = 1_000;
/// How often a referee may put the question off before it counts as answered.
const MAX_PUT_OFF: u32 = 100;

impl League {
    /// How many losses of its journal were accepted.
    pub fn epoch(&self) -> u32 {
        self.epoch
    }

    /// The organiser goes on without lines of the journal that other files know of.
    pub(crate) fn accept_loss(&self, at: Timestamp, known_version: u64) -> Event {
        let (league, secret) = (&self.rules.league_id, self.secrets.draws.keyed());
        let epoch = self.epoch.saturating_add(1);
        let commitments = self.undrawn_fixtures().map(|fixture| {
            let match_id = fixture.match_id.clone();
            let seed = secret.seed(league, &match_id, epoch);
            let commitment = draw::commitment(league, &match_id, self.rules.draws, &seed);
            (match_id, commitment)
        });
        Event::LossAccepted {
            epoch,
            known_version,
            commitments: commitments.collect(),
            at,
        }
    }

    /// The matches of the round that have no result.
    pub(crate) fn open_fixtures(&self) -> impl Iterator<Item = &LeagueFixture> {
        let fixtures = self.round.iter().flat_map(|round| &round.fixtures);
        fixtures.filter(|fixture| fixture.result.is_none())
    }

    /// Those of them that no seed was given for: the others go on from what was handed over.
    pub(crate) fn undrawn_fixtures(&self) -> impl Iterator<Item = &LeagueFixture> {
        self.open_fixtures()
            .filter(|fixture| fixture.handed.is_none())
    }

    /// Each match without a result or a hand-over starts a new attempt with a new seed.
    pub(crate) fn apply_loss(&mut self, epoch: u32, commitments: &[(MatchId, Commitment)]) {
        self.epoch = epoch;
        let secret = self.secrets.draws.keyed();
        for (match_id, commitment) in commitments {
            let seed = secret.seed(&self.rules.league_id, match_id, epoch);
            let Some(fixture) = self.fixture(match_id) else {
                continue;
            };
            let attempt = fixture.attempt.saturating_add(1);
            let tokens = self.match_tokens(fixture, attempt);
            if let Some(fixture) = self.fixture_mut(match_id) {
                fixture.seed = seed;
                fixture.commitment = *commitment;
                fixture.attempt = attempt;
                fixture.tokens = tokens;
                fixture.informed = [false; 2];
            }
        }
        self.ask_referees();
    }

    /// The first attempt of a match: it differs from those that a loss may have made forgotten.
    pub(crate) fn first_attempt(&self) -> u32 {
        self.epoch.saturating_add(1)
    }

    /// After an accepted loss, every referee is asked at the start of a round.
    pub(crate) fn ask_referees(&mut self) {
        self.volatile.unheard.clear();
        for number in 0..self.referees.len() {
            self.ask_referee(number);
        }
    }

    /// A referee that registers during such a round is asked as well.
    pub(crate) fn ask_referee(&mut self, number: u32) {
        let is_open = self.round.as_ref().is_some_and(|round| !round.closed);
        let is_out = self.is_suspended(AgentIndex::Referee(number));
        if self.epoch > 0 && is_open && !is_out {
            self.volatile.unheard.insert(number, 0);
        }
    }

    /// Whether a match may be ordered: every referee was asked for results that the loss took.
    pub(crate) fn may_order(&self) -> bool {
        self.volatile.unheard.is_empty()
    }

    /// What follows from a referee's answer to the question, or from its silence.
    ///
    /// A referee that is reporting puts the answer off. A silent one is asked again until it is
    /// suspended.
    pub(crate) fn hear_of_question(
        &self,
        at: Timestamp,
        id: &RefereeId,
        round: u32,
        outcome: &CallOutcome,
    ) -> Vec<Event> {
        let mut events = self.hear_of_notice(at, &Agent::Referee(id.clone()), outcome.is_ok());
        let present = self.round.as_ref().map(LeagueRound::number);
        let number = self.referees.find(id).filter(|_| present == Some(round));
        let asked = number.and_then(|number| {
            let put_off = self.volatile.unheard.get(&number)?;
            Some((*put_off, self.referees.get(number)?))
        });
        let Some((put_off, referee)) = asked else {
            return events;
        };
        let health = &referee.member.health;
        let is_done = match outcome.as_ref().map(|answer| &answer.message) {
            Ok(Message::LeagueError(error)) if error.code.retryable() => put_off >= MAX_PUT_OFF,
            Ok(_) => true,
            Err(_) => health.suspended_since.is_some() || health.reaches_limit(&self.rules.breaker),
        };
        if is_done || outcome.is_ok() {
            let referee = id.clone();
            events.insert(
                0,
                Event::RefereeHeard {
                    referee,
                    is_done,
                    at,
                },
            );
        }
        events
    }

    pub(crate) fn apply_heard(&mut self, referee: &RefereeId, is_done: bool) {
        let Some(number) = self.referees.find(referee) else {
            return;
        };
        let unheard = &mut self.volatile.unheard;
        if is_done {
            unheard.remove(&number);
        } else if let Some(put_off) = unheard.get_mut(&number) {
            *put_off = put_off.saturating_add(1);
        }
    }

    /// Whether a report tells a result from before an accepted loss.
    ///
    /// A draw follows from a seed that the manager gave for the moves, so a played result was fixed
    /// then. A technical loss needs the seed, which only its acknowledgement opened.
    pub(crate) fn is_from_before_loss(
        &self,
        fixture: &LeagueFixture,
        report: &MatchResultReport,
    ) -> bool {
        let result = &report.result;
        let opened = result
            .draw
            .as_ref()
            .filter(|opened| opened.seed.is_some() || result.status != MatchStatus::TechnicalLoss);
        fixture.result.is_none()
            && opened.is_some_and(|opened| self.earlier_seed(fixture, opened).is_some())
    }

    /// The seed of an earlier epoch that keeps the promise of a draw.
    fn earlier_seed(&self, fixture: &LeagueFixture, opened: &OpenedDraw) -> Option<Seed> {
        let (league, secret) = (&self.rules.league_id, self.secrets.draws.keyed());
        let mut earlier = (0..self.epoch.min(MAX_LOSSES))
            .map(|epoch| secret.seed(league, &fixture.match_id, epoch))
            .filter(|seed| *seed != fixture.seed);
        earlier.find(|seed| {
            let promise = draw::commitment(league, &fixture.match_id, self.rules.draws, seed);
            promise == opened.commitment && opened.seed.is_none_or(|shown| shown == *seed)
        })
    }

    /// Checks a result from before a loss by the rules, and by what the result itself opens.
    pub(crate) fn check_restored(
        &self,
        fixture: &LeagueFixture,
        attempt: u32,
        result: &MatchResult,
    ) -> Result<MatchEnding, ReportProblem> {
        let seed = result.draw.as_ref().and_then(|opened| opened.seed);
        let before = self.as_it_was(fixture, attempt, result, &seed.ok_or(ReportProblem::Draw)?)?;
        self.check_result(&before, result)
    }

    /// A match as it was when it was played, as far as its result tells.
    fn as_it_was(
        &self,
        fixture: &LeagueFixture,
        attempt: u32,
        result: &MatchResult,
        seed: &Seed,
    ) -> Result<LeagueFixture, ReportProblem> {
        let opened = result.draw.as_ref().ok_or(ReportProblem::DrawMissing)?;
        let moves = &result.evidence.moves;
        let hand_over = |rolls: usize, last| HandOver {
            moves: moves.clone(),
            rolls: vec![(opened.attempt, moves.len()); rolls],
            last,
        };
        let mut before = LeagueFixture {
            seed: *seed,
            commitment: opened.commitment,
            attempt,
            handed: Some(hand_over(moves.len() + 1, true)),
            ..fixture.clone()
        };
        let replay = self.replay(&before, moves, seed)?;
        let is_over = matches!(replay.table.turn(), Turn::Over(_));
        before.handed = (replay.rolls > 0).then(|| hand_over(replay.rolls, is_over));
        Ok(before)
    }

    /// The whole result of a report from before a loss, and how it ended.
    fn restored(
        &self,
        fixture: &LeagueFixture,
        report: &MatchResultReport,
    ) -> Result<(LeagueFixture, MatchResult, MatchEnding), ReportProblem> {
        self.check_place(fixture, &report.league_id, report.round_id)?;
        let opened = report.result.draw.as_ref();
        // A match that was handed over kept its seed.
        let own = opened.filter(|opened| opened.commitment == fixture.commitment);
        let seed = own.map(|_| fixture.seed);
        let seed = seed.or_else(|| self.earlier_seed(fixture, opened?));
        let seed = seed.ok_or(ReportProblem::Draw)?;
        let before = self.as_it_was(fixture, report.attempt, &report.result, &seed)?;
        let whole = self.opened(&before, &report.result);
        let ending = self.check_result(&before, &whole)?;
        Ok((before, whole, ending))
    }

    /// A referee's journal tells of an acknowledged result.
    pub(crate) fn take_back_result(
        &self,
        at: Timestamp,
        referee: &RefereeId,
        report: &MatchResultReport,
    ) -> Result<Decision, Refusal> {
        let fixture = self.reported(&report.match_id)?;
        if fixture.result.is_some() {
            return Ok(Decision::reply(Reply::Noted));
        }
        self.restore(at, referee, fixture, report)
    }

    /// Takes a result back that the manager had before the loss: of any attempt, from the referee
    /// that ran it, if it follows from the rules.
    pub(crate) fn restore(
        &self,
        at: Timestamp,
        referee: &RefereeId,
        fixture: &LeagueFixture,
        report: &MatchResultReport,
    ) -> Result<Decision, Refusal> {
        let restored = self.restored(fixture, report);
        let (before, result, ending) = restored.map_err(|problem| Refusal::BadReport {
            match_id: fixture.match_id.clone(),
            problem,
        })?;
        let reply = self.acknowledged(&before, report, &result);
        let holder = self.referee_of(fixture).filter(|_| fixture.is_started());
        let mut events = vec![Event::ResultRecorded {
            match_id: fixture.match_id.clone(),
            referee: Some(referee.clone()),
            attempt: report.attempt,
            result: Arc::new(result),
            next: holder.and_then(|holder| self.next_for(holder)),
            restored: true,
            at,
        }];
        events.extend(self.put_out(at, fixture, ending));
        Ok(Decision::accept(events, reply))
    }

    /// Takes a match from the referee that was to run it again.
    pub(crate) fn hand_back(
        &mut self,
        match_id: &MatchId,
        referee: Option<&RefereeId>,
        attempt: u32,
    ) {
        let Some(index) = self.index_now(match_id) else {
            return;
        };
        self.detach(index);
        let number = referee.and_then(|referee| self.referees.find(referee));
        let round = self.round.as_mut();
        if let Some(fixture) = round.and_then(|round| round.fixture_mut(index)) {
            fixture.referee = number;
            fixture.attempt = attempt;
            fixture.stage = FixtureStage::Waiting;
        }
    }

    /// The referees that are still to be asked.
    pub(crate) fn unheard(&self) -> impl Iterator<Item = &RefereeEntry> {
        let numbers = self.volatile.unheard.keys();
        numbers.filter_map(|&number| self.referees.get(number))
    }
}
