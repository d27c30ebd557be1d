//! The three kinds of agents: a machine at its desk, a post, a reception, and what belongs to each.

pub mod house;
pub mod manager;
pub mod player;
pub mod referee;

use std::path::Path;
use std::sync::Arc;

use league_protocol::fault::Code;
use league_protocol::message::{LeagueError, Message};
use league_protocol::token::AuthToken;
use tokio::task::JoinHandle;

use crate::desk::{Desk, Unattended, Worker};
use crate::identity::Identity;
use crate::post::Quiet;
use crate::reception::Spoken;
use crate::secrets::Tokens;
use crate::store::StoreError;

/// An agent at work.
pub struct Running<M: Worker> {
    /// The way to its desk.
    pub desk: Desk<M>,
    /// Ends with the desk, or when a fact could not be written.
    pub ended: JoinHandle<Result<(), StoreError>>,
    /// Tells when it has nothing left to say.
    pub quiet: Quiet,
    /// Who it is.
    pub identity: Arc<Identity>,
}

/// The answer of an agent whose desk does not attend.
fn unattended(error: Unattended) -> Spoken {
    let code = match error {
        Unattended::Busy => Code::RateLimited,
        Unattended::Closed => Code::Connection,
    };
    Spoken::error(LeagueError::new(code, error.to_string()))
}

/// The answer to a message that an agent of this kind is never sent.
fn not_for_me(message: &Message) -> Spoken {
    let detail = "this agent is not asked for that";
    let mut error = LeagueError::new(Code::InvalidMessage, detail);
    error.original_message_type = message.v2_type().map(str::to_owned);
    Spoken::error(error)
}

/// The answer of an agent that no league has admitted: nobody could prove anything to it.
fn not_in_yet() -> Spoken {
    let detail = "this agent is not in a league yet: try again when it is";
    Spoken::error(LeagueError::new(Code::Connection, detail))
}

/// The answer to a call of a tool without an argument that it needs.
fn missing(name: &str) -> Spoken {
    let detail = format!("the argument `{name}` is missing or no text; add it");
    let mut error = LeagueError::new(Code::MissingField, detail);
    error.path = Some(name.to_owned());
    Spoken::error(error)
}

/// Takes tokens for this process and keeps them for the next; without them an agent that starts
/// again has to register as a newcomer.
fn keep_tokens(identity: &Identity, path: &Path, token: &AuthToken, back: Option<&AuthToken>) {
    let tokens = Tokens {
        token: token.clone(),
        return_token: back.cloned().or_else(|| identity.return_token()),
    };
    if let Err(error) = crate::secrets::save_tokens(path, &tokens) {
        tracing::error!(event_type = "TOKEN_NOT_KEPT", "{error}");
    }
    identity.set_tokens(&tokens);
}
