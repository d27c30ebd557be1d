//! `cargo xtask interop`: leagues with players of other people's libraries.
//!
//! The environments are made under the target directory, with every version pinned in
//! `interop/python` and our own `sdk/python`; the tests in `crates/league/tests/interop.rs` do the
//! rest. Among the players are the kits that `league new` writes.

use std::fs;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};

use anyhow::{Context, bail};

use crate::places::{root, target};

/// One environment of Python for each list of versions.
const ENVIRONMENTS: [&str; 2] = ["fastmcp-4", "fastmcp-2"];

/// Makes what is missing, then runs the tests.
pub(crate) fn interop() -> anyhow::Result<ExitCode> {
    let place = target().join("interop");
    for name in ENVIRONMENTS {
        make(name, &place.join(name))?;
        add_sdk(&place.join(name))?;
    }
    run(
        Command::new("node").arg("--version"),
        "Node 18 or later is needed (package `nodejs`)",
    )?;
    build_kit()?;
    let status = tests(&place)
        .status()
        .context("could not start `cargo test`")?;
    Ok(if status.success() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

fn tests(place: &Path) -> Command {
    let mut command = Command::new("cargo");
    command
        .args(["test", "--package", "league", "--test", "interop"])
        .args(["--", "--test-threads", "1"])
        .env("LEAGUE_INTEROP", place)
        .current_dir(root())
        .stdin(Stdio::null());
    command
}

/// Makes an environment, unless it is there with the same versions.
fn make(name: &str, place: &Path) -> anyhow::Result<()> {
    let list = root().join("interop/python").join(format!("{name}.txt"));
    let wanted = fs::read_to_string(&list).with_context(|| format!("no `{}`", list.display()))?;
    let mark = place.join("made-of.txt");
    if fs::read_to_string(&mark).is_ok_and(|made| made == wanted) {
        return Ok(());
    }
    println!("making the environment {name}…");
    run(
        Command::new("python3")
            .args(["-m", "venv", "--clear"])
            .arg(place),
        "python3 with the module `venv` is needed (packages `python3` and `python3-venv`)",
    )?;
    run(
        Command::new(place.join("bin/pip"))
            .args(["install", "--quiet", "--disable-pip-version-check", "-r"])
            .arg(&list),
        "the packages of the list must be to be had; is there a network?",
    )?;
    fs::write(&mark, wanted).with_context(|| format!("could not write `{}`", mark.display()))
}

/// Puts our own package into an environment, as it is now.
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

/// Builds the kit in Rust, where the tests look for it.
fn build_kit() -> anyhow::Result<()> {
    let arguments = ["build", "--package", "league", "--example", "player"];
    run(
        Command::new("cargo").args(arguments).current_dir(root()),
        "mend `crates/league/kits/player.rs`",
    )
}

fn run(command: &mut Command, hint: &str) -> anyhow::Result<()> {
    let status = command.stdin(Stdio::null()).status();
    match status {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => bail!("`{command:?}` failed: {status}\nhint: {hint}"),
        Err(error) => bail!("`{command:?}` could not be started: {error}\nhint: {hint}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_environment_has_its_versions_pinned() {
        for name in ENVIRONMENTS {
            let list = root().join("interop/python").join(format!("{name}.txt"));
            let text = fs::read_to_string(list).unwrap();
            assert!(text.lines().all(|line| line.contains("==")), "{name}");
            assert!(text.contains("fastmcp=="), "{name}");
        }
    }

    #[test]
    fn what_cannot_be_started_is_named_with_what_is_missing() {
        let problem = run(&mut Command::new("a-program-that-nobody-has"), "get it").unwrap_err();
        let problem = problem.to_string();
        assert!(problem.contains("a-program-that-nobody-has"), "{problem}");
        assert!(problem.contains("hint: get it"), "{problem}");
    }
}
