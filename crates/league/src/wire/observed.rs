//! Observations of the agents in this process about their peers: latencies, tolerated deviations
//! and failed attempts. They are written to a separate file, which the pages read.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use hdrhistogram::Histogram;
use league_protocol::fault::Code;
use league_protocol::finding::{Finding, Severity};
use league_protocol::id::{LeagueId, MatchId, PlayerId};
use league_protocol::sender::Agent;
use league_protocol::time::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::time::Instant;

use crate::agents::identity::{Identity, LogNames};
use crate::clock;
use crate::storage::document_writer::{DocumentWriter, Publication};
use crate::storage::documents::{RepositoryError, SCHEMA_VERSION, load, save};
use crate::storage::root::Root;
use crate::wire::metrics::CallTimes;

/// The least time between two writes.
const MIN_INTERVAL: Duration = Duration::from_secs(1);
/// Added to that interval for each agent.
const INTERVAL_PER_AGENT: Duration = Duration::from_millis(1);

/// The most observer files that are read.
const MAX_OBSERVERS: usize = 1_000;

/// The observer name of the manager, and so its file name.
pub(crate) const MANAGER: &str = "league_manager";

/// The observations of one process, as stored in its file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct ObservedDocument {
    pub(crate) schema_version: String,
    pub(crate) league_id: LeagueId,
    /// The agent in whose name the file is written.
    pub(crate) observer: String,
    /// When it last changed.
    pub(crate) last_updated: Timestamp,
    /// The number of observations so far.
    pub(crate) version: u64,
    /// The observations, by agent.
    pub(crate) agents: BTreeMap<String, AgentObserved>,
}

/// The observations about one agent.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub(crate) struct AgentObserved {
    /// Its latency, if it was called.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) latency: Option<Latency>,
    /// Its tolerated deviations.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) deviations: Vec<Count>,
    /// Its failed attempts in finished matches.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) failures: Vec<Failed>,
}

/// Collects the observations of a process.
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

    /// The failed attempts of players, as noted by referees.
    pub(crate) fn failures(&self) -> &Failures {
        &self.failures
    }

    /// Starts writing to a file, under the name of this observer. If several agents of one process
    /// call this, the first call decides the name.
    ///
    /// Deviations that an earlier process recorded under the same name are restored.
    pub(crate) fn keep(&self, root: &Root, league: &LeagueId, observer: &str) {
        let place = (league.clone(), observer.to_owned());
        if self.place.set(place).is_err() {
            return;
        }
        // A missing or unreadable old file is not an error: there is only less to show.
        if let Ok(Some(old)) = read(root, league, observer) {
            for (agent, seen) in old.agents {
                self.deviations.restore(&agent, seen.deviations);
            }
        }
        let observed = self.clone();
        tokio::spawn(async move {
            loop {
                let agents = u32::try_from(observed.latencies.agents()).unwrap_or(u32::MAX);
                tokio::time::sleep(MIN_INTERVAL + INTERVAL_PER_AGENT.saturating_mul(agents)).await;
                observed.publish();
            }
        });
    }

    /// Requests a write, if anything is new.
    pub(crate) fn publish(&self) {
        let version = self.version();
        if self.written.swap(version, Ordering::Relaxed) != version {
            self.write(version);
        }
    }

    /// Requests a final write now that the league is over, even if nothing is new: a file that is
    /// newer than the end of the league is complete.
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

/// Writes a document, replacing the previous version.
pub(crate) fn write(root: &Root, document: &ObservedDocument) -> Result<(), RepositoryError> {
    save(
        &file(root, &document.league_id, &document.observer),
        document,
    )
}

/// The observations of all processes about the agents of a league.
///
/// Unreadable files are skipped: the pages work without them.
pub(crate) fn all(root: &Root, league: &LeagueId) -> Vec<ObservedDocument> {
    let entries = std::fs::read_dir(root.observed_folder(league));
    let names = entries.into_iter().flatten().flatten();
    let names = names.filter_map(|entry| entry.file_name().into_string().ok());
    let mut names: Vec<String> = names
        .filter_map(|name| name.strip_suffix(".json").map(str::to_owned))
        .collect();
    names.sort();
    names.truncate(MAX_OBSERVERS);
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

/// The most kinds of deviations kept per agent; further kinds are only counted.
pub(crate) const MAX_KINDS: usize = 64;
/// The most agents kept separately; further agents are counted together.
pub(crate) const MAX_AGENTS: usize = 20_000;

/// The most agents shown on the health page.
pub(crate) const MAX_SHOWN: usize = 256;

/// A kind of deviation from the protocol.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct Kind {
    /// The error code with which a strict league would answer.
    pub(crate) code: String,
    /// The path in the message, without list indices.
    pub(crate) path: String,
    /// The clause of the protocol.
    pub(crate) clause: String,
}

/// A kind of deviation and its count.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Count {
    pub(crate) kind: Kind,
    pub(crate) count: u64,
    /// The first finding of this kind, and how to fix it.
    pub(crate) detail: String,
}

/// The deviations of all peers of an agent.
#[derive(Debug, Clone, Default)]
pub(crate) struct Deviations(Arc<Mutex<BTreeMap<String, Kinds>>>);

/// The count of each kind, and its first finding.
type Kinds = BTreeMap<Kind, (u64, String)>;

/// The context of a deviation.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DeviationSource<'s> {
    /// The agent that saw it, and logs it.
    pub(crate) by: &'s Identity,
    /// The agent that deviated.
    pub(crate) agent: &'s str,
    pub(crate) match_id: Option<&'s MatchId>,
}

impl Deviations {
    /// Records the tolerated deviations of an agent.
    pub(crate) fn note(&self, seen: &DeviationSource<'_>, findings: &[Finding]) {
        let forgiven = findings
            .iter()
            .filter(|finding| finding.severity == Severity::Deviation);
        for finding in forgiven {
            let kind = Kind {
                code: finding.code.as_str().to_owned(),
                path: without_places(&finding.path),
                clause: finding.clause.to_owned(),
            };
            let code = finding.code.as_str();
            if self.add(seen.agent, kind, &finding.detail) {
                let LogNames { log, label } = seen.by.names();
                tracing::warn!(
                    agent_id = &*log,
                    component = &*label,
                    event_type = "DEVIATION",
                    peer = seen.agent,
                    match_id = seen.match_id.map(MatchId::as_str),
                    code,
                    path = finding.path,
                    clause = finding.clause,
                    "{}",
                    finding.detail
                );
            }
        }
    }

    /// The tolerated deviations, by agent.
    pub(crate) fn counts(&self) -> BTreeMap<String, Vec<Count>> {
        let agents = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let of_one = |kinds: &Kinds| {
            let counts = kinds.iter().map(|(kind, (count, detail))| Count {
                kind: kind.clone(),
                count: *count,
                detail: detail.clone(),
            });
            counts.collect()
        };
        agents
            .iter()
            .map(|(agent, kinds)| (agent.clone(), of_one(kinds)))
            .collect()
    }

    /// The number of deviations of all agents.
    pub(crate) fn total(&self) -> u64 {
        let agents = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let counts = agents.values().flat_map(Kinds::values);
        counts.fold(0, |all, (count, _)| all.saturating_add(*count))
    }

    /// Adds earlier counts, such as those of an earlier process.
    pub(crate) fn restore(&self, agent: &str, counts: Vec<Count>) {
        for Count {
            kind,
            count,
            detail,
        } in counts
        {
            self.add(agent, kind.clone(), &detail);
            let mut agents = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            let known = agents.get_mut(agent).and_then(|kinds| kinds.get_mut(&kind));
            if let Some((known, _)) = known {
                *known = known.saturating_add(count.saturating_sub(1));
            }
        }
    }

    /// The tolerated deviations for display, of at most [`MAX_SHOWN`] agents.
    pub(crate) fn shown(&self) -> Value {
        let counts = self.counts().into_iter().take(MAX_SHOWN);
        serde_json::to_value(counts.collect::<BTreeMap<_, _>>()).unwrap_or_default()
    }

    /// Counts a deviation; returns whether it is the first of its kind.
    fn add(&self, agent: &str, kind: Kind, detail: &str) -> bool {
        let mut agents = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let agent = if agents.len() < MAX_AGENTS || agents.contains_key(agent) {
            agent
        } else {
            "others"
        };
        let kinds = agents.entry(agent.to_owned()).or_default();
        if let Some((count, _)) = kinds.get_mut(&kind) {
            *count = count.saturating_add(1);
            return false;
        }
        let room = kinds.len() < MAX_KINDS;
        if room {
            kinds.insert(kind, (1, detail.to_owned()));
        }
        room
    }
}

/// A path without list indices, so that all elements of a list count as the same kind.
fn without_places(path: &str) -> String {
    let mut inside = false;
    let keep = |&letter: &char| {
        match letter {
            '[' => inside = true,
            ']' => inside = false,
            _ => return !inside,
        }
        true
    };
    path.chars().filter(keep).collect()
}

/// The most players kept separately; failures of further players are not recorded.
const MAX_PLAYERS: usize = 20_000;

/// How often attempts failed with one code.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Failed {
    pub(crate) code: Code,
    pub(crate) count: u64,
    /// What happened the last time, for people.
    pub(crate) detail: String,
    /// The match in which it last happened.
    pub(crate) match_id: MatchId,
}

/// The failed attempts of players in the matches of this process.
#[derive(Debug, Clone, Default)]
pub(crate) struct Failures(Arc<FailureTable>);

#[derive(Debug, Default)]
struct FailureTable {
    players: Mutex<BTreeMap<PlayerId, BTreeMap<Code, Failed>>>,
    total: AtomicU64,
}

impl Failures {
    /// Records a failed attempt.
    pub(crate) fn note(&self, player: &PlayerId, code: Code, detail: &str, match_id: &MatchId) {
        let players = &self.0.players;
        let mut players = players.lock().unwrap_or_else(PoisonError::into_inner);
        if players.len() >= MAX_PLAYERS && !players.contains_key(player) {
            return;
        }
        let codes = players.entry(player.clone()).or_default();
        let failed = codes.entry(code).or_insert_with(|| Failed {
            code,
            count: 0,
            detail: String::new(),
            match_id: match_id.clone(),
        });
        failed.count += 1;
        detail.clone_into(&mut failed.detail);
        failed.match_id = match_id.clone();
        self.0.total.fetch_add(1, Ordering::Relaxed);
    }

    /// The number of failed attempts.
    pub(crate) fn total(&self) -> u64 {
        self.0.total.load(Ordering::Relaxed)
    }

    /// The failed attempts, by agent.
    pub(crate) fn all(&self) -> BTreeMap<String, Vec<Failed>> {
        let players = &self.0.players;
        let players = players.lock().unwrap_or_else(PoisonError::into_inner);
        let of_one = |(player, codes): (&PlayerId, &BTreeMap<Code, Failed>)| {
            let agent = Agent::Player(player.clone()).to_string();
            (agent, codes.values().cloned().collect())
        };
        players.iter().map(of_one).collect()
    }
}

/// The longest recorded latency, in microseconds; longer ones count as this.
const MAX_MICROS: u64 = 120_000_000;
/// Significant digits of a latency, few so that each agent takes little memory.
const DIGITS: u8 = 1;

/// The latency of an agent.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(crate) struct Latency {
    /// The number of measured calls.
    pub(crate) calls: u64,
    pub(crate) median_ms: f64,
    pub(crate) p95_ms: f64,
}

/// The latencies of the agents that this process calls.
#[derive(Debug, Clone, Default)]
pub(crate) struct Latencies(Arc<LatencyTable>);

#[derive(Debug, Default)]
struct LatencyTable {
    agents: Mutex<BTreeMap<Agent, AgentTimes>>,
    calls: AtomicU64,
    times: CallTimes,
}

#[derive(Debug)]
struct AgentTimes {
    took: Histogram<u32>,
    /// When the last answer came.
    last: Instant,
}

impl Latencies {
    /// Records the latency of one call.
    pub(crate) fn note(&self, agent: &Agent, took: Duration) {
        self.0.times.note(agent, took);
        let took = u64::try_from(took.as_micros()).unwrap_or(MAX_MICROS);
        let mut agents = self.0.agents.lock().unwrap_or_else(PoisonError::into_inner);
        let last = Instant::now();
        if let Some(known) = agents.get_mut(agent) {
            known.took.saturating_record(took);
            known.last = last;
        } else if agents.len() < MAX_AGENTS
            && let Ok(mut new) = Histogram::new_with_max(MAX_MICROS, DIGITS)
        {
            new.saturating_record(took);
            agents.insert(agent.clone(), AgentTimes { took: new, last });
        }
        self.0.calls.fetch_add(1, Ordering::Relaxed);
    }

    /// The number of measured calls.
    pub(crate) fn calls(&self) -> u64 {
        self.0.calls.load(Ordering::Relaxed)
    }

    /// The times of all measured calls, by the kind of agent that answered.
    pub(crate) fn times(&self) -> &CallTimes {
        &self.0.times
    }

    /// When an agent last answered a call, if it did.
    pub(crate) fn last_answer(&self, agent: &Agent) -> Option<Instant> {
        let agents = self.0.agents.lock().unwrap_or_else(PoisonError::into_inner);
        agents.get(agent).map(|times| times.last)
    }

    /// The number of measured agents.
    pub(crate) fn agents(&self) -> usize {
        let agents = self.0.agents.lock().unwrap_or_else(PoisonError::into_inner);
        agents.len()
    }

    /// The latencies, by agent.
    pub(crate) fn all(&self) -> BTreeMap<String, Latency> {
        let agents = self.0.agents.lock().unwrap_or_else(PoisonError::into_inner);
        let millis = |micros: u64| micros as f64 / 1_000.0;
        let latency = |times: &Histogram<u32>| Latency {
            calls: times.len(),
            median_ms: millis(times.value_at_quantile(0.5)),
            p95_ms: millis(times.value_at_quantile(0.95)),
        };
        agents
            .iter()
            .map(|(agent, times)| (agent.to_string(), latency(&times.took)))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_in_lists_are_left_out() {
        assert_eq!(without_places("matches[12].id"), "matches[].id");
        assert_eq!(without_places("sender"), "sender");
    }

    #[test]
    fn the_second_of_a_kind_is_only_counted() {
        let deviations = Deviations::default();
        let kind = || Kind {
            code: "E003".into(),
            path: "sender".into(),
            clause: "000 §2.4.1".into(),
        };
        assert!(deviations.add("player:P01", kind(), "add it"));
        assert!(!deviations.add("player:P01", kind(), "add it"));
        let counts = deviations.counts();
        assert_eq!(counts["player:P01"][0].count, 2);
    }

    #[test]
    fn each_code_is_counted_with_what_happened_last() {
        let failures = Failures::default();
        let player = PlayerId::numbered(1);
        let first = MatchId::numbered(1, 1);
        let second = MatchId::numbered(2, 1);
        failures.note(&player, Code::Timeout, "no answer in 5 s", &first);
        failures.note(&player, Code::InvalidMove, "`maybe` is no choice", &first);
        failures.note(&player, Code::Timeout, "no answer in 30 s", &second);
        let all = failures.all();
        let counts: Vec<_> = all["player:P01"]
            .iter()
            .map(|failed| (failed.code, failed.count, failed.match_id.as_str()))
            .collect();
        assert_eq!(
            counts,
            [(Code::Timeout, 2, "R2M1"), (Code::InvalidMove, 1, "R1M1")]
        );
        assert_eq!(all["player:P01"][0].detail, "no answer in 30 s");
        assert_eq!(failures.total(), 3);
    }

    #[test]
    fn half_and_nineteen_of_twenty_are_told() {
        let latencies = Latencies::default();
        for millis in 1..=100 {
            latencies.note(&Agent::Manager, Duration::from_millis(millis));
        }
        let told = latencies.all()["league_manager"];
        assert_eq!(told.calls, 100);
        assert!((47.0..55.0).contains(&told.median_ms), "{told:?}");
        assert!((90.0..105.0).contains(&told.p95_ms), "{told:?}");
    }

    #[test]
    fn a_time_beyond_all_bounds_counts_as_the_longest() {
        let latencies = Latencies::default();
        latencies.note(&Agent::Manager, Duration::MAX);
        assert!(latencies.all()["league_manager"].p95_ms >= 110_000.0);
    }
}
