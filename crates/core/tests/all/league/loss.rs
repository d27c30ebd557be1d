//! A journal that lost lines: what was acknowledged comes back unchanged, and nothing of it is
//! played again.

use std::collections::BTreeMap;
use std::sync::Arc;

use league_core::draw;
use league_core::league::{Command, CorrelationId, Event, Inconsistency, League, Phase, Refusal};
use league_core::machine::Machine;
use league_protocol::fault::Code;
use league_protocol::id::{MatchId, RefereeId};
use league_protocol::message::{LeagueError, MatchResult, MatchResultReport, Message};
use league_protocol::sender::Agent;

use league_testkit::league::{LeagueWorld, SECRET, rules};
use league_testkit::report::{honest, played};
use serde_json::json;

/// Results that referees hold, each acknowledged once.
type Held = BTreeMap<MatchId, (RefereeId, MatchResultReport)>;

/// Plays a league to its end; returns what was acknowledged.
fn acknowledged(world: &mut LeagueWorld) -> Held {
    let mut held = Held::new();
    while world.league.phase() != Phase::Completed {
        for (referee, order) in world.orders() {
            world.answer_order(&referee, &order, true);
            let report = honest(&order);
            world.report(&referee, report.clone()).unwrap();
            held.insert(order.match_id.clone(), (referee, report));
        }
        world.settle();
    }
    held
}

/// The same league after a restart with the first lines of its journal.
fn cut(world: &LeagueWorld, lines: usize) -> LeagueWorld {
    let mut after = LeagueWorld::new(world.league.rules().clone());
    after.events = world.journal().take(lines).cloned().collect();
    after.tokens = world.tokens.clone();
    after.now = world.now;
    after.league = after.replayed();
    after
}

fn accept_loss(world: &mut LeagueWorld) {
    let known_version = 1_000;
    world.when(&Command::AcceptLoss { known_version }).unwrap();
    world.letters = world.league.pending();
    world.answer_players(0);
    world.settle();
}

/// The referees that are asked for results of the round.
fn asked(world: &mut LeagueWorld) -> Vec<(RefereeId, u32)> {
    let mut asked = Vec::new();
    let is_question = |letter: &league_core::letter::Letter<CorrelationId>| match (
        &letter.message,
        &letter.to.agent,
    ) {
        (Message::RoundAnnouncement(round), Agent::Referee(referee)) => {
            Some((referee.clone(), round.round_id))
        }
        _ => None,
    };
    world.letters.retain(|letter| {
        let question = is_question(letter);
        asked.extend(question.clone());
        question.is_none()
    });
    asked
}

fn answer(
    world: &mut LeagueWorld,
    (referee, round): (&RefereeId, u32),
    answer: Result<Message, Code>,
) -> Vec<Event> {
    let referee = referee.clone();
    world.hear(CorrelationId::Question { referee, round }, answer)
}

fn busy() -> Result<Message, Code> {
    Ok(Message::from(LeagueError::new(
        Code::RateLimited,
        "reporting",
    )))
}

fn is_open(world: &LeagueWorld, match_id: &MatchId) -> bool {
    let fixture = world.league.fixture(match_id);
    fixture.is_some_and(|fixture| fixture.result().is_none())
}

/// Goes on to the end with referees that report again what they hold, and play the rest.
fn go_on(world: &mut LeagueWorld, held: &Held) {
    for _ in 0..1_000 {
        if world.league.phase() == Phase::Completed {
            return;
        }
        for (referee, round) in asked(world) {
            let mine = held
                .values()
                .filter(|(by, report)| *by == referee && report.round_id == round);
            let missing: Vec<_> = mine
                .filter(|(_, report)| is_open(world, &report.match_id))
                .collect();
            for (_, report) in &missing {
                world.report(&referee, report.clone()).unwrap();
            }
            let put_off = if missing.is_empty() {
                Ok(Message::Acknowledged)
            } else {
                busy()
            };
            answer(world, (&referee, round), put_off);
        }
        for (referee, order) in world.orders() {
            let known = held.get(&order.match_id);
            // The hand-over of a match is in the journal: its result is still due.
            let due = known.filter(|_| order.handed_over.is_some());
            assert!(
                known.is_none() || due.is_some(),
                "{} is played again",
                order.match_id
            );
            world.answer_order(&referee, &order, true);
            let report = due.map_or_else(|| honest(&order), |(_, report)| report.clone());
            world.report(&referee, report).unwrap();
        }
        world.settle();
    }
    panic!("the league never ends");
}

fn results(world: &LeagueWorld) -> BTreeMap<MatchId, Arc<MatchResult>> {
    let recorded = world.events.iter().filter_map(|event| match event {
        Event::ResultRecorded {
            match_id, result, ..
        } => Some((match_id.clone(), result.clone())),
        _ => None,
    });
    recorded.collect()
}

#[test]
fn acknowledged_results_come_back_unchanged_wherever_the_journal_is_cut() {
    let mut whole = LeagueWorld::begun(6, 2, 1);
    let begun = whole.journal().count();
    let held = acknowledged(&mut whole);
    for lines in begun..whole.journal().count() {
        let mut world = cut(&whole, lines);
        accept_loss(&mut world);
        go_on(&mut world, &held);
        assert_eq!(results(&world), results(&whole), "cut after {lines} lines");
        assert_eq!(world.league.standings(), whole.league.standings());
        let audited = world.audited().unwrap();
        assert_eq!(audited.standings(), whole.league.standings());
        let same = world.replayed().after_restart() == world.league.after_restart();
        assert!(same, "cut after {lines} lines");
    }
}

#[test]
fn match_that_was_under_way_gets_a_new_seed_attempt_and_promise() {
    let mut world = LeagueWorld::begun(4, 2, 1);
    let (referee, before) = world.order("R1M1");
    let lines = world.journal().count();
    let mut world = cut(&world, lines);
    accept_loss(&mut world);
    assert_eq!(world.league.epoch(), 1);
    assert!(world.orders().is_empty(), "no referee was asked yet");
    for (referee, round) in asked(&mut world) {
        answer(&mut world, (&referee, round), Ok(Message::Acknowledged));
    }
    let (again, order) = world.order("R1M1");
    assert_eq!((again, order.attempt), (referee.clone(), 2));
    assert_ne!(order.commitment, before.commitment);
    let Some(Event::LossAccepted { commitments, .. }) = world.journal().last() else {
        panic!("the loss is not noted");
    };
    assert_eq!(commitments[0].1, world.fixture("R1M1").commitment());
    assert_eq!(commitments.len(), 2);
    world.report(&referee, honest(&order)).unwrap();
    world.audited().unwrap();
}

#[test]
fn result_from_before_the_loss_counts_from_any_referee_and_attempt() {
    let mut whole = LeagueWorld::begun(4, 2, 2);
    let lines = whole.journal().count();
    let (first, order) = whole.order("R1M1");
    whole.fail_order(&first, &order);
    let (second, order) = whole.order("R1M1");
    assert_ne!(first, second);
    let report = honest(&order);
    whole.answer_order(&second, &order, true);
    whole.report(&second, report.clone()).unwrap();
    let mut world = cut(&whole, lines);
    assert_eq!(world.referee_of("R1M1"), Some(first.to_string()));
    accept_loss(&mut world);
    let (events, _) = world.report(&second, report.clone()).unwrap();
    assert!(
        matches!(
            &events[..],
            [
                Event::ResultRecorded {
                    restored: true,
                    attempt: 2,
                    ..
                },
                ..
            ]
        ),
        "{events:?}"
    );
    let again = world.report(&second, report).unwrap();
    assert!(again.0.is_empty(), "the same again changes nothing");
    world.audited().unwrap();
}

#[test]
fn forged_result_from_before_the_loss_is_refused() {
    let mut whole = LeagueWorld::begun(4, 1, 2);
    let lines = whole.journal().count();
    let (referee, order) = whole.order("R1M1");
    let report = honest(&order);
    let mut world = cut(&whole, lines);
    accept_loss(&mut world);
    let mut forged = report.clone();
    let result = Arc::make_mut(&mut forged.result);
    result.points.reverse();
    let (_, refusal) = world.report_refused(&referee, forged);
    assert!(matches!(refusal, Refusal::BadReport { .. }), "{refusal}");
    let mut other = report;
    let draw = Arc::make_mut(&mut other.result).draw.as_mut().unwrap();
    draw.attempt = 7;
    let (_, refusal) = world.report_refused(&referee, other);
    assert!(matches!(refusal, Refusal::BadReport { .. }), "{refusal}");
    assert!(world.fixture("R1M1").result().is_none());
}

#[test]
fn without_an_accepted_loss_an_earlier_result_is_not_restored() {
    let mut whole = LeagueWorld::begun(4, 1, 2);
    let (referee, order) = whole.order("R1M1");
    whole.report(&referee, honest(&order)).unwrap();
    let other = ["even", "odd"].map(|choice| json!(choice));
    let (events, _) = whole.report_refused(&referee, played(&order, other.clone()));
    let recorded = |event: &Event| matches!(event, Event::ResultRecorded { .. });
    assert!(!events.iter().any(recorded));
    for event in whole.events.iter_mut() {
        if let Event::ResultRecorded { restored, .. } = event {
            *restored = true;
        }
    }
    let wrong = whole.audited().unwrap_err();
    assert!(matches!(wrong, Inconsistency::NoLoss(_)), "{wrong}");
}

#[test]
fn silent_referee_is_asked_until_it_is_suspended() {
    let mut world = LeagueWorld::begun(4, 2, 1);
    let lines = world.journal().count();
    world = cut(&world, lines);
    accept_loss(&mut world);
    let silent = RefereeId::numbered(2);
    let mut failures = 0;
    while world.orders().is_empty() {
        for (referee, round) in asked(&mut world) {
            let outcome = if referee == silent {
                failures += 1;
                Err(Code::Connection)
            } else {
                Ok(Message::Acknowledged)
            };
            answer(&mut world, (&referee, round), outcome);
        }
        world.letters.extend(world.league.pending());
        world.answer_players(0);
        assert!(failures < 20, "the league waits for a dead referee");
        world.pass(5);
    }
    assert_eq!(failures, world.league.rules().breaker.threshold);
}

#[test]
fn losses_are_counted_and_each_has_seeds_of_its_own() {
    let mut world = LeagueWorld::begun(4, 1, 2);
    let mut promises = vec![world.order("R1M1").1.commitment];
    for epoch in 1..=3 {
        let lines = world.journal().count();
        world = cut(&world, lines);
        accept_loss(&mut world);
        assert_eq!(world.league.epoch(), epoch);
        for (referee, round) in asked(&mut world) {
            answer(&mut world, (&referee, round), Ok(Message::Acknowledged));
        }
        let (_, order) = world.order("R1M1");
        assert!(!promises.contains(&order.commitment));
        promises.push(order.commitment);
    }
    let (league, match_id) = (rules().league_id, MatchId::numbered(1, 1));
    for (epoch, promise) in (0..).zip(&promises) {
        let seed = SECRET.seed(&league, &match_id, epoch);
        let expected = draw::commitment(&league, &match_id, rules().draws, &seed);
        assert_eq!(*promise, expected);
    }
    let mut twice = world;
    let loss = |event: &Event| matches!(event, Event::LossAccepted { .. });
    let first = twice.events.iter().position(loss).unwrap();
    let again = twice.events[first].clone();
    twice.events.insert(first, again);
    let wrong = twice.audited().unwrap_err();
    assert!(
        matches!(
            wrong,
            Inconsistency::Loss {
                expected: 2,
                found: 1
            }
        ),
        "{wrong}"
    );
}

#[test]
fn league_without_a_loss_asks_no_referee() {
    let mut world = LeagueWorld::begun(4, 2, 1);
    assert!(asked(&mut world).is_empty());
    assert_eq!(world.league.epoch(), 0);
    let replayed: League = world.replayed();
    assert_eq!(replayed.epoch(), 0);
}
