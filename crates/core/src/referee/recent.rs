//! The matches that were put away lately, for those who ask again.

use std::collections::{BTreeMap, VecDeque};

use league_protocol::id::MatchId;

use super::running::Match;

/// How many matches are remembered after their last letter.
const MOST_RECENT: usize = 256;

/// The last matches, oldest first.
#[derive(Debug, Clone, Default)]
pub(super) struct Recent {
    matches: BTreeMap<MatchId, Box<Match>>,
    order: VecDeque<MatchId>,
}

impl Recent {
    pub(super) fn get(&self, match_id: &MatchId) -> Option<&Match> {
        self.matches.get(match_id).map(|game| &**game)
    }

    pub(super) fn keep(&mut self, game: Box<Match>) {
        let match_id = game.fixture.match_id.clone();
        if self.matches.insert(match_id.clone(), game).is_none() {
            self.order.push_back(match_id);
        }
        if self.order.len() > MOST_RECENT
            && let Some(oldest) = self.order.pop_front()
        {
            self.matches.remove(&oldest);
        }
    }

    pub(super) fn forget(&mut self, match_id: &MatchId) {
        if self.matches.remove(match_id).is_some() {
            self.order.retain(|kept| kept != match_id);
        }
    }
}
