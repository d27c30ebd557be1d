//! Rounds of the main document's messages, written as `"ROUND_1"` and read back.

use serde_json::Value;

use crate::dialect::v2::Body;
use crate::shape::{Any, Field, Round};

/// Writes every round of a message as `"ROUND_1"`.
pub(super) fn named(mut body: Body<'_>) -> Body<'_> {
    match &mut body {
        Body::RoundAnnouncement(round) => name(&mut round.round_id),
        Body::RoundCompleted(round) => {
            name(&mut round.round_id);
            name(&mut round.next_round_id);
        }
        Body::LeagueStandingsUpdate(update) => name(&mut update.round_id),
        Body::MatchResultReport(report) => name(&mut report.round_id),
        Body::StartMatch(order) => name(&mut order.round_id),
        Body::GameMoveCall(call) => {
            name(&mut call.round_id);
            if let Field::Is(request) = &mut call.move_request
                && let Field::Is(context) = &mut request.context
            {
                name(&mut context.round_id);
            }
        }
        Body::LeagueQueryResponse(response) => in_answer(&mut response.data, name_value),
        _ => {}
    }
    body
}

/// Writes the rounds in the free part of an answer as numbers, as the main document has them.
pub(super) fn numbered<'a>(body: &Body<'a>) -> Option<Body<'a>> {
    let Body::LeagueQueryResponse(response) = body else {
        return None;
    };
    let mut response = response.clone();
    in_answer(&mut response.data, number_value);
    Some(Body::LeagueQueryResponse(response))
}

/// Names the round in a field.
pub(super) fn name(field: &mut Field<'_, Round>) {
    if let Field::Is(round) = field {
        *round = Round::Named(round.number());
    }
}

/// Changes the three kinds of place where an answer names a round.
fn in_answer(data: &mut Field<'_, Any<'_>>, change: fn(&mut Value)) {
    let Some(mut answer) = data.get().map(Any::to_value) else {
        return;
    };
    for path in ["/round_id", "/next_match/round_id"] {
        answer.pointer_mut(path).map(change);
    }
    let rounds = answer.get_mut("rounds").and_then(Value::as_array_mut);
    for round in rounds.into_iter().flatten() {
        round.get_mut("round_id").map(change);
    }
    *data = Field::Is(answer.into());
}

fn name_value(round: &mut Value) {
    if let Some(number) = round.as_u64() {
        *round = format!("ROUND_{number}").into();
    }
}

fn number_value(round: &mut Value) {
    let digits = round.as_str().and_then(|text| text.strip_prefix("ROUND_"));
    if let Some(number) = digits.and_then(|digits| digits.parse::<u32>().ok()) {
        *round = number.into();
    }
}
