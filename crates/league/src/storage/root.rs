//! The path of each file below the root of a league (000 chapters 9 and 11).
//!
//! Only ids become part of a path, and every id has been validated (ruling 28). Other modules
//! define the content of the files and write them.

use std::path::{Path, PathBuf};

use league_protocol::id::{LeagueId, MatchId, PlayerId, RefereeId};

/// The root used when none is named.
pub const DEFAULT_ROOT: &str = "SHARED";

/// The folder that holds all files of a league.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Root(PathBuf);

impl Default for Root {
    fn default() -> Self {
        Self::new(DEFAULT_ROOT)
    }
}

impl Root {
    /// Takes a folder, which need not exist yet.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self(folder.into())
    }

    pub fn as_path(&self) -> &Path {
        &self.0
    }

    /// The global settings.
    pub fn system(&self) -> PathBuf {
        self.0.join("config/system.json")
    }

    /// The register of agents.
    pub fn agents(&self) -> PathBuf {
        self.0.join("config/agents/agents_config.json")
    }

    /// The settings of a league.
    pub fn league(&self, league: &LeagueId) -> PathBuf {
        self.0.join(format!("config/leagues/{league}.json"))
    }

    /// The register of games.
    pub fn games_registry(&self) -> PathBuf {
        self.0.join("config/games/games_registry.json")
    }

    /// The default values of a referee.
    pub fn referee_defaults(&self) -> PathBuf {
        self.0.join("config/defaults/referee.json")
    }

    /// The default values of a player.
    pub fn player_defaults(&self) -> PathBuf {
        self.0.join("config/defaults/player.json")
    }

    /// The folder of a league's manager.
    pub fn league_folder(&self, league: &LeagueId) -> PathBuf {
        self.0.join(format!("data/leagues/{league}"))
    }

    /// The journal of a league's manager.
    pub fn league_journal(&self, league: &LeagueId) -> PathBuf {
        self.league_folder(league).join("journal.jsonl")
    }

    /// The players of a league of `league run`, and their ports.
    pub fn seats(&self, league: &LeagueId) -> PathBuf {
        self.league_folder(league).join("run.json")
    }

    /// The standings of a league.
    pub fn standings(&self, league: &LeagueId) -> PathBuf {
        self.league_folder(league).join("standings.json")
    }

    /// The rounds of a league.
    pub fn rounds(&self, league: &LeagueId) -> PathBuf {
        self.league_folder(league).join("rounds.json")
    }

    /// The observations of a league's processes about its agents.
    pub fn observed_folder(&self, league: &LeagueId) -> PathBuf {
        self.league_folder(league).join("observed")
    }

    /// The folders of a league's referees.
    pub fn referees_folder(&self, league: &LeagueId) -> PathBuf {
        self.league_folder(league).join("referees")
    }

    /// The journal of a referee in a league.
    pub fn referee_journal(&self, league: &LeagueId, referee: &RefereeId) -> PathBuf {
        let folder = self.referees_folder(league);
        folder.join(referee.as_str()).join("journal.jsonl")
    }

    /// The matches of a league.
    pub fn matches_folder(&self, league: &LeagueId) -> PathBuf {
        self.0.join(format!("data/matches/{league}"))
    }

    /// One match of a league.
    pub fn match_file(&self, league: &LeagueId, match_id: &MatchId) -> PathBuf {
        self.matches_folder(league).join(format!("{match_id}.json"))
    }

    /// The matches of one round and one referee, a line each; for leagues of very many matches.
    pub fn round_of_matches(&self, league: &LeagueId, round: u32, referee: &RefereeId) -> PathBuf {
        let name = format!("round_{round}.{referee}.jsonl");
        self.matches_folder(league).join(name)
    }

    /// The folders of all players.
    pub fn players_folder(&self) -> PathBuf {
        self.0.join("data/players")
    }

    /// The journal of a player.
    pub fn player_journal(&self, player: &PlayerId) -> PathBuf {
        let folder = self.players_folder().join(player.as_str());
        folder.join("journal.jsonl")
    }

    /// The memory of a player.
    pub fn history(&self, player: &PlayerId) -> PathBuf {
        let folder = self.players_folder().join(player.as_str());
        folder.join("history.json")
    }

    /// The notes of a player about its language model.
    pub fn model_notes(&self, player: &PlayerId) -> PathBuf {
        let folder = self.players_folder().join(player.as_str());
        folder.join("model.jsonl")
    }

    /// The secret files of a league: tokens and the league's secret.
    pub fn secrets_folder(&self, league: &LeagueId) -> PathBuf {
        self.0.join(format!("secrets/{league}"))
    }

    /// The log lines of a league.
    pub fn league_log(&self, league: &LeagueId) -> PathBuf {
        self.0
            .join(format!("logs/league/{league}/league.log.jsonl"))
    }

    /// The folder of the logs of a league's components.
    pub fn league_logs(&self, league: &LeagueId) -> PathBuf {
        self.0.join(format!("logs/league/{league}"))
    }

    /// The standard error of a player's bot.
    pub fn bot_complaints(&self, player: &PlayerId) -> PathBuf {
        self.0.join(format!("logs/bots/{player}.stderr.log"))
    }

    /// The folder of the logs of agents.
    pub fn agent_logs(&self) -> PathBuf {
        self.0.join("logs/agents")
    }

    /// The log lines that belong to neither a league nor an agent.
    pub fn system_log(&self) -> PathBuf {
        self.system_logs().join("orchestrator.log.jsonl")
    }

    /// The folder of the logs of components that serve no league.
    pub fn system_logs(&self) -> PathBuf {
        self.0.join("logs/system")
    }
}
