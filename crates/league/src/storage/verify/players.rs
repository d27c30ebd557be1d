//! Collects the records of players: their journals and their memories.
//!
//! A player may remember less than happened, and may keep neither file here. It may also lie: a
//! difference is reported as a dispute and does not fail the verification.

use std::collections::BTreeSet;
use std::path::Path;

use league_core::player::{Event, MatchRecord};
use league_protocol::id::{LeagueId, PlayerId};
use league_protocol::time::Timestamp;

use super::evidence::{Evidence, RememberedMatch, Statement};
use super::manager::check_opening;
use super::{Finding, RecordKind, Stop, read_journal};
use crate::storage::documents::{PlayerHistoryRepository, RepositoryError, SCHEMA_VERSION};
use crate::storage::files::names_in;
use crate::storage::record::Record;
use crate::storage::root::Root;
use crate::storage::store::Entry;

/// Collects the memories of all players; returns the number of players with files here.
pub(crate) fn gather(
    root: &Root,
    league: &LeagueId,
    since: Timestamp,
    evidence: &mut Evidence,
) -> Result<usize, Stop> {
    let mut here = BTreeSet::new();
    let players: Vec<PlayerId> = names_in(&root.players_folder())
        .map_err(Stop::folder)?
        .into_iter()
        .filter_map(|name| PlayerId::new(name).ok())
        .collect();
    for player in players {
        let mut reader = PlayerFiles {
            league,
            since,
            player: None,
            source: 0,
            here: &mut here,
            evidence: &mut *evidence,
        };
        reader.read_history(root, &player)?;
        match reader.read_journal(&root.player_journal(&player)) {
            // A damaged player journal does not affect the league.
            Err(Stop::Wrong(damage)) => evidence.dispute(damage),
            read => read?,
        }
    }
    Ok(here.len())
}

/// The files of one player while they are read.
struct PlayerFiles<'a> {
    league: &'a LeagueId,
    since: Timestamp,
    /// Its id in this league, once it is known.
    player: Option<PlayerId>,
    source: usize,
    /// The players with a record of this league.
    here: &'a mut BTreeSet<PlayerId>,
    evidence: &'a mut Evidence,
}

impl PlayerFiles<'_> {
    /// A memory without a journal comes from another player program, in an unknown form.
    fn read_history(&mut self, root: &Root, player: &PlayerId) -> Result<(), Stop> {
        let repository = PlayerHistoryRepository::new(root, player.clone());
        let history = match repository.load() {
            Ok(history) if history.schema_version == SCHEMA_VERSION => history,
            Ok(_) | Err(RepositoryError::WrongForm { .. }) => {
                self.here.insert(player.clone());
                self.evidence
                    .leave_out(RecordKind::Memories("they have another form"));
                return Ok(());
            }
            Err(error) => return Err(error.into()),
        };
        self.source = self.evidence.source(repository.path(), None);
        for record in &history.matches {
            self.remember(None, &history.player_id, record);
        }
        Ok(())
    }

    fn read_journal(&mut self, journal: &Path) -> Result<(), Stop> {
        if !journal.exists() {
            return Ok(());
        }
        self.source = self.evidence.source(journal, None);
        read_journal(journal, |entry: Entry<Record<Event>>| {
            let opened = matches!(entry.fact, Record::Opened(_));
            check_opening(entry.sequence, opened).map_err(Finding::Line)?;
            if let Record::Event(event) = &entry.fact {
                self.apply(&entry, event);
            }
            Ok(())
        })?;
        Ok(())
    }

    fn apply(&mut self, entry: &Entry<Record<Event>>, event: &Event) {
        let line = Some(entry.sequence);
        match event {
            Event::Enrolled {
                player_id,
                league_id,
                ..
            } => {
                self.player = Some(player_id.clone()).filter(|_| league_id == self.league);
                let now = self.player.clone().filter(|_| entry.at >= self.since);
                self.here.extend(now);
            }
            Event::Announced {
                match_id,
                commitment: Some(promise),
                ..
            } if self.player.is_some() && entry.at >= self.since => {
                let statement = Statement::Promised(*promise);
                self.evidence.add(self.source, line, match_id, statement);
            }
            // Until the player is admitted again, the league of the following entries is unknown.
            Event::LeagueCompleted { .. } => self.player = None,
            Event::Remembered { record } => {
                if let Some(player) = self.player.clone() {
                    self.remember(line, &player, record);
                }
            }
            _ => {}
        }
    }

    fn remember(&mut self, line: Option<u64>, player: &PlayerId, record: &MatchRecord) {
        if record.league_id == *self.league && record.at >= self.since {
            self.here.insert(player.clone());
            let statement = Statement::Remembered(Box::new(RememberedMatch::of(player, record)));
            self.evidence
                .add(self.source, line, &record.match_id, statement);
        }
    }
}
