//! The checks that no seat learns a hidden move.
//!
//! They look at everything a table tells a seat: its view, its options, the details, whether it is
//! its turn, the text of a refusal, and the picture that everybody sees.

use std::collections::BTreeMap;

use league_games::{Listing, Seat, Table, Turn};

use crate::check::{SEEDS, ensure, for_each_position, moves_and_garbage, owing, playout, seats};

/// Nothing that an owing seat can find out changes when another one makes its move.
pub(crate) fn a_sealed_move_shows_to_nobody_else(listing: &Listing) -> Result<(), String> {
    for_each_position(listing, |table| {
        for mover in owing(table) {
            for watcher in owing(table).into_iter().filter(|&seat| seat != mover) {
                let before = learnt(table, watcher);
                for mv in table.options(mover) {
                    let after = learnt(&*after(table, mover, &mv)?, watcher);
                    ensure!(
                        before == after,
                        "{watcher} saw {before}, and {after} after `{mv}`"
                    );
                }
            }
        }
        Ok(())
    })
}

/// Where moves are hidden, no other seat can tell one move from another before the end.
pub(crate) fn hidden_moves_stay_hidden_to_the_end(listing: &Listing) -> Result<(), String> {
    if !listing.rules.hidden_moves {
        return Ok(());
    }
    for_each_position(listing, |table| {
        for mover in owing(table) {
            let mut ends = Vec::new();
            for mv in table.options(mover) {
                ends.push(when_all_have_moved(after(table, mover, &mv)?)?);
            }
            for watcher in seats(listing).into_iter().filter(|&seat| seat != mover) {
                let mut told: Vec<String> = ends
                    .iter()
                    .flatten()
                    .map(|end| learnt(&**end, watcher))
                    .collect();
                told.dedup();
                ensure!(
                    told.len() <= 1,
                    "{watcher} can tell the moves of {mover} apart: {told:?}"
                );
            }
        }
        Ok(())
    })
}

/// While a game is on, a picture tells no seat more than the seat knows: where a seat sees the same,
/// the picture is the same. What dice hide from a seat differs from game to game, and so is seen.
pub(crate) fn a_picture_shows_what_each_seat_knows(listing: &Listing) -> Result<(), String> {
    let mut known = BTreeMap::new();
    for seed in 0..SEEDS {
        for table in playout(listing, seed)? {
            if matches!(table.turn(), Turn::Over(_)) {
                continue;
            }
            let picture = format!("{:?}", table.picture());
            for seat in seats(listing) {
                let (view, options) = (table.view(seat), table.options(seat));
                let seen = format!("{seat} {view} {options:?} {:?}", table.turn() == Turn::Dice);
                let before = known.entry(seen).or_insert_with(|| picture.clone());
                ensure!(
                    *before == picture,
                    "{seat} sees {view}, and pictures show {before} and {picture}"
                );
            }
        }
    }
    Ok(())
}

/// All that a seat can find out without making a legal move.
fn learnt(table: &dyn Table, seat: Seat) -> String {
    let options = table.options(seat);
    let mut tried = table.boxed_clone();
    let mut refusals = Vec::new();
    for mv in moves_and_garbage(table) {
        if !options.contains(&mv) {
            refusals.push(
                tried
                    .play(seat, &mv)
                    .err()
                    .map(|refusal| refusal.to_string()),
            );
        }
    }
    let is_next = owing(table).contains(&seat);
    let (view, details, reason) = (table.view(seat), table.details(), table.reason(&[]));
    let picture = table.picture();
    format!("{view} {options:?} {is_next} {details:?} {reason} {table:?} {refusals:?} {picture:?}")
}

/// Lets all others who owe a move make their first; nothing if the game is over then.
fn when_all_have_moved(mut table: Box<dyn Table>) -> Result<Option<Box<dyn Table>>, String> {
    for seat in owing(&*table) {
        if let Some(first) = table.options(seat).first() {
            table = after(&*table, seat, first)?;
        }
    }
    Ok((!matches!(table.turn(), Turn::Over(_))).then_some(table))
}

fn after(table: &dyn Table, seat: Seat, mv: &serde_json::Value) -> Result<Box<dyn Table>, String> {
    let mut next = table.boxed_clone();
    next.play(seat, mv).map_err(|refusal| refusal.to_string())?;
    Ok(next)
}
