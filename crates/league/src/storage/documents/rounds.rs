//! `data/leagues/<league_id>/rounds.json`: the rounds so far (000 §9.4.2, ruling 30).

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use league_core::league::{Event, League, LeagueRound};
use league_protocol::id::{LeagueId, MatchId, PlayerId, RefereeId};
use league_protocol::message::{MatchResult, MatchStatus, RoundSummary};
use league_protocol::time::Timestamp;
use serde::{Deserialize, Serialize};

use super::{Document, Repository, SCHEMA_VERSION};
use crate::storage::root::Root;

/// The rounds of a league.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RoundsDocument {
    pub schema_version: String,
    pub league_id: LeagueId,
    /// When a round last changed.
    pub last_updated: Timestamp,
    /// The last journal entry that it reflects.
    pub version: u64,
    /// The rounds that have begun, in order.
    pub rounds: Vec<Arc<RoundEntry>>,
}

impl Document for RoundsDocument {
    type Id = LeagueId;

    fn empty(league_id: LeagueId) -> Self {
        Self {
            schema_version: SCHEMA_VERSION.to_owned(),
            league_id,
            last_updated: Timestamp::default(),
            version: 0,
            rounds: Vec::new(),
        }
    }

    fn file(root: &Root, league_id: &LeagueId) -> PathBuf {
        root.rounds(league_id)
    }
}

impl RoundsDocument {
    /// One of the rounds.
    pub fn round(&self, round_id: u32) -> Option<&RoundEntry> {
        let mut rounds = self.rounds.iter();
        rounds
            .find(|round| round.round_id == round_id)
            .map(|round| &**round)
    }
}

/// One round.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RoundEntry {
    /// Which round, from 1.
    pub round_id: u32,
    /// How far it is.
    pub status: RoundStatus,
    /// When it began.
    pub started_at: Timestamp,
    /// When every match had its result.
    pub completed_at: Option<Timestamp>,
    /// Its matches in order; in a league of very many, only the latest rounds list them.
    pub matches: Vec<MatchEntry>,
    /// How they ended so far.
    pub summary: RoundSummary,
}

/// How far a round is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum RoundStatus {
    /// It is played.
    InProgress,
    /// It is over.
    Completed,
}

/// One match of a round.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MatchEntry {
    pub match_id: MatchId,
    /// Who sits at seat A.
    #[serde(rename = "player_A_id")]
    pub player_a_id: PlayerId,
    /// Who sits at seat B.
    #[serde(rename = "player_B_id")]
    pub player_b_id: PlayerId,
    /// Who runs it, or ran it; none if nobody could so far.
    pub referee_id: Option<RefereeId>,
    /// How it ended, once it has.
    pub result: Option<ResultEntry>,
}

/// How a match ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResultEntry {
    /// Which of the three ways.
    pub status: MatchStatus,
    /// Who won, if anyone did.
    pub winner: Option<PlayerId>,
    /// The points of each.
    pub score: BTreeMap<PlayerId, u32>,
}

impl ResultEntry {
    /// What the list tells of a result.
    pub fn of(result: &MatchResult) -> Self {
        Self {
            status: result.status,
            winner: result.winner.clone(),
            score: result.players.iter().cloned().zip(result.points).collect(),
        }
    }
}

/// Reads and replaces the rounds of a league.
pub type RoundsRepository = Repository<RoundsDocument>;

/// How many matches are listed in all; with more, the oldest rounds keep their summary only.
const MAX_LISTED_MATCHES: usize = 100_000;

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
        Self::with_limit(league_id, MAX_LISTED_MATCHES)
    }

    /// Begins with no rounds, and lists so many matches at most beside those of the last round.
    pub(crate) fn with_limit(league_id: LeagueId, most_listed: usize) -> Self {
        Self {
            document: RoundsDocument::empty(league_id),
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

fn entry(round: &LeagueRound, at: Timestamp, league: &League) -> RoundEntry {
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
