//! A player under check: a manager that admits it, and referees that call it.

mod choice;
mod crowd;
mod invitation;
mod moves;
mod news;
mod old;
mod recovery;
mod registration;
mod rehearsal;
mod trust;

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;

use super::act::{PROMPT, fresh_id};
use super::habit::Habit;
use super::launch::{self, Launched};
use super::office::{Admission, Office, is_registration};
use super::reply::Reply;
use super::rule::{Topic, Trouble};
use super::script::{in_time, message};
use super::shared;
use super::stage::{Question, Stage};
use super::wire::{Request, exchange};
use crate::Target;

pub use rehearsal::{Match, plan, rehearse};

/// How long a player may take to join.
pub const JOIN: Duration = Duration::from_secs(5);
/// How long a player may take to choose.
pub const MOVE: Duration = Duration::from_secs(30);
/// The referee that calls.
const REFEREE: &str = "referee:REF01";

/// A player, its manager and its referees.
pub struct PlayerStage {
    /// The manager.
    pub office: Office,
    /// The player as a process of ours.
    pub launched: Option<Launched>,
    /// How long to wait for the player to come up and register.
    pub wait: Duration,
    agent: Target,
    matches: AtomicU32,
    habit: OnceLock<Habit>,
    /// Whether the player comes only to matches that were announced.
    wary: AtomicBool,
}

/// All rules for players of `league.v1`.
pub fn old_topics() -> Vec<Topic<PlayerStage>> {
    let mut topics = shared::topics();
    topics.push(old::topic());
    topics
}

/// All rules for players of `league.v2`.
pub fn topics() -> Vec<Topic<PlayerStage>> {
    let mut topics = vec![registration::topic()];
    topics.extend(shared::topics());
    topics.extend([
        invitation::topic(),
        choice::topic(),
        moves::topic(),
        news::topic(),
        trust::topic(),
        crowd::topic(),
        recovery::topic(),
    ]);
    topics
}

/// What a player is known by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// Its id.
    pub id: String,
    /// Its token, if it was given one.
    pub token: Option<String>,
}

impl PlayerStage {
    /// Sets the stage.
    pub fn new(agent: Target, office: Office, launched: Option<Launched>, wait: Duration) -> Self {
        Self {
            office,
            launched,
            wait,
            agent,
            matches: AtomicU32::new(0),
            habit: OnceLock::new(),
            wary: AtomicBool::new(false),
        }
    }

    /// Waits until the player can be reached and has registered, and finds out how it takes calls;
    /// says whether it was reached.
    pub async fn begin(&self) -> bool {
        let began = Instant::now();
        if !self.comes_up().await {
            return false;
        }
        let left = self.wait.saturating_sub(began.elapsed());
        tokio::select! {
            _ = self.office.registration(0, left) => {}
            () = launch::ended(self.launched.as_ref()) => return false,
        }
        let unannounced = self.first_call(&self.next_match());
        let habit = Habit::find(&self.agent, &unannounced).await;
        self.habit.get_or_init(|| habit);
        let refused = self.ask(&unannounced).await;
        let wary = refused.is_some_and(|reply| reply.league_error() == Some("E012"));
        self.wary.store(wary, Ordering::Relaxed);
        true
    }

    /// Waits until somebody listens at the player's address.
    pub async fn comes_up(&self) -> bool {
        launch::comes_up(self.agent.address, self.launched.as_ref(), self.wait).await
    }

    /// The spelling that the player uses, as far as its registration shows it.
    pub fn dialect(&self) -> &'static str {
        let all = self.office.listener.since(0);
        let first = all.into_iter().find(is_registration);
        let admitted = || self.office.admission().map(|admission| admission.heard);
        let Some(first) = first.or_else(admitted) else {
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

    /// Whether the player speaks `league.v1`.
    pub fn is_old(&self) -> bool {
        self.dialect() == "v1"
    }

    /// How the player takes calls.
    pub fn speech(&self) -> &'static str {
        self.habit().as_str()
    }

    /// What the player was told when it was admitted.
    ///
    /// # Errors
    ///
    /// Skips the rule if the player never registered.
    pub fn admitted(&self) -> Result<Admission, Trouble> {
        self.office.admission().ok_or_else(|| {
            Trouble::skipped(
                "the player did not register with this manager",
                "start the player after the check has begun, or let `--launch \"COMMAND\"` start it",
            )
        })
    }

    /// What the player is known by; made up if it never registered.
    pub fn member(&self) -> Member {
        match self.office.admission() {
            Some(Admission { id, token, .. }) => Member {
                id,
                token: Some(token),
            },
            None => Member {
                id: "P01".to_owned(),
                token: None,
            },
        }
    }

    /// A match that nobody has played.
    pub fn next_match(&self) -> String {
        let number = self.matches.fetch_add(1, Ordering::Relaxed);
        format!("R{}M{}", 1 + number / 50, 1 + number % 50)
    }

    /// A match that the player will come to: announced, if it wants that.
    pub async fn open_match(&self) -> String {
        let match_id = self.next_match();
        if self.wary.load(Ordering::Relaxed) {
            self.ask(&self.announcement(&match_id)).await;
        }
        match_id
    }

    /// The token by which a referee proves itself in a match.
    pub fn match_token(match_id: &str) -> String {
        format!("tok-match-{match_id}-0123456789abcdef")
    }

    /// Announces a match with its token.
    pub fn announcement(&self, match_id: &str) -> Question {
        let id = self.member().id;
        let row = json!({
            "match_id": match_id, "game_type": "even_odd", "player_A_id": id, "player_B_id": "P02",
            "referee_endpoint": self.referee(), "match_token": Self::match_token(match_id),
        });
        let says = json!({"round_id": round(match_id), "matches": [row]});
        self.news("notify_round", "ROUND_ANNOUNCEMENT", says)
    }

    /// A call of the manager.
    pub fn news(&self, tool: &str, kind: &str, mut says: Value) -> Question {
        says["league_id"] = self.office.league.clone().into();
        if let Some(admission) = self.office.admission() {
            says["auth_token"] = admission.manager_token.into();
        }
        let conversation = format!("check-{}", kind.to_ascii_lowercase());
        Question::new(tool, message(kind, "league_manager", &conversation, says))
    }

    /// A call of the referee of a match.
    pub fn from_referee(
        &self,
        tool: &str,
        kind: &str,
        match_id: &str,
        mut says: Value,
    ) -> Question {
        says["league_id"] = self.office.league.clone().into();
        says["round_id"] = round(match_id).into();
        says["match_id"] = match_id.into();
        says["auth_token"] = Self::match_token(match_id).into();
        let conversation = format!("conv-{}-{}", match_id.to_ascii_lowercase(), tool);
        Question::new(tool, message(kind, REFEREE, &conversation, says))
    }

    /// Invites the player to a match.
    pub fn invitation(&self, match_id: &str) -> Question {
        let says = json!({
            "game_type": "even_odd", "role_in_match": "PLAYER_A", "opponent_id": "P02",
        });
        self.from_referee("handle_game_invitation", "GAME_INVITATION", match_id, says)
    }

    /// Invites the player to a match in the words that it knows.
    fn first_call(&self, match_id: &str) -> Question {
        if self.is_old() {
            old::invitation(self, match_id)
        } else {
            self.invitation(match_id)
        }
    }

    /// Asks the player for its choice.
    pub fn choice(&self, match_id: &str) -> Question {
        let record = json!({"wins": 2, "losses": 1, "draws": 0});
        let says = json!({
            "player_id": self.member().id, "game_type": "even_odd",
            "context": {
                "opponent_id": "P02", "round_id": round(match_id), "your_standings": record,
            },
            "deadline": in_time(MOVE),
        });
        self.from_referee("choose_parity", "CHOOSE_PARITY_CALL", match_id, says)
    }

    /// Tells the player how a match ended, which it won.
    pub fn game_over(&self, match_id: &str) -> Question {
        let id = self.member().id;
        let result = json!({
            "status": "WIN", "winner_player_id": id, "drawn_number": 8, "number_parity": "even",
            "choices": {&*id: "even", "P02": "odd"},
            "reason": format!("{id} chose even, number was 8 (even)"),
        });
        let says = json!({"game_type": "even_odd", "game_result": result});
        self.from_referee("notify_match_result", "GAME_OVER", match_id, says)
    }

    /// Where the made-up referee would answer.
    fn referee(&self) -> String {
        format!(
            "http://localhost:{}/mcp",
            self.office.listener.address.port()
        )
    }

    /// Asks outside of any rule.
    pub async fn ask(&self, question: &Question) -> Option<Reply> {
        let body = self.habit().frame(question, &json!(fresh_id())).to_string();
        let mut headers = super::act::JSON.to_vec();
        headers.extend(self.habit().headers());
        let request = Request {
            method: "POST",
            path: &self.agent.path,
            headers: &headers,
            body: body.as_bytes(),
        };
        let exchange = exchange(&self.agent, &request, PROMPT).await;
        exchange.came.is_ok().then(|| Reply::read(exchange))
    }
}

/// The round of a match: the number behind its R.
pub fn round(match_id: &str) -> u32 {
    let digits = match_id.trim_start_matches('R').split('M').next();
    digits.and_then(|digits| digits.parse().ok()).unwrap_or(1)
}

impl Stage for PlayerStage {
    fn agent(&self) -> &Target {
        &self.agent
    }

    fn habit(&self) -> &Habit {
        self.habit.get().unwrap_or(&Habit::Simple)
    }

    async fn question(&self) -> Question {
        let match_id = self.open_match().await;
        self.first_call(&match_id)
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

/// The stage that rules of players share.
pub type OfPlayer = super::act::Act<PlayerStage>;
