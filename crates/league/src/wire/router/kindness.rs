//! Calls that are not as the documents have them, taken for what they must mean.
//!
//! Nothing here is tried before the exact reading has failed, nor in a strict league. What is
//! forgiven inside a message is decided in `protocol/lenient`; here it is decided for calls.

use league_protocol::fault::Code;
use league_protocol::finding::{Finding, Notes, Path, Reading, excerpt};
use league_protocol::lenient::{self, Expected, Repair};
use league_protocol::rpc::members::split;
use league_protocol::schema::message_names;
use league_protocol::sender::{CallStyle, Dialect};
use serde_json::value::RawValue;

use super::asked::Asked;

use super::registry::{Manifest, Takes, ToolEntry};
use super::role::Caller;
use super::understanding::ToldOf;

/// A message that was made out, and what had to be forgiven for it.
pub(super) struct MadeOut {
    pub(super) message: Box<RawValue>,
    pub(super) findings: Vec<Finding>,
}

impl MadeOut {
    /// The message, as if it had come so.
    pub(super) fn told<'t>(&'t self, caller: Caller<'t>) -> ToldOf<'t> {
        ToldOf {
            raw: &self.message,
            caller,
            entry: None,
            method: None,
            speech: None,
            forgiven: self.findings.clone(),
        }
    }
}

/// Makes out the message in the parameters of a call, among those that an agent takes.
pub(super) fn make_out(
    card: &Manifest,
    entry: Option<&ToolEntry>,
    method: Option<&str>,
    params: &str,
) -> Option<MadeOut> {
    let types = types(card, entry);
    let expected = Expected {
        types: &types,
        method,
        dialect: None,
    };
    let mut notes = Notes::new(Reading::Lenient);
    match lenient::repair(params, &expected, &mut notes)? {
        Repair::Message(message) => Some(MadeOut {
            message,
            findings: notes.findings,
        }),
        Repair::Complaint(_) => None,
    }
}

/// The types that an agent takes, those of the tool first, in all dialects.
fn types(card: &Manifest, entry: Option<&ToolEntry>) -> Vec<&'static str> {
    let mut types = Vec::new();
    for entry in entry.into_iter().chain(card.tools) {
        let own = match entry.takes {
            Takes::Message(kinds) => kinds,
            Takes::Arguments(_) => &[],
        };
        for kind in own.iter().chain(entry.also) {
            types.extend([*kind].into_iter().chain(other_name(kind)));
        }
    }
    types
}

/// What a type is called in another dialect.
fn other_name(kind: &str) -> Option<&'static str> {
    Some(match kind {
        "GAME_OVER" => "GAME_RESULT",
        "ROUND_COMPLETED" => "ROUND_COMPLETE",
        "LEAGUE_COMPLETED" => "LEAGUE_COMPLETE",
        "CHOOSE_PARITY_CALL" => "PLAY_REQUEST",
        "LEAGUE_QUERY" => "QUERY_STANDINGS_REQUEST",
        _ => return None,
    })
}

/// The layout of a call with a message in it.
pub(super) fn layout_of(asked: &Asked<'_>) -> CallStyle {
    let is_type = message_names(&Dialect::ALL).any(|(_, name)| name == asked.tool);
    CallStyle::of_call(asked.tool, is_type, asked.holder())
}

/// The finding for a layout that the documents do not have.
pub(super) fn note_layout(layout: CallStyle) -> Option<Finding> {
    let holder = layout.holder()?;
    let detail = format!("the message is in `params.{holder}`; send it as `params`");
    note("params", "a message", detail)
}

/// What is to be said of a method that is neither a tool nor the type of a message.
pub(super) fn note_method(method: &str, known: bool) -> Option<Finding> {
    if known {
        return None;
    }
    let shown = excerpt(method);
    let detail = format!("there is no method `{shown}`; name the tool");
    note("method", "the name of a tool", detail)
}

/// What is to be said of a message that came without any frame.
pub(super) fn note_bare() -> Option<Finding> {
    let detail = "the message has no JSON-RPC frame; send it as `params` of a call";
    note("", "a JSON-RPC 2.0 request", detail.to_owned())
}

/// What is to be said of a player that asks again although it was admitted.
pub(super) fn note_wish() -> Option<Finding> {
    let detail = "it asks again although it was admitted, so it is told `REGISTERED`; take \
                  `ACCEPTED` for an admission";
    note("status", "`ACCEPTED`", detail.to_owned())
}

fn note(place: &str, expected: &str, detail: String) -> Option<Finding> {
    let mut notes = Notes::new(Reading::Lenient);
    let root = Path::root("ruling 2");
    match place {
        "" => notes.forgive(Code::InvalidMessage, &root, expected, detail),
        place => {
            let at = root.member(place, false);
            notes.forgive(Code::InvalidMessage, &at, expected, detail);
        }
    }
    notes.findings.pop()
}

/// Whether parameters hold a message, of whichever type.
pub(super) fn is_message(params: &str) -> bool {
    split(params).is_ok_and(|members| members.has("message_type"))
}
