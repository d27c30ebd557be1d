//! From the model to the spellings of the API page: said as in the main document, then respelled.

use serde_json::Value;

use crate::dialect::Hints;
use crate::dialect::build::{flag, id, text, whole};
use crate::dialect::v2;
use crate::dialect::words::RoleWord;
use crate::message as model;
use crate::message::{MatchStatus, Message, QueryAnswer, Role};
use crate::shape::{Any, Extra, Field, List, Parsed, Round, Text};

use super::Body;
use super::page;
use super::rounds::{name, named};
use super::words::{RegisteredWord, ResultWord};

/// Says a message; `None` if this dialect has no words for it.
pub fn say<'m>(message: &'m Message, hints: &Hints<'_>) -> Option<Body<'m>> {
    let said = v2::say(message, hints)?;
    Some(match (message, said) {
        (Message::GameOver(over), v2::Body::GameOver(told)) => {
            Body::Page(page::Body::GameOver(game_over(over, told)))
        }
        (Message::LeagueError(error), _) => {
            Body::Page(page::Body::LeagueError(league_error(error)))
        }
        (Message::LeagueQuery(query), _) if by_the_page(query) => {
            Body::Page(page::Body::QueryStandingsRequest(standings_query(query)))
        }
        (Message::LeagueQueryResponse(response), said) => match table(response) {
            Some(table) => Body::Page(page::Body::QueryStandingsResponse(table)),
            None => Body::Main(named(said)),
        },
        (_, said) => respell(said),
    })
}

/// Spells the fields of a message as the page does.
fn respell(said: v2::Body<'_>) -> Body<'_> {
    Body::Page(match said {
        v2::Body::LeagueRegisterResponse(said) => {
            page::Body::LeagueRegisterResponse(page::LeagueRegisterResponse {
                status: match said.status.value() {
                    Some(&status) => Field::Is(RegisteredWord::from(status).wire()),
                    None => Field::Absent,
                },
                player_id: said.player_id,
                auth_token: said.auth_token,
                manager_token: said.manager_token,
                return_token: said.return_token,
                league_id: said.league_id,
                reason: Field::or_absent(said.reason.into_option()),
                extra: said.extra,
            })
        }
        v2::Body::GameInvitation(mut said) => {
            name(&mut said.round_id);
            page::Body::GameInvitation(page::GameInvitation {
                league_id: said.league_id,
                round_id: said.round_id,
                match_id: said.match_id,
                game_type: said.game_type,
                opponent_id: said.opponent_id,
                role: said.role_in_match,
                draw_commitment: said.draw_commitment,
                extra: said.extra,
            })
        }
        v2::Body::GameJoinAck(said) => page::Body::GameJoinAck(page::GameJoinAck {
            match_id: said.match_id,
            player_id: said.player_id,
            arrival_timestamp: said.arrival_timestamp,
            accept: said.accept,
            extra: said.extra,
        }),
        v2::Body::ChooseParityCall(said) => page::Body::ChooseParityCall(parity_call(said)),
        v2::Body::ChooseParityResponse(said) => {
            page::Body::ChooseParityResponse(page::ChooseParityResponse {
                match_id: said.match_id,
                player_id: said.player_id,
                parity_choice: said.parity_choice,
                nonce: said.nonce,
                extra: said.extra,
            })
        }
        said => return Body::Main(named(said)),
    })
}

fn parity_call(mut said: v2::ChooseParityCall<'_>) -> page::ChooseParityCall<'_> {
    name(&mut said.round_id);
    if let Field::Is(context) = &mut said.context {
        name(&mut context.round_id);
    }
    page::ChooseParityCall {
        league_id: said.league_id,
        round_id: said.round_id,
        match_id: said.match_id,
        player_id: said.player_id,
        game_type: said.game_type,
        context: said.context,
        deadline: said.deadline,
        extra: said.extra,
    }
}

/// Tells a result from the side of its receiver.
fn game_over<'m>(over: &'m model::GameOver, mut told: v2::GameOver<'m>) -> page::GameOver<'m> {
    name(&mut told.round_id);
    let result = &*over.result;
    let receiver = &over.receiver;
    let [a, b] = &result.players;
    let (role, opponent) = if receiver == b {
        (Role::B, a)
    } else {
        (Role::A, b)
    };
    let said = told.game_result.into_option().unwrap_or_default();
    page::GameOver {
        league_id: told.league_id,
        round_id: told.round_id,
        match_id: told.match_id,
        game_type: told.game_type,
        role: Field::Is(RoleWord::from(role).wire()),
        drawn_number: said.drawn_number,
        your_choice: Field::or_null(result.choices.get(receiver).map(Any::from)),
        opponent_choice: Field::or_null(result.choices.get(opponent).map(Any::from)),
        result: Field::Is(result_for(over).wire()),
        points_earned: whole(result.points_of(receiver).unwrap_or_default()),
        winner_player_id: Field::or_null(result.winner.as_ref().map(Parsed::from)),
        reason: said.reason,
        details: said.details,
        draw: said.draw,
        extra: Extra::default(),
    }
}

fn result_for(over: &model::GameOver) -> ResultWord {
    let result = &*over.result;
    match result.status {
        MatchStatus::Draw => ResultWord::Draw,
        _ if result.winner.as_ref() == Some(&over.receiver) => ResultWord::Win,
        MatchStatus::Win => ResultWord::Loss,
        MatchStatus::TechnicalLoss => ResultWord::TechnicalLoss,
    }
}

/// Says the sentence where the page shows one, and keeps the rest for `context`.
fn league_error(error: &model::LeagueError) -> page::LeagueError<'_> {
    let mut context = error.context.clone();
    if let Some(path) = &error.path {
        context.insert("path".into(), path.as_str().into());
    }
    let kind = error.original_message_type.as_deref();
    page::LeagueError {
        error_code: Field::Is(error.code.wire()),
        error_name: text(error.code.name()),
        error_description: text(&error.detail),
        retryable: flag(error.code.retryable()),
        original_message_type: Field::or_absent(kind.map(Text::from)),
        context: Field::or_absent((!context.is_empty()).then(|| Value::Object(context).into())),
        extra: Extra::default(),
    }
}

fn by_the_page(query: &model::LeagueQuery) -> bool {
    query.by_api_page && query.query == model::Query::Standings
}

fn standings_query(query: &model::LeagueQuery) -> page::QueryStandingsRequest<'_> {
    page::QueryStandingsRequest {
        league_id: Field::or_absent(query.league_id.as_ref().map(Parsed::from)),
        extra: Extra::default(),
    }
}

/// The table as the page tells it; `None` if another question was asked, or there is no table.
fn table(response: &model::LeagueQueryResponse) -> Option<page::QueryStandingsResponse<'_>> {
    let Ok(QueryAnswer::Standings { round_id, rows }) = &response.answer else {
        return None;
    };
    response.by_api_page.then(|| page::QueryStandingsResponse {
        league_id: id(&response.league_id),
        round_id: Field::Is(Round::Named(*round_id)),
        standings: Field::Is(List::of(rows.iter().map(|row| page::TableRow {
            rank: whole(row.rank),
            player_id: id(&row.player_id),
            display_name: text(&*row.display_name),
            points: whole(row.points),
            played: whole(row.played),
            wins: whole(row.wins),
            draws: whole(row.draws),
            losses: whole(row.losses),
            extra: Extra::default(),
        }))),
        extra: Extra::default(),
    })
}
