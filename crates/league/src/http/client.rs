//! Calls to other agents over pooled connections.
//!
//! One call is one attempt: the league decides on retries. The pool is our own because general
//! clients cost half as much again (decision 0006).

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Incoming;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::header::{ACCEPT, CONTENT_TYPE, HOST, HeaderMap};
use hyper::{Method, Request};
use hyper_util::rt::TokioIo;
use league_protocol::peer::{self, EventStream, StreamState, Verb};
use thiserror::Error;
use tokio::net::TcpStream;

use super::endpoint::Endpoint;

/// The most idle connections per address, which many players may share.
pub(crate) const MAX_IDLE_PER_ADDRESS: usize = 1_024;

/// The largest answer, in bytes.
pub(crate) const MAX_ANSWER: usize = 4 * 1024 * 1024;

#[derive(Debug, Clone, Default)]
pub(crate) struct Client {
    idle: Arc<Mutex<BTreeMap<SocketAddr, Vec<Connection>>>>,
}

type Connection = SendRequest<Full<Bytes>>;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) session: Option<String>,
    pub(crate) body: Bytes,
}

#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub(crate) enum CallError {
    #[error("no answer within {0:?}")]
    Timeout(Duration),
    #[error("no connection: {0}")]
    Connection(String),
    #[error("the answer is larger than {MAX_ANSWER} bytes")]
    TooLarge,
}

impl Client {
    /// Posts a body once and waits for the answer.
    ///
    /// # Errors
    ///
    /// The call failed; the caller decides whether to retry.
    pub(crate) async fn post(
        &self,
        endpoint: &Endpoint,
        body: Bytes,
        timeout: Duration,
    ) -> Result<Answer, CallError> {
        let request = || call(endpoint, Method::POST, &[], body.clone());
        within(timeout, self.exchange(endpoint, None, request)).await
    }

    /// Sends a request once and waits for the answer; an event stream is read until it contains the
    /// answer.
    ///
    /// # Errors
    ///
    /// The call failed; the caller decides whether to retry.
    pub(crate) async fn send(
        &self,
        endpoint: &Endpoint,
        request: &peer::PeerRequest,
        timeout: Duration,
    ) -> Result<Answer, CallError> {
        let method = match request.verb {
            Verb::Post => Method::POST,
            Verb::Delete => Method::DELETE,
        };
        let body = Bytes::from(request.body.clone());
        let http = || call(endpoint, method.clone(), &request.headers, body.clone());
        within(timeout, self.exchange(endpoint, request.id, http)).await
    }

    /// Sends a `GET` request.
    ///
    /// # Errors
    ///
    /// The call failed.
    pub(crate) async fn get(
        &self,
        endpoint: &Endpoint,
        timeout: Duration,
    ) -> Result<Answer, CallError> {
        let request = || call(endpoint, Method::GET, &[], Bytes::new());
        within(timeout, self.exchange(endpoint, None, request)).await
    }

    /// Uses a pooled connection or, if the peer has closed it meanwhile, a new one. Sending a
    /// request twice is harmless in this protocol.
    async fn exchange(
        &self,
        endpoint: &Endpoint,
        id: Option<u64>,
        request: impl Fn() -> Result<Request<Full<Bytes>>, CallError>,
    ) -> Result<Answer, CallError> {
        if let Some(kept) = self.take(endpoint.address) {
            match self.over(kept, endpoint, id, request()?).await {
                Err(ExchangeError::BeforeAnswer(_)) => {}
                other => return other.map_err(ExchangeError::into_error),
            }
        }
        let fresh = connect(endpoint.address).await?;
        let answered = self.over(fresh, endpoint, id, request()?).await;
        answered.map_err(ExchangeError::into_error)
    }

    async fn over(
        &self,
        mut connection: Connection,
        endpoint: &Endpoint,
        id: Option<u64>,
        request: Request<Full<Bytes>>,
    ) -> Result<Answer, ExchangeError> {
        let response = connection
            .send_request(request)
            .await
            .map_err(|error| ExchangeError::BeforeAnswer(broken(&error)))?;
        let status = response.status().as_u16();
        let event_stream = header(response.headers(), "content-type")
            .is_some_and(|kind| kind.trim_start().starts_with("text/event-stream"));
        let session = header(response.headers(), "mcp-session-id").map(str::to_owned);
        let body = match id.filter(|_| event_stream) {
            // The stream may continue after the answer, so its connection is not reused.
            Some(id) => events(response.into_body(), id).await?,
            None => {
                let body = whole(response.into_body()).await?;
                self.put(endpoint.address, connection);
                body
            }
        };
        Ok(Answer {
            status,
            session,
            body,
        })
    }

    fn take(&self, address: SocketAddr) -> Option<Connection> {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = idle.get_mut(&address)?;
        std::iter::from_fn(|| kept.pop()).find(SendRequest::is_ready)
    }

    fn put(&self, address: SocketAddr, connection: Connection) {
        if connection.is_closed() {
            return;
        }
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = idle.entry(address).or_default();
        if kept.len() < MAX_IDLE_PER_ADDRESS {
            kept.push(connection);
        }
    }
}

/// The stage at which an exchange failed.
enum ExchangeError {
    BeforeAnswer(CallError),
    Within(CallError),
}

impl ExchangeError {
    fn into_error(self) -> CallError {
        match self {
            Self::BeforeAnswer(error) | Self::Within(error) => error,
        }
    }
}

async fn within(
    timeout: Duration,
    exchange: impl Future<Output = Result<Answer, CallError>>,
) -> Result<Answer, CallError> {
    let answered = tokio::time::timeout(timeout, exchange).await;
    answered.unwrap_or(Err(CallError::Timeout(timeout)))
}

async fn whole(body: Incoming) -> Result<Bytes, ExchangeError> {
    let body = Limited::new(body, MAX_ANSWER).collect().await;
    let body = body.map_err(|error| {
        ExchangeError::Within(match error.downcast_ref::<hyper::Error>() {
            Some(error) => broken(error),
            None => CallError::TooLarge,
        })
    })?;
    Ok(body.to_bytes())
}

/// Reads an event stream until it contains the answer to a call; empty if the answer never comes.
async fn events(mut body: Incoming, id: u64) -> Result<Bytes, ExchangeError> {
    let mut events = EventStream::new(id);
    let mut read = 0;
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| ExchangeError::Within(broken(&error)))?;
        let Ok(more) = frame.into_data() else {
            continue;
        };
        read += more.len();
        if read > MAX_ANSWER {
            return Err(ExchangeError::Within(CallError::TooLarge));
        }
        match events.hear(&more) {
            StreamState::Waiting => {}
            StreamState::Answer(json) => return Ok(json.into()),
            StreamState::Exhausted => return Ok(Bytes::new()),
        }
    }
    match events.end() {
        StreamState::Answer(json) => Ok(json.into()),
        StreamState::Waiting | StreamState::Exhausted => Ok(Bytes::new()),
    }
}

fn header<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    headers.get(name)?.to_str().ok()
}

async fn connect(address: SocketAddr) -> Result<Connection, CallError> {
    let lost = |error: std::io::Error| CallError::Connection(error.to_string());
    let stream = TcpStream::connect(address).await.map_err(lost)?;
    stream.set_nodelay(true).map_err(lost)?;
    let (sender, connection) = handshake(TokioIo::new(stream))
        .await
        .map_err(|error| broken(&error))?;
    tokio::spawn(async move {
        // The pending request reports a broken connection to its caller.
        let _ = connection.await;
    });
    Ok(sender)
}

fn call(
    endpoint: &Endpoint,
    method: Method,
    headers: &[peer::Header],
    body: Bytes,
) -> Result<Request<Full<Bytes>>, CallError> {
    let mut request = Request::builder()
        .method(method)
        .uri(&*endpoint.path)
        .header(HOST, &*endpoint.authority)
        .header(CONTENT_TYPE, "application/json")
        .header(ACCEPT, "application/json, text/event-stream");
    for (name, value) in headers {
        request = request.header(*name, value);
    }
    request
        .body(Full::new(body))
        .map_err(|error| CallError::Connection(error.to_string()))
}

fn broken(error: &hyper::Error) -> CallError {
    let cause = std::error::Error::source(error).map(ToString::to_string);
    let cause = cause.map(|cause| format!(": {cause}")).unwrap_or_default();
    CallError::Connection(format!("{error}{cause}"))
}

#[cfg(test)]
mod tests;
