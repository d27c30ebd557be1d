//! Rounds, standings, and the end of a league.

use std::borrow::Cow;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Number, Value as Json, json};

use crate::finding::{Path, Reading};
use crate::id::{GameType, LeagueId, MatchId, PlayerId};
use crate::secret::Commitment;
use crate::sender::Dialect;
use crate::shape::{
    Cx, Plain, Quiet, Round, RowStates, Slot, Spelling, drafts, objects, read_parts,
};
use crate::token::{AuthToken, TokenHash};

use super::Message;
use super::forms::parts;
use super::query::{MatchListing, RoundListing};
use super::result::Score;
use super::rows::Rows;

/// The league begins.
#[derive(Debug, Clone, PartialEq)]
pub struct LeagueStart {
    /// Which league.
    pub league_id: LeagueId,
    /// How many rounds it has.
    pub total_rounds: u32,
    /// How many players it has.
    pub total_players: u32,
    /// What is played.
    pub game_type: GameType,
    /// The rounds, or as many as fit.
    pub schedule: Arc<[RoundListing]>,
}

/// A round begins; what is told to one player.
#[derive(Debug, Clone, PartialEq)]
pub struct RoundAnnouncement {
    /// Which league.
    pub league_id: LeagueId,
    /// Which round.
    pub round_id: u32,
    /// The matches of the round, or the receiver's own in a large league.
    pub matches: Rows<AnnouncedMatch>,
    /// The receiver's own match and the token its referee will show; none for a bye.
    pub own: Option<OwnMatch>,
}

/// The receiver's own match in a round that begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnMatch {
    /// Which match.
    pub match_id: MatchId,
    /// What its referee will show.
    pub token: AuthToken,
    /// The hash of the referee's own token, which a referee by the documents shows instead.
    pub referee_token: Option<TokenHash>,
    /// Counts the referees that were told to run this match, from 1.
    pub attempt: u32,
}

/// A match of a round that begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AnnouncedMatch {
    /// Which match.
    pub match_id: MatchId,
    /// What is played.
    pub game_type: GameType,
    /// Who sits at seat A.
    pub player_a: PlayerId,
    /// Who sits at seat B.
    pub player_b: PlayerId,
    /// Where its referee answers.
    pub referee_endpoint: Arc<str>,
    /// Where seat A answers; told to a referee that takes this for its order.
    pub endpoint_a: Option<Arc<str>>,
    /// Where seat B answers.
    pub endpoint_b: Option<Arc<str>>,
    /// The promise on the draw, where one is made.
    pub commitment: Option<Commitment>,
}

/// A round is over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RoundCompleted {
    /// Which league.
    pub league_id: LeagueId,
    /// Which round.
    pub round_id: u32,
    /// The round that comes next, if one does.
    pub next_round_id: Option<u32>,
    /// How it went.
    pub summary: RoundSummary,
    /// The table at its end, for the dialect that tells it here.
    pub standings: Rows<StandingRow>,
}

/// How the matches of a round ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct RoundSummary {
    /// Matches in all.
    pub total_matches: u32,
    /// Matches won.
    pub wins: u32,
    /// Matches drawn.
    pub draws: u32,
    /// Matches lost by not playing.
    pub technical_losses: u32,
}

/// The table, after a round.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StandingsUpdate {
    /// Which league.
    pub league_id: LeagueId,
    /// After which round.
    pub round_id: u32,
    /// The rows, or the top ones and the receiver's own in a large league.
    pub standings: Rows<StandingRow>,
}

/// One player's row in the table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StandingRow {
    /// 1, 2, 3, 4: no two rows share one.
    pub rank: u32,
    /// The rank by `v1`, where equal records share one.
    pub shared_rank: u32,
    /// Who.
    pub player_id: PlayerId,
    /// The name that people see.
    pub display_name: Arc<str>,
    /// Matches played.
    pub played: u32,
    /// Matches won.
    pub wins: u32,
    /// Matches drawn.
    pub draws: u32,
    /// Matches lost, technical losses among them.
    pub losses: u32,
    /// Matches lost by not playing.
    pub technical_losses: u32,
    /// Points.
    pub points: u32,
    /// Rounds without a match that were paid as a win; only answers to queries tell them.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub byes: u32,
    /// The first rank of a tie that only the ids broke; only answers to queries tell it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tie: Option<u32>,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a reference"
)]
const fn is_zero(count: &u32) -> bool {
    *count == 0
}

impl StandingRow {
    /// The rank as people read it: `=2` if others share it.
    pub fn place(&self) -> String {
        match self.tie {
            Some(first) => format!("={first}"),
            None => self.rank.to_string(),
        }
    }

    /// The same as a number: rows of a tie have one rank.
    pub fn shared_place(&self) -> u32 {
        self.tie.unwrap_or(self.rank)
    }
}

/// A player's record before a match, as it is told to that player.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct WinLossDraw {
    /// Matches won.
    pub wins: u32,
    /// Matches lost.
    pub losses: u32,
    /// Matches drawn.
    pub draws: u32,
}

/// The league is over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeagueCompleted {
    /// Which league.
    pub league_id: LeagueId,
    /// How many rounds were played.
    pub total_rounds: u32,
    /// How many matches were played.
    pub total_matches: u32,
    /// Who came first.
    pub champion: Option<Champion>,
    /// The final table, or the top rows and the receiver's own in a large league.
    pub final_standings: Rows<StandingRow>,
}

/// Who came first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Champion {
    /// Who.
    pub player_id: PlayerId,
    /// The name that people see.
    pub display_name: Arc<str>,
    /// Points.
    pub points: u32,
    /// Matches won.
    pub wins: u32,
    /// Matches lost.
    pub losses: u32,
    /// Matches played.
    pub played: u32,
}

objects! {
    /// A round begins.
    pub(crate) ROUND_ANNOUNCEMENT: RoundAnnouncement = "000 §4.3.1" {
        /// Which league.
        "league_id" [league_id] Expected;
        /// Which round.
        "round_id" [round_id as Round] Needed;
        /// The matches of the round.
        "matches" [slot AnnouncedMatches] Needed;
    }
    /// A match of a round that begins.
    ROUND_MATCH: TokenedMatch = "000 §4.3.1" {
        /// Which match.
        "match_id" [fixture.match_id] Needed;
        /// What is played.
        "game_type" [fixture.game_type] Expected;
        /// Who sits at seat A.
        "player_A_id" [fixture.player_a] Needed;
        /// Who sits at seat B.
        "player_B_id" [fixture.player_b] Needed;
        /// Where its referee answers.
        "referee_endpoint" [fixture.referee_endpoint] Expected;
        /// To a referee that takes the announcement for its order: where seat A answers.
        "player_A_endpoint" [fixture.endpoint_a ?] Optional;
        /// To a referee that takes the announcement for its order: where seat B answers.
        "player_B_endpoint" [fixture.endpoint_b ?] Optional;
        /// The hash of the draw's seed, promised before the round (ruling 27).
        "draw_commitment" [fixture.commitment ? as Quiet] Optional;
        /// In the receiver's own match: the token its referee will show (ruling 25).
        "match_token" [token ?] Optional;
        /// Beside the token: the hash of the referee's own, which it may show instead (000 §8.7.1).
        "referee_token_hash" [referee_token ? as Quiet] Optional;
        /// Beside the token: counts the referees that were told to run this match, from 1.
        "attempt" [attempt ?] Optional;
    }
    /// A round is over.
    pub(crate) ROUND_COMPLETED: RoundCompleted = "000 §4.8.1" {
        /// Which league.
        "league_id" [league_id] Expected;
        /// Which round.
        "round_id" [round_id as Round] Needed;
        /// How many matches were played, as 000 §4.8.1 names it.
        "matches_completed" [second summary.total_matches as Plain] Optional;
        /// How many matches were played, as 000 §8.8 names it.
        "matches_played" [second summary.total_matches as Plain] Optional;
        /// The round that comes next, or null.
        "next_round_id" [next_round_id ? as Round] ExpectedOrNull;
        /// How the matches ended.
        "summary" [inside SUMMARY] Optional;
    }
    /// How the matches of a round ended.
    SUMMARY: RoundCompleted = "000 §4.8.1" {
        /// Matches in all.
        "total_matches" [summary.total_matches] Expected;
        /// Matches won.
        "wins" [summary.wins] Expected;
        /// Matches drawn.
        "draws" [summary.draws] Expected;
        /// Matches lost by not playing.
        "technical_losses" [summary.technical_losses] Expected;
    }
    /// The table, after a round.
    pub(crate) LEAGUE_STANDINGS_UPDATE: StandingsUpdate = "000 §4.7.1" {
        /// Which league.
        "league_id" [league_id] Expected;
        /// After which round.
        "round_id" [round_id as Round] Expected;
        /// The rows.
        "standings" [standings as TableRow] Needed;
    }
    /// One player's row in the table.
    pub(crate) TABLE_ROW: StandingRow = "000 §4.7.1", settle StandingRow::settle {
        /// The place in the table.
        "rank" [rank] Expected;
        /// Who.
        "player_id" [player_id] Needed;
        /// The name that people see.
        "display_name" [display_name] Expected;
        /// Matches played.
        "played" [played] Expected;
        /// Matches won.
        "wins" [wins] Expected;
        /// Matches drawn.
        "draws" [draws] Expected;
        /// Matches lost.
        "losses" [losses] Expected;
        /// Points.
        "points" [points] Expected;
    }
    /// One player's row in the table.
    API_TABLE_ROW: StandingRow = "001 §QUERY_STANDINGS_RESPONSE", settle StandingRow::settle {
        /// The place in the table.
        "rank" [rank] Expected;
        /// Who.
        "player_id" [player_id] Needed;
        /// The name that people see.
        "display_name" [display_name] Optional;
        /// Points.
        "points" [points] Expected;
        /// Matches played.
        "played" [played] Optional;
        /// Matches won.
        "wins" [wins] Expected;
        /// Matches drawn.
        "draws" [draws] Expected;
        /// Matches lost.
        "losses" [losses] Expected;
    }
    /// The league is over.
    pub(crate) LEAGUE_COMPLETED: LeagueCompleted = "000 §4.8.2" {
        /// Which league.
        "league_id" [league_id] Expected;
        /// How many rounds were played.
        "total_rounds" [total_rounds] Expected;
        /// How many matches were played.
        "total_matches" [total_matches] Expected;
        /// Who came first.
        "champion" [champion ? as FirstPlace] ExpectedOrNull;
        /// The final table.
        "final_standings" [final_standings as FinalRow] Needed;
    }
    /// Who came first.
    FIRST_PLACE: Champion = "000 §4.8.2" {
        /// Who.
        "player_id" [player_id] Needed;
        /// The name that people see.
        "display_name" [display_name] Expected;
        /// Points.
        "points" [points] Expected;
    }
    /// One player's row in the final table.
    FINAL_ROW: StandingRow = "000 §4.8.2", settle StandingRow::settle_final {
        /// The place in the table.
        "rank" [rank] Expected;
        /// Who.
        "player_id" [player_id] Needed;
        /// Points.
        "points" [points] Expected;
    }
}

objects! {
    /// The league begins.
    pub(crate) LEAGUE_START_ANNOUNCEMENT: LeagueStart = "003 §LEAGUE_START_ANNOUNCEMENT" {
        /// The UUID of the league.
        "league_id" [league_id] Expected;
        /// The first round.
        "round_id" [= u32, |_, _| Spelling::Whole(1)] Expected;
        /// `ANNOUNCEMENT`
        "match_id" [= String, |_, _| Spelling::text("ANNOUNCEMENT")] Expected;
        /// What will be played.
        "league_info" [inside LEAGUE_INFO] Needed;
    }
    /// What will be played.
    LEAGUE_INFO: LeagueStart = "003 §LEAGUE_START_ANNOUNCEMENT" {
        /// How many rounds there are.
        "total_rounds" [total_rounds] Expected;
        /// How many players there are.
        "total_players" [total_players] Expected;
        /// What is played.
        "game_type" [game_type] Expected;
        /// The rounds, or as many as fit.
        "schedule" [schedule as ScheduledRound] Expected;
    }
    /// One round of the schedule.
    SCHEDULED_ROUND: RoundListing = "003 §LEAGUE_START_ANNOUNCEMENT" {
        /// Which round.
        "round_id" [round_id] Needed;
        /// Its matches.
        "matches" [matches as ScheduledMatch] Needed;
    }
    /// One match of the schedule.
    SCHEDULED_MATCH: MatchListing = "003 §LEAGUE_START_ANNOUNCEMENT" {
        /// Which match.
        "match_id" [match_id] Needed;
        /// Who goes first.
        "player1" [player_a] Needed;
        /// Who goes second.
        "player2" [player_b] Needed;
    }
    /// A round is over.
    pub(crate) ROUND_COMPLETE: RoundCompleted = "003 §ROUND_COMPLETE" {
        /// The UUID of the league.
        "league_id" [league_id] Expected;
        /// Which round.
        "round_id" [round_id] Needed;
        /// `ROUND_SUMMARY`
        "match_id" [= String, |_, _| Spelling::text("ROUND_SUMMARY")] Expected;
        /// How it went.
        "round_summary" [inside V1_SUMMARY] Needed;
    }
    /// How a round went.
    V1_SUMMARY: RoundCompleted = "003 §ROUND_COMPLETE" {
        /// How many matches were played.
        "matches_played" [summary.total_matches] Expected;
        /// The table at its end.
        "standings" [standings as V1Row] Needed;
    }
    /// One player's row in a table.
    V1_ROW: StandingRow = "003 §ROUND_COMPLETE", settle StandingRow::settle_v1 {
        /// The place in the table; equal records share one.
        "rank" [shared_rank] Expected;
        /// Who.
        "player_id" [player_id] Needed;
        /// Matches won.
        "wins" [wins] Expected;
        /// Matches lost.
        "losses" [losses] Expected;
        /// Matches drawn, which 003 leaves out though it has draws.
        "draws" [draws] Optional;
        /// Points, by which the table is ordered (ruling 20).
        "points" [points] Optional;
    }
    /// The league is over.
    pub(crate) LEAGUE_COMPLETE: LeagueCompleted = "003 §LEAGUE_COMPLETE" {
        /// The UUID of the league.
        "league_id" [league_id] Expected;
        /// The last round.
        "round_id" [= u32, |league, _| Spelling::Whole(league.total_rounds)] Expected;
        /// `FINAL_STANDINGS`
        "match_id" [= String, |_, _| Spelling::text("FINAL_STANDINGS")] Expected;
        /// How it ended.
        "final_standings" [inside FINAL_STANDINGS] Needed;
    }
    /// How the league ended.
    FINAL_STANDINGS: LeagueCompleted = "003 §LEAGUE_COMPLETE" {
        /// How many rounds were played.
        "total_rounds" [total_rounds] Expected;
        /// How many matches were played.
        "total_matches" [total_matches] Expected;
        /// Who came first, or null.
        "champion" [champion ? as V1FirstPlace] ExpectedOrNull;
        /// The final table.
        "rankings" [final_standings as V1Row] Needed;
    }
    /// Who came first.
    V1_FIRST_PLACE: Champion = "003 §LEAGUE_COMPLETE", settle Champion::settle_v1 {
        /// Who.
        "player_id" [player_id] Needed;
        /// The name that people see.
        "display_name" [display_name] Expected;
        /// Matches won.
        "wins" [wins] Expected;
        /// Matches lost.
        "losses" [losses] Expected;
        /// Matches won by matches played, to three places.
        "win_rate" [= Number, |champion, _| spell_win_rate(champion)] Expected;
        /// Matches drawn, which 003 leaves out though it has draws.
        "draws" [by u32, |champion, _| Spelling::Whole(champion.draws()),
            |champion, draws| champion.played = draws.is().unwrap_or_default()] Optional;
        /// Points, by which the table is ordered (ruling 20).
        "points" [points] Optional;
    }
}

parts! {
    TableRow: StandingRow = TABLE_ROW;
    ApiTableRow: StandingRow = API_TABLE_ROW;
    FinalRow: StandingRow = FINAL_ROW;
    FirstPlace: Champion = FIRST_PLACE;
    ScheduledRound: RoundListing = SCHEDULED_ROUND;
    ScheduledMatch: MatchListing = SCHEDULED_MATCH;
    V1Row: StandingRow = V1_ROW;
    V1FirstPlace: Champion = V1_FIRST_PLACE;
}

drafts! {
    RoundAnnouncement { league_id, round_id, matches, own }
    TokenedMatch { fixture, token, referee_token, attempt }
    AnnouncedMatch {
        match_id, game_type, player_a, player_b, referee_endpoint,
        endpoint_a, endpoint_b, commitment
    }
    RoundCompleted { league_id, round_id, next_round_id, summary, standings }
    RoundSummary { total_matches, wins, draws, technical_losses }
    StandingsUpdate { league_id, round_id, standings }
    StandingRow {
        rank, shared_rank, player_id, display_name, played, wins, draws, losses, technical_losses,
        points, byes, tie
    }
    LeagueCompleted { league_id, total_rounds, total_matches, champion, final_standings }
    Champion { player_id, display_name, points, wins, losses, played }
    LeagueStart { league_id, total_rounds, total_players, game_type, schedule }
    RoundListing { round_id, matches }
    MatchListing { match_id, game_type, player_a, player_b }
    WinLossDraw { wins, losses, draws }
}

/// The matches of an announcement: the token stands in the receiver's own.
struct AnnouncedMatches;

/// A match with what only its players are told.
struct TokenedMatch {
    fixture: AnnouncedMatch,
    token: Option<AuthToken>,
    referee_token: Option<TokenHash>,
    attempt: Option<u32>,
}

impl Slot<RoundAnnouncement> for AnnouncedMatches {
    fn read(
        &self,
        round: &mut RoundAnnouncement,
        raw: &RawValue,
        at: &Path<'_>,
        cx: &mut Cx<'_>,
    ) -> bool {
        let Some(matches) = read_parts(&ROUND_MATCH, raw, at, cx) else {
            return false;
        };
        round.own = matches.iter().rev().find_map(TokenedMatch::own);
        round.matches = matches.into_iter().map(|row| row.fixture).collect();
        true
    }

    fn spell<'m>(&self, round: &'m RoundAnnouncement, dialect: Dialect) -> Spelling<'m> {
        let write = |fixture: &AnnouncedMatch, own: Option<&OwnMatch>| {
            let row = TokenedMatch {
                fixture: fixture.clone(),
                token: own.map(|own| own.token.clone()),
                referee_token: own.and_then(|own| own.referee_token),
                attempt: own.map(|own| own.attempt),
            };
            ROUND_MATCH.spell(&row, dialect).written()
        };
        let rows = round.matches.iter().enumerate().map(|(place, row)| {
            let own = round.own.as_ref();
            Spelling::Written(match own.filter(|own| own.match_id == row.match_id) {
                None => round
                    .matches
                    .text(&ROUND_MATCH, dialect, place, |row| write(row, None)),
                own => Cow::Owned(write(row, own)),
            })
        });
        Spelling::List(rows.collect())
    }

    fn schema(&self, dialect: Dialect, reading: Reading) -> Json {
        json!({"type": "array", "items": ROUND_MATCH.schema(dialect, reading)})
    }
}

impl TokenedMatch {
    fn own(&self) -> Option<OwnMatch> {
        Some(OwnMatch {
            match_id: self.fixture.match_id.clone(),
            token: self.token.clone()?,
            referee_token: self.referee_token,
            attempt: self.attempt.unwrap_or(1),
        })
    }
}

impl LeagueStart {
    /// 003 names the game once, for all matches.
    pub(crate) fn finish(mut self, _: &RowStates<Self>, _: &mut Cx<'_>) -> Option<Message> {
        let rounds = Arc::make_mut(&mut self.schedule).iter_mut();
        for listing in rounds.flat_map(|round| &mut round.matches) {
            listing.game_type = self.game_type.clone();
        }
        Some(self.into())
    }
}

impl StandingRow {
    fn settle(&mut self, seen: &RowStates<Self>, _: u32) {
        self.shared_rank = self.rank;
        if !seen.has("played") {
            self.played = sum(self.wins, self.draws, self.losses);
        }
    }

    fn settle_final(&mut self, _: &RowStates<Self>, _: u32) {
        self.shared_rank = self.rank;
    }

    /// The order of the rows tells the ranks that are not shared.
    fn settle_v1(&mut self, seen: &RowStates<Self>, place: u32) {
        self.rank = place;
        if !seen.has("rank") {
            self.shared_rank = place;
        }
        self.played = sum(self.wins, self.draws, self.losses);
        if !seen.has("points") {
            self.points = earned(self.wins, self.draws);
        }
    }
}

impl Champion {
    fn draws(&self) -> u32 {
        let decided = self.wins.saturating_add(self.losses);
        self.played.saturating_sub(decided)
    }

    /// Until here `played` holds the draws alone.
    fn settle_v1(&mut self, seen: &RowStates<Self>, _: u32) {
        let draws = self.played;
        self.played = sum(self.wins, draws, self.losses);
        if !seen.has("points") {
            self.points = earned(self.wins, draws);
        }
    }
}

fn sum(wins: u32, draws: u32, losses: u32) -> u32 {
    wins.saturating_add(draws).saturating_add(losses)
}

/// The points of a record by the usual score.
fn earned(wins: u32, draws: u32) -> u32 {
    let score = Score::default();
    let by_draws = draws.saturating_mul(score.draw);
    wins.saturating_mul(score.win).saturating_add(by_draws)
}

fn spell_win_rate(champion: &Champion) -> Spelling<'static> {
    let rate = win_rate(champion.wins, champion.played);
    rate.map_or(Spelling::Absent, |rate| {
        Spelling::Json(Cow::Owned(Json::Number(rate)))
    })
}

/// Matches won by matches played, to three places; 0 where none was played.
fn win_rate(wins: u32, played: u32) -> Option<Number> {
    let (wins, played) = (u64::from(wins), u64::from(played.max(1)));
    let thousandths = u32::try_from((wins * 2_000 + played) / (played * 2)).ok()?;
    Number::from_f64(f64::from(thousandths) / 1_000.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn win_rate_has_three_places_and_is_zero_where_none_was_played() {
        for (wins, played, rate) in [
            (5, 6, "0.833"),
            (0, 0, "0.0"),
            (3, 3, "1.0"),
            (2, 3, "0.667"),
            (1, 16, "0.063"),
        ] {
            assert_eq!(win_rate(wins, played).unwrap().to_string(), rate);
        }
        assert!(win_rate(u32::MAX, 0).is_none());
    }
}
