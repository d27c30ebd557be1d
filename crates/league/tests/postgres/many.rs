//! Many leagues at once over several managers and a pool of referees, of which one each is killed.
//!
//! `cargo xtask campaign postgres` runs this test at its full size.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use crate::cluster::{Cluster, PLAYERS, Size};
use crate::end_to_end::campaign::{Chance, setting};
use crate::end_to_end::process::eventually;
use crate::field::Store;

/// The size of a usual run; `LEAGUE_POSTGRES_LEAGUES` and so on name another one.
const LEAGUES: u64 = 6;
const MANAGERS: u64 = 2;
const REFEREES: u64 = 3;
/// The seed of a usual run; `LEAGUE_POSTGRES_SEED` names another.
const SEED: u64 = 1;

fn size() -> Size {
    Size {
        leagues: setting("LEAGUE_POSTGRES_LEAGUES", LEAGUES) as u32,
        managers: setting("LEAGUE_POSTGRES_MANAGERS", MANAGERS) as usize,
        referees: setting("LEAGUE_POSTGRES_REFEREES", REFEREES) as usize,
        awaited: PLAYERS,
        legs: 2,
        more: ["--pace", "300ms"].map(str::to_owned).into(),
    }
}

#[test]
fn leagues_end_though_a_manager_and_a_referee_are_killed() {
    let seed = setting("LEAGUE_POSTGRES_SEED", SEED);
    let mut chance = Chance((seed << 1) | 1);
    let begun = Instant::now();
    let mut cluster = Cluster::start(Store::shared(), size());
    println!("{:.1} s to begin", begun.elapsed().as_secs_f64());
    let played = Instant::now();
    cluster
        .store
        .wait_for_results(u64::from(cluster.size.leagues));
    let killed = chance.below(cluster.hosts.len() as u64) as usize;
    let pool = chance.below(cluster.pools.len() as u64) as usize;
    cluster.hosts[killed].process.kill();
    let since = Instant::now();
    let left = cluster.open_leagues_of(killed);
    assert!(!left.is_empty(), "the leagues of the manager were over");
    cluster.pools[pool].process.kill();
    tell_takeovers(&follow_takeovers(&cluster, killed, &left, since));
    cluster.wait_for_the_end();
    println!(
        "{} leagues, {} managers, {} referees: {} matches in {:.1} s",
        cluster.size.leagues,
        cluster.hosts.len(),
        cluster.pools.len(),
        cluster.store.results(),
        played.elapsed().as_secs_f64()
    );
    see_elsewhere(&cluster, killed, &left);
    see_whole(cluster, killed, pool);
}

/// Waits until other managers hold the leagues of one that was killed; gives how long each took.
fn follow_takeovers(
    cluster: &Cluster,
    killed: usize,
    left: &BTreeSet<String>,
    since: Instant,
) -> BTreeMap<String, Duration> {
    let mut taken = BTreeMap::new();
    let all = eventually(|| {
        let waiting = cluster.open_leagues_of(killed);
        for id in left.difference(&waiting) {
            taken.entry(id.clone()).or_insert_with(|| since.elapsed());
        }
        waiting.is_empty().then_some(())
    });
    assert!(all.is_some(), "only {taken:?} of {left:?} were taken over");
    taken
}

fn tell_takeovers(taken: &BTreeMap<String, Duration>) {
    let seconds = taken.values().map(Duration::as_secs_f64);
    let seconds: Vec<f64> = seconds.collect();
    let least = seconds.iter().copied().fold(f64::INFINITY, f64::min);
    let most = seconds.iter().copied().fold(0.0, f64::max);
    println!(
        "{} leagues taken over after {least:.1} to {most:.1} s",
        seconds.len()
    );
}

/// Sees that other managers brought these leagues to their ends, each in a later epoch.
fn see_elsewhere(cluster: &Cluster, killed: usize, left: &BTreeSet<String>) {
    let ended = "select league_id || ' ' || address from league.leases \
                 where agent = 'manager' and over and epoch > 1";
    let ended = cluster.store.ask(ended);
    let ended: BTreeMap<&str, &str> = ended
        .lines()
        .filter_map(|line| line.split_once(' '))
        .collect();
    for id in left {
        let address = ended.get(id.as_str());
        let address = address.unwrap_or_else(|| panic!("{id} has no second manager: {ended:?}"));
        assert!(
            !cluster.hosts[killed].answers_at(address),
            "{id}: {address}"
        );
    }
}

/// Sees that each match has one result, that each acknowledged one is among them, that the others
/// go on, and that all leagues are verified from the database alone.
fn see_whole(mut cluster: Cluster, killed: usize, pool: usize) {
    let stored = cluster.results();
    let known: BTreeSet<&String> = stored.iter().collect();
    let matches = cluster.size.matches() * cluster.size.leagues as usize;
    let acknowledged = cluster.acknowledged();
    let lost = acknowledged.iter().filter(|found| !known.contains(found));
    let (lost, doubled) = (lost.count(), stored.len() - known.len());
    println!(
        "{} acknowledged results, lost {lost}, doubled {doubled}",
        acknowledged.len()
    );
    assert_eq!((lost, doubled, stored.len()), (0, 0, matches));
    // A referee that was killed may not have noted what it saw acknowledged last.
    assert!(
        acknowledged.len() + 100 >= matches,
        "{}",
        acknowledged.len()
    );
    for player in &mut cluster.players {
        player.see_running();
    }
    for (number, host) in cluster.hosts.iter_mut().enumerate() {
        if number != killed {
            host.process.see_running();
        }
    }
    for (number, referees) in cluster.pools.drain(..).enumerate() {
        if number != pool {
            let ended = referees.process.stop();
            assert_eq!(ended.code, Some(0), "{ended:?}");
        }
    }
    let ids = (0..cluster.size.leagues).map(|number| format!("league_{number}"));
    for id in ids {
        let verdict = cluster.verdict(&id);
        assert_eq!(verdict["verdict"], "verified", "{id}: {verdict}");
        // Where a referee died after it had handed the moves over, the manager ends the match.
        let checked = ["confirmed", "ruled"].map(|what| verdict["checked"][what].as_u64());
        let checked: u64 = checked.into_iter().flatten().sum();
        assert_eq!(checked, cluster.size.matches() as u64, "{verdict}");
    }
}
