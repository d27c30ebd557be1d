//! The chores that run a program of ours and show its figures: `cost`, `viewers`.
//!
//! The programs are examples and tests of other packages, so that the chores stay quick to build.

use std::process::ExitCode;

use clap::Args;

use crate::shell::{build_league, hand_over, program};

#[derive(Args)]
pub(crate) struct Cost {
    /// Number of rounds; in each of them every server is called in turn.
    #[arg(long, default_value_t = 7)]
    rounds: u32,
    /// Number of calls for each server, form and round.
    #[arg(long, default_value_t = 40_000)]
    calls: u32,
    /// Also count instructions; needs `valgrind`.
    #[arg(long)]
    instructions: bool,
}

#[derive(Args)]
pub(crate) struct Viewers {
    /// Number of viewers.
    #[arg(long, default_value_t = 1_000)]
    viewers: u32,
    /// Number of rounds; in each of them the league is played without and with viewers.
    #[arg(long, default_value_t = 5)]
    rounds: u32,
    /// Number of players in the league.
    #[arg(long, default_value_t = 24)]
    players: u32,
}

impl Cost {
    pub(crate) fn run(&self) -> anyhow::Result<ExitCode> {
        let mut arguments = vec!["measure".to_owned()];
        arguments.extend(flags(&[
            ("--rounds", self.rounds.into()),
            ("--calls", self.calls.into()),
        ]));
        arguments.extend(self.instructions.then(|| "--instructions".to_owned()));
        beside_league("cost", &arguments)
    }
}

impl Viewers {
    pub(crate) fn run(&self) -> anyhow::Result<ExitCode> {
        let arguments = flags(&[
            ("--viewers", self.viewers.into()),
            ("--rounds", self.rounds.into()),
            ("--players", self.players.into()),
        ]);
        beside_league("viewers", &arguments)
    }
}

pub(crate) fn flags(pairs: &[(&str, u64)]) -> Vec<String> {
    pairs
        .iter()
        .flat_map(|(name, value)| [(*name).to_owned(), value.to_string()])
        .collect()
}

/// Builds the release binary, then an example that starts it, and runs the example.
pub(crate) fn beside_league(name: &str, arguments: &[String]) -> anyhow::Result<ExitCode> {
    build_league(name, &["--release"])?;
    example("release", "league", name, arguments)
}

pub(crate) fn example(
    profile: &str,
    package: &str,
    name: &str,
    arguments: &[String],
) -> anyhow::Result<ExitCode> {
    println!("building `{name}`…");
    hand_over(
        program("cargo")
            .args(["run", "--quiet", "--profile", profile, "--package", package])
            .args(["--example", name, "--"])
            .args(arguments),
    )
}
