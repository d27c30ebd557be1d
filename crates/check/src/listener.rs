//! A scripted server that records every request: the check's side of a conversation.

use std::collections::VecDeque;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Incoming;
use hyper::header::{CONTENT_TYPE, HeaderMap};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::AbortHandle;
use tokio::time::Instant;

use crate::lock;

/// The largest request that is read, in bytes.
const MAX_REQUEST: usize = 4 * 1024 * 1024;
/// How many requests are kept, the newest ones.
const MAX_CALLS: usize = 10_000;
/// How many bytes of bodies are kept, of the newest requests; the last is kept at any size.
const MAX_BYTES: usize = 32 * 1024 * 1024;

/// Any free port of this machine.
pub const ANY_PORT: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0);

/// A request as it came in.
#[derive(Debug, Clone)]
pub struct IncomingCall {
    /// When it came in.
    pub at: Instant,
    /// The HTTP method.
    pub method: String,
    /// The path, with its leading slash.
    pub path: String,
    /// The headers.
    pub headers: HeaderMap,
    /// The body.
    pub body: Bytes,
    /// The body as JSON; null if it is not JSON.
    pub json: Value,
}

impl IncomingCall {
    /// The tool that was called, in any form of call.
    pub fn tool(&self) -> Option<&str> {
        let method = self.json.get("method")?.as_str()?;
        if method == "tools/call" {
            return self.json.get("params")?.get("name")?.as_str();
        }
        Some(method)
    }

    /// The message that was sent, framed or bare; `null` if there is none.
    pub fn message(&self) -> &Value {
        let params = &self.json["params"];
        if self.json["method"] == "tools/call" {
            return &params["arguments"];
        }
        if params.is_object() {
            params
        } else {
            &self.json
        }
    }

    /// The type of the message.
    pub fn kind(&self) -> &str {
        self.message()["message_type"].as_str().unwrap_or_default()
    }

    /// The body as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

/// How a listener reacts to a request.
#[derive(Debug, Clone)]
pub enum ScriptedAnswer {
    /// Answers with a result.
    Result(Value),
    /// Answers with bytes of its own.
    Raw(u16, String),
    /// Answers after a delay.
    Late(Duration, Box<ScriptedAnswer>),
    /// Closes the connection without an answer.
    Nothing,
}

impl ScriptedAnswer {
    /// Refuses a method that there is not.
    pub fn unknown_method(heard: &IncomingCall) -> Self {
        let error = json!({"code": -32_601, "message": "there is no such method"});
        let answer = json!({"jsonrpc": "2.0", "id": heard.json["id"], "error": error});
        Self::Raw(200, answer.to_string())
    }
}

/// The newest requests, each with its sequence number.
#[derive(Default)]
struct CallLog {
    kept: VecDeque<Arc<IncomingCall>>,
    bytes: usize,
    forgotten: usize,
}

impl CallLog {
    /// Stores a request and drops the oldest ones if necessary.
    fn push(&mut self, heard: IncomingCall) {
        self.bytes += heard.body.len();
        self.kept.push_back(Arc::new(heard));
        while self.kept.len() > 1 && (self.kept.len() > MAX_CALLS || self.bytes > MAX_BYTES) {
            let oldest = self.kept.pop_front();
            self.bytes -= oldest.map_or(0, |oldest| oldest.body.len());
            self.forgotten += 1;
        }
    }

    /// How many requests came in, kept or not.
    fn count(&self) -> usize {
        self.forgotten + self.kept.len()
    }

    /// The kept requests from a sequence number on.
    fn since(&self, first: usize) -> Vec<Arc<IncomingCall>> {
        let kept = self.kept.iter().skip(first.saturating_sub(self.forgotten));
        kept.cloned().collect()
    }
}

type Script = dyn Fn(&IncomingCall) -> ScriptedAnswer + Send + Sync;

/// A scripted server; it stops when it is dropped.
pub struct Listener {
    /// Where it listens.
    pub address: SocketAddr,
    state: Arc<ListenerState>,
    task: AbortHandle,
}

struct ListenerState {
    heard: Mutex<CallLog>,
    count: watch::Sender<usize>,
    script: Box<Script>,
}

impl Listener {
    /// Opens a server.
    /// The port may be in use.
    pub async fn open(
        address: SocketAddr,
        script: impl Fn(&IncomingCall) -> ScriptedAnswer + Send + Sync + 'static,
    ) -> io::Result<Self> {
        let listener = TcpListener::bind(address).await?;
        let address = listener.local_addr()?;
        let state = Arc::new(ListenerState {
            heard: Mutex::default(),
            count: watch::Sender::new(0),
            script: Box::new(script),
        });
        let task = tokio::spawn(listen(listener, Arc::clone(&state))).abort_handle();
        Ok(Self {
            address,
            state,
            task,
        })
    }

    /// The kept requests from a sequence number on; the oldest may have been dropped.
    pub fn since(&self, first: usize) -> Vec<Arc<IncomingCall>> {
        lock(&self.state.heard).since(first)
    }

    /// How many requests came so far.
    pub fn count(&self) -> usize {
        lock(&self.state.heard).count()
    }

    /// Waits for a request that satisfies a condition, from a sequence number on.
    pub async fn wait(
        &self,
        first: usize,
        patience: Duration,
        passes: impl Fn(&IncomingCall) -> bool,
    ) -> Option<Arc<IncomingCall>> {
        let mut count = self.state.count.subscribe();
        let found = async {
            loop {
                count.mark_unchanged();
                // The condition may read the requests itself, so the lock is released first.
                let found = self.since(first).into_iter().find(|heard| passes(heard));
                if found.is_some() || count.changed().await.is_err() {
                    return found;
                }
            }
        };
        tokio::time::timeout(patience, found).await.unwrap_or(None)
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn listen(listener: TcpListener, state: Arc<ListenerState>) {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                tokio::spawn(converse(stream, Arc::clone(&state)));
            }
            Err(_) => tokio::time::sleep(Duration::from_millis(10)).await,
        }
    }
}

async fn converse(stream: TcpStream, state: Arc<ListenerState>) {
    let service = service_fn(move |request| {
        let state = Arc::clone(&state);
        async move { state.answer(request).await }
    });
    // After a broken connection there is no peer to report the error to.
    let _ = http1::Builder::new()
        .serve_connection(TokioIo::new(stream), service)
        .await;
}

/// The script wants the connection closed.
#[derive(Debug, thiserror::Error)]
#[error("closed")]
struct ConnectionClosed;

impl ListenerState {
    async fn answer(
        &self,
        request: Request<Incoming>,
    ) -> Result<Response<Full<Bytes>>, ConnectionClosed> {
        let (head, body) = request.into_parts();
        let body = Limited::new(body, MAX_REQUEST).collect().await;
        let body = body.map_err(|_| ConnectionClosed)?.to_bytes();
        let heard = IncomingCall {
            at: Instant::now(),
            method: head.method.to_string(),
            path: head.uri.path().to_owned(),
            headers: head.headers,
            json: serde_json::from_slice(&body).unwrap_or_default(),
            body,
        };
        let mut said = (self.script)(&heard);
        let id = heard.json["id"].clone();
        self.keep(heard);
        while let ScriptedAnswer::Late(after, then) = said {
            tokio::time::sleep(after).await;
            said = *then;
        }
        match said {
            ScriptedAnswer::Result(result) => {
                let answer = json!({"jsonrpc": "2.0", "id": id, "result": result});
                Ok(response(200, answer.to_string()))
            }
            ScriptedAnswer::Raw(status, body) => Ok(response(status, body)),
            ScriptedAnswer::Late(..) | ScriptedAnswer::Nothing => Err(ConnectionClosed),
        }
    }

    fn keep(&self, heard: IncomingCall) {
        let mut all = lock(&self.heard);
        all.push(heard);
        self.count.send_replace(all.count());
    }
}

fn response(status: u16, body: String) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(body.into()));
    *response.status_mut() = status.try_into().unwrap_or_default();
    let kind = hyper::header::HeaderValue::from_static("application/json");
    response.headers_mut().insert(CONTENT_TYPE, kind);
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heard(length: usize) -> IncomingCall {
        IncomingCall {
            at: Instant::now(),
            method: "POST".to_owned(),
            path: "/mcp".to_owned(),
            headers: HeaderMap::new(),
            body: Bytes::from(vec![b' '; length]),
            json: Value::Null,
        }
    }

    #[test]
    fn the_newest_requests_are_kept_and_each_keeps_its_place() {
        let mut log = CallLog::default();
        let size = MAX_BYTES / 4;
        for _ in 0..10 {
            log.push(heard(size));
        }
        log.push(heard(7));
        assert!(log.bytes <= MAX_BYTES, "{}", log.bytes);
        assert_eq!(log.count(), 11);
        let last: Vec<usize> = log.since(10).iter().map(|heard| heard.body.len()).collect();
        assert_eq!(last, [7]);
        assert_eq!(log.since(0).len(), 4);
        assert_eq!(log.since(99).len(), 0);
    }

    #[test]
    fn many_small_requests_are_bounded_too() {
        let mut log = CallLog::default();
        for _ in 0..MAX_CALLS + 5 {
            log.push(heard(0));
        }
        assert_eq!(log.kept.len(), MAX_CALLS);
        assert_eq!(log.count(), MAX_CALLS + 5);
    }
}
