//! How long the league waits, how often it asks again, and how it spaces the tries.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::letter::RetryRule;

/// The longest wait between two tries, whatever the strategy says.
pub const MAX_BACKOFF: Duration = Duration::from_secs(60);

/// How long detecting a player's call style may take; it never counts against the player's
/// deadline.
pub const CALL_STYLE_TIMEOUT: Duration = Duration::from_secs(10);

/// From this attempt on, a referee runs a match even if it may not call one of the players.
///
/// Before that another referee may be able to call the player, or an operator may fix the address;
/// declining the match costs the referee nothing.
pub const FORCED_ATTEMPT: u32 = 6;

/// Whether so many referees were told to run a match that the next one has to.
pub const fn is_forced(attempt: u32) -> bool {
    attempt >= FORCED_ATTEMPT
}

/// The waits of 000 table 5 and the retry rule of 000 §2.9.4, as values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Timeouts {
    /// For a registration to be answered.
    pub register: Duration,
    /// For a player to come to a match.
    pub join: Duration,
    pub make_move: Duration,
    /// For the end of a match to be received.
    pub game_over: Duration,
    /// For a result to be taken by the manager.
    pub report: Duration,
    /// For a question to be answered.
    pub query: Duration,
    pub other: Duration,
    /// How long a match waits for a player that cannot be reached, once for each absence.
    pub absence: Duration,
    pub attempts: u32,
    pub backoff: Backoff,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            register: Duration::from_secs(10),
            join: Duration::from_secs(5),
            make_move: Duration::from_secs(30),
            game_over: Duration::from_secs(5),
            report: Duration::from_secs(10),
            query: Duration::from_secs(10),
            other: Duration::from_secs(10),
            absence: Duration::from_secs(20),
            attempts: 3,
            backoff: Backoff::default(),
        }
    }
}

impl Timeouts {
    /// All tries, each with this timeout.
    pub fn retrying(&self, timeout: Duration) -> RetryRule {
        RetryRule {
            attempts: self.attempts.max(1),
            timeout,
            backoff: self.backoff,
        }
    }

    /// One try with this timeout; the machine decides on further ones.
    pub fn once(&self, timeout: Duration) -> RetryRule {
        RetryRule {
            attempts: 1,
            timeout,
            backoff: self.backoff,
        }
    }
}

/// How the waits between tries grow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Backoff {
    /// The same wait each time.
    Fixed(Duration),
    /// The wait doubles each time and is spread by chance over its upper half, so that agents that
    /// failed together do not retry together.
    Exponential(Duration),
}

impl Default for Backoff {
    fn default() -> Self {
        Self::Fixed(Duration::from_secs(2))
    }
}

impl Backoff {
    /// The longest that the wait after the `failed`th failed try can be.
    pub fn longest_wait(self, failed: u32) -> Duration {
        match self {
            Self::Fixed(wait) => wait.min(MAX_BACKOFF),
            Self::Exponential(base) => {
                let doublings = failed.saturating_sub(1).min(16);
                base.saturating_mul(1 << doublings).min(MAX_BACKOFF)
            }
        }
    }

    /// The wait after the `failed`th failed try, from 1; `chance` spreads it.
    pub fn wait(self, failed: u32, chance: u64) -> Duration {
        let full = self.longest_wait(failed);
        match self {
            Self::Fixed(_) => full,
            Self::Exponential(_) => {
                let half = full / 2;
                let spread = u64::try_from(half.as_millis())
                    .unwrap_or(u64::MAX)
                    .saturating_add(1);
                half + Duration::from_millis(chance % spread)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fixed_wait_stays_the_same() {
        let two = Duration::from_secs(2);
        assert_eq!(
            [1, 2, 9].map(|failed| Backoff::Fixed(two).wait(failed, 77)),
            [two; 3]
        );
    }

    #[test]
    fn exponential_wait_doubles_is_spread_and_bounded() {
        let backoff = Backoff::Exponential(Duration::from_secs(2));
        for (failed, full) in [
            (1, 2_000),
            (2, 4_000),
            (3, 8_000),
            (6, 60_000),
            (u32::MAX, 60_000),
        ] {
            for chance in [0, 1, 12_345, u64::MAX] {
                let wait = backoff.wait(failed, chance).as_millis();
                assert!((full / 2..=full).contains(&wait), "{failed}: {wait}");
            }
        }
        assert_ne!(backoff.wait(3, 5), backoff.wait(3, 6));
    }
}
