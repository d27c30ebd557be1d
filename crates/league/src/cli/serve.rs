//! `league serve`: the pages of a stored league, running, finished or copied.

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
use crate::cli::failure::{CommandError, bad_config, port_error};
use crate::cli::leagues::StoredLeagueArgs;
use crate::cli::network::ListenArgs;
use crate::cli::runtime::{Signals, runtime};
use crate::cli::text::print_object;
use crate::cli::{Exit, Output};
use crate::config::{ConfigLoader, SystemConfig};
use crate::http::endpoint::url;
use crate::http::gate::Gate;
use crate::http::server::{Answering, Limits, Pages, Routes, bind, serve};
use crate::site::Site;
use crate::storage::root::Root;

/// Serve the pages of a league: finished, copied, or run by another process
///
/// Files are only read. The page follows a running league; for an interrupted one it shows how to
/// resume it. With -v each visit is printed on standard error.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  league serve SHARED
  league serve /copies/SHARED --port 9000
  league serve --bind 0.0.0.0            for everyone on the network")]
pub(crate) struct ServeArgs {
    #[command(flatten)]
    stored: StoredLeagueArgs,
    /// Port to listen on; 0 for any free port
    #[arg(long, value_name = "N", default_value_t = 8080)]
    port: u16,
    #[command(flatten)]
    listen: ListenArgs,
}

impl ServeArgs {
    pub(crate) fn run(&self, out: &mut impl Write) -> Result<Exit, CommandError> {
        let (root, league) = self.stored.find()?;
        let mut system = configured(&root)?;
        self.listen.settle(&mut system);
        let gate = Gate::new(&system);
        let runtime = runtime()?;
        let answer = runtime.block_on(async {
            let mut signals = Signals::new()?;
            let listener = bind(SocketAddr::new(system.security.bind, self.port)).await;
            let listener = listener.map_err(|error| {
                let hint = "choose another with `--port`, or any with `--port 0`";
                port_error("could not serve the page", self.port, &error, hint)
            })?;
            let port = listener.local_addr().map_or(self.port, |at| at.port());
            let page = page(&url(&system.network.base_host, port));
            let resume = self.stored.resume(&root, &league);
            self.greet(out, &league, &page, resume)?;
            let site = Site::new(root, league, Limits::default().viewers(), true);
            let routes = Routes::behind(gate).with_pages(match self.stored.common.verbose {
                0 => Arc::new(site),
                _ => Arc::new(LoggedSite(site)),
            });
            let end = watch::Sender::new(false);
            let serving = tokio::spawn(serve(listener, routes, Limits::default(), end.subscribe()));
            signals.interrupted().await;
            end.send_replace(true);
            // It ends by itself, within a bound.
            let _ = serving.await;
            Ok(Exit::Yes)
        });
        runtime.shutdown_timeout(Duration::from_millis(100));
        answer
    }

    /// Prints where the page is, and how to resume an interrupted league.
    fn greet(
        &self,
        out: &mut impl Write,
        league: &LeagueId,
        page: &str,
        resume: Option<String>,
    ) -> io::Result<()> {
        let common = &self.stored.common;
        if common.output == Output::Json {
            let greeting =
                json!({"event": "page", "league_id": league, "page": page, "resume": resume});
            return print_object(out, &greeting);
        }
        if common.quiet {
            writeln!(out, "{page}")?;
        } else {
            writeln!(out, "league `{league}` at {page} until Ctrl-C")?;
            if let Some(resume) = resume {
                writeln!(out, "it was interrupted; go on with `{resume}`")?;
            }
        }
        out.flush()
    }
}

/// A site that prints its visits on standard error.
struct LoggedSite(Site);

impl Pages for LoggedSite {
    fn visit(&self, path: &str, headers: HeaderMap) -> Answering<'_> {
        let path = path.to_owned();
        Box::pin(async move {
            let answered = self.0.visit(&path, headers).await;
            // There is nothing left to do if even this cannot be printed.
            let _ = writeln!(io::stderr(), "GET {path} {}", answered.status);
            answered
        })
    }
}

/// The configuration of the league; none is written.
fn configured(root: &Root) -> Result<SystemConfig, CommandError> {
    if !root.system().exists() {
        return Ok(SystemConfig::default());
    }
    let system = ConfigLoader::new(root.clone()).load_system();
    Ok((*system.map_err(bad_config)?).clone())
}
