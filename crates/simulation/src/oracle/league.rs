//! Watches the league manager: rounds, results, standings and the states of agents.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use league_core::league::{
    AgentState, Event, FixtureStage, League, LeagueRules, Lever, Reassignment, ReportProblem,
};
use league_protocol::id::{MatchId, PlayerId, RefereeId};
use league_protocol::message::{MatchResult, MatchStatus};
use league_protocol::sender::Agent;
use league_protocol::time::Timestamp;

use super::hand_over::HandedMoves;
use super::levers::LeverWatch;
use super::table::{difference, table_of};
use super::{GroundTruth, Oracle, is_same, number};
use crate::report::Invariant;
use crate::{CheckResult, NodeId, breach};

/// What the facts of the manager add up to; rebuilt from its journal when it falls.
#[derive(Default)]
pub(crate) struct LeagueWatch {
    pub(crate) a_round: u32,
    /// Every id that was given, in lower case.
    given: BTreeSet<String>,
    players: BTreeMap<PlayerId, NodeId>,
    referees: BTreeMap<RefereeId, NodeId>,
    opened: u32,
    closed: u32,
    completed: bool,
    /// Who has each match, and the attempt at it.
    hands: Vec<(Option<RefereeId>, u32)>,
    /// When each match came to its present attempt.
    given_at: Vec<Timestamp>,
    results: Vec<Option<Arc<MatchResult>>>,
    /// The moves that were handed over, by number of the match.
    pub(crate) handed: BTreeMap<usize, HandedMoves>,
    /// Technical losses that wait for the word of a player; never in the journal.
    questioned: BTreeMap<MatchId, Arc<MatchResult>>,
    /// Matches that were moved because a player denied a call.
    denied: BTreeSet<MatchId>,
    /// How often a proof of a player was wrong in a match.
    unproven: BTreeMap<(MatchId, PlayerId), Vec<RefereeId>>,
    /// Results of the present round.
    full: u32,
    /// The rounds that follow from results.
    listed: Vec<ListedRound>,
    out: BTreeSet<PlayerId>,
    /// Players that came back without their keys or get others, so that they may prove nothing.
    pub(crate) keyless: BTreeSet<PlayerId>,
    pub(crate) states: BTreeMap<Agent, AgentState>,
    pub(crate) levers: LeverWatch,
}

/// Who meets whom in a round, and who rests and is paid for it.
pub(crate) struct ListedRound {
    pub(crate) pairings: Vec<[PlayerId; 2]>,
    pub(crate) byes: Vec<PlayerId>,
}

/// Whether wrong proofs cost a player the match: those of one referee may be its own fault, unless it
/// is the only one.
fn are_many(wrong: &[RefereeId]) -> bool {
    wrong.len() >= 4 || wrong.iter().any(|referee| *referee != wrong[0])
}

impl LeagueWatch {
    pub(crate) fn result(&self, match_id: &MatchId) -> Option<&Arc<MatchResult>> {
        let number = number(match_id, self.a_round)?;
        self.results.get(number)?.as_ref()
    }

    pub(crate) fn hand(&self, match_id: &MatchId) -> Option<&(Option<RefereeId>, u32)> {
        self.hands.get(number(match_id, self.a_round)?)
    }

    pub(crate) fn played(&self) -> (u64, u64) {
        let results = self.results.iter().flatten();
        let lost = results
            .clone()
            .filter(|result| result.status == MatchStatus::TechnicalLoss);
        (results.count() as u64, lost.count() as u64)
    }

    pub(crate) fn result_at(&self, number: usize) -> Option<&MatchResult> {
        self.results.get(number)?.as_deref()
    }

    pub(crate) fn has_result(&self, number: usize) -> bool {
        self.result_at(number).is_some()
    }

    /// The numbers of the matches whose rounds were opened.
    pub(crate) fn numbers(&self) -> impl Iterator<Item = usize> {
        let a_round = self.a_round as usize;
        (1..=self.opened).flat_map(move |round| {
            let count = self.matches_in(round);
            let first = (round as usize - 1) * a_round;
            first..first + count as usize
        })
    }

    /// How many byes of a player count.
    pub(crate) fn byes_of(&self, player: &PlayerId) -> u32 {
        let is_annulled = self.levers.annulled.contains(player);
        let byes = self.listed.iter().flat_map(|round| &round.byes);
        let own = byes.filter(|rests| *rests == player && !is_annulled);
        u32::try_from(own.count()).unwrap_or(u32::MAX)
    }

    /// The rounds that follow from results.
    pub(crate) fn rounds(&self) -> &[ListedRound] {
        &self.listed
    }

    pub(crate) fn closed_rounds(&self) -> u32 {
        self.closed
    }

    fn matches_in(&self, round: u32) -> u32 {
        let listed = self.listed.get(round as usize - 1);
        let regular = listed.map_or(self.a_round, |listed| {
            u32::try_from(listed.pairings.len()).unwrap_or(u32::MAX)
        });
        self.levers.extra_matches(round).unwrap_or(regular)
    }

    /// One more match of the present round is over.
    pub(crate) fn fill(&mut self) {
        self.full += 1;
    }

    /// A player takes part again.
    pub(crate) fn take_in(&mut self, player_id: &PlayerId) {
        self.out.remove(player_id);
        self.states.remove(&Agent::Player(player_id.clone()));
    }

    pub(crate) fn results(&self) -> impl Iterator<Item = &MatchResult> {
        self.results.iter().flatten().map(|result| &**result)
    }

    pub(crate) fn ids(&self) -> impl Iterator<Item = &PlayerId> {
        self.players.keys()
    }

    /// The agent that is known as this player.
    pub(crate) fn player(&self, id: &PlayerId) -> Option<NodeId> {
        self.players.get(id).copied()
    }

    /// The agent that is known as this referee.
    pub(crate) fn referee(&self, id: &RefereeId) -> Option<NodeId> {
        self.referees.get(id).copied()
    }

    /// Takes an event in; fails if it cannot follow the earlier ones.
    #[expect(clippy::too_many_lines, reason = "one arm for each event")]
    fn add(&mut self, facts: &GroundTruth, event: &Event) -> CheckResult {
        self.a_round = facts.matches_a_round();
        match event {
            Event::PlayerRegistered {
                player_id, meta, ..
            } => {
                self.give(player_id.as_str())?;
                let who = who_is_called(&meta.display_name);
                self.players.insert(player_id.clone(), who);
            }
            Event::RefereeRegistered {
                referee_id, meta, ..
            } => {
                self.give(referee_id.as_str())?;
                let who = who_is_called(&meta.display_name);
                self.referees.insert(referee_id.clone(), who);
            }
            Event::RoundOpened {
                round,
                referees,
                pairings,
                byes,
                at,
                ..
            } => {
                if facts.is_listed() {
                    self.listed.push(ListedRound {
                        pairings: pairings.clone(),
                        byes: byes.clone(),
                    });
                }
                return self.open(*round, referees, *at);
            }
            Event::MatchesAdded {
                referees,
                pairings,
                at,
                ..
            } => self.add_matches(referees, pairings, *at),
            Event::MatchesMoved { moves, at, .. } => return self.move_matches(facts, moves, *at),
            Event::MovesReceived {
                match_id,
                referee,
                attempt,
                moves,
                ..
            } => return self.hand_over(facts, match_id, (referee, *attempt), moves),
            Event::LossQuestioned {
                match_id, result, ..
            } => {
                let result = Arc::clone(result);
                self.questioned.insert(match_id.clone(), result);
            }
            Event::ReportRefused {
                match_id,
                referee,
                problem: ReportProblem::Proof(player),
                ..
            } => {
                let key = (match_id.clone(), player.clone());
                self.unproven.entry(key).or_default().push(referee.clone());
            }
            Event::ResultRecorded {
                match_id, result, ..
            } => return self.record(match_id, result),
            Event::PlayerShutDown { player_id, .. } => {
                self.out.insert(player_id.clone());
            }
            Event::PlayerReinstated { player_id, .. } => {
                self.take_in(player_id);
                let agent = Agent::Player(player_id.clone());
                self.states.insert(agent, AgentState::Active);
            }
            Event::OrganiserActed { act, effect, .. } => {
                if let Some((player, ..)) = act.put_out() {
                    self.out.insert(player.clone());
                }
                if let Lever::NewToken { agent } | Lever::Readmit { agent } = &**act
                    && let Agent::Player(player) = agent
                {
                    self.keyless.insert(player.clone());
                }
                self.act(act, effect);
            }
            Event::AgentReturned {
                agent: Agent::Player(player_id),
                meta,
                ..
            } if !meta.proofs => {
                self.keyless.insert(player_id.clone());
            }
            Event::RoundClosed { round, .. } => return self.close(*round),
            Event::LeagueCompleted { .. } => return self.complete(facts),
            _ => {}
        }
        Ok(())
    }

    fn move_matches(
        &mut self,
        facts: &GroundTruth,
        moves: &[Reassignment],
        at: Timestamp,
    ) -> CheckResult {
        for moved in moves {
            let number = number(&moved.match_id, self.a_round);
            let Some(hand) = number.and_then(|number| self.hands.get_mut(number)) else {
                let what = format!("`{}` moved and was never begun", moved.match_id);
                return breach(Invariant::OnlyTheAssignedRefereeCounts, what);
            };
            let same = moved.attempt == hand.1;
            let next = moved.to.is_some() && moved.attempt == hand.1 + 1;
            if !same && !next {
                let what = format!("`{}` skips an attempt", moved.match_id);
                return breach(Invariant::OnlyTheAssignedRefereeCounts, what);
            }
            *hand = (moved.to.clone(), moved.attempt);
            let given = number.and_then(|number| self.given_at.get_mut(number));
            if let Some(given) = given.filter(|_| next) {
                *given = at;
            }
            let fixed = self
                .handed(&moved.match_id)
                .is_some_and(|held| held.is_last);
            if fixed && moved.to.is_some() {
                let what = format!("`{}` is decided and played again", moved.match_id);
                return breach(Invariant::TheDrawKeepsItsPromise, what);
            }
            let asked = self.questioned.remove(&moved.match_id).is_some();
            // Among faults a match may move for another cause while its player is asked.
            let denied = asked && facts.liar.is_some();
            if denied && !self.denied.insert(moved.match_id.clone()) {
                let what = format!("`{}` moves by a second denial", moved.match_id);
                return breach(Invariant::LiesChangeNothing, what);
            }
        }
        Ok(())
    }

    fn give(&mut self, id: &str) -> CheckResult {
        if self.given.insert(id.to_ascii_lowercase()) {
            Ok(())
        } else {
            breach(Invariant::IdsAndTokens, format!("`{id}` is given twice"))
        }
    }

    fn open(&mut self, round: u32, referees: &[RefereeId], at: Timestamp) -> CheckResult {
        if round != self.closed + 1 || self.opened != self.closed {
            let (opened, closed) = (self.opened, self.closed);
            let what = format!("round {round} opens after {opened} opened and {closed} closed");
            return breach(Invariant::RoundsCloseWhenFull, what);
        }
        self.levers.check_going("a round opens")?;
        (self.opened, self.full) = (round, 0);
        let places = self.hands.len() + self.a_round as usize;
        self.hands.resize(places, (None, 0));
        self.given_at.resize(places, at);
        self.results.resize(places, None);
        self.give_all(places - self.a_round as usize, referees, at);
        Ok(())
    }

    /// Matches join the round after those that it has.
    fn add_matches(&mut self, referees: &[RefereeId], pairs: &[[PlayerId; 2]], at: Timestamp) {
        let Some(listed) = self.listed.last_mut() else {
            return;
        };
        let first = self.hands.len() - self.a_round as usize + listed.pairings.len();
        listed.pairings.extend_from_slice(pairs);
        self.give_all(first, referees, at);
    }

    /// The referees get these matches in order.
    fn give_all(&mut self, first: usize, referees: &[RefereeId], at: Timestamp) {
        let given = self.hands.iter_mut().zip(&mut self.given_at).skip(first);
        for ((hand, given_at), referee) in given.zip(referees) {
            (*hand, *given_at) = ((Some(referee.clone()), 1), at);
        }
    }

    fn record(&mut self, match_id: &MatchId, result: &Arc<MatchResult>) -> CheckResult {
        let number = number(match_id, self.a_round).filter(|&number| number < self.results.len());
        let Some(number) = number else {
            let what = format!("`{match_id}` has a result and was never begun");
            return breach(Invariant::OneResultPerMatch, what);
        };
        let is_closed = self.levers.is_closed(number);
        if self.results[number].replace(Arc::clone(result)).is_some() || is_closed {
            let what = format!("`{match_id}` has a second result");
            return breach(Invariant::OneResultPerMatch, what);
        }
        if number / self.a_round.max(1) as usize + 1 != self.opened as usize {
            let what = format!("`{match_id}` has a result after its round");
            return breach(Invariant::RoundsCloseWhenFull, what);
        }
        self.full += 1;
        Ok(())
    }

    fn close(&mut self, round: u32) -> CheckResult {
        let all = self.matches_in(round);
        if round != self.opened || round != self.closed + 1 || self.full != all {
            let full = self.full;
            let what = format!("round {round} closes with {full} of {all} results");
            return breach(Invariant::RoundsCloseWhenFull, what);
        }
        self.closed = round;
        Ok(())
    }

    fn complete(&mut self, facts: &GroundTruth) -> CheckResult {
        let is_full = match facts.is_listed() {
            true => self.closed == self.opened && self.closed > 0,
            false => self.closed == facts.rounds() + self.levers.extra_rounds(),
        };
        if !self.levers.ended {
            self.levers.check_going("the league ends")?;
        }
        if self.completed || !is_full && !self.levers.ended {
            let what = format!("the league ends after {} rounds, or again", self.closed);
            return breach(Invariant::RoundsCloseWhenFull, what);
        }
        self.completed = true;
        Ok(())
    }
}

impl Oracle {
    pub(crate) fn watch_league(
        &mut self,
        league: &League,
        at: Timestamp,
        event: &Event,
    ) -> CheckResult {
        if let Event::ResultRecorded {
            match_id,
            referee,
            attempt,
            result,
            ..
        } = event
        {
            self.check_reporter(match_id, referee.as_ref(), result)?;
            self.check_points(match_id, result)?;
            self.check_right(match_id, referee.as_ref(), *attempt, result)?;
            self.check_handed(match_id, result)?;
            // An honest referee's result was looked at when it was found, and is the same.
            let who = referee
                .as_ref()
                .and_then(|referee| self.league.referee(referee));
            if who.is_none_or(|who| self.is_lying_referee(who)) {
                self.check_result(match_id, *attempt, result)?;
            }
            self.check_loss(match_id, result)?;
        }
        if let Event::MovesReceived {
            match_id,
            referee,
            attempt,
            moves,
            ..
        } = event
        {
            self.check_hand(match_id, referee, *attempt)?;
            self.check_moves_made(match_id, moves)?;
        }
        if let Event::LossQuestioned { match_id, .. } = event {
            let hand = self.league.hand(match_id);
            let referee = hand.and_then(|(referee, _)| referee.clone());
            self.check_sender(match_id, referee.as_ref())?;
        }
        if let Event::MatchesMoved { moves, .. } = event {
            self.check_moves(moves)?;
        }
        if let Event::OrdersReleased { matches } = event {
            self.release(matches, at)?;
        }
        self.watch_news(event, at)?;
        self.check_lies(league, event)?;
        self.take_in_event(league, event)?;
        match event {
            Event::RoundOpened { .. } | Event::MatchesAdded { .. } => self.check_pairs(league)?,
            Event::RoundClosed { .. } if !self.facts.faults => {}
            Event::RoundClosed { .. } | Event::LeagueCompleted { .. } => {
                self.check_table(league)?;
                self.check_states(league)?;
            }
            Event::AgentFailed { agent, .. }
            | Event::AgentAnswered { agent, .. }
            | Event::AgentReturned { agent, .. } => self.check_state(league, agent)?,
            _ => {}
        }
        self.check_capacity(league)?;
        self.sample(event, event.keep())
    }

    /// With levers some players may be out at the start, or not let in.
    fn take_in_event(&mut self, league: &League, event: &Event) -> CheckResult {
        let is_final = !self.facts.rules.late_entry;
        if matches!(event, Event::LeagueStarted { .. }) && self.facts.levers && is_final {
            self.facts.players = u32::try_from(league.players().len()).unwrap_or(0);
        }
        self.league.add(&self.facts, event)?;
        self.check_lever(league, event)
    }

    /// An order waits for announcements as long as news may take.
    fn release(&mut self, matches: &[(MatchId, u32)], at: Timestamp) -> CheckResult {
        for (match_id, attempt) in matches {
            let number = number(match_id, self.facts.matches_a_round());
            let given = number.and_then(|number| self.league.given_at.get(number));
            let hand = self.league.hand(match_id).map(|(_, attempt)| *attempt);
            let early = given.is_none_or(|given| at < *given + self.facts.rules.timeouts.other);
            if early && hand == Some(*attempt) {
                let what = format!("`{match_id}` does not wait for its announcements");
                return breach(Invariant::OnlyTheAssignedRefereeCounts, what);
            }
            if let Some(note) = self.note(match_id) {
                note.released = *attempt;
            }
        }
        Ok(())
    }

    /// An ordered match is not given to another referee at the same attempt.
    fn check_moves(&mut self, moves: &[Reassignment]) -> CheckResult {
        for moved in moves.iter().filter(|moved| moved.to.is_some()) {
            let told = self.note(&moved.match_id).map_or(0, |note| note.ordered);
            if told >= moved.attempt {
                let what = format!("`{}` is run twice at one attempt", moved.match_id);
                return breach(Invariant::OnlyTheAssignedRefereeCounts, what);
            }
        }
        Ok(())
    }

    /// Starts anew from what the manager's journal still says.
    pub(crate) fn recall_league(&mut self, journal: &[Event]) -> CheckResult {
        self.league = LeagueWatch::default();
        self.forget_news();
        for event in journal {
            self.league.add(&self.facts, event)?;
        }
        let results = &self.league.results;
        for (number, note) in self.matches.iter().enumerate() {
            let Some(acked) = &note.acked else { continue };
            let kept = results.get(number).and_then(Option::as_ref);
            if kept.is_none_or(|kept| **kept != **acked) {
                let what = format!("match {number} was acknowledged and its result is lost");
                return breach(Invariant::AckedResultsStay, what);
            }
        }
        Ok(())
    }

    /// The results that the machine knows are those of its journal.
    pub(crate) fn check_results(&self, league: &League) -> CheckResult {
        for note in self.matches.iter().filter_map(|note| note.acked.as_ref()) {
            let [a, b] = &note.players;
            let known = league.player(a).is_some() && league.player(b).is_some();
            if !known {
                return breach(
                    Invariant::AckedResultsStay,
                    "a player of a result is unknown",
                );
            }
        }
        self.check_table(league)
    }

    fn check_right(
        &self,
        match_id: &MatchId,
        referee: Option<&RefereeId>,
        attempt: u32,
        result: &Arc<MatchResult>,
    ) -> CheckResult {
        let invariant = Invariant::OnlyTheAssignedRefereeCounts;
        let hand = self.league.hand(match_id);
        let Some((holder, current)) = hand else {
            return breach(
                invariant,
                format!("`{match_id}` has a result before its round"),
            );
        };
        let Some(referee) = referee else {
            let out = |player: &PlayerId| {
                let wrong = self
                    .league
                    .unproven
                    .get(&(match_id.clone(), player.clone()));
                self.league.out.contains(player) || wrong.is_some_and(|wrong| are_many(wrong))
            };
            let fixed = self
                .league
                .handed(match_id)
                .is_some_and(|held| held.is_last);
            return if fixed || result.players.iter().any(out) {
                Ok(())
            } else {
                breach(
                    invariant,
                    format!("the manager rules `{match_id}` without cause"),
                )
            };
        };
        if holder.as_ref() != Some(referee) || *current != attempt {
            let what = format!("`{match_id}` is taken from `{referee}` in attempt {attempt}");
            return breach(invariant, what);
        }
        let Some(from) = self.league.referee(referee) else {
            return breach(invariant, format!("`{referee}` is unknown"));
        };
        let number = number(match_id, self.facts.matches_a_round());
        let note = number.and_then(|number| self.matches.get(number));
        let decided = note.is_some_and(|note| {
            let mut ends = note.decided.iter();
            ends.any(|(who, tried, end)| *who == from && *tried == attempt && is_same(end, result))
        });
        if decided || self.is_lying_referee(from) {
            Ok(())
        } else {
            breach(
                invariant,
                format!("`{match_id}` has a result that no referee found"),
            )
        }
    }

    /// Whether a referee's result comes from this referee. A loss that waited for the word of a player
    /// was reported before.
    fn check_reporter(
        &self,
        match_id: &MatchId,
        referee: Option<&RefereeId>,
        result: &Arc<MatchResult>,
    ) -> CheckResult {
        let questioned = self.league.questioned.get(match_id);
        let waited = questioned.is_some_and(|questioned| is_same(questioned, result));
        if referee.is_none() || waited {
            return Ok(());
        }
        self.check_sender(match_id, referee)
    }

    /// Whether the present command comes from this referee.
    pub(crate) fn check_sender(
        &self,
        match_id: &MatchId,
        referee: Option<&RefereeId>,
    ) -> CheckResult {
        let from = self.from;
        if referee.and_then(|referee| self.league.referee(referee)) == Some(from) {
            return Ok(());
        }
        let what = format!("agent {from} tells of `{match_id}` as {referee:?}");
        breach(Invariant::OnlyTheAssignedRefereeCounts, what)
    }

    fn check_pairs(&mut self, league: &League) -> CheckResult {
        let Some(round) = league.round() else {
            return breach(Invariant::PairsMeetOnce, "a round opens that is not there");
        };
        let players = self.facts.players as usize;
        let mut met = vec![false; players];
        for fixture in round.fixtures() {
            self.check_promise(fixture.match_id(), fixture.commitment())?;
            // A round that grows has further matches of players whose match is over.
            if fixture.stage() == FixtureStage::Finished {
                continue;
            }
            let [a, b] = fixture.pairing().seats.map(|seat| seat as usize);
            let twice = a == b || std::mem::replace(&mut met[a], true);
            if twice || std::mem::replace(&mut met[b], true) {
                let what = format!("somebody plays twice in round {}", round.number());
                return breach(Invariant::PairsMeetOnce, what);
            }
        }
        self.check_capacity(league)
    }

    /// Whether every pair has met, once in each leg; called at the end.
    pub(crate) fn check_all_met(&self) -> CheckResult {
        if self.facts.is_listed() {
            self.check_meetings()?;
        }
        if self.facts.levers {
            return self.check_all_settled();
        }
        if self.facts.is_listed() {
            return Ok(());
        }
        let mut met = BTreeMap::new();
        for result in self.league.results() {
            let [a, b] = &result.players;
            let met = met.entry(if a < b { (a, b) } else { (b, a) }).or_insert(0);
            *met += 1;
            if a == b || *met > self.facts.rules.legs {
                let what = format!("`{a}` and `{b}` met {met} times");
                return breach(Invariant::PairsMeetOnce, what);
            }
        }
        met.retain(|_, met| *met == self.facts.rules.legs);
        let all = u64::from(self.facts.players) * u64::from(self.facts.players - 1) / 2;
        if met.len() as u64 != all {
            let what = format!("{} of {all} pairs have met", met.len());
            return breach(Invariant::PairsMeetOnce, what);
        }
        Ok(())
    }

    /// Whether pairs met as often as the format allows.
    fn check_meetings(&self) -> CheckResult {
        let mut met: BTreeMap<(&PlayerId, &PlayerId), u32> = BTreeMap::new();
        let rounds = self.league.rounds().iter();
        for [a, b] in rounds.flat_map(|round| &round.pairings) {
            *met.entry(if a < b { (a, b) } else { (b, a) }).or_default() += 1;
        }
        let most = met.values().copied().max().unwrap_or(0);
        if most <= most_meetings(&self.facts.rules) {
            return Ok(());
        }
        let what = format!("two players met {most} times");
        breach(Invariant::PairsMeetOnce, what)
    }

    pub(crate) fn check_table(&self, league: &League) -> CheckResult {
        let is_ladder = self.facts.rules.format.name() == "ladder" && !self.facts.levers;
        let progress = match is_ladder {
            true => self.league.course(league).ladder(),
            false => league.progress(),
        };
        let expected = table_of(league, &self.league, &self.facts.rules.score, progress);
        let found = league.standings();
        match difference(league, &expected, &found) {
            None => Ok(()),
            Some(what) => breach(Invariant::TableFollowsFromResults, what),
        }
    }

    fn check_capacity(&self, league: &League) -> CheckResult {
        for referee in league.referees() {
            let who = self.league.referee(referee.id());
            let place = who.map(|who| who as usize - 1);
            let capacity = place.and_then(|place| self.facts.capacities.get(place));
            if capacity.is_some_and(|&capacity| referee.running() > capacity) {
                let what = format!("`{}` is given {}", referee.id(), referee.running());
                return breach(Invariant::CapacityHolds, what);
            }
        }
        Ok(())
    }
}

/// How often two players may meet, by `docs/formats.md`; a format that is not listed there never.
fn most_meetings(rules: &LeagueRules) -> u32 {
    /// Games that a level tie is played on.
    const MORE_GAMES: u32 = 6;
    let tie = rules.legs + MORE_GAMES;
    match rules.format.name() {
        "swiss" | "gauntlet" => rules.legs,
        "knockout" => tie,
        // In either bracket, in the grand final, and in the reset.
        "double_elimination" => 3 * tie,
        "groups" => rules.legs + tie,
        "ladder" => rules.rounds.unwrap_or(u32::MAX),
        "arena" => u32::MAX,
        _ => 0,
    }
}

/// The agent that goes by a name: `Player 7` is agent 7.
pub(crate) fn who_is_called(name: &str) -> NodeId {
    let number = name.rsplit(' ').next();
    number
        .and_then(|number| number.parse().ok())
        .unwrap_or(NodeId::MAX)
}

impl Oracle {
    pub(crate) fn check_states(&mut self, league: &League) -> CheckResult {
        let players = league.players().iter();
        let agents: Vec<Agent> = players
            .map(|player| Agent::Player(player.id().clone()))
            .chain(
                league
                    .referees()
                    .iter()
                    .map(|referee| Agent::Referee(referee.id().clone())),
            )
            .collect();
        agents
            .iter()
            .try_for_each(|agent| self.check_state(league, agent))
    }

    /// REGISTERED, ACTIVE and SUSPENDED in turn, SHUTDOWN and nothing after.
    pub(crate) fn check_state(&mut self, league: &League, agent: &Agent) -> CheckResult {
        use AgentState::{Active, Registered, Shutdown, Suspended};
        let state = match agent {
            Agent::Player(id) => league.player(id).map(|player| league.player_state(player)),
            Agent::Referee(id) => league
                .referee(id)
                .map(|referee| league.referee_state(referee)),
            Agent::Manager => None,
        };
        let Some(state) = state else {
            return breach(
                Invariant::StatesFollowTheDiagrams,
                format!("`{agent}` is unknown"),
            );
        };
        let before = self.league.states.insert(agent.clone(), state);
        let allowed = match before {
            None => true,
            Some(Registered | Active | Suspended) if state != Registered => true,
            Some(before) => before == state,
        };
        if allowed && !(before == Some(Shutdown) && state != Shutdown) {
            return Ok(());
        }
        let what = format!("`{agent}` goes from {before:?} to {state:?}");
        breach(Invariant::StatesFollowTheDiagrams, what)
    }
}
