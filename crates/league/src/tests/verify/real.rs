//! A small league that was really played, by the program itself, and its records.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use crate::storage::documents::MatchRepository;
use crate::storage::record::Record;
use crate::storage::root::Root;
use crate::storage::store::{Entry, Journal};
use crate::storage::verify::{Verdict, verify};
use league_core::{league as manager, referee};
use league_protocol::id::{LeagueId, MatchId, RefereeId};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::tests::journals::write_journal;

/// A copy of the league, to be changed at will.
pub(crate) struct RealLeague {
    folder: TempDir,
    league: LeagueId,
}

impl RealLeague {
    /// A league of four players and two referees; it is played once for all tests.
    pub(crate) fn league() -> Self {
        static FIRST: OnceLock<TempDir> = OnceLock::new();
        Self::copied(FIRST.get_or_init(|| play("v2")).path())
    }

    /// The same with players that cannot sign their moves.
    pub(crate) fn without_proofs() -> Self {
        static FIRST: OnceLock<TempDir> = OnceLock::new();
        Self::copied(FIRST.get_or_init(|| play("v1")).path())
    }

    fn copied(from: &Path) -> Self {
        let folder = tempfile::tempdir().unwrap();
        copy(from, folder.path());
        let league = crate::tests::journals::league_id();
        Self { folder, league }
    }

    pub(crate) fn verdict(&self) -> Verdict {
        verify(&self.root(), &self.league).unwrap()
    }

    pub(crate) fn matches(&self) -> MatchRepository {
        MatchRepository::new(&self.root(), self.league.clone())
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn league_file(&self, name: &str) -> PathBuf {
        self.root().league_folder(&self.league).join(name)
    }

    pub(crate) fn path_of_referee(&self, referee: &RefereeId) -> PathBuf {
        self.root().referee_journal(&self.league, referee)
    }

    pub(crate) fn path_of_match(&self, match_id: &MatchId) -> PathBuf {
        self.root().match_file(&self.league, match_id)
    }

    pub(crate) fn below_referee(&self, referee: &RefereeId) -> PathBuf {
        self.below(&self.path_of_referee(referee))
    }

    pub(crate) fn below_match(&self, match_id: &MatchId) -> PathBuf {
        self.below(&self.path_of_match(match_id))
    }

    pub(crate) fn remove_referees(&self) {
        fs::remove_dir_all(self.league_file("referees")).unwrap();
    }

    /// Shows the records of the manager to be changed, and chains them anew.
    pub(crate) fn manager(&self, mut change: impl FnMut(&mut Record<manager::Event>)) {
        let journal = self.league_file("journal.jsonl");
        rewrite(&journal, |records: &mut Vec<_>| {
            records.iter_mut().for_each(&mut change);
        });
    }

    /// Shows the records of a referee to be changed, and chains them anew.
    pub(crate) fn referee(
        &self,
        referee: &RefereeId,
        mut change: impl FnMut(&mut Record<referee::Event>),
    ) {
        let journal = self.path_of_referee(referee);
        rewrite(&journal, |records: &mut Vec<_>| {
            records.iter_mut().for_each(&mut change);
        });
    }

    /// When a line of a referee's journal was written.
    pub(crate) fn time_of(&self, referee: &RefereeId, line: u64) -> Value {
        let entries = entries::<referee::Event>(&self.path_of_referee(referee));
        json!(
            entries
                .iter()
                .find(|entry| entry.sequence == line)
                .unwrap()
                .at
        )
    }

    fn root(&self) -> Root {
        Root::new(self.folder.path())
    }

    fn below(&self, path: &Path) -> PathBuf {
        path.strip_prefix(self.folder.path()).unwrap().to_owned()
    }
}

/// Changes a journal, with all its times, and chains it anew.
pub(crate) fn rewrite<Event: Serialize + DeserializeOwned + Send>(
    path: &Path,
    change: impl FnOnce(&mut Vec<Record<Event>>),
) {
    let entries = entries::<Event>(path);
    let times: Vec<_> = entries.iter().map(|entry| entry.at).collect();
    let mut records: Vec<_> = entries.into_iter().map(|entry| entry.fact).collect();
    change(&mut records);
    fs::remove_file(path).unwrap();
    write_journal(path, times.into_iter().zip(&records));
}

fn entries<Event: DeserializeOwned + Send>(path: &Path) -> Vec<Entry<Record<Event>>> {
    let mut entries = Vec::new();
    Journal::read(path, |entry| {
        entries.push(entry);
        std::ops::ControlFlow::Continue(())
    })
    .unwrap();
    entries
}

fn play(dialect: &str) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().to_str().unwrap();
    let size = ["--players", "4", "--referees", "2"];
    // With this seed there are matches with a winner at both referees.
    let more = ["--seed", "7", "--dialects", dialect];
    let run = [
        "league", "run", "--root", root, "--ports", "auto", "--quiet",
    ];
    let arguments = run.iter().chain(&size).chain(&more);
    let mut errors = Vec::new();
    let code = crate::cli::run(arguments, &mut std::io::sink(), &mut errors);
    assert_eq!(code, 0, "{}", String::from_utf8_lossy(&errors));
    folder
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        match entry.file_type().unwrap().is_dir() {
            true => copy(&entry.path(), &target),
            false => drop(fs::copy(entry.path(), target).unwrap()),
        }
    }
}
