//! The positions of a board game, played again from its moves.
//!
//! Any game is shown whose view has a `board`: a list of cells that makes a square.

use league_games::{Seat, Turn};
use league_protocol::message::MatchResult;
use serde_json::Value;

use super::Gallery;
use crate::model::Position;

/// The most moves that are played again.
const MOST_MOVES: usize = 1_000;

impl Gallery {
    pub(super) fn positions(&self, result: &MatchResult) -> Vec<Position> {
        let rules = self.league.rules();
        let listing = league_games::find(rules.game_type.as_str());
        let table = listing.and_then(|listing| (listing.open)(&rules.game_settings).ok());
        let Some(mut table) = table else {
            return Vec::new();
        };
        let Some(first) = position(&table.view(Seat::A), None, None) else {
            return Vec::new();
        };
        let mut positions = vec![first];
        let mut moves = [0, 1].map(|seat| moves_of(result, seat));
        while positions.len() <= MOST_MOVES {
            let Turn::Seats(seats) = table.turn() else {
                break;
            };
            for seat in seats {
                let Some((made, rest)) =
                    moves.get(seat.index()).and_then(|left| left.split_first())
                else {
                    return positions;
                };
                if table.play(seat, made).is_err() {
                    return positions;
                }
                moves[seat.index()] = rest;
                let before = positions.last();
                let next = position(&table.view(seat), before, Some(seat.index()));
                positions.extend(next);
            }
        }
        positions
    }
}

fn moves_of(result: &MatchResult, seat: usize) -> &[Value] {
    match result.choices.get(&result.players[seat]) {
        Some(Value::Array(moves)) => moves,
        Some(made) => std::slice::from_ref(made),
        None => &[],
    }
}

fn position(view: &Value, before: Option<&Position>, seat: Option<usize>) -> Option<Position> {
    let board = view.get("board")?.as_array()?;
    let columns = board.len().isqrt();
    if columns == 0 || columns * columns != board.len() {
        return None;
    }
    let cells: Vec<String> = board.iter().map(written).collect();
    let changed = |before: &Position| {
        let mut pairs = before.cells.iter().zip(&cells);
        pairs.position(|(old, new)| old != new)
    };
    Some(Position {
        columns,
        last: before.and_then(changed),
        seat,
        cells,
    })
}

fn written(cell: &Value) -> String {
    match cell {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}
