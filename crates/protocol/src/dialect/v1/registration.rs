//! Joining a league, and its beginning, in `league.v1`.

use crate::dialect::v2::PlayerMeta;
use crate::dialect::words::RegisterWord;
use crate::id::{GameType, MatchId};
use crate::shape;
use crate::shape::{List, Parsed, Text, Whole};

use super::names::{LeagueName, PlayerName};

shape! {
    /// A player asks to be admitted.
    LeagueRegisterRequest<'a> "003 §LEAGUE_REGISTER_REQUEST" {
        /// The UUID of the league.
        league_id: Parsed<'a, LeagueName>, Expected;
        /// 0, as no round has begun.
        round_id: Whole, Expected;
        /// `REGISTRATION`
        match_id: Text<'a>, Expected;
        /// What the player says of itself.
        player_meta: PlayerMeta<'a>, Needed;
        /// The id it would like to have (ruling 7).
        player_id: Text<'a>, Optional;
    }
    /// The manager admits a player or not.
    LeagueRegisterResponse<'a> "003 §LEAGUE_REGISTER_RESPONSE" {
        /// The UUID of the league.
        league_id: Parsed<'a, LeagueName>, Expected;
        /// 0, as no round has begun.
        round_id: Whole, Expected;
        /// `REGISTRATION`
        match_id: Text<'a>, Expected;
        /// Admitted or not.
        status: Parsed<'a, RegisterWord>, Needed;
        /// The player's name from now on.
        player_id: Parsed<'a, PlayerName>, Optional;
        /// Why it is not admitted.
        reason: Text<'a>, Optional;
    }
    /// The league begins.
    LeagueStartAnnouncement<'a> "003 §LEAGUE_START_ANNOUNCEMENT" {
        /// The UUID of the league.
        league_id: Parsed<'a, LeagueName>, Expected;
        /// The first round.
        round_id: Whole, Expected;
        /// `ANNOUNCEMENT`
        match_id: Text<'a>, Expected;
        /// What will be played.
        league_info: LeagueInfo<'a>, Needed;
    }
    /// What will be played.
    LeagueInfo<'a> "003 §LEAGUE_START_ANNOUNCEMENT" {
        /// How many rounds there are.
        total_rounds: Whole, Expected;
        /// How many players there are.
        total_players: Whole, Expected;
        /// What is played.
        game_type: Parsed<'a, GameType>, Expected;
        /// The rounds, or as many as fit.
        schedule: List<'a, ScheduledRound<'a>>, Expected;
    }
    /// One round of the schedule.
    ScheduledRound<'a> "003 §LEAGUE_START_ANNOUNCEMENT" {
        /// Which round.
        round_id: Whole, Needed;
        /// Its matches.
        matches: List<'a, ScheduledMatch<'a>>, Needed;
    }
    /// One match of the schedule.
    ScheduledMatch<'a> "003 §LEAGUE_START_ANNOUNCEMENT" {
        /// Which match.
        match_id: Parsed<'a, MatchId>, Needed;
        /// Who goes first.
        player1: Parsed<'a, PlayerName>, Needed;
        /// Who goes second.
        player2: Parsed<'a, PlayerName>, Needed;
    }
}
