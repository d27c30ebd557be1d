//! The film of a league: made one at a time, and shown to all who ask within a while.

use std::sync::Arc;
use std::time::Duration;

use league_core::league::Event;
use league_protocol::id::LeagueId;
use league_web::league_view::{LeagueView, Observations};
use league_web::page::Links;
use league_web::replay::{Recorder, Recording};
use tokio::sync::Mutex;
use tokio::time::Instant;

use super::reader::{ReadError, open};
use super::sheet::Sheet;
use crate::storage::record::Record;
use crate::storage::root::Root;
use crate::storage::store::{Entry, Follower};

/// How long a film of a league that goes on is shown.
const SHOWN_FOR: Duration = Duration::from_secs(10);

/// The film that was made last.
#[derive(Debug, Default)]
pub(super) struct Screening(Mutex<Option<Made>>);

#[derive(Debug)]
struct Made {
    facts: u64,
    at: Instant,
    film: Sheet,
}

/// What a film is made of.
#[derive(Debug, Clone)]
pub(super) struct Script {
    pub(super) root: Root,
    pub(super) league_id: LeagueId,
    pub(super) observed: Arc<Observations>,
    /// How many facts there are so far.
    pub(super) facts: u64,
}

impl Screening {
    /// The film; whoever asks while it is made waits for it.
    pub(super) async fn show(&self, script: Script) -> Option<Sheet> {
        let mut made = self.0.lock().await;
        let shown = made
            .as_ref()
            .filter(|made| made.facts == script.facts || made.at.elapsed() < SHOWN_FOR);
        if let Some(made) = shown {
            return Some(made.film.clone());
        }
        let facts = script.facts;
        let film = tokio::task::spawn_blocking(move || {
            let film = shoot(&script, Links::Site).ok()?;
            serde_json::to_vec(&film).ok()
        });
        let film = Sheet::new(film.await.ok()??);
        *made = Some(Made {
            facts,
            at: Instant::now(),
            film: film.clone(),
        });
        Some(film)
    }
}

/// Plays a league back from its journal.
///
/// # Errors
///
/// The journal may not be there, or not be one of a league.
pub(super) fn shoot(script: &Script, links: Links) -> Result<Recording, ReadError> {
    let Script {
        root,
        league_id,
        observed,
        ..
    } = script;
    let mut recorder: Option<Result<Recorder<'_>, ReadError>> = None;
    let path = root.league_journal(league_id);
    Follower::read_loosely(&path, |entry: Entry<Record<Event>>| {
        match (&entry.fact, &mut recorder) {
            (Record::Opened(opening), None) => {
                let opened: Result<LeagueView, ReadError> = open(root, league_id, opening);
                recorder = Some(opened.map(|view| Recorder::new(view, observed, links)));
            }
            (Record::Event(event), Some(Ok(recorder))) => recorder.apply(event),
            _ => {}
        }
    })?;
    recorder
        .unwrap_or(Err(ReadError::NoRules))
        .map(Recorder::finish)
}
