//! One process of Python: started, listened to line by line, and gone when its test is.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use serde_json::Value;

use crate::end_to_end::process::free_port;

/// How long Python may take to start: its libraries are slow to load where much goes on.
const START: Duration = Duration::from_secs(180);

/// A running script; it is killed when it is dropped.
pub(crate) struct Python {
    child: Child,
    name: String,
    lines: Receiver<String>,
}

impl Python {
    /// Starts a player on a free port.
    pub(crate) fn player(
        environment: &str,
        script: &str,
        manager: &str,
        name: &str,
        mode: &[&str],
    ) -> Self {
        let port = free_port().to_string();
        let own = ["--manager", manager, "--port", &port, "--name", name];
        Self::start(environment, script, &[&own, mode].concat())
    }

    /// Starts a script in one of the environments.
    pub(crate) fn start(environment: &str, script: &str, arguments: &[&str]) -> Self {
        let [python, script] = words(environment, script);
        let mut command = Command::new(python);
        command.arg(script).args(arguments);
        command.env("PYTHONWARNINGS", "ignore");
        command.env("FASTMCP_LOG_LEVEL", "ERROR");
        Self::of(command)
    }

    /// Starts any other program.
    pub(crate) fn of(command: Command) -> Self {
        Self::telling(command, Stdio::inherit())
    }

    /// Starts any other program, that complains to somebody of our choice.
    pub(crate) fn telling(mut command: Command, complaints: Stdio) -> Self {
        let name = format!("{command:?}");
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(complaints)
            .spawn()
            .unwrap();
        let (said, lines) = channel();
        let out = child.stdout.take().unwrap();
        thread::spawn(move || {
            for line in BufReader::new(out).lines().map_while(Result::ok) {
                // Whoever listened may have gone.
                let _ = said.send(line);
            }
        });
        Self { child, name, lines }
    }

    /// Waits until it says that something happened.
    pub(crate) fn event(&mut self, event: &str) -> Value {
        loop {
            let line = self.says(event);
            if let Ok(said) = serde_json::from_str::<Value>(&line)
                && said["event"] == event
            {
                return said;
            }
        }
    }

    /// Waits for a line with these words.
    pub(crate) fn says(&mut self, words: &str) -> String {
        loop {
            let line = self.lines.recv_timeout(START);
            let line = line.unwrap_or_else(|_| panic!("{} never said `{words}`", self.name));
            if line.contains(words) {
                return line;
            }
        }
    }

    /// Ends it at once.
    pub(crate) fn kill(mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Waits until it ends by itself, and tells whether all went well.
    pub(crate) fn succeeds(mut self) -> bool {
        self.child.wait().unwrap().success()
    }
}

/// The command that starts a script in one of the environments.
pub(crate) fn command(environment: &str, script: &str) -> String {
    words(environment, script)
        .map(|word| format!("'{}'", word.display()))
        .join(" ")
}

fn words(environment: &str, script: &str) -> [PathBuf; 2] {
    let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../interop/python");
    [interpreter(environment), scripts.join(script)]
}

impl Drop for Python {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Python itself, in one of the environments.
pub(crate) fn interpreter(environment: &str) -> PathBuf {
    environments().join(environment).join("bin/python")
}

/// Where the environments are, as whoever made them says.
fn environments() -> PathBuf {
    let place = std::env::var_os("LEAGUE_INTEROP");
    place
        .expect("LEAGUE_INTEROP says where the environments are")
        .into()
}
