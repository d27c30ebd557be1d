//! Watches the levers of the organiser, and counts by them on its own: which matches count and how,
//! who is out, and what must not happen while the league is paused.

use std::collections::{BTreeMap, BTreeSet};

use league_core::league::{Effect, Event, ExitCause, League, Lever, PlayedMatches};
use league_protocol::id::{MatchId, PlayerId};
use league_protocol::message::{MatchResult, MatchStatus, StartMatch};

use super::league::LeagueWatch;
use super::{Oracle, number};
use crate::report::Invariant;
use crate::{CheckResult, breach};

/// What the levers in the journal add up to.
#[derive(Default)]
pub(crate) struct LeverWatch {
    paused: bool,
    pub(crate) ended: bool,
    /// Players that the organiser put out.
    out: BTreeSet<PlayerId>,
    /// Those of which no match counts.
    pub(crate) annulled: BTreeSet<PlayerId>,
    /// Those that were removed or disqualified: they come last.
    pub(crate) penalised: BTreeSet<PlayerId>,
    /// How matches count that the organiser amended, by the number of the regular match.
    amended: BTreeMap<usize, Amended>,
    /// The regular match that each additional one stands for.
    stands_for: BTreeMap<usize, usize>,
    /// Matches that the organiser ended before they had a result.
    closed: BTreeSet<usize>,
    /// How many matches each additional round has.
    extra: BTreeMap<u32, u32>,
    /// The seconds by which the clocks of players and of matches were extended.
    player_seconds: BTreeMap<PlayerId, u32>,
    match_seconds: BTreeMap<MatchId, u32>,
}

#[derive(Default)]
struct Amended {
    /// The additional match that counts instead.
    replay: Option<usize>,
    ruling: Option<Ruling>,
    annulled: bool,
}

#[derive(Clone)]
enum Ruling {
    Winner(PlayerId),
    Draw,
    BothLose,
}

/// How a match ended for one seat.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SeatEnd {
    Won,
    Drew,
    Lost,
    Failed,
}

/// A match that counts.
pub(crate) struct CountedMatch {
    pub(crate) players: [PlayerId; 2],
    pub(crate) ends: [SeatEnd; 2],
}

impl CountedMatch {
    fn of(result: &MatchResult) -> Self {
        let end = |player: &PlayerId| match result.status {
            MatchStatus::Draw => SeatEnd::Drew,
            _ if result.winner.as_ref() == Some(player) => SeatEnd::Won,
            _ if result.failed.contains_key(player) => SeatEnd::Failed,
            _ => SeatEnd::Lost,
        };
        Self {
            ends: result.players.each_ref().map(end),
            players: result.players.clone(),
        }
    }

    fn ruled(players: [PlayerId; 2], ruling: &Ruling) -> Self {
        let end = |player: &PlayerId| match ruling {
            Ruling::Winner(winner) if winner == player => SeatEnd::Won,
            Ruling::Winner(_) | Ruling::BothLose => SeatEnd::Lost,
            Ruling::Draw => SeatEnd::Drew,
        };
        Self {
            ends: players.each_ref().map(end),
            players,
        }
    }
}

impl LeverWatch {
    /// How many additional rounds there are.
    pub(crate) fn extra_rounds(&self) -> u32 {
        u32::try_from(self.extra.len()).unwrap_or(u32::MAX)
    }

    /// How many matches an additional round has; `None` for a regular one.
    pub(crate) fn extra_matches(&self, round: u32) -> Option<u32> {
        self.extra.get(&round).copied()
    }

    pub(crate) fn is_closed(&self, number: usize) -> bool {
        self.closed.contains(&number)
    }

    /// No round opens and no league ends by itself while it is paused.
    pub(crate) fn check_going(&self, what: &str) -> CheckResult {
        if !self.paused {
            return Ok(());
        }
        breach(Invariant::LeversHold, format!("{what} in a pause"))
    }

    /// Takes in a lever that puts a player out.
    fn put_out(&mut self, lever: &Lever) {
        let Some((player, cause, played)) = lever.put_out() else {
            return;
        };
        self.out.insert(player.clone());
        match cause {
            ExitCause::Removed | ExitCause::Disqualified => self.penalised.insert(player.clone()),
            ExitCause::Withdrawn | ExitCause::Losses => self.penalised.remove(player),
        };
        // The organiser may think better of it.
        match played {
            PlayedMatches::Annulled => self.annulled.insert(player.clone()),
            PlayedMatches::Kept => self.annulled.remove(player),
        };
    }
}

impl LeagueWatch {
    /// Takes a lever in.
    pub(crate) fn act(&mut self, lever: &Lever, effect: &Effect) {
        let place = |match_id: &MatchId, watch: &Self| number(match_id, watch.a_round);
        self.levers.put_out(lever);
        match lever {
            Lever::Pause => self.levers.paused = true,
            Lever::Resume => self.levers.paused = false,
            Lever::End => self.levers.ended = true,
            Lever::Reinstate { player_id } => {
                self.levers.out.remove(player_id);
                self.levers.annulled.remove(player_id);
                self.levers.penalised.remove(player_id);
                self.take_in(player_id);
            }
            Lever::ExtendPlayer { player_id, seconds } => {
                let sum = self.levers.player_seconds.entry(player_id.clone());
                *sum.or_default() += seconds;
            }
            Lever::ExtendMatch { match_id, seconds } => {
                let sum = self.levers.match_seconds.entry(match_id.clone());
                *sum.or_default() += seconds;
            }
            Lever::Annul { match_id } => {
                self.amend(place(match_id, self), |amended| {
                    (amended.annulled, amended.ruling) = (true, None);
                });
            }
            Lever::Rule {
                match_id,
                winner,
                both_lose,
            } => {
                let ruling = match (winner, both_lose) {
                    (Some(winner), _) => Ruling::Winner(winner.clone()),
                    (None, true) => Ruling::BothLose,
                    (None, false) => Ruling::Draw,
                };
                self.amend(place(match_id, self), |amended| {
                    (amended.annulled, amended.ruling) = (false, Some(ruling));
                });
            }
            Lever::Replay { match_id } => {
                let replay = effect.replay.as_ref();
                let again = replay.and_then(|replay| place(replay, self));
                let regular = place(match_id, self).map(|number| self.regular(number));
                if let (Some(again), Some(regular), Some(replay)) = (again, regular, replay) {
                    let round = replay.numbers().map_or(0, |(round, _)| round);
                    *self.levers.extra.entry(round).or_default() += 1;
                    self.levers.stands_for.insert(again, regular);
                    let amended = Amended {
                        replay: Some(again),
                        ..Amended::default()
                    };
                    self.levers.amended.insert(regular, amended);
                }
            }
            _ => {}
        }
    }

    /// The regular match that a match stands for.
    fn regular(&self, number: usize) -> usize {
        let stands_for = self.levers.stands_for.get(&number);
        stands_for.copied().unwrap_or(number)
    }

    /// Amends a match; an open match is over by it.
    fn amend(&mut self, number: Option<usize>, change: impl FnOnce(&mut Amended)) {
        let Some(number) = number else { return };
        let regular = self.regular(number);
        change(self.levers.amended.entry(regular).or_default());
        if !self.has_result(number) && self.levers.closed.insert(number) {
            self.fill();
        }
    }

    /// The matches that count, each once: as they ended, or as the organiser ruled.
    pub(crate) fn counted(&self, league: &League) -> Vec<CountedMatch> {
        let regular = self
            .numbers()
            .filter(|&number| self.regular(number) == number);
        let counted = regular.filter_map(|number| {
            let amended = self.levers.amended.get(&number);
            let present = amended.and_then(|amended| amended.replay).unwrap_or(number);
            if amended.is_some_and(|amended| amended.annulled) {
                return None;
            }
            let ruling = amended.and_then(|amended| amended.ruling.as_ref());
            match ruling {
                Some(ruling) => Some(CountedMatch::ruled(self.seats(league, number)?, ruling)),
                None => self.result_at(present).map(CountedMatch::of),
            }
        });
        let annulled = &self.levers.annulled;
        let counts =
            |counted: &CountedMatch| !counted.players.iter().any(|id| annulled.contains(id));
        counted.filter(counts).collect()
    }

    /// The players of a regular match.
    fn seats(&self, league: &League, number: usize) -> Option<[PlayerId; 2]> {
        let a_round = (self.a_round as usize).max(1);
        let (round, index) = (number / a_round + 1, number % a_round);
        let place = league.pairing(u32::try_from(round).ok()?, u32::try_from(index).ok()?)?;
        let [a, b] = place.seats.map(|seat| league.players().get(seat as usize));
        Some([a?.id().clone(), b?.id().clone()])
    }
}

impl Oracle {
    /// A lever is in the journal: the table follows it at once, and the match keeps its result.
    pub(crate) fn check_lever(&self, league: &League, event: &Event) -> CheckResult {
        let Event::OrganiserActed { act, .. } = event else {
            return Ok(());
        };
        self.check_table(league)?;
        if league.is_paused() != self.league.levers.paused {
            return breach(
                Invariant::LeversHold,
                format!("`{}` has no effect", act.name()),
            );
        }
        let (Lever::Annul { match_id } | Lever::Rule { match_id, .. } | Lever::Replay { match_id }) =
            &**act
        else {
            return Ok(());
        };
        let kept = league
            .fixture(match_id)
            .and_then(|fixture| fixture.result());
        let recorded = self.league.result(match_id);
        // A league keeps only the results of its last rounds; the journal has all.
        if kept.is_some_and(|kept| recorded.is_none_or(|recorded| **recorded != **kept)) {
            let what = format!("`{match_id}` lost its result to a lever");
            return breach(Invariant::LeversHold, what);
        }
        Ok(())
    }

    /// A match begins: not in a pause, not for a player that is out, and not after the organiser
    /// ended it.
    pub(crate) fn check_beginning(&mut self, order: &StartMatch) -> CheckResult {
        let levers = &self.league.levers;
        let players = order.players.iter();
        let mut out = players.filter(|seated| levers.out.contains(&seated.player_id));
        if let Some(out) = out.next() {
            let what = format!(
                "`{}` begins for `{}`, who is out",
                order.match_id, out.player_id
            );
            return breach(Invariant::LeversHold, what);
        }
        let number = number(&order.match_id, self.facts.matches_a_round());
        if number.is_some_and(|number| levers.is_closed(number)) {
            let what = format!("`{}` begins and is over", order.match_id);
            return breach(Invariant::LeversHold, what);
        }
        for seated in &order.players {
            let of_match = levers.match_seconds.get(&order.match_id);
            let of_player = levers.player_seconds.get(&seated.player_id);
            let due: u32 = of_match.into_iter().chain(of_player).sum();
            if seated.extra_seconds.unwrap_or(0) != due {
                let what = format!(
                    "`{}` has other clocks than the organiser set",
                    order.match_id
                );
                return breach(Invariant::LeversHold, what);
            }
        }
        if self.begun.contains(&order.match_id) {
            return Ok(());
        }
        levers.check_going(order.match_id.as_str())?;
        self.begun.insert(order.match_id.clone());
        Ok(())
    }

    /// No match is lost: each has a result or was ended by a lever, unless the league ended early.
    pub(crate) fn check_all_settled(&self) -> CheckResult {
        if self.league.levers.ended {
            return Ok(());
        }
        let lost = self.league.numbers().find(|&number| {
            !self.league.has_result(number) && !self.league.levers.is_closed(number)
        });
        match lost {
            None => Ok(()),
            Some(number) => breach(
                Invariant::LeversHold,
                format!("match {number} has no result and no lever ended it"),
            ),
        }
    }
}
