//! Pages of a league of the database, shown by processes that do not play it.

use std::io::{BufRead, BufReader, Write};

use serde_json::Value;

use crate::end_to_end::ground::Ground;
use crate::end_to_end::http::{connect, request_with};
use crate::end_to_end::process::{Process, eventually, league};
use crate::field::Store;

/// A finished league in a database.
fn finished() -> Store {
    let own = Ground::new();
    let players = ["--players", "4", "--ports", "auto", "-q"];
    let ended = league([&["run", "--root", own.root()], &players[..]].concat());
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let store = Store::shared();
    store.run(&["db", "import", own.root()]);
    store
}

/// Starts to serve the pages of a league of a database; gives their address too.
fn serve(ground: &Ground, store: &Store) -> (Process, String) {
    let mut serving = ground.start("serve", &["--port", "0", "--store", &store.url]);
    let greeting = serving.event("event", "page");
    let page = greeting["page"].as_str().unwrap().to_owned();
    (serving, page)
}

#[test]
fn pages_show_lines_of_which_no_notice_came() {
    let store = finished();
    store.ask(
        "create table league.hidden as select * from league.events \
         where agent = 'manager' and sequence > 3",
    );
    store.ask("delete from league.events where agent = 'manager' and sequence > 3");
    let ground = Ground::new();
    let (_serving, page) = serve(&ground, &store);
    let board = || request_with(&page, "GET", "/", &[], b"").body;
    assert!(!board().contains("Finished"));
    store.ask("insert into league.events select * from league.hidden");
    let shown = eventually(|| board().contains("Finished").then_some(()));
    assert!(shown.is_some(), "{}", board());
}

#[test]
fn viewer_goes_on_at_another_host() {
    let store = finished();
    let grounds = [Ground::new(), Ground::new()];
    let served = grounds.each_ref().map(|ground| serve(ground, &store));
    let [one, other] = served.each_ref().map(|(_, page)| page);
    let (_, whole) = first_event(one, None);
    assert!(!whole["set"].as_object().unwrap().is_empty(), "{whole}");
    // Each host verifies the league in its time, and shows that.
    let resumed = eventually(|| {
        let (id, _) = first_event(one, None);
        let (_, event) = first_event(other, Some(&id));
        event["set"]
            .as_object()
            .unwrap()
            .is_empty()
            .then_some(event)
    });
    let resumed = resumed.expect("the whole page was sent again");
    assert_eq!(resumed["touched"], serde_json::json!(["*"]));
}

/// The first event for a viewer that knows everything up to an id: its id, and what it holds.
fn first_event(page: &str, last: Option<&str>) -> (String, Value) {
    let (mut stream, authority) = connect(page);
    let last = last.map(|id| format!("last-event-id: {id}\r\n"));
    let last = last.unwrap_or_default();
    let head = format!("GET /feed HTTP/1.1\r\nhost: {authority}\r\n{last}\r\n");
    stream.write_all(head.as_bytes()).unwrap();
    let mut id = String::new();
    for line in BufReader::new(stream).lines() {
        let line = line.unwrap();
        if let Some(told) = line.strip_prefix("id: ") {
            told.clone_into(&mut id);
        }
        if let (Some(data), false) = (line.strip_prefix("data: "), id.is_empty()) {
            return (id, serde_json::from_str(data).unwrap());
        }
    }
    panic!("the feed ended");
}

#[test]
fn tables_are_reached_with_the_root_and_the_authorities_that_are_named() {
    let (store, ground) = (Store::shared(), Ground::new());
    let place = ["db", "list", "--store", &store.url, "--root", ground.root()];
    let ended = league(place);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let authorities = ground.path("missing.pem");
    let ended = league(place.iter().chain(&["--ca", authorities.to_str().unwrap()]));
    assert!(ended.errors.contains("missing.pem"), "{ended:?}");
    let system = serde_json::json!({"store": store.url});
    ground.write("config/system.json", &system);
    let ended = league(["db", "list", "--root", ground.root()]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
}
