//! The requests, byte for byte.

use crate::choice::TOOL;

/// What a referee asks of a player, with all fields of the envelope.
const INVITATION: &str = r#"{"protocol":"league.v2","message_type":"CHOOSE_PARITY_CALL","sender":"referee:REF01","timestamp":"20250115T10:15:00Z","conversation_id":"convr1m1001","match_id":"R1M1","player_id":"P01","game_type":"even_odd","context":{"opponent_id":"P02","round_id":1},"deadline":"20250115T10:15:30Z"}"#;

/// The metadata of a modern request.
const METADATA: &str = r#"{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"referee","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}"#;

/// A form in which a tool is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// The method is the tool.
    Simple,
    /// `tools/call` of a revision with a handshake, without a session.
    Legacy,
    /// `tools/call` of the revision without.
    Modern,
    /// The same with a member that is none of ours to judge, so that `rmcp` answers it.
    Relayed,
}

/// A request but for its id, which is a number of eight digits wherever it stands.
#[derive(Clone)]
pub(crate) struct RequestTemplate {
    before: String,
    after: &'static str,
}

impl RequestTemplate {
    /// Invites to choose.
    pub(crate) fn choice(form: Form) -> Self {
        Self::call(form, TOOL, INVITATION)
    }

    /// Calls a tool.
    pub(crate) fn call(form: Form, tool: &str, arguments: &str) -> Self {
        let (method, params) = match form {
            Form::Simple => (tool, arguments.to_owned()),
            Form::Legacy => ("tools/call", named(tool, arguments, "")),
            Form::Modern => ("tools/call", named(tool, arguments, &metadata())),
            Form::Relayed => {
                let more = format!("{},\"beside\":0", metadata());
                ("tools/call", named(tool, arguments, &more))
            }
        };
        let start = format!(r#"{{"jsonrpc":"2.0","method":"{method}","params":{params},"id":"#);
        let headers = headers(form, tool);
        let length = start.len() + ID_DIGITS + END.len();
        let before = format!(
            "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: application/json, text/event-stream\r\n\
             Content-Type: application/json\r\n{headers}Content-Length: {length}\r\n\r\n{start}"
        );
        Self { before, after: END }
    }

    /// Writes the request under an id.
    pub(crate) fn write(&self, id: u32, into: &mut Vec<u8>) {
        into.clear();
        into.extend_from_slice(self.before.as_bytes());
        into.extend_from_slice(format!("{:0ID_DIGITS$}", FIRST_ID + id % FIRST_ID).as_bytes());
        into.extend_from_slice(self.after.as_bytes());
    }
}

/// How long an id is, so that all requests and answers of a kind have one length.
const ID_DIGITS: usize = 8;
const FIRST_ID: u32 = 10_000_000;
const END: &str = "}";

fn metadata() -> String {
    format!(",\"_meta\":{METADATA}")
}

fn named(tool: &str, arguments: &str, more: &str) -> String {
    format!(r#"{{"name":"{tool}","arguments":{arguments}{more}}}"#)
}

fn headers(form: Form, tool: &str) -> String {
    match form {
        Form::Simple => String::new(),
        Form::Legacy => "MCP-Protocol-Version: 2025-11-25\r\n".to_owned(),
        Form::Modern | Form::Relayed => format!(
            "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: {tool}\r\n"
        ),
    }
}
