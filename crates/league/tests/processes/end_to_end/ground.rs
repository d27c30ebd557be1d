//! A root of its own for one league, the agents that are started on it, and what its files say.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::end_to_end::process::{Process, free_port, league};

/// The league that is meant when none is named.
pub(crate) const LEAGUE: &str = "league_2025_even_odd";

/// Where one league lies.
pub(crate) struct Ground {
    folder: TempDir,
}

/// An agent, and where it answers.
pub(crate) struct Agent {
    pub(crate) process: Process,
    pub(crate) endpoint: String,
}

impl Agent {
    /// Its port.
    pub(crate) fn port(&self) -> u16 {
        let rest = self.endpoint.rsplit_once(':').unwrap().1;
        rest.trim_end_matches("/mcp").parse().unwrap()
    }
}

impl Ground {
    /// A root with the usual configuration.
    pub(crate) fn new() -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
        }
    }

    /// A root on which nobody waits long.
    pub(crate) fn hasty() -> Self {
        let ground = Self::new();
        let system = json!({
            "timeouts": {
                "game_join_ack_timeout_sec": 2,
                "move_timeout_sec": 2,
                "game_over_timeout_sec": 2,
                "match_result_report_timeout_sec": 2,
                "register_referee_timeout_sec": 2,
                "register_player_timeout_sec": 2,
                "generic_response_timeout_sec": 2,
            },
            "retry_policy": {"retry_delay_sec": 0.2},
        });
        ground.write("config/system.json", &system);
        ground
    }

    /// Writes a file below the root.
    pub(crate) fn write(&self, name: &str, content: &Value) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content.to_string()).unwrap();
    }

    /// A path below the root.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The folder of the league.
    pub(crate) fn league(&self, name: &str) -> PathBuf {
        self.path("data/leagues").join(LEAGUE).join(name)
    }

    /// The files below a folder of the root.
    pub(crate) fn files(&self, name: &str) -> Vec<PathBuf> {
        let (mut folders, mut files) = (vec![self.path(name)], Vec::new());
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).into_iter().flatten() {
                let path = entry.unwrap().path();
                match path.is_dir() {
                    true => folders.push(path),
                    false => files.push(path),
                }
            }
        }
        files
    }

    /// The root, as an argument.
    pub(crate) fn root(&self) -> &str {
        self.folder.path().to_str().unwrap()
    }

    /// Starts a command on this root that prints JSON.
    pub(crate) fn start(&self, command: &str, arguments: &[&str]) -> Process {
        let common = [command, "--root", self.root(), "--output", "json"];
        Process::start(common.iter().chain(arguments))
    }

    /// Starts a manager on a free port, as the agents below: if one is killed, no other process gets
    /// its port before it comes back.
    pub(crate) fn manager(&self, arguments: &[&str]) -> Agent {
        self.manager_at(free_port(), arguments)
    }

    /// Starts a manager on a port.
    pub(crate) fn manager_at(&self, port: u16, arguments: &[&str]) -> Agent {
        let port = port.to_string();
        let arguments = [&["--port", &port], arguments].concat();
        answering(self.start("manager", &arguments), "manager")
    }

    /// Starts the referee of a number.
    pub(crate) fn referee(&self, number: u32, manager: &str, arguments: &[&str]) -> Agent {
        self.referee_at(free_port(), number, manager, arguments)
    }

    /// Starts the referee of a number on a port.
    pub(crate) fn referee_at(
        &self,
        port: u16,
        number: u32,
        manager: &str,
        arguments: &[&str],
    ) -> Agent {
        let id = ["--referee-id", &format!("REF{number:02}")];
        self.agent_at(port, "referee", id, manager, arguments)
    }

    /// Starts the player of a number.
    pub(crate) fn player(&self, number: u32, manager: &str, arguments: &[&str]) -> Agent {
        self.player_at(free_port(), number, manager, arguments)
    }

    /// Starts the player of a number on a port.
    pub(crate) fn player_at(
        &self,
        port: u16,
        number: u32,
        manager: &str,
        arguments: &[&str],
    ) -> Agent {
        let id = ["--player-id", &format!("P{number:02}")];
        self.agent_at(port, "player", id, manager, arguments)
    }

    fn agent_at(
        &self,
        port: u16,
        kind: &str,
        id: [&str; 2],
        manager: &str,
        arguments: &[&str],
    ) -> Agent {
        let port = port.to_string();
        let own = ["--port", &port, "--manager", manager];
        let arguments = [&own, &id[..], arguments].concat();
        answering(self.start(kind, &arguments), "listening")
    }

    /// Sees that `league verify` finds nothing wrong, and gives what it checked.
    pub(crate) fn verified(&self) -> Value {
        let ended = league(["verify", self.root(), "--output", "json"]);
        assert_eq!(ended.code, Some(0), "{ended:?}");
        let last = ended.out.lines().next_back().unwrap();
        let verdict: Value = serde_json::from_str(last).unwrap();
        assert_eq!(verdict["verified"], true, "{verdict}");
        verdict["checked"].clone()
    }

    /// The facts of one kind in the journal of the manager.
    pub(crate) fn facts(&self, kind: &str) -> Vec<Value> {
        facts(&self.league("journal.jsonl"), kind)
    }

    /// The results by match; a match that is counted twice fails the test.
    pub(crate) fn results(&self) -> BTreeMap<String, Value> {
        results(&self.league("journal.jsonl"))
    }

    /// The rows of the table.
    pub(crate) fn standings(&self) -> Value {
        let text = fs::read_to_string(self.league("standings.json")).unwrap();
        let document: Value = serde_json::from_str(&text).unwrap();
        document["standings"].clone()
    }
}

/// The facts of one kind in a journal of a manager.
pub(crate) fn facts(journal: &Path, kind: &str) -> Vec<Value> {
    let text = fs::read_to_string(journal).unwrap();
    let facts = text.lines().map(|line| -> Value {
        let line: Value = serde_json::from_str(line).unwrap();
        line["fact"]["event"][kind].clone()
    });
    facts.filter(|fact| !fact.is_null()).collect()
}

/// The results in a journal of a manager, by match, without the proofs, whose keys are never the same.
pub(crate) fn results(journal: &Path) -> BTreeMap<String, Value> {
    let mut results = BTreeMap::new();
    for mut fact in facts(journal, "result_recorded") {
        let match_id = fact["match_id"].as_str().unwrap().to_owned();
        let result = fact["result"].as_object_mut().unwrap();
        result.remove("evidence");
        let again = results.insert(match_id, fact["result"].clone());
        assert_eq!(again, None, "{} is counted twice", fact["match_id"]);
    }
    results
}

/// Waits until an agent says where it answers.
fn answering(mut process: Process, event: &str) -> Agent {
    let greeting = process.event("event", event);
    let endpoint = greeting["endpoint"].as_str().unwrap().to_owned();
    Agent { process, endpoint }
}
