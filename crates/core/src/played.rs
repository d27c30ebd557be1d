//! What follows from a table and the moves on it, for the referee that reports a match and for the
//! manager that checks it or ends it.

use league_games::{Dice, Outcome, Table, Turn};
use league_protocol::id::PlayerId;
use league_protocol::message::{ByPlayer, MatchResult, MatchStatus, Score, SignedMove};
use serde_json::Value;

use crate::league::standings::MatchEnding;

/// The most rolls in a row that a game may ask for.
const MAX_ROLLS: u32 = 1_000;

/// Rolls all dice that are due now.
pub(crate) fn roll_all(table: &mut dyn Table, dice: &mut Dice) {
    for _ in 0..MAX_ROLLS {
        if table.turn() != Turn::Dice {
            break;
        }
        table.roll(dice);
    }
}

/// What each player chose: its one move in a game of hidden moves, else the list of its moves.
pub(crate) fn choices_of<'p>(
    players: impl IntoIterator<Item = &'p PlayerId>,
    moves: &[SignedMove],
    hidden_moves: bool,
) -> ByPlayer<Value> {
    let mut chosen = ByPlayer::new();
    for player in players {
        let mine = moves.iter().filter(|made| made.player_id == *player);
        let mine = mine.map(|made| made.choice.clone()).collect();
        if let Some(value) = choice_of(mine, hidden_moves) {
            chosen.insert(player.clone(), value);
        }
    }
    chosen
}

/// A player's moves as results and memories hold them.
pub(crate) fn choice_of(mut moves: Vec<Value>, hidden_moves: bool) -> Option<Value> {
    match moves.len() {
        0 => None,
        1 if hidden_moves => moves.pop(),
        _ => Some(Value::Array(moves)),
    }
}

/// The whole result of a game that is over, made of the parts that do not follow from the table.
pub(crate) fn ended(parts: MatchResult, table: &dyn Table, score: &Score) -> Option<MatchResult> {
    let Turn::Over(outcome) = table.turn() else {
        return None;
    };
    let (status, ending) = match outcome {
        Outcome::Win(seat) => (MatchStatus::Win, MatchEnding::Win(seat.index())),
        Outcome::Draw => (MatchStatus::Draw, MatchEnding::Draw),
    };
    let names = parts.players.each_ref().map(PlayerId::as_str);
    Some(MatchResult {
        status,
        winner: ending.winner().map(|seat| parts.players[seat].clone()),
        points: [0, 1].map(|seat| ending.points(seat, score)),
        details: table.details(),
        reason: table.reason(&names),
        ..parts
    })
}
