//! The agent under check, and the fake agents around it.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use league_protocol::finding::Reading;
use league_protocol::peer::{self, Header, Inputs, PeerProfile, PeerRequest};
use league_protocol::sender::CallStyle;
use serde_json::{Value, json};
use tokio::time::{Instant, timeout};

use crate::caller::{JSON, PROMPT, fresh_id};
use crate::fake_manager::{Admission, FakeManager, is_registration};
use crate::launch::{AgentProcess, FINDING_LINES, accepts};
use crate::listener::IncomingCall;
use crate::manager::season::{League, Sizes};
use crate::record::{Record, Statement, not_registered};
use crate::referee::match_run::Matches;
use crate::registration::form;
use crate::reply::Reply;
use crate::rule::{Topic, Trouble};
use crate::script::now;
use crate::wire::{Request, RoundTrip, exchange};
use crate::{AgentKind, RandomBytes, Target, lock, manager, player, referee};

/// How many times longer than a first start a restart may take: the machine may be busier by then,
/// and the event ends the wait.
const RESTART_FACTOR: u32 = 6;
/// How long a process that crashes may take to end after its connections have broken.
const CRASH_TIMEOUT: Duration = Duration::from_secs(1);
/// How many matches make a round in generated match ids.
const MATCHES_A_ROUND: u32 = 50;

/// A call of a tool, or of a method.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    pub method: String,
    /// The message.
    pub params: Value,
    /// Whether it calls a tool, not a method of JSON-RPC itself.
    pub is_tool: bool,
}

impl Question {
    /// A call of a tool with a message.
    pub fn new(method: &str, params: Value) -> Self {
        Self {
            method: method.to_owned(),
            params,
            is_tool: true,
        }
    }

    /// The same call with another value of a member.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.params[name] = value.into();
        self
    }

    /// A call of a method that is not a tool.
    pub fn method(method: &str, params: Value) -> Self {
        Self {
            is_tool: false,
            ..Self::new(method, params)
        }
    }
}

pub struct Stage {
    pub kind: AgentKind,
    pub agent: Target,
    /// The agent's process, if the check started it.
    pub process: Option<AgentProcess>,
    /// How long to wait for the agent to come up and register.
    pub wait: Duration,
    /// The manager that a player or a referee registers with.
    pub manager: Option<FakeManager>,
    profile: Mutex<Arc<PeerProfile>>,
    arrived: AtomicBool,
    /// The rules that got no answer at all, each with the id in the report.
    unanswered: Mutex<BTreeMap<&'static str, String>>,
    matches: AtomicU32,
    /// Whether the player joins only announced matches.
    wary: AtomicBool,
    /// The matches that a referee runs.
    pub(crate) played: Matches,
    /// The league that a manager runs.
    pub(crate) league: League,
}

impl Stage {
    pub fn player(
        agent: Target,
        manager: FakeManager,
        process: Option<AgentProcess>,
        wait: Duration,
    ) -> Self {
        Self {
            manager: Some(manager),
            ..Self::new(AgentKind::Player, agent, process, wait)
        }
    }

    fn new(kind: AgentKind, agent: Target, process: Option<AgentProcess>, wait: Duration) -> Self {
        Self {
            kind,
            agent,
            process,
            wait,
            manager: None,
            profile: Mutex::new(Arc::new(PeerProfile::PLAIN)),
            arrived: AtomicBool::new(false),
            unanswered: Mutex::default(),
            matches: AtomicU32::new(0),
            wary: AtomicBool::new(false),
            played: Matches::default(),
            league: League::default(),
        }
    }

    pub fn referee(
        agent: Target,
        manager: FakeManager,
        process: Option<AgentProcess>,
        wait: Duration,
        random: RandomBytes,
    ) -> Self {
        Self {
            kind: AgentKind::Referee,
            played: Matches::new(random),
            ..Self::player(agent, manager, process, wait)
        }
    }

    /// Gives up sooner on an agent that is known to be up: the longest waits for it to come back,
    /// and for the report of a match.
    pub fn hurry(&mut self, comes_back: Duration, reports: Duration) {
        self.wait = comes_back / RESTART_FACTOR;
        self.played.longest = reports;
    }

    pub fn manager(
        agent: Target,
        process: Option<AgentProcess>,
        wait: Duration,
        sizes: Sizes,
        admin_token: Option<String>,
        referee_key: Option<String>,
    ) -> Self {
        Self {
            league: League::new(sizes, admin_token, referee_key),
            ..Self::new(AgentKind::Manager, agent, process, wait)
        }
    }

    /// Waits until the agent can be reached and has registered; returns whether it was reached. An
    /// agent that may have registered elsewhere is not waited for longer.
    pub async fn arrive(&self) -> bool {
        let began = Instant::now();
        let up = self.before_end(timeout(self.wait, accepts(self.agent.address)));
        if !matches!(up.await, Some(Ok(()))) {
            return false;
        }
        if self.kind != AgentKind::Manager {
            let left = self.wait.saturating_sub(began.elapsed());
            if self.before_end(self.registration(0, left)).await.is_none() {
                return false;
            }
        }
        self.arrived.store(true, Ordering::Relaxed);
        true
    }

    /// Prepares the rules, once the agent has arrived; returns whether it was reached.
    pub async fn begin(self: &Arc<Self>) -> bool {
        if !self.arrived.load(Ordering::Relaxed) && !self.arrive().await {
            return false;
        }
        match self.kind {
            AgentKind::Player => {
                let first = player::first_call(self, &self.next_match());
                let reply = self.ask(&first).await;
                let wary = reply.is_ok_and(|reply| reply.league_error() == Some("E012"));
                self.wary.store(wary, Ordering::Relaxed);
                true
            }
            AgentKind::Referee => {
                referee::match_run::begin(self).await;
                true
            }
            AgentKind::Manager => manager::season::begin(self).await,
        }
    }

    /// The rules for this agent, by its kind and dialect.
    pub fn topics(&self) -> Vec<Topic> {
        match self.is_v1() {
            true => player::v1_topics(),
            false => self.kind.topics(),
        }
    }

    /// Notes that a rule got no answer; what needs this answer is skipped from then on.
    pub(crate) fn note_unanswered(&self, rule: &'static str, id: &str) {
        lock(&self.unanswered).insert(rule, id.to_owned());
    }

    /// Checks that an earlier rule did not go without an answer.
    /// Skips the rule that needs it.
    pub(crate) fn needs(&self, rule: &str) -> Result<(), Trouble> {
        match lock(&self.unanswered).get(rule) {
            None => Ok(()),
            Some(id) => Err(Trouble::skipped(format!("needs {id}"))),
        }
    }

    /// The outcome of an event, unless the agent that the check started ends first.
    async fn before_end<T>(&self, event: impl Future<Output = T>) -> Option<T> {
        let Some(process) = &self.process else {
            return Some(event.await);
        };
        tokio::select! {
            biased;
            outcome = event => Some(outcome),
            () = process.ended() => None,
        }
    }

    /// The dialect that the agent uses, as far as its registration shows it.
    pub fn dialect(&self) -> &'static str {
        let mut calls = self.calls_since(0).into_iter();
        let first = match self.kind {
            AgentKind::Manager => return "v2",
            AgentKind::Player => calls.find(|call| is_registration(call)),
            AgentKind::Referee => None,
        };
        let first = first.or_else(|| self.admission().map(|admission| admission.call));
        match first.as_ref().map(|first| first.message()) {
            None => "unknown",
            Some(message) if message["protocol"] == "league.v1" => "v1",
            Some(message) if message["sender"] == "player:UNREGISTERED" => "v2-api",
            Some(message) if message["protocol"].is_string() => "v2",
            Some(_) => {
                let read = first.and_then(|first| form::read(&first, Reading::Lenient).ok());
                read.map_or("unknown", |read| read.dialect.as_str())
            }
        }
    }

    /// How the form of the agent's registration differs from the documents, if it does.
    pub fn registration_departure(&self) -> Option<String> {
        form::departure(&*self.latest_registration()?, self.kind)
    }

    /// The registration of the agent; the last attempt at one if it was not admitted.
    pub(crate) fn latest_registration(&self) -> Option<Arc<IncomingCall>> {
        let admitted = self.admission().map(|admission| admission.call);
        admitted.or_else(|| {
            let mut calls = self.calls_since(0).into_iter();
            calls.rfind(|call| is_registration(call))
        })
    }

    /// Whether the agent is a player of `league.v1`.
    pub fn is_v1(&self) -> bool {
        self.kind == AgentKind::Player && self.dialect() == "v1"
    }

    /// Calls the agent as a league has found that it takes calls.
    pub fn settle(&self, profile: impl Into<Arc<PeerProfile>>) {
        *lock(&self.profile) = profile.into();
    }

    /// How the agent takes calls; by the names of tools as long as nothing else is known.
    pub fn profile(&self) -> Arc<PeerProfile> {
        Arc::clone(&lock(&self.profile))
    }

    /// Whether the agent takes calls by MCP alone.
    pub fn is_mcp(&self) -> bool {
        self.profile().session.is_some()
    }

    /// How the agent takes calls, for the report.
    pub fn speech(&self) -> &'static str {
        match self.profile().style {
            CallStyle::Simple | CallStyle::Tool => "simple",
            style => style.as_str(),
        }
    }

    /// The frame of a call, as the agent takes it.
    pub fn frame(&self, question: &Question, id: u64) -> Value {
        let request = self.request(question, id);
        let mut frame: Value = request
            .and_then(|request| serde_json::from_slice(&request.body).ok())
            .unwrap_or_default();
        if question.is_tool && frame.is_object() {
            return frame;
        }
        // Besides the method itself it is a call like any other, in a session too.
        let meta = frame["params"]["_meta"].take();
        let (method, params) = (&question.method, &question.params);
        let mut call = json!({"jsonrpc": "2.0", "method": method, "params": params, "id": id});
        if !meta.is_null() && params.is_object() {
            call["params"]["_meta"] = meta;
        }
        call
    }

    /// The request of a league for a call, or for a ping if it is not a call of a tool.
    fn request(&self, question: &Question, id: u64) -> Option<PeerRequest> {
        let profile = self.profile();
        if !question.is_tool {
            return peer::ping(&profile, id);
        }
        let (tool, inputs) = offered(&profile, &question.method);
        peer::call(&profile, id, tool, &question.params, inputs)
    }

    /// The parameters of `tools/call`: the message as the tool takes it.
    pub fn tool_call(&self, question: &Question) -> Value {
        let message = question.params.as_object().cloned().unwrap_or_default();
        let profile = self.profile();
        let (name, inputs) = offered(&profile, &question.method);
        let arguments = match inputs {
            Some(inputs) => inputs.shaped(message),
            None => message,
        };
        json!({"name": name, "arguments": arguments})
    }

    /// The headers of a call; without one, of any request in the same session.
    pub fn headers(&self, question: Option<&Question>) -> Vec<Header> {
        const METHOD: &str = "mcp-method";
        let ping = Question::method("ping", json!({}));
        let request = self.request(question.unwrap_or(&ping), 1);
        let named = request.map(|request| request.headers).unwrap_or_default();
        let json = JSON.map(|(name, value)| (name, value.to_owned()));
        let mut headers: Vec<Header> = json.into_iter().chain(named).collect();
        match question {
            Some(question) if question.is_tool => {}
            Some(question) => headers
                .iter_mut()
                .filter(|(name, _)| *name == METHOD)
                .for_each(|(_, value)| question.method.clone_into(value)),
            None => headers.retain(|(name, _)| *name != METHOD),
        }
        headers
    }

    /// Posts a body to the agent.
    pub async fn post(
        &self,
        headers: &[(&str, &str)],
        body: &[u8],
        patience: Duration,
    ) -> RoundTrip {
        let request = Request::post(&self.agent, headers, body);
        exchange(&self.agent, &request, patience).await
    }

    /// A call that any agent of this kind answers with a result; a new one each time.
    pub async fn question(&self) -> Question {
        match self.kind {
            AgentKind::Player => {
                let match_id = self.open_match().await;
                player::first_call(self, &match_id)
            }
            AgentKind::Referee => referee::orders::question(self).await,
            AgentKind::Manager => manager::season::question(self).await,
        }
    }

    /// Waits a moment for the end of a process that broke off a connection: it may have crashed.
    pub(crate) async fn watch_for_end(&self) {
        if let Some(process) = &self.process {
            // An agent that goes on has only closed the connection.
            let _ = timeout(CRASH_TIMEOUT, process.ended()).await;
        }
    }

    /// Restarts the agent if it has ended and the check started it; returns how it had ended.
    pub async fn revive(&self) -> Option<String> {
        let ended = self.process.as_ref()?.end_report(FINDING_LINES).await?;
        // The next rule finds out if the agent does not come back.
        let _ = self.restart_and_return().await;
        Some(one_line(&ended))
    }

    /// Kills the agent and starts it again; returns the sequence number from which on the manager
    /// receives the calls of the new process.
    /// Skips the rule if the check did not start the agent.
    pub(crate) async fn restart(&self) -> Result<usize, Trouble> {
        let process = self.started()?;
        process.end(self.agent.address).await;
        let before = self.call_count();
        let started = process.start();
        started.map_err(|error| Trouble::broken(format!("it cannot be started again: {error}")))?;
        Ok(before)
    }

    /// Kills the agent, starts it again, and waits until it accepts connections and, unless it is
    /// a manager, has registered.
    /// As [`Stage::restart`]; an agent that does not come back breaks the rule.
    pub(crate) async fn restart_and_return(&self) -> Result<(), Trouble> {
        let before = self.restart().await?;
        if self.manager.is_some() {
            self.registration_after_restart(before).await?;
        }
        self.connection_after_restart().await
    }

    /// Waits until an agent that was started again accepts connections.
    /// An agent that ends or does not listen breaks the rule.
    pub(crate) async fn connection_after_restart(&self) -> Result<(), Trouble> {
        let connection = accepts(self.agent.address);
        self.comes_back("no connection", connection).await
    }

    /// Waits for the registration of an agent that was started again.
    /// An agent that ends or does not register breaks the rule.
    pub(crate) async fn registration_after_restart(
        &self,
        before: usize,
    ) -> Result<Arc<IncomingCall>, Trouble> {
        let registration = self.registration(before, Duration::MAX);
        let found = self.comes_back("no registration", registration).await?;
        found.ok_or_else(|| Trouble::broken("the manager is gone"))
    }

    async fn comes_back<T>(
        &self,
        absent: &str,
        event: impl Future<Output = T>,
    ) -> Result<T, Trouble> {
        let (process, patience) = (self.started()?, RESTART_FACTOR * self.wait);
        let waited = process.wait(self.agent.address, patience, absent, event);
        let broken = |found| Trouble::broken(one_line(&format!("after a restart: {found}")));
        waited.await.map_err(broken)
    }

    fn started(&self) -> Result<&AgentProcess, Trouble> {
        self.process.as_ref().ok_or_else(|| {
            Trouble::skipped(format!(
                "the {} was not started by the check",
                self.kind.as_str()
            ))
            .hint("let `--launch \"COMMAND\"` start it")
        })
    }

    /// Asks a question outside of any rule.
    /// No answer breaks the rule.
    pub async fn ask(&self, question: &Question) -> Result<Reply, Trouble> {
        let body = self.frame(question, fresh_id()).to_string();
        let headers = self.headers(Some(question));
        let answered = self
            .post(&borrowed(&headers), body.as_bytes(), PROMPT)
            .await;
        Reply::of(answered)
    }

    /// The latest admission of the agent.
    pub fn admission(&self) -> Option<Admission> {
        self.manager.as_ref().and_then(FakeManager::admission)
    }

    /// The latest admission of the agent.
    /// Skips the rule if it never registered.
    pub fn admitted(&self) -> Result<Admission, Trouble> {
        self.admission().ok_or_else(|| not_registered(self.kind))
    }

    /// Every secret that this check gave to others or was given; a report masks them.
    pub(crate) fn secrets(&self) -> Vec<String> {
        let manager = self.manager.as_ref().map(FakeManager::secrets);
        let mut all = manager.unwrap_or_default();
        all.extend(self.played.secrets());
        all.extend(self.league.secrets());
        all
    }

    /// The facts about an admitted agent; every player has an id, generated if necessary.
    pub fn facts(&self) -> Vec<(&'static str, Value)> {
        let mut facts = vec![
            ("mcp", self.is_mcp().into()),
            ("now", now().as_millis().into()),
        ];
        if self.kind == AgentKind::Player {
            facts.push(("member", self.player_id().into()));
        }
        if let Some(Admission {
            id,
            token,
            return_token,
            ..
        }) = self.admission()
        {
            facts.push(("return_token", return_token.into()));
            facts.push(("sender", format!("{}:{id}", self.kind.as_str()).into()));
            facts.push(("id", id.into()));
            facts.push(("token", token.into()));
        }
        facts
    }

    /// A record with these facts.
    pub(crate) fn record(&self, asked: Value, said: impl Into<Statement>) -> Record {
        let facts = self.facts();
        Record {
            facts,
            ..Record::new(self.kind, asked, said)
        }
    }

    /// The id of the player under check; generated if it never registered.
    pub fn player_id(&self) -> String {
        let admission = self.admission();
        admission.map_or_else(|| "P01".to_owned(), |admission| admission.id)
    }

    /// The league that the agent was admitted to.
    pub fn league_id(&self) -> String {
        let manager = self.manager.as_ref();
        manager.map_or_else(String::new, |manager| manager.league.clone())
    }

    /// The calls that the manager received, from a sequence number on.
    pub fn calls_since(&self, first: usize) -> Vec<Arc<IncomingCall>> {
        let manager = self.manager.as_ref();
        manager.map_or_else(Vec::new, |manager| manager.listener.since(first))
    }

    /// How many calls the manager received.
    pub fn call_count(&self) -> usize {
        let manager = self.manager.as_ref();
        manager.map_or(0, |manager| manager.listener.count())
    }

    /// Waits for a call to the manager that satisfies a condition.
    pub async fn manager_hears(
        &self,
        first: usize,
        patience: Duration,
        passes: impl Fn(&IncomingCall) -> bool,
    ) -> Option<Arc<IncomingCall>> {
        let manager = self.manager.as_ref()?;
        manager.listener.wait(first, patience, passes).await
    }

    /// Waits for a registration, from a sequence number on.
    pub async fn registration(
        &self,
        first: usize,
        patience: Duration,
    ) -> Option<Arc<IncomingCall>> {
        self.manager_hears(first, patience, is_registration).await
    }

    /// The id of a match that was not played yet.
    pub fn next_match(&self) -> String {
        let number = self.matches.fetch_add(1, Ordering::Relaxed);
        let (round, place) = (number / MATCHES_A_ROUND, number % MATCHES_A_ROUND);
        format!("R{}M{}", 1 + round, 1 + place)
    }

    /// A match that the player will join; announced if the player requires that.
    pub async fn open_match(&self) -> String {
        let match_id = self.next_match();
        if self.wary.load(Ordering::Relaxed) {
            // A player that missed the announcement refuses the match later.
            let _ = self.ask(&player::announcement(self, &match_id)).await;
        }
        match_id
    }
}

/// The agent's tool for one of ours, and its inputs, as a league finds it.
fn offered<'p>(profile: &'p PeerProfile, tool: &'p str) -> (&'p str, Option<&'p Inputs>) {
    let tools = profile.tools.as_ref();
    match tools.and_then(|tools| tools.offered(tool)) {
        Some((name, inputs)) => (name, Some(inputs)),
        None => (tool, None),
    }
}

/// Headers as a request takes them.
pub fn borrowed(headers: &[Header]) -> Vec<(&str, &str)> {
    let pairs = headers.iter();
    pairs.map(|(name, value)| (*name, &**value)).collect()
}

/// A report of a process on one line, as a finding has it.
fn one_line(report: &str) -> String {
    report.replace("\n    ", " ")
}

/// The round of a match: the number behind its R.
pub fn round_of(match_id: &str) -> u32 {
    let digits = match_id.trim_start_matches('R').split('M').next();
    digits.and_then(|digits| digits.parse().ok()).unwrap_or(1)
}
