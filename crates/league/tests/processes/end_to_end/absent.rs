//! Players that go away and come back: within the time that a match waits for them, after they were
//! put out of the league, and at random.
//!
//! `cargo xtask campaign absence` runs the last of these tests at its full size.

use std::collections::BTreeMap;
use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use league_protocol::time::Timestamp;
use serde_json::{Value, json};

use crate::end_to_end::campaign::{Chance, setting};
use crate::end_to_end::ground::{Agent, Ground, LEAGUE};
use crate::end_to_end::http::{call, request};
use crate::end_to_end::process::eventually;
use crate::end_to_end::scripted::{Does, Scripted, fair, registration};

#[test]
fn match_waits_for_a_player_that_was_killed_and_comes_back() {
    let ground = Ground::new();
    let system = json!({
        "timeouts": {"absent_player_timeout_sec": 100},
        "retry_policy": {"retry_delay_sec": 0.2},
    });
    ground.write("config/system.json", &system);
    let mut league = LeagueWithoutFirst::begin(ground, 4, |said| Does::Answers(fair(said)));
    // Three attempts would lose the match if it did not wait; the other match of the round goes on.
    let waits = || {
        let failed = league.ground.referee_events("REF01", "attempt_failed");
        let unreached = failed.iter().filter(|event| event["code"] == "E009");
        (unreached.count() > 3 && league.ground.journal().contains("result_recorded")).then_some(())
    };
    eventually(waits).unwrap();
    league.bring_back();
    league.manager.process.event("state", "completed");
    let results = league.ground.results();
    assert_eq!(results.len(), 6);
    for (id, result) in &results {
        assert_ne!(result["status"], "TECHNICAL_LOSS", "{id}: {result}");
    }
    league.ground.verified();
}

#[test]
fn player_that_was_put_out_for_absence_comes_back_and_plays() {
    let ground = Ground::new();
    let system = json!({
        "timeouts": {"absent_player_timeout_sec": 0.3, "game_join_ack_timeout_sec": 100},
        "retry_policy": {"retry_delay_sec": 0.1},
    });
    ground.write("config/system.json", &system);
    let settings = json!({"league_id": LEAGUE, "max_fail": 2});
    ground.write(&format!("config/leagues/{LEAGUE}.json"), &settings);
    // The others hold the third round until the first player is back.
    let is_back = Arc::new(AtomicBool::new(false));
    let gate = Arc::clone(&is_back);
    let mut league = LeagueWithoutFirst::begin(ground, 6, move |said| {
        if said["message_type"] == "GAME_INVITATION" && said["round_id"] == 3 {
            eventually(|| gate.load(Ordering::Relaxed).then_some(()));
        }
        Does::Answers(fair(said))
    });
    let is_third = || (league.ground.journal()).contains("\"round_opened\":{\"round\":3");
    eventually(|| is_third().then_some(())).unwrap();
    let badge = "out since round 2 after 2 technical losses";
    assert!(league.page().contains(badge), "{}", league.page());
    league.bring_back();
    let journal = || league.ground.journal();
    eventually(|| journal().contains("\"player_reinstated\"").then_some(())).unwrap();
    assert!(!league.page().contains(badge), "{}", league.page());
    is_back.store(true, Ordering::Relaxed);
    league.manager.process.event("state", "completed");
    let results = league.ground.results();
    assert_eq!(results.len(), 15);
    let lost: Vec<&str> = results
        .iter()
        .filter(|(_, result)| result["status"] == "TECHNICAL_LOSS")
        .map(|(id, result)| {
            assert!(result["failed"].get("P01").is_some(), "{id}: {result}");
            &id[..2]
        })
        .collect();
    assert_eq!(lost, ["R1", "R2", "R3"]);
    let out = &league.ground.facts("player_shut_down")[0];
    assert_eq!(out["absence"], true, "{out}");
    league.ground.verified();
}

/// A league whose first player was killed after it had registered; the others are scripted.
struct LeagueWithoutFirst {
    ground: Ground,
    manager: Agent,
    first: Agent,
    /// They end with the test.
    _others: (Agent, Vec<Scripted>),
}

impl LeagueWithoutFirst {
    fn begin(
        ground: Ground,
        players: usize,
        script: impl Fn(&Value) -> Does + Clone + Send + Sync + 'static,
    ) -> Self {
        let manager = ground.manager(&["--players", &players.to_string(), "--referees", "1"]);
        let referee = ground.referee(1, &manager.endpoint, &[]);
        let mut first = ground.player(1, &manager.endpoint, &[]);
        first.process.event("state", "enrolled");
        first.process.kill();
        let others = (2..=players).map(|number| {
            let player = Scripted::start(script.clone());
            player.register(&manager.endpoint, &format!("Fair {number}"));
            player
        });
        let others = others.collect();
        Self {
            ground,
            manager,
            first,
            _others: (referee, others),
        }
    }

    fn bring_back(&mut self) {
        let (port, manager) = (self.first.port(), &self.manager.endpoint);
        self.first = self.ground.player_at(port, 1, manager, &[]);
        self.first.process.event("state", "enrolled");
    }

    fn page(&self) -> String {
        request(&self.manager.endpoint, "GET", "/", b"").body
    }
}

impl Ground {
    /// The events of a kind in the journal of a referee, as far as it is written.
    fn referee_events(&self, referee: &str, kind: &str) -> Vec<Value> {
        let journal = self.league(&format!("referees/{referee}/journal.jsonl"));
        let text = fs::read_to_string(journal).unwrap_or_default();
        let lines = text
            .lines()
            .filter_map(|line| serde_json::from_str(line).ok());
        let events = lines.map(|line: Value| line["fact"]["event"].clone());
        events.filter(|event| event["event"] == kind).collect()
    }
}

/// How many players a usual run has; `LEAGUE_ABSENCE_PLAYERS` names another number.
const PLAYERS: u64 = 8;
/// How many of them go away, each once; `LEAGUE_ABSENCES` names another number.
const ABSENCES: u64 = 2;
/// The longest absence in seconds; `LEAGUE_ABSENCE_SECONDS` names another.
const LONGEST: u64 = 6;
/// How long a player thinks, in milliseconds; `LEAGUE_ABSENCE_PACE` names another time.
const PACE: u64 = 1_000;
/// The referees; they are not listed, so that the defaults say how many matches they run at once.
const REFEREES: [u32; 2] = [3, 4];
/// The seed of a usual run; `LEAGUE_ABSENCE_SEED` names another.
const SEED: u64 = 1;

#[test]
fn no_player_loses_a_match_at_which_it_was_there() {
    let players = setting("LEAGUE_ABSENCE_PLAYERS", PLAYERS) & !1;
    let pace = Duration::from_millis(setting("LEAGUE_ABSENCE_PACE", PACE));
    let longest = Duration::from_secs(setting("LEAGUE_ABSENCE_SECONDS", LONGEST));
    let grace = (longest / 4).min(Duration::from_secs(20));
    let ground = ground_for_visitors(players, grace);
    let expected = players.to_string();
    let mut manager = ground.manager(&["--players", &expected, "--referees", "2"]);
    let _referees = REFEREES.map(|number| ground.referee(number, &manager.endpoint, &[]));
    let all: Vec<Visitor> = (1..=players)
        .map(|number| Visitor::start(number, &manager.endpoint, pace))
        .collect();
    all[0].player.heard("ROUND_ANNOUNCEMENT");
    let rounds = u32::try_from(players - 1).unwrap();
    // All have gone at half time, so that there are matches to come back to.
    let gone = send_away(&all[1..], longest, grace, pace * rounds / 2);
    for round in 1..=rounds as usize {
        let told = || (all[0].player.all("ROUND_COMPLETED").len() >= round).then_some(());
        eventually(told).unwrap_or_else(|| panic!("round {round} has no end"));
    }
    manager.process.event("state", "completed");
    let absences = gone.into_iter().map(|absence| absence.join().unwrap());
    let absences: BTreeMap<String, Absence> = absences
        .map(|absence| (absence.player_id.clone(), absence))
        .collect();
    let (lost, unjust) = losses(&ground, &absences);
    println!(
        "{players} players, {} absences of up to {longest:?}, {} matches: {lost} lost, of them {} \
         by a player that was there",
        absences.len(),
        ground.results().len(),
        unjust.len()
    );
    assert!(lost > 0, "no absence was as long as a match waits");
    assert!(unjust.is_empty(), "{unjust:#?}\n{absences:#?}");
    ground.verified();
}

/// A root on which referees run all matches of a round at once, and matches wait so long for absent
/// players.
fn ground_for_visitors(players: u64, grace: Duration) -> Ground {
    let ground = Ground::new();
    let system = json!({
        "timeouts": {"absent_player_timeout_sec": grace.as_secs_f64()},
        "retry_policy": {"retry_delay_sec": grace.as_secs_f64() / 10.0},
    });
    ground.write("config/system.json", &system);
    let referee = json!({"max_concurrent_matches": players});
    ground.write("config/defaults/referee.json", &referee);
    ground
}

/// Sends players away, each once: some time before `latest`, and for times that are spread from the
/// shortest to the longest.
fn send_away(
    players: &[Visitor],
    longest: Duration,
    grace: Duration,
    latest: Duration,
) -> Vec<JoinHandle<Absence>> {
    let mut chance = Chance(setting("LEAGUE_ABSENCE_SEED", SEED) | 1);
    let count = setting("LEAGUE_ABSENCES", ABSENCES).max(2);
    let latest = latest.as_millis().try_into().unwrap();
    let shortest = longest / 18;
    let each = (0..count).zip(players).map(|(number, player)| {
        let share = number as f64 / (count - 1) as f64;
        let lasts = shortest + (longest - shortest).mul_f64(share);
        // A player that was away so long that it may be out must say that it is back.
        let registers = number % 2 == 1 || lasts > grace * 3 / 2;
        player.go_away(
            Duration::from_millis(chance.below(latest)),
            lasts,
            registers,
        )
    });
    each.collect()
}

/// A scripted player that can go away.
struct Visitor {
    player: Arc<Scripted>,
    enrolment: Value,
    name: String,
    manager: String,
    is_away: Arc<AtomicBool>,
}

/// When a player was away.
#[derive(Debug)]
struct Absence {
    player_id: String,
    from: Timestamp,
    to: Timestamp,
}

impl Visitor {
    fn start(number: u64, manager: &str, pace: Duration) -> Self {
        let is_away = Arc::new(AtomicBool::new(false));
        let away = Arc::clone(&is_away);
        let player = Scripted::start(move |said| {
            if away.load(Ordering::Relaxed) {
                return Does::Closes;
            }
            match said["message_type"] == "CHOOSE_PARITY_CALL" {
                true => Does::AnswersLate(pace, fair(said)),
                false => Does::Answers(fair(said)),
            }
        });
        let name = format!("Visitor {number}");
        Self {
            enrolment: player.register(manager, &name),
            player: Arc::new(player),
            name,
            manager: manager.to_owned(),
            is_away,
        }
    }

    /// Goes away after a while and comes back: as a program that is started again and registers, or
    /// as one whose network is back.
    fn go_away(&self, after: Duration, lasts: Duration, registers: bool) -> JoinHandle<Absence> {
        let (is_away, manager) = (Arc::clone(&self.is_away), self.manager.clone());
        let mut request = registration(&self.name, &self.player.endpoint);
        request["auth_token"] = self.enrolment["auth_token"].clone();
        let player_id = self.enrolment["player_id"].as_str().unwrap().to_owned();
        thread::spawn(move || {
            thread::sleep(after);
            is_away.store(true, Ordering::Relaxed);
            let from = now();
            thread::sleep(lasts);
            is_away.store(false, Ordering::Relaxed);
            if registers {
                let answer = call(&manager, "register_player", &request);
                assert_eq!(answer["player_id"], player_id.as_str(), "{answer}");
            }
            let to = now();
            Absence {
                player_id,
                from,
                to,
            }
        })
    }
}

fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    Timestamp::from_millis(since.as_millis().try_into().unwrap())
}

/// How many matches were lost technically, and those of them that were lost by a player that was
/// there from before the match to its end.
fn losses(ground: &Ground, absences: &BTreeMap<String, Absence>) -> (usize, Vec<Value>) {
    let time = |text: &Value| Timestamp::parse(text.as_str().unwrap()).unwrap();
    let mut opened = BTreeMap::new();
    for round in ground.facts("round_opened") {
        for place in 1..=round["commitments"].as_array().unwrap().len() {
            opened.insert(format!("R{}M{place}", round["round"]), time(&round["at"]));
        }
    }
    for number in REFEREES {
        for event in ground.referee_events(&format!("REF{number:02}"), "match_opened") {
            let match_id = event["fixture"]["match_id"].as_str().unwrap();
            let latest = opened.get_mut(match_id).unwrap();
            *latest = time(&event["at"]).max(*latest);
        }
    }
    let (mut lost, mut unjust) = (0, Vec::new());
    for fact in ground.facts("result_recorded") {
        let failed = fact["result"]["failed"].as_object();
        for player in failed.into_iter().flatten().map(|(player, _)| player) {
            lost += 1;
            let begin = opened[fact["match_id"].as_str().unwrap()];
            let end = time(&fact["at"]);
            let was_away = |absence: &Absence| absence.from <= end && begin <= absence.to;
            if !absences.get(player).is_some_and(was_away) {
                unjust.push(fact.clone());
            }
        }
    }
    (lost, unjust)
}
