//! The secrets of leagues, which every manager that takes over a league needs. They are files of
//! mode 0600 in the folder of each host.

use league_protocol::id::LeagueId;

use super::{Database, DatabaseError};

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

    /// Stores a secret of a league; the caller holds its lease.
    pub(crate) fn replace_secret(
        &self,
        league: &LeagueId,
        name: &'static str,
        body: &str,
    ) -> Result<(), DatabaseError> {
        let (league, body) = (league.to_string(), body.to_owned());
        self.wait(|inner| async move {
            let statement = "insert into league.secrets (league_id, name, body) \
                             values ($1, $2, $3) \
                             on conflict (league_id, name) do update set body = excluded.body";
            let client = inner.client().await?;
            client.execute(statement, &[&league, &name, &body]).await?;
            Ok(())
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
                             values ($1, $2, $3) on conflict do nothing";
            let client = inner.client().await?;
            client
                .execute(statement, &[&NO_LEAGUE, &name, &body])
                .await?;
            Ok(())
        })?;
        let held = self.secret(None, name)?;
        held.ok_or(DatabaseError::Closed)
    }
}
