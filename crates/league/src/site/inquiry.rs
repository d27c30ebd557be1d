//! What a manager's site asks agents while somebody watches: referees for what spectators may see
//! of their matches, and all agents whether they are there. Nothing of it is written; an agent that
//! does not answer delays no match.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex as SyncMutex, PoisonError};
use std::time::Duration;

use league_core::league::{FixtureStage, League, Phase, RefereeAccess};
use league_core::referee::SpectatorView;
use league_protocol::id::{MatchId, RefereeId};
use league_web::model::Joining;
use tokio::sync::Mutex;
use tokio::task::JoinSet;

use crate::agents::actor::Handle;
use crate::agents::assemble::Shared;
use crate::http::client::{CallError, Client};
use crate::http::endpoint::AllowList;
use crate::wire::ask::{AskError, ManagerClient};

/// How long a referee may take to show its matches.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(1);
/// How long a connection to an agent may take.
const PROBE_TIMEOUT: Duration = Duration::from_secs(2);
/// Agents that are called at once.
const MAX_AT_ONCE: usize = 32;
/// A league of more agents is not probed.
const MAX_PROBED: usize = 500;

/// What agents told, or that they do not answer.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct AgentNews {
    pub(crate) live: BTreeMap<MatchId, SpectatorView>,
    /// By agent, such as `player:P01`: why it cannot be reached.
    pub(crate) away: BTreeMap<String, String>,
}

pub(crate) struct Inquiry {
    actor: Handle<League>,
    allowed: AllowList,
    client: Client,
    /// How to join; without a command if the process plays alone.
    joining: Option<Joining>,
    /// Referees that know no such question.
    mute: SyncMutex<BTreeSet<RefereeId>>,
    /// Held by the task that asks.
    pub(crate) turn: Mutex<()>,
}

impl Inquiry {
    pub(crate) fn new(shared: &Shared, actor: Handle<League>, joining: Option<Joining>) -> Self {
        Self {
            actor,
            allowed: shared.outbox.allowed.clone(),
            client: shared.outbox.client.clone(),
            joining,
            mute: SyncMutex::default(),
            turn: Mutex::new(()),
        }
    }

    pub(crate) fn joining(&self) -> Option<Joining> {
        self.joining.clone()
    }

    /// What spectators may see of the matches that are played now, as far as their referees tell.
    pub(crate) async fn running_matches(&self) -> BTreeMap<MatchId, SpectatorView> {
        let mut seen = BTreeMap::new();
        let Ok(referees) = self.actor.query(referees_at_work).await else {
            return seen;
        };
        let mute = self
            .mute
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        let asked = referees
            .into_iter()
            .filter(|(access, _)| !mute.contains(&access.referee_id));
        let mut answers = JoinSet::new();
        for (access, matches) in asked.take(MAX_AT_ONCE) {
            let Ok(endpoint) = self.allowed.check(&access.endpoint) else {
                continue;
            };
            let client = ManagerClient::of(endpoint, self.client.clone());
            answers.spawn(async move {
                let asking = client.running_matches(&access.token);
                let answer = tokio::time::timeout(ANSWER_TIMEOUT, asking).await;
                (access.referee_id, matches, answer)
            });
        }
        while let Some(answer) = answers.join_next().await {
            match answer {
                // A referee shows its own matches and no others.
                Ok((_, matches, Ok(Ok(views)))) => {
                    let own = views
                        .into_iter()
                        .filter(|view| matches.contains(&view.match_id));
                    seen.extend(own.map(|view| (view.match_id.clone(), view)));
                }
                Ok((referee, _, Ok(Err(error)))) if is_final(&error) => {
                    let mut mute = self.mute.lock().unwrap_or_else(PoisonError::into_inner);
                    mute.insert(referee);
                }
                _ => {}
            }
        }
        seen
    }

    /// The agents that cannot be reached, and why. None in a league of one process, whose agents
    /// are there as long as it is.
    pub(crate) async fn unreachable(&self) -> BTreeMap<String, String> {
        let mut away = BTreeMap::new();
        let joining = self.joining.as_ref();
        if joining.is_none_or(|joining| joining.command.is_none()) {
            return away;
        }
        let Ok(addresses) = self.actor.query(addresses).await else {
            return away;
        };
        let turns = Arc::new(tokio::sync::Semaphore::new(MAX_AT_ONCE));
        let mut probes = JoinSet::new();
        for (agent, address) in addresses {
            let Ok(endpoint) = self.allowed.check(&address) else {
                continue;
            };
            let (client, turns) = (self.client.clone(), Arc::clone(&turns));
            probes.spawn(async move {
                let _turn = turns.acquire().await;
                (agent, client.probe(&endpoint, PROBE_TIMEOUT).await)
            });
        }
        while let Some(probe) = probes.join_next().await {
            if let Ok((agent, Err(problem))) = probe
                && !matches!(problem, CallError::Local(_))
            {
                away.insert(agent, problem.to_string());
            }
        }
        away
    }
}

/// Whether a referee would answer the same the next time: it does not know the question.
fn is_final(error: &AskError) -> bool {
    match error {
        AskError::Away(_) => false,
        AskError::Refused { code, .. } => !code.is_some_and(|code| code.retryable()),
        AskError::Unclear(_) => true,
    }
}

/// The referees of ours that run a match now, with their matches.
fn referees_at_work(league: &League) -> Vec<(RefereeAccess, BTreeSet<MatchId>)> {
    let mut work: BTreeMap<RefereeId, BTreeSet<MatchId>> = BTreeMap::new();
    let fixtures = league.round().map_or(&[][..], |round| round.fixtures());
    let running = fixtures
        .iter()
        .filter(|fixture| fixture.stage() == FixtureStage::Running);
    for fixture in running {
        if let Some(referee) = league.referee_of(fixture) {
            let matches = work.entry(referee.id().clone()).or_default();
            matches.insert(fixture.match_id().clone());
        }
    }
    let mut at_work = league.referee_access();
    at_work.retain(|access| work.contains_key(&access.referee_id));
    at_work
        .into_iter()
        .filter_map(|access| {
            let matches = work.remove(&access.referee_id)?;
            Some((access, matches))
        })
        .collect()
}

/// Where the agents of an unfinished league answer; none if they are too many.
fn addresses(league: &League) -> Vec<(String, Arc<str>)> {
    let count = league.players().len() + league.referees().len();
    if league.phase() == Phase::Completed || count > MAX_PROBED {
        return Vec::new();
    }
    let players = league.players().iter().map(|player| {
        let endpoint = &player.member().peer().endpoint;
        (format!("player:{}", player.id()), Arc::clone(endpoint))
    });
    let referees = league.referees().iter().map(|referee| {
        let endpoint = &referee.member().peer().endpoint;
        (format!("referee:{}", referee.id()), Arc::clone(endpoint))
    });
    players.chain(referees).collect()
}
