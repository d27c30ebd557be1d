//! The three kinds of agents. Each is an actor with its machine, an outbox, and a service for
//! calls.

pub(crate) mod actor;
pub(crate) mod arena;
pub(crate) mod assemble;
pub(crate) mod bot;
pub(crate) mod identity;
pub(crate) mod manager;
pub(crate) mod model;
pub(crate) mod people;
pub(crate) mod player;
pub(crate) mod referee;
pub(crate) mod seat;

use std::path::PathBuf;
use std::sync::Arc;

use league_core::machine::Machine;
use league_protocol::fault::Code;
use league_protocol::message::LeagueError;
use league_protocol::token::AuthToken;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::agents::actor::{ActorError, Handle};
use crate::agents::arena::DRAIN_TIMEOUT;
use crate::agents::assemble::Shared;
use crate::agents::identity::Identity;
use crate::storage::hand_in::HAND_IN_WAIT;
use crate::storage::secrets::{SecretError, Tokens, load_or_pledge};
use crate::storage::store::StoreError;
use crate::wire::dispatcher::ServiceReply;
use crate::wire::outbox::OutboxIdle;

pub(crate) struct RunningAgent<M: Machine> {
    pub(crate) actor: Handle<M>,
    /// Ends with the actor, or when an event could not be written.
    pub(crate) ended: JoinHandle<Result<(), StoreError>>,
    /// Signals when the outbox is empty.
    pub(crate) quiet: OutboxIdle,
    pub(crate) identity: Arc<Identity>,
    /// The hand-in of its journal, if it is a referee.
    hand_in: Option<HandInWait>,
}

/// Waits until the manager has fetched a referee's journal.
struct HandInWait {
    handed_in: watch::Receiver<bool>,
    /// The manager's journal, if the manager is below the same root.
    manager: PathBuf,
}

impl<M: Machine> RunningAgent<M> {
    /// Waits, within a bound, until no letter is left and, for a referee, until its journal is
    /// handed in; a manager below the same root does not ask for it.
    pub(crate) async fn wait_done(&mut self) {
        let _ = timeout(DRAIN_TIMEOUT, self.quiet.wait()).await;
        if let Some(hand_in) = &mut self.hand_in
            && !hand_in.manager.exists()
        {
            // A stopped referee hands in nothing more.
            let _ = timeout(HAND_IN_WAIT, hand_in.handed_in.wait_for(|done| *done)).await;
        }
    }

    /// Waits until all letters are sent and their outcomes processed; returns whether the outbox
    /// was idle before and still is.
    async fn settle(&self) -> bool {
        let was_idle = self.quiet.is_idle();
        self.quiet.clone().wait().await;
        // A query runs before the letters of its batch are sent, so only the second query runs
        // after them.
        for _ in 0..2 {
            // A stopped actor sends nothing more.
            let _ = self.actor.query(|_| ()).await;
        }
        was_idle && self.quiet.is_idle()
    }
}

/// The answer of an agent whose actor does not accept the command.
fn actor_unavailable(error: ActorError) -> ServiceReply {
    let code = match error {
        ActorError::Busy => Code::RateLimited,
        ActorError::Closed => Code::Connection,
    };
    ServiceReply::error(LeagueError::new(code, error.to_string()))
}

/// The answer to a message of a type that this kind of agent does not handle.
fn not_for_me(message_type: Option<&str>) -> ServiceReply {
    let detail = "this kind of agent does not take that message";
    let mut error = LeagueError::new(Code::InvalidMessage, detail);
    error.original_message_type = message_type.map(str::to_owned);
    ServiceReply::error(error)
}

/// The answer of an agent before its admission, when it cannot authenticate callers.
fn not_in_yet() -> ServiceReply {
    let detail = "this agent is not in a league yet: try again when it is";
    ServiceReply::error(LeagueError::new(Code::Connection, detail))
}

/// The answer to a tool call that lacks a required argument.
fn missing(name: &str) -> ServiceReply {
    let detail = format!("the argument `{name}` is missing or not a string; add it");
    let mut error = LeagueError::new(Code::MissingField, detail);
    error.path = Some(name.to_owned());
    ServiceReply::error(error)
}

/// The tokens of an agent, and the file that preserves them for its next process.
struct KeptTokens {
    held: Tokens,
    file: PathBuf,
}

impl KeptTokens {
    /// The tokens of an agent of this manager; what it was told to come back with takes the place of
    /// its own.
    fn load(shared: &Shared, file: PathBuf, manager: &str) -> Result<Self, SecretError> {
        let mut held = load_or_pledge(&file, manager, &shared.chance)?;
        if shared.return_token.is_some() {
            held.return_token.clone_from(&shared.return_token);
        }
        Ok(Self { held, file })
    }

    /// Stores granted tokens; without a new return token the current one stays valid. If the file
    /// is lost, a restarted agent must register anew.
    fn grant(&mut self, token: &AuthToken, return_token: Option<&AuthToken>) {
        self.held.token = token.clone();
        if return_token.is_some() {
            self.held.return_token = return_token.cloned();
        }
        if let Err(error) = crate::storage::secrets::save_tokens(&self.file, &self.held) {
            tracing::error!(event_type = "TOKEN_NOT_KEPT", "{error}");
        }
    }
}
