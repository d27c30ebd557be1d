//! The dispatcher of an agent: what a call asks for is understood here and answered in its words.
//!
//! The envelope is read once for all kinds of agents; what a message means to one of them is left
//! to its [`AgentService`], and framing to the reception around it.

use std::sync::Arc;

use league_mcp::{Given, Tool};
use league_protocol::dialect::Hints;
use league_protocol::encode::{Stamp, encode};
use league_protocol::fault::Code;
use league_protocol::finding::{Finding, Reading};
use league_protocol::id::{ConversationId, MatchId};
use league_protocol::message::{LeagueError, Message, RegisterResponse};
use league_protocol::rpc::{self, Call, Era, RpcError};
use league_protocol::schema::message_names;
use league_protocol::sender::{Agent, CallStyle, Dialect};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::ToolService;
use super::asked::Asked;
use super::kindness;
use super::registry::{Takes, ToolEntry};
use super::role::{AgentService, Caller, ServiceReply};
use super::told;
use super::understanding::{Refused, ToldOf, Understood};
use crate::agents::identity::Identity;
use crate::clock;
use crate::storage::root::Root;
use crate::wire::deviations::{Deviations, Seen};
use crate::wire::outbox::match_of;
use crate::wire::resources::ResourceReader;
use crate::wire::traffic::{RejectedCall, RejectionTally};

/// The dispatcher of one agent.
pub(crate) struct Dispatcher<R: AgentService> {
    /// Who receives.
    pub(crate) identity: Arc<Identity>,
    /// What was forgiven whom.
    deviations: Deviations,
    /// How many calls could not be read.
    tally: RejectionTally,
    /// What it does with what it is told.
    pub(super) role: R,
    /// What its readers may read.
    pub(super) room: ResourceReader,
    /// The tools as MCP lists them.
    pub(super) tools: Vec<Tool>,
}

impl<R: AgentService> ToolService for Dispatcher<R> {
    fn has(&self, method: &str) -> bool {
        method == "ping" || self.entry(method).is_some() || carries_messages(method)
    }

    async fn attend(&self, call: &Call<'_>, caller: Caller<'_>) -> Vec<u8> {
        if call.method == "ping" {
            return rpc::respond(&call.id, &json!({"status": "ok"}));
        }
        let exact = match Asked::of(call) {
            Ok(asked) => Ok(self.exactly(&asked, caller).await),
            Err(error) => Err(error),
        };
        match exact {
            Ok(Some(given)) => rpc::respond(&call.id, &given.answer),
            Ok(None) => {
                let unknown = RpcError::method_not_found(&call.method);
                self.kindly(call, caller, unknown).await
            }
            Err(refusal) => self.kindly(call, caller, refusal).await,
        }
    }

    async fn attend_bare(&self, body: &str, caller: Caller<'_>) -> Option<Vec<u8>> {
        if self.identity.reading() == Reading::Strict {
            return None;
        }
        let mut made = kindness::make_out(self.role.manifest(), None, Some(""), body)?;
        made.findings.extend(kindness::note_bare());
        let given = self.hear(made.told(caller)).await;
        Some(given.answer.get().as_bytes().to_vec())
    }

    fn turned_away(&self, call: &RejectedCall) {
        self.tally.log(&self.identity, call);
    }

    async fn health(&self) -> Map<String, Value> {
        let mut health = self.role.health().await;
        health.insert("agent".into(), self.identity.label().into());
        health.insert("deviations".into(), self.deviations.shown());
        health
    }
}

impl<R: AgentService> Dispatcher<R> {
    /// Sets up the dispatcher of an agent.
    pub(crate) fn new(
        identity: Arc<Identity>,
        deviations: Deviations,
        root: Root,
        role: R,
    ) -> Self {
        let tools = role.manifest().tools.iter().map(ToolEntry::shown).collect();
        let room = ResourceReader {
            root,
            identity: Arc::clone(&identity),
        };
        Self {
            identity,
            deviations,
            tally: RejectionTally::default(),
            role,
            room,
            tools,
        }
    }

    /// The tool of that name.
    pub(super) fn entry(&self, tool: &str) -> Option<&'static ToolEntry> {
        let mut tools = self.role.manifest().tools.iter();
        tools.find(|entry| entry.name == tool)
    }

    /// Answers a call that is as it should be; nothing if there is no such tool, or no message.
    async fn exactly(&self, asked: &Asked<'_>, caller: Caller<'_>) -> Option<Given> {
        let entry = self.entry(asked.tool);
        if entry.is_none() && !carries_messages(asked.tool) {
            return None;
        }
        match (asked.message(), entry) {
            (Some(raw), entry) => {
                let layout = kindness::layout_of(asked);
                let told = ToldOf {
                    raw,
                    caller,
                    entry,
                    method: Some(asked.tool),
                    speech: (layout != CallStyle::Tool).then_some(layout),
                    forgiven: kindness::note_layout(layout).into_iter().collect(),
                };
                Some(self.hear(told).await)
            }
            (None, Some(entry)) if matches!(entry.takes, Takes::Arguments(_)) => {
                self.call_plain(asked, caller).await
            }
            (None, _) => None,
        }
    }

    /// Answers a call by what it must mean, or with the refusal that it earned.
    async fn kindly(&self, call: &Call<'_>, caller: Caller<'_>, refusal: RpcError) -> Vec<u8> {
        let entry = self.entry(&call.method);
        let known = entry.is_some() || carries_messages(&call.method);
        let params = call.params.text();
        let lenient = self.identity.reading() == Reading::Lenient;
        let made = lenient.then(|| {
            let method = Some(&*call.method);
            kindness::make_out(self.role.manifest(), entry, method, params.unwrap_or("{}"))
        });
        if let Some(mut made) = made.flatten() {
            made.findings
                .extend(kindness::note_method(&call.method, known));
            let said = made.told(caller);
            // A name that nobody has is forgiven only where all the rest is clear.
            if known || self.understood(said.raw, &said).is_ok() {
                let given = self.hear(said).await;
                return rpc::respond(&call.id, &given.answer);
            }
        }
        let told = params.is_some_and(kindness::is_message) || told::tells(&call.method);
        if lenient && self.role.nods() && told {
            return rpc::respond(&call.id, &json!({"status": "ok"}));
        }
        match known && params.is_none_or(|params| params.trim_start().starts_with('{')) {
            true => {
                let given = self.refuse(Refused::unread(no_message()));
                rpc::respond(&call.id, &given.answer)
            }
            false => {
                self.turned_away(&RejectedCall {
                    origin: caller.origin,
                    status: 200,
                    code: refusal.code,
                });
                rpc::fail(Some(&call.id), &refusal, Era::Simple)
            }
        }
    }

    /// Calls a tool over MCP, where an envelope may be left out; `None` if there is no such tool.
    pub(super) async fn call_tool(
        &self,
        tool: &str,
        arguments: Option<&RawValue>,
        caller: Caller<'_>,
    ) -> Option<Given> {
        let entry = self.entry(tool)?;
        let asked = Asked::with(tool, arguments);
        let told = |raw| ToldOf {
            raw,
            caller,
            entry: Some(entry),
            method: Some(tool),
            speech: Some(CallStyle::Mcp),
            forgiven: Vec::new(),
        };
        if let Some(raw) = asked.message() {
            return Some(self.hear(told(raw)).await);
        }
        match entry.takes {
            Takes::Arguments(_) => self.call_plain(&asked, caller).await,
            Takes::Message(kinds) => {
                let kind = kinds.first().copied().unwrap_or_default();
                let Some(raw) = asked.enveloped(kind, clock::now()) else {
                    return Some(self.refuse(Refused::unread(unclear())));
                };
                Some(self.hear(told(&raw)).await)
            }
        }
    }

    async fn call_plain(&self, asked: &Asked<'_>, caller: Caller<'_>) -> Option<Given> {
        let arguments = asked.arguments(caller.bearer);
        let spoken = self.role.call(asked.tool, arguments).await?;
        Some(self.written(spoken, Dialect::V2, None))
    }

    /// Understands a message, has it answered, and puts the answer into the caller's words.
    ///
    /// What cannot be understood as it is may be made out; if it cannot, it is refused as it is.
    async fn hear(&self, told: ToldOf<'_>) -> Given {
        let understood = match self.understood(told.raw, &told) {
            Err(refused) => self.made_out(&told).ok_or(refused),
            understood => understood,
        };
        let Understood {
            heard,
            sender: named_as,
            findings,
            conversation,
        } = match understood {
            Ok(understood) => understood,
            Err(refused) => return self.refuse(refused),
        };
        let dialect = self.identity.answers_in(heard.dialect);
        let attended = self.attended(&heard, named_as, conversation.as_ref());
        let (kind, sender) = (heard.message.v2_type(), heard.sender.clone());
        let match_id = match_of(&heard.message).cloned();
        let spoken = named(self.role.hear(heard).await, kind);
        attended.log_answer(&self.identity, spoken.message());
        self.note(&spoken, sender.as_ref(), match_id.as_ref(), &findings);
        self.written(spoken, dialect, conversation)
    }

    /// Answers a message that means nothing.
    fn refuse(&self, refused: Refused) -> Given {
        let attended = self.puzzled(&refused);
        let kind = refused.error.original_message_type.as_deref();
        let spoken = match self.role.nods() && kind.is_some_and(told::is_told) {
            true => ServiceReply::Message(Box::new(Message::Acknowledged)),
            false => ServiceReply::error(*refused.error),
        };
        attended.log_answer(&self.identity, spoken.message());
        let dialect = self.identity.answers_in(refused.dialect);
        self.written(spoken, dialect, refused.conversation)
    }

    /// Notes what was forgiven, under the name of a caller who was believed, or was just admitted.
    fn note(
        &self,
        spoken: &ServiceReply,
        sender: Option<&Agent>,
        match_id: Option<&MatchId>,
        findings: &[Finding],
    ) {
        let admitted = spoken.message().and_then(admitted);
        // Whoever only wants to be admitted has proved nothing.
        let proved = !is_refusal(spoken) && !spoken.message().is_some_and(is_admission);
        let believed = sender.filter(|_| proved);
        let note = |agent: &str, findings: &[Finding]| {
            let seen = Seen {
                by: &self.identity,
                agent,
                match_id,
            };
            self.deviations.note(&seen, findings);
        };
        match admitted.as_ref().or(believed) {
            Some(sender) => note(&sender.to_string(), findings),
            None => note("unproven callers", findings),
        }
        if let (ServiceReply::Spelled(..), Some(admitted)) = (spoken, &admitted) {
            let findings: Vec<Finding> = kindness::note_wish().into_iter().collect();
            note(&admitted.to_string(), &findings);
        }
    }

    fn written(
        &self,
        spoken: ServiceReply,
        dialect: Dialect,
        conversation: Option<ConversationId>,
    ) -> Given {
        let failed = is_refusal(&spoken);
        let given = |answer| Given { answer, failed };
        let (message, proven, dialect) = match spoken {
            ServiceReply::Plain(value) => return given(raw(&value)),
            ServiceReply::Message(message) => (message, false, dialect),
            ServiceReply::Proven(message) => (message, true, dialect),
            ServiceReply::Spelled(message, dialect) => (message, false, dialect),
        };
        let agent = self.identity.agent();
        let own = || league_protocol::encode::conversation(&message, &self.identity.label());
        let conversation = conversation.unwrap_or_else(own);
        let token = self.identity.token().filter(|_| proven);
        let stamp = Stamp {
            sender: self.identity.sender(agent.as_ref()),
            at: clock::now(),
            conversation: &conversation,
            token: token.as_ref(),
        };
        self.hinted(|hints| {
            let outgoing = encode(&message, dialect, stamp, hints);
            // A dialect without words for the answer is given a nod.
            given(match outgoing {
                Some(outgoing) => raw(&outgoing),
                None => raw(&json!({"status": "ok"})),
            })
        })
    }

    /// Does something with what this agent knows and a message may leave unsaid.
    pub(super) fn hinted<Out>(&self, act: impl FnOnce(&Hints<'_>) -> Out) -> Out {
        let (league, game) = (self.identity.meant(), self.identity.game());
        let reader = self.identity.player();
        act(&Hints {
            league_id: league.as_ref(),
            game_type: game.as_ref(),
            reader: reader.as_ref(),
            synonyms: self.identity.takes_anything(),
            ..Hints::default()
        })
    }
}

/// The JSON of an answer, its members in the order in which they are written.
fn raw(answer: &impl serde::Serialize) -> Box<RawValue> {
    serde_json::value::to_raw_value(answer).unwrap_or_else(|_| RawValue::NULL.to_owned())
}

/// Says which message an error is about.
fn named(mut spoken: ServiceReply, kind: Option<&'static str>) -> ServiceReply {
    if let ServiceReply::Message(message) = &mut spoken
        && let Message::LeagueError(error) = &mut **message
        && error.original_message_type.is_none()
    {
        error.original_message_type = kind.map(str::to_owned);
    }
    spoken
}

fn no_message() -> LeagueError {
    let detail = "the tool needs a message, and `message_type` is missing; add it";
    let mut error = LeagueError::new(Code::MissingField, detail);
    error.path = Some("message_type".to_owned());
    error
}

pub(super) fn unclear() -> LeagueError {
    LeagueError::new(Code::InvalidMessage, "the parameters hold no message")
}

/// Whether a method stands for any message: `mcp_message`, or the type of one.
fn carries_messages(method: &str) -> bool {
    method == "mcp_message" || message_names(&Dialect::ALL).any(|(_, name)| name == method)
}

/// Whether an answer is an error.
fn is_refusal(spoken: &ServiceReply) -> bool {
    matches!(spoken.message(), Some(Message::LeagueError(_)))
}

/// Whether an answer is one to a wish to be admitted.
const fn is_admission(answer: &Message) -> bool {
    matches!(
        answer,
        Message::PlayerRegisterResponse(_) | Message::RefereeRegisterResponse(_)
    )
}

/// Who is admitted by an answer.
fn admitted(answer: &Message) -> Option<Agent> {
    match answer {
        Message::PlayerRegisterResponse(RegisterResponse::Accepted(enrolment)) => {
            Some(Agent::Player(enrolment.id.clone()))
        }
        Message::RefereeRegisterResponse(RegisterResponse::Accepted(enrolment)) => {
            Some(Agent::Referee(enrolment.id.clone()))
        }
        _ => None,
    }
}
