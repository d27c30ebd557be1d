//! The order in which a player gets its messages: `ROUND_ANNOUNCEMENT`, the match with its
//! `GAME_OVER`, then the standings and the end of the round, then the next announcement (000 §2.5
//! and chapter 8).
//!
//! News wait until the player knows how its match ended, and the order of its next match waits
//! until it has acknowledged the announcement. Both waits are bounded, and they hold up the player's
//! own matches only.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use league_protocol::id::{MatchId, PlayerId};
use league_protocol::message::GameOverTold;
use league_protocol::time::Timestamp;

use super::command::{Refusal, Reply};
use super::event::Event;
use super::report::check_right;
use super::round::LeagueFixture;
use super::{AuthenticatedAgent, Decision, League};

/// The news between two rounds: the standings, the end of a round and the announcement of the next.
const NEWS_BETWEEN_ROUNDS: u32 = 3;

/// Players whose news wait: which round they do not know their result of, and until when they are
/// waited for.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct HeldNews {
    /// By player and round.
    holds: BTreeMap<(u32, u32), Timestamp>,
    /// The same by time.
    ends: BTreeSet<(Timestamp, u32, u32)>,
}

impl HeldNews {
    pub(super) fn is_empty(&self) -> bool {
        self.holds.is_empty()
    }

    fn first_of(&self, player: u32) -> Option<u32> {
        let mut holds = self.holds.range((player, 0)..(player + 1, 0));
        holds.next().map(|((_, round), _)| *round)
    }

    fn earliest(&self) -> Option<Timestamp> {
        self.ends.first().map(|(until, ..)| *until)
    }

    /// The players and rounds that have waited long enough.
    fn until(&self, at: Timestamp) -> impl Iterator<Item = (u32, u32)> {
        let ends = self.ends.iter().take_while(move |(until, ..)| *until <= at);
        ends.map(|(_, player, round)| (*player, *round))
    }

    fn hold(&mut self, player: u32, round: u32, until: Timestamp) {
        self.release(player, round);
        self.holds.insert((player, round), until);
        self.ends.insert((until, player, round));
    }

    fn release(&mut self, player: u32, round: u32) {
        if let Some(until) = self.holds.remove(&(player, round)) {
            self.ends.remove(&(until, player, round));
        }
    }
}

impl League {
    /// A referee tells that players know the result of a match, or cannot be told.
    pub(crate) fn hear_of_telling(
        &self,
        at: Timestamp,
        caller: &AuthenticatedAgent,
        told: &GameOverTold,
    ) -> Result<Decision, Refusal> {
        let (number, _) = self.calling_referee(caller)?;
        let fixture = self.reported(&told.match_id)?;
        check_right(fixture, number, told.attempt)?;
        let seats = self.seats_of(fixture).into_iter().flatten();
        let named =
            |player: &&PlayerId| told.player_id.as_ref().is_none_or(|named| named == *player);
        let players: Vec<PlayerId> = seats.filter(named).cloned().collect();
        if let Some(stranger) = told.player_id.as_ref().filter(|_| players.is_empty()) {
            return Err(Refusal::UnknownPlayer(stranger.clone()));
        }
        let events = self.told(at, fixture, players);
        Ok(Decision::accept(events, Reply::Acknowledged))
    }

    /// Players know the result of a match: what they still have to be told is sent.
    pub(crate) fn told(
        &self,
        at: Timestamp,
        fixture: &LeagueFixture,
        players: Vec<PlayerId>,
    ) -> Vec<Event> {
        if fixture.untold == [false; 2] {
            return Vec::new();
        }
        let round = fixture.pairing.round;
        let released = players.iter().filter_map(|player| {
            let number = self.players.find(player)?;
            let is_next = self.first_hold(number) == Some(round);
            let mut others = self.untold_matches(number, round);
            let is_last = others.all(|index| index == fixture.pairing.index);
            (is_next && is_last).then(|| (player.clone(), round))
        });
        let released: Vec<_> = released.collect();
        let mut events = vec![Event::GameOverTold {
            match_id: fixture.match_id.clone(),
            players,
        }];
        if !released.is_empty() {
            let players = released;
            events.push(Event::NewsReleased { players, at });
        }
        events
    }

    /// The first round whose news wait until the player knows how its match in it ended.
    pub(crate) fn first_hold(&self, player: u32) -> Option<u32> {
        self.volatile.news_held.first_of(player)
    }

    /// The earliest end of a wait.
    pub(crate) fn first_release(&self) -> Option<Timestamp> {
        let orders = self.volatile.orders_held.first().map(|held| held.0);
        let news = self.volatile.news_held.earliest();
        let told = self.round.iter().filter_map(|round| round.told.first());
        let told = told.map(|(until, _)| *until);
        orders.into_iter().chain(news).chain(told).min()
    }

    /// Ends the waits that have taken their time.
    pub(crate) fn release_due(&self, at: Timestamp) -> Vec<Event> {
        let overdue = self.volatile.news_held.until(at);
        let first = overdue.filter(|(player, round)| self.first_hold(*player) == Some(*round));
        let players: Vec<_> = first
            .filter_map(|(player, round)| Some((self.players.get(player)?.id.clone(), round)))
            .collect();
        let orders = self.volatile.orders_held.iter();
        let orders = orders.take_while(|(until, _)| *until <= at);
        let matches: Vec<_> = orders
            .filter_map(|(_, match_id)| Some((match_id.clone(), self.fixture(match_id)?.attempt)))
            .collect();
        let news = (!players.is_empty()).then_some(Event::NewsReleased { players, at });
        let orders = (!matches.is_empty()).then_some(Event::OrdersReleased { matches });
        let told = self.record_told(at);
        news.into_iter().chain(orders).chain(told).collect()
    }

    /// Holds the news of players that do not know yet how their match of the round ended.
    pub(crate) fn hold_news(&mut self, at: Timestamp) {
        let Some(round) = &self.round else { return };
        let timeouts = &self.rules.timeouts;
        let until = at + timeouts.retrying(timeouts.game_over).longest();
        for fixture in &round.fixtures {
            let seats = fixture.pairing.seats.into_iter().zip(fixture.untold);
            for (number, _) in seats.filter(|(_, untold)| *untold) {
                self.volatile.news_held.hold(number, round.number, until);
            }
        }
    }

    /// Holds the news of players that join a further match of the round and do not know yet how
    /// their last one ended.
    pub(crate) fn hold_news_of(&mut self, players: &[PlayerId], at: Timestamp) {
        let Some(round) = self.round.as_ref().map(|round| round.number) else {
            return;
        };
        let timeouts = &self.rules.timeouts;
        let until = at + timeouts.retrying(timeouts.game_over).longest();
        let numbers = players.iter().filter_map(|id| self.players.find(id));
        let untold: Vec<u32> = numbers
            .filter(|&number| self.untold_matches(number, round).next().is_some())
            .collect();
        for number in untold {
            self.volatile.news_held.hold(number, round, until);
        }
    }

    /// The matches of a player in the present round whose result it does not know yet.
    fn untold_matches(&self, player: u32, round: u32) -> impl Iterator<Item = u32> {
        let present = self.round.as_ref().filter(|own| own.number == round);
        let own = self.pairings_of(player, round);
        own.filter(move |own| {
            let fixture = present.and_then(|round| round.fixture(own.index));
            let seat = usize::from(own.seats[1] == player);
            fixture.is_some_and(|fixture| fixture.untold[seat])
        })
        .map(|own| own.index)
    }

    /// A referee tells both players; the manager tells its own ruling to those that it reaches.
    pub(crate) fn await_telling(&mut self, match_id: &MatchId) {
        let Some(fixture) = self.fixture(match_id) else {
            return;
        };
        let has_referee = fixture.referee.is_some();
        let untold = fixture.pairing.seats.map(|number| {
            let player = self.players.get(number);
            has_referee || player.is_some_and(|player| self.is_reached(player))
        });
        if let Some(fixture) = self.fixture_mut(match_id) {
            fixture.untold = untold;
        }
    }

    pub(crate) fn apply_told(&mut self, match_id: &MatchId, players: &[PlayerId]) {
        let numbers: Vec<_> = players.iter().map(|id| self.players.find(id)).collect();
        let Some(fixture) = self.fixture_mut(match_id) else {
            return;
        };
        let (seats, round) = (fixture.pairing.seats, fixture.pairing.round);
        for seat in (0..2).filter(|&seat| numbers.contains(&Some(seats[seat]))) {
            fixture.untold[seat] = false;
        }
        for number in numbers.into_iter().flatten() {
            if self.untold_matches(number, round).next().is_none() {
                self.volatile.news_held.release(number, round);
            }
        }
    }

    /// The news of players leave now, and the orders of their matches wait for the announcement.
    pub(crate) fn release_news(&mut self, players: &[(PlayerId, u32)], at: Timestamp) {
        for (player, round) in players {
            let Some(number) = self.players.find(player) else {
                continue;
            };
            self.volatile.news_held.release(number, *round);
            self.give_up_telling(number, *round);
            let round = self.round.as_ref().map(|round| round.number);
            let own = round.and_then(|round| self.pairing_of(number, round));
            if let Some(own) = own {
                self.hold_order(own.index, at);
            }
        }
    }

    /// In a round that grows, a result that a player was told in vain holds up none of its next
    /// matches.
    fn give_up_telling(&mut self, player: u32, round: u32) {
        let untold: Vec<u32> = self.untold_matches(player, round).collect();
        let present = self.round.as_mut().filter(|round| !round.closed);
        let Some(present) = present else { return };
        for index in untold {
            if let Some(fixture) = present.fixture_mut(index) {
                let seat = usize::from(fixture.pairing.seats[1] == player);
                fixture.untold[seat] = false;
            }
        }
    }

    /// Holds the order of a match until its players know it, for as long as they may take to
    /// acknowledge the announcement and the news before it.
    pub(crate) fn hold_order(&mut self, index: u32, at: Timestamp) {
        let seats = self.round.as_ref().and_then(|round| round.fixture(index));
        let mut seats = seats.into_iter().flat_map(|fixture| fixture.pairing.seats);
        let waits_for_news = seats.any(|seat| self.first_hold(seat).is_some());
        let until = at + self.news_timeout(index);
        let fixture = self.round.as_mut();
        let Some(fixture) = fixture.and_then(|round| round.fixture_mut(index)) else {
            return;
        };
        if fixture.informed == [true; 2] || !fixture.was_given() || waits_for_news {
            return;
        }
        let held = &mut self.volatile.orders_held;
        if let Some(before) = fixture.held_until.replace(until) {
            held.remove(&(before, fixture.match_id.clone()));
        }
        held.insert((until, fixture.match_id.clone()));
    }

    /// How long the players of a match may take to acknowledge its announcement, and all news since
    /// their last match.
    fn news_timeout(&self, index: u32) -> Duration {
        let timeout = self.rules.timeouts.other;
        let round = self.round.as_ref().filter(|round| round.number > 1);
        let fixture = round.and_then(|round| round.fixture(index));
        let Some(fixture) = fixture.filter(|fixture| fixture.former.is_empty()) else {
            return timeout;
        };
        let before = fixture.pairing.round - 1;
        let rested = |seat: &u32| self.pairing_of(*seat, before).is_none();
        let rounds = if fixture.pairing.seats.iter().any(rested) {
            2
        } else {
            1
        };
        timeout.saturating_mul(NEWS_BETWEEN_ROUNDS * rounds)
    }

    /// Forgets that an order waits: it does not, or not before a letter is sent again that could not
    /// leave this machine.
    pub(crate) fn drop_hold(&mut self, match_id: &MatchId) {
        let fixture = self.fixture_mut(match_id);
        if let Some(until) = fixture.and_then(|fixture| fixture.held_until.take()) {
            self.volatile.orders_held.remove(&(until, match_id.clone()));
        }
    }

    /// Orders wait for the announcements that this process sends.
    pub(crate) fn hold_orders_anew(&mut self, at: Timestamp) {
        let fixtures = self.round.iter().flat_map(|round| &round.fixtures);
        let held = fixtures.filter(|fixture| fixture.held_until.is_some());
        let held: Vec<u32> = held.map(|fixture| fixture.pairing.index).collect();
        for index in held {
            self.hold_order(index, at);
        }
    }

    /// Players had their time to acknowledge these attempts of matches. One that did not is not
    /// waited for again before it acknowledges news.
    pub(crate) fn release_orders(&mut self, matches: &[(MatchId, u32)]) {
        for (match_id, attempt) in matches {
            self.drop_hold(match_id);
            let fixture = self.fixture_mut(match_id);
            let Some(fixture) = fixture.filter(|fixture| fixture.attempt == *attempt) else {
                continue;
            };
            let missing = std::mem::replace(&mut fixture.informed, [true; 2]).map(|told| !told);
            let seats = fixture.pairing.seats.into_iter().zip(missing);
            for (number, _) in seats.filter(|(_, missing)| *missing) {
                if let Some(player) = self.players.get_mut(number) {
                    player.ignores_news = true;
                }
            }
        }
    }

    /// A player has acknowledged an announcement, or was told in vain. A player that does not sign
    /// knows every attempt at once.
    pub(crate) fn inform_player(
        &mut self,
        match_id: &MatchId,
        attempt: u32,
        player: &PlayerId,
        answered: bool,
    ) {
        let number = self.players.find(player);
        if let Some(player) = number.and_then(|number| self.players.get_mut(number)) {
            player.ignores_news = !answered;
        }
        if let Some(fixture) = self.fixture_mut(match_id) {
            let seats = fixture.pairing.seats.iter();
            let seat = seats.into_iter().position(|seat| Some(*seat) == number);
            if let Some(seat) = seat
                && (!fixture.signs[seat] || attempt == fixture.announced_attempt())
            {
                fixture.informed[seat] = true;
            }
            if fixture.informed == [true; 2] {
                self.drop_hold(match_id);
            }
        }
    }
}
