//! Matches with players who may not be called from here.

use std::sync::Arc;

use league_core::referee::Command;
use league_protocol::finding::harmless;
use league_protocol::message::{Message, StartMatch, StartMatchPlayer};
use league_protocol::sender::Agent;
use league_protocol::token::TokenHash;

use super::Whistle;
use crate::http::endpoint::{AllowList, BadEndpoint, Endpoint, LONGEST_ENDPOINT};
use crate::http::interfaces;
use crate::wire::router::ServiceReply;

impl Whistle {
    /// Takes an order, unless a player of it may not be called from here: another referee may call
    /// it, and whoever runs this one can mend that. The player would lose by it otherwise, as it
    /// does in the end if nobody runs the match.
    pub(super) async fn start_match(
        &self,
        order: Arc<StartMatch>,
        token: Option<TokenHash>,
    ) -> ServiceReply {
        let mut players = order.players.iter();
        let barred = players.find_map(|player| {
            let why = why_not(&self.allowed, player)?;
            Some((Agent::Player(player.player_id.clone()), why))
        });
        let reason = barred.as_ref().map(|(_, why)| why.clone());
        let spoken = self
            .ask(Command::StartMatch {
                order,
                token,
                barred: reason,
            })
            .await;
        if let Some((player, why)) = barred
            && is_answered(&spoken, &why)
            && self.told.is_new(&player, "NOT_CALLED")
        {
            let agent_id = self.identity.log_name();
            tracing::warn!(agent_id = &*agent_id, event_type = "NOT_CALLED", "{why}");
        }
        spoken
    }
}

/// Why a player is not called, if it is not.
fn why_not(allowed: &AllowList, player: &StartMatchPlayer) -> Option<String> {
    match allowed.check(&player.endpoint) {
        Err(refused @ (BadEndpoint::NotAllowed(_) | BadEndpoint::OnManager(_))) => Some(format!(
            "player {} is not called at {}: {refused}",
            player.player_id,
            harmless(&player.endpoint, LONGEST_ENDPOINT)
        )),
        _ => None,
    }
}

/// Whether the manager, who proved itself, was told this reason, or has its match run all the same.
fn is_answered(spoken: &ServiceReply, why: &str) -> bool {
    match spoken.message() {
        Some(Message::StartMatchAck(ack)) => ack.accepted || ack.reason.as_deref() == Some(why),
        _ => false,
    }
}

/// Whether an address is on this machine; what is none says nothing of another.
pub(crate) fn is_here(endpoint: &str) -> bool {
    let read = Endpoint::parse(endpoint);
    read.map_or(true, |read| interfaces::is_own(read.address.ip()))
}

#[cfg(test)]
mod tests {
    use league_protocol::id::PlayerId;
    use league_protocol::message::WinLossDraw;
    use league_protocol::sender::Dialect;
    use league_protocol::token::AuthToken;

    use super::*;

    fn player(endpoint: &str) -> StartMatchPlayer {
        let token = AuthToken::new("tok_of_a_test");
        StartMatchPlayer {
            player_id: PlayerId::new("P01").unwrap(),
            endpoint: endpoint.into(),
            dialect: Dialect::V2,
            speech: None,
            token_hash: token.hash(),
            match_token: token,
            record: WinLossDraw::default(),
        }
    }

    #[test]
    fn the_loopback_of_another_machine_is_not_called() {
        let list = AllowList::default();
        let away = list.clone().away_from_manager();
        for local in [
            "http://localhost:8101/mcp",
            "http://[::ffff:127.0.0.1]:1/mcp",
        ] {
            assert_eq!(why_not(&list, &player(local)), None);
            let why = why_not(&away, &player(local)).unwrap();
            assert!(why.contains("on the league manager's machine"), "{why}");
        }
        let why = why_not(&list, &player("http://192.0.2.7:8101/mcp")).unwrap();
        assert!(why.contains("`--allow 192.0.2.7`"), "{why}");
    }

    #[test]
    fn a_manager_is_here_by_the_addresses_of_this_machine() {
        assert!(is_here("http://localhost:8000/mcp"));
        assert!(is_here("http://127.0.0.2:8000/mcp"));
        assert!(!is_here("http://192.0.2.1:8000/mcp"));
    }
}
