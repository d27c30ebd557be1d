//! The matches that wait for a referee of the pool, for referees anywhere to claim.

use std::collections::BTreeSet;
use std::time::Duration;

use league_protocol::id::{LeagueId, MatchId};
use tokio_postgres::Row;

use super::connection::Value;
use super::{Database, DatabaseError};

/// How long a claim keeps other referees away. A referee that takes its match makes the claim
/// superfluous; a referee that died before gives the match free by then.
pub(crate) const CLAIM: Duration = Duration::from_secs(30);
/// How long a match stays away from all referees when a claim is given up: long enough that the one
/// that was refused turns to other matches first.
const RELEASE_PAUSE: Duration = Duration::from_secs(1);

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
    /// Replaces the waiting matches of a league, if this epoch still holds it: only what has changed, if
    /// it is known what is stored. Claims of matches that go on waiting stay.
    pub(crate) fn publish_jobs(
        &self,
        league: &LeagueId,
        epoch: u64,
        stored: Option<&BTreeSet<(MatchId, u32)>>,
        waiting: &BTreeSet<(MatchId, u32)>,
    ) -> Result<(), DatabaseError> {
        let league = league.to_string();
        let is_new = |job: &&(MatchId, u32)| stored.is_none_or(|stored| !stored.contains(*job));
        let new = waiting.iter().filter(is_new);
        let (ids, attempts): (Vec<String>, Vec<i32>) = new
            .map(|(id, attempt)| (id.to_string(), *attempt as i32))
            .unzip();
        let waits = |id: &MatchId| {
            waiting
                .range((id.clone(), 0)..)
                .next()
                .is_some_and(|next| next.0 == *id)
        };
        let gone = stored.into_iter().flatten().filter(|(id, _)| !waits(id));
        let gone: Vec<String> = gone.map(|(id, _)| id.to_string()).collect();
        let is_whole = stored.is_none();
        self.wait(|inner| async move {
            let statement = "with lease as ( \
                    select 1 from league.leases \
                    where league_id = $1 and agent = 'manager' and epoch = $2 for share), \
                waiting as ( \
                    select m, a from unnest($3::text[], $4::integer[]) as w(m, a), lease), \
                gone as ( \
                    delete from league.jobs using lease where league_id = $1 \
                    and (match_id = any($5::text[]) or $6 and match_id <> all($3::text[]))) \
                insert into league.jobs as j (league_id, match_id, attempt) \
                select $1, m, a from waiting \
                on conflict (league_id, match_id) do update \
                set attempt = excluded.attempt, worker = null, until = null \
                where j.attempt <> excluded.attempt";
            let client = inner.client().await?;
            let epoch = super::signed(epoch);
            let told: [Value<'_>; 6] = [&league, &epoch, &ids, &attempts, &gone, &is_whole];
            client.execute(statement, &told).await?;
            Ok(())
        })
    }

    /// Claims at most so many waiting matches for a worker; others pass them over. Only leagues with a
    /// manager count, and none of those `without`.
    pub(crate) fn claim_jobs(
        &self,
        worker: &str,
        most: usize,
        without: &[LeagueId],
    ) -> Result<Vec<Job>, DatabaseError> {
        let worker = worker.to_owned();
        let most = i64::try_from(most).unwrap_or(i64::MAX);
        let without: Vec<String> = without.iter().map(ToString::to_string).collect();
        let rows = self.wait(|inner| async move {
            let statement = "with free as ( \
                    select j.league_id, j.match_id from league.jobs as j \
                    where (j.until is null or j.until < now()) and j.league_id <> all($4::text[]) \
                    and exists (select 1 from league.leases as l where l.league_id = j.league_id \
                        and l.agent = 'manager' and l.until > now()) \
                    order by j.league_id, j.match_id for update of j skip locked limit $2) \
                update league.jobs as j \
                set worker = $1, until = now() + make_interval(secs => $3) \
                from free where j.league_id = free.league_id and j.match_id = free.match_id \
                returning j.league_id, j.match_id, j.attempt";
            let client = inner.client().await?;
            let asked: [Value<'_>; 4] = [&worker, &most, &CLAIM.as_secs_f64(), &without];
            client.query(statement, &asked).await
        })?;
        Ok(rows.iter().filter_map(Job::read).collect())
    }

    /// Gives up claims of a worker; soon others may claim the matches.
    pub(crate) fn release_jobs(&self, worker: &str, jobs: &[Job]) -> Result<(), DatabaseError> {
        let worker = worker.to_owned();
        let leagues: Vec<String> = jobs.iter().map(|job| job.league.to_string()).collect();
        let matches: Vec<String> = jobs.iter().map(|job| job.match_id.to_string()).collect();
        self.wait(|inner| async move {
            let statement = "update league.jobs \
                set worker = null, until = now() + make_interval(secs => $4) \
                where worker = $1 and (league_id, match_id) in \
                    (select * from unnest($2::text[], $3::text[]))";
            let pause = RELEASE_PAUSE.as_secs_f64();
            let asked: [Value<'_>; 4] = [&worker, &leagues, &matches, &pause];
            inner.client().await?.execute(statement, &asked).await?;
            Ok(())
        })
    }
}
