//! The secrets of leagues, which every manager that takes over a league needs. They are files of
//! mode 0600 in the folder of each host.

use league_protocol::id::LeagueId;

use super::lease::HELD;
use super::{Database, DatabaseError, Lease};

/// The league under which the keys of a whole store stand.
const NO_LEAGUE: &str = "";

impl Database {
    /// A secret of a league, or of the whole store.
    pub(crate) fn secret(
        &self,
        league: Option<&LeagueId>,
        name: &'static str,
    ) -> Result<Option<String>, DatabaseError> {
        let league = league.map_or_else(|| NO_LEAGUE.to_owned(), ToString::to_string);
        self.wait(|inner| async move {
            let client = inner.client().await?;
            let question = "select body from league.secrets where league_id = $1 and name = $2";
            let row = client.query_opt(question, &[&league, &name]).await?;
            Ok(row.map(|row| row.get(0)))
        })
    }

    /// Stores a secret of the whole store unless there is one, and gives the one that holds.
    pub(crate) fn keep_secret(
        &self,
        name: &'static str,
        body: &str,
    ) -> Result<String, DatabaseError> {
        let body = body.to_owned();
        self.wait(|inner| async move {
            let statement = "insert into league.secrets (league_id, name, body) \
                             values ($1, $2, $3) on conflict (league_id, name) do update \
                             set body = secrets.body returning body";
            let client = inner.client().await?;
            let kept = client.query(statement, &[&NO_LEAGUE, &name, &body]).await?;
            Ok(kept.first().map_or(body, |row| row.get(0)))
        })
    }
}

impl Lease {
    /// Stores a secret of its league, and replaces an older one.
    ///
    /// # Errors
    ///
    /// Another process took the lease, and nothing was written; or the server refuses.
    pub(crate) fn store_secret(&self, name: &'static str, body: &str) -> Result<(), DatabaseError> {
        let (tenure, body) = (self.tenure.clone(), body.to_owned());
        self.database.wait(|inner| async move {
            let statement = format!(
                "insert into league.secrets (league_id, name, body) \
                 select $1, $5, $6 from league.leases where {HELD} for share \
                 on conflict (league_id, name) do update set body = excluded.body"
            );
            let (statement, values) = (&statement, &tenure.with(&[&name, &body]));
            let stored =
                inner.insist(|client| async move { client.execute(statement, values).await });
            match stored.await? {
                0 => Err(tenure.replaced(&inner).await),
                _ => Ok(()),
            }
        })
    }
}
