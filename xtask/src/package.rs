//! `cargo xtask package`: what a program outside gets. Packages the crates that players and embedders
//! need, unpacks the packages, and builds from them offline the first program of `docs/library.md`
//! with its `[dependencies]`, and the player that `league new player --lang rust` writes.

use std::fs;
use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::Instant;

use anyhow::{Context, ensure};

use crate::shell::{program, root, run, target};

/// The crates in the order of their dependencies; a program names the last alone.
const CRATES: [&str; 4] = [
    "league-games",
    "league-protocol",
    "league-core",
    "league-kit",
];

/// The page whose first blocks are tried.
const PAGE: &str = "docs/library.md";

/// What the first program of the page prints.
const PRINTED: &str = "1. greedy";

pub(crate) fn package() -> anyhow::Result<ExitCode> {
    let place = target().join("outside");
    // A former program has another lock file and other sources; what was built stays.
    for old in ["packages", "program"] {
        let old = place.join(old);
        if old.exists() {
            fs::remove_dir_all(&old)?;
        }
    }
    let packages = unpack(&place)?;
    let folder = place.join("program");
    write_program(&folder, &packages)?;
    let start = Instant::now();
    let mut build = cargo(&folder, &place, "build");
    run(
        &mut build,
        "the packages do not build alone; look at the error above",
    )?;
    println!(
        "built from packages in {:.0} s",
        start.elapsed().as_secs_f64()
    );
    let printed = cargo(&folder, &place, "run")
        .args(["--bin", "first"])
        .output()?;
    let text = String::from_utf8_lossy(&printed.stdout);
    ensure!(
        printed.status.success() && text.contains(PRINTED),
        "the first program of `{PAGE}` does not print `{PRINTED}`, but:\n{text}{}",
        String::from_utf8_lossy(&printed.stderr)
    );
    println!("the first program of `{PAGE}` runs");
    Ok(ExitCode::SUCCESS)
}

/// Packages the crates and unpacks them; returns their folder.
fn unpack(place: &Path) -> anyhow::Result<std::path::PathBuf> {
    let mut packaging = program("cargo");
    packaging.args([
        "package",
        "--quiet",
        "--offline",
        "--allow-dirty",
        "--no-verify",
    ]);
    // A lock file is made from a registry, which does not have our crates.
    packaging
        .args(["--exclude-lockfile", "--target-dir"])
        .arg(place);
    packaging.args(CRATES.iter().flat_map(|name| ["-p", name]));
    run(
        &mut packaging,
        "each crate needs a description, a license, and versions of its own crates",
    )?;
    let packages = place.join("packages");
    fs::create_dir_all(&packages)?;
    let version = env!("CARGO_PKG_VERSION");
    for name in CRATES {
        let file = place.join(format!("package/{name}-{version}.crate"));
        let mut unpacking = Command::new("tar");
        // With the present time: all packages have the same, by which cargo would see no change.
        unpacking.arg("-xzmf").arg(file).arg("-C").arg(&packages);
        run(&mut unpacking, "install `tar`")?;
        let unpacked = packages.join(format!("{name}-{version}"));
        fs::rename(unpacked, packages.join(name))?;
    }
    Ok(packages)
}

/// Writes a package of two programs with the dependencies of the page.
fn write_program(folder: &Path, packages: &Path) -> anyhow::Result<()> {
    let page = root().join(PAGE);
    let page = fs::read_to_string(&page).with_context(|| format!("could not read `{PAGE}`"))?;
    let dependencies = first_block(&page, "toml")?;
    let path = "path = \"league/crates/kit\"";
    ensure!(
        dependencies.starts_with("[dependencies]\n") && dependencies.contains(path),
        "the first TOML block of `{PAGE}` is not `[dependencies]` with `{path}`"
    );
    let at = |name: &str| format!("path = {:?}", packages.join(name).display().to_string());
    let mut manifest = String::from(
        "[package]\nname = \"program\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n[workspace]\n\n",
    );
    manifest.push_str(&dependencies.replace(path, &at("league-kit")));
    // No debugger looks at the program.
    manifest.push_str("\n[profile.dev]\ndebug = false\n\n[patch.crates-io]\n");
    for name in &CRATES[..CRATES.len() - 1] {
        manifest.push_str(&format!("{name} = {{ {} }}\n", at(name)));
    }
    let programs = folder.join("src/bin");
    fs::create_dir_all(&programs)?;
    fs::write(folder.join("Cargo.toml"), manifest)?;
    // The versions that we test with, so that nothing is asked of a registry.
    fs::copy(root().join("Cargo.lock"), folder.join("Cargo.lock"))?;
    fs::write(programs.join("first.rs"), first_block(&page, "rust")?)?;
    fs::copy(
        root().join("crates/league/kits/player.rs"),
        programs.join("player.rs"),
    )?;
    Ok(())
}

fn first_block<'p>(page: &'p str, language: &str) -> anyhow::Result<&'p str> {
    let opening = format!("```{language}\n");
    let block = page.split_once(&opening).map(|(_, rest)| rest);
    let block = block.and_then(|rest| rest.split_once("```"));
    let (block, _) = block.with_context(|| format!("`{PAGE}` has no block `{language}`"))?;
    Ok(block)
}

fn cargo(folder: &Path, place: &Path, command: &str) -> Command {
    let mut cargo = program("cargo");
    cargo
        .current_dir(folder)
        .args([command, "--quiet", "--offline"]);
    cargo.env("CARGO_TARGET_DIR", place.join("target"));
    cargo
}
