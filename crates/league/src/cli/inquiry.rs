//! Commands that ask a running manager: how they find it, its admin token, and its refusals.

use clap::Args;
use league_protocol::id::LeagueId;
use league_protocol::token::AuthToken;

use crate::cli::arguments::{CommonArgs, USUAL_MANAGER, bad_manager_url, quoted};
use crate::cli::failure::{CommandError, bad_config, chain};
use crate::cli::network::TrustArgs;
use crate::cli::text::count;
use crate::config::{AgentsConfig, ConfigLoader};
use crate::http::client::Client;
use crate::storage::secrets::{LeagueKeys, SecretError};
use crate::wire::ask::{AskError, Health, ManagerClient, State};

/// The hint of a command that reads another folder than its manager.
pub(crate) const OTHER_ROOT: &str = "give the `--root DIR` that this manager was started with";

const WHAT: &str = "could not ask the league manager";

/// The arguments of a command that asks a manager.
#[derive(Debug, Clone, Args)]
pub(crate) struct InquiryArgs {
    #[command(flatten)]
    pub(crate) common: CommonArgs,
    /// Address of the league manager, or several with commas between them [default: from config,
    /// http://localhost:8000/mcp]
    #[arg(long, value_name = "URL")]
    manager: Option<String>,
    #[command(flatten)]
    pub(crate) trust: TrustArgs,
}

impl InquiryArgs {
    /// The same flags, for a printed command.
    pub(crate) fn flags(&self) -> String {
        let manager = self.manager.as_deref();
        let manager = manager.map(|manager| format!(" --manager {}", quoted(manager)));
        manager.unwrap_or_default() + &self.trust.flag() + &self.common.root_flag()
    }

    /// A client of the manager.
    pub(crate) fn client(&self) -> Result<ManagerClient, CommandError> {
        manager_client(&self.common, self.manager.as_deref(), &self.trust)
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

/// A client of the manager: the named one, else the configured one.
///
/// A query leaves no files behind: it reads an existing configuration and writes none.
pub(crate) fn manager_client(
    common: &CommonArgs,
    manager: Option<&str>,
    trust: &TrustArgs,
) -> Result<ManagerClient, CommandError> {
    let root = common.root();
    let client = Client::trusting(trust.load(&root, WHAT)?);
    let endpoint = match manager {
        Some(manager) => manager.to_owned(),
        None if root.agents().exists() => {
            let agents = ConfigLoader::new(root).load_agents().map_err(bad_config)?;
            agents.league_manager.endpoint.clone()
        }
        None => AgentsConfig::default().league_manager.endpoint,
    };
    ManagerClient::new(&endpoint, client).map_err(|error| {
        let hint = format!("give the address that the manager printed, such as `{USUAL_MANAGER}`");
        CommandError::usage(WHAT, bad_manager_url(&error), hint)
    })
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
