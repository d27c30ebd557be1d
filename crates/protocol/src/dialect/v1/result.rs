//! How a match, a round and the league ended, in `league.v1`.

use crate::dialect::v2::DrawRecord;
use crate::fault::Code;
use crate::id::{GameType, MatchId};
use crate::shape;
use crate::shape::{Any, Dict, List, Number, Parsed, Text, Whole};

use super::names::{LeagueName, PlayerName};
use super::summary::GameSummary;
use super::words::OutcomeWord;

shape! {
    /// The match is over, told to both players and to the manager.
    GameResult<'a> "003 §GAME_RESULT" {
        /// The UUID of the league.
        league_id: Parsed<'a, LeagueName>, Expected;
        /// Which round.
        round_id: Whole, Expected;
        /// Which match.
        match_id: Parsed<'a, MatchId>, Needed;
        /// How it ended.
        result: Outcome<'a>, Needed;
    }
    /// How a match ended.
    Outcome<'a> "003 §GAME_RESULT" {
        /// Who won, or null.
        winner: Parsed<'a, PlayerName>, ExpectedOrNull;
        /// Who lost, or null.
        loser: Parsed<'a, PlayerName>, ExpectedOrNull;
        /// Which of the three ways.
        outcome: Parsed<'a, OutcomeWord>, Needed;
        /// How it came about.
        game_summary: GameSummary<'a>, Expected;
    }
    /// How a result came about, apart from the choices, which are named after the players.
    SummaryFacts<'a> "003 §GAME_RESULT" {
        /// The number that was drawn.
        random_number: Any<'a>, Optional;
        /// Whether that number is even or odd.
        number_parity: Text<'a>, Optional;
        /// One sentence for people.
        winner_reason: Text<'a>, Optional;
        /// The plays one by one, as the other form of the summary tells them.
        moves: List<'a, Any<'a>>, Optional;
        /// The points of each player, by name.
        points: Dict<'a, Whole>, Optional;
        /// Who did not play, and for what cause, by name.
        failed: Dict<'a, Parsed<'a, Code>>, Optional;
        /// Counts the referees that were told to run this match, from 1.
        attempt: Whole, Optional;
        /// What was played, where it was not Even/Odd.
        game_type: Parsed<'a, GameType>, Optional;
        /// What else the game tells of its end.
        details: Any<'a>, Optional;
        /// All that is needed to draw the number again (ruling 27).
        draw: DrawRecord<'a>, Optional;
    }
    /// A round is over.
    RoundComplete<'a> "003 §ROUND_COMPLETE" {
        /// The UUID of the league.
        league_id: Parsed<'a, LeagueName>, Expected;
        /// Which round.
        round_id: Whole, Needed;
        /// `ROUND_SUMMARY`
        match_id: Text<'a>, Expected;
        /// How it went.
        round_summary: RoundSummary<'a>, Needed;
    }
    /// How a round went.
    RoundSummary<'a> "003 §ROUND_COMPLETE" {
        /// How many matches were played.
        matches_played: Whole, Expected;
        /// The table at its end.
        standings: List<'a, TableRow<'a>>, Needed;
    }
    /// One player's row in a table.
    TableRow<'a> "003 §ROUND_COMPLETE" {
        /// The place in the table; equal records share one.
        rank: Whole, Expected;
        /// Who.
        player_id: Parsed<'a, PlayerName>, Needed;
        /// Matches won.
        wins: Whole, Expected;
        /// Matches lost.
        losses: Whole, Expected;
        /// Matches drawn, which 003 leaves out though it has draws.
        draws: Whole, Optional;
        /// Points, by which the table is ordered (ruling 20).
        points: Whole, Optional;
    }
    /// The league is over.
    LeagueComplete<'a> "003 §LEAGUE_COMPLETE" {
        /// The UUID of the league.
        league_id: Parsed<'a, LeagueName>, Expected;
        /// The last round.
        round_id: Whole, Expected;
        /// `FINAL_STANDINGS`
        match_id: Text<'a>, Expected;
        /// How it ended.
        final_standings: FinalStandings<'a>, Needed;
    }
    /// How the league ended.
    FinalStandings<'a> "003 §LEAGUE_COMPLETE" {
        /// How many rounds were played.
        total_rounds: Whole, Expected;
        /// How many matches were played.
        total_matches: Whole, Expected;
        /// Who came first, or null.
        champion: FirstPlace<'a>, ExpectedOrNull;
        /// The final table.
        rankings: List<'a, TableRow<'a>>, Needed;
    }
    /// Who came first.
    FirstPlace<'a> "003 §LEAGUE_COMPLETE" {
        /// Who.
        player_id: Parsed<'a, PlayerName>, Needed;
        /// The name that people see.
        display_name: Text<'a>, Expected;
        /// Matches won.
        wins: Whole, Expected;
        /// Matches lost.
        losses: Whole, Expected;
        /// Matches won by matches played, to three places.
        win_rate: Number, Expected;
        /// Matches drawn, which 003 leaves out though it has draws.
        draws: Whole, Optional;
        /// Points, by which the table is ordered (ruling 20).
        points: Whole, Optional;
    }
}
