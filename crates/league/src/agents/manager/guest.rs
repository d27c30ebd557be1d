//! Players that never register: they are invited by their address.

use league_core::league::{Applicant, Command};
use league_protocol::CURRENT_VERSION;
use league_protocol::id::GameType;
use league_protocol::message::{AgentMeta, RegisterRequest};
use league_protocol::sender::Dialect;

use crate::chance::Chance;
use crate::config::AgentsConfig;
use crate::http::endpoint::AllowList;

/// A player that is invited by its address.
///
/// Nobody tells it a token, so it can show none: a strict league has no guests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Guest {
    /// The name that people see.
    pub(crate) name: String,
    /// Where it answers.
    pub(crate) endpoint: String,
    /// The id that it gets if it is free.
    pub(crate) wanted_id: Option<String>,
    /// How it speaks.
    pub(crate) dialect: Dialect,
}

impl Guest {
    /// Reads `URL` or `NAME=URL`; without a name it goes by its address.
    ///
    /// # Errors
    ///
    /// Says what is no address.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let (name, endpoint) = match text.split_once('=') {
            Some((name, endpoint)) if !name.contains("://") => (Some(name.trim()), endpoint.trim()),
            _ => (None, text.trim()),
        };
        let known = ["http://", "mcp://"]
            .iter()
            .any(|scheme| endpoint.starts_with(scheme));
        if !known || name == Some("") {
            return Err("give `URL` or `NAME=URL`, such as http://localhost:8101/mcp".to_owned());
        }
        let (_, address) = endpoint.split_once("://").unwrap_or_default();
        let address = address.trim_end_matches("/mcp").trim_end_matches('/');
        Ok(Self {
            name: name.unwrap_or(address).to_owned(),
            endpoint: endpoint.to_owned(),
            wanted_id: None,
            dialect: match endpoint.starts_with("mcp://") {
                true => Dialect::V1,
                false => Dialect::V2,
            },
        })
    }

    /// The players that the configuration says never register.
    pub(crate) fn configured(agents: &AgentsConfig) -> Vec<Self> {
        let guests = agents.players.iter();
        let guests = guests.filter(|player| player.invite && player.active);
        let guest = |player: &crate::config::PlayerConfig| Self {
            name: player.display_name.clone(),
            endpoint: player.default_endpoint.clone(),
            wanted_id: Some(player.player_id.to_string()),
            dialect: player.dialect,
        };
        guests.map(guest).collect()
    }

    /// The wish to play that the guest does not voice itself.
    pub(super) fn wish(&self, game: &GameType, allowed: &AllowList, chance: &Chance) -> Command {
        let endpoint = allowed.check(&self.endpoint);
        Command::RegisterPlayer(Applicant {
            endpoint: endpoint.map(drop).map_err(|error| error.to_string()),
            speech: None,
            request: Box::new(RegisterRequest {
                meta: AgentMeta {
                    display_name: self.name.clone(),
                    version: "0.0.0".to_owned(),
                    protocol_version: Some(CURRENT_VERSION.to_owned()),
                    game_types: vec![game.clone()],
                    contact_endpoint: self.endpoint.clone(),
                    max_concurrent_matches: None,
                    speech: None,
                },
                wanted_id: self.wanted_id.clone(),
                token: None,
            }),
            dialect: self.dialect,
            chance: chance.bytes(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::Guest;

    #[test]
    fn a_guest_is_an_address_with_or_without_a_name() {
        for (text, expected) in [
            (
                "http://localhost:8101/mcp",
                Some(("localhost:8101", "http://localhost:8101/mcp")),
            ),
            (
                "Ann=http://localhost:8101/mcp",
                Some(("Ann", "http://localhost:8101/mcp")),
            ),
            (
                "http://h:1/mcp?a=b",
                Some(("h:1/mcp?a=b", "http://h:1/mcp?a=b")),
            ),
            ("localhost:8101", None),
            ("=http://localhost:8101/mcp", None),
            ("", None),
        ] {
            let guest = Guest::parse(text).ok();
            let seen = guest.as_ref().map(|guest| (&*guest.name, &*guest.endpoint));
            assert_eq!(seen, expected, "{text}");
        }
    }
}
