//! Many leagues under every kind of fault, without faults, and of extreme size.

use std::collections::BTreeSet;

use league_core::league::format::Format;
use league_protocol::tools::LEVERS;
use league_simulation::{InjectedFault, Simulation, SimulationPlan, SimulationReport};

fn run(seed: u64, plan: &SimulationPlan) -> SimulationReport {
    Simulation::run(seed, plan).unwrap_or_else(|violation| panic!("{violation}"))
}

/// How many matches each seed plays: enough for every kind of fault, and a few seconds of work. Long
/// runs are `cargo xtask campaign sim`.
const MATCHES: u64 = 12_500;

fn keeps_every_promise(seed: u64) {
    let report = run(seed, &SimulationPlan::new(MATCHES));
    assert!(report.matches >= MATCHES);
    for &fault in InjectedFault::ALL {
        assert!(report.count(fault) > 0, "no {} at all", fault.name());
    }
    assert!(report.technical_losses > 0 && report.technical_losses < report.matches);
}

#[test]
fn faults_break_no_promise_with_seed_1() {
    keeps_every_promise(1);
}

#[test]
fn faults_break_no_promise_with_seed_2() {
    keeps_every_promise(2);
}

#[test]
fn no_player_forfeits_without_faults() {
    let report = run(5, &SimulationPlan::without_faults(5_000));
    assert!(report.matches >= 5_000);
    assert_eq!((report.technical_losses, report.all_faults()), (0, 0));
}

#[test]
fn lies_cost_no_honest_agent_anything() {
    let report = run(8, &SimulationPlan::with_liars(MATCHES));
    assert!(report.matches >= MATCHES);
    assert!(report.count(InjectedFault::Lie) > MATCHES / 100);
}

/// How many matches are played with an organiser that pulls levers; `cargo xtask campaign levers`
/// plays more.
const LEVER_MATCHES: u64 = 2_000;

#[test]
fn levers_break_no_promise_under_every_fault() {
    let report = run(9, &SimulationPlan::with_levers(LEVER_MATCHES));
    assert!(report.count(InjectedFault::ManagerCrash) > LEVER_MATCHES / 100);
    for entry in LEVERS {
        let pulled = report.levers.get(entry.name).copied();
        assert!(pulled > Some(0), "`{}` was never pulled", entry.name);
    }
}

#[test]
fn levers_break_no_promise_without_faults() {
    let plan = SimulationPlan {
        faults: false,
        ..SimulationPlan::with_levers(LEVER_MATCHES)
    };
    let report = run(10, &plan);
    assert!(report.levers.values().sum::<u64>() > LEVER_MATCHES / 2);
    assert_eq!(report.all_faults(), 0);
}

/// How many matches are played in formats whose rounds follow from results; `cargo xtask campaign
/// sim --formats` plays more.
const FORMAT_MATCHES: u64 = 4_000;

#[test]
fn formats_break_no_promise_under_every_fault() {
    let report = run(19, &SimulationPlan::with_formats(FORMAT_MATCHES));
    assert!(report.count(InjectedFault::ManagerCrash) > 0);
    assert!(report.technical_losses > 0 && report.late > 0);
    let played = report.formats.keys().copied();
    let listed = Format::all().map(Format::name).skip(1);
    assert_eq!(played.collect::<BTreeSet<_>>(), listed.collect());
}

#[test]
fn formats_break_no_promise_without_faults() {
    let plan = SimulationPlan {
        faults: false,
        ..SimulationPlan::with_formats(FORMAT_MATCHES)
    };
    let report = run(20, &plan);
    assert_eq!((report.technical_losses, report.all_faults()), (0, 0));
    assert!(report.late > 0);
}

#[test]
fn formats_break_no_promise_while_the_organiser_acts() {
    let plan = SimulationPlan {
        formats: true,
        players: (4, 10),
        ..SimulationPlan::with_levers(FORMAT_MATCHES / 2)
    };
    assert!(run(21, &plan).levers.values().sum::<u64>() > 0);
}

#[test]
fn large_leagues_end() {
    let plan = SimulationPlan {
        players: (200, 201),
        referees: (3, 20),
        game: Some("even_odd"),
        ..SimulationPlan::new(19_000)
    };
    assert!(run(6, &plan).matches >= 19_000);
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
