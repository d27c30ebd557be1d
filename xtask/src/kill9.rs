//! `cargo xtask kill9`: leagues of real processes, any of which is killed at any moment.
//!
//! The test of the same content in `crates/league/tests/end_to_end/kills.rs` does the work; here
//! it is told how often and by which seed.

use std::path::Path;
use std::process::{Command, ExitCode, Stdio};

use anyhow::Context;
use clap::Args;

/// The test that kills.
const TEST: &str = "kills::whoever_is_killed_comes_back_and_every_match_is_counted_once";

/// How `cargo xtask kill9` is called.
#[derive(Args)]
pub(crate) struct Options {
    /// How many processes are killed in all.
    #[arg(long, default_value_t = 100)]
    kills: u64,
    /// The seed of the leagues, and of who is killed and when.
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

/// Runs the test, which prints the counts.
pub(crate) fn kill9(options: &Options) -> anyhow::Result<ExitCode> {
    println!("building the processes to be killed…");
    let status = options
        .command()
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join(".."))
        .stdin(Stdio::null())
        .status()
        .context("could not start `cargo test`")?;
    Ok(if status.success() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

impl Options {
    fn command(&self) -> Command {
        let mut command = Command::new("cargo");
        command
            .args(["test", "--quiet", "--package", "league"])
            .args(["--test", "end_to_end", "--", "--nocapture", "--exact", TEST])
            .env("LEAGUE_KILLS", self.kills.to_string())
            .env("LEAGUE_KILL_SEED", self.seed.to_string());
        command
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;
    use std::fs;

    use super::*;

    #[test]
    fn the_test_is_told_what_was_asked_for() {
        let (kills, seed) = (7, 3);
        let command = Options { kills, seed }.command();
        let told: Vec<_> = command.get_envs().collect();
        let told = told.into_iter().map(|(name, value)| (name, value.unwrap()));
        let expected = [("LEAGUE_KILLS", "7"), ("LEAGUE_KILL_SEED", "3")];
        assert!(told.eq(expected.map(|(name, value)| (OsStr::new(name), OsStr::new(value)))));
    }

    #[test]
    fn the_test_is_there() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let (module, name) = TEST.split_once("::").unwrap();
        let file = format!("crates/league/tests/end_to_end/{module}.rs");
        let text = fs::read_to_string(root.join(file)).unwrap();
        assert!(text.contains(&format!("#[test]\nfn {name}()")));
    }
}
