//! A scripted server that records every request: the check's side of a conversation.

use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
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

/// The largest request that is read, in bytes.
const LARGEST_REQUEST: usize = 4 * 1024 * 1024;
/// How many requests are kept, the newest ones.
const MOST_HEARD: usize = 10_000;
/// How many bytes of bodies are kept, of the newest requests; the last is kept at any size.
const MOST_BYTES: usize = 32 * 1024 * 1024;

/// A request as it came in.
#[derive(Debug, Clone)]
pub struct IncomingCall {
    /// When it came in.
    pub at: Instant,
    /// The HTTP method.
    pub method: String,
    /// The path.
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

/// The newest requests, each with its sequence number.
#[derive(Default)]
struct Row {
    kept: VecDeque<Arc<IncomingCall>>,
    bytes: usize,
    forgotten: usize,
}

impl Row {
    /// Stores a request and drops the oldest ones if necessary.
    fn push(&mut self, heard: IncomingCall) {
        self.bytes += heard.body.len();
        self.kept.push_back(Arc::new(heard));
        while self.kept.len() > 1 && (self.kept.len() > MOST_HEARD || self.bytes > MOST_BYTES) {
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
    heard: Arc<Mutex<Row>>,
    count: watch::Receiver<usize>,
    task: AbortHandle,
}

struct Ears {
    heard: Arc<Mutex<Row>>,
    count: watch::Sender<usize>,
    script: Box<Script>,
}

impl Listener {
    /// Opens a server.
    ///
    /// # Errors
    ///
    /// The port may be in use.
    pub async fn open(
        address: SocketAddr,
        script: impl Fn(&IncomingCall) -> ScriptedAnswer + Send + Sync + 'static,
    ) -> io::Result<Self> {
        let listener = TcpListener::bind(address).await?;
        let address = listener.local_addr()?;
        let heard: Arc<Mutex<Row>> = Arc::default();
        let (sender, count) = watch::channel(0);
        let ears = Arc::new(Ears {
            heard: Arc::clone(&heard),
            count: sender,
            script: Box::new(script),
        });
        let task = tokio::spawn(listen(listener, ears)).abort_handle();
        Ok(Self {
            address,
            heard,
            count,
            task,
        })
    }

    /// The kept requests from a sequence number on; the oldest may have been dropped.
    pub fn since(&self, first: usize) -> Vec<Arc<IncomingCall>> {
        self.row().since(first)
    }

    /// How many requests came so far.
    pub fn count(&self) -> usize {
        self.row().count()
    }

    fn row(&self) -> MutexGuard<'_, Row> {
        self.heard.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for a request that satisfies a condition, from a sequence number on.
    pub async fn wait(
        &self,
        first: usize,
        patience: Duration,
        passes: impl Fn(&IncomingCall) -> bool,
    ) -> Option<Arc<IncomingCall>> {
        let mut count = self.count.clone();
        let found = async {
            loop {
                count.mark_unchanged();
                // The condition may read the requests itself, so the lock is released first.
                let kept = self.row().since(first);
                let found = kept.into_iter().find(|heard| passes(heard));
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

async fn listen(listener: TcpListener, ears: Arc<Ears>) {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                tokio::spawn(converse(stream, Arc::clone(&ears)));
            }
            Err(_) => tokio::time::sleep(Duration::from_millis(10)).await,
        }
    }
}

async fn converse(stream: TcpStream, ears: Arc<Ears>) {
    let service = service_fn(move |request| {
        let ears = Arc::clone(&ears);
        async move { ears.answer(request).await }
    });
    // After a broken connection there is no peer to report the error to.
    let _ = http1::Builder::new()
        .serve_connection(TokioIo::new(stream), service)
        .await;
}

/// The script wants the connection closed.
#[derive(Debug, thiserror::Error)]
#[error("closed")]
struct Closed;

impl Ears {
    async fn answer(&self, request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Closed> {
        let (head, body) = request.into_parts();
        let body = Limited::new(body, LARGEST_REQUEST).collect().await;
        let body = body.map_err(|_| Closed)?.to_bytes();
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
            ScriptedAnswer::Late(..) | ScriptedAnswer::Nothing => Err(Closed),
        }
    }

    fn keep(&self, heard: IncomingCall) {
        let mut all = self.heard.lock().unwrap_or_else(PoisonError::into_inner);
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
        let mut row = Row::default();
        let size = MOST_BYTES / 4;
        for _ in 0..10 {
            row.push(heard(size));
        }
        row.push(heard(7));
        assert!(row.bytes <= MOST_BYTES, "{}", row.bytes);
        assert_eq!(row.count(), 11);
        let last: Vec<usize> = row.since(10).iter().map(|heard| heard.body.len()).collect();
        assert_eq!(last, [7]);
        assert_eq!(row.since(0).len(), 4);
        assert_eq!(row.since(99).len(), 0);
    }

    #[test]
    fn many_small_requests_are_bounded_too() {
        let mut row = Row::default();
        for _ in 0..MOST_HEARD + 5 {
            row.push(heard(0));
        }
        assert_eq!(row.kept.len(), MOST_HEARD);
        assert_eq!(row.count(), MOST_HEARD + 5);
    }
}
