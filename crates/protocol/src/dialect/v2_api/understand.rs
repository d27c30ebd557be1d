//! From the spellings of the API page to the model: respelled, then understood as the main
//! document is.

use std::sync::Arc;

use crate::dialect::Hints;
use crate::dialect::v2;
use crate::dialect::words::{RegisterWord, RoleWord, StatusWord};
use crate::fault::Code;
use crate::finding::{Notes, Path};
use crate::id::PlayerId;
use crate::message as model;
use crate::message::{MatchStatus, Message};
use crate::shape::{Dict, Extra, Field, List, Shape, Whole};

use super::Body;
use super::page;
use super::rounds::numbered;
use super::words::ResultWord;

/// Understands a message; `None` if something is missing that it cannot do without.
pub fn understand(body: &Body<'_>, hints: &Hints<'_>, notes: &mut Notes) -> Option<Message> {
    let respelled = match body {
        Body::Main(body) => match numbered(body) {
            Some(body) => return v2::understand(&body, hints, notes),
            None => return v2::understand(body, hints, notes),
        },
        Body::Page(page::Body::QueryStandingsRequest(query)) => {
            return Some(standings_query(query));
        }
        Body::Page(page::Body::QueryStandingsResponse(table)) => {
            return standings(table, hints, notes);
        }
        Body::Page(page::Body::GameOver(told)) => {
            v2::Body::GameOver(game_over(told, hints, notes)?)
        }
        Body::Page(body) => respell(body.clone())?,
    };
    v2::understand(&respelled, hints, notes)
}

/// Spells the fields of a message as the main document does.
fn respell(body: page::Body<'_>) -> Option<v2::Body<'_>> {
    Some(match body {
        page::Body::LeagueRegisterResponse(told) => {
            v2::Body::LeagueRegisterResponse(v2::LeagueRegisterResponse {
                status: Field::Is(RegisterWord::from(*told.status.value()?).wire()),
                player_id: told.player_id,
                auth_token: told.auth_token,
                manager_token: told.manager_token,
                return_token: told.return_token,
                league_id: told.league_id,
                reason: told.reason,
                extra: told.extra,
            })
        }
        page::Body::GameInvitation(told) => v2::Body::GameInvitation(v2::GameInvitation {
            league_id: told.league_id,
            round_id: told.round_id,
            match_id: told.match_id,
            game_type: told.game_type,
            role_in_match: told.role,
            opponent_id: told.opponent_id,
            draw_commitment: told.draw_commitment,
            extra: told.extra,
        }),
        page::Body::GameJoinAck(told) => v2::Body::GameJoinAck(v2::GameJoinAck {
            match_id: told.match_id,
            player_id: told.player_id,
            arrival_timestamp: told.arrival_timestamp,
            accept: told.accept,
            extra: told.extra,
        }),
        page::Body::ChooseParityCall(told) => v2::Body::ChooseParityCall(v2::ChooseParityCall {
            league_id: told.league_id,
            round_id: told.round_id,
            match_id: told.match_id,
            player_id: told.player_id,
            game_type: told.game_type,
            context: told.context,
            deadline: told.deadline,
            extra: told.extra,
        }),
        page::Body::ChooseParityResponse(told) => {
            v2::Body::ChooseParityResponse(v2::ChooseParityResponse {
                match_id: told.match_id,
                player_id: told.player_id,
                parity_choice: told.parity_choice,
                nonce: told.nonce,
                extra: told.extra,
            })
        }
        page::Body::LeagueError(told) => v2::Body::LeagueError(league_error(told)),
        page::Body::GameOver(_)
        | page::Body::QueryStandingsRequest(_)
        | page::Body::QueryStandingsResponse(_) => return None,
    })
}

/// The page gives E003 to what is E018 here (ruling 11).
fn league_error(told: page::LeagueError<'_>) -> v2::LeagueError<'_> {
    let mismatch = told.error_code.value() == Some(&Code::MissingField)
        && told.error_name.text() == Some("PROTOCOL_MISMATCH");
    v2::LeagueError {
        error_code: if mismatch {
            Field::Is(Code::VersionMismatch.wire())
        } else {
            told.error_code
        },
        error_name: told.error_name,
        error_description: told.error_description,
        original_message_type: told.original_message_type,
        context: told.context,
        retryable: told.retryable,
        extra: told.extra,
    }
}

/// Turns the receiver's side into both sides; the message does not name them, the reader knows.
fn game_over<'x>(
    told: &page::GameOver<'x>,
    hints: &Hints<'_>,
    notes: &mut Notes,
) -> Option<v2::GameOver<'x>> {
    let at = &Path::root(page::GameOver::CLAUSE);
    let at = &at.member("winner_player_id", true);
    let (reader, opponent) = (hints.reader(at, notes)?, hints.opponent());
    let word = *told.result.value()?;
    let contradicted = match word {
        ResultWord::Draw => told.winner_player_id.value().is_some(),
        ResultWord::Win | ResultWord::Loss => matches!(told.winner_player_id, Field::Null),
        ResultWord::TechnicalLoss => false,
    };
    if contradicted {
        let detail = "a win or a loss has a winner and a draw has none; let the two agree";
        notes.refuse(
            Code::InvalidMessage,
            at,
            "a winner that fits the result",
            detail,
        );
        return None;
    }
    let status = match word {
        ResultWord::Win | ResultWord::Loss => MatchStatus::Win,
        ResultWord::Draw => MatchStatus::Draw,
        ResultWord::TechnicalLoss => MatchStatus::TechnicalLoss,
    };
    let winner = match word {
        ResultWord::Win => Some(&reader),
        ResultWord::Draw => None,
        ResultWord::Loss => Some(&opponent),
        ResultWord::TechnicalLoss if matches!(told.winner_player_id, Field::Null) => None,
        ResultWord::TechnicalLoss => Some(&opponent),
    };
    let choices = [
        (&reader, &told.your_choice),
        (&opponent, &told.opponent_choice),
    ];
    let choices = choices
        .into_iter()
        .filter_map(|(player, choice)| Some((player.to_string(), choice.get()?.clone())));
    Some(v2::GameOver {
        league_id: told.league_id.clone(),
        round_id: told.round_id,
        match_id: told.match_id.clone(),
        game_type: told.game_type.clone(),
        game_result: Field::Is(v2::GameResult {
            status: Field::Is(StatusWord::from(status).wire()),
            winner_player_id: Field::or_null(winner.map(|id| id.to_string().into())),
            drawn_number: told.drawn_number.clone(),
            number_parity: Field::or_absent(parity(told, hints).map(Into::into)),
            choices: Field::Is(Dict::of(choices)),
            reason: told.reason.clone(),
            score: Field::Is(score(told, &reader, &opponent, word, winner)),
            details: told.details.clone(),
            draw: told.draw.clone(),
            ..v2::GameResult::default()
        }),
        extra: Extra::default(),
    })
}

/// Even or odd, which the page leaves to the reader.
fn parity(told: &page::GameOver<'_>, hints: &Hints<'_>) -> Option<&'static str> {
    let number = told.drawn_number.get()?.to_value().as_u64()?;
    let even_odd = hints.game(told.game_type.value()).as_str() == model::EVEN_ODD;
    even_odd.then_some(if number.is_multiple_of(2) {
        "even"
    } else {
        "odd"
    })
}

/// The points of both, seat A first; the opponent's follow from how it ended.
fn score<'x>(
    told: &page::GameOver<'_>,
    reader: &PlayerId,
    opponent: &PlayerId,
    word: ResultWord,
    winner: Option<&PlayerId>,
) -> Dict<'x, Whole> {
    let worth = model::Score::default();
    let (own, others) = match word {
        ResultWord::Win => (worth.win, worth.loss),
        ResultWord::Draw => (worth.draw, worth.draw),
        ResultWord::Loss => (worth.loss, worth.win),
        ResultWord::TechnicalLoss if winner.is_none() => {
            (worth.technical_loss, worth.technical_loss)
        }
        ResultWord::TechnicalLoss => (worth.technical_loss, worth.win),
    };
    let own = told.points_earned.number().unwrap_or(own);
    let others = if word == ResultWord::Draw {
        own
    } else {
        others
    };
    let mut points = [(reader.to_string(), own), (opponent.to_string(), others)];
    if told.role.value() == Some(&RoleWord::B) {
        points.reverse();
    }
    Dict::of(points.map(|(id, points)| (id, Whole(points))))
}

fn standings_query(query: &page::QueryStandingsRequest<'_>) -> Message {
    Message::from(model::LeagueQuery {
        league_id: query.league_id.value().cloned(),
        query: model::Query::Standings,
        by_api_page: true,
    })
}

/// The table is read as the one that is told after a round.
fn standings(
    table: &page::QueryStandingsResponse<'_>,
    hints: &Hints<'_>,
    notes: &mut Notes,
) -> Option<Message> {
    let rows = table.standings.get()?.values().map(|row| v2::StandingRow {
        rank: row.rank,
        player_id: row.player_id.clone(),
        display_name: row.display_name.clone(),
        played: row.played,
        wins: row.wins,
        draws: row.draws,
        losses: row.losses,
        points: row.points,
        extra: Extra::default(),
    });
    let respelled = v2::Body::LeagueStandingsUpdate(v2::LeagueStandingsUpdate {
        league_id: table.league_id.clone(),
        round_id: table.round_id,
        standings: Field::Is(List::of(rows)),
        extra: Extra::default(),
    });
    let Message::StandingsUpdate(update) = v2::understand(&respelled, hints, notes)? else {
        return None;
    };
    Some(Message::LeagueQueryResponse(Box::new(
        model::LeagueQueryResponse {
            league_id: update.league_id.clone(),
            query_type: model::Query::Standings.as_str(),
            answer: Ok(model::QueryAnswer::Standings {
                round_id: update.round_id,
                rows: Arc::clone(&update.standings),
            }),
            by_api_page: true,
        },
    )))
}
