//! The kits that `league new` writes: whole players, held to every rule.

use std::path::PathBuf;
use std::process::Command;

use serde_json::{Value, json};

use crate::end_to_end::certificates;
use crate::end_to_end::ground::{Ground, LEAGUE, results};
use crate::end_to_end::http::{Answer, request, request_with};
use crate::end_to_end::process::{eventually, free_port, league};
use crate::python::{Python, interpreter};

/// The languages of `league new`.
pub(crate) const LANGUAGES: [&str; 4] = ["python", "python-fastmcp", "javascript", "rust"];

/// One kit, as an author would start it, and where it answers.
pub(crate) struct Kit {
    pub(crate) program: Python,
    endpoint: String,
}

impl Kit {
    pub(crate) fn start(ground: &Ground, lang: &str, manager: &str) -> Self {
        Self::start_at(ground, lang, manager, free_port())
    }

    pub(crate) fn start_at(ground: &Ground, lang: &str, manager: &str, port: u16) -> Self {
        Self::start_trusting(ground, lang, manager, port, None)
    }

    /// Starts a kit that trusts an authority besides those of the platform.
    fn start_trusting(
        ground: &Ground,
        lang: &str,
        manager: &str,
        port: u16,
        ca: Option<&str>,
    ) -> Self {
        let folder = ground.path("kits");
        std::fs::create_dir_all(&folder).unwrap();
        let mut command = program(&folder, lang);
        command.current_dir(&folder);
        command.args(["--port", &port.to_string(), "--manager", manager]);
        command.args(["--name", &format!("Kit {lang} {port}")]);
        match (lang, ca) {
            (_, None) => {}
            ("javascript", Some(ca)) => {
                command.env("NODE_EXTRA_CA_CERTS", ca);
            }
            (_, Some(ca)) => {
                command.args(["--ca", ca]);
            }
        }
        Self {
            program: Python::of(command),
            endpoint: format!("http://localhost:{port}/mcp"),
        }
    }

    fn post(&self, body: impl AsRef<[u8]>) -> Answer {
        request(&self.endpoint, "POST", "/mcp", body.as_ref())
    }

    /// The result of a call.
    pub(crate) fn call(&self, tool: &str, message: &Value) -> Value {
        let call = json!({"jsonrpc": "2.0", "id": 1, "method": tool, "params": message});
        let answer = self.post(call.to_string());
        assert_eq!(answer.status, 200, "{answer:?}");
        answer.json()["result"].clone()
    }
}

/// What starts a kit, after it was written out; that in Rust was compiled as an example.
fn program(folder: &std::path::Path, lang: &str) -> Command {
    let file = folder.join(format!("written-{lang}"));
    if lang != "rust" {
        let place = file.to_str().unwrap();
        let written = league(["new", "player", "--lang", lang, "-o", place, "--force"]);
        assert_eq!(written.code, Some(0), "{written:?}");
    }
    match lang {
        "rust" => {
            let built = PathBuf::from(env!("CARGO_BIN_EXE_league"));
            Command::new(built.with_file_name("examples").join("player"))
        }
        "javascript" => {
            // Node goes by the ending of a file.
            let module = file.with_extension("mjs");
            std::fs::rename(&file, &module).unwrap();
            let mut command = Command::new("node");
            command.arg(module);
            command
        }
        _ => {
            let mut command = Command::new(interpreter("fastmcp-4"));
            command.arg(file).env("FASTMCP_LOG_LEVEL", "ERROR");
            if lang == "python" {
                // This kit needs nothing that Windows lacks.
                let lacking = concat!(env!("CARGO_MANIFEST_DIR"), "/../../interop/python/windows");
                command.env("PYTHONPATH", lacking);
                command.env("PYTHONDONTWRITEBYTECODE", "1");
            }
            command
        }
    }
}

#[test]
fn every_kit_passes_the_check_without_a_deviation() {
    // A check waits more than it works.
    std::thread::scope(|scope| {
        for lang in LANGUAGES {
            scope.spawn(move || passes_the_check(lang));
        }
    });
}

fn passes_the_check(lang: &str) {
    let ground = Ground::new();
    let folder = ground.path("kits");
    std::fs::create_dir_all(&folder).unwrap();
    let command = program(&folder, lang);
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let words: Vec<&str> = words.map(|word| word.to_str().unwrap()).collect();
    let (port, manager) = (free_port(), free_port().to_string());
    let url = format!("http://localhost:{port}/mcp");
    let launch = format!(
        "{} --port {port} --manager http://localhost:{manager}/mcp",
        words.join(" ")
    );
    let checked = Command::new(env!("CARGO_BIN_EXE_league"))
        .args([
            "check", &url, "--kind", "player", "--strict", "--launch", &launch,
        ])
        .args(["--port", &manager, "--wait", "60s"])
        .current_dir(&folder)
        .env("FASTMCP_LOG_LEVEL", "ERROR")
        .output()
        .unwrap();
    let report = String::from_utf8_lossy(&checked.stdout);
    let head: String = report.chars().take(3_000).collect();
    assert_eq!(checked.status.code(), Some(0), "{lang}: {head}");
    assert!(report.contains(" 0 deviations, 0 failed"), "{lang}: {head}");
}

/// A league in which nothing is forgiven.
fn strict() -> Ground {
    let ground = Ground::new();
    let rules = json!({"league_id": LEAGUE, "strictness": "strict"});
    ground.write(&format!("config/leagues/{LEAGUE}.json"), &rules);
    ground
}

#[test]
fn every_kit_plays_a_strict_league_and_may_start_before_its_manager() {
    let ground = strict();
    let port = free_port();
    let endpoint = format!("http://localhost:{port}/mcp");
    let start = |lang: &&str| Kit::start(&ground, lang, &endpoint);
    let mut kits: Vec<Kit> = LANGUAGES.iter().map(start).collect();
    for kit in &mut kits {
        kit.program.says("has not admitted us yet");
    }
    let mut manager = ground.manager_at(port, &["--players", "4", "--referees", "2"]);
    let _referees = [1, 2].map(|number| ground.referee(number, &endpoint, &[]));
    for kit in &mut kits {
        kit.program.says("in the league");
    }
    manager.process.event("state", "completed");
    let results = ground.results();
    assert_eq!(results.len(), 6);
    for (id, result) in &results {
        assert_ne!(result["status"], "TECHNICAL_LOSS", "{id}: {result}");
    }
    assert_eq!(deviations(&ground), "");
    ground.verified();
}

#[test]
fn every_kit_joins_a_manager_over_tls() {
    let ground = Ground::new();
    certificates::make(&ground, &["127.0.0.1"]);
    let [cert, key] = ["certs/127.0.0.1.pem", "certs/127.0.0.1.key"];
    certificates::serve_with(&ground, cert, key);
    let ca = ground.path("certs/ca.pem").to_str().unwrap().to_owned();
    let mut manager = ground.manager(&["--players", "4", "--referees", "1", "--ca", &ca]);
    let at = manager.endpoint.clone();
    assert!(at.starts_with("https://"), "{at}");
    let start = |lang: &&str| Kit::start_trusting(&ground, lang, &at, free_port(), Some(&ca));
    let _kits: Vec<Kit> = LANGUAGES.iter().map(start).collect();
    let _referee = ground.referee(1, &at, &["--ca", &ca]);
    manager.process.event("state", "completed");
    for (id, result) in &ground.results() {
        assert_ne!(result["status"], "TECHNICAL_LOSS", "{id}: {result}");
    }
}

#[test]
fn kits_keep_to_json_rpc_by_the_letter() {
    let ground = Ground::new();
    let nobody = format!("http://localhost:{}/mcp", free_port());
    for lang in LANGUAGES {
        let kit = answering(Kit::start(&ground, lang, &nobody));
        for (body, status, code) in [
            ("{", 400, -32700),
            ("\u{feff}", 400, -32700),
            ("[NaN]", 400, -32700),
            ("[]", 400, -32600),
            ("1", 400, -32600),
            (r#"{"id":1,"method":"ping"}"#, 400, -32600),
            (r#"{"jsonrpc":"2.0","id":1}"#, 400, -32600),
            (r#"{"jsonrpc":"2.0","id":{},"method":"ping"}"#, 400, -32600),
            (
                r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":1}"#,
                400,
                -32600,
            ),
            (
                r#"{"jsonrpc":"2.0","id":1,"method":"choose_wisely"}"#,
                200,
                -32601,
            ),
            (
                r#"{"jsonrpc":"2.0","id":1,"method":"choose_parity","params":[]}"#,
                200,
                -32602,
            ),
        ] {
            let answer = kit.post(body);
            assert_eq!(answer.status, status, "{lang} {body}: {answer:?}");
            assert_eq!(
                answer.json()["error"]["code"],
                code,
                "{lang} {body}: {answer:?}"
            );
        }
        let ids = ["7", r#""seven""#, "18446744073709551616", "null"];
        // The shortest kit writes numbers as its library does.
        let as_written = ["1e2", "-0", "1.50"]
            .into_iter()
            .filter(|_| lang != "python");
        for id in ids.into_iter().chain(as_written) {
            let said = kit.post(format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#));
            assert!(echoes(&said, id), "{lang} {id}: {said:?}");
        }
        let quiet = kit.post(r#"{"jsonrpc":"2.0","method":"ping"}"#);
        assert_eq!((quiet.status, quiet.body.as_str()), (202, ""), "{lang}");
        let batch = r#"[{"jsonrpc":"2.0","id":"a","method":"ping","params":{"id":9}},
            {"jsonrpc":"2.0","method":"ping"}, 5, {"jsonrpc":"2.0","id":1e1,"method":"ping"}]"#;
        let said = kit.post(batch);
        assert_eq!(said.json().as_array().unwrap().len(), 3, "{lang}: {said:?}");
        assert!(lang == "python" || echoes(&said, "1e1"), "{lang}: {said:?}");
        assert!(echoes(&said, r#""a""#), "{lang}: {said:?}");
    }
}

#[test]
fn kits_keep_to_http() {
    let ground = Ground::new();
    let nobody = format!("http://localhost:{}/mcp", free_port());
    for lang in LANGUAGES {
        let kit = answering(Kit::start(&ground, lang, &nobody));
        let huge = vec![b' '; 300 * 1024];
        assert_eq!(kit.post(huge).status, 413, "{lang}");
        for (method, path, status) in [("GET", "/health", 200), ("GET", "/nowhere", 404)] {
            let answer = request(&kit.endpoint, method, path, b"");
            assert_eq!(answer.status, status, "{lang} {method} {path}");
        }
        assert_eq!(
            request(&kit.endpoint, "PUT", "/mcp", b"").status,
            405,
            "{lang}"
        );
        let page = [
            ("origin", "https://example.com"),
            ("content-type", "application/json"),
        ];
        let body = br#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
        let answer = request_with(&kit.endpoint, "POST", "/mcp", &page, body);
        assert_eq!(answer.status, 403, "{lang}");
    }
}

#[test]
fn kits_refuse_broken_rules_and_repeat_their_answers() {
    let ground = Ground::new();
    let manager = ground.manager(&["--players", "9"]);
    for lang in ["python-fastmcp", "javascript"] {
        let port = free_port();
        let mut kit = Kit::start_at(&ground, lang, &manager.endpoint, port);
        kit.program.says("in the league");
        let unannounced = json!({"match_id": "R1M1", "auth_token": "tok-match"});
        let refusal = kit.call("handle_game_invitation", &unannounced);
        assert_eq!(refusal["error_code"], "E012", "{lang}: {refusal}");
        announce(&kit, &manager_token(&ground, port));
        refuses_what_breaks_a_rule(&kit, lang);
        answers_twice_alike(&kit, lang);
    }
}

/// A call of a referee in a match that was announced, with these members instead of its own.
fn of_referee(kind: &str, more: &Value) -> Value {
    let mut call = json!({
        "protocol": "league.v2", "message_type": kind, "sender": "referee:REF01",
        "timestamp": "2026-03-02T09:00:00Z", "conversation_id": "conv-1",
        "match_id": "R1M1", "auth_token": "tok-match",
        "unknown": [1, {"deep": null}],
    });
    for (name, value) in more.as_object().unwrap() {
        call[name] = value.clone();
    }
    call
}

fn invited(kit: &Kit, more: &Value) -> Value {
    let invitation = of_referee("GAME_INVITATION", more);
    kit.call("handle_game_invitation", &invitation)
}

fn refuses_what_breaks_a_rule(kit: &Kit, lang: &str) {
    for (more, code) in [
        (json!({"timestamp": "2026-03-02T09:00:00+02:00"}), "E021"),
        (json!({"timestamp": "2026-03-02T09:00:00"}), "E021"),
        (json!({"protocol": "league.v3"}), "E018"),
        (json!({"message_type": "GAME_OVER"}), "E002"),
        (json!({"match_id": 7}), "E002"),
        (json!({"player_id": "P99"}), "E012"),
        (json!({"auth_token": "tok-another"}), "E012"),
        (json!({"auth_token": null}), "E011"),
    ] {
        let refusal = invited(kit, &more);
        let kind = &refusal["message_type"];
        assert_eq!(kind, "LEAGUE_ERROR", "{lang} {more}: {refusal}");
        assert_eq!(refusal["error_code"], code, "{lang} {more}: {refusal}");
        let token = &refusal["auth_token"];
        assert_eq!(token, &Value::Null, "{lang}: nobody unproven sees it");
    }
    let missing = kit.call("handle_game_invitation", &json!({}));
    assert_eq!(missing["error_code"], "E003", "{lang}: {missing}");
    let unproven = kit.call("notify_round", &json!({"matches": []}));
    assert_eq!(unproven["error_code"], "E011", "{lang}: {unproven}");
    let elsewhere = of_referee("GAME_OVER", &json!({"match_id": "R9M9"}));
    let unknown = kit.call("notify_match_result", &elsewhere);
    assert_eq!(unknown["error_code"], "E006", "{lang}: {unknown}");
}

fn answers_twice_alike(kit: &Kit, lang: &str) {
    let joined = invited(kit, &json!({}));
    assert_eq!(joined["message_type"], "GAME_JOIN_ACK", "{lang}: {joined}");
    assert_eq!(joined["conversation_id"], "conv-1", "{lang}: {joined}");
    let again = invited(kit, &json!({}));
    assert_eq!(again["arrival_timestamp"], joined["arrival_timestamp"]);
    let other = json!({"match_id": "R1M2", "game_type": "chess"});
    assert_eq!(invited(kit, &other)["accept"], false, "{lang}");
    let question = of_referee("CHOOSE_PARITY_CALL", &json!({}));
    let choice = |method| kit.call(method, &question)["parity_choice"].clone();
    let first = choice("choose_parity");
    assert!(first == "even" || first == "odd", "{lang}: {first}");
    for method in ["choose_parity", "CHOOSE_PARITY_CALL", "mcp_message"].repeat(5) {
        assert_eq!(choice(method), first, "{lang} {method}");
    }
    let question = of_referee("GAME_MOVE_CALL", &json!({}));
    let moved = kit.call("choose_move", &question);
    assert_eq!(moved["move_data"]["choice"], first, "{lang}: {moved}");
}

/// Whether an id comes back as it was written.
fn echoes(answer: &Answer, id: &str) -> bool {
    let written = [r#""id":"#, r#""id": "#].map(|name| format!("{name}{id}"));
    let ends = [",", "}"];
    let mut ways = written
        .iter()
        .flat_map(|name| ends.map(|end| format!("{name}{end}")));
    ways.any(|way| answer.body.contains(&way))
}

#[test]
fn every_kit_joins_the_next_league_by_itself() {
    let ground = Ground::new();
    let (port, count) = (free_port(), LANGUAGES.len().to_string());
    let words = ["--players", &count, "--referees", "1", "--exit-when-done"];
    let first = ground.manager_at(port, &words);
    let mut kits = LANGUAGES.map(|lang| Kit::start(&ground, lang, &first.endpoint));
    let mut joined = || {
        kits.each_mut()
            .map(|kit| kit.program.says("is in the league as"))
    };
    let before = joined();
    let _referee = ground.referee(1, &first.endpoint, &[]);
    assert_eq!(first.process.end().code, Some(0));
    let next = ground.manager_at(port, &["--next", "--exit-when-done"]);
    assert_eq!(joined(), before, "the same names and ids");
    assert_eq!(next.process.end().code, Some(0));
    let leagues = std::fs::read_dir(ground.path("data/leagues")).unwrap();
    let mut leagues = leagues.map(|league| league.unwrap().path());
    let second = leagues.find(|league| !league.ends_with(LEAGUE)).unwrap();
    let results = results(&second.join("journal.jsonl"));
    assert_eq!(results.len(), 6);
    for (match_id, result) in results {
        assert_ne!(result["status"], "TECHNICAL_LOSS", "{match_id}: {result}");
    }
}

/// What a kit remembers, in the file that is its own.
pub(crate) fn memory(ground: &Ground, port: u16) -> Value {
    let end = format!("-{port}.json");
    let files = std::fs::read_dir(ground.path("kits")).unwrap();
    let mut files = files.map(|file| file.unwrap().path());
    let file = files.find(|file| file.to_str().is_some_and(|name| name.ends_with(&end)));
    serde_json::from_slice(&std::fs::read(file.unwrap()).unwrap()).unwrap()
}

/// What the manager proves itself with, as the kit remembers it.
fn manager_token(ground: &Ground, port: u16) -> String {
    memory(ground, port)["tokens"]["manager_token"]
        .as_str()
        .unwrap()
        .to_owned()
}

/// Tells a kit of two matches, as the manager would.
fn announce(kit: &Kit, token: &str) {
    let row = |id: &str| json!({"match_id": id, "match_token": "tok-match"});
    let announcement = json!({"auth_token": token, "matches": [row("R1M1"), row("R1M2")]});
    let said = kit.call("notify_round", &announcement);
    assert_eq!(said["status"], "ok", "{said}");
}

/// Waits until the port of a kit is open.
pub(crate) fn answering(kit: Kit) -> Kit {
    let place = kit
        .endpoint
        .trim_start_matches("http://")
        .trim_end_matches("/mcp");
    let open = || std::net::TcpStream::connect(place).ok();
    eventually(open).unwrap();
    kit
}

/// All that was noted as a deviation, in the logs of whoever met the kits.
fn deviations(ground: &Ground) -> String {
    let mut folders = vec![ground.path("logs")];
    let mut noted = String::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let log = std::fs::read_to_string(path).unwrap();
            noted.extend(log.lines().filter(|line| line.contains("DEVIATION")));
        }
    }
    noted
}
