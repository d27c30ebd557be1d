//! What the agent under check said to others, shown in the report as it was said.

use std::time::Duration;

use super::OfReferee;
use crate::check::listener::Heard;
use crate::check::rule::{Played, Trouble, hold};
use crate::check::wire::{Answer, Exchange};
use crate::check::envelope;

/// Notes what was overheard, so that the report can show it.
pub(super) fn note(act: &OfReferee, heard: &Heard, listener: &str) {
    act.note(Exchange {
        sent: format!("(the referee called {listener})"),
        came: Ok(Answer {
            status: 200,
            headers: Vec::new(),
            body: heard.body.to_vec(),
        }),
        took: Duration::ZERO,
    });
}

/// Sees that a call is posted as JSON and framed as JSON-RPC, by the name of a tool.
pub(super) fn framed(heard: &Heard, tool: &str) -> Played {
    hold(heard.method == "POST", || {
        format!("the method of HTTP is {}", heard.method)
    })?;
    let kind = heard.headers.get("content-type");
    let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    hold(kind.starts_with("application/json"), || {
        format!("the media type is `{kind}`")
    })?;
    hold(heard.json["jsonrpc"] == "2.0", || {
        "`jsonrpc` is not \"2.0\"".to_owned()
    })?;
    hold(heard.tool() == Some(tool), || {
        format!("the method is {} instead of `{tool}`", heard.json["method"])
    })?;
    hold(heard.json["params"].is_object(), || {
        "`params` is no object".to_owned()
    })?;
    hold(heard.json.get("id").is_some(), || {
        "there is no `id`".to_owned()
    })
}

/// Sees that the envelope of a message of the referee is whole.
pub(super) fn enveloped(act: &OfReferee, heard: &Heard) -> Played {
    let message = heard.message();
    envelope::protocol(message)?;
    envelope::time(message, "timestamp", false)?;
    let conversation = envelope::text(message, "conversation_id")?;
    hold(!conversation.is_empty(), || {
        "`conversation_id` is empty".to_owned()
    })?;
    match act.stage.office.admission() {
        Some(admission) => envelope::is(message, "sender", &format!("referee:{}", admission.id)),
        None => Err(Trouble::skipped("the referee has no id here", "")),
    }
}
