//! Many of our players in one process, behind one listener, for leagues over seven processes and for
//! tests with many leagues: `league player` is one player, and a league with a thousand matches at
//! once has two thousand.

use std::io::{self, Write};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use league_core::letter::Peer;
use league_core::player::{MemoryRule, Player, PlayerRules};
use league_core::strategy;
use league_protocol::id::{GameType, LeagueId, PlayerId};
use league_protocol::sender::{Agent, CallStyle, Dialect};
use serde::{Deserialize, Serialize};
use tokio::sync::watch;

use crate::agents::RunningAgent;
use crate::agents::arena::own_version;
use crate::agents::assemble::Shared;
use crate::agents::player::{self, Chooser, PlayStyle};
use crate::cli::Output;
use crate::cli::arguments::CommonArgs;
use crate::cli::failure::CommandError;
use crate::cli::network::{load_tls, log_warning};
use crate::cli::runtime::{begin_logs, finish, runtime};
use crate::config::{DEFAULT_GAME, SystemConfig, timeouts};
use crate::http::endpoint::Endpoint;
use crate::http::server::{Routes, serve};
use crate::http::transport::Listener;

/// The players of a process.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct PlayersPlan {
    pub(crate) root: PathBuf,
    pub(crate) groups: Vec<PlayerGroup>,
}

/// Players of one league.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct PlayerGroup {
    /// The addresses of the manager, with commas between them.
    pub(crate) manager: String,
    /// The league [default: from config].
    #[serde(default)]
    pub(crate) league: Option<LeagueId>,
    /// The number of the first player; no other group of the process has it.
    pub(crate) first: u32,
    pub(crate) count: u32,
}

impl PlayersPlan {
    /// Hosts the players until the standard input ends.
    pub(crate) fn host(&self, what: &str) -> Result<(), CommandError> {
        let common = CommonArgs {
            root: self.root.clone(),
            output: Output::Json,
            quiet: true,
            verbose: 0,
        };
        let runtime = runtime()?;
        let (_, system) = common.config()?;
        let logs = begin_logs(&common, &system, false);
        let tls = load_tls(&common.root(), &system, what, log_warning)?;
        let count = self.groups.iter().map(|group| group.count as usize).sum();
        let mut shared = common.shared(&system, &tls, None, (count, 1))?;
        shared.crowd = count;
        let hosted = finish(logs, runtime, self.play(&shared, &system));
        hosted.map_err(|error| {
            let hint = "see that the temporary folder has room";
            CommandError::world(what, error.to_string(), hint)
        })
    }

    async fn play(&self, shared: &Shared, system: &SystemConfig) -> io::Result<()> {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let listener = Listener::bind(address, None).await?;
        let base = listener.url("localhost");
        let base = base.trim_end_matches("/mcp");
        let routes = Routes::behind(shared.gate.clone());
        let mut players = Vec::new();
        for group in &self.groups {
            players.extend(group.start((shared, system), base, &routes)?);
        }
        let end = watch::Sender::new(false);
        tokio::spawn(serve(
            listener,
            routes,
            shared.limits.clone(),
            end.subscribe(),
        ));
        writeln!(io::stdout(), "{{}}")?;
        tokio::task::spawn_blocking(|| io::copy(&mut io::stdin(), &mut io::sink())).await??;
        end.send_replace(true);
        shared.outbox.close();
        stop(players).await;
        shared.document_writer.finish();
        Ok(())
    }
}

impl PlayerGroup {
    /// Starts the players, each at a path of its own.
    fn start(
        &self,
        (shared, system): (&Shared, &SystemConfig),
        base: &str,
        routes: &Routes,
    ) -> io::Result<Vec<RunningAgent<Player>>> {
        let game = GameType::new(DEFAULT_GAME).map_err(io::Error::other)?;
        let dealt = strategy::deal(&game, (self.first + self.count) as usize);
        let manager = Endpoint::of_managers(&self.manager).map_err(io::Error::other)?;
        let name = manager.to_string();
        let mut shared = shared.clone();
        shared.outbox.allowed = shared.outbox.allowed.knowing(manager);
        let league = self.league.as_ref().unwrap_or(&system.default_league_id);
        let numbers = self.first..self.first + self.count;
        let players = numbers.map(|number| {
            let id = PlayerId::numbered(number);
            let path = format!("/agents/{id}");
            let rules = PlayerRules {
                endpoint: format!("{base}{path}/mcp"),
                games: vec![game.clone()],
                ..rules(system, &name, number)
            };
            let style = PlayStyle {
                chooser: Chooser::Strategy(dealt[number as usize - 1]),
                pace: Duration::ZERO,
                results: None,
            };
            let started = player::start(&shared, league, &id, rules, style);
            let (running, service) = started.map_err(io::Error::other)?;
            routes.open(path, service);
            Ok(running)
        });
        players.collect()
    }
}

fn rules(system: &SystemConfig, manager: &str, number: u32) -> PlayerRules {
    PlayerRules {
        display_name: format!("Player {number}"),
        version: own_version(),
        endpoint: String::new(),
        games: Vec::new(),
        timeouts: timeouts(system),
        manager: Arc::new(Peer {
            agent: Agent::Manager,
            endpoint: manager.into(),
            dialect: Dialect::V2,
            speech: Some(CallStyle::Simple),
            is_foreign: false,
        }),
        wanted_id: Some(PlayerId::numbered(number).to_string()),
        join_code: None,
        strict: false,
        memory: MemoryRule::default(),
        human: false,
    }
}

async fn stop(players: Vec<RunningAgent<Player>>) {
    for player in players {
        player.actor.stop().await;
        // A journal that could not be written changes no figure.
        let _ = player.ended.await;
    }
}
