//! Collects the records of referees: their journals, and the match files, which are compared with
//! the journals.
//!
//! If the journal of a referee is not here, its match files are taken as its statements and
//! compared with the manager's journal.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use league_core::referee::{Event, ReportAnswer};
use league_protocol::id::{GameType, LeagueId, MatchId, RefereeId};
use league_protocol::message::{GameOver, MatchResult};
use league_protocol::time::Timestamp;
use serde::Serialize;
use serde_json::Value;

use super::difference::{Difference, first_difference};
use super::evidence::{
    CHANGED, Evidence, Fingerprint, JournalExtent, OpenedFingerprint, Statement, fingerprint,
    unopened,
};
use super::manager::check_opening;
use super::{Behind, Checked, Finding, RecordKind, Stop, Wrong, below, read_journal, transcript};
use crate::storage::documents::{
    DrawDocument, MatchChange, MatchDocument, MatchRepository, MatchesProjection, result_of,
};
use crate::storage::files::names_in;
use crate::storage::hand_in;
use crate::storage::record::Record;
use crate::storage::root::Root;
use crate::storage::store::{Entry, Journal};

/// Collects the results of each referee, and compares the match files with them.
pub(crate) fn gather(
    root: &Root,
    league: &LeagueId,
    files: &mut MatchFiles,
    evidence: &mut Evidence,
) -> Result<(), Stop> {
    let folder = root.referees_folder(league);
    let referees: Vec<RefereeId> = names_in(&folder)
        .map_err(Stop::folder)?
        .into_iter()
        .filter_map(|name| RefereeId::new(name).ok())
        .collect();
    for referee in referees {
        let journal = root.referee_journal(league, &referee);
        if !journal.exists() {
            continue;
        }
        let handed_in_by = hand_in::sender(&journal, league);
        let mut reader = RefereeJournal::new(league, &journal, handed_in_by.as_ref(), files);
        let mut lines = 0;
        let read = read_journal(&journal, |entry| {
            lines = entry.sequence;
            reader.apply(&entry)
        });
        reader.finish(referee, evidence);
        match (read, handed_in_by) {
            (Err(Stop::Wrong(wrong)), Some(referee)) => evidence.dispute_by(referee, wrong),
            (read, _) => drop(read?),
        }
        evidence.verdict.checked.referee_journals += 1;
        evidence.verdict.checked.referee_lines += lines;
    }
    Ok(())
}

/// The result of a match in a line of a referee's journal.
pub(crate) fn decided(journal: &Path, line: Option<u64>) -> Option<Arc<MatchResult>> {
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

/// The result of an attempt at a match.
struct EndedAttempt {
    line: u64,
    referee: Option<RefereeId>,
    result: Fingerprint,
    opened: Option<OpenedFingerprint>,
    taken: bool,
}

/// A referee's journal while it is read.
struct RefereeJournal<'a> {
    league: &'a LeagueId,
    journal: &'a Path,
    /// The referee that handed it in: what the journal says in the name of another does not count.
    handed_in_by: Option<&'a RefereeId>,
    files: &'a mut MatchFiles,
    matches: MatchesProjection,
    /// The attempt at each match that is not closed.
    open: BTreeMap<MatchId, u32>,
    ended: BTreeMap<(MatchId, u32), EndedAttempt>,
    extent: JournalExtent,
}

impl<'a> RefereeJournal<'a> {
    fn new(
        league: &'a LeagueId,
        journal: &'a Path,
        handed_in_by: Option<&'a RefereeId>,
        files: &'a mut MatchFiles,
    ) -> Self {
        Self {
            league,
            journal,
            handed_in_by,
            files,
            matches: MatchesProjection::default(),
            open: BTreeMap::new(),
            ended: BTreeMap::new(),
            extent: JournalExtent::default(),
        }
    }

    fn apply(&mut self, entry: &Entry<Record<Event>>) -> Result<(), Finding> {
        let opened = matches!(entry.fact, Record::Opened(_));
        check_opening(entry.sequence, opened).map_err(Finding::Line)?;
        if let Record::Event(event) = &entry.fact {
            self.note(entry.sequence, event);
        }
        let change = self.matches.take_in(entry.sequence, entry.at, &entry.fact);
        self.compare(entry.sequence, change)
    }

    /// Records what the manager must have as well.
    fn note(&mut self, line: u64, event: &Event) {
        match event {
            Event::MatchOpened { fixture, .. } => {
                self.open.insert(fixture.match_id.clone(), fixture.attempt);
                if fixture.league_id == *self.league {
                    self.extent.round = self.extent.round.max(fixture.round_id);
                }
            }
            Event::Decided {
                match_id, result, ..
            } => {
                let attempt = self.open.get(match_id).copied().unwrap_or(1);
                let ended = EndedAttempt {
                    line,
                    referee: self.matches.referee_id().cloned(),
                    result: fingerprint(&unopened(result)),
                    opened: None,
                    taken: false,
                };
                self.ended.insert((match_id.clone(), attempt), ended);
            }
            Event::Closed {
                match_id,
                report,
                opened,
                ..
            } => {
                let attempt = self.open.remove(match_id);
                let ended = attempt.map(|attempt| (match_id.clone(), attempt));
                if let Some(ended) = ended.and_then(|ended| self.ended.get_mut(&ended)) {
                    ended.taken = *report == ReportAnswer::Acknowledged;
                    if let Some(opened) = opened {
                        ended.opened = Some(OpenedFingerprint {
                            seed: opened.seed,
                            players: fingerprint(&opened.players),
                        });
                    }
                }
            }
            Event::LeagueEnded { .. } => self.extent.over = true,
            _ => {}
        }
    }

    /// Compares the file of a match with its state after this line.
    fn compare(&mut self, line: u64, change: MatchChange) -> Result<(), Finding> {
        let (match_id, document) = match change {
            MatchChange::Nothing => return Ok(()),
            MatchChange::GoesOn(match_id) => (match_id, None),
            MatchChange::Over(document, first) => {
                if let Some(what) = transcript::problem(&document) {
                    let what = format!("match `{}`: {what}", document.match_id);
                    return Err(Finding::Line(what));
                }
                (document.match_id.clone(), Some((*document, first)))
            }
        };
        let referee = self.matches.referee_id();
        if self.handed_in_by.is_some() && self.handed_in_by != referee {
            return Ok(());
        }
        let made = |in_round: bool| match document {
            Some((over, first)) if in_round => Some(over.in_round(first)),
            Some((over, _)) => Some(over),
            None => self.matches.document(&match_id),
        };
        self.files
            .compare(self.journal, line, &match_id, referee, made)
            .map_err(Finding::Elsewhere)
    }

    /// Hands over the collected records; `slot` is the referee that the journal is kept for.
    fn finish(self, slot: RefereeId, evidence: &mut Evidence) {
        let handed_in_by = self.handed_in_by;
        let source = evidence.source(self.journal, handed_in_by.cloned());
        for ((match_id, attempt), ended) in self.ended {
            let is_own = |referee: &RefereeId| handed_in_by.is_none_or(|by| by == referee);
            let Some(referee) = ended.referee.filter(is_own) else {
                continue;
            };
            let statement = Statement::Ran {
                referee,
                attempt,
                result: ended.result,
                opened: ended.opened,
                taken: ended.taken,
            };
            evidence.add(source, Some(ended.line), &match_id, statement);
        }
        let referee = handed_in_by.or(self.matches.referee_id());
        let referee = referee.cloned().unwrap_or(slot);
        let mut extent = self.extent;
        extent.source = source;
        evidence.add_referee(referee, extent);
    }
}

/// The result in the file of a match.
#[derive(Debug, Serialize)]
pub(crate) struct ShownEnd {
    result: Option<Value>,
    draw: Option<DrawDocument>,
}

impl ShownEnd {
    /// What the file must show of this result.
    pub(crate) fn of(league: &LeagueId, game: &GameType, result: &Arc<MatchResult>) -> Self {
        // The file shows only the result, not the rest of the message.
        let over = GameOver {
            league_id: league.clone(),
            round_id: 1,
            match_id: MatchId::numbered(1, 1),
            game_type: game.clone(),
            receiver: result.players[0].clone(),
            result: Arc::clone(result),
        };
        Self {
            result: result_of(over),
            draw: result.draw.as_ref().map(DrawDocument::of),
        }
    }
}

impl ShownEnd {
    /// Whether the manager has not opened the draw to its writer.
    pub(crate) fn is_unopened(&self) -> bool {
        self.draw.as_ref().is_some_and(|draw| draw.seed.is_none())
    }

    /// The same without what proves that players joined.
    pub(crate) fn without_players(mut self) -> Self {
        let result = self.result.as_mut().and_then(Value::as_object_mut);
        if let Some(evidence) = result.and_then(|result| result.get_mut("evidence"))
            && let Some(members) = evidence.as_object_mut()
        {
            members.remove("players");
        }
        self
    }
}

impl From<MatchDocument> for ShownEnd {
    fn from(document: MatchDocument) -> Self {
        Self {
            result: document.result,
            draw: document.draw,
        }
    }
}

/// A match in a file.
#[derive(Debug)]
struct MatchFile {
    file: Arc<Path>,
    match_id: MatchId,
    referee: RefereeId,
    /// Whether it is a line of its round, whose messages stay in the journal.
    in_round: bool,
    document: Fingerprint,
}

/// The files of a league's matches.
#[derive(Debug)]
pub(crate) struct MatchFiles {
    root: Root,
    repository: MatchRepository,
    /// By the line of a referee's journal that they reflect.
    kept: BTreeMap<u64, Vec<MatchFile>>,
    /// Matches whose files agree, and up to which line.
    agreed: BTreeMap<MatchId, (Arc<Path>, u64)>,
    /// Matches whose journal has later changes.
    behind: BTreeSet<MatchId>,
}

impl MatchFiles {
    /// Reads the files; files from before the league's beginning belong to another league.
    pub(crate) fn load(
        root: &Root,
        league: &LeagueId,
        since: Timestamp,
        evidence: &mut Evidence,
    ) -> Result<Self, Stop> {
        let repository = MatchRepository::new(root, league.clone());
        let mut files = Self {
            root: root.clone(),
            repository: repository.clone(),
            kept: BTreeMap::new(),
            agreed: BTreeMap::new(),
            behind: BTreeSet::new(),
        };
        let mut misplaced = None;
        let mut leave_out = |why| evidence.leave_out(RecordKind::MatchFiles(why));
        let others = repository.visit(|file, document| {
            let lines = file.extension().is_some_and(|ending| ending == "jsonl");
            if document.lifecycle.created_at < since {
                leave_out("they are older than the league");
            } else if document.league_id != *league
                || !lines && repository.path(&document.match_id) != *file
            {
                let (match_id, league) = (&document.match_id, &document.league_id);
                let what = format!("it tells of match `{match_id}` of `{league}`");
                misplaced.get_or_insert_with(|| Wrong::new(file, None, what));
            } else {
                match document.referee_id.clone() {
                    Some(referee) => files.keep(file, referee, &document),
                    None => leave_out("they name no referee"),
                }
            }
        })?;
        for _ in 0..others {
            leave_out("they have another form");
        }
        misplaced.map_or(Ok(files), |found| Err(found.into()))
    }

    /// Compares the file that reflects this line, if there is one, with the match after the line.
    pub(crate) fn compare(
        &mut self,
        journal: &Path,
        line: u64,
        match_id: &MatchId,
        referee: Option<&RefereeId>,
        made: impl FnOnce(bool) -> Option<MatchDocument>,
    ) -> Result<(), Wrong> {
        let Some(kept) = self.take(line, match_id, referee) else {
            if self.agreed.contains_key(match_id) {
                self.behind.insert(match_id.clone());
            }
            return Ok(());
        };
        let Some(mut expected) = made(kept.in_round) else {
            return Ok(());
        };
        expected.referee_id = Some(kept.referee);
        if kept.document != fingerprint(&expected) {
            // A file that was rewritten meanwhile counts as absent.
            let Some(found) = self.find(&kept.file, match_id, line) else {
                return Ok(());
            };
            if let Some(differs) = first_difference(&found, &expected) {
                return Err(self.differs(journal, line, match_id, &kept.file, &differs));
            }
        }
        self.behind.remove(match_id);
        self.agreed.insert(match_id.clone(), (kept.file, line));
        Ok(())
    }

    /// Records the files whose journals are not here; a file that does not reflect any line of its
    /// journal is wrong.
    pub(crate) fn finish(mut self, evidence: &mut Evidence) -> Result<(), Stop> {
        let kept = std::mem::take(&mut self.kept);
        let mut left = BTreeSet::new();
        for (version, kept) in kept {
            for kept in kept {
                if evidence.has_own_journal_of(&kept.referee) {
                    let (match_id, referee) = (&kept.match_id, &kept.referee);
                    let what = format!(
                        "match `{match_id}`: `version` is `{version}`, and no such line of the \
                         journal of `{referee}` is about it: {CHANGED}"
                    );
                    return Err(Wrong::new(&kept.file, None, what).into());
                }
                left.insert((kept.match_id, version));
            }
        }
        evidence.verdict.checked.match_files += self.agreed.len() as u64;
        self.tell(&mut evidence.verdict.checked);
        if left.is_empty() {
            return Ok(());
        }
        self.take_down(&left, evidence)
    }

    fn take_down(
        &self,
        left: &BTreeSet<(MatchId, u64)>,
        evidence: &mut Evidence,
    ) -> Result<(), Stop> {
        let mut wrong = None;
        self.repository.visit(|file, document| {
            let known = left.contains(&(document.match_id.clone(), document.version));
            let referee = document.referee_id.clone().filter(|_| known);
            let Some(referee) = referee.filter(|_| document.result.is_some()) else {
                return;
            };
            if let Some(what) = transcript::problem(&document) {
                let what = format!("match `{}`: {what}", document.match_id);
                wrong.get_or_insert_with(|| Wrong::new(file, None, what));
                return;
            }
            let (match_id, attempt) = (document.match_id.clone(), document.lifecycle.attempt);
            let shown = fingerprint(&ShownEnd::from(document));
            let source = evidence.source(file, None);
            let statement = Statement::Shown {
                referee,
                attempt,
                shown,
            };
            evidence.add(source, None, &match_id, statement);
        })?;
        wrong.map_or(Ok(()), |found| Err(found.into()))
    }

    fn tell(&self, checked: &mut Checked) {
        let behind = self.behind.iter().filter_map(|id| self.agreed.get(id));
        checked.behind.extend(behind.map(|(file, line)| Behind {
            file: file.to_path_buf(),
            line: *line,
        }));
    }

    fn keep(&mut self, file: &Path, referee: RefereeId, document: &MatchDocument) {
        let kept = MatchFile {
            file: Arc::from(file),
            match_id: document.match_id.clone(),
            referee,
            in_round: file.extension().is_some_and(|ending| ending == "jsonl")
                && document.first_line.is_some(),
            document: fingerprint(document),
        };
        self.kept.entry(document.version).or_default().push(kept);
    }

    fn take(
        &mut self,
        line: u64,
        match_id: &MatchId,
        referee: Option<&RefereeId>,
    ) -> Option<MatchFile> {
        let kept = self.kept.get_mut(&line)?;
        let at = kept.iter().position(|kept| {
            let same_referee = referee.is_none_or(|referee| kept.referee == *referee);
            kept.match_id == *match_id && same_referee
        })?;
        let found = kept.swap_remove(at);
        if kept.is_empty() {
            self.kept.remove(&line);
        }
        Some(found)
    }

    fn differs(
        &self,
        journal: &Path,
        line: u64,
        match_id: &MatchId,
        file: &Path,
        differs: &Difference,
    ) -> Wrong {
        let Difference {
            path,
            found,
            expected,
        } = differs;
        let journal = below(&self.root, journal);
        let what = format!(
            "match `{match_id}`: `{path}` is {found}, and line {line} of `{}` makes it \
             {expected}: {CHANGED}",
            journal.display()
        );
        Wrong::new(file, None, what)
    }

    /// The match in a file now; `None` if the file was rewritten since.
    fn find(&self, file: &Path, match_id: &MatchId, version: u64) -> Option<MatchDocument> {
        let mut found = None;
        let read = self.repository.read(file, |document| {
            if document.match_id == *match_id && document.version == version {
                found = Some(document);
            }
        });
        read.ok().and(found)
    }
}

/// The result in the file of a match.
pub(crate) fn shown(
    root: &Root,
    league: &LeagueId,
    file: &Path,
    match_id: &MatchId,
) -> Option<ShownEnd> {
    let mut found = None;
    let repository = MatchRepository::new(root, league.clone());
    let read = repository.read(file, |document| {
        if document.match_id == *match_id && document.result.is_some() {
            found = Some(document.into());
        }
    });
    read.ok().and(found)
}
