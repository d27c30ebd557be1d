//! The facts of a league.
//!
//! A fact in the journal never holds a secret: a token stands there as its hash, a seed only inside
//! a result, and a choice only once its referee has handed it over.

use std::sync::Arc;

use league_protocol::id::{MatchId, PlayerId, RefereeId};
use league_protocol::message::{AgentMeta, MatchResult, SignedMove};
use league_protocol::secret::Commitment;
use league_protocol::sender::{Agent, Dialect};
use league_protocol::time::Timestamp;
use league_protocol::token::TokenHash;
use serde::{Deserialize, Serialize};

use super::command::CorrelationId;
use super::lever::{Effect, Lever};
use super::verify::ReportProblem;
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
        /// What spoke for it.
        admitted: Admission,
        at: Timestamp,
    },
    /// A referee does not know our orders: it is called as the documents show, and shows its own
    /// token to players, so that the token alone proves nothing from now on.
    RefereeByDocuments {
        referee: RefereeId,
        at: Timestamp,
    },
    /// The organiser lets the referee at this address register.
    RefereeInvited {
        endpoint: String,
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
        /// Whether it proved nothing and the organiser let it in; `proof` is its new pledge then.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        readmitted: bool,
        at: Timestamp,
    },
    /// The organiser pulled a lever.
    OrganiserActed {
        /// What the organiser did.
        act: Box<Lever>,
        /// Why, as the organiser says it.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        reason: String,
        /// What follows besides.
        #[serde(default, skip_serializing_if = "is_none")]
        effect: Effect,
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
        /// Seat A and seat B of each match in order, if they follow from results; empty in a round
        /// robin.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pairings: Vec<[PlayerId; 2]>,
        /// The players that rest and are paid for it as for a win.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        byes: Vec<PlayerId>,
        at: Timestamp,
    },
    /// Matches joined the round that is played, because players are free.
    MatchesAdded {
        round: u32,
        /// The referee planned for each match in order; empty if there is none to be had.
        referees: Vec<RefereeId>,
        /// The promise on the draw of each match in order.
        commitments: Vec<Commitment>,
        /// Seat A and seat B of each match in order.
        pairings: Vec<[PlayerId; 2]>,
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
    /// A referee handed over the moves of a match, before it is given the seed of the draw that is
    /// due.
    MovesReceived {
        match_id: MatchId,
        referee: RefereeId,
        attempt: u32,
        /// All moves so far, in the order of play.
        moves: Vec<SignedMove>,
        /// Whether the draw ends the game, so that the result is fixed.
        last: bool,
        at: Timestamp,
    },
    /// A technical loss that a referee reported does not count.
    LossDoubted {
        match_id: MatchId,
        attempt: u32,
        referee: RefereeId,
        /// The player that is said to have failed.
        player_id: PlayerId,
        doubt: Doubt,
        at: Timestamp,
    },
    /// A referee turned a match down after it had called a player of it.
    DeclinedAfterCall {
        match_id: MatchId,
        attempt: u32,
        referee: RefereeId,
        /// The player that says so.
        player_id: PlayerId,
        at: Timestamp,
    },
    /// A referee by the documents told a result without a proven draw; it is recorded unless another
    /// report differs soon.
    ResultTold {
        match_id: MatchId,
        referee: RefereeId,
        attempt: u32,
        result: Arc<MatchResult>,
        at: Timestamp,
    },
    /// A match has its result.
    ResultRecorded {
        match_id: MatchId,
        /// Who reported it; `None` if the manager ruled, because a player is out of the league or
        /// because the referee failed after the moves were handed over.
        referee: Option<RefereeId>,
        /// Which attempt at the match it was.
        attempt: u32,
        result: Arc<MatchResult>,
        /// The match that the referee takes up next.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        next: Option<MatchId>,
        at: Timestamp,
    },
    /// A referee reported a different result of a match that has one, or other moves than were
    /// handed over.
    ReportConflicted {
        match_id: MatchId,
        referee: RefereeId,
        /// Tells one telling from another without showing it.
        digest: String,
        at: Timestamp,
    },
    /// A referee reported a result, or handed over moves, that the rules do not allow.
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
        /// Whether it was not there each time, so that it is in again when it returns.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        absence: bool,
        at: Timestamp,
    },
    /// A player that was put out because it was absent is back.
    PlayerReinstated {
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
    /// A referee turned a match down.
    #[serde(skip)]
    OrderDeclined {
        match_id: MatchId,
        attempt: u32,
        referee: RefereeId,
    },
    /// A player knows its match of this attempt, or did not answer when it was told.
    #[serde(skip)]
    PlayerInformed {
        match_id: MatchId,
        attempt: u32,
        player_id: PlayerId,
        answered: bool,
    },
    /// The players of a match are being told its result.
    #[serde(skip)]
    GameOverAwaited {
        match_id: MatchId,
    },
    /// Players know the result of their match, or cannot be told.
    #[serde(skip)]
    GameOverTold {
        match_id: MatchId,
        players: Vec<PlayerId>,
    },
    /// Players get the news of the rounds from these on; they know how their matches ended, or were
    /// told for long enough.
    #[serde(skip)]
    NewsReleased {
        players: Vec<(PlayerId, u32)>,
        at: Timestamp,
    },
    /// Players had their time to acknowledge these attempts of matches; the orders wait no longer.
    #[serde(skip)]
    OrdersReleased {
        matches: Vec<(MatchId, u32)>,
    },
    /// Players that are said to have failed are asked whether they were called.
    #[serde(skip)]
    LossQuestioned {
        match_id: MatchId,
        /// The result that stands unless one of them denies it.
        result: Arc<MatchResult>,
        players: Vec<PlayerId>,
        /// Whether its referee tells later that the players know the result.
        tells_later: bool,
    },
    /// A player was called, or does not say otherwise.
    #[serde(skip)]
    CallConfirmed {
        match_id: MatchId,
        player_id: PlayerId,
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
        /// Other letters that could not leave this machine before, and are sent again.
        unsent: Vec<CorrelationId>,
        at: Timestamp,
    },
    /// A letter could not leave this machine, so that its silence says nothing.
    #[serde(skip)]
    LetterUnsent {
        correlation: CorrelationId,
    },
    /// This process goes on with the round: orders wait for the announcements that it sends, not
    /// for those of an earlier process.
    #[serde(skip)]
    Resumed {
        at: Timestamp,
    },
    #[serde(skip)]
    Stopped,
}

/// What spoke for a referee when it was admitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Admission {
    /// Nothing: the league takes any referee.
    Open,
    /// The key by which the manager admits referees.
    Key,
    /// Its address in the configuration.
    Listed,
    /// The organiser's word.
    Organiser,
}

/// Why a technical loss does not count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Doubt {
    /// The referee could not reach the player; another one may.
    Unreached,
    /// The player says that it was not called.
    Denied,
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

fn is_none(effect: &Effect) -> bool {
    *effect == Effect::default()
}

impl Event {
    /// Where this fact is kept.
    pub fn keep(&self) -> Persistence {
        match self {
            Self::PlayerRegistered { .. }
            | Self::RefereeRegistered { .. }
            | Self::RefereeByDocuments { .. }
            | Self::RefereeInvited { .. }
            | Self::AgentReturned { .. }
            | Self::OrganiserActed { .. }
            | Self::LeagueStarted { .. }
            | Self::RoundOpened { .. }
            | Self::MatchesAdded { .. }
            | Self::MatchesMoved { .. }
            | Self::MovesReceived { .. }
            | Self::LossDoubted { .. }
            | Self::DeclinedAfterCall { .. }
            | Self::ResultTold { .. }
            | Self::ResultRecorded { .. }
            | Self::ReportConflicted { .. }
            | Self::ReportRefused { .. }
            | Self::PlayerShutDown { .. }
            | Self::PlayerReinstated { .. }
            | Self::RoundClosed { .. }
            | Self::LeagueCompleted { .. } => Persistence::Journal,
            Self::MatchAccepted { .. }
            | Self::OrderDeclined { .. }
            | Self::PlayerInformed { .. }
            | Self::OrdersReleased { .. }
            | Self::GameOverAwaited { .. }
            | Self::GameOverTold { .. }
            | Self::NewsReleased { .. }
            | Self::LossQuestioned { .. }
            | Self::CallConfirmed { .. }
            | Self::AgentFailed { .. }
            | Self::AgentAnswered { .. }
            | Self::RefereeSuspended { .. }
            | Self::ProbesSent { .. }
            | Self::LetterUnsent { .. }
            | Self::Resumed { .. }
            | Self::Stopped => Persistence::Memory,
        }
    }
}
