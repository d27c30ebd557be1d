//! `league try`.

use std::fs;

use serde_json::{Value, json};

use crate::end_to_end::model_stub::{Behaviour, ModelStub};
use crate::end_to_end::process::{Process, eventually, league};

#[test]
fn player_is_tried_against_each_opponent() {
    let folder = tempfile::tempdir().unwrap();
    let kept = folder.path().join("kept");
    let tried = league([
        "try",
        "minimax",
        "--game",
        "tic_tac_toe",
        "--against",
        "random,minimax",
        "--games",
        "4",
        "--output",
        "json",
        "--keep",
        kept.to_str().unwrap(),
        "--root",
        folder.path().join("absent").to_str().unwrap(),
    ]);
    assert_eq!(tried.code, Some(0), "{tried:?}");
    assert!(!folder.path().join("absent").exists());
    let lines: Vec<Value> = tried
        .out
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let [random, perfect] = &lines[..] else {
        panic!("{lines:?}")
    };
    assert_eq!(random["against"], "random");
    for line in &lines {
        assert_eq!(
            (&line["games"], &line["losses"]),
            (&4.into(), &0.into()),
            "{line}"
        );
        assert_eq!(line["deviations"], 0, "{line}");
        assert!(line["latency_ms"]["median"].as_f64() > Some(0.0), "{line}");
    }
    assert_eq!(perfect["draws"], 4, "{perfect}");
    assert_eq!(perfect["share"]["value"], 0.5, "{perfect}");
    for opponent in ["random", "minimax"] {
        let root = kept.join(opponent);
        let verified = league(["verify", root.to_str().unwrap()]);
        assert_eq!(verified.code, Some(0), "{verified:?}");
    }
    // A kept league is not played on.
    let again = league([
        "try",
        "random",
        "--game",
        "tic_tac_toe",
        "--keep",
        kept.to_str().unwrap(),
    ]);
    assert_eq!(again.code, Some(2), "{again:?}");
}

#[test]
fn agents_end_when_their_trial_is_killed() {
    let folder = tempfile::tempdir().unwrap();
    let kept = folder.path().join("kept");
    let kept = kept.to_str().unwrap();
    let mut tried = Process::start([
        "try", "random", "--games", "1000", "--keep", kept, "--output", "json",
    ]);
    let own = tried.pid();
    let agents = || -> Vec<u32> {
        let processes = fs::read_dir("/proc").unwrap().flatten();
        let numbers = processes.filter_map(|it| it.file_name().to_str()?.parse().ok());
        let is_ours = |number: &u32| {
            let line = fs::read(format!("/proc/{number}/cmdline")).unwrap_or_default();
            *number != own && String::from_utf8_lossy(&line).contains(kept)
        };
        numbers.filter(is_ours).collect()
    };
    // Manager, referee and two players.
    assert!(eventually(|| (agents().len() == 4).then_some(())).is_some());
    tried.kill();
    let left = eventually(|| agents().is_empty().then_some(()));
    assert!(left.is_some(), "{:?}", agents());
}

#[test]
fn models_are_tried_by_the_configuration_of_the_user() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    fs::create_dir(root.join("config")).unwrap();
    let stub = ModelStub::start(Behaviour::Streams);
    let provider = json!({"wire": "openai", "base_url": stub.url});
    let system = json!({"models": {"providers": {"mine": provider}}});
    fs::write(root.join("config/system.json"), system.to_string()).unwrap();
    let root = root.to_str().unwrap();
    let own = [
        "try", "--games", "2", "--output", "json", "--root", root, "--llm",
    ];
    let tried = league(own.iter().chain(&["mine/stub"]));
    assert!(matches!(tried.code, Some(0 | 1)), "{tried:?}");
    let told: Value = serde_json::from_str(&tried.out).unwrap();
    let asked = stub.questions().len();
    assert_eq!(told["language_model"]["moves"], asked, "{tried:?}");
    assert!(asked >= 2, "{tried:?}");
    let unknown = league(own.iter().chain(&["other/stub", "--budget", "1"]));
    assert_eq!(unknown.code, Some(2), "{unknown:?}");
    assert!(unknown.errors.contains("models.p"), "{unknown:?}");
}

#[test]
fn player_that_does_not_start_says_why() {
    let tried = league(["try", "no-such-program --flag", "--games", "2"]);
    assert_eq!(tried.code, Some(3), "{tried:?}");
    assert!(tried.errors.contains("no-such-program"), "{tried:?}");
    assert_eq!(tried.out, "");
}
