//! Results, errors, questions and answers, from `league.v2` to the model.

use std::sync::Arc;

use serde_json::{Map, Value};

use crate::dialect::Hints;
use crate::dialect::words::{QueryWord, StateWord};
use crate::fault::Code;
use crate::finding::{Notes, Path};
use crate::id::PlayerId;
use crate::message as model;
use crate::message::{MatchStatus, Query};
use crate::secret::{Commitment, Seed};
use crate::shape::{Any, Dict, Field, Parsed, Text, Whole};

use super::understand::needed;
use super::*;

/// What both tellings of a result hold, before it is put together.
struct Told<'x> {
    status: Option<MatchStatus>,
    winner: &'x Field<'x, Text<'x>>,
    winner_name: &'static str,
    score: Option<&'x Dict<'x, Whole>>,
    choices: Option<&'x Dict<'x, Any<'x>>>,
    failed: Option<&'x Dict<'x, Parsed<'x, Code>>>,
    details: Map<String, Value>,
    reason: Option<&'x str>,
    draw: Option<&'x DrawRecord<'x>>,
}

pub(super) fn game_over(
    over: &GameOver<'_>,
    hints: &Hints<'_>,
    at: &Path<'_>,
    notes: &mut Notes,
) -> Option<model::GameOver> {
    let result = over.game_result.get()?;
    let mut details = object(&result.details);
    if let Some(number) = result.drawn_number.get() {
        details.insert("drawn_number".into(), number.to_value());
    }
    if let Some(parity) = result.number_parity.text() {
        details.insert("number_parity".into(), parity.into());
    }
    let told = Told {
        status: result.status.value().copied().map(Into::into),
        winner: &result.winner_player_id,
        winner_name: "winner_player_id",
        score: result.score.get(),
        choices: result.choices.get(),
        failed: result.failed.get(),
        details,
        reason: result.reason.text(),
        draw: result.draw.get(),
    };
    let result = told.result(hints, &at.member("game_result", true), notes)?;
    Some(model::GameOver {
        league_id: hints.league(over.league_id.value()),
        round_id: over.round_id.get().map_or(0, |round| round.number()),
        match_id: over.match_id.value()?.clone(),
        game_type: hints.game(over.game_type.value()),
        receiver: hints.reader.unwrap_or(&result.players[0]).clone(),
        result: Arc::new(result),
    })
}

pub(super) fn result_report(
    report: &MatchResultReport<'_>,
    hints: &Hints<'_>,
    at: &Path<'_>,
    notes: &mut Notes,
) -> Option<model::MatchResultReport> {
    let result = report.result.get()?;
    let more = result.details.get();
    let mut details = more.map(|more| object(&more.game)).unwrap_or_default();
    if let Some(number) = more.and_then(|more| more.drawn_number.get()) {
        details
            .entry("drawn_number")
            .or_insert_with(|| number.to_value());
    }
    let told = Told {
        status: more
            .and_then(|more| more.status.value())
            .copied()
            .map(Into::into),
        winner: &result.winner,
        winner_name: "winner",
        score: result.score.get(),
        choices: more.and_then(|more| more.choices.get()),
        failed: more.and_then(|more| more.failed.get()),
        details,
        reason: more.and_then(|more| more.reason.text()),
        draw: more.and_then(|more| more.draw.get()),
    };
    Some(model::MatchResultReport {
        league_id: hints.league(report.league_id.value()),
        round_id: report.round_id.get().map_or(0, |round| round.number()),
        match_id: report.match_id.value()?.clone(),
        attempt: report.attempt.number().unwrap_or(1),
        game_type: hints.game(report.game_type.value()),
        result: Arc::new(told.result(hints, &at.member("result", true), notes)?),
    })
}

impl Told<'_> {
    fn result(
        &self,
        hints: &Hints<'_>,
        at: &Path<'_>,
        notes: &mut Notes,
    ) -> Option<model::MatchResult> {
        let players = self.players(hints, at, notes)?;
        let winner = self.winner(&players, &at.member(self.winner_name, true), notes)?;
        let status = self.status.unwrap_or(match winner {
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
            let at = at.member(self.winner_name, true);
            notes.refuse(
                Code::InvalidMessage,
                &at,
                "a winner that fits the status",
                detail,
            );
            return None;
        }
        Some(model::MatchResult {
            points: players
                .each_ref()
                .map(|player| self.points(player, winner.as_ref(), status)),
            status,
            winner,
            failed: by_player(self.failed)
                .map(|(id, code)| (id, code.value))
                .collect(),
            choices: by_player(self.choices)
                .map(|(id, choice)| (id, choice.to_value()))
                .collect(),
            details: self.details.clone(),
            reason: self.reason.unwrap_or_default().to_owned(),
            draw: self.draw.and_then(opened_draw),
            players,
        })
    }

    /// Who won: a player of the match or nobody, for whom some write `DRAW` (ruling 9).
    fn winner(
        &self,
        players: &[PlayerId; 2],
        at: &Path<'_>,
        notes: &mut Notes,
    ) -> Option<Option<PlayerId>> {
        const EXPECTED: &str = "a player of the match, or null";
        let named = match self.winner {
            Field::Absent | Field::Null => return Some(None),
            Field::Is(Text(name)) if name == "DRAW" => {
                let detail = "`DRAW` is no player; send null";
                notes.forgive(
                    Code::InvalidMessage,
                    &at.under("ruling 9"),
                    EXPECTED,
                    detail,
                );
                return Some(None);
            }
            Field::Is(Text(name)) => players.iter().find(|player| player.as_str() == name),
            Field::Unreadable(_) => None,
        };
        if named.is_none() {
            let detail = format!(
                "the winner must be {} or {}, or null",
                players[0], players[1]
            );
            notes.refuse(Code::InvalidMessage, at, EXPECTED, detail);
        }
        named.cloned().map(Some)
    }

    /// Both players, from whichever part of the message names them both; no part names a third.
    fn players(
        &self,
        hints: &Hints<'_>,
        at: &Path<'_>,
        notes: &mut Notes,
    ) -> Option<[PlayerId; 2]> {
        let scored = self
            .score
            .map(|score| two(score, &at.member("score", true), notes));
        let chose: Vec<_> = by_player(self.choices).map(|(id, _)| id).collect();
        let chose = <[PlayerId; 2]>::try_from(chose).ok();
        let players = match (scored, chose) {
            (Some(scored), _) => scored?,
            (None, Some(chose)) => chose,
            (None, None) => {
                let winner = self.winner.text().and_then(|name| PlayerId::new(name).ok());
                let winner = winner.filter(|id| id.as_str() != "DRAW");
                let named = by_player(self.choices).map(|(id, _)| id);
                let named = named.chain(by_player(self.failed).map(|(id, _)| id));
                hints.both(named.chain(winner), &at.member("score", true), notes)?
            }
        };
        let strangers = |dict: Option<Vec<&str>>| {
            let mut names = dict.into_iter().flatten();
            names.any(|name| !players.iter().any(|player| player.as_str() == name))
        };
        for (name, strange) in [
            ("choices", strangers(self.choices.map(names))),
            ("failed", strangers(self.failed.map(names))),
        ] {
            if strange {
                let detail = "somebody is named who is not in the match; name the two players";
                notes.refuse(
                    Code::InvalidMessage,
                    &at.member(name, true),
                    "the two players",
                    detail,
                );
                return None;
            }
        }
        Some(players)
    }

    fn points(&self, player: &PlayerId, winner: Option<&PlayerId>, status: MatchStatus) -> u32 {
        let told = by_player(self.score).find(|(id, _)| id == player);
        if let Some((_, points)) = told {
            return points.0;
        }
        let score = model::Score::default();
        match status {
            _ if winner == Some(player) => score.win,
            MatchStatus::Draw => score.draw,
            MatchStatus::Win => score.loss,
            MatchStatus::TechnicalLoss => score.technical_loss,
        }
    }
}

fn names<'x, T>(dict: &'x Dict<'_, T>) -> Vec<&'x str> {
    dict.0.iter().map(|(name, _)| name.as_ref()).collect()
}

/// The two players whose points are told.
fn two(score: &Dict<'_, Whole>, at: &Path<'_>, notes: &mut Notes) -> Option<[PlayerId; 2]> {
    let told: Vec<_> = by_player(Some(score)).map(|(id, _)| id).collect();
    let two = <[PlayerId; 2]>::try_from(told).ok();
    let two = two.filter(|_| score.0.len() == 2);
    if two.is_none() {
        let detail = "a score has the points of two players; name both and nobody else";
        notes.refuse(
            Code::InvalidMessage,
            at,
            "points by player id, for two",
            detail,
        );
    }
    two
}

fn by_player<'x, T>(dict: Option<&'x Dict<'x, T>>) -> impl Iterator<Item = (PlayerId, &'x T)> {
    let entries = dict.into_iter().flat_map(Dict::entries);
    entries.filter_map(|(name, value)| Some((PlayerId::new(name).ok()?, value)))
}

fn object(field: &Field<'_, Any<'_>>) -> Map<String, Value> {
    match field.get().map(Any::to_value) {
        Some(Value::Object(map)) => map,
        _ => Map::new(),
    }
}

fn opened_draw(draw: &DrawRecord<'_>) -> Option<model::OpenedDraw> {
    let nonces: Vec<String> = draw
        .nonces
        .get()?
        .values()
        .map(|Text(nonce)| nonce.clone().into_owned())
        .collect();
    Some(model::OpenedDraw {
        commitment: Commitment::from_hex(draw.commitment.text()?)?,
        seed: Seed::from_hex(draw.seed.text()?)?,
        attempt: draw.attempt.number()?,
        nonces: nonces.try_into().ok()?,
    })
}

pub(super) fn game_error(
    error: &GameError<'_>,
    hints: &Hints<'_>,
    at: &Path<'_>,
    notes: &mut Notes,
) -> Option<model::GameError> {
    let info = error.retry_info.get();
    let player = error
        .player_id
        .value()
        .or(error.affected_player.value())
        .cloned();
    let count = error
        .retry_count
        .number()
        .or_else(|| info?.retry_count.number());
    let most = error
        .max_retries
        .number()
        .or_else(|| info?.max_retries.number());
    let detail = error.context.get().map(Any::to_value);
    let detail = detail
        .as_ref()
        .and_then(|context| context["detail"].as_str());
    Some(model::GameError {
        league_id: hints.league(None),
        round_id: 0,
        match_id: error.match_id.value()?.clone(),
        player_id: player.or_else(|| hints.reader(&at.member("player_id", true), notes))?,
        code: *error.error_code.value()?,
        detail: detail
            .or(error.error_description.text())
            .unwrap_or_default()
            .to_owned(),
        action_required: owed(error.action_required.text()),
        state: error
            .game_state
            .value()
            .copied()
            .map_or(model::MatchState::CollectingChoices, StateWord::into),
        retry_count: count.unwrap_or_default(),
        max_retries: most.unwrap_or_default(),
        next_retry_at: info.and_then(|info| info.next_retry_at.value().copied()),
    })
}

/// The message that is owed, from the few that can be.
fn owed(text: Option<&str>) -> &'static str {
    match text {
        Some("GAME_JOIN_ACK") => "GAME_JOIN_ACK",
        Some("GAME_MOVE_RESPONSE") => "GAME_MOVE_RESPONSE",
        _ => "CHOOSE_PARITY_RESPONSE",
    }
}

pub(super) fn league_error(error: &LeagueError<'_>) -> Option<model::LeagueError> {
    let mut context = object(&error.context);
    let told = context
        .remove("detail")
        .and_then(|detail| detail.as_str().map(str::to_owned));
    let path = context
        .remove("path")
        .and_then(|path| path.as_str().map(str::to_owned));
    let described = error.error_description.text().unwrap_or_default();
    Some(model::LeagueError {
        code: *error.error_code.value()?,
        original_message_type: error.original_message_type.text().map(str::to_owned),
        detail: told.unwrap_or_else(|| described.to_owned()),
        path,
        context,
    })
}

pub(super) fn league_query(
    query: &LeagueQuery<'_>,
    hints: &Hints<'_>,
    at: &Path<'_>,
    notes: &mut Notes,
) -> Option<model::LeagueQuery> {
    let asked = query
        .query_params
        .get()
        .and_then(|params| params.player_id.value());
    let params = at.member("query_params", true);
    let mut player = || {
        let player = asked.or(hints.reader).cloned();
        needed(
            player,
            "player_id",
            "the player the question is about",
            &params,
            notes,
        )
    };
    Some(model::LeagueQuery {
        league_id: query.league_id.value().cloned(),
        query: match query.query_type.value()? {
            QueryWord::Standings => Query::Standings,
            QueryWord::Schedule => Query::Schedule,
            QueryWord::NextMatch => Query::NextMatch(player()?),
            QueryWord::PlayerStats => Query::PlayerStats(player()?),
        },
        by_api_page: false,
    })
}
