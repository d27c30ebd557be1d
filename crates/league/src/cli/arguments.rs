//! What every command that touches a league takes, and what it makes of it.

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use league_core::league::LeagueRules;
use league_protocol::id::{GameType, LeagueId};
use league_protocol::sender::Dialect;

use crate::agents::assemble::Shared;
use crate::chance::Chance;
use crate::cli::Output;
use crate::cli::failure::{Failure, Kind, bad_config};
use crate::config::{ConfigLoader, DEFAULT_GAME, LeagueConfig, SystemConfig, league_rules};
use crate::http::endpoint::{BadEndpoint, Endpoint};
use crate::storage::root::{DEFAULT_ROOT, Root};

/// Where the manager of the documents answers.
pub(crate) const USUAL_MANAGER: &str = "http://localhost:8000/mcp";

/// What every command that touches a league takes.
#[derive(Debug, Clone, Args)]
pub(crate) struct Common {
    /// Where config, data and logs lie
    #[arg(long, value_name = "DIR", default_value = DEFAULT_ROOT)]
    pub(crate) root: PathBuf,
    /// How to print
    #[arg(long, value_enum, default_value_t, value_name = "FORM")]
    pub(crate) output: Output,
    /// Print only what was asked for
    #[arg(short, long)]
    pub(crate) quiet: bool,
    /// Log every message that is sent and received, without its content
    #[arg(short, long, action = clap::ArgAction::Count)]
    pub(crate) verbose: u8,
}

impl Common {
    /// The root.
    pub(crate) fn root(&self) -> Root {
        Root::new(&self.root)
    }

    /// Reads the configuration.
    pub(crate) fn config(&self) -> Result<(ConfigLoader, SystemConfig), Failure> {
        let loader = ConfigLoader::new(self.root());
        let system = loader.load_system().map_err(bad_config)?;
        Ok((loader, (*system).clone()))
    }

    /// What the agents of this process share.
    pub(crate) fn shared(
        &self,
        system: &SystemConfig,
        seed: Option<u64>,
    ) -> Result<Shared, Failure> {
        let chance = Chance::new(seed).map_err(|error| Failure {
            what: "could not start".to_owned(),
            cause: error.to_string(),
            hint: "give `--seed N` to do without".to_owned(),
            kind: Kind::World,
        })?;
        Ok(Shared::new(self.root(), system, chance))
    }

    /// The flags that name the same root again, for commands that are printed.
    pub(crate) fn root_flag(&self) -> String {
        root_flag(&self.root)
    }
}

/// The flag that names a root, for commands that are printed.
pub(crate) fn root_flag(root: &Path) -> String {
    if root.as_os_str() == DEFAULT_ROOT {
        return String::new();
    }
    format!(" --root {}", quoted(&root.display().to_string()))
}

/// A word of a command, as a shell has to read it.
pub(crate) fn quoted(word: &str) -> String {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "/._-".contains(letter);
    if word.chars().all(plain) && !word.is_empty() {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

/// Tells of keys in the configuration that nothing reads.
pub(crate) fn tell_unknown_keys(loader: &ConfigLoader) {
    for warning in loader.warnings() {
        tracing::warn!(event_type = "UNKNOWN_KEY", "{warning}");
    }
}

/// The rules of a league; if they do not fit, its file and the key are told.
pub(crate) fn rules_of(
    root: &Root,
    system: &SystemConfig,
    league: &LeagueConfig,
) -> Result<LeagueRules, Failure> {
    league_rules(system, league).map_err(|error| {
        let key = error.key().map(|key| format!("`{key}`: "));
        let failure = bad_config(error);
        let file = root.league(&league.league_id);
        let (file, key) = (file.display(), key.unwrap_or_default());
        Failure {
            cause: format!("`{file}`: {key}{}", failure.cause),
            ..failure
        }
    })
}

/// The league that is meant when none is named: one of the game that is, or as configured.
pub(crate) fn usual_league(system: &SystemConfig, game: Option<&GameType>) -> LeagueId {
    let game = game.filter(|game| game.as_str() != DEFAULT_GAME);
    let of_game = game.and_then(|game| LeagueId::new(format!("league_2025_{game}")).ok());
    of_game.unwrap_or_else(|| system.default_league_id.clone())
}

/// Reads the name of a league.
pub(crate) fn league_id(text: &str) -> Result<LeagueId, String> {
    LeagueId::new(text).map_err(|error| error.to_string())
}

/// Reads the address of a manager; a name in it is looked up now, and never again.
pub(crate) fn manager_url(text: &str) -> Result<String, String> {
    let found = Endpoint::look_up(text).map_err(|error| {
        let cause = no_manager(&error);
        format!("{cause}; give the one that the manager printed, such as `{USUAL_MANAGER}`")
    })?;
    let is_plain = Endpoint::parse(text).is_ok();
    Ok(if is_plain {
        text.to_owned()
    } else {
        found.to_string()
    })
}

/// Why no manager can be called at an address; an example would be a player's.
pub(crate) fn no_manager(error: &BadEndpoint) -> String {
    match error {
        BadEndpoint::Malformed(text) => format!("`{text}` is no address"),
        other => other.to_string(),
    }
}

/// Reads the name of a game.
pub(crate) fn game_type(text: &str) -> Result<GameType, String> {
    let known = league_games::find(text).and_then(|_| GameType::new(text).ok());
    known.ok_or_else(|| {
        let games = games();
        format!("there is no such game; choose one of {games}")
    })
}

/// Reads the name of a dialect.
pub(crate) fn dialect(text: &str) -> Result<Dialect, String> {
    let known = || {
        Dialect::ALL
            .map(|dialect| format!("`{dialect}`"))
            .join(", ")
    };
    Dialect::parse(text)
        .ok_or_else(|| format!("there is no such dialect; choose one of {}", known()))
}

/// The names of all games.
pub(crate) fn games() -> String {
    let games = league_games::all().iter();
    let games = games.map(|listing| format!("`{}`", listing.rules.game_type));
    games.collect::<Vec<_>>().join(", ")
}

/// Reads a duration: `400ms`, `2s`, `1m`.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    let split = text.find(|letter: char| !letter.is_ascii_digit());
    let (number, unit) = text.split_at(split.unwrap_or(text.len()));
    let expected = || format!("`{text}` is no duration; write `400ms`, `2s` or `1m`");
    let number: u64 = number.parse().map_err(|_| expected())?;
    let millis = match unit {
        "ms" => Some(number),
        "s" => number.checked_mul(1_000),
        "m" => number.checked_mul(60_000),
        _ => None,
    };
    millis.map(Duration::from_millis).ok_or_else(expected)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read() {
        assert_eq!(duration("400ms"), Ok(Duration::from_millis(400)));
        assert_eq!(duration("2s"), Ok(Duration::from_secs(2)));
        assert_eq!(duration("1m"), Ok(Duration::from_secs(60)));
        for wrong in ["", "2", "s", "2h", "-1s", "1.5s", "99999999999999999999s"] {
            assert!(duration(wrong).is_err(), "{wrong}");
        }
    }
}
