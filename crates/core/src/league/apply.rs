//! State changes: how each event changes the league, its agents and its matches. Nothing is decided
//! here, and nothing can fail.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use league_protocol::fault::Code;
use league_protocol::id::{MatchId, PlayerId, RefereeId};
use league_protocol::message::{AgentMeta, MatchResult, RoundSummary};
use league_protocol::secret::Commitment;
use league_protocol::sender::{Agent, Dialect};
use league_protocol::time::Timestamp;
use league_protocol::token::TokenHash;

use super::event::{Event, Reassignment};
use super::roster::{AgentIndex, Member, PlayerEntry, RefereeEntry, capacity, folded};
use super::round::{FixtureStage, LeagueFixture, LeagueRound, read_match_id};
use super::schedule::{Pairing, RoundRobin, Sides};
use super::standings::{MatchEnding, Standings};
use super::{ClosedRound, League, Phase};
use crate::draw::{self, KeyedSecret};

/// How many matches of past rounds are kept, so that a repeated report is known again. The round
/// before the present one is always kept.
const MAX_PAST_MATCHES: usize = 20_000;

impl League {
    pub(crate) fn apply_event(&mut self, event: &Event) {
        match event {
            Event::PlayerRegistered { .. }
            | Event::RefereeRegistered { .. }
            | Event::AgentReturned { .. } => self.apply_registration(event),
            Event::LeagueStarted { .. } => self.begin(),
            Event::RoundOpened {
                round,
                referees,
                commitments,
                at,
            } => self.open(*round, referees, commitments, *at),
            Event::MatchesMoved { moves, next, at } => {
                for moved in moves {
                    self.hand_over(moved, *at);
                }
                self.take_up(next.as_ref(), *at);
                self.volatile.referee_came = false;
            }
            Event::ResultRecorded {
                match_id,
                result,
                next,
                at,
                ..
            } => {
                self.finish(match_id, result, *at);
                self.take_up(next.as_ref(), *at);
            }
            Event::ReportConflicted {
                match_id, digest, ..
            }
            | Event::ReportRefused {
                match_id, digest, ..
            } => {
                if let Some(fixture) = self.fixture_mut(match_id) {
                    fixture.noted.push(digest.clone());
                }
            }
            Event::PlayerShutDown { player_id, .. } => self.shut_down(player_id),
            Event::RoundClosed { .. } => self.close(),
            Event::LeagueCompleted { .. } => self.phase = Phase::Completed,
            Event::MatchAccepted { .. }
            | Event::AgentFailed { .. }
            | Event::AgentAnswered { .. }
            | Event::RefereeSuspended { .. }
            | Event::ProbesSent { .. }
            | Event::Stopped => self.apply_volatile(event),
        }
    }

    /// The facts that a restart forgets.
    fn apply_volatile(&mut self, event: &Event) {
        match event {
            Event::MatchAccepted {
                match_id,
                referee,
                at,
            } => {
                if let Some(fixture) = self.fixture_mut(match_id) {
                    fixture.stage = FixtureStage::Running;
                    // A manager that was away must not hold its absence against a referee.
                    fixture.since = *at;
                }
                let who = self.referees.find(referee).map(AgentIndex::Referee);
                self.succeed(who, *at);
            }
            Event::AgentFailed { agent, at } => self.fail(self.find_agent(agent), *at),
            Event::AgentAnswered { agent, at, .. } => self.succeed(self.find_agent(agent), *at),
            Event::RefereeSuspended { referee, at } => {
                let number = self.referees.find(referee);
                if let Some(number) = number
                    && let Some(referee) = self.referees.get_mut(number)
                {
                    referee.member.health.suspended_since = Some(*at);
                    self.volatile.suspended.insert(AgentIndex::Referee(number));
                }
            }
            Event::ProbesSent { agents, at } => {
                for agent in agents {
                    if let Some(who) = self.find_agent(agent)
                        && let Some(member) = self.member_mut(who)
                    {
                        member.health.asked = Some(*at);
                        member.health.unanswered = member.health.unanswered.saturating_add(1);
                    }
                }
                self.volatile.next_probes = *at + self.rules.probe_every;
                // Waiting matches are tried again with every probe.
                self.volatile.referee_came = true;
            }
            Event::Stopped => self.volatile.stopped = true,
            _ => {}
        }
    }

    pub(crate) fn begin(&mut self) {
        self.phase = Phase::Running;
        self.seat_players();
        let sides = Sides::for_game(self.rules.sides_matter);
        self.schedule = RoundRobin::new(self.players.len(), sides);
        self.standings = Standings::new(self.schedule, self.rules.score);
    }

    fn open(
        &mut self,
        number: u32,
        referees: &[RefereeId],
        commitments: &[Commitment],
        at: Timestamp,
    ) {
        let matches = self.schedule.matches_a_round();
        let secret = self.secret.keyed();
        let promised = |pairing: &Pairing| commitments.get(pairing.index as usize).copied();
        let fixtures: Vec<LeagueFixture> = (0..matches)
            .filter_map(|index| self.schedule.pairing(number, index))
            .filter_map(|pairing| self.fixture_at(&secret, pairing, promised(&pairing), at))
            .collect();
        let past = self.round.replace(LeagueRound {
            number,
            open: matches,
            closed: false,
            summary: RoundSummary {
                total_matches: matches,
                ..RoundSummary::default()
            },
            fixtures,
            waiting: BTreeSet::new(),
            unplayable: BTreeSet::new(),
        });
        self.past.extend(past);
        while self.past.len() > 1 && self.past.len() * matches as usize > MAX_PAST_MATCHES {
            self.past.pop_front();
        }
        let numbers: Vec<Option<u32>> = referees
            .iter()
            .map(|referee| self.referees.find(referee))
            .collect();
        for index in 0..matches {
            let referee = numbers.get(index as usize).copied().flatten();
            self.place(index, referee, 1, at);
        }
        if self.volatile.next_probes == Timestamp::default() {
            self.volatile.next_probes = at + self.rules.probe_every;
        }
    }

    fn fixture_at(
        &self,
        secret: &KeyedSecret,
        pairing: Pairing,
        promised: Option<Commitment>,
        at: Timestamp,
    ) -> Option<LeagueFixture> {
        let league = &self.rules.league_id;
        let match_id = MatchId::numbered(pairing.round, pairing.index + 1);
        let seed = secret.seed(league, &match_id);
        let [a, b] = pairing.seats;
        let (a, b) = (&self.players.get(a)?.id, &self.players.get(b)?.id);
        Some(LeagueFixture {
            commitment: promised.unwrap_or_else(|| draw::commitment(league, &match_id, &seed)),
            tokens: [a, b].map(|player| secret.match_token(league, &match_id, player)),
            match_id,
            pairing,
            referee: None,
            former: Vec::new(),
            attempt: 0,
            stage: FixtureStage::Waiting,
            since: at,
            seed,
            result: None,
            noted: Vec::new(),
        })
    }

    fn finish(&mut self, match_id: &MatchId, result: &Arc<MatchResult>, at: Timestamp) {
        let Some(index) = self.index_now(match_id) else {
            return;
        };
        let Some(round) = &mut self.round else { return };
        round.unplayable.remove(&index);
        let Some(fixture) = round.fixture_mut(index) else {
            return;
        };
        let started = fixture.is_started();
        fixture.stage = FixtureStage::Finished;
        fixture.result = Some(Arc::clone(result));
        let (referee, pairing) = (fixture.referee, fixture.pairing);
        round.count(result.status);
        if let Some(number) = referee.filter(|_| started) {
            if let Some(referee) = self.referees.get_mut(number) {
                referee.running = referee.running.saturating_sub(1);
            }
            self.succeed(Some(AgentIndex::Referee(number)), at);
        }
        if let Some(ending) = MatchEnding::of(result) {
            self.standings.note(pairing, ending);
            for seat in [0, 1] {
                self.judge(pairing.seats[seat], ending, seat, result, at);
            }
        }
    }

    /// Updates a player's health by a result: it plays, or it does not answer.
    fn judge(
        &mut self,
        number: u32,
        ending: MatchEnding,
        seat: usize,
        result: &MatchResult,
        at: Timestamp,
    ) {
        let Some(player) = self.players.get_mut(number).filter(|p| !p.shut_down) else {
            return;
        };
        if !ending.forfeited(seat) {
            player.forfeits = 0;
            if !matches!(ending, MatchEnding::Forfeit(_)) {
                self.succeed(Some(AgentIndex::Player(number)), at);
            }
            return;
        }
        player.forfeits = player.forfeits.saturating_add(1);
        let cause = result.failed.get(&result.players[seat]);
        if matches!(cause, Some(Code::Timeout | Code::Connection)) {
            self.fail(Some(AgentIndex::Player(number)), at);
        }
    }

    fn shut_down(&mut self, id: &PlayerId) {
        if let Some(number) = self.players.find(id) {
            self.volatile.suspended.remove(&AgentIndex::Player(number));
            if let Some(player) = self.players.get_mut(number) {
                player.shut_down = true;
            }
        }
    }

    fn close(&mut self) {
        let table = self.table();
        if let Some(round) = &mut self.round {
            round.closed = true;
            self.closed = Some(ClosedRound {
                number: round.number,
                summary: round.summary,
                table,
            });
        }
    }

    fn fail(&mut self, who: Option<AgentIndex>, at: Timestamp) {
        let rule = self.rules.breaker;
        let Some(who) = who else { return };
        if let Some(member) = self.member_mut(who) {
            member.health.fail(&rule, at);
            if member.health.suspended_since.is_some() {
                self.volatile.suspended.insert(who);
            }
        }
    }

    fn succeed(&mut self, who: Option<AgentIndex>, at: Timestamp) {
        let Some(who) = who else { return };
        let Some(member) = self.member_mut(who) else {
            return;
        };
        let was_suspended = member.health.suspended_since.is_some();
        member.health.succeed(at);
        if was_suspended {
            self.volatile.suspended.remove(&who);
            self.volatile.referee_came |= matches!(who, AgentIndex::Referee(_));
        }
    }

    /// The index of a match in the current round.
    pub(crate) fn index_now(&self, match_id: &MatchId) -> Option<u32> {
        let (round, index) = read_match_id(match_id)?;
        let present = self.round.as_ref()?;
        (present.number == round && present.fixture(index).is_some()).then_some(index)
    }

    fn fixture_mut(&mut self, match_id: &MatchId) -> Option<&mut LeagueFixture> {
        let (number, index) = read_match_id(match_id)?;
        let mut rounds = self.round.iter_mut().chain(&mut self.past);
        rounds
            .find(|round| round.number == number)?
            .fixture_mut(index)
    }

    /// Applies the events of registration.
    pub(crate) fn apply_registration(&mut self, event: &Event) {
        match event {
            Event::PlayerRegistered {
                player_id,
                meta,
                dialect,
                token,
                pledge,
                at,
            } => {
                let agent = Agent::Player(player_id.clone());
                let mut member = self.make_member(agent, meta, *dialect, *token, *at);
                member.pledge = *pledge;
                let player = PlayerEntry {
                    id: player_id.clone(),
                    member,
                    forfeits: 0,
                    shut_down: false,
                };
                self.index(&player.member, AgentIndex::Player(self.players.len()));
                self.players.add(player_id, player);
            }
            Event::RefereeRegistered {
                referee_id,
                meta,
                dialect,
                token,
                pledge,
                at,
            } => {
                let agent = Agent::Referee(referee_id.clone());
                let mut member = self.make_member(agent, meta, *dialect, *token, *at);
                member.pledge = *pledge;
                let referee = RefereeEntry {
                    id: referee_id.clone(),
                    member,
                    capacity: capacity(meta),
                    running: 0,
                    queue: VecDeque::new(),
                    given: 0,
                };
                self.index(&referee.member, AgentIndex::Referee(self.referees.len()));
                self.referees.add(referee_id, referee);
                self.volatile.referee_came = true;
            }
            Event::AgentReturned {
                agent,
                meta,
                dialect,
                token,
                proof,
                at,
            } => {
                let fresh = self.make_member(agent.clone(), meta, *dialect, *token, *at);
                self.take_back(agent, meta, fresh, *proof, *at);
            }
            _ => {}
        }
    }

    fn make_member(
        &self,
        agent: Agent,
        meta: &AgentMeta,
        dialect: Dialect,
        token: TokenHash,
        at: Timestamp,
    ) -> Member {
        let manager_token = (dialect != Dialect::V1)
            .then(|| self.secret.manager_token(&self.rules.league_id, &agent));
        Member {
            manager_token,
            ..Member::new(agent, meta, dialect, token, at)
        }
    }

    /// Lets a new agent be found by its name and its token.
    fn index(&mut self, member: &Member, index: AgentIndex) {
        self.names.insert(folded(&member.name), index);
        self.tokens.insert(member.token, index);
    }

    /// Numbers the players by their ids, so that pairings do not depend on the order of
    /// registration.
    pub(crate) fn seat_players(&mut self) {
        let numbers = self.players.sort();
        let renumber = |who: AgentIndex| match who {
            AgentIndex::Player(old) => {
                AgentIndex::Player(numbers.get(&old).copied().unwrap_or(old))
            }
            AgentIndex::Referee(_) => who,
        };
        for who in self.names.values_mut().chain(self.tokens.values_mut()) {
            *who = renumber(*who);
        }
        let suspended = self.volatile.suspended.iter().copied();
        self.volatile.suspended = suspended.map(renumber).collect();
    }

    /// A token that a stranger may hold is forgotten once a proven one replaces it; a token that a
    /// stranger may have displaced stays good for returning.
    fn take_back(
        &mut self,
        agent: &Agent,
        meta: &AgentMeta,
        mut fresh: Member,
        proof: Option<TokenHash>,
        at: Timestamp,
    ) {
        let Some(who) = self.find_agent(agent) else {
            return;
        };
        fresh.health.succeed(at);
        fresh.unproved = proof.is_none();
        let token = fresh.token;
        if let Some(member) = self.member_mut(who) {
            fresh.pledge = member.pledge;
            let displaced = member.unproved && proof.is_some_and(|proof| proof != member.token);
            fresh.replaced = if displaced {
                std::mem::take(&mut member.replaced)
            } else {
                member.tokens_so_far()
            };
            let old = std::mem::replace(member, fresh);
            self.tokens.remove(&old.token);
        }
        self.tokens.insert(token, who);
        self.volatile.suspended.remove(&who);
        if let AgentIndex::Referee(number) = who {
            self.volatile.referee_came = true;
            if let Some(referee) = self.referees.get_mut(number) {
                referee.capacity = capacity(meta);
            }
            self.fill(number, at);
        }
    }

    /// Assigns a match of a new round; a match of a shut-down player is unplayable.
    pub(crate) fn place(&mut self, index: u32, referee: Option<u32>, attempt: u32, at: Timestamp) {
        let Some(round) = &mut self.round else { return };
        let Some(fixture) = round.fixture_mut(index) else {
            return;
        };
        let out = |seat: u32| {
            let player = self.players.get(seat);
            player.is_some_and(|player| player.shut_down)
        };
        if fixture.pairing.seats.into_iter().any(out) {
            fixture.stage = FixtureStage::Unplayable;
            round.unplayable.insert(index);
        } else {
            self.attach(index, referee, attempt, at);
        }
    }

    /// Gives a match to a referee: starts it within its capacity, else queues it.
    pub(crate) fn attach(&mut self, index: u32, referee: Option<u32>, attempt: u32, at: Timestamp) {
        let Some(round) = &mut self.round else { return };
        let Some(fixture) = round.fixtures.get_mut(index as usize) else {
            return;
        };
        let Some((number, referee)) =
            referee.and_then(|number| Some((number, self.referees.get_mut(number)?)))
        else {
            fixture.stage = FixtureStage::Waiting;
            round.waiting.insert(index);
            return;
        };
        (fixture.referee, fixture.attempt) = (Some(number), attempt);
        fixture.stage = FixtureStage::Queued;
        referee.queue.push_back(index);
        self.queued += 1;
        referee.given += 1;
        self.turn += 1;
        self.fill(number, at);
    }

    /// Starts a referee's queued matches, up to its capacity.
    pub(crate) fn fill(&mut self, number: u32, at: Timestamp) {
        let Some(round) = &mut self.round else { return };
        let Some(referee) = self.referees.get_mut(number) else {
            return;
        };
        while referee.running < referee.capacity
            && let Some(index) = referee.queue.pop_front()
        {
            self.queued = self.queued.saturating_sub(1);
            start(round, referee, index, at);
        }
    }

    pub(crate) fn hand_over(&mut self, moved: &Reassignment, at: Timestamp) {
        let Some(index) = self.index_now(&moved.match_id) else {
            return;
        };
        self.detach(index);
        let number = moved.to.as_ref().and_then(|id| self.referees.find(id));
        self.attach(index, number, moved.attempt, at);
    }

    /// Takes a match from its referee, or out of the waiting matches.
    pub(crate) fn detach(&mut self, index: u32) {
        let Some(round) = &mut self.round else { return };
        round.waiting.remove(&index);
        round.unplayable.remove(&index);
        let Some(fixture) = round.fixtures.get_mut(index as usize) else {
            return;
        };
        let Some(number) = fixture.referee.take() else {
            return;
        };
        fixture.former.push(number);
        if let Some(referee) = self.referees.get_mut(number) {
            if fixture.is_started() {
                referee.running = referee.running.saturating_sub(1);
            } else if referee.leaves_queue(index) {
                self.queued = self.queued.saturating_sub(1);
            }
        }
    }

    /// Starts the next queued match of a referee.
    pub(crate) fn take_up(&mut self, next: Option<&MatchId>, at: Timestamp) {
        let Some(index) = next.and_then(|next| self.index_now(next)) else {
            return;
        };
        let Some(round) = &mut self.round else { return };
        let fixture = round.fixture(index);
        let queued = fixture.filter(|fixture| fixture.stage == FixtureStage::Queued);
        let number = queued.and_then(|fixture| fixture.referee);
        if let Some(referee) = number.and_then(|number| self.referees.get_mut(number)) {
            if referee.leaves_queue(index) {
                self.queued = self.queued.saturating_sub(1);
            }
            start(round, referee, index, at);
        }
    }
}

fn start(round: &mut LeagueRound, referee: &mut RefereeEntry, index: u32, at: Timestamp) {
    if let Some(fixture) = round.fixture_mut(index) {
        fixture.stage = FixtureStage::Ordered;
        fixture.since = at;
        if referee.running == 0 {
            referee.member.health.quiet_since = at;
        }
        referee.running += 1;
    }
}
