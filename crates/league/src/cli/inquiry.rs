//! What the commands share that ask a running manager.

use league_protocol::id::LeagueId;
use league_protocol::token::AuthToken;

use crate::cli::arguments::{Common, USUAL_MANAGER, no_manager};
use crate::cli::failure::{Failure, Kind, bad_config, chain};
use crate::cli::text::count;
use crate::config::{AgentsConfig, ConfigLoader};
use crate::storage::secrets::{LeagueKeys, SecretError};
use crate::wire::ask::{AskError, Health, ManagerClient, State};

/// Finds the manager: the one that is named, else the one of the configuration.
///
/// Whoever only asks leaves no files behind, so that a configuration is read where there is one and
/// written nowhere.
pub(crate) fn inquirer(common: &Common, manager: Option<&str>) -> Result<ManagerClient, Failure> {
    let root = common.root();
    let named = match manager {
        Some(manager) => manager.to_owned(),
        None if root.agents().exists() => {
            let agents = ConfigLoader::new(root).load_agents().map_err(bad_config)?;
            agents.league_manager.endpoint.clone()
        }
        None => AgentsConfig::default().league_manager.endpoint,
    };
    ManagerClient::new(&named).map_err(|error| Failure {
        what: "could not ask the league manager".to_owned(),
        cause: no_manager(&error),
        hint: format!("give the address that the manager printed, such as `{USUAL_MANAGER}`"),
        kind: Kind::Use,
    })
}

/// The administrator's token, which the manager keeps below its root.
pub(crate) fn admin(common: &Common, league: &LeagueId) -> Result<AuthToken, Failure> {
    let root = common.root.display();
    let what = format!("could not use the administrator's token of league `{league}`");
    let elsewhere = "name the folder that this manager was started with: `--root DIR`";
    match LeagueKeys::load(&common.root(), league) {
        Ok(Some(keys)) => Ok(keys.admin),
        Ok(None) => Err(Failure {
            what,
            cause: format!("there is no key of this league below `{root}`"),
            hint: elsewhere.to_owned(),
            kind: Kind::Use,
        }),
        Err(error) => Err(Failure {
            what,
            cause: chain(&error),
            hint: match &error {
                SecretError::File { .. } => "ask as the user who runs the manager".to_owned(),
                SecretError::Content { .. }
                | SecretError::Missing { .. }
                | SecretError::Another { .. } => elsewhere.to_owned(),
            },
            kind: Kind::World,
        }),
    }
}

/// A question that got no answer.
pub(crate) fn unanswered(what: &str, inquirer: &ManagerClient, error: &AskError) -> Failure {
    let endpoint = inquirer.endpoint();
    let (cause, hint, kind) = match error {
        AskError::Away(away) => (
            format!("no league manager answers at {endpoint}: {away}"),
            "start one with `league manager`, or name another with `--manager URL`",
            Kind::World,
        ),
        AskError::Unclear(_) => (
            format!("at {endpoint}: {error}"),
            "give the address that the manager printed",
            Kind::World,
        ),
        AskError::Refused { sentence, .. } => (
            sentence.clone(),
            "name the folder that this manager was started with: `--root DIR`",
            Kind::No,
        ),
    };
    Failure {
        what: what.to_owned(),
        cause,
        hint: hint.to_owned(),
        kind,
    }
}

/// How far a league is, in a line.
pub(crate) fn progress(health: &Health) -> String {
    let Health {
        league_id,
        game_type,
        rounds,
        matches_played,
        matches,
        ..
    } = health;
    let league = format!("{league_id} · {game_type}");
    let played = format!("{matches_played} of {} played", count(*matches, "match"));
    match health.state {
        State::Registering => {
            let players = count(health.players.into(), "player");
            let referees = count(health.referees.into(), "referee");
            format!("{league} · registering · {players}, {referees}")
        }
        State::Running => {
            let round = health.round_id.unwrap_or(1);
            format!("{league} · round {round} of {rounds} · {played}")
        }
        State::Completed => format!(
            "{league} · over after {} · {played}",
            count((*rounds).into(), "round")
        ),
    }
}
