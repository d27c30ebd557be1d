//! The ends of matches, rounds and leagues, from `league.v1` to the model.

use std::sync::Arc;

use serde_json::Value;

use crate::dialect::Hints;
use crate::dialect::build::{round, text};
use crate::dialect::v2;
use crate::dialect::words::StatusWord;
use crate::fault::Code;
use crate::finding::{Notes, Path};
use crate::id::PlayerId;
use crate::message as model;
use crate::message::{MatchStatus, Message};
use crate::shape::{Any, Dict, Extra, Field, List, Parsed, Whole};

use super::names::player_id;
use super::understand::{league, player};
use super::words::OutcomeWord;
use super::*;

/// The one message for both: told to a player it is the end of its match, else a report.
pub(super) fn game_result(
    told: &GameResult<'_>,
    hints: &Hints<'_>,
    at: &Path<'_>,
    notes: &mut Notes,
) -> Option<Message> {
    let outcome = told.result.get()?;
    let facts = outcome.game_summary.get().map(|summary| &*summary.facts);
    let game_type = hints.game(facts.and_then(|facts| facts.game_type.value()));
    let respelled = v2::Body::GameOver(v2::GameOver {
        match_id: told.match_id.clone(),
        game_type: Field::Is((&game_type).into()),
        round_id: round(told.round_id.number().unwrap_or_default()),
        game_result: Field::Is(respell(outcome, hints, &at.member("result", true), notes)?),
        ..v2::GameOver::default()
    });
    let Message::GameOver(over) = v2::understand(&respelled, hints, notes)? else {
        return None;
    };
    let mut over = Arc::unwrap_or_clone(over);
    over.league_id = league(&told.league_id, hints);
    if hints.reader.is_some() {
        return Some(Message::from(over));
    }
    let attempt = facts.and_then(|facts| facts.attempt.number());
    Some(Message::from(model::MatchResultReport {
        league_id: over.league_id,
        round_id: over.round_id,
        match_id: over.match_id,
        attempt: attempt.unwrap_or(1),
        game_type: over.game_type,
        result: over.result,
    }))
}

/// The result in the words of `league.v2`, with the players by their ids and in seat order.
fn respell<'x>(
    outcome: &Outcome<'x>,
    hints: &Hints<'_>,
    at: &Path<'_>,
    notes: &mut Notes,
) -> Option<v2::GameResult<'x>> {
    let summary = outcome.game_summary.get();
    let facts = summary.map(|summary| &*summary.facts);
    let chosen = chosen(summary);
    let seats = seats(&chosen, outcome, hints, at, notes)?;
    let winner = winner(outcome, &seats, at, notes)?;
    let status = match outcome.outcome.value()? {
        OutcomeWord::Win => MatchStatus::Win,
        OutcomeWord::Draw => MatchStatus::Draw,
        OutcomeWord::Forfeit => MatchStatus::TechnicalLoss,
    };
    let choices = chosen.into_iter();
    let choices = choices.filter_map(|(id, choice)| Some((id.to_string(), Any::from(choice?))));
    let points = seats.each_ref().map(|seat| {
        let points = points(seat, winner.as_ref(), status, facts);
        (seat.to_string(), Whole(points))
    });
    let failed = failed(&seats, winner.as_ref(), status, facts);
    let number = facts.and_then(|facts| facts.random_number.get().cloned());
    let drawn = number.or_else(|| last_move(facts)?.get("number").cloned().map(Any::from));
    Some(v2::GameResult {
        status: Field::Is(StatusWord::from(status).wire()),
        winner_player_id: Field::or_null(winner.map(|id| id.to_string().into())),
        drawn_number: Field::or_absent(drawn),
        number_parity: facts.map_or(Field::Absent, |facts| facts.number_parity.clone()),
        choices: Field::Is(Dict::of(choices)),
        reason: facts.map_or(text(""), |facts| facts.winner_reason.clone()),
        score: Field::Is(Dict::of(points)),
        failed: Field::Is(failed),
        details: facts.map_or(Field::Absent, |facts| facts.details.clone()),
        draw: facts.map_or(Field::Absent, |facts| facts.draw.clone()),
        extra: Extra::default(),
    })
}

/// What each player chose: from the names that end in `_choice`, or from the last move.
fn chosen(summary: Option<&GameSummary<'_>>) -> Vec<(PlayerId, Option<Value>)> {
    let chosen: Vec<_> = summary.into_iter().flat_map(GameSummary::chosen).collect();
    if !chosen.is_empty() {
        return chosen;
    }
    let last = last_move(summary.map(|summary| &*summary.facts));
    let entries = last.into_iter().flatten();
    entries
        .filter_map(|(name, choice)| Some((player_id(&name).ok()?, Some(choice))))
        .collect()
}

fn last_move(facts: Option<&SummaryFacts<'_>>) -> Option<serde_json::Map<String, Value>> {
    let moves = facts?.moves.get()?;
    match moves.values().last()?.to_value() {
        Value::Object(last) => Some(last),
        _ => None,
    }
}

/// Both seats, from whichever part of the message names both players.
fn seats(
    chosen: &[(PlayerId, Option<Value>)],
    outcome: &Outcome<'_>,
    hints: &Hints<'_>,
    at: &Path<'_>,
    notes: &mut Notes,
) -> Option<[PlayerId; 2]> {
    if let [(first, _), (second, _)] = chosen {
        return Some([first.clone(), second.clone()]);
    }
    match (player(&outcome.winner), player(&outcome.loser)) {
        (Some(winner), Some(loser)) => Some([winner, loser]),
        (winner, loser) => {
            let chose = chosen.iter().map(|(id, _)| id.clone());
            let named = chose.chain(winner).chain(loser);
            hints.both(named, &at.member("winner", true), notes)
        }
    }
}

/// Who won, which a win cannot do without; the loser's name tells it as well.
fn winner(
    outcome: &Outcome<'_>,
    seats: &[PlayerId; 2],
    at: &Path<'_>,
    notes: &mut Notes,
) -> Option<Option<PlayerId>> {
    let word = *outcome.outcome.value()?;
    let other = |loser: &PlayerId| seats.iter().find(|&seat| seat != loser).cloned();
    let named = match player(&outcome.winner) {
        Some(winner) => Some(winner),
        None => player(&outcome.loser).as_ref().and_then(other),
    };
    let (code, detail) = match named {
        Some(_) if word == OutcomeWord::Draw => (
            Code::InvalidMessage,
            "a draw has no winner and no loser; send null",
        ),
        None if word == OutcomeWord::Draw => return Some(None),
        None if word == OutcomeWord::Forfeit => return Some(None),
        Some(winner) if seats.contains(&winner) => return Some(Some(winner)),
        Some(_) => (
            Code::InvalidMessage,
            "the winner was not in the match; name one who was",
        ),
        None => (Code::MissingField, "a win needs a winner; name it"),
    };
    let at = &at.member("winner", true);
    notes.refuse(code, at, "a player of the match", detail);
    None
}

fn points(
    player: &PlayerId,
    winner: Option<&PlayerId>,
    status: MatchStatus,
    facts: Option<&SummaryFacts<'_>>,
) -> u32 {
    let told = facts.and_then(|facts| facts.points.get());
    let mut told = told.into_iter().flat_map(Dict::entries);
    if let Some((_, points)) = told.find(|(name, _)| player_id(name).as_ref() == Ok(player)) {
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

/// Who did not play; where no cause is told, silence is 003's own word for a forfeit.
fn failed<'x>(
    seats: &[PlayerId; 2],
    winner: Option<&PlayerId>,
    status: MatchStatus,
    facts: Option<&SummaryFacts<'x>>,
) -> Dict<'x, Parsed<'x, Code>> {
    if let Some(told) = facts.and_then(|facts| facts.failed.get()) {
        let told = told.entries().filter_map(|(name, code)| {
            let id = player_id(name).ok()?;
            Some((id.to_string(), code.clone()))
        });
        return Dict::of(told);
    }
    let silent = seats.iter().filter(|&seat| Some(seat) != winner);
    let silent = silent.filter(|_| status == MatchStatus::TechnicalLoss);
    Dict::of(silent.map(|seat| (seat.to_string(), Code::Timeout.wire())))
}

pub(super) fn round_complete(
    over: &RoundComplete<'_>,
    hints: &Hints<'_>,
) -> Option<model::RoundCompleted> {
    let summary = over.round_summary.get()?;
    Some(model::RoundCompleted {
        league_id: league(&over.league_id, hints),
        round_id: over.round_id.number()?,
        next_round_id: None,
        summary: model::RoundSummary {
            total_matches: summary.matches_played.number().unwrap_or_default(),
            ..model::RoundSummary::default()
        },
        standings: rows(summary.standings.get()?),
    })
}

pub(super) fn league_complete(
    over: &LeagueComplete<'_>,
    hints: &Hints<'_>,
) -> Option<model::LeagueCompleted> {
    let told = over.final_standings.get()?;
    Some(model::LeagueCompleted {
        league_id: league(&over.league_id, hints),
        total_rounds: told.total_rounds.number().unwrap_or_default(),
        total_matches: told.total_matches.number().unwrap_or_default(),
        champion: told.champion.get().and_then(champion),
        final_standings: rows(told.rankings.get()?),
    })
}

/// The rows that name a player; their order tells the ranks that nobody shares.
fn rows(list: &List<'_, TableRow<'_>>) -> Arc<[model::StandingRow]> {
    let rows = list.values().zip(1..);
    rows.filter_map(|(told, place)| row(told, place)).collect()
}

fn row(row: &TableRow<'_>, place: u32) -> Option<model::StandingRow> {
    let record = Record::of(&row.wins, &row.draws, &row.losses, &row.points);
    Some(model::StandingRow {
        rank: place,
        shared_rank: row.rank.number().unwrap_or(place),
        player_id: player(&row.player_id)?,
        display_name: Arc::from(""),
        played: record.played,
        wins: record.wins,
        draws: record.draws,
        losses: record.losses,
        technical_losses: 0,
        points: record.points,
    })
}

fn champion(told: &FirstPlace<'_>) -> Option<model::Champion> {
    let record = Record::of(&told.wins, &told.draws, &told.losses, &told.points);
    Some(model::Champion {
        player_id: player(&told.player_id)?,
        display_name: Arc::from(told.display_name.text().unwrap_or_default()),
        points: record.points,
        wins: record.wins,
        losses: record.losses,
        played: record.played,
    })
}

/// A record; what 003 leaves out is worked out from the rest.
struct Record {
    wins: u32,
    draws: u32,
    losses: u32,
    played: u32,
    points: u32,
}

impl Record {
    fn of(
        wins: &Field<'_, Whole>,
        draws: &Field<'_, Whole>,
        losses: &Field<'_, Whole>,
        points: &Field<'_, Whole>,
    ) -> Self {
        let [wins, draws, losses] =
            [wins, draws, losses].map(|field| field.number().unwrap_or_default());
        let score = model::Score::default();
        let earned = wins.saturating_mul(score.win);
        let earned = earned.saturating_add(draws.saturating_mul(score.draw));
        Self {
            wins,
            draws,
            losses,
            played: wins.saturating_add(draws).saturating_add(losses),
            points: points.number().unwrap_or(earned),
        }
    }
}
