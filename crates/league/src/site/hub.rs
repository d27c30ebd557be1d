//! What all viewers of a league share: the live view behind a lock, and their subscriptions.
//!
//! The first subscription starts a task that follows the journal; it ends with the last one.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::channel::Sender;
use league_protocol::id::{LeagueId, MatchId};
use league_web::league_view::RefereeRecord;
use league_web::model::{MatchPage, Verification};
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::broadcast::{self, Receiver};
use tokio::time::Instant;

use super::feed::{Feed, GREETING, heartbeat};
use super::gzip::{GZIP_HEADER, GzipChunk};
use super::inquiry::{ANSWER_TIMEOUT, AgentNews, Inquiry};
use super::inquiry_turn::InquiryTurn;
use super::live_view::{LiveView, ReadError};
use super::observations::{add_model_notes, referee_record};
use crate::clock;
use crate::storage::hand_in::HAND_IN_TIMEOUT;
use crate::storage::root::Root;
use crate::storage::verify;

/// The least time between two reads of the journal.
const MIN_INTERVAL: Duration = Duration::from_millis(250);
/// What each player adds to it, so that a large table is not sent to many viewers all the time.
const INTERVAL_PER_PLAYER: Duration = Duration::from_millis(2);
const MAX_INTERVAL: Duration = Duration::from_secs(4);
/// How often viewers hear that the connection is alive.
const HEARTBEAT: Duration = Duration::from_secs(5);
/// How often referees are asked for the positions of their matches.
const LOOK_INTERVAL: Duration = Duration::from_millis(400);
/// A league of more matches is left to `league verify`.
const MAX_VERIFIED_MATCHES: u64 = 100_000;

/// Methods may read files and draw pages under the lock, so they are for blocking threads.
pub(crate) struct Hub {
    root: Root,
    league_id: LeagueId,
    state: Mutex<HubState>,
    sender: broadcast::Sender<GzipChunk>,
    viewers: AtomicUsize,
    /// `None` if the league is not played by this process.
    inquiry: Option<Inquiry>,
    /// What it found, shared with the live view.
    told: Arc<Mutex<AgentNews>>,
}

struct HubState {
    live: LiveView,
    feed: Feed,
    /// Whether a task follows the journal.
    following: bool,
    verifying: bool,
    /// Whether the league is verified at once, even if it is not over.
    untrusted: bool,
}

impl Hub {
    /// The folder of the league, and of others.
    pub(crate) fn root(&self) -> &Root {
        &self.root
    }

    pub(crate) fn new(root: Root, league_id: LeagueId, inquiry: Option<Inquiry>) -> Self {
        let feed = Feed::new(clock::now());
        let mut live = LiveView::new(root.clone(), league_id.clone());
        live.set_joining(inquiry.as_ref().and_then(Inquiry::joining));
        Self {
            told: live.told(),
            sender: feed.sender(),
            state: Mutex::new(HubState {
                live,
                feed,
                following: false,
                verifying: false,
                untrusted: inquiry.is_none(),
            }),
            inquiry,
            root,
            league_id,
            viewers: AtomicUsize::new(0),
        }
    }

    pub(crate) fn viewers(&self) -> usize {
        self.viewers.load(Ordering::Relaxed)
    }

    /// What the referee of a match recorded, if that is in this folder.
    pub(crate) fn referee_record(&self, id: &MatchId) -> Option<RefereeRecord> {
        referee_record(&self.root, &self.league_id, id)
    }

    /// Adds what the players wrote down of their language models, if that is in this folder.
    pub(crate) fn add_model_notes(&self, page: &mut MatchPage) {
        add_model_notes(&self.root, &self.league_id, page);
    }

    /// Reads from the live view as it is now.
    pub(crate) fn read<T>(
        self: &Arc<Self>,
        read: impl FnOnce(&LiveView) -> T,
    ) -> Result<T, ReadError> {
        let mut state = self.lock();
        state.refresh_unless_followed()?;
        self.verify_if_due(&mut state);
        Ok(read(&state.live))
    }

    /// The same, with what was written a moment ago.
    pub(crate) fn read_anew<T>(&self, read: impl FnOnce(&LiveView) -> T) -> Result<T, ReadError> {
        let mut state = self.lock();
        state.refresh()?;
        Ok(read(&state.live))
    }

    /// Subscribes a viewer that has seen the event `last`.
    pub(crate) fn subscribe(self: &Arc<Self>, last: Option<&str>) -> Subscription {
        let mut state = self.lock();
        // A journal that cannot be read now may be readable later.
        let _ = state.refresh_unless_followed();
        let mut missed = vec![GzipChunk::new(GREETING)];
        match last.and_then(|last| state.feed.since(last)) {
            Some(since) => missed.extend(since),
            None => missed.push(state.whole_page()),
        }
        let receiver = state.feed.subscribe();
        self.viewers.fetch_add(1, Ordering::Relaxed);
        if !std::mem::replace(&mut state.following, true) {
            tokio::spawn(Arc::clone(self).follow());
            tokio::spawn(Arc::clone(self).inquire());
        }
        Subscription {
            hub: Arc::clone(self),
            missed,
            receiver,
        }
    }

    fn lock(&self) -> MutexGuard<'_, HubState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads the journal again and again while there are viewers.
    async fn follow(self: Arc<Self>) {
        let mut heartbeats = tokio::time::interval(HEARTBEAT);
        let mut interval = MIN_INTERVAL;
        loop {
            let mut next = std::pin::pin!(tokio::time::sleep(interval));
            loop {
                tokio::select! {
                    () = next.as_mut() => break,
                    // There may be no viewer to receive it.
                    _ = heartbeats.tick() => drop(self.sender.send(heartbeat(clock::now()))),
                }
            }
            let hub = Arc::clone(&self);
            match tokio::task::spawn_blocking(move || hub.refresh()).await {
                Ok(Some(players)) => {
                    let players = u32::try_from(players).unwrap_or(u32::MAX);
                    let added = INTERVAL_PER_PLAYER.saturating_mul(players);
                    interval = (MIN_INTERVAL + added).min(MAX_INTERVAL);
                }
                Ok(None) => return,
                Err(_) => interval = MAX_INTERVAL,
            }
        }
    }

    /// Asks the agents again and again while there are viewers. A slow agent delays no page.
    async fn inquire(self: Arc<Self>) {
        let Some(inquiry) = &self.inquiry else { return };
        // The task of the viewers before may still wait for an answer.
        let mut turn = inquiry.turn.lock().await;
        while self.viewers() > 0 {
            self.note(inquiry.ask(&mut turn).await);
            tokio::time::sleep(LOOK_INTERVAL).await;
        }
        // The next viewer must not see what is out of date.
        *turn = InquiryTurn::default();
        self.note(AgentNews::default());
    }

    /// Asks the agents once, for a page whose viewer may not follow the feed. All requests within
    /// [`LOOK_INTERVAL`] share the answers, and none waits much longer than [`ANSWER_TIMEOUT`].
    pub(crate) async fn inquire_once(&self) {
        let Some(inquiry) = &self.inquiry else { return };
        if self.viewers() > 0 {
            return;
        }
        let turn = tokio::time::timeout(ANSWER_TIMEOUT, inquiry.turn.lock()).await;
        let Ok(mut turn) = turn else { return };
        if !turn.is_fresh(LOOK_INTERVAL, Instant::now()) {
            self.note(inquiry.ask(&mut turn).await);
        }
    }

    fn note(&self, news: AgentNews) {
        *self.told.lock().unwrap_or_else(PoisonError::into_inner) = news;
    }

    /// Reads the journal and returns the number of players; `None` if there are no viewers left.
    fn refresh(self: &Arc<Self>) -> Option<usize> {
        let mut state = self.lock();
        // A new viewer takes the same lock, so either it sees this flag or we see the viewer.
        state.following = self.viewers() > 0;
        if !state.following {
            return None;
        }
        // A viewer that requests a page gets the error.
        let _ = state.refresh();
        self.verify_if_due(&mut state);
        let view = state.live.view();
        Some(view.map_or(0, |view| view.league().players().len()))
    }

    /// Verifies a finished league, and an untrusted one before its end.
    fn verify_if_due(self: &Arc<Self>, state: &mut HubState) {
        let Some(view) = state.live.view() else {
            return;
        };
        let due = state.untrusted || state.live.needs_verification();
        let too_large = view.league().matches_played() > MAX_VERIFIED_MATCHES;
        if state.verifying || !due || too_large {
            return;
        }
        (state.verifying, state.untrusted) = (true, false);
        let hub = Arc::clone(self);
        tokio::spawn(async move {
            if hub.verify_now(false).await {
                // Referees elsewhere hand in their journals now.
                tokio::time::sleep(HAND_IN_TIMEOUT).await;
                hub.verify_now(true).await;
            }
        });
    }

    /// Verifies the league and shows the outcome; returns whether records of a finished league are
    /// missing.
    async fn verify_now(self: &Arc<Self>, again: bool) -> bool {
        let hub = Arc::clone(self);
        let verified = tokio::task::spawn_blocking(move || {
            let verdict = verify::verify(&hub.root, &hub.league_id);
            let is_incomplete = verdict
                .as_ref()
                .is_ok_and(|verdict| verdict.verdict == verify::Conclusion::Incomplete);
            let verification = match verdict {
                Ok(verdict) => verification(&verdict),
                Err(error) => Verification {
                    holds: false,
                    detail: format!("It could not be checked: {error}"),
                },
            };
            let mut state = hub.lock();
            if verification.holds && !again && !state.live.needs_verification() {
                // The league goes on, so this would be out of date at once.
                state.verifying = false;
                return false;
            }
            state.live.set_verification(verification);
            // If this fails, the next viewer refreshes as well.
            let _ = state.refresh();
            is_incomplete
        });
        verified.await.unwrap_or(false)
    }
}

impl HubState {
    /// Reads the journal unless a task follows it, which has read it a moment ago. So each change
    /// is drawn and published once, however many requests come at once.
    fn refresh_unless_followed(&mut self) -> Result<(), ReadError> {
        if self.following && self.live.view().is_some() {
            return Ok(());
        }
        self.refresh()
    }

    /// Reads the journal and publishes what has changed.
    fn refresh(&mut self) -> Result<(), ReadError> {
        if let Some(change) = self.live.refresh(clock::now())? {
            let state = self.live.digest();
            self.feed.publish(&change.patch, &change.touched, state);
        }
        Ok(())
    }

    fn whole_page(&mut self) -> GzipChunk {
        let Self { live, feed, .. } = self;
        feed.whole(|| live.whole())
    }
}

/// A viewer's subscription to the feed.
pub(crate) struct Subscription {
    hub: Arc<Hub>,
    /// Events before the first of `receiver`.
    missed: Vec<GzipChunk>,
    receiver: Receiver<GzipChunk>,
}

impl Subscription {
    /// Sends all events until the viewer leaves. The server drops a connection that stalls.
    pub(crate) async fn stream(mut self, mut sender: Sender<Bytes>, gzip: bool) {
        if gzip
            && sender
                .send_data(Bytes::from_static(&GZIP_HEADER))
                .await
                .is_err()
        {
            return;
        }
        for event in std::mem::take(&mut self.missed) {
            if send(&mut sender, &event, gzip).await.is_none() {
                return;
            }
        }
        loop {
            let event = match self.receiver.recv().await {
                Ok(event) => Some(event),
                Err(RecvError::Lagged(_)) => self.resync().await,
                Err(RecvError::Closed) => return,
            };
            let Some(event) = event else { return };
            if send(&mut sender, &event, gzip).await.is_none() {
                return;
            }
        }
    }

    /// The whole page, for a viewer that is too slow for single events.
    async fn resync(&mut self) -> Option<GzipChunk> {
        let hub = Arc::clone(&self.hub);
        let resynced = tokio::task::spawn_blocking(move || {
            let mut state = hub.lock();
            (state.whole_page(), state.feed.subscribe())
        });
        let (whole, receiver) = resynced.await.ok()?;
        self.receiver = receiver;
        Some(whole)
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        self.hub.viewers.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Sends an event; `None` if the viewer has left.
async fn send(sender: &mut Sender<Bytes>, event: &GzipChunk, gzip: bool) -> Option<()> {
    let bytes = if gzip { event.gzip()? } else { event.plain() };
    sender.send_data(bytes).await.ok()
}

fn capitalised(sentence: &str) -> String {
    let mut letters = sentence.chars();
    let first = letters.next().into_iter().flat_map(char::to_uppercase);
    first.chain(letters).collect()
}

/// The outcome of `league verify` as a page shows it.
pub(crate) fn verification(verdict: &verify::Verdict) -> Verification {
    let checked = &verdict.checked;
    let detail = match &verdict.wrong {
        None => format!(
            "{}. {} journal lines are chained, {} draws and games were replayed.{}",
            capitalised(&verdict.sentence()),
            checked.lines,
            checked.results.saturating_sub(verdict.draws_not_proven),
            match checked.disputed.first() {
                None => String::new(),
                Some(first) => format!(
                    " Other records dispute results, as in {}: {}",
                    first.file.display(),
                    first.what
                ),
            }
        ),
        Some(wrong) => {
            let line = wrong.line.map(|line| format!(", line {line}"));
            let (file, line) = (wrong.file.display(), line.unwrap_or_default());
            format!("{file}{line}: {}", wrong.what)
        }
    };
    Verification {
        holds: verdict.wrong.is_none(),
        detail,
    }
}
