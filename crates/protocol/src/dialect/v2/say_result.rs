//! Results, errors and answers, from the model to `league.v2`.

use serde_json::{Map, Value, json};

use crate::dialect::build::{flag, id, round, seconds, text, whole};
use crate::dialect::words::{QueryWord, StateWord, StatusWord};
use crate::id::PlayerId;
use crate::message as model;
use crate::shape::{Any, Dict, Extra, Field, List, Parsed, Text, Whole};

use super::*;

/// The facts of Even/Odd that have fields of their own.
const OWN_FIELDS: [&str; 2] = ["drawn_number", "number_parity"];

pub(super) fn game_over(over: &model::GameOver) -> GameOver<'_> {
    let result = &*over.result;
    GameOver {
        league_id: id(&over.league_id),
        round_id: round(over.round_id),
        match_id: id(&over.match_id),
        game_type: id(&over.game_type),
        game_result: Field::Is(GameResult {
            status: Field::Is(StatusWord::from(result.status).wire()),
            winner_player_id: Field::or_null(result.winner.as_ref().map(|id| id.as_str().into())),
            drawn_number: Field::or_null(result.details.get(OWN_FIELDS[0]).map(Any::from)),
            number_parity: Field::or_null(
                result
                    .details
                    .get(OWN_FIELDS[1])
                    .and_then(Value::as_str)
                    .map(Text::from),
            ),
            choices: Field::Is(choices(result)),
            reason: text(&result.reason),
            score: Field::Is(score(result)),
            failed: failed(result),
            details: other_details(result),
            draw: Field::or_absent(result.draw.as_ref().map(draw_record)),
            extra: Extra::default(),
        }),
        extra: Extra::default(),
    }
}

pub(super) fn result_report(report: &model::MatchResultReport) -> MatchResultReport<'_> {
    let result = &*report.result;
    MatchResultReport {
        league_id: id(&report.league_id),
        round_id: round(report.round_id),
        match_id: id(&report.match_id),
        game_type: id(&report.game_type),
        attempt: whole(report.attempt),
        result: Field::Is(ReportResult {
            winner: Field::or_null(result.winner.as_ref().map(|id| id.as_str().into())),
            score: Field::Is(score(result)),
            details: Field::Is(ReportDetails {
                drawn_number: Field::or_null(result.details.get(OWN_FIELDS[0]).map(Any::from)),
                choices: Field::Is(choices(result)),
                status: Field::Is(StatusWord::from(result.status).wire()),
                failed: failed(result),
                reason: text(&result.reason),
                game: Field::Is(Value::Object(result.details.clone()).into()),
                draw: Field::or_absent(result.draw.as_ref().map(draw_record)),
                extra: Extra::default(),
            }),
            extra: Extra::default(),
        }),
        extra: Extra::default(),
    }
}

fn choices(result: &model::MatchResult) -> Dict<'_, Any<'_>> {
    let choices = result.choices.iter();
    Dict::of(choices.map(|(player, choice)| (player.as_str(), Any::from(choice))))
}

fn score(result: &model::MatchResult) -> Dict<'_, Whole> {
    let [a, b] = result.points;
    let players = result.players.iter().map(PlayerId::as_str);
    Dict::of(players.zip([Whole(a), Whole(b)]))
}

fn failed(result: &model::MatchResult) -> Field<'_, Dict<'_, Parsed<'_, crate::fault::Code>>> {
    if result.failed.is_empty() {
        return Field::Absent;
    }
    let failed = result.failed.iter();
    Field::Is(Dict::of(
        failed.map(|(player, code)| (player.as_str(), code.wire())),
    ))
}

fn other_details(result: &model::MatchResult) -> Field<'_, Any<'_>> {
    let others: Map<String, Value> = result
        .details
        .iter()
        .filter(|(name, _)| !OWN_FIELDS.contains(&name.as_str()))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    if others.is_empty() {
        Field::Absent
    } else {
        Field::Is(Value::Object(others).into())
    }
}

pub(crate) fn draw_record(draw: &model::OpenedDraw) -> DrawRecord<'_> {
    let shares = draw.nonces.iter().filter(|nonce| !nonce.is_empty()).count();
    DrawRecord {
        commitment: text(draw.commitment.to_hex()),
        seed: text(draw.seed.to_hex()),
        attempt: whole(draw.attempt),
        nonces: Field::Is(List::of(
            draw.nonces.iter().map(|nonce| nonce.as_str().into()),
        )),
        guarantee: text(["commitment", "one nonce", "both nonces"][shares]),
        extra: Extra::default(),
    }
}

pub(super) fn game_error(error: &model::GameError) -> GameError<'_> {
    GameError {
        match_id: id(&error.match_id),
        player_id: id(&error.player_id),
        affected_player: id(&error.player_id),
        error_code: Field::Is(error.code.wire()),
        error_name: text(error.code.name()),
        error_description: text(error.code.name()),
        game_state: Field::Is(StateWord::from(error.state).wire()),
        retryable: flag(error.next_retry_at.is_some()),
        action_required: text(error.action_required),
        retry_count: whole(error.retry_count),
        max_retries: whole(error.max_retries),
        retry_info: Field::Is(RetryInfo {
            retry_count: whole(error.retry_count),
            max_retries: whole(error.max_retries),
            next_retry_at: Field::or_null(error.next_retry_at.map(seconds)),
            extra: Extra::default(),
        }),
        consequence: text(match error.next_retry_at {
            Some(_) => "Technical loss if max retries exceeded",
            None => "Technical loss",
        }),
        context: Field::Is(json!({"detail": error.detail}).into()),
        extra: Extra::default(),
    }
}

pub(super) fn league_error(error: &model::LeagueError) -> LeagueError<'_> {
    let mut context = error.context.clone();
    context.insert("detail".into(), error.detail.as_str().into());
    if let Some(path) = &error.path {
        context.insert("path".into(), path.as_str().into());
    }
    LeagueError {
        error_code: Field::Is(error.code.wire()),
        error_name: text(error.code.name()),
        error_description: text(error.code.name()),
        original_message_type: Field::or_null(
            error.original_message_type.as_deref().map(Text::from),
        ),
        context: Field::Is(Value::Object(context).into()),
        retryable: flag(error.code.retryable()),
        extra: Extra::default(),
    }
}

pub(super) fn league_query(query: &model::LeagueQuery) -> LeagueQuery<'_> {
    let (word, player) = match &query.query {
        model::Query::Standings => (QueryWord::Standings, None),
        model::Query::Schedule => (QueryWord::Schedule, None),
        model::Query::NextMatch(player) => (QueryWord::NextMatch, Some(player)),
        model::Query::PlayerStats(player) => (QueryWord::PlayerStats, Some(player)),
    };
    LeagueQuery {
        league_id: Field::or_absent(query.league_id.as_ref().map(Parsed::from)),
        query_type: Field::Is(word.wire()),
        query_params: Field::or_absent(player.map(|player| QueryParams {
            player_id: id(player),
            extra: Extra::default(),
        })),
        extra: Extra::default(),
    }
}

pub(super) fn query_response(response: &model::LeagueQueryResponse) -> LeagueQueryResponse<'_> {
    let word = match response.query_type {
        "GET_SCHEDULE" => QueryWord::Schedule,
        "GET_NEXT_MATCH" => QueryWord::NextMatch,
        "GET_PLAYER_STATS" => QueryWord::PlayerStats,
        _ => QueryWord::Standings,
    };
    LeagueQueryResponse {
        league_id: id(&response.league_id),
        query_type: Field::Is(word.wire()),
        success: flag(response.answer.is_ok()),
        data: Field::or_absent(
            response
                .answer
                .as_ref()
                .ok()
                .map(|a| answer(response, a).into()),
        ),
        error: Field::or_absent(response.answer.as_ref().err().map(|why| json!(why).into())),
        extra: Extra::default(),
    }
}

fn answer(response: &model::LeagueQueryResponse, answer: &model::QueryAnswer) -> Value {
    match answer {
        model::QueryAnswer::Standings { round_id, rows } => json!({
            "league_id": response.league_id,
            "round_id": round_id,
            "standings": rows.iter().map(super::say::standing_row).collect::<Vec<_>>(),
        }),
        model::QueryAnswer::Schedule {
            total_rounds,
            rounds,
        } => json!({
            "total_rounds": total_rounds,
            "rounds": rounds.iter().map(listing).collect::<Vec<_>>(),
        }),
        model::QueryAnswer::NextMatch(next) => json!({"next_match": {
            "match_id": next.match_id,
            "round_id": next.round_id,
            "opponent_id": next.opponent_id,
            "referee_endpoint": next.referee_endpoint,
        }}),
        model::QueryAnswer::PlayerStats(stats) => {
            let mut row = json!(super::say::standing_row(&stats.row));
            row["technical_losses"] = stats.row.technical_losses.into();
            row["state"] = stats.state.into();
            json!({"player_stats": row})
        }
    }
}

fn listing(round: &model::RoundListing) -> Value {
    let matches = round.matches.iter().map(|listed| {
        json!({
            "match_id": listed.match_id,
            "game_type": listed.game_type,
            "player_A_id": listed.player_a,
            "player_B_id": listed.player_b,
        })
    });
    json!({"round_id": round.round_id, "matches": matches.collect::<Vec<_>>()})
}
