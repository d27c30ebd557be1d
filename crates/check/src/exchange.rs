//! The exchanges of rules: which question is asked in which situation, and what is recorded.

use std::time::Duration;

use serde_json::Value;

use crate::caller::{Caller, JSON, PROMPT, answered, fresh_id};
use crate::record::{Record, Records};
use crate::reply::Reply;
use crate::rule::{Judgement, Pending, Trouble, need};
use crate::stage::{Question, Stage, borrowed};

/// The placeholder that is replaced by an id in its exact spelling.
const STAND_IN: u64 = 987_654_321_012_345;

/// Records what an agent said.
pub type Recording = for<'a> fn(&'a Caller) -> Pending<'a, Records>;

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
    /// Returns why there is nothing to judge.
    pub async fn records(&self, caller: &Caller) -> Records {
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

    pub fn of(value: impl Into<Value>) -> Self {
        Self {
            value: value.into(),
            ..Self::default()
        }
    }
}

/// Sets up a situation.
pub type Situation = for<'a> fn(&'a Caller) -> Pending<'a, Result<Setting, Trouble>>;

/// Changes a message or a frame before it is sent.
pub type Change = fn(&mut Value, &Stage);

/// Looks at an answer.
type Condition = fn(&Reply) -> bool;

/// How a call differs from an ordinary one.
#[derive(Clone, Copy)]
pub enum Body {
    /// The message, changed.
    Message(Change),
    /// The message with this text in a member.
    With(&'static str, &'static str),
    /// The message without these members.
    Without(&'static [&'static str]),
    /// The frame, changed.
    Frame(fn(&mut Value)),
    /// The text of the frame, changed.
    Text(fn(String) -> String),
    /// The frame with this id, in its exact spelling.
    Id(&'static str),
    /// Other bytes.
    Raw(&'static [u8]),
}

/// What a question is made from.
#[derive(Clone, Copy)]
enum QuestionOf {
    /// Nothing: the question that any agent of its kind answers with a result.
    Nothing,
    Subject(fn(&Stage, &str) -> Question),
    Setting(fn(&Stage, &Setting) -> Question),
}

/// A question in a situation.
#[derive(Clone)]
pub struct Ask {
    situation: Situation,
    question: QuestionOf,
    /// One call for each body.
    bodies: Vec<Body>,
    headers: &'static [(&'static str, &'static str)],
    patience: Duration,
    due: &'static [&'static str],
    registered: bool,
    survives: Option<&'static str>,
    may_be_silent: bool,
    outside_mcp: Option<&'static str>,
    unless: Option<(Condition, &'static str)>,
}

impl From<Ask> for Exchange {
    fn from(ask: Ask) -> Self {
        Self::Ask(ask)
    }
}

impl Ask {
    /// The question that any agent of its kind answers with a result.
    pub fn ordinary() -> Self {
        Self {
            situation: |_| Box::pin(async { Ok(Setting::default()) }),
            question: QuestionOf::Nothing,
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

    /// A question that needs no situation.
    pub fn method(question: fn(&Stage, &Setting) -> Question) -> Self {
        Self {
            question: QuestionOf::Setting(question),
            ..Self::ordinary()
        }
    }

    pub fn new(situation: Situation, question: fn(&Stage, &Setting) -> Question) -> Self {
        Self {
            situation,
            ..Self::method(question)
        }
    }

    /// A question about the subject of a situation.
    pub fn about(situation: Situation, question: fn(&Stage, &str) -> Question) -> Self {
        Self {
            situation,
            question: QuestionOf::Subject(question),
            ..Self::ordinary()
        }
    }

    #[must_use]
    pub fn changed(self, change: Change) -> Self {
        self.bodies([Body::Message(change)])
    }

    #[must_use]
    pub fn with(self, name: &'static str, text: &'static str) -> Self {
        self.bodies([Body::With(name, text)])
    }

    #[must_use]
    pub fn without(self, names: &'static [&'static str]) -> Self {
        self.bodies([Body::Without(names)])
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

    /// Skips the rule for this reason if the answer satisfies a condition.
    #[must_use]
    pub fn unless(mut self, passes: Condition, reason: &'static str) -> Self {
        self.unless = Some((passes, reason));
        self
    }

    /// Asks once for each body.
    async fn perform(&self, caller: &Caller) -> Records {
        if self.registered {
            caller.stage.admitted()?;
        }
        if let Some(reason) = self.outside_mcp {
            need!(!caller.stage.is_mcp(), else "{reason}")?;
        }
        let mut records = Vec::new();
        for body in &self.bodies {
            let setting = (self.situation)(caller).await?;
            let question = match self.question {
                QuestionOf::Nothing => caller.stage.question().await,
                QuestionOf::Subject(question) => question(&caller.stage, &setting.subject),
                QuestionOf::Setting(question) => question(&caller.stage, &setting),
            };
            if question.method == "choose_parity" {
                caller.stage.needs("PICK-01")?;
            }
            let record = self.once(caller, body, question).await?;
            let (subject, given) = (setting.subject, setting.value);
            let whole = |record: Record| record.with("subject", subject).with("given", given);
            records.extend(record.map(whole));
        }
        Ok(records)
    }

    async fn once(
        &self,
        caller: &Caller,
        body: &Body,
        mut question: Question,
    ) -> Result<Option<Record>, Trouble> {
        let bytes = spell(&caller.stage, body, &mut question);
        let own = caller.stage.headers(Some(&question));
        let mut headers = borrowed(&own);
        headers.splice(..JSON.len(), self.headers.iter().copied());
        let trip = caller.post_with(&headers, &bytes, self.patience).await;
        if let Some(what) = self.survives {
            caller.still_answers(what).await?;
            caller.note(trip.clone());
        }
        match answered(&trip) {
            Err(_) if self.may_be_silent => return Ok(None),
            answer => answer?,
        };
        let reply = Reply::read(trip);
        if let Some((passes, reason)) = self.unless {
            need!(!passes(&reply), else "{reason}")?;
        }
        Ok(Some(caller.stage.record(question.params, reply)))
    }
}

fn spell(stage: &Stage, body: &Body, question: &mut Question) -> Vec<u8> {
    match body {
        Body::Message(change) => change(&mut question.params, stage),
        Body::With(name, text) => question.params[name] = (*text).into(),
        Body::Without(names) => remove(&mut question.params, names),
        _ => {}
    }
    let mut frame = stage.frame(question, fresh_id());
    let text = match body {
        Body::Raw(bytes) => return bytes.to_vec(),
        Body::Message(_) | Body::With(..) | Body::Without(_) => frame.to_string(),
        Body::Frame(change) => {
            change(&mut frame);
            frame.to_string()
        }
        Body::Text(change) => change(frame.to_string()),
        Body::Id(id) => {
            frame["id"] = STAND_IN.into();
            frame.to_string().replace(&STAND_IN.to_string(), id)
        }
    };
    text.into_bytes()
}

/// Removes members from a message.
pub(crate) fn remove(message: &mut Value, names: &[&str]) {
    if let Some(members) = message.as_object_mut() {
        members.retain(|name, _| !names.contains(&name.as_str()));
    }
}
