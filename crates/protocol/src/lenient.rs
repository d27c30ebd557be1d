//! Everything a lenient reader forgives, in one place, each with its reason.
//!
//! We send exactly what the documents show. What we forgive in others is decided here and nowhere
//! else: a strict reader forgives nothing, a lenient one forgives what leaves the meaning of a
//! message certain. Each thing forgiven is noted, so that its author can be told.

use serde_json::value::RawValue;

use crate::dialect::Hints;
use crate::fault::Code;
use crate::finding::{Notes, Path, Reading, Severity};
use crate::id::{LeagueId, MatchId};
use crate::rpc::members::Kind;
use crate::sender::Dialect;
use crate::shape::{Codec, Cx, Extra, Plain, Round, settled};

mod application;
mod repair;
mod reply;
mod spelling;

pub use application::application;
pub(crate) use repair::{Candidates, candidates, tells};
pub use repair::{Expected, MAX_REPAIRED, Repair, meant, repair};
pub use reply::reply;
pub(crate) use reply::{Found, response};
pub(crate) use spelling::nearest;
use spelling::synonyms;

/// How much of a departure can be forgiven.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Grace {
    /// The meaning stays certain, whatever the place.
    Always,
    /// The meaning stays certain unless the message hangs on this place.
    UnlessNeeded,
    /// Forgiving it would let someone cheat, or would be a guess.
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

/// A field that is null where it should have a value or not be there: some libraries write every
/// optional field. It counts as not being there.
pub(crate) fn null_field(name: &str, at: &Path<'_>, notes: &mut Notes) {
    let detail = format!("`{name}` is null; send a value");
    notes.note(Code::MissingField, at, "a value", detail);
}

/// A time in a payload without a zone: the main document's own sample player sends it. The time
/// is only for the record, so it is read as UTC; the time of an envelope is not forgiven.
pub(crate) fn no_zone(problem: &str, at: &Path<'_>, notes: &mut Notes) {
    notes.note(Code::InvalidTimestamp, at, crate::time::EXPECTED, problem);
}

/// Fields that nobody asked for: they are kept, never read. Any message may carry the context of
/// 000 table 4; anything else is noted. No name in them may be there twice.
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

/// What should be there instead of an unknown field, and what to do about it.
fn instead(name: &str, at: &Path<'_>, notes: &Notes) -> (String, String) {
    let nothing = || ("no such field".to_owned(), "leave it out".to_owned());
    // What finds no room is not worth a search.
    let meant = (!notes.is_full()).then(|| spelling::meant(name, notes.missing_in(at)));
    meant.flatten().map_or_else(nothing, |meant| {
        (format!("`{meant}`"), format!("did you mean `{meant}`?"))
    })
}

/// Notes what is wrong with a value that is not read further.
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
