//! Decisions on levers: whether one may be pulled now, and what follows.
//!
//! [`League::effect`] is asked by the command and by the audit of a journal, so a journal holds no
//! lever that could not be pulled.

use std::collections::BTreeSet;

use league_protocol::id::{MatchId, PlayerId};
use league_protocol::message::{is_harmless, is_name};
use league_protocol::sender::Agent;
use league_protocol::time::Timestamp;
use league_protocol::token::{AuthToken, TokenHash};

use super::command::{Refusal, Reply};
use super::event::Event;
use super::lever::{
    Amendment, Effect, KeptSeat, Lever, LeverPull, LeverRefusal, MAX_ENDPOINT, MAX_EXTENSION,
    MAX_LEVER_TEXT, MAX_REPLAYS, MAX_ROSTER, PlayedMatches, id_of,
};
use super::roster::{AgentIndex, Member, PlayerEntry, Seat, folded, place};
use super::round::{FixtureStage, read_match_id};
use super::schedule::Pairing;
use super::standings::MatchEnding;
use super::{Decision, League, Phase};

impl League {
    /// Decides on a lever.
    pub(crate) fn pull(&self, at: Timestamp, pull: &LeverPull) -> Result<Decision, Refusal> {
        if !pull.admin {
            return Err(Refusal::NotAdmin);
        }
        if self.volatile.stopped {
            return Err(Refusal::Stopping);
        }
        let lever = &pull.lever;
        check_reason(lever, &pull.reason)?;
        if lever == &Lever::Start {
            self.check_startable()?;
        }
        if self.is_so_already(lever) {
            return Ok(Decision::reply(Reply::pulled(lever, Effect::default())));
        }
        let mut effect = self.effect(at, lever)?;
        let is_new_token = matches!(lever, Lever::NewToken { .. });
        let token = is_new_token.then(|| AuthToken::mint("return", &pull.chance));
        effect.token = match lever {
            Lever::SetJoinCode => pull.code.as_ref().map(|code| self.code_digest(code)),
            _ => token.as_ref().map(AuthToken::hash),
        };
        let acted = Event::OrganiserActed {
            act: Box::new(lever.clone()),
            reason: pull.reason.trim().to_owned(),
            effect: effect.clone(),
            at,
        };
        let follows = match lever {
            Lever::Start => Some(Event::LeagueStarted { at }),
            Lever::End => Some(Event::LeagueCompleted { at }),
            _ => None,
        };
        let events = std::iter::once(acted).chain(follows).collect();
        let reply = match token {
            Some(token) => Reply::NewToken(token),
            None => Reply::pulled(lever, effect),
        };
        Ok(Decision::accept(events, reply))
    }

    /// Whether a lever changes nothing, so that a repeated one fills no journal.
    fn is_so_already(&self, lever: &Lever) -> bool {
        match lever {
            Lever::Pause => self.paused,
            Lever::Resume => !self.paused,
            Lever::CloseRegistration => self.registration.closed,
            Lever::AdmitReferee { contact_endpoint } => {
                self.invited.contains(&place(contact_endpoint))
            }
            Lever::ShareAddress { contact_endpoint } => {
                self.registration.shared.contains(&place(contact_endpoint))
            }
            _ => false,
        }
    }

    /// The digest of a join code. The secret goes in first, so that a short code cannot be found by
    /// trying.
    pub(crate) fn code_digest(&self, code: &AuthToken) -> TokenHash {
        TokenHash::of(&self.digest(&("join_code", code.reveal())))
    }

    /// Checks whether a lever may be pulled now, and says what follows; without the token that only
    /// the command knows.
    pub(crate) fn effect(&self, at: Timestamp, lever: &Lever) -> Result<Effect, LeverRefusal> {
        match lever {
            Lever::Start | Lever::SetJoinCode | Lever::CloseRegistration => {
                self.must_be_before_start()?;
                Ok(Effect::default())
            }
            Lever::Pause | Lever::Resume => self.must_not_be_over(),
            Lever::OpenRegistration { until } => {
                self.must_be_before_start()?;
                if until.is_some_and(|until| until <= at) {
                    return Err(LeverRefusal::Past);
                }
                Ok(Effect::default())
            }
            Lever::SetCapacity { players, .. } => self.capacity_effect(*players),
            Lever::SetRoster { names } => self.check_roster(names),
            Lever::AdmitReferee { contact_endpoint } | Lever::ShareAddress { contact_endpoint } => {
                self.must_not_be_over()?;
                if contact_endpoint.len() > MAX_ENDPOINT {
                    return Err(LeverRefusal::LongEndpoint);
                }
                Ok(Effect::default())
            }
            Lever::Rename { agent, name } => self.check_rename(agent, name),
            Lever::Withdraw { .. } | Lever::Remove { .. } | Lever::Disqualify { .. } => {
                self.put_out_effect(lever)
            }
            Lever::Reinstate { player_id } => self.reinstate_effect(player_id),
            Lever::Annul { match_id } => self.annul_effect(match_id),
            Lever::Replay { match_id } => self.replay_effect(match_id),
            Lever::Rule { .. } => self.rule_effect(lever),
            Lever::ExtendMatch { match_id, seconds } => self.check_clock(match_id, *seconds),
            Lever::ExtendPlayer { player_id, seconds } => {
                check_seconds(*seconds)?;
                self.must_be_in(player_id)?;
                self.must_not_be_over()
            }
            Lever::Readmit { agent } if self.registration.keeps(agent) => Ok(Effect::default()),
            Lever::NewToken { agent } | Lever::Readmit { agent } => {
                self.must_be_agent(agent)?;
                Ok(Effect::default())
            }
            Lever::TakeOver { seats, .. } => {
                let names: Vec<String> = seats.iter().map(|seat| seat.name.clone()).collect();
                self.check_roster(&names)
            }
            Lever::Announce { text } if text.trim().is_empty() => Err(LeverRefusal::NoText),
            Lever::Announce { text } if !is_text(text) => Err(LeverRefusal::Text),
            Lever::Announce { .. } => Ok(Effect::default()),
            Lever::End if self.phase == Phase::Registering => Err(LeverRefusal::NotBegun),
            Lever::End => self.must_not_be_over(),
        }
    }

    fn must_be_before_start(&self) -> Result<(), LeverRefusal> {
        match self.phase {
            Phase::Registering => Ok(()),
            Phase::Running => Err(LeverRefusal::Begun),
            Phase::Completed => Err(LeverRefusal::Over),
        }
    }

    fn must_not_be_over(&self) -> Result<Effect, LeverRefusal> {
        match self.phase {
            Phase::Completed => Err(LeverRefusal::Over),
            Phase::Registering | Phase::Running => Ok(Effect::default()),
        }
    }

    fn must_be_agent(&self, agent: &Agent) -> Result<AgentIndex, LeverRefusal> {
        let index = self.find_agent(agent);
        index.ok_or_else(|| LeverRefusal::NoAgent(id_of(agent)))
    }

    fn must_be_player(&self, id: &PlayerId) -> Result<(u32, &PlayerEntry), LeverRefusal> {
        let number = self.players.find(id);
        let player = number.and_then(|number| Some((number, self.players.get(number)?)));
        player.ok_or_else(|| LeverRefusal::NoAgent(id.to_string()))
    }

    fn must_be_in(&self, id: &PlayerId) -> Result<u32, LeverRefusal> {
        let (number, player) = self.must_be_player(id)?;
        if player.is_put_out() {
            return Err(LeverRefusal::Out(id.clone()));
        }
        Ok(number)
    }

    fn check_roster(&self, names: &[String]) -> Result<Effect, LeverRefusal> {
        self.must_be_before_start()?;
        if names.len() > MAX_ROSTER {
            return Err(LeverRefusal::LongRoster);
        }
        match names.iter().find(|name| !is_showable(name)) {
            Some(bad) => Err(LeverRefusal::Name(bad.chars().take(64).collect())),
            None => Ok(Effect::default()),
        }
    }

    fn check_rename(&self, agent: &Agent, name: &str) -> Result<Effect, LeverRefusal> {
        let index = self.must_be_agent(agent)?;
        if !is_showable(name) {
            return Err(LeverRefusal::Name(name.chars().take(64).collect()));
        }
        let holder = self.names.get(&folded(name));
        if holder.is_some_and(|holder| *holder != index) {
            return Err(LeverRefusal::NameTaken(name.to_owned()));
        }
        Ok(Effect::default())
    }

    fn check_clock(&self, match_id: &MatchId, seconds: u32) -> Result<Effect, LeverRefusal> {
        check_seconds(seconds)?;
        self.must_not_be_over()?;
        self.place_of(match_id)?;
        let index = self.index_now(match_id);
        let fixture = index.and_then(|index| self.round.as_ref()?.fixture(index));
        match fixture {
            Some(fixture) if fixture.stage != FixtureStage::Finished => Ok(Effect::default()),
            _ => Err(LeverRefusal::NoClock(match_id.clone())),
        }
    }

    fn capacity_effect(&self, seats: u32) -> Result<Effect, LeverRefusal> {
        self.must_be_before_start()?;
        let (min, max) = (
            self.rules.min_players.max(self.players.seated()),
            self.rules.max_players,
        );
        if !(min..=max).contains(&seats) {
            let found = seats;
            return Err(LeverRefusal::Capacity { min, max, found });
        }
        let seated = self.first_waiting(seats.saturating_sub(self.players.seated()));
        Ok(Effect {
            seated,
            ..Effect::default()
        })
    }

    /// The first of the waiting players, at most so many.
    fn first_waiting(&self, most: u32) -> Vec<PlayerId> {
        let waiting = self.players.members.iter();
        let waiting = waiting.filter(|player| player.seat == Seat::Waiting);
        let ids = waiting.map(|player| player.id.clone());
        ids.take(most as usize).collect()
    }

    fn put_out_effect(&self, lever: &Lever) -> Result<Effect, LeverRefusal> {
        let Some((id, played)) = lever.put_out() else {
            return Ok(Effect::default());
        };
        let (number, player) = self.must_be_player(id)?;
        if player.is_put_out() {
            return Err(LeverRefusal::Out(id.clone()));
        }
        if self.phase == Phase::Registering {
            let freed = u32::from(player.seat == Seat::Taken);
            let free = self
                .registration
                .capacity
                .saturating_sub(self.players.seated());
            let seated = self.first_waiting(free + freed);
            let seated = seated.into_iter().filter(|waiting| waiting != id).collect();
            return Ok(Effect {
                seated,
                ..Effect::default()
            });
        }
        if player.seat != Seat::Taken {
            return Err(LeverRefusal::Out(id.clone()));
        }
        let matches = match played {
            PlayedMatches::Kept => Vec::new(),
            PlayedMatches::Annulled => self.counted_matches_of(number),
        };
        Ok(Effect {
            matches,
            ..Effect::default()
        })
    }

    /// The matches of a player that count.
    fn counted_matches_of(&self, player: u32) -> Vec<MatchId> {
        let reached = self.round.as_ref().map_or(0, |round| round.number);
        let rounds = 1..=reached.min(self.schedule.rounds());
        let pairings = rounds.filter_map(|round| self.schedule.pairing_of(player, round));
        let counted = pairings.filter(|pairing| self.standings.ending(*pairing).is_some());
        counted.map(|pairing| self.present_id(pairing)).collect()
    }

    fn reinstate_effect(&self, id: &PlayerId) -> Result<Effect, LeverRefusal> {
        let (number, player) = self.must_be_player(id)?;
        match (self.phase, player.seat) {
            (Phase::Completed, _) => return Err(LeverRefusal::Over),
            (_, Seat::Taken | Seat::Waiting) if !player.is_put_out() => {
                return Err(LeverRefusal::NotOut(id.clone()));
            }
            (Phase::Registering, _) => {
                let holder = self.names.get(&folded(&player.member.name));
                if holder.is_some_and(|holder| *holder != AgentIndex::Player(number)) {
                    return Err(LeverRefusal::NameTaken(player.member.name.to_string()));
                }
                let address = place(&player.member.peer.endpoint);
                let is_shared = self.registration.shared.contains(&address);
                if self.endpoints.contains_key(&address) && !is_shared {
                    let endpoint = player.member.peer.endpoint.to_string();
                    return Err(LeverRefusal::AddressTaken(endpoint));
                }
                if self.players.seated() >= self.registration.capacity {
                    return Err(LeverRefusal::Full);
                }
            }
            (Phase::Running, Seat::GivenUp | Seat::Waiting) => return Err(LeverRefusal::Begun),
            (Phase::Running, Seat::Taken) => {}
        }
        let was_annulled = player.is_annulled();
        let matches = match was_annulled {
            true => self.hidden_matches_of(number),
            false => Vec::new(),
        };
        Ok(Effect {
            matches,
            ..Effect::default()
        })
    }

    /// The matches of a player that count again if it is reinstated.
    fn hidden_matches_of(&self, player: u32) -> Vec<MatchId> {
        let own = self
            .amended
            .iter()
            .filter_map(|(&(round, index), amendment)| {
                let pairing = self.schedule.pairing(round, index)?;
                let counts = |seat: &u32| *seat == player || !self.is_annulled(*seat);
                let plays = pairing.seats.contains(&player) && pairing.seats.iter().all(counts);
                let ending = amendment.ending()?;
                (plays && self.standings.ending(pairing) != Some(ending)).then_some(pairing)
            });
        own.map(|pairing| self.present_id(pairing)).collect()
    }

    /// The regular place of a match whose round has begun, and which counts there.
    fn place_of(&self, match_id: &MatchId) -> Result<Pairing, LeverRefusal> {
        let unknown = || LeverRefusal::NoMatch(match_id.clone());
        let (round, index) = read_match_id(match_id).ok_or_else(unknown)?;
        let pairing = self.pairing(round, index).ok_or_else(unknown)?;
        let reached = self.round.as_ref().map_or(0, |round| round.number);
        if self.phase == Phase::Registering {
            return Err(LeverRefusal::NotBegun);
        }
        if round > reached {
            return Err(LeverRefusal::Later(match_id.clone()));
        }
        let place = self.counts_for(pairing);
        let present = self.present_id(place);
        if present != *match_id {
            return Err(LeverRefusal::Replayed {
                match_id: match_id.clone(),
                replay: present,
            });
        }
        Ok(place)
    }

    fn annul_effect(&self, match_id: &MatchId) -> Result<Effect, LeverRefusal> {
        let place = self.place_of(match_id)?;
        if self
            .amendment(place)
            .is_some_and(|amended| amended.annulled)
        {
            return Err(LeverRefusal::Annulled(match_id.clone()));
        }
        Ok(self.change_of(place))
    }

    /// The effect of a lever on one match: it counts in another way if it counted.
    fn change_of(&self, place: Pairing) -> Effect {
        let counted = self.standings.ending(place).is_some();
        Effect {
            matches: counted
                .then(|| self.present_id(place))
                .into_iter()
                .collect(),
            ..Effect::default()
        }
    }

    fn replay_effect(&self, match_id: &MatchId) -> Result<Effect, LeverRefusal> {
        self.must_not_be_over()?;
        let place = self.place_of(match_id)?;
        let is_open = self.index_now(match_id).is_some_and(|index| {
            let round = self.round.as_ref();
            let fixture = round.and_then(|round| round.fixture(index));
            fixture.is_some_and(|fixture| fixture.stage != FixtureStage::Finished)
        });
        if is_open {
            return Err(LeverRefusal::NoResult(match_id.clone()));
        }
        let out = |seat: &u32| self.is_gone(*seat);
        if let Some(seat) = place.seats.iter().find(|seat| out(seat))
            && let Some(player) = self.players.get(*seat)
        {
            return Err(LeverRefusal::Out(player.id.clone()));
        }
        if self.extra.iter().map(Vec::len).sum::<usize>() >= MAX_REPLAYS {
            return Err(LeverRefusal::ManyReplays);
        }
        let (round, index) = self.next_extra(place);
        Ok(Effect {
            replay: Some(MatchId::numbered(round, index + 1)),
            ..self.change_of(place)
        })
    }

    /// Where a match is played again: in the first additional round that has not begun and in which
    /// neither player has a match.
    pub(crate) fn next_extra(&self, place: Pairing) -> (u32, u32) {
        let regular = self.schedule.rounds();
        let reached = self.round.as_ref().map_or(0, |round| round.number);
        let first = reached.saturating_sub(regular) as usize;
        let is_free = |round: &&Vec<Pairing>| {
            let mut seats = round.iter().flat_map(|pairing| pairing.seats);
            !seats.any(|seat| place.seats.contains(&seat))
        };
        let later = self.extra.iter().skip(first);
        let found = later.zip(first..).find(|(round, _)| is_free(round));
        let (round, index) = match found {
            Some((round, number)) => (number, round.len()),
            None => (self.extra.len().max(first), 0),
        };
        let number = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        (regular + number(round) + 1, number(index))
    }

    fn rule_effect(&self, lever: &Lever) -> Result<Effect, LeverRefusal> {
        let Lever::Rule {
            match_id,
            winner,
            both_lose,
        } = lever
        else {
            return Ok(Effect::default());
        };
        if winner.is_some() && *both_lose {
            return Err(LeverRefusal::TwoEnds);
        }
        let place = self.place_of(match_id)?;
        if let Some(winner) = winner
            && self.ruled_ending(place, Some(winner), *both_lose).is_none()
        {
            return Err(LeverRefusal::NotSeated {
                match_id: match_id.clone(),
                player_id: winner.clone(),
            });
        }
        Ok(Effect {
            matches: vec![match_id.clone()],
            ..Effect::default()
        })
    }

    /// How a match counts by a ruling; `None` if the winner does not play in it.
    pub(crate) fn ruled_ending(
        &self,
        place: Pairing,
        winner: Option<&PlayerId>,
        both_lose: bool,
    ) -> Option<MatchEnding> {
        let Some(winner) = winner else {
            return Some(match both_lose {
                true => MatchEnding::BothForfeit,
                false => MatchEnding::Draw,
            });
        };
        let number = self.players.find(winner)?;
        let seat = place.seats.iter().position(|seat| *seat == number)?;
        Some(MatchEnding::Win(seat))
    }

    pub(crate) fn amendment(&self, place: Pairing) -> Option<&Amendment> {
        self.amended.get(&(place.round, place.index))
    }

    /// The id of the match that counts at a regular place: the last one in which it is played again.
    pub(crate) fn present_id(&self, place: Pairing) -> MatchId {
        let replay = self
            .amendment(place)
            .and_then(|amended| amended.replay.clone());
        replay.unwrap_or_else(|| MatchId::numbered(place.round, place.index + 1))
    }

    /// The matches that count in another way than they ended, or not at all, in the order of rounds.
    pub fn amended_matches(&self) -> BTreeSet<MatchId> {
        let places = self.amended.keys();
        let places = places.filter_map(|&(round, index)| self.schedule.pairing(round, index));
        places.map(|place| self.present_id(place)).collect()
    }

    /// How a match counts in the table; `None` if it does not.
    pub fn counted_ending(&self, match_id: &MatchId) -> Option<MatchEnding> {
        let (round, index) = read_match_id(match_id)?;
        let place = self.counts_for(self.pairing(round, index)?);
        if self.present_id(place) != *match_id {
            return None;
        }
        self.standings.ending(place)
    }
}

impl League {
    /// The seats that the next league keeps: those of the agents that can prove themselves.
    pub fn kept_seats(&self) -> Vec<KeptSeat> {
        let players = self.players().iter().map(|player| &player.member);
        let members = players.chain(self.referees().iter().map(|referee| &referee.member));
        let seat = |member: &Member| {
            let agent = &member.peer.agent;
            let secret = &self.secrets.tokens;
            let token = (!member.is_renewed && member.returns)
                .then(|| secret.return_token(&self.rules.league_id, agent).hash());
            let proofs: Vec<TokenHash> = member.pledge.into_iter().chain(token).collect();
            (!proofs.is_empty()).then(|| KeptSeat {
                agent: agent.clone(),
                name: member.name.to_string(),
                proofs,
            })
        };
        members.filter_map(seat).collect()
    }
}

fn check_reason(lever: &Lever, reason: &str) -> Result<(), LeverRefusal> {
    if lever.needs_reason() && reason.trim().is_empty() {
        return Err(LeverRefusal::ReasonMissing);
    }
    if is_text(reason) {
        Ok(())
    } else {
        Err(LeverRefusal::Text)
    }
}

fn check_seconds(seconds: u32) -> Result<(), LeverRefusal> {
    if (1..=MAX_EXTENSION).contains(&seconds) {
        Ok(())
    } else {
        Err(LeverRefusal::Seconds(seconds))
    }
}

fn is_text(text: &str) -> bool {
    text.chars().count() <= MAX_LEVER_TEXT && text.chars().all(is_harmless)
}

/// Whether a name can be shown, and is not empty to the eye.
pub(crate) fn is_showable(name: &str) -> bool {
    is_name(name.trim()) && !folded(name).is_empty()
}
