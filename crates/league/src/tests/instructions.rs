//! How many instructions a match takes in each part of the work, counted by callgrind and compared
//! with a table: time depends on the machine and its load, this does not.
//!
//! The program that is counted is this test program: it plays a league of the test kit, and passes
//! its calls and events through the functions below. They are counted by their names, with all that
//! they call; what the system does for them is not in it. The counts are of the build of the tests,
//! so they compare the code with itself and say nothing about time.

mod callgrind;
mod stages;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use callgrind::inclusive;

/// Names the part of the work by the functions whose instructions are counted.
const STAGES: [(&str, &str); 6] = [
    ("decode", "league_testkit::wire::decode"),
    ("encode", "league_testkit::wire::encode"),
    ("decide", "league_testkit::decide"),
    ("apply", "league_testkit::apply"),
    ("append", "league::tests::instructions::stages::append"),
    ("project", "league::tests::instructions::stages::project"),
];
/// How far a count may be from the table, as a part of it.
const TOLERANCE: f64 = 0.03;
/// Tells the test program to be counted.
const COUNTED: &str = "LEAGUE_COUNTED";
/// Tells the test to write the table anew.
const UPDATE: &str = "UPDATE_INSTRUCTIONS";
const UPDATE_COMMAND: &str =
    "CARGO_INCREMENTAL=0 UPDATE_INSTRUCTIONS=1 cargo test -p league --lib instructions";

/// The work that is counted; it does nothing in an ordinary run of the tests.
#[test]
fn work_of_a_league() {
    if std::env::var_os(COUNTED).is_some() {
        stages::work();
    }
}

#[test]
fn instructions_of_a_match_are_as_in_the_table() {
    if !has_valgrind() {
        say("instructions are not counted: `valgrind` is not installed");
        return;
    }
    if option_env!("CARGO_INCREMENTAL") != Some("0") {
        say(
            "instructions are not counted: code of incremental builds differs, set `CARGO_INCREMENTAL=0`",
        );
        return;
    }
    let table = InstructionTable::read();
    let counted = InstructionTable {
        toolchain: toolchain(),
        counts: count(),
    };
    if std::env::var_os(UPDATE).is_some() {
        std::fs::write(file(), counted.text()).unwrap();
        return;
    }
    if table.toolchain != counted.toolchain {
        let (theirs, ours) = (&table.toolchain, &counted.toolchain);
        say(&format!(
            "instructions are not compared: the table is by `{theirs}`, and this is `{ours}`; \
             write it anew with `{UPDATE_COMMAND}`"
        ));
        return;
    }
    let differences = table.differences(&counted);
    assert!(
        differences.is_empty(),
        "{}\nif this is meant, write the table anew: `{UPDATE_COMMAND}`\n{}",
        differences.join("\n"),
        counted.text()
    );
}

/// Says it past the test program, which keeps what passing tests print.
fn say(line: &str) {
    let _ = writeln!(io::stderr(), "{line}");
}

/// Counts for each stage, and the compiler that they were taken with.
struct InstructionTable {
    toolchain: String,
    counts: BTreeMap<String, u64>,
}

impl InstructionTable {
    fn read() -> Self {
        Self::parse(&std::fs::read_to_string(file()).unwrap_or_default())
    }

    fn parse(text: &str) -> Self {
        let toolchain = text
            .lines()
            .find_map(|line| line.strip_prefix("toolchain "));
        let counts = text.lines().filter_map(|line| {
            let (stage, count) = line.split_once(' ')?;
            Some((stage.to_owned(), count.trim().parse().ok()?))
        });
        Self {
            toolchain: toolchain.unwrap_or_default().trim().to_owned(),
            counts: counts.collect(),
        }
    }

    fn text(&self) -> String {
        let mut text = format!(
            "# Instructions for a match, by callgrind, in the build of the tests.\n\
             # Write it anew with: {UPDATE_COMMAND}\n\
             toolchain {}\n",
            self.toolchain
        );
        for (stage, _) in STAGES {
            let count = self.counts.get(stage).copied().unwrap_or(0);
            writeln!(text, "{stage:<8}{count:>8}").unwrap();
        }
        text
    }

    /// The counts that differ by more than the tolerance.
    fn differences(&self, counted: &Self) -> Vec<String> {
        let differs = |stage: &str| {
            let of = |table: &Self| table.counts.get(stage).copied().unwrap_or(0);
            let (known, now) = (of(self), of(counted));
            let change = (now as f64 - known as f64) / known as f64;
            let is_near = change.abs() <= TOLERANCE;
            (!is_near).then(|| format!("{stage}: {known} → {now} ({:+.1} %)", change * 100.0))
        };
        STAGES
            .iter()
            .filter_map(|(stage, _)| differs(stage))
            .collect()
    }
}

fn file() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src/tests/instructions/table.txt")
}

fn has_valgrind() -> bool {
    let mut command = Command::new("valgrind");
    command.arg("--version");
    command.stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// The compiler and the machine, such as `rustc 1.90.0 (…) x86_64`.
fn toolchain() -> String {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let said = Command::new(rustc).arg("--version").output();
    let said = said.map(|said| String::from_utf8_lossy(&said.stdout).trim().to_owned());
    format!("{} {}", said.unwrap_or_default(), std::env::consts::ARCH)
}

/// Runs the work below callgrind; the counts are for a match.
fn count() -> BTreeMap<String, u64> {
    let folder = tempfile::tempdir().unwrap();
    let counts = folder.path().join("callgrind.out");
    let ended = Command::new("valgrind")
        .args(["--tool=callgrind", "--quiet"])
        .arg(format!("--callgrind-out-file={}", counts.display()))
        .arg(std::env::current_exe().unwrap())
        .args(["tests::instructions::work_of_a_league", "--exact"])
        .env(COUNTED, "1")
        .stdout(Stdio::null())
        .stderr(Stdio::inherit())
        .status()
        .unwrap();
    assert!(ended.success(), "valgrind ended with {ended}");
    let profile = std::fs::read_to_string(&counts).unwrap();
    let of = |name: &str| inclusive(&profile, name) / stages::MATCHES;
    STAGES
        .iter()
        .map(|(stage, name)| ((*stage).to_owned(), of(name)))
        .collect()
}

mod tests {
    use super::*;

    fn table(decode: u64) -> InstructionTable {
        let counts = STAGES.map(|(stage, _)| (stage.to_owned(), 1_000));
        let mut counts = BTreeMap::from(counts);
        counts.insert("decode".to_owned(), decode);
        InstructionTable {
            toolchain: "rustc 1.90.0 x86_64".to_owned(),
            counts,
        }
    }

    #[test]
    fn table_reads_what_it_writes() {
        let written = table(7).text();
        let read = InstructionTable::parse(&written);
        assert_eq!(read.toolchain, "rustc 1.90.0 x86_64");
        assert_eq!(read.counts, table(7).counts);
    }

    #[test]
    fn only_counts_off_by_more_than_three_per_cent_differ() {
        for (count, differ) in [(970, 0), (1_030, 0), (969, 1), (1_031, 1), (0, 1)] {
            let differences = table(1_000).differences(&table(count));
            assert_eq!(differences.len(), differ, "{count}: {differences:?}");
        }
        let differences = table(1_000).differences(&table(1_100));
        assert_eq!(differences, ["decode: 1000 → 1100 (+10.0 %)"]);
        // Without a table there is nothing to be near.
        let empty = InstructionTable::parse("");
        assert_eq!(empty.differences(&table(1)).len(), STAGES.len());
    }
}
