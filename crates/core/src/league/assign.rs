//! Which referee runs which match (ruling 22).

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use league_protocol::id::MatchId;
use league_protocol::secret::Commitment;
use league_protocol::time::Timestamp;

use super::League;
use super::event::{Event, Move};
use super::roster::{Referee, Who};
use super::round::{Fixture, Round, Stage};
use super::rules::Assignment;
use crate::draw;

impl League {
    /// The round that begins, with a referee planned for each match.
    pub(super) fn open_round(&self, at: Timestamp, round: u32) -> Event {
        let matches = self.schedule.matches_a_round() as usize;
        let plan = self.plan(matches, |_| true);
        Event::RoundOpened {
            round,
            referees: plan.iter().map(|referee| referee.id.clone()).collect(),
            commitments: self.promises(round),
            at,
        }
    }

    /// The promises on the draws of a round, which anyone may hold against its results.
    fn promises(&self, round: u32) -> Vec<Commitment> {
        let (league, secret) = (&self.rules.league_id, self.secret.keyed());
        let promise = |number| {
            let match_id = MatchId::numbered(round, number);
            draw::commitment(league, &match_id, &secret.seed(league, &match_id))
        };
        (1..=self.schedule.matches_a_round()).map(promise).collect()
    }

    /// Takes all matches from a referee and gives them to others.
    pub(super) fn relieve(&self, at: Timestamp, number: u32) -> Option<Event> {
        let round = self.round.as_ref()?;
        let mut fixtures = round
            .fixtures
            .iter()
            .filter(|fixture| fixture.referee == Some(number) && fixture.stage != Stage::Finished);
        let first = fixtures.next()?;
        let fixtures: Vec<&Fixture> = std::iter::once(first).chain(fixtures).collect();
        Some(Event::MatchesMoved {
            moves: self.moves(&fixtures, |other| other != number),
            next: None,
            at,
        })
    }

    /// Takes one match from its referee, which takes up its next one instead.
    pub(super) fn take_away(&self, at: Timestamp, fixture: &Fixture, number: u32) -> Event {
        self.move_one(at, fixture, number, |other| other != number)
    }

    /// Gives a match that its referee turned down to one that has not had it yet; without one it
    /// waits a while.
    pub(super) fn pass_on(&self, at: Timestamp, fixture: &Fixture, number: u32) -> Event {
        self.move_one(at, fixture, number, |other| {
            other != number && !fixture.former.contains(&other)
        })
    }

    fn move_one(
        &self,
        at: Timestamp,
        fixture: &Fixture,
        from: u32,
        to: impl Fn(u32) -> bool,
    ) -> Event {
        let referee = self.referees.get(from);
        Event::MatchesMoved {
            moves: self.moves(&[fixture], to),
            next: referee.and_then(|referee| self.next_for(referee)),
            at,
        }
    }

    /// Gives the last match of the longest line to a referee that would be idle otherwise.
    ///
    /// Nobody was told to run it, so it is no further attempt.
    pub(super) fn relieve_longest(&self, at: Timestamp, idle: &Referee) -> Option<Event> {
        if self.queued == 0 || idle.running > idle.capacity {
            return None;
        }
        let referees = self.referees.members.iter();
        let longest = referees.max_by_key(|referee| referee.queue.len())?;
        let fixture = self.round.as_ref()?.fixture(*longest.queue.back()?)?;
        let moved = Move {
            match_id: fixture.match_id.clone(),
            to: Some(idle.id.clone()),
            attempt: fixture.attempt,
        };
        Some(Event::MatchesMoved {
            moves: vec![moved],
            next: None,
            at,
        })
    }

    /// Gives the matches that wait to those who can take them by now.
    pub(super) fn give_waiting(&self, at: Timestamp, round: &Round) -> Option<Event> {
        let waiting = round.waiting.iter();
        let fixtures: Vec<&Fixture> = waiting.filter_map(|&index| round.fixture(index)).collect();
        if fixtures.is_empty() || !self.has_referee() {
            return None;
        }
        Some(Event::MatchesMoved {
            moves: self.moves(&fixtures, |_| true),
            next: None,
            at,
        })
    }

    fn moves(&self, fixtures: &[&Fixture], to: impl Fn(u32) -> bool) -> Vec<Move> {
        let plan = self.plan(fixtures.len(), to);
        let mut takers = plan.iter();
        let to_move = |fixture: &&Fixture| {
            let to = takers.next().map(|referee| referee.id.clone());
            Move {
                match_id: fixture.match_id.clone(),
                attempt: fixture.attempt + u32::from(to.is_some() && !is_unheard_of(fixture)),
                to,
            }
        };
        fixtures.iter().map(to_move).collect()
    }

    /// Finds a referee for each of so many matches, of those who may have them; nobody for any if
    /// nobody can be had.
    fn plan(&self, matches: usize, may: impl Fn(u32) -> bool) -> Vec<&Referee> {
        let referees: Vec<&Referee> = (0..)
            .zip(&self.referees.members)
            .filter(|(number, referee)| may(*number) && is_available(referee))
            .map(|(_, referee)| referee)
            .collect();
        if referees.is_empty() {
            return Vec::new();
        }
        match self.rules.assignment {
            Assignment::RoundRobin => {
                let from = usize::try_from(self.turn % referees.len() as u64).unwrap_or(0);
                let turns = referees.iter().cycle().skip(from);
                turns.take(matches).copied().collect()
            }
            Assignment::LeastLoaded => by_load(&referees, matches, |_| 1),
            Assignment::Weighted => by_load(&referees, matches, |referee| referee.capacity),
        }
    }

    /// Whether there is anyone to give a match to.
    pub(super) fn has_referee(&self) -> bool {
        self.referees.members.iter().any(is_available)
    }

    pub(super) fn is_suspended(&self, who: Who) -> bool {
        self.member(who)
            .is_some_and(|member| member.health.suspended_since.is_some())
    }
}

/// Whether its referee was never told to run it, so that another one is no further attempt.
fn is_unheard_of(fixture: &Fixture) -> bool {
    fixture.stage == Stage::Queued
}

fn is_available(referee: &Referee) -> bool {
    referee.member.health.suspended_since.is_none()
}

/// Gives each match to the one whose load would be least for its weight; equals take turns by
/// how many matches they were given in all.
fn by_load<'a>(
    referees: &[&'a Referee],
    matches: usize,
    weight: impl Fn(&Referee) -> u32,
) -> Vec<&'a Referee> {
    /// Loads are compared in so many parts of a match.
    const PARTS: u64 = 1 << 20;
    let key = |referee: &Referee, load: u64| (load + 1) * PARTS / u64::from(weight(referee).max(1));
    let mut heap: BinaryHeap<_> = (0..)
        .zip(referees)
        .map(|(place, referee): (usize, _)| {
            let load = referee.load();
            Reverse((key(referee, load), referee.given, place, load))
        })
        .collect();
    let mut plan = Vec::with_capacity(matches);
    for _ in 0..matches {
        let Some(Reverse((_, given, place, load))) = heap.pop() else {
            break;
        };
        let referee = referees[place];
        plan.push(referee);
        heap.push(Reverse((
            key(referee, load + 1),
            given + 1,
            place,
            load + 1,
        )));
    }
    plan
}
