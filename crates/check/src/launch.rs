//! The agent as a child process, so that it can be killed and started again.

use std::io;
use std::net::SocketAddr;
use std::process::{ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use league_protocol::time::in_words;
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::net::TcpSocket;
use tokio::process::{Child, Command};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, sleep_until, timeout};

use crate::lock;
use crate::quote::quote;
use crate::wire::connect;

/// How often the state of a process or a port is tested.
const POLL_INTERVAL: Duration = Duration::from_millis(20);
/// How many bytes of the agent's standard error are kept, the last ones.
const MAX_STDERR: usize = 8 * 1024;
/// How many lines of it a finding quotes, and a report of an agent that never came up.
pub const FINDING_LINES: usize = 3;
pub const REPORT_LINES: usize = 10;
/// How many characters of a line of it are shown.
const MAX_LINE: usize = 200;
/// How long the rest of its output may take after the agent has ended; a child may hold it open.
const OUTPUT_TIMEOUT: Duration = Duration::from_secs(2);
/// How long the port of a killed agent may take to close: a child may outlive it for a moment.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(15);
/// How long a port may stay in use after its process was killed: longer than connections stay in
/// TIME_WAIT.
const IN_USE_TIMEOUT: Duration = Duration::from_secs(75);
/// What programs say that find their port in use.
const IN_USE: [&str; 3] = ["address already in use", "address in use", "eaddrinuse"];
/// The pause before an agent is started again whose port was still in use.
const RETRY_DELAY: Duration = Duration::from_millis(500);

/// An agent that we start; its whole process group is killed when this is dropped.
pub struct AgentProcess {
    words: Vec<String>,
    running: Mutex<Option<Child>>,
    stderr: Mutex<Stderr>,
}

/// The last output of the agent on standard error, and the task that reads it.
#[derive(Default)]
struct Stderr {
    kept: Arc<Mutex<Vec<u8>>>,
    reader: Option<JoinHandle<()>>,
}

impl AgentProcess {
    /// An agent with this command, not started yet.
    pub fn new(words: Vec<String>) -> Self {
        Self {
            words,
            running: Mutex::default(),
            stderr: Mutex::default(),
        }
    }

    /// Starts the agent, after ending the one before.
    /// The program may be missing.
    pub fn start(&self) -> io::Result<()> {
        self.kill();
        let Some((program, arguments)) = self.words.split_first() else {
            return Err(io::ErrorKind::InvalidInput.into());
        };
        let mut child = Command::new(program)
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true)
            .spawn()?;
        let kept = Arc::default();
        let output = child.stderr.take();
        let reader = output.map(|output| tokio::spawn(keep_last(output, Arc::clone(&kept))));
        *lock(&self.stderr) = Stderr { kept, reader };
        *lock(&self.running) = Some(child);
        Ok(())
    }

    /// Kills the agent and its whole group at once.
    pub fn kill(&self) {
        if let Some(child) = lock(&self.running).take() {
            end_group(&child);
        }
    }

    /// Kills the agent and waits until it has ended and its address is closed.
    pub async fn end(&self, address: SocketAddr) {
        let child = lock(&self.running).take();
        if let Some(mut child) = child {
            end_group(&child);
            // A process that cannot be waited for has already ended.
            let _ = child.wait().await;
        }
        let closed = async {
            while connect(address).await.is_ok() {
                sleep(POLL_INTERVAL).await;
            }
        };
        // What is still open then is found out by the next start.
        let _ = timeout(CLOSE_TIMEOUT, closed).await;
    }

    /// Waits for an event after a start, which `absent` names if it does not come in time.
    ///
    /// An agent that ends because its port was still in use, as it is for a while after a kill, is
    /// started again, and that time is not counted.
    /// Returns how the agent ended, or that the event did not come; and the agent's last output.
    pub async fn wait<T>(
        &self,
        address: SocketAddr,
        patience: Duration,
        absent: &str,
        event: impl Future<Output = T>,
    ) -> Result<T, String> {
        let mut until = Instant::now() + patience;
        let free_by = Instant::now() + IN_USE_TIMEOUT;
        tokio::pin!(event);
        loop {
            tokio::select! {
                biased;
                found = &mut event => return Ok(found),
                () = self.ended() => {}
                () = sleep_until(until) => {
                    let said = self.said(FINDING_LINES);
                    let patience = in_words(patience);
                    return Err(format!("{absent} within {patience} of the start{said}"));
                }
            }
            let report = self.end_report(FINDING_LINES).await;
            // The port may have become free since the agent found it in use.
            let was_in_use = !is_free(address) || self.said_in_use();
            if !was_in_use || Instant::now() >= free_by {
                return Err(report.unwrap_or_else(|| absent.to_owned()));
            }
            sleep(RETRY_DELAY).await;
            self.start().map_err(|error| error.to_string())?;
            until = Instant::now() + patience;
        }
    }

    /// Whether the last output of the agent says that its port is in use.
    fn said_in_use(&self) -> bool {
        let kept = lock(&lock(&self.stderr).kept).clone();
        let text = String::from_utf8_lossy(&kept).to_ascii_lowercase();
        IN_USE.iter().any(|words| text.contains(words))
    }

    /// Waits until the agent has ended by itself.
    pub async fn ended(&self) {
        while !self.has_ended() {
            sleep(POLL_INTERVAL).await;
        }
    }

    /// Whether the agent has ended by itself.
    pub fn has_ended(&self) -> bool {
        self.status().is_some()
    }

    /// How the agent ended by itself, and its last lines of output; `None` if it runs.
    pub async fn end_report(&self, lines: usize) -> Option<String> {
        let status = self.status()?;
        let reader = lock(&self.stderr).reader.take();
        if let Some(reader) = reader {
            // A reader that goes on belongs to a child of the agent.
            let _ = timeout(OUTPUT_TIMEOUT, reader).await;
        }
        let how = match status.code() {
            Some(code) => format!("code {code}"),
            None => status.to_string(),
        };
        Some(format!("the command ended ({how}){}", self.said(lines)))
    }

    /// The agent's last lines on standard error, safe to print; empty without output.
    pub fn said(&self, lines: usize) -> String {
        let kept = lock(&lock(&self.stderr).kept).clone();
        let text = String::from_utf8_lossy(&kept);
        let last = text.lines().rev().filter(|line| !line.trim().is_empty());
        let last = last
            .take(lines)
            .map(|line| quote(line.trim_end(), &[], MAX_LINE));
        let last: Vec<String> = last.collect();
        if last.is_empty() {
            return String::new();
        }
        let last: Vec<String> = last.into_iter().rev().collect();
        format!("; it said:\n    {}", last.join("\n    "))
    }

    fn status(&self) -> Option<ExitStatus> {
        lock(&self.running).as_mut()?.try_wait().ok().flatten()
    }
}

impl Drop for AgentProcess {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Waits until an address accepts connections.
pub async fn accepts(address: SocketAddr) {
    while connect(address).await.is_err() {
        sleep(POLL_INTERVAL).await;
    }
}

/// Whether a program could listen at an address that sets no option for addresses in use.
fn is_free(address: SocketAddr) -> bool {
    let socket = match address {
        SocketAddr::V4(_) => TcpSocket::new_v4(),
        SocketAddr::V6(_) => TcpSocket::new_v6(),
    };
    let bound = socket.and_then(|socket| socket.bind(address));
    !bound.is_err_and(|error| error.kind() == io::ErrorKind::AddrInUse)
}

/// Keeps the last output of an agent, and never blocks the agent.
async fn keep_last(mut stderr: impl AsyncRead + Unpin, kept: Arc<Mutex<Vec<u8>>>) {
    let mut chunk = vec![0; MAX_STDERR];
    while let Ok(length @ 1..) = stderr.read(&mut chunk).await {
        let mut kept = lock(&kept);
        kept.extend_from_slice(&chunk[..length]);
        let superfluous = kept.len().saturating_sub(MAX_STDERR);
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
