//! A server that does as a script says, and keeps all that it heard: the other side of a check.

use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
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
/// How many requests are kept.
const MOST_HEARD: usize = 10_000;

/// A request that came in, as it came.
#[derive(Debug, Clone)]
pub struct Heard {
    /// When.
    pub at: Instant,
    /// The method of HTTP.
    pub method: String,
    /// The path.
    pub path: String,
    /// The headers.
    pub headers: HeaderMap,
    /// The body.
    pub body: Bytes,
    /// The body as JSON, if it is any.
    pub json: Value,
}

impl Heard {
    /// The tool that was called, by whatever form of call.
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

/// What a listener does with a request.
#[derive(Debug, Clone)]
pub enum Said {
    /// Answers with a result.
    Result(Value),
    /// Answers with bytes of its own.
    Raw(u16, String),
    /// Answers after a while.
    Late(Duration, Box<Said>),
    /// Closes the connection without a word.
    Nothing,
}

type Script = dyn Fn(&Heard) -> Said + Send + Sync;

/// A server that does as its script says; it ends when it is dropped.
pub struct Listener {
    /// Where it listens.
    pub address: SocketAddr,
    heard: Arc<Mutex<Vec<Heard>>>,
    count: watch::Receiver<usize>,
    task: AbortHandle,
}

struct Ears {
    heard: Arc<Mutex<Vec<Heard>>>,
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
        script: impl Fn(&Heard) -> Said + Send + Sync + 'static,
    ) -> io::Result<Self> {
        let listener = TcpListener::bind(address).await?;
        let address = listener.local_addr()?;
        let heard: Arc<Mutex<Vec<Heard>>> = Arc::default();
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

    /// All that was heard from a place in the row on.
    pub fn since(&self, first: usize) -> Vec<Heard> {
        let heard = self.heard.lock().unwrap_or_else(PoisonError::into_inner);
        heard.get(first..).unwrap_or_default().to_vec()
    }

    /// How many requests came so far.
    pub fn count(&self) -> usize {
        let heard = self.heard.lock().unwrap_or_else(PoisonError::into_inner);
        heard.len()
    }

    /// Waits for a request that passes, from a place in the row on.
    pub async fn wait(
        &self,
        first: usize,
        patience: Duration,
        passes: impl Fn(&Heard) -> bool,
    ) -> Option<Heard> {
        let mut count = self.count.clone();
        let found = async {
            loop {
                count.mark_unchanged();
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
    // A peer that breaks the connection has nobody left to be told.
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
        let heard = Heard {
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
        while let Said::Late(after, then) = said {
            tokio::time::sleep(after).await;
            said = *then;
        }
        match said {
            Said::Result(result) => {
                let answer = json!({"jsonrpc": "2.0", "id": id, "result": result});
                Ok(response(200, answer.to_string()))
            }
            Said::Raw(status, body) => Ok(response(status, body)),
            Said::Late(..) | Said::Nothing => Err(Closed),
        }
    }

    fn keep(&self, heard: Heard) {
        let mut all = self.heard.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() < MOST_HEARD {
            all.push(heard);
        }
        self.count.send_replace(all.len());
    }
}

fn response(status: u16, body: String) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(body.into()));
    *response.status_mut() = status.try_into().unwrap_or_default();
    let kind = hyper::header::HeaderValue::from_static("application/json");
    response.headers_mut().insert(CONTENT_TYPE, kind);
    response
}
