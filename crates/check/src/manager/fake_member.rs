//! A player or a referee of the league that the manager under check runs.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};

use crate::listener::{ANY_PORT, IncomingCall, Listener, ScriptedAnswer};
use crate::lock;
use crate::reply::Reply;
use crate::script::message;
use crate::stage::Question;

/// How a member departs from acknowledging every call.
#[derive(Debug, Default)]
struct MemberState {
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
    /// Whether it is a player that signs its moves.
    pub(crate) signs: bool,
    /// The key by which a referee is admitted.
    pub(crate) key: Option<String>,
    listener: Listener,
    state: Arc<MemberState>,
    admitted: Mutex<Option<Reply>>,
}

impl FakeMember {
    /// Opens a member, which is not registered yet.
    /// There may be no free port.
    pub(crate) async fn open(name: String, is_referee: bool) -> io::Result<Self> {
        let state = Arc::new(MemberState::default());
        let own = Arc::clone(&state);
        let listener = Listener::open(ANY_PORT, move |heard| own.answer(heard)).await?;
        Ok(Self {
            endpoint: format!("http://{}/mcp", listener.address),
            name,
            is_referee,
            signs: false,
            key: None,
            listener,
            state,
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
        if self.signs {
            meta["proofs"] = true.into();
        }
        let conversation = format!("check-{}", self.name.replace(' ', "-").to_ascii_lowercase());
        let sender = format!("{role}:{}", self.name.replace(' ', "-"));
        let mut says = json!({format!("{role}_meta"): meta});
        if let Some(key) = &self.key {
            says["referee_key"] = key.as_str().into();
        }
        Question::new(tool, message(kind, &sender, &conversation, says))
    }

    /// Stores the manager's answer to the registration.
    pub(crate) fn note(&self, reply: Reply) {
        *lock(&self.admitted) = Some(reply);
    }

    /// The manager's answer to the registration.
    pub(crate) fn answer(&self) -> Option<Reply> {
        lock(&self.admitted).clone()
    }

    fn given(&self, name: &str) -> String {
        let reply = self.answer();
        let given = reply.as_ref().and_then(|reply| reply.member(name));
        given.and_then(Value::as_str).unwrap_or_default().to_owned()
    }

    /// The id that it was given; empty without one.
    pub(crate) fn id(&self) -> String {
        self.given(&format!("{}_id", self.role()))
    }

    /// The token that it was given; empty without one.
    pub(crate) fn token(&self) -> String {
        self.given("auth_token")
    }

    /// All tokens that it was given.
    pub(crate) fn secrets(&self) -> [String; 3] {
        ["auth_token", "return_token", "manager_token"].map(|name| self.given(name))
    }

    /// The token that a player signs with; `None` if it does not.
    pub(crate) fn signing_token(&self) -> Option<String> {
        self.signs.then(|| self.given("return_token"))
    }

    /// Whether it is a referee that the manager rejected because the check has no key.
    pub(crate) fn needs_a_key(&self) -> bool {
        let answer = self.answer();
        let status = answer.as_ref().and_then(|reply| reply.member("status"));
        self.is_referee && self.key.is_none() && status == Some(&"REJECTED".into())
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

    /// Waits until it receives a message of a type.
    pub(crate) async fn wait(&self, patience: Duration, kind: &str) -> Option<Arc<IncomingCall>> {
        let is_due = |heard: &IncomingCall| heard.kind() == kind;
        self.listener.wait(0, patience, is_due).await
    }

    /// Stops answering.
    pub(crate) fn fall_silent(&self) {
        self.state.silent.store(true, Ordering::Relaxed);
    }

    /// Whether it has stopped answering.
    pub(crate) fn is_silent(&self) -> bool {
        self.state.silent.load(Ordering::Relaxed)
    }

    /// The orders that it has turned down: match and attempt.
    pub(crate) fn turned_down(&self) -> Vec<(Value, Value)> {
        lock(&self.state.turned_down).clone()
    }

    /// Turns down the next order.
    pub(crate) fn refuse_next(&self) {
        self.state.refuses.store(1, Ordering::Relaxed);
    }
}

impl MemberState {
    fn answer(&self, heard: &IncomingCall) -> ScriptedAnswer {
        if self.silent.load(Ordering::Relaxed) {
            return ScriptedAnswer::Nothing;
        }
        if heard.kind() == "START_MATCH" {
            return self.take(heard);
        }
        let method = heard.json["method"].as_str().unwrap_or_default();
        if method.contains('/') || method == "initialize" {
            return ScriptedAnswer::unknown_method(heard);
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
            lock(&self.turned_down).push(turned_down);
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
