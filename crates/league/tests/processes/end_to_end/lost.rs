//! Journals of managers that lose lines which were acknowledged: the start is refused and says so, or
//! nothing that was acknowledged is lost.
//!
//! `cargo xtask campaign damage` runs the first of these tests for as many damages as it is told.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::end_to_end::campaign::{Chance, setting};
use crate::end_to_end::ground::{Ground, LEAGUE, facts};
use crate::end_to_end::process::{ProcessExit, eventually, league};

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
    assert!(tally.refused > 0, "{}", tally.told());
}

#[test]
fn league_that_lost_lines_is_refused_and_followed_by_one_with_the_same_agents() {
    let league = InterruptedLeague::play(7);
    let ground = league.copied();
    let journal = ground.league("journal.jsonl");
    // Lines that no other file knows of yet cannot be missed.
    let noted = noted_line(&ground);
    fs::write(&journal, league.lines[..noted - 1].concat()).unwrap();
    let before = fs::read(&journal).unwrap();
    let ended = resume(&ground);
    assert_eq!(ended.code, Some(3), "{ended:?}");
    let cause = format!(
        "journal.jsonl` ends at line {}, and other files of the league know of line ",
        noted - 1
    );
    let (_, rest) = ended.errors.split_once(&cause).expect("the cause is told");
    // Its documents may know of later lines than the writer noted.
    let known: usize = rest.split(':').next().unwrap().parse().unwrap();
    assert!(known >= noted, "{ended:?}");
    assert!(
        rest.contains(": lines are missing that may have been acknowledged"),
        "{ended:?}"
    );
    for way in ["a backup", "`league manager --next`", "`league export DIR`"] {
        assert!(ended.errors.contains(way), "{ended:?}");
    }
    assert_eq!(fs::read(&journal).unwrap(), before, "it is left as it is");
    assert_eq!(kept_by_the_next(&ground), 8, "six players and two referees");
}

#[test]
fn damaged_league_is_refused_and_followed_by_one_with_the_agents_of_its_whole_lines() {
    let league = InterruptedLeague::play(7);
    let ground = league.copied();
    let journal = ground.league("journal.jsonl");
    let is_result = |line: &Vec<u8>| String::from_utf8_lossy(line).contains("result_recorded");
    let first = league.lines.iter().position(is_result).unwrap();
    let mut lines = league.lines.clone();
    lines[first][40] ^= 1;
    fs::write(&journal, lines.concat()).unwrap();
    let ended = resume(&ground);
    assert_eq!(ended.code, Some(3), "{ended:?}");
    let cause = format!("journal.jsonl` is damaged in line {}: ", first + 1);
    assert!(ended.errors.contains(&cause), "{ended:?}");
    assert!(
        ended.errors.contains("`league manager --next`"),
        "{ended:?}"
    );
    let whole = crate::end_to_end::process::league(["export", ground.root(), "--json"]);
    assert_eq!(whole.code, Some(1), "{whole:?}");
    let whole: Value = serde_json::from_str(&whole.out).unwrap();
    assert_eq!(whole["standings"].as_array().unwrap().len(), 6, "{whole}");
    assert_eq!(kept_by_the_next(&ground), 8);
}

/// How many seats of the last league the next one keeps.
fn kept_by_the_next(ground: &Ground) -> usize {
    let mut next = ground.manager(&["--next", "--players", "0"]);
    let journal = ground.path(&format!("data/leagues/{LEAGUE}_2/journal.jsonl"));
    let acts = || facts(&journal, "organiser_acted").into_iter().next();
    let act = eventually(acts).unwrap();
    next.process.kill();
    act["act"]["seats"].as_array().unwrap().len()
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
        let ended = resume(&ground);
        assert_eq!(ended.code, Some(3), "{ended:?}");
        assert!(
            ended.errors.contains(&format!("know of line {known}:")),
            "{ended:?}"
        );
    }
}

/// What came of all damages.
#[derive(Default)]
struct Tally {
    damages: u64,
    /// Starts that were refused because lines are missing or damaged.
    refused: u64,
    /// Acknowledged results that were compared.
    compared: u64,
}

impl Tally {
    fn told(&self) -> String {
        let Self {
            damages,
            refused,
            compared,
        } = self;
        format!(
            "{damages} damages: {refused} refused; of {compared} acknowledged results in the others 0 \
             changed"
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
        let damaged = damage.applied(&self.lines, begun.min(self.lines.len() - 1), chance);
        fs::write(&journal, &damaged).unwrap();
        let ended = resume(&ground);
        if ended.code == Some(3) {
            tally.refused += 1;
            assert!(ended.errors.contains("a backup"), "{damage:?}: {ended:?}");
            assert!(fs::read(&journal).unwrap() == damaged, "{damage:?}");
            return;
        }
        assert_eq!(ended.code, Some(0), "{damage:?}: {ended:?}");
        tally.compared += self.acknowledged.len() as u64;
        self.see_unchanged(&ground);
        ground.verified();
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

/// Plays a league on, or is refused.
pub(crate) fn resume(ground: &Ground) -> ProcessExit {
    let root = ground.root();
    league(["run", "--resume", "-q", "--root", root, "--pace", "0ms"])
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
fn noted_line(ground: &Ground) -> usize {
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
