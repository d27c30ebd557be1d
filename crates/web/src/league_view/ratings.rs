//! Ratings within the league: how strong the players are by their results, and how sure that is.
//!
//! They are of the rounds that are over, from the matches that were played and count, and are worked
//! out when they are first asked for: a list of leagues does not show them. Where matches join a round
//! while it is played, they are of this round too, anew after as many results as there are players.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use league_core::league::Event;
use league_core::league::standings::MatchEnding;
use league_core::rating::{PairScore, RatingSystem, Ratings, luck_test};

use super::LeagueView;
use crate::model::{PlayerRef, RatedPlayer, RatingTable};

impl LeagueView {
    /// Shows ratings of this system from now on.
    pub fn rate_by(&mut self, system: RatingSystem) {
        self.rating = system;
        self.ratings = OnceLock::new();
    }

    pub fn rating_system(&self) -> RatingSystem {
        self.rating
    }

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
            | Event::LossAccepted { .. }
            | Event::AgentReturned { .. } => true,
            Event::ResultRecorded { restored, .. } => {
                self.unrated += 1;
                *restored
                    || self.has_growing_rounds() && self.unrated >= self.league.players().len()
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
        let (system, players) = (self.rating, self.league.players().len());
        if players > system.max_players() {
            return None;
        }
        let rounds = self.scores_by_round();
        if rounds.is_empty() {
            return None;
        }
        let ratings = system.rate(players, &rounds, self.league.rules().sides_matter)?;
        let player = |number: usize| self.player_at(u32::try_from(number).ok()?);
        let table = RatingTable::of(system, &ratings, &rounds, player);
        let matches = || rounds.iter().flatten().map(|score| score.games()).sum();
        Some(RatingTable {
            round: self.closed_rounds,
            matches: self.has_growing_rounds().then(matches),
            ..table
        })
    }

    /// The results of matches in which both played, for each round that is over, or that grows, and had
    /// such matches; the first of a score sat at seat A.
    pub(crate) fn scores_by_round(&self) -> Vec<Vec<PairScore>> {
        let last = match self.has_growing_rounds() {
            true => self.league.round().map_or(0, |round| round.number()),
            false => self.closed_rounds,
        };
        let rounds = 1..=last.min(self.league.schedule().rounds());
        let scores = rounds.map(|round| self.scores_of(round));
        scores.filter(|scores| !scores.is_empty()).collect()
    }

    fn scores_of(&self, round: u32) -> Vec<PairScore> {
        let mut scores: BTreeMap<[u32; 2], PairScore> = BTreeMap::new();
        let matches = 0..self.league.matches_in(round);
        for pairing in matches.filter_map(|index| self.league.pairing(round, index)) {
            let [first, second] = pairing.seats.map(|seat| seat as usize);
            let score = scores.entry(pairing.seats).or_insert(PairScore {
                first,
                second,
                ..PairScore::default()
            });
            match self.league.counted_at(pairing).ending() {
                Some(MatchEnding::Draw) => score.draws += 1,
                Some(MatchEnding::Win(0)) => score.wins += 1,
                Some(MatchEnding::Win(_)) => score.losses += 1,
                _ => {}
            }
        }
        let played = scores.into_values().filter(|score| score.games() > 0);
        played.collect()
    }
}

impl RatingTable {
    /// Shows the ratings that these periods gave; `player` names a player by its number.
    pub(crate) fn of(
        system: RatingSystem,
        ratings: &Ratings,
        periods: &[Vec<PairScore>],
        player: impl Fn(usize) -> Option<PlayerRef>,
    ) -> Self {
        let order = ratings.order();
        let test = luck_test(order.len(), &periods.concat());
        let percent = |share: f64| (share * 100.0).round() as u32;
        let certainty = || percent(ratings.certainty_of_first());
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
            system,
            round: u32::try_from(periods.len()).unwrap_or(u32::MAX),
            matches: None,
            rows: rows.collect(),
            luck: test.is_luck().then(|| percent(test.p)),
            certainty: system.has_intervals().then(certainty),
            seat: ratings.seat_advantage(),
        }
    }
}
