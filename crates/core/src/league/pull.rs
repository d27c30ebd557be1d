//! Decisions on levers: whether one may be pulled now, and what follows.
//!
//! [`League::effect`] is asked by the command and by the audit of a journal, so a journal holds no
//! lever that could not be pulled.

use std::collections::BTreeSet;

use league_protocol::id::{MatchId, PlayerId, RefereeId};
use league_protocol::message::{is_harmless, is_name};
use league_protocol::sender::Agent;
use league_protocol::time::Timestamp;
use league_protocol::token::{AuthToken, TokenHash};

use super::command::{Refusal, Reply};
use super::event::Event;
use super::lever::{
    Effect, KeptSeat, Lever, LeverPull, LeverRefusal, MAX_ENDPOINT, MAX_EXTENSION, MAX_LEVER_TEXT,
    MAX_REPLAYS, MAX_ROSTER, PlayedMatches, id_of,
};
use super::roster::{AgentIndex, ExitCause, Member, PlayerEntry, Seat, folded, place};
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
        let code = pull.code.as_ref().map(|code| self.code_digest(code));
        if let Some(state) = self.is_so_already(lever, code) {
            return Ok(Decision::reply(Reply::Unchanged(lever.name(), state)));
        }
        let mut effect = self.effect(at, lever)?;
        let token = match lever {
            Lever::NewToken { agent } => Some(self.return_token_of(agent, 1)),
            _ => None,
        };
        effect.token = match lever {
            Lever::SetJoinCode => code,
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

    /// What is so already, if a lever changes nothing: a repeated one fills no journal.
    pub(crate) fn is_so_already(
        &self,
        lever: &Lever,
        code: Option<TokenHash>,
    ) -> Option<&'static str> {
        let state = &self.registration;
        let takes_players = self.takes_players();
        let (is_so, told) = match lever {
            Lever::Pause => (self.paused, "the league is already paused"),
            Lever::Resume => (!self.paused, "the league is not paused"),
            Lever::CloseRegistration => (
                state.closed || !takes_players,
                "registration is already closed",
            ),
            Lever::OpenRegistration { until } => (
                takes_players && !state.closed && state.until == *until,
                "registration is already open like this",
            ),
            Lever::SetCapacity { players, waiting } => (
                takes_players && (state.capacity, state.waiting) == (*players, *waiting),
                "the league already has these seats",
            ),
            Lever::SetJoinCode => (
                takes_players && state.has_own_code && state.code == code,
                match code {
                    Some(_) => "this is already the join code",
                    None => "new players already need no join code",
                },
            ),
            Lever::SetRoster { names } => (
                takes_players && state.roster == roster_of(names),
                "the roster is already this one",
            ),
            Lever::AdmitReferee { contact_endpoint } => (
                self.invited.contains(&place(contact_endpoint)),
                "the referee at this address may register already",
            ),
            Lever::ShareAddress { contact_endpoint } => (
                state.shared.contains(&place(contact_endpoint)),
                "several players may answer at this address already",
            ),
            Lever::Rename { agent, name } => {
                let member = self.member_of(agent);
                let has_name =
                    |member: &Member| member.has_given_name && *member.name == *name.trim();
                (
                    member.is_some_and(has_name),
                    "the agent already has this name",
                )
            }
            Lever::Withdraw { .. } | Lever::Remove { .. } | Lever::Disqualify { .. } => {
                (self.is_out_by(lever), "the player is already out like this")
            }
            _ => return None,
        };
        is_so.then_some(told)
    }

    /// The agent that goes by an id, in capitals or not; one of the league before too, if a seat is
    /// kept for it.
    pub fn agent_named(&self, id: &str) -> Option<Agent> {
        let player = PlayerId::new(id).ok().and_then(|id| self.player(&id));
        let referee = RefereeId::new(id).ok();
        let referee = referee.and_then(|id| self.referee(&id));
        let player = player.map(|player| Agent::Player(player.id.clone()));
        let kept = || {
            let mut kept = self.registration.kept.values().map(|seat| &seat.agent);
            kept.find(|agent| id_of(agent).eq_ignore_ascii_case(id))
                .cloned()
        };
        player
            .or_else(|| referee.map(|referee| Agent::Referee(referee.id.clone())))
            .or_else(kept)
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
            Lever::Start => {
                self.must_be_before_start()?;
                Ok(Effect::default())
            }
            Lever::SetJoinCode | Lever::CloseRegistration => {
                self.must_take_players()?;
                Ok(Effect::default())
            }
            Lever::Pause | Lever::Resume => self.must_not_be_over(),
            Lever::OpenRegistration { until } => {
                self.must_take_players()?;
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
                self.must_be_let_in(agent)
            }
            Lever::TakeOver { seats, .. } => {
                let names: Vec<String> = seats.iter().map(|seat| seat.name.clone()).collect();
                self.must_be_before_start()?;
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

    /// New players may come, or could if the organiser let them.
    fn must_take_players(&self) -> Result<(), LeverRefusal> {
        match self.phase {
            Phase::Running if self.takes_players() => Ok(()),
            Phase::Running if self.rules.format.takes_late_entrants() => {
                Err(LeverRefusal::LastRound)
            }
            Phase::Running => Err(LeverRefusal::NoLateEntry),
            Phase::Registering | Phase::Completed => self.must_be_before_start(),
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

    /// A player that the organiser put out is not let in, with a token or without.
    fn must_be_let_in(&self, agent: &Agent) -> Result<Effect, LeverRefusal> {
        match agent {
            Agent::Player(id) => match self.must_be_player(id)?.1 {
                player if player.is_put_out() && !player.may_come_back() => {
                    Err(LeverRefusal::Out(id.clone()))
                }
                _ => Ok(Effect::default()),
            },
            Agent::Referee(_) | Agent::Manager => Ok(Effect::default()),
        }
    }

    fn check_roster(&self, names: &[String]) -> Result<Effect, LeverRefusal> {
        self.must_take_players()?;
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
        let is_kept = self.registration.kept_from(name, Some(agent)).is_some();
        if is_kept || holder.is_some_and(|holder| *holder != index) {
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
        self.must_take_players()?;
        let (min, max) = (self.rules.least_players(), self.rules.max_players);
        if !(min..=max).contains(&seats) {
            let found = seats;
            return Err(LeverRefusal::Capacity { min, max, found });
        }
        let seated = self.players.seated();
        if seats < seated {
            return Err(LeverRefusal::Seated { seated });
        }
        let seated = self.first_waiting(seats - seated);
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

    /// Whether the player that a lever puts out was put out in the same way before.
    fn is_out_by(&self, lever: &Lever) -> bool {
        lever.put_out().is_some_and(|(id, cause, played)| {
            let player = self.players.find(id).and_then(|it| self.players.get(it));
            let before = player.and_then(|player| player.expulsion);
            let now = (cause, played == PlayedMatches::Annulled);
            before.is_some_and(|before| (before.cause, before.is_annulled) == now)
        })
    }

    fn put_out_effect(&self, lever: &Lever) -> Result<Effect, LeverRefusal> {
        let Some((id, cause, played)) = lever.put_out() else {
            return Ok(Effect::default());
        };
        let (number, player) = self.must_be_player(id)?;
        if self.phase == Phase::Completed && cause != ExitCause::Disqualified {
            return Err(LeverRefusal::OnlyDisqualify);
        }
        let is_annulled = played == PlayedMatches::Annulled;
        // A player that is out can still be put out in another way, but does not withdraw then.
        let is_out = player.expulsion.is_some_and(|before| {
            cause == ExitCause::Withdrawn && before.cause != ExitCause::Losses
        });
        if is_out || self.is_out_by(lever) || player.seat == Seat::GivenUp {
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
        let matches = match (player.is_annulled(), is_annulled) {
            (false, true) => self.counted_matches_of(number),
            (true, false) => self.hidden_matches_of(number),
            _ => Vec::new(),
        };
        Ok(Effect {
            matches,
            ..Effect::default()
        })
    }

    /// The matches of a player that count.
    fn counted_matches_of(&self, player: u32) -> Vec<MatchId> {
        let reached = self.round.as_ref().map_or(0, |round| round.number);
        let rounds = 1..=reached.min(self.schedule().rounds());
        let pairings = rounds.filter_map(|round| self.schedule().pairing_of(player, round));
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
                let place = place(&player.member.peer.endpoint);
                let holder = self.endpoints.get(&place).and_then(|it| self.member(*it));
                if let Some(holder) = holder
                    && !self.registration.shared.contains(&place)
                {
                    return Err(LeverRefusal::AddressTaken {
                        holder: id_of(&holder.peer.agent),
                        endpoint: player.member.peer.endpoint.to_string(),
                    });
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
                let pairing = self.schedule().pairing(round, index)?;
                let counts = |seat: &u32| *seat == player || !self.is_annulled(*seat);
                let plays = pairing.seats.contains(&player) && pairing.seats.iter().all(counts);
                let ending = amendment.ending()?;
                (plays && self.standings.ending(pairing) != Some(ending)).then_some(pairing)
            });
        own.map(|pairing| self.present_id(pairing)).collect()
    }

    /// The regular place of a match whose round has begun, and which counts there.
    fn place_of(&self, match_id: &MatchId) -> Result<Pairing, LeverRefusal> {
        if self.phase == Phase::Registering {
            return Err(LeverRefusal::NotBegun);
        }
        let unknown = || LeverRefusal::NoMatch(match_id.clone());
        let (round, index) = read_match_id(match_id).ok_or_else(unknown)?;
        let pairing = self.pairing(round, index).ok_or_else(unknown)?;
        let reached = self.round.as_ref().map_or(0, |round| round.number);
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
        if !self.schedule().is_computed() {
            return Err(LeverRefusal::NoReplays(self.rules.format.title()));
        }
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
        let regular = self.schedule().rounds();
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
                true => MatchEnding::BothLose,
                false => MatchEnding::Draw,
            });
        };
        let number = self.players.find(winner)?;
        let seat = place.seats.iter().position(|seat| *seat == number)?;
        Some(MatchEnding::Win(seat))
    }
}

impl League {
    /// The seats that the next league keeps: those of the agents that can prove themselves.
    pub fn kept_seats(&self) -> Vec<KeptSeat> {
        let players = self.players().iter().map(|player| &player.member);
        let members = players.chain(self.referees().iter().map(|referee| &referee.member));
        let seat = |member: &Member| {
            let agent = &member.peer.agent;
            let token = member
                .returns
                .then(|| self.return_token_of(agent, 0).hash());
            // After a new token both are the same.
            let token = token.filter(|token| member.pledge != Some(*token));
            let proofs: Vec<TokenHash> = member.pledge.into_iter().chain(token).collect();
            (!proofs.is_empty()).then(|| KeptSeat {
                agent: agent.clone(),
                name: member.name.to_string(),
                has_given_name: member.has_given_name,
                proofs,
            })
        };
        members.filter_map(seat).collect()
    }
}

/// The names of a roster in the form in which names are compared; `None` admits all.
pub(crate) fn roster_of(names: &[String]) -> Option<BTreeSet<String>> {
    let names: BTreeSet<String> = names.iter().map(|name| folded(name)).collect();
    (!names.is_empty()).then_some(names)
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
