//! Leagues with a single chosen fault.

use league_core::referee::Event;

use super::*;
use crate::chance::Rng;

/// Players follow the only referee.
const THE_REFEREE: NodeId = 1;

/// A league of four that has just opened a round; no agent has received the announcement.
fn at_the_opening_of(round: u32, seed: u64) -> World {
    let plan = SimulationPlan {
        players: (4, 4),
        referees: (1, 1),
        game: Some("even_odd"),
        ..SimulationPlan::without_faults(6)
    };
    let mut world = World::new(Scenario::draw(Rng::new(seed), &plan), &plan);
    world.open_doors();
    let is_open = |world: &World| {
        let present = world.manager.machine.round();
        present.is_some_and(|present| present.number() == round)
    };
    while !is_open(&world) {
        let errand = world
            .environment
            .clock
            .advance()
            .expect("the league goes on");
        world.meet(errand).expect("nothing is wrong so far");
    }
    world
}

fn stays_away(world: &mut World, who: NodeId, seconds: u64) {
    with_actor!(world, who, |actor, environment| actor.go_down(environment))
        .expect("nothing is wrong so far");
    let back = world.environment.now() + Duration::from_secs(seconds);
    world.environment.clock.note(back, Errand::Rise { who });
}

#[test]
fn player_that_missed_the_announcement_returns_and_plays() {
    for player in [2, 3, 4, 5] {
        let mut world = at_the_opening_of(2, player.into());
        // By then the manager has given up two announcements, and no player is invited yet.
        stays_away(&mut world, player, 110);
        stays_away(&mut world, THE_REFEREE, 150);
        world.go_on().expect("no promise is broken");
        world.end().expect("no promise is broken");
        let report = world.figures();
        assert_eq!((report.matches, report.technical_losses), (6, 0));
    }
}

#[test]
fn questions_are_asked_once_without_faults() {
    let plan = SimulationPlan {
        players: (8, 8),
        referees: (2, 2),
        ..SimulationPlan::without_faults(28)
    };
    let mut world = World::new(Scenario::draw(Rng::new(1), &plan), &plan);
    world.open_doors();
    world.go_on().expect("nothing is wrong");
    let facts = world.referees.iter().flat_map(|actor| &actor.journal);
    let failed = |fact: &&Event| matches!(fact, Event::AttemptFailed { .. });
    assert_eq!(facts.filter(failed).count(), 0);
}
