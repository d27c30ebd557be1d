//! Keeps the folder of `league serve` where the database is, while the league is played elsewhere.

use std::time::Duration;

use league_protocol::id::LeagueId;

use crate::storage::database::{Database, Stream};
use crate::storage::league_store::fill;
use crate::storage::record::is_over;
use crate::storage::replay::rebuild;
use crate::storage::root::Root;
use crate::storage::store::{Mirror, StoreError};

/// The wait after an error before the database is asked again.
const PAUSE: Duration = Duration::from_secs(2);
/// How often the database is asked without a notice: the last one of a writer that ends may be lost.
const POLL: Duration = Duration::from_secs(10);

/// A league whose pages are shown from a database.
pub(crate) struct FollowedLeague {
    pub(crate) database: Database,
    pub(crate) root: Root,
    pub(crate) league: LeagueId,
}

/// The copy of a league's journal, opened once.
struct FollowedCopy {
    place: FollowedLeague,
    mirror: Option<Mirror>,
}

impl FollowedLeague {
    /// Copies new lines until the league is over; then also the journals of its referees, and what is
    /// made from them.
    pub(crate) async fn run(self) {
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
