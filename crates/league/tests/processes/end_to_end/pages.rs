//! Pages as they go over the wire: what is at which address, a feed that is taken up again, a
//! league that was tampered with, a report in one file.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::time::Instant;

use serde_json::Value;

use crate::end_to_end::ground::{Ground, LEAGUE};
use crate::end_to_end::http::{connect, request_with};
use crate::end_to_end::process::{BOUND, Process, eventually, league};

/// A league that is over, and its site.
pub(crate) fn served(ground: &Ground) -> (Process, String) {
    let mut process = ground.start("serve", &["--port", "0"]);
    let page = process.event("event", "page")["page"].clone();
    (process, page.as_str().unwrap().to_owned())
}

/// A league that was played to its end.
pub(crate) fn played(arguments: &[&str]) -> Ground {
    let ground = Ground::new();
    let common = ["run", "--ports", "auto", "-q", "--root", ground.root()];
    let ended = league(common.iter().chain(arguments));
    assert_eq!(ended.code, Some(0), "{ended:?}");
    ground
}

fn get(page: &str, path: &str) -> (u16, String) {
    let answer = request_with(page, "GET", path, &[], b"");
    (answer.status, answer.body)
}

/// The events of the feed, one after the other.
pub(crate) struct Viewer {
    lines: BufReader<TcpStream>,
}

impl Viewer {
    /// Goes to a page, knowing everything up to the event of an id.
    pub(crate) fn join(page: &str, last: Option<&str>) -> Self {
        let (mut stream, authority) = connect(page);
        let last = last.map(|id| format!("last-event-id: {id}\r\n"));
        let last = last.unwrap_or_default();
        let head = format!("GET /feed HTTP/1.1\r\nhost: {authority}\r\n{last}\r\n");
        stream.write_all(head.as_bytes()).unwrap();
        let lines = BufReader::new(stream);
        Self { lines }
    }

    /// The id and the content of the next patch.
    pub(crate) fn patch(&mut self) -> (String, Value) {
        let mut id = String::new();
        let mut line = String::new();
        let until = Instant::now() + BOUND;
        loop {
            assert!(Instant::now() < until, "beats, and no patch");
            line.clear();
            assert_ne!(
                self.lines.read_line(&mut line).unwrap(),
                0,
                "the feed ended"
            );
            if let Some(told) = line.strip_prefix("id: ") {
                id = told.trim().to_owned();
            }
            // Beats have no id.
            if let (Some(data), false) = (line.strip_prefix("data: "), id.is_empty()) {
                return (id, serde_json::from_str(data).unwrap());
            }
        }
    }
}

#[test]
fn every_page_of_a_finished_league_is_served() {
    let ground = played(&["--seed", "3"]);
    let (process, page) = served(&ground);
    for (path, status, words) in [
        ("/", 200, "Agent Alpha"),
        ("/match/R1M1", 200, "CHOOSE_PARITY_CALL"),
        ("/player/P01", 200, "Agent Alpha"),
        ("/film.json", 200, "The league is over"),
        ("/assets/style.css", 200, "{"),
        ("/match/R9M9", 404, "There is no <bdi>match</bdi> here"),
        (
            "/player/%3Cscript%3E",
            404,
            "There is no <bdi>player</bdi> here",
        ),
        ("/assets/../secrets", 404, ""),
        ("/elsewhere", 404, "There is no <bdi>page</bdi> here"),
    ] {
        let (found, body) = get(&page, path);
        assert_eq!(found, status, "{path}");
        assert!(body.contains(words), "{path}: {body}");
    }
    let other = request_with(&page, "POST", "/", &[], b"");
    assert_eq!(
        other.status, 404,
        "pages are looked at, and agents are called elsewhere"
    );
    let elsewhere = request_with(&page, "GET", "/", &[("host", "evil.example")], b"");
    assert_eq!(elsewhere.status, 403, "names that point here are kept out");
    drop(process);
}

#[test]
fn pages_hold_no_token() {
    let ground = played(&["--seed", "3"]);
    let (_process, page) = served(&ground);
    let secrets = ground.path("secrets").join(LEAGUE);
    let mut tokens = Vec::new();
    for file in fs::read_dir(secrets).unwrap() {
        let text = fs::read_to_string(file.unwrap().path()).unwrap();
        let long = text.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '-');
        tokens.extend(long.filter(|word| word.len() >= 32).map(str::to_owned));
    }
    assert!(!tokens.is_empty());
    for path in ["/", "/match/R1M1", "/player/P01", "/film.json"] {
        let (_, body) = get(&page, path);
        let shown = tokens.iter().find(|token| body.contains(*token));
        assert_eq!(shown, None, "{path}");
    }
}

/// Whether a patch tells that the league is over.
fn is_over(patch: &Value) -> bool {
    let summary = patch["set"]["summary"].as_str();
    summary.is_some_and(|summary| summary.contains("Finished"))
}

#[test]
fn returning_viewer_gets_missed_patches() {
    let ground = Ground::new();
    let arguments = [
        "--players",
        "6",
        "--ports",
        "auto",
        "--pace",
        "400ms",
        "--web",
    ];
    let mut process = ground.start("run", &arguments);
    let page = process.event("event", "league")["page"].clone();
    let page = page.as_str().unwrap();
    let mut constant = Viewer::join(page, None);
    let (first, whole) = constant.patch();
    assert!(
        whole["set"]["summary"].is_string(),
        "the first is the whole page"
    );
    let (second, _) = constant.patch();
    let (third, patch) = constant.patch();
    assert_ne!(second, third);
    let mut returned = Viewer::join(page, Some(&second));
    assert_eq!(
        returned.patch(),
        (third, patch.clone()),
        "and nothing twice"
    );
    let mut stranger = Viewer::join(page, Some("1-1"));
    let (_, whole) = stranger.patch();
    assert!(
        whole["set"]["summary"].is_string(),
        "{first} is another life"
    );
    // The last patch shows the league as it ended.
    let standings = process.event("event", "standings");
    process.event("event", "page");
    let winner = standings["standings"][0]["player_id"].as_str().unwrap();
    let mut newest = patch;
    while !is_over(&newest) {
        (_, newest) = constant.patch();
    }
    let champion = newest["set"]["summary"].as_str().unwrap();
    assert!(champion.contains(&format!("player/{winner}")), "{champion}");
    let ended = process.stop();
    assert_eq!(ended.code, Some(0), "{ended:?}");
}

#[test]
fn tampered_league_is_shown_as_tampered() {
    let ground = played(&["--seed", "3"]);
    let journal = ground.league("journal.jsonl");
    let text = fs::read_to_string(&journal).unwrap();
    let drawn = text.rfind("\"drawn_number\":").unwrap() + "\"drawn_number\":".len();
    let digit = &text[drawn..=drawn];
    let other = if digit == "3" { "5" } else { "3" };
    let forged = format!("{}{other}{}", &text[..drawn], &text[drawn + 1..]);
    fs::write(&journal, forged).unwrap();
    let (_process, page) = served(&ground);
    let (status, body) = get(&page, "/");
    assert_eq!(status, 200);
    assert!(body.contains("broken"), "{body}");
    let file = format!("data/leagues/{LEAGUE}/journal.jsonl, line ");
    assert!(body.contains(&file), "the page says where: {body}");
    assert!(!body.contains(ground.root()), "and nothing of the machine");
    assert!(
        body.contains("Agent Delta"),
        "and shows the league all the same"
    );
    for path in ["/match/R1M1", "/player/P01"] {
        let (_, body) = get(&page, path);
        assert!(body.contains("failed verification"), "{path}: {body}");
    }
    let export = league(["export", ground.root(), "--csv=matches"]);
    assert_eq!(export.code, Some(1), "{export:?}");
    let warning = format!("warning: this league does not verify: {file}");
    assert!(export.errors.contains(&warning), "{export:?}");
    assert!(
        export
            .errors
            .contains("; exported is what stands before it\n"),
        "{export:?}"
    );
    // The first round and its results stand before the damage.
    let rows = export.out.lines().skip(1).count();
    assert!((2..6).contains(&rows), "{export:?}");
}

#[test]
fn report_is_one_file_and_tables_are_for_other_programs() {
    let ground = played(&["--seed", "3"]);
    let file = ground.path("league.html");
    let file = file.to_str().unwrap();
    let ended = league(["export", ground.root(), "-o", file]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let page = fs::read_to_string(file).unwrap();
    for words in [
        "id=\"match-R1M1\"",
        "id=\"player-P04\"",
        "id=\"film\"",
        "Content-Security-Policy",
    ] {
        assert!(page.contains(words), "{words}");
    }
    for outside in ["src=\"http", "href=\"http", "url(http", "@import"] {
        assert!(!page.contains(outside), "{outside}");
    }
    let csv = league(["export", ground.root(), "--csv"]);
    assert_eq!(csv.out.lines().count(), 5, "{csv:?}");
    let json = league(["export", ground.root(), "--json"]);
    let json: Value = serde_json::from_str(&json.out).unwrap();
    assert_eq!(json["matches"].as_array().unwrap().len(), 6);
    let none = league(["export", "nowhere"]);
    assert_eq!(none.code, Some(2), "{none:?}");
    assert!(none.errors.contains("hint: "), "{none:?}");
}

#[test]
fn page_of_an_empty_league_says_so() {
    let ground = Ground::new();
    let manager = ground.manager(&["--players", "4"]);
    let (status, body) = get(&manager.endpoint, "/");
    assert_eq!(status, 200);
    assert!(body.contains("Even/Odd"), "{body}");
}

#[test]
fn crowd_of_readers_does_not_delay_the_league() {
    let ground = Ground::new();
    let arguments = [
        "--players",
        "12",
        "--ports",
        "auto",
        "--pace",
        "20ms",
        "--web",
    ];
    let mut process = ground.start("run", &arguments);
    let page = process.event("event", "league")["page"].clone();
    let page = page.as_str().unwrap().to_owned();
    // Before the first round there is no match to be asked for.
    process.event("event", "match");
    let ask = |path: &'static str| {
        let page = page.clone();
        std::thread::spawn(move || {
            for _ in 0..5 {
                let (status, _) = get(&page, path);
                assert!(matches!(status, 200 | 503), "{path}: {status}");
            }
        })
    };
    let paths = ["/film.json", "/", "/player/P01", "/match/R1M1"];
    let crowd: Vec<_> = paths
        .iter()
        .cycle()
        .take(120)
        .map(|path| ask(path))
        .collect();
    let standings = process.event("event", "standings");
    assert_eq!(standings["standings"][0]["played"], 11, "{standings}");
    assert_eq!(
        standings["technical_losses"],
        serde_json::json!({}),
        "{standings}"
    );
    for asking in crowd {
        asking.join().unwrap();
    }
}

#[test]
fn viewers_leave_half_of_the_connections_to_agents() {
    let ground = Ground::new();
    let system = serde_json::json!({"limits": {"max_connections": 8}});
    ground.write("config/system.json", &system);
    let manager = ground.manager(&["--players", "4"]);
    let page = manager.endpoint.trim_end_matches("mcp").to_owned();
    let seated: Vec<Viewer> = (0..4)
        .map(|_| {
            let mut viewer = Viewer::join(&page, None);
            viewer.patch();
            viewer
        })
        .collect();
    let (status, body) = get(&page, "/feed");
    assert_eq!(status, 503, "{body}");
    assert_eq!(get(&page, "/health").0, 200);
    drop(seated);
}

#[test]
fn foreign_file_beside_the_journal_breaks_no_page() {
    let ground = played(&["--seed", "3"]);
    let league = format!("data/leagues/{LEAGUE}/observed/REF09.json");
    let kind = serde_json::json!({"code": "E003", "path": "x", "clause": "y"});
    let count = |count: u64| serde_json::json!({"kind": kind, "count": count, "detail": "z"});
    let observed = serde_json::json!({
        "schema_version": "1.0.0", "league_id": LEAGUE, "observer": "REF09", "version": 1,
        "last_updated": "2026-01-01T00:00:00Z",
        "agents": {"player:P01": {"deviations": [count(u64::MAX), count(2)]}},
    });
    ground.write(&league, &observed);
    let matched = ground.path(&format!("data/matches/{LEAGUE}/R1M1.json"));
    let mut record: Value = serde_json::from_slice(&fs::read(&matched).unwrap()).unwrap();
    let said = record["transcript"][0].clone();
    record["transcript"] = vec![said; 20_000].into();
    fs::write(&matched, record.to_string()).unwrap();
    let (_process, page) = served(&ground);
    for path in ["/", "/player/P01", "/match/R1M1"] {
        assert_eq!(get(&page, path).0, 200, "{path}");
    }
}

#[test]
fn truncated_league_is_shown_as_broken() {
    let ground = played(&["--seed", "3"]);
    let journal = ground.league("journal.jsonl");
    let text = fs::read_to_string(&journal).unwrap();
    let kept: Vec<&str> = text.lines().take(16).collect();
    fs::write(&journal, kept.join("\n") + "\n").unwrap();
    let (_process, page) = served(&ground);
    let red = eventually(|| {
        let (_, board) = get(&page, "/");
        assert!(!board.contains("Finished"), "{board}");
        board.contains("Not verified.").then_some(())
    });
    assert!(red.is_some());

    fs::write(&journal, "").unwrap();
    let (_process, page) = served(&ground);
    let (status, board) = get(&page, "/");
    assert_eq!(status, 503, "{board}");
    assert!(
        board.contains("No league has begun in this folder"),
        "{board}"
    );
}
