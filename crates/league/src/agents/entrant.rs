//! A player in a few lines: the player of this crate, with a choice function from another program.
//!
//! The player's machine registers, authenticates itself, remembers matches and returns after a
//! restart; this file assembles it and keeps it running. `league new player --lang rust` generates
//! a program that uses it.

use std::error::Error;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use league_core::letter::Peer;
#[doc(hidden)] // its name in version 0.1
pub use league_core::player::MatchOutcome as Verdict;
pub use league_core::player::{MatchOutcome, MatchRecord};
use league_core::player::{Player, PlayerRules, Think};
pub use league_games::Dice;
use league_protocol::id::{GameType, IdError, PlayerId};
use league_protocol::sender::{Agent, CallStyle, Dialect};
use thiserror::Error;
use tokio::sync::watch;

use crate::agents::RunningAgent;
use crate::agents::assemble::Shared;
use crate::agents::identity::{Identity, Membership};
use crate::agents::player::{self, Chooser, PlayStyle};
use crate::chance::Chance;
use crate::config::{ConfigError, ConfigLoader, SystemConfig, timeouts};
use crate::http::descriptors::Descriptors;
use crate::http::endpoint::Endpoint;
use crate::http::local;
use crate::http::server::{Routes, Service, serve};
use crate::http::tls::Tls;
use crate::http::transport::Listener;
use crate::storage::root::Root;
use crate::storage::store::StoreError;
use league_core::strategy::Strategy;

/// The game that an entrant has a choice function for; in the others it makes any legal move.
const GAME: &str = "even_odd";

/// Chooses `even` or `odd` from the opponent's id, the player's own matches so far, oldest first,
/// and dice. Any other word is replaced by a random choice.
pub type Choose = fn(&str, &[Arc<MatchRecord>], &mut Dice) -> &'static str;

/// A player that wants to enter a league.
#[derive(Debug, Clone)]
pub struct Entrant {
    /// The display name.
    pub name: String,
    /// The port to listen on; 0 for any.
    pub port: u16,
    /// The address of this machine by which others reach it, if not the configured one.
    pub host: Option<IpAddr>,
    /// The address of the manager, if not the configured one.
    pub manager: Option<String>,
    /// The folder for its files.
    pub root: PathBuf,
}

type Cause = Box<dyn Error + Send + Sync>;

/// Why an entrant cannot play, or stopped.
#[derive(Debug, Error)]
pub enum EntrantError {
    #[error("could not use the configuration")]
    Config(#[from] ConfigError),
    #[error("could not find the league manager: {0}")]
    Manager(String),
    #[error("could not listen on port {port}")]
    Port { port: u16, source: io::Error },
    #[error("could not start")]
    System(#[from] io::Error),
    /// Its files or random numbers are not available.
    #[error("could not start")]
    Start(#[source] Cause),
    #[error("could not name its files")]
    Name(#[from] IdError),
    #[error("the league manager did not admit this player: {0}")]
    Rejected(String),
    #[error("the player stopped, as it could not write its journal")]
    Store(#[source] Cause),
}

impl EntrantError {
    fn start(cause: impl Into<Cause>) -> Self {
        Self::Start(cause.into())
    }

    fn store(cause: StoreError) -> Self {
        Self::Store(cause.into())
    }
}

impl Entrant {
    /// Plays until Ctrl-C. `tell` receives a sentence whenever there is something to report.
    ///
    /// # Errors
    ///
    /// The entrant cannot play, or cannot continue.
    pub fn play(&self, choose: Choose, tell: fn(&str)) -> Result<(), EntrantError> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .enable_all()
            .build()?;
        let loader = ConfigLoader::new(Root::new(&self.root));
        // Resolving a name may block for long, so it comes first.
        let manager = self.manager(&loader)?;
        runtime.block_on(self.serve(&loader, manager, choose, tell))
    }

    async fn serve(
        &self,
        loader: &ConfigLoader,
        manager: Endpoint,
        choose: Choose,
        tell: fn(&str),
    ) -> Result<(), EntrantError> {
        let mut system = (*loader.load_system()?).clone();
        self.settle(&mut system, manager.address());
        let (tls, warnings) = Tls::load(&self.root, &system).map_err(EntrantError::start)?;
        for warning in warnings {
            tell(&warning);
        }
        let port = self.port;
        let address = SocketAddr::new(system.security.bind, port);
        let listener = Listener::bind(address, tls.server.clone()).await;
        let listener = listener.map_err(|source| EntrantError::Port { port, source })?;
        let port = listener.port();
        let endpoint = listener.public_url(&system.network);
        tell(&format!("{} answers at {endpoint}", self.name));
        let mut shared = self.shared(&system, &tls)?;
        let rules = self.rules(loader, &system, &manager, endpoint)?;
        shared.outbox.allowed = shared.outbox.allowed.knowing(manager);
        let style = PlayStyle {
            chooser: Chooser::Strategy(own_strategy(choose)),
            pace: Duration::ZERO,
        };
        let slot = PlayerId::new(format!("port-{port}"))?;
        let league = &system.default_league_id;
        let (running, service) =
            player::start(&shared, league, &slot, rules, style).map_err(EntrantError::start)?;
        stay(&shared, listener, running, service, tell).await
    }

    fn shared(&self, system: &SystemConfig, tls: &Tls) -> Result<Shared, EntrantError> {
        let root = Root::new(&self.root);
        let chance = Chance::new(None).map_err(EntrantError::start)?;
        let descriptors = Descriptors::of(1, 1).map_err(EntrantError::start)?;
        Ok(Shared::new(root, system, tls, chance, descriptors))
    }

    /// The address of the manager.
    fn manager(&self, loader: &ConfigLoader) -> Result<Endpoint, EntrantError> {
        let found = match &self.manager {
            Some(named) => Endpoint::of_manager(named),
            None => Endpoint::parse(&loader.load_agents()?.league_manager.endpoint),
        };
        found.map_err(|error| EntrantError::Manager(error.to_string()))
    }

    /// Configures the listening address, and allows calls to the manager.
    fn settle(&self, system: &mut SystemConfig, manager: Option<SocketAddr>) {
        let host = self.host.map(|host| host.to_string());
        local::settle(system, self.host, host.as_deref(), manager);
        local::allow_calls(system, manager, &[]);
        // Other agents need not know a name.
        system.network.base_host = local::called(system, manager);
    }

    fn rules(
        &self,
        loader: &ConfigLoader,
        system: &SystemConfig,
        manager: &Endpoint,
        endpoint: String,
    ) -> Result<PlayerRules, EntrantError> {
        Ok(PlayerRules {
            display_name: self.name.clone(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            endpoint,
            games: (league_games::all().iter())
                .map(|game| GameType::new(game.rules.game_type))
                .collect::<Result<_, _>>()?,
            timeouts: timeouts(system),
            manager: Arc::new(Peer {
                agent: Agent::Manager,
                endpoint: manager.to_string().into(),
                dialect: Dialect::V2,
                speech: Some(CallStyle::Simple),
                is_foreign: false,
            }),
            wanted_id: None,
            join_code: system.security.join_code(),
            strict: false,
            memory: loader.load_player_defaults()?.memory.rule(),
            human: false,
        })
    }
}

/// Serves the player until it is interrupted or cannot continue.
async fn stay(
    shared: &Shared,
    listener: Listener,
    mut running: RunningAgent<Player>,
    service: Arc<dyn Service>,
    tell: fn(&str),
) -> Result<(), EntrantError> {
    let mut routes = Routes::behind(shared.gate.clone());
    routes.open("", service);
    let (end, limits) = (watch::Sender::new(false), shared.limits.clone());
    let server = tokio::spawn(serve(listener, routes, limits, end.subscribe()));
    let lived = tokio::select! {
        lived = live(&running.identity, tell) => lived,
        interrupted = tokio::signal::ctrl_c() => interrupted.map_err(EntrantError::from),
        // The actor ends by itself only if an event could not be written.
        stopped = &mut running.ended => return stopped.map_err(io::Error::other)?.map_err(EntrantError::store),
    };
    end.send_replace(true);
    // The server stops by itself, within a bound.
    let _ = server.await;
    running.actor.stop().await;
    let ended = running.ended.await.map_err(io::Error::other)?;
    ended.map_err(EntrantError::store)?;
    shared.outbox.sessions.close().await;
    shared.document_writer.finish();
    lived
}

/// Reports the progress of the player; returns when the manager rejects it.
async fn live(identity: &Identity, tell: fn(&str)) -> Result<(), EntrantError> {
    let mut life = identity.membership();
    loop {
        let now = life.borrow_and_update().clone();
        let label = identity.label();
        match now {
            Membership::Registering => tell(&format!("{label} registers with the manager")),
            Membership::Enrolled => tell(&format!("{label} is in the league")),
            Membership::Completed => tell("the league is over"),
            Membership::Rejected(reason) => return Err(EntrantError::Rejected(reason)),
        }
        if life.changed().await.is_err() {
            // The actor is gone; its own result has the reason.
            std::future::pending().await
        }
    }
}

/// The program's choice function as a strategy, which is never freed.
fn own_strategy(choose: Choose) -> &'static Strategy {
    let idea = move |think: &Think, memory: &[Arc<MatchRecord>], dice: &mut Dice| {
        Some(choose(think.opponent_id.as_str(), memory, dice).into())
    };
    Box::leak(Box::new(Strategy {
        name: "own",
        about: "as the program says",
        games: &[GAME],
        idea: Box::leak(Box::new(idea)),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entrant_is_reached_where_it_listens() {
        let mut entrant = Entrant {
            name: "Heron".to_owned(),
            port: 0,
            host: None,
            manager: None,
            root: PathBuf::from("SHARED"),
        };
        let settled = |entrant: &Entrant| {
            let mut system = SystemConfig::default();
            system.security.bind = [192, 0, 2, 7].into();
            entrant.settle(&mut system, "192.0.2.1:8000".parse().ok());
            assert!(system.security.allows([192, 0, 2, 1].into()));
            (system.security.bind.to_string(), system.network.base_host)
        };
        let both = |host: &str| (host.to_owned(), host.to_owned());
        assert_eq!(settled(&entrant), both("192.0.2.7"));
        entrant.host = Some([192, 0, 2, 8].into());
        assert_eq!(settled(&entrant), both("192.0.2.8"));
    }
}
