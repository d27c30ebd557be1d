//! Agents at names and behind tunnels: leagues over TLS whose manager and referee resolve the names,
//! and what is said where a name leads astray or a certificate is not trusted.

use std::io;
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::thread;

use serde_json::json;

use crate::end_to_end::ground::{Agent, Ground};
use crate::end_to_end::http::request_with;
use crate::end_to_end::secured::{class, file, serve_as, words};
use crate::end_to_end::stepped::referee_key;

/// A root whose agents find these names.
fn knowing(hosts: &[(&str, &str)]) -> Ground {
    let ground = Ground::hasty();
    let hosts: serde_json::Map<_, _> = hosts
        .iter()
        .map(|(name, address)| ((*name).to_owned(), json!(address)))
        .collect();
    let path = ground.path("config/system.json");
    let system = std::fs::read(&path).unwrap();
    let mut system: serde_json::Value = serde_json::from_slice(&system).unwrap();
    system["network"] = json!({"hosts": hosts});
    ground.write("config/system.json", &system);
    ground
}

/// Lets the agents of a root answer over TLS at a name; gives their flags.
fn at_name(ground: &Ground, class: &Ground, address: &str, name: &str) -> Vec<String> {
    serve_as(ground, class, name);
    let ca = file(class, "ca.pem");
    ["--bind", address, "--host", name, "--ca", &ca]
        .map(str::to_owned)
        .into()
}

/// Forwards every connection to another address; gives the port at which it listens.
fn tunnel(from: &str, to: SocketAddr) -> u16 {
    let listener = TcpListener::bind((from, 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for near in listener.incoming().map_while(Result::ok) {
            let Ok(far) = TcpStream::connect(to) else {
                continue;
            };
            for (mut from, mut into) in [
                (near.try_clone().unwrap(), far.try_clone().unwrap()),
                (far, near),
            ] {
                thread::spawn(move || {
                    // Either end may leave at any time.
                    let _ = io::copy(&mut from, &mut into);
                    let _ = into.shutdown(Shutdown::Write);
                });
            }
        }
    });
    port
}

#[test]
fn league_is_played_by_agents_at_names_and_behind_a_tunnel() {
    let class = class(&["127.0.0.2", "heron.example", "whistle.example"]);
    let hosts = [
        ("heron.example", "127.0.0.4"),
        ("whistle.example", "127.0.0.3"),
        ("crane.example", "127.0.7.2"),
    ];
    let [organiser, whistle] = [knowing(&hosts), knowing(&hosts)];
    let [heron, crane] = [Ground::hasty(), Ground::hasty()];
    let ca = file(&class, "ca.pem");
    serve_as(&organiser, &class, "127.0.0.2");
    let allow = ["--allow", "127.0.0.0/8"];
    let tls = ["--ca", &*ca];
    let counts = ["--players", "2", "--referees", "1"];
    let own = [&["--bind", "127.0.0.2"][..], &allow, &tls, &counts].concat();
    let mut manager = organiser.manager(&own);
    let at = manager.endpoint.clone();
    let key = referee_key(&organiser);
    let named = at_name(&whistle, &class, "127.0.0.3", "whistle.example");
    let more = [&allow[..], &["--exit-when-done", "--referee-key", &key]].concat();
    let referee = whistle.referee(1, &at, &words(&named, &more));
    let named = at_name(&heron, &class, "127.0.0.4", "heron.example");
    let first = heron.player(1, &at, &words(&named, &["--exit-when-done"]));
    let port = tunnel("127.0.7.2", "127.0.7.1:8101".parse().unwrap());
    let url = format!("http://Crane.example:{port}");
    let own = ["--bind", "127.0.7.1", "--ca", &ca, "--public-url", &url];
    let own = [&own[..], &["--exit-when-done"]].concat();
    let second = crane.player_at(8101, 2, &at, &own);
    let tunnelled = format!("http://crane.example:{port}/mcp");
    assert_eq!(second.endpoint, tunnelled);
    assert!(first.endpoint.starts_with("https://heron.example:"));
    assert!(referee.endpoint.starts_with("https://whistle.example:"));
    let straight = "http://127.0.7.1:8101/mcp";
    for (host, status) in [("crane.example", 200), ("heron.example", 403)] {
        let answer = request_with(straight, "GET", "/health", &[("host", host)], b"");
        assert_eq!(answer.status, status, "{host}");
    }
    let registered = first.endpoint.clone();
    manager.process.event("state", "completed");
    for Agent { process, .. } in [referee, first, second] {
        let ended = process.end();
        assert_eq!((ended.code, &*ended.errors), (Some(0), ""), "{ended:?}");
    }
    let results = organiser.results();
    assert_eq!(results.len(), 1);
    for (id, result) in &results {
        assert_ne!(result["status"], "TECHNICAL_LOSS", "{id}: {result}");
    }
    let facts = json!(organiser.facts("player_registered")).to_string();
    assert!(
        facts.contains(&registered) && facts.contains(&tunnelled),
        "{facts}"
    );
    assert_eq!(organiser.verified()["results"], 1);
}

#[test]
fn name_that_leads_to_the_managers_machine_is_refused_unless_a_network_is_allowed() {
    let hosts = [
        ("heron.example", "127.0.0.1"),
        ("crane.example", "10.9.8.7"),
    ];
    let organiser = knowing(&hosts);
    let manager = organiser.manager(&["--allow", "public"]);
    for (name, said) in [
        ("heron.example", "`127.0.0.1` is an address of this machine"),
        (
            "crane.example",
            "the organiser allows it with `--allow 10.9.8.7`",
        ),
    ] {
        let student = Ground::hasty();
        let url = format!("http://{name}:8101/mcp");
        let own = [
            "--port",
            "0",
            "--manager",
            &manager.endpoint,
            "--public-url",
            &url,
        ];
        let ended = student.start("player", &own).end();
        assert_eq!(ended.code, Some(3), "{ended:?}");
        let start = format!("`{name}` leads to an address that is not called: ");
        let told = ended.out + &ended.errors;
        assert!(told.contains(&start) && told.contains(said), "{told}");
    }
}

#[test]
fn agent_whose_certificate_is_not_trusted_is_told_as_such() {
    let class = class(&["heron.example"]);
    let organiser = knowing(&[("heron.example", "127.0.0.4")]);
    let counts = [
        "--players",
        "2",
        "--referees",
        "1",
        "--allow",
        "127.0.0.0/8",
    ];
    let mut manager = organiser.manager(&counts);
    let [student, other] = [Ground::hasty(), Ground::hasty()];
    let named = at_name(&student, &class, "127.0.0.4", "heron.example");
    let _agents = [
        student.player(1, &manager.endpoint, &words(&named, &[])),
        other.player(2, &manager.endpoint, &[]),
        organiser.referee(1, &manager.endpoint, &[]),
    ];
    let told = "the certificate of `heron.example` is signed by an authority that is not trusted \
                here; trust it with `--ca FILE`";
    let mut kinds = vec!["OUT_OF_REACH", "NOT_CALLED"];
    // They come in any order.
    while !kinds.is_empty() {
        let is_new = |line: &str| kinds.iter().any(|kind| line.contains(kind));
        let warning = manager.process.line(is_new);
        kinds.retain(|kind| !warning.contains(kind));
        assert!(warning.contains(told), "{warning}");
        assert!(!warning.contains("firewall"), "{warning}");
    }
}
