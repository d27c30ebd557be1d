//! What a format promises of the course of a league, worked out from its rounds and results alone: who
//! rests, who has which seat, who goes on, who wins, and the order of a ladder.
//!
//! Leagues with an organiser are left out: how a match counted for later rounds depends on when a
//! lever was pulled.

use std::collections::BTreeSet;

use league_core::league::{League, LeagueRules, Tiebreaker};
use league_protocol::message::MatchStatus;

use super::Oracle;
use super::league::LeagueWatch;
use crate::report::Invariant;
use crate::{CheckResult, breach};

/// With more players it is not searched whether another one could rest.
const MAX_SEARCHED: usize = 10;

/// The rounds of a league; players are numbered in the order of registration.
#[derive(Default)]
pub(crate) struct Course {
    players: usize,
    rounds: Vec<PlayedRound>,
}

#[derive(Default)]
struct PlayedRound {
    matches: Vec<PlayedMatch>,
    byes: Vec<usize>,
}

/// A match and its result.
struct PlayedMatch {
    /// Seat A first.
    players: [usize; 2],
    points: [u32; 2],
    winner: Option<usize>,
    /// Whether both played.
    is_played: bool,
}

impl LeagueWatch {
    /// The rounds so far.
    pub(crate) fn course(&self, league: &League) -> Course {
        let players = league.players();
        let place = |id| players.iter().position(|player| player.id() == id);
        let rounds = (0..).zip(self.rounds()).map(|(index, round)| {
            let first = index * self.a_round as usize;
            let matches = (first..).zip(&round.pairings).filter_map(|(number, pair)| {
                let result = self.result_at(number)?;
                let [a, b] = pair;
                Some(PlayedMatch {
                    players: [place(a)?, place(b)?],
                    points: [result.points_of(a)?, result.points_of(b)?],
                    winner: result.winner.as_ref().and_then(place),
                    is_played: result.status != MatchStatus::TechnicalLoss,
                })
            });
            PlayedRound {
                matches: matches.collect(),
                byes: round.byes.iter().filter_map(place).collect(),
            }
        });
        Course {
            rounds: rounds.collect(),
            players: players.len(),
        }
    }
}

impl Oracle {
    /// Whether a league that is over took the course that its format promises.
    pub(crate) fn check_course(&self, league: &League) -> CheckResult {
        let table = league.standings();
        let first = table.first().and_then(|row| {
            let mut players = league.players().iter();
            players.position(|player| *player.id() == row.player_id)
        });
        let course = self.league.course(league);
        match first.and_then(|first| course.fault(&self.facts.rules, first)) {
            Some(what) if !self.facts.levers => breach(Invariant::FormatsHold, what),
            _ => Ok(()),
        }
    }
}

impl Course {
    /// What is against the rules of the format; `first` leads the table in the end.
    fn fault(&self, rules: &LeagueRules, first: usize) -> Option<String> {
        match rules.format.name() {
            "swiss" => {
                let wrong_seats = || self.wrong_seats().filter(|_| rules.sides_matter);
                self.wrong_rest(rules.legs as usize).or_else(wrong_seats)
            }
            "knockout" => self.wrong_champion(first, 0, 0),
            "double_elimination" => self.wrong_champion(first, 0, 1),
            "groups" => {
                let played = self.group_rounds(rules);
                let has_points_first = rules.tiebreakers.first() == Some(&Tiebreaker::Points);
                let wrong = self.wrong_group(played).filter(|_| has_points_first);
                wrong.or_else(|| self.wrong_champion(first, played, 0))
            }
            _ => None,
        }
    }

    /// At most one player rests, and none while one could that won less often without an opponent.
    fn wrong_rest(&self, legs: usize) -> Option<String> {
        let mut met: BTreeSet<[usize; 2]> = BTreeSet::new();
        let mut free = vec![0; self.players];
        let mut is_known = vec![false; self.players];
        for (number, round) in (1..).zip(&self.rounds) {
            let paired = round.matches.iter().flat_map(|played| played.players);
            let mut present: Vec<usize> = paired.chain(round.byes.iter().copied()).collect();
            present.sort_unstable();
            // A player that has just come counts one.
            let count = |player: usize| free[player] + u32::from(!is_known[player] && number > 1);
            let is_first_leg = legs == 1 || number % legs == 1;
            for &rests in round.byes.iter().filter(|_| is_first_leg) {
                let could_rest = |other: &&usize| {
                    let others = present.iter().copied().filter(|it| it != *other);
                    count(**other) < count(rests)
                        && can_be_paired(&others.collect::<Vec<_>>(), &met)
                };
                let is_searched = present.len() <= MAX_SEARCHED;
                let other = present.iter().filter(|_| is_searched).find(could_rest);
                if let Some(other) = other {
                    return Some(format!("{rests} rests in round {number}, and not {other}"));
                }
            }
            if round.byes.len() > present.len() % 2 {
                return Some(format!("{} rest in round {number}", round.byes.len()));
            }
            present.iter().for_each(|&player| is_known[player] = true);
            round.byes.iter().for_each(|&player| free[player] += 1);
            for played in &round.matches {
                let [a, b] = played.players;
                met.insert([a.min(b), a.max(b)]);
                if let Some(winner) = played.winner.filter(|_| !played.is_played) {
                    free[winner] += 1;
                }
            }
        }
        None
    }

    /// No player has a seat three times more than the other if all are there and play; else two that
    /// must both change seats may be all that can meet.
    fn wrong_seats(&self) -> Option<String> {
        let present = |round: &PlayedRound| {
            let played = round.matches.iter().filter(|it| it.is_played);
            2 * played.count() + round.byes.len()
        };
        if self.rounds.iter().any(|it| present(it) != self.players) {
            return None;
        }
        let mut balance = vec![0_i32; self.players];
        let matches = self.rounds.iter().flat_map(|round| &round.matches);
        for [a, b] in matches.filter(|it| it.is_played).map(|it| it.players) {
            balance[a] += 1;
            balance[b] -= 1;
        }
        let player = balance.iter().position(|balance| balance.abs() > 2)?;
        Some(format!(
            "{player} sat {} times more at A than at B",
            balance[player]
        ))
    }

    /// The first of the table lost no more than so many ties after these rounds: in games in a row
    /// against one opponent it won fewer.
    fn wrong_champion(&self, first: usize, after: usize, most: usize) -> Option<String> {
        let matches = self.rounds.iter().skip(after).flat_map(|it| &it.matches);
        let own = matches.filter(|it| it.players.contains(&first));
        let own: Vec<(usize, Option<usize>)> = own
            .map(|it| (it.players[0] + it.players[1] - first, it.winner))
            .collect();
        let is_lost = |games: &&[(usize, Option<usize>)]| {
            let wins = |player| games.iter().filter(|it| it.1 == Some(player)).count();
            wins(first) < wins(games[0].0)
        };
        let lost = own.chunk_by(|one, other| one.0 == other.0).filter(is_lost);
        let lost = lost.count();
        (lost > most || own.is_empty()).then(|| format!("{first} is first and lost {lost} ties"))
    }

    /// How many rounds groups have before the knockout.
    fn group_rounds(&self, rules: &LeagueRules) -> usize {
        let players = self.players.max(1);
        let usual = 1 << (players / 3).max(2).ilog2();
        let groups = rules.groups.map_or(usual, |groups| groups as usize).max(1);
        let rounds = [players / groups, players.div_ceil(groups)].map(|size| {
            let even = size + size % 2;
            even.saturating_sub(1) * rules.legs as usize
        });
        rounds[0].max(rounds[1])
    }

    /// Two of each group go on after these rounds, and none that stays has more points.
    fn wrong_group(&self, rounds: usize) -> Option<String> {
        let (of_groups, knockout) = self.rounds.split_at(rounds.min(self.rounds.len()));
        let mut group: Vec<usize> = (0..self.players).collect();
        let mut points = vec![0; self.players];
        for played in of_groups.iter().flat_map(|round| &round.matches) {
            let [into, from] = played.players.map(|player| group[player]);
            group
                .iter_mut()
                .filter(|it| **it == from)
                .for_each(|it| *it = into);
            for (player, earned) in played.players.into_iter().zip(played.points) {
                points[player] += earned;
            }
        }
        let paired = knockout.iter().flat_map(|round| &round.matches);
        let on: BTreeSet<usize> = paired.flat_map(|played| played.players).collect();
        let mut groups = group.clone();
        groups.sort_unstable();
        groups.dedup();
        groups.into_iter().find_map(|number| {
            let members = (0..self.players).filter(|&player| group[player] == number);
            let (go, stay): (Vec<usize>, Vec<usize>) = members.partition(|it| on.contains(it));
            let least = go.iter().map(|&player| points[player]).min();
            let most = stay.iter().map(|&player| points[player]).max();
            (go.len() != 2 || most > least).then(|| format!("{go:?} go on, and {stay:?} do not"))
        })
    }

    /// How far each player has come on a ladder, once it has begun.
    pub(crate) fn ladder(&self) -> Vec<u32> {
        if self.rounds.is_empty() {
            return Vec::new();
        }
        let mut order: Vec<usize> = (0..self.players).collect();
        for played in self.rounds.iter().flat_map(|round| &round.matches) {
            let place = |player| order.iter().position(|it| *it == player);
            let Some(winner) = played.winner else {
                continue;
            };
            let loser = played.players[0] + played.players[1] - winner;
            if let (Some(from), Some(to)) = (place(winner), place(loser))
                && from > to
            {
                let player = order.remove(from);
                order.insert(to, player);
            }
        }
        let mut came = vec![0; self.players];
        for (above, player) in (1..).zip(order.into_iter().rev()) {
            came[player] = above;
        }
        came
    }
}

/// Whether all these players can be paired without a second meeting.
fn can_be_paired(players: &[usize], met: &BTreeSet<[usize; 2]>) -> bool {
    let Some((&first, rest)) = players.split_first() else {
        return true;
    };
    rest.iter().any(|&other| {
        let left: Vec<usize> = rest.iter().copied().filter(|it| *it != other).collect();
        !met.contains(&[first, other]) && can_be_paired(&left, met)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rounds of matches, each won by its first player at seat A, and of players that rest.
    fn course(players: usize, rounds: &[(&[[usize; 2]], &[usize])]) -> Course {
        let played = |&players: &[usize; 2]| PlayedMatch {
            players,
            points: [3, 0],
            winner: Some(players[0]),
            is_played: true,
        };
        let rounds = rounds.iter().map(|(matches, byes)| PlayedRound {
            matches: matches.iter().map(played).collect(),
            byes: byes.to_vec(),
        });
        Course {
            players,
            rounds: rounds.collect(),
        }
    }

    #[test]
    fn second_bye_is_found() {
        let first: (&[[usize; 2]], &[usize]) = (&[[0, 1], [2, 3]], &[4]);
        let fair = course(5, &[first, (&[[0, 2], [1, 4]], &[3])]);
        assert_eq!(fair.wrong_rest(1), None);
        let again = course(5, &[first, (&[[0, 2], [1, 3]], &[4])]);
        assert_eq!(
            again.wrong_rest(1).as_deref(),
            Some("4 rests in round 2, and not 0")
        );
        let two = course(4, &[(&[[0, 1]], &[2, 3])]);
        assert_eq!(two.wrong_rest(1).as_deref(), Some("2 rest in round 1"));
    }

    #[test]
    fn third_time_more_at_a_seat_is_found() {
        let rounds: [(&[[usize; 2]], &[usize]); 4] = [
            (&[[0, 1], [2, 3]], &[]),
            (&[[0, 2], [3, 1]], &[]),
            (&[[0, 3], [1, 2]], &[]),
            (&[[0, 1]], &[]),
        ];
        assert_eq!(course(4, &rounds[..2]).wrong_seats(), None);
        assert!(course(4, &rounds[..3]).wrong_seats().is_some());
        let away = [&rounds[..3], &rounds[3..]].concat();
        assert_eq!(course(4, &away).wrong_seats(), None, "two were away");
    }

    #[test]
    fn champion_that_lost_a_tie_is_found() {
        let rounds: [(&[[usize; 2]], &[usize]); 3] =
            [(&[[0, 1], [2, 3]], &[]), (&[[2, 0]], &[]), (&[[0, 2]], &[])];
        let cup = course(4, &rounds);
        assert_eq!(cup.wrong_champion(2, 0, 0), None, "a level tie is not lost");
        assert!(cup.wrong_champion(1, 0, 0).is_some());
        assert_eq!(cup.wrong_champion(1, 0, 1), None);
        assert!(cup.wrong_champion(1, 1, 1).is_some(), "it was not there");
    }

    #[test]
    fn player_of_a_group_that_goes_on_with_fewer_points_is_found() {
        let groups: [(&[[usize; 2]], &[usize]); 3] = [
            (&[[0, 3], [1, 2]], &[]),
            (&[[0, 4], [1, 5]], &[]),
            (&[[3, 4], [2, 5]], &[]),
        ];
        let with = |knockout| course(6, &[&groups[..], &[(knockout, &[])]].concat());
        assert_eq!(with(&[[0, 2], [1, 3]]).wrong_group(3), None);
        assert!(with(&[[0, 2], [1, 4]]).wrong_group(3).is_some());
        assert!(
            with(&[[0, 3]]).wrong_group(3).is_some(),
            "none of the second"
        );
    }

    #[test]
    fn challenger_takes_the_place_of_the_player_that_it_beat() {
        let ladder = course(3, &[(&[[1, 0]], &[]), (&[[2, 0]], &[]), (&[[1, 2]], &[])]);
        assert_eq!(ladder.ladder(), [1, 3, 2]);
    }
}
