//! How a match ended, and what went wrong in it, in `league.v2`.

use crate::dialect::words::{StateWord, StatusWord};
use crate::fault::Code;
use crate::id::{GameType, LeagueId, MatchId, PlayerId};
use crate::shape;
use crate::shape::{Any, Dict, Flag, List, Parsed, Round, Text, Whole};
use crate::time::Timestamp;

shape! {
    /// The match is over, told to a player.
    GameOver<'a> "000 §4.6.1" {
        /// Which league.
        league_id: Parsed<'a, LeagueId>, Optional;
        /// Which round.
        round_id: Round, Optional;
        /// Which match.
        match_id: Parsed<'a, MatchId>, Needed;
        /// What was played.
        game_type: Parsed<'a, GameType>, Expected;
        /// How it ended.
        game_result: GameResult<'a>, Needed;
    }
    /// How a match ended.
    GameResult<'a> "000 §4.6.1" {
        /// Which of the three ways.
        status: Parsed<'a, StatusWord>, Needed;
        /// Who won, or null.
        winner_player_id: Text<'a>, ExpectedOrNull;
        /// The number that was drawn.
        drawn_number: Any<'a>, Optional;
        /// Whether that number is even or odd.
        number_parity: Text<'a>, Optional;
        /// What each player chose.
        choices: Dict<'a, Any<'a>>, Expected;
        /// One sentence for people.
        reason: Text<'a>, Expected;
        /// The points of each player.
        score: Dict<'a, Whole>, Optional;
        /// Who did not play, and for what cause.
        failed: Dict<'a, Parsed<'a, Code>>, Optional;
        /// What else the game tells of its end.
        details: Any<'a>, Optional;
        /// All that is needed to draw the number again (ruling 27).
        draw: DrawRecord<'a>, Optional;
    }
    /// All that is needed to draw the number again.
    DrawRecord<'a> "ruling 27" {
        /// The hash of the seed, promised before the round.
        commitment: Text<'a>, Needed;
        /// The secret behind it.
        seed: Text<'a>, Needed;
        /// Counts the referees that were told to run this match, from 1.
        attempt: Whole, Needed;
        /// The players' own shares, empty where a player sent none.
        nonces: List<'a, Text<'a>>, Needed;
        /// Who had a share in the draw: `commitment`, `one nonce` or `both nonces`.
        guarantee: Text<'a>, Optional;
    }
    /// The match is over, told to the manager.
    MatchResultReport<'a> "000 §4.6.2" {
        /// Which league.
        league_id: Parsed<'a, LeagueId>, Expected;
        /// Which round.
        round_id: Round, Expected;
        /// Which match.
        match_id: Parsed<'a, MatchId>, Needed;
        /// What was played.
        game_type: Parsed<'a, GameType>, Expected;
        /// Counts the referees that were told to run this match, from 1.
        attempt: Whole, Optional;
        /// How it ended.
        result: ReportResult<'a>, Needed;
    }
    /// How a match ended, as the manager is told.
    ReportResult<'a> "000 §4.6.2" {
        /// Who won, or null.
        winner: Text<'a>, ExpectedOrNull;
        /// The points of each player.
        score: Dict<'a, Whole>, Needed;
        /// How it came about.
        details: ReportDetails<'a>, Expected;
    }
    /// How a result came about.
    ReportDetails<'a> "000 §4.6.2" {
        /// The number that was drawn.
        drawn_number: Any<'a>, Optional;
        /// What each player chose.
        choices: Dict<'a, Any<'a>>, Expected;
        /// Which of the three ways.
        status: Parsed<'a, StatusWord>, Optional;
        /// Who did not play, and for what cause.
        failed: Dict<'a, Parsed<'a, Code>>, Optional;
        /// One sentence for people.
        reason: Text<'a>, Optional;
        /// What else the game tells of its end.
        game: Any<'a>, Optional;
        /// All that is needed to draw the number again (ruling 27).
        draw: DrawRecord<'a>, Optional;
    }
    /// Something went wrong in a match.
    GameError<'a> "000 §4.10.2" {
        /// Which match.
        match_id: Parsed<'a, MatchId>, Needed;
        /// Whose doing, as 000 §2.9.2 names it.
        player_id: Parsed<'a, PlayerId>, Optional;
        /// Whose doing, as 000 §4.10.2 names it.
        affected_player: Parsed<'a, PlayerId>, Optional;
        /// Which rule.
        error_code: Parsed<'a, Code>, Needed;
        /// The name of the rule.
        error_name: Text<'a>, Optional;
        /// The name of the rule, or a sentence.
        error_description: Text<'a>, Expected;
        /// Where the match stands.
        game_state: Parsed<'a, StateWord>, Optional;
        /// Whether trying again may help.
        retryable: Flag, Optional;
        /// The message that is still owed.
        action_required: Text<'a>, Optional;
        /// How many attempts have failed.
        retry_count: Whole, Optional;
        /// How many attempts there are in all.
        max_retries: Whole, Optional;
        /// The attempts, as 000 §4.10.2 groups them.
        retry_info: RetryInfo<'a>, Optional;
        /// What happens if nothing gets better.
        consequence: Text<'a>, Optional;
        /// More that helps to find the cause.
        context: Any<'a>, Optional;
    }
    /// The attempts of a player.
    RetryInfo<'a> "000 §4.10.2" {
        /// How many attempts have failed.
        retry_count: Whole, Expected;
        /// How many attempts there are in all.
        max_retries: Whole, Expected;
        /// When the next attempt begins, or null.
        next_retry_at: Parsed<'a, Timestamp>, ExpectedOrNull;
    }
}
