//! The oracle finds every planted bug, and finds nothing without one.

use league_simulation::{Invariant, Sabotage, Simulation, SimulationPlan, Violation};

/// The oracle must find a planted bug within so many matches.
const MAX_MATCHES: u64 = 20_000;
const SEED: u64 = 1;

/// Bugs that only a lie brings to light.
const AMONG_LIARS: [Sabotage; 6] = [
    Sabotage::AnyRefereeAdmitted,
    Sabotage::RuleNotJudged,
    Sabotage::ProofsIgnored,
    Sabotage::LossNotAsked,
    Sabotage::HandOverReplaced,
    Sabotage::DenialNotNoted,
];

fn found(sabotage: Sabotage) -> Box<Violation> {
    let plan = if AMONG_LIARS.contains(&sabotage) {
        // In the game with the one draw that decides, which most lies are about.
        SimulationPlan {
            game: Some("even_odd"),
            ..SimulationPlan::with_liars(3 * MAX_MATCHES)
        }
    } else {
        SimulationPlan::new(MAX_MATCHES)
    };
    let plan = SimulationPlan {
        sabotage: Some(sabotage),
        ..plan
    };
    match Simulation::run(SEED, &plan) {
        Ok(_) => panic!("{sabotage:?} was not found in {MAX_MATCHES} matches"),
        Err(violation) => violation,
    }
}

/// The invariant that each planted bug violates first.
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
    (Sabotage::SeedInOrder, Invariant::NothingHiddenIsSeen),
    (Sabotage::SeedGivenEarly, Invariant::NothingHiddenIsSeen),
    (Sabotage::TokenInJournal, Invariant::IdsAndTokens),
    (Sabotage::OwnTokenShown, Invariant::IdsAndTokens),
    (Sabotage::OwnSeedUsed, Invariant::TheDrawKeepsItsPromise),
    (
        Sabotage::AttemptNotAnnounced,
        Invariant::OnlyTheAssignedRefereeCounts,
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
    (Sabotage::AnyRefereeAdmitted, Invariant::LiesChangeNothing),
    (Sabotage::RuleNotJudged, Invariant::TheDrawKeepsItsPromise),
    (
        Sabotage::OrderTokenIgnored,
        Invariant::OnlyTheAssignedRefereeCounts,
    ),
    (Sabotage::ProofsIgnored, Invariant::TheDrawKeepsItsPromise),
    (Sabotage::LossNotAsked, Invariant::LiesChangeNothing),
    (
        Sabotage::AttemptAfterHandOver,
        Invariant::TheDrawKeepsItsPromise,
    ),
    (
        Sabotage::HandOverReplaced,
        Invariant::TheDrawKeepsItsPromise,
    ),
    (Sabotage::DenialNotNoted, Invariant::LiesChangeNothing),
    (Sabotage::NewsTooEarly, Invariant::MessagesComeInOrder),
    (Sabotage::PlayerNotAsked, Invariant::PresentPlayersAreAsked),
];

#[test]
fn every_planted_bug_violates_its_invariant() {
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
fn same_seed_without_planted_bug_violates_nothing() {
    let report = Simulation::run(SEED, &SimulationPlan::new(MAX_MATCHES));
    assert!(report.is_ok(), "{}", report.unwrap_err());
}

#[test]
fn violation_names_the_command_that_repeats_it() {
    let violation = found(Sabotage::PointsSwapped);
    let (seed, league) = (violation.seed, violation.league);
    let command = format!("cargo xtask campaign sim --seed {seed} --league {league}");
    assert!(violation.to_string().ends_with(&command), "{violation}");
    let again = SimulationPlan {
        sabotage: Some(Sabotage::PointsSwapped),
        league: Some(league),
        ..SimulationPlan::new(1)
    };
    assert_eq!(Simulation::run(seed, &again).unwrap_err(), violation);
}
