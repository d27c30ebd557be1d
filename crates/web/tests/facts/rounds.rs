//! What the page of a round tells, and what a player has still to play.

use league_protocol::id::PlayerId;
use league_web::gallery::{Gallery, MOST_COMING, Observed};
use league_web::model::{Course, Ended, RoundPage};

use crate::season::{after, beginning, closed, result, round, whole};

fn shown(gallery: &Gallery, number: u32) -> Option<RoundPage> {
    gallery.round_page(number, &Observed::default())
}

/// Each match of a round in a few letters: who meets whom, and how it is.
fn told(page: &RoundPage) -> Vec<String> {
    let row = |row: &league_web::model::Encounter| {
        let [a, b] = &row.players;
        let course = match &row.course {
            Course::Planned => "planned".to_owned(),
            Course::Open(state) => format!("{state:?}"),
            Course::Over { ends, points, .. } => format!("{ends:?} {points:?}"),
            Course::Forgotten => "forgotten".to_owned(),
        };
        format!("{} {}-{} {course}", row.match_id, a.id, b.id)
    };
    page.encounters.iter().map(row).collect()
}

#[test]
fn a_round_shows_what_is_over_what_is_played_and_what_is_to_come() {
    let mut facts = beginning(4);
    facts.push(round(1, 2));
    facts.push(result("R1M1", [1, 2], Some(2)));
    let gallery = after(&facts);
    let now = told(&shown(&gallery, 1).unwrap());
    assert!(now[0].ends_with("[Lost, Won] [0, 3]"), "{now:?}");
    assert!(
        now[1].ends_with("Queued") || now[1].ends_with("Ordered"),
        "{now:?}"
    );
    let later = told(&shown(&gallery, 3).unwrap());
    assert_eq!(later.len(), 2);
    assert!(
        later.iter().all(|row| row.ends_with("planned")),
        "{later:?}"
    );
}

#[test]
fn every_pair_stands_in_one_round() {
    let gallery = after(&whole(6));
    let rounds = (1..=5).map(|number| shown(&gallery, number).unwrap());
    let mut pairs: Vec<_> = rounds
        .flat_map(|page| page.encounters)
        .map(|row| {
            assert!(matches!(row.course, Course::Over { .. }));
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
fn in_a_league_of_an_odd_number_each_rests_once() {
    let gallery = after(&whole(5));
    let resting = (1..=5).map(|number| shown(&gallery, number).unwrap().resting);
    let mut resting: Vec<_> = resting.map(|player| player.unwrap().id).collect();
    resting.sort();
    let all: Vec<_> = (1..=5).map(PlayerId::numbered).collect();
    assert_eq!(resting, all);
    assert_eq!(shown(&after(&whole(4)), 1).unwrap().resting, None);
}

#[test]
fn there_is_no_round_before_the_start_nor_after_the_last() {
    let gallery = after(&whole(4));
    assert!(shown(&gallery, 3).is_some());
    assert_eq!(shown(&gallery, 0), None);
    assert_eq!(shown(&gallery, 4), None);
    assert_eq!(shown(&gallery, u32::MAX), None);
    let mut early = beginning(4);
    early.pop();
    assert_eq!(shown(&after(&early), 1), None);
}

#[test]
fn a_player_sees_whom_it_has_still_to_meet() {
    let mut facts = beginning(4);
    facts.push(round(1, 2));
    let coming = |facts: &[_], number| {
        let page = after(facts).player_page(&PlayerId::numbered(number), &Observed::default());
        let page = page.unwrap();
        let rounds: Vec<_> = page.coming.iter().map(|next| next.round).collect();
        let states: Vec<_> = page
            .coming
            .iter()
            .map(|next| next.state.is_some())
            .collect();
        (rounds, states, page.later)
    };
    assert_eq!(
        coming(&facts, 1),
        (vec![1, 2, 3], vec![true, false, false], 0)
    );
    let page = shown(&after(&facts), 1).unwrap();
    for (number, row) in page.encounters.iter().enumerate() {
        let players = row
            .players
            .each_ref()
            .map(|player| player.id.as_str()[1..].parse().unwrap());
        facts.push(result(&format!("R1M{}", number + 1), players, None));
    }
    facts.push(closed(1));
    assert_eq!(coming(&facts, 1).0, [2, 3]);
    assert_eq!(coming(&whole(4), 1).0, [0; 0]);
}

#[test]
fn the_list_of_matches_to_come_has_an_end() {
    let mut facts = beginning(40);
    facts.push(round(1, 20));
    let page = after(&facts).player_page(&PlayerId::numbered(7), &Observed::default());
    let page = page.unwrap();
    assert_eq!(page.coming.len(), MOST_COMING);
    assert_eq!(page.later, 39 - MOST_COMING);
}

#[test]
fn a_forfeit_is_told_in_its_round() {
    let mut facts = beginning(4);
    facts.push(round(1, 2));
    facts.push(crate::season::forfeited(result("R1M1", [1, 2], Some(1)), 2));
    let page = shown(&after(&facts), 1).unwrap();
    let Course::Over { ends, .. } = &page.encounters[0].course else {
        unreachable!("it is over");
    };
    assert!(ends.contains(&Ended::Forfeited));
}
