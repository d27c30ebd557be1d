//! The report as JUnit XML for build servers: one suite for each topic, one case for each rule.

use std::io::{self, Write};

use super::Report;
use crate::verdict::{Finding, Verdict};

/// Writes the report as XML; a deviation is a passed case with output.
///
/// # Errors
///
/// The output may be closed.
pub fn junit(report: &Report, out: &mut impl Write) -> io::Result<()> {
    let counts = report.counts();
    writeln!(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>")?;
    writeln!(
        out,
        "<testsuites name=\"league check {}\" tests=\"{}\" failures=\"{}\" skipped=\"{}\">",
        report.kind.as_str(),
        report.findings.len(),
        counts.failed,
        counts.skipped
    )?;
    for suite in report
        .findings
        .chunk_by(|one, next| one.topic == next.topic)
    {
        write_suite(suite, out)?;
    }
    writeln!(out, "</testsuites>")
}

fn write_suite(suite: &[Finding], out: &mut impl Write) -> io::Result<()> {
    let counts = crate::verdict::count(suite);
    let name = suite.first().map_or("", |finding| finding.topic);
    writeln!(
        out,
        "  <testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" skipped=\"{}\">",
        escaped(name),
        suite.len(),
        counts.failed,
        counts.skipped
    )?;
    for finding in suite {
        write_case(finding, out)?;
    }
    writeln!(out, "  </testsuite>")
}

fn write_case(finding: &Finding, out: &mut impl Write) -> io::Result<()> {
    write!(
        out,
        "    <testcase classname=\"{}\" name=\"{}\" time=\"{:.3}\"",
        escaped(&finding.id),
        escaped(&finding.title),
        finding.took.as_secs_f64()
    )?;
    let message = escaped(&finding.found);
    match finding.verdict {
        Verdict::Pass => return writeln!(out, "/>"),
        Verdict::Skipped => writeln!(out, "><skipped message=\"{message}\"/>")?,
        Verdict::Deviation => {
            writeln!(
                out,
                "><system-out>deviation: {message}{}</system-out>",
                details(finding)
            )?;
        }
        Verdict::Fail => {
            let level = finding.level.as_str();
            let details = details(finding);
            writeln!(
                out,
                "><failure type=\"{level}\" message=\"{message}\">{details}</failure>"
            )?;
        }
    }
    writeln!(out, "    </testcase>")
}

fn details(finding: &Finding) -> String {
    let text = format!(
        "\nclause: {}\nsent: {}\ncame: {}\nfix: {}\n",
        finding.clause, finding.sent, finding.came, finding.fix
    );
    escaped(&text)
}

/// Escapes a text for XML; characters that XML does not allow were escaped before.
fn escaped(text: &str) -> String {
    let mut shown = String::new();
    for character in text.chars() {
        match character {
            '&' => shown.push_str("&amp;"),
            '<' => shown.push_str("&lt;"),
            '>' => shown.push_str("&gt;"),
            '"' => shown.push_str("&quot;"),
            other => shown.push(other),
        }
    }
    shown
}
