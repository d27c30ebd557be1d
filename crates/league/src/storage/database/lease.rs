//! The right to write a journal: held by one process at a time, renewed while it lives, and fenced
//! by an epoch that grows with each holder.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use league_protocol::id::{LeagueId, RefereeId};
use tokio::sync::watch;
use tokio::task::AbortHandle;
use tokio::time::Instant;

use super::connection::{Link, Value};
use super::{Backlink, Database, DatabaseError, Inner, RETRY_PAUSE, signed};
use crate::storage::store::{Head, StoreError};

/// How long a lease lasts that is not renewed, in seconds of the server.
const DURATION: f64 = 10.0;
/// How often it is renewed.
const RENEWAL: Duration = Duration::from_secs(3);
/// How long an agent that ends waits until its lease is given back.
const RELEASE_TIMEOUT: Duration = Duration::from_secs(1);
/// The row of a lease that is still held by whom it was given to. After a fail-over that forgot it,
/// another holder may have the same epoch.
pub(super) const HELD: &str = "league_id = $1 and agent = $2 and epoch = $3 and holder = $4";

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

    /// The state of a lease that the server is asked for now, once it has given it.
    pub(crate) fn renewed(epoch: u64) -> Self {
        Self {
            epoch,
            until: Instant::now() + Duration::from_secs_f64(DURATION),
            is_lost: false,
        }
    }
}

/// What a statement names of a lease.
#[derive(Clone)]
pub(super) struct Tenure {
    stream: Stream,
    league: String,
    holder: String,
    epoch: i64,
}

/// A lease, held until it is dropped.
pub(crate) struct Lease {
    pub(super) database: Database,
    pub(super) tenure: Tenure,
    state: watch::Receiver<LeaseState>,
    renewal: AbortHandle,
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
        let asked = LeaseState::renewed(0);
        let taken = self.wait(|inner| async move {
            let take = |client| take(client, &own, &name, &place);
            inner.insist(take).await
        })?;
        let Some(epoch) = taken else {
            let holder = self.holder(stream)?;
            return Err(DatabaseError::Held {
                league: stream.league.clone(),
                agent: stream.agent.clone(),
                address: holder.map_or_else(String::new, |holder| holder.address),
            });
        };
        let tenure = Tenure {
            stream: stream.clone(),
            league: stream.league.to_string(),
            holder: holder.to_owned(),
            epoch: signed(epoch),
        };
        let (tell, state) = watch::channel(LeaseState { epoch, ..asked });
        let over = Arc::new(AtomicBool::new(false));
        let renewal = Renewal {
            database: Arc::downgrade(&self.0),
            tenure: tenure.clone(),
            over: Arc::clone(&over),
        };
        let runtime = self.0.runtime.as_ref().ok_or(DatabaseError::Closed)?;
        let renewal = runtime.spawn(renewal.run(tell));
        Ok(Lease {
            database: self.clone(),
            tenure,
            state,
            renewal: renewal.abort_handle(),
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
    client: Arc<Link>,
    stream: &Stream,
    holder: &str,
    address: &str,
) -> Result<Option<u64>, DatabaseError> {
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

async fn holder(client: Arc<Link>, stream: &Stream) -> Result<Option<Holder>, DatabaseError> {
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

impl Tenure {
    /// The values of [`HELD`], then those of the statement.
    pub(super) fn with<'v>(&'v self, more: &[Value<'v>]) -> Vec<Value<'v>> {
        let own: [Value<'v>; 4] = [&self.league, &self.stream.agent, &self.epoch, &self.holder];
        [&own[..], more].concat()
    }

    /// Whether the lease is still held. The answer comes when all synchronous standbys have what was
    /// committed before: PostgreSQL takes a commit for done whose server stopped while it waited for
    /// them.
    async fn is_held(&self, client: Arc<Link>) -> Result<bool, DatabaseError> {
        let statement = format!("update league.leases set until = until where {HELD}");
        Ok(client.execute(&statement, &self.with(&[])).await? == 1)
    }

    /// The error for a lease that another process has.
    pub(super) async fn replaced(&self, inner: &Arc<Inner>) -> DatabaseError {
        let known = inner.insist(|client| holder(client, &self.stream)).await;
        let address = known.ok().flatten().map(|holder| holder.address);
        DatabaseError::Replaced {
            league: self.stream.league.clone(),
            address: address.unwrap_or_default(),
        }
    }
}

/// Renews a lease until it is lost, or the database is closed.
struct Renewal {
    database: Backlink,
    tenure: Tenure,
    over: Arc<AtomicBool>,
}

impl Renewal {
    async fn run(self, state: watch::Sender<LeaseState>) {
        loop {
            tokio::time::sleep(RENEWAL).await;
            let Some(inner) = self.database.upgrade() else {
                return;
            };
            let renewed = LeaseState::renewed(state.borrow().epoch);
            match self.renew(&inner).await {
                Ok(true) => drop(state.send_replace(renewed)),
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
        let over = self.over.load(Ordering::Relaxed);
        let statement = format!(
            "update league.leases set until = now() + make_interval(secs => $5), \
             over = over or $6 where {HELD}"
        );
        let values = self.tenure.with(&[&DURATION, &over]);
        let client = inner.client().await?;
        Ok(client.execute(&statement, &values).await? == 1)
    }
}

impl Lease {
    /// Its state, as it changes.
    pub(crate) fn state(&self) -> watch::Receiver<LeaseState> {
        self.state.clone()
    }

    pub(crate) fn stream(&self) -> &Stream {
        &self.tenure.stream
    }

    /// Waits until another process took the lease; `None` if it is given back before.
    pub(crate) fn replaced(&self) -> impl Future<Output = Option<DatabaseError>> + use<> {
        let (mut state, tenure) = (self.state.clone(), self.tenure.clone());
        let database = Arc::downgrade(&self.database.0);
        async move {
            state.wait_for(|state| state.is_lost).await.ok()?;
            let inner = database.upgrade()?;
            let asked = Arc::clone(&inner);
            let runtime = inner.runtime.as_ref()?;
            let replaced = runtime.spawn(async move { tenure.replaced(&asked).await });
            replaced.await.ok()
        }
    }

    /// Where to note that the league is over, so that no other manager takes it.
    pub(crate) fn over(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.over)
    }

    /// Stores whole lines of a batch that follow this line, in one transaction. Waits for a server
    /// that is away, within a bound.
    ///
    /// # Errors
    ///
    /// Another process took the lease, or the line before is not there, and nothing was written; or
    /// the server refuses.
    pub(crate) fn append(&self, before: &Head, batch: &[u8]) -> Result<(), StoreError> {
        let text = String::from_utf8_lossy(batch);
        let lines: Vec<String> = text.lines().map(str::to_owned).collect();
        let write = Write {
            tenure: self.tenure.clone(),
            before: *before,
            bytes: batch.len() as u64,
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
        self.renewal.abort();
        let (tenure, over) = (self.tenure.clone(), self.over.load(Ordering::Relaxed));
        let released = self.database.begin(|inner| async move {
            let statement =
                format!("update league.leases set until = now(), over = over or $5 where {HELD}");
            let client = inner.client().await?;
            client.execute(&statement, &tenure.with(&[&over])).await
        });
        // Without the server the lease runs out.
        let _ = released.map(|released| released.recv_timeout(RELEASE_TIMEOUT));
    }
}

/// Lines to be stored.
struct Write {
    tenure: Tenure,
    /// The line that they follow.
    before: Head,
    bytes: u64,
    lines: Vec<String>,
}

impl Write {
    async fn run(self, inner: &Arc<Inner>) -> Result<(), DatabaseError> {
        let written = inner.insist(|client| self.insert(client)).await;
        let is_new = match &written {
            Ok(written) => *written == self.lines.len() as u64,
            Err(error) if error.is_duplicate() => false,
            Err(_) => return written.map(drop),
        };
        if !is_new {
            // An earlier try may have succeeded without an answer.
            let is_stored = self.is_stored(inner).await?;
            if !inner.insist(|client| self.tenure.is_held(client)).await? {
                return Err(self.tenure.replaced(inner).await);
            }
            if !is_stored {
                let line = self.before.sequence + u64::from(written.is_err());
                let league = self.tenure.stream.league.clone();
                return Err(DatabaseError::Lost { league, line });
            }
        }
        inner.notify(self.tenure.stream.league());
        Ok(())
    }

    /// Inserts the lines if the lease is held and the line before is there; a new holder waits until
    /// it is done.
    async fn insert(&self, client: Arc<Link>) -> Result<u64, DatabaseError> {
        let statement = format!(
            "with lease as (select 1 from league.leases where {HELD} for share), \
            before as ( \
                select 1 from lease where $5::bigint = 0 or exists ( \
                    select 1 from league.events \
                    where league_id = $1 and agent = $2 and sequence = $5 \
                    and sha256(convert_to(line, 'UTF8')) = $6)) \
            insert into league.events (league_id, agent, sequence, line) \
            select $1, $2, $5 + n, l \
            from unnest($7::text[]) with ordinality as t(l, n), before"
        );
        let (before, hash) = (signed(self.before.sequence), &self.before.hash[..]);
        client.allow(self.bytes);
        let values = self.tenure.with(&[&before, &hash, &self.lines]);
        client.execute(&statement, &values).await
    }

    /// Whether exactly these lines are stored.
    async fn is_stored(&self, inner: &Arc<Inner>) -> Result<bool, DatabaseError> {
        let before = self.before.sequence;
        let (before, last) = (signed(before), signed(before + self.lines.len() as u64));
        let stored = inner
            .insist(|client| async move {
                let question = "select line from league.events where league_id = $1 \
                                and agent = $2 and sequence > $3 and sequence <= $4 \
                                order by sequence";
                client.allow(self.bytes);
                let (league, agent) = self.tenure.stream.key();
                let values: [Value<'_>; 4] = [&league, &agent, &before, &last];
                client.query(question, &values).await
            })
            .await?;
        let stored = stored.iter().map(|row| row.get::<_, &str>(0));
        Ok(stored.eq(self.lines.iter().map(String::as_str)))
    }
}
