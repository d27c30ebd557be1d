//! Hosts beside leagues that fail, with referees from elsewhere, and while the database does not
//! answer.

use std::fs;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::end_to_end::ground::{Agent, Ground};
use crate::end_to_end::http::request;
use crate::end_to_end::process::{Process, eventually, free_port, league};
use crate::field::{Store, bin};

/// How soon a process ends that is asked to, whatever the database does.
const MAX_STOP: Duration = Duration::from_secs(30);

/// The key of the organiser.
const KEY: [&str; 2] = ["--referee-key", "key-of-the-organiser"];

/// Writes the beginning of a league of three players and two referees.
fn create(store: &Store, name: &str) {
    let ground = Ground::new();
    let port = free_port().to_string();
    let own = [
        "manager",
        "--root",
        ground.root(),
        "--port",
        &port,
        "--create",
    ];
    let of_league = ["--league-id", name, "--players", "3", "--store", &store.url];
    let ended = league(own.iter().chain(&of_league));
    assert_eq!(ended.code, Some(0), "{ended:?}");
}

/// Starts a host; gives its address too.
fn start_host(ground: &Ground, store: &Store, more: &[&str]) -> (Process, String) {
    let port = free_port().to_string();
    let arguments = ["--port", &port, "--leagues", "5", "--store", &store.url];
    let mut host = ground.start("manager", &[&arguments, more].concat());
    let greeting = host.event("event", "host");
    (host, greeting["endpoint"].as_str().unwrap().to_owned())
}

/// Starts the players of the league that does not fail.
fn start_players(ground: &Ground, base: &str) -> Vec<Agent> {
    let manager = format!("{base}/leagues/good/mcp");
    let agents = (1..=3).map(|number| ground.player(number, &manager, &[]));
    agents.collect()
}

/// Waits until something is said of a league.
fn heard(process: &mut Process, event: &str, league: &str) {
    process.line(|line| {
        let said: Value = serde_json::from_str(line).unwrap_or_default();
        said["event"] == event && said["league_id"] == league
    });
}

/// A file where the folder of a league would be.
fn spoil(ground: &Ground, league: &str) {
    let leagues = ground.path("data/leagues");
    fs::create_dir_all(&leagues).unwrap();
    fs::write(leagues.join(league), "no folder").unwrap();
}

#[test]
fn league_that_fails_holds_up_no_other_league_of_a_host() {
    let store = Store::shared();
    let (desk, players) = (Ground::new(), Ground::new());
    for league in ["a_spoiled", "good"] {
        create(&store, league);
    }
    spoil(&desk, "a_spoiled");
    let (mut host, base) = start_host(&desk, &store, &[]);
    heard(&mut host, "not_taken", "a_spoiled");
    heard(&mut host, "taken", "good");
    let mut agents = start_players(&players, &base);
    store.wait_for_results(3);
    heard(&mut host, "over", "good");
    for agent in &mut agents {
        agent.process.see_running();
    }
    let ended = host.stop();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let lines = ended.out.lines();
    let told = lines.filter(|line| line.contains("not_taken") && line.contains("a_spoiled"));
    assert_eq!(told.count(), 1, "{ended:?}");
    let raised = store.number("select epoch from league.leases where league_id = 'a_spoiled'");
    assert!(raised < 20, "it was tried {raised} times");
}

#[test]
fn referee_from_elsewhere_joins_the_one_of_the_host() {
    let store = Store::shared();
    create(&store, "good");
    let (desk, elsewhere, players) = (Ground::new(), Ground::new(), Ground::new());
    let own = [&KEY[..], &["--referees", "1"]].concat();
    let (mut host, base) = start_host(&desk, &store, &own);
    heard(&mut host, "taken", "good");
    let _agents = start_players(&players, &base);
    let manager = format!("{base}/leagues/good/mcp");
    let admitted = eventually(|| {
        let page = request(&base, "GET", "/leagues/good/metrics", b"").body;
        let both = ["league_players{", "league_referees{"].map(|name| gauge(&page, name));
        (both == [Some(3), Some(1)]).then_some(())
    });
    assert!(admitted.is_some(), "the host runs no referee of its own");
    assert_eq!(
        store.results(),
        0,
        "the league waits for the second referee"
    );
    let place = ["--manager", &manager, "--port", "0"];
    let _referee = elsewhere.start("referee", &[&place[..], &KEY].concat());
    store.wait_for_results(3);
    heard(&mut host, "over", "good");
    let journals = "select count(distinct agent) from league.events where agent like 'REF%'";
    let kept = eventually(|| (store.number(journals) == 2).then_some(()));
    assert!(kept.is_some(), "the second referee handed in no journal");
}

/// The value of a figure.
fn gauge(page: &str, name: &str) -> Option<u64> {
    let line = page.lines().find(|line| line.starts_with(name))?;
    line.rsplit_once(' ')?.1.parse().ok()
}

#[test]
fn host_is_not_ready_and_hears_signals_while_the_database_is_silent() {
    let store = Store::shared();
    create(&store, "friday");
    let desk = Ground::new();
    let (mut host, base) = start_host(&desk, &store, &[]);
    heard(&mut host, "taken", "friday");
    let get = |path: &str| request(&base, "GET", path, b"");
    assert_eq!(get("/health").json()["role"], "host");
    assert_eq!(get("/ready").status, 200);
    assert_eq!(get("/leagues/friday/ready").status, 200);
    let figures = eventually(|| {
        let figures = get("/metrics").body;
        let count = "league_process_leagues{league_id=\"\",agent=\"host\"} 1";
        figures.contains(count).then_some(figures)
    });
    assert!(figures.is_some_and(|figures| figures.contains("league_ready{")));
    assert_eq!(get("/mcp").status, 404);
    let mut lock = silence(&store);
    for (path, reason) in [("/ready", "store"), ("/leagues/friday/ready", "standby")] {
        let refused = eventually(|| {
            let answer = get(path);
            (answer.status == 503).then(|| answer.json()["reason"].to_string())
        });
        let refused = refused.expect(path);
        assert!(refused.contains(reason), "{path}: {refused}");
    }
    let since = Instant::now();
    let ended = host.stop();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(since.elapsed() < MAX_STOP, "{:?}", since.elapsed());
    lock.kill().unwrap();
    lock.wait().unwrap();
}

/// Lets the server answer no question about leases.
fn silence(store: &Store) -> Child {
    let statement = "begin; lock table league.leases; select pg_sleep(90)";
    let mut psql = Command::new(bin().join("psql"));
    let lock = psql
        .args(["-X", "-q", "-d", &store.url, "-c", statement])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let locked = "select count(*) from pg_locks where relation = 'league.leases'::regclass \
                  and mode = 'AccessExclusiveLock' and granted";
    let is_locked = eventually(|| (store.number(locked) == 1).then_some(()));
    assert!(is_locked.is_some(), "the table is not locked");
    lock
}
