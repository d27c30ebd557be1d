//! A league played back ends where the league ended, and tells nothing before its time.

use league_web::film::{Camera, Edit, Film, Folded};
use league_web::gallery::{Gallery, Observed};
use league_web::model::{Deviation, Standstill, Verdict};
use league_web::page::{self, Links};
use league_web::parts::Patch;

use crate::season::{after, at, beginning, forfeited, gallery, result, round, whole};

fn film(players: u32) -> Film {
    shot(&whole(players), &Observed::default())
}

fn shot(facts: &[league_core::league::Event], seen: &Observed) -> Film {
    let shown: Gallery = gallery("even_odd");
    let mut camera = Camera::new(shown, seen, Links::Site);
    facts.iter().for_each(|fact| camera.take_in(fact));
    camera.finish()
}

/// The board after so many moments, as a browser puts it together.
fn after_moments(film: &Film, moments: usize) -> Patch {
    let mut board = film.start.clone();
    for frame in &film.frames[..moments] {
        unfold(&mut board, &frame.patch);
    }
    board
}

fn unfold(board: &mut Patch, moment: &Folded) {
    for (id, edits) in &moment.edits {
        let text = edited(&board.set[id], edits);
        board.set.insert(id.clone(), text);
    }
    for (list, edits) in &moment.moves {
        let text = edited(&board.lists[list].join("\n"), edits);
        let keys = text.split('\n').map(str::to_owned).collect();
        board.lists.insert(list, keys);
    }
    board.then(Patch {
        set: moment.set.clone(),
        lists: moment.lists.clone(),
    });
}

fn edited(old: &str, edits: &[Edit]) -> String {
    let old: Vec<u16> = old.encode_utf16().collect();
    let (mut new, mut place) = (Vec::new(), 0);
    for Edit(kept, dropped, put) in edits {
        new.extend_from_slice(&old[place..place + kept]);
        new.extend(put.encode_utf16());
        place += kept + dropped;
    }
    new.extend_from_slice(&old[place..]);
    String::from_utf16(&new).unwrap()
}

#[test]
fn all_moments_together_make_the_last_board() {
    let played = film(6);
    let board = after_moments(&played, played.frames.len());
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
fn a_match_that_nobody_came_to_is_lost_by_both_and_one_that_was_played_is_drawn() {
    let missed = forfeited(forfeited(result("R1M1", [1, 2], None), 1), 2);
    let mut facts = beginning(4);
    facts.extend([round(1, 2), missed, result("R1M2", [3, 4], None)]);
    let played = shot(&facts, &Observed::default());
    let labels = played.frames.iter().map(|frame| frame.label.as_str());
    let labels: Vec<&str> = labels.collect();
    let told = ["R1M1: P01 and P02 both lost", "R1M2: P03 and P04 drew"];
    assert_eq!(labels, told);
}

#[test]
fn a_league_of_forty_is_shown_result_by_result() {
    let played = film(40);
    let results: Vec<u64> = played.frames.iter().map(|frame| frame.results).collect();
    let each: Vec<u64> = (1..=780).chain([780]).collect();
    assert_eq!(results, each, "and the end");
    let bytes = serde_json::to_vec(&played).unwrap().len();
    assert!(bytes < 2_500_000, "{bytes}");
}

#[test]
fn a_long_league_is_shown_in_fewer_moments_and_ends_the_same() {
    let played = film(60);
    let results = 60 * 59 / 2;
    assert!(played.frames.len() < results, "{}", played.frames.len());
    assert!(played.frames.len() >= 20, "{}", played.frames.len());
    assert_eq!(played.frames.last().unwrap().results, results as u64);
    let bytes = serde_json::to_vec(&played).unwrap().len();
    assert!(bytes < 6_000_000, "{bytes}");
    let last = after(&whole(60)).board(&Observed::default(), at(600));
    let whole = page::board_parts(&last, &Links::Site).whole();
    let board = after_moments(&played, played.frames.len());
    assert_eq!(board.lists, whole.lists);
    assert_eq!(board.set["row-P01"], whole.set["row-P01"]);
}

#[test]
fn the_last_result_of_a_league_that_goes_on_is_in_its_film() {
    let mut facts = whole(60);
    facts.truncate(facts.len() - 3);
    let played = shot(&facts, &Observed::default());
    let results = facts.iter().filter(|fact| is_result(fact)).count();
    assert_eq!(played.frames.last().unwrap().results, results as u64);
}

#[test]
fn the_last_moment_of_an_interrupted_league_shows_it_as_it_stands() {
    let mut facts = whole(4);
    let third = facts.iter().enumerate().filter(|(_, fact)| is_result(fact));
    let (third, _) = third.clone().nth(2).unwrap();
    facts.truncate(third + 1);
    let seen = Observed {
        verdict: Some(Verdict {
            holds: true,
            words: "All follows.".to_owned(),
        }),
        standstill: Some(Standstill {
            since: at(60),
            resume: "league run --resume".to_owned(),
        }),
        ..Observed::default()
    };
    let played = shot(&facts, &seen);
    let moments = played.frames.len();
    assert_eq!(
        played.frames[moments - 1].label.split(':').next(),
        Some("R2M1")
    );
    let before = after_moments(&played, moments - 1);
    assert!(!before.set["summary"].contains("league run --resume"));
    let last = after_moments(&played, moments);
    assert!(last.set["summary"].contains("league run --resume"));
    let stands = after(&facts).board(&seen, at(60));
    let whole = page::board_parts(&stands, &Links::Site).whole();
    for (id, html) in &whole.set {
        assert_eq!(last.set.get(id), Some(html), "{id}");
    }
    assert_eq!(last.lists, whole.lists);
}

fn is_result(fact: &league_core::league::Event) -> bool {
    std::mem::discriminant(fact) == std::mem::discriminant(&result("R1M1", [1, 2], None))
}

#[test]
fn what_came_out_at_the_end_is_told_at_the_end() {
    let deviation = Deviation {
        clause: "000".to_owned(),
        path: "x".to_owned(),
        detail: "y".to_owned(),
        count: 3,
    };
    let mut seen = Observed {
        verdict: Some(Verdict {
            holds: true,
            words: "All follows.".to_owned(),
        }),
        ..Observed::default()
    };
    let agent = "player:P01".to_owned();
    seen.deviations.insert(agent, vec![deviation]);
    let played = shot(&whole(4), &seen);
    let early = after_moments(&played, 6);
    assert_eq!(early.set["verdict"], "<div id=\"verdict\"></div>");
    assert!(!early.set["row-P01"].contains("deviates"));
    assert!(early.set["summary"].contains("Being played"));
    let late = after_moments(&played, 7);
    assert!(late.set["verdict"].contains("Everything holds."));
    assert!(late.set["row-P01"].contains("deviates"));

    seen.verdict = Some(Verdict {
        holds: false,
        words: "Line 3 was changed.".to_owned(),
    });
    let broken = shot(&whole(4), &seen);
    assert!(broken.start.set["verdict"].contains("Line 3 was changed."));
}
