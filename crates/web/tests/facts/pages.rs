//! What the pages of players and matches tell.

use league_protocol::fault::Code;
use league_protocol::id::{MatchId, PlayerId};
use league_web::gallery::{Observed, Record};
use league_web::model::{Ended, Failure, Said};
use serde_json::json;

use crate::season::{after, at, beginning, forfeited, gallery, result, round, whole, with_moves};

#[test]
fn a_player_finds_all_its_matches_the_newest_first() {
    let shown = after(&whole(4));
    let page = shown.player_page(&PlayerId::numbered(1), &Observed::default());
    let page = page.unwrap();
    let rounds: Vec<u32> = page.matches.iter().map(|meeting| meeting.round).collect();
    assert_eq!(rounds, [3, 2, 1]);
    assert_eq!(page.matches.len(), page.standing.played as usize);
    let points: u32 = page.matches.iter().map(|meeting| meeting.points).sum();
    assert_eq!(points, page.standing.points);
    assert_eq!(page.choices.iter().map(|(_, count)| count).sum::<u64>(), 3);
    assert_eq!(page.points.last(), Some(&page.standing.points));
}

#[test]
fn nobody_has_a_page_who_is_not_in() {
    let shown = after(&whole(4));
    let seen = Observed::default();
    assert_eq!(shown.player_page(&PlayerId::numbered(5), &seen), None);
    let id = MatchId::new("R9M1").unwrap();
    assert_eq!(shown.match_page(&id, None, &seen), None);
}

#[test]
fn a_match_that_is_over_tells_how_and_one_that_runs_how_far() {
    let mut facts = beginning(4);
    facts.push(round(1, 2));
    facts.push(result("R1M1", [1, 2], Some(2)));
    let shown = after(&facts);
    let page = |id: &str| {
        let id = MatchId::new(id).unwrap();
        shown.match_page(&id, None, &Observed::default()).unwrap()
    };
    let over = page("R1M1");
    assert!(over.state.is_none());
    assert_eq!(over.result.unwrap().winner, Some(PlayerId::numbered(2)));
    assert_eq!(over.range, Some((1, 10)));
    let running = page("R1M2");
    assert!(running.result.is_none() && running.state.is_some());
    assert!(
        running.positions.is_empty(),
        "there is no board in this game"
    );
}

#[test]
fn a_game_of_turns_is_shown_move_by_move() {
    let mut shown = gallery("tic_tac_toe");
    let mut facts = beginning(2);
    facts.push(round(1, 1));
    let moves = [json!([0, 1, 2]), json!([4, 8])];
    facts.push(with_moves(result("R1M1", [1, 2], Some(1)), moves));
    facts.iter().for_each(|fact| shown.take_in(fact));
    let id = MatchId::new("R1M1").unwrap();
    let page = shown.match_page(&id, None, &Observed::default()).unwrap();
    let boards: Vec<String> = page
        .positions
        .iter()
        .map(|position| {
            let cells = position.cells.iter();
            cells
                .map(|cell| if cell.is_empty() { "." } else { cell })
                .collect()
        })
        .collect();
    assert_eq!(
        boards,
        [
            ".........",
            "X........",
            "X...O....",
            "XX..O....",
            "XX..O...O",
            "XXX.O...O"
        ]
    );
    let last: Vec<_> = page
        .positions
        .iter()
        .map(|position| position.last)
        .collect();
    assert_eq!(last, [None, Some(0), Some(4), Some(1), Some(8), Some(2)]);
    assert_eq!(page.positions[1].columns, 3);
}

#[test]
fn moves_that_the_rules_do_not_know_end_the_show_and_nothing_else() {
    let mut shown = gallery("tic_tac_toe");
    let mut facts = beginning(2);
    facts.push(round(1, 1));
    let moves = [json!([0, 77]), json!("x")];
    facts.push(with_moves(result("R1M1", [1, 2], Some(1)), moves));
    facts.iter().for_each(|fact| shown.take_in(fact));
    let id = MatchId::new("R1M1").unwrap();
    let page = shown.match_page(&id, None, &Observed::default()).unwrap();
    assert_eq!(page.positions.len(), 2);
}

#[test]
fn a_forfeit_is_told_from_a_loss() {
    let mut facts = beginning(4);
    facts.push(round(1, 2));
    facts.push(forfeited(result("R1M1", [1, 2], Some(1)), 2));
    facts.push(result("R1M2", [3, 4], Some(3)));
    let shown = after(&facts);
    let ended = |number| {
        let page = shown.player_page(&PlayerId::numbered(number), &Observed::default());
        page.unwrap().matches[0].ended
    };
    assert_eq!(ended(1), Ended::Won);
    assert_eq!(ended(2), Ended::Forfeited);
    assert_eq!(ended(4), Ended::Lost);
}

#[test]
fn nothing_is_told_of_a_match_before_its_end_whatever_its_file_says() {
    let mut facts = beginning(4);
    facts.push(round(1, 2));
    facts.push(result("R1M1", [1, 2], Some(2)));
    let shown = after(&facts);
    let said = |id: &str| {
        let record = Record {
            said: vec![Said {
                at: at(1),
                from: "player:P03".to_owned(),
                to: "referee:REF01".to_owned(),
                kind: "CHOOSE_PARITY_RESPONSE".to_owned(),
                message: json!({"parity_choice": "odd"}),
                verbatim: None,
            }],
            ..Record::default()
        };
        let id = MatchId::new(id).unwrap();
        let page = shown.match_page(&id, Some(record), &Observed::default());
        page.unwrap().said.len()
    };
    assert_eq!(said("R1M1"), 1, "it is over");
    assert_eq!(said("R1M2"), 0, "it is being played");
}

#[test]
fn what_cost_attempts_is_added_up_over_the_referees_that_noted_it() {
    let failure = |code, count, in_match: &str| Failure {
        code,
        count,
        detail: format!("as it was in {in_match}"),
        match_id: MatchId::new(in_match).unwrap(),
    };
    let noted = vec![
        failure(Code::InvalidMove, 2, "R1M1"),
        failure(Code::Timeout, 3, "R2M1"),
        failure(Code::Timeout, u64::MAX, "R3M1"),
    ];
    let mut seen = Observed::default();
    seen.failures.insert("player:P01".to_owned(), noted);
    let shown = after(&whole(4));
    let failures = |number| {
        let page = shown
            .player_page(&PlayerId::numbered(number), &seen)
            .unwrap();
        let of_page = page.failures.into_iter();
        of_page
            .map(|one| (one.code, one.count, one.match_id.to_string()))
            .collect::<Vec<_>>()
    };
    let expected = [
        (Code::Timeout, u64::MAX, "R2M1".to_owned()),
        (Code::InvalidMove, 2, "R1M1".to_owned()),
    ];
    assert_eq!(failures(1), expected);
    assert_eq!(failures(2), []);
}
