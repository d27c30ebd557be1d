//! Ratings within the league: how strong the players are by their results, and how sure that is.
//!
//! They are worked out when a round ends, from the matches that were played and count.

use std::collections::BTreeMap;

use league_core::league::standings::MatchEnding;
use league_core::rating::{PairScore, Ratings, luck_test};

use super::LeagueView;
use crate::model::{RatedPlayer, RatingTable};

/// The most players that are rated: the work grows with the cube of their number.
const MAX_RATED: usize = 60;

impl LeagueView {
    pub(crate) fn ratings(&self) -> Option<&RatingTable> {
        self.ratings.as_ref()
    }

    /// The ratings after the last round that ended; `None` for too many players, or if no match was
    /// played.
    pub(crate) fn rate(&self) -> Option<RatingTable> {
        let players = self.league.players().len();
        let scores = match players <= MAX_RATED {
            true => self.pair_scores(),
            false => return None,
        };
        if scores.is_empty() {
            return None;
        }
        let ratings = Ratings::estimate(players, &scores);
        let rows = ratings.order().into_iter().filter_map(|number| {
            let rating = ratings.rating(number)?;
            Some(RatedPlayer {
                player: self.player_at(u32::try_from(number).ok()?)?,
                elo: rating.elo.round() as i64,
                error: rating.error.ceil() as i64,
                ranks: ratings.rank_group(number),
            })
        });
        let test = luck_test(players, &scores);
        let percent = |share: f64| (share * 100.0).round() as u32;
        Some(RatingTable {
            round: self.closed_rounds,
            rows: rows.collect(),
            luck: test.is_luck().then(|| percent(test.p)),
            certainty: percent(ratings.certainty_of_first()),
        })
    }

    /// The results of each pair, of matches in which both played.
    fn pair_scores(&self) -> Vec<PairScore> {
        let mut scores: BTreeMap<[u32; 2], PairScore> = BTreeMap::new();
        let reached = self.league.round().map_or(0, |round| round.number());
        let rounds = 1..=reached.min(self.league.schedule().rounds());
        let pairings = rounds.flat_map(|round| {
            let matches = 0..self.league.matches_in(round);
            matches.filter_map(move |index| self.league.pairing(round, index))
        });
        for pairing in pairings {
            let ending = self.league.counted_at(pairing).ending();
            let [a, b] = pairing.seats;
            let score = scores
                .entry([a.min(b), a.max(b)])
                .or_insert_with(|| PairScore {
                    first: a.min(b) as usize,
                    second: a.max(b) as usize,
                    ..PairScore::default()
                });
            match ending {
                Some(MatchEnding::Draw) => score.draws += 1,
                Some(MatchEnding::Win(seat)) if pairing.seats[seat.min(1)] == a.min(b) => {
                    score.wins += 1;
                }
                Some(MatchEnding::Win(_)) => score.losses += 1,
                _ => {}
            }
        }
        let played = scores.into_values().filter(|score| score.games() > 0);
        played.collect()
    }
}
