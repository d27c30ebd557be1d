//! `cargo xtask postgres`: leagues on a real PostgreSQL server.
//!
//! Finds the server or installs it, starts one with a data directory of its own on a free port, and
//! runs the tests in `crates/league/tests/postgres`. The server is stopped in any case.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, bail};
use clap::Args;

use crate::browser::{apt_get, is_root};
use crate::shell::{hand_over, program};

use server::Server;

/// What the tests that kill servers share with this chore.
#[path = "../../crates/league/tests/postgres/server.rs"]
#[expect(dead_code, reason = "the tests use all of it")]
mod server;

/// How many tests run at once.
const AT_ONCE: u32 = 6;
/// Where Debian and Ubuntu keep the programs of each version.
const VERSIONS: &str = "/usr/lib/postgresql";
/// The programs that the tests run.
const PROGRAMS: [&str; 6] = [
    "postgres",
    "initdb",
    "psql",
    "pg_isready",
    "pg_ctl",
    "pg_basebackup",
];

/// The tests that print figures; their usual sizes are small.
const FIGURES: [&str; 5] = [
    "idle::batches_of_any_size_are_appended_by_one_writer_and_by_four",
    "idle::host_of_idle_leagues_asks_for_their_leases_and_for_the_list",
    "idle::idle_league_asks_the_server_for_nothing_but_its_lease",
    "idle::standby_holds_the_league_soon_however_the_first_manager_goes_away",
    "speed::leagues_of_files_and_of_both_kinds_in_the_database_are_played_in_turn",
];

#[derive(Args)]
pub(crate) struct Options {
    /// Measure instead, in a release build: matches a second against files, appended lines, takeovers.
    #[arg(long)]
    figures: bool,
    /// How often each league of the figures is played.
    #[arg(long, default_value_t = 5)]
    passes: u64,
    /// Number of players in these leagues.
    #[arg(long, default_value_t = 32)]
    players: u64,
}

/// Starts a server and runs the tests, or those that print figures at their full size.
pub(crate) fn postgres(options: &Options) -> anyhow::Result<ExitCode> {
    if !options.figures {
        return run_tests(&[], &[]);
    }
    let settings = [
        ("LEAGUE_POSTGRES_PASSES", options.passes),
        ("LEAGUE_POSTGRES_PLAYERS", options.players),
        ("LEAGUE_POSTGRES_BATCHES", 2_000),
        ("LEAGUE_POSTGRES_TAKEOVERS", 5),
    ];
    run(
        &["--release"],
        &[&["--exact"], &FIGURES[..]].concat(),
        1,
        &settings,
    )
}

/// Runs tests of the target with these arguments and settings.
pub(crate) fn run_tests(arguments: &[&str], settings: &[(&str, u64)]) -> anyhow::Result<ExitCode> {
    run(&[], arguments, AT_ONCE, settings)
}

fn run(
    profile: &[&str],
    arguments: &[&str],
    at_once: u32,
    settings: &[(&str, u64)],
) -> anyhow::Result<ExitCode> {
    let bin = find_or_install()?;
    let server = Server::start(&bin).context("could not start a PostgreSQL server")?;
    let settings = settings.iter();
    let left_out: &[&str] = if is_root() {
        &[]
    } else {
        println!("left out: the test of a full disk; only root may mount one");
        &["--skip", "full::"]
    };
    hand_over(
        program("cargo")
            // The whole workspace: another choice of packages would build most of it again.
            .args(["test", "--workspace", "--test", "postgres"])
            .args(profile)
            .args(["--", "--nocapture", "--test-threads", &at_once.to_string()])
            .args(arguments)
            .args(left_out)
            .env("LEAGUE_TEST_POSTGRES", server.url("postgres"))
            .env("LEAGUE_TEST_POSTGRES_BIN", &bin)
            .envs(settings.map(|(name, value)| (*name, value.to_string()))),
    )
}

/// The folder of the programs; installs them with `apt-get` if we are root.
fn find_or_install() -> anyhow::Result<PathBuf> {
    if let Some(bin) = find() {
        return Ok(bin);
    }
    if !is_root() || !Path::new("/usr/bin/apt-get").exists() {
        bail!(
            "PostgreSQL is not installed: no folder of the PATH, and none below `{VERSIONS}`, holds \
             `{}`\nhint: install the package `postgresql` (Debian, Ubuntu: `sudo apt-get install \
             --no-install-recommends postgresql`)",
            PROGRAMS.join("`, `")
        );
    }
    println!("installing PostgreSQL with `apt-get`…");
    apt_get(&["update", "--quiet"])?;
    let install = ["install", "--quiet", "--yes", "--no-install-recommends"];
    apt_get(&[&install[..], &["postgresql"]].concat())?;
    find().with_context(|| format!("`apt-get` ran, but `{VERSIONS}` holds no server"))
}

/// The folder that holds all programs: one of the newest version, else one of the PATH.
fn find() -> Option<PathBuf> {
    let versions = fs::read_dir(VERSIONS).into_iter().flatten().flatten();
    let mut versions: Vec<PathBuf> = versions.map(|version| version.path()).collect();
    let number = |version: &PathBuf| {
        let name = version.file_name()?.to_str()?;
        name.parse::<u32>().ok()
    };
    versions.sort_by_key(number);
    let newest_first = versions.iter().rev().map(|version| version.join("bin"));
    let path = env::var_os("PATH").unwrap_or_default();
    let folders: Vec<PathBuf> = newest_first.chain(env::split_paths(&path)).collect();
    let holds_all = |folder: &PathBuf| PROGRAMS.iter().all(|name| folder.join(name).is_file());
    folders.into_iter().find(holds_all)
}
