//! HTTP at the level of bytes: what was sent, what came back, and how long it took.
//!
//! Nothing is forgiven or repaired here, and connections are reused only if a rule asks for it.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use league_protocol::time::in_words;
use thiserror::Error;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio::time::Instant;

use crate::Target;

/// The largest body of an answer that is read, in bytes.
pub const MAX_BODY: usize = 4 * 1024 * 1024;
/// The longest header line that is read, in bytes.
const MAX_LINE: u64 = 16 * 1024;
/// The most headers that are read.
const MAX_HEADERS: usize = 128;

/// An HTTP response as it came.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Answer {
    /// The status.
    pub status: u16,
    /// Whether it is HTTP/1.0, which closes the connection unless a header keeps it.
    pub is_old: bool,
    /// The headers, their names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
}

impl Answer {
    /// The first header with a name.
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    }

    /// Whether the connection ends with this answer, by its headers or by its HTTP version.
    pub fn closes(&self) -> bool {
        let words = self.header("connection").unwrap_or_default();
        let says = |word: &str| {
            let mut words = words.split(',');
            words.any(|said| said.trim().eq_ignore_ascii_case(word))
        };
        says("close") || self.is_old && !says("keep-alive")
    }

    /// The body as text, even if it is not valid text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

/// A request and its outcome.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RoundTrip {
    /// The body that was sent, or the whole request if it is unusual.
    pub sent: String,
    /// The response, or why there is none.
    pub came: Result<Answer, NoAnswer>,
    /// How long it took.
    pub took: Duration,
    /// The receiver, if this is a call by the agent and not an answer to us; `came` holds the call.
    pub overheard: Option<&'static str>,
}

impl RoundTrip {
    /// A call by the agent to one of the fake agents.
    pub fn overheard(whom: &'static str, body: &[u8]) -> Self {
        Self {
            sent: String::new(),
            came: Ok(Answer {
                body: body.to_vec(),
                ..Answer::default()
            }),
            took: Duration::ZERO,
            overheard: Some(whom),
        }
    }
}

/// Why there is no response.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum NoAnswer {
    /// The address does not accept connections.
    #[error("no connection: {0}")]
    Unreachable(String),
    /// The connection was closed before an answer was complete.
    #[error("the connection was closed without a whole answer: {0}")]
    Closed(String),
    /// The response did not come in time.
    #[error("no answer within {}", in_words(*.0))]
    Late(Duration),
    /// Not an HTTP response.
    #[error("not an HTTP response: {0}")]
    NoHttp(String),
}

impl From<io::Error> for NoAnswer {
    fn from(error: io::Error) -> Self {
        Self::Closed(error.to_string())
    }
}

/// The bytes of a connection, plain or within TLS.
pub trait Channel: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Channel for T {}

/// A channel within TLS, or why there is none.
pub type Secured = Pin<Box<dyn Future<Output = Result<Box<dyn Channel>, String>> + Send>>;

/// Begins TLS on connections to an agent.
#[derive(Clone)]
pub struct BeginTls(pub Arc<dyn Fn(TcpStream) -> Secured + Send + Sync>);

impl fmt::Debug for BeginTls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BeginTls").finish_non_exhaustive()
    }
}

/// One connection to an agent.
pub struct HttpConnection(BufReader<Box<dyn Channel>>);

impl HttpConnection {
    /// Opens a connection to an agent.
    /// Returns `NoAnswer` if the address does not accept connections.
    pub async fn open(to: &Target) -> Result<Self, NoAnswer> {
        let stream = connect(to.address).await;
        let stream = stream.map_err(|error| NoAnswer::Unreachable(error.to_string()))?;
        let channel = match &to.tls {
            Some(BeginTls(begin)) => begin(stream).await.map_err(NoAnswer::Unreachable)?,
            None => Box::new(stream),
        };
        Ok(Self(BufReader::new(channel)))
    }

    /// Sends bytes as they are.
    /// The other side may have closed the connection.
    pub async fn send(&mut self, bytes: &[u8]) -> Result<(), NoAnswer> {
        Ok(self.0.get_mut().write_all(bytes).await?)
    }

    /// Closes the sending side.
    /// The other side may have closed the connection.
    pub async fn finish(&mut self) -> Result<(), NoAnswer> {
        Ok(self.0.get_mut().shutdown().await?)
    }

    /// Reads one response; `head` is for responses without a body, whatever their headers say.
    /// Returns what came instead of a response.
    pub async fn answer(&mut self, head: bool) -> Result<Answer, NoAnswer> {
        let mut answer = self.head().await?;
        // An interim response is followed by the final one.
        while (100..200).contains(&answer.status) {
            answer = self.head().await?;
        }
        let empty = head || matches!(answer.status, 204 | 304);
        answer.body = match answer.header("content-length") {
            _ if empty => Vec::new(),
            _ if is_chunked(&answer) => self.chunks().await?,
            Some(length) => self.counted(length).await?,
            None => self.rest().await?,
        };
        Ok(answer)
    }

    async fn head(&mut self) -> Result<Answer, NoAnswer> {
        let first = self.line().await?;
        let no_http = || NoAnswer::NoHttp(first.clone());
        let rest = first.strip_prefix("HTTP/1.").ok_or_else(no_http)?;
        let mut words = rest.split_ascii_whitespace();
        let is_old = words.next() == Some("0");
        let status = words.next().and_then(|status| status.parse().ok());
        let status = status.ok_or_else(no_http)?;
        let mut headers = Vec::new();
        loop {
            let line = self.line().await?;
            if line.is_empty() {
                break;
            }
            let (name, value) = line
                .split_once(':')
                .filter(|_| headers.len() < MAX_HEADERS)
                .ok_or_else(|| NoAnswer::NoHttp(line.clone()))?;
            headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
        }
        Ok(Answer {
            status,
            is_old,
            headers,
            body: Vec::new(),
        })
    }

    async fn line(&mut self) -> Result<String, NoAnswer> {
        let mut line = Vec::new();
        let mut limited = (&mut self.0).take(MAX_LINE);
        limited.read_until(b'\n', &mut line).await?;
        if line.pop() != Some(b'\n') {
            return Err(NoAnswer::Closed("nothing more came".to_owned()));
        }
        let line = String::from_utf8_lossy(&line);
        Ok(line.trim_end_matches('\r').to_owned())
    }

    async fn counted(&mut self, length: &str) -> Result<Vec<u8>, NoAnswer> {
        let length = length.parse().ok().filter(|&length| length <= MAX_BODY);
        let length = length.ok_or_else(|| NoAnswer::NoHttp("a length of the body".to_owned()))?;
        let mut body = vec![0; length];
        self.0.read_exact(&mut body).await?;
        Ok(body)
    }

    async fn chunks(&mut self) -> Result<Vec<u8>, NoAnswer> {
        let mut body = Vec::new();
        loop {
            let line = self.line().await?;
            let size = line.split(';').next().unwrap_or_default().trim();
            let size = usize::from_str_radix(size, 16).ok();
            let size = size.filter(|size| body.len().saturating_add(*size) <= MAX_BODY);
            let size = size.ok_or_else(|| NoAnswer::NoHttp(line.clone()))?;
            body.extend(self.counted(&size.to_string()).await?);
            self.line().await?;
            if size == 0 {
                return Ok(body);
            }
        }
    }

    async fn rest(&mut self) -> Result<Vec<u8>, NoAnswer> {
        let mut body = Vec::new();
        let mut limited = (&mut self.0).take(MAX_BODY as u64);
        limited.read_to_end(&mut body).await?;
        Ok(body)
    }
}

fn is_chunked(answer: &Answer) -> bool {
    let encoding = answer.header("transfer-encoding").unwrap_or_default();
    encoding.eq_ignore_ascii_case("chunked")
}

/// An HTTP request, byte for byte.
#[derive(Debug, Clone)]
pub struct Request<'r> {
    /// The method.
    pub method: &'r str,
    /// The path.
    pub path: &'r str,
    /// Headers besides `Host` and the length of the body.
    pub headers: &'r [(&'r str, &'r str)],
    /// The body.
    pub body: &'r [u8],
}

impl<'r> Request<'r> {
    /// A call to an agent.
    pub fn post(to: &'r Target, headers: &'r [(&'r str, &'r str)], body: &'r [u8]) -> Self {
        Self {
            method: "POST",
            path: &to.path,
            headers,
            body,
        }
    }

    /// The bytes of the request.
    pub fn bytes(&self, authority: &str) -> Vec<u8> {
        let Self {
            method,
            path,
            headers,
            body,
        } = self;
        let mut head = format!("{method} {path} HTTP/1.1\r\nHost: {authority}\r\n");
        for (name, value) in *headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        if !body.is_empty() || *method == "POST" {
            head.push_str(&format!("Content-Length: {}\r\n", body.len()));
        }
        [head.as_bytes(), b"\r\n", body].concat()
    }
}

/// Connects to an address.
pub(crate) async fn connect(address: SocketAddr) -> io::Result<TcpStream> {
    let stream = TcpStream::connect(address).await?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

/// Sends a request over a new connection and waits for the answer.
pub async fn exchange(to: &Target, request: &Request<'_>, patience: Duration) -> RoundTrip {
    let began = Instant::now();
    let spoken = async {
        let mut line = HttpConnection::open(to).await?;
        // An agent that refuses early may close before it has read everything; its answer counts.
        let sent = line.send(&request.bytes(&to.authority)).await;
        match line.answer(request.method == "HEAD").await {
            Ok(answer) => Ok(answer),
            Err(silence) => Err(sent.err().unwrap_or(silence)),
        }
    };
    let came = tokio::time::timeout(patience, spoken).await;
    let plain = request.method == "POST" && !request.body.is_empty();
    RoundTrip {
        sent: if plain {
            String::from_utf8_lossy(request.body).into_owned()
        } else {
            format!("{} {}", request.method, request.path)
        },
        came: came.unwrap_or(Err(NoAnswer::Late(patience))),
        took: began.elapsed(),
        overheard: None,
    }
}
