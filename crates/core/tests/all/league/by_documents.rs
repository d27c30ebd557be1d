//! Referees written by the documents alone: how they are recognised, and when their word counts.

use std::sync::Arc;

use league_core::league::{
    Applicant, Command, CorrelationId, Event, FixtureStage, LeagueRules, Lever, Refusal, Reply,
    ReportProblem,
};
use league_protocol::fault::Code;
use league_protocol::id::RefereeId;
use league_protocol::message::{
    Evidence, MatchResultReport, Message, RegisterResponse, RoundAnnouncement, StartMatch,
};
use league_protocol::sender::Agent;
use league_protocol::token::AuthToken;

use league_testkit::league::{LeagueWorld, candidate, order_correlation, rules};
use league_testkit::report::{ended, forfeited, honest};

/// A league of two players whose only referee answers our order as one that does not know it.
fn unaware() -> (LeagueWorld, RefereeId, StartMatch) {
    unaware_by(rules())
}

fn unaware_by(rules: LeagueRules) -> (LeagueWorld, RefereeId, StartMatch) {
    let mut world = LeagueWorld::begun_by(rules, 2, 1, 1);
    let (referee, order) = world.orders().remove(0);
    let order_sent = order_correlation(&referee, &order);
    world.hear(order_sent, Err(Code::InvalidMessage));
    (world, referee, order)
}

/// A report as §8.7.6 prints it.
fn told(report: MatchResultReport) -> MatchResultReport {
    let mut report = MatchResultReport {
        attempt: 1,
        order_token: None,
        game_over_told: None,
        ..report
    };
    let result = Arc::make_mut(&mut report.result);
    (result.draw, result.evidence) = (None, Evidence::default());
    result.details.remove("number_parity");
    report
}

fn won_by(order: &StartMatch, seat: usize) -> MatchResultReport {
    told(ended(order, Some(&order.players[seat].player_id)))
}

fn report(
    world: &mut LeagueWorld,
    referee: &RefereeId,
    report: MatchResultReport,
) -> (Vec<Event>, Result<Reply, Refusal>) {
    let command = world.report_command(referee, report);
    match world.when(&command) {
        Ok((events, reply)) => (events, Ok(reply)),
        Err(refusal) => (Vec::new(), Err(refusal)),
    }
}

fn is_recorded(world: &LeagueWorld) -> bool {
    world.fixture("R1M1").result().is_some()
}

fn announcement(messages: Vec<Message>) -> Option<Arc<RoundAnnouncement>> {
    let mut messages = messages.into_iter();
    messages.find_map(|message| match message {
        Message::RoundAnnouncement(round) => Some(round),
        _ => None,
    })
}

#[test]
fn unaware_referee_is_ordered_by_an_announcement_with_the_players_endpoints() {
    let (mut world, referee, order) = unaware();
    let agent = Agent::Referee(referee.clone());
    let round = announcement(world.letters_to(&agent)).unwrap();
    let row = round.matches.iter().next().unwrap();
    assert_eq!(row.match_id, order.match_id);
    assert_eq!(row.endpoint_a.as_ref(), Some(&order.players[0].endpoint));
    assert_eq!(row.endpoint_b.as_ref(), Some(&order.players[1].endpoint));
    assert_eq!(round.own, None);
    // The journal remembers it.
    world.restart();
    assert!(world.orders().is_empty());
    assert!(announcement(world.letters_to(&agent)).is_some());
}

#[test]
fn players_learn_the_hash_of_a_token_that_their_referee_may_show() {
    let mut world = LeagueWorld::begun(2, 1, 1);
    let (referee, order) = world.orders().remove(0);
    let player = Agent::Player(order.players[0].player_id.clone());
    let own = announcement(world.letters_to(&player))
        .unwrap()
        .own
        .clone()
        .unwrap();
    let shown = world.tokens[&Agent::Referee(referee)].hash();
    assert_eq!(own.referee_token, Some(shown));
}

#[test]
fn token_of_a_referee_that_made_a_pledge_is_never_told() {
    let mut world = LeagueWorld::new(rules());
    let mut pledged = world.candidate("Referee 1");
    pledged.request.token = Some(AuthToken::pledge(&[9; 32]));
    let referee = world.register_referee(pledged).id;
    for name in ["Player 1", "Player 2"] {
        world.admit_player(name);
    }
    world.when(&Command::pull(Lever::Start)).unwrap();
    world.settle();
    let (_, order) = world.orders().remove(0);
    let player = Agent::Player(order.players[0].player_id.clone());
    let own = announcement(world.letters_to(&player))
        .unwrap()
        .own
        .clone()
        .unwrap();
    assert_eq!(own.referee_token, None);
    // Nor is its refusal taken for ignorance.
    world.hear(
        order_correlation(&referee, &order),
        Err(Code::InvalidMessage),
    );
    assert_eq!(world.league.exposed_referees().count(), 0);
}

#[test]
fn told_result_is_recorded_after_a_while_and_opens_no_seed() {
    let (mut world, referee, order) = unaware();
    let (events, reply) = report(&mut world, &referee, won_by(&order, 0));
    assert!(
        matches!(events[..], [Event::ResultTold { .. }]),
        "{events:?}"
    );
    assert_eq!(reply, Ok(Reply::Acknowledged));
    assert!(!is_recorded(&world));
    // It survives a restart, and the same again changes nothing.
    world.restart();
    world.settle();
    let (events, reply) = report(&mut world, &referee, won_by(&order, 0));
    assert_eq!((events, reply), (Vec::new(), Ok(Reply::Acknowledged)));
    world.pass(3);
    let result = world.fixture("R1M1").result().unwrap().clone();
    assert_eq!(result.draw, None);
    assert_eq!(result.winner.as_ref(), Some(&order.players[0].player_id));
    assert!(result.details.contains_key("number_parity"), "{result:?}");
    assert_eq!(world.league.told_results(), 1);
    assert!(world.league.is_over());
    world.audited().unwrap();
}

#[test]
fn report_from_another_machine_is_refused() {
    let (mut world, referee, order) = unaware();
    let mut command = world.report_command(&referee, won_by(&order, 0));
    if let Command::Report { is_at_address, .. } = &mut command {
        *is_at_address = false;
    }
    let refusal = world.when(&command).unwrap_err();
    assert_eq!(refusal, Refusal::OtherMachine(referee));
    assert_eq!(refusal.code(), Code::TokenInvalid);
    world.pass(3);
    assert!(!is_recorded(&world));
}

#[test]
fn report_of_a_match_that_is_not_open_there_is_refused() {
    let mut world = LeagueWorld::begun(4, 2, 1);
    let orders = world.orders();
    let [(first, own), (_, other)] = &orders[..] else {
        panic!("{orders:?}")
    };
    world.hear(order_correlation(first, own), Err(Code::InvalidMessage));
    let (events, reply) = report(&mut world, first, won_by(other, 0));
    assert_eq!(reply, Err(Refusal::NotYours(other.match_id.clone())));
    assert!(events.is_empty());
    // One that was taken from it is not open there either.
    let agent = Agent::Referee(first.clone());
    for _ in 0..20 {
        world.pass(5);
        if world.league.referee(first).unwrap().running() == 0 {
            break;
        }
    }
    assert_eq!(world.league.referee(first).unwrap().running(), 0, "{agent}");
    let (_, reply) = report(&mut world, first, won_by(own, 0));
    assert_eq!(reply, Err(Refusal::TakenAway(own.match_id.clone())));
}

#[test]
fn two_differing_reports_stop_the_match_until_a_referee_proves_its_draw() {
    let (mut world, referee, order) = unaware();
    let _ = report(&mut world, &referee, won_by(&order, 0));
    let (_, reply) = report(&mut world, &referee, won_by(&order, 1));
    assert_eq!(reply, Err(Refusal::Contested(order.match_id.clone())));
    let written = world.events.len();
    world.pass(60);
    assert!(!is_recorded(&world));
    let moved = |event: &Event| matches!(event, Event::MatchesMoved { .. });
    assert!(
        !world.events[written..].iter().any(moved),
        "it goes back to nobody"
    );
    // The organiser lets another referee in.
    let other = world.invite_referee("Other", 1);
    world.settle();
    let (taker, again) = world.orders().remove(0);
    assert_eq!((&taker, again.attempt), (&other, 2));
    world.answer_order(&taker, &again, true);
    world.report(&taker, honest(&again)).unwrap();
    world.settle();
    assert!(world.league.is_over());
    assert_eq!(world.league.told_results(), 0);
    world.audited().unwrap();
}

#[test]
fn differing_report_after_the_result_is_noted_and_changes_nothing() {
    let (mut world, referee, order) = unaware();
    let _ = report(&mut world, &referee, won_by(&order, 0));
    world.pass(3);
    let before = world.fixture("R1M1").result().cloned();
    let (_, reply) = report(&mut world, &referee, won_by(&order, 1));
    assert_eq!(reply, Err(Refusal::Conflict(order.match_id.clone())));
    assert_eq!(world.fixture("R1M1").result().cloned(), before);
    let conflicts = world
        .journal()
        .filter(|event| matches!(event, Event::ReportConflicted { .. }));
    assert_eq!(conflicts.count(), 1);
}

#[test]
fn told_result_that_no_draw_leads_to_is_refused_and_costs_nothing() {
    let (mut world, referee, order) = unaware();
    for (number, problem) in [(11, ReportProblem::End), (0, ReportProblem::End)] {
        let mut bad = won_by(&order, 0);
        let result = Arc::make_mut(&mut bad.result);
        result.details.insert("drawn_number".into(), number.into());
        let match_id = order.match_id.clone();
        let (_, reply) = report(&mut world, &referee, bad);
        assert_eq!(
            reply,
            Err(Refusal::BadReport { match_id, problem }),
            "{number}"
        );
    }
    // The match is still open there, and the truth counts.
    let (_, reply) = report(&mut world, &referee, won_by(&order, 1));
    assert_eq!(reply, Ok(Reply::Acknowledged));
}

#[test]
fn told_absence_is_doubted_as_any_other() {
    let (mut world, referee, order) = unaware();
    world.players_answer = false;
    let absent = told(forfeited(&order, &[(0, Code::Timeout)]));
    let (_, reply) = report(&mut world, &referee, absent);
    assert_eq!(reply, Err(Refusal::AskingPlayer(order.match_id.clone())));
    let asked = world
        .letters
        .iter()
        .find_map(|letter| match &letter.correlation {
            Some(asked @ CorrelationId::CallQuery(_)) => Some(asked.clone()),
            _ => None,
        });
    let events = world.hear(asked.unwrap(), Err(Code::Timeout));
    assert!(
        matches!(events[..], [Event::ResultTold { .. }]),
        "{events:?}"
    );
    world.pass(3);
    assert!(is_recorded(&world));
    world.audited().unwrap();
}

#[test]
fn leagues_of_proven_draws_refuse_a_told_result_and_say_so() {
    let strict = LeagueRules {
        strict: true,
        ..rules()
    };
    let proven = LeagueRules {
        proven_draws: true,
        ..rules()
    };
    for rules in [strict, proven] {
        let mut world = LeagueWorld::begun_by(rules.clone(), 2, 1, 1);
        let (referee, order) = world.orders().remove(0);
        let (_, reply) = report(&mut world, &referee, won_by(&order, 0));
        let refusal = reply.unwrap_err();
        assert_eq!(refusal, Refusal::ToldDraw(order.match_id.clone()));
        assert!(
            refusal.to_string().contains("counts proven draws only"),
            "{refusal}"
        );
        let (world, ..) = unaware_by(rules);
        assert_eq!(world.league.exposed_referees().count(), 0);
    }
}

#[test]
fn exposed_token_lets_nobody_return_in_the_referees_name() {
    let (mut world, referee, _) = unaware();
    let mut applicant = candidate("Referee 1", 77);
    applicant.request.token = Some(world.tokens[&Agent::Referee(referee)].clone());
    let register = |world: &mut LeagueWorld, applicant| {
        let (_, reply) = world.when(&Command::RegisterReferee(applicant)).unwrap();
        matches!(reply, Reply::Referee(RegisterResponse::Accepted(_)))
    };
    assert!(!register(&mut world, applicant.clone()));
    // While it is suspended its own machine speaks for it, and no other.
    for _ in 0..20 {
        world.pass(5);
    }
    let elsewhere = Applicant {
        is_at_address: false,
        ..applicant.clone()
    };
    assert!(!register(&mut world, elsewhere));
    assert!(register(&mut world, applicant));
}

#[test]
fn audit_finds_a_told_result_of_a_referee_that_knows_our_orders() {
    let (mut world, referee, order) = unaware();
    let _ = report(&mut world, &referee, won_by(&order, 0));
    world.pass(3);
    world
        .events
        .retain(|event| !matches!(event, Event::RefereeByDocuments { .. }));
    assert!(world.audited().is_err());
}

#[test]
fn order_that_was_under_way_costs_an_unaware_referee_nothing() {
    let mut world = LeagueWorld::begun(4, 1, 2);
    let orders = world.orders();
    for (referee, order) in &orders {
        let sent = order_correlation(referee, order);
        world.hear(sent, Err(Code::InvalidMessage));
    }
    let (referee, order) = &orders[1];
    let assigned = CorrelationId::Assignment {
        match_id: order.match_id.clone(),
        attempt: 1,
        referee: referee.clone(),
    };
    world.hear(assigned, Ok(Message::Acknowledged));
    assert_eq!(world.fixture("R1M2").attempt(), 1);
    assert_eq!(world.fixture("R1M2").stage(), FixtureStage::Running);
    // A player that comes back does not make it begin the match once more.
    let agent = Agent::Referee(referee.clone());
    world.letters_to(&agent);
    let back = changed_token(&mut world, order);
    world.when(&Command::RegisterPlayer(back)).unwrap();
    let again = world
        .letters_to(&agent)
        .into_iter()
        .filter_map(|message| match message {
            Message::RoundAnnouncement(round) => {
                Some(round.matches.iter().next().unwrap().match_id.clone())
            }
            _ => None,
        });
    assert!(!again.into_iter().any(|match_id| match_id == order.match_id));
}

/// A player of a match that comes back with its token, from another address of its own.
fn changed_token(world: &mut LeagueWorld, order: &StartMatch) -> Applicant {
    let player = &order.players[0].player_id;
    let name = world
        .league
        .player(player)
        .unwrap()
        .member()
        .display_name()
        .to_string();
    let mut back = world.candidate(&name);
    back.request.token = Some(world.tokens[&Agent::Player(player.clone())].clone());
    back.request.meta.version = "1.0.1".to_owned();
    back
}

#[test]
fn referee_that_knows_no_announcement_either_loses_its_match() {
    let (mut world, referee, order) = unaware();
    let assigned = CorrelationId::Assignment {
        match_id: order.match_id.clone(),
        attempt: 1,
        referee,
    };
    let events = world.hear(assigned, Err(Code::InvalidMessage));
    let moved = |event: &Event| matches!(event, Event::MatchesMoved { .. });
    assert!(events.iter().any(moved), "{events:?}");
}
