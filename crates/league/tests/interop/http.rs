//! Asks an agent how it is.

use std::io::{Read, Write};
use std::net::TcpStream;

use serde_json::Value;

/// How an agent is.
pub(crate) fn health(endpoint: &str) -> Value {
    let authority = endpoint.trim_start_matches("http://");
    let authority = authority.split('/').next().unwrap();
    let mut stream = TcpStream::connect(authority).unwrap();
    let head = format!("GET /health HTTP/1.1\r\nhost: {authority}\r\nconnection: close\r\n\r\n");
    stream.write_all(head.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let body = answer.split_once("\r\n\r\n").unwrap().1;
    serde_json::from_str(body).unwrap()
}
