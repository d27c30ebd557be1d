//! Another manager takes a league over when the one that held it is dead or silent.

use std::net::TcpStream;
use std::time::Instant;

use rustix::process::Signal;

use crate::end_to_end::process::eventually;
use crate::field::{Field, MATCHES, Store, taken_over};

#[test]
fn league_goes_on_at_the_other_manager_when_the_first_is_killed() {
    let mut field = Field::new(Store::shared(), 2);
    let mut first = field.start_in_charge(0);
    let mut second = field.start_manager(1);
    field.start_agents();
    field.store.wait_for_results(3);
    second.see_running();
    first.kill();
    taken_over(&mut second, Instant::now(), "after kill -9");
    second.event("state", "completed");
    field.see_all_running();
    field.store.wait_for_the_end();
    field.store.see_whole(&field);
}

#[test]
fn manager_that_takes_a_league_over_never_lets_go_of_it() {
    let field = Field::new(Store::shared(), 2);
    let mut first = field.start_in_charge(0);
    // A lease that ends at once was given back, and any third manager could take the league.
    field.store.ask(
        "create table league.given_back (epoch bigint); \
         create function league.note() returns trigger language plpgsql as \
         'begin insert into league.given_back values (new.epoch); return new; end'; \
         create trigger note after update on league.leases \
         for each row when (new.until <= now()) execute function league.note()",
    );
    let mut second = field.start_manager(1);
    let waits = eventually(|| TcpStream::connect(("127.0.0.1", field.desks[1].1)).ok());
    assert!(waits.is_some(), "the second manager does not wait");
    first.kill();
    taken_over(
        &mut second,
        Instant::now(),
        "without players, after kill -9",
    );
    let given_back = field.store.ask("select epoch from league.given_back");
    assert_eq!(given_back, "", "it gave these epochs back");
}

#[test]
fn journals_of_referees_are_stored_when_a_dead_manager_holds_them_no_more() {
    let mut field = Field::new(Store::shared(), 1);
    let mut manager = field.start_in_charge(0);
    field.start_agents();
    field.store.wait_for_results(1);
    // As if a manager that was killed had begun to store them.
    field.store.ask(
        "insert into league.leases (league_id, agent, holder, address, epoch, until) \
         select league_id, r, 'another', '', 1, 'infinity' \
         from league.leases, unnest(array['REF01', 'REF02']) as r where agent = 'manager'",
    );
    // The manager tries in vain at first.
    field.store.wait_for_results(MATCHES as u64);
    field.store.ask(
        "update league.leases set until = now() + interval '6 seconds' where holder = 'another'",
    );
    field.store.wait_for_journals();
    manager.event("state", "completed");
    field.store.see_whole(&field);
}

#[test]
fn manager_that_slept_longer_than_its_lease_writes_nothing_and_stops() {
    let field = &mut Field::new(Store::shared(), 2);
    let store = field.store.clone();
    // The server tells who wrote each line.
    store.ask("alter table league.events add column writer integer default pg_backend_pid()");
    let first = field.start_in_charge(0);
    let mut second = field.start_manager(1);
    field.start_agents();
    store.wait_for_results(3);
    first.signal(Signal::STOP);
    let since = Instant::now();
    // It is the first thing that the manager finds when it goes on, and would be written.
    let mut lever = field.pull_lever(0, "pause");
    taken_over(&mut second, since, "after SIGSTOP");
    store.wait_for_results(store.results() + 2);
    let by_first = "select count(*) from league.events where agent = 'manager' and writer = \
                    (select writer from league.events where agent = 'manager' and sequence = 1)";
    let before = store.number(by_first);
    first.signal(Signal::CONT);
    let ended = first.end();
    assert_eq!(ended.code, Some(3), "{ended:?}");
    let sentence = format!(
        "was taken over by the agent at `{}`, so this one writes nothing more",
        field.endpoint(1)
    );
    assert!(ended.errors.contains(&sentence), "{ended:?}");
    assert!(!lever.wait().unwrap().success(), "the lever was not pulled");
    second.event("state", "completed");
    store.wait_for_the_end();
    assert_eq!(store.number(by_first), before, "it wrote a line");
    assert_eq!(
        see_writers(&store),
        2,
        "each manager wrote once, one after the other"
    );
    let epoch = store.number("select epoch from league.leases where agent = 'manager'");
    println!(
        "stale epochs wrote 0 of {} lines; the last epoch is {epoch}",
        lines(&store)
    );
    field.see_all_running();
    store.see_whole(field);
}

/// How many writers took turns in the journal of the manager.
fn see_writers(store: &Store) -> u64 {
    store.number(
        "select count(*) from (select writer is distinct from lag(writer) over (order by sequence) \
         as new from league.events where agent = 'manager') as s where new",
    )
}

fn lines(store: &Store) -> u64 {
    store.number("select count(*) from league.events where agent = 'manager'")
}
