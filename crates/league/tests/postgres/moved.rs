//! Leagues from a folder into a database and back, and the commands that read a league from there.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use crate::end_to_end::ground::Ground;
use crate::end_to_end::http::request_with;
use crate::end_to_end::process::league;
use crate::field::{Field, MATCHES, Store};

#[test]
fn export_is_the_folder_of_the_manager() {
    let mut field = Field::new(Store::shared(), 1);
    field.more = ["--exit-when-done"].map(str::to_owned).into();
    let manager = field.start_in_charge(0);
    field.start_agents();
    let ended = manager.end();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    // The journals were handed in.
    field.store.see_whole(&field);
    let exported = Ground::new();
    field.store.run(&["db", "export", exported.root()]);
    see_same(&field.desks[0].0, &exported);

    let mut serving = exported.start("serve", &["--port", "0", "--store", &field.store.url]);
    let greeting = serving.event("event", "page");
    let page = greeting["page"].as_str().unwrap();
    let board = request_with(page, "GET", "/", &[], b"").body;
    let played = format!("{MATCHES} of {MATCHES} matches played");
    assert!(
        board.contains(&played) || board.contains("Finished"),
        "{board}"
    );
}

#[test]
fn league_of_files_comes_back_from_the_database_byte_for_byte() {
    let own = Ground::new();
    let players = ["--players", "4", "--ports", "auto", "-q"];
    let ended = league([&["run", "--root", own.root()], &players[..]].concat());
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let store = Store::shared();
    store.run(&["db", "import", own.root()]);
    let back = Ground::new();
    store.run(&["db", "export", back.root()]);
    see_same(&own, &back);
    let again = league(["db", "import", own.root(), "--store", &store.url]);
    assert_eq!(again.code, Some(3), "{again:?}");
    assert!(
        again.errors.contains("is in the database already"),
        "{again:?}"
    );
    let listed = store.run(&["db", "list"]);
    assert!(listed.contains("over, epoch"), "{listed}");
    let empty = Ground::new();
    let page = empty.path("league.html");
    let page = ["export", empty.root(), "-o", page.to_str().unwrap()];
    for command in [
        &["verify", empty.root()][..],
        &page,
        &["export", empty.root(), "--rebuild"],
    ] {
        store.run(command);
    }
}

#[test]
fn league_of_one_process_is_kept_in_the_database() {
    let (own, store) = (Ground::new(), Store::shared());
    let played = ["--players", "4", "--ports", "auto", "-q"];
    let place = ["run", "--root", own.root(), "--store", &store.url];
    let ended = league([&place, &played[..]].concat());
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let back = Ground::new();
    store.run(&["db", "export", back.root()]);
    see_same(&own, &back);
    let listed = store.run(&["db", "list"]);
    assert!(listed.contains("over, epoch"), "{listed}");
    // Journals of referees alone stop no export.
    store.ask("delete from league.events where agent = 'manager'");
    let rest = Ground::new();
    let told = store.run(&["db", "export", rest.root()]);
    assert!(!told.contains("league_2025_even_odd"), "{told}");
}

#[test]
fn league_that_is_played_is_not_imported() {
    let own = Ground::new();
    let store = Store::shared();
    let manager = own.manager(&["--players", "0"]);
    let refused = league(["db", "import", own.root(), "--store", &store.url]);
    assert_eq!(refused.code, Some(3), "{refused:?}");
    let holder = format!("is already written by process `{}`", manager.process.pid());
    assert!(refused.errors.contains(&holder), "{refused:?}");
    assert_eq!(store.number("select count(*) from league.events"), 0);
}

#[test]
fn import_that_failed_goes_on_when_it_is_repeated() {
    let own = Ground::new();
    let players = ["--players", "4", "--ports", "auto", "-q"];
    let ended = league([&["run", "--root", own.root()], &players[..]].concat());
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let store = Store::shared();
    store.ask(
        "create function refuse() returns trigger language plpgsql as $$ begin \
            raise exception 'not now'; end $$; \
         create trigger refuse before insert on league.events for each row \
            when (new.agent = 'manager') execute function refuse()",
    );
    let failed = league(["db", "import", own.root(), "--store", &store.url]);
    assert_eq!(failed.code, Some(3), "{failed:?}");
    assert!(failed.errors.contains("not now"), "{failed:?}");
    store.ask("drop trigger refuse on league.events");
    store.ask("delete from league.events where agent = 'REF01' and sequence > 5");
    store.run(&["db", "import", own.root()]);
    let back = Ground::new();
    store.run(&["db", "export", back.root()]);
    see_same(&own, &back);
}

/// Sees that two folders have the same league.
fn see_same(one: &Ground, other: &Ground) {
    let (one, other) = (league_files(one), league_files(other));
    let names = |files: &BTreeMap<String, Vec<u8>>| files.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&one), names(&other));
    for (name, bytes) in &one {
        let (bytes, found) = (
            String::from_utf8_lossy(bytes),
            String::from_utf8_lossy(&other[name]),
        );
        assert_eq!(bytes, found, "{name}");
    }
    assert!(one.contains_key("journal.jsonl"), "{:?}", one.keys());
}

/// The files of the league by name, but for locks, for what agents observed of each other, and for
/// what `league run` notes for `--resume`.
fn league_files(ground: &Ground) -> BTreeMap<String, Vec<u8>> {
    let folder = ground.league("");
    let files = ground.files("data/leagues").into_iter();
    let named = files.map(|path| {
        let name = path.strip_prefix(&folder).unwrap_or(Path::new("?"));
        (
            name.to_string_lossy().into_owned(),
            fs::read(&path).unwrap(),
        )
    });
    let is_own =
        |name: &str| name.ends_with(".lock") || name.contains("observed") || name == "run.json";
    named.filter(|(name, _)| !is_own(name)).collect()
}
