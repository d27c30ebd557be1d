//! Board games as text, in the manner of PGN (Portable Game Notation): tags, numbered moves, result.
//!
//! A board game is a game of turns in which nothing is hidden and nothing is left to chance, so that
//! its moves alone tell the whole game. `docs/files.md` has the grammar. White is seat A.

use league_core::league::CountedResult;
use league_core::league::standings::MatchEnding;
use league_games::{Listing, Table, Turn};
use league_protocol::fault::Code;
use league_protocol::id::MatchId;
use serde_json::Value;

use crate::league_view::{EndedMatch, LeagueView, moves_of, round_of};

/// The longest line of moves, as PGN has it.
const MAX_LINE: usize = 79;

/// All matches that are over, in the order in which they ended; `None` if the game of the league is
/// not a board game.
pub fn pgn(view: &LeagueView) -> Option<String> {
    let rules = view.league().rules();
    let listing = league_games::find(rules.game_type.as_str())?;
    let table = start(listing, &rules.game_settings)?;
    let matches = view.ended_matches();
    Some(
        matches
            .map(|(id, ended)| written(view, id, ended, &*table))
            .collect(),
    )
}

/// An empty table; `None` if the game is not a board game.
fn start(listing: &Listing, settings: &Value) -> Option<Box<dyn Table>> {
    let is_open = !listing.rules.seals_moves() && !listing.private_views;
    let table = (listing.open)(settings).ok().filter(|_| is_open)?;
    (!is_left_to_chance(table.boxed_clone())).then_some(table)
}

/// Whether a game owes a roll, as one game of any moves shows.
fn is_left_to_chance(mut table: Box<dyn Table>) -> bool {
    for _ in 0..=table.max_moves() {
        let made = match table.turn() {
            Turn::Dice => return true,
            Turn::Over(_) => return false,
            Turn::Seats(seats) => seats.iter().next().copied(),
        };
        let first = made.and_then(|seat| Some((seat, table.options(seat).first()?.clone())));
        if first.is_none_or(|(seat, made)| table.play(seat, &made).is_err()) {
            return true;
        }
    }
    true
}

fn written(view: &LeagueView, id: &MatchId, ended: &EndedMatch, start: &dyn Table) -> String {
    let counted = view.league().counted_result(id);
    let result = result(&counted);
    let mut text = String::new();
    for (name, value) in tags(view, id, ended, &counted) {
        let value = value.replace('\\', "\\\\").replace('"', "\\\"");
        text += &format!("[{name} \"{}\"]\n", one_line(&value));
    }
    text += "\n";
    let mut words = moves(ended, start);
    words.push(result.to_owned());
    text += &wrapped(&words);
    text + "\n"
}

fn tags(
    view: &LeagueView,
    id: &MatchId,
    ended: &EndedMatch,
    counted: &CountedResult,
) -> Vec<(&'static str, String)> {
    let rules = view.league().rules();
    let at = ended.at.to_seconds_text();
    let name = |seat: usize| view.player_ref(&ended.players[seat]).name;
    let mut tags = vec![
        ("Event", view.title().to_owned()),
        ("Site", rules.league_id.to_string()),
        (
            "Date",
            at.get(..10).unwrap_or("????.??.??").replace('-', "."),
        ),
        ("Round", round_of(id).to_string()),
        ("White", name(0)),
        ("Black", name(1)),
        ("Result", result(counted).to_owned()),
        ("UTCTime", at.get(11..19).unwrap_or_default().to_owned()),
        ("Variant", rules.game_type.to_string()),
        ("Settings", settings(&rules.game_settings)),
        ("Match", id.to_string()),
        ("WhiteId", ended.players[0].to_string()),
        ("BlackId", ended.players[1].to_string()),
        ("Termination", termination(ended, counted).to_owned()),
        ("Reason", view.reason(id, ended)),
    ];
    let referee = ended.referee.as_ref();
    tags.extend(referee.map(|referee| ("Referee", referee.to_string())));
    tags
}

/// The settings of the game; empty if all are the usual ones.
fn settings(chosen: &Value) -> String {
    let is_usual = chosen.is_null() || chosen.as_object().is_some_and(serde_json::Map::is_empty);
    if is_usual {
        String::new()
    } else {
        chosen.to_string()
    }
}

/// How a match counts; `*` if it does not, or if both lost.
fn result(counted: &CountedResult) -> &'static str {
    match counted.ending() {
        Some(MatchEnding::Draw) => "1/2-1/2",
        Some(ending) if ending.winner() == Some(0) => "1-0",
        Some(ending) if ending.winner() == Some(1) => "0-1",
        _ => "*",
    }
}

/// In the words of PGN.
fn termination(ended: &EndedMatch, counted: &CountedResult) -> &'static str {
    let failed = ended.result.as_ref().map(|result| &result.failed);
    let is_late =
        || failed.is_some_and(|failed| failed.iter().any(|(_, code)| *code == Code::Timeout));
    match counted {
        CountedResult::Ruled(_) => "adjudication",
        CountedResult::Recorded(MatchEnding::BothForfeit) => "abandoned",
        CountedResult::Recorded(MatchEnding::Forfeit(_)) if is_late() => "time forfeit",
        CountedResult::Recorded(MatchEnding::Forfeit(_)) => "rules infraction",
        CountedResult::Recorded(_) => "normal",
        _ => "unterminated",
    }
}

/// The moves in the order of play, numbered. A number has at most a move of each seat; `n...` stands
/// before a move of seat B that does not follow one of seat A.
fn moves(ended: &EndedMatch, start: &dyn Table) -> Vec<String> {
    let Some(result) = &ended.result else {
        return Vec::new();
    };
    let mut table = start.boxed_clone();
    let mut left = [0, 1].map(|seat| moves_of(result, seat));
    let mut words = Vec::new();
    let mut number = 0;
    let mut is_after_a = false;
    while let Turn::Seats(seats) = table.turn() {
        let Some(seat) = seats.iter().next().copied() else {
            break;
        };
        let Some((made, rest)) = left[seat.index()].split_first() else {
            break;
        };
        if table.play(seat, made).is_err() {
            break;
        }
        left[seat.index()] = rest;
        let is_a = seat.index() == 0;
        if is_a || !is_after_a {
            number += 1;
            let dots = if is_a { "." } else { "..." };
            words.push(format!("{number}{dots}"));
        }
        is_after_a = is_a;
        words.push(word(made));
    }
    words
}

/// A move as a word: a number, a word of letters, or JSON without spaces outside strings.
fn word(made: &Value) -> String {
    let is_plain = |text: &str| {
        text.starts_with(|first: char| first.is_ascii_alphabetic())
            && !matches!(text, "true" | "false" | "null")
            && text
                .chars()
                .all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
    };
    match made {
        Value::String(text) if is_plain(text) => text.clone(),
        other => other.to_string(),
    }
}

/// The words with a space or a line end after each.
fn wrapped(words: &[String]) -> String {
    let mut text = String::new();
    let mut length = 0;
    for word in words {
        let letters = word.chars().count();
        if length > 0 && length + 1 + letters > MAX_LINE {
            text.push('\n');
            length = 0;
        } else if length > 0 {
            text.push(' ');
            length += 1;
        }
        text += word;
        length += letters;
    }
    text.push('\n');
    text
}

/// Without line ends and other signs that are not shown.
fn one_line(text: &str) -> String {
    text.chars()
        .map(|letter| if letter.is_control() { ' ' } else { letter })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn moves_are_words_numbers_or_json() {
        let all = [
            json!(3),
            json!("e4"),
            json!("7"),
            json!("null"),
            json!({"take": 2, "heap": "a b"}),
        ];
        let words: Vec<String> = all.iter().map(word).collect();
        assert_eq!(
            words,
            ["3", "e4", "\"7\"", "\"null\"", r#"{"heap":"a b","take":2}"#]
        );
    }

    #[test]
    fn lines_of_moves_are_not_longer_than_pgn_allows() {
        let words: Vec<String> = (100..200).map(|number| format!("{number}.")).collect();
        let text = wrapped(&words);
        assert!(text.lines().all(|line| line.len() <= MAX_LINE), "{text}");
        assert_eq!(text.split_whitespace().count(), 100);
        assert!(text.lines().count() < 8);
    }

    #[test]
    fn only_board_games_are_written() {
        let written: Vec<&str> = league_games::all()
            .iter()
            .filter(|listing| start(listing, &Value::Null).is_some())
            .map(|listing| listing.rules.game_type)
            .collect();
        assert_eq!(written, ["tic_tac_toe", "connect_four", "nim"]);
    }
}
