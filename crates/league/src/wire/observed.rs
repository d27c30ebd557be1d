//! What the agents of this process found out about others: how fast they answer, what they were
//! forgiven, what cost them attempts. It is written to a file of its own, so that pages can show it later.

mod failures;
mod latencies;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use league_protocol::id::LeagueId;
use league_protocol::time::Timestamp;
use serde::{Deserialize, Serialize};

use crate::clock;
use crate::storage::document_writer::{DocumentWriter, Publication};
use crate::storage::documents::{RepositoryError, SCHEMA_VERSION, load, save};
use crate::storage::root::Root;
use crate::wire::deviations::{Count, Deviations};
pub(crate) use failures::{Failed, Failures};
pub(crate) use latencies::{Latencies, Latency};

/// The least time between two writings.
const MIN_GAP: Duration = Duration::from_secs(1);
/// What each agent adds to that time.
const AN_AGENT: Duration = Duration::from_millis(1);

/// How many files of observers are read.
const MOST_OBSERVERS: usize = 1_000;

/// What the manager's file is called.
pub(crate) const MANAGER: &str = "league_manager";

/// What one process found out, as the file has it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct ObservedDocument {
    /// The form of the file.
    pub(crate) schema_version: String,
    /// Which league.
    pub(crate) league_id: LeagueId,
    /// Who found it out.
    pub(crate) observer: String,
    /// When it last changed.
    pub(crate) last_updated: Timestamp,
    /// Counts what was found out.
    pub(crate) version: u64,
    /// What was found out, by agent.
    pub(crate) agents: BTreeMap<String, AgentObserved>,
}

/// What was found out about one agent.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub(crate) struct AgentObserved {
    /// How long it takes to answer, if it was called.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) latency: Option<Latency>,
    /// What it was forgiven.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) deviations: Vec<Count>,
    /// What cost it attempts in matches that are over.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) failures: Vec<Failed>,
}

/// Gathers what the agents of a process find out.
#[derive(Debug, Clone)]
pub(crate) struct Observations {
    deviations: Deviations,
    latencies: Latencies,
    failures: Failures,
    document_writer: DocumentWriter,
    place: Arc<OnceLock<(LeagueId, String)>>,
    written: Arc<AtomicU64>,
    concluded: Arc<AtomicBool>,
}

impl Observations {
    /// Gathers from here.
    pub(crate) fn new(
        deviations: Deviations,
        latencies: Latencies,
        document_writer: DocumentWriter,
    ) -> Self {
        Self {
            deviations,
            latencies,
            failures: Failures::default(),
            document_writer,
            place: Arc::default(),
            written: Arc::default(),
            concluded: Arc::default(),
        }
    }

    /// What cost players attempts; a referee notes it here.
    pub(crate) fn failures(&self) -> &Failures {
        &self.failures
    }

    /// Keeps it in a file from now on, in the name of this agent; of the agents of one process
    /// the first to ask has its way.
    ///
    /// What an earlier process of the same name noted is taken up.
    pub(crate) fn keep(&self, root: &Root, league: &LeagueId, observer: &str) {
        let place = (league.clone(), observer.to_owned());
        if self.place.set(place).is_err() {
            return;
        }
        // Without the old file there is less to show, and nothing is wrong.
        if let Ok(Some(old)) = read(root, league, observer) {
            for (agent, seen) in old.agents {
                self.deviations.restore(&agent, seen.deviations);
            }
        }
        let observed = self.clone();
        tokio::spawn(async move {
            loop {
                let agents = u32::try_from(observed.latencies.agents()).unwrap_or(u32::MAX);
                tokio::time::sleep(MIN_GAP + AN_AGENT.saturating_mul(agents)).await;
                observed.publish();
            }
        });
    }

    /// Has it written, if anything is new.
    pub(crate) fn publish(&self) {
        let version = self.version();
        if self.written.swap(version, Ordering::Relaxed) != version {
            self.write(version);
        }
    }

    /// Has it written once more, new or not, now that the league is over: whoever finds a file
    /// that is younger than the end knows that it is whole.
    pub(crate) fn conclude(&self) {
        if self.place.get().is_some() && !self.concluded.swap(true, Ordering::Relaxed) {
            let version = self.version();
            self.written.store(version, Ordering::Relaxed);
            self.write(version);
        }
    }

    fn version(&self) -> u64 {
        let version = self.latencies.calls();
        let version = version.saturating_add(self.deviations.total());
        version.saturating_add(self.failures.total())
    }

    fn write(&self, version: u64) {
        let Some((league_id, observer)) = self.place.get() else {
            return;
        };
        let document = ObservedDocument {
            schema_version: SCHEMA_VERSION.to_owned(),
            league_id: league_id.clone(),
            observer: observer.clone(),
            last_updated: clock::now(),
            version,
            agents: self.agents(),
        };
        self.document_writer
            .publish(vec![Publication::Observed(document)]);
    }

    fn agents(&self) -> BTreeMap<String, AgentObserved> {
        let mut agents: BTreeMap<String, AgentObserved> = BTreeMap::new();
        for (agent, latency) in self.latencies.all() {
            agents.entry(agent).or_default().latency = Some(latency);
        }
        for (agent, deviations) in self.deviations.counts() {
            agents.entry(agent).or_default().deviations = deviations;
        }
        for (agent, failures) in self.failures.all() {
            agents.entry(agent).or_default().failures = failures;
        }
        agents
    }
}

/// Writes a document in the place of its former self.
pub(crate) fn write(root: &Root, document: &ObservedDocument) -> Result<(), RepositoryError> {
    save(
        &file(root, &document.league_id, &document.observer),
        document,
    )
}

/// What all processes found out about the agents of a league.
///
/// A file that cannot be read is left out: pages can do without.
pub(crate) fn all(root: &Root, league: &LeagueId) -> Vec<ObservedDocument> {
    let entries = std::fs::read_dir(root.observed_folder(league));
    let names = entries.into_iter().flatten().flatten();
    let names = names.filter_map(|entry| entry.file_name().into_string().ok());
    let mut names: Vec<String> = names
        .filter_map(|name| name.strip_suffix(".json").map(str::to_owned))
        .collect();
    names.sort();
    names.truncate(MOST_OBSERVERS);
    let document = |name: &String| read(root, league, name).ok().flatten();
    names.iter().filter_map(document).collect()
}

fn read(
    root: &Root,
    league: &LeagueId,
    observer: &str,
) -> Result<Option<ObservedDocument>, RepositoryError> {
    load(&file(root, league, observer))
}

fn file(root: &Root, league: &LeagueId, observer: &str) -> PathBuf {
    root.observed_folder(league)
        .join(format!("{observer}.json"))
}
