//! The other JSON of the documents: files, log lines, registries, fragments.
//!
//! They are no messages, but a person who asks what a piece of JSON is should be told.

use crate::finding::{Notes, Path, Reading};
use crate::rpc::members::Members;
use crate::shape;
use crate::shape::{Any, Dict, List, Number, Shape, Text, Whole, shape_schema};
use serde_json::{Map, Value};

shape! {
    /// The registry of games.
    GamesRegistry<'a> "000 §3.8.3" {
        /// The games, by type.
        game_registry: Dict<'a, RegisteredGame<'a>>, Needed;
    }
    /// A game of the registry.
    RegisteredGame<'a> "000 §3.8.3" {
        /// The name that people see.
        display_name: Text<'a>, Expected;
        /// The kinds of move.
        move_types: List<'a, Text<'a>>, Expected;
        /// The choices of each kind of move.
        valid_choices: Dict<'a, List<'a, Any<'a>>>, Expected;
        /// The fewest players.
        min_players: Whole, Expected;
        /// The most players.
        max_players: Whole, Expected;
        /// The module with the rules.
        rules_module: Text<'a>, Optional;
        /// The longest time a round may take.
        max_round_time_sec: Whole, Optional;
    }
    /// The settings of the whole system.
    SystemConfig<'a> "000 §9.3.1" {
        /// The version of the file's form.
        schema_version: Text<'a>, Expected;
        /// The name of the system.
        system_id: Text<'a>, Needed;
        /// The protocol that is spoken.
        protocol_version: Text<'a>, Expected;
        /// How long to wait for what.
        timeouts: Dict<'a, Number>, Expected;
        /// How often to try again.
        retry_policy: Any<'a>, Expected;
    }
    /// The settings of a league.
    LeagueConfig<'a> "000 §9.3.3" {
        /// Which league.
        league_id: Text<'a>, Needed;
        /// What is played.
        game_type: Text<'a>, Expected;
        /// Whether it is played.
        status: Text<'a>, Expected;
        /// What a result is worth.
        scoring: Any<'a>, Needed;
        /// How many may play.
        participants: Any<'a>, Expected;
    }
    /// The file of the standings.
    StandingsFile<'a> "000 §9.4.1" {
        /// The version of the file's form.
        schema_version: Text<'a>, Expected;
        /// Which league.
        league_id: Text<'a>, Expected;
        /// How often the file was made anew.
        version: Whole, Expected;
        /// Rounds that are over.
        rounds_completed: Whole, Expected;
        /// The rows.
        standings: List<'a, Any<'a>>, Needed;
    }
    /// The file of a player's history.
    PlayerHistory<'a> "000 §9.4.4" {
        /// Who.
        player_id: Text<'a>, Needed;
        /// The figures.
        stats: Dict<'a, Whole>, Needed;
        /// The matches.
        matches: List<'a, Any<'a>>, Needed;
    }
    /// A line of a log.
    LogLine<'a> "000 §5.10 and §9.5" {
        /// When.
        timestamp: Text<'a>, Needed;
        /// How grave.
        level: Text<'a>, Needed;
        /// Which part of the system.
        component: Text<'a>, Optional;
        /// Which agent.
        agent_id: Text<'a>, Optional;
        /// What kind of event.
        event_type: Text<'a>, Optional;
        /// Which kind of message.
        message_type: Text<'a>, Optional;
        /// In which exchange.
        conversation_id: Text<'a>, Optional;
        /// What happened.
        message: Text<'a>, Optional;
        /// More about it, as 000 §5.10 names it.
        data: Any<'a>, Optional;
        /// More about it, as 000 §9.5 names it.
        details: Any<'a>, Optional;
    }
    /// The answer of a health check.
    Health<'a> "001 Health Check Endpoint" {
        /// How the agent is.
        status: Text<'a>, Needed;
        /// Which agent.
        agent: Text<'a>, Needed;
    }
    /// The course of a game, cut out of a result.
    GameSummary<'a> "003 Game-Specific Message Fields" {
        /// The course.
        game_summary: Any<'a>, Needed;
    }
    /// A JSON Schema.
    JsonSchema<'a> "003 JSON Schema Validation" {
        /// The draft it follows.
        schema = "$schema": Text<'a>, Needed;
        /// What it allows.
        properties: Dict<'a, Any<'a>>, Expected;
        /// What it asks for.
        required: List<'a, Text<'a>>, Optional;
        /// The kind of value it describes.
        kind = "type": Text<'a>, Optional;
    }
}

macro_rules! documents {
    ($($variant:ident, $label:literal, [$($mark:literal),*];)*) => {
        /// JSON that is no message.
        #[derive(Debug, Clone)]
        pub enum Document<'a> {
            $(#[doc = concat!("A ", $label, ".")] $variant($variant<'a>),)*
        }

        impl<'a> Document<'a> {
            /// Recognises a document by the fields that only it has.
            pub fn recognise(members: &Members<'a>, notes: &mut Notes) -> Option<Self> {
                $(if [$($mark),*].iter().all(|name| members.has(name)) {
                    let at = Path::root($variant::CLAUSE);
                    return Some(Self::$variant($variant::take(members.clone(), &at, notes)));
                })*
                None
            }

            /// Describes a kind of document as JSON Schema.
            pub fn schema(label: &str, reading: Reading) -> Option<Map<String, Value>> {
                match label {
                    $($label => Some(shape_schema::<$variant<'_>>(reading)),)*
                    _ => None,
                }
            }

            /// What it is, in a word.
            pub fn label(&self) -> &'static str {
                match self { $(Self::$variant(_) => $label,)* }
            }
        }

        impl serde::Serialize for Document<'_> {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                match self { $(Self::$variant(document) => document.serialize(serializer),)* }
            }
        }
    };
}

documents! {
    LogLine, "log line", ["timestamp", "level"];
    GamesRegistry, "games registry", ["game_registry"];
    SystemConfig, "system configuration", ["system_id"];
    LeagueConfig, "league configuration", ["league_id", "scoring"];
    StandingsFile, "standings file", ["standings", "version"];
    PlayerHistory, "player history", ["player_id", "stats", "matches"];
    GameSummary, "game summary", ["game_summary"];
    JsonSchema, "JSON Schema", ["$schema"];
    Health, "health answer", ["status", "agent"];
}
