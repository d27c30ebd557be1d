//! Steps a match of a league whose matches do not go forward by themselves.

use league_protocol::fault::Code;
use league_protocol::id::{MatchId, RefereeId};
use league_protocol::message::MatchState;
use league_protocol::token::AuthToken;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{AskError, ManagerClient};

/// The steps of a match, in their order.
pub(crate) const STEPS: [&str; 3] = ["collect_choices", "draw_number", "finalize_match"];

/// What it takes to step a match, as the manager tells it.
#[derive(Deserialize)]
struct Reins {
    referee_id: RefereeId,
    contact_endpoint: String,
    step_token: String,
}

/// How far a match is after a step, as its referee tells it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct StepReport {
    /// Who runs it.
    pub(crate) referee_id: RefereeId,
    /// Which step it took; none if none is due.
    pub(crate) step: Option<&'static str>,
    /// How far it is now.
    pub(crate) state: MatchState,
    /// How it ended, once it has.
    pub(crate) result: Value,
}

/// What of a match's state matters here.
#[derive(Deserialize)]
struct Standing {
    state: MatchState,
    #[serde(default)]
    result: Value,
}

impl ManagerClient {
    /// Takes the next step of a match in the administrator's name, if one is due.
    ///
    /// # Errors
    ///
    /// Nobody answers, the match is not one to be stepped, or the token is not the administrator's.
    pub(crate) async fn step(
        &self,
        match_id: &MatchId,
        admin: &AuthToken,
    ) -> Result<StepReport, AskError> {
        let wanted = json!({"match_id": match_id, "auth_token": admin.reveal()});
        let reins: Reins = self.call("get_step_token", &wanted).await?;
        let referee = Self::new(&reins.contact_endpoint)
            .map_err(|error| AskError::Unclear(error.to_string()))?;
        let arguments = json!({"match_id": match_id, "auth_token": reins.step_token});
        let step = referee.first_due(&arguments).await?;
        let only_match = json!({"match_id": match_id});
        let now: Standing = referee.call("get_match_state", &only_match).await?;
        Ok(StepReport {
            referee_id: reins.referee_id,
            step,
            state: now.state,
            result: now.result,
        })
    }

    /// Tries the steps in their order; the referee takes the one whose turn it is.
    async fn first_due(&self, arguments: &Value) -> Result<Option<&'static str>, AskError> {
        for step in STEPS {
            match self.call::<Value>(step, arguments).await {
                Ok(_) => return Ok(Some(step)),
                Err(AskError::Refused {
                    code: Some(Code::OutOfTurn),
                    ..
                }) => {}
                Err(other) => return Err(other),
            }
        }
        Ok(None)
    }
}
