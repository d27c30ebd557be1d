//! What leagues cost on PostgreSQL and in files: matches a second, CPU, transactions and bytes.
//!
//! `cargo xtask postgres --figures` runs this test for several passes in a release build, and prints a
//! table; the usual run plays one small league of each kind.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::time::Instant;

use serde_json::json;

use crate::end_to_end::campaign::setting;
use crate::end_to_end::ground::Ground;
use crate::end_to_end::process::Process;
use crate::field::{Store, own_server};
use crate::server::Server;
use crate::told::Told;

/// The size of a usual run; `LEAGUE_POSTGRES_PASSES` and `LEAGUE_POSTGRES_PLAYERS` name another one.
const PASSES: u64 = 1;
const PLAYERS: u64 = 6;
/// The ticks of the system in a second, as `/proc` counts CPU time.
const TICKS: f64 = 100.0;

/// Where a league is stored, and how its referees get matches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Files,
    /// The manager gives matches, as it does with files.
    Pushed,
    /// Referees of a pool take them.
    Pool,
}

/// What is played in each pass: kind, processes of referees, and whether it is the control.
type Variant = (Kind, u32, bool);

fn variants(players: u64) -> Vec<Variant> {
    let counts: &[u32] = match players == PLAYERS {
        true => &[2],
        false => &[1, 2, 4],
    };
    let kinds = [Kind::Files, Kind::Pushed, Kind::Pool];
    let all = counts
        .iter()
        .flat_map(|count| kinds.map(|kind| (kind, *count, false)));
    let controls = kinds.map(|kind| (kind, 2, true));
    let all = all.chain(controls.into_iter().filter(|_| counts.len() > 1));
    all.collect()
}

/// What one league took; all but the first for each match.
#[derive(Debug, Clone, Copy, Default)]
struct Sample {
    matches_a_second: f64,
    manager: f64,
    referees: f64,
    players: f64,
    server: f64,
    transactions: f64,
    wal: f64,
}

#[test]
fn leagues_of_files_and_of_both_kinds_in_the_database_are_played_in_turn() {
    let passes = setting("LEAGUE_POSTGRES_PASSES", PASSES);
    let players = setting("LEAGUE_POSTGRES_PLAYERS", PLAYERS);
    let server = own_server();
    let mut samples: BTreeMap<Variant, Vec<Sample>> = BTreeMap::new();
    for pass in 0..passes {
        for variant in variants(players) {
            let name = format!("{:?}_{}_{}_{pass}", variant.0, variant.1, variant.2);
            let store = Store::named(&server, &name.to_lowercase());
            let sample = play(&server, &store, variant, players);
            println!("{variant:?} {sample:.1?}, load {}", load());
            samples.entry(variant).or_default().push(sample);
        }
    }
    let number = variants(players).len();
    assert_eq!(
        samples.values().map(Vec::len).sum::<usize>(),
        number * passes as usize
    );
    println!("{}", table(&samples));
}

/// Plays a round robin, and measures from its start to its last result.
fn play(server: &Server, store: &Store, (kind, count, _): Variant, players: u64) -> Sample {
    let ground = Ground::new();
    let arguments = [
        "--port",
        "0",
        "--players",
        &players.to_string(),
        "--referees",
        &count.to_string(),
    ];
    let place = ["--store", &store.url];
    let place = match kind {
        Kind::Files => &[][..],
        Kind::Pushed => &place,
        Kind::Pool => &[&place[..], &["--pool"]].concat(),
    };
    let mut manager = ground.start("manager", &[&arguments[..], place].concat());
    let greeting = manager.event("event", "manager");
    let endpoint = greeting["endpoint"].as_str().unwrap();
    let elsewhere = Ground::new();
    let referees =
        (1..=count).map(|number| start_referee(kind, (&ground, store), number, endpoint));
    let referees: Vec<(Process, Option<Ground>)> = referees.collect();
    let group = json!({"manager": endpoint, "first": 1, "count": players});
    let plan = json!({"Players": {"root": elsewhere.root(), "groups": [group]}});
    let (playing, _) = Told::start(&plan);
    manager.event("event", "started");
    let look = || {
        let referees: f64 = referees.iter().map(|(process, _)| cpu(process.pid())).sum();
        let players = cpu(playing.pid());
        [
            referees,
            players,
            server_cpu(server),
            transactions(store),
            written(store),
        ]
    };
    let (since, manager_before, before) = (Instant::now(), cpu(manager.pid()), look());
    let matches = players * (players - 1) / 2;
    let last = format!("\"number\":{matches},");
    manager.line(|line| line.contains("\"event\":\"match\"") && line.contains(&last));
    let elapsed = since.elapsed().as_secs_f64();
    let (after, manager_after) = (look(), cpu(manager.pid()));
    let each = |place: usize| (after[place] - before[place]) / matches as f64;
    Sample {
        matches_a_second: matches as f64 / elapsed,
        manager: 1e6 * (manager_after - manager_before) / matches as f64,
        referees: 1e6 * each(0),
        players: 1e6 * each(1),
        server: 1e6 * each(2),
        transactions: each(3),
        wal: each(4),
    }
}

fn start_referee(
    kind: Kind,
    (ground, store): (&Ground, &Store),
    number: u32,
    manager: &str,
) -> (Process, Option<Ground>) {
    let most = ["--port", "0", "--matches-at-once", "100"];
    if kind == Kind::Pool {
        let own = Ground::new();
        let pool = ["--pool", "--store", &store.url];
        let mut process = own.start("referee", &[&most[..], &pool].concat());
        process.event("event", "pool");
        return (process, Some(own));
    }
    let id = format!("REF{number:02}");
    let pushed = ["--manager", manager, "--referee-id", &id];
    (
        ground.start("referee", &[&most[..], &pushed].concat()),
        None,
    )
}

/// The CPU time of a process and of its children that have ended, in seconds.
fn cpu(pid: u32) -> f64 {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let rest = stat.rsplit(')').next().unwrap_or_default();
    let times = rest.split_whitespace().skip(11).take(4);
    times
        .filter_map(|ticks| ticks.parse::<f64>().ok())
        .sum::<f64>()
        / TICKS
}

/// The same of a server with its processes.
fn server_cpu(server: &Server) -> f64 {
    let pid = server.pid();
    let children = format!("/proc/{pid}/task/{pid}/children");
    let children = fs::read_to_string(children).unwrap_or_default();
    let children = children
        .split_whitespace()
        .filter_map(|pid| pid.parse().ok());
    cpu(pid) + children.map(cpu).sum::<f64>()
}

/// How many transactions a database has committed; `/proc` and statistics lag by a moment.
fn transactions(store: &Store) -> f64 {
    let committed = "select xact_commit from pg_stat_database where datname = current_database()";
    store.number(committed) as f64
}

/// How many bytes of the log for recovery the server has written.
fn written(store: &Store) -> f64 {
    store.number("select pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::bigint") as f64
}

/// The load of the machine over the last minute.
pub(crate) fn load() -> String {
    let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    load.split(' ').next().unwrap_or_default().to_owned()
}

/// A median with its range.
pub(crate) fn spread(mut values: Vec<f64>) -> String {
    values.sort_by(f64::total_cmp);
    let (first, last) = (values[0], values[values.len() - 1]);
    format!("{:.1} [{first:.1}–{last:.1}]", values[values.len() / 2])
}

fn table(samples: &BTreeMap<Variant, Vec<Sample>>) -> String {
    let mut text =
        "| Store, referees | matches/s | manager µs | referees µs | players µs | server µs \
                    | transactions | WAL bytes |\n|---|---|---|---|---|---|---|---|\n"
            .to_owned();
    for ((kind, count, is_control), taken) in samples {
        let again = if *is_control { ", again" } else { "" };
        let column = |value: fn(&Sample) -> f64| spread(taken.iter().map(value).collect());
        let columns = [
            column(|sample| sample.matches_a_second),
            column(|sample| sample.manager),
            column(|sample| sample.referees),
            column(|sample| sample.players),
            column(|sample| sample.server),
            column(|sample| sample.transactions),
            column(|sample| sample.wal),
        ];
        let columns = columns.join(" | ");
        // A string takes everything.
        let _ = writeln!(text, "| {kind:?}, {count}{again} | {columns} |");
    }
    text
}
