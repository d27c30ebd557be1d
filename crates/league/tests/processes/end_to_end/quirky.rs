//! A player that leaves the protocol in one way of its own, as public implementations do.

use std::io::{BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use serde_json::{Value, json};

use crate::end_to_end::http::{Answer, read_head, request};
use crate::end_to_end::process::eventually;
use crate::end_to_end::scripted::{fair, registration};

/// One way to leave the protocol.
pub(crate) struct Quirk {
    /// In a few words; the player is called so.
    pub(crate) name: &'static str,
    /// What it posts to register, made from the proper message.
    pub(crate) registers: fn(Value) -> Value,
    /// What it answers to a body, made from the proper message; with a status.
    pub(crate) answers: fn(&Value) -> (u16, Value),
}

/// A player with a quirk.
pub(crate) struct Quirky {
    port: u16,
    gone: Arc<AtomicBool>,
}

impl Quirky {
    /// Registers a player before it listens, and has it answer from then on.
    pub(crate) fn join(quirk: &'static Quirk, manager: &str) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let proper = registration(quirk.name, &format!("http://localhost:{port}/mcp"));
        let body = (quirk.registers)(proper);
        let admitted = eventually(|| {
            let answer = request(manager, "POST", "/mcp", body.to_string().as_bytes());
            is_admitted(quirk, &answer).then_some(())
        });
        assert!(admitted.is_some(), "{} is not admitted", quirk.name);
        let gone = Arc::new(AtomicBool::new(false));
        let over = Arc::clone(&gone);
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                if over.load(Ordering::SeqCst) {
                    return;
                }
                let over = Arc::clone(&over);
                thread::spawn(move || converse(&stream, quirk, &over));
            }
        });
        Self { port, gone }
    }

    /// Whether its process would have ended.
    pub(crate) fn is_gone(&self) -> bool {
        self.gone.load(Ordering::SeqCst)
    }

    /// Its port, for those who look for it.
    pub(crate) fn port(&self) -> u16 {
        self.port
    }
}

/// Whether a player takes an answer for its admission.
fn is_admitted(quirk: &Quirk, answer: &Answer) -> bool {
    let word = match quirk.name {
        "Wants REGISTERED" => "\"REGISTERED\"",
        _ => "ACCEPTED",
    };
    assert_eq!(answer.status, 200, "{}: {}", quirk.name, answer.body);
    assert!(
        !answer.body.contains("LEAGUE_ERROR"),
        "{}: {}",
        quirk.name,
        answer.body
    );
    answer.body.contains(word)
}

fn converse(stream: &TcpStream, quirk: &Quirk, over: &AtomicBool) {
    let mut reader = BufReader::new(stream);
    while let Some((_, length)) = read_head(&mut reader) {
        let mut body = vec![0; length];
        if reader.read_exact(&mut body).is_err() {
            return;
        }
        let called: Value = serde_json::from_slice(&body).unwrap();
        if body.windows(16).any(|part| part == b"LEAGUE_COMPLETED")
            && quirk.name == "Leaves at the end"
        {
            over.store(true, Ordering::SeqCst);
            return;
        }
        let (status, answer) = (quirk.answers)(&called);
        let body = answer.to_string();
        let head = format!(
            "HTTP/1.1 {status} So\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        let mut stream = stream;
        let written = stream
            .write_all(head.as_bytes())
            .and_then(|()| stream.write_all(body.as_bytes()));
        if written.is_err() {
            return;
        }
    }
}

/// A call in its frame.
pub(crate) fn call(method: &str, params: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
}

/// The proper answer to a call, without its frame.
pub(crate) fn proper(called: &Value) -> Value {
    fair(&called["params"])
}

/// A result in its frame.
pub(crate) fn framed(called: &Value, result: &Value) -> (u16, Value) {
    (
        200,
        json!({"jsonrpc": "2.0", "id": called["id"], "result": result}),
    )
}

/// A refusal of a method that nobody has.
pub(crate) fn unknown(called: &Value) -> (u16, Value) {
    let error = json!({"code": -32601, "message": "Method not found"});
    (
        200,
        json!({"jsonrpc": "2.0", "id": called["id"], "error": error}),
    )
}

/// The proper registration under its proper name.
pub(crate) fn register(message: Value) -> Value {
    call("register_player", message)
}

/// Whether an answer is owed to a call.
pub(crate) fn is_owed(called: &Value) -> bool {
    let kind = called["params"]["message_type"]
        .as_str()
        .unwrap_or_default();
    ["GAME_INVITATION", "CHOOSE_PARITY_CALL"].contains(&kind)
}
