//! What the page of a person sends: to join, to learn of a change, to move, to leave.
//!
//! A person proves a seat by its secret, as `Authorization: Bearer`: no browser sends that by itself,
//! so that no page of another site can act for a person.

use std::sync::Arc;

use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderValue, RETRY_AFTER};
use league_mcp::RequestHead;
use league_protocol::fault::Code;
use league_protocol::message::LeagueError;
use league_protocol::token::AuthToken;
use league_web::page::{SeatStage, seat};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::agents::people::{NoSeat, People, Person};
use crate::agents::seat::WAIT_TIMEOUT;
use crate::http::server::ServiceResponse;

/// The page itself.
pub(super) const PAGE: &str = "/play";
const JOIN: &str = "/play/join";
const TURN: &str = "/play/turn";
const MOVE: &str = "/play/move";
const LEAVE: &str = "/play/leave";

pub(super) fn takes(path: &str) -> bool {
    matches!(path, JOIN | TURN | MOVE | LEAVE)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Joining {
    name: String,
    code: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Asking {
    /// The number of the last change that the page shows.
    seen: i64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Moving {
    match_id: String,
    number: u32,
    choice: Value,
}

/// Answers what a page sends.
pub(super) async fn answer(
    people: &Arc<People>,
    path: &str,
    head: RequestHead,
    body: &[u8],
) -> ServiceResponse {
    // A page of another site cannot send JSON unasked.
    if !is_json(&head.headers) {
        let sentence = "send JSON, with the header `Content-Type: application/json`";
        return told(415, json!({"error": sentence}));
    }
    if path == JOIN {
        return join(people, head, body).await;
    }
    let Some(person) = person(people, &head.headers) else {
        let sentence = "this page has no seat in this league; join with the code";
        return told(401, json!({"error": sentence}));
    };
    match path {
        TURN => turn(&person, body).await,
        MOVE => make_move(&person, body),
        _ => {
            person.seat.set_left(true);
            told(200, json!({"html": seat(&person.page())}))
        }
    }
}

async fn join(people: &Arc<People>, head: RequestHead, body: &[u8]) -> ServiceResponse {
    let Ok(joining) = serde_json::from_slice::<Joining>(body) else {
        return told(400, json!({"error": "send `name` and `code`"}));
    };
    match people.join(&joining.name, &joining.code, head.origin).await {
        Ok(secret) => told(200, json!({"seat": secret.reveal()})),
        Err(refusal) => {
            let mut sentence = refusal.to_string();
            let status = match &refusal {
                NoSeat::Name => 400,
                NoSeat::Code => 403,
                NoSeat::Full(_) | NoSeat::Rejected(_) => 409,
                NoSeat::Tries(_) => 429,
                NoSeat::Ending => 503,
                NoSeat::Listen(_) | NoSeat::Start(_) | NoSeat::Secret(_) => {
                    tracing::warn!(event_type = "SEAT_FAILED", "a seat failed: {refusal}");
                    // The cause names files of the organiser.
                    sentence = "the seat could not be started; ask the organiser".to_owned();
                    500
                }
            };
            let mut response = told(status, json!({"error": sentence}));
            if let NoSeat::Tries(wait) = refusal {
                let seconds = HeaderValue::from(wait.as_secs().max(1));
                response.headers.insert(RETRY_AFTER, seconds);
            }
            response
        }
    }
}

/// Waits for a change, within a bound, and shows the seat.
async fn turn(person: &Arc<Person>, body: &[u8]) -> ServiceResponse {
    let Ok(Asking { seen }) = serde_json::from_slice(body) else {
        return told(400, json!({"error": "send `seen`, the last version or -1"}));
    };
    let Ok(_waiting) = person.waiting.try_acquire() else {
        return told(
            429,
            json!({"error": "this seat is open in too many pages; close some"}),
        );
    };
    person.hear();
    let mut changes = person.seat.changes();
    let is_new = |version: &u64| i64::try_from(*version) != Ok(seen);
    // Without a change the same is shown again.
    let _ = timeout(WAIT_TIMEOUT, changes.wait_for(is_new)).await;
    let version = *changes.borrow();
    let page = person.page();
    let over = matches!(page.stage, SeatStage::Over | SeatStage::Rejected(_));
    if over {
        person.saw_end.send_replace(true);
    }
    told(
        200,
        json!({"version": version, "html": seat(&page), "over": over}),
    )
}

fn make_move(person: &Person, body: &[u8]) -> ServiceResponse {
    let Ok(moving) = serde_json::from_slice::<Moving>(body) else {
        return told(
            400,
            json!({"error": "send `match_id`, `number` and `choice`"}),
        );
    };
    let number = moving.number.into();
    let made = person
        .seat
        .make_move(Some(&moving.match_id), &number, &moving.choice, None);
    match made {
        Ok(choice) => told(200, json!({"choice": choice})),
        Err(error) => refused(&error),
    }
}

fn refused(error: &LeagueError) -> ServiceResponse {
    let status = if error.code == Code::InvalidMove {
        422
    } else {
        409
    };
    told(
        status,
        json!({"error": error.detail, "code": error.code.as_str()}),
    )
}

fn is_json(headers: &HeaderMap) -> bool {
    let kind = headers
        .get(CONTENT_TYPE)
        .and_then(|kind| kind.to_str().ok());
    let kind = kind.and_then(|kind| kind.split(';').next());
    kind.is_some_and(|kind| kind.trim().eq_ignore_ascii_case("application/json"))
}

fn person(people: &People, headers: &HeaderMap) -> Option<Arc<Person>> {
    let shown = headers.get(AUTHORIZATION)?.to_str().ok()?;
    people.find(&AuthToken::new(shown.strip_prefix("Bearer ")?))
}

fn told(status: u16, body: Value) -> ServiceResponse {
    super::response(status, "application/json", body.to_string().into())
}
