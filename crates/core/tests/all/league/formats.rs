//! Formats: whole tournaments from results alone, with players that leave and return.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use league_core::draw::{LeagueSecret, LeagueSecrets};
use league_core::league::format::{Format, FormatError, FormatPlan, NextRound, RoundRobin, Sides};
use league_core::league::schedule::{Pairing, Schedule};
use league_core::league::standings::{MatchEnding, Standings};
use league_core::league::{
    Command, Event, Inconsistency, League, LeagueRules, Lever, Reply, RulesError, Tiebreaker,
};
use league_protocol::id::{MatchId, PlayerId};
use league_protocol::message::{RegisterResponse, Score, StandingRow};
use league_protocol::sender::Agent;
use league_testkit::league::{LeagueWorld, rules};
use league_testkit::report::honest;

struct Chance(u64);

impl Chance {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}

fn plan(format: &str, players: u32) -> FormatPlan {
    FormatPlan {
        format: Format::find(format).unwrap(),
        players,
        sides: Sides::Balanced,
        ..FormatPlan::default()
    }
}

/// A tournament in progress.
struct Tournament {
    standings: Standings,
    plan: FormatPlan,
    out: BTreeSet<u32>,
    rounds: Vec<NextRound>,
    /// The seats of matches in which both players played.
    played: Vec<[u32; 2]>,
}

impl Tournament {
    fn new(plan: FormatPlan) -> Self {
        plan.check().unwrap();
        Self {
            standings: Standings::new(Schedule::new(plan), Score::default()),
            plan,
            out: BTreeSet::new(),
            rounds: Vec::new(),
            played: Vec::new(),
        }
    }

    /// Takes in a player after the start; returns its number.
    fn admit(&mut self) -> u32 {
        self.standings.admit();
        self.plan = *self.standings.schedule().plan();
        self.plan.players - 1
    }

    fn next(&self) -> Option<NextRound> {
        self.standings
            .next_round(&|player| !self.out.contains(&player))
    }

    /// Opens the next round and ends its matches; returns it.
    fn play(&mut self, mut end: impl FnMut([u32; 2]) -> MatchEnding) -> Option<NextRound> {
        let next = self.next()?;
        assert_eq!(self.next().as_ref(), Some(&next), "the same pairings again");
        self.standings.open(&next);
        let round = u32::try_from(self.rounds.len()).unwrap() + 1;
        for (index, &seats) in (0..).zip(&next.pairings) {
            let pairing = Pairing {
                round,
                index,
                seats,
            };
            assert_eq!(
                self.standings.schedule().pairing_of(seats[1], round),
                Some(pairing)
            );
            let ending = match seats.map(|seat| self.out.contains(&seat)) {
                [false, false] => end(seats),
                [true, true] => MatchEnding::BothForfeit,
                [is_a, _] => MatchEnding::Forfeit(usize::from(!is_a)),
            };
            self.standings.note(pairing, ending);
            if !ending.forfeited(0) && !ending.forfeited(1) {
                self.played.push(seats);
            }
        }
        self.rounds.push(next.clone());
        Some(next)
    }

    fn all_seats(&self) -> impl Iterator<Item = [u32; 2]> {
        self.rounds
            .iter()
            .flat_map(|round| round.pairings.iter().copied())
    }

    /// How often each pair met, the lower number first.
    fn meetings(&self) -> BTreeMap<[u32; 2], u32> {
        let mut met = BTreeMap::new();
        for [a, b] in self.all_seats() {
            *met.entry([a.min(b), a.max(b)]).or_default() += 1;
        }
        met
    }

    /// The matches that a player played at seat A minus those at seat B.
    fn balance(&self, player: u32) -> i64 {
        let side = |[a, b]: &[u32; 2]| i64::from(*a == player) - i64::from(*b == player);
        self.played.iter().map(side).sum()
    }

    fn byes_of(&self, player: u32) -> usize {
        let rounds = self.rounds.iter();
        rounds.filter(|round| round.byes.contains(&player)).count()
    }
}

fn by_strength(chance: &mut Chance, [a, b]: [u32; 2]) -> MatchEnding {
    match chance.below(10) {
        0 => MatchEnding::Draw,
        1 => MatchEnding::Forfeit(chance.below(2) as usize),
        2 => MatchEnding::Win(chance.below(2) as usize),
        _ => MatchEnding::Win(usize::from(b < a)),
    }
}

/// A match that both play.
fn played(chance: &mut Chance, seats: [u32; 2]) -> MatchEnding {
    match by_strength(chance, seats) {
        MatchEnding::Forfeit(seat) => MatchEnding::Win(1 - seat),
        ending => ending,
    }
}

#[test]
fn swiss_pairs_everybody_once_a_round_and_nobody_twice() {
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
        loop {
            for player in 0..players {
                match chance.below(12) {
                    0 => drop(swiss.out.insert(player)),
                    1 | 2 => drop(swiss.out.remove(&player)),
                    _ => {}
                }
            }
            let Some(round) = swiss.play(|seats| by_strength(&mut chance, seats)) else {
                break;
            };
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
        }
        ended_early += u32::from(swiss.rounds.len() < swiss.plan.rounds() as usize);
        assert!(
            swiss.meetings().values().all(|met| *met == 1),
            "case {case}"
        );
    }
    assert!(
        ended_early < 50,
        "{ended_early} of 200 end before their last round"
    );
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
fn every_knockout_has_one_champion_whoever_leaves() {
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
fn every_ladder_ends_after_its_rounds_whoever_leaves() {
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
fn round_robin_as_a_function_gives_the_computed_rounds() {
    let settings = FormatPlan {
        legs: 2,
        ..plan("round_robin", 5)
    };
    let computed = Schedule::new(settings);
    assert!(computed.is_computed());
    assert_eq!(computed.rounds(), settings.rounds());
    assert_eq!(computed.total_matches(), settings.total_matches());
}

#[test]
fn settings_that_a_format_does_not_have_are_refused() {
    let not_taken = |plan: FormatPlan| {
        assert!(matches!(
            plan.check().unwrap_err(),
            FormatError::NotTaken(..)
        ))
    };
    let (groups, duration) = (Some(2), Some(Duration::from_secs(60)));
    for format in ["swiss", "knockout", "gauntlet", "round_robin"] {
        not_taken(FormatPlan {
            groups,
            ..plan(format, 8)
        });
        not_taken(FormatPlan {
            duration,
            ..plan(format, 8)
        });
    }
    for format in ["ladder", "arena"] {
        not_taken(FormatPlan {
            legs: 2,
            ..plan(format, 8)
        });
    }
    for groups in [1, 3] {
        let refused = FormatPlan {
            groups: Some(groups),
            ..plan("groups", 8)
        };
        let refused = refused.check().unwrap_err();
        assert!(matches!(refused, FormatError::Groups { most: 2, .. }));
    }
}

#[test]
fn round_robin_ends_after_the_chosen_rounds() {
    let cut = LeagueRules {
        rounds: Some(2),
        ..rules()
    };
    let mut world = LeagueWorld::begun_by(cut, 5, 1, 5);
    world.play_on();
    assert!(world.league.is_over());
    assert_eq!(
        (world.league.rounds(), world.league.total_matches()),
        (2, 4)
    );
    let audited = world.audited().unwrap();
    assert_eq!(audited.standings(), world.league.standings());
    let schedule = world.league.schedule();
    let played: Vec<_> = schedule.pairings().collect();
    let full = RoundRobin::new(5, world.league.format_plan().sides);
    assert!(full.pairings().take(4).eq(played.iter().copied()));
    let seats = |one, other| {
        played
            .iter()
            .filter(move |own| own.seats == [one, other] || own.seats == [other, one])
    };
    for (one, other) in (0..5).flat_map(|one| (0..5).map(move |other| (one, other))) {
        assert!(schedule.meetings(one, other).eq(seats(one, other).copied()));
    }
}

#[test]
fn formats_that_cannot_work_are_refused() {
    let refused = |plan: FormatPlan| plan.check().unwrap_err();
    assert_eq!(
        refused(plan("swiss", 2)).to_string(),
        "a Swiss tournament has at least 4 players, not 2: expect more, or choose another format"
    );
    let rounds = |players, rounds| FormatPlan {
        rounds: Some(rounds),
        ..plan("swiss", players)
    };
    assert_eq!(
        refused(rounds(10, 6)),
        FormatError::Rounds {
            players: 10,
            most: 5,
            found: 6
        }
    );
    for found in [0, 65, 999] {
        let (format, most) = ("Swiss tournament", 64);
        assert_eq!(
            refused(rounds(10, found)),
            FormatError::AnyRounds {
                format,
                most,
                found
            }
        );
    }
    assert_eq!(rounds(10, 5).check(), Ok(()));
    let cut = |players, found| FormatPlan {
        rounds: Some(found),
        ..plan("round_robin", players)
    };
    assert_eq!(cut(8, 7).check(), Ok(()));
    for (found, most) in [(0, 7), (8, 7)] {
        let players = 8;
        let expected = FormatError::AllRounds {
            players,
            most,
            found,
        };
        assert_eq!(refused(cut(8, found)), expected);
    }
    for format in ["knockout", "gauntlet"] {
        let with_rounds = FormatPlan {
            rounds: Some(3),
            ..plan(format, 8)
        };
        assert!(matches!(refused(with_rounds), FormatError::OwnRounds(_)));
        assert!(matches!(
            refused(plan(format, 1)),
            FormatError::Players { .. }
        ));
    }
}

/// The formats whose rounds follow from results.
const LISTED: [&str; 6] = [
    "swiss",
    "knockout",
    "double_elimination",
    "groups",
    "gauntlet",
    "ladder",
];

/// A league of the machine in this format, with so many players.
fn league_of(format: &str, players: u32) -> LeagueWorld {
    let mut rules = rules();
    rules.use_format(Format::find(format).unwrap());
    rules.rounds = (format == "ladder").then_some(5);
    LeagueWorld::begun_by(rules, players, 2, 4)
}

#[test]
fn format_without_players_has_no_round() {
    for format in Format::all() {
        for players in 0..2 {
            let plan = FormatPlan {
                format,
                players,
                ..FormatPlan::default()
            };
            let standings = Standings::new(Schedule::new(plan), Score::default());
            assert_eq!(standings.next_round(&|_| true), None, "{format:?}");
        }
    }
}

#[test]
fn journals_of_every_format_pass_the_audit_and_give_the_same_league() {
    for format in LISTED {
        let mut world = league_of(format, 7);
        world.play_on();
        assert!(world.league.is_over(), "{format}");
        assert_eq!(
            world.league.rounds(),
            world.league.round().unwrap().number()
        );
        assert_eq!(world.league.total_matches(), world.league.matches_played());
        let audited = world.audited().unwrap();
        assert_eq!(audited.standings(), world.league.standings(), "{format}");
        assert_eq!(audited.schedule(), world.replayed().schedule(), "{format}");
    }
}

#[test]
fn pairings_that_do_not_follow_from_results_are_found() {
    for format in LISTED {
        let mut world = league_of(format, 8);
        world.play_on();
        for event in &mut world.events {
            if let Event::RoundOpened {
                round: 2, pairings, ..
            } = event
            {
                pairings[0].reverse();
            }
        }
        assert_eq!(
            world.audited().unwrap_err(),
            Inconsistency::Pairings(2),
            "{format}"
        );
    }
    let mut world = league_of("swiss", 7);
    world.play_on();
    for event in &mut world.events {
        if let Event::RoundOpened { byes, .. } = event {
            byes.clear();
        }
    }
    assert_eq!(world.audited().unwrap_err(), Inconsistency::Pairings(1));
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

/// An arena of the machine with so many players, which goes on for a minute.
fn arena(players: u32) -> LeagueWorld {
    let mut rules = rules();
    rules.use_format(Format::find("arena").unwrap());
    rules.duration = Some(Duration::from_secs(60));
    LeagueWorld::begun_by(rules, players, 2, 8)
}

/// The seats of all matches that began, by their ids.
fn begun(world: &LeagueWorld) -> Vec<[String; 2]> {
    let schedule = world.league.schedule();
    let names = schedule
        .pairings()
        .map(|it| it.seats.map(|seat| format!("P{:02}", seat + 1)));
    names.collect()
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
    // Two matches end at once, so that nobody meets its last opponent again.
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

#[test]
fn a_restart_in_an_arena_finds_the_same_pairings() {
    let play = |restarts: bool| {
        let mut world = arena(7);
        for step in 0..12 {
            if restarts && step % 3 == 1 {
                world.restart();
            }
            for (referee, order) in world.orders() {
                world.report(&referee, honest(&order)).unwrap();
            }
            world.settle();
        }
        world
    };
    let (whole, interrupted) = (play(false), play(true));
    assert!(begun(&whole).len() > 20);
    assert_eq!(begun(&interrupted), begun(&whole));
}

#[test]
fn a_restart_between_two_rounds_finds_the_same_pairings() {
    let mut world = league_of("swiss", 6);
    let mut again = league_of("swiss", 6);
    again.restart();
    world.play_on();
    again.play_on();
    assert_eq!(again.league.schedule(), world.league.schedule());
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

#[test]
fn matches_are_played_again_in_a_round_robin_only() {
    let mut world = league_of("swiss", 4);
    for (referee, order) in world.orders() {
        world.report(&referee, honest(&order)).unwrap();
    }
    let match_id = MatchId::numbered(1, 1);
    let refused = world.pull(Lever::Replay { match_id }).unwrap_err();
    assert!(
        refused
            .to_string()
            .contains("no match of a Swiss tournament"),
        "{refused}"
    );
}

#[test]
fn a_league_does_not_start_with_too_few_players_for_its_format() {
    let mut rules = LeagueRules {
        start_when: None,
        ..rules()
    };
    rules.use_format(Format::find("swiss").unwrap());
    let mut world = LeagueWorld::new(rules);
    world.admit_referee("Referee", 1);
    for name in ["A", "B", "C"] {
        world.admit_player(name);
    }
    let refused = world.pull(Lever::Start).unwrap_err();
    assert!(
        refused.to_string().contains("at least `4` players"),
        "{refused}"
    );
    world.admit_player("D");
    world.pull(Lever::Start).unwrap();
    let mut rules = world.league.rules().clone();
    (rules.rounds, rules.start_when) = (Some(3), Some((4, 1)));
    let refused = League::new(rules, LeagueSecrets::one(LeagueSecret([0; 32]))).unwrap_err();
    assert!(matches!(
        refused,
        RulesError::Format(FormatError::Rounds { most: 2, .. })
    ));
}

/// A Swiss tournament of the machine with so many players whose registration stays open.
fn open_swiss(players: u32) -> LeagueWorld {
    let mut rules = rules();
    rules.use_format(Format::find("swiss").unwrap());
    rules.late_entry = true;
    LeagueWorld::begun_by(rules, players, 2, 8)
}

fn play_round(world: &mut LeagueWorld) {
    for (referee, order) in world.orders() {
        world.report(&referee, honest(&order)).unwrap();
    }
    world.settle();
}

fn register(world: &mut LeagueWorld, name: &str) -> Result<PlayerId, String> {
    let candidate = world.candidate(name);
    match world.when(&Command::RegisterPlayer(candidate)).unwrap().1 {
        Reply::Player(RegisterResponse::Rejected { reason }) => Err(reason),
        Reply::Player(RegisterResponse::Accepted(enrolment)) => {
            let agent = Agent::Player(enrolment.id.clone());
            world.tokens.insert(agent, enrolment.token);
            Ok(enrolment.id)
        }
        other => panic!("{other:?}"),
    }
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
fn other_formats_take_no_players_after_their_start() {
    for format in ["round_robin", "knockout", "double_elimination", "gauntlet"] {
        let mut world = league_of(format, 4);
        let reason = register(&mut world, "Late").unwrap_err();
        let begun = "Registration closed: the league has begun; only a Swiss tournament";
        assert!(reason.starts_with(begun), "{format}: {reason}");
        let refused = world.pull(Lever::OpenRegistration { until: None });
        assert!(
            refused
                .unwrap_err()
                .to_string()
                .contains("only a Swiss tournament"),
            "{format}"
        );
        let mut rules = world.league.rules().clone();
        rules.late_entry = true;
        assert!(matches!(
            rules.check_format().unwrap_err(),
            FormatError::LateEntry(_)
        ));
    }
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
