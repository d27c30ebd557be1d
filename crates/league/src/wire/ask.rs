//! Client for a running league manager: health, queries, starting the league and stepping a match;
//! and for a referee that shows its matches or hands in its journal.
//!
//! Each request is one attempt. Callers print the answers.

use std::collections::BTreeMap;
use std::time::Duration;

use bytes::Bytes;
use league_core::referee::SpectatorView;
use league_protocol::dialect::Hints;
use league_protocol::encode::{Sender, Stamp, conversation, encode};
use league_protocol::fault::Code;
use league_protocol::finding::excerpt;
use league_protocol::id::{GameType, LeagueId, MatchId, PlayerId, RefereeId};
use league_protocol::message::{
    LeagueQuery, LeagueQueryResponse, MatchState, Message, Query, QueryAnswer, StandingRow,
};
use league_protocol::rpc;
use league_protocol::sender::{Agent, Dialect};
use league_protocol::token::AuthToken;
use league_protocol::wire::{Context, read_content};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use thiserror::Error;
use tokio::time::Instant;

use crate::clock;
use crate::http::client::{Answer, CallError, Client};
use crate::http::endpoint::{BadEndpoint, Endpoint};
use crate::http::group::Group;
use crate::storage::hand_in::JournalPiece;

/// How long to wait for a manager's answer.
pub(crate) const REPLY_TIMEOUT: Duration = Duration::from_secs(5);

/// The `status` in the health of a manager that does not hold its league.
pub(crate) const STANDBY: &str = "standby";

/// One id is enough: each request waits for its answer.
const ID: u64 = 1;

/// Client of one manager.
#[derive(Debug, Clone)]
pub(crate) struct ManagerClient {
    client: Client,
    endpoint: Endpoint,
    health: Endpoint,
}

/// The health of a league.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Health {
    pub(crate) league_id: LeagueId,
    pub(crate) game_type: GameType,
    pub(crate) state: State,
    /// Registered players.
    pub(crate) players: u32,
    /// Registered referees.
    pub(crate) referees: u32,
    /// All rounds of the schedule; 0 before the league starts.
    pub(crate) rounds: u32,
    /// The current round, once the league has started.
    pub(crate) round_id: Option<u32>,
    /// Decided matches.
    pub(crate) matches_played: u64,
    /// How many of them the organiser took out of the table.
    #[serde(default)]
    pub(crate) matches_not_counted: u64,
    /// All matches of the schedule; 0 before the league starts.
    pub(crate) matches: u64,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) paused: bool,
    /// The players that are out of the league, and how they came to be, in a word.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) out: BTreeMap<PlayerId, String>,
}

/// The progress of a league.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub(crate) enum State {
    /// Agents may register.
    Registering,
    /// Matches are played.
    Running,
    Completed,
}

/// A decoded answer to a query, with its original JSON.
#[derive(Debug, Clone)]
pub(crate) struct QueryReply {
    pub(crate) response: LeagueQueryResponse,
    /// The answer as received.
    pub(crate) json: Box<RawValue>,
}

/// Why a request got no usable answer.
#[derive(Debug, Error)]
pub(crate) enum AskError {
    /// The call failed.
    #[error(transparent)]
    Away(#[from] CallError),
    /// The manager refused.
    #[error("{sentence}")]
    Refused {
        /// The reason, for people.
        sentence: String,
        /// The rule that was broken, if the manager named it.
        code: Option<Code>,
    },
    /// The reply does not follow the manager's protocol.
    #[error("the answer is not a league manager's: {0}")]
    Unclear(String),
}

impl ManagerClient {
    /// Parses the address of a manager, or several with commas between them.
    ///
    /// # Errors
    ///
    /// An address is not valid.
    pub(crate) fn new(manager: &str, client: Client) -> Result<Self, BadEndpoint> {
        Ok(Self::of(Endpoint::of_managers(manager)?, client))
    }

    /// The client of the manager at an address.
    pub(crate) fn of(endpoint: Endpoint, client: Client) -> Self {
        let health = endpoint.beside("health");
        Self {
            client,
            endpoint,
            health,
        }
    }

    pub(crate) fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// Fetches the health of the league.
    ///
    /// # Errors
    ///
    /// No answer, or not a league manager's.
    pub(crate) async fn health(&self) -> Result<Health, AskError> {
        let mut answer = self.ask_health().await?;
        for _ in self.health.members() {
            if !is_standby(&answer) {
                break;
            }
            // It is healthy, but another holds the league.
            self.health.group().map(Group::pass_on);
            answer = self.ask_health().await?;
        }
        match answer.status {
            _ if is_standby(&answer) => Err(CallError::Unavailable(503).into()),
            200 => serde_json::from_slice(&answer.body)
                .map_err(|error| AskError::Unclear(error.to_string())),
            status => Err(AskError::Unclear(format!("HTTP status {status}"))),
        }
    }

    async fn ask_health(&self) -> Result<Answer, CallError> {
        let asking = self.client.get(&self.health, REPLY_TIMEOUT);
        logged(&format!("GET {}", self.health), asking).await
    }

    /// Fetches the public standings.
    ///
    /// # Errors
    ///
    /// No answer, or not a league manager's.
    pub(crate) async fn table(&self) -> Result<QueryReply, AskError> {
        query_reply(self.post("get_standings", Some(&json!({}))).await?)
    }

    /// Fetches the rows of the standings.
    ///
    /// # Errors
    ///
    /// No answer, or not a standings table.
    pub(crate) async fn standings(&self) -> Result<Vec<StandingRow>, AskError> {
        let table = self.table().await?;
        match table.response.answer {
            Ok(QueryAnswer::Standings { rows, .. }) => Ok(rows.to_vec()),
            Ok(_) => Err(AskError::Unclear("it is not the table".to_owned())),
            Err(sentence) => Err(AskError::Refused {
                sentence,
                code: None,
            }),
        }
    }

    /// Sends a query as the administrator.
    ///
    /// # Errors
    ///
    /// No answer, or the token is not the administrator's. A query that the manager cannot answer
    /// is not an error: the response reports it.
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
            // The protocol has no sender name for the administrator; the token identifies it.
            sender: Sender::Agent(&Agent::Manager),
            at: clock::now(),
            conversation: &conversation,
            token: Some(admin),
        };
        let outgoing = encode(&message, Dialect::V2, stamp, &Hints::default());
        query_reply(self.post(message.tool(), outgoing.as_ref()).await?)
    }

    /// Pulls a lever as the administrator; gives what the manager tells of it.
    pub(crate) async fn pull(
        &self,
        mut arguments: Map<String, Value>,
        admin: &AuthToken,
    ) -> Result<Value, AskError> {
        arguments.insert("auth_token".to_owned(), admin.reveal().into());
        self.call::<Value>("admin", &Value::Object(arguments)).await
    }

    /// Asks a referee for a piece of its journal, with the token of its manager.
    ///
    /// # Errors
    ///
    /// No answer, or the referee refuses; a foreign referee knows no such tool.
    pub(crate) async fn journal_piece(
        &self,
        from: u64,
        token: &AuthToken,
    ) -> Result<JournalPiece, AskError> {
        let arguments = json!({"from": from.to_string(), "auth_token": token.reveal()});
        self.call("get_journal", &arguments).await
    }

    /// Asks a referee what spectators may see of its matches, with the token of its manager.
    ///
    /// # Errors
    ///
    /// No answer, or the referee refuses; a foreign referee knows no such tool.
    pub(crate) async fn running_matches(
        &self,
        token: &AuthToken,
    ) -> Result<Vec<SpectatorView>, AskError> {
        #[derive(Deserialize)]
        struct Running {
            matches: Vec<SpectatorView>,
        }
        let arguments = json!({"auth_token": token.reveal()});
        let running: Running = self.call("get_running_matches", &arguments).await?;
        Ok(running.matches)
    }

    /// Calls a tool whose arguments and answer are plain JSON; a message in reply is a refusal.
    async fn call<T: DeserializeOwned>(
        &self,
        tool: &str,
        arguments: &Value,
    ) -> Result<T, AskError> {
        let (json, message) = self.post(tool, Some(arguments)).await?;
        if message != Message::Acknowledged {
            return Err(AskError::Unclear(excerpt(json.get())));
        }
        serde_json::from_str(json.get()).map_err(|error| AskError::Unclear(error.to_string()))
    }

    async fn post(&self, tool: &str, params: Option<&impl Serialize>) -> Result<Content, AskError> {
        let body = rpc::request(ID, tool, params);
        let body = body.map_err(|error| AskError::Unclear(error.to_string()))?;
        let asking = self
            .client
            .post(&self.endpoint, Bytes::from(body), REPLY_TIMEOUT);
        let answer = logged(&format!("{tool} at {}", self.endpoint), asking).await?;
        read(&answer)
    }
}

/// Whether a manager says that it does not hold the league now.
fn is_standby(health: &Answer) -> bool {
    let read = serde_json::from_slice::<Value>(&health.body);
    read.is_ok_and(|health| health["status"] == STANDBY)
}

/// Logs the outcome of a call for debugging, without its content.
async fn logged(
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

/// The content of an answer, and the message in it.
type Content = (Box<RawValue>, Message);

/// Reads the answer of a manager in this process to a call that has no message of its own.
pub(crate) fn read_reply_body(body: &Bytes) -> Result<Value, AskError> {
    let answer = Answer {
        status: 200,
        body: body.clone(),
        session: None,
        location: None,
    };
    let (json, message) = read(&answer)?;
    if message != Message::Acknowledged {
        return Err(AskError::Unclear(excerpt(json.get())));
    }
    serde_json::from_str(json.get()).map_err(|error| AskError::Unclear(error.to_string()))
}

/// Reads an answer; a refusal becomes an error.
fn read(answer: &Answer) -> Result<Content, AskError> {
    let context = Context {
        pinned: Some(Dialect::V2),
        ..Context::default()
    };
    match read_content(&answer.reply(), ID, &context) {
        Ok((_, Message::LeagueError(error))) => Err(AskError::Refused {
            sentence: error.detail,
            code: Some(error.code),
        }),
        Ok((json, message)) => Ok((json.into_owned(), message)),
        Err(error) => Err(AskError::Unclear(error.detail)),
    }
}

/// The answer to a query.
fn query_reply((json, message): Content) -> Result<QueryReply, AskError> {
    match message {
        Message::LeagueQueryResponse(response) => Ok(QueryReply {
            response: *response,
            json,
        }),
        _ => Err(AskError::Unclear("it answers no query".to_owned())),
    }
}

/// The steps of a match, in order.
pub(crate) const STEPS: [&str; 3] = ["collect_choices", "draw_number", "finalize_match"];

/// What stepping a match needs, as returned by the manager.
#[derive(Deserialize)]
struct StepAccess {
    referee_id: RefereeId,
    contact_endpoint: String,
    step_token: String,
}

/// The progress of a match after a step, as returned by its referee.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct StepReport {
    /// The referee that runs the match.
    pub(crate) referee_id: RefereeId,
    /// The step that was taken; `None` if no step is due.
    pub(crate) step: Option<&'static str>,
    /// The state after the step.
    pub(crate) state: MatchState,
    /// The result, once the match has ended.
    pub(crate) result: Value,
}

/// The fields of a match's state that are used here.
#[derive(Deserialize)]
struct MatchProgress {
    state: MatchState,
    #[serde(default)]
    result: Value,
}

impl ManagerClient {
    /// Takes the next step of a match as the administrator, if a step is due.
    ///
    /// # Errors
    ///
    /// No answer, the match cannot be stepped, or the token is not the administrator's.
    pub(crate) async fn step(
        &self,
        match_id: &MatchId,
        admin: &AuthToken,
    ) -> Result<StepReport, AskError> {
        let wanted = json!({"match_id": match_id, "auth_token": admin.reveal()});
        let reins: StepAccess = self.call("get_step_token", &wanted).await?;
        let referee = Endpoint::of_manager(&reins.contact_endpoint);
        let referee = referee.map_err(|error| AskError::Unclear(error.to_string()))?;
        let referee = Self::of(referee, self.client.clone());
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

    /// Tries the steps in order; the referee accepts only the step that is due.
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
            let client = ManagerClient::new(manager, Client::default()).unwrap();
            assert_eq!(&*client.health.path, health, "{manager}");
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
        let frame = json!({"jsonrpc": "2.0", "id": ID, "result": json});
        let refused = read(&Answer {
            status: 200,
            session: None,
            location: None,
            body: frame.to_string().into(),
        });
        let refused = refused.unwrap_err();
        assert_eq!(
            refused.to_string(),
            "this call takes the administrator's token"
        );
    }
}
