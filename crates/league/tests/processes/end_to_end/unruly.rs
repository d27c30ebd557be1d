//! A player that breaks one rule against each opponent, in a league of fair ones.

use std::collections::BTreeMap;
use std::fs;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};

use crate::end_to_end::ground::{Ground, LEAGUE};
use crate::end_to_end::process::eventually;
use crate::end_to_end::scripted::{Does, Scripted, choice, fair};

/// How long a move may take here.
const MOVE: Duration = Duration::from_millis(1_500);
/// Longer than that.
const TOO_LONG: Duration = Duration::from_millis(2_500);

/// What the unruly player does against the opponent of this place, and the code of the technical
/// loss that it gets for it, if any.
const MISDEEDS: [(Misdeed, Option<&str>); 9] = [
    (Misdeed::Stalls, Some("E001")),
    (Misdeed::Crashes, Some("E009")),
    (Misdeed::PlaysBanana, Some("E004")),
    (Misdeed::IsLateOnce, None),
    (Misdeed::SendsTooMuch, Some("E002")),
    (Misdeed::SendsGarbage, Some("E002")),
    (Misdeed::LeavesOutTheWrapper, None),
    (Misdeed::TakesAnothersName, None),
    (Misdeed::Declines, Some("E007")),
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Misdeed {
    Stalls,
    Crashes,
    PlaysBanana,
    IsLateOnce,
    SendsTooMuch,
    SendsGarbage,
    LeavesOutTheWrapper,
    TakesAnothersName,
    Declines,
}

#[test]
fn unruly_player_harms_only_itself() {
    let ground = ground();
    let mut manager = ground.manager(&["--players", "10", "--referees", "2"]);
    let referees = [1, 2].map(|number| ground.referee(number, &manager.endpoint, &[]));
    let fair_ones: Vec<Scripted> = (1..=9)
        .map(|number| {
            let player = Scripted::start(|said| Does::Answers(fair(said)));
            let enrolment = player.register(&manager.endpoint, &format!("Fair {number}"));
            assert_eq!(
                enrolment["player_id"],
                format!("P{number:02}"),
                "{enrolment}"
            );
            player
        })
        .collect();
    let unruly = unruly();
    let enrolment = unruly.register(&manager.endpoint, "Unruly");
    assert_eq!(enrolment["player_id"], "P10", "{enrolment}");
    manager.process.event("state", "completed");

    let results = ground.results();
    assert_eq!(results.len(), 45);
    for result in results.values() {
        check(result);
    }
    for player in &fair_ones {
        let told = eventually(|| (player.all("GAME_OVER").len() == 9).then_some(()));
        assert!(told.is_some(), "{:?}", player.all("GAME_OVER"));
    }
    for referee in referees {
        referee.process.stop();
    }
    manager.process.stop();
    ground.verified();
    // A match whose player cannot be reached is tried by a second referee, which calls once.
    let cost = BTreeMap::from([("E001", 4), ("E002", 6), ("E004", 3), ("E009", 4)]);
    let cost: BTreeMap<String, u64> = cost
        .into_iter()
        .map(|(code, times)| (code.to_owned(), times))
        .collect();
    assert_eq!(failures(&ground), cost);
    let noted = deviations(&ground);
    assert!(
        noted.iter().any(|said| said.contains("JSON-RPC")),
        "{noted:?}"
    );
}

/// A league in which little time is given, and nobody is thrown out.
fn ground() -> Ground {
    let ground = Ground::new();
    let system = json!({
        "timeouts": {
            "move_timeout_sec": MOVE.as_secs_f64(), "game_join_ack_timeout_sec": 5,
            "absent_player_timeout_sec": 0,
        },
        "retry_policy": {"retry_delay_sec": 0.1},
        "circuit_breaker": {"failure_threshold": 1_000},
    });
    ground.write("config/system.json", &system);
    let league = json!({"league_id": LEAGUE, "max_fail": 1_000});
    ground.write(&format!("config/leagues/{LEAGUE}.json"), &league);
    ground
}

/// What was forgiven the unruly player, as the logs of the referees tell it.
fn deviations(ground: &Ground) -> Vec<String> {
    let logs = ["REF01", "REF02"].map(|referee| {
        fs::read_to_string(ground.path(&format!("logs/agents/{referee}.log.jsonl"))).unwrap()
    });
    let lines = logs
        .iter()
        .flat_map(|log| log.lines())
        .map(|line| -> Value { serde_json::from_str(line).unwrap() });
    lines
        .filter(|line| line["event_type"] == "DEVIATION" && line["data"]["peer"] == "player:P10")
        .map(|line| line["message"].as_str().unwrap().to_owned())
        .collect()
}

/// What cost the unruly player attempts, as both referees noted it; nobody else lost any.
fn failures(ground: &Ground) -> BTreeMap<String, u64> {
    let mut counts = BTreeMap::new();
    for referee in ["REF01", "REF02"] {
        let file = ground.path(&format!("data/leagues/{LEAGUE}/observed/{referee}.json"));
        let noted: Value = serde_json::from_slice(&fs::read(file).unwrap()).unwrap();
        for (agent, seen) in noted["agents"].as_object().unwrap() {
            for failed in seen["failures"].as_array().into_iter().flatten() {
                assert_eq!(agent, "player:P10", "{failed}");
                let code = failed["code"].as_str().unwrap().to_owned();
                *counts.entry(code).or_default() += failed["count"].as_u64().unwrap();
            }
        }
    }
    counts
}

/// Sees that a match ended as the conduct of its players demands.
fn check(result: &Value) {
    let players: Vec<&str> = result["players"]
        .as_array()
        .unwrap()
        .iter()
        .map(|player| player.as_str().unwrap())
        .collect();
    let unruly = players.contains(&"P10");
    let fair = players.iter().find(|player| **player != "P10").unwrap();
    let (misdeed, code) = MISDEEDS[place(fair)];
    match code.filter(|_| unruly) {
        Some(code) => {
            assert_eq!(result["status"], "TECHNICAL_LOSS", "{misdeed:?}: {result}");
            assert_eq!(
                result["failed"],
                json!({"P10": code}),
                "{misdeed:?}: {result}"
            );
            assert_eq!(result["winner"], **fair, "{misdeed:?}: {result}");
        }
        None => {
            assert_ne!(result["status"], "TECHNICAL_LOSS", "{misdeed:?}: {result}");
            assert!(result["choices"].is_object(), "{misdeed:?}: {result}");
        }
    }
}

/// The place of a fair player in the list of misdeeds.
fn place(player: &str) -> usize {
    let number: usize = player.trim_start_matches('P').parse().unwrap();
    number - 1
}

fn unruly() -> Scripted {
    let matches: Arc<Mutex<BTreeMap<String, (Misdeed, u32)>>> = Arc::default();
    Scripted::start(move |said| {
        let match_id = said["match_id"].as_str().unwrap_or_default().to_owned();
        let mut matches = matches.lock().unwrap();
        match said["message_type"].as_str() {
            Some("GAME_INVITATION") => {
                let opponent = said["opponent_id"].as_str().unwrap();
                let (misdeed, _) = MISDEEDS[place(opponent)];
                matches.insert(match_id, (misdeed, 0));
                let mut answer = fair(said);
                answer["accept"] = (misdeed != Misdeed::Declines).into();
                Does::Answers(answer)
            }
            Some("CHOOSE_PARITY_CALL") => {
                let (misdeed, asked) = matches.get_mut(&match_id).unwrap();
                *asked += 1;
                misdeed.does(said, *asked)
            }
            _ => Does::Answers(fair(said)),
        }
    })
}

impl Misdeed {
    /// What is done when a choice is asked for, for the first time or again.
    fn does(self, said: &Value, asked: u32) -> Does {
        match self {
            Self::Stalls => Does::AnswersLate(TOO_LONG, choice(said, "even")),
            Self::IsLateOnce if asked == 1 => Does::AnswersLate(TOO_LONG, choice(said, "even")),
            Self::Crashes => Does::Closes,
            Self::PlaysBanana => Does::Answers(choice(said, "banana")),
            Self::SendsTooMuch => {
                let mut answer = choice(said, "even");
                answer["padding"] = "x".repeat(1024 * 1024).into();
                Does::Answers(answer)
            }
            Self::SendsGarbage => Does::Sends(b"\xff\xfe{\"parity_choice\": \"even".to_vec()),
            Self::LeavesOutTheWrapper => Does::Sends(choice(said, "even").to_string().into_bytes()),
            Self::TakesAnothersName => {
                let mut answer = choice(said, "even");
                answer["sender"] = "player:P01".into();
                answer["player_id"] = "P01".into();
                Does::Answers(answer)
            }
            Self::IsLateOnce | Self::Declines => Does::Answers(choice(said, "even")),
        }
    }
}

#[test]
fn late_answer_is_told_to_its_sender() {
    let ground = Ground::new();
    ground.write(
        "config/system.json",
        &json!({
            "timeouts": {"move_timeout_sec": 2}, "retry_policy": {"retry_delay_sec": 8},
        }),
    );
    let asked = Mutex::new(0);
    let late = Scripted::start(move |said| {
        if said["message_type"] != "CHOOSE_PARITY_CALL" {
            return Does::Answers(fair(said));
        }
        let mut asked = asked.lock().unwrap();
        *asked += 1;
        match *asked {
            1 => Does::AnswersLate(Duration::from_secs(3), choice(said, "even")),
            _ => Does::Answers(choice(said, "even")),
        }
    });
    let mut manager = ground.manager(&["--players", "2", "--referees", "1"]);
    late.register(&manager.endpoint, "Late");
    let _others = (
        ground.referee(1, &manager.endpoint, &[]),
        ground.player(2, &manager.endpoint, &[]),
    );
    manager.process.event("state", "completed");
    let told = late.all("GAME_ERROR");
    let codes: Vec<&str> = told
        .iter()
        .filter_map(|error| error["error_code"].as_str())
        .collect();
    assert_eq!(codes, ["E001", "E008"], "{told:?}");
    for (id, result) in &ground.results() {
        assert_ne!(result["status"], "TECHNICAL_LOSS", "{id}: {result}");
    }
}
