//! Departures of a message from the protocol: which field, which rule, and how severe.

use std::fmt;

use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};

use crate::fault::Code;
use crate::lenient::{Grace, severity};
use crate::redact::hidden;

/// How strictly a message is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Reading {
    /// Everything with a certain meaning is accepted, and each departure is noted.
    #[default]
    Lenient,
    /// Every departure is an error.
    Strict,
}

/// How severe a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Forgiven, noted and counted.
    Deviation,
    /// Not forgiven.
    Error,
}

/// One departure from the protocol.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The league's code for it.
    pub code: Code,
    /// The path: `player_meta.game_types[0]`; empty for the message as a whole.
    pub path: String,
    /// Forgiven or not.
    pub severity: Severity,
    /// What the protocol expects there.
    pub expected: String,
    /// The clause that says so.
    pub clause: &'static str,
    /// What was found and what to do, in one sentence.
    pub detail: String,
}

/// Writes the name beside the code, so that readers need not look it up.
impl Serialize for Finding {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut written = serializer.serialize_struct("Finding", 7)?;
        written.serialize_field("code", &self.code)?;
        written.serialize_field("name", self.code.name())?;
        written.serialize_field("path", &self.path)?;
        written.serialize_field("severity", &self.severity)?;
        written.serialize_field("expected", &self.expected)?;
        written.serialize_field("clause", self.clause)?;
        written.serialize_field("detail", &self.detail)?;
        written.end()
    }
}

/// Collects findings while a message is read.
#[derive(Debug, Default)]
pub struct Notes {
    /// How the message is read.
    pub reading: Reading,
    /// The findings, in order.
    pub findings: Vec<Finding>,
}

/// The most findings of one message; more would not help a reader. The first error is always among
/// them.
pub const MAX_FINDINGS: usize = 64;

impl Notes {
    /// Notes for a message that is about to be read.
    pub fn new(reading: Reading) -> Self {
        Self {
            reading,
            findings: Vec::new(),
        }
    }

    /// Notes a departure that is forgiven unless the message depends on its place.
    pub fn note(
        &mut self,
        code: Code,
        at: &Path<'_>,
        expected: impl Into<String>,
        detail: impl Into<String>,
    ) {
        self.push(
            code,
            Grace::UnlessNeeded,
            at,
            expected.into(),
            detail.into(),
        );
    }

    /// Notes a departure that is never forgiven.
    pub fn refuse(
        &mut self,
        code: Code,
        at: &Path<'_>,
        expected: impl Into<String>,
        detail: impl Into<String>,
    ) {
        self.push(code, Grace::Never, at, expected.into(), detail.into());
    }

    /// Notes a departure that a lenient reader always forgives.
    pub fn forgive(
        &mut self,
        code: Code,
        at: &Path<'_>,
        expected: impl Into<String>,
        detail: impl Into<String>,
    ) {
        self.push(code, Grace::Always, at, expected.into(), detail.into());
    }

    /// The first finding that is not forgiven.
    pub fn first_error(&self) -> Option<&Finding> {
        self.findings
            .iter()
            .find(|finding| finding.severity == Severity::Error)
    }

    /// The names that are missing in the object at a place.
    pub(crate) fn missing_in(&self, at: &Path<'_>) -> impl Iterator<Item = &str> + Clone {
        let around = at.to_string();
        let missing = self.findings.iter();
        let missing = missing.filter(|finding| finding.code == Code::MissingField);
        missing.filter_map(move |finding| {
            let inside = finding.path.strip_prefix(&around)?;
            let dotted = inside.strip_prefix('.');
            let name = if around.is_empty() { inside } else { dotted? };
            (!name.contains(['.', '['])).then_some(name)
        })
    }

    /// Whether another deviation would not be kept.
    pub(crate) fn is_full(&self) -> bool {
        self.findings.len() >= MAX_FINDINGS
    }

    fn push(&mut self, code: Code, grace: Grace, at: &Path<'_>, expected: String, detail: String) {
        let severity = severity(self.reading, grace, at.needed);
        if self.is_full_for(severity) {
            return;
        }
        let (path, clause) = (at.to_string(), at.clause);
        self.findings.truncate(MAX_FINDINGS - 1);
        self.findings.push(Finding {
            code,
            path,
            severity,
            expected,
            clause,
            detail,
        });
    }

    /// The first error is always kept, because it decides about the message.
    fn is_full_for(&self, severity: Severity) -> bool {
        self.is_full() && (severity == Severity::Deviation || self.first_error().is_some())
    }
}

/// A place in a message, linked to the place around it; formatted only when needed.
#[derive(Debug, Clone, Copy)]
pub struct Path<'p> {
    around: Option<&'p Path<'p>>,
    step: Step<'p>,
    /// Whether the message does not have a certain meaning without this place.
    pub needed: bool,
    /// The clause with the rule for this place.
    pub clause: &'static str,
}

#[derive(Debug, Clone, Copy)]
enum Step<'p> {
    Root,
    Name(&'p str),
    Index(usize),
}

impl<'p> Path<'p> {
    /// The message as a whole.
    pub fn root(clause: &'static str) -> Path<'static> {
        Path {
            around: None,
            step: Step::Root,
            needed: true,
            clause,
        }
    }

    /// A member of the object at this place.
    pub fn member<'q>(&'q self, name: &'q str, needed: bool) -> Path<'q> {
        Path {
            around: Some(self),
            step: Step::Name(name),
            needed: self.needed && needed,
            clause: self.clause,
        }
    }

    /// An element of the array at this place.
    pub fn element<'q>(&'q self, index: usize) -> Path<'q> {
        Path {
            around: Some(self),
            step: Step::Index(index),
            needed: self.needed,
            clause: self.clause,
        }
    }

    /// Whether this is the message as a whole.
    pub fn is_root(&self) -> bool {
        matches!(self.step, Step::Root)
    }

    /// The same place under another clause.
    pub fn under(mut self, clause: &'static str) -> Self {
        self.clause = clause;
        self
    }
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(around) = self.around {
            around.fmt(f)?;
        }
        match self.step {
            Step::Root => Ok(()),
            Step::Name(name) => {
                let inside = self
                    .around
                    .is_some_and(|around| !matches!(around.step, Step::Root));
                let dot = if inside { "." } else { "" };
                write!(f, "{dot}{}", excerpt(name))
            }
            Step::Index(index) => write!(f, "[{index}]"),
        }
    }
}

/// Cuts a peer's text to the length of a sentence and makes it safe to print: control characters
/// are escaped, and secrets are hidden.
pub fn excerpt(text: &str) -> String {
    const LONGEST: usize = 60;
    harmless(text, LONGEST)
}

/// As [`excerpt`], for texts of another maximum length.
pub fn harmless(text: &str, longest: usize) -> String {
    let text = &hidden(text);
    let mut shown: String = text
        .chars()
        .take(longest)
        .flat_map(char::escape_debug)
        .collect();
    if text.chars().nth(longest).is_some() {
        shown.push('…');
    }
    shown.replace("\\\"", "\"").replace("\\'", "'")
}
