//! Everything that a lenient reader forgives, in one place, each with its reason.
//!
//! We send exactly what the documents show. This module alone decides what we forgive in others: a
//! strict reader forgives nothing, a lenient reader forgives departures that leave the meaning of a
//! message certain. Each departure is noted, so that its author can be told.

use serde_json::value::RawValue;

use crate::dialect::Hints;
use crate::fault::Code;
use crate::finding::{Notes, Path, Reading, Severity};
use crate::id::{LeagueId, MatchId};
use crate::rpc::members::Kind;
use crate::sender::Dialect;
use crate::shape::{Codec, Cx, Extra, Plain, Round, settled};

mod application;
mod order;
mod repair;
mod reply;
mod spelling;

pub use application::application;
pub use order::order;
pub(crate) use repair::{Candidates, candidates, tells};
pub use repair::{Expected, MAX_REPAIRED, Repair, meant, repair};
pub use reply::reply;
pub(crate) use reply::{InnerMessage, response};
pub(crate) use spelling::nearest;
use spelling::synonyms;

/// How far a departure can be forgiven.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Grace {
    /// The meaning stays certain at every place.
    Always,
    /// The meaning stays certain unless the message depends on this place.
    UnlessNeeded,
    /// Forgiving it would allow cheating, or would be a guess.
    Never,
}

/// Whether a departure is forgiven.
pub fn severity(reading: Reading, grace: Grace, needed: bool) -> Severity {
    match (reading, grace) {
        (Reading::Lenient, Grace::Always) => Severity::Deviation,
        (Reading::Lenient, Grace::UnlessNeeded) if !needed => Severity::Deviation,
        (Reading::Lenient | Reading::Strict, _) => Severity::Error,
    }
}

/// A null field that should have a value or be absent: some libraries write every optional field.
/// It counts as absent.
pub(crate) fn null_field(name: &str, at: &Path<'_>, notes: &mut Notes) {
    let detail = format!("`{name}` is null; send a value");
    notes.note(Code::MissingField, at, "a value", detail);
}

/// A time in a payload without a zone, as the main document's sample player sends it. The time is
/// only recorded, so it is read as UTC; the time of an envelope is not forgiven.
pub(crate) fn no_zone(problem: &str, at: &Path<'_>, notes: &mut Notes) {
    notes.note(Code::InvalidTimestamp, at, crate::time::EXPECTED, problem);
}

/// Unknown fields: they are kept but never read. Any message may carry the context of 000 table 4;
/// all other unknown fields are noted. Their names must not repeat.
pub(crate) fn extra_fields(extra: &Extra<'_>, at: &Path<'_>, notes: &mut Notes) {
    for &(name, raw) in extra {
        let here = at.member(name, false);
        match name {
            "league_id" if at.is_root() => check::<LeagueId, Plain>(raw, &here, notes),
            "match_id" if at.is_root() => check::<MatchId, Plain>(raw, &here, notes),
            "round_id" if at.is_root() => check::<u32, Round>(raw, &here, notes),
            _ => {
                let (expected, remedy) = instead(name, at, notes);
                let detail = format!("the protocol has no such field here; {remedy}");
                notes.forgive(Code::InvalidMessage, &here, expected, detail);
                settled(raw, &here, notes);
            }
        }
    }
}

/// The field that should replace an unknown field, and the remedy.
fn instead(name: &str, at: &Path<'_>, notes: &Notes) -> (String, String) {
    let nothing = || ("no such field".to_owned(), "leave it out".to_owned());
    // Skip the search if the note would not be kept.
    let meant = (!notes.is_full()).then(|| spelling::meant(name, notes.missing_in(at)));
    meant.flatten().map_or_else(nothing, |meant| {
        (format!("`{meant}`"), format!("did you mean `{meant}`?"))
    })
}

/// Notes the faults of a value that is not used otherwise.
fn check<T, C: Codec<T>>(raw: &RawValue, at: &Path<'_>, notes: &mut Notes) {
    if Kind::of(raw) != Kind::Null {
        let mut cx = Cx {
            dialect: Dialect::V2,
            hints: &Hints::default(),
            notes,
        };
        C::read(raw, at, &mut cx);
    }
}
