//! A process of `league bench` that hosts what a line tells it, until its standard input ends.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::channel;
use std::thread;

use serde_json::Value;

use crate::end_to_end::process::BOUND;

/// The process; it is killed when it is dropped.
pub(crate) struct Told {
    child: Child,
}

impl Told {
    /// Starts a process for a plan, and waits for the first line that it prints.
    pub(crate) fn start(plan: &Value) -> (Self, Value) {
        let (told, answer) = Self::begin(plan);
        let line = answer();
        (told, line)
    }

    /// Starts a process for a plan; what it gives waits for the first line that the process prints.
    pub(crate) fn begin(plan: &Value) -> (Self, impl FnOnce() -> Value + use<>) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_league"));
        command.args(["bench", "--host"]).stdin(Stdio::piped());
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        writeln!(child.stdin.as_mut().unwrap(), "{plan}").unwrap();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let (tell, lines) = channel();
        thread::spawn(move || {
            let mut line = String::new();
            // The test may be over.
            let _ = output.read_line(&mut line).map(|_| tell.send(line));
        });
        let answer = move || {
            let line = lines.recv_timeout(BOUND).unwrap();
            serde_json::from_str(&line).unwrap()
        };
        (Self { child }, answer)
    }

    /// Its number.
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Whether it has ended by itself.
    pub(crate) fn has_ended(&mut self) -> bool {
        self.child.try_wait().unwrap().is_some()
    }
}

impl Drop for Told {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
