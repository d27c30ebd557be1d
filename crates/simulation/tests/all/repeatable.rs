//! A seed is all that is needed to see a run again.

use league_simulation::{Plan, Simulation};

fn plan() -> Plan {
    Plan {
        digest: true,
        ..Plan::new(2_000)
    }
}

#[test]
fn the_same_seed_gives_the_same_events_to_the_letter() {
    let first = Simulation::run(11, &plan()).unwrap();
    let second = Simulation::run(11, &plan()).unwrap();
    assert_ne!(first.digest, 0);
    assert_eq!(first, second);
}

#[test]
fn another_seed_gives_other_events() {
    let first = Simulation::run(11, &plan()).unwrap();
    let other = Simulation::run(12, &plan()).unwrap();
    assert_ne!(first.digest, other.digest);
}

#[test]
fn one_league_of_a_run_is_the_same_by_itself() {
    let two = Plan {
        players: (6, 6),
        matches: 16,
        ..plan()
    };
    let alone = |league| Plan {
        league: Some(league),
        ..two.clone()
    };
    let both = Simulation::run(13, &two).unwrap();
    let parts = [0, 1].map(|league| Simulation::run(13, &alone(league)).unwrap());
    assert_eq!(both.leagues, 2);
    assert_eq!(both.messages, parts[0].messages + parts[1].messages);
    assert_eq!(both.facts, parts[0].facts + parts[1].facts);
}
