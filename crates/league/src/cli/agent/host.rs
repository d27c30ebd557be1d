//! A process that manages many leagues of a store: it takes those that no manager holds, each below
//! `/leagues/ID`, and refers the callers of all others to their managers.

use std::collections::BTreeMap;
use std::io::Write;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use league_core::league::League;
use league_protocol::id::LeagueId;
use serde_json::json;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::AgentSetup;
use super::manager::{LABEL, offer, opening, site};
use super::store_process::{LeagueWork, StoreProcess, end_all, work};
use crate::agents::RunningAgent;
use crate::agents::assemble::Shared;
use crate::agents::identity::Membership;
use crate::agents::manager;
use crate::cli::Exit;
use crate::cli::arguments::CommonArgs;
use crate::cli::failure::{CommandError, chain};
use crate::config::{AgentsConfig, SystemConfig};
use crate::http::endpoint::OwnAddresses;
use crate::http::server::{Routes, Service};
use crate::http::standby::StandbyService;
use crate::http::transport::Listener;
use crate::site::OrganiserSite;
use crate::storage::database::{DatabaseError, StoredLeague, Stream};
use crate::storage::league_store::LeagueStore;

/// How often the leagues of the store are looked at.
const POLL: Duration = Duration::from_secs(1);
/// The same while there are leagues to take: one at a time, so that several hosts share them.
const TAKING_POLL: Duration = Duration::from_millis(100);

/// The leagues that one process manages.
pub(crate) struct Host<'h> {
    pub(crate) setup: &'h mut AgentSetup,
    pub(crate) common: &'h CommonArgs,
    pub(crate) shared: Shared,
    pub(crate) store: LeagueStore,
    /// How many leagues it manages at most.
    pub(crate) most: usize,
}

impl Host<'_> {
    /// Serves until a signal to stop.
    pub(crate) async fn run(
        self,
        listener: Listener,
        out: &mut dyn Write,
    ) -> Result<Exit, CommandError> {
        let Self {
            setup,
            common,
            shared,
            store,
            most,
        } = self;
        let own = listener.local_addr().ok();
        let place = (&shared, store);
        let (mut process, served) =
            StoreProcess::begin("host", listener, setup, place, (common, out));
        let (base, name) = (&process.base, process.store.database.name());
        let sentence = format!(
            "{LABEL} at {base} takes up to {most} leagues of {name}, each below {base}/leagues/ID"
        );
        let greeting = json!({"event": "host", "endpoint": base, "leagues": most});
        process.greet(&greeting, &sentence)?;
        let hosted = HostedLeagues {
            process,
            own,
            system: &setup.system,
            agents: &setup.agents,
            shared,
            most,
            leagues: BTreeMap::new(),
        };
        work(hosted, served, &mut setup.signals).await
    }
}

/// The leagues of a store as a host serves them.
struct HostedLeagues<'h> {
    process: StoreProcess<'h>,
    /// Where it listens.
    own: Option<SocketAddr>,
    system: &'h SystemConfig,
    agents: &'h AgentsConfig,
    shared: Shared,
    most: usize,
    leagues: BTreeMap<LeagueId, HostedLeague>,
}

/// A league of the store as this process serves it.
struct HostedLeague {
    /// Tells who is in charge of it, for callers that come here.
    in_charge: watch::Sender<Option<String>>,
    waiting: Arc<StandbyService>,
    /// While it is being taken.
    taking: Option<JoinHandle<Result<Option<StartedManager>, String>>>,
    managed: Option<ManagedLeague>,
}

type StartedManager = (RunningAgent<League>, Arc<dyn Service>);

/// A league that this process manages.
struct ManagedLeague {
    running: RunningAgent<League>,
    /// Collects the journals of referees when the league is over.
    collecting: Option<JoinHandle<()>>,
}

impl LeagueWork for HostedLeagues<'_> {
    /// Sees what has become of the leagues, and takes one that no manager holds.
    async fn look(&mut self) -> Result<Duration, CommandError> {
        for league in self.leagues.keys().cloned().collect::<Vec<_>>() {
            self.check(&league).await?;
        }
        let asked = self.process.ask(|database| database.leagues(false));
        let Some(found) = asked.await? else {
            return Ok(POLL);
        };
        self.forget_finished(&found);
        for found in &found {
            let own = self.process.address(&found.league);
            let routes = &self.process.routes;
            let known = self.leagues.entry(found.league.clone());
            let hosted = known.or_insert_with(|| HostedLeague::open(&found.league, routes));
            hosted.tell(found, &own);
        }
        let is_taking = self.take_next(&found);
        let leagues = self.leagues.values();
        let managed = leagues.filter(|league| league.managed.is_some()).count();
        self.process.status.note_leagues(managed);
        Ok(if is_taking { TAKING_POLL } else { POLL })
    }

    async fn stop(self) {
        let managed = self
            .leagues
            .into_values()
            .filter_map(|league| league.managed);
        end_all(managed.map(|managed| managed.running).collect()).await;
        self.shared.document_writer.finish();
    }
}

impl HostedLeagues<'_> {
    /// Takes up what came of taking a league, or of managing it.
    async fn check(&mut self, league: &LeagueId) -> Result<(), CommandError> {
        let Some(hosted) = self.leagues.get_mut(league) else {
            return Ok(());
        };
        if let Some(taken) = hosted.taking.take_if(|taking| taking.is_finished()) {
            return match taken.await {
                Ok(Ok(Some(started))) => self.open(league, started),
                // Another process was quicker.
                Ok(Ok(None)) => Ok(()),
                Ok(Err(cause)) => self.process.fail(league, &cause),
                Err(error) => self.process.fail(league, &error.to_string()),
            };
        }
        let Some(managed) = &mut hosted.managed else {
            return Ok(());
        };
        if managed.running.ended.is_finished() {
            let cause = match (&mut managed.running.ended).await {
                Ok(Err(error)) => chain(&error),
                Ok(Ok(())) => "its actor ended".to_owned(),
                Err(error) => error.to_string(),
            };
            hosted.managed = None;
            hosted.refer(league, &self.process.routes);
            self.process.failures.add(league, &cause);
            let sentence = format!("leaves league `{league}`: {cause}");
            return self.process.say(league, "left", &sentence);
        }
        let membership = managed.running.identity.membership();
        if managed.collecting.is_none() && *membership.borrow() == Membership::Completed {
            let (shared, actor) = (self.shared.clone(), managed.running.actor.clone());
            let id = league.clone();
            managed.collecting = Some(tokio::spawn(async move {
                manager::collect_journals(&shared, &actor, &id).await;
            }));
            let sentence = format!("league `{league}` is over");
            return self.process.say(league, "over", &sentence);
        }
        Ok(())
    }

    /// Serves a league that was taken.
    fn open(
        &mut self,
        league: &LeagueId,
        (running, service): StartedManager,
    ) -> Result<(), CommandError> {
        let address = self.process.address(league);
        let offer = offer(self.system, &address, false);
        let organiser = OrganiserSite::of(&self.shared, league, &service, &address);
        let pages = site(&self.shared, league, &running, offer).with_organiser(organiser);
        let prefix = StoreProcess::prefix(league);
        self.process.routes.open_pages(&prefix, Arc::new(pages));
        self.process.routes.open(&prefix, service);
        if let Some(hosted) = self.leagues.get_mut(league) {
            hosted.managed = Some(ManagedLeague {
                running,
                collecting: None,
            });
        }
        self.process.failures.remove(league);
        let sentence = format!("manages league `{league}` at {address}");
        self.process.say(league, "taken", &sentence)
    }

    /// Forgets leagues that are over and that no manager holds: nothing is played there any more.
    fn forget_finished(&mut self, found: &[StoredLeague]) {
        let routes = &self.process.routes;
        self.leagues.retain(|league, hosted| {
            let is_known = || found.iter().any(|found| found.league == *league);
            let stays = hosted.managed.is_some() || hosted.taking.is_some() || is_known();
            if !stays {
                routes.close(&StoreProcess::prefix(league));
            }
            stays
        });
    }

    /// Begins to take a league that no manager holds, if there is room; returns whether one is being
    /// taken.
    fn take_next(&mut self, found: &[StoredLeague]) -> bool {
        if self.leagues.values().any(|league| league.taking.is_some()) {
            return true;
        }
        let active = self.leagues.values().filter(|league| league.is_active());
        if active.count() >= self.most {
            return false;
        }
        let free = found.iter().find(|found| {
            let hosted = self.leagues.get(&found.league);
            let is_here = hosted.is_some_and(|hosted| hosted.managed.is_some());
            !found.over && !found.is_held && !is_here && !self.process.failures.has(&found.league)
        });
        let Some(league) = free.map(|found| found.league.clone()) else {
            return false;
        };
        let address = self.process.address(&league);
        let own = OwnAddresses::new(self.own, &address).with_agents(self.agents.endpoints());
        let mut shared = self.shared.clone();
        let store = self.process.store.at(address);
        shared.store = Some(store.clone());
        if let Some(hosted) = self.leagues.get_mut(&league) {
            // Reads the whole journal, and waits for the database.
            hosted.taking = Some(tokio::task::spawn_blocking(move || {
                take(&shared, &store, &league, &own)
            }));
        }
        true
    }
}

/// Takes a league and starts its manager, unless another process was quicker.
fn take(
    shared: &Shared,
    store: &LeagueStore,
    league: &LeagueId,
    own: &OwnAddresses,
) -> Result<Option<StartedManager>, String> {
    let lease = match store.lease(&Stream::of_manager(league)) {
        Ok(lease) => lease,
        Err(DatabaseError::Held { .. }) => return Ok(None),
        Err(error) => return Err(chain(&error)),
    };
    let filled = store.fill(&shared.root, league);
    filled.map_err(|error| chain(&error))?;
    let rules = opening(&shared.root, league).and_then(|opening| opening.rules);
    let rules = rules.ok_or("its journal does not begin with the rules of a league")?;
    let started = manager::start(shared, rules, &[], own, None, Some(lease));
    started.map(Some).map_err(|error| chain(&error))
}

impl HostedLeague {
    /// Refers the callers of a league to its manager, from now on.
    fn open(league: &LeagueId, routes: &Routes) -> Self {
        let (in_charge, told) = watch::channel(None);
        let hosted = Self {
            in_charge,
            waiting: Arc::new(StandbyService::new(league.clone(), told)),
            taking: None,
            managed: None,
        };
        hosted.refer(league, routes);
        hosted
    }

    fn refer(&self, league: &LeagueId, routes: &Routes) {
        let prefix = StoreProcess::prefix(league);
        routes.open_pages(&prefix, Arc::clone(&self.waiting) as _);
        routes.open(&prefix, Arc::clone(&self.waiting) as _);
    }

    /// Whether the process manages it, and it is not over.
    fn is_active(&self) -> bool {
        let managed = self.managed.as_ref();
        managed.is_some_and(|managed| managed.collecting.is_none())
    }

    /// Notes who holds the league. A host that was killed had our address.
    fn tell(&self, found: &StoredLeague, own: &str) {
        let holder = (found.is_held && found.address != own).then(|| found.address.clone());
        self.in_charge.send_if_modified(|known| {
            let changed = *known != holder;
            *known = holder;
            changed
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_address_is_never_told_as_the_manager_in_charge() {
        let league = LeagueId::new("friday").unwrap();
        let hosted = HostedLeague::open(&league, &Routes::default());
        let found = |is_held, address: &str| StoredLeague {
            league: league.clone(),
            over: false,
            is_held,
            epoch: 1,
            address: address.to_owned(),
        };
        let (own, other) = ("http://a:8000/leagues/friday/mcp", "http://b:8000/mcp");
        for (found, told) in [
            (found(true, other), Some(other)),
            (found(true, own), None),
            (found(false, other), None),
        ] {
            hosted.tell(&found, own);
            assert_eq!(hosted.in_charge.borrow().as_deref(), told, "{found:?}");
        }
    }
}
