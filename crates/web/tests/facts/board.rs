//! What the first page tells at which moment.

use std::sync::Arc;
use std::time::Duration;

use league_core::league::{AgentState, Effect, Event, Lever, Phase};
use league_core::referee::SpectatorView;
use league_games::Picture;
use league_protocol::fault::Code;
use league_protocol::id::{MatchId, PlayerId};
use league_protocol::message::{MatchState, MatchStatus};
use league_web::league_view::{LeagueObservations, LeagueView};
use league_web::model::{Deviation, LatencySummary, SeatOutcome, Stall, TileState};

use league_testkit::LeagueWorld;

use crate::season::{
    after, at, awaiting_view, begun, board, empty_view, registering, timed_view, whole,
};

#[test]
fn board_before_the_start_shows_only_players() {
    let shown = board(&registering(4));
    assert_eq!(shown.league.phase, Phase::Registering);
    assert_eq!(shown.standings.len(), 4);
    assert_eq!((shown.league.matches, shown.progress.rounds), (0, 0));
    assert!(shown.tiles.is_empty());
}

#[test]
fn every_open_match_of_the_round_has_a_tile() {
    let mut world = begun(4);
    let shown = board(&world);
    let ids: Vec<&str> = shown
        .tiles
        .iter()
        .map(|tile| tile.match_id.as_str())
        .collect();
    assert_eq!(ids, ["R1M1", "R1M2"]);
    let players = shown.tiles[0].players.clone();
    world.finish("R1M1", Some(1));
    let shown = board(&world);
    assert_eq!(shown.tiles.len(), 1, "the other one is over");
    assert_eq!(players[0].id.as_str(), "P01");
    assert_eq!(shown.latest[0].match_id.as_str(), "R1M1");
    assert_eq!(shown.latest[0].outcomes[0], SeatOutcome::Won);
    assert_eq!((shown.league.played, shown.league.matches), (1, 6));
}

#[test]
fn tile_shows_the_state_that_the_referee_recorded() {
    let world = begun(4);
    let mut seen = LeagueObservations::default();
    let id = league_protocol::id::MatchId::new("R1M2").unwrap();
    seen.states
        .insert(id, (MatchState::CollectingChoices, at(3)));
    let shown = after(&world).board(&seen, at(5));
    let states: Vec<TileState> = shown.tiles.iter().map(|tile| tile.state).collect();
    assert_eq!(states, [TileState::Ordered, TileState::Choosing]);
}

#[test]
fn time_left_follows_the_pace_so_far() {
    let mut world = begun(4);
    world.now = at(60);
    world.finish("R1M1", Some(1));
    let shown = board(&world);
    // One of six in sixty seconds.
    assert_eq!(shown.progress.time_left, Some(Duration::from_secs(300)));
    assert_eq!(board(&whole(4)).progress.time_left, None, "it is over");
}

#[test]
fn both_players_of_a_match_have_a_cross_table_cell() {
    let shown = board(&whole(5));
    for (row, cells) in shown.cross.cells.iter().enumerate() {
        for (column, cell) in cells.iter().enumerate() {
            let other = &shown.cross.cells[column][row];
            let opposite = |ended| match ended {
                SeatOutcome::Won => SeatOutcome::Lost,
                SeatOutcome::Lost => SeatOutcome::Won,
                same => same,
            };
            match (cell, other) {
                (Some(one), Some(other)) => {
                    assert_eq!(one.match_id, other.match_id);
                    assert_eq!(one.outcome.map(opposite), other.outcome);
                }
                (None, None) => assert_eq!(row, column),
                _ => panic!("{row} and {column} disagree"),
            }
        }
    }
}

#[test]
fn chart_lines_end_at_the_points_of_the_table() {
    let shown = board(&whole(6));
    for (row, line) in shown.standings.iter().zip(&shown.chart.lines) {
        assert_eq!(line.player.id, row.standing.player_id);
        assert_eq!(line.points.first(), Some(&0));
        assert_eq!(line.points.last(), Some(&row.standing.points));
        assert_eq!(
            line.points.len(),
            6,
            "before the first of five rounds, and after each"
        );
    }
}

#[test]
fn climb_is_relative_to_the_last_round() {
    let mut world = begun(4);
    world.finish("R1M1", Some(1));
    world.finish("R1M2", Some(4));
    world.finish("R2M1", Some(3));
    let shown = board(&world);
    let row = |id: &str| {
        let mut rows = shown.standings.iter();
        rows.find(|row| row.standing.player_id.as_str() == id)
            .unwrap()
    };
    // The third was last after the first round, and is so no more.
    assert!(row("P03").climbed > 0, "{:?}", row("P03"));
    assert_eq!(row("P02").climbed, -1, "{:?}", row("P02"));
    let form: Vec<SeatOutcome> = row("P03").form.clone();
    assert_eq!(
        form,
        [SeatOutcome::Lost, SeatOutcome::Won],
        "the oldest first"
    );
}

#[test]
fn agent_that_cannot_be_reached_is_silent_at_once_while_the_league_runs() {
    let mut world = whole(4);
    let away = LeagueObservations {
        away: [("player:P02".to_owned(), "connection refused".to_owned())].into(),
        ..LeagueObservations::default()
    };
    let silent = |world: &LeagueWorld| -> Vec<String> {
        let shown = after(world).board(&away, at(1_000));
        let agents = shown.agents.into_iter();
        let silent = agents.filter(|agent| agent.state == AgentState::Suspended);
        silent.map(|agent| agent.id).collect()
    };
    assert_eq!(silent(&world), [""; 0], "a league that is over");
    world.events.pop();
    assert_eq!(silent(&world), ["P02"]);
}

#[test]
fn agents_that_played_to_the_end_are_active() {
    let shown = board(&whole(4));
    assert!(
        shown
            .agents
            .iter()
            .all(|agent| agent.state == AgentState::Active)
    );
    let mut world = whole(4);
    let shut_down = Event::PlayerShutDown {
        player_id: PlayerId::numbered(4),
        absence: false,
        at: at(500),
    };
    world.events.insert(world.events.len() - 1, shut_down);
    let shown = board(&world);
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
fn observations_are_shown_with_their_agent() {
    let mut seen = LeagueObservations::default();
    let latency = LatencySummary {
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
    let view = after(&whole(4));
    let shown = view.board(&seen, at(100));
    let agent = shown.agents.iter().find(|agent| agent.id == "P02").unwrap();
    assert_eq!((agent.latency, agent.deviations), (Some(latency), 7));
    let page = view.player_page(&PlayerId::numbered(2), &seen).unwrap();
    let paths: Vec<&str> = page
        .deviations
        .iter()
        .map(|kind| kind.path.as_str())
        .collect();
    assert_eq!(paths, ["timestamp", "sender"], "the most frequent first");
}

#[test]
fn clocks_of_a_stalled_league_stand_still() {
    let mut world = begun(4);
    world.now = at(60);
    world.finish("R1M1", Some(1));
    let seen = LeagueObservations {
        stall: Some(Stall {
            since: at(70),
            resume: "league run --resume".to_owned(),
        }),
        ..LeagueObservations::default()
    };
    let shown = after(&world).board(&seen, at(5_000));
    assert_eq!(shown.league.stall, seen.stall);
    assert_eq!(shown.progress.elapsed, Some(Duration::from_secs(70)));
    assert_eq!(shown.progress.time_left, None);
    let over = after(&whole(4)).board(&seen, at(5_000));
    assert_eq!(over.league.stall, None, "one that is over is over");
}

#[test]
fn lobby_names_the_latest_arrival_first_and_who_is_away() {
    let view = after(&registering(4));
    let observed = LeagueObservations {
        away: [("player:P02".to_owned(), "connection refused".to_owned())].into(),
        ..LeagueObservations::default()
    };
    let shown = view.board(&observed, at(100));
    let lobby = shown.lobby.unwrap();
    assert_eq!(lobby.arrivals[0].name, "Player 4");
    let away: Vec<_> = lobby.away.iter().map(|(player, _)| &*player.name).collect();
    assert_eq!(away, ["Player 2"]);
    let states: Vec<_> = shown
        .standings
        .iter()
        .map(|row| row.away.is_some())
        .collect();
    assert_eq!(states, [false, true, false, false]);
    assert!(board(&begun(4)).lobby.is_none());
}

#[test]
fn lobby_says_whom_it_waits_for_and_when_registration_closes() {
    let mut world = registering(4);
    let lobby = |world: &LeagueWorld| board(world).lobby.unwrap();
    assert_eq!(lobby(&world).closes, None);
    let until = Some(at(5_000));
    world.pull(Lever::OpenRegistration { until }).unwrap();
    assert_eq!(lobby(&world).closes, until);
    let mut view = awaiting_view((30, 2));
    world.journal().for_each(|event| view.apply(event));
    let shown = view.board(&LeagueObservations::default(), at(100));
    assert_eq!(shown.lobby.unwrap().awaited, Some((30, 2)));
    let arrivals: Vec<_> = lobby(&world)
        .arrivals
        .into_iter()
        .map(|it| it.name)
        .collect();
    assert_eq!(arrivals, ["Player 4", "Player 3", "Player 2", "Player 1"]);
}

#[test]
fn position_is_live_only_in_the_attempt_that_is_played() {
    let mut world = begun(4);
    let id = MatchId::numbered(1, 1);
    let attempt = world.league.fixture(&id).unwrap().attempt();
    let live = |world: &LeagueWorld, attempt: u32| {
        let view = SpectatorView {
            match_id: id.clone(),
            attempt,
            awaited: [true, false],
            deadline: None,
            position: Picture::default(),
        };
        let seen = LeagueObservations {
            live: [(id.clone(), view)].into(),
            ..LeagueObservations::default()
        };
        let view = after(world);
        let board = view.board(&seen, at(100));
        let mut tiles = board.tiles.iter();
        let tile = tiles.find(|tile| tile.match_id == id);
        let page = view.match_page(&id, None, &seen).unwrap();
        (
            tile.and_then(|tile| tile.live.clone()).is_some(),
            page.live.is_some(),
        )
    };
    assert_eq!(live(&world, attempt), (true, true));
    for other in [attempt - 1, attempt + 1] {
        assert_eq!(live(&world, other), (false, false), "another attempt");
    }
    world.finish("R1M1", Some(1));
    assert_eq!(live(&world, attempt), (false, false), "it is over");
}

#[test]
fn technical_losses_are_counted_as_the_table_counts_them() {
    let mut view = empty_view("even_odd");
    for event in whole(4).journal() {
        let mut event = event.clone();
        if let Event::ResultRecorded { result, .. } = &mut event {
            let result = Arc::make_mut(result);
            result.status = MatchStatus::TechnicalLoss;
            result.winner = None;
            let failed = result.players.iter();
            result.failed = failed
                .map(|player| (player.clone(), Code::Timeout))
                .collect();
        }
        view.apply(&event);
    }
    let shown = view.board(&LeagueObservations::default(), at(100));
    let rows = shown.standings.iter();
    let in_table: u32 = rows.map(|row| row.standing.technical_losses).sum();
    assert_eq!(in_table, 12, "two in each of six matches");
    assert_eq!(shown.progress.technical_losses, 12);
}

#[test]
fn next_pairings_are_those_of_the_next_round() {
    let next = board(&begun(4)).next.unwrap();
    assert_eq!((next.round, next.pairings.len()), (2, 2));
    assert_eq!(next.opens, None, "it has no set time");
    assert!(board(&whole(4)).next.is_none(), "no round is left");
}

#[test]
fn next_round_has_a_time_where_rounds_have_an_interval() {
    let world = begun(4);
    let view = |change: &dyn Fn(&mut LeagueView)| {
        let mut view = timed_view(Duration::from_secs(60));
        world.journal().for_each(|event| view.apply(event));
        change(&mut view);
        view.board(&LeagueObservations::default(), at(100)).next
    };
    let opened = world.journal().find_map(|event| match event {
        Event::RoundOpened { at, .. } => Some(*at),
        _ => None,
    });
    let opens = view(&|_| {}).unwrap().opens;
    assert_eq!(opens, opened.map(|at| at + Duration::from_secs(60)));
    let seen = LeagueObservations {
        stall: Some(Stall {
            since: at(70),
            resume: "league manager".to_owned(),
        }),
        ..LeagueObservations::default()
    };
    let mut stalled = timed_view(Duration::from_secs(60));
    world.journal().for_each(|event| stalled.apply(event));
    let next = stalled.board(&seen, at(100)).next.unwrap();
    assert_eq!(next.opens, None, "no process opens it");
    let pause = Event::OrganiserActed {
        act: Box::new(Lever::Pause),
        reason: String::new(),
        effect: Effect::default(),
        at: at(1),
    };
    let paused = view(&|view| view.apply(&pause)).unwrap();
    assert_eq!(paused.opens, None, "a paused league waits");
}

#[test]
fn ratings_come_with_the_end_of_the_first_round() {
    assert!(board(&begun(4)).ratings.is_none(), "no round is over");
    let rated = board(&whole(4)).ratings.unwrap();
    assert_eq!((rated.round, rated.rows.len()), (3, 4));
    assert!(
        rated
            .rows
            .is_sorted_by(|above, below| above.elo >= below.elo)
    );
    assert!(rated.luck.is_some(), "six matches show nothing");
}

#[test]
fn a_row_says_what_decided_where_points_are_equal() {
    let shown = board(&whole(4));
    for pair in shown.standings.windows(2) {
        let [above, row] = pair else { unreachable!() };
        let is_level = above.standing.points == row.standing.points;
        let is_tied = row.standing.tie.is_some() && row.standing.tie == above.standing.tie;
        assert_eq!(row.decided_by.is_some(), is_level && !is_tied, "{row:?}");
    }
}
