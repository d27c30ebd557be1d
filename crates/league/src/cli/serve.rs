//! `league serve`: the pages of a stored league, running, finished or copied.

use std::io::{self, Write};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use clap::Args;
use hyper::header::HeaderMap;
use league_mcp::RequestHead;
use league_protocol::id::LeagueId;
use serde_json::json;
use tokio::sync::watch;

use crate::cli::agent::page;
use crate::cli::arguments::{existing_config, league_id, port};
use crate::cli::failure::{CommandError, port_error};
use crate::cli::follow::FollowedLeague;
use crate::cli::network::{ListenArgs, load_tls};
use crate::cli::runtime::{Signals, runtime};
use crate::cli::screen;
use crate::cli::stored::StoredArgs;
use crate::cli::text::print_object;
use crate::cli::{Exit, Output};
use crate::http::server::{Gate, Limits, Pages, ResponseFuture, Routes, serve};
use crate::http::transport::Listener;
use crate::site::Site;

const WHAT: &str = "could not serve the page";

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
    /// Port to listen on; 0 for any free port
    #[arg(long, value_name = "N", default_value_t = 8080, value_parser = port)]
    port: u16,
    /// The league [default: the one played last]
    #[arg(long, value_name = "ID", value_parser = league_id)]
    league_id: Option<LeagueId>,
    #[command(flatten)]
    stored: StoredArgs,
    #[command(flatten)]
    listen: ListenArgs,
}

impl ServeArgs {
    pub(crate) fn run(&self, out: &mut impl Write) -> Result<Exit, CommandError> {
        let (root, league) = self.stored.find(self.league_id.as_ref())?;
        let mut system = existing_config(&root)?;
        self.listen.settle(&mut system);
        let tls = load_tls(&root, &system, WHAT, |warning| {
            if !self.stored.common.quiet {
                // There is nothing left to do if even this cannot be printed.
                let _ = writeln!(screen::errors(), "warning: {warning}");
            }
        })?;
        let trust = self.stored.trust.load(&root, WHAT)?;
        let gate = Gate::new(&system, tls.server.clone());
        let runtime = runtime()?;
        let answer = runtime.block_on(async {
            let mut signals = Signals::new()?;
            let address = SocketAddr::new(system.security.bind, self.port);
            let listener = Listener::bind(address, tls.server).await;
            let listener = listener.map_err(|error| {
                let hint = "choose another with `--port`, or any with `--port 0`";
                port_error(WHAT, self.port, &error, hint)
            })?;
            let page = page(&listener.url(&system.network.base_host));
            let resume = self.stored.resume(&root, &league);
            self.greet(out, &league, &page, resume)?;
            if let Some(database) = self.stored.store.open(&system, &trust)? {
                let (root, league) = (root.clone(), league.clone());
                tokio::spawn(
                    FollowedLeague {
                        database,
                        root,
                        league,
                    }
                    .run(),
                );
            }
            let site = Site::new(root, league, Limits::default().viewers(), true, None);
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
                writeln!(out, "it was interrupted; continue with `{resume}`")?;
            }
        }
        out.flush()
    }
}

/// A site that prints its visits on standard error.
struct LoggedSite(Site);

impl Pages for LoggedSite {
    fn get(&self, path: &str, headers: HeaderMap) -> ResponseFuture<'_> {
        let path = path.to_owned();
        Box::pin(async move {
            let answered = self.0.get(&path, headers).await;
            // There is nothing left to do if even this cannot be printed.
            let _ = writeln!(screen::errors(), "GET {path} {}", answered.status);
            answered
        })
    }

    fn takes(&self, path: &str) -> bool {
        self.0.takes(path)
    }

    fn post(&self, path: &str, head: RequestHead, body: Bytes) -> ResponseFuture<'_> {
        self.0.post(path, head, body)
    }
}
