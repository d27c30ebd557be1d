//! Who is to be started where, and the ports for it.

use std::net::{IpAddr, SocketAddr};

use league_core::league::LeagueRules;
use league_protocol::id::{PlayerId, RefereeId};
use league_protocol::sender::Dialect;
use serde::{Deserialize, Serialize};
use tokio::net::TcpListener;

use super::{ArenaError, MANAGER};
use crate::agents::manager::Guest;
use crate::agents::player::Manner;
use crate::http::endpoint::url;
use crate::http::server::bind;

/// What a league in one process is made of.
pub(crate) struct Plan {
    /// The rules of the league.
    pub(crate) rules: LeagueRules,
    /// Its referees.
    pub(crate) referees: Vec<RefereeSeat>,
    /// Its players.
    pub(crate) players: Vec<PlayerSeat>,
    /// The players that are invited by their address.
    pub(crate) guests: Vec<Guest>,
    /// The manager's port; 0 for any.
    pub(crate) port: u16,
    /// The port that all players share, each below a path of its own; 0 for any.
    pub(crate) shared_port: Option<u16>,
    /// The address on which they listen.
    pub(crate) bind: IpAddr,
    /// The host by which they are called: an address, or `localhost`.
    pub(crate) host: String,
}

/// A referee that is to be started.
#[derive(Debug, Clone)]
pub(crate) struct RefereeSeat {
    /// The id it would like.
    pub(crate) id: RefereeId,
    /// The name that people see.
    pub(crate) name: String,
    /// How many matches it plays at once.
    pub(crate) max_concurrent: u32,
    /// Its port; 0 for any.
    pub(crate) port: u16,
}

/// A player that is to be started.
#[derive(Debug, Clone)]
pub(crate) struct PlayerSeat {
    /// The id it would like.
    pub(crate) id: PlayerId,
    /// The name that people see.
    pub(crate) name: String,
    /// How it plays.
    pub(crate) manner: Manner,
    /// How it speaks.
    pub(crate) dialect: Dialect,
    /// Its port, unless it shares one; 0 for any.
    pub(crate) port: u16,
}

/// The ports of a league.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct Ports {
    /// The manager's.
    pub(crate) manager: u16,
    /// Each referee's.
    pub(crate) referees: Vec<u16>,
    /// Each player's, unless they share one.
    pub(crate) players: Vec<u16>,
    /// The one that all players share.
    pub(crate) shared: Option<u16>,
}

/// The ports of a league, taken before anybody starts.
pub(crate) struct Taken {
    pub(super) manager: TcpListener,
    pub(super) referees: Vec<TcpListener>,
    pub(super) players: Vec<TcpListener>,
    pub(super) shared: Option<TcpListener>,
}

impl Taken {
    /// Takes all ports of a plan.
    ///
    /// # Errors
    ///
    /// Says whose port could not be had, and why; nothing was started then.
    pub(crate) async fn take(plan: &Plan) -> Result<Self, ArenaError> {
        let mut taken = Self {
            manager: plan.listen(MANAGER, plan.port).await?,
            referees: Vec::new(),
            players: Vec::new(),
            shared: None,
        };
        for seat in &plan.referees {
            let listener = plan.listen(&seat.label(), seat.port).await?;
            taken.referees.push(listener);
        }
        match plan.shared_port {
            Some(shared) => taken.shared = Some(plan.listen("the players", shared).await?),
            None => {
                for seat in &plan.players {
                    let listener = plan.listen(&seat.label(), seat.port).await?;
                    taken.players.push(listener);
                }
            }
        }
        Ok(taken)
    }

    /// Where all but the manager listen.
    pub(super) fn agents(&self) -> impl Iterator<Item = &TcpListener> {
        let own = self.referees.iter().chain(&self.players);
        own.chain(&self.shared)
    }

    /// Which ports they are.
    pub(crate) fn ports(&self) -> Ports {
        Ports {
            manager: port(&self.manager),
            referees: self.referees.iter().map(port).collect(),
            players: self.players.iter().map(port).collect(),
            shared: self.shared.as_ref().map(port),
        }
    }
}

impl RefereeSeat {
    pub(super) fn label(&self) -> String {
        format!("referee `{}`", self.id)
    }
}

impl PlayerSeat {
    pub(super) fn label(&self) -> String {
        format!("player `{}`", self.id)
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

    pub(super) fn endpoint(&self, listener: &TcpListener) -> String {
        url(&self.host, port(listener))
    }
}

fn port(listener: &TcpListener) -> u16 {
    listener.local_addr().map_or(0, |address| address.port())
}
