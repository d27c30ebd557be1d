//! Planted bugs are found, and what is found without one is nothing.

use league_simulation::{Invariant, Plan, Sabotage, Simulation, Violation};

/// The most matches that a planted bug may stay unseen.
const MOST_MATCHES: u64 = 20_000;
const SEED: u64 = 21;

fn found(sabotage: Sabotage) -> Box<Violation> {
    let plan = Plan {
        sabotage: Some(sabotage),
        ..Plan::new(MOST_MATCHES)
    };
    match Simulation::run(SEED, &plan) {
        Ok(_) => panic!("{sabotage:?} was not found in {MOST_MATCHES} matches"),
        Err(violation) => violation,
    }
}

/// Which promise each planted bug breaks first.
const EXPECTED: &[(Sabotage, Invariant)] = &[
    (Sabotage::AckBeforeJournal, Invariant::AckedResultsStay),
    (
        Sabotage::ReportsNotDeduplicated,
        Invariant::OneResultPerMatch,
    ),
    (Sabotage::PointsSwapped, Invariant::TableFollowsFromResults),
    (
        Sabotage::WinnerSwapped,
        Invariant::OnlyTheAssignedRefereeCounts,
    ),
    (Sabotage::RoundPlayedTwice, Invariant::RoundsCloseWhenFull),
    (Sabotage::RoundClosedEarly, Invariant::RoundsCloseWhenFull),
    (Sabotage::LeagueEndsTwice, Invariant::RoundsCloseWhenFull),
    (Sabotage::ChoiceLeaked, Invariant::NothingHiddenIsSeen),
    (Sabotage::ChoiceInJournal, Invariant::NothingHiddenIsSeen),
    (Sabotage::SeedInJournal, Invariant::NothingHiddenIsSeen),
    (Sabotage::TokenInJournal, Invariant::IdsAndTokens),
    (Sabotage::OwnTokenShown, Invariant::IdsAndTokens),
    (
        Sabotage::RerollAfterCrash,
        Invariant::TheDrawKeepsItsPromise,
    ),
    (
        Sabotage::ForeignReportBelieved,
        Invariant::OnlyTheAssignedRefereeCounts,
    ),
    (
        Sabotage::OldAttemptBelieved,
        Invariant::OnlyTheAssignedRefereeCounts,
    ),
    (
        Sabotage::OrderGoesAstray,
        Invariant::OnlyTheAssignedRefereeCounts,
    ),
    (Sabotage::LossAfterOneAttempt, Invariant::AttemptsAreCounted),
    (Sabotage::OneAttemptTooMany, Invariant::AttemptsAreCounted),
    (
        Sabotage::SilenceBeforeDeadline,
        Invariant::AttemptsAreCounted,
    ),
    (Sabotage::LateAnswerCounted, Invariant::AttemptsAreCounted),
    (Sabotage::IdReused, Invariant::IdsAndTokens),
    (Sabotage::CapacityExceeded, Invariant::CapacityHolds),
    (
        Sabotage::AnyoneIsTheManager,
        Invariant::OnlyTheManagerCommands,
    ),
    (Sabotage::AnyTokenReturns, Invariant::IdsAndTokens),
    (Sabotage::ShareReplaced, Invariant::TheDrawKeepsItsPromise),
    (Sabotage::EndToldBeforeAck, Invariant::NothingHiddenIsSeen),
    (
        Sabotage::ResultDroppedAtReplay,
        Invariant::TheJournalSaysAll,
    ),
];

#[test]
fn every_planted_bug_is_found_by_the_promise_it_breaks() {
    let mut wrong = Vec::new();
    for &sabotage in Sabotage::ALL {
        let violation = found(sabotage);
        let expected = EXPECTED.iter().find(|(planted, _)| *planted == sabotage);
        if expected.map(|(_, invariant)| *invariant) != Some(violation.invariant) {
            wrong.push(format!("{sabotage:?}: {violation}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

#[test]
fn the_same_seed_without_a_planted_bug_breaks_nothing() {
    let report = Simulation::run(SEED, &Plan::new(MOST_MATCHES));
    assert!(report.is_ok(), "{}", report.unwrap_err());
}

#[test]
fn a_violation_says_how_to_see_it_again() {
    let violation = found(Sabotage::PointsSwapped);
    let (seed, league) = (violation.seed, violation.league);
    let command = format!("cargo xtask sim --seed {seed} --league {league}");
    assert!(violation.to_string().ends_with(&command), "{violation}");
    let again = Plan {
        sabotage: Some(Sabotage::PointsSwapped),
        league: Some(league),
        ..Plan::new(1)
    };
    assert_eq!(Simulation::run(seed, &again).unwrap_err(), violation);
}
