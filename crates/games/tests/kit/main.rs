//! The test kit: what every game in the list must keep, whatever its rules.
//!
//! A game comes under test by standing in `league_games::all()`. The kit itself is tested on games
//! that are broken on purpose, in `broken.rs`.

mod broken;
mod check;
mod playthrough;
mod secrecy;

use check::Check;
use league_games::Listing;

/// Holds one check against every game in the list.
fn every_game_passes(check: Check) {
    for listing in league_games::all() {
        if let Err(complaint) = check(listing) {
            panic!("{}: {complaint}", listing.rules.game_type);
        }
    }
}

#[test]
fn every_game_ends_by_legal_moves() {
    every_game_passes(check::every_playout_ends);
}

#[test]
fn every_game_repeats_with_its_seed() {
    every_game_passes(check::the_same_seed_gives_the_same_game);
}

#[test]
fn every_game_accepts_each_offered_move() {
    every_game_passes(check::options_are_open_to_those_who_owe_a_move);
}

#[test]
fn every_game_is_unchanged_by_a_refusal() {
    every_game_passes(check::a_refusal_changes_nothing);
}

#[test]
fn every_game_hides_a_sealed_move() {
    every_game_passes(secrecy::a_sealed_move_shows_to_nobody_else);
}

#[test]
fn every_hidden_move_stays_hidden_until_the_end() {
    every_game_passes(secrecy::hidden_moves_stay_hidden_to_the_end);
}

#[test]
fn every_picture_hides_what_a_seat_may_not_see() {
    every_game_passes(secrecy::a_picture_shows_what_each_seat_knows);
}

#[test]
fn every_rules_text_is_complete() {
    every_game_passes(check::the_rules_text_is_complete);
}

#[test]
fn every_game_gives_details_only_at_the_end() {
    every_game_passes(check::facts_come_at_the_end);
}

#[test]
fn every_table_copy_is_independent() {
    every_game_passes(check::a_copy_is_a_table_of_its_own);
}

#[test]
fn every_game_has_default_settings_and_names_a_wrong_key() {
    every_game_passes(check::settings_are_read_with_care);
}

#[test]
fn every_game_has_rules_that_agree_with_its_play() {
    every_game_passes(check::the_rules_agree_with_the_play);
}

#[test]
fn every_game_type_is_listed_once() {
    let types = league_games::all()
        .iter()
        .map(|listing| listing.rules.game_type);
    let once: std::collections::BTreeSet<&str> = types.clone().collect();
    assert_eq!(once.len(), types.count());
}

#[test]
fn every_game_matches_its_reviewed_playthrough() {
    for listing in league_games::all() {
        let text = playthrough::of(listing).unwrap();
        insta::with_settings!({ omit_expression => true, prepend_module_to_snapshot => false }, {
            insta::assert_snapshot!(listing.rules.game_type, text);
        });
    }
}

#[test]
fn kit_finds_every_fault_of_the_broken_games() {
    for (fault, listing, check) in broken::games() {
        let found = check(&listing);
        assert!(found.is_err(), "the kit did not see that a game {fault}");
    }
}

#[test]
fn kit_accepts_a_sound_game() {
    let sound: Listing = broken::sound();
    for (fault, _, check) in broken::games() {
        assert_eq!(check(&sound), Ok(()), "the check for: {fault}");
    }
}
