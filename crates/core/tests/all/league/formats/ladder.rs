//! Ladder and gauntlet.

use super::*;

fn ladder(players: u32, rounds: Option<u32>) -> Tournament {
    Tournament::new(FormatPlan {
        rounds,
        ..plan("ladder", players)
    })
}

/// The players of a ladder from first to last.
fn positions(ladder: &Tournament) -> Vec<u32> {
    let names = (1..=ladder.plan.players).map(|it| (PlayerId::numbered(it), "".into()));
    let table = ladder.standings.table(|| names.collect());
    let number = |id: &PlayerId| id.as_str()[1..].parse::<u32>().unwrap() - 1;
    table
        .rows
        .iter()
        .map(|row| number(&row.player_id))
        .collect()
}

#[test]
fn challenger_that_wins_takes_the_place_of_the_beaten_player() {
    let mut ladder = ladder(5, None);
    let pairs = |round: NextRound| {
        let pairs = round.pairings.into_iter();
        pairs.map(|[a, b]| [a.min(b), a.max(b)]).collect::<Vec<_>>()
    };
    let upset = |[a, b]: [u32; 2]| MatchEnding::Win(usize::from(b > a));
    assert_eq!(pairs(ladder.play(upset).unwrap()), [[0, 1], [2, 3]]);
    assert_eq!(positions(&ladder), [1, 0, 3, 2, 4]);
    assert_eq!(pairs(ladder.play(upset).unwrap()), [[0, 3], [2, 4]]);
    assert_eq!(positions(&ladder), [1, 3, 0, 4, 2]);
    ladder.play(|_| MatchEnding::Draw);
    assert_eq!(positions(&ladder), [1, 3, 0, 4, 2], "a draw moves no one");
    // The player between them is away: the challenger passes it too.
    ladder.out.insert(3);
    ladder.play(|_| MatchEnding::Draw);
    let round = ladder
        .play(|seats| MatchEnding::Win(usize::from(seats[1] == 0)))
        .unwrap();
    assert_eq!(pairs(round), [[0, 1], [2, 4]]);
    assert_eq!(positions(&ladder)[..3], [0, 1, 3]);
}

#[test]
fn every_ladder_ends_after_its_rounds_though_players_leave() {
    let mut chance = Chance(41);
    for case in 0..300 {
        let (players, rounds) = (2 + chance.below(20) as u32, 1 + chance.below(30) as u32);
        let mut ladder = ladder(players, Some(rounds));
        loop {
            let player = chance.below(u64::from(players)) as u32;
            match chance.below(4) {
                0 => drop(ladder.out.insert(player)),
                1 => drop(ladder.out.remove(&player)),
                _ => {}
            }
            let Some(round) = ladder.play(|seats| by_strength(&mut chance, seats)) else {
                break;
            };
            let seen: BTreeSet<u32> = round.pairings.concat().into_iter().collect();
            assert_eq!(seen.len(), 2 * round.pairings.len(), "case {case}");
            assert!(seen.is_disjoint(&ladder.out), "case {case}");
        }
        let left = players as usize - ladder.out.len();
        let is_full = ladder.rounds.len() == rounds as usize;
        assert!(is_full || left < 2, "case {case}: {left} left");
        for player in 0..players {
            let side = |[a, b]: [u32; 2]| i64::from(a == player) - i64::from(b == player);
            let sides: i64 = ladder.all_seats().map(side).sum();
            assert!(sides.abs() <= 4, "case {case}: {sides}");
        }
    }
}

#[test]
fn ladder_without_rounds_goes_on() {
    let mut ladder = ladder(3, None);
    for _ in 0..500 {
        ladder.play(|_| MatchEnding::Draw).unwrap();
    }
    assert_eq!(ladder.standings.schedule().rounds(), 500);
}

#[test]
fn gauntlet_runs_one_against_all() {
    let mut gauntlet = Tournament::new(FormatPlan {
        legs: 3,
        ..plan("gauntlet", 6)
    });
    while gauntlet.play(|_| MatchEnding::Draw).is_some() {}
    let met = gauntlet.meetings();
    assert_eq!(met, (1..6).map(|other| ([0, other], 3)).collect());
    assert!((0..6).all(|player| gauntlet.balance(player).abs() <= 1));
    assert_eq!(gauntlet.rounds.len() as u32, gauntlet.plan.rounds());
}

#[test]
fn gauntlet_passes_over_players_that_are_out() {
    let mut gauntlet = Tournament::new(plan("gauntlet", 4));
    gauntlet.out.insert(1);
    assert!(gauntlet.play(|_| MatchEnding::Draw).unwrap().pairings[0].contains(&2));
    assert!(gauntlet.play(|_| MatchEnding::Draw).unwrap().pairings[0].contains(&3));
    gauntlet.out.clear();
    assert!(gauntlet.play(|_| MatchEnding::Draw).unwrap().pairings[0].contains(&1));
    assert_eq!(gauntlet.next(), None);
}

#[test]
fn no_round_of_a_ladder_begins_after_its_time() {
    let mut rules = rules();
    rules.use_format(Format::find("ladder").unwrap());
    rules.duration = Some(Duration::from_secs(25));
    let mut world = LeagueWorld::begun_by(rules, 5, 2, 4);
    let mut rounds = 0;
    while !world.league.is_over() {
        world.pass(10);
        for (referee, order) in world.orders() {
            world.report(&referee, honest(&order)).unwrap();
        }
        world.settle();
        rounds += 1;
        assert!(rounds < 10);
    }
    assert_eq!(
        world.league.round().unwrap().number(),
        3,
        "begun after 0, 10 and 20 seconds"
    );
    world.audited().unwrap();
    let last = world.events.pop().unwrap();
    assert!(matches!(last, Event::LeagueCompleted { .. }));
    for event in &mut world.events {
        let at = match event {
            Event::RoundClosed { round: 3, at } => at,
            Event::ResultRecorded { match_id, at, .. } if match_id.as_str().starts_with("R3") => at,
            _ => continue,
        };
        *at = *at - Duration::from_secs(10);
    }
    world.events.push(last);
    assert!(
        matches!(world.audited().unwrap_err(), Inconsistency::Round { .. }),
        "the league ends before its time"
    );
}

#[test]
fn round_that_would_begin_after_the_time_of_a_ladder_is_not_opened() {
    let mut rules = rules();
    rules.use_format(Format::find("ladder").unwrap());
    rules.duration = Some(Duration::from_secs(25));
    rules.round_every = Duration::from_secs(20);
    let mut world = LeagueWorld::begun_by(rules, 4, 1, 3);
    for _ in 0..4 {
        for (referee, order) in world.orders() {
            world.report(&referee, honest(&order)).unwrap();
        }
        world.settle();
        world.pass(20);
    }
    assert!(world.league.is_over());
    assert_eq!(
        world.league.round().unwrap().number(),
        2,
        "begun after 0 and 20 seconds, and not after 40"
    );
    world.audited().unwrap();
}
