//! Calls to a peer as bytes and headers: how it takes them, what to send, how to read its replies.
//!
//! [`Probe`] finds out how a peer takes calls. Sending, waiting and retrying are left to the
//! caller, so a child process that reads lines is called in the same way as an HTTP server.

mod probe;
mod reply;

pub use probe::{Inputs, MAX_PAGES, MAX_SCHEMA, MAX_TOOLS, Probe, ProbeStep, ToolList};
pub use reply::{
    EventStream, HttpReply, MAX_EVENTS, MAX_QUOTE, McpFault, StreamState, ToolResult, is_expired,
    read, tool_result,
};

use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::rpc;
use crate::sender::CallStyle;

/// The revision of MCP that does not have a handshake.
pub const MODERN: &str = "2026-07-28";
/// The newest revision that begins with `initialize`.
pub const LEGACY: &str = "2025-11-25";
/// The longest revision or session id that is kept, in bytes; both are sent back in headers.
const MAX_HEADER_TEXT: usize = 256;

/// How a peer takes calls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PeerProfile {
    /// [`CallStyle::Mcp`] if there is a session, otherwise the layout of plain calls.
    pub style: CallStyle,
    /// The revision of MCP, and the session if the peer keeps one.
    pub session: Option<Session>,
    /// The tools that it lists; `None` if the list cannot be read.
    pub tools: Option<ToolList>,
    /// Whether the peer has replied at all.
    pub heard: bool,
}

/// The MCP revision that both sides speak.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Session {
    pub version: String,
    /// The server's session id; a stateless server does not give one.
    pub id: Option<String>,
    /// Whether it began with `initialize`, as revisions before [`MODERN`] do.
    pub handshake: bool,
}

impl PeerProfile {
    /// A peer that takes plain calls as the documents show them.
    pub const PLAIN: Self = Self::plain(CallStyle::Tool);

    /// A peer that takes plain calls in this layout.
    pub const fn plain(style: CallStyle) -> Self {
        Self {
            style,
            session: None,
            tools: None,
            heard: true,
        }
    }

    /// A peer that is called through MCP.
    pub const fn mcp(session: Session) -> Self {
        Self {
            style: CallStyle::Mcp,
            session: Some(session),
            tools: None,
            heard: true,
        }
    }

    /// A short name for reports: `simple`, `modern` or `legacy`.
    pub fn as_str(&self) -> &'static str {
        match &self.session {
            None => "simple",
            Some(session) if session.handshake => "legacy",
            Some(_) => "modern",
        }
    }

    /// The layout of plain calls; `None` for MCP.
    pub fn layout(&self) -> Option<CallStyle> {
        self.session.is_none().then_some(self.style)
    }

    /// The MCP revision; `None` for plain calls.
    pub fn version(&self) -> Option<&str> {
        Some(&self.session.as_ref()?.version)
    }

    /// Whether the peer keeps a session for us.
    pub fn has_session(&self) -> bool {
        self.session
            .as_ref()
            .is_some_and(|session| session.id.is_some())
    }
}

/// One request to send.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PeerRequest {
    pub verb: Verb,
    /// Headers for HTTP; a transport without headers leaves them out.
    pub headers: Vec<Header>,
    /// The JSON.
    pub body: Vec<u8>,
    /// The id that the reply repeats; without one no reply is due.
    pub id: Option<u64>,
}

/// A header's name and value.
pub type Header = (&'static str, String);

/// The HTTP method.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verb {
    /// Sends a message.
    Post,
    /// Ends a session.
    Delete,
}

/// A tool call; `None` if the message does not have a JSON form.
///
/// `inputs` are the inputs that the peer declares for the tool; without them the message is sent
/// unchanged.
pub fn call(
    profile: &PeerProfile,
    id: u64,
    tool: &str,
    message: &impl Serialize,
    inputs: Option<&Inputs>,
) -> Option<PeerRequest> {
    let Some(session) = &profile.session else {
        return plain(profile.style, id, tool, message);
    };
    let Value::Object(members) = serde_json::to_value(message).ok()? else {
        return None;
    };
    let arguments = match inputs {
        Some(inputs) => inputs.shaped(members),
        None => members,
    };
    let params = json!({"name": tool, "arguments": arguments});
    mcp(session, id, "tools/call", Some(tool), params)
}

/// A plain JSON-RPC call in the layout that the peer understands.
fn plain(style: CallStyle, id: u64, tool: &str, message: &impl Serialize) -> Option<PeerRequest> {
    let body = if matches!(style, CallStyle::Simple | CallStyle::Tool) {
        rpc::request(id, tool, Some(message)).ok()?
    } else {
        let message = serde_json::to_value(message).ok()?;
        let kind = message["message_type"].as_str().unwrap_or(tool).to_owned();
        let params = match style.holder() {
            None => message,
            Some("arguments") => json!({"name": tool, "arguments": message}),
            Some(holder) => json!({holder: message}),
        };
        rpc::request(id, style.method(tool, &kind), Some(&params)).ok()?
    };
    Some(PeerRequest {
        verb: Verb::Post,
        headers: Vec::new(),
        body,
        id: Some(id),
    })
}

/// Checks that a peer responds; revisions without a handshake use `discover` instead of `ping`.
pub fn ping(profile: &PeerProfile, id: u64) -> Option<PeerRequest> {
    match &profile.session {
        None => plain(CallStyle::Tool, id, "ping", &json!({})),
        Some(session) if session.handshake => mcp(session, id, "ping", None, json!({})),
        Some(session) => discover(&session.version, id),
    }
}

/// Ends a session, if the server keeps one.
pub fn end(session: &Session) -> Option<PeerRequest> {
    session.id.as_ref()?;
    Some(PeerRequest {
        verb: Verb::Delete,
        headers: session_headers(session),
        body: Vec::new(),
        id: None,
    })
}

/// The first question to an unknown peer.
fn discover(version: &str, id: u64) -> Option<PeerRequest> {
    let session = Session {
        version: version.to_owned(),
        id: None,
        handshake: false,
    };
    mcp(&session, id, "server/discover", None, json!({}))
}

/// The beginning of a handshake.
fn initialize(id: u64) -> Option<PeerRequest> {
    let params = json!({
        "protocolVersion": LEGACY,
        "capabilities": {},
        "clientInfo": client(),
    });
    post(id, "initialize", params, Vec::new())
}

/// The end of a handshake.
fn initialized(session: &Session) -> Option<PeerRequest> {
    Some(PeerRequest {
        verb: Verb::Post,
        headers: session_headers(session),
        body: rpc::notify("notifications/initialized", None::<&()>).ok()?,
        id: None,
    })
}

/// One page of the list of tools.
fn list_tools(session: &Session, id: u64, cursor: Option<&str>) -> Option<PeerRequest> {
    let params = cursor.map_or_else(|| json!({}), |cursor| json!({"cursor": cursor}));
    mcp(session, id, "tools/list", None, params)
}

fn mcp(
    session: &Session,
    id: u64,
    method: &str,
    name: Option<&str>,
    mut params: Value,
) -> Option<PeerRequest> {
    if session.handshake {
        return post(id, method, params, session_headers(session));
    }
    params["_meta"] = meta(&session.version);
    let mut headers = vec![
        ("mcp-protocol-version", session.version.clone()),
        ("mcp-method", method.to_owned()),
    ];
    headers.extend(name.map(|name| ("mcp-name", name.to_owned())));
    post(id, method, params, headers)
}

fn post(id: u64, method: &str, params: Value, headers: Vec<Header>) -> Option<PeerRequest> {
    Some(PeerRequest {
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

/// The metadata of a modern request. It declares no capabilities, so peers cannot ask for input.
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

/// A peer's text that may go into a header: visible ASCII, bounded in length.
fn header_text(text: &str) -> Option<String> {
    let visible = text.bytes().all(|byte| byte.is_ascii_graphic());
    (visible && (1..=MAX_HEADER_TEXT).contains(&text.len())).then(|| text.to_owned())
}
