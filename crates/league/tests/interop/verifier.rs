//! The verifier in Python beside `league verify`, over leagues that were played and then forged.

use std::path::Path;
use std::process::Command;

use crate::LINES;
use crate::end_to_end::ground::Ground;
use crate::end_to_end::process::league;
use crate::python::{Python, interpreter};

/// Plays a league, and has both verifiers judge it and each forgery of it.
fn agree_on(words: &[&str]) {
    let ground = Ground::new();
    let run = ["run", "--ports", "auto", "--quiet", "--root", ground.root()];
    let ended = league(run.iter().chain(words));
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../sdk/python/tests");
    let mut command = Command::new(interpreter(LINES[0]));
    command.arg(tests.join("forgeries.py"));
    command.args([ground.root(), env!("CARGO_BIN_EXE_league")]);
    assert!(Python::of(command).succeeds(), "{words:?}");
}

#[test]
fn both_verifiers_agree_on_a_league_and_its_forgeries() {
    agree_on(&["--players", "4"]);
}

#[test]
fn both_verifiers_agree_on_a_reproducible_league_with_players_that_do_not_sign() {
    agree_on(&["--players", "4", "--seed", "7", "--dialects", "v2,v1"]);
}

#[test]
fn both_verifiers_agree_on_a_game_of_turns() {
    agree_on(&["--players", "5", "--game", "tic_tac_toe"]);
}

/// It checks only the chain of other games, and says so.
#[test]
fn verifier_in_python_neither_verifies_nor_fails_a_game_that_it_does_not_know() {
    agree_on(&["--players", "3", "--game", "nim"]);
}
