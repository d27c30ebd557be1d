//! What cost players attempts: answers that did not come, or did not count.
//!
//! A referee notes those of a match when the match is closed, so nothing of a match that is being
//! played can be read from them.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use league_protocol::fault::Code;
use league_protocol::id::{MatchId, PlayerId};
use league_protocol::sender::Agent;
use serde::{Deserialize, Serialize};

/// How many players are kept apart; of more nothing is noted.
const MOST_PLAYERS: usize = 20_000;

/// How often attempts failed for one reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Failed {
    /// Which rule was broken.
    pub(crate) code: Code,
    /// How often.
    pub(crate) count: u64,
    /// What happened the last time, in a sentence for people.
    pub(crate) detail: String,
    /// In which match that was.
    pub(crate) match_id: MatchId,
}

/// What cost players attempts in the matches of this process.
#[derive(Debug, Clone, Default)]
pub(crate) struct Failures(Arc<Noted>);

#[derive(Debug, Default)]
struct Noted {
    players: Mutex<BTreeMap<PlayerId, BTreeMap<Code, Failed>>>,
    total: AtomicU64,
}

impl Failures {
    /// Notes an attempt that failed.
    pub(crate) fn note(&self, player: &PlayerId, code: Code, detail: &str, match_id: &MatchId) {
        let players = &self.0.players;
        let mut players = players.lock().unwrap_or_else(PoisonError::into_inner);
        if players.len() >= MOST_PLAYERS && !players.contains_key(player) {
            return;
        }
        let codes = players.entry(player.clone()).or_default();
        let failed = codes.entry(code).or_insert_with(|| Failed {
            code,
            count: 0,
            detail: String::new(),
            match_id: match_id.clone(),
        });
        failed.count += 1;
        detail.clone_into(&mut failed.detail);
        failed.match_id = match_id.clone();
        self.0.total.fetch_add(1, Ordering::Relaxed);
    }

    /// How many attempts failed.
    pub(crate) fn total(&self) -> u64 {
        self.0.total.load(Ordering::Relaxed)
    }

    /// What was noted, by agent.
    pub(crate) fn all(&self) -> BTreeMap<String, Vec<Failed>> {
        let players = &self.0.players;
        let players = players.lock().unwrap_or_else(PoisonError::into_inner);
        let of_one = |(player, codes): (&PlayerId, &BTreeMap<Code, Failed>)| {
            let agent = Agent::Player(player.clone()).to_string();
            (agent, codes.values().cloned().collect())
        };
        players.iter().map(of_one).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_code_is_counted_with_what_happened_last() {
        let failures = Failures::default();
        let player = PlayerId::numbered(1);
        let first = MatchId::numbered(1, 1);
        let second = MatchId::numbered(2, 1);
        failures.note(&player, Code::Timeout, "no answer in 5 s", &first);
        failures.note(&player, Code::InvalidMove, "`maybe` is no choice", &first);
        failures.note(&player, Code::Timeout, "no answer in 30 s", &second);
        let all = failures.all();
        let counts: Vec<_> = all["player:P01"]
            .iter()
            .map(|failed| (failed.code, failed.count, failed.match_id.as_str()))
            .collect();
        assert_eq!(
            counts,
            [(Code::Timeout, 2, "R2M1"), (Code::InvalidMove, 1, "R1M1")]
        );
        assert_eq!(all["player:P01"][0].detail, "no answer in 30 s");
        assert_eq!(failures.total(), 3);
    }
}
