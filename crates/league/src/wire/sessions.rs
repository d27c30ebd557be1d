//! The peers of one process: the call style of each, detected once and shared by all callers.
//!
//! Sessions are opened when a peer is first called, reopened when the peer has forgotten them, kept
//! alive while they idle, and ended with the process. Detecting a peer's call style has its own
//! time budget; other callers of the peer wait for the same result. A peer that does not behave as
//! detected is probed again, but not more often than [`PROBE_INTERVAL`] allows.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock, Weak};
use std::time::Duration;

use league_core::letter::Peer;
use league_core::timeouts::CALL_STYLE_TIMEOUT;
use league_protocol::peer::{
    self, HttpReply, PeerProfile, PeerRequest, Probe, ProbeStep, ToolList,
};
use league_protocol::sender::{Agent, CallStyle};
use serde_json::{Value, json};
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::http::client::{Answer, CallError, Client};
use crate::http::endpoint::Endpoint;

/// The most known peers; to make room, the least recently called peer is forgotten.
pub(crate) const MAX_PEERS: usize = 4_096;
/// The most peers that are shown.
pub(crate) const MAX_SHOWN: usize = 256;
/// The interval between checks of idle sessions.
pub(crate) const HEARTBEAT: Duration = Duration::from_secs(30);
/// How long an unused session is kept alive before it is ended.
pub(crate) const IDLE_TIMEOUT: Duration = Duration::from_secs(30 * 60);
/// The most idle sessions checked at once.
const BEATS_AT_ONCE: usize = 64;
/// How long ending all sessions may take.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);

#[derive(Clone)]
pub(crate) struct Sessions {
    known: Arc<SessionTable>,
}

struct SessionTable {
    client: Client,
    sessions: Mutex<BTreeMap<Arc<str>, NamedSession>>,
    beating: AtomicBool,
}

/// A session, and the agent it connects to.
#[derive(Clone)]
struct NamedSession {
    agent: Arc<str>,
    session: Arc<PeerSession<Http>>,
}

/// Carries requests to a peer over HTTP.
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
    /// Starts without known peers.
    pub(crate) fn new(client: Client) -> Self {
        Self {
            known: Arc::new(SessionTable {
                client,
                sessions: Mutex::default(),
                beating: AtomicBool::new(false),
            }),
        }
    }

    /// The session with a peer, shared by all callers.
    pub(crate) fn session(&self, peer: &Peer, endpoint: &Endpoint) -> Arc<PeerSession<Http>> {
        let mut sessions = self.known.sessions();
        if let Some(named) = sessions.get_mut(&peer.endpoint) {
            let agent = peer.agent.to_string();
            if *named.agent != *agent {
                named.agent = agent.into();
            }
            return Arc::clone(&named.session);
        }
        let session = Arc::new(PeerSession::new(Http {
            client: self.known.client.clone(),
            endpoint: endpoint.clone(),
        }));
        let oldest = (sessions.len() >= MAX_PEERS).then(|| make_room(&mut sessions));
        let named = NamedSession {
            agent: peer.agent.to_string().into(),
            session: Arc::clone(&session),
        };
        sessions.insert(Arc::clone(&peer.endpoint), named);
        drop(sessions);
        if let Some(oldest) = oldest.flatten() {
            tokio::spawn(async move { oldest.session.end().await });
        }
        self.begin_beating();
        session
    }

    /// The session with a manager that takes calls in another style than ours do, once it has
    /// answered in that style.
    pub(crate) fn foreign_manager(&self, peer: &Peer) -> Option<Arc<PeerSession<Http>>> {
        if peer.agent != Agent::Manager {
            return None;
        }
        let session = self.known.sessions().get(&peer.endpoint)?.session.clone();
        session.is_foreign().then_some(session)
    }

    /// The call style of the peer at an address, if it is settled.
    pub(crate) fn style(&self, endpoint: &str) -> Option<CallStyle> {
        let session = self.known.sessions().get(endpoint)?.session.clone();
        let (found, state) = session.known();
        let found = found.filter(|found| found.heard && state == "settled")?;
        Some(found.style)
    }

    /// The state of each known peer, and the names of all their tools.
    pub(crate) fn shown(&self) -> Value {
        let sessions = self.known.sessions().clone();
        let mut tool_names = ToolNames::default();
        let mut peers = Vec::new();
        for (endpoint, named) in sessions.iter().take(MAX_SHOWN) {
            let (found, state) = named.session.known();
            if let Some(tools) = found.as_ref().and_then(|found| found.tools.as_ref()) {
                tool_names.add(&named.agent, tools);
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
        json!({"known": sessions.len(), "peers": peers, "tools": tool_names.names()})
    }

    /// Ends all sessions, within [`CLOSE_TIMEOUT`].
    pub(crate) async fn close(&self) {
        let sessions: Vec<_> = self.known.sessions().values().cloned().collect();
        let mut ends = JoinSet::new();
        for named in sessions {
            ends.spawn(async move { named.session.end().await });
        }
        // The sessions end in parallel, so a hanging peer does not delay the others.
        let _ = tokio::time::timeout(CLOSE_TIMEOUT, ends.join_all()).await;
    }

    /// Checks idle sessions periodically until the table of peers is dropped.
    fn begin_beating(&self) {
        if self.known.beating.swap(true, Ordering::Relaxed) {
            return;
        }
        let known = Arc::downgrade(&self.known);
        tokio::spawn(beat(known));
    }
}

impl SessionTable {
    fn sessions(&self) -> std::sync::MutexGuard<'_, BTreeMap<Arc<str>, NamedSession>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn beat(known: Weak<SessionTable>) {
    loop {
        tokio::time::sleep(HEARTBEAT).await;
        let Some(known) = known.upgrade() else { return };
        let sessions: Vec<_> = known.sessions().values().cloned().collect();
        drop(known);
        for together in sessions.chunks(BEATS_AT_ONCE) {
            let mut beats = JoinSet::new();
            for named in together.iter().cloned() {
                beats.spawn(async move { named.session.look_after().await });
            }
            beats.join_all().await;
        }
    }
}

/// Forgets the least recently called peer.
fn make_room(sessions: &mut BTreeMap<Arc<str>, NamedSession>) -> Option<NamedSession> {
    let oldest = sessions
        .iter()
        .min_by_key(|(_, named)| named.session.used_at());
    let oldest = oldest.map(|(endpoint, _)| Arc::clone(endpoint))?;
    sessions.remove(&oldest)
}

/// How long one probe request may take.
pub(crate) const QUESTION_TIMEOUT: Duration = Duration::from_secs(3);
/// How long a probe is kept back if this machine cannot call.
const LOCAL_WAIT: Duration = Duration::from_millis(100);
/// The least time between two detections.
pub(crate) const PROBE_INTERVAL: Duration = Duration::from_secs(1);

/// Sends a request to a peer and returns the answer.
pub(crate) trait Carrier: Send + Sync + 'static {
    /// How long a peer may take to answer one probe request.
    fn probe_timeout(&self) -> Duration {
        QUESTION_TIMEOUT
    }

    /// Sends a request once.
    fn carry(
        &self,
        request: &PeerRequest,
        timeout: Duration,
    ) -> impl Future<Output = Result<Answer, CallError>> + Send;
}

/// A peer and its detected call style.
pub(crate) struct PeerSession<C> {
    carrier: C,
    ids: AtomicU64,
    held: RwLock<SessionState>,
    /// Held while the call style is being detected.
    asking: tokio::sync::Mutex<()>,
}

#[derive(Default)]
struct SessionState {
    found: Option<Arc<PeerProfile>>,
    /// Whether the peer has since behaved differently, or did not answer the probe.
    doubted: bool,
    /// Whether the peer has answered a call in this style.
    proved: bool,
    /// Whether all layouts were tried on the peer, and none worked.
    exhausted: bool,
    /// The profile for each of our tools that the peer does not take as it takes the others.
    by_tool: BTreeMap<&'static str, Arc<PeerProfile>>,
    /// Whether a call by tool name was tried on the peer, and the peer did not understand it.
    refuses_tools: bool,
    found_at: Option<Instant>,
    used_at: Option<Instant>,
}

pub(crate) struct CallResult {
    /// The profile used for the call.
    pub(crate) profile: Arc<PeerProfile>,
    pub(crate) id: u64,
    pub(crate) answer: Answer,
}

impl<C: Carrier> PeerSession<C> {
    /// An unknown peer.
    pub(crate) fn new(carrier: C) -> Self {
        Self {
            carrier,
            ids: AtomicU64::new(1),
            held: RwLock::default(),
            asking: tokio::sync::Mutex::new(()),
        }
    }

    pub(crate) fn carrier(&self) -> &C {
        &self.carrier
    }

    /// The profile of the peer, detected now if it is not known.
    pub(crate) async fn profile(&self) -> Arc<PeerProfile> {
        if let Some(found) = self.settled() {
            return found;
        }
        let _alone = self.asking.lock().await;
        match self.settled() {
            Some(found) => found,
            None => self.find_out().await,
        }
    }

    /// Assumes that the peer uses this layout, until its replies show otherwise.
    pub(crate) fn assume(&self, layout: CallStyle) {
        self.held_mut(|held| {
            let assumed = || Arc::new(PeerProfile::plain(layout));
            held.found.get_or_insert_with(assumed);
        });
    }

    /// The profile for calls of one tool, if it is known to differ from that for others.
    pub(crate) fn profile_for(&self, tool: &str) -> Option<Arc<PeerProfile>> {
        self.held(|held| held.by_tool.get(tool).map(Arc::clone))
    }

    /// Keeps the profile for calls of one tool; calls of others stay as they are.
    pub(crate) fn keep_for(&self, tool: &'static str, profile: &Arc<PeerProfile>) {
        self.held_mut(|held| held.by_tool.insert(tool, Arc::clone(profile)));
    }

    /// Whether the peer has answered in this layout of a plain call, which is then kept.
    pub(crate) fn is_proved(&self, found: &Arc<PeerProfile>) -> bool {
        found.layout().is_some() && self.held(|held| held.proved && held.is(found))
    }

    /// Whether nothing is known of the peer's style yet.
    pub(crate) fn is_unknown(&self) -> bool {
        self.held(|held| held.found.is_none() && !held.refuses_tools)
    }

    /// Whether the peer has answered in another style than that of the documents.
    fn is_foreign(&self) -> bool {
        let is_other = |found: &Arc<PeerProfile>| found.layout() != Some(CallStyle::Tool);
        self.held(|held| held.proved && held.found.as_ref().is_some_and(is_other))
    }

    /// The other layouts to try on a peer that takes plain calls. If it has answered in the current
    /// layout, they are tried only for a tool that it does not know by this name.
    pub(crate) fn other_layouts(
        &self,
        found: &Arc<PeerProfile>,
        tool: &str,
        is_unknown_method: bool,
    ) -> impl Iterator<Item = Arc<PeerProfile>> + use<C> {
        let settled = match self.is_proved(found) {
            true => !is_unknown_method,
            false => self.held(|held| held.exhausted),
        };
        let settled = settled || self.profile_for(tool).is_some();
        let tried = found.layout().filter(|_| !settled);
        let others = CallStyle::LAYOUTS
            .into_iter()
            .take(CallStyle::TRIED)
            .filter(move |layout| tried.is_some_and(|tried| tried != *layout));
        others.map(|layout| Arc::new(PeerProfile::plain(layout)))
    }

    /// No layout worked: the others are not tried again as long as the peer is known.
    pub(crate) fn exhaust(&self) {
        self.held_mut(|held| held.exhausted = true);
    }

    /// Records that the peer did not understand a call by tool name.
    pub(crate) fn refuse_tools(&self) {
        self.held_mut(|held| held.refuses_tools = true);
    }

    pub(crate) fn refuses_tools(&self) -> bool {
        self.held(|held| held.refuses_tools)
    }

    /// Records that the peer has answered a call in this style.
    pub(crate) fn prove(&self, found: &Arc<PeerProfile>) {
        if self.held(|held| held.proved && held.is(found)) {
            return;
        }
        self.held_mut(|held| {
            held.found = Some(Arc::clone(found));
            held.found_at = Some(Instant::now());
            held.doubted = false;
            held.proved = true;
        });
    }

    /// Calls the peer with the request that `write` returns for its profile; `None` if `write`
    /// returns none. If the peer has forgotten the session, it is called once more in a new
    /// session.
    ///
    /// # Errors
    ///
    /// The call failed.
    pub(crate) async fn call(
        &self,
        found: Arc<PeerProfile>,
        timeout: Duration,
        write: impl Fn(&PeerProfile, u64) -> Option<PeerRequest>,
    ) -> Result<Option<CallResult>, CallError> {
        let began = Instant::now();
        self.held_mut(|held| held.used_at = Some(began));
        let Some((id, answer)) = self.once(&found, timeout, &write).await? else {
            return Ok(None);
        };
        if !peer::is_expired(&found, &answer.reply()) {
            return Ok(Some(CallResult {
                profile: found,
                id,
                answer,
            }));
        }
        // Only the new handshake is excluded from the timeout: a peer must not gain time by
        // forgetting the session.
        let left = timeout.saturating_sub(began.elapsed());
        let found = self.renewed(&found).await;
        let again = self.once(&found, left, &write).await?;
        Ok(again.map(|(id, answer)| CallResult {
            profile: found,
            id,
            answer,
        }))
    }

    async fn once(
        &self,
        found: &PeerProfile,
        timeout: Duration,
        write: impl Fn(&PeerProfile, u64) -> Option<PeerRequest>,
    ) -> Result<Option<(u64, Answer)>, CallError> {
        let id = self.id();
        let Some(request) = write(found, id) else {
            return Ok(None);
        };
        let answer = self.carrier.carry(&request, timeout).await?;
        Ok(Some((id, answer)))
    }

    /// The peer did not behave as detected: the next call detects its style again.
    pub(crate) fn doubt(&self, found: &Arc<PeerProfile>) {
        self.held_mut(|held| {
            let before = held.by_tool.len();
            held.by_tool.retain(|_, kept| !Arc::ptr_eq(kept, found));
            held.doubted |= held.is(found) || held.by_tool.len() < before;
        });
    }

    /// The profile of the peer, and one word on its certainty.
    pub(crate) fn known(&self) -> (Option<Arc<PeerProfile>>, &'static str) {
        self.held(|held| {
            let state = match &held.found {
                None => "unknown",
                Some(_) if held.doubted => "doubted",
                Some(_) => "settled",
            };
            (held.found.clone(), state)
        })
    }

    /// When the peer was last called; `None`, for an unused session, sorts first.
    pub(crate) fn used_at(&self) -> Option<Instant> {
        self.held(|held| held.used_at)
    }

    /// Keeps an idle session alive, or ends it after [`IDLE_TIMEOUT`].
    pub(crate) async fn look_after(&self) {
        let (found, used_at) = self.held(|held| (held.found.clone(), held.used_at));
        let Some(found) = found.filter(|found| found.has_session()) else {
            return;
        };
        let idle = used_at.map_or(IDLE_TIMEOUT, |at| at.elapsed());
        if idle >= IDLE_TIMEOUT {
            return self.end().await;
        }
        if idle < HEARTBEAT {
            return;
        }
        let beat = peer::ping(&found, self.id());
        if let Some(beat) = beat
            && let Ok(answer) = self.carrier.carry(&beat, QUESTION_TIMEOUT).await
            && peer::is_expired(&found, &answer.reply())
        {
            self.renewed(&found).await;
        }
    }

    /// Ends the session with the peer, if there is one; the next call opens another.
    pub(crate) async fn end(&self) {
        let found = self.held_mut(|held| {
            let with_session = |found: &mut Arc<PeerProfile>| found.has_session();
            held.found.take_if(with_session)
        });
        let Some(found) = found else { return };
        if let Some(end) = found.session.as_ref().and_then(peer::end) {
            // A server that does not support ending sessions expires them itself.
            let _ = self.carrier.carry(&end, QUESTION_TIMEOUT).await;
        }
    }

    /// Opens a new session with a peer that has forgotten this one; all callers that notice share
    /// it.
    async fn renewed(&self, old: &Arc<PeerProfile>) -> Arc<PeerProfile> {
        let _alone = self.asking.lock().await;
        let known = self.held(|held| held.found.clone());
        if let Some(other) = known.filter(|known| !Arc::ptr_eq(known, old)) {
            return other;
        }
        let mut found = self.converse(Probe::renew).await;
        if found.layout().is_some() {
            return self.find_out().await;
        }
        found.tools = found.tools.or_else(|| old.tools.clone());
        self.keep(found)
    }

    async fn find_out(&self) -> Arc<PeerProfile> {
        let found = self.converse(Probe::begin).await;
        self.keep(found)
    }

    /// Sends the probe requests one after the other, within one budget.
    async fn converse(&self, begin: fn(u64) -> (Probe, ProbeStep)) -> PeerProfile {
        let longest = self.carrier.probe_timeout();
        let until = Instant::now() + CALL_STYLE_TIMEOUT.max(2 * longest);
        let (mut probe, mut step) = begin(self.id());
        let mut hung = false;
        loop {
            let request = match step {
                ProbeStep::Ask(request) => request,
                ProbeStep::Found(mut found) => {
                    found.heard |= hung;
                    return found;
                }
            };
            let wait = until.duration_since(Instant::now()).min(longest);
            let answer = self.carrier.carry(&request, wait).await;
            let is_local = matches!(answer, Err(CallError::Local(_) | CallError::Unresolved(_)));
            if is_local && Instant::now() < until {
                tokio::time::sleep(LOCAL_WAIT).await;
                step = ProbeStep::Ask(request);
                continue;
            }
            // A peer that times out exists, and may answer requests that it understands.
            hung |= matches!(answer, Err(CallError::Timeout(_)));
            let reply = answer.as_ref().ok().map(Answer::reply);
            step = probe.hear(reply.as_ref(), self.id());
        }
    }

    /// Keeps what a probe found. A layout that once brought a result stays, unless the peer turned
    /// out to speak MCP.
    fn keep(&self, found: PeerProfile) -> Arc<PeerProfile> {
        self.held_mut(|held| {
            let proved = held.found.clone().filter(|_| held.proved);
            let proved = proved.filter(|old| old.layout().is_some() && found.layout().is_some());
            let heard = found.heard;
            let found = match proved {
                Some(proved) => {
                    held.exhausted = false;
                    proved
                }
                None => {
                    held.by_tool.clear();
                    Arc::new(found)
                }
            };
            let digest = |found: &PeerProfile| found.tools.as_ref().map(|tools| tools.digest());
            let before = held.found.as_ref().and_then(|found| digest(found));
            if before.is_some() && before != digest(&found) {
                tracing::warn!(
                    event_type = "TOOLS_CHANGED",
                    "a peer lists other tools than before"
                );
            }
            held.doubted = !heard;
            held.proved = false;
            held.found_at = Some(Instant::now());
            held.found = Some(Arc::clone(&found));
            found
        })
    }

    /// The profile, if it is reliable or it is too early to probe again.
    fn settled(&self) -> Option<Arc<PeerProfile>> {
        self.held(|held| {
            let early = held
                .found_at
                .is_some_and(|at| at.elapsed() < PROBE_INTERVAL);
            held.found.clone().filter(|_| !held.doubted || early)
        })
    }

    fn id(&self) -> u64 {
        self.ids.fetch_add(1, Ordering::Relaxed)
    }

    fn held<T>(&self, look: impl FnOnce(&SessionState) -> T) -> T {
        look(&self.held.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn held_mut<T>(&self, change: impl FnOnce(&mut SessionState) -> T) -> T {
        change(&mut self.held.write().unwrap_or_else(PoisonError::into_inner))
    }
}

impl SessionState {
    fn is(&self, found: &Arc<PeerProfile>) -> bool {
        let held = self.found.as_ref();
        held.is_some_and(|held| Arc::ptr_eq(held, found))
    }
}

impl Answer {
    /// The answer as the decoder takes it.
    pub(crate) fn reply(&self) -> HttpReply<'_> {
        HttpReply {
            status: self.status,
            session: self.session.as_deref(),
            body: &self.body,
        }
    }
}

/// The most tools that are listed.
const MAX_TOOL_NAMES: usize = 1_024;

#[derive(Debug, Default)]
pub(crate) struct ToolNames {
    /// The servers that offer a tool of this name.
    servers: BTreeMap<String, Vec<String>>,
}

impl ToolNames {
    pub(crate) fn add(&mut self, server: &str, tools: &ToolList) {
        for tool in tools.names() {
            let servers = self.servers.entry(tool.to_owned()).or_default();
            servers.push(server.to_owned());
        }
    }

    /// The display name of each tool: its own name, or `server.tool` if several servers offer it.
    pub(crate) fn names(&self) -> Vec<String> {
        let named = |(tool, servers): (&String, &Vec<String>)| -> Vec<String> {
            match &servers[..] {
                [_] => vec![tool.clone()],
                _ => servers
                    .iter()
                    .map(|server| format!("{server}.{tool}"))
                    .collect(),
            }
        };
        self.servers
            .iter()
            .flat_map(named)
            .take(MAX_TOOL_NAMES)
            .collect()
    }
}

#[cfg(test)]
mod tests;
