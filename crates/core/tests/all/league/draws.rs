//! Moves are handed over before their seed is given, and decide the match from then on.

use std::sync::Arc;

use league_core::draw::{self, keeps_promise, proof_key as key_of};
use league_core::league::{
    AgentState, Command, CorrelationId, Event, Inconsistency, Refusal, Reply, ReportProblem,
};
use league_core::letter::Credential;
use league_core::machine::Machine;
use league_protocol::fault::Code;
use league_protocol::id::{PlayerId, RefereeId};
use league_protocol::message::{
    GameOver, MatchResult, MatchResultReport, MatchStatus, Message, SignedMove, StartMatch,
};
use league_protocol::secret::{Proof, Seed};
use league_protocol::sender::Agent;
use league_protocol::token::AuthToken;
use serde_json::json;

use league_testkit::league::{LeagueWorld, SECRET, draw_request, rules};
use league_testkit::report::{forfeited, moves, played, proof_key, sign, signed};

/// What is changed, and what is wrong then.
type Change<T> = (fn(&mut T), ReportProblem);

/// A match that is ordered, and the report of it if the first player chooses even.
fn ordered(world: &mut LeagueWorld) -> (RefereeId, StartMatch, MatchResultReport) {
    let (referee, order) = world.orders().remove(0);
    let report = played(&order, [json!("even"), json!("odd")]);
    (referee, order.clone(), signed(report, &order, &[0, 1]))
}

fn signing() -> (LeagueWorld, RefereeId, StartMatch, MatchResultReport) {
    let mut world = LeagueWorld::begun_signing(2, 2, 1);
    let (referee, order, report) = ordered(&mut world);
    (world, referee, order, report)
}

fn hand_over(
    world: &mut LeagueWorld,
    (referee, order): (&RefereeId, &StartMatch),
    report: &MatchResultReport,
) -> Seed {
    let moves = &report.result.evidence.moves;
    let (events, answer) = world.request_draw(referee, order, moves);
    assert!(matches!(events[..], [Event::MovesReceived { .. }]));
    given(answer)
}

fn given(answer: Result<Reply, Refusal>) -> Seed {
    match answer {
        Ok(Reply::Draw(response)) => response.seed,
        other => panic!("{other:?}"),
    }
}

/// The referees of a league fall silent, so that each loses its matches.
fn silence(world: &mut LeagueWorld) {
    for _ in 0..4 {
        world.pass(5);
    }
}

fn results(world: &LeagueWorld) -> Vec<(Option<RefereeId>, Arc<MatchResult>)> {
    let recorded = world.events.iter().filter_map(|event| match event {
        Event::ResultRecorded {
            referee, result, ..
        } => Some((referee.clone(), Arc::clone(result))),
        _ => None,
    });
    recorded.collect()
}

fn check_journal(world: &LeagueWorld) {
    world.audited().unwrap();
    assert_eq!(
        world.replayed().after_restart(),
        world.league.after_restart()
    );
}

#[test]
fn seed_is_given_with_the_fact_that_holds_the_moves() {
    let (mut world, referee, order, report) = signing();
    let seed = hand_over(&mut world, (&referee, &order), &report);
    let of_match = SECRET.seed(&order.league_id, &order.match_id);
    assert_eq!(seed, draw::roll_seed(&of_match, 1, 0));
    assert_ne!(seed, of_match, "that one stays hidden until the result");
    let Some(Event::MovesReceived { moves, last, .. }) = world.events.last() else {
        panic!("{:?}", world.events);
    };
    assert!(*last && *moves == report.result.evidence.moves);
    let letters = format!("{:?}", world.letters);
    assert!(!letters.contains(&seed.to_hex()) && !letters.contains(&of_match.to_hex()));
    check_journal(&world);
}

#[test]
fn same_request_gets_the_same_seed() {
    let (mut world, referee, order, report) = signing();
    let seed = hand_over(&mut world, (&referee, &order), &report);
    let moves = report.result.evidence.moves.clone();
    for _ in 0..2 {
        let (events, answer) = world.request_draw(&referee, &order, &moves);
        assert!(events.is_empty());
        assert_eq!(given(answer), seed);
        world.report(&referee, report.clone()).unwrap();
    }
    let mut again = LeagueWorld::new(rules());
    again.tokens.clone_from(&world.tokens);
    again.events = world.journal().cloned().collect();
    let recorded = |event: &Event| matches!(event, Event::ResultRecorded { .. });
    again
        .events
        .truncate(again.events.iter().position(recorded).unwrap());
    again.restart();
    assert_eq!(given(again.request_draw(&referee, &order, &moves).1), seed);
}

#[test]
fn other_choices_for_the_same_roll_are_refused_and_the_first_stand() {
    let (mut world, referee, order, report) = signing();
    hand_over(&mut world, (&referee, &order), &report);
    let other = signed(
        played(&order, [json!("odd"), json!("even")]),
        &order,
        &[0, 1],
    );
    let (events, answer) = world.request_draw(&referee, &order, &other.result.evidence.moves);
    let refusal = answer.unwrap_err();
    assert_eq!(refusal, Refusal::OtherMoves(order.match_id.clone()));
    assert_eq!(refusal.code(), Code::OutOfTurn);
    assert!(matches!(events[0], Event::ReportConflicted { .. }));
    world.settle();
    let [(None, result)] = &results(&world)[..] else {
        panic!("{:?}", results(&world));
    };
    assert_eq!(result.choices, report.result.choices);
    check_journal(&world);
}

#[test]
fn request_and_report_need_the_token_of_their_order() {
    let (mut world, referee, order, report) = signing();
    let codes = [
        (None, Code::TokenMissing),
        (Some(AuthToken::new("guess")), Code::TokenInvalid),
        (
            Some(world.tokens[&Agent::Referee(referee.clone())].clone()),
            Code::TokenInvalid,
        ),
    ];
    for (token, code) in codes {
        let mut request = draw_request(&order, &report.result.evidence.moves);
        request.order_token.clone_from(&token);
        let mut report = report.clone();
        report.order_token = token;
        for command in [
            world.draw_command(&referee, &request),
            world.report_command(&referee, report),
        ] {
            let decision = world.league.decide(world.now, &command);
            assert!(decision.events.is_empty());
            let error = decision.answer.unwrap_err().to_league_error();
            assert_eq!(
                (error.code, error.path.as_deref()),
                (code, Some("order_token"))
            );
        }
    }
    let second = RefereeId::numbered(2);
    let foreign = world.draw_command(&second, &draw_request(&order, &[]));
    let refusal = world.when(&foreign).unwrap_err();
    assert_eq!(refusal, Refusal::NotYours(order.match_id.clone()));
}

#[test]
fn order_token_of_an_earlier_attempt_is_refused() {
    let mut world = LeagueWorld::begun_signing(2, 1, 1);
    let (referee, order, _) = ordered(&mut world);
    world.fail_order(&referee, &order);
    world.pass(5);
    let (same, again, report) = ordered(&mut world);
    assert_eq!((same, again.attempt), (referee.clone(), 2));
    let mut stale = report.clone();
    stale.order_token = Some(order.order_token.clone());
    let command = world.report_command(&referee, stale);
    assert_eq!(
        world.when(&command).unwrap_err(),
        Refusal::OrderTokenInvalid(order.match_id.clone())
    );
    let old = Refusal::OldAttempt {
        match_id: order.match_id.clone(),
        current: 2,
        found: 1,
    };
    let moves = &report.result.evidence.moves;
    let (_, answer) = world.request_draw(&referee, &order, moves);
    assert_eq!(answer.unwrap_err(), old);
    world.report(&referee, report).unwrap();
    check_journal(&world);
}

#[test]
fn moves_that_do_not_reach_a_roll_are_refused() {
    let changes: [Change<Vec<SignedMove>>; 5] = [
        (|moves| drop(moves.pop()), ReportProblem::NoDraw),
        (Vec::clear, ReportProblem::NoDraw),
        (
            |moves| moves[1].choice = json!("both"),
            ReportProblem::Choices,
        ),
        (
            |moves| {
                let twice = moves[0].clone();
                moves.push(twice);
            },
            ReportProblem::Choices,
        ),
        (
            |moves| moves[1].player_id = PlayerId::numbered(9),
            ReportProblem::Choosers,
        ),
    ];
    for (change, problem) in changes {
        let mut world = LeagueWorld::begun(2, 2, 1);
        let (referee, order) = world.orders().remove(0);
        let mut moves = moves(&order, &[json!("even"), json!("odd")]);
        change(&mut moves);
        let (events, answer) = world.request_draw(&referee, &order, &moves);
        let Err(Refusal::BadMoves { problem: found, .. }) = answer else {
            panic!("{answer:?}");
        };
        assert_eq!(found, problem);
        assert!(
            matches!(
                events[..],
                [
                    Event::ReportRefused { .. },
                    Event::AgentFailed { .. },
                    Event::MatchesMoved { .. }
                ]
            ),
            "{events:?}"
        );
        check_journal(&world);
    }
}

#[test]
fn forged_move_is_refused() {
    let forgeries: [fn(&StartMatch, &mut SignedMove); 5] = [
        |_, made| made.choice = json!("odd"),
        |_, made| made.nonce = Some("other".to_owned()),
        |_, made| made.proof = None,
        |_, made| made.proof = Some(Proof([7; 32])),
        |order, made| {
            // Signed in an attempt that is to come.
            let token =
                SECRET.return_token(&order.league_id, &Agent::Player(PlayerId::numbered(1)));
            let key = key_of(&token, &order.league_id, &order.match_id, 2);
            made.proof = Some(draw::proof(
                &key,
                1,
                [],
                &made.choice,
                made.nonce.as_deref(),
            ));
        },
    ];
    for forge in forgeries {
        let (mut world, referee, order, report) = signing();
        let mut moves = report.result.evidence.moves.clone();
        forge(&order, &mut moves[0]);
        let (_, answer) = world.request_draw(&referee, &order, &moves);
        let problem = ReportProblem::Proof(PlayerId::numbered(1));
        let match_id = order.match_id.clone();
        assert_eq!(answer, Err(Refusal::BadMoves { match_id, problem }));
        assert_eq!(world.fixture("R1M1").attempt(), 2);
        check_journal(&world);
    }
}

#[test]
fn player_whose_proofs_are_wrong_twice_loses_the_match() {
    let mut world = LeagueWorld::begun_signing(2, 2, 1);
    for _ in 0..2 {
        let (referee, order, report) = ordered(&mut world);
        let mut moves = report.result.evidence.moves.clone();
        moves[1].proof = None;
        let (_, answer) = world.request_draw(&referee, &order, &moves);
        assert!(matches!(answer, Err(Refusal::BadMoves { .. })));
    }
    world.settle();
    let [(None, result)] = &results(&world)[..] else {
        panic!("{:?}", results(&world));
    };
    assert_eq!(result.status, MatchStatus::TechnicalLoss);
    let loser = PlayerId::numbered(2);
    assert_eq!(result.failed.get(&loser), Some(&Code::InvalidMove));
    assert_eq!(result.winner, Some(PlayerId::numbered(1)));
    check_journal(&world);
}

#[test]
fn referee_that_tells_wrong_proofs_of_two_players_is_set_aside() {
    let mut world = LeagueWorld::begun_signing(4, 2, 2);
    let first = RefereeId::numbered(1);
    let state = |world: &LeagueWorld| {
        let referee = world.league.referee(&first).unwrap();
        world.league.referee_state(referee)
    };
    let honest = |order: &StartMatch| {
        let report = played(order, [json!("even"), json!("odd")]);
        signed(report, order, &[0, 1])
    };
    let mut accused: Vec<PlayerId> = Vec::new();
    for _ in 0..2 {
        assert_eq!(state(&world), AgentState::Active, "{accused:?}");
        for (referee, order) in world.orders() {
            let report = honest(&order);
            if referee != first {
                world.report(&referee, report).unwrap();
                continue;
            }
            let mut moves = report.result.evidence.moves.clone();
            let wrong = moves
                .iter_mut()
                .find(|made| !accused.contains(&made.player_id));
            let wrong = wrong.unwrap();
            wrong.proof = None;
            accused.push(wrong.player_id.clone());
            let (_, answer) = world.request_draw(&referee, &order, &moves);
            assert!(matches!(answer, Err(Refusal::BadMoves { .. })));
            let (other, again) = world.order(order.match_id.as_str());
            assert_ne!(other, first);
            world.report(&other, honest(&again)).unwrap();
        }
        world.settle();
    }
    assert_eq!(accused.len(), 2);
    assert_eq!(state(&world), AgentState::Suspended);
    check_journal(&world);
}

#[test]
fn wrong_proofs_told_by_the_only_referee_cost_the_match_at_the_fourth_time() {
    let mut world = LeagueWorld::begun_signing(2, 1, 1);
    for attempt in 1..=4 {
        assert!(results(&world).is_empty(), "before attempt {attempt}");
        let (referee, order, report) = ordered(&mut world);
        assert_eq!(order.attempt, attempt);
        let mut moves = report.result.evidence.moves.clone();
        moves[1].proof = None;
        let (events, answer) = world.request_draw(&referee, &order, &moves);
        assert!(matches!(answer, Err(Refusal::BadMoves { .. })));
        let blames = |event: &Event| matches!(event, Event::AgentFailed { .. });
        assert!(!events.iter().any(blames), "the referee cannot check them");
        // A match that goes back waits for a moment.
        world.pass(60);
    }
    assert_eq!(results(&world).len(), 1);
    check_journal(&world);
}

#[test]
fn manager_records_the_result_if_the_referee_dies_after_the_hand_over() {
    let (mut world, referee, order, report) = signing();
    world.answer_order(&referee, &order, true);
    hand_over(&mut world, (&referee, &order), &report);
    world.letters.clear();
    silence(&mut world);
    let [(None, result)] = &results(&world)[..] else {
        panic!("{:?}", results(&world));
    };
    let told = &report.result;
    assert_eq!(
        (&result.status, &result.winner),
        (&told.status, &told.winner)
    );
    assert_eq!(
        (&result.points, &result.details),
        (&told.points, &told.details)
    );
    assert_eq!(
        (&result.choices, &result.reason),
        (&told.choices, &told.reason)
    );
    assert!(keeps_promise(
        &order.league_id,
        &order.match_id,
        result.draw.as_ref().unwrap()
    ));
    assert!(world.orders().is_empty(), "there is no further attempt");
    assert_eq!(world.fixture("R1M1").attempt(), 1);
    let over = game_over(&world);
    let tokens = order.players.map(|player| player.match_token);
    assert!(over.iter().map(|(_, token)| token).eq(&tokens));
    assert!(over.iter().all(|(over, _)| over.result == *result));
    assert_eq!(world.league.matches_played(), 1);
    check_journal(&world);
    world.restart();
    assert_eq!(game_over(&world), over, "a restart tells it again");
}

/// The ends of matches that the manager tells, with the tokens that prove them.
fn game_over(world: &LeagueWorld) -> Vec<(GameOver, AuthToken)> {
    let told =
        world
            .letters
            .iter()
            .filter_map(|letter| match (&letter.message, &letter.credential) {
                (Message::GameOver(over), Credential::Match(token)) => {
                    Some(((**over).clone(), token.clone()))
                }
                _ => None,
            });
    told.collect()
}

#[test]
fn each_way_to_lose_a_match_after_the_hand_over_keeps_its_result() {
    let ways: [fn(&mut LeagueWorld, &RefereeId, &StartMatch); 5] = [
        |world, referee, order| drop(world.fail_order(referee, order)),
        |world, referee, order| drop(world.answer_order(referee, order, false)),
        |world, referee, order| {
            // A report of something else.
            let report = forfeited(order, &[(0, Code::Timeout)]);
            let (_, refusal) = world.report_refused(referee, report);
            let problem = ReportProblem::HandedOver;
            let match_id = order.match_id.clone();
            assert_eq!(refusal, Refusal::BadReport { match_id, problem });
        },
        |world, referee, order| {
            let report = played(order, [json!("odd"), json!("odd")]);
            let report = signed(report, order, &[]);
            world.report_refused(referee, report);
        },
        |world, referee, order| {
            world.answer_order(referee, order, true);
            let limit = world.league.rules().match_limit.as_secs();
            for _ in 0..=limit / 5 {
                world.pass(5);
                let probe = CorrelationId::Probe(Agent::Referee(referee.clone()));
                world.hear(probe, Ok(Message::Acknowledged));
            }
        },
    ];
    for (number, lose) in ways.into_iter().enumerate() {
        let (mut world, referee, order, report) = signing();
        hand_over(&mut world, (&referee, &order), &report);
        lose(&mut world, &referee, &order);
        world.settle();
        let [(None, result)] = &results(&world)[..] else {
            panic!("{number}: {:?}", results(&world));
        };
        assert_eq!(result.winner, report.result.winner, "{number}");
        assert_eq!(world.fixture("R1M1").attempt(), 1);
        let late = world.report_command(&referee, report);
        let taken = Refusal::TakenAway(order.match_id.clone());
        assert_eq!(world.when(&late).unwrap_err(), taken);
        check_journal(&world);
    }
}

#[test]
fn referee_that_dies_before_the_hand_over_leaves_a_new_attempt() {
    let (mut world, referee, order, _) = signing();
    world.answer_order(&referee, &order, true);
    silence(&mut world);
    assert!(results(&world).is_empty());
    let (other, again, report) = ordered(&mut world);
    assert_ne!(referee, other);
    assert_eq!((again.attempt, again.handed_over.clone()), (2, None));
    let old = order.players.map(|player| player.match_token);
    let new = again.players.clone().map(|player| player.match_token);
    assert!(old[0] != new[0] && old[1] != new[1]);
    let seed = hand_over(&mut world, (&other, &again), &report);
    let of_match = SECRET.seed(&order.league_id, &order.match_id);
    assert_eq!(seed, draw::roll_seed(&of_match, 2, 0));
    world.report(&other, report).unwrap();
    check_journal(&world);
}

#[test]
fn restarted_referee_is_given_what_it_handed_over() {
    let (mut world, referee, order, report) = signing();
    let seed = hand_over(&mut world, (&referee, &order), &report);
    let token = world.tokens[&Agent::Referee(referee.clone())].clone();
    let mut back = world.candidate("Referee 1");
    back.request.token = Some(token);
    world.when(&Command::RegisterReferee(back)).unwrap();
    let (_, again) = world.orders().remove(0);
    let handed = again.handed_over.unwrap();
    assert_eq!((handed.attempt, handed.seeds), (1, vec![seed]));
    assert_eq!(handed.moves, report.result.evidence.moves);
}

#[test]
fn played_match_without_a_hand_over_is_refused() {
    let (mut world, referee, order, report) = signing();
    let command = world.report_command(&referee, report);
    let problem = ReportProblem::NotHandedOver;
    let match_id = order.match_id.clone();
    let refusal = world.when(&command).unwrap_err();
    assert_eq!(refusal, Refusal::BadReport { match_id, problem });
    assert_eq!(world.fixture("R1M1").attempt(), 2);
}

#[test]
fn report_must_agree_with_the_hand_over() {
    let changes: [Change<MatchResult>; 4] = [
        (
            |result| result.evidence.moves.reverse(),
            ReportProblem::HandedOver,
        ),
        (
            |result| result.evidence.moves[0].nonce = None,
            ReportProblem::HandedOver,
        ),
        (
            |result| result.draw.as_mut().unwrap().nonces[1] = "more".to_owned(),
            ReportProblem::Draw,
        ),
        (|result| result.winner = None, ReportProblem::Winner),
    ];
    for (change, problem) in changes {
        let (mut world, referee, order, mut report) = signing();
        hand_over(&mut world, (&referee, &order), &report);
        change(Arc::make_mut(&mut report.result));
        let (_, refusal) = world.report_refused(&referee, report);
        let match_id = order.match_id.clone();
        assert_eq!(refusal, Refusal::BadReport { match_id, problem });
    }
}

#[test]
fn result_opens_the_seed_and_the_keys() {
    let (mut world, referee, order, report) = signing();
    let (_, reply) = world.report(&referee, report.clone()).unwrap();
    let Reply::Opened(ack) = reply else {
        panic!("{reply:?}");
    };
    let [(Some(_), result)] = &results(&world)[..] else {
        panic!("{:?}", results(&world));
    };
    let opened = result.draw.as_ref().unwrap();
    assert!(keeps_promise(&order.league_id, &order.match_id, opened));
    assert_eq!(opened.seed, Some(ack.seed));
    assert_eq!(result.evidence.players, ack.players);
    for (seat, known) in ack.players.iter().enumerate() {
        let key = proof_key(&order, &report.result.players[seat]);
        assert_eq!(known.key, Some(key));
        assert_eq!(known.join, Some(draw::join_proof(&key)));
    }
    assert_eq!(result.evidence.moves, report.result.evidence.moves);
    check_journal(&world);
}

#[test]
fn referee_that_lost_its_order_token_learns_that_its_result_stands() {
    let (mut world, referee, _, report) = signing();
    let (_, reply) = world.report(&referee, report.clone()).unwrap();
    let forgetful = MatchResultReport {
        order_token: None,
        ..report.clone()
    };
    let command = world.report_command(&referee, forgetful);
    assert_eq!(world.when(&command).unwrap(), (Vec::new(), reply));
    let mut other = MatchResultReport {
        order_token: None,
        ..report
    };
    Arc::make_mut(&mut other.result).reason = "other".to_owned();
    let command = world.report_command(&referee, other);
    let refusal = world.when(&command).unwrap_err();
    assert_eq!(refusal.code(), Code::TokenMissing);
}

#[test]
fn move_of_a_player_that_does_not_sign_counts_as_the_referee_tells_it() {
    let mut world = LeagueWorld::begun_with(rules(), 2, 1, 1, |player| {
        player.request.meta.proofs = player.request.meta.display_name == "Player 1";
    });
    let (referee, order) = world.orders().remove(0);
    let mut report = played(&order, [json!("even"), json!("odd")]);
    let result = Arc::make_mut(&mut report.result);
    sign(&order, &mut result.evidence.moves[..1]);
    world.report(&referee, report).unwrap();
    let [(Some(_), result)] = &results(&world)[..] else {
        panic!("{:?}", results(&world));
    };
    assert_eq!(result.evidence.players.len(), 1, "one key is opened");
    assert_eq!(result.evidence.moves[1].proof, None, "and this is marked");
    check_journal(&world);
}

/// Changes a journal in which the referee died after the hand-over.
fn tampered(change: impl Fn(&mut Event) -> bool) -> Inconsistency {
    let (mut world, referee, order, report) = signing();
    world.answer_order(&referee, &order, true);
    hand_over(&mut world, (&referee, &order), &report);
    silence(&mut world);
    let changed = world.events.iter_mut().any(change);
    assert!(changed, "nothing was changed");
    world.audited().unwrap_err()
}

#[test]
fn audit_finds_a_further_attempt_after_the_moves_that_decide() {
    let moved =
        |event: &mut Event, change: &dyn Fn(&mut league_core::league::Reassignment)| match event {
            Event::MatchesMoved { moves, .. } => {
                change(&mut moves[0]);
                true
            }
            _ => false,
        };
    let attempt = tampered(|event| moved(event, &|moved| moved.attempt += 1));
    assert!(matches!(attempt, Inconsistency::Fixed(_)), "{attempt}");
    let referee = tampered(|event| {
        moved(event, &|moved| moved.to = Some(RefereeId::numbered(2)));
        matches!(event, Event::MatchesMoved { .. })
    });
    assert!(matches!(referee, Inconsistency::Fixed(_)), "{referee}");
    let undecided = tampered(|event| match event {
        Event::MovesReceived { last, .. } => {
            *last = false;
            true
        }
        _ => false,
    });
    assert!(matches!(undecided, Inconsistency::Ruling(_)), "{undecided}");
}

#[test]
fn audit_finds_moves_that_were_changed() {
    let handed = |change: fn(&mut Vec<SignedMove>)| {
        tampered(move |event| match event {
            Event::MovesReceived { moves, .. } => {
                change(moves);
                true
            }
            _ => false,
        })
    };
    let illegal = handed(|moves| moves[0].choice = json!("both"));
    assert!(matches!(illegal, Inconsistency::Moves { .. }), "{illegal}");
    let short = handed(|moves| drop(moves.pop()));
    assert!(matches!(short, Inconsistency::Moves { .. }), "{short}");
    let other = handed(|moves| moves[0].choice = json!("odd"));
    assert!(matches!(other, Inconsistency::Ruling(_)), "{other}");
    let result = |change: fn(&mut MatchResult)| {
        tampered(move |event| match event {
            Event::ResultRecorded { result, .. } => {
                change(Arc::make_mut(result));
                true
            }
            _ => false,
        })
    };
    let proof = |problem| {
        matches!(
            problem,
            Inconsistency::Result {
                problem: ReportProblem::Proof(_),
                ..
            }
        )
    };
    assert!(proof(result(|result| {
        result.evidence.players[0].key.as_mut().unwrap().0[0] ^= 1;
    })));
    assert!(proof(result(|result| result.evidence.players.clear())));
    assert!(proof(result(|result| {
        result.evidence.players[1].join = Some(Proof([1; 32]));
    })));
}
