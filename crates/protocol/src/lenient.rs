//! Every kindness to others, in one place, each with its reason.
//!
//! We send exactly what the documents show. What we forgive in others is decided here and nowhere
//! else: a strict reader forgives nothing, a lenient one forgives what leaves the meaning of a
//! message certain. Each thing forgiven is noted, so that its author can be told.

use serde_json::value::RawValue;

use crate::fault::Code;
use crate::finding::{Notes, Path, Reading, Severity};
use crate::rpc;
use crate::rpc::members::{Kind, Members};

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

/// The members that any message may carry by 000 table 4.
const CONTEXT: [&str; 3] = ["league_id", "round_id", "match_id"];

/// Fields that nobody asked for: they are kept, never read.
pub(crate) fn extra_fields<'n>(
    names: impl IntoIterator<Item = &'n str>,
    at: &Path<'_>,
    notes: &mut Notes,
) {
    for name in names.into_iter().filter(|name| !CONTEXT.contains(name)) {
        let detail = "the protocol has no such field here; leave it out";
        notes.forgive(
            Code::InvalidMessage,
            &at.member(name, false),
            "no such field",
            detail,
        );
    }
}

/// Finds the message in a reply to a call of ours.
///
/// Forgiven are a message without the JSON-RPC frame around it, as the main document's sample
/// player sends it; `error: null` beside a result; a wrong or missing id, since a reply travels
/// on the connection that we opened for this one call; and a wrong or missing `jsonrpc`.
pub fn reply<'a>(body: &'a [u8], id: u64, notes: &mut Notes) -> Option<&'a RawValue> {
    let at = Path::root("ruling 13");
    let strict = rpc::read_reply(body, id, rpc::Era::Simple);
    let fault = match strict {
        Ok(Ok(result)) => return Some(result),
        Ok(Err(error)) => {
            let detail = format!(
                "the agent answered with a JSON-RPC error: {}",
                error.message
            );
            notes.refuse(
                Code::InvalidMessage,
                &at.member("error", true),
                "a result",
                detail,
            );
            return None;
        }
        Err(fault) => fault,
    };
    let found = forgiven_reply(body);
    let place = at.member(fault.field(), false);
    let expected = "a JSON-RPC 2.0 response with `jsonrpc`, `id` and `result`";
    match found {
        Some(_) => notes.forgive(Code::InvalidMessage, &place, expected, fault.to_string()),
        None => notes.refuse(Code::InvalidMessage, &place, expected, fault.to_string()),
    }
    found.filter(|_| notes.reading == Reading::Lenient)
}

fn forgiven_reply(body: &[u8]) -> Option<&RawValue> {
    let text = std::str::from_utf8(body).ok()?;
    let members: Members<'_> = rpc::open(body)
        .ok()
        .and_then(|_| rpc::members::members(text).ok())?;
    if members.has("message_type") {
        return serde_json::from_str(text).ok();
    }
    let told = members
        .get("error")
        .is_some_and(|error| Kind::of(error) != Kind::Null);
    members.get("result").filter(|_| !told)
}
