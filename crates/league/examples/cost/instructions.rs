//! How many instructions of its own a server needs for a call, counted by `valgrind`.
//!
//! Time depends on what else the machine does; this does not. What the system does for a server is
//! not in it.

use std::io;
use std::path::Path;
use std::process::Command;

use crate::load::Load;
use crate::requests::RequestTemplate;
use crate::servers::Server;

/// Calls of a short run, which is taken from a long one so that the start is in neither.
const SHORT: u32 = 1_000;
/// Calls of a long run.
const LONG: u32 = 5_000;
/// Over how many connections.
const CONNECTIONS: u32 = 4;

/// Counts what one call takes; `part` is the server that this program shall be.
///
/// # Errors
///
/// `valgrind` may not be there.
pub(crate) async fn count(part: &str, wanted: &RequestTemplate) -> io::Result<f64> {
    let short = run(part, wanted, SHORT).await?;
    let long = run(part, wanted, LONG).await?;
    Ok((long - short) / f64::from(LONG - SHORT))
}

async fn run(part: &str, wanted: &RequestTemplate, calls: u32) -> io::Result<f64> {
    let name = format!("league-cost-{}.callgrind", std::process::id());
    let counts = std::env::temp_dir().join(name);
    let mut command = Command::new("valgrind");
    command
        .arg("--tool=callgrind")
        .arg(format!("--callgrind-out-file={}", counts.display()))
        .arg(std::env::current_exe()?)
        .arg(part);
    let server = Server::start(&mut command).map_err(|error| {
        io::Error::other(format!(
            "could not count instructions by `valgrind`: {error}"
        ))
    })?;
    let mut load = Load::open(server.address, wanted.clone(), CONNECTIONS, "").await?;
    load.call(calls).await?;
    drop(load);
    server.end()?;
    let total = total(&counts);
    std::fs::remove_file(&counts)?;
    total
}

fn total(counts: &Path) -> io::Result<f64> {
    let text = std::fs::read_to_string(counts)?;
    let mut lines = text.lines();
    let total = lines.find_map(|line| line.strip_prefix("totals: ")?.trim().parse().ok());
    total.ok_or_else(|| io::Error::other("`valgrind` left no count"))
}
