//! Agents that run while a test asks them.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

/// How long anything may take that is waited for.
const LONGEST_WAIT: Duration = Duration::from_secs(60);

/// An agent; it is ended with the test.
pub(crate) struct Agent {
    process: Child,
    lines: Receiver<String>,
}

impl Agent {
    /// Starts an agent below a root.
    pub(crate) fn start(root: &Path, arguments: &[&str]) -> Self {
        let mut process = Command::new(env!("CARGO_BIN_EXE_league"))
            .args(arguments)
            .arg("--root")
            .arg(root)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the binary starts");
        let out = process.stdout.take().expect("standard output is piped");
        let (tell, lines) = channel();
        thread::spawn(move || {
            for line in BufReader::new(out).lines().map_while(Result::ok) {
                // The test may be over.
                let _ = tell.send(line);
            }
        });
        Self { process, lines }
    }

    /// Starts a manager that waits to be told, and gives its address.
    pub(crate) fn manager(root: &Path) -> (Self, String) {
        let manager = Self::start(root, &["manager", "--port", "0", "--players", "0"]);
        let greeting = manager.said(" at http://");
        let at = greeting.find("http://").expect("there is an address");
        let endpoint = greeting[at..].to_owned();
        (manager, endpoint)
    }

    /// Waits for a line that holds a text.
    pub(crate) fn said(&self, text: &str) -> String {
        loop {
            let line = self.lines.recv_timeout(LONGEST_WAIT);
            let line = line.unwrap_or_else(|_| panic!("nobody said `{text}`"));
            if line.contains(text) {
                return line;
            }
        }
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
