//! The calls of one stream that still wait for their answers.
//!
//! Over HTTP each exchange stands alone and this is not needed; a session or a pipe is one long
//! exchange, in which an id that is used twice at once would make two answers look alike.

use std::collections::BTreeSet;

use super::error::RpcError;
use super::id::Id;

/// How many calls of one stream may wait at once.
pub const MAX_IN_FLIGHT: usize = 1024;

/// The ids of a stream's unanswered calls.
#[derive(Debug, Clone, Default)]
pub struct InFlight {
    ids: BTreeSet<String>,
}

impl InFlight {
    /// Notes a call.
    ///
    /// # Errors
    ///
    /// Returns the error to answer with if the id is in use, or if too many calls wait already.
    pub fn begin(&mut self, id: &Id<'_>) -> Result<(), RpcError> {
        if self.ids.contains(&key(id)) {
            let message = "`id` is in use by a call that still waits. Send another id.";
            return Err(RpcError::invalid_request(message));
        }
        if self.ids.len() >= MAX_IN_FLIGHT {
            let message = format!("{MAX_IN_FLIGHT} calls wait already. Wait for an answer first.");
            return Err(RpcError::invalid_request(message));
        }
        self.ids.insert(key(id));
        Ok(())
    }

    /// Notes that a call was answered.
    pub fn end(&mut self, id: &Id<'_>) {
        self.ids.remove(&key(id));
    }
}

/// Spells a string in one way, however it was escaped; numbers stay as they are.
fn key(id: &Id<'_>) -> String {
    match serde_json::from_str::<String>(id.token()) {
        Ok(text) => format!("\"{text}"),
        Err(_) => id.token().to_owned(),
    }
}
