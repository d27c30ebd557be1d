//! Leagues over TLS, and what is refused.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;

use serde_json::json;

use crate::end_to_end::certificates;
use crate::end_to_end::ground::{Agent, Ground};
use crate::end_to_end::http::request;
use crate::end_to_end::pages::played;
use crate::end_to_end::process::{Process, ProcessExit, league};
use crate::end_to_end::stepped::referee_key;

/// An authority, and a certificate for each of these hosts.
pub(crate) fn class(hosts: &[&str]) -> Ground {
    let ground = Ground::new();
    certificates::make(&ground, hosts);
    ground
}

pub(crate) fn file(class: &Ground, name: &str) -> String {
    class.path("certs").join(name).to_str().unwrap().to_owned()
}

/// Lets the agents of a root speak TLS with a certificate of a class; gives the flags of an agent at
/// an address that trusts the authority.
fn secured(ground: &Ground, class: &Ground, address: &str, cert: &str) -> Vec<String> {
    serve_as(ground, class, cert);
    let ca = file(class, "ca.pem");
    ["--bind", address, "--allow", "127.0.0.0/8", "--ca", &ca]
        .map(str::to_owned)
        .into()
}

/// Lets the agents of a root speak TLS with the certificate of a host.
pub(crate) fn serve_as(ground: &Ground, class: &Ground, host: &str) {
    let path = |ending: &str| file(class, &format!("{host}.{ending}"));
    certificates::serve_with(ground, &path("pem"), &path("key"));
}

pub(crate) fn words<'a>(flags: &'a [String], more: &[&'a str]) -> Vec<&'a str> {
    let flags = flags.iter().map(String::as_str);
    flags.chain(more.iter().copied()).collect()
}

/// Asks a manager for the standings, with these flags.
fn query(manager: &str, flags: &[&str]) -> ProcessExit {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().to_str().unwrap();
    let common = ["query", "standings", "--root", root, "--manager", manager];
    league(common.iter().chain(flags))
}

#[test]
fn league_is_played_over_tls() {
    let addresses = ["127.0.0.2", "127.0.0.3", "127.0.0.4", "127.0.0.5"];
    let class = class(&addresses);
    let roots = addresses.map(|_| Ground::new());
    let mut at_each = addresses.iter().zip(&roots);
    let flags = [(); 4].map(|()| {
        let (address, root) = at_each.next().unwrap();
        secured(root, &class, address, address)
    });
    let counts = ["--players", "2", "--referees", "1"];
    let mut manager = roots[0].manager(&words(&flags[0], &counts));
    assert!(manager.endpoint.starts_with("https://127.0.0.2:"));
    let at = manager.endpoint.clone();
    let more = ["--exit-when-done"];
    let key = referee_key(&roots[0]);
    let admitted = ["--exit-when-done", "--referee-key", &key];
    let agents = [
        roots[1].referee(1, &at, &words(&flags[1], &admitted)),
        roots[2].player(1, &at, &words(&flags[2], &more)),
        roots[3].player(2, &at, &words(&flags[3], &more)),
    ];
    for Agent { endpoint, .. } in &agents {
        assert!(endpoint.starts_with("https://127.0.0."), "{endpoint}");
    }
    manager.process.event("state", "completed");
    for agent in agents {
        let ended = agent.process.end();
        assert_eq!((ended.code, &*ended.errors), (Some(0), ""), "{ended:?}");
    }
    let results = roots[0].results();
    assert_eq!(results.len(), 1);
    for (id, result) in &results {
        assert_ne!(result["status"], "TECHNICAL_LOSS", "{id}: {result}");
    }
    let registered = roots[0].facts("player_registered");
    assert!(json!(registered).to_string().contains("https://127.0.0.5:"));
    assert_eq!(roots[0].verified()["results"], 1);
    let asked = query(&at, &["--ca", &file(&class, "ca.pem")]);
    assert_eq!(asked.code, Some(0), "{asked:?}");
}

#[test]
fn plain_players_join_a_manager_with_tls_by_its_name() {
    let class = class(&["127.0.0.1"]);
    let [organiser, student] = [Ground::new(), Ground::new()];
    let flags = secured(&organiser, &class, "127.0.0.1", "127.0.0.1");
    let counts = ["--players", "2", "--referees", "1"];
    let mut manager = organiser.manager(&words(&flags, &counts));
    let at = format!("https://localhost:{}", manager.port());
    let ca = file(&class, "ca.pem");
    let trusting = ["--ca", &*ca];
    let key = referee_key(&organiser);
    let _agents = [
        student.referee(1, &at, &[&trusting[..], &["--referee-key", &key]].concat()),
        student.player(1, &at, &trusting),
        student.player(2, &at, &trusting),
    ];
    manager.process.event("state", "completed");
    for (id, result) in &organiser.results() {
        assert_ne!(result["status"], "TECHNICAL_LOSS", "{id}: {result}");
    }
}

#[test]
fn whole_league_and_its_pages_are_served_with_configured_certificates() {
    let class = class(&["127.0.0.1"]);
    let security = |ca: Option<&str>| {
        json!({"security": {
            "tls_cert": "certs/127.0.0.1.pem", "tls_key": "certs/127.0.0.1.key", "ca": ca,
        }})
    };
    class.write("config/system.json", &security(None));
    let run = ["run", "--ports", "auto", "--root", class.root()];
    let refused = league(run);
    assert_eq!(refused.code, Some(2), "{refused:?}");
    let said = "its agents could not call each other: the certificate of `localhost` is signed by \
                an authority that is not trusted here";
    assert!(refused.errors.contains(said), "{refused:?}");
    class.write("config/system.json", &security(Some("certs/ca.pem")));
    let mut process = Process::start(run.iter().chain(&["--output", "json"]));
    let opening = process.event("event", "league");
    for address in [&opening["manager"], &opening["page"]] {
        assert!(address.as_str().unwrap().starts_with("https://localhost:"));
    }
    let ended = process.end();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let mut serve = class.start("serve", &["--port", "0"]);
    let page = serve.event("event", "page")["page"].clone();
    assert!(page.as_str().unwrap().starts_with("https://localhost:"));
}

#[test]
fn manager_tells_how_to_join_over_tls() {
    let class = class(&["192.0.2.7"]);
    let ground = Ground::new();
    let flags = secured(&ground, &class, "0.0.0.0", "192.0.2.7");
    let own = [
        "manager",
        "--root",
        ground.root(),
        "--port",
        "0",
        "--host",
        "192.0.2.7",
    ];
    let mut manager = Process::start(own.iter().copied().chain(words(&flags, &[])));
    manager.said("its page at https://192.0.2.7:");
    for said in ["league player", "python3 player.py"] {
        let line = manager.said(said);
        assert!(line.contains("--manager https://192.0.2.7:"), "{line}");
        assert!(line.contains("/mcp --ca ca.pem --"), "{line}");
    }
    manager.said("agents look for it without TLS; start them with `--manager https://");
}

#[test]
fn server_that_cannot_be_trusted_is_not_called() {
    let (first, second) = (class(&["127.0.0.2"]), class(&["127.0.0.2"]));
    let ground = Ground::new();
    // Its certificate is for another address.
    let flags = secured(&ground, &first, "127.0.0.3", "127.0.0.2");
    let mut manager = ground.start("manager", &words(&flags, &["--port", "0"]));
    let warning = manager.event("event", "warning");
    let sentence = warning["sentence"].as_str().unwrap();
    assert!(sentence.contains("not for `127.0.0.3`"), "{warning}");
    let endpoint = manager.event("event", "manager")["endpoint"].clone();
    let endpoint = endpoint.as_str().unwrap();
    let ca = |class: &Ground| file(class, "ca.pem");
    let (good, wrong) = (ca(&first), ca(&second));
    for (flags, said) in [
        (
            &[][..],
            "an authority that is not trusted here; trust it with `--ca FILE`",
        ),
        (
            &["--ca", &*wrong],
            "an authority that is not trusted here; trust it with `--ca FILE`",
        ),
        (
            &["--ca", &*good],
            "is for `127.0.0.2`, `localhost`, `127.0.0.1`, `::1`, not for `127.0.0.3`",
        ),
    ] {
        let asked = query(endpoint, flags);
        assert_eq!(asked.code, Some(3), "{asked:?}");
        assert!(asked.errors.contains(said), "{asked:?}");
    }
    let plain = endpoint.replace("https://", "http://");
    let asked = query(&plain, &[]);
    assert_eq!(asked.code, Some(3), "{asked:?}");
    assert!(
        asked.errors.contains("speaks TLS, not plain HTTP"),
        "{asked:?}"
    );
    let answer = request(&plain, "GET", "/health", b"");
    assert_eq!(answer.status, 400);
    assert!(answer.body.contains("this port speaks TLS"), "{answer:?}");
}

#[test]
fn player_names_the_flag_for_an_unknown_authority() {
    let class = class(&["127.0.0.2"]);
    let [organiser, student] = [Ground::new(), Ground::hasty()];
    let flags = secured(&organiser, &class, "127.0.0.2", "127.0.0.2");
    let manager = organiser.manager(&words(&flags, &[]));
    let arguments = ["--port", "0", "--player-id", "P01"];
    let arguments = [&["--manager", &manager.endpoint][..], &arguments].concat();
    // The warning may come before the player says where it answers.
    let warning = student
        .start("player", &arguments)
        .event("event", "warning");
    let sentence = warning["sentence"].as_str().unwrap();
    assert!(sentence.contains("trust it with `--ca FILE`"), "{warning}");
}

#[test]
fn manager_that_cannot_trust_an_admitted_player_warns() {
    let class = class(&["127.0.0.4"]);
    let [organiser, student] = [Ground::new(), Ground::new()];
    let mut manager = organiser.manager(&[]);
    let flags = secured(&student, &class, "127.0.0.4", "127.0.0.4");
    let _player = student.player(1, &manager.endpoint, &words(&flags, &[]));
    let warning = manager.process.event("event_type", "OUT_OF_REACH");
    let sentence = warning["sentence"].as_str().unwrap();
    assert!(
        sentence.contains("cannot be called at https://127.0.0.4:"),
        "{warning}"
    );
    assert!(sentence.ends_with("its certificate in PEM"), "{warning}");
}

#[test]
fn wrong_certificate_files_are_refused_before_the_start() {
    let class = class(&["127.0.0.1", "127.0.0.2"]);
    let ground = Ground::new();
    fs::write(class.path("certs/garbage"), "garbage").unwrap();
    for (cert, key, said) in [
        ("none.pem", "127.0.0.1.key", "none.pem`: No such file"),
        (
            "garbage",
            "127.0.0.1.key",
            "garbage` does not hold a certificate in PEM",
        ),
        (
            "127.0.0.1.pem",
            "garbage",
            "garbage` does not hold a private key in PEM",
        ),
        (
            "127.0.0.1.pem",
            "127.0.0.2.key",
            "does not fit the certificate",
        ),
    ] {
        let (cert, key) = (file(&class, cert), file(&class, key));
        certificates::serve_with(&ground, &cert, &key);
        for agent in ["manager", "referee", "player", "run"] {
            let refused = league([agent, "--root", ground.root()]);
            assert_eq!(refused.code, Some(2), "{refused:?}");
            assert!(refused.errors.contains(said), "{agent}: {refused:?}");
        }
    }
    let own = file(&class, "127.0.0.1.key");
    fs::set_permissions(&own, Permissions::from_mode(0o644)).unwrap();
    let flags = secured(&ground, &class, "127.0.0.1", "127.0.0.1");
    let mut manager = ground.start("manager", &words(&flags, &["--port", "0"]));
    let warning = manager.event("event", "warning");
    let sentence = warning["sentence"].as_str().unwrap();
    let said = format!("can read the key `{own}`; close it with `chmod 600 {own}`");
    assert!(sentence.contains(&said), "{warning}");
    manager.event("event", "manager");
}

#[test]
fn public_address_without_tls_needs_a_flag() {
    let ground = played(&["--players", "2"]);
    // No machine of ours has this address, so that listening fails after the check.
    let public = ["--root", ground.root(), "--bind", "9.9.9.9"];
    for agent in ["manager", "referee", "player", "run", "serve"] {
        let refused = league([agent].iter().chain(&public));
        assert_eq!(refused.code, Some(2), "{agent}: {refused:?}");
        let said = "cause: `9.9.9.9` is a public address";
        assert!(refused.errors.contains(said), "{agent}: {refused:?}");
        for hint in ["`security.tls_cert`", "`--insecure`"] {
            assert!(refused.errors.contains(hint), "{agent}: {refused:?}");
        }
        let accepted = league([agent, "--insecure"].iter().chain(&public));
        assert_eq!(accepted.code, Some(3), "{agent}: {accepted:?}");
        let noted = accepted.errors.matches("as `--insecure` allows").count();
        assert_eq!(noted, 1, "{agent}: {accepted:?}");
    }
}
