//! The list of waiting matches as referees of a pool see it: it may be old, and referees may take what
//! they were not offered.

use league_core::league::League;
use league_protocol::id::MatchId;

use crate::chance::Rng;

/// So many matches are listed at most.
const MAX_LISTED: usize = 8;

/// The matches that wait for a referee, as the manager showed them last.
#[derive(Debug, Default)]
pub(crate) struct WaitingBoard(Vec<(MatchId, u32)>);

impl WaitingBoard {
    /// The manager shows what waits now; one time in four it has not come to it yet.
    pub(crate) fn show(&mut self, chance: &mut Rng, league: &League) {
        if chance.below(4) > 0 {
            let waiting = league.waiting_matches(MAX_LISTED).into_iter();
            let waiting = waiting.map(|(match_id, attempt)| (match_id.clone(), attempt));
            self.0 = waiting.collect();
        }
    }

    /// What a referee with so much room takes: in a storm also twice, more than it has room for, or
    /// with another attempt than is listed.
    pub(crate) fn pick(
        &self,
        chance: &mut Rng,
        free: usize,
        is_stormy: bool,
    ) -> Vec<(MatchId, u32)> {
        let first = chance.below(self.0.len() as u64 + 1);
        let more = usize::from(is_stormy && chance.below(8) == 0);
        let listed = self
            .0
            .iter()
            .cycle()
            .skip(usize::try_from(first).unwrap_or(0));
        let listed = listed.take((free + more).min(self.0.len()));
        let mut picked = Vec::new();
        for (match_id, attempt) in listed {
            let wrong = match is_stormy.then(|| chance.below(16)) {
                Some(0) => attempt + 1,
                Some(1) => attempt.saturating_sub(1),
                _ => *attempt,
            };
            picked.push((match_id.clone(), wrong));
            if is_stormy && chance.below(8) == 0 {
                picked.push((match_id.clone(), wrong));
            }
        }
        picked
    }
}
