//! Explains messages that a lenient league can read only after a repair.

use serde_json::value::RawValue;

use super::{Explanation, Lens, message, one, piece, pieces};
use crate::fault::Code;
use crate::finding::{Finding, Notes, Reading, Severity, harmless};
use crate::lenient::{Candidates, Expected, Repair, candidates, repair, tells};
use crate::rpc::members::{Members, split, text};
use crate::sender::Dialect;

/// How much of a repaired message is shown, in characters.
const MAX_SHOWN: usize = 480;

/// Explains bytes as a lenient league reads them: a repairable message is a deviation, not an
/// error, and the first finding says how it is read. Without a dialect it is recognised.
pub fn explain_leniently(bytes: &[u8], dialect: Option<Dialect>) -> Vec<Explanation> {
    let reading = Reading::Lenient;
    let lens = Lens { reading, dialect };
    pieces::explained(bytes, lens, |raw, lens| piece(raw, lens, softened))
}

fn softened(raw: &RawValue, lens: Lens) -> Explanation {
    let mut explanation = one(raw, lens);
    if !explanation.valid {
        soften(raw, lens, &mut explanation);
    }
    explanation
}

/// The message inside a piece of JSON, and the method of its call.
struct Content<'c> {
    raw: &'c RawValue,
    /// The path to it; empty if it stands alone.
    place: &'static str,
    method: String,
}

impl<'c> Content<'c> {
    fn of(raw: &'c RawValue, members: &Members<'c>) -> Self {
        let named = |members: &Members<'_>, name| {
            let found = members.get(name).and_then(text);
            found.map_or_else(String::new, |found| found.into_owned())
        };
        let (place, method) = match members.has("method") {
            true => ("params", named(members, "method")),
            false => ("result", String::new()),
        };
        let Some(inner) = members
            .get(place)
            .filter(|_| super::frame::is_frame(members))
        else {
            let (place, method) = ("", String::new());
            return Self { raw, place, method };
        };
        let call = split(inner.get()).ok().filter(|_| method == "tools/call");
        let called = call.as_ref().and_then(|call| call.get("arguments"));
        match (called, call.as_ref()) {
            (Some(arguments), Some(call)) => Self {
                raw: arguments,
                place: "params.arguments",
                method: named(call, "name"),
            },
            _ => Self {
                raw: inner,
                place,
                method,
            },
        }
    }
}

/// Turns the errors of an explanation into deviations, if a lenient league can repair the message.
fn soften(raw: &RawValue, lens: Lens, explanation: &mut Explanation) {
    let Ok(members) = split(raw.get()) else {
        return;
    };
    let content = Content::of(raw, &members);
    let place = content.place;
    // Frame errors stay errors, whatever the frame holds.
    let is_error = |finding: &&mut Finding| finding.severity == Severity::Error;
    let mut errors = explanation.findings.iter_mut().filter(is_error);
    if !errors.all(|finding| finding.path.starts_with(place)) {
        return;
    }
    let Some(taken) = repaired(&content, lens, explanation.kind) else {
        return;
    };
    for finding in &mut explanation.findings {
        finding.severity = Severity::Deviation;
    }
    explanation
        .findings
        .insert(0, said(&taken, place.to_owned()));
    explanation.message_type = taken.message_type;
    explanation.dialect = taken.dialect;
    explanation.valid = true;
}

/// The repaired message, judged by its content alone.
///
/// A league knows its own request; here it is unknown. So an unknown type name must be close to a
/// known one, or the other fields must leave only one type.
fn repaired(content: &Content<'_>, lens: Lens, kind: &'static str) -> Option<Explanation> {
    match candidates(content.raw.get(), &content.method)? {
        Candidates::Named(named) => taken_for(named, content, lens, kind).map(|(taken, _)| taken),
        Candidates::Alike(alike) => {
            let readings = alike.into_iter().filter_map(|name| {
                let (taken, repaired) = taken_for(name, content, lens, kind)?;
                tells(&repaired, name, taken.dialect?).then_some(taken)
            });
            single(readings.collect())
        }
    }
}

/// The only possible reading; `league.v1` counts only if `league.v2` does not have one.
fn single(readings: Vec<Explanation>) -> Option<Explanation> {
    let is_old = |taken: &Explanation| taken.dialect == Some(Dialect::V1);
    let (old, new): (Vec<_>, Vec<_>) = readings.into_iter().partition(is_old);
    let mut left = if new.is_empty() { old } else { new }.into_iter();
    left.next().filter(|_| left.next().is_none())
}

/// Reads a message as a given type, if possible.
fn taken_for(
    name: &'static str,
    content: &Content<'_>,
    lens: Lens,
    kind: &'static str,
) -> Option<(Explanation, Box<RawValue>)> {
    let expected = Expected {
        types: &[name],
        method: None,
        dialect: lens.dialect,
    };
    let mut notes = Notes::new(Reading::Lenient);
    let Repair::Message(repaired) = repair(content.raw.get(), &expected, &mut notes)? else {
        return None;
    };
    let taken = message(&repaired, lens, kind);
    taken.valid.then_some((taken, repaired))
}

/// The finding that says how the message is read.
fn said(taken: &Explanation, path: String) -> Finding {
    let shown = harmless(taken.again.text(), MAX_SHOWN);
    Finding {
        code: Code::InvalidMessage,
        path,
        severity: Severity::Deviation,
        expected: "a message as the documents spell it".to_owned(),
        clause: "ruling 13",
        detail: format!("a lenient league reads this as {shown}"),
    }
}
