//! The order to a referee to run a match, which only our own agents send (ruling 4).

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::fault::Code;
use crate::finding::{Path, Reading};
use crate::id::{GameType, LeagueId, MatchId, PlayerId};
use crate::secret::{Commitment, DrawMode, Seed};
use crate::sender::{CallStyle, Dialect};
use crate::shape::{
    Closed, Codec, Cx, Draft, Quiet, QuietText, Round, RowStates, Spelling, drafts, objects,
    read_elements, read_text, secret_text,
};
use crate::token::{AuthToken, TokenHash};

use super::Message;
use super::evidence::{Moves, SignedMove};
use super::forms::parts;
use super::play::{Record, answered};
use super::result::Score;
use super::round::WinLossDraw;

/// How a match goes forward.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// By itself, to the end.
    #[default]
    Auto,
    /// Step by step, by the tools of the referee.
    Manual,
}

/// The manager's order to run a match, with the secrets that belong to it.
#[derive(Debug, Clone, PartialEq)]
pub struct StartMatch {
    /// Which league.
    pub league_id: LeagueId,
    /// Which round.
    pub round_id: u32,
    /// Which match.
    pub match_id: MatchId,
    /// Counts the referees that were told to run this match, from 1.
    pub attempt: u32,
    /// What is played.
    pub game_type: GameType,
    /// The game's own settings; `null` for its defaults.
    pub settings: Value,
    /// How it goes forward.
    pub mode: Mode,
    /// The hash of the token by which people step it, if it is stepped.
    pub step_token: Option<TokenHash>,
    /// Whether players are read strictly.
    pub strict: bool,
    /// What a result is worth.
    pub score: Score,
    /// The promise on the draw.
    pub commitment: Commitment,
    /// Where the chance of the league comes from.
    pub draw_mode: DrawMode,
    /// What the referee shows when it requests a draw and reports the result.
    pub order_token: AuthToken,
    /// What an earlier attempt handed over, if the match goes on from there.
    pub handed_over: Option<HandedOver>,
    /// The least time between two steps, in milliseconds, so that people can watch.
    pub pace_ms: Option<u32>,
    /// Seat A and seat B.
    pub players: [StartMatchPlayer; 2],
}

/// The moves that the manager holds of a match, and the seeds it gave for them.
#[derive(Debug, Clone, PartialEq)]
pub struct HandedOver {
    /// The attempt whose seeds these are.
    pub attempt: u32,
    /// All moves so far, in the order of play.
    pub moves: Vec<SignedMove>,
    /// The seed of each roll so far.
    pub seeds: Vec<Seed>,
}

/// What a referee has to know of a player.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StartMatchPlayer {
    /// Who.
    pub player_id: PlayerId,
    /// Where it answers.
    pub endpoint: Arc<str>,
    /// How it speaks.
    pub dialect: Dialect,
    /// How it takes calls, if that is known.
    pub speech: Option<CallStyle>,
    /// Whether a strict league sends it fields of the documents alone.
    pub is_foreign: bool,
    /// The hash of the token it proves itself with.
    pub token_hash: TokenHash,
    /// What the referee shows to this player to prove itself.
    pub match_token: AuthToken,
    /// Its record so far.
    pub record: WinLossDraw,
    /// Whether a match has waited for it in vain and it was not reached since: it is called once.
    pub absent: bool,
    /// The seconds by which the organiser extended its clock.
    pub extra_seconds: Option<u32>,
}

/// The referee takes the match, or not and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StartMatchAck {
    /// Which match.
    pub match_id: MatchId,
    /// Whether the referee runs it.
    pub accepted: bool,
    /// Why not.
    pub reason: Option<String>,
}

objects! {
    /// The manager orders a referee to run a match.
    pub(crate) START_MATCH: StartMatch = "ruling 4" {
        /// Which league.
        "league_id" [league_id] Needed;
        /// Which round.
        "round_id" [round_id as Round] Needed;
        /// Which match.
        "match_id" [match_id] Needed;
        /// Counts the referees that were told to run this match, from 1.
        "attempt" [attempt] Needed;
        /// What is played.
        "game_type" [game_type] Needed;
        /// The game's own settings.
        "game_settings" [settings] Optional;
        /// Whether it goes forward by itself.
        "mode" [mode] Optional;
        /// The hash of the token by which people step it, if it is stepped.
        "step_token_hash" [step_token ? as Usable] Optional;
        /// Whether players are read strictly.
        "strict" [strict] Optional;
        /// What a result is worth.
        "scoring" [inside SCORING] Needed;
        /// The promise on the draw.
        "draw_commitment" [commitment as Usable] Needed;
        /// Where the chance of the league comes from: `chance` or `reproducible`.
        "draw_mode" [draw_mode as Usable] Needed;
        /// What the referee shows when it requests a draw and reports the result.
        "order_token" [order_token] Needed;
        /// What an earlier attempt handed over, if the match goes on from there.
        "handed_over" [handed_over ? as Continuation] Optional;
        /// The least time between two steps, in milliseconds, so that people can watch.
        "pace_ms" [pace_ms ?] Optional;
        /// Seat A and seat B.
        "players" [players as Seats] Needed;
    }
    /// What a result is worth.
    SCORING: StartMatch = "000 §9.3.3" {
        /// Points for a win.
        "win_points" [score.win] Needed;
        /// Points for a draw.
        "draw_points" [score.draw] Needed;
        /// Points for a loss.
        "loss_points" [score.loss] Needed;
        /// Points for a loss by not playing.
        "technical_loss_points" [score.technical_loss] Needed;
    }
    /// What an earlier attempt handed over.
    HANDED_OVER: HandedOver = "ruling 27" {
        /// The attempt whose seeds these are.
        "attempt" [attempt] Needed;
        /// All moves so far, in the order of play.
        "moves" [moves as Moves] Needed;
        /// The seed of each roll so far.
        "draw_seeds" [seeds as Seeds] Needed;
    }
    /// What a referee has to know of a player.
    MATCH_PLAYER: StartMatchPlayer = "ruling 25" {
        /// Who.
        "player_id" [player_id] Needed;
        /// Where it answers.
        "contact_endpoint" [endpoint] Needed;
        /// How it speaks: `v2`, `v2-api` or `v1`.
        "dialect" [dialect as Usable] Optional;
        /// How it takes calls: `simple` or `mcp`, if that is known.
        "speech" [speech ? as Quiet] Optional;
        /// Whether it has not shown that it knows fields that the documents do not have.
        "is_foreign" [spell_foreign => is_foreign] Optional;
        /// The hash of the token it proves itself with.
        "token_hash" [token_hash as Usable] Needed;
        /// What the referee shows to this player to prove itself.
        "match_token" [match_token] Needed;
        /// Its record so far.
        "record" [record as Record] Optional;
        /// Whether a match has waited for it in vain and it was not reached since: it is called once.
        "absent" [spell_absent => absent] Optional;
        /// The seconds by which the organiser extended its clock.
        "extra_seconds" [extra_seconds ?] Optional;
    }
    /// The referee takes the match, or not.
    pub(crate) START_MATCH_ACK: StartMatchAck = "ruling 4" {
        /// Which match.
        "match_id" [match_id] Expected;
        /// Whether the referee runs it.
        "accepted" [accepted] Needed;
        /// Why not.
        "reason" [reason ?] Optional or null;
    }
}

parts! {
    /// What an earlier attempt handed over.
    Continuation: HandedOver = HANDED_OVER;
}

drafts! {
    HandedOver { attempt, moves, seeds }
    StartMatch {
        league_id, round_id, match_id, attempt, game_type, settings, mode = |_| Mode::Auto,
        step_token, strict, score = |_| Score::default(),
        commitment = |_| Commitment([0; 32]), draw_mode = |_| DrawMode::Chance,
        order_token = |_| AuthToken::new(""),
        handed_over, pace_ms,
        players = |hints| [Draft::draft(hints), Draft::draft(hints)]
    }
    StartMatchPlayer {
        player_id, endpoint, dialect = |_| Dialect::V2, speech, is_foreign,
        token_hash = |_| TokenHash::of(""), match_token = |_| AuthToken::new(""), record,
        absent, extra_seconds
    }
    StartMatchAck { match_id, accepted, reason }
}

pub(crate) fn answer_to_order(
    mut ack: StartMatchAck,
    seen: &RowStates<StartMatchAck>,
    cx: &mut Cx<'_>,
) -> Option<Message> {
    let at = &seen.at();
    ack.match_id = answered(&ack.match_id, seen, at, cx)?;
    Some(ack.into())
}

impl Closed for Mode {
    fn words(_: Dialect) -> &'static [(Self, &'static str)] {
        &[(Self::Auto, "auto"), (Self::Manual, "manual")]
    }
}

fn spell_foreign(player: &StartMatchPlayer, _: Dialect) -> Spelling<'_> {
    mark(player.is_foreign)
}

fn spell_absent(player: &StartMatchPlayer, _: Dialect) -> Spelling<'_> {
    mark(player.absent)
}

/// A member that is there only if it holds.
pub(super) fn mark(holds: bool) -> Spelling<'static> {
    if holds {
        Spelling::Flag(true)
    } else {
        Spelling::Absent
    }
}

/// Seat A and seat B: a match has two players.
struct Seats;

impl Codec<[StartMatchPlayer; 2]> for Seats {
    fn read(raw: &RawValue, at: &Path<'_>, cx: &mut Cx<'_>) -> Option<[StartMatchPlayer; 2]> {
        let seated = read_elements(raw, at, cx, |raw, at, cx| {
            let mut player = StartMatchPlayer::draft(cx.hints);
            let is_whole = MATCH_PLAYER.read(&mut player, raw, at, cx);
            Some(is_whole?.then_some(player))
        })?;
        let Ok([first, second]) = <[_; 2]>::try_from(seated) else {
            let detail = "a match has two players; list both";
            cx.refuse(Code::InvalidMessage, at, "two players", detail);
            return None;
        };
        Some([first?, second?])
    }

    fn spell(players: &[StartMatchPlayer; 2], dialect: Dialect) -> Spelling<'_> {
        let spelled = players
            .iter()
            .map(|player| MATCH_PLAYER.spell(player, dialect));
        Spelling::List(spelled.collect())
    }

    fn schema(dialect: Dialect, reading: Reading) -> Value {
        let player = MATCH_PLAYER.schema(dialect, reading);
        json!({"type": "array", "items": player, "minItems": 2, "maxItems": 2})
    }
}

/// A text that must mean something; where it does not, the order cannot be followed.
pub(crate) struct Usable;

impl<T: QuietText> Codec<T> for Usable {
    fn read(raw: &RawValue, at: &Path<'_>, cx: &mut Cx<'_>) -> Option<T> {
        let text = read_text(raw, at, cx)?;
        let value = T::parse(&text);
        if value.is_none() {
            let detail = format!("it is not usable; send {}", T::EXPECTED);
            cx.refuse(Code::MissingField, at, T::EXPECTED, detail);
        }
        value
    }

    fn spell(value: &T, _: Dialect) -> Spelling<'_> {
        Spelling::Text(value.text())
    }

    fn schema(_: Dialect, _: Reading) -> Value {
        json!({"type": "string", "pattern": T::PATTERN})
    }
}

/// The seeds of rolls, in order.
struct Seeds;

impl Codec<Vec<Seed>> for Seeds {
    fn read(raw: &RawValue, at: &Path<'_>, cx: &mut Cx<'_>) -> Option<Vec<Seed>> {
        let seeds = read_elements(raw, at, cx, |raw, at, cx| Some(SeedText::read(raw, at, cx)))?;
        seeds.into_iter().collect()
    }

    fn spell(seeds: &Vec<Seed>, dialect: Dialect) -> Spelling<'_> {
        let spelled = seeds.iter().map(|seed| SeedText::spell(seed, dialect));
        Spelling::List(spelled.collect())
    }

    fn schema(dialect: Dialect, reading: Reading) -> Value {
        json!({"type": "array", "items": SeedText::schema(dialect, reading)})
    }
}

/// The secret seed of a draw.
pub(crate) struct SeedText;

impl Codec<Seed> for SeedText {
    fn read(raw: &RawValue, at: &Path<'_>, cx: &mut Cx<'_>) -> Option<Seed> {
        let text = read_text(raw, at, cx)?;
        secret_text(&text, at, cx).then(|| Usable::read(raw, at, cx))?
    }

    fn spell(seed: &Seed, _: Dialect) -> Spelling<'_> {
        Spelling::text(seed.to_hex())
    }

    fn schema(_: Dialect, _: Reading) -> Value {
        json!({"type": "string", "pattern": Seed::PATTERN})
    }
}
