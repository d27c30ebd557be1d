//! The tools, resources and prompts of an agent, in plain types.

use std::collections::BTreeMap;
use std::fmt;
use std::future::ready;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;

use serde_json::value::RawValue;
use serde_json::{Map, Value};

pub type BoxFuture<'o, T> = Pin<Box<dyn Future<Output = T> + Send + 'o>>;

/// The tools of an agent, and its resources and prompts if it has any.
pub trait Offering: Send + Sync + 'static {
    fn about(&self) -> About;

    /// Lists the tools, always in the same order.
    fn tools(&self) -> &[Tool];

    /// Calls a tool; `None` for an unknown tool.
    fn call<'o>(
        &'o self,
        tool: &'o str,
        arguments: Option<&'o RawValue>,
        caller: McpCaller,
    ) -> BoxFuture<'o, Option<ToolAnswer>>;

    /// Lists the resources that have an address of their own.
    fn resources(&self) -> BoxFuture<'_, Vec<Resource>> {
        Box::pin(ready(Vec::new()))
    }

    /// Lists the patterns by which further resources are found.
    fn templates(&self) -> &[Template] {
        &[]
    }

    /// Reads a resource; `None` for an unknown address.
    fn read<'o>(
        &'o self,
        _uri: &'o str,
        _caller: McpCaller,
    ) -> BoxFuture<'o, Option<ResourceText>> {
        Box::pin(ready(None))
    }

    fn prompts(&self) -> &[Prompt] {
        &[]
    }

    /// Writes a prompt.
    fn prompt<'o>(
        &'o self,
        _name: &'o str,
        _arguments: BTreeMap<String, String>,
    ) -> BoxFuture<'o, Result<String, PromptFault>> {
        Box::pin(ready(Err(PromptFault::Unknown)))
    }

    /// Lists values that an argument may have.
    fn complete<'o>(&'o self, _wanted: Completing) -> BoxFuture<'o, Vec<String>> {
        Box::pin(ready(Vec::new()))
    }
}

/// Name and version of the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct About {
    /// The name for programs.
    pub name: String,
    /// The name for people.
    pub title: String,
    pub version: String,
    /// What an assistant should know before it begins.
    pub instructions: String,
}

/// The caller, as far as the transport knows.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct McpCaller {
    /// The token of `Authorization: Bearer`.
    pub bearer: Option<String>,
    pub origin: Origin,
}

/// Where a call comes from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Origin {
    /// Not known, so it may be anywhere.
    #[default]
    Unknown,
    /// By a pipe, from the process that started the agent.
    Pipe,
    /// Over a network.
    Network {
        /// The address of the caller.
        from: IpAddr,
        /// The address of ours at which the call arrived.
        at: IpAddr,
    },
}

/// Shows whether there is a token, but not the token.
impl fmt::Debug for McpCaller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bearer = self.bearer.as_ref().map(|_| "…");
        let mut told = f.debug_struct("Caller");
        told.field("bearer", &bearer);
        told.field("origin", &self.origin).finish()
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct Tool {
    pub name: &'static str,
    /// The name for people.
    pub title: &'static str,
    /// What it does, and when to use it.
    pub description: &'static str,
    /// The JSON Schema of its arguments.
    pub input_schema: Arc<Map<String, Value>>,
    /// The JSON Schema of what it gives.
    pub output_schema: Arc<Map<String, Value>>,
    /// Whether calling it changes nothing.
    pub read_only: bool,
    /// Whether calling it again with the same arguments changes nothing more.
    pub idempotent: bool,
}

/// The result of a tool.
#[derive(Debug, Clone)]
pub struct ToolAnswer {
    /// A JSON object.
    pub answer: Box<RawValue>,
    pub failed: bool,
}

/// Something that can be read at an address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resource {
    pub uri: String,
    /// The name for programs.
    pub name: String,
    /// The name for people.
    pub title: String,
    pub description: String,
    pub mime_type: &'static str,
}

/// A pattern of addresses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template {
    /// The pattern, with `{names}` in it.
    pub pattern: &'static str,
    /// The name for programs.
    pub name: &'static str,
    /// The name for people.
    pub title: &'static str,
    pub description: &'static str,
    pub mime_type: &'static str,
}

/// The content of a resource.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResourceText {
    pub mime_type: &'static str,
    pub text: String,
    /// How long it may be taken for the present state, in milliseconds.
    pub fresh_for: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prompt {
    pub name: &'static str,
    /// The name for people.
    pub title: &'static str,
    pub description: &'static str,
    pub arguments: &'static [Argument],
}

/// An argument of a prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Argument {
    pub name: &'static str,
    pub description: &'static str,
    pub required: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PromptFault {
    Unknown,
    /// The arguments do not fit; the sentence says why.
    Unfit(String),
}

/// An argument that is being typed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Completing {
    /// The prompt, or the pattern of addresses, that it belongs to.
    pub of: String,
    pub argument: String,
    pub typed: String,
}
