//! A referee's matches, gathered entry by entry; nothing hidden shows before a match is over.
//!
//! A match counts as over once the manager has taken its result: until then it may still be played
//! again by another referee with the same secret, which therefore stays closed.

use std::collections::BTreeMap;
use std::sync::Arc;

use league_core::referee::{Event, MatchOrder, ReportAnswer};
use league_protocol::dialect::Hints;
use league_protocol::encode::{Sender, Stamp, encode};
use league_protocol::id::{ConversationId, MatchId, RefereeId};
use league_protocol::message::{GameOver, MatchResult, MatchState, Message};
use league_protocol::sender::{Agent, Dialect};
use league_protocol::time::Timestamp;
use serde_json::Value;

use crate::storage::documents::{DrawDocument, Lifecycle, MatchDocument, SCHEMA_VERSION};
use crate::storage::record::{Record, Said};
use crate::wire::transcript::LONGEST_TRANSCRIPT;

/// How many matches that are over wait for what was said in them; the oldest is let go first.
const MOST_WITHOUT_TRANSCRIPT: usize = 1_000;

/// Gathers the matches of one referee.
#[derive(Debug, Clone, Default)]
pub(crate) struct MatchesProjection {
    referee_id: Option<RefereeId>,
    matches: BTreeMap<MatchId, Gathered>,
    /// Matches that are over, by the entry that closed them.
    over: BTreeMap<u64, MatchId>,
}

/// What an entry changed.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Change {
    /// Nothing that a document shows.
    Nothing,
    /// A match that goes on; [`MatchesProjection::document`] has it.
    GoesOn(MatchId),
    /// A match is over, and nothing will be added to it but perhaps what was said.
    Over(Box<MatchDocument>),
}

#[derive(Debug, Clone)]
struct Gathered {
    fixture: Arc<MatchOrder>,
    lifecycle: Lifecycle,
    result: Option<Arc<MatchResult>>,
    transcript: Vec<Said>,
    /// What the manager said to the result, and in which entry.
    closed: Option<(ReportAnswer, u64)>,
    version: u64,
    at: Timestamp,
}

impl MatchesProjection {
    /// Takes in an entry of the referee's journal.
    pub(crate) fn take_in(
        &mut self,
        sequence: u64,
        at: Timestamp,
        record: &Record<Event>,
    ) -> Change {
        let match_id = match record {
            Record::Opened(_) => return Change::Nothing,
            Record::Event(Event::Enrolled { referee_id, .. }) => {
                self.referee_id = Some(referee_id.clone());
                return Change::Nothing;
            }
            Record::Event(Event::MatchOpened { fixture, at }) => {
                let gathered = Gathered::new(fixture, sequence, *at);
                self.replace(&fixture.match_id, gathered);
                return Change::GoesOn(fixture.match_id.clone());
            }
            Record::Event(event) => event.match_id(),
            Record::Transcript(transcript) => Some(&transcript.match_id),
        };
        let found = match_id.and_then(|id| self.matches.get_mut(id).map(|found| (id, found)));
        let Some((match_id, found)) = found else {
            return Change::Nothing;
        };
        if !found.take_in(record, sequence) {
            return Change::Nothing;
        }
        found.version = sequence;
        found.at = at;
        match found.closed {
            None => Change::GoesOn(match_id.clone()),
            Some((_, closed)) => self.end(match_id, closed),
        }
    }

    /// A match that goes on, or is lately over, as everybody may see it.
    pub(crate) fn document(&self, match_id: &MatchId) -> Option<MatchDocument> {
        let found = self.matches.get(match_id)?;
        Some(found.document(self.referee_id.as_ref()))
    }

    /// Who the referee is, once it is known.
    pub(crate) fn referee_id(&self) -> Option<&RefereeId> {
        self.referee_id.as_ref()
    }

    fn replace(&mut self, match_id: &MatchId, gathered: Gathered) {
        let before = self.matches.insert(match_id.clone(), gathered);
        if let Some((_, closed)) = before.and_then(|before| before.closed) {
            self.over.remove(&closed);
        }
    }

    fn end(&mut self, match_id: &MatchId, closed: u64) -> Change {
        let Some(found) = self.matches.get(match_id) else {
            return Change::Nothing;
        };
        let document = found.document(self.referee_id.as_ref());
        if found.transcript.is_empty() {
            self.over.insert(closed, match_id.clone());
            if self.over.len() > MOST_WITHOUT_TRANSCRIPT
                && let Some((_, oldest)) = self.over.pop_first()
            {
                self.matches.remove(&oldest);
            }
        } else {
            self.over.remove(&closed);
            self.matches.remove(match_id);
        }
        Change::Over(Box::new(document))
    }
}

impl Gathered {
    fn new(fixture: &Arc<MatchOrder>, version: u64, at: Timestamp) -> Self {
        Self {
            fixture: Arc::clone(fixture),
            lifecycle: Lifecycle {
                state: MatchState::WaitingForPlayers,
                attempt: fixture.attempt,
                created_at: at,
                started_at: None,
                finished_at: None,
            },
            result: None,
            transcript: Vec::new(),
            closed: None,
            version,
            at,
        }
    }

    /// Whether the entry changed anything.
    fn take_in(&mut self, record: &Record<Event>, sequence: u64) -> bool {
        match record {
            Record::Event(Event::Started { at, .. }) => {
                self.lifecycle.state = MatchState::CollectingChoices;
                self.lifecycle.started_at = Some(*at);
            }
            Record::Event(Event::Decided { result, at, .. }) => {
                self.lifecycle.state = MatchState::DrawingNumber;
                self.lifecycle.finished_at = Some(*at);
                self.result = Some(Arc::clone(result));
            }
            Record::Event(Event::Closed { report, .. }) => {
                self.lifecycle.state = MatchState::Finished;
                self.closed = Some((*report, sequence));
            }
            Record::Transcript(said) if said.attempt == self.fixture.attempt => {
                let room = LONGEST_TRANSCRIPT.saturating_sub(self.transcript.len());
                self.transcript
                    .extend(said.messages.iter().take(room).cloned());
            }
            _ => return false,
        }
        true
    }

    /// A result that the manager refused is not the result of the match.
    fn counts(&self) -> bool {
        let verdict = self.closed.map(|(verdict, _)| verdict);
        matches!(
            verdict,
            Some(ReportAnswer::Acknowledged | ReportAnswer::Unanswered)
        )
    }

    fn document(&self, referee: Option<&RefereeId>) -> MatchDocument {
        let MatchOrder {
            league_id,
            round_id,
            match_id,
            game_type,
            ..
        } = &*self.fixture;
        let shown = self.result.as_ref().filter(|_| self.counts());
        let mut lifecycle = self.lifecycle.clone();
        lifecycle.finished_at = lifecycle.finished_at.filter(|_| self.closed.is_some());
        MatchDocument {
            schema_version: SCHEMA_VERSION.to_owned(),
            league_id: league_id.clone(),
            round_id: *round_id,
            match_id: match_id.clone(),
            game_type: game_type.clone(),
            referee_id: referee.cloned(),
            last_updated: self.at,
            version: self.version,
            lifecycle,
            transcript: if shown.is_some() {
                self.transcript.clone()
            } else {
                Vec::new()
            },
            result: shown.and_then(|result| told(over(&self.fixture, result))),
            draw: shown.and_then(|result| result.draw.as_ref().map(DrawDocument::of)),
        }
    }
}

fn over(fixture: &MatchOrder, result: &Arc<MatchResult>) -> GameOver {
    GameOver {
        league_id: fixture.league_id.clone(),
        round_id: fixture.round_id,
        match_id: fixture.match_id.clone(),
        game_type: fixture.game_type.clone(),
        receiver: result.players[0].clone(),
        result: Arc::clone(result),
    }
}

/// The result as GAME_OVER tells it; the draw has a place of its own in the document.
pub(crate) fn told(over: GameOver) -> Option<Value> {
    let message = Message::from(over);
    let stamp = Stamp {
        sender: Sender::Agent(&Agent::Manager),
        at: Timestamp::default(),
        conversation: &ConversationId::new(""),
        token: None,
    };
    let told = encode(&message, Dialect::V2, stamp, &Hints::default())?;
    let mut told = serde_json::to_value(&told).ok()?;
    let mut result = told.get_mut("game_result")?.take();
    if let Some(members) = result.as_object_mut() {
        members.remove("draw");
    }
    Some(result)
}
