//! The free part of an answer to a question, whose form follows from the question.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::Value;

use crate::dialect::words::QueryWord;
use crate::finding::{Notes, Path, Reading};
use crate::id::{GameType, MatchId, PlayerId};
use crate::message as model;
use crate::message::QueryAnswer;
use crate::shape::{List, Wire};

/// Reads an answer, or says why it cannot be read.
pub(super) fn answer(query: QueryWord, data: Value) -> Result<QueryAnswer, String> {
    let unreadable = |problem: serde_json::Error| format!("the answer cannot be read: {problem}");
    match query {
        QueryWord::Standings => standings(&data),
        QueryWord::Schedule => {
            let schedule: Schedule = serde_json::from_value(data).map_err(unreadable)?;
            Ok(schedule.into())
        }
        QueryWord::NextMatch => {
            let next: Next = serde_json::from_value(data).map_err(unreadable)?;
            let NextMatch {
                match_id,
                round_id,
                opponent_id,
                referee_endpoint,
            } = next.next_match;
            let next = model::NextMatch {
                match_id,
                round_id,
                opponent_id,
                referee_endpoint,
            };
            Ok(QueryAnswer::NextMatch(next))
        }
        QueryWord::PlayerStats => stats(&data),
    }
}

fn rows(standings: &Value) -> Arc<[model::StandingRow]> {
    let Ok(raw) = serde_json::value::to_raw_value(standings) else {
        return Arc::new([]);
    };
    let mut notes = Notes::new(Reading::Lenient);
    let list = List::read(&raw, &Path::root("000 §4.9.2"), &mut notes);
    list.as_ref()
        .map_or_else(|| Arc::from([]), super::understand_round::rows)
}

fn standings(data: &Value) -> Result<QueryAnswer, String> {
    let table = data
        .get("standings")
        .ok_or("the answer has no `standings`")?;
    let round = data["round_id"]
        .as_u64()
        .and_then(|round| u32::try_from(round).ok());
    Ok(QueryAnswer::Standings {
        round_id: round.unwrap_or_default(),
        rows: rows(table),
    })
}

fn stats(data: &Value) -> Result<QueryAnswer, String> {
    const STATES: [&str; 5] = ["INIT", "REGISTERED", "ACTIVE", "SUSPENDED", "SHUTDOWN"];
    let told = data
        .get("player_stats")
        .ok_or("the answer has no `player_stats`")?;
    let mut row = rows(&Value::Array(vec![told.clone()])).first().cloned();
    if let (Some(row), Some(losses)) = (&mut row, told["technical_losses"].as_u64()) {
        row.technical_losses = u32::try_from(losses).unwrap_or(u32::MAX);
    }
    let state = STATES.into_iter().find(|state| told["state"] == *state);
    Ok(QueryAnswer::PlayerStats(model::PlayerStats {
        row: row.ok_or("the answer names no player")?,
        state: state.unwrap_or("INIT"),
    }))
}

#[derive(Deserialize)]
struct Schedule {
    total_rounds: u32,
    rounds: Vec<ScheduledRound>,
}

#[derive(Deserialize)]
struct ScheduledRound {
    round_id: u32,
    matches: Vec<ScheduledMatch>,
}

#[derive(Deserialize)]
struct ScheduledMatch {
    match_id: MatchId,
    game_type: GameType,
    #[serde(rename = "player_A_id")]
    player_a: PlayerId,
    #[serde(rename = "player_B_id")]
    player_b: PlayerId,
}

#[derive(Deserialize)]
struct Next {
    next_match: NextMatch,
}

#[derive(Deserialize)]
struct NextMatch {
    match_id: MatchId,
    round_id: u32,
    opponent_id: PlayerId,
    referee_endpoint: Option<Arc<str>>,
}

impl From<Schedule> for QueryAnswer {
    fn from(schedule: Schedule) -> Self {
        let rounds = schedule
            .rounds
            .into_iter()
            .map(|round| model::RoundListing {
                round_id: round.round_id,
                matches: round
                    .matches
                    .into_iter()
                    .map(
                        |ScheduledMatch {
                             match_id,
                             game_type,
                             player_a,
                             player_b,
                         }| {
                            model::MatchListing {
                                match_id,
                                game_type,
                                player_a,
                                player_b,
                            }
                        },
                    )
                    .collect(),
            });
        Self::Schedule {
            total_rounds: schedule.total_rounds,
            rounds: rounds.collect(),
        }
    }
}
