//! The report as JUnit XML for build servers: one suite for each topic, one case for each rule.

use std::io::{self, Write};

use super::Report;
use crate::verdict::{Counts, Finding, Verdict, count};

/// Writes the report as XML; a deviation is a passed case with output.
/// The output may be closed.
pub fn junit(report: &Report, out: &mut impl Write) -> io::Result<()> {
    let name = format!("league check {}", report.kind.as_str());
    let findings = &report.findings;
    writeln!(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>")?;
    writeln!(out, "<testsuites {}>", attributes(&name, findings))?;
    let mut is_first = true;
    for suite in findings.chunk_by(|one, next| one.topic == next.topic) {
        let name = suite.first().map_or("", |finding| finding.topic);
        writeln!(out, "  <testsuite {}>", attributes(name, suite))?;
        if std::mem::take(&mut is_first) {
            write_properties(report, out)?;
        }
        suite
            .iter()
            .try_for_each(|finding| write_case(finding, out))?;
        writeln!(out, "  </testsuite>")?;
    }
    writeln!(out, "</testsuites>")
}

/// Writes whether the agent can play, into the first suite: XML has no place above the suites.
fn write_properties(report: &Report, out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "    <properties>")?;
    let answers = [
        ("can it play here?", Some(&report.can_play)),
        ("in a strict league?", report.in_strict_league.as_ref()),
    ];
    for (question, can_play) in answers {
        let Some(can_play) = can_play else { continue };
        let (name, value) = (escaped(question), escaped(&can_play.to_string()));
        writeln!(out, "      <property name=\"{name}\" value=\"{value}\"/>")?;
    }
    writeln!(out, "    </properties>")
}

fn attributes(name: &str, findings: &[Finding]) -> String {
    let Counts {
        failed, skipped, ..
    } = count(findings);
    let (name, tests) = (escaped(name), findings.len());
    format!("name=\"{name}\" tests=\"{tests}\" failures=\"{failed}\" skipped=\"{skipped}\"")
}

fn write_case(finding: &Finding, out: &mut impl Write) -> io::Result<()> {
    let (id, title) = (escaped(&finding.id), escaped(&finding.title));
    let seconds = finding.took.as_secs_f64();
    write!(
        out,
        "    <testcase classname=\"{id}\" name=\"{title}\" time=\"{seconds:.3}\""
    )?;
    let (message, level) = (escaped(&finding.found), finding.level.as_str());
    let Finding {
        clause,
        sent,
        came,
        fix,
        ..
    } = finding;
    let details = format!("\nclause: {clause}\nsent: {sent}\ncame: {came}\nfix: {fix}\n");
    let details = escaped(&details);
    let outcome = match finding.verdict {
        Verdict::Pass => return writeln!(out, "/>"),
        Verdict::Skipped => format!("<skipped message=\"{message}\"/>"),
        Verdict::Deviation => format!("<system-out>deviation: {message}{details}</system-out>"),
        Verdict::Fail => {
            format!("<failure type=\"{level}\" message=\"{message}\">{details}</failure>")
        }
    };
    writeln!(out, ">{outcome}\n    </testcase>")
}

/// Escapes a text for XML; characters that XML does not allow were escaped before.
fn escaped(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('"', "&quot;");
    text.replace('<', "&lt;").replace('>', "&gt;")
}
