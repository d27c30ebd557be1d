//! What a process of many leagues answers at its root: how it is. Its leagues answer below
//! `/leagues/ID`, each for itself.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use hyper::Method;
use hyper::header::HeaderMap;
use league_mcp::{RequestHead, ResponseBody};
use serde_json::json;
use tokio::time::Instant;

use super::server::{
    PipeFuture, PipeIn, PipeOut, ResponseFuture, Service, ServiceResponse, StatusPage,
};
use crate::wire::metrics::{self, ProcessGauges};
use crate::wire::record::RejectedCall;

/// How long the database may be silent before the process is not ready: as long as a lease lasts.
const MAX_SILENCE: Duration = Duration::from_secs(10);

/// What the process is called.
const ROLE: &str = "host";

/// How a process is whose leagues are in a database.
pub(crate) struct ProcessStatus {
    gauges: ProcessGauges,
    leagues: AtomicUsize,
    /// When the database answered last.
    answered: Mutex<Instant>,
}

impl ProcessStatus {
    pub(crate) fn new(gauges: ProcessGauges) -> Self {
        Self {
            gauges,
            leagues: AtomicUsize::new(0),
            answered: Mutex::new(Instant::now()),
        }
    }

    /// Notes that the database answered.
    pub(crate) fn note_answer(&self) {
        *self.answered.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    /// Notes in how many leagues the process has an agent.
    pub(crate) fn note_leagues(&self, count: usize) {
        self.leagues.store(count, Ordering::Relaxed);
    }

    fn problem(&self) -> Option<String> {
        let answered = *self.answered.lock().unwrap_or_else(PoisonError::into_inner);
        let silent = answered.elapsed();
        let seconds = silent.as_secs();
        (silent > MAX_SILENCE)
            .then(|| format!("store: the database has not answered for {seconds} seconds"))
    }

    fn page(&self, page: StatusPage) -> (u16, String) {
        let (problem, leagues) = (self.problem(), self.leagues.load(Ordering::Relaxed));
        match (page, problem) {
            (StatusPage::Health, _) => {
                let version = env!("CARGO_PKG_VERSION");
                let health = json!({
                    "status": "healthy", "role": ROLE, "leagues": leagues, "version": version,
                });
                (200, health.to_string())
            }
            (StatusPage::Ready, None) => (200, json!({"ready": true}).to_string()),
            (StatusPage::Ready, Some(reason)) => {
                (503, json!({"ready": false, "reason": reason}).to_string())
            }
            (StatusPage::Metrics, problem) => {
                let page = self.gauges.page(ROLE, problem.is_none(), leagues);
                (200, page)
            }
        }
    }
}

impl Service for ProcessStatus {
    fn receive(&self, _: RequestHead, _: Bytes) -> ResponseFuture<'_> {
        not_here()
    }

    fn register(&self, _: RequestHead, _: Bytes) -> ResponseFuture<'_> {
        not_here()
    }

    fn answer_other(&self, _: Method, _: RequestHead) -> ResponseFuture<'_> {
        not_here()
    }

    fn note_rejected(&self, _: &RejectedCall) {}

    fn status(&self, page: StatusPage) -> ResponseFuture<'_> {
        let (status, body) = self.page(page);
        Box::pin(async move { response(status, metrics::headers(page), body) })
    }

    fn is_admitted(&self) -> bool {
        true
    }

    fn serve_pipe(self: Arc<Self>, _: PipeIn, _: PipeOut) -> PipeFuture {
        Box::pin(std::future::ready(Ok(())))
    }
}

/// The answer to calls: they go to leagues.
fn not_here<'d>() -> ResponseFuture<'d> {
    let body = "this process serves leagues, each at `/leagues/ID/mcp`";
    Box::pin(async move { response(404, HeaderMap::new(), body.to_owned()) })
}

fn response(status: u16, headers: HeaderMap, body: String) -> ServiceResponse {
    ServiceResponse {
        status,
        headers,
        body: ResponseBody::Whole(body.into()),
    }
}
