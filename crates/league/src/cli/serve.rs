//! `league serve`: the pages of a league that lies on the disk, running, finished or copied.

use std::io::{self, Write};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use hyper::header::HeaderMap;
use league_protocol::id::LeagueId;
use serde_json::json;
use tokio::sync::watch;

use crate::cli::agent::page;
use crate::cli::failure::{Failure, Kind, bad_config, port_hint};
use crate::cli::leagues::StoredLeague;
use crate::cli::network::Listening;
use crate::cli::runtime::{Signals, runtime};
use crate::cli::{Answer, Output};
use crate::config::{ConfigLoader, SystemConfig};
use crate::http::endpoint::url;
use crate::http::gate::Gate;
use crate::http::server::{Answering, Limits, Pages, Routes, bind, serve};
use crate::site::Site;
use crate::storage::root::Root;

/// Show the pages of a league: one that is over, a copy of one, or one that runs elsewhere
///
/// Files are only read. If the league goes on, so does the page; if nobody plays it, the page says
/// so, and how to take it up. With -v each visit is told on standard error.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  league serve SHARED
  league serve /copies/SHARED --port 9000
  league serve --bind 0.0.0.0            for everyone in the room")]
pub(crate) struct Serve {
    #[command(flatten)]
    shown: StoredLeague,
    /// The port to listen on; 0 for any that is free
    #[arg(long, value_name = "N", default_value_t = 8080)]
    port: u16,
    #[command(flatten)]
    listening: Listening,
}

impl Serve {
    pub(crate) fn run(&self, out: &mut impl Write) -> Result<Answer, Failure> {
        let (root, league) = self.shown.find()?;
        let mut system = configured(&root)?;
        self.listening.settle(&mut system);
        let gate = Gate::new(&system);
        let runtime = runtime()?;
        let answer = runtime.block_on(async {
            let mut signals = Signals::new()?;
            let listener = bind(SocketAddr::new(system.security.bind, self.port)).await;
            let listener = listener.map_err(|error| self.no_port(&error))?;
            let port = listener.local_addr().map_or(self.port, |at| at.port());
            let page = page(&url(&system.network.base_host, port));
            let resume = self.shown.resume(&root, &league);
            self.greet(out, &league, &page, resume)?;
            let site = Site::new(root, league, Limits::default().viewers(), true);
            let doors = Routes::behind(gate).with_pages(match self.shown.common.verbose {
                0 => Arc::new(site),
                _ => Arc::new(Noted(site)),
            });
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

    /// Says where the page is, and how to go on with a league that nobody plays.
    fn greet(
        &self,
        out: &mut impl Write,
        league: &LeagueId,
        page: &str,
        resume: Option<String>,
    ) -> io::Result<()> {
        let common = &self.shown.common;
        if common.output == Output::Json {
            let greeting =
                json!({"event": "page", "league_id": league, "page": page, "resume": resume});
            writeln!(out, "{greeting}")?;
        } else if common.quiet {
            writeln!(out, "{page}")?;
        } else {
            writeln!(out, "league `{league}` at {page} until Ctrl-C")?;
            if let Some(resume) = resume {
                writeln!(
                    out,
                    "nobody plays it on this machine; go on with `{resume}`"
                )?;
            }
        }
        out.flush()
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

/// A site whose visits are told on standard error.
struct Noted(Site);

impl Pages for Noted {
    fn visit(&self, path: &str, headers: HeaderMap) -> Answering<'_> {
        let path = path.to_owned();
        Box::pin(async move {
            let answered = self.0.visit(&path, headers).await;
            // Nothing is left to be done if even this cannot be printed.
            let _ = writeln!(io::stderr(), "GET {path} {}", answered.status);
            answered
        })
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
