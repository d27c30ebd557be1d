//! What an agent has to offer over MCP, in plain types.

use std::collections::BTreeMap;
use std::fmt;
use std::net::IpAddr;
use std::pin::Pin;

use serde_json::value::RawValue;
use serde_json::{Map, Value};

/// An answer on its way.
pub type Pending<'o, T> = Pin<Box<dyn Future<Output = T> + Send + 'o>>;

/// What an agent has to offer: tools, resources, prompts.
pub trait Offering: Send + Sync + 'static {
    /// Says who offers it.
    fn about(&self) -> About;

    /// Lists the tools, always in the same order.
    fn tools(&self) -> &[Tool];

    /// Calls a tool; `None` if there is no such tool.
    fn call<'o>(
        &'o self,
        tool: &'o str,
        arguments: Option<&'o RawValue>,
        caller: Caller,
    ) -> Pending<'o, Option<Given>>;

    /// Lists the resources that have an address of their own.
    fn resources(&self) -> Pending<'_, Vec<Resource>>;

    /// Lists the patterns by which further resources are found.
    fn templates(&self) -> &[Template];

    /// Reads a resource; `None` if there is none at that address.
    fn read<'o>(&'o self, uri: &'o str, caller: Caller) -> Pending<'o, Option<Read>>;

    /// Lists the prompts.
    fn prompts(&self) -> &[Prompt];

    /// Writes a prompt.
    fn prompt<'o>(
        &'o self,
        name: &'o str,
        arguments: BTreeMap<String, String>,
    ) -> Pending<'o, Result<String, PromptFault>>;

    /// Lists values that an argument may have.
    fn complete<'o>(&'o self, wanted: Completing) -> Pending<'o, Vec<String>>;
}

/// Who offers something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct About {
    /// The name for programs.
    pub name: String,
    /// The name for people.
    pub title: String,
    /// Which version of it.
    pub version: String,
    /// What an assistant should know before it begins.
    pub instructions: String,
}

/// Who calls, as far as the transport can tell.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Caller {
    /// What `Authorization: Bearer` held.
    pub bearer: Option<String>,
    /// Where the call comes from.
    pub origin: Origin,
}

/// Where a call comes from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Origin {
    /// Nobody can tell, so it may be anywhere.
    #[default]
    Unknown,
    /// From whoever launched the agent, by a pipe.
    Pipe,
    /// Over a network.
    Network {
        /// The address of the caller.
        from: IpAddr,
        /// The address of ours at which the call arrived.
        at: IpAddr,
    },
}

/// Tells whether there is a token, and not which.
impl fmt::Debug for Caller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bearer = self.bearer.as_ref().map(|_| "…");
        let mut told = f.debug_struct("Caller");
        told.field("bearer", &bearer);
        told.field("origin", &self.origin).finish()
    }
}

/// A tool.
#[derive(Debug, Clone, PartialEq)]
pub struct Tool {
    /// The name that it is called by.
    pub name: &'static str,
    /// The name for people.
    pub title: &'static str,
    /// What it does, and when to use it.
    pub description: &'static str,
    /// The JSON Schema of its arguments.
    pub input_schema: Map<String, Value>,
    /// The JSON Schema of what it gives.
    pub output_schema: Map<String, Value>,
    /// Whether calling it changes nothing.
    pub read_only: bool,
    /// Whether calling it again with the same arguments changes nothing more.
    pub idempotent: bool,
}

/// What a tool gave.
#[derive(Debug, Clone)]
pub struct Given {
    /// A JSON object.
    pub answer: Box<RawValue>,
    /// Whether it tells of a failure.
    pub failed: bool,
}

/// Something that can be read at an address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resource {
    /// The address.
    pub uri: String,
    /// The name for programs.
    pub name: String,
    /// The name for people.
    pub title: String,
    /// What it holds.
    pub description: String,
    /// The media type.
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
    /// What is found there.
    pub description: &'static str,
    /// The media type.
    pub mime_type: &'static str,
}

/// What was read at an address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Read {
    /// The media type.
    pub mime_type: &'static str,
    /// The text.
    pub text: String,
    /// How long it may be taken for the present state, in milliseconds.
    pub fresh_for: u64,
}

/// A prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prompt {
    /// The name that it is asked for by.
    pub name: &'static str,
    /// The name for people.
    pub title: &'static str,
    /// What it is good for.
    pub description: &'static str,
    /// What it wants to be told.
    pub arguments: &'static [Argument],
}

/// Something that a prompt wants to be told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Argument {
    /// Its name.
    pub name: &'static str,
    /// What it says.
    pub description: &'static str,
    /// Whether the prompt cannot do without.
    pub required: bool,
}

/// Why a prompt was not written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PromptFault {
    /// There is none of that name.
    Unknown,
    /// What it was told does not do; the sentence says why.
    Unfit(String),
}

/// An argument that is being typed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Completing {
    /// The prompt, or the pattern of addresses, that it belongs to.
    pub of: String,
    /// Its name.
    pub argument: String,
    /// What has been typed.
    pub typed: String,
}
