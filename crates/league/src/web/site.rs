//! The site of a league: which address shows what, and who is told of changes.

use std::convert::Infallible;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::BodyExt;
use http_body_util::channel::Channel;
use hyper::header::{CACHE_CONTROL, CONTENT_ENCODING, HeaderMap, HeaderValue, VARY};
use league_mcp::Body;
use league_protocol::id::{LeagueId, MatchId, PlayerId};
use league_web::model::Verdict;
use league_web::page;
use tokio::sync::broadcast::Receiver;

use super::answer;
use super::feed::{Feed, GREETING};
use super::hall::Hall;
use super::piece::Piece;
use super::sheet::{Sheet, unpacks};
use super::viewer::Viewer;
use crate::clock;
use crate::net::server::{Answered, Answering, Pages};
use crate::root::Root;
use crate::verify;

/// The least time between two looks at the journal.
const SHORTEST_GAP: Duration = Duration::from_millis(250);
/// What each player adds to it, so that a large table is not told to many viewers all the time.
const A_PLAYER: Duration = Duration::from_millis(2);
/// How often viewers are told that we are there.
const BEAT: Duration = Duration::from_secs(5);
/// How many events may wait for one viewer.
const WAITING: usize = 4;
/// In a league of more matches the verdict is left to `league verify`.
const MOST_VERIFIED: u64 = 100_000;

/// The site of one league.
#[derive(Clone)]
pub struct Site(Arc<Rooms>);

struct Rooms {
    root: Root,
    show: Mutex<Show>,
    viewers: AtomicUsize,
}

struct Show {
    hall: Hall,
    feed: Feed,
    /// Whether somebody looks at the journal again and again.
    watching: bool,
    judging: bool,
}

/// A viewer's place at the feed.
pub(super) struct Seat(Arc<Rooms>);

impl Seat {
    /// How things stand, and what is to come from there.
    pub(super) fn anew(&self) -> (Piece, Receiver<Piece>) {
        let mut show = self.0.show();
        (show.whole(), show.feed.listen())
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.0.viewers.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Site {
    /// Opens a site for a league whose files lie below this root.
    pub fn new(root: Root, league: LeagueId) -> Self {
        let hall = Hall::new(root.clone(), league);
        Self(Arc::new(Rooms {
            root,
            show: Mutex::new(Show {
                hall,
                feed: Feed::new(clock::now()),
                watching: false,
                judging: false,
            }),
            viewers: AtomicUsize::new(0),
        }))
    }

    async fn answer(&self, path: String, headers: HeaderMap) -> Answered {
        if let Some(name) = path.strip_prefix("/assets/") {
            return answer::asset(name, &headers);
        }
        if path == "/feed" {
            return self.feed(&headers).await;
        }
        let rooms = Arc::clone(&self.0);
        let shown = tokio::task::spawn_blocking(move || rooms.page(&path, &headers)).await;
        shown.unwrap_or_else(|_| answer::failed())
    }

    /// Seats a viewer at the feed; the first one starts it.
    async fn feed(&self, headers: &HeaderMap) -> Answered {
        let last = headers.get("last-event-id");
        let last = last.and_then(|id| id.to_str().ok()).map(str::to_owned);
        let packed = unpacks(headers);
        let rooms = Arc::clone(&self.0);
        let seated = tokio::task::spawn_blocking(move || rooms.seat(last.as_deref()));
        let Ok((missed, receiver, seat)) = seated.await else {
            return answer::failed();
        };
        let (sender, body) = Channel::<Bytes, Infallible>::new(WAITING);
        let viewer = Viewer {
            sender,
            packed,
            seat,
        };
        tokio::spawn(viewer.attend(missed, receiver));
        let mut headers = HeaderMap::new();
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        headers.insert(VARY, HeaderValue::from_static("accept-encoding"));
        if packed {
            headers.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        }
        Answered {
            status: 200,
            headers,
            body: Body::Events(body.boxed()),
        }
    }
}

impl Pages for Site {
    fn visit(&self, path: &str, headers: HeaderMap) -> Answering<'_> {
        let path = path.to_owned();
        Box::pin(async move { self.answer(path, headers).await })
    }
}

impl Rooms {
    fn show(&self) -> MutexGuard<'_, Show> {
        self.show.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn page(self: &Arc<Self>, path: &str, headers: &HeaderMap) -> Answered {
        let mut show = self.show();
        if let Err(error) = show.glance() {
            let page = page::not_found(&error.to_string());
            return answer::page(503, &Sheet::new(page), headers);
        }
        self.see_verdict(&mut show);
        if path == "/film.json" {
            let film = show.hall.film_so_far();
            drop(show);
            let film = film.unwrap_or_else(|| Sheet::new(Bytes::new()));
            return answer::json(&film, headers);
        }
        let hall = &show.hall;
        let named = path.strip_prefix('/').and_then(|path| path.split_once('/'));
        let shown = match named {
            None if path == "/" => hall.first_page(),
            Some(("match", id)) => {
                let id = MatchId::new(id).ok();
                let page = id.and_then(|id| hall.match_page(&id));
                page.map(Sheet::new)
            }
            Some(("player", id)) => {
                let id = PlayerId::new(id).ok();
                let page = id.and_then(|id| hall.player_page(&id));
                page.map(Sheet::new)
            }
            _ => None,
        };
        drop(show);
        match shown {
            Some(sheet) => answer::page(200, &sheet, headers),
            None => {
                let page = page::not_found("There is no such page.");
                answer::page(404, &Sheet::new(page), headers)
            }
        }
    }

    fn seat(self: &Arc<Self>, last: Option<&str>) -> (Vec<Piece>, Receiver<Piece>, Seat) {
        let mut show = self.show();
        // A journal that cannot be read now may be there at the next look.
        let _ = show.glance();
        let mut missed = vec![Piece::new(GREETING)];
        match last.and_then(|last| show.feed.since(last)) {
            Some(since) => missed.extend(since),
            None => missed.push(show.whole()),
        }
        let receiver = show.feed.listen();
        self.viewers.fetch_add(1, Ordering::Relaxed);
        if !std::mem::replace(&mut show.watching, true) {
            tokio::spawn(Arc::clone(self).watch());
        }
        (missed, receiver, Seat(Arc::clone(self)))
    }

    /// Looks at the journal again and again while anybody is there.
    async fn watch(self: Arc<Self>) {
        let mut beaten = tokio::time::Instant::now();
        loop {
            let rows = u32::try_from(self.show().hall.rows()).unwrap_or(u32::MAX);
            tokio::time::sleep(SHORTEST_GAP + A_PLAYER.saturating_mul(rows)).await;
            if self.is_deserted() {
                return;
            }
            let rooms = Arc::clone(&self);
            let looked = tokio::task::spawn_blocking(move || {
                let mut show = rooms.show();
                // Whoever asks for a page is told why it cannot be read.
                let _ = show.look();
                rooms.see_verdict(&mut show);
            });
            let _ = looked.await;
            if beaten.elapsed() >= BEAT {
                beaten = tokio::time::Instant::now();
                self.show().feed.beat(clock::now());
            }
        }
    }

    /// Whether nobody is there any more; then nobody watches.
    fn is_deserted(&self) -> bool {
        let mut show = self.show();
        // Whoever comes takes the same lock, so that one of the two sees the other.
        show.watching = self.viewers.load(Ordering::Relaxed) > 0;
        !show.watching
    }

    /// Has a league that is over verified, once.
    fn see_verdict(self: &Arc<Self>, show: &mut Show) {
        let matches = show
            .hall
            .gallery()
            .map_or(0, |gallery| gallery.league().matches_played());
        if show.judging || !show.hall.wants_verdict() || matches > MOST_VERIFIED {
            return;
        }
        show.judging = true;
        let rooms = Arc::clone(self);
        let league = show.hall.league_id().clone();
        tokio::task::spawn_blocking(move || {
            let verdict = verify::verify(&rooms.root, &league);
            let mut show = rooms.show();
            if let Ok(verdict) = verdict {
                show.hall.judge(told(&verdict));
                let _ = show.look();
            }
        });
    }
}

impl Show {
    /// Looks at the journal, unless somebody watches it, who has looked a moment ago.
    ///
    /// So it does not matter how many come at once: each change is drawn and told once.
    fn glance(&mut self) -> Result<(), super::ReadError> {
        if self.watching && self.hall.gallery().is_some() {
            return Ok(());
        }
        self.look()
    }

    /// Looks at the journal, and tells viewers what is new.
    fn look(&mut self) -> Result<(), super::ReadError> {
        if let Some(change) = self.hall.look(clock::now())? {
            self.feed.tell(&change.patch, &change.touched);
        }
        Ok(())
    }

    /// How things stand, for one who knows nothing.
    fn whole(&mut self) -> Piece {
        let Self { hall, feed, .. } = self;
        feed.whole(|| hall.whole())
    }
}

/// A verdict in words.
pub(crate) fn told(verdict: &verify::Verdict) -> Verdict {
    let checked = &verdict.checked;
    match &verdict.wrong {
        None => Verdict {
            holds: true,
            words: format!(
                "Verified: {} lines of the journal are chained, {} draws and games were worked out again.",
                checked.lines, checked.results
            ),
        },
        Some(wrong) => {
            let line = wrong.line.map(|line| format!(", line {line}"));
            Verdict {
                holds: false,
                words: format!(
                    "{}{}: {}",
                    wrong.file.display(),
                    line.unwrap_or_default(),
                    wrong.what
                ),
            }
        }
    }
}
