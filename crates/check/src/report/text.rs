//! The report for people: the summary, then failures, deviations, skipped and passed rules.

use std::io::{self, Write};

use super::{Rehearsal, Report};
use crate::trial::{CanPlay, MAX_NAMED};
use crate::verdict::{FORMULA, Finding, Grade, Verdict};

/// From this many on, rules that are broken by one cause are reported together.
const MANY: usize = 3;
/// The width of the column for rule names.
const HEAD: usize = 12;

/// Breaks a text into lines that hang below a label of a given width: label, indent, text.
pub type Wrap = fn(&str, usize, &str) -> String;

/// Writes the report; colour only for a terminal.
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
    /// Answers the question of the agent's author.
    fn answer(&mut self, question: &str, can_play: &CanPlay) -> io::Result<()> {
        let colour = match can_play {
            CanPlay::Yes => Colour::Green,
            CanPlay::WithDeviations(_) => Colour::Yellow,
            CanPlay::No(_) => Colour::Red,
        };
        let told = match can_play {
            CanPlay::WithDeviations(_) => format!("{question} yes, with these deviations:"),
            _ => format!("{question} {can_play}"),
        };
        let told = (self.wrap)("", 2, &told);
        let told = self.paint(&told, colour);
        writeln!(self.out, "{told}")?;
        let CanPlay::WithDeviations(deviations) = can_play else {
            return Ok(());
        };
        for deviation in deviations.iter().take(MAX_NAMED) {
            self.paragraph("  - ", 4, deviation)?;
        }
        match deviations.len().saturating_sub(MAX_NAMED) {
            0 => Ok(()),
            more => writeln!(self.out, "  and {more} more, which `--output json` lists"),
        }
    }

    fn summary(&mut self, report: &Report) -> io::Result<()> {
        self.answer("can it play here?", &report.can_play)?;
        if let Some(strict) = &report.in_strict_league {
            self.answer("in a strict league?", strict)?;
        }
        let (agent, dialect, speech) = (&report.agent, report.dialect, report.speech);
        let strict = if report.strict { ", strictly" } else { "" };
        let kind = report.kind.as_str();
        let head = format!("{kind} at {agent}: dialect {dialect}, speech {speech}{strict}");
        self.paragraph("", 0, &head)?;
        if let Some(registration) = &report.registration {
            self.paragraph("", 2, registration)?;
        }
        let (all, counts) = (report.findings.len(), report.counts());
        let rules = report.rehearsal.as_ref().map_or("rules", |_| "matches");
        let deviations = deviations(counts.deviations);
        let (passed, failed, skipped) = (counts.passed, counts.failed, counts.skipped);
        let told = format!("{passed} passed, {deviations}, {failed} failed, {skipped} skipped");
        writeln!(self.out, "{all} {rules}: {told}")?;
        match &report.rehearsal {
            Some(rehearsal) => self.resilience(report.resilience(), rehearsal),
            None => self.grade(report.grade()),
        }
    }

    fn resilience(&mut self, survived: u32, rehearsal: &Rehearsal) -> io::Result<()> {
        let told = match rehearsal.absent {
            Some(why) => {
                let told = (self.wrap)("", 0, &format!("nothing was rehearsed: {why}"));
                self.paint(&told, Colour::Red)
            }
            None => {
                let (seed, digest) = (rehearsal.seed, &rehearsal.digest);
                format!("resilience {survived} of 100; seed {seed}, plan {digest}")
            }
        };
        writeln!(self.out, "{told}")
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
        self.exchange(first)?;
        let mut fixes: Vec<(&str, Vec<&str>)> = Vec::new();
        for finding in alike {
            match fixes.iter_mut().find(|(fix, _)| *fix == finding.fix) {
                Some((_, ids)) => ids.push(&finding.id),
                None => fixes.push((&finding.fix, vec![&finding.id])),
            }
        }
        match fixes.as_slice() {
            [(fix, _)] => self.detail("fix", fix),
            several => several.iter().try_for_each(|(fix, ids)| {
                self.detail("fix", &format!("{}: {fix}", ids.join(" ")))
            }),
        }
    }

    fn finding(&mut self, finding: &Finding) -> io::Result<()> {
        let Finding { title, clause, .. } = finding;
        let head = format!("{:<HEAD$}", finding.id);
        let painted = self.paint(&head, colour(finding.verdict));
        writeln!(self.out)?;
        let title = format!("{title} ({}, {clause})", finding.level.as_str());
        self.paragraph(&painted, HEAD, &title)?;
        self.detail("found", &finding.found)?;
        self.exchange(finding)?;
        self.detail("fix", &finding.fix)
    }

    /// The last exchange.
    fn exchange(&mut self, finding: &Finding) -> io::Result<()> {
        self.detail("sent", &finding.sent)?;
        self.detail("came", &finding.came)
    }

    fn detail(&mut self, name: &str, text: &str) -> io::Result<()> {
        if text.is_empty() {
            return Ok(());
        }
        self.paragraph(&format!("  {name:<7}"), 9, text)
    }

    /// Reports rules that were skipped for the same reason together.
    fn skipped(&mut self, report: &Report) -> io::Result<()> {
        let mut reasons: Vec<(&str, &str, Vec<&str>)> = Vec::new();
        for finding in report.of(Verdict::Skipped) {
            match reasons
                .iter_mut()
                .find(|(reason, ..)| *reason == finding.found)
            {
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
        match groups
            .iter_mut()
            .find(|group| cause(group[0]) == cause(finding))
        {
            Some(group) => group.push(finding),
            None => groups.push(vec![finding]),
        }
    }
    groups
}

/// What makes findings a group: the same words about another subject have another cause.
fn cause(finding: &Finding) -> (&str, &str) {
    (finding.topic, &finding.found)
}

fn deviations(count: u32) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} deviation{plural}")
}
