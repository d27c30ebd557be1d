//! The tool dispatcher of an agent: decodes a call, lets the service answer it, and encodes the
//! answer in the caller's dialect.
//!
//! Decoding is the same for all kinds of agents. The [`AgentService`] handles the message, and the
//! router around the dispatcher does the framing.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use league_mcp::{
    About, BoxFuture, Completing, Offering, Origin, Prompt, PromptFault, Resource, ResourceText,
    Template, Tool, ToolAnswer,
};
use league_protocol::dialect::Hints;
use league_protocol::encode::{Stamp, encode};
use league_protocol::fault::Code;
use league_protocol::finding::Finding;
use league_protocol::id::{ConversationId, MatchId};
use league_protocol::message::{Enrolment, LeagueError, Message, RegisterResponse, expects_answer};
use league_protocol::rpc::{self, Call, Era, RpcError};
use league_protocol::sender::{Agent, Dialect};
use league_protocol::token::AuthToken;
use league_protocol::tools::{ToolArguments, ToolEntry};
use league_protocol::wire::{self, Context, Inbound, Received, Unread};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::prompts;
use super::record::{IncomingCall, RejectedCall, RejectionTally};
use super::resources::{ResourceReader, TRANSCRIPTS, tame};
use super::router::{Caller, ToolService};
use crate::agents::identity::Identity;
use crate::clock;
use crate::storage::root::Root;
use crate::wire::metrics::AgentGauges;
use crate::wire::observed::{DeviationSource, Deviations};

/// How long a client may cache a resource, in milliseconds.
const FRESH_FOR: u64 = 1_000;
/// How long the health page waits for the agent, which answers nothing while it writes.
const HEALTH_TIMEOUT: Duration = Duration::from_secs(1);

/// A kind of agent: what it offers, and how it answers.
pub(crate) trait AgentService: Send + Sync + 'static {
    fn manifest(&self) -> &'static Manifest;
    /// Answers a message.
    fn hear(&self, received: Received, origin: Origin)
    -> impl Future<Output = ServiceReply> + Send;
    /// Answers a call to a tool that takes no message; `None` if there is no such tool.
    fn call(
        &self,
        tool: &str,
        arguments: ToolArguments,
    ) -> impl Future<Output = Option<ServiceReply>> + Send;
    /// Returns a listed resource for which the agent has newer data than its documents.
    fn show(&self, uri: &str) -> impl Future<Output = Option<Value>> + Send;
    /// Additional members of the health page.
    fn health(&self) -> impl Future<Output = Map<String, Value>> + Send;
    /// Whether it acknowledges notifications of unknown types.
    fn acknowledges_news(&self) -> bool {
        false
    }
}

/// What a kind of agent offers, both to plain calls and over MCP.
#[derive(Debug)]
pub(crate) struct Manifest {
    /// The machine-readable name.
    pub(crate) name: &'static str,
    /// The name shown to people.
    pub(crate) title: &'static str,
    /// Instructions for an assistant.
    pub(crate) instructions: &'static str,
    /// The tools, in listing order.
    pub(crate) tools: &'static [ToolEntry],
    /// The tools as MCP lists them, with their schemas: large, and the same for all agents of a kind.
    pub(crate) listed: OnceLock<Vec<Tool>>,
    /// Resources: address, title, description.
    pub(crate) resources: &'static [(&'static str, &'static str, &'static str)],
    /// Resources whose address contains a name.
    pub(crate) templates: &'static [Template],
    pub(crate) prompts: &'static [Prompt],
    /// The resource that prompts include when they are not about one match.
    pub(crate) background: &'static str,
}

/// The answer of an agent's service.
#[derive(Debug)]
pub(crate) enum ServiceReply {
    Message(Box<Message>),
    /// A message sent with the agent's token as proof.
    Proven(Box<Message>),
    /// A message in another dialect than the caller's.
    Spelled(Box<Message>, Dialect),
    /// Plain JSON, for tools without a message.
    Plain(Value),
}

impl ServiceReply {
    /// The same reply in this dialect; a proven message stays unchanged.
    #[must_use]
    pub(crate) fn spelled(self, dialect: Dialect) -> Self {
        match self {
            Self::Message(message) => Self::Spelled(message, dialect),
            reply => reply,
        }
    }

    pub(crate) fn message(&self) -> Option<&Message> {
        match self {
            Self::Message(message) | Self::Proven(message) | Self::Spelled(message, _) => {
                Some(message)
            }
            Self::Plain(_) => None,
        }
    }

    pub(crate) fn error(error: LeagueError) -> Self {
        Self::Message(Box::new(Message::from(error)))
    }

    fn is_refusal(&self) -> bool {
        matches!(self.message(), Some(Message::LeagueError(_)))
    }

    /// Completes an error with the call that it answers.
    fn about(
        mut self,
        kind: Option<&'static str>,
        token: Option<&AuthToken>,
        sender: Option<&Agent>,
    ) -> Self {
        let player = match sender {
            Some(Agent::Player(id)) => Some(id),
            _ => None,
        };
        if let Self::Message(message) | Self::Spelled(message, _) = &mut self
            && let Message::LeagueError(error) = &mut **message
        {
            error.complete(kind, token, player);
        }
        self
    }
}

pub(crate) struct Dispatcher<A: AgentService> {
    identity: Arc<Identity>,
    deviations: Deviations,
    rejections: RejectionTally,
    service: A,
    resources: ResourceReader,
    gauges: AgentGauges,
}

impl<A: AgentService> ToolService for Dispatcher<A> {
    fn has(&self, method: &str) -> bool {
        method == "ping" || wire::has_method(self.service.manifest().tools, method)
    }

    async fn answer(&self, call: &Call<'_>, caller: Caller<'_>) -> Vec<u8> {
        if call.method == "ping" {
            return rpc::respond(&call.id, &acknowledgement());
        }
        let inbound = self.read(caller, |context| wire::receive(call, context));
        match self.serve(&call.method, inbound, caller.origin).await {
            Ok(given) if self.identity.answers_both_ways() => {
                rpc::respond_both(&call.id, &given.answer)
            }
            Ok(given) => rpc::respond(&call.id, &given.answer),
            Err(refusal) => {
                self.note_rejected(&RejectedCall {
                    origin: caller.origin,
                    status: 200,
                    code: refusal.code,
                });
                rpc::fail(Some(&call.id), &refusal, Era::Simple)
            }
        }
    }

    async fn answer_bare(&self, body: &[u8], caller: Caller<'_>) -> Option<Vec<u8>> {
        let inbound = self.read(caller, |context| wire::receive_bare(body, context))?;
        let given = self.serve("", inbound, caller.origin).await.ok()?;
        Some(given.answer.get().as_bytes().to_vec())
    }

    async fn register(&self, body: &[u8], caller: Caller<'_>) -> Option<(u16, Value)> {
        let mut tools = self.service.manifest().tools.iter();
        tools.find(|tool| tool.name == "register_player")?;
        let inbound = self.read(caller, |context| wire::receive_registration(body, context));
        let reply = match inbound {
            Inbound::Message(received) => self.reply(*received, caller.origin).await,
            Inbound::Unread(unread) => self.refusal(&unread),
            Inbound::Error(error) => {
                let error = LeagueError::new(Code::InvalidMessage, error.message);
                ServiceReply::error(error)
            }
            Inbound::Arguments(_) | Inbound::Acknowledged => return None,
        };
        reply.message().map(plain_registration)
    }

    fn note_rejected(&self, call: &RejectedCall) {
        self.rejections.log(&self.identity, call);
    }

    async fn health(&self) -> Map<String, Value> {
        let mut health = self.seen().await;
        health.insert("agent".into(), self.identity.label().into());
        health.insert("deviations".into(), self.deviations.shown());
        health
    }

    async fn metrics(&self) -> String {
        let role = self.service.manifest().name;
        let health = self.seen().await;
        self.gauges.page(&self.identity, role, &health)
    }

    fn problem(&self) -> Option<String> {
        self.gauges.problem(&self.identity)
    }

    fn is_admitted(&self) -> bool {
        self.identity.is_admitted()
    }
}

impl<A: AgentService> Dispatcher<A> {
    /// What the agent says of itself; one that waits for its disk or store says only that.
    async fn seen(&self) -> Map<String, Value> {
        let asked = tokio::time::timeout(HEALTH_TIMEOUT, self.service.health()).await;
        asked.unwrap_or_else(|_| Map::from_iter([("waits_for".into(), "its journal".into())]))
    }

    pub(crate) fn new(
        identity: Arc<Identity>,
        deviations: Deviations,
        root: Root,
        gauges: AgentGauges,
        service: A,
    ) -> Self {
        let resources = ResourceReader {
            root,
            identity: Arc::clone(&identity),
        };
        Self {
            identity,
            deviations,
            rejections: RejectionTally::default(),
            service,
            resources,
            gauges,
        }
    }

    /// Decodes a call in the context of this agent.
    fn read<Out>(&self, caller: Caller<'_>, read: impl FnOnce(&Context<'_>) -> Out) -> Out {
        let latest = self.identity.latest();
        read(&Context {
            reading: latest.reading(),
            pinned: self.identity.pinned(&latest),
            hints: self.identity.hints(&latest),
            tools: self.service.manifest().tools,
            bearer: caller.bearer,
            acknowledges_all: self.service.acknowledges_news(),
            reads_orders: self.identity.takes_foreign_orders(),
        })
    }

    /// Executes a call.
    async fn serve(
        &self,
        tool: &str,
        inbound: Inbound,
        origin: Origin,
    ) -> Result<ToolAnswer, RpcError> {
        match inbound {
            Inbound::Message(received) => self.answer_message(*received, origin).await,
            Inbound::Unread(unread) => self.refuse(*unread),
            Inbound::Arguments(arguments) => match self.service.call(tool, arguments).await {
                Some(reply) => self.written(reply, Dialect::V2, None, false),
                None => Err(RpcError::method_not_found(tool)),
            },
            Inbound::Acknowledged => Ok(ToolAnswer {
                answer: raw(&acknowledgement()),
                failed: false,
            }),
            Inbound::Error(error) => Err(error),
        }
    }

    async fn answer_message(
        &self,
        received: Received,
        origin: Origin,
    ) -> Result<ToolAnswer, RpcError> {
        let dialect = self.identity.answers_in(received.dialect);
        let conversation = received.conversation.clone();
        let is_generic = received.reply_type == Some("GAME_MOVE_RESPONSE");
        let reply = self.reply(received, origin).await;
        self.written(reply, dialect, conversation, is_generic)
    }

    /// Lets the service answer a message.
    async fn reply(&self, mut received: Received, origin: Origin) -> ServiceReply {
        let call = IncomingCall::log_received(&self.identity, &received);
        let findings = std::mem::take(&mut received.findings);
        let (kind, sender) = (received.message.v2_type(), received.sender.clone());
        let match_id = received.message.match_id().cloned();
        let token = received.token.clone();
        let reply = self.service.hear(received, origin).await;
        let reply = reply.about(kind, token.as_ref(), sender.agent());
        call.log_answer(&self.identity, reply.message());
        self.note(&reply, sender.agent(), match_id.as_ref(), &findings);
        reply
    }

    /// Answers a message that could not be decoded.
    fn refuse(&self, unread: Unread) -> Result<ToolAnswer, RpcError> {
        let reply = self.refusal(&unread);
        let dialect = self.identity.answers_in(unread.dialect);
        self.written(reply, dialect, unread.conversation, false)
    }

    fn refusal(&self, unread: &Unread) -> ServiceReply {
        let call = IncomingCall::log_unread(&self.identity, unread);
        let kind = unread.error.original_message_type.as_deref();
        let is_news = kind.is_some_and(|kind| !expects_answer(kind));
        let reply = if self.service.acknowledges_news() && is_news {
            ServiceReply::Message(Box::new(Message::Acknowledged))
        } else {
            ServiceReply::error((*unread.error).clone())
        };
        call.log_answer(&self.identity, reply.message());
        reply
    }

    /// Counts tolerated deviations, under the name of a caller that is authenticated or was just
    /// admitted.
    fn note(
        &self,
        reply: &ServiceReply,
        sender: Option<&Agent>,
        match_id: Option<&MatchId>,
        findings: &[Finding],
    ) {
        let admitted = reply.message().and_then(admitted);
        // An applicant has not authenticated itself.
        let proved = !reply.is_refusal() && !reply.message().is_some_and(is_admission);
        let believed = sender.filter(|_| proved);
        let note = |agent: &str, findings: &[Finding]| {
            let seen = DeviationSource {
                by: &self.identity,
                agent,
                match_id,
            };
            self.deviations.note(&seen, findings);
        };
        match admitted.as_ref().or(believed) {
            Some(sender) => note(&sender.to_string(), findings),
            None => note("callers not admitted", findings),
        }
    }

    /// Writes a reply in a dialect. `league.v1` has no message for most refusals, so they become
    /// JSON-RPC errors. A generic request for a move gets a generic answer.
    fn written(
        &self,
        reply: ServiceReply,
        dialect: Dialect,
        conversation: Option<ConversationId>,
        is_generic: bool,
    ) -> Result<ToolAnswer, RpcError> {
        let failed = reply.is_refusal();
        let given = |answer| Ok(ToolAnswer { answer, failed });
        let (message, proven, dialect) = match reply {
            ServiceReply::Plain(value) => return given(raw(&value)),
            ServiceReply::Message(message) => (message, false, dialect),
            ServiceReply::Proven(message) => (message, true, dialect),
            ServiceReply::Spelled(message, dialect) => (message, false, dialect),
        };
        let message = match &*message {
            Message::LeagueError(error) if dialect == Dialect::V1 => match error.to_rejection() {
                Some(rejection) => Box::new(rejection),
                None => return Err(error.to_rpc_error()),
            },
            _ => message,
        };
        let latest = self.identity.latest();
        let own = || league_protocol::encode::conversation(&message, &latest.names.label);
        let conversation = conversation.unwrap_or_else(own);
        let stamp = Stamp {
            sender: self.identity.sender(latest.info.agent.as_ref()),
            at: clock::now(),
            conversation: &conversation,
            token: latest.info.token.as_ref().filter(|_| proven),
        };
        let hints = Hints {
            generic_moves: is_generic,
            ..self.identity.hints(&latest)
        };
        // If the dialect has no form for the answer, the caller gets an acknowledgement.
        given(match encode(&message, dialect, stamp, &hints) {
            Some(outgoing) => raw(&outgoing),
            None => raw(&acknowledgement()),
        })
    }

    /// Reads a listed resource, sanitised for display.
    async fn look_up(&self, uri: &str) -> Option<Value> {
        let manifest = self.service.manifest();
        let listed = manifest.resources.iter().any(|(listed, ..)| *listed == uri);
        let of_match = uri.starts_with("match://") && !manifest.templates.is_empty();
        if !listed && !of_match {
            return None;
        }
        let found = match self.service.show(uri).await {
            Some(found) => found,
            None => self.resources.read(uri).await?,
        };
        Some(tame(found))
    }
}

impl<A: AgentService> Offering for Dispatcher<A> {
    fn about(&self) -> About {
        let manifest = self.service.manifest();
        About {
            name: manifest.name.to_owned(),
            title: manifest.title.to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            instructions: manifest.instructions.to_owned(),
        }
    }

    fn tools(&self) -> &[Tool] {
        let manifest = self.service.manifest();
        let list = || manifest.tools.iter().map(listed).collect();
        manifest.listed.get_or_init(list)
    }

    fn call<'o>(
        &'o self,
        tool: &'o str,
        arguments: Option<&'o RawValue>,
        caller: league_mcp::McpCaller,
    ) -> BoxFuture<'o, Option<ToolAnswer>> {
        Box::pin(async move {
            let from = Caller {
                bearer: caller.bearer.as_deref(),
                origin: caller.origin,
            };
            let inbound = self.read(from, |context| {
                wire::receive_tool_call(tool, arguments, clock::now(), context)
            })?;
            match self.serve(tool, inbound, caller.origin).await {
                Ok(given) => Some(given),
                Err(error) => failed_tool(&error),
            }
        })
    }

    fn resources(&self) -> BoxFuture<'_, Vec<Resource>> {
        let resources = self.service.manifest().resources.iter();
        let resources = resources.map(|&(uri, title, description)| Resource {
            uri: uri.to_owned(),
            name: uri.to_owned(),
            title: title.to_owned(),
            description: description.to_owned(),
            mime_type: "application/json",
        });
        Box::pin(std::future::ready(resources.collect()))
    }

    fn templates(&self) -> &[Template] {
        self.service.manifest().templates
    }

    fn read<'o>(
        &'o self,
        uri: &'o str,
        _caller: league_mcp::McpCaller,
    ) -> BoxFuture<'o, Option<ResourceText>> {
        Box::pin(async move {
            let found = self.look_up(uri).await?;
            Some(ResourceText {
                mime_type: "application/json",
                text: found.to_string(),
                fresh_for: FRESH_FOR,
            })
        })
    }

    fn prompts(&self) -> &[Prompt] {
        self.service.manifest().prompts
    }

    fn prompt<'o>(
        &'o self,
        name: &'o str,
        arguments: BTreeMap<String, String>,
    ) -> BoxFuture<'o, Result<String, PromptFault>> {
        Box::pin(async move {
            let manifest = self.service.manifest();
            let prompt = manifest.prompts.iter().find(|prompt| prompt.name == name);
            let prompt = prompt.ok_or(PromptFault::Unknown)?;
            let data = match arguments.get("match_id") {
                Some(match_id) => {
                    let uri = TRANSCRIPTS.pattern.replace("{match_id}", match_id);
                    let found = self.look_up(&uri).await;
                    found.ok_or_else(|| PromptFault::Unfit("there is no such match".to_owned()))?
                }
                None if prompt.arguments.iter().any(|argument| argument.required) => {
                    return Err(PromptFault::Unfit("`match_id` is missing".to_owned()));
                }
                None => self.look_up(manifest.background).await.unwrap_or_default(),
            };
            let latest = self.identity.latest();
            let game = latest.info.game_type.as_ref();
            let listing = game.and_then(|game| league_games::find(game.as_str()));
            let rules = &listing.unwrap_or(&league_games::all()[0]).rules;
            let moves = arguments.get("legal_moves").map(String::as_str);
            prompts::write(name, rules, moves, &data)
        })
    }

    fn complete(&self, wanted: Completing) -> BoxFuture<'_, Vec<String>> {
        Box::pin(async move {
            if wanted.argument != "match_id" {
                return Vec::new();
            }
            let mut matches = self.resources.matches().await;
            matches.retain(|match_id| match_id.starts_with(&wanted.typed));
            matches
        })
    }
}

/// A tool as MCP lists it.
fn listed(tool: &ToolEntry) -> Tool {
    Tool {
        name: tool.name,
        title: tool.title,
        description: tool.description,
        input_schema: Arc::new(tool.input_schema()),
        output_schema: Arc::new(tool.output_schema()),
        read_only: tool.read_only,
        idempotent: tool.idempotent,
    }
}

/// A refusal without a message, as the result of a tool; `None` if there is no such tool.
fn failed_tool(error: &RpcError) -> Option<ToolAnswer> {
    let protocol = Dialect::V1.protocol();
    let answer = raw(&json!({"protocol": protocol, "error": error.message, "data": error.data}));
    let failed = true;
    (error.code != RpcError::METHOD_NOT_FOUND).then_some(ToolAnswer { answer, failed })
}

fn acknowledgement() -> Value {
    json!({"status": "ok"})
}

/// The JSON of an answer, with its members in declaration order.
fn raw(answer: &impl serde::Serialize) -> Box<RawValue> {
    serde_json::value::to_raw_value(answer).unwrap_or_else(|_| RawValue::NULL.to_owned())
}

/// Whether a message answers a registration.
const fn is_admission(answer: &Message) -> bool {
    matches!(
        answer,
        Message::PlayerRegisterResponse(_) | Message::RefereeRegisterResponse(_)
    )
}

/// The agent that an answer admits.
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

/// The HTTP status and the JSON that answer a plain registration.
fn plain_registration(answer: &Message) -> (u16, Value) {
    match answer {
        Message::PlayerRegisterResponse(RegisterResponse::Accepted(enrolment)) => {
            (200, plain_enrolment("player_id", enrolment))
        }
        Message::RefereeRegisterResponse(RegisterResponse::Accepted(enrolment)) => {
            (200, plain_enrolment("referee_id", enrolment))
        }
        Message::PlayerRegisterResponse(RegisterResponse::Rejected { reason })
        | Message::RefereeRegisterResponse(RegisterResponse::Rejected { reason }) => {
            plain_refusal(403, Code::PlayerNotRegistered, reason)
        }
        Message::LeagueError(error) => {
            let status = match error.code {
                Code::RateLimited => 429,
                Code::TokenMissing | Code::TokenInvalid => 401,
                Code::Connection => 503,
                _ => 400,
            };
            let (status, mut refusal) = plain_refusal(status, error.code, &error.detail);
            refusal["context"] = error.context.clone().into();
            (status, refusal)
        }
        _ => (200, json!({"status": "ok"})),
    }
}

fn plain_enrolment<Id: Display>(id: &str, enrolment: &Enrolment<Id>) -> Value {
    let mut told = json!({
        "status": "ACCEPTED",
        id: enrolment.id.to_string(),
        "auth_token": enrolment.token.reveal(),
        "league_id": enrolment.league_id,
    });
    let lasting = [
        ("return_token", &enrolment.return_token),
        ("manager_token", &enrolment.manager_token),
    ];
    for (name, token) in lasting {
        if let Some(token) = token {
            told[name] = token.reveal().into();
        }
    }
    told
}

fn plain_refusal(status: u16, code: Code, sentence: &str) -> (u16, Value) {
    let told = json!({
        "status": "REJECTED",
        "error_code": code.as_str(),
        "error_name": code.name(),
        "error": sentence,
    });
    (status, told)
}
