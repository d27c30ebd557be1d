//! A process that is measured: its lines, its CPU time, its memory.
//!
//! CPU time is read twice. While it runs, the clock of the process tells nanoseconds, so that the
//! start and the end of a process stay out of a figure. When it has ended, `getrusage` tells what
//! all its threads and children took. `/proc/PID/stat` would count in ticks of 10 ms, and
//! `/proc/PID/schedstat` one thread only.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;
use rustix::process::{Pid, Signal, kill_process};

/// How long a process may say nothing.
const SILENCE: Duration = Duration::from_secs(120);

/// Starts processes, and keeps their files in a folder.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Launcher<'f> {
    pub(crate) folder: &'f Path,
    /// Whether `strace` counts their system calls; then they are far too slow to be timed.
    pub(crate) traced: bool,
}

/// A child at work; it is killed when it is dropped.
pub(crate) struct Process {
    child: Child,
    input: Option<ChildStdin>,
    lines: Receiver<String>,
    /// Where its standard error goes.
    complaints: PathBuf,
    traced: bool,
}

impl Launcher<'_> {
    /// Starts a program.
    pub(crate) fn start(self, command: &Command) -> io::Result<Process> {
        let complaints = self.folder.join("stderr.txt");
        let errors = File::options()
            .create(true)
            .append(true)
            .open(&complaints)?;
        let mut command = self.wrapped(command)?;
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(errors)
            .spawn()?;
        let (tell, lines) = channel();
        if let Some(output) = child.stdout.take() {
            thread::spawn(move || {
                for line in BufReader::new(output).lines().map_while(Result::ok) {
                    if tell.send(line).is_err() {
                        break;
                    }
                }
            });
        }
        Ok(Process {
            input: child.stdin.take(),
            child,
            lines,
            complaints,
            traced: self.traced,
        })
    }

    /// The command, below `strace` if it is traced.
    fn wrapped(self, command: &Command) -> io::Result<Command> {
        let mut wrapped = Command::new(command.get_program());
        if self.traced {
            let (_, counts) = tempfile::Builder::new()
                .prefix(COUNTS)
                .tempfile_in(self.folder)?
                .keep()
                .map_err(io::Error::other)?;
            wrapped = Command::new("strace");
            wrapped.args(["-f", "-c", "-o"]).arg(counts);
            wrapped.arg(command.get_program());
        }
        wrapped.args(command.get_args());
        Ok(wrapped)
    }

    /// The system calls of all traced processes that have ended.
    pub(crate) fn system_calls(self) -> io::Result<u64> {
        let mut sum = 0;
        for entry in fs::read_dir(self.folder)? {
            let path = entry?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            if name.starts_with(COUNTS) {
                sum += total_calls(&fs::read_to_string(&path)?).unwrap_or(0);
            }
        }
        Ok(sum)
    }
}

/// How the files with the counts of `strace` begin.
const COUNTS: &str = "system-calls-";

/// Whether system calls can be counted.
pub(crate) fn has_strace() -> bool {
    let mut command = Command::new("strace");
    command.args(["-f", "-c", "-o", "/dev/null", "true"]);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// Reads the last line of `strace -c`: `100.00  0.105541  4  24533  1893 total`; the column of
/// errors may be empty.
fn total_calls(counts: &str) -> Option<u64> {
    let total = counts.lines().find(|line| line.ends_with(" total"))?;
    total.split_whitespace().nth(3)?.parse().ok()
}

impl Process {
    /// Writes a line to its standard input.
    pub(crate) fn say(&mut self, line: &str) -> io::Result<()> {
        match &mut self.input {
            Some(input) => writeln!(input, "{line}"),
            None => Ok(()),
        }
    }

    /// The next line that it prints; none if it has ended.
    pub(crate) fn line(&mut self) -> io::Result<Option<String>> {
        match self.lines.recv_timeout(SILENCE) {
            Ok(line) => Ok(Some(line)),
            Err(RecvTimeoutError::Disconnected) => Ok(None),
            Err(RecvTimeoutError::Timeout) => {
                let silence = SILENCE.as_secs();
                Err(self.failure(&format!("a process said nothing for {silence} s")))
            }
        }
    }

    /// An error, with the last words of the process.
    pub(crate) fn failure(&self, what: &str) -> io::Error {
        let words = fs::read_to_string(&self.complaints).unwrap_or_default();
        let last: Vec<&str> = words.lines().rev().take(3).collect();
        let last: Vec<&str> = last.into_iter().rev().collect();
        match last.is_empty() {
            true => io::Error::other(what.to_owned()),
            false => io::Error::other(format!("{what}: {}", last.join("; "))),
        }
    }

    /// The CPU time that it has taken so far; zero where the system has no clock of a process.
    pub(crate) fn cpu(&self) -> io::Result<Duration> {
        clock_of(self.child.id())
    }

    /// The most memory that it has held so far, in bytes; zero where the system does not tell.
    pub(crate) fn peak_memory(&self) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id()));
        peak_memory(&status.unwrap_or_default()).unwrap_or(0)
    }

    /// Interrupts it, as Ctrl-C does.
    pub(crate) fn interrupt(&self) -> io::Result<()> {
        let pid = match self.traced {
            true => self.traced_child()?,
            false => self.child.id(),
        };
        match Pid::from_raw(pid.cast_signed()) {
            Some(pid) => Ok(kill_process(pid, Signal::INT)?),
            None => Ok(()),
        }
    }

    /// The process that `strace` has started; `strace` itself ignores signals.
    fn traced_child(&self) -> io::Result<u32> {
        let pid = self.child.id();
        let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"))?;
        let first = children
            .split_whitespace()
            .next()
            .and_then(|it| it.parse().ok());
        first.ok_or_else(|| self.failure("a traced process has ended too early"))
    }

    /// Ends its standard input, waits until it has ended, and tells the CPU time of its whole life.
    pub(crate) fn end(mut self) -> io::Result<Duration> {
        self.input = None;
        while self.line()?.is_some() {}
        let before = ended_children()?;
        self.child.wait()?;
        Ok(ended_children()?.saturating_sub(before))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It has ended already if all went well.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The CPU time of all children that have ended and were waited for.
fn ended_children() -> io::Result<Duration> {
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN)?;
    let times = [usage.user_time(), usage.system_time()];
    let micros = times.iter().map(TimeValLike::num_microseconds).sum::<i64>();
    Ok(Duration::from_micros(u64::try_from(micros).unwrap_or(0)))
}

#[cfg(target_os = "linux")]
fn clock_of(process: u32) -> io::Result<Duration> {
    use nix::time::ClockId;
    let clock = ClockId::pid_cpu_clock_id(nix::unistd::Pid::from_raw(process.cast_signed()))?;
    Ok(Duration::from(clock.now()?))
}

#[cfg(not(target_os = "linux"))]
fn clock_of(_process: u32) -> io::Result<Duration> {
    Ok(Duration::ZERO)
}

/// Reads `VmHWM:     1234 kB`.
fn peak_memory(status: &str) -> Option<u64> {
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kibibytes: u64 = line.trim().strip_suffix(" kB")?.trim().parse().ok()?;
    Some(kibibytes * 1_024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn peak_memory_is_read_in_bytes() {
        let status = "Name:\tleague\nVmHWM:\t    2048 kB\nVmRSS:\t 1024 kB\n";
        assert_eq!(peak_memory(status), Some(2_097_152));
        assert_eq!(peak_memory("Name:\tleague\n"), None);
    }

    #[test]
    fn system_calls_are_read_from_the_last_line() {
        let counts = "% time     seconds  usecs/call     calls    errors syscall\n\
            ------ ----------- ----------- --------- --------- ----------------\n \
            50.00    0.000001           1         3           read\n\
            ------ ----------- ----------- --------- --------- ----------------\n\
            100.00    0.000002           0        41         2 total\n";
        assert_eq!(total_calls(counts), Some(41));
        assert_eq!(
            total_calls(&counts.replace("         2 total", "           total")),
            Some(41)
        );
        assert_eq!(total_calls(""), None);
    }

    fn shell(folder: &Path, script: &str) -> Process {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        let launcher = Launcher {
            folder,
            traced: false,
        };
        launcher.start(&command).unwrap()
    }

    #[test]
    fn cpu_of_a_process_is_told_when_it_ends() {
        let folder = tempfile::tempdir().unwrap();
        let script = "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; echo done; read x";
        let mut process = shell(folder.path(), script);
        assert_eq!(process.line().unwrap().as_deref(), Some("done"));
        let so_far = process.cpu().unwrap();
        assert!(so_far > Duration::from_millis(1), "{so_far:?}");
        // Two clocks of the system may differ by a little.
        assert!(process.end().unwrap() + Duration::from_millis(20) >= so_far);
    }

    #[test]
    fn last_words_of_a_process_are_in_its_failure() {
        let folder = tempfile::tempdir().unwrap();
        let mut process = shell(folder.path(), "echo 'the port is in use' >&2");
        assert_eq!(process.line().unwrap(), None);
        let failure = process.failure("it ended").to_string();
        assert_eq!(failure, "it ended: the port is in use");
    }
}
