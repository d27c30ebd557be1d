//! Auditing a journal without the secret: a sound one passes, a fault is named.

use std::sync::Arc;

use league_core::draw;
use league_core::league::{Event, Inconsistency, LeagueRules, Phase, ReportProblem};
use league_protocol::fault::Code;
use league_protocol::id::{MatchId, PlayerId, RefereeId};
use league_protocol::message::{ByPlayer, MatchResult, OpenedDraw};
use league_protocol::secret::Seed;
use league_protocol::sender::Agent;

use league_testkit::league::{LeagueWorld, rules};
use league_testkit::report::{forfeited, honest};

fn whole() -> LeagueWorld {
    let mut world = LeagueWorld::begun(4, 2, 1);
    world.play_on();
    world
}

/// A league in which P01 never plays and is out after two matches.
fn with_rulings() -> LeagueWorld {
    let rules = LeagueRules {
        max_fail: 2,
        ..rules()
    };
    let mut world = LeagueWorld::begun_by(rules, 4, 1, 2);
    while world.league.phase() != Phase::Completed {
        for (referee, order) in world.orders() {
            let mut players = order.players.iter();
            let first = players.position(|player| player.player_id.as_str() == "P01");
            let report = match first {
                Some(seat) => forfeited(&order, &[(seat, Code::Timeout)]),
                None => honest(&order),
            };
            world.report(&referee, report).unwrap();
        }
        world.settle();
    }
    world
}

#[test]
fn journal_of_the_manager_passes_the_audit() {
    for world in [whole(), with_rulings()] {
        let league = world.audited().unwrap();
        assert_eq!(league.phase(), Phase::Completed);
        assert_eq!(league.standings(), world.league.standings());
    }
}

/// Changes the nth fact that `change` knows how to change; gives what a reader says.
fn after(mut world: LeagueWorld, change: impl Fn(&mut Event) -> bool) -> Inconsistency {
    let changed = world.events.iter_mut().any(change);
    assert!(changed, "nothing was changed");
    world.audited().unwrap_err()
}

fn of_result(change: impl Fn(&mut MatchResult)) -> impl Fn(&mut Event) -> bool {
    move |event| match event {
        Event::ResultRecorded { result, .. } => {
            change(Arc::make_mut(result));
            true
        }
        _ => false,
    }
}

fn opened(result: &mut MatchResult) -> &mut OpenedDraw {
    result.draw.as_mut().unwrap()
}

fn problem(change: impl Fn(&mut MatchResult)) -> ReportProblem {
    match after(whole(), of_result(change)) {
        Inconsistency::Result { match_id, problem } => {
            assert_eq!(match_id.as_str(), "R1M1");
            problem
        }
        other => panic!("{other}"),
    }
}

#[test]
fn result_that_does_not_follow_is_named() {
    let swap = |result: &mut MatchResult| result.players.reverse();
    assert!(matches!(problem(swap), ReportProblem::Players(_)));
    let points = |result: &mut MatchResult| result.points[0] += 1;
    assert!(matches!(problem(points), ReportProblem::Points(_)));
    let moves = |result: &mut MatchResult| result.choices = ByPlayer::new();
    assert_eq!(problem(moves), ReportProblem::Choices);
    let details = |result: &mut MatchResult| result.details.clear();
    assert_eq!(problem(details), ReportProblem::Details);
    let closed = |result: &mut MatchResult| result.draw = None;
    assert_eq!(problem(closed), ReportProblem::DrawMissing);
    let seed = |result: &mut MatchResult| opened(result).seed.as_mut().unwrap().0[0] ^= 1;
    assert_eq!(problem(seed), ReportProblem::Draw);
    let attempt = |result: &mut MatchResult| result.draw.as_mut().unwrap().attempt = 2;
    assert_eq!(problem(attempt), ReportProblem::Draw);
}

#[test]
fn another_nonce_leads_to_another_number() {
    // With some nonce the number stays; with one of these it does not.
    let nonces = ["a", "b", "c", "d", "e", "f"];
    let found = nonces.iter().any(|nonce| {
        let mut world = whole();
        let change = of_result(|result| {
            let draw = result.draw.as_mut().unwrap();
            draw.nonces[1] = (*nonce).to_owned();
        });
        assert!(world.events.iter_mut().any(change));
        world.audited().is_err()
    });
    assert!(found);
}

#[test]
fn promise_for_another_match_is_not_kept() {
    let other = |result: &mut MatchResult| {
        let league = rules().league_id;
        let opened = result.draw.as_mut().unwrap();
        let elsewhere = MatchId::numbered(1, 2);
        let seed = opened.seed.unwrap();
        opened.commitment = draw::commitment(&league, &elsewhere, opened.mode, &seed);
    };
    assert_eq!(problem(other), ReportProblem::Draw);
}

#[test]
fn seed_that_was_chosen_later_is_not_the_promised_one() {
    let chosen = |result: &mut MatchResult| {
        let opened = result.draw.as_mut().unwrap();
        let (league, first) = (rules().league_id, MatchId::numbered(1, 1));
        let seed = Seed([9; 32]);
        opened.seed = Some(seed);
        opened.commitment = draw::commitment(&league, &first, opened.mode, &seed);
    };
    assert_eq!(problem(chosen), ReportProblem::Draw);
    let unpromised = after(whole(), |event| match event {
        Event::RoundOpened { commitments, .. } => {
            commitments.clear();
            true
        }
        _ => false,
    });
    let (expected, found) = (2, 0);
    assert_eq!(unpromised, Inconsistency::Length { expected, found });
}

#[test]
fn result_counts_once_for_one_match_and_one_referee() {
    let mut world = whole();
    let result = |event: &Event| matches!(event, Event::ResultRecorded { .. });
    let first = world.events.iter().position(result).unwrap();
    world.events.insert(first, world.events[first].clone());
    assert!(matches!(world.audited(), Err(Inconsistency::Twice(_))));
    world.events.drain(first..=first + 1);
    assert!(matches!(world.audited(), Err(Inconsistency::Open(1))));
    let elsewhere = after(whole(), |event| match event {
        Event::ResultRecorded { match_id, .. } => {
            *match_id = MatchId::numbered(2, 1);
            true
        }
        _ => false,
    });
    assert!(matches!(elsewhere, Inconsistency::NoSuchMatch(_)));
    let another = after(whole(), |event| match event {
        Event::ResultRecorded { referee, .. } => {
            *referee = Some(RefereeId::numbered(2));
            true
        }
        _ => false,
    });
    assert!(matches!(another, Inconsistency::Hands { .. }), "{another}");
    let manager = after(whole(), |event| match event {
        Event::ResultRecorded { referee, .. } => referee.take().is_some(),
        _ => false,
    });
    assert!(matches!(manager, Inconsistency::Ruling(_)));
    let again = after(whole(), |event| match event {
        Event::ResultRecorded { attempt, .. } => {
            *attempt += 1;
            true
        }
        _ => false,
    });
    assert!(matches!(again, Inconsistency::Attempt { .. }));
}

#[test]
fn managers_ruling_is_checked_too() {
    let turned = after(with_rulings(), |event| match event {
        Event::ResultRecorded {
            referee: None,
            result,
            ..
        } => {
            Arc::make_mut(result).points.reverse();
            true
        }
        _ => false,
    });
    assert!(matches!(turned, Inconsistency::Ruling(_)));
    let mut world = with_rulings();
    let out = |event: &Event| matches!(event, Event::PlayerShutDown { .. });
    let place = world.events.iter().position(out).unwrap();
    let early = world.events.remove(place);
    world.events.insert(place - 2, early);
    assert!(matches!(world.audited(), Err(Inconsistency::NotOut { .. })));
    let mut world = with_rulings();
    let out = world.events.iter_mut().find_map(|event| match event {
        Event::PlayerShutDown { absence, .. } => Some(absence),
        _ => None,
    });
    let absence = out.unwrap();
    *absence = !*absence;
    assert!(matches!(world.audited(), Err(Inconsistency::NotOut { .. })));
}

#[test]
fn rounds_come_in_order_and_are_whole() {
    let skipped = after(whole(), |event| match event {
        Event::RoundOpened {
            round: round @ 2, ..
        } => {
            *round = 3;
            true
        }
        _ => false,
    });
    let (expected, found) = (2, 3);
    assert_eq!(skipped, Inconsistency::Round { expected, found });
    let short = after(whole(), |event| match event {
        Event::RoundOpened { referees, .. } => referees.pop().is_some(),
        _ => false,
    });
    let (expected, found) = (2, 1);
    assert_eq!(short, Inconsistency::Length { expected, found });
    let mut world = whole();
    let opened = |event: &Event| matches!(event, Event::RoundOpened { round: 3, .. });
    let place = world.events.iter().position(opened).unwrap();
    let end = world.events.pop().unwrap();
    world.events.truncate(place);
    world.events.push(end);
    let (expected, found) = (3, 2);
    let early = Inconsistency::Round { expected, found };
    assert_eq!(world.audited().unwrap_err(), early);
}

#[test]
fn unknown_and_duplicate_agents_are_found() {
    let mut world = whole();
    let first = world.events[0].clone();
    world.events.insert(1, first);
    let known = Inconsistency::Known(Agent::Referee(RefereeId::numbered(1)));
    assert_eq!(world.audited().unwrap_err(), known);
    let stranger = after(whole(), |event| match event {
        Event::RoundOpened { referees, .. } => {
            referees[0] = RefereeId::numbered(9);
            true
        }
        _ => false,
    });
    let unknown = Inconsistency::Unknown(Agent::Referee(RefereeId::numbered(9)));
    assert_eq!(stranger, unknown);
    let mut world = whole();
    let late = world.events.iter().find_map(|event| match event {
        Event::PlayerRegistered { .. } => {
            let mut late = event.clone();
            if let Event::PlayerRegistered { player_id, .. } = &mut late {
                *player_id = PlayerId::numbered(9);
            }
            Some(late)
        }
        _ => None,
    });
    world.events.push(late.unwrap());
    assert!(matches!(world.audited(), Err(Inconsistency::Phase { .. })));
}
