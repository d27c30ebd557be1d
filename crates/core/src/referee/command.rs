//! Commands to a referee, its replies, refusals and correlation ids.

use std::sync::Arc;

use league_games::Seat;
use league_protocol::fault::Code;
use league_protocol::id::{GameType, LeagueId, MatchId, PlayerId};
use league_protocol::message::{LeagueError, MatchResult, MatchState, StartMatch, StartMatchAck};
use league_protocol::time::Timestamp;
use league_protocol::token::{AuthToken, TokenHash};
use serde_json::Value;
use thiserror::Error;

use crate::letter::CallOutcome;

#[derive(Debug, Clone, PartialEq)]
pub enum Command {
    /// The referee starts, or its token was refused: it registers with the manager.
    Begin {
        /// The return token of an earlier registration if one is kept, else its auth token.
        token: Option<AuthToken>,
    },
    /// A letter with a correlation came to its end.
    Outcome {
        correlation: CorrelationId,
        outcome: CallOutcome,
    },
    /// The manager orders a match.
    StartMatch {
        /// Which, and all that it takes to run it.
        order: Arc<StartMatch>,
        /// The hash of the token that came with it.
        token: Option<TokenHash>,
        /// Why one of the players may not be called from here, if one may not.
        barred: Option<String>,
    },
    /// Manual mode: the moves are to be asked for.
    CollectChoices {
        match_id: MatchId,
        /// The hash of the token that came with it.
        token: Option<TokenHash>,
    },
    /// Manual mode: the dice are to be rolled.
    DrawNumber {
        match_id: MatchId,
        /// The hash of the token that came with it.
        token: Option<TokenHash>,
    },
    /// Manual mode: the result is to stand.
    FinalizeMatch {
        match_id: MatchId,
        /// The hash of the token that came with it.
        token: Option<TokenHash>,
    },
    MatchState {
        match_id: MatchId,
    },
    Ping,
    /// The manager says that the league is over.
    LeagueCompleted {
        league_id: LeagueId,
        /// The hash of the token that came with it.
        token: Option<TokenHash>,
    },
    Tick,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Reply {
    Noted,
    /// The manager let the referee in.
    TokenGranted {
        /// Proves the referee; it replaces the token that the shell holds.
        token: AuthToken,
        /// For returning after a restart; without one, a token kept of this league stays good.
        return_token: Option<AuthToken>,
    },
    /// The match is taken, or not.
    StartMatchAck(Box<StartMatchAck>),
    MatchState(Box<MatchView>),
}

/// Names a question that was sent.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CorrelationId {
    Registration {
        /// Which try, from 1.
        tried: u32,
    },
    /// An invitation or a request for a move.
    Question(PlayerQuestion),
    /// Word to the manager that players know the result.
    Notice { match_id: MatchId, attempt: u32 },
    /// A `GAME_OVER` to a player.
    GameOver {
        match_id: MatchId,
        attempt: u32,
        seat: Seat,
    },
    /// A request for a draw to the manager.
    Draw {
        match_id: MatchId,
        attempt: u32,
        /// Which roll of the match, from 0.
        roll: u32,
        /// Which try, from 1.
        tried: u32,
    },
    /// A result report to the manager.
    Report {
        match_id: MatchId,
        attempt: u32,
        /// Which try, from 1.
        tried: u32,
    },
}

/// A question to a player; no two are the same.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PlayerQuestion {
    pub match_id: MatchId,
    /// The number of referees ordered to run this match so far, from 1.
    pub attempt: u32,
    pub seat: Seat,
    /// 0 for the invitation, then the number of the move that is asked for.
    pub turn: u32,
    /// How often it has failed before.
    pub failed: u32,
    pub asked_at: Timestamp,
}

/// The public state of a match.
///
/// Hidden moves are not in it, nor is how many there are, before the match is finished.
#[derive(Debug, Clone, PartialEq)]
pub struct MatchView {
    pub league_id: LeagueId,
    pub round_id: u32,
    pub match_id: MatchId,
    /// The number of referees ordered to run this match so far, from 1.
    pub attempt: u32,
    pub game_type: GameType,
    pub state: MatchState,
    /// Seat A and seat B.
    pub players: [PlayerId; 2],
    /// The moves so far, in games with open moves.
    pub moves: Vec<(PlayerId, Value)>,
    /// How it ended, once the manager has taken the result.
    pub result: Option<Arc<MatchResult>>,
}

#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Refusal {
    /// A call of the manager that does not prove the manager.
    #[error("only the league manager may request this: show the manager's token")]
    NoManagerToken,
    /// A call that shows another token than the manager's.
    #[error("the token is not the league manager's token for this agent")]
    WrongManagerToken,
    /// A step by someone who shows no token.
    #[error("to step match `{0}`, show the token of the manager's `get_step_token`")]
    NoStepToken(MatchId),
    /// A step by someone who shows another token.
    #[error("the token is not the step token of match `{0}`: `get_step_token` gives it")]
    WrongStepToken(MatchId),
    /// No match of that name is held here.
    #[error("match `{0}` is not at this referee")]
    UnknownMatch(MatchId),
    /// A step that is not due in this state.
    #[error("`{step}` is not due for match `{match_id}`, which is in {}", state.as_str())]
    OutOfOrder {
        match_id: MatchId,
        step: &'static str,
        state: MatchState,
    },
    /// A step of a match that goes forward by itself.
    #[error("match `{match_id}` plays by itself; `{step}` is for matches in manual mode")]
    PlaysByItself {
        match_id: MatchId,
        step: &'static str,
    },
    /// The manager refused the referee's own token: [`Command::Begin`] with the token that is held
    /// is due.
    #[error("the manager refused this referee's token: register again")]
    TokenRefused,
    /// This machine cannot call the players of a match: [`Command::Begin`] with the token that is
    /// held is due, as the manager then repeats its orders, and the referee declines this one.
    #[error("match `{0}` goes back to the manager: this machine cannot call its players")]
    GivenBack(MatchId),
    /// An answer to a question that is closed.
    #[error("the answer of seat {seat} in match `{match_id}` came too late and does not count")]
    Late { match_id: MatchId, seat: Seat },
}

impl Refusal {
    /// The rule that was broken.
    pub const fn code(&self) -> Code {
        match self {
            Self::NoManagerToken | Self::NoStepToken(_) => Code::TokenMissing,
            Self::WrongManagerToken | Self::WrongStepToken(_) | Self::TokenRefused => {
                Code::TokenInvalid
            }
            Self::UnknownMatch(_) => Code::MatchNotFound,
            Self::GivenBack(_) => Code::Connection,
            Self::OutOfOrder { .. } | Self::PlaysByItself { .. } => Code::OutOfTurn,
            Self::Late { .. } => Code::DeadlinePassed,
        }
    }

    /// The refusal as an error message to the caller.
    pub fn to_league_error(&self) -> LeagueError {
        let path = match self {
            Self::NoManagerToken
            | Self::WrongManagerToken
            | Self::NoStepToken(_)
            | Self::WrongStepToken(_) => Some("auth_token".to_owned()),
            Self::UnknownMatch(_) => Some("match_id".to_owned()),
            Self::OutOfOrder { .. }
            | Self::PlaysByItself { .. }
            | Self::TokenRefused
            | Self::GivenBack(_)
            | Self::Late { .. } => None,
        };
        LeagueError {
            path,
            ..LeagueError::new(self.code(), self.to_string())
        }
    }
}
