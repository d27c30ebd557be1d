//! A league whose server is killed while it is played, and started again or replaced by its standby.

use std::thread;
use std::time::{Duration, Instant};

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
    let mut primary = own_server();
    let store = Store::on(&primary);
    let standby = primary.synchronous_standby().unwrap();
    let hosts = format!("127.0.0.1:{},127.0.0.1:{}", primary.port, standby.port);
    let both = format!("postgres://postgres@{hosts}/postgres?target_session_attrs=read-write");
    let mut field = Field::new(Store { url: both }, 1);
    let mut manager = field.start_in_charge(0);
    field.start_agents();
    store.wait_for_results(4);
    let since = Instant::now();
    primary.kill().unwrap();
    standby.promote().unwrap();
    println!("promotion: {:.1} s", since.elapsed().as_secs_f64());
    manager.event("state", "completed");
    field.see_all_running();
    field.store = Store {
        url: standby.url("postgres"),
    };
    field.store.wait_for_the_end();
    field.store.see_whole(&field);
}
