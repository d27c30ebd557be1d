//! Repairs malformed input into the message that its sender meant.
//!
//! Runs only after exact decoding has failed, and only for lenient readers. The repair follows the
//! message schemas, not a list of known mistakes: a value that fits exactly one place is put there,
//! and each step is noted. Ambiguous values stay as they are.

mod candidates;
mod ending;
mod fit;
mod inside;
mod names;
mod values;

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value};

use crate::decode::recognise;
use crate::fault::Code;
use crate::finding::{Notes, Path, Reading, excerpt};
use crate::message::types;
use crate::rpc::members::members;
use crate::schema::message_schema;
use crate::sender::Dialect;

pub(crate) use candidates::{Candidates, candidates, tells};
pub(crate) use names::fold;
pub use names::meant;

/// The largest message that is repaired, in bytes; larger messages are judged as they are.
pub const MAX_REPAIRED: usize = 64 * 1024;

/// How many passes a repair may take; a message that still changes after them is ambiguous.
const MAX_PASSES: usize = 8;

/// The strict schema of a message, and the lenient one with only the required fields.
struct Schemas {
    strict: Value,
    lenient: Value,
}

/// The schemas of all messages of all dialects, built once.
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

/// The context of a message that could not be decoded, and the types that it can have.
#[derive(Debug, Clone, Copy)]
pub struct Expected<'e> {
    /// The types that make sense here, the likeliest first.
    pub types: &'e [&'static str],
    /// The method of the call, if it was a call.
    pub method: Option<&'e str>,
    /// The dialect that the sender is known to speak.
    pub dialect: Option<Dialect>,
}

/// The outcome of a repair.
#[derive(Debug)]
pub enum Repair {
    /// A message in the spelling of its dialect.
    Message(Box<RawValue>),
    /// Not a message but a complaint, in the sender's own words.
    Complaint(String),
}

/// Looks for the intended message in a body, in parameters or in a result.
///
/// `None` if there is no message, or if the content is ambiguous.
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
    found: inside::MessagePlace,
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
    if kind == ending::GAME_OVER && dialect != Dialect::V1 {
        ending::arrange(&mut message, notes);
    }
    let dialect = settle(dialect, kind, expected, &message);
    let Schemas { strict, lenient } = SCHEMAS.get(&(dialect, kind))?;
    // A value that was put into its place no longer competes for other places.
    let mut passes = 0..MAX_PASSES;
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

/// The type whose name alone accepts an invitation.
const JOIN_ACK: &str = "GAME_JOIN_ACK";

/// Whether the type name alone accepts the invitation. A message with other gaps may have left the
/// acceptance open as well.
fn acknowledges(message: &Map<String, Value>) -> bool {
    let named = message.get("message_type").and_then(Value::as_str);
    let is_whole = !message.values().any(inside::is_empty);
    named == Some(JOIN_ACK) && !message.contains_key("accept") && is_whole
}

/// Accepts the invitation if the message has the right type and says nothing else.
fn join(message: &mut Map<String, Value>, notes: &mut Notes) {
    let at = Path::root("000 §4.4.2");
    let at = at.member("accept", false);
    let detail = "`accept` is missing, so it is taken for `true`; add it";
    notes.forgive(Code::MissingField, &at, "`true` or `false`", detail);
    message.insert("accept".into(), true.into());
}

/// Corrects the spelling of the protocol name; the name of another protocol stays as it is.
fn protocol(dialect: Dialect, message: &mut Map<String, Value>, notes: &mut Notes) {
    let right = dialect.protocol();
    let named = message.get("protocol").and_then(Value::as_str);
    let Some(said) = named.filter(|said| *said != right) else {
        return;
    };
    let (folded, own) = (names::fold(said), names::fold(right));
    // `league.v2`, `LEAGUE-V2`, `v2` and `league.v2.1` all name the same protocol.
    let same = folded.starts_with(&own) || own.ends_with(&folded) && folded.starts_with('v');
    if same {
        let detail = format!("found `{}`; send `{right}`", excerpt(said));
        forgive(notes, "protocol", right, detail);
        message.insert("protocol".into(), right.into());
    }
}

/// Finds the intended type and puts it where it belongs.
fn kind(
    message: &mut Map<String, Value>,
    expected: &Expected<'_>,
    notes: &mut Notes,
) -> Option<&'static str> {
    let named = names::take_type(message);
    let said = named.as_ref().map(|(_, said)| said.as_str());
    // An existing type is taken at its word, even where it makes no sense.
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

/// The dialect that a message claims, in any spelling.
fn dialect(message: &Map<String, Value>) -> Dialect {
    let protocol = message.get("protocol").and_then(Value::as_str);
    match protocol.is_some_and(|protocol| protocol.to_ascii_lowercase().contains("v1")) {
        true => Dialect::V1,
        false => Dialect::V2,
    }
}

/// Chooses a dialect that has the type, in the spelling that fits best.
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

/// Notes a forgiven departure at a place in a message.
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
