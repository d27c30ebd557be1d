//! The rules of a league, fixed before it begins.

use std::time::Duration;

use league_games::BadSettings;
use league_protocol::id::{GameType, LeagueId};
use league_protocol::message::{Mode, Score};
use league_protocol::secret::DrawMode;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use thiserror::Error;

use super::format::{Format, FormatError, FormatPlan};
use super::schedule::Sides;
use super::tiebreak::Tiebreaker;
use crate::breaker::BreakerRule;
use crate::referee::{MANUAL_LIMIT, MAX_ATTEMPTS};
use crate::timeouts::{CALL_STYLE_TIMEOUT, Timeouts};

/// The least time between two looks for silent agents.
pub const MIN_PROBE_INTERVAL: Duration = Duration::from_millis(100);
/// What a match may take beyond the deadlines of its game.
const MATCH_GRACE: Duration = Duration::from_secs(2 * 60);

/// The rules of one league.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LeagueRules {
    pub league_id: LeagueId,
    pub game_type: GameType,
    /// The game's own settings; `null` for its defaults.
    pub game_settings: Value,
    /// Whether a seat is an advantage in this game, so that sides are balanced.
    pub sides_matter: bool,
    /// What a result is worth.
    pub score: Score,
    /// The fewest players to start with, at least two.
    pub min_players: u32,
    /// The most players that are let in.
    pub max_players: u32,
    /// So many players and referees start the league by themselves.
    pub start_when: Option<(u32, u32)>,
    /// Whether messages are read strictly.
    pub strict: bool,
    pub mode: Mode,
    /// How matches are given to referees.
    pub assignment: Assignment,
    /// So many technical losses in a row end a player's part in the league.
    pub max_fail: u32,
    /// How long to wait and how often to try.
    #[serde(rename = "patience")]
    pub timeouts: Timeouts,
    /// When an agent that fails is left alone.
    pub breaker: BreakerRule,
    /// With more players than this, a broadcast holds what concerns its receiver.
    pub broadcast_limit: usize,
    /// How many rows of the table such a broadcast holds, besides the receiver's own.
    pub top_rows: usize,
    /// How long a token is good.
    pub token_ttl: Duration,
    /// How long a referee may be silent while it runs a match before it is asked whether it is there.
    pub probe_every: Duration,
    /// How long a match may run before it is taken from its referee.
    pub match_limit: Duration,
    /// Where the chance of the draws comes from.
    pub draws: DrawMode,
    /// Whether any referee is let in before the start.
    pub open_referees: bool,
    /// How the table is ordered, the most important first.
    #[serde(default = "usual_order", skip_serializing_if = "is_usual_order")]
    pub tiebreakers: Vec<Tiebreaker>,
    /// How the players are paired.
    #[serde(default, skip_serializing_if = "is_usual_format")]
    pub format: Format,
    /// How many rounds there are; `None` for as many as the format needs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rounds: Option<u32>,
    /// How many games two players have each time they meet; in a bracket, how many a tie has at
    /// most unless it is level.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub legs: u32,
    /// How many groups there are; `None` for as many as suit the players.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub groups: Option<u32>,
    /// After which time no match begins, in a format that ends by time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration: Option<Duration>,
    /// Whether registration stays open after the start.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub late_entry: bool,
    /// Whether only results count whose draw is proven, from any referee.
    pub proven_draws: bool,
    /// The least time from the beginning of a round to that of the next.
    #[serde(default, skip_serializing_if = "Duration::is_zero")]
    pub round_every: Duration,
    /// The least time between two steps of a match.
    #[serde(default, skip_serializing_if = "Duration::is_zero")]
    pub pace: Duration,
    /// How many matches are played at once at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub matches_at_once: Option<u32>,
}

fn usual_order() -> Vec<Tiebreaker> {
    Tiebreaker::USUAL.into()
}

fn is_usual_order(order: &[Tiebreaker]) -> bool {
    order == Tiebreaker::USUAL
}

fn is_usual_format(format: &Format) -> bool {
    *format == Format::default()
}

const fn one() -> u32 {
    1
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a reference"
)]
const fn is_one(legs: &u32) -> bool {
    *legs == 1
}

impl LeagueRules {
    /// The usual rules for a league that plays this game.
    pub fn new(league_id: LeagueId, game_type: GameType) -> Self {
        let listing = league_games::find(game_type.as_str());
        let mut rules = Self {
            league_id,
            sides_matter: listing.is_some_and(|listing| listing.rules.sides_matter),
            game_type,
            game_settings: Value::Null,
            score: Score::default(),
            min_players: 2,
            max_players: 10_000,
            start_when: None,
            strict: false,
            mode: Mode::Auto,
            assignment: Assignment::default(),
            max_fail: 5,
            timeouts: Timeouts::default(),
            breaker: BreakerRule::default(),
            broadcast_limit: 200,
            top_rows: 20,
            token_ttl: Duration::from_secs(24 * 60 * 60),
            probe_every: Duration::from_secs(5),
            match_limit: Duration::ZERO,
            draws: DrawMode::Chance,
            open_referees: false,
            tiebreakers: usual_order(),
            format: Format::default(),
            rounds: None,
            legs: 1,
            groups: None,
            duration: None,
            late_entry: false,
            proven_draws: false,
            round_every: Duration::ZERO,
            pace: Duration::ZERO,
            matches_at_once: None,
        };
        rules.match_limit = rules.longest_match();
        rules
    }

    /// Changes the format; a table in the usual order of the former one takes that of this one.
    pub fn use_format(&mut self, format: Format) {
        if self.tiebreakers == self.format.tiebreakers() {
            self.tiebreakers = format.tiebreakers().into();
        }
        self.format = format;
    }

    /// Changes the settings of the format to the usual ones.
    pub fn forget_format_settings(&mut self) {
        (self.rounds, self.legs) = (None, 1);
        (self.groups, self.duration, self.late_entry) = (None, None, false);
    }

    /// The format and its settings for so many players.
    pub fn plan(&self, players: u32) -> FormatPlan {
        FormatPlan {
            format: self.format,
            players,
            late: 0,
            legs: self.legs,
            rounds: self.rounds,
            groups: self.groups,
            duration: self.duration,
            sides: Sides::for_game(self.sides_matter),
        }
    }

    /// The fewest players to start with, by these rules and by the format.
    pub fn least_players(&self) -> u32 {
        self.min_players.max(self.plan(0).min_players())
    }

    /// Refuses a format that cannot work, with the players that start the league if they are known.
    pub fn check_format(&self) -> Result<(), FormatError> {
        self.plan(0).check_settings()?;
        if self.late_entry && !self.format.takes_late_entrants() {
            return Err(FormatError::LateEntry(self.format.title()));
        }
        match self.start_when {
            // With one expected player the league waits for as many as it needs.
            Some((players, _)) if players > 1 => self.plan(players).check(),
            _ => Ok(()),
        }
    }

    /// Whether a result counts whose draw is only told, by a referee written by the documents.
    pub fn takes_told_draws(&self) -> bool {
        !self.strict && !self.proven_draws
    }

    /// The time of a match whose players use all tries for each answer, and two minutes; twice
    /// what people have for the steps of a match in manual mode.
    pub fn longest_match(&self) -> Duration {
        if self.mode == Mode::Manual {
            return MANUAL_LIMIT * 2;
        }
        let timeouts = &self.timeouts;
        let attempts = timeouts.attempts.clamp(1, MAX_ATTEMPTS);
        let waits: Duration = (1..attempts)
            .map(|failed| timeouts.backoff.longest_wait(failed))
            .sum();
        let asked = |timeout: Duration| {
            (timeout + CALL_STYLE_TIMEOUT) * attempts + waits + timeouts.absence
        };
        let moves = league_games::find(self.game_type.as_str())
            .and_then(|listing| (listing.open)(&self.game_settings).ok())
            .map_or(0, |table| table.max_moves());
        let paused = self.pace * (moves + 2);
        asked(timeouts.join) + asked(timeouts.make_move) * moves + paused + MATCH_GRACE
    }
}

/// How matches are given to referees (003's three ways).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Assignment {
    /// To one after the other.
    #[default]
    RoundRobin,
    /// To the one with the fewest matches in hand.
    LeastLoaded,
    /// To each in proportion to how many it runs at once.
    Weighted,
}

/// Rules that no league can be held by.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum RulesError {
    #[error("game `{0}` does not exist")]
    UnknownGame(GameType),
    /// The game cannot be played with these settings.
    #[error("the settings of the game are invalid")]
    Settings(#[from] BadSettings),
    /// The numbers of players make no league.
    #[error("a league has 2 to `{most}` players, not `{min}` to `{max}`")]
    Players {
        /// The fewest that were asked for.
        min: u32,
        /// The most that were asked for.
        max: u32,
        /// The most there can be.
        most: u32,
    },
    /// Agents would be asked all the time.
    #[error("silent agents are asked every {MIN_PROBE_INTERVAL:?} at most, not every {0:?}")]
    ProbeEvery(Duration),
    /// The format cannot work with these settings.
    #[error(transparent)]
    Format(#[from] FormatError),
}
