//! Board games as text: what stands there, and that the moves play to the same end.

use std::sync::Arc;

use league_core::league::Event;
use league_games::{Outcome, Seat, Table, Turn};
use league_protocol::message::MatchStatus;
use league_web::league_view::LeagueView;
use league_web::pgn::pgn;
use serde_json::{Value, json};

use crate::season::{empty_view, whole, with_moves};

/// A league of one match that was played with these moves to this end.
fn league(game: &str, moves: [Value; 2], outcome: Outcome) -> LeagueView {
    let mut view = empty_view(game);
    for event in whole(2).journal() {
        let mut event = with_moves(event, moves.clone());
        if let Event::ResultRecorded { result, .. } = &mut event {
            let result = Arc::make_mut(result);
            (result.status, result.winner) = match outcome {
                Outcome::Win(seat) => {
                    let winner = result.players[seat.index()].clone();
                    (MatchStatus::Win, Some(winner))
                }
                Outcome::Draw => (MatchStatus::Draw, None),
            };
        }
        view.apply(&event);
    }
    view
}

fn open(game: &str) -> Box<dyn Table> {
    (league_games::find(game).unwrap().open)(&Value::Null).unwrap()
}

/// Plays any moves to the end; gives the moves of both seats.
fn played(game: &str, mut chance: usize) -> ([Vec<Value>; 2], Outcome) {
    let mut table = open(game);
    let mut moves = [Vec::new(), Vec::new()];
    loop {
        let seat = match table.turn() {
            Turn::Over(outcome) => return (moves, outcome),
            Turn::Dice => unreachable!("a board game has no dice"),
            Turn::Seats(seats) => seats.iter().next().copied().unwrap(),
        };
        let options = table.options(seat);
        chance = chance
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let made = options[(chance >> 33) % options.len()].clone();
        table.play(seat, &made).unwrap();
        moves[seat.index()].push(made);
    }
}

fn tag<'t>(text: &'t str, name: &str) -> &'t str {
    let start = format!("[{name} \"");
    let line = text.lines().find_map(|line| line.strip_prefix(&start));
    line.unwrap().strip_suffix("\"]").unwrap()
}

/// Reads the moves and plays them; gives the end.
fn replayed(text: &str) -> Outcome {
    let mut table = open(tag(text, "Variant"));
    let (_, words) = text.split_once("\n\n").unwrap();
    let words: Vec<&str> = words.split_whitespace().collect();
    let (result, words) = words.split_last().unwrap();
    let (mut seat, mut number) = (Seat::A, 0);
    for word in words {
        if let Some(digits) = word.strip_suffix('.') {
            seat = if word.ends_with("...") {
                Seat::B
            } else {
                Seat::A
            };
            number += 1;
            assert_eq!(digits.trim_end_matches('.'), number.to_string());
            continue;
        }
        let made = serde_json::from_str(word).unwrap_or_else(|_| json!(word));
        table.play(seat, &made).unwrap();
        seat = seat.other();
    }
    assert_eq!(*result, tag(text, "Result"));
    match table.turn() {
        Turn::Over(outcome) => outcome,
        turn => panic!("the moves do not end the game: {turn:?}"),
    }
}

#[test]
fn match_is_tags_numbered_moves_and_a_result() {
    let view = league(
        "tic_tac_toe",
        [json!([0, 1, 2]), json!([4, 8])],
        Outcome::Win(Seat::A),
    );
    insta::assert_snapshot!(pgn(&view).unwrap(), @r#"
    [Event "Spring League"]
    [Site "spring"]
    [Date "1970.01.01"]
    [Round "1"]
    [White "Player 1"]
    [Black "Player 2"]
    [Result "1-0"]
    [UTCTime "00:16:40"]
    [Variant "tic_tac_toe"]
    [Settings ""]
    [Match "R1M1"]
    [WhiteId "P01"]
    [BlackId "P02"]
    [Termination "normal"]
    [Reason "P01 chose even, number was 6 (even)"]
    [Referee "REF01"]

    1. 0 4 2. 1 8 3. 2 1-0
    "#);
}

#[test]
fn written_moves_play_to_the_same_end() {
    let games = league_games::all()
        .iter()
        .map(|listing| listing.rules.game_type);
    let mut ends = Vec::new();
    for game in games.filter(|game| pgn(&empty_view(game)).is_some()) {
        for chance in 0..40 {
            let (moves, outcome) = played(game, chance);
            let text = pgn(&league(game, moves.map(Value::Array), outcome)).unwrap();
            assert_eq!(replayed(&text), outcome, "{text}");
            let result = match outcome {
                Outcome::Win(Seat::A) => "1-0",
                Outcome::Win(_) => "0-1",
                Outcome::Draw => "1/2-1/2",
            };
            assert_eq!(tag(&text, "Result"), result);
            ends.push((game, result));
        }
    }
    ends.sort_unstable();
    ends.dedup();
    assert!(ends.len() >= 7, "several games end in all ways: {ends:?}");
}

#[test]
fn names_do_not_break_out_of_their_tags() {
    let mut view = empty_view("tic_tac_toe");
    for event in whole(2).journal() {
        let mut event = with_moves(event, [json!([0]), json!([])]);
        if let Event::PlayerRegistered { meta, .. } = &mut event {
            meta.display_name = "a\"]\n[Result \\\"1-0".to_owned();
        }
        view.apply(&event);
    }
    let text = pgn(&view).unwrap();
    assert_eq!(text.matches("\n[Result ").count(), 1, "{text}");
    assert!(text.contains(r#"[White "a\"] [Result \\\"1-0"]"#), "{text}");
}

#[test]
fn game_with_hidden_moves_or_chance_is_not_written() {
    for game in [
        "even_odd",
        "kuhn_poker",
        "memory",
        "iterated_prisoners_dilemma",
    ] {
        assert_eq!(pgn(&empty_view(game)), None, "{game}");
    }
}
