//! `league step`: takes one step of a match that does not go forward by itself.

use std::io::Write;

use clap::Args;
use league_protocol::finding::excerpt;
use league_protocol::id::MatchId;
use serde_json::{Value, json};

use crate::cli::arguments::Common;
use crate::cli::failure::{Failure, Kind};
use crate::cli::inquiry::{admin, inquirer, unanswered};
use crate::cli::runtime::{runtime, tell_calls};
use crate::cli::{Answer, Output};
use crate::wire::ask::{AskError, ManagerClient, State, StepReport};

const WHAT: &str = "could not step the match";

/// Take the next step of a match by hand, in a league with --manual
///
/// The steps of a match are to ask for the moves (`collect_choices`), to draw the number
/// (`draw_number`), and to let the result stand (`finalize_match`).
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Examples:
  league run --manual                 a league whose matches wait to be stepped
  league step R1M1                    … take the next step of one, from another terminal
  league manager --manual             the same for agents that are started one by one")]
pub(crate) struct Step {
    /// Which match, such as R1M1
    #[arg(value_name = "MATCH", value_parser = match_id)]
    match_id: MatchId,
    #[command(flatten)]
    common: Common,
    /// Where the league manager answers [default: from config, http://localhost:8000/mcp]
    #[arg(long, value_name = "URL")]
    manager: Option<String>,
}

fn match_id(text: &str) -> Result<MatchId, String> {
    MatchId::new(text).map_err(|error| error.to_string())
}

impl Step {
    pub(crate) fn run(&self, out: &mut impl Write) -> Result<Answer, Failure> {
        tell_calls(&self.common);
        let inquirer = inquirer(&self.common, self.manager.as_deref())?;
        let stepped = runtime()?.block_on(self.take(&inquirer))?;
        match stepped.step {
            Some(step) => self.tell(out, step, &stepped)?,
            None => return Err(self.nothing_due(&stepped)),
        }
        Ok(Answer::Yes)
    }

    async fn take(&self, inquirer: &ManagerClient) -> Result<StepReport, Failure> {
        let failed = |error: AskError| unanswered(WHAT, inquirer, &error);
        let health = inquirer.health().await.map_err(failed)?;
        let admin = admin(&self.common, &health.league_id)?;
        match inquirer.step(&self.match_id, &admin).await {
            Err(AskError::Refused { sentence, .. }) => Err(Failure {
                what: WHAT.to_owned(),
                cause: sentence,
                hint: match health.state {
                    State::Registering => "the league has not begun; see `league start`".to_owned(),
                    _ => "see the matches with `league query schedule`".to_owned(),
                },
                kind: Kind::No,
            }),
            other => other.map_err(failed),
        }
    }

    fn tell(&self, out: &mut impl Write, step: &str, stepped: &StepReport) -> Result<(), Failure> {
        let StepReport {
            referee_id,
            state,
            result,
            ..
        } = stepped;
        let match_id = &self.match_id;
        if self.common.output == Output::Json {
            let object = json!({
                "event": "stepped", "match_id": match_id, "referee_id": referee_id,
                "step": step, "state": state, "result": result,
            });
            writeln!(out, "{object}")?;
        } else if !self.common.quiet {
            let state = state.as_str();
            writeln!(out, "{match_id} · {step} · now {state} at {referee_id}")?;
            if let Some(reason) = result.get("reason").and_then(Value::as_str) {
                writeln!(out, "{}", excerpt(reason))?;
            }
        }
        Ok(())
    }

    fn nothing_due(&self, stepped: &StepReport) -> Failure {
        let state = stepped.state.as_str();
        Failure {
            what: WHAT.to_owned(),
            cause: format!("no step of `{}` is due: it is {state}", self.match_id),
            hint: "its players are being asked; try again in a moment".to_owned(),
            kind: Kind::No,
        }
    }
}
