//! Our own manager, as a process of its own; and one that is spoilt on the way, rule by rule.

use std::net::{Ipv4Addr, SocketAddr};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use league_check::Target;
use league_check::launch::{AgentProcess, accepts};
use league_check::listener::{IncomingCall, Listener, ScriptedAnswer};
use league_check::manager::season::Sizes;
use league_check::stage::Stage;
use league_check::verdict::Verdict;
use serde_json::{Value, json};
use tokio::runtime::Handle;

use crate::check::processes::{CheckRun, KEY, checked, post, see_clean, verdict_on};
use crate::end_to_end::process::free_port;

#[test]
fn our_manager_keeps_every_rule() {
    let port = free_port();
    let url = format!("http://localhost:{port}/mcp");
    let launch = format!("manager --port {port} --players 4 --referees 2 --referee-key {KEY}");
    let CheckRun { code, lines } =
        checked(&url, &launch, &["--kind", "manager", "--referee-key", KEY]);
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
        .args(["manager", "--players", "4", "--referees", "2"])
        .args(["--referee-key", KEY, "--port"])
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
    let Ok(came) = post(to, &call).await.came else {
        return ScriptedAnswer::Nothing;
    };
    let mut answer: Value = serde_json::from_slice(&came.body).unwrap_or_default();
    spoil(&mut call, Some(&mut answer));
    ScriptedAnswer::Raw(came.status, answer.to_string())
}

/// What comes of a rule when a manager is checked that is spoilt like this.
async fn verdict(spoil: Spoil, rule: &str, launched: Option<AgentProcess>) -> (Verdict, String) {
    verdict_with(Some(KEY), spoil, rule, launched).await
}

/// The same, for referees with another key or none.
async fn verdict_with(
    key: Option<&str>,
    spoil: Spoil,
    rule: &str,
    launched: Option<AgentProcess>,
) -> (Verdict, String) {
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
    let listens = tokio::time::timeout(COMES_UP, accepts(manager.endpoint.address)).await;
    assert!(
        listens.is_ok(),
        "our manager does not listen after {COMES_UP:?}"
    );
    let stage = Arc::new(Stage::manager(
        agent,
        launched,
        Duration::from_secs(20),
        sizes,
        None,
        key.map(str::to_owned),
    ));
    assert!(stage.begin().await);
    verdict_on(&stage, rule).await
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
async fn rule_catches_a_manager_that_breaks_it() {
    for (rule, spoil) in CASES {
        let (kept, found) = verdict(|_, _| {}, rule, None).await;
        assert_eq!(kept, Verdict::Pass, "{rule} unspoilt: {found}");
        let (broken, _) = verdict(spoil, rule, None).await;
        assert_ne!(broken, Verdict::Pass, "{rule}");
        assert_ne!(broken, Verdict::Skipped, "{rule}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn check_without_the_key_of_a_manager_skips_what_needs_referees() {
    for rule in ["M-REG-02", "M-RND-01", "M-REP-10", "M-END-01"] {
        let (skipped, found) = verdict_with(None, |_, _| {}, rule, None).await;
        assert_eq!(skipped, Verdict::Skipped, "{rule}: {found}");
        assert_eq!(found, "the manager rejected a referee without a key");
    }
    let (kept, found) = verdict_with(None, |_, _| {}, "M-REG-03", None).await;
    assert_eq!(kept, Verdict::Pass, "{found}");
    let (broken, found) = verdict_with(Some("another"), |_, _| {}, "M-REG-02", None).await;
    assert_eq!(broken, Verdict::Fail, "{found}");
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
        let idle = AgentProcess::new(vec!["sleep".to_owned(), "600".to_owned()]);
        idle.start().unwrap();
        let (broken, found) = verdict(spoil, rule, Some(idle)).await;
        assert_eq!(broken, Verdict::Fail, "{rule}: {found}");
    }
}
