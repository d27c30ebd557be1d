//! The site of a league: which address shows what.
//!
//! However many look, the agents beside the site go on: few pages are made at once, on threads
//! that wait for nobody, and viewers take no more than their share of the connections.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::BodyExt;
use http_body_util::channel::Channel;
use hyper::header::{CACHE_CONTROL, CONTENT_ENCODING, HeaderMap, HeaderValue, VARY};
use league_mcp::Body;
use league_protocol::id::{LeagueId, MatchId, PlayerId};
use league_web::page::{self, Links};
use tokio::sync::Semaphore;

use super::answer;
use super::rooms::Rooms;
use super::screening::Screening;
use super::sheet::{Sheet, unpacks};
use super::viewer::Viewer;
use crate::http::server::{Answered, Answering, Pages};
use crate::storage::root::Root;

/// How many events may wait for one viewer.
const WAITING: usize = 4;
/// How many pages are made at once.
const MOST_AT_ONCE: usize = 4;
/// How long a page may wait for its turn.
const LONGEST_WAIT: Duration = Duration::from_secs(10);

/// The site of one league.
#[derive(Clone)]
pub(crate) struct Site(Arc<Inside>);

struct Inside {
    rooms: Arc<Rooms>,
    screening: Screening,
    /// Whoever holds one of these may use a thread.
    turns: Semaphore,
    most_viewers: usize,
}

impl Site {
    /// Opens a site for a league whose files lie below this root, for so many viewers at once.
    ///
    /// A league that lies here, and of which nobody knows where it has been, is `suspicious`: it
    /// is verified even if it is not over.
    pub(crate) fn new(root: Root, league: LeagueId, most_viewers: usize, suspicious: bool) -> Self {
        Self(Arc::new(Inside {
            rooms: Arc::new(Rooms::new(root, league, suspicious)),
            screening: Screening::default(),
            turns: Semaphore::new(MOST_AT_ONCE),
            most_viewers,
        }))
    }

    async fn answer(&self, path: String, headers: HeaderMap) -> Answered {
        if let Some(name) = path.strip_prefix("/assets/") {
            return answer::asset(name, &headers);
        }
        let answered = match path.as_str() {
            "/feed" => self.feed(&headers).await,
            "/film.json" => self.film(&headers).await,
            _ => {
                let page = move |rooms: &Arc<Rooms>| page_at(rooms, &path, &headers);
                self.in_turn(page).await
            }
        };
        answered.unwrap_or_else(answer::busy)
    }

    /// Does something that may take a while, when it is its turn; `None` if that does not come.
    async fn in_turn<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Arc<Rooms>) -> T + Send + 'static,
    ) -> Option<T> {
        let turn = tokio::time::timeout(LONGEST_WAIT, self.0.turns.acquire());
        let _turn = turn.await.ok()?.ok()?;
        let rooms = Arc::clone(&self.0.rooms);
        tokio::task::spawn_blocking(move || work(&rooms)).await.ok()
    }

    async fn film(&self, headers: &HeaderMap) -> Option<Answered> {
        let script = self.in_turn(|rooms| rooms.script()).await??;
        let film = self.0.screening.show(script).await?;
        Some(answer::json(&film, headers))
    }

    /// Seats a viewer at the feed, if there is a seat left.
    async fn feed(&self, headers: &HeaderMap) -> Option<Answered> {
        if self.0.rooms.viewers() >= self.0.most_viewers {
            return None;
        }
        let last = headers.get("last-event-id");
        let last = last.and_then(|id| id.to_str().ok()).map(str::to_owned);
        let packed = unpacks(headers);
        let seated = self.in_turn(move |rooms| rooms.seat(last.as_deref()));
        let (missed, receiver, seat) = seated.await?;
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
        Some(Answered {
            status: 200,
            headers,
            body: Body::Events(body.boxed()),
        })
    }
}

impl Pages for Site {
    fn visit(&self, path: &str, headers: HeaderMap) -> Answering<'_> {
        let path = path.to_owned();
        Box::pin(async move { self.answer(path, headers).await })
    }
}

/// The page at an address.
fn page_at(rooms: &Arc<Rooms>, path: &str, headers: &HeaderMap) -> Answered {
    let named = path.strip_prefix('/').and_then(|path| path.split_once('/'));
    let shown = match named {
        None if path == "/" => rooms.board(),
        Some(("match", id)) => MatchId::new(id).ok().map_or(Ok(None), |id| {
            let page = rooms.match_page(&id);
            page.map(|page| page.map(|page| Sheet::new(page::match_page(&page, Links::Site))))
        }),
        Some(("player", id)) => PlayerId::new(id).ok().map_or(Ok(None), |id| {
            let page = rooms.player_page(&id);
            page.map(|page| page.map(|page| Sheet::new(page::player_page(&page, Links::Site))))
        }),
        Some(("round", number)) => number.parse().map_or(Ok(None), |number| {
            let page = rooms.round_page(number);
            page.map(|page| page.map(|page| Sheet::new(page::round_page(&page, Links::Site))))
        }),
        _ => Ok(None),
    };
    match shown {
        Ok(Some(sheet)) => answer::page(200, &sheet, headers),
        Ok(None) if path == "/" => {
            let words = "No league has begun in this folder.";
            answer::page(503, &Sheet::new(page::unavailable(words)), headers)
        }
        Ok(None) => {
            let what = named.map_or("page", |(what, _)| match what {
                "match" | "player" | "round" => what,
                _ => "page",
            });
            answer::page(404, &Sheet::new(page::not_found(what)), headers)
        }
        Err(_) => {
            let words = "Its journal is not there, or cannot be read; `league verify` says more.";
            answer::page(503, &Sheet::new(page::unavailable(words)), headers)
        }
    }
}
