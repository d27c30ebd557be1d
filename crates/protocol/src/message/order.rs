//! The order to a referee to run a match, which only our own agents send (ruling 4).

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::fault::Code;
use crate::finding::{Path, Reading};
use crate::id::{GameType, LeagueId, MatchId, PlayerId};
use crate::secret::Seed;
use crate::sender::{CallStyle, Dialect};
use crate::shape::{
    Closed, Codec, Cx, Draft, Quiet, QuietText, Round, Seen, Spelled, Value as _, drafts, objects,
    read_elements, read_text, secret_text,
};
use crate::token::{AuthToken, TokenHash};

use super::Message;
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
    /// The secret behind the draw.
    pub seed: Seed,
    /// Seat A and seat B.
    pub players: [StartMatchPlayer; 2],
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
    /// The hash of the token it proves itself with.
    pub token_hash: TokenHash,
    /// What the referee shows to this player to prove itself.
    pub match_token: AuthToken,
    /// Its record so far.
    pub record: WinLossDraw,
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
        /// The secret behind the draw.
        "draw_seed" [seed as SeedText] Needed;
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
        /// The hash of the token it proves itself with.
        "token_hash" [token_hash as Usable] Needed;
        /// What the referee shows to this player to prove itself.
        "match_token" [match_token] Needed;
        /// Its record so far.
        "record" [record as Record] Optional;
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

drafts! {
    StartMatch {
        league_id, round_id, match_id, attempt, game_type, settings, mode = |_| Mode::Auto,
        step_token, strict, score = |_| Score::default(), seed = |_| Seed([0; 32]),
        players = |hints| [Draft::draft(hints), Draft::draft(hints)]
    }
    StartMatchPlayer {
        player_id, endpoint, dialect = |_| Dialect::V2, speech,
        token_hash = |_| TokenHash::of(""), match_token = |_| AuthToken::new(""), record
    }
    StartMatchAck { match_id, accepted, reason }
}

pub(crate) fn answer_to_order(
    mut ack: StartMatchAck,
    seen: &Seen<StartMatchAck>,
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

    fn spell(players: &[StartMatchPlayer; 2], dialect: Dialect) -> Spelled<'_> {
        let spelled = players
            .iter()
            .map(|player| MATCH_PLAYER.spell(player, dialect));
        Spelled::List(spelled.collect())
    }

    fn schema(dialect: Dialect, reading: Reading) -> Value {
        serde_json::json!({"type": "array", "items": MATCH_PLAYER.schema(dialect, reading)})
    }
}

/// A text that must mean something; where it does not, the order cannot be followed.
struct Usable;

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

    fn spell(value: &T, _: Dialect) -> Spelled<'_> {
        Spelled::Text(value.text())
    }

    fn schema(dialect: Dialect, reading: Reading) -> Value {
        String::schema(dialect, reading)
    }
}

/// The secret seed of a draw.
struct SeedText;

impl Codec<Seed> for SeedText {
    fn read(raw: &RawValue, at: &Path<'_>, cx: &mut Cx<'_>) -> Option<Seed> {
        let text = read_text(raw, at, cx)?;
        secret_text(&text, at, cx).then(|| Usable::read(raw, at, cx))?
    }

    fn spell(seed: &Seed, _: Dialect) -> Spelled<'_> {
        Spelled::text(seed.to_hex())
    }

    fn schema(dialect: Dialect, reading: Reading) -> Value {
        AuthToken::schema(dialect, reading)
    }
}
