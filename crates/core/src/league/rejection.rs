//! Why an agent is not let in: the reasons of ruling 7, each with what to do about it.

use league_protocol::id::GameType;
use league_protocol::sender::Agent;
use thiserror::Error;

/// Why an agent is not let in; begins with the documents' own words.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub(super) enum Rejection {
    #[error("Unsupported game type: `{0}` is played here; name it in `game_types`")]
    Game(GameType),
    #[error("Invalid endpoint: {0}")]
    Endpoint(String),
    #[error("Invalid endpoint: it is not the registered one; show the return token to move")]
    Moved,
    /// The name is another's, or nothing proves that it is the candidate's own.
    #[error(
        "Duplicate display name: `{name}` is taken by {holder}; choose another, or show the token \
         that registration gave you if it is yours"
    )]
    Name { name: String, holder: String },
    #[error("Registration closed")]
    Closed,
}

impl Rejection {
    /// Says whose name it is.
    pub(super) fn taken(name: &str, holder: &Agent) -> Self {
        let name = name.to_owned();
        let holder = match holder {
            Agent::Player(id) => id.to_string(),
            Agent::Referee(id) => id.to_string(),
            Agent::Manager => holder.to_string(),
        };
        Self::Name { name, holder }
    }
}
