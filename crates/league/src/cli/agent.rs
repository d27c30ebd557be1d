//! `league manager`, `league referee`, `league player`: one agent, as chapters 8 and 11 start it.

mod manager;
mod player;
mod referee;

use std::io::Write;
use std::net::SocketAddr;
use std::sync::Arc;

use clap::Args;
use league::agent::Running;
use league::agent::house::StartError;
use league::arena::LAST_LETTERS;
use league::config::SystemConfig;
use league::desk::Worker;
use league::identity::Life;
use league::net::server::{Door, Doors, bind, serve};
use league::post::Quiet;
use league_core::letter::Peer;
use league_protocol::sender::{Agent, Dialect};
use serde_json::{Value, json};
use tokio::sync::watch;

use super::common::Common;
use super::failure::{Failure, Kind};
use super::signal::Signals;
use super::{Answer, Output};
pub(super) use manager::Manager;
pub(super) use player::Player;
pub(super) use referee::Referee;

/// What an agent that joins a league takes.
#[derive(Debug, Clone, Args)]
struct Joining {
    #[command(flatten)]
    common: Common,
    /// Where the league manager answers [default: from config, http://localhost:8000/mcp]
    #[arg(long, value_name = "URL")]
    manager: Option<String>,
    /// The league whose files it keeps [default: from config]
    #[arg(long, value_name = "ID", value_parser = super::common::league_id)]
    league_id: Option<league_protocol::id::LeagueId>,
    /// The name that people see
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// End when the league is over
    #[arg(long)]
    exit_when_done: bool,
}

/// An agent that was started, and what it takes to serve it.
struct Serving<'s, M: Worker, W: Write> {
    running: Running<M>,
    door: Arc<dyn Door>,
    listener: tokio::net::TcpListener,
    common: &'s Common,
    out: &'s mut W,
    exit_when_done: bool,
}

impl<M: Worker, W: Write> Serving<'_, M, W> {
    /// Serves until it is told to end, its league is over, or it cannot write.
    async fn finishing(
        mut self,
        mut signals: Signals,
        quiet: &mut Quiet,
    ) -> Result<Answer, Failure> {
        let doors = Doors::default();
        doors.open("", Arc::clone(&self.door));
        let end = watch::Sender::new(false);
        let server = tokio::spawn(serve(self.listener, doors, end.subscribe()));
        let mut life = self.running.identity.life();
        let mut said = None;
        let answer = loop {
            let now = life.borrow_and_update().clone();
            if said.as_ref() != Some(&now) {
                tell(self.out, self.common, &self.running.identity.label(), &now)?;
                said = Some(now.clone());
            }
            match now {
                Life::Rejected(reason) => break Err(rejected(&reason)),
                Life::Completed if self.exit_when_done => {
                    // The last letters, such as the end itself, are still on their way.
                    let _ = tokio::time::timeout(LAST_LETTERS, quiet.wait()).await;
                    break Ok(Answer::Yes);
                }
                _ => {}
            }
            tokio::select! {
                () = signals.interrupted() => break Ok(Answer::Yes),
                ended = &mut self.running.ended => return Err(stopped(ended)),
                changed = life.changed() => if changed.is_err() { break Ok(Answer::Yes) },
            }
        };
        end.send_replace(true);
        self.running.desk.end().await;
        let ended = self.running.ended.await;
        // What is still on its way has had its moment.
        let _ = tokio::time::timeout(std::time::Duration::from_secs(2), server).await;
        match ended {
            Ok(Err(error)) => Err(stopped(Ok(Err(error)))),
            _ => answer,
        }
    }
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
        Life::Completed => "the league is over",
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

async fn listen(
    system: &SystemConfig,
    agent: &str,
    port: u16,
) -> Result<tokio::net::TcpListener, Failure> {
    let address = SocketAddr::new(system.security.bind, port);
    bind(address).await.map_err(|error| Failure {
        what: format!("could not start {agent}"),
        cause: match error.kind() {
            std::io::ErrorKind::AddrInUse => format!("port {port} is in use"),
            _ => format!("port {port}: {error}"),
        },
        hint: "choose another with `--port`, or stop the agent that holds it".to_owned(),
        kind: Kind::World,
    })
}

fn endpoint(system: &SystemConfig, listener: &tokio::net::TcpListener) -> String {
    let port = listener.local_addr().map_or(0, |address| address.port());
    format!("http://{}:{port}/mcp", system.network.base_host)
}

fn peer(manager: &str) -> Arc<Peer> {
    Arc::new(Peer {
        agent: Agent::Manager,
        endpoint: manager.into(),
        dialect: Dialect::V2,
    })
}

/// The port of an address in the configuration.
fn port_of(endpoint: &str) -> Option<u16> {
    let endpoint = league::net::endpoint::Endpoint::parse(endpoint).ok()?;
    Some(endpoint.address.port())
}

fn not_started(agent: &str, error: &StartError) -> Failure {
    let wrong_use = matches!(error, StartError::Rules(_));
    Failure {
        what: format!("could not start {agent}"),
        cause: super::chain(error),
        hint: super::start_hint(error),
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
    ended: Result<Result<(), league::store::StoreError>, tokio::task::JoinError>,
) -> Failure {
    let cause = match ended {
        Ok(Err(error)) => super::chain(&error),
        Ok(Ok(())) => "its desk ended".to_owned(),
        Err(error) => error.to_string(),
    };
    Failure {
        what: "the agent stopped".to_owned(),
        cause,
        hint: "mend the cause, then start it again with the same command".to_owned(),
        kind: Kind::World,
    }
}
