//! The page of the organiser: a login with the administrator's key, and a form for each lever.
//!
//! Nothing happens without the key. A form counts only with the cookie of its session, which no
//! script reads and no other site sends, with the token that the page wrote into the form, and from
//! the site's own origin. Each lever goes to the manager as the tool `admin`, as from any client.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use hyper::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, COOKIE, HOST, HeaderMap, HeaderValue,
    LOCATION, ORIGIN, RETRY_AFTER, SET_COOKIE,
};
use league_mcp::{Origin, RequestHead, ResponseBody};
use league_protocol::id::LeagueId;
use league_protocol::token::{AuthToken, TokenHash, hex};
use league_web::page::{self, OrganiserPage};
use serde_json::{Map, Value, json};
use tokio::time::Instant;

use crate::agents::assemble::Shared;
use crate::chance::Chance;
use crate::http::server::{Service, ServiceResponse};
use crate::storage::secrets::LeagueKeys;
use crate::wire::ask::read_reply_body;

/// The most sessions at once; the oldest makes room.
const MAX_SESSIONS: usize = 16;
/// How long a session lasts.
const SESSION_TIME: Duration = Duration::from_secs(12 * 60 * 60);
/// How many wrong keys are heard within [`ATTEMPT_TIME`], from all callers together.
const MAX_ATTEMPTS: usize = 10;
const ATTEMPT_TIME: Duration = Duration::from_secs(60);
/// The longest form, in bytes.
const MAX_FORM: usize = 64 * 1024;
/// The most fields of a form.
const MAX_FIELDS: usize = 64;
const COOKIE_NAME: &str = "league_organiser";
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
     connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";

/// The organiser's side of a site.
pub(crate) struct OrganiserSite {
    /// The manager.
    service: Arc<dyn Service>,
    /// The hash of the key.
    key: TokenHash,
    /// Whether the site speaks TLS, so that the cookie is for TLS alone.
    is_secure: bool,
    chance: Chance,
    state: Mutex<LoginState>,
}

#[derive(Default)]
struct LoginState {
    sessions: BTreeMap<TokenHash, Session>,
    /// When wrong keys came, the oldest first.
    wrong: Vec<Instant>,
}

#[derive(Clone)]
struct Session {
    key: AuthToken,
    form_token: String,
    since: Instant,
    told: Option<Result<String, String>>,
}

/// What a form asks for, or why it is turned away.
type Fields = BTreeMap<String, String>;

impl OrganiserSite {
    /// The page of a manager at this address; its key is in the files of the league.
    pub(crate) fn of(
        shared: &Shared,
        league: &LeagueId,
        service: &Arc<dyn Service>,
        endpoint: &str,
    ) -> Option<Self> {
        let keys = LeagueKeys::load(&shared.root, league).ok().flatten()?;
        Some(Self {
            service: Arc::clone(service),
            key: keys.admin.hash(),
            is_secure: endpoint.starts_with("https://"),
            chance: shared.chance.clone(),
            state: Mutex::default(),
        })
    }

    /// Whether a caller has logged in.
    pub(crate) fn knows(&self, headers: &HeaderMap) -> bool {
        self.session(headers).is_some()
    }

    /// The login, or the levers of a league for the holder of the key.
    pub(crate) fn get(&self, headers: &HeaderMap, page: OrganiserPage) -> ServiceResponse {
        let Some((id, session)) = self.session(headers) else {
            return html(200, page::organiser_login(None));
        };
        // What was told may hold a token: it is shown once.
        if let Some(session) = self.lock().sessions.get_mut(&id) {
            session.told = None;
        }
        html(
            200,
            page::organiser(&OrganiserPage {
                form_token: session.form_token,
                told: session.told,
                ..page
            }),
        )
    }

    /// Takes a form.
    pub(crate) async fn post(
        &self,
        path: &str,
        headers: &HeaderMap,
        body: &[u8],
    ) -> ServiceResponse {
        if !is_own(headers) {
            return refuse(403, "This form comes from another site.");
        }
        let Some(fields) = fields(headers, body) else {
            return refuse(400, "This is not a form of this page.");
        };
        match path {
            "/admin/login" => self.log_in(&fields),
            "/admin/pull" | "/admin/logout" => {
                let Some((id, session)) = self.session(headers) else {
                    return refuse(403, "You are not logged in.");
                };
                let token = fields.get("form_token").map(|token| TokenHash::of(token));
                if token != Some(TokenHash::of(&session.form_token)) {
                    return refuse(
                        403,
                        "This form is not of your session; open the page again.",
                    );
                }
                if path == "/admin/logout" {
                    self.lock().sessions.remove(&id);
                    return self.go("../", Some(String::new()));
                }
                let told = self.pull(&session.key, fields).await;
                if let Some(session) = self.lock().sessions.get_mut(&id) {
                    session.told = Some(told);
                }
                self.go("../admin", None)
            }
            _ => refuse(404, "There is no such form."),
        }
    }

    fn log_in(&self, fields: &Fields) -> ServiceResponse {
        let now = Instant::now();
        let mut state = self.lock();
        state.wrong.retain(|at| now - *at < ATTEMPT_TIME);
        let key = fields.get("key").map(|key| AuthToken::new(key.trim()));
        // Compared by its hash, so that the time of the comparison tells nothing.
        let Some(key) = key.filter(|key| key.hash() == self.key) else {
            // The right key is always taken: wrong keys of others must not keep the organiser out.
            if state.wrong.len() >= MAX_ATTEMPTS {
                let mut response = refuse(429, "Too many wrong keys; wait a minute.");
                let wait = HeaderValue::from_static("60");
                response.headers.insert(RETRY_AFTER, wait);
                return response;
            }
            state.wrong.push(now);
            drop(state);
            return refuse(403, "This is not the key of the league.");
        };
        let id = hex(&self.chance.bytes());
        if state.sessions.len() >= MAX_SESSIONS {
            let oldest = state
                .sessions
                .iter()
                .min_by_key(|(_, session)| session.since);
            if let Some(oldest) = oldest.map(|(id, _)| *id) {
                state.sessions.remove(&oldest);
            }
        }
        state.sessions.insert(
            TokenHash::of(&id),
            Session {
                key,
                form_token: hex(&self.chance.bytes()),
                since: now,
                told: None,
            },
        );
        drop(state);
        self.go("../admin", Some(id))
    }

    /// The session of a cookie, under the hash of its id.
    fn session(&self, headers: &HeaderMap) -> Option<(TokenHash, Session)> {
        let cookies = headers.get_all(COOKIE).iter();
        let cookies = cookies.filter_map(|cookie| cookie.to_str().ok());
        let mut ids = cookies
            .flat_map(|cookies| cookies.split(';'))
            .filter_map(|cookie| cookie.trim().split_once('='))
            .filter(|(name, _)| *name == COOKIE_NAME)
            .map(|(_, id)| TokenHash::of(id));
        let now = Instant::now();
        let mut state = self.lock();
        state
            .sessions
            .retain(|_, session| now - session.since < SESSION_TIME);
        ids.find_map(|id| Some((id, state.sessions.get(&id)?.clone())))
    }

    /// Calls the manager as any client would; what happened, or why not.
    async fn pull(&self, key: &AuthToken, mut fields: Fields) -> Result<String, String> {
        fields.remove("form_token");
        fields.retain(|name, value| !value.trim().is_empty() || name == "lever");
        let mut arguments: Map<String, Value> = fields
            .into_iter()
            .map(|(name, value)| (name, value.into()))
            .collect();
        arguments.insert("auth_token".to_owned(), key.reveal().into());
        let call = json!({"jsonrpc": "2.0", "id": 1, "method": "admin", "params": arguments});
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        let head = RequestHead {
            headers,
            origin: Origin::Unknown,
        };
        let answer = self
            .service
            .receive(head, Bytes::from(call.to_string()))
            .await;
        let ResponseBody::Whole(body) = answer.body else {
            return Err("the manager does not answer".to_owned());
        };
        let told: Value = read_reply_body(&body).map_err(|error| error.to_string())?;
        let sentence = told["sentence"].as_str().unwrap_or("done").to_owned();
        Ok(match told["return_token"].as_str() {
            Some(token) => format!("{sentence}: {token}"),
            None => sentence,
        })
    }

    /// Sends the browser on from a form below `admin`, which is the path of its cookie too, with a new cookie or without the old one.
    fn go(&self, to: &'static str, session: Option<String>) -> ServiceResponse {
        let mut response = html(303, String::new());
        response
            .headers
            .insert(LOCATION, HeaderValue::from_static(to));
        if let Some(id) = session {
            let age = if id.is_empty() {
                0
            } else {
                SESSION_TIME.as_secs()
            };
            let secure = if self.is_secure { "; Secure" } else { "" };
            let cookie =
                format!("{COOKIE_NAME}={id}; HttpOnly; SameSite=Strict; Max-Age={age}{secure}");
            if let Ok(cookie) = HeaderValue::from_str(&cookie) {
                response.headers.insert(SET_COOKIE, cookie);
            }
        }
        response
    }

    fn lock(&self) -> MutexGuard<'_, LoginState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether a form comes from a page of this site: browsers say so with every form.
fn is_own(headers: &HeaderMap) -> bool {
    let text = |value: Option<&HeaderValue>| {
        value.and_then(|value| value.to_str().ok().map(str::to_owned))
    };
    let (origin, host) = (text(headers.get(ORIGIN)), text(headers.get(HOST)));
    let fetch_site = text(headers.get("sec-fetch-site"));
    let is_same = origin.zip(host).is_some_and(|(origin, host)| {
        let rest = origin.split_once("://").map(|(_, rest)| rest);
        rest.is_some_and(|rest| rest.eq_ignore_ascii_case(&host))
    });
    is_same && fetch_site.is_none_or(|site| site == "same-origin")
}

/// The fields of a form; the first of each name counts.
fn fields(headers: &HeaderMap, body: &[u8]) -> Option<Fields> {
    let kind = headers.get(CONTENT_TYPE)?.to_str().ok()?;
    let kind = kind.split(';').next()?.trim();
    if !kind.eq_ignore_ascii_case("application/x-www-form-urlencoded") || body.len() > MAX_FORM {
        return None;
    }
    let text = std::str::from_utf8(body).ok()?;
    let mut fields = Fields::new();
    for pair in text.split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        if fields.len() >= MAX_FIELDS {
            return None;
        }
        fields.entry(unescape(name)?).or_insert(unescape(value)?);
    }
    Some(fields)
}

/// Reads `%41` and `+` in a field.
fn unescape(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'+' => b' ',
            b'%' => {
                let digit = |byte: Option<u8>| char::from(byte?).to_digit(16);
                let (high, low) = (digit(rest.next())?, digit(rest.next())?);
                u8::try_from(high * 16 + low).ok()?
            }
            byte => byte,
        });
    }
    String::from_utf8(bytes).ok()
}

fn refuse(status: u16, problem: &str) -> ServiceResponse {
    html(status, page::organiser_login(Some(problem)))
}

fn html(status: u16, page: String) -> ServiceResponse {
    let mut headers = HeaderMap::new();
    headers.insert(
        CONTENT_TYPE,
        HeaderValue::from_static("text/html; charset=utf-8"),
    );
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    // `same-origin`: a form must send its origin.
    headers.insert("referrer-policy", HeaderValue::from_static("same-origin"));
    headers.insert(
        "x-content-type-options",
        HeaderValue::from_static("nosniff"),
    );
    headers.insert("x-frame-options", HeaderValue::from_static("DENY"));
    ServiceResponse {
        status,
        headers,
        body: ResponseBody::Whole(Bytes::from(page)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_are_read_as_browsers_send_them() {
        let mut headers = HeaderMap::new();
        let kind = "application/x-www-form-urlencoded";
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
        let read = fields(&headers, b"lever=rule&reason=a+%26+b&lever=end").unwrap();
        assert_eq!(read["lever"], "rule");
        assert_eq!(read["reason"], "a & b");
        for bad in [&b"a=%"[..], b"a=%4", b"a=%zz", b"a=%ff", b"\xff=1"] {
            assert!(fields(&headers, bad).is_none(), "{bad:?}");
        }
        assert!(fields(&HeaderMap::new(), b"a=1").is_none());
    }

    #[test]
    fn form_of_another_site_is_not_ours() {
        let headers = |pairs: &[(&'static str, &'static str)]| {
            let mut headers = HeaderMap::new();
            for (name, value) in pairs {
                headers.insert(*name, HeaderValue::from_static(value));
            }
            headers
        };
        for (pairs, own) in [
            (
                &[
                    ("host", "localhost:8000"),
                    ("origin", "http://localhost:8000"),
                ][..],
                true,
            ),
            (&[("host", "localhost:8000")], false),
            (&[("host", "localhost:8000"), ("origin", "null")], false),
            (
                &[
                    ("host", "localhost:8000"),
                    ("origin", "http://evil.example"),
                ],
                false,
            ),
            (
                &[
                    ("host", "localhost:8000"),
                    ("origin", "http://localhost:9000"),
                ],
                false,
            ),
            (
                &[
                    ("host", "localhost:8000"),
                    ("origin", "http://localhost:8000"),
                    ("sec-fetch-site", "cross-site"),
                ],
                false,
            ),
        ] {
            assert_eq!(is_own(&headers(pairs)), own, "{pairs:?}");
        }
    }
}
