//! Where an agent kept its files before, for one that is not told which league it joins.

use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use crate::storage::record::Record;
use crate::storage::root::Root;
use crate::storage::secrets::place_of_agent;
use crate::storage::store::{Entry, Journal};
use league_protocol::id::LeagueId;
use serde::de::DeserializeOwned;

/// What an agent kept below a root before now.
pub(super) struct Past<'p> {
    pub(super) root: &'p Root,
    /// `player` or `referee`.
    pub(super) kind: &'p str,
    /// What its files are called by.
    pub(super) slot: &'p str,
    /// Its journal in the files of a league.
    pub(super) journal: &'p dyn Fn(&LeagueId) -> PathBuf,
    /// How a journal leaves it, if it was ever let in.
    pub(super) left: fn(&Path) -> Option<Left>,
}

impl Past<'_> {
    /// The league below whose name its files lie, if its manager has this one, or says nothing.
    ///
    /// One that came before its manager keeps its files where it began them. One that comes back
    /// before its manager does goes on where it was.
    pub(super) fn league(&self, told: Option<LeagueId>) -> Option<LeagueId> {
        if told.as_ref().is_some_and(|told| self.tokens(told).exists()) {
            return told;
        }
        let last = self.last_place();
        let journal = last.as_ref().map(|last| (self.journal)(last));
        match (told, journal.and_then(|journal| (self.left)(&journal))) {
            (None, Some(Left::Over)) => None,
            (Some(told), Some(Left::Over)) => Some(told),
            (Some(told), Some(Left::In(league))) if league != told => Some(told),
            // One that was never let in may have been without having written it down.
            (told, _) => last.or(told),
        }
    }

    fn tokens(&self, league: &LeagueId) -> PathBuf {
        let journal = (self.journal)(league);
        place_of_agent(self.root, league, self.kind, self.slot, &journal)
    }

    /// The league below whose name it kept its tokens last.
    fn last_place(&self) -> Option<LeagueId> {
        let folders = fs::read_dir(self.root.as_path().join("secrets")).ok()?;
        let names = folders.filter_map(|folder| folder.ok()?.file_name().into_string().ok());
        let places = names.filter_map(|name| LeagueId::new(name).ok());
        let kept = places.filter_map(|league| {
            let kept = fs::metadata(self.tokens(&league)).ok()?.modified().ok()?;
            Some((kept, league))
        });
        kept.max().map(|(_, league)| league)
    }
}

/// How an agent is left by its journal, or by a fact in it.
pub(super) enum Left {
    /// In this league.
    In(LeagueId),
    /// In one that is over.
    Over,
}

/// How a journal leaves an agent, if it was ever let in.
pub(super) fn left<Event: DeserializeOwned>(
    journal: &Path,
    by_fact: impl Fn(&Event) -> Option<Left>,
) -> Option<Left> {
    let mut left = None;
    let read = Journal::read(journal, |entry: Entry<Record<Event>>| {
        if let Record::Event(event) = &entry.fact {
            left = by_fact(event).or(left.take());
        }
        ControlFlow::Continue(())
    });
    // Whatever is wrong with it is told when it is opened to be written.
    read.ok().and(left)
}
