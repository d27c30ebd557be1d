//! The matches that wait for a referee of the pool, for referees anywhere to claim.

use league_protocol::id::{LeagueId, MatchId};
use tokio_postgres::Row;

use super::{Database, DatabaseError};

/// How long a claim keeps other referees away, in seconds of the server. A referee that takes its
/// match makes the claim superfluous; a referee that died before gives the match free by then.
const CLAIM: f64 = 30.0;

/// A match that a referee has claimed.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Job {
    pub(crate) league: LeagueId,
    pub(crate) match_id: MatchId,
    /// The attempt that comes next.
    pub(crate) attempt: u32,
}

impl Job {
    fn read(row: &Row) -> Option<Self> {
        Some(Self {
            league: LeagueId::new(row.get::<_, &str>(0)).ok()?,
            match_id: MatchId::new(row.get::<_, &str>(1)).ok()?,
            attempt: u32::try_from(row.get::<_, i32>(2)).ok()?,
        })
    }
}

impl Database {
    /// Replaces the waiting matches of a league, if this epoch still holds it. Claims of matches that
    /// go on waiting stay.
    pub(crate) fn publish_jobs(
        &self,
        league: &LeagueId,
        epoch: u64,
        waiting: &[(MatchId, u32)],
    ) -> Result<(), DatabaseError> {
        let league = league.to_string();
        let ids = waiting.iter().map(|(id, _)| id.to_string());
        let ids: Vec<String> = ids.collect();
        let attempts = waiting.iter().map(|(_, attempt)| *attempt as i32);
        let attempts: Vec<i32> = attempts.collect();
        self.wait(|inner| async move {
            let statement = "with lease as ( \
                    select 1 from league.leases \
                    where league_id = $1 and agent = 'manager' and epoch = $2 for share), \
                waiting as ( \
                    select m, a from unnest($3::text[], $4::integer[]) as w(m, a), lease), \
                gone as ( \
                    delete from league.jobs using lease where league_id = $1 \
                    and match_id <> all($3::text[])) \
                insert into league.jobs as j (league_id, match_id, attempt) \
                select $1, m, a from waiting \
                on conflict (league_id, match_id) do update \
                set attempt = excluded.attempt, worker = null, until = null \
                where j.attempt <> excluded.attempt";
            let client = inner.client().await?;
            let epoch = super::signed(epoch);
            client
                .execute(statement, &[&league, &epoch, &ids, &attempts])
                .await?;
            Ok(())
        })
    }

    /// Claims at most so many waiting matches for a worker; others pass them over.
    pub(crate) fn claim_jobs(&self, worker: &str, most: usize) -> Result<Vec<Job>, DatabaseError> {
        let worker = worker.to_owned();
        let most = i64::try_from(most).unwrap_or(i64::MAX);
        let rows = self.wait(|inner| async move {
            let statement = "with free as ( \
                    select league_id, match_id from league.jobs \
                    where until is null or until < now() \
                    order by league_id, match_id for update skip locked limit $2) \
                update league.jobs as j \
                set worker = $1, until = now() + make_interval(secs => $3) \
                from free where j.league_id = free.league_id and j.match_id = free.match_id \
                returning j.league_id, j.match_id, j.attempt";
            let client = inner.client().await?;
            client.query(statement, &[&worker, &most, &CLAIM]).await
        })?;
        Ok(rows.iter().filter_map(Job::read).collect())
    }

    /// Renews the claims of a worker; gives those that it still has.
    pub(crate) fn renew_jobs(&self, worker: &str) -> Result<Vec<Job>, DatabaseError> {
        let worker = worker.to_owned();
        let rows = self.wait(|inner| async move {
            let statement = "update league.jobs set until = now() + make_interval(secs => $2) \
                             where worker = $1 returning league_id, match_id, attempt";
            let client = inner.client().await?;
            client.query(statement, &[&worker, &CLAIM]).await
        })?;
        Ok(rows.iter().filter_map(Job::read).collect())
    }
}
