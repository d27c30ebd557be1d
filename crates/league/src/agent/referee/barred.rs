//! Matches with players who may not be called from here.

use league_protocol::message::{Message, StartMatch, StartMatchAck};

use super::Whistle;
use crate::net::endpoint::BadEndpoint;
use crate::reception::Spoken;

impl Whistle {
    /// Turns down a match with a player who may not be called from here: another referee may call
    /// it, and whoever runs this one can mend that. The player would lose by it otherwise.
    pub(super) fn turned_down(&self, order: &StartMatch) -> Option<Spoken> {
        let barred = order.players.iter().find_map(|player| {
            let refused = self.allowed.check(&player.endpoint).err()?;
            matches!(refused, BadEndpoint::NotAllowed(_)).then_some((player, refused))
        });
        let (player, refused) = barred?;
        let (id, endpoint) = (&player.player_id, &player.endpoint);
        let reason = format!("player {id} is not called at {endpoint}: {refused}");
        let agent_id = self.identity.log_name();
        tracing::warn!(agent_id = &*agent_id, event_type = "NOT_CALLED", "{reason}");
        let ack = StartMatchAck {
            match_id: order.match_id.clone(),
            accepted: false,
            reason: Some(reason),
        };
        // Nobody has looked at the caller's token yet, so ours is not shown.
        Some(Spoken::Message(Box::new(Message::StartMatchAck(Box::new(
            ack,
        )))))
    }
}
