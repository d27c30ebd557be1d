//! `cargo xtask kill9`: leagues of real processes, any of which is killed at any moment.
//!
//! The test of the same content in `crates/league/tests/end_to_end/kills.rs` does the work; here
//! it is told how often and by which seed.

use std::path::Path;
use std::process::{Command, ExitCode, Stdio};

use anyhow::Context;
use clap::Args;

/// The test that kills.
const TEST: &str =
    "end_to_end::kills::whoever_is_killed_comes_back_and_every_match_is_counted_once";

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
            .args(["--test", "processes", "--", "--nocapture", "--exact", TEST])
            .env("LEAGUE_KILLS", self.kills.to_string())
            .env("LEAGUE_KILL_SEED", self.seed.to_string());
        command
    }
}
