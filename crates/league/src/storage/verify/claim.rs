//! What is said of a match: by others, and by the manager.

use std::sync::Arc;

use league_protocol::id::{GameType, MatchId, RefereeId};
use league_protocol::message::MatchResult;
use league_protocol::secret::Commitment;
use serde::Serialize;
use sha2::{Digest, Sha256};

use super::memory::Memory;

/// Tells one document from another.
pub(super) type Fingerprint = [u8; 32];

/// The fingerprint of a document.
pub(super) fn fingerprint(document: &impl Serialize) -> Fingerprint {
    Sha256::digest(serde_json::to_vec(document).unwrap_or_default()).into()
}

/// Says why two records of one match can differ.
pub(super) const CHANGED: &str = "one of the two was changed after the match";

/// What somebody wrote down of a match.
#[derive(Debug)]
pub(super) enum Claim {
    /// A referee's journal has the end of a match that it ran.
    Ran {
        referee: RefereeId,
        attempt: u32,
        result: Fingerprint,
        /// Whether the manager took it, as the referee says.
        taken: bool,
    },
    /// The file of a match shows its end, and the journal behind it is not here.
    Shown {
        referee: RefereeId,
        attempt: u32,
        shown: Fingerprint,
    },
    /// A player remembers a match.
    Remembered(Box<Memory>),
    /// A player was told the promise on the draw of a match.
    Promised(Commitment),
}

/// A result as the manager wrote it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Recorded<'a> {
    pub(super) line: u64,
    pub(super) round: u32,
    pub(super) match_id: &'a MatchId,
    pub(super) referee: Option<&'a RefereeId>,
    pub(super) attempt: u32,
    pub(super) game: &'a GameType,
    pub(super) result: &'a Arc<MatchResult>,
}

/// Up to where a referee's journal must know what the manager took from it.
///
/// Clocks differ and files are copied at different moments, so this follows from what each can
/// only have written after the other.
#[derive(Debug, Default)]
pub(super) struct Reach {
    /// Its journal.
    pub(super) source: usize,
    /// The latest round of which it was given a match.
    pub(super) round: u32,
    /// Whether it heard that the league is over.
    pub(super) over: bool,
    /// The line of the manager's journal with the latest result that it knows to be taken.
    pub(super) line: u64,
}

impl Recorded<'_> {
    pub(super) fn is_by(&self, referee: &RefereeId, attempt: u32) -> bool {
        self.referee == Some(referee) && self.attempt == attempt
    }
}
