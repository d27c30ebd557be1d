//! Asks a running league manager: how it is, what it knows, to begin, and to step a match.
//!
//! One question is one try. What is printed of an answer is left to others.

use std::borrow::Cow;
use std::time::Duration;

use bytes::Bytes;
use league_protocol::decode::decode;
use league_protocol::dialect::Hints;
use league_protocol::encode::{Sender, Stamp, conversation, encode, tool};
use league_protocol::fault::Code;
use league_protocol::finding::{Notes, Reading, excerpt};
use league_protocol::id::{GameType, LeagueId, MatchId, RefereeId};
use league_protocol::message::{
    LeagueQuery, LeagueQueryResponse, MatchState, Message, Query, QueryAnswer, StandingRow,
};
use league_protocol::rpc::members::split;
use league_protocol::sender::{Agent, Dialect};
use league_protocol::token::AuthToken;
use league_protocol::{lenient, rpc};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use thiserror::Error;
use tokio::time::Instant;

use crate::clock;
use crate::http::client::{Answer, CallError, Client};
use crate::http::endpoint::{BadEndpoint, Endpoint};

/// How long a manager may take to answer.
pub(crate) const REPLY_TIMEOUT: Duration = Duration::from_secs(5);

/// Each question waits for its answer, so that one number does for all.
const ID: u64 = 1;

/// Asks one manager.
#[derive(Debug, Clone)]
pub(crate) struct ManagerClient {
    client: Client,
    endpoint: Endpoint,
    health: Endpoint,
}

/// How a league is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Health {
    /// Which league.
    pub(crate) league_id: LeagueId,
    /// What is played.
    pub(crate) game_type: GameType,
    /// How far it is.
    pub(crate) state: State,
    /// Players that are in.
    pub(crate) players: u32,
    /// Referees that are in.
    pub(crate) referees: u32,
    /// Rounds in all; 0 before it begins.
    pub(crate) rounds: u32,
    /// The round that is played, once it has begun.
    pub(crate) round_id: Option<u32>,
    /// Matches that are decided.
    pub(crate) matches_played: u64,
    /// Matches in all; 0 before it begins.
    pub(crate) matches: u64,
}

/// How far a league is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub(crate) enum State {
    /// Agents may register.
    Registering,
    /// Matches are played.
    Running,
    /// It is over.
    Completed,
}

/// An answer to a query, understood and as it came.
#[derive(Debug, Clone)]
pub(crate) struct QueryReply {
    /// What it says.
    pub(crate) response: LeagueQueryResponse,
    /// Its JSON.
    pub(crate) json: Box<RawValue>,
}

/// Why there is no answer.
#[derive(Debug, Error)]
pub(crate) enum AskError {
    /// Nobody answers there.
    #[error(transparent)]
    Away(#[from] CallError),
    /// The manager says no.
    #[error("{sentence}")]
    Refused {
        /// Why, for people.
        sentence: String,
        /// The rule that was broken, if it names one.
        code: Option<Code>,
    },
    /// What came back is not what a manager says.
    #[error("the answer is not a league manager's: {0}")]
    Unclear(String),
}

impl ManagerClient {
    /// Takes the address of a manager.
    ///
    /// # Errors
    ///
    /// Says what is wrong with the address.
    pub(crate) fn new(manager: &str) -> Result<Self, BadEndpoint> {
        let endpoint = Endpoint::look_up(manager)?;
        let prefix = endpoint.path.strip_suffix("/mcp");
        let prefix = prefix.unwrap_or(endpoint.path.trim_end_matches('/'));
        let health = Endpoint {
            path: format!("{prefix}/health").into(),
            ..endpoint.clone()
        };
        Ok(Self {
            client: Client::default(),
            endpoint,
            health,
        })
    }

    /// The address of the manager.
    pub(crate) fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// Asks how the league is.
    ///
    /// # Errors
    ///
    /// Nobody answers there, or it is no manager who does.
    pub(crate) async fn health(&self) -> Result<Health, AskError> {
        let asking = self.client.get(&self.health, REPLY_TIMEOUT);
        let answer = told(&format!("GET {}", self.health), asking).await?;
        if answer.status != 200 {
            return Err(AskError::Unclear(format!("HTTP status {}", answer.status)));
        }
        serde_json::from_slice(&answer.body).map_err(|error| AskError::Unclear(error.to_string()))
    }

    /// Asks for the table, which everybody may see.
    ///
    /// # Errors
    ///
    /// Nobody answers there, or not a manager.
    pub(crate) async fn table(&self) -> Result<QueryReply, AskError> {
        understood(self.post("get_standings", Some(&json!({}))).await?)
    }

    /// Asks for the rows of the table.
    ///
    /// # Errors
    ///
    /// Nobody answers there, or not with a table.
    pub(crate) async fn standings(&self) -> Result<Vec<StandingRow>, AskError> {
        let told = self.table().await?;
        match told.response.answer {
            Ok(QueryAnswer::Standings { rows, .. }) => Ok(rows.to_vec()),
            Ok(_) => Err(AskError::Unclear("it is not the table".to_owned())),
            Err(sentence) => Err(AskError::Refused {
                sentence,
                code: None,
            }),
        }
    }

    /// Asks in the administrator's name.
    ///
    /// # Errors
    ///
    /// Nobody answers there, or the token is not the administrator's. That the manager knows no
    /// answer is no error, and told in the response.
    pub(crate) async fn query(
        &self,
        league: &LeagueId,
        query: Query,
        admin: &AuthToken,
    ) -> Result<QueryReply, AskError> {
        let message = Message::from(LeagueQuery {
            league_id: Some(league.clone()),
            query,
            by_api_page: false,
        });
        let conversation = conversation(&message, "admin");
        let stamp = Stamp {
            // The administrator has no name of its own in the protocol; the token says who asks.
            sender: Sender::Agent(&Agent::Manager),
            at: clock::now(),
            conversation: &conversation,
            token: Some(admin),
        };
        let outgoing = encode(&message, Dialect::V2, stamp, &Hints::default());
        understood(self.post(tool(&message), outgoing.as_ref()).await?)
    }

    /// Has the league begin.
    ///
    /// # Errors
    ///
    /// Nobody answers there, or the manager says why it does not begin.
    pub(crate) async fn start(&self, admin: &AuthToken) -> Result<(), AskError> {
        let arguments = json!({"auth_token": admin.reveal()});
        self.call::<Value>("start_league", &arguments).await?;
        Ok(())
    }

    /// Calls a tool that takes no message and answers with none, unless it says no.
    async fn call<T: DeserializeOwned>(
        &self,
        tool: &str,
        arguments: &Value,
    ) -> Result<T, AskError> {
        let answer = self.post(tool, Some(arguments)).await?;
        if split(answer.get()).is_ok_and(|members| members.has("message_type")) {
            spoken(&answer)?;
            return Err(AskError::Unclear(excerpt(answer.get())));
        }
        serde_json::from_str(answer.get()).map_err(|error| AskError::Unclear(error.to_string()))
    }

    async fn post(
        &self,
        tool: &str,
        params: Option<&impl Serialize>,
    ) -> Result<Box<RawValue>, AskError> {
        let body = rpc::request(ID, tool, params);
        let body = body.map_err(|error| AskError::Unclear(error.to_string()))?;
        let asking = self
            .client
            .post(&self.endpoint, Bytes::from(body), REPLY_TIMEOUT);
        let answer = told(&format!("{tool} at {}", self.endpoint), asking).await?;
        let mut notes = Notes::new(Reading::Lenient);
        let found = lenient::reply(&answer.body, ID, &mut notes).map(Cow::into_owned);
        found.ok_or_else(|| {
            let first = notes.first_error().map(|finding| finding.detail.clone());
            let status = format!("HTTP status {}", answer.status);
            AskError::Unclear(first.unwrap_or(status))
        })
    }
}

/// Tells what came of a call, for those who look on, and nothing that is in it.
async fn told(
    call: &str,
    asking: impl Future<Output = Result<Answer, CallError>>,
) -> Result<Answer, CallError> {
    let began = Instant::now();
    let answer = asking.await;
    let after = began.elapsed().as_secs_f64() * 1_000.0;
    match &answer {
        Ok(Answer { status, .. }) => {
            tracing::debug!("{call}: status {status} after {after:.2} ms");
        }
        Err(error) => tracing::debug!("{call}: no answer after {after:.2} ms: {error}"),
    }
    answer
}

/// Reads the answer to a query.
fn understood(json: Box<RawValue>) -> Result<QueryReply, AskError> {
    match spoken(&json)? {
        Message::LeagueQueryResponse(mut response) => {
            response.answer = response.answer.map(printable);
            Ok(QueryReply {
                response: *response,
                json,
            })
        }
        _ => Err(AskError::Unclear("it answers no query".to_owned())),
    }
}

/// A manager lets no name in that moves a cursor; whoever else answers might.
fn printable(mut answer: QueryAnswer) -> QueryAnswer {
    let harmless = |row: &StandingRow| StandingRow {
        display_name: excerpt(&row.display_name).into(),
        ..row.clone()
    };
    match &mut answer {
        QueryAnswer::Standings { rows, .. } => *rows = rows.iter().map(harmless).collect(),
        QueryAnswer::PlayerStats(stats) => stats.row = harmless(&stats.row),
        QueryAnswer::Schedule { .. } | QueryAnswer::NextMatch(_) => {}
    }
    answer
}

/// Reads a message; a refusal becomes an error.
fn spoken(json: &RawValue) -> Result<Message, AskError> {
    let decoded = decode(json, Reading::Lenient, Some(Dialect::V2));
    let mut decoded = decoded.map_err(|_| AskError::Unclear(excerpt(json.get())))?;
    let message = decoded.message(&Hints::default());
    match message {
        Ok(Message::LeagueError(error)) => Err(AskError::Refused {
            sentence: error.detail,
            code: Some(error.code),
        }),
        Ok(message) => Ok(message),
        Err(finding) => Err(AskError::Unclear(finding.detail)),
    }
}

/// The steps of a match, in their order.
pub(crate) const STEPS: [&str; 3] = ["collect_choices", "draw_number", "finalize_match"];

/// What it takes to step a match, as the manager tells it.
#[derive(Deserialize)]
struct StepAccess {
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
struct MatchProgress {
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
        let reins: StepAccess = self.call("get_step_token", &wanted).await?;
        let referee = Self::new(&reins.contact_endpoint)
            .map_err(|error| AskError::Unclear(error.to_string()))?;
        let arguments = json!({"match_id": match_id, "auth_token": reins.step_token});
        let step = referee.first_due(&arguments).await?;
        let only_match = json!({"match_id": match_id});
        let now: MatchProgress = referee.call("get_match_state", &only_match).await?;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_health_of_an_agent_is_beside_its_mcp() {
        for (manager, health) in [
            ("http://localhost:8000/mcp", "/health"),
            ("http://localhost:8000", "/health"),
            ("http://localhost:8000/", "/health"),
            ("http://localhost:8000/agents/LM/mcp", "/agents/LM/health"),
        ] {
            let inquirer = ManagerClient::new(manager).unwrap();
            assert_eq!(&*inquirer.health.path, health, "{manager}");
        }
    }

    #[test]
    fn a_refusal_is_told_in_its_own_words() {
        let json = json!({
            "protocol": "league.v2", "message_type": "LEAGUE_ERROR", "sender": "league_manager",
            "timestamp": "2025-01-15T10:00:00Z", "conversation_id": "conv-1",
            "error_code": "E012", "error_name": "AUTH_TOKEN_INVALID",
            "error_description": "AUTH_TOKEN_INVALID",
            "context": {"detail": "this call takes the administrator's token"},
        });
        let json = serde_json::value::to_raw_value(&json).unwrap();
        let refused = understood(json).unwrap_err();
        assert_eq!(
            refused.to_string(),
            "this call takes the administrator's token"
        );
    }
}
