//! The chores of the repository, one subcommand each: `cargo xtask --help`.
//!
//! Each chore has a file of its own; this one only reads the command line.
#![expect(
    clippy::print_stdout,
    reason = "a chore is run by a person who reads its output"
)]

mod browser;
mod conformance;
mod cost;
mod interop;
mod kill9;
mod packages;
mod places;
mod run;
mod sim;
mod steps;
mod tally;
mod test;
mod viewers;

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
    /// Have the official judges of MCP look at our servers.
    Conformance(conformance::Options),
    /// Look at the pages of a league in a real browser.
    Browser(browser::Options),
    /// Measure what a call costs its server, in each form of calling.
    Cost(cost::Options),
    /// Measure what viewers cost a league, and what its pages weigh.
    Viewers(viewers::Options),
    /// Run leagues in virtual time with everything going wrong that can.
    Sim(sim::Options),
    /// Kill agents of real leagues at random, and see that nothing is lost.
    Kill9(kill9::Options),
    /// Play leagues with players of other people's libraries; Python environments are made for them.
    Interop,
    /// Walk through the schedule of a large league and show time and memory.
    Schedule(sim::Size),
}

fn main() -> anyhow::Result<ExitCode> {
    match CommandLine::parse().chore {
        Chore::Test(options) => test::test(&options),
        Chore::Conformance(options) => conformance::conformance(&options),
        Chore::Browser(options) => browser::browser(&options),
        Chore::Cost(options) => cost::cost(&options),
        Chore::Viewers(options) => viewers::viewers(&options),
        Chore::Sim(options) => sim::sim(&options),
        Chore::Kill9(options) => kill9::kill9(&options),
        Chore::Interop => interop::interop(),
        Chore::Schedule(size) => sim::schedule(&size),
    }
}
