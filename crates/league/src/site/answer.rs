//! Answers to those who look: pages, pieces of pages, and what a browser may do with them.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use bytes::Bytes;
use hyper::header::{
    CACHE_CONTROL, CONTENT_ENCODING, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG, HeaderMap,
    HeaderName, HeaderValue, IF_NONE_MATCH, REFERRER_POLICY, RETRY_AFTER, VARY,
    X_CONTENT_TYPE_OPTIONS,
};
use league_mcp::Body;
use league_web::assets::{self, Asset};

use super::sheet::Sheet;
use crate::http::server::Answered;

/// What pages may do: nothing but show what we send, and listen to us.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
     connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// What goes with every answer.
const FIXED: [(HeaderName, &str); 5] = [
    (CACHE_CONTROL, "no-cache"),
    (CONTENT_SECURITY_POLICY, POLICY),
    (REFERRER_POLICY, "no-referrer"),
    (VARY, "accept-encoding"),
    (X_CONTENT_TYPE_OPTIONS, "nosniff"),
];

/// A page.
pub(super) fn page(status: u16, sheet: &Sheet, headers: &HeaderMap) -> Answered {
    packed(status, "text/html; charset=utf-8", sheet, headers)
}

/// Something for the page's own script.
pub(super) fn json(sheet: &Sheet, headers: &HeaderMap) -> Answered {
    packed(200, "application/json", sheet, headers)
}

/// The pieces of the pages that never change while we run, with their media types and tags.
static PIECES: LazyLock<BTreeMap<&'static str, (Sheet, Asset)>> = LazyLock::new(|| {
    let found = assets::names().filter_map(|name| Some((name, assets::find(name)?)));
    let piece = |(name, asset): (_, Asset)| {
        let sheet = Sheet::new(Bytes::from_static(asset.body.as_bytes()));
        (name, (sheet, asset))
    };
    found.map(piece).collect()
});

/// A piece of the pages that never changes while we run.
pub(super) fn asset(name: &str, headers: &HeaderMap) -> Answered {
    let Some((sheet, asset)) = PIECES.get(name) else {
        let body = Bytes::from_static(b"there is no such file");
        return whole(404, "text/plain", body);
    };
    let known = headers
        .get(IF_NONE_MATCH)
        .is_some_and(|tag| tag.as_bytes() == asset.tag.as_bytes());
    let mut answer = match known {
        true => whole(304, asset.kind, Bytes::new()),
        false => packed(200, asset.kind, sheet, headers),
    };
    if let Ok(tag) = HeaderValue::from_str(&asset.tag) {
        answer.headers.insert(ETAG, tag);
    }
    answer
}

/// Too many ask at once, or what is asked for cannot be made now.
pub(super) fn busy() -> Answered {
    let body = Bytes::from_static(b"too many are looking; come back in a moment");
    let mut answer = whole(503, "text/plain", body);
    let soon = HeaderValue::from_static("2");
    answer.headers.insert(RETRY_AFTER, soon);
    answer
}

fn packed(status: u16, kind: &'static str, sheet: &Sheet, headers: &HeaderMap) -> Answered {
    let (body, is_packed) = sheet.bytes(headers);
    let mut answer = whole(status, kind, body);
    if is_packed {
        let gzip = HeaderValue::from_static("gzip");
        answer.headers.insert(CONTENT_ENCODING, gzip);
    }
    answer
}

fn whole(status: u16, kind: &'static str, body: Bytes) -> Answered {
    let fixed = FIXED
        .into_iter()
        .map(|(name, value)| (name, HeaderValue::from_static(value)));
    let mut headers = HeaderMap::from_iter(fixed);
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    Answered {
        status,
        headers,
        body: Body::Whole(body),
    }
}
