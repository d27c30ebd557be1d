//! The wish to end: Ctrl-C, or a polite signal.

use tokio::signal::unix::{Signal, SignalKind, signal};

use super::failure::{Failure, Kind};

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

    /// Waits for the wish to end.
    pub(super) async fn interrupted(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}
