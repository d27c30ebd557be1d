//! `cargo xtask browser`: tests the pages of a league in a real browser.
//!
//! The tests are `browser/*.test.mjs`, run by Node's own runner. This file builds the program,
//! finds or installs the browser and the packages, and passes their places on.

use std::env;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use anyhow::{Context, bail};
use clap::Args;

use crate::npm;
use crate::shell::{build_league, hand_over, program, root, target};

/// Limit for a file of tests in milliseconds; none comes near it, on a busy machine either.
const FILE_TIMEOUT: u32 = 600_000;
/// Number of files run at once: they wait more than they work.
const CONCURRENCY: u32 = 2;

/// Environment variable that names the browser to use.
const CHROMIUM_VARIABLE: &str = "LEAGUE_CHROMIUM";

/// The names of the browser in packages.
const CHROMIUM_NAMES: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];

#[derive(Args)]
pub(crate) struct Options {
    /// Write screenshots into this folder instead of running tests.
    #[arg(long, value_name = "DIR")]
    shots: Option<PathBuf>,
    /// Run only the tests whose names contain this text.
    #[arg(long, value_name = "TEXT", conflicts_with = "shots")]
    only: Option<String>,
}

/// Installs missing tools, then runs the tests or takes the pictures.
pub(crate) fn browser(options: &Options) -> anyhow::Result<ExitCode> {
    build_league("player", &[])?;
    let folder = target().join("browser");
    npm::install(&root().join("browser/package.json"), &folder)?;
    let chromium = find_or_install_chromium()?;
    let mut node = match &options.shots {
        Some(shots) => pictures(shots)?,
        None => tests(options.only.as_deref())?,
    };
    hand_over(
        node.env("LEAGUE_BIN", target().join("debug/league"))
            .env("LEAGUE_BROWSER_PACKAGES", &folder)
            .env(CHROMIUM_VARIABLE, &chromium),
    )
}

fn tests(only: Option<&str>) -> anyhow::Result<Command> {
    let mut node = program("node");
    node.args(["--test", "--test-reporter", "spec"])
        .arg(format!("--test-timeout={FILE_TIMEOUT}"))
        .arg(format!("--test-concurrency={CONCURRENCY}"));
    if let Some(text) = only {
        node.arg(format!("--test-name-pattern={}", escaped(text)));
    }
    node.args(files(&root().join("browser"))?);
    Ok(node)
}

fn pictures(shots: &Path) -> anyhow::Result<Command> {
    fs::create_dir_all(shots).with_context(|| format!("could not make {shots:?}"))?;
    let mut node = program("node");
    node.arg("browser/shots.mjs").arg(fs::canonicalize(shots)?);
    Ok(node)
}

fn files(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).with_context(|| format!("could not read {folder:?}"))? {
        let path = entry?.path();
        if path.to_string_lossy().ends_with(".test.mjs") {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

/// Escapes a text for use as a pattern.
fn escaped(text: &str) -> String {
    let mut pattern = String::new();
    for letter in text.chars() {
        if !letter.is_alphanumeric() && !letter.is_whitespace() && letter.is_ascii() {
            pattern.push('\\');
        }
        pattern.push(letter);
    }
    pattern
}

/// Returns the browser's path; installs it with `apt-get` if we are root.
fn find_or_install_chromium() -> anyhow::Result<PathBuf> {
    if let Some(chosen) = env::var_os(CHROMIUM_VARIABLE) {
        let chosen = PathBuf::from(chosen);
        if !chosen.is_file() {
            bail!("`{CHROMIUM_VARIABLE}` names {chosen:?}, which is not a file");
        }
        return Ok(chosen);
    }
    let path = env::var_os("PATH").unwrap_or_default();
    if let Some(chromium) = find_chromium(&path) {
        return Ok(chromium);
    }
    install_chromium()?;
    find_chromium(&path).context("`apt-get` ran, but `chromium` is not on the PATH")
}

fn find_chromium(path: &OsStr) -> Option<PathBuf> {
    let folders: Vec<PathBuf> = env::split_paths(path).collect();
    let places = CHROMIUM_NAMES
        .iter()
        .flat_map(|name| folders.iter().map(move |folder| folder.join(name)));
    places.into_iter().find(|place| place.is_file())
}

fn install_chromium() -> anyhow::Result<()> {
    if !is_root() || !Path::new("/usr/bin/apt-get").exists() {
        bail!(
            "Chromium is not installed\nhint: install the package `chromium` (Debian, Ubuntu: \
             `sudo apt-get install --no-install-recommends chromium`), or name a Chromium or \
             Chrome with `{CHROMIUM_VARIABLE}=/path/to/it`"
        );
    }
    println!("installing Chromium with `apt-get`…");
    apt_get(&["update", "--quiet"])?;
    apt_get(&[
        "install",
        "--quiet",
        "--yes",
        "--no-install-recommends",
        "chromium",
    ])
}

pub(crate) fn apt_get(arguments: &[&str]) -> anyhow::Result<()> {
    let status = Command::new("apt-get")
        .args(arguments)
        .env("DEBIAN_FRONTEND", "noninteractive")
        .stdin(Stdio::null())
        // Standard output is for the results of tests alone.
        .stdout(Stdio::null())
        .status()
        .context("could not start `apt-get`")?;
    if !status.success() {
        bail!("`apt-get {}` failed: {status}", arguments.join(" "));
    }
    Ok(())
}

pub(crate) fn is_root() -> bool {
    let id = Command::new("id").arg("-u").output();
    id.is_ok_and(|id| id.stdout.trim_ascii() == b"0")
}
