//! The league manager for a player or a referee under check, which admits it as a rule demands.

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use league_protocol::token::AuthToken;
use serde_json::{Value, json};

use crate::listener::{IncomingCall, Listener, ScriptedAnswer};
use crate::script::{message, now};
use crate::{AgentKind, RandomBytes};

/// How registrations are taken.
#[derive(Debug, Clone, Default)]
pub enum Admitting {
    /// Every agent is admitted.
    #[default]
    Open,
    /// Every agent is rejected, for this reason.
    Rejecting(String),
    /// This many requests get this answer, then every agent is admitted.
    Failing(u32, ScriptedAnswer),
}

/// What an agent received when it was admitted.
#[derive(Debug, Clone)]
pub struct Admission {
    pub id: String,
    pub token: String,
    pub league: String,
    /// The token with which the manager proves its identity.
    pub manager_token: String,
    /// The registration as it came.
    pub call: Arc<IncomingCall>,
}

/// The league id for players of `league.v1`.
const V1_LEAGUE: &str = "550e8400-e29b-41d4-a716-446655440000";

/// A league manager that a player or a referee under check registers with.
pub struct FakeManager {
    pub listener: Listener,
    pub league: String,
    state: Arc<Mutex<State>>,
}

struct State {
    kind: AgentKind,
    port: u16,
    league: String,
    random: RandomBytes,
    manager_token: String,
    admitting: Admitting,
    admission: Option<Admission>,
    /// Whether the agent first registered in the spelling of 001.
    is_api: bool,
    /// The answer to the next report of a match, instead of an acknowledgement.
    spoiled: BTreeMap<String, ScriptedAnswer>,
}

impl FakeManager {
    /// Opens a manager for an agent that answers on a port.
    ///
    /// # Errors
    ///
    /// Our own port may be in use.
    pub async fn open(
        address: SocketAddr,
        kind: AgentKind,
        port: u16,
        random: RandomBytes,
    ) -> io::Result<Self> {
        let league = format!("check_{}", now().as_millis());
        let manager_token = token("manager", &random);
        let state = Arc::new(Mutex::new(State {
            kind,
            port,
            league: league.clone(),
            random,
            manager_token,
            admitting: Admitting::Open,
            admission: None,
            is_api: false,
            spoiled: BTreeMap::new(),
        }));
        let seen = Arc::clone(&state);
        let listener = Listener::open(address, move |heard| lock(&seen).answer(heard)).await?;
        Ok(Self {
            listener,
            league,
            state,
        })
    }

    /// The latest admission of the agent.
    pub fn admission(&self) -> Option<Admission> {
        lock(&self.state).admission.clone()
    }

    /// Changes how registrations are taken.
    pub fn set_admitting(&self, admitting: Admitting) {
        lock(&self.state).admitting = admitting;
    }

    /// Loses the next report of a match, as if the connection broke.
    pub fn lose_report(&self, match_id: &str) {
        lock(&self.state).spoil(match_id, ScriptedAnswer::Nothing);
    }

    /// Refuses the token of the next report of a match.
    pub fn refuse_report(&self, match_id: &str) {
        let says = json!({
            "error_code": "E012", "error_name": "AUTH_TOKEN_INVALID",
            "error_description": "AUTH_TOKEN_INVALID", "retryable": false,
            "original_message_type": "MATCH_RESULT_REPORT",
        });
        let error = message("LEAGUE_ERROR", "league_manager", "check-report", says);
        lock(&self.state).spoil(match_id, ScriptedAnswer::Result(error));
    }
}

/// Whether a request is a registration.
pub fn is_registration(heard: &IncomingCall) -> bool {
    let by_tool = matches!(heard.tool(), Some("register_player" | "register_referee"));
    by_tool || heard.kind().ends_with("REGISTER_REQUEST")
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

fn token(owner: &str, random: &RandomBytes) -> String {
    AuthToken::mint(owner, &random()).reveal().to_owned()
}

impl State {
    fn answer(&mut self, heard: &IncomingCall) -> ScriptedAnswer {
        if is_registration(heard) {
            return self.register(heard);
        }
        if let Some(said) = self.spoils(heard) {
            return said;
        }
        match heard.json["method"].as_str().unwrap_or_default() {
            "initialize" => ScriptedAnswer::Result(json!({
                "protocolVersion": heard.json["params"]["protocolVersion"],
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "league-check", "version": env!("CARGO_PKG_VERSION")},
            })),
            "tools/list" => ScriptedAnswer::Result(json!({"tools": [
                {"name": "register_player", "inputSchema": {"type": "object"}},
                {"name": "register_referee", "inputSchema": {"type": "object"}},
                {"name": "report_match_result", "inputSchema": {"type": "object"}},
                {"name": "league_query", "inputSchema": {"type": "object"}},
            ]})),
            notice if notice.starts_with("notifications/") => {
                ScriptedAnswer::Raw(202, String::new())
            }
            "" => ScriptedAnswer::Raw(404, "{}".to_owned()),
            "server/discover" => self.unknown(heard),
            _ => wrapped(heard, json!({"status": "ok"})),
        }
    }

    fn spoil(&mut self, match_id: &str, said: ScriptedAnswer) {
        self.spoiled.insert(match_id.to_owned(), said);
    }

    fn spoils(&mut self, heard: &IncomingCall) -> Option<ScriptedAnswer> {
        if heard.kind() != "MATCH_RESULT_REPORT" {
            return None;
        }
        let match_id = heard.message()["match_id"].as_str()?;
        self.spoiled.remove(match_id)
    }

    fn unknown(&self, heard: &IncomingCall) -> ScriptedAnswer {
        let error = json!({"code": -32_601, "message": "there is no such method"});
        let answer = json!({"jsonrpc": "2.0", "id": heard.json["id"], "error": error});
        ScriptedAnswer::Raw(200, answer.to_string())
    }

    fn register(&mut self, heard: &IncomingCall) -> ScriptedAnswer {
        match &mut self.admitting {
            Admitting::Open => self.admit(heard),
            Admitting::Rejecting(reason) => {
                let reason = reason.clone();
                self.respond(heard, json!({"status": "REJECTED", "reason": reason}))
            }
            Admitting::Failing(times, said) => {
                let said = said.clone();
                *times = times.saturating_sub(1);
                if *times == 0 {
                    self.admitting = Admitting::Open;
                }
                said
            }
        }
    }

    fn admit(&mut self, heard: &IncomingCall) -> ScriptedAnswer {
        let (id, named, stranger) = match self.kind {
            AgentKind::Referee => ("REF01", "referee_id", "REF90"),
            AgentKind::Player | AgentKind::Manager => ("P01", "player_id", "P90"),
        };
        let ours = self.is_under_check(heard);
        let (id, stranger) = match is_old(heard) {
            true => ("player_001", "player_090"),
            false => (id, stranger),
        };
        let id = if ours { id } else { stranger };
        if is_old(heard) {
            self.league = V1_LEAGUE.to_owned();
        }
        let token = token(id, &self.random);
        self.is_api |= is_api(heard);
        let accepted = if self.is_api {
            "REGISTERED"
        } else {
            "ACCEPTED"
        };
        let says = json!({
            "status": accepted, named: id, "auth_token": token, "league_id": self.league,
            "manager_token": self.manager_token, "reason": null,
        });
        if ours {
            self.admission = Some(Admission {
                id: id.to_owned(),
                token,
                league: self.league.clone(),
                manager_token: self.manager_token.clone(),
                call: Arc::new(heard.clone()),
            });
        }
        self.respond(heard, says)
    }

    /// The answer in the form of 003, which does not have tokens.
    fn respond_in_v1(&self, heard: &IncomingCall, says: &Value) -> ScriptedAnswer {
        wrapped(
            heard,
            json!({
                "protocol": "league.v1", "message_type": "LEAGUE_REGISTER_RESPONSE",
                "league_id": self.league, "round_id": 0, "match_id": "REGISTRATION",
                "conversation_id": heard.message()["conversation_id"],
                "sender": "league_manager", "timestamp": now().to_millis_text(),
                "status": says["status"], "player_id": says["player_id"],
                "reason": says["reason"],
            }),
        )
    }

    /// Whether the agent under check registers; an agent that does not name a port is taken for it.
    fn is_under_check(&self, heard: &IncomingCall) -> bool {
        let message = heard.message();
        let meta = [&message["player_meta"], &message["referee_meta"]];
        let endpoint = meta
            .iter()
            .find_map(|meta| meta["contact_endpoint"].as_str());
        let port = endpoint.and_then(port);
        port.is_none_or(|port| port == self.port)
    }

    fn respond(&self, heard: &IncomingCall, says: Value) -> ScriptedAnswer {
        if is_old(heard) {
            return self.respond_in_v1(heard, &says);
        }
        let kind = match self.kind {
            AgentKind::Referee => "REFEREE_REGISTER_RESPONSE",
            AgentKind::Player | AgentKind::Manager => "LEAGUE_REGISTER_RESPONSE",
        };
        let conversation = heard.message()["conversation_id"].as_str();
        let conversation = conversation.unwrap_or("check-register");
        wrapped(heard, message(kind, "league_manager", conversation, says))
    }
}

/// Whether a registration is in the form of 003.
fn is_old(heard: &IncomingCall) -> bool {
    heard.message()["protocol"] == "league.v1"
}

/// The port that an address names.
pub fn port(endpoint: &str) -> Option<u16> {
    let rest = endpoint.split("://").nth(1)?;
    let authority = rest.split('/').next()?;
    authority.rsplit(':').next()?.parse().ok()
}

/// Whether a registration is spelled as in 001.
fn is_api(heard: &IncomingCall) -> bool {
    heard.message()["sender"] == "player:UNREGISTERED"
}

/// An answer in the form of the request.
fn wrapped(heard: &IncomingCall, message: Value) -> ScriptedAnswer {
    if heard.json["method"] != "tools/call" {
        return ScriptedAnswer::Result(message);
    }
    let text = json!({"type": "text", "text": message.to_string()});
    ScriptedAnswer::Result(
        json!({"content": [text], "structuredContent": message, "isError": false}),
    )
}
