//! What can be wrong with the configuration, told so that it can be mended.

use std::fmt;
use std::io;
use std::path::PathBuf;

use league_core::league::RulesError;
use league_protocol::id::{LeagueId, PlayerId, RefereeId};
use thiserror::Error;

/// Why no configuration can be had.
#[derive(Debug, Error)]
pub enum ConfigError {
    /// A file is there and cannot be read.
    #[error("could not read `{}`", file.display())]
    Unreadable {
        /// Which file.
        file: PathBuf,
        /// What the operating system says.
        source: io::Error,
    },
    /// A file is absent and cannot be written.
    #[error("could not write `{}`", file.display())]
    Unwritable {
        /// Which file.
        file: PathBuf,
        /// What the operating system says.
        source: io::Error,
    },
    /// A file is larger than any configuration.
    #[error("`{}` has more than {limit} bytes", file.display())]
    TooLarge {
        /// Which file.
        file: PathBuf,
        /// The most it may have.
        limit: u64,
    },
    /// A file holds no JSON.
    #[error("`{}` is not JSON", file.display())]
    NotJson {
        /// Which file.
        file: PathBuf,
        /// Where and why.
        source: serde_json::Error,
    },
    /// A value is of the wrong kind or out of range.
    #[error("`{}`: {wrong}", file.display())]
    Wrong {
        /// Which file.
        file: PathBuf,
        /// Which value, what it is and what it should be.
        wrong: Wrong,
    },
    /// No referee has this id.
    #[error("`{}` lists no referee `{referee}`", file.display())]
    UnknownReferee {
        /// Which file.
        file: PathBuf,
        /// Who was asked for.
        referee: RefereeId,
    },
    /// No player has this id.
    #[error("`{}` lists no player `{player}`", file.display())]
    UnknownPlayer {
        /// Which file.
        file: PathBuf,
        /// Who was asked for.
        player: PlayerId,
    },
    /// The league is switched off.
    #[error("league `{0}` is not `ACTIVE`")]
    Inactive(LeagueId),
    /// The values fit one by one, but not together.
    #[error("no league can be held by these rules")]
    Rules(#[from] RulesError),
}

impl ConfigError {
    /// The key of a league's file that is to blame, where the values do not fit together.
    pub fn key(&self) -> Option<&'static str> {
        Some(match self {
            Self::Inactive(_) => "status",
            Self::Rules(RulesError::Settings(_)) => "game_settings",
            Self::Rules(RulesError::UnknownGame(_)) => "game_type",
            Self::Rules(RulesError::Players { .. }) => "participants",
            Self::Rules(RulesError::ProbeEvery(_)) => "probe_interval_sec",
            _ => return None,
        })
    }

    /// What helps, if that is known.
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            Self::Unreadable { source, .. } if source.kind() == io::ErrorKind::NotADirectory => {
                "a file is in the way: choose a folder with `--root`".to_owned()
            }
            Self::Unreadable { .. } => "give this user the right to read the file".to_owned(),
            Self::Unwritable { .. } => {
                "choose a root that can be written with `--root`, or put the file there".to_owned()
            }
            Self::TooLarge { .. } => "put a configuration in its place, or remove it".to_owned(),
            Self::NotJson { source, .. } => format!(
                "look at line {}, or remove the file to have it written anew",
                source.line()
            ),
            Self::Wrong { wrong, .. } => return wrong.hint.clone(),
            Self::UnknownReferee { .. } | Self::UnknownPlayer { .. } => {
                "add it to the list, or use an id that is there".to_owned()
            }
            Self::Inactive(_) => "set `status` to `ACTIVE` in its file".to_owned(),
            Self::Rules(RulesError::Settings(_)) => "mend `game_settings`".to_owned(),
            Self::Rules(RulesError::UnknownGame(_)) => {
                let types = league_games::all().iter();
                let types: Vec<_> = types.map(|listing| listing.rules.game_type).collect();
                format!("set `game_type` to one of `{}`", types.join("`, `"))
            }
            Self::Rules(RulesError::Players { .. }) => "mend `participants`".to_owned(),
            Self::Rules(RulesError::ProbeEvery(_)) => "mend `probe_interval_sec`".to_owned(),
        })
    }
}

/// A value that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wrong {
    /// Where it stands: `timeouts.move_timeout_sec`, `players[2].player_id`; empty for the whole.
    pub path: String,
    /// What was found there, cut short.
    pub found: String,
    /// What should be there.
    pub expected: String,
    /// What helps.
    pub hint: Option<String>,
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            path,
            found,
            expected,
            ..
        } = self;
        if path.is_empty() {
            write!(f, "expected {expected}, found {found}")
        } else {
            write!(f, "`{path}` should be {expected}, but is {found}")
        }
    }
}

/// A key that nothing reads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownKey {
    /// In which file.
    pub file: PathBuf,
    /// Where it stands.
    pub path: String,
    /// The known key that it resembles.
    pub nearest: Option<&'static str>,
}

impl fmt::Display for UnknownKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let file = self.file.display();
        write!(f, "`{file}`: nothing reads the key `{}`", self.path)?;
        match self.nearest {
            Some(nearest) => write!(f, "; did you mean `{nearest}`?"),
            None => Ok(()),
        }
    }
}
