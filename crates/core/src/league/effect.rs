//! How each lever of the organiser changes the league. `pull.rs` has checked it before.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use league_protocol::id::{MatchId, PlayerId};
use league_protocol::sender::Agent;
use league_protocol::time::Timestamp;
use league_protocol::token::{AuthToken, TokenHash};

use super::League;
use super::Phase;
use super::lever::{Amendment, Effect, KeptSeat, Lever, PlayedMatches, READMISSION};
use super::pull::roster_of;
use super::roster::{AgentIndex, ExitCause, Expulsion, Seat, folded, place};
use super::round::{FixtureStage, read_match_id};
use super::schedule::Pairing;
use super::standings::MatchEnding;

/// Who is let in, besides the rules of the league.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct RegistrationState {
    /// Whether the organiser closed it.
    pub(crate) closed: bool,
    /// When it closes by itself.
    pub(crate) until: Option<Timestamp>,
    /// How many players have a seat at most.
    pub(crate) capacity: u32,
    /// How many players more may wait for one.
    pub(crate) waiting: u32,
    /// The digest of the join code that the organiser set.
    pub(crate) code: Option<TokenHash>,
    /// Whether the organiser set or removed the join code, so that a configured one is void.
    pub(crate) has_own_code: bool,
    /// The names of the roster, in the form in which names are compared; `None` admits all.
    pub(crate) roster: Option<BTreeSet<String>>,
    /// The addresses at which several players may answer, in the form of [`place`].
    pub(crate) shared: BTreeSet<String>,
    /// The seats that are kept for agents of an earlier league, by the form of their names.
    pub(crate) kept: BTreeMap<String, KeptSeat>,
    /// The agents that may register once without proof, and until when.
    pub(crate) readmitted: BTreeMap<Agent, Timestamp>,
}

impl RegistrationState {
    /// Whether a new player may come at this time.
    pub(crate) fn is_open(&self, at: Timestamp) -> bool {
        !self.closed && self.until.is_none_or(|until| at < until)
    }

    /// Whether a seat is kept for an agent.
    pub(crate) fn keeps(&self, agent: &Agent) -> bool {
        self.kept.values().any(|seat| seat.agent == *agent)
    }

    /// The kept seat of this name, unless it is this agent's own.
    pub(crate) fn kept_from(&self, name: &str, agent: Option<&Agent>) -> Option<&KeptSeat> {
        let seat = self.kept.get(&folded(name))?;
        (agent != Some(&seat.agent)).then_some(seat)
    }

    /// The kept seat of the agent that shows this token.
    pub(crate) fn kept_by(&self, token: TokenHash) -> Option<&KeptSeat> {
        self.kept.values().find(|seat| seat.proofs.contains(&token))
    }

    /// Whether the roster has this name.
    pub(crate) fn lists(&self, name: &str) -> bool {
        let roster = self.roster.as_ref();
        roster.is_none_or(|roster| roster.contains(&folded(name)))
    }
}

impl League {
    /// Whether new players are admitted at this time, and until when.
    pub fn registration(&self, at: Timestamp) -> (bool, Option<Timestamp>) {
        let is_open = self.takes_players() && self.is_in_time(at) && self.registration.is_open(at);
        (is_open, self.registration.until)
    }

    /// Whether a player that comes now can still play, if registration is open.
    pub(crate) fn takes_players(&self) -> bool {
        match self.phase {
            Phase::Registering => true,
            Phase::Running => self.schedule().takes_late_entrants(),
            Phase::Completed => false,
        }
    }

    /// How many players have a seat at most.
    pub fn capacity(&self) -> u32 {
        self.registration.capacity
    }

    /// Whether the organiser set or removed the join code, so that a configured one is void.
    pub fn has_own_join_code(&self) -> bool {
        self.registration.has_own_code
    }

    /// Whether a new player gets a seat, or a place to wait.
    pub(crate) fn has_room(&self) -> bool {
        let may_wait = || self.waiting_players().count() < self.registration.waiting as usize;
        self.players.seated() < self.registration.capacity || may_wait()
    }

    /// Changes the league by a lever that the organiser pulled.
    #[expect(clippy::too_many_lines, reason = "one arm for each lever")]
    pub(crate) fn obey(&mut self, lever: &Lever, effect: &Effect, at: Timestamp) {
        match lever {
            Lever::Start => self.start_ordered = true,
            Lever::Pause => self.paused = true,
            Lever::Resume => {
                self.paused = false;
                // Waiting matches are looked at again.
                self.volatile.referee_came = true;
            }
            Lever::OpenRegistration { until } => {
                (self.registration.closed, self.registration.until) = (false, *until);
            }
            Lever::CloseRegistration => self.registration.closed = true,
            Lever::SetCapacity { players, waiting } => {
                (self.registration.capacity, self.registration.waiting) = (*players, *waiting);
                self.give_seats(&effect.seated);
            }
            Lever::SetJoinCode => {
                (self.registration.code, self.registration.has_own_code) = (effect.token, true);
            }
            Lever::SetRoster { names } => self.registration.roster = roster_of(names),
            Lever::AdmitReferee { contact_endpoint } => {
                self.invited.insert(place(contact_endpoint));
            }
            Lever::ShareAddress { contact_endpoint } => {
                self.registration.shared.insert(place(contact_endpoint));
            }
            Lever::Rename { agent, name } => self.rename(agent, name.trim()),
            Lever::Withdraw { .. } | Lever::Remove { .. } | Lever::Disqualify { .. } => {
                if let Some((player_id, cause, played)) = lever.put_out() {
                    self.put_player_out(player_id, cause, played, at);
                }
                self.give_seats(&effect.seated);
            }
            Lever::Reinstate { player_id } => self.take_in_again(player_id, at),
            Lever::Annul { match_id } => self.amend(match_id, |amended| {
                (amended.annulled, amended.ruled) = (true, None);
            }),
            Lever::Replay { match_id } => self.play_again_later(match_id, effect.replay.as_ref()),
            Lever::Rule {
                match_id,
                winner,
                both_lose,
            } => self.rule(match_id, winner.as_ref(), *both_lose),
            Lever::ExtendMatch { match_id, seconds } => {
                if let Some(fixture) = self.fixture_mut(match_id) {
                    fixture.extra_time = fixture.extra_time.saturating_add(*seconds);
                }
            }
            Lever::ExtendPlayer { player_id, seconds } => {
                let number = self.players.find(player_id);
                if let Some(player) = number.and_then(|number| self.players.get_mut(number)) {
                    player.extra_time = player.extra_time.saturating_add(*seconds);
                }
            }
            Lever::NewToken { agent } => self.renew_token(agent, effect.token, at),
            Lever::Readmit { agent } => {
                let until = at + READMISSION;
                self.registration.readmitted.insert(agent.clone(), until);
            }
            Lever::TakeOver { seats, .. } => {
                let seats = seats.iter().map(|seat| (folded(&seat.name), seat.clone()));
                self.registration.kept.extend(seats);
            }
            Lever::Announce { .. } => {}
            Lever::End => self.end_ordered = true,
        }
    }

    /// Gives waiting players their seats.
    fn give_seats(&mut self, players: &[PlayerId]) {
        for id in players {
            let number = self.players.find(id);
            if let Some(player) = number.and_then(|number| self.players.get_mut(number)) {
                player.seat = Seat::Taken;
            }
        }
        if !players.is_empty() {
            self.number_players(false);
            self.admit_late();
        }
    }

    /// A name that the organiser gives stays; the agent is still known by its own.
    fn rename(&mut self, agent: &Agent, name: &str) {
        let Some(index) = self.find_agent(agent) else {
            return;
        };
        self.names.insert(folded(name), index);
        if let Some(member) = self.member_mut(index) {
            member.name = Arc::from(name);
            member.has_given_name = true;
        }
        self.standings.forget_table();
    }

    /// Before the start the seat is free again; later the player stays in the schedule and is out.
    fn put_player_out(
        &mut self,
        id: &PlayerId,
        cause: ExitCause,
        played: PlayedMatches,
        at: Timestamp,
    ) {
        let Some(number) = self.players.find(id) else {
            return;
        };
        if self.phase == Phase::Registering {
            self.vacate(number);
            return;
        }
        let round = self.round.as_ref().map_or(0, |round| round.number);
        let who = AgentIndex::Player(number);
        let (was_out, was_annulled) = (self.is_gone(number), self.is_annulled(number));
        self.volatile.suspended.remove(&who);
        if let Some(player) = self.players.get_mut(number) {
            player.expulsion = Some(Expulsion {
                round,
                losses: player.forfeits,
                is_absence: false,
                cause,
                is_annulled: played == PlayedMatches::Annulled,
            });
            let is_penalty = player.expulsion.is_some_and(|it| it.is_penalty());
            self.standings.put_last(number, is_penalty);
        }
        if was_annulled != self.is_annulled(number) {
            self.count_matches_of(number);
        }
        if !was_out
            && let Some(own) = self.pairing_of(number, round)
            && self.is_open_place(own.index)
        {
            self.play_after_all(own.index, at);
        }
    }

    /// Whether a match of the present round has no end yet.
    fn is_open_place(&self, index: u32) -> bool {
        let round = self.round.as_ref();
        let fixture = round.and_then(|round| round.fixture(index));
        fixture.is_some_and(|fixture| fixture.stage != FixtureStage::Finished)
    }

    /// Frees the seat, the name and the address of a player before the start.
    fn vacate(&mut self, number: u32) {
        let who = AgentIndex::Player(number);
        self.names.retain(|_, holder| *holder != who);
        self.endpoints.retain(|_, holder| *holder != who);
        self.tokens.retain(|_, holder| *holder != who);
        if let Some(player) = self.players.get_mut(number) {
            player.seat = Seat::GivenUp;
        }
        self.number_players(false);
    }

    /// A player that is out takes part again; results that did not count for it do.
    fn take_in_again(&mut self, id: &PlayerId, at: Timestamp) {
        let Some(number) = self.players.find(id) else {
            return;
        };
        if self.phase == Phase::Registering {
            let member = self.players.get_mut(number).map(|player| {
                player.seat = Seat::Taken;
                player.member.clone()
            });
            if let Some(member) = member {
                self.index(&member, AgentIndex::Player(number));
            }
            self.number_players(false);
            return;
        }
        let was_annulled = self.is_annulled(number);
        self.reinstate(id, at);
        self.standings.put_last(number, false);
        if was_annulled {
            self.count_matches_of(number);
        }
    }

    /// Whether no match of a player counts.
    pub(crate) fn is_annulled(&self, player: u32) -> bool {
        let player = self.players.get(player);
        player.is_some_and(|player| player.is_annulled())
    }

    /// Counts all matches of a player anew.
    fn count_matches_of(&mut self, player: u32) {
        let reached = self.round.as_ref().map_or(0, |round| round.number);
        for round in 1..=reached.min(self.schedule().rounds()) {
            let own: Vec<Pairing> = self.schedule().pairings_of(player, round).collect();
            for pairing in own {
                self.recount(pairing, |_| {});
            }
        }
        self.standings.count_byes(player, !self.is_annulled(player));
    }

    /// Changes what is noted of a match, and counts it anew.
    fn recount(&mut self, place: Pairing, change: impl FnOnce(&mut Amendment)) {
        let recorded = self.standings.ending(place);
        let amended = self.amended.entry((place.round, place.index));
        let amended = amended.or_insert_with(|| Amendment {
            recorded,
            ..Default::default()
        });
        change(amended);
        let ending = amended.ending();
        let counts = !place.seats.iter().any(|seat| self.is_annulled(*seat));
        self.standings.count(place, ending.filter(|_| counts));
    }

    /// Counts a result that is recorded now, unless the organiser said otherwise.
    pub(crate) fn count_result(&mut self, pairing: Pairing, ending: MatchEnding) {
        let place = self.counts_for(pairing);
        let is_plain = self.amendment(place).is_none()
            && !place.seats.iter().any(|seat| self.is_annulled(*seat));
        if is_plain {
            self.standings.note(place, ending);
        } else {
            self.recount(place, |amended| amended.recorded = Some(ending));
        }
    }

    /// Amends a match, and closes it if it is still played.
    fn amend(&mut self, match_id: &MatchId, change: impl FnOnce(&mut Amendment)) {
        let place = read_match_id(match_id).and_then(|(round, index)| self.pairing(round, index));
        let Some(place) = place else { return };
        self.recount(self.counts_for(place), change);
        self.close_match(match_id);
    }

    fn rule(&mut self, match_id: &MatchId, winner: Option<&PlayerId>, both_lose: bool) {
        let place = read_match_id(match_id).and_then(|(round, index)| self.pairing(round, index));
        let place = place.map(|place| self.counts_for(place));
        let ending = place.and_then(|place| self.ruled_ending(place, winner, both_lose));
        self.amend(match_id, |amended| {
            (amended.ruled, amended.annulled) = (ending, false);
        });
    }

    /// Ends a match of the present round without a result of its own; its referee drops it.
    fn close_match(&mut self, match_id: &MatchId) {
        let Some(index) = self.index_now(match_id) else {
            return;
        };
        if !self.is_open_place(index) {
            return;
        }
        self.drop_hold(match_id);
        self.detach(index);
        if let Some(round) = &mut self.round {
            round.open = round.open.saturating_sub(1);
            if let Some(fixture) = round.fixture_mut(index) {
                fixture.stage = FixtureStage::Finished;
            }
        }
    }

    /// Puts a match into the additional rounds; its result does not count from now on.
    fn play_again_later(&mut self, match_id: &MatchId, replay: Option<&MatchId>) {
        let place = read_match_id(match_id).and_then(|(round, index)| self.pairing(round, index));
        let Some(place) = place.map(|place| self.counts_for(place)) else {
            return;
        };
        let (round, _) = self.next_extra(place);
        let number = round.saturating_sub(self.schedule().rounds() + 1) as usize;
        if self.extra.len() <= number {
            self.extra.resize(number + 1, Vec::new());
        }
        self.extra[number].push(place);
        self.recount(place, |amended| {
            *amended = Amendment {
                replay: replay.cloned(),
                ..Default::default()
            };
        });
    }

    /// Only the new token proves the agent; what it had before is void. It signs again once it
    /// shows that token.
    fn renew_token(&mut self, agent: &Agent, token: Option<TokenHash>, at: Timestamp) {
        let Some(index) = self.find_agent(agent) else {
            return;
        };
        self.registration.readmitted.remove(agent);
        self.stop_signing(agent);
        self.tokens.retain(|_, holder| *holder != index);
        if let Some(member) = self.member_mut(index) {
            member.pledge = token;
            member.renewals = member.renewals.saturating_add(1);
            member.returns = true;
            member.replaced.clear();
            member.unproved = false;
            member.token_given = at;
            member.token = token.unwrap_or(member.token);
        }
    }

    /// The player whose return token changes does not sign the match that it plays: its moves so far
    /// are signed with the old token.
    pub(crate) fn stop_signing(&mut self, agent: &Agent) {
        let Some(AgentIndex::Player(number)) = self.find_agent(agent) else {
            return;
        };
        if let Some(player) = self.players.get_mut(number) {
            player.signs = false;
        }
        let fixtures = self.round.iter_mut().flat_map(|round| &mut round.fixtures);
        for fixture in fixtures.filter(|fixture| fixture.stage != FixtureStage::Finished) {
            let seats = fixture.pairing.seats;
            for (seat, _) in seats.iter().enumerate().filter(|(_, it)| **it == number) {
                fixture.signs[seat] = false;
            }
        }
    }

    /// Whether the organiser lets an agent register without proof at this time.
    pub(crate) fn is_readmitted(&self, agent: &Agent, at: Timestamp) -> bool {
        let until = self.registration.readmitted.get(agent);
        until.is_some_and(|until| at < *until)
    }

    /// The return token of an agent, present or after so many more renewals.
    pub(crate) fn return_token_of(&self, agent: &Agent, more: u32) -> AuthToken {
        let member = self.member_of(agent);
        let renewals = member.map_or(0, |member| member.renewals);
        let renewals = renewals.saturating_add(more);
        let secret = &self.secrets.tokens;
        secret.renewed_token(&self.rules.league_id, agent, renewals)
    }
}
