//! Many leagues at once over several hosts, of which one is killed.
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
const HOSTS: u64 = 2;
/// The seed of a usual run; `LEAGUE_POSTGRES_SEED` names another.
const SEED: u64 = 1;

fn size() -> Size {
    Size {
        leagues: setting("LEAGUE_POSTGRES_LEAGUES", LEAGUES) as u32,
        hosts: setting("LEAGUE_POSTGRES_HOSTS", HOSTS) as usize,
        awaited: PLAYERS,
        legs: 2,
        more: ["--pace", "300ms"].map(str::to_owned).into(),
    }
}

#[test]
fn every_league_of_a_host_that_is_killed_ends_at_another_one_with_each_match_once() {
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
    cluster.hosts[killed].process.kill();
    let since = Instant::now();
    let left = cluster.open_leagues_of(killed);
    assert!(!left.is_empty(), "the leagues of the host were over");
    tell_takeovers(&follow_takeovers(&cluster, killed, &left, since));
    cluster.wait_for_the_end();
    println!(
        "{} leagues, {} hosts: {} matches in {:.1} s",
        cluster.size.leagues,
        cluster.hosts.len(),
        cluster.store.results(),
        played.elapsed().as_secs_f64()
    );
    see_elsewhere(&cluster, killed, &left);
    see_whole(cluster, killed);
}

/// Waits until other hosts hold the leagues of one that was killed; gives how long each took.
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

/// Sees that other hosts brought these leagues to their ends, managers and referees each in a later
/// epoch.
fn see_elsewhere(cluster: &Cluster, killed: usize, left: &BTreeSet<String>) {
    for id in left {
        let agents = format!(
            "select agent || ' ' || address from league.leases where league_id = '{id}' \
             and epoch > 1 order by agent"
        );
        let agents = cluster.store.ask(&agents);
        let agents: BTreeMap<&str, &str> = agents
            .lines()
            .filter_map(|line| line.split_once(' '))
            .collect();
        let ids: Vec<&str> = agents.keys().copied().collect();
        assert_eq!(ids, ["REF01", "REF02", "manager"], "{id}");
        for address in agents.values() {
            assert!(
                !cluster.hosts[killed].answers_at(address),
                "{id}: {agents:?}"
            );
        }
    }
}

/// Sees that each match has one result, that each acknowledged one is among them, that the others
/// go on, and that all leagues are verified from the database alone.
fn see_whole(mut cluster: Cluster, killed: usize) {
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
