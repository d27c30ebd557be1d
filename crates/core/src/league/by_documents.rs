//! Referees written by the documents alone (000 §5.4 and §8.7, ruling 25a): how they are recognised
//! and ordered, and when the result that they tell counts.
//!
//! Such a referee shows its token to players and draws a number of its own. So its token proves
//! nothing, and its result could only have come about; both is written down and shown.

use std::sync::Arc;
use std::time::Duration;

use league_games::{Dice, Table, Turn};
use league_protocol::fault::Code;
use league_protocol::id::MatchId;
use league_protocol::message::{Evidence, MatchResult, MatchStatus, Message};
use league_protocol::time::Timestamp;
use league_protocol::token::TokenHash;

use super::command::{Refusal, Reply};
use super::event::Event;
use super::report::{check_right, refused};
use super::roster::{AgentIndex, RefereeEntry};
use super::round::{FixtureStage, LeagueFixture};
use super::standings::MatchEnding;
use super::verify::{ReportProblem, check_length};
use super::{Decision, League};
use crate::judge::{follow, roll_all};
use crate::letter::{CallOutcome, FailureCause};

/// How long a told result waits for a report that differs from it.
const TOLD_WAIT: Duration = Duration::from_secs(2);
/// How many rolls are tried to find one that leads to a told result; far more than there are numbers
/// to draw.
const MAX_TRIED_ROLLS: u64 = 4_096;

impl League {
    /// Where a referee answers that shows this token and is known to show it to players too: its
    /// reports count from that machine only.
    pub fn exposed_endpoint(&self, token: TokenHash) -> Option<&Arc<str>> {
        let owner = *self.tokens.get(&token)?;
        let member = self.member(owner).filter(|_| self.is_by_documents(owner));
        Some(&member?.peer.endpoint)
    }

    pub(crate) fn is_by_documents(&self, who: AgentIndex) -> bool {
        match who {
            AgentIndex::Referee(number) => {
                let referee = self.referees.get(number);
                referee.is_some_and(|referee| referee.by_documents)
            }
            AgentIndex::Player(_) => false,
        }
    }

    /// The token of a referee that may show its own to the players of a match. Our referees make a
    /// pledge when they register, and show the token of the match.
    pub(crate) fn shown_token(&self, fixture: &LeagueFixture) -> Option<TokenHash> {
        let referee = self.referee_of(fixture)?;
        let may_show = self.rules.takes_told_draws() && !referee.member.returns;
        may_show.then_some(referee.member.token)
    }

    /// Notes a referee that does not know the order that it was sent: it is called as the documents
    /// show from now on.
    pub(crate) fn learn_of_documents(
        &self,
        at: Timestamp,
        fixture: &LeagueFixture,
        number: u32,
        outcome: &CallOutcome,
    ) -> Option<Event> {
        let referee = self.referees.get(number)?;
        let may_learn = self.shown_token(fixture).is_some()
            && !referee.by_documents
            && !fixture.needs_proof()
            && fixture.stage == FixtureStage::Ordered;
        (may_learn && is_unknown(outcome)).then(|| Event::RefereeByDocuments {
            referee: referee.id.clone(),
            at,
        })
    }

    /// A referee that proves its draws, for a match that needs one.
    pub(crate) fn proving_referee(&self, may: impl Fn(u32) -> bool) -> Option<&RefereeEntry> {
        let proves = |number| !self.is_by_documents(AgentIndex::Referee(number));
        let plan = self.plan(1, |number| may(number) && proves(number));
        plan.first().copied()
    }

    /// Weighs the report of a referee whose token others know. A bad one costs it nothing: anyone
    /// may have sent it.
    pub(crate) fn weigh_told(
        &self,
        at: Timestamp,
        fixture: &LeagueFixture,
        number: u32,
        reported: &MatchResult,
        is_at_address: bool,
    ) -> Result<Decision, Refusal> {
        let Some(referee) = self.referees.get(number) else {
            return Err(Refusal::NotAReferee);
        };
        if !is_at_address {
            return Err(Refusal::OtherMachine(referee.id.clone()));
        }
        // It knows nothing of attempts: the match must be open there now.
        check_right(fixture, number, fixture.attempt)?;
        let match_id = fixture.match_id.clone();
        let digest = self.digest(&(&match_id, fixture.attempt, reported));
        let told = match self.told_result(fixture, reported) {
            Ok((told, _)) => Arc::new(told),
            Err(problem) => {
                let event = self.refusal_event(at, fixture, referee, &digest, &problem);
                let refusal = Refusal::BadReport { match_id, problem };
                return Ok(refused(fixture, &digest, event, refusal));
            }
        };
        let before = fixture.told.as_ref().map(|(told, _)| told);
        match fixture.result.as_ref().or(before) {
            Some(standing) if *standing == told => Ok(Decision::reply(Reply::Acknowledged)),
            Some(_) => Ok(self.contradicted(at, fixture, referee, digest)),
            None => {
                if let Some(decision) = self.doubt(at, fixture, number, (&told, false)) {
                    return Ok(decision);
                }
                let event = self.tell_result(at, fixture, &told);
                Ok(Decision::accept(
                    event.into_iter().collect(),
                    Reply::Acknowledged,
                ))
            }
        }
    }

    /// A second report differs: a result that is recorded stands, and a match whose result is not
    /// stops here. It goes to a referee that proves its draws, or waits for one.
    fn contradicted(
        &self,
        at: Timestamp,
        fixture: &LeagueFixture,
        referee: &RefereeEntry,
        digest: String,
    ) -> Decision {
        let match_id = fixture.match_id.clone();
        let conflict = Event::ReportConflicted {
            match_id: match_id.clone(),
            referee: referee.id.clone(),
            digest: digest.clone(),
            at,
        };
        if fixture.result.is_some() {
            return refused(fixture, &digest, conflict, Refusal::Conflict(match_id));
        }
        Decision {
            events: vec![conflict, self.stop_match(at, fixture, referee)],
            answer: Err(Refusal::Contested(match_id)),
        }
    }

    /// A told result, which is recorded after a while.
    pub(crate) fn tell_result(
        &self,
        at: Timestamp,
        fixture: &LeagueFixture,
        result: &Arc<MatchResult>,
    ) -> Option<Event> {
        let referee = self.referee_of(fixture)?;
        let is_told = referee.by_documents && result.draw.is_none();
        is_told.then(|| Event::ResultTold {
            match_id: fixture.match_id.clone(),
            referee: referee.id.clone(),
            attempt: fixture.attempt,
            result: Arc::clone(result),
            at,
        })
    }

    pub(crate) fn apply_told_result(
        &mut self,
        match_id: &MatchId,
        result: &Arc<MatchResult>,
        at: Timestamp,
    ) {
        let index = self.index_now(match_id);
        if let (Some(index), Some(round)) = (index, &mut self.round)
            && let Some(fixture) = round.fixture_mut(index)
        {
            let until = at + TOLD_WAIT;
            fixture.stage = FixtureStage::Running;
            fixture.claim = None;
            fixture.told = Some((Arc::clone(result), until));
            round.told.insert((until, index));
        }
    }

    /// A report differs from a told result: neither counts.
    pub(crate) fn contest(&mut self, match_id: &MatchId) {
        let index = self.index_now(match_id);
        if let (Some(index), Some(round)) = (index, &mut self.round)
            && let Some(fixture) = round.fixture_mut(index)
            && fixture.told.is_some()
        {
            fixture.is_contested = true;
            round.drop_told(index);
        }
    }

    /// Records a told result whose time has come; one in each step, as each changes who is next.
    pub(crate) fn record_told(&self, at: Timestamp) -> Vec<Event> {
        let round = self.round.as_ref();
        let due = round.and_then(|round| {
            let (until, index) = round.told.first()?;
            round.fixture(*index).filter(|_| *until <= at)
        });
        let due = due.and_then(|fixture| Some((fixture, fixture.told.as_ref()?)));
        let Some((fixture, (result, _))) = due else {
            return Vec::new();
        };
        let ending = MatchEnding::of(result);
        let recorded = ending.map(|ending| self.recorded(at, fixture, result, ending, false));
        recorded.unwrap_or_default()
    }

    /// The result that a report without a proven draw tells, if the rules can lead to it: the choices
    /// are legal, and some draw leads to this end. What follows from them is filled in.
    pub(crate) fn told_result(
        &self,
        fixture: &LeagueFixture,
        reported: &MatchResult,
    ) -> Result<(MatchResult, MatchEnding), ReportProblem> {
        if fixture.handed.is_some() {
            return Err(ReportProblem::HandedOver);
        }
        self.check_players(fixture, reported)?;
        let ending = self.check_ending(reported)?;
        check_length(reported)?;
        let mut told = MatchResult {
            draw: None,
            evidence: Evidence::default(),
            ..reported.clone()
        };
        if told.status == MatchStatus::TechnicalLoss {
            if !told.details.is_empty() {
                return Err(ReportProblem::Unplayed);
            }
            return Ok((told, ending));
        }
        let table = self.find_end(&told, ending)?;
        let names = told.players.each_ref().map(|player| player.as_str());
        told.reason = table.reason(&names);
        if !told.details.is_empty() {
            told.details = table.details();
        }
        Ok((told, ending))
    }

    /// Tries draws until one leads from the choices to a told end.
    fn find_end(
        &self,
        told: &MatchResult,
        ending: MatchEnding,
    ) -> Result<Box<dyn Table>, ReportProblem> {
        for seed in 0..MAX_TRIED_ROLLS {
            let (mut table, mut dice) = (self.opening.0.boxed_clone(), Dice::seeded(seed));
            let mut rolled = false;
            let roll = |table: &mut dyn Table| {
                roll_all(table, &mut dice);
                rolled = true;
                true
            };
            follow(&mut *table, told, roll, |_, _| {})?;
            let details = table.details();
            let mut known = told.details.iter();
            let agrees = known.all(|(name, value)| details.get(name) == Some(value));
            let is_end =
                matches!(table.turn(), Turn::Over(outcome) if ending == MatchEnding::from(outcome));
            if agrees && is_end {
                return Ok(table);
            }
            if !rolled {
                break;
            }
        }
        Err(ReportProblem::End)
    }
}

/// Whether an agent answers an order as one that does not know it; silence says nothing.
fn is_unknown(outcome: &CallOutcome) -> bool {
    let is_about_form = |code: Code| matches!(code, Code::InvalidMessage | Code::MissingField);
    match outcome {
        Ok(answer) => match &answer.message {
            Message::Acknowledged => true,
            Message::LeagueError(error) => is_about_form(error.code),
            _ => false,
        },
        Err(failure) => failure.cause == FailureCause::Peer && is_about_form(failure.code),
    }
}
