//! A program that is run to its end, within a time.

use std::io::Read;
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};

/// How often it is looked whether a program has ended.
const LOOK: Duration = Duration::from_millis(20);

/// Runs a program and takes in what it prints; one that takes longer is killed, and is an error.
pub(super) fn output(command: &mut Command, longest: Duration) -> anyhow::Result<Output> {
    let until = Instant::now() + longest;
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .with_context(|| format!("could not start {command:?}"))?;
    let printed = taken_in(child.stdout.take());
    let errors = taken_in(child.stderr.take());
    let ended = ended(&mut child, until);
    // It is dead after this whether it had ended or not, and nobody waits for it twice.
    let _ = child.kill();
    let _ = child.wait();
    let Some(status) = ended? else {
        bail!("{command:?} did not end within {longest:?}");
    };
    // What it left running may hold on to its output.
    let left = || until.saturating_duration_since(Instant::now()).max(LOOK);
    let too_long = || format!("the output of {command:?} did not end within {longest:?}");
    Ok(Output {
        status,
        stdout: printed.recv_timeout(left()).with_context(too_long)?,
        stderr: errors.recv_timeout(left()).with_context(too_long)?,
    })
}

/// How the program ended; `None` if it goes on.
fn ended(child: &mut Child, until: Instant) -> anyhow::Result<Option<ExitStatus>> {
    loop {
        let status = child.try_wait()?;
        if status.is_some() || Instant::now() > until {
            return Ok(status);
        }
        thread::sleep(LOOK);
    }
}

/// Reads to the end, so that nobody waits to write.
fn taken_in(from: Option<impl Read + Send + 'static>) -> Receiver<Vec<u8>> {
    let (tell, told) = channel();
    thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut from) = from {
            // What was read before an error is told all the same.
            let _ = from.read_to_end(&mut bytes);
        }
        let _ = tell.send(bytes);
    });
    told
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str, longest: Duration) -> anyhow::Result<Output> {
        output(Command::new("sh").args(["-c", script]), longest)
    }

    #[test]
    fn what_is_printed_and_how_it_ended_is_told() {
        let said = shell("echo one; echo two >&2; exit 3", Duration::from_secs(60)).unwrap();
        assert_eq!(said.stdout, b"one\n");
        assert_eq!(said.stderr, b"two\n");
        assert_eq!(said.status.code(), Some(3));
    }

    #[test]
    fn what_hangs_is_ended() {
        let began = Instant::now();
        let refused = shell("exec sleep 600", Duration::from_millis(100)).unwrap_err();
        assert!(refused.to_string().contains("did not end"), "{refused}");
        assert!(began.elapsed() < Duration::from_secs(60));
    }
}
