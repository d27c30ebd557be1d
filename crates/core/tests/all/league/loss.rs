//! A journal that lost lines: what was acknowledged comes back unchanged, and nothing of it is
//! played again.

use std::collections::BTreeMap;
use std::sync::Arc;

use league_core::draw;
use league_core::league::{
    Command, CorrelationId, Event, Inconsistency, League, Phase, Refusal, Reply,
};
use league_core::machine::Machine;
use league_protocol::fault::Code;
use league_protocol::id::{MatchId, RefereeId};
use league_protocol::message::{LeagueError, MatchResult, MatchResultReport, Message, StartMatch};
use league_protocol::sender::Agent;

use league_testkit::league::{LeagueWorld, SECRET, rules};
use league_testkit::report::{forfeited, honest, played, signed};
use serde_json::json;

/// Results that referees hold, each acknowledged once.
type Held = BTreeMap<MatchId, (RefereeId, MatchResultReport)>;

/// Reports a result that must count; returns the report as its referee keeps it.
fn acknowledge(
    world: &mut LeagueWorld,
    referee: &RefereeId,
    mut report: MatchResultReport,
) -> MatchResultReport {
    let (_, reply) = world.report(referee, report.clone()).unwrap();
    let Reply::Opened(ack) = reply else {
        panic!("{reply:?}");
    };
    let result = Arc::make_mut(&mut report.result);
    result.draw.as_mut().unwrap().seed = Some(ack.seed);
    result.evidence.players = ack.players;
    report.receipt = ack.receipt;
    report
}

/// Plays a league to its end; returns what was acknowledged.
fn acknowledged(world: &mut LeagueWorld) -> Held {
    let mut held = Held::new();
    while world.league.phase() != Phase::Completed {
        for (referee, order) in world.orders() {
            world.answer_order(&referee, &order, true);
            let report = acknowledge(world, &referee, honest(&order));
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
    assert_eq!((again, order.attempt), (referee.clone(), 1_000_001));
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
fn result_from_before_the_loss_counts_at_the_attempt_that_the_loss_took() {
    let mut whole = LeagueWorld::begun(4, 2, 2);
    let lines = whole.journal().count();
    let (first, order) = whole.order("R1M1");
    whole.fail_order(&first, &order);
    let (second, order) = whole.order("R1M1");
    assert_ne!(first, second);
    whole.answer_order(&second, &order, true);
    let report = acknowledge(&mut whole, &second, honest(&order));
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
    let report = acknowledge(&mut whole, &referee, honest(&order));
    let mut world = cut(&whole, lines);
    accept_loss(&mut world);
    let changes: [fn(&mut MatchResultReport); 6] = [
        |report| Arc::make_mut(&mut report.result).points.reverse(),
        |report| Arc::make_mut(&mut report.result).players.reverse(),
        |report| Arc::make_mut(&mut report.result).reason.push('!'),
        |report| {
            let result = Arc::make_mut(&mut report.result);
            result.draw.as_mut().unwrap().attempt = 7;
        },
        |report| report.attempt += 1,
        |report| report.receipt = None,
    ];
    for (number, change) in changes.iter().enumerate() {
        let mut forged = report.clone();
        change(&mut forged);
        let (events, refusal) = world.report_refused(&referee, forged);
        assert!(
            matches!(refusal, Refusal::OldAttempt { .. }),
            "{number}: {refusal}"
        );
        assert!(events.is_empty(), "{number}: {events:?}");
    }
    assert!(is_open(&world, &report.match_id));
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

/// A league whose manager lost all but the first lines, and the report of `R1M1` that it had
/// acknowledged.
fn lost_result() -> (LeagueWorld, RefereeId, StartMatch, MatchResultReport) {
    let mut whole = LeagueWorld::begun_signing(4, 2, 2);
    let lines = whole.journal().count();
    let (referee, order) = whole.order("R1M1");
    whole.answer_order(&referee, &order, true);
    let report = signed(honest(&order), &order, &[0, 1]);
    let shown = acknowledge(&mut whole, &referee, report);
    let mut world = cut(&whole, lines);
    accept_loss(&mut world);
    (world, referee, order, shown)
}

#[test]
fn acknowledged_result_is_restored_from_its_referee_alone() {
    let (mut world, referee, _, shown) = lost_result();
    let rogue = RefereeId::numbered(2);
    assert_ne!(referee, rogue);
    world.report_refused(&rogue, shown.clone());
    assert!(is_open(&world, &shown.match_id), "it is another referee's");
    world.report(&referee, shown.clone()).unwrap();
    assert!(!is_open(&world, &shown.match_id));
    world.audited().unwrap();
}

#[test]
fn result_without_the_receipt_for_it_is_not_restored() {
    let (mut world, referee, order, shown) = lost_result();
    let opened = |mut report: MatchResultReport| {
        let result = Arc::make_mut(&mut report.result);
        let (draw, seed) = (result.draw.as_mut().unwrap(), &shown.result.draw);
        draw.seed = seed.as_ref().unwrap().seed;
        result.evidence.players = shown.result.evidence.players.clone();
        report.receipt = shown.receipt;
        report
    };
    let choices = [["even", "odd"], ["odd", "even"], ["even", "even"]];
    let others =
        choices.map(|pair| signed(played(&order, pair.map(|one| json!(one))), &order, &[]));
    let absent = forfeited(&order, &[(1, Code::Timeout)]);
    for other in others.into_iter().chain([absent]) {
        if other.result.choices == shown.result.choices {
            continue;
        }
        for by in [&referee, &RefereeId::numbered(2)] {
            for told in [other.clone(), opened(other.clone())] {
                world.report_refused(by, told);
                assert!(is_open(&world, &other.match_id), "{by}: {:?}", other.result);
            }
        }
    }
    world.report(&referee, shown.clone()).unwrap();
    let restored = results(&world);
    assert_eq!(restored[&shown.match_id], shown.result);
    world.audited().unwrap();
}

#[test]
fn attempts_after_a_loss_are_above_all_that_may_be_lost() {
    let mut whole = LeagueWorld::begun_signing(4, 2, 2);
    let lines = whole.journal().count();
    for expected in 1..=4 {
        let (referee, order) = whole.order("R1M1");
        assert_eq!(order.attempt, expected);
        whole.fail_order(&referee, &order);
    }
    let mut world = cut(&whole, lines);
    accept_loss(&mut world);
    assert!(world.fixture("R1M1").attempt() > 4);
    world.audited().unwrap();
}

#[test]
fn round_without_referees_begins_above_all_lost_attempts() {
    let mut world = LeagueWorld::begun_signing(4, 1, 2);
    let lines = world.journal().count();
    world = cut(&world, lines);
    accept_loss(&mut world);
    for (referee, round) in asked(&mut world) {
        answer(&mut world, (&referee, round), Ok(Message::Acknowledged));
    }
    let first = world.fixture("R1M1").attempt();
    let orders = world.orders();
    let referee = RefereeId::numbered(1);
    let probe = CorrelationId::Notice(Agent::Referee(referee.clone()));
    for (_, order) in &orders {
        world.answer_order(&referee, order, true);
    }
    let [last, rest @ ..] = &orders[..] else {
        panic!("no orders");
    };
    for order in rest {
        world
            .report(&referee, signed(honest(&order.1), &order.1, &[0, 1]))
            .unwrap();
    }
    let report = signed(honest(&last.1), &last.1, &[0, 1]);
    world.hand_over(&referee, &report);
    for _ in 0..world.league.rules().breaker.threshold {
        world.hear(probe.clone(), Err(Code::Connection));
    }
    world.settle();
    assert_eq!(world.league.round().unwrap().number(), 2);
    assert_eq!(world.referee_of("R2M1"), None, "no referee is there");
    world.hear(
        CorrelationId::Probe(Agent::Referee(referee)),
        Ok(Message::Acknowledged),
    );
    world.settle();
    assert!(world.referee_of("R2M1").is_some());
    assert!(world.fixture("R2M1").attempt() >= first);
    world.audited().unwrap();
}

#[test]
fn referee_that_puts_the_question_off_holds_a_round_up_for_a_bounded_time() {
    for outcome in [busy(), Err(Code::Timeout)] {
        let mut world = LeagueWorld::begun(4, 2, 1);
        let lines = world.journal().count();
        world = cut(&world, lines);
        accept_loss(&mut world);
        let since = world.now;
        while world.orders().is_empty() {
            for (referee, round) in asked(&mut world) {
                let outcome = if referee == RefereeId::numbered(2) {
                    outcome.clone()
                } else {
                    Ok(Message::Acknowledged)
                };
                answer(&mut world, (&referee, round), outcome);
            }
            let probes = std::mem::take(&mut world.letters);
            for probe in probes.into_iter().filter_map(|letter| letter.correlation) {
                if matches!(probe, CorrelationId::Probe(_)) {
                    world.hear(probe, Ok(Message::Acknowledged));
                }
            }
            world.pass(5);
            let waited = world.now.since(since);
            assert!(waited.as_secs() <= 150, "one referee stalls the round");
        }
    }
}

#[test]
fn journal_of_another_machine_needs_receipts() {
    let (world, referee, order, shown) = lost_result();
    let restore = |report: &MatchResultReport, is_local| {
        let command = Command::Restore {
            referee: referee.clone(),
            report: Arc::new(report.clone()),
            is_local,
        };
        world.league.decide(world.now, &command).answer
    };
    let unproven = MatchResultReport {
        receipt: None,
        ..shown.clone()
    };
    assert!(restore(&shown, false).is_ok());
    assert!(restore(&unproven, true).is_ok());
    assert!(restore(&unproven, false).is_err());
    let decided = signed(honest(&order), &order, &[0, 1]);
    assert!(restore(&decided, true).is_ok(), "it was on its way");
    assert!(restore(&decided, false).is_err());
}
