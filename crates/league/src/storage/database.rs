//! Leagues in PostgreSQL: the lines of their journals, the leases on them, and their secrets.
//!
//! A write names the epoch of its lease in the same statement, so a holder that was replaced writes
//! nothing. All time is the time of the server. The connection lives on a thread of its own: agents
//! write to it as they write to a file, and a slow agent does not let its lease run out.

mod connection;
mod error;
mod feed;
mod lease;
mod secrets;

use std::fmt;
use std::future::Future;
use std::sync::mpsc::{Receiver, sync_channel};
use std::sync::{Arc, Weak};
use std::time::Duration;

use league_protocol::id::LeagueId;
use tokio::runtime::Runtime;
use tokio::sync::Mutex;
use tokio::time::Instant;
use tokio_postgres::config::Host;
use tokio_postgres::{Config, Row};
use tokio_postgres_rustls::MakeRustlsConnect;

use connection::{Link, Value};
pub(crate) use error::DatabaseError;
pub(crate) use lease::{Lease, LeaseState, Stream};

use crate::http::tls::Trust;

/// The version of the tables that this program reads and writes.
const VERSION: i32 = 1;
/// Identifies migrations among the advisory locks of a database.
const MIGRATION_LOCK: i64 = 0x6c65_6167_7565;
/// How long the server is waited for when it is away; then the agent stops, and a later start
/// goes on.
const MAX_AWAY: Duration = Duration::from_secs(300);
/// The wait between two tries.
const RETRY_PAUSE: Duration = Duration::from_millis(250);
/// The port of PostgreSQL, which people leave out.
const USUAL_PORT: u16 = 5432;
/// How many lines are read at once.
const PAGE: i64 = 5_000;
/// From how many bytes on a page ends before that.
const MAX_PAGE_BYTES: i64 = 16 << 20;

/// A database that holds leagues; clones share one connection.
#[derive(Clone)]
pub(crate) struct Database(Arc<Inner>);

struct Inner {
    /// The settings for each host of the address.
    hosts: Vec<Config>,
    tls: MakeRustlsConnect,
    /// The address as people may read it, without its password.
    name: String,
    link: Mutex<Option<Arc<Link>>>,
    notices: feed::Notices,
    runtime: Option<Runtime>,
}

impl fmt::Debug for Database {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Database").field(&self.0.name).finish()
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// A journal in the database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StoredStream {
    pub(crate) stream: Stream,
    /// Its last line.
    pub(crate) last: u64,
}

/// A league in the database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StoredLeague {
    pub(crate) league: LeagueId,
    /// Whether it has been played to its end.
    pub(crate) over: bool,
    /// Whether a manager holds it.
    pub(crate) is_held: bool,
    pub(crate) epoch: u64,
    /// The address of the manager that holds it, or held it last.
    pub(crate) address: String,
}

impl Database {
    /// Reads the address of a database, and connects to it.
    ///
    /// # Errors
    ///
    /// The address is not one of PostgreSQL, the server does not answer, or its tables are of
    /// another version.
    pub(crate) fn open(url: &str, trust: &Trust) -> Result<Self, DatabaseError> {
        let database = Self::connect(url, trust)?;
        database.check()?;
        Ok(database)
    }

    /// Checks the version of the tables.
    ///
    /// # Errors
    ///
    /// It is another one, or the server does not answer.
    pub(crate) fn check(&self) -> Result<(), DatabaseError> {
        match self.version()? {
            VERSION => Ok(()),
            found => Err(DatabaseError::Version { found }),
        }
    }

    /// Connects to a database whose tables may be missing.
    ///
    /// # Errors
    ///
    /// The address is not one of PostgreSQL, or the server does not answer.
    pub(crate) fn connect(url: &str, trust: &Trust) -> Result<Self, DatabaseError> {
        let config: Config = url.parse().map_err(DatabaseError::Address)?;
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("database")
            .enable_all()
            .build()
            .map_err(DatabaseError::Thread)?;
        let database = Self(Arc::new(Inner {
            name: name_of(&config),
            hosts: connection::hosts(&config),
            tls: MakeRustlsConnect::new(trust.client_config().map_err(DatabaseError::Tls)?),
            link: Mutex::new(None),
            notices: feed::Notices::default(),
            runtime: Some(runtime),
        }));
        database.wait(|inner| async move { inner.client().await.map(drop) })?;
        Ok(database)
    }

    /// Its address without the password.
    pub(crate) fn name(&self) -> &str {
        &self.0.name
    }

    /// Runs a question on the thread of the database, and waits for the answer.
    fn wait<T, Asked>(&self, question: impl FnOnce(Arc<Inner>) -> Asked) -> Result<T, DatabaseError>
    where
        T: Send + 'static,
        Asked: Future<Output = Result<T, DatabaseError>> + Send + 'static,
    {
        let answer = self.begin(question)?.recv();
        answer.map_err(|_| DatabaseError::Closed)?
    }

    /// Begins a question on the thread of the database; the answer comes to the receiver.
    fn begin<T, Asked>(
        &self,
        question: impl FnOnce(Arc<Inner>) -> Asked,
    ) -> Result<Receiver<Result<T, DatabaseError>>, DatabaseError>
    where
        T: Send + 'static,
        Asked: Future<Output = Result<T, DatabaseError>> + Send + 'static,
    {
        let (answer, answered) = sync_channel(1);
        let asked = question(Arc::clone(&self.0));
        let runtime = self.0.runtime.as_ref().ok_or(DatabaseError::Closed)?;
        runtime.spawn(async move {
            // The caller may have given up.
            let _ = answer.send(asked.await);
        });
        Ok(answered)
    }

    /// The version of its tables; 0 if there are none.
    fn version(&self) -> Result<i32, DatabaseError> {
        self.wait(|inner| async move {
            let client = inner.client().await?;
            let known = "select to_regclass('league.schema_version') is not null";
            let known = client.query_opt(known, &[]).await?;
            if !known.is_some_and(|known| known.get(0)) {
                return Ok(0);
            }
            let version = "select version from league.schema_version";
            let version = client.query_opt(version, &[]).await?;
            Ok(version.map_or(0, |version| version.get(0)))
        })
    }

    /// Makes the tables, or brings them to the version of this program; gives the versions before
    /// and after.
    ///
    /// # Errors
    ///
    /// The tables are newer than the program, or the server refuses.
    pub(crate) fn migrate(&self) -> Result<(i32, i32), DatabaseError> {
        let before = self.version()?;
        if before > VERSION {
            return Err(DatabaseError::Version { found: before });
        }
        if before < VERSION {
            let script = format!(
                "begin; select pg_advisory_xact_lock({MIGRATION_LOCK}); {} commit;",
                include_str!("database/schema.sql")
            );
            self.wait(|inner| async move { inner.client().await?.batch_execute(&script).await })?;
        }
        Ok((before, VERSION))
    }

    /// All journals of a league, or of all leagues.
    pub(crate) fn streams(
        &self,
        league: Option<&LeagueId>,
    ) -> Result<Vec<StoredStream>, DatabaseError> {
        let league = league.map(ToString::to_string);
        let rows = self.wait(|inner| async move {
            let question = "select league_id, agent, max(sequence) from league.events \
                            where $1::text is null or league_id = $1 group by 1, 2 order by 1, 2";
            inner.client().await?.query(question, &[&league]).await
        })?;
        let streams = rows.iter().map(|row| {
            Some(StoredStream {
                stream: Stream::new(LeagueId::new(row.get::<_, &str>(0)).ok()?, row.get(1)),
                last: number(row, 2),
            })
        });
        Ok(streams.flatten().collect())
    }

    /// The leagues that are not over or have a manager; all others too if `finished`.
    pub(crate) fn leagues(&self, finished: bool) -> Result<Vec<StoredLeague>, DatabaseError> {
        let rows = self.wait(|inner| async move {
            let question = "select league_id, over, until > now(), epoch, address \
                            from league.leases where agent = $1 \
                            and ($2 or not over or until > now()) order by 1";
            let asked: [Value<'_>; 2] = [&Stream::MANAGER, &finished];
            inner.client().await?.query(question, &asked).await
        })?;
        let leagues = rows.iter().map(|row| {
            Some(StoredLeague {
                league: LeagueId::new(row.get::<_, &str>(0)).ok()?,
                over: row.get(1),
                is_held: row.get(2),
                epoch: number(row, 3),
                address: row.get(4),
            })
        });
        Ok(leagues.flatten().collect())
    }

    /// The lines of a journal after this one, at most a page of them, without their newlines.
    pub(crate) fn lines_after(
        &self,
        stream: &Stream,
        last: u64,
    ) -> Result<Vec<String>, DatabaseError> {
        let (stream, last) = (stream.clone(), signed(last));
        let rows = self.wait(|inner| async move {
            let question = "select line from ( \
                    select sequence, line, \
                        sum(octet_length(line)) over (order by sequence) - octet_length(line) \
                        as before \
                    from ( \
                        select sequence, line from league.events \
                        where league_id = $1 and agent = $2 and sequence > $3 \
                        order by sequence limit $4) as next) as page \
                where before < $5 order by sequence";
            let (league, agent) = stream.key();
            let values: [connection::Value<'_>; 5] =
                [&league, &agent, &last, &PAGE, &MAX_PAGE_BYTES];
            inner.client().await?.query(question, &values).await
        })?;
        Ok(rows.iter().map(|row| row.get(0)).collect())
    }

    /// One line of a journal, without its newline.
    pub(crate) fn line(
        &self,
        stream: &Stream,
        number: u64,
    ) -> Result<Option<String>, DatabaseError> {
        let (stream, number) = (stream.clone(), signed(number));
        let row = self.wait(|inner| async move {
            let question = "select line from league.events \
                            where league_id = $1 and agent = $2 and sequence = $3";
            let (league, agent) = stream.key();
            let client = inner.client().await?;
            client
                .query_opt(question, &[&league, &agent, &number])
                .await
        })?;
        Ok(row.map(|row| row.get(0)))
    }
}

impl Inner {
    /// The connection; one that was lost or given up is replaced.
    async fn client(&self) -> Result<Arc<Link>, DatabaseError> {
        let mut kept = self.link.lock().await;
        if let Some(link) = kept.as_ref().filter(|link| !link.is_closed()) {
            return Ok(Arc::clone(link));
        }
        let link = Arc::new(Link::serve(self.connect().await?));
        *kept = Some(Arc::clone(&link));
        Ok(link)
    }

    /// Makes a connection.
    async fn connect(&self) -> Result<connection::Connected, DatabaseError> {
        connection::connect(&self.hosts, &self.tls).await
    }

    /// Asks until the server answers, or is away for too long. The question may be asked twice.
    async fn insist<T, Asked>(
        self: &Arc<Self>,
        question: impl Fn(Arc<Link>) -> Asked,
    ) -> Result<T, DatabaseError>
    where
        Asked: Future<Output = Result<T, DatabaseError>>,
    {
        let mut away: Option<Instant> = None;
        loop {
            let asked = match self.client().await {
                Ok(client) => question(client).await,
                Err(error) => Err(error),
            };
            let error = match asked {
                Ok(answer) => {
                    if away.is_some() {
                        tracing::warn!(
                            event_type = "DATABASE_BACK",
                            "`{}` answers again",
                            self.name
                        );
                    }
                    return Ok(answer);
                }
                Err(error) if !error.is_passing() => return Err(error),
                Err(error) => error,
            };
            let since = *away.get_or_insert_with(|| {
                tracing::warn!(
                    event_type = "DATABASE_AWAY",
                    "`{}` does not take what is written, which is tried again: {error}",
                    self.name
                );
                Instant::now()
            });
            if since.elapsed() > MAX_AWAY {
                return Err(error);
            }
            tokio::time::sleep(RETRY_PAUSE).await;
        }
    }
}

/// Keeps a task from keeping the database open.
type Backlink = Weak<Inner>;

/// The address without what is secret in it.
fn name_of(config: &Config) -> String {
    let ports = config.get_ports();
    let port = |place: usize| ports.get(place).or(ports.first()).copied();
    let hosts = config.get_hosts().iter().enumerate();
    let hosts = hosts.map(|(place, host)| match (host, port(place)) {
        (Host::Tcp(host), Some(port)) if port != USUAL_PORT => format!("{host}:{port}"),
        (Host::Tcp(host), _) => host.clone(),
        (Host::Unix(path), _) => path.display().to_string(),
    });
    let hosts = hosts.collect::<Vec<_>>().join(",");
    let name = config
        .get_dbname()
        .or(config.get_user())
        .unwrap_or_default();
    format!("postgres://{hosts}/{name}")
}

/// A number of a row, which is not negative.
fn number(row: &Row, column: usize) -> u64 {
    u64::try_from(row.get::<_, i64>(column)).unwrap_or(0)
}

/// The number as the database has it.
fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
