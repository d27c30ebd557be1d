//! Whole leagues with commands that come twice, late, or in another order.

use std::sync::Arc;

use league_core::league::{Command, CorrelationId, Event, Phase};
use league_protocol::fault::Code;
use league_protocol::id::RefereeId;
use league_protocol::message::{Message, StartMatch};
use league_protocol::sender::Agent;
use proptest::prelude::*;

use league_testkit::Season;
use league_testkit::league::LeagueWorld;
use league_testkit::report::{honest, signed};

/// A number by which every order is played and every probe is answered.
const ALL_WELL: u8 = 4;

/// Delivers all letters: gives the orders, and answers probes or not.
fn deliver(world: &mut LeagueWorld, answers: bool) -> Vec<(RefereeId, StartMatch)> {
    let mut orders = Vec::new();
    for letter in std::mem::take(&mut world.letters) {
        match (letter.message, letter.correlation, &letter.to.agent) {
            (Message::StartMatch(order), _, Agent::Referee(referee)) => {
                orders.push((referee.clone(), Arc::unwrap_or_clone(order)));
            }
            (Message::Ping, Some(correlation @ CorrelationId::Probe(_)), _) if answers => {
                world.hear(correlation, Ok(Message::Acknowledged));
            }
            _ => {}
        }
    }
    orders
}

/// Plays a league in which each step is chosen by the given numbers; players sign if the first of
/// them is odd.
fn play(players: u32, referees: u32, capacity: u32, chances: &[u8]) -> LeagueWorld {
    let signing = chances.first().is_some_and(|chance| chance % 2 == 1);
    let mut world = match signing {
        true => LeagueWorld::begun_signing(players, referees, capacity),
        false => LeagueWorld::begun(players, referees, capacity),
    };
    let honest = |order: &StartMatch| match signing {
        true => signed(honest(order), order, &[0, 1]),
        false => honest(order),
    };
    // Numbers that repeat for ever can leave every probe unanswered; from some step on all is well.
    let trouble = chances.iter().copied().cycle().take(2_000);
    let mut chances = trouble.chain(std::iter::repeat(ALL_WELL));
    let mut orders = world.orders();
    let mut said: Vec<Command> = Vec::new();
    for _ in 0..5_000 {
        if world.league.phase() == Phase::Completed {
            return world;
        }
        let chance = chances.next().unwrap_or(0);
        if orders.is_empty() || chance % 11 == 0 {
            world.pass(5);
            orders.extend(deliver(&mut world, chance % 3 != 0));
            continue;
        }
        let (referee, order) = orders.swap_remove(usize::from(chance) % orders.len());
        match chance % 7 {
            0 => drop(world.fail_order(&referee, &order)),
            1 => drop(world.answer_order(&referee, &order, false)),
            2 => {
                world.hand_over(&referee, &honest(&order));
                world.fail_order(&referee, &order);
            }
            _ => {
                if chance % 2 == 0 {
                    world.answer_order(&referee, &order, true);
                }
                world.hand_over(&referee, &honest(&order));
                let command = world.report_command(&referee, honest(&order));
                let _ = world.when(&command);
                said.push(command);
            }
        }
        if chance % 5 == 0 && !said.is_empty() {
            let old = said[usize::from(chance) % said.len()].clone();
            let before = world.league.standings();
            let _ = world.when(&old);
            assert_eq!(world.league.standings(), before, "said twice, counted once");
        }
        world.settle();
        orders.extend(world.orders());
    }
    panic!("the league does not end");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn every_league_ends_with_each_match_counted_once(
        players in 2_u32..9,
        referees in 1_u32..4,
        capacity in 1_u32..4,
        chances in prop::collection::vec(any::<u8>(), 20..60),
    ) {
        let world = play(players, referees, capacity, &chances);
        let total = u64::from(players * (players - 1) / 2);
        prop_assert_eq!(world.league.matches_played(), total);
        let mut counted = std::collections::BTreeSet::new();
        for event in &world.events {
            if let Event::ResultRecorded { match_id, .. } = event {
                prop_assert!(counted.insert(match_id.clone()), "{match_id} twice");
            }
        }
        prop_assert_eq!(counted.len() as u64, total);
        prop_assert_eq!(world.audited().unwrap().standings(), world.league.standings());
        prop_assert_eq!(world.replayed().after_restart(), world.league.after_restart());
    }
}

#[test]
fn arbitrary_outcomes_never_disturb_a_league() {
    let mut world = LeagueWorld::begun(4, 2, 1);
    for agent in [
        Agent::Manager,
        Agent::Player(league_protocol::id::PlayerId::numbered(1)),
        Agent::Referee(league_protocol::id::RefereeId::numbered(1)),
    ] {
        for correlation in [
            CorrelationId::Probe(agent.clone()),
            CorrelationId::Notice(agent),
        ] {
            world.hear(correlation.clone(), Ok(Message::Ping));
            world.hear(correlation, Err(Code::InvalidMessage));
        }
    }
    world.play_on();
    assert_eq!(world.league.phase(), Phase::Completed);
}

#[test]
fn season_of_referees_and_players_is_drawn_proved_and_verified() {
    let season = Season::played(5, 2);
    let world = &season.manager;
    assert_eq!(world.league.matches_played(), 10);
    assert_eq!(
        world.audited().unwrap().standings(),
        world.league.standings()
    );
    for event in &world.events {
        if let Event::ResultRecorded {
            referee, result, ..
        } = event
        {
            assert!(referee.is_some());
            let opened = result.evidence.players.iter();
            assert!(opened.clone().all(|known| known.join.is_some()));
            let signed = result.evidence.moves.iter();
            let signed = signed.filter(|made| made.proof.is_some());
            assert_eq!(signed.count(), opened.len(), "one move each");
        }
    }
}

#[test]
fn league_ends_once_its_only_referee_answers_a_probe_again() {
    let mut chances = [0; 36];
    chances[..21].copy_from_slice(&[
        2, 149, 147, 30, 165, 87, 1, 2, 63, 1, 0, 12, 122, 2, 77, 33, 165, 99, 7, 99, 39,
    ]);
    chances[32] = 141;
    assert_eq!(play(5, 1, 1, &chances).league.matches_played(), 10);
}
