//! Installs npm packages once, into a folder of the target directory.
//!
//! The versions are pinned in a `package.json` of the repository.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, bail};

/// Holds the `package.json` for which the packages were installed, once all are there.
const MARK: &str = "installed";

/// Installs the packages of `list`, a `package.json`, unless `folder` has them.
pub(crate) fn install(list: &Path, folder: &Path) -> anyhow::Result<()> {
    let wanted = fs::read(list).with_context(|| format!("could not read {list:?}"))?;
    if is_installed(&wanted, folder) {
        return Ok(());
    }
    fs::create_dir_all(folder).with_context(|| format!("could not make {folder:?}"))?;
    fs::write(folder.join("package.json"), &wanted)?;
    println!("installing packages into {}…", folder.display());
    let status = Command::new("npm")
        .args(["install", "--ignore-scripts", "--no-package-lock"])
        .args(["--no-audit", "--no-fund", "--loglevel", "error"])
        .current_dir(folder)
        .stdin(Stdio::null())
        .status()
        .context("could not start `npm`; install Node.js with npm")?;
    if !status.success() {
        bail!("`npm install` failed in {}: {status}", folder.display());
    }
    fs::write(folder.join(MARK), wanted)?;
    Ok(())
}

fn is_installed(wanted: &[u8], folder: &Path) -> bool {
    let installed = fs::read(folder.join(MARK));
    installed.is_ok_and(|list| list == wanted) && folder.join("node_modules").is_dir()
}
