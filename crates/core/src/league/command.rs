//! What the world may bring to a league, and what it is answered.

use std::sync::Arc;

use league_protocol::id::{MatchId, PlayerId, RefereeId};
use league_protocol::message::{
    LeagueQuery, LeagueQueryResponse, MatchResultReport, Message, RegisterRequest,
    RegisterResponse, RoundListing,
};
use league_protocol::sender::{Agent, Dialect, Speech};
use league_protocol::token::TokenHash;

use super::refusal::Refusal;
use crate::letter::Outcome;

/// What the world may bring.
#[derive(Debug, Clone, PartialEq)]
pub enum Command {
    /// A referee wants to be admitted.
    RegisterReferee(Candidate),
    /// A player wants to be admitted.
    RegisterPlayer(Candidate),
    /// Someone wants to see the schedule that the present players would have.
    CreateSchedule {
        /// Whether the caller is the league's administrator.
        admin: bool,
    },
    /// Someone wants the league to begin.
    Start {
        /// Whether the caller is the league's administrator.
        admin: bool,
    },
    /// A referee tells how a match ended.
    Report {
        /// The hash of the token that came with it.
        token: Option<TokenHash>,
        /// Who claims to say so.
        sender: Option<Agent>,
        /// What is told.
        report: Arc<MatchResultReport>,
    },
    /// An agent asks something.
    Query {
        /// The hash of the token that came with it.
        token: Option<TokenHash>,
        /// Who claims to ask.
        sender: Option<Agent>,
        /// What is asked.
        query: Box<LeagueQuery>,
    },
    /// What became of a letter.
    Heard {
        /// The letter's ticket.
        ticket: Ticket,
        /// What became of it.
        outcome: Outcome,
    },
    /// Time has passed.
    Tick,
    /// No more letters and no new rounds: the process is about to end, and goes on when it starts
    /// again. Results are still taken.
    Stop,
}

/// Someone who wants to be admitted.
#[derive(Debug, Clone, PartialEq)]
pub struct Candidate {
    /// What it said.
    pub request: Box<RegisterRequest>,
    /// How it speaks.
    pub dialect: Dialect,
    /// How it takes calls: as it says, or as the way in which it registered shows.
    pub speech: Option<Speech>,
    /// Whether its address may be called, or why not.
    pub endpoint: Result<(), String>,
    /// The chance that its token is made of.
    pub chance: [u8; 32],
}

/// Names a letter whose outcome matters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ticket {
    /// An order to run a match.
    Order {
        /// Which match.
        match_id: MatchId,
        /// Which attempt at it.
        attempt: u32,
        /// Who was ordered.
        referee: RefereeId,
    },
    /// A question whether an agent is there.
    Probe(Agent),
    /// Something that an agent was told.
    Notice(Agent),
}

/// What the bringer of a command is answered.
#[derive(Debug, Clone, PartialEq)]
pub enum Reply {
    /// Whether a referee is in.
    Referee(RegisterResponse<RefereeId>),
    /// Whether a player is in.
    Player(RegisterResponse<PlayerId>),
    /// The rounds, as many as fit.
    Schedule {
        /// Rounds in all.
        total_rounds: u32,
        /// The rounds told.
        rounds: Arc<[RoundListing]>,
    },
    /// The league begins.
    Started,
    /// The result stands as it was told.
    Acknowledged,
    /// The answer to a question.
    Query(Box<LeagueQueryResponse>),
    /// Turned down, and noted in the journal.
    Refused(Refusal),
    /// Nobody waits for an answer.
    Noted,
}

impl Reply {
    /// The message that carries this reply; `None` for the two that have none in the protocol,
    /// the schedule and the start.
    pub fn to_message(&self) -> Option<Message> {
        Some(match self {
            Self::Referee(response) => Message::RefereeRegisterResponse(response.clone()),
            Self::Player(response) => Message::PlayerRegisterResponse(response.clone()),
            Self::Query(response) => Message::LeagueQueryResponse(response.clone()),
            Self::Refused(refusal) => Message::from(refusal.to_league_error()),
            Self::Acknowledged | Self::Noted => Message::Acknowledged,
            Self::Schedule { .. } | Self::Started => return None,
        })
    }
}
