//! Where the files of a league lie below one root (000 chapters 9 and 11).
//!
//! Ids have been checked when they get here, so none of them can leave its folder.

use std::path::{Path, PathBuf};

use league_protocol::id::{LeagueId, MatchId, PlayerId, RefereeId};

/// The folder of all files of a league; `SHARED` if nobody says otherwise.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Root(PathBuf);

impl Root {
    /// Files below this folder.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self(path.into())
    }

    /// The folder itself.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// The folder of a league's journal and table.
    pub fn league(&self, league: &LeagueId) -> PathBuf {
        self.0.join("data/leagues").join(league.as_str())
    }

    /// The manager's journal.
    pub fn manager_journal(&self, league: &LeagueId) -> PathBuf {
        self.league(league).join("journal.jsonl")
    }

    /// A referee's journal.
    pub fn referee_journal(&self, league: &LeagueId, referee: &RefereeId) -> PathBuf {
        let folder = self.league(league).join("referees").join(referee.as_str());
        folder.join("journal.jsonl")
    }

    /// The file of a match.
    pub fn match_file(&self, league: &LeagueId, match_id: &MatchId) -> PathBuf {
        let folder = self.0.join("data/matches").join(league.as_str());
        folder.join(format!("{match_id}.json"))
    }

    /// A player's journal.
    pub fn player_journal(&self, player: &PlayerId) -> PathBuf {
        let folder = self.0.join("data/players").join(player.as_str());
        folder.join("journal.jsonl")
    }

    /// A file that only its owner may read.
    pub fn secret(&self, league: &LeagueId, name: &str) -> PathBuf {
        let folder = self.0.join("secrets").join(league.as_str());
        folder.join(format!("{name}.json"))
    }
}
