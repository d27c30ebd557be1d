//! From `league.v2` to the model.

use std::sync::Arc;

use crate::dialect::Hints;
use crate::dialect::words::RegisterWord;
use crate::fault::Code;
use crate::finding::{Notes, Path};
use crate::id::{GameType, LeagueId, PlayerId, RefereeId};
use crate::message as model;
use crate::message::{Message, RegisterResponse};
use crate::sender::Speech;
use crate::shape::{Field, List, Parsed, Secret, Text};
use crate::token::AuthToken;

use super::understand_answer::query_response;
use super::understand_play::{
    game_invitation, join_ack, move_call, move_response, parity_call, parity_response, start_match,
    start_match_ack,
};
use super::understand_result::{game_error, game_over, league_error, league_query, result_report};
use super::understand_round::{announcement, completed, league_completed, standings};
use super::*;

/// Understands a message; `None` if something is missing that it cannot do without.
pub fn understand(body: &Body<'_>, hints: &Hints<'_>, notes: &mut Notes) -> Option<Message> {
    let at = &Path::root(body.clause());
    Some(match body {
        Body::RefereeRegisterRequest(request) => {
            Message::RefereeRegisterRequest(Box::new(referee_request(request)?))
        }
        Body::RefereeRegisterResponse(response) => {
            let answer = referee_answer(response)?;
            Message::RefereeRegisterResponse(enrolment(&answer, hints, at, notes)?)
        }
        Body::LeagueRegisterRequest(request) => {
            Message::PlayerRegisterRequest(Box::new(player_request(request)?))
        }
        Body::LeagueRegisterResponse(response) => {
            let answer = player_answer(response)?;
            Message::PlayerRegisterResponse(enrolment(&answer, hints, at, notes)?)
        }
        Body::RoundAnnouncement(round) => Message::from(announcement(round, hints)?),
        Body::RoundCompleted(round) => Message::from(completed(round, hints)?),
        Body::LeagueCompleted(league) => Message::from(league_completed(league, hints)?),
        Body::LeagueStandingsUpdate(update) => Message::from(standings(update, hints)?),
        Body::StartMatch(order) => Message::from(start_match(order, at, notes)?),
        Body::StartMatchAck(ack) => Message::from(start_match_ack(ack, hints, at, notes)?),
        Body::GameInvitation(invitation) => {
            Message::GameInvitation(Box::new(game_invitation(invitation, hints)?))
        }
        Body::GameJoinAck(ack) => Message::from(join_ack(ack, hints, at, notes)?),
        Body::ChooseParityCall(call) => {
            Message::MoveCall(Box::new(parity_call(call, hints, at, notes)?))
        }
        Body::ChooseParityResponse(response) => {
            Message::MoveResponse(Arc::new(parity_response(response, hints, at, notes)?))
        }
        Body::GameMoveCall(call) => Message::MoveCall(Box::new(move_call(call, hints, at, notes)?)),
        Body::GameMoveResponse(response) => {
            Message::MoveResponse(Arc::new(move_response(response, hints, at, notes)?))
        }
        Body::GameOver(over) => Message::from(game_over(over, hints, at, notes)?),
        Body::GameError(error) => {
            Message::GameError(Box::new(game_error(error, hints, at, notes)?))
        }
        Body::MatchResultReport(report) => Message::from(result_report(report, hints, at, notes)?),
        Body::LeagueQuery(query) => Message::from(league_query(query, hints, at, notes)?),
        Body::LeagueQueryResponse(response) => {
            Message::LeagueQueryResponse(Box::new(query_response(response, hints, at, notes)?))
        }
        Body::LeagueError(error) => Message::from(league_error(error)?),
    })
}

fn referee_request(request: &RefereeRegisterRequest<'_>) -> Option<model::RegisterRequest> {
    let meta = request.referee_meta.get()?;
    Some(model::RegisterRequest {
        meta: model::AgentMeta {
            display_name: meta.display_name.text()?.to_owned(),
            version: meta.version.text().unwrap_or_default().to_owned(),
            protocol_version: meta.protocol_version.text().map(str::to_owned),
            game_types: games(&meta.game_types),
            // Without an address the manager refuses the agent, and says so in words.
            contact_endpoint: meta.contact_endpoint.text().unwrap_or_default().to_owned(),
            max_concurrent_matches: meta.max_concurrent_matches.number(),
            speech: meta.speech.text().and_then(Speech::parse),
        },
        wanted_id: request.referee_id.text().map(str::to_owned),
        token: None,
    })
}

fn player_request(request: &LeagueRegisterRequest<'_>) -> Option<model::RegisterRequest> {
    let meta = request.player_meta.get()?;
    Some(model::RegisterRequest {
        meta: model::AgentMeta {
            display_name: meta.display_name.text()?.to_owned(),
            version: meta.version.text().unwrap_or_default().to_owned(),
            protocol_version: meta.protocol_version.text().map(str::to_owned),
            game_types: games(&meta.game_types),
            // Without an address the manager refuses the agent, and says so in words.
            contact_endpoint: meta.contact_endpoint.text().unwrap_or_default().to_owned(),
            max_concurrent_matches: None,
            speech: meta.speech.text().and_then(Speech::parse),
        },
        wanted_id: request.player_id.text().map(str::to_owned),
        token: None,
    })
}

/// The games that an agent names; a word that cannot be a game is one it cannot play.
fn games(field: &Field<'_, List<'_, Text<'_>>>) -> Vec<GameType> {
    let names = field.get().into_iter().flat_map(List::values);
    names
        .filter_map(|Text(name)| GameType::new(name).ok())
        .collect()
}

/// Both kinds of answer to a registration, which differ in the name of the id alone.
struct Enrolled<'x, Id> {
    status: RegisterWord,
    id: Option<&'x Id>,
    id_name: &'static str,
    token: &'x Field<'x, Secret<'x>>,
    manager_token: &'x Field<'x, Secret<'x>>,
    return_token: &'x Field<'x, Secret<'x>>,
    league_id: &'x Field<'x, Parsed<'x, LeagueId>>,
    reason: &'x Field<'x, Text<'x>>,
}

fn referee_answer<'x>(
    response: &'x RefereeRegisterResponse<'x>,
) -> Option<Enrolled<'x, RefereeId>> {
    Some(Enrolled {
        status: *response.status.value()?,
        id: response.referee_id.value(),
        id_name: "referee_id",
        token: &response.auth_token,
        manager_token: &response.manager_token,
        return_token: &response.return_token,
        league_id: &response.league_id,
        reason: &response.reason,
    })
}

fn player_answer<'x>(response: &'x LeagueRegisterResponse<'x>) -> Option<Enrolled<'x, PlayerId>> {
    Some(Enrolled {
        status: *response.status.value()?,
        id: response.player_id.value(),
        id_name: "player_id",
        token: &response.auth_token,
        manager_token: &response.manager_token,
        return_token: &response.return_token,
        league_id: &response.league_id,
        reason: &response.reason,
    })
}

fn enrolment<Id: Clone>(
    answer: &Enrolled<'_, Id>,
    hints: &Hints<'_>,
    at: &Path<'_>,
    notes: &mut Notes,
) -> Option<RegisterResponse<Id>> {
    if answer.status == RegisterWord::Rejected {
        let reason = answer.reason.text();
        promised(reason, "reason", "why the agent is not admitted", at, notes);
        let reason = reason.unwrap_or("no reason given").to_owned();
        return Some(RegisterResponse::Rejected { reason });
    }
    let id = needed(answer.id, answer.id_name, "the agent's id", at, notes)?;
    let token = answer.token.get();
    promised(token, "auth_token", "the agent's token", at, notes);
    Some(RegisterResponse::from(model::Enrolment {
        id: id.clone(),
        token: AuthToken::new(token.map_or("", |secret| &secret.0)),
        league_id: hints.league(answer.league_id.value()),
        manager_token: given(answer.manager_token),
        return_token: given(answer.return_token),
    }))
}

/// A token that is not always given.
fn given(field: &Field<'_, Secret<'_>>) -> Option<AuthToken> {
    let token = field.get().filter(|Secret(text)| !text.is_empty());
    token.map(|Secret(text)| AuthToken::new(text))
}

/// Notes what an answer should hold and a lenient reader can do without.
fn promised<T>(value: Option<T>, name: &str, expected: &str, at: &Path<'_>, notes: &mut Notes) {
    if value.is_none() {
        let detail = format!("`{name}` is missing; add it");
        notes.note(
            Code::MissingField,
            &at.member(name, false),
            expected,
            detail,
        );
    }
}

/// Takes a value that must be there, or notes that it is not usable.
pub(super) fn needed<T>(
    value: Option<T>,
    name: &str,
    expected: &str,
    at: &Path<'_>,
    notes: &mut Notes,
) -> Option<T> {
    if value.is_none() {
        let detail = format!("`{name}` is missing or not usable; send {expected}");
        notes.refuse(Code::MissingField, &at.member(name, true), expected, detail);
    }
    value
}
