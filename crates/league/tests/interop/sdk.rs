//! The package for Python, by itself and on the files of a league that was played.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use league::config::ConfigLoader;
use league::root::Root;

use crate::LINES;
use crate::end_to_end::ground::{Ground, LEAGUE};
use crate::end_to_end::process::league;
use crate::python::{Python, interpreter};

fn tests() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../sdk/python/tests")
}

#[test]
fn sdk_passes_its_own_tests_by_the_command_of_its_readme() {
    let readme = fs::read_to_string(tests().join("../README.md")).unwrap();
    let line = readme.lines().find(|line| line.contains("-m unittest"));
    let mut command = Command::new("sh");
    command.args(["-c", line.unwrap()]);
    command.current_dir(tests().join("../../.."));
    assert!(Python::of(command).succeeds());
}

#[test]
fn sdk_writes_league_files_that_still_verify() {
    let ground = Ground::new();
    let ended = league(["run", "--ports", "auto", "--root", ground.root()]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    // The list of games is written when somebody asks for it.
    let loader = ConfigLoader::new(Root::new(ground.root()));
    let games = loader.load_games_registry().unwrap();
    let mut command = Command::new(interpreter(LINES[0]));
    command.arg(tests().join("through_a_root.py"));
    command.args([ground.root(), LEAGUE]);
    let read = Python::of(command).event("read");
    assert_eq!((&read["matches"], &read["players"]), (&6.into(), &4.into()));
    ground.verified();

    let again = ConfigLoader::new(Root::new(ground.root()));
    assert_eq!(again.load_games_registry().unwrap(), games);
    assert_eq!(again.load_system().unwrap(), loader.load_system().unwrap());
    assert_eq!(again.load_agents().unwrap(), loader.load_agents().unwrap());
    assert!(again.warnings().is_empty(), "{:?}", again.warnings());
}
