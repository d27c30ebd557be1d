//! Many who look at once: each is told everything, and one who does not listen holds up nobody.

use std::io::{ErrorKind, Write};
use std::net::TcpStream;
use std::thread;

use crate::ground::Ground;
use crate::pages::Viewer;
use crate::process::eventually;

/// How many look at once.
const VIEWERS: usize = 200;
/// More answers than the sockets of both sides hold, however far the system lets them grow.
const UNREAD: usize = 2_000;

/// The number of a patch, and whether it shows the league as it ended.
fn next(viewer: &mut Viewer) -> (u64, bool) {
    let (id, patch) = viewer.patch();
    let number = id.split_once('-').unwrap().1.parse().unwrap();
    let summary = patch["set"]["summary"].as_str().unwrap_or_default();
    (number, summary.contains("Finished"))
}

/// Watches to the end, and says how many patches there were; each comes after the one before.
fn watch(page: &str) -> u64 {
    let mut viewer = Viewer::join(page, None);
    let (first, mut over) = next(&mut viewer);
    let mut last = first;
    while !over {
        let (number, is_last) = next(&mut viewer);
        assert_eq!(number, last + 1, "a patch is missing");
        (last, over) = (number, is_last);
    }
    last - first + 1
}

/// One who asks and asks, and never reads: its socket is full from the beginning.
fn deaf(page: &str) -> TcpStream {
    let authority = page.trim_start_matches("http://").trim_end_matches('/');
    let mut stream = TcpStream::connect(authority).unwrap();
    stream.set_nonblocking(true).unwrap();
    let style = format!("GET /assets/style.css HTTP/1.1\r\nhost: {authority}\r\n\r\n");
    let feed = style.replace("/assets/style.css", "/feed");
    let requests = style.repeat(UNREAD) + &feed;
    let mut unsent = requests.as_bytes();
    while !unsent.is_empty() {
        match stream.write(unsent) {
            Ok(written) => unsent = &unsent[written..],
            // Nobody reads on who cannot answer.
            Err(error) if error.kind() == ErrorKind::WouldBlock => break,
            Err(error) => panic!("{error}"),
        }
    }
    stream
}

#[test]
fn everybody_is_told_everything_and_one_who_does_not_listen_is_let_go() {
    let ground = Ground::new();
    let arguments = [
        "--players",
        "8",
        "--ports",
        "auto",
        "--pace",
        "50ms",
        "--web",
    ];
    let mut process = ground.start("run", &arguments);
    let page = process.event("event", "league")["page"].clone();
    let page = page.as_str().unwrap();
    let deaf = deaf(page);
    let watching: Vec<_> = (0..VIEWERS)
        .map(|_| page.to_owned())
        .map(|page| thread::spawn(move || watch(&page)))
        .collect();
    let heard: Vec<u64> = watching
        .into_iter()
        .map(|one| one.join().unwrap())
        .collect();
    assert!(heard.iter().all(|patches| *patches > 1), "{heard:?}");
    process.event("event", "page");
    // It finds its connection closed without having read a byte.
    let gone = eventually(|| deaf.take_error().unwrap());
    assert!(gone.is_some(), "it keeps its place");
    let ended = process.stop();
    assert_eq!(ended.code, Some(0), "{ended:?}");
}
