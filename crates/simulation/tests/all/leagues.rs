//! Leagues by the hundred, with everything going wrong that can.

use league_simulation::{Fault, Plan, Report, Simulation};

/// Runs a plan, or fails with what did not hold and how to see it again.
fn run(seed: u64, plan: &Plan) -> Report {
    Simulation::run(seed, plan).unwrap_or_else(|violation| panic!("{violation}"))
}

/// A quarter of a million matches each, so that two cores share the work.
fn a_share_of_a_million(seed: u64) {
    let report = run(seed, &Plan::new(250_000));
    assert!(report.matches >= 250_000);
    for &fault in Fault::ALL {
        assert!(report.count(fault) > 0, "no {} at all", fault.name());
    }
    assert!(report.technical_losses > 0 && report.technical_losses < report.matches);
}

#[test]
fn a_million_matches_with_faults_break_no_promise_first_quarter() {
    a_share_of_a_million(1);
}

#[test]
fn a_million_matches_with_faults_break_no_promise_second_quarter() {
    a_share_of_a_million(2);
}

#[test]
fn a_million_matches_with_faults_break_no_promise_third_quarter() {
    a_share_of_a_million(3);
}

#[test]
fn a_million_matches_with_faults_break_no_promise_last_quarter() {
    a_share_of_a_million(4);
}

#[test]
fn without_faults_nobody_loses_without_playing() {
    let report = run(5, &Plan::without_faults(20_000));
    assert!(report.matches >= 20_000);
    assert_eq!((report.technical_losses, report.all_faults()), (0, 0));
}

#[test]
fn large_leagues_end_too() {
    let plan = Plan {
        players: (200, 201),
        referees: (3, 20),
        game: Some("even_odd"),
        ..Plan::new(40_000)
    };
    assert!(run(6, &plan).matches >= 40_000);
}

#[test]
fn the_smallest_leagues_end_whatever_goes_wrong() {
    let plan = Plan {
        players: (2, 3),
        referees: (1, 2),
        ..Plan::new(3_000)
    };
    assert!(run(7, &plan).matches >= 3_000);
}
