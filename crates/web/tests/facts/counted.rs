//! Every view agrees with the table, whatever the organiser does.

use std::collections::BTreeMap;

use league_core::league::format::Format;
use league_core::league::{Lever, PlayedMatches};
use league_protocol::id::{LeagueId, MatchId, PlayerId};
use league_protocol::message::{LeagueQuery, Query, QueryAnswer, StandingRow};
use league_testkit::LeagueWorld;
use league_testkit::league::rules;
use league_testkit::levers::{Chance, finish_any};
use league_testkit::report::ended;
use league_web::league_view::{LeagueObservations, LeagueView, MAX_ACTS};
use league_web::model::{Board, RoundMatchState, SeatOutcome, Stage};
use league_web::page::{self, Links};
use league_web::replay::Recorder;
use league_web::season::{Season, SeasonEntry};
use league_web::tables;

use crate::season::{after, at, begun, board, empty_view, registering, whole};

/// Wins, draws, losses, technical losses among them, and points.
type Totals = [u32; 5];

fn table(rows: &[StandingRow]) -> BTreeMap<PlayerId, Totals> {
    let totals = |row: &StandingRow| {
        [
            row.wins,
            row.draws,
            row.losses,
            row.technical_losses,
            row.points,
        ]
    };
    rows.iter()
        .map(|row| (row.player_id.clone(), totals(row)))
        .collect()
}

/// Adds an outcome; a match that does not count adds nothing.
fn add(totals: &mut Totals, outcome: SeatOutcome, points: u32) {
    match outcome {
        SeatOutcome::Won => totals[0] += 1,
        SeatOutcome::Drew => totals[1] += 1,
        SeatOutcome::Lost | SeatOutcome::LostByRuling => totals[2] += 1,
        SeatOutcome::Forfeited => {
            totals[2] += 1;
            totals[3] += 1;
        }
        SeatOutcome::NotCounted => assert_eq!(points, 0),
    }
    totals[4] += points;
}

/// The same from the pages of all players.
fn player_pages(view: &LeagueView) -> BTreeMap<PlayerId, Totals> {
    let seen = LeagueObservations::default();
    let players = view.league().players().iter();
    players
        .map(|player| {
            let page = view.player_page(player.id(), &seen).unwrap();
            let mut totals = Totals::default();
            for played in &page.matches {
                add(&mut totals, played.outcome, played.points);
            }
            let counted = page.matches.iter().map(|played| played.outcome);
            let counted = counted.filter(|outcome| *outcome != SeatOutcome::NotCounted);
            let mut form: Vec<_> = counted.take(5).collect();
            form.reverse();
            assert_eq!(page.row.form, form, "{}", player.id());
            (player.id().clone(), totals)
        })
        .collect()
}

/// The same from the pages of all rounds.
fn round_pages(view: &LeagueView) -> BTreeMap<PlayerId, Totals> {
    let seen = LeagueObservations::default();
    let mut all = no_results(view);
    for round in 1..=view.league().rounds() {
        for shown in view.round_page(round, &seen).unwrap().matches {
            let RoundMatchState::Over {
                outcomes, points, ..
            } = shown.state
            else {
                continue;
            };
            for seat in [0, 1] {
                let totals = all.get_mut(&shown.players[seat].id).unwrap();
                add(totals, outcomes[seat], points[seat]);
            }
        }
    }
    all
}

/// The same from the exported list of matches.
fn exported_matches(view: &LeagueView) -> BTreeMap<PlayerId, Totals> {
    let mut all = no_results(view);
    for row in tables::json(view)["matches"].as_array().unwrap() {
        let ids = ["player_A_id", "player_B_id"].map(|column| row[column].clone());
        for (seat, points) in ["points_A", "points_B"].into_iter().enumerate() {
            let outcome = match (row["status"].as_str().unwrap(), &row["winner"]) {
                ("DRAW", _) => SeatOutcome::Drew,
                ("NOT_COUNTED", _) => continue,
                (_, winner) if *winner == ids[seat] => SeatOutcome::Won,
                ("WIN", _) => SeatOutcome::Lost,
                ("BOTH_LOSE", _) => SeatOutcome::LostByRuling,
                _ => SeatOutcome::Forfeited,
            };
            let id = PlayerId::new(ids[seat].as_str().unwrap()).unwrap();
            let points = row[points].as_u64().unwrap().try_into().unwrap();
            add(all.get_mut(&id).unwrap(), outcome, points);
        }
    }
    all
}

/// The same from the cross table, which has no points.
fn cross_table(board: &Board) -> BTreeMap<PlayerId, Totals> {
    let rows = board.cross.players.iter().zip(&board.cross.cells);
    rows.map(|(player, cells)| {
        let mut totals = Totals::default();
        let outcomes = cells.iter().flatten().filter_map(|cell| cell.outcome);
        outcomes.for_each(|outcome| add(&mut totals, outcome, 0));
        (player.id.clone(), totals)
    })
    .collect()
}

fn no_results(view: &LeagueView) -> BTreeMap<PlayerId, Totals> {
    let players = view.league().players().iter();
    players
        .map(|player| (player.id().clone(), Totals::default()))
        .collect()
}

/// Compares all views of a league with its table.
fn see_views_agree(world: &LeagueWorld) {
    let view = after(world);
    let rows = view.league().standings();
    let expected = table(&rows);
    let board = view.board(&LeagueObservations::default(), at(100));
    let shown: Vec<StandingRow> = board
        .standings
        .iter()
        .map(|row| row.standing.clone())
        .collect();
    assert_eq!(table(&shown), expected);
    assert_eq!(player_pages(&view), expected, "the pages of the players");
    assert_eq!(round_pages(&view), expected, "the pages of the rounds");
    assert_eq!(exported_matches(&view), expected, "the exported matches");
    let without_points = |(id, totals): (PlayerId, Totals)| {
        let [wins, draws, losses, technical, _] = totals;
        (id, [wins, draws, losses, technical, 0])
    };
    let expected_cross: BTreeMap<_, _> = expected.into_iter().map(without_points).collect();
    assert_eq!(cross_table(&board), expected_cross, "the cross table");
    let technical: u32 = rows.iter().map(|row| row.technical_losses).sum();
    assert_eq!(board.progress.technical_losses, u64::from(technical));
    if world
        .league
        .round()
        .is_none_or(|round| round.open() == 0 || world.league.is_over())
    {
        for (line, row) in board.chart.lines.iter().zip(rows.iter()) {
            assert_eq!(line.points.last(), Some(&row.points), "the chart");
        }
    }
    see_answers_agree(world, &rows);
}

/// Compares what the manager answers with the table.
fn see_answers_agree(world: &LeagueWorld, rows: &[StandingRow]) {
    let ask = |query| {
        let query = LeagueQuery {
            league_id: Some(LeagueId::new("spring").unwrap()),
            query,
            by_api_page: false,
        };
        world.league.inform(&query).answer.unwrap()
    };
    let answer = ask(Query::Standings);
    assert!(matches!(answer, QueryAnswer::Standings { rows: told, .. } if *told == *rows));
    for row in rows {
        let answer = ask(Query::PlayerStats(row.player_id.clone()));
        assert!(matches!(answer, QueryAnswer::PlayerStats(told) if told.row == *row));
    }
    let played: u32 = rows.iter().map(|row| row.played).sum();
    let league = &world.league;
    let counted = league.matches_played() - league.uncounted_matches();
    assert_eq!(counted * 2, u64::from(played));
}

#[test]
fn views_agree_with_the_table_after_any_levers() {
    let mut pulled = 0;
    for seed in 1..=16 {
        let mut chance = Chance(seed * 7_919);
        let mut world = begun(6);
        for step in 0..100 {
            if chance.below(3) == 0 || !finish_any(&mut world, &mut chance) {
                let lever = chance.lever(&world);
                pulled += u32::from(world.pull(lever).is_ok());
            }
            world.settle();
            if step % 4 == 3 {
                see_views_agree(&world);
            }
        }
    }
    assert!(pulled > 60, "{pulled}");
}

#[test]
fn views_agree_with_the_table_after_levers_on_a_league_that_is_over() {
    let mut world = whole(6);
    let mut chance = Chance(4_711);
    let mut pulled = 0;
    for _ in 0..40 {
        let lever = chance.lever(&world);
        pulled += u32::from(world.pull(lever).is_ok());
        see_views_agree(&world);
    }
    assert!(pulled > 10, "{pulled}");
}

fn annul(id: &str) -> Lever {
    Lever::Annul {
        match_id: MatchId::new(id).unwrap(),
    }
}

#[test]
fn match_that_is_closed_in_play_is_over_on_every_page() {
    let mut world = begun(4);
    world.pull(annul("R1M1")).unwrap();
    let (view, seen) = (after(&world), LeagueObservations::default());
    let id = MatchId::new("R1M1").unwrap();
    let page = view.match_page(&id, None, &seen).unwrap();
    assert_eq!((page.state, page.result), (None, None));
    let not_counted = (SeatOutcome::NotCounted, 0);
    assert_eq!(page.counted, Some([not_counted; 2]));
    let note = "does not count: annulled by the organiser";
    assert_eq!(page.note.as_deref(), Some(note));
    let board = view.board(&seen, at(100));
    assert!(board.tiles.iter().all(|tile| tile.match_id != id));
    assert_eq!(board.latest[0].match_id, id);
    let cell = board.cross.cells[0].iter().flatten().next().unwrap();
    assert_eq!(cell.outcome, Some(SeatOutcome::NotCounted));
    let upcoming = view.player_page(&PlayerId::numbered(1), &seen).unwrap();
    assert!(upcoming.upcoming.iter().all(|next| next.match_id != id));
}

#[test]
fn match_page_shows_the_ruling_and_what_was_recorded() {
    let mut world = begun(4);
    world.finish("R1M1", Some(1));
    let match_id = MatchId::new("R1M1").unwrap();
    world
        .pull(Lever::Rule {
            match_id: match_id.clone(),
            winner: Some(PlayerId::numbered(2)),
            both_lose: false,
        })
        .unwrap();
    let page = after(&world).match_page(&match_id, None, &LeagueObservations::default());
    let page = page.unwrap();
    assert_eq!(page.result.unwrap().winner, Some(PlayerId::numbered(1)));
    let counted = [(SeatOutcome::Lost, 0), (SeatOutcome::Won, 3)];
    assert_eq!(page.counted, Some(counted));
    assert_eq!(page.note.as_deref(), Some("counts as the organiser ruled"));
}

#[test]
fn next_pairings_are_also_those_of_matches_that_are_played_again() {
    let mut world = begun(2);
    world.pull(Lever::Pause).unwrap();
    world.finish("R1M1", Some(1));
    world
        .pull(Lever::Replay {
            match_id: MatchId::new("R1M1").unwrap(),
        })
        .unwrap();
    let next = after(&world).board(&LeagueObservations::default(), at(100));
    let next = next.next.unwrap();
    assert_eq!((next.round, next.pairings.len()), (2, 1));
}

#[test]
fn disqualified_player_wins_nothing_and_a_shared_place_is_shared() {
    let mut world = whole(4);
    let places = |world: &LeagueWorld| -> Vec<String> {
        let board = after(world).board(&LeagueObservations::default(), at(100));
        let told = board.winners.iter();
        told.map(|(place, row)| format!("{place} {}", row.player_id))
            .collect()
    };
    assert_eq!(places(&world), ["1 P01", "2 P02", "3 P03"]);
    let disqualify = |number, played| Lever::Disqualify {
        player_id: PlayerId::numbered(number),
        played,
    };
    world.pull(disqualify(1, PlayedMatches::Kept)).unwrap();
    let kept = places(&world);
    assert_eq!(kept, ["1 P02", "2 P03", "3 P04"], "the others move up");
    world.pull(disqualify(2, PlayedMatches::Annulled)).unwrap();
    for id in ["R1M1", "R1M2", "R2M1", "R2M2", "R3M1", "R3M2"] {
        let match_id = MatchId::new(id).unwrap();
        let (winner, both_lose) = (None, false);
        let rule = Lever::Rule {
            match_id,
            winner,
            both_lose,
        };
        world.pull(rule).unwrap();
    }
    assert_eq!(places(&world), ["1 P03", "1 P04"], "both drew twice");
}

#[test]
fn place_is_shared_only_among_winners() {
    let mut world = begun(4);
    world.play_by(|order| ended(order, None));
    let pages = |world: &LeagueWorld| {
        let board = board(world);
        let summary = page::board_parts(&board, Links::Site).whole().set["summary"].clone();
        let surprise = None;
        (summary, page::stage(&Stage { board, surprise }))
    };
    let (summary, stage) = pages(&world);
    assert!(summary.contains("Champions, sharing the first place"));
    let rank = r#"<span class="rank">=1</span>"#;
    // The table has four rows, and the podium three steps.
    assert_eq!(stage.matches(rank).count(), 7);
    assert!(stage.contains(r#"<p class="more">and 1 more</p>"#));
    for number in [1, 2, 3] {
        let disqualify = Lever::Disqualify {
            player_id: PlayerId::numbered(number),
            played: PlayedMatches::Kept,
        };
        world.pull(disqualify).unwrap();
    }
    let (summary, stage) = pages(&world);
    assert!(summary.contains("<h2>Champion</h2>"));
    assert_eq!(stage.matches(rank).count(), 0);
    assert!(!stage.contains("and 1 more"));
}

#[test]
fn board_and_replay_tell_what_follows_from_an_act() {
    let mut world = registering(4);
    world.pull(Lever::SetJoinCode).unwrap();
    world.pull(Lever::Start).unwrap();
    world.settle();
    world.finish("R1M1", Some(1));
    let match_id = MatchId::new("R1M1").unwrap();
    world.pull(Lever::Replay { match_id }).unwrap();
    let seen = LeagueObservations::default();
    let mut recorder = Recorder::new(empty_view("even_odd"), &seen, Links::Site);
    world.journal().for_each(|event| recorder.apply(event));
    let frames = recorder.finish().frames;
    let acts = after(&world).summary(&seen).acts;
    let codeless = "new players need no join code";
    assert!(acts.iter().any(|act| act.sentence == codeless), "{acts:?}");
    let replayed = "R1M1 is played again (as R4M1)";
    assert_eq!(acts[0].sentence, replayed);
    assert_eq!(frames.last().unwrap().label, replayed);
}

#[test]
fn players_that_lose_by_a_ruling_did_play() {
    let mut world = begun(4);
    world.finish("R1M1", Some(1));
    let (match_id, winner) = (MatchId::new("R1M1").unwrap(), None);
    let both_lose = true;
    world
        .pull(Lever::Rule {
            match_id,
            winner,
            both_lose,
        })
        .unwrap();
    let view = after(&world);
    let board = view.board(&LeagueObservations::default(), at(100));
    assert_eq!(board.latest[0].outcomes, [SeatOutcome::LostByRuling; 2]);
    assert_eq!(board.progress.technical_losses, 0);
    let csv = tables::csv(&view, tables::TableKind::Matches);
    assert!(csv.contains(",BOTH_LOSE,"), "{csv}");
}

#[test]
fn match_that_never_ended_is_not_in_the_cross_table_of_a_league_that_is_over() {
    let mut world = begun(4);
    world.finish("R1M1", Some(1));
    world.pull(Lever::End).unwrap();
    world.settle();
    let view = after(&world);
    assert!(view.league().is_over());
    let cross = view.board(&LeagueObservations::default(), at(100)).cross;
    assert_eq!(cross.cells.iter().flatten().flatten().count(), 2);
    assert_eq!(tables::json(&view)["ended_early"], true);
    let told = "The organiser ended the league early.";
    assert!(tables::markdown(&view).contains(told));
    let season = Season::of([&SeasonEntry::of(&view)]);
    assert!(season.leagues[0].ended_early);
}

#[test]
fn player_that_comes_late_is_on_every_page() {
    let mut rules = rules();
    rules.use_format(Format::find("swiss").unwrap());
    rules.late_entry = true;
    let view = |world: &LeagueWorld| {
        let mut view = LeagueView::new(rules.clone(), "Spring".to_owned(), false).unwrap();
        world.journal().for_each(|event| view.apply(event));
        view
    };
    let mut world = LeagueWorld::begun_by(rules.clone(), 4, 1, 4);
    let late = world.admit_player("Late");
    let seen = LeagueObservations::default();
    let board = view(&world).board(&seen, at(100));
    let scores = &board.views.scores;
    assert_eq!((board.standings.len(), scores.rows.len()), (5, 5));
    world.play_on();
    let view = view(&world);
    assert!(view.player_page(&late, &seen).unwrap().upcoming.is_empty());
    let board = view.board(&seen, at(100));
    assert_eq!(board.league.played, board.league.matches);
    let line = board.chart.lines.iter().find(|line| line.player.id == late);
    assert_eq!(
        line.unwrap().points.len(),
        3,
        "0 points, and after each round"
    );
}

#[test]
fn paused_league_tells_no_time_that_is_left() {
    let mut world = begun(4);
    world.finish("R1M1", Some(1));
    let seen = LeagueObservations::default();
    let left = |world: &LeagueWorld| after(world).board(&seen, at(100)).progress.time_left;
    assert!(left(&world).is_some());
    world.pull(Lever::Pause).unwrap();
    assert_eq!(left(&world), None);
}

#[test]
fn player_that_is_out_has_no_match_to_play_and_is_marked_in_exports() {
    let mut world = begun(4);
    let (player_id, played) = (PlayerId::numbered(2), PlayedMatches::Kept);
    world.pull(Lever::Disqualify { player_id, played }).unwrap();
    let view = after(&world);
    let page = view.player_page(&PlayerId::numbered(2), &LeagueObservations::default());
    assert!(page.unwrap().upcoming.is_empty());
    let csv = tables::csv(&view, tables::TableKind::Standings);
    assert!(csv.trim_end().ends_with(",disqualified"), "{csv}");
}

#[test]
fn acts_beyond_the_bound_are_counted() {
    let mut world = begun(2);
    let text = "hear".to_owned();
    for _ in 0..MAX_ACTS + 2 {
        world.pull(Lever::Announce { text: text.clone() }).unwrap();
    }
    let league = after(&world).summary(&LeagueObservations::default());
    // The start is an act too.
    assert_eq!((league.acts.len(), league.unlisted_acts), (MAX_ACTS, 3));
}
