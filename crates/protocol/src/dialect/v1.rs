//! `league.v1`: 12 messages, each with the league, the round and the match it belongs to.
//!
//! Leagues and conversations are UUIDs here and players read `player_001`; [`names`] translates.
//! Fields that 003 does not know are optional and said only where it leaves a gap.

pub mod names;
mod play;
mod registration;
mod result;
mod say;
mod say_result;
mod summary;
mod understand;
mod understand_result;
pub mod words;

pub use names::{conversation, player_name};
pub use play::*;
pub use registration::*;
pub use result::*;
pub use say::say;
pub use summary::GameSummary;
pub use understand::understand;

use crate::bodies;

bodies! {
    /// The body of a message.
    "LEAGUE_REGISTER_REQUEST" => LeagueRegisterRequest,
    "LEAGUE_REGISTER_RESPONSE" => LeagueRegisterResponse,
    "LEAGUE_START_ANNOUNCEMENT" => LeagueStartAnnouncement,
    "GAME_INVITATION" => GameInvitation,
    "GAME_INVITATION_RESPONSE" => GameInvitationResponse,
    "GAME_START" => GameStart,
    "PLAY_REQUEST" => PlayRequest,
    "PLAY_RESPONSE" => PlayResponse,
    "PLAY_VALIDATION" => PlayValidation,
    "GAME_RESULT" => GameResult,
    "ROUND_COMPLETE" => RoundComplete,
    "LEAGUE_COMPLETE" => LeagueComplete,
}
