//! What was said can be traced afterwards: by the logs of those who spoke, and by the bytes.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use serde_json::{Value, json};

use crate::end_to_end::ground::{Ground, LEAGUE};
use crate::end_to_end::process::{eventually, league};
use crate::end_to_end::scripted::{Does, Scripted, fair};

/// The lines of the log of an agent.
pub(crate) fn log(ground: &Ground, agent: &str) -> Vec<Value> {
    let text = fs::read_to_string(ground.path(&format!("logs/agents/{agent}.log.jsonl"))).unwrap();
    let lines = text.lines().map(|line| serde_json::from_str(line).unwrap());
    lines.collect()
}

/// The lines of all logs that are written below a folder.
fn logs_below(folder: &Path) -> Vec<Value> {
    let mut lines = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            lines.extend(logs_below(&path));
        } else {
            let text = fs::read_to_string(path).unwrap();
            lines.extend(text.lines().map(|line| serde_json::from_str(line).unwrap()));
        }
    }
    lines
}

#[test]
fn every_line_of_every_log_names_an_agent_and_has_a_sentence() {
    let (ground, _) = quarrel();
    for line in logs_below(&ground.path("logs")) {
        for field in ["agent_id", "component", "event_type", "message"] {
            let text = line[field].as_str();
            assert!(text.is_some_and(|text| !text.is_empty()), "{field}: {line}");
        }
    }
}

#[test]
fn logs_of_league_and_system_have_their_details() {
    let (ground, _) = quarrel();
    let read = |file: &str| logs_below(ground.path(file).parent().unwrap());
    let league = read(&format!("logs/league/{LEAGUE}/league.log.jsonl"));
    let announced = league
        .iter()
        .find(|line| line["event_type"] == "ROUND_ANNOUNCEMENT_SENT")
        .unwrap();
    let wanted = json!({"round_id": 1, "matches_count": 1, "league_id": LEAGUE});
    assert_eq!(announced["details"], wanted);
    assert_eq!(announced["component"], "league_manager");
    assert_eq!(announced["level"], "INFO");
    let system = read("logs/system/orchestrator.log.jsonl");
    for kind in ["PROCESS_STARTED", "PROCESS_ENDED"] {
        let of_kind = system.iter().filter(|line| line["event_type"] == kind);
        assert_eq!(of_kind.count(), 3, "{system:#?}");
    }
}

#[test]
fn game_error_is_a_warning_with_its_code_and_stays_off_the_screen() {
    let (ground, _) = quarrel();
    let lines = log(&ground, "REF01");
    let errors: Vec<_> = lines
        .iter()
        .filter(|line| line["message_type"] == "GAME_ERROR")
        .collect();
    let [error] = errors.as_slice() else {
        panic!("{errors:#?}");
    };
    assert_eq!(error["level"], "WARNING", "{error}");
    assert_eq!(error["event_type"], "MESSAGE_SENT", "{error}");
    assert_eq!(error["data"]["error_code"], "E002", "{error}");
    assert_eq!(
        error["message"], "sent GAME_ERROR to player:P02: E002 (INVALID_MESSAGE)",
        "{error}"
    );
}

/// Messages by who sent them, who heard them, conversation and type, and how often.
type Passed = BTreeMap<[String; 4], usize>;

/// What an agent says that it has sent, or received.
fn passed(lines: &[Value], agent: &str, event: &str) -> Passed {
    let mut passed = Passed::new();
    for line in lines.iter().filter(|line| line["event_type"] == event) {
        let text = |value: &Value| value.as_str().unwrap_or("-").to_owned();
        let (own, peer) = (agent.to_owned(), text(&line["data"]["peer"]));
        let (from, to) = match event {
            "MESSAGE_SENT" => (own, peer),
            _ => (peer, own),
        };
        let (conversation, kind) = (&line["conversation_id"], &line["message_type"]);
        let key = [from, to, text(conversation), text(kind)];
        *passed.entry(key).or_default() += 1;
    }
    passed
}

#[test]
fn every_message_is_logged_by_sender_and_receiver_without_content() {
    let ground = Ground::new();
    let ended = ground
        .start("run", &["--players", "4", "--ports", "auto"])
        .end();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let agents = [
        ("league_manager", "league_manager"),
        ("REF01", "referee:REF01"),
        ("REF02", "referee:REF02"),
        ("P01", "player:P01"),
        ("P02", "player:P02"),
        ("P03", "player:P03"),
        ("P04", "player:P04"),
    ];
    let (mut sent, mut received) = (Passed::new(), Passed::new());
    for (name, label) in agents {
        let lines = log(&ground, name);
        sent.append(&mut passed(&lines, label, "MESSAGE_SENT"));
        received.append(&mut passed(&lines, label, "MESSAGE_RECEIVED"));
        let text = fs::read_to_string(ground.path(&format!("logs/agents/{name}.log.jsonl")));
        let text = text.unwrap();
        for hidden in [r#""even""#, r#""odd""#, "tok-", "nonce", "seed"] {
            assert!(!text.contains(hidden), "{name} tells `{hidden}`: {text}");
        }
        for line in &lines {
            assert_eq!(line["agent_id"], name, "{line}");
            let of_message = line["event_type"].as_str().unwrap().starts_with("MESSAGE_");
            assert!(!of_message || line["data"]["league_id"] == LEAGUE, "{line}");
        }
    }
    // Whoever has no id yet has no log of its own either.
    let known = |(key, times): ([String; 4], usize)| {
        let registration = key[2].starts_with("conv-reg-") || key[3].contains("REGISTER");
        (!registration).then_some((key, times))
    };
    let sent: Passed = sent.into_iter().filter_map(known).collect();
    let received: Passed = received.into_iter().filter_map(known).collect();
    assert_eq!(sent, received);
    let of_kind = |kind: &str| -> usize {
        let of_kind = sent.iter().filter(|(key, _)| key[3] == kind);
        of_kind.map(|(_, times)| times).sum()
    };
    for kind in [
        "GAME_INVITATION",
        "GAME_JOIN_ACK",
        "CHOOSE_PARITY_RESPONSE",
        "GAME_OVER",
    ] {
        assert_eq!(of_kind(kind), 12, "{kind}: {sent:?}");
    }
    for kind in ["START_MATCH", "MATCH_RESULT_REPORT"] {
        assert_eq!(of_kind(kind), 6, "{kind}: {sent:?}");
    }
    // Acknowledgements are logged for debugging only.
    assert_eq!(of_kind("-"), 0, "{sent:?}");
    let newcomers = log(&ground, "newcomers");
    assert_eq!(
        newcomers[0]["data"]["direction"], "sent",
        "{}",
        newcomers[0]
    );
}

#[test]
fn answer_is_logged_with_outcome_and_duration() {
    let (ground, _) = quarrel();
    let lines = log(&ground, "REF01");
    let of = |event: &str, to: &str| -> Vec<Value> {
        let of_event = lines.iter().filter(|line| {
            let about = [&line["data"]["in_answer_to"], &line["message_type"]];
            line["event_type"] == event
                && line["data"]["peer"] == "player:P02"
                && about.contains(&&json!(to))
        });
        of_event.cloned().collect()
    };
    let answers = of("MESSAGE_RECEIVED", "CHOOSE_PARITY_CALL");
    let outcomes: Vec<_> = answers
        .iter()
        .map(|line| (&line["data"]["outcome"], &line["data"]["code"]))
        .collect();
    let (unclear, answered) = (json!("not understood"), json!("answered"));
    let (code, none) = (json!("E002"), Value::Null);
    assert_eq!(outcomes, [(&unclear, &code), (&answered, &none)]);
    for line in &answers {
        assert!(line["data"]["milliseconds"].is_number(), "{line}");
        assert_eq!(line["conversation_id"], "conv-r1m1-001", "{line}");
        assert_eq!(line["data"]["match_id"], "R1M1", "{line}");
    }
    let lost = &of("NO_ANSWER", "GAME_OVER")[0];
    assert_eq!(lost["data"]["outcome"], "not reached", "{lost}");
    assert_eq!(lost["data"]["code"], "E009", "{lost}");
}

#[test]
fn deviation_is_logged_with_observer_and_cause() {
    let (ground, _) = quarrel();
    let lines = log(&ground, "REF01");
    let deviation = lines
        .iter()
        .find(|line| line["event_type"] == "DEVIATION" && line["data"]["path"] == "parity_choice");
    let deviation = deviation.unwrap();
    assert_eq!(deviation["component"], "referee:REF01");
    let data = &deviation["data"];
    assert_eq!(data["peer"], "player:P02");
    assert_eq!(data["match_id"], "R1M1");
    assert_eq!(data["clause"], "ruling 13");
}

#[test]
fn transcript_keeps_the_original_text_without_tokens() {
    let (ground, token) = quarrel();
    ground.verified();
    let text = fs::read_to_string(record(&ground)).unwrap();
    assert!(!text.contains(&token), "{text}");
    let document: Value = serde_json::from_str(&text).unwrap();
    let said = document["transcript"].as_array().unwrap().iter();
    let said: Vec<&Value> = said
        .filter(|said| said["from"] == "player:P02" && said["verbatim"].is_object())
        .collect();
    let [unread, mended] = said.as_slice() else {
        panic!("{text}");
    };
    assert_eq!(unread["message"], Value::Null);
    let verbatim = &unread["verbatim"];
    assert_eq!(verbatim["text"], "even! my token is tok-p02-…");
    assert_eq!(
        (&verbatim["cut"], &verbatim["bytes"]),
        (&json!(false), &json!(18 + token.len()))
    );
    let problem = verbatim["problem"].as_str().unwrap();
    assert!(problem.contains("JSON"), "{problem}");
    assert_eq!(mended["message"]["parity_choice"], "even");
    assert_eq!(mended["verbatim"]["text"], r#"{ "choice" :"EVEN" }"#);
    assert_eq!(mended["verbatim"]["problem"], Value::Null);
    let replayed = league(["export", ground.root(), "--match", "R1M1"]);
    assert!(
        replayed
            .out
            .contains("received `even! my token is tok-p02-…`"),
        "{replayed:?}"
    );
}

#[test]
fn transcript_survives_a_referee_killed_after_the_result() {
    let ground = Ground::new();
    let mut manager = ground.manager(&["--players", "2", "--referees", "1"]);
    let mut referee = ground.referee(1, &manager.endpoint, &[]);
    let killed = Arc::new(AtomicBool::new(false));
    let knows = Arc::clone(&killed);
    let slow = Scripted::start(move |said| {
        if said["message_type"] == "GAME_OVER" {
            eventually(|| knows.load(Ordering::SeqCst).then_some(()));
        }
        Does::Answers(fair(said))
    });
    slow.register(&manager.endpoint, "Slow");
    let fair_one = Scripted::start(|said| Does::Answers(fair(said)));
    fair_one.register(&manager.endpoint, "Fair");
    slow.heard("GAME_OVER");
    referee.process.kill();
    killed.store(true, Ordering::SeqCst);
    let _referee = ground.referee(1, &manager.endpoint, &[]);
    assert!(eventually(|| is_over(&ground)).is_some());
    manager.process.event("state", "completed");
    let text = fs::read_to_string(record(&ground)).unwrap();
    let document: Value = serde_json::from_str(&text).unwrap();
    for player in ["player:P01", "player:P02"] {
        for kind in ["GAME_JOIN_ACK", "CHOOSE_PARITY_RESPONSE"] {
            let said = document["transcript"].as_array().unwrap().iter();
            let said = said.filter(|said| said["from"] == player && said["message_type"] == kind);
            assert_eq!(said.count(), 1, "{kind} of {player}: {text}");
        }
    }
    ground.verified();
}

/// A league of one match: one player answers first no JSON, then half a message, and is gone
/// before the end. Gives the token that it told.
fn quarrel() -> (Ground, String) {
    let ground = Ground::new();
    let soon = json!({"retry_policy": {"retry_delay_sec": 0.2}});
    ground.write("config/system.json", &soon);
    let mut manager = ground.manager(&["--players", "2", "--referees", "1"]);
    let mut referee = ground.referee(1, &manager.endpoint, &[]);
    let mut player = ground.player(1, &manager.endpoint, &[]);
    referee.process.event("state", "enrolled");
    player.process.event("state", "enrolled");
    let token = format!("tok-p02-{}", "5e".repeat(32));
    let (asked, told) = (AtomicUsize::new(0), token.clone());
    let unruly = Scripted::start(move |said| match said["message_type"].as_str() {
        Some("CHOOSE_PARITY_CALL") => match asked.fetch_add(1, Ordering::SeqCst) {
            0 => Does::Sends(format!("even! my token is {told}").into_bytes()),
            _ => Does::Sends(r#"{ "choice" :"EVEN" }"#.into()),
        },
        Some("GAME_OVER") => Does::Closes,
        _ => Does::Answers(fair(said)),
    });
    let enrolment = unruly.register(&manager.endpoint, "Unruly");
    assert_eq!(enrolment["player_id"], "P02", "{enrolment}");
    manager.process.event("state", "completed");
    // The league is over when the result is taken; the match is when both have been told of it.
    assert!(eventually(|| is_over(&ground)).is_some());
    player.process.stop();
    let screen = referee.process.stop();
    assert!(!screen.errors.contains("GAME_ERROR"), "{screen:?}");
    manager.process.stop();
    (ground, token)
}

/// The record of the match.
fn record(ground: &Ground) -> PathBuf {
    ground.path(&format!("data/matches/{LEAGUE}/R1M1.json"))
}

/// Whether the record of the match is written to its end.
fn is_over(ground: &Ground) -> Option<()> {
    let document: Value = serde_json::from_str(&fs::read_to_string(record(ground)).ok()?).ok()?;
    (document["lifecycle"]["state"] == "FINISHED").then_some(())
}
