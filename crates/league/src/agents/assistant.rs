//! A seat for an assistant that is an MCP client: it calls `wait_for_turn` and `make_move` at the
//! player's own server and shows a code. If it does not move in time, a strategy does.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use league_core::player::Think;
use league_protocol::fault::Code;
use league_protocol::message::LeagueError;
use league_protocol::token::{AuthToken, TokenHash};
use league_protocol::tools::ToolArguments;
use serde_json::{Value, json};
use tokio::sync::{oneshot, watch};
use tokio::time::Instant;

use crate::agents::model::legal;
use crate::agents::sampling::Sampling;
use crate::clock;
use league_core::strategy::Strategy;

/// How long one call waits for a turn: clients give up on calls that take much longer.
const WAIT_TIMEOUT: Duration = Duration::from_secs(20);
/// The part of the time for a move that is kept for the strategy: one in so many, and a bound.
const RESERVE_PART: u32 = 10;
const MAX_RESERVE: Duration = Duration::from_millis(500);

/// The seat of an assistant.
#[derive(Debug)]
pub(crate) struct AssistantSeat {
    /// What the assistant must show.
    code: TokenHash,
    /// Who moves if the assistant does not.
    pub(crate) fallback: &'static Strategy,
    turns: Mutex<Vec<OpenTurn>>,
    /// The way to the client's own model.
    pub(crate) sampling: Sampling,
    /// Changes when a move is wanted.
    changed: watch::Sender<()>,
}

/// A move that is wanted.
#[derive(Debug)]
struct OpenTurn {
    think: Arc<Think>,
    /// When a strategy moves.
    until: Instant,
    answer: oneshot::Sender<AssistantMove>,
}

/// The move of an assistant.
#[derive(Debug)]
pub(crate) struct AssistantMove {
    pub(crate) choice: Value,
    pub(crate) reasoning: Option<String>,
}

impl AssistantSeat {
    pub(crate) fn new(code: &AuthToken, fallback: &'static Strategy) -> Self {
        Self {
            code: code.hash(),
            fallback,
            turns: Mutex::default(),
            sampling: Sampling::default(),
            changed: watch::Sender::new(()),
        }
    }

    /// Waits for the assistant's move; `None` if it does not come in time.
    pub(crate) async fn choose(&self, think: &Think) -> Option<AssistantMove> {
        let time = think.until.since(clock::now());
        let until = Instant::now() + (time - (time / RESERVE_PART).min(MAX_RESERVE));
        let (answer, answered) = oneshot::channel();
        let turn = OpenTurn {
            think: Arc::new(think.clone()),
            until,
            answer,
        };
        {
            let mut turns = self.turns();
            // Another question in a match takes the place of the first.
            turns.retain(|open| !open.is(think) && !open.answer.is_closed());
            turns.push(turn);
        }
        self.changed.send_replace(());
        let chosen = tokio::time::timeout_at(until, answered).await;
        chosen.ok().and_then(Result::ok)
    }

    /// Answers a tool call; `None` for a tool that is not for assistants.
    pub(crate) async fn call(
        &self,
        tool: &str,
        arguments: &ToolArguments,
    ) -> Option<Result<Value, LeagueError>> {
        if !matches!(tool, "wait_for_turn" | "make_move") {
            return None;
        }
        if let Err(error) = self.check(arguments) {
            return Some(Err(error));
        }
        Some(match tool {
            "wait_for_turn" => Ok(self.wait().await),
            _ => self.take(arguments),
        })
    }

    fn check(&self, arguments: &ToolArguments) -> Result<(), LeagueError> {
        let shown = arguments.token.as_ref().map(AuthToken::hash);
        let (code, detail) = match shown {
            Some(shown) if shown == self.code => return Ok(()),
            Some(_) => (Code::TokenInvalid, "the code is not the one of this seat"),
            None => (
                Code::TokenMissing,
                "show the code of this seat as `auth_token`",
            ),
        };
        let mut error = LeagueError::new(code, detail);
        error.path = Some("auth_token".to_owned());
        Err(error)
    }

    async fn wait(&self) -> Value {
        let mut changed = self.changed.subscribe();
        let turn = async {
            loop {
                changed.mark_unchanged();
                if let Some(turn) = self.shown() {
                    return turn;
                }
                if changed.changed().await.is_err() {
                    std::future::pending::<()>().await;
                }
            }
        };
        let waited = tokio::time::timeout(WAIT_TIMEOUT, turn).await;
        waited.unwrap_or_else(|_| json!({"status": "waiting", "turn": Value::Null}))
    }

    /// The turn with the earliest end, as the assistant sees it.
    fn shown(&self) -> Option<Value> {
        let now = Instant::now();
        let mut turns = self.turns();
        turns.retain(|open| open.until > now && !open.answer.is_closed());
        let open = turns.iter().min_by_key(|open| open.until)?;
        let think = &open.think;
        let listing = league_games::find(think.game_type.as_str());
        Some(json!({
            "status": "your_turn",
            "turn": {
                "match_id": think.match_id,
                "number": think.turn,
                "game": think.game_type,
                "rules": listing.map(|listing| listing.rules.rules_text),
                "view": think.view,
                "legal_moves": think.options,
                "seconds_left": open.until.saturating_duration_since(now).as_secs(),
            },
        }))
    }

    fn take(&self, arguments: &ToolArguments) -> Result<Value, LeagueError> {
        let wanted = arguments.text("match_id");
        let mut turns = self.turns();
        let mut places = turns.iter().enumerate();
        let place = places.find(|(_, open)| wanted == Some(open.think.match_id.as_str()));
        let Some((place, open)) = place else {
            let detail =
                "no move is wanted in this match: call `wait_for_turn`, and give its `match_id`";
            return Err(LeagueError::new(Code::OutOfTurn, detail));
        };
        let number = arguments.members.get("number").unwrap_or(&Value::Null);
        if !number.is_null() && !names(number, open.think.turn) {
            let turn = open.think.turn;
            let detail =
                format!("turn {number} is not the wanted one, {turn}: call `wait_for_turn`");
            return Err(LeagueError::new(Code::OutOfTurn, detail));
        }
        let written = arguments.members.get("choice").unwrap_or(&Value::Null);
        // A tool's argument is a text; a move that is an object comes as its JSON.
        let parsed = written
            .as_str()
            .and_then(|text| serde_json::from_str(text).ok());
        let options = &open.think.options;
        let meant = legal(written, options)
            .or_else(|| parsed.as_ref().and_then(|parsed| legal(parsed, options)));
        let Some(choice) = meant.cloned() else {
            let options = json!(open.think.options);
            let detail = format!("the choice is not legal; choose one of {options}");
            return Err(LeagueError::new(Code::InvalidMove, detail));
        };
        let open = turns.remove(place);
        let made = AssistantMove {
            choice: choice.clone(),
            reasoning: arguments.text("reasoning").map(str::to_owned),
        };
        match open.answer.send(made) {
            Ok(()) => Ok(json!({"status": "taken", "choice": choice})),
            Err(_) => Err(LeagueError::new(
                Code::Timeout,
                "the time for this move is over: a strategy has moved",
            )),
        }
    }

    fn turns(&self) -> MutexGuard<'_, Vec<OpenTurn>> {
        self.turns.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether an argument, a number or its text, names this turn.
fn names(number: &Value, turn: u32) -> bool {
    let text = number.as_str().and_then(|text| text.trim().parse().ok());
    number.as_u64().or(text) == Some(turn.into())
}

impl OpenTurn {
    fn is(&self, think: &Think) -> bool {
        self.think.match_id == think.match_id
    }
}
