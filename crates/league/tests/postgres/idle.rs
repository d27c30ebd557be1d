//! What leagues ask the server when nothing happens in them, how fast it takes lines, and how soon
//! another manager holds a league.

use std::collections::BTreeMap;
use std::net::TcpStream;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::cluster::{Cluster, PLAYERS, Size};
use crate::end_to_end::campaign::setting;
use crate::end_to_end::process::eventually;
use crate::field::{Field, Store, own_server, taken_over};
use crate::server::Server;
use crate::speed::{load, spread};
use crate::told::Told;

/// How long an idle league is watched, in seconds.
const WATCHED: u64 = 12;
/// How often a lease is renewed, in seconds.
const RENEWAL: u64 = 3;
/// How a renewal begins.
const RENEWED: &str = "update league.leases set until";
/// The bytes of a line, as many as a line of a manager's journal has in a large league.
const LINE: u64 = 615;

#[test]
fn idle_league_asks_the_server_for_nothing_but_its_lease() {
    let server = own_server();
    let field = Field::new(Store::on(&server), 1);
    let _manager = field.start_in_charge(0);
    let asked = watched(&server, WATCHED);
    println!("an idle league, in {WATCHED} s: {asked:?}");
    let renewals = asked.get(RENEWED).copied().unwrap_or(0);
    assert_eq!(asked.values().sum::<u64>(), renewals, "{asked:?}");
    assert!((1..=WATCHED / RENEWAL + 1).contains(&renewals), "{asked:?}");
}

#[test]
fn host_of_idle_leagues_asks_for_their_leases_and_for_the_list() {
    let leagues = 4;
    let server = own_server();
    let size = Size {
        leagues,
        managers: 1,
        referees: 1,
        // They do not come.
        awaited: 2 * PLAYERS,
        legs: 1,
        more: Vec::new(),
    };
    let _cluster = Cluster::start(Store::on(&server), size);
    let asked = watched(&server, WATCHED);
    println!("{leagues} idle leagues, a host and a pool, in {WATCHED} s: {asked:?}");
    let known = [
        RENEWED,
        "select league_id, over, until > now(),",
        "update league.jobs set until = now()",
        "with free as ( select league_id,",
    ];
    let kinds: Vec<&str> = asked.keys().map(String::as_str).collect();
    assert!(kinds.iter().all(|kind| known.contains(kind)), "{asked:?}");
    let renewals = asked[RENEWED];
    let most = u64::from(leagues) * (WATCHED / RENEWAL + 1);
    assert!((1..=most).contains(&renewals), "{asked:?}");
}

/// What our processes ask the server in so many seconds: the beginning of each statement, and how
/// often it came.
fn watched(server: &Server, seconds: u64) -> BTreeMap<String, u64> {
    let ask = |statement: &str| server.ask(statement).unwrap();
    ask("alter system set log_line_prefix = '%a> '");
    ask("alter system set log_statement = 'all'");
    // What began before may still run.
    thread::sleep(Duration::from_secs(2 * RENEWAL));
    ask("select pg_reload_conf()");
    let told = eventually(|| (ask("show log_statement") == "all").then_some(()));
    assert!(told.is_some(), "the server logs no statements");
    let before = server.log().len();
    thread::sleep(Duration::from_secs(seconds));
    let log = server.log();
    let mut asked = BTreeMap::new();
    for line in log[before..].lines() {
        let statement = line.strip_prefix("league> LOG:  execute ");
        let Some((_, statement)) = statement.and_then(|line| line.split_once(": ")) else {
            continue;
        };
        let words: Vec<&str> = statement.split_whitespace().take(5).collect();
        let beginning = match words[0] {
            "update" if words[1] == "league.leases" => words[..4].join(" "),
            _ => statement
                .split_whitespace()
                .take(6)
                .collect::<Vec<_>>()
                .join(" "),
        };
        *asked.entry(beginning).or_default() += 1;
    }
    asked
}

#[test]
fn batches_of_any_size_are_appended_by_one_writer_and_by_four() {
    let batches = setting("LEAGUE_POSTGRES_BATCHES", 10);
    let server = own_server();
    let store = Store::on(&server);
    let mut number = 0;
    for writers in [1, 4] {
        for lines in [1, 16, 256] {
            let many = batches_of(lines, batches);
            let since = Instant::now();
            let processes = (0..writers).map(|_| {
                number += 1;
                let plan = json!({
                    "store": store.url, "league": format!("league_{number}"),
                    "lines": lines, "batches": many, "length": LINE,
                });
                Told::begin(&json!({ "Appends": plan }))
            });
            let processes: Vec<_> = processes.collect();
            let (mut rates, mut waits) = (Vec::new(), Vec::new());
            for (_process, answer) in processes {
                let mut micros = micros_in(&answer());
                let sum: f64 = micros.iter().sum();
                rates.push(1e6 * (lines * many) as f64 / sum);
                micros.sort_by(f64::total_cmp);
                waits.push(micros[micros.len() * 99 / 100] / 1e3);
            }
            let sum: f64 = rates.iter().sum();
            println!(
                "{writers} writers, {lines} lines a batch: {sum:.0} lines/s, p99 of a batch {} ms, \
                 {:.1} s in all, load {}",
                spread(waits),
                since.elapsed().as_secs_f64(),
                load()
            );
        }
    }
    let stored = store.number("select count(*) from league.events");
    let expected = [1, 16, 256].map(|lines| lines * batches_of(lines, batches));
    assert_eq!(stored, 5 * expected.iter().sum::<u64>());
}

/// How many batches of so many lines take about as long as the shortest.
fn batches_of(lines: u64, shortest: u64) -> u64 {
    (shortest * 16 / (lines + 15)).max(1)
}

fn micros_in(told: &Value) -> Vec<f64> {
    let micros = told["micros"].as_array().unwrap().iter();
    micros.filter_map(Value::as_f64).collect()
}

#[test]
fn standby_holds_the_league_soon_however_the_first_manager_goes_away() {
    let times = setting("LEAGUE_POSTGRES_TAKEOVERS", 1);
    let ways = [
        ("SIGTERM", Signal::TERM),
        ("kill -9", Signal::KILL),
        ("SIGSTOP", Signal::STOP),
    ];
    for (name, signal) in ways {
        let took = thread::scope(|scope| {
            let all: Vec<_> = (0..times)
                .map(|_| scope.spawn(move || take_over(name, signal)))
                .collect();
            all.into_iter()
                .map(|one| one.join().unwrap())
                .collect::<Vec<f64>>()
        });
        println!(
            "takeover after {name}: {} s, {times} times, load {}",
            spread(took),
            load()
        );
    }
}

fn take_over(name: &str, signal: Signal) -> f64 {
    let field = Field::new(Store::shared(), 2);
    let first = field.start_in_charge(0);
    let mut second = field.start_manager(1);
    let waits = eventually(|| TcpStream::connect(("127.0.0.1", field.desks[1].1)).ok());
    assert!(waits.is_some(), "the second manager does not wait");
    first.signal(signal);
    taken_over(&mut second, Instant::now(), name).as_secs_f64()
}
