//! A manager that waits for its league: another one holds it in the store. Meanwhile its callers are
//! referred to that one.

use std::sync::Arc;
use std::time::Duration;

use league_core::league::LeagueRules;
use league_protocol::id::LeagueId;
use tokio::sync::watch;

use super::manager::{LABEL, opening};
use super::{Entrance, ServedRoutes, not_started};
use crate::agents::assemble::Shared;
use crate::cli::failure::CommandError;
use crate::cli::runtime::Signals;
use crate::cli::store::{not_filled, unusable};
use crate::http::server::Routes;
use crate::http::standby::StandbyService;
use crate::storage::database::{DatabaseError, Lease, Stream};
use crate::storage::league_store::LeagueStore;
use crate::storage::root::Root;
use crate::storage::store::StoreError;

/// How often a waiting manager asks whether the league is free.
const POLL: Duration = Duration::from_secs(1);

/// A league that a manager has taken in the store, and whose folder it has filled.
pub(crate) struct TakenLeague {
    /// The rules that the league began with, unless it is new.
    pub(crate) rules: Option<LeagueRules>,
    pub(crate) lease: Lease,
}

impl TakenLeague {
    /// Takes a league that no other manager holds.
    pub(crate) fn take(
        store: &LeagueStore,
        root: &Root,
        league: &LeagueId,
    ) -> Result<Self, CommandError> {
        let lease = store.lease_again(&Stream::of_manager(league));
        let lease = lease.map_err(|error| {
            let error = StoreError::from(error);
            not_started(LABEL, &error.into(), "`--league-id`")
        })?;
        Self::fill(store, root, league, lease)
    }

    pub(crate) fn fill(
        store: &LeagueStore,
        root: &Root,
        league: &LeagueId,
        lease: Lease,
    ) -> Result<Self, CommandError> {
        let filled = store.fill(root, league);
        filled.map_err(|error| not_filled(root, &error))?;
        Ok(Self {
            rules: opening(root, league).and_then(|opening| opening.rules),
            lease,
        })
    }
}

/// A manager that waits.
pub(crate) struct Standby<'s> {
    shared: &'s Shared,
    league: &'s LeagueId,
}

impl<'s> Standby<'s> {
    pub(crate) fn of(shared: &'s Shared, league: &'s LeagueId) -> Self {
        Self { shared, league }
    }

    /// Takes the league as soon as no manager holds it; `None` if a signal came first. A database
    /// that is away is waited for, as the one that holds the league waits too.
    pub(crate) async fn wait(
        &self,
        entrance: Entrance,
        signals: &mut Signals,
    ) -> Result<Option<(TakenLeague, Entrance)>, CommandError> {
        let (tell, in_charge) = watch::channel(None);
        let service = Arc::new(StandbyService::new(self.league.clone(), in_charge));
        let routes = Routes::behind(self.shared.gate.clone()).with_pages(Arc::clone(&service) as _);
        routes.open("", service);
        let served = match entrance {
            Entrance::Listener(listener) => ServedRoutes::begin(listener, routes, self.shared),
            Entrance::Served(served) => served,
        };
        loop {
            if let Some(taken) = self.look(&tell).await? {
                return Ok(Some((taken, Entrance::Served(served))));
            }
            tokio::select! {
                () = tokio::time::sleep(POLL) => {}
                _ = signals.stop() => return Ok(None),
            }
        }
    }

    /// Tries once to take the league, and tells callers who holds it.
    async fn look(
        &self,
        tell: &watch::Sender<Option<String>>,
    ) -> Result<Option<TakenLeague>, CommandError> {
        let Some(store) = self.shared.store.clone() else {
            return Ok(None);
        };
        let (root, league, own) = (self.shared.root.clone(), self.league.clone(), store.clone());
        let tried = tokio::task::spawn_blocking(move || {
            let lease = own.lease(&Stream::of_manager(&league))?;
            Ok(TakenLeague::fill(&own, &root, &league, lease))
        });
        match tried.await {
            Ok(Ok(taken)) => taken.map(Some),
            Ok(Err(DatabaseError::Held { address, .. })) => {
                // An earlier process at this address is dead; referring callers to it would lead them
                // back here.
                tell.send_replace(Some(address).filter(|address| !store.is_own(address)));
                Ok(None)
            }
            Ok(Err(error)) => Err(unusable(&error)),
            // The runtime is ending.
            Err(_) => Ok(None),
        }
    }
}
