//! A position drawn for the player of a seat, from its view and its legal moves alone: a board as a
//! grid, lists as rows, all else as facts in words. It knows no game.

use serde_json::Value;

use crate::{Picture, PictureCell, PictureRow, Tone};

/// The latest cells of a list that are drawn.
const MAX_LIST: usize = 40;
/// A longer word on a board becomes a sign.
const MAX_BOARD_WORD: usize = 2;
/// Fewer numbers in a row are a list, not a board.
const MIN_BOARD: usize = 4;

/// What the player of a seat sees.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SeatPicture {
    /// Cells in the tone of seat A are the player's own, those of seat B the opponent's.
    pub picture: Picture,
    /// What is not drawn: a name and its value.
    pub facts: Vec<(String, String)>,
}

impl SeatPicture {
    /// Draws a view.
    pub fn of(view: &Value, options: &[Value]) -> Self {
        let Some(members) = view.as_object() else {
            return Self {
                facts: fact("view", view).into_iter().collect(),
                ..Self::default()
            };
        };
        let own = members.iter().filter(|(name, _)| name.starts_with("your_"));
        let own: Vec<&str> = own.filter_map(|(_, value)| value.as_str()).collect();
        let mut drawn = Self::default();
        let mut lists = Vec::new();
        for (name, value) in members {
            let items = value.as_array().filter(|items| !items.is_empty());
            let board = items.and_then(|items| board(items, options, &own));
            match (board, items) {
                (Some(rows), _) => drawn.picture.rows.extend(rows),
                (None, Some(items)) if items.iter().all(is_word) => lists.push((name, items)),
                (None, _) => drawn.facts.extend(fact(name, value)),
            }
        }
        // Rows of words would widen the cells of a board.
        let has_board = !drawn.picture.rows.is_empty();
        for (name, items) in lists {
            match has_board {
                true => drawn.facts.push((words(name), plain_list(items))),
                false => drawn.picture.rows.push(list(name, items)),
            }
        }
        drawn
    }
}

fn fact(name: &str, value: &Value) -> Option<(String, String)> {
    let text = plain(value);
    (!text.is_empty()).then(|| (words(name), text))
}

/// The rows of a board: a list of rows, or a list of places that the moves name by their numbers.
fn board(items: &[Value], options: &[Value], own: &[&str]) -> Option<Vec<PictureRow>> {
    let numbers: Option<Vec<usize>> = options.iter().map(number).collect();
    let named = numbers.filter(|numbers| !numbers.is_empty());
    let rows: Option<Vec<&Vec<Value>>> = items.iter().map(Value::as_array).collect();
    let cell = |item: &Value| {
        let text = plain(item);
        match item.as_str() {
            Some(mark) if own.contains(&mark) => PictureCell::new(sign(text, '●'), Tone::A),
            Some(_) if !own.is_empty() => PictureCell::new(sign(text, '○'), Tone::B),
            _ => PictureCell::new(text, Tone::Neutral),
        }
    };
    if let Some(rows) = rows {
        let columns = rows.iter().map(|row| row.len()).max().unwrap_or(0);
        let is_column = |numbers: &Vec<usize>| numbers.iter().all(|number| *number < columns);
        let header = named.filter(is_column).map(|_| {
            let numbers = (0..columns).map(|number| PictureCell::new(number, Tone::Neutral));
            numbers.collect()
        });
        let rows = rows.into_iter().map(|row| row.iter().map(cell).collect());
        return Some(header.into_iter().chain(rows).map(unlabelled).collect());
    }
    let named = named.filter(|numbers| numbers.iter().all(|number| *number < items.len()))?;
    if items.len() < MIN_BOARD || !items.iter().all(|item| item.is_null() || is_word(item)) {
        return None;
    }
    let place = |(number, item): (usize, &Value)| match (named.contains(&number), item) {
        (true, Value::Null) => PictureCell::new(number, Tone::Neutral),
        (true, _) => PictureCell::new(number, Tone::Hidden),
        (false, item) => cell(item),
    };
    let cells: Vec<PictureCell> = items.iter().enumerate().map(place).collect();
    let width = cells.len().isqrt().max(1);
    let rows = cells.chunks(width).map(<[_]>::to_vec);
    Some(rows.map(unlabelled).collect())
}

const fn unlabelled(cells: Vec<PictureCell>) -> PictureRow {
    PictureRow { label: None, cells }
}

fn list(name: &str, items: &[Value]) -> PictureRow {
    let tone = match name {
        name if name.starts_with("your_") => Tone::A,
        name if name.starts_with("opponent_") => Tone::B,
        _ => Tone::Neutral,
    };
    let latest = &items[items.len().saturating_sub(MAX_LIST)..];
    let cells = latest
        .iter()
        .map(|item| PictureCell::new(plain(item), tone));
    PictureRow::labelled(words(name), cells.collect())
}

fn number(option: &Value) -> Option<usize> {
    usize::try_from(option.as_u64()?).ok()
}

fn sign(text: String, sign: char) -> String {
    match text.chars().count() > MAX_BOARD_WORD {
        true => sign.to_string(),
        false => text,
    }
}

/// Whether a value is a text or a number.
const fn is_word(value: &Value) -> bool {
    matches!(value, Value::String(_) | Value::Number(_))
}

/// The name of a member as words: `your disc`.
fn words(name: &str) -> String {
    name.replace('_', " ")
}

/// A value for people: texts without quotes, lists with commas; nothing for `null`.
fn plain(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::Bool(true) => "yes".to_owned(),
        Value::Bool(false) => "no".to_owned(),
        Value::String(text) => text.clone(),
        Value::Number(number) => number.to_string(),
        Value::Array(items) => plain_list(items),
        Value::Object(members) => {
            let members = members.iter().filter(|(_, value)| !value.is_null());
            let pairs = members.map(|(name, value)| format!("{}: {}", words(name), plain(value)));
            pairs.collect::<Vec<_>>().join(", ")
        }
    }
}

fn plain_list(items: &[Value]) -> String {
    let between = match items.first() {
        Some(Value::Object(_) | Value::Array(_)) => "; ",
        _ => ", ",
    };
    items.iter().map(plain).collect::<Vec<_>>().join(between)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::json;

    use super::*;

    fn rows(drawn: &SeatPicture) -> Vec<String> {
        let row = |row: &PictureRow| {
            let cells = row.cells.iter().map(|cell| match cell.text.as_str() {
                "" => ".",
                text => text,
            });
            let label = row.label.as_ref().map(|label| format!("{label}: "));
            label.unwrap_or_default() + &cells.collect::<Vec<_>>().join(" ")
        };
        drawn.picture.rows.iter().map(row).collect()
    }

    fn fact(name: &str, value: &str) -> (String, String) {
        (name.to_owned(), value.to_owned())
    }

    #[test]
    fn own_marks_on_a_board_differ_from_the_opponents() {
        let view = json!({
            "board": [[null, null, null], ["red", "yellow", null]],
            "your_disc": "red", "next_disc": "red",
        });
        let drawn = SeatPicture::of(&view, &[json!(0), json!(2)]);
        assert_eq!(rows(&drawn), ["0 1 2", ". . .", "● ○ ."]);
        let tones = drawn.picture.rows[2].cells.iter().map(|cell| cell.tone);
        assert_eq!(tones.collect::<Vec<_>>(), [Tone::A, Tone::B, Tone::Neutral]);
        let facts = [fact("next disc", "red"), fact("your disc", "red")];
        let mut found = drawn.facts;
        found.sort();
        assert_eq!(found, facts);
    }

    #[test]
    fn free_places_of_a_board_show_their_numbers() {
        let view = json!({"board": ["X", null, "O", null], "your_mark": "X"});
        let drawn = SeatPicture::of(&view, &[json!(1), json!(3)]);
        assert_eq!(rows(&drawn), ["X 1", "O 3"]);
    }

    #[test]
    fn lists_are_rows_and_the_rest_is_told_in_words() {
        let view = json!({
            "opponent_throws": ["rock", "paper"], "your_throw": null, "throws": 3,
            "answers": [{"question": "flies", "answer": false}],
        });
        let drawn = SeatPicture::of(&view, &[json!("rock")]);
        assert_eq!(rows(&drawn), ["opponent throws: rock paper"]);
        let mut facts = drawn.facts;
        facts.sort();
        assert_eq!(facts[1], fact("throws", "3"));
        // The order of members is as they come.
        let answers = facts[0].1.split(", ").collect::<BTreeSet<_>>();
        assert_eq!(answers, BTreeSet::from(["answer: no", "question: flies"]));
    }

    #[test]
    fn opening_of_every_game_is_drawn_for_both_seats() {
        for listing in crate::all() {
            let table = (listing.open)(&Value::Null).expect("defaults are good");
            for seat in [crate::Seat::A, crate::Seat::B] {
                let drawn = SeatPicture::of(&table.view(seat), &table.options(seat));
                let is_shown = !drawn.picture.rows.is_empty() || !drawn.facts.is_empty();
                assert!(is_shown, "{} {seat:?}", listing.rules.game_type);
            }
        }
    }
}
