//! The referees that a host runs in its leagues. A referee goes on where its journal ended, on the
//! next host too: that one derives the same pledge from the keys of the league.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use league_core::league::LeagueRules;
use league_core::referee::{Referee, RefereeRules};
use league_protocol::id::{LeagueId, RefereeId};
use league_protocol::sender::Dialect;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::FAILURE_PAUSE;
use crate::agents::arena::{manager_peer, own_version};
use crate::agents::assemble::{Shared, StartError};
use crate::agents::identity::Membership;
use crate::agents::{RunningAgent, referee};
use crate::cli::failure::chain;
use crate::cli::run::matches_at_once;
use crate::http::endpoint::{BadEndpoint, Endpoint, Scheme};
use crate::http::server::{Routes, Service};
use crate::storage::database::DatabaseError;
use crate::storage::secrets::LeagueKeys;
use crate::storage::store::StoreError;

/// How often a referee is tried again whose journal another process still holds.
const HELD_POLL: Duration = Duration::from_millis(500);

/// Where a league is in this process.
#[derive(Clone)]
pub(super) struct LeaguePlace {
    pub(super) scheme: Scheme,
    pub(super) listening: SocketAddr,
    /// The path of the league.
    pub(super) prefix: String,
    /// The address of its manager.
    pub(super) address: String,
}

impl LeaguePlace {
    fn address_of(&self, referee: &RefereeId) -> String {
        let base = self.address.trim_end_matches("/mcp");
        format!("{base}/agents/{referee}/mcp")
    }

    /// What the manager needs of the process; it calls its referees.
    pub(super) fn for_manager(&self, shared: &Shared, referees: u32) -> Result<Shared, String> {
        let ids = (1..=referees).map(RefereeId::numbered);
        self.for_agent(shared, &self.address, ids.map(|id| self.address_of(&id)))
    }

    /// What the agent at an address needs of the process; it calls others there.
    fn for_agent(
        &self,
        shared: &Shared,
        own: &str,
        called: impl IntoIterator<Item = String>,
    ) -> Result<Shared, String> {
        let neighbours = called.into_iter().map(|address| {
            let endpoint = Endpoint::of_neighbour(&address, self.scheme, self.listening)?;
            Ok((address, endpoint))
        });
        let neighbours = neighbours.collect::<Result<_, BadEndpoint>>();
        let neighbours = neighbours.map_err(|error| error.to_string())?;
        let mut shared = shared.clone();
        shared.store = shared.store.map(|store| store.at(own.to_owned()));
        shared.outbox.allowed = shared.outbox.allowed.beside(neighbours);
        Ok(shared)
    }
}

/// A referee that a host is going to run.
pub(super) struct PlannedReferee {
    shared: Shared,
    league: LeagueId,
    id: RefereeId,
    rules: RefereeRules,
    prefix: String,
}

impl PlannedReferee {
    /// The referees of a league, whose keys are in the folder.
    pub(super) fn all(
        shared: &Shared,
        rules: &LeagueRules,
        place: &LeaguePlace,
        count: u32,
    ) -> Result<Vec<Self>, String> {
        let league = &rules.league_id;
        let keys = LeagueKeys::of(&shared.root, league, None).map_err(|error| chain(&error))?;
        let key = shared.referee_key(league).map_err(|error| chain(&error))?;
        let players = rules.start_when.map_or(0, |(players, _)| players);
        let plan = |number: u32| {
            let id = RefereeId::numbered(number);
            let endpoint = place.address_of(&id);
            let mut shared = place.for_agent(shared, &endpoint, [place.address.clone()])?;
            shared.return_token = Some(keys.secrets.tokens.referee_pledge(league, &id));
            Ok(Self {
                shared,
                league: league.clone(),
                rules: RefereeRules {
                    display_name: format!("Referee {number}"),
                    version: own_version(),
                    wanted_id: Some(id.to_string()),
                    key: Some(key.clone()),
                    endpoint,
                    games: vec![rules.game_type.clone()],
                    max_concurrent: matches_at_once(players, count),
                    timeouts: rules.timeouts,
                    breaker: rules.breaker,
                    manager: manager_peer(&place.address, Dialect::V2),
                },
                prefix: format!("{}/agents/{id}", place.prefix),
                id,
            })
        };
        (1..=count).map(plan).collect()
    }

    /// Runs it until the league is over, or what is returned is dropped.
    pub(super) fn begin(self, routes: Routes) -> HostedReferee {
        let (owner, dropped) = watch::channel(());
        HostedReferee {
            task: tokio::spawn(self.run(routes, dropped)),
            _owner: owner,
        }
    }

    async fn run(self, routes: Routes, mut dropped: watch::Receiver<()>) {
        loop {
            let pause = match self.start().await {
                Ok((running, service)) => {
                    routes.open(self.prefix.as_str(), service);
                    match self.follow(running, &routes, &mut dropped).await {
                        None => return,
                        Some(cause) => self.warn(&cause),
                    }
                    FAILURE_PAUSE
                }
                Err(error) if is_held(&error) => HELD_POLL,
                Err(error) => {
                    self.warn(&chain(&error));
                    FAILURE_PAUSE
                }
            };
            tokio::select! {
                () = tokio::time::sleep(pause) => {}
                Err(_) = dropped.changed() => return,
            }
        }
    }

    /// Reads its journal, and waits for the database.
    async fn start(&self) -> Result<(RunningAgent<Referee>, Arc<dyn Service>), StartError> {
        let (shared, league) = (self.shared.clone(), self.league.clone());
        let (id, rules) = (self.id.clone(), self.rules.clone());
        let started =
            tokio::task::spawn_blocking(move || referee::start(&shared, &league, &id, rules));
        // Only an ending runtime has no answer.
        started
            .await
            .unwrap_or_else(|_| Err(StoreError::from(DatabaseError::Closed).into()))
    }

    /// Waits for its end; gives the cause if it has to be started again.
    async fn follow(
        &self,
        mut running: RunningAgent<Referee>,
        routes: &Routes,
        dropped: &mut watch::Receiver<()>,
    ) -> Option<String> {
        let mut membership = running.identity.membership();
        let ended = tokio::select! {
            ended = &mut running.ended => Some(ended),
            Err(_) = dropped.changed() => None,
            Ok(_) = membership.wait_for(|now| *now == Membership::Completed) => None,
        };
        if ended.is_none() && *membership.borrow() == Membership::Completed {
            running.wait_done().await;
        }
        // Another one may be served here before this one has written its last lines.
        routes.close(&self.prefix);
        match ended {
            Some(Ok(Err(error))) => Some(chain(&error)),
            Some(Ok(Ok(()))) => Some("its actor ended".to_owned()),
            Some(Err(error)) => Some(error.to_string()),
            None => {
                running.actor.stop().await;
                let _ = running.ended.await;
                None
            }
        }
    }

    fn warn(&self, cause: &str) {
        let (league, id) = (&self.league, &self.id);
        tracing::warn!(league_id = %league, event_type = "REFEREE_NOT_RUN", "{id}: {cause}");
    }
}

/// Whether an earlier process, which may have died, has the journal for a while.
fn is_held(error: &StartError) -> bool {
    matches!(
        error,
        StartError::Store(
            StoreError::Held { .. } | StoreError::Database(DatabaseError::Held { .. })
        )
    )
}

/// A referee of a league; it ends when this is dropped.
pub(super) struct HostedReferee {
    task: JoinHandle<()>,
    _owner: watch::Sender<()>,
}

impl HostedReferee {
    /// Ends it; what is returned ends with it.
    pub(super) fn end(self) -> JoinHandle<()> {
        self.task
    }
}
