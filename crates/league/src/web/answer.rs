//! Answers to those who look: pages, pieces of pages, and what a browser may do with them.

use bytes::Bytes;
use hyper::header::{
    CACHE_CONTROL, CONTENT_ENCODING, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG, HeaderMap,
    HeaderName, HeaderValue, IF_NONE_MATCH, REFERRER_POLICY, VARY, X_CONTENT_TYPE_OPTIONS,
};
use league_mcp::Body;
use league_web::assets;

use super::sheet::Sheet;
use crate::net::server::Answered;

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

/// A piece of the pages that never changes while we run.
pub(super) fn asset(name: &str, headers: &HeaderMap) -> Answered {
    let Some(asset) = assets::find(name) else {
        let body = Bytes::from_static(b"there is no such file");
        return whole(404, "text/plain", body);
    };
    let known = headers
        .get(IF_NONE_MATCH)
        .is_some_and(|tag| tag.as_bytes() == asset.tag.as_bytes());
    let sheet = Sheet::new(match known {
        true => Bytes::new(),
        false => Bytes::from_static(asset.body.as_bytes()),
    });
    let status = if known { 304 } else { 200 };
    let mut answer = packed(status, asset.kind, &sheet, headers);
    if let Ok(tag) = HeaderValue::from_str(&asset.tag) {
        answer.headers.insert(ETAG, tag);
    }
    answer
}

/// We broke down over the question.
pub(super) fn failed() -> Answered {
    whole(
        500,
        "text/plain",
        Bytes::from_static(b"this page broke down"),
    )
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
