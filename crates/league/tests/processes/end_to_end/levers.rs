//! The levers of the organiser in a real league: each is pulled once while the manager is killed at
//! random moments, and nothing happens on the organiser's page without the key.
//!
//! `cargo xtask campaign levers` runs the first of these tests for as many leagues as it is told.

use std::collections::BTreeSet;
use std::fs;
use std::io::{Read, Write};
use std::thread;
use std::time::Duration;

use league_protocol::tools::LEVERS;
use serde_json::{Value, json};

use crate::end_to_end::campaign::{Chance, setting};
use crate::end_to_end::ground::{Agent, Ground};
use crate::end_to_end::http::{call, connect, request_with};
use crate::end_to_end::process::{Process, eventually, free_port, league};
use crate::end_to_end::stepped::admin_token;

/// How many leagues a usual run has; `LEAGUE_LEVER_LEAGUES` names another number.
const LEAGUES: u64 = 1;
/// The seed of a usual run; `LEAGUE_LEVER_SEED` names another.
const SEED: u64 = 1;
/// The longest wait before the manager is killed, in milliseconds: about as long as a lever takes.
const MAX_WAIT: u64 = 150;
/// How many players a league has.
const PLAYERS: u32 = 4;

#[test]
fn every_lever_holds_though_the_manager_is_killed() {
    let (leagues, seed) = (
        setting("LEAGUE_LEVER_LEAGUES", LEAGUES),
        setting("LEAGUE_LEVER_SEED", SEED),
    );
    let mut kills = 0;
    for number in 0..leagues {
        let seed = seed.wrapping_mul(1_000_003).wrapping_add(number);
        let mut field = LeverField::start(seed);
        field.before_the_start();
        field.in_play();
        kills += field.finish();
    }
    let levers = LEVERS.len();
    println!(
        "{leagues} leagues, {levers} levers each, {kills} kills; every lever is in the journal"
    );
}

/// A league whose manager is killed and started again.
struct LeverField {
    ground: Ground,
    manager: Agent,
    port: u16,
    chance: Chance,
    kills: u64,
    _others: Vec<Agent>,
}

/// How the manager is started, each time.
const MANAGER: [&str; 6] = [
    "--players",
    "0",
    "--matches-at-once",
    "1",
    "--pace",
    "200ms",
];

impl LeverField {
    fn start(seed: u64) -> Self {
        let ground = Ground::hasty();
        let port = free_port();
        let manager = ground.manager_at(port, &MANAGER);
        let mut others = Vec::new();
        for number in 1..=PLAYERS {
            let mut player = ground.player(number, &manager.endpoint, &[]);
            player.process.event("state", "enrolled");
            others.push(player);
        }
        let mut referee = ground.referee(1, &manager.endpoint, &[]);
        referee.process.event("state", "enrolled");
        others.push(referee);
        Self {
            ground,
            manager,
            port,
            chance: Chance(seed | 1),
            kills: 0,
            _others: others,
        }
    }

    /// How often the journal has a lever.
    fn count(&self, lever: &str) -> usize {
        let acts = self.ground.facts("organiser_acted");
        let acts = acts.iter().filter(|fact| fact["act"]["lever"] == lever);
        acts.count()
    }

    /// Pulls a lever while the manager may be killed; pulls it again if the journal does not have it.
    fn pull(&mut self, lever: &str, words: &[&str]) {
        let before = self.count(lever);
        let (root, manager) = (self.ground.root().to_owned(), self.manager.endpoint.clone());
        let common = ["--root", &root, "--manager", &manager];
        let words = [&["admin"], words, &common].concat();
        if self.chance.below(2) == 0 {
            let organiser = Process::start(&words);
            thread::sleep(Duration::from_millis(self.chance.below(MAX_WAIT)));
            self.manager.process.kill();
            organiser.end();
            self.kills += 1;
            self.manager = self.ground.manager_at(self.port, &MANAGER);
        }
        if self.count(lever) > before {
            return;
        }
        let ended = league(&words);
        assert_eq!(ended.code, Some(0), "{words:?}: {ended:?}");
        assert_eq!(self.count(lever), before + 1, "{words:?}: {ended:?}");
    }

    fn before_the_start(&mut self) {
        self.pull(
            "open_registration",
            &["open-registration", "--until", "60m"],
        );
        self.pull("set_capacity", &["capacity", "6", "--waiting", "2"]);
        self.pull("set_join_code", &["join-code", "4711"]);
        self.pull("set_join_code", &["join-code"]);
        let roster = self.ground.path("roster.txt");
        fs::write(&roster, "Spare # a name a line\nOther\n").unwrap();
        self.pull("set_roster", &["roster", roster.to_str().unwrap()]);
        let refused = self.register("Stranger", 17_001);
        assert_eq!(refused["status"], "REJECTED", "{refused}");
        let spare = self.register("Spare", 17_002);
        assert_eq!(spare["status"], "ACCEPTED", "{spare}");
        let id = spare["player_id"].as_str().unwrap();
        self.pull("set_roster", &["roster"]);
        self.pull(
            "share_address",
            &["share-address", "http://localhost:17002/mcp"],
        );
        self.pull("rename", &["rename", id, "Spare wheel"]);
        self.pull("new_token", &["new-token", id]);
        self.pull("readmit", &["readmit", id]);
        self.pull("remove", &["remove", id, "--reason", "it was a trial"]);
        self.pull(
            "admit_referee",
            &["admit-referee", "http://localhost:17003/mcp"],
        );
        self.pull("announce", &["announce", "We begin in a minute"]);
        self.pull("close_registration", &["close-registration"]);
    }

    fn in_play(&mut self) {
        self.pull("start", &["start"]);
        self.pull(
            "extend_player",
            &["extend", "--player", "P01", "--seconds", "5"],
        );
        // A paused league begins no match, so that there must be a result before.
        let played = self.first_result();
        self.pull("pause", &["pause", "--reason", "lunch"]);
        self.pull(
            "rule",
            &["rule", &played, "--draw", "--reason", "the net fell"],
        );
        self.pull("replay", &["replay", &played, "--reason", "both agree"]);
        self.pull(
            "disqualify",
            &[
                "disqualify",
                "P04",
                "--played",
                "annulled",
                "--reason",
                "rule 7",
            ],
        );
        self.pull(
            "disqualify",
            &[
                "disqualify",
                "P04",
                "--played",
                "kept",
                "--reason",
                "on appeal its results count",
            ],
        );
        self.pull("reinstate", &["reinstate", "P04"]);
        self.pull("resume", &["resume"]);
        // A match of the round that began last has a clock, or is over at once.
        eventually(|| {
            let opened = self.ground.facts("round_opened").len();
            let id = format!("R{opened}M2");
            let common = [
                "--root",
                self.ground.root(),
                "--manager",
                &self.manager.endpoint,
            ];
            let words = ["admin", "extend", "--match", &id, "--seconds", "5"];
            league([&words[..], &common].concat());
            (self.count("extend_match") > 0).then_some(())
        })
        .unwrap();
        let results = || self.ground.facts("result_recorded").len();
        eventually(|| (results() > 3).then_some(())).unwrap();
        // A paused league does not end either.
        self.pull("pause", &["pause"]);
        self.pull("annul", &["annul", "R2M1", "--reason", "a wrong seat"]);
        self.pull("withdraw", &["withdraw", "P03"]);
        self.pull("end", &["end", "--reason", "the bell rang"]);
    }

    /// The first match with a result.
    fn first_result(&self) -> String {
        let found = eventually(|| self.ground.facts("result_recorded").into_iter().next());
        found.unwrap()["match_id"].as_str().unwrap().to_owned()
    }

    /// Registers a player that does not answer.
    fn register(&self, name: &str, port: u16) -> Value {
        let meta = json!({
            "display_name": name, "version": "1.0.0", "game_types": ["even_odd"],
            "contact_endpoint": format!("http://localhost:{port}/mcp"),
        });
        call(
            &self.manager.endpoint,
            "register_player",
            &json!({"player_meta": meta}),
        )
    }

    /// Sees that all levers are in the journal and that `league verify` agrees.
    fn finish(self) -> u64 {
        eventually(|| (!self.ground.facts("league_completed").is_empty()).then_some(())).unwrap();
        let acts = self.ground.facts("organiser_acted");
        let pulled: BTreeSet<&str> = acts
            .iter()
            .filter_map(|fact| fact["act"]["lever"].as_str())
            .collect();
        let missing: Vec<&str> = LEVERS
            .iter()
            .map(|entry| entry.name)
            .filter(|name| !pulled.contains(name))
            .collect();
        assert_eq!(missing, Vec::<&str>::new());
        self.manager.process.stop();
        self.ground.verified();
        self.kills
    }
}

/// A form of the organiser's page, as a browser sends it.
fn form(manager: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> u16 {
    let origin = manager.trim_end_matches("/mcp");
    let usual = [
        ("content-type", "application/x-www-form-urlencoded"),
        ("origin", origin),
    ];
    let kept = usual
        .iter()
        .filter(|(name, _)| headers.iter().all(|(other, _)| other != name));
    let all: Vec<(&str, &str)> = kept.chain(headers).copied().collect();
    request_with(manager, "POST", path, &all, body).status
}

/// A form that must have no effect.
struct HostileForm {
    path: &'static str,
    headers: Vec<(&'static str, &'static str)>,
    body: Vec<u8>,
}

fn hostile(
    path: &'static str,
    headers: &[(&'static str, &'static str)],
    body: &[u8],
) -> HostileForm {
    HostileForm {
        path,
        headers: headers.to_vec(),
        body: body.to_vec(),
    }
}

/// Levers without a login, forged cookies, wrong keys, forms of other sites, other paths.
fn hostile_forms(login: &[u8]) -> Vec<HostileForm> {
    const COOKIES: [&str; 5] = [
        "league_organiser=",
        "league_organiser=00",
        "league_organiser=../../secrets",
        "league_organiser=' OR 1=1",
        "other=1; league_organiser=%00",
    ];
    const GUESSES: [&[u8]; 9] = [
        b"",
        b"key=",
        b"key=admin",
        b"key=%00",
        b"key=%zz",
        b"\xff\xfe",
        b"key=tok-admin-0000",
        &[b'a'; 100_000],
        b"key=x&key=y",
    ];
    const FOREIGN: [(&str, &str); 6] = [
        ("origin", "http://evil.example"),
        ("origin", "null"),
        ("content-type", "text/plain"),
        ("content-type", "application/json"),
        ("sec-fetch-site", "cross-site"),
        ("host", "evil.example"),
    ];
    let pull = b"lever=announce&text=hello&form_token=";
    let levers = LEVERS.iter().map(|entry| {
        let (name, rest) = (
            entry.name,
            "player_id=P01&match_id=R1M1&reason=x&form_token=1",
        );
        hostile(
            "/admin/pull",
            &[],
            format!("lever={name}&{rest}").as_bytes(),
        )
    });
    let cookies = COOKIES.into_iter().flat_map(|cookie| {
        ["/admin/pull", "/admin/logout"].map(|path| hostile(path, &[("cookie", cookie)], pull))
    });
    let guesses = GUESSES.map(|guess| hostile("/admin/login", &[], guess));
    let foreign = FOREIGN.map(|header| hostile("/admin/login", &[header], login));
    let paths = [
        "/admin/",
        "/admin/pull/..",
        "/admin/../admin/pull",
        "/admin/key",
    ];
    let paths = paths.map(|path| hostile(path, &[], pull));
    let forms = levers.chain(cookies).chain(guesses);
    forms.chain(foreign).chain(paths).collect()
}

#[test]
fn nothing_happens_on_the_organisers_page_without_the_key() {
    let ground = Ground::new();
    let manager = ground.manager(&["--players", "0"]);
    let at = &manager.endpoint;
    let right = format!("key={}", admin_token(&ground)).into_bytes();
    let before = fs::read(ground.league("journal.jsonl")).unwrap();
    let forms = hostile_forms(&right);
    assert!(forms.len() >= 50, "{}", forms.len());
    for HostileForm {
        path,
        headers,
        body,
    } in &forms
    {
        let status = form(at, path, headers, body);
        assert!(status >= 400, "{path} {headers:?}: {status}");
    }
    let after = fs::read(ground.league("journal.jsonl")).unwrap();
    assert_eq!(after, before, "nothing is written");
    // Too many wrong keys: no other is tried for a while, but the right one is taken.
    for _ in 0..10 {
        form(at, "/admin/login", &[], b"key=wrong");
    }
    assert_eq!(form(at, "/admin/login", &[], b"key=wrong"), 429);
    assert_eq!(form(at, "/admin/login", &[], &right), 303);
}

/// Logs in with the key; gives the cookie as it is set.
fn log_in(manager: &str, key: &str) -> String {
    let (mut stream, host) = connect(manager);
    let body = format!("key={key}");
    let length = body.len();
    let head = format!(
        "POST /admin/login HTTP/1.1\r\nhost: {host}\r\norigin: http://{host}\r\n\
         content-type: application/x-www-form-urlencoded\r\ncontent-length: {length}\r\n\
         connection: close\r\n\r\n{body}"
    );
    stream.write_all(head.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 303"), "{answer}");
    let mut lines = answer.lines();
    let cookie = lines.find_map(|line| line.strip_prefix("set-cookie: "));
    cookie.unwrap().to_owned()
}

#[test]
fn holder_of_the_key_pulls_levers_on_the_page() {
    let ground = Ground::new();
    let manager = ground.manager(&["--players", "0"]);
    let at = &manager.endpoint;
    let printed = league([
        "admin",
        "key",
        "-q",
        "--root",
        ground.root(),
        "--manager",
        at,
    ]);
    let key = printed.out.trim();
    assert_eq!(key, admin_token(&ground));
    let origin = at.trim_end_matches("/mcp");
    let kind = ("content-type", "application/x-www-form-urlencoded");
    let cookie = log_in(at, key);
    for word in ["HttpOnly", "SameSite=Strict"] {
        assert!(cookie.contains(word), "{cookie}");
    }
    let cookie = cookie.split(';').next().unwrap().to_owned();
    let page = request_with(at, "GET", "/admin", &[("cookie", &cookie)], b"").body;
    let token = page.split("name=\"form_token\" value=\"").nth(1).unwrap();
    let token = token.split('"').next().unwrap();
    assert!(!page.contains(key), "the page does not show the key");
    let headers = [kind, ("origin", origin), ("cookie", &*cookie)];
    let wrong = b"lever=announce&text=hello&form_token=wrong";
    let refused = request_with(at, "POST", "/admin/pull", &headers, wrong);
    assert_eq!(refused.status, 403, "{refused:?}");
    assert_eq!(ground.facts("organiser_acted").len(), 0);
    let body = format!("lever=announce&text=hello+all&form_token={token}");
    let answer = request_with(at, "POST", "/admin/pull", &headers, body.as_bytes());
    assert_eq!(answer.status, 303, "{answer:?}");
    let acts = ground.facts("organiser_acted");
    assert_eq!(
        acts[0]["act"],
        json!({"lever": "announce", "text": "hello all"})
    );
    let page = request_with(at, "GET", "/admin", &[("cookie", &cookie)], b"").body;
    assert!(page.contains("hello all"), "{page}");
    let board = request_with(at, "GET", "/", &[], b"").body;
    assert!(board.contains("hello all"), "everybody sees it");
}
