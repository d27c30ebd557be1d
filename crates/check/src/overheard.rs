//! What the agent under check said to others, shown in the report as it was said.

use super::act::Act;
use super::envelope;
use super::listener::Heard;
use super::rule::{Played, hold};
use super::stage::Stage;
use super::wire::Exchange;

/// Notes what was overheard, so that the report can show it.
pub(super) fn note<S: Stage>(act: &Act<S>, heard: &Heard, listener: &'static str) {
    act.note(Exchange::overheard(listener, &heard.body));
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

/// Sees that the envelope of a message is whole, and who sent it.
pub(super) fn enveloped(heard: &Heard, sender: &str) -> Played {
    let message = heard.message();
    envelope::protocol(message)?;
    envelope::time(message, "timestamp", false)?;
    let conversation = envelope::text(message, "conversation_id")?;
    hold(!conversation.is_empty(), || {
        "`conversation_id` is empty".to_owned()
    })?;
    envelope::is(message, "sender", sender)
}
