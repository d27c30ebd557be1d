//! Many leagues in one database: hosts that manage them and run their referees, and a process for each
//! player.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;

use serde_json::Value;

use crate::end_to_end::ground::Ground;
use crate::end_to_end::process::{Process, eventually, free_port, league};
use crate::field::{Store, acknowledged_in};

/// How many players a league has.
pub(crate) const PLAYERS: u32 = 4;

/// What is started, and how many of it.
#[derive(Debug, Clone)]
pub(crate) struct Size {
    pub(crate) leagues: u32,
    pub(crate) hosts: usize,
    /// How many players a league waits for; with more than [`PLAYERS`] it does not begin.
    pub(crate) awaited: u32,
    /// How often each pair of players meets.
    pub(crate) legs: u32,
    /// More arguments for each league.
    pub(crate) more: Vec<String>,
}

impl Size {
    /// How many matches a league has.
    pub(crate) fn matches(&self) -> usize {
        (PLAYERS * (PLAYERS - 1) / 2 * self.legs) as usize
    }
}

/// A process that manages leagues, and runs their referees.
pub(crate) struct Host {
    pub(crate) process: Process,
    base: String,
    ground: Ground,
}

/// All processes; they are killed when it is dropped.
pub(crate) struct Cluster {
    pub(crate) store: Store,
    pub(crate) size: Size,
    pub(crate) hosts: Vec<Host>,
    pub(crate) players: Vec<Process>,
    _grounds: [Ground; 2],
}

impl Cluster {
    /// Begins the leagues, and starts all processes.
    pub(crate) fn start(store: Store, size: Size) -> Self {
        let beginnings = Ground::new();
        for number in 0..size.leagues {
            begin_league(&store, &beginnings, &name(number), &size);
        }
        let hosts = (0..size.hosts).map(|_| Host::start(&store, size.leagues));
        let hosts: Vec<Host> = hosts.collect();
        let held = "select count(*) from league.leases where agent = 'manager' and until > now() \
                    and address <> ''";
        let all = u64::from(size.leagues);
        let there = eventually(|| (store.number(held) == all).then_some(()));
        assert!(there.is_some(), "not every league has a manager");
        let ground = Ground::new();
        let players = start_players(&ground, &hosts, &size);
        Self {
            store,
            size,
            hosts,
            players,
            _grounds: [beginnings, ground],
        }
    }

    /// The leagues that are not over, with the addresses of the managers that hold them or held them
    /// last.
    pub(crate) fn open_leagues(&self) -> BTreeMap<String, String> {
        let open = "select league_id || ' ' || address from league.leases \
                    where agent = 'manager' and not over";
        let open = self.store.ask(open);
        let pairs = open.lines().filter_map(|line| line.split_once(' '));
        pairs
            .map(|(id, at)| (id.to_owned(), at.to_owned()))
            .collect()
    }

    /// Those of them that a host holds.
    pub(crate) fn open_leagues_of(&self, host: usize) -> BTreeSet<String> {
        let open = self.open_leagues().into_iter();
        let own = open.filter(|(_, address)| self.hosts[host].answers_at(address));
        own.map(|(id, _)| id).collect()
    }

    /// Waits until all leagues are over; each step forward has the bound of a wait.
    pub(crate) fn wait_for_the_end(&self) {
        let step = || (self.open_leagues().len(), self.store.results());
        let mut last = step();
        while last.0 > 0 {
            let next = eventually(|| Some(step()).filter(|next| *next != last));
            last = next.unwrap_or_else(|| panic!("no step after {last:?}"));
        }
    }

    /// The league and the match of each stored result.
    pub(crate) fn results(&self) -> Vec<String> {
        let stored = "select league_id || ' ' || match_id from league.results order by 1";
        self.store.ask(stored).lines().map(str::to_owned).collect()
    }

    /// The league and the match of each result whose acknowledgement a referee has noted.
    pub(crate) fn acknowledged(&self) -> BTreeSet<String> {
        let hosts = self.hosts.iter();
        hosts.flat_map(Host::acknowledged).collect()
    }

    /// What `league verify` says about a league that it reads from the database.
    pub(crate) fn verdict(&self, id: &str) -> Value {
        let root = Ground::new();
        let place = ["--store", &self.store.url, "--league-id", id];
        let arguments = [&["verify", root.root(), "--output", "json"], &place[..]].concat();
        let told = league(arguments).out;
        serde_json::from_str(told.trim()).unwrap()
    }
}

impl Host {
    fn start(store: &Store, leagues: u32) -> Self {
        let (ground, port) = (Ground::new(), free_port().to_string());
        let (leagues, store) = (leagues.to_string(), &store.url);
        let place = ["--port", &port, "--store", store];
        let arguments = [&place[..], &["--leagues", &leagues]].concat();
        let mut process = ground.start("manager", &arguments);
        let greeting = process.event("event", "host");
        Self {
            process,
            base: greeting["endpoint"].as_str().unwrap().to_owned(),
            ground,
        }
    }

    /// Whether an address is one of its leagues.
    pub(crate) fn answers_at(&self, address: &str) -> bool {
        let rest = address.strip_prefix(&self.base);
        rest.is_some_and(|rest| rest.starts_with('/'))
    }

    /// The league and the match of each result whose acknowledgement the referees in its folder noted.
    fn acknowledged(&self) -> BTreeSet<String> {
        let leagues = self.ground.path("data/leagues");
        let files = self.ground.files("data/leagues").into_iter();
        let is_referees = |path: &PathBuf| {
            path.ends_with("journal.jsonl") && path.iter().any(|part| part == "referees")
        };
        let journals = files.filter(is_referees);
        let matches = journals.flat_map(|path| {
            let id = path.strip_prefix(&leagues).unwrap().iter().next().unwrap();
            let id = id.to_string_lossy().into_owned();
            let found = acknowledged_in(&fs::read_to_string(&path).unwrap());
            found.into_iter().map(move |found| format!("{id} {found}"))
        });
        matches.collect()
    }
}

fn name(number: u32) -> String {
    format!("league_{number}")
}

/// Writes the beginning of a league to the store.
fn begin_league(store: &Store, ground: &Ground, id: &str, size: &Size) {
    let (players, legs) = (size.awaited.to_string(), size.legs.to_string());
    let own = ["--league-id", id, "--port", "0", "--store", &store.url];
    let rules = ["--create", "--players", &players, "--legs", &legs];
    let mut arguments = [&["manager", "--root", ground.root()], &own[..], &rules].concat();
    arguments.extend(size.more.iter().map(String::as_str));
    let ended = league(arguments);
    assert_eq!(ended.code, Some(0), "{ended:?}");
}

/// Starts the players of all leagues, which know all managers.
fn start_players(ground: &Ground, hosts: &[Host], size: &Size) -> Vec<Process> {
    let seats = (0..size.leagues).flat_map(|league| (1..=PLAYERS).map(move |seat| (league, seat)));
    let players = seats.map(|(league, seat)| {
        let (id, player) = (name(league), format!("P{:02}", league * PLAYERS + seat));
        let managers = hosts
            .iter()
            .map(|host| format!("{}/leagues/{id}/mcp", host.base));
        let managers = managers.collect::<Vec<_>>().join(",");
        let own = ["--port", "0", "--player-id", &player, "--league-id", &id];
        ground.start("player", &[&own[..], &["--manager", &managers]].concat())
    });
    players.collect()
}
