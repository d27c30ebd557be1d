//! Rules without expectations, which judge what they do step by step or only want the agent to go
//! on: each is seen to fail by a scripted agent that breaks it.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use league_check::caller::{JSON, PROMPT};
use league_check::fake_manager::FakeManager;
use league_check::launch::AgentProcess;
use league_check::listener::{IncomingCall, Listener, ScriptedAnswer};
use league_check::stage::Stage;
use league_check::verdict::{Finding, Verdict};
use league_check::wire::{Request, exchange};
use league_check::{AgentKind, Target, player, verdict};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::player::{but, fair, random, registration, stage};

const JOIN: &str = "handle_game_invitation";
const PICK: &str = "choose_parity";
const ANYWHERE: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 0);

type Script = Arc<dyn Fn(&IncomingCall) -> ScriptedAnswer + Send + Sync>;

fn script(script: impl Fn(&IncomingCall) -> ScriptedAnswer + Send + Sync + 'static) -> Script {
    Arc::new(script)
}

/// A player that says no more once a call came that it did not expect.
fn fragile() -> Script {
    let dead = AtomicBool::new(false);
    script(move |call| {
        let asked = call.message();
        let text = |name: &str| asked[name].as_str().unwrap_or_default().to_owned();
        let usual = call.kind() == "GAME_INVITATION"
            && text("match_id").starts_with('R')
            && text("match_id").len() < 9
            && !text("match_id").contains('\0')
            && text("opponent_id") == "P02"
            && text("timestamp").ends_with('Z')
            && asked["round_id"].as_u64().is_some_and(|round| round < 999)
            && asked.get("x_story").is_none()
            && !call.text().contains("no_such_tool");
        if dead.fetch_or(!usual, Ordering::Relaxed) || !usual {
            return match usual {
                true => ScriptedAnswer::Nothing,
                // The call itself is still answered, so that only the next is not.
                false => ScriptedAnswer::Result(json!({"status": "ok"})),
            };
        }
        fair(call)
    })
}

/// A player that dies when it is told the end of a match.
fn dies_at_the_end() -> Script {
    let dead = AtomicBool::new(false);
    script(move |call| {
        let ends = call.tool() == Some("notify_match_result");
        match dead.fetch_or(ends, Ordering::Relaxed) {
            true => ScriptedAnswer::Nothing,
            false => fair(call),
        }
    })
}

/// A player that changes a member of every second answer to a tool.
fn wavering(tool: &'static str, name: &'static str, value: Value) -> Script {
    let asked = AtomicUsize::new(0);
    script(move |call| {
        let odd = call.tool() == Some(tool) && asked.fetch_add(1, Ordering::Relaxed) % 2 == 1;
        match odd {
            true => but(call, tool, name, value.clone()),
            false => fair(call),
        }
    })
}

/// A player that refuses the end of a match from the second time on.
fn hears_once() -> Script {
    let told = AtomicUsize::new(0);
    script(move |call| {
        let ends = call.tool() == Some("notify_match_result");
        match ends && told.fetch_add(1, Ordering::Relaxed) > 0 {
            true => ScriptedAnswer::Raw(500, String::new()),
            false => fair(call),
        }
    })
}

/// A player that answers for the match that it was first asked about.
fn forgetful() -> Script {
    let first = std::sync::OnceLock::new();
    script(move |call| match call.tool() == Some(PICK) {
        true => {
            let first: &Value = first.get_or_init(|| call.message()["match_id"].clone());
            but(call, PICK, "match_id", first.clone())
        }
        false => fair(call),
    })
}

fn slow(call: &IncomingCall) -> ScriptedAnswer {
    match call.tool() {
        Some(JOIN) => ScriptedAnswer::Late(Duration::from_millis(5_200), Box::new(fair(call))),
        _ => fair(call),
    }
}

/// Rules of players, and a player that breaks each.
fn cases() -> Vec<(&'static str, Script)> {
    vec![
        ("P-FRAME-14", fragile()),
        ("P-FRAME-15", fragile()),
        ("P-JOIN-12", wavering(JOIN, "accept", json!(false))),
        ("P-PICK-11", wavering(PICK, "parity_choice", json!("odd"))),
        (
            "P-PICK-19",
            script(|call| but(call, PICK, "nonce", "always")),
        ),
        ("P-NEWS-07", hears_once()),
        ("P-NEWS-08", fragile()),
        ("P-NEWS-18", fragile()),
        ("P-NEWS-20", dies_at_the_end()),
        (
            "P-CROWD-01",
            script(|call| but(call, PICK, "parity_choice", "Even")),
        ),
        ("P-CROWD-02", forgetful()),
        ("P-CROWD-03", script(slow)),
        ("P-CROWD-04", wavering(PICK, "parity_choice", json!("odd"))),
        (
            "P-CROWD-05",
            script(|call| but(call, PICK, "message_type", "CHOICE")),
        ),
        ("P-CROWD-06", forgetful()),
        ("P-ODD-01", fragile()),
        ("P-ODD-03", fragile()),
        ("P-ODD-04", fragile()),
        ("P-ODD-05", fragile()),
        ("P-ODD-06", fragile()),
        ("P-ODD-07", fragile()),
    ]
}

/// Rules that want the player killed; each is broken by one that does not come back.
const RESTARTS: [&str; 11] = [
    "P-BACK-01",
    "P-BACK-02",
    "P-BACK-03",
    "P-BACK-04",
    "P-BACK-05",
    "P-BACK-06",
    "P-BACK-07",
    "P-BACK-08",
    "P-BACK-09",
    "P-BACK-10",
    "P-BACK-11",
];

/// Rules that other tests of this folder see fail.
const ELSEWHERE: [&str; 11] = [
    // `clumsy`
    "P-CONN-01",
    "P-CONN-02",
    "P-CONN-03",
    "P-CONN-04",
    "P-CONN-05",
    "P-CONN-06",
    "P-CONN-07",
    "P-CONN-08",
    "P-CONN-09",
    // `broken`
    "P-TRUST-08",
    "P-TRUST-09",
];

fn is_caught(finding: &Finding) -> bool {
    matches!(finding.verdict, Verdict::Fail | Verdict::Deviation)
}

/// Plays one rule.
pub(crate) async fn play(stage: &Arc<Stage>, id: &str) -> Finding {
    let mut topics = stage.topics();
    for topic in &mut topics {
        let letter = stage.kind.letter();
        topic
            .rules
            .retain(|rule| format!("{letter}-{}", rule.id) == id);
    }
    let findings = verdict::play(stage, &topics, false, &|_| {}).await;
    assert_eq!(findings.len(), 1, "there is a rule {id}");
    findings.into_iter().next().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn scripted_player_that_breaks_a_rule_is_caught_by_it() {
    let mut all = JoinSet::new();
    for (id, script) in cases() {
        all.spawn(async move {
            let broken = stage(move |call| script(call), |_| {}).await;
            (id, broken.rule(id).await)
        });
    }
    let missed: Vec<_> = all.join_all().await;
    let missed: Vec<_> = missed
        .iter()
        .filter(|(_, finding)| !is_caught(finding))
        .collect();
    assert!(missed.is_empty(), "{missed:#?}");
}

/// How long a scripted agent may take to be found on a busy machine.
const ARRIVES: Duration = Duration::from_secs(60);
/// How long an agent is waited for that never does what is waited for.
const IN_VAIN: Duration = Duration::from_secs(2);

/// Waits for an agent that is up and registered; what comes later is not waited for long.
async fn arrived(mut stage: Stage) -> Arc<Stage> {
    assert!(stage.arrive().await);
    stage.hurry(IN_VAIN, IN_VAIN);
    Arc::new(stage)
}

/// A process that stands for the agent, and does nothing.
fn idle() -> AgentProcess {
    let launched = AgentProcess::new(vec!["sleep".to_owned(), "600".to_owned()]);
    launched.start().unwrap();
    launched
}

/// Registers an agent that answers at a port with a manager.
pub(crate) async fn register(manager: &FakeManager, tool: &str, message: Value) {
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": tool, "params": message});
    let body = call.to_string();
    let home = Target::local(manager.listener.address.port());
    let request = Request::post(&home, &JSON, body.as_bytes());
    let admitted = exchange(&home, &request, PROMPT).await;
    assert!(admitted.came.is_ok(), "{admitted:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn player_that_does_not_come_back_is_caught() {
    let mut all = JoinSet::new();
    for id in RESTARTS {
        all.spawn(async move {
            let listener = Listener::open(ANYWHERE, fair).await.unwrap();
            let port = listener.address.port();
            let manager = FakeManager::open(ANYWHERE, AgentKind::Player, port, random());
            let manager = manager.await.unwrap();
            let url = format!("http://localhost:{port}/mcp");
            register(&manager, "register_player", registration(&url)).await;
            let target = Target::local(port);
            let stage = arrived(Stage::player(target, manager, Some(idle()), ARRIVES)).await;
            assert!(stage.begin().await);
            // The first rule is about coming up at all.
            let kept = (id != "P-BACK-01").then_some(listener);
            let finding = play(&stage, id).await;
            drop(kept);
            (id, finding)
        });
    }
    for (id, finding) in all.join_all().await {
        assert!(is_caught(&finding), "{id}: {finding:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn agent_that_was_started_and_never_registers_is_caught() {
    for kind in [AgentKind::Player, AgentKind::Referee] {
        let manager = FakeManager::open(ANYWHERE, kind, 1, random())
            .await
            .unwrap();
        let (target, wait) = (Target::local(1), Duration::from_millis(200));
        let stage = match kind {
            AgentKind::Player => Stage::player(target, manager, Some(idle()), wait),
            _ => Stage::referee(target, manager, Some(idle()), wait, random()),
        };
        let id = format!("{}-REG-01", kind.letter());
        let finding = play(&Arc::new(stage), &id).await;
        assert_eq!(finding.verdict, Verdict::Fail, "{finding:?}");
    }
}

/// A referee that takes every order and runs no match; steps it refuses or nods at.
fn idle_referee(nods: bool) -> impl Fn(&IncomingCall) -> ScriptedAnswer {
    move |call| match call.kind() {
        "START_MATCH" => ScriptedAnswer::Result(json!({
            "protocol": "league.v2", "message_type": "START_MATCH_ACK", "accepted": true,
            "match_id": call.message()["match_id"],
        })),
        _ if nods => ScriptedAnswer::Result(json!({"status": "ok"})),
        _ => fair(call),
    }
}

/// Rules of referees, and whether the idle referee that breaks each nods at its steps.
const REFEREE_CASES: [(&str, bool); 14] = [
    ("R-ORD-06", false),
    ("R-MAN-01", false),
    ("R-MAN-02", false),
    ("R-MAN-03", false),
    ("R-MAN-04", false),
    ("R-MAN-05", true),
    ("R-MANY-01", false),
    ("R-MANY-02", false),
    ("R-MANY-03", false),
    ("R-MANY-04", false),
    ("R-BACK-01", false),
    ("R-BACK-02", false),
    ("R-BACK-03", false),
    ("R-BACK-04", false),
];

#[tokio::test(flavor = "multi_thread")]
async fn referee_that_runs_no_match_is_caught() {
    let mut all = JoinSet::new();
    for (id, nods) in REFEREE_CASES {
        all.spawn(async move {
            let listener = Listener::open(ANYWHERE, idle_referee(nods)).await.unwrap();
            let port = listener.address.port();
            let manager = FakeManager::open(ANYWHERE, AgentKind::Referee, port, random());
            let manager = manager.await.unwrap();
            let meta = json!({
                "display_name": "Owl", "version": "1.0.0", "protocol_version": "2.1.0",
                "game_types": ["even_odd"], "max_concurrent_matches": 2,
                "contact_endpoint": format!("http://localhost:{port}/mcp"),
            });
            let message = json!({
                "protocol": "league.v2", "message_type": "REFEREE_REGISTER_REQUEST",
                "sender": "referee:Owl", "timestamp": "2026-11-15T12:00:00Z",
                "conversation_id": "owl-hello", "referee_meta": meta,
            });
            register(&manager, "register_referee", message).await;
            let launched = id.starts_with("R-BACK").then(idle);
            let stage = Stage::referee(Target::local(port), manager, launched, ARRIVES, random());
            let stage = arrived(stage).await;
            assert!(stage.begin().await);
            (id, play(&stage, id).await)
        });
    }
    for (id, finding) in all.join_all().await {
        assert!(is_caught(&finding), "{id}: {finding:?}");
    }
}

/// Rules of managers that the tests with our own manager see fail.
const MANAGER_CASES: [&str; 3] = ["M-BACK-01", "M-BACK-02", "M-BACK-03"];

#[test]
fn every_rule_has_expectations_or_is_seen_to_fail_by_a_script() {
    let known = cases().into_iter().map(|(id, _)| id);
    let known = known.chain(RESTARTS).chain(ELSEWHERE).chain(MANAGER_CASES);
    let known = known.chain(REFEREE_CASES.map(|(id, _)| id));
    let known: Vec<&str> = known.chain(["P-REG-01", "R-REG-01", "P-OLD-13"]).collect();
    let kinds = [AgentKind::Player, AgentKind::Referee, AgentKind::Manager];
    let all = kinds.into_iter().map(|kind| (kind, kind.topics()));
    let mut unseen = Vec::new();
    for (kind, topics) in all.chain([(AgentKind::Player, player::v1_topics())]) {
        let rules = topics.iter().flat_map(|topic| &topic.rules);
        for rule in rules.filter(|rule| rule.expectations().is_empty()) {
            // The rules that all kinds share are seen to fail by players.
            let names = [kind.letter(), 'P'].map(|letter| format!("{letter}-{}", rule.id));
            if !names.iter().any(|name| known.contains(&name.as_str())) {
                unseen.push(names[0].clone());
            }
        }
    }
    assert!(unseen.is_empty(), "never seen to fail: {unseen:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn player_of_v1_that_wavers_is_caught() {
    let asked = AtomicUsize::new(0);
    let script = move |call: &IncomingCall| {
        let message = call.message();
        let says = |kind: &str, name: &str, value: Value| {
            ScriptedAnswer::Result(json!({
                "protocol": "league.v1", "message_type": kind, name: value,
                "match_id": message["match_id"],
            }))
        };
        match call.tool() {
            Some(JOIN) => says("GAME_INVITATION_RESPONSE", "status", json!("READY")),
            _ => {
                let odd = asked.fetch_add(1, Ordering::Relaxed) % 2 == 1;
                let value = if odd { "odd" } else { "even" };
                let play = json!({"action": "choose", "value": value});
                says("PLAY_RESPONSE", "play", play)
            }
        }
    };
    let old = |message: &mut Value| message["protocol"] = json!("league.v1");
    let wavers = stage(script, old).await;
    assert!(wavers.stage.is_v1());
    let finding = play(&wavers.stage, "P-OLD-13").await;
    assert!(is_caught(&finding), "{finding:?}");
}
