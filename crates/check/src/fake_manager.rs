//! The league manager for a player or a referee under check, which admits it as a rule demands.

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use league_protocol::secret::Seed;
use league_protocol::token::AuthToken;
use serde_json::{Value, json};

use crate::listener::{IncomingCall, Listener, ScriptedAnswer};
use crate::registration::form;
use crate::script::{attempt_seed, message, now, str_of};
use crate::{AgentKind, RandomBytes, lock};

/// How registrations are taken.
#[derive(Debug, Clone, Default)]
pub enum AdmissionPolicy {
    /// Every agent is admitted.
    #[default]
    Open,
    /// Every agent is rejected, for this reason.
    Reject(String),
    /// This many requests get this answer, then every agent is admitted.
    Fail(u32, ScriptedAnswer),
}

/// What an agent received when it was admitted.
#[derive(Debug, Clone)]
pub struct Admission {
    pub id: String,
    pub token: String,
    pub league: String,
    /// The token with which the manager proves its identity.
    pub manager_token: String,
    /// The token with which the agent proves itself when it returns, and which a player signs with.
    pub return_token: String,
    /// The registration as it came.
    pub call: Arc<IncomingCall>,
}

/// A referee's report of a result, and its request for a draw.
pub(crate) const REPORT: &str = "MATCH_RESULT_REPORT";
pub(crate) const REQUEST: &str = "DRAW_REQUEST";

const TOOLS: [&str; 6] = [
    "register_player",
    "register_referee",
    "request_draw",
    "report_match_result",
    "notify_game_over_told",
    "league_query",
];

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
    return_token: String,
    policy: AdmissionPolicy,
    admission: Option<Admission>,
    /// The token of each admission.
    issued: Vec<String>,
    /// Whether the agent first registered in the spelling of 001.
    is_api: bool,
    /// The secrets of each match that a referee was ordered to run.
    secrets: BTreeMap<String, MatchSecrets>,
    /// The answer to the next report or request of a match.
    spoiled: BTreeMap<(&'static str, String), ScriptedAnswer>,
}

/// What the manager opens once the result of a match is known.
#[derive(Debug, Clone)]
pub(crate) struct MatchSecrets {
    pub(crate) seed: Seed,
    /// The keys of the players that sign.
    pub(crate) players: Value,
}

impl FakeManager {
    /// Opens a manager for an agent that answers on a port.
    /// Our own port may be in use.
    pub async fn open(
        address: SocketAddr,
        kind: AgentKind,
        port: u16,
        random: RandomBytes,
    ) -> io::Result<Self> {
        let league = format!("check_{}", now().as_millis());
        Self::open_in(league, address, kind, port, random).await
    }

    /// As [`FakeManager::open`], in the league with this id.
    /// Our own port may be in use.
    pub async fn open_in(
        league: String,
        address: SocketAddr,
        kind: AgentKind,
        port: u16,
        random: RandomBytes,
    ) -> io::Result<Self> {
        let [manager_token, return_token] = ["manager", "return"].map(|hint| token(hint, &random));
        let state = Arc::new(Mutex::new(State {
            kind,
            port,
            league: league.clone(),
            random,
            manager_token,
            return_token,
            policy: AdmissionPolicy::Open,
            admission: None,
            issued: Vec::new(),
            is_api: false,
            secrets: BTreeMap::new(),
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

    /// The tokens that it gave to the agent.
    pub(crate) fn secrets(&self) -> Vec<String> {
        let state = lock(&self.state);
        let own = [state.manager_token.clone(), state.return_token.clone()];
        own.into_iter().chain(state.issued.clone()).collect()
    }

    /// Changes how registrations are taken.
    pub fn set_policy(&self, policy: AdmissionPolicy) {
        lock(&self.state).policy = policy;
    }

    /// Keeps the secrets of a match that a referee is ordered to run.
    pub(crate) fn keep(&self, match_id: &str, secrets: MatchSecrets) {
        lock(&self.state)
            .secrets
            .insert(match_id.to_owned(), secrets);
    }

    /// Gives this answer to the next message of a type about a match, instead of the usual one.
    pub(crate) fn spoil(&self, kind: &'static str, match_id: &str, said: ScriptedAnswer) {
        let spoiled = &mut lock(&self.state).spoiled;
        spoiled.insert((kind, match_id.to_owned()), said);
    }
}

/// Whether a request is a registration, in whatever form.
pub fn is_registration(heard: &IncomingCall) -> bool {
    let by_tool = matches!(heard.tool(), Some("register_player" | "register_referee"));
    by_tool || heard.kind().ends_with("REGISTER_REQUEST") || form::is_meant(heard)
}

fn token(owner: &str, random: &RandomBytes) -> String {
    AuthToken::mint(owner, &random()).reveal().to_owned()
}

impl State {
    fn answer(&mut self, heard: &IncomingCall) -> ScriptedAnswer {
        if is_registration(heard) {
            return match [form::PATH, form::PLAIN_PATH].contains(&heard.path.as_str()) {
                true => self.register(heard),
                // As in a league: nothing else is served.
                false => ScriptedAnswer::Raw(404, "{}".to_owned()),
            };
        }
        if let Some(said) = self.spoils(heard) {
            return said;
        }
        if let Some(said) = self.opens(heard) {
            return wrapped(heard, said);
        }
        match heard.json["method"].as_str().unwrap_or_default() {
            "initialize" => ScriptedAnswer::Result(json!({
                "protocolVersion": heard.json["params"]["protocolVersion"],
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "league-check", "version": env!("CARGO_PKG_VERSION")},
            })),
            "tools/list" => {
                let tools =
                    TOOLS.map(|name| json!({"name": name, "inputSchema": {"type": "object"}}));
                ScriptedAnswer::Result(json!({"tools": tools}))
            }
            notice if notice.starts_with("notifications/") => {
                ScriptedAnswer::Raw(202, String::new())
            }
            "" => ScriptedAnswer::Raw(404, "{}".to_owned()),
            "server/discover" => ScriptedAnswer::unknown_method(heard),
            _ => wrapped(heard, json!({"status": "ok"})),
        }
    }

    fn spoils(&mut self, heard: &IncomingCall) -> Option<ScriptedAnswer> {
        let mut kinds = [REPORT, REQUEST].into_iter();
        let kind = kinds.find(|kind| *kind == heard.kind())?;
        let match_id = heard.message()["match_id"].as_str()?.to_owned();
        self.spoiled.remove(&(kind, match_id))
    }

    /// Gives a referee the seed of its attempt, or the secrets of a match that it reports; a
    /// referee that shows no token of the order gets the plain acknowledgement of the documents.
    fn opens(&self, heard: &IncomingCall) -> Option<Value> {
        let asked = heard.message();
        let MatchSecrets { seed, players } = self.secrets.get(asked["match_id"].as_str()?)?;
        let (kind, says) = match heard.kind() {
            REQUEST => {
                let (seed, attempt) = (attempt_seed(asked, seed)?.to_hex(), &asked["attempt"]);
                let says = json!({"attempt": attempt, "draw_seed": seed});
                ("DRAW_RESPONSE", says)
            }
            REPORT if asked["order_token"].is_string() => {
                let says = json!({"status": "ok", "draw_seed": seed.to_hex(), "players": players});
                ("MATCH_RESULT_ACK", says)
            }
            _ => return None,
        };
        let conversation = str_of(&asked["conversation_id"]);
        let mut answer = message(kind, "league_manager", conversation, says);
        answer["match_id"] = asked["match_id"].clone();
        Some(answer)
    }

    fn register(&mut self, heard: &IncomingCall) -> ScriptedAnswer {
        match &mut self.policy {
            AdmissionPolicy::Open => self.admit(heard),
            AdmissionPolicy::Reject(reason) => {
                let reason = reason.clone();
                self.respond(heard, json!({"status": "REJECTED", "reason": reason}))
            }
            AdmissionPolicy::Fail(times, said) => {
                let said = said.clone();
                *times = times.saturating_sub(1);
                if *times == 0 {
                    self.policy = AdmissionPolicy::Open;
                }
                said
            }
        }
    }

    fn admit(&mut self, heard: &IncomingCall) -> ScriptedAnswer {
        let (is_ours, is_old) = (self.is_under_check(heard), is_old(heard));
        let is_referee = self.kind == AgentKind::Referee;
        let id = match (is_ours, is_old, is_referee) {
            (true, true, _) => "player_001",
            (false, true, _) => "player_090",
            (true, _, true) => "REF01",
            (false, _, true) => "REF90",
            (true, ..) => "P01",
            (false, ..) => "P90",
        };
        if is_old {
            self.league = V1_LEAGUE.to_owned();
        }
        let (token, league) = (token(id, &self.random), self.league.clone());
        self.issued.push(token.clone());
        self.is_api |= heard.message()["sender"] == "player:UNREGISTERED";
        let says = json!({
            "status": if self.is_api { "REGISTERED" } else { "ACCEPTED" },
            if is_referee { "referee_id" } else { "player_id" }: id, "auth_token": token,
            "league_id": league, "manager_token": self.manager_token,
            "return_token": self.return_token, "reason": null,
        });
        if is_ours {
            self.admission = Some(Admission {
                id: id.to_owned(),
                token,
                league,
                manager_token: self.manager_token.clone(),
                return_token: self.return_token.clone(),
                call: Arc::new(heard.clone()),
            });
        }
        self.respond(heard, says)
    }

    /// Whether the agent under check registers; an agent that does not name a port is taken for it.
    fn is_under_check(&self, heard: &IncomingCall) -> bool {
        let message = heard.message();
        let endpoint = ["player_meta", "referee_meta"]
            .iter()
            .find_map(|meta| message[meta]["contact_endpoint"].as_str());
        let port = endpoint.and_then(port);
        port.is_none_or(|port| port == self.port)
    }

    /// Answers a registration, in the form of 003 without tokens if it came in that form.
    fn respond(&self, heard: &IncomingCall, says: Value) -> ScriptedAnswer {
        let conversation = &heard.message()["conversation_id"];
        if is_old(heard) {
            let response = json!({
                "protocol": "league.v1", "message_type": "LEAGUE_REGISTER_RESPONSE",
                "league_id": self.league, "round_id": 0, "match_id": "REGISTRATION",
                "conversation_id": conversation, "sender": "league_manager",
                "timestamp": now().to_millis_text(), "status": says["status"],
                "player_id": says["player_id"], "reason": says["reason"],
            });
            return wrapped(heard, response);
        }
        let kind = match self.kind {
            AgentKind::Referee => "REFEREE_REGISTER_RESPONSE",
            AgentKind::Player | AgentKind::Manager => "LEAGUE_REGISTER_RESPONSE",
        };
        let conversation = conversation.as_str().unwrap_or("check-register");
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

/// An answer in the form of the request.
fn wrapped(heard: &IncomingCall, message: Value) -> ScriptedAnswer {
    if form::is_bare(heard) {
        return ScriptedAnswer::Raw(200, message.to_string());
    }
    if heard.json["method"] != "tools/call" {
        return ScriptedAnswer::Result(message);
    }
    let text = json!({"type": "text", "text": message.to_string()});
    let result = json!({"content": [text], "structuredContent": message, "isError": false});
    ScriptedAnswer::Result(result)
}
