//! Registration with the manager: invited players, applicants, and the log lines about them.

use std::net::SocketAddr;
use std::time::Duration;

use league_core::league::{Applicant, Command, is_same_place};
use league_mcp::Origin;
use league_protocol::CURRENT_VERSION;
use league_protocol::fault::Code;
use league_protocol::finding::harmless;
use league_protocol::id::GameType;
use league_protocol::message::{
    AgentMeta, LeagueError, Message, RegisterRequest, RegisterResponse,
};
use league_protocol::sender::Dialect;
use league_protocol::token::AuthToken;
use tokio::sync::Semaphore;
use tokio::time::Instant;

use super::{MAX_LOGGED_CHARS, ManagerService, log_rejection};
use crate::chance::Chance;
use crate::config::AgentsConfig;
use crate::http::client::CallError;
use crate::http::endpoint::{AllowList, BadEndpoint, Scheme};
use crate::http::local;
use crate::wire::dispatcher::ServiceReply;

const PROBE_TIMEOUT: Duration = Duration::from_secs(3);
/// The most agents probed at once; further agents are admitted without a probe.
const MAX_PROBES: usize = 64;

static PROBES: Semaphore = Semaphore::const_new(MAX_PROBES);

/// A player invited by its address.
///
/// It never gets a token, so it cannot authenticate itself: a strict league has no invited players.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct InvitedPlayer {
    pub(crate) name: String,
    pub(crate) endpoint: String,
    /// The id that it gets if the id is free.
    pub(crate) wanted_id: Option<String>,
    pub(crate) dialect: Dialect,
}

impl InvitedPlayer {
    /// Parses `URL` or `NAME=URL`; without a name, the address is the name.
    ///
    /// # Errors
    ///
    /// The text is not an address.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let (name, endpoint) = match text.split_once('=') {
            Some((name, endpoint)) if !name.contains("://") => (Some(name.trim()), endpoint.trim()),
            _ => (None, text.trim()),
        };
        let known = ["http://", "https://", "mcp://"]
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
            dialect: if endpoint.starts_with("mcp://") {
                Dialect::V1
            } else {
                Dialect::V2
            },
        })
    }

    /// The configured players that never register themselves.
    pub(crate) fn configured(agents: &AgentsConfig) -> Vec<Self> {
        let players = agents.players.iter();
        players
            .filter(|player| player.invite && player.active)
            .map(|player| Self {
                name: player.display_name.clone(),
                endpoint: player.default_endpoint.clone(),
                wanted_id: Some(player.player_id.to_string()),
                dialect: player.dialect,
            })
            .collect()
    }

    /// The registration on behalf of the player.
    pub(crate) fn registration(
        &self,
        game: &GameType,
        allowed: &AllowList,
        chance: &Chance,
    ) -> Command {
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
                    proofs: false,
                    human: false,
                },
                wanted_id: self.wanted_id.clone(),
                token: None,
                join_code: None,
                referee_key: None,
                is_plain: false,
            }),
            dialect: self.dialect,
            has_key: false,
            is_listed: false,
            is_at_address: true,
            chance: chance.bytes(),
        })
    }
}

impl ManagerService {
    pub(super) async fn register_referee(
        &self,
        request: Box<RegisterRequest>,
        dialect: Dialect,
        origin: Origin,
    ) -> ServiceReply {
        let meta = request.meta.clone();
        let limit = &self.caller_limit;
        if let Err(error) = limit.admit(self.has_key(&request), origin, Instant::now()) {
            return ServiceReply::error(error);
        }
        let reply = match self.applicant(request, dialect, origin).await {
            Ok(applicant) => self.ask(Command::RegisterReferee(applicant)).await,
            Err(error) => ServiceReply::error(error),
        };
        self.log_registration("referee", &meta, &reply);
        reply
    }

    pub(super) async fn register_player(
        &self,
        request: Box<RegisterRequest>,
        dialect: Dialect,
        origin: Origin,
    ) -> ServiceReply {
        let code = request.join_code.as_ref();
        let limit = &self.caller_limit;
        if let Err(error) = limit.admit(limit.is_code(code), origin, Instant::now()) {
            return ServiceReply::error(error);
        }
        let meta = request.meta.clone();
        // What the organiser said later takes the place of the configured code.
        let has_newer = self
            .actor
            .query(league_core::league::League::has_own_join_code);
        if !limit.is_open_to(code) && !has_newer.await.unwrap_or(false) {
            let reason = "Join code missing or wrong: ask the organiser for it, and send it as \
                          `join_code` (`league player --join-code CODE`)";
            let reason = reason.to_owned();
            let message = Message::PlayerRegisterResponse(RegisterResponse::Rejected { reason });
            let reply = ServiceReply::Message(Box::new(message));
            self.log_registration("player", &meta, &reply);
            return reply;
        }
        let dialect = self.dialect_of(&meta, dialect);
        let reply = match self.applicant(request, dialect, origin).await {
            Ok(applicant) => self.ask(Command::RegisterPlayer(applicant)).await,
            Err(error) => ServiceReply::error(error),
        };
        self.log_registration("player", &meta, &reply);
        reply.spelled(dialect)
    }

    /// An applicant for the league to decide on: the origin of the call shows whether the address
    /// in it can be the caller's own. The caller may try again if its name cannot be resolved now.
    async fn applicant(
        &self,
        request: Box<RegisterRequest>,
        dialect: Dialect,
        origin: Origin,
    ) -> Result<Applicant, LeagueError> {
        let address = &request.meta.contact_endpoint;
        let found = self.allowed.find_of(origin, address).await;
        if let Err(error @ BadEndpoint::Unresolved { .. }) = &found {
            return Err(LeagueError::new(Code::Connection, error.to_string()));
        }
        let is_at = |address: &SocketAddr| self.allowed.is_at(origin, *address);
        let mut listed = self.listed_referees.iter();
        Ok(Applicant {
            has_key: self.has_key(&request),
            is_listed: listed.any(|listed| is_same_place(listed, address)),
            is_at_address: found.as_ref().is_ok_and(|found| found.iter().any(is_at)),
            endpoint: found.map(drop).map_err(|error| error.to_string()),
            speech: request.meta.speech,
            request,
            dialect,
            chance: self.chance.bytes(),
        })
    }

    /// Whether a referee shows our key, compared by its hash, so that the time of the comparison
    /// tells nothing.
    fn has_key(&self, request: &RegisterRequest) -> bool {
        let key = request.referee_key.as_ref().map(AuthToken::hash);
        key == Some(self.referee_key)
    }

    /// The dialect of an applicant: the one that the configuration lists for its address, if that is
    /// another spelling of what it speaks. A registration alone does not show whether the player
    /// waits for `ACCEPTED` or for `REGISTERED` (ruling 50).
    fn dialect_of(&self, meta: &AgentMeta, said: Dialect) -> Dialect {
        let mut listed = self.listed_dialects.iter();
        let listed = listed.find(|(place, _)| is_same_place(place, &meta.contact_endpoint));
        let listed = listed.map(|(_, dialect)| *dialect);
        let same_protocol = |dialect: &Dialect| dialect.protocol() == said.protocol();
        listed.filter(same_protocol).unwrap_or(said)
    }

    /// Logs an agent that was refused, or that was admitted but cannot be called: people should
    /// know before the league starts.
    fn log_registration(&self, kind: &'static str, meta: &AgentMeta, answer: &ServiceReply) {
        log_rejection(&self.league_id, kind, meta, answer);
        let admitted = matches!(
            answer.message(),
            Some(
                Message::PlayerRegisterResponse(RegisterResponse::Accepted(_))
                    | Message::RefereeRegisterResponse(RegisterResponse::Accepted(_))
            )
        );
        let endpoint = self.allowed.check(&meta.contact_endpoint).ok();
        // On this machine no firewall is in between, but the certificate may be wrong.
        let doubtful = endpoint.filter(|endpoint| {
            let is_here = endpoint
                .address()
                .map(|address| local::is_own(address.ip()));
            endpoint.scheme == Scheme::Https || is_here != Some(true)
        });
        if let (true, Some(endpoint), Ok(turn)) = (admitted, doubtful, PROBES.try_acquire()) {
            let client = self.client.clone();
            let (league, name) = (
                self.league_id.clone(),
                harmless(&meta.display_name, MAX_LOGGED_CHARS),
            );
            tokio::spawn(async move {
                if let Err(problem) = client.probe(&endpoint, PROBE_TIMEOUT).await {
                    let advice = match problem {
                        CallError::Connection(_) | CallError::Timeout(_) => {
                            "; check its port and the firewall of its machine"
                        }
                        _ => "",
                    };
                    tracing::warn!(
                        component = "league_manager", league_id = %league, event_type = "OUT_OF_REACH",
                        "{kind} `{name}` was admitted, but cannot be called at {endpoint}: \
                         {problem}{advice}"
                    );
                }
                drop(turn);
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_invited_player_is_an_address_with_or_without_a_name() {
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
            ("https://h:1/mcp", Some(("h:1", "https://h:1/mcp"))),
            ("=http://localhost:8101/mcp", None),
            ("", None),
        ] {
            let invited = InvitedPlayer::parse(text).ok();
            let seen = invited.as_ref().map(|it| (&*it.name, &*it.endpoint));
            assert_eq!(seen, expected, "{text}");
        }
    }
}
