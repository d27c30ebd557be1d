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

/// A league whose pages are shown from a database.
pub(crate) struct FollowedLeague {
    pub(crate) database: Database,
    pub(crate) root: Root,
    pub(crate) league: LeagueId,
}

impl FollowedLeague {
    /// Copies new lines until the league is over; then also the journals of its referees, and what is
    /// made from them.
    pub(crate) async fn run(self) {
        let mut changed = self.database.follow(&self.league);
        while changed.changed().await.is_ok() {
            let place = (
                self.database.clone(),
                self.root.clone(),
                self.league.clone(),
            );
            let copied = tokio::task::spawn_blocking(move || copy(&place)).await;
            match copied {
                Ok(Ok(true)) => return,
                Ok(Ok(false)) => {}
                Ok(Err(error)) => {
                    tracing::warn!(event_type = "LEAGUE_NOT_FOLLOWED", "{error}");
                    tokio::time::sleep(PAUSE).await;
                }
                Err(_) => return,
            }
        }
    }
}

/// Copies new lines; returns whether the league is over and all of it is here.
fn copy((database, root, league): &(Database, Root, LeagueId)) -> Result<bool, StoreError> {
    let journal = root.league_journal(league);
    match Mirror::open(database, &Stream::of_manager(league), &journal) {
        Ok(mut mirror) => mirror.pull().map(drop)?,
        // An agent on this machine writes the copy.
        Err(StoreError::Held { .. }) => return Ok(false),
        Err(error) => return Err(error),
    }
    if !is_over(&journal) {
        return Ok(false);
    }
    fill(database, root, Some(league))?;
    // Pages show what there is without these files.
    if let Err(error) = rebuild(root, league) {
        tracing::warn!(event_type = "LEAGUE_NOT_REBUILT", "{error}");
    }
    Ok(true)
}
