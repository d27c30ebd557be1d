//! Commands to a player, its replies and its refusals.

use std::sync::Arc;

use league_protocol::fault::Code;
use league_protocol::id::{GameType, LeagueId, MatchId, PlayerId};
use league_protocol::message::{
    CallQuery, CallQueryResponse, GameError, GameInvitation, GameJoinAck, GameOver, GameStart,
    LeagueCompleted, LeagueError, LeagueStart, Message, ModelUse, MoveCall, MoveResponse,
    PlayValidation, RegisterResponse, RoundAnnouncement, RoundCompleted, SignedMove, StandingRow,
    StandingsUpdate, WinLossDraw,
};
use league_protocol::time::Timestamp;
use league_protocol::token::{AuthToken, TokenHash};
use serde_json::Value;
use thiserror::Error;

use super::CorrelationId;
use super::memory::{MatchRecord, Opponent, Statistics};
use super::news::DrawProblem;
use crate::letter::CallOutcome;

#[derive(Debug, Clone, PartialEq)]
pub enum Command {
    /// The process is up: get into the league, or come back to it.
    Begin {
        /// The return token of an earlier registration, if one is kept.
        return_token: Option<AuthToken>,
    },
    /// The process is up, and its league is over. A manager that has lost the end may still call,
    /// so the player keeps what it signs with.
    Rest {
        return_token: Option<AuthToken>,
    },
    /// The outcome of a letter.
    Outcome {
        correlation: CorrelationId,
        /// The answer, or silence and its cause.
        outcome: CallOutcome,
    },
    /// The answer to a registration, brought as a call.
    Admitted {
        /// Whether the player is in.
        response: RegisterResponse<PlayerId>,
        /// Whether it came in the conversation of the player's own request, as the shell knows it.
        answers_us: bool,
    },
    /// A call that the shell made with the player's token was refused with E012.
    TokenRefused,
    Invited {
        invitation: Box<GameInvitation>,
        /// The hash of the token that the referee showed.
        token: Option<TokenHash>,
    },
    /// A referee asks for a move.
    MoveWanted {
        call: Box<MoveCall>,
        /// The hash of the token that the referee showed.
        token: Option<TokenHash>,
    },
    /// The thinking that a [`Think`](super::Think) asked for is over, with or without a choice.
    Chosen {
        match_id: MatchId,
        /// Which move of this player it is, from 1.
        turn: u32,
        /// The choice; without one, or with an illegal one, the first legal option is played.
        choice: Option<Value>,
        /// The player's own share in the draw; an overlong one is left out.
        nonce: Option<String>,
        /// Why, in a sentence for people; cut to a bound.
        reasoning: Option<String>,
        /// The language model that was asked, if one was.
        model: Option<Box<ModelUse>>,
    },
    /// The manager asks whether a referee has called.
    CallQueried {
        query: Box<CallQuery>,
        /// The hash of the token that came with it.
        token: Option<TokenHash>,
    },
    /// A notice that only needs an acknowledgement.
    Told {
        news: PlayerNotice,
        /// The hash of the token that came with it.
        token: Option<TokenHash>,
    },
    StateWanted,
    /// The time that [`wakeup`](crate::machine::Machine::wakeup) named has come.
    Tick,
}

/// A message that only needs an acknowledgement.
#[derive(Debug, Clone, PartialEq)]
pub enum PlayerNotice {
    LeagueStart(Box<LeagueStart>),
    RoundAnnouncement(Arc<RoundAnnouncement>),
    /// The table, after a round.
    StandingsUpdate(Arc<StandingsUpdate>),
    RoundCompleted(Arc<RoundCompleted>),
    LeagueCompleted(Arc<LeagueCompleted>),
    /// Both players of a match are there.
    GameStart(Box<GameStart>),
    /// A move was looked at.
    PlayValidation(Box<PlayValidation>),
    /// Something went wrong in a match.
    GameError(Box<GameError>),
    GameOver(Arc<GameOver>),
}

impl Command {
    /// Makes a command of a message to this player.
    ///
    /// `None` for messages that are not for players, and for a ping, which the shell answers
    /// itself. An answer to a registration counts as foreign until the shell, which knows
    /// conversations, says otherwise.
    pub fn from_message(message: Message, token: Option<TokenHash>) -> Option<Self> {
        let news = match message {
            Message::PlayerRegisterResponse(response) => {
                let answers_us = false;
                return Some(Self::Admitted {
                    response,
                    answers_us,
                });
            }
            Message::GameInvitation(invitation) => {
                return Some(Self::Invited { invitation, token });
            }
            Message::MoveCall(call) => return Some(Self::MoveWanted { call, token }),
            Message::CallQuery(query) => return Some(Self::CallQueried { query, token }),
            Message::LeagueStart(news) => PlayerNotice::LeagueStart(news),
            Message::RoundAnnouncement(news) => PlayerNotice::RoundAnnouncement(news),
            Message::StandingsUpdate(news) => PlayerNotice::StandingsUpdate(news),
            Message::RoundCompleted(news) => PlayerNotice::RoundCompleted(news),
            Message::LeagueCompleted(news) => PlayerNotice::LeagueCompleted(news),
            Message::GameStart(news) => PlayerNotice::GameStart(news),
            Message::PlayValidation(news) => PlayerNotice::PlayValidation(news),
            Message::GameError(news) => PlayerNotice::GameError(news),
            Message::GameOver(news) => PlayerNotice::GameOver(news),
            Message::RefereeRegisterRequest(_)
            | Message::RefereeRegisterResponse(_)
            | Message::PlayerRegisterRequest(_)
            | Message::StartMatch(_)
            | Message::StartMatchAck(_)
            | Message::GameJoinAck(_)
            | Message::MoveResponse(_)
            | Message::MatchResultReport(_)
            | Message::MatchResultAck(_)
            | Message::DrawRequest(_)
            | Message::DrawResponse(_)
            | Message::GameOverTold(_)
            | Message::CallQueryResponse(_)
            | Message::LeagueQuery(_)
            | Message::LeagueQueryResponse(_)
            | Message::LeagueError(_)
            | Message::Ping
            | Message::Acknowledged => return None,
        };
        Some(Self::Told { news, token })
    }
}

/// The most characters that are shown of what a manager says with an admission.
pub const MAX_NOTE_CHARS: usize = 200;

#[derive(Debug, Clone, PartialEq)]
pub enum Reply {
    Acknowledged,
    TokenGranted {
        /// What proves the player; the shell keeps it from now on and drops any older one.
        token: AuthToken,
        /// For returning after a restart; without one, a token kept of this league stays good.
        return_token: Option<AuthToken>,
        /// What the manager says to it.
        note: Option<String>,
    },
    /// The player is not admitted, and asking again would not help.
    Rejected {
        /// Why, in the manager's words.
        reason: String,
    },
    /// The answer to an invitation.
    Joined(Box<GameJoinAck>),
    /// A choice is wanted: think, then come back with
    /// [`Command::Chosen`](super::Command::Chosen).
    Think(Box<Think>),
    /// A move, ready to be sent.
    Move {
        response: Arc<MoveResponse>,
        /// Why the chosen move was replaced, if it was.
        fallback: Option<Fallback>,
    },
    /// Whether a referee has called.
    Called(Box<CallQueryResponse>),
    State(Box<PlayerView>),
}

impl Reply {
    /// The message that answers the caller; `None` where the shell has something to do first, or
    /// where no other agent is waiting.
    pub fn into_message(self) -> Option<Message> {
        match self {
            Self::Acknowledged => Some(Message::Acknowledged),
            Self::Joined(ack) => Some(Message::GameJoinAck(ack)),
            Self::Move { response, .. } => Some(Message::MoveResponse(response)),
            Self::Called(response) => Some(Message::CallQueryResponse(response)),
            Self::TokenGranted { .. } | Self::Rejected { .. } | Self::Think(_) | Self::State(_) => {
                None
            }
        }
    }
}

/// All that a strategy may know for one choice.
#[derive(Debug, Clone, PartialEq)]
pub struct Think {
    /// Counts the referees that were told to run this match, from 1.
    pub attempt: u32,
    pub match_id: MatchId,
    /// Which move of this player it is, from 1.
    pub turn: u32,
    pub game_type: GameType,
    /// What kind of move is wanted.
    pub move_type: Arc<str>,
    /// What the player may see.
    pub view: Arc<Value>,
    /// What it may do; never empty.
    pub options: Arc<[Value]>,
    /// When thinking must stop for the answer to be in time.
    pub until: Timestamp,
    pub opponent_id: PlayerId,
    /// The memory of the opponent, if they have met.
    pub opponent: Option<Arc<Opponent>>,
    /// The player's record as the referee tells it.
    pub record: WinLossDraw,
    /// The moves of both players so far, as the referee tells them; empty if it does not.
    pub moves: Arc<[SignedMove]>,
}

/// Why a chosen move was replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fallback {
    /// Nothing was chosen in time.
    Missing,
    /// The choice was not among the options.
    Illegal,
}

/// How a player stands; open choices are not in it.
#[derive(Debug, Clone, PartialEq)]
pub struct PlayerView {
    /// The name that people see.
    pub display_name: String,
    /// Its id, once it is admitted.
    pub player_id: Option<PlayerId>,
    /// Its league, once it is admitted.
    pub league_id: Option<LeagueId>,
    /// Where it is on its way through the league.
    pub phase: PlayerPhase,
    /// Its figures over all remembered matches.
    pub statistics: Statistics,
    /// Its row in the latest standings.
    pub standing: Option<StandingRow>,
    /// The matches that it plays now.
    pub open_matches: Vec<MatchId>,
    /// The latest matches, oldest first.
    pub history: Vec<Arc<MatchRecord>>,
    /// The latest draws that it does not believe, oldest first.
    pub disputed: Vec<(MatchId, DrawProblem)>,
}

/// Where a player is on its way through a league.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlayerPhase {
    Idle,
    /// It asks to be admitted.
    Registering,
    Rejected,
    Enrolled,
    Completed,
}

/// Why a player turns a command down.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Refusal {
    /// A call of the manager that does not prove the manager.
    #[error("only the league manager may send this: show the manager's token")]
    NoManagerToken,
    /// A call that shows another token than the manager's.
    #[error("the token is not the league manager's token for this agent")]
    WrongManagerToken,
    #[error("this player does not wait for an answer to its registration by a call")]
    NoRegistration,
    /// A match was announced with a token, and the caller shows none.
    #[error("match `{match_id}` needs its token: show the one from START_MATCH")]
    NoToken { match_id: MatchId },
    #[error("the token is not the one announced for match `{match_id}`")]
    WrongToken { match_id: MatchId },
    /// Refused only by a player that is strict or knows its manager.
    #[error("match `{match_id}` was not announced; try again after the round announcement")]
    NotAnnounced { match_id: MatchId },
    /// A match is announced again with another token.
    #[error("match `{match_id}` was announced before with another token")]
    AnnouncedOtherwise { match_id: MatchId },
    /// The message is meant for another player.
    #[error("this is player `{own}`, not `{named}`")]
    OtherPlayer { own: PlayerId, named: PlayerId },
    /// The message belongs to another league.
    #[error("this player is in league `{own}`, not `{named}`")]
    OtherLeague {
        own: LeagueId,
        /// The league that was named.
        named: LeagueId,
    },
    /// A move is wanted and no option offered.
    #[error("the move request of match `{match_id}` has no option: name at least one")]
    NothingToChoose { match_id: MatchId },
    /// Refused only by a player that signs.
    #[error(
        "no game of `{game_type}` comes to move `{turn}` of match `{match_id}` by these `moves`: \
         send all moves in the order of play"
    )]
    ImpossibleMoves {
        match_id: MatchId,
        game_type: GameType,
        turn: u32,
    },
    #[error("no choice is pending for move `{turn}` of match `{match_id}`")]
    NotAsked { match_id: MatchId, turn: u32 },
    /// The end of a match in which this player had no seat.
    #[error("player `{own}` had no seat in match `{match_id}`")]
    NotSeated { own: PlayerId, match_id: MatchId },
    /// The end of a match that was neither announced nor joined.
    #[error("match `{match_id}` was neither announced to this player nor joined by it")]
    NotPlayed { match_id: MatchId },
    /// A win without a winner.
    #[error("the result of match `{match_id}` is a win without a winner: name the winner")]
    NoWinner { match_id: MatchId },
}

impl Refusal {
    /// The refusal as an error message to the caller.
    pub fn to_league_error(&self) -> LeagueError {
        let (code, path) = match self {
            Self::NoToken { .. } | Self::NoManagerToken => (Code::TokenMissing, Some("auth_token")),
            Self::WrongManagerToken
            | Self::WrongToken { .. }
            | Self::NotAnnounced { .. }
            | Self::AnnouncedOtherwise { .. } => (Code::TokenInvalid, Some("auth_token")),
            Self::OtherPlayer { .. } => (Code::TokenInvalid, Some("player_id")),
            Self::OtherLeague { .. } => (Code::TokenInvalid, Some("league_id")),
            Self::NothingToChoose { .. } => (Code::InvalidMessage, Some("options")),
            Self::ImpossibleMoves { .. } => (Code::InvalidMessage, Some("moves")),
            Self::NotAsked { .. } | Self::NoRegistration => (Code::OutOfTurn, None),
            Self::NotSeated { .. } | Self::NotPlayed { .. } => {
                (Code::MatchNotFound, Some("match_id"))
            }
            Self::NoWinner { .. } => (Code::InvalidMessage, Some("game_result.winner_player_id")),
        };
        let mut error = LeagueError::new(code, self.to_string());
        error.path = path.map(str::to_owned);
        error
    }
}
