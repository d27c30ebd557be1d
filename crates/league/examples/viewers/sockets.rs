//! As many sockets as there are viewers, on both sides of the wire.

use std::io;

use rustix::process::{Resource, getrlimit, setrlimit};

/// What a process opens beside the sockets of viewers: agents, files, the pool of connections.
const BESIDE: u64 = 512;

/// Sees that this process, and those it starts, may open a socket for every viewer.
///
/// # Errors
///
/// The system may not allow so many.
pub(crate) fn provide(viewers: usize) -> io::Result<()> {
    let wanted = viewers as u64 + BESIDE;
    let mut limit = getrlimit(Resource::Nofile);
    if limit.current.is_none_or(|current| current >= wanted) {
        return Ok(());
    }
    if let Some(most) = limit.maximum.filter(|most| *most < wanted) {
        return Err(io::Error::other(format!(
            "{viewers} viewers need {wanted} open files, and the system allows {most}: \
             raise it (`ulimit -Hn {wanted}`) or ask for fewer `--viewers`"
        )));
    }
    limit.current = Some(wanted);
    Ok(setrlimit(Resource::Nofile, limit)?)
}
