//! From the model to `league.v2`.

use crate::dialect::Hints;
use crate::dialect::build::{flag, id, round, seconds, secret, text, whole};
use crate::dialect::words::{ModeWord, ParityWord, RegisterWord, RoleWord};
use crate::message as model;
use crate::message::Message;
use crate::sender::Speech;
use crate::shape::{Any, Extra, Field, List, Parsed, Round, Secret, Text};
use crate::token::AuthToken;

use super::say_result::{
    game_error, game_over, league_error, league_query, query_response, result_report,
};
use super::*;

/// Says a message; `None` if this dialect has no words for it.
pub fn say<'m>(message: &'m Message, _: &Hints<'_>) -> Option<Body<'m>> {
    Some(match message {
        Message::RefereeRegisterRequest(request) => {
            Body::RefereeRegisterRequest(referee_request(request))
        }
        Message::RefereeRegisterResponse(response) => {
            Body::RefereeRegisterResponse(referee_response(response))
        }
        Message::PlayerRegisterRequest(request) => {
            Body::LeagueRegisterRequest(player_request(request))
        }
        Message::PlayerRegisterResponse(response) => {
            Body::LeagueRegisterResponse(player_response(response))
        }
        Message::RoundAnnouncement(round) => Body::RoundAnnouncement(announcement(round)),
        Message::RoundCompleted(round) => Body::RoundCompleted(completed(round)),
        Message::LeagueCompleted(league) => Body::LeagueCompleted(league_completed(league)),
        Message::StandingsUpdate(update) => Body::LeagueStandingsUpdate(standings(update)),
        Message::StartMatch(order) => Body::StartMatch(start_match(order)),
        Message::StartMatchAck(ack) => Body::StartMatchAck(start_match_ack(ack)),
        Message::GameInvitation(invitation) => Body::GameInvitation(game_invitation(invitation)),
        Message::GameJoinAck(ack) => Body::GameJoinAck(join_ack(ack)),
        Message::MoveCall(call) if call.game_type.as_str() == model::EVEN_ODD => {
            Body::ChooseParityCall(parity_call(call))
        }
        Message::MoveCall(call) => Body::GameMoveCall(move_call(call)),
        Message::MoveResponse(response) => move_response(response),
        Message::GameOver(over) => Body::GameOver(game_over(over)),
        Message::GameError(error) => Body::GameError(game_error(error)),
        Message::MatchResultReport(report) => Body::MatchResultReport(result_report(report)),
        Message::LeagueQuery(query) => Body::LeagueQuery(league_query(query)),
        Message::LeagueQueryResponse(response) => {
            Body::LeagueQueryResponse(query_response(response))
        }
        Message::LeagueError(error) => Body::LeagueError(league_error(error)),
        Message::LeagueStart(_)
        | Message::GameStart(_)
        | Message::PlayValidation(_)
        | Message::Ping
        | Message::Acknowledged => return None,
    })
}

fn referee_request(request: &model::RegisterRequest) -> RefereeRegisterRequest<'_> {
    let meta = &request.meta;
    RefereeRegisterRequest {
        referee_meta: Field::Is(RefereeMeta {
            display_name: text(&meta.display_name),
            version: text(&meta.version),
            protocol_version: Field::or_absent(meta.protocol_version.as_deref().map(Text::from)),
            game_types: Field::Is(List::of(
                meta.game_types.iter().map(|game| game.as_str().into()),
            )),
            contact_endpoint: text(&meta.contact_endpoint),
            max_concurrent_matches: whole(meta.max_concurrent_matches.unwrap_or(1)),
            speech: speech(meta.speech),
            extra: Extra::default(),
        }),
        referee_id: Field::or_absent(request.wanted_id.as_deref().map(Text::from)),
        extra: Extra::default(),
    }
}

fn player_request(request: &model::RegisterRequest) -> LeagueRegisterRequest<'_> {
    let meta = &request.meta;
    LeagueRegisterRequest {
        player_meta: Field::Is(PlayerMeta {
            display_name: text(&meta.display_name),
            version: text(&meta.version),
            protocol_version: Field::or_absent(meta.protocol_version.as_deref().map(Text::from)),
            game_types: Field::Is(List::of(
                meta.game_types.iter().map(|game| game.as_str().into()),
            )),
            contact_endpoint: text(&meta.contact_endpoint),
            speech: speech(meta.speech),
            extra: Extra::default(),
        }),
        player_id: Field::or_absent(request.wanted_id.as_deref().map(Text::from)),
        extra: Extra::default(),
    }
}

/// A token that is not always given.
fn given(token: Option<&AuthToken>) -> Field<'_, Secret<'_>> {
    Field::or_absent(token.map(|token| Secret(token.reveal().into())))
}

fn referee_response(
    response: &model::RegisterResponse<crate::id::RefereeId>,
) -> RefereeRegisterResponse<'_> {
    match response {
        model::RegisterResponse::Accepted(enrolment) => RefereeRegisterResponse {
            status: Field::Is(RegisterWord::Accepted.wire()),
            referee_id: id(&enrolment.id),
            auth_token: secret(enrolment.token.reveal()),
            manager_token: given(enrolment.manager_token.as_ref()),
            return_token: given(enrolment.return_token.as_ref()),
            league_id: id(&enrolment.league_id),
            reason: Field::Null,
            extra: Extra::default(),
        },
        model::RegisterResponse::Rejected { reason } => RefereeRegisterResponse {
            status: Field::Is(RegisterWord::Rejected.wire()),
            reason: text(reason),
            ..RefereeRegisterResponse::default()
        },
    }
}

fn player_response(
    response: &model::RegisterResponse<crate::id::PlayerId>,
) -> LeagueRegisterResponse<'_> {
    match response {
        model::RegisterResponse::Accepted(enrolment) => LeagueRegisterResponse {
            status: Field::Is(RegisterWord::Accepted.wire()),
            player_id: id(&enrolment.id),
            auth_token: secret(enrolment.token.reveal()),
            manager_token: given(enrolment.manager_token.as_ref()),
            return_token: given(enrolment.return_token.as_ref()),
            league_id: id(&enrolment.league_id),
            reason: Field::Null,
            extra: Extra::default(),
        },
        model::RegisterResponse::Rejected { reason } => LeagueRegisterResponse {
            status: Field::Is(RegisterWord::Rejected.wire()),
            reason: text(reason),
            ..LeagueRegisterResponse::default()
        },
    }
}

fn announcement(round_begins: &model::RoundAnnouncement) -> RoundAnnouncement<'_> {
    let own = round_begins.own.as_ref();
    let matches = round_begins.matches.iter().map(|announced| RoundMatch {
        match_id: id(&announced.match_id),
        game_type: id(&announced.game_type),
        player_a_id: id(&announced.player_a),
        player_b_id: id(&announced.player_b),
        referee_endpoint: text(&*announced.referee_endpoint),
        draw_commitment: promise(announced.commitment),
        match_token: match own {
            Some((match_id, token)) if *match_id == announced.match_id => secret(token.reveal()),
            _ => Field::Absent,
        },
        extra: Extra::default(),
    });
    RoundAnnouncement {
        league_id: id(&round_begins.league_id),
        round_id: round(round_begins.round_id),
        matches: Field::Is(List::of(matches)),
        extra: Extra::default(),
    }
}

fn completed(over: &model::RoundCompleted) -> RoundCompleted<'_> {
    RoundCompleted {
        league_id: id(&over.league_id),
        round_id: round(over.round_id),
        matches_completed: whole(over.summary.total_matches),
        matches_played: whole(over.summary.total_matches),
        next_round_id: Field::or_null(over.next_round_id.map(Round::Number)),
        summary: Field::Is(RoundSummary {
            total_matches: whole(over.summary.total_matches),
            wins: whole(over.summary.wins),
            draws: whole(over.summary.draws),
            technical_losses: whole(over.summary.technical_losses),
            extra: Extra::default(),
        }),
        extra: Extra::default(),
    }
}

fn standings(update: &model::StandingsUpdate) -> LeagueStandingsUpdate<'_> {
    LeagueStandingsUpdate {
        league_id: id(&update.league_id),
        round_id: round(update.round_id),
        standings: Field::Is(List::of(update.standings.iter().map(standing_row))),
        extra: Extra::default(),
    }
}

pub(super) fn standing_row(row: &model::StandingRow) -> StandingRow<'_> {
    StandingRow {
        rank: whole(row.rank),
        player_id: id(&row.player_id),
        display_name: text(&*row.display_name),
        played: whole(row.played),
        wins: whole(row.wins),
        draws: whole(row.draws),
        losses: whole(row.losses),
        points: whole(row.points),
        extra: Extra::default(),
    }
}

fn league_completed(over: &model::LeagueCompleted) -> LeagueCompleted<'_> {
    LeagueCompleted {
        league_id: id(&over.league_id),
        total_rounds: whole(over.total_rounds),
        total_matches: whole(over.total_matches),
        champion: Field::or_null(over.champion.as_ref().map(|champion| Champion {
            player_id: id(&champion.player_id),
            display_name: text(&*champion.display_name),
            points: whole(champion.points),
            extra: Extra::default(),
        })),
        final_standings: Field::Is(List::of(over.final_standings.iter().map(|row| FinalRow {
            rank: whole(row.rank),
            player_id: id(&row.player_id),
            points: whole(row.points),
            extra: Extra::default(),
        }))),
        extra: Extra::default(),
    }
}

fn start_match(order: &model::StartMatch) -> StartMatch<'_> {
    let mode = match order.mode {
        model::Mode::Auto => ModeWord::Auto,
        model::Mode::Manual => ModeWord::Manual,
    };
    StartMatch {
        league_id: id(&order.league_id),
        round_id: round(order.round_id),
        match_id: id(&order.match_id),
        attempt: whole(order.attempt),
        game_type: id(&order.game_type),
        game_settings: Field::Is((&order.settings).into()),
        mode: Field::Is(mode.wire()),
        step_token_hash: order
            .step_token
            .map_or(Field::Absent, |hash| text(hash.to_string())),
        strict: flag(order.strict),
        scoring: Field::Is(Scoring {
            win_points: whole(order.score.win),
            draw_points: whole(order.score.draw),
            loss_points: whole(order.score.loss),
            technical_loss_points: whole(order.score.technical_loss),
            extra: Extra::default(),
        }),
        draw_seed: secret(order.seed.to_hex()),
        players: Field::Is(List::of(order.players.iter().map(|player| MatchPlayer {
            player_id: id(&player.player_id),
            contact_endpoint: text(&*player.endpoint),
            dialect: text(player.dialect.as_str()),
            speech: speech(player.speech),
            token_hash: text(player.token_hash.to_string()),
            match_token: secret(player.match_token.reveal()),
            record: Field::Is(record(player.record)),
            extra: Extra::default(),
        }))),
        extra: Extra::default(),
    }
}

fn speech<'a>(speech: Option<Speech>) -> Field<'a, Text<'a>> {
    Field::or_absent(speech.map(|speech| speech.as_str().into()))
}

fn record<'a>(record: model::WinLossDraw) -> Record<'a> {
    Record {
        wins: whole(record.wins),
        losses: whole(record.losses),
        draws: whole(record.draws),
        extra: Extra::default(),
    }
}

fn start_match_ack(ack: &model::StartMatchAck) -> StartMatchAck<'_> {
    StartMatchAck {
        match_id: id(&ack.match_id),
        accepted: flag(ack.accepted),
        reason: Field::or_null(ack.reason.as_deref().map(Text::from)),
        extra: Extra::default(),
    }
}

fn game_invitation(invitation: &model::GameInvitation) -> GameInvitation<'_> {
    GameInvitation {
        league_id: id(&invitation.league_id),
        round_id: round(invitation.round_id),
        match_id: id(&invitation.match_id),
        game_type: id(&invitation.game_type),
        role_in_match: Field::Is(RoleWord::from(invitation.role).wire()),
        opponent_id: id(&invitation.opponent_id),
        draw_commitment: Field::or_absent(
            invitation
                .commitment
                .map(|commitment| Text::from(commitment.to_hex())),
        ),
        extra: Extra::default(),
    }
}

fn promise<'a>(commitment: Option<crate::secret::Commitment>) -> Field<'a, Text<'a>> {
    Field::or_absent(commitment.map(|commitment| Text::from(commitment.to_hex())))
}

fn join_ack(ack: &model::GameJoinAck) -> GameJoinAck<'_> {
    GameJoinAck {
        match_id: id(&ack.match_id),
        player_id: Field::or_absent(ack.player_id.as_ref().map(Parsed::from)),
        arrival_timestamp: Field::or_absent(ack.arrival.map(seconds)),
        accept: flag(ack.accept),
        extra: Extra::default(),
    }
}

fn parity_call(call: &model::MoveCall) -> ChooseParityCall<'_> {
    ChooseParityCall {
        league_id: id(&call.league_id),
        round_id: round(call.round_id),
        match_id: id(&call.match_id),
        player_id: id(&call.player_id),
        game_type: id(&call.game_type),
        context: Field::Is(ChoiceContext {
            opponent_id: id(&call.opponent_id),
            round_id: round(call.round_id),
            your_standings: Field::Is(record(call.record)),
            extra: Extra::default(),
        }),
        deadline: Field::Is(seconds(call.deadline)),
        extra: Extra::default(),
    }
}

fn move_call(call: &model::MoveCall) -> GameMoveCall<'_> {
    GameMoveCall {
        league_id: id(&call.league_id),
        round_id: round(call.round_id),
        match_id: id(&call.match_id),
        player_id: id(&call.player_id),
        game_type: id(&call.game_type),
        move_request: Field::Is(MoveRequest {
            move_type: text(&*call.move_type),
            valid_options: Field::Is(List::of(call.options.iter().map(Any::from))),
            context: Field::Is(MoveContext {
                opponent_id: id(&call.opponent_id),
                round_id: round(call.round_id),
                your_standings: Field::Is(record(call.record)),
                view: Field::Is((&*call.view).into()),
                turn_number: whole(call.turn_number),
                extra: Extra::default(),
            }),
            extra: Extra::default(),
        }),
        deadline: Field::Is(seconds(call.deadline)),
        extra: Extra::default(),
    }
}

fn move_response(response: &model::MoveResponse) -> Body<'_> {
    let player_id = Field::or_absent(response.player_id.as_ref().map(Parsed::from));
    let nonce = Field::or_absent(response.nonce.as_deref().map(Text::from));
    let parity = match response.choice.as_str() {
        Some("even") => Some(ParityWord::Even),
        Some("odd") => Some(ParityWord::Odd),
        _ => None,
    };
    match parity {
        Some(word) if response.game_type.as_str() == model::EVEN_ODD => {
            Body::ChooseParityResponse(ChooseParityResponse {
                match_id: id(&response.match_id),
                player_id,
                parity_choice: Field::Is(word.wire()),
                nonce,
                extra: Extra::default(),
            })
        }
        _ => Body::GameMoveResponse(GameMoveResponse {
            match_id: id(&response.match_id),
            player_id,
            game_type: id(&response.game_type),
            move_data: Field::Is(MoveDetail {
                move_type: Field::or_absent(response.move_type.as_deref().map(Text::from)),
                choice: Field::Is((&response.choice).into()),
                extra: Extra::default(),
            }),
            nonce,
            extra: Extra::default(),
        }),
    }
}
