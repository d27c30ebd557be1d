//! From `league.v1` to the model.

use std::sync::Arc;

use serde_json::Value;

use crate::dialect::Hints;
use crate::dialect::v2::{self, PlayerMeta};
use crate::dialect::words::RegisterWord;
use crate::fault::Code;
use crate::finding::{Notes, Path};
use crate::id::{LeagueId, PlayerId};
use crate::message as model;
use crate::message::{Message, RegisterResponse};
use crate::secret::Commitment;
use crate::shape::{Any, Extra, Field, List, Parsed, Whole};
use crate::time::Timestamp;
use crate::token::AuthToken;

use super::names::{LeagueName, PlayerName, league_uuid, player_id};
use super::understand_result::{game_result, league_complete, round_complete};
use super::words::{ReadyWord, ValidWord};
use super::*;

/// Understands a message; `None` if something is missing that it cannot do without.
pub fn understand(body: &Body<'_>, hints: &Hints<'_>, notes: &mut Notes) -> Option<Message> {
    let at = &Path::root(body.clause());
    Some(match body {
        Body::LeagueRegisterRequest(request) => {
            Message::PlayerRegisterRequest(Box::new(register_request(request, hints, notes)?))
        }
        Body::LeagueRegisterResponse(response) => {
            Message::PlayerRegisterResponse(register_response(response, hints, at, notes)?)
        }
        Body::LeagueStartAnnouncement(start) => Message::from(league_start(start, hints)?),
        Body::GameInvitation(invitation) => {
            Message::GameInvitation(Box::new(game_invitation(invitation, hints)?))
        }
        Body::GameInvitationResponse(response) => Message::from(join_ack(response)?),
        Body::GameStart(start) => Message::from(game_start(start, hints)?),
        Body::PlayRequest(request) => {
            Message::MoveCall(Box::new(play_request(request, hints, at, notes)?))
        }
        Body::PlayResponse(response) => {
            Message::MoveResponse(Arc::new(play_response(response, hints, at, notes)?))
        }
        Body::PlayValidation(validation) => {
            Message::PlayValidation(Box::new(play_validation(validation, hints)?))
        }
        Body::GameResult(result) => game_result(result, hints, at, notes)?,
        Body::RoundComplete(round) => Message::from(round_complete(round, hints)?),
        Body::LeagueComplete(league) => Message::from(league_complete(league, hints)?),
    })
}

/// How long a play may take where the message does not say: 003's 30 seconds.
const DEFAULT_SECONDS: u32 = 30;

/// The league that a UUID stands for: the known one if it is that one's, else the UUID itself.
pub(super) fn league(field: &Field<'_, Parsed<'_, LeagueName>>, hints: &Hints<'_>) -> LeagueId {
    let named = field.value().map(|LeagueName(id)| id);
    match (named, hints.league_id) {
        (Some(named), Some(known)) if league_uuid(known).eq_ignore_ascii_case(named.as_str()) => {
            known.clone()
        }
        _ => hints.league(named),
    }
}

/// The player that a field names.
pub(super) fn player(field: &Field<'_, Parsed<'_, PlayerName>>) -> Option<PlayerId> {
    field.value().map(|PlayerName(id)| id.clone())
}

/// Registering is said as in `league.v2`, but for how the wish for an id is spelled.
fn register_request(
    request: &LeagueRegisterRequest<'_>,
    hints: &Hints<'_>,
    notes: &mut Notes,
) -> Option<model::RegisterRequest> {
    let meta: Field<'_, PlayerMeta<'_>> = request.player_meta.clone();
    let respelled = v2::Body::LeagueRegisterRequest(v2::LeagueRegisterRequest {
        player_meta: meta,
        player_id: request.player_id.clone(),
        extra: Extra::default(),
    });
    let Message::PlayerRegisterRequest(mut understood) = v2::understand(&respelled, hints, notes)?
    else {
        return None;
    };
    understood.wanted_id = understood
        .wanted_id
        .map(|name| player_id(&name).map_or(name, |id| id.to_string()));
    // What 003 writes as `mcp://` is reached by HTTP.
    let address = &mut understood.meta.contact_endpoint;
    if let Some(rest) = address.strip_prefix("mcp://") {
        *address = format!("http://{rest}");
    }
    Some(*understood)
}

fn register_response(
    response: &LeagueRegisterResponse<'_>,
    hints: &Hints<'_>,
    at: &Path<'_>,
    notes: &mut Notes,
) -> Option<RegisterResponse<PlayerId>> {
    if *response.status.value()? == RegisterWord::Rejected {
        let reason = response.reason.text().unwrap_or("no reason given");
        return Some(RegisterResponse::Rejected {
            reason: reason.to_owned(),
        });
    }
    let Some(id) = player(&response.player_id) else {
        let detail = "an accepted player needs its `player_id`; add it";
        let at = &at.member("player_id", true);
        notes.refuse(Code::MissingField, at, "a player's name", detail);
        return None;
    };
    Some(RegisterResponse::from(model::Enrolment {
        id,
        token: AuthToken::new(""),
        league_id: league(&response.league_id, hints),
        manager_token: None,
        return_token: None,
    }))
}

fn league_start(
    start: &LeagueStartAnnouncement<'_>,
    hints: &Hints<'_>,
) -> Option<model::LeagueStart> {
    let info = start.league_info.get()?;
    let game_type = hints.game(info.game_type.value());
    let rounds = info.schedule.get().into_iter().flat_map(List::values);
    let schedule = rounds.filter_map(|round| {
        let matches = round.matches.get()?.values().filter_map(|listed| {
            Some(model::MatchListing {
                match_id: listed.match_id.value()?.clone(),
                game_type: game_type.clone(),
                player_a: player(&listed.player1)?,
                player_b: player(&listed.player2)?,
            })
        });
        Some(model::RoundListing {
            round_id: round.round_id.number()?,
            matches: matches.collect(),
        })
    });
    Some(model::LeagueStart {
        league_id: league(&start.league_id, hints),
        total_rounds: info.total_rounds.number().unwrap_or_default(),
        total_players: info.total_players.number().unwrap_or_default(),
        schedule: schedule.collect(),
        game_type,
    })
}

fn game_invitation(
    invitation: &GameInvitation<'_>,
    hints: &Hints<'_>,
) -> Option<model::GameInvitation> {
    let info = invitation.game_info.get();
    let opponent = info.and_then(|info| player(&info.opponent_id));
    let role = match info {
        Some(info) => info.your_role.sure()?,
        None => None,
    };
    let promise = info.and_then(|info| info.draw_commitment.text());
    Some(model::GameInvitation {
        league_id: league(&invitation.league_id, hints),
        round_id: invitation.round_id.number().unwrap_or_default(),
        match_id: invitation.match_id.value()?.clone(),
        game_type: hints.game(info.and_then(|info| info.game_type.value())),
        role: role.map_or(model::Role::A, |word| word.value.into()),
        opponent_id: opponent.unwrap_or_else(|| hints.opponent()),
        commitment: promise.and_then(Commitment::from_hex),
        move_seconds: seconds(info.map(|info| &info.timeout_seconds)),
    })
}

fn seconds(field: Option<&Field<'_, Whole>>) -> u32 {
    field.and_then(Field::number).unwrap_or(DEFAULT_SECONDS)
}

fn join_ack(response: &GameInvitationResponse<'_>) -> Option<model::GameJoinAck> {
    Some(model::GameJoinAck {
        match_id: response.match_id.value()?.clone(),
        player_id: None,
        arrival: None,
        accept: *response.status.value()? == ReadyWord::Ready,
    })
}

fn game_start(start: &GameStart<'_>, hints: &Hints<'_>) -> Option<model::GameStart> {
    let state = start.game_state.get()?;
    let rules = state.rules.get();
    Some(model::GameStart {
        league_id: league(&start.league_id, hints),
        round_id: start.round_id.number().unwrap_or_default(),
        match_id: start.match_id.value()?.clone(),
        game_type: hints.game(state.game_type.value()),
        current_player: player(&state.current_player)?,
        move_seconds: seconds(rules.map(|rules| &rules.timeout_per_move)),
    })
}

/// A request names no deadline, only a number of seconds: the deadline is the end of time.
fn play_request(
    request: &PlayRequest<'_>,
    hints: &Hints<'_>,
    at: &Path<'_>,
    notes: &mut Notes,
) -> Option<model::MoveCall> {
    let state = request.game_state.get();
    let specific = state.and_then(|state| state.game_specific_state.get());
    let game_type = hints.game(specific.and_then(|specific| specific.game_type.value()));
    let even_odd = game_type.as_str() == model::EVEN_ODD;
    let options = specific.and_then(|specific| specific.valid_options.get());
    let move_type = specific.and_then(|specific| specific.move_type.text());
    let view = specific.and_then(|specific| specific.view.get());
    Some(model::MoveCall {
        league_id: league(&request.league_id, hints),
        round_id: request.round_id.number().unwrap_or_default(),
        match_id: request.match_id.value()?.clone(),
        player_id: hints.reader(&at.member("player_id", true), notes)?,
        opponent_id: hints.opponent(),
        move_type: Arc::from(move_type.unwrap_or(if even_odd { "choose_parity" } else { "" })),
        options: match options {
            Some(options) => options.values().map(Any::to_value).collect(),
            None if even_odd => Arc::new(["even".into(), "odd".into()]),
            None => Arc::new([]),
        },
        view: Arc::new(view.map(Any::to_value).unwrap_or_default()),
        turn_number: state
            .and_then(|state| state.turn_number.number())
            .unwrap_or(1),
        record: model::WinLossDraw::default(),
        deadline: Timestamp::LAST,
        move_seconds: seconds(state.map(|state| &state.timeout_seconds)),
        game_type,
    })
}

fn play_response(
    response: &PlayResponse<'_>,
    hints: &Hints<'_>,
    at: &Path<'_>,
    notes: &mut Notes,
) -> Option<model::MoveResponse> {
    let play = response.play.get()?;
    let choice = play.value.get()?.to_value();
    let game_type = hints.game(None);
    if game_type.as_str() == model::EVEN_ODD {
        check_parity(play, &choice, &at.member("play", true), notes)?;
    }
    Some(model::MoveResponse {
        match_id: response.match_id.value()?.clone(),
        player_id: None,
        game_type,
        move_type: None,
        choice,
        nonce: play.nonce.text().map(str::to_owned),
        reasoning: play.reasoning.text().map(str::to_owned),
    })
}

/// Even/Odd knows one action and two values; a wrong value is an illegal move.
fn check_parity(play: &Play<'_>, choice: &Value, at: &Path<'_>, notes: &mut Notes) -> Option<()> {
    if play.action.text().is_some_and(|action| action != "choose") {
        let detail = "the action of Even/Odd is always `choose`; send it";
        let at = &at.member("action", false);
        notes.note(Code::InvalidMessage, at, "`choose`", detail);
    }
    if matches!(choice.as_str(), Some("even" | "odd")) {
        return Some(());
    }
    let found = crate::finding::excerpt(&choice.to_string());
    let detail = format!("found `{found}`; send `even` or `odd`");
    let at = &at.member("value", true);
    notes.refuse(Code::InvalidMove, at, "`even` or `odd`", detail);
    None
}

fn play_validation(
    validation: &PlayValidation<'_>,
    hints: &Hints<'_>,
) -> Option<model::PlayValidation> {
    let told = validation.validation.get()?;
    let choice = told.play.get().and_then(|play| play.value.get());
    let error = told.error.text().unwrap_or("the play was not taken");
    let refused = *told.status.value()? == ValidWord::Invalid;
    Some(model::PlayValidation {
        league_id: league(&validation.league_id, hints),
        round_id: validation.round_id.number().unwrap_or_default(),
        match_id: validation.match_id.value()?.clone(),
        player_id: player(&told.player_id)?,
        choice: choice.map(Any::to_value),
        error: refused.then(|| error.to_owned()),
    })
}
