//! What a manager's site asks agents for its pages: referees for what spectators may see of their
//! matches, and all agents whether they are there. Nothing of it is written, and an agent that does
//! not answer delays no match. When to ask whom is in `inquiry_turn`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use league_core::league::{FixtureStage, League, Phase, RefereeAccess};
use league_core::referee::SpectatorView;
use league_protocol::id::{MatchId, RefereeId};
use league_protocol::sender::Agent;
use league_web::model::Joining;
use tokio::sync::Mutex;
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::inquiry_turn::InquiryTurn;
use crate::agents::actor::Handle;
use crate::agents::assemble::Shared;
use crate::http::client::{CallError, Client};
use crate::http::endpoint::AllowList;
use crate::wire::ask::ManagerClient;
use crate::wire::observed::Latencies;

/// How long a referee may take to show its matches.
pub(crate) const ANSWER_TIMEOUT: Duration = Duration::from_secs(1);
/// How long a connection to an agent may take.
const PROBE_TIMEOUT: Duration = Duration::from_secs(2);
/// A league of more agents is not probed.
const MAX_PROBED: usize = 500;
/// The most rows and cells of a position, and the longest text in it, in bytes. The games have far
/// less; a referee that shows more is not shown.
const MAX_PICTURE_ROWS: usize = 100;
const MAX_PICTURE_CELLS: usize = 1_000;
const MAX_PICTURE_TEXT: usize = 1_000;

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
    latencies: Latencies,
    /// How to join; without a command if the process plays alone.
    joining: Option<Joining>,
    /// Held by the task that asks.
    pub(crate) turn: Mutex<InquiryTurn>,
}

impl Inquiry {
    pub(crate) fn new(shared: &Shared, actor: Handle<League>, joining: Option<Joining>) -> Self {
        Self {
            actor,
            allowed: shared.outbox.allowed.clone(),
            client: shared.outbox.client.clone(),
            latencies: shared.outbox.latencies.clone(),
            joining,
            turn: Mutex::default(),
        }
    }

    pub(crate) fn joining(&self) -> Option<Joining> {
        self.joining.clone()
    }

    /// Asks referees for their matches, tries agents that were not heard of lately, and returns
    /// what is known then. Waits for the referees, at most [`ANSWER_TIMEOUT`], and not for the
    /// others: their answers come with a later turn.
    pub(crate) async fn ask(&self, turn: &mut InquiryTurn) -> AgentNews {
        turn.begin(Instant::now());
        self.ask_referees(turn).await;
        self.try_agents(turn).await;
        turn.news()
    }

    async fn ask_referees(&self, turn: &mut InquiryTurn) {
        let work = self.actor.query(referees_at_work).await;
        let mut answers = JoinSet::new();
        for (access, matches) in turn.choose(work.unwrap_or_default(), Instant::now()) {
            let Ok(endpoint) = self.allowed.check(&access.endpoint) else {
                continue;
            };
            let client = ManagerClient::of(endpoint, self.client.clone());
            answers.spawn(async move {
                let asking = client.running_matches(&access.token);
                let answer = tokio::time::timeout(ANSWER_TIMEOUT, asking).await;
                let views = answer.ok().and_then(Result::ok);
                let views = views.filter(|views| views.iter().all(is_in_bounds));
                (access.referee_id, matches, views)
            });
        }
        while let Some(answer) = answers.join_next().await {
            if let Ok((referee, matches, views)) = answer {
                turn.take_answer(referee, &matches, views, Instant::now());
            }
        }
    }

    /// Tries to connect to agents. Not in a league of one process, whose agents are there as long
    /// as it is.
    async fn try_agents(&self, turn: &mut InquiryTurn) {
        let joining = self.joining.as_ref();
        if joining.is_none_or(|joining| joining.command.is_none()) {
            return;
        }
        let addresses = self.actor.query(addresses).await.unwrap_or_default();
        let addresses: BTreeMap<Agent, Arc<str>> = addresses.into_iter().collect();
        for agent in addresses.keys() {
            if let Some(at) = self.latencies.last_answer(agent) {
                turn.take_sign_of_life(agent, at);
            }
        }
        for agent in turn.due(&addresses.keys().collect::<Vec<_>>(), Instant::now()) {
            let Ok(endpoint) = self.allowed.check(&addresses[&agent]) else {
                continue;
            };
            let client = self.client.clone();
            turn.probes.spawn(async move {
                let problem = match client.probe(&endpoint, PROBE_TIMEOUT).await {
                    Ok(()) | Err(CallError::Local(_)) => None,
                    Err(problem) => Some(problem.to_string()),
                };
                (agent, problem)
            });
        }
    }
}

fn is_in_bounds(view: &SpectatorView) -> bool {
    let rows = &view.position.rows;
    let cells = || rows.iter().flat_map(|row| &row.cells);
    let labels = rows.iter().filter_map(|row| row.label.as_ref());
    let mut texts = cells().map(|cell| &cell.text).chain(labels);
    rows.len() <= MAX_PICTURE_ROWS
        && cells().count() <= MAX_PICTURE_CELLS
        && texts.all(|text| text.len() <= MAX_PICTURE_TEXT)
}

/// A referee and the matches that it runs.
pub(crate) type RefereeWork = (RefereeAccess, BTreeSet<MatchId>);

/// The referees of ours that run a match now, with their matches.
fn referees_at_work(league: &League) -> Vec<RefereeWork> {
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
fn addresses(league: &League) -> Vec<(Agent, Arc<str>)> {
    let count = league.players().len() + league.referees().len();
    if league.phase() == Phase::Completed || count > MAX_PROBED {
        return Vec::new();
    }
    let players = league.players().iter().map(|player| {
        let endpoint = &player.member().peer().endpoint;
        (Agent::Player(player.id().clone()), Arc::clone(endpoint))
    });
    let referees = league.referees().iter().map(|referee| {
        let endpoint = &referee.member().peer().endpoint;
        (Agent::Referee(referee.id().clone()), Arc::clone(endpoint))
    });
    players.chain(referees).collect()
}

#[cfg(test)]
mod tests {
    use league_games::{Picture, PictureCell, PictureRow, Tone};

    use super::*;

    fn view(rows: usize, cells: usize, text: usize) -> SpectatorView {
        let cell = PictureCell {
            text: "x".repeat(text),
            tone: Tone::A,
        };
        let row = PictureRow {
            label: None,
            cells: vec![cell; cells],
        };
        SpectatorView {
            match_id: MatchId::numbered(1, 1),
            attempt: 1,
            awaited: [true; 2],
            deadline: None,
            position: Picture {
                rows: vec![row; rows],
            },
        }
    }

    #[test]
    fn position_beyond_its_bounds_is_not_shown() {
        for (rows, cells, text, shown) in [
            (0, 0, 0, true),
            (6, 7, 1, true),
            (1, MAX_PICTURE_CELLS, 1, true),
            (1, MAX_PICTURE_CELLS + 1, 1, false),
            (MAX_PICTURE_ROWS + 1, 0, 0, false),
            (1, 1, MAX_PICTURE_TEXT + 1, false),
        ] {
            assert_eq!(
                is_in_bounds(&view(rows, cells, text)),
                shown,
                "{rows} {cells} {text}"
            );
        }
    }
}
