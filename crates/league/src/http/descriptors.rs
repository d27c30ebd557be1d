//! The descriptors of this process: how many there are, what they are for, and what happens when
//! they run out.
//!
//! A connection, a listener and an open file take one each. A process that wants more than the
//! system allows gets an error where it happens to ask next. So the connections are bounded before
//! that, and a shortage is never taken for a failure of the other side.

use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rustix::io::Errno;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use thiserror::Error;
use tokio::sync::watch;
use tokio::time::Instant;

use super::local;
use crate::log::MAX_OPEN_FILES;

/// What a process opens beside agents and connections: standard streams, the runtime, common logs,
/// documents that are being written.
const FOR_PROCESS: usize = 24;
/// The most agents that keep their journals open where those of players are opened for each batch: a
/// manager and its referees.
const MAX_OPEN_JOURNALS: usize = 1_001;
/// The fewest connections that a process works with, a third of them for its own calls.
const MIN_CONNECTIONS: usize = 24;
/// One more for so many agents.
const AGENTS_OF_A_CONNECTION: usize = 8;
/// The limit that is assumed if the system has none.
const UNLIMITED: usize = 1 << 20;

/// Raises the number of descriptors to the most that this process may give itself.
pub(crate) fn raise_limit() {
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: limit.maximum,
        maximum: limit.maximum,
    };
    // A small league works with the old limit too.
    let _ = setrlimit(Resource::Nofile, raised);
}

/// How many files and connections this process may open.
pub(crate) fn open_files() -> usize {
    let limit = getrlimit(Resource::Nofile).current;
    limit.map_or(UNLIMITED, |most| usize::try_from(most).unwrap_or(UNLIMITED))
}

/// The descriptors of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Descriptors {
    limit: usize,
    /// What is left for connections.
    left: usize,
    /// Whether players keep their journals open between two batches.
    pub(crate) keeps_journals_open: bool,
}

/// The system allows too few descriptors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error(
    "the system allows this process `{limit}` open files and connections, and {agents} agents \
     need `{needed}`"
)]
pub(crate) struct TooFewDescriptors {
    pub(crate) limit: usize,
    pub(crate) needed: usize,
    agents: usize,
}

impl Descriptors {
    /// The descriptors of a process with so many agents and listeners.
    ///
    /// # Errors
    ///
    /// Too few are left for connections.
    pub(crate) fn of(agents: usize, listeners: usize) -> Result<Self, TooFewDescriptors> {
        Self::within(open_files(), agents, listeners)
    }

    fn within(limit: usize, agents: usize, listeners: usize) -> Result<Self, TooFewDescriptors> {
        let connections = MIN_CONNECTIONS + agents / AGENTS_OF_A_CONNECTION;
        let taken_with = |journals: usize| {
            let locks = agents;
            FOR_PROCESS + locks + journals + agents.min(MAX_OPEN_FILES) + listeners
        };
        let keeps_journals_open = limit >= taken_with(agents) + connections;
        let taken = taken_with(match keeps_journals_open {
            true => agents,
            false => agents.min(MAX_OPEN_JOURNALS),
        });
        let needed = taken + connections;
        if limit < needed {
            return Err(TooFewDescriptors {
                limit,
                needed,
                agents,
            });
        }
        Ok(Self {
            limit,
            left: limit - taken,
            keeps_journals_open,
        })
    }

    /// How many connections may come in: as many as wanted, at most half of the descriptors, and so
    /// many that the agents of one process do not crowd each other out.
    pub(crate) fn incoming(self, wanted: usize) -> usize {
        wanted.min(self.limit / 2).min(self.left * 2 / 3)
    }

    /// How many connections may go out if so many are wanted the other way.
    pub(crate) fn outgoing(self, incoming: usize) -> usize {
        self.left - self.incoming(incoming)
    }
}

/// Whether an error says that this machine lacks descriptors, memory or buffers.
pub(crate) fn is_shortage(error: &io::Error) -> bool {
    let lacking = [Errno::MFILE, Errno::NFILE, Errno::NOBUFS, Errno::NOMEM];
    let found = error.raw_os_error();
    lacking
        .iter()
        .any(|lack| Some(lack.raw_os_error()) == found)
}

/// Whether connecting failed at this machine and not at the peer.
pub(crate) fn is_local(error: &io::Error, peer: SocketAddr) -> bool {
    is_local_with(|to| local::route(to).is_ok(), error, peer)
}

/// The same on a machine with these routes.
///
/// Without a free port the system says that the address is not available. It says the same of an
/// address that this machine has no way to, which the peer has to answer for. A network is
/// unreachable from here if this machine has no route to the peer and none to anywhere else; if it
/// has another, the peer gave an address that cannot be reached.
fn is_local_with(
    has_route: impl Fn(SocketAddr) -> bool,
    error: &io::Error,
    peer: SocketAddr,
) -> bool {
    is_shortage(error)
        || match error.kind() {
            io::ErrorKind::AddrNotAvailable => has_route(peer),
            io::ErrorKind::NetworkUnreachable => !has_route(peer) && !has_route(local::ANYWHERE),
            io::ErrorKind::NetworkDown => true,
            _ => false,
        }
}

/// How long calls may fail at this machine, without one that succeeds, before a league is stopped.
const SHORTAGE_TIMEOUT: Duration = Duration::from_secs(60);
/// The least time between two warnings.
const WARNING_INTERVAL: Duration = Duration::from_secs(60);

/// Watches whether this machine is able to call; clones share the state.
#[derive(Debug, Clone, Default)]
pub(crate) struct Shortage(Arc<ShortageState>);

#[derive(Debug, Default)]
struct ShortageState {
    current: watch::Sender<Option<CallShortage>>,
    warned_at: Mutex<Option<Instant>>,
}

/// Calls fail at this machine.
#[derive(Debug, Clone)]
struct CallShortage {
    since: Instant,
    cause: String,
}

impl Shortage {
    /// Records a call that failed here.
    pub(crate) fn begin(&self, cause: &str) {
        let is_new = self.0.current.send_if_modified(|current| {
            let is_new = current.is_none();
            current.get_or_insert_with(|| CallShortage {
                since: Instant::now(),
                cause: cause.to_owned(),
            });
            is_new
        });
        if is_new {
            self.warn(cause);
        }
    }

    fn warn(&self, cause: &str) {
        let mut warned_at = self
            .0
            .warned_at
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if warned_at.is_some_and(|at| at.elapsed() < WARNING_INTERVAL) {
            return;
        }
        *warned_at = Some(Instant::now());
        tracing::warn!(
            event_type = "CALLS_POSTPONED",
            "this machine cannot make calls for now: {cause}; they wait, and no agent is blamed; \
             it may open `{}` files and connections, so raise that with `ulimit -n` or end other \
             programs",
            open_files()
        );
    }

    /// Records a call that went out.
    pub(crate) fn end(&self) {
        let current = &self.0.current;
        current.send_if_modified(|current| current.take().is_some());
    }

    /// Waits until calls have failed here for too long; gives the cause.
    pub(crate) async fn persists(&self) -> String {
        let mut state = self.0.current.subscribe();
        loop {
            let begun = state.borrow_and_update().clone();
            let changed = state.changed();
            match begun {
                Some(CallShortage { since, cause }) => {
                    let until = since + SHORTAGE_TIMEOUT;
                    if tokio::time::timeout_at(until, changed).await.is_err() {
                        return cause;
                    }
                }
                // The sender lives as long as `self`.
                None => drop(changed.await),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_share_what_agents_leave() {
        let few = Descriptors::within(63, 8, 8).unwrap_err();
        assert_eq!((few.limit, few.needed), (63, 81));
        let just = Descriptors::within(81, 8, 8).unwrap();
        assert_eq!((just.incoming(4_096), just.outgoing(4_096)), (16, 9));
        let usual = Descriptors::within(1_024, 1, 1).unwrap();
        assert_eq!((usual.incoming(4_096), usual.outgoing(4_096)), (512, 484));
        let many = Descriptors::within(20_000, 1, 1).unwrap();
        assert_eq!(many.incoming(4_096), 4_096);
        assert_eq!(many.outgoing(4_096), many.left - 4_096);
    }

    #[test]
    fn players_close_their_journals_where_descriptors_are_few() {
        let keeps = |limit, agents| {
            let descriptors = Descriptors::within(limit, agents, 2);
            descriptors.map(|own| own.keeps_journals_open)
        };
        assert_eq!(keeps(1_024, 30), Ok(true));
        assert_eq!(keeps(20_000, 9_000), Ok(true));
        assert_eq!(keeps(20_000, 10_003), Ok(false));
        assert_eq!(keeps(11_000, 10_003).unwrap_err().needed, 12_816);
    }

    #[test]
    fn lack_of_descriptors_and_ports_is_local_and_a_refusal_is_not() {
        let peer = SocketAddr::from(([192, 0, 2, 7], 1));
        let is_local =
            |routes: &[SocketAddr], error| is_local_with(|to| routes.contains(&to), &error, peer);
        let error = |errno: Errno| io::Error::from_raw_os_error(errno.raw_os_error());
        for own in [
            Errno::MFILE,
            Errno::NFILE,
            Errno::NOBUFS,
            Errno::NOMEM,
            Errno::ADDRNOTAVAIL,
        ] {
            assert!(is_local(&[peer], error(own)), "{own}");
        }
        for others in [Errno::CONNREFUSED, Errno::CONNRESET, Errno::HOSTUNREACH] {
            assert!(!is_local(&[peer], error(others)), "{others}");
        }
        assert!(!is_local(&[], error(Errno::ADDRNOTAVAIL)));
    }

    #[test]
    fn dead_network_of_this_machine_is_local_and_an_address_without_a_route_is_not() {
        let peer = SocketAddr::from(([192, 0, 2, 7], 1));
        let is_local = |errno: Errno, routes: &[SocketAddr]| {
            let error = io::Error::from_raw_os_error(errno.raw_os_error());
            is_local_with(|to| routes.contains(&to), &error, peer)
        };
        assert!(is_local(Errno::NETDOWN, &[]));
        assert!(is_local(Errno::NETUNREACH, &[]));
        assert!(!is_local(Errno::NETUNREACH, &[peer]), "a router says so");
        assert!(!is_local(Errno::NETUNREACH, &[local::ANYWHERE]));
    }

    #[tokio::test(start_paused = true)]
    async fn shortage_persists_only_without_a_call_that_succeeds() {
        let shortage = Shortage::default();
        let persists = tokio::spawn({
            let shortage = shortage.clone();
            async move { shortage.persists().await }
        });
        shortage.begin("too many open files");
        tokio::time::sleep(SHORTAGE_TIMEOUT / 2).await;
        shortage.end();
        tokio::time::sleep(SHORTAGE_TIMEOUT).await;
        assert!(!persists.is_finished());
        let begun = Instant::now();
        shortage.begin("no buffers");
        assert_eq!(persists.await.unwrap(), "no buffers");
        assert_eq!(begun.elapsed(), SHORTAGE_TIMEOUT);
    }
}
