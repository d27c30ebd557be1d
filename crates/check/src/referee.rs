//! Rules for referees, which run matches between fake players.

mod attempts;
pub(crate) mod fake_player;
pub mod match_run;
mod matches;
mod operation;
pub(crate) mod orders;
mod reports;

use crate::prelude::*;
use crate::registration;
use crate::shared;
use match_run::{MatchCourse, MatchRecord, recorded};

pub fn topics() -> Vec<Topic> {
    let mut topics = vec![registration::of_referee()];
    topics.extend(shared::topics());
    topics.extend([
        orders::topic(),
        matches::invitation_rules(),
        matches::choice_rules(),
        attempts::topic(),
        matches::ending_rules(),
        reports::topic(),
        operation::manual_rules(),
        operation::crowd_rules(),
        operation::recovery_rules(),
        operation::end_rules(),
    ]);
    topics
}

/// Asks for the state of a match.
pub(crate) fn look_at(match_id: &str) -> Question {
    Question::new("get_match_state", json!({"match_id": match_id}))
}

/// The same order, sent now.
fn again(order: &Value) -> Question {
    Question::new("start_match", order.clone()).with("timestamp", in_time(Duration::ZERO))
}

/// A record of a match.
fn record_of(stage: &Stage, played: impl Into<Arc<MatchRecord>>, said: Statement) -> Record {
    let played = played.into();
    Record {
        match_record: Some(Arc::clone(&played)),
        ..stage.record(played.order.clone(), said)
    }
}

/// Records of whole matches; the report shows the reported result.
async fn match_of(caller: &Caller, courses: &[MatchCourse]) -> Records {
    let mut records = Vec::new();
    for course in courses {
        let played = recorded(&caller.stage, *course).await?;
        let said = match played.reports.first() {
            Some(report) => Statement::Call(Arc::clone(report), "the manager"),
            None => Statement::Reply(played.ack.clone()),
        };
        records.push(record_of(&caller.stage, played, said));
    }
    Ok(records)
}

/// The record of a call that a player of a match received.
fn told_record(stage: &Stage, played: &Arc<MatchRecord>, seat: usize, place: usize) -> Record {
    let (own, other) = (&played.seats[seat], &played.seats[1 - seat]);
    let said = Statement::Call(Arc::clone(&own.calls[place]), "a player");
    record_of(stage, Arc::clone(played), said)
        .with("seat", seat)
        .with("role", ["PLAYER_A", "PLAYER_B"][seat])
        .with("player", &*own.id)
        .with("opponent", &*other.id)
        .with("match_token", &*own.match_token)
        .with("round", played.order["round_id"].clone())
        .with("standings", played.order["players"][seat]["record"].clone())
}

/// The first message of a type that some seats of a match received.
async fn told_to(caller: &Caller, course: MatchCourse, kind: &str, seats: &[usize]) -> Records {
    let played = Arc::new(recorded(&caller.stage, course).await?);
    let mut records = Vec::new();
    for seat in seats {
        let mut calls = played.seats[*seat].calls.iter();
        let Some(place) = calls.position(|call| call.kind() == kind) else {
            caller.note(played.ack.trip.clone());
            return Err(not_told(&played, *seat, kind));
        };
        records.push(told_record(&caller.stage, &played, *seat, place));
    }
    Ok(records)
}

/// The first message of a type that both players of a match received.
async fn told(caller: &Caller, course: MatchCourse, kind: &str) -> Records {
    told_to(caller, course, kind, &[0, 1]).await
}

/// Every call that the players of some matches received.
async fn all_told(caller: &Caller, courses: &[MatchCourse]) -> Records {
    let mut records = Vec::new();
    for course in courses {
        let played = Arc::new(recorded(&caller.stage, *course).await?);
        for seat in 0..2 {
            let places = 0..played.seats[seat].calls.len();
            records.extend(places.map(|place| told_record(&caller.stage, &played, seat, place)));
        }
    }
    Ok(records)
}

fn not_told(played: &MatchRecord, seat: usize, kind: &str) -> Trouble {
    Trouble::broken(format!(
        "{} received no {kind} in match {}",
        played.seats[seat].id, played.match_id
    ))
}

/// Checks that both players of a match received a message of a type.
fn both_told(record: &Record, kind: &str) -> crate::rule::Judgement {
    let played = record.match_record()?;
    match (0..2).find(|seat| played.seats[*seat].told(kind).next().is_none()) {
        Some(seat) => Err(not_told(played, seat, kind)),
        None => Ok(()),
    }
}
