//! What the first page tells at which moment.

use std::time::Duration;

use league_core::league::{AgentState, Event, Phase};
use league_protocol::id::PlayerId;
use league_protocol::message::MatchState;
use league_web::gallery::Observed;
use league_web::model::{Deviation, Ended, Latency, Standstill, TileState};

use crate::season::{after, at, beginning, board, closed, result, round, whole};

#[test]
fn before_the_beginning_there_are_players_and_nothing_else() {
    let facts = beginning(4);
    let shown = board(&facts[..5]);
    assert_eq!(shown.league.phase, Phase::Registering);
    assert_eq!(shown.standings.len(), 4);
    assert_eq!((shown.progress.matches, shown.progress.rounds), (0, 0));
    assert!(shown.tiles.is_empty());
}

#[test]
fn every_open_match_of_the_round_has_a_tile_until_it_has_its_result() {
    let mut facts = beginning(4);
    facts.push(round(1, 2));
    let shown = board(&facts);
    let ids: Vec<&str> = shown
        .tiles
        .iter()
        .map(|tile| tile.match_id.as_str())
        .collect();
    assert_eq!(ids, ["R1M1", "R1M2"]);
    let players = shown.tiles[0].players.clone();
    facts.push(result("R1M1", [1, 2], Some(1)));
    let shown = board(&facts);
    assert_eq!(shown.tiles.len(), 1, "the other one is over");
    assert_eq!(players[0].id.as_str(), "P01");
    assert_eq!(shown.latest[0].match_id.as_str(), "R1M1");
    assert_eq!(shown.latest[0].winner, Some(0));
    assert_eq!((shown.progress.played, shown.progress.matches), (1, 6));
}

#[test]
fn what_a_referee_wrote_tells_how_far_a_match_is() {
    let mut facts = beginning(4);
    facts.push(round(1, 2));
    let mut seen = Observed::default();
    let id = league_protocol::id::MatchId::new("R1M2").unwrap();
    seen.states
        .insert(id, (MatchState::CollectingChoices, at(3)));
    let shown = after(&facts).board(&seen, at(5));
    let states: Vec<TileState> = shown.tiles.iter().map(|tile| tile.state).collect();
    assert_eq!(states, [TileState::Ordered, TileState::Choosing]);
}

#[test]
fn the_time_left_follows_the_pace_so_far() {
    let mut facts = beginning(4);
    facts.push(round(1, 2));
    facts.push(result("R1M1", [1, 2], Some(1)));
    let shown = board(&facts);
    // One of six in sixty seconds.
    assert_eq!(shown.progress.time_left, Some(Duration::from_secs(300)));
    assert_eq!(board(&whole(4)).progress.time_left, None, "it is over");
}

#[test]
fn both_players_of_a_match_have_their_cell_in_the_cross_table() {
    let shown = board(&whole(5));
    for (row, cells) in shown.cross.cells.iter().enumerate() {
        for (column, cell) in cells.iter().enumerate() {
            let other = &shown.cross.cells[column][row];
            let opposite = |ended| match ended {
                Ended::Won => Ended::Lost,
                Ended::Lost => Ended::Won,
                same => same,
            };
            match (cell, other) {
                (Some(one), Some(other)) => {
                    assert_eq!(one.match_id, other.match_id);
                    assert_eq!(one.ended.map(opposite), other.ended);
                }
                (None, None) => assert_eq!(row, column),
                _ => panic!("{row} and {column} disagree"),
            }
        }
    }
}

#[test]
fn the_lines_of_the_chart_end_where_the_table_does() {
    let shown = board(&whole(6));
    for (row, line) in shown.standings.iter().zip(&shown.chart.lines) {
        assert_eq!(line.player.id, row.player_id);
        assert_eq!(line.points.first(), Some(&0));
        assert_eq!(line.points.last(), Some(&row.points));
        assert_eq!(
            line.points.len(),
            6,
            "before the first of five rounds, and after each"
        );
    }
}

#[test]
fn who_climbs_is_told_against_the_last_round() {
    let mut facts = beginning(4);
    facts.push(round(1, 2));
    facts.push(result("R1M1", [1, 2], Some(1)));
    facts.push(result("R1M2", [3, 4], Some(4)));
    facts.push(closed(1));
    facts.push(round(2, 2));
    facts.push(result("R2M1", [3, 1], Some(3)));
    let shown = board(&facts);
    let row = |id: &str| {
        let mut rows = shown.standings.iter();
        rows.find(|row| row.player_id.as_str() == id).unwrap()
    };
    // The third was last after the first round, and is so no more.
    assert!(row("P03").climbed > 0, "{:?}", row("P03"));
    assert_eq!(row("P02").climbed, -1, "{:?}", row("P02"));
    let form: Vec<Ended> = row("P03").form.iter().map(|met| met.ended).collect();
    assert_eq!(form, [Ended::Lost, Ended::Won], "the oldest first");
}

#[test]
fn who_played_to_the_end_has_not_left() {
    let shown = board(&whole(4));
    assert!(
        shown
            .agents
            .iter()
            .all(|agent| agent.state == AgentState::Active)
    );
    let mut facts = whole(4);
    let end = facts.pop().unwrap();
    let player_id = PlayerId::numbered(4);
    facts.push(Event::PlayerShutDown {
        player_id,
        at: at(500),
    });
    facts.push(end);
    let shown = board(&facts);
    let left = shown
        .agents
        .iter()
        .filter(|agent| agent.state == AgentState::Shutdown);
    assert_eq!(
        left.map(|agent| agent.id.as_str()).collect::<Vec<_>>(),
        ["P04"]
    );
}

#[test]
fn what_was_observed_stands_with_its_agent() {
    let mut seen = Observed::default();
    let latency = Latency {
        calls: 9,
        median: 2.0,
        p95: 8.0,
    };
    seen.latencies.insert("player:P02".to_owned(), latency);
    let kind = |path: &str, count| Deviation {
        clause: "000 §2.4.1".to_owned(),
        path: path.to_owned(),
        detail: "add it".to_owned(),
        count,
    };
    let kinds = vec![kind("sender", 2), kind("timestamp", 5)];
    seen.deviations.insert("player:P02".to_owned(), kinds);
    let gallery = after(&whole(4));
    let shown = gallery.board(&seen, at(100));
    let agent = shown.agents.iter().find(|agent| agent.id == "P02").unwrap();
    assert_eq!((agent.latency, agent.deviations), (Some(latency), 7));
    let page = gallery.player_page(&PlayerId::numbered(2), &seen).unwrap();
    let paths: Vec<&str> = page
        .deviations
        .iter()
        .map(|kind| kind.path.as_str())
        .collect();
    assert_eq!(paths, ["timestamp", "sender"], "the most frequent first");
}

#[test]
fn the_clocks_of_a_league_that_nobody_plays_stand_still() {
    let mut facts = beginning(4);
    facts.push(round(1, 2));
    facts.push(result("R1M1", [1, 2], Some(1)));
    let seen = Observed {
        standstill: Some(Standstill {
            since: at(70),
            resume: "league run --resume".to_owned(),
        }),
        ..Observed::default()
    };
    let shown = after(&facts).board(&seen, at(5_000));
    assert_eq!(shown.league.standstill, seen.standstill);
    assert_eq!(shown.progress.elapsed, Some(Duration::from_secs(70)));
    assert_eq!(shown.progress.time_left, None);
    let over = after(&whole(4)).board(&seen, at(5_000));
    assert_eq!(over.league.standstill, None, "one that is over is over");
}
