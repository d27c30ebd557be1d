//! Leagues whose referees take matches themselves: which matches wait, who may take one, and how a
//! referee that cannot take matches is still given some.
//!
//! The manager gives no match away. A referee takes a match that waits, with the attempt that comes
//! next: of two that want it, one is refused. A match that is taken from its referee waits again.

use std::time::Duration;

use league_protocol::id::MatchId;
use league_protocol::message::TakeMatch;
use league_protocol::time::Timestamp;

use super::command::{Refusal, Reply};
use super::event::{Event, Reassignment};
use super::lever::LeverRefusal;
use super::progress::is_available;
use super::round::{FixtureStage, LeagueFixture, LeagueRound};
use super::{AuthenticatedAgent, Decision, League, Phase};

/// For so many probes others may take a match before a referee that had it, or that players deny
/// having been called by.
const PROBES_FOR_OTHERS: u32 = 3;

impl League {
    /// The matches that referees may take now, in order, each with the attempt that comes next: at
    /// most so many, and no more than may be played. Empty if the manager gives matches away.
    pub fn waiting_matches(&self, most: usize) -> Vec<(&MatchId, u32)> {
        let is_open = self.phase == Phase::Running && !self.paused && !self.end_ordered;
        let round = self.round.as_ref().filter(|_| is_open && self.rules.pool);
        let waiting = round.into_iter().flat_map(waiting);
        let listed = waiting.take(most.min(self.free_places()));
        listed
            .map(|fixture| (&fixture.match_id, fixture.next_attempt()))
            .collect()
    }

    /// A referee takes a match; one that it has already is acknowledged again.
    pub(crate) fn weigh_take(
        &self,
        at: Timestamp,
        caller: &AuthenticatedAgent,
        wanted: &TakeMatch,
    ) -> Result<Decision, Refusal> {
        let (number, referee) = self.calling_referee(caller)?;
        if !self.rules.pool {
            return Err(Refusal::NotAPool);
        }
        let fixture = self.reported(&wanted.match_id)?;
        let is_own = fixture.referee == Some(number) && fixture.attempt == wanted.attempt;
        if is_own && fixture.is_started() {
            return Ok(Decision::reply(Reply::Acknowledged));
        }
        if self.volatile.stopped {
            return Err(Refusal::Stopping);
        }
        self.check_taking(at, fixture, number, wanted.attempt)?;
        if !is_available(referee) {
            return Err(Refusal::Suspended(referee.id.clone()));
        }
        let taken = self.taken(at, fixture, number);
        let events = taken.into_iter().collect();
        Ok(Decision::accept(events, Reply::Acknowledged))
    }

    /// Whether a referee may take a match, as far as the journal tells.
    pub(crate) fn check_taking(
        &self,
        at: Timestamp,
        fixture: &LeagueFixture,
        number: u32,
        attempt: u32,
    ) -> Result<(), Refusal> {
        let match_id = fixture.match_id.clone();
        let referee = self.referees.get(number).ok_or(Refusal::NotAReferee)?;
        let current = match fixture.stage {
            FixtureStage::Finished => return Err(Refusal::Over(match_id)),
            FixtureStage::Waiting => fixture.next_attempt(),
            _ => fixture.attempt,
        };
        if attempt != current {
            return Err(Refusal::OldAttempt {
                match_id,
                current,
                found: attempt,
            });
        }
        let others_until = self.others_until(fixture, number);
        let others_until = others_until.unwrap_or(at + self.time_for_others());
        if fixture.stage != FixtureStage::Waiting {
            Err(Refusal::NotWaiting(match_id))
        } else if self.paused {
            Err(LeverRefusal::Paused.into())
        } else if fixture.needs_proof() && referee.by_documents {
            Err(Refusal::Contested(match_id))
        } else if referee.load() >= u64::from(referee.capacity) {
            Err(Refusal::NoRoom(referee.capacity))
        } else if self.is_at_limit() {
            let most = self.rules.matches_at_once.unwrap_or_default();
            Err(Refusal::ManyMatches(most))
        } else if at < others_until {
            let seconds = others_until.since(at).as_millis().div_ceil(1_000);
            let seconds = u64::try_from(seconds).unwrap_or(u64::MAX);
            Err(Refusal::OthersFirst { match_id, seconds })
        } else {
            Ok(())
        }
    }

    /// Until when only other referees may take a match: this one had it, or players deny its calls.
    /// If a loss that it told is in doubt, or its word in others is, the time begins when those that
    /// are busy have ended their matches; `None` before that.
    fn others_until(&self, fixture: &LeagueFixture, number: u32) -> Option<Timestamp> {
        let referee = self.referees.get(number)?;
        let is_former = fixture.former.contains(&number);
        if referee.is_trusted() && !is_former {
            return Some(fixture.since);
        }
        let mut since = fixture.since;
        if !referee.is_trusted() || !fixture.doubts.is_empty() {
            let others = (0..)
                .zip(&self.referees.members)
                .filter(|(other, referee)| {
                    *other != number && referee.is_trusted() && !fixture.former.contains(other)
                });
            for (_, other) in others {
                if other.load() > 0 {
                    return None;
                }
                since = since.max(other.ended);
            }
        }
        Some(since + self.time_for_others())
    }

    fn time_for_others(&self) -> Duration {
        self.rules.probe_every * PROBES_FOR_OTHERS
    }

    fn taken(&self, at: Timestamp, fixture: &LeagueFixture, number: u32) -> Option<Event> {
        let moved = Reassignment {
            match_id: fixture.match_id.clone(),
            to: Some(self.referees.get(number)?.id.clone()),
            attempt: fixture.next_attempt(),
        };
        Some(Event::MatchesMoved {
            moves: vec![moved],
            next: None,
            at,
        })
    }

    /// The match that the manager takes next for a referee that knows only the documents, for whom,
    /// and when.
    pub(crate) fn next_given<'r>(
        &self,
        round: &'r LeagueRound,
    ) -> Option<(Timestamp, &'r LeagueFixture, u32)> {
        if !self.rules.pool || self.paused || self.is_at_limit() {
            return None;
        }
        let referees = (0..).zip(&self.referees.members);
        let free = referees.filter(|(_, referee)| {
            let has_room = referee.load() < u64::from(referee.capacity);
            referee.member.peer.is_foreign && has_room && is_available(referee)
        });
        let pairs = free.flat_map(|(number, referee)| {
            let proves = !referee.by_documents;
            let waiting = waiting(round).filter(move |fixture| proves || !fixture.needs_proof());
            waiting.map(move |fixture| (number, fixture))
        });
        let due =
            pairs.filter_map(|(number, own)| Some((self.others_until(own, number)?, own, number)));
        due.min_by_key(|(due, own, number)| (*due, own.pairing.index, *number))
    }

    pub(crate) fn give_next(&self, at: Timestamp, round: &LeagueRound) -> Option<Event> {
        let (_, fixture, number) = self.next_given(round)?;
        self.taken(at, fixture, number)
    }

    /// Whether a player is not told of its match in a round yet, because no referee has taken it.
    pub(crate) fn awaits_referee(&self, player: u32, round: &LeagueRound) -> bool {
        let waits = |own: &LeagueFixture| own.stage == FixtureStage::Waiting && !own.was_given();
        let own = || round.fixture(self.pairing_of(player, round.number)?.index);
        self.rules.pool && own().is_some_and(waits)
    }

    /// Whether a referee that shows the key, or is listed, may register: as long as matches may wait
    /// for it, where referees take them themselves.
    pub(crate) fn takes_known_referees(&self) -> bool {
        match self.phase {
            Phase::Registering => true,
            Phase::Running => self.rules.pool,
            Phase::Completed => false,
        }
    }
}

/// The matches of a round that wait for a referee, in order.
fn waiting(round: &LeagueRound) -> impl Iterator<Item = &LeagueFixture> {
    let waiting = round.waiting.iter();
    waiting.filter_map(|&index| round.fixture(index))
}
