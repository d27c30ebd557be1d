//! Runs programs at the root of the repository, and says where things lie.

use std::fmt;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, ExitStatus, Output, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};

/// How often a bounded program is polled.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// The root of the repository.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The directory that cargo builds into.
pub(crate) fn target() -> PathBuf {
    match std::env::var_os("CARGO_TARGET_DIR") {
        Some(folder) => root().join(folder),
        None => root().join("target"),
    }
}

/// A program that runs at the root of the repository without standard input. It is not told what
/// `cargo run` tells this program of its package: build scripts that look at these variables would
/// run again, and most of the league would be built again with each change between `cargo xtask` and
/// `cargo`.
pub(crate) fn program(name: &str) -> Command {
    let mut command = Command::new(name);
    command.current_dir(root()).stdin(Stdio::null());
    for (variable, _) in std::env::vars_os() {
        let name = variable.to_string_lossy();
        if name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_") {
            command.env_remove(&variable);
        }
    }
    command
}

/// Runs a program whose exit code is ours as well.
pub(crate) fn hand_over(command: &mut Command) -> anyhow::Result<ExitCode> {
    let status = command
        .status()
        .with_context(|| format!("could not start {command:?}"))?;
    Ok(if status.success() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// Runs a program that must succeed; `hint` says what helps if it does not.
pub(crate) fn run(command: &mut Command, hint: &str) -> anyhow::Result<()> {
    match command.stdin(Stdio::null()).status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => bail!("`{command:?}` failed: {status}\nhint: {hint}"),
        Err(error) => bail!("could not start `{command:?}`: {error}\nhint: {hint}"),
    }
}

/// Builds the program and an example beside it. An example brings the features of the tests: with
/// other features most crates would be built again.
pub(crate) fn build_league(example: &str, more: &[&str]) -> anyhow::Result<()> {
    run(
        program("cargo")
            .args(["build", "--quiet", "--package", "league", "--bin", "league"])
            .args(["--example", example])
            .args(more),
        "the compiler's message says what is wrong",
    )
}

/// A constant command line; prints as a line that can be pasted into a shell.
#[derive(Clone, Copy)]
pub(crate) struct Invocation {
    program: &'static str,
    arguments: &'static [&'static str],
    environment: &'static [(&'static str, &'static str)],
}

impl Invocation {
    pub(crate) const fn new(program: &'static str, arguments: &'static [&'static str]) -> Self {
        Self {
            program,
            arguments,
            environment: &[],
        }
    }

    /// Sets environment variables for this command alone.
    pub(crate) const fn with(self, environment: &'static [(&'static str, &'static str)]) -> Self {
        Self {
            environment,
            ..self
        }
    }

    pub(crate) fn command(&self) -> Command {
        let mut command = program(self.program);
        command
            .args(self.arguments)
            .envs(self.environment.iter().copied());
        command
    }

    /// Reports whether the command starts and succeeds; shows none of its output.
    pub(crate) fn succeeds(&self) -> bool {
        let mut command = self.command();
        let status = command.stdout(Stdio::null()).stderr(Stdio::null()).status();
        status.is_ok_and(|status| status.success())
    }
}

impl fmt::Display for Invocation {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, value) in self.environment {
            write!(out, "{name}={} ", quoted(value))?;
        }
        write!(out, "{}", self.program)?;
        self.arguments
            .iter()
            .try_for_each(|argument| write!(out, " {}", quoted(argument)))
    }
}

fn quoted(word: &str) -> String {
    if word.contains(char::is_whitespace) {
        format!("'{word}'")
    } else {
        word.to_owned()
    }
}

/// Runs a program and captures its output; kills it after `limit`, which is an error.
pub(crate) fn bounded_output(command: &mut Command, limit: Duration) -> anyhow::Result<Output> {
    let deadline = Instant::now() + limit;
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .with_context(|| format!("could not start {command:?}"))?;
    let stdout = read_in_background(child.stdout.take());
    let stderr = read_in_background(child.stderr.take());
    let status = wait_until(&mut child, deadline);
    // Dead after this whether it had ended or not.
    let _ = child.kill();
    let _ = child.wait();
    let Some(status) = status? else {
        bail!("{command:?} did not end within {limit:?}");
    };
    // A process that it left running may hold on to its output.
    let left = || {
        deadline
            .saturating_duration_since(Instant::now())
            .max(POLL_INTERVAL)
    };
    let too_long = || format!("the output of {command:?} did not end within {limit:?}");
    Ok(Output {
        status,
        stdout: stdout.recv_timeout(left()).with_context(too_long)?,
        stderr: stderr.recv_timeout(left()).with_context(too_long)?,
    })
}

fn wait_until(child: &mut Child, deadline: Instant) -> anyhow::Result<Option<ExitStatus>> {
    loop {
        let status = child.try_wait()?;
        if status.is_some() || Instant::now() > deadline {
            return Ok(status);
        }
        thread::sleep(POLL_INTERVAL);
    }
}

fn read_in_background(from: Option<impl Read + Send + 'static>) -> Receiver<Vec<u8>> {
    let (sender, receiver) = channel();
    thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut from) = from {
            // Bytes read before an error are passed on all the same.
            let _ = from.read_to_end(&mut bytes);
        }
        let _ = sender.send(bytes);
    });
    receiver
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn program_is_not_told_of_the_package_of_this_one() {
        assert!(std::env::var_os("CARGO_PKG_NAME").is_some());
        let shown = program("env").output().unwrap();
        let shown = String::from_utf8_lossy(&shown.stdout);
        assert!(shown.contains("PATH="), "{shown}");
        assert!(!shown.contains("CARGO_PKG_NAME="), "{shown}");
        assert!(!shown.contains("CARGO_MANIFEST_DIR="), "{shown}");
    }

    #[test]
    fn program_that_hangs_is_killed() {
        let mut shell = Command::new("sh");
        let error = bounded_output(
            shell.args(["-c", "exec sleep 600"]),
            Duration::from_millis(100),
        );
        let error = error.unwrap_err().to_string();
        assert!(error.contains("did not end"), "{error}");
    }
}
