//! From `league.v2` to the model.

use std::sync::Arc;

use crate::dialect::Hints;
use crate::dialect::words::{ModeWord, ParityWord, RegisterWord};
use crate::fault::Code;
use crate::finding::{Notes, Path};
use crate::id::GameType;
use crate::message as model;
use crate::message::{Message, RegisterResponse};
use crate::secret::{Commitment, Seed};
use crate::sender::Dialect;
use crate::shape::{Any, Field, List, Parsed, Text, Whole};
use crate::time::Timestamp;
use crate::token::{AuthToken, TokenHash, unhex};

use super::understand_result::{
    game_error, game_over, league_error, league_query, query_response, result_report,
};
use super::understand_round::{announcement, completed, league_completed, standings};
use super::*;

/// Understands a message; `None` if something is missing that it cannot do without.
pub fn understand(body: &Body<'_>, hints: &Hints<'_>, notes: &mut Notes) -> Option<Message> {
    let at = &Path::root(body.clause());
    Some(match body {
        Body::RefereeRegisterRequest(request) => {
            Message::RefereeRegisterRequest(referee_request(request)?)
        }
        Body::RefereeRegisterResponse(response) => {
            let id = response.referee_id.value();
            let response = (
                response.status.value()?,
                id,
                &response.auth_token,
                &response.league_id,
                &response.reason,
            );
            Message::RefereeRegisterResponse(enrolment(response, "referee_id", hints, at, notes)?)
        }
        Body::LeagueRegisterRequest(request) => {
            Message::PlayerRegisterRequest(player_request(request)?)
        }
        Body::LeagueRegisterResponse(response) => {
            let id = response.player_id.value();
            let response = (
                response.status.value()?,
                id,
                &response.auth_token,
                &response.league_id,
                &response.reason,
            );
            Message::PlayerRegisterResponse(enrolment(response, "player_id", hints, at, notes)?)
        }
        Body::RoundAnnouncement(round) => Message::RoundAnnouncement(announcement(round, hints)?),
        Body::RoundCompleted(round) => Message::RoundCompleted(completed(round, hints)?),
        Body::LeagueCompleted(league) => Message::LeagueCompleted(league_completed(league, hints)?),
        Body::LeagueStandingsUpdate(update) => Message::StandingsUpdate(standings(update, hints)?),
        Body::StartMatch(order) => Message::StartMatch(start_match(order, at, notes)?),
        Body::StartMatchAck(ack) => Message::StartMatchAck(start_match_ack(ack, at, notes)?),
        Body::GameInvitation(invitation) => {
            Message::GameInvitation(game_invitation(invitation, hints, at, notes)?)
        }
        Body::GameJoinAck(ack) => Message::GameJoinAck(join_ack(ack, at, notes)?),
        Body::ChooseParityCall(call) => Message::MoveCall(parity_call(call, hints, at, notes)?),
        Body::ChooseParityResponse(response) => {
            Message::MoveResponse(parity_response(response, at, notes)?)
        }
        Body::GameMoveCall(call) => Message::MoveCall(move_call(call, hints, at, notes)?),
        Body::GameMoveResponse(response) => {
            Message::MoveResponse(move_response(response, hints, at, notes)?)
        }
        Body::GameOver(over) => Message::GameOver(game_over(over, hints, at, notes)?),
        Body::GameError(error) => Message::GameError(game_error(error, hints, at, notes)?),
        Body::MatchResultReport(report) => {
            Message::MatchResultReport(result_report(report, hints, at, notes)?)
        }
        Body::LeagueQuery(query) => Message::LeagueQuery(league_query(query, hints, at, notes)?),
        Body::LeagueQueryResponse(response) => {
            Message::LeagueQueryResponse(query_response(response, hints)?)
        }
        Body::LeagueError(error) => Message::LeagueError(league_error(error)?),
    })
}

fn referee_request(request: &RefereeRegisterRequest<'_>) -> Option<model::RegisterRequest> {
    let meta = request.referee_meta.get()?;
    let matches = meta.max_concurrent_matches.get();
    Some(model::RegisterRequest {
        meta: model::AgentMeta {
            display_name: meta.display_name.text()?.to_owned(),
            version: meta.version.text().unwrap_or_default().to_owned(),
            protocol_version: meta.protocol_version.text().map(str::to_owned),
            game_types: games(&meta.game_types),
            // Without an address the manager refuses the agent, and says so in words.
            contact_endpoint: meta.contact_endpoint.text().unwrap_or_default().to_owned(),
            max_concurrent_matches: matches.map(|&Whole(n)| u32::try_from(n).unwrap_or(u32::MAX)),
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

type Enrolled<'x, Id> = (
    &'x RegisterWord,
    Option<&'x Id>,
    &'x Field<'x, crate::shape::Secret<'x>>,
    &'x Field<'x, Parsed<'x, crate::id::LeagueId>>,
    &'x Field<'x, Text<'x>>,
);

/// Reads both kinds of answer to a registration, which differ in the name of the id alone.
fn enrolment<Id: Clone>(
    (status, id, token, league_id, reason): Enrolled<'_, Id>,
    id_name: &'static str,
    hints: &Hints<'_>,
    at: &Path<'_>,
    notes: &mut Notes,
) -> Option<RegisterResponse<Id>> {
    if *status == RegisterWord::Rejected {
        let reason = reason.text().unwrap_or("no reason given").to_owned();
        return Some(RegisterResponse::Rejected { reason });
    }
    let Some(id) = id else {
        let detail = format!("an accepted agent needs its `{id_name}`; add it");
        notes.refuse(
            Code::MissingField,
            &at.member(id_name, true),
            "an id",
            detail,
        );
        return None;
    };
    Some(RegisterResponse::Accepted(model::Enrolment {
        id: id.clone(),
        token: AuthToken::new(token.get().map_or("", |secret| &secret.0)),
        league_id: hints.league(league_id.value()),
    }))
}

fn start_match(
    order: &StartMatch<'_>,
    at: &Path<'_>,
    notes: &mut Notes,
) -> Option<model::StartMatch> {
    let scoring = order.scoring.get()?;
    let points = |field: &Field<'_, Whole>| field.number();
    let seated: Vec<_> = order.players.get()?.values().collect();
    let &[first, second] = seated.as_slice() else {
        let detail = "a match has two players; list both".to_owned();
        notes.refuse(
            Code::InvalidMessage,
            &at.member("players", true),
            "two players",
            detail,
        );
        return None;
    };
    let seed = order
        .draw_seed
        .get()
        .and_then(|secret| Seed::from_hex(&secret.0));
    Some(model::StartMatch {
        league_id: order.league_id.value()?.clone(),
        round_id: order.round_id.get()?.number(),
        match_id: order.match_id.value()?.clone(),
        attempt: order.attempt.number()?,
        game_type: order.game_type.value()?.clone(),
        settings: order
            .game_settings
            .get()
            .map(Any::to_value)
            .unwrap_or_default(),
        mode: match order.mode.value() {
            Some(ModeWord::Manual) => model::Mode::Manual,
            Some(ModeWord::Auto) | None => model::Mode::Auto,
        },
        strict: order.strict.get().is_some_and(|flag| flag.0),
        score: model::Score {
            win: points(&scoring.win_points)?,
            draw: points(&scoring.draw_points)?,
            loss: points(&scoring.loss_points)?,
            technical_loss: points(&scoring.technical_loss_points)?,
        },
        seed: needed(seed, "draw_seed", "64 hex digits", at, notes)?,
        players: [
            match_player(first, at, notes)?,
            match_player(second, at, notes)?,
        ],
    })
}

fn match_player(
    player: &MatchPlayer<'_>,
    at: &Path<'_>,
    notes: &mut Notes,
) -> Option<model::StartMatchPlayer> {
    let at = &at.member("players", true);
    let hash = player
        .token_hash
        .text()
        .filter(|text| unhex(text).is_some());
    let hash = hash.and_then(|text| serde_json::from_value::<TokenHash>(text.into()).ok());
    let dialect = player.dialect.text().unwrap_or("v2");
    let known = Dialect::ALL
        .into_iter()
        .find(|known| known.as_str() == dialect);
    Some(model::StartMatchPlayer {
        player_id: player.player_id.value()?.clone(),
        endpoint: Arc::from(player.contact_endpoint.text()?),
        dialect: needed(known, "dialect", "`v2`, `v2-api` or `v1`", at, notes)?,
        token_hash: needed(hash, "token_hash", "64 hex digits", at, notes)?,
        match_token: AuthToken::new(&player.match_token.get()?.0),
        record: player.record.get().map(record).unwrap_or_default(),
    })
}

fn record(record: &Record<'_>) -> model::WinLossDraw {
    model::WinLossDraw {
        wins: record.wins.number().unwrap_or_default(),
        losses: record.losses.number().unwrap_or_default(),
        draws: record.draws.number().unwrap_or_default(),
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

fn start_match_ack(
    ack: &StartMatchAck<'_>,
    at: &Path<'_>,
    notes: &mut Notes,
) -> Option<model::StartMatchAck> {
    Some(model::StartMatchAck {
        match_id: needed(
            ack.match_id.value().cloned(),
            "match_id",
            "the match",
            at,
            notes,
        )?,
        accepted: ack.accepted.get()?.0,
        reason: ack.reason.text().map(str::to_owned),
    })
}

fn game_invitation(
    invitation: &GameInvitation<'_>,
    hints: &Hints<'_>,
    at: &Path<'_>,
    notes: &mut Notes,
) -> Option<model::GameInvitation> {
    let opponent = invitation.opponent_id.value().cloned();
    Some(model::GameInvitation {
        league_id: hints.league(invitation.league_id.value()),
        round_id: invitation.round_id.get().map_or(0, |round| round.number()),
        match_id: invitation.match_id.value()?.clone(),
        game_type: hints.game(invitation.game_type.value()),
        role: invitation
            .role_in_match
            .value()
            .copied()
            .map_or(model::Role::A, Into::into),
        opponent_id: opponent.or_else(|| hints.opponent(at, notes))?,
        commitment: invitation
            .draw_commitment
            .text()
            .and_then(Commitment::from_hex),
        move_seconds: DEFAULT_MOVE_SECONDS,
    })
}

/// How long a move may take where the message does not say: 000 table 5.
pub(super) const DEFAULT_MOVE_SECONDS: u32 = 30;

fn join_ack(ack: &GameJoinAck<'_>, at: &Path<'_>, notes: &mut Notes) -> Option<model::GameJoinAck> {
    Some(model::GameJoinAck {
        match_id: needed(
            ack.match_id.value().cloned(),
            "match_id",
            "the match",
            at,
            notes,
        )?,
        player_id: ack.player_id.value().cloned(),
        arrival: ack.arrival_timestamp.value().copied(),
        accept: ack.accept.get()?.0,
    })
}

fn parity_call(
    call: &ChooseParityCall<'_>,
    hints: &Hints<'_>,
    at: &Path<'_>,
    notes: &mut Notes,
) -> Option<model::MoveCall> {
    let context = call.context.get();
    let round = call.round_id.get().or_else(|| context?.round_id.get());
    let opponent = context.and_then(|context| context.opponent_id.value().cloned());
    let standings = context.and_then(|context| context.your_standings.get());
    let player = call.player_id.value().cloned();
    Some(model::MoveCall {
        league_id: hints.league(call.league_id.value()),
        round_id: round.map_or(0, |round| round.number()),
        match_id: call.match_id.value()?.clone(),
        player_id: player.or_else(|| hints.reader(at, notes))?,
        opponent_id: opponent.or_else(|| hints.opponent(at, notes))?,
        game_type: hints.game(call.game_type.value()),
        move_type: "choose_parity".into(),
        options: Arc::new(["even".into(), "odd".into()]),
        view: serde_json::Value::Null,
        turn_number: 1,
        record: standings.map(record).unwrap_or_default(),
        deadline: call.deadline.value().copied().unwrap_or(Timestamp::LAST),
        move_seconds: DEFAULT_MOVE_SECONDS,
    })
}

fn parity_response(
    response: &ChooseParityResponse<'_>,
    at: &Path<'_>,
    notes: &mut Notes,
) -> Option<model::MoveResponse> {
    Some(model::MoveResponse {
        match_id: needed(
            response.match_id.value().cloned(),
            "match_id",
            "the match",
            at,
            notes,
        )?,
        player_id: response.player_id.value().cloned(),
        game_type: Hints::default().game(None),
        move_type: None,
        choice: response
            .parity_choice
            .value()
            .map(|word: &ParityWord| word.as_str().into())?,
        nonce: response.nonce.text().map(str::to_owned),
        reasoning: None,
    })
}

fn move_call(
    call: &GameMoveCall<'_>,
    hints: &Hints<'_>,
    at: &Path<'_>,
    notes: &mut Notes,
) -> Option<model::MoveCall> {
    let request = call.move_request.get()?;
    let context = request.context.get();
    let round = call.round_id.get().or_else(|| context?.round_id.get());
    let opponent = context.and_then(|context| context.opponent_id.value().cloned());
    let standings = context.and_then(|context| context.your_standings.get());
    let player = call.player_id.value().cloned();
    let options = request
        .valid_options
        .get()
        .into_iter()
        .flat_map(List::values);
    Some(model::MoveCall {
        league_id: hints.league(call.league_id.value()),
        round_id: round.map_or(0, |round| round.number()),
        match_id: call.match_id.value()?.clone(),
        player_id: player.or_else(|| hints.reader(at, notes))?,
        opponent_id: opponent.or_else(|| hints.opponent(at, notes))?,
        game_type: hints.game(call.game_type.value()),
        move_type: request.move_type.text().unwrap_or_default().into(),
        options: options.map(Any::to_value).collect(),
        view: context
            .and_then(|context| context.view.get())
            .map(Any::to_value)
            .unwrap_or_default(),
        turn_number: context
            .and_then(|context| context.turn_number.number())
            .unwrap_or(1),
        record: standings.map(record).unwrap_or_default(),
        deadline: call.deadline.value().copied().unwrap_or(Timestamp::LAST),
        move_seconds: DEFAULT_MOVE_SECONDS,
    })
}

fn move_response(
    response: &GameMoveResponse<'_>,
    hints: &Hints<'_>,
    at: &Path<'_>,
    notes: &mut Notes,
) -> Option<model::MoveResponse> {
    let detail = response.move_data.get()?;
    Some(model::MoveResponse {
        match_id: needed(
            response.match_id.value().cloned(),
            "match_id",
            "the match",
            at,
            notes,
        )?,
        player_id: response.player_id.value().cloned(),
        game_type: hints.game(response.game_type.value()),
        move_type: detail.move_type.text().map(Arc::from),
        choice: detail.choice.get()?.to_value(),
        nonce: response.nonce.text().map(str::to_owned),
        reasoning: None,
    })
}
