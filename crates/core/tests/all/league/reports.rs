//! Which reports are accepted, from which referee, and how often.

use std::sync::Arc;
use std::time::Duration;

use league_core::league::{
    Command, Event, FixtureStage, LeagueRules, Refusal, Reply, ReportProblem,
};
use league_protocol::fault::Code;
use league_protocol::id::{MatchId, PlayerId, RefereeId};
use league_protocol::sender::Agent;
use league_protocol::token::{AuthToken, TokenHash};

use league_testkit::league::{LeagueWorld, SECRET, request_of, rules};
use league_testkit::report::{forfeited, honest, played};
use serde_json::json;

fn refused(world: &LeagueWorld, command: &Command) -> (Refusal, Code) {
    use league_core::machine::Machine;
    let decision = world.league.decide(world.now, command);
    assert!(decision.events.is_empty(), "{:?}", decision.events);
    let refusal = decision.answer.unwrap_err();
    let code = refusal.to_league_error().code;
    (refusal, code)
}

/// Reports the first match under this token and name; gives why it is refused.
fn turned_away(token: Option<TokenHash>, sender: Option<Agent>) -> (Refusal, Code) {
    let mut world = LeagueWorld::begun(4, 2, 1);
    let (_, order) = world.orders().remove(0);
    let command = Command::Report {
        token,
        sender,
        report: Arc::new(honest(&order)),
        is_at_address: true,
    };
    refused(&world, &command)
}

#[test]
fn each_authentication_failure_has_its_code() {
    let world = LeagueWorld::begun(4, 2, 1);
    let token = |agent: &Agent| Some(world.tokens[agent].hash());
    let first = Agent::Referee(RefereeId::numbered(1));
    let second = Agent::Referee(RefereeId::numbered(2));
    let player = Agent::Player(PlayerId::numbered(1));
    let void = Some(TokenHash::of("tok-ref01-0000"));

    let missing = (Refusal::TokenMissing, Code::TokenMissing);
    assert_eq!(turned_away(None, Some(first.clone())), missing);
    assert_eq!(turned_away(None, None), missing);

    let invalid = (Refusal::TokenInvalid, Code::TokenInvalid);
    assert_eq!(turned_away(void, Some(first.clone())), invalid);
    assert_eq!(turned_away(token(&second), Some(first.clone())), invalid);
    assert_eq!(turned_away(token(&first), Some(player.clone())), invalid);
    assert_eq!(turned_away(token(&first), Some(Agent::Manager)), invalid);

    let no_referee = (Refusal::NotAReferee, Code::TokenInvalid);
    assert_eq!(turned_away(token(&player), Some(player)), no_referee);
}

#[test]
fn unknown_sender_is_refused_before_its_token() {
    let player = PlayerId::numbered(77);
    let unknown = (
        Refusal::UnknownPlayer(player.clone()),
        Code::PlayerNotRegistered,
    );
    let void = Some(TokenHash::of("tok-ref01-0000"));
    assert_eq!(turned_away(void, Some(Agent::Player(player))), unknown);
    let referee = RefereeId::numbered(77);
    let unknown = (
        Refusal::UnknownReferee(referee.clone()),
        Code::RefereeNotRegistered,
    );
    assert_eq!(turned_away(None, Some(Agent::Referee(referee))), unknown);
}

#[test]
fn token_is_good_until_it_expires() {
    let ttl = Duration::from_secs(3_600);
    let mut world = LeagueWorld::new(LeagueRules {
        token_ttl: ttl,
        ..rules()
    });
    let id = world.admit_player("Alpha");
    let agent = Agent::Player(id);
    let token = Some(world.tokens[&agent].hash());
    let last = world.now + ttl - Duration::from_millis(1);
    assert!(world.league.authenticate(last, token, Some(&agent)).is_ok());
    let over = world
        .league
        .authenticate(world.now + ttl, token, Some(&agent));
    assert_eq!(over.unwrap_err(), Refusal::TokenExpired);
    assert_eq!(Refusal::TokenExpired.code(), Code::TokenInvalid);
}

#[test]
fn repeated_report_is_acknowledged_and_changes_nothing() {
    let mut world = LeagueWorld::begun(4, 1, 2);
    let orders = world.orders();
    let (referee, order) = &orders[0];
    world.report(referee, honest(order)).unwrap();
    let before = world.league.clone();
    let (events, reply) = world.report(referee, honest(order)).unwrap();
    assert!(
        events.is_empty() && matches!(reply, Reply::Opened(_)),
        "{reply:?}"
    );
    assert_eq!(world.league, before);

    let (_, other) = &orders[1];
    world.report(referee, honest(other)).unwrap();
    world.settle();
    assert_eq!(world.league.round().unwrap().number(), 2);
    let (events, reply) = world.report(referee, honest(order)).unwrap();
    assert!(
        events.is_empty() && matches!(reply, Reply::Opened(_)),
        "{reply:?}"
    );
}

#[test]
fn report_may_list_the_second_seat_first() {
    let mut world = LeagueWorld::begun(4, 1, 2);
    let (referee, order) = world.orders().remove(0);
    let straight = honest(&order);
    let mut turned = straight.clone();
    let result = Arc::make_mut(&mut turned.result);
    result.players.reverse();
    result.points.reverse();
    let (_, reply) = world.report(&referee, turned.clone()).unwrap();
    assert!(matches!(reply, Reply::Opened(_)), "{reply:?}");
    let kept = world.fixture("R1M1").result().cloned().unwrap();
    assert_eq!(kept.players, straight.result.players);
    assert_eq!(kept.points, straight.result.points);
    for again in [straight, turned] {
        let (events, reply) = world.report(&referee, again).unwrap();
        assert!(
            events.is_empty() && matches!(reply, Reply::Opened(_)),
            "{reply:?}"
        );
    }
}

#[test]
fn conflicting_report_is_refused_and_noted_once() {
    let mut world = LeagueWorld::begun(4, 1, 2);
    let (referee, order) = world.orders().remove(0);
    world.report(&referee, honest(&order)).unwrap();
    let table = world.league.standings();
    let other = forfeited(&order, &[(0, Code::Timeout)]);
    let (events, refusal) = world.report_refused(&referee, other.clone());
    assert!(
        matches!(events[..], [Event::ReportConflicted { .. }]),
        "{events:?}"
    );
    let conflict = Refusal::Conflict(order.match_id.clone());
    assert_eq!(conflict.code(), Code::OutOfTurn);
    assert_eq!(refusal, conflict);
    let again = world.report_refused(&referee, other.clone());
    assert_eq!(again, (Vec::new(), conflict));
    for number in 0..20 {
        let mut more = other.clone();
        Arc::make_mut(&mut more.result).reason = format!("{number}");
        world.report_refused(&referee, more);
    }
    let noted = world.events.iter();
    let noted = noted.filter(|event| matches!(event, Event::ReportConflicted { .. }));
    assert_eq!(noted.count(), 8, "bounded");
    assert_eq!(world.league.standings(), table);
}

#[test]
fn report_of_a_foreign_or_unknown_match_is_not_found() {
    let mut world = LeagueWorld::begun(4, 2, 1);
    let orders = world.orders();
    let other = RefereeId::numbered(2);
    let command = world.report_command(&other, honest(&orders[0].1));
    let not_yours = Refusal::NotYours(MatchId::numbered(1, 1));
    assert_eq!(refused(&world, &command), (not_yours, Code::MatchNotFound));
    for id in ["R9M9", "R2M1", "r1m1", "final"] {
        let mut report = honest(&orders[0].1);
        report.match_id = MatchId::new(id).unwrap();
        let command = world.report_command(&orders[0].0, report);
        let (refusal, code) = refused(&world, &command);
        assert_eq!(refusal, Refusal::UnknownMatch(MatchId::new(id).unwrap()));
        assert_eq!(code, Code::MatchNotFound);
    }
}

#[test]
fn queued_match_cannot_be_reported() {
    let mut world = LeagueWorld::begun(4, 1, 1);
    let (referee, order) = world.orders().remove(0);
    let mut report = honest(&order);
    report.match_id = MatchId::numbered(1, 2);
    let command = world.report_command(&referee, report);
    let waiting = Refusal::NotStarted(MatchId::numbered(1, 2));
    assert_eq!(refused(&world, &command), (waiting, Code::OutOfTurn));
}

#[test]
fn reassigned_match_and_old_attempt_are_out_of_turn() {
    let mut world = LeagueWorld::begun(2, 2, 1);
    let (first, order) = world.orders().remove(0);
    world.fail_order(&first, &order);
    let command = world.report_command(&first, honest(&order));
    let taken = Refusal::TakenAway(order.match_id.clone());
    assert_eq!(refused(&world, &command), (taken, Code::OutOfTurn));
    let (second, again) = world.orders().remove(0);
    assert_eq!(again.attempt, 2);
    assert_eq!(again.commitment, order.commitment);
    let command = world.report_command(&second, honest(&order));
    let old = Refusal::OldAttempt {
        match_id: order.match_id.clone(),
        current: 2,
        found: 1,
    };
    assert_eq!(refused(&world, &command), (old, Code::OutOfTurn));
    let (_, reply) = world.report(&second, honest(&again)).unwrap();
    assert!(matches!(reply, Reply::Opened(_)), "{reply:?}");
    let late = world.report_command(&first, honest(&order));
    assert_eq!(refused(&world, &late).1, Code::OutOfTurn);
}

#[test]
fn match_of_an_old_round_is_out_of_turn() {
    let mut world = LeagueWorld::begun_by(rules(), 210, 1, 105);
    let (referee, first) = world.orders().remove(0);
    let mut orders = vec![(referee.clone(), first.clone())];
    orders.extend(order_rest(&world, &first));
    let mut reported = 0_u32;
    while reported < 200 * 105 {
        for (referee, order) in std::mem::take(&mut orders) {
            world_report(&mut world, &referee, &order);
            reported += 1;
        }
        world.settle();
        world.letters.retain(|letter| {
            matches!(
                letter.message,
                league_protocol::message::Message::StartMatch(_)
            )
        });
        orders = world.orders();
    }
    let command = world.report_command(&referee, honest(&first));
    let long = Refusal::LongDecided(first.match_id.clone());
    assert_eq!(refused(&world, &command), (long, Code::OutOfTurn));
}

fn order_rest(
    world: &LeagueWorld,
    first: &league_protocol::message::StartMatch,
) -> Vec<(RefereeId, league_protocol::message::StartMatch)> {
    use league_core::machine::Machine;
    let owed = world.league.pending();
    owed.into_iter()
        .filter_map(|letter| match (letter.message, &letter.to.agent) {
            (league_protocol::message::Message::StartMatch(order), Agent::Referee(referee))
                if order.match_id != first.match_id =>
            {
                Some((referee.clone(), Arc::unwrap_or_clone(order)))
            }
            _ => None,
        })
        .collect()
}

/// Reports without the checks after each step, which would take long in a large league.
fn world_report(
    world: &mut LeagueWorld,
    referee: &RefereeId,
    order: &league_protocol::message::StartMatch,
) {
    use league_core::machine::Machine;
    let report = honest(order);
    let request = world.draw_command(referee, &request_of(&report));
    let told = world.told_command(referee, &order.match_id, order.attempt, None);
    for command in [request, world.report_command(referee, report), told] {
        let decision = world.league.decide(world.now, &command);
        decision.answer.unwrap();
        for event in &decision.events {
            world.league.apply(event);
        }
    }
}

#[test]
fn invalid_report_is_refused_with_its_path_and_noted_once() {
    let mut world = LeagueWorld::begun(2, 1, 1);
    let (referee, order) = world.orders().remove(0);
    let mut report = played(&order, [json!("even"), json!("odd")]);
    Arc::make_mut(&mut report.result).points = [30, 0];
    let (events, refusal) = world.report_refused(&referee, report.clone());
    let [
        Event::ReportRefused { problem, .. },
        Event::AgentFailed { .. },
        Event::MatchesMoved { .. },
    ] = &events[..]
    else {
        panic!("{events:?}");
    };
    assert!(matches!(problem, ReportProblem::Points(_)));
    let error = refusal.to_league_error();
    assert_eq!(error.code, Code::InvalidMessage);
    assert_eq!(error.path.as_deref(), Some("result.score"));
    let text = serde_json::to_string(&events[0]).unwrap();
    assert!(!text.contains("even\""), "{text}");
    let seed = SECRET.seed(&order.league_id, &order.match_id);
    assert!(!text.contains(&seed.to_hex()), "{text}");
    let refusal = world.report(&referee, report).unwrap_err();
    assert_eq!(refusal, Refusal::TakenAway(order.match_id.clone()));
    world.pass(5);
    let (referee, order) = world.orders().remove(0);
    assert_eq!(order.attempt, 2, "nobody else is there to run it");
    let (_, reply) = world.report(&referee, honest(&order)).unwrap();
    assert!(matches!(reply, Reply::Opened(_)), "{reply:?}");
}

#[test]
fn referee_with_an_impossible_report_loses_the_match() {
    let mut world = LeagueWorld::begun(4, 2, 1);
    let (referee, order) = world.orders().remove(0);
    let mut report = honest(&order);
    report.round_id += 1;
    world.report_refused(&referee, report);
    let fixture = world.fixture(order.match_id.as_str());
    assert_eq!(
        (fixture.stage(), fixture.attempt()),
        (FixtureStage::Queued, 2)
    );
    let taker = world.referee_of(order.match_id.as_str()).unwrap();
    assert_ne!(taker, referee.to_string());
}

#[test]
fn technical_loss_gives_the_opponent_the_win() {
    let mut world = LeagueWorld::begun(4, 1, 2);
    let orders = world.orders();
    let (referee, order) = &orders[0];
    world
        .report(referee, forfeited(order, &[(1, Code::Timeout)]))
        .unwrap();
    let (_, order) = &orders[1];
    let both = [(0, Code::Timeout), (1, Code::InvalidMove)];
    world.report(referee, forfeited(order, &both)).unwrap();
    let rows = world.league.standings();
    let row = |id: &str| {
        rows.iter()
            .find(|row| row.player_id.as_str() == id)
            .unwrap()
    };
    assert_eq!((row("P01").points, row("P01").wins), (3, 1));
    for id in ["P02", "P03", "P04"] {
        let row = row(id);
        assert_eq!((row.points, row.losses, row.technical_losses), (0, 1, 1));
    }
}

#[test]
fn report_before_the_order_is_answered_counts() {
    let mut world = LeagueWorld::begun(4, 1, 2);
    let (referee, order) = world.orders().remove(0);
    world.report(&referee, honest(&order)).unwrap();
    assert!(world.answer_order(&referee, &order, true).is_empty());
    assert!(world.answer_order(&referee, &order, false).is_empty());
    assert!(world.fail_order(&referee, &order).is_empty());
}

#[test]
fn player_and_match_tokens_cannot_report() {
    let mut world = LeagueWorld::begun(2, 1, 1);
    let (referee, order) = world.orders().remove(0);
    let tokens: Vec<AuthToken> = order
        .players
        .iter()
        .flat_map(|player| {
            let own = world.tokens[&Agent::Player(player.player_id.clone())].clone();
            [player.match_token.clone(), own]
        })
        .collect();
    for token in tokens {
        let command = Command::Report {
            token: Some(token.hash()),
            sender: Some(Agent::Referee(referee.clone())),
            report: Arc::new(honest(&order)),
            is_at_address: true,
        };
        assert_eq!(refused(&world, &command).1, Code::TokenInvalid);
    }
}
