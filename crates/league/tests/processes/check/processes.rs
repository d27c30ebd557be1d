//! The check as a process, with one of our agents as its child.

use std::process::{Command, Output};
use std::sync::Arc;

use league_check::Target;
use league_check::caller::{JSON, PROMPT};
use league_check::stage::Stage;
use league_check::verdict::{self, Verdict};
use league_check::wire::{Request, RoundTrip, exchange};
use serde_json::Value;

/// The key by which our managers admit referees here.
pub(crate) const KEY: &str = "key-for-referees-0123456789";

/// How a check ended.
pub(crate) struct CheckRun {
    /// Its exit code.
    pub(crate) code: Option<i32>,
    /// What it printed, line by line.
    pub(crate) lines: Vec<Value>,
}

/// Checks an agent of ours that the check starts on a root of its own, forgiving nothing.
pub(crate) fn checked(url: &str, agent: &str, arguments: &[&str]) -> CheckRun {
    let folder = tempfile::tempdir().unwrap();
    let program = env!("CARGO_BIN_EXE_league");
    let launch = format!("{program} {agent} --root {}", folder.path().display());
    let strict = ["--strict"];
    let arguments: Vec<&str> = strict.iter().chain(arguments).copied().collect();
    check(url, &launch, &arguments)
}

/// Checks an agent that this command starts.
pub(crate) fn check(url: &str, launch: &str, arguments: &[&str]) -> CheckRun {
    let fixed = ["check", url, "--launch", launch, "--output", "json"];
    let Output { status, stdout, .. } = Command::new(env!("CARGO_BIN_EXE_league"))
        .args(fixed)
        .args(arguments)
        .output()
        .unwrap();
    let stdout = String::from_utf8(stdout).unwrap();
    let lines = stdout
        .lines()
        .map(|line| serde_json::from_str(line).unwrap());
    CheckRun {
        code: status.code(),
        lines: lines.collect(),
    }
}

/// Checks one rule on a stage that has begun; `rule` is its whole name, such as `M-REG-01`.
pub(crate) async fn verdict_on(stage: &Arc<Stage>, rule: &str) -> (Verdict, String) {
    let mut topics = stage.topics();
    for topic in &mut topics {
        topic.rules.retain(|row| rule[2..] == *row.id);
    }
    let findings = verdict::play(stage, &topics, false, &|_| {}).await;
    assert_eq!(findings.len(), 1, "there is a rule {rule}");
    (findings[0].verdict, findings[0].found.clone())
}

/// Sends a call to an agent.
pub(crate) async fn post(to: &Target, call: &Value) -> RoundTrip {
    let body = call.to_string();
    let request = Request {
        method: "POST",
        path: "/mcp",
        headers: &JSON,
        body: body.as_bytes(),
    };
    exchange(to, &request, PROMPT).await
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
