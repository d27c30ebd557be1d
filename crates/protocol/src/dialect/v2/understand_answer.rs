//! Answers to questions, from `league.v2` to the model; their form follows from the question.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::Value;

use crate::dialect::Hints;
use crate::dialect::words::QueryWord;
use crate::fault::Code;
use crate::finding::{Notes, Path, Reading, harmless};
use crate::id::{GameType, MatchId, PlayerId};
use crate::message as model;
use crate::message::QueryAnswer;
use crate::shape::{Any, List, Wire};

use super::LeagueQueryResponse;
use super::understand::needed;

/// The longest reason of a refusal that is passed on, in characters.
const LONGEST_REASON: usize = 500;

/// Understands an answer to a question.
pub(super) fn query_response(
    response: &LeagueQueryResponse<'_>,
    hints: &Hints<'_>,
    at: &Path<'_>,
    notes: &mut Notes,
) -> Option<model::LeagueQueryResponse> {
    let data = response.data.get().map(Any::to_value);
    let query = response.query_type.value().copied();
    let query = query.or_else(|| asked(data.as_ref()?));
    let answer = if response.success.get()?.0 {
        let query = needed(query, "query_type", "what was asked", at, notes)?;
        let data = needed(data, "data", "the answer", at, notes)?;
        Ok(answer(query, data)
            .map_err(|problem| {
                let detail = harmless(&problem, LONGEST_REASON);
                let at = at.member("data", true);
                notes.refuse(
                    Code::InvalidMessage,
                    &at,
                    "an answer to the question",
                    detail,
                );
            })
            .ok()?)
    } else {
        Err(reason(response.error.get().map(Any::to_value)))
    };
    Some(model::LeagueQueryResponse {
        league_id: hints.league(response.league_id.value()),
        query_type: query.map_or("", QueryWord::as_str),
        answer,
        by_api_page: false,
    })
}

/// What was asked, by what only the answer to it holds.
fn asked(data: &Value) -> Option<QueryWord> {
    let answers = [
        ("standings", QueryWord::Standings),
        ("rounds", QueryWord::Schedule),
        ("next_match", QueryWord::NextMatch),
        ("player_stats", QueryWord::PlayerStats),
    ];
    let told = answers
        .into_iter()
        .find(|(name, _)| data.get(name).is_some());
    told.map(|(_, query)| query)
}

fn reason(told: Option<Value>) -> String {
    match told {
        Some(Value::String(why)) => harmless(&why, LONGEST_REASON),
        Some(other) => harmless(&other.to_string(), LONGEST_REASON),
        None => "no reason given".to_owned(),
    }
}

/// Reads an answer, or says why it cannot be read.
fn answer(query: QueryWord, data: Value) -> Result<QueryAnswer, String> {
    let unreadable = |problem: serde_json::Error| format!("the answer cannot be read: {problem}");
    match query {
        QueryWord::Standings => standings(&data),
        QueryWord::Schedule => {
            let schedule: Schedule = serde_json::from_value(data).map_err(unreadable)?;
            Ok(schedule.into())
        }
        QueryWord::NextMatch => {
            let next: Next = serde_json::from_value(data).map_err(unreadable)?;
            Ok(QueryAnswer::NextMatch(next.next_match.into()))
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

impl From<NextMatch> for model::NextMatch {
    fn from(next: NextMatch) -> Self {
        let NextMatch {
            match_id,
            round_id,
            opponent_id,
            referee_endpoint,
        } = next;
        Self {
            match_id,
            round_id,
            opponent_id,
            referee_endpoint,
        }
    }
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
