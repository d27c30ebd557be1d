//! Knockout, double elimination, and groups with a knockout.

use super::*;

fn knockout(players: u32, legs: u32) -> Tournament {
    Tournament::new(FormatPlan {
        legs,
        ..plan("knockout", players)
    })
}

#[test]
fn favourites_meet_as_late_as_they_can() {
    let mut cup = knockout(8, 1);
    let favourite = |[a, b]: [u32; 2]| MatchEnding::Win(usize::from(b < a));
    assert_eq!(
        cup.play(favourite).unwrap().pairings,
        [[0, 7], [3, 4], [1, 6], [2, 5]]
    );
    assert_eq!(cup.play(favourite).unwrap().pairings, [[3, 0], [2, 1]]);
    assert_eq!(
        cup.play(favourite).unwrap().pairings,
        [[0, 1], [2, 3]],
        "and the third place"
    );
    assert_eq!(cup.play(favourite), None);
}

#[test]
fn first_seeds_rest_if_the_bracket_is_not_full() {
    let mut cup = knockout(5, 1);
    let favourite = |[a, b]: [u32; 2]| MatchEnding::Win(usize::from(b < a));
    let first = cup.play(favourite).unwrap();
    assert_eq!((first.pairings, first.byes), (vec![[3, 4]], vec![]));
    assert_eq!(cup.play(favourite).unwrap().pairings, [[3, 0], [2, 1]]);
}

#[test]
fn level_tie_is_played_on_and_then_goes_to_the_higher_seed() {
    let mut cup = knockout(2, 3);
    let mut seats = Vec::new();
    while let Some(round) = cup.play(|_| MatchEnding::Draw) {
        seats.extend(round.pairings);
    }
    assert_eq!(seats.len(), 9, "three games and six more");
    assert!(cup.balance(0).abs() <= 1, "sides alternate: {seats:?}");
    let mut cup = knockout(2, 3);
    let mut games = 0;
    while cup
        .play(|[a, _]| MatchEnding::Win(usize::from(a == 0)))
        .is_some()
    {
        games += 1;
    }
    assert_eq!(games, 2, "the third game cannot change it");
}

#[test]
fn every_knockout_has_one_champion_though_players_leave() {
    let mut chance = Chance(11);
    for case in 0..600 {
        let players = 2 + chance.below(30) as u32;
        let mut cup = knockout(players, 1 + chance.below(4) as u32);
        loop {
            for player in 0..players {
                match chance.below(20) {
                    0 => drop(cup.out.insert(player)),
                    1 | 2 => drop(cup.out.remove(&player)),
                    _ => {}
                }
            }
            let Some(round) = cup.play(|seats| by_strength(&mut chance, seats)) else {
                break;
            };
            let seen: BTreeSet<&u32> = round.pairings.iter().flatten().collect();
            assert_eq!(
                seen.len(),
                2 * round.pairings.len(),
                "case {case}: once a round"
            );
            let most = players.ilog2() as usize + 1;
            assert!(cup.rounds.len() <= most * 10, "case {case}: it ends");
        }
        let ties = cup.meetings().len() as u32;
        let third = u32::from(players >= 4);
        let again = ties <= players - 1 + third;
        assert!(
            again && ties >= players - 1,
            "case {case}: {ties} ties of {players}"
        );
    }
}

#[test]
fn loser_of_the_first_stage_can_win_a_double_elimination() {
    let mut cup = Tournament::new(plan("double_elimination", 4));
    let favourite = |[a, b]: [u32; 2]| MatchEnding::Win(usize::from(b < a));
    let upset = |[a, b]: [u32; 2]| MatchEnding::Win(usize::from(b > a));
    assert_eq!(cup.play(upset).unwrap().pairings, [[0, 3], [1, 2]]);
    // The winners 3 and 2 meet, and so do the losers 0 and 1.
    assert_eq!(cup.play(favourite).unwrap().pairings, [[3, 2], [1, 0]]);
    assert_eq!(cup.play(favourite).unwrap().pairings, [[0, 3]]);
    assert_eq!(
        cup.play(favourite).unwrap().pairings,
        [[2, 0]],
        "grand final"
    );
    assert_eq!(cup.play(favourite).unwrap().pairings, [[0, 2]], "reset");
    assert_eq!(cup.play(favourite), None);
}

#[test]
fn grand_final_is_not_reset_if_the_unbeaten_player_wins() {
    let mut cup = Tournament::new(plan("double_elimination", 8));
    let favourite = |[a, b]: [u32; 2]| MatchEnding::Win(usize::from(b < a));
    while cup.play(favourite).is_some() {}
    assert_eq!(cup.rounds.len() as u32, cup.plan.rounds());
    assert_eq!(cup.all_seats().count() as u64, cup.plan.total_matches());
}

#[test]
fn all_but_the_champion_lose_two_ties_of_a_double_elimination() {
    let mut chance = Chance(23);
    for case in 0..2_000 {
        let players = 3 + chance.below(30) as u32;
        let mut cup = Tournament::new(plan("double_elimination", players));
        let mut losses = vec![0_u32; players as usize];
        while cup
            .play(|seats| {
                let winner = chance.below(2) as usize;
                losses[seats[1 - winner] as usize] += 1;
                MatchEnding::Win(winner)
            })
            .is_some()
        {
            assert!(
                cup.rounds.len() as u32 <= cup.plan.max_rounds(),
                "case {case}"
            );
        }
        losses.sort_unstable();
        assert!(losses[0] <= 1, "case {case}: {losses:?}");
        assert!(
            losses[1..].iter().all(|lost| *lost == 2),
            "case {case}: {losses:?}"
        );
    }
}

/// The players of each group, as far as their matches of the first rounds tell.
fn groups_of(cup: &Tournament, rounds: usize) -> Vec<BTreeSet<u32>> {
    let mut groups: Vec<BTreeSet<u32>> = Vec::new();
    for pair in cup.rounds[..rounds].iter().flat_map(|it| &it.pairings) {
        let (mut joined, apart): (Vec<_>, Vec<_>) = groups
            .into_iter()
            .partition(|group| pair.iter().any(|player| group.contains(player)));
        joined.push(BTreeSet::from(*pair));
        groups = apart;
        groups.push(joined.into_iter().flatten().collect());
    }
    groups.sort();
    groups
}

#[test]
fn winners_of_groups_meet_the_second_of_other_groups() {
    let mut cup = Tournament::new(plan("groups", 16));
    let favourite = |[a, b]: [u32; 2]| MatchEnding::Win(usize::from(b < a));
    for _ in 0..3 {
        assert_eq!(cup.play(favourite).unwrap().pairings.len(), 8);
    }
    let dealt = [[0, 7, 8, 15], [1, 6, 9, 14], [2, 5, 10, 13], [3, 4, 11, 12]];
    assert_eq!(groups_of(&cup, 3), dealt.map(BTreeSet::from));
    assert_eq!(
        cup.play(favourite).unwrap().pairings,
        [[0, 6], [3, 5], [1, 7], [2, 4]]
    );
    while cup.play(favourite).is_some() {}
    assert_eq!(cup.rounds.len() as u32, cup.plan.rounds());
    assert_eq!(cup.all_seats().count() as u64, cup.plan.total_matches());
}

#[test]
fn players_of_a_group_meet_again_in_the_final_at_the_earliest() {
    let mut chance = Chance(31);
    for case in 0..400 {
        let players = 6 + chance.below(40) as u32;
        let most = u64::from(players / 3);
        let legs = 1 + chance.below(2) as u32;
        let mut cup = Tournament::new(FormatPlan {
            groups: (case % 2 == 0).then(|| 2 + chance.below(most - 1) as u32),
            legs,
            ..plan("groups", players)
        });
        while cup.play(|seats| by_strength(&mut chance, seats)).is_some() {
            let limit = cup.plan.max_rounds() as usize;
            assert!(cup.rounds.len() <= limit, "case {case}: it ends");
        }
        let usual = 1 << (players / 3).ilog2();
        let groups = cup.plan.groups.unwrap_or(usual);
        let sizes = [players / groups, players.div_ceil(groups)];
        let rounds = sizes.map(|size| (size - 1 + size % 2) * legs);
        let rounds = rounds[0].max(rounds[1]) as usize;
        let found = groups_of(&cup, rounds);
        assert_eq!(found.len(), groups as usize, "case {case}");
        let (of_groups, knockout) = cup.rounds.split_at(rounds);
        let pairs = of_groups.iter().map(|round| round.pairings.len());
        let full = |group: &BTreeSet<u32>| group.len() * (group.len() - 1) / 2;
        let all: usize = found.iter().map(full).sum();
        assert_eq!(pairs.sum::<usize>(), all * legs as usize, "case {case}");
        let games = knockout.iter().flat_map(|round| &round.pairings);
        let mut ties: Vec<[u32; 2]> = Vec::new();
        for &[a, b] in games {
            let pair = [a.min(b), a.max(b)];
            if !ties.contains(&pair) {
                ties.push(pair);
            }
        }
        for group in &found {
            assert!(sizes.contains(&(group.len() as u32)), "case {case}");
            let on: BTreeSet<&u32> = ties
                .iter()
                .flatten()
                .filter(|it| group.contains(it))
                .collect();
            assert_eq!(on.len(), 2, "case {case}: two of a group go on");
            // The last two ties are the final and that for the third place.
            let early = &ties[..ties.len() - 2];
            let both = |tie: &[u32; 2]| tie.iter().all(|player| group.contains(player));
            assert!(!early.iter().any(both), "case {case}: {ties:?}");
        }
    }
}

#[test]
fn equal_players_of_a_group_go_on_by_the_tiebreakers() {
    let mut cup = Tournament::new(plan("groups", 6));
    let order = [Tiebreaker::Points, Tiebreaker::TechnicalLosses];
    cup.standings = cup.standings.ordered_by(order);
    // Each group is a circle of wins; its first player loses without play.
    let beats = |winner: u32, loser: u32| {
        let wins = [[0, 3], [3, 4], [4, 0], [1, 2], [2, 5], [5, 1]];
        wins.contains(&[winner, loser])
    };
    for _ in 0..3 {
        cup.play(|[a, b]| {
            let loser = usize::from(beats(a, b));
            match [a, b][loser] {
                0 | 1 => MatchEnding::Forfeit(loser),
                _ => MatchEnding::Win(1 - loser),
            }
        });
    }
    let mut seats: Vec<u32> = cup.next().unwrap().pairings.concat();
    seats.sort_unstable();
    assert_eq!(seats, [2, 3, 4, 5], "the ids alone would choose 0 to 3");
}

#[test]
fn table_is_by_points_until_the_groups_are_decided() {
    let mut cup = Tournament::new(plan("groups", 6));
    // The first group has 0, 3 and 4: its third has more points than the others of the second.
    let ends = |[a, _]: [u32; 2]| match [0, 3, 4].contains(&a) {
        true => MatchEnding::Draw,
        false => MatchEnding::BothForfeit,
    };
    cup.play(ends);
    cup.play(ends);
    let last = cup.next().unwrap();
    cup.standings.open(&last);
    let names = (1..=6).map(|number| (PlayerId::numbered(number), "".into()));
    let table = cup.standings.table(|| names.collect());
    let points: Vec<u32> = table.rows.iter().map(|row| row.points).collect();
    assert_eq!(points, [2, 1, 1, 0, 0, 0]);
}

/// The rows of the tables of all groups.
fn group_rows(world: &LeagueWorld) -> Vec<GroupRow> {
    let views = world.league.views().into_iter();
    let tables = views.filter_map(|view| match view {
        FormatView::Groups(tables) => Some(tables),
        _ => None,
    });
    let tables = tables.flatten();
    tables.flat_map(|table| table.rows).collect()
}

/// Ends the matches that are played, but for those that a lever has ended; seat A wins.
fn play_open(world: &mut LeagueWorld) {
    for (referee, order) in world.orders() {
        let winner = &order.players[0].player_id;
        drop(world.report(&referee, ended(&order, Some(winner))));
    }
    world.settle();
}

#[test]
fn annulled_results_of_a_group_count_for_no_one() {
    let mut world = league_of("groups", 6);
    play_round(&mut world);
    play_round(&mut world);
    let disqualify = |number| Lever::Disqualify {
        player_id: PlayerId::numbered(number),
        played: PlayedMatches::Annulled,
    };
    world.pull(disqualify(1)).unwrap();
    world.settle();
    let standings = world.league.standings();
    for row in group_rows(&world) {
        let id = PlayerId::numbered(row.player + 1);
        let main = standings.iter().find(|main| main.player_id == id).unwrap();
        assert_eq!(row.tally.played(), main.played, "{id}");
        assert_eq!(row.tally.points, main.points, "{id}");
    }
    // In the knockout the opponent goes on.
    play_open(&mut world);
    assert_eq!(world.league.round().unwrap().number(), 4);
    assert_eq!(
        group_rows(&world)[0].tally.played(),
        1,
        "the others met once"
    );
    let [one, _] = world.league.pairing(4, 0).unwrap().seats;
    world.pull(disqualify(one + 1)).unwrap();
    world.settle();
    play_open(&mut world);
    play_open(&mut world);
    assert!(world.league.is_over());
    assert_eq!(world.league.rounds(), 5, "no game is played again");
    let audited = world.audited().unwrap();
    assert_eq!(audited.standings(), world.league.standings());
}
