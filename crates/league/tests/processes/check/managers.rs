//! Our own manager, as a process of its own; and one that is spoilt on the way, rule by rule.

use std::net::{Ipv4Addr, SocketAddr};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use league_check::caller::{JSON, PROMPT};
use league_check::launch::{Launched, comes_up};
use league_check::listener::{IncomingCall, Listener, ScriptedAnswer};
use league_check::manager::season::Sizes;
use league_check::stage::Stage;
use league_check::verdict::Verdict;
use league_check::wire::{Request, exchange};
use league_check::{Target, verdict};
use serde_json::{Value, json};
use tokio::runtime::Handle;

use crate::check::processes::{Checked, checked, free_port, see_clean};

#[test]
fn our_manager_keeps_every_rule() {
    let port = free_port();
    let url = format!("http://localhost:{port}/mcp");
    let launch = format!("manager --port {port} --players 4 --referees 2");
    let Checked { code, lines } = checked(&url, &launch, &["--kind", "manager"]);
    see_clean(&lines);
    assert_eq!(code, Some(0));
    let own = [
        "M-REG", "M-QRY", "M-RND", "M-ORD", "M-REP", "M-HAND", "M-TAB", "M-END",
    ];
    let own = lines.iter().filter(|line| {
        let id = line["id"].as_str().unwrap_or_default();
        own.iter().any(|topic| id.starts_with(topic))
    });
    assert!(own.count() >= 40, "rules of its own");
}

/// A manager of ours; it ends with its test.
struct Manager {
    child: Child,
    endpoint: Target,
    _folder: tempfile::TempDir,
}

impl Drop for Manager {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn manager() -> Manager {
    let (port, folder) = (free_port(), tempfile::tempdir().unwrap());
    let child = Command::new(env!("CARGO_BIN_EXE_league"))
        .args(["manager", "--players", "4", "--referees", "2", "--port"])
        .arg(port.to_string())
        .arg("--root")
        .arg(folder.path())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    Manager {
        child,
        endpoint: Target::local(port),
        _folder: folder,
    }
}

/// How long our manager may take to listen, on a machine that has other things to do as well.
const COMES_UP: Duration = Duration::from_secs(60);

/// Changes a call on its way in, and an answer on its way out.
type Spoil = fn(&mut Value, Option<&mut Value>);

/// Hands a call on to the manager and its answer back, both spoilt.
async fn passed_on(to: &Target, mut call: Value, spoil: Spoil) -> ScriptedAnswer {
    spoil(&mut call, None);
    let body = call.to_string();
    let request = Request {
        method: "POST",
        path: "/mcp",
        headers: &JSON,
        body: body.as_bytes(),
    };
    let Ok(came) = exchange(to, &request, PROMPT).await.came else {
        return ScriptedAnswer::Nothing;
    };
    let mut answer: Value = serde_json::from_slice(&came.body).unwrap_or_default();
    spoil(&mut call, Some(&mut answer));
    ScriptedAnswer::Raw(came.status, answer.to_string())
}

/// What comes of a rule when a manager is checked that is spoilt like this.
async fn verdict(spoil: Spoil, rule: &str, launched: Option<Launched>) -> (Verdict, String) {
    let manager = manager();
    let to = manager.endpoint.clone();
    let script = move |heard: &IncomingCall| {
        let (to, call) = (to.clone(), heard.json.clone());
        tokio::task::block_in_place(|| Handle::current().block_on(passed_on(&to, call, spoil)))
    };
    let anywhere = SocketAddr::new(Ipv4Addr::LOCALHOST.into(), 0);
    let listener = Listener::open(anywhere, script).await.unwrap();
    let agent = Target::local(listener.address.port());
    let sizes = Sizes {
        players: 4,
        referees: 2,
    };
    let listens = comes_up(manager.endpoint.address, None, COMES_UP).await;
    assert!(listens, "our manager does not listen after {COMES_UP:?}");
    let stage = Arc::new(Stage::manager(
        agent,
        launched,
        Duration::from_secs(20),
        sizes,
        None,
    ));
    assert!(stage.begin().await);
    let mut topics = stage.topics();
    for topic in &mut topics {
        topic.rules.retain(|row| format!("M-{}", row.id) == rule);
    }
    let findings = verdict::play(&stage, &topics, false, &|_| {}).await;
    assert_eq!(findings.len(), 1, "there is a rule {rule}");
    (findings[0].verdict, findings[0].found.clone())
}

/// Sets a member of the answers to one tool.
macro_rules! answers {
    ($tool:literal, $answer:ident, $change:expr) => {
        |call: &mut Value, answer: Option<&mut Value>| {
            if let (Some($answer), true) = (answer, call["method"] == $tool) {
                $change
            }
        }
    };
}

const CASES: [(&str, Spoil); 10] = [
    (
        "M-REG-03",
        answers!("register_player", answer, {
            answer["result"]["player_id"] = "P01".into();
        }),
    ),
    (
        "M-REG-06",
        answers!("register_player", answer, {
            answer["result"]["auth_token"] = format!("t-{}", answer["result"]["player_id"]).into();
        }),
    ),
    (
        "M-REG-09",
        answers!("register_referee", answer, {
            answer["result"]["conversation_id"] = "mine".into();
        }),
    ),
    (
        "M-REG-13",
        |call: &mut Value, answer: Option<&mut Value>| {
            if answer.is_none() && call["method"] == "register_player" {
                call["params"]["player_meta"]["protocol_version"] = "2.1.0".into();
            }
        },
    ),
    (
        "M-QRY-04",
        answers!("league_query", answer, {
            answer["result"]["data"]["standings"] = json!([]);
        }),
    ),
    (
        "M-QRY-08",
        answers!("league_query", answer, {
            answer["result"] = json!({"message_type": "LEAGUE_QUERY_RESPONSE", "success": true});
        }),
    ),
    (
        "M-QRY-14",
        |call: &mut Value, answer: Option<&mut Value>| {
            if let Some(answer) = answer {
                answer["result"]["context"]["provided_token"] =
                    call["params"]["auth_token"].clone();
            }
        },
    ),
    (
        "M-REP-04",
        answers!("report_match_result", answer, {
            answer["result"] = json!({"status": "ok"});
        }),
    ),
    (
        "M-REP-11",
        answers!("report_match_result", answer, {
            answer["result"] = json!({"message_type": "LEAGUE_ERROR", "error_code": "E007"});
        }),
    ),
    (
        "M-REP-12",
        answers!("report_match_result", answer, {
            answer["result"] = json!({"status": "ok"});
        }),
    ),
];

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_manager_that_breaks_a_rule_is_caught_by_it() {
    for (rule, spoil) in CASES {
        let (kept, found) = verdict(|_, _| {}, rule, None).await;
        assert_eq!(kept, Verdict::Pass, "{rule} unspoilt: {found}");
        let (broken, _) = verdict(spoil, rule, None).await;
        assert_ne!(broken, Verdict::Pass, "{rule}");
        assert_ne!(broken, Verdict::Skipped, "{rule}");
    }
}

/// Another number each time.
fn next() -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// Managers that do not remember: the table is another one each time, tokens are not known, a
/// report that was taken is refused.
const RESTARTS: [(&str, Spoil); 3] = [
    (
        "M-BACK-01",
        answers!("league_query", answer, {
            answer["result"]["data"]["standings"] = json!([next()]);
        }),
    ),
    (
        "M-BACK-02",
        answers!("league_query", answer, {
            answer["result"] = json!({"message_type": "LEAGUE_ERROR", "error_code": "E012"});
        }),
    ),
    (
        "M-BACK-03",
        answers!("report_match_result", answer, {
            static REPORTS: AtomicUsize = AtomicUsize::new(0);
            if REPORTS.fetch_add(1, Ordering::Relaxed) > 0 {
                answer["result"] = json!({"message_type": "LEAGUE_ERROR", "error_code": "E006"});
            }
        }),
    ),
];

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn manager_that_forgets_is_caught() {
    for (rule, spoil) in RESTARTS {
        // What is killed and started again stands for the manager.
        let idle = Launched::new(vec!["sleep".to_owned(), "600".to_owned()]);
        idle.start().unwrap();
        let (broken, found) = verdict(spoil, rule, Some(idle)).await;
        assert_eq!(broken, Verdict::Fail, "{rule}: {found}");
    }
}
