//! Many leagues under every kind of fault, without faults, and of extreme size.

use league_simulation::{InjectedFault, Simulation, SimulationPlan, SimulationReport};

fn run(seed: u64, plan: &SimulationPlan) -> SimulationReport {
    Simulation::run(seed, plan).unwrap_or_else(|violation| panic!("{violation}"))
}

/// From so many matches on, every kind of fault must have occurred.
const ENOUGH_FOR_EVERY_FAULT: u64 = 100_000;

/// How many matches each of the four seeds plays: `LEAGUE_SIM_MATCHES`, or 100,000.
#[expect(
    clippy::disallowed_methods,
    reason = "the amount of work is set from outside; the seed decides everything else"
)]
fn matches_per_seed() -> u64 {
    match std::env::var("LEAGUE_SIM_MATCHES") {
        Ok(matches) => matches.parse().expect("LEAGUE_SIM_MATCHES is a number"),
        Err(_) => 100_000,
    }
}

fn keeps_every_promise(seed: u64) {
    let matches = matches_per_seed();
    let report = run(seed, &SimulationPlan::new(matches));
    assert!(report.matches >= matches);
    assert!(report.all_faults() > 0);
    if matches >= ENOUGH_FOR_EVERY_FAULT {
        for &fault in InjectedFault::ALL {
            assert!(report.count(fault) > 0, "no {} at all", fault.name());
        }
    }
    assert!(report.technical_losses > 0 && report.technical_losses < report.matches);
}

// One test a seed, so that they run side by side; a million is `cargo xtask campaign sim`.

#[test]
fn faults_break_no_promise_with_seed_1() {
    keeps_every_promise(1);
}

#[test]
fn faults_break_no_promise_with_seed_2() {
    keeps_every_promise(2);
}

#[test]
fn faults_break_no_promise_with_seed_3() {
    keeps_every_promise(3);
}

#[test]
fn faults_break_no_promise_with_seed_4() {
    keeps_every_promise(4);
}

#[test]
fn no_player_forfeits_without_faults() {
    let report = run(5, &SimulationPlan::without_faults(20_000));
    assert!(report.matches >= 20_000);
    assert_eq!((report.technical_losses, report.all_faults()), (0, 0));
}

#[test]
fn lies_cost_no_honest_agent_anything() {
    let matches = matches_per_seed().min(50_000);
    let report = run(8, &SimulationPlan::with_liars(matches));
    assert!(report.matches >= matches);
    assert!(report.count(InjectedFault::Lie) > matches / 100);
}

#[test]
fn large_leagues_end() {
    let plan = SimulationPlan {
        players: (200, 201),
        referees: (3, 20),
        game: Some("even_odd"),
        ..SimulationPlan::new(40_000)
    };
    assert!(run(6, &plan).matches >= 40_000);
}

#[test]
fn smallest_leagues_end_under_every_fault() {
    let plan = SimulationPlan {
        players: (2, 3),
        referees: (1, 2),
        ..SimulationPlan::new(3_000)
    };
    assert!(run(7, &plan).matches >= 3_000);
}
