//! An MCP client at the pipe of a player, which is asked for moves by sampling.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;

use serde_json::{Value, json};

use crate::end_to_end::ground::Ground;
use crate::end_to_end::http::{call, health};
use crate::end_to_end::model_stub::MOVE_TIMEOUT;
use crate::end_to_end::process::{eventually, free_port};
use crate::end_to_end::scripted::{Does, Scripted};

const CODE: &str = "heron-code-1";

/// What the client does when it is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Client {
    Plays,
    /// It offers no sampling in its handshake.
    OffersNothing,
    /// Its user says no.
    Refuses,
    TalksNonsense,
    /// An illegal move first, then a legal one.
    Learns,
    /// It answers when the answer is not wanted any more.
    IsLate,
    /// It makes its move by the tool instead.
    MovesByTool,
}

/// A player on a pipe, and what its client heard.
struct SampledPlayer {
    child: Child,
    input: Arc<Mutex<ChildStdin>>,
    heard: Arc<Mutex<Vec<Value>>>,
    endpoint: String,
    _ground: Ground,
    _manager: Scripted,
}

impl Drop for SampledPlayer {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl SampledPlayer {
    fn start(client: Client) -> Self {
        let ground = Ground::new();
        let system = json!({"timeouts": {"move_timeout_sec": MOVE_TIMEOUT.as_secs()}});
        ground.write("config/system.json", &system);
        let admits = json!({"status": "ok", "player_id": "P01"});
        let manager = Scripted::start(move |_| Does::Answers(admits.clone()));
        let port = free_port();
        let mut child = Command::new(env!("CARGO_BIN_EXE_league"))
            .args(["player", "--stdio", "--root", ground.root()])
            .args(["--port", &port.to_string(), "--manager", &manager.endpoint])
            .args(["--assistant", CODE, "--fallback", "always-odd"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let input = Arc::new(Mutex::new(child.stdin.take().unwrap()));
        let (heard, pipe) = (Arc::<Mutex<Vec<Value>>>::default(), Arc::clone(&input));
        let (all, output) = (Arc::clone(&heard), child.stdout.take().unwrap());
        thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                let said: Value = serde_json::from_str(&line).unwrap();
                let mut all = all.lock().unwrap();
                for answer in client.answers(&said, &all) {
                    say(&pipe, &answer);
                }
                all.push(said);
            }
        });
        let player = Self {
            child,
            input,
            heard,
            endpoint: format!("http://localhost:{port}/mcp"),
            _ground: ground,
            _manager: manager,
        };
        player.shake_hands(client);
        player
    }

    fn shake_hands(&self, client: Client) {
        let capabilities = match client {
            Client::OffersNothing => json!({}),
            _ => json!({"sampling": {}}),
        };
        let params = json!({
            "protocolVersion": "2025-11-25", "capabilities": capabilities,
            "clientInfo": {"name": "test", "version": "1"},
        });
        self.say(&json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}));
        self.wait_for(|said| said["id"] == 1);
        self.say(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        let is_in = || (health(&self.endpoint)["state"] == "REGISTERED").then_some(());
        eventually(is_in).expect("the player registers");
    }

    fn say(&self, message: &Value) {
        say(&self.input, message);
    }

    /// All that the client heard and that passes.
    fn all(&self, passes: impl Fn(&Value) -> bool) -> Vec<Value> {
        let heard = self.heard.lock().unwrap();
        heard.iter().filter(|said| passes(said)).cloned().collect()
    }

    fn wait_for(&self, passes: impl Fn(&Value) -> bool) -> Value {
        let found = eventually(|| self.all(&passes).into_iter().next());
        found.unwrap_or_else(|| panic!("no such message in {:?}", self.heard))
    }

    /// Asks for a move as a referee does.
    fn choice(&self) -> Value {
        let says = json!({
            "protocol": "league.v2", "message_type": "CHOOSE_PARITY_CALL", "sender": "referee:REF01",
            "match_id": "M1", "player_id": "P01", "game_type": "even_odd",
            "deadline": "2099-01-01T00:00:00Z",
        });
        call(&self.endpoint, "choose_parity", &says)["parity_choice"].clone()
    }

    fn requests(&self) -> Vec<Value> {
        self.all(is_request)
    }
}

fn say(input: &Mutex<ChildStdin>, message: &Value) {
    // A player that ended hears nothing.
    let _ = writeln!(input.lock().unwrap(), "{message}");
}

fn is_request(said: &Value) -> bool {
    said["method"] == "sampling/createMessage"
}

fn is_cancelled(said: &Value) -> bool {
    said["method"] == "notifications/cancelled"
}

impl Client {
    fn answers(self, said: &Value, before: &[Value]) -> Vec<Value> {
        let sampled = |id: &Value, text: &str| {
            let content = json!({"type": "text", "text": text});
            let result = json!({"role": "assistant", "model": "test", "content": content});
            json!({"jsonrpc": "2.0", "id": id, "result": result})
        };
        let own = r#"{"reasoning": "it is even", "choice": "even"}"#;
        if is_cancelled(said) && self == Self::IsLate {
            return vec![sampled(&said["params"]["requestId"], own)];
        }
        if !is_request(said) {
            return Vec::new();
        }
        let is_first = !before.iter().any(is_request);
        let id = &said["id"];
        match self {
            Self::Plays | Self::OffersNothing => vec![sampled(id, own)],
            Self::Learns if is_first => vec![sampled(id, r#"{"choice": "seven"}"#)],
            Self::Learns => vec![sampled(id, own)],
            Self::TalksNonsense => vec![sampled(id, "I would say even, or odd.")],
            Self::IsLate => Vec::new(),
            Self::Refuses => {
                let error = json!({"code": -1, "message": "User rejected sampling request"});
                vec![json!({"jsonrpc": "2.0", "id": id, "error": error})]
            }
            Self::MovesByTool => {
                let made = json!({"auth_token": CODE, "match_id": "M1", "choice": "even"});
                let params = json!({"name": "make_move", "arguments": made});
                vec![json!({"jsonrpc": "2.0", "id": 9, "method": "tools/call", "params": params})]
            }
        }
    }
}

#[test]
fn client_that_offers_sampling_is_asked_and_no_trouble_of_it_loses_a_move() {
    let cases = [
        (Client::Plays, "even", 1),
        (Client::Learns, "even", 2),
        (Client::MovesByTool, "even", 1),
        (Client::OffersNothing, "odd", 0),
        (Client::Refuses, "odd", 1),
        (Client::TalksNonsense, "odd", 4),
        (Client::IsLate, "odd", 1),
    ];
    thread::scope(|scope| {
        for (client, choice, requests) in cases {
            scope.spawn(move || {
                let player = SampledPlayer::start(client);
                assert_eq!(player.choice(), choice, "{client:?}");
                assert_eq!(player.requests().len(), requests, "{client:?}");
            });
        }
    });
}

#[test]
fn question_is_the_prompt_of_a_model() {
    let player = SampledPlayer::start(Client::Plays);
    player.choice();
    let asked = &player.requests()[0]["params"];
    let rules = asked["systemPrompt"].as_str().unwrap();
    assert!(rules.contains("The game is Even/Odd."), "{rules}");
    let position = asked["messages"][0]["content"]["text"].as_str().unwrap();
    let position: Value = serde_json::from_str(position).unwrap();
    assert_eq!(position["legal_moves"], json!(["even", "odd"]), "{asked}");
    assert!(!asked.to_string().contains("REF01"), "{asked}");
}

#[test]
fn late_answer_is_cancelled_and_changes_nothing() {
    let player = SampledPlayer::start(Client::IsLate);
    assert_eq!(player.choice(), "odd");
    let cancelled = player.wait_for(is_cancelled);
    assert_eq!(cancelled["params"]["requestId"], player.requests()[0]["id"]);
    // The late answer came before this call, and is not answered with an error.
    player.say(&json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list", "params": {}}));
    player.wait_for(|said| said["id"] == 2);
    let errors = player.all(|said| said.get("error").is_some());
    assert!(errors.is_empty(), "{errors:?}");
    assert_eq!(player.choice(), "odd", "the move stands");
}
