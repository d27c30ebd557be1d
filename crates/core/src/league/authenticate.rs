//! Who is calling: the token says so, and nothing else.

use league_protocol::sender::Agent;
use league_protocol::time::Timestamp;
use league_protocol::token::TokenHash;

use super::League;
use super::refusal::Refusal;
use super::roster::{Referee, Who};

/// An agent whose token was checked; only [`League::authenticate`] can make one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Caller(Who);

impl League {
    /// Finds out who is calling.
    ///
    /// A sender that nobody knows is refused first, then a missing token, then a token that is
    /// void, expired or another's.
    pub fn authenticate(
        &self,
        at: Timestamp,
        token: Option<TokenHash>,
        sender: Option<&Agent>,
    ) -> Result<Caller, Refusal> {
        let claimed = sender.map(|sender| self.claimed(sender)).transpose()?;
        let token = token.ok_or(Refusal::TokenMissing)?;
        let owner = *self.tokens.get(&token).ok_or(Refusal::TokenInvalid)?;
        if claimed.is_some_and(|claimed| claimed != Some(owner)) {
            return Err(Refusal::TokenInvalid);
        }
        let member = self.member(owner).ok_or(Refusal::TokenInvalid)?;
        if at >= member.token_given + self.rules.token_ttl {
            return Err(Refusal::TokenExpired);
        }
        Ok(Caller(owner))
    }

    /// The number of the referee that is calling.
    pub(super) fn calling_referee(&self, caller: &Caller) -> Result<(u32, &Referee), Refusal> {
        match caller.0 {
            Who::Referee(number) => self
                .referees
                .get(number)
                .map(|referee| (number, referee))
                .ok_or(Refusal::NotAReferee),
            Who::Player(_) => Err(Refusal::NotAReferee),
        }
    }

    /// Whom a sender claims to be; the manager is nobody who calls.
    fn claimed(&self, sender: &Agent) -> Result<Option<Who>, Refusal> {
        match sender {
            Agent::Manager => Ok(None),
            Agent::Player(id) => self
                .players
                .find(id)
                .map(|number| Some(Who::Player(number)))
                .ok_or_else(|| Refusal::UnknownPlayer(id.clone())),
            Agent::Referee(id) => self
                .referees
                .find(id)
                .map(|number| Some(Who::Referee(number)))
                .ok_or_else(|| Refusal::UnknownReferee(id.clone())),
        }
    }

    pub(super) fn find_agent(&self, agent: &Agent) -> Option<Who> {
        self.claimed(agent).ok().flatten()
    }
}
