//! Serves the pages of a league: maps addresses to pages, assets, the feed and the replay.
//!
//! The site follows the journal file as any reader may, and only while there are viewers. So an
//! unwatched league pays nothing, and running and copied leagues look the same. Viewers must not
//! slow the agents in this process: few pages are made at once, on blocking threads, and the number
//! of viewers is limited. `league-web` draws the pages.

mod export_source;
mod feed;
mod gzip;
mod hub;
mod inquiry;
mod inquiry_turn;
pub(crate) mod live_view;
mod observations;
mod organiser;
mod people;
mod replay_cache;
mod season;
mod stall;

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::BodyExt;
use http_body_util::channel::Channel;
use hyper::header::{
    CACHE_CONTROL, CONTENT_ENCODING, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG, HeaderMap,
    HeaderName, HeaderValue, IF_NONE_MATCH, REFERRER_POLICY, RETRY_AFTER, VARY,
    X_CONTENT_TYPE_OPTIONS,
};
use league_mcp::{RequestHead, ResponseBody};
use league_protocol::id::{LeagueId, MatchId, PlayerId};
use league_protocol::tools::LEVERS;
use league_web::assets::{self, Asset};
use league_web::page::{self, Links, OrganiserPage};
use league_web::season::SeasonEntry;
use tokio::sync::Semaphore;

use crate::agents::people::People;
use crate::clock;
use crate::http::server::{Pages, ResponseFuture, ServiceResponse};
use crate::storage::root::Root;
use gzip::{GzipBody, accepts_gzip};
use hub::Hub;
pub(crate) use inquiry::Inquiry;
use live_view::ReadError;
use replay_cache::ReplayCache;
use season::SeasonCache;

pub(crate) use export_source::ExportSource;
pub(crate) use organiser::OrganiserSite;
pub(crate) use season::read_season;
pub(crate) use stall::resume;

/// Events that may wait for one viewer.
const MAX_QUEUED_EVENTS: usize = 4;
/// Pages that are made at once.
const MAX_CONCURRENT_PAGES: usize = 4;
/// How long a request may wait for its turn.
const TURN_TIMEOUT: Duration = Duration::from_secs(10);

const HTML: &str = "text/html; charset=utf-8";

/// Pages may only show what we send, and connect only to us.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
     connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// Headers of every response but the feed's.
const FIXED_HEADERS: [(HeaderName, &str); 5] = [
    (CACHE_CONTROL, "no-cache"),
    (CONTENT_SECURITY_POLICY, POLICY),
    (REFERRER_POLICY, "no-referrer"),
    (VARY, "accept-encoding"),
    (X_CONTENT_TYPE_OPTIONS, "nosniff"),
];

/// The site of one league.
pub(crate) struct Site {
    hub: Arc<Hub>,
    replay: ReplayCache,
    season: SeasonCache,
    /// A permit allows the use of a blocking thread.
    turns: Semaphore,
    max_viewers: usize,
    /// The seats for people, if the league has some.
    people: Option<Arc<People>>,
    /// The page of the organiser, where the manager runs.
    organiser: Option<OrganiserSite>,
}

impl Site {
    /// The files of the league are below `root`.
    ///
    /// The site of a manager has an `inquiry`; any other league is verified even before it is over.
    pub(crate) fn new(
        root: Root,
        league: LeagueId,
        max_viewers: usize,
        inquiry: Option<Inquiry>,
    ) -> Self {
        Self {
            hub: Arc::new(Hub::new(root, league, inquiry)),
            replay: ReplayCache::default(),
            season: SeasonCache::default(),
            turns: Semaphore::new(MAX_CONCURRENT_PAGES),
            max_viewers,
            people: None,
            organiser: None,
        }
    }

    /// Lets people join and play on the page.
    #[must_use]
    pub(crate) fn with_people(mut self, people: Option<Arc<People>>) -> Self {
        self.people = people;
        self
    }

    /// The same site with the page of the organiser.
    #[must_use]
    pub(crate) fn with_organiser(self, organiser: Option<OrganiserSite>) -> Self {
        Self { organiser, ..self }
    }

    async fn respond(&self, path: String, headers: HeaderMap) -> ServiceResponse {
        if let Some(name) = path.strip_prefix("/assets/") {
            return asset(name, &headers);
        }
        if let Some(organiser) = self.organiser.as_ref().filter(|_| path == "/admin") {
            let page = if organiser.knows(&headers) {
                self.in_turn(organiser_page).await
            } else {
                None
            };
            return organiser.get(&headers, page.unwrap_or_default());
        }
        if let (people::PAGE, Some(people)) = (path.as_str(), &self.people) {
            let page = GzipBody::new(page::seat_page(people.league().as_str()));
            return compressed(200, HTML, &page, &headers);
        }
        let response = match path.as_str() {
            "/feed" => self.feed(&headers).await,
            "/film.json" => self.replay(&headers).await,
            "/season" => self.season(headers).await,
            _ => {
                if shows_agents(&path) {
                    self.hub.inquire_once().await;
                }
                let page = move |hub: &Arc<Hub>| {
                    let (status, page) = page_at(hub, &path);
                    compressed(status, HTML, &page, &headers)
                };
                self.in_turn(page).await
            }
        };
        response.unwrap_or_else(busy)
    }

    /// Runs blocking work when it is its turn; `None` if that takes too long.
    async fn in_turn<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Arc<Hub>) -> T + Send + 'static,
    ) -> Option<T> {
        let turn = tokio::time::timeout(TURN_TIMEOUT, self.turns.acquire());
        let _turn = turn.await.ok()?.ok()?;
        let hub = Arc::clone(&self.hub);
        tokio::task::spawn_blocking(move || work(&hub)).await.ok()
    }

    async fn replay(&self, headers: &HeaderMap) -> Option<ServiceResponse> {
        let source = self.in_turn(|hub| {
            let source = hub.read(|live| live.view().map(|_| live.replay_source()));
            source.ok().flatten()
        });
        let recording = self.replay.get(source.await??).await?;
        Some(compressed(200, "application/json", &recording, headers))
    }

    /// Requests wait for each other before they take a turn, so that the season takes only one.
    async fn season(&self, headers: HeaderMap) -> Option<ServiceResponse> {
        let leagues = tokio::time::timeout(TURN_TIMEOUT, self.season.lock());
        let mut leagues = leagues.await.ok()?;
        let page = move |hub: &Arc<Hub>| {
            let own = hub.read(|live| live.view().map(SeasonEntry::of));
            let (status, page) = match leagues.read(hub.root(), own.ok().flatten()) {
                Ok(season) => (200, page::season(&season)),
                Err(_) => (404, page::not_found("season", Links::Site)),
            };
            compressed(status, HTML, &GzipBody::new(page), &headers)
        };
        self.in_turn(page).await
    }

    /// Subscribes a viewer to the feed; `None` if there are too many viewers.
    async fn feed(&self, headers: &HeaderMap) -> Option<ServiceResponse> {
        if self.hub.viewers() >= self.max_viewers {
            return None;
        }
        let last = headers.get("last-event-id");
        let last = last.and_then(|id| id.to_str().ok()).map(str::to_owned);
        let gzip = accepts_gzip(headers);
        let subscribed = self.in_turn(move |hub| hub.subscribe(last.as_deref()));
        let subscription = subscribed.await?;
        let (sender, body) = Channel::<Bytes, Infallible>::new(MAX_QUEUED_EVENTS);
        tokio::spawn(subscription.stream(sender, gzip));
        let mut headers = HeaderMap::new();
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        headers.insert(VARY, HeaderValue::from_static("accept-encoding"));
        if gzip {
            headers.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        }
        Some(ServiceResponse {
            status: 200,
            headers,
            body: ResponseBody::Events(body.boxed()),
        })
    }
}

impl Pages for Site {
    fn get(&self, path: &str, headers: HeaderMap) -> ResponseFuture<'_> {
        let path = path.to_owned();
        Box::pin(async move { self.respond(path, headers).await })
    }

    fn takes(&self, path: &str) -> bool {
        self.people.is_some() && people::takes(path)
            || self.organiser.is_some() && path.starts_with("/admin/")
    }

    fn post(&self, path: &str, head: RequestHead, body: Bytes) -> ResponseFuture<'_> {
        let path = path.to_owned();
        Box::pin(async move {
            match (&self.people, &self.organiser) {
                (Some(people), _) if people::takes(&path) => {
                    people::answer(people, &path, head, &body).await
                }
                (_, Some(organiser)) => organiser.post(&path, &head.headers, &body).await,
                _ => response(404, "text/plain", Bytes::new()),
            }
        })
    }
}

/// What the organiser sees of the league besides the forms.
fn organiser_page(hub: &Arc<Hub>) -> OrganiserPage {
    // The organiser has just changed it, perhaps.
    let league = hub.read_anew(|live| {
        let view = live.view()?;
        let now = clock::now();
        let idle = LEVERS.iter().filter_map(|entry| {
            let why = view.league().why_idle(now, entry.name)?;
            Some((entry.name, why))
        });
        Some(OrganiserPage {
            league: Some(view.summary(live.observed())),
            agents: view.agent_names(),
            idle: idle.collect(),
            ..OrganiserPage::default()
        })
    });
    league.ok().flatten().unwrap_or_default()
}

/// Whether a page shows running matches, or whether agents are there.
fn shows_agents(path: &str) -> bool {
    let named = ["/match/", "/player/", "/round/"];
    path == "/" || path == "/stage" || named.iter().any(|page| path.starts_with(page))
}

/// The status and page of an address.
fn page_at(hub: &Arc<Hub>, path: &str) -> (u16, GzipBody) {
    let named = path.strip_prefix('/').and_then(|path| path.split_once('/'));
    let found = match named {
        None if path == "/" => hub.read(|live| live.page()),
        None if path == "/stage" => hub.read(|live| live.stage(clock::now())),
        Some(("match", id)) => match_page(hub, id),
        Some(("player", id)) => player_page(hub, id),
        Some(("round", number)) => round_page(hub, number),
        _ => Ok(None),
    };
    let links = match named {
        None => Links::Site,
        Some(_) => Links::Below,
    };
    let unavailable = |reason| (503, GzipBody::new(page::unavailable(reason, links)));
    match (found, named) {
        (Ok(Some(page)), _) => (200, page),
        (Ok(None), None) if path == "/" || path == "/stage" => {
            unavailable("No league has begun in this folder.")
        }
        (Ok(None), Some((what @ ("match" | "player" | "round"), _))) => {
            (404, GzipBody::new(page::not_found(what, links)))
        }
        (Ok(None), _) => (404, GzipBody::new(page::not_found("page", links))),
        (Err(_), _) => {
            unavailable("Its journal is missing or cannot be read; `league verify` says more.")
        }
    }
}

/// A page to send; `None` if there is no such page.
type FoundPage = Result<Option<GzipBody>, ReadError>;

// The pages are drawn after `read` has released its lock.

fn match_page(hub: &Arc<Hub>, id: &str) -> FoundPage {
    let Ok(id) = MatchId::new(id) else {
        return Ok(None);
    };
    let record = hub.referee_record(&id);
    let page = hub.read(|live| live.view()?.match_page(&id, record, live.observed()))?;
    Ok(page.map(|mut page| {
        hub.add_model_notes(&mut page);
        GzipBody::new(page::match_page(&page, Links::Below))
    }))
}

fn player_page(hub: &Arc<Hub>, id: &str) -> FoundPage {
    let Ok(id) = PlayerId::new(id) else {
        return Ok(None);
    };
    let page = hub.read(|live| live.view()?.player_page(&id, live.observed()))?;
    Ok(page.map(|page| GzipBody::new(page::player_page(&page, Links::Below))))
}

fn round_page(hub: &Arc<Hub>, number: &str) -> FoundPage {
    let Ok(number) = number.parse() else {
        return Ok(None);
    };
    let page = hub.read(|live| live.view()?.round_page(number, live.observed()))?;
    Ok(page.map(|page| GzipBody::new(page::round_page(&page, Links::Below))))
}

/// The assets with their compressed bodies.
static ASSETS: LazyLock<BTreeMap<&'static str, (GzipBody, Asset)>> = LazyLock::new(|| {
    let found = assets::names().filter_map(|name| Some((name, assets::find(name)?)));
    let with_body = |(name, asset): (_, Asset)| {
        let body = GzipBody::new(Bytes::from_static(asset.body.as_bytes()));
        (name, (body, asset))
    };
    found.map(with_body).collect()
});

fn asset(name: &str, headers: &HeaderMap) -> ServiceResponse {
    let Some((body, asset)) = ASSETS.get(name) else {
        return response(404, "text/plain", Bytes::from_static(b"no such asset"));
    };
    let known = headers
        .get(IF_NONE_MATCH)
        .is_some_and(|tag| tag.as_bytes() == asset.tag.as_bytes());
    let mut response = if known {
        response(304, asset.kind, Bytes::new())
    } else {
        compressed(200, asset.kind, body, headers)
    };
    if let Ok(tag) = HeaderValue::from_str(&asset.tag) {
        response.headers.insert(ETAG, tag);
    }
    response
}

/// There are too many requests, or the page cannot be made now.
fn busy() -> ServiceResponse {
    let body = Bytes::from_static(b"too many viewers; retry in 2 seconds");
    let mut response = response(503, "text/plain", body);
    let seconds = HeaderValue::from_static("2");
    response.headers.insert(RETRY_AFTER, seconds);
    response
}

fn compressed(
    status: u16,
    kind: &'static str,
    body: &GzipBody,
    headers: &HeaderMap,
) -> ServiceResponse {
    let (bytes, is_gzip) = body.bytes(headers);
    let mut response = response(status, kind, bytes);
    if is_gzip {
        let gzip = HeaderValue::from_static("gzip");
        response.headers.insert(CONTENT_ENCODING, gzip);
    }
    response
}

fn response(status: u16, kind: &'static str, body: Bytes) -> ServiceResponse {
    let fixed = FIXED_HEADERS
        .into_iter()
        .map(|(name, value)| (name, HeaderValue::from_static(value)));
    let mut headers = HeaderMap::from_iter(fixed);
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    ServiceResponse {
        status,
        headers,
        body: ResponseBody::Whole(body),
    }
}
