//! `/metrics` and `/ready` of an agent: its figures as Prometheus text (format 0.0.4), and whether it
//! can take calls. Nothing here is secret: the pages need no token, as `/health` needs none.

use std::fmt::{Display, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use hyper::header::{CONTENT_TYPE, HeaderMap, HeaderValue};
use league_core::machine::Machine;
use league_protocol::id::LeagueId;
use league_protocol::sender::Agent;
use serde_json::{Map, Value};
use tokio::sync::watch;
use tokio::time::Instant;

use crate::agents::actor::Handle;
use crate::agents::identity::{Identity, Membership};
use crate::http::connections::Connections;
use crate::http::server::StatusPage;
use crate::storage::database::LeaseState;
use crate::wire::outbox::{OutboxContext, OutboxIdle};

/// The bounds of times, in microseconds.
const TIMES: [u64; 14] = [
    250, 500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000, 1_000_000,
    5_000_000, 30_000_000,
];
/// The bounds of batches, in records.
const SIZES: [u64; 9] = [1, 2, 4, 8, 16, 32, 64, 128, 256];

const MICROS: f64 = 1_000_000.0;

/// Counts values between bounds; several threads may do so at once.
#[derive(Debug)]
pub(crate) struct Buckets {
    bounds: &'static [u64],
    /// How many values lie at or below each bound, and above the one before; then those above all.
    counts: Vec<AtomicU64>,
    sum: AtomicU64,
}

impl Buckets {
    fn new(bounds: &'static [u64]) -> Self {
        Self {
            bounds,
            counts: (0..=bounds.len()).map(|_| AtomicU64::new(0)).collect(),
            sum: AtomicU64::new(0),
        }
    }

    fn note(&self, value: u64) {
        let place = self.bounds.partition_point(|bound| *bound < value);
        self.counts[place].fetch_add(1, Ordering::Relaxed);
        self.sum.fetch_add(value, Ordering::Relaxed);
    }

    fn note_time(&self, took: Duration) {
        self.note(u64::try_from(took.as_micros()).unwrap_or(u64::MAX));
    }
}

/// How long calls to others took, by the kind of agent that answered.
#[derive(Debug)]
pub(crate) struct CallTimes([Buckets; 3]);

impl Default for CallTimes {
    fn default() -> Self {
        Self(std::array::from_fn(|_| Buckets::new(&TIMES)))
    }
}

impl CallTimes {
    const KINDS: [&str; 3] = ["league_manager", "referee", "player"];

    pub(crate) fn note(&self, peer: &Agent, took: Duration) {
        let kind = match peer {
            Agent::Manager => 0,
            Agent::Referee(_) => 1,
            Agent::Player(_) => 2,
        };
        self.0[kind].note_time(took);
    }
}

/// The writes of an agent's journal.
#[derive(Debug)]
pub(crate) struct JournalWrites {
    syncs: Buckets,
    batches: Buckets,
}

impl Default for JournalWrites {
    fn default() -> Self {
        Self {
            syncs: Buckets::new(&TIMES),
            batches: Buckets::new(&SIZES),
        }
    }
}

impl JournalWrites {
    pub(crate) fn note_batch(&self, records: usize) {
        self.batches.note(records as u64);
    }

    pub(crate) fn note_sync(&self, took: Duration) {
        self.syncs.note_time(took);
    }
}

/// The lease of an agent, if its store has leases.
pub(crate) type LeaseGauge = Option<watch::Receiver<LeaseState>>;

/// Where the figures of a process come from, which are the same at each of its agents.
pub(crate) struct ProcessGauges {
    pub(crate) outbox: OutboxContext,
    pub(crate) connections: Connections,
}

/// Where the figures of one agent come from.
pub(crate) struct AgentGauges {
    /// How many commands wait; `None` once the actor has ended.
    inbox: Box<dyn Fn() -> Option<usize> + Send + Sync>,
    pub(crate) letters: OutboxIdle,
    process: ProcessGauges,
    pub(crate) journal: Arc<JournalWrites>,
    pub(crate) lease: LeaseGauge,
}

impl AgentGauges {
    pub(crate) fn of<M: Machine>(
        actor: Handle<M>,
        letters: OutboxIdle,
        (outbox, connections, lease): (OutboxContext, Connections, LeaseGauge),
    ) -> Self {
        Self {
            inbox: Box::new(move || actor.waiting()),
            letters,
            process: ProcessGauges {
                outbox,
                connections,
            },
            journal: Arc::default(),
            lease,
        }
    }

    /// Why the agent cannot take calls now, in a word and a sentence.
    pub(crate) fn problem(&self, identity: &Identity) -> Option<String> {
        let membership = identity.membership().borrow().clone();
        let held = self.lease.as_ref().map(|lease| lease.borrow().is_held());
        match ((self.inbox)(), membership) {
            (None, _) => Some("stopping: its journal is not written any more".to_owned()),
            _ if held == Some(false) => {
                Some("standby: its lease has run out, or another process took it".to_owned())
            }
            (_, Membership::Registering) => {
                Some("registering: no manager has admitted it yet".to_owned())
            }
            (_, Membership::Rejected(reason)) => Some(format!("rejected: {reason}")),
            (Some(waiting), _) if waiting >= crate::agents::actor::MAX_QUEUED => {
                Some("busy: too many commands wait".to_owned())
            }
            _ => None,
        }
    }

    /// The figures of the agent, with those of its `health`.
    pub(crate) fn page(
        &self,
        identity: &Identity,
        role: &str,
        health: &Map<String, Value>,
    ) -> String {
        let league = identity.league();
        let mut page = MetricsPage::new(league.as_ref(), &identity.label());
        page.version();
        let is_ready = self.problem(identity).is_none();
        page.gauge(
            "league_ready",
            "Whether the agent can take calls",
            u8::from(is_ready),
        );
        page.health(role, health);
        self.queues(&mut page);
        self.process.calls(&mut page);
        let journal = &self.journal;
        page.histogram(
            (
                "league_journal_sync_seconds",
                "Time of a write that waited for the disk",
            ),
            vec![(String::new(), &journal.syncs)],
            MICROS,
        );
        page.histogram(
            (
                "league_journal_batch_records",
                "Records of one write of the journal",
            ),
            vec![(String::new(), &journal.batches)],
            1.0,
        );
        if let Some(lease) = &self.lease {
            page.lease(&lease.borrow());
        }
        page.text
    }

    fn queues(&self, page: &mut MetricsPage) {
        let waiting = (self.inbox)().unwrap_or(0);
        page.gauge(
            "league_inbox_commands",
            "Commands that wait for the agent",
            waiting,
        );
        let lines = self.letters.lines();
        let help = "Lines of letters that are being sent, one for each receiver and match";
        page.gauge("league_outbox_lines", help, lines);
        self.process.queues(page);
    }
}

impl ProcessGauges {
    /// The figures of a process that has an agent in so many leagues.
    pub(crate) fn page(&self, role: &str, is_ready: bool, leagues: usize) -> String {
        let mut page = MetricsPage::new(None, role);
        page.version();
        let help = "Whether the agent can take calls";
        page.gauge("league_ready", help, u8::from(is_ready));
        let help = "Leagues in which the process has an agent";
        page.gauge("league_process_leagues", help, leagues);
        self.queues(&mut page);
        self.calls(&mut page);
        page.text
    }

    fn queues(&self, page: &mut MetricsPage) {
        let load = self.outbox.limiter.load();
        let help = "Letters of this process that are on their way";
        page.gauge("league_letters_in_flight", help, load.in_flight);
        let name = "league_letters_waiting";
        page.head(
            name,
            "gauge",
            "Letters of this process that wait for a permit",
        );
        for (priority, waiting) in ["clocked", "news"].iter().zip(load.waiting) {
            page.line(name, &format!(",priority=\"{priority}\""), waiting);
        }
        let connections = &self.connections;
        let help = "Connections to this process that are open";
        page.gauge("league_connections", help, connections.open_now());
        let help = "The most connections to this process at once";
        page.gauge("league_connections_limit", help, connections.most());
    }

    fn calls(&self, page: &mut MetricsPage) {
        let times = self.outbox.latencies.times();
        let series = CallTimes::KINDS.iter().zip(&times.0);
        let series = series.map(|(kind, times)| (format!(",peer=\"{kind}\""), times));
        page.histogram(
            (
                "league_call_duration_seconds",
                "Time until a peer answered a call of this process",
            ),
            series.collect(),
            MICROS,
        );
    }
}

/// Figures on the health page that are metrics too: the role of the agent, the member, the metric.
const OF_HEALTH: [(&str, &str, &str, &str, &str); 10] = [
    (
        "league-manager",
        "players",
        "league_players",
        "gauge",
        "Registered players",
    ),
    (
        "league-manager",
        "referees",
        "league_referees",
        "gauge",
        "Registered referees",
    ),
    (
        "league-manager",
        "rounds",
        "league_rounds",
        "gauge",
        "Rounds of the schedule",
    ),
    (
        "league-manager",
        "round_id",
        "league_round",
        "gauge",
        "The round that is played",
    ),
    (
        "league-manager",
        "matches",
        "league_matches",
        "gauge",
        "Matches of the schedule",
    ),
    (
        "league-manager",
        "matches_running",
        "league_matches_running",
        "gauge",
        RUNNING,
    ),
    (
        "league-manager",
        "matches_played",
        "league_matches_finished_total",
        "counter",
        FINISHED,
    ),
    (
        "league-referee",
        "playing",
        "league_matches_running",
        "gauge",
        RUNNING,
    ),
    (
        "league-referee",
        "matches_finished",
        "league_matches_finished_total",
        "counter",
        FINISHED,
    ),
    (
        "league-player",
        "matches",
        "league_matches_finished_total",
        "counter",
        FINISHED,
    ),
];
const RUNNING: &str = "Matches that are being played";
const FINISHED: &str = "Matches that are over";
/// The phases of a league, as its health tells them.
const PHASES: [&str; 3] = ["REGISTERING", "RUNNING", "COMPLETED"];

/// The page of an agent, as it is written.
struct MetricsPage {
    text: String,
    labels: String,
}

impl MetricsPage {
    fn new(league: Option<&LeagueId>, agent: &str) -> Self {
        let league = league.map_or("", LeagueId::as_str);
        Self {
            text: String::with_capacity(8 * 1_024),
            labels: format!(
                "league_id=\"{}\",agent=\"{}\"",
                escaped(league),
                escaped(agent)
            ),
        }
    }

    fn head(&mut self, name: &str, kind: &str, help: &str) {
        self.add(format_args!(
            "# HELP {name} {help}.\n# TYPE {name} {kind}\n"
        ));
    }

    /// A sample; `more` labels begin with a comma.
    fn line(&mut self, name: &str, more: &str, value: impl Display) {
        let labels = std::mem::take(&mut self.labels);
        self.add(format_args!("{name}{{{labels}{more}}} {value}\n"));
        self.labels = labels;
    }

    fn gauge(&mut self, name: &str, help: &str, value: impl Display) {
        self.head(name, "gauge", help);
        self.line(name, "", value);
    }

    fn version(&mut self) {
        let name = "league_build_info";
        self.head(name, "gauge", "The version of the program");
        self.line(
            name,
            concat!(",version=\"", env!("CARGO_PKG_VERSION"), "\""),
            1,
        );
    }

    fn health(&mut self, role: &str, health: &Map<String, Value>) {
        for (_, member, name, kind, help) in OF_HEALTH.iter().filter(|row| row.0 == role) {
            if let Some(value) = health.get(*member).and_then(Value::as_u64) {
                self.head(name, kind, help);
                self.line(name, "", value);
            }
        }
        let is_manager = role == "league-manager";
        let state = health.get("state").filter(|_| is_manager);
        let state = state.and_then(Value::as_str);
        if let Some(state) = state.filter(|state| PHASES.contains(state)) {
            let name = "league_phase";
            self.head(
                name,
                "gauge",
                "The phase of the league: 1 for the present one",
            );
            for phase in PHASES {
                let more = format!(",phase=\"{}\"", phase.to_lowercase());
                self.line(name, &more, u8::from(phase == state));
            }
        }
    }

    fn lease(&mut self, lease: &LeaseState) {
        let name = "league_lease_epoch";
        self.gauge(name, "The epoch of the agent's lease", lease.epoch);
        let left = lease.until.saturating_duration_since(Instant::now());
        let name = "league_lease_remaining_seconds";
        self.gauge(name, "Time until the lease ends", left.as_secs_f64());
    }

    /// Series of counted values; the unit of their bounds is `unit` times smaller than the shown one.
    fn histogram(&mut self, (name, help): (&str, &str), all: Vec<(String, &Buckets)>, unit: f64) {
        self.head(name, "histogram", help);
        let bucket = format!("{name}_bucket");
        for (more, buckets) in all {
            let mut count = 0;
            let bounds = buckets
                .bounds
                .iter()
                .map(|bound| (*bound as f64 / unit).to_string());
            let bounds = bounds.chain(["+Inf".to_owned()]);
            for (bound, counted) in bounds.zip(&buckets.counts) {
                count += counted.load(Ordering::Relaxed);
                self.line(&bucket, &format!("{more},le=\"{bound}\""), count);
            }
            let sum = buckets.sum.load(Ordering::Relaxed) as f64 / unit;
            self.line(&format!("{name}_sum"), &more, sum);
            self.line(&format!("{name}_count"), &more, count);
        }
    }

    fn add(&mut self, text: std::fmt::Arguments<'_>) {
        // A string takes every text.
        let _ = self.text.write_fmt(text);
    }
}

/// The value of a label, as the format wants it.
fn escaped(value: &str) -> String {
    let value = value.replace('\\', "\\\\").replace('"', "\\\"");
    value.replace('\n', "\\n")
}

/// The figures of a manager that does not hold its league.
pub(crate) fn of_standby(league: &LeagueId) -> String {
    let mut page = MetricsPage::new(Some(league), &Agent::Manager.to_string());
    page.version();
    page.gauge("league_ready", "Whether the agent can take calls", 0);
    page.text
}

/// The headers of a page about an agent.
pub(crate) fn headers(page: StatusPage) -> HeaderMap {
    let kind = match page {
        StatusPage::Health | StatusPage::Ready => "application/json",
        StatusPage::Metrics => "text/plain; version=0.0.4; charset=utf-8",
    };
    HeaderMap::from_iter([(CONTENT_TYPE, HeaderValue::from_static(kind))])
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn page() -> MetricsPage {
        let league = LeagueId::new("friday").unwrap();
        MetricsPage::new(Some(&league), "player:P\"1\\\n")
    }

    #[test]
    fn labels_are_escaped_and_samples_stand_below_their_kind() {
        let mut page = page();
        page.gauge("league_ready", "Whether the agent can take calls", 1);
        insta::assert_snapshot!(page.text, @r#"
        # HELP league_ready Whether the agent can take calls.
        # TYPE league_ready gauge
        league_ready{league_id="friday",agent="player:P\"1\\\n"} 1
        "#);
    }

    #[test]
    fn buckets_count_all_values_at_or_below_their_bound() {
        let buckets = Buckets::new(&SIZES);
        for value in [0, 1, 2, 3, 256, 257] {
            buckets.note(value);
        }
        let mut page = page();
        page.labels = "x".to_owned();
        page.histogram(("records", "Records"), vec![(String::new(), &buckets)], 1.0);
        insta::assert_snapshot!(page.text, @r#"
        # HELP records Records.
        # TYPE records histogram
        records_bucket{x,le="1"} 2
        records_bucket{x,le="2"} 3
        records_bucket{x,le="4"} 4
        records_bucket{x,le="8"} 4
        records_bucket{x,le="16"} 4
        records_bucket{x,le="32"} 4
        records_bucket{x,le="64"} 4
        records_bucket{x,le="128"} 4
        records_bucket{x,le="256"} 5
        records_bucket{x,le="+Inf"} 6
        records_sum{x} 519
        records_count{x} 6
        "#);
    }

    #[test]
    fn figures_of_health_are_those_of_the_role() {
        let health = json!({
            "state": "RUNNING", "players": 4, "matches": 6, "matches_played": 2, "playing": 1,
            "league_id": "friday", "round_id": null,
        });
        let figures = |role| {
            let mut page = page();
            page.labels = "x".to_owned();
            page.health(role, health.as_object().unwrap());
            let samples = page.text.lines().filter(|line| !line.starts_with('#'));
            samples.collect::<Vec<_>>().join(" ")
        };
        insta::assert_snapshot!(figures("league-manager"), @r#"league_players{x} 4 league_matches{x} 6 league_matches_finished_total{x} 2 league_phase{x,phase="registering"} 0 league_phase{x,phase="running"} 1 league_phase{x,phase="completed"} 0"#);
        insta::assert_snapshot!(figures("league-referee"), @"league_matches_running{x} 1");
        insta::assert_snapshot!(figures("league-player"), @"league_matches_finished_total{x} 6");
    }

    #[tokio::test(start_paused = true)]
    async fn lease_is_shown_with_the_time_that_is_left() {
        let mut page = page();
        let lease = LeaseState::renewed(7);
        assert!(lease.is_held());
        page.lease(&lease);
        let samples = page.text.lines().filter(|line| !line.starts_with('#'));
        let values = samples.map(|line| line.rsplit(' ').next().unwrap_or_default());
        assert_eq!(values.collect::<Vec<_>>(), ["7", "10"]);
        tokio::time::advance(Duration::from_secs(10)).await;
        assert!(!lease.is_held());
    }
}
