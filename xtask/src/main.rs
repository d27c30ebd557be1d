//! The chores of the repository, one subcommand each: `cargo xtask --help`.
#![expect(
    clippy::print_stdout,
    reason = "a chore is run by a person who reads its output"
)]

mod browser;
mod campaign;
mod conformance;
mod interop;
mod measure;
mod npm;
mod package;
mod postgres;
mod shell;
mod test;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

#[derive(Parser)]
#[command(name = "cargo xtask", about = "The chores of the repository")]
struct CommandLine {
    #[command(subcommand)]
    chore: Chore,
}

#[derive(Subcommand)]
enum Chore {
    /// Check everything that must hold before a change goes in.
    Test(test::Options),
    /// Run the official MCP conformance suite and the Inspector against our servers.
    Conformance(conformance::Options),
    /// Test the pages of a league in a real browser.
    Browser(browser::Options),
    /// Play leagues with players built on other libraries; makes their Python environments.
    Interop,
    /// Play leagues on a real PostgreSQL server, which is killed, cut off and filled up.
    Postgres(postgres::Options),
    /// Package the crates for programs outside, and build from the packages offline.
    Package,
    /// Measure the cost of a call for its server, in each call style.
    Cost(measure::Cost),
    /// Measure the cost of viewers for a league, and the size of its pages.
    Viewers(measure::Viewers),
    /// Look for failures in a long run.
    #[command(subcommand)]
    Campaign(campaign::Campaign),
}

fn main() -> anyhow::Result<ExitCode> {
    match CommandLine::parse().chore {
        Chore::Test(options) => test::test(&options),
        Chore::Conformance(options) => conformance::conformance(&options),
        Chore::Browser(options) => browser::browser(&options),
        Chore::Interop => interop::interop(),
        Chore::Postgres(options) => postgres::postgres(&options),
        Chore::Package => package::package(),
        Chore::Cost(options) => options.run(),
        Chore::Viewers(options) => options.run(),
        Chore::Campaign(campaign) => campaign.run(),
    }
}
