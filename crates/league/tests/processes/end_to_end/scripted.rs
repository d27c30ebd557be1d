//! A player that does as a test says: fair, or as unruly as can be.

use std::io::{BufReader, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use crate::end_to_end::http::{call, message, read_head};
use crate::end_to_end::process::eventually;

/// What a scripted player does with a call.
pub(crate) enum Does {
    /// Answers as the protocol wants it.
    Answers(Value),
    /// Sends these bytes as the body of its answer.
    Sends(Vec<u8>),
    /// Answers after a while.
    AnswersLate(Duration, Value),
    /// Says that it knows no such method.
    IsUnaware,
    /// Closes the connection.
    Closes,
}

type Script = dyn Fn(&str, &Value) -> Does + Send + Sync;

/// A player at work.
pub(crate) struct Scripted {
    /// Where it answers.
    pub(crate) endpoint: String,
    heard: Arc<Mutex<Vec<Value>>>,
}

impl Scripted {
    /// Starts a player that does by this script whatever it is told.
    pub(crate) fn start(script: impl Fn(&Value) -> Does + Send + Sync + 'static) -> Self {
        Self::start_by(move |_, said| script(said))
    }

    /// The same by a script that is told the method of each call too.
    pub(crate) fn start_by(script: impl Fn(&str, &Value) -> Does + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let heard: Arc<Mutex<Vec<Value>>> = Arc::default();
        let (all, script): (_, Arc<Script>) = (Arc::clone(&heard), Arc::new(script));
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let (all, script) = (Arc::clone(&all), Arc::clone(&script));
                thread::spawn(move || converse(&stream, &all, &*script));
            }
        });
        Self {
            endpoint: format!("http://localhost:{port}/mcp"),
            heard,
        }
    }

    /// Registers by a name, and gives the manager's answer.
    pub(crate) fn register(&self, manager: &str, name: &str) -> Value {
        let request = registration(name, &self.endpoint);
        call(manager, "register_player", &request)
    }

    /// Waits until it was told a message of this kind.
    pub(crate) fn heard(&self, kind: &str) -> Value {
        let heard = eventually(|| self.all(kind).into_iter().next());
        heard.unwrap_or_else(|| panic!("no {kind} came"))
    }

    /// All messages so far; questions of another kind, such as how it takes calls, are none.
    pub(crate) fn messages(&self) -> Vec<Value> {
        let heard = self.heard.lock().unwrap();
        let messages = heard.iter().filter(|said| said["message_type"].is_string());
        messages.cloned().collect()
    }

    /// The parameters of all calls so far.
    pub(crate) fn calls(&self) -> Vec<Value> {
        self.heard.lock().unwrap().clone()
    }

    /// All messages of this kind so far.
    pub(crate) fn all(&self, kind: &str) -> Vec<Value> {
        let heard = self.heard.lock().unwrap();
        let of_kind = heard.iter().filter(|said| said["message_type"] == kind);
        of_kind.cloned().collect()
    }
}

/// The wish to play.
pub(crate) fn registration(name: &str, endpoint: &str) -> Value {
    let meta = json!({
        "display_name": name, "version": "1.0.0", "protocol_version": "2.1.0",
        "game_types": ["even_odd"], "contact_endpoint": endpoint,
    });
    let says = json!({"player_meta": meta});
    message(
        "LEAGUE_REGISTER_REQUEST",
        &format!("player:{name}"),
        None,
        &says,
    )
}

/// What a fair player answers.
pub(crate) fn fair(said: &Value) -> Value {
    let match_id = &said["match_id"];
    match said["message_type"].as_str() {
        Some("GAME_INVITATION") => {
            let says = json!({
                "match_id": match_id, "arrival_timestamp": "2025-01-15T10:15:00Z", "accept": true,
            });
            message("GAME_JOIN_ACK", "player:UNREGISTERED", None, &says)
        }
        Some("CHOOSE_PARITY_CALL") => choice(said, "even"),
        _ => json!({"status": "ok"}),
    }
}

/// The answer to a call for a choice.
pub(crate) fn choice(said: &Value, choice: &str) -> Value {
    let player = &said["player_id"];
    let sender = format!("player:{}", player.as_str().unwrap_or_default());
    let says = json!({
        "match_id": said["match_id"], "player_id": player, "parity_choice": choice,
    });
    message("CHOOSE_PARITY_RESPONSE", &sender, None, &says)
}

fn converse(stream: &TcpStream, heard: &Mutex<Vec<Value>>, script: &Script) {
    let mut reader = BufReader::new(stream);
    while let Some((_, length)) = read_head(&mut reader) {
        let mut body = vec![0; length];
        if reader.read_exact(&mut body).is_err() {
            return;
        }
        let called: Value = serde_json::from_slice(&body).unwrap();
        heard.lock().unwrap().push(called["params"].clone());
        let wrapped = |answer: Value| {
            let answer = json!({"jsonrpc": "2.0", "id": called["id"], "result": answer});
            answer.to_string().into_bytes()
        };
        let method = called["method"].as_str().unwrap_or_default();
        let body = match script(method, &called["params"]) {
            Does::Answers(answer) => wrapped(answer),
            Does::Sends(bytes) => bytes,
            Does::IsUnaware => {
                let error = json!({"code": -32601, "message": "Method not found"});
                let answer = json!({"jsonrpc": "2.0", "id": called["id"], "error": error});
                answer.to_string().into_bytes()
            }
            Does::AnswersLate(after, answer) => {
                thread::sleep(after);
                wrapped(answer)
            }
            Does::Closes => {
                let _ = stream.shutdown(Shutdown::Both);
                return;
            }
        };
        let head = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        let mut writer = stream;
        if writer
            .write_all(&[head.as_bytes(), &body].concat())
            .is_err()
        {
            return;
        }
    }
}
