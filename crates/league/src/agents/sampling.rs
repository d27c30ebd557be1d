//! MCP sampling: the player asks the model of the client at the other end of its pipe for a move.
//!
//! Up to revision 2025-11-25 a client that offers sampling takes requests on an open pipe. Prompt and
//! reading of answers are those of a language model. In revision 2026-07-28 no server sends requests,
//! so such a client moves by the tools of the seat; these stay open beside sampling.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use league_core::player::{MatchRecord, Think};
use league_protocol::finding::excerpt;
use league_protocol::rpc::members::{Kind, members};
use league_protocol::rpc::{Call, Response};
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot, watch};

use crate::agents::model::{ExternalMove, MAX_QUESTIONS, Prompt};
use crate::clock;

/// The longest answer of the client's model, in tokens.
const MAX_TOKENS: u32 = 2_000;
/// How the ids of our requests begin, as JSON.
const ID: &str = "\"sampling-";

/// The way to the model of a client.
#[derive(Debug, Default)]
pub struct Sampling {
    /// Takes lines to a client that offers sampling.
    client: watch::Sender<Option<mpsc::Sender<Vec<u8>>>>,
    requests: Mutex<Requests>,
}

#[derive(Debug, Default)]
struct Requests {
    /// How many were sent.
    sent: u64,
    waiting: BTreeMap<u64, oneshot::Sender<Result<String, String>>>,
}

/// Whether the client of a handshake offers sampling.
pub(crate) fn is_offered(handshake: &Call<'_>) -> bool {
    let offered = || {
        let params = members(handshake.params.named().ok()??.get()).ok()?;
        let capabilities = members(params.get("capabilities")?.get()).ok()?;
        Some(Kind::of(capabilities.get("sampling")?) == Kind::Object)
    };
    offered().unwrap_or(false)
}

impl Sampling {
    /// A client that offers sampling is ready.
    pub(crate) fn open(&self, lines: mpsc::Sender<Vec<u8>>) {
        self.client.send_replace(Some(lines));
    }

    /// The client is gone; open questions end.
    pub(crate) fn close(&self) {
        self.client.send_replace(None);
        self.requests().waiting.clear();
    }

    /// Takes a response to one of our requests, in time or late; `false` for any other response.
    pub(crate) fn hear(&self, response: &Response<'_>) -> bool {
        let token = response.id.as_ref().map_or("", |id| id.token());
        let number = token.strip_prefix(ID).and_then(|it| it.strip_suffix('"'));
        let number = number.and_then(|number| number.parse().ok());
        let mut requests = self.requests();
        let Some(number) = number.filter(|number| (1..=requests.sent).contains(number)) else {
            return false;
        };
        if let Some(waiting) = requests.waiting.remove(&number) {
            let said = match &response.outcome {
                Ok(result) => Ok(text_of(result.get())),
                Err(error) => Err(format!("error {}: {}", error.code, excerpt(&error.message))),
            };
            // The time for the move may be over.
            let _ = waiting.send(said);
        }
        true
    }

    /// The move of the client's model. It does not come if there is no such client, if the client
    /// refuses, or if the answers name no legal move: the caller watches the time.
    pub(crate) async fn choose(&self, think: &Think, memory: &[Arc<MatchRecord>]) -> ExternalMove {
        match self.ask_for_move(think, memory).await {
            Ok(made) => made,
            Err(problem) => {
                tracing::warn!(
                    event_type = "SAMPLING_FAILED",
                    match_id = %think.match_id,
                    "the model of the MCP client made no move: {problem}"
                );
                std::future::pending().await
            }
        }
    }

    async fn ask_for_move(
        &self,
        think: &Think,
        memory: &[Arc<MatchRecord>],
    ) -> Result<ExternalMove, String> {
        let mut client = self.client.subscribe();
        let found = client.wait_for(Option::is_some).await;
        let lines = found.ok().and_then(|found| found.clone());
        let lines = lines.ok_or("the client is gone")?;
        let left = think.until.since(clock::now());
        let first = Prompt::new(think, memory, left).ok_or("the position is too long")?;
        let (mut prompt, mut last) = (first.clone(), "");
        for _ in 0..MAX_QUESTIONS {
            let said = self.ask(&lines, &prompt).await?;
            match ExternalMove::read(&said, &think.options) {
                Ok(choice) => return Ok(choice),
                Err(problem) => (prompt, last) = (first.again(problem), problem.as_str()),
            }
        }
        Err(last.to_owned())
    }

    async fn ask(&self, lines: &mpsc::Sender<Vec<u8>>, prompt: &Prompt) -> Result<String, String> {
        let (answer, answered) = oneshot::channel();
        let number = {
            let mut requests = self.requests();
            requests.sent += 1;
            let number = requests.sent;
            requests.waiting.insert(number, answer);
            number
        };
        let request = OpenRequest {
            sampling: self,
            lines,
            number,
        };
        // A client that goes later ends the question, which waits by now.
        if self.client.borrow().is_none() {
            return Err("the client is gone".to_owned());
        }
        let user = json!({"role": "user", "content": {"type": "text", "text": prompt.user}});
        let call = json!({
            "jsonrpc": "2.0", "id": request.id(), "method": "sampling/createMessage",
            "params": {
                "messages": [user], "systemPrompt": prompt.system, "includeContext": "none",
                "maxTokens": MAX_TOKENS,
            },
        });
        let sent = lines.send(call.to_string().into_bytes()).await;
        sent.map_err(|_| "the client is gone")?;
        answered
            .await
            .unwrap_or_else(|_| Err("no answer".to_owned()))
    }

    fn requests(&self) -> MutexGuard<'_, Requests> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A request without an answer; the client hears if the answer is not wanted any more.
struct OpenRequest<'s> {
    sampling: &'s Sampling,
    lines: &'s mpsc::Sender<Vec<u8>>,
    number: u64,
}

impl OpenRequest<'_> {
    fn id(&self) -> String {
        format!("{}{}", ID.trim_start_matches('"'), self.number)
    }
}

impl Drop for OpenRequest<'_> {
    fn drop(&mut self) {
        let waiting = self.sampling.requests().waiting.remove(&self.number);
        if waiting.is_some() {
            let note = json!({
                "jsonrpc": "2.0", "method": "notifications/cancelled",
                "params": {"requestId": self.id(), "reason": "the move is made"},
            });
            // A client that reads nothing need not hear it.
            let _ = self.lines.try_send(note.to_string().into_bytes());
        }
    }
}

/// The text of a result: of its content, or of all its parts.
fn text_of(result: &str) -> String {
    let result: Value = serde_json::from_str(result).unwrap_or_default();
    let parts = match &result["content"] {
        Value::Array(parts) => &parts[..],
        part => std::slice::from_ref(part),
    };
    let texts = parts.iter().filter_map(|part| part["text"].as_str());
    texts.collect::<Vec<_>>().join("\n")
}
