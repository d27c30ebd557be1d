//! What a call asks for: a tool, and the message or the arguments in it.

use league_protocol::rpc::members::{Members, split, text};
use league_protocol::rpc::{Call, RpcError};
use league_protocol::token::AuthToken;
use serde_json::Value;
use serde_json::value::RawValue;

use super::Arguments;

/// What a call asks for.
pub(super) struct Asked<'c> {
    pub(super) tool: String,
    params: Option<&'c RawValue>,
    /// Whether it came as MCP's `tools/call`, and is answered so.
    pub(super) wrapped: bool,
}

impl<'c> Asked<'c> {
    pub(super) fn of(call: &Call<'c>) -> Result<Self, RpcError> {
        let params = call.params.named()?;
        if call.method != "tools/call" {
            return Ok(Self {
                tool: call.method.clone().into_owned(),
                params,
                wrapped: false,
            });
        }
        let members = params.and_then(|params| split(params.get()).ok());
        let members = members.unwrap_or_default();
        let Some(tool) = members.get("name").and_then(text) else {
            let message = "`params.name` must be the name of a tool.";
            return Err(RpcError::invalid_params(message));
        };
        Ok(Self {
            tool: tool.into_owned(),
            params: members.get("arguments"),
            wrapped: true,
        })
    }

    /// The message in it: the parameters themselves, or their `message` or `arguments`.
    pub(super) fn message(&self) -> Option<&'c RawValue> {
        let params = self.params?;
        let members: Members<'c> = split(params.get()).ok()?;
        if members.has("message_type") {
            return Some(params);
        }
        let inner = members
            .get("message")
            .or_else(|| members.get("arguments"))?;
        let is_message = split(inner.get()).is_ok_and(|members| members.has("message_type"));
        is_message.then_some(inner)
    }

    pub(super) fn arguments(&self) -> Arguments {
        let members = self
            .params
            .and_then(|raw| serde_json::from_str(raw.get()).ok());
        let members: serde_json::Map<String, Value> = members.unwrap_or_default();
        let token = members.get("auth_token").and_then(Value::as_str);
        Arguments {
            token: token.filter(|token| !token.is_empty()).map(AuthToken::new),
            members,
        }
    }
}
