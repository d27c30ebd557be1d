//! Compares the records that referees and players keep of matches with the manager's journal.
//!
//! All of them are collected before the manager's journal is read: agents hear only of results that
//! the manager has written, so everything in their records must be found there. Of each record only
//! enough is kept to compare it; if it differs, its file is opened again.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use league_core::player::{MatchOutcome, MatchRecord};
use league_protocol::id::{GameType, LeagueId, MatchId, PlayerId, RefereeId};
use league_protocol::message::{MatchResult, MatchStatus};
use league_protocol::secret::{Commitment, Seed};
use serde::Serialize;
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::difference::{Difference, first_difference};
use super::referees::{ShownEnd, decided, shown};
use super::verdict::WRITTEN_ANEW;
use super::{MAX_DISPUTED, RecordKind, Verdict, Wrong, below};
use crate::storage::root::Root;

/// The maximum number of statements in memory; further ones are not compared.
const MAX_STATEMENTS: usize = 4_000_000;

/// The file and line of a statement.
#[derive(Debug, Clone, Copy)]
struct Source {
    source: usize,
    line: Option<u64>,
}

/// All statements of referees and players, and the outcome of the comparison.
#[derive(Debug)]
pub(crate) struct Evidence {
    /// What was found so far.
    pub(crate) verdict: Verdict,
    root: Root,
    league: LeagueId,
    /// Each file, and the referee that handed it in.
    sources: Vec<(PathBuf, Option<RefereeId>)>,
    statements: BTreeMap<MatchId, Vec<(Source, Statement)>>,
    kept: usize,
    referees: BTreeMap<RefereeId, JournalExtent>,
    /// Results that are missing from the journal of their referee, which is here.
    untold: Vec<(u64, u32, MatchId, RefereeId)>,
    agreed_files: BTreeSet<usize>,
    agreed_players: BTreeSet<usize>,
    not_compared: BTreeMap<RecordKind, u64>,
}

impl Evidence {
    pub(crate) fn new(root: &Root, league: &LeagueId) -> Self {
        Self {
            verdict: Verdict::new(league),
            root: root.clone(),
            league: league.clone(),
            sources: Vec::new(),
            statements: BTreeMap::new(),
            kept: 0,
            referees: BTreeMap::new(),
            untold: Vec::new(),
            agreed_files: BTreeSet::new(),
            agreed_players: BTreeSet::new(),
            not_compared: BTreeMap::new(),
        }
    }

    /// Registers a file that statements come from, and the referee that handed it in, if one did.
    pub(crate) fn source(&mut self, file: &Path, handed_in_by: Option<RefereeId>) -> usize {
        self.sources.push((file.to_owned(), handed_in_by));
        self.sources.len() - 1
    }

    /// Adds a statement from a line of a file, or from the file as a whole.
    pub(crate) fn add(
        &mut self,
        source: usize,
        line: Option<u64>,
        of: &MatchId,
        statement: Statement,
    ) {
        if self.kept >= MAX_STATEMENTS {
            return self.leave_out(RecordKind::TooMany);
        }
        self.kept += 1;
        let statements = self.statements.entry(of.clone()).or_default();
        statements.push((Source { source, line }, statement));
    }

    /// Records that the journal of a referee is here.
    pub(crate) fn add_referee(&mut self, referee: RefereeId, extent: JournalExtent) {
        self.referees.insert(referee, extent);
    }

    /// Whether the journal of a referee is here.
    pub(crate) fn has_journal_of(&self, referee: &RefereeId) -> bool {
        self.referees.contains_key(referee)
    }

    /// Whether the journal of a referee is here and was written here, not handed in.
    pub(crate) fn has_own_journal_of(&self, referee: &RefereeId) -> bool {
        let extent = self.referees.get(referee);
        extent.is_some_and(|extent| self.sources[extent.source].1.is_none())
    }

    /// Counts a record that cannot be compared.
    pub(crate) fn leave_out(&mut self, kind: RecordKind) {
        *self.not_compared.entry(kind).or_default() += 1;
    }

    /// Records a dispute by a player; it does not fail the verification.
    pub(crate) fn dispute(&mut self, found: Wrong) {
        let checked = &mut self.verdict.checked;
        if checked.disputed.len() < MAX_DISPUTED {
            checked.disputed.push(found);
        } else {
            checked.disputed_more += 1;
        }
    }

    /// Records a contradiction in the journal that a referee handed in. The referee may have written
    /// anything into it, so the verification does not fail; but it is not complete.
    pub(crate) fn dispute_by(&mut self, referee: RefereeId, found: Wrong) {
        self.leave_out(RecordKind::Disputed(referee));
        self.dispute(found);
    }

    /// Records what a journal says of a result: a contradiction fails the verification, unless the
    /// journal was handed in.
    fn judge(&mut self, at: Source, found: Result<bool, Wrong>) -> Result<bool, Wrong> {
        match (found, &self.sources[at.source].1) {
            (Err(wrong), Some(referee)) => {
                self.dispute_by(referee.clone(), wrong);
                Ok(false)
            }
            (found, _) => found,
        }
    }

    /// Compares a result of the manager with all statements about its match; says whether the
    /// referee's journal has the same result.
    pub(crate) fn compare(&mut self, recorded: RecordedResult<'_>) -> Result<bool, Wrong> {
        let statements = self
            .statements
            .remove(recorded.match_id)
            .unwrap_or_default();
        self.kept -= statements.len();
        let (mut told, mut confirmed) = (false, false);
        for (at, statement) in &statements {
            match statement {
                Statement::Ran {
                    referee,
                    attempt,
                    result,
                    opened,
                    taken,
                } if recorded.is_by(referee, *attempt) => {
                    told = true;
                    let heard = self.hear_referee(*at, recorded, result, *taken);
                    let heard = heard.and_then(|same| {
                        self.hear_opened(*at, recorded, opened.as_ref())?;
                        Ok(same)
                    });
                    confirmed |= self.judge(*at, heard)?;
                }
                Statement::Ran {
                    attempt,
                    taken: true,
                    ..
                } => {
                    let otherwise = self.taken_otherwise(*at, recorded, *attempt);
                    self.judge(*at, Err(otherwise))?;
                }
                Statement::Ran { .. } => {}
                Statement::Shown {
                    referee,
                    attempt,
                    shown,
                } => {
                    if recorded.is_by(referee, *attempt) {
                        self.see_file(*at, recorded, shown)?;
                    }
                }
                Statement::Remembered(memory) => self.hear_player(*at, recorded, memory),
                Statement::Promised(promise) => {
                    self.hear_promise(*at, recorded, promise);
                }
            }
        }
        match recorded.referee {
            Some(referee) if !told => self.miss(recorded, referee),
            Some(_) => {}
            None => self.verdict.checked.ruled += 1,
        }
        self.verdict.checked.confirmed += u64::from(confirmed);
        Ok(confirmed)
    }

    /// Checks the remaining statements after the manager's journal was read to its end.
    pub(crate) fn finish(&mut self) -> Result<(), Wrong> {
        for (line, round, match_id, referee) in std::mem::take(&mut self.untold) {
            let Some(extent) = self.referees.get(&referee) else {
                continue;
            };
            if extent.over || round < extent.round || line <= extent.line {
                let at = Source {
                    source: extent.source,
                    line: None,
                };
                let manager = self.manager(line);
                let what = format!(
                    "match `{match_id}`: {manager} has a result by `{referee}`, whose journal goes \
                     on and knows nothing of it: {CHANGED}"
                );
                self.judge(at, Err(self.disagreement(at, what)))?;
            } else {
                self.leave_out(RecordKind::AfterJournal(referee));
            }
        }
        for (match_id, statements) in std::mem::take(&mut self.statements) {
            for (at, statement) in statements {
                if let Statement::Ran { taken: true, .. } | Statement::Shown { .. } = statement {
                    let journal = self.journal();
                    let what = format!(
                        "match `{match_id}`: the manager took this result, and `{journal}` has \
                         none of it: one of the two was changed after the match, or the journal \
                         was cut or copied earlier"
                    );
                    self.judge(at, Err(self.disagreement(at, what)))?;
                }
            }
        }
        Ok(())
    }

    /// Totals what was compared and what was not.
    pub(crate) fn sum_up(&mut self) {
        let checked = &mut self.verdict.checked;
        checked.match_files += self.agreed_files.len() as u64;
        checked.player_files = self.agreed_players.len() as u64;
        for (kind, count) in std::mem::take(&mut self.not_compared) {
            self.verdict.leave_out(kind, count);
        }
    }

    fn hear_referee(
        &mut self,
        at: Source,
        recorded: RecordedResult<'_>,
        told: &Fingerprint,
        taken: bool,
    ) -> Result<bool, Wrong> {
        let expected = unopened(recorded.result);
        if *told != fingerprint(&expected) {
            let Some(found) = decided(&self.sources[at.source].0, at.line) else {
                self.leave_out(RecordKind::Replaced);
                return Ok(false);
            };
            if let Some(differs) = first_difference(&unopened(&found), &expected) {
                return Err(self.differs(at, recorded, &differs));
            }
        }
        let extent = recorded.referee.and_then(|id| self.referees.get_mut(id));
        if let Some(extent) = extent.filter(|_| taken) {
            extent.line = extent.line.max(recorded.line);
        }
        Ok(true)
    }

    /// What the manager opened to the referee must be what it recorded.
    fn hear_opened(
        &self,
        at: Source,
        recorded: RecordedResult<'_>,
        opened: Option<&OpenedFingerprint>,
    ) -> Result<(), Wrong> {
        let Some(opened) = opened else { return Ok(()) };
        let recorded_seed = recorded.result.draw.as_ref().and_then(|draw| draw.seed);
        let players = fingerprint(&recorded.result.evidence.players);
        let what = if Some(opened.seed) != recorded_seed {
            "the seed"
        } else if opened.players != players {
            "a key of a player"
        } else {
            return Ok(());
        };
        let (match_id, manager) = (recorded.match_id, self.manager(recorded.line));
        let what = format!(
            "match `{match_id}`: {what} that the manager opened is another than the one in \
             {manager}: {CHANGED}"
        );
        Err(self.disagreement(at, what))
    }

    fn taken_otherwise(&self, at: Source, recorded: RecordedResult<'_>, attempt: u32) -> Wrong {
        let (match_id, manager) = (recorded.match_id, self.manager(recorded.line));
        let whose = match recorded.referee {
            Some(referee) => format!("that of `{referee}`, attempt {}", recorded.attempt),
            None => "a ruling of the manager".to_owned(),
        };
        let what = format!(
            "match `{match_id}`: the manager took this result of attempt {attempt}, and {manager} \
             has {whose}: {CHANGED}"
        );
        self.disagreement(at, what)
    }

    fn see_file(
        &mut self,
        at: Source,
        recorded: RecordedResult<'_>,
        found: &Fingerprint,
    ) -> Result<(), Wrong> {
        let expected = ShownEnd::of(&self.league, recorded.game, recorded.result);
        if *found != fingerprint(&expected) {
            let Some(found) = self.shown(at, recorded.match_id) else {
                self.leave_out(RecordKind::MatchFiles(WRITTEN_ANEW));
                return Ok(());
            };
            // A referee that heard no answer to its report knows neither seed nor keys.
            let (found, expected) = if found.is_unopened() {
                let unopened = Arc::new(unopened(recorded.result));
                let expected = ShownEnd::of(&self.league, recorded.game, &unopened);
                (found.without_players(), expected)
            } else {
                (found, expected)
            };
            if let Some(differs) = first_difference(&found, &expected) {
                return Err(self.differs(at, recorded, &differs));
            }
        }
        self.agreed_files.insert(at.source);
        Ok(())
    }

    fn shown(&self, at: Source, match_id: &MatchId) -> Option<ShownEnd> {
        let (file, _) = &self.sources[at.source];
        shown(&self.root, &self.league, file, match_id)
    }

    /// If a match was reassigned, a player may have heard of an earlier result.
    fn hear_player(&mut self, at: Source, recorded: RecordedResult<'_>, memory: &RememberedMatch) {
        match memory.difference(recorded.result) {
            _ if memory.game != *recorded.game => {}
            None => {
                self.agreed_players.insert(at.source);
            }
            Some(_) if recorded.referee.is_none() || recorded.attempt > 1 => {
                self.leave_out(RecordKind::Memories(
                    "the match changed hands, and they may have heard an earlier end",
                ));
            }
            Some(differs) => self.dispute(self.differs(at, recorded, &differs)),
        }
    }

    fn hear_promise(&mut self, at: Source, recorded: RecordedResult<'_>, promise: &Commitment) {
        let opened = recorded.result.draw.as_ref();
        if opened.is_none_or(|opened| opened.commitment == *promise) {
            return;
        }
        let (match_id, manager) = (recorded.match_id, self.manager(recorded.line));
        let what = format!(
            "match `{match_id}`: the player was told another promise on the draw than the one in \
             {manager}: {CHANGED}"
        );
        self.dispute(self.disagreement(at, what));
    }

    /// Records a result that its referee did not state.
    fn miss(&mut self, recorded: RecordedResult<'_>, referee: &RefereeId) {
        if self.has_journal_of(referee) {
            let match_id = recorded.match_id.clone();
            let missed = (recorded.line, recorded.round, match_id, referee.clone());
            self.untold.push(missed);
        } else {
            self.leave_out(RecordKind::WithoutJournal(referee.clone()));
        }
    }

    fn differs(&self, at: Source, recorded: RecordedResult<'_>, differs: &Difference) -> Wrong {
        let (match_id, manager) = (recorded.match_id, self.manager(recorded.line));
        let Difference {
            path,
            found,
            expected,
        } = differs;
        let what = format!(
            "match `{match_id}`: `{path}` is {found}, and {manager} has {expected}: {CHANGED}"
        );
        self.disagreement(at, what)
    }

    fn disagreement(&self, at: Source, what: String) -> Wrong {
        Wrong {
            file: self.sources[at.source].0.clone(),
            line: at.line,
            what,
        }
    }

    fn manager(&self, line: u64) -> String {
        format!("line {line} of `{}`", self.journal())
    }

    fn journal(&self) -> String {
        let journal = self.root.league_journal(&self.league);
        below(&self.root, &journal).display().to_string()
    }
}

/// A hash that identifies a document.
pub(crate) type Fingerprint = [u8; 32];

pub(crate) fn fingerprint(document: &impl Serialize) -> Fingerprint {
    Sha256::digest(serde_json::to_vec(document).unwrap_or_default()).into()
}

/// A result as its referee knows it before the manager answers: without the seed, and without the
/// keys and joins of players, of which the manager keeps only the true ones.
pub(crate) fn unopened(result: &MatchResult) -> MatchResult {
    let mut result = result.clone();
    if let Some(draw) = &mut result.draw {
        draw.seed = None;
    }
    result.evidence.players.clear();
    result
}

/// What the manager opened to a referee.
#[derive(Debug)]
pub(crate) struct OpenedFingerprint {
    pub(crate) seed: Seed,
    /// Identifies the keys.
    pub(crate) players: Fingerprint,
}

/// Why two records of one match can differ.
pub(crate) const CHANGED: &str = "one of the two was changed after the match";

/// A statement about a match.
#[derive(Debug)]
pub(crate) enum Statement {
    /// A referee's journal has the result of a match that it ran.
    Ran {
        referee: RefereeId,
        attempt: u32,
        /// Identifies the [`unopened`] result.
        result: Fingerprint,
        opened: Option<OpenedFingerprint>,
        /// Whether the manager accepted it, according to the referee.
        taken: bool,
    },
    /// The file of a match shows its result, and the referee's journal is not here.
    Shown {
        referee: RefereeId,
        attempt: u32,
        shown: Fingerprint,
    },
    /// A player remembers a match.
    Remembered(Box<RememberedMatch>),
    /// A player received the commitment to the draw of a match.
    Promised(Commitment),
}

/// A result in the manager's journal.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RecordedResult<'a> {
    pub(crate) line: u64,
    pub(crate) round: u32,
    pub(crate) match_id: &'a MatchId,
    pub(crate) referee: Option<&'a RefereeId>,
    pub(crate) attempt: u32,
    pub(crate) game: &'a GameType,
    pub(crate) result: &'a Arc<MatchResult>,
}

/// Up to where a referee's journal must contain the results that the manager accepted from it.
///
/// Clocks differ and files are copied at different times, so this is derived from entries that one
/// of the two can only have written after the other.
#[derive(Debug, Default)]
pub(crate) struct JournalExtent {
    /// Its journal.
    pub(crate) source: usize,
    /// The latest round in which it was assigned a match.
    pub(crate) round: u32,
    /// Whether it heard that the league is over.
    pub(crate) over: bool,
    /// The line in the manager's journal of the latest result that it knows to be accepted.
    pub(crate) line: u64,
}

impl RecordedResult<'_> {
    pub(crate) fn is_by(&self, referee: &RefereeId, attempt: u32) -> bool {
        self.referee == Some(referee) && self.attempt == attempt
    }
}

/// A player's memory of a match; facts that it never heard are absent.
#[derive(Debug, Serialize)]
pub(crate) struct RememberedMatch {
    /// The game; a memory of another game belongs to another league, even one of the same name.
    #[serde(skip)]
    pub(crate) game: GameType,
    player_id: PlayerId,
    opponent_id: Option<PlayerId>,
    result: MatchOutcome,
    points: u32,
    my_choice: Option<Value>,
    opponent_choice: Option<Value>,
}

impl RememberedMatch {
    pub(crate) fn of(player: &PlayerId, record: &MatchRecord) -> Self {
        let opponent = Some(&record.opponent_id).filter(|opponent| !opponent.is_unknown());
        Self {
            game: record.game_type.clone(),
            player_id: player.clone(),
            opponent_id: opponent.cloned(),
            result: record.result,
            points: record.points,
            my_choice: record.my_choice.clone(),
            opponent_choice: record.opponent_choice.clone(),
        }
    }

    /// The first difference from what the player can have heard of this result.
    pub(crate) fn difference(&self, result: &MatchResult) -> Option<Difference> {
        let Some(seat) = result.players.iter().position(|id| *id == self.player_id) else {
            return Some(Difference {
                path: "player_id".to_owned(),
                found: format!("`{}`", self.player_id),
                expected: format!("`{}` and `{}`", result.players[0], result.players[1]),
            });
        };
        let opponent = &result.players[1 - seat.min(1)];
        let chosen = |player: &PlayerId, remembered: &Option<Value>| {
            let heard = remembered.is_some();
            result.choices.get(player).filter(|_| heard).cloned()
        };
        let expected = Self {
            game: self.game.clone(),
            player_id: self.player_id.clone(),
            opponent_id: self.opponent_id.as_ref().map(|_| opponent.clone()),
            result: verdict(result, &self.player_id),
            points: result.points[seat],
            my_choice: chosen(&self.player_id, &self.my_choice),
            opponent_choice: chosen(opponent, &self.opponent_choice),
        };
        first_difference(self, &expected)
    }
}

/// The outcome of a result for a player.
fn verdict(result: &MatchResult, player: &PlayerId) -> MatchOutcome {
    match result.status {
        MatchStatus::Draw => MatchOutcome::Draw,
        _ if result.winner.as_ref() == Some(player) => MatchOutcome::Win,
        MatchStatus::Win => MatchOutcome::Loss,
        MatchStatus::TechnicalLoss => MatchOutcome::TechnicalLoss,
    }
}
