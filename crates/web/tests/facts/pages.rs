//! What the pages of players and matches tell.

use league_core::referee::SpectatorView;
use league_games::{Picture, PictureCell, Seat};
use league_protocol::fault::Code;
use league_protocol::id::{MatchId, PlayerId};
use league_web::league_view::{LeagueObservations, RefereeRecord};
use league_web::model::{DrawnPosition, FailureCount, MatchPage, SeatOutcome, TranscriptMessage};
use serde_json::{Value, json};

use league_web::page;
use league_web::season::{Season, SeasonEntry};

use crate::season::{after, at, begun, empty_view, whole, with_moves};

#[test]
fn player_page_lists_all_matches_newest_first() {
    let shown = after(&whole(4));
    let page = shown.player_page(&PlayerId::numbered(1), &LeagueObservations::default());
    let page = page.unwrap();
    let matches = page.matches.iter();
    let rounds: Vec<&str> = matches
        .map(|played| &played.match_id.as_str()[..2])
        .collect();
    assert_eq!(rounds, ["R3", "R2", "R1"]);
    assert_eq!(page.matches.len(), page.row.standing.played as usize);
    let points: u32 = page.matches.iter().map(|played| played.points).sum();
    assert_eq!(points, page.row.standing.points);
    assert_eq!(page.choices.iter().map(|(_, count)| count).sum::<u64>(), 3);
    assert_eq!(page.points.last(), Some(&page.row.standing.points));
}

#[test]
fn unknown_player_and_match_have_no_page() {
    let shown = after(&whole(4));
    let seen = LeagueObservations::default();
    assert_eq!(shown.player_page(&PlayerId::numbered(5), &seen), None);
    let id = MatchId::new("R9M1").unwrap();
    assert_eq!(shown.match_page(&id, None, &seen), None);
}

#[test]
fn finished_match_has_a_result_and_running_match_a_state() {
    let mut world = begun(4);
    world.finish("R1M1", Some(2));
    let shown = after(&world);
    let page = |id: &str| {
        let id = MatchId::new(id).unwrap();
        shown
            .match_page(&id, None, &LeagueObservations::default())
            .unwrap()
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

/// The page of a match of Tic-Tac-Toe with these moves.
fn page_of_moves(moves: [Value; 2]) -> MatchPage {
    page_of("tic_tac_toe", moves)
}

/// The page of a match of a game with these moves.
fn page_of(game: &str, moves: [Value; 2]) -> MatchPage {
    let mut view = empty_view(game);
    for event in whole(2).journal() {
        view.apply(&with_moves(event, moves.clone()));
    }
    let id = MatchId::new("R1M1").unwrap();
    let page = view.match_page(&id, None, &LeagueObservations::default());
    page.unwrap()
}

#[test]
fn board_game_is_shown_move_by_move() {
    let page = page_of_moves([json!([0, 1, 2]), json!([4, 8])]);
    let board = |position: &DrawnPosition| {
        let cells = position.picture.rows.iter().flat_map(|row| &row.cells);
        let texts = cells.map(|cell| match cell.text.as_str() {
            "" => ".",
            text => text,
        });
        texts.collect()
    };
    let boards: Vec<String> = page.positions.iter().map(board).collect();
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
    let changed: Vec<_> = page
        .positions
        .iter()
        .map(|position| (position.changed.clone(), position.seats.clone()))
        .collect();
    let at = |place: (usize, usize), seat: usize| (vec![place], vec![seat]);
    assert_eq!(
        changed,
        [
            (vec![], vec![]),
            at((0, 0), 0),
            at((1, 1), 1),
            at((0, 1), 0),
            at((2, 2), 1),
            at((0, 2), 0)
        ]
    );
}

#[test]
fn game_with_rolls_is_drawn_from_its_opened_draw() {
    let page = page_of("kuhn_poker", [json!(["check"]), json!(["check"])]);
    let [first, dealt, check, over, next] = &page.positions[..] else {
        panic!("{:?}", page.positions);
    };
    assert!(first.picture.rows[0].cells.is_empty());
    assert!(dealt.seats.is_empty());
    assert_eq!(dealt.picture.rows[0].cells, [PictureCell::hidden()]);
    assert_eq!((&check.seats[..], &over.seats[..]), (&[0][..], &[1][..]));
    let shown = over.picture.rows[0].cells[0].clone();
    assert!(["J", "Q", "K"].contains(&shown.text.as_str()), "{shown:?}");
    assert_eq!(next.picture.rows[0].cells, [shown, PictureCell::hidden()]);
}

#[test]
fn turn_of_both_seats_is_one_position() {
    let moves = [json!(["rock", "rock"]), json!(["paper", "rock"])];
    let page = page_of("rock_paper_scissors", moves);
    let seats: Vec<_> = page.positions.iter().map(|it| it.seats.clone()).collect();
    assert_eq!(seats, [vec![], vec![0, 1], vec![0, 1]]);
    assert_eq!(page.positions[1].changed, [(0, 0), (1, 0)]);
}

#[test]
fn illegal_moves_end_the_positions_and_nothing_else() {
    let page = page_of_moves([json!([0, 77]), json!("x")]);
    assert_eq!(page.positions.len(), 2);
}

#[test]
fn forfeit_differs_from_a_loss() {
    let mut world = begun(4);
    world.forfeit("R1M1", &[2]);
    world.finish("R1M2", Some(3));
    let shown = after(&world);
    let ended = |number| {
        let page = shown.player_page(&PlayerId::numbered(number), &LeagueObservations::default());
        page.unwrap().matches[0].outcome
    };
    assert_eq!(ended(1), SeatOutcome::Won);
    assert_eq!(ended(2), SeatOutcome::Forfeited);
    assert_eq!(ended(4), SeatOutcome::Lost);
}

#[test]
fn messages_of_a_running_match_are_hidden() {
    let mut world = begun(4);
    world.finish("R1M1", Some(2));
    let shown = after(&world);
    let said = |id: &str| {
        let record = RefereeRecord {
            messages: vec![TranscriptMessage {
                at: at(1),
                from: "player:P03".to_owned(),
                to: "referee:REF01".to_owned(),
                kind: "CHOOSE_PARITY_RESPONSE".to_owned(),
                message: json!({"parity_choice": "odd"}),
                original: None,
                lost: false,
                resumed: false,
            }],
            ..RefereeRecord::default()
        };
        let id = MatchId::new(id).unwrap();
        let page = shown.match_page(&id, Some(record), &LeagueObservations::default());
        page.unwrap().messages.len()
    };
    assert_eq!(said("R1M1"), 1, "it is over");
    assert_eq!(said("R1M2"), 0, "it is being played");
}

#[test]
fn failures_are_summed_over_referees() {
    let failure = |code, count, in_match: &str| FailureCount {
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
    let mut seen = LeagueObservations::default();
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

#[test]
fn position_that_a_referee_showed_is_compared_with_its_report() {
    let mut view = empty_view("tic_tac_toe");
    for event in whole(2).journal() {
        view.apply(&with_moves(event, [json!([0, 1, 2]), json!([4, 8])]));
    }
    let id = MatchId::new("R1M1").unwrap();
    let shown = |cells: [&str; 9]| SpectatorView {
        match_id: id.clone(),
        attempt: 1,
        awaited: [true, false],
        deadline: None,
        position: Picture::grid(cells.chunks(3).map(|row| {
            row.iter().map(|text| match *text {
                "X" => PictureCell::of_seat(Seat::A, "X"),
                "O" => PictureCell::of_seat(Seat::B, "O"),
                _ => PictureCell::empty(),
            })
        })),
    };
    let seen = shown(["X", "", "", "", "O", "", "", "", ""]);
    assert_eq!(view.shown_truly(&id, &seen), Some(true));
    let false_one = shown(["", "X", "", "", "O", "", "", "", ""]);
    assert_eq!(view.shown_truly(&id, &false_one), Some(false));
    let other_attempt = SpectatorView {
        attempt: 2,
        ..false_one
    };
    assert_eq!(view.shown_truly(&id, &other_attempt), None);
    // A technical loss has only the moves that came.
    let mut world = begun(2);
    world.forfeit("R1M1", &[1]);
    let mut view = empty_view("tic_tac_toe");
    world.journal().for_each(|event| view.apply(event));
    let lost = shown(["", "X", "", "", "O", "", "", "", ""]);
    assert_eq!(view.shown_truly(&id, &lost), None);
}

#[test]
fn season_shows_ratings_over_its_leagues() {
    let entry = SeasonEntry::of(&after(&whole(4)));
    let [one, two] = [1, 2].map(|leagues| {
        let page = page::season(&Season::of(std::iter::repeat_n(&entry, leagues)));
        let card = page.split("id=\"ratings-title\"").nth(1).expect("a card");
        card.split("</section>").next().unwrap().to_owned()
    });
    assert!(two.contains("Over 2 leagues"), "{two}");
    for player in 1..=4 {
        assert!(
            two.contains(&format!("<bdi>Player {player}</bdi>")),
            "{two}"
        );
    }
    assert_eq!(two.matches("<circle").count(), 4, "an interval each");
    assert_ne!(one, two, "more results say more");
    let begun = page::season(&Season::of([&SeasonEntry::of(&after(&begun(4)))]));
    assert!(!begun.contains("ratings-title"), "nothing is rated yet");
}

#[test]
fn season_adds_up_the_leagues_of_each_player() {
    let one = SeasonEntry::of(&after(&whole(4)));
    let season = Season::of([&one, &one]);
    assert_eq!(season.leagues.len(), 2);
    assert_eq!(season.rows.len(), 4);
    let first = &season.rows[0];
    assert_eq!((first.name.as_str(), first.leagues), ("Player 1", 2));
    assert_eq!((first.titles, first.played), (2, 6));
    assert_eq!(season.leagues[0].champions, ["Player 1"]);
    let begun = Season::of([&SeasonEntry::of(&after(&begun(4)))]);
    assert!(
        begun.rows.iter().all(|row| row.titles == 0),
        "it is not over"
    );
}
