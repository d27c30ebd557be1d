//! What a player remembers: its matches, its figures, and what its opponents tend to do.
//!
//! The journal holds every match; memory holds the latest ones, the sums over all of them, and
//! the opponents met last.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use league_protocol::fault::Code;
use league_protocol::id::{GameType, LeagueId, MatchId, PlayerId};
use league_protocol::time::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// How many ended matches are known by id, so that the news of an end counts once.
///
/// When one is dropped, every match of its round and of earlier rounds counts as known.
pub const KNOWN_ENDS: usize = 256;
/// How many of an opponent's latest choices are kept.
pub const RECENT_CHOICES: usize = 16;
/// How many different choices of an opponent are counted.
pub const DISTINCT_CHOICES: usize = 16;
/// The longest choice that is counted or kept, in bytes of its text.
pub const MAX_CHOICE: usize = 64;

/// How much a player keeps in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryRule {
    /// The latest matches that are kept.
    pub matches: usize,
    /// The opponents that are kept, those met last; with 0 nothing is learnt of anyone.
    pub opponents: usize,
}

impl Default for MemoryRule {
    fn default() -> Self {
        Self {
            matches: 100,
            opponents: 1_000,
        }
    }
}

/// How a match ended for this player.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum MatchOutcome {
    Win,
    Draw,
    Loss,
    TechnicalLoss,
}

/// One match in a player's memory (000 §9.4.4).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MatchRecord {
    pub league_id: LeagueId,
    pub round_id: u32,
    pub match_id: MatchId,
    pub game_type: GameType,
    pub opponent_id: PlayerId,
    pub result: MatchOutcome,
    pub points: u32,
    /// This player's choice, if the result names it.
    pub my_choice: Option<Value>,
    /// The opponent's choice, if the result names it.
    pub opponent_choice: Option<Value>,
    /// Why it ended in a technical loss, of this player or of the other, in the referee's words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The code of this player's own failure, if that cost it the match.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<Code>,
    /// When this player received the result.
    pub at: Timestamp,
}

impl MatchRecord {
    /// The match in a line for people, with the name of the opponent.
    pub fn line(&self, opponent: &str) -> String {
        let result = match self.result {
            MatchOutcome::Win => "won",
            MatchOutcome::Draw => "drawn",
            MatchOutcome::Loss => "lost",
            MatchOutcome::TechnicalLoss => "lost by a technical loss",
        };
        let (match_id, points) = (&self.match_id, self.points);
        let unit = if points == 1 { "point" } else { "points" };
        let reason = self.reason.as_ref().map(|reason| format!("; {reason}"));
        let reason = reason.unwrap_or_default();
        format!("{match_id}: {result} against {opponent}, {points} {unit}{reason}")
    }

    /// What to do after a technical loss of this player.
    pub fn advice(&self) -> Option<&'static str> {
        if self.result != MatchOutcome::TechnicalLoss {
            return None;
        }
        Some(match self.failure {
            Some(Code::Timeout | Code::DeadlinePassed) => "choose faster",
            Some(Code::InvalidMove) => "choose one of the legal moves",
            Some(Code::Connection) => {
                "keep this program running, and see that referees reach its port"
            }
            Some(Code::TokenMissing | Code::TokenInvalid) => {
                "start this program again, so that it registers anew"
            }
            Some(Code::PlayerNotRegistered) => "ask the organiser",
            _ => "read its messages",
        })
    }
}

/// The sums over all remembered matches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Statistics {
    pub total_matches: u32,
    pub wins: u32,
    /// Matches lost, technical losses among them.
    pub losses: u32,
    pub draws: u32,
    /// Matches lost by not playing.
    pub technical_losses: u32,
    pub points: u64,
}

impl Statistics {
    fn add(&mut self, record: &MatchRecord) {
        let one_more = |count: &mut u32| *count = count.saturating_add(1);
        one_more(&mut self.total_matches);
        self.points = self.points.saturating_add(u64::from(record.points));
        match record.result {
            MatchOutcome::Win => one_more(&mut self.wins),
            MatchOutcome::Draw => one_more(&mut self.draws),
            MatchOutcome::Loss => one_more(&mut self.losses),
            MatchOutcome::TechnicalLoss => {
                one_more(&mut self.losses);
                one_more(&mut self.technical_losses);
            }
        }
    }
}

/// The memory of one opponent.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Opponent {
    /// The matches against it, as seen by this player.
    pub against: Statistics,
    /// How often it chose what, by the choice's text; a match of many moves counts each.
    pub counts: BTreeMap<String, u32>,
    /// Its latest choices, oldest first.
    pub recent: VecDeque<Value>,
    met: u64,
}

impl Opponent {
    fn learn(&mut self, record: &MatchRecord) {
        self.against.add(record);
        match &record.opponent_choice {
            Some(Value::Array(moves)) => {
                let latest = moves.len().saturating_sub(RECENT_CHOICES);
                moves[latest..].iter().for_each(|choice| self.note(choice));
            }
            Some(choice) => self.note(choice),
            None => {}
        }
    }

    fn note(&mut self, choice: &Value) {
        let text = choice
            .as_str()
            .map_or_else(|| Cow::Owned(choice.to_string()), Cow::Borrowed);
        if text.len() > MAX_CHOICE {
            return;
        }
        if let Some(count) = self.counts.get_mut(&*text) {
            *count = count.saturating_add(1);
        } else if self.counts.len() < DISTINCT_CHOICES {
            self.counts.insert(text.into_owned(), 1);
        }
        self.recent.push_back(choice.clone());
        if self.recent.len() > RECENT_CHOICES {
            self.recent.pop_front();
        }
    }
}

/// All that a player remembers.
#[derive(Debug, Clone, PartialEq)]
pub struct Memory {
    rule: MemoryRule,
    statistics: Statistics,
    history: VecDeque<Arc<MatchRecord>>,
    opponents: BTreeMap<PlayerId, Arc<Opponent>>,
    by_meeting: BTreeMap<u64, PlayerId>,
    meetings: u64,
    ended: BTreeSet<(u32, MatchId)>,
    ended_through: Option<u32>,
}

impl Memory {
    /// A memory with nothing in it.
    pub fn new(rule: MemoryRule) -> Self {
        Self {
            rule,
            statistics: Statistics::default(),
            history: VecDeque::new(),
            opponents: BTreeMap::new(),
            by_meeting: BTreeMap::new(),
            meetings: 0,
            ended: BTreeSet::new(),
            ended_through: None,
        }
    }

    /// The sums over all matches.
    pub fn statistics(&self) -> &Statistics {
        &self.statistics
    }

    /// The latest matches, oldest first.
    pub fn history(&self) -> impl ExactSizeIterator<Item = &Arc<MatchRecord>> {
        self.history.iter()
    }

    pub fn opponent(&self, id: &PlayerId) -> Option<&Arc<Opponent>> {
        self.opponents.get(id)
    }

    /// Whether the end of this match is known.
    pub fn knows_end_of(&self, round_id: u32, match_id: &MatchId) -> bool {
        self.ended_through
            .is_some_and(|through| round_id <= through)
            || self.ended.contains(&(round_id, match_id.clone()))
    }

    /// Takes in a match.
    pub fn add(&mut self, record: &Arc<MatchRecord>) {
        self.statistics.add(record);
        self.note_end(record.round_id, record.match_id.clone());
        self.learn(record);
        self.history.push_back(Arc::clone(record));
        while self.history.len() > self.rule.matches {
            self.history.pop_front();
        }
    }

    /// Makes ready for another league, whose matches may bear the same names.
    pub(crate) fn forget_ends(&mut self) {
        self.ended.clear();
        self.ended_through = None;
    }

    fn note_end(&mut self, round_id: u32, match_id: MatchId) {
        self.ended.insert((round_id, match_id));
        if self.ended.len() > KNOWN_ENDS
            && let Some((round, _)) = self.ended.pop_first()
        {
            self.ended_through = self.ended_through.max(Some(round));
        }
    }

    fn learn(&mut self, record: &MatchRecord) {
        if self.rule.opponents == 0 {
            return;
        }
        self.meetings += 1;
        let opponent = self
            .opponents
            .entry(record.opponent_id.clone())
            .or_default();
        let opponent = Arc::make_mut(opponent);
        self.by_meeting.remove(&opponent.met);
        opponent.met = self.meetings;
        opponent.learn(record);
        self.by_meeting
            .insert(self.meetings, record.opponent_id.clone());
        while self.opponents.len() > self.rule.opponents
            && let Some((_, longest_ago)) = self.by_meeting.pop_first()
        {
            self.opponents.remove(&longest_ago);
        }
    }
}
