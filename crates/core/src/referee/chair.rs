//! One player in a match: what it was asked, how often it failed, and how facts change that.

use std::sync::Arc;

use league_protocol::fault::Code;
use league_protocol::sender::{Agent, Speech};
use league_protocol::time::Timestamp;

use super::event::Event;
use super::fixture::Seated;
use crate::letter::Peer;
use crate::patience::FIRST_WORDS;

/// One player in a match.
#[derive(Debug, Clone)]
pub(super) struct Chair {
    pub(super) peer: Arc<Peer>,
    pub(super) joined: bool,
    /// Moves made.
    pub(super) moves: u32,
    /// How often the present question has failed.
    pub(super) failed: u32,
    pub(super) question: Option<Asking>,
    pub(super) retry_at: Option<Timestamp>,
    pub(super) loss: Option<Loss>,
}

/// A question that is open.
#[derive(Debug, Clone, Copy)]
pub(super) struct Asking {
    pub(super) at: Timestamp,
    pub(super) deadline: Timestamp,
}

/// Why a player has lost without playing.
#[derive(Debug, Clone, Copy)]
pub(super) enum Loss {
    Declined,
    Failed(Code),
}

impl Chair {
    pub(super) fn new(seated: &Seated) -> Self {
        Self {
            peer: peer(seated),
            joined: false,
            moves: 0,
            failed: 0,
            question: None,
            retry_at: None,
            loss: None,
        }
    }

    /// When silence becomes a fact: at the deadline, and later by the time it takes to find out how
    /// the player takes calls, if that is not known for sure. Whoever carries the question keeps
    /// the player's own clock.
    pub(super) fn latest(&self, asking: Asking) -> Timestamp {
        match self.peer.speech {
            Some(Speech::Simple) => asking.deadline,
            Some(Speech::Mcp | Speech::Habit(_)) | None => asking.deadline + FIRST_WORDS,
        }
    }

    /// Takes in a fact of this player alone.
    pub(super) fn apply(&mut self, event: &Event) {
        match event {
            Event::Asked { at, deadline, .. } => {
                let (at, deadline) = (*at, *deadline);
                self.question = Some(Asking { at, deadline });
            }
            Event::AttemptFailed {
                failed,
                code,
                retry_at,
                ..
            } => {
                self.question = None;
                self.failed = *failed;
                self.retry_at = *retry_at;
                if retry_at.is_none() {
                    self.loss = Some(Loss::Failed(*code));
                }
            }
            Event::Joined { .. } => {
                self.question = None;
                self.retry_at = None;
                self.joined = true;
            }
            Event::Declined { .. } => {
                self.turn_page();
                self.loss = Some(Loss::Declined);
            }
            _ => {}
        }
    }

    /// Begins the next question with all its attempts.
    pub(super) fn turn_page(&mut self) {
        self.question = None;
        self.retry_at = None;
        self.failed = 0;
    }
}

pub(super) fn peer(seated: &Seated) -> Arc<Peer> {
    Arc::new(Peer {
        agent: Agent::Player(seated.player_id.clone()),
        endpoint: seated.endpoint.clone(),
        dialect: seated.dialect,
        speech: seated.speech,
    })
}
