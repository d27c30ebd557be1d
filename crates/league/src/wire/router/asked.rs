//! What a call asks for: a tool, and the message or the arguments in it.

use league_protocol::rpc::members::{Members, split};
use league_protocol::rpc::{Call, RpcError};
use league_protocol::sender::Dialect;
use league_protocol::time::Timestamp;
use league_protocol::token::AuthToken;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::role::ToolArguments;

/// What a call asks for.
pub(super) struct Asked<'c> {
    pub(super) tool: &'c str,
    params: Option<&'c RawValue>,
}

impl<'c> Asked<'c> {
    /// Reads a call by the name of a tool.
    pub(super) fn of(call: &'c Call<'c>) -> Result<Self, RpcError> {
        Ok(Self::with(&call.method, call.params.named()?))
    }

    /// Takes a tool and what it is told.
    pub(super) fn with(tool: &'c str, params: Option<&'c RawValue>) -> Self {
        Self { tool, params }
    }

    /// The message in it: the parameters themselves, or their `message` or `arguments`.
    pub(super) fn message(&self) -> Option<&'c RawValue> {
        self.found().map(|(message, _)| message)
    }

    /// The member of the parameters that holds the message, if they are not the message.
    pub(super) fn holder(&self) -> Option<&'static str> {
        self.found().and_then(|(_, holder)| holder)
    }

    fn found(&self) -> Option<(&'c RawValue, Option<&'static str>)> {
        let params = self.params?;
        let members: Members<'c> = split(params.get()).ok()?;
        if members.has("message_type") {
            return Some((params, None));
        }
        let mut holders = ["message", "arguments"].into_iter();
        let (inner, holder) = holders.find_map(|name| Some((members.get(name)?, name)))?;
        let is_message = split(inner.get()).is_ok_and(|members| members.has("message_type"));
        is_message.then_some((inner, Some(holder)))
    }

    /// The parameters as a message of a kind, with what of the envelope was left out put in.
    ///
    /// Only what is certain is put in: who says it is not.
    pub(super) fn enveloped(&self, kind: &str, at: Timestamp) -> Option<Box<RawValue>> {
        let given = self.params.map_or("{}", RawValue::get);
        let members = split(given).ok()?;
        let certain = [
            ("protocol", Dialect::V2.protocol().to_owned()),
            ("message_type", kind.to_owned()),
            ("timestamp", at.to_seconds_text()),
            (
                "conversation_id",
                format!("conv-mcp-{}", kind.to_ascii_lowercase()),
            ),
        ];
        let quoted = |text: &str| Value::from(text).to_string();
        let left_out = certain.iter().filter(|(name, _)| !members.has(name));
        let put_in = left_out.map(|(name, value)| (*name, quoted(value)));
        let given = members
            .iter()
            .map(|(name, value)| (name, value.get().to_owned()));
        let written = put_in
            .chain(given)
            .map(|(name, value)| format!("{}:{value}", quoted(name)));
        let text = format!("{{{}}}", written.collect::<Vec<_>>().join(","));
        RawValue::from_string(text).ok()
    }

    pub(super) fn arguments(&self, bearer: Option<&str>) -> ToolArguments {
        let members = self
            .params
            .and_then(|raw| serde_json::from_str(raw.get()).ok());
        let members: Map<String, Value> = members.unwrap_or_default();
        let token = members.get("auth_token").and_then(Value::as_str);
        let token = token.filter(|token| !token.is_empty()).or(bearer);
        ToolArguments {
            token: token.map(AuthToken::new),
            members,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn enveloped(given: Option<&str>) -> Option<Value> {
        let given = given.map(|given| RawValue::from_string(given.to_owned()).unwrap());
        let asked = Asked::with("league_query", given.as_deref());
        let raw = asked.enveloped("LEAGUE_QUERY", Timestamp::from_millis(0))?;
        serde_json::from_str(raw.get()).ok()
    }

    #[test]
    fn what_is_left_out_of_an_envelope_is_put_in_however_the_rest_is_written() {
        let bare = json!({
            "protocol": "league.v2", "message_type": "LEAGUE_QUERY",
            "timestamp": "1970-01-01T00:00:00Z", "conversation_id": "conv-mcp-league_query",
        });
        for given in [None, Some("{}"), Some("{ }"), Some(" {\n\t} ")] {
            assert_eq!(enveloped(given), Some(bare.clone()), "{given:?}");
        }
        let mut full = bare;
        full["a\"b"] = json!([",}", 1.50]);
        full["protocol"] = json!("league.v1");
        let given = r#"{ "a\"b" : [",}", 1.50] , "protocol":"league.v1"}"#;
        assert_eq!(enveloped(Some(given)), Some(full));
        assert_eq!(enveloped(Some("[]")), None);
    }
}
