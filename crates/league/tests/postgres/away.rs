//! A league whose server is killed while it is played, and started again or replaced by its standby.

use std::thread;
use std::time::{Duration, Instant};

use crate::end_to_end::http::health;
use crate::end_to_end::process::eventually;
use crate::fence::Gate;
use crate::field::{Field, Store, own_server};

/// How long the server stays away.
const AWAY: Duration = Duration::from_secs(2);

#[test]
fn league_waits_for_a_server_that_was_killed() {
    let mut server = own_server();
    let mut field = Field::new(Store::on(&server), 1);
    let mut manager = field.start_in_charge(0);
    field.start_agents();
    for results in [2, 7] {
        field.store.wait_for_results(results);
        server.kill().unwrap();
        let waits = eventually(|| health(&field.endpoint(0)).get("waits_for").map(|_| ()));
        assert!(waits.is_some(), "its page does not say that it waits");
        thread::sleep(AWAY);
        manager.see_running();
        server.resume().unwrap();
    }
    manager.event("state", "completed");
    field.see_all_running();
    field.store.wait_for_the_end();
    field.store.see_whole(&field);
}

#[test]
fn league_goes_on_at_the_promoted_standby() {
    see_standby_promoted("-KILL");
}

#[test]
fn league_goes_on_at_the_promoted_standby_of_a_server_that_hangs() {
    see_standby_promoted("-STOP");
}

/// Plays a league whose server gets a signal, and whose standby is promoted then.
fn see_standby_promoted(signal: &str) {
    let primary = own_server();
    let store = Store::on(&primary);
    let standby = primary.synchronous_standby().unwrap();
    let hosts = format!("127.0.0.1:{},127.0.0.1:{}", primary.port, standby.port);
    let both = format!("postgres://postgres@{hosts}/postgres?target_session_attrs=read-write");
    let mut field = Field::new(Store { url: both }, 1);
    let mut manager = field.start_in_charge(0);
    field.start_agents();
    store.wait_for_results(4);
    let since = Instant::now();
    primary.signal(signal).unwrap();
    standby.promote().unwrap();
    println!("promotion: {:.1} s", since.elapsed().as_secs_f64());
    field.store = Store {
        url: standby.url("postgres"),
    };
    field.store.wait_for_results(field.store.results() + 1);
    println!("goes on: {:.1} s", since.elapsed().as_secs_f64());
    manager.event("state", "completed");
    field.see_all_running();
    field.store.wait_for_the_end();
    field.store.see_whole(&field);
}

#[test]
fn write_that_a_synchronous_standby_lacks_is_not_acknowledged_after_a_restart() {
    let mut primary = own_server();
    let store = Store::on(&primary);
    let standby = primary.synchronous_standby().unwrap();
    let field = Field::new(store.clone(), 1);
    let mut manager = field.start_in_charge(0);
    let gate = Gate::before(&store, "league.events");
    gate.close();
    let mut lever = field.pull_lever(0, "pause");
    gate.wait_for_write();
    standby.signal("-STOP").unwrap();
    gate.open();
    let waits = |statement: &str| {
        let waiting = format!(
            "select count(*) from pg_stat_activity where wait_event = 'SyncRep' \
             and query like '%{statement}%'"
        );
        store.number(&waiting) > 0
    };
    assert!(eventually(|| waits("into league.events").then_some(())).is_some());
    primary.kill().unwrap();
    primary.resume().unwrap();
    let confirmed = eventually(|| {
        let ended = lever.try_wait().unwrap();
        (ended.is_some() || waits("set until")).then_some(ended)
    });
    assert_eq!(confirmed, Some(None), "it was acknowledged");
    manager.see_running();
    standby.signal("-CONT").unwrap();
    assert!(lever.wait().unwrap().success());
}
