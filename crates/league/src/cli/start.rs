//! `league start`: begins the league of a running manager.

use std::io::Write;

use clap::Args;
use serde_json::json;

use crate::cli::arguments::Common;
use crate::cli::failure::{Failure, Kind};
use crate::cli::inquiry::{admin, inquirer, unanswered};
use crate::cli::runtime::{runtime, tell_calls};
use crate::cli::text::count;
use crate::cli::{Answer, Output};
use crate::wire::ask::{AskError, Health, ManagerClient, State};

const WHAT: &str = "could not start the league";

/// Begin the league of a running manager by hand
///
/// The manager keeps the token that this takes in a file below its root, so that both must be given
/// the same --root.
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Examples:
  league manager --players 0          a manager that waits to be told
  league start                        … and is told
  league start --manager http://localhost:9000/mcp --root SHARED")]
pub(crate) struct Start {
    #[command(flatten)]
    common: Common,
    /// Where the league manager answers [default: from config, http://localhost:8000/mcp]
    #[arg(long, value_name = "URL")]
    manager: Option<String>,
}

impl Start {
    pub(crate) fn run(&self, out: &mut impl Write) -> Result<Answer, Failure> {
        tell_calls(&self.common);
        let inquirer = inquirer(&self.common, self.manager.as_deref())?;
        let begun = runtime()?.block_on(self.begin(&inquirer))?;
        self.tell(out, &inquirer, &begun)?;
        Ok(Answer::Yes)
    }

    async fn begin(&self, inquirer: &ManagerClient) -> Result<Health, Failure> {
        let failed = |error: AskError| unanswered(WHAT, inquirer, &error);
        let before = inquirer.health().await.map_err(failed)?;
        let admin = admin(&self.common, &before.league_id)?;
        match inquirer.start(&admin).await {
            Err(AskError::Refused { sentence, .. }) => Err(refused(sentence, &before, inquirer)),
            other => other.map_err(failed),
        }?;
        inquirer.health().await.map_err(failed)
    }

    fn tell(
        &self,
        out: &mut impl Write,
        inquirer: &ManagerClient,
        begun: &Health,
    ) -> Result<(), Failure> {
        let Health {
            league_id,
            players,
            referees,
            rounds,
            matches,
            ..
        } = begun;
        if self.common.output == Output::Json {
            let object = json!({
                "event": "started", "league_id": league_id, "players": players,
                "referees": referees, "rounds": rounds, "matches": matches,
            });
            writeln!(out, "{object}")?;
        } else if !self.common.quiet {
            let players = count((*players).into(), "player");
            let rounds = count((*rounds).into(), "round");
            let matches = count(*matches, "match");
            writeln!(
                out,
                "league `{league_id}` has begun: {players}, {rounds}, {matches}"
            )?;
            writeln!(out, "see it with `league watch {}`", inquirer.endpoint())?;
        }
        Ok(())
    }
}

/// The manager says no: to the token, or because it is not the time to begin.
fn refused(sentence: String, before: &Health, inquirer: &ManagerClient) -> Failure {
    let hint = if sentence.contains("token") {
        "name the folder that this manager was started with: `--root DIR`".to_owned()
    } else if before.state == State::Registering {
        "start more agents with `league player` and `league referee`, then try again".to_owned()
    } else {
        format!(
            "see how far it is with `league watch {}`",
            inquirer.endpoint()
        )
    };
    Failure {
        what: WHAT.to_owned(),
        cause: sentence,
        hint,
        kind: Kind::No,
    }
}
