//! The matches that were announced to a player, by the hash of the token that proves a referee.

use std::collections::{BTreeMap, VecDeque};

use league_protocol::id::MatchId;
use league_protocol::token::TokenHash;

/// How many announced matches are known; one more drops the oldest.
pub const ANNOUNCED_MATCHES: usize = 64;

/// The matches that were announced last.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Announcements {
    tokens: BTreeMap<MatchId, TokenHash>,
    order: VecDeque<MatchId>,
}

impl Announcements {
    pub(super) fn token(&self, match_id: &MatchId) -> Option<&TokenHash> {
        self.tokens.get(match_id)
    }

    pub(super) fn add(&mut self, match_id: &MatchId, token: TokenHash) {
        if self.tokens.insert(match_id.clone(), token).is_none() {
            self.order.push_back(match_id.clone());
        }
        if self.order.len() > ANNOUNCED_MATCHES
            && let Some(oldest) = self.order.pop_front()
        {
            self.tokens.remove(&oldest);
        }
    }

    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }
}
