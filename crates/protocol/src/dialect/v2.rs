//! `league.v2` as the main document writes it: 18 messages, the two generic ones of 000 §3.8.2,
//! and our own order to a referee.

mod play;
mod query;
mod registration;
mod result;
mod round;
mod say;
mod say_result;
mod understand;
mod understand_answer;
mod understand_play;
mod understand_result;
mod understand_round;

pub use play::*;
pub use query::*;
pub use registration::*;
pub use result::*;
pub use round::*;
pub use say::say;
pub(crate) use say_result::draw_record;
pub use understand::understand;

use crate::bodies;

bodies! {
    /// The body of a message.
    "REFEREE_REGISTER_REQUEST" => RefereeRegisterRequest,
    "REFEREE_REGISTER_RESPONSE" => RefereeRegisterResponse,
    "LEAGUE_REGISTER_REQUEST" => LeagueRegisterRequest,
    "LEAGUE_REGISTER_RESPONSE" => LeagueRegisterResponse,
    "ROUND_ANNOUNCEMENT" => RoundAnnouncement,
    "ROUND_COMPLETED" => RoundCompleted,
    "LEAGUE_COMPLETED" => LeagueCompleted,
    "GAME_INVITATION" => GameInvitation,
    "GAME_JOIN_ACK" => GameJoinAck,
    "CHOOSE_PARITY_CALL" => ChooseParityCall,
    "CHOOSE_PARITY_RESPONSE" => ChooseParityResponse,
    "GAME_MOVE_CALL" => GameMoveCall,
    "GAME_MOVE_RESPONSE" => GameMoveResponse,
    "GAME_OVER" => GameOver,
    "MATCH_RESULT_REPORT" => MatchResultReport,
    "LEAGUE_STANDINGS_UPDATE" => LeagueStandingsUpdate,
    "LEAGUE_ERROR" => LeagueError,
    "GAME_ERROR" => GameError,
    "LEAGUE_QUERY" => LeagueQuery,
    "LEAGUE_QUERY_RESPONSE" => LeagueQueryResponse,
    "START_MATCH" => StartMatch,
    "START_MATCH_ACK" => StartMatchAck,
}
