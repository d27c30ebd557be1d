//! The facts of a league.
//!
//! A fact in the journal never holds a secret: a token stands there as its hash, and a seed or a
//! choice only inside a result.

use std::sync::Arc;

use league_protocol::id::{MatchId, PlayerId, RefereeId};
use league_protocol::message::{AgentMeta, MatchResult};
use league_protocol::secret::Commitment;
use league_protocol::sender::{Agent, Dialect};
use league_protocol::time::Timestamp;
use league_protocol::token::TokenHash;
use serde::{Deserialize, Serialize};

use super::report::ReportProblem;
use crate::machine::Persistence;

/// A fact.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    PlayerRegistered {
        /// Its id from now on.
        player_id: PlayerId,
        /// Its details.
        meta: Box<AgentMeta>,
        dialect: Dialect,
        /// The hash of its token.
        token: TokenHash,
        /// The hash of the pledge that it showed, if it showed one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pledge: Option<TokenHash>,
        at: Timestamp,
    },
    RefereeRegistered {
        /// Its id from now on.
        referee_id: RefereeId,
        /// Its details.
        meta: Box<AgentMeta>,
        dialect: Dialect,
        /// The hash of its token.
        token: TokenHash,
        /// The hash of the pledge that it showed, if it showed one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pledge: Option<TokenHash>,
        at: Timestamp,
    },
    /// An agent registered again; its old token is void.
    AgentReturned {
        agent: Agent,
        /// Its details.
        meta: Box<AgentMeta>,
        dialect: Dialect,
        /// The hash of its new token.
        token: TokenHash,
        /// The hash of the token that it showed of its own, if it showed one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        proof: Option<TokenHash>,
        at: Timestamp,
    },
    /// The league began with those registered.
    LeagueStarted {
        at: Timestamp,
    },
    RoundOpened {
        round: u32,
        /// The referee planned for each match in order; empty if there is none to be had.
        referees: Vec<RefereeId>,
        /// The promise on the draw of each match in order; empty in journals older than this.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        commitments: Vec<Commitment>,
        at: Timestamp,
    },
    /// Matches were taken from a referee, or given to one at last.
    MatchesMoved {
        moves: Vec<Reassignment>,
        /// The match that the referee who lost one takes up instead.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        next: Option<MatchId>,
        at: Timestamp,
    },
    /// A match has its result.
    ResultRecorded {
        match_id: MatchId,
        /// Who reported it; `None` if the manager ruled because a player is out of the league.
        referee: Option<RefereeId>,
        /// Which attempt at the match it was.
        attempt: u32,
        result: Arc<MatchResult>,
        /// The match that the referee takes up next.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        next: Option<MatchId>,
        at: Timestamp,
    },
    /// A referee reported a different result of a match that has one.
    ReportConflicted {
        match_id: MatchId,
        referee: RefereeId,
        /// Tells one telling from another without showing it.
        digest: String,
        at: Timestamp,
    },
    /// A referee reported a result that the rules do not allow.
    ReportRefused {
        match_id: MatchId,
        referee: RefereeId,
        /// Identifies the report; its content may still be hidden.
        digest: String,
        problem: ReportProblem,
        at: Timestamp,
    },
    /// A player is out of the league after too many technical losses in a row.
    PlayerShutDown {
        player_id: PlayerId,
        at: Timestamp,
    },
    /// Every match of the round has its result.
    RoundClosed {
        round: u32,
        at: Timestamp,
    },
    LeagueCompleted {
        at: Timestamp,
    },
    /// A referee took a match.
    #[serde(skip)]
    MatchAccepted {
        match_id: MatchId,
        referee: RefereeId,
        at: Timestamp,
    },
    /// An agent failed to answer, or answered with a refusal.
    #[serde(skip)]
    AgentFailed {
        agent: Agent,
        at: Timestamp,
    },
    /// An agent that had failed, or had been suspended, answered.
    #[serde(skip)]
    AgentAnswered {
        agent: Agent,
        /// Whether it was suspended until now.
        recovered: bool,
        at: Timestamp,
    },
    /// A referee was silent for too long while it had matches.
    #[serde(skip)]
    RefereeSuspended {
        referee: RefereeId,
        at: Timestamp,
    },
    /// Agents were asked whether they are there.
    #[serde(skip)]
    ProbesSent {
        /// The probed agents; empty if all answered lately.
        agents: Vec<Agent>,
        at: Timestamp,
    },
    #[serde(skip)]
    Stopped,
}

/// A match that changes hands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reassignment {
    pub match_id: MatchId,
    /// Its referee; `None` while it waits.
    pub to: Option<RefereeId>,
    /// The number of referees ordered to run this match so far, this one included.
    pub attempt: u32,
}

impl Event {
    /// Where this fact is kept.
    pub fn keep(&self) -> Persistence {
        match self {
            Self::PlayerRegistered { .. }
            | Self::RefereeRegistered { .. }
            | Self::AgentReturned { .. }
            | Self::LeagueStarted { .. }
            | Self::RoundOpened { .. }
            | Self::MatchesMoved { .. }
            | Self::ResultRecorded { .. }
            | Self::ReportConflicted { .. }
            | Self::ReportRefused { .. }
            | Self::PlayerShutDown { .. }
            | Self::RoundClosed { .. }
            | Self::LeagueCompleted { .. } => Persistence::Journal,
            Self::MatchAccepted { .. }
            | Self::AgentFailed { .. }
            | Self::AgentAnswered { .. }
            | Self::RefereeSuspended { .. }
            | Self::ProbesSent { .. }
            | Self::Stopped => Persistence::Memory,
        }
    }
}
