//! The events of a referee, and the fixture they share. A value that the rules hide is in a type that
//! serde cannot write and that does not print itself.

use std::fmt;
use std::sync::Arc;

use league_games::Seat;
use league_protocol::fault::Code;
use league_protocol::id::{GameType, LeagueId, MatchId, PlayerId, RefereeId};
use league_protocol::message::{
    HandedOver, MatchResult, Mode, ModelUse, PlayerEvidence, Score, StartMatch, WinLossDraw,
};
use league_protocol::secret::{Commitment, DrawMode, Proof, Seed};
use league_protocol::sender::{CallStyle, Dialect};
use league_protocol::time::Timestamp;
use league_protocol::token::{AuthToken, TokenHash};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::machine::Persistence;

/// A fact of a referee.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// The manager let the referee in.
    Enrolled {
        /// Its id from now on.
        referee_id: RefereeId,
        league_id: LeagueId,
        /// What the manager's token must hash to; `None` if this answer brought none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        manager: Option<TokenHash>,
        at: Timestamp,
    },
    /// A match was taken; it takes the place of an earlier attempt at the same match.
    MatchOpened {
        /// All that is known of it but its secrets.
        fixture: Arc<MatchOrder>,
        at: Timestamp,
    },
    /// The manager repeated its order with other addresses.
    Readdressed {
        match_id: MatchId,
        /// Seat A and seat B, as they are reached from now on.
        players: Box<[SeatedPlayer; 2]>,
        at: Timestamp,
    },
    /// Both players came and moves are asked for.
    Started {
        match_id: MatchId,
        /// What proves that the players at seat A and seat B joined.
        #[serde(default, skip_serializing_if = "are_unsigned")]
        joins: [Option<Proof>; 2],
        at: Timestamp,
    },
    /// A player did not answer, or not with anything that counts.
    AttemptFailed {
        match_id: MatchId,
        seat: Seat,
        /// 0 for the invitation, then the number of the move that was asked for.
        turn: u32,
        /// How often this question has failed now.
        failed: u32,
        code: Code,
        /// What happened, in a sentence for people; of a hidden move it repeats nothing.
        detail: String,
        /// The whole account, for the player itself and for the reason of its loss.
        #[serde(skip)]
        aside: Option<PrivateDetail>,
        /// Whether the player was asked at all; not while it is left alone for failing too often.
        asked: bool,
        /// When it is asked again; `None` if it has lost.
        retry_at: Option<Timestamp>,
        at: Timestamp,
    },
    /// A player will not come.
    Declined {
        match_id: MatchId,
        seat: Seat,
        at: Timestamp,
    },
    /// An open move was made.
    MovePlayed {
        match_id: MatchId,
        seat: Seat,
        choice: Value,
        /// The player's own share in the draw.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        nonce: Option<String>,
        /// What proves that the player made this move.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        proof: Option<Proof>,
        /// The language model that was asked for it, as the player tells.
        #[serde(
            rename = "language_model",
            default,
            skip_serializing_if = "Option::is_none"
        )]
        model: Option<Box<ModelUse>>,
        at: Timestamp,
    },
    /// The match has come to its end; the result is shown once the manager has taken it.
    Decided {
        match_id: MatchId,
        result: Arc<MatchResult>,
        at: Timestamp,
    },
    /// Both players and the manager were told, or the referee gave up: also a match without a
    /// result, whose draw the manager refuses for good.
    Closed {
        match_id: MatchId,
        /// The manager's answer to the result, or to the request for a draw.
        report: ReportAnswer,
        /// What the manager opened with its answer.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        opened: Option<Arc<OpenedSecrets>>,
        at: Timestamp,
    },
    /// This machine cannot call the players, so the manager has to find another referee.
    GivenBack {
        match_id: MatchId,
        at: Timestamp,
    },
    LeagueEnded {
        at: Timestamp,
    },
    #[serde(skip)]
    RegistrationTried {
        /// Which try, from 1.
        tried: u32,
        /// The token of an earlier registration.
        token: Option<AuthToken>,
        at: Timestamp,
    },
    /// A registration was not answered, or with a no.
    #[serde(skip)]
    RegistrationFailed {
        /// Why, in a sentence for people.
        detail: String,
        /// Whether the manager rejected the referee.
        rejected: bool,
        /// When it is tried again.
        retry_at: Timestamp,
    },
    /// The manager gave the secrets of a match.
    #[serde(skip)]
    SecretsGiven {
        match_id: MatchId,
        secrets: Arc<Secrets>,
    },
    /// A player is asked: to come, or for a move.
    #[serde(skip)]
    Asked {
        match_id: MatchId,
        seat: Seat,
        at: Timestamp,
        /// Until when the answer counts.
        deadline: Timestamp,
    },
    /// A question could not leave this machine; it is put again, and no attempt is used.
    #[serde(skip)]
    QuestionPostponed {
        match_id: MatchId,
        seat: Seat,
        /// When it is put again.
        retry_at: Timestamp,
    },
    /// An answer came after its deadline; it is not counted, and the player is told.
    #[serde(skip)]
    AnswerLate {
        match_id: MatchId,
        seat: Seat,
        /// 0 for the invitation, then the number of the move that was asked for.
        turn: u32,
    },
    #[serde(skip)]
    Joined {
        match_id: MatchId,
        seat: Seat,
        /// What proves it.
        proof: Option<Proof>,
    },
    /// A hidden move was made.
    #[serde(skip)]
    ChoiceSealed {
        match_id: MatchId,
        seat: Seat,
        /// The move and the player's share in the draw.
        sealed: Arc<SealedChoice>,
    },
    /// The moves are handed over to the manager, and the draw is requested.
    #[serde(skip)]
    DrawRequested {
        match_id: MatchId,
        at: Timestamp,
        /// When it counts as unanswered.
        until: Timestamp,
    },
    /// The request for a draw was not answered.
    #[serde(skip)]
    DrawFailed {
        match_id: MatchId,
        /// When it is tried again.
        retry_at: Timestamp,
    },
    /// The dice were rolled; what they show follows from the seed and the moves.
    #[serde(skip)]
    NumberDrawn {
        match_id: MatchId,
        /// What the manager gave for this roll; `None` in a game without dice.
        seed: Option<Seed>,
    },
    /// A player received the result, or the referee gave up telling it.
    #[serde(skip)]
    PlayerTold {
        match_id: MatchId,
        seat: Seat,
    },
    /// The manager is told that a player knows the result, or both.
    #[serde(skip)]
    ManagerNoticed {
        match_id: MatchId,
        /// Whose player; both if none is named.
        seat: Option<Seat>,
    },
    /// The manager knows it, or cannot be told.
    #[serde(skip)]
    NoticeSettled {
        match_id: MatchId,
        /// When it is told again, because it did not know the token.
        again: Option<Timestamp>,
    },
    /// The result is reported again.
    #[serde(skip)]
    ReportTried {
        match_id: MatchId,
        at: Timestamp,
        /// When it counts as unanswered.
        until: Timestamp,
    },
    /// The report was not answered.
    #[serde(skip)]
    ReportFailed {
        match_id: MatchId,
        /// When it is tried again.
        retry_at: Timestamp,
    },
    /// The manager took the report, or will never take it.
    #[serde(skip)]
    ReportSettled {
        match_id: MatchId,
        report: ReportAnswer,
        /// What the manager opened with its answer.
        opened: Option<Arc<OpenedSecrets>>,
        at: Timestamp,
    },
}

impl Event {
    /// Where the fact is kept.
    pub const fn keep(&self) -> Persistence {
        match self {
            Self::Enrolled { .. }
            | Self::MatchOpened { .. }
            | Self::Readdressed { .. }
            | Self::Started { .. }
            | Self::AttemptFailed { .. }
            | Self::Declined { .. }
            | Self::MovePlayed { .. }
            | Self::Decided { .. }
            | Self::Closed { .. }
            | Self::GivenBack { .. }
            | Self::LeagueEnded { .. } => Persistence::Journal,
            Self::RegistrationTried { .. }
            | Self::RegistrationFailed { .. }
            | Self::SecretsGiven { .. }
            | Self::Asked { .. }
            | Self::QuestionPostponed { .. }
            | Self::AnswerLate { .. }
            | Self::Joined { .. }
            | Self::ChoiceSealed { .. }
            | Self::DrawRequested { .. }
            | Self::DrawFailed { .. }
            | Self::NumberDrawn { .. }
            | Self::PlayerTold { .. }
            | Self::ManagerNoticed { .. }
            | Self::NoticeSettled { .. }
            | Self::ReportTried { .. }
            | Self::ReportFailed { .. }
            | Self::ReportSettled { .. } => Persistence::Memory,
        }
    }

    /// Whether the event leads to letters.
    pub(crate) const fn is_told(&self) -> bool {
        matches!(
            self,
            Self::Asked { .. }
                | Self::Started { .. }
                | Self::AttemptFailed { .. }
                | Self::AnswerLate { .. }
                | Self::ChoiceSealed { .. }
                | Self::MovePlayed { .. }
                | Self::DrawRequested { .. }
                | Self::Decided { .. }
                | Self::ManagerNoticed { .. }
                | Self::ReportTried { .. }
                | Self::ReportSettled { .. }
        )
    }

    /// The match of this referee that the fact is about.
    pub fn match_id(&self) -> Option<&MatchId> {
        match self {
            Self::MatchOpened { fixture, .. } => Some(&fixture.match_id),
            Self::Readdressed { match_id, .. }
            | Self::Started { match_id, .. }
            | Self::AttemptFailed { match_id, .. }
            | Self::Declined { match_id, .. }
            | Self::MovePlayed { match_id, .. }
            | Self::Decided { match_id, .. }
            | Self::Closed { match_id, .. }
            | Self::SecretsGiven { match_id, .. }
            | Self::Asked { match_id, .. }
            | Self::QuestionPostponed { match_id, .. }
            | Self::AnswerLate { match_id, .. }
            | Self::GivenBack { match_id, .. }
            | Self::Joined { match_id, .. }
            | Self::ChoiceSealed { match_id, .. }
            | Self::DrawRequested { match_id, .. }
            | Self::DrawFailed { match_id, .. }
            | Self::NumberDrawn { match_id, .. }
            | Self::PlayerTold { match_id, .. }
            | Self::ManagerNoticed { match_id, .. }
            | Self::NoticeSettled { match_id, .. }
            | Self::ReportTried { match_id, .. }
            | Self::ReportFailed { match_id, .. }
            | Self::ReportSettled { match_id, .. } => Some(match_id),
            Self::Enrolled { .. }
            | Self::LeagueEnded { .. }
            | Self::RegistrationTried { .. }
            | Self::RegistrationFailed { .. } => None,
        }
    }
}

/// Whether no join is proved.
fn are_unsigned(joins: &[Option<Proof>; 2]) -> bool {
    joins.iter().all(Option::is_none)
}

/// What the manager opens when it takes a result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenedSecrets {
    /// The secret behind the commitment.
    pub seed: Seed,
    /// The keys of the players' proofs, and what proves that they joined.
    pub players: Vec<PlayerEvidence>,
}

impl OpenedSecrets {
    /// A result with all that is open now.
    pub fn open(&self, result: &MatchResult) -> MatchResult {
        let mut result = result.clone();
        if let Some(draw) = &mut result.draw {
            draw.seed = Some(self.seed);
        }
        result.evidence.players.clone_from(&self.players);
        result
    }
}

/// What the manager said to a result, or to a request for a draw.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReportAnswer {
    Acknowledged,
    /// It will not take it.
    Refused(Code),
    /// No answer before the league ended.
    Unanswered,
}

fn is_zero(count: &usize) -> bool {
    *count == 0
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a reference"
)]
const fn is_no_time(time: &u32) -> bool {
    *time == 0
}

/// A match as it was ordered, without its secrets.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MatchOrder {
    pub league_id: LeagueId,
    pub round_id: u32,
    pub match_id: MatchId,
    /// The number of referees ordered to run this match so far, from 1.
    pub attempt: u32,
    pub game_type: GameType,
    pub settings: Value,
    pub mode: Mode,
    /// The hash of the token by which people step it, if it is stepped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step_token: Option<TokenHash>,
    /// Whether players are read strictly.
    pub strict: bool,
    /// What a result is worth.
    pub score: Score,
    /// The promise on the draw.
    pub commitment: Commitment,
    /// Where the chance of the league comes from.
    pub draw_mode: DrawMode,
    /// How many moves the manager held when the match was ordered; they come with each order, and
    /// the moves that are written here follow them.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub handed_over: usize,
    /// The least time between two steps, in milliseconds.
    #[serde(default, skip_serializing_if = "is_no_time")]
    pub pace_ms: u32,
    /// Seat A and seat B.
    pub players: [SeatedPlayer; 2],
}

impl MatchOrder {
    /// Takes the part of an order that may be written down.
    pub fn of(order: &StartMatch) -> Self {
        Self {
            league_id: order.league_id.clone(),
            round_id: order.round_id,
            match_id: order.match_id.clone(),
            attempt: order.attempt,
            game_type: order.game_type.clone(),
            settings: order.settings.clone(),
            mode: order.mode,
            step_token: order.step_token,
            strict: order.strict,
            score: order.score,
            commitment: order.commitment,
            draw_mode: order.draw_mode,
            handed_over: order
                .handed_over
                .as_ref()
                .map_or(0, |held| held.moves.len()),
            pace_ms: order.pace_ms.unwrap_or(0),
            players: [0, 1].map(|seat| {
                let player = &order.players[seat];
                SeatedPlayer {
                    player_id: player.player_id.clone(),
                    endpoint: player.endpoint.clone(),
                    dialect: player.dialect,
                    speech: player.speech,
                    is_foreign: player.is_foreign,
                    token_hash: player.token_hash,
                    record: player.record,
                    absent: player.absent,
                    extra_seconds: player.extra_seconds.unwrap_or(0),
                }
            }),
        }
    }

    /// Whether both say the same of the match, wherever its players are reached.
    pub fn is_same_match(&self, other: &Self) -> bool {
        let seated = |fixture: &Self| [0, 1].map(|seat| fixture.players[seat].player_id.clone());
        let rest = |fixture: &Self| {
            (
                fixture.round_id,
                fixture.attempt,
                fixture.mode,
                fixture.strict,
                fixture.draw_mode,
            )
        };
        self.match_id == other.match_id
            && self.league_id == other.league_id
            && self.game_type == other.game_type
            && self.settings == other.settings
            && self.score == other.score
            && self.commitment == other.commitment
            && rest(self) == rest(other)
            && seated(self) == seated(other)
    }
}

/// A player of a match, as far as it may be written down.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeatedPlayer {
    pub player_id: PlayerId,
    pub endpoint: Arc<str>,
    pub dialect: Dialect,
    /// How it takes calls, if that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub speech: Option<CallStyle>,
    /// Whether a strict league sends it fields of the documents alone.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_foreign: bool,
    /// The hash of the token it proves itself with.
    pub token_hash: TokenHash,
    pub record: WinLossDraw,
    /// Whether a match has waited for it in vain and it was not reached since.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub absent: bool,
    /// The seconds by which the organiser extended its clock.
    #[serde(default, skip_serializing_if = "is_no_time")]
    pub extra_seconds: u32,
}

/// The secrets of a match.
#[derive(Clone, PartialEq)]
pub struct Secrets {
    /// What proves the order to the manager.
    pub order_token: AuthToken,
    /// What proves the referee to the player at seat A and at seat B.
    pub match_tokens: [AuthToken; 2],
    /// The moves that the manager holds already, and the seeds it gave for them.
    pub handed_over: Option<HandedOver>,
}

impl Secrets {
    /// Takes the part of an order that may not be written down.
    pub fn of(order: &StartMatch) -> Self {
        Self {
            order_token: order.order_token.clone(),
            match_tokens: [0, 1].map(|seat| order.players[seat].match_token.clone()),
            handed_over: order.handed_over.clone(),
        }
    }
}

/// Shows no move that is still hidden.
impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secrets(…)")
    }
}

/// A hidden move; its `Debug` output shows nothing.
#[derive(Clone, PartialEq)]
pub struct SealedChoice {
    pub choice: Value,
    /// The player's own share in the draw.
    pub nonce: Option<String>,
    /// What proves that the player made this move.
    pub proof: Option<Proof>,
    /// The language model that was asked for it, as the player tells.
    pub model: Option<Box<ModelUse>>,
}

impl fmt::Debug for SealedChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SealedChoice(…)")
    }
}

/// A sentence for one player alone: it may quote that player's answer, so its `Debug` output shows
/// nothing.
#[derive(Clone, PartialEq, Eq)]
pub struct PrivateDetail(pub String);

impl fmt::Debug for PrivateDetail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PrivateDetail(…)")
    }
}
