//! Packages of npm, fetched once into a folder beside what is built.
//!
//! Which packages, and which versions of them, is left to a `package.json` of the repository.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, bail};

/// What is written when all packages are there: the `package.json` that they were fetched for.
const MARK: &str = "fetched";

/// Fetches the versions that `list`, a `package.json`, names, unless they are in `folder`.
pub(crate) fn fetch(list: &Path, folder: &Path) -> anyhow::Result<()> {
    let wanted = fs::read(list).with_context(|| format!("could not read {list:?}"))?;
    if is_here(&wanted, folder) {
        return Ok(());
    }
    fs::create_dir_all(folder).with_context(|| format!("could not make {folder:?}"))?;
    fs::write(folder.join("package.json"), &wanted)?;
    println!("fetching packages into {}…", folder.display());
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

fn is_here(wanted: &[u8], folder: &Path) -> bool {
    let fetched = fs::read(folder.join(MARK));
    fetched.is_ok_and(|fetched| fetched == wanted) && folder.join("node_modules").is_dir()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::places::root;

    #[test]
    fn every_package_has_one_version() {
        for list in ["interop/node/package.json", "browser/package.json"] {
            let wanted = fs::read_to_string(root().join(list)).unwrap();
            assert!(!wanted.contains(['^', '~', '*']), "{list}: {wanted}");
            assert!(wanted.contains("\"private\": true"), "{list}");
        }
    }

    #[test]
    fn packages_are_here_only_if_they_were_fetched_for_this_list() {
        let folder = std::env::temp_dir().join(format!("packages-{}", std::process::id()));
        fs::create_dir_all(folder.join("node_modules")).unwrap();
        assert!(!is_here(b"{}", &folder));
        fs::write(folder.join(MARK), "{}").unwrap();
        assert!(is_here(b"{}", &folder));
        assert!(!is_here(b"{\"other\": 1}", &folder));
        fs::remove_dir_all(folder.join("node_modules")).unwrap();
        assert!(!is_here(b"{}", &folder));
        fs::remove_dir_all(&folder).unwrap();
    }
}
