//! The verdict on a league: what is proven, what is only told, and what could not be compared; as
//! fields for programs and as one sentence for people.

use std::path::{Path, PathBuf};

use league_core::league::League;
use league_protocol::id::{LeagueId, MatchId, RefereeId};
use league_protocol::message::{MatchResult, MatchStatus};
use league_protocol::secret::DrawMode;
use serde::ser::SerializeStruct as _;
use serde::{Serialize, Serializer};

/// The outcome of a verification.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Verdict {
    pub(crate) league_id: LeagueId,
    pub(crate) verdict: Conclusion,
    /// Whether the conclusion is [`Conclusion::Verified`].
    pub(crate) verified: bool,
    /// Whether the league was played to its end; else the conclusion is about what was played so far.
    pub(crate) finished: bool,
    /// The first failure.
    pub(crate) wrong: Option<Wrong>,
    /// Where the chance of the league came from; `None` if its rules cannot be read.
    pub(crate) mode: Option<DrawMode>,
    /// Whether any referee was admitted before the start.
    pub(crate) open_referees: bool,
    /// How many results have a draw that is not proven.
    pub(crate) draws_not_proven: u64,
    /// Referees whose tokens players have seen.
    pub(crate) exposed_referees: Vec<RefereeId>,
    /// What the results rest on.
    pub(crate) matches: EvidenceCounts,
    /// Matches that were begun more than once.
    pub(crate) attempts_above_1: Vec<RepeatedMatch>,
    /// How often the organiser pulled a lever.
    #[serde(skip_serializing_if = "is_none")]
    pub(crate) levers: u64,
    /// Records that a complete verdict needs.
    pub(crate) not_compared: Vec<NotCompared>,
    /// What was checked; after a failure, what was checked before it.
    pub(crate) checked: Checked,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a reference"
)]
const fn is_none(count: &u64) -> bool {
    *count == 0
}

/// The conclusion of a verification.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(crate) enum Conclusion {
    /// The journal is sound, and all records are here and agree.
    #[serde(rename = "verified")]
    Verified,
    /// Nothing contradicts the journal, but records are missing.
    #[serde(rename = "consistent, not complete")]
    Incomplete,
    #[serde(rename = "failed")]
    Failed,
}

/// A failed check, or a dispute by a player or by a referee elsewhere.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Wrong {
    /// The file, below the root.
    pub(crate) file: PathBuf,
    /// The line of a journal, from 1.
    pub(crate) line: Option<u64>,
    /// What is wrong, and what was expected.
    pub(crate) what: String,
}

impl Wrong {
    pub(crate) fn new(file: &Path, line: Option<u64>, what: impl Into<String>) -> Self {
        Self {
            file: file.to_owned(),
            line,
            what: what.into(),
        }
    }
}

/// What results rest on. Each counts once, by the best; the manager's rulings against absent players
/// do not count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub(crate) struct EvidenceCounts {
    /// Both players proved their moves.
    pub(crate) proven: u64,
    /// One player proved its moves.
    pub(crate) one_proof: u64,
    /// The referee's journal has the same result.
    pub(crate) referee_record: u64,
    /// There is nothing but the manager's journal.
    pub(crate) told: u64,
}

impl EvidenceCounts {
    /// Adds a result that the league has just accepted; `confirmed` by its referee's journal or not.
    pub(crate) fn add(
        &mut self,
        league: &League,
        match_id: &MatchId,
        referee: Option<&RefereeId>,
        result: &MatchResult,
        confirmed: bool,
    ) {
        let is_lost = result.status == MatchStatus::TechnicalLoss;
        if is_lost && referee.is_none() {
            return;
        }
        let proofs = if is_lost {
            0
        } else {
            proofs(league, match_id, result)
        };
        let counted = match proofs {
            2.. => &mut self.proven,
            1 => &mut self.one_proof,
            0 if confirmed => &mut self.referee_record,
            0 => &mut self.told,
        };
        *counted += 1;
    }
}

/// How many players proved all their moves; the proofs themselves are checked with the result.
fn proofs(league: &League, match_id: &MatchId, result: &MatchResult) -> usize {
    let fixtures = league.round().map_or(&[][..], |round| round.fixtures());
    let fixture = fixtures.iter().find(|known| known.match_id() == match_id);
    let signs = fixture.map_or([false; 2], |fixture| fixture.signs());
    let signers = result.players.iter().zip(signs).filter(|(player, signs)| {
        let moves = result.evidence.moves.iter();
        let mut moves = moves.filter(|made| made.player_id == **player).peekable();
        *signs && moves.peek().is_some() && moves.all(|made| made.proof.is_some())
    });
    signers.count()
}

/// A match that was begun more than once: each attempt was a new chance for its players.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct RepeatedMatch {
    pub(crate) match_id: MatchId,
    pub(crate) attempts: u32,
    /// The last reason in the journal.
    pub(crate) why: &'static str,
}

/// What was checked.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub(crate) struct Checked {
    /// The phase of the league: `registering`, `running` or `completed`; `interrupted` if it is
    /// unfinished and no process on this machine plays it.
    pub(crate) phase: Option<String>,
    /// Whether the organiser ended it before its last match.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) ended_early: bool,
    /// Whether all randomness came from a given seed.
    pub(crate) reproducible: bool,
    /// Lines of the manager's journal.
    pub(crate) lines: u64,
    /// The SHA-256 of its last line: an earlier copy of this hash proves that nothing was changed
    /// since.
    pub(crate) head: Option<String>,
    /// The size of the incomplete batch at its end, in bytes.
    pub(crate) unfinished_bytes: u64,
    /// Admitted players.
    pub(crate) players: usize,
    /// Admitted referees.
    pub(crate) referees: usize,
    /// Started rounds.
    pub(crate) rounds: u32,
    /// Results, each with its draw opened, unless it was only told, and its game replayed.
    pub(crate) results: u64,
    /// Matches in total.
    pub(crate) matches: u64,
    /// Documents that agree with the journal.
    pub(crate) documents: Vec<PathBuf>,
    /// Referees whose journals were checked.
    pub(crate) referee_journals: u64,
    /// Lines of the referees' journals.
    pub(crate) referee_lines: u64,
    /// Results that the manager ruled on, without a referee.
    pub(crate) ruled: u64,
    /// Results that the referee's journal confirms.
    pub(crate) confirmed: u64,
    /// Files of matches that agree with the journals.
    pub(crate) match_files: u64,
    /// Player files that agree with the manager's journal.
    pub(crate) player_files: u64,
    /// Disputes by players and by referees elsewhere; at most
    /// [`MAX_DISPUTED`](super::MAX_DISPUTED).
    ///
    /// Both may write anything into their files, so a dispute does not fail the verification; the
    /// organiser has to examine it.
    pub(crate) disputed: Vec<Wrong>,
    /// The number of further disputes.
    pub(crate) disputed_more: u64,
    /// Files that agree with an earlier line of their journal: they have not been updated since.
    pub(crate) behind: Vec<Behind>,
    /// Further records that could not be compared; a complete verdict does not need them.
    pub(crate) not_compared: Vec<NotCompared>,
}

/// A file that agrees with an earlier line of its journal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Behind {
    /// The file, below the root.
    pub(crate) file: PathBuf,
    /// The last line of its journal that it reflects.
    pub(crate) line: u64,
}

/// Records that could not be compared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NotCompared {
    pub(crate) count: u64,
    pub(crate) kind: RecordKind,
}

impl Serialize for NotCompared {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut row = serializer.serialize_struct("NotCompared", 3)?;
        row.serialize_field("count", &self.count)?;
        row.serialize_field("what", &self.kind.what())?;
        row.serialize_field("why", self.kind.why())?;
        row.end()
    }
}

/// A kind of record that could not be compared, and why.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum RecordKind {
    /// Results of a referee whose journal is not here.
    WithoutJournal(RefereeId),
    /// Results after the end of their referee's journal.
    AfterJournal(RefereeId),
    /// Statements in the journal that a referee handed in, and that others contradict.
    Disputed(RefereeId),
    /// Results of referees whose journals were replaced during the verification.
    Replaced,
    /// Statements beyond the most that are kept in memory.
    TooMany,
    MatchFiles(&'static str),
    Memories(&'static str),
    /// A document that is not here, below the root.
    Document(PathBuf),
}

impl RecordKind {
    /// The kind of record, in the plural.
    pub(crate) fn what(&self) -> String {
        match self {
            Self::WithoutJournal(referee) | Self::AfterJournal(referee) => {
                format!("results of `{referee}`")
            }
            Self::Disputed(referee) => format!("statements of `{referee}`"),
            Self::Replaced => "results of referees".to_owned(),
            Self::TooMany => "statements of others".to_owned(),
            Self::MatchFiles(_) => "files of matches".to_owned(),
            Self::Memories(_) => "memories of players".to_owned(),
            Self::Document(file) => format!("`{}`", file.display()),
        }
    }

    pub(crate) const fn why(&self) -> &'static str {
        match self {
            Self::WithoutJournal(_) => "its journal is not here",
            Self::AfterJournal(_) => "its journal ends before them",
            Self::Disputed(_) => "other records contradict the journal that it handed in",
            Self::Replaced => WRITTEN_ANEW,
            Self::TooMany => "there are too many of them",
            Self::MatchFiles(why) | Self::Memories(why) => why,
            Self::Document(_) => NOT_HERE,
        }
    }

    /// Whether a complete verdict needs it. The memories of players are further evidence, and the
    /// documents and files of matches are made from the journals.
    pub(crate) const fn is_needed(&self) -> bool {
        !matches!(
            self,
            Self::MatchFiles(_) | Self::Memories(_) | Self::Document(_)
        )
    }
}

/// The phase of a league that was played to its end.
const COMPLETED: &str = "completed";
/// Why a file that was read once cannot be quoted.
pub(crate) const WRITTEN_ANEW: &str = "they were written anew meanwhile";
/// Why a file was not compared.
pub(crate) const NOT_HERE: &str = "not here";

impl Verdict {
    /// The verdict on a league of which nothing was checked yet.
    pub(crate) fn new(league: &LeagueId) -> Self {
        Self {
            league_id: league.clone(),
            verdict: Conclusion::Failed,
            verified: false,
            finished: false,
            wrong: None,
            mode: None,
            open_referees: false,
            draws_not_proven: 0,
            exposed_referees: Vec::new(),
            matches: EvidenceCounts::default(),
            attempts_above_1: Vec::new(),
            levers: 0,
            not_compared: Vec::new(),
            checked: Checked::default(),
        }
    }

    /// Lists records that could not be compared.
    pub(crate) fn leave_out(&mut self, kind: RecordKind, count: u64) {
        let list = if kind.is_needed() {
            &mut self.not_compared
        } else {
            &mut self.checked.not_compared
        };
        list.push(NotCompared { count, kind });
    }

    /// Concludes after everything was checked, or with the first failure.
    pub(crate) fn conclude(&mut self, wrong: Option<Wrong>) {
        self.verdict = if wrong.is_some() {
            // After an incomplete read it is unknown what is missing.
            self.not_compared.clear();
            self.checked.not_compared.clear();
            Conclusion::Failed
        } else if self.not_compared.is_empty() {
            Conclusion::Verified
        } else {
            Conclusion::Incomplete
        };
        self.verified = self.verdict == Conclusion::Verified;
        self.finished = self.checked.phase.as_deref() == Some(COMPLETED);
        self.wrong = wrong;
    }

    /// The verdict in one sentence.
    pub(crate) fn sentence(&self) -> String {
        match self.verdict {
            Conclusion::Verified if !self.finished => {
                format!("unfinished, verified so far: {}", self.facts())
            }
            Conclusion::Verified => format!("verified: {}", self.facts()),
            Conclusion::Incomplete if !self.finished => {
                format!(
                    "unfinished, consistent so far, not complete: {}",
                    self.facts()
                )
            }
            Conclusion::Incomplete => format!("consistent, not complete: {}", self.facts()),
            Conclusion::Failed => "NOT verified".to_owned(),
        }
    }

    /// What the results rest on, and what a reader must know of the league.
    fn facts(&self) -> String {
        let (checked, grounds) = (&self.checked, &self.matches);
        let matches = match (checked.results, checked.matches) {
            (results, all) if results < all => format!("{results} of {}", matches(all)),
            (results, _) => matches(results),
        };
        let mut facts = vec![
            format!("{matches}, {} with both players' proofs", grounds.proven),
            format!("{} with the referee's journal", checked.confirmed),
        ];
        for (count, what) in [
            (grounds.one_proof, "with one player's proof"),
            (grounds.told, "only told"),
            (checked.ruled, "ended by the manager"),
        ] {
            facts.extend((count > 0).then(|| format!("{count} {what}")));
        }
        let mut sentence = facts.join(", ");
        for remark in self.remarks() {
            sentence.push_str("; ");
            sentence.push_str(&remark);
        }
        sentence
    }

    fn remarks(&self) -> Vec<String> {
        let mut remarks = Vec::new();
        if self.checked.reproducible {
            remarks.push("reproducible from a seed, not for prizes".to_owned());
        }
        if self.open_referees {
            remarks.push("open to any referee".to_owned());
        }
        if self.draws_not_proven > 0 {
            remarks.push(format!(
                "draw not proven in {}",
                matches(self.draws_not_proven)
            ));
        }
        if !self.exposed_referees.is_empty() {
            let exposed: Vec<&str> = self
                .exposed_referees
                .iter()
                .map(RefereeId::as_str)
                .collect();
            remarks.push(format!("referee token exposed: {}", exposed.join(", ")));
        }
        match self.attempts_above_1.len() as u64 {
            0 => {}
            repeated => remarks.push(format!("{} begun more than once", matches(repeated))),
        }
        let (mut disputes, mut missing, mut by_referees) = (Vec::new(), Vec::new(), 0);
        for left_out in &self.not_compared {
            match &left_out.kind {
                RecordKind::Disputed(referee) => {
                    by_referees += left_out.count;
                    disputes.push(format!("disputed by {referee}"));
                }
                RecordKind::WithoutJournal(referee) => {
                    missing.push(format!("journal of {referee}"));
                }
                RecordKind::AfterJournal(referee) => {
                    missing.push(format!("end of the journal of {referee}"));
                }
                kind => missing.push(format!(
                    "{} {} ({})",
                    left_out.count,
                    kind.what(),
                    kind.why()
                )),
            }
        }
        remarks.extend(disputes);
        if self.checked.disputed.len() as u64 + self.checked.disputed_more > by_referees {
            remarks.push("players' records differ".to_owned());
        }
        if !missing.is_empty() {
            remarks.push(format!("missing: {}", missing.join(", ")));
        }
        remarks
    }
}

fn matches(count: u64) -> String {
    let ending = if count == 1 { "" } else { "es" };
    format!("{count} match{ending}")
}
