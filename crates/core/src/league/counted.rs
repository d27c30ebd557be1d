//! How a match counts now: as it was played, as the organiser ruled, or not at all.
//!
//! Tables, pages and exports ask here. A result alone does not tell, because the organiser may have
//! said something else since.

use std::collections::BTreeSet;

use league_protocol::id::{MatchId, PlayerId};
use league_protocol::message::StandingRow;

use super::League;
use super::lever::Amendment;
use super::roster::PlayerEntry;
use super::round::read_match_id;
use super::schedule::Pairing;
use super::standings::MatchEnding;

/// How a match counts in the table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CountedResult {
    /// There is no result yet.
    Open,
    /// As it was played.
    Recorded(MatchEnding),
    /// As the organiser ruled.
    Ruled(MatchEnding),
    /// Not at all: the organiser annulled it.
    Annulled,
    /// Not at all: no match of this player counts.
    PlayerOut(PlayerId),
    /// Not at all: it is played again as this match.
    Replayed(MatchId),
}

impl CountedResult {
    /// How it counts; `None` if it does not, or not yet.
    pub const fn ending(&self) -> Option<MatchEnding> {
        match self {
            Self::Recorded(ending) | Self::Ruled(ending) => Some(*ending),
            Self::Open | Self::Annulled | Self::PlayerOut(_) | Self::Replayed(_) => None,
        }
    }

    /// Says why it counts in another way than it was played; `None` if it does not.
    pub fn note(&self) -> Option<String> {
        Some(match self {
            Self::Open | Self::Recorded(_) => return None,
            Self::Ruled(_) => "counts as the organiser ruled".to_owned(),
            Self::Annulled => "does not count: annulled by the organiser".to_owned(),
            Self::PlayerOut(player) => format!("does not count: no match of {player} counts"),
            Self::Replayed(replay) => format!("does not count: played again as {replay}"),
        })
    }
}

impl League {
    /// How a match counts now.
    pub fn counted_result(&self, match_id: &MatchId) -> CountedResult {
        let place = read_match_id(match_id).and_then(|(round, index)| self.pairing(round, index));
        place.map_or(CountedResult::Open, |pairing| self.counted_at(pairing))
    }

    /// How the match at a place of a round counts now.
    pub fn counted_at(&self, pairing: Pairing) -> CountedResult {
        let place = self.counts_for(pairing);
        let counted = self.standings.ending(place);
        let Some(amended) = self.amendment(place) else {
            return counted.map_or(CountedResult::Open, CountedResult::Recorded);
        };
        let is_own = |replay: &MatchId| {
            read_match_id(replay).is_some_and(|own| own == (pairing.round, pairing.index))
        };
        if let Some(replay) = amended.replay.as_ref().filter(|replay| !is_own(replay)) {
            return CountedResult::Replayed(replay.clone());
        }
        let mut seats = place.seats.iter();
        let out = seats.find(|seat| self.is_annulled(**seat));
        match (counted, out.and_then(|seat| self.players.get(*seat))) {
            (Some(ending), _) if amended.ruled.is_some() => CountedResult::Ruled(ending),
            (Some(ending), _) => CountedResult::Recorded(ending),
            (None, _) if amended.annulled => CountedResult::Annulled,
            (None, Some(player)) if amended.ending().is_some() => {
                CountedResult::PlayerOut(player.id.clone())
            }
            (None, _) => CountedResult::Open,
        }
    }

    /// The matches of a player in the rounds that have begun, its seat, and how each counts; the
    /// first round first.
    pub fn matches_of(
        &self,
        player: &PlayerId,
    ) -> impl DoubleEndedIterator<Item = (Pairing, usize, CountedResult)> {
        let reached = self.round.as_ref().map_or(0, |round| round.number);
        let number = self.players.find(player);
        let rounds = (1..=reached).filter_map(move |round| Some((number?, round)));
        let pairings = rounds.flat_map(|(number, round)| self.pairings_of(number, round));
        pairings.map(move |pairing| {
            let seat = usize::from(Some(pairing.seats[1]) == number);
            (pairing, seat, self.counted_at(pairing))
        })
    }

    /// How many matches are over and do not count.
    pub fn uncounted_matches(&self) -> u64 {
        self.matches_played()
            .saturating_sub(self.standings.counted())
    }

    /// The rows of a table whose players may win, with their places. A player that was put out as a
    /// penalty or has played no match has none, and the others move up; a tie shares its place.
    pub fn winners<'t>(
        &self,
        table: &'t [StandingRow],
    ) -> impl Iterator<Item = (u32, &'t StandingRow)> {
        let rows = table.iter().filter(|row| {
            let expulsion = self.player(&row.player_id).and_then(PlayerEntry::expulsion);
            row.played > 0 && !expulsion.is_some_and(|expulsion| expulsion.is_penalty())
        });
        let mut above = None;
        (1..).zip(rows).map(move |(number, row)| {
            let place = match above {
                Some((place, shared)) if shared == row.shared_place() => place,
                _ => number,
            };
            above = Some((place, row.shared_place()));
            (place, row)
        })
    }

    pub(crate) fn amendment(&self, place: Pairing) -> Option<&Amendment> {
        self.amended.get(&(place.round, place.index))
    }

    /// The id of the match that counts at a regular place: the last one in which it is played again.
    pub(crate) fn present_id(&self, place: Pairing) -> MatchId {
        let replay = self
            .amendment(place)
            .and_then(|amended| amended.replay.clone());
        replay.unwrap_or_else(|| place.match_id())
    }

    /// The matches that count in another way than they ended, or not at all, in the order of rounds.
    pub fn amended_matches(&self) -> BTreeSet<MatchId> {
        let places = self.amended.keys();
        let places = places.filter_map(|&(round, index)| self.schedule().pairing(round, index));
        places.map(|place| self.present_id(place)).collect()
    }
}
