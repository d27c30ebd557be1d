//! Managers, referees and the server itself are killed at random instants while leagues are played.
//!
//! `cargo xtask campaign postgres` runs this test for as many kills as it is told.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use crate::end_to_end::campaign::{Chance, setting};
use crate::end_to_end::process::{BOUND, Process, eventually};
use crate::field::{Field, MATCHES, REFEREES, Store, own_server};
use crate::server::Server;

/// How many kills a usual run has; `LEAGUE_POSTGRES_KILLS` names another number.
const KILLS: u64 = 20;
/// The seed of a usual run; `LEAGUE_POSTGRES_SEED` names another.
const SEED: u64 = 1;
/// How many leagues are played at once.
const AT_ONCE: u64 = 2;
/// How many agents are killed in a league.
const KILLS_PER_LEAGUE: u64 = 9;
/// The longest wait before a kill, in milliseconds; the server is killed less often.
const MAX_WAIT: u64 = 1_500;
const MAX_SERVER_WAIT: u64 = 15_000;
/// The longest wait before what was killed is started again.
const MAX_AWAY: u64 = 1_000;

/// How often managers are started again to ask for the journals of referees.
const MAX_COLLECTIONS: u32 = 3;

/// What happened in all leagues of a run.
#[derive(Default)]
struct Tally {
    killed: BTreeMap<&'static str, u64>,
    leagues: u64,
    /// How many results referees saw acknowledged.
    acknowledged: usize,
    lost: usize,
    doubled: usize,
    /// How many managers ended by themselves, and were started again.
    ended: u64,
}

impl Tally {
    fn kills(&self) -> u64 {
        self.killed.values().sum()
    }

    fn add(&mut self, other: Self) {
        for (kind, count) in other.killed {
            *self.killed.entry(kind).or_default() += count;
        }
        self.leagues += other.leagues;
        self.acknowledged += other.acknowledged;
        self.lost += other.lost;
        self.doubled += other.doubled;
        self.ended += other.ended;
    }

    fn told(&self) -> String {
        let kinds = self
            .killed
            .iter()
            .map(|(kind, count)| format!("{count} {kind}"));
        let kinds = kinds.collect::<Vec<_>>().join(", ");
        format!(
            "{} kills ({kinds}) in {} leagues: {} acknowledged results, lost {}, doubled {}; {} \
             managers ended by themselves and were started again",
            self.kills(),
            self.leagues,
            self.acknowledged,
            self.lost,
            self.doubled,
            self.ended
        )
    }
}

#[test]
fn no_acknowledged_result_is_lost_or_doubled_whatever_is_killed() {
    let (wanted, seed) = (
        setting("LEAGUE_POSTGRES_KILLS", KILLS),
        setting("LEAGUE_POSTGRES_SEED", SEED),
    );
    let mut tally = Tally::default();
    let mut number = 0;
    while tally.kills() < wanted {
        let left = wanted - tally.kills();
        let leagues = AT_ONCE.min(left.div_ceil(KILLS_PER_LEAGUE));
        let seeds = (0..leagues).map(|place| {
            let number = number + place;
            (seed.wrapping_mul(1_000_003).wrapping_add(number) << 1) | 1
        });
        tally.add(disturbed_leagues(&seeds.collect::<Vec<_>>(), left));
        number += leagues;
        println!("so far {}", tally.told());
    }
    println!("{}", tally.told());
    assert_eq!((tally.lost, tally.doubled), (0, 0));
}

/// Plays leagues at once on a server of their own.
fn disturbed_leagues(seeds: &[u64], most: u64) -> Tally {
    let mut server = own_server();
    let name = |seed| format!("league_{seed}");
    let stores = seeds.iter().map(|seed| Store::named(&server, &name(seed)));
    let stores: Vec<Store> = stores.collect();
    let (is_over, mut tally) = (AtomicBool::new(false), Tally::default());
    let each = most.div_ceil(seeds.len() as u64).min(KILLS_PER_LEAGUE);
    thread::scope(|scope| {
        let leagues: Vec<_> = seeds
            .iter()
            .zip(stores)
            .map(|(seed, store)| scope.spawn(move || disturbed_league(*seed, each, store)))
            .collect();
        let (is_over, server) = (&is_over, &mut server);
        let killer = scope.spawn(move || kill_server(server, Chance(seeds[0]), is_over));
        let ended: Vec<_> = leagues.into_iter().map(|league| league.join()).collect();
        is_over.store(true, Ordering::Relaxed);
        tally.killed.insert("servers", killer.join().unwrap());
        for ended in ended {
            let (field, mut managers, disturbed) = ended.unwrap();
            tally.add(disturbed);
            collect(&field, &mut managers);
            count(&field, &mut tally);
        }
    });
    tally
}

/// Kills the server now and then until the leagues are over; gives how often.
fn kill_server(server: &mut Server, mut chance: Chance, is_over: &AtomicBool) -> u64 {
    let mut kills = 0;
    loop {
        let wait = MAX_SERVER_WAIT / 3 + chance.below(MAX_SERVER_WAIT);
        for _ in 0..wait / 100 {
            if is_over.load(Ordering::Relaxed) {
                return kills;
            }
            thread::sleep(Duration::from_millis(100));
        }
        server.kill().unwrap();
        thread::sleep(Duration::from_millis(chance.below(MAX_AWAY)));
        server.resume().unwrap();
        kills += 1;
    }
}

/// Plays a league whose managers and referees are killed.
fn disturbed_league(seed: u64, most: u64, store: Store) -> (Field, [Process; 2], Tally) {
    let mut chance = Chance(seed);
    let mut field = Field::new(store, 2);
    field.be_patient();
    let mut managers = [field.start_in_charge(0), field.start_manager(1)];
    field.start_agents();
    let mut tally = Tally::default();
    for _ in 0..most {
        thread::sleep(Duration::from_millis(chance.below(MAX_WAIT)));
        tally.ended += revive(&field, &mut managers);
        if field.is_over() {
            break;
        }
        let away = Duration::from_millis(chance.below(MAX_AWAY));
        let kind = match chance.below(2) {
            0 => {
                let place = chance.below(2) as usize;
                managers[place].kill();
                thread::sleep(away);
                managers[place] = field.start_manager(place);
                "managers"
            }
            _ => {
                field.restart_referee(chance.below(u64::from(REFEREES)) as u32 + 1, away);
                "referees"
            }
        };
        *tally.killed.entry(kind).or_default() += 1;
    }
    let over = eventually(|| {
        tally.ended += revive(&field, &mut managers);
        field.is_over().then_some(())
    });
    assert!(over.is_some(), "seed {seed}: no end within {BOUND:?}");
    let _ = eventually(|| revive(&field, &mut managers).eq(&0).then_some(()));
    field.see_all_running();
    (field, managers, tally)
}

/// Starts managers again that ended by themselves, as a supervisor does; gives how many.
fn revive(field: &Field, managers: &mut [Process; 2]) -> u64 {
    let mut ended = 0;
    for (place, manager) in managers.iter_mut().enumerate() {
        if manager.has_ended() {
            let other = field.start_manager(place);
            let told = std::mem::replace(manager, other).end();
            println!("a manager ended by itself: {:?} {}", told.code, told.errors);
            ended += 1;
        }
    }
    ended
}

/// Waits until the referees have handed in their journals. A manager gives up on a referee that was away
/// for some seconds when the league ended, and asks again when it is started again.
fn collect(field: &Field, managers: &mut [Process; 2]) {
    let mut before = 0;
    for _ in 0..MAX_COLLECTIONS {
        let told = eventually(|| {
            let gave_up = field.given_up().split_off(before);
            let is_over = field.store.has_journals() || !gave_up.is_empty();
            is_over.then_some(gave_up)
        });
        if field.store.has_journals() {
            return;
        }
        println!("not every journal is handed in: {told:?}");
        before = field.given_up().len();
        for (place, manager) in managers.iter_mut().enumerate() {
            manager.kill();
            *manager = field.start_manager(place);
        }
    }
    field.store.wait_for_journals();
}

/// Counts what is stored of a league against what its referees saw acknowledged.
fn count(field: &Field, tally: &mut Tally) {
    let stored = field.store.matches();
    let distinct: BTreeSet<&String> = stored.iter().collect();
    let acknowledged = field.acknowledged();
    tally.leagues += 1;
    tally.acknowledged += acknowledged.len();
    tally.doubled += stored.len() - distinct.len();
    let lost = acknowledged.iter().filter(|id| !distinct.contains(id));
    tally.lost += lost.count();
    assert_eq!(distinct.len(), MATCHES, "{distinct:?}");
    field.store.see_verified();
}
