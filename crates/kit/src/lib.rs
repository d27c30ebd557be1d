//! A player in Rust: write the trait [`Entrant`], play it in this process with [`League::builder`],
//! and serve it to a real league with [`Kit`].
//!
//! The rules of the protocol are those of `league-core`, which `league player` uses too; this crate
//! adds HTTP by `hyper` in a thread of its own, and a file for restarts.
//!
//! ```
//! use std::sync::Arc;
//!
//! use league_kit::{ChoiceError, Dice, Entrant, League, MatchRecord, Think, Value};
//!
//! /// Takes the legal moves in turn.
//! #[derive(Default)]
//! struct InTurn {
//!     moves: usize,
//! }
//!
//! impl Entrant for InTurn {
//!     fn choose(
//!         &mut self,
//!         think: &Think,
//!         _history: &[Arc<MatchRecord>],
//!         _dice: &mut Dice,
//!     ) -> Result<Value, ChoiceError> {
//!         self.moves += 1;
//!         Ok(think.options[self.moves % think.options.len()].clone())
//!     }
//! }
//!
//! let league = League::builder().game("connect_four").legs(2).seed(1);
//! let played = league.player("In turn", InTurn::default()).strategy("greedy").run()?;
//! assert_eq!(&*played.standings[0].display_name, "greedy");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod call;
mod http;
mod memory;
mod mind;
mod options;
mod seat;

pub use league_core::entrant::{ChoiceError, Entrant};
pub use league_core::league::League;
pub use league_core::local::{LeagueBuilder, LocalLeagueError, LocalMatch, PlayedLeague};
pub use league_core::player::{MatchOutcome, MatchRecord, Opponent, Think};
pub use league_core::rating::{Rating, Ratings};
pub use league_core::strategy::{self, Strategy};
pub use league_games as games;
pub use league_games::Dice;
pub use league_protocol::message::{MatchStatus, Score, StandingRow};
pub use options::{Kit, KitError};
pub use serde_json::{Value, json};

use std::sync::LazyLock;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use league_protocol::time::Timestamp;

static START: LazyLock<(Timestamp, Instant)> = LazyLock::new(|| {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    let millis = since.unwrap_or_default().as_millis();
    let wall = Timestamp::from_millis(i64::try_from(millis).unwrap_or(i64::MAX));
    (wall, Instant::now())
});

/// The time: the system clock at the start, and the monotonic clock since then.
pub(crate) fn now() -> Timestamp {
    let (wall, start) = *START;
    wall + start.elapsed()
}

/// How much time is left for a choice. In a local league there is no deadline, and it is very long.
pub fn time_left(think: &Think) -> Duration {
    think.until.since(now())
}

#[cfg(test)]
mod tests;
