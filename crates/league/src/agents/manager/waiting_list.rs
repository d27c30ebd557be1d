//! Publishes the matches that wait for a referee, where referees take them from a store. The list is
//! only a hint: the manager decides when one is taken.

use std::collections::BTreeSet;
use std::time::Duration;

use league_core::league::League;
use league_protocol::id::{LeagueId, MatchId};
use tokio::sync::watch;

use crate::agents::actor::Handle;
use crate::agents::assemble::{RestoredMachine, Shared};
use crate::storage::database::{Database, LeaseState};

/// How often the manager is asked what waits; the store hears of it only if it has changed.
const POLL: Duration = Duration::from_millis(100);
/// The most matches that are published at once.
const MAX_PUBLISHED: usize = 2_000;

/// The published list of one league.
pub(super) struct WaitingList {
    database: Database,
    league: LeagueId,
    lease: watch::Receiver<LeaseState>,
}

impl WaitingList {
    /// The list of a league whose referees take their matches from a store.
    pub(super) fn of(shared: &Shared, restored: &RestoredMachine<League>) -> Option<Self> {
        let rules = restored.machine.rules();
        let (store, lease) = shared.store.as_ref().zip(restored.journal.lease())?;
        rules.pool.then(|| Self {
            database: store.database.clone(),
            league: rules.league_id.clone(),
            lease: lease.state(),
        })
    }

    /// Publishes until the manager ends.
    pub(super) async fn run(self, actor: Handle<League>) {
        // Unknown at first, and after an error.
        let mut published: Option<BTreeSet<(MatchId, u32)>> = None;
        loop {
            let waiting = actor.query(|league| {
                let waiting = league.waiting_matches(MAX_PUBLISHED).into_iter();
                waiting
                    .map(|(id, attempt)| (id.clone(), attempt))
                    .collect::<BTreeSet<_>>()
            });
            let Ok(waiting) = waiting.await else { return };
            if published.as_ref() != Some(&waiting) {
                let (database, league) = (self.database.clone(), self.league.clone());
                let epoch = self.lease.borrow().epoch;
                let told = tokio::task::spawn_blocking(move || {
                    let told = database.publish_jobs(&league, epoch, published.as_ref(), &waiting);
                    told.map(|()| waiting)
                });
                // A list that is not told is told with the next look.
                published = told.await.ok().and_then(Result::ok);
            }
            tokio::time::sleep(POLL).await;
        }
    }
}
