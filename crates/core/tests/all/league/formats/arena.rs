//! Arenas: rounds that grow, and an end by time.

use super::*;

#[test]
#[expect(clippy::too_many_lines, reason = "one arena from beginning to end")]
fn every_player_of_an_arena_is_paired_while_another_is_free() {
    let mut chance = Chance(53);
    let mut rematches = 0;
    for case in 0..100 {
        let players = 2 + chance.below(20) as u32;
        let mut standings = Standings::new(Schedule::new(plan("arena", players)), Score::default());
        let mut out = BTreeSet::new();
        let mut running: Vec<Pairing> = Vec::new();
        let mut last_met = vec![None; players as usize];
        let mut sides = vec![0_i64; players as usize];
        for _ in 0..300 {
            let player = chance.below(u64::from(players)) as u32;
            match chance.below(12) {
                0 => drop(out.insert(player)),
                1..=3 => drop(out.remove(&player)),
                _ => {}
            }
            let busy: BTreeSet<u32> = running.iter().flat_map(|it| it.seats).collect();
            let is_in = |player: u32| !out.contains(&player);
            let is_free = |player: u32| is_in(player) && !busy.contains(&player);
            let free = (0..players).filter(|it| is_free(*it)).count();
            let round =
                standings.schedule().rounds() * u32::from(standings.schedule().matches_in(1) > 0);
            let added = match round {
                0 => standings
                    .next_round(&is_in)
                    .map(|next| (next.pairings, true)),
                _ => standings
                    .joining(&is_in, &is_free)
                    .map(|it| (it.pairings, it.wait.is_zero())),
            };
            assert_eq!(added.is_some(), free > 1, "case {case}: {free} are free");
            if let Some((pairings, at_once)) = added.filter(|it| it.1 || chance.below(3) == 0) {
                let seated: BTreeSet<u32> = pairings.concat().into_iter().collect();
                assert!(seated.iter().all(|it| is_free(*it)), "case {case}");
                assert_eq!(seated.len(), 2 * pairings.len(), "case {case}");
                let left = free - seated.len();
                assert!(
                    left <= if at_once { 2 } else { 0 },
                    "case {case}: {left} are left"
                );
                let before = standings.schedule().matches_in(1);
                match round {
                    0 => standings.open(&NextRound {
                        pairings: pairings.clone(),
                        byes: Vec::new(),
                    }),
                    _ => standings.add(&pairings),
                }
                for (index, seats) in (before..).zip(pairings) {
                    let [a, b] = seats;
                    let again = last_met[a as usize] == Some(b) && last_met[b as usize] == Some(a);
                    assert!(!again || free == 2, "case {case}: {a} and {b} again");
                    rematches += u32::from(again);
                    (last_met[a as usize], last_met[b as usize]) = (Some(b), Some(a));
                    (sides[a as usize], sides[b as usize]) =
                        (sides[a as usize] + 1, sides[b as usize] - 1);
                    running.push(Pairing {
                        round: 1,
                        index,
                        seats,
                    });
                    let own = standings.schedule().pairings_of(a, 1);
                    assert_eq!(own.last(), running.last().copied());
                }
            }
            if !running.is_empty() {
                let ended = running.swap_remove(chance.below(running.len() as u64) as usize);
                standings.note(ended, by_strength(&mut chance, ended.seats));
            }
        }
        assert!(
            sides.iter().all(|side| side.abs() <= 3),
            "case {case}: {sides:?}"
        );
    }
    assert!(rematches > 0, "two alone meet again");
}

#[test]
fn a_round_of_an_arena_has_a_limit() {
    let mut standings = Standings::new(Schedule::new(plan("arena", 6)), Score::default());
    let first = standings.next_round(&|_| true).unwrap();
    standings.open(&first);
    let mut ended = 0;
    while let Some(joining) = standings.joining(&|_| true, &|_| true) {
        standings.add(&joining.pairings);
        ended += 1;
        assert!(ended < 1_000);
    }
    assert_eq!(standings.schedule().matches_in(1), 1_000);
    let next = standings.next_round(&|_| true).unwrap();
    standings.open(&next);
    assert_eq!(standings.schedule().rounds(), 2);
    assert!(standings.joining(&|_| true, &|_| true).is_some());
}

#[test]
fn fast_players_of_an_arena_do_not_wait_for_a_slow_match() {
    let mut world = arena(6);
    assert_eq!(world.league.round().unwrap().fixtures().len(), 3);
    let slow = world.fixture("R1M1").pairing().seats;
    for _ in 0..10 {
        for (referee, order) in world.orders() {
            if order.match_id.as_str() != "R1M1" {
                world.report(&referee, honest(&order)).unwrap();
            }
        }
        world.settle();
    }
    let round = world.league.round().unwrap();
    assert_eq!((round.number(), round.open()), (1, 3));
    assert_eq!(
        round.fixtures().len(),
        3 + 10 * 2,
        "each ending made room for two more"
    );
    let met = begun(&world);
    let of_slow = met
        .iter()
        .flatten()
        .filter(|id| slow.map(|it| format!("P{:02}", it + 1)).contains(id));
    assert_eq!(of_slow.count(), 2);
    // Two matches end at once, so that no player meets its last opponent again.
    for player in 0..6 {
        let own = world.league.schedule().pairings_of(player, 1);
        let others = own.map(|it| it.seats.into_iter().find(|seat| *seat != player));
        let others: Vec<_> = others.collect();
        assert!(
            others.windows(2).all(|pair| pair[0] != pair[1]),
            "{player}: {others:?}"
        );
    }
    world.audited().unwrap();
}

#[test]
fn two_that_met_last_wait_for_others_and_then_meet_again() {
    let mut world = arena(4);
    let (referee, order) = world.order("R1M1");
    world.report(&referee, honest(&order)).unwrap();
    world.settle();
    assert_eq!(world.league.round().unwrap().fixtures().len(), 2);
    world.pass(4);
    assert_eq!(
        world.league.round().unwrap().fixtures().len(),
        2,
        "they wait"
    );
    world.pass(1);
    let seats = ["R1M1", "R1M3"].map(|id| world.fixture(id).pairing().seats);
    assert_eq!(seats[0], [seats[1][1], seats[1][0]], "with sides swapped");
    world.audited().unwrap();
}

#[test]
fn an_arena_is_over_when_its_time_is_and_its_last_match_has_ended() {
    let mut world = arena(5);
    let mut steps = 0;
    while !world.league.is_over() {
        world.pass(7);
        // One match ends at a time.
        if let Some((referee, order)) = world.orders().into_iter().next() {
            world.report(&referee, honest(&order)).unwrap();
            world.settle();
        }
        steps += 1;
        assert!(steps < 30, "it ends");
    }
    let began = |event: &Event| match event {
        Event::LeagueStarted { at } => Some(*at),
        _ => None,
    };
    let began = world.events.iter().find_map(began).unwrap();
    let added = world.events.iter().filter_map(|event| match event {
        Event::MatchesAdded { at, .. } => Some(at.since(began)),
        _ => None,
    });
    let last = added.max().unwrap();
    assert!(last < Duration::from_secs(60), "{last:?}");
    let round = world.league.round().unwrap();
    assert_eq!((round.number(), round.open()), (1, 0));
    assert_eq!(world.league.matches_played(), world.league.total_matches());
    world.audited().unwrap();
}

/// What happens after the end of an arena, and would give two players a match.
type LateChange = (&'static str, fn() -> LeagueWorld, fn(&mut LeagueWorld));

/// An arena of a minute that puts players out after one absence.
fn open_arena(players: u32) -> LeagueWorld {
    let mut rules = rules();
    rules.use_format(Format::find("arena").unwrap());
    rules.duration = Some(Duration::from_secs(60));
    rules.max_fail = 1;
    LeagueWorld::begun_by(rules, players, 2, 8)
}

#[test]
fn no_match_begins_after_an_arena_as_players_return() {
    let cases: [LateChange; 2] = [
        (
            "a player returns beside a free one",
            || {
                let mut world = open_arena(4);
                world.forfeit("R1M1", &[1]);
                world.settle();
                world
            },
            |world| {
                let player = PlayerId::numbered(1);
                assert!(world.league.player(&player).unwrap().expulsion().is_some());
                return_first(world).unwrap();
                assert_eq!(world.league.player(&player).unwrap().expulsion(), None);
            },
        ),
        (
            "the organiser reinstates a player beside a free one",
            || {
                let mut world = open_arena(4);
                let player_id = PlayerId::numbered(1);
                world.pull(Lever::Withdraw { player_id }).unwrap();
                world.settle();
                world
            },
            |world| {
                let player_id = PlayerId::numbered(1);
                world.pull(Lever::Reinstate { player_id }).unwrap();
            },
        ),
    ];
    for (case, begin, change) in cases {
        let mut world = begin();
        let begun = world.league.total_matches();
        world.now = world.now + Duration::from_secs(70);
        change(&mut world);
        world.settle();
        assert_eq!(world.league.total_matches(), begun, "{case}");
        for (referee, order) in world.orders() {
            // The match of a player that withdrew was taken away.
            let _ = world.report(&referee, honest(&order));
        }
        world.settle();
        assert!(world.league.is_over(), "{case}");
        world.audited().unwrap();
        assert_eq!(
            world.replayed().schedule(),
            world.league.schedule(),
            "{case}"
        );
    }
}

#[test]
fn matches_that_join_a_round_by_another_rule_are_found() {
    let mut world = arena(6);
    for (referee, order) in world.orders() {
        world.report(&referee, honest(&order)).unwrap();
        world.settle();
    }
    let honest_events = world.events.clone();
    type Forgery = fn(&mut Event);
    let forgeries: [Forgery; 3] = [
        |event| {
            if let Event::MatchesAdded { pairings, .. } = event {
                pairings[0].reverse();
            }
        },
        |event| {
            if let Event::MatchesAdded { pairings, .. } = event {
                pairings.clear();
            }
        },
        |event| {
            if let Event::MatchesAdded { round, .. } = event {
                *round += 1;
            }
        },
    ];
    for forge in forgeries {
        world.events = honest_events.clone();
        world.events.iter_mut().for_each(forge);
        let refused = world.audited().unwrap_err();
        let is_found = matches!(
            refused,
            Inconsistency::Pairings(1) | Inconsistency::Round { .. }
        );
        assert!(is_found, "{refused}");
    }
    // A match is left out, and the round ends before its time.
    let added = |event: &Event| matches!(event, Event::MatchesAdded { .. });
    let first = honest_events.iter().position(added).unwrap();
    let at = match &honest_events[first] {
        Event::MatchesAdded { at, .. } => *at,
        _ => unreachable!(),
    };
    world.events = honest_events[..first].to_vec();
    world.events.push(Event::RoundClosed { round: 1, at });
    assert!(world.audited().is_err());
}
