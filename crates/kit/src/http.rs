//! The HTTP/1.1 of a player, on the standard library: a server with a thread for each connection, and
//! the reading of heads and bodies, which the call to the manager shares. Everything has a bound.

mod connections;

use std::io::{self, BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use connections::{ConnectionTable, TableEntry};
use league_protocol::rpc::MAX_BODY;

/// The largest head, in bytes.
const MAX_HEAD: usize = 16 * 1024;
/// The longest line that announces a chunk, in bytes.
const MAX_CHUNK_LINE: usize = 128;
/// The most connections at once; a further one takes the place of one without a request.
pub(crate) const MAX_CONNECTIONS: usize = 256;
/// How long a connection may wait for its next request, its head included.
const HEAD_TIMEOUT: Duration = Duration::from_secs(30);
const BODY_TIMEOUT: Duration = Duration::from_secs(10);
const WRITE_TIMEOUT: Duration = Duration::from_secs(10);
/// How much of a refused request is read and thrown away, so that its sender reads the answer.
const MAX_DRAIN: u64 = 1024 * 1024;
const DRAIN_TIMEOUT: Duration = Duration::from_secs(1);
/// How long the listener rests after an error, such as a lack of descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// The header of the last answer of a connection.
const LAST: &str = "Connection: close\r\n";

/// What the server asks for each body that is posted to `/mcp`.
pub(crate) trait PostHandler: Send + Sync + 'static {
    /// The status and the JSON of the answer; an empty one for a notification.
    fn post(&self, content_type: Option<&str>, bearer: Option<&str>, body: &[u8])
    -> (u16, Vec<u8>);
}

/// Serves at most so many connections at once until the process ends.
pub(crate) fn serve(listener: &TcpListener, handler: &Arc<impl PostHandler>, most: usize) {
    let table = Arc::new(ConnectionTable::new(most));
    for stream in listener.incoming() {
        let Ok(stream) = stream.map(Arc::new) else {
            thread::sleep(ACCEPT_PAUSE);
            continue;
        };
        let entry = table.enter(&stream);
        let Ok(mut connection) = CallerConnection::new(stream) else {
            continue;
        };
        let Some(entry) = entry else {
            let (status, answer) = told(503, "too many calls; try again");
            // The caller may have gone, and the next must not wait for it.
            let _ = connection.send(status, answer.len(), &answer, LAST);
            continue;
        };
        let handler = Arc::clone(handler);
        let name = thread::Builder::new().name("connection".to_owned());
        // Without a thread the connection is closed, and its caller tries again.
        let _ = name.spawn(move || {
            // A connection that breaks concerns only its caller.
            let _ = connection.run(&*handler, &entry);
        });
    }
}

/// A request or a response that cannot be read: its HTTP status, and what to do.
#[derive(Debug)]
pub(crate) struct HttpRefusal(pub(crate) u16, pub(crate) &'static str);

impl From<HttpRefusal> for io::Error {
    fn from(refusal: HttpRefusal) -> Self {
        Self::new(ErrorKind::InvalidData, refusal.1)
    }
}

/// Why reading stopped.
#[derive(Debug)]
pub(crate) enum ReadStop {
    /// The peer has gone, or sent nothing in time.
    Gone(io::Error),
    Refused(HttpRefusal),
}

impl From<io::Error> for ReadStop {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            ErrorKind::WouldBlock | ErrorKind::TimedOut => {
                Self::Refused(HttpRefusal(408, "the request did not come in time"))
            }
            ErrorKind::UnexpectedEof => Self::Refused(HttpRefusal(
                400,
                "the request ended before its body was complete",
            )),
            _ => Self::Gone(error),
        }
    }
}

/// A stream whose reads all end at one moment, however slowly the bytes come.
pub(crate) struct TimedStream {
    stream: Arc<TcpStream>,
    pub(crate) until: Instant,
}

impl TimedStream {
    pub(crate) fn new(stream: Arc<TcpStream>, timeout: Duration) -> io::Result<Self> {
        stream.set_nodelay(true)?;
        stream.set_write_timeout(Some(WRITE_TIMEOUT))?;
        let until = Instant::now() + timeout;
        Ok(Self { stream, until })
    }
}

impl Read for TimedStream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = self.until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(ErrorKind::TimedOut.into());
        }
        self.stream.set_read_timeout(Some(left))?;
        (&*self.stream).read(buffer)
    }
}

impl Write for TimedStream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        (&*self.stream).write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        (&*self.stream).flush()
    }
}

/// The first line and the headers of a request or a response.
#[derive(Debug, Default)]
pub(crate) struct HttpHead {
    pub(crate) start: String,
    headers: Vec<(String, String)>,
}

impl HttpHead {
    /// Reads a head; `None` if the stream ends before it begins.
    pub(crate) fn read(reader: &mut impl BufRead) -> Result<Option<Self>, ReadStop> {
        let mut head = Self::default();
        let mut left = MAX_HEAD;
        loop {
            let too_large = HttpRefusal(431, "the head is larger than 16 KiB; send fewer headers");
            let line = read_line(reader, left, too_large)?;
            let Some(line) = line else {
                let nothing = head.start.is_empty();
                let cut = HttpRefusal(400, "the head is not complete; end it with an empty line");
                return if nothing {
                    Ok(None)
                } else {
                    Err(ReadStop::Refused(cut))
                };
            };
            left -= line.len() + 1;
            let line = String::from_utf8(line);
            let line =
                line.map_err(|_| ReadStop::Refused(HttpRefusal(400, "the head is not text")))?;
            let line = line.trim_end_matches('\r');
            if line.is_empty() && head.start.is_empty() {
                // An empty line before a request is allowed.
            } else if line.is_empty() {
                return Ok(Some(head));
            } else if head.start.is_empty() {
                line.clone_into(&mut head.start);
            } else {
                head.headers.push(header(line)?);
            }
        }
    }

    /// The value of a header; `None` if it is absent.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        let mut found = self.headers.iter().filter(|(known, _)| known == name);
        found.next().map(|(_, value)| value.as_str())
    }

    /// How the body is delimited.
    fn framing(&self) -> Result<Framing, HttpRefusal> {
        let codings = self.headers.iter();
        let codings = codings.filter(|(it, _)| it == "transfer-encoding");
        let mut codings = codings.map(|(_, value)| value.as_str());
        let lengths = self.headers.iter().filter(|(it, _)| it == "content-length");
        let mut lengths = lengths.map(|(_, value)| value.as_str());
        match (codings.next(), lengths.next()) {
            (Some(_), Some(_)) => Err(HttpRefusal(400, "a body has a length or chunks, not both")),
            (Some(_), None) if self.start.ends_with("HTTP/1.0") => Err(HttpRefusal(
                400,
                "HTTP/1.0 has no chunks; send `Content-Length`",
            )),
            (Some(coding), None)
                if coding.eq_ignore_ascii_case("chunked") && codings.next().is_none() =>
            {
                Ok(Framing::Chunks)
            }
            (Some(_), None) => Err(HttpRefusal(
                501,
                "the only transfer coding here is `chunked`",
            )),
            (None, None) => Ok(Framing::Absent),
            (None, Some(first)) => {
                let is_number = !first.is_empty() && first.bytes().all(|it| it.is_ascii_digit());
                if !is_number || lengths.any(|other| other != first) {
                    return Err(HttpRefusal(400, "`Content-Length` is not one number"));
                }
                // A number that does not fit is too large as well.
                Ok(Framing::Length(first.parse().unwrap_or(usize::MAX)))
            }
        }
    }

    /// Reads the body; `to_end` if one without a length lasts until the stream ends.
    pub(crate) fn body(
        &self,
        reader: &mut impl BufRead,
        to_end: bool,
    ) -> Result<Vec<u8>, ReadStop> {
        let mut body = Vec::new();
        match self.framing().map_err(ReadStop::Refused)? {
            Framing::Absent if to_end => {
                let most = MAX_BODY as u64 + 1;
                reader.take(most).read_to_end(&mut body)?;
            }
            Framing::Absent => {}
            Framing::Length(length) => read_exactly(reader, length, &mut body)?,
            Framing::Chunks => read_chunks(reader, &mut body)?,
        }
        if body.len() > MAX_BODY {
            return Err(ReadStop::Refused(TOO_LARGE));
        }
        Ok(body)
    }
}

const TOO_LARGE: HttpRefusal = HttpRefusal(413, "a body has at most 256 KiB");

enum Framing {
    Absent,
    Length(usize),
    Chunks,
}

fn header(line: &str) -> Result<(String, String), ReadStop> {
    let (name, value) = line.split_once(':').unwrap_or((line, ""));
    let is_token = |byte: u8| byte.is_ascii_graphic() && byte != b':';
    if name.len() == line.len() || name.is_empty() || !name.bytes().all(is_token) {
        return Err(ReadStop::Refused(HttpRefusal(
            400,
            "a header is not `name: value`",
        )));
    }
    Ok((name.to_ascii_lowercase(), value.trim().to_owned()))
}

/// Reads a line without its end; `None` at the end of the stream.
fn read_line(
    reader: &mut impl BufRead,
    most: usize,
    too_large: HttpRefusal,
) -> Result<Option<Vec<u8>>, ReadStop> {
    let mut line = Vec::new();
    let read = reader.take(most as u64).read_until(b'\n', &mut line)?;
    if line.pop_if(|last| *last == b'\n').is_some() {
        Ok(Some(line))
    } else if read >= most {
        Err(ReadStop::Refused(too_large))
    } else {
        Ok(None)
    }
}

fn read_exactly(
    reader: &mut impl BufRead,
    length: usize,
    body: &mut Vec<u8>,
) -> Result<(), ReadStop> {
    if length > MAX_BODY - body.len() {
        return Err(ReadStop::Refused(TOO_LARGE));
    }
    let start = body.len();
    body.resize(start + length, 0);
    Ok(reader.read_exact(&mut body[start..])?)
}

fn read_chunks(reader: &mut impl BufRead, body: &mut Vec<u8>) -> Result<(), ReadStop> {
    let broken = || HttpRefusal(400, "a chunk is not as HTTP/1.1 writes it");
    loop {
        let line = read_line(reader, MAX_CHUNK_LINE, broken())?;
        let line = line.ok_or_else(|| ReadStop::Refused(broken()))?;
        let line = String::from_utf8_lossy(&line);
        let size = line.split(';').next().unwrap_or_default().trim();
        let is_size = !size.is_empty() && size.bytes().all(|it| it.is_ascii_hexdigit());
        if !is_size {
            return Err(ReadStop::Refused(broken()));
        }
        match usize::from_str_radix(size, 16) {
            Ok(0) => break,
            Ok(size) => read_exactly(reader, size, body)?,
            Err(_) => return Err(ReadStop::Refused(TOO_LARGE)),
        }
        match read_line(reader, 2, broken())? {
            Some(end) if end.is_empty() || end == b"\r" => {}
            _ => return Err(ReadStop::Refused(broken())),
        }
    }
    let mut left = MAX_HEAD;
    loop {
        match read_line(reader, left, broken())? {
            Some(trailer) if trailer.is_empty() || trailer == b"\r" => return Ok(()),
            Some(trailer) => left -= trailer.len() + 1,
            None => return Err(ReadStop::Refused(broken())),
        }
    }
}

/// A connection of a caller.
struct CallerConnection {
    reader: BufReader<TimedStream>,
}

impl CallerConnection {
    fn new(stream: Arc<TcpStream>) -> io::Result<Self> {
        let reader = BufReader::new(TimedStream::new(stream, HEAD_TIMEOUT)?);
        Ok(Self { reader })
    }

    /// Answers requests until the caller leaves or a request cannot be read.
    fn run(&mut self, handler: &impl PostHandler, entry: &TableEntry) -> io::Result<()> {
        loop {
            self.reader.get_mut().until = Instant::now() + HEAD_TIMEOUT;
            let answered = match HttpHead::read(&mut self.reader) {
                Ok(None) => return Ok(()),
                // A connection that waits for its next request ends in silence.
                Err(ReadStop::Refused(HttpRefusal(408, _))) => return Ok(()),
                Ok(Some(head)) => self.answer(&head, handler, entry),
                Err(stop) => Err(stop),
            };
            match answered {
                Ok(true) => {}
                Ok(false) => return self.close(),
                Err(ReadStop::Gone(error)) => return Err(error),
                Err(ReadStop::Refused(refusal)) => return self.refuse(&refusal),
            }
        }
    }

    /// Answers one request; returns whether the connection stays open.
    fn answer(
        &mut self,
        head: &HttpHead,
        handler: &impl PostHandler,
        entry: &TableEntry,
    ) -> Result<bool, ReadStop> {
        let mut words = head.start.split(' ');
        let (method, path) = (words.next().unwrap_or(""), words.next().unwrap_or(""));
        let version = words.next().unwrap_or("");
        if !version.starts_with("HTTP/1.") || words.next().is_some() {
            return Err(ReadStop::Refused(HttpRefusal(400, "this is not HTTP/1.1")));
        }
        let named = |words: &str, word: &str| {
            let mut words = words.split(',');
            words.any(|it| it.trim().eq_ignore_ascii_case(word))
        };
        let connection = head.get("connection").unwrap_or("");
        let stays = version == "HTTP/1.1" && !named(connection, "close");
        self.reader.get_mut().until = Instant::now() + BODY_TIMEOUT;
        if head
            .get("expect")
            .is_some_and(|it| named(it, "100-continue"))
        {
            let stream = self.reader.get_mut();
            stream.write_all(b"HTTP/1.1 100 Continue\r\n\r\n")?;
        }
        let body = head.body(&mut self.reader, false)?;
        let path = path.split('?').next().unwrap_or_default();
        let path = if path == "/mcp/" { "/mcp" } else { path };
        let (status, answer) = match (method, path) {
            // Agents send no `Origin`, so this is a web page in a browser.
            _ if head.get("origin").is_some() => told(403, "web pages may not call a player"),
            ("POST", "/mcp") => {
                let bearer = head.get("authorization").and_then(bearer);
                entry.set_waiting(false);
                let answer = handler.post(head.get("content-type"), bearer, &body);
                entry.set_waiting(true);
                answer
            }
            ("GET" | "HEAD", "/health") => (200, b"{\"status\":\"ok\"}".to_vec()),
            (_, "/mcp") => told(405, "call `POST /mcp`"),
            (_, "/health") => told(405, "call `GET /health`"),
            _ => told(404, "there are `POST /mcp` and `GET /health`"),
        };
        let shown = if method == "HEAD" { &[][..] } else { &answer };
        let allow = match (status, path) {
            (405, "/health") => "Allow: GET, HEAD\r\n",
            (405, _) => "Allow: POST\r\n",
            _ => "",
        };
        let headers = format!("{allow}{}", if stays { "" } else { LAST });
        self.send(status, answer.len(), shown, &headers)?;
        Ok(stays)
    }

    fn refuse(&mut self, HttpRefusal(status, words): &HttpRefusal) -> io::Result<()> {
        let (status, answer) = told(*status, words);
        self.send(status, answer.len(), &answer, LAST)?;
        self.close()
    }

    fn send(&mut self, status: u16, length: usize, body: &[u8], more: &str) -> io::Result<()> {
        let mut answer = format!(
            "HTTP/1.1 {status} {}\r\nContent-Type: application/json\r\n\
             Content-Length: {length}\r\n{more}\r\n",
            phrase(status)
        )
        .into_bytes();
        answer.extend_from_slice(body);
        self.reader.get_mut().write_all(&answer)
    }

    /// Ends the connection so that the caller can still read the answer.
    fn close(&mut self) -> io::Result<()> {
        let stream = self.reader.get_mut();
        stream.stream.shutdown(Shutdown::Write)?;
        stream.until = Instant::now() + DRAIN_TIMEOUT;
        io::copy(&mut stream.take(MAX_DRAIN), &mut io::sink()).map(|_| ())
    }
}

fn told(status: u16, words: &str) -> (u16, Vec<u8>) {
    (
        status,
        serde_json::json!({"error": words}).to_string().into(),
    )
}

/// The token of an `Authorization` header.
fn bearer(value: &str) -> Option<&str> {
    let (scheme, token) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

const fn phrase(status: u16) -> &'static str {
    match status {
        200 => "OK",
        202 => "Accepted",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        408 => "Request Timeout",
        413 => "Content Too Large",
        415 => "Unsupported Media Type",
        431 => "Request Header Fields Too Large",
        501 => "Not Implemented",
        503 => "Service Unavailable",
        _ => "Bad Request",
    }
}

#[cfg(test)]
mod tests;
