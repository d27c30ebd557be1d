//! A player or a referee of the league that the manager under check runs.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};

use crate::listener::{IncomingCall, Listener, ScriptedAnswer};
use crate::reply::Reply;
use crate::script::message;
use crate::stage::Question;

/// How a member departs from acknowledging every call.
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
pub(crate) struct FakeMember {
    /// Its name.
    pub(crate) name: String,
    /// Its address.
    pub(crate) endpoint: String,
    pub(crate) is_referee: bool,
    listener: Listener,
    mood: Arc<Mood>,
    admitted: Mutex<Option<Reply>>,
}

impl FakeMember {
    /// Opens a member, which is not registered yet.
    ///
    /// # Errors
    ///
    /// There may be no free port.
    pub(crate) async fn open(name: String, is_referee: bool) -> io::Result<Self> {
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

    /// The registration request.
    pub(crate) fn request(&self) -> Question {
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

    /// Stores the manager's answer to the registration.
    pub(crate) fn note(&self, reply: Reply) {
        let mut admitted = self.admitted.lock().unwrap_or_else(PoisonError::into_inner);
        *admitted = Some(reply);
    }

    /// The manager's answer to the registration.
    pub(crate) fn answer(&self) -> Option<Reply> {
        let admitted = self.admitted.lock().unwrap_or_else(PoisonError::into_inner);
        admitted.clone()
    }

    fn given(&self, name: &str) -> String {
        let reply = self.answer();
        let given = reply.as_ref().and_then(|reply| reply.member(name));
        given.and_then(Value::as_str).unwrap_or_default().to_owned()
    }

    /// The id that it was given; empty without one.
    pub(crate) fn id(&self) -> String {
        self.given(if self.is_referee {
            "referee_id"
        } else {
            "player_id"
        })
    }

    /// The token that it was given; empty without one.
    pub(crate) fn token(&self) -> String {
        self.given("auth_token")
    }

    pub(crate) fn role(&self) -> &'static str {
        match self.is_referee {
            true => "referee",
            false => "player",
        }
    }

    /// The value of its field `sender`.
    pub(crate) fn sender(&self) -> String {
        format!("{}:{}", self.role(), self.id())
    }

    /// All calls that it received so far.
    pub(crate) fn calls(&self) -> Vec<Arc<IncomingCall>> {
        self.listener.since(0)
    }

    /// Waits until it receives a call that satisfies a condition.
    pub(crate) async fn wait(
        &self,
        patience: Duration,
        passes: impl Fn(&IncomingCall) -> bool,
    ) -> Option<Arc<IncomingCall>> {
        self.listener.wait(0, patience, passes).await
    }

    /// Stops answering.
    pub(crate) fn fall_silent(&self) {
        self.mood.silent.store(true, Ordering::Relaxed);
    }

    /// Whether it has stopped answering.
    pub(crate) fn is_silent(&self) -> bool {
        self.mood.silent.load(Ordering::Relaxed)
    }

    /// The orders that it has turned down: match and attempt.
    pub(crate) fn turned_down(&self) -> Vec<(Value, Value)> {
        let turned_down = self.mood.turned_down.lock();
        turned_down.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Turns down the next order.
    pub(crate) fn refuse_next(&self) {
        self.mood.refuses.store(1, Ordering::Relaxed);
    }
}

impl Mood {
    fn answer(&self, heard: &IncomingCall) -> ScriptedAnswer {
        if self.silent.load(Ordering::Relaxed) {
            return ScriptedAnswer::Nothing;
        }
        if heard.kind() == "START_MATCH" {
            return self.take(heard);
        }
        let method = heard.json["method"].as_str().unwrap_or_default();
        if method.contains('/') || method == "initialize" {
            let error = json!({"code": -32_601, "message": "there is no such method"});
            let answer = json!({"jsonrpc": "2.0", "id": heard.json["id"], "error": error});
            return ScriptedAnswer::Raw(200, answer.to_string());
        }
        ScriptedAnswer::Result(json!({"status": "ok"}))
    }

    fn take(&self, heard: &IncomingCall) -> ScriptedAnswer {
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
        ScriptedAnswer::Result(message(
            "START_MATCH_ACK",
            "referee:CHECK",
            conversation,
            says,
        ))
    }
}
