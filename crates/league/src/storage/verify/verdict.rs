//! What was found out about a league, as it is told.

use std::path::PathBuf;

use league_protocol::id::LeagueId;
use serde::Serialize;

/// How much of what players remember otherwise is told one by one.
pub(crate) const MOST_DISPUTED: usize = 20;

/// What was found out about a league.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Verdict {
    /// Which league.
    pub(crate) league_id: LeagueId,
    /// Whether all that was looked at holds.
    pub(crate) verified: bool,
    /// The first thing that does not hold.
    pub(crate) wrong: Option<Wrong>,
    /// What was looked at; if something is wrong, up to there.
    pub(crate) checked: Checked,
}

/// Something that does not hold, or is remembered otherwise.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Wrong {
    /// In which file, below the root.
    pub(crate) file: PathBuf,
    /// In which line of a journal, from 1.
    pub(crate) line: Option<u64>,
    /// What is wrong with it, and what was expected.
    pub(crate) what: String,
}

/// What was looked at.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub(crate) struct Checked {
    /// How far the league is: `registering`, `running` or `completed`; `interrupted` if it is not
    /// over and nobody plays it on this machine.
    pub(crate) phase: Option<String>,
    /// Whether all chance came from a seed that was given.
    pub(crate) reproducible: bool,
    /// Lines of the manager's journal.
    pub(crate) lines: u64,
    /// The SHA-256 of its last line: whoever noted it before knows that nothing was changed since.
    pub(crate) head: Option<String>,
    /// Bytes at its end that were not written to their end.
    pub(crate) unfinished_bytes: u64,
    /// Players that are in.
    pub(crate) players: usize,
    /// Referees that are in.
    pub(crate) referees: usize,
    /// Rounds that have begun.
    pub(crate) rounds: u32,
    /// Results, each with its draw opened and its game played again.
    pub(crate) results: u64,
    /// Matches there are in all.
    pub(crate) matches: u64,
    /// Documents that agree with the journal.
    pub(crate) documents: Vec<PathBuf>,
    /// Referees whose journals were looked at.
    pub(crate) referee_journals: u64,
    /// Lines of the referees' journals.
    pub(crate) referee_lines: u64,
    /// Results that no referee ran, as the manager ruled on them.
    pub(crate) ruled: u64,
    /// Results that their referees' journals tell just as the manager's does.
    pub(crate) confirmed: u64,
    /// Files of matches that agree with the journals.
    pub(crate) match_files: u64,
    /// Files of players that remember matches as the manager's journal tells them.
    pub(crate) player_files: u64,
    /// What players remember otherwise; at most [`MOST_DISPUTED`] of it.
    ///
    /// A player may say what it likes, so its word alone overturns nothing; whoever runs the
    /// league has to look.
    pub(crate) disputed: Vec<Wrong>,
    /// How much more players remember otherwise.
    pub(crate) disputed_more: u64,
    /// Files that agree with an earlier line of their journal: nobody has written them since.
    pub(crate) behind: Vec<Behind>,
    /// What could not be compared; nothing is said about it.
    pub(crate) not_compared: Vec<NotCompared>,
}

/// A file that agrees with an earlier line of its journal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Behind {
    /// Which file, below the root.
    pub(crate) file: PathBuf,
    /// Up to which line of its journal it tells.
    pub(crate) line: u64,
}

/// Something that could not be compared.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(crate) struct NotCompared {
    /// How many of them.
    pub(crate) count: u64,
    /// What they are, in the plural.
    pub(crate) what: String,
    /// Why not.
    pub(crate) why: String,
}
