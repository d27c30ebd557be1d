//! Whom a site asks in one turn, and what it knows after it. Each turn asks a bounded number of
//! referees and tries a bounded number of agents; an agent that fails is left alone for a while.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use league_core::referee::SpectatorView;
use league_protocol::id::{MatchId, RefereeId};
use league_protocol::sender::Agent;
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::inquiry::{AgentNews, RefereeWork};

/// Referees that are asked in a turn; where more are at work, the others have the next turns.
const MAX_ASKED: usize = 32;
/// How long a referee is left alone after it did not show its matches. Each further failure doubles
/// the time, up to the longest.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);
/// Agents that are tried in a turn.
const MAX_TRIED: usize = 8;
/// An agent that was heard of within this time is not tried.
const SIGN_OF_LIFE: Duration = Duration::from_secs(5);
/// After a longer break, what was known of agents is out of date.
const MAX_BREAK: Duration = Duration::from_secs(30);

#[derive(Debug, Default)]
pub(crate) struct InquiryTurn {
    began: Option<Instant>,
    live: BTreeMap<MatchId, SpectatorView>,
    /// Where the turn begins among the referees at work.
    first: usize,
    /// Referees that did not show their matches.
    silent: BTreeMap<RefereeId, Silence>,
    seen: BTreeMap<Agent, LastTry>,
    /// Attempts to reach agents; each ends with the problem, if there is one.
    pub(crate) probes: JoinSet<(Agent, Option<String>)>,
}

#[derive(Debug, Clone, Copy)]
struct Silence {
    failures: u32,
    until: Instant,
}

#[derive(Debug)]
struct LastTry {
    at: Instant,
    problem: Option<String>,
}

impl InquiryTurn {
    /// Whether it began less than `age` ago.
    pub(crate) fn is_fresh(&self, age: Duration, now: Instant) -> bool {
        self.began.is_some_and(|began| now - began < age)
    }

    pub(crate) fn begin(&mut self, now: Instant) {
        if !self.is_fresh(MAX_BREAK, now) {
            self.seen.clear();
            self.probes = JoinSet::new();
        }
        self.began = Some(now);
        while let Some(done) = self.probes.try_join_next() {
            if let Ok((agent, problem)) = done {
                self.seen.insert(agent, LastTry { at: now, problem });
            }
        }
    }

    /// The referees to ask, and forgets matches that are over.
    pub(crate) fn choose(&mut self, work: Vec<RefereeWork>, now: Instant) -> Vec<RefereeWork> {
        let running: BTreeSet<&MatchId> = work.iter().flat_map(|(_, matches)| matches).collect();
        self.live.retain(|id, _| running.contains(id));
        let referees: BTreeSet<&RefereeId> =
            work.iter().map(|(access, _)| &access.referee_id).collect();
        self.silent.retain(|id, _| referees.contains(id));
        let is_asked = |(access, _): &RefereeWork| {
            let silence = self.silent.get(&access.referee_id);
            silence.is_none_or(|silence| silence.until <= now)
        };
        let mut asked: Vec<RefereeWork> = work.into_iter().filter(is_asked).collect();
        if asked.len() > MAX_ASKED {
            let first = self.first % asked.len();
            asked.rotate_left(first);
            asked.truncate(MAX_ASKED);
            self.first = first + MAX_ASKED;
        }
        asked
    }

    /// Takes what a referee shows of the matches that it runs, and of no others; `None` if it did
    /// not answer, or not well.
    pub(crate) fn take_answer(
        &mut self,
        referee: RefereeId,
        matches: &BTreeSet<MatchId>,
        views: Option<Vec<SpectatorView>>,
        now: Instant,
    ) {
        self.live.retain(|id, _| !matches.contains(id));
        let Some(views) = views else {
            let failures = self.silent.get(&referee).map_or(0, |known| known.failures);
            let pause = FIRST_PAUSE.saturating_mul(1 << failures.min(16));
            let silence = Silence {
                failures: failures.saturating_add(1),
                until: now + pause.min(LONGEST_PAUSE),
            };
            self.silent.insert(referee, silence);
            return;
        };
        self.silent.remove(&referee);
        let own = views
            .into_iter()
            .filter(|view| matches.contains(&view.match_id));
        self.live
            .extend(own.map(|view| (view.match_id.clone(), view)));
    }

    /// Notes that an agent answered a call of the league.
    pub(crate) fn take_sign_of_life(&mut self, agent: &Agent, at: Instant) {
        if self.seen.get(agent).is_none_or(|seen| seen.at < at) {
            let problem = None;
            self.seen.insert(agent.clone(), LastTry { at, problem });
        }
    }

    /// The agents to try in this turn: those that were not heard of for the longest time.
    pub(crate) fn due(&mut self, agents: &[&Agent], now: Instant) -> Vec<Agent> {
        let all: BTreeSet<&&Agent> = agents.iter().collect();
        self.seen.retain(|agent, _| all.contains(&agent));
        let last = |agent: &Agent| self.seen.get(agent).map(|seen| seen.at);
        let mut due: Vec<Agent> = agents
            .iter()
            .filter(|agent| last(agent).is_none_or(|at| now - at >= SIGN_OF_LIFE))
            .map(|agent| (*agent).clone())
            .collect();
        due.sort_by_key(|agent| last(agent));
        due.truncate(MAX_TRIED);
        for agent in &due {
            let known = self.seen.remove(agent);
            let problem = known.and_then(|known| known.problem);
            self.seen
                .insert(agent.clone(), LastTry { at: now, problem });
        }
        due
    }

    pub(crate) fn news(&self) -> AgentNews {
        let away = self.seen.iter().filter_map(|(agent, seen)| {
            let problem = seen.problem.clone()?;
            Some((agent.to_string(), problem))
        });
        AgentNews {
            live: self.live.clone(),
            away: away.collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use league_core::league::RefereeAccess;
    use league_games::Picture;
    use league_protocol::id::PlayerId;
    use league_protocol::token::AuthToken;

    use super::*;

    /// So many referees that each run one match.
    fn work(referees: u32) -> Vec<RefereeWork> {
        let one = |number| {
            let access = RefereeAccess {
                referee_id: RefereeId::numbered(number),
                endpoint: "http://localhost:1/mcp".into(),
                token: AuthToken::new("token"),
            };
            (access, BTreeSet::from([MatchId::numbered(1, number)]))
        };
        (1..=referees).map(one).collect()
    }

    fn view(match_id: MatchId) -> SpectatorView {
        SpectatorView {
            match_id,
            attempt: 1,
            awaited: [true; 2],
            deadline: None,
            position: Picture::default(),
        }
    }

    #[test]
    fn every_referee_has_its_turn_and_its_matches_stay_until_then() {
        let mut turn = InquiryTurn::default();
        let now = Instant::now();
        let mut asked = BTreeSet::new();
        for turns in 1..=3 {
            let chosen = turn.choose(work(70), now);
            assert_eq!(chosen.len(), MAX_ASKED);
            for (access, matches) in chosen {
                let views = matches.iter().cloned().map(view).collect();
                asked.insert(access.referee_id.clone());
                turn.take_answer(access.referee_id, &matches, Some(views), now);
            }
            assert_eq!(turn.news().live.len(), asked.len(), "turn {turns}");
        }
        assert_eq!(asked.len(), 70);
        turn.choose(work(1), now);
        assert_eq!(
            turn.news().live.len(),
            1,
            "matches that are over are forgotten"
        );
    }

    #[test]
    fn referee_that_fails_is_asked_again_after_a_growing_pause() {
        let mut turn = InquiryTurn::default();
        let began = Instant::now();
        let mut now = began;
        let mut pauses = Vec::new();
        for _ in 0..9 {
            let (access, matches) = turn.choose(work(1), now).remove(0);
            turn.take_answer(access.referee_id, &matches, None, now);
            let failed = now;
            while turn.choose(work(1), now).is_empty() {
                now += Duration::from_secs(1);
            }
            pauses.push((now - failed).as_secs());
        }
        assert_eq!(pauses, [1, 2, 4, 8, 16, 32, 60, 60, 60]);
        let (access, matches) = turn.choose(work(1), now).remove(0);
        turn.take_answer(access.referee_id.clone(), &matches, Some(Vec::new()), now);
        assert_eq!(
            turn.choose(work(1), now).len(),
            1,
            "an answer ends the pause"
        );
    }

    #[test]
    fn referee_shows_its_own_matches_only() {
        let mut turn = InquiryTurn::default();
        let own = BTreeSet::from([MatchId::numbered(1, 1)]);
        let views = [1, 2].map(|number| view(MatchId::numbered(1, number)));
        turn.take_answer(
            RefereeId::numbered(1),
            &own,
            Some(views.into()),
            Instant::now(),
        );
        assert_eq!(turn.news().live.into_keys().collect::<BTreeSet<_>>(), own);
    }

    #[test]
    fn few_agents_are_tried_in_a_turn_and_none_that_answered_lately() {
        let agents: Vec<Agent> = (1..=20)
            .map(|number| Agent::Player(PlayerId::numbered(number)))
            .collect();
        let all: Vec<&Agent> = agents.iter().collect();
        let now = Instant::now();
        let mut turn = InquiryTurn::default();
        turn.take_sign_of_life(&agents[0], now);
        let mut tried = Vec::new();
        for expected in [8, 8, 3, 0] {
            let due = turn.due(&all, now);
            assert_eq!(due.len(), expected);
            tried.extend(due);
        }
        tried.sort();
        assert_eq!(
            tried,
            agents[1..],
            "each once, but not the one that answered"
        );
        let later = now + SIGN_OF_LIFE;
        assert_eq!(
            turn.due(&all, later).len(),
            MAX_TRIED,
            "and again after a while"
        );
    }

    #[tokio::test]
    async fn agent_is_away_from_a_failed_try_to_the_next_answer() {
        let agent = Agent::Player(PlayerId::numbered(1));
        let now = Instant::now();
        let mut turn = InquiryTurn::default();
        turn.begin(now);
        turn.due(&[&agent], now);
        let gone = agent.clone();
        turn.probes
            .spawn(async move { (gone, Some("refused".to_owned())) });
        while turn.news().away.is_empty() {
            tokio::task::yield_now().await;
            turn.begin(now);
        }
        assert_eq!(turn.news().away["player:P01"], "refused");
        turn.take_sign_of_life(&agent, now + Duration::from_secs(1));
        assert!(turn.news().away.is_empty());
    }
}
