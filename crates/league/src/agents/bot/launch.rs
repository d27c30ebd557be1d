//! Starts a bot: a foreign program with resource limits, whose process group ends with ours.
//!
//! `league keep`, a small process of our own, starts the program. It sets the limits on itself, so
//! that they apply to the bot from its first instruction. It ends the bot's whole group when either
//! side is gone, even after `kill -9`.

use std::io;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use thiserror::Error;
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};

use super::LAZY_MEMORY;
use crate::config::BotsConfig;

/// The environment variables that every bot gets.
const PASSED_VARIABLES: [&str; 14] = [
    "PATH",
    "HOME",
    "USER",
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    "TZ",
    "TMPDIR",
    "VIRTUAL_ENV",
    "PYTHONPATH",
    "NODE_PATH",
    "JAVA_HOME",
    "LD_LIBRARY_PATH",
    "SSL_CERT_FILE",
];

/// How the names of variables with secrets end.
const SECRET_ENDS: [&str; 3] = ["_KEY", "_TOKEN", "_SECRET"];

/// Whether a word looks like the name of an environment variable.
fn is_variable(word: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_';
    word.contains('_')
        && word.bytes().all(plain)
        && word.starts_with(|it: char| it.is_ascii_uppercase())
}

/// A program and its limits.
#[derive(Debug, Clone)]
pub(crate) struct Launch {
    /// Our own program, for `league keep`.
    pub(crate) keeper: PathBuf,
    /// The bot's program and its arguments; not interpreted by a shell.
    pub(crate) words: Vec<String>,
    /// Further environment variables for the bot.
    pub(crate) passed: Vec<String>,
    /// The file for its standard error.
    pub(crate) stderr: PathBuf,
    pub(crate) limits: BotLimits,
}

/// The resource limits of a bot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BotLimits {
    /// Memory, in bytes.
    pub(crate) memory: u64,
    /// Processor time, in seconds.
    pub(crate) cpu: u64,
    /// Open files.
    pub(crate) files: u64,
    /// The largest file it may write, in bytes.
    pub(crate) file_size: u64,
    /// The longest line of output, in bytes.
    pub(crate) line: usize,
    /// How long its first answer may take.
    pub(crate) start: Duration,
    /// How often it is restarted.
    pub(crate) restarts: u32,
}

impl BotLimits {
    /// The limits in the configuration.
    pub(crate) fn of(config: &BotsConfig) -> Self {
        Self {
            memory: config.max_memory_bytes,
            cpu: config.max_cpu_sec,
            files: config.max_open_files,
            file_size: config.max_file_bytes,
            line: config.max_line_bytes,
            start: config.start_timeout_sec.duration(),
            restarts: config.max_restarts,
        }
    }
}

#[derive(Debug, Error)]
pub(crate) enum LaunchError {
    #[error("`{0}` is not a command: give a program and its arguments, and close every quote")]
    NoCommand(String),
    #[error("could not start the bot")]
    Start(#[source] io::Error),
    #[error("the bot was restarted {0} times and is not started again")]
    TooOften(u32),
    #[error("the bot does not answer; its standard error is kept in `logs/bots`")]
    Silent,
    #[error("the bot has no pipes")]
    NoPipes,
}

pub(crate) struct LaunchedBot {
    pub(crate) process: BotProcess,
    pub(crate) input: ChildStdin,
    pub(crate) output: ChildStdout,
    pub(crate) stderr: ChildStderr,
}

/// The process of a bot; its whole group ends when this is dropped.
pub(crate) struct BotProcess {
    child: Child,
    group: Option<Pid>,
}

/// Splits a command into words like a shell, without expansion.
///
/// # Errors
///
/// The command is empty or has an open quote.
pub(crate) fn words(command: &str) -> Result<Vec<String>, LaunchError> {
    let words = shlex::split(command).filter(|words| !words.is_empty());
    words.ok_or_else(|| LaunchError::NoCommand(command.to_owned()))
}

impl Launch {
    /// What to do if the last lines of the bot name environment variables that it did not get.
    pub(crate) fn missing_variables(&self, last_lines: &[String]) -> Option<String> {
        let is_set = |name: &str| std::env::var_os(name).is_some();
        let names = last_lines.iter().flat_map(|line| {
            line.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_')
        });
        let mut missing: Vec<&str> = names
            .filter(|name| is_variable(name) && !self.is_passed(name))
            .filter(|name| is_set(name) || SECRET_ENDS.iter().any(|end| name.ends_with(end)))
            .collect();
        missing.sort_unstable();
        missing.dedup();
        let hint = |name: &&str| match is_set(name) {
            true => {
                format!("`{name}` is set here, but a bot gets it only with `--pass-env {name}`")
            }
            false => format!("set `{name}`, and pass it to the bot with `--pass-env {name}`"),
        };
        let hints: Vec<String> = missing.iter().map(hint).collect();
        (!hints.is_empty()).then(|| hints.join("; "))
    }

    fn is_passed(&self, name: &str) -> bool {
        PASSED_VARIABLES.contains(&name) || self.passed.iter().any(|passed| passed == name)
    }

    /// Starts the bot in its own process group.
    ///
    /// # Errors
    ///
    /// `league keep` could not be started; a missing program is reported by `league keep` itself.
    pub(crate) fn start(&self) -> Result<LaunchedBot, LaunchError> {
        let mut child = self.command().spawn().map_err(LaunchError::Start)?;
        let group = child.id().and_then(|id| Pid::from_raw(id.cast_signed()));
        let (input, output) = (child.stdin.take(), child.stdout.take());
        let stderr = child.stderr.take();
        let process = BotProcess { child, group };
        match (input, output, stderr) {
            (Some(input), Some(output), Some(stderr)) => Ok(LaunchedBot {
                process,
                input,
                output,
                stderr,
            }),
            _ => Err(LaunchError::NoPipes),
        }
    }

    fn command(&self) -> Command {
        let BotLimits {
            memory,
            cpu,
            files,
            file_size,
            ..
        } = self.limits;
        let mut command = Command::new(&self.keeper);
        command
            .arg("keep")
            .args(["--parent", &std::process::id().to_string()])
            .args(["--memory", &memory.to_string()])
            .args(["--cpu", &cpu.to_string()])
            .args(["--files", &files.to_string()])
            .args(["--file-size", &file_size.to_string()])
            .arg("--")
            .args(&self.words)
            .env_clear()
            .env(LAZY_MEMORY, "0")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true);
        let passed = self.passed.iter().map(String::as_str);
        for name in PASSED_VARIABLES.into_iter().chain(passed) {
            if let Some(value) = std::env::var_os(name) {
                command.env(name, value);
            }
        }
        command
    }
}

impl BotProcess {
    /// Ends the whole group, and waits for its first process.
    pub(crate) async fn end(&mut self) {
        self.end_group();
        let _ = self.child.wait().await;
    }

    fn end_group(&self) {
        if let Some(group) = self.group {
            // The group may already be gone.
            let _ = kill_process_group(group, Signal::KILL);
        }
    }
}

impl Drop for BotProcess {
    fn drop(&mut self) {
        // After the wait, its id may belong to another process.
        if self.child.id().is_some() {
            self.end_group();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_split_like_in_a_shell() {
        let apart = |command| words(command).unwrap();
        assert_eq!(apart("python3 bot.py"), ["python3", "bot.py"]);
        assert_eq!(
            apart("'my bot' --name \"a b\""),
            ["my bot", "--name", "a b"]
        );
        assert_eq!(apart("bot ; rm x $HOME"), ["bot", ";", "rm", "x", "$HOME"]);
        for wrong in ["", "  ", "bot 'open"] {
            let error = words(wrong).unwrap_err().to_string();
            assert!(error.contains("is not a command"), "{error}");
        }
    }
}
