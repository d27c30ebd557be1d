//! The report of a check: for people, for machines, for build servers.

mod junit;
mod text;

use std::io::{self, Write};

use serde_json::{Value, json};

use crate::AgentKind;
use crate::trial::CanPlay;
use crate::verdict::{Counts, FORMULA, Finding, Grade, Verdict, count, grade};
pub use junit::junit;
pub use text::{Wrap, text};

/// A completed check.
#[derive(Debug, Clone)]
pub struct Report {
    /// The address of the agent.
    pub agent: String,
    /// What kind of agent it is.
    pub kind: AgentKind,
    /// The dialect that it uses, as far as it is known.
    pub dialect: &'static str,
    /// How it takes calls.
    pub speech: &'static str,
    /// Whether nothing was forgiven.
    pub strict: bool,
    /// Whether it can play in a league like this.
    pub can_play: CanPlay,
    /// Whether it can play in a league that forgives nothing, if that was tried besides.
    pub in_strict_league: Option<CanPlay>,
    /// How its registration differs from the form of the documents, if it does.
    pub registration: Option<String>,
    /// The finding for each rule.
    pub findings: Vec<Finding>,
    /// The rehearsal, if faults were rehearsed.
    pub rehearsal: Option<Rehearsal>,
}

/// A rehearsal of faults.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rehearsal {
    /// The seed of the plan.
    pub seed: u64,
    /// The digest of the plan: the same seed gives the same plan.
    pub digest: String,
    /// Why nothing was rehearsed, if the agent did not take part.
    pub absent: Option<&'static str>,
}

impl Report {
    /// How many rules have each verdict.
    pub fn counts(&self) -> Counts {
        count(&self.findings)
    }

    /// The grade for all rules together.
    pub fn grade(&self) -> Grade {
        grade(&self.findings, &self.can_play)
    }

    /// Whether the agent can play and no rule is broken.
    pub fn is_clean(&self) -> bool {
        self.counts().failed == 0 && !self.can_play.is_no()
    }

    /// How much of a rehearsal the agent survived, from 0 to 100.
    pub fn resilience(&self) -> u32 {
        let counts = self.counts();
        let played = counts.passed + counts.deviations + counts.failed;
        (100 * counts.passed).checked_div(played).unwrap_or(0)
    }

    fn of(&self, verdict: Verdict) -> impl Iterator<Item = &Finding> {
        let findings = self.findings.iter();
        findings.filter(move |finding| finding.verdict == verdict)
    }
}

/// Writes one JSON object on each line: each rule after those that were `written` before, then the
/// summary.
/// The output may be closed.
pub fn json(report: &Report, written: usize, out: &mut impl Write) -> io::Result<()> {
    for finding in report.findings.iter().skip(written) {
        writeln!(out, "{}", row(finding))?;
    }
    let (counts, grade) = (report.counts(), report.grade());
    let mut summary = json!({
        "event": "summary",
        "agent": report.agent,
        "kind": report.kind.as_str(),
        "dialect": report.dialect,
        "speech": report.speech,
        "strict": report.strict,
        "can_play": answer(&report.can_play),
        "rules": report.findings.len(),
        "passed": counts.passed,
        "deviations": counts.deviations,
        "failed": counts.failed,
        "skipped": counts.skipped,
        "score": grade.score,
        "grade": grade.letter.to_string(),
        "formula": FORMULA,
    });
    if let Some(strict) = &report.in_strict_league {
        summary["in_strict_league"] = answer(strict);
    }
    if let Some(registration) = &report.registration {
        summary["registration"] = registration.as_str().into();
    }
    if let Some(rehearsal) = &report.rehearsal {
        summary["seed"] = rehearsal.seed.into();
        summary["plan"] = rehearsal.digest.as_str().into();
        match rehearsal.absent {
            Some(why) => summary["because"] = why.into(),
            None => summary["resilience"] = report.resilience().into(),
        }
    }
    writeln!(out, "{summary}")
}

fn answer(can_play: &CanPlay) -> Value {
    let mut told = json!({"answer": can_play.word()});
    match can_play {
        CanPlay::Yes => {}
        CanPlay::WithDeviations(deviations) => told["deviations"] = json!(deviations),
        CanPlay::No(because) => told["because"] = because.as_str().into(),
    }
    told
}

/// A rule as a JSON object.
pub fn row(finding: &Finding) -> Value {
    let mut row = json!({
        "event": "rule",
        "id": finding.id,
        "topic": finding.topic,
        "title": finding.title,
        "clause": finding.clause,
        "level": finding.level.as_str(),
        "verdict": finding.verdict.as_str(),
        "milliseconds": u64::try_from(finding.took.as_millis()).unwrap_or(u64::MAX),
    });
    let more = [
        ("found", &finding.found),
        ("fix", &finding.fix),
        ("sent", &finding.sent),
        ("came", &finding.came),
    ];
    for (name, text) in more.into_iter().filter(|(_, text)| !text.is_empty()) {
        row[name] = text.as_str().into();
    }
    row
}
