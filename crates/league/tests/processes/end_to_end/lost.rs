//! Journals of managers that lose lines which were acknowledged: the start is refused and says so, and
//! a league that goes on by the organiser's word changes no result.
//!
//! `cargo xtask campaign damage` runs the first of these tests for as many damages as it is told.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::end_to_end::campaign::{Chance, setting};
use crate::end_to_end::ground::{Agent, Ground, LEAGUE, facts};
use crate::end_to_end::process::{ProcessExit, eventually, league};
use crate::end_to_end::stepped::referee_key;

/// How many damages a usual run has; `LEAGUE_DAMAGES` names another number.
const DAMAGES: u64 = 8;
/// The seed of a usual run; `LEAGUE_DAMAGE_SEED` names another.
const SEED: u64 = 1;
/// How many damages are done to copies of one league.
const DAMAGES_PER_LEAGUE: u64 = 50;
/// How many matches the league has.
const MATCHES: usize = 15;

#[test]
fn no_damage_of_a_journal_changes_an_acknowledged_result() {
    let (wanted, seed) = (
        setting("LEAGUE_DAMAGES", DAMAGES),
        setting("LEAGUE_DAMAGE_SEED", SEED),
    );
    let mut chance = Chance(seed | 1);
    let mut tally = Tally::default();
    while tally.damages < wanted {
        let league = InterruptedLeague::play(1 + chance.below(MATCHES as u64 - 1) as usize);
        for _ in 0..DAMAGES_PER_LEAGUE.min(wanted - tally.damages) {
            league.damage(Damage::any(&mut chance), &mut chance, &mut tally);
        }
    }
    println!("{}", tally.told());
    assert!(tally.refused > 0 && tally.restored > 0, "{}", tally.told());
}

#[test]
fn cut_journal_is_refused_and_goes_on_by_the_organisers_word() {
    let league = InterruptedLeague::play(7);
    let ground = league.copied();
    let journal = ground.league("journal.jsonl");
    let lines = lines_of(&journal);
    // Lines that no other file knows of yet cannot be missed.
    let kept = noted_line(&ground) - 1;
    fs::write(&journal, lines[..kept].concat()).unwrap();
    let before = fs::read(&journal).unwrap();
    let ended = resume(&ground, &[]);
    assert_eq!(ended.code, Some(3), "{ended:?}");
    let noted = noted_line(&ground);
    let cause = format!(
        "and other files of the league know of line {noted}: lines are missing that may have been \
         acknowledged"
    );
    assert!(ended.errors.contains(&cause), "{ended:?}");
    assert!(ended.errors.contains("restore the journal"), "{ended:?}");
    let command = format!(
        "`league run --resume --league-id {LEAGUE} --root {} --accept-loss`",
        ground.root()
    );
    assert!(ended.errors.contains(&command), "{ended:?}");
    assert_eq!(
        fs::read(&journal).unwrap(),
        before,
        "what is refused is left as it is"
    );
    let ended = resume(&ground, &["--accept-loss"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    league.see_unchanged(&ground);
    let checked = ground.consistent();
    assert_eq!(checked["known_line"], noted, "{checked}");
    assert_eq!(
        checked["disputed"].as_array().unwrap().len(),
        0,
        "{checked}"
    );
    let text = league_verify(&ground);
    assert!(
        text.contains("  loss      the journal lost lines 1 time, the last time up to line "),
        "{text}"
    );
    let report = crate::end_to_end::process::league(["export", ground.root(), "--json"]);
    let report: Value = serde_json::from_str(&report.out).unwrap();
    assert_eq!(report["accepted_losses"], 1);
}

#[test]
fn documents_alone_show_that_a_journal_lost_lines() {
    let league = InterruptedLeague::play(7);
    for name in ["standings.json", "rounds.json"] {
        let ground = league.copied();
        let version = |name: &str| -> u64 {
            let text = fs::read(ground.league(name)).unwrap();
            serde_json::from_slice::<Value>(&text).unwrap()["version"]
                .as_u64()
                .unwrap()
        };
        let known = version(name);
        fs::remove_file(ground.league(".lock")).unwrap();
        let other = if name == "rounds.json" {
            "standings.json"
        } else {
            "rounds.json"
        };
        fs::remove_file(ground.league(other)).unwrap();
        let journal = ground.league("journal.jsonl");
        let lines = lines_of(&journal);
        fs::write(&journal, lines[..known as usize - 1].concat()).unwrap();
        let ended = resume(&ground, &[]);
        assert_eq!(ended.code, Some(3), "{ended:?}");
        assert!(
            ended.errors.contains(&format!("know of line {known}:")),
            "{ended:?}"
        );
    }
}

#[test]
fn journal_that_ends_before_the_start_of_its_league_cannot_go_on() {
    let league = InterruptedLeague::play(3);
    let ground = league.copied();
    let journal = ground.league("journal.jsonl");
    let lines = lines_of(&journal);
    fs::write(&journal, lines[..3].concat()).unwrap();
    let ended = resume(&ground, &["--accept-loss"]);
    assert_eq!(ended.code, Some(3), "{ended:?}");
    assert!(
        ended.errors.contains("before the league began"),
        "{ended:?}"
    );
}

#[test]
fn referees_elsewhere_report_again_what_the_manager_lost() {
    let manager_ground = Ground::new();
    let grounds: Vec<Ground> = (0..8).map(|_| Ground::new()).collect();
    let own = ["--players", "6", "--referees", "2"];
    let mut manager = manager_ground.manager(&own);
    let (url, port) = (manager.endpoint.clone(), manager.port());
    let key = referee_key(&manager_ground);
    let key = ["--referee-key", &key];
    let referees: Vec<Agent> = (1..=2)
        .map(|number| grounds[number as usize - 1].referee(number, &url, &key))
        .collect();
    let pace = ["--pace", "50ms"];
    let players: Vec<Agent> = (1..=6)
        .map(|number| grounds[number as usize + 1].player(number, &url, &pace))
        .collect();
    let journal = manager_ground.league("journal.jsonl");
    eventually(|| (count(&journal, "result_recorded") >= 8).then_some(())).unwrap();
    manager.process.kill();
    let lines = lines_of(&journal);
    let acknowledged = acknowledged(&manager_ground, &lines);
    // Round 1 is kept: all later results are lost, with their rounds.
    let is_second =
        |line: &Vec<u8>| String::from_utf8_lossy(line).contains(r#""round_opened":{"round":2"#);
    let kept = lines.iter().position(is_second).unwrap() - 2;
    fs::write(&journal, lines[..kept].concat()).unwrap();
    let again = [&own[..], &["--accept-loss"]].concat();
    let manager = manager_ground.manager_at(port, &again);
    eventually(|| (count(&journal, "league_completed") > 0).then_some(())).unwrap();
    let results = manager_ground.results();
    assert_eq!(results.len(), MATCHES);
    // The kill may have come between a line and its answer: such a result was not acknowledged.
    let refused: Vec<String> = grounds[..2].iter().flat_map(refused).collect();
    for (match_id, result) in &acknowledged {
        let is_same = results[match_id] == *result;
        assert!(is_same || refused.contains(match_id), "{match_id}");
    }
    let restored = facts(&journal, "result_recorded");
    let restored = restored
        .iter()
        .filter(|fact| fact["restored"] == true)
        .count();
    assert!(restored > 0);
    manager.process.stop();
    drop((referees, players));
    assert_eq!(manager_ground.consistent()["restored"], restored);
}

/// The matches of which a referee's first report was refused.
fn refused(ground: &Ground) -> Vec<String> {
    let journals = ground.files("").into_iter();
    let journals = journals.filter(|file| file.ends_with("journal.jsonl"));
    let lines = journals.flat_map(|journal| lines_of(&journal));
    let closed = lines.filter_map(|line| {
        let line: Value = serde_json::from_slice(&line).ok()?;
        let event = &line["fact"]["event"];
        let is_refused = event["event"] == "closed" && event["report"]["refused"].is_string();
        is_refused.then(|| event["match_id"].as_str().unwrap().to_owned())
    });
    closed.collect()
}

/// What came of all damages.
#[derive(Default)]
pub(crate) struct Tally {
    damages: u64,
    /// Starts that were refused because lines are missing or damaged.
    pub(crate) refused: u64,
    /// Leagues that then went on by the organiser's word.
    pub(crate) accepted: u64,
    /// Results that came back.
    restored: u64,
    /// Acknowledged results that were compared.
    compared: u64,
}

impl Tally {
    fn told(&self) -> String {
        let Self {
            damages,
            refused,
            accepted,
            restored,
            compared,
        } = self;
        format!(
            "{damages} damages: {refused} refused, {accepted} went on by the organiser's word, \
             {restored} results came back; of {compared} acknowledged results 0 changed"
        )
    }
}

/// What happens to a journal.
#[derive(Debug, Clone, Copy)]
enum Damage {
    /// It ends after a line: whole batches are gone, or a batch is cut.
    CutAfterLine,
    /// It ends inside a line.
    CutInLine,
    /// A bit of its last line changes.
    LastLineChanged,
    /// A bit of one of its last lines changes.
    LineChanged,
    /// Its end is overwritten with zeros.
    Zeroed,
}

impl Damage {
    fn any(chance: &mut Chance) -> Self {
        let all = [
            Self::CutAfterLine,
            Self::CutInLine,
            Self::LastLineChanged,
            Self::LineChanged,
            Self::Zeroed,
        ];
        all[chance.below(all.len() as u64) as usize]
    }

    /// The journal after it; the lines of the registration stay.
    fn applied(self, lines: &[Vec<u8>], begun: usize, chance: &mut Chance) -> Vec<u8> {
        let line = begun + chance.below((lines.len() - begun) as u64) as usize;
        let start = lines[..line].concat().len();
        let inside =
            |chance: &mut Chance, line: &[u8]| chance.below(line.len() as u64 - 1) as usize;
        let mut bytes = lines.concat();
        match self {
            Self::CutAfterLine => bytes.truncate(start),
            Self::CutInLine => bytes.truncate(start + inside(chance, &lines[line])),
            Self::LastLineChanged => {
                let last = lines.last().unwrap();
                let at = bytes.len() - last.len() + inside(chance, last);
                bytes[at] ^= 1;
            }
            Self::LineChanged => bytes[start + inside(chance, &lines[line])] ^= 1,
            Self::Zeroed => {
                let from = start + inside(chance, &lines[line]);
                bytes[from..].fill(0);
            }
        }
        bytes
    }
}

/// A league that was killed, of which copies are damaged.
struct InterruptedLeague {
    ground: Ground,
    lines: Vec<Vec<u8>>,
    acknowledged: BTreeMap<String, Value>,
}

impl InterruptedLeague {
    /// Plays until there are so many results.
    fn play(results: usize) -> Self {
        let ground = Ground::new();
        let own = [
            "--ports",
            "auto",
            "--players",
            "6",
            "--referees",
            "2",
            "--pace",
            "30ms",
        ];
        let mut run = ground.start("run", &own);
        let journal = ground.league("journal.jsonl");
        eventually(|| (count(&journal, "result_recorded") >= results).then_some(())).unwrap();
        run.kill();
        let lines = lines_of(&journal);
        let acknowledged = acknowledged(&ground, &lines);
        Self {
            ground,
            lines,
            acknowledged,
        }
    }

    fn copied(&self) -> Ground {
        let ground = Ground::new();
        for file in self.ground.files("") {
            let below = file.strip_prefix(self.ground.path("")).unwrap();
            let copy = ground.path(below.to_str().unwrap());
            fs::create_dir_all(copy.parent().unwrap()).unwrap();
            fs::copy(&file, copy).unwrap();
        }
        ground
    }

    fn damage(&self, damage: Damage, chance: &mut Chance, tally: &mut Tally) {
        tally.damages += 1;
        let ground = self.copied();
        let journal = ground.league("journal.jsonl");
        let is_start = |line: &Vec<u8>| String::from_utf8_lossy(line).contains("league_started");
        let begun = self.lines.iter().position(is_start).unwrap() + 2;
        fs::write(
            &journal,
            damage.applied(&self.lines, begun.min(self.lines.len() - 1), chance),
        )
        .unwrap();
        let ended = go_on(&ground, tally);
        assert_eq!(ended.code, Some(0), "{damage:?}: {ended:?}");
        tally.compared += self.acknowledged.len() as u64;
        self.see_unchanged(&ground);
        let checked = ground.consistent();
        tally.restored += checked["restored"].as_u64().unwrap();
    }

    /// Sees that the league is over, no acknowledged result is another, and no player disputes one.
    fn see_unchanged(&self, ground: &Ground) {
        let journals = ground.files("data/players").into_iter();
        for journal in journals.filter(|file| file.ends_with("journal.jsonl")) {
            let text = fs::read_to_string(&journal).unwrap();
            assert!(!text.contains("draw_disputed"), "{}", journal.display());
        }
        let results = ground.results();
        assert_eq!(results.len(), MATCHES);
        for (match_id, result) in &self.acknowledged {
            assert_eq!(results[match_id], *result, "{match_id}");
        }
    }
}

/// Plays a league on as an organiser would: by the hints of the program, if it refuses to start.
pub(crate) fn go_on(ground: &Ground, tally: &mut Tally) -> ProcessExit {
    let mut ended = resume(ground, &[]);
    if ended.code != Some(0) {
        tally.refused += 1;
        assert_eq!(ended.code, Some(3), "{ended:?}");
    }
    if ended.errors.contains("is damaged in line") {
        let hint = ended.errors.split("truncate -s ").nth(1).unwrap();
        let offset: String = hint.chars().take_while(char::is_ascii_digit).collect();
        let journal = ground.league("journal.jsonl");
        let file = fs::OpenOptions::new().write(true).open(journal).unwrap();
        file.set_len(offset.parse().unwrap()).unwrap();
        ended = resume(ground, &[]);
    }
    if ended
        .errors
        .contains("lines are missing that may have been acknowledged")
    {
        tally.accepted += 1;
        ended = resume(ground, &["--accept-loss"]);
    }
    ended
}

fn resume(ground: &Ground, arguments: &[&str]) -> ProcessExit {
    let common = [
        "run",
        "--resume",
        "-q",
        "--root",
        ground.root(),
        "--pace",
        "0ms",
    ];
    league(common.iter().chain(arguments))
}

fn league_verify(ground: &Ground) -> String {
    league(["verify", ground.root()]).out
}

pub(crate) fn lines_of(journal: &Path) -> Vec<Vec<u8>> {
    let bytes = fs::read(journal).unwrap();
    bytes
        .split_inclusive(|&byte| byte == b'\n')
        .map(<[u8]>::to_vec)
        .collect()
}

fn count(journal: &Path, kind: &str) -> usize {
    let text = fs::read_to_string(journal).unwrap_or_default();
    text.lines()
        .filter(|line| line.contains(&format!("{{\"{kind}\"")))
        .count()
}

/// The last line that the manager noted as synced: nothing after it was acknowledged.
pub(crate) fn noted_line(ground: &Ground) -> usize {
    let text = fs::read_to_string(ground.league(".lock")).unwrap();
    text.lines().nth(1).unwrap().parse().unwrap()
}

/// The results that may have been acknowledged.
pub(crate) fn acknowledged(ground: &Ground, lines: &[Vec<u8>]) -> BTreeMap<String, Value> {
    let noted = &lines[..noted_line(ground)];
    let results = noted.iter().filter_map(|line| {
        let line: Value = serde_json::from_slice(line).unwrap();
        let fact = &line["fact"]["event"]["result_recorded"];
        let mut result = fact["result"].clone();
        result.as_object_mut()?.remove("evidence");
        Some((fact["match_id"].as_str()?.to_owned(), result))
    });
    results.collect()
}
