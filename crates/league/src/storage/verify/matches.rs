//! The files of matches, held against what their referees' journals make of them.
//!
//! Where the journal of a referee is not here, its files are taken down as its word, to be held
//! against the manager's.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use league_protocol::id::{GameType, LeagueId, MatchId, RefereeId};
use league_protocol::message::{GameOver, MatchResult};
use league_protocol::time::Timestamp;
use serde::Serialize;
use serde_json::Value;

use super::claim::{CHANGED, Claim, Fingerprint, fingerprint};
use super::difference::{Difference, first_difference};
use super::testimony::Testimony;
use super::{Behind, Checked, Disagreement, MATCH_FILES, Stop, transcript};
use crate::storage::documents::{DrawDocument, MatchDocument, MatchRepository, result_of};
use crate::storage::root::Root;

/// What the file of a match shows of its end.
#[derive(Debug, Serialize)]
pub(super) struct Shown {
    result: Option<Value>,
    draw: Option<DrawDocument>,
}

impl Shown {
    /// What it must show of this end.
    pub(super) fn of(league: &LeagueId, game: &GameType, result: &Arc<MatchResult>) -> Self {
        // Of the message that tells an end, the file shows the end alone.
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

impl From<MatchDocument> for Shown {
    fn from(document: MatchDocument) -> Self {
        Self {
            result: document.result,
            draw: document.draw,
        }
    }
}

/// A match as a file has it.
#[derive(Debug)]
struct Kept {
    file: Arc<Path>,
    match_id: MatchId,
    referee: RefereeId,
    document: Fingerprint,
}

/// The files of a league's matches.
#[derive(Debug)]
pub(super) struct MatchFiles {
    root: Root,
    repository: MatchRepository,
    /// By the line of a referee's journal that they tell of.
    kept: BTreeMap<u64, Vec<Kept>>,
    /// Those that agree, and up to which line.
    agreed: BTreeMap<MatchId, (Arc<Path>, u64)>,
    /// Those of which the journal knows more.
    behind: BTreeSet<MatchId>,
}

impl MatchFiles {
    /// Reads the files; what was written before the league began is of another one.
    pub(super) fn load(
        root: &Root,
        league: &LeagueId,
        since: Timestamp,
        testimony: &mut Testimony,
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
        let mut leave_out = |why| testimony.leave_out(MATCH_FILES.to_owned(), why);
        let others = repository.visit(|file, document| {
            let lines = file.extension().is_some_and(|ending| ending == "jsonl");
            if document.lifecycle.created_at < since {
                leave_out("they are older than the league");
            } else if document.league_id != *league
                || !lines && repository.path(&document.match_id) != *file
            {
                misplaced.get_or_insert_with(|| Disagreement {
                    file: file.to_owned(),
                    line: None,
                    what: format!(
                        "it tells of match `{}` of `{}`",
                        document.match_id, document.league_id
                    ),
                });
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

    /// Compares the file that tells of this line, if there is one, with what the line makes of it.
    pub(super) fn compare(
        &mut self,
        journal: &Path,
        line: u64,
        match_id: &MatchId,
        referee: Option<&RefereeId>,
        made: impl FnOnce() -> Option<MatchDocument>,
    ) -> Result<(), Disagreement> {
        let Some(kept) = self.take(line, match_id, referee) else {
            if self.agreed.contains_key(match_id) {
                self.behind.insert(match_id.clone());
            }
            return Ok(());
        };
        let Some(mut expected) = made() else {
            return Ok(());
        };
        expected.referee_id = Some(kept.referee);
        if kept.document != fingerprint(&expected) {
            // One that was written anew meanwhile is as good as not there.
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

    /// Takes down the files whose journals are not here; one that no line of its journal made is
    /// wrong.
    pub(super) fn finish(
        mut self,
        testimony: &mut Testimony,
        checked: &mut Checked,
    ) -> Result<(), Stop> {
        let kept = std::mem::take(&mut self.kept);
        let mut left = BTreeSet::new();
        for (version, kept) in kept {
            for kept in kept {
                if testimony.has_journal_of(&kept.referee) {
                    let (match_id, referee) = (&kept.match_id, &kept.referee);
                    let what = format!(
                        "match `{match_id}`: `version` is `{version}`, and no such line of the \
                         journal of `{referee}` is about it: {CHANGED}"
                    );
                    return Err(disagreement(&kept.file, what).into());
                }
                left.insert((kept.match_id, version));
            }
        }
        testimony.add_files(self.agreed.len());
        self.tell(checked);
        if left.is_empty() {
            return Ok(());
        }
        self.take_down(&left, testimony)
    }

    fn take_down(
        &self,
        left: &BTreeSet<(MatchId, u64)>,
        testimony: &mut Testimony,
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
                wrong.get_or_insert_with(|| disagreement(file, what));
                return;
            }
            let (match_id, attempt) = (document.match_id.clone(), document.lifecycle.attempt);
            let shown = fingerprint(&Shown::from(document));
            let source = testimony.source(file);
            let claim = Claim::Shown {
                referee,
                attempt,
                shown,
            };
            testimony.add(source, None, &match_id, claim);
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
        let kept = Kept {
            file: Arc::from(file),
            match_id: document.match_id.clone(),
            referee,
            document: fingerprint(document),
        };
        self.kept.entry(document.version).or_default().push(kept);
    }

    fn take(&mut self, line: u64, match_id: &MatchId, referee: Option<&RefereeId>) -> Option<Kept> {
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
    ) -> Disagreement {
        let Difference {
            path,
            found,
            expected,
        } = differs;
        let journal = self.below(journal);
        let what = format!(
            "match `{match_id}`: `{path}` is {found}, and line {line} of `{journal}` makes it \
             {expected}: {CHANGED}"
        );
        disagreement(file, what)
    }

    /// The match as a file has it now; `None` if it was written anew since.
    fn find(&self, file: &Path, match_id: &MatchId, version: u64) -> Option<MatchDocument> {
        let mut found = None;
        let read = self.repository.read(file, |document| {
            if document.match_id == *match_id && document.version == version {
                found = Some(document);
            }
        });
        read.ok().and(found)
    }

    fn below(&self, file: &Path) -> String {
        let below = file.strip_prefix(self.root.as_path()).unwrap_or(file);
        below.display().to_string()
    }
}

/// What a file shows of the end of a match.
pub(super) fn shown(
    root: &Root,
    league: &LeagueId,
    file: &Path,
    match_id: &MatchId,
) -> Option<Shown> {
    let mut found = None;
    let repository = MatchRepository::new(root, league.clone());
    let read = repository.read(file, |document| {
        if document.match_id == *match_id && document.result.is_some() {
            found = Some(document.into());
        }
    });
    read.ok().and(found)
}

fn disagreement(file: &Path, what: String) -> Disagreement {
    Disagreement {
        file: file.to_owned(),
        line: None,
        what,
    }
}
