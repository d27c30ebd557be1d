//! Invitations, moves and the order to run a match, from `league.v2` to the model.

use std::sync::Arc;

use crate::dialect::Hints;
use crate::dialect::words::{ModeWord, ParityWord};
use crate::fault::Code;
use crate::finding::{Notes, Path};
use crate::message as model;
use crate::secret::{Commitment, Seed};
use crate::sender::{Dialect, Speech};
use crate::shape::{Any, Field, List, Whole};
use crate::time::Timestamp;
use crate::token::{AuthToken, TokenHash, unhex};

use super::understand::needed;
use super::*;

pub(super) fn start_match(
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
        step_token: match order.step_token_hash.text() {
            Some(text) => Some(needed(
                token_hash(text),
                "step_token_hash",
                "64 hex digits",
                at,
                notes,
            )?),
            None => None,
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
    let hash = player.token_hash.text().and_then(token_hash);
    let dialect = player.dialect.text().unwrap_or("v2");
    let known = Dialect::parse(dialect);
    Some(model::StartMatchPlayer {
        player_id: player.player_id.value()?.clone(),
        endpoint: Arc::from(player.contact_endpoint.text()?),
        dialect: needed(known, "dialect", "`v2`, `v2-api` or `v1`", at, notes)?,
        speech: player.speech.text().and_then(Speech::parse),
        token_hash: needed(hash, "token_hash", "64 hex digits", at, notes)?,
        match_token: AuthToken::new(&player.match_token.get()?.0),
        record: player.record.get().map(record).unwrap_or_default(),
    })
}

fn token_hash(text: &str) -> Option<TokenHash> {
    let hash = Some(text).filter(|text| unhex(text).is_some())?;
    serde_json::from_value(hash.into()).ok()
}

fn record(record: &Record<'_>) -> model::WinLossDraw {
    model::WinLossDraw {
        wins: record.wins.number().unwrap_or_default(),
        losses: record.losses.number().unwrap_or_default(),
        draws: record.draws.number().unwrap_or_default(),
    }
}

pub(super) fn start_match_ack(
    ack: &StartMatchAck<'_>,
    hints: &Hints<'_>,
    at: &Path<'_>,
    notes: &mut Notes,
) -> Option<model::StartMatchAck> {
    Some(model::StartMatchAck {
        match_id: hints.answered(&ack.match_id, at, notes)?,
        accepted: ack.accepted.get()?.0,
        reason: ack.reason.text().map(str::to_owned),
    })
}

pub(super) fn game_invitation(
    invitation: &GameInvitation<'_>,
    hints: &Hints<'_>,
) -> Option<model::GameInvitation> {
    let opponent = invitation.opponent_id.value().cloned();
    Some(model::GameInvitation {
        league_id: hints.league(invitation.league_id.value()),
        round_id: invitation.round_id.get().map_or(0, |round| round.number()),
        match_id: invitation.match_id.value()?.clone(),
        game_type: hints.game(invitation.game_type.value()),
        role: invitation
            .role_in_match
            .sure()?
            .map_or(model::Role::A, |word| word.value.into()),
        opponent_id: opponent.unwrap_or_else(|| hints.opponent()),
        commitment: invitation
            .draw_commitment
            .text()
            .and_then(Commitment::from_hex),
        move_seconds: DEFAULT_MOVE_SECONDS,
    })
}

/// How long a move may take where the message does not say: 000 table 5.
pub(super) const DEFAULT_MOVE_SECONDS: u32 = 30;

pub(super) fn join_ack(
    ack: &GameJoinAck<'_>,
    hints: &Hints<'_>,
    at: &Path<'_>,
    notes: &mut Notes,
) -> Option<model::GameJoinAck> {
    Some(model::GameJoinAck {
        match_id: hints.answered(&ack.match_id, at, notes)?,
        player_id: ack.player_id.value().cloned(),
        arrival: ack.arrival_timestamp.value().copied(),
        accept: ack.accept.get()?.0,
    })
}

pub(super) fn parity_call(
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
        player_id: player.or_else(|| hints.reader(&at.member("player_id", true), notes))?,
        opponent_id: opponent.unwrap_or_else(|| hints.opponent()),
        game_type: hints.game(call.game_type.value()),
        move_type: "choose_parity".into(),
        options: Arc::new(["even".into(), "odd".into()]),
        view: Arc::new(serde_json::Value::Null),
        turn_number: 1,
        record: standings.map(record).unwrap_or_default(),
        deadline: call.deadline.value().copied().unwrap_or(Timestamp::LAST),
        move_seconds: DEFAULT_MOVE_SECONDS,
    })
}

pub(super) fn parity_response(
    response: &ChooseParityResponse<'_>,
    hints: &Hints<'_>,
    at: &Path<'_>,
    notes: &mut Notes,
) -> Option<model::MoveResponse> {
    Some(model::MoveResponse {
        match_id: hints.answered(&response.match_id, at, notes)?,
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

pub(super) fn move_call(
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
        player_id: player.or_else(|| hints.reader(&at.member("player_id", true), notes))?,
        opponent_id: opponent.unwrap_or_else(|| hints.opponent()),
        game_type: hints.game(call.game_type.value()),
        move_type: request.move_type.text().unwrap_or_default().into(),
        options: options.map(Any::to_value).collect(),
        view: Arc::new(
            context
                .and_then(|context| context.view.get())
                .map(Any::to_value)
                .unwrap_or_default(),
        ),
        turn_number: context
            .and_then(|context| context.turn_number.number())
            .unwrap_or(1),
        record: standings.map(record).unwrap_or_default(),
        deadline: call.deadline.value().copied().unwrap_or(Timestamp::LAST),
        move_seconds: DEFAULT_MOVE_SECONDS,
    })
}

pub(super) fn move_response(
    response: &GameMoveResponse<'_>,
    hints: &Hints<'_>,
    at: &Path<'_>,
    notes: &mut Notes,
) -> Option<model::MoveResponse> {
    let detail = response.move_data.get()?;
    Some(model::MoveResponse {
        match_id: hints.answered(&response.match_id, at, notes)?,
        player_id: response.player_id.value().cloned(),
        game_type: hints.game(response.game_type.value()),
        move_type: detail.move_type.text().map(Arc::from),
        choice: detail.choice.get()?.to_value(),
        nonce: response.nonce.text().map(str::to_owned),
        reasoning: None,
    })
}
