//! How each fact changes the league; nothing is decided here.

use std::collections::BTreeSet;
use std::sync::Arc;

use league_protocol::fault::Code;
use league_protocol::id::{MatchId, PlayerId, RefereeId};
use league_protocol::message::{MatchResult, RoundSummary};
use league_protocol::secret::Commitment;
use league_protocol::time::Timestamp;

use super::event::Event;
use super::roster::Who;
use super::round::{Fixture, Round, Stage, read_match_id};
use super::schedule::{Pairing, Schedule, Sides};
use super::standings::{Ending, Standings};
use super::{ClosedRound, League, Phase};
use crate::draw::{self, KeyedSecret};

/// How many matches of past rounds are kept, so that a repeated report is known again. The round
/// before the present one is always kept.
const MOST_PAST_MATCHES: usize = 20_000;

impl League {
    pub(super) fn take_in(&mut self, event: &Event) {
        match event {
            Event::PlayerRegistered { .. }
            | Event::RefereeRegistered { .. }
            | Event::AgentReturned { .. } => self.take_in_agent(event),
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
                self.fleeting.referee_came = false;
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
            | Event::Stopped => self.take_in_fleeting(event),
        }
    }

    /// The facts that a restart forgets.
    fn take_in_fleeting(&mut self, event: &Event) {
        match event {
            Event::MatchAccepted {
                match_id,
                referee,
                at,
            } => {
                if let Some(fixture) = self.fixture_mut(match_id) {
                    fixture.stage = Stage::Running;
                    // A manager that was away must not hold its absence against a referee.
                    fixture.since = *at;
                }
                let who = self.referees.find(referee).map(Who::Referee);
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
                    self.fleeting.suspended.insert(Who::Referee(number));
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
                self.fleeting.next_probes = *at + self.rules.probe_every;
                // Those who wait are tried again with every look around.
                self.fleeting.referee_came = true;
            }
            Event::Stopped => self.fleeting.stopped = true,
            _ => {}
        }
    }

    pub(super) fn begin(&mut self) {
        self.phase = Phase::Running;
        self.seat_players();
        let sides = Sides::for_game(self.rules.sides_matter);
        self.schedule = Schedule::new(self.players.len(), sides);
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
        let fixtures: Vec<Fixture> = (0..matches)
            .filter_map(|index| self.schedule.pairing(number, index))
            .filter_map(|pairing| self.fixture_at(&secret, pairing, promised(&pairing), at))
            .collect();
        let past = self.round.replace(Round {
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
        while self.past.len() > 1 && self.past.len() * matches as usize > MOST_PAST_MATCHES {
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
        if self.fleeting.next_probes == Timestamp::default() {
            self.fleeting.next_probes = at + self.rules.probe_every;
        }
    }

    fn fixture_at(
        &self,
        secret: &KeyedSecret,
        pairing: Pairing,
        promised: Option<Commitment>,
        at: Timestamp,
    ) -> Option<Fixture> {
        let league = &self.rules.league_id;
        let match_id = MatchId::numbered(pairing.round, pairing.index + 1);
        let seed = secret.seed(league, &match_id);
        let [a, b] = pairing.seats;
        let (a, b) = (&self.players.get(a)?.id, &self.players.get(b)?.id);
        Some(Fixture {
            commitment: promised.unwrap_or_else(|| draw::commitment(league, &match_id, &seed)),
            tokens: [a, b].map(|player| secret.match_token(league, &match_id, player)),
            match_id,
            pairing,
            referee: None,
            former: Vec::new(),
            attempt: 0,
            stage: Stage::Waiting,
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
        fixture.stage = Stage::Finished;
        fixture.result = Some(Arc::clone(result));
        let (referee, pairing) = (fixture.referee, fixture.pairing);
        round.count(result.status);
        if let Some(number) = referee.filter(|_| started) {
            if let Some(referee) = self.referees.get_mut(number) {
                referee.running = referee.running.saturating_sub(1);
            }
            self.succeed(Some(Who::Referee(number)), at);
        }
        if let Some(ending) = Ending::of(result) {
            self.standings.note(pairing, ending);
            for seat in [0, 1] {
                self.judge(pairing.seats[seat], ending, seat, result, at);
            }
        }
    }

    /// What a result says of a player: that it plays, or that it does not answer.
    fn judge(
        &mut self,
        number: u32,
        ending: Ending,
        seat: usize,
        result: &MatchResult,
        at: Timestamp,
    ) {
        let Some(player) = self.players.get_mut(number).filter(|p| !p.shut_down) else {
            return;
        };
        if !ending.forfeited(seat) {
            player.forfeits = 0;
            if !matches!(ending, Ending::Forfeit(_)) {
                self.succeed(Some(Who::Player(number)), at);
            }
            return;
        }
        player.forfeits = player.forfeits.saturating_add(1);
        let cause = result.failed.get(&result.players[seat]);
        if matches!(cause, Some(Code::Timeout | Code::Connection)) {
            self.fail(Some(Who::Player(number)), at);
        }
    }

    fn shut_down(&mut self, id: &PlayerId) {
        if let Some(number) = self.players.find(id) {
            self.fleeting.suspended.remove(&Who::Player(number));
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

    fn fail(&mut self, who: Option<Who>, at: Timestamp) {
        let rule = self.rules.breaker;
        let Some(who) = who else { return };
        if let Some(member) = self.member_mut(who) {
            member.health.fail(&rule, at);
            if member.health.suspended_since.is_some() {
                self.fleeting.suspended.insert(who);
            }
        }
    }

    fn succeed(&mut self, who: Option<Who>, at: Timestamp) {
        let Some(who) = who else { return };
        let Some(member) = self.member_mut(who) else {
            return;
        };
        let was_suspended = member.health.suspended_since.is_some();
        member.health.succeed(at);
        if was_suspended {
            self.fleeting.suspended.remove(&who);
            self.fleeting.referee_came |= matches!(who, Who::Referee(_));
        }
    }

    /// The place of a match in the present round.
    pub(super) fn index_now(&self, match_id: &MatchId) -> Option<u32> {
        let (round, index) = read_match_id(match_id)?;
        let present = self.round.as_ref()?;
        (present.number == round && present.fixture(index).is_some()).then_some(index)
    }

    fn fixture_mut(&mut self, match_id: &MatchId) -> Option<&mut Fixture> {
        let (number, index) = read_match_id(match_id)?;
        let mut rounds = self.round.iter_mut().chain(&mut self.past);
        rounds
            .find(|round| round.number == number)?
            .fixture_mut(index)
    }
}
