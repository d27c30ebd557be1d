//! How a match ended, and what that is worth.

use std::borrow::Cow;
use std::sync::{Arc, LazyLock};

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::dialect::Hints;
use crate::dialect::names::{player_id, player_name};
use crate::fault::Code;
use crate::finding::{Path, Reading};
use crate::id::{GameType, LeagueId, MatchId, PlayerId};
use crate::lenient::extra_fields;
use crate::secret::{Commitment, Seed};
use crate::sender::Dialect;
use crate::shape::{
    Closed, Codec, Cx, Dict, Field, Quiet, Round, Seen, Slot, Spelled, Value as _, Vocabulary as _,
    drafts, object, objects,
};

use super::by_player::ByPlayer;
use super::forms::parts;
use super::play::Role;
use super::{EVEN_ODD, Message};

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
    /// The secret behind it.
    pub seed: Seed,
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
        "status" [Ending::spell_status => told.status ?] Needed;
        /// Who won, or null.
        "winner_player_id" [by String, Ending::spell_winner, Ending::set_winner] ExpectedOrNull;
        /// The number that was drawn.
        "drawn_number" [Ending::spell_number => told.number ?] Optional or null;
        /// Whether that number is even or odd.
        "number_parity" [Ending::spell_parity => told.parity ?] Optional or null;
        /// What each player chose.
        "choices" [Ending::spell_choices => told.choices ?] Expected;
        /// One sentence for people.
        "reason" [Ending::spell_reason => told.reason ?] Expected;
        /// The points of each player.
        "score" [Ending::spell_score => told.score ?] Optional;
        /// Who did not play, and for what cause.
        "failed" [Ending::spell_failed => told.failed ?] Optional;
        /// What else the game tells of its end.
        "details" [Ending::spell_other_details => told.details] Optional;
        /// All that is needed to draw the number again (ruling 27).
        "draw" [Ending::spell_draw => told.draw ? as DrawRecord] Optional;
    }
    /// All that is needed to draw the number again.
    DRAW_RECORD: OpenedDraw = "ruling 27" {
        /// The hash of the seed, promised before the round.
        "commitment" [commitment as Quiet] Needed;
        /// The secret behind it.
        "seed" [seed as Quiet] Needed;
        /// Counts the referees that were told to run this match, from 1.
        "attempt" [attempt] Needed;
        /// The players' own shares, empty where a player sent none.
        "nonces" [nonces as Pair] Needed;
        /// Who had a share in the draw: `commitment`, `one nonce` or `both nonces`.
        "guarantee" [= String, |draw, _| Spelled::text(draw.guarantee())] Optional;
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
        /// How it ended.
        "result" [inside REPORT_RESULT] Needed;
    }
    /// How a match ended, as the manager is told.
    REPORT_RESULT: Ending = "000 §4.6.2" {
        /// Who won, or null.
        "winner" [by String, Ending::spell_winner, Ending::set_winner] ExpectedOrNull;
        /// The points of each player.
        "score" [Ending::spell_score => told.score ?] Needed;
        /// How it came about.
        "details" [inside REPORT_DETAILS] Expected;
    }
    /// How a result came about.
    REPORT_DETAILS: Ending = "000 §4.6.2" {
        /// The number that was drawn.
        "drawn_number" [Ending::spell_number => told.number ?] Optional or null;
        /// What each player chose.
        "choices" [Ending::spell_choices => told.choices ?] Expected;
        /// Which of the three ways.
        "status" [Ending::spell_status => told.status ?] Optional;
        /// Who did not play, and for what cause.
        "failed" [Ending::spell_failed => told.failed ?] Optional;
        /// One sentence for people.
        "reason" [Ending::spell_reason => told.reason ?] Optional;
        /// What else the game tells of its end.
        "game" [Ending::spell_details => told.details] Optional;
        /// All that is needed to draw the number again (ruling 27).
        "draw" [Ending::spell_draw => told.draw ? as DrawRecord] Optional;
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
        "role" [Ending::spell_role => told.role ?] Optional;
        /// The number that was drawn, or null where none was.
        "drawn_number" [Ending::spell_number => told.number ?] ExpectedOrNull;
        /// What the receiver chose, or null.
        "your_choice" [Ending::spell_own_choice => told.own_choice ?] ExpectedOrNull;
        /// What its opponent chose, or null.
        "opponent_choice" [Ending::spell_other_choice => told.other_choice ?] ExpectedOrNull;
        /// How it ended for the receiver.
        "result" [Ending::spell_side => told.side ?] Needed;
        /// What that is worth.
        "points_earned" [Ending::spell_points => told.points ?] Expected;
        /// Who won, or null: after a technical loss it may be nobody.
        "winner_player_id" [by PlayerId, Ending::spell_winner, Ending::set_winner_id] Optional or null;
        /// One sentence for people.
        "reason" [Ending::spell_reason => told.reason ?] Optional;
        /// What else the game tells of its end.
        "details" [Ending::spell_other_details => told.details] Optional;
        /// All that is needed to draw the number again (ruling 27).
        "draw" [Ending::spell_draw => told.draw ? as DrawRecord] Optional;
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
        "loser" [Ending::spell_loser => told.loser_id ?] ExpectedOrNull;
        /// Which of the three ways.
        "outcome" [Ending::spell_status => told.status ?] Needed;
        /// How it came about.
        "game_summary" [slot Summary] Expected;
    }
    /// How a result came about, apart from the choices, which are named after the players.
    SUMMARY_FACTS: Ending = "003 §GAME_RESULT" {
        /// The number that was drawn.
        "random_number" [Ending::spell_number => told.number ?] Optional;
        /// Whether that number is even or odd.
        "number_parity" [Ending::spell_parity => told.parity ?] Optional;
        /// One sentence for people.
        "winner_reason" [Ending::spell_reason => told.reason ?] Optional;
        /// The plays one by one, as the other form of the summary tells them.
        "moves" [unwritten => told.moves] Optional;
        /// The points of each player, by name.
        "points" [Ending::spell_score => told.score ?] Optional;
        /// Who did not play, and for what cause, by name.
        "failed" [Ending::spell_failed => told.failed ?] Optional;
        /// Counts the referees that were told to run this match, from 1.
        "attempt" [attempt ?] Optional;
        /// What was played, where it was not Even/Odd.
        "game_type" [Ending::spell_other_game => told.game_type ?] Optional;
        /// What else the game tells of its end.
        "details" [Ending::spell_other_details => told.details] Optional;
        /// All that is needed to draw the number again (ruling 27).
        "draw" [Ending::spell_draw => told.draw ? as DrawRecord] Optional;
    }
}

parts! {
    DrawRecord: OpenedDraw = DRAW_RECORD;
}

drafts! {
    Ending {
        league_id, round_id, match_id, game_type, attempt, receiver,
        result = |_| Arc::clone(&NO_RESULT), told = |_| Told::default()
    }
    OpenedDraw {
        commitment = |_| Commitment([0; 32]), seed = |_| Seed([0; 32]), attempt,
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
    receiver: PlayerId,
    /// How it ended, to be written.
    result: Arc<MatchResult>,
    /// How it ended, as it was read.
    told: Told,
}

/// What a message tells of a result, before it is put together.
#[derive(Default)]
struct Told {
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
            receiver: over.receiver.clone(),
            result: Arc::clone(&over.result),
            told: Told::default(),
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
            receiver: PlayerId::unknown(),
            result: Arc::clone(&report.result),
            told: Told::default(),
        }
    }
}

/// How an ending is spelled.
impl Ending {
    fn spell_status(&self, dialect: Dialect) -> Spelled<'_> {
        self.result.status.spell(dialect)
    }

    fn spell_details(&self, dialect: Dialect) -> Spelled<'_> {
        self.result.details.spell(dialect)
    }

    fn spell_role(&self, dialect: Dialect) -> Spelled<'_> {
        Spelled::text(self.role().word(dialect))
    }

    fn spell_side(&self, dialect: Dialect) -> Spelled<'_> {
        Spelled::text(self.side().word(dialect))
    }

    fn spell_points(&self, _: Dialect) -> Spelled<'_> {
        Spelled::Whole(self.result.points_of(&self.receiver).unwrap_or_default())
    }

    fn spell_own_choice(&self, _: Dialect) -> Spelled<'_> {
        self.spell_choice(&self.receiver)
    }

    fn spell_other_choice(&self, _: Dialect) -> Spelled<'_> {
        self.spell_choice(self.opponent())
    }

    fn spell_winner(&self, dialect: Dialect) -> Spelled<'_> {
        spell_player(self.result.winner.as_ref(), dialect)
    }

    fn spell_loser(&self, dialect: Dialect) -> Spelled<'_> {
        let winner = self.result.winner.as_ref();
        let mut players = self.result.players.iter();
        let loser = winner.and_then(|winner| players.find(|&player| player != winner));
        spell_player(loser, dialect)
    }

    fn spell_number(&self, _: Dialect) -> Spelled<'_> {
        let number = self.result.details.get(NUMBER);
        number.map_or(Spelled::Absent, Spelled::json)
    }

    fn spell_parity(&self, _: Dialect) -> Spelled<'_> {
        let parity = self.result.details.get(PARITY).and_then(Value::as_str);
        parity.map_or(Spelled::Absent, Spelled::text)
    }

    fn spell_choices(&self, dialect: Dialect) -> Spelled<'_> {
        let choices = self.result.choices.iter();
        by_player(
            choices.map(|(player, choice)| (player, Spelled::json(choice))),
            dialect,
        )
    }

    fn spell_choice(&self, player: &PlayerId) -> Spelled<'_> {
        let choice = self.result.choices.get(player);
        choice.map_or(Spelled::Absent, Spelled::json)
    }

    fn spell_reason(&self, _: Dialect) -> Spelled<'_> {
        Spelled::text(&self.result.reason)
    }

    fn spell_score(&self, dialect: Dialect) -> Spelled<'_> {
        let points = self.result.points.map(Spelled::Whole);
        by_player(self.result.players.iter().zip(points), dialect)
    }

    fn spell_failed(&self, dialect: Dialect) -> Spelled<'_> {
        let failed = &self.result.failed;
        if failed.is_empty() {
            return Spelled::Absent;
        }
        let causes = failed.iter();
        by_player(
            causes.map(|(player, code)| (player, code.spell(dialect))),
            dialect,
        )
    }

    fn spell_other_details(&self, _: Dialect) -> Spelled<'_> {
        let details = self.result.details.iter();
        let others: Vec<_> = details
            .filter(|(name, _)| *name != NUMBER && *name != PARITY)
            .map(|(name, value)| (name.into(), Spelled::json(value)))
            .collect();
        if others.is_empty() {
            return Spelled::Absent;
        }
        Spelled::Entries(others)
    }

    fn spell_draw(&self, dialect: Dialect) -> Spelled<'_> {
        let draw = self.result.draw.as_ref();
        draw.map_or(Spelled::Absent, |draw| DRAW_RECORD.spell(draw, dialect))
    }

    fn spell_other_game(&self, dialect: Dialect) -> Spelled<'_> {
        match self.game_type.as_str() {
            EVEN_ODD => Spelled::Absent,
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

fn spell_player(player: Option<&PlayerId>, dialect: Dialect) -> Spelled<'_> {
    player.map_or(Spelled::Absent, |player| player.spell(dialect))
}

/// Something by player, under the name that the dialect has for each.
fn by_player<'m>(
    entries: impl Iterator<Item = (&'m PlayerId, Spelled<'m>)>,
    dialect: Dialect,
) -> Spelled<'m> {
    let named = entries.map(|(player, spelled)| (player.text(dialect), spelled));
    Spelled::Entries(named.collect())
}

fn unwritten(_: &Ending, _: Dialect) -> Spelled<'_> {
    Spelled::Absent
}

/// How an ending is put together from what was read.
impl Ending {
    fn set_winner(&mut self, winner: Field<String>) {
        self.told.winner = winner;
    }

    fn set_winner_id(&mut self, winner: Field<PlayerId>) {
        self.told.winner_id = winner;
    }

    /// Puts the facts of Even/Odd among the details.
    fn tell_facts(&mut self) {
        let told = &mut self.told;
        if let Some(number) = told.number.take() {
            told.details.insert(NUMBER.into(), number);
        }
        if let Some(parity) = told.parity.take() {
            told.details.insert(PARITY.into(), parity.into());
        }
    }

    fn over(self, result: MatchResult, hints: &Hints<'_>) -> GameOver {
        GameOver {
            league_id: self.league_id,
            round_id: self.round_id,
            match_id: self.match_id,
            game_type: self.game_type,
            receiver: hints.reader.unwrap_or(&result.players[0]).clone(),
            result: Arc::new(result),
        }
    }

    fn report(self, result: MatchResult) -> MatchResultReport {
        MatchResultReport {
            league_id: self.league_id,
            round_id: self.round_id,
            match_id: self.match_id,
            attempt: self.attempt.unwrap_or(1),
            game_type: self.game_type,
            result: Arc::new(result),
        }
    }

    pub(crate) fn finish_over(mut self, seen: &Seen<Self>, cx: &mut Cx<'_>) -> Option<Message> {
        let at = &seen.at();
        if !seen.has("game_result") {
            return None;
        }
        self.tell_facts();
        let at = at.member("game_result", true);
        let result = self.told.result("winner_player_id", &at, cx)?;
        Some(self.over(result, cx.hints).into())
    }

    pub(crate) fn finish_report(mut self, seen: &Seen<Self>, cx: &mut Cx<'_>) -> Option<Message> {
        let at = &seen.at();
        if !seen.has("result") {
            return None;
        }
        if let Some(number) = self.told.number.take() {
            self.told.details.entry(NUMBER).or_insert(number);
        }
        let at = at.member("result", true);
        let result = self.told.result("winner", &at, cx)?;
        Some(self.report(result).into())
    }

    /// Turns the receiver's side into both; the message does not name them, the reader knows.
    pub(crate) fn finish_for_receiver(
        mut self,
        seen: &Seen<Self>,
        cx: &mut Cx<'_>,
    ) -> Option<Message> {
        let at = &seen.at();
        let place = &at.member("winner_player_id", true);
        let (reader, opponent) = (cx.hints.reader(place, cx.notes)?, cx.hints.opponent());
        let side = self.told.side?;
        let is_null = matches!(self.told.winner_id, Field::Null);
        let contradicted = match side {
            Side::Draw => self.told.winner_id.get().is_some(),
            Side::Win | Side::Loss => is_null,
            Side::TechnicalLoss => false,
        };
        if contradicted {
            let detail = "a win or a loss has a winner and a draw has none; let the two agree";
            let expected = "a winner that fits the result";
            cx.refuse(Code::InvalidMessage, place, expected, detail);
            return None;
        }
        let winner = match side {
            Side::Win => Some(&reader),
            Side::Loss => Some(&opponent),
            Side::Draw => None,
            Side::TechnicalLoss => Some(&opponent).filter(|_| !is_null),
        };
        self.told.status = Some(side.status());
        self.told.winner = winner.map_or(Field::Null, |id| Field::Is(id.to_string()));
        self.told.score = Some(self.told.score_of(&reader, &opponent, side, winner));
        self.told.parity = parity(self.told.number.as_ref(), &self.game_type);
        let choices = [
            (reader, self.told.own_choice.take()),
            (opponent, self.told.other_choice.take()),
        ];
        let chosen = choices
            .into_iter()
            .filter_map(|(id, choice)| Some((id.to_string(), Some(choice?))));
        self.told.choices = Some(Dict(chosen.collect()));
        self.tell_facts();
        let place = Path::root(GAME_OVER.clause);
        let result =
            self.told
                .result("winner_player_id", &place.member("game_result", true), cx)?;
        Some(self.over(result, cx.hints).into())
    }

    /// The one message for both: told to a player it is the end of its match, else a report.
    pub(crate) fn finish_v1(mut self, seen: &Seen<Self>, cx: &mut Cx<'_>) -> Option<Message> {
        let at = &seen.at();
        if !seen.has("result") {
            return None;
        }
        if let Some(game_type) = self.told.game_type.take() {
            self.game_type = game_type;
        }
        self.told.by_ids(&at.member("result", true), cx)?;
        self.tell_facts();
        let place = Path::root(GAME_OVER.clause);
        let result =
            self.told
                .result("winner_player_id", &place.member("game_result", true), cx)?;
        if cx.hints.reader.is_some() {
            return Some(self.over(result, cx.hints).into());
        }
        Some(self.report(result).into())
    }
}

/// Even or odd, which the API page leaves to the reader.
fn parity(number: Option<&Value>, game_type: &GameType) -> Option<String> {
    let number = number?.as_u64()?;
    let word = if number.is_multiple_of(2) {
        "even"
    } else {
        "odd"
    };
    (game_type.as_str() == EVEN_ODD).then(|| word.to_owned())
}

impl Told {
    fn result(&mut self, winner_name: &str, at: &Path<'_>, cx: &mut Cx<'_>) -> Option<MatchResult> {
        let players = self.players(at, cx)?;
        let winner = self.find_winner(&players, &at.member(winner_name, true), cx)?;
        let status = self.status.unwrap_or(match &winner {
            Some(_) => MatchStatus::Win,
            None => MatchStatus::Draw,
        });
        let consistent = match status {
            MatchStatus::Win => winner.is_some(),
            MatchStatus::Draw => winner.is_none(),
            MatchStatus::TechnicalLoss => true,
        };
        if !consistent {
            let detail = "a win has a winner and a draw has none; let the two agree";
            let expected = "a winner that fits the status";
            let at = at.member(winner_name, true);
            cx.refuse(Code::InvalidMessage, &at, expected, detail);
            return None;
        }
        let points = players.each_ref().map(|player| {
            let mut told = known(self.score.as_ref());
            let told = told.find(|(id, _)| id == player);
            told.map_or_else(
                || usual(player, winner.as_ref(), status),
                |(_, points)| *points,
            )
        });
        let choices = known(self.choices.as_ref());
        let failed = known(self.failed.as_ref());
        Some(MatchResult {
            points,
            status,
            winner,
            failed: failed.map(|(id, code)| (id, *code)).collect(),
            choices: choices.map(|(id, choice)| (id, choice.clone())).collect(),
            details: std::mem::take(&mut self.details),
            reason: self.reason.take().unwrap_or_default(),
            draw: self.draw.take(),
            players,
        })
    }

    /// Who won: a player of the match or nobody, for whom some write `DRAW` (ruling 9).
    fn find_winner(
        &self,
        players: &[PlayerId; 2],
        at: &Path<'_>,
        cx: &mut Cx<'_>,
    ) -> Option<Option<PlayerId>> {
        const EXPECTED: &str = "a player of the match, or null";
        let named = match &self.winner {
            Field::Absent | Field::Null => return Some(None),
            Field::Is(name) if name == "DRAW" => {
                let (at, detail) = (at.under("ruling 9"), "`DRAW` is no player; send null");
                cx.forgive(Code::InvalidMessage, &at, EXPECTED, detail);
                return Some(None);
            }
            Field::Is(name) => players.iter().find(|player| player.as_str() == name),
            Field::Unreadable => None,
        };
        if named.is_none() {
            let [a, b] = players;
            let detail = format!("the winner must be {a} or {b}, or null");
            cx.refuse(Code::InvalidMessage, at, EXPECTED, detail);
        }
        named.cloned().map(Some)
    }

    /// Both players, from whichever part of the message names them both; no part names a third.
    fn players(&self, at: &Path<'_>, cx: &mut Cx<'_>) -> Option<[PlayerId; 2]> {
        let chose: Vec<_> = known(self.choices.as_ref()).map(|(id, _)| id).collect();
        let players = match (&self.score, <[PlayerId; 2]>::try_from(chose)) {
            (Some(score), _) => two(score, &at.member("score", true), cx)?,
            (None, Ok(chose)) => chose,
            (None, Err(chose)) => {
                let winner = self.winner.get().and_then(|name| PlayerId::new(name).ok());
                let winner = winner.filter(|id| id.as_str() != "DRAW");
                let failed = known(self.failed.as_ref()).map(|(id, _)| id);
                let named = chose.into_iter().chain(failed).chain(winner);
                cx.hints.both(named, &at.member("score", true), cx.notes)?
            }
        };
        let is_strange = |name: &str| !players.iter().any(|player| player.as_str() == name);
        let strangers = [
            ("choices", names(self.choices.as_ref()).any(is_strange)),
            ("failed", names(self.failed.as_ref()).any(is_strange)),
        ];
        if let Some((name, _)) = strangers.into_iter().find(|(_, strange)| *strange) {
            let detail = "somebody is named who is not in the match; name the two players";
            let at = at.member(name, true);
            cx.refuse(Code::InvalidMessage, &at, "the two players", detail);
            return None;
        }
        Some(players)
    }

    /// The points of both, seat A first; the opponent's follow from how it ended.
    fn score_of(
        &self,
        reader: &PlayerId,
        opponent: &PlayerId,
        side: Side,
        winner: Option<&PlayerId>,
    ) -> Dict<u32> {
        let status = side.status();
        let own = self.points.unwrap_or_else(|| usual(reader, winner, status));
        let others = match side {
            Side::Draw => own,
            _ => usual(opponent, winner, status),
        };
        let mut points = vec![
            (reader.to_string(), Some(own)),
            (opponent.to_string(), Some(others)),
        ];
        if self.role == Some(Role::B) {
            points.reverse();
        }
        Dict(points)
    }

    /// Says in ids what 003 says by names, with the players in seat order.
    fn by_ids(&mut self, at: &Path<'_>, cx: &mut Cx<'_>) -> Option<()> {
        let chosen = self.chosen();
        let seats = self.seats(&chosen, at, cx)?;
        let winner = self.v1_winner(&seats, at, cx)?;
        let status = self.status?;
        let points = seats.each_ref().map(|seat| {
            let told = self.score.as_ref().into_iter().flat_map(Dict::entries);
            let mut own = told.filter(|(name, _)| player_id(name).as_ref() == Ok(seat));
            let points = own.next().map(|(_, points)| *points);
            let points = points.unwrap_or_else(|| usual(seat, winner.as_ref(), status));
            (seat.to_string(), Some(points))
        });
        self.failed = Some(self.v1_failed(&seats, winner.as_ref(), status));
        let choices = chosen.into_iter();
        let choices = choices.filter_map(|(id, choice)| Some((id.to_string(), Some(choice?))));
        self.choices = Some(Dict(choices.collect()));
        let last_number = || last_move(&self.moves)?.get("number").cloned();
        self.number = self.number.take().or_else(last_number);
        self.score = Some(Dict(points.into()));
        self.winner = winner.map_or(Field::Null, |id| Field::Is(id.to_string()));
        Some(())
    }

    /// What each player chose: from the names that end in `_choice`, or from the last move.
    fn chosen(&self) -> Vec<(PlayerId, Option<Value>)> {
        let named = self.choices.as_ref().into_iter().flat_map(Dict::entries);
        let chosen: Vec<_> = named
            .filter_map(|(name, choice)| {
                let choice = Some(choice.clone()).filter(|choice| !choice.is_null());
                Some((chooser(name)?, choice))
            })
            .collect();
        if !chosen.is_empty() {
            return chosen;
        }
        let moves = last_move(&self.moves).into_iter().flatten();
        moves
            .filter_map(|(name, choice)| Some((player_id(name).ok()?, Some(choice.clone()))))
            .collect()
    }

    /// Both seats, from whichever part of the message names both players.
    fn seats(
        &self,
        chosen: &[(PlayerId, Option<Value>)],
        at: &Path<'_>,
        cx: &mut Cx<'_>,
    ) -> Option<[PlayerId; 2]> {
        if let [(first, _), (second, _)] = chosen {
            return Some([first.clone(), second.clone()]);
        }
        match (self.winner_id.get(), &self.loser_id) {
            (Some(winner), Some(loser)) => Some([winner.clone(), loser.clone()]),
            (winner, loser) => {
                let chose = chosen.iter().map(|(id, _)| id);
                let named = chose.chain(winner).chain(loser).cloned();
                cx.hints.both(named, &at.member("winner", true), cx.notes)
            }
        }
    }

    /// Who won, which a win cannot do without; the loser's name tells it as well.
    fn v1_winner(
        &self,
        seats: &[PlayerId; 2],
        at: &Path<'_>,
        cx: &mut Cx<'_>,
    ) -> Option<Option<PlayerId>> {
        let status = self.status?;
        let other = |loser: &PlayerId| seats.iter().find(|&seat| seat != loser);
        let by_loser = || self.loser_id.as_ref().and_then(other);
        let named = self.winner_id.get().or_else(by_loser);
        let (code, detail) = match (named, status) {
            (Some(_), MatchStatus::Draw) => (
                Code::InvalidMessage,
                "a draw has no winner and no loser; send null",
            ),
            (None, MatchStatus::Draw | MatchStatus::TechnicalLoss) => return Some(None),
            (Some(winner), _) if seats.contains(winner) => return Some(Some(winner.clone())),
            (Some(_), _) => (
                Code::InvalidMessage,
                "the winner was not in the match; name one who was",
            ),
            (None, MatchStatus::Win) => (Code::MissingField, "a win needs a winner; name it"),
        };
        let at = &at.member("winner", true);
        cx.refuse(code, at, "a player of the match", detail);
        None
    }

    /// Who did not play; where no cause is told, silence is 003's own word for a forfeit.
    fn v1_failed(
        &self,
        seats: &[PlayerId; 2],
        winner: Option<&PlayerId>,
        status: MatchStatus,
    ) -> Dict<Code> {
        if let Some(told) = &self.failed {
            let told = told.entries();
            let by_id = told
                .filter_map(|(name, code)| Some((player_id(name).ok()?.to_string(), Some(*code))));
            return Dict(by_id.collect());
        }
        let silent = seats.iter().filter(|&seat| Some(seat) != winner);
        let silent = silent.filter(|_| status == MatchStatus::TechnicalLoss);
        Dict(
            silent
                .map(|seat| (seat.to_string(), Some(Code::Timeout)))
                .collect(),
        )
    }
}

/// The two players whose points are told.
fn two(score: &Dict<u32>, at: &Path<'_>, cx: &mut Cx<'_>) -> Option<[PlayerId; 2]> {
    let told: Vec<_> = known(Some(score)).map(|(id, _)| id).collect();
    let both = <[PlayerId; 2]>::try_from(told).ok();
    let both = both.filter(|_| score.0.len() == 2);
    if both.is_none() {
        let detail = "a score has the points of two players; name both and nobody else";
        let expected = "points by player id, for two";
        cx.refuse(Code::InvalidMessage, at, expected, detail);
    }
    both
}

/// What a result is worth to a player by the usual score.
fn usual(player: &PlayerId, winner: Option<&PlayerId>, status: MatchStatus) -> u32 {
    let score = Score::default();
    match status {
        _ if winner == Some(player) => score.win,
        MatchStatus::Draw => score.draw,
        MatchStatus::Win => score.loss,
        MatchStatus::TechnicalLoss => score.technical_loss,
    }
}

/// The entries whose names are ids.
fn known<T>(dict: Option<&Dict<T>>) -> impl Iterator<Item = (PlayerId, &T)> {
    let entries = dict.into_iter().flat_map(Dict::entries);
    entries.filter_map(|(name, value)| Some((PlayerId::new(name).ok()?, value)))
}

fn names<T>(dict: Option<&Dict<T>>) -> impl Iterator<Item = &str> {
    let entries = dict.into_iter().flat_map(|dict| &dict.0);
    entries.map(|(name, _)| name.as_str())
}

fn last_move(moves: &[Value]) -> Option<&Map<String, Value>> {
    moves.last()?.as_object()
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
        end.told.choices = Some(Dict(choices));
        true
    }

    fn spell<'m>(&self, end: &'m Ending, dialect: Dialect) -> Spelled<'m> {
        let choices = end.result.players.iter().map(|player| {
            let choice = end.result.choices.get(player);
            let name = format!("{}{CHOICE}", player_name(player));
            (
                Cow::Owned(name),
                choice.map_or(Spelled::Null, Spelled::json),
            )
        });
        let mut entries: Vec<_> = choices.collect();
        if let Spelled::Entries(facts) = SUMMARY_FACTS.spell(end, dialect) {
            entries.extend(facts);
        }
        Spelled::Entries(entries)
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

    fn spell(shares: &[String; 2], dialect: Dialect) -> Spelled<'_> {
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
