//! What the agents of this process found out about others: how fast they answer, what they were
//! forgiven, what cost them attempts. It is written to a file of its own, for the pages.

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

use crate::agents::identity::{Identity, LogNames};
use crate::clock;
use crate::storage::document_writer::{DocumentWriter, Publication};
use crate::storage::documents::{RepositoryError, SCHEMA_VERSION, load, save};
use crate::storage::root::Root;

/// The least time between two writings.
const MIN_INTERVAL: Duration = Duration::from_secs(1);
/// What each agent adds to that time.
const INTERVAL_PER_AGENT: Duration = Duration::from_millis(1);

/// How many files of observers are read.
const MAX_OBSERVERS: usize = 1_000;

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
                tokio::time::sleep(MIN_INTERVAL + INTERVAL_PER_AGENT.saturating_mul(agents)).await;
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

/// How many kinds are kept for one agent; more are only counted.
pub(crate) const MAX_KINDS: usize = 64;
/// How many agents are kept apart; more are counted as one.
pub(crate) const MAX_AGENTS: usize = 20_000;

/// How many agents are shown to whoever asks how an agent is.
pub(crate) const MAX_SHOWN: usize = 256;

/// A way to leave the protocol.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct Kind {
    /// The error code that a strict league would answer.
    pub(crate) code: String,
    /// Where in the message, with places in lists left out.
    pub(crate) path: String,
    /// Which clause.
    pub(crate) clause: String,
}

/// One kind, and how often it was seen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Count {
    /// Which kind.
    pub(crate) kind: Kind,
    /// How often.
    pub(crate) count: u64,
    /// What was found the first time, and what to do.
    pub(crate) detail: String,
}

/// The deviations of all agents that an agent has talked with.
#[derive(Debug, Clone, Default)]
pub(crate) struct Deviations(Arc<Mutex<BTreeMap<String, Kinds>>>);

/// How often each kind was seen, and what was found the first time.
type Kinds = BTreeMap<Kind, (u64, String)>;

/// Who left the protocol, where, and who saw it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Seen<'s> {
    /// Who saw it, and has it in its log.
    pub(crate) by: &'s Identity,
    /// Who left the protocol.
    pub(crate) agent: &'s str,
    /// In which match.
    pub(crate) match_id: Option<&'s MatchId>,
}

impl Deviations {
    /// Notes what was forgiven an agent.
    pub(crate) fn note(&self, seen: &Seen<'_>, findings: &[Finding]) {
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

    /// What each agent was forgiven, by agent.
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

    /// How often all agents together left the protocol.
    pub(crate) fn total(&self) -> u64 {
        let agents = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let counts = agents.values().flat_map(Kinds::values);
        counts.fold(0, |all, (count, _)| all.saturating_add(*count))
    }

    /// Takes up what was noted before, such as by an earlier process.
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

    /// What each agent was forgiven, for all to see; of many agents only some.
    pub(crate) fn shown(&self) -> Value {
        let counts = self.counts().into_iter().take(MAX_SHOWN);
        serde_json::to_value(counts.collect::<BTreeMap<_, _>>()).unwrap_or_default()
    }

    /// Counts one; says whether it is the first of its kind.
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

/// A path without the places in its lists, so that each element counts as the same kind.
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

/// How many players are kept apart; of more nothing is noted.
const MAX_PLAYERS: usize = 20_000;

/// How often attempts failed for one reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Failed {
    /// Which rule was broken.
    pub(crate) code: Code,
    /// How often.
    pub(crate) count: u64,
    /// What happened the last time, in a sentence for people.
    pub(crate) detail: String,
    /// In which match that was.
    pub(crate) match_id: MatchId,
}

/// What cost players attempts in the matches of this process.
#[derive(Debug, Clone, Default)]
pub(crate) struct Failures(Arc<FailureTable>);

#[derive(Debug, Default)]
struct FailureTable {
    players: Mutex<BTreeMap<PlayerId, BTreeMap<Code, Failed>>>,
    total: AtomicU64,
}

impl Failures {
    /// Notes an attempt that failed.
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

    /// How many attempts failed.
    pub(crate) fn total(&self) -> u64 {
        self.0.total.load(Ordering::Relaxed)
    }

    /// What was noted, by agent.
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

/// The longest time that is told from a longer one, in microseconds.
const MAX_MICROS: u64 = 120_000_000;
/// How many digits of a time are kept, so that an agent takes little room.
const DIGITS: u8 = 1;

/// How long an agent takes to answer.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(crate) struct Latency {
    /// How many calls were measured.
    pub(crate) calls: u64,
    /// Half of them took at most so long.
    pub(crate) median_ms: f64,
    /// Nineteen of twenty took at most so long.
    pub(crate) p95_ms: f64,
}

/// How long the agents take to answer that this process calls.
#[derive(Debug, Clone, Default)]
pub(crate) struct Latencies(Arc<LatencyTable>);

#[derive(Debug, Default)]
struct LatencyTable {
    agents: Mutex<BTreeMap<Agent, Histogram<u32>>>,
    calls: AtomicU64,
}

impl Latencies {
    /// Notes how long an agent took.
    pub(crate) fn note(&self, agent: &Agent, took: Duration) {
        let took = u64::try_from(took.as_micros()).unwrap_or(MAX_MICROS);
        let mut agents = self.0.agents.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = agents.get_mut(agent) {
            known.saturating_record(took);
        } else if agents.len() < MAX_AGENTS
            && let Ok(mut new) = Histogram::new_with_max(MAX_MICROS, DIGITS)
        {
            new.saturating_record(took);
            agents.insert(agent.clone(), new);
        }
        self.0.calls.fetch_add(1, Ordering::Relaxed);
    }

    /// How many calls were measured.
    pub(crate) fn calls(&self) -> u64 {
        self.0.calls.load(Ordering::Relaxed)
    }

    /// How many agents were called.
    pub(crate) fn agents(&self) -> usize {
        let agents = self.0.agents.lock().unwrap_or_else(PoisonError::into_inner);
        agents.len()
    }

    /// What was measured, by agent.
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
            .map(|(agent, times)| (agent.to_string(), latency(times)))
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
