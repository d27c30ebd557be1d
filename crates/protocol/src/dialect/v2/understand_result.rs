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
    winner: Option<&'x str>,
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
        winner: result.winner_player_id.text(),
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
        winner: result.winner.text(),
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
        let winner = self.winner.filter(|&winner| winner != "DRAW");
        let winner = winner.and_then(|winner| PlayerId::new(winner).ok());
        let status = self.status.unwrap_or(match winner {
            Some(_) => MatchStatus::Win,
            None => MatchStatus::Draw,
        });
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

    /// Both players, from whichever part of the message names them both.
    fn players(
        &self,
        hints: &Hints<'_>,
        at: &Path<'_>,
        notes: &mut Notes,
    ) -> Option<[PlayerId; 2]> {
        let scored: Vec<_> = by_player(self.score).map(|(id, _)| id).collect();
        let chose: Vec<_> = by_player(self.choices).map(|(id, _)| id).collect();
        for named in [scored, chose] {
            if let Ok([first, second]) = <[PlayerId; 2]>::try_from(named) {
                return Some([first, second]);
            }
        }
        Some([hints.reader(at, notes)?, hints.opponent(at, notes)?])
    }

    fn points(&self, player: &PlayerId, winner: Option<&PlayerId>, status: MatchStatus) -> u32 {
        let told = by_player(self.score).find(|(id, _)| id == player);
        if let Some((_, points)) = told {
            return u32::try_from(points.0).unwrap_or(u32::MAX);
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
        player_id: player.or_else(|| hints.reader(at, notes))?,
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

pub(super) fn query_response(
    response: &LeagueQueryResponse<'_>,
    hints: &Hints<'_>,
) -> Option<model::LeagueQueryResponse> {
    let data = response.data.get().map(Any::to_value).unwrap_or_default();
    let error = response.error.get().map(Any::to_value);
    let query = response
        .query_type
        .value()
        .copied()
        .unwrap_or(QueryWord::Standings);
    let answer = if response.success.get()?.0 {
        super::understand_answer::answer(query, data)
    } else {
        Err(match error {
            Some(Value::String(why)) => why,
            Some(other) => other.to_string(),
            None => "no reason given".to_owned(),
        })
    };
    Some(model::LeagueQueryResponse {
        league_id: hints.league(response.league_id.value()),
        query_type: query.as_str(),
        answer,
        by_api_page: false,
    })
}
