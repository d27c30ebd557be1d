//! Runs one command at the root of the repository, with its output shown as it comes.
//!
//! What a line of output means is left to the caller.

use std::fmt;
use std::io::{self, BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};

use anyhow::Context;

/// A command and how it is called.
///
/// It prints as a line that can be pasted into a shell.
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

    /// Runs the command; its output goes straight to the screen.
    pub(crate) fn show(&self) -> anyhow::Result<ExitStatus> {
        self.command()
            .status()
            .with_context(|| format!("could not start `{self}`"))
    }

    /// Runs the command; each line of its output is shown, then handed to `heed`.
    pub(crate) fn show_and_heed(&self, mut heed: impl FnMut(&str)) -> anyhow::Result<ExitStatus> {
        let mut child = self
            .command()
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("could not start `{self}`"))?;
        if let Some(output) = child.stdout.take() {
            copy_lines(BufReader::new(output), io::stdout().lock(), &mut heed)
                .with_context(|| format!("could not pass on the output of `{self}`"))?;
        }
        child
            .wait()
            .with_context(|| format!("could not wait for `{self}`"))
    }

    /// Says whether the command can be run and succeeds, and shows nothing of it.
    pub(crate) fn succeeds(&self) -> bool {
        let status = self
            .command()
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
        status.is_ok_and(|status| status.success())
    }

    fn command(&self) -> Command {
        let mut command = Command::new(self.program);
        command
            .args(self.arguments)
            .envs(self.environment.iter().copied())
            .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join(".."))
            .stdin(Stdio::null());
        command
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

/// Bytes that are not UTF-8 are copied as they are; `heed` sees them replaced.
fn copy_lines(
    mut from: impl BufRead,
    mut to: impl Write,
    heed: &mut impl FnMut(&str),
) -> io::Result<()> {
    let mut line = Vec::new();
    while from.read_until(b'\n', &mut line)? > 0 {
        to.write_all(&line)?;
        to.flush()?;
        heed(String::from_utf8_lossy(&line).trim_end());
        line.clear();
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_passed_on_and_heeded() {
        let mut shown = Vec::new();
        let mut heeded = Vec::new();
        let output: &[u8] = b"one\r\n\xfftwo\nwithout an end";
        copy_lines(output, &mut shown, &mut |line: &str| {
            heeded.push(line.to_owned())
        })
        .unwrap();
        assert_eq!(shown, output);
        assert_eq!(heeded, ["one", "\u{fffd}two", "without an end"]);
    }

    #[test]
    fn an_invocation_prints_as_a_shell_line() {
        let invocation = Invocation::new("cargo", &["doc", "--no-deps"]);
        assert_eq!(
            invocation
                .with(&[("RUSTDOCFLAGS", "-D warnings")])
                .to_string(),
            "RUSTDOCFLAGS='-D warnings' cargo doc --no-deps"
        );
    }

    #[test]
    fn a_program_that_is_not_here_does_not_succeed() {
        assert!(!Invocation::new("a-program-that-nobody-has", &[]).succeeds());
    }
}
