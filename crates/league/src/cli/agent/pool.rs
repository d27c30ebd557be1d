//! A process of referees that take matches from a store: of any league there, as many at once as it
//! has room for. In each league that it takes matches of, it is a referee of its own.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

use league_core::letter::Peer;
use league_core::referee::{Command, Referee, RefereeRules};
use league_protocol::id::{LeagueId, MatchId, RefereeId};
use league_protocol::sender::{Agent, CallStyle, Dialect};
use serde_json::json;
use tokio::time::Instant;

use super::AgentSetup;
use super::store_process::{LeagueWork, StoreProcess, end_all, work};
use crate::agents::RunningAgent;
use crate::agents::assemble::Shared;
use crate::agents::referee;
use crate::cli::Exit;
use crate::cli::arguments::CommonArgs;
use crate::cli::failure::{CommandError, chain};
use crate::http::endpoint::Endpoint;
use crate::http::local;
use crate::http::server::Service;
use crate::http::transport::Listener;
use crate::storage::database::{CLAIM, Job};
use crate::storage::league_store::LeagueStore;

/// How often the pool looks for matches while it has some, and for a while after.
const POLL: Duration = Duration::from_millis(250);
const STAYS_AWAKE: Duration = Duration::from_secs(5);
/// The same when nothing is played.
const IDLE_POLL: Duration = Duration::from_secs(1);

/// Referees for many leagues.
pub(crate) struct RefereePool<'p> {
    pub(crate) setup: &'p mut AgentSetup,
    pub(crate) common: &'p CommonArgs,
    pub(crate) shared: Shared,
    pub(crate) store: LeagueStore,
    /// What its referees have in common; each has a manager and an address of its own.
    pub(crate) rules: RefereeRules,
}

impl RefereePool<'_> {
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
            rules,
        } = self;
        let place = (&shared, store);
        let (mut process, served) =
            StoreProcess::begin("pool", listener, setup, place, (common, out));
        let most = rules.max_concurrent;
        let (base, name) = (&process.base, process.store.database.name());
        let sentence = format!("referees at {base} take up to {most} matches at once of {name}");
        let greeting = json!({"event": "pool", "endpoint": base, "max_matches": most});
        process.greet(&greeting, &sentence)?;
        let referees = PooledReferees {
            process,
            shared,
            rules,
            referees: BTreeMap::new(),
            claims: BTreeMap::new(),
            released: Vec::new(),
            busy: Instant::now(),
        };
        work(referees, served, &mut setup.signals).await
    }
}

/// The referees of a pool, and the matches that it has claimed for them.
struct PooledReferees<'p> {
    process: StoreProcess<'p>,
    shared: Shared,
    rules: RefereeRules,
    referees: BTreeMap<LeagueId, LeagueReferee>,
    claims: BTreeMap<Job, Claim>,
    /// Claims that the store is not told of yet.
    released: Vec<Job>,
    /// When it last had a match.
    busy: Instant,
}

/// A referee in one league.
struct LeagueReferee {
    running: RunningAgent<Referee>,
    /// The address of the manager that it knows.
    manager: String,
    /// Whether its league is over, and it waits to hand in its journal.
    is_leaving: bool,
}

/// A match that no referee of this process has yet.
#[derive(Debug, Clone, Copy)]
struct Claim {
    since: Instant,
    /// Whether a referee was told to take it.
    is_told: bool,
}

impl Claim {
    fn new(since: Instant) -> Self {
        let is_told = false;
        Self { since, is_told }
    }

    fn has_run_out(&self) -> bool {
        self.since.elapsed() >= CLAIM
    }
}

/// What has become of a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ClaimState {
    /// The referee has the match.
    Taken,
    /// It waits for an answer of the manager, or for its admission.
    Waits,
    /// It may be told to take the match, or was refused.
    Open,
}

/// What a referee tells about itself.
struct RefereeState {
    held: usize,
    is_over: bool,
    claims: Vec<ClaimState>,
}

impl RefereeState {
    fn of(referee: &Referee, claims: &[(MatchId, u32)]) -> Self {
        let claims = claims.iter().map(|(id, attempt)| {
            let view = referee.view(id);
            if view.is_some_and(|view| view.attempt >= *attempt) {
                ClaimState::Taken
            } else if referee.is_taking(id) || referee.enrolled().is_none() {
                ClaimState::Waits
            } else {
                ClaimState::Open
            }
        });
        Self {
            held: referee.held(),
            is_over: referee.league_over(),
            claims: claims.collect(),
        }
    }
}

impl LeagueWork for PooledReferees<'_> {
    /// Claims matches as far as there is room, and lets their referees take them.
    async fn look(&mut self) -> Result<Duration, CommandError> {
        self.leave().await?;
        let held = self.visit_referees().await;
        let room = (self.rules.max_concurrent as usize).saturating_sub(held + self.claims.len());
        let worker = self.process.store.holder.clone();
        let released = std::mem::take(&mut self.released);
        let avoided: Vec<LeagueId> = self.process.failures.now().cloned().collect();
        let has_leagues = !self.referees.is_empty() || !self.claims.is_empty();
        let asked = self.process.ask(move |database| {
            // A claim that is not released runs out.
            if !released.is_empty() {
                database.release_jobs(&worker, &released)?;
            }
            let jobs = match room {
                0 => Vec::new(),
                _ => database.claim_jobs(&worker, room, &avoided)?,
            };
            let leagues = match has_leagues || !jobs.is_empty() {
                true => database.leagues(false)?,
                false => Vec::new(),
            };
            Ok((jobs, leagues))
        });
        let Some((jobs, leagues)) = asked.await? else {
            return Ok(IDLE_POLL);
        };
        let held_leagues = leagues.into_iter().filter(|league| league.is_held);
        let managers = held_leagues.map(|league| (league.league, league.address));
        let managers: BTreeMap<LeagueId, String> = managers.collect();
        let now = Instant::now();
        let (has_new, new) = (!jobs.is_empty(), Claim::new(now));
        self.claims.extend(jobs.into_iter().map(|job| (job, new)));
        self.follow_managers(&managers).await?;
        if has_new {
            self.visit_referees().await;
        }
        self.process.status.note_leagues(self.referees.len());
        if held > 0 || !self.claims.is_empty() {
            self.busy = now;
        }
        let is_busy = self.busy.elapsed() < STAYS_AWAKE;
        Ok(if is_busy { POLL } else { IDLE_POLL })
    }

    async fn stop(self) {
        let claims: Vec<Job> = self.claims.into_keys().chain(self.released).collect();
        let worker = self.process.store.holder.clone();
        let release = self.process.ask(move |database| match claims.is_empty() {
            true => Ok(()),
            false => database.release_jobs(&worker, &claims),
        });
        // Without the database they run out.
        let _ = tokio::time::timeout(IDLE_POLL, release).await;
        let running = self.referees.into_values().map(|referee| referee.running);
        end_all(running.collect()).await;
        self.shared.document_writer.finish();
    }
}

impl PooledReferees<'_> {
    /// Sees what has become of the claims, and tells referees to take theirs; returns how many matches
    /// they have. A referee whose league is over ends when it has handed in its journal.
    async fn visit_referees(&mut self) -> usize {
        let mut held = 0;
        for (league, referee) in &mut self.referees {
            let own = self.claims.keys().filter(|job| job.league == *league);
            let own: Vec<Job> = own.cloned().collect();
            let asked: Vec<(MatchId, u32)> = own
                .iter()
                .map(|job| (job.match_id.clone(), job.attempt))
                .collect();
            let actor = &referee.running.actor;
            let state = actor.query(move |referee| RefereeState::of(referee, &asked));
            // One that has ended is left with the next look.
            let Ok(state) = state.await else { continue };
            held += state.held;
            for (job, state) in own.into_iter().zip(state.claims) {
                let Some(claim) = self.claims.get_mut(&job) else {
                    continue;
                };
                match state {
                    ClaimState::Taken => drop(self.claims.remove(&job)),
                    ClaimState::Waits => {}
                    ClaimState::Open if claim.is_told => {
                        self.claims.remove(&job);
                        self.released.push(job);
                    }
                    ClaimState::Open => {
                        claim.is_told = true;
                        let (match_id, attempt) = (job.match_id, job.attempt);
                        actor.send(Command::TakeMatch { match_id, attempt }).await;
                    }
                }
            }
            if state.is_over && state.held == 0 && !referee.is_leaving {
                referee.is_leaving = true;
                actor.stop().await;
            }
        }
        held
    }

    /// Gives up claims in leagues without a manager and those that ran out, and sees that each other
    /// claim has a referee that knows the manager in charge.
    async fn follow_managers(
        &mut self,
        managers: &BTreeMap<LeagueId, String>,
    ) -> Result<(), CommandError> {
        let claims = std::mem::take(&mut self.claims);
        let (kept, given_up) = claims.into_iter().partition(|(job, claim)| {
            let has_manager = managers.contains_key(&job.league);
            has_manager && !self.process.failures.has(&job.league) && !claim.has_run_out()
        });
        self.claims = kept;
        for (job, claim) in given_up as BTreeMap<Job, Claim> {
            if claim.has_run_out() && !claim.is_told {
                let cause = "its manager has not admitted this referee";
                self.process.fail(&job.league, cause)?;
            }
            self.released.push(job);
        }
        let known = self.referees.iter();
        let outdated = known.filter(|(league, referee)| {
            let now = managers.get(*league);
            !referee.is_leaving && now.is_some_and(|now| *now != referee.manager)
        });
        let outdated: Vec<LeagueId> = outdated.map(|(league, _)| league.clone()).collect();
        // It goes on where its journal ended.
        let mut joined: BTreeSet<LeagueId> = outdated.iter().cloned().collect();
        let gone = outdated
            .iter()
            .filter_map(|league| self.referees.remove(league));
        end_all(gone.map(|referee| referee.running).collect()).await;
        let claimed = self.claims.keys().map(|job| &job.league);
        let new = claimed.filter(|league| !self.referees.contains_key(*league));
        joined.extend(new.cloned());
        for league in joined {
            if let Some(manager) = managers.get(&league) {
                self.join(&league, manager).await?;
            }
        }
        Ok(())
    }

    /// Begins to be a referee of a league.
    async fn join(&mut self, league: &LeagueId, manager: &str) -> Result<(), CommandError> {
        let Ok(endpoint) = Endpoint::of_manager(manager) else {
            let cause = format!("`{manager}` is not an address of a manager");
            return self.process.fail(league, &cause);
        };
        let address = self.process.address(league);
        let mut shared = self.shared.clone();
        shared.store = Some(self.process.store.at(address.clone()));
        shared.outbox.allowed = shared.outbox.allowed.knowing(endpoint.clone());
        let own = |manager: std::net::SocketAddr| local::is_own(manager.ip());
        if !endpoint.address().is_none_or(own) {
            shared.outbox.allowed = shared.outbox.allowed.away_from_manager();
        }
        let rules = RefereeRules {
            endpoint: address,
            manager: peer(manager),
            ..self.rules.clone()
        };
        let (slot, id) = (self.slot(), league.clone());
        // Reads its journal, and waits for the database.
        let started = tokio::task::spawn_blocking(move || start(&shared, &id, &slot, rules)).await;
        let (running, service) = match started.unwrap_or_else(|error| Err(error.to_string())) {
            Ok(started) => started,
            Err(cause) => {
                // One that knew another manager was served before.
                self.process.routes.close(&StoreProcess::prefix(league));
                return self.process.fail(league, &cause);
            }
        };
        let routes = &self.process.routes;
        routes.open(StoreProcess::prefix(league), service);
        let referee = LeagueReferee {
            running,
            manager: manager.to_owned(),
            is_leaving: false,
        };
        self.referees.insert(league.clone(), referee);
        let sentence = format!("referees league `{league}` for {manager}");
        self.process.say(league, "joined", &sentence)
    }

    /// Leaves the leagues whose referees have ended: their managers have the journals, or they failed.
    async fn leave(&mut self) -> Result<(), CommandError> {
        let referees = self.referees.iter();
        let ended = referees.filter(|(_, referee)| referee.running.ended.is_finished());
        let ended: Vec<LeagueId> = ended.map(|(league, _)| league.clone()).collect();
        for league in ended {
            let Some(referee) = self.referees.remove(&league) else {
                continue;
            };
            self.process.routes.close(&StoreProcess::prefix(&league));
            let cause = match referee.running.ended.await {
                Ok(Ok(())) => None,
                Ok(Err(error)) => Some(chain(&error)),
                Err(error) => Some(error.to_string()),
            };
            let sentence = match cause {
                Some(cause) => {
                    self.process.failures.add(&league, &cause);
                    format!("leaves league `{league}`: {cause}")
                }
                None => format!("league `{league}` is over"),
            };
            self.process.say(&league, "left", &sentence)?;
        }
        Ok(())
    }

    /// The name of its files, which no other process has.
    fn slot(&self) -> RefereeId {
        let named = RefereeId::new(format!("pool-{}", self.process.store.holder));
        named.unwrap_or_else(|_| RefereeId::numbered(1))
    }
}

fn start(
    shared: &Shared,
    league: &LeagueId,
    slot: &RefereeId,
    rules: RefereeRules,
) -> Result<(RunningAgent<Referee>, Arc<dyn Service>), String> {
    let started = shared.referee_key(league).and_then(|key| {
        let rules = RefereeRules {
            key: Some(key),
            ..rules
        };
        referee::start(shared, league, slot, rules)
    });
    started.map_err(|error| chain(&error))
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
