//! A manager that waits for its league: another one holds it in the store.

use std::time::Duration;

use league_core::league::LeagueRules;
use league_protocol::id::LeagueId;

use crate::cli::agent::manager::opening;
use crate::cli::failure::CommandError;
use crate::cli::runtime::Signals;
use crate::cli::store::{not_filled, unusable};
use crate::storage::database::{DatabaseError, Lease, Stream};
use crate::storage::league_store::{LeagueStore, fill};
use crate::storage::root::Root;

/// How often a waiting manager asks whether the league is free.
const POLL: Duration = Duration::from_secs(1);

/// A league that a manager has taken in the store, before it reads the journal.
pub(crate) struct TakenLeague {
    /// The rules that the league began with, unless it is new.
    pub(crate) rules: Option<LeagueRules>,
    /// Keeps others away until the manager has a lease of its own.
    _lease: Option<Lease>,
}

/// Takes a league as soon as no manager holds it, and fills the folder; `None` if a signal came
/// first.
pub(crate) async fn wait_for(
    store: &LeagueStore,
    root: &Root,
    league: &LeagueId,
    signals: &mut Signals,
) -> Result<Option<TakenLeague>, CommandError> {
    loop {
        match store.lease(&Stream::of_manager(league)) {
            Ok(lease) => return taken(store, root, league, Some(lease)).map(Some),
            Err(DatabaseError::Held { .. }) => {}
            Err(error) => return Err(unusable(&error)),
        }
        tokio::select! {
            () = tokio::time::sleep(POLL) => {}
            _ = signals.stop() => return Ok(None),
        }
    }
}

/// Fills the folder of a league that is taken when its journal is opened.
pub(crate) fn look(
    store: &LeagueStore,
    root: &Root,
    league: &LeagueId,
) -> Result<TakenLeague, CommandError> {
    taken(store, root, league, None)
}

fn taken(
    store: &LeagueStore,
    root: &Root,
    league: &LeagueId,
    lease: Option<Lease>,
) -> Result<TakenLeague, CommandError> {
    let filled = fill(&store.database, root, Some(league));
    filled.map_err(|error| not_filled(root, &error))?;
    Ok(TakenLeague {
        rules: opening(root, league).and_then(|opening| opening.rules),
        _lease: lease,
    })
}
