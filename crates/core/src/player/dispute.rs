//! Whether the draw of a match is the one that was promised, with the share that this player sent.

use std::collections::VecDeque;

use league_protocol::id::MatchId;
use league_protocol::message::{GameOver, MatchStatus};
use serde::{Deserialize, Serialize};

use super::Player;
use crate::draw::keeps_promise;

/// How many disputed draws are shown; one more drops the oldest. The journal holds them all.
pub const SHOWN_DISPUTES: usize = 16;

/// What is wrong with a draw.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DrawProblem {
    /// A promise was announced, and nothing is opened.
    NotOpened,
    /// The opened seed belongs to another promise than the one announced.
    PromiseBroken,
    /// The share of this player is none that it sent.
    NonceChanged,
}

/// The latest draws that this player does not believe.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Disputes(VecDeque<(MatchId, DrawProblem)>);

impl Disputes {
    pub(super) fn add(&mut self, match_id: &MatchId, problem: DrawProblem) {
        self.0.push_back((match_id.clone(), problem));
        if self.0.len() > SHOWN_DISPUTES {
            self.0.pop_front();
        }
    }

    pub(super) fn list(&self) -> Vec<(MatchId, DrawProblem)> {
        self.0.iter().cloned().collect()
    }
}

impl Player {
    /// Whether an end opens the promise that was made on the draw of its match.
    pub(super) fn opens_promise(&self, over: &GameOver) -> bool {
        let promised = self.announced.commitment(&over.match_id).is_some();
        promised && self.draw_problem(over).is_none()
    }

    /// What is wrong with the draw of a match that is over, as far as this player can tell.
    ///
    /// After a restart it no longer knows what it sent before.
    pub(super) fn draw_problem(&self, over: &GameOver) -> Option<DrawProblem> {
        let promised = self.announced.commitment(&over.match_id);
        let Some(opened) = &over.result.draw else {
            return promised.map(|_| DrawProblem::NotOpened);
        };
        let kept = |promised| {
            opened.commitment == promised && keeps_promise(&over.league_id, &over.match_id, opened)
        };
        if promised.is_some_and(|promised| !kept(promised)) {
            return Some(DrawProblem::PromiseBroken);
        }
        // Without a draw no share is used.
        if over.result.status == MatchStatus::TechnicalLoss {
            return None;
        }
        let seat = usize::from(over.result.players[1] == over.receiver);
        let sent = self.tables.get(&over.match_id)?.nonces();
        let changed = !sent.is_empty() && !sent.contains(&opened.nonces[seat]);
        changed.then_some(DrawProblem::NonceChanged)
    }
}
