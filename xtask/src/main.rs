//! The chores of the repository, one subcommand each: `cargo xtask --help`.
#![expect(
    clippy::print_stdout,
    reason = "a chore is run by a person who reads its output"
)]

mod bench;
mod browser;
mod campaign;
mod conformance;
mod interop;
mod npm;
mod package;
mod postgres;
mod shell;
mod size;
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
    Postgres,
    /// Package the crates for programs outside, and build from the packages offline.
    Package,
    /// Measure what a match costs, against bare hyper and against another build.
    Bench(bench::Options),
    /// Look for failures in a long run.
    #[command(subcommand)]
    Campaign(campaign::Campaign),
    /// Count the lines of code, and what else may only fall.
    Size(size::Options),
}

fn main() -> anyhow::Result<ExitCode> {
    match CommandLine::parse().chore {
        Chore::Test(options) => test::test(&options),
        Chore::Conformance(options) => conformance::conformance(&options),
        Chore::Browser(options) => browser::browser(&options),
        Chore::Interop => interop::interop(),
        Chore::Postgres => postgres::run_tests(&[], &[]),
        Chore::Package => package::package(),
        Chore::Bench(options) => bench::bench(&options),
        Chore::Campaign(campaign) => campaign.run(),
        Chore::Size(options) => size::size(&options),
    }
}
