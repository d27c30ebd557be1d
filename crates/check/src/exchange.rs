//! The exchanges of rules: which question is asked in which situation, and what is recorded.

use std::time::Duration;

use serde_json::{Value, json};

use crate::caller::{Caller, JSON, PROMPT, answered, fresh_id};
use crate::record::{Record, Statement};
use crate::reply::Reply;
use crate::rule::{Judgement, Pending, Trouble};
use crate::stage::{Question, Stage};
use crate::wire::{Request, RoundTrip};

/// The placeholder that is replaced by an id in its exact spelling.
const STAND_IN: u64 = 987_654_321_012_345;

/// Records what an agent said.
pub type Recording = for<'a> fn(&'a Caller) -> Pending<'a, Result<Vec<Record>, Trouble>>;

/// How a rule gets its records.
pub enum Exchange {
    /// Asks the agent.
    Ask(Ask),
    /// Records what the agent said, in a match, a league or a registration.
    Seen(Recording),
    /// Several steps, which the function judges by itself.
    Steps(for<'a> fn(&'a Caller) -> Pending<'a, Judgement>),
}

impl Exchange {
    /// The types of message that are due; empty if every type is acceptable.
    pub fn due(&self) -> &'static [&'static str] {
        match self {
            Self::Ask(ask) => ask.due,
            Self::Seen(_) | Self::Steps(_) => &[],
        }
    }

    /// Performs the exchange; steps do not leave records.
    ///
    /// # Errors
    ///
    /// Returns why there is nothing to judge.
    pub async fn records(&self, caller: &Caller) -> Result<Vec<Record>, Trouble> {
        match self {
            Self::Ask(ask) => ask.perform(caller).await,
            Self::Seen(record) => record(caller).await,
            Self::Steps(_) => Ok(Vec::new()),
        }
    }
}

/// The result of a situation: the match or address of a question, the data it is made from, and the
/// resources that must live until it is answered.
#[derive(Default)]
pub struct Setting {
    pub subject: String,
    pub value: Value,
    pub keep: Option<Box<dyn Send + Sync>>,
}

impl Setting {
    pub fn about(subject: String) -> Self {
        Self {
            subject,
            ..Self::default()
        }
    }
}

/// Sets up a situation.
pub type Situation = for<'a> fn(&'a Caller) -> Pending<'a, Result<Setting, Trouble>>;

/// Changes a message or a frame before it is sent.
pub type Change = fn(&mut Value, &Stage);

/// How a call differs from an ordinary one.
#[derive(Clone, Copy)]
pub enum Body {
    /// The message, changed.
    Message(Change),
    /// The frame, changed.
    Frame(fn(&mut Value)),
    /// The text of the frame, changed.
    Text(fn(String) -> String),
    /// The frame with this id, in its exact spelling.
    Id(&'static str),
    /// Other bytes.
    Raw(&'static [u8]),
}

/// A question in a situation.
#[derive(Clone)]
pub struct Ask {
    situation: Situation,
    question: fn(&Stage, &Setting) -> Question,
    /// One call for each body.
    bodies: Vec<Body>,
    headers: &'static [(&'static str, &'static str)],
    patience: Duration,
    due: &'static [&'static str],
    registered: bool,
    survives: Option<&'static str>,
    may_be_silent: bool,
    outside_mcp: Option<&'static str>,
    unless: Option<fn(&Reply) -> Option<&'static str>>,
}

impl From<Ask> for Exchange {
    fn from(ask: Ask) -> Self {
        Self::Ask(ask)
    }
}

impl Ask {
    pub fn new(situation: Situation, question: fn(&Stage, &Setting) -> Question) -> Self {
        Self {
            situation,
            question,
            bodies: vec![Body::Message(|_, _| {})],
            headers: &JSON,
            patience: PROMPT,
            due: &[],
            registered: false,
            survives: None,
            may_be_silent: false,
            outside_mcp: None,
            unless: None,
        }
    }

    /// The question that any agent of its kind answers with a result.
    pub fn ordinary() -> Self {
        let situation: Situation = |caller| {
            Box::pin(async {
                let Question {
                    method,
                    params,
                    is_tool,
                } = caller.stage.question().await;
                Ok(Setting {
                    subject: method,
                    value: json!({"params": params, "is_tool": is_tool}),
                    keep: None,
                })
            })
        };
        Self::new(situation, |_, setting| Question {
            method: setting.subject.clone(),
            params: setting.value["params"].clone(),
            is_tool: setting.value["is_tool"] == true,
        })
    }

    /// A method that needs no situation.
    pub fn method(question: fn(&Stage, &Setting) -> Question) -> Self {
        Self::new(|_| Box::pin(async { Ok(Setting::default()) }), question)
    }

    #[must_use]
    pub fn with(self, change: Change) -> Self {
        self.bodies([Body::Message(change)])
    }

    #[must_use]
    pub fn bodies<const N: usize>(mut self, bodies: [Body; N]) -> Self {
        self.bodies = bodies.into();
        self
    }

    #[must_use]
    pub fn framed(self, change: fn(&mut Value)) -> Self {
        self.bodies([Body::Frame(change)])
    }

    #[must_use]
    pub fn headers(mut self, headers: &'static [(&'static str, &'static str)]) -> Self {
        self.headers = headers;
        self
    }

    #[must_use]
    pub fn patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    #[must_use]
    pub fn due(mut self, kinds: &'static [&'static str]) -> Self {
        self.due = kinds;
        self
    }

    /// Skips the rule if the agent never registered.
    #[must_use]
    pub fn registered(mut self) -> Self {
        self.registered = true;
        self
    }

    /// The agent must answer an ordinary call after this.
    #[must_use]
    pub fn survives(mut self, what: &'static str) -> Self {
        self.survives = Some(what);
        self
    }

    /// The agent need not answer.
    #[must_use]
    pub fn may_be_silent(mut self) -> Self {
        self.may_be_silent = true;
        self
    }

    /// Skips the rule for this reason if the agent takes calls by MCP alone.
    #[must_use]
    pub fn outside_mcp(mut self, reason: &'static str) -> Self {
        self.outside_mcp = Some(reason);
        self
    }

    /// Skips the rule for the reason that the function finds in an answer.
    #[must_use]
    pub fn unless(mut self, reason: fn(&Reply) -> Option<&'static str>) -> Self {
        self.unless = Some(reason);
        self
    }

    /// Asks once for each body.
    async fn perform(&self, caller: &Caller) -> Result<Vec<Record>, Trouble> {
        if self.registered {
            caller.stage.admitted()?;
        }
        if let Some(reason) = self.outside_mcp.filter(|_| caller.stage.habit().is_mcp()) {
            return Err(Trouble::skipped(reason, ""));
        }
        let mut records = Vec::new();
        for body in &self.bodies {
            let setting = (self.situation)(caller).await?;
            let question = (self.question)(&caller.stage, &setting);
            let record = self.once(caller, body, question).await?;
            records.extend(record.map(|record| record.with("subject", setting.subject)));
        }
        Ok(records)
    }

    async fn once(
        &self,
        caller: &Caller,
        body: &Body,
        mut question: Question,
    ) -> Result<Option<Record>, Trouble> {
        let bytes = spell(caller, body, &mut question);
        let trip = self.send(caller, &bytes).await;
        if let Some(what) = self.survives {
            caller.still_answers(what).await?;
            caller.note(trip.clone());
        }
        match answered(&trip) {
            Err(_) if self.may_be_silent => return Ok(None),
            answer => answer?,
        };
        let reply = Reply::read(trip);
        if let Some(reason) = self.unless.and_then(|unless| unless(&reply)) {
            return Err(Trouble::skipped(reason, ""));
        }
        let said = Statement::Reply(reply);
        let mut record = Record::new(caller.stage.kind, question.params, said);
        record.facts = caller.stage.facts();
        Ok(Some(record))
    }

    async fn send(&self, caller: &Caller, body: &[u8]) -> RoundTrip {
        let mut headers = self.headers.to_vec();
        headers.extend(caller.stage.habit().headers());
        let request = Request {
            method: "POST",
            path: &caller.stage.agent.path,
            headers: &headers,
            body,
        };
        caller.send(&request, self.patience).await
    }
}

fn spell(caller: &Caller, body: &Body, question: &mut Question) -> Vec<u8> {
    if let Body::Message(change) = body {
        change(&mut question.params, &caller.stage);
    }
    let mut frame = caller.frame(question, fresh_id());
    match body {
        Body::Message(_) => frame.to_string().into_bytes(),
        Body::Frame(change) => {
            change(&mut frame);
            frame.to_string().into_bytes()
        }
        Body::Text(change) => change(frame.to_string()).into_bytes(),
        Body::Id(id) => {
            frame["id"] = STAND_IN.into();
            let text = frame.to_string();
            text.replace(&STAND_IN.to_string(), id).into_bytes()
        }
        Body::Raw(bytes) => bytes.to_vec(),
    }
}

/// Removes members from a message.
pub(crate) fn remove(message: &mut Value, names: &[&str]) {
    if let Some(members) = message.as_object_mut() {
        members.retain(|name, _| !names.contains(&name.as_str()));
    }
}
