//! The screens: command, exit code, output.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::end_to_end::process::Process;

mod completions;
mod explain;
mod export;
mod games;
mod lab;
mod leagues;
mod new;
mod page;
mod plan;
mod play;
mod query;
mod reach;
mod try_player;
mod watch;

/// Runs `league` with standard input and shows what a person would see.
fn league(arguments: &[&str], input: &str) -> String {
    let mut child = Command::new(env!("CARGO_BIN_EXE_league"))
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary starts");
    let mut stdin = child.stdin.take().expect("standard input is piped");
    // A command that does not read its input may be gone before it is written.
    let _ = stdin.write_all(input.as_bytes());
    drop(stdin);
    let output = child.wait_with_output().expect("the binary ends");
    let code = output.status.code().expect("the binary is not killed");
    let out = String::from_utf8(output.stdout).expect("the output is text");
    let errors = String::from_utf8(output.stderr).expect("the errors are text");
    format!("exit code {code}\n--- out\n{out}--- errors\n{errors}")
}

/// Starts a command below a root, which runs while the test asks it.
fn start(root: &Path, arguments: &[&str]) -> Process {
    let root = ["--root", root.to_str().unwrap()];
    Process::start(arguments.iter().chain(&root))
}

/// Starts a manager that waits for its start; returns its address too.
fn start_manager(root: &Path) -> (Process, String) {
    let mut manager = start(root, &["manager", "--port", "0", "--players", "0"]);
    let greeting = manager.said(" at http://");
    let at = greeting.find("http://").unwrap();
    let endpoint = greeting[at..].to_owned();
    (manager, endpoint)
}
