//! What leagues ask the server when nothing happens in them, and how soon another manager holds a
//! league.

use std::collections::BTreeMap;
use std::net::TcpStream;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::cluster::{Cluster, PLAYERS, Size};
use crate::end_to_end::process::eventually;
use crate::field::{Field, Store, own_server, taken_over};
use crate::server::Server;

/// How long an idle league is watched at once, and how often at most.
const WATCH: Duration = Duration::from_secs(12);
const MAX_WATCHES: u32 = 6;
/// How often a lease is renewed, in seconds.
const RENEWAL: f64 = 3.0;
/// How a renewal begins.
const RENEWED: &str = "update league.leases set until";

#[test]
fn idle_league_asks_the_server_for_nothing_but_its_lease() {
    let server = own_server();
    let field = Field::new(Store::on(&server), 1);
    let _manager = field.start_in_charge(0);
    let asked = Asked::at_rest(&server, &[RENEWED]);
    println!("an idle league: {asked:?}");
    asked.see_renewals(1);
}

#[test]
fn host_of_idle_leagues_asks_for_their_leases_and_for_the_list() {
    let leagues = 4;
    let server = own_server();
    let size = Size {
        leagues,
        hosts: 1,
        // They do not come.
        awaited: 2 * PLAYERS,
        legs: 1,
        more: Vec::new(),
    };
    let _cluster = Cluster::start(Store::on(&server), size);
    let known = [RENEWED, "select league_id, over, until > now(),"];
    let asked = Asked::at_rest(&server, &known);
    println!("{leagues} idle leagues of a host: {asked:?}");
    // Of a manager and two referees each.
    asked.see_renewals((3 * leagues).into());
}

/// What our processes ask the server for some time: the beginning of each statement, and how often it
/// came.
#[derive(Debug, Default)]
struct Asked {
    statements: BTreeMap<String, u64>,
    seconds: f64,
}

impl Asked {
    /// Watches until nothing but these statements comes for a while; what began before ends first.
    fn at_rest(server: &Server, known: &[&str]) -> Self {
        let ask = |statement: &str| server.ask(statement).unwrap();
        ask("alter system set log_line_prefix = '%a> '");
        ask("alter system set log_statement = 'all'");
        ask("select pg_reload_conf()");
        let told = eventually(|| (ask("show log_statement") == "all").then_some(()));
        assert!(told.is_some(), "the server logs no statements");
        let mut asked = Self::default();
        for _ in 0..MAX_WATCHES {
            asked = Self::watch(server);
            let mut kinds = asked.statements.keys();
            if kinds.all(|kind| known.contains(&kind.as_str())) {
                return asked;
            }
        }
        panic!("not only {known:?}: {asked:?}");
    }

    fn watch(server: &Server) -> Self {
        let (since, before) = (Instant::now(), server.log().len());
        thread::sleep(WATCH);
        let log = server.log();
        let mut statements = BTreeMap::new();
        for line in log[before..].lines() {
            let statement = line.strip_prefix("league> LOG:  execute ");
            if let Some((_, statement)) = statement.and_then(|line| line.split_once(": ")) {
                *statements.entry(beginning(statement)).or_default() += 1;
            }
        }
        Self {
            statements,
            seconds: since.elapsed().as_secs_f64(),
        }
    }

    /// Sees that so many leases were renewed, and none more often than a lease is.
    fn see_renewals(&self, leases: u64) {
        let renewals = self.statements.get(RENEWED).copied().unwrap_or(0);
        let most = leases * (self.seconds / RENEWAL + 1.0).ceil() as u64;
        assert!((1..=most).contains(&renewals), "{self:?}");
    }
}

/// The first words of a statement.
fn beginning(statement: &str) -> String {
    let count = if statement.starts_with("update league.leases") {
        4
    } else {
        6
    };
    let words: Vec<&str> = statement.split_whitespace().take(count).collect();
    words.join(" ")
}

#[test]
fn standby_holds_the_league_soon_however_the_first_manager_goes_away() {
    let ways = [
        ("SIGTERM", Signal::TERM),
        ("kill -9", Signal::KILL),
        ("SIGSTOP", Signal::STOP),
    ];
    for (name, signal) in ways {
        take_over(name, signal);
    }
}

fn take_over(name: &str, signal: Signal) {
    let field = Field::new(Store::shared(), 2);
    let first = field.start_in_charge(0);
    let mut second = field.start_manager(1);
    let waits = eventually(|| TcpStream::connect(("127.0.0.1", field.desks[1].1)).ok());
    assert!(waits.is_some(), "the second manager does not wait");
    first.signal(signal);
    taken_over(&mut second, Instant::now(), name);
}
