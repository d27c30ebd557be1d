//! The agent under check, and the fake agents around it.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;

use crate::caller::{JSON, PROMPT, answered, fresh_id};
use crate::fake_manager::{Admission, FakeManager, is_registration};
use crate::habit::Habit;
use crate::launch::{self, Launched};
use crate::listener::IncomingCall;
use crate::manager::season::{League, Sizes};
use crate::record::not_registered;
use crate::referee::bout::Matches;
use crate::reply::Reply;
use crate::rule::{Topic, Trouble};
use crate::script::now;
use crate::wire::{Request, exchange};
use crate::{AgentKind, RandomBytes, Target, manager, player, referee};

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
    pub launched: Option<Launched>,
    /// How long to wait for the agent to come up and register.
    pub wait: Duration,
    /// The manager that a player or a referee registers with.
    pub manager: Option<FakeManager>,
    habit: OnceLock<Habit>,
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
        launched: Option<Launched>,
        wait: Duration,
    ) -> Self {
        Self {
            kind: AgentKind::Player,
            agent,
            launched,
            wait,
            manager: Some(manager),
            habit: OnceLock::new(),
            matches: AtomicU32::new(0),
            wary: AtomicBool::new(false),
            played: Matches::default(),
            league: League::default(),
        }
    }

    pub fn referee(
        agent: Target,
        manager: FakeManager,
        launched: Option<Launched>,
        wait: Duration,
        random: RandomBytes,
    ) -> Self {
        Self {
            kind: AgentKind::Referee,
            played: Matches::new(random),
            ..Self::player(agent, manager, launched, wait)
        }
    }

    pub fn manager(
        agent: Target,
        launched: Option<Launched>,
        wait: Duration,
        sizes: Sizes,
        admin_token: Option<String>,
    ) -> Self {
        Self {
            kind: AgentKind::Manager,
            agent,
            launched,
            wait,
            manager: None,
            habit: OnceLock::new(),
            matches: AtomicU32::new(0),
            wary: AtomicBool::new(false),
            played: Matches::default(),
            league: League::new(sizes, admin_token),
        }
    }

    /// Waits until the agent can be reached and has registered, and finds out how it takes calls;
    /// returns whether it was reached.
    pub async fn begin(self: &Arc<Self>) -> bool {
        let began = Instant::now();
        if !self.comes_up().await {
            return false;
        }
        if self.kind != AgentKind::Manager {
            let left = self.wait.saturating_sub(began.elapsed());
            tokio::select! {
                _ = self.registration(0, left) => {}
                () = launch::ended(self.launched.as_ref()) => return false,
            }
        }
        let first = match self.kind {
            AgentKind::Player => player::first_call(self, &self.next_match()),
            AgentKind::Referee => referee::look_at("R1M1"),
            AgentKind::Manager => Question::new("get_standings", json!({})),
        };
        let habit = Habit::find(&self.agent, &first).await;
        self.habit.get_or_init(|| habit);
        match self.kind {
            AgentKind::Player => {
                let reply = self.ask(&first).await;
                let wary = reply.is_ok_and(|reply| reply.league_error() == Some("E012"));
                self.wary.store(wary, Ordering::Relaxed);
                true
            }
            AgentKind::Referee => {
                referee::bout::begin(self).await;
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

    /// Waits until the agent's address accepts connections.
    pub async fn comes_up(&self) -> bool {
        launch::comes_up(self.agent.address, self.launched.as_ref(), self.wait).await
    }

    /// The dialect that the agent uses, as far as its registration shows it.
    pub fn dialect(&self) -> &'static str {
        if self.kind == AgentKind::Manager {
            return "v2";
        }
        let first = self
            .calls_since(0)
            .into_iter()
            .find(|call| is_registration(call));
        let admitted = || self.admission().map(|admission| admission.call);
        let first = match self.kind {
            AgentKind::Player => first.or_else(admitted),
            _ => admitted(),
        };
        let Some(first) = first else {
            return "unknown";
        };
        let message = first.message();
        if message["protocol"] == "league.v1" {
            "v1"
        } else if message["sender"] == "player:UNREGISTERED" {
            "v2-api"
        } else {
            "v2"
        }
    }

    /// Whether the agent is a player of `league.v1`.
    pub fn is_v1(&self) -> bool {
        self.kind == AgentKind::Player && self.dialect() == "v1"
    }

    /// How the agent takes calls.
    pub fn habit(&self) -> &Habit {
        self.habit.get().unwrap_or(&Habit::Simple)
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

    /// Restarts the agent if it has ended and the check started it; returns whether it had ended.
    pub async fn revive(&self) -> bool {
        let Some(launched) = self.launched.as_ref().filter(|agent| agent.has_ended()) else {
            return false;
        };
        let before = self.call_count();
        if launched.start().is_ok() && self.comes_up().await && self.manager.is_some() {
            self.registration(before, self.wait).await;
        }
        true
    }

    /// Asks a question outside of any rule.
    ///
    /// # Errors
    ///
    /// No answer breaks the rule.
    pub async fn ask(&self, question: &Question) -> Result<Reply, Trouble> {
        let body = self.habit().frame(question, &json!(fresh_id())).to_string();
        let mut headers = JSON.to_vec();
        headers.extend(self.habit().headers());
        let request = Request {
            method: "POST",
            path: &self.agent.path,
            headers: &headers,
            body: body.as_bytes(),
        };
        let trip = exchange(&self.agent, &request, PROMPT).await;
        answered(&trip)?;
        Ok(Reply::read(trip))
    }

    /// The latest admission of the agent.
    pub fn admission(&self) -> Option<Admission> {
        self.manager.as_ref().and_then(FakeManager::admission)
    }

    /// The latest admission of the agent.
    ///
    /// # Errors
    ///
    /// Skips the rule if it never registered.
    pub fn admitted(&self) -> Result<Admission, Trouble> {
        self.admission().ok_or_else(|| not_registered(self.kind))
    }

    /// The facts about an admitted agent; every player has an id, generated if necessary.
    pub fn facts(&self) -> Vec<(&'static str, Value)> {
        let mut facts = vec![
            ("mcp", self.habit().is_mcp().into()),
            ("now", now().as_millis().into()),
        ];
        if self.kind == AgentKind::Player {
            facts.push(("member", self.player_id().into()));
        }
        if let Some(Admission { id, token, .. }) = self.admission() {
            facts.push(("sender", format!("{}:{id}", self.kind.as_str()).into()));
            facts.push(("id", id.into()));
            facts.push(("token", token.into()));
        }
        facts
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

/// The round of a match: the number behind its R.
pub fn round_of(match_id: &str) -> u32 {
    let digits = match_id.trim_start_matches('R').split('M').next();
    digits.and_then(|digits| digits.parse().ok()).unwrap_or(1)
}
