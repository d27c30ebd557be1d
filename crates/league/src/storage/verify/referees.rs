//! What the referees of a league wrote down of it: their journals, and the files made from these.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use league_core::referee::{Event, ReportAnswer};
use league_protocol::id::{LeagueId, MatchId, RefereeId};
use league_protocol::message::MatchResult;

use super::claim::{Claim, Fingerprint, Reach, fingerprint};
use super::matches::MatchFiles;
use super::testimony::Testimony;
use super::{Checked, Finding, Stop, names, read_journal, replay, transcript};
use crate::storage::documents::{MatchChange, MatchesProjection};
use crate::storage::record::Record;
use crate::storage::root::Root;
use crate::storage::store::{Entry, Journal};

/// Takes down how each referee's matches ended, and compares the files of matches with it.
pub(super) fn gather(
    root: &Root,
    league: &LeagueId,
    files: &mut MatchFiles,
    testimony: &mut Testimony,
    checked: &mut Checked,
) -> Result<(), Stop> {
    let folder = root.referees_folder(league);
    let mut referees: Vec<RefereeId> = names(&folder)
        .map_err(Stop::Failed)?
        .into_iter()
        .filter_map(|name| RefereeId::new(name).ok())
        .collect();
    referees.sort();
    for referee in referees {
        let journal = root.referee_journal(league, &referee);
        if !journal.exists() {
            continue;
        }
        let mut bench = Bench::new(league, &journal, files);
        let end = read_journal(&journal, |entry| bench.take_in(&entry))?;
        bench.finish(referee, testimony);
        checked.referee_journals += 1;
        checked.referee_lines += end.last;
    }
    Ok(())
}

/// The end of a match that stands in a line of a referee's journal.
pub(super) fn decided(journal: &Path, line: Option<u64>) -> Option<Arc<MatchResult>> {
    let mut found = None;
    let read = Journal::read(journal, |entry: Entry<Record<Event>>| {
        if Some(entry.sequence) < line {
            return ControlFlow::Continue(());
        }
        if let Record::Event(Event::Decided { result, .. }) = entry.fact {
            found = Some(result);
        }
        ControlFlow::Break(())
    });
    read.ok().and(found)
}

/// How an attempt at a match ended.
struct Ended {
    line: u64,
    referee: Option<RefereeId>,
    result: Fingerprint,
    taken: bool,
}

/// A referee's journal while it is read.
struct Bench<'a> {
    league: &'a LeagueId,
    journal: &'a Path,
    files: &'a mut MatchFiles,
    matches: MatchesProjection,
    /// The attempt that ended last in each match that is not closed.
    open: BTreeMap<MatchId, u32>,
    ended: BTreeMap<(MatchId, u32), Ended>,
    reach: Reach,
}

impl<'a> Bench<'a> {
    fn new(league: &'a LeagueId, journal: &'a Path, files: &'a mut MatchFiles) -> Self {
        Self {
            league,
            journal,
            files,
            matches: MatchesProjection::default(),
            open: BTreeMap::new(),
            ended: BTreeMap::new(),
            reach: Reach::default(),
        }
    }

    fn take_in(&mut self, entry: &Entry<Record<Event>>) -> Result<(), Finding> {
        let opened = matches!(entry.fact, Record::Opened(_));
        replay::check_opening(entry.sequence, opened).map_err(Finding::Line)?;
        if let Record::Event(event) = &entry.fact {
            self.note(entry.sequence, event);
        }
        let change = self.matches.take_in(entry.sequence, entry.at, &entry.fact);
        self.compare(entry.sequence, change)
    }

    /// Notes what the manager must have as well.
    fn note(&mut self, line: u64, event: &Event) {
        match event {
            Event::MatchOpened { fixture, .. } if fixture.league_id == *self.league => {
                self.reach.round = self.reach.round.max(fixture.round_id);
            }
            Event::Decided {
                match_id, result, ..
            } => {
                let attempt = result.draw.as_ref().map_or(1, |opened| opened.attempt);
                let ended = Ended {
                    line,
                    referee: self.matches.referee_id().cloned(),
                    result: fingerprint(result),
                    taken: false,
                };
                self.open.insert(match_id.clone(), attempt);
                self.ended.insert((match_id.clone(), attempt), ended);
            }
            Event::Closed {
                match_id, report, ..
            } => {
                let attempt = self.open.remove(match_id);
                let ended = attempt.map(|attempt| (match_id.clone(), attempt));
                if let Some(ended) = ended.and_then(|ended| self.ended.get_mut(&ended)) {
                    ended.taken = *report == ReportAnswer::Acknowledged;
                }
            }
            Event::LeagueEnded { .. } => self.reach.over = true,
            _ => {}
        }
    }

    /// Compares the file of a match with what this line makes of it.
    fn compare(&mut self, line: u64, change: MatchChange) -> Result<(), Finding> {
        let (match_id, document) = match change {
            MatchChange::Nothing => return Ok(()),
            MatchChange::GoesOn(match_id) => (match_id, None),
            MatchChange::Over(document) => {
                if let Some(what) = transcript::problem(&document) {
                    let what = format!("match `{}`: {what}", document.match_id);
                    return Err(Finding::Line(what));
                }
                (document.match_id.clone(), Some(*document))
            }
        };
        let referee = self.matches.referee_id();
        let made = || document.or_else(|| self.matches.document(&match_id));
        self.files
            .compare(self.journal, line, &match_id, referee, made)
            .map_err(Finding::Elsewhere)
    }

    /// Hands over what was found; `slot` is the referee that the journal is kept for.
    fn finish(self, slot: RefereeId, testimony: &mut Testimony) {
        let source = testimony.source(self.journal);
        for ((match_id, attempt), ended) in self.ended {
            let Some(referee) = ended.referee else {
                continue;
            };
            let claim = Claim::Ran {
                referee,
                attempt,
                result: ended.result,
                taken: ended.taken,
            };
            testimony.add(source, Some(ended.line), &match_id, claim);
        }
        let referee = self.matches.referee_id().cloned().unwrap_or(slot);
        let mut reach = self.reach;
        reach.source = source;
        testimony.add_referee(referee, reach);
    }
}
