//! One rule at work: it speaks to the agent, and what is said is noted for the report.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};

use super::habit::in_session;
use super::reply::Reply;
use super::rule::Trouble;
use super::stage::{Question, Stage};
use super::wire::{Answer, Exchange, Request, exchange};
use crate::Target;

/// How long an agent may take to answer what needs no thought.
pub const PROMPT: Duration = Duration::from_secs(10);
/// How many exchanges of one rule are kept.
const MOST_NOTED: usize = 64;

/// What a caller of JSON says of itself.
pub const JSON: [(&str, &str); 2] = [
    ("Content-Type", "application/json"),
    ("Accept", "application/json, text/event-stream"),
];

/// An id that no other call of this process has: calls at once in one session of MCP are told apart
/// by nothing else.
pub fn fresh_id() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// A rule at work on a stage.
pub struct Act<S> {
    /// Where the agent stands, and who plays the other side.
    pub stage: Arc<S>,
    noted: Mutex<Vec<Exchange>>,
}

impl<S: Stage> Act<S> {
    /// A rule that begins.
    pub fn new(stage: Arc<S>) -> Self {
        Self {
            stage,
            noted: Mutex::default(),
        }
    }

    /// Where the agent answers.
    pub fn agent(&self) -> &Target {
        self.stage.agent()
    }

    /// Notes what was said for the report.
    pub fn note(&self, exchange: Exchange) {
        let mut noted = self.noted.lock().unwrap_or_else(PoisonError::into_inner);
        if noted.len() < MOST_NOTED {
            noted.push(exchange);
        }
    }

    /// What was said last.
    pub fn last(&self) -> Option<Exchange> {
        let noted = self.noted.lock().unwrap_or_else(PoisonError::into_inner);
        noted.last().cloned()
    }

    /// Sends a request and gives what came of it, an answer or not.
    pub async fn send(&self, request: &Request<'_>, patience: Duration) -> Exchange {
        let exchange = exchange(self.agent(), request, patience).await;
        self.note(exchange.clone());
        exchange
    }

    /// Sends a request and gives the answer.
    ///
    /// # Errors
    ///
    /// No answer breaks the rule.
    pub async fn ask(&self, request: &Request<'_>) -> Result<Answer, Trouble> {
        answered(&self.send(request, PROMPT).await)
    }

    /// The frame of a call, as the agent takes it.
    pub fn frame(&self, question: &Question, id: u64) -> Value {
        self.stage.habit().frame(question, &json!(id))
    }

    /// The headers of an ordinary call.
    pub fn headers(&self) -> Vec<(&str, &str)> {
        let mut headers = JSON.to_vec();
        headers.extend(self.stage.habit().headers());
        headers
    }

    /// Posts a body to the agent and gives the answer.
    ///
    /// # Errors
    ///
    /// No answer breaks the rule.
    pub async fn post(&self, body: &[u8]) -> Result<Answer, Trouble> {
        let path = self.agent().path.clone();
        let request = Request {
            method: "POST",
            path: &path,
            headers: &self.headers(),
            body,
        };
        self.ask(&request).await
    }

    /// Calls a tool and gives the reply, however it is wrapped.
    ///
    /// # Errors
    ///
    /// No answer within the patience breaks the rule.
    pub async fn call_within(
        &self,
        question: &Question,
        patience: Duration,
    ) -> Result<Reply, Trouble> {
        let path = self.agent().path.clone();
        let body = self.frame(question, fresh_id()).to_string();
        let request = Request {
            method: "POST",
            path: &path,
            headers: &self.headers(),
            body: body.as_bytes(),
        };
        let exchange = self.send(&request, patience).await;
        answered(&exchange)?;
        Ok(Reply::read(exchange))
    }

    /// Calls a tool and gives the reply, however it is wrapped.
    ///
    /// # Errors
    ///
    /// No answer breaks the rule.
    pub async fn call(&self, question: &Question) -> Result<Reply, Trouble> {
        self.call_within(question, PROMPT).await
    }

    /// Calls a method of MCP in a session.
    ///
    /// # Errors
    ///
    /// No answer breaks the rule.
    pub async fn call_in_session(
        &self,
        question: &Question,
        session: Option<&str>,
    ) -> Result<Reply, Trouble> {
        let path = self.agent().path.clone();
        let mut headers = JSON.to_vec();
        headers.extend(in_session(session));
        let body = self.frame(question, fresh_id()).to_string();
        let request = Request {
            method: "POST",
            path: &path,
            headers: &headers,
            body: body.as_bytes(),
        };
        let exchange = self.send(&request, PROMPT).await;
        answered(&exchange)?;
        Ok(Reply::read(exchange))
    }

    /// Sees that the agent still answers as it should.
    ///
    /// # Errors
    ///
    /// An agent that does not breaks the rule, with what was done to it before.
    pub async fn still_answers(&self, after: &str) -> Result<(), Trouble> {
        let before = self.last();
        let reply = self.call(&self.stage.question().await).await;
        let fine = reply.as_ref().is_ok_and(|reply| reply.result().is_some());
        if fine {
            return Ok(());
        }
        let now = match reply {
            Ok(reply) => reply.describe(),
            Err(Trouble::Broken(evidence)) => evidence.found,
            Err(_) => "nothing".to_owned(),
        };
        let trouble = Trouble::broken(format!(
            "after {after} the agent no longer answers an ordinary call: {now}"
        ));
        Err(match &before {
            Some(before) => trouble.about(before),
            None => trouble,
        })
    }
}

/// The answer of an exchange.
///
/// # Errors
///
/// Silence breaks the rule.
pub fn answered(exchange: &Exchange) -> Result<Answer, Trouble> {
    match &exchange.came {
        Ok(answer) => Ok(answer.clone()),
        Err(silence) => Err(Trouble::broken(silence.to_string()).about(exchange)),
    }
}
