//! The wish to end: Ctrl-C, or a polite signal.

use tokio::signal::unix::{Signal, SignalKind, signal};

use super::failure::{Failure, Kind};

/// A wish to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wish {
    /// Ctrl-C: somebody breaks off.
    Interrupt,
    /// A polite end, as a supervisor asks for it.
    Terminate,
}

/// Hears the wish to end.
pub(super) struct Signals {
    interrupt: Signal,
    terminate: Signal,
}

impl Signals {
    pub(super) fn new() -> Result<Self, Failure> {
        let hear = |kind| {
            signal(kind).map_err(|error| Failure {
                what: "could not listen for signals".to_owned(),
                cause: error.to_string(),
                hint: "try again".to_owned(),
                kind: Kind::World,
            })
        };
        Ok(Self {
            interrupt: hear(SignalKind::interrupt())?,
            terminate: hear(SignalKind::terminate())?,
        })
    }

    /// Waits for the wish to end, and tells which it is.
    pub(super) async fn heard(&mut self) -> Wish {
        tokio::select! {
            _ = self.interrupt.recv() => Wish::Interrupt,
            _ = self.terminate.recv() => Wish::Terminate,
        }
    }

    /// Waits for the wish to end, of whatever kind.
    pub(super) async fn interrupted(&mut self) {
        self.heard().await;
    }
}
