//! A seed determines a run.

use league_simulation::{Simulation, SimulationPlan};

fn plan() -> SimulationPlan {
    SimulationPlan {
        digest: true,
        ..SimulationPlan::new(2_000)
    }
}

#[test]
fn same_seed_gives_identical_events() {
    let first = Simulation::run(11, &plan()).unwrap();
    let second = Simulation::run(11, &plan()).unwrap();
    assert_ne!(first.digest, 0);
    assert_eq!(first, second);
}

#[test]
fn different_seed_gives_different_events() {
    let first = Simulation::run(11, &plan()).unwrap();
    let other = Simulation::run(12, &plan()).unwrap();
    assert_ne!(first.digest, other.digest);
}

#[test]
fn single_league_runs_as_within_its_run() {
    let two = SimulationPlan {
        players: (6, 6),
        matches: 16,
        ..plan()
    };
    let alone = |league| SimulationPlan {
        league: Some(league),
        ..two.clone()
    };
    let both = Simulation::run(13, &two).unwrap();
    let parts = [0, 1].map(|league| Simulation::run(13, &alone(league)).unwrap());
    assert_eq!(both.leagues, 2);
    assert_eq!(both.messages, parts[0].messages + parts[1].messages);
    assert_eq!(both.facts, parts[0].facts + parts[1].facts);
}

#[test]
fn run_goes_on_until_it_has_the_leagues_that_were_asked_for() {
    let asked = SimulationPlan {
        players: (2, 2),
        matches: 1,
        leagues: 3,
        ..plan()
    };
    assert_eq!(Simulation::run(13, &asked).unwrap().leagues, 3);
}
