//! The agent as a process of ours, so that it can be killed and started again.

use std::io;
use std::process::Stdio;
use std::sync::{Mutex, PoisonError};

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::process::{Child, Command};

/// An agent that we started; its whole group ends when this is dropped.
pub struct Launched {
    words: Vec<String>,
    running: Mutex<Option<Child>>,
}

impl Launched {
    /// An agent that is started by this command, not started yet.
    pub fn new(words: Vec<String>) -> Self {
        Self {
            words,
            running: Mutex::new(None),
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
        let child = Command::new(program)
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .kill_on_drop(true)
            .spawn()?;
        *self.running() = Some(child);
        Ok(())
    }

    /// Kills the agent and its whole group at once.
    pub fn kill(&self) {
        if let Some(child) = self.running().take() {
            end_group(&child);
        }
    }

    /// Kills the agent and waits until it is gone, with all that it held.
    pub async fn end(&self) {
        let ended = self.running().take();
        if let Some(mut child) = ended {
            end_group(&child);
            // What cannot be waited for is gone.
            let _ = child.wait().await;
        }
    }

    /// Whether the agent has ended by itself.
    pub fn has_ended(&self) -> bool {
        let mut running = self.running();
        let ended = running.as_mut().map(|child| child.try_wait());
        matches!(ended, Some(Ok(Some(_))))
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

fn end_group(child: &Child) {
    // Once it was waited for, its number may be somebody else's.
    let group = child.id().and_then(|id| Pid::from_raw(id.cast_signed()));
    if let Some(group) = group {
        // A group that is gone needs no ending.
        let _ = kill_process_group(group, Signal::KILL);
    }
}
