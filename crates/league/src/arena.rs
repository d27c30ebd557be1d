//! A whole league in one process: manager, referees and players, each a server of its own.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use league_core::league::{Command, League, LeagueRules};
use league_core::letter::Peer;
use league_core::player::{MemoryRule, Player, PlayerRules};
use league_core::referee::{Referee, RefereeRules};
use league_protocol::id::{PlayerId, RefereeId};
use league_protocol::sender::{Agent, Dialect};
use thiserror::Error;
use tokio::net::TcpListener;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::sync::watch;

use crate::agent::Running;
use crate::agent::house::{Shared, StartError};
use crate::agent::manager::{self, News};
use crate::agent::player::Manner;
use crate::agent::{player, referee};
use crate::net::server::{Doors, bind, serve};
use crate::store::StoreError;

/// With more players than this on free ports, they share one listener.
pub const MOST_PLAYER_PORTS: usize = 64;
/// How long the last letters of a league may take.
pub const LAST_LETTERS: Duration = Duration::from_secs(10);

/// What a league in one process is made of.
pub struct Plan {
    /// The rules of the league.
    pub rules: LeagueRules,
    /// Its referees.
    pub referees: Vec<RefereeSeat>,
    /// Its players.
    pub players: Vec<PlayerSeat>,
    /// Where they listen.
    pub ports: Ports,
    /// The address on which they listen.
    pub bind: IpAddr,
    /// The host by which they are called.
    pub host: String,
}

/// A referee that is to be started.
#[derive(Debug, Clone)]
pub struct RefereeSeat {
    /// The id it would like.
    pub id: RefereeId,
    /// The name that people see.
    pub name: String,
    /// How many matches it plays at once.
    pub max_concurrent: u32,
}

/// A player that is to be started.
#[derive(Debug, Clone)]
pub struct PlayerSeat {
    /// The id it would like.
    pub id: PlayerId,
    /// The name that people see.
    pub name: String,
    /// How it plays.
    pub manner: Manner,
}

/// Where agents listen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ports {
    /// The manager here, referees and players counted from these.
    From {
        /// The manager's.
        manager: u16,
        /// The first referee's.
        referees: u16,
        /// The first player's.
        players: u16,
    },
    /// Any that are free.
    Auto,
}

/// A league could not be opened or went down.
#[derive(Debug, Error)]
pub enum ArenaError {
    /// A port could not be had.
    #[error("could not start `{agent}` on port {port}")]
    Port {
        /// Whose.
        agent: String,
        /// Which; 0 for any.
        port: u16,
        /// Why.
        source: io::Error,
    },
    /// An agent could not start.
    #[error("could not start `{agent}`")]
    Start {
        /// Who.
        agent: String,
        /// Why.
        source: StartError,
    },
    /// An agent could not write down a fact, and stopped.
    #[error("`{agent}` stopped, as it could not write its journal")]
    Store {
        /// Who.
        agent: String,
        /// Why.
        source: StoreError,
    },
}

/// A league at work.
pub struct Arena {
    /// The manager.
    pub manager: Running<League>,
    /// Where it answers.
    pub endpoint: String,
    /// The referees.
    pub referees: Vec<(RefereeId, Running<Referee>)>,
    /// The players.
    pub players: Vec<(PlayerId, Running<Player>)>,
    /// What happens in the league, from its first fact on.
    pub news: UnboundedReceiver<News>,
    end: watch::Sender<bool>,
}

impl Arena {
    /// Takes all ports and starts all agents.
    ///
    /// # Errors
    ///
    /// Says which agent could not start, and why.
    pub async fn open(shared: &Shared, plan: Plan) -> Result<Self, ArenaError> {
        let end = watch::Sender::new(false);
        let (tell, news) = unbounded_channel();
        let listener = plan.listen("league_manager", plan.ports.manager()).await?;
        let endpoint = plan.endpoint(&listener, "");
        let (manager, door) = manager::start(shared, plan.rules.clone(), Some(tell))
            .map_err(started("league_manager"))?;
        let doors = Doors::default();
        doors.open("", door);
        tokio::spawn(serve(listener, doors, end.subscribe()));
        let mut arena = Self {
            manager,
            endpoint,
            referees: Vec::new(),
            players: Vec::new(),
            news,
            end,
        };
        arena.seat_referees(shared, &plan).await?;
        arena.seat_players(shared, &plan).await?;
        Ok(arena)
    }

    async fn seat_referees(&mut self, shared: &Shared, plan: &Plan) -> Result<(), ArenaError> {
        for (place, seat) in plan.referees.iter().enumerate() {
            let listener = plan
                .listen(seat.id.as_str(), plan.ports.referee(place))
                .await?;
            let rules = RefereeRules {
                display_name: seat.name.clone(),
                version: env!("CARGO_PKG_VERSION").to_owned(),
                wanted_id: Some(seat.id.to_string()),
                endpoint: plan.endpoint(&listener, ""),
                games: vec![plan.rules.game_type.clone()],
                max_concurrent: seat.max_concurrent,
                patience: plan.rules.patience,
                breaker: plan.rules.breaker,
                manager: self.manager_peer(),
            };
            let league = &plan.rules.league_id;
            let (running, door) = referee::start(shared, league, &seat.id, rules)
                .map_err(started(seat.id.as_str()))?;
            let doors = Doors::default();
            doors.open("", door);
            tokio::spawn(serve(listener, doors, self.end.subscribe()));
            self.referees.push((seat.id.clone(), running));
        }
        Ok(())
    }

    async fn seat_players(&mut self, shared: &Shared, plan: &Plan) -> Result<(), ArenaError> {
        let many = plan.ports == Ports::Auto && plan.players.len() > MOST_PLAYER_PORTS;
        let mut common = None;
        if many {
            let listener = plan.listen("players", 0).await?;
            let (doors, endpoint) = (Doors::default(), plan.endpoint(&listener, ""));
            let base = endpoint.trim_end_matches("/mcp").to_owned();
            tokio::spawn(serve(listener, doors.clone(), self.end.subscribe()));
            common = Some((doors, base));
        }
        for (place, seat) in plan.players.iter().enumerate() {
            let (doors, prefix, endpoint) = match &common {
                Some((doors, base)) => {
                    let prefix = format!("/agents/{}", seat.id);
                    let endpoint = format!("{base}{prefix}/mcp");
                    (doors.clone(), prefix, endpoint)
                }
                None => {
                    let port = plan.ports.player(place);
                    let listener = plan.listen(seat.id.as_str(), port).await?;
                    let (doors, endpoint) = (Doors::default(), plan.endpoint(&listener, ""));
                    tokio::spawn(serve(listener, doors.clone(), self.end.subscribe()));
                    (doors, String::new(), endpoint)
                }
            };
            let rules = self.player_rules(plan, seat, endpoint);
            let league = &plan.rules.league_id;
            let (running, door) = player::start(shared, league, &seat.id, rules, seat.manner)
                .map_err(started(seat.id.as_str()))?;
            doors.open(prefix, door);
            self.players.push((seat.id.clone(), running));
        }
        Ok(())
    }

    fn player_rules(&self, plan: &Plan, seat: &PlayerSeat, endpoint: String) -> PlayerRules {
        PlayerRules {
            display_name: seat.name.clone(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            endpoint,
            games: vec![plan.rules.game_type.clone()],
            patience: plan.rules.patience,
            manager: self.manager_peer(),
            wanted_id: Some(seat.id.to_string()),
            strict: plan.rules.strict,
            memory: MemoryRule::default(),
        }
    }

    fn manager_peer(&self) -> Arc<Peer> {
        Arc::new(Peer {
            agent: Agent::Manager,
            endpoint: self.endpoint.as_str().into(),
            dialect: Dialect::V2,
        })
    }

    /// Lets the last letters go out, within a bound.
    pub async fn quieten(&mut self) {
        let mut quiets = vec![self.manager.quiet.clone()];
        quiets.extend(
            self.referees
                .iter()
                .map(|(_, running)| running.quiet.clone()),
        );
        let all = async {
            for mut quiet in quiets {
                quiet.wait().await;
            }
        };
        let _ = tokio::time::timeout(LAST_LETTERS, all).await;
    }

    /// Ends all agents; what they decided is written.
    ///
    /// # Errors
    ///
    /// Says if one of them could not write.
    pub async fn close(self) -> Result<(), ArenaError> {
        self.manager.desk.bring(Command::Stop).await;
        self.end.send_replace(true);
        finish("league_manager", self.manager).await?;
        for (id, running) in self.referees {
            finish(id.as_str(), running).await?;
        }
        for (id, running) in self.players {
            finish(id.as_str(), running).await?;
        }
        Ok(())
    }
}

async fn finish<M: crate::desk::Worker>(
    agent: &str,
    running: Running<M>,
) -> Result<(), ArenaError> {
    running.desk.end().await;
    match running.ended.await {
        Ok(Err(source)) => Err(ArenaError::Store {
            agent: agent.to_owned(),
            source,
        }),
        Ok(Ok(())) | Err(_) => Ok(()),
    }
}

impl Plan {
    async fn listen(&self, agent: &str, port: u16) -> Result<TcpListener, ArenaError> {
        let address = SocketAddr::new(self.bind, port);
        bind(address).await.map_err(|source| ArenaError::Port {
            agent: agent.to_owned(),
            port,
            source,
        })
    }

    fn endpoint(&self, listener: &TcpListener, prefix: &str) -> String {
        let port = listener.local_addr().map_or(0, |address| address.port());
        format!("http://{}:{port}{prefix}/mcp", self.host)
    }
}

impl Ports {
    fn manager(self) -> u16 {
        match self {
            Self::From { manager, .. } => manager,
            Self::Auto => 0,
        }
    }

    fn referee(self, place: usize) -> u16 {
        match self {
            Self::From { referees, .. } => counted(referees, place),
            Self::Auto => 0,
        }
    }

    fn player(self, place: usize) -> u16 {
        match self {
            Self::From { players, .. } => counted(players, place),
            Self::Auto => 0,
        }
    }
}

fn counted(first: u16, place: usize) -> u16 {
    let place = u16::try_from(place).unwrap_or(u16::MAX);
    first.saturating_add(place)
}

fn started(agent: &str) -> impl FnOnce(StartError) -> ArenaError {
    let agent = agent.to_owned();
    move |source| ArenaError::Start { agent, source }
}
