//! The matches that were announced to a player, by the hash of the token that proves a referee.

use std::collections::VecDeque;

use league_protocol::id::MatchId;
use league_protocol::secret::Commitment;
use league_protocol::token::TokenHash;

/// How many announced matches are known; one more drops the oldest.
pub const ANNOUNCED_MATCHES: usize = 64;

/// The matches that were announced last, oldest first: the one that is asked for is most often the
/// last.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Announcements(VecDeque<(MatchId, Announced)>);

/// What was said of one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Announced {
    pub(super) token: TokenHash,
    pub(super) commitment: Option<Commitment>,
}

impl Announced {
    pub(super) const fn new(token: TokenHash, commitment: Option<Commitment>) -> Self {
        Self { token, commitment }
    }
}

impl Announcements {
    pub(super) fn token(&self, match_id: &MatchId) -> Option<&TokenHash> {
        self.find(match_id).map(|announced| &announced.token)
    }

    /// The promise on the draw, where one was made.
    pub(super) fn commitment(&self, match_id: &MatchId) -> Option<Commitment> {
        self.find(match_id)?.commitment
    }

    pub(super) fn add(&mut self, match_id: &MatchId, announced: Announced) {
        let mut all = self.0.iter_mut();
        if let Some((_, known)) = all.find(|(known, _)| known == match_id) {
            *known = announced;
            return;
        }
        self.0.push_back((match_id.clone(), announced));
        if self.0.len() > ANNOUNCED_MATCHES {
            self.0.pop_front();
        }
    }

    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }

    fn find(&self, match_id: &MatchId) -> Option<&Announced> {
        let mut latest = self.0.iter().rev();
        let found = latest.find(|(announced, _)| announced == match_id);
        found.map(|(_, announced)| announced)
    }
}
