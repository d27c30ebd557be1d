//! `league manager`, `league referee`, `league player`: one agent, as chapters 8 and 11 start it.

mod host;
mod manager;
mod manager_screen;
mod next_league;
mod player;
mod referee;
mod standby;

use std::fs;
use std::io::{self, Write};
use std::net::SocketAddr;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use league_core::letter::Peer;
use league_core::machine::Machine;
use league_protocol::id::LeagueId;
use league_protocol::sender::{Agent, CallStyle, Dialect};
use league_protocol::token::AuthToken;
use serde::de::DeserializeOwned;
use serde_json::json;
use tokio::sync::mpsc;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::agents::RunningAgent;

use crate::agents::arena::DRAIN_TIMEOUT;
use crate::agents::assemble::{Shared, StartError};
use crate::agents::identity::{Identity, Membership, Unregistered};
use crate::agents::people::People;
use crate::cli::Exit;
use crate::cli::arguments::{CommonArgs, league_id, manager_url, warn_of_unknown_keys};
use crate::cli::failure::{CommandError, bad_config, chain, port_error, start_hint};
use crate::cli::network::{NetworkArgs, load_tls, log_warning};
use crate::cli::runtime::{Signals, StopSignal, begin_logs, finish, runtime};
use crate::cli::screen;
use crate::cli::text::{one_line, tell};
use crate::config::{AgentsConfig, ConfigLoader, SystemConfig};
use crate::http::client::Client;
use crate::http::endpoint::Endpoint;
use crate::http::server::{Pages, Routes, Service, serve};
use crate::http::tls::Tls;
use crate::http::transport::Listener;
use crate::storage::record::Record;
use crate::storage::root::Root;
use crate::storage::secrets::place_of_agent;
use crate::storage::store::{Entry, Journal, StoreError};
use crate::wire::ask::{Health, ManagerClient, State};
use crate::wire::observed::Observations;
use crate::wire::outbox::OutboxIdle;

pub(crate) use manager::{
    ManagerArgs, check_guests, guests, not_invited, page, people_link, people_offer,
};
pub(crate) use player::{PlayerArgs, check_strategy, unknown_strategy};
pub(crate) use referee::RefereeArgs;

/// The signals and the configuration of an agent that is about to start.
struct AgentSetup {
    signals: Signals,
    loader: ConfigLoader,
    system: SystemConfig,
    agents: Arc<AgentsConfig>,
    /// Loaded after the flags were applied.
    tls: Tls,
}

impl AgentSetup {
    /// Loads the TLS of the agent, after the flags were applied.
    fn secure(mut self, agent: &str) -> Result<Self, CommandError> {
        let what = format!("could not start {agent}");
        self.tls = load_tls(self.loader.root(), &self.system, &what, log_warning)?;
        Ok(self)
    }

    /// Listens on a port.
    async fn listen(&self, agent: &str, port: u16) -> Result<Listener, CommandError> {
        let address = SocketAddr::new(self.system.security.bind, port);
        let listener = Listener::bind(address, self.tls.server.clone()).await;
        listener.map_err(|error| {
            let hint = "choose another with `--port`, or stop the agent that holds it";
            port_error(format!("could not start {agent}"), port, &error, hint)
        })
    }

    /// The address that others call.
    fn endpoint(&self, listener: &Listener) -> String {
        listener.public_url(&self.system.network)
    }
}

/// Runs an agent to its end. An agent that answers on standard output prints nothing else there.
fn run<W: Write>(
    common: &CommonArgs,
    stdio: bool,
    out: &mut W,
    agent: impl AsyncFnOnce(AgentSetup, &mut dyn Write) -> Result<Exit, CommandError>,
) -> Result<Exit, CommandError> {
    let runtime = runtime()?;
    let (loader, system) = common.config()?;
    let logs = begin_logs(common, &system, stdio);
    finish(logs, runtime, async {
        let setup = AgentSetup {
            signals: Signals::new()?,
            agents: loader.load_agents().map_err(bad_config)?,
            loader,
            system,
            tls: Tls::default(),
        };
        if stdio {
            agent(setup, &mut screen::errors()).await
        } else {
            agent(setup, out).await
        }
    })
}

/// A started agent, and everything needed to serve it.
struct AgentServer<M: Machine> {
    shared: Shared,
    running: RunningAgent<M>,
    /// Its membership in its league, as far as it was printed.
    membership: watch::Receiver<Membership>,
    service: Arc<dyn Service>,
    entrance: Entrance,
    pages: Option<Arc<dyn Pages>>,
    /// Whether it answers on standard input and output as well.
    stdio: bool,
    /// What to do when the league is over.
    next: Option<String>,
    /// Lines to print as they come.
    lines: mpsc::Receiver<String>,
    /// The players of people in this process.
    people: Option<Arc<People>>,
    /// The manager whose next league the agent joins.
    rejoin: Option<ManagerClient>,
}

impl<M: Machine> AgentServer<M> {
    /// Serves until a signal to stop, the end of the league, or a failure to write.
    async fn run(
        mut self,
        mut setup: AgentSetup,
        common: &CommonArgs,
        exit_when_done: bool,
        out: &mut impl Write,
    ) -> Result<Exit, CommandError> {
        warn_of_unknown_keys(&setup.loader);
        let ServedRoutes { end, server, .. } =
            self.entrance.open(&self.shared, &self.service, self.pages);
        let running = &mut self.running;
        let observed = self.shared.observed.clone();
        let membership = self.membership;
        tokio::spawn(conclude(
            membership.clone(),
            running.quiet.clone(),
            observed,
        ));
        let mut screen = AgentScreen {
            common,
            out,
            next: self.next,
            actor_ended: false,
            rejoin: self.rejoin,
        };
        let input = (&mut setup.signals, &mut self.lines, membership.clone());
        let followed = screen.follow(running, input, exit_when_done);
        let exit = if self.stdio {
            tokio::select! {
                exit = followed => exit,
                () = answer_on_stdio(Arc::clone(&self.service)) => Ok(Exit::Yes),
            }
        } else {
            followed.await
        };
        end.send_replace(true);
        // It ends by itself, within a bound.
        let _ = server.await;
        let ended = if screen.actor_ended {
            Ok(Ok(()))
        } else {
            running.actor.stop().await;
            (&mut running.ended).await
        };
        if let Some(people) = &self.people {
            people.close().await;
        }
        self.shared.outbox.sessions.close().await;
        if *membership.borrow() == Membership::Completed {
            self.shared.observed.conclude();
        }
        if !exit.as_ref().is_err_and(CommandError::is_rejection) {
            self.shared.observed.publish();
        }
        self.shared.document_writer.finish();
        match ended {
            Ok(Ok(())) => exit,
            failed => Err(stopped(failed)),
        }
    }
}

/// Where an agent is called.
enum Entrance {
    Listener(Listener),
    /// A listener that is served already, as a manager that waits for its league does.
    Served(ServedRoutes),
}

/// Routes that are served until `end` is set.
struct ServedRoutes {
    routes: Routes,
    end: watch::Sender<bool>,
    server: JoinHandle<()>,
}

impl ServedRoutes {
    fn begin(listener: Listener, routes: Routes, shared: &Shared) -> Self {
        let end = watch::Sender::new(false);
        let limits = shared.limits.clone();
        let server = tokio::spawn(serve(listener, routes.clone(), limits, end.subscribe()));
        Self {
            routes,
            end,
            server,
        }
    }
}

impl Entrance {
    /// Serves an agent and its pages, in place of what was served before.
    fn open(
        self,
        shared: &Shared,
        service: &Arc<dyn Service>,
        pages: Option<Arc<dyn Pages>>,
    ) -> ServedRoutes {
        let routes = match &self {
            Self::Listener(_) => Routes::behind(shared.gate.clone()),
            Self::Served(served) => served.routes.clone(),
        };
        if let Some(pages) = pages {
            routes.open_pages("", pages);
        }
        routes.open("", Arc::clone(service));
        match self {
            Self::Listener(listener) => ServedRoutes::begin(listener, routes, shared),
            Self::Served(served) => served,
        }
    }
}

/// How often an agent whose league is over asks for the next one.
const NEXT_LEAGUE_POLL: Duration = Duration::from_secs(3);

/// Waits until the manager takes registrations for another league than the agent's.
async fn next_league(manager: Option<ManagerClient>, identity: &Identity) {
    let Some(manager) = manager else {
        return std::future::pending().await;
    };
    let league = identity.league();
    loop {
        tokio::time::sleep(NEXT_LEAGUE_POLL).await;
        let Ok(health) = manager.health().await else {
            continue;
        };
        let is_other = league.as_ref().is_some_and(|own| *own != health.league_id);
        if is_other && health.state == State::Registering {
            return;
        }
    }
}

/// Answers on standard input and output until they end.
async fn answer_on_stdio(service: Arc<dyn Service>) {
    let input = Box::new(tokio::io::BufReader::new(tokio::io::stdin()));
    // An error means that the caller is gone, as the end of the input does.
    let _ = service
        .serve_pipe(input, Box::new(tokio::io::stdout()))
        .await;
}

/// Writes the observations when the league is over and the last letters are delivered.
async fn conclude(
    mut membership: watch::Receiver<Membership>,
    mut quiet: OutboxIdle,
    observed: Observations,
) {
    if membership
        .wait_for(|now| *now == Membership::Completed)
        .await
        .is_ok()
    {
        // An agent that hangs is not waited for.
        let _ = tokio::time::timeout(DRAIN_TIMEOUT, quiet.wait()).await;
        observed.conclude();
    }
}

/// What an agent's process waits for besides requests.
type AgentInput<'a> = (
    &'a mut Signals,
    &'a mut mpsc::Receiver<String>,
    watch::Receiver<Membership>,
);

/// Prints the progress of an agent.
struct AgentScreen<'a, W: Write> {
    common: &'a CommonArgs,
    out: &'a mut W,
    /// What to do when the league is over.
    next: Option<String>,
    /// Whether the actor ended by itself, and its result was taken.
    actor_ended: bool,
    /// The manager whose next league the agent joins.
    rejoin: Option<ManagerClient>,
}

impl<W: Write> AgentScreen<'_, W> {
    /// Prints the progress of the agent until there is a reason to end.
    async fn follow<M: Machine>(
        &mut self,
        running: &mut RunningAgent<M>,
        (signals, lines, mut membership): AgentInput<'_>,
        exit_when_done: bool,
    ) -> Result<Exit, CommandError> {
        let mut shown = None;
        loop {
            let now = membership.borrow_and_update().clone();
            while let Ok(line) = lines.try_recv() {
                writeln!(self.out, "{line}")?;
            }
            // A manager does not register anywhere.
            let is_manager = matches!(running.identity.unregistered, Unregistered::Manager);
            let is_news = !is_manager || now == Membership::Completed;
            if is_news && shown.as_ref() != Some(&now) {
                self.membership(&running.identity.label(), &now)?;
                shown = Some(now.clone());
            }
            let over = now == Membership::Completed;
            match now {
                Membership::Rejected(reason) => {
                    return Err(CommandError::rejected(&one_line(&reason)));
                }
                Membership::Completed if exit_when_done => {
                    // The last letters, such as the end itself, are still on their way.
                    tokio::select! {
                        () = running.wait_done() => {}
                        _ = signals.stop() => {}
                    }
                    return Ok(Exit::Yes);
                }
                Membership::Registering | Membership::Enrolled | Membership::Completed => {}
            }
            let rejoin = self.rejoin.clone().filter(|_| over);
            let identity = Arc::clone(&running.identity);
            tokio::select! {
                () = next_league(rejoin, &identity) => return Ok(Exit::NextLeague),
                signal = signals.stop() => return Ok(self.stop(signal, over)?),
                ended = &mut running.ended => {
                    self.actor_ended = true;
                    return Err(stopped(ended));
                }
                Some(line) = lines.recv() => self.line(&line)?,
                // An actor that is gone publishes nothing more; `ended` tells why.
                Ok(()) = membership.changed() => {}
            }
        }
    }

    fn line(&mut self, line: &str) -> io::Result<()> {
        writeln!(self.out, "{line}")?;
        self.out.flush()
    }

    /// Ends on a signal; an interrupted agent says how to go on, unless its league is over.
    fn stop(&mut self, signal: StopSignal, over: bool) -> io::Result<Exit> {
        if signal == StopSignal::Terminate {
            return Ok(Exit::Yes);
        }
        let (sentence, exit) = if over {
            ("stopped; the league is over", Exit::Yes)
        } else {
            let sentence = "interrupted; continue with the same command";
            (sentence, Exit::Interrupted)
        };
        if self.common.talks() {
            writeln!(self.out, "{sentence}")?;
        }
        Ok(exit)
    }

    fn membership(&mut self, agent: &str, now: &Membership) -> io::Result<()> {
        let (state, sentence) = match now {
            Membership::Registering => ("registering", "registers with the manager"),
            Membership::Enrolled => ("enrolled", "is in the league"),
            Membership::Rejected(_) => ("rejected", "was not admitted"),
            Membership::Completed => ("completed", "the league is over"),
        };
        let object = json!({"event": "agent", "agent": agent, "state": state});
        let text = match self.next.as_ref().filter(|_| state == "completed") {
            Some(next) => format!("{agent}: {sentence}; {next}"),
            None => format!("{agent}: {sentence}"),
        };
        tell(self.common, &mut *self.out, &object, &text)
    }
}

/// The error for an agent that could not start; `flags` make it a different agent.
fn not_started(agent: &str, error: &StartError, flags: &str) -> CommandError {
    let wrong_use = matches!(error, StartError::Rules(_) | StartError::Lever(_));
    let what = format!("could not start {agent}");
    CommandError::world(what, chain(error), start_hint(error, flags)).usage_if(wrong_use)
}

fn stopped(ended: Result<Result<(), StoreError>, tokio::task::JoinError>) -> CommandError {
    let cause = match &ended {
        Ok(Err(error)) => chain(error),
        Ok(Ok(())) => "its actor ended".to_owned(),
        Err(error) => error.to_string(),
    };
    let hint = match ended {
        Ok(Err(StoreError::Database(error))) => error.hint(),
        _ => "correct the cause, then start it again with the same command",
    };
    CommandError::world("the agent stopped", cause, hint)
}

/// The arguments of an agent that joins the league of a manager.
#[derive(Debug, Clone, Args)]
struct JoinArgs {
    /// Manager, or several with commas between [default: config]
    #[arg(long, value_name = "URL", value_parser = manager_url)]
    manager: Option<Endpoint>,
    /// Display name
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    #[command(flatten)]
    network: NetworkArgs,
    /// URL for others, if a tunnel leads here [default: config]
    #[arg(long, value_name = "URL", value_parser = own_url, conflicts_with = "host")]
    public_url: Option<String>,
    /// The league whose files it keeps [default: the manager's]
    #[arg(long, value_name = "ID", value_parser = league_id)]
    league_id: Option<LeagueId>,
    /// Token of `league admin new-token`
    #[arg(
        long,
        value_name = "TOKEN",
        env = "LEAGUE_RETURN_TOKEN",
        hide_env_values = true
    )]
    return_token: Option<String>,
    /// Exit when the league is over
    #[arg(long)]
    exit_when_done: bool,
    /// Answer on standard input and output too, until they end
    #[arg(long)]
    stdio: bool,
    #[command(flatten)]
    common: CommonArgs,
}

impl JoinArgs {
    /// The league whose files it keeps: the named one, else the manager's, else where it was
    /// before, else the configured one.
    fn league(
        &self,
        setup: &AgentSetup,
        files: &AgentFiles<'_>,
        manager: Option<Health>,
    ) -> LeagueId {
        if let Some(named) = &self.league_id {
            return named.clone();
        }
        let found = files.league(manager.map(|manager| manager.league_id));
        found.unwrap_or_else(|| setup.system.default_league_id.clone())
    }

    /// The league of the manager, if the manager answers.
    async fn health(&self, setup: &AgentSetup) -> Option<Health> {
        Self::health_of(setup, self.manager(setup)).await
    }

    async fn health_of(setup: &AgentSetup, manager: Option<Endpoint>) -> Option<Health> {
        let client = Client::trusting(setup.tls.trust.clone());
        let manager = ManagerClient::of(manager?, client);
        manager.health().await.ok()
    }

    /// Runs the agent to its end.
    fn run(
        &self,
        out: &mut impl Write,
        agent: impl AsyncFnOnce(AgentSetup, &mut dyn Write) -> Result<Exit, CommandError>,
    ) -> Result<Exit, CommandError> {
        run(&self.common, self.stdio, out, agent)
    }

    /// The setup with the network flags applied, so that the manager can call this agent.
    fn settled(&self, mut setup: AgentSetup, agent: &str) -> Result<AgentSetup, CommandError> {
        let managers = self.manager_addresses(&setup);
        self.network.settle_joining(&mut setup.system, &managers);
        let network = &mut setup.system.network;
        if self.public_url.is_some() {
            network.public_url.clone_from(&self.public_url);
        }
        if network.public_url.is_none() {
            for manager in managers {
                self.network.check(&setup.system, agent, manager)?;
            }
        }
        setup.secure(&format!("the {agent}"))
    }

    /// The manager's address; `None` if the configured one is not valid.
    fn manager(&self, setup: &AgentSetup) -> Option<Endpoint> {
        let named = self.manager.clone();
        let configured = || Endpoint::parse(&setup.agents.league_manager.endpoint).ok();
        named.or_else(|| configured().map(Endpoint::alone))
    }

    /// All addresses of the manager.
    fn manager_addresses(&self, setup: &AgentSetup) -> Vec<SocketAddr> {
        let manager = self.manager(setup);
        let members = manager.iter().flat_map(Endpoint::members);
        members.filter_map(Endpoint::address).collect()
    }

    /// What the agent shares with its outbox, which knows the manager.
    fn shared(&self, setup: &AgentSetup, seed: Option<u64>) -> Result<Shared, CommandError> {
        let mut shared = self
            .common
            .shared(&setup.system, &setup.tls, seed, (1, 1))?;
        if let Some(manager) = self.manager(setup) {
            shared.outbox.allowed = shared.outbox.allowed.knowing(manager);
        }
        let token = self.return_token.as_deref().map(str::trim);
        let token = token.filter(|token| !token.is_empty());
        shared.return_token = token.map(AuthToken::new);
        Ok(shared)
    }

    /// The manager as a peer that is spoken to in this dialect.
    fn peer(&self, setup: &AgentSetup, dialect: Dialect) -> Arc<Peer> {
        let named = self.manager.as_ref().map(ToString::to_string);
        let configured = || setup.agents.league_manager.endpoint.clone();
        Arc::new(Peer {
            agent: Agent::Manager,
            endpoint: named.unwrap_or_else(configured).into(),
            dialect,
            speech: Some(CallStyle::Simple),
            is_foreign: false,
        })
    }

    /// Prints where the agent answers and serves it to its end; `lines` are printed as they come.
    async fn serve<M: Machine>(
        &self,
        setup: AgentSetup,
        shared: Shared,
        (running, service): (RunningAgent<M>, Arc<dyn Service>),
        listener: Listener,
        lines: mpsc::Receiver<String>,
        out: &mut impl Write,
    ) -> Result<Exit, CommandError> {
        let endpoint = setup.endpoint(&listener);
        let agent = running.identity.label();
        let greeting = json!({"event": "listening", "agent": agent, "endpoint": endpoint});
        let text = format!("{agent}: answers at {endpoint}");
        tell(&self.common, &mut *out, &greeting, &text)?;
        let server = AgentServer {
            pages: None,
            shared,
            membership: running.identity.membership(),
            running,
            service,
            entrance: Entrance::Listener(listener),
            stdio: self.stdio,
            next: None,
            lines,
            people: None,
            // An agent of one named league does not look for another.
            rejoin: self
                .manager(&setup)
                .filter(|_| self.league_id.is_none())
                .map(|manager| {
                    ManagerClient::of(manager, Client::trusting(setup.tls.trust.clone()))
                }),
        };
        let exit_when_done = self.exit_when_done;
        server.run(setup, &self.common, exit_when_done, out).await
    }
}

/// A journal that this process began.
struct NewJournal(Option<PathBuf>);

impl NewJournal {
    /// Looks for a journal, before its agent starts.
    fn at(path: PathBuf) -> Self {
        Self(Some(path).filter(|path| !path.exists()))
    }

    /// Removes the journal of an agent that the manager never admitted.
    fn after(self, ended: Result<Exit, CommandError>) -> Result<Exit, CommandError> {
        if let (Err(error), Some(path)) = (&ended, self.0)
            && error.is_rejection()
        {
            // A journal that stays does no harm: it holds nothing.
            let _ = fs::remove_file(path);
        }
        ended
    }
}

/// The files of an agent below a root, for an agent that does not know which league it joins.
struct AgentFiles<'p> {
    root: &'p Root,
    /// `player` or `referee`.
    kind: &'p str,
    /// The name of its files.
    slot: &'p str,
    /// Its journal in the files of a league.
    journal: &'p dyn Fn(&LeagueId) -> PathBuf,
    /// The last league in a journal, if the agent was ever admitted.
    last: fn(&Path) -> Option<LastLeague>,
}

/// The league that an agent was in last, by its journal.
enum LastLeague {
    In(LeagueId),
    Over,
}

impl AgentFiles<'_> {
    /// The league that names the folder of its files, if the manager has this league or none is
    /// known.
    ///
    /// An agent that started before its manager keeps its files where it began them. An agent that
    /// comes back before its manager does goes on where it was.
    fn league(&self, of_manager: Option<LeagueId>) -> Option<LeagueId> {
        if let Some(league) = &of_manager
            && self.tokens(league).exists()
        {
            return of_manager;
        }
        let stored = self.last_stored();
        let journal = stored.as_ref().map(|league| (self.journal)(league));
        match (
            of_manager,
            journal.and_then(|journal| (self.last)(&journal)),
        ) {
            (None, Some(LastLeague::Over)) => None,
            (Some(current), Some(LastLeague::Over)) => Some(current),
            (Some(current), Some(LastLeague::In(last))) if last != current => Some(current),
            // An agent without a record of its admission may have been admitted all the same.
            (of_manager, _) => stored.or(of_manager),
        }
    }

    fn tokens(&self, league: &LeagueId) -> PathBuf {
        place_of_agent(self.root, league, self.kind, self.slot)
    }

    /// The league in whose folder it stored its tokens last.
    fn last_stored(&self) -> Option<LeagueId> {
        let folders = fs::read_dir(self.root.as_path().join("secrets")).ok()?;
        let names = folders.filter_map(|folder| folder.ok()?.file_name().into_string().ok());
        let leagues = names.filter_map(|name| LeagueId::new(name).ok());
        let stored = leagues.filter_map(|league| {
            let changed = fs::metadata(self.tokens(&league)).ok()?.modified().ok()?;
            Some((changed, league))
        });
        stored.max().map(|(_, league)| league)
    }
}

/// The last league in a journal, if the agent was ever admitted.
fn last_league<Event: DeserializeOwned + Send>(
    journal: &Path,
    of_event: impl Fn(&Event) -> Option<LastLeague>,
) -> Option<LastLeague> {
    let mut last = None;
    let read = Journal::read(journal, |entry: Entry<Record<Event>>| {
        if let Record::Event(event) = &entry.fact {
            last = of_event(event).or(last.take());
        }
        ControlFlow::Continue(())
    });
    // An error in the journal is reported when the journal is opened for writing.
    read.ok().and(last)
}

/// Reads the address that an agent gives to others.
fn own_url(text: &str) -> Result<String, String> {
    let own = Endpoint::own(text).map(|own| own.to_string());
    own.map_err(|error| error.to_string())
}

/// The port of an address in the configuration.
fn port_of(endpoint: &str) -> Option<u16> {
    let endpoint = Endpoint::parse(endpoint).ok()?;
    Some(endpoint.address()?.port())
}
