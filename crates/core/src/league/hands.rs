//! Which hands a match is in: how it comes to a referee, starts there, and is taken away.
//!
//! Whose hands it should be in is decided in `assign.rs`; here it is only noted.

use league_protocol::id::MatchId;
use league_protocol::time::Timestamp;

use super::League;
use super::event::Move;
use super::roster::Referee;
use super::round::{Round, Stage};

impl League {
    /// Puts a match of a new round where it belongs.
    pub(super) fn place(&mut self, index: u32, referee: Option<u32>, attempt: u32, at: Timestamp) {
        let Some(round) = &mut self.round else { return };
        let Some(fixture) = round.fixture_mut(index) else {
            return;
        };
        let out = |seat: u32| {
            let player = self.players.get(seat);
            player.is_some_and(|player| player.shut_down)
        };
        if fixture.pairing.seats.into_iter().any(out) {
            fixture.stage = Stage::Unplayable;
            round.unplayable.insert(index);
        } else {
            self.attach(index, referee, attempt, at);
        }
    }

    /// Gives a match to a referee: at once if it can run one more, else behind the others.
    pub(super) fn attach(&mut self, index: u32, referee: Option<u32>, attempt: u32, at: Timestamp) {
        let Some(round) = &mut self.round else { return };
        let Some(fixture) = round.fixtures.get_mut(index as usize) else {
            return;
        };
        let Some((number, referee)) =
            referee.and_then(|number| Some((number, self.referees.get_mut(number)?)))
        else {
            fixture.stage = Stage::Waiting;
            round.waiting.insert(index);
            return;
        };
        (fixture.referee, fixture.attempt) = (Some(number), attempt);
        fixture.stage = Stage::Queued;
        referee.queue.push_back(index);
        self.queued += 1;
        referee.given += 1;
        self.turn += 1;
        self.fill(number, at);
    }

    /// Starts what waits for a referee, as far as it can run more.
    pub(super) fn fill(&mut self, number: u32, at: Timestamp) {
        let Some(round) = &mut self.round else { return };
        let Some(referee) = self.referees.get_mut(number) else {
            return;
        };
        while referee.running < referee.capacity
            && let Some(index) = referee.queue.pop_front()
        {
            self.queued = self.queued.saturating_sub(1);
            start(round, referee, index, at);
        }
    }

    pub(super) fn hand_over(&mut self, moved: &Move, at: Timestamp) {
        let Some(index) = self.index_now(&moved.match_id) else {
            return;
        };
        self.detach(index);
        let number = moved.to.as_ref();
        let number = number.and_then(|id| self.referees.find(id));
        self.attach(index, number, moved.attempt, at);
    }

    /// Takes a match out of the hands that hold it.
    pub(super) fn detach(&mut self, index: u32) {
        let Some(round) = &mut self.round else { return };
        round.waiting.remove(&index);
        round.unplayable.remove(&index);
        let Some(fixture) = round.fixtures.get_mut(index as usize) else {
            return;
        };
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

    /// Starts the match that a referee takes up after another.
    pub(super) fn take_up(&mut self, next: Option<&MatchId>, at: Timestamp) {
        let Some(index) = next.and_then(|next| self.index_now(next)) else {
            return;
        };
        let Some(round) = &mut self.round else { return };
        let fixture = round.fixture(index);
        let queued = fixture.filter(|fixture| fixture.stage == Stage::Queued);
        let number = queued.and_then(|fixture| fixture.referee);
        if let Some(referee) = number.and_then(|number| self.referees.get_mut(number)) {
            if referee.leaves_queue(index) {
                self.queued = self.queued.saturating_sub(1);
            }
            start(round, referee, index, at);
        }
    }
}

fn start(round: &mut Round, referee: &mut Referee, index: u32, at: Timestamp) {
    if let Some(fixture) = round.fixture_mut(index) {
        fixture.stage = Stage::Ordered;
        fixture.since = at;
        if referee.running == 0 {
            referee.member.health.quiet_since = at;
        }
        referee.running += 1;
    }
}
