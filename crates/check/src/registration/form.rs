//! The form of a registration: whether a league takes it, and what differs from the documents.

use league_protocol::dialect::Hints;
use league_protocol::finding::{Finding, Reading};
use league_protocol::id::GameType;
use league_protocol::message::{Message, RegisterRequest};
use league_protocol::rpc::{self, Era, Frame, Incoming};
use league_protocol::sender::Dialect;
use league_protocol::tools::MANAGER_TOOLS;
use league_protocol::wire::{
    Context, Inbound, receive, receive_bare, receive_registration, receive_tool_call,
};
use serde_json::Value;
use serde_json::value::to_raw_value;

use crate::AgentKind;
use crate::listener::IncomingCall;
use crate::script::now;

/// The path at which a league takes calls.
pub(crate) const PATH: &str = "/mcp";
/// The path at which it takes plain registrations.
pub(crate) const PLAIN_PATH: &str = "/register";

/// A registration as a league reads it.
#[derive(Debug, Clone)]
pub struct Registration {
    pub dialect: Dialect,
    pub request: Box<RegisterRequest>,
    /// What a lenient league forgave.
    pub deviations: Vec<Finding>,
}

/// Reads a registration with the reader of a league.
/// Returns why a league does not take it.
pub fn read(heard: &IncomingCall, reading: Reading) -> Result<Registration, String> {
    if heard.method != "POST" || ![PATH, PLAIN_PATH].contains(&heard.path.as_str()) {
        let (method, path) = (&heard.method, &heard.path);
        return Err(format!("it answers 404 to `{method} {path}`"));
    }
    let kind = heard.headers.get("content-type");
    let kind = kind.and_then(|kind| kind.to_str().ok());
    rpc::check_content_type(kind).map_err(|refusal| refusal.error.message.into_owned())?;
    // A league takes an agent that does not name a game to play its own.
    let game = GameType::new("even_odd").ok();
    let hints = Hints {
        game_type: game.as_ref(),
        ..Hints::default()
    };
    let context = Context {
        reading,
        hints,
        tools: &MANAGER_TOOLS,
        ..Context::default()
    };
    let inbound = match rpc::read(&heard.body, Era::Simple) {
        _ if heard.path == PLAIN_PATH => Some(receive_registration(&heard.body, &context)),
        Incoming::Single(Frame::Call(call)) if call.method == "tools/call" => {
            let given = to_raw_value(heard.message()).ok();
            let tool = heard.tool().unwrap_or_default();
            receive_tool_call(tool, given.as_deref(), now(), &context)
        }
        Incoming::Single(Frame::Call(call)) => Some(receive(&call, &context)),
        _ => receive_bare(&heard.body, &context),
    };
    match inbound {
        Some(Inbound::Message(received)) => match received.message {
            Message::PlayerRegisterRequest(request) | Message::RefereeRegisterRequest(request) => {
                Ok(Registration {
                    dialect: received.dialect,
                    request,
                    deviations: received.findings,
                })
            }
            _ => Err("it reads another message in it".to_owned()),
        },
        Some(Inbound::Unread(unread)) => Err(unread.error.detail),
        Some(Inbound::Error(error)) => Err(error.message.into_owned()),
        _ => Err("it finds no message in it".to_owned()),
    }
}

/// Whether a request that a league may not take is meant as a registration.
pub(crate) fn is_meant(heard: &IncomingCall) -> bool {
    let names = |text: &str| text.to_ascii_lowercase().contains("register");
    names(&heard.path) || heard.tool().is_some_and(names)
}

/// Whether a request is a message without a frame.
pub(crate) fn is_bare(heard: &IncomingCall) -> bool {
    heard.json.is_object() && heard.json.get("method").is_none()
}

/// How the form of a registration differs from that of the documents; `None` if it does not.
pub fn departure(heard: &IncomingCall, kind: AgentKind) -> Option<String> {
    let (tool, due) = match kind {
        AgentKind::Referee => ("register_referee", "REFEREE_REGISTER_REQUEST"),
        AgentKind::Player | AgentKind::Manager => ("register_player", "LEAGUE_REGISTER_REQUEST"),
    };
    let mut ways = Vec::new();
    if heard.method != "POST" || heard.path != PATH {
        ways.push(format!("`{} {}`", heard.method, heard.path));
    }
    match heard.tool() {
        None => ways.push("a body without a JSON-RPC frame".to_owned()),
        Some(named) if named != tool => ways.push(format!("the method `{named}`")),
        Some(_) => {}
    }
    match &heard.message()["protocol"] {
        Value::String(protocol) if protocol != "league.v2" => {
            ways.push(format!("a message of `{protocol}`"));
        }
        _ if heard.kind().is_empty() => ways.push("a message without `message_type`".to_owned()),
        _ if heard.kind() != due => ways.push(format!("a {}", heard.kind())),
        _ => {}
    }
    let asked = format!("`POST {PATH}` with the method `{tool}` and a {due} of `league.v2`");
    (!ways.is_empty()).then(|| {
        let ways = ways.join(", ");
        format!("it registered by {ways}; the documents ask for {asked}")
    })
}
