//! What came back from a peer that speaks MCP: a result, a refusal, or nothing of use.

use serde_json::value::RawValue;
use thiserror::Error;

use super::Manner;
use crate::rpc::{self, Era, Id, Opened};

/// The longest text of a peer that is repeated, in characters.
pub const LONGEST_QUOTE: usize = 200;

/// What came back.
#[derive(Debug, Clone, Copy)]
pub struct Reply<'a> {
    /// The status of HTTP; a transport without one says 200.
    pub status: u16,
    /// The session that the peer named.
    pub session: Option<&'a str>,
    /// The JSON of the answer.
    pub body: &'a [u8],
}

/// Why an answer by MCP is of no use.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Fault {
    /// HTTP says no, and says nothing else.
    #[error("the agent answered with the HTTP status {0}")]
    Status(u16),
    /// It is no response by JSON-RPC.
    #[error("the agent's answer is no response by JSON-RPC")]
    Unreadable,
    /// It is an error by JSON-RPC.
    #[error("the agent refused with the JSON-RPC error {code}: {message}")]
    Refused {
        /// Its number.
        code: i64,
        /// The peer's words, cut to a length that fits a sentence.
        message: String,
    },
    /// The peer wants something first, which nobody gives it.
    #[error("the agent answered `{0}` where only `complete` is taken")]
    Incomplete(String),
    /// The result has not the shape of one.
    #[error("the agent's answer is no result of a tool")]
    Shapeless,
}

/// Finds the result of a call.
///
/// # Errors
///
/// Says what came instead.
pub fn read(reply: &Reply<'_>, id: u64) -> Result<Box<RawValue>, Fault> {
    let unreadable = || match reply.status {
        200..=299 => Fault::Unreadable,
        status => Fault::Status(status),
    };
    let Ok(Opened::Single(Ok(members))) = rpc::open(reply.body) else {
        return Err(unreadable());
    };
    let response = rpc::read_response(&members, Era::Simple).map_err(|_| unreadable())?;
    let ours = response.id == Some(Id::number(id));
    match response.outcome {
        Ok(result) if ours => Ok(result.to_owned()),
        Ok(_) => Err(unreadable()),
        Err(error) => Err(Fault::Refused {
            code: error.code,
            message: quote(&error.message),
        }),
    }
}

/// Whether a peer has forgotten its session with us, so that a new handshake is due.
pub fn is_expired(manner: &Manner, reply: &Reply<'_>) -> bool {
    let Manner::Legacy(_) = manner else {
        return false;
    };
    match reply.status {
        404 => true,
        400 => {
            let start = &reply.body[..reply.body.len().min(4 * LONGEST_QUOTE)];
            let said = String::from_utf8_lossy(start).to_ascii_lowercase();
            said.contains("session")
        }
        _ => false,
    }
}

/// A peer's words, cut and without what could deceive a reader.
pub(super) fn quote(text: &str) -> String {
    crate::finding::harmless(text, LONGEST_QUOTE)
}
