//! Reports that a referee would send on an order: of matches that were played, and of forfeits.

use std::sync::Arc;

use league_core::draw;
use league_games::{Outcome, Seat, Turn};
use league_protocol::fault::Code;
use league_protocol::id::PlayerId;
use league_protocol::message::{
    ByPlayer, MatchResult, MatchResultReport, MatchStatus, OpenedDraw, StartMatch,
};
use serde_json::{Value, json};

/// The report of a match that was played as ordered.
pub fn honest(order: &StartMatch) -> MatchResultReport {
    let parity = |player: &PlayerId| {
        let number: usize = player.as_str().bytes().map(usize::from).sum();
        json!(["even", "odd"][number % 2])
    };
    let choices = order
        .players
        .each_ref()
        .map(|player| parity(&player.player_id));
    played(order, choices)
}

pub fn played(order: &StartMatch, choices: [Value; 2]) -> MatchResultReport {
    let opened = opened(order);
    let mut table =
        (league_games::find(order.game_type.as_str()).unwrap().open)(&order.settings).unwrap();
    for (seat, choice) in [Seat::A, Seat::B].into_iter().zip(&choices) {
        table.play(seat, choice).unwrap();
    }
    table.roll(&mut draw::dice(&order.league_id, &order.match_id, &opened));
    let Turn::Over(outcome) = table.turn() else {
        panic!("the game is not over");
    };
    let players = order
        .players
        .each_ref()
        .map(|player| player.player_id.clone());
    let names = players.each_ref().map(PlayerId::as_str);
    let (status, winner, points) = match outcome {
        Outcome::Win(Seat::A) => (MatchStatus::Win, Some(players[0].clone()), [3, 0]),
        Outcome::Win(_) => (MatchStatus::Win, Some(players[1].clone()), [0, 3]),
        Outcome::Draw => (MatchStatus::Draw, None, [1, 1]),
    };
    let result = MatchResult {
        status,
        winner,
        points,
        failed: ByPlayer::new(),
        choices: players.iter().cloned().zip(choices).collect(),
        details: table.details(),
        reason: table.reason(&names),
        draw: Some(opened),
        players,
    };
    reporting(order, result)
}

/// The report of a match in which some seats did not play.
pub fn forfeited(order: &StartMatch, failed: &[(usize, Code)]) -> MatchResultReport {
    let players = order
        .players
        .each_ref()
        .map(|player| player.player_id.clone());
    let absent = |seat: usize| failed.iter().any(|(failed, _)| *failed == seat);
    let (winner, points) = match (absent(0), absent(1)) {
        (true, true) => (None, [0, 0]),
        (true, false) => (Some(players[1].clone()), [0, 3]),
        _ => (Some(players[0].clone()), [3, 0]),
    };
    let result = MatchResult {
        status: MatchStatus::TechnicalLoss,
        winner,
        points,
        failed: failed
            .iter()
            .map(|(seat, code)| (players[*seat].clone(), *code))
            .collect(),
        choices: ByPlayer::new(),
        details: serde_json::Map::new(),
        reason: "no answer in time".to_owned(),
        draw: Some(opened(order)),
        players,
    };
    reporting(order, result)
}

fn opened(order: &StartMatch) -> OpenedDraw {
    OpenedDraw {
        commitment: draw::commitment(&order.league_id, &order.match_id, &order.seed),
        seed: order.seed,
        attempt: order.attempt,
        nonces: ["mine".to_owned(), String::new()],
    }
}

fn reporting(order: &StartMatch, result: MatchResult) -> MatchResultReport {
    MatchResultReport {
        league_id: order.league_id.clone(),
        round_id: order.round_id,
        match_id: order.match_id.clone(),
        attempt: order.attempt,
        game_type: order.game_type.clone(),
        result: Arc::new(result),
    }
}
