//! Commands that ask a running manager: how they find it, what they read of its league, its admin
//! token, and its refusals.

use clap::Args;
use league_protocol::id::LeagueId;
use league_protocol::message::StandingRow;
use league_protocol::token::AuthToken;

use crate::cli::arguments::{CommonArgs, USUAL_MANAGER, bad_manager_url, quoted};
use crate::cli::failure::{CommandError, bad_config, chain};
use crate::cli::network::TrustArgs;
use crate::cli::stored::last_state;
use crate::cli::text::count;
use crate::config::{AgentsConfig, ConfigLoader};
use crate::http::client::Client;
use crate::storage::root::Root;
use crate::storage::secrets::{LeagueKeys, SecretError};
use crate::wire::ask::{AskError, Health, ManagerClient, State};

/// The hint of a command that reads another folder than its manager.
pub(crate) const OTHER_ROOT: &str = "give the `--root DIR` that this manager was started with";

const WHAT: &str = "could not ask the league manager";

/// The arguments of a command that asks a manager.
#[derive(Debug, Clone, Args)]
pub(crate) struct InquiryArgs {
    /// Manager, or several with commas between [default: config]
    #[arg(long, value_name = "URL")]
    manager: Option<String>,
    #[command(flatten)]
    trust: TrustArgs,
    #[command(flatten)]
    pub(crate) common: CommonArgs,
}

impl InquiryArgs {
    /// The same flags, for a printed command.
    pub(crate) fn flags(&self) -> String {
        let manager = self.manager.as_deref();
        let manager = manager.map(|manager| format!(" --manager {}", quoted(manager)));
        manager.unwrap_or_default() + &self.trust.flag() + &self.common.root_flag()
    }

    /// A client of the manager: the named one, else the configured one.
    ///
    /// A query leaves no files behind: it reads an existing configuration and writes none.
    pub(crate) fn client(&self) -> Result<ManagerClient, CommandError> {
        let root = self.common.root();
        let client = Client::trusting(self.trust.load(&root, WHAT)?);
        let endpoint = match &self.manager {
            Some(manager) => manager.clone(),
            None if root.agents().exists() => {
                let agents = ConfigLoader::new(root).load_agents().map_err(bad_config)?;
                agents.league_manager.endpoint.clone()
            }
            None => AgentsConfig::default().league_manager.endpoint,
        };
        ManagerClient::new(&endpoint, client).map_err(|error| {
            let hint =
                format!("give the address that the manager printed, such as `{USUAL_MANAGER}`");
            CommandError::usage(WHAT, bad_manager_url(&error), hint)
        })
    }

    /// The administrator's token, which the manager keeps below its root.
    pub(crate) fn admin_token(&self, league: &LeagueId) -> Result<AuthToken, CommandError> {
        let root = self.common.root.display();
        let what = format!("could not use the administrator's token of league `{league}`");
        match LeagueKeys::load(&self.common.root(), league) {
            Ok(Some(keys)) => Ok(keys.admin),
            Ok(None) => {
                let cause = format!("there is no key of this league below `{root}`");
                Err(CommandError::usage(what, cause, OTHER_ROOT))
            }
            Err(error) => {
                let hint = match &error {
                    SecretError::File { .. } => "run this command as the user of the manager",
                    SecretError::Content { .. }
                    | SecretError::Missing { .. }
                    | SecretError::Another { .. } => OTHER_ROOT,
                };
                Err(CommandError::world(what, chain(&error), hint))
            }
        }
    }
}

/// A league as its manager reports it.
#[derive(Debug)]
pub(crate) struct LeagueSnapshot {
    pub(crate) health: Health,
    pub(crate) rows: Vec<StandingRow>,
}

/// Reads the table of a running league again and again.
#[derive(Debug)]
pub(crate) struct LeagueReader {
    pub(crate) manager: ManagerClient,
    /// The files of the league, if they are here.
    root: Root,
    /// The league when the manager last answered.
    pub(crate) seen: Option<LeagueSnapshot>,
    /// Why the manager does not answer now.
    pub(crate) away: Option<String>,
}

impl LeagueReader {
    pub(crate) const fn new(manager: ManagerClient, root: Root) -> Self {
        Self {
            manager,
            root,
            seen: None,
            away: None,
        }
    }

    pub(crate) fn is_over(&self) -> bool {
        let seen = self.seen.as_ref();
        seen.is_some_and(|seen| seen.health.state == State::Completed)
    }

    /// Asks once; gives whether there is news. If the manager does not answer, the files of the
    /// league may hold its end: `league run` exits after its last match.
    pub(crate) async fn look(&mut self) -> bool {
        let seen = match self.ask().await {
            Ok(None) => return false,
            Ok(Some(seen)) => seen,
            Err(error) => match self.last_snapshot() {
                Some(seen) => seen,
                // The first cause is more informative than its consequences.
                None if self.away.is_some() => return false,
                None => {
                    self.away = Some(error.to_string());
                    return true;
                }
            },
        };
        self.seen = Some(seen);
        self.away = None;
        true
    }

    fn last_snapshot(&self) -> Option<LeagueSnapshot> {
        let seen = self.seen.as_ref()?;
        let (health, rows) = last_state(&self.root, &seen.health)?;
        Some(LeagueSnapshot { health, rows })
    }

    /// Asks for the standings only after a change, because they can be large.
    async fn ask(&self) -> Result<Option<LeagueSnapshot>, AskError> {
        let health = self.manager.health().await?;
        let same = |seen: &LeagueSnapshot| seen.health == health && self.away.is_none();
        if self.seen.as_ref().is_some_and(same) {
            return Ok(None);
        }
        let rows = self.manager.standings().await?;
        Ok(Some(LeagueSnapshot { health, rows }))
    }
}

/// A question that the manager did not answer.
pub(crate) fn unanswered(what: &str, manager: &ManagerClient, error: &AskError) -> CommandError {
    let endpoint = manager.endpoint();
    match error {
        AskError::Away(away) => CommandError::world(
            what,
            format!("no league manager answers at {endpoint}: {away}"),
            "start one with `league manager`, or name another with `--manager URL`",
        ),
        AskError::Unclear(_) => CommandError::world(
            what,
            format!("at {endpoint}: {error}"),
            "give the address that the manager printed",
        ),
        AskError::Refused { sentence, .. } => CommandError::refused(what, sentence, OTHER_ROOT),
    }
}

/// The progress of a league in one line.
pub(crate) fn progress(health: &Health) -> String {
    let league = format!("{} · {}", health.league_id, health.game_type);
    let matches = count(health.matches, "match");
    let uncounted = match health.matches_not_counted {
        0 => String::new(),
        uncounted => format!(", {uncounted} of them not counted"),
    };
    let played = format!("{} of {matches} played{uncounted}", health.matches_played);
    match health.state {
        State::Registering => {
            let players = count(health.players.into(), "player");
            let referees = count(health.referees.into(), "referee");
            format!("{league} · registering · {players}, {referees}")
        }
        State::Running => {
            let round = health.round_id.unwrap_or(1);
            let paused = if health.paused { " · paused" } else { "" };
            let rounds = health.rounds;
            format!("{league} · round {round} of {rounds}{paused} · {played}")
        }
        State::Completed if health.matches_played < health.matches => {
            let (round, rounds) = (health.round_id.unwrap_or(0), health.rounds);
            format!("{league} · ended early in round {round} of {rounds}, {played}")
        }
        State::Completed => {
            let rounds = count(health.rounds.into(), "round");
            format!("{league} · over after {rounds} · {played}")
        }
    }
}
