//! Going on with a journal that lost its last lines, by the organiser's word.
//!
//! Lost lines may have opened seeds and keys, so each match whose result is not fixed begins again,
//! with a seed and with attempts that depend on how many losses were accepted: the epoch. A result
//! that was acknowledged before the loss comes back unchanged: its referee reports it again, with
//! the receipt that came with the acknowledgement. No match is ordered before every referee was asked
//! for what it has, or had its time to answer.

use std::sync::Arc;
use std::time::Duration;

use league_games::Turn;
use league_protocol::id::{MatchId, RefereeId};
use league_protocol::message::{MatchResult, MatchResultReport, Message, OpenedDraw};
use league_protocol::secret::{Receipt, Seed};
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
use crate::timeouts::ATTEMPTS_PER_EPOCH;

/// How many accepted losses are told apart.
const MAX_LOSSES: u32 = 1_000;
/// How long referees may take to report again what they have of a round.
const QUESTION_LIMIT: Duration = Duration::from_secs(120);

impl League {
    /// How many losses of its journal were accepted.
    pub fn epoch(&self) -> u32 {
        self.epoch
    }

    /// The organiser goes on without lines of the journal that other files know of.
    pub(crate) fn accept_loss(&self, at: Timestamp, known_version: u64) -> Event {
        let (league, secret) = (&self.rules.league_id, self.secrets.draws.keyed());
        let epoch = self.epoch.saturating_add(1);
        let commitments = self.unfixed_fixtures().map(|fixture| {
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
        fixtures.filter(|fixture| fixture.result.is_none() && !fixture.is_closed())
    }

    /// Those of them that begin again after a loss: the others have moves that decide them.
    pub(crate) fn unfixed_fixtures(&self) -> impl Iterator<Item = &LeagueFixture> {
        self.open_fixtures().filter(|fixture| !fixture.is_fixed())
    }

    /// Each match whose result is not fixed begins again, with a new seed.
    pub(crate) fn apply_loss(&mut self, event: &Event) {
        let Event::LossAccepted {
            epoch,
            commitments,
            at,
            ..
        } = event
        else {
            return;
        };
        self.epoch = *epoch;
        let (secret, attempt) = (self.secrets.draws.keyed(), self.first_attempt());
        for (match_id, commitment) in commitments {
            let seed = secret.seed(&self.rules.league_id, match_id, *epoch);
            let Some(fixture) = self.fixture(match_id) else {
                continue;
            };
            let tokens = self.match_tokens(fixture, attempt);
            if let Some(fixture) = self.fixture_mut(match_id) {
                fixture.seed = seed;
                fixture.commitment = *commitment;
                fixture.attempt = attempt;
                fixture.tokens = tokens;
                fixture.handed = None;
                fixture.claim = None;
                fixture.informed = [false; 2];
            }
        }
        if let Some(round) = &mut self.round {
            round.announced.forget();
        }
        self.ask_referees(*at);
    }

    /// The attempt of a match that no referee was told to run yet.
    pub(crate) fn attempt_before_first(&self) -> u32 {
        self.epoch.saturating_mul(ATTEMPTS_PER_EPOCH)
    }

    /// The first attempt of a match: above all that a loss may have made forgotten.
    pub fn first_attempt(&self) -> u32 {
        self.attempt_before_first().saturating_add(1)
    }

    /// After an accepted loss, every referee is asked at the start of a round.
    pub(crate) fn ask_referees(&mut self, at: Timestamp) {
        self.volatile.referees_to_ask.clear();
        self.volatile.ask_until = None;
        for number in 0..self.referees.len() {
            self.ask_referee(number, at);
        }
    }

    /// A referee that registers or recovers during such a round is asked as well, unless the time
    /// for questions is over: no referee holds the round up for longer.
    pub(crate) fn ask_referee(&mut self, number: u32, at: Timestamp) {
        let is_open = self.round.as_ref().is_some_and(|round| !round.closed);
        let is_out = self.is_suspended(AgentIndex::Referee(number));
        let is_over = self.volatile.ask_until.is_some_and(|until| until <= at);
        // A referee by the documents would take the question for an order.
        let referee = self.referees.get(number);
        let knows_questions = referee.is_some_and(|referee| !referee.by_documents);
        if self.epoch > 0 && is_open && !is_out && !is_over && knows_questions {
            self.volatile.referees_to_ask.insert(number);
        }
    }

    /// Begins the time for questions with the first probes after they were sent, so that a restart
    /// asks again.
    pub(crate) fn limit_questions(&mut self, at: Timestamp) {
        if !self.may_order() {
            let until = at + QUESTION_LIMIT;
            self.volatile.ask_until.get_or_insert(until);
        }
    }

    /// Ends the questions of the round that had their time.
    pub(crate) fn end_questions(&self, at: Timestamp) -> Vec<Event> {
        let is_over = self.volatile.ask_until.is_some_and(|until| until <= at);
        let asked = self.referees_to_ask().filter(|_| is_over);
        let heard = asked.map(|referee| Event::RefereeHeard {
            referee: referee.id.clone(),
            at,
        });
        heard.collect()
    }

    /// Whether a match may be ordered: every referee was asked for results that the loss took.
    pub(crate) fn may_order(&self) -> bool {
        self.volatile.referees_to_ask.is_empty()
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
        let asked = number.filter(|number| self.volatile.referees_to_ask.contains(number));
        let Some(referee) = asked.and_then(|number| self.referees.get(number)) else {
            return events;
        };
        let health = &referee.member.health;
        let is_done = match outcome.as_ref().map(|answer| &answer.message) {
            Ok(Message::LeagueError(error)) => !error.code.retryable(),
            Ok(_) => true,
            Err(_) => health.suspended_since.is_some() || health.reaches_limit(&self.rules.breaker),
        };
        if is_done {
            let referee = id.clone();
            events.insert(0, Event::RefereeHeard { referee, at });
        }
        events
    }

    pub(crate) fn apply_heard(&mut self, referee: &RefereeId) {
        if let Some(number) = self.referees.find(referee) {
            self.volatile.referees_to_ask.remove(&number);
        }
    }

    /// Whether a result of a match may have been lost.
    pub(crate) fn may_restore(&self, fixture: &LeagueFixture) -> bool {
        self.epoch > 0 && fixture.result.is_none() && !fixture.is_closed()
    }

    /// What proves that the manager took a result from a referee.
    pub(crate) fn receipt(
        &self,
        referee: &RefereeId,
        report: &MatchResultReport,
        result: &MatchResult,
    ) -> Receipt {
        let (league, secret) = (&self.rules.league_id, self.secrets.tokens.keyed());
        secret.receipt(league, &report.match_id, referee, report.attempt, result)
    }

    /// Whether a report proves that the manager took exactly this result from this referee.
    pub(crate) fn is_receipted(&self, referee: &RefereeId, report: &MatchResultReport) -> bool {
        let receipt = || self.receipt(referee, report, &report.result);
        report.receipt.is_some_and(|shown| shown == receipt())
    }

    /// The seed of this or an earlier epoch that keeps the promise of a draw.
    fn promised_seed(&self, fixture: &LeagueFixture, opened: &OpenedDraw) -> Option<Seed> {
        let (league, secret) = (&self.rules.league_id, self.secrets.draws.keyed());
        let mut seeds = (0..=self.epoch.min(MAX_LOSSES))
            .map(|epoch| secret.seed(league, &fixture.match_id, epoch));
        seeds.find(|seed| {
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
        let seed = opened.and_then(|opened| self.promised_seed(fixture, opened));
        let seed = seed.ok_or(ReportProblem::Draw)?;
        let before = self.as_it_was(fixture, report.attempt, &report.result, &seed)?;
        let whole = self.opened(&before, &report.result);
        let ending = self.check_result(&before, &whole)?;
        Ok((before, whole, ending))
    }

    /// Takes back a result that a referee's journal below the manager's root has: of a referee of
    /// this machine, or with the receipt.
    pub(crate) fn take_back_result(
        &self,
        at: Timestamp,
        referee: &RefereeId,
        report: &MatchResultReport,
        is_local: bool,
    ) -> Result<Decision, Refusal> {
        let fixture = self.reported(&report.match_id)?;
        if !self.may_restore(fixture) {
            return Ok(Decision::reply(Reply::Noted));
        }
        if !is_local && !self.is_receipted(referee, report) {
            return Err(Refusal::NotYours(report.match_id.clone()));
        }
        self.restore(at, referee, fixture, report)
    }

    /// Takes a result back that the manager had before the loss, if it follows from the rules.
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
        let reply = self.acknowledged(&before, referee, report, &result);
        let result = Arc::new(result);
        let holder = self.referee_of(fixture).filter(|_| fixture.is_started());
        let mut events = vec![Event::ResultRecorded {
            match_id: fixture.match_id.clone(),
            referee: Some(referee.clone()),
            attempt: report.attempt,
            result: Arc::clone(&result),
            next: holder.and_then(|holder| self.next_for(holder)),
            restored: true,
            at,
        }];
        events.extend(self.put_out(at, fixture, &result, ending));
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
    pub(crate) fn referees_to_ask(&self) -> impl Iterator<Item = &RefereeEntry> {
        let numbers = self.volatile.referees_to_ask.iter();
        numbers.filter_map(|&number| self.referees.get(number))
    }
}
