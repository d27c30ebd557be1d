//! Steps that the league takes by itself: the start, the next round, assignment of referees,
//! rulings, probes, and reactions to the outcome of a letter.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;
use std::time::Duration;

use league_protocol::id::{MatchId, PlayerId, RefereeId};
use league_protocol::message::Message;
use league_protocol::secret::Commitment;
use league_protocol::sender::Agent;
use league_protocol::time::Timestamp;

use super::command::{CorrelationId, Refusal};
use super::event::{Event, Reassignment};
use super::lever::LeverRefusal;
use super::roster::{AgentIndex, RefereeEntry};
use super::round::{FixtureStage, LeagueFixture, LeagueRound};
use super::rules::Assignment;
use super::{League, Phase};
use crate::draw;
use crate::letter::{CallFailure, CallOutcome};
use crate::timeouts::is_forced;

/// Probes in a row that a referee may leave unanswered.
const MAX_UNANSWERED: u32 = 3;
/// How many answers of a match an extended clock is counted for at most.
const MAX_EXTENDED_ANSWERS: u64 = 10;
/// The most matches that the manager rules in one step.
const MAX_RULINGS: usize = 256;
/// The most agents that are probed in one step.
const MAX_PROBES: usize = 1_024;

impl League {
    /// Whether the organiser may start the league.
    pub(crate) fn check_startable(&self) -> Result<(), Refusal> {
        if self.phase != Phase::Registering {
            return Err(Refusal::AlreadyStarted);
        }
        if self.paused {
            return Err(LeverRefusal::Paused.into());
        }
        self.check_enough()
    }

    pub(crate) fn check_enough(&self) -> Result<(), Refusal> {
        let (players, referees) = (self.players.seated(), self.referees.len());
        let min_players = self.rules.least_players();
        if players >= min_players && referees >= 1 {
            return self.format_plan().check().map_err(Refusal::Format);
        }
        Err(Refusal::TooFew {
            players,
            referees,
            min_players,
        })
    }

    /// When the next step is due.
    pub(crate) fn next_step(&self) -> Option<Timestamp> {
        if self.volatile.stopped {
            return None;
        }
        match (self.phase, &self.round) {
            (Phase::Registering, _) if self.is_complete() => at_once(),
            (Phase::Registering | Phase::Completed, _) => None,
            (Phase::Running, _) if self.end_ordered => at_once(),
            (Phase::Running, None) if self.paused => None,
            (Phase::Running, Some(round))
                if self.volatile.resumed
                    && !self.is_due(round)
                    && !self.may_give(round)
                    && self.startable(round).is_none() =>
            {
                let waits = self.first_release().into_iter();
                let opening = round.closed.then(|| self.next_opening(round));
                let joining = self.joining().map(|(due, _)| due);
                let waits = waits.chain(opening.flatten()).chain(joining);
                waits.chain([self.volatile.next_probes]).min()
            }
            (Phase::Running, _) => at_once(),
        }
    }

    /// Takes the next step, if one is due.
    pub(crate) fn tick_events(&self, at: Timestamp) -> Vec<Event> {
        if self.volatile.stopped {
            return Vec::new();
        }
        match (self.phase, &self.round) {
            (Phase::Registering, _) if self.is_complete() => vec![Event::LeagueStarted { at }],
            (Phase::Registering | Phase::Completed, _) => Vec::new(),
            (Phase::Running, _) if self.end_ordered => vec![Event::LeagueCompleted { at }],
            (Phase::Running, None) if self.paused => Vec::new(),
            (Phase::Running, None) => vec![self.open_round(at, 1)],
            (Phase::Running, Some(_)) if !self.volatile.resumed => vec![Event::Resumed { at }],
            (Phase::Running, Some(round)) if self.may_close(round) => self.close_round(at, round),
            (Phase::Running, Some(round))
                if round.closed && self.next_opening(round).is_some_and(|due| due <= at) =>
            {
                vec![self.open_round(at, round.number + 1)]
            }
            (Phase::Running, Some(round)) if !round.unplayable.is_empty() => {
                let unplayable = round.unplayable.iter().take(MAX_RULINGS);
                unplayable
                    .flat_map(|&index| self.ruled(at, index))
                    .collect()
            }
            (Phase::Running, Some(round)) if self.joining().is_some_and(|(due, _)| due <= at) => {
                self.add_matches(at, round).into_iter().collect()
            }
            (Phase::Running, Some(round)) if self.may_give(round) => {
                self.give_waiting(at, round).into_iter().collect()
            }
            (Phase::Running, Some(round)) if self.startable(round).is_some() => {
                vec![Event::MatchesMoved {
                    moves: Vec::new(),
                    next: self.startable(round),
                    at,
                }]
            }
            (Phase::Running, Some(_)) if self.first_release().is_some_and(|due| due <= at) => {
                self.release_due(at)
            }
            (Phase::Running, Some(_)) if at < self.volatile.next_probes => Vec::new(),
            (Phase::Running, Some(round)) => self.look_for_silence(at, round),
        }
    }

    /// Whether so many have come that the league begins by itself.
    fn is_complete(&self) -> bool {
        let all_came = self.rules.start_when.is_some_and(|(players, referees)| {
            self.players.seated() >= players && self.referees.len() >= referees
        });
        let is_due = self.start_ordered || all_came && !self.paused;
        is_due && self.check_enough().is_ok()
    }

    /// Whether the round is played. The last one also waits for the players that do not know their
    /// result yet, as the end of the league is told last, and for the organiser to go on.
    fn may_close(&self, round: &LeagueRound) -> bool {
        let may_end = || self.volatile.news_held.is_empty() && !self.paused;
        let is_played = || !round.closed && self.joining().is_none();
        round.open == 0 && (is_played() || round.closed && self.is_last(round) && may_end())
    }

    /// When the round after this one may begin; `None` after the last one and in a pause.
    fn next_opening(&self, round: &LeagueRound) -> Option<Timestamp> {
        let is_next = !self.paused && !self.is_last(round);
        is_next.then(|| round.opened + self.rules.round_every)
    }

    /// When the next round begins if this one is over by then; `None` if that has no set time.
    pub fn next_round_at(&self) -> Option<Timestamp> {
        let is_timed = !self.rules.round_every.is_zero();
        let round = self.round.as_ref().filter(|_| is_timed)?;
        self.next_opening(round)
    }

    /// A match that waits at a referee which has room for it.
    fn startable(&self, round: &LeagueRound) -> Option<MatchId> {
        if self.queued == 0 || self.is_at_limit() {
            return None;
        }
        let mut referees = self.referees.members.iter();
        let free = referees
            .find(|referee| referee.running < referee.capacity && !referee.queue.is_empty())?;
        let fixture = round.fixture(*free.queue.front()?)?;
        Some(fixture.match_id.clone())
    }

    /// Whether as many matches are played as the rules allow at once.
    pub(crate) fn is_at_limit(&self) -> bool {
        let running = self.referees.members.iter();
        let running: u64 = running.map(|referee| u64::from(referee.running)).sum();
        let most = self.rules.matches_at_once;
        most.is_some_and(|most| running >= u64::from(most))
    }

    fn is_last(&self, round: &LeagueRound) -> bool {
        !self.has_round_after(round.number)
    }

    /// Whether a round calls for a step before anything else happens.
    fn is_due(&self, round: &LeagueRound) -> bool {
        self.may_close(round) || !round.unplayable.is_empty()
    }

    fn may_give(&self, round: &LeagueRound) -> bool {
        let may_give = self.volatile.referee_came && self.has_referee();
        may_give && self.givable(round).next().is_some()
    }

    /// The waiting matches that a referee may be given, if there is one at all.
    fn givable<'r>(&self, round: &'r LeagueRound) -> impl Iterator<Item = &'r LeagueFixture> {
        let waiting = round.waiting.iter();
        waiting
            .filter_map(|&index| round.fixture(index))
            .filter(|fixture| !fixture.needs_proof() || self.proving_referee(|_| true).is_some())
    }

    /// Whether all players know their results, those of earlier rounds too.
    fn is_all_told(&self, round: &LeagueRound) -> bool {
        let is_told = |own: &LeagueFixture| own.untold == [false; 2];
        self.volatile.news_held.is_empty() && round.fixtures.iter().all(is_told)
    }

    /// Closes the round, and opens the next one or ends the league.
    fn close_round(&self, at: Timestamp, round: &LeagueRound) -> Vec<Event> {
        let closed = (!round.closed).then_some(Event::RoundClosed {
            round: round.number,
            at,
        });
        let is_untimed = self.rules.round_every.is_zero() && !self.paused;
        let next = if !self.is_last(round) && self.is_in_time(at) {
            is_untimed.then(|| self.open_round(at, round.number + 1))
        } else if self.paused {
            None
        } else if round.closed || self.is_all_told(round) {
            Some(Event::LeagueCompleted { at })
        } else {
            None
        };
        closed.into_iter().chain(next).collect()
    }

    /// Probes silent agents, suspends agents that missed too many probes, and takes away overdue
    /// matches.
    fn look_for_silence(&self, at: Timestamp, round: &LeagueRound) -> Vec<Event> {
        let mut events = Vec::new();
        let mut agents = Vec::new();
        for (number, referee) in (0..).zip(&self.referees.members) {
            let health = &referee.member.health;
            let silent = health.quiet_since + self.rules.probe_every <= at;
            if referee.running == 0 || health.suspended_since.is_some() || !silent {
                continue;
            }
            if health.unanswered < MAX_UNANSWERED {
                agents.push(Agent::Referee(referee.id.clone()));
            } else if let Some(moved) = self.relieve(at, number) {
                let referee = referee.id.clone();
                events.push(Event::RefereeSuspended { referee, at });
                events.push(moved);
                // One at a time: who takes the matches is worked out anew after each.
                return events;
            }
        }
        let rested = self.volatile.suspended.iter().filter_map(|&who| {
            let member = self.member(who)?;
            let rested = member.health.may_be_asked(&self.rules.breaker, at);
            rested.then(|| member.peer.agent.clone())
        });
        agents.extend(rested);
        agents.truncate(MAX_PROBES);
        let unsent = self.volatile.unsent.clone();
        events.push(Event::ProbesSent { agents, unsent, at });
        events.extend(self.overdue(at, round));
        events
    }

    /// Suspends the referee of the first overdue match; it loses all its matches.
    ///
    /// The referee may well answer probes: without its token it cannot report, and it may register
    /// again without a token only while it is suspended.
    fn overdue(&self, at: Timestamp, round: &LeagueRound) -> Vec<Event> {
        let late = |fixture: &&LeagueFixture| {
            let limit = self.rules.match_limit + self.extension(fixture);
            fixture.stage == FixtureStage::Running && fixture.since + limit <= at
        };
        let fixture = round.fixtures.iter().find(late);
        let number = fixture.and_then(|fixture| fixture.referee);
        let referee = number.and_then(|number| Some((number, self.referees.get(number)?)));
        let Some((number, referee)) = referee else {
            return Vec::new();
        };
        let referee = referee.id.clone();
        let mut events = vec![Event::RefereeSuspended { referee, at }];
        events.extend(self.relieve(at, number));
        events
    }

    /// What a match may take longer, as the organiser extended its clock or those of its players.
    fn extension(&self, fixture: &LeagueFixture) -> Duration {
        let seats = fixture.pairing.seats.iter();
        let of_players = seats.filter_map(|seat| self.players.get(*seat));
        let of_players: u64 = of_players.map(|player| u64::from(player.extra_time)).sum();
        let seconds = of_players + 2 * u64::from(fixture.extra_time);
        let answers = u64::from(self.rules.timeouts.attempts.max(1)) * MAX_EXTENDED_ANSWERS;
        Duration::from_secs(seconds.saturating_mul(answers))
    }

    /// A referee fails a match: it loses this one, and all if it has failed too often.
    pub(crate) fn lose(&self, at: Timestamp, fixture: &LeagueFixture, number: u32) -> Vec<Event> {
        let Some(referee) = self.referees.get(number) else {
            return Vec::new();
        };
        let agent = Agent::Referee(referee.id.clone());
        let mut events = vec![Event::AgentFailed { agent, at }];
        if referee.member.health.reaches_limit(&self.rules.breaker) {
            events.extend(self.relieve(at, number));
        } else {
            events.push(self.take_away(at, fixture, number));
        }
        events
    }

    pub(crate) fn take_outcome(
        &self,
        at: Timestamp,
        correlation: &CorrelationId,
        outcome: &CallOutcome,
    ) -> Vec<Event> {
        if self.phase != Phase::Running {
            return Vec::new();
        }
        let told = matches!(correlation, CorrelationId::GameOver { .. });
        if !told && outcome.as_ref().is_err_and(CallFailure::is_local) {
            return self.hear_of_unsent(at, correlation);
        }
        match correlation {
            CorrelationId::Order {
                match_id,
                attempt,
                referee,
            } => match self.ordered(match_id, *attempt, referee) {
                // It was sent before the referee was known not to understand it.
                Some((_, number)) if self.is_by_documents(AgentIndex::Referee(number)) => {
                    Vec::new()
                }
                Some((fixture, number)) => self.hear_of_order(at, fixture, number, outcome),
                None => Vec::new(),
            },
            CorrelationId::Assignment {
                match_id,
                attempt,
                referee,
            } => match self.ordered(match_id, *attempt, referee) {
                Some((fixture, number)) => self.hear_of_order(at, fixture, number, outcome),
                None => Vec::new(),
            },
            CorrelationId::Announcement {
                match_id,
                attempt,
                player_id,
            } => self.hear_of_announcement(at, match_id, *attempt, player_id, outcome.is_ok()),
            CorrelationId::GameOver {
                match_id,
                player_id,
            } => self.fixture(match_id).map_or_else(Vec::new, |fixture| {
                self.told(at, fixture, vec![player_id.clone()])
            }),
            CorrelationId::CallQuery(asked) => self.hear_of_call(at, asked, outcome),
            CorrelationId::Probe(agent) => self.hear_of_probe(at, agent, outcome.is_ok()),
            CorrelationId::Notice(agent) => self.hear_of_notice(at, agent, outcome.is_ok()),
        }
    }

    /// A letter did not leave this machine: no agent is to blame. A match waits until the next
    /// probes; an announcement or a question to a player is sent again with them.
    fn hear_of_unsent(&self, at: Timestamp, correlation: &CorrelationId) -> Vec<Event> {
        match correlation {
            CorrelationId::Order {
                match_id,
                attempt,
                referee,
            }
            | CorrelationId::Assignment {
                match_id,
                attempt,
                referee,
            } => {
                let ordered = self.ordered(match_id, *attempt, referee);
                let untaken = |fixture: &LeagueFixture| fixture.stage == FixtureStage::Ordered;
                let untaken = ordered.filter(|(fixture, _)| untaken(fixture));
                let waits =
                    untaken.map(|(fixture, number)| self.move_one(at, fixture, number, |_| false));
                waits.into_iter().collect()
            }
            CorrelationId::Announcement { .. }
            | CorrelationId::CallQuery(_)
            | CorrelationId::Probe(_) => {
                let correlation = correlation.clone();
                vec![Event::LetterUnsent { correlation }]
            }
            CorrelationId::GameOver { .. } | CorrelationId::Notice(_) => Vec::new(),
        }
    }

    /// The match that an order was about, and its referee, if both still go with it.
    fn ordered(
        &self,
        match_id: &MatchId,
        attempt: u32,
        referee: &RefereeId,
    ) -> Option<(&LeagueFixture, u32)> {
        let number = self.referees.find(referee)?;
        let fixture = self.fixture(match_id)?;
        let is_now = fixture.attempt == attempt && fixture.referee == Some(number);
        let is_open = fixture.is_started() && fixture.told.is_none();
        (is_now && is_open).then_some((fixture, number))
    }

    fn hear_of_order(
        &self,
        at: Timestamp,
        fixture: &LeagueFixture,
        number: u32,
        outcome: &CallOutcome,
    ) -> Vec<Event> {
        if let Some(learnt) = self.learn_of_documents(at, fixture, number, outcome) {
            return vec![learnt];
        }
        if is_turned_down(fixture, outcome) {
            let referee = self.referees.get(number);
            let declined = referee.map(|referee| Event::OrderDeclined {
                match_id: fixture.match_id.clone(),
                attempt: fixture.attempt,
                referee: referee.id.clone(),
            });
            // Only players that sign can tell whether it called them first.
            let declined = declined.filter(|_| fixture.signs.contains(&true));
            let passed_on = self.pass_on(at, fixture, number);
            return declined.into_iter().chain([passed_on]).collect();
        }
        let taken = outcome.as_ref().is_ok_and(|answer| match &answer.message {
            Message::StartMatchAck(ack) => ack.accepted && ack.match_id == fixture.match_id,
            Message::Acknowledged => true,
            _ => false,
        });
        // Silence after the match was taken is an old letter's; probes will tell.
        let old_silence = outcome.is_err() && fixture.stage == FixtureStage::Running;
        if !taken && !old_silence {
            return self.lose(at, fixture, number);
        }
        match (fixture.stage, self.referees.get(number)) {
            (FixtureStage::Ordered, Some(referee)) => vec![Event::MatchAccepted {
                match_id: fixture.match_id.clone(),
                referee: referee.id.clone(),
                at,
            }],
            _ => Vec::new(),
        }
    }

    /// A probe that fails matters only to someone suspended: the others' probes are counted when
    /// they are sent, so that one whose outcome is lost counts too.
    fn hear_of_probe(&self, at: Timestamp, agent: &Agent, answered: bool) -> Vec<Event> {
        match self.find_agent(agent) {
            Some(who) if answered => self.hear_from(at, who, agent),
            Some(who) if self.is_suspended(who) => {
                let agent = agent.clone();
                vec![Event::AgentFailed { agent, at }]
            }
            _ => Vec::new(),
        }
    }

    /// A player was told of its match, or cannot be told.
    fn hear_of_announcement(
        &self,
        at: Timestamp,
        match_id: &MatchId,
        attempt: u32,
        player_id: &PlayerId,
        answered: bool,
    ) -> Vec<Event> {
        let mut events = self.hear_of_notice(at, &Agent::Player(player_id.clone()), answered);
        let open = |fixture: &LeagueFixture| fixture.stage != FixtureStage::Finished;
        if self.fixture(match_id).is_some_and(open) {
            events.push(Event::PlayerInformed {
                match_id: match_id.clone(),
                attempt,
                player_id: player_id.clone(),
                answered,
            });
        }
        events
    }

    pub(crate) fn hear_of_notice(
        &self,
        at: Timestamp,
        agent: &Agent,
        answered: bool,
    ) -> Vec<Event> {
        let Some(who) = self.find_agent(agent) else {
            return Vec::new();
        };
        if answered {
            return self.hear_from(at, who, agent);
        }
        let agent = agent.clone();
        let mut events = vec![Event::AgentFailed { agent, at }];
        if let AgentIndex::Referee(number) = who
            && let Some(referee) = self.referees.get(number)
            && referee.member.health.reaches_limit(&self.rules.breaker)
        {
            events.extend(self.relieve(at, number));
        }
        events
    }

    /// An agent answered: worth noting only if it had not, before.
    fn hear_from(&self, at: Timestamp, who: AgentIndex, agent: &Agent) -> Vec<Event> {
        let Some(member) = self.member(who) else {
            return Vec::new();
        };
        let player = match who {
            AgentIndex::Player(number) => self.players.get(number),
            AgentIndex::Referee(_) => None,
        };
        if let Some(player) = player.filter(|player| player.may_come_back()) {
            let player_id = player.id.clone();
            return vec![Event::PlayerReinstated { player_id, at }];
        }
        let health = &member.health;
        let recovered = health.suspended_since.is_some();
        let was_absent = player.is_some_and(|player| player.absent);
        let has_failed = health.unanswered > 0 || health.breaker.failures() > 0;
        if !recovered && !has_failed && !was_absent {
            return Vec::new();
        }
        vec![Event::AgentAnswered {
            agent: agent.clone(),
            recovered,
            at,
        }]
    }
}

/// Whether a referee says that it does not run a match, which it may for a while. A referee that
/// took a match may also give it back.
fn is_turned_down(fixture: &LeagueFixture, outcome: &CallOutcome) -> bool {
    let turned_down = outcome.as_ref().is_ok_and(|answer| match &answer.message {
        Message::StartMatchAck(ack) => !ack.accepted && ack.match_id == fixture.match_id,
        _ => false,
    });
    turned_down && !is_forced(fixture.attempt)
}

/// A moment that is always past.
fn at_once() -> Option<Timestamp> {
    Some(Timestamp::default())
}

impl League {
    /// The round that begins, with a referee planned for each match.
    pub(crate) fn open_round(&self, at: Timestamp, round: u32) -> Event {
        let (pairings, byes) = self.listed_round();
        let matches = self.matches_to_open(round);
        let plan = self.plan(matches as usize, |_| true);
        Event::RoundOpened {
            round,
            referees: plan.iter().map(|referee| referee.id.clone()).collect(),
            commitments: self.promises(round, 0..matches),
            pairings,
            byes,
            at,
        }
    }

    /// The matches that join the round, with a referee planned for each.
    fn add_matches(&self, at: Timestamp, round: &LeagueRound) -> Option<Event> {
        let pairings = self.listed(&self.joining()?.1.pairings);
        let plan = self.plan(pairings.len(), |_| true);
        let first = u32::try_from(round.fixtures.len()).ok()?;
        let matches = first..first + u32::try_from(pairings.len()).ok()?;
        Some(Event::MatchesAdded {
            round: round.number,
            referees: plan.iter().map(|referee| referee.id.clone()).collect(),
            commitments: self.promises(round.number, matches),
            pairings,
            at,
        })
    }

    /// The pairings and byes of the next round by ids, if they follow from results.
    pub(crate) fn listed_round(&self) -> (Vec<[PlayerId; 2]>, Vec<PlayerId>) {
        let Some(next) = self.next_round() else {
            return (Vec::new(), Vec::new());
        };
        let id = |number: &u32| self.players.get(*number).map(|player| player.id.clone());
        let byes = next.byes.iter().filter_map(id);
        (self.listed(&next.pairings), byes.collect())
    }

    /// Pairings by ids.
    pub(crate) fn listed(&self, pairings: &[[u32; 2]]) -> Vec<[PlayerId; 2]> {
        let id = |number: u32| self.players.get(number).map(|player| player.id.clone());
        let seats = |&[a, b]: &[u32; 2]| Some([id(a)?, id(b)?]);
        pairings.iter().filter_map(seats).collect()
    }

    /// How many matches a round has that is about to begin.
    pub(crate) fn matches_to_open(&self, round: u32) -> u32 {
        match self.next_round() {
            Some(next) => u32::try_from(next.pairings.len()).unwrap_or(u32::MAX),
            None => self.matches_in(round),
        }
    }

    /// The promises on the draws of matches of a round, which anyone may hold against its results.
    fn promises(&self, round: u32, matches: Range<u32>) -> Vec<Commitment> {
        let (league, secret) = (&self.rules.league_id, self.secrets.draws.keyed());
        let promise = |number| {
            let match_id = MatchId::numbered(round, number);
            let seed = secret.seed(league, &match_id);
            draw::commitment(league, &match_id, self.rules.draws, &seed)
        };
        matches.map(|index| promise(index + 1)).collect()
    }

    /// Takes all matches from a referee and gives them to others.
    pub(crate) fn relieve(&self, at: Timestamp, number: u32) -> Option<Event> {
        let round = self.round.as_ref()?;
        let mut fixtures = round.fixtures.iter().filter(|fixture| {
            let is_open = fixture.stage != FixtureStage::Finished && fixture.told.is_none();
            fixture.referee == Some(number) && is_open
        });
        let first = fixtures.next()?;
        let fixtures: Vec<&LeagueFixture> = std::iter::once(first).chain(fixtures).collect();
        Some(Event::MatchesMoved {
            moves: self.moves(&fixtures, |other| other != number),
            next: None,
            at,
        })
    }

    /// Takes one match from its referee, which takes up its next one instead.
    pub(crate) fn take_away(&self, at: Timestamp, fixture: &LeagueFixture, number: u32) -> Event {
        self.move_one(at, fixture, number, |other| other != number)
    }

    /// Takes a match from its referee for good: it goes to a referee that proves its draws, or waits.
    pub(crate) fn stop_match(
        &self,
        at: Timestamp,
        fixture: &LeagueFixture,
        referee: &RefereeEntry,
    ) -> Event {
        let to = self.proving_referee(|_| true);
        let moved = Reassignment {
            match_id: fixture.match_id.clone(),
            attempt: fixture.attempt + u32::from(to.is_some()),
            to: to.map(|taker| taker.id.clone()),
        };
        Event::MatchesMoved {
            moves: vec![moved],
            next: self.next_for(referee),
            at,
        }
    }

    /// Gives a declined match to a referee that has not had it yet; without one the match waits.
    pub(crate) fn pass_on(&self, at: Timestamp, fixture: &LeagueFixture, number: u32) -> Event {
        self.move_one(at, fixture, number, |other| {
            other != number && !fixture.former.contains(&other)
        })
    }

    fn move_one(
        &self,
        at: Timestamp,
        fixture: &LeagueFixture,
        from: u32,
        to: impl Fn(u32) -> bool,
    ) -> Event {
        let referee = self.referees.get(from);
        Event::MatchesMoved {
            moves: self.moves(&[fixture], to),
            next: referee.and_then(|referee| self.next_for(referee)),
            at,
        }
    }

    /// Gives the last match of the longest line to a referee that would be idle otherwise.
    ///
    /// No referee was ordered to run it, so the attempt stays the same.
    pub(crate) fn relieve_longest(&self, at: Timestamp, idle: &RefereeEntry) -> Option<Event> {
        if self.queued == 0 || idle.running > idle.capacity || self.is_set_aside(idle) {
            return None;
        }
        let referees = self.referees.members.iter();
        let longest = referees.max_by_key(|referee| referee.queue.len())?;
        let fixture = self.round.as_ref()?.fixture(*longest.queue.back()?)?;
        // A referee that lost a match does not get it back by being idle.
        let number = self.referees.find(&idle.id)?;
        if fixture.former.contains(&number) || fixture.needs_proof() && idle.by_documents {
            return None;
        }
        let moved = Reassignment {
            match_id: fixture.match_id.clone(),
            to: Some(idle.id.clone()),
            attempt: fixture.attempt,
        };
        Some(Event::MatchesMoved {
            moves: vec![moved],
            next: None,
            at,
        })
    }

    /// Gives waiting matches to referees with free capacity.
    pub(crate) fn give_waiting(&self, at: Timestamp, round: &LeagueRound) -> Option<Event> {
        let fixtures: Vec<&LeagueFixture> = self.givable(round).collect();
        if fixtures.is_empty() || !self.has_referee() {
            return None;
        }
        Some(Event::MatchesMoved {
            moves: self.moves(&fixtures, |_| true),
            next: None,
            at,
        })
    }

    /// A match whose result is fixed goes to no other referee: the manager rules on it.
    fn moves(&self, fixtures: &[&LeagueFixture], to: impl Fn(u32) -> bool) -> Vec<Reassignment> {
        let plan = self.plan(fixtures.len(), &to);
        let mut takers = plan.iter();
        let to_move = |fixture: &&LeagueFixture| {
            let taker = if fixture.is_fixed() {
                None
            } else if fixture.needs_proof() {
                self.proving_referee(&to)
            } else {
                takers.next().copied()
            };
            let to = taker.map(|referee| referee.id.clone());
            Reassignment {
                match_id: fixture.match_id.clone(),
                attempt: fixture.attempt + u32::from(to.is_some() && !was_never_ordered(fixture)),
                to,
            }
        };
        fixtures.iter().map(to_move).collect()
    }

    /// Finds a referee for each of so many matches among the permitted ones; an empty list if there
    /// are none.
    pub(crate) fn plan(&self, matches: usize, may: impl Fn(u32) -> bool) -> Vec<&RefereeEntry> {
        let referees: Vec<&RefereeEntry> = (0..)
            .zip(&self.referees.members)
            .filter(|(number, referee)| may(*number) && is_available(referee))
            .map(|(_, referee)| referee)
            .collect();
        let trusted = referees.iter().filter(|referee| referee.is_trusted());
        let trusted: Vec<&RefereeEntry> = trusted.copied().collect();
        let referees = if trusted.is_empty() {
            referees
        } else {
            trusted
        };
        if referees.is_empty() {
            return Vec::new();
        }
        match self.rules.assignment {
            Assignment::RoundRobin => {
                let from = usize::try_from(self.turn % referees.len() as u64).unwrap_or(0);
                let turns = referees.iter().cycle().skip(from);
                turns.take(matches).copied().collect()
            }
            Assignment::LeastLoaded => by_load(&referees, matches, |_| 1),
            Assignment::Weighted => by_load(&referees, matches, |referee| referee.capacity),
        }
    }

    /// Whether there is anyone to give a match to.
    pub(crate) fn has_referee(&self) -> bool {
        self.referees.members.iter().any(is_available)
    }

    /// Whether there is another referee for a match.
    pub(crate) fn has_other(&self, number: u32) -> bool {
        let mut referees = (0..).zip(&self.referees.members);
        let is_other = |(other, referee)| other != number && is_available(referee);
        referees.any(is_other)
    }

    /// Whether a referee gets no matches because players deny its calls; never the last one.
    pub(crate) fn is_set_aside(&self, referee: &RefereeEntry) -> bool {
        let mut referees = self.referees.members.iter();
        !referee.is_trusted() && referees.any(|other| other.is_trusted() && is_available(other))
    }

    pub(crate) fn is_suspended(&self, who: AgentIndex) -> bool {
        self.member(who)
            .is_some_and(|member| member.health.suspended_since.is_some())
    }
}

/// Whether its referee never received an order, so that a move does not count as an attempt.
fn was_never_ordered(fixture: &LeagueFixture) -> bool {
    fixture.stage == FixtureStage::Queued
}

pub(crate) fn is_available(referee: &RefereeEntry) -> bool {
    referee.member.health.suspended_since.is_none()
}

/// Gives each match to the one whose load would be least for its weight; equals take turns by
/// how many matches they were given in all.
fn by_load<'a>(
    referees: &[&'a RefereeEntry],
    matches: usize,
    weight: impl Fn(&RefereeEntry) -> u32,
) -> Vec<&'a RefereeEntry> {
    /// Loads are compared in so many parts of a match.
    const PARTS: u64 = 1 << 20;
    let key =
        |referee: &RefereeEntry, load: u64| (load + 1) * PARTS / u64::from(weight(referee).max(1));
    let mut heap: BinaryHeap<_> = (0..)
        .zip(referees)
        .map(|(place, referee): (usize, _)| {
            let load = referee.load();
            Reverse((key(referee, load), referee.given, place, load))
        })
        .collect();
    let mut plan = Vec::with_capacity(matches);
    for _ in 0..matches {
        let Some(Reverse((_, given, place, load))) = heap.pop() else {
            break;
        };
        let referee = referees[place];
        plan.push(referee);
        heap.push(Reverse((
            key(referee, load + 1),
            given + 1,
            place,
            load + 1,
        )));
    }
    plan
}
