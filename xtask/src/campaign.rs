//! Long runs that look for failures, by name: `cargo xtask campaign NAME`.
//!
//! A campaign takes as long as it is told and prints what it found; `cargo xtask test` runs the short
//! forms. A new campaign is a variant, its options, and how it runs.

use std::process::ExitCode;

use clap::{Args, Subcommand};

use crate::measure::{beside_league, example, flags};
use crate::shell::{hand_over, program};

/// The test that kills processes.
const KILL_TEST: &str = "end_to_end::kills::killed_agents_return_and_every_match_counts_once";

/// The test that damages journals.
const DAMAGE_TEST: &str = "end_to_end::lost::no_damage_of_a_journal_changes_an_acknowledged_result";

#[derive(Subcommand)]
pub(crate) enum Campaign {
    /// Play leagues in virtual time with every kind of fault.
    Sim(Sim),
    /// Kill agents of real leagues at random, and check that nothing is lost.
    Kill9(Kill9),
    /// Damage the journals of killed managers, and check that no acknowledged result changes.
    Damage(Damage),
    /// Flood the agents of a real league, and compare what honest callers notice.
    Flood(Flood),
}

impl Campaign {
    pub(crate) fn run(&self) -> anyhow::Result<ExitCode> {
        match self {
            Self::Sim(options) => options.run(),
            Self::Kill9(options) => options.run(),
            Self::Damage(options) => options.run(),
            Self::Flood(options) => options.run(),
        }
    }
}

#[derive(Args)]
pub(crate) struct Sim {
    /// Stop after the league that reaches this number of matches.
    #[arg(long, default_value_t = 1_000_000)]
    matches: u64,
    /// Seed of everything.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Play without faults.
    #[arg(long)]
    no_faults: bool,
    /// Run only this league of the seed.
    #[arg(long)]
    league: Option<u64>,
}

#[derive(Args)]
pub(crate) struct Kill9 {
    /// Number of processes to kill.
    #[arg(long, default_value_t = 100)]
    kills: u64,
    /// Seed of the leagues, and of which process is killed and when.
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

#[derive(Args)]
pub(crate) struct Damage {
    /// Number of damages.
    #[arg(long, default_value_t = 1_000)]
    damages: u64,
    /// Seed of the leagues and of the damages.
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

#[derive(Args)]
pub(crate) struct Flood {
    /// Number of peers that flood, and of peers that only hold a connection.
    #[arg(long, default_value_t = 1_000)]
    peers: u32,
    /// Number of rounds; in each of them the league is played beside the flood and in it.
    #[arg(long, default_value_t = 5)]
    rounds: u32,
    /// Seconds that are measured each time.
    #[arg(long, default_value_t = 10)]
    seconds: u32,
    /// Milliseconds that a flooding peer pauses between two calls.
    #[arg(long, default_value_t = 100)]
    pause: u32,
}

impl Sim {
    fn run(&self) -> anyhow::Result<ExitCode> {
        let mut arguments = flags(&[("--matches", self.matches), ("--seed", self.seed)]);
        arguments.extend(self.no_faults.then(|| "--no-faults".to_owned()));
        if let Some(league) = self.league {
            arguments.extend(flags(&[("--league", league)]));
        }
        example("figures", "league-simulation", "league-sim", &arguments)
    }
}

impl Kill9 {
    fn run(&self) -> anyhow::Result<ExitCode> {
        let settings = [
            ("LEAGUE_KILLS", self.kills),
            ("LEAGUE_KILL_SEED", self.seed),
        ];
        process_test(KILL_TEST, &settings)
    }
}

impl Damage {
    fn run(&self) -> anyhow::Result<ExitCode> {
        let damages = ("LEAGUE_DAMAGES", self.damages);
        process_test(DAMAGE_TEST, &[damages, ("LEAGUE_DAMAGE_SEED", self.seed)])
    }
}

impl Flood {
    fn run(&self) -> anyhow::Result<ExitCode> {
        let arguments = flags(&[
            ("--peers", self.peers.into()),
            ("--rounds", self.rounds.into()),
            ("--seconds", self.seconds.into()),
            ("--pause", self.pause.into()),
        ]);
        beside_league("flood", &arguments)
    }
}

/// Runs one test of real processes with these settings.
fn process_test(name: &str, settings: &[(&str, u64)]) -> anyhow::Result<ExitCode> {
    let settings = settings.iter();
    hand_over(
        program("cargo")
            .args(["test", "--quiet", "--package", "league"])
            .args(["--test", "processes"])
            .args(["--", "--nocapture", "--exact", name])
            .envs(settings.map(|(name, value)| (*name, value.to_string()))),
    )
}
