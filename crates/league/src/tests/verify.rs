//! A league that is what its journal says, and the many ways in which it may not be.

mod documents;
mod forged;
mod holding;
mod memories;
mod places;
mod real;
mod screen;
mod tampered;
mod verdicts;
mod witnesses;

use std::fs;
use std::path::Path;
use std::sync::Arc;

use crate::storage::record::Record;
use crate::storage::root::Root;
use crate::storage::verify::{Conclusion, Verdict, Wrong, verify};
use crate::tests::journals::{self, league_id, opening, write_documents};
use league_core::league::Event;
use league_core::referee;
use league_protocol::id::RefereeId;
use league_protocol::message::MatchResult;
use league_protocol::time::Timestamp;
use league_testkit::LeagueWorld;
use league_testkit::report::{ended, signed};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tempfile::TempDir;

/// A root with a league of these records.
struct Place {
    folder: TempDir,
    root: Root,
}

impl Place {
    fn holding(records: &[Record<Event>]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), records);
        let root = Root::new(folder.path());
        Self { folder, root }
    }

    fn verdict(&self) -> Verdict {
        verify(&self.root, &league_id()).unwrap()
    }
}

/// The manager's journal of a league of four that was played to its end; each match has a winner.
fn records() -> Vec<Record<Event>> {
    let mut world = LeagueWorld::begun(4, 2, 1);
    world.play_by(|order| ended(order, Some(&order.players[0].player_id)));
    records_of(&world)
}

/// The same with players that sign their moves.
fn signed_records() -> Vec<Record<Event>> {
    let mut world = LeagueWorld::begun_signing(4, 2, 1);
    world.play_by(|order| {
        let report = ended(order, Some(&order.players[0].player_id));
        signed(report, order, &[0, 1])
    });
    records_of(&world)
}

fn records_of(world: &LeagueWorld) -> Vec<Record<Event>> {
    let opening = opening("league_manager", Some(world.league.rules().clone()));
    let events = world.journal().cloned().map(Record::Event);
    [opening].into_iter().chain(events).collect()
}

/// What is wrong with a league whose records were changed, and then chained anew.
fn wrong_after(before: Vec<Record<Event>>, change: impl FnOnce(&mut Vec<Record<Event>>)) -> Wrong {
    let place = Place::holding(&before);
    let mut changed = before;
    change(&mut changed);
    let journal = place.root.league_journal(&league_id());
    fs::remove_file(&journal).unwrap();
    write_journal(&journal, &changed);
    let verdict = place.verdict();
    assert_eq!(verdict.verdict, Conclusion::Failed);
    verdict.wrong.unwrap()
}

/// The journal of the manager, below the root.
const JOURNAL: &str = "data/leagues/league_2025_even_odd/journal.jsonl";

fn assert_line(wrong: &Wrong, line: usize, what: &str) {
    assert_eq!(wrong.file, Path::new(JOURNAL), "{}", wrong.what);
    assert_eq!(wrong.line, Some(line as u64), "{}", wrong.what);
    assert!(wrong.what.contains(what), "{}", wrong.what);
}

/// The line of the first event of a kind.
fn line_of(records: &[Record<Event>], kind: fn(&Event) -> bool) -> usize {
    let is_one = |record: &Record<Event>| match record {
        Record::Event(event) => kind(event),
        _ => false,
    };
    records.iter().position(is_one).unwrap() + 1
}

/// The line of the first result.
fn first_result(records: &[Record<Event>]) -> usize {
    line_of(records, |event| {
        matches!(event, Event::ResultRecorded { .. })
    })
}

fn result_of(records: &mut [Record<Event>], line: usize) -> &mut MatchResult {
    match &mut records[line - 1] {
        Record::Event(Event::ResultRecorded { result, .. }) => Arc::make_mut(result),
        other => panic!("{other:?}"),
    }
}

/// Writes a root with the manager's journal, its documents and the journal of a referee.
fn write(root: &Path, records: &[Record<Event>]) {
    let root = Root::new(root);
    write_journal(&root.league_journal(&league_id()), records);
    if let Some(Record::Opened(opening)) = records.first() {
        let rules = opening.rules.as_ref().unwrap();
        let entries = (1..).zip(times().zip(records));
        let entries: Vec<_> = entries
            .map(|(sequence, (at, record))| (sequence, at, record.clone()))
            .collect();
        write_documents(&root, rules, &entries);
    }
    let referee: Record<referee::Event> = opening("referee", None);
    let journal = root.referee_journal(&league_id(), &RefereeId::numbered(1));
    write_journal(&journal, &[referee]);
}

/// Writes a journal with a time for each record.
fn write_journal<Event: Serialize + DeserializeOwned + Send>(
    path: &Path,
    records: &[Record<Event>],
) {
    journals::write_journal(path, times().zip(records));
}

fn times() -> impl Iterator<Item = Timestamp> {
    (0..).map(|number| Timestamp::from_millis(league_testkit::referee::START + number))
}
