//! `config/leagues/<league_id>.json`: the rules of one league (000 §9.3.3, §10.3.4).

use league_core::league::{Assignment, LeagueRules};
use league_protocol::id::{GameType, LeagueId};
use league_protocol::message::{Mode, Score};
use league_protocol::time::Timestamp;
use serde_json::{Map, Value};

use super::error::Wrong;
use super::setting::{Reading, SchemaVersion, Seconds, Setting, settings, words, wrong};

settings! {
    /// The rules of one league.
    pub struct LeagueConfig {
        /// The form of the file.
        schema_version: SchemaVersion = SchemaVersion::default();
        /// Names the league, as the file's name does.
        league_id: LeagueId = super::default_league();
        /// When the file was written.
        last_updated: Timestamp = Timestamp::default();
        /// The name that people see.
        display_name: String = "Even/Odd League".to_owned();
        /// What is played.
        game_type: GameType = super::default_game();
        /// The game's own settings; what is left out keeps the game's default.
        game_settings: Map<String, Value> = Map::new();
        /// Whether the league is held.
        status: LeagueStatus = LeagueStatus::Active;
        /// What a result is worth.
        scoring: ScoringConfig = ScoringConfig::default();
        /// Who may take part, and how many it takes to begin.
        participants: ParticipantsConfig = ParticipantsConfig::default();
        /// How messages are read.
        strictness: Strictness = Strictness::Lenient;
        /// How matches go forward.
        match_mode: MatchMode = MatchMode::Auto;
        /// How matches are given to referees.
        assignment_policy: AssignmentPolicy = AssignmentPolicy::RoundRobin;
        /// So many technical losses in a row end a player's part in the league.
        max_fail: u32 = 5, within 1..=1_000_000;
        /// With more players than this, a broadcast holds what concerns its receiver.
        broadcast_limit: usize = 200, within 0..=1_000_000;
        /// How many rows of the table such a broadcast holds, besides the receiver's own.
        broadcast_top_rows: usize = 20, within 0..=1_000_000;
        /// How long a match may run before it is taken from its referee.
        match_limit_sec: Seconds = Seconds::of(30 * 60), within Seconds::of(1)..=LONGEST;
        /// How long a referee may be silent before it is asked whether it is there.
        probe_interval_sec: Seconds = Seconds::of(5), within Seconds::of_millis(100)..=LONGEST;
    }
}

const LONGEST: Seconds = Seconds::of(7 * 24 * 60 * 60);

words! {
    /// Whether a league is held.
    pub enum LeagueStatus {
        /// It is.
        Active = "ACTIVE",
        /// It is not.
        Inactive = "INACTIVE",
    }
}

words! {
    /// How messages are read (ruling 13).
    pub enum Strictness {
        /// What has a certain meaning is taken.
        Lenient = "lenient",
        /// Nothing is forgiven.
        Strict = "strict",
    }
}

words! {
    /// How matches go forward (ruling 3).
    pub enum MatchMode {
        /// By themselves, to the end.
        Auto = "auto",
        /// Step by step, by `league step` or the tools of the referee.
        Manual = "manual",
    }
}

words! {
    /// How matches are given to referees (ruling 22).
    pub enum AssignmentPolicy {
        /// To one after the other.
        RoundRobin = "round_robin",
        /// To the one with the fewest matches in hand.
        LeastLoaded = "least_loaded",
        /// To each in proportion to how many it runs at once.
        Weighted = "weighted",
    }
}

impl AssignmentPolicy {
    pub(super) const fn rule(self) -> Assignment {
        match self {
            Self::RoundRobin => Assignment::RoundRobin,
            Self::LeastLoaded => Assignment::LeastLoaded,
            Self::Weighted => Assignment::Weighted,
        }
    }
}

settings! {
    /// What a result is worth.
    pub struct ScoringConfig {
        /// Points for a win.
        win_points: u32 = 3, within 0..=1_000;
        /// Points for a draw.
        draw_points: u32 = 1, within 0..=1_000;
        /// Points for a loss.
        loss_points: u32 = 0, within 0..=1_000;
        /// Points for a loss by not playing.
        technical_loss_points: u32 = 0, within 0..=1_000;
        /// What decides between players in turn; there is one order (ruling 20).
        tiebreakers: Tiebreakers = Tiebreakers;
    }
}

/// The order of what decides between players.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tiebreakers;

impl Tiebreakers {
    /// What decides first, second and so on.
    pub const ORDER: [&str; 5] = [
        "points",
        "wins",
        "draw_difference",
        "head_to_head",
        "player_id",
    ];
}

impl serde::Serialize for Tiebreakers {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serde::Serialize::serialize(&Self::ORDER, serializer)
    }
}

impl Setting for Tiebreakers {
    fn expected() -> String {
        format!("`{}` in this order", Self::ORDER.join("`, `"))
    }

    fn read(value: &Value, path: &str, _: &mut Reading) -> Result<Self, Wrong> {
        let found = value.as_array().map(Vec::as_slice).unwrap_or_default();
        if found.iter().eq(Self::ORDER.iter()) {
            Ok(Self)
        } else {
            Err(wrong(path, value, Self::expected()))
        }
    }
}

settings! {
    /// Who may take part, and how many it takes to begin.
    pub struct ParticipantsConfig {
        /// The fewest players to start with.
        min_players: u32 = 2, within 2..=1_000_000;
        /// The most players that are let in.
        max_players: u32 = 10_000, within 2..=1_000_000;
        /// So many players start the league by themselves, with so many referees; 0 for never.
        expected_players: u32 = 4, within 0..=1_000_000;
        /// So many referees start the league by themselves, with so many players; 0 for never.
        expected_referees: u32 = 2, within 0..=1_000_000;
    }
}

impl ParticipantsConfig {
    /// How many players and referees start the league by themselves.
    pub fn start_when(&self) -> Option<(u32, u32)> {
        let (players, referees) = (self.expected_players, self.expected_referees);
        (players > 0 && referees > 0).then_some((players, referees))
    }
}

impl LeagueConfig {
    /// The usual rules for a league of this name, with the range of the draw written out so that
    /// people find it.
    pub fn named(league_id: LeagueId) -> Self {
        Self {
            league_id,
            game_settings: range_of_the_draw(),
            ..Self::default()
        }
    }

    /// The same with another game, if one is named; settings and title are of no other game then.
    pub fn playing(mut self, game: Option<&GameType>) -> Self {
        if let Some(game) = game.filter(|game| **game != self.game_type) {
            self.game_type = game.clone();
            self.game_settings.clear();
            self.display_name = "League".to_owned();
        }
        self
    }

    /// Copies into rules what this file decides.
    pub(super) fn write_rules(&self, rules: &mut LeagueRules) {
        rules.game_settings = Value::Object(self.game_settings.clone());
        rules.score = Score {
            win: self.scoring.win_points,
            draw: self.scoring.draw_points,
            loss: self.scoring.loss_points,
            technical_loss: self.scoring.technical_loss_points,
        };
        rules.min_players = self.participants.min_players;
        rules.max_players = self.participants.max_players;
        rules.start_when = self.participants.start_when();
        rules.strict = self.strictness == Strictness::Strict;
        rules.mode = match self.match_mode {
            MatchMode::Auto => Mode::Auto,
            MatchMode::Manual => Mode::Manual,
        };
        rules.assignment = self.assignment_policy.rule();
        rules.max_fail = self.max_fail;
        rules.broadcast_limit = self.broadcast_limit;
        rules.top_rows = self.broadcast_top_rows;
        rules.match_limit = self.match_limit_sec.duration();
        rules.probe_every = self.probe_interval_sec.duration();
    }
}

fn range_of_the_draw() -> Map<String, Value> {
    let settings = league_games::even_odd::Settings::default();
    match serde_json::to_value(settings) {
        Ok(Value::Object(settings)) => settings,
        _ => Map::new(),
    }
}
