//! Our own player, as a process of its own: no rule broken, none bent, no fault too much.

use std::net::TcpListener;
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::check::processes::{self, CheckRun};
use crate::end_to_end::process::{free_port, league};
use crate::end_to_end::secured::{class, file, serve_as};

/// Checks our player, started by the check; gives the exit code and the lines.
fn check(arguments: &[&str]) -> (Option<i32>, Vec<Value>) {
    check_player("", arguments)
}

/// The same, with one more word for the player.
fn check_player(manner: &str, arguments: &[&str]) -> (Option<i32>, Vec<Value>) {
    let folder = tempfile::tempdir().unwrap();
    let (port, manager) = (free_port(), free_port());
    let program = env!("CARGO_BIN_EXE_league");
    let launch = format!(
        "{program} player {manner} --root {} --port {port} --manager http://localhost:{manager}/mcp",
        folder.path().display()
    );
    let url = format!("http://localhost:{port}/mcp");
    let manager = manager.to_string();
    let port = ["--port", &manager];
    let arguments: Vec<&str> = port.iter().chain(arguments).copied().collect();
    let CheckRun { code, lines } = processes::check(&url, &launch, &arguments);
    (code, lines)
}

#[test]
fn our_player_keeps_every_rule() {
    let (code, lines) = check(&["--strict"]);
    let wrong: Vec<&Value> = lines
        .iter()
        .filter(|line| matches!(line["verdict"].as_str(), Some("fail" | "deviation")))
        .collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
    let summary = lines.last().unwrap();
    assert_eq!(summary["grade"], "A", "{summary}");
    let skipped = lines.iter().filter(|line| line["verdict"] == "skipped");
    let skipped: Vec<&Value> = skipped.map(|line| &line["id"]).collect();
    assert!(skipped.is_empty(), "{skipped:?}");
    assert_eq!(code, Some(0));
}

#[test]
fn our_strict_player_keeps_every_rule_for_strict_players() {
    let (code, lines) = check_player("--strict", &["--strict"]);
    let told = |verdict: &str| -> Vec<&str> {
        let told = lines.iter().filter(|line| line["verdict"] == verdict);
        told.filter_map(|line| line["id"].as_str()).collect()
    };
    assert_eq!(told("fail"), [""; 0]);
    let not_owed = [
        "P-JOIN-18",
        "P-JOIN-20",
        "P-JOIN-21",
        "P-PICK-16",
        "P-PICK-17",
        "P-NEWS-05",
        "P-NEWS-09",
    ];
    assert_eq!(told("skipped"), not_owed);
    assert_eq!(lines.last().unwrap()["grade"], "A");
    assert_eq!(code, Some(0));
}

#[test]
fn agent_with_tls_is_checked_if_its_certificate_is_trusted() {
    let class = class(&["localhost"]);
    let ca = file(&class, "ca.pem");
    serve_as(&class, &class, "localhost");
    let (port, manager) = (free_port(), free_port());
    let program = env!("CARGO_BIN_EXE_league");
    let launch = format!(
        "{program} player --root {} --port {port} --manager http://localhost:{manager}/mcp",
        class.root()
    );
    let (url, manager) = (format!("https://localhost:{port}/mcp"), manager.to_string());
    let own = ["--rehearse", "--port", &manager];
    let CheckRun { code, lines } =
        processes::check(&url, &launch, &[&own[..], &["--ca", &ca]].concat());
    assert_eq!(code, Some(0), "{lines:#?}");
    let summary = lines.last().unwrap();
    assert_eq!(summary["resilience"], 100, "{lines:#?}");
    assert_eq!(summary["agent"], url);
    let unknown = ["check", &url, "--launch", &launch];
    let refused = league(unknown.iter().chain(&own));
    assert_eq!(refused.code, Some(3), "{refused:?}");
    let said = "the certificate of `localhost` is signed by an authority that is not trusted here";
    assert!(refused.errors.contains(said), "{refused:?}");
}

#[test]
fn our_player_survives_a_rehearsal_and_the_plan_repeats() {
    let (code, lines) = check(&["--rehearse", "--seed", "3"]);
    let summary = lines.last().unwrap();
    assert_eq!(summary["resilience"], 100, "{lines:#?}");
    assert_eq!(code, Some(0));
    let (_, again) = check(&["--rehearse", "--seed", "3"]);
    assert_eq!(again.last().unwrap()["plan"], summary["plan"]);
}

#[test]
fn missing_agent_is_code_3() {
    let (port, manager) = (free_port(), free_port());
    let url = format!("http://localhost:{port}/mcp");
    let ended = Command::new(env!("CARGO_BIN_EXE_league"))
        .args([
            "check",
            &url,
            "--port",
            &manager.to_string(),
            "--wait",
            "200ms",
        ])
        .output()
        .unwrap();
    assert_eq!(ended.status.code(), Some(3));
    let errors = String::from_utf8(ended.stderr).unwrap();
    assert!(errors.contains("no agent listens at"), "{errors}");
}

#[test]
fn agent_that_ends_is_reported_at_once_with_its_last_lines() {
    let (port, manager) = (free_port(), free_port());
    let url = format!("http://localhost:{port}/mcp");
    let launch = "sh -c \"echo 'No module named \\033[31mheron' >&2; exit 7\"";
    let began = Instant::now();
    let ended = Command::new(env!("CARGO_BIN_EXE_league"))
        .args(["check", &url, "--port", &manager.to_string()])
        .args(["--wait", "5m", "--launch", launch])
        .output()
        .unwrap();
    assert!(began.elapsed() < Duration::from_secs(60));
    assert_eq!(ended.status.code(), Some(3));
    let errors = String::from_utf8(ended.stderr).unwrap();
    let told = "the command ended (code 7); it said:\n    No module named ";
    assert!(errors.contains(told), "{errors}");
    assert!(!errors.contains('\u{1b}'), "{errors}");
}

#[test]
fn rehearsal_needs_a_registered_player() {
    let nobody = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = nobody.local_addr().unwrap().port();
    std::thread::spawn(move || nobody.incoming().for_each(drop));
    let url = format!("http://localhost:{port}/mcp");
    let ended = Command::new(env!("CARGO_BIN_EXE_league"))
        .args(["check", &url, "--port", &free_port().to_string()])
        .args(["--wait", "200ms", "--rehearse"])
        .output()
        .unwrap();
    let shown = String::from_utf8(ended.stdout).unwrap();
    let told = "nothing was rehearsed: the player never registered with this manager";
    assert!(shown.contains(told), "{shown}");
    assert_eq!(ended.status.code(), Some(1));
}

#[test]
fn rehearsal_of_a_manager_or_referee_is_refused() {
    for kind in ["manager", "referee"] {
        let url = format!("http://localhost:{}/mcp", free_port());
        let ended = Command::new(env!("CARGO_BIN_EXE_league"))
            .args(["check", &url, "--port", &free_port().to_string()])
            .args(["--wait", "200ms", "--rehearse", "--kind", kind])
            .output()
            .unwrap();
        let errors = String::from_utf8(ended.stderr).unwrap();
        assert_eq!(ended.status.code(), Some(2), "{errors}");
        let told = format!("cause: a {kind} cannot be rehearsed, only a player can\nhint: ");
        assert!(errors.contains(&told), "{errors}");
    }
}

#[test]
fn every_rule_is_listed_without_an_agent() {
    for (kind, letter) in [("player", 'P'), ("referee", 'R'), ("manager", 'M')] {
        let listed = Command::new(env!("CARGO_BIN_EXE_league"))
            .args(["check", "--list", "--kind", kind])
            .output()
            .unwrap();
        assert_eq!(listed.status.code(), Some(0));
        let listed = String::from_utf8(listed.stdout).unwrap();
        let first = format!("  {letter}-REG-01     MUST    ");
        assert!(listed.contains(&first), "{listed}");
        assert!(listed.lines().count() > 80, "{listed}");
        assert_eq!(listed.contains("P-OLD-01"), kind == "player");
    }
}
