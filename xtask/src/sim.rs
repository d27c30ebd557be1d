//! `cargo xtask sim`: runs leagues in virtual time, in release, and shows the figures.
//!
//! The simulation is a program of its own, so that the chores stay quick to build.

use std::path::Path;
use std::process::{Command, ExitCode, Stdio};

use anyhow::Context;
use clap::Args;

/// How `cargo xtask sim` is called.
#[derive(Args)]
pub(crate) struct Options {
    /// End with the league that brings it to so many matches.
    #[arg(long, default_value_t = 1_000_000)]
    matches: u64,
    /// The seed of everything.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Let nothing fail.
    #[arg(long)]
    no_faults: bool,
    /// Run this league of the seed and no other.
    #[arg(long)]
    league: Option<u64>,
}

/// Builds the simulation and runs it; its last word is ours.
pub(crate) fn sim(options: &Options) -> anyhow::Result<ExitCode> {
    let status = Command::new("cargo")
        .args([
            "run",
            "--quiet",
            "--release",
            "--package",
            "league-simulation",
        ])
        .args(["--example", "league-sim", "--"])
        .args(options.arguments())
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join(".."))
        .stdin(Stdio::null())
        .status()
        .context("could not start `cargo run` for the simulation")?;
    Ok(if status.success() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

impl Options {
    fn arguments(&self) -> Vec<String> {
        let mut words = vec![
            "--matches".to_owned(),
            self.matches.to_string(),
            "--seed".to_owned(),
            self.seed.to_string(),
        ];
        if self.no_faults {
            words.push("--no-faults".to_owned());
        }
        if let Some(league) = self.league {
            words.extend(["--league".to_owned(), league.to_string()]);
        }
        words
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_simulation_is_told_what_was_asked_for() {
        let options = Options {
            matches: 5,
            seed: 7,
            no_faults: true,
            league: Some(3),
        };
        let words = options.arguments().join(" ");
        assert_eq!(words, "--matches 5 --seed 7 --no-faults --league 3");
    }
}
