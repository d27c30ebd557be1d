//! What spectators could know at each instant of a match, of every game.

use std::collections::BTreeMap;

use league_core::letter::Letter;
use league_core::referee::{CorrelationId, SpectatorView};
use league_games::Rules;
use league_protocol::message::Message;
use serde_json::Value;

use league_testkit::referee::*;

/// Matches of all games together.
const MATCHES: usize = 1_000;

fn views(house: &RefereeWorld) -> Vec<SpectatorView> {
    house.referee.spectator_views().collect()
}

/// The same referee, so that something else can happen to it.
fn copy(house: &RefereeWorld) -> RefereeWorld {
    RefereeWorld {
        referee: house.referee.clone(),
        now: house.now,
        ..RefereeWorld::new()
    }
}

/// Small numbers that look random.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self, below: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % below
    }
}

/// What a player that is asked sees, and what spectators see then.
type Known = BTreeMap<String, Value>;

/// Delivers one letter. A move that the rules seal must not change what spectators see, whichever
/// it is.
fn deliver(
    house: &mut RefereeWorld,
    letter: &Letter<CorrelationId>,
    numbers: &mut Numbers,
    rules: &Rules,
) {
    let Message::MoveCall(asked) = &letter.message else {
        let outcome = plain(letter).unwrap();
        let _ = house.hear(letter, outcome);
        return;
    };
    let mut seen: Vec<Vec<SpectatorView>> = Vec::new();
    for choice in asked.options.iter() {
        let mut other = copy(house);
        other.hear(letter, chosen(letter, choice.clone())).unwrap();
        seen.push(views(&other));
    }
    let is_awaited =
        |views: &Vec<SpectatorView>| views.iter().any(|view| view.awaited != [false; 2]);
    let is_sealed = rules.hidden_moves || (rules.simultaneous && is_first(house));
    if is_sealed {
        assert!(rules.hidden_moves || seen.iter().all(is_awaited));
        seen.dedup();
        assert_eq!(seen.len(), 1, "{}: {seen:?}", rules.game_type);
    }
    let choice = asked.options[numbers.next(asked.options.len())].clone();
    house.hear(letter, chosen(letter, choice)).unwrap();
}

/// Whether both seats owe a move.
fn is_first(house: &RefereeWorld) -> bool {
    views(house).iter().any(|view| view.awaited == [true; 2])
}

/// Spectators know no more than a player that is asked: where it sees the same, they see the same.
fn compare(house: &RefereeWorld, letter: &Letter<CorrelationId>, known: &mut Known) {
    let Message::MoveCall(asked) = &letter.message else {
        return;
    };
    let shown = views(house).into_iter().map(|view| view.position);
    let shown = serde_json::to_value(shown.collect::<Vec<_>>()).unwrap();
    let sees = format!("{} {} {:?}", asked.player_id, asked.view, asked.options);
    let before = known.entry(sees).or_insert_with(|| shown.clone());
    assert_eq!(*before, shown, "{}", asked.view);
}

#[test]
fn spectators_never_know_a_hidden_choice() {
    let games = league_games::all();
    let mut played = 0;
    for listing in games {
        let mut known = Known::new();
        for number in 0..MATCHES.div_ceil(games.len()) {
            let mut numbers = Numbers(number as u64);
            let match_id = format!("R1M{}", number + 1);
            let order = order_of(listing.rules.game_type, &match_id);
            let mut house = RefereeWorld::started(order);
            let mut waiting = Vec::new();
            for _ in 0..1_000 {
                waiting.extend(house.take());
                if waiting.is_empty() {
                    break;
                }
                let place = numbers.next(waiting.len());
                let letter = waiting.swap_remove(place);
                if letter.correlation.is_some() {
                    compare(&house, &letter, &mut known);
                    deliver(&mut house, &letter, &mut numbers, &listing.rules);
                }
                if house.result(&match_id).is_some() {
                    assert_eq!(views(&house), [], "the report opens the rest");
                }
            }
            assert!(
                house.shown(&match_id).is_some(),
                "{} ends",
                listing.rules.game_type
            );
            played += 1;
        }
    }
    assert!(played >= MATCHES);
}

#[test]
fn spectators_see_an_open_game_move_by_move() {
    let mut house = RefereeWorld::started(tic_tac_toe("R1M1"));
    assert_eq!(views(&house), [], "nothing to see before both have joined");
    house.both_join();
    let first = views(&house).remove(0);
    assert_eq!(first.awaited, [true, false]);
    assert!(first.deadline.is_some());
    let letter = house.take().remove(0);
    let choice = call(&letter).options[4].clone();
    house.hear(&letter, chosen(&letter, choice)).unwrap();
    let second = views(&house).remove(0);
    assert_eq!(second.awaited, [false, true]);
    assert_ne!(second.position, first.position);
}

#[test]
fn spectators_see_who_has_chosen_in_a_hidden_game() {
    let mut house = RefereeWorld::started(order("R1M1"));
    house.both_join();
    house.choose_only(2, odd());
    let view = views(&house).remove(0);
    assert_eq!(view.awaited, [true, false]);
    let text = serde_json::to_string(&view).unwrap();
    assert!(!text.contains("odd"), "{text}");
}
