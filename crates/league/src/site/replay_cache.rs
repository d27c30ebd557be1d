//! The replay of a league: recorded by one request at a time, outside the hub's lock, and shared.

use std::sync::Arc;
use std::time::Duration;

use league_core::league::Event;
use league_protocol::id::LeagueId;
use league_web::league_view::LeagueObservations;
use league_web::page::Links;
use league_web::replay::{Recorder, Recording};
use tokio::sync::Mutex;
use tokio::time::Instant;

use super::gzip::GzipBody;
use super::live_view::{ReadError, empty_view};
use crate::storage::record::Record;
use crate::storage::root::Root;
use crate::storage::store::{Entry, Follower, StoreError};

/// How long the recording of a running league is reused.
const MAX_AGE: Duration = Duration::from_secs(10);

#[derive(Debug, Default)]
pub(crate) struct ReplayCache(Mutex<Option<CachedReplay>>);

#[derive(Debug)]
struct CachedReplay {
    events: u64,
    at: Instant,
    body: GzipBody,
}

/// What a recording is made from.
#[derive(Debug, Clone)]
pub(crate) struct ReplaySource {
    pub(crate) root: Root,
    pub(crate) league_id: LeagueId,
    pub(crate) observed: Arc<LeagueObservations>,
    /// How many events there are so far.
    pub(crate) events: u64,
    /// Whether to record only what stands before damage.
    pub(crate) until_damage: bool,
}

impl ReplayCache {
    /// The recording as JSON. Requests that come while it is made wait for it.
    pub(crate) async fn get(&self, source: ReplaySource) -> Option<GzipBody> {
        let mut cached = self.0.lock().await;
        let fresh = cached
            .as_ref()
            .filter(|cached| cached.events == source.events || cached.at.elapsed() < MAX_AGE);
        if let Some(fresh) = fresh {
            return Some(fresh.body.clone());
        }
        let events = source.events;
        let made = tokio::task::spawn_blocking(move || {
            let recording = record(&source, Links::Site).ok()?;
            serde_json::to_vec(&recording).ok()
        });
        let body = GzipBody::new(made.await.ok()??);
        *cached = Some(CachedReplay {
            events,
            at: Instant::now(),
            body: body.clone(),
        });
        Some(body)
    }
}

/// Records the replay of a league from its journal.
///
/// # Errors
///
/// There is no journal, or it is not the journal of a league.
pub(crate) fn record(source: &ReplaySource, links: Links) -> Result<Recording, ReadError> {
    let ReplaySource {
        root,
        league_id,
        observed,
        ..
    } = source;
    let mut recorder: Option<Result<Recorder<'_>, ReadError>> = None;
    let path = root.league_journal(league_id);
    let visit = |entry: Entry<Record<Event>>| match (&entry.fact, &mut recorder) {
        (Record::Opened(opening), None) => {
            let view = empty_view(root, league_id, opening);
            recorder = Some(view.map(|view| Recorder::new(view, observed, links)));
        }
        (Record::Event(event), Some(Ok(recorder))) => recorder.apply(event),
        _ => {}
    };
    let read = match source.until_damage {
        true => Follower::new(path).read_on(visit),
        false => Follower::read_loosely(&path, visit),
    };
    match read {
        Ok(()) | Err(StoreError::Damaged { .. }) => {}
        Err(other) => return Err(other.into()),
    }
    recorder
        .unwrap_or(Err(ReadError::NoRules))
        .map(Recorder::finish)
}
