//! The matches that a player sits in now, and what it was asked and answered there.
//!
//! All of it lives in memory: whoever asked before a crash asks again after it.

use std::sync::Arc;

use league_protocol::id::{GameType, MatchId, PlayerId};
use league_protocol::message::MoveResponse;
use league_protocol::time::Timestamp;

use super::event::{Event, Question};
use super::reply::Fallback;

/// How many matches a player sits in at once; one more makes it leave the oldest.
pub const OPEN_MATCHES: usize = 64;
/// How many moves of one match are kept; one more drops the oldest.
pub const OPEN_MOVES: usize = 32;

/// The matches that a player sits in, in the order of their ids; there are few at a time.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Tables {
    open: Vec<(MatchId, Table)>,
    opened: u64,
}

/// One match.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Table {
    /// The answer to the invitation.
    pub(super) joined: Option<Joined>,
    moves: Vec<OpenMove>,
    /// The shares in the draw that were sent with a first move, empty where none was.
    nonces: Vec<String>,
    number: u64,
}

/// The answer to an invitation.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Joined {
    pub(super) game_type: GameType,
    pub(super) opponent_id: PlayerId,
    pub(super) accept: bool,
    pub(super) at: Timestamp,
}

impl Joined {
    /// The answer that an event tells of.
    pub(super) fn of(event: &Event) -> Option<Self> {
        let Event::Joined {
            game_type,
            opponent_id,
            accept,
            at,
            ..
        } = event
        else {
            return None;
        };
        Some(Self {
            game_type: game_type.clone(),
            opponent_id: opponent_id.clone(),
            accept: *accept,
            at: *at,
        })
    }
}

/// A move that was asked for, and the answer once there is one.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct OpenMove {
    pub(super) question: Question,
    pub(super) answer: Option<(Arc<MoveResponse>, Option<Fallback>)>,
}

impl Tables {
    pub(super) fn get(&self, match_id: &MatchId) -> Option<&Table> {
        let place = self.place(match_id).ok()?;
        self.open.get(place).map(|(_, table)| table)
    }

    pub(super) fn ids(&self) -> impl Iterator<Item = &MatchId> {
        self.open.iter().map(|(match_id, _)| match_id)
    }

    pub(super) fn leave(&mut self, match_id: &MatchId) {
        if let Ok(place) = self.place(match_id) {
            self.open.remove(place);
        }
    }

    pub(super) fn join(&mut self, match_id: &MatchId, joined: Joined) {
        self.sit(match_id).joined = Some(joined);
    }

    pub(super) fn ask(&mut self, match_id: &MatchId, question: Question) {
        let table = self.sit(match_id);
        table
            .moves
            .retain(|open| open.question.turn != question.turn);
        if table.moves.len() >= OPEN_MOVES {
            table.moves.remove(0);
        }
        table.moves.push(OpenMove {
            question,
            answer: None,
        });
    }

    pub(super) fn answer(
        &mut self,
        match_id: &MatchId,
        turn: u32,
        answer: (Arc<MoveResponse>, Option<Fallback>),
    ) {
        let Some(table) = self.get_mut(match_id) else {
            return;
        };
        if turn == 1 && table.nonces.len() < OPEN_MOVES {
            table
                .nonces
                .push(answer.0.nonce.clone().unwrap_or_default());
        }
        if let Some(open) = table.find_mut(turn) {
            open.answer = Some(answer);
        }
    }

    /// Forgets the questions and answers of a match, but not that the player sits in it.
    pub(super) fn forget_moves(&mut self, match_id: &MatchId) {
        if let Some(table) = self.get_mut(match_id) {
            table.moves.clear();
        }
    }

    fn sit(&mut self, match_id: &MatchId) -> &mut Table {
        self.opened += 1;
        let place = match self.place(match_id) {
            Ok(place) => place,
            Err(_) => self.open_table(match_id),
        };
        &mut self.open[place].1
    }

    fn open_table(&mut self, match_id: &MatchId) -> usize {
        if self.open.len() >= OPEN_MATCHES {
            self.leave_oldest();
        }
        let table = Table {
            number: self.opened,
            ..Table::default()
        };
        let place = self.place(match_id).unwrap_or_else(|place| place);
        self.open.insert(place, (match_id.clone(), table));
        place
    }

    fn leave_oldest(&mut self) {
        let tables = self.open.iter().enumerate();
        let oldest = tables.min_by_key(|(_, (_, table))| table.number);
        if let Some((place, _)) = oldest {
            self.open.remove(place);
        }
    }

    fn get_mut(&mut self, match_id: &MatchId) -> Option<&mut Table> {
        let place = self.place(match_id).ok()?;
        self.open.get_mut(place).map(|(_, table)| table)
    }

    /// Where a match is, or belongs.
    fn place(&self, match_id: &MatchId) -> Result<usize, usize> {
        self.open.binary_search_by(|(open, _)| open.cmp(match_id))
    }
}

impl Table {
    /// The move with this number, if it was asked for.
    pub(super) fn find(&self, turn: u32) -> Option<&OpenMove> {
        self.moves.iter().find(|open| open.question.turn == turn)
    }

    /// The shares in the draw that were sent so far; a refused move may be followed by another.
    pub(super) fn nonces(&self) -> &[String] {
        &self.nonces
    }

    /// Whether any move was asked for.
    pub(super) fn has_moves(&self) -> bool {
        !self.moves.is_empty()
    }

    fn find_mut(&mut self, turn: u32) -> Option<&mut OpenMove> {
        self.moves
            .iter_mut()
            .find(|open| open.question.turn == turn)
    }
}
