//! Agents that run short of connections: by callers that only hold them, and by their own machine.

use std::fs;
use std::io::Write;
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

use rustix::process::{Pid, Resource, Rlimit, getrlimit, prlimit};
use serde_json::json;

use crate::end_to_end::ground::{Agent, Ground};
use crate::end_to_end::process::{Process, eventually};

/// Connections of one crowd, several times what an agent of these tests holds.
const CROWD: usize = 200;
/// The least that is said before a request is complete.
const UNFINISHED: [&str; 3] = [
    "",
    "POST /mcp HTTP/1.1\r\nhost: localhost\r\n",
    "POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-length: 9\r\n\r\n{",
];

/// Callers that hold connections to an agent and never finish a request; the agent closes some of
/// them, and they come again.
struct Crowd {
    over: Arc<AtomicBool>,
    comes: JoinHandle<usize>,
}

impl Crowd {
    fn gather(agent: &Agent) -> Self {
        let port = agent.port();
        let join = move |number: usize| {
            let mut stream = TcpStream::connect(("127.0.0.1", port)).ok()?;
            let says = UNFINISHED[number % UNFINISHED.len()];
            stream.write_all(says.as_bytes()).ok()?;
            Some(stream)
        };
        let mut held: Vec<_> = (0..CROWD).filter_map(join).collect();
        let over = Arc::new(AtomicBool::new(false));
        let comes = thread::spawn({
            let over = Arc::clone(&over);
            move || {
                let mut came = held.len();
                while !over.load(Ordering::Relaxed) {
                    if let Some(stream) = join(came) {
                        let oldest = came % CROWD.min(held.len());
                        held[oldest] = stream;
                        came += 1;
                    }
                }
                came
            }
        });
        Self { over, comes }
    }

    /// Leaves; gives how many connections there were.
    fn leave(self) -> usize {
        self.over.store(true, Ordering::Relaxed);
        self.comes.join().unwrap()
    }
}

/// Sees that every match was played.
fn no_technical_losses(ground: &Ground, matches: usize) {
    let results = ground.results();
    assert_eq!(results.len(), matches);
    for (match_id, result) in results {
        assert_ne!(result["status"], "TECHNICAL_LOSS", "{match_id}: {result}");
    }
}

#[test]
fn connections_without_requests_cost_no_match() {
    let ground = Ground::new();
    let system = json!({"limits": {"max_connections": 48}});
    ground.write("config/system.json", &system);
    let mut manager = ground.manager(&["--players", "4", "--referees", "1"]);
    let mut agents = vec![ground.referee(1, &manager.endpoint, &[])];
    agents.extend((1..=3).map(|number| ground.player(number, &manager.endpoint, &[])));
    let crowded = [&manager, &agents[0], &agents[1]];
    let crowds = crowded.map(Crowd::gather);
    agents.push(ground.player(4, &manager.endpoint, &[]));
    manager.process.event("state", "completed");
    for crowd in crowds {
        assert!(crowd.leave() > CROWD);
    }
    no_technical_losses(&ground, 6);
}

/// A league in one process with so many descriptors.
fn run_with(ground: &Ground, descriptors: u32) -> Process {
    let arguments = ["run", "--root", ground.root(), "--output", "json"];
    let arguments = [&arguments[..], &["--players", "8", "--ports", "auto"]].concat();
    Process::start_with_descriptors(descriptors, arguments)
}

#[test]
fn league_without_enough_descriptors_does_not_begin() {
    let ground = Ground::new();
    let ended = run_with(&ground, 64).end();
    assert_eq!(ended.code, Some(3), "{ended:?}");
    for told in ["`64` open files", "11 agents need `93`", "ulimit -n 93"] {
        assert!(ended.errors.contains(told), "{told}: {ended:?}");
    }
    assert!(!ground.league("journal.jsonl").exists());
}

#[test]
fn league_with_just_enough_descriptors_is_played() {
    let ground = Ground::new();
    let ended = run_with(&ground, 93).end();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    no_technical_losses(&ground, 28);
}

/// Leaves a referee the descriptors that it has, or takes more away, while its first match is
/// played. It is connected with the players of that match and with no others.
#[cfg(target_os = "linux")]
struct Deprived {
    ground: Ground,
    manager: Agent,
    referees: Vec<Agent>,
    _players: Vec<Agent>,
}

#[cfg(target_os = "linux")]
impl Deprived {
    fn referee(referees: u32) -> Self {
        let ground = Ground::new();
        let count = referees.to_string();
        let manager = ground.manager(&["--players", "3", "--referees", &count]);
        let start = |number| ground.referee(number, &manager.endpoint, &[]);
        let referees: Vec<Agent> = (1..=referees).map(start).collect();
        let pace = ["--pace", "500ms"];
        let start = |number| ground.player(number, &manager.endpoint, &pace);
        let players: Vec<Agent> = (1..=3).map(start).collect();
        let journal = ground.league("referees/REF01/journal.jsonl");
        let begun = eventually(|| {
            let journal = fs::read_to_string(&journal).unwrap_or_default();
            journal.contains("\"started\"").then_some(())
        });
        assert!(begun.is_some());
        let deprived = Self {
            ground,
            manager,
            referees,
            _players: players,
        };
        deprived.allow(0);
        deprived
    }

    /// Sets how many descriptors the first referee may open.
    fn allow(&self, descriptors: u64) {
        let limit = Rlimit {
            current: Some(descriptors),
            ..getrlimit(Resource::Nofile)
        };
        let pid = Pid::from_raw(self.referees[0].process.pid().cast_signed());
        prlimit(pid, Resource::Nofile, limit).unwrap();
    }

    fn hear(&mut self, event_type: &str) {
        let referee = &mut self.referees[0].process;
        referee.event("event_type", event_type);
    }

    /// Waits for the end.
    fn played(mut self) {
        self.manager.process.event("state", "completed");
        no_technical_losses(&self.ground, 3);
        self.ground.verified();
    }
}

#[test]
#[cfg(target_os = "linux")]
fn player_does_not_lose_because_its_referee_lacks_descriptors() {
    let mut league = Deprived::referee(1);
    league.hear("CALLS_POSTPONED");
    league.allow(1_024);
    league.played();
}

#[test]
#[cfg(target_os = "linux")]
fn referee_without_descriptors_gives_its_match_back() {
    let mut league = Deprived::referee(2);
    league.hear("MATCH_GIVEN_BACK");
    league.played();
}
