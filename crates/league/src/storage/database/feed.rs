//! Tells processes that follow leagues that there are new lines. A notice says only where to look; it
//! is sent beside the writes, a bounded number of times a second.

use std::collections::BTreeSet;
use std::future::poll_fn;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use league_protocol::id::LeagueId;
use tokio::sync::watch;
use tokio_postgres::AsyncMessage;

use super::{Database, DatabaseError, Inner};

/// The channel of the notices.
const CHANNEL: &str = "league_events";
/// The least time between two notices of a process; one names all leagues that changed.
const NOTICE_PAUSE: Duration = Duration::from_millis(100);
/// How often a follower looks while it cannot hear notices.
const POLL: Duration = Duration::from_secs(1);

/// The leagues that changed since the last notice.
#[derive(Default)]
pub(super) struct Notices(Mutex<BTreeSet<LeagueId>>);

impl Notices {
    /// Notes a change; returns whether a notice has to be begun.
    fn add(&self, league: &LeagueId) -> bool {
        let mut changed = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_first = changed.is_empty();
        changed.insert(league.clone());
        is_first
    }

    fn take(&self) -> Vec<String> {
        let mut changed = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let taken = std::mem::take(&mut *changed);
        taken.iter().map(ToString::to_string).collect()
    }
}

impl Inner {
    /// Tells followers soon that a league has new lines. A notice that is lost is made up for by the
    /// next one.
    pub(super) fn notify(self: &Arc<Self>, league: &LeagueId) {
        if !self.notices.add(league) {
            return;
        }
        let inner = Arc::clone(self);
        tokio::spawn(async move {
            tokio::time::sleep(NOTICE_PAUSE).await;
            let changed = inner.notices.take();
            let notice = "select pg_notify($1, league) from unnest($2::text[]) as t(league)";
            if let Ok(client) = inner.client().await {
                // A follower that hears nothing looks by itself.
                let _ = client.execute(notice, &[&CHANNEL, &changed]).await;
            }
        });
    }

    /// Counts the notices about a league up, until the connection ends.
    async fn hear(
        &self,
        league: &LeagueId,
        changed: &watch::Sender<u64>,
    ) -> Result<(), DatabaseError> {
        let (client, mut connection) = self.connect().await?;
        let listen = format!("listen {CHANNEL}");
        let mut begun = std::pin::pin!(client.batch_execute(&listen));
        let mut is_listening = false;
        loop {
            let message = tokio::select! {
                begun = begun.as_mut(), if !is_listening => {
                    begun?;
                    is_listening = true;
                    // What came before is looked for.
                    changed.send_modify(|count| *count += 1);
                    continue;
                }
                () = changed.closed() => return Ok(()),
                message = poll_fn(|context| connection.poll_message(context)) => message,
            };
            match message {
                None => return Ok(()),
                Some(Err(error)) => return Err(error.into()),
                Some(Ok(AsyncMessage::Notification(notice)))
                    if notice.payload() == league.as_str() =>
                {
                    changed.send_modify(|count| *count += 1);
                }
                Some(Ok(_)) => {}
            }
        }
    }
}

impl Database {
    /// Tells when a league has new lines, by notices, else once a second; until the receiver is
    /// dropped.
    pub(crate) fn follow(&self, league: &LeagueId) -> watch::Receiver<u64> {
        let (changed, receiver) = watch::channel(0);
        let (inner, league) = (Arc::downgrade(&self.0), league.clone());
        if let Some(runtime) = &self.0.runtime {
            runtime.spawn(follow(inner, league, changed));
        }
        receiver
    }
}

async fn follow(inner: Weak<Inner>, league: LeagueId, changed: watch::Sender<u64>) {
    while !changed.is_closed() {
        let Some(inner) = inner.upgrade() else { return };
        // An error is told by the next look at the lines.
        let _ = inner.hear(&league, &changed).await;
        drop(inner);
        changed.send_modify(|count| *count += 1);
        tokio::time::sleep(POLL).await;
    }
}
