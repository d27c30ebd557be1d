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
use crate::cli::network::{ListenArgs, load_tls};
use crate::cli::runtime::{Signals, runtime};
use crate::cli::screen;
use crate::cli::stored::StoredArgs;
use crate::cli::text::print_object;
use crate::cli::{Exit, Output};
use crate::http::server::{Gate, Limits, Pages, ResponseFuture, Routes, serve};
use crate::http::transport::Listener;
use crate::site::Site;
use crate::storage::database::{Database, Stream};
use crate::storage::league_store::fill;
use crate::storage::record::is_over;
use crate::storage::replay::rebuild;
use crate::storage::root::Root;
use crate::storage::store::{Mirror, StoreError};

const WHAT: &str = "could not serve the page";
/// The wait after an error before the database is asked again.
const PAUSE: Duration = Duration::from_secs(2);
/// How often the database is asked without a notice: the last one of a writer that ends may be lost.
const POLL: Duration = Duration::from_secs(10);

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
                let followed = FollowedLeague {
                    database,
                    root,
                    league,
                };
                tokio::spawn(followed.run());
            }
            let site = Site::new(root, league, Limits::default().viewers(), None);
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

/// Keeps the folder where the database is, while the league is played elsewhere.
struct FollowedLeague {
    database: Database,
    root: Root,
    league: LeagueId,
}

/// The copy of a league's journal, opened once.
struct FollowedCopy {
    place: FollowedLeague,
    mirror: Option<Mirror>,
}

impl FollowedLeague {
    /// Copies new lines until the league is over; then also the journals of its referees, and what is
    /// made from them.
    async fn run(self) {
        let mut changed = self.database.follow(&self.league);
        let mut copy = FollowedCopy {
            place: self,
            mirror: None,
        };
        loop {
            let pulled = tokio::task::spawn_blocking(move || {
                let pulled = copy.pull();
                (copy, pulled)
            });
            let Ok((kept, pulled)) = pulled.await else {
                return;
            };
            copy = kept;
            let wait = match pulled {
                Ok(true) => return,
                Ok(false) => POLL,
                Err(error) => {
                    tracing::warn!(event_type = "LEAGUE_NOT_FOLLOWED", "{error}");
                    // What was written last is not known.
                    copy.mirror = None;
                    tokio::time::sleep(PAUSE).await;
                    continue;
                }
            };
            if let Ok(Err(_)) = tokio::time::timeout(wait, changed.changed()).await {
                return;
            }
        }
    }
}

impl FollowedCopy {
    /// Copies new lines; returns whether the league is over and all of it is here.
    fn pull(&mut self) -> Result<bool, StoreError> {
        let FollowedLeague {
            database,
            root,
            league,
        } = &self.place;
        let journal = root.league_journal(league);
        if self.mirror.is_none() {
            self.mirror = match Mirror::open(database, &Stream::of_manager(league), &journal) {
                Ok(mirror) => Some(mirror),
                // An agent on this machine writes the copy.
                Err(StoreError::Held { .. }) => return Ok(false),
                Err(error) => return Err(error),
            };
        }
        if let Some(mirror) = &mut self.mirror {
            mirror.pull()?;
        }
        if !is_over(&journal) {
            return Ok(false);
        }
        self.mirror = None;
        fill(database, root, Some(league))?;
        // Pages show what there is without these files.
        if let Err(error) = rebuild(root, league) {
            tracing::warn!(event_type = "LEAGUE_NOT_REBUILT", "{error}");
        }
        Ok(true)
    }
}
