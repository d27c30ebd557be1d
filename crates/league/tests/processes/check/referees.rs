//! Our own referee, as a process of its own; and referees that break one rule each.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

use league_check::fake_manager::{FakeManager, port};
use league_check::listener::{IncomingCall, Listener, ScriptedAnswer};
use league_check::stage::Stage;
use league_check::verdict::Verdict;
use league_check::{AgentKind, RandomBytes, Target};
use serde_json::{Value, json};

use crate::check::processes::{CheckRun, checked, post, verdict_on};
use crate::end_to_end::process::free_port;

const ANYWHERE: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 0);

#[test]
fn our_referee_keeps_every_rule() {
    let (port, manager) = (free_port(), free_port());
    let manager_url = format!("http://localhost:{manager}/mcp");
    let launch = format!("referee --port {port} --manager {manager_url}");
    let url = format!("http://localhost:{port}/mcp");
    let manager = manager.to_string();
    let CheckRun { code, lines } =
        checked(&url, &launch, &["--kind", "referee", "--port", &manager]);
    crate::check::processes::see_clean(&lines);
    assert_eq!(code, Some(0));
    let own = [
        "R-ORD", "R-INV", "R-CHO", "R-TRY", "R-OVER", "R-REP", "R-MAN", "R-MANY", "R-BACK",
    ];
    let own = lines.iter().filter(|line| {
        let id = line["id"].as_str().unwrap_or_default();
        own.iter().any(|topic| id.starts_with(topic))
    });
    assert!(own.count() >= 40, "rules of its own");
}

/// Bytes that differ from call to call.
fn random() -> RandomBytes {
    let drawn = AtomicU8::new(0);
    Arc::new(move || [drawn.fetch_add(1, Ordering::Relaxed); 32])
}

/// Changes what a referee says: to whom the message goes follows from its type.
type Twist = fn(&mut Value);

/// A referee that runs a match without a fault, but for the twist.
struct Scripted {
    twist: Twist,
    manager: Target,
}

impl Scripted {
    fn says(&self, kind: &str, order: &Value, says: Value) -> Value {
        let mut message = json!({
            "protocol": "league.v2", "message_type": kind, "sender": "referee:REF01",
            "timestamp": "2026-11-15T12:00:00Z", "league_id": order["league_id"],
            "conversation_id": format!("{}-{kind}", order["match_id"]),
            "round_id": order["round_id"], "match_id": order["match_id"],
            "game_type": "even_odd",
        });
        for (name, value) in says.as_object().unwrap() {
            message[name] = value.clone();
        }
        (self.twist)(&mut message);
        message
    }

    async fn call(&self, to: &Target, tool: &str, message: Value) -> Value {
        let call = json!({"jsonrpc": "2.0", "id": 1, "method": tool, "params": message});
        let came = post(to, &call).await.came.unwrap();
        let answer: Value = serde_json::from_slice(&came.body).unwrap();
        answer["result"].clone()
    }

    async fn play(&self, order: Value) {
        let rows = [&order["players"][0], &order["players"][1]];
        let ids = rows.map(|row| row["player_id"].as_str().unwrap().to_owned());
        let homes =
            rows.map(|row| Target::local(port(row["contact_endpoint"].as_str().unwrap()).unwrap()));
        for seat in 0..2 {
            let role = ["PLAYER_A", "PLAYER_B"][seat];
            let says = json!({
                "auth_token": rows[seat]["match_token"], "opponent_id": ids[1 - seat],
                "role_in_match": role,
            });
            let message = self.says("GAME_INVITATION", &order, says);
            self.call(&homes[seat], "handle_game_invitation", message)
                .await;
        }
        let mut choices = json!({});
        for seat in 0..2 {
            let says = json!({
                "auth_token": rows[seat]["match_token"], "player_id": ids[seat],
                "deadline": "2026-11-15T12:00:30Z", "context": {
                    "opponent_id": ids[1 - seat], "round_id": order["round_id"],
                    "your_standings": rows[seat]["record"],
                },
            });
            let message = self.says("CHOOSE_PARITY_CALL", &order, says);
            let answer = self.call(&homes[seat], "choose_parity", message).await;
            choices[&*ids[seat]] = answer["parity_choice"].clone();
        }
        let score = json!({&*ids[0]: 3, &*ids[1]: 0});
        let details = json!({"drawn_number": 4, "choices": choices});
        let result = json!({"winner": ids[0], "score": score, "details": details});
        let says = json!({"auth_token": "tok-ref01", "result": result});
        let report = self.says("MATCH_RESULT_REPORT", &order, says);
        self.call(&self.manager, "report_match_result", report)
            .await;
        for seat in 0..2 {
            let result = json!({
                "status": "WIN", "winner_player_id": ids[0], "drawn_number": 4,
                "number_parity": "even", "choices": choices, "reason": "4 is even",
            });
            let says = json!({"auth_token": rows[seat]["match_token"], "game_result": result});
            let over = self.says("GAME_OVER", &order, says);
            self.call(&homes[seat], "notify_match_result", over).await;
        }
    }

    fn answer(self: &Arc<Self>, heard: &IncomingCall) -> ScriptedAnswer {
        if heard.kind() != "START_MATCH" {
            let error = json!({"code": -32601, "message": "there is no such method"});
            let answer = json!({"jsonrpc": "2.0", "id": heard.json["id"], "error": error});
            return ScriptedAnswer::Raw(200, answer.to_string());
        }
        let order = heard.message().clone();
        let mut says = self.says("START_MATCH_ACK", &order, json!({"accepted": true}));
        says["conversation_id"] = order["conversation_id"].clone();
        let referee = Arc::clone(self);
        tokio::spawn(async move { referee.play(order).await });
        ScriptedAnswer::Result(says)
    }
}

/// What comes of a rule when a referee with a twist is checked.
async fn verdict(twist: Twist, rule: &str) -> (Verdict, String) {
    // The manager has to know the port of the referee, and the referee that of the manager.
    let port = free_port();
    let office = FakeManager::open(ANYWHERE, AgentKind::Referee, port, random())
        .await
        .unwrap();
    let manager = Target::local(office.listener.address.port());
    let referee = Arc::new(Scripted { twist, manager });
    let own = Arc::clone(&referee);
    let address = SocketAddr::new(Ipv4Addr::LOCALHOST.into(), port);
    let _listener = Listener::open(address, move |heard| own.answer(heard))
        .await
        .unwrap();
    let url = format!("http://localhost:{port}/mcp");
    let meta = json!({
        "display_name": "Owl", "version": "1.0.0", "protocol_version": "2.1.0",
        "game_types": ["even_odd"], "contact_endpoint": url, "max_concurrent_matches": 1,
    });
    let says = json!({"sender": "referee:Owl", "referee_meta": meta});
    let hello = referee.says("REFEREE_REGISTER_REQUEST", &json!({}), says);
    referee
        .call(&referee.manager, "register_referee", hello)
        .await;
    let agent = Target::local(port);
    let wait = Duration::from_secs(2);
    let stage = Arc::new(Stage::referee(agent, office, None, wait, random()));
    assert!(stage.begin().await);
    verdict_on(&stage, rule).await
}

/// A twist on messages of one kind.
macro_rules! twist {
    ($kind:literal, $message:ident, $change:expr) => {
        |$message: &mut Value| {
            if $message["message_type"] == $kind {
                $change
            }
        }
    };
}

const CASES: [(&str, Twist); 12] = [
    (
        "R-REG-12",
        twist!("REFEREE_REGISTER_REQUEST", message, {
            message["referee_meta"]["max_concurrent_matches"] = Value::Null;
        }),
    ),
    (
        "R-ORD-02",
        twist!(
            "START_MATCH_ACK",
            message,
            message["match_id"] = "R9M9".into()
        ),
    ),
    (
        "R-INV-03",
        twist!(
            "GAME_INVITATION",
            message,
            message["sender"] = "REF01".into()
        ),
    ),
    (
        "R-INV-05",
        twist!("GAME_INVITATION", message, {
            message["role_in_match"] = "PLAYER_A".into();
        }),
    ),
    (
        "R-INV-06",
        twist!(
            "GAME_INVITATION",
            message,
            message["opponent_id"] = "P99".into()
        ),
    ),
    (
        "R-CHO-05",
        twist!("CHOOSE_PARITY_CALL", message, {
            message["deadline"] = "2026-11-15T14:00:30+02:00".into();
        }),
    ),
    (
        "R-CHO-07",
        twist!("CHOOSE_PARITY_CALL", message, {
            message["context"]["opponent_id"] = "P99".into();
        }),
    ),
    (
        "R-OVER-05",
        twist!("GAME_OVER", message, {
            message["game_result"]["drawn_number"] = 11.into();
        }),
    ),
    (
        "R-OVER-06",
        twist!("GAME_OVER", message, {
            message["game_result"]["number_parity"] = "odd".into();
        }),
    ),
    (
        "R-OVER-08",
        twist!("GAME_OVER", message, {
            message["game_result"]["winner_player_id"] = "P02".into();
        }),
    ),
    (
        "R-REP-05",
        twist!("MATCH_RESULT_REPORT", message, {
            message["league_id"] = "another".into();
        }),
    ),
    (
        "R-REP-09",
        twist!("MATCH_RESULT_REPORT", message, {
            message["result"]["details"]["choices"] = json!({});
        }),
    ),
];

#[tokio::test(flavor = "multi_thread")]
async fn rule_catches_a_referee_that_breaks_it() {
    for (rule, twist) in CASES {
        let (kept, found) = verdict(|_| {}, rule).await;
        assert_eq!(kept, Verdict::Pass, "{rule} without a twist: {found}");
        let (broken, _) = verdict(twist, rule).await;
        assert_ne!(broken, Verdict::Pass, "{rule}");
        assert_ne!(broken, Verdict::Skipped, "{rule}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn referee_of_the_documents_owes_no_additions() {
    for rule in ["R-REP-15", "R-REP-16", "R-REP-17", "R-REP-19", "R-OVER-18"] {
        let (skipped, found) = verdict(|_| {}, rule).await;
        assert_eq!(skipped, Verdict::Skipped, "{rule}: {found}");
        assert!(found.ends_with("an addition of this league"), "{found}");
    }
}
