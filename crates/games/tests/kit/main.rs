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
fn every_game_ends_by_playing_what_is_offered() {
    every_game_passes(check::every_playout_ends);
}

#[test]
fn every_game_is_the_same_for_the_same_seed() {
    every_game_passes(check::the_same_seed_gives_the_same_game);
}

#[test]
fn every_game_offers_moves_to_those_who_owe_one_and_takes_each_of_them() {
    every_game_passes(check::options_are_open_to_those_who_owe_a_move);
}

#[test]
fn every_game_stays_as_it_was_after_a_refusal() {
    every_game_passes(check::a_refusal_changes_nothing);
}

#[test]
fn every_game_keeps_a_sealed_move_from_the_others() {
    every_game_passes(secrecy::a_sealed_move_shows_to_nobody_else);
}

#[test]
fn every_game_with_hidden_moves_hides_them_until_it_is_over() {
    every_game_passes(secrecy::hidden_moves_stay_hidden_to_the_end);
}

#[test]
fn every_game_tells_its_facts_at_the_end_and_not_before() {
    every_game_passes(check::facts_come_at_the_end);
}

#[test]
fn every_game_can_be_copied_to_a_table_of_its_own() {
    every_game_passes(check::a_copy_is_a_table_of_its_own);
}

#[test]
fn every_game_has_settings_with_defaults_and_names_the_key_that_is_wrong() {
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
fn every_game_has_a_playthrough_that_a_person_has_read() {
    for listing in league_games::all() {
        let text = playthrough::of(listing).unwrap();
        insta::with_settings!({ omit_expression => true, prepend_module_to_snapshot => false }, {
            insta::assert_snapshot!(listing.rules.game_type, text);
        });
    }
}

#[test]
fn the_kit_finds_every_fault_of_the_broken_games() {
    for (fault, listing, check) in broken::games() {
        let found = check(&listing);
        assert!(found.is_err(), "the kit did not see that a game {fault}");
    }
}

#[test]
fn the_kit_has_nothing_against_a_sound_game_of_the_same_make() {
    let sound: Listing = broken::sound();
    for (fault, _, check) in broken::games() {
        assert_eq!(check(&sound), Ok(()), "the check for: {fault}");
    }
}
