//! What people are told on the way: by a manager, by `league watch`, and when something is in the way.

use std::io::Read;
use std::process::{Command, Stdio};

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::end_to_end::ground::Ground;
use crate::end_to_end::http::request;
use crate::end_to_end::process::{Process, eventually, league};
use crate::end_to_end::scripted::{Does, Scripted, fair};

/// The text of a manager's league, without what differs from one to the next.
fn shown(out: &str) -> String {
    // A draw is told as a shared place.
    let lines = out
        .lines()
        .filter(|line| !line.contains("share the first place"));
    let lines = lines.map(|line| match line.split_once(": ") {
        Some((players, _)) if line.contains(" – ") => format!("{players}: …"),
        _ if line.contains(", number was ") => "          …".to_owned(),
        // Whoever won stands first.
        _ => {
            let nobody = line.replace("  =", "   ");
            let nobody = nobody.replace("Agent Alpha", "Agent …    ");
            let nobody = nobody.replace("Agent Beta ", "Agent …    ");
            nobody.replace(char::is_numeric, "9")
        }
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn manager_prints_each_match_and_the_final_table() {
    let ground = Ground::new();
    let arguments = ["manager", "--root", ground.root(), "--port", "0"];
    let more = ["--players", "2", "--referees", "1", "--exit-when-done"];
    let mut manager = Process::start(arguments.iter().chain(&more));
    let greeting = manager.line(|line| line.contains(" at http://"));
    let endpoint = greeting.trim().split(" at ").nth(1).unwrap().to_owned();
    let _referee = ground.referee(1, &endpoint, &[]);
    let mut first = ground.player(1, &endpoint, &[]);
    first.process.event("state", "enrolled");
    let _second = ground.player(2, &endpoint, &[]);
    let ended = manager.end();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let table = ended.out.find("the league begins").unwrap();
    let out = ended.out[table..].replace(ground.root(), "ROOT");
    insta::assert_snapshot!(shown(&out), @"
    the league begins
    round 9
    1/1  R1M1 P01 Agent Alpha – P02 Agent Beta: …

       #  player           played  won  drawn  lost  points
       9  P99 Agent …           9    9      9     9       9
       9  P99 Agent …           9    9      9     9       9

    technical losses: none
    deviations: none
    league_manager: the league is over; start another with `league manager --next --root ROOT`, or `league manager --league-id league_9999_even_odd_9 --root ROOT`
    ");
}

/// How much a pipe holds that is not read.
const PIPE: usize = 64 * 1024;

#[test]
fn output_that_is_not_read_delays_no_match_and_loses_none() {
    let ground = Ground::new();
    let arguments = ["run", "--root", ground.root(), "--output", "json"];
    let more = ["--ports", "auto", "--players", "30"];
    let mut run = Command::new(env!("CARGO_BIN_EXE_league"))
        .args(arguments.iter().chain(&more))
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let journal = ground.league("journal.jsonl");
    let is_over = || {
        let journal = std::fs::read_to_string(&journal).ok()?;
        journal.contains("\"league_completed\"").then_some(())
    };
    let over = eventually(is_over);
    let mut out = String::new();
    let mut pipe = run.stdout.take().unwrap();
    pipe.read_to_string(&mut out).unwrap();
    assert!(run.wait().unwrap().success());
    assert!(over.is_some(), "the league waits for the reader");
    assert!(out.len() > PIPE, "{}", out.len());
    let matches = out
        .lines()
        .filter(|line| line.contains("\"event\":\"match\""));
    assert_eq!(matches.count(), 435);
}

#[test]
fn rejected_agent_leaves_a_line_at_the_manager() {
    let ground = Ground::new();
    let mut manager = ground.manager(&["--players", "2", "--referees", "1"]);
    let meta = json!({
        "display_name": "Heron", "version": "1.0.0", "game_types": ["chess"],
        "contact_endpoint": "http://localhost:9/mcp",
    });
    let wish = json!({"message_type": "LEAGUE_REGISTER_REQUEST", "player_meta": meta});
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "register_player", "params": wish});
    request(
        &manager.endpoint,
        "POST",
        "/mcp",
        call.to_string().as_bytes(),
    );
    let log = ground.path("logs/league/league_2025_even_odd/league.log.jsonl");
    let refused = eventually(|| {
        let log = std::fs::read_to_string(&log).ok()?;
        let line = log
            .lines()
            .find(|line| line.contains("REGISTRATION_REFUSED"))?;
        serde_json::from_str::<Value>(line).ok()
    });
    let refused = refused.expect("a line about it");
    assert_eq!(refused["level"], "WARNING", "{refused}");
    let told = refused["message"].as_str().unwrap();
    let who = "player `Heron` at `http://localhost:9/mcp` was not admitted: ";
    assert!(told.starts_with(who), "{refused}");
    let warning = manager.process.event("event", "warning");
    assert_eq!(warning["event_type"], "REGISTRATION_REFUSED", "{warning}");
    assert_eq!(warning["sentence"], refused["message"]);
}

#[test]
fn watch_shows_the_last_table_of_a_run() {
    let ground = Ground::new();
    let slow = ["--ports", "auto", "--pace", "400ms", "--players", "3"];
    let mut run = ground.start("run", &slow);
    let endpoint = run.event("event", "league")["manager"]
        .as_str()
        .unwrap()
        .to_owned();
    let watched = league(["watch", "--manager", &endpoint, "--root", ground.root()]);
    assert_eq!(run.end().code, Some(0));
    assert_eq!(watched.code, Some(0), "{watched:?}");
    assert!(watched.out.ends_with("the league is over\n"), "{watched:?}");
    assert!(watched.out.contains("3 of 3 matches played"), "{watched:?}");
}

#[test]
fn running_league_is_not_resumed() {
    let ground = Ground::new();
    let mut run = ground.start("run", &["--ports", "auto", "--manual"]);
    let opening = run.event("event", "league");
    let again = [
        "run",
        "--resume",
        "--ports",
        "auto",
        "--root",
        ground.root(),
    ];
    let refused = league(again);
    assert_eq!(refused.code, Some(3), "{refused:?}");
    let told = format!("it is running already, by process {}", run.pid());
    assert!(refused.errors.contains(&told), "{refused:?}");
    let manager = opening["manager"].as_str().unwrap();
    let watch = format!(
        "`league watch --manager {manager} --root {}`",
        ground.root()
    );
    assert!(refused.errors.contains(&watch), "{refused:?}");
    run.signal(Signal::INT);
    assert_eq!(run.end().code, Some(130));
}

#[test]
fn single_player_of_ours_meets_a_guest() {
    let ground = Ground::new();
    let guest = Scripted::start(|said| Does::Answers(fair(said)));
    let one = ["--ports", "auto", "--players", "1", "--referees", "1"];
    let alone = ground.start("run", &one).end();
    assert_eq!(alone.code, Some(2), "{alone:?}");
    assert!(alone.errors.contains("has no opponent"), "{alone:?}");
    let invite = ["--invite", &guest.endpoint];
    let played = ground.start("run", &[&one[..], &invite].concat()).end();
    assert_eq!(played.code, Some(0), "{played:?}");
    assert_eq!(ground.results().len(), 1);
    let ground = Ground::new();
    let text = ["run", "--root", ground.root()];
    let text = league(text.iter().chain(&one).chain(&invite));
    assert!(text.out.contains("2, with 1 referee\n"), "{text:?}");
    assert!(text.out.contains("1 in 1 round\n"), "{text:?}");
}
