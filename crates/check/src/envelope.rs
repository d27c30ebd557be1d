//! The envelope of what an agent sends, member by member, by the letter of 000 §2.4.

use serde_json::Value;

use super::rule::{Played, Trouble, hold};
use super::script::{TimeFault, utc};

/// Sees that a text is there; what is missing is forgiven by a lenient league.
///
/// # Errors
///
/// Says that it is missing, or no text.
pub fn text<'m>(message: &'m Value, name: &str) -> Result<&'m str, Trouble> {
    match message.get(name) {
        None | Some(Value::Null) => Err(Trouble::forgiven(format!("`{name}` is missing"))),
        Some(Value::String(text)) => Ok(text),
        Some(other) => Err(Trouble::broken(format!("`{name}` is {other}, not a text"))),
    }
}

/// Sees that the protocol is named.
///
/// # Errors
///
/// Says what is named instead.
pub fn protocol(message: &Value) -> Played {
    let named = text(message, "protocol")?;
    hold(named == "league.v2", || {
        format!("`protocol` is `{named}` instead of `league.v2`")
    })
}

/// Sees that a member is a time in UTC. A missing one is forgiven, and one that says UTC in another
/// form; one without zone only in the body of a message, where `in_body` says so.
///
/// # Errors
///
/// Says what is wrong with it.
pub fn time(message: &Value, name: &str, in_body: bool) -> Played {
    match utc(message.get(name)) {
        Ok(_) => Ok(()),
        Err(fault) => {
            let found = format!("`{name}` {}", fault.as_str());
            let forgiven = match fault {
                TimeFault::Missing | TimeFault::Spelling => true,
                TimeFault::NoZone => in_body,
                TimeFault::NoTime | TimeFault::Offset => false,
            };
            Err(if forgiven {
                Trouble::forgiven(found)
            } else {
                Trouble::broken(found)
            })
        }
    }
}

/// Sees that a message answers in the conversation that it was asked in.
///
/// # Errors
///
/// Says which conversation is named instead.
pub fn conversation(asked: &Value, message: &Value) -> Played {
    let named = text(message, "conversation_id")?;
    hold(asked["conversation_id"] == named, || {
        format!("`conversation_id` is `{named}`, not that of the call")
    })
}

/// Sees that a member repeats what was asked.
///
/// # Errors
///
/// Says what stands there instead.
pub fn repeated(asked: &Value, message: &Value, name: &str) -> Played {
    match message.get(name) {
        None | Some(Value::Null) => Err(Trouble::broken(format!("`{name}` is missing"))),
        Some(found) => hold(*found == asked[name], || {
            format!("`{name}` is {found} instead of {}", asked[name])
        }),
    }
}

/// Sees that a member is a text of this value; a missing one is forgiven.
///
/// # Errors
///
/// Says what stands there instead.
pub fn is(message: &Value, name: &str, wanted: &str) -> Played {
    let found = text(message, name)?;
    hold(found == wanted, || {
        format!("`{name}` is `{found}` instead of `{wanted}`")
    })
}

/// Whether a text is a version: three numbers, and what may stand behind them.
pub fn is_version(text: &str) -> bool {
    let numbers = text.split(['-', '+']).next().unwrap_or_default();
    let parts: Vec<_> = numbers.split('.').map(str::parse::<u32>).collect();
    parts.len() == 3 && parts.iter().all(Result::is_ok)
}
