//! Makes the message that was meant out of what came instead of one.
//!
//! This is tried only after the exact reading has failed, and only by lenient readers. It goes by
//! the schemas of the messages, not by a list of known mistakes: whatever value can have one place
//! only is put there, and each step is noted. What could mean two things is left as it is.

mod candidates;
mod fit;
mod inside;
mod names;
mod values;

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value};

use crate::dialect::{recognise, types};
use crate::fault::Code;
use crate::finding::{Notes, Path, Reading, excerpt};
use crate::rpc::members::members;
use crate::schema::message_schema;
use crate::sender::Dialect;

pub(crate) use candidates::{Candidates, candidates, tells};
pub(crate) use names::fold;
pub use names::meant;

/// The largest message that is repaired, in bytes; what is larger is judged as it is.
pub const MAX_REPAIRED: usize = 64 * 1024;

/// How often a message is looked over; one that is still not settled then means too many things.
const MOST_PASSES: usize = 8;

/// What a message should be, and what it cannot do without.
struct Schemas {
    strict: Value,
    lenient: Value,
}

/// The schemas of all messages of all dialects, made once.
static SCHEMAS: LazyLock<BTreeMap<(Dialect, &str), Schemas>> = LazyLock::new(|| {
    let all = Dialect::ALL.into_iter().flat_map(|dialect| {
        let kinds = types(dialect).iter().copied();
        kinds.filter_map(move |kind| {
            let schemas = Schemas {
                strict: message_schema(dialect, kind, Reading::Strict)?,
                lenient: message_schema(dialect, kind, Reading::Lenient)?,
            };
            Some(((dialect, kind), schemas))
        })
    });
    all.collect()
});

/// Where a message came from that is not understood, and what it can be.
#[derive(Debug, Clone, Copy)]
pub struct Expected<'e> {
    /// The types that make sense here, the likeliest first.
    pub types: &'e [&'static str],
    /// What the call was named, if it was a call.
    pub method: Option<&'e str>,
    /// The dialect that the sender is known to speak.
    pub dialect: Option<Dialect>,
}

/// What a message is repaired to.
#[derive(Debug)]
pub enum Repair {
    /// A message in the words of its dialect.
    Message(Box<RawValue>),
    /// No message but a complaint, in the sender's own words.
    Complaint(String),
}

/// Looks for the message that is meant by a body, by parameters or by a result.
///
/// `None` if there is none, or if what is there could mean several things.
pub fn repair(content: &str, expected: &Expected<'_>, notes: &mut Notes) -> Option<Repair> {
    if notes.reading == Reading::Strict || content.len() > MAX_REPAIRED {
        return None;
    }
    let content = inside::parsed(content)?;
    let mut repairing = Notes::new(notes.reading);
    let mut found = inside::find(content)?;
    let refusal = found.refusal.take();
    if let Some(complaint) = refusal.or_else(|| inside::complaint(&found.message)) {
        return Some(Repair::Complaint(complaint));
    }
    let message = rewritten(found, expected, &mut repairing)?;
    notes.findings.append(&mut repairing.findings);
    Some(Repair::Message(message))
}

fn rewritten(
    found: inside::Found,
    expected: &Expected<'_>,
    notes: &mut Notes,
) -> Option<Box<RawValue>> {
    let mut message = found.message;
    let acknowledges = found.place.is_none() && acknowledges(&message);
    if let Some(place) = found.place {
        let detail = format!(
            "the message is inside `{}`; send it by itself",
            excerpt(&place)
        );
        forgive(notes, "", "a message", detail);
    }
    let dialect = expected.dialect.unwrap_or_else(|| dialect(&message));
    let kind = kind(&mut message, expected, notes)?;
    let dialect = settle(dialect, kind, expected, &message);
    let Schemas { strict, lenient } = SCHEMAS.get(&(dialect, kind))?;
    // What was put into its place no longer stands in the way of others.
    let mut passes = 0..MOST_PASSES;
    while fit::fit(strict, lenient, &mut message, notes) {
        passes.next()?;
    }
    if kind == JOIN_ACK && !message.contains_key("accept") {
        (acknowledges && fit::is_plain(strict, &message)).then_some(())?;
        join(&mut message, notes);
    }
    protocol(dialect, &mut message, notes);
    to_raw_value(&message).ok()
}

/// What says by its name that an invitation is accepted.
const JOIN_ACK: &str = "GAME_JOIN_ACK";

/// Whether a message says by its name alone that an invitation is accepted; one that leaves
/// something open may leave that open too.
fn acknowledges(message: &Map<String, Value>) -> bool {
    let named = message.get("message_type").and_then(Value::as_str);
    let is_whole = !message.values().any(inside::is_empty);
    named == Some(JOIN_ACK) && !message.contains_key("accept") && is_whole
}

/// Whoever acknowledges joining by the right name, and says nothing else, joins.
fn join(message: &mut Map<String, Value>, notes: &mut Notes) {
    let at = Path::root("000 §4.4.2");
    let at = at.member("accept", false);
    let detail = "`accept` is missing, so it is taken for `true`; add it";
    notes.forgive(Code::MissingField, &at, "`true` or `false`", detail);
    message.insert("accept".into(), true.into());
}

/// Writes the name of the protocol as it should be, if it is this one: another stays as it is.
fn protocol(dialect: Dialect, message: &mut Map<String, Value>, notes: &mut Notes) {
    let right = dialect.protocol();
    let named = message.get("protocol").and_then(Value::as_str);
    let Some(said) = named.filter(|said| *said != right) else {
        return;
    };
    let (folded, own) = (names::fold(said), names::fold(right));
    // `league.v2`, `LEAGUE-V2`, `v2` and `league.v2.1` are one protocol.
    let same = folded.starts_with(&own) || own.ends_with(&folded) && folded.starts_with('v');
    if same {
        let detail = format!("found `{}`; send `{right}`", excerpt(said));
        forgive(notes, "protocol", right, detail);
        message.insert("protocol".into(), right.into());
    }
}

/// The type that is meant, put where it belongs.
fn kind(
    message: &mut Map<String, Value>,
    expected: &Expected<'_>,
    notes: &mut Notes,
) -> Option<&'static str> {
    let named = names::take_type(message);
    let said = named.as_ref().map(|(_, said)| said.as_str());
    // Whoever names a type that there is means that one, also where it makes no sense.
    if said.is_some_and(|said| names::is_type(said) && names::meant(said, expected.types).is_none())
    {
        return None;
    }
    let by_word = said.and_then(|said| names::meant(said, expected.types));
    let by_method = || names::meant(expected.method?, expected.types);
    let only = || {
        expected
            .types
            .first()
            .copied()
            .filter(|_| expected.method.is_none())
    };
    let kind = by_word.or_else(by_method).or_else(only)?;
    match &named {
        Some((name, said)) if name == "message_type" && said == kind => {}
        Some((name, said)) => {
            let detail = format!(
                "found `{}` as `{}`; send `{kind}`",
                excerpt(said),
                excerpt(name)
            );
            forgive(notes, "message_type", kind, detail);
        }
        None => {
            let detail = format!("there is no `message_type`, so it is taken for `{kind}`; add it");
            notes_missing(notes, detail);
        }
    }
    message.insert("message_type".into(), kind.into());
    Some(kind)
}

fn notes_missing(notes: &mut Notes, detail: String) {
    let at = Path::root("000 §2.4.1");
    let at = at.member("message_type", false);
    notes.forgive(Code::MissingField, &at, "a message type", detail);
}

/// The dialect that a message claims, by whatever word.
fn dialect(message: &Map<String, Value>) -> Dialect {
    let protocol = message.get("protocol").and_then(Value::as_str);
    match protocol.is_some_and(|protocol| protocol.to_ascii_lowercase().contains("v1")) {
        true => Dialect::V1,
        false => Dialect::V2,
    }
}

/// A dialect that has the type, and the spelling of it that fits best.
fn settle(
    dialect: Dialect,
    kind: &str,
    expected: &Expected<'_>,
    message: &Map<String, Value>,
) -> Dialect {
    let has = |dialect: &Dialect| types(*dialect).contains(&kind);
    let dialect = match has(&dialect) {
        true => dialect,
        false => Dialect::ALL.into_iter().find(has).unwrap_or(dialect),
    };
    if dialect != Dialect::V2 || expected.dialect.is_some() {
        return dialect;
    }
    // Both spellings of `league.v2` have most types; the fields tell them apart.
    let raw = to_raw_value(message).ok();
    let members = raw.as_deref().and_then(|raw| members(raw.get()).ok());
    members.map_or(dialect, |members| recognise(kind, &members))
}

/// Notes something that is forgiven at a place of a message.
fn forgive(notes: &mut Notes, place: &str, expected: &str, detail: String) {
    let root = Path::root("ruling 13");
    match place {
        "" => notes.forgive(Code::InvalidMessage, &root, expected, detail),
        place => {
            let at = root.member(place, false);
            notes.forgive(Code::InvalidMessage, &at, expected, detail);
        }
    }
}
