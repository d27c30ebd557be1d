//! What a process must not write: what another one holds, and what follows lines that the database has
//! lost. And what it may take again: its own league.

use crate::end_to_end::ground::Ground;
use crate::end_to_end::http::request;
use crate::end_to_end::process::eventually;
use crate::field::{Field, Store, pull_lever};

/// Where no agent answers.
const SUCCESSOR: &str = "http://localhost:1/mcp";
/// The lines of the manager.
const LINES: &str = "select sequence, md5(line) from league.events order by 1";

/// Lets statements that insert into a table wait, once they have begun, until it is opened.
pub(crate) struct Gate<'s>(&'s Store);

impl<'s> Gate<'s> {
    pub(crate) fn before(store: &'s Store, table: &str) -> Self {
        store.ask(&format!(
            "create table gate (closed boolean); \
             create function wait_at_gate() returns trigger language plpgsql as $$ begin \
                while exists (select from gate) loop perform pg_sleep(0.01); end loop; \
                return null; end $$; \
             create trigger gate before insert on {table} \
                for each statement execute function wait_at_gate()"
        ));
        Self(store)
    }

    pub(crate) fn close(&self) {
        self.0.ask("insert into gate values (true)");
    }

    /// Opens it, and does not wait for a standby.
    pub(crate) fn open(&self) {
        self.0
            .ask("set synchronous_commit = local; delete from gate");
    }

    /// Waits until a statement waits.
    pub(crate) fn wait_for_write(&self) {
        let waiting = "select count(*) from pg_stat_activity \
                       where datname = current_database() and wait_event = 'PgSleep'";
        let there = eventually(|| (self.0.number(waiting) > 0).then_some(()));
        assert!(there.is_some(), "no statement waits");
    }
}

/// Gives the league to another process.
fn take_away(store: &Store, how: &str) {
    store.ask(&format!(
        "update league.leases set {how}, address = '{SUCCESSOR}', until = now() + interval '1 hour'"
    ));
}

#[test]
fn write_under_way_is_refused_when_another_process_takes_the_league() {
    // After a fail-over that forgot a lease the next one has the same epoch.
    for taken in ["epoch = epoch + 1", "holder = 'another'"] {
        let field = Field::new(Store::shared(), 1);
        let store = &field.store;
        let manager = field.start_in_charge(0);
        let gate = Gate::before(store, "league.events");
        gate.close();
        let mut lever = field.pull_lever(0, "pause");
        gate.wait_for_write();
        let lines = store.ask(LINES);
        take_away(store, taken);
        gate.open();
        let ended = manager.end();
        assert_eq!(ended.code, Some(3), "{ended:?}");
        let sentence = format!("was taken over by the agent at `{SUCCESSOR}`");
        assert!(ended.errors.contains(&sentence), "{ended:?}");
        assert!(!lever.wait().unwrap().success(), "it was acknowledged");
        assert_eq!(store.ask(LINES), lines, "{taken}");
    }
}

#[test]
fn keys_of_a_new_league_are_refused_when_another_process_takes_it() {
    let field = Field::new(Store::shared(), 1);
    let gate = Gate::before(&field.store, "league.secrets");
    gate.close();
    let manager = field.start_manager(0);
    gate.wait_for_write();
    take_away(&field.store, "epoch = epoch + 1");
    gate.open();
    let ended = manager.end();
    assert_eq!(ended.code, Some(3), "{ended:?}");
    assert!(ended.errors.contains("was taken over"), "{ended:?}");
    let keys = "select count(*) from league.secrets where name = 'manager'";
    assert_eq!(field.store.number(keys), 0);
}

#[test]
fn nothing_is_written_after_a_line_that_the_database_has_lost() {
    let last = "where sequence = (select max(sequence) from league.events)";
    for lost in [
        format!("delete from league.events {last}"),
        format!("update league.events set line = line || ' ' {last}"),
        format!(
            "insert into league.events \
             select league_id, agent, sequence + 1, line from league.events {last}"
        ),
    ] {
        let field = Field::new(Store::shared(), 1);
        let manager = field.start_in_charge(0);
        field.store.ask(&lost);
        let lines = field.store.ask(LINES);
        let mut lever = field.pull_lever(0, "pause");
        let ended = manager.end();
        assert_eq!(ended.code, Some(3), "{ended:?}");
        assert!(ended.errors.contains("has lost line"), "{lost}: {ended:?}");
        assert!(!lever.wait().unwrap().success(), "it was acknowledged");
        assert_eq!(field.store.ask(LINES), lines, "{lost}");
    }
}

#[test]
fn league_whose_manager_failed_in_a_process_that_goes_on_is_free() {
    let (store, ground) = (Store::shared(), Ground::new());
    let own = ["--store", &store.url, "--port", "0", "--players", "0"];
    let create = |league| {
        let elsewhere = Ground::new();
        let create = [&own[..], &["--create", "--league-id", league]].concat();
        let created = elsewhere.start("manager", &create).end();
        assert_eq!(created.code, Some(0), "{created:?}");
    };
    create("second");
    let mut host = ground.start("manager", &[&own[..4], &["--leagues", "1"]].concat());
    let greeting = host.event("event", "host");
    host.event("league_id", "second");
    // It is taken instead of the other one, so that the process does not take that again.
    create("first");
    let base = greeting["endpoint"].as_str().unwrap();
    let endpoint = format!("{base}/leagues/second/mcp");
    store.ask("delete from league.events where league_id = 'second'");
    let mut lever = pull_lever(&ground, &endpoint, "pause");
    assert!(!lever.wait().unwrap().success());
    host.event("event", "left");
    host.event("league_id", "first");
    // When this lease was renewed twice, the other one would have been too.
    let until = |league| {
        store.ask(&format!(
            "select until from league.leases where league_id = '{league}'"
        ))
    };
    for _ in 0..2 {
        let before = until("first");
        let renewed = eventually(|| (until("first") != before).then_some(()));
        assert!(renewed.is_some(), "it is not renewed");
    }
    let held = "select count(*) from league.leases where league_id = 'second' and until > now()";
    assert_eq!(store.number(held), 0);
}

#[test]
fn agents_that_were_killed_take_their_journals_again() {
    let field = Field::new(Store::shared(), 1);
    let (ground, port) = &field.desks[0];
    let (port, url) = (port.to_string(), &field.store.url);
    let stored = ["--store", url, "--referee-key", "key-of-the-organiser"];
    let own = [&["--port", &port, "--players", "0"], &stored[..]].concat();
    let start = || ground.start("manager", &own);
    let mut manager = start();
    manager.event("event", "manager");
    let mut referee = field.elsewhere.referee(1, &field.endpoint(0), &stored);
    manager.kill();
    let mut manager = start();
    manager.line(|line| line.contains("LEASE_AWAITED"));
    manager.event("event", "manager");
    referee.process.kill();
    let (port, endpoint) = (referee.port(), field.endpoint(0));
    let mut again = field.elsewhere.referee_at(port, 1, &endpoint, &stored);
    again.process.see_running();
}

#[test]
fn manager_that_waits_for_its_own_lease_refers_no_caller_to_itself() {
    let field = Field::new(Store::shared(), 1);
    let store = &field.store;
    field.start_in_charge(0).kill();
    // Each look of a manager that waits is such a statement.
    store.ask(
        "update league.leases set until = now() + interval '1 hour'; \
         create table looks (at timestamptz); \
         create function look() returns trigger language plpgsql as $$ begin \
            insert into looks values (now()); return null; end $$; \
         create trigger look before insert on league.leases \
            for each statement execute function look()",
    );
    let mut manager = field.start_manager(0);
    let looks = || store.number("select count(*) from looks");
    assert!(eventually(|| (looks() > 1).then_some(())).is_some());
    let answer = |path| request(&field.endpoint(0), "GET", path, b"");
    assert_eq!(answer("/").status, 503);
    let health = answer("/health").json();
    assert!(health["league_manager"].is_null(), "{health}");
    store.ask("update league.leases set until = now()");
    manager.event("event", "manager");
}
