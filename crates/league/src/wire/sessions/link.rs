//! One peer and how it takes calls, over whatever carries the bytes.
//!
//! Finding out has its own budget and is shared: whoever needs the peer meanwhile waits for the
//! same answer. A peer that turns out otherwise is found out anew, but not more often than
//! [`REST`] allows.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use league_core::timeouts::CALL_STYLE_TIMEOUT;
use league_protocol::peer::{self, HttpReply, PeerProfile, PeerRequest, Probe, ProbeStep};
use league_protocol::sender::CallStyle;
use tokio::time::Instant;

use super::{HEARTBEAT, KEPT_ALIVE};
use crate::http::client::{Answer, CallError};

/// How long one question about how a peer takes calls may take.
pub(crate) const ONE_QUESTION: Duration = Duration::from_secs(3);
/// The least time between two times of finding out.
pub(crate) const REST: Duration = Duration::from_secs(1);

/// Carries one request to a peer and brings what comes back.
pub(crate) trait Carrier: Send + Sync + 'static {
    /// Carries a request once.
    fn carry(
        &self,
        request: &PeerRequest,
        timeout: Duration,
    ) -> impl Future<Output = Result<Answer, CallError>> + Send;
}

/// One peer.
pub(crate) struct PeerSession<C> {
    carrier: C,
    ids: AtomicU64,
    held: RwLock<Held>,
    /// Held while somebody finds out.
    asking: tokio::sync::Mutex<()>,
}

#[derive(Default)]
struct Held {
    found: Option<Arc<PeerProfile>>,
    /// Whether the peer has turned out otherwise since, or nobody answered.
    doubted: bool,
    /// Whether the peer has answered a call that was written so.
    proved: bool,
    /// Whether all forms were tried on the peer, and none worked.
    exhausted: bool,
    /// Whether a call by the name of a tool was tried on the peer, and it made nothing of it.
    refuses_tools: bool,
    found_at: Option<Instant>,
    used_at: Option<Instant>,
}

/// A call that was answered.
pub(crate) struct Called {
    /// How the peer was spoken to.
    pub(crate) found: Arc<PeerProfile>,
    /// The id of the call.
    pub(crate) id: u64,
    /// What came back.
    pub(crate) answer: Answer,
}

impl<C: Carrier> PeerSession<C> {
    /// A peer of which nothing is known.
    pub(crate) fn new(carrier: C) -> Self {
        Self {
            carrier,
            ids: AtomicU64::new(1),
            held: RwLock::default(),
            asking: tokio::sync::Mutex::new(()),
        }
    }

    /// What carries the bytes.
    pub(crate) fn carrier(&self) -> &C {
        &self.carrier
    }

    /// How the peer takes calls; found out now if nobody has before.
    pub(crate) async fn found(&self) -> Arc<PeerProfile> {
        if let Some(found) = self.settled() {
            return found;
        }
        let _alone = self.asking.lock().await;
        match self.settled() {
            Some(found) => found,
            None => self.find_out().await,
        }
    }

    /// Takes for known, until it turns out otherwise, how a peer is said to take calls.
    pub(crate) fn assume(&self, layout: CallStyle) {
        self.held_mut(|held| {
            let assumed = || Arc::new(PeerProfile::plain(layout));
            held.found.get_or_insert_with(assumed);
        });
    }

    /// The other forms in which a peer may take calls that is spoken to simply; none if it has
    /// answered in the present one.
    pub(crate) fn other_forms(
        &self,
        found: &Arc<PeerProfile>,
    ) -> impl Iterator<Item = Arc<PeerProfile>> + use<C> {
        let settled = self.held(|held| held.exhausted || held.proved && held.is(found));
        let tried = found.layout().filter(|_| !settled);
        let others = CallStyle::LAYOUTS
            .into_iter()
            .take(CallStyle::TRIED)
            .filter(move |layout| tried.is_some_and(|tried| tried != *layout));
        others.map(|layout| Arc::new(PeerProfile::plain(layout)))
    }

    /// No form worked: the others are not tried again as long as the peer is known.
    pub(crate) fn exhaust(&self) {
        self.held_mut(|held| held.exhausted = true);
    }

    /// The peer made nothing of a call by the name of a tool.
    pub(crate) fn refuse_tools(&self) {
        self.held_mut(|held| held.refuses_tools = true);
    }

    /// Whether the peer made nothing of a call by the name of a tool.
    pub(crate) fn refuses_tools(&self) -> bool {
        self.held(|held| held.refuses_tools)
    }

    /// The peer has answered a call that was written so.
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

    /// Calls a peer that is known, with what is written for how it takes calls; `None` if nothing
    /// is. A peer that has forgotten the session is called once more in a new one.
    ///
    /// # Errors
    ///
    /// Says why nothing came back.
    pub(crate) async fn call(
        &self,
        found: Arc<PeerProfile>,
        timeout: Duration,
        write: impl Fn(&PeerProfile, u64) -> Option<PeerRequest>,
    ) -> Result<Option<Called>, CallError> {
        let began = Instant::now();
        self.held_mut(|held| held.used_at = Some(began));
        let Some((id, answer)) = self.once(&found, timeout, &write).await? else {
            return Ok(None);
        };
        if !peer::is_expired(&found, &answer.reply()) {
            return Ok(Some(Called { found, id, answer }));
        }
        // Nobody gains time by forgetting: only the handshake is off the clock.
        let left = timeout.saturating_sub(began.elapsed());
        let found = self.renewed(&found).await;
        let again = self.once(&found, left, &write).await?;
        Ok(again.map(|(id, answer)| Called { found, id, answer }))
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

    /// The peer did not do as it was found to: the next call finds out anew.
    pub(crate) fn doubt(&self, found: &Arc<PeerProfile>) {
        self.held_mut(|held| {
            held.doubted |= held.is(found);
        });
    }

    /// What is known of the peer, and one word on how sure that is.
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

    /// When somebody last called the peer; a link that nobody used is the oldest.
    pub(crate) fn used_at(&self) -> Option<Instant> {
        self.held(|held| held.used_at)
    }

    /// Keeps an idle session alive; ends one that nobody uses any more.
    pub(crate) async fn look_after(&self) {
        let (found, used_at) = self.held(|held| (held.found.clone(), held.used_at));
        let Some(found) = found.filter(|found| found.has_session()) else {
            return;
        };
        let idle = used_at.map_or(KEPT_ALIVE, |at| at.elapsed());
        if idle >= KEPT_ALIVE {
            return self.end().await;
        }
        if idle < HEARTBEAT {
            return;
        }
        let beat = peer::ping(&found, self.id());
        if let Some(beat) = beat
            && let Ok(answer) = self.carrier.carry(&beat, ONE_QUESTION).await
            && peer::is_expired(&found, &answer.reply())
        {
            self.renewed(&found).await;
        }
    }

    /// Ends the session with the peer, if there is one; whoever calls next opens another.
    pub(crate) async fn end(&self) {
        let found = self.held_mut(|held| {
            let with_session = |found: &mut Arc<PeerProfile>| found.has_session();
            held.found.take_if(with_session)
        });
        let Some(found) = found else { return };
        if let Some(end) = found.session.as_ref().and_then(peer::end) {
            // A server that does not end sessions forgets them by itself.
            let _ = self.carrier.carry(&end, ONE_QUESTION).await;
        }
    }

    /// A new session with a peer that has forgotten this one; all who notice share it.
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

    /// Puts the questions, one after the other, within the budget of all of them.
    async fn converse(&self, begin: fn(u64) -> (Probe, ProbeStep)) -> PeerProfile {
        let until = Instant::now() + CALL_STYLE_TIMEOUT;
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
            let wait = until.duration_since(Instant::now()).min(ONE_QUESTION);
            let answer = self.carrier.carry(&request, wait).await;
            // Whoever hangs is there, and may answer what it knows.
            hung |= matches!(answer, Err(CallError::Timeout(_)));
            let reply = answer.as_ref().ok().map(Answer::reply);
            step = probe.hear(reply.as_ref(), self.id());
        }
    }

    fn keep(&self, found: PeerProfile) -> Arc<PeerProfile> {
        let found = Arc::new(found);
        self.held_mut(|held| {
            let digest = |found: &PeerProfile| found.tools.as_ref().map(|tools| tools.digest());
            let before = held.found.as_ref().and_then(|found| digest(found));
            if before.is_some() && before != digest(&found) {
                tracing::warn!(
                    event_type = "TOOLS_CHANGED",
                    "a peer lists other tools than before"
                );
            }
            held.doubted = !found.heard;
            held.proved = false;
            held.found_at = Some(Instant::now());
            held.found = Some(Arc::clone(&found));
        });
        found
    }

    /// What is known, if it can be relied on or it is too early to ask again.
    fn settled(&self) -> Option<Arc<PeerProfile>> {
        self.held(|held| {
            let early = held.found_at.is_some_and(|at| at.elapsed() < REST);
            held.found.clone().filter(|_| !held.doubted || early)
        })
    }

    fn id(&self) -> u64 {
        self.ids.fetch_add(1, Ordering::Relaxed)
    }

    fn held<T>(&self, look: impl FnOnce(&Held) -> T) -> T {
        look(&self.held.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn held_mut<T>(&self, change: impl FnOnce(&mut Held) -> T) -> T {
        change(&mut self.held.write().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Held {
    fn is(&self, found: &Arc<PeerProfile>) -> bool {
        let held = self.found.as_ref();
        held.is_some_and(|held| Arc::ptr_eq(held, found))
    }
}

impl Answer {
    /// What came back, as it is read.
    pub(crate) fn reply(&self) -> HttpReply<'_> {
        HttpReply {
            status: self.status,
            session: self.session.as_deref(),
            body: &self.body,
        }
    }
}

#[cfg(test)]
mod tests;
