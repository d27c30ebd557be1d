//! `league manager`, `league referee`, `league player`: one agent, as chapters 8 and 11 start it.

mod manager;
mod player;
mod referee;

use std::fs;
use std::io::{self, Write};
use std::net::SocketAddr;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use league_core::letter::Peer;
use league_core::machine::Machine;
use league_protocol::id::LeagueId;
use league_protocol::sender::{Agent, CallStyle, Dialect};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::sync::watch;

use crate::agents::RunningAgent;
use crate::agents::arena::DRAIN_TIMEOUT;
use crate::agents::assemble::{Shared, StartError};
use crate::agents::identity::{Membership, Unregistered};
use crate::cli::arguments::{Common, league_id, manager_url, tell_unknown_keys};
use crate::cli::failure::{Failure, Kind, bad_config, chain, port_hint, start_hint};
use crate::cli::network::Reach;
use crate::cli::runtime::{Signals, Wish, runtime};
use crate::cli::{Answer, Output, runtime};
use crate::config::{AgentsConfig, ConfigLoader, SystemConfig};
use crate::http::endpoint::{Endpoint, url};
use crate::http::server::{Pages, Routes, Service, bind, serve};
use crate::storage::record::Record;
use crate::storage::root::Root;
use crate::storage::secrets::place_of_agent;
use crate::storage::store::{Entry, Journal};
use crate::wire::ask::ManagerClient;
use crate::wire::observed::Observations;
use crate::wire::outbox::OutboxIdle;

pub(crate) use crate::cli::agent::manager::{Manager, guests, page};
pub(crate) use crate::cli::agent::player::{Player, unknown_strategy};
pub(crate) use crate::cli::agent::referee::Referee;

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
    let logs = runtime::begin_logs(common, &system, stdio);
    runtime::finish(logs, runtime, async {
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
struct Serving<M: Machine> {
    shared: Shared,
    running: RunningAgent<M>,
    door: Arc<dyn Service>,
    listener: tokio::net::TcpListener,
    /// What people look at beside it.
    pages: Option<Arc<dyn Pages>>,
    /// Whether it answers on standard input and output as well.
    stdio: bool,
    /// Lines to print as they come.
    lines: UnboundedReceiver<String>,
}

impl<M: Machine> Serving<M> {
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
        if *running.identity.life().borrow() == Membership::Completed {
            self.shared.observed.conclude();
        }
        self.shared.observed.publish();
        self.shared.document_writer.finish();
        match ended {
            Ok(Ok(())) => lived,
            failed => Err(stopped(failed)),
        }
    }
}

/// Has what was found out written when the league is over and the last letters are carried.
async fn conclude(
    mut life: watch::Receiver<Membership>,
    mut quiet: OutboxIdle,
    observed: Observations,
) {
    if life
        .wait_for(|life| *life == Membership::Completed)
        .await
        .is_ok()
    {
        // Whoever hangs is not waited for.
        let _ = tokio::time::timeout(DRAIN_TIMEOUT, quiet.wait()).await;
        observed.conclude();
    }
}

/// What an agent's process hears besides requests.
struct Heard<'h> {
    signals: &'h mut Signals,
    lines: &'h mut UnboundedReceiver<String>,
}

/// Tells how far the agent is, until there is a reason to end.
async fn live<M: Machine>(
    running: &mut RunningAgent<M>,
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
        let keeps_it = matches!(running.identity.newcomer, Unregistered::Manager);
        let shown = !keeps_it || now == Membership::Completed;
        if shown && said.as_ref() != Some(&now) {
            tell(out, common, &running.identity.label(), &now)?;
            said = Some(now.clone());
        }
        let over = now == Membership::Completed;
        match now {
            Membership::Rejected(reason) => return Err(rejected(&reason)),
            Membership::Completed if exit_when_done => {
                // The last letters, such as the end itself, are still on their way.
                let quiet = tokio::time::timeout(DRAIN_TIMEOUT, running.quiet.wait());
                tokio::select! {
                    _ = quiet => {}
                    _ = signals.heard() => {}
                }
                return Ok(Answer::Yes);
            }
            Membership::Registering | Membership::Enrolled | Membership::Completed => {}
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
fn tell(
    out: &mut impl Write,
    common: &Common,
    agent: &str,
    life: &Membership,
) -> Result<(), Failure> {
    if common.output == Output::Json {
        let state = match life {
            Membership::Registering => "registering",
            Membership::Enrolled => "enrolled",
            Membership::Rejected(_) => "rejected",
            Membership::Completed => "completed",
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
        Membership::Registering => "asks to be admitted",
        Membership::Enrolled => "is in the league",
        Membership::Rejected(_) => "was not admitted",
        Membership::Completed => {
            "the league is over; `league manager` begins another with `--league-id`"
        }
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
        cause: chain(error),
        hint: start_hint(error, other),
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
        Ok(Err(error)) => chain(&error),
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

/// What an agent that joins a league takes.
#[derive(Debug, Clone, Args)]
pub(crate) struct Joining {
    #[command(flatten)]
    pub(crate) common: Common,
    #[command(flatten)]
    reach: Reach,
    /// Where the league manager answers [default: from config, http://localhost:8000/mcp]
    #[arg(long, value_name = "URL", value_parser = manager_url)]
    manager: Option<String>,
    /// The league whose files it keeps [default: the manager's]
    #[arg(long, value_name = "ID", value_parser = league_id)]
    league_id: Option<LeagueId>,
    /// The name that people see
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// End when the league is over
    #[arg(long)]
    exit_when_done: bool,
    /// Answer on standard input and output as well, and end with them
    #[arg(long)]
    pub(crate) stdio: bool,
}

impl Joining {
    /// The league whose files it keeps: the one that is named, else the manager's, or where it
    /// was before; as configured where neither is known.
    pub(crate) async fn league(&self, ground: &Ground, past: &Past<'_>) -> LeagueId {
        if let Some(named) = &self.league_id {
            return named.clone();
        }
        let told = match ManagerClient::new(self.manager(ground)) {
            Ok(manager) => manager.health().await.ok(),
            Err(_) => None,
        };
        let found = past.league(told.map(|health| health.league_id));
        found.unwrap_or_else(|| ground.system.default_league_id.clone())
    }

    /// Runs the agent to its end.
    pub(crate) fn run(
        &self,
        out: &mut impl Write,
        agent: impl AsyncFnOnce(Ground, &mut dyn Write) -> Result<Answer, Failure>,
    ) -> Result<Answer, Failure> {
        run(&self.common, self.stdio, out, agent)
    }

    /// What the agent stands on, reached as the flags say: by the manager, in any case.
    pub(crate) fn settled(&self, mut ground: Ground, agent: &str) -> Result<Ground, Failure> {
        let manager = Endpoint::parse(self.manager(&ground)).ok();
        let manager = manager.map(|manager| manager.address);
        self.reach.settle_joining(&mut ground.system, manager);
        if let Some(manager) = manager {
            self.reach.check(&ground.system, agent, manager)?;
        }
        Ok(ground)
    }

    /// Where the manager answers.
    fn manager<'g>(&'g self, ground: &'g Ground) -> &'g str {
        let named = self.manager.as_deref();
        named.unwrap_or(&ground.agents.league_manager.endpoint)
    }

    /// The way to the manager, who is spoken to in this dialect.
    pub(crate) fn peer(&self, ground: &Ground, dialect: Dialect) -> Arc<Peer> {
        Arc::new(Peer {
            agent: Agent::Manager,
            endpoint: self.manager(ground).into(),
            dialect,
            speech: Some(CallStyle::Simple),
        })
    }

    /// Says where the agent answers and serves it to its end.
    pub(crate) async fn stay<M: Machine>(
        &self,
        ground: Ground,
        serving: Serving<M>,
        out: &mut impl Write,
    ) -> Result<Answer, Failure> {
        let address = endpoint(&ground.system, &serving.listener);
        let agent = serving.running.identity.label();
        greet(out, &self.common, &agent, &address)?;
        let (common, exit) = (&self.common, self.exit_when_done);
        serving.run(ground, common, exit, out).await
    }
}

/// What an agent kept below a root before now.
pub(crate) struct Past<'p> {
    pub(crate) root: &'p Root,
    /// `player` or `referee`.
    pub(crate) kind: &'p str,
    /// What its files are called by.
    pub(crate) slot: &'p str,
    /// Its journal in the files of a league.
    pub(crate) journal: &'p dyn Fn(&LeagueId) -> PathBuf,
    /// How a journal leaves it, if it was ever let in.
    pub(crate) left: fn(&Path) -> Option<Left>,
}

impl Past<'_> {
    /// The league below whose name its files lie, if its manager has this one, or says nothing.
    ///
    /// One that came before its manager keeps its files where it began them. One that comes back
    /// before its manager does goes on where it was.
    pub(crate) fn league(&self, told: Option<LeagueId>) -> Option<LeagueId> {
        if told.as_ref().is_some_and(|told| self.tokens(told).exists()) {
            return told;
        }
        let last = self.last_place();
        let journal = last.as_ref().map(|last| (self.journal)(last));
        match (told, journal.and_then(|journal| (self.left)(&journal))) {
            (None, Some(Left::Over)) => None,
            (Some(told), Some(Left::Over)) => Some(told),
            (Some(told), Some(Left::In(league))) if league != told => Some(told),
            // One that was never let in may have been without having written it down.
            (told, _) => last.or(told),
        }
    }

    fn tokens(&self, league: &LeagueId) -> PathBuf {
        let journal = (self.journal)(league);
        place_of_agent(self.root, league, self.kind, self.slot, &journal)
    }

    /// The league below whose name it kept its tokens last.
    fn last_place(&self) -> Option<LeagueId> {
        let folders = fs::read_dir(self.root.as_path().join("secrets")).ok()?;
        let names = folders.filter_map(|folder| folder.ok()?.file_name().into_string().ok());
        let places = names.filter_map(|name| LeagueId::new(name).ok());
        let kept = places.filter_map(|league| {
            let kept = fs::metadata(self.tokens(&league)).ok()?.modified().ok()?;
            Some((kept, league))
        });
        kept.max().map(|(_, league)| league)
    }
}

/// How an agent is left by its journal, or by a fact in it.
pub(crate) enum Left {
    /// In this league.
    In(LeagueId),
    /// In one that is over.
    Over,
}

/// How a journal leaves an agent, if it was ever let in.
pub(crate) fn membership<Event: DeserializeOwned>(
    journal: &Path,
    by_fact: impl Fn(&Event) -> Option<Left>,
) -> Option<Left> {
    let mut left = None;
    let read = Journal::read(journal, |entry: Entry<Record<Event>>| {
        if let Record::Event(event) = &entry.fact {
            left = by_fact(event).or(left.take());
        }
        ControlFlow::Continue(())
    });
    // Whatever is wrong with it is told when it is opened to be written.
    read.ok().and(left)
}

/// Listens on a port.
pub(crate) async fn listen(
    system: &SystemConfig,
    agent: &str,
    port: u16,
) -> Result<TcpListener, Failure> {
    let address = SocketAddr::new(system.security.bind, port);
    bind(address).await.map_err(|error| Failure {
        what: format!("could not start {agent}"),
        cause: match error.kind() {
            std::io::ErrorKind::AddrInUse => format!("port {port} is in use"),
            _ => format!("port {port}: {error}"),
        },
        hint: port_hint(
            &error,
            "choose another with `--port`, or stop the agent that holds it",
        ),
        kind: Kind::World,
    })
}

/// The address that others call.
pub(crate) fn endpoint(system: &SystemConfig, listener: &TcpListener) -> String {
    url(&system.network.base_host, port_taken(listener))
}

/// The port that was taken, where any would do.
pub(crate) fn port_taken(listener: &TcpListener) -> u16 {
    listener.local_addr().map_or(0, |address| address.port())
}

/// The port of an address in the configuration.
pub(crate) fn port_of(endpoint: &str) -> Option<u16> {
    let endpoint = Endpoint::parse(endpoint).ok()?;
    Some(endpoint.address.port())
}
