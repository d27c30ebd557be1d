//! Players that take calls as other libraries do: MCP of both eras, bare answers, and trouble.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use crate::end_to_end::scripted::fair;

/// How a player takes calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// MCP without a handshake, answers in JSON.
    Modern,
    /// MCP with sessions, answers as events.
    Sessions,
    /// MCP with a handshake and no session, answers in JSON.
    Stateless,
    /// The method is the tool, answers without a frame, errors with status 200.
    Bare,
    /// As [`Bare`](Self::Bare), but what is no tool of its own it answers with this status and body.
    Troubled(u16, &'static str),
    /// As [`Bare`](Self::Bare), but what is no tool of its own it never answers.
    Hanging,
    /// Nobody is at this path.
    Gone,
}

/// One call as it came.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    /// The verb of HTTP.
    pub(crate) verb: String,
    /// Its headers, their names in lower case.
    pub(crate) headers: BTreeMap<String, String>,
    /// The JSON.
    pub(crate) body: Value,
}

impl Call {
    /// The method of the call.
    pub(crate) fn method(&self) -> &str {
        self.body["method"].as_str().unwrap_or_default()
    }

    /// The tool that is called, if one is.
    pub(crate) fn tool(&self) -> &str {
        match self.method() {
            "tools/call" => self.body["params"]["name"].as_str().unwrap_or_default(),
            method => method,
        }
    }
}

/// A player at work.
pub(crate) struct Foreign {
    /// Where it answers.
    pub(crate) endpoint: String,
    state: Arc<Mutex<State>>,
}

struct State {
    kind: Kind,
    calls: Vec<Call>,
    sessions: Vec<String>,
    opened: usize,
}

impl Foreign {
    /// Starts a player of this kind.
    pub(crate) fn start(kind: Kind) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let state = Arc::new(Mutex::new(State {
            kind,
            calls: Vec::new(),
            sessions: Vec::new(),
            opened: 0,
        }));
        let all = Arc::clone(&state);
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let all = Arc::clone(&all);
                thread::spawn(move || converse(&stream, &all));
            }
        });
        Self {
            endpoint: format!("http://localhost:{port}/mcp"),
            state,
        }
    }

    /// All calls so far.
    pub(crate) fn calls(&self) -> Vec<Call> {
        self.state.lock().unwrap().calls.clone()
    }

    /// How many calls of this method came.
    pub(crate) fn count(&self, method: &str) -> usize {
        let calls = self.calls();
        calls.iter().filter(|call| call.method() == method).count()
    }

    /// Whether this tool was called.
    pub(crate) fn was_called(&self, tool: &str) -> bool {
        self.calls().iter().any(|call| call.tool() == tool)
    }

    /// Forgets all sessions, as a server does that was started again.
    pub(crate) fn forget_sessions(&self) {
        self.state.lock().unwrap().sessions.clear();
    }

    /// Takes calls in another manner from now on.
    pub(crate) fn become_kind(&self, kind: Kind) {
        self.state.lock().unwrap().kind = kind;
    }
}

/// What is sent back.
enum Sent {
    Answer {
        status: u16,
        session: Option<String>,
        stream: bool,
        body: String,
    },
    Nothing,
}

fn converse(stream: &TcpStream, state: &Mutex<State>) {
    let mut reader = BufReader::new(stream);
    while let Some(call) = read_call(&mut reader) {
        let sent = {
            let mut state = state.lock().unwrap();
            state.calls.push(call.clone());
            state.answer(&call)
        };
        let Sent::Answer {
            status,
            session,
            stream: events,
            body,
        } = sent
        else {
            thread::sleep(Duration::from_secs(30));
            let _ = stream.shutdown(Shutdown::Both);
            return;
        };
        let kind = if events {
            "text/event-stream"
        } else {
            "application/json"
        };
        let session = session.map(|id| format!("mcp-session-id: {id}\r\n"));
        let head = format!(
            "HTTP/1.1 {status} X\r\ncontent-type: {kind}\r\n{}content-length: {}\r\n\r\n",
            session.unwrap_or_default(),
            body.len()
        );
        let mut writer = stream;
        if writer.write_all((head + &body).as_bytes()).is_err() {
            return;
        }
    }
}

fn read_call(reader: &mut impl BufRead) -> Option<Call> {
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        match line.trim_end() {
            "" => break,
            line => lines.push(line.to_owned()),
        }
    }
    let verb = lines.first()?.split(' ').next()?.to_owned();
    let headers: BTreeMap<String, String> = lines
        .iter()
        .skip(1)
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
        .collect();
    let length = headers
        .get("content-length")
        .map_or(Some(0), |length| length.parse().ok())?;
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    let body = serde_json::from_slice(&body).unwrap_or_default();
    Some(Call {
        verb,
        headers,
        body,
    })
}

impl State {
    fn answer(&mut self, call: &Call) -> Sent {
        match self.kind {
            Kind::Modern => self.modern(call),
            Kind::Sessions | Kind::Stateless => self.legacy(call),
            Kind::Bare => match simple(call) {
                Some(answer) => plain(200, &answer.to_string()),
                None => plain(200, r#"{"error":"Unknown method"}"#),
            },
            Kind::Troubled(status, body) => match simple(call) {
                Some(answer) => plain(200, &answer.to_string()),
                None => plain(status, body),
            },
            Kind::Gone => plain(404, "<h1>Not Found</h1>"),
            Kind::Hanging => match simple(call) {
                Some(answer) => plain(200, &answer.to_string()),
                None => Sent::Nothing,
            },
        }
    }

    fn modern(&self, call: &Call) -> Sent {
        let header = |name: &str| call.headers.get(name).map(String::as_str);
        let named = call.body["params"]["name"].as_str();
        let meta = &call.body["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"];
        if header("mcp-method") != Some(call.method()) || header("mcp-name") != named {
            return refusal(400, call, -32_020, "header mismatch");
        }
        if header("mcp-protocol-version") != Some("2026-07-28") || meta != "2026-07-28" {
            return refusal(400, call, -32_022, "unsupported version");
        }
        match call.method() {
            "server/discover" => {
                let result = json!({"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}},
                    "ttlMs": 0, "cacheScope": "private", "resultType": "complete"});
                result_of(call, &result)
            }
            "tools/list" => result_of(call, &json!({"tools": fields(), "resultType": "complete"})),
            "tools/call" => result_of(call, &tool_result(call)),
            _ => refusal(404, call, -32_601, "no such method"),
        }
    }

    fn legacy(&mut self, call: &Call) -> Sent {
        let sessions = self.kind == Kind::Sessions;
        let shown = call.headers.get("mcp-session-id");
        if call.verb == "DELETE" {
            self.sessions.retain(|session| Some(session) != shown);
            return plain(200, "");
        }
        if call.method() == "initialize" {
            self.opened += 1;
            let session = sessions.then(|| format!("session-{}", self.opened));
            self.sessions.extend(session.clone());
            let result = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo":
                {"name": "foreign", "version": "1"}});
            return self.sent(call, &result, session);
        }
        if sessions && shown.is_none() {
            return refusal(400, call, -32_600, "Bad Request: Missing session ID");
        }
        if sessions && !shown.is_some_and(|shown| self.sessions.contains(shown)) {
            return refusal(404, call, -32_600, "Session not found");
        }
        match call.method() {
            "notifications/initialized" => plain(202, ""),
            "tools/list" => self.sent(call, &json!({"tools": wholes()}), None),
            "tools/call" => self.sent(call, &tool_result(call), None),
            "ping" => self.sent(call, &json!({}), None),
            _ => refusal(400, call, -32_601, "no such method"),
        }
    }

    fn sent(&self, call: &Call, result: &Value, session: Option<String>) -> Sent {
        let body = json!({"jsonrpc": "2.0", "id": call.body["id"], "result": result}).to_string();
        let stream = self.kind == Kind::Sessions;
        let body = if stream {
            format!("event: message\r\ndata: {body}\r\n\r\n")
        } else {
            body
        };
        Sent::Answer {
            status: 200,
            session,
            stream,
            body,
        }
    }
}

/// Tools that declare the fields they take, and refuse others.
fn fields() -> Value {
    let tool = |name: &str, fields: &[&str]| {
        let properties: BTreeMap<_, _> = fields
            .iter()
            .map(|field| (*field, json!({"type": "string"})))
            .collect();
        json!({"name": name, "inputSchema": {"type": "object", "properties": properties,
            "required": fields, "additionalProperties": false}})
    };
    json!([
        tool("handle_game_invitation", &["match_id", "message_type"]),
        tool("choose_move", &["match_id", "player_id", "message_type"]),
    ])
}

/// Tools that take the whole message under one name, and answer in a text.
fn wholes() -> Value {
    let tool = |name: &str| {
        json!({"name": name, "inputSchema": {"type": "object",
            "properties": {"message": {"type": "object"}}, "required": ["message"]}})
    };
    json!([
        tool("handle_game_invitation"),
        tool("choose_parity"),
        tool("notify_match_result")
    ])
}

/// What a tool makes of its arguments; one that is sent what it did not declare fails.
fn tool_result(call: &Call) -> Value {
    let arguments = &call.body["params"]["arguments"];
    let wrapped = arguments.get("message");
    let declared = ["match_id", "player_id", "message_type"];
    let undeclared = |arguments: &Value| {
        let names = arguments.as_object().unwrap();
        names.keys().any(|name| !declared.contains(&name.as_str()))
    };
    if wrapped.is_none() && undeclared(arguments) {
        let text = "Unexpected keyword argument";
        return json!({"content": [{"type": "text", "text": text}], "isError": true});
    }
    let said = fair(wrapped.unwrap_or(arguments));
    match wrapped {
        None => json!({"content": [], "structuredContent": said, "isError": false,
            "resultType": "complete"}),
        Some(_) => {
            let text = said.to_string();
            json!({"content": [{"type": "text", "text": text}],
                "structuredContent": {"result": text}, "isError": false})
        }
    }
}

/// What a simple player answers; nothing to what is none of its tools.
fn simple(call: &Call) -> Option<Value> {
    let own = [
        "handle_game_invitation",
        "choose_parity",
        "notify_match_result",
    ];
    own.contains(&call.method())
        .then(|| fair(&call.body["params"]))
}

fn plain(status: u16, body: &str) -> Sent {
    Sent::Answer {
        status,
        session: None,
        stream: false,
        body: body.to_owned(),
    }
}

fn result_of(call: &Call, result: &Value) -> Sent {
    let body = json!({"jsonrpc": "2.0", "id": call.body["id"], "result": result});
    plain(200, &body.to_string())
}

fn refusal(status: u16, call: &Call, code: i64, message: &str) -> Sent {
    let error = json!({"code": code, "message": message});
    let body = json!({"jsonrpc": "2.0", "id": call.body["id"], "error": error});
    plain(status, &body.to_string())
}
