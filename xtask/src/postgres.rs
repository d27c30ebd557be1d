//! `cargo xtask postgres`: leagues on a real PostgreSQL server.
//!
//! Finds the server or installs it, starts one with a data directory of its own on a free port, and
//! runs the tests in `crates/league/tests/postgres`. The server is stopped in any case.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, bail};

use crate::browser::{apt_get, is_root};
use crate::shell::{hand_over, program};

use server::Server;

/// What the tests that kill servers share with this chore.
#[path = "../../crates/league/tests/postgres/server.rs"]
#[expect(dead_code, reason = "the tests use all of it")]
mod server;

/// How many tests run at once.
const AT_ONCE: &str = "6";
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

/// Runs tests of the target with these arguments and settings.
pub(crate) fn run_tests(arguments: &[&str], settings: &[(&str, u64)]) -> anyhow::Result<ExitCode> {
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
            .args(["--", "--nocapture", "--test-threads", AT_ONCE])
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
