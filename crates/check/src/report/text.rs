//! The report for people: the summary, then failures, deviations, skipped and passed rules.

use std::io::{self, Write};

use super::{Rehearsed, Report};
use crate::verdict::{Ceiling, FORMULA, Finding, Grade, Verdict};

/// From this many on, rules that are broken by one cause are reported together.
const MANY: usize = 3;
/// The width of the column for rule names.
const HEAD: usize = 12;

/// Breaks a text into lines that hang below a label of a given width: label, indent, text.
pub type Wrap = fn(&str, usize, &str) -> String;

/// Writes the report; colour only for a terminal.
///
/// # Errors
///
/// The output may be closed.
pub fn text(report: &Report, coloured: bool, wrap: Wrap, out: &mut impl Write) -> io::Result<()> {
    let mut page = Page {
        coloured,
        wrap,
        out,
    };
    page.summary(report)?;
    page.section(report, Verdict::Fail, "Failures")?;
    page.section(report, Verdict::Deviation, "Deviations")?;
    page.skipped(report)?;
    page.passed(report)
}

struct Page<'p, W> {
    coloured: bool,
    wrap: Wrap,
    out: &'p mut W,
}

impl<W: Write> Page<'_, W> {
    fn summary(&mut self, report: &Report) -> io::Result<()> {
        let Report {
            agent,
            dialect,
            speech,
            ..
        } = report;
        let counts = report.counts();
        let strict = if report.strict { ", strictly" } else { "" };
        let kind = report.kind.as_str();
        let head = format!("{kind} at {agent}: dialect {dialect}, speech {speech}{strict}");
        self.paragraph("", 0, &head)?;
        writeln!(
            self.out,
            "{} {}: {} passed, {}, {} failed, {} skipped",
            report.findings.len(),
            if report.rehearsed.is_some() {
                "matches"
            } else {
                "rules"
            },
            counts.passed,
            deviations(counts.deviations),
            counts.failed,
            counts.skipped
        )?;
        match &report.rehearsed {
            Some(rehearsed) => self.resilience(report, rehearsed),
            None => self.grade(report.grade()),
        }
    }

    fn resilience(&mut self, report: &Report, rehearsed: &Rehearsed) -> io::Result<()> {
        let Rehearsed { seed, digest, .. } = rehearsed;
        if let Some(why) = rehearsed.absent {
            let told = (self.wrap)("", 0, &format!("nothing was rehearsed: {why}"));
            let told = self.paint(&told, Colour::Red);
            return writeln!(self.out, "{told}");
        }
        let survived = report.resilience();
        writeln!(
            self.out,
            "resilience {survived} of 100; seed {seed}, plan {digest}"
        )
    }

    fn grade(&mut self, grade: Grade) -> io::Result<()> {
        let mark = format!("grade {} ({} of 100)", grade.letter, grade.score);
        let colour = match grade.letter {
            'A' | 'B' => Colour::Green,
            'C' | 'D' => Colour::Yellow,
            _ => Colour::Red,
        };
        let mark = self.paint(&mark, colour);
        writeln!(self.out, "{mark}")?;
        if let Some(Ceiling { letter, because }) = grade.ceiling {
            let best = if letter == 'F' { "" } else { " at best" };
            self.paragraph("  ", 2, &format!("{letter}{best}, because {because}"))?;
        }
        self.paragraph("  ", 2, FORMULA)
    }

    fn section(&mut self, report: &Report, verdict: Verdict, title: &str) -> io::Result<()> {
        let mut findings = report.of(verdict).peekable();
        if findings.peek().is_none() {
            return Ok(());
        }
        writeln!(self.out, "\n{title}")?;
        for alike in grouped(findings) {
            match alike.as_slice() {
                [first, .., _] if alike.len() >= MANY => self.group(first, &alike)?,
                alone => alone.iter().try_for_each(|finding| self.finding(finding))?,
            }
        }
        Ok(())
    }

    /// Reports rules that are broken by one cause together, with the exchange of the first.
    fn group(&mut self, first: &Finding, alike: &[&Finding]) -> io::Result<()> {
        writeln!(self.out)?;
        let word = match first.verdict {
            Verdict::Fail => "failed",
            _ => "deviate",
        };
        let head = format!("{} rules {word}", alike.len());
        let painted = self.paint(&head, colour(first.verdict));
        let cause = format!("because of this: {}", first.found);
        let indent = head.chars().count() + 1;
        self.paragraph(&format!("{painted} "), indent, &cause)?;
        let ids: Vec<&str> = alike.iter().map(|finding| finding.id.as_str()).collect();
        self.paragraph("  rules  ", 9, &ids.join(" "))?;
        for (name, text) in [
            ("sent", &first.sent),
            ("came", &first.came),
            ("fix", &first.fix),
        ] {
            if !text.is_empty() {
                self.paragraph(&format!("  {name:<7}"), 9, text)?;
            }
        }
        Ok(())
    }

    fn finding(&mut self, finding: &Finding) -> io::Result<()> {
        let head = format!("{:<HEAD$}", finding.id);
        let painted = self.paint(&head, colour(finding.verdict));
        writeln!(self.out)?;
        let title = format!(
            "{} ({}, {})",
            finding.title,
            finding.level.as_str(),
            finding.clause
        );
        self.paragraph(&painted, HEAD, &title)?;
        for (name, text) in [
            ("found", &finding.found),
            ("sent", &finding.sent),
            ("came", &finding.came),
            ("fix", &finding.fix),
        ] {
            if !text.is_empty() {
                self.paragraph(&format!("  {name:<7}"), 9, text)?;
            }
        }
        Ok(())
    }

    /// Reports rules that were skipped for the same reason together.
    fn skipped(&mut self, report: &Report) -> io::Result<()> {
        let mut reasons: Vec<(&str, &str, Vec<&str>)> = Vec::new();
        for finding in report.of(Verdict::Skipped) {
            let known = reasons
                .iter_mut()
                .find(|(reason, ..)| *reason == finding.found);
            match known {
                Some((_, _, ids)) => ids.push(&finding.id),
                None => reasons.push((&finding.found, &finding.fix, vec![&finding.id])),
            }
        }
        if !reasons.is_empty() {
            writeln!(self.out, "\nSkipped")?;
        }
        for (reason, hint, ids) in reasons {
            self.paragraph("  ", 2, &format!("{}: {reason}", ids.join(" ")))?;
            if !hint.is_empty() {
                self.paragraph("    hint: ", 10, hint)?;
            }
        }
        Ok(())
    }

    fn passed(&mut self, report: &Report) -> io::Result<()> {
        let mut topics: Vec<(&str, Vec<&str>)> = Vec::new();
        for finding in report.of(Verdict::Pass) {
            match topics.last_mut() {
                Some((topic, ids)) if *topic == finding.topic => ids.push(&finding.id),
                _ => topics.push((finding.topic, vec![&finding.id])),
            }
        }
        if !topics.is_empty() {
            writeln!(self.out, "\nPassed")?;
        }
        for (topic, ids) in topics {
            self.paragraph("  ", 2, &format!("{topic}: {}", ids.join(" ")))?;
        }
        Ok(())
    }

    /// Writes a text broken into lines that hang below a label of this width.
    fn paragraph(&mut self, label: &str, indent: usize, text: &str) -> io::Result<()> {
        writeln!(self.out, "{}", (self.wrap)(label, indent, text))
    }

    fn paint(&self, text: &str, colour: Colour) -> String {
        if self.coloured {
            format!("\x1b[{}m{text}\x1b[0m", colour as u8)
        } else {
            text.to_owned()
        }
    }
}

#[derive(Clone, Copy)]
enum Colour {
    Red = 31,
    Green = 32,
    Yellow = 33,
}

fn colour(verdict: Verdict) -> Colour {
    match verdict {
        Verdict::Fail => Colour::Red,
        _ => Colour::Yellow,
    }
}

/// Groups findings by cause, each group at the place of its first rule.
fn grouped<'f>(findings: impl Iterator<Item = &'f Finding>) -> Vec<Vec<&'f Finding>> {
    let mut groups: Vec<Vec<&Finding>> = Vec::new();
    for finding in findings {
        let known = groups.iter_mut().find(|group| {
            group
                .first()
                .is_some_and(|first| first.found == finding.found)
        });
        match known {
            Some(group) => group.push(finding),
            None => groups.push(vec![finding]),
        }
    }
    groups
}

fn deviations(count: u32) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} deviation{plural}")
}
