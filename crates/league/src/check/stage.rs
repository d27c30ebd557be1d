//! Where a check is played: the agent, and what all kinds of agents are asked alike.

use serde_json::Value;

use crate::net::endpoint::Endpoint;

/// A call of a tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    /// The tool.
    pub method: String,
    /// The message.
    pub params: Value,
}

impl Question {
    /// A call of a tool with a message.
    pub fn new(method: &str, params: Value) -> Self {
        Self {
            method: method.to_owned(),
            params,
        }
    }
}

/// The agent under check, and whoever plays the other side.
pub trait Stage: Send + Sync + Sized + 'static {
    /// Where the agent answers.
    fn agent(&self) -> &Endpoint;

    /// A call that any agent of this kind answers with a result; a new one each time.
    fn question(&self) -> impl Future<Output = Question> + Send;

    /// Starts the agent again if it is gone and that is in our power; says whether it was gone.
    fn revive(&self) -> impl Future<Output = bool> + Send;
}
