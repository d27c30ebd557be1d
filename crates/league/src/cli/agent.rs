//! `league manager`, `league referee`, `league player`: one agent, as chapters 8 and 11 start it.

mod begun;
mod chronicle;
mod joining;
mod manager;
mod past;
mod place;
mod player;
mod referee;

use std::io::{self, Write};
use std::sync::Arc;

use crate::agents::Running;
use crate::agents::actor::Worker;
use crate::agents::arena::LAST_LETTERS;
use crate::agents::assemble::{Shared, StartError};
use crate::agents::identity::{Life, Newcomer};
use crate::config::{AgentsConfig, ConfigLoader, SystemConfig};
use crate::http::server::{Pages, Routes, Service, serve};
use crate::wire::observed::Observations;
use crate::wire::outbox::OutboxIdle;
use serde_json::{Value, json};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::sync::watch;

use super::common::{Common, bad_config, runtime, tell_unknown_keys};
use super::failure::{Failure, Kind};
use super::logging;
use super::signal::{Signals, Wish};
use super::{Answer, Output};
use joining::Joining;
pub(super) use manager::{Manager, guests, page};
use place::{endpoint, listen, port_of, port_taken};
pub(super) use player::{Player, unknown_strategy};
pub(super) use referee::Referee;

/// What is said of an agent whose desk ended by itself.
const STOPPED: &str = "the agent stopped";

/// What an agent stands on before it starts.
struct Ground {
    signals: Signals,
    loader: ConfigLoader,
    system: SystemConfig,
    agents: Arc<AgentsConfig>,
}

impl Ground {
    /// Reads the rest of the configuration.
    fn find(loader: ConfigLoader, system: SystemConfig) -> Result<Self, Failure> {
        Ok(Self {
            signals: Signals::new()?,
            agents: loader.load_agents().map_err(bad_config)?,
            loader,
            system,
        })
    }
}

/// Runs an agent to its end. One that answers on standard output prints nothing else there.
fn run<W: Write>(
    common: &Common,
    stdio: bool,
    out: &mut W,
    agent: impl AsyncFnOnce(Ground, &mut dyn Write) -> Result<Answer, Failure>,
) -> Result<Answer, Failure> {
    let runtime = runtime()?;
    let (loader, system) = common.config()?;
    let logs = logging::begin(common, &system, stdio);
    logging::last(logs, runtime, async {
        let ground = Ground::find(loader, system)?;
        match stdio {
            true => agent(ground, &mut io::stderr()).await,
            false => agent(ground, out).await,
        }
    })
}

/// Answers on standard input and output until they end.
async fn attend(door: Arc<dyn Service>) {
    let said = Box::new(tokio::io::BufReader::new(tokio::io::stdin()));
    // Whoever talks to us is gone either way.
    let _ = door.attend(said, Box::new(tokio::io::stdout())).await;
}

/// An agent that was started, and what it takes to serve it.
struct Serving<M: Worker> {
    shared: Shared,
    running: Running<M>,
    door: Arc<dyn Service>,
    listener: tokio::net::TcpListener,
    /// What people look at beside it.
    pages: Option<Arc<dyn Pages>>,
    /// Whether it answers on standard input and output as well.
    stdio: bool,
    /// Lines to print as they come.
    lines: UnboundedReceiver<String>,
}

impl<M: Worker> Serving<M> {
    /// Serves until it is told to end, its league is over, or it cannot write.
    async fn run(
        mut self,
        mut ground: Ground,
        common: &Common,
        exit_when_done: bool,
        out: &mut impl Write,
    ) -> Result<Answer, Failure> {
        tell_unknown_keys(&ground.loader);
        let mut doors = Routes::behind(self.shared.gate.clone());
        if let Some(pages) = self.pages {
            doors = doors.with_pages(pages);
        }
        doors.open("", Arc::clone(&self.door));
        let end = watch::Sender::new(false);
        let server = tokio::spawn(serve(
            self.listener,
            doors,
            self.shared.limits,
            end.subscribe(),
        ));
        let running = &mut self.running;
        let observed = self.shared.observed.clone();
        tokio::spawn(conclude(
            running.identity.life(),
            running.quiet.clone(),
            observed,
        ));
        let heard = Heard {
            signals: &mut ground.signals,
            lines: &mut self.lines,
        };
        let lived = live(running, heard, common, exit_when_done, out);
        let lived = match self.stdio {
            false => lived.await,
            true => tokio::select! {
                lived = lived => lived,
                () = attend(Arc::clone(&self.door)) => Ok(Answer::Yes),
            },
        };
        end.send_replace(true);
        // It ends by itself, within a bound.
        let _ = server.await;
        let stopped_early = matches!(&lived, Err(failure) if failure.what == STOPPED);
        let ended = if stopped_early {
            Ok(Ok(()))
        } else {
            running.desk.end().await;
            (&mut running.ended).await
        };
        self.shared.roads.peers.close().await;
        if *running.identity.life().borrow() == Life::Completed {
            self.shared.observed.conclude();
        }
        self.shared.observed.publish();
        self.shared.archivist.finish();
        match ended {
            Ok(Ok(())) => lived,
            failed => Err(stopped(failed)),
        }
    }
}

/// Has what was found out written when the league is over and the last letters are carried.
async fn conclude(mut life: watch::Receiver<Life>, mut quiet: OutboxIdle, observed: Observations) {
    if life.wait_for(|life| *life == Life::Completed).await.is_ok() {
        // Whoever hangs is not waited for.
        let _ = tokio::time::timeout(LAST_LETTERS, quiet.wait()).await;
        observed.conclude();
    }
}

/// What an agent's process hears besides requests.
struct Heard<'h> {
    signals: &'h mut Signals,
    lines: &'h mut UnboundedReceiver<String>,
}

/// Tells how far the agent is, until there is a reason to end.
async fn live<M: Worker>(
    running: &mut Running<M>,
    Heard { signals, lines }: Heard<'_>,
    common: &Common,
    exit_when_done: bool,
    out: &mut impl Write,
) -> Result<Answer, Failure> {
    let mut life = running.identity.life();
    let mut said = None;
    loop {
        let now = life.borrow_and_update().clone();
        while let Ok(line) = lines.try_recv() {
            writeln!(out, "{line}")?;
        }
        // A manager does not register anywhere.
        let keeps_it = matches!(running.identity.newcomer, Newcomer::Manager);
        let shown = !keeps_it || now == Life::Completed;
        if shown && said.as_ref() != Some(&now) {
            tell(out, common, &running.identity.label(), &now)?;
            said = Some(now.clone());
        }
        let over = now == Life::Completed;
        match now {
            Life::Rejected(reason) => return Err(rejected(&reason)),
            Life::Completed if exit_when_done => {
                // The last letters, such as the end itself, are still on their way.
                let quiet = tokio::time::timeout(LAST_LETTERS, running.quiet.wait());
                tokio::select! {
                    _ = quiet => {}
                    _ = signals.heard() => {}
                }
                return Ok(Answer::Yes);
            }
            Life::Registering | Life::Enrolled | Life::Completed => {}
        }
        tokio::select! {
            wish = signals.heard() => return ending(out, common, wish, over),
            ended = &mut running.ended => return Err(stopped(ended)),
            Some(line) = lines.recv() => {
                writeln!(out, "{line}")?;
                out.flush()?;
            }
            changed = life.changed() => if changed.is_err() {
                return Ok(Answer::Yes);
            },
        }
    }
}

/// Ends as it was asked to: politely, or interrupted, and then says how to go on. Of a league that
/// is over nothing is interrupted.
fn ending(
    out: &mut impl Write,
    common: &Common,
    wish: Wish,
    over: bool,
) -> Result<Answer, Failure> {
    if wish == Wish::Terminate {
        return Ok(Answer::Yes);
    }
    let (sentence, answer) = match over {
        true => ("ended; the league is over", Answer::Yes),
        false => (
            "interrupted; go on with the same command",
            Answer::Interrupted,
        ),
    };
    if common.output == Output::Text && !common.quiet {
        writeln!(out, "{sentence}")?;
    }
    Ok(answer)
}

/// Says where an agent answers.
fn greet(
    out: &mut impl Write,
    common: &Common,
    agent: &str,
    endpoint: &str,
) -> Result<(), Failure> {
    if common.output == Output::Json {
        let greeting = json!({"event": "listening", "agent": agent, "endpoint": endpoint});
        return object(out, &greeting);
    }
    if !common.quiet {
        writeln!(out, "{agent}: answers at {endpoint}")?;
        out.flush()?;
    }
    Ok(())
}

/// Says how far an agent is.
fn tell(out: &mut impl Write, common: &Common, agent: &str, life: &Life) -> Result<(), Failure> {
    if common.output == Output::Json {
        let state = match life {
            Life::Registering => "registering",
            Life::Enrolled => "enrolled",
            Life::Rejected(_) => "rejected",
            Life::Completed => "completed",
        };
        return object(
            out,
            &json!({"event": "agent", "agent": agent, "state": state}),
        );
    }
    if common.quiet {
        return Ok(());
    }
    let sentence = match life {
        Life::Registering => "asks to be admitted",
        Life::Enrolled => "is in the league",
        Life::Rejected(_) => "was not admitted",
        Life::Completed => "the league is over; `league manager` begins another with `--league-id`",
    };
    writeln!(out, "{agent}: {sentence}")?;
    out.flush()?;
    Ok(())
}

fn object(out: &mut impl Write, object: &Value) -> Result<(), Failure> {
    writeln!(out, "{object}")?;
    out.flush()?;
    Ok(())
}

/// An agent that could not start; `other` names the flags that make it another agent.
fn not_started(agent: &str, error: &StartError, other: &str) -> Failure {
    let wrong_use = matches!(error, StartError::Rules(_));
    Failure {
        what: format!("could not start {agent}"),
        cause: super::chain(error),
        hint: super::start_hint(error, other),
        kind: if wrong_use { Kind::Use } else { Kind::World },
    }
}

fn rejected(reason: &str) -> Failure {
    Failure {
        what: "the league manager did not admit this agent".to_owned(),
        cause: reason.to_owned(),
        hint: "mend the cause and start the agent again".to_owned(),
        kind: Kind::World,
    }
}

fn stopped(
    ended: Result<Result<(), crate::storage::store::StoreError>, tokio::task::JoinError>,
) -> Failure {
    let cause = match ended {
        Ok(Err(error)) => super::chain(&error),
        Ok(Ok(())) => "its desk ended".to_owned(),
        Err(error) => error.to_string(),
    };
    Failure {
        what: STOPPED.to_owned(),
        cause,
        hint: "mend the cause, then start it again with the same command".to_owned(),
        kind: Kind::World,
    }
}
