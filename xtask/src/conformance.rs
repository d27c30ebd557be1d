//! `cargo xtask conformance`: our servers before the official judges of MCP.
//!
//! The conformance suite is run in both revisions against the fixture, which must pass everything
//! that is scored, and against a real manager, referee and player, which may fail only what the
//! files in `interop/node` list. The Inspector then checks the tools of the agents in both eras.

mod bounded;
mod judges;
mod servers;

use std::path::Path;
use std::process::ExitCode;

use clap::Args;

use crate::places::target;
use judges::Judges;
use servers::Servers;

/// How `cargo xtask conformance` is called.
#[derive(Args)]
pub(crate) struct Options {
    /// Keep the output of every judge under `target/interop/verdicts`.
    #[arg(long)]
    keep: bool,
}

/// A revision of MCP, and how many scenarios for servers it scores.
struct Revision {
    name: &'static str,
    scored: usize,
}

const REVISIONS: [Revision; 2] = [
    Revision {
        name: "2026-07-28",
        scored: 37,
    },
    Revision {
        name: "2025-11-25",
        scored: 30,
    },
];

/// What a judge said.
struct Verdict {
    server: &'static str,
    about: String,
    figures: String,
    holds: bool,
    /// What the judge printed.
    said: String,
}

/// Runs all judges and prints a table; the last line counts the verdicts.
pub(crate) fn conformance(options: &Options) -> anyhow::Result<ExitCode> {
    let judges = Judges::fetch(&target().join("interop"))?;
    let servers = Servers::start(&target())?;
    let mut verdicts = Vec::new();
    for server in servers.all() {
        for revision in &REVISIONS {
            verdicts.push(judges.suite(server, revision)?);
        }
    }
    for server in servers.agents() {
        for era in ["legacy", "modern"] {
            verdicts.push(judges.tools(server, era)?);
            verdicts.push(judges.call(server, era)?);
        }
    }
    if options.keep {
        keep(&verdicts, &target().join("interop/verdicts"))?;
    }
    Ok(tell(&verdicts))
}

fn tell(verdicts: &[Verdict]) -> ExitCode {
    println!("\n{:<10}{:<34}verdict", "server", "judged by");
    for verdict in verdicts {
        let mark = if verdict.holds { "" } else { "  <-- FAILED" };
        let (server, about) = (verdict.server, &verdict.about);
        println!("{server:<10}{about:<34}{}{mark}", verdict.figures);
    }
    let failed = verdicts.iter().filter(|verdict| !verdict.holds);
    for verdict in failed.clone() {
        println!(
            "\n--- {} {}\n{}",
            verdict.server, verdict.about, verdict.said
        );
    }
    let failed = failed.count();
    let passed = verdicts.len() - failed;
    let word = if failed == 0 { "ok" } else { "FAILED" };
    println!("\ntest result: {word}. {passed} passed; {failed} failed; verdicts of the judges");
    if failed == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

fn keep(verdicts: &[Verdict], folder: &Path) -> anyhow::Result<()> {
    std::fs::create_dir_all(folder)?;
    for verdict in verdicts {
        let name = format!("{} {}.log", verdict.server, verdict.about).replace([' ', '/'], "-");
        std::fs::write(folder.join(name), &verdict.said)?;
    }
    Ok(())
}
