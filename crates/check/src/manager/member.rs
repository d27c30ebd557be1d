//! A player or a referee of the league that the manager under check runs.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};

use crate::listener::{Heard, Listener, Said};
use crate::reply::Reply;
use crate::script::message;
use crate::stage::Question;

/// What a member does besides nodding.
#[derive(Debug, Default)]
struct Mood {
    /// Whether it has fallen silent.
    silent: AtomicBool,
    /// How many orders it will still turn down.
    refuses: AtomicU32,
    /// The matches that it has turned down, each with its attempt.
    turned_down: Mutex<Vec<(Value, Value)>>,
}

/// A member of the league.
pub(super) struct Member {
    /// Its name.
    pub(super) name: String,
    /// Where it answers.
    pub(super) endpoint: String,
    is_referee: bool,
    listener: Listener,
    mood: Arc<Mood>,
    admitted: Mutex<Option<Reply>>,
}

impl Member {
    /// Opens a member, which is not registered yet.
    ///
    /// # Errors
    ///
    /// There may be no free port.
    pub(super) async fn open(name: String, is_referee: bool) -> io::Result<Self> {
        let address = SocketAddr::new(Ipv4Addr::LOCALHOST.into(), 0);
        let mood = Arc::new(Mood::default());
        let own = Arc::clone(&mood);
        let listener = Listener::open(address, move |heard| own.answer(heard)).await?;
        Ok(Self {
            endpoint: format!("http://127.0.0.1:{}/mcp", listener.address.port()),
            name,
            is_referee,
            listener,
            mood,
            admitted: Mutex::new(None),
        })
    }

    /// The wish to be let in.
    pub(super) fn request(&self) -> Question {
        let (tool, kind, role) = if self.is_referee {
            ("register_referee", "REFEREE_REGISTER_REQUEST", "referee")
        } else {
            ("register_player", "LEAGUE_REGISTER_REQUEST", "player")
        };
        let mut meta = json!({
            "display_name": self.name, "version": "1.0.0", "protocol_version": "2.1.0",
            "game_types": ["even_odd"], "contact_endpoint": self.endpoint, "speech": "simple",
        });
        if self.is_referee {
            meta["max_concurrent_matches"] = 2.into();
        }
        let conversation = format!("check-{}", self.name.replace(' ', "-").to_ascii_lowercase());
        let sender = format!("{role}:{}", self.name.replace(' ', "-"));
        let says = json!({format!("{role}_meta"): meta});
        Question::new(tool, message(kind, &sender, &conversation, says))
    }

    /// Notes how the manager answered the wish.
    pub(super) fn note(&self, reply: Reply) {
        let mut admitted = self.admitted.lock().unwrap_or_else(PoisonError::into_inner);
        *admitted = Some(reply);
    }

    /// How the manager answered the wish.
    pub(super) fn answer(&self) -> Option<Reply> {
        let admitted = self.admitted.lock().unwrap_or_else(PoisonError::into_inner);
        admitted.clone()
    }

    fn given(&self, name: &str) -> String {
        let reply = self.answer();
        let given = reply.as_ref().and_then(|reply| reply.member(name));
        given.and_then(Value::as_str).unwrap_or_default().to_owned()
    }

    /// The id that it was given; empty if none.
    pub(super) fn id(&self) -> String {
        self.given(if self.is_referee {
            "referee_id"
        } else {
            "player_id"
        })
    }

    /// The token that it was given; empty if none.
    pub(super) fn token(&self) -> String {
        self.given("auth_token")
    }

    /// How it signs.
    pub(super) fn sender(&self) -> String {
        let role = if self.is_referee { "referee" } else { "player" };
        format!("{role}:{}", self.id())
    }

    /// All that it was told so far, of one kind.
    pub(super) fn told(&self, kind: &str) -> Vec<Heard> {
        let mut all = self.all();
        all.retain(|heard| heard.kind() == kind);
        all
    }

    /// All that it was told so far.
    pub(super) fn all(&self) -> Vec<Heard> {
        self.listener.since(0)
    }

    /// Waits until it is told something that passes.
    pub(super) async fn wait(
        &self,
        patience: Duration,
        passes: impl Fn(&Heard) -> bool,
    ) -> Option<Heard> {
        self.listener.wait(0, patience, passes).await
    }

    /// Falls silent for good.
    pub(super) fn fall_silent(&self) {
        self.mood.silent.store(true, Ordering::Relaxed);
    }

    /// Whether it has fallen silent.
    pub(super) fn is_silent(&self) -> bool {
        self.mood.silent.load(Ordering::Relaxed)
    }

    /// Whether it has turned down an order.
    pub(super) fn has_turned_down(&self, order: &Value) -> bool {
        let turned_down = self.mood.turned_down.lock();
        let turned_down = turned_down.unwrap_or_else(PoisonError::into_inner);
        turned_down.contains(&(order["match_id"].clone(), order["attempt"].clone()))
    }

    /// Turns down the next order.
    pub(super) fn refuse_next(&self) {
        self.mood.refuses.store(1, Ordering::Relaxed);
    }
}

impl Mood {
    fn answer(&self, heard: &Heard) -> Said {
        if self.silent.load(Ordering::Relaxed) {
            return Said::Nothing;
        }
        if heard.kind() == "START_MATCH" {
            return self.take(heard);
        }
        let method = heard.json["method"].as_str().unwrap_or_default();
        if method.contains('/') || method == "initialize" {
            let error = json!({"code": -32_601, "message": "there is no such method"});
            let answer = json!({"jsonrpc": "2.0", "id": heard.json["id"], "error": error});
            return Said::Raw(200, answer.to_string());
        }
        Said::Result(json!({"status": "ok"}))
    }

    fn take(&self, heard: &Heard) -> Said {
        let less = |left: u32| left.checked_sub(1);
        let refuses = self
            .refuses
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, less)
            .is_ok();
        let order = heard.message();
        if refuses {
            let turned_down = (order["match_id"].clone(), order["attempt"].clone());
            let all = self.turned_down.lock();
            all.unwrap_or_else(PoisonError::into_inner)
                .push(turned_down);
        }
        let reason = refuses.then_some("this referee is tired");
        let says = json!({
            "match_id": order["match_id"], "accepted": !refuses, "reason": reason,
        });
        let conversation = order["conversation_id"].as_str().unwrap_or("check");
        Said::Result(message(
            "START_MATCH_ACK",
            "referee:CHECK",
            conversation,
            says,
        ))
    }
}
