//! The matches that were announced to a player, by the hash of the token that proves a referee.

use std::collections::{BTreeMap, VecDeque};

use league_protocol::id::MatchId;
use league_protocol::secret::Commitment;
use league_protocol::token::TokenHash;

/// How many announced matches are known; one more drops the oldest.
pub const ANNOUNCED_MATCHES: usize = 64;

/// The matches that were announced last.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Announcements {
    matches: BTreeMap<MatchId, Announced>,
    order: VecDeque<MatchId>,
}

/// What was said of one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Announced {
    pub(super) token: TokenHash,
    pub(super) commitment: Option<Commitment>,
}

impl Announcements {
    pub(super) fn token(&self, match_id: &MatchId) -> Option<&TokenHash> {
        self.matches.get(match_id).map(|announced| &announced.token)
    }

    /// The promise on the draw, where one was made.
    pub(super) fn commitment(&self, match_id: &MatchId) -> Option<Commitment> {
        self.matches.get(match_id)?.commitment
    }

    pub(super) fn add(&mut self, match_id: &MatchId, announced: Announced) {
        if self.matches.insert(match_id.clone(), announced).is_none() {
            self.order.push_back(match_id.clone());
        }
        if self.order.len() > ANNOUNCED_MATCHES
            && let Some(oldest) = self.order.pop_front()
        {
            self.matches.remove(&oldest);
        }
    }

    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }
}
