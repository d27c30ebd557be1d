//! Reports that a referee would send on an order: of matches that were played, and of forfeits.

use std::sync::Arc;

use league_core::draw;
use league_games::{Outcome, Seat, Turn};
use league_protocol::fault::Code;
use league_protocol::id::PlayerId;
use league_protocol::message::{
    ByPlayer, Evidence, MatchResult, MatchResultReport, MatchStatus, OpenedDraw, PlayerEvidence,
    SignedMove, StartMatch,
};
use league_protocol::secret::{ProofKey, Seed};
use league_protocol::sender::Agent;
use serde_json::{Value, json};

use crate::league::SECRET;

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

/// The seed that keeps the promise of an order.
fn seed_of(order: &StartMatch) -> Option<Seed> {
    let (league, match_id) = (&order.league_id, &order.match_id);
    let seed = SECRET.seed(league, match_id);
    let promise = draw::commitment(league, match_id, order.draw_mode, &seed);
    (promise == order.commitment).then_some(seed)
}

/// The report of a match that this player won, or `None` for a draw.
pub fn ended(order: &StartMatch, winner: Option<&PlayerId>) -> MatchResultReport {
    let choices = [["even", "odd"], ["odd", "even"], ["even", "even"]];
    let mut reports = choices
        .map(|pair| played(order, pair.map(Value::from)))
        .into_iter();
    let wanted = |report: &MatchResultReport| report.result.winner.as_ref() == winner;
    reports.find(wanted).unwrap()
}

/// The moves of a match in which seat A chose first, and put a nonce into the draw.
pub fn moves(order: &StartMatch, choices: &[Value; 2]) -> Vec<SignedMove> {
    let players = order.players.iter().zip(choices);
    let nonces = [Some("mine".to_owned()), None];
    players
        .zip(nonces)
        .map(|((player, choice), nonce)| SignedMove {
            player_id: player.player_id.clone(),
            choice: choice.clone(),
            nonce,
            proof: None,
            model: None,
        })
        .collect()
}

/// The key with which a player signs in the attempt of an order.
pub fn proof_key(order: &StartMatch, player: &PlayerId) -> ProofKey {
    let token = SECRET.return_token(&order.league_id, &Agent::Player(player.clone()));
    draw::proof_key(&token, &order.league_id, &order.match_id, order.attempt)
}

/// Signs hidden moves, each the first of its player.
pub fn sign(order: &StartMatch, moves: &mut [SignedMove]) {
    sign_by(moves, |player| proof_key(order, player));
}

fn sign_by(moves: &mut [SignedMove], key: impl Fn(&PlayerId) -> ProofKey) {
    for made in moves {
        let key = key(&made.player_id);
        made.proof = Some(draw::proof(
            &key,
            1,
            [],
            &made.choice,
            made.nonce.as_deref(),
        ));
    }
}

/// The report as it is if these players sign: with their proofs of joining, and of their moves.
pub fn signed(
    report: MatchResultReport,
    order: &StartMatch,
    joined: &[usize],
) -> MatchResultReport {
    signed_by(report, joined, |player| proof_key(order, player))
}

/// The same with these keys.
pub fn signed_by(
    mut report: MatchResultReport,
    joined: &[usize],
    key: impl Fn(&PlayerId) -> ProofKey,
) -> MatchResultReport {
    let result = Arc::make_mut(&mut report.result);
    sign_by(&mut result.evidence.moves, &key);
    let players = joined.iter().map(|seat| result.players[*seat].clone());
    result.evidence.players = players
        .map(|player_id| PlayerEvidence {
            join: Some(draw::join_proof(&key(&player_id))),
            player_id,
            key: None,
        })
        .collect();
    report
}

/// The report of a played match; the referee knows the seed of its roll by then.
pub fn played(order: &StartMatch, choices: [Value; 2]) -> MatchResultReport {
    let opened = opened(order);
    let mut table =
        (league_games::find(order.game_type.as_str()).unwrap().open)(&order.settings).unwrap();
    for (seat, choice) in [Seat::A, Seat::B].into_iter().zip(&choices) {
        table.play(seat, choice).unwrap();
    }
    let whole = OpenedDraw {
        seed: seed_of(order),
        ..opened.clone()
    };
    table.roll(&mut draw::dice(&order.league_id, &order.match_id, &whole, 0).unwrap());
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
        evidence: Evidence {
            players: Vec::new(),
            moves: moves(order, &choices),
        },
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
        evidence: Evidence::default(),
        players,
    };
    reporting(order, result)
}

fn opened(order: &StartMatch) -> OpenedDraw {
    OpenedDraw {
        commitment: order.commitment,
        seed: None,
        mode: order.draw_mode,
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
        order_token: Some(order.order_token.clone()),
        game_over_told: Some(false),
        game_type: order.game_type.clone(),
        result: Arc::new(result),
    }
}
