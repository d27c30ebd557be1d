//! Strategies against each other, without a league: no messages, no clock, only tables and memories.
//!
//! A strategy is asked as a player asks it, and remembers as a player remembers. A season is a league
//! in small: every pair meets some times, and all remember all their matches of the season. Seasons
//! do not depend on each other, so any number of threads may play them, and the sum is the same.

use league_games::Dice;
use league_protocol::id::{GameType, LeagueId, MatchId};
use league_protocol::message::Score;
use serde_json::Value;

use crate::entrant::{LocalGame, LocalPlayer, mixed};
use crate::rating::{PairScore, by_pair};
use crate::strategy::Strategy;

/// Which strategies meet in which game.
#[derive(Debug)]
pub struct Lab {
    game: LocalGame,
    strategies: Vec<&'static Strategy>,
    seed: u64,
}

/// The results of some seasons.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LabScores {
    /// The results of each pair in each order of its seats; the strategies are numbered as they were
    /// given.
    pub seated: Vec<PairScore>,
}

impl LabScores {
    /// Adds the results of other seasons of the same lab.
    pub fn add(&mut self, more: &Self) {
        if self.seated.is_empty() {
            self.seated.clone_from(&more.seated);
            return;
        }
        for (sum, part) in self.seated.iter_mut().zip(&more.seated) {
            sum.wins += part.wins;
            sum.draws += part.draws;
            sum.losses += part.losses;
        }
    }

    /// The results of each pair, from both seats.
    pub fn pairs(&self) -> Vec<PairScore> {
        by_pair(&self.seated)
    }
}

impl Lab {
    /// A lab for a listed game; `None` for another.
    pub fn new(game: &GameType, strategies: Vec<&'static Strategy>, seed: u64) -> Option<Self> {
        let listing = league_games::find(game.as_str())?;
        let league_id = LeagueId::new("lab").ok()?;
        let (game_type, settings) = (game.clone(), &Value::Null);
        let score = Score::default();
        Some(Self {
            game: LocalGame::new(listing, game_type, league_id, settings, score).ok()?,
            strategies,
            seed,
        })
    }

    pub fn strategies(&self) -> &[&'static Strategy] {
        &self.strategies
    }

    /// Plays a season: every pair meets so often, with the seats in turn.
    ///
    /// All chance follows from the seed of the lab and the number of the season.
    pub fn season(&self, number: u64, meetings: u32) -> LabScores {
        let mut scores = LabScores::default();
        let size = self.strategies.len();
        for first in 0..size {
            let rest = first + 1..size;
            let seats = rest.flat_map(|second| [[first, second], [second, first]]);
            scores.seated.extend(seats.map(|[first, second]| PairScore {
                first,
                second,
                ..PairScore::default()
            }));
        }
        let mut draw = Dice::seeded(mixed([self.seed, number, 0]));
        let mut players = self.players(number);
        for meeting in 0..meetings {
            // Odd seasons begin with the other seat, so that seats are even over all.
            let is_swapped = (u64::from(meeting) + number) % 2 == 1;
            for (orders, place) in scores.seated.chunks_mut(2).zip(1..) {
                let score = &mut orders[usize::from(is_swapped)];
                let seats = [score.first, score.second];
                let match_id = MatchId::numbered(meeting + 1, place);
                let named = (meeting + 1, match_id);
                let course = self.game.play(&mut players, seats, named, &mut draw);
                match course.ending.winner() {
                    Some(0) => score.wins += 1,
                    Some(_) => score.losses += 1,
                    None => score.draws += 1,
                }
            }
        }
        scores
    }

    fn players(&self, season: u64) -> Vec<LocalPlayer<&'static Strategy>> {
        let numbered = self.strategies.iter().zip(1..);
        let player = |(strategy, number): (&&'static Strategy, u32)| {
            LocalPlayer::new(*strategy, number, [self.seed, season])
        };
        numbered.map(player).collect()
    }
}
