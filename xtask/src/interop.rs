//! `cargo xtask interop`: leagues with players built on other libraries.
//!
//! Makes Python environments under the target directory, with the versions pinned in
//! `interop/python` and our own `sdk/python`, and runs the tests in `crates/league/tests/interop`.
//! Among the players are the kits that `league new` writes.

use std::fs;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};

use anyhow::Context;

use crate::shell::{build_league, hand_over, program, root, run, target};

/// One environment of Python for each list of versions.
const ENVIRONMENTS: [&str; 2] = ["fastmcp-4", "fastmcp-2"];

/// The environment with the ratings and pairings of other programs.
const RATINGS: &str = "ratings";

/// Makes the missing environments, then runs the tests.
pub(crate) fn interop() -> anyhow::Result<ExitCode> {
    let place = target().join("interop");
    for name in ENVIRONMENTS {
        make(name, &place.join(name))?;
        add_sdk(&place.join(name))?;
    }
    make(RATINGS, &place.join(RATINGS))?;
    run(
        program("node").arg("--version").stdout(Stdio::null()),
        "install Node.js 18 or later (package `nodejs`)",
    )?;
    build_league("player", &[])?;
    hand_over(
        program("cargo")
            .args(["test", "--package", "league", "--test", "interop"])
            .args(["--", "--test-threads", "1"])
            .env("LEAGUE_INTEROP", place),
    )
}

/// Makes an environment, unless it exists with the same versions.
fn make(name: &str, place: &Path) -> anyhow::Result<()> {
    let list = root().join("interop/python").join(format!("{name}.txt"));
    let wanted = fs::read_to_string(&list)
        .with_context(|| format!("could not read `{}`", list.display()))?;
    let mark = place.join("made-of.txt");
    if fs::read_to_string(&mark).is_ok_and(|made| made == wanted) {
        return Ok(());
    }
    println!("making the environment {name}…");
    run(
        Command::new("python3")
            .args(["-m", "venv", "--clear"])
            .arg(place),
        "install Python with the module `venv` (packages `python3` and `python3-venv`)",
    )?;
    run(
        Command::new(place.join("bin/pip"))
            .args(["install", "--quiet", "--disable-pip-version-check", "-r"])
            .arg(&list),
        "`pip` must reach its registry; is there a network?",
    )?;
    fs::write(&mark, wanted).with_context(|| format!("could not write `{}`", mark.display()))
}

/// Installs our own package as it is now.
fn add_sdk(place: &Path) -> anyhow::Result<()> {
    let options = ["install", "--quiet", "--disable-pip-version-check"];
    run(
        Command::new(place.join("bin/pip"))
            .args(options)
            .args(["--no-deps", "--force-reinstall", "--no-cache-dir"])
            .arg(root().join("sdk/python")),
        "its build needs `setuptools`; is there a network?",
    )
}
