//! What agents share that join the league of a manager.

use std::io::Write;
use std::sync::Arc;

use crate::agents::actor::Worker;
use crate::http::endpoint::Endpoint;
use crate::wire::ask::ManagerClient;
use clap::Args;
use league_core::letter::Peer;
use league_protocol::id::LeagueId;
use league_protocol::sender::{Agent, Dialect, Speech};

use super::super::Answer;
use super::super::common::{self, Common};
use super::super::failure::Failure;
use super::super::reach::Reach;
use super::past::Past;
use super::{Ground, Serving, endpoint, greet};

/// What an agent that joins a league takes.
#[derive(Debug, Clone, Args)]
pub(super) struct Joining {
    #[command(flatten)]
    pub(super) common: Common,
    #[command(flatten)]
    reach: Reach,
    /// Where the league manager answers [default: from config, http://localhost:8000/mcp]
    #[arg(long, value_name = "URL", value_parser = common::manager)]
    manager: Option<String>,
    /// The league whose files it keeps [default: the manager's]
    #[arg(long, value_name = "ID", value_parser = common::league_id)]
    league_id: Option<LeagueId>,
    /// The name that people see
    #[arg(long, value_name = "NAME")]
    pub(super) name: Option<String>,
    /// End when the league is over
    #[arg(long)]
    exit_when_done: bool,
    /// Answer on standard input and output as well, and end with them
    #[arg(long)]
    pub(super) stdio: bool,
}

impl Joining {
    /// The league whose files it keeps: the one that is named, else the manager's, or where it
    /// was before; as configured where neither is known.
    pub(super) async fn league(&self, ground: &Ground, past: &Past<'_>) -> LeagueId {
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
    pub(super) fn run(
        &self,
        out: &mut impl Write,
        agent: impl AsyncFnOnce(Ground, &mut dyn Write) -> Result<Answer, Failure>,
    ) -> Result<Answer, Failure> {
        super::run(&self.common, self.stdio, out, agent)
    }

    /// What the agent stands on, reached as the flags say: by the manager, in any case.
    pub(super) fn settled(&self, mut ground: Ground, agent: &str) -> Result<Ground, Failure> {
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
    pub(super) fn peer(&self, ground: &Ground, dialect: Dialect) -> Arc<Peer> {
        Arc::new(Peer {
            agent: Agent::Manager,
            endpoint: self.manager(ground).into(),
            dialect,
            speech: Some(Speech::Simple),
        })
    }

    /// Says where the agent answers and serves it to its end.
    pub(super) async fn stay<M: Worker>(
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
