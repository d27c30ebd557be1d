//! `league play`.

use std::io::Write;
use std::process::{Command, Stdio};

use serde_json::Value;

use super::league;
use crate::end_to_end::ground::{Ground, LEAGUE};

/// Enough lines to fill a board of connect four, whatever the opponent does.
fn columns() -> String {
    (0..70).map(|line| format!("{}\n", line % 7)).collect()
}

#[test]
fn person_plays_a_strategy_line_by_line() {
    let input = format!("9\n?\n{}", columns());
    let own = [
        "play",
        "--game",
        "connect_four",
        "--against",
        "random",
        "--name",
        "Ada",
    ];
    let shown = league(&own, &input);
    let expected = [
        "exit code 0",
        "connect_four: you play as Ada",
        "moves: 0 1 2 3 4 5 6",
        "`9`: not a legal move; choose one of 0 1 2 3 4 5 6",
        "● is yours, ○ belongs to random",
        "Two players drop discs into an upright board",
        "random chose ",
        "R1M1 against random: ",
        "Ada (human)",
    ];
    for expected in expected {
        assert!(shown.contains(expected), "no `{expected}` in {shown}");
    }
    assert!(!shown.contains("you left the seat"), "{shown}");
}

#[test]
fn end_of_the_input_leaves_the_seat_to_the_strategy() {
    let own = ["play", "--game", "connect_four", "--against", "random"];
    let shown = league(&own, "3\n");
    let left = "you left the seat: the strategy `random` makes your moves from now on";
    for expected in ["exit code 0", left, "R1M1 against random: "] {
        assert!(shown.contains(expected), "no `{expected}` in {shown}");
    }
}

#[test]
fn strategy_that_does_not_know_the_game_is_refused() {
    let shown = league(&["play", "--game", "nim", "--against", "minimax"], "");
    assert!(shown.starts_with("exit code 2\n"), "{shown}");
    assert!(shown.contains("does not know the game `nim`"), "{shown}");
}

#[test]
fn person_joins_a_manager_and_is_known_as_human() {
    let ground = Ground::new();
    let seats = [
        "--players",
        "2",
        "--referees",
        "1",
        "--game",
        "rock_paper_scissors",
    ];
    let manager = ground.manager(&[&seats[..], &["--league-id", LEAGUE]].concat());
    let done = ["--exit-when-done"];
    let referee = ground.referee(1, &manager.endpoint, &done);
    let player = ground.player(1, &manager.endpoint, &done);
    let mut child = Command::new(env!("CARGO_BIN_EXE_league"))
        .args([
            "play",
            "--manager",
            &manager.endpoint,
            "--name",
            "Ada",
            "--output",
            "json",
        ])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the binary starts");
    let mut input = child.stdin.take().expect("standard input is piped");
    input
        .write_all("2\n".repeat(100).as_bytes())
        .expect("the pipe holds it");
    let output = child.wait_with_output().expect("the binary ends");
    let out = String::from_utf8(output.stdout).expect("the output is text");
    assert_eq!(output.status.code(), Some(0), "{out}");
    let lines: Vec<Value> = out
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let of = |event: &str| lines.iter().filter(|line| line["event"] == event).count();
    assert!(of("turn") > 1 && of("turn") == of("moved"), "{out}");
    assert_eq!((of("match"), of("standings")), (1, 1), "{out}");
    let moved = lines.iter().find(|line| line["event"] == "moved").unwrap();
    assert_eq!(moved["choice"], "paper", "the second of the list");
    drop(input);
    for agent in [referee, player] {
        assert_eq!(agent.process.end().code, Some(0));
    }
    let registered = ground.facts("player_registered");
    let human = registered
        .iter()
        .filter(|fact| fact["meta"]["human"] == true);
    let human: Vec<_> = human.map(|fact| &fact["meta"]["display_name"]).collect();
    assert_eq!(human, ["Ada"]);
}
