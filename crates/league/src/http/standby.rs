//! The service of a league that this process does not hold now.
//!
//! Calls and pages are redirected to the manager in charge, if it is known; else they are refused
//! with E010, and the caller tries again.

use std::sync::Arc;

use bytes::Bytes;
use hyper::Method;
use hyper::header::{HeaderMap, HeaderValue, LOCATION, RETRY_AFTER};
use league_mcp::{RequestHead, ResponseBody};
use league_protocol::fault::Code;
use league_protocol::id::LeagueId;
use league_protocol::message::LeagueError;
use league_protocol::rpc::{self, Era, Incoming};
use serde_json::{Value, json};
use tokio::sync::watch;

use super::endpoint::Endpoint;
use super::server::{
    Pages, PipeFuture, PipeIn, PipeOut, ResponseFuture, Service, ServiceResponse, StatusPage,
};
use crate::wire::ask::STANDBY;
use crate::wire::metrics;
use crate::wire::record::RejectedCall;

/// When to try again, in seconds.
const RETRY_SECONDS: &str = "2";

/// A league that another manager holds, or none.
pub(crate) struct StandbyService {
    league: LeagueId,
    /// The address of the manager in charge, which ends in `/mcp`.
    in_charge: watch::Receiver<Option<String>>,
}

impl StandbyService {
    pub(crate) fn new(league: LeagueId, in_charge: watch::Receiver<Option<String>>) -> Self {
        Self { league, in_charge }
    }

    /// The address of the manager in charge, if it is one.
    fn manager(&self) -> Option<Endpoint> {
        let address = self.in_charge.borrow().clone()?;
        Endpoint::of_location(&address).ok()
    }

    /// Redirects to what stands at a path of the manager in charge, relative to the league.
    fn refer(&self, path: &str, body: &[u8]) -> ServiceResponse {
        let place = self.manager().map(|manager| manager.beside(path));
        let place = place.and_then(|place| HeaderValue::from_str(&place.to_string()).ok());
        match place {
            Some(place) => response(307, (LOCATION, place), Vec::new()),
            None => self.refuse(body),
        }
    }

    fn health(&self) -> Value {
        json!({
            "status": STANDBY,
            "league_id": self.league,
            "league_manager": *self.in_charge.borrow(),
            "version": env!("CARGO_PKG_VERSION"),
        })
    }

    /// Refuses a call for now, with its id.
    fn refuse(&self, body: &[u8]) -> ServiceResponse {
        let sentence = format!(
            "league `{}` waits for a manager to take it over; try again in {RETRY_SECONDS} seconds",
            self.league
        );
        let error = LeagueError::new(Code::RateLimited, sentence).to_rpc_error();
        let called = rpc::open(body).ok();
        let called = called.map(|opened| {
            let era = opened.era(None).unwrap_or(Era::Simple);
            opened.read(era)
        });
        let id = match &called {
            Some(Incoming::Single(rpc::Frame::Call(call))) => Some(&call.id),
            _ => None,
        };
        let wait = (RETRY_AFTER, HeaderValue::from_static(RETRY_SECONDS));
        response(503, wait, rpc::fail(id, &error, Era::Simple))
    }
}

impl Service for StandbyService {
    fn receive(&self, _: RequestHead, body: Bytes) -> ResponseFuture<'_> {
        Box::pin(async move { self.refer("mcp", &body) })
    }

    fn register(&self, _: RequestHead, body: Bytes) -> ResponseFuture<'_> {
        Box::pin(async move { self.refer("register", &body) })
    }

    fn answer_other(&self, _: Method, _: RequestHead) -> ResponseFuture<'_> {
        Box::pin(async move { self.refer("mcp", &[]) })
    }

    fn note_rejected(&self, _: &RejectedCall) {}

    fn status(&self, page: StatusPage) -> ResponseFuture<'_> {
        let (status, body) = match page {
            StatusPage::Health => (200, self.health().to_string()),
            StatusPage::Ready => {
                let reason = "standby: another manager holds the league, or none";
                (503, json!({"ready": false, "reason": reason}).to_string())
            }
            StatusPage::Metrics => (200, metrics::of_standby(&self.league)),
        };
        let headers = metrics::headers(page);
        Box::pin(async move { whole(status, headers, body.into_bytes()) })
    }

    fn is_admitted(&self) -> bool {
        true
    }

    fn serve_pipe(self: Arc<Self>, _: PipeIn, _: PipeOut) -> PipeFuture {
        Box::pin(std::future::ready(Ok(())))
    }
}

impl Pages for StandbyService {
    fn get(&self, path: &str, _: HeaderMap) -> ResponseFuture<'_> {
        let path = path.trim_start_matches('/').to_owned();
        Box::pin(async move { self.refer(&path, &[]) })
    }

    fn takes(&self, path: &str) -> bool {
        path.starts_with("/play/") || path.starts_with("/admin/")
    }

    fn post(&self, path: &str, _: RequestHead, _: Bytes) -> ResponseFuture<'_> {
        self.get(path, HeaderMap::new())
    }
}

fn response(
    status: u16,
    (name, value): (hyper::header::HeaderName, HeaderValue),
    body: Vec<u8>,
) -> ServiceResponse {
    whole(status, HeaderMap::from_iter([(name, value)]), body)
}

fn whole(status: u16, headers: HeaderMap, body: Vec<u8>) -> ServiceResponse {
    ServiceResponse {
        status,
        headers,
        body: ResponseBody::Whole(body.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CALL: &[u8] = br#"{"jsonrpc":"2.0","id":7,"method":"get_standings","params":{}}"#;

    /// A standby, and the sender of the address in charge.
    fn standby() -> (watch::Sender<Option<String>>, StandbyService) {
        let (tell, in_charge) = watch::channel(None);
        let league = LeagueId::new("friday").unwrap();
        (tell, StandbyService::new(league, in_charge))
    }

    fn shown(response: ServiceResponse) -> String {
        let ResponseBody::Whole(body) = response.body else {
            panic!("it does not stream");
        };
        let header = |name| {
            response
                .headers
                .get(name)
                .map(|value| value.to_str().unwrap())
        };
        let told = [LOCATION, RETRY_AFTER].map(header).into_iter().flatten();
        let told: Vec<_> = told.collect();
        let body = std::str::from_utf8(&body).unwrap();
        format!("{} {} {body}", response.status, told.join(" "))
            .trim_end()
            .to_owned()
    }

    #[tokio::test]
    async fn calls_and_pages_are_referred_to_the_manager_in_charge() {
        let (tell, standby) = standby();
        tell.send_replace(Some("http://10.0.0.2:8000/leagues/friday/mcp".to_owned()));
        let (head, call) = (RequestHead::default, || Bytes::from_static(CALL));
        let place = "307 http://10.0.0.2:8000/leagues/friday";
        for (answer, path) in [
            (standby.receive(head(), call()), "mcp"),
            (standby.register(head(), call()), "register"),
            (standby.answer_other(Method::GET, head()), "mcp"),
            (standby.get("/", HeaderMap::new()), ""),
            (standby.get("/match/R1M1", HeaderMap::new()), "match/R1M1"),
            (standby.post("/play/join", head(), call()), "play/join"),
        ] {
            assert_eq!(shown(answer.await), format!("{place}/{path}"));
        }
    }

    #[tokio::test]
    async fn league_without_a_manager_asks_callers_to_wait() {
        let (_tell, standby) = standby();
        let call = standby.receive(RequestHead::default(), Bytes::from_static(CALL));
        insta::assert_snapshot!(shown(call.await), @r#"503 2 {"jsonrpc":"2.0","error":{"code":-32000,"message":"E010 RATE_LIMITED: league `friday` waits for a manager to take it over; try again in 2 seconds","data":{"error_code":"E010","error_name":"RATE_LIMITED","error_type":"transient","retryable":true}},"id":7}"#);
        insta::assert_snapshot!(shown(standby.get("/", HeaderMap::new()).await), @r#"503 2 {"jsonrpc":"2.0","error":{"code":-32000,"message":"E010 RATE_LIMITED: league `friday` waits for a manager to take it over; try again in 2 seconds","data":{"error_code":"E010","error_name":"RATE_LIMITED","error_type":"transient","retryable":true}},"id":null}"#);
        let health = shown(standby.status(StatusPage::Health).await);
        let health = health.replace(env!("CARGO_PKG_VERSION"), "VERSION");
        insta::assert_snapshot!(health, @r#"200  {"league_id":"friday","league_manager":null,"status":"standby","version":"VERSION"}"#);
        insta::assert_snapshot!(shown(standby.status(StatusPage::Ready).await), @r#"503  {"ready":false,"reason":"standby: another manager holds the league, or none"}"#);
    }

    #[tokio::test]
    async fn address_that_is_none_is_not_passed_on() {
        let (tell, standby) = standby();
        for wrong in ["", "manager", "http://a b/mcp", "http://a\r\nx: y/mcp"] {
            tell.send_replace(Some(wrong.to_owned()));
            let answer = standby.get("/", HeaderMap::new()).await;
            assert_eq!(answer.status, 503, "{wrong}");
        }
    }
}
