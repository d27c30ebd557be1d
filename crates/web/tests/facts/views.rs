//! What the formats of leagues show beside the table: brackets, score groups, exports.

use std::time::Duration;

use league_core::league::format::{BracketPart, Format};
use league_core::league::{Event, LeagueRules, Lever};
use league_protocol::id::{GameType, LeagueId};
use league_testkit::LeagueWorld;
use league_testkit::report::ended;
use league_web::league_view::{LeagueObservations, LeagueView};
use league_web::model::{Board, ScoreCell, SeatOutcome, Tie, TiePlayer};
use league_web::tables::{TableKind, csv, json};

use crate::season::at;

fn rules(format: &str) -> LeagueRules {
    let game = GameType::new("even_odd").unwrap();
    let format = Format::find(format).unwrap();
    LeagueRules {
        format,
        tiebreakers: format.tiebreakers().to_vec(),
        ..LeagueRules::new(LeagueId::new("spring").unwrap(), game)
    }
}

fn begun(format: &str, players: u32) -> LeagueWorld {
    LeagueWorld::begun_by(rules(format), players, 1, 64)
}

/// The league to its end: the player with the lower number wins.
fn whole(format: &str, players: u32) -> LeagueWorld {
    played(rules(format), players)
}

fn played(rules: LeagueRules, players: u32) -> LeagueWorld {
    let mut world = LeagueWorld::begun_by(rules, players, 1, 64);
    world.play_by(|order| {
        let lower = order.players.iter().map(|player| &player.player_id).min();
        ended(order, lower)
    });
    world
}

fn view(format: &str, world: &LeagueWorld) -> LeagueView {
    view_by(rules(format), world)
}

fn view_by(rules: LeagueRules, world: &LeagueWorld) -> LeagueView {
    let mut view = LeagueView::new(rules, "Spring League".to_owned(), false).unwrap();
    world.journal().for_each(|event| view.apply(event));
    view
}

fn board(format: &str, world: &LeagueWorld) -> Board {
    view(format, world).board(&LeagueObservations::default(), at(100))
}

/// A tie in a few letters, with `*` at the player that goes on.
fn told(tie: &Tie) -> String {
    let place = |side: usize| {
        let place = &tie.places[side];
        let player = match &place.player {
            TiePlayer::Known(player) => player.id.to_string(),
            TiePlayer::Empty => "-".to_owned(),
            TiePlayer::WinnerOf(tie) => format!("w{tie}"),
            TiePlayer::LoserOf(tie) => format!("l{tie}"),
        };
        let mark = if place.is_winner { "*" } else { "" };
        format!("{player}{mark}")
    };
    let number = tie
        .number
        .map_or_else(String::new, |number| format!("{number}: "));
    let games: Vec<String> = tie
        .games
        .iter()
        .map(|game| game.match_id.to_string())
        .collect();
    format!("{number}{} {} {}", place(0), place(1), games.join(" "))
        .trim()
        .to_owned()
}

#[test]
fn bracket_of_five_tells_rests_open_ties_and_the_matches_that_are_played() {
    let world = begun("knockout", 5);
    let ties = board("knockout", &world).views.bracket;
    let told: Vec<String> = ties.iter().map(told).collect();
    assert_eq!(
        told,
        [
            "P01* -",
            "1: P04 P05 R1M1",
            "P02* -",
            "P03* -",
            "2: P01 w1",
            "3: P02 P03",
            "4: w2 w3",
            "5: l2 l3",
        ]
    );
    assert!(board("knockout", &world).cross.players.is_empty());
}

#[test]
fn bracket_of_a_league_that_is_over_has_a_winner_in_each_tie() {
    let ties = board("knockout", &whole("knockout", 5)).views.bracket;
    let told: Vec<String> = ties.iter().map(told).collect();
    assert_eq!(
        told[4..],
        [
            "2: P01* P04 R2M1",
            "3: P02* P03 R2M2",
            "4: P01* P02 R3M1",
            "5: P04 P03* R3M2",
        ]
    );
    assert_eq!(ties[7].part, BracketPart::ThirdPlace);
}

#[test]
fn losers_of_a_double_elimination_come_from_the_ties_that_they_lose() {
    let ties = board("double_elimination", &begun("double_elimination", 4))
        .views
        .bracket;
    let told: Vec<String> = ties.iter().map(told).collect();
    assert_eq!(
        told,
        [
            "1: P01 P04 R1M1",
            "2: P02 P03 R1M2",
            "3: w1 w2",
            "4: l1 l2",
            "5: w4 l3",
            "6: w3 w5",
            "7: w6 l6",
        ]
    );
    // The unbeaten player wins the grand final, so that the reset is not played.
    let ties = board("double_elimination", &whole("double_elimination", 4))
        .views
        .bracket;
    let last: Vec<String> = ties[5..].iter().map(self::told).collect();
    assert_eq!(last, ["6: P01* P02 R4M1", "- -"]);
}

#[test]
fn every_bracket_of_2_to_20_players_shows_each_match_once() {
    for format in ["knockout", "double_elimination"] {
        for players in 3..=20 {
            let world = whole(format, players);
            let ties = board(format, &world).views.bracket;
            let mut shown: Vec<String> = ties
                .iter()
                .flat_map(|tie| tie.games.iter().map(|game| game.match_id.to_string()))
                .collect();
            shown.sort();
            let view = view(format, &world);
            let mut all: Vec<String> = view.ended_matches().map(|(id, _)| id.to_string()).collect();
            all.sort();
            assert_eq!(shown, all, "{format} of {players}");
            let open = |tie: &&Tie| {
                tie.places.iter().any(|place| {
                    matches!(place.player, TiePlayer::WinnerOf(_) | TiePlayer::LoserOf(_))
                })
            };
            assert_eq!(ties.iter().find(open), None, "{format} of {players}");
        }
    }
}

#[test]
fn chart_lines_of_formats_end_at_the_points_of_the_table() {
    let arena = || LeagueRules {
        duration: Some(Duration::from_secs(60)),
        ..rules("arena")
    };
    let mut many = LeagueWorld::begun_by(arena(), 5, 1, 64);
    for _ in 0..20 {
        for (referee, order) in many.orders() {
            let lower = order.players.iter().map(|player| &player.player_id).min();
            many.report(&referee, ended(&order, lower)).unwrap();
        }
        many.settle();
        many.pass(7);
    }
    let swiss = board("swiss", &whole("swiss", 9));
    let arena = view_by(arena(), &many).board(&LeagueObservations::default(), at(100));
    for shown in [swiss, arena] {
        assert!(shown.league.is_over());
        for (row, line) in shown.standings.iter().zip(&shown.chart.lines) {
            assert_eq!(line.points.last(), Some(&row.standing.points), "{row:?}");
        }
    }
}

#[test]
fn league_that_ended_early_has_no_running_matches() {
    let ended_early = |format: &str| {
        let mut world = begun(format, 4);
        world.finish("R1M1", Some(1));
        world.pull(Lever::End).unwrap();
        world.settle();
        board(format, &world).views
    };
    let knockout = ended_early("knockout").bracket;
    let games = knockout.iter().flat_map(|tie| &tie.games);
    let games: Vec<(&str, bool)> = games
        .map(|game| (game.match_id.as_str(), game.outcomes.is_some()))
        .collect();
    assert_eq!(games, [("R1M1", true)]);
    let swiss = ended_early("swiss").scores;
    let cells = swiss.rows.iter().flat_map(|row| &row.cells);
    let outcomes: Vec<Option<SeatOutcome>> = cells
        .map(|cell| match cell {
            ScoreCell::Played { outcome, .. } => *outcome,
            other => panic!("{other:?}"),
        })
        .collect();
    let open = Some(SeatOutcome::NotCounted);
    let [won, lost] = [SeatOutcome::Won, SeatOutcome::Lost].map(Some);
    assert_eq!(outcomes.iter().filter(|it| **it == open).count(), 2);
    assert!(outcomes.contains(&won) && outcomes.contains(&lost));
}

#[test]
fn swiss_rows_end_at_the_points_of_the_table() {
    let scores = board("swiss", &whole("swiss", 9)).views.scores;
    assert_eq!(scores.rows.len(), 9);
    assert_eq!(scores.tiebreakers.first(), Some(&"Buchholz cut 1"));
    let mut byes = 0;
    for row in &scores.rows {
        assert_eq!(row.cells.len(), scores.rounds as usize);
        let (ScoreCell::Played { points, .. } | ScoreCell::Bye { points }) =
            row.cells.last().unwrap()
        else {
            panic!("{row:?}");
        };
        assert_eq!(*points, row.points, "{row:?}");
        byes += row
            .cells
            .iter()
            .filter(|cell| matches!(cell, ScoreCell::Bye { .. }))
            .count();
        assert_eq!(row.figures.len(), scores.tiebreakers.len());
    }
    assert_eq!(
        byes, scores.rounds as usize,
        "one of nine rests in each round"
    );
}

#[test]
fn games_of_a_meeting_have_a_cell_each_and_the_last_rounds_are_shown() {
    for (legs, before) in [(2, 0), (40, 3 * 40 - 64)] {
        let rules = || LeagueRules {
            legs,
            ..rules("swiss")
        };
        let view = view_by(rules(), &played(rules(), 5));
        let scores = view.board(&LeagueObservations::default(), at(100));
        let scores = scores.views.scores;
        assert_eq!(scores.rounds, 3 * legs);
        assert_eq!((scores.before, scores.last), (before, 3 * legs));
        for row in &scores.rows {
            assert_eq!(row.cells.len(), (scores.last - before) as usize);
            let last = row.cells.last().unwrap();
            let (ScoreCell::Played { points, .. } | ScoreCell::Bye { points }) = last else {
                panic!("{row:?}");
            };
            assert_eq!(*points, row.points, "{row:?}");
        }
        let exported = csv(&view, TableKind::Rounds);
        assert_eq!(exported.lines().count(), 1 + 5 * 3 * legs as usize);
    }
}

#[test]
fn arena_shows_the_last_match_of_two_players_that_met_more_often() {
    let mut world = begun("arena", 3);
    for (match_id, winner) in [("R1M1", 1), ("R1M2", 3), ("R1M3", 2)] {
        world.finish(match_id, Some(winner));
        world.pass(10);
        world.settle();
    }
    let board = board("arena", &world);
    let told = |one: usize, other: usize| {
        let cell = board.cross.cells[one][other].as_ref().unwrap();
        (cell.match_id.to_string(), cell.outcome)
    };
    assert_eq!(told(0, 1), ("R1M4".to_owned(), None), "it runs");
    assert_eq!(told(0, 2), ("R1M2".to_owned(), Some(SeatOutcome::Lost)));
    assert_eq!(told(1, 2), ("R1M3".to_owned(), Some(SeatOutcome::Won)));
    assert_eq!(board.views, league_web::model::LeagueViews::default());
    let ratings = board.ratings.expect("the round that is played is rated");
    assert_eq!((ratings.rows.len(), ratings.matches), (3, Some(3)));
}

#[test]
fn table_of_rounds_has_every_match_of_an_arena() {
    let mut world = begun("arena", 2);
    for (match_id, winner) in [("R1M1", 1), ("R1M2", 2)] {
        world.finish(match_id, Some(winner));
        world.pass(10);
        world.settle();
    }
    let rounds = csv(&view("arena", &world), TableKind::Rounds).replace("\r\n", "\n");
    insta::assert_snapshot!(rounds, @"
    player_id,round_id,match_id,opponent_id,seat,result,points
    P01,1,R1M1,P02,A,WIN,3
    P01,1,R1M2,P02,B,LOSS,3
    P01,1,R1M3,P02,A,,3
    P02,1,R1M1,P01,B,LOSS,0
    P02,1,R1M2,P01,A,WIN,3
    P02,1,R1M3,P01,B,,3
    ");
}

#[test]
fn forged_journal_that_promises_more_matches_than_join_is_shown() {
    let mut world = begun("arena", 2);
    world.finish("R1M1", Some(1));
    world.pass(10);
    world.settle();
    for event in &mut world.events {
        if let Event::MatchesAdded { commitments, .. } = event {
            let promise = commitments[0];
            commitments.resize(100, promise);
        }
    }
    let rounds = csv(&view("arena", &world), TableKind::Rounds);
    assert!(rounds.contains("R1M2"), "{rounds}");
}

#[test]
fn round_robin_has_a_cross_table_and_nothing_else() {
    let board = board("round_robin", &begun("round_robin", 4));
    assert_eq!(board.cross.players.len(), 4);
    assert_eq!(board.views, league_web::model::LeagueViews::default());
}

#[test]
fn ties_and_rounds_as_csv() {
    let bracket = view("knockout", &whole("knockout", 3));
    insta::assert_snapshot!(csv(&bracket, TableKind::Ties).replace("\r\n", "\n"), @r#"
    tie,part,stage,player_1_id,player_2_id,wins_1,wins_2,winner,matches
    ,main,1,P01,,0,0,P01,
    1,main,1,P02,P03,1,0,P02,R1M1
    2,main,2,P01,P02,1,0,P01,R2M1
    ,third_place,2,,P03,0,0,P03,
    "#);
    let swiss = view("swiss", &whole("swiss", 5));
    let rounds = csv(&swiss, TableKind::Rounds).replace("\r\n", "\n");
    let first: Vec<&str> = rounds.lines().take(5).collect();
    insta::assert_snapshot!(first.join("\n"), @r#"
    player_id,round_id,match_id,opponent_id,seat,result,points
    P01,1,R1M1,P03,A,WIN,3
    P01,2,R2M1,P02,B,WIN,6
    P01,3,R3M1,P04,A,WIN,9
    P03,1,R1M1,P01,B,LOSS,0
    "#);
    insta::assert_snapshot!(csv(&swiss, TableKind::Standings).replace("\r\n", "\n"), @r#"
    rank,player_id,display_name,played,wins,draws,losses,technical_losses,points,out,buchholz_cut1,buchholz,sonneborn_berger
    1,P01,Player 1,3,3,0,0,0,9,,12,15,15
    2,P03,Player 3,2,1,0,1,0,6,,15,18,3
    3,P02,Player 2,3,2,0,1,0,6,,12,15,6
    4,P04,Player 4,2,0,0,2,0,3,,15,18,0
    5,P05,Player 5,2,0,0,2,0,3,,12,15,0
    "#);
    insta::assert_snapshot!(csv(&swiss, TableKind::Ratings).replace("\r\n", "\n"), @r#"
    player_id,display_name,rating,low,high,rank_best,rank_worst
    P01,Player 1,364,-2,908,1,5
    P02,Player 2,93,-295,531,1,5
    P03,Player 3,26,-469,507,1,5
    P04,Player 4,-205,-830,254,1,5
    P05,Player 5,-277,-863,138,1,5
    "#);
}

#[test]
fn json_has_the_tables_that_the_format_fills() {
    let told = json(&view("swiss", &whole("swiss", 5)));
    assert_eq!(told["format"], "swiss");
    assert_eq!(told["rounds"].as_array().unwrap().len(), 5 * 3);
    assert!(
        told["standings"][0]["sonneborn_berger"].is_number(),
        "{told:#}"
    );
    assert!(
        told["ratings"][4]["rating"].as_i64().unwrap() < 0,
        "{told:#}"
    );
    assert!(told.get("ties").is_none());
    let told = json(&view("knockout", &begun("knockout", 3)));
    assert_eq!(told["ties"][0]["tie"], serde_json::Value::Null);
    assert_eq!(
        told["ties"].as_array().unwrap().len(),
        4,
        "with the third place"
    );
    assert!(told.get("rounds").is_none());
}

#[test]
fn groups_tell_who_goes_on_before_the_knockout_is_drawn() {
    let running = board("groups", &begun("groups", 6)).views;
    assert_eq!(running.groups.len(), 2);
    assert!(running.groups.iter().all(|group| group.rows.len() == 3));
    assert!(
        running.groups[0]
            .rows
            .iter()
            .all(|row| row.goes_on.is_none())
    );
    assert!(running.bracket.is_empty());
    let over = board("groups", &whole("groups", 6)).views;
    let first = &over.groups[0];
    assert_eq!(first.name, "A");
    let rows: Vec<(u32, u32, Option<bool>)> = first
        .rows
        .iter()
        .map(|row| (row.played, row.points, row.goes_on))
        .collect();
    assert_eq!(
        rows,
        [(2, 6, Some(true)), (2, 3, Some(true)), (2, 0, Some(false))]
    );
    assert_eq!(over.bracket.len(), 4);
    let is_decided = |tie: &Tie| tie.places.iter().any(|place| place.is_winner);
    assert!(over.bracket.iter().all(is_decided));
}

#[test]
fn ladder_tells_how_far_players_climbed() {
    let mut world = begun("ladder", 4);
    world.finish("R1M1", Some(2));
    let ladder = board("ladder", &world).views.ladder;
    let told: Vec<(&str, i64)> = ladder
        .iter()
        .map(|row| (row.player.id.as_str(), row.climbed))
        .collect();
    assert_eq!(told, [("P02", 1), ("P01", -1), ("P03", 0), ("P04", 0)]);
}
