//! From league to league: the next one goes on after every interruption, and flags that it cannot take
//! are refused.

use std::fs;

use serde_json::{Value, json};

use crate::end_to_end::ground::{Ground, facts};
use crate::end_to_end::http::{call, request_with};
use crate::end_to_end::process::{eventually, league};

/// The journals of the leagues below a root, newest name last.
fn journals(ground: &Ground) -> Vec<std::path::PathBuf> {
    let mut all: Vec<_> = fs::read_dir(ground.path("data/leagues"))
        .unwrap()
        .map(|entry| entry.unwrap().path().join("journal.jsonl"))
        .collect();
    all.sort();
    all
}

fn take_overs(journal: &std::path::Path) -> usize {
    let acts = facts(journal, "organiser_acted");
    let taken = acts
        .iter()
        .filter(|fact| fact["act"]["lever"] == "take_over");
    taken.count()
}

#[test]
fn next_league_goes_on_after_an_interruption_before_anyone_joined() {
    let ground = Ground::hasty();
    let words = [
        "run",
        "--players",
        "2",
        "--referees",
        "1",
        "--ports",
        "auto",
        "-q",
    ];
    let first = league([&words[..], &["--root", ground.root()]].concat());
    assert_eq!(first.code, Some(0), "{first:?}");
    assert_eq!(journals(&ground).len(), 1);
    let next = || ground.manager(&["--next", "--players", "0"]);
    let mut interrupted = next();
    interrupted.process.kill();
    let second = journals(&ground)[1].clone();
    // It crashed before it wrote the names that it keeps.
    let text = fs::read_to_string(&second).unwrap();
    let opening = text.lines().next().unwrap();
    fs::write(&second, format!("{opening}\n")).unwrap();
    let folder = fs::read_dir(second.parent().unwrap()).unwrap();
    let files = folder.map(|entry| entry.unwrap().path());
    for made in files.filter(|file| file.is_file() && *file != second) {
        fs::remove_file(made).unwrap();
    }
    for _ in 0..2 {
        let mut manager = next();
        eventually(|| (take_overs(&second) == 1).then_some(())).unwrap();
        manager.process.kill();
        assert_eq!(journals(&ground).len(), 2, "it is the same league");
    }
    // The agent of the last league lost its token.
    let manager = next();
    let meta = |name: &str| {
        json!({"player_meta": {
            "display_name": name, "version": "1.0.0", "game_types": ["even_odd"],
            "contact_endpoint": "http://localhost:17004/mcp",
        }})
    };
    let kept: Value = facts(&second, "organiser_acted")[0]["act"]["seats"].clone();
    let mut seats = kept.as_array().unwrap().iter();
    let seat = seats.find(|seat| seat["agent"]["player"].is_string());
    let name = seat.unwrap()["name"].as_str().unwrap();
    let refused = call(&manager.endpoint, "register_player", &meta(name));
    assert_eq!(refused["status"], "REJECTED", "{refused}");
    let id = refused["reason"]
        .as_str()
        .unwrap()
        .split("readmit ")
        .nth(1)
        .unwrap();
    let id = id.trim_end_matches('`');
    let common = ["--root", ground.root(), "--manager", &manager.endpoint];
    let told = league([&["admin", "readmit", id][..], &common].concat());
    assert_eq!(told.code, Some(0), "{told:?}");
    let back = call(&manager.endpoint, "register_player", &meta(name));
    assert_eq!(back["player_id"], id, "{back}");
    manager.process.stop();
}

#[test]
fn flags_that_a_new_league_cannot_take_are_a_wrong_use() {
    let ground = Ground::new();
    let words = [
        "manager",
        "--port",
        "0",
        "--registration-until",
        "2020-01-01T00:00:00Z",
    ];
    let refused = league([&words[..], &["--root", ground.root()]].concat());
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert!(
        refused.errors.contains("--registration-until"),
        "{refused:?}"
    );
}

#[test]
fn league_run_has_the_page_of_the_organiser() {
    let ground = Ground::hasty();
    let words = [
        "--players",
        "2",
        "--referees",
        "1",
        "--ports",
        "auto",
        "--web",
    ];
    let mut run = ground.start("run", &words);
    let page = run.event("event", "page")["page"]
        .as_str()
        .unwrap()
        .to_owned();
    let at = format!("{page}mcp");
    let login = request_with(&at, "GET", "/admin", &[], b"");
    assert_eq!(login.status, 200, "{login:?}");
    assert!(login.body.contains("name=\"key\""), "{login:?}");
    run.stop();
}
