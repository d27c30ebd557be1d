//! The other JSON in the documents: files, log lines, registries, fragments.
//!
//! They are not messages, but an explanation should still name them.

use serde_json::value::RawValue;
use serde_json::{Number, Value};

use crate::dialect::Hints;
use crate::finding::{Notes, Path, Reading};
use crate::rpc::members::Members;
use crate::sender::Dialect;
use crate::shape::{Cx, Dict, Object, Spelling, objects};

objects! {
    /// The registry of games.
    GAMES_REGISTRY: () = "000 §3.8.3" {
        /// The games, by type.
        "game_registry" [check Dict<RegisteredGame>] Needed;
    }
    /// A game of the registry.
    REGISTERED_GAME: () = "000 §3.8.3" {
        /// The name that people see.
        "display_name" [check String] Expected;
        /// The kinds of move.
        "move_types" [check Vec<String>] Expected;
        /// The choices of each kind of move.
        "valid_choices" [check Dict<Vec<Value>>] Expected;
        /// The fewest players.
        "min_players" [check u32] Expected;
        /// The most players.
        "max_players" [check u32] Expected;
        /// The module with the rules.
        "rules_module" [check String] Optional;
        /// The longest time a round may take.
        "max_round_time_sec" [check u32] Optional;
    }
    /// The settings of the whole system.
    SYSTEM_CONFIG: () = "000 §9.3.1" {
        /// The version of the file's form.
        "schema_version" [check String] Expected;
        /// The name of the system.
        "system_id" [check String] Needed;
        /// The protocol that is spoken.
        "protocol_version" [check String] Expected;
        /// How long to wait for what.
        "timeouts" [check Dict<Number>] Expected;
        /// How often to try again.
        "retry_policy" [check Value] Expected;
    }
    /// The settings of a league.
    LEAGUE_CONFIG: () = "000 §9.3.3" {
        /// Which league.
        "league_id" [check String] Needed;
        /// What is played.
        "game_type" [check String] Expected;
        /// Whether it is played.
        "status" [check String] Expected;
        /// What a result is worth.
        "scoring" [check Value] Needed;
        /// How many may play.
        "participants" [check Value] Expected;
    }
    /// The file of the standings.
    STANDINGS_FILE: () = "000 §9.4.1" {
        /// The version of the file's form.
        "schema_version" [check String] Expected;
        /// Which league.
        "league_id" [check String] Expected;
        /// How often the file was made anew.
        "version" [check u32] Expected;
        /// Rounds that are over.
        "rounds_completed" [check u32] Expected;
        /// The rows.
        "standings" [check Vec<Value>] Needed;
    }
    /// The file of a player's history.
    PLAYER_HISTORY: () = "000 §9.4.4" {
        /// Who.
        "player_id" [check String] Needed;
        /// The figures.
        "stats" [check Dict<u32>] Needed;
        /// The matches.
        "matches" [check Vec<Value>] Needed;
    }
    /// A line of a log.
    LOG_LINE: () = "000 §5.10 and §9.5" {
        /// When.
        "timestamp" [check String] Needed;
        /// How grave.
        "level" [check String] Needed;
        /// Which part of the system.
        "component" [check String] Optional;
        /// Which agent.
        "agent_id" [check String] Optional;
        /// What kind of event.
        "event_type" [check String] Optional;
        /// Which kind of message.
        "message_type" [check String] Optional;
        /// In which exchange.
        "conversation_id" [check String] Optional;
        /// What happened.
        "message" [check String] Optional;
        /// More about it, as 000 §5.10 names it.
        "data" [check Value] Optional;
        /// More about it, as 000 §9.5 names it.
        "details" [check Value] Optional;
    }
    /// The answer of a health check.
    HEALTH: () = "001 Health Check Endpoint" {
        /// How the agent is.
        "status" [check String] Needed;
        /// Which agent.
        "agent" [check String] Needed;
    }
    /// The course of a game, cut out of a result.
    GAME_SUMMARY: () = "003 Game-Specific Message Fields" {
        /// The course.
        "game_summary" [check Value] Needed;
    }
    /// A JSON Schema.
    JSON_SCHEMA: () = "003 JSON Schema Validation" {
        /// The draft it follows.
        "$schema" [check String] Needed;
        /// What it allows.
        "properties" [check Dict<Value>] Expected;
        /// What it asks for.
        "required" [check Vec<String>] Optional;
        /// The kind of value it describes.
        "type" [check String] Optional;
    }
}

struct RegisteredGame;

impl crate::shape::Value for RegisteredGame {
    fn read(raw: &RawValue, at: &Path<'_>, cx: &mut Cx<'_>) -> Option<Self> {
        REGISTERED_GAME.read(&mut (), raw, at, cx).map(|_| Self)
    }

    fn spell(&self, _: Dialect) -> Spelling<'_> {
        Spelling::Absent
    }

    fn schema(dialect: Dialect, reading: Reading) -> Value {
        REGISTERED_GAME.schema(dialect, reading).into()
    }
}

/// The label of each kind of document, and the members that identify it.
static DOCUMENTS: [(&str, &Object<()>, &[&str]); 9] = [
    ("log line", &LOG_LINE, &["timestamp", "level"]),
    ("games registry", &GAMES_REGISTRY, &["game_registry"]),
    ("system configuration", &SYSTEM_CONFIG, &["system_id"]),
    (
        "league configuration",
        &LEAGUE_CONFIG,
        &["league_id", "scoring"],
    ),
    ("standings file", &STANDINGS_FILE, &["standings", "version"]),
    (
        "player history",
        &PLAYER_HISTORY,
        &["player_id", "stats", "matches"],
    ),
    ("game summary", &GAME_SUMMARY, &["game_summary"]),
    ("JSON Schema", &JSON_SCHEMA, &["$schema"]),
    ("health answer", &HEALTH, &["status", "agent"]),
];

/// Recognises a document by the members that only it has, checks it, and returns its label.
pub(crate) fn recognise(members: &Members<'_>, notes: &mut Notes) -> Option<&'static str> {
    let has_all = |marks: &[&str]| marks.iter().all(|name| members.has(name));
    let mut documents = DOCUMENTS.iter();
    let (label, object, _) = documents.find(|(_, _, marks)| has_all(marks))?;
    let mut cx = Cx {
        dialect: Dialect::V2,
        hints: &Hints::default(),
        notes,
    };
    let at = Path::root(object.clause);
    object.take(&mut (), members.iter(), &at, &mut cx);
    Some(label)
}
