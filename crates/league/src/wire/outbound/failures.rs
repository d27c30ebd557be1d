//! Why what came back for a letter is no answer.

use league_core::letter::CallFailure;
use league_protocol::fault::Code;
use league_protocol::finding::Notes;
use league_protocol::peer;

use crate::http::client;

pub(super) fn complaint(words: &str) -> CallFailure {
    CallFailure {
        code: Code::InvalidMessage,
        detail: format!("the agent complains instead of answering: {words}"),
    }
}

pub(super) fn failed(text: &str) -> CallFailure {
    CallFailure {
        code: Code::InvalidMessage,
        detail: format!("the agent's tool failed: {text}"),
    }
}

pub(super) fn faulty(fault: &peer::McpFault) -> CallFailure {
    let code = match fault {
        peer::McpFault::Status(_) => Code::Connection,
        _ => Code::InvalidMessage,
    };
    let detail = fault.to_string();
    CallFailure { code, detail }
}

/// An HTTP error without a message is a fault of the line: nobody left the protocol.
pub(super) fn unusable(notes: &mut Notes, answer: &client::Answer) -> CallFailure {
    if answer.status >= 400 {
        notes.findings.clear();
        return faulty(&peer::McpFault::Status(answer.status));
    }
    first_of(notes)
}

pub(super) fn first_of(notes: &Notes) -> CallFailure {
    let first = notes.first_error().or(notes.findings.first());
    first.map_or_else(
        || CallFailure {
            code: Code::InvalidMessage,
            detail: "the answer holds no message".to_owned(),
        },
        |finding| CallFailure {
            code: finding.code,
            detail: format!("{} ({})", finding.detail, finding.clause),
        },
    )
}
