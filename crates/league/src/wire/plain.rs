//! Answers to plain registrations: JSON without frame and envelope, for small REST clients. The
//! dispatcher reads them and lets the manager decide, as for any registration.

use std::fmt::Display;

use league_protocol::fault::Code;
use league_protocol::message::{Enrolment, Message, RegisterResponse};
use serde_json::{Value, json};

/// The HTTP status and the JSON that answer a plain registration.
pub(crate) fn plain_registration(answer: &Message) -> (u16, Value) {
    match answer {
        Message::PlayerRegisterResponse(RegisterResponse::Accepted(enrolment)) => {
            (200, plain_enrolment("player_id", enrolment))
        }
        Message::RefereeRegisterResponse(RegisterResponse::Accepted(enrolment)) => {
            (200, plain_enrolment("referee_id", enrolment))
        }
        Message::PlayerRegisterResponse(RegisterResponse::Rejected { reason })
        | Message::RefereeRegisterResponse(RegisterResponse::Rejected { reason }) => {
            plain_refusal(403, Code::PlayerNotRegistered, reason)
        }
        Message::LeagueError(error) => {
            let status = match error.code {
                Code::RateLimited => 429,
                Code::TokenMissing | Code::TokenInvalid => 401,
                Code::Connection => 503,
                _ => 400,
            };
            let (status, mut refusal) = plain_refusal(status, error.code, &error.detail);
            refusal["context"] = error.context.clone().into();
            (status, refusal)
        }
        _ => (200, json!({"status": "ok"})),
    }
}

fn plain_enrolment<Id: Display>(id: &str, enrolment: &Enrolment<Id>) -> Value {
    let mut told = json!({
        "status": "ACCEPTED",
        id: enrolment.id.to_string(),
        "auth_token": enrolment.token.reveal(),
        "league_id": enrolment.league_id,
    });
    let lasting = [
        ("return_token", &enrolment.return_token),
        ("manager_token", &enrolment.manager_token),
    ];
    for (name, token) in lasting {
        if let Some(token) = token {
            told[name] = token.reveal().into();
        }
    }
    told
}

fn plain_refusal(status: u16, code: Code, sentence: &str) -> (u16, Value) {
    let told = json!({
        "status": "REJECTED",
        "error_code": code.as_str(),
        "error_name": code.name(),
        "error": sentence,
    });
    (status, told)
}
