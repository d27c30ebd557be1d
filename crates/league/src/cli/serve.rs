//! `league serve`: the pages of a league that lies on the disk, running, finished or copied.

use std::io::Write;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use league::config::{ConfigLoader, SystemConfig};
use league::net::endpoint::url;
use league::net::gate::Gate;
use league::net::server::{Doors, Limits, bind, serve};
use league::root::Root;
use league::web::Site;
use serde_json::json;
use tokio::sync::watch;

use super::agent::page;
use super::common::{bad_config, port_hint, runtime};
use super::failure::{Failure, Kind};
use super::reach::Listening;
use super::shown::Shown;
use super::signal::Signals;
use super::{Answer, Output};

/// Show the pages of a league: one that is over, a copy of one, or one that runs elsewhere
///
/// Files are only read. If the league goes on, so does the page.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  league serve SHARED
  league serve /copies/SHARED --port 9000
  league serve --bind 0.0.0.0            for everyone in the room")]
pub(super) struct Serve {
    #[command(flatten)]
    shown: Shown,
    /// The port to listen on; 0 for any that is free
    #[arg(long, value_name = "N", default_value_t = 8080)]
    port: u16,
    #[command(flatten)]
    listening: Listening,
    /// How to print
    #[arg(long, value_enum, default_value_t, value_name = "FORM")]
    output: Output,
}

impl Serve {
    pub(super) fn run(&self, out: &mut impl Write) -> Result<Answer, Failure> {
        let (root, league) = self.shown.find()?;
        let mut system = configured(&root)?;
        self.listening.settle(&mut system, None);
        let gate = Gate::new(&system);
        let runtime = runtime()?;
        let answer = runtime.block_on(async {
            let mut signals = Signals::new()?;
            let listener = bind(SocketAddr::new(system.security.bind, self.port)).await;
            let listener = listener.map_err(|error| self.no_port(&error))?;
            let port = listener.local_addr().map_or(self.port, |at| at.port());
            let page = page(&url(&system.network.base_host, port));
            if self.output == Output::Json {
                let greeting = json!({"event": "page", "league_id": league, "page": page});
                writeln!(out, "{greeting}")?;
            } else {
                writeln!(out, "league `{league}` at {page} until Ctrl-C")?;
            }
            out.flush()?;
            let site = Site::new(root, league, Limits::default().viewers(), true);
            let doors = Doors::behind(gate).with_pages(Arc::new(site));
            let end = watch::Sender::new(false);
            let serving = tokio::spawn(serve(listener, doors, Limits::default(), end.subscribe()));
            signals.interrupted().await;
            end.send_replace(true);
            // It ends by itself, within a bound.
            let _ = serving.await;
            Ok(Answer::Yes)
        });
        runtime.shutdown_timeout(Duration::from_millis(100));
        answer
    }

    fn no_port(&self, error: &std::io::Error) -> Failure {
        let cause = match error.kind() {
            std::io::ErrorKind::AddrInUse => format!("port {} is in use", self.port),
            _ => error.to_string(),
        };
        Failure {
            what: "could not show the page".to_owned(),
            cause,
            hint: port_hint(
                error,
                "choose another with `--port`, or any with `--port 0`",
            ),
            kind: Kind::World,
        }
    }
}

/// The configuration of the league, which is only read.
fn configured(root: &Root) -> Result<SystemConfig, Failure> {
    if !root.system().exists() {
        return Ok(SystemConfig::default());
    }
    let system = ConfigLoader::new(root.clone()).load_system();
    Ok((*system.map_err(bad_config)?).clone())
}
