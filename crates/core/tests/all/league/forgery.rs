//! Forged reports: each change to a good report is refused and changes nothing.

use std::sync::Arc;

use league_core::league::{Event, LeagueRules, Refusal, Reply};
use league_core::machine::Machine;
use league_protocol::fault::Code;
use league_protocol::id::{GameType, LeagueId, PlayerId};
use league_protocol::message::{
    ByPlayer, MatchResult, MatchResultReport, MatchStatus, SignedMove, StartMatch,
};
use league_protocol::secret::{Commitment, Seed};
use proptest::prelude::*;
use serde_json::{Value, json};

use league_testkit::league::{LeagueWorld, rules};
use league_testkit::report::{forfeited, played};

/// The ways in which a report is made false; some leave some reports as they were.
const FORGERIES: usize = 26;

fn forge(report: &mut MatchResultReport, how: usize, number: u32) {
    match how {
        0 => report.league_id = LeagueId::new("another").unwrap(),
        1 => report.round_id = report.round_id.wrapping_add(number.max(1)),
        2 => report.game_type = GameType::new("tic_tac_toe").unwrap(),
        3 => report.attempt = report.attempt.wrapping_add(number.max(1)),
        _ => forge_result(Arc::make_mut(&mut report.result), how, number),
    }
}

fn forge_result(result: &mut MatchResult, how: usize, number: u32) {
    let stranger = PlayerId::new("P77").unwrap();
    let [a, b] = result.players.clone();
    match how {
        4 => result.players.swap(0, 1),
        5 => result.players[0] = stranger,
        6 => result.players[1] = a,
        7 => result.points.swap(0, 1),
        8 => result.points[0] = result.points[0].wrapping_add(number.max(1)),
        9 => result.points = [3, 3],
        10 => result.winner = None,
        11 => result.winner = Some(stranger),
        12 => {
            result.winner = if result.winner.as_ref() == Some(&a) {
                Some(b)
            } else {
                Some(a)
            }
        }
        13 => result.status = MatchStatus::Draw,
        14 => result.status = MatchStatus::TechnicalLoss,
        15 => result.status = MatchStatus::Win,
        16 => drop(result.failed.insert(a, Code::Timeout)),
        17 => drop(result.failed.insert(stranger, Code::Timeout)),
        18 => result.failed = ByPlayer::new(),
        19 => drop(result.choices.insert(stranger, json!("even"))),
        20 => {
            let chosen = result.choices.get(&a).cloned();
            let mut chosen = chosen.unwrap_or(json!("nothing"));
            flip(&mut chosen);
            result.choices.insert(a, chosen);
        }
        21 => drop(result.choices.insert(b, json!(["even", "odd"]))),
        22 => drop(
            result
                .details
                .insert("drawn_number".to_owned(), json!(number + 11)),
        ),
        23 => drop(result.details.remove("number_parity")),
        24 => result.reason = "x".repeat(1_001),
        _ => forge_draw(result, number),
    }
}

fn forge_draw(result: &mut MatchResult, number: u32) {
    let Some(draw) = &mut result.draw else { return };
    match number % 5 {
        0 => draw.seed = Some(Seed([1; 32])),
        1 => draw.commitment = Commitment([1; 32]),
        2 => draw.attempt += 1,
        3 => draw.nonces[0] = "n".repeat(129),
        _ => drop(result.draw.take()),
    }
}

fn flip(choice: &mut Value) {
    *choice = if *choice == json!("even") {
        json!("odd")
    } else {
        json!("even")
    };
}

fn good(order: &StartMatch, kind: usize) -> MatchResultReport {
    let word = |odd: bool| if odd { json!("odd") } else { json!("even") };
    match kind {
        0..4 => played(order, [word(kind % 2 == 1), word(kind >= 2)]),
        4 => forfeited(order, &[(0, Code::Timeout)]),
        5 => forfeited(order, &[(1, Code::InvalidMove)]),
        _ => forfeited(order, &[(0, Code::Timeout), (1, Code::Connection)]),
    }
}

/// Changes that leave a report that may be true: a technical loss may keep its draw closed, tell the
/// choice of a player who did play, or name another cause, and any report may name seat B first.
fn is_harmless(good: &MatchResultReport, forged: &MatchResultReport) -> bool {
    let [a, b] = &good.result.players;
    if forged.result.players == [b.clone(), a.clone()] {
        let mut seated = forged.clone();
        let result = Arc::make_mut(&mut seated.result);
        result.players.reverse();
        result.points.reverse();
        return is_harmless(good, &seated);
    }
    let mut as_before = (*forged.result).clone();
    if as_before.status == MatchStatus::TechnicalLoss {
        as_before.draw.clone_from(&good.result.draw);
        as_before.choices.clone_from(&good.result.choices);
        if as_before.failed.keys().eq(good.result.failed.keys()) {
            as_before.failed.clone_from(&good.result.failed);
        }
        let draw_kept = forged.result.draw.is_none() || forged.result.draw == good.result.draw;
        let seated = |id: &PlayerId| good.result.players.contains(id);
        let choices_told = forged.result.choices.keys().all(seated);
        let rest = MatchResultReport {
            result: Arc::new(as_before),
            ..forged.clone()
        };
        return rest == *good && draw_kept && choices_told;
    }
    forged == good
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn altered_report_is_refused_and_changes_nothing(
        kind in 0_usize..7,
        how in prop::collection::vec(0..FORGERIES, 1..3),
        number in 0_u32..100,
    ) {
        let mut world = LeagueWorld::begun(4, 1, 2);
        let (referee, order) = world.orders().remove(0);
        let good = good(&order, kind);
        let mut forged = good.clone();
        for how in how {
            forge(&mut forged, how, number);
        }
        prop_assume!(!is_harmless(&good, &forged));
        world.hand_over(&referee, &good);
        let table = world.league.standings();
        let (events, refusal) = world.report_refused(&referee, forged.clone());
        prop_assert!(world.fixture("R1M1").result().is_none());
        prop_assert_eq!(world.league.standings(), table);
        if events.is_empty() {
            prop_assert_eq!(refusal.code(), Code::OutOfTurn, "only an attempt is refused so");
            prop_assert_ne!(forged.attempt, good.attempt);
            let (_, reply) = world.report(&referee, good).unwrap();
            prop_assert!(matches!(reply, Reply::Opened(_)), "{reply:?}");
        } else {
            let noted = matches!(events[..], [
                Event::ReportRefused { .. },
                Event::AgentFailed { .. },
                Event::MatchesMoved { .. },
            ]);
            prop_assert!(noted, "{events:?}");
            prop_assert!(world.report(&referee, good).is_err(), "it is taken away");
        }
    }
}

#[test]
fn each_single_forgery_is_refused() {
    for how in (0..FORGERIES).filter(|how| ![15, 18].contains(how)) {
        for number in 0..5 {
            let mut world = LeagueWorld::begun(2, 1, 1);
            let (referee, order) = world.orders().remove(0);
            let mut forged = played(&order, [json!("even"), json!("odd")]);
            assert_eq!(forged.result.status, MatchStatus::Win);
            forge(&mut forged, how, number);
            let outcome = world.report(&referee, forged);
            assert!(outcome.is_err(), "forgery {how} with {number} was believed");
        }
    }
}

#[test]
fn unplayed_match_must_open_its_committed_draw() {
    for number in 0..4 {
        let mut world = LeagueWorld::begun(2, 1, 1);
        let (referee, order) = world.orders().remove(0);
        let mut forged = good(&order, 4);
        forge(&mut forged, FORGERIES - 1, number);
        let refused = world.report(&referee, forged);
        assert!(
            matches!(refused, Err(Refusal::BadReport { .. })),
            "{number}"
        );
    }
}

#[test]
fn third_player_cannot_fail_a_match() {
    let mut world = LeagueWorld::begun(2, 1, 1);
    let (referee, order) = world.orders().remove(0);
    let mut forged = good(&order, 6);
    forge(&mut forged, 17, 0);
    assert_eq!(forged.result.failed.len(), 3);
    let refused = world.report(&referee, forged);
    assert!(matches!(refused, Err(Refusal::BadReport { .. })));
}

#[test]
fn turn_based_report_is_replayed_from_its_moves() {
    let game_type = GameType::new("tic_tac_toe").unwrap();
    let rules = LeagueRules::new(rules().league_id, game_type.clone());
    assert!(rules.sides_matter);
    let mut world = LeagueWorld::new(rules);
    let with_game = |world: &mut LeagueWorld, name: &str| {
        let mut candidate = world.candidate(name);
        candidate.request.meta.game_types = vec![game_type.clone()];
        candidate
    };
    for name in ["a", "b"] {
        let candidate = with_game(&mut world, name);
        world.register_player(candidate);
    }
    let candidate = with_game(&mut world, "Whistle");
    world.register_referee(candidate);
    world
        .when(&league_core::league::Command::pull(
            league_core::league::Lever::Start,
        ))
        .unwrap();
    world.settle();
    let (referee, order) = world.orders().remove(0);
    let mut report = forfeited(&order, &[(1, Code::Timeout)]);
    let result = Arc::make_mut(&mut report.result);
    result.status = MatchStatus::Win;
    result.failed = ByPlayer::new();
    let [a, b] = result.players.clone();
    result.choices.insert(a, json!([0, 1, 2]));
    result.choices.insert(b, json!([3, 4]));
    let mut table = (league_games::find("tic_tac_toe").unwrap().open)(&Value::Null).unwrap();
    for (seat, cell) in [(0, 0), (1, 3), (0, 1), (1, 4), (0, 2)] {
        table
            .play(league_games::Seat::new(seat), &json!(cell))
            .unwrap();
    }
    result.details = table.details();
    let players = result.players.clone();
    let made = [(0, 0), (1, 3), (0, 1), (1, 4), (0, 2)];
    result.evidence.moves = made
        .map(|(seat, cell): (usize, u32)| SignedMove {
            player_id: players[seat].clone(),
            choice: json!(cell),
            nonce: None,
            proof: None,
            model: None,
        })
        .to_vec();
    let mut forged = report.clone();
    let result = Arc::make_mut(&mut forged.result);
    result.choices.insert(players[0].clone(), json!([0, 1, 8]));
    result.evidence.moves[4].choice = json!(8);
    let command = world.report_command(&referee, forged);
    let answer = world.league.decide(world.now, &command).answer;
    assert!(matches!(answer, Err(Refusal::BadReport { .. })));
    let (_, reply) = world.report(&referee, report).unwrap();
    assert!(matches!(reply, Reply::Opened(_)), "{reply:?}");
}
