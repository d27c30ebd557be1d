//! The work of a league in stages, each in a function of its own.

use std::collections::BTreeMap;
use std::path::Path;

use league_core::draw::LeagueSecrets;
use league_core::league::League;
use league_core::machine::Machine as _;
use league_protocol::id::RefereeId;
use league_testkit::league::SECRET;
use league_testkit::wire;

use crate::storage::document_writer::DocumentFiles;
use crate::storage::publishers::{LeaguePublisher, RefereePublisher};
use crate::storage::record::Record;
use crate::storage::root::Root;
use crate::tests::journals::{JournalEntry, Journals, league_id, write_journal};

/// Players and referees of the league.
const PLAYERS: u32 = 8;
const REFEREES: u32 = 2;
/// Its matches.
pub(crate) const MATCHES: u64 = (PLAYERS * (PLAYERS - 1) / 2) as u64;

/// Plays a league, which decides and applies, and passes it through the other stages.
pub(crate) fn work() {
    let journals = Journals::played(PLAYERS, REFEREES);
    let folder = tempfile::tempdir().unwrap();
    let calls = &journals.season.calls;
    let bodies = wire::encode(calls);
    assert_eq!(wire::decode(calls, &bodies), bodies.len());
    append(&journals, folder.path());
    project(&journals, &Root::new(folder.path().join("SHARED")));
}

/// Writes the journals of the manager and of the referees, one batch for every record.
#[inline(never)]
fn append(journals: &Journals, folder: &Path) {
    let entries = journals.manager().map(|(_, at, record)| (*at, record));
    write_journal(&folder.join("manager.journal"), entries);
    for number in 1..=REFEREES {
        let entries = journals.referee(number);
        let entries = entries.map(|(_, at, record)| (*at, record));
        write_journal(&folder.join(format!("{number}.journal")), entries);
    }
}

/// Makes the documents from the journals and writes them, whenever they are due.
#[inline(never)]
fn project(journals: &Journals, root: &Root) {
    let mut files = DocumentFiles::new(root.clone());
    let mut league = League::new(journals.rules().clone(), LeagueSecrets::one(SECRET)).unwrap();
    let mut of_league = LeaguePublisher::new(league_id());
    let mut of_referees = BTreeMap::<RefereeId, RefereePublisher>::new();
    for entry in &journals.entries {
        let due = match entry {
            JournalEntry::Manager((sequence, at, record)) => {
                if let Record::Event(event) = record {
                    league.apply(event);
                }
                of_league.take_in(*sequence, *at, record, &league);
                of_league.due(*at, &league)
            }
            JournalEntry::Referee(id, (sequence, at, record)) => {
                let publisher = of_referees.entry(id.clone()).or_default();
                publisher.take_in(*sequence, *at, record);
                publisher.due(*at)
            }
        };
        for publication in &due {
            files.write(publication).unwrap();
        }
    }
}
