//! Raw HTTP, so that a test can say what no well-behaved agent says.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;

use serde_json::{Value, json};

use crate::end_to_end::process::BOUND;

/// What came back.
#[derive(Debug)]
pub(crate) struct Answer {
    /// The status of HTTP.
    pub(crate) status: u16,
    /// The body.
    pub(crate) body: String,
}

impl Answer {
    /// The body as JSON.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap()
    }
}

/// Sends a request to the agent that answers at this endpoint, by a method and a path.
pub(crate) fn request(endpoint: &str, method: &str, path: &str, body: &[u8]) -> Answer {
    let json = [("content-type", "application/json")];
    request_with(endpoint, method, path, &json, body)
}

/// Sends a request with these headers; `host` is added unless it is among them.
pub(crate) fn request_with(
    endpoint: &str,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &[u8],
) -> Answer {
    let (mut stream, authority) = connect(endpoint);
    let mut head = format!("{method} {path} HTTP/1.1\r\n");
    let names_host = headers.iter().any(|(name, _)| *name == "host");
    let host = [("host", authority)].into_iter().filter(|_| !names_host);
    for (name, value) in host.chain(headers.iter().copied()) {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str(&format!(
        "content-length: {}\r\nconnection: close\r\n\r\n",
        body.len()
    ));
    stream.write_all(head.as_bytes()).unwrap();
    // Whoever refuses a body need not have read it.
    let _ = stream.write_all(body);
    read_answer(&mut BufReader::new(stream))
}

/// Opens a connection to an address of HTTP; returns its host and port too.
pub(crate) fn connect(address: &str) -> (TcpStream, &str) {
    let authority = address.trim_start_matches("http://");
    let authority = authority.split('/').next().unwrap();
    let stream = TcpStream::connect(authority).unwrap();
    stream.set_read_timeout(Some(BOUND)).unwrap();
    (stream, authority)
}

fn read_answer(stream: &mut impl BufRead) -> Answer {
    let head = read_head(stream);
    let (first, length) = head.expect("an answer before the connection ends or the time is over");
    let status = first.split(' ').nth(1).unwrap().parse().unwrap();
    let mut body = vec![0; length];
    stream.read_exact(&mut body).unwrap();
    let body = String::from_utf8(body).unwrap();
    Answer { status, body }
}

/// Reads the head of a request or an answer: its first line, and how long the body is.
pub(crate) fn read_head(stream: &mut impl BufRead) -> Option<(String, usize)> {
    let mut first = None;
    let mut length = 0;
    loop {
        let mut line = String::new();
        if stream.read_line(&mut line).ok()? == 0 {
            return None;
        }
        let line = line.trim_end();
        if line.is_empty() {
            return Some((first?, length));
        }
        if let Some((name, value)) = line.split_once(':')
            && name.eq_ignore_ascii_case("content-length")
        {
            length = value.trim().parse().ok()?;
        }
        first.get_or_insert_with(|| line.to_owned());
    }
}

/// Calls a tool, and gives `result`.
pub(crate) fn call(endpoint: &str, tool: &str, params: &Value) -> Value {
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": tool, "params": params});
    let answer = request(endpoint, "POST", "/mcp", body.to_string().as_bytes());
    assert_eq!(answer.status, 200, "{answer:?}");
    let answer = answer.json();
    assert!(answer.get("result").is_some(), "{answer}");
    answer["result"].clone()
}

/// How an agent is.
pub(crate) fn health(endpoint: &str) -> Value {
    request(endpoint, "GET", "/health", b"").json()
}

/// A message of a kind from a sender, with what it says, and a token if one is shown.
pub(crate) fn message(kind: &str, sender: &str, token: Option<&str>, says: &Value) -> Value {
    let mut message = json!({
        "protocol": "league.v2",
        "message_type": kind,
        "sender": sender,
        "timestamp": "2025-01-15T10:15:00Z",
        "conversation_id": "conv-of-a-test",
    });
    if let Some(token) = token {
        message["auth_token"] = token.into();
    }
    for (name, value) in says.as_object().unwrap() {
        message[name] = value.clone();
    }
    message
}
