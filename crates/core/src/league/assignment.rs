//! Which referee a match is at: it is given to one, waits in its queue, starts within its capacity,
//! and is taken away again.

use league_protocol::id::MatchId;
use league_protocol::time::Timestamp;
use league_protocol::token::AuthToken;

use super::League;
use super::event::Reassignment;
use super::roster::RefereeEntry;
use super::round::{FixtureStage, LeagueFixture, LeagueRound};

impl League {
    /// Assigns a match, unless the manager rules on it: a player is out of it, or its result is
    /// fixed.
    pub(crate) fn place(&mut self, index: u32, referee: Option<u32>, attempt: u32, at: Timestamp) {
        let fixture = self.round.as_ref().and_then(|round| round.fixture(index));
        let Some(fixture) = fixture else { return };
        let out = |seat: u32| {
            let player = self.players.get(seat);
            self.is_gone(seat) || player.is_some_and(|player| fixture.is_unproven(&player.id))
        };
        let to_rule = fixture.is_fixed() || fixture.pairing.seats.into_iter().any(out);
        if !to_rule {
            self.attach(index, referee, attempt, at);
        } else if let Some(round) = &mut self.round
            && let Some(fixture) = round.fixture_mut(index)
        {
            fixture.stage = FixtureStage::Unplayable;
            round.unplayable.insert(index);
        }
    }

    /// What the referee of an attempt shows; a player that does not sign keeps its token.
    pub(crate) fn match_tokens(&self, fixture: &LeagueFixture, attempt: u32) -> [AuthToken; 2] {
        let (league, secret) = (&self.rules.league_id, self.secrets.tokens.keyed());
        let renewed = |seat: usize| {
            let player = self.players.get(fixture.pairing.seats[seat])?;
            let token = secret.match_token(league, &fixture.match_id, &player.id, Some(attempt));
            fixture.signs[seat].then_some(token)
        };
        [0, 1].map(|seat| renewed(seat).unwrap_or_else(|| fixture.tokens[seat].clone()))
    }

    /// Gives a match to a referee: starts it within its capacity, else queues it.
    pub(crate) fn attach(&mut self, index: u32, referee: Option<u32>, attempt: u32, at: Timestamp) {
        let fixture = self.round.as_ref().and_then(|round| round.fixture(index));
        let fixture = fixture.filter(|fixture| fixture.announced_attempt() < attempt);
        let tokens = fixture.map(|fixture| self.match_tokens(fixture, attempt));
        let Some(round) = &mut self.round else { return };
        round.announced.forget();
        let Some(fixture) = round.fixtures.get_mut(index as usize) else {
            return;
        };
        let Some((number, referee)) =
            referee.and_then(|number| Some((number, self.referees.get_mut(number)?)))
        else {
            (fixture.stage, fixture.since) = (FixtureStage::Waiting, at);
            round.waiting.insert(index);
            return;
        };
        (fixture.referee, fixture.attempt) = (Some(number), attempt);
        if let Some(tokens) = tokens {
            fixture.tokens = tokens;
            // Players that sign have to be told what the new referee will show.
            fixture.informed = [0, 1].map(|seat| fixture.informed[seat] && !fixture.signs[seat]);
        }
        fixture.stage = FixtureStage::Queued;
        referee.queue.push_back(index);
        self.queued += 1;
        referee.given += 1;
        self.turn += 1;
        self.hold_order(index, at);
        self.fill(number, at);
    }

    /// Starts a referee's queued matches, up to its capacity.
    pub(crate) fn fill(&mut self, number: u32, at: Timestamp) {
        loop {
            let is_full = self.is_at_limit();
            let Some(round) = &mut self.round else { return };
            let Some(referee) = self.referees.get_mut(number) else {
                return;
            };
            if is_full || referee.running >= referee.capacity {
                return;
            }
            let Some(index) = referee.queue.pop_front() else {
                return;
            };
            self.queued = self.queued.saturating_sub(1);
            start(round, referee, index, at);
        }
    }

    pub(crate) fn hand_over(&mut self, moved: &Reassignment, at: Timestamp) {
        let Some(index) = self.index_now(&moved.match_id) else {
            return;
        };
        self.detach(index);
        let number = moved.to.as_ref().and_then(|id| self.referees.find(id));
        self.place(index, number, moved.attempt, at);
    }

    /// Takes a match from its referee, or out of the waiting matches.
    pub(crate) fn detach(&mut self, index: u32) {
        let Some(round) = &mut self.round else { return };
        round.waiting.remove(&index);
        round.unplayable.remove(&index);
        round.drop_told(index);
        round.announced.forget();
        let Some(fixture) = round.fixtures.get_mut(index as usize) else {
            return;
        };
        fixture.claim = None;
        let Some(number) = fixture.referee.take() else {
            return;
        };
        fixture.former.push(number);
        if let Some(referee) = self.referees.get_mut(number) {
            if fixture.is_started() {
                referee.running = referee.running.saturating_sub(1);
            } else if referee.leaves_queue(index) {
                self.queued = self.queued.saturating_sub(1);
            }
        }
    }

    /// Starts the next queued match of a referee.
    pub(crate) fn take_up(&mut self, next: Option<&MatchId>, at: Timestamp) {
        let Some(index) = next.and_then(|next| self.index_now(next)) else {
            return;
        };
        let Some(round) = &mut self.round else { return };
        let fixture = round.fixture(index);
        let queued = fixture.filter(|fixture| fixture.stage == FixtureStage::Queued);
        let number = queued.and_then(|fixture| fixture.referee);
        if let Some(referee) = number.and_then(|number| self.referees.get_mut(number)) {
            if referee.leaves_queue(index) {
                self.queued = self.queued.saturating_sub(1);
            }
            start(round, referee, index, at);
        }
    }
}

fn start(round: &mut LeagueRound, referee: &mut RefereeEntry, index: u32, at: Timestamp) {
    if let Some(fixture) = round.fixture_mut(index) {
        fixture.stage = FixtureStage::Ordered;
        fixture.since = at;
        if referee.running == 0 {
            referee.member.health.quiet_since = at;
        }
        referee.running += 1;
    }
}
