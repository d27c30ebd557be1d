//! Commands to the league manager, its replies, and its refusals with their error codes.

use std::sync::Arc;

use league_protocol::fault::Code;
use league_protocol::id::{GameType, MatchId, PlayerId, RefereeId};
use league_protocol::message::{
    DrawRequest, DrawResponse, GameOverTold, LeagueError, LeagueQuery, LeagueQueryResponse,
    MatchResultAck, MatchResultReport, Message, RegisterRequest, RegisterResponse, RoundListing,
};
use league_protocol::sender::{Agent, CallStyle, Dialect};
use league_protocol::token::{AuthToken, TokenHash};
use league_protocol::{CURRENT_VERSION, MINIMUM_VERSION};
use thiserror::Error;

use super::format::{Format, FormatError};
use super::lever::{Effect, Lever, LeverPull, LeverRefusal};
use super::roster::Expulsion;
use super::verify::ReportProblem;
use crate::letter::CallOutcome;

/// What the world may bring.
#[derive(Debug, Clone, PartialEq)]
pub enum Command {
    /// A referee wants to be admitted.
    RegisterReferee(Applicant),
    /// A player wants to be admitted.
    RegisterPlayer(Applicant),
    /// Someone wants to see the schedule that the present players would have.
    CreateSchedule {
        /// Whether the caller is the league's administrator.
        admin: bool,
    },
    /// The organiser pulls a lever.
    Pull(Box<LeverPull>),
    /// A referee hands over the moves of a match and requests the draw that is due.
    RequestDraw {
        /// The hash of the token that came with it.
        token: Option<TokenHash>,
        /// Who claims to request it.
        sender: Option<Agent>,
        request: Arc<DrawRequest>,
    },
    /// A referee tells how a match ended.
    Report {
        /// The hash of the token that came with it.
        token: Option<TokenHash>,
        /// Who claims to say so.
        sender: Option<Agent>,
        report: Arc<MatchResultReport>,
        /// Whether it came from the machine of the referee's address.
        is_at_address: bool,
    },
    /// A referee tells that players know the result of a match.
    GameOverTold {
        /// The hash of the token that came with it.
        token: Option<TokenHash>,
        /// Who claims to say so.
        sender: Option<Agent>,
        told: Box<GameOverTold>,
    },
    Query {
        /// The hash of the token that came with it.
        token: Option<TokenHash>,
        sender: Option<Agent>,
        query: Box<LeagueQuery>,
    },
    /// The outcome of a letter.
    Outcome {
        correlation: CorrelationId,
        outcome: CallOutcome,
    },
    Tick,
    /// No more letters and no new rounds: the process is about to end, and goes on when it starts
    /// again. Results are still taken.
    Stop,
}

/// Someone who wants to be admitted.
#[derive(Debug, Clone, PartialEq)]
pub struct Applicant {
    pub request: Box<RegisterRequest>,
    pub dialect: Dialect,
    /// How it takes calls: as it says, or as the way in which it registered shows.
    pub speech: Option<CallStyle>,
    /// Whether its address may be called, or why not.
    pub endpoint: Result<(), String>,
    /// The chance that its token is made of.
    pub chance: [u8; 32],
    /// Whether it showed the key by which the manager admits referees.
    pub has_key: bool,
    /// Whether the configuration lists its address.
    pub is_listed: bool,
    /// Whether it calls from the machine of its address. Else the address says nothing of it: it
    /// may be another agent's.
    pub is_at_address: bool,
}

/// Names a letter whose outcome matters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CorrelationId {
    /// An order to run a match.
    Order {
        match_id: MatchId,
        attempt: u32,
        referee: RefereeId,
    },
    /// The announcement that a referee by the documents takes for its order.
    Assignment {
        match_id: MatchId,
        attempt: u32,
        referee: RefereeId,
    },
    /// The announcement of a player's own match; the order waits for it.
    Announcement {
        match_id: MatchId,
        attempt: u32,
        player_id: PlayerId,
    },
    /// The manager's own ruling, told to a player.
    GameOver {
        match_id: MatchId,
        player_id: PlayerId,
    },
    CallQuery(AskedCall),
    /// A question whether an agent is there.
    Probe(Agent),
    Notice(Agent),
}

/// A question to a player whether a referee has called it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AskedCall {
    pub match_id: MatchId,
    pub attempt: u32,
    pub referee: RefereeId,
    pub player_id: PlayerId,
    pub cause: QueryCause,
}

/// Why a player is asked whether a referee has called it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QueryCause {
    /// The referee reports that the player did not play.
    Loss,
    /// The referee turned the match down.
    Decline,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Reply {
    /// Whether a referee is in.
    Referee(RegisterResponse<RefereeId>),
    /// Whether a player is in.
    Player(RegisterResponse<PlayerId>),
    /// The rounds, as many as fit.
    Schedule {
        total_rounds: u32,
        rounds: Arc<[RoundListing]>,
    },
    /// A lever is pulled: what happened, and what follows from it.
    Pulled(Box<(Lever, Effect)>),
    /// A lever that changes nothing: its name, and what is so already.
    Unchanged(&'static str, &'static str),
    /// The new token of an agent, for the organiser to hand over.
    NewToken(AuthToken),
    /// The moves are written down; the seed of the draw that is due.
    Draw(DrawResponse),
    /// What a referee told is noted.
    Acknowledged,
    /// The result is recorded as reported; what was hidden until then.
    Opened(Box<MatchResultAck>),
    /// The answer to a question.
    Query(Box<LeagueQueryResponse>),
    /// No caller waits for an answer.
    Noted,
}

impl Command {
    /// A lever of the administrator that needs no reason.
    pub fn pull(lever: Lever) -> Self {
        Self::Pull(Box::new(LeverPull {
            admin: true,
            lever,
            reason: String::new(),
            code: None,
        }))
    }
}

impl Reply {
    pub(crate) fn pulled(lever: &Lever, effect: Effect) -> Self {
        Self::Pulled(Box::new((lever.clone(), effect)))
    }

    /// The message that carries this reply; `None` for those that have none in the protocol: the
    /// schedule, and what levers bring.
    pub fn to_message(&self) -> Option<Message> {
        Some(match self {
            Self::Referee(response) => Message::RefereeRegisterResponse(response.clone()),
            Self::Player(response) => Message::PlayerRegisterResponse(response.clone()),
            Self::Query(response) => Message::LeagueQueryResponse(response.clone()),
            Self::Draw(response) => Message::from(response.clone()),
            Self::Opened(ack) => Message::MatchResultAck(ack.clone()),
            Self::Acknowledged | Self::Noted => Message::Acknowledged,
            Self::Schedule { .. } | Self::Pulled(_) | Self::Unchanged(..) | Self::NewToken(_) => {
                return None;
            }
        })
    }
}

/// The kind of agent that registers; names the object with its details.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MemberKind {
    /// `player_meta`
    Player,
    /// `referee_meta`
    Referee,
}

#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Refusal {
    #[error("this call takes the administrator's token: only the administrator may make it")]
    NotAdmin,
    #[error(
        "send the administrator's token as `auth_token`: the manager keeps it as `admin_token` \
         with the secrets of its league"
    )]
    AdminTokenMissing,
    /// The league has begun, or is over.
    #[error("the league has begun already")]
    AlreadyStarted,
    #[error(
        "`{players}` players and `{referees}` referees have registered, \
         at least `{min_players}` players and 1 referee are needed"
    )]
    TooFew {
        players: u32,
        referees: u32,
        /// The players that are needed.
        min_players: u32,
    },
    /// The format does not work with the players that have registered.
    #[error(transparent)]
    Format(FormatError),
    #[error("the league manager is stopping: try again when it is back")]
    Stopping,
    #[error(
        "protocol version `{found}` is not supported: \
         use {MINIMUM_VERSION} or later, preferably {CURRENT_VERSION}"
    )]
    Version { of: MemberKind, found: String },
    /// A referee of the first protocol has no token, so its results could not be believed.
    #[error("a referee must speak league.v2: without a token its results cannot be believed")]
    RefereeWithoutToken,
    #[error(
        "a display name has 1 to 64 characters, none of which controls the terminal or the \
         direction of text"
    )]
    Name(MemberKind),
    #[error("no player `{0}` is registered: register first")]
    UnknownPlayer(PlayerId),
    #[error("no referee `{0}` is registered: register first")]
    UnknownReferee(RefereeId),
    #[error("send the `auth_token` that registration gave you")]
    TokenMissing,
    /// An unknown token, or another agent's.
    #[error("the token is not the sender's: register again for a fresh one")]
    TokenInvalid,
    #[error("the token has expired: register again for a fresh one")]
    TokenExpired,
    #[error("only a referee requests draws and reports results")]
    NotAReferee,
    #[error(transparent)]
    Lever(#[from] LeverRefusal),
    /// The organiser ended the match, or the league.
    #[error("match `{0}` was ended by the organiser: drop it")]
    Closed(MatchId),
    #[error("send the `order_token` of the order to run match `{0}`")]
    OrderTokenMissing(MatchId),
    #[error("the order token is not the one of match `{0}`, this referee and this attempt")]
    OrderTokenInvalid(MatchId),
    /// A question to the absent player is open.
    #[error("the manager is asking a player of match `{0}` whether it was called: report again")]
    AskingPlayer(MatchId),
    #[error("match `{0}` does not exist, or not yet")]
    UnknownMatch(MatchId),
    #[error("match `{0}` was never given to this referee")]
    NotYours(MatchId),
    #[error("match `{0}` was taken from this referee: drop it")]
    TakenAway(MatchId),
    #[error("match `{match_id}` is at attempt `{current}`, not `{found}`")]
    OldAttempt {
        match_id: MatchId,
        current: u32,
        /// The attempt in the report.
        found: u32,
    },
    #[error("match `{0}` was not started yet")]
    NotStarted(MatchId),
    #[error("match `{0}` has a different result already, and that one stands")]
    Conflict(MatchId),
    #[error(
        "match `{0}` has two different reports: it is stopped and waits for a referee that proves \
         its draws, which the organiser starts or invites"
    )]
    Contested(MatchId),
    #[error(
        "`{0}` has shown its token to players, so that its reports count only from the machine of \
         its registered address"
    )]
    OtherMachine(RefereeId),
    #[error(
        "the draw of match `{0}` is not proven, and this league counts proven draws only (it is \
         strict, or `draws` is `proven`): run `league referee`, or take `START_MATCH` and send \
         `DRAW_REQUEST`"
    )]
    ToldDraw(MatchId),
    #[error("match `{0}` has other moves already, and those stand")]
    OtherMoves(MatchId),
    #[error("match `{0}` plays by itself: start the manager with `--manual` to step matches")]
    PlaysByItself(MatchId),
    #[error("match `{0}` is over")]
    Over(MatchId),
    /// The match is so old that only its points are kept.
    #[error("match `{0}` was decided too long ago")]
    LongDecided(MatchId),
    #[error("the report of match `{match_id}` is refused: {problem}")]
    BadReport {
        match_id: MatchId,
        problem: ReportProblem,
    },
    #[error("the moves of match `{match_id}` are refused: {problem}")]
    BadMoves {
        match_id: MatchId,
        problem: ReportProblem,
    },
}

impl Refusal {
    pub const fn code(&self) -> Code {
        match self {
            Self::UnknownPlayer(_) => Code::PlayerNotRegistered,
            Self::UnknownReferee(_) => Code::RefereeNotRegistered,
            Self::TokenMissing | Self::AdminTokenMissing | Self::OrderTokenMissing(_) => {
                Code::TokenMissing
            }
            Self::NotAdmin
            | Self::TokenInvalid
            | Self::TokenExpired
            | Self::OrderTokenInvalid(_)
            | Self::OtherMachine(_)
            | Self::NotAReferee => Code::TokenInvalid,
            Self::AskingPlayer(_) => Code::RateLimited,
            Self::UnknownMatch(_) | Self::NotYours(_) => Code::MatchNotFound,
            // A later call may reach the manager again.
            Self::Stopping => Code::Connection,
            Self::AlreadyStarted
            | Self::TooFew { .. }
            | Self::Format(_)
            | Self::TakenAway(_)
            | Self::OldAttempt { .. }
            | Self::NotStarted(_)
            | Self::Conflict(_)
            | Self::Contested(_)
            | Self::OtherMoves(_)
            | Self::PlaysByItself(_)
            | Self::Over(_)
            | Self::Closed(_)
            | Self::LongDecided(_) => Code::OutOfTurn,
            Self::Lever(refusal) => refusal.code(),
            Self::Version { .. } | Self::RefereeWithoutToken => Code::VersionMismatch,
            Self::Name(_) | Self::ToldDraw(_) | Self::BadReport { .. } | Self::BadMoves { .. } => {
                Code::InvalidMessage
            }
        }
    }

    /// The refusal as an error message to the agent.
    pub fn to_league_error(&self) -> LeagueError {
        let mut error = LeagueError::new(self.code(), self.to_string());
        error.path = self.path().map(str::to_owned);
        error
    }

    const fn path(&self) -> Option<&'static str> {
        match self {
            Self::Name(MemberKind::Player) => Some("player_meta.display_name"),
            Self::Name(MemberKind::Referee) => Some("referee_meta.display_name"),
            Self::Version { of, .. } => Some(match of {
                MemberKind::Player => "player_meta.protocol_version",
                MemberKind::Referee => "referee_meta.protocol_version",
            }),
            Self::UnknownPlayer(_) | Self::UnknownReferee(_) => Some("sender"),
            Self::TokenMissing
            | Self::AdminTokenMissing
            | Self::TokenInvalid
            | Self::TokenExpired
            | Self::OtherMachine(_)
            | Self::NotAdmin => Some("auth_token"),
            Self::UnknownMatch(_)
            | Self::NotYours(_)
            | Self::TakenAway(_)
            | Self::NotStarted(_)
            | Self::PlaysByItself(_)
            | Self::Over(_)
            | Self::Closed(_)
            | Self::LongDecided(_) => Some("match_id"),
            Self::Lever(refusal) => refusal.path(),
            Self::OrderTokenMissing(_) | Self::OrderTokenInvalid(_) => Some("order_token"),
            Self::OtherMoves(_) | Self::BadMoves { .. } => Some("moves"),
            Self::OldAttempt { .. } => Some("attempt"),
            Self::ToldDraw(_) => Some("result.draw"),
            Self::BadReport { problem, .. } => Some(problem.path()),
            Self::AlreadyStarted
            | Self::TooFew { .. }
            | Self::Format(_)
            | Self::Stopping
            | Self::RefereeWithoutToken
            | Self::NotAReferee
            | Self::AskingPlayer(_)
            | Self::Contested(_)
            | Self::Conflict(_) => None,
        }
    }
}

/// Why an agent is not let in; begins with the documents' own words.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub(crate) enum Rejection {
    #[error("Unsupported game type: `{0}` is played here; name it in `game_types`")]
    Game(GameType),
    #[error("Invalid endpoint: {0}")]
    Endpoint(String),
    #[error(
        "Invalid endpoint: {holder} answers there already; listen on another port, register under \
         its name, or have the organiser run `league admin share-address {endpoint}`"
    )]
    Shared { holder: String, endpoint: String },
    #[error("Invalid endpoint: it is not the registered one; show the return token to move")]
    Moved,
    /// The name is another's, or nothing proves that it is the candidate's own.
    #[error(
        "Duplicate display name: `{name}` is taken by {holder}; choose another, or show the token \
         that registration gave you if it is yours"
    )]
    Name { name: String, holder: String },
    /// A player that was put out for the way it played.
    #[error("you are {player}, {expulsion}; ask the organiser")]
    Out {
        player: PlayerId,
        expulsion: Expulsion,
    },
    #[error("Registration closed")]
    Closed,
    #[error("Registration closed: the league has begun{}", why_late(*takes_late_entrants, *is_last))]
    Begun {
        /// Whether the format takes players after the start.
        takes_late_entrants: bool,
        /// Whether the last round has begun.
        is_last: bool,
    },
    #[error(
        "Duplicate display name: `{name}` is kept for {holder} of the league before; show its \
         return token, or have the organiser run `league admin readmit {holder}`"
    )]
    Kept { name: String, holder: String },
    #[error("Registration closed: all {0} seats are taken")]
    Full(u32),
    #[error(
        "Registration closed: `{0}` is not on the roster; ask the organiser which name is yours"
    )]
    NotListed(String),
    #[error(
        "Join code missing or wrong: ask the organiser for it, and send it as `join_code` (`league \
         player --join-code CODE`)"
    )]
    JoinCode,
    #[error(
        "Registration closed: this referee showed no key and is not listed; start it with `league \
         referee --referee-key KEY`, list its address in the configuration of the manager, have \
         the organiser run `league admin admit-referee {endpoint}`, or set \
         `security.open_referees`"
    )]
    Stranger { endpoint: String },
    #[error(
        "Registration closed: `{endpoint}` may register, but this call comes from another machine; \
         start the referee there, or with `league referee --referee-key KEY`"
    )]
    OtherMachine { endpoint: String },
    #[error(
        "Registration closed: this referee does not show the key of the league; start it with the \
         `--referee-key` that the manager prints or below the manager's root, or have the organiser \
         run `league admin admit-referee {endpoint}`"
    )]
    WrongKey { endpoint: String },
    #[error(
        "Registration closed: the league has begun; only the organiser admits another referee, \
         with `league admin admit-referee {endpoint}`"
    )]
    Late { endpoint: String },
}

/// Why a player that comes after the start is not let in.
fn why_late(takes_late_entrants: bool, is_last: bool) -> String {
    match (takes_late_entrants, is_last) {
        (true, true) => ", and its last round too".to_owned(),
        (true, false) => {
            "; the organiser may open it with `league admin open-registration`".to_owned()
        }
        (false, _) => format!(
            "; only {} takes players after its start",
            Format::late_ones()
        ),
    }
}

impl Rejection {
    /// Says whose name it is.
    pub(crate) fn taken(name: &str, holder: &Agent) -> Self {
        let name = name.to_owned();
        let holder = match holder {
            Agent::Player(id) => id.to_string(),
            Agent::Referee(id) => id.to_string(),
            Agent::Manager => holder.to_string(),
        };
        Self::Name { name, holder }
    }
}
