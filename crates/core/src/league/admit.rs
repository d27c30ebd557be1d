//! How facts change who is in the league: agents that come, and agents that come back.

use std::collections::VecDeque;

use league_protocol::id::{PlayerId, RefereeId};
use league_protocol::message::AgentMeta;
use league_protocol::sender::{Agent, Dialect};
use league_protocol::time::Timestamp;
use league_protocol::token::TokenHash;

use super::League;
use super::event::Event;
use super::roster::{Member, Player, Referee, Who, capacity, folded};

impl League {
    /// The facts of who is in the league.
    pub(super) fn take_in_agent(&mut self, event: &Event) {
        match event {
            Event::PlayerRegistered {
                player_id,
                meta,
                dialect,
                token,
                pledge,
                at,
            } => {
                let agent = Agent::Player(player_id.clone());
                let mut member = self.make_member(agent, meta, *dialect, *token, *at);
                member.pledge = *pledge;
                self.add_player(player_id, member);
            }
            Event::RefereeRegistered {
                referee_id,
                meta,
                dialect,
                token,
                pledge,
                at,
            } => {
                let agent = Agent::Referee(referee_id.clone());
                let mut member = self.make_member(agent, meta, *dialect, *token, *at);
                member.pledge = *pledge;
                self.add_referee(referee_id, member, capacity(meta));
            }
            Event::AgentReturned {
                agent,
                meta,
                dialect,
                token,
                proof,
                at,
            } => {
                let fresh = self.make_member(agent.clone(), meta, *dialect, *token, *at);
                self.take_back(agent, meta, fresh, *proof, *at);
            }
            _ => {}
        }
    }

    fn make_member(
        &self,
        agent: Agent,
        meta: &AgentMeta,
        dialect: Dialect,
        token: TokenHash,
        at: Timestamp,
    ) -> Member {
        let manager_token = self.manager_token(&agent, dialect);
        Member {
            manager_token,
            ..Member::new(agent, meta, dialect, token, at)
        }
    }

    fn add_player(&mut self, id: &PlayerId, member: Member) {
        let who = Who::Player(self.players.len());
        self.names.insert(folded(&member.name), who);
        self.tokens.insert(member.token, who);
        let player = Player {
            id: id.clone(),
            member,
            forfeits: 0,
            shut_down: false,
        };
        self.players.add(id, player);
    }

    /// Gives players numbers by their ids, so that who meets whom does not depend on who was
    /// quickest to register.
    pub(super) fn seat_players(&mut self) {
        let numbers = self.players.sort();
        let renumber = |who: Who| match who {
            Who::Player(old) => Who::Player(numbers.get(&old).copied().unwrap_or(old)),
            Who::Referee(_) => who,
        };
        for who in self.names.values_mut().chain(self.tokens.values_mut()) {
            *who = renumber(*who);
        }
        let suspended = self.fleeting.suspended.iter().copied();
        self.fleeting.suspended = suspended.map(renumber).collect();
    }

    fn add_referee(&mut self, id: &RefereeId, member: Member, capacity: u32) {
        let who = Who::Referee(self.referees.len());
        self.names.insert(folded(&member.name), who);
        self.tokens.insert(member.token, who);
        let referee = Referee {
            id: id.clone(),
            member,
            capacity,
            running: 0,
            queue: VecDeque::new(),
            given: 0,
        };
        self.referees.add(id, referee);
        self.fleeting.referee_came = true;
    }

    /// A token that a stranger may have got is forgotten as soon as a proven one takes its place;
    /// one that a stranger may have displaced stays good for coming back.
    fn take_back(
        &mut self,
        agent: &Agent,
        meta: &AgentMeta,
        mut fresh: Member,
        proof: Option<TokenHash>,
        at: Timestamp,
    ) {
        let Some(who) = self.find_agent(agent) else {
            return;
        };
        fresh.health.succeed(at);
        fresh.unproved = proof.is_none();
        let token = fresh.token;
        if let Some(member) = self.member_mut(who) {
            fresh.pledge = member.pledge;
            let displaced = member.unproved && proof.is_some_and(|proof| proof != member.token);
            fresh.replaced = if displaced {
                std::mem::take(&mut member.replaced)
            } else {
                member.tokens_so_far()
            };
            let old = std::mem::replace(member, fresh);
            self.tokens.remove(&old.token);
        }
        self.tokens.insert(token, who);
        self.fleeting.suspended.remove(&who);
        if let Who::Referee(number) = who {
            self.fleeting.referee_came = true;
            if let Some(referee) = self.referees.get_mut(number) {
                referee.capacity = capacity(meta);
            }
            self.fill(number, at);
        }
    }
}
