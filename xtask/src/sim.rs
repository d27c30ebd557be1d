//! `cargo xtask sim` and `cargo xtask schedule`: programs that show figures, built to be quick.
//!
//! They are programs of their own, so that the chores stay quick to build.

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

/// How `cargo xtask schedule` is called.
#[derive(Args)]
pub(crate) struct Size {
    /// How many players meet.
    #[arg(long, default_value_t = 10_000)]
    players: u32,
}

/// Builds the simulation and runs it; its last word is ours.
pub(crate) fn sim(options: &Options) -> anyhow::Result<ExitCode> {
    println!("building the simulation…");
    let arguments = options.arguments();
    example("figures", "league-simulation", "league-sim", &arguments)
}

/// Builds the walk through a schedule and runs it.
pub(crate) fn schedule(size: &Size) -> anyhow::Result<ExitCode> {
    println!("building the schedule…");
    let arguments = [size.players.to_string()];
    example("figures", "league-core", "schedule", &arguments)
}

/// Runs an example of a package, built by a profile.
pub(crate) fn example(
    profile: &str,
    package: &str,
    name: &str,
    arguments: &[String],
) -> anyhow::Result<ExitCode> {
    let status = Command::new("cargo")
        .args(["run", "--quiet", "--profile", profile])
        .args(["--package", package])
        .args(["--example", name, "--"])
        .args(arguments)
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join(".."))
        .stdin(Stdio::null())
        .status()
        .with_context(|| format!("could not start `cargo run` for `{name}`"))?;
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
