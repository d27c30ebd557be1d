//! The right to write a journal: held by one process at a time, renewed while it lives, and fenced
//! by an epoch that grows with each holder.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use league_protocol::id::{LeagueId, RefereeId};
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_postgres::Client;

use super::{Backlink, Database, DatabaseError, Inner, RETRY_PAUSE, signed};
use crate::storage::store::StoreError;

/// How long a lease lasts that is not renewed, in seconds of the server.
const DURATION: f64 = 10.0;
/// How often it is renewed.
const RENEWAL: Duration = Duration::from_secs(3);

/// The name of a journal in the database.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Stream {
    league: LeagueId,
    agent: String,
}

impl Stream {
    /// The agent whose journal decides.
    pub(crate) const MANAGER: &str = "manager";

    pub(super) fn new(league: LeagueId, agent: String) -> Self {
        Self { league, agent }
    }

    pub(crate) fn of_manager(league: &LeagueId) -> Self {
        Self::new(league.clone(), Self::MANAGER.to_owned())
    }

    pub(crate) fn of_referee(league: &LeagueId, referee: &RefereeId) -> Self {
        Self::new(league.clone(), referee.to_string())
    }

    pub(crate) fn league(&self) -> &LeagueId {
        &self.league
    }

    /// The referee, unless it is the journal of the manager.
    pub(crate) fn referee(&self) -> Option<RefereeId> {
        RefereeId::new(&self.agent)
            .ok()
            .filter(|_| !self.is_manager())
    }

    pub(crate) fn is_manager(&self) -> bool {
        self.agent == Self::MANAGER
    }

    /// Its key in the tables.
    pub(super) fn key(&self) -> (String, &str) {
        (self.league.to_string(), &self.agent)
    }
}

/// Who holds a journal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Holder {
    /// Where it answers.
    pub(crate) address: String,
    pub(crate) epoch: u64,
    /// Whether its lease has not run out.
    pub(crate) is_alive: bool,
}

/// What is known of a lease that this process took.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LeaseState {
    /// Fences the writes of earlier holders.
    pub(crate) epoch: u64,
    /// Until when it is held, unless it is renewed.
    pub(crate) until: Instant,
    /// Whether another process took it.
    is_lost: bool,
}

impl LeaseState {
    /// Whether the journal may still be written, as far as this process knows.
    pub(crate) fn is_held(&self) -> bool {
        !self.is_lost && Instant::now() < self.until
    }

    /// The state just after the server renewed it.
    pub(crate) fn renewed(epoch: u64) -> Self {
        Self {
            epoch,
            until: Instant::now() + Duration::from_secs_f64(DURATION),
            is_lost: false,
        }
    }
}

/// A lease, held until it is dropped.
pub(crate) struct Lease {
    database: Database,
    stream: Stream,
    epoch: u64,
    state: watch::Receiver<LeaseState>,
    /// Whether the league is over, as the next renewal tells.
    over: Arc<AtomicBool>,
}

impl Database {
    /// Takes the lease on a journal that has no holder; the agent answers at `address`.
    ///
    /// # Errors
    ///
    /// It is held, or the server does not answer.
    pub(crate) fn take(
        &self,
        stream: &Stream,
        holder: &str,
        address: &str,
    ) -> Result<Lease, DatabaseError> {
        let (own, name, place) = (stream.clone(), holder.to_owned(), address.to_owned());
        let taken = self.wait(|inner| async move {
            inner
                .insist(|client| take(client, &own, &name, &place))
                .await
        })?;
        let Some(epoch) = taken else {
            let holder = self.holder(stream)?;
            return Err(DatabaseError::Held {
                league: stream.league.clone(),
                agent: stream.agent.clone(),
                address: holder.map_or_else(String::new, |holder| holder.address),
            });
        };
        let (tell, state) = watch::channel(LeaseState::renewed(epoch));
        let over = Arc::new(AtomicBool::new(false));
        let renewal = Renewal {
            database: Arc::downgrade(&self.0),
            stream: stream.clone(),
            epoch,
            over: Arc::clone(&over),
        };
        if let Some(runtime) = &self.0.runtime {
            runtime.spawn(renewal.run(tell));
        }
        Ok(Lease {
            database: self.clone(),
            stream: stream.clone(),
            epoch,
            state,
            over,
        })
    }

    /// Notes that the league of a journal is over, so that no other manager takes it.
    pub(crate) fn note_over(&self, stream: &Stream) -> Result<(), DatabaseError> {
        let stream = stream.clone();
        self.wait(|inner| async move {
            let (league, agent) = stream.key();
            let statement = "update league.leases set over = true \
                             where league_id = $1 and agent = $2";
            let client = inner.client().await?;
            client.execute(statement, &[&league, &agent]).await?;
            Ok(())
        })
    }

    /// Who holds a journal, or held it last.
    pub(crate) fn holder(&self, stream: &Stream) -> Result<Option<Holder>, DatabaseError> {
        let stream = stream.clone();
        self.wait(|inner| async move { inner.insist(|client| holder(client, &stream)).await })
    }
}

/// The new epoch, unless another process holds the lease.
async fn take(
    client: Arc<Client>,
    stream: &Stream,
    holder: &str,
    address: &str,
) -> Result<Option<u64>, tokio_postgres::Error> {
    let (league, agent) = stream.key();
    let statement = "insert into league.leases as l \
                         (league_id, agent, holder, address, epoch, until) \
                     values ($1, $2, $3, $4, 1, now() + make_interval(secs => $5)) \
                     on conflict (league_id, agent) do update \
                     set holder = excluded.holder, address = excluded.address, \
                         epoch = l.epoch + 1, until = excluded.until \
                     where l.until < now() or l.holder = excluded.holder returning epoch";
    let row = client
        .query_opt(statement, &[&league, &agent, &holder, &address, &DURATION])
        .await?;
    Ok(row.map(|row| super::number(&row, 0)))
}

async fn holder(
    client: Arc<Client>,
    stream: &Stream,
) -> Result<Option<Holder>, tokio_postgres::Error> {
    let (league, agent) = stream.key();
    let question = "select address, epoch, until > now() from league.leases \
                    where league_id = $1 and agent = $2";
    let row = client.query_opt(question, &[&league, &agent]).await?;
    Ok(row.map(|row| Holder {
        address: row.get(0),
        epoch: super::number(&row, 1),
        is_alive: row.get(2),
    }))
}

/// Renews a lease until it is lost, or the database is closed.
struct Renewal {
    database: Backlink,
    stream: Stream,
    epoch: u64,
    over: Arc<AtomicBool>,
}

impl Renewal {
    async fn run(self, state: watch::Sender<LeaseState>) {
        // The lease is dropped when its agent ends.
        while !state.is_closed() {
            tokio::select! {
                () = tokio::time::sleep(RENEWAL) => {}
                () = state.closed() => return,
            }
            let Some(inner) = self.database.upgrade() else {
                return;
            };
            match self.renew(&inner).await {
                Ok(true) => drop(state.send_replace(LeaseState::renewed(self.epoch))),
                Ok(false) => {
                    state.send_modify(|state| state.is_lost = true);
                    return;
                }
                // The next write waits for the server, and tells.
                Err(_) => tokio::time::sleep(RETRY_PAUSE).await,
            }
        }
    }

    /// Whether the lease is still held. One that ran out is renewed if no other process took it.
    async fn renew(&self, inner: &Arc<Inner>) -> Result<bool, DatabaseError> {
        let (league, agent) = self.stream.key();
        let over = self.over.load(Ordering::Relaxed);
        let statement = "update league.leases \
                         set until = now() + make_interval(secs => $4), over = over or $5 \
                         where league_id = $1 and agent = $2 and epoch = $3";
        let epoch = signed(self.epoch);
        let client = inner.client().await?;
        let renewed = client
            .execute(statement, &[&league, &agent, &epoch, &DURATION, &over])
            .await?;
        Ok(renewed == 1)
    }
}

impl Lease {
    /// Its state, as it changes.
    pub(crate) fn state(&self) -> watch::Receiver<LeaseState> {
        self.state.clone()
    }

    /// Waits until another process took the lease; for ever if none does.
    pub(crate) fn replaced(&self) -> impl Future<Output = DatabaseError> + use<> {
        let (mut state, stream) = (self.state.clone(), self.stream.clone());
        let database = Arc::downgrade(&self.database.0);
        async move {
            if state.wait_for(|state| state.is_lost).await.is_err() {
                return std::future::pending().await;
            }
            let database = database.upgrade().map(Database);
            let holder = database.and_then(|database| database.holder(&stream).ok().flatten());
            DatabaseError::Replaced {
                league: stream.league,
                address: holder.map_or_else(String::new, |holder| holder.address),
            }
        }
    }

    /// Where to note that the league is over, so that no other manager takes it.
    pub(crate) fn over(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.over)
    }

    /// Stores whole lines of a batch, the first of which has this number, in one transaction. Waits
    /// for a server that is away, within a bound.
    ///
    /// # Errors
    ///
    /// Another process took the lease, and nothing was written; or the server refuses.
    pub(crate) fn append(&self, first: u64, batch: &[u8]) -> Result<(), StoreError> {
        let text = String::from_utf8_lossy(batch);
        let lines: Vec<String> = text.lines().map(str::to_owned).collect();
        let write = Write {
            stream: self.stream.clone(),
            epoch: self.epoch,
            first,
            lines,
        };
        Ok(self
            .database
            .wait(|inner| async move { write.run(&inner).await })?)
    }
}

impl Drop for Lease {
    /// Gives the lease back, so that the next holder need not wait until it runs out.
    fn drop(&mut self) {
        let (stream, epoch) = (self.stream.clone(), signed(self.epoch));
        let over = self.over.load(Ordering::Relaxed);
        // Without the server the lease runs out. The process that ends must not wait for it.
        let _ = self.database.wait(|inner| async move {
            let (league, agent) = stream.key();
            let statement = "update league.leases set until = now(), over = over or $4 \
                             where league_id = $1 and agent = $2 and epoch = $3";
            let given_back = async {
                let client = inner.client().await?;
                let parameters: [&(dyn tokio_postgres::types::ToSql + Sync); 4] =
                    [&league, &agent, &epoch, &over];
                Ok::<_, DatabaseError>(client.execute(statement, &parameters).await?)
            };
            let _ = tokio::time::timeout(RENEWAL, given_back).await;
            Ok(())
        });
    }
}

/// Lines to be stored.
struct Write {
    stream: Stream,
    epoch: u64,
    first: u64,
    lines: Vec<String>,
}

impl Write {
    async fn run(self, inner: &Arc<Inner>) -> Result<(), DatabaseError> {
        let written = inner.insist(|client| self.insert(client)).await;
        if written.is_ok() {
            inner.notify(self.stream.league());
        }
        match written {
            Ok(written) if written == self.lines.len() as u64 => Ok(()),
            // An earlier try may have succeeded without an answer.
            Ok(_) if self.is_stored(inner).await? => Ok(()),
            Err(error) if error.is_duplicate() && self.is_stored(inner).await? => Ok(()),
            Err(error) if !error.is_duplicate() => Err(error),
            _ => Err(self.replaced(inner).await),
        }
    }

    /// Inserts the lines if the epoch is the one of the lease; a new holder waits until it is done.
    async fn insert(&self, client: Arc<Client>) -> Result<u64, tokio_postgres::Error> {
        let statement = "with lease as ( \
                             select 1 from league.leases \
                             where league_id = $1 and agent = $2 and epoch = $3 for share) \
                         insert into league.events (league_id, agent, sequence, line) \
                         select $1, $2, $4 + n - 1, l \
                         from unnest($5::text[]) with ordinality as t(l, n), lease";
        let (league, agent) = self.stream.key();
        let (epoch, first) = (signed(self.epoch), signed(self.first));
        let parameters: [&(dyn tokio_postgres::types::ToSql + Sync); 5] =
            [&league, &agent, &epoch, &first, &self.lines];
        client.execute(statement, &parameters).await
    }

    /// Whether exactly these lines are stored.
    async fn is_stored(&self, inner: &Arc<Inner>) -> Result<bool, DatabaseError> {
        let last = self.first + self.lines.len() as u64 - 1;
        let (first, last) = (signed(self.first), signed(last));
        let stored = inner
            .insist(|client| async move {
                let question = "select line from league.events where league_id = $1 \
                                and agent = $2 and sequence between $3 and $4 order by sequence";
                let (league, agent) = self.stream.key();
                client
                    .query(question, &[&league, &agent, &first, &last])
                    .await
            })
            .await?;
        let stored = stored.iter().map(|row| row.get::<_, &str>(0));
        Ok(stored.eq(self.lines.iter().map(String::as_str)))
    }

    async fn replaced(&self, inner: &Arc<Inner>) -> DatabaseError {
        let known = inner.insist(|client| holder(client, &self.stream)).await;
        let address = known.ok().flatten().map(|holder| holder.address);
        DatabaseError::Replaced {
            league: self.stream.league.clone(),
            address: address.unwrap_or_default(),
        }
    }
}
