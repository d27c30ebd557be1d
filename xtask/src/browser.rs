//! `cargo xtask browser`: the pages of a league in a real browser.
//!
//! The tests are in `browser/*.test.mjs` and are run by Node's own runner. Here the program is
//! built, packages and browser are found or fetched, and the tests are told where all that is.

mod chromium;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use anyhow::{Context, bail};
use clap::Args;

use crate::packages;
use crate::places::{root, target};

/// How long a file of tests may take, in milliseconds; none comes near it.
const LONGEST_FILE: u32 = 300_000;
/// How many files are run at once: they wait more than they work.
const AT_ONCE: u32 = 2;

/// How `cargo xtask browser` is called.
#[derive(Args)]
pub(crate) struct Options {
    /// Write screenshots into this folder, and run no test.
    #[arg(long, value_name = "DIR")]
    shots: Option<PathBuf>,
    /// Run the tests alone whose names hold this text.
    #[arg(long, value_name = "TEXT", conflicts_with = "shots")]
    only: Option<String>,
}

/// Makes what is missing, then runs the tests or takes the pictures.
pub(crate) fn browser(options: &Options) -> anyhow::Result<ExitCode> {
    build()?;
    let folder = target().join("browser");
    packages::fetch(&root().join("browser/package.json"), &folder)?;
    let chromium = chromium::get()?;
    let mut node = match &options.shots {
        Some(shots) => pictures(shots)?,
        None => tests(options.only.as_deref())?,
    };
    let status = node
        .env("LEAGUE_BIN", target().join("debug/league"))
        .env("LEAGUE_BROWSER_PACKAGES", &folder)
        .env(chromium::CHOICE, &chromium)
        .current_dir(root())
        .stdin(Stdio::null())
        .status()
        .context("could not start `node`; install Node.js 20 or later")?;
    Ok(if status.success() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

fn build() -> anyhow::Result<()> {
    let status = Command::new("cargo")
        .args(["build", "--quiet", "--package", "league", "--bin", "league"])
        .current_dir(root())
        .stdin(Stdio::null())
        .status()
        .context("could not start `cargo build`")?;
    if !status.success() {
        bail!("`league` could not be built");
    }
    Ok(())
}

fn tests(only: Option<&str>) -> anyhow::Result<Command> {
    let mut node = Command::new("node");
    node.args(["--test", "--test-reporter", "spec"])
        .arg(format!("--test-timeout={LONGEST_FILE}"))
        .arg(format!("--test-concurrency={AT_ONCE}"));
    if let Some(text) = only {
        node.arg(format!("--test-name-pattern={}", literally(text)));
    }
    node.args(files(&root().join("browser"))?);
    Ok(node)
}

fn pictures(shots: &Path) -> anyhow::Result<Command> {
    fs::create_dir_all(shots).with_context(|| format!("could not make {shots:?}"))?;
    let mut node = Command::new("node");
    node.arg("browser/shots.mjs").arg(fs::canonicalize(shots)?);
    Ok(node)
}

/// The files with tests, in the order of their names.
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

/// A pattern that finds this text and nothing else.
fn literally(text: &str) -> String {
    let mut pattern = String::new();
    for letter in text.chars() {
        if !letter.is_alphanumeric() && !letter.is_whitespace() && letter.is_ascii() {
            pattern.push('\\');
        }
        pattern.push(letter);
    }
    pattern
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_of_tests_is_run_and_nothing_else() {
        let files = files(&root().join("browser")).unwrap();
        assert!(files.len() > 1);
        assert!(files.is_sorted());
        let support = |file: &PathBuf| file.components().any(|part| part.as_os_str() == "support");
        assert!(!files.iter().any(support));
    }

    #[test]
    fn a_text_is_looked_for_as_it_is() {
        assert_eq!(literally("no scroll (360 px)"), "no scroll \\(360 px\\)");
        assert_eq!(literally("R1M1/Ö"), "R1M1\\/Ö");
    }
}
