//! Leagues whose referees take matches themselves: which matches wait, who gets one, and what becomes
//! of those of a referee that fails.

use league_core::league::{
    Command, CorrelationId, Event, FixtureStage, Inconsistency, LeagueRules, Lever, LeverRefusal,
    Phase, Reassignment, Refusal, Reply,
};
use league_core::machine::Machine;
use league_protocol::fault::Code;
use league_protocol::id::{MatchId, PlayerId, RefereeId};
use league_protocol::message::{Message, RegisterResponse};
use league_protocol::sender::Agent;
use league_protocol::time::Timestamp;

use league_testkit::league::{LeagueWorld, rules};
use league_testkit::report::{forfeited, honest};

/// So many seconds a match is for other referees before one that had it may take it again.
const FOR_OTHERS: u64 = 15;

fn pool() -> LeagueRules {
    LeagueRules {
        pool: true,
        ..rules()
    }
}

fn begun(players: u32, referees: u32, capacity: u32) -> LeagueWorld {
    LeagueWorld::begun_by(pool(), players, referees, capacity)
}

fn referee(number: u32) -> RefereeId {
    RefereeId::numbered(number)
}

fn waiting(world: &LeagueWorld) -> Vec<(String, u32)> {
    let waiting = world.league.waiting_matches(usize::MAX).into_iter();
    waiting
        .map(|(id, attempt)| (id.to_string(), attempt))
        .collect()
}

fn listed(matches: &[(&str, u32)]) -> Vec<(String, u32)> {
    let matches = matches.iter();
    matches
        .map(|(id, attempt)| ((*id).to_owned(), *attempt))
        .collect()
}

fn match_id(id: &str) -> MatchId {
    MatchId::new(id).unwrap()
}

/// Lets referees in turn take all matches that wait, and plays them, until the league is over.
fn play_out(world: &mut LeagueWorld) {
    let referees = u32::try_from(world.league.referees().len()).unwrap();
    for step in 0..10_000 {
        if world.league.phase() == Phase::Completed {
            return;
        }
        let next = waiting(world).into_iter().next();
        if let Some((id, attempt)) = next {
            let _ = world.take(&referee(step % referees + 1), &id, attempt);
        }
        for (referee, order) in world.orders() {
            world.answer_order(&referee, &order, true);
            world.report(&referee, honest(&order)).unwrap();
        }
        world.settle();
    }
    panic!("the league never ends");
}

#[test]
fn league_begins_without_referees_and_its_matches_wait() {
    let mut world = begun(4, 0, 1);
    assert_eq!(waiting(&world), listed(&[("R1M1", 1), ("R1M2", 1)]));
    assert_eq!(world.league.waiting_matches(1).len(), 1, "a bounded list");
    world.pass(3_600);
    assert_eq!(waiting(&world), listed(&[("R1M1", 1), ("R1M2", 1)]));
    assert!(world.letters.is_empty(), "{:?}", world.letters);
    let whistle = world.admit_referee("Whistle", 1);
    world.take(&whistle, "R1M2", 1).unwrap();
    assert_eq!(waiting(&world), listed(&[("R1M1", 1)]));
    let (taker, order) = world.order("R1M2");
    assert_eq!((&taker, order.attempt), (&whistle, 1));
    world.answer_order(&taker, &order, true);
    world.report(&taker, honest(&order)).unwrap();
    play_out(&mut world);
    assert_eq!(world.league.matches_played(), 6);
    world.check_journal();
}

#[test]
fn league_of_a_pool_starts_by_itself_with_its_players() {
    let mut world = LeagueWorld::new(LeagueRules {
        start_when: Some((2, 0)),
        ..pool()
    });
    world.admit_player("Alpha");
    assert!(matches!(
        world.when(&Command::pull(Lever::Start)),
        Err(Refusal::TooFew { pool: true, .. })
    ));
    world.admit_player("Beta");
    world.settle();
    assert_eq!(waiting(&world), listed(&[("R1M1", 1)]));
}

#[test]
fn rules_of_a_league_without_a_pool_are_written_as_before() {
    let text = |rules: &LeagueRules| serde_json::to_value(rules).unwrap();
    assert_eq!(text(&rules()).get("pool"), None);
    assert_eq!(text(&pool())["pool"], true);
    let read: LeagueRules = serde_json::from_value(text(&rules())).unwrap();
    assert_eq!(read, rules());
}

#[test]
fn players_are_told_of_a_match_once_and_with_its_referee() {
    let mut world = LeagueWorld::begun_with(pool(), 2, 1, 1, |player| {
        player.request.meta.proofs = true;
    });
    let told = |world: &mut LeagueWorld, number| {
        let letters = world.letters_to(&Agent::Player(PlayerId::numbered(number)));
        let rounds = letters.into_iter().filter_map(|letter| match letter {
            Message::RoundAnnouncement(round) => {
                let row = round.matches.iter().next().unwrap().clone();
                Some((
                    row.referee_endpoint.to_string(),
                    round.own.as_ref().unwrap().attempt,
                ))
            }
            _ => None,
        });
        rounds.collect::<Vec<_>>()
    };
    assert_eq!(told(&mut world, 1), []);
    world.restart();
    world.settle();
    assert_eq!(told(&mut world, 1), [], "nor by a manager that began again");
    world.take(&referee(1), "R1M1", 1).unwrap();
    let endpoint = "http://localhost/referee 1".to_owned();
    for number in [1, 2] {
        assert_eq!(told(&mut world, number), [(endpoint.clone(), 1)]);
    }
    let (taker, order) = world.order("R1M1");
    world.fail_order(&taker, &order);
    assert_eq!(told(&mut world, 1), [], "the match waits");
    world.pass(FOR_OTHERS);
    world.take(&taker, "R1M1", 2).unwrap();
    assert_eq!(told(&mut world, 1), [(endpoint, 2)]);
}

#[test]
fn order_waits_until_both_players_know_the_referee() {
    let mut world = LeagueWorld::new(pool());
    world.players_answer = false;
    let whistle = world.admit_referee("Whistle", 1);
    world.admit_player("Alpha");
    world.admit_player("Beta");
    world.when(&Command::pull(Lever::Start)).unwrap();
    world.settle();
    world.take(&whistle, "R1M1", 1).unwrap();
    assert!(world.orders().is_empty());
    world.answer_players(0);
    assert_eq!(world.orders().len(), 1);
}

#[test]
fn two_referees_cannot_take_one_match() {
    let mut world = begun(4, 2, 2);
    let first = world.take(&referee(1), "R1M1", 1).unwrap();
    assert!(
        matches!(&first[0], Event::MatchesMoved { moves, .. }
        if moves[..] == [Reassignment {
            match_id: match_id("R1M1"),
            to: Some(referee(1)),
            attempt: 1,
        }]),
        "{first:?}"
    );
    let late = world.take(&referee(2), "R1M1", 1);
    assert_eq!(late, Err(Refusal::NotWaiting(match_id("R1M1"))));
    assert_eq!(world.take(&referee(1), "R1M1", 1), Ok(Vec::new()), "again");
    assert_eq!(world.orders().len(), 1);
    assert_eq!(world.referee_of("R1M1").as_deref(), Some("REF01"));
}

#[test]
fn match_is_taken_only_at_the_attempt_that_comes_next() {
    let mut world = begun(2, 2, 1);
    let old = |current, found| {
        Err(Refusal::OldAttempt {
            match_id: match_id("R1M1"),
            current,
            found,
        })
    };
    assert_eq!(world.take(&referee(1), "R1M1", 0), old(1, 0));
    assert_eq!(world.take(&referee(1), "R1M1", 2), old(1, 2));
    world.take(&referee(1), "R1M1", 1).unwrap();
    assert_eq!(world.take(&referee(2), "R1M1", 2), old(1, 2));
    let (taker, order) = world.order("R1M1");
    world.fail_order(&taker, &order);
    assert_eq!(world.take(&referee(2), "R1M1", 1), old(2, 1));
    world.take(&referee(2), "R1M1", 2).unwrap();
}

#[test]
fn taking_is_refused_with_its_reason() {
    type Case = (&'static str, fn(&mut LeagueWorld), fn() -> Refusal);
    let cases: [Case; 8] = [
        ("R7M7", |_| {}, || Refusal::UnknownMatch(match_id("R7M7"))),
        (
            "R1M1",
            |world| drop(world.pull(Lever::Pause).unwrap()),
            || LeverRefusal::Paused.into(),
        ),
        (
            "R1M1",
            |world| {
                let match_id = match_id("R1M1");
                world.pull(Lever::Annul { match_id }).unwrap();
            },
            || Refusal::Closed(match_id("R1M1")),
        ),
        (
            "R1M1",
            |world| drop(world.pull(Lever::End).unwrap()),
            || Refusal::Closed(match_id("R1M1")),
        ),
        (
            "R1M2",
            |world| drop(world.take(&referee(1), "R1M1", 1).unwrap()),
            || Refusal::NoRoom(1),
        ),
        (
            "R1M2",
            |world| drop(world.take(&referee(2), "R1M1", 1).unwrap()),
            || Refusal::ManyMatches(1),
        ),
        (
            "R1M1",
            |world| {
                world.take(&referee(2), "R1M1", 1).unwrap();
                let (taker, order) = world.order("R1M1");
                world.answer_order(&taker, &order, true);
                world.report(&taker, honest(&order)).unwrap();
            },
            || Refusal::Over(match_id("R1M1")),
        ),
        (
            "R1M1",
            |world| drop(world.when(&Command::Stop).unwrap()),
            || Refusal::Stopping,
        ),
    ];
    for (wanted, prepare, refusal) in cases {
        let rules = LeagueRules {
            matches_at_once: Some(1),
            ..pool()
        };
        let mut world = LeagueWorld::begun_by(rules, 4, 2, 1);
        prepare(&mut world);
        world.settle();
        let before = world.events.len();
        assert_eq!(world.take(&referee(1), wanted, 1), Err(refusal()));
        assert_eq!(world.events.len(), before, "{:?}", refusal());
    }
}

#[test]
fn only_a_referee_takes_matches_and_only_where_they_are_not_given() {
    let mut world = begun(2, 1, 1);
    let player = Agent::Player(PlayerId::numbered(1));
    let token = world.tokens[&player].clone();
    let mut command = None;
    let other = Agent::Referee(referee(1));
    world.tokens.insert(other, token);
    command.replace(world.take(&referee(1), "R1M1", 1));
    assert_eq!(command, Some(Err(Refusal::TokenInvalid)));
    let mut given = LeagueWorld::begun(2, 1, 1);
    assert_eq!(given.take(&referee(1), "R1M1", 1), Err(Refusal::NotAPool));
    assert_eq!(waiting(&given), []);
}

#[test]
fn list_of_waiting_matches_keeps_pause_and_limit() {
    let rules = LeagueRules {
        matches_at_once: Some(2),
        ..pool()
    };
    let mut world = LeagueWorld::begun_by(rules, 8, 1, 9);
    assert_eq!(waiting(&world), listed(&[("R1M1", 1), ("R1M2", 1)]));
    world.pull(Lever::Pause).unwrap();
    assert_eq!(waiting(&world), []);
    world.pull(Lever::Resume).unwrap();
    world.take(&referee(1), "R1M1", 1).unwrap();
    assert_eq!(waiting(&world), listed(&[("R1M2", 1)]));
    world.take(&referee(1), "R1M2", 1).unwrap();
    assert_eq!(waiting(&world), []);
    let full = world.take(&referee(1), "R1M3", 1);
    assert_eq!(full, Err(Refusal::ManyMatches(2)));
    play_out(&mut world);
    world.check_journal();
}

#[test]
fn matches_of_a_dead_referee_wait_with_the_next_attempt() {
    let mut world = begun(4, 2, 2);
    for id in ["R1M1", "R1M2"] {
        world.take(&referee(1), id, 1).unwrap();
    }
    let orders = world.orders();
    for (taker, order) in &orders {
        world.answer_order(taker, order, true);
    }
    for _ in 0..4 {
        world.pass(5);
    }
    assert_eq!(waiting(&world), listed(&[("R1M1", 2), ("R1M2", 2)]));
    assert!(
        world.league.referees()[0]
            .member()
            .suspended_since()
            .is_some()
    );
    let late = world.report_command(&referee(1), honest(&orders[0].1));
    let refused = world.when(&late).unwrap_err();
    assert_eq!(refused, Refusal::TakenAway(match_id("R1M1")));
    let dead = world.take(&referee(1), "R1M1", 2);
    assert!(matches!(dead, Err(Refusal::OthersFirst { .. })), "{dead:?}");
    world.take(&referee(2), "R1M1", 2).unwrap();
    let (taker, order) = world.order("R1M1");
    assert_eq!((&taker, order.attempt), (&referee(2), 2));
    world.answer_order(&taker, &order, true);
    world.report(&taker, honest(&order)).unwrap();
    assert_eq!(world.league.matches_played(), 1);
    world.check_journal();
}

#[test]
fn suspended_referee_takes_no_match_until_it_answers() {
    let mut world = begun(2, 1, 1);
    world.take(&referee(1), "R1M1", 1).unwrap();
    for _ in 0..4 {
        world.pass(5);
    }
    world.pass(FOR_OTHERS);
    let refused = world.take(&referee(1), "R1M1", 2);
    assert_eq!(refused, Err(Refusal::Suspended(referee(1))));
    let probe = CorrelationId::Probe(Agent::Referee(referee(1)));
    world.hear(probe, Ok(Message::Acknowledged));
    world.take(&referee(1), "R1M1", 2).unwrap();
}

#[test]
fn referee_that_had_a_match_lets_others_take_it_first() {
    let mut world = begun(2, 2, 1);
    world.take(&referee(1), "R1M1", 1).unwrap();
    let (taker, order) = world.order("R1M1");
    world.answer_order(&taker, &order, false);
    for (seconds, left) in [(0, 15), (5, 10), (9, 1)] {
        world.pass(seconds);
        let early = world.take(&referee(1), "R1M1", 2);
        let match_id = match_id("R1M1");
        let seconds = left;
        assert_eq!(early, Err(Refusal::OthersFirst { match_id, seconds }));
    }
    world.pass(1);
    world.take(&referee(1), "R1M1", 2).unwrap();
    world.check_journal();
}

#[test]
fn loss_that_a_referee_alone_reports_is_doubted_though_no_match_is_given() {
    for referees in [1, 2] {
        let mut world = begun(2, referees, 1);
        world.take(&referee(1), "R1M1", 1).unwrap();
        let (taker, order) = world.order("R1M1");
        world.answer_order(&taker, &order, true);
        let report = forfeited(&order, &[(0, Code::Connection)]);
        let (events, refusal) = world.report_refused(&taker, report);
        assert!(matches!(events[0], Event::LossDoubted { .. }), "{events:?}");
        assert_eq!(refusal, Refusal::TakenAway(match_id("R1M1")));
        assert_eq!(waiting(&world), listed(&[("R1M1", 2)]));
    }
}

#[test]
fn referee_whose_word_is_in_doubt_waits_for_others_that_are_busy() {
    let mut world = begun(4, 2, 1);
    world.take(&referee(2), "R1M2", 1).unwrap();
    let busy = world.order("R1M2").1;
    world.answer_order(&referee(2), &busy, true);
    world.take(&referee(1), "R1M1", 1).unwrap();
    let (taker, order) = world.order("R1M1");
    world.answer_order(&taker, &order, true);
    let report = forfeited(&order, &[(0, Code::Connection)]);
    world.report_refused(&taker, report);
    let too_early = |world: &mut LeagueWorld| {
        let taken = world.take(&referee(1), "R1M1", 2);
        assert!(
            matches!(taken, Err(Refusal::OthersFirst { .. })),
            "{taken:?}"
        );
    };
    for _ in 0..2 {
        world.pass(FOR_OTHERS - 1);
        let probe = CorrelationId::Probe(Agent::Referee(referee(2)));
        world.hear(probe, Ok(Message::Acknowledged));
        too_early(&mut world);
    }
    world.report(&referee(2), honest(&busy)).unwrap();
    world.pass(FOR_OTHERS - 1);
    too_early(&mut world);
    world.pass(1);
    world.take(&referee(1), "R1M1", 2).unwrap();
    world.check_journal();
}

#[test]
fn referee_with_the_key_registers_after_the_start_of_a_pool_alone() {
    let register = |world: &mut LeagueWorld, change: fn(&mut league_core::league::Applicant)| {
        let mut late = world.candidate("Late");
        change(&mut late);
        let (_, reply) = world.when(&Command::RegisterReferee(late)).unwrap();
        let Reply::Referee(response) = reply else {
            panic!("{reply:?}");
        };
        matches!(response, RegisterResponse::Accepted(_))
    };
    let mut world = begun(2, 0, 1);
    assert!(!register(&mut world, |late| late.has_key = false));
    assert!(register(&mut world, |_| {}));
    world.check_journal();
    let mut given = LeagueWorld::begun(2, 1, 1);
    assert!(!register(&mut given, |_| {}));
    let mut open = LeagueWorld::begun_by(
        LeagueRules {
            open_referees: true,
            ..pool()
        },
        2,
        0,
        1,
    );
    assert!(!register(&mut open, |late| late.has_key = false));
}

#[test]
fn idle_referee_that_lost_its_token_comes_back_by_the_key() {
    let back = |world: &mut LeagueWorld, has_key| {
        let mut back = world.candidate("Referee 1");
        back.has_key = has_key;
        let (_, reply) = world.when(&Command::RegisterReferee(back)).unwrap();
        let Reply::Referee(response) = reply else {
            panic!("{reply:?}");
        };
        match response {
            RegisterResponse::Accepted(enrolment) => Some(enrolment.id),
            RegisterResponse::Rejected { .. } => None,
        }
    };
    let mut world = begun(4, 1, 1);
    assert_eq!(back(&mut world, false), None, "without the key");
    assert_eq!(back(&mut world, true), Some(referee(1)));
    world.take(&referee(1), "R1M1", 1).unwrap_err();
    world.check_journal();
    let mut busy = begun(4, 1, 1);
    busy.take(&referee(1), "R1M1", 1).unwrap();
    assert_eq!(back(&mut busy, true), None, "it has a match");
    let mut given = LeagueWorld::begun(4, 1, 1);
    assert_eq!(back(&mut given, true), None, "it is given matches");
}

/// Admits a referee that has shown no field of ours.
fn admit_foreign(world: &mut LeagueWorld, capacity: u32) -> RefereeId {
    let mut foreign = world.candidate("Foreign");
    foreign.request.meta.max_concurrent_matches = Some(capacity);
    (foreign.request.meta.speech, foreign.speech) = (None, None);
    world.register_referee(foreign).id
}

#[test]
fn referee_by_the_documents_is_given_matches_up_to_its_capacity() {
    let mut world = begun(8, 1, 9);
    let foreign = admit_foreign(&mut world, 2);
    let events = world.settle();
    assert_eq!(events.len(), 2, "{events:?}");
    assert_eq!(waiting(&world), listed(&[("R1M3", 1), ("R1M4", 1)]));
    let orders = world.orders();
    assert!(orders.iter().all(|(taker, _)| *taker == foreign));
    let (taker, order) = &orders[0];
    world.answer_order(taker, order, true);
    world.report(taker, honest(order)).unwrap();
    world.settle();
    assert_eq!(waiting(&world), listed(&[("R1M4", 1)]), "it has room again");
    world.take(&referee(1), "R1M4", 1).unwrap();
    world.pull(Lever::Pause).unwrap();
    let (taker, order) = &orders[1];
    world.answer_order(taker, order, true);
    world.report(taker, honest(order)).unwrap();
    assert!(world.settle().is_empty(), "no match begins in a pause");
    world.check_journal();
}

#[test]
fn referee_by_the_documents_that_declines_waits_for_others_too() {
    let mut world = begun(2, 0, 1);
    let foreign = admit_foreign(&mut world, 1);
    world.settle();
    let (_, order) = world.order("R1M1");
    world.answer_order(&foreign, &order, false);
    assert!(world.settle().is_empty());
    assert_eq!(waiting(&world), listed(&[("R1M1", 2)]));
    world.pass(FOR_OTHERS);
    assert_eq!(world.order("R1M1").1.attempt, 2);
    world.check_journal();
}

#[test]
fn waiting_matches_survive_a_restart() {
    let mut world = begun(4, 1, 1);
    world.take(&referee(1), "R1M1", 1).unwrap();
    world.orders();
    world.restart();
    world.settle();
    assert_eq!(waiting(&world), listed(&[("R1M2", 1)]));
    world.finish("R1M1", None);
    play_out(&mut world);
}

#[test]
fn whole_league_of_takers_passes_the_audit() {
    for legs in [1, 2] {
        let rules = LeagueRules { legs, ..pool() };
        let mut world = LeagueWorld::begun_by(rules, 5, 3, 2);
        play_out(&mut world);
        assert_eq!(world.league.matches_played(), 10 * u64::from(legs));
        world.check_journal();
    }
}

/// What the audit says of a league in which two matches wait, with this fact after the others.
fn forged(change: impl FnOnce(&mut LeagueWorld), event: Event) -> Inconsistency {
    let mut world = begun(4, 2, 1);
    change(&mut world);
    world.check_journal();
    world.events.push(event);
    world.audited().unwrap_err()
}

fn moved(moves: &[(&str, u32, u32)]) -> Event {
    let moves = moves.iter().map(|&(id, to, attempt)| Reassignment {
        match_id: match_id(id),
        to: (to > 0).then(|| referee(to)),
        attempt,
    });
    Event::MatchesMoved {
        moves: moves.collect(),
        next: None,
        at: Timestamp::from_millis(1_000_000),
    }
}

#[test]
fn audit_refuses_matches_that_could_not_be_taken() {
    let refusal = |inconsistency| match inconsistency {
        Inconsistency::NotTaken { refusal, .. } => *refusal,
        other => panic!("{other}"),
    };
    let taken = |world: &mut LeagueWorld| drop(world.take(&referee(1), "R1M1", 1).unwrap());
    let cases = [
        (
            forged(|_| {}, moved(&[("R1M1", 1, 0)])),
            "attempt `1`, not `0`",
        ),
        (
            forged(|_| {}, moved(&[("R1M1", 1, 2)])),
            "attempt `1`, not `2`",
        ),
        (
            forged(taken, moved(&[("R1M1", 2, 1)])),
            "waits for no referee",
        ),
        (
            forged(taken, moved(&[("R1M1", 2, 2)])),
            "attempt `1`, not `2`",
        ),
        (
            forged(taken, moved(&[("R1M2", 1, 1)])),
            "as it declared, `1`",
        ),
        (
            forged(
                |world| drop(world.pull(Lever::Pause).unwrap()),
                moved(&[("R1M1", 1, 1)]),
            ),
            "paused",
        ),
        (
            forged(
                |world| {
                    taken(world);
                    let (taker, order) = world.order("R1M1");
                    world.answer_order(&taker, &order, false);
                },
                moved(&[("R1M1", 1, 2)]),
            ),
            "other referees",
        ),
    ];
    for (inconsistency, words) in cases {
        let refusal = refusal(inconsistency).to_string();
        assert!(refusal.contains(words), "{refusal}, not {words}");
    }
    let two = forged(|_| {}, moved(&[("R1M1", 1, 1), ("R1M2", 2, 1)]));
    assert_eq!(two, Inconsistency::Given);
    let unknown = forged(|_| {}, moved(&[("R1M1", 9, 1)]));
    let stranger = Agent::Referee(referee(9));
    assert_eq!(unknown, Inconsistency::Unknown(stranger));
}

#[test]
fn audit_refuses_a_round_whose_matches_are_given_away() {
    let mut world = begun(4, 2, 1);
    let given = world.events.iter_mut().any(|event| match event {
        Event::RoundOpened { referees, .. } => {
            *referees = vec![referee(1), referee(2)];
            true
        }
        _ => false,
    });
    assert!(given);
    assert_eq!(world.audited().unwrap_err(), Inconsistency::Given);
}

#[test]
fn match_of_a_player_that_leaves_is_ruled_and_waits_no_more() {
    let mut world = begun(4, 1, 1);
    let [first, _] = world.fixture("R1M1").pairing().seats;
    let player_id = world.league.players()[first as usize].id().clone();
    world.pull(Lever::Withdraw { player_id }).unwrap();
    world.settle();
    assert_eq!(world.fixture("R1M1").stage(), FixtureStage::Finished);
    assert_eq!(waiting(&world), listed(&[("R1M2", 1)]));
    assert!(world.league.wakeup().is_some());
    world.check_journal();
}
