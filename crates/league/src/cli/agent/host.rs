//! A process that manages many leagues of a store: it takes those that no manager holds, each below
//! `/leagues/ID`, runs their referees, and refers the callers of all others to their managers.
//!
//! It looks at the store again and again until a signal, says what it finds, leaves leagues alone that
//! failed, and tells at its root how it is.

mod referees;

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use league_core::league::League;
use league_protocol::id::LeagueId;
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use self::referees::{HostedReferee, LeaguePlace, PlannedReferee};
use super::manager::{LABEL, offer, opening, site};
use super::{AgentSetup, ServedRoutes};
use crate::agents::RunningAgent;
use crate::agents::assemble::Shared;
use crate::agents::identity::Membership;
use crate::agents::manager;
use crate::cli::Exit;
use crate::cli::arguments::CommonArgs;
use crate::cli::failure::{CommandError, chain};
use crate::cli::store::unusable;
use crate::cli::text::tell;
use crate::config::{AgentsConfig, SystemConfig};
use crate::http::endpoint::{OwnAddresses, Scheme};
use crate::http::process_status::ProcessStatus;
use crate::http::server::{Routes, Service};
use crate::http::standby::StandbyService;
use crate::http::transport::Listener;
use crate::site::OrganiserSite;
use crate::storage::database::{Database, DatabaseError, StoredLeague, Stream};
use crate::storage::league_store::LeagueStore;
use crate::wire::metrics::ProcessGauges;

/// How often the leagues of the store are looked at.
const POLL: Duration = Duration::from_secs(1);
/// The same while there are leagues to take: one at a time, so that several hosts share them.
const TAKING_POLL: Duration = Duration::from_millis(100);
/// How long its agents may take to end when the process stops.
const STOP_TIMEOUT: Duration = Duration::from_secs(5);
/// How long a league or a referee is left alone that failed here.
const FAILURE_PAUSE: Duration = Duration::from_secs(30);

/// The leagues that one process manages.
pub(crate) struct Host<'h> {
    pub(crate) setup: &'h mut AgentSetup,
    pub(crate) common: &'h CommonArgs,
    pub(crate) shared: Shared,
    pub(crate) store: LeagueStore,
    /// How many leagues it manages at most.
    pub(crate) most: usize,
    /// How many referees it runs in each; without a number, as many as the league begins with.
    pub(crate) referees: Option<u32>,
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
            referees,
        } = self;
        let listening = listener.local_addr()?;
        let scheme = Scheme::of(listener.tls().as_ref());
        let place = (&shared, store);
        let (mut process, served) = HostProcess::begin(listener, setup, place, (common, out));
        let (base, name) = (&process.base, process.store.database.name());
        let sentence = format!(
            "{LABEL} at {base} takes up to {most} leagues of {name}, each below {base}/leagues/ID"
        );
        let greeting = json!({"event": "host", "endpoint": base, "leagues": most});
        process.print(&greeting, &sentence)?;
        let mut hosted = HostedLeagues {
            process,
            listening,
            scheme,
            system: &setup.system,
            agents: &setup.agents,
            shared,
            most,
            referees,
            leagues: BTreeMap::new(),
        };
        let exit = tokio::select! {
            Err(error) = hosted.look_on() => Err(error),
            // One that comes during a look is heard too: the database may be away.
            _ = setup.signals.stop() => Ok(Exit::Yes),
        };
        served.end.send_replace(true);
        let _ = served.server.await;
        hosted.stop().await;
        exit
    }
}

/// The leagues of a store as a host serves them.
struct HostedLeagues<'h> {
    process: HostProcess<'h>,
    listening: SocketAddr,
    scheme: Scheme,
    system: &'h SystemConfig,
    agents: &'h AgentsConfig,
    shared: Shared,
    most: usize,
    referees: Option<u32>,
    leagues: BTreeMap<LeagueId, HostedLeague>,
}

/// A league of the store as this process serves it.
struct HostedLeague {
    /// Tells who is in charge of it, for callers that come here.
    in_charge: watch::Sender<Option<String>>,
    waiting: Arc<StandbyService>,
    /// While it is being taken.
    taking: Option<JoinHandle<Result<Option<StartedLeague>, String>>>,
    managed: Option<ManagedLeague>,
}

/// A league that was taken, before it is served.
struct StartedLeague {
    running: RunningAgent<League>,
    service: Arc<dyn Service>,
    referees: Vec<PlannedReferee>,
}

/// A league that this process manages.
struct ManagedLeague {
    running: RunningAgent<League>,
    referees: Vec<HostedReferee>,
    /// Collects the journals of referees when the league is over.
    collecting: Option<JoinHandle<()>>,
}

impl HostedLeagues<'_> {
    /// Looks again and again.
    async fn look_on(&mut self) -> Result<(), CommandError> {
        loop {
            let pause = self.look().await?;
            tokio::time::sleep(pause).await;
        }
    }

    /// Sees what has become of the leagues, and takes one that no manager holds; returns the time until
    /// the next look.
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

    /// Ends the agents, all at the same time, within a bound.
    async fn stop(self) {
        let leagues = self.leagues.into_values();
        let managed: Vec<ManagedLeague> = leagues.filter_map(|league| league.managed).collect();
        let (mut managers, mut referees) = (Vec::new(), Vec::new());
        for league in managed {
            league.running.actor.stop().await;
            managers.push(league.running.ended);
            referees.extend(league.referees.into_iter().map(HostedReferee::end));
        }
        let all = async {
            // What they could not write is lost to this process only.
            for manager in managers {
                let _ = manager.await;
            }
            for referee in referees {
                let _ = referee.await;
            }
        };
        let _ = tokio::time::timeout(STOP_TIMEOUT, all).await;
        self.shared.document_writer.finish();
    }

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
    fn open(&mut self, league: &LeagueId, started: StartedLeague) -> Result<(), CommandError> {
        let (running, service) = (started.running, started.service);
        let address = self.process.address(league);
        let offer = offer(self.system, &address, false);
        let organiser = OrganiserSite::of(&self.shared, league, &service, &address);
        let pages = site(&self.shared, league, &running, offer).with_organiser(organiser);
        let prefix = HostProcess::prefix(league);
        let routes = &self.process.routes;
        routes.open_pages(&prefix, Arc::new(pages));
        routes.open(&prefix, service);
        let referees = started.referees.into_iter();
        let referees = referees.map(|planned| planned.begin(routes.clone()));
        if let Some(hosted) = self.leagues.get_mut(league) {
            hosted.managed = Some(ManagedLeague {
                running,
                referees: referees.collect(),
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
                routes.close(&HostProcess::prefix(league));
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
        let own = OwnAddresses::new(Some(self.listening), &address);
        let own = own.with_agents(self.agents.endpoints());
        let taking = TakenPlace {
            shared: self.shared.clone(),
            store: self.process.store.at(address.clone()),
            place: LeaguePlace {
                scheme: self.scheme,
                listening: self.listening,
                prefix: HostProcess::prefix(&league),
                address,
            },
            own,
            referees: self.referees,
        };
        if let Some(hosted) = self.leagues.get_mut(&league) {
            // Reads the whole journal, and waits for the database.
            hosted.taking = Some(tokio::task::spawn_blocking(move || taking.take(&league)));
        }
        true
    }
}

/// Where a league goes that is being taken.
struct TakenPlace {
    shared: Shared,
    store: LeagueStore,
    place: LeaguePlace,
    own: OwnAddresses,
    referees: Option<u32>,
}

impl TakenPlace {
    /// Takes a league and starts its manager, unless another process was quicker.
    fn take(self, league: &LeagueId) -> Result<Option<StartedLeague>, String> {
        let Self { store, place, .. } = self;
        let lease = match store.lease(&Stream::of_manager(league)) {
            Ok(lease) => lease,
            Err(DatabaseError::Held { .. }) => return Ok(None),
            Err(error) => return Err(chain(&error)),
        };
        let shared = Shared {
            store: Some(store.clone()),
            ..self.shared
        };
        let filled = store.fill(&shared.root, league);
        filled.map_err(|error| chain(&error))?;
        let rules = opening(&shared.root, league).and_then(|opening| opening.rules);
        let rules = rules.ok_or("its journal does not begin with the rules of a league")?;
        let usual = || rules.start_when.map_or(1, |(_, referees)| referees.max(1));
        let count = self.referees.unwrap_or_else(usual);
        let own = place.for_manager(&shared, count)?;
        let referees = PlannedReferee::all(&shared, &rules, &place, count)?;
        let started = manager::start(&own, rules, &[], &self.own, None, Some(lease));
        let (running, service) = started.map_err(|error| chain(&error))?;
        Ok(Some(StartedLeague {
            running,
            service,
            referees,
        }))
    }
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
        let prefix = HostProcess::prefix(league);
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

/// Where a host answers, what it prints, and the store that it looks at.
struct HostProcess<'p> {
    common: &'p CommonArgs,
    out: &'p mut dyn Write,
    store: LeagueStore,
    routes: Routes,
    /// Its address, without `/mcp`.
    base: String,
    failures: LeagueFailures,
    status: Arc<ProcessStatus>,
}

impl<'p> HostProcess<'p> {
    /// Serves a listener, and tells at its root how the process is.
    fn begin(
        listener: Listener,
        setup: &AgentSetup,
        (shared, store): (&Shared, LeagueStore),
        (common, out): (&'p CommonArgs, &'p mut dyn Write),
    ) -> (Self, ServedRoutes) {
        let endpoint = setup.endpoint(&listener);
        let gauges = ProcessGauges {
            outbox: shared.outbox.clone(),
            connections: shared.limits.connections.clone(),
        };
        let status = Arc::new(ProcessStatus::new(gauges));
        let routes = Routes::behind(shared.gate.clone());
        routes.open("", Arc::clone(&status) as _);
        let process = Self {
            common,
            out,
            store,
            routes: routes.clone(),
            base: endpoint.trim_end_matches("/mcp").to_owned(),
            failures: LeagueFailures::default(),
            status,
        };
        (process, ServedRoutes::begin(listener, routes, shared))
    }

    /// Asks the database, where it holds up no other task; `None` if it is away.
    async fn ask<T: Send + 'static>(
        &self,
        question: impl FnOnce(&Database) -> Result<T, DatabaseError> + Send + 'static,
    ) -> Result<Option<T>, CommandError> {
        let database = self.store.database.clone();
        let asked = tokio::task::spawn_blocking(move || question(&database)).await;
        match asked.unwrap_or(Err(DatabaseError::Closed)) {
            Ok(answer) => {
                self.status.note_answer();
                Ok(Some(answer))
            }
            // What runs in its leagues waits too.
            Err(error) if error.is_passing() => Ok(None),
            Err(error) => Err(unusable(&error)),
        }
    }

    /// The path of a league.
    fn prefix(league: &LeagueId) -> String {
        format!("/leagues/{league}")
    }

    /// The address of an agent in a league.
    fn address(&self, league: &LeagueId) -> String {
        format!("{}{}/mcp", self.base, Self::prefix(league))
    }

    /// Leaves a league alone for a while; says why, unless that is known.
    fn fail(&mut self, league: &LeagueId, cause: &str) -> Result<(), CommandError> {
        if !self.failures.add(league, cause) {
            return Ok(());
        }
        tracing::warn!(league_id = %league, event_type = "LEAGUE_NOT_TAKEN", "{cause}");
        let sentence = format!("league `{league}` is not taken: {cause}");
        self.say(league, "not_taken", &sentence)
    }

    fn say(&mut self, league: &LeagueId, event: &str, sentence: &str) -> Result<(), CommandError> {
        let object = json!({"event": event, "league_id": league, "sentence": sentence});
        Ok(self.print(&object, sentence)?)
    }

    fn print(&mut self, object: &Value, sentence: &str) -> io::Result<()> {
        tell(self.common, &mut self.out, object, sentence)
    }
}

/// Leagues that failed in this process, until when they are left alone, and why.
#[derive(Default)]
struct LeagueFailures(BTreeMap<LeagueId, (Instant, String)>);

impl LeagueFailures {
    /// Returns whether the cause is another one than the last time.
    fn add(&mut self, league: &LeagueId, cause: &str) -> bool {
        let until = Instant::now() + FAILURE_PAUSE;
        let before = self.0.insert(league.clone(), (until, cause.to_owned()));
        before.is_none_or(|(_, known)| known != cause)
    }

    fn remove(&mut self, league: &LeagueId) {
        self.0.remove(league);
    }

    fn has(&self, league: &LeagueId) -> bool {
        let until = self.0.get(league).map(|(until, _)| *until);
        until.is_some_and(|until| Instant::now() < until)
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

    #[tokio::test(start_paused = true)]
    async fn failed_league_is_left_alone_for_a_while_and_its_cause_told_once() {
        let mut failures = LeagueFailures::default();
        let league = LeagueId::new("friday").unwrap();
        assert!(failures.add(&league, "its copy is damaged"));
        assert!(failures.has(&league));
        tokio::time::advance(FAILURE_PAUSE).await;
        assert!(!failures.has(&league));
        assert!(!failures.add(&league, "its copy is damaged"));
        assert!(failures.add(&league, "the disk is full"));
        failures.remove(&league);
        assert!(failures.add(&league, "the disk is full"));
    }
}
