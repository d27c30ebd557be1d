//! What people are told of those who asked to be let in: who was turned away, and who was let in
//! but cannot be called. They should know before the league begins.

use std::time::Duration;

use league_protocol::finding::harmless;
use league_protocol::message::{AgentMeta, Message, RegisterResponse};
use tokio::net::TcpStream;
use tokio::sync::Semaphore;

use super::Manager;
use super::log::{LONGEST, turned_away};
use crate::http::endpoint::Endpoint;
use crate::http::interfaces;
use crate::wire::router::ServiceReply;

/// How long it may take to connect to somebody.
const PATIENCE: Duration = Duration::from_secs(3);
/// How many are knocked at at once; more are let in without.
const MOST_KNOCKS: usize = 64;

static KNOCKS: Semaphore = Semaphore::const_new(MOST_KNOCKS);

impl Manager {
    /// Tells what there is to tell of one who was let in or turned away.
    pub(super) fn tell_of(&self, kind: &'static str, meta: &AgentMeta, answer: &ServiceReply) {
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
        let elsewhere = endpoint.filter(|endpoint| !interfaces::is_own(endpoint.address.ip()));
        if let (true, Some(endpoint), Ok(turn)) = (admitted, elsewhere, KNOCKS.try_acquire()) {
            let (league, name) = (
                self.league_id.clone(),
                harmless(&meta.display_name, LONGEST),
            );
            tokio::spawn(async move {
                if let Err(problem) = knock(&endpoint).await {
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
async fn knock(endpoint: &Endpoint) -> Result<(), String> {
    let connecting = tokio::time::timeout(PATIENCE, TcpStream::connect(endpoint.address));
    match connecting.await {
        Ok(Ok(_)) => Ok(()),
        Ok(Err(error)) => Err(error.to_string()),
        Err(_) => Err(format!("no connection within {PATIENCE:?}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_closed_port_is_told_from_an_open_one() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let endpoint = Endpoint::parse(&format!("http://127.0.0.1:{port}/mcp")).unwrap();
        assert_eq!(knock(&endpoint).await, Ok(()));
        drop(listener);
        assert!(knock(&endpoint).await.is_err());
    }
}
