//! A manager under check: the referees and the players of a whole league, which is played to its
//! end under the eyes of the rules.
//!
//! The rules are played in the order of a league's life. What a rule needs of it is brought about
//! when it is first asked for: the beginning, then one round after another.

mod farewell;
mod fixture;
mod member;
mod orders;
mod queries;
mod recovery;
mod registration;
mod reports;
mod rounds;
mod season;
mod table;

use std::sync::{Mutex, OnceLock};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::OnceCell;
use tokio::time::Instant;

use super::act::{JSON, PROMPT, answered, fresh_id};
use super::habit::Habit;
use super::launch::{self, Launched};
use super::reply::Reply;
use super::rule::{Topic, Trouble};
use super::script::message;
use super::shared;
use super::stage::{Question, Stage};
use super::wire::{Request, exchange};
use crate::Target;
use crate::script::now;
use member::Member;
use season::Season;

/// How often it is looked whether something has happened.
const LOOK: Duration = Duration::from_millis(20);

/// How many agents a manager waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sizes {
    /// So many players.
    pub players: u32,
    /// So many referees.
    pub referees: u32,
}

/// A manager, and everybody else.
pub struct ManagerStage {
    /// The manager as a process of ours.
    pub launched: Option<Launched>,
    agent: Target,
    wait: Duration,
    admin_token: Option<String>,
    sizes: Sizes,
    habit: OnceLock<Habit>,
    company: OnceCell<Company>,
    began: OnceCell<bool>,
    season: Mutex<Season>,
    played: OnceCell<()>,
}

/// The members of the league.
struct Company {
    players: Vec<Member>,
    referees: Vec<Member>,
}

/// The stage that rules of managers share.
type OfManager = super::act::Act<ManagerStage>;

/// All rules for managers.
pub fn topics() -> Vec<Topic<ManagerStage>> {
    let mut topics = vec![registration::topic()];
    topics.extend(shared::topics());
    topics.extend([
        queries::topic(),
        rounds::topic(),
        orders::topic(),
        reports::topic(),
        recovery::topic(),
        orders::changes(),
        table::topic(),
        farewell::topic(),
    ]);
    topics
}

impl ManagerStage {
    /// Sets the stage.
    pub fn new(
        agent: Target,
        launched: Option<Launched>,
        wait: Duration,
        sizes: Sizes,
        admin_token: Option<String>,
    ) -> Self {
        Self {
            agent,
            launched,
            wait,
            admin_token,
            sizes,
            habit: OnceLock::new(),
            company: OnceCell::new(),
            began: OnceCell::new(),
            season: Mutex::default(),
            played: OnceCell::new(),
        }
    }

    /// Waits until the manager can be reached, finds out how it takes calls, and registers all
    /// but the last player; says whether it was reached.
    pub async fn begin(&self) -> bool {
        if !self.comes_up().await {
            return false;
        }
        let question = Question::new("get_standings", json!({}));
        let habit = Habit::find(&self.agent, &question).await;
        self.habit.get_or_init(|| habit);
        let Ok(company) = self.company().await else {
            return false;
        };
        let all_but_last = company.players.iter().rev().skip(1).rev();
        for member in all_but_last.chain(&company.referees) {
            self.register(member).await;
        }
        // Whoever listens there may be another one, that holds the port.
        !self.launched.as_ref().is_some_and(Launched::has_ended)
    }

    /// How the manager takes calls.
    pub fn speech(&self) -> &'static str {
        self.habit().as_str()
    }

    /// Registers a member, and notes the answer.
    async fn register(&self, member: &Member) {
        if let Ok(reply) = self.ask(&member.request()).await {
            member.note(reply);
        }
    }

    /// The members, each at its place.
    ///
    /// # Errors
    ///
    /// Skips the rule if there are no ports for them.
    async fn company(&self) -> Result<&Company, Trouble> {
        let opened = self.company.get_or_try_init(|| async {
            let salt = now().as_millis() % 1_000_000;
            let mut company = Company {
                players: Vec::new(),
                referees: Vec::new(),
            };
            for number in 1..=self.sizes.players {
                let name = format!("Check {salt} Player {number}");
                company.players.push(Member::open(name, false).await?);
            }
            for number in 1..=self.sizes.referees {
                let name = format!("Check {salt} Referee {number}");
                company.referees.push(Member::open(name, true).await?);
            }
            Ok(company)
        });
        opened.await.map_err(|error: std::io::Error| {
            Trouble::skipped(format!("no port for a member: {error}"), "free some ports")
        })
    }

    /// The first player, if the manager let it in.
    ///
    /// # Errors
    ///
    /// Skips the rule if it did not.
    async fn player(&self, place: usize) -> Result<&Member, Trouble> {
        admitted(self.company().await?.players.get(place))
    }

    /// A referee, if the manager let it in.
    ///
    /// # Errors
    ///
    /// Skips the rule if it did not.
    async fn referee(&self, place: usize) -> Result<&Member, Trouble> {
        admitted(self.company().await?.referees.get(place))
    }

    /// The league, as the first player was told it.
    async fn league(&self) -> Result<String, Trouble> {
        let reply = self.player(0).await?.answer();
        let league = reply.as_ref().and_then(|reply| reply.member("league_id"));
        Ok(league
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned())
    }

    /// A question of a member about the league.
    fn query(&self, by: &Member, league: &str, kind: &str, about: Option<&str>) -> Question {
        let mut says = json!({
            "auth_token": by.token(), "league_id": league, "query_type": kind,
        });
        if let Some(player) = about {
            says["query_params"] = json!({"player_id": player});
        }
        let conversation = format!("check-{}", kind.to_ascii_lowercase());
        let says = message("LEAGUE_QUERY", &by.sender(), &conversation, says);
        Question::new("league_query", says)
    }

    async fn comes_up(&self) -> bool {
        launch::comes_up(self.agent.address, self.launched.as_ref(), self.wait).await
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

fn admitted(member: Option<&Member>) -> Result<&Member, Trouble> {
    let admitted = member.filter(|member| !member.id().is_empty() && !member.token().is_empty());
    admitted.ok_or_else(|| {
        Trouble::skipped(
            "the manager did not let the check's own agents in",
            "start the manager freshly; `--players` and `--referees` say what it waits for",
        )
    })
}

/// How long something took to happen at most.
fn left(until: Instant) -> Duration {
    until.saturating_duration_since(Instant::now())
}

impl Stage for ManagerStage {
    fn agent(&self) -> &Target {
        &self.agent
    }

    fn habit(&self) -> &Habit {
        self.habit.get().unwrap_or(&Habit::Simple)
    }

    async fn question(&self) -> Question {
        let asks = async {
            let player = self.player(0).await.ok()?;
            let league = self.league().await.ok()?;
            Some(self.query(player, &league, "GET_STANDINGS", None))
        };
        let asked = asks.await;
        asked.unwrap_or_else(|| Question::new("get_standings", json!({})))
    }

    async fn revive(&self) -> bool {
        let Some(launched) = &self.launched else {
            return false;
        };
        if !launched.has_ended() {
            return false;
        }
        if launched.start().is_ok() {
            self.comes_up().await;
        }
        true
    }
}
