//! Agents that are killed at random points and started again, and one that stays dead.
//!
//! `cargo xtask campaign kill9` runs the first of these tests for as many kills as it is told.

use std::collections::BTreeMap;
use std::fs;
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use crate::end_to_end::campaign::{Chance, setting};
use crate::end_to_end::ground::{Agent, Ground, LEAGUE};
use crate::end_to_end::process::{eventually, league};

/// How many kills a usual run has; `LEAGUE_KILLS` names another number.
const KILLS: u64 = 30;
/// The seed of a usual run; `LEAGUE_KILL_SEED` names another.
const SEED: u64 = 1;
/// The most kills in one league.
const MAX_KILLS_PER_LEAGUE: u64 = 10;
/// How many players a league has.
const PLAYERS: u32 = 6;
/// How many referees.
const REFEREES: u32 = 2;
/// How many matches follow from that.
pub(crate) const MATCHES: usize = 15;
/// The longest wait before a kill, and before the victim is started again.
const MAX_WAIT: u64 = 300;

#[test]
fn killed_agents_return_and_every_match_counts_once() {
    let (wanted, seed) = (
        setting("LEAGUE_KILLS", KILLS),
        setting("LEAGUE_KILL_SEED", SEED),
    );
    let mut tally = Tally::default();
    let mut number = 0;
    while tally.kills() < wanted {
        let seed = seed.wrapping_mul(1_000_003).wrapping_add(number);
        let most = MAX_KILLS_PER_LEAGUE.min(wanted - tally.kills());
        disturbed_league(seed, most, &mut tally);
        number += 1;
    }
    println!("{}", tally.told(number));
}

#[test]
fn dead_referee_loses_its_matches_to_the_other() {
    let ground = patient_ground();
    let settings = json!({"league_id": LEAGUE, "probe_interval_sec": 0.2});
    ground.write(&format!("config/leagues/{LEAGUE}.json"), &settings);
    let mut field = Field::start(ground, 9);
    eventually(|| (field.ground.journal().contains("round_opened")).then_some(())).unwrap();
    field.referees[0].process.kill();
    field.wait_for_the_end();
    let results = field.ground.results();
    assert_eq!(results.len(), MATCHES);
    assert!(!field.ground.facts("matches_moved").is_empty());
    let last = field.ground.facts("result_recorded").pop().unwrap();
    assert_eq!(last["referee"], "REF02", "{last}");
    for result in results.values() {
        assert_ne!(result["status"], "TECHNICAL_LOSS", "{result}");
    }
    field.manager.process.stop();
    assert_eq!(field.ground.verified()["confirmed"], MATCHES);
}

/// What happened in all leagues of a run.
#[derive(Default)]
struct Tally {
    killed: BTreeMap<&'static str, u64>,
    matches: u64,
    moved: u64,
}

impl Tally {
    fn kills(&self) -> u64 {
        self.killed.values().sum()
    }

    fn told(&self, leagues: u64) -> String {
        let (kills, matches, moved) = (self.kills(), self.matches, self.moved);
        let killed = self.killed.iter();
        let kinds: Vec<String> = killed
            .map(|(kind, count)| format!("{count} {kind}"))
            .collect();
        format!(
            "{kills} kills ({}) in {leagues} leagues: {matches} matches, {moved} played by \
             another referee, lost 0, doubled 0",
            kinds.join(", ")
        )
    }
}

/// Plays a league in which agents are killed, and compares it with one that nobody disturbed.
fn disturbed_league(seed: u64, most: u64, tally: &mut Tally) {
    let (expected, rows) = undisturbed(seed);
    let mut field = Field::start(patient_ground(), seed);
    let mut chance = Chance(seed | 1);
    for _ in 0..most {
        thread::sleep(Duration::from_millis(chance.below(MAX_WAIT)));
        if field.is_over() {
            break;
        }
        *tally.killed.entry(field.kill_one(&mut chance)).or_default() += 1;
    }
    field.wait_for_the_end();
    field.see_all_running();
    let found = field.ground.results();
    field.manager.process.stop();
    let checked = field.ground.verified();
    assert_eq!(checked["results"], MATCHES);
    // Nobody is told of a result before it is written, so that no crash can take it back.
    assert_eq!(checked["confirmed"], MATCHES, "seed {seed}: {checked}");
    assert_eq!(found.len(), MATCHES, "seed {seed}: a match was lost");
    for (match_id, result) in &found {
        tally.matches += 1;
        tally.moved += u64::from(!agrees(result, &expected[match_id], seed));
    }
    if found == expected {
        assert_eq!(table(&field.ground), rows, "seed {seed}");
    }
}

/// Sees that a result is what it would have been; says whether it is so to the last number.
///
/// A match that another referee took up is asked and drawn for again, as its attempt counts in both
/// (ruling 27): then the players are the same, and choices and number need not be.
fn agrees(found: &Value, expected: &Value, seed: u64) -> bool {
    if found["draw"]["attempt"] == 1 {
        assert_eq!(found, expected, "seed {seed}");
        return true;
    }
    assert_eq!(
        found["players"], expected["players"],
        "seed {seed}: {found}"
    );
    false
}

/// The results and the table of the same league when nobody disturbs it.
pub(crate) fn undisturbed(seed: u64) -> (BTreeMap<String, Value>, Vec<Value>) {
    let ground = Ground::new();
    let (seed, players) = (seed.to_string(), PLAYERS.to_string());
    let ended = league([
        "run",
        "--root",
        ground.root(),
        "--ports",
        "auto",
        "-q",
        "--seed",
        &seed,
        "--players",
        &players,
        "--strategies",
        "random",
    ]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    (ground.results(), table(&ground))
}

/// The rows of the table without the names, which each command chooses in its own way.
fn table(ground: &Ground) -> Vec<Value> {
    let mut rows = ground.standings().as_array().unwrap().clone();
    for row in &mut rows {
        row["display_name"].take();
    }
    rows
}

/// A league in which one who was killed has the time to come back.
fn patient_ground() -> Ground {
    let ground = Ground::new();
    let system = json!({"retry_policy": {"retry_delay_sec": 0.3, "max_retries": 30}});
    ground.write("config/system.json", &system);
    ground
}

/// All agents of a league, each a process.
pub(crate) struct Field {
    pub(crate) ground: Ground,
    seed: String,
    pub(crate) manager: Agent,
    pub(crate) referees: Vec<Agent>,
    pub(crate) players: Vec<Agent>,
}

impl Field {
    fn start(ground: Ground, seed: u64) -> Self {
        Self::start_with(ground, seed, PLAYERS)
    }

    /// Starts a league with so many of its players.
    pub(crate) fn start_with(ground: Ground, seed: u64, players: u32) -> Self {
        let seed = seed.to_string();
        let manager = ground.manager(&manager_arguments(&seed));
        let mut field = Self {
            ground,
            seed,
            manager,
            referees: Vec::new(),
            players: Vec::new(),
        };
        for number in 1..=REFEREES {
            let referee = field.referee(number, 0);
            field.referees.push(referee);
        }
        for number in 1..=players {
            let player = field.player(number, 0);
            field.players.push(player);
        }
        field
    }

    fn referee(&self, number: u32, port: u16) -> Agent {
        let manager = &self.manager.endpoint;
        self.ground.referee_at(port, number, manager, &[])
    }

    fn player(&self, number: u32, port: u16) -> Agent {
        let own = [
            "--seed",
            &self.seed,
            "--strategy",
            "random",
            "--pace",
            "500ms",
        ];
        let manager = &self.manager.endpoint;
        self.ground.player_at(port, number, manager, &own)
    }

    /// Kills one agent, starts it again after a while, and says of what kind it was.
    fn kill_one(&mut self, chance: &mut Chance) -> &'static str {
        let wait = Duration::from_millis(chance.below(MAX_WAIT));
        let (kind, place) = match chance.below(6) {
            0 | 1 => ("managers", 0),
            2 | 3 => ("referees", chance.below(u64::from(REFEREES)) as usize),
            _ => ("players", chance.below(u64::from(PLAYERS)) as usize),
        };
        let victim = match kind {
            "managers" => &mut self.manager,
            "referees" => &mut self.referees[place],
            _ => &mut self.players[place],
        };
        victim.process.kill();
        let (port, number) = (victim.port(), place as u32 + 1);
        thread::sleep(wait);
        match kind {
            "managers" => {
                self.manager = self.ground.manager_at(port, &manager_arguments(&self.seed));
            }
            "referees" => self.referees[place] = self.referee(number, port),
            _ => self.players[place] = self.player(number, port),
        }
        kind
    }

    /// Sees that nobody gave up who was started again.
    pub(crate) fn see_all_running(&mut self) {
        let all = self.referees.iter_mut().chain(&mut self.players);
        for agent in all.chain([&mut self.manager]) {
            agent.process.see_running();
        }
    }

    pub(crate) fn is_over(&self) -> bool {
        self.ground.journal().contains("\"league_completed\"")
    }

    fn wait_for_the_end(&self) {
        let over = eventually(|| self.is_over().then_some(()));
        let (ground, seed) = (&self.ground, &self.seed);
        assert!(over.is_some(), "seed {seed}: no end\n{}", ground.journal());
    }
}

fn manager_arguments(seed: &str) -> [&str; 6] {
    ["--seed", seed, "--players", "6", "--referees", "2"]
}

impl Ground {
    /// The journal of the manager, as far as it is written.
    pub(crate) fn journal(&self) -> String {
        fs::read_to_string(self.league("journal.jsonl")).unwrap_or_default()
    }
}
