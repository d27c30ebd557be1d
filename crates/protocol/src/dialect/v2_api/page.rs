//! The messages that the API page spells its own way.

use crate::bodies;
use crate::dialect::v2::{ChoiceContext, DrawRecord};
use crate::dialect::words::{ParityWord, RoleWord};
use crate::fault::Code;
use crate::id::{GameType, LeagueId, MatchId, PlayerId};
use crate::shape;
use crate::shape::{Any, Flag, List, Parsed, Round, Secret, Text, Whole};
use crate::time::Timestamp;

use super::words::{RegisteredWord, ResultWord};

bodies! {
    /// The body of a message of the API page.
    "LEAGUE_REGISTER_RESPONSE" => LeagueRegisterResponse,
    "GAME_INVITATION" => GameInvitation,
    "GAME_JOIN_ACK" => GameJoinAck,
    "CHOOSE_PARITY_CALL" => ChooseParityCall,
    "CHOOSE_PARITY_RESPONSE" => ChooseParityResponse,
    "GAME_OVER" => GameOver,
    "QUERY_STANDINGS_REQUEST" => QueryStandingsRequest,
    "QUERY_STANDINGS_RESPONSE" => QueryStandingsResponse,
    "LEAGUE_ERROR" => LeagueError,
}

shape! {
    /// The manager admits a player or not.
    LeagueRegisterResponse<'a> "001 §LEAGUE_REGISTER_RESPONSE" {
        /// Admitted or not.
        status: Parsed<'a, RegisteredWord>, Needed;
        /// The player's id from now on.
        player_id: Parsed<'a, PlayerId>, Optional;
        /// The player's token from now on.
        auth_token: Secret<'a>, Optional;
        /// What the manager will show the player; an addition to the documents (ruling 45).
        manager_token: Secret<'a>, Optional;
        /// What proves the player when it comes back; an addition to the documents (ruling 7).
        return_token: Secret<'a>, Optional;
        /// The league it is in.
        league_id: Parsed<'a, LeagueId>, Optional;
        /// Why it is not admitted.
        reason: Text<'a>, Optional;
    }
    /// A referee invites a player to a match.
    GameInvitation<'a> "001 §GAME_INVITATION" {
        /// Which league.
        league_id: Parsed<'a, LeagueId>, Optional;
        /// Which round.
        round_id: Round, Expected;
        /// Which match.
        match_id: Parsed<'a, MatchId>, Needed;
        /// What is played.
        game_type: Parsed<'a, GameType>, Expected;
        /// Who sits opposite.
        opponent_id: Parsed<'a, PlayerId>, Expected;
        /// The seat of the one invited.
        role: Parsed<'a, RoleWord>, ExpectedSure;
        /// The hash of the draw's seed (ruling 27).
        draw_commitment: Text<'a>, Optional;
    }
    /// The player comes to the match, or not.
    GameJoinAck<'a> "001 §GAME_JOIN_ACK" {
        /// Which match.
        match_id: Parsed<'a, MatchId>, Expected;
        /// Who comes.
        player_id: Parsed<'a, PlayerId>, Optional;
        /// When it arrived.
        arrival_timestamp: Parsed<'a, Timestamp>, Optional;
        /// Whether it comes.
        accept: Flag, Needed;
    }
    /// The referee asks for even or odd.
    ChooseParityCall<'a> "001 §CHOOSE_PARITY_CALL" {
        /// Which league.
        league_id: Parsed<'a, LeagueId>, Optional;
        /// Which round.
        round_id: Round, Optional;
        /// Which match.
        match_id: Parsed<'a, MatchId>, Needed;
        /// Who is asked.
        player_id: Parsed<'a, PlayerId>, Optional;
        /// What is played.
        game_type: Parsed<'a, GameType>, Optional;
        /// What may help to choose.
        context: ChoiceContext<'a>, Optional;
        /// When the answer must be in.
        deadline: Parsed<'a, Timestamp>, Expected;
    }
    /// The player chooses even or odd.
    ChooseParityResponse<'a> "001 §CHOOSE_PARITY_RESPONSE" {
        /// Which match.
        match_id: Parsed<'a, MatchId>, Expected;
        /// Who chooses.
        player_id: Parsed<'a, PlayerId>, Optional;
        /// `even` or `odd`.
        parity_choice: Parsed<'a, ParityWord>, Needed;
        /// The player's own share in the draw (ruling 27).
        nonce: Text<'a>, Optional;
    }
    /// The match is over, told from the side of the receiver.
    GameOver<'a> "001 §GAME_OVER" {
        /// Which league.
        league_id: Parsed<'a, LeagueId>, Optional;
        /// Which round.
        round_id: Round, Optional;
        /// Which match.
        match_id: Parsed<'a, MatchId>, Needed;
        /// What was played.
        game_type: Parsed<'a, GameType>, Optional;
        /// The receiver's seat, without which the shares in the draw have no owners.
        role: Parsed<'a, RoleWord>, Optional;
        /// The number that was drawn, or null where none was.
        drawn_number: Any<'a>, ExpectedOrNull;
        /// What the receiver chose, or null.
        your_choice: Any<'a>, ExpectedOrNull;
        /// What its opponent chose, or null.
        opponent_choice: Any<'a>, ExpectedOrNull;
        /// How it ended for the receiver.
        result: Parsed<'a, ResultWord>, Needed;
        /// What that is worth.
        points_earned: Whole, Expected;
        /// Who won, or null: after a technical loss it may be nobody.
        winner_player_id: Parsed<'a, PlayerId>, Optional;
        /// One sentence for people.
        reason: Text<'a>, Optional;
        /// What else the game tells of its end.
        details: Any<'a>, Optional;
        /// All that is needed to draw the number again (ruling 27).
        draw: DrawRecord<'a>, Optional;
    }
    /// A player asks for the table.
    QueryStandingsRequest<'a> "001 §QUERY_STANDINGS_REQUEST" {
        /// Which league.
        league_id: Parsed<'a, LeagueId>, Optional;
    }
    /// The manager tells the table.
    QueryStandingsResponse<'a> "001 §QUERY_STANDINGS_RESPONSE" {
        /// Which league.
        league_id: Parsed<'a, LeagueId>, Optional;
        /// After which round.
        round_id: Round, Optional;
        /// The rows.
        standings: List<'a, TableRow<'a>>, Needed;
    }
    /// One player's row in the table.
    TableRow<'a> "001 §QUERY_STANDINGS_RESPONSE" {
        /// The place in the table.
        rank: Whole, Expected;
        /// Who.
        player_id: Parsed<'a, PlayerId>, Needed;
        /// The name that people see.
        display_name: Text<'a>, Optional;
        /// Points.
        points: Whole, Expected;
        /// Matches played.
        played: Whole, Optional;
        /// Matches won.
        wins: Whole, Expected;
        /// Matches drawn.
        draws: Whole, Expected;
        /// Matches lost.
        losses: Whole, Expected;
    }
    /// The manager refuses.
    LeagueError<'a> "001 §LEAGUE_ERROR" {
        /// Which rule.
        error_code: Parsed<'a, Code>, Needed;
        /// The name of the rule.
        error_name: Text<'a>, Expected;
        /// What went wrong, in a sentence.
        error_description: Text<'a>, Expected;
        /// Whether trying again may help.
        retryable: Flag, Expected;
        /// What kind of message was refused.
        original_message_type: Text<'a>, Optional;
        /// More that helps to find the cause.
        context: Any<'a>, Optional;
    }
}
