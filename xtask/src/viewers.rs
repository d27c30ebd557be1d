//! `cargo xtask viewers`: what a thousand viewers cost a league, and what they are sent.
//!
//! The example `viewers` of the package `league` does the work; here it is built, together with
//! the league that it starts, and told how many are to look.

use std::process::ExitCode;

use clap::Args;

use crate::cost::beside_league;

/// How `cargo xtask viewers` is called.
#[derive(Args)]
pub(crate) struct Options {
    /// How many viewers there are.
    #[arg(long, default_value_t = 1_000)]
    viewers: u32,
    /// How many rounds there are; in each of them the league is played without and with viewers.
    #[arg(long, default_value_t = 5)]
    rounds: u32,
    /// How many players the league has.
    #[arg(long, default_value_t = 24)]
    players: u32,
}

/// Builds and measures; fails if a viewer misses anything.
pub(crate) fn viewers(options: &Options) -> anyhow::Result<ExitCode> {
    println!("building the league and its viewers…");
    beside_league("viewers", &options.arguments())
}

impl Options {
    fn arguments(&self) -> Vec<String> {
        let words = [
            ("--viewers", self.viewers),
            ("--rounds", self.rounds),
            ("--players", self.players),
        ];
        let words = words.map(|(name, count)| [name.to_owned(), count.to_string()]);
        words.into_iter().flatten().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_measuring_is_told_what_was_asked_for() {
        let options = Options {
            viewers: 10,
            rounds: 3,
            players: 6,
        };
        let words = options.arguments().join(" ");
        assert_eq!(words, "--viewers 10 --rounds 3 --players 6");
    }
}
