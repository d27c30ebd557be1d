//! Hostile and unusual input at the server: a clear answer, and the next caller is served.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::pin::Pin;
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::task::{Context, Poll, ready};

use hyper::body::Frame;
use tokio::time::{Instant, Interval, interval};

use super::*;

/// Repeats the length of each body.
struct Counting;

impl PostHandler for Counting {
    fn post(
        &self,
        content_type: Option<&str>,
        bearer: Option<&str>,
        body: &[u8],
    ) -> (u16, Vec<u8>) {
        let said = serde_json::json!([content_type, bearer, body.len()]);
        (200, said.to_string().into_bytes())
    }
}

fn server() -> SocketAddr {
    server_of(Counting, MAX_CONNECTIONS)
}

fn server_of(handler: impl PostHandler, most: usize) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    serve(listener, Arc::new(handler), most).unwrap();
    address
}

/// All that comes back until the server closes the connection; the caller's side is closed at once.
fn exchange(address: SocketAddr, sent: &[u8]) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    // The server may have refused before all is sent.
    let _ = stream.write_all(sent);
    let _ = stream.shutdown(Shutdown::Write);
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    String::from_utf8(answer).unwrap()
}

fn first_line(answer: &str) -> &str {
    answer.lines().next().unwrap_or("")
}

/// Sends each request, compares status and words, and sees that the next caller is served.
fn refused(table: &[(&str, u16, &str)]) {
    let address = server();
    for (sent, status, words) in table {
        let shown = &sent[..sent.len().min(100)];
        let answer = exchange(address, sent.as_bytes());
        let start = format!("HTTP/1.1 {status} ");
        assert!(answer.starts_with(&start), "{shown:?}: {answer}");
        assert!(answer.contains(words), "{shown:?}: {answer}");
        let next = exchange(address, b"GET /health HTTP/1.1\r\n\r\n");
        assert_eq!(first_line(&next), "HTTP/1.1 200 OK", "after {shown:?}");
    }
    assert_eq!(exchange(address, b""), "");
}

#[test]
fn broken_head_is_refused_and_the_next_is_served() {
    let post = |rest: &str| format!("POST /mcp HTTP/1.1\r\n{rest}");
    let long = post(&format!("X: {}\r\n\r\n", "x".repeat(20_000)));
    refused(&[
        ("hello\r\n\r\n", 400, ""),
        ("\u{1}\u{2}\u{3}\r\n\r\n", 400, ""),
        ("POST /mcp HTTP/2\r\n\r\n", 400, ""),
        (&long, 431, ""),
        (&post("no colon\r\n\r\n"), 400, ""),
        (
            &post("Origin: https://example.com\r\n\r\n"),
            403,
            "web pages",
        ),
    ]);
}

#[test]
fn broken_body_is_refused_and_the_next_is_served() {
    let sized = |rest: &str| format!("POST /mcp HTTP/1.1\r\nContent-Length: {rest}");
    let coded = |rest: &str| format!("POST /mcp HTTP/1.1\r\nTransfer-Encoding: {rest}");
    let chunks = |rest: &str| coded(&format!("chunked\r\n\r\n{rest}"));
    let much = format!(
        "{0}{0}0\r\n\r\n",
        format!("20001\r\n{}\r\n", "x".repeat(0x20001))
    );
    refused(&[
        (&sized("5\r\n\r\nabc"), 400, "not complete"),
        (&sized("-1\r\n\r\n"), 400, ""),
        (&sized("1\r\nContent-Length: 2\r\n\r\nab"), 400, ""),
        (&sized("300000\r\n\r\nabc"), 413, "256 KiB"),
        (&chunks(&much), 413, "256 KiB"),
        (&coded("gzip\r\n\r\n"), 400, ""),
        (
            "POST /mcp HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            400,
            "",
        ),
        (&chunks("zz\r\n"), 400, "chunks are broken"),
        (&chunks("fffffffffffffffffff\r\n"), 400, "chunks are broken"),
        (&chunks("3\r\nabcd\r\n0\r\n\r\n"), 400, "chunks are broken"),
        (&chunks("5\r\nab"), 400, "not complete"),
    ]);
}

#[test]
fn connection_stays_open_for_plain_and_chunked_bodies() {
    let requests = "POST /mcp HTTP/1.1\r\nContent-Length: 3\r\nAuthorization: Bearer tok\r\n\r\nabc\
                    POST /mcp?x=1 HTTP/1.1\r\nTransfer-Encoding: Chunked\r\n\
                    Content-Type: application/json\r\n\r\n\
                    2;name=value\r\nab\r\n1\r\nc\r\n0\r\nTrailer: 1\r\n\r\n\
                    HEAD /health HTTP/1.1\r\n\r\nGET /nowhere HTTP/1.1\r\n\r\n\
                    PUT /health HTTP/1.1\r\n\r\nPOST /mcp/ HTTP/1.1\r\n\r\n\
                    PUT /mcp HTTP/1.1\r\nConnection: close\r\n\r\n";
    let answer = exchange(server(), requests.as_bytes());
    let statuses: Vec<&str> = answer
        .split("HTTP/1.1 ")
        .filter_map(|part| part.get(..3))
        .collect();
    let expected = ["200", "200", "200", "404", "405", "200", "405"];
    assert_eq!(statuses, expected, "{answer}");
    let allowed = answer.lines().filter(|line| line.starts_with("allow"));
    let allowed: Vec<&str> = allowed.collect();
    assert_eq!(allowed, ["allow: GET, HEAD", "allow: POST"]);
    assert!(answer.contains("[null,\"tok\",3]"), "{answer}");
    assert!(answer.contains("[\"application/json\",null,3]"), "{answer}");
    assert_eq!(answer.matches("connection: close").count(), 1, "{answer}");
}

/// A body of which a byte comes every 10 ms.
struct Dripping(Interval);

impl Body for Dripping {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        ready!(self.0.poll_tick(context));
        Poll::Ready(Some(Ok(Frame::data(Bytes::from_static(b"x")))))
    }
}

#[tokio::test(start_paused = true)]
async fn slow_sender_is_cut_at_one_moment() {
    let start = Instant::now();
    let within = Duration::from_secs(1);
    let dripping = Dripping(interval(Duration::from_millis(10)));
    let (status, _) = read(dripping, within).await.unwrap_err();
    assert_eq!((status, start.elapsed()), (408, within));
}

#[test]
fn connection_without_a_request_makes_room_for_a_caller() {
    const GET: &[u8] = b"GET /health HTTP/1.1\r\n\r\n";
    let address = server_of(Counting, 4);
    let connect = |sent: &[u8]| {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.write_all(sent).unwrap();
        stream
    };
    // Neither half a head nor half a body is a request.
    let half = b"POST /mcp HTTP/1.1\r\nContent-Length: 9\r\n\r\nhalf";
    let mut idle = [connect(b""), connect(b"POST"), connect(half), connect(b"")];
    for _ in 0..3 {
        assert_eq!(first_line(&exchange(address, GET)), "HTTP/1.1 200 OK");
    }
    let mut end = Vec::new();
    idle[0].read_to_end(&mut end).unwrap();
    assert_eq!(end, b"", "the longest wait was closed");
    let mut answer = [0; 15];
    idle[3].write_all(GET).unwrap();
    idle[3].read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b"HTTP/1.1 200 OK", "the shortest wait was not");
}

/// Holds each request until the test lets it go.
struct Held {
    came: Sender<()>,
    released: Mutex<Receiver<()>>,
}

impl PostHandler for Held {
    fn post(&self, _: Option<&str>, _: Option<&str>, _: &[u8]) -> (u16, Vec<u8>) {
        self.came.send(()).unwrap();
        let released = self.released.lock().unwrap();
        released.recv().unwrap();
        (200, Vec::new())
    }
}

#[test]
fn request_that_is_being_answered_is_not_closed_for_another() {
    let ((came, arrival), (release, released)) = (channel(), channel());
    let released = Mutex::new(released);
    let address = server_of(Held { came, released }, 2);
    let post = b"POST /mcp HTTP/1.1\r\nContent-Length: 0\r\n\r\n";
    let callers = [(); 2].map(|()| {
        let caller = thread::spawn(move || exchange(address, post));
        arrival.recv().unwrap();
        caller
    });
    assert_eq!(exchange(address, b""), "", "the third is closed");
    // Either of them may be the first to be answered.
    callers.iter().for_each(|_| release.send(()).unwrap());
    for caller in callers {
        assert_eq!(first_line(&caller.join().unwrap()), "HTTP/1.1 200 OK");
    }
}
