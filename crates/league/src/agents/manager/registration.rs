//! Players that never register: they are invited by their address.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use league_core::league::{Applicant, Command};
use league_mcp::Origin;
use league_protocol::CURRENT_VERSION;
use league_protocol::finding::harmless;
use league_protocol::id::GameType;
use league_protocol::message::{AgentMeta, Message, RegisterRequest, RegisterResponse};
use league_protocol::sender::Dialect;
use tokio::net::TcpStream;
use tokio::sync::Semaphore;

use super::{MAX_LOGGED_CHARS, ManagerService, turned_away};
use crate::chance::Chance;
use crate::config::AgentsConfig;
use crate::http::endpoint::{AllowList, Endpoint};
use crate::http::local;
use crate::wire::router::ServiceReply;

/// A player that is invited by its address.
///
/// Nobody tells it a token, so it can show none: a strict league has no guests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct InvitedPlayer {
    /// The name that people see.
    pub(crate) name: String,
    /// Where it answers.
    pub(crate) endpoint: String,
    /// The id that it gets if it is free.
    pub(crate) wanted_id: Option<String>,
    /// How it speaks.
    pub(crate) dialect: Dialect,
}

impl InvitedPlayer {
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
    pub(crate) fn wish(&self, game: &GameType, allowed: &AllowList, chance: &Chance) -> Command {
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

impl ManagerService {
    /// What is weighed of a wish to be let in: where it comes from tells whether the address in it
    /// can be the caller's own.
    pub(crate) fn candidate(
        &self,
        request: Box<RegisterRequest>,
        dialect: Dialect,
        origin: Origin,
    ) -> Applicant {
        let endpoint = &request.meta.contact_endpoint;
        let endpoint = self.allowed.check_of(origin, endpoint);
        Applicant {
            endpoint: endpoint.map(drop).map_err(|error| error.to_string()),
            speech: request.meta.speech,
            request,
            dialect,
            chance: self.chance.bytes(),
        }
    }
}

/// The most addresses that are remembered; of more it is not known how often they asked.
const MAX_ADDRESSES: usize = 4_096;

/// How often each address was admitted, and how it is answered for that.
///
/// The documents have two words for an admission, and which of them a player waits for is not seen
/// in what it asks. One that asks again without its token has not found its word: it is answered in
/// the spelling of the API page then, and in the other the next time (ruling 50). A strict league
/// has one word.
#[derive(Debug)]
pub(crate) struct AdmissionSpelling {
    strict: bool,
    admitted: Mutex<BTreeMap<String, u32>>,
}

impl AdmissionSpelling {
    /// Nobody was admitted yet.
    pub(crate) fn new(strict: bool) -> Self {
        Self {
            strict,
            admitted: Mutex::default(),
        }
    }

    /// The address of a wish that may be answered in either spelling.
    pub(crate) fn of(&self, request: &RegisterRequest, dialect: Dialect) -> Option<String> {
        let open = !self.strict && dialect == Dialect::V2 && request.token.is_none();
        open.then(|| request.meta.contact_endpoint.trim().to_owned())
    }

    /// Counts an admission; gives the spelling for an answer that is not in the usual one.
    pub(crate) fn spelling(&self, address: String, answer: &ServiceReply) -> Option<Dialect> {
        let Some(Message::PlayerRegisterResponse(RegisterResponse::Accepted(_))) = answer.message()
        else {
            return None;
        };
        let mut admitted = self.admitted.lock().unwrap_or_else(PoisonError::into_inner);
        if admitted.len() >= MAX_ADDRESSES && !admitted.contains_key(&address) {
            return None;
        }
        let times = admitted.entry(address).or_default();
        *times = times.wrapping_add(1);
        times.is_multiple_of(2).then_some(Dialect::V2Api)
    }
}

/// How long it may take to connect to somebody.
const PROBE_TIMEOUT: Duration = Duration::from_secs(3);
/// How many are knocked at at once; more are let in without.
const MAX_PROBES: usize = 64;

static PROBES: Semaphore = Semaphore::const_new(MAX_PROBES);

impl ManagerService {
    /// Tells what there is to tell of one who was let in or turned away.
    pub(crate) fn tell_of(&self, kind: &'static str, meta: &AgentMeta, answer: &ServiceReply) {
        turned_away(&self.league_id, kind, meta, answer);
        let admitted = matches!(
            answer.message(),
            Some(
                Message::PlayerRegisterResponse(RegisterResponse::Accepted(_))
                    | Message::RefereeRegisterResponse(RegisterResponse::Accepted(_))
            )
        );
        let endpoint = Endpoint::parse(&meta.contact_endpoint).ok();
        // On this machine nothing stands between us.
        let elsewhere = endpoint.filter(|endpoint| !local::is_own(endpoint.address.ip()));
        if let (true, Some(endpoint), Ok(turn)) = (admitted, elsewhere, PROBES.try_acquire()) {
            let (league, name) = (
                self.league_id.clone(),
                harmless(&meta.display_name, MAX_LOGGED_CHARS),
            );
            tokio::spawn(async move {
                if let Err(problem) = probe(&endpoint).await {
                    tracing::warn!(
                        component = "league_manager", league_id = %league, event_type = "OUT_OF_REACH",
                        "{kind} `{name}` is in, but cannot be called at {endpoint}: {problem}; the \
                         port may be another, or a firewall of that machine keeps calls from it"
                    );
                }
                drop(turn);
            });
        }
    }
}

/// Connects to an agent, and says nothing.
async fn probe(endpoint: &Endpoint) -> Result<(), String> {
    let connecting = tokio::time::timeout(PROBE_TIMEOUT, TcpStream::connect(endpoint.address));
    match connecting.await {
        Ok(Ok(_)) => Ok(()),
        Ok(Err(error)) => Err(error.to_string()),
        Err(_) => Err(format!("no connection within {PROBE_TIMEOUT:?}")),
    }
}

#[cfg(test)]
mod tests {
    use super::InvitedPlayer;
    use super::*;

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
            let guest = InvitedPlayer::parse(text).ok();
            let seen = guest.as_ref().map(|guest| (&*guest.name, &*guest.endpoint));
            assert_eq!(seen, expected, "{text}");
        }
    }

    #[tokio::test]
    async fn a_closed_port_is_told_from_an_open_one() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let endpoint = Endpoint::parse(&format!("http://127.0.0.1:{port}/mcp")).unwrap();
        assert_eq!(probe(&endpoint).await, Ok(()));
        drop(listener);
        assert!(probe(&endpoint).await.is_err());
    }
}
