//! A result put together from what a message tells of it, and checked against itself.

use std::sync::Arc;

use serde_json::{Map, Value};

use crate::dialect::Hints;
use crate::dialect::names::player_id;
use crate::fault::Code;
use crate::finding::Path;
use crate::id::{GameType, PlayerId};
use crate::message::play::Role;
use crate::message::{EVEN_ODD, Message};
use crate::shape::{Cx, Dict, Field, RowStates};

use super::{
    Ending, GAME_OVER, GameOver, MatchResult, MatchResultReport, MatchStatus, NUMBER, PARITY,
    ResultParts, Score, Side, chooser,
};

/// How an ending is put together from what was read.
impl Ending {
    pub(crate) fn set_winner(&mut self, winner: Field<String>) {
        self.parts.winner = winner;
    }

    pub(crate) fn set_winner_id(&mut self, winner: Field<PlayerId>) {
        self.parts.winner_id = winner;
    }

    /// Puts the facts of Even/Odd among the details.
    fn tell_facts(&mut self) {
        let parts = &mut self.parts;
        if let Some(number) = parts.number.take() {
            parts.details.insert(NUMBER.into(), number);
        }
        if let Some(parity) = parts.parity.take() {
            parts.details.insert(PARITY.into(), parity.into());
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
            order_token: self.order_token,
            game_over_told: self.game_over_told,
            game_type: self.game_type,
            result: Arc::new(result),
        }
    }

    pub(crate) fn finish_over(
        mut self,
        seen: &RowStates<Self>,
        cx: &mut Cx<'_>,
    ) -> Option<Message> {
        let at = &seen.at();
        if !seen.has("game_result") {
            return None;
        }
        self.tell_facts();
        let at = at.member("game_result", true);
        let result = self.parts.result("winner_player_id", &at, cx)?;
        Some(self.over(result, cx.hints).into())
    }

    pub(crate) fn finish_report(
        mut self,
        seen: &RowStates<Self>,
        cx: &mut Cx<'_>,
    ) -> Option<Message> {
        let at = &seen.at();
        if !seen.has("result") {
            return None;
        }
        if let Some(number) = self.parts.number.take() {
            self.parts.details.entry(NUMBER).or_insert(number);
        }
        let at = at.member("result", true);
        let result = self.parts.result("winner", &at, cx)?;
        Some(self.report(result).into())
    }

    /// Turns the receiver's side into both; the message does not name them, the reader knows.
    pub(crate) fn finish_for_receiver(
        mut self,
        seen: &RowStates<Self>,
        cx: &mut Cx<'_>,
    ) -> Option<Message> {
        let at = &seen.at();
        let place = &at.member("winner_player_id", true);
        let (reader, opponent) = (cx.hints.reader(place, cx.notes)?, cx.hints.opponent());
        let side = self.parts.side?;
        let is_null = matches!(self.parts.winner_id, Field::Null);
        let winner = self.parts.winner_id.get();
        let is_reader = winner
            .filter(|_| !cx.hints.placeholders)
            .map(|winner| *winner == reader);
        let contradicted = match side {
            Side::Draw => self.parts.winner_id.get().is_some(),
            Side::Win => is_null || is_reader == Some(false),
            Side::Loss => is_null || is_reader == Some(true),
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
        self.parts.status = Some(side.status());
        self.parts.winner = winner.map_or(Field::Null, |id| Field::Is(id.to_string()));
        self.parts.score = Some(self.parts.score_of(&reader, &opponent, side, winner));
        self.parts.parity = parity(self.parts.number.as_ref(), &self.game_type);
        let choices = [
            (reader, self.parts.own_choice.take()),
            (opponent, self.parts.other_choice.take()),
        ];
        let chosen = choices
            .into_iter()
            .filter_map(|(id, choice)| Some((id.to_string(), Some(choice?))));
        self.parts.choices = Some(Dict(chosen.collect()));
        self.tell_facts();
        let place = Path::root(GAME_OVER.clause);
        let result =
            self.parts
                .result("winner_player_id", &place.member("game_result", true), cx)?;
        Some(self.over(result, cx.hints).into())
    }

    /// The one message for both: told to a player it is the end of its match, else a report.
    pub(crate) fn finish_v1(mut self, seen: &RowStates<Self>, cx: &mut Cx<'_>) -> Option<Message> {
        let at = &seen.at();
        if !seen.has("result") {
            return None;
        }
        if let Some(game_type) = self.parts.game_type.take() {
            self.game_type = game_type;
        }
        self.parts.by_ids(&at.member("result", true), cx)?;
        self.tell_facts();
        let place = Path::root(GAME_OVER.clause);
        let result =
            self.parts
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

impl ResultParts {
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
            evidence: std::mem::take(&mut self.evidence),
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

/// The two players whose points are parts.
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
