//! The check as a process, with one of our agents as its child.

use std::net::TcpListener;
use std::process::{Command, Output};

use serde_json::Value;

/// How a check ended.
pub(crate) struct Checked {
    /// Its exit code.
    pub(crate) code: Option<i32>,
    /// What it printed, line by line.
    pub(crate) lines: Vec<Value>,
}

/// A port that nobody listens on.
pub(crate) fn free_port() -> u16 {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    listener.local_addr().unwrap().port()
}

/// Checks an agent of ours that the check starts on a root of its own, forgiving nothing.
pub(crate) fn checked(url: &str, agent: &str, arguments: &[&str]) -> Checked {
    let folder = tempfile::tempdir().unwrap();
    let program = env!("CARGO_BIN_EXE_league");
    let launch = format!("{program} {agent} --root {}", folder.path().display());
    let fixed = [
        "check", url, "--strict", "--launch", &launch, "--output", "json",
    ];
    let Output { status, stdout, .. } = Command::new(program)
        .args(fixed)
        .args(arguments)
        .output()
        .unwrap();
    let stdout = String::from_utf8(stdout).unwrap();
    let lines = stdout
        .lines()
        .map(|line| serde_json::from_str(line).unwrap());
    Checked {
        code: status.code(),
        lines: lines.collect(),
    }
}

/// Sees that no rule is broken, bent or left out.
pub(crate) fn see_clean(lines: &[Value]) {
    let wrong: Vec<&Value> = lines
        .iter()
        .filter(|line| line["event"] == "rule" && line["verdict"] != "pass")
        .collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
    let summary = lines.last().unwrap();
    assert_eq!(summary["grade"], "A", "{summary}");
}
