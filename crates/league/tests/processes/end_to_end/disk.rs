//! Managers whose disk fails at one call: no acknowledged result is lost or changed.
//!
//! `cargo xtask campaign disk` runs this test for as many failed calls as it is told. A small library
//! in C, which is loaded before the system's own, fails the call; `cc` also links every test.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use tempfile::TempDir;

use crate::end_to_end::campaign::{Chance, setting};
use crate::end_to_end::ground::{Ground, LEAGUE};
use crate::end_to_end::lost;
use crate::end_to_end::process::{Process, league};

/// How many calls fail in a usual run; `LEAGUE_DISK_FAULTS` names another number.
const FAULTS: u64 = 16;
/// The seed of a usual run; `LEAGUE_DISK_SEED` names another.
const SEED: u64 = 1;
/// How many matches the league has.
const MATCHES: usize = 6;
/// The ways in which a call fails.
const WAYS: [&str; 4] = ["eio", "enospc", "short", "crash"];

#[test]
fn no_failed_disk_call_changes_an_acknowledged_result() {
    let wanted = setting("LEAGUE_DISK_FAULTS", FAULTS);
    let mut chance = Chance(setting("LEAGUE_DISK_SEED", SEED) | 1);
    let library = FaultLibrary::built();
    let mut tally = Tally::default();
    // More calls than a league of this size makes; a call that never came sets the bound.
    let mut calls = 256;
    while tally.faults() < wanted {
        let way = WAYS[chance.below(WAYS.len() as u64) as usize];
        let at = 1 + chance.below(calls);
        if !library.fail(at, way, &mut tally) {
            calls = at - 1;
        }
    }
    println!("{}", tally.told());
    assert!(tally.stopped > 0 && tally.compared > 0, "{}", tally.told());
}

/// What came of all failed calls.
#[derive(Default)]
struct Tally {
    /// The failed calls, by their names and the ways in which they failed.
    failed: BTreeMap<String, u64>,
    /// Managers that stopped, and said why.
    stopped: u64,
    /// Managers that went on: only a document was not written.
    went_on: u64,
    crashed: u64,
    /// Leagues without a first line, which were played from the start.
    not_begun: u64,
    /// Acknowledged results that were compared.
    compared: u64,
}

impl Tally {
    fn faults(&self) -> u64 {
        self.failed.values().sum()
    }

    fn told(&self) -> String {
        let kinds = self.failed.iter();
        let kinds: Vec<String> = kinds
            .map(|(kind, count)| format!("{count} {kind}"))
            .collect();
        format!(
            "{} failed disk calls ({}): {} managers stopped, {} crashed, {} went on; {} were not \
             begun; of {} acknowledged results 0 lost, 0 changed",
            self.faults(),
            kinds.join(", "),
            self.stopped,
            self.crashed,
            self.went_on,
            self.not_begun,
            self.compared,
        )
    }
}

/// The library that fails calls.
struct FaultLibrary {
    file: PathBuf,
    _folder: TempDir,
}

impl FaultLibrary {
    fn built() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (source, file) = (folder.path().join("disk.c"), folder.path().join("disk.so"));
        fs::write(&source, include_str!("disk.c")).unwrap();
        let built = Command::new("cc")
            .args(["-shared", "-fPIC", "-O1", "-Wall", "-Werror", "-o"])
            .args([&file, &source])
            .status();
        assert!(built.unwrap().success());
        Self {
            file,
            _folder: folder,
        }
    }

    /// Plays a league in which this call of its manager fails, and then to its end; says whether
    /// there was such a call.
    fn fail(&self, at: u64, way: &'static str, tally: &mut Tally) -> bool {
        let ground = Ground::new();
        let note = ground.path("failed-call");
        let folder = fs::canonicalize(ground.path("")).unwrap();
        let folder = folder.join("data/leagues/");
        let number = at.to_string();
        let variables = [
            ("LD_PRELOAD", self.file.as_os_str()),
            ("DISK_FAULT_FOLDER", folder.as_os_str()),
            ("DISK_FAULT_AT", OsStr::new(&number)),
            ("DISK_FAULT_HOW", OsStr::new(way)),
            ("DISK_FAULT_NOTE", note.as_os_str()),
        ];
        let ended = Process::start_with(&variables, play(&ground)).end();
        let Ok(note) = fs::read_to_string(&note) else {
            assert_eq!(ended.code, Some(0), "{ended:?}");
            return false;
        };
        let call = note.split(' ').next().unwrap();
        *tally.failed.entry(format!("{call} {way}")).or_default() += 1;
        match ended.code {
            Some(0) => tally.went_on += 1,
            Some(3) => tally.stopped += 1,
            Some(137) => tally.crashed += 1,
            _ => panic!("{way} at call {at}, {note}: {ended:?}"),
        }
        see_unchanged(&ground, &format!("{way} at call {at}, {note}"), tally);
        true
    }
}

/// The command that plays the league.
fn play(ground: &Ground) -> [&str; 11] {
    let root = ground.root();
    [
        "run",
        "-q",
        "--root",
        root,
        "--ports",
        "auto",
        "--players",
        "4",
        "--referees",
        "2",
        "--pace=0ms",
    ]
}

/// Plays a league on, and sees that no acknowledged result is lost or another.
fn see_unchanged(ground: &Ground, what: &str, tally: &mut Tally) {
    let known = acknowledged(ground);
    let journal = fs::read_to_string(ground.league("journal.jsonl")).unwrap_or_default();
    if !journal.contains('\n') {
        tally.not_begun += 1;
        assert!(known.is_empty(), "{what}: {known:?}");
        // An empty journal keeps its name, so the league may be played under another one.
        let ended = league(play(ground));
        assert_eq!(ended.code, Some(0), "{what}: {ended:?}");
        return;
    }
    if !journal.contains("\"league_completed\"") {
        let ended = lost::resume(ground);
        assert_eq!(ended.code, Some(0), "{what}: {ended:?}");
    }
    let results = ground.results();
    assert_eq!(results.len(), MATCHES, "{what}");
    for (match_id, result) in &known {
        tally.compared += 1;
        for member in ["players", "winner", "points", "choices", "details"] {
            let now = &results[match_id][member];
            assert_eq!(*now, result[member], "{what}: {match_id}");
        }
    }
    ground.verified();
}

/// The results that the manager noted as synced, and those that it acknowledged to a referee.
fn acknowledged(ground: &Ground) -> BTreeMap<String, Value> {
    let journal = ground.league("journal.jsonl");
    let mut known = BTreeMap::new();
    if journal.exists() && ground.league(".lock").exists() {
        known.extend(lost::acknowledged(ground, &lost::lines_of(&journal)));
    }
    for file in ground.files(&format!("data/leagues/{}/referees", LEAGUE)) {
        if file.ends_with("journal.jsonl") {
            known.extend(acknowledged_to(&file));
        }
    }
    known
}

/// The results of a referee that the manager acknowledged, from the referee's own journal.
fn acknowledged_to(journal: &Path) -> Vec<(String, Value)> {
    let (mut decided, mut known) = (BTreeMap::new(), Vec::new());
    for line in lost::lines_of(journal) {
        // The last line may be cut.
        let Ok(line) = serde_json::from_slice::<Value>(&line) else {
            continue;
        };
        let event = &line["fact"]["event"];
        let match_id = event["match_id"].as_str().unwrap_or_default().to_owned();
        match event["event"].as_str() {
            Some("decided") => drop(decided.insert(match_id, event["result"].clone())),
            Some("closed") if event["report"] == "acknowledged" => {
                known.extend(decided.remove_entry(&match_id));
            }
            _ => {}
        }
    }
    known
}
