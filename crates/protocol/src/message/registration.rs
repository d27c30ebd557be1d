//! Joining a league.

use serde::{Deserialize, Serialize};

use crate::id::{GameType, LeagueId};
use crate::sender::Speech;
use crate::token::AuthToken;

/// What an agent says of itself when it registers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentMeta {
    /// The name that people see; unique in a league.
    pub display_name: String,
    /// The agent's own version.
    pub version: String,
    /// The protocol version it speaks; absent counts as 2.0.0.
    pub protocol_version: Option<String>,
    /// The games it knows.
    pub game_types: Vec<GameType>,
    /// Where it answers.
    pub contact_endpoint: String,
    /// How many matches a referee runs at once; meaningless for a player.
    pub max_concurrent_matches: Option<u32>,
    /// How it takes calls, if it says so; else that is found out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub speech: Option<Speech>,
}

/// A wish to be admitted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RegisterRequest {
    /// Who it is.
    pub meta: AgentMeta,
    /// The id it would like; given if it is free.
    pub wanted_id: Option<String>,
    /// The token of an earlier registration, if the agent comes back.
    pub token: Option<AuthToken>,
}

/// Admitted, or not and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RegisterResponse<Id> {
    /// The agent is in.
    Accepted(Box<Enrolment<Id>>),
    /// The agent is not in.
    Rejected {
        /// Why, in a sentence.
        reason: String,
    },
}

impl<Id> From<Enrolment<Id>> for RegisterResponse<Id> {
    fn from(enrolment: Enrolment<Id>) -> Self {
        Self::Accepted(Box::new(enrolment))
    }
}

/// What an admitted agent is given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Enrolment<Id> {
    /// Its id from now on.
    pub id: Id,
    /// Its token from now on; every older one is void.
    pub token: AuthToken,
    /// The league it is in.
    pub league_id: LeagueId,
    /// What the manager shows this agent in every call, if it proves itself.
    pub manager_token: Option<AuthToken>,
    /// What proves the agent when it comes back, from another address too; nobody else sees it.
    pub return_token: Option<AuthToken>,
}
