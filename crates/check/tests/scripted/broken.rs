//! Players that break one rule each, and the rule that catches them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use league_check::listener::{IncomingCall, ScriptedAnswer};
use league_check::player::topics;
use league_check::rehearsal::rehearse;
use league_check::verdict::Verdict;
use serde_json::{Value, json};

use crate::player::{but, fair, stage};

const JOIN: &str = "handle_game_invitation";
const PICK: &str = "choose_parity";

/// A rule, and a player that breaks it.
type Case = (&'static str, Verdict, fn(&IncomingCall) -> ScriptedAnswer);

/// A rule, and a registration that breaks it.
type Registration = (&'static str, Verdict, fn(&mut Value));

/// Answers every second time otherwise.
fn every_second(heard: &IncomingCall) -> ScriptedAnswer {
    static ASKED: AtomicUsize = AtomicUsize::new(0);
    let odd = heard.tool() == Some(PICK) && ASKED.fetch_add(1, Ordering::Relaxed) % 2 == 1;
    if odd {
        but(heard, PICK, "parity_choice", "odd")
    } else {
        fair(heard)
    }
}

/// Answers a call of one kind with bytes of its own.
fn raw(heard: &IncomingCall, tool: &str, status: u16, body: &str) -> ScriptedAnswer {
    match heard.tool() {
        Some(called) if called == tool => ScriptedAnswer::Raw(status, body.to_owned()),
        _ => fair(heard),
    }
}

fn bare(heard: &IncomingCall) -> ScriptedAnswer {
    match fair(heard) {
        ScriptedAnswer::Result(message) => ScriptedAnswer::Raw(200, message.to_string()),
        said => said,
    }
}

fn wrong_id(heard: &IncomingCall) -> ScriptedAnswer {
    match fair(heard) {
        ScriptedAnswer::Result(message) => {
            let answer = json!({"jsonrpc": "2.0", "id": 99, "result": message});
            ScriptedAnswer::Raw(200, answer.to_string())
        }
        said => said,
    }
}

fn slow(heard: &IncomingCall) -> ScriptedAnswer {
    match heard.tool() {
        Some(JOIN) => ScriptedAnswer::Late(Duration::from_millis(5_200), Box::new(fair(heard))),
        _ => fair(heard),
    }
}

/// Answers for the match that it was first asked about.
fn forgetful(heard: &IncomingCall) -> ScriptedAnswer {
    static FIRST: std::sync::OnceLock<Value> = std::sync::OnceLock::new();
    if heard.tool() != Some(PICK) {
        return fair(heard);
    }
    let first = FIRST.get_or_init(|| heard.message()["match_id"].clone());
    but(heard, PICK, "match_id", first.clone())
}

const CASES: [Case; 22] = [
    ("P-HTTP-01", Verdict::Fail, |heard| {
        raw(heard, JOIN, 500, "{}")
    }),
    ("P-RPC-01", Verdict::Deviation, bare),
    ("P-RPC-02", Verdict::Fail, wrong_id),
    ("P-RPC-10", Verdict::Deviation, |heard| match fair(heard) {
        ScriptedAnswer::Raw(..) => ScriptedAnswer::Result(json!({"status": "ok"})),
        said => said,
    }),
    ("P-RPC-15", Verdict::Deviation, |heard| {
        match heard.message()["message_type"] {
            Value::Number(_) => {
                ScriptedAnswer::Raw(500, "Traceback (most recent call last)".to_owned())
            }
            _ => fair(heard),
        }
    }),
    ("P-JOIN-01", Verdict::Fail, |heard| {
        but(heard, JOIN, "message_type", "GAME_JOIN")
    }),
    ("P-JOIN-02", Verdict::Fail, |heard| {
        but(heard, JOIN, "accept", "yes")
    }),
    ("P-JOIN-03", Verdict::Fail, |heard| {
        but(heard, JOIN, "match_id", "R9M9")
    }),
    ("P-JOIN-04", Verdict::Fail, |heard| {
        but(heard, JOIN, "player_id", "P02")
    }),
    ("P-JOIN-05", Verdict::Deviation, |heard| {
        but(heard, JOIN, "arrival_timestamp", "2026-11-15T12:00:00")
    }),
    ("P-JOIN-06", Verdict::Fail, slow),
    ("P-JOIN-08", Verdict::Fail, |heard| {
        but(heard, JOIN, "sender", "P01")
    }),
    ("P-JOIN-09", Verdict::Fail, |heard| {
        but(heard, JOIN, "timestamp", "2026-11-15T14:00:00+02:00")
    }),
    ("P-JOIN-10", Verdict::Fail, |heard| {
        but(heard, JOIN, "conversation_id", "mine")
    }),
    ("P-JOIN-11", Verdict::Fail, |heard| {
        but(heard, JOIN, "auth_token", "tok-p02-7")
    }),
    ("P-PICK-01", Verdict::Fail, |heard| {
        raw(heard, PICK, 200, "{}")
    }),
    ("P-PICK-02", Verdict::Fail, |heard| {
        but(heard, PICK, "parity_choice", "Even")
    }),
    ("P-PICK-06", Verdict::Fail, |heard| {
        but(heard, PICK, "protocol", "league.v3")
    }),
    ("P-PICK-11", Verdict::Deviation, every_second),
    ("P-PICK-23", Verdict::Fail, |heard| {
        but(heard, PICK, "parity_choice", json!(["even"]))
    }),
    ("P-NEWS-01", Verdict::Fail, |heard| {
        raw(heard, "notify_match_result", 500, "")
    }),
    ("P-CROWD-02", Verdict::Fail, forgetful),
];

#[tokio::test(flavor = "multi_thread")]
async fn a_broken_player_is_caught_by_the_right_rule() {
    for (id, expected, script) in CASES {
        let broken = stage(script, |_| {}).await;
        let finding = broken.rule(id).await;
        assert_eq!(finding.verdict, expected, "{id}: {finding:?}");
        assert!(!finding.found.is_empty(), "{id}");
        assert!(!finding.fix.is_empty(), "{id}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_rules_pass_a_fair_player() {
    let fair = stage(fair, |_| {}).await;
    for (id, ..) in CASES {
        let finding = fair.rule(id).await;
        let silent = id == "P-JOIN-11";
        let expected = if silent {
            Verdict::Deviation
        } else {
            Verdict::Pass
        };
        assert_eq!(finding.verdict, expected, "{id}: {finding:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_broken_registration_is_caught_by_the_right_rule() {
    let cases: [Registration; 8] = [
        ("P-REG-04", Verdict::Fail, |message| {
            message["message_type"] = "REGISTER".into()
        }),
        ("P-REG-05", Verdict::Deviation, |message| {
            message["protocol"] = Value::Null
        }),
        ("P-REG-06", Verdict::Fail, |message| {
            message["sender"] = "Heron".into()
        }),
        ("P-REG-07", Verdict::Fail, |message| {
            message["timestamp"] = "2026-11-15T14:00:00+02:00".into();
        }),
        ("P-REG-09", Verdict::Fail, |message| {
            message["player_meta"]["display_name"] = " ".into();
        }),
        ("P-REG-10", Verdict::Fail, |message| {
            message["player_meta"]["version"] = "new".into()
        }),
        ("P-REG-12", Verdict::Fail, |message| {
            message["player_meta"]["game_types"] = json!(["chess"]);
        }),
        ("P-REG-14", Verdict::Fail, |message| {
            let url = message["player_meta"]["contact_endpoint"].as_str().unwrap();
            message["player_meta"]["contact_endpoint"] = url.replace("/mcp", "/rpc").into();
        }),
    ];
    for (id, expected, breaks) in cases {
        let broken = stage(fair, breaks).await;
        assert_eq!(broken.verdict(id).await, expected, "{id}");
        let whole = stage(fair, |_| {}).await;
        assert_eq!(whole.verdict(id).await, Verdict::Pass, "{id}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_player_that_checks_no_tokens_is_caught_when_it_leaks_its_own() {
    let token: Arc<OnceLock<String>> = Arc::default();
    let leaked = Arc::clone(&token);
    let leaks = move |heard: &IncomingCall| match (fair(heard), leaked.get()) {
        (ScriptedAnswer::Raw(status, body), Some(token)) => {
            let mut error: Value = serde_json::from_str(&body).unwrap();
            error["error"]["data"] = json!({"me": token});
            ScriptedAnswer::Raw(status, error.to_string())
        }
        (said, _) => said,
    };
    let leaky = stage(leaks, |_| {}).await;
    let given = leaky.stage.admission().unwrap().token;
    token.set(given.clone()).unwrap();
    let finding = leaky.rule("P-TRUST-08").await;
    assert_eq!(finding.verdict, Verdict::Fail, "{finding:?}");
    assert!(!format!("{finding:?}").contains(&given), "{finding:?}");
    let discreet = stage(fair, |_| {}).await;
    assert_eq!(discreet.verdict("P-TRUST-08").await, Verdict::Pass);
}

/// A player that goes by the tokens of announcements: the first of each match, or the last.
fn guarded(last: bool) -> impl Fn(&IncomingCall) -> ScriptedAnswer {
    let announced: Mutex<BTreeMap<String, Value>> = Mutex::default();
    move |heard| {
        let (said, mut announced) = (heard.message(), announced.lock().unwrap());
        if heard.tool() == Some("notify_round") {
            let row = &said["matches"][0];
            let (id, token) = (row["match_id"].to_string(), row["match_token"].clone());
            let kept = announced.entry(id).or_insert_with(|| token.clone());
            if last {
                *kept = token;
            }
            return ScriptedAnswer::Result(json!({"status": "ok"}));
        }
        match announced.get(&said["match_id"].to_string()) {
            Some(token) if *token != said["auth_token"] => ScriptedAnswer::Result(json!({
                "protocol": "league.v2", "message_type": "LEAGUE_ERROR", "sender": "player:P01",
                "timestamp": "2026-11-15T12:00:00Z", "conversation_id": said["conversation_id"],
                "error_code": "E012", "error_name": "AUTH_TOKEN_INVALID",
                "error_description": "AUTH_TOKEN_INVALID",
            })),
            _ => fair(heard),
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_announcement_counts_for_nothing_whether_it_is_refused_or_nodded_at() {
    let rule = "P-TRUST-09";
    assert_eq!(
        stage(guarded(false), |_| {}).await.verdict(rule).await,
        Verdict::Pass
    );
    let finding = stage(guarded(true), |_| {}).await.rule(rule).await;
    assert_eq!(finding.verdict, Verdict::Deviation, "{finding:?}");
    let careless = |heard: &IncomingCall| match heard.tool() {
        Some("notify_round") => ScriptedAnswer::Result(json!({"status": "ok"})),
        _ => fair(heard),
    };
    let finding = stage(careless, |_| {}).await.rule(rule).await;
    assert_eq!(finding.verdict, Verdict::Skipped, "{finding:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_player_sent_by_itself_is_not_told_as_an_answer() {
    let nameless = stage(fair, |message| {
        message["player_meta"]["display_name"] = " ".into();
    });
    let finding = nameless.await.rule("P-REG-09").await;
    let told = "the agent itself called the manager with {";
    assert!(finding.came.starts_with(told), "{finding:?}");
    assert_eq!(finding.sent, "");
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_rehearsed_with_a_player_that_joins_no_match() {
    let absent = stage(|heard| raw(heard, JOIN, 200, "{}"), |_| {}).await;
    let (findings, rehearsal) = rehearse(&absent.stage, 7, false).await;
    let why = "the player never joined a match that it was invited to";
    assert_eq!(rehearsal.absent, Some(why));
    assert_eq!(findings.len(), 1);
    assert_eq!(findings[0].verdict, Verdict::Fail, "{findings:?}");
}

#[test]
fn there_are_many_rules_and_each_has_a_name_of_its_own() {
    let topics = topics();
    let rules: Vec<_> = topics.iter().flat_map(|topic| &topic.rules).collect();
    let ids: BTreeSet<&str> = rules.iter().map(|rule| rule.id).collect();
    assert_eq!(ids.len(), rules.len());
    assert!(rules.len() >= 80, "{}", rules.len());
    for rule in rules {
        assert!(
            !rule.fix.is_empty() && !rule.clause.is_empty(),
            "{}",
            rule.id
        );
        assert!(!rule.title.ends_with('.'), "{}", rule.title);
    }
}
