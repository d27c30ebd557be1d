//! A player in a match of the referee under check, which behaves according to its behaviour.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use league_protocol::token::TokenHash;
use serde_json::{Value, json};
use tokio::net::TcpListener;

use super::match_run::Proofs;
use crate::listener::{ANY_PORT, IncomingCall, Listener, ScriptedAnswer};
use crate::player::MOVE;
use crate::script::{extend, in_time, message};

/// How long a player that never answers stays silent.
const FOR_GOOD: Duration = Duration::from_secs(120);

/// How a player behaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PlayerBehaviour {
    /// It joins and chooses at once.
    Fair,
    /// It delays its choice.
    Slow(Duration),
    /// Its first choices, this many, are neither even nor odd.
    Illegal(u32),
    /// Its first choice comes after the deadline.
    Tardy,
    /// It declines the invitation.
    Declines,
    /// It never answers an invitation.
    Deaf,
    /// Its address does not accept connections.
    Absent,
    /// Its choices carry another player's token.
    Impostor,
    /// Its choices are for another match.
    Astray,
}

/// The identity and behaviour of a player.
#[derive(Debug, Clone)]
pub(crate) struct PlayerSetup {
    pub(crate) id: String,
    pub(crate) token: String,
    pub(crate) opponents_token: String,
    pub(crate) match_token: String,
    pub(crate) nonce: String,
    pub(crate) proofs: Option<Proofs>,
    pub(crate) choice: &'static str,
    pub(crate) behaviour: PlayerBehaviour,
}

pub(crate) struct FakePlayer {
    pub(crate) setup: PlayerSetup,
    pub(crate) endpoint: String,
    listener: Option<Listener>,
}

impl FakePlayer {
    /// Opens a player.
    /// There may be no free port.
    pub(crate) async fn open(setup: PlayerSetup) -> io::Result<Self> {
        let (port, listener) = if setup.behaviour == PlayerBehaviour::Absent {
            let port = TcpListener::bind(ANY_PORT).await?.local_addr()?.port();
            (port, None)
        } else {
            let (player, asked) = (setup.clone(), AtomicU32::new(0));
            let script = move |heard: &IncomingCall| player.answer(heard, &asked);
            let listener = Listener::open(ANY_PORT, script).await?;
            (listener.address.port(), Some(listener))
        };
        Ok(Self {
            setup,
            endpoint: format!("http://127.0.0.1:{port}/mcp"),
            listener,
        })
    }

    /// Whether it received a message of a type.
    pub(crate) fn was_told(&self, kind: &str) -> bool {
        self.calls().iter().any(|call| call.kind() == kind)
    }

    /// All calls that it received so far.
    pub(crate) fn calls(&self) -> Vec<Arc<IncomingCall>> {
        let listener = self.listener.as_ref();
        listener.map_or_else(Vec::new, |listener| listener.since(0))
    }

    /// Waits until it receives a message of a type.
    pub(crate) async fn wait(&self, kind: &str, patience: Duration) -> Option<Arc<IncomingCall>> {
        let is_due = |heard: &IncomingCall| heard.kind() == kind;
        self.listener.as_ref()?.wait(0, patience, is_due).await
    }

    /// The player's row in an order.
    pub(crate) fn row(&self) -> Value {
        let hash = TokenHash::of(&self.setup.token).to_string();
        json!({
            "player_id": self.setup.id, "contact_endpoint": self.endpoint, "dialect": "v2",
            "speech": "simple", "token_hash": hash, "match_token": self.setup.match_token,
            "record": {"wins": 2, "losses": 1, "draws": 3},
        })
    }
}

impl PlayerSetup {
    /// What the manager opens of a player that signs.
    pub(crate) fn opened(&self) -> Option<Value> {
        let Proofs { join, key, .. } = self.proofs.as_ref()?;
        Some(json!({"player_id": self.id, "join_proof": join, "proof_key": key}))
    }

    fn answer(&self, heard: &IncomingCall, asked: &AtomicU32) -> ScriptedAnswer {
        match heard.kind() {
            "GAME_INVITATION" => self.join(heard),
            "CHOOSE_PARITY_CALL" => self.choose(heard, asked.fetch_add(1, Ordering::Relaxed)),
            "" => unknown(heard),
            _ => ScriptedAnswer::Result(json!({"status": "ok"})),
        }
    }

    fn join(&self, heard: &IncomingCall) -> ScriptedAnswer {
        let says = json!({
            "player_id": self.id, "accept": self.behaviour != PlayerBehaviour::Declines,
            "arrival_timestamp": in_time(Duration::ZERO),
            "proof": self.proofs.as_ref().map(|proofs| &proofs.join),
        });
        let answer = self.says(heard, "GAME_JOIN_ACK", says);
        if self.behaviour == PlayerBehaviour::Deaf {
            return ScriptedAnswer::Late(FOR_GOOD, Box::new(answer));
        }
        answer
    }

    fn choose(&self, heard: &IncomingCall, before: u32) -> ScriptedAnswer {
        let mut says = json!({
            "player_id": self.id, "parity_choice": self.choice, "nonce": self.nonce,
            "proof": self.proofs.as_ref().map(|proofs| &proofs.choice),
        });
        let mut wait = Duration::ZERO;
        match self.behaviour {
            PlayerBehaviour::Slow(pause) => wait = pause,
            PlayerBehaviour::Illegal(times) if before < times => {
                says["parity_choice"] = "maybe".into()
            }
            PlayerBehaviour::Tardy if before == 0 => wait = MOVE + Duration::from_secs(1),
            PlayerBehaviour::Impostor => says["auth_token"] = self.opponents_token.as_str().into(),
            PlayerBehaviour::Astray => says["match_id"] = "R77M7".into(),
            _ => {}
        }
        let answer = self.says(heard, "CHOOSE_PARITY_RESPONSE", says);
        ScriptedAnswer::Late(wait, Box::new(answer))
    }

    /// A message of the player, as an answer.
    fn says(&self, heard: &IncomingCall, kind: &str, says: Value) -> ScriptedAnswer {
        let asked = heard.message();
        let mut full = json!({"auth_token": self.token, "match_id": asked["match_id"]});
        extend(&mut full, says);
        let conversation = asked["conversation_id"].as_str().unwrap_or("check");
        let sender = format!("player:{}", self.id);
        ScriptedAnswer::Result(message(kind, &sender, conversation, full))
    }
}

/// Acknowledges `ping` and refuses all other calls without a message type.
fn unknown(heard: &IncomingCall) -> ScriptedAnswer {
    if heard.json["method"] == "ping" {
        return ScriptedAnswer::Result(json!({"status": "ok"}));
    }
    ScriptedAnswer::unknown_method(heard)
}
