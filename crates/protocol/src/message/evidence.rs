//! The hand-over of moves to the manager, the seed that it gives for them, and what proves that
//! players joined and moved (rulings 27 and 53). Beside a move stands what its player tells of the
//! language model that it asked.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::finding::{Path, Reading};
use crate::id::{LeagueId, MatchId, PlayerId};
use crate::secret::{Proof, ProofKey, Seed};
use crate::sender::Dialect;
use crate::shape::{Codec, Cx, Quiet, Round, Spelling, Value as _, drafts, objects};
use crate::token::AuthToken;

use super::forms::parts;
use super::order::SeedText;

/// A move, with what its player put beside it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SignedMove {
    /// Who moved.
    pub player_id: PlayerId,
    /// The move itself.
    pub choice: Value,
    /// The player's own share in the draw.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nonce: Option<String>,
    /// What proves that the player made this move; `None` from a player that does not sign.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proof: Option<Proof>,
    /// The language model that was asked for it, as the player tells.
    #[serde(
        rename = "language_model",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    pub model: Option<Box<ModelUse>>,
}

/// What a player tells of the language model that it asked for a move. Nothing proves it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ModelUse {
    /// The name of the model.
    pub model: String,
    /// The tokens of all its prompts.
    pub tokens_in: u64,
    /// The tokens of all its answers.
    pub tokens_out: u64,
    /// How long its first token took; `None` if none came.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_token_ms: Option<u64>,
    /// How long the choice took.
    pub latency_ms: u64,
    /// Why a strategy moved in its place, if one did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fallback: Option<String>,
}

impl ModelUse {
    /// The longest name and the longest reason, in characters.
    pub const MAX_TEXT: usize = 80;
    /// The largest number, so that sums stay exact in JSON.
    pub const MAX_NUMBER: u64 = 1_000_000_000_000;

    /// Whether it keeps its bounds; what does not counts as not told.
    pub fn is_bounded(&self) -> bool {
        let short =
            |text: &str| text.chars().count() <= Self::MAX_TEXT && !text.contains(char::is_control);
        let numbers = [
            self.tokens_in,
            self.tokens_out,
            self.latency_ms,
            self.first_token_ms.unwrap_or(0),
        ];
        !self.model.is_empty()
            && short(&self.model)
            && short(self.fallback.as_deref().unwrap_or_default())
            && numbers.iter().all(|number| *number <= Self::MAX_NUMBER)
    }
}

/// The spelling of a [`ModelUse`]: one that means nothing to us is no mistake, and counts as not
/// there.
pub(crate) struct Told;

impl Codec<Box<ModelUse>> for Told {
    fn read(raw: &RawValue, at: &Path<'_>, cx: &mut Cx<'_>) -> Option<Box<ModelUse>> {
        let told: ModelUse = serde_json::from_value(Value::read(raw, at, cx)?).ok()?;
        told.is_bounded().then(|| Box::new(told))
    }

    fn spell(told: &Box<ModelUse>, _: Dialect) -> Spelling<'_> {
        Spelling::Json(std::borrow::Cow::Owned(json!(told)))
    }

    fn schema(_: Dialect, _: Reading) -> Value {
        json!({})
    }
}

/// What shows that a match was played as it is told.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Evidence {
    /// What is known of each player.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub players: Vec<PlayerEvidence>,
    /// All moves, in the order of play.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub moves: Vec<SignedMove>,
}

impl Evidence {
    /// Whether nothing is shown.
    pub fn is_empty(&self) -> bool {
        self.players.is_empty() && self.moves.is_empty()
    }

    /// What is known of a player.
    pub fn of(&self, player: &PlayerId) -> Option<&PlayerEvidence> {
        self.players.iter().find(|known| known.player_id == *player)
    }
}

/// What proves the part of one player in a match.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlayerEvidence {
    /// Who.
    pub player_id: PlayerId,
    /// What proves that it joined.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub join: Option<Proof>,
    /// The key of its proofs, which the manager opens with the result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<ProofKey>,
}

/// A referee hands over the moves of a match and requests the draw that is due.
#[derive(Debug, Clone, PartialEq)]
pub struct DrawRequest {
    /// Which league.
    pub league_id: LeagueId,
    /// Which round.
    pub round_id: u32,
    /// Which match.
    pub match_id: MatchId,
    /// Counts the referees that were told to run this match, from 1.
    pub attempt: u32,
    /// The token of the order.
    pub order_token: Option<AuthToken>,
    /// All moves so far, in the order of play.
    pub moves: Vec<SignedMove>,
}

/// The seed of the draw, given once the moves are written down.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DrawResponse {
    /// Which match.
    pub match_id: MatchId,
    /// Which attempt at it.
    pub attempt: u32,
    /// What the dice are made of.
    pub seed: Seed,
}

/// The manager has taken a result, and opens what was hidden until then.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MatchResultAck {
    /// Which match.
    pub match_id: MatchId,
    /// The secret behind the commitment.
    pub seed: Seed,
    /// The keys of the players' proofs.
    pub players: Vec<PlayerEvidence>,
}

/// A referee tells the manager that players know the result of a match, or cannot be told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GameOverTold {
    /// Which league.
    pub league_id: LeagueId,
    /// Which match.
    pub match_id: MatchId,
    /// Which attempt at it.
    pub attempt: u32,
    /// Which player; both if none is named.
    pub player_id: Option<PlayerId>,
}

/// The manager asks a player whether a referee has called it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallQuery {
    /// Which league.
    pub league_id: LeagueId,
    /// Which match.
    pub match_id: MatchId,
    /// Which attempt at it.
    pub attempt: u32,
}

/// Whether a referee has called the player.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallQueryResponse {
    /// Which match.
    pub match_id: MatchId,
    /// Which attempt at it.
    pub attempt: u32,
    /// Whether an invitation or a request for a move came.
    pub called: bool,
}

objects! {
    /// A move, with what its player put beside it.
    SIGNED_MOVE: SignedMove = "ruling 27" {
        /// Who moved.
        "player_id" [player_id] Needed;
        /// The move itself.
        "choice" [choice] Needed;
        /// The player's own share in the draw.
        "nonce" [nonce ?] Optional;
        /// What proves that the player made this move.
        "proof" [proof ? as Quiet] Optional;
        /// The language model that was asked for it, as the player tells.
        "language_model" [model ? as Told] Optional;
    }
    /// What proves the part of one player in a match.
    PLAYER_EVIDENCE: PlayerEvidence = "ruling 27" {
        /// Who.
        "player_id" [player_id] Needed;
        /// What proves that it joined.
        "join_proof" [join ? as Quiet] Optional;
        /// The key of its proofs.
        "proof_key" [key ? as Quiet] Optional;
    }
    /// What shows that a match was played as it is told.
    EVIDENCE: Evidence = "ruling 27" {
        /// What is known of each player.
        "players" [players as Players] Optional;
        /// All moves, in the order of play.
        "moves" [moves as Moves] Optional;
    }
    /// A referee hands over the moves of a match and requests the draw that is due.
    pub(crate) DRAW_REQUEST: DrawRequest = "ruling 27" {
        /// Which league.
        "league_id" [league_id] Needed;
        /// Which round.
        "round_id" [round_id as Round] Expected;
        /// Which match.
        "match_id" [match_id] Needed;
        /// Counts the referees that were told to run this match, from 1.
        "attempt" [attempt] Needed;
        /// The token of the order.
        "order_token" [order_token ?] Optional;
        /// All moves so far, in the order of play.
        "moves" [moves as Moves] Needed;
    }
    /// The manager gives the seed of the draw.
    pub(crate) DRAW_RESPONSE: DrawResponse = "ruling 27" {
        /// Which match.
        "match_id" [match_id] Needed;
        /// Which attempt at it.
        "attempt" [attempt] Needed;
        /// What the dice are made of.
        "draw_seed" [seed as SeedText] Needed;
    }
    /// The manager has taken a result, and opens what was hidden until then.
    pub(crate) MATCH_RESULT_ACK: MatchResultAck = "ruling 27" {
        /// `ok`
        "status" [= String, |_, _| crate::shape::Spelling::text("ok")] Optional;
        /// Which match.
        "match_id" [match_id] Needed;
        /// The secret behind the commitment.
        "draw_seed" [seed as SeedText] Needed;
        /// The keys of the players' proofs.
        "players" [players as Players] Optional;
    }
    /// A referee tells the manager that players know the result of a match, or cannot be told.
    pub(crate) GAME_OVER_TOLD: GameOverTold = "000 §2.5" {
        /// Which league.
        "league_id" [league_id] Expected;
        /// Which match.
        "match_id" [match_id] Needed;
        /// Which attempt at it.
        "attempt" [attempt] Needed;
        /// Which player; both if none is named.
        "player_id" [player_id ?] Optional;
    }
    /// The manager asks a player whether a referee has called it.
    pub(crate) CALL_QUERY: CallQuery = "ruling 53" {
        /// Which league.
        "league_id" [league_id] Expected;
        /// Which match.
        "match_id" [match_id] Needed;
        /// Which attempt at it.
        "attempt" [attempt] Needed;
    }
    /// Whether a referee has called the player.
    pub(crate) CALL_QUERY_RESPONSE: CallQueryResponse = "ruling 53" {
        /// Which match.
        "match_id" [match_id] Needed;
        /// Which attempt at it.
        "attempt" [attempt] Needed;
        /// Whether an invitation or a request for a move came.
        "called" [called] Needed;
    }
}

parts! {
    Moves: SignedMove = SIGNED_MOVE;
    Players: PlayerEvidence = PLAYER_EVIDENCE;
    EvidenceRecord: Evidence = EVIDENCE;
}

drafts! {
    SignedMove { player_id, choice, nonce, proof, model }
    PlayerEvidence { player_id, join, key }
    Evidence { players, moves }
    DrawRequest { league_id, round_id, match_id, attempt, order_token, moves }
    DrawResponse { match_id, attempt, seed = |_| Seed([0; 32]) }
    MatchResultAck { match_id, seed = |_| Seed([0; 32]), players }
    GameOverTold { league_id, match_id, attempt, player_id }
    CallQuery { league_id, match_id, attempt }
    CallQueryResponse { match_id, attempt, called }
}
