//! An agent's answer to a call, unchanged, with or without the JSON-RPC frame.

use std::time::Duration;

use league_protocol::peer::{self, ToolResult};
use serde_json::Value;
use serde_json::value::to_raw_value;

use crate::caller::answered;
use crate::rule::{Judgement, Trouble, hold};
use crate::wire::{NoAnswer, RoundTrip};

/// An answer to a call.
#[derive(Debug, Clone)]
pub struct Reply {
    /// The request and the response.
    pub trip: RoundTrip,
    /// The body as JSON, if it is JSON.
    pub json: Option<Value>,
    /// The result of an MCP tool, unwrapped.
    unwrapped: Option<Value>,
}

/// No answer at all.
pub(crate) static NO_REPLY: Reply = Reply {
    trip: RoundTrip {
        sent: String::new(),
        came: Err(NoAnswer::Closed(String::new())),
        took: Duration::ZERO,
        overheard: None,
    },
    json: None,
    unwrapped: None,
};

impl Reply {
    /// Reads the response of a round trip.
    /// No response breaks the rule.
    pub fn of(trip: RoundTrip) -> Result<Self, Trouble> {
        answered(&trip)?;
        Ok(Self::read(trip))
    }

    /// Reads a response; the body of an event stream is its last event with data.
    pub fn read(trip: RoundTrip) -> Self {
        let json = trip.came.as_ref().ok().and_then(|answer| {
            let events = answer
                .header("content-type")
                .is_some_and(|kind| kind.starts_with("text/event-stream"));
            if events {
                let text = answer.text();
                let data = text.lines().filter_map(|line| line.strip_prefix("data:"));
                data.filter_map(|data| serde_json::from_str(data).ok())
                    .next_back()
            } else {
                serde_json::from_slice(&answer.body).ok()
            }
        });
        let unwrapped = json.as_ref().and_then(unwrapped);
        Self {
            trip,
            json,
            unwrapped,
        }
    }

    /// The HTTP status; 0 without an answer.
    pub fn status(&self) -> u16 {
        let answer = self.trip.came.as_ref();
        answer.map_or(0, |answer| answer.status)
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.trip.came.as_ref().ok()?.header(name)
    }

    /// The body as text.
    pub fn text(&self) -> String {
        let answer = self.trip.came.as_ref();
        answer.map(|answer| answer.text()).unwrap_or_default()
    }

    /// Whether the answer has a JSON-RPC frame.
    pub fn is_framed(&self) -> bool {
        let json = self.json.as_ref();
        json.is_some_and(|json| json.get("jsonrpc").is_some())
    }

    /// The content: the `result` of a frame, or a bare message.
    pub fn result(&self) -> Option<&Value> {
        let json = self.json.as_ref()?;
        if self.unwrapped.is_some() {
            return self.unwrapped.as_ref();
        }
        if self.is_framed() {
            let failed = |result: &&Value| result["isError"] == true;
            let result = json.get("result").filter(|result| !result.is_null());
            return result.filter(|result| !failed(result));
        }
        let bare = json.is_object() && json.get("error").is_none_or(Value::is_null);
        bare.then_some(json)
    }

    /// The code of a JSON-RPC error.
    pub fn rpc_error(&self) -> Option<i64> {
        self.json.as_ref()?.get("error")?.get("code")?.as_i64()
    }

    /// The code of a league error, such as `E012`.
    pub fn league_error(&self) -> Option<&str> {
        self.result()?.get("error_code")?.as_str()
    }

    /// Whether the agent refused in any form: by an error of JSON-RPC, of the league, or of HTTP.
    pub fn is_refusal(&self) -> bool {
        self.result().is_none() || self.league_error().is_some() || self.status() >= 400
    }

    /// Whether the agent did not refuse.
    pub fn is_taken(&self) -> bool {
        !self.is_refusal()
    }

    /// The type of the message in the answer.
    pub fn message_type(&self) -> Option<&str> {
        self.result()?.get("message_type")?.as_str()
    }

    /// A member of the message in the answer.
    pub fn member(&self, name: &str) -> Option<&Value> {
        self.result()?.get(name)
    }

    /// A short description of the answer.
    pub fn describe(&self) -> String {
        match (&self.trip.came, &self.json) {
            (Err(silence), _) => silence.to_string(),
            (Ok(answer), None) => format!("HTTP {} without JSON", answer.status),
            (Ok(answer), Some(_)) => match (self.rpc_error(), self.league_error()) {
                (Some(code), _) => format!("the JSON-RPC error {code}"),
                (None, Some(code)) => format!("the league error {code}"),
                (None, None) => match self.message_type() {
                    Some(kind) => format!("a {kind}"),
                    None => format!("HTTP {} with other JSON", answer.status),
                },
            },
        }
    }

    /// The message in the answer.
    /// Breaks the rule if there is none.
    pub fn needed(&self) -> Result<&Value, Trouble> {
        self.result()
            .ok_or_else(|| Trouble::broken(format!("no message came, but {}", self.describe())))
    }

    /// The message in the answer, if it has one of these types.
    /// Breaks the rule if it has another type.
    pub fn of_kind(&self, kinds: &[&str]) -> Result<&Value, Trouble> {
        let message = self.needed()?;
        let found = self.message_type();
        if found.is_some_and(|found| kinds.contains(&found)) {
            return Ok(message);
        }
        let wanted = kinds.join(" or ");
        Err(Trouble::broken(format!(
            "{wanted} was due, but {} came",
            self.describe()
        )))
    }

    /// Passes if the agent did not refuse.
    /// Breaks the rule if the agent refused in any form.
    pub fn taken(&self) -> Judgement {
        hold!(!self.is_refusal(), else "the answer is {}", self.describe())
    }

    /// Passes if the agent refused, in any form.
    /// Breaks the rule if the agent accepted the call.
    pub fn refused(&self, what: &str) -> Judgement {
        hold!(self.is_refusal(), else "{what} was taken: the answer is {}", self.describe())
    }
}

/// The result of an MCP tool, read as a league reads it; a text that is not JSON becomes a string.
fn unwrapped(json: &Value) -> Option<Value> {
    let result = json.get("result")?;
    let content = result.get("content")?.as_array()?;
    match peer::tool_result(&to_raw_value(result).ok()?).ok()? {
        ToolResult::Message(message) => serde_json::from_str(message.get()).ok(),
        ToolResult::Acknowledged => content.first()?.get("text").cloned(),
        ToolResult::Failed(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_a_tool_gave_is_found_in_each_wrapping() {
        let message = json!({"message_type": "GAME_JOIN_ACK"});
        let text = |said: &str| json!([{"type": "text", "text": said}]);
        let inside = message.to_string();
        let cases = [
            (json!({"content": text(&inside)}), Some(message.clone())),
            (
                json!({"content": text("see there"), "structuredContent": message}),
                Some(message.clone()),
            ),
            (
                json!({"content": [], "structuredContent": {"result": message}}),
                Some(message.clone()),
            ),
            (
                json!({"content": text(&inside), "structuredContent": {"result": inside}}),
                Some(message.clone()),
            ),
            (
                json!({"content": text("noted"), "structuredContent": {"result": "noted"}}),
                Some(json!("noted")),
            ),
            (json!({"content": text("no"), "isError": true}), None),
            (json!({"content": []}), None),
            (message, None),
        ];
        for (result, told) in cases {
            let json = json!({"jsonrpc": "2.0", "id": 1, "result": result});
            assert_eq!(unwrapped(&json), told, "{json}");
        }
    }
}
