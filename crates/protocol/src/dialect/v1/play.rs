//! One match, in `league.v1`.

use crate::id::{GameType, MatchId};
use crate::shape;
use crate::shape::{Any, Flag, List, Parsed, Text, Whole};

use super::names::{LeagueName, PlayerName};
use super::words::{ReadyWord, RoleWord, ValidWord};

shape! {
    /// A referee invites a player to a match.
    GameInvitation<'a> "003 §GAME_INVITATION" {
        /// The UUID of the league.
        league_id: Parsed<'a, LeagueName>, Expected;
        /// Which round.
        round_id: Whole, Expected;
        /// Which match.
        match_id: Parsed<'a, MatchId>, Needed;
        /// What is played, and against whom.
        game_info: GameInfo<'a>, Expected;
    }
    /// What is played, and against whom.
    GameInfo<'a> "003 §GAME_INVITATION" {
        /// What is played.
        game_type: Parsed<'a, GameType>, Expected;
        /// Who sits opposite.
        opponent_id: Parsed<'a, PlayerName>, Expected;
        /// The seat of the one invited.
        your_role: Parsed<'a, RoleWord>, ExpectedSure;
        /// How long a move may take.
        timeout_seconds: Whole, Expected;
        /// The hash of the draw's seed (ruling 27).
        draw_commitment: Text<'a>, Optional;
    }
    /// The player comes to the match, or not.
    GameInvitationResponse<'a> "003 §GAME_INVITATION_RESPONSE" {
        /// The UUID of the league.
        league_id: Parsed<'a, LeagueName>, Expected;
        /// Which round.
        round_id: Whole, Expected;
        /// Which match.
        match_id: Parsed<'a, MatchId>, Needed;
        /// Whether it comes.
        status: Parsed<'a, ReadyWord>, Needed;
    }
    /// Both players are there.
    GameStart<'a> "003 §GAME_START" {
        /// The UUID of the league.
        league_id: Parsed<'a, LeagueName>, Expected;
        /// Which round.
        round_id: Whole, Expected;
        /// Which match.
        match_id: Parsed<'a, MatchId>, Needed;
        /// What is played, and who is asked first.
        game_state: StartState<'a>, Needed;
    }
    /// What is played, and who is asked first.
    StartState<'a> "003 §GAME_START" {
        /// What is played.
        game_type: Parsed<'a, GameType>, Expected;
        /// Who is asked first.
        current_player: Parsed<'a, PlayerName>, Needed;
        /// How it is played.
        rules: StartRules<'a>, Expected;
    }
    /// How it is played.
    StartRules<'a> "003 §GAME_START" {
        /// Whether each player moves once.
        single_round: Flag, Expected;
        /// How long a move may take, in seconds.
        timeout_per_move: Whole, Expected;
    }
    /// The referee asks for a play.
    PlayRequest<'a> "003 §PLAY_REQUEST" {
        /// The UUID of the league.
        league_id: Parsed<'a, LeagueName>, Expected;
        /// Which round.
        round_id: Whole, Expected;
        /// Which match.
        match_id: Parsed<'a, MatchId>, Needed;
        /// Where the match stands.
        game_state: PlayState<'a>, Expected;
    }
    /// Where a match stands.
    PlayState<'a> "003 §PLAY_REQUEST" {
        /// Which play of this player it is, from 1.
        turn_number: Whole, Expected;
        /// How long the play may take.
        timeout_seconds: Whole, Expected;
        /// What belongs to the game alone.
        game_specific_state: SpecificState<'a>, Expected;
    }
    /// What belongs to the game alone; of hidden plays nothing is told.
    SpecificState<'a> "003 §PLAY_REQUEST" {
        /// The plays that this player may know.
        previous_plays: List<'a, Any<'a>>, Expected;
        /// What is played, where it is not Even/Odd.
        game_type: Parsed<'a, GameType>, Optional;
        /// The kind of play, where it is not Even/Odd.
        move_type: Text<'a>, Optional;
        /// The plays that are legal now, where it is not Even/Odd.
        valid_options: List<'a, Any<'a>>, Optional;
        /// The position as this seat sees it, where it is not Even/Odd.
        view: Any<'a>, Optional;
    }
    /// The player plays.
    PlayResponse<'a> "003 §PLAY_RESPONSE" {
        /// The UUID of the league.
        league_id: Parsed<'a, LeagueName>, Expected;
        /// Which round.
        round_id: Whole, Expected;
        /// Which match.
        match_id: Parsed<'a, MatchId>, Needed;
        /// The play.
        play: Play<'a>, Needed;
    }
    /// A play.
    Play<'a> "003 §PLAY_RESPONSE" {
        /// `choose`
        action: Text<'a>, Expected;
        /// What is chosen: `even` or `odd`.
        value: Any<'a>, Needed;
        /// Why, in the player's words.
        reasoning: Text<'a>, Optional;
        /// The player's own share in the draw (ruling 27).
        nonce: Text<'a>, Optional;
    }
    /// A play was looked at.
    PlayValidation<'a> "003 §PLAY_VALIDATION" {
        /// The UUID of the league.
        league_id: Parsed<'a, LeagueName>, Expected;
        /// Which round.
        round_id: Whole, Expected;
        /// Which match.
        match_id: Parsed<'a, MatchId>, Needed;
        /// What came of it.
        validation: Validation<'a>, Needed;
    }
    /// What came of a play.
    Validation<'a> "003 §PLAY_VALIDATION" {
        /// Whose play.
        player_id: Parsed<'a, PlayerName>, Needed;
        /// The play, or null where the receiver may not see it yet.
        play: Play<'a>, ExpectedOrNull;
        /// Whether it was taken.
        status: Parsed<'a, ValidWord>, Needed;
        /// Why it was not taken, or null.
        error: Text<'a>, ExpectedOrNull;
        /// The same in a sentence for people, where `error` is a fixed reason.
        detail: Text<'a>, Optional;
    }
}
