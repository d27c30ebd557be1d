//! The ends of matches, rounds and leagues, from the model to `league.v1`.

use serde_json::{Map, Value};

use crate::dialect::build::{id, text, whole};
use crate::dialect::v2;
use crate::message as model;
use crate::message::MatchStatus;
use crate::shape::{Any, Dict, Extra, Field, List, Number, Text, Whole};

use super::names::player_name;
use super::say::{league, named, player};
use super::words::OutcomeWord;
use super::*;

/// The facts of Even/Odd that have fields of their own.
pub(super) const DRAWN_NUMBER: &str = "drawn_number";
pub(super) const NUMBER_PARITY: &str = "number_parity";

pub(super) fn game_over(over: &model::GameOver) -> GameResult<'_> {
    let mut facts = facts(&over.result, &over.game_type);
    facts.draw = Field::or_absent(over.result.draw.as_ref().map(v2::draw_record));
    GameResult {
        league_id: league(&over.league_id),
        round_id: whole(over.round_id),
        match_id: id(&over.match_id),
        result: Field::Is(outcome(&over.result, facts)),
        extra: Extra::default(),
    }
}

pub(super) fn match_report(report: &model::MatchResultReport) -> GameResult<'_> {
    let mut facts = facts(&report.result, &report.game_type);
    facts.draw = Field::or_absent(report.result.draw.as_ref().map(v2::draw_record));
    facts.attempt = whole(report.attempt);
    GameResult {
        league_id: league(&report.league_id),
        round_id: whole(report.round_id),
        match_id: id(&report.match_id),
        result: Field::Is(outcome(&report.result, facts)),
        extra: Extra::default(),
    }
}

fn outcome<'m>(result: &'m model::MatchResult, facts: SummaryFacts<'m>) -> Outcome<'m> {
    let outcome = match result.status {
        MatchStatus::Win => OutcomeWord::Win,
        MatchStatus::Draw => OutcomeWord::Draw,
        MatchStatus::TechnicalLoss => OutcomeWord::Forfeit,
    };
    let loser = result.winner.as_ref().and_then(|winner| {
        let mut players = result.players.iter();
        players.find(|&player| player != winner)
    });
    let choices = result.players.iter().map(|player| {
        let choice = result.choices.get(player).unwrap_or(&Value::Null);
        (GameSummary::choice_name(player), Any::from(choice))
    });
    Outcome {
        winner: Field::or_null(result.winner.as_ref().map(named)),
        loser: Field::or_null(loser.map(named)),
        outcome: Field::Is(outcome.wire()),
        game_summary: Field::Is(GameSummary {
            choices: Dict::of(choices),
            facts: Box::new(facts),
        }),
        extra: Extra::default(),
    }
}

fn facts<'m>(
    result: &'m model::MatchResult,
    game_type: &'m crate::id::GameType,
) -> SummaryFacts<'m> {
    let even_odd = game_type.as_str() == model::EVEN_ODD;
    let parity = result.details.get(NUMBER_PARITY).and_then(Value::as_str);
    let failed = result.failed.iter();
    let failed = failed.map(|(player, code)| (player_name(player), code.wire()));
    SummaryFacts {
        random_number: Field::or_absent(result.details.get(DRAWN_NUMBER).map(Any::from)),
        number_parity: Field::or_absent(parity.map(Text::from)),
        winner_reason: text(&result.reason),
        points: Field::Is(points(result)),
        failed: Field::or_absent((!result.failed.is_empty()).then(|| Dict::of(failed))),
        game_type: Field::or_absent((!even_odd).then(|| game_type.into())),
        details: Field::or_absent(other_details(result).map(|others| others.into())),
        ..SummaryFacts::default()
    }
}

fn points(result: &model::MatchResult) -> Dict<'_, Whole> {
    let [a, b] = result.points;
    let names = result.players.iter().map(player_name);
    Dict::of(names.zip([Whole(a), Whole(b)]))
}

fn other_details(result: &model::MatchResult) -> Option<Value> {
    let mut others: Map<String, Value> = result.details.clone();
    others.remove(DRAWN_NUMBER);
    others.remove(NUMBER_PARITY);
    (!others.is_empty()).then_some(Value::Object(others))
}

pub(super) fn round_complete(over: &model::RoundCompleted) -> RoundComplete<'_> {
    RoundComplete {
        league_id: league(&over.league_id),
        round_id: whole(over.round_id),
        match_id: text("ROUND_SUMMARY"),
        round_summary: Field::Is(RoundSummary {
            matches_played: whole(over.summary.total_matches),
            standings: Field::Is(List::of(over.standings.iter().map(table_row))),
            extra: Extra::default(),
        }),
        extra: Extra::default(),
    }
}

fn table_row<'a>(row: &model::StandingRow) -> TableRow<'a> {
    TableRow {
        rank: whole(row.shared_rank),
        player_id: player(&row.player_id),
        wins: whole(row.wins),
        losses: whole(row.losses),
        draws: whole(row.draws),
        points: whole(row.points),
        extra: Extra::default(),
    }
}

pub(super) fn league_complete(over: &model::LeagueCompleted) -> LeagueComplete<'_> {
    LeagueComplete {
        league_id: league(&over.league_id),
        round_id: whole(over.total_rounds),
        match_id: text("FINAL_STANDINGS"),
        final_standings: Field::Is(FinalStandings {
            total_rounds: whole(over.total_rounds),
            total_matches: whole(over.total_matches),
            champion: Field::or_null(over.champion.as_ref().map(first_place)),
            rankings: Field::Is(List::of(over.final_standings.iter().map(table_row))),
            extra: Extra::default(),
        }),
        extra: Extra::default(),
    }
}

fn first_place(champion: &model::Champion) -> FirstPlace<'_> {
    let decided = champion.wins.saturating_add(champion.losses);
    FirstPlace {
        player_id: player(&champion.player_id),
        display_name: text(&*champion.display_name),
        wins: whole(champion.wins),
        losses: whole(champion.losses),
        win_rate: Field::or_absent(win_rate(champion.wins, champion.played)),
        draws: whole(champion.played.saturating_sub(decided)),
        points: whole(champion.points),
        extra: Extra::default(),
    }
}

/// Matches won by matches played, to three places; 0 where none was played.
fn win_rate(wins: u32, played: u32) -> Option<Number> {
    let (wins, played) = (u64::from(wins), u64::from(played.max(1)));
    let thousandths = u32::try_from((wins * 2_000 + played) / (played * 2)).ok()?;
    serde_json::Number::from_f64(f64::from(thousandths) / 1_000.0).map(Number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_win_rate_has_three_places_and_none_played_is_zero() {
        for (wins, played, rate) in [
            (5, 6, "0.833"),
            (0, 0, "0.0"),
            (3, 3, "1.0"),
            (2, 3, "0.667"),
            (1, 16, "0.063"),
        ] {
            let Number(shown) = win_rate(wins, played).unwrap();
            assert_eq!(shown.to_string(), rate);
        }
        assert!(win_rate(u32::MAX, 0).is_none());
    }
}
