//! What an agent said, and what a rule expects of it. Both are plain values: an expectation reads
//! the record only.

use std::sync::Arc;
use std::time::Duration;

use league_protocol::time::{TimeError, Timestamp};
use serde_json::Value;

use crate::AgentKind;
use crate::caller::Caller;
use crate::listener::IncomingCall;
use crate::manager::season::LeagueRecord;
use crate::referee::match_run::MatchRecord;
use crate::reply::{NO_REPLY, Reply};
use crate::rule::{Judgement, Trouble, hold};
use crate::wire::RoundTrip;

/// What an agent said.
#[derive(Debug, Clone)]
pub enum Statement {
    /// The rule judges the whole match or league.
    Nothing,
    Reply(Reply),
    /// The agent's own call, and the receiver of the call.
    Call(Arc<IncomingCall>, &'static str),
}

impl From<Reply> for Statement {
    fn from(reply: Reply) -> Self {
        Self::Reply(reply)
    }
}

/// The records that a rule judges, or why there are none.
pub type Records = Result<Vec<Record>, Trouble>;

/// One statement of an agent, with the facts that the check knew then.
#[derive(Debug, Clone)]
pub struct Record {
    pub kind: AgentKind,
    /// The message that was sent to the agent, or that its call follows from.
    pub asked: Value,
    pub said: Statement,
    /// Named facts: ids, tokens, counts.
    pub facts: Vec<(&'static str, Value)>,
    pub match_record: Option<Arc<MatchRecord>>,
    pub league: Option<Arc<LeagueRecord>>,
}

impl Record {
    pub fn new(kind: AgentKind, asked: Value, said: impl Into<Statement>) -> Self {
        Self {
            kind,
            asked,
            said: said.into(),
            facts: Vec::new(),
            match_record: None,
            league: None,
        }
    }

    #[must_use]
    pub fn with(mut self, name: &'static str, value: impl Into<Value>) -> Self {
        self.facts.push((name, value.into()));
        self
    }

    /// The message of the agent; null if there is none.
    pub fn message(&self) -> &Value {
        match &self.said {
            Statement::Nothing => &Value::Null,
            Statement::Reply(reply) => reply.result().unwrap_or(&Value::Null),
            Statement::Call(call, _) => call.message(),
        }
    }

    /// A member of the message by its path, such as `player_meta.version`.
    pub fn member(&self, path: &str) -> &Value {
        path.split('.').fold(self.message(), |at, name| &at[name])
    }

    /// A string in the message; a lenient league forgives a missing one.
    /// Returns an error if it is missing or not a string.
    pub fn text(&self, path: &str) -> Result<&str, Trouble> {
        text(self.member(path), path)
    }

    /// The answer of the agent; an empty one if there is none.
    pub fn reply(&self) -> &Reply {
        match &self.said {
            Statement::Reply(reply) => reply,
            _ => &NO_REPLY,
        }
    }

    /// The HTTP status of the answer; 0 if there is none.
    pub fn status(&self) -> u16 {
        self.reply().status()
    }

    /// The answer as JSON, with its frame; null if it is not JSON.
    pub fn json(&self) -> &Value {
        self.reply().json.as_ref().unwrap_or(&Value::Null)
    }

    /// Breaks the rule if the record is of another kind.
    pub fn call(&self) -> Result<&IncomingCall, Trouble> {
        match &self.said {
            Statement::Call(call, _) => Ok(call),
            _ => Err(Trouble::broken("no call of the agent was recorded")),
        }
    }

    /// Breaks the rule if the record is of another kind.
    pub fn match_record(&self) -> Result<&MatchRecord, Trouble> {
        let found = self.match_record.as_deref();
        found.ok_or_else(|| Trouble::broken("no match was recorded"))
    }

    /// Breaks the rule if the record is of another kind.
    pub fn league(&self) -> Result<&LeagueRecord, Trouble> {
        let found = self.league.as_deref();
        found.ok_or_else(|| Trouble::broken("no league was recorded"))
    }

    /// A fact by its name.
    /// Skips the rule if the fact is not known, as with an agent that never registered.
    pub fn fact(&self, name: &str) -> Result<&Value, Trouble> {
        let found = self.facts.iter().find(|(known, _)| *known == name);
        found
            .map(|(_, value)| value)
            .ok_or_else(|| not_registered(self.kind))
    }

    /// Stores it as the last exchange for the report.
    pub fn note(&self, caller: &Caller) {
        match &self.said {
            Statement::Nothing => {}
            Statement::Reply(reply) => caller.note(reply.trip.clone()),
            Statement::Call(call, whom) => caller.note(RoundTrip::overheard(whom, &call.body)),
        }
    }
}

/// A member as text; a missing one is forgiven.
pub(crate) fn text<'v>(member: &'v Value, name: &str) -> Result<&'v str, Trouble> {
    match member {
        Value::Null => Err(Trouble::forgiven(format!("`{name}` is missing"))),
        Value::String(text) => Ok(text),
        other => Err(Trouble::broken(format!("`{name}` is {other}, not a text"))),
    }
}

/// The reason for skipping a rule that needs a registered agent.
pub fn not_registered(kind: AgentKind) -> Trouble {
    let hint = match kind {
        AgentKind::Referee => {
            "start the referee after the check has begun, or let `--launch \"COMMAND\"` start it"
        }
        _ => "start the player after the check has begun, or let `--launch \"COMMAND\"` start it",
    };
    let kind = kind.as_str();
    Trouble::skipped(format!("the {kind} did not register with this manager")).hint(hint)
}

/// A value that a member must have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Want {
    Text(&'static str),
    Bool(bool),
    /// The fact of this name.
    Fact(&'static str),
}

impl From<&'static str> for Want {
    fn from(text: &'static str) -> Self {
        Self::Text(text)
    }
}

impl From<bool> for Want {
    fn from(flag: bool) -> Self {
        Self::Bool(flag)
    }
}

/// What a rule expects of a record.
#[derive(Clone, Copy)]
pub enum Expect {
    /// A member has a text; a missing one is forgiven.
    Is(&'static str, Want),
    /// A member has a value; a missing one is not forgiven.
    Equals(&'static str, Want),
    /// A member is the token in a fact; the report does not show it.
    Token(&'static str, &'static str),
    /// A member repeats a member of the question.
    Repeats(&'static str),
    /// A member is there; a missing one is forgiven.
    Present(&'static str),
    /// A member is a time in UTC.
    Utc(&'static str),
    /// A member in the body of a message is a time in UTC; a missing zone is forgiven.
    BodyUtc(&'static str),
    /// A member is a string.
    Text(&'static str),
    /// The message is of one of these types.
    Kind(&'static [&'static str]),
    /// The answer came within this time.
    Within(Duration),
    /// The answer has this HTTP status.
    Status(u16),
    /// The answer is a JSON-RPC error with one of these codes.
    RpcError(&'static [i64]),
    /// The answer is an error of the league with this code.
    LeagueError(&'static str),
    /// As `LeagueError`; a refusal of another kind is forgiven.
    LeagueErrorOrAnother(&'static str),
    /// The agent refused the named thing, in any form.
    Refused(&'static str),
    /// The agent did not refuse.
    Taken,
    /// The call was posted as JSON.
    Posted,
    /// The call is a JSON-RPC frame for this tool.
    Framed(&'static str),
    By(fn(&Record) -> Judgement),
}

pub(crate) fn is(name: &'static str, want: impl Into<Want>) -> Expect {
    Expect::Is(name, want.into())
}

pub(crate) fn equals(name: &'static str, want: impl Into<Want>) -> Expect {
    Expect::Equals(name, want.into())
}

pub(crate) const PROTOCOL: Expect = Expect::Is("protocol", Want::Text("league.v2"));
/// The message belongs to the conversation of the question.
pub(crate) const SAME_CONVERSATION: [Expect; 2] = [
    Expect::Present("conversation_id"),
    Expect::Repeats("conversation_id"),
];

/// The whole envelope of a call by this sender.
pub(crate) fn envelope(sender: Want) -> Vec<Expect> {
    vec![
        PROTOCOL,
        Expect::Utc("timestamp"),
        Expect::By(names_conversation),
        Expect::Is("sender", sender),
    ]
}

pub(crate) fn names_conversation(record: &Record) -> Judgement {
    let conversation = record.text("conversation_id")?;
    hold!(!conversation.is_empty(), else "`conversation_id` is empty")
}

impl Expect {
    /// Judges a record.
    /// Returns what was found instead.
    pub fn judge(&self, record: &Record) -> Judgement {
        match *self {
            Self::Is(name, want) => {
                let wanted = wanted(record, want)?;
                record.text(name)?;
                has_value(record, name, &wanted)
            }
            Self::Equals(name, want) => has_value(record, name, &wanted(record, want)?),
            Self::Token(name, fact) => {
                let shown = record.member(name) == record.fact(fact)?;
                hold!(shown, else "`{name}` is another token, or missing")
            }
            Self::Repeats(name) => {
                hold!(!record.member(name).is_null(), else "`{name}` is missing")?;
                has_value(record, name, &record.asked[name])
            }
            Self::Present(name) if record.member(name).is_null() => {
                Err(Trouble::forgiven(format!("`{name}` is missing")))
            }
            Self::Present(_) => Ok(()),
            Self::Utc(name) => is_utc(record, name, false),
            Self::BodyUtc(name) => is_utc(record, name, true),
            Self::Text(name) => record.text(name).map(drop),
            Self::Kind(kinds) => is_of_kind(record, kinds),
            Self::Within(bound) => {
                let took = record.reply().trip.took;
                hold!(took <= bound, else "the answer took {:.1} s", took.as_secs_f64())
            }
            Self::Status(wanted) => {
                let status = record.status();
                hold!(status == wanted, else "the status is {status} instead of {wanted}")
            }
            Self::RpcError(codes) => {
                let reply = record.reply();
                let code = reply.rpc_error();
                let wanted = codes.first().copied().unwrap_or_default();
                let known = code.is_some_and(|code| codes.contains(&code));
                hold!(known, else "the answer is {} instead of {wanted}", reply.describe())
            }
            Self::LeagueError(code) => has_code(record.reply(), code, false),
            Self::LeagueErrorOrAnother(code) => has_code(record.reply(), code, true),
            Self::Refused(what) => record.reply().refused(what),
            Self::Taken => record.reply().taken(),
            Self::Posted => is_posted(record.call()?),
            Self::Framed(tool) => is_framed(record.call()?, tool),
            Self::By(judge) => judge(record),
        }
    }
}

fn wanted(record: &Record, want: Want) -> Result<Value, Trouble> {
    Ok(match want {
        Want::Text(text) => text.into(),
        Want::Bool(flag) => flag.into(),
        Want::Fact(fact) => record.fact(fact)?.clone(),
    })
}

fn has_value(record: &Record, name: &str, wanted: &Value) -> Judgement {
    let found = record.member(name);
    hold!(found == wanted, else "`{name}` is {found} instead of {wanted}")
}

fn is_utc(record: &Record, name: &str, in_body: bool) -> Judgement {
    let Some(text) = record.member(name).as_str() else {
        return Err(Trouble::forgiven(format!("`{name}` is missing")));
    };
    let Err(fault) = Timestamp::parse(text) else {
        return Ok(());
    };
    let (what, forgiven) = match fault {
        TimeError::NoZone(_) => ("has no zone; write UTC with Z", in_body),
        TimeError::NotUtc(_) => ("has another offset than UTC", false),
        TimeError::Spelling(_) => ("writes UTC in another form than 2025-01-15T10:30:00Z", true),
        TimeError::NotATime => ("is not a time in the form 2025-01-15T10:30:00Z", false),
    };
    Err(Trouble::of(forgiven, format!("`{name}` {what}")))
}

fn is_of_kind(record: &Record, kinds: &[&str]) -> Judgement {
    match &record.said {
        Statement::Reply(reply) => reply.of_kind(kinds).map(drop),
        _ => {
            let kind = record.member("message_type");
            let known = kind.as_str().is_some_and(|kind| kinds.contains(&kind));
            hold!(known, else "the type is {kind}")
        }
    }
}

fn has_code(reply: &Reply, code: &str, other_is_forgiven: bool) -> Judgement {
    if reply.league_error() == Some(code) {
        return Ok(());
    }
    let found = format!("the answer is {} instead of {code}", reply.describe());
    Err(Trouble::of(other_is_forgiven && reply.is_refusal(), found))
}

fn is_posted(call: &IncomingCall) -> Judgement {
    hold!(call.method == "POST", else "the HTTP method is {}", call.method)?;
    let kind = call.headers.get("content-type");
    let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    hold!(kind.starts_with("application/json"), else "the media type is `{kind}`")
}

fn is_framed(call: &IncomingCall, tool: &str) -> Judgement {
    hold!(call.json["jsonrpc"] == "2.0", else "`jsonrpc` is not \"2.0\"")?;
    hold!(call.tool() == Some(tool),
        else "the method is {} instead of `{tool}`", call.json["method"])?;
    hold!(call.json["params"].is_object(), else "`params` is not an object")?;
    hold!(call.json.get("id").is_some(), else "`id` is missing")
}
