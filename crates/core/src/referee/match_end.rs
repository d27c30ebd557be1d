//! How a match ends: the result, the points, the evidence.

use std::sync::Arc;

use league_games::Seat;
use league_protocol::fault::Code;
use league_protocol::finding::harmless;
use league_protocol::message::{
    ByPlayer, Evidence, MatchResult, MatchStatus, OpenedDraw, PlayerEvidence,
};
use serde_json::Map;

use super::match_state::{Loss, Match, SEATS};
use crate::league::MAX_REASON;
use crate::played::{self, choices_of};

/// The cause of a loss by a refused invitation: no code of the documents says it better.
const DECLINED: Code = Code::OutOfTurn;
/// The longest account of a failure in the reason of a result, in characters.
const MAX_ACCOUNT: usize = 200;

impl Match {
    /// The result of a game that was played to its end.
    pub(crate) fn played(&self) -> Option<Arc<MatchResult>> {
        let result = played::ended(self.bare_result(), &*self.table, &self.fixture.score);
        result.map(Arc::new)
    }

    /// The result of a match that one player, or both, did not play.
    pub(crate) fn forfeited(&self) -> Arc<MatchResult> {
        let score = &self.fixture.score;
        let lost = self.slots.each_ref().map(|slot| slot.loss.is_some());
        let (winner, points) = match lost {
            [true, false] => (Some(Seat::B), [score.technical_loss, score.win]),
            [false, true] => (Some(Seat::A), [score.win, score.technical_loss]),
            _ => (None, [score.technical_loss; 2]),
        };
        let causes = SEATS.into_iter().filter_map(|seat| self.cause(seat));
        Arc::new(MatchResult {
            status: MatchStatus::TechnicalLoss,
            winner: winner.map(|seat| self.seated(seat).player_id.clone()),
            points,
            failed: self.failed(),
            reason: within(causes.collect::<Vec<_>>().join("; "), MAX_REASON),
            ..self.bare_result()
        })
    }

    /// The members that every result has. The seed and the keys are opened by the manager.
    fn bare_result(&self) -> MatchResult {
        let seated = self.fixture.players.each_ref();
        let players = seated.map(|seated| seated.player_id.clone());
        let evidence = self.evidence();
        MatchResult {
            status: MatchStatus::Draw,
            winner: None,
            points: [0; 2],
            failed: ByPlayer::new(),
            choices: choices_of(&players, &evidence.moves, self.rules().hidden_moves),
            details: Map::new(),
            reason: String::new(),
            draw: Some(OpenedDraw {
                commitment: self.fixture.commitment,
                seed: None,
                mode: self.fixture.draw_mode,
                attempt: self.draw_attempt(),
                nonces: SEATS.map(|seat| self.nonce(seat).to_owned()),
            }),
            evidence,
            players,
        }
    }

    /// What shows that the match was played like this.
    fn evidence(&self) -> Evidence {
        let joined = SEATS.into_iter().filter_map(|seat| {
            let join = Some(self.slot(seat).join?);
            let player_id = self.seated(seat).player_id.clone();
            Some(PlayerEvidence {
                player_id,
                join,
                key: None,
            })
        });
        Evidence {
            players: joined.collect(),
            moves: self.signed_moves(),
        }
    }

    fn failed(&self) -> ByPlayer<Code> {
        let lost = SEATS.into_iter().filter_map(|seat| {
            let code = match self.slot(seat).loss? {
                Loss::Declined => DECLINED,
                Loss::Failed(code) => code,
            };
            Some((self.seated(seat).player_id.clone(), code))
        });
        lost.collect()
    }

    /// Why a player lost without playing. Its answer is not a secret once the match is over, so it
    /// is quoted.
    fn cause(&self, seat: Seat) -> Option<String> {
        let player = &self.seated(seat).player_id;
        let account = self.slot(seat).account.as_ref();
        let account = account.map(|account| format!(": {}", harmless(&account.0, MAX_ACCOUNT)));
        Some(match self.slot(seat).loss? {
            Loss::Declined => format!("{player} declined the invitation"),
            Loss::Failed(Code::Timeout) => format!("{player} did not answer in time (E001)"),
            Loss::Failed(Code::Connection) => format!("{player} could not be reached (E009)"),
            Loss::Failed(code) => format!(
                "{player} gave no answer that counts ({code}){}",
                account.unwrap_or_default()
            ),
        })
    }
}

/// The beginning of a text, in so many bytes.
fn within(mut text: String, bytes: usize) -> String {
    let end = (0..=bytes.min(text.len())).rfind(|&end| text.is_char_boundary(end));
    text.truncate(end.unwrap_or_default());
    text
}
