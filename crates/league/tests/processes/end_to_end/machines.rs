//! Leagues whose agents have addresses and roots of their own, as on machines of their own; and
//! what each side is told when they do not find each other.

use serde_json::{Value, json};

use crate::end_to_end::ground::{Ground, LEAGUE};
use crate::end_to_end::http::{call, request_with};
use crate::end_to_end::offered::ask;
use crate::end_to_end::pages::played;
use crate::end_to_end::process::Process;
use crate::end_to_end::scripted::registration;

/// A machine on which agents may answer nowhere, unless a flag says so.
fn machine() -> Ground {
    let ground = Ground::new();
    let system = json!({
        "security": {"allowed_endpoints": []},
        "timeouts": {"absent_player_timeout_sec": 0.3},
    });
    ground.write("config/system.json", &system);
    ground
}

/// The key that referees elsewhere show.
const KEY: [&str; 2] = ["--referee-key", "key-of-the-organiser"];

/// The address that a player or referee is given, and what it would be let in by.
fn at<'a>(address: &'a str, allowed: &[&'a str]) -> Vec<&'a str> {
    let allowed = allowed.iter().flat_map(|network| ["--allow", network]);
    ["--bind", address].into_iter().chain(allowed).collect()
}

/// Starts an agent that prints for people.
fn for_people(ground: &Ground, arguments: &[&str]) -> Process {
    let common = ["--root", ground.root(), "--port", "0"];
    Process::start(arguments.iter().chain(&common))
}

#[test]
fn league_is_played_between_agents_with_addresses_and_roots_of_their_own() {
    let [organiser, whistle, one, other] = [machine(), machine(), machine(), machine()];
    let bound = at("127.0.0.2", &["127.0.0.3", "127.0.0.4/31"]);
    let counts = ["--players", "2", "--referees", "1"];
    let mut manager = organiser.manager(&[&bound[..], &counts, &KEY].concat());
    assert!(manager.endpoint.starts_with("http://127.0.0.2:"));
    let bound = at("127.0.0.3", &["127.0.0.4/31"]);
    let referee = whistle.referee(1, &manager.endpoint, &[&bound[..], &KEY].concat());
    let players = [
        one.player(1, &manager.endpoint, &at("127.0.0.4", &[])),
        other.player(2, &manager.endpoint, &at("127.0.0.5", &[])),
    ];
    assert!(referee.endpoint.starts_with("http://127.0.0.3:"));
    assert!(players[1].endpoint.starts_with("http://127.0.0.5:"));
    manager.process.event("state", "completed");
    let results = organiser.results();
    assert_eq!(results.len(), 1);
    for (id, result) in &results {
        assert_ne!(result["status"], "TECHNICAL_LOSS", "{id}: {result}");
    }
    assert_eq!(organiser.verified()["results"], 1);
}

#[test]
fn whole_league_runs_on_a_given_address() {
    let ground = machine();
    let arguments = ["run", "--ports", "auto", "--root", ground.root()];
    let bound = ["--bind", "127.0.0.2", "--output", "json"];
    let mut run = Process::start(arguments.iter().chain(&bound));
    let opening = run.event("event", "league");
    let page = opening["page"].as_str().unwrap();
    assert!(page.starts_with("http://127.0.0.2:"), "{page}");
    assert_eq!(run.end().code, Some(0));
    assert_eq!(ground.results().len(), 6);
}

#[test]
fn forbidden_address_is_reported_on_both_sides_with_the_flag() {
    let (organiser, student) = (machine(), machine());
    let mut manager = for_people(&organiser, &["manager", "--bind", "127.0.0.2"]);
    let greeting = manager.line(|line| line.starts_with("league `"));
    let endpoint = greeting.rsplit(' ').next().unwrap().trim();
    let own = ["player", "--name", "Heron", "--manager", endpoint];
    let player = for_people(&student, &[&own[..], &["--bind", "127.0.0.5"]].concat());
    let ended = player.end();
    assert_eq!(ended.code, Some(3), "{ended:?}");
    let allow = "the organiser allows it with `--allow 127.0.0.5`";
    assert!(ended.errors.contains(allow), "{ended:?}");
    let told = manager.warning(|line| line.contains("Heron"));
    assert!(told.contains(allow), "{told}");
}

#[test]
fn referee_names_the_flag_for_a_forbidden_player_address() {
    let [organiser, whistle, student] = [machine(), machine(), machine()];
    let bound = at("127.0.0.2", &["127.0.0.0/8"]);
    let counts = ["--players", "2", "--referees", "1", "--exit-when-done"];
    let own = [&["manager"], &bound[..], &counts, &KEY].concat();
    let mut manager = for_people(&organiser, &own);
    let greeting = manager.line(|line| line.starts_with("league `"));
    let endpoint = greeting.rsplit(' ').next().unwrap().trim();
    let own = ["referee", "--referee-id", "REF01", "--bind", "127.0.0.3"];
    let named = [&own[..], &KEY, &["--manager"]].concat();
    let mut referee = for_people(&whistle, &[&named[..], &[endpoint]].concat());
    let bound = at("127.0.0.5", &[]);
    let _players = [1, 2].map(|number| student.player(number, endpoint, &bound));
    let told = referee.warning(|line| line.contains("is not called at http://127.0.0.5:"));
    assert!(told.contains("`--allow 127.0.0.5`"), "{told}");
    let told = manager.warning(|line| line.contains("does not take R1M1"));
    assert!(told.contains("is not called at"), "{told}");
    referee.stop();
    let named = [&named[..], &[endpoint, "--allow", "127.0.0.5"]].concat();
    let _referee = for_people(&whistle, &named);
    assert_eq!(manager.end().code, Some(0));
    let results = organiser.results();
    assert_eq!(results.len(), 1);
    for (id, result) in &results {
        assert_ne!(result["status"], "TECHNICAL_LOSS", "{id}: {result}");
    }
}

#[test]
fn uncallable_player_loses_without_delaying_the_others() {
    let [organiser, whistle, student] = [machine(), machine(), machine()];
    let often = json!({"probe_interval_sec": 0.2});
    organiser.write(&format!("config/leagues/{LEAGUE}.json"), &often);
    let bound = at("127.0.0.2", &["127.0.0.0/8"]);
    let counts = ["--players", "3", "--referees", "2"];
    let mut manager = organiser.manager(&[&bound[..], &counts, &KEY].concat());
    let bound = [&at("127.0.0.3", &["127.0.0.4"])[..], &KEY].concat();
    let _referees = [1, 2].map(|number| whistle.referee(number, &manager.endpoint, &bound));
    let _players = [(1, "127.0.0.4"), (2, "127.0.0.4"), (3, "127.0.0.5")].map(|(number, own)| {
        let mut player = student.player(number, &manager.endpoint, &at(own, &[]));
        player.process.event("state", "enrolled");
        player
    });
    manager.process.event("state", "completed");
    let results = organiser.results();
    assert_eq!(results.len(), 3);
    for (id, result) in &results {
        let barred = result.to_string().contains("P03");
        assert_eq!(
            result["status"] == "TECHNICAL_LOSS",
            barred,
            "{id}: {result}"
        );
        assert_eq!(
            result.to_string().contains("E009"),
            barred,
            "{id}: {result}"
        );
    }
    let moved = organiser.facts("matches_moved");
    let moved = moved
        .iter()
        .flat_map(|fact| fact["moves"].as_array().unwrap());
    let moved: Vec<&str> = moved
        .map(|moved| moved["match_id"].as_str().unwrap())
        .collect();
    assert!(moved.len() >= 2, "{moved:?}");
    for id in moved {
        let result = results[id].to_string();
        assert!(result.contains("P03"), "{id} was taken away: {result}");
    }
}

#[test]
fn local_registration_is_recognised_on_every_path() {
    let ground = Ground::new();
    // Others could reach it: a caller of whom nothing is known would count as one of them.
    let manager = ground.manager(&["--bind", "0.0.0.0", "--insecure", "--host", "127.0.0.1"]);
    for (name, more) in [("Heron", false), ("Egret", true)] {
        let endpoint = format!("http://localhost:{}/mcp", 1 + u16::from(more));
        let arguments = registration(name, &endpoint);
        let mut wanted = json!({"name": "register_player", "arguments": arguments});
        if more {
            // A call with more than a plain one has is read by others.
            wanted["more"] = true.into();
        }
        let answer = ask(&manager.endpoint, "tools/call", &wanted);
        let given = &answer["result"]["structuredContent"];
        assert_eq!(given["status"], "ACCEPTED", "{name}: {answer}");
    }
}

#[test]
fn proxied_registration_gets_only_listed_local_addresses() {
    let ground = Ground::new();
    let manager = ground.manager(&["--host", "board.example"]);
    let port = manager.endpoint.trim_end_matches("/mcp").rsplit(':').next();
    let reached = format!("http://127.0.0.1:{}/mcp", port.unwrap());
    let registered = |port: u16| {
        let endpoint = format!("http://localhost:{port}/mcp");
        let arguments = registration("Heron", &endpoint);
        let wanted = json!({"name": "register_player", "arguments": arguments});
        ask(&reached, "tools/call", &wanted)["result"]["structuredContent"].clone()
    };
    let refused = registered(22);
    assert_eq!(refused["status"], "REJECTED", "{refused}");
    let reason = refused["reason"].as_str().unwrap();
    assert!(
        reason.contains("config/agents/agents_config.json"),
        "{reason}"
    );
    assert_eq!(registered(8101)["status"], "ACCEPTED");
}

#[test]
fn whole_league_runs_behind_a_proxy() {
    let ground = Ground::new();
    let arguments = ["run", "--ports", "auto", "--root", ground.root()];
    let named = ["--host", "board.example", "--output", "json"];
    let mut run = Process::start(arguments.iter().chain(&named));
    let page = run.event("event", "league")["page"].clone();
    let page = page.as_str().unwrap();
    assert!(page.starts_with("http://board.example:"), "{page}");
    assert_eq!(run.end().code, Some(0));
    assert_eq!(ground.results().len(), 6);
}

#[test]
fn player_at_a_wrong_address_is_reported_to_the_organiser() {
    let ground = Ground::hasty();
    let counts = ["manager", "--players", "2", "--referees", "1"];
    let lost = ["--invite", "Lost=http://127.0.0.1:1/mcp"];
    let mut manager = for_people(&ground, &[&counts[..], &lost].concat());
    let greeting = manager.line(|line| line.starts_with("league `"));
    let endpoint = greeting.rsplit(' ').next().unwrap().trim();
    let _others = [
        ground.referee(1, endpoint, &[]),
        ground.player(1, endpoint, &[]),
    ];
    let silent = "does not answer at http://127.0.0.1:1/mcp: ";
    let told = manager.warning(|line| line.contains(silent));
    assert!(told.contains("answers at another address"), "{told}");
}

#[test]
fn admitted_but_uncallable_player_is_reported_at_once() {
    let (here, there) = (Ground::new(), Ground::new());
    // Nobody is at an address that is for examples.
    let bound = ["--bind", "0.0.0.0", "--insecure", "--host", "127.0.0.1"];
    let open = [&bound[..], &["--allow", "192.0.2.0/24"]].concat();
    let mut people = for_people(&here, &[&["manager"], &open[..]].concat());
    let greeting = people.line(|line| line.starts_with("league `"));
    let mut machines = there.manager(&open);
    let endpoint = greeting.rsplit(' ').next().unwrap().trim();
    for endpoint in [endpoint, &machines.endpoint] {
        let heron = registration("Heron", "http://192.0.2.1:9/mcp");
        let enrolment = call(endpoint, "register_player", &heron);
        assert_eq!(enrolment["status"], "ACCEPTED", "{enrolment}");
    }
    let told = "player `Heron` was admitted, but cannot be called at http://192.0.2.1:9/mcp: ";
    let line = people.warning(|line| line.contains("Heron"));
    assert!(line.starts_with(&format!("warning: {told}")), "{line}");
    let event = machines.process.event("event", "warning");
    assert_eq!(event["event_type"], "OUT_OF_REACH", "{event}");
    assert!(event["at"].is_string(), "{event}");
    let sentence = event["sentence"].as_str().unwrap();
    assert!(sentence.starts_with(told), "{event}");
}

#[test]
fn page_answers_only_to_the_names_of_its_machine() {
    let ground = played(&["--players", "2"]);
    let open = [
        "--port",
        "0",
        "--bind",
        "0.0.0.0",
        "--insecure",
        "--host",
        "board.example",
    ];
    let mut serve = ground.start("serve", &open);
    let page = serve.event("event", "page")["page"].clone();
    let page = page.as_str().unwrap();
    let port = page.trim_end_matches('/').rsplit(':').next().unwrap();
    assert_eq!(page, format!("http://board.example:{port}/"));
    let here = format!("http://127.0.0.1:{port}/");
    let status = |host: &str| {
        let headers = [("host", host)];
        request_with(&here, "GET", "/", &headers, b"").status
    };
    let own = rustix::system::uname();
    let own = own.nodename().to_str().unwrap();
    for host in ["board.example", "localhost", "127.0.0.1", own] {
        assert_eq!(status(&format!("{host}:{port}")), 200, "{host}");
    }
    for host in ["evil.example", "board.example.evil.example", "192.0.2.1"] {
        assert_eq!(status(&format!("{host}:{port}")), 403, "{host}");
    }
}

#[test]
fn reachable_manager_says_in_json_how_to_join() {
    let ground = Ground::new();
    let open = ["--bind", "0.0.0.0", "--insecure", "--host", "192.0.2.7"];
    let mut manager = ground.start("manager", &[&["--port", "0"], &open[..]].concat());
    let greeting: Value = manager.event("event", "manager");
    let endpoint = greeting["endpoint"].as_str().unwrap();
    assert!(endpoint.starts_with("http://192.0.2.7:"), "{greeting}");
    let join = format!("league player --manager {endpoint} --bind 0.0.0.0 --name NAME");
    assert_eq!(greeting["join"], join);
    let allowed = json!(["loopback", "192.0.2.7"]);
    assert_eq!(greeting["allowed_endpoints"], allowed);
}
