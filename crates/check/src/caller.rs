//! A running rule: it calls the agent, and keeps the last exchange for the report.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::task::JoinSet;

use crate::lock;
use crate::reply::Reply;
use crate::rule::Trouble;
use crate::stage::{Question, Stage, borrowed};
use crate::wire::{Answer, Request, RoundTrip, exchange};

/// How long an agent may take to answer a simple call.
pub const PROMPT: Duration = Duration::from_secs(10);

/// The headers of every call.
pub const JSON: [(&str, &str); 2] = [
    ("Content-Type", "application/json"),
    ("Accept", "application/json, text/event-stream"),
];

/// An id that is unique in this process: it alone distinguishes concurrent calls in one MCP
/// session.
pub fn fresh_id() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

pub struct Caller {
    pub stage: Arc<Stage>,
    last: Mutex<Option<RoundTrip>>,
}

impl Caller {
    pub fn new(stage: Arc<Stage>) -> Self {
        Self {
            stage,
            last: Mutex::default(),
        }
    }

    /// Stores an exchange for the report.
    pub fn note(&self, trip: RoundTrip) {
        *lock(&self.last) = Some(trip);
    }

    /// The last exchange.
    pub fn last(&self) -> Option<RoundTrip> {
        lock(&self.last).clone()
    }

    /// Sends a request and returns the outcome, with or without an answer.
    pub async fn send(&self, request: &Request<'_>, patience: Duration) -> RoundTrip {
        let trip = exchange(&self.stage.agent, request, patience).await;
        self.note(trip.clone());
        trip
    }

    /// Posts a body to the agent and returns the answer.
    /// No answer breaks the rule.
    pub async fn post(&self, body: &[u8]) -> Result<Answer, Trouble> {
        let headers = self.stage.headers(None);
        answered(&self.post_with(&borrowed(&headers), body, PROMPT).await)
    }

    /// Posts a body with headers and returns the outcome, with or without an answer.
    pub async fn post_with(
        &self,
        headers: &[(&str, &str)],
        body: &[u8],
        patience: Duration,
    ) -> RoundTrip {
        let request = Request::post(&self.stage.agent, headers, body);
        self.send(&request, patience).await
    }

    /// Calls a tool and returns the reply, in any wrapping.
    /// No answer within this time breaks the rule.
    pub async fn call_within(
        &self,
        question: &Question,
        patience: Duration,
    ) -> Result<Reply, Trouble> {
        let headers = self.stage.headers(Some(question));
        self.call_with(&borrowed(&headers), question, patience)
            .await
    }

    /// Calls a tool and returns the reply, in any wrapping.
    /// No answer breaks the rule.
    pub async fn call(&self, question: &Question) -> Result<Reply, Trouble> {
        self.call_within(question, PROMPT).await
    }

    /// Calls a tool with headers of its own.
    /// No answer within this time breaks the rule.
    pub async fn call_with(
        &self,
        headers: &[(&str, &str)],
        question: &Question,
        patience: Duration,
    ) -> Result<Reply, Trouble> {
        let body = self.stage.frame(question, fresh_id()).to_string();
        Reply::of(self.post_with(headers, body.as_bytes(), patience).await)
    }

    /// Asks several questions at once; the replies come in the order of the questions.
    /// A missing answer breaks the rule.
    pub async fn call_at_once(
        &self,
        questions: Vec<Question>,
        patience: Duration,
    ) -> Result<Vec<Reply>, Trouble> {
        let mut asked = JoinSet::new();
        for (number, question) in questions.into_iter().enumerate() {
            let own = Self::new(Arc::clone(&self.stage));
            asked.spawn(async move { (number, own.call_within(&question, patience).await) });
        }
        let mut replies = asked.join_all().await;
        replies.sort_by_key(|(number, _)| *number);
        let replies: Result<Vec<Reply>, Trouble> =
            replies.into_iter().map(|(_, reply)| reply).collect();
        if let Some(last) = replies.as_ref().ok().and_then(|replies| replies.last()) {
            self.note(last.trip.clone());
        }
        replies
    }

    /// Checks that the agent still answers an ordinary call.
    /// An agent that does not answer breaks the rule; the report shows the exchange before.
    pub async fn still_answers(&self, after: &str) -> Result<(), Trouble> {
        let before = self.last();
        let reply = self.call(&self.stage.question().await).await;
        let now = match reply {
            Ok(reply) if reply.result().is_some() => return Ok(()),
            Ok(reply) => reply.describe(),
            Err(Trouble::Broken(found)) => found,
            Err(_) => "nothing".to_owned(),
        };
        if let Some(before) = before {
            self.note(before);
        }
        Err(Trouble::broken(format!(
            "after {after} the agent no longer answers an ordinary call: {now}"
        )))
    }
}

/// The answer of a round trip.
/// NoAnswer breaks the rule.
pub fn answered(trip: &RoundTrip) -> Result<Answer, Trouble> {
    let came = trip.came.as_ref();
    came.cloned()
        .map_err(|silence| Trouble::broken(silence.to_string()))
}
