//! Ratings within the league: how strong the players are by their results, and how sure that is.
//!
//! They are of the rounds that are over, from the matches that were played and count, and are worked
//! out when they are first asked for: a list of leagues does not show them. Where matches join a round
//! while it is played, they are of this round too, anew after as many results as there are players.

use std::sync::OnceLock;

use league_core::league::Event;
use league_core::league::standings::MatchEnding;
use league_core::rating::{MAX_RATED, PairScore, Ratings, by_seats, luck_test};

use super::LeagueView;
use crate::model::{PlayerRef, RatedPlayer, RatingTable};

impl LeagueView {
    /// The ratings after the last round that ended; `None` before, for too many players, or if no
    /// match was played.
    pub fn ratings(&self) -> Option<&RatingTable> {
        self.ratings.get_or_init(|| self.rate()).as_ref()
    }

    /// Forgets the ratings if they may be others after this event.
    pub(crate) fn forget_ratings(&mut self, event: &Event) {
        let changes = match event {
            Event::RoundClosed { .. }
            | Event::OrganiserActed { .. }
            | Event::AgentReturned { .. } => true,
            Event::ResultRecorded { .. } => {
                self.unrated += 1;
                self.has_growing_rounds() && self.unrated >= self.league.players().len()
            }
            _ => false,
        };
        if changes {
            self.ratings = OnceLock::new();
            self.unrated = 0;
        }
    }

    fn has_growing_rounds(&self) -> bool {
        self.league.schedule().plan().has_growing_rounds()
    }

    fn rate(&self) -> Option<RatingTable> {
        let players = self.league.players().len();
        let scores = self.seat_scores();
        if players > MAX_RATED || scores.is_empty() {
            return None;
        }
        let ratings = Ratings::estimate(players, &scores, self.league.rules().sides_matter);
        let player = |number: usize| self.player_at(u32::try_from(number).ok()?);
        let table = RatingTable::of(&ratings, &scores, self.closed_rounds, player);
        let matches = || scores.iter().map(PairScore::games).sum();
        Some(RatingTable {
            matches: self.has_growing_rounds().then(matches),
            ..table
        })
    }

    /// The results of matches in which both played, in the rounds that are over, or that grow; the first
    /// of a score sat at seat A.
    pub(crate) fn seat_scores(&self) -> Vec<PairScore> {
        let last = match self.has_growing_rounds() {
            true => self.league.round().map_or(0, |round| round.number()),
            false => self.closed_rounds,
        };
        let rounds = 1..=last.min(self.league.schedule().rounds());
        let pairings = rounds.flat_map(|round| {
            let matches = 0..self.league.matches_in(round);
            matches.filter_map(move |index| self.league.pairing(round, index))
        });
        by_seats(pairings.filter_map(|pairing| {
            let [first, second] = pairing.seats.map(|seat| seat as usize);
            let [wins, draws, losses] = match self.league.counted_at(pairing).ending()? {
                MatchEnding::Win(0) => [1, 0, 0],
                MatchEnding::Win(_) => [0, 0, 1],
                MatchEnding::Draw => [0, 1, 0],
                _ => return None,
            };
            Some(PairScore {
                first,
                second,
                wins,
                draws,
                losses,
            })
        }))
    }
}

impl RatingTable {
    /// Shows the ratings that these scores gave; `player` names a player by its number.
    pub(crate) fn of(
        ratings: &Ratings,
        scores: &[PairScore],
        round: u32,
        player: impl Fn(usize) -> Option<PlayerRef>,
    ) -> Self {
        let order = ratings.order();
        let test = luck_test(order.len(), scores);
        let percent = |share: f64| (share * 100.0).round() as u32;
        let rows = order.into_iter().filter_map(|number| {
            let rating = ratings.rating(number)?;
            Some(RatedPlayer {
                player: player(number)?,
                elo: rating.elo.round() as i64,
                low: rating.low.floor() as i64,
                high: rating.high.ceil() as i64,
                ranks: ratings.rank_group(number),
            })
        });
        Self {
            round,
            matches: None,
            rows: rows.collect(),
            luck: test.is_luck().then(|| percent(test.p)),
            certainty: percent(ratings.certainty_of_first()),
            seat: ratings.seat_advantage(),
        }
    }
}
