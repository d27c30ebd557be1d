//! `league admin step`: takes the next step of a match in manual mode.

use std::io::Write;

use league_protocol::finding::excerpt;
use league_protocol::id::MatchId;
use serde_json::{Value, json};

use crate::cli::failure::CommandError;
use crate::cli::inquiry::{InquiryArgs, unanswered};
use crate::cli::runtime::runtime;
use crate::cli::text::print_object;
use crate::cli::{Exit, Output};
use crate::wire::ask::{AskError, ManagerClient, State, StepReport};

const WHAT: &str = "could not step the match";

/// Takes the next step of a match: the moves are asked for, the number is drawn, or the result
/// becomes final.
pub(super) fn run(
    match_id: &MatchId,
    inquiry: &InquiryArgs,
    manager: &ManagerClient,
    out: &mut impl Write,
) -> Result<Exit, CommandError> {
    let common = &inquiry.common;
    let report = runtime()?.block_on(take(match_id, inquiry, manager))?;
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

async fn take(
    match_id: &MatchId,
    inquiry: &InquiryArgs,
    manager: &ManagerClient,
) -> Result<StepReport, CommandError> {
    let failed = |error: AskError| unanswered(WHAT, manager, &error);
    let health = manager.health().await.map_err(failed)?;
    let admin = inquiry.admin_token(&health.league_id)?;
    match manager.step(match_id, &admin).await {
        Err(AskError::Refused { sentence, .. }) => {
            let hint = match health.state {
                State::Registering => {
                    "the league has not started; see `league admin start`".to_owned()
                }
                _ => format!(
                    "see the matches with `league query schedule{}`",
                    inquiry.flags()
                ),
            };
            Err(CommandError::refused(WHAT, sentence, hint))
        }
        other => other.map_err(failed),
    }
}
