//! Arguments that several commands share, and how values on the command line are read.

use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use league_core::league::LeagueRules;
use league_core::league::format::{Format, RoundRobin};
use league_protocol::id::{GameType, LeagueId, MatchId, PlayerId};
use league_protocol::sender::Dialect;

use crate::agents::assemble::Shared;
use crate::chance::Chance;
use crate::cli::Output;
use crate::cli::failure::{CommandError, bad_config, too_few_descriptors};
pub(crate) use crate::clock::{duration, moment};
use crate::config::{ConfigLoader, DEFAULT_GAME, LeagueConfig, SystemConfig, league_rules};
use crate::http::descriptors::Descriptors;
use crate::http::endpoint::{BadEndpoint, Endpoint};
use crate::http::tls::Tls;
use crate::storage::root::{DEFAULT_ROOT, Root};

/// Where the manager of the documents answers.
pub(crate) const USUAL_MANAGER: &str = "http://localhost:8000/mcp";

/// The arguments of every command that touches a league.
#[derive(Debug, Clone, Args)]
pub(crate) struct CommonArgs {
    /// Folder of config, data and logs
    #[arg(long, value_name = "DIR", default_value = DEFAULT_ROOT)]
    pub(crate) root: PathBuf,
    /// Output format
    #[arg(long, value_enum, default_value_t, value_name = "FORM")]
    pub(crate) output: Output,
    /// Print only the result
    #[arg(short, long)]
    pub(crate) quiet: bool,
    /// Log every message, without its content
    #[arg(short, long, action = clap::ArgAction::Count)]
    pub(crate) verbose: u8,
}

impl CommonArgs {
    pub(crate) fn root(&self) -> Root {
        Root::new(&self.root)
    }

    /// Whether to print text for people beyond the result.
    pub(crate) fn talks(&self) -> bool {
        self.output == Output::Text && !self.quiet
    }

    /// Loads the configuration.
    pub(crate) fn config(&self) -> Result<(ConfigLoader, SystemConfig), CommandError> {
        let loader = ConfigLoader::new(self.root());
        let system = loader.load_system().map_err(bad_config)?;
        Ok((loader, (*system).clone()))
    }

    /// What so many agents in this process share, on so many listeners.
    pub(crate) fn shared(
        &self,
        system: &SystemConfig,
        tls: &Tls,
        seed: Option<u64>,
        (agents, listeners): (usize, usize),
    ) -> Result<Shared, CommandError> {
        let descriptors = Descriptors::of(agents, listeners);
        let descriptors = descriptors.map_err(|error| too_few_descriptors(&error))?;
        let chance = Chance::new(seed).map_err(|error| {
            let hint = "give a seed with `--seed N`";
            CommandError::world("could not start", error.to_string(), hint)
        })?;
        Ok(Shared::new(self.root(), system, tls, chance, descriptors))
    }

    /// The flag that names the same root in a printed command.
    pub(crate) fn root_flag(&self) -> String {
        root_flag(&self.root)
    }
}

/// Loads the configuration below a root if it exists; a command that only reads writes none.
pub(crate) fn existing_config(root: &Root) -> Result<SystemConfig, CommandError> {
    if !root.system().exists() {
        return Ok(SystemConfig::default());
    }
    let system = ConfigLoader::new(root.clone()).load_system();
    Ok((*system.map_err(bad_config)?).clone())
}

/// The flag that names a root in a printed command.
pub(crate) fn root_flag(root: &Path) -> String {
    if root.as_os_str() == DEFAULT_ROOT {
        return String::new();
    }
    format!(" --root {}", quoted(&root.display().to_string()))
}

/// A word of a printed command, quoted for a shell.
pub(crate) fn quoted(word: &str) -> String {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "/._-:".contains(letter);
    if word.chars().all(plain) && !word.is_empty() {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

/// Warns of keys in the configuration that the program does not read.
pub(crate) fn warn_of_unknown_keys(loader: &ConfigLoader) {
    for warning in loader.warnings() {
        tracing::warn!(event_type = "UNKNOWN_KEY", "{warning}");
    }
}

/// The rules of a league; an error names its file and the key.
pub(crate) fn rules_of(
    root: &Root,
    system: &SystemConfig,
    league: &LeagueConfig,
) -> Result<LeagueRules, CommandError> {
    league_rules(system, league).map_err(|error| {
        let key = error.key().map(|key| format!("`{key}`: "));
        let file = root.league(&league.league_id);
        let place = format!("`{}`: {}", file.display(), key.unwrap_or_default());
        bad_config(error).with_cause(|cause| format!("{place}{cause}"))
    })
}

/// The league that is meant when none is named: the league of the game, else the configured one.
pub(crate) fn usual_league(system: &SystemConfig, game: Option<&GameType>) -> LeagueId {
    let game = game.filter(|game| game.as_str() != DEFAULT_GAME);
    let of_game = game.and_then(|game| LeagueId::new(format!("league_2025_{game}")).ok());
    of_game.unwrap_or_else(|| system.default_league_id.clone())
}

pub(crate) fn league_id(text: &str) -> Result<LeagueId, String> {
    LeagueId::new(text).map_err(|error| error.to_string())
}

pub(crate) fn player_id(text: &str) -> Result<PlayerId, String> {
    PlayerId::new(text).map_err(|error| error.to_string())
}

pub(crate) fn match_id(text: &str) -> Result<MatchId, String> {
    MatchId::new(text).map_err(|error| error.to_string())
}

/// Reads the addresses of a manager, with commas between them; names in them are resolved now, and
/// never again.
pub(crate) fn manager_url(text: &str) -> Result<Endpoint, String> {
    Endpoint::of_managers(text).map_err(|error| {
        let cause = bad_manager_url(&error);
        format!("{cause}; give the address that the manager printed, such as `{USUAL_MANAGER}`")
    })
}

/// Why an address is not a manager's; the error's own example would be a player's address.
pub(crate) fn bad_manager_url(error: &BadEndpoint) -> String {
    match error {
        BadEndpoint::Malformed(text) => format!("`{text}` is not an address"),
        other => other.to_string(),
    }
}

/// The game of a command that works without a league.
#[derive(Debug, Args)]
pub(crate) struct GameArgs {
    /// The game, as `league games` lists them
    #[arg(long, value_name = "NAME", value_parser = game_type, default_value = DEFAULT_GAME)]
    pub(crate) game: GameType,
}

pub(crate) fn game_type(text: &str) -> Result<GameType, String> {
    let known = league_games::find(text).and_then(|_| GameType::new(text).ok());
    known.ok_or_else(|| format!("unknown game; choose one of {}", games()))
}

pub(crate) fn dialect(text: &str) -> Result<Dialect, String> {
    Dialect::parse(text).ok_or_else(|| {
        let known = Dialect::ALL.map(|dialect| format!("`{dialect}`"));
        format!("unknown dialect; choose one of {}", known.join(", "))
    })
}

/// The names of all games.
pub(crate) fn games() -> String {
    let games = league_games::all().iter();
    let games = games.map(|listing| format!("`{}`", listing.rules.game_type));
    games.collect::<Vec<_>>().join(", ")
}

/// How the players are paired.
#[derive(Debug, Clone, Copy, Default, Args)]
pub(crate) struct FormatArgs {
    /// How players are paired; see `league plan` [default: config]
    #[arg(
        long,
        value_name = "NAME",
        value_parser = |text: &str| Format::find(text)
            .ok_or_else(|| format!("unknown format; choose one of {}", formats()))
    )]
    pub(crate) format: Option<Format>,
    /// How many rounds are played [default: config, as needed]
    #[arg(long, value_name = "N", value_parser = number::<u32>(1..=1_000_000))]
    pub(crate) rounds: Option<u32>,
    /// Games of two players each time they meet [default: config]
    #[arg(long, value_name = "N", value_parser = number::<u32>(1..=u64::from(RoundRobin::MAX_LEGS)))]
    pub(crate) legs: Option<u32>,
    /// Groups before the knockout [default: config, as needed]
    #[arg(long, value_name = "N", value_parser = number::<u32>(2..=1_000_000))]
    pub(crate) groups: Option<u32>,
    /// How long a ladder or an arena goes on [default: config]
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    pub(crate) duration: Option<Duration>,
}

impl FormatArgs {
    /// Changes the rules; another format than before does not keep its settings.
    pub(crate) fn settle(&self, rules: &mut LeagueRules) {
        if let Some(format) = self.format.filter(|format| *format != rules.format) {
            rules.use_format(format);
            rules.forget_format_settings();
        }
        rules.rounds = self.rounds.or(rules.rounds);
        rules.legs = self.legs.unwrap_or(rules.legs);
        rules.groups = self.groups.or(rules.groups);
        rules.duration = self.duration.or(rules.duration);
    }
}

/// Refuses a format that cannot work with the expected players.
pub(crate) fn check_format(rules: &LeagueRules) -> Result<(), CommandError> {
    rules.check_format().map_err(|error| {
        CommandError::usage(
            "could not pair the players",
            error.to_string(),
            "change `--format`, its settings or `--players`",
        )
    })
}

fn formats() -> String {
    let names = Format::all().map(|format| format!("`{}`", format.name()));
    names.collect::<Vec<_>>().join(", ")
}

/// Reads a whole number within bounds.
pub(crate) fn number<T: TryFrom<u64>>(
    allowed: RangeInclusive<u64>,
) -> impl Fn(&str) -> Result<T, String> + Clone {
    move |text| {
        let number = text.parse().ok().filter(|number| allowed.contains(number));
        number
            .and_then(|number| T::try_from(number).ok())
            .ok_or_else(|| {
                let (least, most) = (allowed.start(), allowed.end());
                format!("give a whole number from {least} to {most}")
            })
    }
}

/// Reads a port; 0 for any.
pub(crate) fn port(text: &str) -> Result<u16, String> {
    number(0..=u16::MAX.into())(text)
}

/// Reads the seed of all randomness.
pub(crate) fn seed(text: &str) -> Result<u64, String> {
    number(0..=u64::MAX)(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn number_within_its_bounds_is_taken() {
        let count = number::<u32>(1..=9);
        assert_eq!((count("1"), count("9")), (Ok(1), Ok(9)));
        for wrong in ["", "0", "10", "-1", "x", "1.5", "99999999999999999999"] {
            let told = "give a whole number from 1 to 9".to_owned();
            assert_eq!(count(wrong), Err(told), "{wrong}");
        }
    }

    #[test]
    fn manager_is_found_without_scheme_and_path() {
        let read = |text: &str| manager_url(text).map(|found| found.to_string());
        for short in [
            "localhost:8000",
            "localhost:8000/",
            "http://localhost:8000",
            USUAL_MANAGER,
        ] {
            assert_eq!(read(short), Ok(USUAL_MANAGER.to_owned()), "{short}");
        }
        for whole in [
            "http://localhost:8000/agents/mcp",
            "https://127.0.0.1:8000/mcp",
        ] {
            assert_eq!(read(whole), Ok(whole.to_owned()));
        }
        for wrong in [
            "",
            "ftp://localhost:8000",
            "localhost:port",
            "local host:8000",
        ] {
            assert!(manager_url(wrong).is_err(), "{wrong}");
        }
    }
}
