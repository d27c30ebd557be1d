//! `data/leagues/<league_id>/rounds.json`: the rounds so far (000 §9.4.2, ruling 30).

use std::path::PathBuf;
use std::sync::Arc;

use league_core::league::{Event, League, LeagueFixture, LeagueRound};
use league_protocol::id::{LeagueId, MatchId, PlayerId, RefereeId};
use league_protocol::message::{MatchResult, MatchStatus, RoundSummary};
use league_protocol::time::Timestamp;
use serde::{Deserialize, Serialize};

use super::{Document, Repository, SCHEMA_VERSION};
use crate::storage::root::Root;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RoundsDocument {
    pub schema_version: String,
    pub league_id: LeagueId,
    pub last_updated: Timestamp,
    /// The last journal entry that it reflects.
    pub version: u64,
    /// The started rounds, in order.
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
    pub fn round(&self, round_id: u32) -> Option<&RoundEntry> {
        let mut rounds = self.rounds.iter();
        rounds
            .find(|round| round.round_id == round_id)
            .map(|round| &**round)
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RoundEntry {
    /// The number of the round, from 1.
    pub round_id: u32,
    pub status: RoundStatus,
    pub started_at: Timestamp,
    /// When the last result of the round arrived.
    pub completed_at: Option<Timestamp>,
    /// Its matches in order; in a league of very many matches, only the latest rounds list them.
    pub matches: Vec<MatchEntry>,
    /// The totals of its results so far.
    pub summary: RoundSummary,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum RoundStatus {
    InProgress,
    Completed,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MatchEntry {
    pub match_id: MatchId,
    /// The player at seat A.
    #[serde(rename = "player_A_id")]
    pub player_a_id: PlayerId,
    /// The player at seat B.
    #[serde(rename = "player_B_id")]
    pub player_b_id: PlayerId,
    /// The referee that runs it or ran it; `None` if no referee has been found so far.
    pub referee_id: Option<RefereeId>,
    /// Its result, once it is over.
    pub result: Option<ResultEntry>,
    /// What the organiser said of it last, if it counts in another way than it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub amended: Option<String>,
}

/// The result of a match.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResultEntry {
    pub status: MatchStatus,
    /// The winner, if there is one.
    pub winner: Option<PlayerId>,
    /// The points of both players, in the order of their ids.
    #[serde(with = "points_by_player")]
    pub score: [(PlayerId, u32); 2],
    /// Whether its referee told the draw and did not prove it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub draw_not_proven: bool,
}

/// The points as an object with a member for each player. In memory they are a pair, which takes a
/// third of what a map takes: every match of a league is listed.
mod points_by_player {
    use std::collections::BTreeMap;

    use league_protocol::id::PlayerId;
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(
        score: &[(PlayerId, u32); 2],
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_map(score.iter().map(|(player, points)| (player, points)))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<[(PlayerId, u32); 2], D::Error> {
        let by_player = BTreeMap::<PlayerId, u32>::deserialize(deserializer)?;
        let score: Vec<_> = by_player.into_iter().collect();
        let unlike =
            |score: Vec<_>| Error::invalid_length(score.len(), &"the points of two players");
        score.try_into().map_err(unlike)
    }
}

impl ResultEntry {
    pub fn of(result: &MatchResult) -> Self {
        let mut score = [0, 1].map(|seat| (result.players[seat].clone(), result.points[seat]));
        score.sort();
        Self {
            status: result.status,
            winner: result.winner.clone(),
            score,
            draw_not_proven: result.draw.is_none(),
        }
    }
}

/// Reads and replaces the rounds of a league.
pub type RoundsRepository = Repository<RoundsDocument>;

/// How many matches are listed in total; beyond that, the oldest rounds keep only their summary.
const MAX_LISTED_MATCHES: usize = 100_000;

/// Collects the rounds of a league.
#[derive(Debug, Clone)]
pub(crate) struct RoundsProjection {
    document: RoundsDocument,
    listed: usize,
    most_listed: usize,
    /// The index of the first round that still lists its matches.
    first_listed: usize,
}

impl RoundsProjection {
    pub(crate) fn new(league_id: LeagueId) -> Self {
        Self::with_limit(league_id, MAX_LISTED_MATCHES)
    }

    /// Sets how many matches are listed besides those of the last round.
    pub(crate) fn with_limit(league_id: LeagueId, most_listed: usize) -> Self {
        Self {
            document: RoundsDocument::empty(league_id),
            listed: 0,
            most_listed,
            first_listed: 0,
        }
    }

    /// Applies an entry that `league` has just applied; returns whether the rounds changed.
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
            Event::MatchesAdded { .. } => {
                if let Some(round) = league.round() {
                    self.extend(round, league);
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
            Event::OrganiserActed { act, effect, .. } => {
                let named = act.changed_match();
                let changed = effect.matches.iter();
                let changed = changed.chain(named.filter(|id| !effect.matches.contains(id)));
                let sentence = act.to_string();
                let mut any = false;
                for match_id in changed {
                    self.amend(match_id, &sentence);
                    any = true;
                }
                if !any {
                    return false;
                }
            }
            _ => return false,
        }
        self.document.version = sequence;
        self.document.last_updated = at;
        true
    }

    pub(crate) fn document(&self) -> &RoundsDocument {
        &self.document
    }

    /// The number of listed matches.
    pub(crate) fn listed(&self) -> usize {
        self.listed
    }

    fn last(&mut self) -> Option<&mut RoundEntry> {
        self.document.rounds.last_mut().map(Arc::make_mut)
    }

    fn open(&mut self, round: RoundEntry) {
        self.listed += round.matches.len();
        self.document.rounds.push(Arc::new(round));
        self.drop_oldest();
    }

    /// Lists the matches that joined the last round.
    fn extend(&mut self, round: &LeagueRound, league: &League) {
        let Some(last) = self.last() else { return };
        let added = &round.fixtures()[last.matches.len()..];
        let added = added
            .iter()
            .filter_map(|fixture| match_entry(fixture, league));
        let before = last.matches.len();
        last.matches.extend(added);
        last.summary = round.summary();
        let more = last.matches.len() - before;
        self.listed += more;
        self.drop_oldest();
    }

    fn drop_oldest(&mut self) {
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

    /// Notes what the organiser said of a match of any round.
    fn amend(&mut self, match_id: &MatchId, sentence: &str) {
        let mut rounds = self.document.rounds.iter_mut().rev();
        let found = rounds.find_map(|round| {
            let place = place(match_id)?;
            let listed = round.matches.get(place)?;
            (listed.match_id == *match_id).then(|| Arc::make_mut(round))
        });
        let entry = found.and_then(|round| round.matches.get_mut(place(match_id)?));
        if let Some(entry) = entry {
            entry.amended = Some(sentence.to_owned());
        }
    }

    /// Changes a match of the last round; results of earlier rounds never change.
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

/// The index of a match in its round, from its id: 0 for `R2M1`.
fn place(match_id: &MatchId) -> Option<usize> {
    let (_, number) = match_id.as_str().split_once('M')?;
    number.parse::<usize>().ok()?.checked_sub(1)
}

fn entry(round: &LeagueRound, at: Timestamp, league: &League) -> RoundEntry {
    let fixtures = round.fixtures().iter();
    let matches = fixtures.filter_map(|fixture| match_entry(fixture, league));
    RoundEntry {
        round_id: round.number(),
        status: RoundStatus::InProgress,
        started_at: at,
        completed_at: None,
        matches: matches.collect(),
        summary: round.summary(),
    }
}

fn match_entry(fixture: &LeagueFixture, league: &League) -> Option<MatchEntry> {
    let [a, b] = league.seats_of(fixture)?;
    Some(MatchEntry {
        match_id: fixture.match_id().clone(),
        player_a_id: a.clone(),
        player_b_id: b.clone(),
        referee_id: league
            .referee_of(fixture)
            .map(|referee| referee.id().clone()),
        result: None,
        amended: None,
    })
}
