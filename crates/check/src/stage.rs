//! Where a check is played: the agent, and what all kinds of agents are asked alike.

use serde_json::Value;

use super::habit::Habit;
use crate::Target;

/// A call of a tool, or of a method.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    /// The tool.
    pub method: String,
    /// The message.
    pub params: Value,
    /// Whether it is a tool that is called, and not a method of JSON-RPC itself.
    pub is_tool: bool,
}

impl Question {
    /// A call of a tool with a message.
    pub fn new(method: &str, params: Value) -> Self {
        Self {
            method: method.to_owned(),
            params,
            is_tool: true,
        }
    }

    /// A call of a method that is no tool.
    pub fn method(method: &str, params: Value) -> Self {
        Self {
            is_tool: false,
            ..Self::new(method, params)
        }
    }
}

/// The agent under check, and whoever plays the other side.
pub trait Stage: Send + Sync + Sized + 'static {
    /// Where the agent answers.
    fn agent(&self) -> &Target;

    /// How the agent takes calls; by the name of the tool, unless a stage found out otherwise.
    fn habit(&self) -> &Habit {
        &Habit::Simple
    }

    /// A call that any agent of this kind answers with a result; a new one each time.
    fn question(&self) -> impl Future<Output = Question> + Send;

    /// Starts the agent again if it is gone and that is in our power; says whether it was gone.
    fn revive(&self) -> impl Future<Output = bool> + Send;
}
