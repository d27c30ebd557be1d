//! Swiss tournaments: pairings, byes and sides, with players that leave, return and come late.

use super::*;

#[test]
fn swiss_pairs_every_player_once_a_round_and_no_pair_twice() {
    let mut chance = Chance(19);
    for case in 0..200 {
        let players = 4 + chance.below(29) as u32;
        let mut swiss = Tournament::new(plan("swiss", players));
        let mut rounds = 0;
        while let Some(round) = swiss.play(|seats| by_strength(&mut chance, seats)) {
            rounds += 1;
            let mut seen: Vec<u32> = round
                .pairings
                .iter()
                .flatten()
                .chain(&round.byes)
                .copied()
                .collect();
            seen.sort_unstable();
            assert_eq!(
                seen,
                (0..players).collect::<Vec<_>>(),
                "case {case}, round {rounds}"
            );
        }
        assert_eq!(
            rounds,
            swiss.plan.rounds(),
            "case {case}: every round is played"
        );
        assert!(
            swiss.meetings().values().all(|met| *met == 1),
            "case {case}"
        );
        for player in 0..players {
            assert!(
                swiss.byes_of(player) <= 1,
                "case {case}: {player} rests once"
            );
            assert!(
                swiss.balance(player).abs() <= 2,
                "case {case}: sides of {player}"
            );
        }
    }
}

#[test]
fn swiss_goes_on_while_players_leave_and_return() {
    let mut chance = Chance(7);
    let mut ended_early = 0;
    for case in 0..200 {
        let players = 4 + chance.below(20) as u32;
        let mut swiss = Tournament::new(plan("swiss", players));
        // How often each won without an opponent.
        let mut given = vec![0_u32; players as usize];
        loop {
            for player in 0..players {
                match chance.below(12) {
                    0 => drop(swiss.out.insert(player)),
                    1 | 2 => drop(swiss.out.remove(&player)),
                    _ => {}
                }
            }
            let before = given.clone();
            let round = swiss.play(|seats| {
                let ending = by_strength(&mut chance, seats);
                if let MatchEnding::Forfeit(seat) = ending {
                    given[seats[1 - seat] as usize] += 1;
                }
                ending
            });
            let Some(round) = round else { break };
            let seen: BTreeSet<u32> = round
                .pairings
                .iter()
                .flatten()
                .chain(&round.byes)
                .copied()
                .collect();
            let present: BTreeSet<u32> =
                (0..players).filter(|it| !swiss.out.contains(it)).collect();
            assert_eq!(seen, present, "case {case}");
            assert_eq!(round.byes.len(), present.len() % 2, "case {case}");
            for &player in &round.byes {
                let own = before[player as usize];
                let least = present.iter().map(|&it| before[it as usize]).min();
                assert_eq!(Some(own), least, "case {case}: the bye of {player}");
                given[player as usize] += 1;
            }
        }
        ended_early += u32::from(swiss.rounds.len() < swiss.plan.rounds() as usize);
        assert!(
            swiss.meetings().values().all(|met| *met == 1),
            "case {case}"
        );
        for player in 0..players {
            assert!(swiss.balance(player).abs() <= 2, "case {case}: {player}");
        }
    }
    assert!(
        ended_early < 50,
        "{ended_early} of 200 end before their last round"
    );
}

/// Whether these players can all be paired without a second meeting.
fn can_be_paired(players: &[u32], met: &BTreeMap<[u32; 2], u32>) -> bool {
    let Some((&first, rest)) = players.split_first() else {
        return true;
    };
    rest.iter().any(|&other| {
        let left: Vec<u32> = rest.iter().copied().filter(|it| *it != other).collect();
        !met.contains_key(&[first, other]) && can_be_paired(&left, met)
    })
}

#[test]
fn no_player_rests_while_one_that_won_less_often_without_an_opponent_can() {
    let mut chance = Chance(61);
    for case in 0..6_000 {
        let players = 5 + chance.below(5) as u32;
        let mut swiss = Tournament::new(plan("swiss", players));
        let mut free = vec![0_u32; players as usize];
        loop {
            for player in 0..players {
                match chance.below(12) {
                    0 => drop(swiss.out.insert(player)),
                    1 | 2 => drop(swiss.out.remove(&player)),
                    _ => {}
                }
            }
            let met = swiss.meetings();
            // A player that has just come counts one.
            let is_new = |player| {
                let is_known = met.keys().flatten().any(|it| *it == player);
                !is_known && swiss.byes_of(player) == 0 && !swiss.rounds.is_empty()
            };
            let before: Vec<u32> = (0..)
                .zip(&free)
                .map(|(it, own)| own + u32::from(is_new(it)))
                .collect();
            let round = swiss.play(|seats| {
                let ending = by_strength(&mut chance, seats);
                if let MatchEnding::Forfeit(seat) = ending {
                    free[seats[1 - seat] as usize] += 1;
                }
                ending
            });
            let Some(round) = round else { break };
            for &rests in &round.byes {
                free[rests as usize] += 1;
                let present: Vec<u32> = (0..players).filter(|it| !swiss.out.contains(it)).collect();
                for &other in present
                    .iter()
                    .filter(|it| before[**it as usize] < before[rests as usize])
                {
                    let others: Vec<u32> =
                        present.iter().copied().filter(|it| *it != other).collect();
                    assert!(
                        !can_be_paired(&others, &met),
                        "case {case}: {rests} rests, not {other}"
                    );
                }
            }
        }
    }
}

#[test]
fn players_that_come_late_are_paired_from_the_next_round_on() {
    let mut chance = Chance(41);
    let mut came = 0;
    for case in 0..300 {
        let players = 4 + chance.below(16) as u32;
        let mut swiss = Tournament::new(plan("swiss", players));
        let rounds = swiss.plan.rounds();
        let mut newcomers = BTreeSet::new();
        while let Some(round) = swiss.play(|seats| by_strength(&mut chance, seats)) {
            let seen: BTreeSet<u32> = round
                .pairings
                .iter()
                .flatten()
                .chain(&round.byes)
                .copied()
                .collect();
            assert_eq!(seen, (0..swiss.plan.players).collect(), "case {case}");
            let paired = round.pairings.iter().flatten();
            let paired: BTreeSet<&u32> = paired.collect();
            let is_paired = |newcomer: &u32| paired.contains(newcomer);
            assert!(newcomers.iter().all(is_paired), "case {case}: it plays");
            newcomers.clear();
            if chance.below(2) == 0 && swiss.rounds.len() < rounds as usize {
                newcomers.insert(swiss.admit());
                came += 1;
            }
        }
        assert_eq!(swiss.rounds.len() as u32, rounds, "case {case}");
        assert!(
            swiss.meetings().values().all(|met| *met == 1),
            "case {case}"
        );
        let planned = swiss.standings.schedule().total_matches();
        assert_eq!(planned, swiss.all_seats().count() as u64, "case {case}");
        for player in 0..swiss.plan.players {
            assert!(swiss.byes_of(player) <= 1, "case {case}: {player}");
            assert!(swiss.balance(player).abs() <= 2, "case {case}: {player}");
        }
    }
    assert!(came > 300, "{came}");
}

#[test]
fn player_that_comes_late_begins_below_all_and_has_no_bye() {
    let mut swiss = Tournament::new(plan("swiss", 8));
    swiss.play(|_| MatchEnding::Draw).unwrap();
    let late = swiss.admit();
    let tally = swiss.standings.record(late);
    assert_eq!((tally.points, tally.byes, tally.played()), (0, 0, 0));
    let second = swiss.play(|_| MatchEnding::Draw).unwrap();
    let own = second.pairings.last().unwrap();
    assert!(own.contains(&late), "{second:?}");
    assert_eq!(second.byes.len(), 1);
}

#[test]
fn meeting_of_a_swiss_tournament_has_as_many_games_as_there_are_legs() {
    let mut chance = Chance(5);
    for case in 0..100 {
        let (players, legs) = (4 + chance.below(9) as u32, 2 + chance.below(3) as u32);
        let mut swiss = Tournament::new(FormatPlan {
            legs,
            ..plan("swiss", players)
        });
        while let Some(round) = swiss.play(|seats| played(&mut chance, seats)) {
            let place = swiss.rounds.len() as u32;
            if !place.is_multiple_of(legs) {
                let turned = round.pairings.iter().map(|[a, b]| [*b, *a]);
                let turned: Vec<[u32; 2]> = turned.collect();
                assert_eq!(swiss.next().unwrap().pairings, turned, "case {case}");
            }
        }
        assert_eq!(
            swiss.rounds.len() as u32,
            swiss.plan.rounds(),
            "case {case}"
        );
        assert!(
            swiss.meetings().values().all(|met| *met == legs),
            "case {case}"
        );
        for player in 0..players {
            assert!(swiss.byes_of(player) <= legs as usize, "case {case}");
            assert!(swiss.balance(player).abs() <= 2, "case {case}: {player}");
        }
    }
}

#[test]
fn swiss_pairs_the_upper_half_against_the_lower_half() {
    let mut swiss = Tournament::new(plan("swiss", 8));
    let first = swiss
        .play(|[a, b]| MatchEnding::Win(usize::from(b < a)))
        .unwrap();
    assert_eq!(first.pairings, [[0, 4], [5, 1], [2, 6], [7, 3]]);
    // The winners 0 to 3 meet, and the losers 4 to 7; 0 and 2 both sat at A and would rather not
    // meet.
    let second = swiss
        .play(|[a, b]| MatchEnding::Win(usize::from(b < a)))
        .unwrap();
    assert_eq!(second.pairings, [[3, 0], [1, 2], [4, 7], [6, 5]]);
    let third = swiss.play(|_| MatchEnding::Draw).unwrap();
    let top: BTreeSet<u32> = third.pairings[0].into();
    assert_eq!(top, BTreeSet::from([0, 1]), "the leaders meet");
}

#[test]
fn two_thousand_players_are_paired_at_once() {
    let mut swiss = Tournament::new(plan("swiss", 2_000));
    let mut chance = Chance(3);
    for _ in 0..3 {
        swiss.play(|seats| by_strength(&mut chance, seats)).unwrap();
    }
    assert!(swiss.meetings().values().all(|met| *met == 1));
}

#[test]
fn a_player_that_withdraws_is_not_paired_again() {
    let mut world = league_of("swiss", 8);
    for (referee, order) in world.orders() {
        world.report(&referee, honest(&order)).unwrap();
    }
    let player_id = PlayerId::numbered(1);
    world.pull(Lever::Withdraw { player_id }).unwrap();
    world.settle();
    world.play_on();
    let schedule = world.league.schedule();
    assert_eq!(schedule.rounds(), 4);
    for round in 2..=4 {
        assert_eq!(schedule.pairing_of(0, round), None);
        let seated = schedule.matches_in(round);
        assert_eq!(
            (seated, schedule.byes(round).len()),
            (3, 1),
            "seven are left"
        );
    }
}

/// A Swiss tournament of the machine with so many players whose registration stays open.
fn open_swiss(players: u32) -> LeagueWorld {
    let mut rules = rules();
    rules.use_format(Format::find("swiss").unwrap());
    rules.late_entry = true;
    LeagueWorld::begun_by(rules, players, 2, 8)
}

#[test]
fn player_registers_during_a_swiss_tournament() {
    let mut world = open_swiss(8);
    let late = register(&mut world, "Late").unwrap();
    assert_eq!(late, PlayerId::numbered(9));
    assert_eq!(world.league.standings().len(), 9);
    assert_eq!(world.league.schedule().pairing_of(8, 1), None);
    let again = world.replayed();
    assert_eq!(again.after_restart(), world.league.after_restart());
    play_round(&mut world);
    let second = world.league.schedule().pairing_of(8, 2);
    assert!(second.is_some(), "it is paired in the round after");
    assert_eq!(world.league.rounds(), 4, "as many rounds as before");
    world.play_on();
    assert!(world.league.is_over());
    assert_eq!(world.league.matches_played(), world.league.total_matches());
    let audited = world.audited().unwrap();
    assert_eq!(audited.standings(), world.league.standings());
    let reason = register(&mut world, "Later").unwrap_err();
    assert_eq!(reason, "Registration closed");
}

#[test]
fn player_that_comes_in_the_last_round_is_refused() {
    let mut world = open_swiss(4);
    while world.league.round().unwrap().number() < world.league.rounds() {
        play_round(&mut world);
    }
    let reason = register(&mut world, "Late").unwrap_err();
    assert_eq!(
        reason,
        "Registration closed: the league has begun, and its last round too"
    );
    let refused = world.pull(Lever::OpenRegistration { until: None });
    assert_eq!(
        refused.unwrap_err().to_string(),
        "the last round has begun: no player that comes now would play"
    );
}

#[test]
fn organiser_opens_and_closes_a_swiss_tournament_that_runs() {
    let mut world = league_of("swiss", 8);
    let reason = register(&mut world, "Late").unwrap_err();
    assert_eq!(
        reason,
        "Registration closed: the league has begun; the organiser may open it with \
         `league admin open-registration`"
    );
    world.pull(Lever::OpenRegistration { until: None }).unwrap();
    register(&mut world, "Late").unwrap();
    world.pull(Lever::CloseRegistration).unwrap();
    register(&mut world, "Later").unwrap_err();
    world.play_on();
    world.audited().unwrap();
    // A registration that the rules do not allow is found.
    let opening = |event: &Event| matches!(event, Event::OrganiserActed { act, .. } if matches!(**act, Lever::OpenRegistration { .. }));
    world.events.retain(|event| !opening(event));
    assert_eq!(
        world.audited().unwrap_err(),
        Inconsistency::NotAdmitted(PlayerId::numbered(9))
    );
}

#[test]
fn waiting_player_gets_its_seat_when_the_capacity_grows_in_a_swiss_tournament() {
    let mut world = {
        let mut rules = rules();
        rules.use_format(Format::find("swiss").unwrap());
        LeagueWorld::new(rules)
    };
    world.admit_referee("Referee", 8);
    let capacity = |players, waiting| Lever::SetCapacity { players, waiting };
    world.pull(capacity(6, 2)).unwrap();
    for name in ["A", "B", "C", "D", "E", "F", "G", "H"] {
        world.admit_player(name);
    }
    world.pull(Lever::Start).unwrap();
    world.settle();
    assert_eq!(world.league.standings().len(), 6);
    world.pull(capacity(7, 1)).unwrap();
    assert_eq!(world.league.standings().len(), 7);
    play_round(&mut world);
    assert!(world.league.schedule().pairing_of(6, 2).is_some());
    world.play_on();
    let audited = world.audited().unwrap();
    assert_eq!(audited.standings(), world.league.standings());
}

#[test]
fn ranks_are_shared_by_the_tiebreakers_of_the_table() {
    let mut world = league_of("swiss", 8);
    world.play_on();
    let (standings, rows) = (&world.league, world.league.standings());
    let mut is_split = false;
    for pair in rows.windows(2) {
        let by = standings.decided_by(pair[1].rank);
        let shares = pair[0].shared_rank == pair[1].shared_rank;
        let in_pairs = ["head-to-head", "wins"];
        let is_equal_before = by.is_none_or(|by| in_pairs.contains(&by));
        assert_eq!(shares, is_equal_before, "{} by {by:?}", pair[1].rank);
        let record = |row: &StandingRow| (row.points, row.wins, row.losses);
        is_split |= !shares && record(&pair[0]) == record(&pair[1]);
    }
    assert!(is_split, "Buchholz splits players of the same results");
}
