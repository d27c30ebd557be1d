//! How a match ended, and what that is worth.

mod parts;

use std::borrow::Cow;
use std::sync::{Arc, LazyLock};

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use crate::dialect::names::{player_id, player_name};
use crate::fault::Code;
use crate::finding::{Path, Reading, excerpt};
use crate::id::{GameType, LeagueId, MatchId, PlayerId};
use crate::lenient::extra_fields;
use crate::secret::{Commitment, DrawMode, Seed};
use crate::sender::Dialect;
use crate::shape::{
    Closed, Codec, Cx, Dict, Field, Quiet, Round, Slot, Spelling, Value as _, Vocabulary as _,
    drafts, object, objects,
};
use crate::token::AuthToken;

use super::EVEN_ODD;
use super::by_player::ByPlayer;
use super::evidence::{Evidence, EvidenceRecord};
use super::forms::parts;
use super::play::Role;

/// What a result is worth.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Score {
    /// Points for a win.
    pub win: u32,
    /// Points for a draw.
    pub draw: u32,
    /// Points for a loss.
    pub loss: u32,
    /// Points for a loss by not playing.
    pub technical_loss: u32,
}

impl Default for Score {
    fn default() -> Self {
        Self {
            win: 3,
            draw: 1,
            loss: 0,
            technical_loss: 0,
        }
    }
}

/// The three ways a match ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum MatchStatus {
    /// One player won by playing.
    Win,
    /// Nobody won.
    Draw,
    /// One player, or both, did not play.
    TechnicalLoss,
}

/// How a match ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MatchResult {
    /// Seat A and seat B.
    pub players: [PlayerId; 2],
    /// Which of the three ways.
    pub status: MatchStatus,
    /// Who won, if anyone did.
    pub winner: Option<PlayerId>,
    /// The points of seat A and seat B.
    pub points: [u32; 2],
    /// Who did not play, and for what cause; empty unless `status` is a technical loss.
    #[serde(default, skip_serializing_if = "ByPlayer::is_empty")]
    pub failed: ByPlayer<Code>,
    /// What each player chose, as far as it came.
    pub choices: ByPlayer<Value>,
    /// What the game tells of its end, such as the drawn number.
    pub details: Map<String, Value>,
    /// One sentence for people.
    pub reason: String,
    /// How the draw came about, if there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub draw: Option<OpenedDraw>,
    /// What shows that it was played like this; empty where the referee tells nothing of it.
    #[serde(default, skip_serializing_if = "Evidence::is_empty")]
    pub evidence: Evidence,
}

impl MatchResult {
    /// The points of a player, if it played in this match.
    pub fn points_of(&self, player: &PlayerId) -> Option<u32> {
        self.players
            .iter()
            .position(|seated| seated == player)
            .map(|seat| self.points[seat])
    }
}

/// All that is needed to draw the number again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenedDraw {
    /// What was promised before the round.
    pub commitment: Commitment,
    /// The secret behind it, once the manager has opened it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<Seed>,
    /// Where the chance of the league comes from.
    pub mode: DrawMode,
    /// Counts the referees that were told to run this match, from 1.
    pub attempt: u32,
    /// The players' own shares; an empty text where a player sent none.
    pub nonces: [String; 2],
}

/// The end of a match, told to one player.
#[derive(Debug, Clone, PartialEq)]
pub struct GameOver {
    /// Which league.
    pub league_id: LeagueId,
    /// Which round.
    pub round_id: u32,
    /// Which match.
    pub match_id: MatchId,
    /// What was played.
    pub game_type: GameType,
    /// Who is told; some dialects tell it from this side.
    pub receiver: PlayerId,
    /// How it ended.
    pub result: Arc<MatchResult>,
}

/// The end of a match, told to the manager.
#[derive(Debug, Clone, PartialEq)]
pub struct MatchResultReport {
    /// Which league.
    pub league_id: LeagueId,
    /// Which round.
    pub round_id: u32,
    /// Which match.
    pub match_id: MatchId,
    /// Counts the referees that were told to run this match, from 1.
    pub attempt: u32,
    /// The token of the order, which only the referee of this attempt knows.
    pub order_token: Option<AuthToken>,
    /// Whether the players know the result; if not, `GAME_OVER_TOLD` follows.
    pub game_over_told: Option<bool>,
    /// What was played.
    pub game_type: GameType,
    /// How it ended.
    pub result: Arc<MatchResult>,
}

objects! {
    /// The match is over, told to a player.
    pub(crate) GAME_OVER: Ending = "000 §4.6.1" {
        /// Which league.
        "league_id" [league_id] Optional;
        /// Which round.
        "round_id" [round_id as Round] Optional;
        /// Which match.
        "match_id" [match_id] Needed;
        /// What was played.
        "game_type" [game_type] Expected;
        /// How it ended.
        "game_result" [inside GAME_RESULT] Needed;
    }
    /// How a match ended.
    GAME_RESULT: Ending = "000 §4.6.1" {
        /// Which of the three ways.
        "status" [Ending::spell_status => parts.status ?] Needed;
        /// Who won, or null.
        "winner_player_id" [by String, Ending::spell_winner, Ending::set_winner] ExpectedOrNull;
        /// The number that was drawn.
        "drawn_number" [Ending::spell_number => parts.number ? as WholeNumber] Optional or null;
        /// Whether that number is even or odd.
        "number_parity" [Ending::spell_parity => parts.parity ?] Optional or null;
        /// What each player chose.
        "choices" [Ending::spell_choices => parts.choices ?] Expected;
        /// One sentence for people.
        "reason" [Ending::spell_reason => parts.reason ?] Expected;
        /// The points of each player.
        "score" [Ending::spell_score => parts.score ?] Optional;
        /// Who did not play, and for what cause.
        "failed" [Ending::spell_failed => parts.failed ?] Optional;
        /// What else the game tells of its end.
        "details" [Ending::spell_other_details => parts.details] Optional;
        /// All that is needed to draw the number again (ruling 27).
        "draw" [Ending::spell_draw => parts.draw ? as DrawRecord] Optional;
        /// What shows that the match was played like this (ruling 27).
        "evidence" [Ending::spell_evidence => parts.evidence as EvidenceRecord] Optional;
    }
    /// All that is needed to draw the number again.
    DRAW_RECORD: OpenedDraw = "ruling 27" {
        /// The hash of the seed, promised before the round.
        "commitment" [commitment as Quiet] Needed;
        /// The secret behind it.
        "seed" [seed ? as Quiet] Optional;
        /// Where the chance of the league comes from: `chance` or `reproducible`.
        "mode" [mode as Quiet] Needed;
        /// Counts the referees that were told to run this match, from 1.
        "attempt" [attempt] Needed;
        /// The players' own shares, empty where a player sent none.
        "nonces" [nonces as Pair] Needed;
        /// Who had a share in the draw: `commitment`, `one nonce` or `both nonces`.
        "guarantee" [= String, |draw, _| Spelling::text(draw.guarantee())] Optional;
    }
    /// The match is over, told to the manager.
    pub(crate) MATCH_RESULT_REPORT: Ending = "000 §4.6.2" {
        /// Which league.
        "league_id" [league_id] Expected;
        /// Which round.
        "round_id" [round_id as Round] Expected;
        /// Which match.
        "match_id" [match_id] Needed;
        /// What was played.
        "game_type" [game_type] Expected;
        /// Counts the referees that were told to run this match, from 1.
        "attempt" [attempt ?] Optional;
        /// The token of the order (ruling 53).
        "order_token" [order_token ?] Optional;
        /// Whether the players know the result; if not, `GAME_OVER_TOLD` follows.
        "game_over_told" [game_over_told ?] Optional;
        /// How it ended.
        "result" [inside REPORT_RESULT] Needed;
    }
    /// How a match ended, as the manager is parts.
    REPORT_RESULT: Ending = "000 §4.6.2" {
        /// Who won, or null.
        "winner" [by String, Ending::spell_winner, Ending::set_winner] ExpectedOrNull;
        /// The points of each player.
        "score" [Ending::spell_score => parts.score ?] Needed;
        /// How it came about.
        "details" [inside REPORT_DETAILS] Expected;
    }
    /// How a result came about.
    REPORT_DETAILS: Ending = "000 §4.6.2" {
        /// The number that was drawn.
        "drawn_number" [Ending::spell_number => parts.number ? as WholeNumber] Optional or null;
        /// What each player chose.
        "choices" [Ending::spell_choices => parts.choices ?] Expected;
        /// Which of the three ways.
        "status" [Ending::spell_status => parts.status ?] Optional;
        /// Who did not play, and for what cause.
        "failed" [Ending::spell_failed => parts.failed ?] Optional;
        /// One sentence for people.
        "reason" [Ending::spell_reason => parts.reason ?] Optional;
        /// What else the game tells of its end.
        "game" [Ending::spell_details => parts.details] Optional;
        /// All that is needed to draw the number again (ruling 27).
        "draw" [Ending::spell_draw => parts.draw ? as DrawRecord] Optional;
        /// What shows that the match was played like this (ruling 27).
        "evidence" [Ending::spell_evidence => parts.evidence as EvidenceRecord] Optional;
    }
    /// The match is over, told from the side of the receiver.
    pub(crate) API_GAME_OVER: Ending = "001 §GAME_OVER", api "001 §GAME_OVER" {
        /// Which league.
        "league_id" [league_id] Optional;
        /// Which round.
        "round_id" [round_id as Round] Optional;
        /// Which match.
        "match_id" [match_id] Needed;
        /// What was played.
        "game_type" [game_type] Optional;
        /// The receiver's seat, without which the shares in the draw have no owners.
        "role" [Ending::spell_role => parts.role ?] Optional;
        /// The number that was drawn, or null where none was.
        "drawn_number" [Ending::spell_number => parts.number ? as WholeNumber] ExpectedOrNull;
        /// What the receiver chose, or null.
        "your_choice" [Ending::spell_own_choice => parts.own_choice ?] ExpectedOrNull;
        /// What its opponent chose, or null.
        "opponent_choice" [Ending::spell_other_choice => parts.other_choice ?] ExpectedOrNull;
        /// How it ended for the receiver.
        "result" [Ending::spell_side => parts.side ?] Needed;
        /// What that is worth.
        "points_earned" [Ending::spell_points => parts.points ?] Expected;
        /// Who won, or null: after a technical loss it may be nobody.
        "winner_player_id" [by PlayerId, Ending::spell_winner, Ending::set_winner_id]
            Optional or null;
        /// One sentence for people.
        "reason" [Ending::spell_reason => parts.reason ?] Optional;
        /// What else the game tells of its end.
        "details" [Ending::spell_other_details => parts.details] Optional;
        /// All that is needed to draw the number again (ruling 27).
        "draw" [Ending::spell_draw => parts.draw ? as DrawRecord] Optional;
        /// What shows that the match was played like this (ruling 27).
        "evidence" [Ending::spell_evidence => parts.evidence as EvidenceRecord] Optional;
    }
}

objects! {
    /// The match is over, told to both players and to the manager.
    pub(crate) V1_GAME_RESULT: Ending = "003 §GAME_RESULT" {
        /// The UUID of the league.
        "league_id" [league_id] Expected;
        /// Which round.
        "round_id" [round_id] Expected;
        /// Which match.
        "match_id" [match_id] Needed;
        /// How it ended.
        "result" [inside OUTCOME] Needed;
    }
    /// How a match ended.
    OUTCOME: Ending = "003 §GAME_RESULT" {
        /// Who won, or null.
        "winner" [by PlayerId, Ending::spell_winner, Ending::set_winner_id] ExpectedOrNull;
        /// Who lost, or null.
        "loser" [Ending::spell_loser => parts.loser_id ?] ExpectedOrNull;
        /// Which of the three ways.
        "outcome" [Ending::spell_status => parts.status ?] Needed;
        /// How it came about.
        "game_summary" [slot Summary] Expected;
    }
    /// How a result came about, apart from the choices, which are named after the players.
    SUMMARY_FACTS: Ending = "003 §GAME_RESULT" {
        /// The number that was drawn.
        "random_number" [Ending::spell_number => parts.number ? as WholeNumber] Optional;
        /// Whether that number is even or odd.
        "number_parity" [Ending::spell_parity => parts.parity ?] Optional;
        /// One sentence for people.
        "winner_reason" [Ending::spell_reason => parts.reason ?] Optional;
        /// The plays one by one, as the other form of the summary tells them.
        "moves" [unwritten => parts.moves] Optional;
        /// The points of each player, by name.
        "points" [Ending::spell_score => parts.score ?] Optional;
        /// Who did not play, and for what cause, by name.
        "failed" [Ending::spell_failed => parts.failed ?] Optional;
        /// Counts the referees that were told to run this match, from 1.
        "attempt" [attempt ?] Optional;
        /// What was played, where it was not Even/Odd.
        "game_type" [Ending::spell_other_game => parts.game_type ?] Optional;
        /// What else the game tells of its end.
        "details" [Ending::spell_other_details => parts.details] Optional;
        /// All that is needed to draw the number again (ruling 27).
        "draw" [Ending::spell_draw => parts.draw ? as DrawRecord] Optional;
    }
}

parts! {
    DrawRecord: OpenedDraw = DRAW_RECORD;
}

/// The number that was drawn, among the details of a result: whole.
struct WholeNumber;

impl Codec<Value> for WholeNumber {
    fn read(raw: &RawValue, at: &Path<'_>, cx: &mut Cx<'_>) -> Option<Value> {
        let number: Option<i64> = serde_json::from_str(raw.get()).ok();
        let fraction: Option<f64> = serde_json::from_str(raw.get()).ok();
        let detail = || format!("found `{}`; send a whole number", excerpt(raw.get()));
        match (number, fraction) {
            (Some(_), _) => {}
            // No game draws such a number, so what it means is not known.
            (None, Some(_)) => cx.refuse(Code::InvalidMessage, at, "a whole number", detail()),
            (None, None) => cx.note(Code::InvalidMessage, at, "a whole number", detail()),
        }
        number.map(Value::from)
    }

    fn spell(number: &Value, _: Dialect) -> Spelling<'_> {
        Spelling::json(number)
    }

    fn schema(_: Dialect, _: Reading) -> Value {
        json!({"type": "integer", "minimum": i64::MIN, "maximum": i64::MAX})
    }
}

drafts! {
    Ending {
        league_id, round_id, match_id, game_type, attempt, order_token, game_over_told, receiver,
        result = |_| Arc::clone(&NO_RESULT), parts = |_| ResultParts::default()
    }
    OpenedDraw {
        commitment = |_| Commitment([0; 32]), seed, mode = |_| DrawMode::Chance, attempt,
        nonces = |_| <[String; 2]>::default()
    }
}

/// Stands for a result while one is read.
static NO_RESULT: LazyLock<Arc<MatchResult>> = LazyLock::new(|| {
    Arc::new(MatchResult {
        players: [PlayerId::unknown(), PlayerId::unknown()],
        status: MatchStatus::Draw,
        winner: None,
        points: [0, 0],
        failed: ByPlayer::new(),
        choices: ByPlayer::new(),
        details: Map::new(),
        reason: String::new(),
        draw: None,
        evidence: Evidence::default(),
    })
});

/// The facts of Even/Odd that have members of their own.
const NUMBER: &str = "drawn_number";
const PARITY: &str = "number_parity";

/// The end of a match, told by whichever message.
pub(crate) struct Ending {
    league_id: LeagueId,
    round_id: u32,
    match_id: MatchId,
    game_type: GameType,
    attempt: Option<u32>,
    order_token: Option<AuthToken>,
    game_over_told: Option<bool>,
    receiver: PlayerId,
    /// How it ended, to be written.
    result: Arc<MatchResult>,
    /// How it ended, as it was read.
    parts: ResultParts,
}

/// What a message tells of a result, before it is put together.
#[derive(Default)]
struct ResultParts {
    status: Option<MatchStatus>,
    winner: Field<String>,
    score: Option<Dict<u32>>,
    choices: Option<Dict<Value>>,
    failed: Option<Dict<Code>>,
    details: Map<String, Value>,
    number: Option<Value>,
    parity: Option<String>,
    reason: Option<String>,
    draw: Option<OpenedDraw>,
    evidence: Evidence,
    // By the API page and by 003 alone.
    winner_id: Field<PlayerId>,
    loser_id: Option<PlayerId>,
    role: Option<Role>,
    side: Option<Side>,
    points: Option<u32>,
    own_choice: Option<Value>,
    other_choice: Option<Value>,
    moves: Vec<Value>,
    game_type: Option<GameType>,
}

impl From<&GameOver> for Ending {
    fn from(over: &GameOver) -> Self {
        Self {
            league_id: over.league_id.clone(),
            round_id: over.round_id,
            match_id: over.match_id.clone(),
            game_type: over.game_type.clone(),
            attempt: None,
            order_token: None,
            game_over_told: None,
            receiver: over.receiver.clone(),
            result: Arc::clone(&over.result),
            parts: ResultParts::default(),
        }
    }
}

impl From<&MatchResultReport> for Ending {
    fn from(report: &MatchResultReport) -> Self {
        Self {
            league_id: report.league_id.clone(),
            round_id: report.round_id,
            match_id: report.match_id.clone(),
            game_type: report.game_type.clone(),
            attempt: Some(report.attempt),
            order_token: report.order_token.clone(),
            game_over_told: report.game_over_told,
            receiver: PlayerId::unknown(),
            result: Arc::clone(&report.result),
            parts: ResultParts::default(),
        }
    }
}

/// How an ending is spelled.
impl Ending {
    fn spell_status(&self, dialect: Dialect) -> Spelling<'_> {
        self.result.status.spell(dialect)
    }

    fn spell_details(&self, dialect: Dialect) -> Spelling<'_> {
        self.result.details.spell(dialect)
    }

    fn spell_role(&self, dialect: Dialect) -> Spelling<'_> {
        Spelling::text(self.role().word(dialect))
    }

    fn spell_side(&self, dialect: Dialect) -> Spelling<'_> {
        Spelling::text(self.side().word(dialect))
    }

    fn spell_points(&self, _: Dialect) -> Spelling<'_> {
        Spelling::Whole(self.result.points_of(&self.receiver).unwrap_or_default())
    }

    fn spell_own_choice(&self, _: Dialect) -> Spelling<'_> {
        self.spell_choice(&self.receiver)
    }

    fn spell_other_choice(&self, _: Dialect) -> Spelling<'_> {
        self.spell_choice(self.opponent())
    }

    fn spell_winner(&self, dialect: Dialect) -> Spelling<'_> {
        spell_player(self.result.winner.as_ref(), dialect)
    }

    fn spell_loser(&self, dialect: Dialect) -> Spelling<'_> {
        let winner = self.result.winner.as_ref();
        let mut players = self.result.players.iter();
        let loser = winner.and_then(|winner| players.find(|&player| player != winner));
        spell_player(loser, dialect)
    }

    fn spell_number(&self, _: Dialect) -> Spelling<'_> {
        let number = self.result.details.get(NUMBER);
        number.map_or(Spelling::Absent, Spelling::json)
    }

    fn spell_parity(&self, _: Dialect) -> Spelling<'_> {
        let parity = self.result.details.get(PARITY).and_then(Value::as_str);
        parity.map_or(Spelling::Absent, Spelling::text)
    }

    fn spell_choices(&self, dialect: Dialect) -> Spelling<'_> {
        let choices = self.result.choices.iter();
        by_player(
            choices.map(|(player, choice)| (player, Spelling::json(choice))),
            dialect,
        )
    }

    fn spell_choice(&self, player: &PlayerId) -> Spelling<'_> {
        let choice = self.result.choices.get(player);
        choice.map_or(Spelling::Absent, Spelling::json)
    }

    fn spell_reason(&self, _: Dialect) -> Spelling<'_> {
        Spelling::text(&self.result.reason)
    }

    fn spell_score(&self, dialect: Dialect) -> Spelling<'_> {
        let points = self.result.points.map(Spelling::Whole);
        by_player(self.result.players.iter().zip(points), dialect)
    }

    fn spell_failed(&self, dialect: Dialect) -> Spelling<'_> {
        let failed = &self.result.failed;
        if failed.is_empty() {
            return Spelling::Absent;
        }
        let causes = failed.iter();
        by_player(
            causes.map(|(player, code)| (player, code.spell(dialect))),
            dialect,
        )
    }

    fn spell_other_details(&self, _: Dialect) -> Spelling<'_> {
        let details = self.result.details.iter();
        let others: Vec<_> = details
            .filter(|(name, _)| *name != NUMBER && *name != PARITY)
            .map(|(name, value)| (name.into(), Spelling::json(value)))
            .collect();
        if others.is_empty() {
            return Spelling::Absent;
        }
        Spelling::Entries(others)
    }

    fn spell_draw(&self, dialect: Dialect) -> Spelling<'_> {
        let draw = self.result.draw.as_ref();
        draw.map_or(Spelling::Absent, |draw| DRAW_RECORD.spell(draw, dialect))
    }

    fn spell_evidence(&self, dialect: Dialect) -> Spelling<'_> {
        let evidence = &self.result.evidence;
        if evidence.is_empty() {
            return Spelling::Absent;
        }
        EvidenceRecord::spell(evidence, dialect)
    }

    fn spell_other_game(&self, dialect: Dialect) -> Spelling<'_> {
        match self.game_type.as_str() {
            EVEN_ODD => Spelling::Absent,
            _ => self.game_type.spell(dialect),
        }
    }

    fn role(&self) -> Role {
        let [_, b] = &self.result.players;
        if self.receiver == *b {
            Role::B
        } else {
            Role::A
        }
    }

    fn opponent(&self) -> &PlayerId {
        let [a, b] = &self.result.players;
        match self.role() {
            Role::A => b,
            Role::B => a,
        }
    }

    fn side(&self) -> Side {
        let result = &*self.result;
        match result.status {
            MatchStatus::Draw => Side::Draw,
            _ if result.winner.as_ref() == Some(&self.receiver) => Side::Win,
            MatchStatus::Win => Side::Loss,
            MatchStatus::TechnicalLoss => Side::TechnicalLoss,
        }
    }
}

fn spell_player(player: Option<&PlayerId>, dialect: Dialect) -> Spelling<'_> {
    player.map_or(Spelling::Absent, |player| player.spell(dialect))
}

/// Something by player, under the name that the dialect has for each.
fn by_player<'m>(
    entries: impl Iterator<Item = (&'m PlayerId, Spelling<'m>)>,
    dialect: Dialect,
) -> Spelling<'m> {
    let named = entries.map(|(player, spelled)| (player.text(dialect), spelled));
    Spelling::Entries(named.collect())
}

fn unwritten(_: &Ending, _: Dialect) -> Spelling<'_> {
    Spelling::Absent
}

/// The summary of a match in 003, where the choices are named after the players who made them:
/// `player_001_choice`.
struct Summary;

const CHOICE: &str = "_choice";

fn chooser(name: &str) -> Option<PlayerId> {
    player_id(name.strip_suffix(CHOICE)?).ok()
}

impl Slot<Ending> for Summary {
    fn read(&self, end: &mut Ending, raw: &RawValue, at: &Path<'_>, cx: &mut Cx<'_>) -> bool {
        let Some(members) = object(raw, at, cx.notes) else {
            return false;
        };
        let is_choice = |name: &str| chooser(name).is_some();
        let mut choices = Vec::new();
        for (name, raw) in members.iter().filter(|(name, _)| is_choice(name)) {
            let choice = Value::read(raw, &at.member(name, true), cx);
            choices.push((name.to_owned(), choice));
        }
        let facts = members.iter().filter(|(name, _)| !is_choice(name));
        let (_, extra) = SUMMARY_FACTS.take(end, facts, at, cx);
        extra_fields(&extra, at, cx.notes);
        end.parts.choices = Some(Dict(choices));
        true
    }

    fn spell<'m>(&self, end: &'m Ending, dialect: Dialect) -> Spelling<'m> {
        let choices = end.result.players.iter().map(|player| {
            let choice = end.result.choices.get(player);
            let name = format!("{}{CHOICE}", player_name(player));
            (
                Cow::Owned(name),
                choice.map_or(Spelling::Null, Spelling::json),
            )
        });
        let mut entries: Vec<_> = choices.collect();
        if let Spelling::Entries(facts) = SUMMARY_FACTS.spell(end, dialect) {
            entries.extend(facts);
        }
        Spelling::Entries(entries)
    }

    fn schema(&self, dialect: Dialect, reading: Reading) -> Value {
        let mut schema = Value::from(SUMMARY_FACTS.schema(dialect, reading));
        schema["patternProperties"] = serde_json::json!({"^player_.+_choice$": {}});
        schema
    }
}

impl OpenedDraw {
    /// Who had a share in the draw.
    fn guarantee(&self) -> &'static str {
        let shares = self.nonces.iter().filter(|nonce| !nonce.is_empty()).count();
        ["commitment", "one nonce", "both nonces"][shares]
    }
}

/// The shares of seat A and seat B.
struct Pair;

impl Codec<[String; 2]> for Pair {
    fn read(raw: &RawValue, at: &Path<'_>, cx: &mut Cx<'_>) -> Option<[String; 2]> {
        Vec::<String>::read(raw, at, cx)?.try_into().ok()
    }

    fn spell(shares: &[String; 2], dialect: Dialect) -> Spelling<'_> {
        crate::shape::spell_list(shares, dialect)
    }

    fn schema(dialect: Dialect, reading: Reading) -> Value {
        Vec::<String>::schema(dialect, reading)
    }
}

impl Closed for MatchStatus {
    fn words(dialect: Dialect) -> &'static [(Self, &'static str)] {
        match dialect {
            Dialect::V2 | Dialect::V2Api => &[
                (Self::Win, "WIN"),
                (Self::Draw, "DRAW"),
                (Self::TechnicalLoss, "TECHNICAL_LOSS"),
            ],
            Dialect::V1 => &[
                (Self::Win, "WIN"),
                (Self::Draw, "DRAW"),
                (Self::TechnicalLoss, "FORFEIT"),
            ],
        }
    }
}

/// How a match ended for its receiver.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Side {
    Win,
    Loss,
    Draw,
    TechnicalLoss,
}

impl Side {
    const fn status(self) -> MatchStatus {
        match self {
            Self::Win | Self::Loss => MatchStatus::Win,
            Self::Draw => MatchStatus::Draw,
            Self::TechnicalLoss => MatchStatus::TechnicalLoss,
        }
    }
}

impl Closed for Side {
    fn words(_: Dialect) -> &'static [(Self, &'static str)] {
        &[
            (Self::Win, "WIN"),
            (Self::Loss, "LOSS"),
            (Self::Draw, "DRAW"),
            (Self::TechnicalLoss, "TECHNICAL_LOSS"),
        ]
    }
}
