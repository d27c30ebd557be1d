//! A referee under check: a manager that admits it and gives it matches, and the players of these.
//!
//! How a manager orders a match is in no document (ruling 4). A referee that does not know our
//! order is asked what all agents are asked; the rules about matches are then skipped.

mod bout;
mod choices;
mod crowd;
mod ending;
mod invitations;
mod manual;
mod orders;
mod overheard;
mod recovery;
mod registration;
mod reports;
mod seat;
mod tries;

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use league_protocol::token::{AuthToken, hex};
use serde_json::{Value, json};
use tokio::sync::OnceCell;
use tokio::time::Instant;

use super::act::{JSON, PROMPT, answered, fresh_id};
use super::habit::Habit;
use super::launch::{self, Launched};
use super::office::{Admission, Office};
use super::player::round;
use super::reply::Reply;
use super::rule::{Topic, Trouble};
use super::script::in_time;
use super::shared;
use super::stage::{Question, Stage};
use super::wire::{Request, exchange};
use crate::RandomBytes;
use crate::Target;
use bout::{Bout, Plot};

/// How long a player may take to choose.
const MOVE: Duration = Duration::from_secs(30);
/// How many matches make a round here.
const MATCHES_A_ROUND: u32 = 50;

/// A referee, its manager, and the players of its matches.
pub struct RefereeStage {
    /// The manager.
    pub office: Office,
    /// The referee as a process of ours.
    pub launched: Option<Launched>,
    /// How long to wait for the referee to come up and register.
    pub wait: Duration,
    agent: Target,
    random: RandomBytes,
    matches: AtomicU32,
    players: AtomicU32,
    takes_orders: AtomicBool,
    habit: OnceLock<Habit>,
    bouts: [OnceCell<Arc<Bout>>; Plot::COUNT],
}

/// The stage that rules of referees share.
type OfReferee = super::act::Act<RefereeStage>;

/// All rules for referees.
pub fn topics() -> Vec<Topic<RefereeStage>> {
    let mut topics = vec![registration::topic()];
    topics.extend(shared::topics());
    topics.extend([
        orders::topic(),
        invitations::topic(),
        choices::topic(),
        tries::topic(),
        ending::topic(),
        reports::topic(),
        manual::topic(),
        crowd::topic(),
        recovery::topic(),
        crowd::farewell(),
    ]);
    topics
}

impl RefereeStage {
    /// Sets the stage.
    pub fn new(
        agent: Target,
        office: Office,
        launched: Option<Launched>,
        wait: Duration,
        random: RandomBytes,
    ) -> Self {
        Self {
            office,
            launched,
            wait,
            agent,
            random,
            matches: AtomicU32::new(0),
            players: AtomicU32::new(0),
            takes_orders: AtomicBool::new(false),
            habit: OnceLock::new(),
            bouts: Default::default(),
        }
    }

    /// Waits until the referee can be reached and has registered, and finds out whether it takes
    /// orders; says whether it was reached.
    pub async fn begin(self: &Arc<Self>) -> bool {
        let began = Instant::now();
        if !self.comes_up().await {
            return false;
        }
        let left = self.wait.saturating_sub(began.elapsed());
        tokio::select! {
            _ = self.office.registration(0, left) => {}
            () = launch::ended(self.launched.as_ref()) => return false,
        }
        let habit = Habit::find(&self.agent, &self.look_at("R1M1")).await;
        self.habit.get_or_init(|| habit);
        self.takes_orders.store(true, Ordering::Relaxed);
        let first = self.bout(Plot::Decided).await;
        let takes = first.is_ok_and(|bout| bout.ack.message_type() == Some("START_MATCH_ACK"));
        self.takes_orders.store(takes, Ordering::Relaxed);
        if takes && self.at_once() > 1 {
            // It takes longer than all the others, and they can be played beside it.
            let stage = Arc::clone(self);
            tokio::spawn(async move { stage.bout(Plot::Late).await.map(drop) });
        }
        true
    }

    /// Waits until somebody listens at the referee's address.
    async fn comes_up(&self) -> bool {
        launch::comes_up(self.agent.address, self.launched.as_ref(), self.wait).await
    }

    /// The spelling that the referee uses, as far as its registration shows it.
    pub fn dialect(&self) -> &'static str {
        match self.office.admission() {
            None => "unknown",
            Some(admission) if admission.heard.message()["protocol"] == "league.v1" => "v1",
            Some(_) => "v2",
        }
    }

    /// How the referee takes calls.
    pub fn speech(&self) -> &'static str {
        self.habit().as_str()
    }

    /// A match of this plot, which is played when it is first asked for.
    ///
    /// # Errors
    ///
    /// Skips the rule if the referee takes no orders, and breaks it if it does not answer.
    async fn bout(&self, plot: Plot) -> Result<Arc<Bout>, Trouble> {
        self.takes_orders()?;
        let cell = &self.bouts[plot as usize];
        let bout = cell.get_or_try_init(|| async { self.play(plot).await.map(Arc::new) });
        bout.await.map(Arc::clone)
    }

    /// Sees that the referee takes orders.
    ///
    /// # Errors
    ///
    /// Skips the rule if it does not.
    fn takes_orders(&self) -> Result<(), Trouble> {
        if self.takes_orders.load(Ordering::Relaxed) {
            return Ok(());
        }
        Err(Trouble::skipped(
            "the referee does not take START_MATCH, which is an addition of this league",
            "serve the tool `start_match` (ruling 4), so that matches can be watched",
        ))
    }

    /// What the referee was told when it was admitted.
    ///
    /// # Errors
    ///
    /// Skips the rule if the referee never registered.
    fn admitted(&self) -> Result<Admission, Trouble> {
        self.office.admission().ok_or_else(|| {
            Trouble::skipped(
                "the referee did not register with this manager",
                "start the referee after the check has begun, or let `--launch \"COMMAND\"` start it",
            )
        })
    }

    /// How many matches the referee runs at once, as it says.
    fn at_once(&self) -> usize {
        let admission = self.office.admission();
        let said = admission.and_then(|admission| {
            let meta = &admission.heard.message()["referee_meta"];
            meta["max_concurrent_matches"].as_u64()
        });
        said.and_then(|said| usize::try_from(said).ok())
            .unwrap_or(1)
    }

    /// A match that nobody has played.
    fn next_match(&self) -> String {
        let number = self.matches.fetch_add(1, Ordering::Relaxed);
        let (round, place) = (number / MATCHES_A_ROUND, number % MATCHES_A_ROUND);
        format!("R{}M{}", 1 + round, 1 + place)
    }

    /// A player whom nobody has met.
    fn next_player(&self) -> String {
        format!("P{:02}", 1 + self.players.fetch_add(1, Ordering::Relaxed))
    }

    fn token(&self, owner: &str) -> String {
        let token = AuthToken::mint(owner, &(self.random)());
        token.reveal().to_owned()
    }

    fn seed(&self) -> String {
        hex(&(self.random)())
    }

    /// Asks outside of any rule.
    ///
    /// # Errors
    ///
    /// No answer breaks the rule.
    async fn ask(&self, question: &Question) -> Result<Reply, Trouble> {
        let body = self.habit().frame(question, &json!(fresh_id())).to_string();
        let mut headers = JSON.to_vec();
        headers.extend(self.habit().headers());
        let request = Request {
            method: "POST",
            path: &self.agent.path,
            headers: &headers,
            body: body.as_bytes(),
        };
        let exchange = exchange(&self.agent, &request, PROMPT).await;
        answered(&exchange)?;
        Ok(Reply::read(exchange))
    }
}

/// The same order, said now.
fn again(order: &Value) -> Question {
    let mut order = order.clone();
    order["timestamp"] = in_time(Duration::ZERO).into();
    Question::new("start_match", order)
}

impl Stage for RefereeStage {
    fn agent(&self) -> &Target {
        &self.agent
    }

    fn habit(&self) -> &Habit {
        self.habit.get().unwrap_or(&Habit::Simple)
    }

    /// The first order once more, which is acknowledged as often as it comes.
    async fn question(&self) -> Question {
        match self.bout(Plot::Decided).await {
            Ok(bout) => again(&bout.order),
            Err(_) => Question::method("ping", json!({})),
        }
    }

    async fn revive(&self) -> bool {
        let Some(launched) = &self.launched else {
            return false;
        };
        if !launched.has_ended() {
            return false;
        }
        let before = self.office.listener.count();
        if launched.start().is_ok() && self.comes_up().await {
            self.office.registration(before, self.wait).await;
        }
        true
    }
}
