//! Hostile and unusual input at the server: a clear answer, and the next caller is served.

use super::*;

/// Repeats the length of each body.
struct Counting;

impl Handler for Counting {
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

fn server() -> std::net::SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || serve(&listener, &Arc::new(Counting)));
    address
}

/// All that comes back until the server closes the connection; the caller's side is closed at once.
fn exchange(address: std::net::SocketAddr, sent: &[u8]) -> String {
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
fn broken_head_gets_a_clear_answer_and_the_next_is_served() {
    let post = |rest: &str| format!("POST /mcp HTTP/1.1\r\n{rest}");
    let long = post(&format!("X: {}\r\n\r\n", "x".repeat(20_000)));
    refused(&[
        ("hello\r\n\r\n", 400, "not HTTP/1.1"),
        ("\u{1}\u{2}\u{3}\r\n\r\n", 400, "not HTTP/1.1"),
        ("POST /mcp HTTP/2\r\n\r\n", 400, "not HTTP/1.1"),
        (&post("Content-Length: 5\r\n"), 400, "head is not complete"),
        (&long, 431, "larger than"),
        (&post("no colon\r\n\r\n"), 400, "name: value"),
        (
            &post("Origin: https://example.com\r\n\r\n"),
            403,
            "web pages",
        ),
    ]);
}

#[test]
fn broken_body_gets_a_clear_answer_and_the_next_is_served() {
    let sized = |rest: &str| format!("POST /mcp HTTP/1.1\r\nContent-Length: {rest}");
    let coded = |rest: &str| format!("POST /mcp HTTP/1.1\r\nTransfer-Encoding: {rest}");
    refused(&[
        (&sized("5\r\n\r\nabc"), 400, "ended before"),
        (&sized("-1\r\n\r\n"), 400, "one number"),
        (
            &sized("1\r\nContent-Length: 2\r\n\r\nab"),
            400,
            "one number",
        ),
        (&sized("99999999999999999999\r\n\r\n"), 413, "256 KiB"),
        (&sized("300000\r\n\r\nabc"), 413, "256 KiB"),
        (&coded("gzip\r\n\r\n"), 501, "chunked"),
        (
            &coded("chunked\r\nContent-Length: 1\r\n\r\n0"),
            400,
            "not both",
        ),
        (&coded("chunked\r\n\r\nzz\r\n"), 400, "chunk"),
        (
            &coded("chunked\r\n\r\nfffffffffffffffffff\r\n"),
            413,
            "256 KiB",
        ),
        (
            &coded("chunked\r\n\r\n3\r\nabcd\r\n0\r\n\r\n"),
            400,
            "chunk",
        ),
        (&coded("chunked\r\n\r\n5\r\nab"), 400, "ended before"),
    ]);
}

#[test]
fn connection_stays_open_for_plain_and_chunked_bodies() {
    let requests = "POST /mcp HTTP/1.1\r\nContent-Length: 3\r\nAuthorization: Bearer tok\r\n\r\nabc\
                    POST /mcp?x=1 HTTP/1.1\r\nTransfer-Encoding: Chunked\r\n\
                    Content-Type: application/json\r\n\r\n\
                    2;name=value\r\nab\r\n1\r\nc\r\n0\r\nTrailer: 1\r\n\r\n\
                    HEAD /health HTTP/1.1\r\n\r\nGET /nowhere HTTP/1.1\r\n\r\n\
                    PUT /mcp HTTP/1.1\r\nConnection: close\r\n\r\n";
    let answer = exchange(server(), requests.as_bytes());
    let statuses: Vec<&str> = answer
        .split("HTTP/1.1 ")
        .filter_map(|part| part.get(..3))
        .collect();
    assert_eq!(statuses, ["200", "200", "200", "404", "405"], "{answer}");
    assert!(answer.contains("[null,\"tok\",3]"), "{answer}");
    assert!(answer.contains("[\"application/json\",null,3]"), "{answer}");
    assert_eq!(answer.matches("Connection: close").count(), 1, "{answer}");
}

#[test]
fn slow_sender_is_cut_at_one_moment() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let client = TcpStream::connect(address).unwrap();
    let (stream, _) = listener.accept().unwrap();
    let mut stream = TimedStream::new(stream, Duration::ZERO).unwrap();
    let mut byte = [0];
    let error = stream.read(&mut byte).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TimedOut);
    drop(client);
}
