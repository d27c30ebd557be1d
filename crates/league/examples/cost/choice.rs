//! The work behind a call, the same for every server: an invitation to choose is read into types,
//! and a choice of fixed words is written.

use serde::{Deserialize, Serialize};

/// The tool that is called.
pub(crate) const TOOL: &str = "choose_parity";

/// What a referee asks; all of it is read, little of it is used.
#[derive(Deserialize)]
#[expect(dead_code, reason = "reading the fields is what is measured")]
pub(crate) struct Invitation {
    protocol: String,
    message_type: String,
    sender: String,
    timestamp: String,
    conversation_id: String,
    match_id: String,
    player_id: String,
    game_type: String,
    context: Context,
    deadline: String,
}

#[derive(Deserialize)]
#[expect(dead_code, reason = "reading the fields is what is measured")]
struct Context {
    opponent_id: String,
    round_id: u32,
}

/// What is answered.
#[derive(Serialize)]
pub(crate) struct Choice {
    protocol: &'static str,
    message_type: &'static str,
    sender: &'static str,
    timestamp: &'static str,
    conversation_id: String,
    match_id: String,
    player_id: String,
    parity_choice: &'static str,
}

impl From<Invitation> for Choice {
    fn from(invitation: Invitation) -> Self {
        Self {
            protocol: "league.v2",
            message_type: "CHOOSE_PARITY_RESPONSE",
            sender: "player:P01",
            timestamp: "2025-01-15T10:15:05Z",
            conversation_id: invitation.conversation_id,
            match_id: invitation.match_id,
            player_id: invitation.player_id,
            parity_choice: "even",
        }
    }
}
