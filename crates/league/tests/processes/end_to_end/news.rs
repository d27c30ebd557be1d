//! The order in which players get their messages, from the recorded traffic of whole leagues: players
//! of every dialect that acknowledge what they are told at once, late or never.

use std::collections::BTreeSet;
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use crate::end_to_end::dialects::{admit, old_answer};
use crate::end_to_end::ground::{Agent, Ground, LEAGUE};
use crate::end_to_end::process::{BOUND, eventually};
use crate::end_to_end::scripted::{Does, Scripted, fair};

const DIALECTS: [&str; 3] = ["v2", "v1", "v2-api"];

/// How many milliseconds a player takes to acknowledge news of the manager, and `GAME_OVER`.
const PACES: [[u64; 2]; 4] = [[0, 0], [300, 0], [1_000, 0], [0, 1_000]];

/// The messages of a league between which the moves of a match stand.
struct Course {
    start: &'static [&'static str],
    announcement: &'static [&'static str],
    /// How a match begins and ends.
    game: [&'static str; 2],
    end_of_round: &'static [&'static str],
    end: &'static str,
}

const NEW: Course = Course {
    start: &[],
    announcement: &["ROUND_ANNOUNCEMENT"],
    game: ["GAME_INVITATION", "GAME_OVER"],
    end_of_round: &["LEAGUE_STANDINGS_UPDATE", "ROUND_COMPLETED"],
    end: "LEAGUE_COMPLETED",
};
const OLD: Course = Course {
    start: &["LEAGUE_START_ANNOUNCEMENT"],
    announcement: &[],
    game: ["GAME_INVITATION", "GAME_RESULT"],
    end_of_round: &["ROUND_COMPLETE"],
    end: "LEAGUE_COMPLETE",
};
/// What a player is asked and told in a match.
const MOVES: [&str; 4] = [
    "CHOOSE_PARITY_CALL",
    "GAME_START",
    "PLAY_REQUEST",
    "PLAY_VALIDATION",
];

/// A player that records what it receives.
struct Receiver {
    dialect: &'static str,
    scripted: Scripted,
    admission: Arc<OnceLock<Value>>,
}

impl Receiver {
    /// A fair player that does something before it acknowledges news or the end of a match.
    fn start(dialect: &'static str, delay: impl Fn(&Value) + Send + Sync + 'static) -> Self {
        let admission: Arc<OnceLock<Value>> = Arc::default();
        let own = Arc::clone(&admission);
        let scripted = Scripted::start(move |said| {
            if said["message_type"].is_null() {
                return Does::Answers(json!({"status": "ok"}));
            }
            let answer = answer(dialect, said, own.wait());
            if answer.get("message_type").is_none() {
                delay(said);
            }
            Does::Answers(answer)
        });
        Self {
            dialect,
            scripted,
            admission,
        }
    }

    fn at_pace(dialect: &'static str, [news, game_over]: [u64; 2]) -> Self {
        Self::start(dialect, move |said| {
            let pace = match said["message_type"].as_str() {
                Some("GAME_OVER" | "GAME_RESULT") => game_over,
                Some(kind) if !MOVES.contains(&kind) => news,
                _ => 0,
            };
            thread::sleep(Duration::from_millis(pace));
        })
    }

    fn course(&self) -> Course {
        if self.dialect == "v1" { OLD } else { NEW }
    }

    /// All messages so far but the moves, with their rounds.
    fn heard(&self) -> Vec<(String, u64)> {
        let messages = self.scripted.messages().into_iter();
        let heard = messages.map(|said| {
            let kind = said["message_type"].as_str().unwrap().to_owned();
            (kind, round_of(&said))
        });
        heard
            .filter(|(kind, _)| !MOVES.contains(&kind.as_str()))
            .collect()
    }

    /// The rounds of messages of a kind.
    fn rounds(&self, kind: &str) -> BTreeSet<u64> {
        let heard = self.heard().into_iter();
        let of_kind = heard.filter(|(heard, _)| heard == kind);
        of_kind.map(|(_, round)| round).collect()
    }

    /// Sees that all messages came once and in the order of the documents.
    fn see_order(&self, players: u64) {
        let course = self.course();
        let [invitation, _] = course.game;
        let invited = self.rounds(invitation);
        assert_eq!(invited.len() as u64, players - 1, "{:?}", self.heard());
        let mut expected: Vec<_> = course.start.iter().map(|kind| (*kind, 0)).collect();
        for round in 1..=rounds(players) {
            let game = course.game.iter().filter(|_| invited.contains(&round));
            let kinds = course.announcement.iter().chain(game);
            let kinds = kinds.chain(course.end_of_round);
            expected.extend(kinds.map(|kind| (*kind, round)));
        }
        expected.push((course.end, 0));
        let heard = self.heard();
        let heard: Vec<_> = heard
            .iter()
            .map(|(kind, round)| (kind.as_str(), *round))
            .collect();
        assert_eq!(heard, expected, "{}", self.dialect);
    }

    /// Sees that no message has a member that the documents do not show in it.
    fn see_members(&self) {
        let admission = self.admission.get().unwrap().clone();
        let messages = self.scripted.messages();
        for message in messages.iter().chain([&admission]) {
            let kind = message["message_type"].as_str().unwrap();
            let mut members = BTreeSet::new();
            list_members(message, "", &mut members);
            let shown = documented(kind, self.dialect);
            assert!(!shown.is_empty(), "{kind} is not in the documents");
            let others: Vec<_> = members.difference(&shown).collect();
            assert!(others.is_empty(), "{} {kind}: {others:?}", self.dialect);
        }
    }
}

/// The members of a message by their paths; those named after players are alike.
fn list_members(value: &Value, path: &str, members: &mut BTreeSet<String>) {
    let is_player = |name: &str| {
        let number = name.strip_prefix('P').or(name.strip_prefix("player_"));
        let number = number.map(|number| number.trim_end_matches("_choice"));
        number.is_some_and(|number| number.parse::<u32>().is_ok())
    };
    match value {
        Value::Object(object) => {
            for (name, inner) in object {
                let name = if is_player(name) { "*" } else { name };
                let path = format!("{path}.{name}");
                list_members(inner, &path, members);
                members.insert(path);
            }
        }
        Value::Array(list) => {
            let path = format!("{path}[]");
            list.iter()
                .for_each(|inner| list_members(inner, &path, members));
        }
        _ => {}
    }
}

/// Members that each message of the chapters may have (000 §2.4.3), besides those it must have.
const ANY_MESSAGE: [&str; 4] = [".auth_token", ".league_id", ".round_id", ".match_id"];

/// The members that the examples of the documents show in messages of a kind. The API page builds on
/// the chapters, so both hold for its dialect.
fn documented(kind: &str, dialect: &str) -> BTreeSet<String> {
    let folder = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../protocol/tests/all/examples"
    );
    let mut members = BTreeSet::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let text = std::fs::read(entry.unwrap().path()).unwrap();
        let examples: Vec<Value> = serde_json::from_slice(&text).unwrap();
        for example in examples {
            let known = example["dialect"].as_str().unwrap_or_default();
            if example["message_type"] != kind || !dialect.starts_with(known) {
                continue;
            }
            let message = match example["is"].as_str() {
                Some("JSON-RPC request") => &example["example"]["params"],
                Some("JSON-RPC response") => &example["example"]["result"],
                _ => &example["example"],
            };
            list_members(message, "", &mut members);
        }
    }
    if dialect != "v1" {
        members.extend(ANY_MESSAGE.map(str::to_owned));
    }
    members
}

fn answer(dialect: &str, said: &Value, admission: &Value) -> Value {
    let id = admission["player_id"].as_str().unwrap();
    if dialect == "v1" {
        return old_answer(said, id);
    }
    let mut answer = fair(said);
    if answer.get("message_type").is_some() {
        answer["sender"] = format!("player:{id}").into();
        answer["player_id"] = id.into();
        answer["auth_token"] = admission["auth_token"].clone();
        answer["conversation_id"] = said["conversation_id"].clone();
    }
    answer
}

fn rounds(players: u64) -> u64 {
    players - 1 + players % 2
}

/// The round of a message; none of the start and the end of a league.
fn round_of(said: &Value) -> u64 {
    let kind = said["message_type"].as_str().unwrap();
    if kind.starts_with("LEAGUE_START_") || kind.starts_with("LEAGUE_COMPLETE") {
        return 0;
    }
    let name = said["match_id"].as_str().and_then(|id| id.split_once('M'));
    let name = said["round_id"].as_str().or(name.map(|name| name.0));
    let number = name.map(|name| name.trim_start_matches(|letter: char| !letter.is_numeric()));
    let number = number.and_then(|number| number.parse().ok());
    said["round_id"].as_u64().or(number).unwrap()
}

/// A root where news have so many seconds, and all the rest plenty of time.
fn patient(news: u64) -> Ground {
    let ground = Ground::new();
    let system = json!({
        "timeouts": {
            "game_join_ack_timeout_sec": 60,
            "move_timeout_sec": 60,
            "game_over_timeout_sec": news,
            "match_result_report_timeout_sec": 60,
            "generic_response_timeout_sec": news,
        },
        "retry_policy": {"retry_delay_sec": 0.2},
    });
    ground.write("config/system.json", &system);
    ground
}

/// Starts a league of these players, with two referees: first the manager.
fn begin(ground: &Ground, receivers: &[Receiver]) -> [Agent; 3] {
    let players = receivers.len().to_string();
    let arguments = ["--players", &players, "--referees", "2", "--exit-when-done"];
    let manager = ground.manager(&arguments);
    let referees = [1, 2].map(|number| {
        let mut referee = ground.referee(number, &manager.endpoint, &["--exit-when-done"]);
        referee.process.event("state", "enrolled");
        referee
    });
    for (number, receiver) in receivers.iter().enumerate() {
        let name = format!("Receiver {number}");
        let scripted = &receiver.scripted;
        let admission = admit(receiver.dialect, &name, scripted, &manager.endpoint);
        receiver.admission.set(admission).unwrap();
    }
    let [first, second] = referees;
    [manager, first, second]
}

/// Waits until the agents of a league have sent all, and sees that all matches were played.
fn finish(ground: &Ground, agents: [Agent; 3], players: u64) {
    for agent in agents {
        let ended = agent.process.end();
        assert_eq!(ended.code, Some(0), "{ended:?}");
    }
    see_played(ground, players);
}

fn see_played(ground: &Ground, players: u64) {
    let results = ground.results();
    assert_eq!(results.len() as u64, players * (players - 1) / 2);
    for (id, result) in &results {
        assert_ne!(result["status"], "TECHNICAL_LOSS", "{id}: {result}");
    }
}

/// Plays a league whose players have the dialects and paces in turn, the paces from this one on.
fn play(strictness: &str, players: u64, first: usize) {
    let ground = patient(60);
    let file = format!("config/leagues/{LEAGUE}.json");
    ground.write(&file, &json!({"strictness": strictness}));
    let paces = PACES.into_iter().cycle().skip(first);
    let kinds = DIALECTS.into_iter().cycle().zip(paces);
    let receivers: Vec<_> = kinds
        .take(usize::try_from(players).unwrap())
        .map(|(dialect, pace)| Receiver::at_pace(dialect, pace))
        .collect();
    let agents = begin(&ground, &receivers);
    finish(&ground, agents, players);
    for receiver in &receivers {
        receiver.see_order(players);
        if strictness == "strict" {
            receiver.see_members();
        }
    }
    if strictness == "strict" {
        see_no_deviation(&ground);
    }
}

/// Sees that neither the manager nor a referee had anything to forgive.
fn see_no_deviation(ground: &Ground) {
    let folder = format!("{}/data/leagues/{LEAGUE}/observed", ground.root());
    let files: Vec<_> = std::fs::read_dir(folder).unwrap().collect();
    assert_eq!(files.len(), 3, "a manager and two referees observe");
    for file in files {
        let text = std::fs::read_to_string(file.unwrap().path()).unwrap();
        assert!(!text.contains("\"deviations\""), "{text}");
    }
}

/// Also: players that keep to the documents, and tell nothing of us, play a strict league without a
/// deviation, and get no member that the documents do not have.
#[test]
fn messages_come_in_order_in_every_dialect_and_at_every_pace() {
    let leagues = [("lenient", 4), ("strict", 4), ("lenient", 3), ("strict", 3)];
    thread::scope(|scope| {
        for (first, (strictness, players)) in leagues.into_iter().enumerate() {
            scope.spawn(move || play(strictness, players, first));
        }
    });
}

#[test]
fn slow_receiver_does_not_hold_up_matches_of_others() {
    let ground = patient(60);
    let others: Arc<OnceLock<Vec<Receiver>>> = Arc::default();
    let fast = Arc::clone(&others);
    // It acknowledges a round once the others have played in it, and a result once they have played
    // in the next.
    let slow = Receiver::start("v2", move |said| {
        let round = match said["message_type"].as_str() {
            Some("ROUND_ANNOUNCEMENT") => round_of(said),
            Some("GAME_OVER") => (round_of(said) + 1).min(3),
            _ => return,
        };
        eventually(|| {
            let fast = fast.get()?.iter();
            let over = fast.filter(|fast| fast.rounds(fast.course().game[1]).contains(&round));
            (over.count() >= 2).then_some(())
        });
    });
    let fast = DIALECTS.map(|dialect| Receiver::at_pace(dialect, PACES[0]));
    let mut receivers = Vec::from(fast);
    receivers.push(slow);
    let agents = begin(&ground, &receivers);
    let slow = receivers.pop().unwrap();
    assert!(others.set(receivers).is_ok());
    finish(&ground, agents, 4);
    // News that had waited for their time would have come twice.
    for receiver in others.wait().iter().chain([&slow]) {
        receiver.see_order(4);
    }
}

#[test]
fn player_that_acknowledges_nothing_does_not_disturb_the_order_of_others() {
    let ground = patient(2);
    let mut receivers = Vec::from(DIALECTS.map(|dialect| Receiver::at_pace(dialect, PACES[0])));
    receivers.push(Receiver::start("v2", |_| thread::sleep(BOUND)));
    let agents = begin(&ground, &receivers);
    for receiver in &receivers[..3] {
        receiver.scripted.heard(receiver.course().end);
    }
    drop(agents);
    see_played(&ground, 4);
    for receiver in &receivers[..3] {
        receiver.see_order(4);
    }
}
