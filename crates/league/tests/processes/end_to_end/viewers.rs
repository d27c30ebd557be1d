//! Many who look at once: each is told everything, and one who does not listen holds up nobody.

use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::thread;

use flate2::write::GzDecoder;

use crate::end_to_end::ground::Ground;
use crate::end_to_end::http::{connect, read_head};
use crate::end_to_end::pages::{Viewer, played, served};
use crate::end_to_end::process::eventually;

/// How many look at once.
const VIEWERS: usize = 200;
/// More answers than the sockets of both sides hold, however far the system lets them grow.
const UNREAD: usize = 2_000;

/// The number of a patch, and whether it shows the league as it ended.
fn next(viewer: &mut Viewer) -> (u64, bool) {
    let (id, patch) = viewer.patch();
    let number = id.split('-').nth(1).unwrap().parse().unwrap();
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
    let (mut stream, authority) = connect(page);
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
fn every_viewer_gets_every_patch_and_a_deaf_viewer_is_dropped() {
    let ground = Ground::new();
    let arguments = [
        "--players",
        "8",
        "--ports",
        "auto",
        "--pace",
        "300ms",
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
    // Whoever came when it was over was told so at once.
    assert!(heard.iter().any(|patches| *patches > 1), "{heard:?}");
    process.event("event", "page");
    // It finds its connection closed without having read a byte.
    let gone = eventually(|| deaf.take_error().unwrap());
    assert!(gone.is_some(), "it keeps its place");
    let ended = process.stop();
    assert_eq!(ended.code, Some(0), "{ended:?}");
}

/// The bytes of a feed over the wire up to its first patch, and what they say.
fn first_patch(page: &str, encoding: &str) -> (usize, String) {
    let (mut stream, authority) = connect(page);
    let head =
        format!("GET /feed HTTP/1.1\r\nhost: {authority}\r\naccept-encoding: {encoding}\r\n\r\n");
    stream.write_all(head.as_bytes()).unwrap();
    let mut stream = BufReader::new(stream);
    read_head(&mut stream).unwrap();
    let (mut bytes, mut plain) = (0, Vec::new());
    let mut packed = GzDecoder::new(Vec::new());
    loop {
        let mut size = String::new();
        stream.read_line(&mut size).unwrap();
        let size = usize::from_str_radix(size.trim(), 16).unwrap();
        let mut chunk = vec![0; size + "\r\n".len()];
        stream.read_exact(&mut chunk).unwrap();
        bytes += size;
        if encoding == "gzip" {
            packed.write_all(&chunk[..size]).unwrap();
            packed.flush().unwrap();
            plain.append(packed.get_mut());
        } else {
            plain.extend_from_slice(&chunk[..size]);
        }
        let text = String::from_utf8_lossy(&plain);
        if text.contains("data: ") && text.ends_with("\n\n") {
            return (bytes, text.into_owned());
        }
    }
}

#[test]
fn packed_feed_says_the_same_in_fewer_bytes() {
    let ground = played(&["--seed", "3"]);
    let (_process, page) = served(&ground);
    // The verdict comes a moment after the first look.
    let judged = eventually(|| {
        let (_, patch) = Viewer::join(&page, None).patch();
        let verdict = patch["set"]["verdict"].as_str().unwrap().to_owned();
        verdict.contains("holds").then_some(())
    });
    assert!(judged.is_some());
    let (bytes, plain) = first_patch(&page, "identity");
    assert_eq!(bytes, plain.len());
    let (fewer, packed) = first_patch(&page, "gzip");
    assert_eq!(packed, plain);
    assert!(fewer * 3 < bytes, "{fewer} of {bytes}");
}
