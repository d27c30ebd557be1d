//! Several addresses of a manager, of which one holds the league; and what operators see of agents.

use std::collections::BTreeSet;
use std::io::{BufReader, Write};
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use serde_json::json;

use crate::end_to_end::ground::Ground;
use crate::end_to_end::http::{read_head, request};
use crate::end_to_end::process::{free_port, league};

/// A server that answers the path of every call so; gives its address, and how many calls came.
fn server(answer: impl Fn(&str) -> String + Send + 'static) -> (String, Arc<AtomicUsize>) {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let address = format!("http://{}/mcp", listener.local_addr().unwrap());
    let calls = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&calls);
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let mut reader = BufReader::new(stream);
            let Some((first, _)) = read_head(&mut reader) else {
                continue;
            };
            counted.fetch_add(1, Ordering::Relaxed);
            let head = answer(first.split(' ').nth(1).unwrap());
            let rest = "content-length: 0\r\nconnection: close\r\n\r\n";
            // The caller may be gone.
            let _ = reader
                .get_mut()
                .write_all(format!("HTTP/1.1 {head}\r\n{rest}").as_bytes());
        }
    });
    (address, calls)
}

/// A server that redirects every call to another manager, at the same path.
fn redirect_to(manager: &str) -> (String, Arc<AtomicUsize>) {
    let place = manager.trim_end_matches("/mcp").to_owned();
    server(move |path| format!("307 Temporary Redirect\r\nlocation: {place}{path}"))
}

#[test]
fn redirect_of_a_manager_is_followed_inside_the_list_and_refused_outside_it() {
    let (in_charge, called) = server(|_| "404 Not Found".to_owned());
    let (standby, asked) = redirect_to(&in_charge);
    let root = tempfile::tempdir().unwrap();
    let root = root.path().to_str().unwrap();
    let ask =
        |managers: &str| league(["query", "standings", "--root", root, "--manager", managers]);
    let calls = || [&asked, &called].map(|calls| calls.load(Ordering::Relaxed));
    let refused = ask(&standby);
    assert_eq!(refused.code, Some(3), "{refused:?}");
    let cause = format!(
        "it redirects to `{}`, and a call, which may carry a token, follows only to an address \
         that `--manager` lists",
        in_charge.replace("/mcp", "/health")
    );
    assert!(refused.errors.contains(&cause), "{refused:?}");
    assert_eq!(calls(), [1, 0]);
    let followed = ask(&format!("{standby},{in_charge}"));
    assert!(followed.errors.contains("HTTP status 404"), "{followed:?}");
    assert_eq!(calls(), [2, 1]);
}

#[test]
fn agents_find_the_manager_in_charge_and_their_figures_are_told() {
    let ground = Ground::new();
    let mut manager = ground.manager(&["--players", "2", "--referees", "1", "--pace", "20ms"]);
    let gone = format!("http://localhost:{}/mcp", free_port());
    let (standby, asked) = redirect_to(&manager.endpoint);
    let managers = format!("{gone},{standby},{}", manager.endpoint);
    let mut agents = vec![
        ground.referee(1, &managers, &[]),
        ground.player(1, &managers, &[]),
        ground.player(2, &managers, &[]),
    ];
    manager.process.event("state", "completed");
    for agent in &mut agents {
        agent.process.event("state", "completed");
    }
    assert!(
        asked.load(Ordering::Relaxed) >= 3,
        "each asked the standby once"
    );
    let query = [
        "query",
        "standings",
        "--root",
        ground.root(),
        "--manager",
        &managers,
    ];
    assert_eq!(league(query).code, Some(0));
    agents.push(manager);
    for agent in &agents {
        let ready = request(&agent.endpoint, "GET", "/ready", b"");
        assert_eq!((ready.status, ready.json()), (200, json!({"ready": true})));
        let told = request(&agent.endpoint, "GET", "/metrics", b"");
        assert_eq!(told.status, 200);
        let names = read_metrics(&told.body);
        for name in [
            "league_ready",
            "league_inbox_commands",
            "league_journal_batch_records",
        ] {
            assert!(names.contains(name), "{name}: {}", told.body);
        }
        let finished = "league_matches_finished_total{league_id=\"league_2025_even_odd\",agent=\"";
        let finished = told.body.lines().find(|line| line.starts_with(finished));
        assert!(
            finished.is_some_and(|line| line.ends_with("} 1")),
            "{}",
            told.body
        );
        assert_eq!(
            request(&agent.endpoint, "POST", "/metrics", b"").status,
            405
        );
    }
}

#[test]
fn agent_without_a_manager_is_not_ready() {
    let ground = Ground::new();
    let gone = format!("http://localhost:{}/mcp", free_port());
    let mut player = ground.player(1, &gone, &[]);
    player.process.event("state", "registering");
    let ready = request(&player.endpoint, "GET", "/ready", b"");
    assert_eq!(ready.status, 503);
    let reason = "registering: no manager has admitted it yet";
    assert_eq!(ready.json(), json!({"ready": false, "reason": reason}));
    read_metrics(&request(&player.endpoint, "GET", "/metrics", b"").body);
}

/// Reads a page of metrics by the rules of the format; gives the names of the metrics.
fn read_metrics(page: &str) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    let mut series = BTreeSet::new();
    assert!(page.ends_with('\n'));
    for line in page.lines() {
        if let Some(help) = line.strip_prefix("# HELP ") {
            let name = help.split(' ').next().unwrap();
            assert!(names.insert(name.to_owned()), "{name} is told twice");
        } else if let Some(kind) = line.strip_prefix("# TYPE ") {
            let (name, kind) = kind.split_once(' ').unwrap();
            assert!(names.contains(name), "{line}");
            assert!(["gauge", "counter", "histogram"].contains(&kind), "{line}");
            assert_eq!(kind == "counter", name.ends_with("_total"), "{line}");
        } else {
            let (sample, value) = line.rsplit_once(' ').unwrap();
            assert!(value.parse::<f64>().unwrap() >= 0.0, "{line}");
            assert!(series.insert(sample.to_owned()), "{line} is told twice");
            let (name, labels) = sample.split_once('{').unwrap();
            let parts = ["_bucket", "_sum", "_count"];
            let whole = parts.iter().find_map(|part| name.strip_suffix(part));
            let is_known = names.contains(name) || whole.is_some_and(|it| names.contains(it));
            assert!(is_known, "{line}");
            let labels = labels.strip_suffix('}').unwrap();
            for label in labels.split(',') {
                let (name, value) = label.split_once('=').unwrap();
                assert!(
                    name.bytes()
                        .all(|byte| byte == b'_' || byte.is_ascii_lowercase())
                );
                assert!(value.len() >= 2 && value.starts_with('"') && value.ends_with('"'));
            }
        }
    }
    names
}
