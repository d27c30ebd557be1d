//! The matches of a league, made again from the journals of its referees.

use std::collections::BTreeMap;
use std::fs;

use league_core::referee::Event;
use league_protocol::id::{LeagueId, MatchId, RefereeId};
use league_protocol::time::Timestamp;

use super::{Rebuilt, ReplayError, names_in, read};
use crate::storage::document_writer::{DocumentFiles, Publication};
use crate::storage::documents::MatchRepository;
use crate::storage::publishers::RefereePublisher;
use crate::storage::record::Record;
use crate::storage::root::Root;
use crate::storage::store::Entry;

/// The latest attempt at each match, over all referees.
type Attempts = BTreeMap<MatchId, u32>;

pub(super) fn rebuild(
    root: &Root,
    league: &LeagueId,
    rebuilt: &mut Rebuilt,
) -> Result<(), ReplayError> {
    let names = names_in(&root.referees_folder(league))?;
    let referees = names.iter().filter_map(|name| RefereeId::new(name).ok());
    let referees: Vec<RefereeId> = referees
        .filter(|referee| root.referee_journal(league, referee).exists())
        .collect();
    let mut attempts = Attempts::new();
    for referee in &referees {
        note_attempts(root, league, referee, &mut attempts)?;
        remove_lines(root, league, referee)?;
    }
    for referee in &referees {
        rebuild_one(root, league, referee, &attempts, rebuilt)?;
    }
    Ok(())
}

fn note_attempts(
    root: &Root,
    league: &LeagueId,
    referee: &RefereeId,
    attempts: &mut Attempts,
) -> Result<(), ReplayError> {
    let file = root.referee_journal(league, referee);
    read(&file, |entry: Entry<Record<Event>>| {
        if let Record::Event(Event::MatchOpened { fixture, .. }) = &entry.fact {
            let latest = attempts.entry(fixture.match_id.clone()).or_default();
            *latest = fixture.attempt.max(*latest);
        }
        Ok(())
    })?;
    Ok(())
}

/// Lines are added and not replaced, so that the old ones have to go first.
fn remove_lines(root: &Root, league: &LeagueId, referee: &RefereeId) -> Result<(), ReplayError> {
    let folder = root.matches_folder(league);
    let ending = format!(".{referee}.jsonl");
    for name in names_in(&folder)? {
        if name.starts_with("round_") && name.ends_with(&ending) {
            let removed = fs::remove_file(folder.join(name));
            removed.map_err(|source| ReplayError::Folder {
                folder: folder.clone(),
                source,
            })?;
        }
    }
    Ok(())
}

fn rebuild_one(
    root: &Root,
    league: &LeagueId,
    referee: &RefereeId,
    attempts: &Attempts,
    rebuilt: &mut Rebuilt,
) -> Result<(), ReplayError> {
    let mut publisher = RefereePublisher::default();
    let mut archive = DocumentFiles::new(root.clone());
    let matches = MatchRepository::new(root, league.clone());
    let mut write = |due: Vec<Publication>| -> Result<u64, ReplayError> {
        let mut written = 0;
        for publication in due {
            match &publication {
                Publication::Match(document) => {
                    let latest = attempts.get(&document.match_id);
                    if latest != Some(&document.lifecycle.attempt) {
                        continue;
                    }
                    matches.replace(document)?;
                }
                _ => archive.write(&publication)?,
            }
            written += 1;
        }
        Ok(written)
    };
    let file = root.referee_journal(league, referee);
    let entries = read(&file, |entry: Entry<Record<Event>>| {
        publisher.take_in(entry.sequence, entry.at, &entry.fact);
        // Only what is over: what goes on is written once, at the end.
        rebuilt.matches += write(publisher.due(Timestamp::default()))?;
        Ok(())
    })?;
    rebuilt.matches += write(publisher.rest(Timestamp::LAST))?;
    rebuilt.entries += entries;
    Ok(())
}
