//! The bytes and headers of each call that is made to a peer.

use serde::Serialize;
use serde_json::{Map, Value, json};

use super::{Inputs, LEGACY, Manner, Session};
use crate::rpc;
use crate::sender::{Form, Naming, Nesting};

/// One thing to send.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// What HTTP is asked to do with it.
    pub verb: Verb,
    /// What else HTTP is told; a transport without headers leaves them out.
    pub headers: Vec<Header>,
    /// The JSON.
    pub body: Vec<u8>,
    /// The id that the answer repeats; without one no answer is owed.
    pub id: Option<u64>,
}

/// A header's name, and what it says.
pub type Header = (&'static str, String);

/// What HTTP does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verb {
    /// Brings a message.
    Post,
    /// Ends a session.
    Delete,
}

/// A call of a tool; `None` if the message has no JSON form.
///
/// `inputs` are those that the peer declares for the tool; without them it gets the message as it is.
pub fn call(
    manner: &Manner,
    id: u64,
    tool: &str,
    message: &impl Serialize,
    inputs: Option<&Inputs>,
) -> Option<Request> {
    if let Manner::Simple(form) = manner {
        return simple(*form, id, tool, message);
    }
    let Value::Object(members) = serde_json::to_value(message).ok()? else {
        return None;
    };
    let arguments = match inputs {
        Some(inputs) => inputs.shaped(members),
        None => members,
    };
    let params = json!({"name": tool, "arguments": arguments});
    mcp(manner, id, "tools/call", Some(tool), params)
}

/// A call in the simplified form, written as the peer likes it.
fn simple(form: Form, id: u64, tool: &str, message: &impl Serialize) -> Option<Request> {
    let body = if form == Form::default() {
        rpc::request(id, tool, Some(message)).ok()?
    } else {
        let message = serde_json::to_value(message).ok()?;
        let kind = message["message_type"].as_str().unwrap_or(tool).to_owned();
        let method = match form.naming {
            Naming::Tool => tool,
            Naming::Type => &kind,
            Naming::Generic => "mcp_message",
        };
        let params = match form.nesting {
            Nesting::Bare => message,
            Nesting::Message => json!({"message": message}),
            Nesting::Arguments => json!({"name": tool, "arguments": message}),
        };
        rpc::request(id, method, Some(&params)).ok()?
    };
    Some(Request {
        verb: Verb::Post,
        headers: Vec::new(),
        body,
        id: Some(id),
    })
}

/// Asks whether a peer is there; revisions without a handshake have no word for it but `discover`.
pub fn ping(manner: &Manner, id: u64) -> Option<Request> {
    match manner {
        Manner::Simple(_) => simple(Form::default(), id, "ping", &json!({})),
        Manner::Modern { version } => discover(version, id),
        Manner::Legacy(_) => mcp(manner, id, "ping", None, json!({})),
    }
}

/// Ends a session, if the server keeps one.
pub fn end(session: &Session) -> Option<Request> {
    session.id.as_ref()?;
    Some(Request {
        verb: Verb::Delete,
        headers: session_headers(session),
        body: Vec::new(),
        id: None,
    })
}

/// The first question to a stranger.
pub(super) fn discover(version: &str, id: u64) -> Option<Request> {
    let version = version.to_owned();
    mcp(
        &Manner::Modern { version },
        id,
        "server/discover",
        None,
        json!({}),
    )
}

/// The beginning of a handshake.
pub(super) fn initialize(id: u64) -> Option<Request> {
    let params = json!({
        "protocolVersion": LEGACY,
        "capabilities": {},
        "clientInfo": client(),
    });
    post(id, "initialize", params, Vec::new())
}

/// The end of a handshake.
pub(super) fn initialized(session: &Session) -> Option<Request> {
    Some(Request {
        verb: Verb::Post,
        headers: session_headers(session),
        body: rpc::notify("notifications/initialized", None::<&()>).ok()?,
        id: None,
    })
}

/// One page of the list of tools.
pub(super) fn list_tools(manner: &Manner, id: u64, cursor: Option<&str>) -> Option<Request> {
    let params = cursor.map_or_else(|| json!({}), |cursor| json!({"cursor": cursor}));
    mcp(manner, id, "tools/list", None, params)
}

fn mcp(
    manner: &Manner,
    id: u64,
    method: &str,
    name: Option<&str>,
    mut params: Value,
) -> Option<Request> {
    let headers = match manner {
        Manner::Simple(_) => Vec::new(),
        Manner::Legacy(session) => session_headers(session),
        Manner::Modern { version } => {
            params["_meta"] = meta(version);
            let mut headers = vec![
                ("mcp-protocol-version", version.clone()),
                ("mcp-method", method.to_owned()),
            ];
            headers.extend(name.map(|name| ("mcp-name", name.to_owned())));
            headers
        }
    };
    post(id, method, params, headers)
}

fn post(id: u64, method: &str, params: Value, headers: Vec<Header>) -> Option<Request> {
    Some(Request {
        verb: Verb::Post,
        headers,
        body: rpc::request(id, method, Some(&params)).ok()?,
        id: Some(id),
    })
}

fn session_headers(session: &Session) -> Vec<Header> {
    let mut headers = vec![("mcp-protocol-version", session.version.clone())];
    headers.extend(session.id.clone().map(|id| ("mcp-session-id", id)));
    headers
}

/// What a modern request says of itself: no capability, so no peer can ask anything back.
fn meta(version: &str) -> Value {
    let mut meta = Map::new();
    let mut add = |name: &str, value| meta.insert(format!("io.modelcontextprotocol/{name}"), value);
    add("protocolVersion", version.into());
    add("clientInfo", client());
    add("clientCapabilities", json!({}));
    Value::Object(meta)
}

fn client() -> Value {
    json!({"name": "league", "version": env!("CARGO_PKG_VERSION")})
}
