//! Finds a Chromium on this machine, or has the system's own packages bring one.

use std::env;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, bail};

/// Names the browser to use, before any that is found.
pub(super) const CHOICE: &str = "LEAGUE_CHROMIUM";

/// What it is called, by those who package it.
const NAMES: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];

/// Gives the browser's path; installs it if there is none and that is ours to do.
pub(super) fn get() -> anyhow::Result<PathBuf> {
    if let Some(chosen) = env::var_os(CHOICE) {
        let chosen = PathBuf::from(chosen);
        if !chosen.is_file() {
            bail!("`{CHOICE}` names {chosen:?}, which is no file");
        }
        return Ok(chosen);
    }
    let path = env::var_os("PATH").unwrap_or_default();
    if let Some(found) = found(&path) {
        return Ok(found);
    }
    install()?;
    found(&path).context("`apt-get` installed no `chromium` that is on the PATH")
}

/// The first of the names on the path.
fn found(path: &OsStr) -> Option<PathBuf> {
    let folders: Vec<PathBuf> = env::split_paths(path).collect();
    let places = NAMES
        .iter()
        .flat_map(|name| folders.iter().map(move |folder| folder.join(name)));
    places.into_iter().find(|place| place.is_file())
}

fn install() -> anyhow::Result<()> {
    if !is_root() || !Path::new("/usr/bin/apt-get").exists() {
        bail!(
            "there is no Chromium here\nhint: install the package `chromium` (Debian, Ubuntu: \
             `sudo apt-get install --no-install-recommends chromium`), or name a Chromium or \
             Chrome with `{CHOICE}=/path/to/it`"
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

fn apt_get(arguments: &[&str]) -> anyhow::Result<()> {
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

fn is_root() -> bool {
    let told = Command::new("id").arg("-u").output();
    told.is_ok_and(|told| told.stdout.trim_ascii() == b"0")
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn the_usual_name_comes_first_wherever_it_lies() {
        let folder = env::temp_dir().join(format!("chromium-{}", std::process::id()));
        let folders = [folder.join("one"), folder.join("two")];
        for folder in &folders {
            fs::create_dir_all(folder).unwrap();
        }
        let path = env::join_paths(&folders).unwrap();
        assert_eq!(found(&path), None);
        fs::write(folders[0].join("google-chrome"), "").unwrap();
        assert_eq!(found(&path), Some(folders[0].join("google-chrome")));
        fs::write(folders[1].join("chromium"), "").unwrap();
        assert_eq!(found(&path), Some(folders[1].join("chromium")));
        fs::remove_dir_all(&folder).unwrap();
    }
}
