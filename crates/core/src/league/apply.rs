//! State changes: how each event changes the league, its agents and its matches. Nothing is decided
//! here, and nothing can fail.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use league_protocol::fault::Code;
use league_protocol::id::{MatchId, PlayerId, RefereeId};
use league_protocol::message::{AgentMeta, MatchResult, RoundSummary, SignedMove};
use league_protocol::secret::Commitment;
use league_protocol::sender::{Agent, Dialect};
use league_protocol::time::Timestamp;
use league_protocol::token::TokenHash;

use super::command::CorrelationId;
use super::event::{Doubt, Event};
use super::format::NextRound;
use super::roster::{
    AgentIndex, ExitCause, Expulsion, Member, PlayerEntry, RefereeEntry, Seat, capacity, folded,
    place,
};
use super::round::{FixtureStage, HandOver, LeagueFixture, LeagueRound, LossClaim, read_match_id};
use super::schedule::{Pairing, Schedule};
use super::standings::{MatchEnding, Standings};
use super::verify::ReportProblem;
use super::{ClosedRound, Derived, League, Phase};
use crate::draw::{self, KeyedSecret};
use crate::machine::Persistence;

/// How many matches of past rounds are kept, so that a repeated report is known again. The round
/// before the present one is always kept.
pub const MAX_PAST_MATCHES: usize = 2_000;

/// How many ends of rounds are kept for players whose news wait: a player that rests in a round may
/// still wait to be told of the one before. A player that ignores news may miss an older one.
const MAX_CLOSED: usize = 2;

impl League {
    /// Each event has its arm, so that a new one does not compile without.
    #[expect(clippy::too_many_lines, reason = "one arm for each event")]
    pub(crate) fn apply_event(&mut self, event: &Event) {
        if event.keep() == Persistence::Journal {
            self.next_round.forget();
            self.joining.forget();
        }
        match event {
            Event::PlayerRegistered { .. } => self.add_player(event),
            Event::RefereeRegistered { .. } => self.add_referee(event),
            Event::RefereeByDocuments { referee, .. } => {
                let number = self.referees.find(referee);
                if let Some(referee) = number.and_then(|number| self.referees.get_mut(number)) {
                    referee.by_documents = true;
                }
            }
            Event::ResultTold {
                match_id,
                result,
                at,
                ..
            } => self.apply_told_result(match_id, result, *at),
            Event::RefereeInvited { endpoint, .. } => {
                self.invited.insert(place(endpoint));
            }
            Event::AgentReturned {
                agent,
                meta,
                dialect,
                token,
                proof,
                readmitted,
                at,
            } => {
                if *readmitted {
                    self.stop_signing(agent);
                }
                let fresh = self.make_member(agent.clone(), meta, *dialect, *token, *at);
                self.take_back((agent, *readmitted), meta, fresh, *proof, *at);
            }
            Event::OrganiserActed {
                act, effect, at, ..
            } => {
                self.changed = *at;
                self.obey(act, effect, *at);
            }
            Event::LeagueStarted { at } => {
                self.began = *at;
                self.begin();
            }
            Event::RoundOpened {
                round,
                referees,
                commitments,
                pairings,
                byes,
                at,
            } => {
                self.open_listed(pairings, byes);
                self.open(*round, referees, commitments, *at);
            }
            Event::MatchesAdded {
                referees,
                commitments,
                pairings,
                at,
                ..
            } => {
                let first = self.round.as_ref().map_or(0, |round| round.fixtures.len());
                self.standings.add(&self.seats_by_id(pairings));
                self.hold_news_of(pairings.as_flattened(), *at);
                self.add_fixtures(first, referees, commitments, *at);
            }
            Event::MatchesMoved { moves, next, at } => {
                for moved in moves {
                    self.hand_over(moved, *at);
                }
                self.take_up(next.as_ref(), *at);
                self.volatile.referee_came = false;
            }
            Event::MovesReceived {
                match_id,
                referee,
                attempt,
                moves,
                last,
                ..
            } => self.receive_moves(match_id, referee, *attempt, moves, *last),
            Event::LossDoubted {
                match_id,
                referee,
                player_id,
                doubt,
                ..
            } => self.doubt_loss(match_id, referee, player_id, *doubt),
            // It is there to be read.
            Event::DeclinedAfterCall { .. } | Event::OrderDeclined { .. } => {}
            Event::ResultRecorded {
                match_id,
                referee,
                result,
                next,
                at,
                ..
            } => {
                if let Some(referee) = referee {
                    self.note_false_proofs(match_id, referee, &result.evidence.moves);
                }
                self.finish(match_id, result, *at);
                self.take_up(next.as_ref(), *at);
            }
            Event::ReportConflicted {
                match_id, digest, ..
            } => {
                self.note_report(match_id, digest, None);
                self.contest(match_id);
            }
            Event::ReportRefused {
                match_id,
                referee,
                digest,
                problem,
                ..
            } => self.note_report(match_id, digest, Some((problem, referee))),
            Event::PlayerShutDown {
                player_id,
                absence,
                at,
            } => {
                self.changed = *at;
                self.expel(player_id, *absence);
            }
            Event::PlayerReinstated { player_id, at } => {
                self.changed = *at;
                self.reinstate(player_id, *at);
            }
            Event::RoundClosed { at, .. } => {
                self.close();
                self.closed_at = *at;
                self.hold_news(*at);
            }
            Event::LeagueCompleted { .. } => {
                self.phase = Phase::Completed;
                self.standings.complete();
            }
            Event::MatchAccepted {
                match_id,
                referee,
                at,
            } => self.accept_match(match_id, referee, *at),
            Event::PlayerInformed {
                match_id,
                attempt,
                player_id,
                answered,
            } => self.inform_player(match_id, *attempt, player_id, *answered),
            Event::OrdersReleased { matches } => self.release_orders(matches),
            Event::GameOverAwaited { match_id } => self.await_telling(match_id),
            Event::GameOverTold { match_id, players } => self.apply_told(match_id, players),
            Event::NewsReleased { players, at } => self.release_news(players, *at),
            Event::LossQuestioned {
                match_id,
                result,
                players,
                tells_later,
            } => {
                if let Some(fixture) = self.fixture_mut(match_id) {
                    fixture.claim = Some(LossClaim {
                        result: Arc::clone(result),
                        open: players.clone(),
                        tells_later: *tells_later,
                    });
                }
            }
            Event::CallConfirmed {
                match_id,
                player_id,
            } => {
                let fixture = self.fixture_mut(match_id);
                if let Some(claim) = fixture.and_then(|fixture| fixture.claim.as_mut()) {
                    claim.open.retain(|open| open != player_id);
                }
            }
            Event::AgentFailed { agent, at } => self.fail(self.find_agent(agent), *at),
            Event::AgentAnswered { agent, at, .. } => self.succeed(self.find_agent(agent), *at),
            Event::RefereeSuspended { referee, at } => self.suspend(referee, *at),
            Event::ProbesSent { agents, unsent, at } => self.probe(agents, unsent, *at),
            Event::LetterUnsent { correlation } => self.keep_unsent(correlation),
            Event::Resumed { at } => {
                self.volatile.resumed = true;
                self.hold_orders_anew(*at);
            }
            Event::Stopped => self.volatile.stopped = true,
        }
    }

    fn receive_moves(
        &mut self,
        match_id: &MatchId,
        referee: &RefereeId,
        attempt: u32,
        moves: &[SignedMove],
        last: bool,
    ) {
        if let Some(fixture) = self.fixture_mut(match_id) {
            let mut rolls = fixture.rolls().to_vec();
            rolls.push((attempt, moves.len()));
            fixture.handed = Some(HandOver {
                moves: moves.to_vec(),
                rolls,
                last,
            });
            fixture.claim = None;
        }
        self.note_false_proofs(match_id, referee, moves);
    }

    fn doubt_loss(
        &mut self,
        match_id: &MatchId,
        referee: &RefereeId,
        player: &PlayerId,
        doubt: Doubt,
    ) {
        if let Some(fixture) = self.fixture_mut(match_id) {
            fixture.doubts.push(doubt);
        }
        let number = self.players.find(player);
        match number.and_then(|number| self.players.get_mut(number)) {
            Some(unreached) if doubt == Doubt::Unreached => unreached.absent = true,
            _ => {}
        }
        if doubt == Doubt::Denied {
            self.note_against(referee, player);
        }
    }

    fn note_against(&mut self, referee: &RefereeId, player: &PlayerId) {
        let number = self.referees.find(referee);
        if let Some(referee) = number.and_then(|number| self.referees.get_mut(number)) {
            referee.doubted_by.insert(player.clone());
        }
    }

    /// Notes a report that was turned down; for a wrong proof also whose, and by which referee.
    fn note_report(
        &mut self,
        match_id: &MatchId,
        digest: &str,
        refused: Option<(&ReportProblem, &RefereeId)>,
    ) {
        if let Some(fixture) = self.fixture_mut(match_id) {
            fixture.noted.push(digest.to_owned());
            if let Some((ReportProblem::Proof(player), referee)) = refused {
                fixture.unproven.push((player.clone(), referee.clone()));
            }
        }
    }

    fn accept_match(&mut self, match_id: &MatchId, referee: &RefereeId, at: Timestamp) {
        if let Some(fixture) = self.fixture_mut(match_id) {
            fixture.stage = FixtureStage::Running;
            // A manager that was away must not hold its absence against a referee.
            fixture.since = at;
        }
        let who = self.referees.find(referee).map(AgentIndex::Referee);
        self.succeed(who, at);
    }

    fn suspend(&mut self, referee: &RefereeId, at: Timestamp) {
        let number = self.referees.find(referee);
        if let Some(number) = number
            && let Some(referee) = self.referees.get_mut(number)
        {
            referee.member.health.suspended_since = Some(at);
            self.volatile.suspended.insert(AgentIndex::Referee(number));
        }
    }

    /// Notes referees that told wrong proofs of players whose proofs are right with this one.
    fn note_false_proofs(&mut self, match_id: &MatchId, by: &RefereeId, moves: &[SignedMove]) {
        let proved = |player: &PlayerId| {
            let mut moves = moves.iter();
            moves.any(|made| made.player_id == *player && made.proof.is_some())
        };
        let fixture = self.fixture(match_id);
        let told = fixture.into_iter().flat_map(|fixture| &fixture.unproven);
        let wrong: Vec<_> = told
            .filter(|(player, referee)| referee != by && proved(player))
            .cloned()
            .collect();
        for (player, referee) in wrong {
            self.note_against(&referee, &player);
        }
    }

    fn probe(&mut self, agents: &[Agent], unsent: &[CorrelationId], at: Timestamp) {
        for agent in agents {
            if let Some(who) = self.find_agent(agent)
                && let Some(member) = self.member_mut(who)
            {
                member.health.asked = Some(at);
                member.health.unanswered = member.health.unanswered.saturating_add(1);
            }
        }
        for unsent in unsent {
            if let CorrelationId::Announcement { match_id, .. } = unsent
                && let Some(index) = self.index_now(match_id)
            {
                self.hold_order(index, at);
            }
        }
        self.volatile.unsent.clear();
        self.volatile.next_probes = at + self.rules.probe_every;
        // Waiting matches are tried again with every probe.
        self.volatile.referee_came = true;
    }

    /// Keeps a letter for the next probes; its match is not ordered before it was sent.
    fn keep_unsent(&mut self, correlation: &CorrelationId) {
        match correlation {
            CorrelationId::Probe(agent) => {
                if let Some(who) = self.find_agent(agent)
                    && let Some(member) = self.member_mut(who)
                {
                    member.health.unanswered = member.health.unanswered.saturating_sub(1);
                }
                return;
            }
            CorrelationId::Announcement { match_id, .. } => self.drop_hold(match_id),
            _ => {}
        }
        if !self.volatile.unsent.contains(correlation) {
            self.volatile.unsent.push(correlation.clone());
        }
    }

    pub(crate) fn begin(&mut self) {
        self.phase = Phase::Running;
        self.registration.closed |= !self.rules.late_entry;
        self.number_players(true);
        let standings = Standings::new(Schedule::new(self.format_plan()), self.rules.score);
        self.standings = standings.ordered_by(self.rules.tiebreakers.clone());
    }

    /// Takes in the pairings of a round that follows from results.
    fn open_listed(&mut self, pairings: &[[PlayerId; 2]], byes: &[PlayerId]) {
        let byes = byes.iter().filter_map(|id| self.seated(id));
        let next = NextRound {
            pairings: self.seats_by_id(pairings),
            byes: byes.collect(),
        };
        if !next.pairings.is_empty() {
            self.standings.open(&next);
        }
    }

    /// The number of a player that is in the schedule, and not only waits for a seat.
    fn seated(&self, id: &PlayerId) -> Option<u32> {
        let players = self.schedule().players();
        self.players.find(id).filter(|number| *number < players)
    }

    fn seats_by_id(&self, pairings: &[[PlayerId; 2]]) -> Vec<[u32; 2]> {
        let seats = |[a, b]: &[PlayerId; 2]| Some([self.seated(a)?, self.seated(b)?]);
        pairings.iter().filter_map(seats).collect()
    }

    fn open(
        &mut self,
        number: u32,
        referees: &[RefereeId],
        commitments: &[Commitment],
        at: Timestamp,
    ) {
        self.volatile.orders_held.clear();
        self.volatile.unsent.clear();
        let past = self.round.replace(LeagueRound {
            number,
            open: 0,
            closed: false,
            opened: at,
            summary: RoundSummary::default(),
            fixtures: Vec::new(),
            waiting: BTreeSet::new(),
            unplayable: BTreeSet::new(),
            told: BTreeSet::new(),
            announced: Derived::default(),
        });
        self.past.extend(past);
        let past = self.past.iter().map(|round| round.fixtures.len());
        let mut kept: usize = past.sum();
        while self.past.len() > 1 && kept > MAX_PAST_MATCHES {
            let dropped = self.past.pop_front();
            kept -= dropped.map_or(0, |round| round.fixtures.len());
        }
        self.add_fixtures(0, referees, commitments, at);
        if self.volatile.next_probes == Timestamp::default() {
            self.volatile.next_probes = at + self.rules.probe_every;
        }
    }

    /// Takes the matches of the round from this place on into play.
    fn add_fixtures(
        &mut self,
        first: usize,
        referees: &[RefereeId],
        commitments: &[Commitment],
        at: Timestamp,
    ) {
        self.changed = at;
        let number = self.round.as_ref().map_or(0, |round| round.number);
        let first = u32::try_from(first).unwrap_or(u32::MAX);
        let matches = first..self.matches_in(number);
        let (draws, tokens) = (self.secrets.draws.keyed(), self.secrets.tokens.keyed());
        let promised = |pairing: &Pairing| commitments.get((pairing.index - first) as usize);
        let fixtures: Vec<LeagueFixture> = matches
            .clone()
            .filter_map(|index| self.pairing(number, index))
            .filter_map(|pairing| {
                let promised = promised(&pairing).copied();
                self.fixture_at([&draws, &tokens], pairing, promised, at)
            })
            .collect();
        if let Some(round) = &mut self.round {
            round.fixtures.extend(fixtures);
            round.announced.forget();
            round.open += matches.len() as u32;
            round.summary.total_matches += matches.len() as u32;
        }
        let numbers: Vec<Option<u32>> = referees
            .iter()
            .map(|referee| self.referees.find(referee))
            .collect();
        for index in matches {
            let referee = numbers.get((index - first) as usize).copied().flatten();
            self.place(index, referee, 1, at);
        }
    }

    fn fixture_at(
        &self,
        [draws, tokens]: [&KeyedSecret; 2],
        pairing: Pairing,
        promised: Option<Commitment>,
        at: Timestamp,
    ) -> Option<LeagueFixture> {
        let league = &self.rules.league_id;
        let match_id = pairing.match_id();
        let seed = draws.seed(league, &match_id);
        let [a, b] = pairing.seats;
        let players = [self.players.get(a)?, self.players.get(b)?];
        let promise = || draw::commitment(league, &match_id, self.rules.draws, &seed);
        Some(LeagueFixture {
            commitment: promised.unwrap_or_else(promise),
            tokens: players.map(|player| {
                let attempt = player.signs.then_some(1);
                tokens.match_token(league, &match_id, &player.id, attempt)
            }),
            signs: players.map(|player| player.signs),
            handed: None,
            doubts: Vec::new(),
            unproven: Vec::new(),
            informed: [false; 2],
            held_until: None,
            untold: [false; 2],
            claim: None,
            match_id,
            pairing,
            referee: None,
            former: Vec::new(),
            attempt: 0,
            stage: FixtureStage::Waiting,
            since: at,
            seed,
            told: None,
            is_contested: false,
            result: None,
            extra_time: 0,
            noted: Vec::new(),
        })
    }

    fn finish(&mut self, match_id: &MatchId, result: &Arc<MatchResult>, at: Timestamp) {
        let Some(index) = self.index_now(match_id) else {
            return;
        };
        let Some(round) = &mut self.round else { return };
        self.changed = at;
        round.unplayable.remove(&index);
        round.drop_told(index);
        let Some(fixture) = round.fixture_mut(index) else {
            return;
        };
        let started = fixture.is_started();
        fixture.stage = FixtureStage::Finished;
        fixture.claim = None;
        fixture.result = Some(Arc::clone(result));
        let (referee, pairing) = (fixture.referee, fixture.pairing);
        round.count(result.status);
        self.told_results += u64::from(result.draw.is_none());
        if let Some(number) = referee.filter(|_| started) {
            if let Some(referee) = self.referees.get_mut(number) {
                referee.running = referee.running.saturating_sub(1);
            }
            self.succeed(Some(AgentIndex::Referee(number)), at);
        }
        if let Some(ending) = MatchEnding::of(result) {
            self.count_result(pairing, ending);
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
        let Some(player) = self
            .players
            .get_mut(number)
            .filter(|player| !player.is_out())
        else {
            return;
        };
        if !ending.forfeited(seat) {
            (player.forfeits, player.absences) = (0, 0);
            if !matches!(ending, MatchEnding::Forfeit(_)) {
                self.succeed(Some(AgentIndex::Player(number)), at);
            }
            return;
        }
        player.forfeits = player.forfeits.saturating_add(1);
        let cause = result.failed.get(&result.players[seat]);
        player.absent |= cause == Some(&Code::Connection);
        if is_absence(cause) {
            player.absences = player.absences.saturating_add(1);
            self.fail(Some(AgentIndex::Player(number)), at);
        }
    }

    fn expel(&mut self, id: &PlayerId, is_absence: bool) {
        let Some(number) = self.players.find(id) else {
            return;
        };
        let who = AgentIndex::Player(number);
        let round = self.round.as_ref().map_or(0, |round| round.number);
        let Some(player) = self.players.get_mut(number) else {
            return;
        };
        player.expulsion = Some(Expulsion {
            round,
            losses: player.forfeits,
            is_absence,
            cause: ExitCause::Losses,
            is_annulled: false,
        });
        // A player that cannot be reached is asked now and then whether it is back.
        if is_absence && player.absent {
            self.volatile.suspended.insert(who);
        } else {
            self.volatile.suspended.remove(&who);
        }
    }

    pub(crate) fn reinstate(&mut self, id: &PlayerId, at: Timestamp) {
        let Some(number) = self.players.find(id) else {
            return;
        };
        let who = AgentIndex::Player(number);
        self.volatile.suspended.remove(&who);
        if let Some(player) = self.players.get_mut(number) {
            player.expulsion = None;
            (player.forfeits, player.absences) = (0, 0);
        }
        self.succeed(Some(who), at);
        let round = self.round.as_ref();
        let own = round.and_then(|round| self.pairing_of(number, round.number));
        let unruled =
            own.filter(|own| round.is_some_and(|round| round.unplayable.contains(&own.index)));
        if let Some(own) = unruled {
            self.play_after_all(own.index, at);
        }
    }

    /// Gives a match back to the referees that the manager was about to rule on, or to the manager.
    pub(crate) fn play_after_all(&mut self, index: u32, at: Timestamp) {
        let fixture = self.round.as_ref().and_then(|round| round.fixture(index));
        let Some(attempt) = fixture.map(|fixture| fixture.attempt) else {
            return;
        };
        self.detach(index);
        self.place(index, None, attempt, at);
        self.volatile.referee_came = true;
    }

    fn close(&mut self) {
        let table = self.table();
        let rows = self.told_rows(&table);
        if let Some(round) = &mut self.round {
            round.closed = true;
            self.closed.push_back(ClosedRound {
                number: round.number,
                summary: round.summary,
                table,
                rows,
            });
            if self.closed.len() > MAX_CLOSED {
                self.closed.pop_front();
            }
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
        if let AgentIndex::Player(number) = who
            && let Some(player) = self.players.get_mut(number)
        {
            player.absent = false;
        }
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

    pub(crate) fn fixture_mut(&mut self, match_id: &MatchId) -> Option<&mut LeagueFixture> {
        let (number, index) = read_match_id(match_id)?;
        let mut rounds = self.round.iter_mut().chain(&mut self.past);
        rounds
            .find(|round| round.number == number)?
            .fixture_mut(index)
    }

    fn add_player(&mut self, event: &Event) {
        let Event::PlayerRegistered {
            player_id,
            meta,
            dialect,
            token,
            pledge,
            at,
        } = event
        else {
            return;
        };
        let agent = Agent::Player(player_id.clone());
        let mut member = self.make_member(agent, meta, *dialect, *token, *at);
        member.pledge = *pledge;
        member.returns = pledge.is_some() || meta.proofs;
        let player = PlayerEntry {
            id: player_id.clone(),
            member,
            signs: meta.proofs,
            ignores_news: false,
            forfeits: 0,
            absences: 0,
            absent: false,
            expulsion: None,
            seat: match self.players.seated() < self.registration.capacity {
                true => Seat::Taken,
                false => Seat::Waiting,
            },
            extra_time: 0,
        };
        if player.seat == Seat::Taken {
            self.changed = *at;
        }
        // A seat that came free is taken after others have begun to wait.
        let is_between = player.seat == Seat::Taken && self.players.seated() < self.players.len();
        self.index(&player.member, AgentIndex::Player(self.players.len()));
        self.players.add(player_id, player);
        if is_between {
            self.number_players(false);
        }
        self.admit_late();
    }

    /// Takes the players that got a seat after the start into the table.
    pub(crate) fn admit_late(&mut self) {
        while self.phase == Phase::Running && self.schedule().players() < self.players.seated() {
            self.standings.admit();
        }
    }

    fn add_referee(&mut self, event: &Event) {
        let Event::RefereeRegistered {
            referee_id,
            meta,
            dialect,
            token,
            pledge,
            at,
            ..
        } = event
        else {
            return;
        };
        let agent = Agent::Referee(referee_id.clone());
        let mut member = self.make_member(agent, meta, *dialect, *token, *at);
        member.pledge = *pledge;
        member.returns = pledge.is_some();
        self.invited.remove(&place(&member.peer.endpoint));
        let referee = RefereeEntry {
            id: referee_id.clone(),
            member,
            capacity: capacity(meta),
            running: 0,
            queue: VecDeque::new(),
            given: 0,
            doubted_by: BTreeSet::new(),
            by_documents: false,
        };
        let number = self.referees.len();
        self.index(&referee.member, AgentIndex::Referee(number));
        self.referees.add(referee_id, referee);
        self.volatile.referee_came = true;
    }

    fn make_member(
        &self,
        agent: Agent,
        meta: &AgentMeta,
        dialect: Dialect,
        token: TokenHash,
        at: Timestamp,
    ) -> Member {
        let manager_token = (dialect != Dialect::V1).then(|| {
            self.secrets
                .tokens
                .manager_token(&self.rules.league_id, &agent)
        });
        let mut kept = self.registration.kept.values();
        let has_given_name = kept.any(|seat| seat.has_given_name && seat.agent == agent);
        Member {
            manager_token,
            has_given_name,
            ..Member::new(agent, meta, dialect, token, at)
        }
    }

    /// Lets a new agent be found by its name and its token.
    pub(crate) fn index(&mut self, member: &Member, index: AgentIndex) {
        self.names.insert(folded(&member.name), index);
        self.registration
            .kept
            .retain(|_, seat| seat.agent != member.peer.agent);
        self.registration.readmitted.remove(&member.peer.agent);
        self.endpoints.insert(place(&member.peer.endpoint), index);
        self.tokens.insert(member.token, index);
    }

    /// Numbers the players: seats come first, at the start by their ids, so that pairings do not
    /// depend on the order of registration.
    pub(crate) fn number_players(&mut self, by_id: bool) {
        let numbers = self.players.sort(by_id);
        let renumber = |who: AgentIndex| match who {
            AgentIndex::Player(old) => {
                AgentIndex::Player(numbers.get(&old).copied().unwrap_or(old))
            }
            AgentIndex::Referee(_) => who,
        };
        let names = self.names.values_mut().chain(self.endpoints.values_mut());
        for who in names.chain(self.tokens.values_mut()) {
            *who = renumber(*who);
        }
        let suspended = self.volatile.suspended.iter().copied();
        self.volatile.suspended = suspended.map(renumber).collect();
    }

    /// Lets an agent that came back be found by the name that it has now.
    fn change_name(&mut self, who: AgentIndex, old: &str) {
        let name = self.member(who).map(|member| folded(&member.name));
        let old = folded(old);
        if let Some(name) = name.filter(|name| *name != old) {
            self.names.remove(&old);
            self.names.insert(name, who);
            self.standings.forget_table();
        }
    }

    /// A token that a stranger may hold is forgotten once a proven one replaces it; a token that a
    /// stranger may have displaced stays good for returning.
    fn take_back(
        &mut self,
        (agent, is_readmission): (&Agent, bool),
        meta: &AgentMeta,
        mut fresh: Member,
        proof: Option<TokenHash>,
        at: Timestamp,
    ) {
        let Some(who) = self.find_agent(agent) else {
            return;
        };
        self.registration.readmitted.remove(agent);
        fresh.health.succeed(at);
        fresh.unproved = proof.is_none();
        let token = fresh.token;
        let moved_to = place(&fresh.peer.endpoint);
        if let Some(member) = self.member_mut(who) {
            fresh.pledge = member.pledge;
            fresh.returns = member.returns || meta.proofs;
            fresh.renewals = member.renewals;
            fresh.has_given_name = member.has_given_name;
            let displaced = member.unproved && proof.is_some_and(|proof| proof != member.token);
            fresh.replaced = if is_readmission {
                (fresh.pledge, fresh.unproved) = (proof, false);
                fresh.returns = proof.is_some() || meta.proofs;
                fresh.renewals = member.renewals.saturating_add(1);
                Vec::new()
            } else if displaced {
                std::mem::take(&mut member.replaced)
            } else {
                member.tokens_so_far()
            };
            let old = std::mem::replace(member, fresh);
            self.tokens.remove(&old.token);
            let left = place(&old.peer.endpoint);
            if self.endpoints.get(&left) == Some(&who) {
                self.endpoints.remove(&left);
            }
            self.change_name(who, &old.name);
        }
        self.tokens.insert(token, who);
        self.endpoints.insert(moved_to, who);
        self.volatile.suspended.remove(&who);
        if let AgentIndex::Player(number) = who
            && let Some(player) = self.players.get_mut(number)
        {
            player.signs = meta.proofs;
            player.ignores_news = false;
            player.absent = false;
        }
        if let AgentIndex::Referee(number) = who {
            self.volatile.referee_came = true;
            if let Some(round) = &mut self.round {
                round.announced.forget();
            }
            if let Some(referee) = self.referees.get_mut(number) {
                referee.capacity = capacity(meta);
            }
            self.fill(number, at);
        }
    }
}

/// Whether a player lost a match because it was not there.
pub(crate) fn is_absence(cause: Option<&Code>) -> bool {
    matches!(cause, Some(Code::Timeout | Code::Connection))
}
