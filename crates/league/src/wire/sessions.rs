//! The peers of one process: how each takes calls, found once and shared by all who call it.
//!
//! Sessions are kept here: opened when a peer is first needed, opened anew when it has forgotten
//! them, kept alive while they idle, and ended with the process. What is said is left to others.

pub(crate) mod link;
pub(crate) mod registry;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use league_core::letter::Peer;
use league_protocol::peer::PeerRequest;
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::http::client::{Answer, CallError, Client};
use crate::http::endpoint::Endpoint;
use link::{Carrier, PeerSession};
use registry::Registry;

/// The most peers that are known at once; for one more, the one that was called longest ago is
/// forgotten.
pub(crate) const MOST_PEERS: usize = 4_096;
/// The most peers that are shown.
pub(crate) const MOST_SHOWN: usize = 256;
/// How often idle sessions are looked after.
pub(crate) const HEARTBEAT: Duration = Duration::from_secs(30);
/// How long a session is kept alive that nobody uses; then it is ended.
pub(crate) const KEPT_ALIVE: Duration = Duration::from_secs(30 * 60);
/// How many idle sessions are looked after at once.
const AT_ONCE: usize = 64;
/// How long the ends of all sessions may take.
const FAREWELL: Duration = Duration::from_secs(2);

/// The peers of one process.
#[derive(Clone)]
pub(crate) struct Sessions {
    known: Arc<Known>,
}

struct Known {
    client: Client,
    links: Mutex<BTreeMap<Arc<str>, Named>>,
    beating: AtomicBool,
}

/// A link, and whom it leads to.
#[derive(Clone)]
struct Named {
    agent: Arc<str>,
    link: Arc<PeerSession<Http>>,
}

/// The way to a peer over HTTP.
pub(crate) struct Http {
    client: Client,
    endpoint: Endpoint,
}

impl Carrier for Http {
    async fn carry(&self, request: &PeerRequest, timeout: Duration) -> Result<Answer, CallError> {
        self.client.send(&self.endpoint, request, timeout).await
    }
}

impl Sessions {
    /// Nobody is known yet.
    pub(crate) fn new(client: Client) -> Self {
        Self {
            known: Arc::new(Known {
                client,
                links: Mutex::default(),
                beating: AtomicBool::new(false),
            }),
        }
    }

    /// The link to a peer, the same for all who call it.
    pub(crate) fn link(&self, peer: &Peer, endpoint: &Endpoint) -> Arc<PeerSession<Http>> {
        let mut links = self.known.links();
        if let Some(named) = links.get_mut(&peer.endpoint) {
            let agent = peer.agent.to_string();
            if *named.agent != *agent {
                named.agent = agent.into();
            }
            return Arc::clone(&named.link);
        }
        let link = Arc::new(PeerSession::new(Http {
            client: self.known.client.clone(),
            endpoint: endpoint.clone(),
        }));
        let oldest = (links.len() >= MOST_PEERS).then(|| make_room(&mut links));
        let named = Named {
            agent: peer.agent.to_string().into(),
            link: Arc::clone(&link),
        };
        links.insert(Arc::clone(&peer.endpoint), named);
        drop(links);
        if let Some(oldest) = oldest.flatten() {
            tokio::spawn(async move { oldest.link.end().await });
        }
        self.begin_beating();
        link
    }

    /// What is known of each peer that was asked, and of the tools of all of them.
    pub(crate) fn shown(&self) -> Value {
        let links = self.known.links().clone();
        let mut registry = Registry::default();
        let mut peers = Vec::new();
        for (endpoint, named) in links.iter().take(MOST_SHOWN) {
            let (found, state) = named.link.known();
            if let Some(tools) = found.as_ref().and_then(|found| found.tools.as_ref()) {
                registry.add(&named.agent, tools);
            }
            peers.push(json!({
                "endpoint": endpoint,
                "agent": &*named.agent,
                "speech": found.as_ref().map(|found| found.as_str()),
                "version": found.as_ref().and_then(|found| found.version()),
                "session": found.as_ref().is_some_and(|found| found.has_session()),
                "tools": found.as_ref().and_then(|found| Some(found.tools.as_ref()?.len())),
                "state": state,
            }));
        }
        json!({"known": links.len(), "peers": peers, "tools": registry.names()})
    }

    /// Ends all sessions, within a bound.
    pub(crate) async fn close(&self) {
        let links: Vec<_> = self.known.links().values().cloned().collect();
        let mut ends = JoinSet::new();
        for named in links {
            ends.spawn(async move { named.link.end().await });
        }
        // A peer that hangs does not keep the others from hearing it.
        let _ = tokio::time::timeout(FAREWELL, ends.join_all()).await;
    }

    /// Looks after idle sessions for as long as anybody holds the peers.
    fn begin_beating(&self) {
        if self.known.beating.swap(true, Ordering::Relaxed) {
            return;
        }
        let known = Arc::downgrade(&self.known);
        tokio::spawn(beat(known));
    }
}

impl Known {
    fn links(&self) -> std::sync::MutexGuard<'_, BTreeMap<Arc<str>, Named>> {
        self.links.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn beat(known: Weak<Known>) {
    loop {
        tokio::time::sleep(HEARTBEAT).await;
        let Some(known) = known.upgrade() else { return };
        let links: Vec<_> = known.links().values().cloned().collect();
        drop(known);
        for together in links.chunks(AT_ONCE) {
            let mut beats = JoinSet::new();
            for named in together.iter().cloned() {
                beats.spawn(async move { named.link.look_after().await });
            }
            beats.join_all().await;
        }
    }
}

/// Forgets the peer that was called longest ago.
fn make_room(links: &mut BTreeMap<Arc<str>, Named>) -> Option<Named> {
    let oldest = links.iter().min_by_key(|(_, named)| named.link.used_at());
    let oldest = oldest.map(|(endpoint, _)| Arc::clone(endpoint))?;
    links.remove(&oldest)
}
