//! A player at a manager of the test: registration, restart, hostile bodies.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use crate::{Kit, KitError, Value, json, strategy};

/// One call of a player to the manager.
struct Registration {
    stream: TcpStream,
    params: Value,
}

impl Registration {
    fn next(manager: &TcpListener) -> Self {
        let (stream, _) = manager.accept().unwrap();
        let mut reader = BufReader::new(&stream);
        let (mut line, mut length) = (String::new(), 0);
        while reader.read_line(&mut line).unwrap() > 2 {
            if let Some(value) = line.strip_prefix("content-length: ") {
                length = value.trim().parse().unwrap();
            }
            line.clear();
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body).unwrap();
        let call: Value = serde_json::from_slice(&body).unwrap();
        assert_eq!(call["method"], "register_player", "{call}");
        let params = call["params"].clone();
        Self { stream, params }
    }

    fn answer(mut self, result: &Value) -> Value {
        let body = json!({"jsonrpc": "2.0", "id": 1, "result": result}).to_string();
        let head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length:";
        write!(self.stream, "{head} {}\r\n\r\n{body}", body.len()).unwrap();
        self.params
    }

    fn admit(self) -> Value {
        self.answer(&json!({
            "protocol": "league.v2", "message_type": "LEAGUE_REGISTER_RESPONSE",
            "sender": "league_manager", "timestamp": "2026-03-02T09:00:00Z",
            "conversation_id": "conv-1", "status": "ACCEPTED", "player_id": "P07",
            "league_id": "league_of_tests", "auth_token": "tok-p07-own",
            "manager_token": "tok-manager", "return_token": "tok-return",
        }))
    }
}

struct Place {
    manager: TcpListener,
    folder: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        Self {
            manager: TcpListener::bind("127.0.0.1:0").unwrap(),
            folder: tempfile::tempdir().unwrap(),
        }
    }

    /// Starts a player; it plays until the tests end.
    fn start(&self) -> thread::JoinHandle<KitError> {
        let kit = Kit {
            port: 0,
            manager: self.manager.local_addr().unwrap().to_string(),
            memory: Some(self.folder.path().join("memory.jsonl")),
            ..Kit::new("Grey Heron")
        };
        let random = strategy::find("random").unwrap();
        thread::spawn(move || kit.play(random))
    }
}

/// The status and the JSON of an answer.
fn post(url: &str, body: &str) -> (u16, Value) {
    let authority = url.trim_start_matches("http://").trim_end_matches("/mcp");
    let mut stream = TcpStream::connect(authority.replace("localhost", "127.0.0.1")).unwrap();
    let head = "POST /mcp HTTP/1.1\r\nConnection: close\r\nContent-Type: application/json";
    write!(
        stream,
        "{head}\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
    .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    (status, serde_json::from_str(body).unwrap_or_default())
}

#[test]
fn restarted_player_returns_with_its_return_token() {
    let place = Place::new();
    place.start();
    let first = Registration::next(&place.manager).admit();
    assert_eq!(first["player_meta"]["display_name"], "Grey Heron");
    assert_eq!(first["player_meta"]["proofs"], true, "{first}");
    assert_eq!(first["sender"], "player:Grey_Heron", "{first}");
    let pledge = first["auth_token"].as_str().unwrap();
    assert!(pledge.starts_with("tok-pledge-"), "{first}");
    let url = first["player_meta"]["contact_endpoint"].as_str().unwrap();
    // Its answer shows that the player has taken the admission.
    let call = json!({
        "message_type": "CALL_QUERY", "league_id": "league_of_tests", "match_id": "R1M1",
        "auth_token": "tok-other", "attempt": 1,
    });
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "was_called", "params": call});
    let (_, answer) = post(url, &call.to_string());
    assert_eq!(answer["result"]["error_code"], "E012", "{answer}");
    assert_eq!(answer["result"]["sender"], "player:P07", "{answer}");
    place.start();
    let second = Registration::next(&place.manager).admit();
    assert_eq!(second["auth_token"], "tok-return", "{second}");
    assert_eq!(second["sender"], "player:P07", "{second}");
    let file = place.folder.path().join("memory.jsonl");
    use std::os::unix::fs::PermissionsExt;
    let mode = std::fs::metadata(file).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

/// Waits until the player of this place has kept so many lines.
fn kept(place: &Place, lines: usize) {
    let file = place.folder.path().join("memory.jsonl");
    let count = || std::fs::read_to_string(&file).map_or(0, |text| text.lines().count());
    while count() < lines {
        thread::yield_now();
    }
}

#[test]
fn no_manager_sees_the_tokens_of_another() {
    let mut place = Place::new();
    place.start();
    Registration::next(&place.manager).admit();
    // The pledge, the tokens, the admission.
    kept(&place, 3);
    let other = TcpListener::bind("127.0.0.1:0").unwrap();
    let first = std::mem::replace(&mut place.manager, other);
    place.start();
    let stranger = Registration::next(&place.manager);
    let shown = stranger.params["auth_token"].as_str().unwrap();
    assert!(shown.starts_with("tok-pledge-"), "{shown}");
    assert_eq!(stranger.params["sender"], "player:Grey_Heron");
    place.manager = first;
    place.start();
    let back = Registration::next(&place.manager);
    assert_eq!(back.params["auth_token"], "tok-return");
    assert_eq!(back.params["sender"], "player:P07");
}

#[test]
fn player_at_any_port_is_remembered_by_its_name() {
    let file = |port: u16, name: &str| {
        let kit = Kit {
            port,
            ..Kit::new(name)
        };
        kit.memory_file().display().to_string()
    };
    assert_eq!(file(8101, "Grey Heron"), ".player-rust-8101.jsonl");
    assert_eq!(file(0, "Grey Heron"), ".player-rust-Grey_Heron.jsonl");
    assert_eq!(file(0, "../a/\\\u{1b}"), ".player-rust-___a___.jsonl");
    assert!(file(0, &"x".repeat(5_000)).len() < 100);
}

#[test]
fn damaged_memory_is_told_and_the_player_registers_anew() {
    let place = Place::new();
    let file = place.folder.path().join("memory.jsonl");
    std::fs::write(
        &file,
        "{\"event\":\"no such\"}\n\u{1}\n[1]\n{\"tokens\":{\"auth_to",
    )
    .unwrap();
    place.start();
    let first = Registration::next(&place.manager).admit();
    assert!(
        first["auth_token"]
            .as_str()
            .unwrap()
            .starts_with("tok-pledge-")
    );
    let lines = std::fs::read_to_string(file).unwrap();
    let tokens = lines.lines().nth(4).unwrap();
    assert!(tokens.contains("\"tokens\":{"), "{lines}");
}

#[test]
fn rejected_player_stops_with_the_reason() {
    let place = Place::new();
    let playing = place.start();
    Registration::next(&place.manager).answer(&json!({
        "message_type": "LEAGUE_REGISTER_RESPONSE", "status": "REJECTED",
        "reason": "\u{1b}[2JRegistration closed",
    }));
    let error = playing.join().unwrap().to_string();
    assert!(error.ends_with("Registration closed"), "{error}");
    assert!(
        !error.contains('\u{1b}'),
        "it commands a terminal: {error:?}"
    );
}

#[test]
fn hostile_body_gets_a_clear_answer() {
    let place = Place::new();
    place.start();
    let first = Registration::next(&place.manager).admit();
    let url = first["player_meta"]["contact_endpoint"].as_str().unwrap();
    let deep = "[".repeat(100_000);
    let many = format!("[{}1]", "1,".repeat(64));
    for (body, status, code) in [
        ("", 400, -32700),
        ("{", 400, -32700),
        ("[NaN]", 400, -32700),
        (deep.as_str(), 400, -32700),
        ("[]", 400, -32600),
        (many.as_str(), 400, -32600),
        ("1", 400, -32600),
        (r#"{"jsonrpc":"2.0","result":1,"id":1}"#, 400, -32600),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#,
            200,
            -32601,
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"choose_move","params":[]}"#,
            200,
            -32602,
        ),
    ] {
        let (said, answer) = post(url, body);
        let shown = &body[..body.len().min(60)];
        assert_eq!(said, status, "{shown}: {answer}");
        assert_eq!(answer["error"]["code"], code, "{shown}: {answer}");
    }
    let ping = r#"{"jsonrpc":"2.0","id":7,"method":"ping"}"#;
    let (status, answer) = post(url, &format!("[{ping},5,{ping}]"));
    assert_eq!(
        (status, answer.as_array().unwrap().len()),
        (200, 3),
        "{answer}"
    );
    let quiet = post(url, r#"{"jsonrpc":"2.0","method":"ping"}"#);
    assert_eq!(quiet, (202, Value::Null));
    let forged = json!({
        "message_type": "ROUND_ANNOUNCEMENT", "league_id": "league_of_tests", "round_id": 1,
        "matches": [],
    });
    let forged = json!({"jsonrpc": "2.0", "id": 1, "method": "notify_round", "params": forged});
    let (_, answer) = post(url, &forged.to_string());
    assert_eq!(answer["result"]["error_code"], "E011", "{answer}");
    assert_eq!(answer["result"]["auth_token"], Value::Null, "{answer}");
}

#[test]
fn options_are_read_or_refused_with_the_list() {
    let read = |words: &[&str]| {
        let words = words.iter().map(|word| (*word).to_owned());
        Kit::new("Heron").with_arguments(words)
    };
    let kit = read(&["--port", "0", "--host", "10.0.0.1", "--join-code", "c"]).unwrap();
    assert_eq!((kit.port, kit.host.as_str()), (0, "10.0.0.1"));
    assert_eq!(kit.join_code.as_deref(), Some("c"));
    for words in [
        &["--port"][..],
        &["--port", "x"],
        &["--prot", "1"],
        &["heron"],
    ] {
        let error = read(words).unwrap_err().to_string();
        assert!(error.contains("--port"), "{error}");
    }
    let kit = read(&["--manager", "ftp://h"]).unwrap();
    let error = kit.play(strategy::find("random").unwrap());
    assert!(error.to_string().contains("`ftp://h`"), "{error}");
}

/// Anyone may ask about a match that was not announced, and such a call waits.
#[test]
fn parts_of_a_batch_wait_once_for_all() {
    let place = Place::new();
    place.start();
    let first = Registration::next(&place.manager).admit();
    let url = first["player_meta"]["contact_endpoint"].as_str().unwrap();
    let call = json!({
        "message_type": "GAME_INVITATION", "league_id": "league_of_tests", "round_id": 1,
        "match_id": "R1M1", "game_type": "even_odd", "role_in_match": "PLAYER_A",
        "opponent_id": "P08", "auth_token": "tok-other",
    });
    let call = json!({
        "jsonrpc": "2.0", "id": 1, "method": "handle_game_invitation", "params": call,
    });
    let start = Instant::now();
    let (_, answer) = post(url, &json!(vec![call; 64]).to_string());
    assert_eq!(answer.as_array().unwrap().len(), 64, "{answer}");
    assert_eq!(answer[63]["result"]["error_code"], "E012", "{answer}");
    // One wait takes 2.5 s, and 64 of them take 160 s.
    let waited = start.elapsed();
    assert!(waited >= Duration::from_secs(2), "{waited:?}: {answer}");
    assert!(waited < Duration::from_secs(80), "{waited:?}");
}
