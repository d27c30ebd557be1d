//! A league in a database: its managers, the agents elsewhere that play it, and what is stored of it.

use std::collections::BTreeSet;
use std::env;
use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::end_to_end::ground::{Agent, Ground};
use crate::end_to_end::process::{Process, eventually, free_port, league};
use crate::server::{Server, ask};

/// How many players a league has.
pub(crate) const PLAYERS: u32 = 6;
/// How many referees.
pub(crate) const REFEREES: u32 = 2;
/// How many matches follow from that.
pub(crate) const MATCHES: usize = 15;
/// The key of the organiser.
const KEY: [&str; 2] = ["--referee-key", "key-of-the-organiser"];
/// How long another manager may take to hold the league.
pub(crate) const MAX_TAKEOVER: Duration = Duration::from_secs(15);

/// The programs of the server.
pub(crate) fn bin() -> PathBuf {
    env::var_os("LEAGUE_TEST_POSTGRES_BIN")
        .expect("these tests are run by `cargo xtask postgres`")
        .into()
}

/// A server of a test's own.
pub(crate) fn own_server() -> Server {
    Server::start(&bin()).unwrap()
}

/// A database with the tables of leagues.
#[derive(Clone)]
pub(crate) struct Store {
    pub(crate) url: String,
}

impl Store {
    /// A new database on the server that all tests share.
    pub(crate) fn shared() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let server = env::var("LEAGUE_TEST_POSTGRES");
        let server = server.expect("these tests are run by `cargo xtask postgres`");
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("league_{}_{number}", std::process::id());
        ask(&bin(), &server, &format!("create database {name}")).unwrap();
        let place = server.rsplit_once('/').unwrap().0;
        Self::migrated(format!("{place}/{name}"))
    }

    /// The database of a server of its own.
    pub(crate) fn on(server: &Server) -> Self {
        Self::migrated(server.url("postgres"))
    }

    /// A database of this name on a server.
    pub(crate) fn named(server: &Server, name: &str) -> Self {
        server.ask(&format!("create database {name}")).unwrap();
        Self::migrated(server.url(name))
    }

    fn migrated(url: String) -> Self {
        let ended = league(["db", "migrate", "--store", &url]);
        assert_eq!(ended.code, Some(0), "{ended:?}");
        Self { url }
    }

    /// What a statement prints.
    pub(crate) fn ask(&self, statement: &str) -> String {
        ask(&bin(), &self.url, statement).unwrap()
    }

    /// The number that a statement prints.
    pub(crate) fn number(&self, statement: &str) -> u64 {
        self.ask(statement).parse().unwrap()
    }

    /// How many results are stored.
    pub(crate) fn results(&self) -> u64 {
        self.number("select count(*) from league.results")
    }

    /// Waits until so many results are stored.
    pub(crate) fn wait_for_results(&self, count: u64) {
        let there = eventually(|| (self.results() >= count).then_some(()));
        assert!(there.is_some(), "{} of {count} results", self.results());
    }

    /// Waits until the manager that holds the league has noted its end.
    pub(crate) fn wait_for_the_end(&self) {
        let over = "select count(*) from league.leases where agent = 'manager' and over";
        let over = eventually(|| (self.number(over) == 1).then_some(()));
        assert!(over.is_some(), "no end with {} results", self.results());
    }

    /// Runs a command on a folder and this database to its end.
    pub(crate) fn run(&self, command: &[&str]) -> String {
        let ended = league(command.iter().chain(&["--store", &self.url]));
        assert_eq!(ended.code, Some(0), "{ended:?}");
        ended.out
    }

    /// Sees that every match has one result, that each result which a referee saw acknowledged is the
    /// stored one, and that the league is verified from the database alone.
    pub(crate) fn see_whole(&self, field: &Field) {
        let gaps = "select count(*) from (select max(sequence) - count(*) as missing \
                    from league.events group by league_id, agent) as s where missing <> 0";
        assert_eq!(self.number(gaps), 0, "a line is missing");
        let stored = self.matches();
        let known: BTreeSet<&String> = stored.iter().collect();
        assert_eq!(stored.len(), known.len(), "a match is stored twice");
        assert_eq!(stored.len(), MATCHES, "a match has no result");
        let acknowledged = field.acknowledged();
        for found in &acknowledged {
            assert!(known.contains(found), "{found} is lost");
        }
        assert_eq!(acknowledged.len(), MATCHES, "each was acknowledged");
        self.see_verified();
    }

    /// Waits until the referees have handed in their journals.
    pub(crate) fn wait_for_journals(&self) {
        let there = eventually(|| self.has_journals().then_some(()));
        assert!(there.is_some(), "a referee has not handed in its journal");
    }

    /// Whether the journals of all agents are stored.
    pub(crate) fn has_journals(&self) -> bool {
        let agents = "select count(distinct agent) from league.events";
        self.number(agents) == u64::from(1 + REFEREES)
    }

    /// The match of each stored result.
    pub(crate) fn matches(&self) -> Vec<String> {
        let stored = self.ask("select match_id from league.results order by 1");
        stored.lines().map(str::to_owned).collect()
    }

    /// Sees that the league is verified from the database alone.
    pub(crate) fn see_verified(&self) {
        let root = Ground::new();
        let verdict = self.run(&["verify", root.root(), "--output", "json"]);
        let verdict: Value = serde_json::from_str(verdict.trim()).unwrap();
        assert_eq!(verdict["verdict"], "verified", "{verdict}");
        let confirmed = &verdict["checked"]["confirmed"];
        assert_eq!(confirmed.as_u64(), Some(MATCHES as u64), "{verdict}");
    }
}

/// The agents of a league.
pub(crate) struct Field {
    pub(crate) store: Store,
    /// Where each manager lies, and its port.
    pub(crate) desks: Vec<(Ground, u16)>,
    /// Where the other agents lie.
    pub(crate) elsewhere: Ground,
    pub(crate) agents: Vec<Agent>,
    /// More arguments of managers.
    pub(crate) more: Vec<String>,
}

impl Field {
    /// A league that so many managers can hold; none is started.
    pub(crate) fn new(store: Store, managers: usize) -> Self {
        let desks = (0..managers).map(|_| (Ground::new(), free_port()));
        Self {
            store,
            desks: desks.collect(),
            elsewhere: Ground::new(),
            agents: Vec::new(),
            more: ["--pace", "300ms"].map(str::to_owned).into(),
        }
    }

    /// Starts a manager, which waits for its turn.
    pub(crate) fn start_manager(&self, number: usize) -> Process {
        let (ground, port) = &self.desks[number];
        let (port, players, referees) =
            (port.to_string(), PLAYERS.to_string(), REFEREES.to_string());
        let own = ["--port", &port, "--store", &self.store.url, "--standby"];
        let counts = ["--players", &players, "--referees", &referees];
        let mut arguments = [&own[..], &counts, &KEY].concat();
        arguments.extend(self.more.iter().map(String::as_str));
        ground.start("manager", &arguments)
    }

    /// Starts a manager, and waits until it holds the league.
    pub(crate) fn start_in_charge(&self, number: usize) -> Process {
        let mut manager = self.start_manager(number);
        manager.event("event", "manager");
        manager
    }

    pub(crate) fn endpoint(&self, number: usize) -> String {
        format!("http://localhost:{}/mcp", self.desks[number].1)
    }

    /// Asks one manager alone for something that it has to write.
    pub(crate) fn pull_lever(&self, number: usize, lever: &str) -> Child {
        pull_lever(&self.desks[number].0, &self.endpoint(number), lever)
    }

    /// The addresses of all managers.
    pub(crate) fn managers(&self) -> String {
        let managers = (0..self.desks.len()).map(|number| self.endpoint(number));
        managers.collect::<Vec<_>>().join(",")
    }

    /// Starts the referees and the players, which know all managers.
    pub(crate) fn start_agents(&mut self) {
        let managers = self.managers();
        for number in 1..=REFEREES {
            let referee = self.elsewhere.referee(number, &managers, &KEY);
            self.agents.push(referee);
        }
        for number in 1..=PLAYERS {
            let player = self.elsewhere.player(number, &managers, &[]);
            self.agents.push(player);
        }
    }

    /// The matches whose result a referee reported and saw acknowledged.
    pub(crate) fn acknowledged(&self) -> BTreeSet<String> {
        let journals = (1..=REFEREES).map(|number| {
            let name = format!("referees/REF{number:02}/journal.jsonl");
            fs::read_to_string(self.elsewhere.league(&name)).unwrap_or_default()
        });
        journals
            .flat_map(|journal| acknowledged_in(&journal))
            .collect()
    }

    /// The copy of the journal that a manager keeps.
    pub(crate) fn copy_at(&self, number: usize) -> String {
        let path = self.desks[number].0.league("journal.jsonl");
        fs::read_to_string(path).unwrap_or_default()
    }

    /// What managers logged when they gave up to ask referees for their journals.
    pub(crate) fn given_up(&self) -> Vec<String> {
        let logs = self
            .desks
            .iter()
            .flat_map(|(ground, _)| ground.files("logs"));
        let texts = logs.map(|path| fs::read_to_string(path).unwrap_or_default());
        let texts: Vec<String> = texts.collect();
        let lines = texts.iter().flat_map(|text| text.lines());
        let lines = lines.filter(|line| line.contains("\"JOURNAL_NOT_"));
        lines.map(str::to_owned).collect()
    }

    /// Whether a manager has written the end of the league.
    pub(crate) fn is_over(&self) -> bool {
        let mut desks = 0..self.desks.len();
        desks.any(|number| self.copy_at(number).contains("\"league_completed\""))
    }

    /// Lets agents wait for others that were killed and come back.
    pub(crate) fn be_patient(&mut self) {
        let system = json!({"retry_policy": {"retry_delay_sec": 0.3, "max_retries": 30}});
        let desks = self.desks.iter().map(|(ground, _)| ground);
        for ground in desks.chain([&self.elsewhere]) {
            ground.write("config/system.json", &system);
        }
    }

    /// Kills a referee, and starts it again after a while.
    pub(crate) fn restart_referee(&mut self, number: u32, away: Duration) {
        let managers = self.managers();
        let referee = &mut self.agents[number as usize - 1];
        referee.process.kill();
        let port = referee.port();
        thread::sleep(away);
        *referee = self.elsewhere.referee_at(port, number, &managers, &KEY);
    }

    /// Sees that no agent gave up.
    pub(crate) fn see_all_running(&mut self) {
        for agent in &mut self.agents {
            agent.process.see_running();
        }
    }
}

/// The matches whose result was acknowledged, by the journal of a referee.
pub(crate) fn acknowledged_in(journal: &str) -> Vec<String> {
    let facts = journal.lines().filter_map(|line| {
        let line: Value = serde_json::from_str(line).ok()?;
        let fact = &line["fact"]["event"];
        let counts = fact["event"] == "closed" && fact["report"] == "acknowledged";
        counts.then(|| fact["match_id"].as_str().map(str::to_owned))?
    });
    facts.collect()
}

/// Asks the manager at an endpoint for something that it has to write.
pub(crate) fn pull_lever(ground: &Ground, endpoint: &str, lever: &str) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_league"));
    let place = ["--root", ground.root(), "--manager", endpoint];
    let reason = ["--reason", "a test"];
    command.args(["admin", lever]).args(reason).args(place);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().unwrap()
}

/// Waits for a manager that takes over, and tells how long it took since then.
pub(crate) fn taken_over(manager: &mut Process, since: Instant, what: &str) -> Duration {
    manager.event("event", "manager");
    let took = since.elapsed();
    println!("takeover {what}: {:.1} s", took.as_secs_f64());
    assert!(took < MAX_TAKEOVER, "{took:?}");
    took
}
