//! A whole league in one process: manager, referees and players, each with its own server.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use league_core::league::{Command, League, LeagueRules};
use league_core::letter::Peer;
use league_core::machine::Machine;
use league_core::player::{MemoryRule, Player, PlayerRules};
use league_core::referee::{Referee, RefereeRules};
use league_protocol::id::{LeagueId, PlayerId, RefereeId};
use league_protocol::sender::{Agent, CallStyle, Dialect};
use league_web::model::Joining;
use serde::{Deserialize, Serialize};
use thiserror::Error;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::watch;

use crate::agents::assemble::{Shared, StartError};
use crate::agents::manager::{self, InvitedPlayer, LeagueNews};
use crate::agents::model::{Budget, Model, ModelSeat};
use crate::agents::people::{NoSeat, People, PeoplePlan};
use crate::agents::player::{Chooser, PlayStyle};
use crate::agents::{RunningAgent, player, referee};
use crate::http::descriptors::Shortage;
use crate::http::endpoint::OwnAddresses;
use crate::http::server::{Gate, Limits, Routes, Service, serve};
use crate::http::tls::ServerTls;
use crate::http::transport::Listener;
use crate::site::{Inquiry, OrganiserSite, Site};
use crate::storage::database::{Lease, Stream};
use crate::storage::store::StoreError;
use league_core::strategy::{self, Strategy, UnknownStrategy};

/// How long sending the last letters may take when a league ends.
pub(crate) const DRAIN_TIMEOUT: Duration = Duration::from_secs(10);

/// The name of the manager in error messages.
const MANAGER: &str = "the league manager";

/// A league could not be started, or stopped with an error.
#[derive(Debug, Error)]
pub(crate) enum ArenaError {
    #[error("could not start {agent} on port {port}")]
    Port {
        agent: String,
        /// The port; 0 for any.
        port: u16,
        source: io::Error,
    },
    #[error("could not start {agent}")]
    Start {
        agent: String,
        source: Box<StartError>,
    },
    #[error("`{agent}` stopped, as it could not write its journal")]
    Store {
        agent: String,
        source: Box<StoreError>,
    },
}

/// A running league.
pub(crate) struct Arena {
    pub(crate) manager: RunningAgent<League>,
    /// The address of the manager.
    pub(crate) endpoint: String,
    pub(crate) referees: Vec<(RefereeId, RunningAgent<Referee>)>,
    pub(crate) players: Vec<(PlayerId, RunningAgent<Player>)>,
    /// The events of the league, from the beginning.
    pub(crate) news: LeagueNews,
    /// Agents that stopped because they could not write.
    pub(crate) failures: UnboundedReceiver<String>,
    /// Whether this machine is able to call.
    pub(crate) shortage: Shortage,
    failing: UnboundedSender<String>,
    limits: Limits,
    gate: Gate,
    end: watch::Sender<bool>,
    /// The seats for people, if there are some.
    pub(crate) people: Option<Arc<People>>,
}

impl Arena {
    /// Starts all agents on bound ports.
    ///
    /// # Errors
    ///
    /// An agent could not start.
    pub(crate) fn open(
        shared: &Shared,
        plan: &Plan,
        ports: BoundPorts,
    ) -> Result<Self, ArenaError> {
        let end = watch::Sender::new(false);
        let (tell, news) = LeagueNews::of(&shared.root, &plan.rules.league_id);
        let (failing, failures) = unbounded_channel();
        let endpoint = plan.endpoint(&ports.manager);
        let own_addresses = OwnAddresses::new(ports.manager.local_addr().ok(), &endpoint);
        let own_addresses =
            own_addresses.with_agents(ports.agents().map(|agent| plan.endpoint(agent)));
        let lease = lease_of(shared, &plan.rules.league_id).map_err(started(MANAGER))?;
        let (manager, service) = manager::start(
            shared,
            plan.rules.clone(),
            &plan.guests,
            &own_addresses,
            Some(tell),
            lease,
        )
        .map_err(started(MANAGER))?;
        let mut arena = Self {
            manager: watched(manager, "league_manager", &failing),
            endpoint,
            referees: Vec::new(),
            players: Vec::new(),
            news,
            failures,
            shortage: shared.outbox.client.shortage.clone(),
            failing,
            limits: shared.limits.clone(),
            gate: shared.gate.clone(),
            end,
            people: plan.people.clone(),
        };
        let league = plan.rules.league_id.clone();
        // All agents are in this process: they are there as long as it is.
        let inquiry = Inquiry::new(shared, arena.manager.actor.clone(), plan.joining.clone());
        let (root, viewers) = (shared.root.clone(), shared.limits.viewers());
        let organiser = OrganiserSite::of(shared, &league, &service, &arena.endpoint);
        let site = Site::new(root, league, viewers, Some(inquiry))
            .with_people(plan.people.clone())
            .with_organiser(organiser);
        let routes = Routes::behind(arena.gate.clone()).with_pages(Arc::new(site));
        arena.receive_behind(ports.manager, routes, service);
        arena.start_referees(shared, plan, ports.referees)?;
        match ports.shared {
            Some(listener) => arena.start_players_on_shared_port(shared, plan, listener)?,
            None => arena.start_players(shared, plan, ports.players)?,
        }
        Ok(arena)
    }

    /// Serves one agent on its own listener.
    fn receive(&self, listener: Listener, service: Arc<dyn Service>) {
        self.receive_behind(listener, Routes::behind(self.gate.clone()), service);
    }

    fn receive_behind(&self, listener: Listener, routes: Routes, service: Arc<dyn Service>) {
        routes.open("", service);
        self.serve(listener, routes);
    }

    fn serve(&self, listener: Listener, routes: Routes) {
        let (limits, end) = (self.limits.clone(), self.end.subscribe());
        tokio::spawn(serve(listener, routes, limits, end));
    }

    fn start_referees(
        &mut self,
        shared: &Shared,
        plan: &Plan,
        listeners: Vec<Listener>,
    ) -> Result<(), ArenaError> {
        let key = shared.referee_key(&plan.rules.league_id);
        let key = key.map_err(started("the referees"))?;
        for (planned, listener) in plan.referees.iter().zip(listeners) {
            let rules = RefereeRules {
                key: Some(key.clone()),
                display_name: planned.name.clone(),
                version: planned.version.clone(),
                wanted_id: Some(planned.id.to_string()),
                endpoint: plan.endpoint(&listener),
                games: vec![plan.rules.game_type.clone()],
                max_concurrent: planned.max_concurrent,
                timeouts: plan.rules.timeouts,
                breaker: plan.rules.breaker,
                manager: manager_peer(&self.endpoint, Dialect::V2),
            };
            let league = &plan.rules.league_id;
            let (running, service) = referee::start(shared, league, &planned.id, rules)
                .map_err(started(&planned.label()))?;
            self.receive(listener, service);
            let running = watched(running, planned.id.as_str(), &self.failing);
            self.referees.push((planned.id.clone(), running));
        }
        Ok(())
    }

    fn start_players(
        &mut self,
        shared: &Shared,
        plan: &Plan,
        listeners: Vec<Listener>,
    ) -> Result<(), ArenaError> {
        for (planned, listener) in plan.players.iter().zip(listeners) {
            let endpoint = plan.endpoint(&listener);
            let service = self.start_player(shared, plan, planned, endpoint)?;
            self.receive(listener, service);
        }
        Ok(())
    }

    /// Starts players that share a port, each below its own path. The server starts when all
    /// players are ready, so that no caller gets "not found".
    fn start_players_on_shared_port(
        &mut self,
        shared: &Shared,
        plan: &Plan,
        listener: Listener,
    ) -> Result<(), ArenaError> {
        let routes = Routes::behind(self.gate.clone());
        let base = plan.endpoint(&listener);
        let base = base.trim_end_matches("/mcp");
        for planned in &plan.players {
            let prefix = format!("/agents/{}", planned.id);
            let endpoint = format!("{base}{prefix}/mcp");
            let service = self.start_player(shared, plan, planned, endpoint)?;
            routes.open(prefix, service);
        }
        self.serve(listener, routes);
        Ok(())
    }

    fn start_player(
        &mut self,
        shared: &Shared,
        plan: &Plan,
        planned: &PlayerPlan,
        endpoint: String,
    ) -> Result<Arc<dyn Service>, ArenaError> {
        let rules = PlayerRules {
            join_code: shared.join_code.clone(),
            ..self.player_rules(plan, planned, endpoint)
        };
        let league = &plan.rules.league_id;
        let style = PlayStyle {
            chooser: planned.chooser(shared, plan),
            pace: plan.pace,
            results: None,
        };
        let (running, service) = player::start(shared, league, &planned.id, rules, style)
            .map_err(started(&planned.label()))?;
        let running = watched(running, planned.id.as_str(), &self.failing);
        self.players.push((planned.id.clone(), running));
        Ok(service)
    }

    fn player_rules(&self, plan: &Plan, planned: &PlayerPlan, endpoint: String) -> PlayerRules {
        PlayerRules {
            display_name: planned.name.clone(),
            version: planned.version.clone(),
            endpoint,
            games: vec![plan.rules.game_type.clone()],
            timeouts: plan.rules.timeouts,
            manager: manager_peer(&self.endpoint, planned.dialect),
            wanted_id: Some(planned.id.to_string()),
            join_code: None,
            strict: plan.rules.strict,
            memory: MemoryRule::default(),
            human: false,
        }
    }

    /// Sends the last letters, within a bound.
    ///
    /// The outcome of a letter may cause further letters, also of other agents, so all agents must
    /// be idle in one pass.
    pub(crate) async fn drain(&mut self) {
        let all_idle = async {
            loop {
                let mut idle = self.manager.settle().await;
                for (_, referee) in &self.referees {
                    idle &= referee.settle().await;
                }
                if idle {
                    break;
                }
            }
        };
        let _ = tokio::time::timeout(DRAIN_TIMEOUT, all_idle).await;
    }

    /// Stops all agents; their decisions are written.
    ///
    /// # Errors
    ///
    /// An agent could not write its journal.
    pub(crate) async fn close(self) -> Result<(), ArenaError> {
        self.manager.actor.send(Command::Stop).await;
        if let Some(people) = &self.people {
            people.close().await;
        }
        self.end.send_replace(true);
        let mut closed = finish("league_manager", self.manager).await;
        for (id, running) in self.referees {
            closed = closed.and(finish(id.as_str(), running).await);
        }
        for (id, running) in self.players {
            closed = closed.and(finish(id.as_str(), running).await);
        }
        closed
    }
}

pub(crate) fn manager_peer(endpoint: &str, dialect: Dialect) -> Arc<Peer> {
    Arc::new(Peer {
        agent: Agent::Manager,
        endpoint: endpoint.into(),
        dialect,
        speech: Some(CallStyle::Simple),
        is_foreign: false,
    })
}

/// Reports an agent that stops because it cannot write.
fn watched<M: Machine>(
    running: RunningAgent<M>,
    agent: &str,
    failing: &UnboundedSender<String>,
) -> RunningAgent<M> {
    let (agent, failing) = (agent.to_owned(), failing.clone());
    let ended = running.ended;
    let ended = tokio::spawn(async move {
        let ended = ended.await;
        let failure = match &ended {
            Ok(Ok(())) => None,
            Ok(Err(error)) => Some(error.to_string()),
            Err(error) => Some(error.to_string()),
        };
        if let Some(failure) = failure {
            // The receiver may be gone.
            let _ = failing.send(format!("`{agent}` stopped: {failure}"));
        }
        ended.unwrap_or(Ok(()))
    });
    RunningAgent { ended, ..running }
}

async fn finish<M: Machine>(agent: &str, running: RunningAgent<M>) -> Result<(), ArenaError> {
    running.actor.stop().await;
    match running.ended.await {
        Ok(Err(source)) => Err(ArenaError::Store {
            agent: agent.to_owned(),
            source: Box::new(source),
        }),
        Ok(Ok(())) | Err(_) => Ok(()),
    }
}

/// Takes the league in the store, if the process has one, and fills its folder.
fn lease_of(shared: &Shared, league: &LeagueId) -> Result<Option<Lease>, StartError> {
    let Some(store) = &shared.store else {
        return Ok(None);
    };
    let lease = store.lease_again(&Stream::of_manager(league));
    let lease = lease.map_err(StoreError::from)?;
    store.fill(&shared.root, league)?;
    Ok(Some(lease))
}

fn started(agent: &str) -> impl FnOnce(StartError) -> ArenaError {
    let agent = agent.to_owned();
    move |source| ArenaError::Start {
        agent,
        source: Box::new(source),
    }
}

/// The agents and settings of a league in one process.
pub(crate) struct Plan {
    pub(crate) rules: LeagueRules,
    pub(crate) referees: Vec<RefereePlan>,
    pub(crate) players: Vec<PlayerPlan>,
    /// How long each player pretends to think.
    pub(crate) pace: Duration,
    /// The tokens that all language models of the league may take.
    pub(crate) budget: Arc<Budget>,
    /// The seats for people, once they are open.
    pub(crate) people: Option<Arc<People>>,
    /// What the lobby says of joining, if anyone can.
    pub(crate) joining: Option<Joining>,
    /// Players invited by their address.
    pub(crate) guests: Vec<InvitedPlayer>,
    /// The manager's port; 0 for any.
    pub(crate) port: u16,
    /// The port that all players share, each below its own path; 0 for any.
    pub(crate) shared_port: Option<u16>,
    /// The address to listen on.
    pub(crate) bind: IpAddr,
    /// The certificate of all agents, if they speak TLS.
    pub(crate) tls: Option<ServerTls>,
    /// The host by which the agents are called: an address, or `localhost`.
    pub(crate) host: String,
}

/// A referee to start.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct RefereePlan {
    /// The requested id.
    pub(crate) id: RefereeId,
    /// The display name.
    pub(crate) name: String,
    #[serde(default = "own_version")]
    pub(crate) version: String,
    /// How many matches it runs at once.
    pub(crate) max_concurrent: u32,
    /// Its port; 0 for any.
    #[serde(skip)]
    pub(crate) port: u16,
}

/// A player to start.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct PlayerPlan {
    /// The requested id.
    pub(crate) id: PlayerId,
    /// The display name.
    pub(crate) name: String,
    #[serde(default = "own_version")]
    pub(crate) version: String,
    pub(crate) strategy: SeatChoice,
    /// The language model, if one chooses.
    #[serde(skip)]
    pub(crate) model: Option<Arc<Model>>,
    #[serde(default)]
    pub(crate) dialect: Dialect,
    /// Its port, unless players share one; 0 for any.
    #[serde(skip)]
    pub(crate) port: u16,
}

/// Who chooses the moves of a player, as it is written: a strategy by its name, or a language model
/// as `llm:MODEL`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub(crate) enum SeatChoice {
    Strategy(&'static Strategy),
    Model(String),
}

impl SeatChoice {
    pub(crate) fn parse(text: &str) -> Result<Self, UnknownStrategy> {
        match text.strip_prefix("llm:") {
            Some(model) => Ok(Self::Model(model.to_owned())),
            None => strategy::find(text).map(Self::Strategy),
        }
    }
}

impl TryFrom<String> for SeatChoice {
    type Error = UnknownStrategy;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        Self::parse(&text)
    }
}

impl From<SeatChoice> for String {
    fn from(choice: SeatChoice) -> Self {
        match choice {
            SeatChoice::Strategy(strategy) => strategy.name.to_owned(),
            SeatChoice::Model(model) => format!("llm:{model}"),
        }
    }
}

/// The ports of a league.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct Ports {
    pub(crate) manager: u16,
    pub(crate) referees: Vec<u16>,
    /// Empty if the players share a port.
    pub(crate) players: Vec<u16>,
    /// The port that all players share.
    pub(crate) shared: Option<u16>,
}

/// The ports of a league, bound before any agent starts.
pub(crate) struct BoundPorts {
    pub(crate) manager: Listener,
    pub(crate) referees: Vec<Listener>,
    pub(crate) players: Vec<Listener>,
    pub(crate) shared: Option<Listener>,
}

impl BoundPorts {
    /// Binds all ports of a plan.
    ///
    /// # Errors
    ///
    /// A port could not be bound; no agent was started.
    pub(crate) async fn bind(plan: &Plan) -> Result<Self, ArenaError> {
        let mut ports = Self {
            manager: plan.listen(MANAGER, plan.port).await?,
            referees: Vec::new(),
            players: Vec::new(),
            shared: None,
        };
        for planned in &plan.referees {
            let listener = plan.listen(&planned.label(), planned.port).await?;
            ports.referees.push(listener);
        }
        match plan.shared_port {
            Some(shared) => ports.shared = Some(plan.listen("the players", shared).await?),
            None => {
                for planned in &plan.players {
                    let listener = plan.listen(&planned.label(), planned.port).await?;
                    ports.players.push(listener);
                }
            }
        }
        Ok(ports)
    }

    /// The listeners of all agents but the manager.
    pub(crate) fn agents(&self) -> impl Iterator<Item = &Listener> {
        let own = self.referees.iter().chain(&self.players);
        own.chain(&self.shared)
    }

    /// The port numbers.
    pub(crate) fn ports(&self) -> Ports {
        Ports {
            manager: self.manager.port(),
            referees: self.referees.iter().map(Listener::port).collect(),
            players: self.players.iter().map(Listener::port).collect(),
            shared: self.shared.as_ref().map(Listener::port),
        }
    }
}

/// The version of agents that the configuration does not list.
pub(crate) fn own_version() -> String {
    env!("CARGO_PKG_VERSION").to_owned()
}

impl RefereePlan {
    pub(crate) fn label(&self) -> String {
        format!("referee `{}`", self.id)
    }
}

impl PlayerPlan {
    pub(crate) fn label(&self) -> String {
        format!("player `{}`", self.id)
    }

    fn chooser(&self, shared: &Shared, plan: &Plan) -> Chooser {
        match (&self.model, &self.strategy) {
            (Some(model), _) => {
                let (model, budget) = (Arc::clone(model), Arc::clone(&plan.budget));
                let place = (&plan.rules.league_id, &self.id);
                Chooser::Model(Arc::new(ModelSeat::new(model, budget, shared, place)))
            }
            (None, SeatChoice::Strategy(strategy)) => Chooser::Strategy(strategy),
            // A plan names a model for each such seat.
            (None, SeatChoice::Model(_)) => Chooser::Strategy(&strategy::all()[0]),
        }
    }
}

/// Seats for people in a league.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PersonSeats {
    pub(crate) count: usize,
    /// Who moves if a person does not.
    pub(crate) fallback: &'static Strategy,
    /// The number of the first id that their players ask for; none in particular without one.
    pub(crate) first_id: Option<u32>,
}

impl PersonSeats {
    /// Opens the seats in a league whose manager answers at `manager`; players are called at `host`.
    ///
    /// # Errors
    ///
    /// The files of the seats cannot be used, or a player cannot start.
    pub(crate) async fn open(
        self,
        shared: &Shared,
        rules: &LeagueRules,
        manager: &str,
        (bind, tls, host): (IpAddr, Option<ServerTls>, String),
    ) -> Result<Option<Arc<People>>, NoSeat> {
        if self.count == 0 {
            return Ok(None);
        }
        let people = People::open(PeoplePlan {
            rules: PlayerRules {
                display_name: String::new(),
                version: own_version(),
                endpoint: String::new(),
                games: vec![rules.game_type.clone()],
                timeouts: rules.timeouts,
                manager: manager_peer(manager, Dialect::V2),
                wanted_id: None,
                join_code: shared.join_code.clone(),
                strict: rules.strict,
                memory: MemoryRule::default(),
                human: true,
            },
            league: rules.league_id.clone(),
            seats: self,
            shared: shared.clone(),
            bind,
            tls,
            host,
        });
        people.await.map(Some)
    }
}

impl Plan {
    async fn listen(&self, agent: &str, port: u16) -> Result<Listener, ArenaError> {
        let address = SocketAddr::new(self.bind, port);
        let listener = Listener::bind(address, self.tls.clone()).await;
        listener.map_err(|source| ArenaError::Port {
            agent: agent.to_owned(),
            port,
            source,
        })
    }

    /// How many agents there are, and how many listeners.
    pub(crate) fn agents(&self) -> (usize, usize) {
        let agents = 1 + self.referees.len() + self.players.len();
        let shared = self.shared_port.map(|_| self.players.len() - 1);
        (agents, agents - shared.unwrap_or(0))
    }

    /// Where its agents listen and how, and the host by which they are called.
    pub(crate) fn place(&self) -> (IpAddr, Option<ServerTls>, String) {
        (self.bind, self.tls.clone(), self.host.clone())
    }

    pub(crate) fn endpoint(&self, listener: &Listener) -> String {
        listener.url(&self.host)
    }
}
