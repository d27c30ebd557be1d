//! As many sockets as there are peers, on both sides of the wire.

use std::io;

use rustix::process::{Resource, getrlimit, setrlimit};

/// What a process opens beside the sockets of peers: agents, files, the pool of connections.
const BESIDE: u64 = 512;

/// Sees that this process, and those it starts, may open so many.
///
/// # Errors
///
/// The system may not allow so many.
pub(crate) fn provide(sockets: usize) -> io::Result<()> {
    let wanted = sockets as u64 + BESIDE;
    let mut limit = getrlimit(Resource::Nofile);
    if limit.current.is_none_or(|current| current >= wanted) {
        return Ok(());
    }
    if let Some(most) = limit.maximum.filter(|most| *most < wanted) {
        return Err(io::Error::other(format!(
            "{sockets} connections need {wanted} open files, and the system allows {most}: \
             raise it (`ulimit -Hn {wanted}`) or ask for fewer"
        )));
    }
    limit.current = Some(wanted);
    Ok(setrlimit(Resource::Nofile, limit)?)
}
