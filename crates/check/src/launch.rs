//! The agent as a child process, so that it can be killed and started again.

use std::io;
use std::net::SocketAddr;
use std::process::{ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use league_protocol::finding::harmless;
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::{Child, Command};

use super::wire::Line;

/// How often the check tests whether an agent accepts connections.
const LOOK: Duration = Duration::from_millis(20);
/// How many bytes of the agent's standard error are kept, the last ones.
const MOST_COMPLAINTS: usize = 8 * 1024;
/// How many lines of it are shown.
const MOST_LINES: usize = 10;
/// How many characters of a line are shown.
const LONGEST_LINE: usize = 200;
/// How long to wait for the last output of an agent that has ended.
const LAST_WORDS: Duration = Duration::from_millis(200);

/// An agent that we started; its whole process group is killed when this is dropped.
pub struct Launched {
    words: Vec<String>,
    running: Mutex<Option<Child>>,
    complaints: Arc<Mutex<Vec<u8>>>,
}

impl Launched {
    /// An agent with this command, not started yet.
    pub fn new(words: Vec<String>) -> Self {
        Self {
            words,
            running: Mutex::new(None),
            complaints: Arc::default(),
        }
    }

    /// Starts the agent, after ending the one before.
    ///
    /// # Errors
    ///
    /// The program may be missing.
    pub fn start(&self) -> io::Result<()> {
        self.kill();
        let (program, arguments) = match self.words.split_first() {
            Some(words) => words,
            None => return Err(io::ErrorKind::InvalidInput.into()),
        };
        let mut child = Command::new(program)
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true)
            .spawn()?;
        if let Some(stderr) = child.stderr.take() {
            self.complaints().clear();
            tokio::spawn(listen(stderr, Arc::clone(&self.complaints)));
        }
        *self.running() = Some(child);
        Ok(())
    }

    /// Kills the agent and its whole group at once.
    pub fn kill(&self) {
        if let Some(child) = self.running().take() {
            end_group(&child);
        }
    }

    /// Kills the agent and waits until it has ended and released its resources.
    pub async fn end(&self) {
        let ended = self.running().take();
        if let Some(mut child) = ended {
            end_group(&child);
            // A process that cannot be waited for has already ended.
            let _ = child.wait().await;
        }
    }

    /// Whether the agent has ended by itself.
    pub fn has_ended(&self) -> bool {
        self.ending().is_some()
    }

    /// How the agent ended by itself, and its last output; `None` if it runs.
    pub async fn last_words(&self) -> Option<String> {
        let status = self.ending()?;
        tokio::time::sleep(LAST_WORDS).await;
        let how = match status.code() {
            Some(code) => format!("the command ended (code {code})"),
            None => format!("the command ended ({status})"),
        };
        Some(how + &self.said())
    }

    /// The agent's last output on standard error, safe to print; empty without output.
    pub fn said(&self) -> String {
        let complaints = self.complaints();
        let text = String::from_utf8_lossy(&complaints);
        let lines: Vec<&str> = text
            .lines()
            .filter(|line| !line.trim().is_empty())
            .collect();
        let last = lines.iter().skip(lines.len().saturating_sub(MOST_LINES));
        let last: Vec<String> = last
            .map(|line| format!("\n    {}", harmless(line.trim_end(), LONGEST_LINE)))
            .collect();
        match last.is_empty() {
            true => String::new(),
            false => format!("; it said:{}", last.concat()),
        }
    }

    fn ending(&self) -> Option<ExitStatus> {
        let mut running = self.running();
        running.as_mut()?.try_wait().ok().flatten()
    }

    fn complaints(&self) -> std::sync::MutexGuard<'_, Vec<u8>> {
        let complaints = self.complaints.lock();
        complaints.unwrap_or_else(PoisonError::into_inner)
    }

    fn running(&self) -> std::sync::MutexGuard<'_, Option<Child>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Launched {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Waits until an address accepts connections, or until the agent that should listen there has
/// ended; returns whether the address accepts connections.
pub async fn comes_up(address: SocketAddr, launched: Option<&Launched>, wait: Duration) -> bool {
    let up = async {
        while Line::open(address).await.is_err() {
            if launched.is_some_and(Launched::has_ended) {
                return false;
            }
            tokio::time::sleep(LOOK).await;
        }
        true
    };
    tokio::time::timeout(wait, up).await.unwrap_or(false)
}

/// Waits until the started agent has ended; forever if none was started.
pub async fn ended(launched: Option<&Launched>) {
    let Some(launched) = launched else {
        return std::future::pending().await;
    };
    while !launched.has_ended() {
        tokio::time::sleep(LOOK).await;
    }
}

/// Keeps the last output of an agent, and never blocks the agent.
async fn listen(mut stderr: impl AsyncRead + Unpin, complaints: Arc<Mutex<Vec<u8>>>) {
    let mut chunk = vec![0; MOST_COMPLAINTS];
    while let Ok(length @ 1..) = stderr.read(&mut chunk).await {
        let mut kept = complaints.lock().unwrap_or_else(PoisonError::into_inner);
        kept.extend_from_slice(&chunk[..length]);
        let superfluous = kept.len().saturating_sub(MOST_COMPLAINTS);
        kept.drain(..superfluous);
    }
}

fn end_group(child: &Child) {
    // After the wait, the process id may belong to another process.
    let group = child.id().and_then(|id| Pid::from_raw(id.cast_signed()));
    if let Some(group) = group {
        // A process group that has ended need not be killed.
        let _ = kill_process_group(group, Signal::KILL);
    }
}
