//! Plays all rules one after another and grades them: a verdict for each, one grade for all.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use league_protocol::finding::harmless;

use tokio::time::Instant;

use crate::caller::Caller;
use crate::reply::Reply;
use crate::rule::{Judgement, Level, Topic, Trouble};
use crate::stage::Stage;
use crate::wire::RoundTrip;

/// How many characters of an exchange are shown.
const MAX_QUOTE: usize = 480;

/// The outcome of a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// The agent keeps it.
    Pass,
    /// The agent breaks it in a way that a lenient league forgives.
    Deviation,
    /// The agent breaks it.
    Fail,
    /// It could not be played, or does not apply to this agent.
    Skipped,
}

impl Verdict {
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
    pub topic: &'static str,
    /// The full id of the rule: `P-JOIN-03`.
    pub id: String,
    pub title: Cow<'static, str>,
    pub clause: &'static str,
    pub level: Level,
    pub verdict: Verdict,
    /// What was found, or why it was skipped; empty for a pass.
    pub found: String,
    /// How to fix it, or what to do so that it can be played; empty for a pass.
    pub fix: String,
    /// What was sent, cut and safe to print.
    pub sent: String,
    /// What came back, cut and safe to print.
    pub came: String,
    pub took: Duration,
}

impl Finding {
    /// A passed rule, before it is judged.
    pub(crate) fn passed(
        topic: &'static str,
        id: String,
        title: impl Into<Cow<'static, str>>,
    ) -> Self {
        Self {
            topic,
            id,
            title: title.into(),
            clause: "",
            level: Level::Must,
            verdict: Verdict::Pass,
            found: String::new(),
            fix: String::new(),
            sent: String::new(),
            came: String::new(),
            took: Duration::ZERO,
        }
    }

    /// Judges the outcome of a rule.
    #[must_use]
    pub fn judged(mut self, ending: RuleEnd, judgement: Judgement) -> Self {
        let (found, forgiven) = match judgement {
            Ok(()) if ending.crashed.is_none() => return self,
            Ok(()) => (String::new(), false),
            Err(Trouble::Skipped { reason, hint }) => {
                self.verdict = Verdict::Skipped;
                self.found = harmless(&reason, MAX_QUOTE);
                hint.clone_into(&mut self.fix);
                return self;
            }
            Err(Trouble::Broken(_)) if ending.is_not_owed() => {
                self.verdict = Verdict::Skipped;
                self.found = "refused, which a strict agent may do".into();
                return self;
            }
            Err(Trouble::Broken(found)) => (found, self.level == Level::Should),
            Err(Trouble::Forgiven(found)) => (found, true),
        };
        self.verdict = if forgiven && !ending.strict && ending.crashed.is_none() {
            Verdict::Deviation
        } else {
            Verdict::Fail
        };
        ending.fix.clone_into(&mut self.fix);
        self.tell(&found, ending);
        self
    }

    fn tell(&mut self, found: &str, ending: RuleEnd) {
        self.found = harmless(found, MAX_QUOTE);
        if let Some(crash) = ending.crashed {
            let crash = harmless(&crash, MAX_QUOTE);
            if !self.found.contains(&crash) {
                let joint = if self.found.is_empty() { "" } else { "; " };
                self.found = format!("{}{joint}{crash}", self.found);
            }
        }
        let Some(trip) = ending.last else {
            return;
        };
        self.sent = harmless(&trip.sent, MAX_QUOTE);
        self.came = match &trip.came {
            Ok(answer) => {
                let body = harmless(&answer.text(), MAX_QUOTE);
                match trip.overheard {
                    Some(whom) => format!("the agent itself called {whom} with {body}"),
                    None => format!("HTTP {} {body}", answer.status),
                }
            }
            Err(silence) => harmless(&silence.to_string(), MAX_QUOTE),
        };
    }
}

/// The circumstances of a rule's end, besides its judgement.
#[derive(Debug, Clone)]
pub struct RuleEnd {
    pub fix: &'static str,
    pub kindness: bool,
    /// The last exchange.
    pub last: Option<RoundTrip>,
    /// How the agent's process ended during the rule, if it did.
    pub crashed: Option<String>,
    /// Whether nothing is forgiven.
    pub strict: bool,
}

impl RuleEnd {
    /// The end of a rule that an agent of any manner owes; an agent that has ended is restarted.
    pub(crate) async fn of(caller: &Caller, fix: &'static str, strict: bool) -> Self {
        Self {
            fix,
            kindness: false,
            last: caller.last(),
            crashed: caller.stage.revive().await,
            strict,
        }
    }

    /// Whether a strict agent refused, by an error of JSON-RPC or of the league, a message that it
    /// need not understand.
    fn is_not_owed(&self) -> bool {
        let owed = !self.strict || !self.kindness || self.crashed.is_some();
        let reply = self.last.clone().filter(|_| !owed).map(Reply::read);
        reply.is_some_and(|reply| reply.rpc_error().is_some() || reply.league_error().is_some())
    }
}

/// The progress of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress<'p> {
    pub done: usize,
    pub all: usize,
    /// The next rule, without the letter of the kind.
    pub next: &'p str,
}

/// Plays the rules of all topics in order, and reports progress before each. A failed rule does not
/// stop the others, and each has a time limit.
pub async fn play(
    stage: &Arc<Stage>,
    topics: &[Topic],
    strict: bool,
    tell: &(dyn Fn(Progress<'_>) + Sync),
) -> Vec<Finding> {
    let all = topics.iter().map(|topic| topic.rules.len()).sum();
    let mut findings = Vec::new();
    for topic in topics {
        for rule in &topic.rules {
            let (done, next) = (findings.len(), rule.id);
            tell(Progress { done, all, next });
            let caller = Caller::new(Arc::clone(stage));
            let began = Instant::now();
            let played = tokio::time::timeout(rule.bound, rule.play(&caller)).await;
            let id = format!("{}-{}", stage.kind.letter(), rule.id);
            let finding = Finding {
                clause: rule.clause,
                level: rule.level,
                took: began.elapsed(),
                ..Finding::passed(topic.name, id, rule.title)
            };
            let bound = rule.bound.as_secs();
            let late = Trouble::broken(format!("stopped after {bound} s"));
            let ending = RuleEnd {
                kindness: rule.kindness,
                ..RuleEnd::of(&caller, rule.fix, strict).await
            };
            findings.push(finding.judged(ending, played.unwrap_or(Err(late))));
        }
    }
    findings
}

/// How many rules have each verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    pub passed: u32,
    pub deviations: u32,
    pub failed: u32,
    pub skipped: u32,
}

/// The grade for all rules together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Grade {
    /// From 0 to 100.
    pub score: u32,
    pub letter: char,
    /// What limits the grade, whatever the other rules say.
    pub ceiling: Option<Ceiling>,
}

/// How the grade is computed, for the report.
pub const FORMULA: &str = "a MUST weighs 2, a SHOULD 1; a deviation keeps half of its weight; \
    A from 95 without a failure, B from 85, C from 70, D from 50; without an essential step D at \
    best, or F";

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

/// Grades verdicts by [`FORMULA`]; skipped rules do not count.
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

/// The steps that a match or the whole league depends on: the best grade of an agent that breaks
/// such a rule, and what the agent lacks.
fn essential_step(id: &str) -> Option<(char, &'static str)> {
    Some(match id {
        "P-REG-01" | "P-OLD-01" | "R-REG-01" => ('D', "it did not register with the manager"),
        "P-JOIN-01" | "P-OLD-03" => ('F', "it did not answer an invitation"),
        "P-JOIN-02" | "P-OLD-04" => ('D', "it did not accept an invitation"),
        "P-JOIN-03" => ('D', "it joined another match than it was invited to"),
        "P-PICK-01" => ('F', "it did not answer when it was asked for a choice"),
        "P-PICK-02" | "P-OLD-11" => ('D', "it did not make a legal choice"),
        "P-PICK-03" => ('D', "it chose for another match than it was asked about"),
        "P-OLD-10" => ('F', "it did not answer when it was asked to play"),
        "R-ORD-01" => ('D', "it did not take an order to run a match"),
        "R-INV-01" => ('F', "it did not invite both players of a match"),
        "R-CHO-01" => ('F', "it did not ask both players for their choice"),
        "R-OVER-01" => ('D', "it did not tell both players how a match ended"),
        "R-REP-01" => ('F', "it did not report a result to the manager"),
        "M-REG-01" => ('F', "it did not let players in"),
        "M-REG-02" => ('F', "it did not let referees in"),
        "M-RND-01" => ('F', "it did not begin its league"),
        "M-TAB-01" => ('D', "it did not tell the players the table"),
        "M-END-01" => ('D', "it did not bring its league to an end"),
        _ => return None,
    })
}

/// The best grade of an agent whose essential step was not seen, for any reason.
const UNSEEN: char = 'D';

/// Steps that only an agent takes that starts during the check.
const REGISTERED: [&str; 3] = ["P-REG-01", "P-OLD-01", "R-REG-01"];

/// The best possible grade, and why.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ceiling {
    pub letter: char,
    pub because: &'static str,
}

/// The best grade that these verdicts allow; `None` if every essential step was taken.
///
/// Of several missing steps the worst counts, and of equal ones the first: a player that does not
/// answer invitations does not choose either.
pub fn ceiling(findings: &[Finding]) -> Option<Ceiling> {
    let missing = findings.iter().filter_map(|finding| {
        let (broken, because) = essential_step(&finding.id)?;
        let letter = match finding.verdict {
            Verdict::Fail => broken,
            // An agent that was started before the check has registered elsewhere.
            Verdict::Skipped if REGISTERED.contains(&&*finding.id) => return None,
            Verdict::Skipped => UNSEEN,
            Verdict::Pass | Verdict::Deviation => return None,
        };
        Some(Ceiling { letter, because })
    });
    missing.reduce(|worst, next| match next.letter > worst.letter {
        true => next,
        false => worst,
    })
}
