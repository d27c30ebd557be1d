//! A league played back ends where the league ended.

use league_web::film::{Camera, Film};
use league_web::gallery::Observed;
use league_web::page::{self, Links};
use league_web::parts::Patch;

use crate::season::{after, at, gallery, whole};

fn film(players: u32) -> Film {
    let facts = whole(players);
    let seen = Observed::default();
    let shown = gallery("even_odd");
    let mut camera = Camera::new(shown, &seen, Links::Site);
    facts.iter().for_each(|fact| camera.take_in(fact));
    camera.finish()
}

#[test]
fn all_moments_together_make_the_last_board() {
    let played = film(6);
    let mut board: Patch = played.start.clone();
    for frame in played.frames {
        board.then(frame.patch);
    }
    let last = after(&whole(6)).board(&Observed::default(), at(600));
    let whole = page::board_parts(&last, &Links::Site).whole();
    for (id, html) in &whole.set {
        assert_eq!(board.set.get(id), Some(html), "{id}");
    }
    assert_eq!(board.lists, whole.lists);
}

#[test]
fn every_result_is_a_moment_with_words() {
    let played = film(4);
    let labels: Vec<&str> = played
        .frames
        .iter()
        .map(|frame| frame.label.as_str())
        .collect();
    assert_eq!(labels.len(), 7, "six results and the end");
    assert_eq!(labels[0], "R1M1: P01 beat P02");
    assert_eq!(labels[6], "The league is over");
    assert!(played.start.set.contains_key("row-P01"));
}

#[test]
fn a_long_league_is_shown_in_fewer_moments_and_ends_the_same() {
    let played = film(60);
    let results = 60 * 59 / 2;
    assert!(played.frames.len() < results / 2, "{}", played.frames.len());
    assert!(played.frames.len() >= 20, "{}", played.frames.len());
    let bytes: usize = played.frames.iter().map(|frame| frame.patch.size()).sum();
    assert!(bytes < 6_000_000, "{bytes}");
    let last = after(&whole(60)).board(&Observed::default(), at(600));
    let whole = page::board_parts(&last, &Links::Site).whole();
    let mut board: Patch = played.start.clone();
    for frame in played.frames {
        board.then(frame.patch);
    }
    assert_eq!(board.lists, whole.lists);
    assert_eq!(board.set["row-P01"], whole.set["row-P01"]);
}
