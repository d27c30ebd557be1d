//! What the processes of many leagues have in common: they look at their store again and again until
//! a signal, say what they find, leave leagues alone that failed, and tell at the root how they are.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::sync::Arc;
use std::time::Duration;

use league_core::machine::Machine;
use league_protocol::id::LeagueId;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::{AgentSetup, ServedRoutes};
use crate::agents::RunningAgent;
use crate::agents::assemble::Shared;
use crate::cli::arguments::CommonArgs;
use crate::cli::failure::CommandError;
use crate::cli::runtime::Signals;
use crate::cli::store::unusable;
use crate::cli::text::print_object;
use crate::cli::{Exit, Output};
use crate::http::process_status::ProcessStatus;
use crate::http::server::Routes;
use crate::http::transport::Listener;
use crate::storage::database::{Database, DatabaseError};
use crate::storage::league_store::LeagueStore;
use crate::wire::metrics::ProcessGauges;

/// How long its agents may take to end when the process stops.
const STOP_TIMEOUT: Duration = Duration::from_secs(5);
/// How long a league is left alone that failed here.
const FAILURE_PAUSE: Duration = Duration::from_secs(30);

/// What such a process does in its leagues.
pub(super) trait LeagueWork {
    /// Looks at the store and at its leagues once; returns the time until the next look.
    async fn look(&mut self) -> Result<Duration, CommandError>;
    /// Ends what runs in its leagues.
    async fn stop(self);
}

/// Looks until a signal to stop. One that comes during a look is heard too: the database may be away.
pub(super) async fn work(
    mut work: impl LeagueWork,
    served: ServedRoutes,
    signals: &mut Signals,
) -> Result<Exit, CommandError> {
    let exit = tokio::select! {
        Err(error) = look_on(&mut work) => Err(error),
        _ = signals.stop() => Ok(Exit::Yes),
    };
    served.end.send_replace(true);
    let _ = served.server.await;
    work.stop().await;
    exit
}

/// Looks again and again.
async fn look_on(work: &mut impl LeagueWork) -> Result<(), CommandError> {
    loop {
        let pause = work.look().await?;
        tokio::time::sleep(pause).await;
    }
}

/// Ends agents, all at the same time, within a bound.
pub(super) async fn end_all<M: Machine>(agents: Vec<RunningAgent<M>>) {
    for agent in &agents {
        agent.actor.stop().await;
    }
    let all = async {
        for agent in agents {
            // What it could not write is lost to this process only.
            let _ = agent.ended.await;
        }
    };
    let _ = tokio::time::timeout(STOP_TIMEOUT, all).await;
}

/// Where a process of many leagues answers, what it prints, and the store that it looks at.
pub(super) struct StoreProcess<'p> {
    common: &'p CommonArgs,
    out: &'p mut dyn Write,
    pub(super) store: LeagueStore,
    pub(super) routes: Routes,
    /// Its address, without `/mcp`.
    pub(super) base: String,
    pub(super) failures: LeagueFailures,
    pub(super) status: Arc<ProcessStatus>,
}

impl<'p> StoreProcess<'p> {
    /// Serves a listener, and tells at its root how the process is.
    pub(super) fn begin(
        role: &'static str,
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
        let status = Arc::new(ProcessStatus::new(role, gauges));
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
    pub(super) async fn ask<T: Send + 'static>(
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
    pub(super) fn prefix(league: &LeagueId) -> String {
        format!("/leagues/{league}")
    }

    /// The address of an agent in a league.
    pub(super) fn address(&self, league: &LeagueId) -> String {
        format!("{}{}/mcp", self.base, Self::prefix(league))
    }

    /// Leaves a league alone for a while; says why, unless that is known.
    pub(super) fn fail(&mut self, league: &LeagueId, cause: &str) -> Result<(), CommandError> {
        if !self.failures.add(league, cause) {
            return Ok(());
        }
        tracing::warn!(league_id = %league, event_type = "LEAGUE_NOT_TAKEN", "{cause}");
        let sentence = format!("league `{league}` is not taken: {cause}");
        self.say(league, "not_taken", &sentence)
    }

    pub(super) fn greet(&mut self, greeting: &Value, sentence: &str) -> Result<(), CommandError> {
        Ok(self.print(greeting, sentence)?)
    }

    pub(super) fn say(
        &mut self,
        league: &LeagueId,
        event: &str,
        sentence: &str,
    ) -> Result<(), CommandError> {
        let object = json!({"event": event, "league_id": league, "sentence": sentence});
        Ok(self.print(&object, sentence)?)
    }

    fn print(&mut self, object: &Value, sentence: &str) -> io::Result<()> {
        if self.common.output == Output::Json {
            print_object(&mut self.out, object)?;
        } else if self.common.talks() {
            writeln!(self.out, "{sentence}")?;
        }
        self.out.flush()
    }
}

/// Leagues that failed in this process, until when they are left alone, and why.
#[derive(Default)]
pub(super) struct LeagueFailures(BTreeMap<LeagueId, (Instant, String)>);

impl LeagueFailures {
    /// Returns whether the cause is another one than the last time.
    pub(super) fn add(&mut self, league: &LeagueId, cause: &str) -> bool {
        let until = Instant::now() + FAILURE_PAUSE;
        let before = self.0.insert(league.clone(), (until, cause.to_owned()));
        before.is_none_or(|(_, known)| known != cause)
    }

    pub(super) fn remove(&mut self, league: &LeagueId) {
        self.0.remove(league);
    }

    /// The leagues that are left alone now.
    pub(super) fn now(&self) -> impl Iterator<Item = &LeagueId> {
        let now = Instant::now();
        let failed = self.0.iter().filter(move |(_, (until, _))| now < *until);
        failed.map(|(league, _)| league)
    }

    pub(super) fn has(&self, league: &LeagueId) -> bool {
        let until = self.0.get(league).map(|(until, _)| *until);
        until.is_some_and(|until| Instant::now() < until)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn failed_league_is_left_alone_for_a_while_and_its_cause_told_once() {
        let mut failures = LeagueFailures::default();
        let league = LeagueId::new("friday").unwrap();
        assert!(failures.add(&league, "its copy is damaged"));
        assert!(failures.has(&league));
        assert_eq!(failures.now().collect::<Vec<_>>(), [&league]);
        tokio::time::advance(FAILURE_PAUSE).await;
        assert!(!failures.has(&league));
        assert!(!failures.add(&league, "its copy is damaged"));
        assert!(failures.add(&league, "the disk is full"));
        failures.remove(&league);
        assert!(failures.add(&league, "the disk is full"));
    }
}
