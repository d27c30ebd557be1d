//! A seat whose moves come from outside this program: from an assistant that is an MCP client, or
//! from a person on the page. If no move comes in time, a strategy moves.
//!
//! The seat holds the open turns and the news of its player. How they are shown is left to others.

pub(crate) mod last_move;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use league_core::player::{MatchRecord, Player, PlayerPhase, Think};
use league_protocol::fault::Code;
use league_protocol::id::{MatchId, PlayerId};
use league_protocol::message::{LeagueError, Rows, SignedMove, StandingRow};
use league_protocol::token::{AuthToken, TokenHash};
use league_protocol::tools::ToolArguments;
use serde_json::{Value, json};
use tokio::sync::{oneshot, watch};
use tokio::time::Instant;

use crate::agents::model::{ExternalMove, legal};
use crate::agents::seat::last_move::LastMove;
use crate::clock;
use league_core::strategy::Strategy;

/// How long one call waits for a turn: clients give up on calls that take much longer.
pub(crate) const WAIT_TIMEOUT: Duration = Duration::from_secs(20);
/// The part of the time for a move that is kept for the strategy: one in so many, and a bound.
const RESERVE_PART: u32 = 10;
const MAX_RESERVE: Duration = Duration::from_millis(500);

/// A seat whose moves come from outside.
#[derive(Debug)]
pub(crate) struct ExternalSeat {
    /// The code that an assistant must show with each call; `None` for a person.
    code: Option<TokenHash>,
    /// Who moves if no move comes.
    pub(crate) fallback: &'static Strategy,
    state: Mutex<SeatState>,
    /// Changes when a move is wanted or no more, and when there is news.
    changed: watch::Sender<u64>,
}

#[derive(Debug, Default)]
struct SeatState {
    turns: Vec<OpenTurn>,
    news: SeatNews,
    last_move: Option<LastMove>,
    /// Whether the strategy moves at once.
    left: bool,
}

/// What the player of a seat has learnt.
#[derive(Debug, Clone, Default)]
pub(crate) struct SeatNews {
    pub(crate) player_id: Option<PlayerId>,
    pub(crate) phase: Option<PlayerPhase>,
    /// Why the manager did not admit the player.
    pub(crate) rejection: Option<String>,
    /// The latest results, oldest first.
    pub(crate) results: Vec<Arc<MatchRecord>>,
    pub(crate) standings: Option<Rows<StandingRow>>,
    /// The last move that the strategy made because the time was over.
    pub(crate) missed: Option<(MatchId, u32)>,
}

/// A move that is wanted.
#[derive(Debug)]
struct OpenTurn {
    think: Arc<Think>,
    /// When a strategy moves.
    until: Instant,
    answer: oneshot::Sender<ExternalMove>,
}

/// A wanted move, to be shown.
#[derive(Debug, Clone)]
pub(crate) struct ShownTurn {
    pub(crate) think: Arc<Think>,
    pub(crate) until: Instant,
}

impl ExternalSeat {
    /// A seat for an assistant that shows this code.
    pub(crate) fn for_assistant(code: &AuthToken, fallback: &'static Strategy) -> Self {
        Self {
            code: Some(code.hash()),
            ..Self::for_person(fallback)
        }
    }

    /// A seat for a person.
    pub(crate) fn for_person(fallback: &'static Strategy) -> Self {
        Self {
            code: None,
            fallback,
            state: Mutex::default(),
            changed: watch::Sender::new(0),
        }
    }

    pub(crate) fn is_for_person(&self) -> bool {
        self.code.is_none()
    }

    /// Waits for a move; `None` if it does not come in time.
    pub(crate) async fn choose(&self, think: &Think) -> Option<ExternalMove> {
        let time = think.until.since(clock::now());
        let until = Instant::now() + (time - (time / RESERVE_PART).min(MAX_RESERVE));
        let (answer, answered) = oneshot::channel();
        let asked = Arc::new(think.clone());
        let turn = OpenTurn {
            think: Arc::clone(&asked),
            until,
            answer,
        };
        {
            let mut state = self.state();
            if state.left {
                return None;
            }
            // Another question in a match takes the place of the first.
            let turns = &mut state.turns;
            turns.retain(|open| open.think.match_id != think.match_id && !open.answer.is_closed());
            turns.push(turn);
            state.last_move = Some(LastMove {
                think: asked,
                choice: None,
            });
        }
        self.change();
        let chosen = match tokio::time::timeout_at(until, answered).await {
            // Without an answer the seat was left, or the question replaced by another.
            Ok(answer) => answer.ok(),
            Err(_) => {
                self.state().news.missed = Some((think.match_id.clone(), think.turn));
                None
            }
        };
        self.change();
        chosen
    }

    /// Takes in what the player has learnt.
    pub(crate) fn look(&self, player: &Player) {
        let latest = player.memory().history().last();
        let is_new = {
            let mut state = self.state();
            let news = &mut state.news;
            let told = player.standings().filter(|told| news.is_better(told));
            let known = news.results.last().map(|record| &record.match_id);
            let has_result = latest.map(|record| &record.match_id) != known;
            let is_new = news.phase != Some(player.phase()) || told.is_some() || has_result;
            if is_new {
                news.player_id = player.player_id().cloned();
                news.phase = Some(player.phase());
                news.rejection = player.rejection().map(str::to_owned);
                news.results = player.memory().history().cloned().collect();
                news.standings = told.or(news.standings.as_ref()).cloned();
            }
            is_new
        };
        if is_new {
            self.change();
        }
    }

    pub(crate) fn news(&self) -> SeatNews {
        self.state().news.clone()
    }

    pub(crate) fn last_move(&self) -> Option<LastMove> {
        self.state().last_move.clone()
    }

    /// Counts the changes of what a seat shows.
    pub(crate) fn changes(&self) -> watch::Receiver<u64> {
        self.changed.subscribe()
    }

    fn change(&self) {
        self.changed.send_modify(|count| *count += 1);
    }

    /// Lets the strategy move from now on, or takes the seat again.
    pub(crate) fn set_left(&self, left: bool) {
        {
            let mut state = self.state();
            if state.left == left {
                return;
            }
            state.left = left;
            if left {
                // Their questions end without an answer.
                state.turns.clear();
            }
        }
        self.change();
    }

    pub(crate) fn is_left(&self) -> bool {
        self.state().left
    }

    /// The wanted move with the earliest end.
    pub(crate) fn turn(&self) -> Option<ShownTurn> {
        let now = Instant::now();
        let mut state = self.state();
        let turns = &mut state.turns;
        turns.retain(|open| open.until > now && !open.answer.is_closed());
        let open = turns.iter().min_by_key(|open| open.until)?;
        Some(ShownTurn {
            think: Arc::clone(&open.think),
            until: open.until,
        })
    }

    /// Makes a move, and gives the legal choice that was meant.
    ///
    /// # Errors
    ///
    /// No such move is wanted, the choice is not legal, or the time is over.
    pub(crate) fn make_move(
        &self,
        match_id: Option<&str>,
        number: &Value,
        written: &Value,
        reasoning: Option<&str>,
    ) -> Result<Value, LeagueError> {
        let mut state = self.state();
        let turns = &mut state.turns;
        let mut places = turns.iter().enumerate();
        let place = places.find(|(_, open)| match_id == Some(open.think.match_id.as_str()));
        let Some((place, open)) = place else {
            let detail = "no move is wanted in this match: it was made, or its time is over; wait \
                          for the next turn, and give its `match_id`";
            return Err(LeagueError::new(Code::OutOfTurn, detail));
        };
        if !number.is_null() && !names(number, open.think.turn) {
            let turn = open.think.turn;
            let detail = format!("turn {number} is not the wanted one, {turn}: wait for the turn");
            return Err(LeagueError::new(Code::OutOfTurn, detail));
        }
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
        let made = ExternalMove {
            choice: choice.clone(),
            reasoning: reasoning.map(str::to_owned),
        };
        if open.answer.send(made).is_ok() {
            state.news.missed = None;
            state.last_move = Some(LastMove {
                think: open.think,
                choice: Some(choice.clone()),
            });
            return Ok(choice);
        }
        Err(if open.until <= Instant::now() {
            let detail = "the time for this move is over: a strategy has moved";
            LeagueError::new(Code::Timeout, detail)
        } else {
            LeagueError::new(Code::OutOfTurn, "the move of this turn was made already")
        })
    }

    /// Answers a tool call; `None` for a tool that is not for assistants.
    pub(crate) async fn call(
        &self,
        tool: &str,
        arguments: &ToolArguments,
    ) -> Option<Result<Value, LeagueError>> {
        let code = self.code?;
        if !matches!(tool, "wait_for_turn" | "make_move") {
            return None;
        }
        if let Err(error) = check(code, arguments) {
            return Some(Err(error));
        }
        Some(match tool {
            "wait_for_turn" => Ok(self.wait().await),
            _ => self.take(arguments),
        })
    }

    async fn wait(&self) -> Value {
        let mut changed = self.changes();
        let turn = async {
            loop {
                changed.mark_unchanged();
                if let Some(turn) = self.turn() {
                    return turn.told();
                }
                if changed.changed().await.is_err() {
                    std::future::pending::<()>().await;
                }
            }
        };
        let waited = tokio::time::timeout(WAIT_TIMEOUT, turn).await;
        waited.unwrap_or_else(|_| json!({"status": "waiting", "turn": Value::Null}))
    }

    fn take(&self, arguments: &ToolArguments) -> Result<Value, LeagueError> {
        let member = |name: &str| arguments.members.get(name).unwrap_or(&Value::Null);
        let choice = self.make_move(
            arguments.text("match_id"),
            member("number"),
            member("choice"),
            arguments.text("reasoning"),
        )?;
        Ok(json!({"status": "taken", "choice": choice}))
    }

    fn state(&self) -> MutexGuard<'_, SeatState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SeatNews {
    /// Whether a table is to be shown instead of the known one: the last message of a league ranks
    /// players without their names, after a table that has them.
    fn is_better(&self, told: &Rows<StandingRow>) -> bool {
        let has_names = told.iter().all(|row| !row.display_name.is_empty());
        match &self.standings {
            Some(known) => has_names && known != told,
            None => true,
        }
    }

    /// The name of a player if the standings tell it, else its id.
    pub(crate) fn name_of(&self, player: &PlayerId) -> String {
        let mut rows = self.standings.iter().flat_map(Rows::iter);
        let row = rows.find(|row| row.player_id == *player);
        let named = row.filter(|row| !row.display_name.is_empty());
        named.map_or_else(|| player.to_string(), |row| row.display_name.to_string())
    }
}

impl ShownTurn {
    pub(crate) fn time_left(&self) -> Duration {
        self.until.saturating_duration_since(Instant::now())
    }

    /// What the other player did since this player's last move, as the referee tells it.
    pub(crate) fn answered(&self, own: Option<&PlayerId>) -> Vec<Value> {
        let moves = &self.think.moves;
        let is_other = |made: &&SignedMove| Some(&made.player_id) != own;
        let listing = league_games::find(self.think.game_type.as_str());
        if listing.is_some_and(|listing| listing.rules.simultaneous) {
            // The moves of one turn are in the order in which they came.
            let last = moves.iter().rfind(is_other);
            return last.map(|made| made.choice.clone()).into_iter().collect();
        }
        let others = moves.iter().rev().take_while(is_other).count();
        let others = moves.iter().skip(moves.len() - others);
        others.map(|made| made.choice.clone()).collect()
    }

    /// The turn as an assistant sees it.
    fn told(&self) -> Value {
        let think = &self.think;
        let listing = league_games::find(think.game_type.as_str());
        json!({
            "status": "your_turn",
            "turn": {
                "match_id": think.match_id,
                "number": think.turn,
                "game": think.game_type,
                "rules": listing.map(|listing| listing.rules.rules_text),
                "view": think.view,
                "legal_moves": think.options,
                "seconds_left": self.time_left().as_secs(),
            },
        })
    }
}

fn check(code: TokenHash, arguments: &ToolArguments) -> Result<(), LeagueError> {
    let shown = arguments.token.as_ref().map(AuthToken::hash);
    let (fault, detail) = match shown {
        Some(shown) if shown == code => return Ok(()),
        Some(_) => (Code::TokenInvalid, "the code is not the one of this seat"),
        None => (
            Code::TokenMissing,
            "show the code of this seat as `auth_token`",
        ),
    };
    let mut error = LeagueError::new(fault, detail);
    error.path = Some("auth_token".to_owned());
    Err(error)
}

/// Whether an argument, a number or its text, names this turn.
fn names(number: &Value, turn: u32) -> bool {
    let text = number.as_str().and_then(|text| text.trim().parse().ok());
    number.as_u64().or(text) == Some(turn.into())
}

#[cfg(test)]
mod tests {
    use league_core::strategy;
    use league_protocol::id::GameType;
    use league_protocol::message::WinLossDraw;

    use super::*;

    fn think(game: &str, by: &[&str], time: Duration) -> Think {
        let made = |(place, by): (usize, &&str)| SignedMove {
            player_id: PlayerId::new(*by).unwrap(),
            choice: json!(place),
            nonce: None,
            proof: None,
            model: None,
        };
        Think {
            attempt: 1,
            match_id: MatchId::new("R1M1").unwrap(),
            turn: 2,
            game_type: GameType::new(game).unwrap(),
            move_type: "move".into(),
            view: Arc::default(),
            options: [json!("rock"), json!("paper")].into(),
            until: clock::now() + time,
            opponent: None,
            opponent_id: PlayerId::numbered(2),
            record: WinLossDraw::default(),
            moves: by.iter().enumerate().map(made).collect(),
        }
    }

    #[test]
    fn opponents_answer_is_told_in_each_kind_of_game() {
        for (game, by, told) in [
            ("tic_tac_toe", &["P01", "P02"][..], vec![1]),
            ("memory", &["P01", "P02", "P02"], vec![1, 2]),
            ("tic_tac_toe", &[], vec![]),
            ("rock_paper_scissors", &["P01", "P02"], vec![1]),
            ("rock_paper_scissors", &["P02", "P01"], vec![0]),
            (
                "rock_paper_scissors",
                &["P02", "P01", "P02", "P01"],
                vec![2],
            ),
        ] {
            let turn = ShownTurn {
                think: Arc::new(think(game, by, Duration::ZERO)),
                until: Instant::now(),
            };
            let answered = turn.answered(Some(&PlayerId::numbered(1)));
            assert_eq!(json!(answered), json!(told), "{game} {by:?}");
        }
    }

    #[tokio::test]
    async fn only_time_makes_a_move_missed_and_only_a_move_ends_that() {
        let seat = Arc::new(ExternalSeat::for_person(&strategy::all()[0]));
        let asked = |time| {
            let (seat, think) = (Arc::clone(&seat), think("rock_paper_scissors", &[], time));
            async move { seat.choose(&think).await }
        };
        let (short, long) = (Duration::from_millis(20), Duration::from_secs(600));
        let make = || seat.make_move(Some("R1M1"), &Value::Null, &json!("rock"), None);
        // Left, and replaced by another question: nothing was missed.
        let (chosen, ()) = tokio::join!(asked(long), async { seat.set_left(true) });
        assert!(chosen.is_none() && seat.news().missed.is_none());
        seat.set_left(false);
        let (first, second, made) = tokio::join!(asked(long), asked(long), async { make() });
        assert!(first.is_none() && second.is_some() && made.is_ok());
        assert_eq!(seat.news().missed, None);
        // Late: the move that comes after the end changes nothing.
        assert!(asked(short).await.is_none());
        assert!(seat.news().missed.is_some());
        assert_eq!(make().unwrap_err().code, Code::Timeout);
        assert!(seat.news().missed.is_some());
        let (chosen, made) = tokio::join!(asked(long), async { make() });
        assert!(chosen.is_some() && made.is_ok());
        assert_eq!(seat.news().missed, None);
        // The question was given up.
        tokio::select! {
            biased;
            _ = asked(long) => {}
            () = std::future::ready(()) => {}
        }
        assert_eq!(make().unwrap_err().code, Code::OutOfTurn);
    }
}
