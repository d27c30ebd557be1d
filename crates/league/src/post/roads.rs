//! What all posts of a process share.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::net::client::Client;
use crate::net::endpoint::AllowList;
use crate::observed::Latencies;
use crate::peers::Peers;
use crate::turnstile::Turnstile;

/// What carries letters, shared by all posts of a process.
#[derive(Clone)]
pub struct Roads {
    /// Calls those whose manner is known.
    pub client: Client,
    /// Finds out the manner of all others.
    pub peers: Peers,
    /// Bounds how many letters are under way.
    pub turnstile: Turnstile,
    /// Which addresses are called.
    pub allowed: AllowList,
    /// How long those take to answer who are called.
    pub latencies: Latencies,
    /// Whether those at their ends are leaving.
    deserted: Arc<AtomicBool>,
}

impl Roads {
    /// Roads on which nobody has gone yet, to these addresses.
    pub fn new(allowed: AllowList) -> Self {
        let client = Client::default();
        Self {
            peers: Peers::new(client.clone()),
            client,
            turnstile: Turnstile::default(),
            allowed,
            latencies: Latencies::default(),
            deserted: Arc::default(),
        }
    }

    /// The agents of this process are about to end: it is no news that they no longer answer.
    pub fn desert(&self) {
        self.deserted.store(true, Ordering::Relaxed);
    }

    /// Whether the agents of this process are about to end.
    pub fn are_deserted(&self) -> bool {
        self.deserted.load(Ordering::Relaxed)
    }
}
