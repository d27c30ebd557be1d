//! The few rules without which an agent is of no use, and the best grade that is left without them.

use super::verdict::{Finding, Verdict};

/// A rule that a match, or the whole league, depends on.
struct Step {
    /// The whole name of the rule.
    id: &'static str,
    /// The best grade of an agent that breaks it.
    broken: char,
    /// What the agent does not do.
    lacking: &'static str,
}

/// The best grade of an agent whose essential step was not seen, for whatever reason.
const UNSEEN: char = 'D';

/// The steps that only an agent takes which begins while it is checked.
const REGISTERED: [&str; 3] = ["P-REG-01", "P-OLD-01", "R-REG-01"];

/// The steps of all kinds of agents, in the order in which they are taken.
const STEPS: [Step; 23] = [
    step("P-REG-01", 'D', "it did not register with the manager"),
    step("P-JOIN-01", 'F', "it did not answer an invitation"),
    step("P-JOIN-02", 'D', "it did not accept an invitation"),
    step(
        "P-JOIN-03",
        'D',
        "it joined another match than it was invited to",
    ),
    step(
        "P-PICK-01",
        'F',
        "it did not answer when it was asked for a choice",
    ),
    step("P-PICK-02", 'D', "it did not make a legal choice"),
    step(
        "P-PICK-03",
        'D',
        "it chose for another match than it was asked about",
    ),
    step("P-OLD-01", 'D', "it did not register with the manager"),
    step("P-OLD-03", 'F', "it did not answer an invitation"),
    step("P-OLD-04", 'D', "it did not accept an invitation"),
    step(
        "P-OLD-10",
        'F',
        "it did not answer when it was asked to play",
    ),
    step("P-OLD-11", 'D', "it did not make a legal choice"),
    step("R-REG-01", 'D', "it did not register with the manager"),
    step("R-ORD-01", 'D', "it did not take an order to run a match"),
    step("R-INV-01", 'F', "it did not invite both players of a match"),
    step(
        "R-CHO-01",
        'F',
        "it did not ask both players for their choice",
    ),
    step(
        "R-OVER-01",
        'D',
        "it did not tell both players how a match ended",
    ),
    step("R-REP-01", 'F', "it did not report a result to the manager"),
    step("M-REG-01", 'F', "it did not let players in"),
    step("M-REG-02", 'F', "it did not let referees in"),
    step("M-RND-01", 'F', "it did not begin its league"),
    step("M-TAB-01", 'D', "it did not tell the players the table"),
    step("M-END-01", 'D', "it did not bring its league to an end"),
];

const fn step(id: &'static str, broken: char, lacking: &'static str) -> Step {
    Step {
        id,
        broken,
        lacking,
    }
}

/// The best grade that is left, and why.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ceiling {
    /// The grade.
    pub letter: char,
    /// What the agent does not do.
    pub because: &'static str,
}

/// The best grade that is left after these verdicts; nothing if every essential step was taken.
///
/// Of several steps that are missing the worst is told, and of equal ones the first: whoever
/// answers no invitation makes no choice either.
pub fn ceiling(findings: &[Finding]) -> Option<Ceiling> {
    let missing = STEPS.iter().filter_map(|step| {
        let finding = findings.iter().find(|finding| finding.id == step.id)?;
        let letter = match finding.verdict {
            Verdict::Fail => step.broken,
            // One that was started before the check has registered elsewhere.
            Verdict::Skipped if REGISTERED.contains(&step.id) => return None,
            Verdict::Skipped => UNSEEN,
            Verdict::Pass | Verdict::Deviation => return None,
        };
        Some(Ceiling {
            letter,
            because: step.lacking,
        })
    });
    missing.reduce(|worst, next| match next.letter > worst.letter {
        true => next,
        false => worst,
    })
}
