//! Every message, declared once: the model that the machines know, and its rows on the wire.
//!
//! A [`Message`] holds meaning, not spelling. A file is a chapter of the conversation: first the
//! model, then the objects of each dialect as lists of rows, then the few functions for what rows
//! cannot say. `forms.rs` lists all types.

mod by_player;
mod evidence;
mod forms;
mod order;
mod play;
mod query;
mod refusal;
mod registration;
mod result;
mod round;
mod rows;

pub use by_player::ByPlayer;
pub use evidence::{
    CallQuery, CallQueryResponse, DrawRequest, DrawResponse, Evidence, GameOverTold,
    MatchResultAck, ModelUse, PlayerEvidence, SignedMove,
};
pub(crate) use forms::{AnyForm, GENERIC_MOVE, form, is_taken, reply_type, spoken_type, write};
pub use forms::{expects_answer, types, types_taken};
pub use order::{HandedOver, Mode, StartMatch, StartMatchAck, StartMatchPlayer};
pub use play::{
    GameInvitation, GameJoinAck, GameStart, MatchState, MoveCall, MoveResponse, PlayValidation,
    Role,
};
pub use query::{
    LeagueQuery, LeagueQueryResponse, MatchListing, NextMatch, PlayerStats, Query, QueryAnswer,
    RoundListing,
};
pub use refusal::{GameError, LeagueError};
pub use registration::{
    AgentMeta, Enrolment, MAX_NAME, RegisterRequest, RegisterResponse, is_harmless, is_name,
    is_supported,
};
pub use result::{GameOver, MatchResult, MatchResultReport, MatchStatus, OpenedDraw, Score};
pub use round::{
    AnnouncedMatch, Champion, LeagueCompleted, LeagueStart, OwnMatch, RoundAnnouncement,
    RoundCompleted, RoundSummary, StandingRow, StandingsUpdate, WinLossDraw,
};
pub use rows::Rows;

use std::sync::Arc;

use crate::fault::Code;
use crate::finding::Path;
use crate::id::MatchId;
use crate::id::{PlayerId, RefereeId};
use crate::sender::CallStyle;
use crate::shape::Cx;

/// One thing that an agent says to another.
///
/// It is passed on often, so it is small: what may be sent again is shared, all else is boxed.
#[derive(Debug, Clone, PartialEq)]
pub enum Message {
    /// A referee asks to be admitted.
    RefereeRegisterRequest(Box<RegisterRequest>),
    /// The manager admits a referee or not.
    RefereeRegisterResponse(RegisterResponse<RefereeId>),
    /// A player asks to be admitted.
    PlayerRegisterRequest(Box<RegisterRequest>),
    /// The manager admits a player or not.
    PlayerRegisterResponse(RegisterResponse<PlayerId>),
    /// The league begins (`v1` only).
    LeagueStart(Box<LeagueStart>),
    /// A round begins.
    RoundAnnouncement(Arc<RoundAnnouncement>),
    /// A round is over.
    RoundCompleted(Arc<RoundCompleted>),
    /// The league is over.
    LeagueCompleted(Arc<LeagueCompleted>),
    /// The table, after a round.
    StandingsUpdate(Arc<StandingsUpdate>),
    /// The manager orders a referee to run a match.
    StartMatch(Arc<StartMatch>),
    /// The referee takes the match or not.
    StartMatchAck(Box<StartMatchAck>),
    /// A referee invites a player.
    GameInvitation(Box<GameInvitation>),
    /// The player comes or not.
    GameJoinAck(Box<GameJoinAck>),
    /// Both players are there (`v1` only).
    GameStart(Box<GameStart>),
    /// The referee asks for a move.
    MoveCall(Box<MoveCall>),
    /// The player moves.
    MoveResponse(Arc<MoveResponse>),
    /// A move was looked at (`v1` only).
    PlayValidation(Box<PlayValidation>),
    /// The match is over, told to a player.
    GameOver(Arc<GameOver>),
    /// Something went wrong in a match, told to a player.
    GameError(Box<GameError>),
    /// The match is over, told to the manager.
    MatchResultReport(Arc<MatchResultReport>),
    /// The manager has taken a result and opens its draw.
    MatchResultAck(Box<MatchResultAck>),
    /// A referee hands over the moves and requests the draw.
    DrawRequest(Arc<DrawRequest>),
    /// The manager gives the seed of the draw.
    DrawResponse(Box<DrawResponse>),
    /// Players know the result of a match, told to the manager.
    GameOverTold(Box<GameOverTold>),
    /// The manager asks a player whether a referee has called it.
    CallQuery(Box<CallQuery>),
    /// Whether a referee has called the player.
    CallQueryResponse(Box<CallQueryResponse>),
    /// A question to the manager.
    LeagueQuery(Box<LeagueQuery>),
    /// The manager's answer.
    LeagueQueryResponse(Box<LeagueQueryResponse>),
    /// The manager refuses.
    LeagueError(Box<LeagueError>),
    /// Are you there?
    Ping,
    /// Heard, nothing to add.
    Acknowledged,
}

macro_rules! said {
    ($($kind:ident),*) => {$(
        impl From<$kind> for Message {
            fn from(said: $kind) -> Self {
                Self::$kind(said.into())
            }
        }
    )*};
}

said!(
    LeagueStart,
    RoundAnnouncement,
    RoundCompleted,
    LeagueCompleted,
    StandingsUpdate,
    StartMatch,
    StartMatchAck,
    GameInvitation,
    GameJoinAck,
    GameStart,
    MoveCall,
    MoveResponse,
    PlayValidation,
    GameOver,
    GameError,
    MatchResultReport,
    MatchResultAck,
    DrawRequest,
    DrawResponse,
    GameOverTold,
    CallQuery,
    CallQueryResponse,
    LeagueQuery,
    LeagueQueryResponse,
    LeagueError
);

impl Message {
    /// The match that the message belongs to.
    pub fn match_id(&self) -> Option<&MatchId> {
        match self {
            Self::StartMatch(order) => Some(&order.match_id),
            Self::StartMatchAck(ack) => Some(&ack.match_id),
            Self::GameInvitation(invitation) => Some(&invitation.match_id),
            Self::GameJoinAck(ack) => Some(&ack.match_id),
            Self::GameStart(start) => Some(&start.match_id),
            Self::MoveCall(call) => Some(&call.match_id),
            Self::MoveResponse(response) => Some(&response.match_id),
            Self::PlayValidation(validation) => Some(&validation.match_id),
            Self::GameOver(over) => Some(&over.match_id),
            Self::GameError(error) => Some(&error.match_id),
            Self::MatchResultReport(report) => Some(&report.match_id),
            Self::MatchResultAck(ack) => Some(&ack.match_id),
            Self::DrawRequest(request) => Some(&request.match_id),
            Self::DrawResponse(response) => Some(&response.match_id),
            Self::GameOverTold(told) => Some(&told.match_id),
            Self::CallQuery(query) => Some(&query.match_id),
            Self::CallQueryResponse(response) => Some(&response.match_id),
            Self::RefereeRegisterRequest(_)
            | Self::RefereeRegisterResponse(_)
            | Self::PlayerRegisterRequest(_)
            | Self::PlayerRegisterResponse(_)
            | Self::LeagueStart(_)
            | Self::RoundAnnouncement(_)
            | Self::RoundCompleted(_)
            | Self::LeagueCompleted(_)
            | Self::StandingsUpdate(_)
            | Self::LeagueQuery(_)
            | Self::LeagueQueryResponse(_)
            | Self::LeagueError(_)
            | Self::Ping
            | Self::Acknowledged => None,
        }
    }

    /// Whether an agent asks to be admitted.
    pub const fn is_registration(&self) -> bool {
        matches!(
            self,
            Self::PlayerRegisterRequest(_) | Self::RefereeRegisterRequest(_)
        )
    }

    /// Whether a referee takes it for the order to run a match, though it is news to others.
    pub fn is_order(&self) -> bool {
        let Self::RoundAnnouncement(round) = self else {
            return false;
        };
        let mut matches = round.matches.iter();
        matches.any(|row| row.endpoint_a.is_some() && row.endpoint_b.is_some())
    }

    /// Whether the message is of no use without an answer.
    pub fn expects_reply(&self) -> bool {
        matches!(self, Self::MatchResultReport(_)) || self.v2_type().is_some_and(expects_answer)
    }

    /// The type as `league.v2` writes it; `None` for what has no type on the wire.
    pub fn v2_type(&self) -> Option<&'static str> {
        Some(match self {
            Self::RefereeRegisterRequest(_) => "REFEREE_REGISTER_REQUEST",
            Self::RefereeRegisterResponse(_) => "REFEREE_REGISTER_RESPONSE",
            Self::PlayerRegisterRequest(_) => "LEAGUE_REGISTER_REQUEST",
            Self::PlayerRegisterResponse(_) => "LEAGUE_REGISTER_RESPONSE",
            Self::LeagueStart(_) => "LEAGUE_START_ANNOUNCEMENT",
            Self::RoundAnnouncement(_) => "ROUND_ANNOUNCEMENT",
            Self::RoundCompleted(_) => "ROUND_COMPLETED",
            Self::LeagueCompleted(_) => "LEAGUE_COMPLETED",
            Self::StandingsUpdate(_) => "LEAGUE_STANDINGS_UPDATE",
            Self::StartMatch(_) => "START_MATCH",
            Self::StartMatchAck(_) => "START_MATCH_ACK",
            Self::GameInvitation(_) => "GAME_INVITATION",
            Self::GameJoinAck(_) => "GAME_JOIN_ACK",
            Self::GameStart(_) => "GAME_START",
            Self::MoveCall(call) if call.game_type.as_str() == EVEN_ODD => "CHOOSE_PARITY_CALL",
            Self::MoveCall(_) => "GAME_MOVE_CALL",
            Self::MoveResponse(response) if response.game_type.as_str() == EVEN_ODD => {
                "CHOOSE_PARITY_RESPONSE"
            }
            Self::MoveResponse(_) => "GAME_MOVE_RESPONSE",
            Self::PlayValidation(_) => "PLAY_VALIDATION",
            Self::GameOver(_) => "GAME_OVER",
            Self::GameError(_) => "GAME_ERROR",
            Self::MatchResultReport(_) => "MATCH_RESULT_REPORT",
            Self::MatchResultAck(_) => "MATCH_RESULT_ACK",
            Self::DrawRequest(_) => "DRAW_REQUEST",
            Self::DrawResponse(_) => "DRAW_RESPONSE",
            Self::GameOverTold(_) => "GAME_OVER_TOLD",
            Self::CallQuery(_) => "CALL_QUERY",
            Self::CallQueryResponse(_) => "CALL_QUERY_RESPONSE",
            Self::LeagueQuery(_) => "LEAGUE_QUERY",
            Self::LeagueQueryResponse(_) => "LEAGUE_QUERY_RESPONSE",
            Self::LeagueError(_) => "LEAGUE_ERROR",
            Self::Ping | Self::Acknowledged => return None,
        })
    }

    /// The tool that the message is sent to.
    pub fn tool(&self) -> &'static str {
        match self {
            Self::Ping => "ping",
            _ => {
                let tool = self.v2_type().and_then(forms::tool_taking);
                tool.unwrap_or(CallStyle::GENERIC_METHOD)
            }
        }
    }
}

/// The game that has messages of its own; every other game uses the generic ones.
pub const EVEN_ODD: &str = "even_odd";

/// Takes a value that must be there, or notes that it is not usable.
fn needed<T>(
    value: Option<T>,
    name: &str,
    expected: &str,
    at: &Path<'_>,
    cx: &mut Cx<'_>,
) -> Option<T> {
    if value.is_none() {
        let detail = format!("`{name}` is missing or not usable; send {expected}");
        let at = at.member(name, true);
        cx.refuse(Code::MissingField, &at, expected, detail);
    }
    value
}

/// Notes what an answer should hold and a lenient reader can do without.
fn promised(is_there: bool, name: &str, expected: &str, at: &Path<'_>, cx: &mut Cx<'_>) {
    if !is_there {
        let detail = format!("`{name}` is missing; add it");
        let at = at.member(name, false);
        cx.note(Code::MissingField, &at, expected, detail);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_small_enough_to_be_passed_on_often() {
        assert!(size_of::<Message>() <= 4 * size_of::<usize>());
    }
}
