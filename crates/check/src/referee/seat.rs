//! A player at the table of the referee under check: it answers as its temper is.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::net::TcpListener;

use crate::listener::{Heard, Listener, Said};
use crate::script::{in_time, message};

/// How long somebody is silent who never answers.
const FOR_GOOD: Duration = Duration::from_secs(120);

/// How a player behaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Temper {
    /// It comes and chooses at once.
    Fair,
    /// It takes its time over the choice.
    Slow(Duration),
    /// Its first choices, so many, are neither even nor odd.
    Illegal(u32),
    /// Its first choice comes after the deadline.
    Tardy,
    /// It does not come.
    Declines,
    /// It never answers an invitation.
    Deaf,
    /// Nobody listens at its address.
    Absent,
    /// Its choices show the token of somebody else.
    Impostor,
    /// Its choices are for another match.
    Astray,
}

/// What a player is, and how it behaves.
#[derive(Debug, Clone)]
pub(super) struct Part {
    pub(super) id: String,
    pub(super) token: String,
    pub(super) opponents_token: String,
    pub(super) match_token: String,
    pub(super) nonce: String,
    pub(super) choice: &'static str,
    pub(super) temper: Temper,
}

/// A player at its place.
pub(super) struct Seat {
    pub(super) part: Part,
    pub(super) endpoint: String,
    listener: Option<Listener>,
}

impl Seat {
    /// Sits down.
    ///
    /// # Errors
    ///
    /// There may be no free port.
    pub(super) async fn open(part: Part) -> io::Result<Self> {
        let address = SocketAddr::new(Ipv4Addr::LOCALHOST.into(), 0);
        let (port, listener) = if part.temper == Temper::Absent {
            let port = TcpListener::bind(address).await?.local_addr()?.port();
            (port, None)
        } else {
            let (player, asked) = (part.clone(), AtomicU32::new(0));
            let script = move |heard: &Heard| player.answer(heard, &asked);
            let listener = Listener::open(address, script).await?;
            (listener.address.port(), Some(listener))
        };
        Ok(Self {
            part,
            endpoint: format!("http://127.0.0.1:{port}/mcp"),
            listener,
        })
    }

    /// All that it was told so far, of one kind.
    pub(super) fn told(&self, kind: &str) -> Vec<Heard> {
        let mut all = self.all();
        all.retain(|heard| heard.kind() == kind);
        all
    }

    /// All that it was told so far.
    pub(super) fn all(&self) -> Vec<Heard> {
        let listener = self.listener.as_ref();
        listener.map_or_else(Vec::new, |listener| listener.since(0))
    }

    /// Waits until it is told something of a kind.
    pub(super) async fn wait(&self, kind: &str, patience: Duration) -> Option<Heard> {
        let listener = self.listener.as_ref()?;
        listener
            .wait(0, patience, |heard| heard.kind() == kind)
            .await
    }

    /// What an order says of this player.
    pub(super) fn row(&self, hash: &str) -> Value {
        json!({
            "player_id": self.part.id, "contact_endpoint": self.endpoint, "dialect": "v2",
            "speech": "simple", "token_hash": hash, "match_token": self.part.match_token,
            "record": {"wins": 2, "losses": 1, "draws": 3},
        })
    }
}

impl Part {
    fn answer(&self, heard: &Heard, asked: &AtomicU32) -> Said {
        match heard.kind() {
            "GAME_INVITATION" => self.join(heard),
            "CHOOSE_PARITY_CALL" => self.choose(heard, asked.fetch_add(1, Ordering::Relaxed)),
            "" => unknown(heard),
            _ => Said::Result(json!({"status": "ok"})),
        }
    }

    fn join(&self, heard: &Heard) -> Said {
        let says = json!({
            "player_id": self.id, "accept": self.temper != Temper::Declines,
            "arrival_timestamp": in_time(Duration::ZERO),
        });
        let answer = self.says(heard, "GAME_JOIN_ACK", says);
        if self.temper == Temper::Deaf {
            return Said::Late(FOR_GOOD, Box::new(answer));
        }
        answer
    }

    fn choose(&self, heard: &Heard, before: u32) -> Said {
        let mut says = json!({
            "player_id": self.id, "parity_choice": self.choice, "nonce": self.nonce,
        });
        let mut wait = Duration::ZERO;
        match self.temper {
            Temper::Slow(pause) => wait = pause,
            Temper::Illegal(times) if before < times => says["parity_choice"] = "maybe".into(),
            Temper::Tardy if before == 0 => wait = super::MOVE + Duration::from_secs(1),
            Temper::Impostor => says["auth_token"] = self.opponents_token.as_str().into(),
            Temper::Astray => says["match_id"] = "R77M7".into(),
            _ => {}
        }
        let answer = self.says(heard, "CHOOSE_PARITY_RESPONSE", says);
        Said::Late(wait, Box::new(answer))
    }

    /// A message of the player, as an answer.
    fn says(&self, heard: &Heard, kind: &str, says: Value) -> Said {
        let asked = heard.message();
        let mut full = json!({"auth_token": self.token, "match_id": asked["match_id"]});
        if let Value::Object(says) = says {
            for (name, value) in says {
                full[name] = value;
            }
        }
        let conversation = asked["conversation_id"].as_str().unwrap_or("check");
        let sender = format!("player:{}", self.id);
        Said::Result(message(kind, &sender, conversation, full))
    }
}

/// A method that is none of ours is refused; whatever else comes without a type is heard.
fn unknown(heard: &Heard) -> Said {
    let method = heard.json["method"].as_str().unwrap_or_default();
    if method == "ping" {
        return Said::Result(json!({"status": "ok"}));
    }
    let error = json!({"code": -32_601, "message": "there is no such method"});
    let answer = json!({"jsonrpc": "2.0", "id": heard.json["id"], "error": error});
    Said::Raw(200, answer.to_string())
}
