//! One process of the program: started, listened to line by line, and gone when its test is.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Read};
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use league_testkit::candidate_ports;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

/// How long anything may take before a test gives up.
pub(crate) const BOUND: Duration = Duration::from_secs(120);
/// How often it is looked whether something is the case.
const LOOK: Duration = Duration::from_millis(5);

/// A running `league`; it is killed when it is dropped.
pub(crate) struct Process {
    child: Child,
    name: String,
    lines: Receiver<String>,
    heard: Vec<String>,
    warnings: Receiver<String>,
    warned: Vec<String>,
}

/// How a process ended.
#[derive(Debug)]
pub(crate) struct ProcessExit {
    /// Its exit code; none if a signal ended it.
    pub(crate) code: Option<i32>,
    /// All that it printed.
    pub(crate) out: String,
    /// All that it printed on standard error.
    pub(crate) errors: String,
}

impl Process {
    /// Starts `league` with these arguments.
    pub(crate) fn start(arguments: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_league"));
        command.args(arguments);
        Self::spawn(command)
    }

    /// Starts `league` with these arguments and variables of the environment.
    pub(crate) fn start_with(
        variables: &[(&str, &OsStr)],
        arguments: impl IntoIterator<Item = impl AsRef<OsStr>>,
    ) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_league"));
        command.args(arguments).envs(variables.iter().copied());
        Self::spawn(command)
    }

    /// Starts `league` with these arguments and so many descriptors.
    pub(crate) fn start_with_descriptors(
        descriptors: u32,
        arguments: impl IntoIterator<Item = impl AsRef<OsStr>>,
    ) -> Self {
        let mut command = Command::new("sh");
        let script = format!("ulimit -n {descriptors} && exec \"$0\" \"$@\"");
        command.args(["-c", &script, env!("CARGO_BIN_EXE_league")]);
        command.args(arguments);
        Self::spawn(command)
    }

    fn spawn(mut command: Command) -> Self {
        let name = format!("{command:?}");
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = listen(child.stdout.take().unwrap());
        let warnings = listen(child.stderr.take().unwrap());
        Self {
            child,
            name,
            lines,
            heard: Vec::new(),
            warnings,
            warned: Vec::new(),
        }
    }

    /// Waits for a line that passes.
    pub(crate) fn line(&mut self, wanted: impl Fn(&str) -> bool) -> String {
        match wait(&self.lines, &mut self.heard, wanted) {
            Ok(line) => line,
            Err(what) => self.give_up(what),
        }
    }

    /// Waits for a line that holds a text; returns it without its end.
    pub(crate) fn said(&mut self, text: &str) -> String {
        let line = self.line(|line| line.contains(text));
        line.trim_end().to_owned()
    }

    /// Waits for a line on standard error that passes.
    pub(crate) fn warning(&mut self, wanted: impl Fn(&str) -> bool) -> String {
        match wait(&self.warnings, &mut self.warned, wanted) {
            Ok(line) => line,
            Err(what) => self.give_up(what),
        }
    }

    /// Waits for an object of the output in JSON whose member is as given.
    pub(crate) fn event(&mut self, member: &str, value: &str) -> Value {
        let read = |line: &str| serde_json::from_str::<Value>(line).unwrap_or_default();
        let line = self.line(|line| read(line)[member] == value);
        read(&line)
    }

    /// Waits until it ends by itself.
    pub(crate) fn end(mut self) -> ProcessExit {
        let Some(status) = eventually(|| self.child.try_wait().unwrap()) else {
            self.give_up("it does not end");
        };
        let code = status.code();
        let (out, errors) = self.all();
        ProcessExit { code, out, errors }
    }

    /// Sends it a signal.
    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// Asks it to end, and sees that it does.
    pub(crate) fn stop(self) -> ProcessExit {
        self.signal(Signal::TERM);
        self.end()
    }

    /// Ends it at once, as `kill -9` does.
    pub(crate) fn kill(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Sees that it goes on.
    pub(crate) fn see_running(&mut self) {
        if self.has_ended() {
            self.give_up("it has ended");
        }
    }

    /// Whether it has ended by itself.
    pub(crate) fn has_ended(&mut self) -> bool {
        self.child.try_wait().unwrap().is_some()
    }

    /// Its number.
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// All that it printed, and all of that on standard error.
    fn all(&mut self) -> (String, String) {
        self.heard.extend(self.lines.iter());
        self.warned.extend(self.warnings.iter());
        (self.heard.concat(), self.warned.concat())
    }

    fn give_up(&mut self, what: &str) -> ! {
        self.kill();
        let (out, errors) = self.all();
        let name = &self.name;
        panic!("{what}: {name}\n--- out\n{out}--- errors\n{errors}");
    }
}

/// Reads lines, each with its end, until there are no more.
fn listen(from: impl Read + Send + 'static) -> Receiver<String> {
    let (tell, lines) = channel();
    thread::spawn(move || {
        let mut from = BufReader::new(from);
        let mut line = String::new();
        while from.read_line(&mut line).is_ok_and(|read| read > 0) {
            // The test may be over.
            let _ = tell.send(std::mem::take(&mut line));
        }
    });
    lines
}

/// Waits for a line that passes; those before it are kept too.
fn wait(
    lines: &Receiver<String>,
    kept: &mut Vec<String>,
    wanted: impl Fn(&str) -> bool,
) -> Result<String, &'static str> {
    let until = Instant::now() + BOUND;
    loop {
        let left = until.saturating_duration_since(Instant::now());
        let line = lines.recv_timeout(left).map_err(|error| match error {
            RecvTimeoutError::Timeout => "no such line came",
            RecvTimeoutError::Disconnected => "it ended before such a line",
        })?;
        kept.push(line.clone());
        if wanted(&line) {
            return Ok(line);
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Looks until something is there.
pub(crate) fn eventually<T>(mut look: impl FnMut() -> Option<T>) -> Option<T> {
    let until = Instant::now() + BOUND;
    loop {
        let found = look();
        if found.is_some() || Instant::now() > until {
            return found;
        }
        thread::sleep(LOOK);
    }
}

/// A port that no process listens on, and which stays free until the process that it is for does.
pub(crate) fn free_port() -> u16 {
    // `localhost` may lead to either address.
    let is_taken = |host, port| {
        let bound = TcpListener::bind((host, port));
        bound.is_err_and(|error| error.kind() == std::io::ErrorKind::AddrInUse)
    };
    let mut tries = candidate_ports(std::process::id());
    let free = tries.find(|&port| !is_taken("127.0.0.1", port) && !is_taken("::1", port));
    free.unwrap()
}

/// Runs `league` to its end.
pub(crate) fn league(arguments: impl IntoIterator<Item = impl AsRef<OsStr>>) -> ProcessExit {
    Process::start(arguments).end()
}
