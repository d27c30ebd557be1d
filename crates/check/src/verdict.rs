//! What came of each rule, and of all of them together.

use std::borrow::Cow;
use std::time::Duration;

use league_protocol::finding::harmless;

use super::essential::{Ceiling, ceiling};
use super::reply::Reply;
use super::rule::{Evidence, Level, Rule, Trouble};
use super::wire::Exchange;

/// How many characters of what was said are shown.
const LONGEST_QUOTE: usize = 480;

/// What came of a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// The agent keeps it.
    Pass,
    /// The agent does not quite keep it, and a lenient league forgives that.
    Deviation,
    /// The agent breaks it.
    Fail,
    /// It could not be played, or does not concern this agent.
    Skipped,
}

impl Verdict {
    /// The word of the report.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Deviation => "deviation",
            Self::Fail => "fail",
            Self::Skipped => "skipped",
        }
    }
}

/// One line of the report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// What the rule is about.
    pub topic: &'static str,
    /// The whole name of the rule: `P-JOIN-03`.
    pub id: String,
    /// What the rule asks.
    pub title: Cow<'static, str>,
    /// Where the documents ask for it.
    pub clause: &'static str,
    /// How binding it is.
    pub level: Level,
    /// What came of it.
    pub verdict: Verdict,
    /// What was found, or why it was skipped; empty for a pass.
    pub found: String,
    /// How to mend it, or what to do so that it is played; empty for a pass.
    pub fix: String,
    /// What was sent, cut and made harmless.
    pub sent: String,
    /// What came back, cut and made harmless.
    pub came: String,
    /// How long the rule took.
    pub took: Duration,
}

/// What is judged.
#[derive(Debug, Clone)]
pub struct Judged {
    /// The rule as it stands in the report, not judged yet.
    pub finding: Finding,
    /// How to mend an agent that breaks it.
    pub fix: &'static str,
    /// Whether it asks for forgiveness, which nobody owes who is strict.
    pub kindness: bool,
    /// How it ended.
    pub played: Result<(), Trouble>,
    /// What was said last.
    pub last: Option<Exchange>,
    /// Whether the agent's process ended over it.
    pub crashed: bool,
    /// Whether nothing is forgiven.
    pub strict: bool,
}

impl Finding {
    /// A rule that is kept, until it is judged otherwise.
    pub fn of<S>(rule: &Rule<S>, topic: &'static str, letter: char, took: Duration) -> Self {
        Self {
            topic,
            id: format!("{letter}-{}", rule.id),
            title: rule.title.into(),
            clause: rule.clause,
            level: rule.level,
            verdict: Verdict::Pass,
            found: String::new(),
            fix: String::new(),
            sent: String::new(),
            came: String::new(),
            took,
        }
    }
}

impl Judged {
    /// Whether the agent took part and said no, by an error of JSON-RPC or of the league.
    fn is_refusal(&self) -> bool {
        let broken = matches!(self.played, Err(Trouble::Broken(_))) && !self.crashed;
        let reply = self.last.clone().filter(|_| broken).map(Reply::read);
        reply.is_some_and(|reply| {
            reply
                .rpc_error()
                .or(reply.league_error().map(|_| 0))
                .is_some()
        })
    }

    /// The verdict.
    pub fn verdict(self) -> Finding {
        let not_owed = self.strict && self.kindness && self.is_refusal();
        let mut finding = self.finding;
        let forgivable = finding.level == Level::Should;
        if not_owed {
            finding.verdict = Verdict::Skipped;
            finding.found = "refused, and whoever is strict need not understand it".into();
            return finding;
        }
        let (evidence, forgiven) = match self.played {
            Ok(()) if !self.crashed => return finding,
            Ok(()) => (Evidence::default(), false),
            Err(Trouble::Skipped { reason, hint }) => {
                finding.verdict = Verdict::Skipped;
                finding.found = harmless(&reason, LONGEST_QUOTE);
                hint.clone_into(&mut finding.fix);
                return finding;
            }
            Err(Trouble::Broken(evidence)) => (evidence, forgivable),
            Err(Trouble::Forgiven(evidence)) => (evidence, true),
        };
        finding.verdict = if forgiven && !self.strict && !self.crashed {
            Verdict::Deviation
        } else {
            Verdict::Fail
        };
        finding.tell(evidence, self.last, self.crashed);
        self.fix.clone_into(&mut finding.fix);
        finding
    }
}

impl Finding {
    fn tell(&mut self, evidence: Evidence, last: Option<Exchange>, crashed: bool) {
        self.found = harmless(&evidence.found, LONGEST_QUOTE);
        if crashed {
            let joint = if self.found.is_empty() { "" } else { "; " };
            self.found = format!("{}{joint}the agent's process ended", self.found);
        }
        let Some(exchange) = evidence.exchange.map(|exchange| *exchange).or(last) else {
            return;
        };
        self.sent = harmless(&exchange.sent, LONGEST_QUOTE);
        self.came = match &exchange.came {
            Ok(answer) => {
                let body = harmless(&answer.text(), LONGEST_QUOTE);
                match exchange.overheard {
                    Some(whom) => format!("the agent itself called {whom} with {body}"),
                    None => format!("HTTP {} {body}", answer.status),
                }
            }
            Err(silence) => harmless(&silence.to_string(), LONGEST_QUOTE),
        };
    }
}

/// How many rules came to what.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Kept.
    pub passed: u32,
    /// Not quite kept.
    pub deviations: u32,
    /// Broken.
    pub failed: u32,
    /// Not played.
    pub skipped: u32,
}

/// The mark for all rules together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Grade {
    /// From 0 to 100.
    pub score: u32,
    /// From A to F.
    pub letter: char,
    /// What keeps it down, whatever the other rules say.
    pub ceiling: Option<Ceiling>,
}

/// How the grade comes about, for the report.
pub const FORMULA: &str = "a MUST weighs 2, a SHOULD 1; a deviation keeps half of its weight; \
    A from 95 without a failure, B from 85, C from 70, D from 50; without an essential step D at \
    best, or F";

/// Counts verdicts.
pub fn count(findings: &[Finding]) -> Counts {
    let mut counts = Counts::default();
    for finding in findings {
        match finding.verdict {
            Verdict::Pass => counts.passed += 1,
            Verdict::Deviation => counts.deviations += 1,
            Verdict::Fail => counts.failed += 1,
            Verdict::Skipped => counts.skipped += 1,
        }
    }
    counts
}

/// Grades verdicts by [`FORMULA`]; what was skipped counts neither way.
pub fn grade(findings: &[Finding]) -> Grade {
    let (mut whole, mut kept) = (0, 0);
    for finding in findings {
        let weight = 2 * finding.level.weight();
        match finding.verdict {
            Verdict::Pass => (whole, kept) = (whole + weight, kept + weight),
            Verdict::Deviation => (whole, kept) = (whole + weight, kept + weight / 2),
            Verdict::Fail => whole += weight,
            Verdict::Skipped => {}
        }
    }
    let score = (100 * kept).checked_div(whole).unwrap_or(0);
    let clean = findings
        .iter()
        .all(|finding| finding.verdict != Verdict::Fail);
    let letter = match score {
        95.. if clean => 'A',
        85.. => 'B',
        70.. => 'C',
        50.. => 'D',
        _ => 'F',
    };
    let ceiling = ceiling(findings);
    let letter = ceiling.map_or(letter, |ceiling| letter.max(ceiling.letter));
    Grade {
        score,
        letter,
        ceiling,
    }
}
