//! A recording ends with the last board, and shows nothing before its time.

use league_core::league::{Event, Lever};
use league_testkit::LeagueWorld;
use league_web::delta::{Delta, Edit};
use league_web::league_view::{LeagueObservations, LeagueView};
use league_web::model::{Deviation, Stall, Verification};
use league_web::page::{self, Links};
use league_web::parts::Patch;
use league_web::replay::{Recorder, Recording};

use crate::season::{after, at, begun, empty_view, whole};

/// Players of a league with more results than a recording has frames, 1,000.
const LONG: u32 = 46;

fn recording(players: u32) -> Recording {
    record(&whole(players), &LeagueObservations::default())
}

fn record(world: &LeagueWorld, seen: &LeagueObservations) -> Recording {
    let shown: LeagueView = empty_view("even_odd");
    let mut recorder = Recorder::new(shown, seen, Links::Site);
    world.journal().for_each(|event| recorder.apply(event));
    recorder.finish()
}

/// The board after so many frames, as a browser applies them.
fn after_frames(recording: &Recording, frames: usize) -> Patch {
    let mut board = recording.start.clone();
    for frame in &recording.frames[..frames] {
        apply(&mut board, &frame.patch);
    }
    board
}

fn apply(board: &mut Patch, frame: &Delta) {
    for (id, edits) in &frame.edits {
        let text = edited(&board.set[id], edits);
        board.set.insert(id.clone(), text);
    }
    for (list, edits) in &frame.moves {
        let text = edited(&board.lists[list].join("\n"), edits);
        let keys = text.split('\n').map(str::to_owned).collect();
        board.lists.insert(list, keys);
    }
    board.then(Patch {
        set: frame.set.clone(),
        lists: frame.lists.clone(),
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
fn frames_together_make_the_last_board() {
    let played = recording(6);
    let board = after_frames(&played, played.frames.len());
    let last = after(&whole(6)).board(&LeagueObservations::default(), at(600));
    let whole = page::board_parts(&last, Links::Site).whole();
    for (id, html) in &whole.set {
        assert_eq!(board.set.get(id), Some(html), "{id}");
    }
    assert_eq!(board.lists, whole.lists);
}

#[test]
fn every_result_is_a_labelled_frame() {
    let played = recording(4);
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
fn label_tells_a_double_forfeit_from_a_draw() {
    let mut world = begun(4);
    world.forfeit("R1M1", &[1, 2]);
    world.finish("R1M2", None);
    let played = record(&world, &LeagueObservations::default());
    let labels = played.frames.iter().map(|frame| frame.label.as_str());
    let labels: Vec<&str> = labels.collect();
    let told = ["R1M1: P01 and P02 both lost", "R1M2: P03 and P04 drew"];
    assert_eq!(labels, told);
}

#[test]
fn league_of_forty_has_a_frame_per_result() {
    let played = recording(40);
    let results: Vec<u64> = played.frames.iter().map(|frame| frame.results).collect();
    let each: Vec<u64> = (1..=780).chain([780]).collect();
    assert_eq!(results, each, "and the end");
    let bytes = serde_json::to_vec(&played).unwrap().len();
    assert!(bytes < 3_400_000, "{bytes}");
}

#[test]
fn long_league_is_thinned_out_and_ends_the_same() {
    let played = recording(LONG);
    let results = u64::from(LONG * (LONG - 1) / 2);
    let frames = played.frames.len() as u64;
    assert!((20..results).contains(&frames), "{frames}");
    assert_eq!(played.frames.last().unwrap().results, results);
    let bytes = serde_json::to_vec(&played).unwrap().len();
    assert!(bytes < 6_000_000, "{bytes}");
    let last = after(&whole(LONG)).board(&LeagueObservations::default(), at(600));
    let whole = page::board_parts(&last, Links::Site).whole();
    let board = after_frames(&played, played.frames.len());
    assert_eq!(board.lists, whole.lists);
    assert_eq!(board.set["row-P01"], whole.set["row-P01"]);
}

#[test]
fn acts_are_thinned_out_like_results() {
    let mut world = begun(2);
    for number in 1..=1_100 {
        let text = format!("message {number}");
        world.pull(Lever::Announce { text }).unwrap();
    }
    let recording = record(&world, &LeagueObservations::default());
    let label = |number: usize| recording.frames[number].label.as_str();
    let act = |number| -> u32 { label(number).rsplit_once(' ').unwrap().1.parse().unwrap() };
    let last = recording.frames.len() - 1;
    assert_eq!(act(last), 1_100);
    let early = act(2) - act(1);
    assert!(early > 1, "there are more acts than frames");
    assert_eq!(act(last - 1) - act(last - 2), early);
}

#[test]
fn recording_of_a_running_league_has_its_last_result() {
    let mut world = whole(LONG);
    world.events.truncate(world.events.len() - 3);
    let played = record(&world, &LeagueObservations::default());
    let results = world.journal().filter(|event| is_result(event)).count();
    assert_eq!(played.frames.last().unwrap().results, results as u64);
}

#[test]
fn last_frame_of_a_stalled_league_shows_its_state() {
    let mut world = whole(4);
    let third = world
        .events
        .iter()
        .enumerate()
        .filter(|(_, event)| is_result(event));
    let (third, _) = third.clone().nth(2).unwrap();
    world.events.truncate(third + 1);
    let seen = LeagueObservations {
        verification: Some(Verification {
            holds: true,
            detail: "All follows.".to_owned(),
        }),
        stall: Some(Stall {
            since: at(60),
            resume: "league run --resume".to_owned(),
        }),
        ..LeagueObservations::default()
    };
    let played = record(&world, &seen);
    let frames = played.frames.len();
    assert_eq!(
        played.frames[frames - 1].label.split(':').next(),
        Some("R2M1")
    );
    let before = after_frames(&played, frames - 1);
    assert!(!before.set["summary"].contains("league run --resume"));
    let last = after_frames(&played, frames);
    assert!(last.set["summary"].contains("league run --resume"));
    let stands = after(&world).board(&seen, at(60));
    let whole = page::board_parts(&stands, Links::Site).whole();
    for (id, html) in &whole.set {
        assert_eq!(last.set.get(id), Some(html), "{id}");
    }
    assert_eq!(last.lists, whole.lists);
}

fn is_result(event: &Event) -> bool {
    matches!(event, Event::ResultRecorded { .. })
}

#[test]
fn final_observations_appear_only_in_the_last_frame() {
    let deviation = Deviation {
        clause: "000".to_owned(),
        path: "x".to_owned(),
        detail: "y".to_owned(),
        count: 3,
    };
    let mut seen = LeagueObservations {
        verification: Some(Verification {
            holds: true,
            detail: "All follows.".to_owned(),
        }),
        ..LeagueObservations::default()
    };
    let agent = "player:P01".to_owned();
    seen.deviations.insert(agent, vec![deviation]);
    let played = record(&whole(4), &seen);
    let early = after_frames(&played, 6);
    assert_eq!(early.set["verdict"], "<div id=\"verdict\"></div>");
    assert!(!early.set["row-P01"].contains("deviates"));
    assert!(early.set["summary"].contains("Being played"));
    let late = after_frames(&played, 7);
    assert!(late.set["verdict"].contains("All follows."));
    assert!(late.set["row-P01"].contains("deviates"));

    seen.verification = Some(Verification {
        holds: false,
        detail: "Line 3 was changed.".to_owned(),
    });
    let broken = record(&whole(4), &seen);
    assert!(broken.start.set["verdict"].contains("Line 3 was changed."));
}
