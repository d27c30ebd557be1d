//! The rounds of a league, gathered entry by entry.

use std::sync::Arc;

use league_core::league::{Event, League, Round};
use league_protocol::id::{LeagueId, MatchId, RefereeId};
use league_protocol::message::MatchResult;
use league_protocol::time::Timestamp;

use crate::storage::documents::{MatchEntry, ResultEntry, RoundEntry, RoundStatus, RoundsDocument};

/// How many matches are listed in all; with more, the oldest rounds keep their summary only.
pub(crate) const MOST_LISTED_MATCHES: usize = 100_000;

/// Gathers the rounds of a league.
#[derive(Debug, Clone)]
pub(crate) struct RoundsProjection {
    document: RoundsDocument,
    listed: usize,
    most_listed: usize,
    /// The first round that still lists its matches, by its place.
    first_listed: usize,
}

impl RoundsProjection {
    /// Begins with no rounds.
    pub(crate) fn new(league_id: LeagueId) -> Self {
        Self::with_limit(league_id, MOST_LISTED_MATCHES)
    }

    /// Begins with no rounds, and lists so many matches at most beside those of the last round.
    pub(crate) fn with_limit(league_id: LeagueId, most_listed: usize) -> Self {
        Self {
            document: RoundsDocument::new(league_id),
            listed: 0,
            most_listed,
            first_listed: 0,
        }
    }

    /// Takes in an entry that `league` has just taken in; tells whether the rounds changed.
    pub(crate) fn take_in(
        &mut self,
        sequence: u64,
        at: Timestamp,
        event: &Event,
        league: &League,
    ) -> bool {
        match event {
            Event::RoundOpened { .. } => {
                if let Some(round) = league.round() {
                    self.open(entry(round, at, league));
                }
            }
            Event::MatchesMoved { moves, .. } => {
                for moved in moves {
                    self.change(&moved.match_id, |entry| entry.referee_id = moved.to.clone());
                }
            }
            Event::ResultRecorded {
                match_id,
                referee,
                result,
                ..
            } => self.finish(match_id, referee.as_ref(), result, league),
            Event::RoundClosed { .. } => {
                if let Some(round) = self.last() {
                    round.status = RoundStatus::Completed;
                    round.completed_at = Some(at);
                }
            }
            _ => return false,
        }
        self.document.version = sequence;
        self.document.last_updated = at;
        true
    }

    /// The rounds so far.
    pub(crate) fn document(&self) -> &RoundsDocument {
        &self.document
    }

    /// How many matches are listed.
    pub(crate) fn listed(&self) -> usize {
        self.listed
    }

    fn last(&mut self) -> Option<&mut RoundEntry> {
        self.document.rounds.last_mut().map(Arc::make_mut)
    }

    fn open(&mut self, round: RoundEntry) {
        self.listed += round.matches.len();
        self.document.rounds.push(Arc::new(round));
        let last = self.document.rounds.len() - 1;
        while self.listed > self.most_listed && self.first_listed < last {
            let oldest = Arc::make_mut(&mut self.document.rounds[self.first_listed]);
            self.listed -= oldest.matches.len();
            oldest.matches = Vec::new();
            self.first_listed += 1;
        }
    }

    fn finish(
        &mut self,
        match_id: &MatchId,
        referee: Option<&RefereeId>,
        result: &MatchResult,
        league: &League,
    ) {
        self.change(match_id, |entry| {
            entry.referee_id = referee.cloned();
            entry.result = Some(ResultEntry::of(result));
        });
        if let (Some(round), Some(now)) = (self.last(), league.round()) {
            round.summary = now.summary();
        }
    }

    /// Changes a match of the last round, the only one whose matches change.
    fn change(&mut self, match_id: &MatchId, change: impl FnOnce(&mut MatchEntry)) {
        let Some(round) = self.last() else { return };
        let found = place(match_id)
            .and_then(|place| round.matches.get_mut(place))
            .filter(|entry| entry.match_id == *match_id);
        if let Some(entry) = found {
            change(entry);
        }
    }
}

/// The place in its round, from 0, that a match id names: `R2M1` is place 0.
fn place(match_id: &MatchId) -> Option<usize> {
    let (_, number) = match_id.as_str().split_once('M')?;
    number.parse::<usize>().ok()?.checked_sub(1)
}

fn entry(round: &Round, at: Timestamp, league: &League) -> RoundEntry {
    let matches = round.fixtures().iter().filter_map(|fixture| {
        let [a, b] = league.seats_of(fixture)?;
        Some(MatchEntry {
            match_id: fixture.match_id().clone(),
            player_a_id: a.clone(),
            player_b_id: b.clone(),
            referee_id: league
                .referee_of(fixture)
                .map(|referee| referee.id().clone()),
            result: None,
        })
    });
    RoundEntry {
        round_id: round.number(),
        status: RoundStatus::InProgress,
        started_at: at,
        completed_at: None,
        matches: matches.collect(),
        summary: round.summary(),
    }
}
