//! The season of a folder: its leagues are read once, and again when their journals have changed.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::SystemTime;

use league_protocol::id::LeagueId;
use league_web::season::{Season, SeasonEntry};
use tokio::sync::{Mutex, OwnedMutexGuard};

use super::live_view::LiveView;
use crate::clock;
use crate::storage::root::Root;
use crate::storage::verify::{VerifyError, leagues};

/// How many leagues of a folder are read; the latest ones.
const MAX_LEAGUES: usize = 200;
/// Players of all leagues that are kept in memory; further leagues are read every time.
const MAX_KEPT_PLAYERS: usize = 100_000;

/// Leagues that were read, for the requests of one site.
#[derive(Debug, Default)]
pub(crate) struct SeasonCache(Arc<Mutex<KeptLeagues>>);

#[derive(Debug, Default)]
pub(crate) struct KeptLeagues(BTreeMap<LeagueId, (JournalState, SeasonEntry)>);

/// The length of a journal and when it was written: if both stay the same, so does the league.
type JournalState = (u64, Option<SystemTime>);

impl SeasonCache {
    /// The leagues for one request; the others wait for it.
    pub(crate) async fn lock(&self) -> OwnedMutexGuard<KeptLeagues> {
        Arc::clone(&self.0).lock_owned().await
    }
}

/// Reads all leagues of a folder; unreadable leagues are left out.
pub(crate) fn read_season(root: &Root) -> Result<Season, VerifyError> {
    KeptLeagues::default().read(root, None)
}

impl KeptLeagues {
    /// The season of a folder. The league that the site follows is passed in, because it is known.
    pub(crate) fn read(
        &mut self,
        root: &Root,
        own: Option<SeasonEntry>,
    ) -> Result<Season, VerifyError> {
        let mut ids = leagues(root)?;
        let ids = ids.split_off(ids.len().saturating_sub(MAX_LEAGUES));
        self.0.retain(|id, _| ids.contains(id));
        let mut entries: Vec<SeasonEntry> = Vec::with_capacity(ids.len());
        for id in ids {
            match &own {
                Some(own) if own.league_id() == id.as_str() => entries.push(own.clone()),
                _ => entries.extend(self.entry(root, &id)),
            }
        }
        Ok(Season::of(&entries))
    }

    fn entry(&mut self, root: &Root, id: &LeagueId) -> Option<SeasonEntry> {
        let journal = std::fs::metadata(root.league_journal(id)).ok()?;
        let state = (journal.len(), journal.modified().ok());
        if let Some((_, entry)) = self.0.get(id).filter(|(known, _)| *known == state) {
            return Some(entry.clone());
        }
        self.0.remove(id);
        let mut live = LiveView::new(root.clone(), id.clone());
        live.refresh(clock::now()).ok()?;
        let entry = SeasonEntry::of(live.view()?);
        let players: usize = self.0.values().map(|(_, kept)| kept.players()).sum();
        if players + entry.players() <= MAX_KEPT_PLAYERS {
            self.0.insert(id.clone(), (state, entry.clone()));
        }
        Some(entry)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use league_protocol::time::Timestamp;

    use super::*;
    use crate::tests::journals::{Journals, league_id, opening, write_journal};

    #[test]
    fn league_is_read_again_only_when_its_journal_has_changed() {
        let folder = tempfile::tempdir().unwrap();
        let root = Root::new(folder.path());
        let journals = Journals::played(4, 1);
        let file = root.league_journal(&league_id());
        let first = opening("league_manager", Some(journals.rules().clone()));
        let first = [(Timestamp::default(), &first)];
        let entries = journals.manager().map(|(_, at, record)| (*at, record));
        write_journal(&file, first.into_iter().chain(entries));
        let mut kept = KeptLeagues::default();
        let season = kept.read(&root, None).unwrap();
        assert_eq!((season.leagues.len(), season.rows.len()), (1, 4));

        // What is in the file now could not be read as a league.
        let state = fs::metadata(&file).unwrap();
        fs::write(&file, vec![b'\n'; usize::try_from(state.len()).unwrap()]).unwrap();
        let open = || fs::File::options().write(true).open(&file).unwrap();
        open().set_modified(state.modified().unwrap()).unwrap();
        assert_eq!(kept.read(&root, None).unwrap(), season, "it is not read");
        open().set_modified(SystemTime::UNIX_EPOCH).unwrap();
        assert!(kept.read(&root, None).unwrap().leagues.is_empty());
    }
}
