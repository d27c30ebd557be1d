//! A process of referees that take matches from a store: of any league there, as many at once as it
//! has room for. In each league that it takes matches of, it is a referee of its own.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

use league_core::letter::Peer;
use league_core::referee::{Command, Referee, RefereeRules};
use league_protocol::id::{LeagueId, RefereeId};
use league_protocol::sender::{Agent, CallStyle, Dialect};
use serde_json::json;

use super::{AgentSetup, ServedRoutes, not_started};
use crate::agents::RunningAgent;
use crate::agents::assemble::Shared;
use crate::agents::referee;
use crate::cli::arguments::CommonArgs;
use crate::cli::failure::{CommandError, chain};
use crate::cli::store::unusable;
use crate::cli::text::print_object;
use crate::cli::{Exit, Output};
use crate::http::endpoint::Endpoint;
use crate::http::local;
use crate::http::server::Routes;
use crate::http::transport::Listener;
use crate::storage::database::{DatabaseError, Job};
use crate::storage::league_store::LeagueStore;

/// How often the pool looks for matches, and asks again for those that it has claimed.
const POLL: Duration = Duration::from_millis(250);
/// How long its referees may take to end when the process stops.
const STOP_TIMEOUT: Duration = Duration::from_secs(5);

/// Referees for many leagues.
pub(crate) struct Pool<'p> {
    pub(crate) setup: &'p mut AgentSetup,
    pub(crate) common: &'p CommonArgs,
    pub(crate) shared: Shared,
    pub(crate) store: LeagueStore,
    /// What its referees have in common; each has a manager and an address of its own.
    pub(crate) rules: RefereeRules,
}

/// A referee in one league.
struct Member {
    running: RunningAgent<Referee>,
    /// The address of the manager that it knows.
    manager: String,
    /// Whether its league is over, and it waits to hand in its journal.
    is_leaving: bool,
}

type Members = BTreeMap<LeagueId, Member>;

impl Pool<'_> {
    /// Serves until a signal to stop.
    pub(crate) async fn run(
        mut self,
        listener: Listener,
        out: &mut impl Write,
    ) -> Result<Exit, CommandError> {
        let base = self.setup.endpoint(&listener);
        let base = base.trim_end_matches("/mcp").to_owned();
        let routes = Routes::behind(self.shared.gate.clone());
        let served = ServedRoutes::begin(listener, routes, &self.shared);
        self.greet(&base, out)?;
        let mut members = Members::new();
        loop {
            match self.look(&base, &served.routes, &mut members, out).await {
                Ok(()) => {}
                // Its matches go on meanwhile.
                Err(PoolError::Database(error)) if error.is_passing() => {}
                Err(PoolError::Database(error)) => return Err(unusable(&error)),
                Err(PoolError::Command(error)) => return Err(error),
            }
            tokio::select! {
                () = tokio::time::sleep(POLL) => {}
                _ = self.setup.signals.stop() => break,
            }
        }
        served.end.send_replace(true);
        let _ = served.server.await;
        for member in members.into_values() {
            member.running.actor.stop().await;
            let _ = tokio::time::timeout(STOP_TIMEOUT, member.running.ended).await;
        }
        self.shared.document_writer.finish();
        Ok(Exit::Yes)
    }

    /// Claims matches as far as there is room, and lets their referees take them.
    async fn look(
        &mut self,
        base: &str,
        routes: &Routes,
        members: &mut Members,
        out: &mut impl Write,
    ) -> Result<(), PoolError> {
        self.leave(routes, members, out).await?;
        let mut held = 0;
        for member in members.values() {
            held += member.running.actor.query(Referee::held).await.unwrap_or(0);
        }
        let room = (self.rules.max_concurrent as usize).saturating_sub(held);
        let jobs = self.claimed(room, members).await?;
        if jobs.is_empty() && members.is_empty() {
            return Ok(());
        }
        let managers = self.managers().await?;
        for league in members.keys().cloned().collect::<Vec<_>>() {
            self.follow_manager(base, &league, &managers, (routes, members), out)
                .await?;
        }
        for job in jobs {
            if !members.contains_key(&job.league) {
                self.join(base, &job.league, &managers, (routes, members), out)
                    .await?;
            }
            if let Some(member) = members.get(&job.league) {
                let (match_id, attempt) = (job.match_id, job.attempt);
                let wanted = Command::TakeMatch { match_id, attempt };
                member.running.actor.send(wanted).await;
            }
        }
        Ok(())
    }

    /// The matches that this process has claimed and not taken yet, and as many new ones as there is
    /// room for.
    async fn claimed(&self, room: usize, members: &Members) -> Result<Vec<Job>, PoolError> {
        let (database, worker) = (self.store.database.clone(), self.store.holder.clone());
        let asked = tokio::task::spawn_blocking(move || {
            let mut jobs = database.renew_jobs(&worker)?;
            if jobs.len() < room {
                jobs.extend(database.claim_jobs(&worker, room - jobs.len())?);
            }
            Ok::<_, DatabaseError>(jobs)
        });
        let jobs = asked.await.unwrap_or(Err(DatabaseError::Closed))?;
        let mut untaken = Vec::new();
        for job in jobs {
            let id = job.match_id.clone();
            let is_held = match members.get(&job.league) {
                Some(member) => {
                    let view = member
                        .running
                        .actor
                        .query(move |referee| referee.view(&id).is_some());
                    view.await.unwrap_or(false)
                }
                None => false,
            };
            if !is_held {
                untaken.push(job);
            }
        }
        Ok(untaken)
    }

    /// The managers in charge, by league.
    async fn managers(&self) -> Result<BTreeMap<LeagueId, String>, PoolError> {
        let database = self.store.database.clone();
        let asked = tokio::task::spawn_blocking(move || database.leagues()).await;
        let leagues = asked.unwrap_or(Err(DatabaseError::Closed))?;
        let held = leagues.into_iter().filter(|league| league.is_held);
        Ok(held.map(|league| (league.league, league.address)).collect())
    }

    /// Starts a referee anew if another manager is in charge of its league; it goes on where its
    /// journal ended.
    async fn follow_manager(
        &self,
        base: &str,
        league: &LeagueId,
        managers: &BTreeMap<LeagueId, String>,
        (routes, members): (&Routes, &mut Members),
        out: &mut impl Write,
    ) -> Result<(), PoolError> {
        let Some(member) = members.get(league) else {
            return Ok(());
        };
        let now = managers.get(league);
        if now.is_none_or(|now| *now == member.manager) || member.is_leaving {
            return Ok(());
        }
        if let Some(member) = members.remove(league) {
            member.running.actor.stop().await;
            let _ = tokio::time::timeout(STOP_TIMEOUT, member.running.ended).await;
        }
        self.join(base, league, managers, (routes, members), out)
            .await
    }

    /// Begins to be a referee of a league.
    async fn join(
        &self,
        base: &str,
        league: &LeagueId,
        managers: &BTreeMap<LeagueId, String>,
        (routes, members): (&Routes, &mut Members),
        out: &mut impl Write,
    ) -> Result<(), PoolError> {
        let Some(manager) = managers.get(league) else {
            return Ok(());
        };
        let Ok(endpoint) = Endpoint::of_manager(manager) else {
            return Ok(());
        };
        let prefix = format!("/leagues/{league}");
        let address = format!("{base}{prefix}/mcp");
        let mut shared = self.shared.clone();
        shared.store = Some(self.store.at(address.clone()));
        shared.outbox.allowed = shared.outbox.allowed.knowing(endpoint.clone());
        if endpoint
            .address()
            .is_some_and(|manager| !local::is_own(manager.ip()))
        {
            shared.outbox.allowed = shared.outbox.allowed.away_from_manager();
        }
        let slot = self.slot();
        let started = shared.referee_key(league).and_then(|key| {
            let rules = RefereeRules {
                endpoint: address,
                key: Some(key),
                manager: peer(manager),
                ..self.rules.clone()
            };
            referee::start(&shared, league, &slot, rules)
        });
        let (running, service) = match started {
            Ok(started) => started,
            Err(error) => {
                let error = not_started(
                    &format!("a referee of league `{league}`"),
                    &error,
                    "`--root`",
                );
                return Err(PoolError::Command(error));
            }
        };
        routes.open(prefix, service);
        let member = Member {
            running,
            manager: manager.clone(),
            is_leaving: false,
        };
        members.insert(league.clone(), member);
        self.say(
            league,
            "joined",
            &format!("referees league `{league}` for {manager}"),
            out,
        )
    }

    /// Leaves the leagues that are over, once their managers have the journals.
    async fn leave(
        &self,
        routes: &Routes,
        members: &mut Members,
        out: &mut impl Write,
    ) -> Result<(), PoolError> {
        let mut gone = BTreeSet::new();
        for (league, member) in members.iter_mut() {
            if member.running.ended.is_finished() {
                gone.insert(league.clone());
                continue;
            }
            let over = member
                .running
                .actor
                .query(|referee| referee.league_over() && referee.held() == 0);
            if over.await.unwrap_or(false) && !member.is_leaving {
                member.is_leaving = true;
                member.running.actor.stop().await;
            }
        }
        for league in gone {
            let Some(member) = members.remove(&league) else {
                continue;
            };
            routes.close(&format!("/leagues/{league}"));
            let sentence = match member.running.ended.await {
                Ok(Err(error)) => format!("leaves league `{league}`: {}", chain(&error)),
                _ => format!("league `{league}` is over"),
            };
            self.say(&league, "left", &sentence, out)?;
        }
        Ok(())
    }

    /// The name of its files, which no other process has.
    fn slot(&self) -> RefereeId {
        let named = RefereeId::new(format!("pool-{}", self.store.holder));
        named.unwrap_or_else(|_| RefereeId::numbered(1))
    }

    fn greet(&self, base: &str, out: &mut impl Write) -> Result<(), CommandError> {
        let most = self.rules.max_concurrent;
        if self.common.output == Output::Json {
            let greeting = json!({"event": "pool", "endpoint": base, "max_matches": most});
            print_object(out, &greeting)?;
        } else if self.common.talks() {
            let store = self.store.database.name();
            writeln!(
                out,
                "referees at {base} take up to {most} matches at once of {store}"
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
    ) -> Result<(), PoolError> {
        let printed = if self.common.output == Output::Json {
            let object = json!({"event": event, "league_id": league, "sentence": sentence});
            print_object(out, &object)
        } else if self.common.talks() {
            writeln!(out, "{sentence}")
        } else {
            Ok(())
        };
        let flushed = printed.and_then(|()| out.flush());
        flushed.map_err(|error| PoolError::Command(error.into()))
    }
}

/// Why a pool cannot go on as it is.
enum PoolError {
    Database(DatabaseError),
    Command(CommandError),
}

impl From<DatabaseError> for PoolError {
    fn from(error: DatabaseError) -> Self {
        Self::Database(error)
    }
}

fn peer(manager: &str) -> Arc<Peer> {
    Arc::new(Peer {
        agent: Agent::Manager,
        endpoint: manager.into(),
        dialect: Dialect::V2,
        speech: Some(CallStyle::Simple),
        is_foreign: false,
    })
}
