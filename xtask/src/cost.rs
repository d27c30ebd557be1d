//! `cargo xtask cost`: what a call costs its server, against a handler that does the bare minimum.
//!
//! The example `cost` of the package `league` does the work; here it is built, together with the
//! agents that it also calls, and told how long to go on.

use std::path::Path;
use std::process::{Command, ExitCode, Stdio};

use anyhow::{Context, bail};
use clap::Args;

use crate::sim::example;

/// How `cargo xtask cost` is called.
#[derive(Args)]
pub(crate) struct Options {
    /// How many rounds there are; in each of them every server is called in turn.
    #[arg(long, default_value_t = 7)]
    rounds: u32,
    /// How many calls each server answers in each form and round.
    #[arg(long, default_value_t = 40_000)]
    calls: u32,
    /// Also count instructions; needs `valgrind`.
    #[arg(long)]
    instructions: bool,
}

/// Builds the servers and measures; fails if a call costs more than it may.
pub(crate) fn cost(options: &Options) -> anyhow::Result<ExitCode> {
    println!("building the servers…");
    beside_league("cost", &options.arguments())
}

/// Builds the program and an example that starts it, and runs the example, in release.
pub(crate) fn beside_league(name: &str, arguments: &[String]) -> anyhow::Result<ExitCode> {
    let status = Command::new("cargo")
        .args(["build", "--quiet", "--release", "--package", "league"])
        .args(["--bin", "league", "--example", name])
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join(".."))
        .stdin(Stdio::null())
        .status()
        .context("could not start `cargo build`")?;
    if !status.success() {
        bail!("`league` and `{name}` could not be built");
    }
    example("release", "league", name, arguments)
}

impl Options {
    fn arguments(&self) -> Vec<String> {
        let (rounds, calls) = (self.rounds.to_string(), self.calls.to_string());
        let mut words = vec!["measure", "--rounds", &rounds, "--calls", &calls];
        words.extend(self.instructions.then_some("--instructions"));
        words.into_iter().map(str::to_owned).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_measuring_is_told_what_was_asked_for() {
        let options = Options {
            rounds: 3,
            calls: 10,
            instructions: true,
        };
        let words = options.arguments().join(" ");
        assert_eq!(words, "measure --rounds 3 --calls 10 --instructions");
    }
}
