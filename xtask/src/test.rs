//! `cargo xtask test`: the steps as data, the running of them, and the count of tests.
//!
//! Stages run one after the other, the steps of a stage side by side; a stage with a failure is
//! the last. `--quick` runs what a person wants after each edit.

use std::fmt;
use std::io::{BufRead, BufReader};
use std::ops::AddAssign;
use std::process::{ExitCode, Stdio};
use std::thread;
use std::time::Instant;

use anyhow::Context;
use clap::Args;
use clap::builder::PossibleValuesParser;

use crate::shell::Invocation;

#[derive(Args)]
pub(crate) struct Options {
    /// Run the inner loop: format, lints, and the tests that need no other program; two minutes.
    #[arg(long)]
    quick: bool,
    /// Run only this step; may be given more than once.
    #[arg(long, value_name = "STEP", value_parser = step_names(), conflicts_with = "quick")]
    only: Vec<String>,
    /// List the steps and their commands without running them.
    #[arg(long)]
    list: bool,
}

/// One thing that must hold.
struct Step {
    /// Its name for `--only`.
    name: &'static str,
    /// What holds if it passes.
    promise: &'static str,
    invocation: Invocation,
    needs: &'static [Need],
    /// Counts the tests in a line of the output; absent if the step runs none.
    count: Option<fn(&str) -> Option<Tally>>,
    stage: Stage,
}

/// When a step runs.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Stage {
    Format,
    Lint,
    /// What takes the whole machine, and the lock of the build folder with it.
    Build,
    /// The tests themselves; many of them mostly wait, so they share the machine.
    Tests,
    /// Runs only with `--quick`, in place of the tests that it does not choose.
    Quick,
}

/// A tool that a step needs.
struct Need {
    tool: &'static str,
    /// Succeeds if the tool is installed.
    probe: Invocation,
    /// How to get the tool.
    remedy: &'static str,
}

/// The steps in the order in which they run.
const STEPS: &[Step] = &[
    Step {
        name: "format",
        promise: "every file is formatted",
        invocation: Invocation::new("cargo", &["fmt", "--all", "--check"]),
        needs: &[RUSTFMT],
        count: None,
        stage: Stage::Format,
    },
    Step {
        name: "clippy",
        promise: "there are no lint warnings",
        // `--tests` leaves out the targets with `test = false`, so they are named.
        invocation: Invocation::new(
            "cargo",
            &[
                "clippy",
                "--workspace",
                "--lib",
                "--bins",
                "--examples",
                "--tests",
                "--test",
                "interop",
                "--test",
                "postgres",
                "--",
                "-D",
                "warnings",
            ],
        ),
        needs: &[CLIPPY],
        count: None,
        stage: Stage::Lint,
    },
    Step {
        name: "doc",
        promise: "the documentation builds without a warning",
        invocation: Invocation::new("cargo", &["doc", "--workspace", "--no-deps"])
            .with(&[("RUSTDOCFLAGS", "-D warnings")]),
        needs: &[],
        count: None,
        stage: Stage::Build,
    },
    Step {
        name: "build",
        promise: "everything that the tests run is built, once",
        invocation: Invocation::new("cargo", &["test", "--workspace", "--no-run"]),
        needs: &[],
        count: None,
        stage: Stage::Build,
    },
    Step {
        name: "package",
        promise: "programs outside build from our packages, and the library page begins with one",
        // It computes for a minute, which tests of processes would feel.
        invocation: Invocation::new("cargo", &["xtask", "package"]),
        needs: &[],
        count: None,
        stage: Stage::Build,
    },
    Step {
        name: "rust",
        promise: "every Rust test that needs no process of ours passes",
        // The whole workspace in every step: another choice of packages would mean other features
        // of their dependencies, and building all of it again.
        invocation: Invocation::new(
            "cargo",
            &[
                "test",
                "--workspace",
                "--no-fail-fast",
                "--lib",
                "--bins",
                "--test",
                "all",
                "--test",
                "facts",
                "--test",
                "kit",
                "--test",
                "origin",
                "--test",
                "scripted",
            ],
        ),
        needs: &[],
        count: Some(count_cargo_test),
        stage: Stage::Tests,
    },
    Step {
        name: "processes",
        promise: "the processes of a league do what they should",
        // They wait five times as long as they compute.
        invocation: Invocation::new("cargo", &["test", "--workspace", "--test", "processes"])
            .with(&[("RUST_TEST_THREADS", "6")]),
        needs: &[],
        count: Some(count_cargo_test),
        stage: Stage::Tests,
    },
    Step {
        name: "examples",
        promise: "the examples in the documentation hold",
        invocation: Invocation::new("cargo", &["test", "--workspace", "--doc"]),
        needs: &[],
        count: Some(count_cargo_test),
        stage: Stage::Tests,
    },
    Step {
        name: "conformance",
        promise: "the official MCP suite accepts our servers in both revisions",
        invocation: Invocation::new("cargo", &["xtask", "conformance"]),
        needs: &[NPM],
        count: Some(count_cargo_test),
        stage: Stage::Tests,
    },
    Step {
        name: "interop",
        promise: "players built on other libraries play whole leagues",
        invocation: Invocation::new("cargo", &["xtask", "interop"]),
        needs: &[PYTHON],
        count: Some(count_cargo_test),
        stage: Stage::Tests,
    },
    Step {
        name: "postgres",
        promise: "leagues on a PostgreSQL server lose and double nothing, whatever is killed",
        invocation: Invocation::new("cargo", &["xtask", "postgres"]),
        needs: &[POSTGRES],
        count: Some(count_cargo_test),
        stage: Stage::Tests,
    },
    Step {
        name: "browser",
        promise: "people can watch a league in a real browser",
        invocation: Invocation::new("cargo", &["xtask", "browser"]),
        needs: &[NPM, NODE],
        count: Some(count_node_test),
        stage: Stage::Tests,
    },
    Step {
        name: "smoke",
        promise: "commands answer and whole leagues are played, with real processes",
        invocation: Invocation::new(
            "cargo",
            &[
                "test",
                "--workspace",
                "--test",
                "processes",
                "--",
                "architecture::",
                "cli::",
                "end_to_end::whole",
                "end_to_end::separate",
                "end_to_end::http",
            ],
        ),
        needs: &[],
        count: Some(count_cargo_test),
        stage: Stage::Quick,
    },
];

const RUSTFMT: Need = Need {
    tool: "rustfmt",
    probe: Invocation::new("cargo", &["fmt", "--version"]),
    remedy: "rustup component add rustfmt",
};

const CLIPPY: Need = Need {
    tool: "clippy",
    probe: Invocation::new("cargo", &["clippy", "--version"]),
    remedy: "rustup component add clippy",
};

const NPM: Need = Need {
    tool: "npm",
    probe: Invocation::new("npm", &["--version"]),
    remedy: "apt-get install npm",
};

const NODE: Need = Need {
    tool: "Node.js 20 or newer",
    probe: Invocation::new(
        "node",
        &[
            "-e",
            "process.exit(parseInt(process.versions.node) < 20 ? 1 : 0)",
        ],
    ),
    remedy: "apt-get install nodejs, or see https://nodejs.org",
};

const POSTGRES: Need = Need {
    tool: "PostgreSQL, or root and `apt-get` to install it",
    probe: Invocation::new(
        "sh",
        &[
            "-c",
            "ls /usr/lib/postgresql/*/bin/postgres || command -v postgres || \
             { test \"$(id -u)\" = 0 && command -v apt-get; }",
        ],
    ),
    remedy: "apt-get install postgresql",
};

const PYTHON: Need = Need {
    tool: "Python 3.11 or newer with `venv`",
    probe: Invocation::new("python3", &["-c", "import venv, ensurepip"]),
    remedy: "apt install python3 python3-venv",
};

/// Runs the chosen steps; the last line printed is the count of tests, whatever happens.
pub(crate) fn test(options: &Options) -> anyhow::Result<ExitCode> {
    let steps: Vec<&Step> = STEPS.iter().filter(|step| options.chooses(step)).collect();
    if options.list {
        for step in steps {
            println!("{:12}  {}", step.name, step.invocation);
        }
        return Ok(ExitCode::SUCCESS);
    }
    let mut tally = Tally::default();
    let outcome = find_missing_tools(&steps).and_then(|()| run_stages(&steps, &mut tally));
    let code = match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            println!("\n{error}");
            ExitCode::FAILURE
        }
    };
    println!("{tally}");
    Ok(code)
}

impl Options {
    fn chooses(&self, step: &Step) -> bool {
        if !self.only.is_empty() {
            self.only.iter().any(|name| name == step.name)
        } else if self.quick {
            step.stage <= Stage::Lint || step.name == "rust" || step.stage == Stage::Quick
        } else {
            step.stage != Stage::Quick
        }
    }
}

fn step_names() -> PossibleValuesParser {
    PossibleValuesParser::new(STEPS.iter().map(|step| step.name))
}

/// Looks for every tool before the first step, so that a missing one is reported at once.
fn find_missing_tools(steps: &[&Step]) -> Result<(), String> {
    let missing: Vec<String> = steps
        .iter()
        .flat_map(|step| step.needs.iter().map(move |need| (step, need)))
        .filter(|(_, need)| !need.probe.succeeds())
        .map(|(step, need)| {
            format!(
                "error: step `{}` needs {}, but `{}` does not succeed\nhint: get it with `{}`",
                step.name, need.tool, need.probe, need.remedy
            )
        })
        .collect();
    if missing.is_empty() {
        Ok(())
    } else {
        Err(missing.join("\n"))
    }
}

fn run_stages(steps: &[&Step], tally: &mut Tally) -> Result<(), String> {
    let mut times = Vec::new();
    for stage in steps.chunk_by(|one, next| one.stage == next.stage && one.stage == Stage::Tests) {
        for step in stage {
            println!(
                "\n=== {}: {}\n    {}",
                step.name, step.promise, step.invocation
            );
        }
        let outcomes: Vec<Outcome> = thread::scope(|scope| {
            let running: Vec<_> = stage
                .iter()
                .map(|step| scope.spawn(|| run_step(step, stage.len() > 1)))
                .collect();
            running
                .into_iter()
                .map(|thread| thread.join().expect("a step does not panic"))
                .collect()
        });
        let mut failures = Vec::new();
        for (step, outcome) in stage.iter().zip(outcomes) {
            *tally += outcome.tally;
            times.push(format!("{} {:.0} s", step.name, outcome.seconds));
            failures.extend(outcome.failure);
        }
        if !failures.is_empty() {
            return Err(failures.join("\n"));
        }
    }
    println!("\nall {} steps passed: {}", steps.len(), times.join(", "));
    Ok(())
}

struct Outcome {
    tally: Tally,
    seconds: f64,
    /// The error to show, if the step failed.
    failure: Option<String>,
}

/// Runs a step. Output of a step that runs `beside` others is shown only if the step fails.
fn run_step(step: &Step, beside: bool) -> Outcome {
    let start = Instant::now();
    let mut tally = Tally::default();
    let result = show(step, beside, &mut tally);
    let seconds = start.elapsed().as_secs_f64();
    let cause = match result {
        Err(error) => Some(format!("{error:#}")),
        Ok(()) if step.count.is_some() && tally == Tally::default() => {
            Some("no test was counted; does its runner still print the line that is read?".into())
        }
        Ok(()) => None,
    };
    let word = if cause.is_none() { "passed" } else { "FAILED" };
    println!("--- {} {word} in {seconds:.1} s", step.name);
    let failure = cause.map(|cause| {
        format!(
            "error: step `{name}` failed after {seconds:.1} s\n  cause: {cause}\n\
             hint: run it alone with `cargo xtask test --only {name}`, or just `{command}`",
            name = step.name,
            command = step.invocation,
        )
    });
    Outcome {
        tally,
        seconds,
        failure,
    }
}

fn show(step: &Step, beside: bool, tally: &mut Tally) -> anyhow::Result<()> {
    let mut command = step.invocation.command();
    if !beside && step.count.is_none() {
        let status = command.status().context("could not start it")?;
        anyhow::ensure!(status.success(), "{status}");
        return Ok(());
    }
    let (reader, writer) = std::io::pipe()?;
    if beside {
        command.stderr(writer.try_clone()?);
    }
    command.stdout(writer).stdin(Stdio::null());
    let mut child = command.spawn().context("could not start it")?;
    // The command holds the other end of the pipe; without this the reading would never end.
    drop(command);
    let mut kept = String::new();
    for line in BufReader::new(reader).split(b'\n') {
        let line = line?;
        let line = String::from_utf8_lossy(&line);
        *tally += step
            .count
            .and_then(|count| count(line.trim_end()))
            .unwrap_or_default();
        if beside {
            kept.push_str(&line);
            kept.push('\n');
        } else {
            println!("{line}");
        }
    }
    let status = child.wait()?;
    // Only the end of a long log may be kept, so what failed is told last, in the error.
    anyhow::ensure!(status.success(), "{status}\n{kept}");
    Ok(())
}

/// How many tests passed and how many failed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Tally {
    passed: u64,
    failed: u64,
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} passed, {} failed", self.passed, self.failed)
    }
}

/// Reads the closing line of a Rust test executable.
fn count_cargo_test(line: &str) -> Option<Tally> {
    let summary = line.strip_prefix("test result: ")?;
    // The word before the numbers may carry colour codes, so only the numbers are read.
    let (_, numbers) = summary.split_once(". ")?;
    let mut parts = numbers.split("; ");
    let passed = parts.next()?.strip_suffix(" passed")?.parse().ok()?;
    let failed = parts.next()?.strip_suffix(" failed")?.parse().ok()?;
    Some(Tally { passed, failed })
}

/// Reads a closing line of Node's test runner, such as `ℹ pass 12`.
fn count_node_test(line: &str) -> Option<Tally> {
    let plain = without_colour(line);
    let closing = plain.strip_prefix("ℹ ").or(plain.strip_prefix("# "))?;
    let (word, number) = closing.split_once(' ')?;
    let number = number.parse().ok()?;
    let (passed, failed) = match word {
        "pass" => (number, 0),
        "fail" | "cancelled" => (0, number),
        _ => return None,
    };
    Some(Tally { passed, failed })
}

fn without_colour(line: &str) -> String {
    let mut parts = line.split("\u{1b}[");
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        plain.push_str(part.split_once('m').map_or(part, |(_, rest)| rest));
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shell::root;

    fn step(name: &'static str, invocation: Invocation) -> Step {
        Step {
            name,
            promise: "",
            invocation,
            needs: &[],
            count: None,
            stage: Stage::Build,
        }
    }

    #[test]
    fn first_failure_stops_the_rest_and_names_its_command() {
        let steps = [
            step("good", Invocation::new("rustc", &["--version"])),
            step("bad", Invocation::new("no-such-program", &["--now"])),
            step("never", Invocation::new("another-missing-program", &[])),
        ];
        let error = run_stages(&steps.each_ref(), &mut Tally::default()).unwrap_err();
        assert!(error.contains("step `bad` failed"), "{error}");
        assert!(error.contains("`no-such-program --now`"), "{error}");
        assert!(!error.contains("another-missing-program"), "{error}");
    }

    #[test]
    fn output_of_a_failed_step_beside_others_ends_the_log() {
        let mut steps = [
            step("bad", Invocation::new("rustc", &["--no-such-flag"])),
            step("good", Invocation::new("rustc", &["--version"])),
        ];
        for step in &mut steps {
            step.stage = Stage::Tests;
        }
        let error = run_stages(&steps.each_ref(), &mut Tally::default()).unwrap_err();
        assert!(error.contains("no-such-flag'"), "{error}");
        assert!(!error.contains("step `good`"), "{error}");
    }

    #[test]
    fn every_folder_of_tests_is_run_by_a_step() {
        let folders = std::fs::read_dir(root().join("crates")).unwrap();
        let tests = folders.filter_map(|folder| {
            let tests = folder.unwrap().path().join("tests");
            std::fs::read_dir(tests).ok()
        });
        let invocations: Vec<String> = STEPS
            .iter()
            .filter(|step| step.stage == Stage::Tests)
            .map(|step| step.invocation.to_string() + " ")
            .collect();
        let mut seen = 0;
        for target in tests.flatten() {
            let path = target.unwrap().path();
            // Cases that failed before are kept beside the tests.
            if path.ends_with("proptest-regressions") {
                continue;
            }
            let name = path.file_stem().unwrap().to_string_lossy().into_owned();
            // `interop` has a command of its own, which finds Python first.
            let run = [format!("--test {name} "), format!("xtask {name} ")];
            let is_run = |line: &String| run.iter().any(|run| line.contains(run));
            assert!(invocations.iter().any(is_run), "no step runs {path:?}");
            seen += 1;
        }
        assert!(seen > 5, "{seen} folders of tests were found");
    }

    #[test]
    fn step_that_counts_no_test_fails() {
        let step = Step {
            count: Some(count_cargo_test),
            ..step("empty", Invocation::new("rustc", &["--version"]))
        };
        let error = run_stages(&[&step], &mut Tally::default()).unwrap_err();
        assert!(error.contains("no test was counted"), "{error}");
    }

    #[test]
    fn closing_lines_of_both_runners_are_counted() {
        let count = |passed, failed| Some(Tally { passed, failed });
        let cargo = [
            (
                "test result: FAILED. 12 passed; 3 failed; 0 ignored",
                count(12, 3),
            ),
            (
                "test result: \u{1b}[32mok\u{1b}(B\u{1b}[m. 7 passed; 0 failed; 0 ignored",
                count(7, 0),
            ),
            ("test result: ok. many passed; 0 failed;", None),
            ("note: test result: ok. 1 passed; 0 failed;", None),
        ];
        for (line, expected) in cargo {
            assert_eq!(count_cargo_test(line), expected, "{line}");
        }
        let node = [
            ("ℹ pass 6", count(6, 0)),
            ("# cancelled 1", count(0, 1)),
            ("\u{1b}[34mℹ fail 2\u{1b}[39m", count(0, 2)),
            ("    ℹ pass 3", None),
            ("ℹ tests 4", None),
        ];
        for (line, expected) in node {
            assert_eq!(count_node_test(line), expected, "{line}");
        }
    }
}
