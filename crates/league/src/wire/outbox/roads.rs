//! What all posts of a process share.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::http::client::Client;
use crate::http::endpoint::AllowList;
use crate::wire::limiter::Limiter;
use crate::wire::observed::Latencies;
use crate::wire::sessions::Sessions;

/// What carries letters, shared by all posts of a process.
#[derive(Clone)]
pub(crate) struct OutboxContext {
    /// Calls those whose manner is known.
    pub(crate) client: Client,
    /// Finds out the manner of all others.
    pub(crate) peers: Sessions,
    /// Bounds how many letters are under way.
    pub(crate) limiter: Limiter,
    /// Which addresses are called.
    pub(crate) allowed: AllowList,
    /// How long those take to answer who are called.
    pub(crate) latencies: Latencies,
    /// Whether those at their ends are leaving.
    deserted: Arc<AtomicBool>,
}

impl OutboxContext {
    /// OutboxContext on which nobody has gone yet, to these addresses.
    pub(crate) fn new(allowed: AllowList) -> Self {
        let client = Client::default();
        Self {
            peers: Sessions::new(client.clone()),
            client,
            limiter: Limiter::default(),
            allowed,
            latencies: Latencies::default(),
            deserted: Arc::default(),
        }
    }

    /// The agents of this process are about to end: it is no news that they no longer answer.
    pub(crate) fn desert(&self) {
        self.deserted.store(true, Ordering::Relaxed);
    }

    /// Whether the agents of this process are about to end.
    pub(crate) fn are_deserted(&self) -> bool {
        self.deserted.load(Ordering::Relaxed)
    }
}
