//! Rounds, standings and the end of a league, in `league.v2`.

use crate::id::{GameType, LeagueId, MatchId, PlayerId};
use crate::shape;
use crate::shape::{List, Parsed, Round, Secret, Text, Whole};

shape! {
    /// A round begins.
    RoundAnnouncement<'a> "000 §4.3.1" {
        /// Which league.
        league_id: Parsed<'a, LeagueId>, Expected;
        /// Which round.
        round_id: Round, Needed;
        /// The matches of the round.
        matches: List<'a, RoundMatch<'a>>, Needed;
    }
    /// A match of a round that begins.
    RoundMatch<'a> "000 §4.3.1" {
        /// Which match.
        match_id: Parsed<'a, MatchId>, Needed;
        /// What is played.
        game_type: Parsed<'a, GameType>, Expected;
        /// Who sits at seat A.
        player_a_id = "player_A_id": Parsed<'a, PlayerId>, Needed;
        /// Who sits at seat B.
        player_b_id = "player_B_id": Parsed<'a, PlayerId>, Needed;
        /// Where its referee answers.
        referee_endpoint: Text<'a>, Expected;
        /// The hash of the draw's seed, promised before the round (ruling 27).
        draw_commitment: Text<'a>, Optional;
        /// In the receiver's own match: the token its referee will show (ruling 25).
        match_token: Secret<'a>, Optional;
    }
    /// A round is over.
    RoundCompleted<'a> "000 §4.8.1" {
        /// Which league.
        league_id: Parsed<'a, LeagueId>, Expected;
        /// Which round.
        round_id: Round, Needed;
        /// How many matches were played, as 000 §4.8.1 names it.
        matches_completed: Whole, Optional;
        /// How many matches were played, as 000 §8.8 names it.
        matches_played: Whole, Optional;
        /// The round that comes next, or null.
        next_round_id: Round, ExpectedOrNull;
        /// How the matches ended.
        summary: RoundSummary<'a>, Optional;
    }
    /// How the matches of a round ended.
    RoundSummary<'a> "000 §4.8.1" {
        /// Matches in all.
        total_matches: Whole, Expected;
        /// Matches won.
        wins: Whole, Expected;
        /// Matches drawn.
        draws: Whole, Expected;
        /// Matches lost by not playing.
        technical_losses: Whole, Expected;
    }
    /// The table, after a round.
    LeagueStandingsUpdate<'a> "000 §4.7.1" {
        /// Which league.
        league_id: Parsed<'a, LeagueId>, Expected;
        /// After which round.
        round_id: Round, Expected;
        /// The rows.
        standings: List<'a, StandingRow<'a>>, Needed;
    }
    /// One player's row in the table.
    StandingRow<'a> "000 §4.7.1" {
        /// The place in the table.
        rank: Whole, Expected;
        /// Who.
        player_id: Parsed<'a, PlayerId>, Needed;
        /// The name that people see.
        display_name: Text<'a>, Expected;
        /// Matches played.
        played: Whole, Expected;
        /// Matches won.
        wins: Whole, Expected;
        /// Matches drawn.
        draws: Whole, Expected;
        /// Matches lost.
        losses: Whole, Expected;
        /// Points.
        points: Whole, Expected;
    }
    /// The league is over.
    LeagueCompleted<'a> "000 §4.8.2" {
        /// Which league.
        league_id: Parsed<'a, LeagueId>, Expected;
        /// How many rounds were played.
        total_rounds: Whole, Expected;
        /// How many matches were played.
        total_matches: Whole, Expected;
        /// Who came first.
        champion: Champion<'a>, ExpectedOrNull;
        /// The final table.
        final_standings: List<'a, FinalRow<'a>>, Needed;
    }
    /// Who came first.
    Champion<'a> "000 §4.8.2" {
        /// Who.
        player_id: Parsed<'a, PlayerId>, Needed;
        /// The name that people see.
        display_name: Text<'a>, Expected;
        /// Points.
        points: Whole, Expected;
    }
    /// One player's row in the final table.
    FinalRow<'a> "000 §4.8.2" {
        /// The place in the table.
        rank: Whole, Expected;
        /// Who.
        player_id: Parsed<'a, PlayerId>, Needed;
        /// Points.
        points: Whole, Expected;
    }
}
