//! What the page of a round tells, and what a player has still to play.

use league_protocol::id::PlayerId;
use league_testkit::LeagueWorld;
use league_web::league_view::{LeagueObservations, LeagueView, MAX_UPCOMING};
use league_web::model::{RoundMatchState, RoundPage, SeatOutcome};

use crate::season::{after, begun, registering, whole};

fn shown(view: &LeagueView, number: u32) -> Option<RoundPage> {
    view.round_page(number, &LeagueObservations::default())
}

/// Each match of a round in a few letters: who meets whom, and how it is.
fn told(page: &RoundPage) -> Vec<String> {
    let row = |row: &league_web::model::RoundMatch| {
        let [a, b] = &row.players;
        let course = match &row.state {
            RoundMatchState::Planned => "planned".to_owned(),
            RoundMatchState::Open(state) => format!("{state:?}"),
            RoundMatchState::Over {
                outcomes, points, ..
            } => format!("{outcomes:?} {points:?}"),
            RoundMatchState::Forgotten => "forgotten".to_owned(),
        };
        format!("{} {}-{} {course}", row.match_id, a.id, b.id)
    };
    page.matches.iter().map(row).collect()
}

#[test]
fn round_shows_finished_open_and_planned_matches() {
    let mut world = begun(4);
    world.finish("R1M1", Some(2));
    let view = after(&world);
    let now = told(&shown(&view, 1).unwrap());
    assert!(now[0].ends_with("[Lost, Won] [0, 3]"), "{now:?}");
    assert!(
        now[1].ends_with("Queued") || now[1].ends_with("Ordered"),
        "{now:?}"
    );
    let later = told(&shown(&view, 3).unwrap());
    assert_eq!(later.len(), 2);
    assert!(
        later.iter().all(|row| row.ends_with("planned")),
        "{later:?}"
    );
}

#[test]
fn every_pair_meets_in_one_round() {
    let view = after(&whole(6));
    let rounds = (1..=5).map(|number| shown(&view, number).unwrap());
    let mut pairs: Vec<_> = rounds
        .flat_map(|page| page.matches)
        .map(|row| {
            assert!(matches!(row.state, RoundMatchState::Over { .. }));
            let mut pair = row.players.map(|player| player.id);
            pair.sort();
            pair
        })
        .collect();
    pairs.sort();
    pairs.dedup();
    assert_eq!(pairs.len(), 15);
}

#[test]
fn each_player_of_an_odd_league_rests_once() {
    let view = after(&whole(5));
    let resting = (1..=5).map(|number| shown(&view, number).unwrap().resting);
    let mut resting: Vec<_> = resting.map(|player| player.unwrap().id).collect();
    resting.sort();
    let all: Vec<_> = (1..=5).map(PlayerId::numbered).collect();
    assert_eq!(resting, all);
    assert_eq!(shown(&after(&whole(4)), 1).unwrap().resting, None);
}

#[test]
fn no_round_before_the_start_or_after_the_last() {
    let view = after(&whole(4));
    assert!(shown(&view, 3).is_some());
    assert_eq!(shown(&view, 0), None);
    assert_eq!(shown(&view, 4), None);
    assert_eq!(shown(&view, u32::MAX), None);
    assert_eq!(shown(&after(&registering(4)), 1), None);
}

#[test]
fn player_page_lists_upcoming_matches() {
    let mut world = begun(4);
    let coming = |world: &LeagueWorld, number| {
        let page =
            after(world).player_page(&PlayerId::numbered(number), &LeagueObservations::default());
        let page = page.unwrap();
        let rounds: Vec<_> = page.upcoming.iter().map(|next| next.round).collect();
        let states: Vec<_> = page
            .upcoming
            .iter()
            .map(|next| next.state.is_some())
            .collect();
        (rounds, states, page.later)
    };
    assert_eq!(
        coming(&world, 1),
        (vec![1, 2, 3], vec![true, false, false], 0)
    );
    world.finish("R1M1", None);
    world.finish("R1M2", None);
    assert_eq!(coming(&world, 1).0, [2, 3]);
    assert_eq!(coming(&whole(4), 1).0, [0; 0]);
}

#[test]
fn upcoming_matches_have_a_bound() {
    let page =
        after(&begun(40)).player_page(&PlayerId::numbered(7), &LeagueObservations::default());
    let page = page.unwrap();
    assert_eq!(page.upcoming.len(), MAX_UPCOMING);
    assert_eq!(page.later, 39 - MAX_UPCOMING);
}

#[test]
fn round_shows_a_forfeit() {
    let mut world = begun(4);
    world.forfeit("R1M1", &[2]);
    let page = shown(&after(&world), 1).unwrap();
    let RoundMatchState::Over { outcomes, .. } = &page.matches[0].state else {
        unreachable!("it is over");
    };
    assert!(outcomes.contains(&SeatOutcome::Forfeited));
}
