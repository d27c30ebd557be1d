//! From the model to `league.v1`.

use std::borrow::Cow;

use crate::dialect::Hints;
use crate::dialect::build::{flag, id, text, whole};
use crate::dialect::v2::PlayerMeta;
use crate::dialect::words::RegisterWord;
use crate::fault::Code;
use crate::id::{LeagueId, PlayerId};
use crate::message as model;
use crate::message::Message;
use crate::shape::{Any, Extra, Field, List, Parsed, Text};

use super::names::{LeagueName, PlayerName, league_uuid, player_name};
use super::say_result::{game_over, league_complete, match_report, round_complete};
use super::words::{ReadyWord, RoleWord, ValidWord};
use super::*;

/// Says a message; `None` if this dialect has no words for it.
///
/// Every message names its league here; one that does not know it takes it from the hints.
pub fn say<'m>(message: &'m Message, hints: &Hints<'_>) -> Option<Body<'m>> {
    Some(match message {
        Message::PlayerRegisterRequest(request) => {
            Body::LeagueRegisterRequest(register_request(request, hints))
        }
        Message::PlayerRegisterResponse(response) => {
            Body::LeagueRegisterResponse(register_response(response, hints))
        }
        Message::LeagueStart(start) => Body::LeagueStartAnnouncement(league_start(start)),
        Message::GameInvitation(invitation) => Body::GameInvitation(game_invitation(invitation)),
        Message::GameJoinAck(ack) => Body::GameInvitationResponse(join_ack(ack, hints)),
        Message::GameStart(start) => Body::GameStart(game_start(start)),
        Message::MoveCall(call) => Body::PlayRequest(play_request(call)),
        Message::MoveResponse(response) => Body::PlayResponse(play_response(response, hints)),
        Message::PlayValidation(validation) => Body::PlayValidation(play_validation(validation)),
        Message::GameError(error) => Body::PlayValidation(refused_play(error)?),
        Message::GameOver(over) => Body::GameResult(game_over(over)),
        Message::MatchResultReport(report) => Body::GameResult(match_report(report)),
        Message::RoundCompleted(round) => Body::RoundComplete(round_complete(round)),
        Message::LeagueCompleted(league) => Body::LeagueComplete(league_complete(league)),
        Message::RefereeRegisterRequest(_)
        | Message::RefereeRegisterResponse(_)
        | Message::RoundAnnouncement(_)
        | Message::StandingsUpdate(_)
        | Message::StartMatch(_)
        | Message::StartMatchAck(_)
        | Message::LeagueQuery(_)
        | Message::LeagueQueryResponse(_)
        | Message::LeagueError(_)
        | Message::Ping
        | Message::Acknowledged => return None,
    })
}

pub(super) fn league<'a>(id: &LeagueId) -> Field<'a, Parsed<'a, LeagueName>> {
    Field::Is(Parsed::new(league_uuid(id), LeagueName(id.clone())))
}

pub(super) fn player<'a>(id: &PlayerId) -> Field<'a, Parsed<'a, PlayerName>> {
    Field::Is(named(id))
}

pub(super) fn named<'a>(id: &PlayerId) -> Parsed<'a, PlayerName> {
    Parsed::new(player_name(id), PlayerName(id.clone()))
}

fn register_request<'m>(
    request: &'m model::RegisterRequest,
    hints: &Hints<'_>,
) -> LeagueRegisterRequest<'m> {
    let meta = &request.meta;
    let games = meta.game_types.iter().map(|game| game.as_str().into());
    let wanted = request.wanted_id.as_deref();
    LeagueRegisterRequest {
        league_id: league(&hints.league(None)),
        round_id: whole(0),
        match_id: text("REGISTRATION"),
        player_meta: Field::Is(PlayerMeta {
            display_name: text(&meta.display_name),
            version: text(&meta.version),
            protocol_version: Field::Absent,
            game_types: Field::Is(List::of(games)),
            contact_endpoint: text(endpoint(&meta.contact_endpoint)),
            speech: Field::or_absent(meta.speech.map(|speech| speech.as_str().into())),
            extra: Extra::default(),
        }),
        player_id: Field::or_absent(wanted.map(|wanted| match PlayerId::new(wanted) {
            Ok(id) => Text::from(player_name(&id)),
            Err(_) => Text::from(wanted),
        })),
        extra: Extra::default(),
    }
}

/// An address as 003 writes it.
fn endpoint(address: &str) -> Cow<'_, str> {
    match address.strip_prefix("http://") {
        Some(rest) => Cow::Owned(format!("mcp://{rest}")),
        None => Cow::Borrowed(address),
    }
}

fn register_response<'m>(
    response: &'m model::RegisterResponse<PlayerId>,
    hints: &Hints<'_>,
) -> LeagueRegisterResponse<'m> {
    let (league_id, status, player_id, reason) = match response {
        model::RegisterResponse::Accepted(enrolment) => (
            enrolment.league_id.clone(),
            RegisterWord::Accepted,
            player(&enrolment.id),
            Field::Null,
        ),
        model::RegisterResponse::Rejected { reason } => (
            hints.league(None),
            RegisterWord::Rejected,
            Field::Null,
            text(reason),
        ),
    };
    LeagueRegisterResponse {
        league_id: league(&league_id),
        round_id: whole(0),
        match_id: text("REGISTRATION"),
        status: Field::Is(status.wire()),
        player_id,
        reason,
        extra: Extra::default(),
    }
}

fn league_start(start: &model::LeagueStart) -> LeagueStartAnnouncement<'_> {
    let schedule = start.schedule.iter().map(|round| ScheduledRound {
        round_id: whole(round.round_id),
        matches: Field::Is(List::of(round.matches.iter().map(|listed| {
            ScheduledMatch {
                match_id: id(&listed.match_id),
                player1: player(&listed.player_a),
                player2: player(&listed.player_b),
                extra: Extra::default(),
            }
        }))),
        extra: Extra::default(),
    });
    LeagueStartAnnouncement {
        league_id: league(&start.league_id),
        round_id: whole(1),
        match_id: text("ANNOUNCEMENT"),
        league_info: Field::Is(LeagueInfo {
            total_rounds: whole(start.total_rounds),
            total_players: whole(start.total_players),
            game_type: id(&start.game_type),
            schedule: Field::Is(List::of(schedule)),
            extra: Extra::default(),
        }),
        extra: Extra::default(),
    }
}

fn game_invitation(invitation: &model::GameInvitation) -> GameInvitation<'_> {
    let promise = invitation.commitment.map(|promise| promise.to_hex().into());
    GameInvitation {
        league_id: league(&invitation.league_id),
        round_id: whole(invitation.round_id),
        match_id: id(&invitation.match_id),
        game_info: Field::Is(GameInfo {
            game_type: id(&invitation.game_type),
            opponent_id: player(&invitation.opponent_id),
            your_role: Field::Is(RoleWord::from(invitation.role).wire()),
            timeout_seconds: whole(invitation.move_seconds),
            draw_commitment: Field::or_absent(promise),
            extra: Extra::default(),
        }),
        extra: Extra::default(),
    }
}

fn join_ack<'m>(ack: &'m model::GameJoinAck, hints: &Hints<'_>) -> GameInvitationResponse<'m> {
    let status = if ack.accept {
        ReadyWord::Ready
    } else {
        ReadyWord::Declined
    };
    GameInvitationResponse {
        league_id: league(&hints.league(None)),
        round_id: whole(ack.match_id.round().unwrap_or_default()),
        match_id: id(&ack.match_id),
        status: Field::Is(status.wire()),
        extra: Extra::default(),
    }
}

fn game_start(start: &model::GameStart) -> GameStart<'_> {
    GameStart {
        league_id: league(&start.league_id),
        round_id: whole(start.round_id),
        match_id: id(&start.match_id),
        game_state: Field::Is(StartState {
            game_type: id(&start.game_type),
            current_player: player(&start.current_player),
            rules: Field::Is(StartRules {
                single_round: flag(start.game_type.as_str() == model::EVEN_ODD),
                timeout_per_move: whole(start.move_seconds),
                extra: Extra::default(),
            }),
            extra: Extra::default(),
        }),
        extra: Extra::default(),
    }
}

fn play_request(call: &model::MoveCall) -> PlayRequest<'_> {
    let mut state = SpecificState {
        previous_plays: Field::Is(List(Vec::new())),
        ..SpecificState::default()
    };
    if call.game_type.as_str() != model::EVEN_ODD {
        state.game_type = id(&call.game_type);
        state.move_type = text(&*call.move_type);
        state.valid_options = Field::Is(List::of(call.options.iter().map(Any::from)));
        state.view = Field::Is((&*call.view).into());
    }
    PlayRequest {
        league_id: league(&call.league_id),
        round_id: whole(call.round_id),
        match_id: id(&call.match_id),
        game_state: Field::Is(PlayState {
            turn_number: whole(call.turn_number),
            timeout_seconds: whole(call.move_seconds),
            game_specific_state: Field::Is(state),
            extra: Extra::default(),
        }),
        extra: Extra::default(),
    }
}

/// A play; 003 knows one action, whatever is chosen by it.
fn play(choice: &serde_json::Value) -> Play<'_> {
    Play {
        action: text("choose"),
        value: Field::Is(choice.into()),
        ..Play::default()
    }
}

fn play_response<'m>(response: &'m model::MoveResponse, hints: &Hints<'_>) -> PlayResponse<'m> {
    PlayResponse {
        league_id: league(&hints.league(None)),
        round_id: whole(response.match_id.round().unwrap_or_default()),
        match_id: id(&response.match_id),
        play: Field::Is(Play {
            reasoning: Field::or_absent(response.reasoning.as_deref().map(Text::from)),
            nonce: Field::or_absent(response.nonce.as_deref().map(Text::from)),
            ..play(&response.choice)
        }),
        extra: Extra::default(),
    }
}

fn play_validation(validation: &model::PlayValidation) -> PlayValidation<'_> {
    let status = match validation.error {
        None => ValidWord::Valid,
        Some(_) => ValidWord::Invalid,
    };
    PlayValidation {
        league_id: league(&validation.league_id),
        round_id: whole(validation.round_id),
        match_id: id(&validation.match_id),
        validation: Field::Is(Validation {
            player_id: player(&validation.player_id),
            play: Field::or_null(validation.choice.as_ref().map(play)),
            status: Field::Is(status.wire()),
            error: Field::or_null(validation.error.as_deref().map(Text::from)),
            detail: Field::Absent,
            extra: Extra::default(),
        }),
        extra: Extra::default(),
    }
}

/// Says an error about a play as a validation that failed; other errors have no words.
fn refused_play(error: &model::GameError) -> Option<PlayValidation<'_>> {
    let about_a_play = ["CHOOSE_PARITY_RESPONSE", "GAME_MOVE_RESPONSE"];
    if !about_a_play.contains(&error.action_required) {
        return None;
    }
    Some(PlayValidation {
        league_id: league(&error.league_id),
        round_id: whole(error.round_id),
        match_id: id(&error.match_id),
        validation: Field::Is(Validation {
            player_id: player(&error.player_id),
            play: Field::Null,
            status: Field::Is(ValidWord::Invalid.wire()),
            error: text(refusal_reason(error)),
            detail: text(&error.detail),
            extra: Extra::default(),
        }),
        extra: Extra::default(),
    })
}

/// The fixed reason of 003 for an error, or our own sentence where it has none.
fn refusal_reason(error: &model::GameError) -> &str {
    match error.code {
        Code::Timeout | Code::DeadlinePassed => "Timeout exceeded",
        Code::InvalidMove => "Choice not in allowed values",
        Code::InvalidMessage | Code::MissingField => "Invalid choice format",
        _ => &error.detail,
    }
}
