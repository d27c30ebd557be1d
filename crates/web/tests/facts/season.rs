//! Leagues of the test kit, and what the pages show of them.

use std::sync::Arc;
use std::time::Duration;

use league_core::league::{Event, LeagueRules};
use league_protocol::id::{GameType, LeagueId};
use league_protocol::time::Timestamp;
use league_testkit::LeagueWorld;
use league_testkit::report::ended;
use league_web::league_view::{LeagueObservations, LeagueView};
use league_web::model::Board;
use serde_json::Value;

/// More matches than any league here plays at once.
const CAPACITY: u32 = 64;

/// A moment after the league began.
pub(crate) fn at(seconds: i64) -> Timestamp {
    Timestamp::from_millis(1_000_000 + seconds * 1_000)
}

fn rules(game: &str) -> LeagueRules {
    let league = LeagueId::new("spring").unwrap();
    LeagueRules::new(league, GameType::new(game).unwrap())
}

pub(crate) fn empty_view(game: &str) -> LeagueView {
    LeagueView::new(rules(game), "Spring League".to_owned(), false).unwrap()
}

/// A league whose rounds begin so long one after the other.
pub(crate) fn timed_view(interval: Duration) -> LeagueView {
    let rules = LeagueRules {
        round_every: interval,
        ..rules("even_odd")
    };
    LeagueView::new(rules, "Spring League".to_owned(), false).unwrap()
}

/// A league that waits for so many players and referees.
pub(crate) fn awaiting_view(awaited: (u32, u32)) -> LeagueView {
    let rules = LeagueRules {
        start_when: Some(awaited),
        ..rules("even_odd")
    };
    LeagueView::new(rules, "Spring League".to_owned(), false).unwrap()
}

/// A league of so many players and a referee before its start.
pub(crate) fn registering(players: u32) -> LeagueWorld {
    let mut world = LeagueWorld::new(rules("even_odd"));
    world.admit_referee("Whistle", CAPACITY);
    for number in 1..=players {
        world.admit_player(&format!("Player {number}"));
    }
    world
}

/// The same in its first round.
pub(crate) fn begun(players: u32) -> LeagueWorld {
    LeagueWorld::begun_by(rules("even_odd"), players, 1, CAPACITY)
}

/// The same to its end: the player with the lower number wins, and every third match is drawn.
pub(crate) fn whole(players: u32) -> LeagueWorld {
    let mut world = begun(players);
    world.play_by(|order| {
        let (_, index) = order.match_id.as_str().split_once('M').unwrap();
        let drawn = (order.round_id + index.parse::<u32>().unwrap() - 1).is_multiple_of(3);
        let lower = order.players.iter().map(|player| &player.player_id).min();
        ended(order, lower.filter(|_| !drawn))
    });
    world
}

/// Gives a result the moves of a game of turns.
pub(crate) fn with_moves(event: &Event, moves: [Value; 2]) -> Event {
    let mut event = event.clone();
    if let Event::ResultRecorded { result, .. } = &mut event {
        let result = Arc::make_mut(result);
        result.choices = result.players.iter().cloned().zip(moves).collect();
    }
    event
}

pub(crate) fn after(world: &LeagueWorld) -> LeagueView {
    let mut view = empty_view("even_odd");
    world.journal().for_each(|event| view.apply(event));
    view
}

pub(crate) fn board(world: &LeagueWorld) -> Board {
    after(world).board(&LeagueObservations::default(), at(100))
}
