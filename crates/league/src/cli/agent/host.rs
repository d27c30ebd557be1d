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

use super::manager::{LABEL, offer, site};
use super::standby::TakenLeague;
use super::{AgentSetup, ServedRoutes};
use crate::agents::RunningAgent;
use crate::agents::assemble::Shared;
use crate::agents::manager;
use crate::cli::arguments::CommonArgs;
use crate::cli::failure::{CommandError, chain};
use crate::cli::store::unusable;
use crate::cli::text::print_object;
use crate::cli::{Exit, Output};
use crate::http::endpoint::OwnAddresses;
use crate::http::server::Routes;
use crate::http::standby::StandbyService;
use crate::http::transport::Listener;
use crate::site::OrganiserSite;
use crate::storage::database::{DatabaseError, StoredLeague, Stream};
use crate::storage::league_store::LeagueStore;

/// How often the leagues of the store are looked at. One is taken each time, so that several hosts
/// share what there is; then the next look is soon, so that the leagues of a host that died do not
/// wait long.
const POLL: Duration = Duration::from_millis(500);
const POLL_AFTER_ONE: Duration = Duration::from_millis(100);
/// How long its leagues may take to end when the process stops.
const STOP_TIMEOUT: Duration = Duration::from_secs(5);

/// The leagues that one process manages.
pub(crate) struct Host<'h> {
    pub(crate) setup: &'h mut AgentSetup,
    pub(crate) common: &'h CommonArgs,
    pub(crate) shared: Shared,
    pub(crate) store: LeagueStore,
    /// How many leagues it manages at most.
    pub(crate) most: usize,
}

/// A league of the store as this process serves it.
struct Slot {
    /// Tells who is in charge of it, for callers that come here.
    in_charge: watch::Sender<Option<String>>,
    waiting: Arc<StandbyService>,
    managed: Option<Managed>,
}

/// A league that this process manages.
struct Managed {
    running: RunningAgent<League>,
    /// Collects the journals of referees when the league is over.
    collecting: Option<JoinHandle<()>>,
}

impl Host<'_> {
    /// Serves until a signal to stop.
    pub(crate) async fn run(
        mut self,
        listener: Listener,
        out: &mut impl Write,
    ) -> Result<Exit, CommandError> {
        let own = listener.local_addr().ok();
        let base = self.setup.endpoint(&listener);
        let base = base.trim_end_matches("/mcp").to_owned();
        let served = ServedRoutes::begin(
            listener,
            Routes::behind(self.shared.gate.clone()),
            &self.shared,
        );
        self.greet(&base, out)?;
        let mut slots = BTreeMap::new();
        loop {
            let took_one = self
                .look((own, &base), &served.routes, &mut slots, out)
                .await?;
            let mut pause = POLL_AFTER_ONE;
            // Leagues that wait come first: the managers of the others may be busy.
            if !took_one {
                self.check_all(&mut slots, &served.routes, out).await?;
                pause = POLL;
            }
            tokio::select! {
                () = tokio::time::sleep(pause) => {}
                _ = self.setup.signals.stop() => break,
            }
        }
        served.end.send_replace(true);
        let _ = served.server.await;
        for slot in slots.into_values() {
            if let Some(managed) = slot.managed {
                managed.running.actor.stop().await;
                let _ = tokio::time::timeout(STOP_TIMEOUT, managed.running.ended).await;
            }
        }
        self.shared.document_writer.finish();
        Ok(Exit::Yes)
    }

    /// Takes a league that no manager holds; returns whether there was one.
    async fn look(
        &mut self,
        (own, base): (Option<SocketAddr>, &str),
        routes: &Routes,
        slots: &mut BTreeMap<LeagueId, Slot>,
        out: &mut impl Write,
    ) -> Result<bool, CommandError> {
        let leagues = match self.leagues().await {
            Ok(leagues) => leagues,
            // Leagues that it holds wait too.
            Err(error) if error.is_passing() => return Ok(false),
            Err(error) => return Err(unusable(&error)),
        };
        let managed = slots.values().filter(|slot| slot.is_active()).count();
        let has_room = managed < self.most;
        let mut took_one = false;
        for found in leagues {
            let league = found.league.clone();
            let slot = slots
                .entry(league.clone())
                .or_insert_with(|| Slot::open(&league, routes));
            if slot.managed.is_some() {
                continue;
            }
            slot.tell(&found);
            if has_room && !took_one && !found.over && !found.is_held {
                let address = format!("{base}/leagues/{league}/mcp");
                took_one = self
                    .take((own, address), &league, (slot, routes), out)
                    .await?;
            }
        }
        Ok(took_one)
    }

    async fn leagues(&self) -> Result<Vec<StoredLeague>, DatabaseError> {
        let database = self.store.database.clone();
        let asked = tokio::task::spawn_blocking(move || database.leagues()).await;
        asked.unwrap_or(Err(DatabaseError::Closed))
    }

    /// Takes a league; returns whether this process manages it now. Another process may be quicker.
    async fn take(
        &self,
        (own, address): (Option<SocketAddr>, String),
        league: &LeagueId,
        (slot, routes): (&mut Slot, &Routes),
        out: &mut impl Write,
    ) -> Result<bool, CommandError> {
        let mut shared = self.shared.clone();
        let store = self.store.at(address.clone());
        shared.store = Some(store.clone());
        let lease = match store.lease(&Stream::of_manager(league)) {
            Ok(lease) => lease,
            Err(DatabaseError::Held { .. }) => return Ok(false),
            Err(error) => return self.not_taken(league, &chain(&error), out),
        };
        let taken = TakenLeague::fill(&store, &shared.root, league, lease)?;
        let Some(rules) = taken.rules else {
            return Ok(false);
        };
        let own = OwnAddresses::new(own, &address).with_agents(self.setup.agents.endpoints());
        let (running, service) =
            match manager::start(&shared, rules, &[], &own, None, Some(taken.lease)) {
                Ok(started) => started,
                Err(error) => return self.not_taken(league, &chain(&error), out),
            };
        let offer = offer(&self.setup.system, &address, false);
        let organiser = OrganiserSite::of(&shared, league, &service, &address);
        let pages = site(&shared, league, &running, offer).with_organiser(organiser);
        let prefix = prefix(league);
        routes.open_pages(&prefix, Arc::new(pages));
        routes.open(&prefix, service);
        slot.managed = Some(Managed {
            running,
            collecting: None,
        });
        self.say(
            league,
            "taken",
            &format!("manages league `{league}` at {address}"),
            out,
        )?;
        Ok(true)
    }

    /// Tells of a league that cannot be managed here, and leaves it to others.
    fn not_taken(
        &self,
        league: &LeagueId,
        cause: &str,
        out: &mut impl Write,
    ) -> Result<bool, CommandError> {
        tracing::warn!(league_id = %league, event_type = "LEAGUE_NOT_TAKEN", "{cause}");
        self.say(
            league,
            "not_taken",
            &format!("league `{league}` is not taken: {cause}"),
            out,
        )?;
        Ok(false)
    }

    /// Sees what has become of the leagues that it manages.
    async fn check_all(
        &self,
        slots: &mut BTreeMap<LeagueId, Slot>,
        routes: &Routes,
        out: &mut impl Write,
    ) -> Result<(), CommandError> {
        for (league, slot) in slots {
            self.check(league, slot, routes, out).await?;
        }
        Ok(())
    }

    /// Sees whether a league is over, or was taken over.
    async fn check(
        &self,
        league: &LeagueId,
        slot: &mut Slot,
        routes: &Routes,
        out: &mut impl Write,
    ) -> Result<(), CommandError> {
        let Some(managed) = &mut slot.managed else {
            return Ok(());
        };
        if managed.running.ended.is_finished() {
            let ended = (&mut managed.running.ended).await;
            let cause = match ended {
                Ok(Err(error)) => chain(&error),
                Ok(Ok(())) => "its actor ended".to_owned(),
                Err(error) => error.to_string(),
            };
            slot.managed = None;
            slot.refer(league, routes);
            return self.say(
                league,
                "left",
                &format!("leaves league `{league}`: {cause}"),
                out,
            );
        }
        let over = managed.running.actor.query(League::is_over).await;
        if managed.collecting.is_none() && over.unwrap_or(false) {
            let (shared, actor) = (self.shared.clone(), managed.running.actor.clone());
            let shared = Shared {
                store: Some(self.store.clone()),
                ..shared
            };
            let id = league.clone();
            managed.collecting = Some(tokio::spawn(async move {
                manager::collect_journals(&shared, &actor, &id).await;
            }));
            self.say(league, "over", &format!("league `{league}` is over"), out)?;
        }
        Ok(())
    }

    fn greet(&self, base: &str, out: &mut impl Write) -> Result<(), CommandError> {
        let most = self.most;
        if self.common.output == Output::Json {
            let greeting = json!({"event": "host", "endpoint": base, "leagues": most});
            print_object(out, &greeting)?;
        } else if self.common.talks() {
            writeln!(
                out,
                "{LABEL} at {base} takes up to {most} leagues of {}, each below {base}/leagues/ID",
                self.store.database.name()
            )?;
        }
        Ok(out.flush()?)
    }

    fn say(
        &self,
        league: &LeagueId,
        event: &str,
        sentence: &str,
        out: &mut impl Write,
    ) -> Result<(), CommandError> {
        if self.common.output == Output::Json {
            let object = json!({"event": event, "league_id": league, "sentence": sentence});
            print_object(out, &object)?;
        } else if self.common.talks() {
            writeln!(out, "{sentence}")?;
        }
        Ok(out.flush()?)
    }
}

impl Slot {
    /// Refers the callers of a league to its manager, from now on.
    fn open(league: &LeagueId, routes: &Routes) -> Self {
        let (in_charge, told) = watch::channel(None);
        let slot = Self {
            in_charge,
            waiting: Arc::new(StandbyService::new(league.clone(), told)),
            managed: None,
        };
        slot.refer(league, routes);
        slot
    }

    fn refer(&self, league: &LeagueId, routes: &Routes) {
        let prefix = prefix(league);
        routes.open_pages(&prefix, Arc::clone(&self.waiting) as _);
        routes.open(&prefix, Arc::clone(&self.waiting) as _);
    }

    /// Whether the process manages it, and it is not over.
    fn is_active(&self) -> bool {
        let managed = self.managed.as_ref();
        managed.is_some_and(|managed| managed.collecting.is_none())
    }

    /// Notes who holds the league.
    fn tell(&self, found: &StoredLeague) {
        let holder = (found.is_held || found.over).then(|| found.address.clone());
        self.in_charge.send_if_modified(|known| {
            let changed = *known != holder;
            *known = holder;
            changed
        });
    }
}

fn prefix(league: &LeagueId) -> String {
    format!("/leagues/{league}")
}
