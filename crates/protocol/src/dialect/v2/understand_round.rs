//! Rounds, standings and the end of a league, from `league.v2` to the model.

use std::sync::Arc;

use crate::dialect::Hints;
use crate::message as model;
use crate::secret::Commitment;
use crate::shape::{List, Round};
use crate::token::AuthToken;

use super::*;

pub(super) fn announcement(
    round: &RoundAnnouncement<'_>,
    hints: &Hints<'_>,
) -> Option<model::RoundAnnouncement> {
    let mut own = None;
    let mut matches = Vec::new();
    for announced in round.matches.get()?.values() {
        let match_id = announced.match_id.value()?.clone();
        if let Some(token) = announced.match_token.get() {
            own = Some((match_id.clone(), AuthToken::new(&token.0)));
        }
        let promised = announced
            .draw_commitment
            .text()
            .and_then(Commitment::from_hex);
        matches.push(model::AnnouncedMatch {
            match_id,
            game_type: hints.game(announced.game_type.value()),
            player_a: announced.player_a_id.value()?.clone(),
            player_b: announced.player_b_id.value()?.clone(),
            referee_endpoint: Arc::from(announced.referee_endpoint.text().unwrap_or_default()),
            commitment: promised,
        });
    }
    Some(model::RoundAnnouncement {
        league_id: hints.league(round.league_id.value()),
        round_id: round.round_id.get()?.number(),
        matches: matches.into(),
        own,
    })
}

pub(super) fn completed(
    over: &RoundCompleted<'_>,
    hints: &Hints<'_>,
) -> Option<model::RoundCompleted> {
    let summary = over.summary.get();
    let played = over
        .matches_completed
        .number()
        .or_else(|| over.matches_played.number());
    Some(model::RoundCompleted {
        league_id: hints.league(over.league_id.value()),
        round_id: over.round_id.get()?.number(),
        next_round_id: over.next_round_id.get().copied().map(Round::number),
        summary: model::RoundSummary {
            total_matches: summary
                .and_then(|summary| summary.total_matches.number())
                .or(played)
                .unwrap_or_default(),
            wins: summary
                .and_then(|summary| summary.wins.number())
                .unwrap_or_default(),
            draws: summary
                .and_then(|summary| summary.draws.number())
                .unwrap_or_default(),
            technical_losses: summary
                .and_then(|summary| summary.technical_losses.number())
                .unwrap_or_default(),
        },
        standings: Arc::new([]),
    })
}

pub(super) fn standings(
    update: &LeagueStandingsUpdate<'_>,
    hints: &Hints<'_>,
) -> Option<model::StandingsUpdate> {
    Some(model::StandingsUpdate {
        league_id: hints.league(update.league_id.value()),
        round_id: update.round_id.get().map_or(0, |round| round.number()),
        standings: rows(update.standings.get()?),
    })
}

/// The rows that name a player.
pub(super) fn rows(list: &List<'_, StandingRow<'_>>) -> Arc<[model::StandingRow]> {
    list.values().filter_map(row).collect()
}

fn row(row: &StandingRow<'_>) -> Option<model::StandingRow> {
    let rank = row.rank.number().unwrap_or_default();
    let (wins, draws) = (
        row.wins.number().unwrap_or_default(),
        row.draws.number().unwrap_or_default(),
    );
    let losses = row.losses.number().unwrap_or_default();
    let sum = wins.saturating_add(draws).saturating_add(losses);
    Some(model::StandingRow {
        rank,
        shared_rank: rank,
        player_id: row.player_id.value()?.clone(),
        display_name: Arc::from(row.display_name.text().unwrap_or_default()),
        played: row.played.number().unwrap_or(sum),
        wins,
        draws,
        losses,
        technical_losses: 0,
        points: row.points.number().unwrap_or_default(),
    })
}

pub(super) fn league_completed(
    over: &LeagueCompleted<'_>,
    hints: &Hints<'_>,
) -> Option<model::LeagueCompleted> {
    let champion = over.champion.get().and_then(|champion| {
        Some(model::Champion {
            player_id: champion.player_id.value()?.clone(),
            display_name: Arc::from(champion.display_name.text().unwrap_or_default()),
            points: champion.points.number().unwrap_or_default(),
            wins: 0,
            losses: 0,
            played: 0,
        })
    });
    let rows = over.final_standings.get()?.values().filter_map(|row| {
        let rank = row.rank.number().unwrap_or_default();
        Some(model::StandingRow {
            rank,
            shared_rank: rank,
            player_id: row.player_id.value()?.clone(),
            display_name: Arc::from(""),
            played: 0,
            wins: 0,
            draws: 0,
            losses: 0,
            technical_losses: 0,
            points: row.points.number().unwrap_or_default(),
        })
    });
    Some(model::LeagueCompleted {
        league_id: hints.league(over.league_id.value()),
        total_rounds: over.total_rounds.number().unwrap_or_default(),
        total_matches: over.total_matches.number().unwrap_or_default(),
        champion,
        final_standings: rows.collect(),
    })
}
