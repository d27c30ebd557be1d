//! `league step`: takes the next step of a match in manual mode.

use std::io::Write;

use clap::Args;
use league_protocol::finding::excerpt;
use league_protocol::id::MatchId;
use serde_json::{Value, json};

use crate::cli::arguments::match_id;
use crate::cli::failure::CommandError;
use crate::cli::inquiry::{InquiryArgs, unanswered};
use crate::cli::runtime::{print_calls, runtime};
use crate::cli::text::print_object;
use crate::cli::{Exit, Output};
use crate::wire::ask::{AskError, ManagerClient, State, StepReport};

const WHAT: &str = "could not step the match";

/// Take the next step of a match by hand, in a league with --manual
///
/// The steps of a match are: ask for the moves (`collect_choices`), draw the number
/// (`draw_number`), and make the result final (`finalize_match`).
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Examples:
  league run --manual                 a league whose matches wait for steps
  league step R1M1                    … take the next step of one, from another terminal
  league manager --manual             the same for agents that are started one by one")]
pub(crate) struct StepArgs {
    /// The match, such as R1M1
    #[arg(value_name = "MATCH", value_parser = match_id)]
    match_id: MatchId,
    #[command(flatten)]
    inquiry: InquiryArgs,
}

impl StepArgs {
    pub(crate) fn run(&self, out: &mut impl Write) -> Result<Exit, CommandError> {
        let common = &self.inquiry.common;
        print_calls(common);
        let manager = self.inquiry.client()?;
        let report = runtime()?.block_on(self.take(&manager))?;
        let match_id = &self.match_id;
        let StepReport {
            referee_id,
            state,
            result,
            ..
        } = &report;
        let Some(step) = report.step else {
            let cause = format!("no step of `{match_id}` is due: it is {}", state.as_str());
            let hint = "its players are being asked; try again in a moment";
            return Err(CommandError::refused(WHAT, cause, hint));
        };
        if common.output == Output::Json {
            let object = json!({
                "event": "stepped", "match_id": match_id, "referee_id": referee_id,
                "step": step, "state": state, "result": result,
            });
            print_object(out, &object)?;
        } else if !common.quiet {
            let state = state.as_str();
            writeln!(out, "{match_id} · {step} · now {state} at {referee_id}")?;
            if let Some(reason) = result.get("reason").and_then(Value::as_str) {
                writeln!(out, "{}", excerpt(reason))?;
            }
        }
        Ok(Exit::Yes)
    }

    async fn take(&self, manager: &ManagerClient) -> Result<StepReport, CommandError> {
        let failed = |error: AskError| unanswered(WHAT, manager, &error);
        let health = manager.health().await.map_err(failed)?;
        let admin = self.inquiry.admin_token(&health.league_id)?;
        match manager.step(&self.match_id, &admin).await {
            Err(AskError::Refused { sentence, .. }) => {
                let hint = match health.state {
                    State::Registering => {
                        "the league has not started; see `league start`".to_owned()
                    }
                    _ => format!(
                        "see the matches with `league query schedule{}`",
                        self.inquiry.flags()
                    ),
                };
                Err(CommandError::refused(WHAT, sentence, hint))
            }
            other => other.map_err(failed),
        }
    }
}
