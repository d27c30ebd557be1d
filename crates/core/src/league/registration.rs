//! Admission of new and returning agents (rulings 7 and 12), and authentication of callers.

use std::time::Duration;

use league_protocol::id::{PlayerId, RefereeId};
use league_protocol::message::{AgentMeta, Enrolment, RegisterResponse};
use league_protocol::sender::{Agent, Dialect};
use league_protocol::time::Timestamp;
use league_protocol::token::{AuthToken, TokenHash};

use super::command::{Applicant, Meta, Refusal, Rejection, Reply};
use super::event::Event;
use super::roster::{AgentIndex, RefereeEntry, folded};
use super::{League, Phase};
use crate::machine::Decision;

/// The longest display name, in characters.
const LONGEST_NAME: usize = 64;
/// The longest version that an agent may tell of itself, in bytes.
const LONGEST_VERSION: usize = 64;
/// The longest address, in bytes.
const LONGEST_ENDPOINT: usize = 2_048;
/// The most games that are looked at in what an agent says it knows.
const MOST_GAMES: usize = 64;
/// The most referees that are let in.
const MOST_REFEREES: u32 = 10_000;
/// How long a token that was replaced still proves who registers, and nothing else: the answers
/// that brought the newer ones may have got lost.
const LOST_ANSWER: Duration = Duration::from_secs(10 * 60);
/// The oldest version that is spoken here.
const OLDEST: (u64, u64, u64) = (2, 0, 0);

/// Where a candidate stands.
enum Admission {
    /// Nobody has its name.
    New,
    /// An agent that is known already, and the token it showed, if it had one.
    Returning(AgentIndex, Proof),
    /// It is not let in, for this reason.
    Rejected(Rejection),
}

impl League {
    pub(crate) fn register_player(
        &self,
        at: Timestamp,
        candidate: &Applicant,
    ) -> Result<Decision<Event, Reply>, Refusal> {
        self.check_form(candidate, Meta::Player)?;
        let reject = |why: Rejection| {
            let reason = why.to_string();
            let response = RegisterResponse::Rejected { reason };
            Ok(Decision::reply(Reply::Player(response)))
        };
        let (id, returning) = match self.admission(at, candidate, AgentIndex::Player) {
            Admission::Rejected(why) => return reject(why),
            Admission::Returning(AgentIndex::Player(number), proof) => {
                match self.players.get(number) {
                    Some(player) if !player.shut_down => (player.id.clone(), Some(proof)),
                    _ => return reject(Rejection::Closed),
                }
            }
            Admission::Returning(AgentIndex::Referee(_), _) => return reject(Rejection::Closed),
            Admission::New if self.is_full() => return reject(Rejection::Closed),
            Admission::New => {
                let wanted = candidate.request.wanted_id.as_ref();
                let wanted = wanted.and_then(|wanted| PlayerId::new(wanted).ok());
                (self.players.choose_id(wanted), None)
            }
        };
        let token = AuthToken::mint(id.as_str(), &candidate.chance);
        let agent = Agent::Player(id.clone());
        let known = returning.is_none_or(|proof| self.is_return_token(&agent, proof));
        let event = if let Some(proof) = returning {
            returned(agent.clone(), candidate, &token, proof, at)
        } else {
            Event::PlayerRegistered {
                player_id: id.clone(),
                meta: Box::new(trimmed(candidate)),
                dialect: candidate.dialect,
                token: token.hash(),
                pledge: pledge(candidate),
                at,
            }
        };
        Ok(Decision {
            events: vec![event],
            reply: Reply::Player(self.accepted(id, &agent, candidate.dialect, token, known)),
        })
    }

    pub(crate) fn register_referee(
        &self,
        at: Timestamp,
        candidate: &Applicant,
    ) -> Result<Decision<Event, Reply>, Refusal> {
        if candidate.dialect == Dialect::V1 {
            return Err(Refusal::RefereeWithoutToken);
        }
        self.check_form(candidate, Meta::Referee)?;
        let reject = |why: Rejection| {
            let reason = why.to_string();
            let response = RegisterResponse::Rejected { reason };
            Ok(Decision::reply(Reply::Referee(response)))
        };
        let (id, returning) = match self.admission(at, candidate, AgentIndex::Referee) {
            Admission::Rejected(why) => return reject(why),
            Admission::Returning(AgentIndex::Referee(number), proof) => {
                match self.referees.get(number) {
                    Some(referee) => (referee.id.clone(), Some(proof)),
                    None => return reject(Rejection::Closed),
                }
            }
            Admission::Returning(AgentIndex::Player(_), _) => return reject(Rejection::Closed),
            Admission::New if self.referees.len() >= MOST_REFEREES => {
                return reject(Rejection::Closed);
            }
            Admission::New => {
                let wanted = candidate.request.wanted_id.as_ref();
                let wanted = wanted.and_then(|wanted| RefereeId::new(wanted).ok());
                (self.referees.choose_id(wanted), None)
            }
        };
        let token = AuthToken::mint(id.as_str(), &candidate.chance);
        let agent = Agent::Referee(id.clone());
        let known = returning.is_none_or(|proof| self.is_return_token(&agent, proof));
        let event = if let Some(proof) = returning {
            returned(agent.clone(), candidate, &token, proof, at)
        } else {
            Event::RefereeRegistered {
                referee_id: id.clone(),
                meta: Box::new(trimmed(candidate)),
                dialect: candidate.dialect,
                token: token.hash(),
                pledge: pledge(candidate),
                at,
            }
        };
        Ok(Decision {
            events: vec![event],
            reply: Reply::Referee(self.accepted(id, &agent, candidate.dialect, token, known)),
        })
    }

    /// The answer to an agent that is let in.
    ///
    /// By the auth token, or by none, somebody else might come back in the agent's name: a
    /// referee sees the tokens of players. What lasts is told the first time, and to one who
    /// `knows` it already.
    fn accepted<Id>(
        &self,
        id: Id,
        agent: &Agent,
        dialect: Dialect,
        token: AuthToken,
        knows: bool,
    ) -> RegisterResponse<Id> {
        let lasts = knows && dialect != Dialect::V1;
        let league = &self.rules.league_id;
        RegisterResponse::from(Enrolment {
            id,
            token,
            league_id: self.rules.league_id.clone(),
            manager_token: lasts.then(|| self.secret.manager_token(league, agent)),
            return_token: lasts.then(|| self.secret.return_token(league, agent)),
        })
    }

    /// What the manager shows an agent, unless its protocol has no place for a token.
    pub(crate) fn manager_token(&self, agent: &Agent, dialect: Dialect) -> Option<AuthToken> {
        let token = || self.secret.manager_token(&self.rules.league_id, agent);
        (dialect != Dialect::V1).then(token)
    }

    /// Whether a proof is known to the agent alone: the token that was told to nobody else, or the
    /// pledge by which it comes back if that answer was lost.
    fn is_return_token(&self, agent: &Agent, proof: Proof) -> bool {
        let token = || {
            self.secret
                .return_token(&self.rules.league_id, agent)
                .hash()
        };
        let member = self.find_agent(agent).and_then(|who| self.member(who));
        let pledge = member.and_then(|member| member.pledge);
        proof.is_some_and(|proof| pledge == Some(proof) || proof == token())
    }

    /// What makes a request an error rather than a wish that is not granted.
    fn check_form(&self, candidate: &Applicant, of: Meta) -> Result<(), Refusal> {
        if self.fleeting.stopped {
            return Err(Refusal::Stopping);
        }
        let meta = &candidate.request.meta;
        if candidate.dialect != Dialect::V1 {
            let found = meta.protocol_version.as_deref();
            check_version(found).map_err(|found| Refusal::Version { of, found })?;
        }
        if is_showable(meta.display_name.trim()) {
            Ok(())
        } else {
            Err(Refusal::Name(of))
        }
    }

    fn admission(
        &self,
        at: Timestamp,
        candidate: &Applicant,
        kind: fn(u32) -> AgentIndex,
    ) -> Admission {
        let meta = &candidate.request.meta;
        let known = self.names.get(&folded(&meta.display_name));
        if self.phase == Phase::Completed && known.is_none() {
            return Admission::Rejected(Rejection::Closed);
        }
        if !meta.game_types.contains(&self.rules.game_type) {
            return Admission::Rejected(Rejection::Game(self.rules.game_type.clone()));
        }
        if let Err(problem) = &candidate.endpoint {
            return Admission::Rejected(Rejection::Endpoint(problem.clone()));
        }
        if meta.contact_endpoint.len() > LONGEST_ENDPOINT {
            let problem = format!("it has more than {LONGEST_ENDPOINT} characters");
            return Admission::Rejected(Rejection::Endpoint(problem));
        }
        match known {
            None => Admission::New,
            Some(&who) => match self.recognise(at, who, candidate, kind) {
                Ok(proof) => Admission::Returning(who, proof),
                Err(why) => Admission::Rejected(why),
            },
        }
    }

    /// Whether a candidate is the agent that has its name, and if so which token proves it.
    ///
    /// Only by its return token may an agent change how it is reached and how it speaks: its auth
    /// token is seen by referees.
    fn recognise(
        &self,
        at: Timestamp,
        who: AgentIndex,
        candidate: &Applicant,
        kind: fn(u32) -> AgentIndex,
    ) -> Result<Proof, Rejection> {
        let (AgentIndex::Player(number) | AgentIndex::Referee(number)) = who;
        let member = self.member(who).ok_or(Rejection::Closed)?;
        let taken = || Rejection::taken(&member.name, &member.peer.agent);
        if who != kind(number) {
            return Err(taken());
        }
        let same = *member.peer.endpoint == *candidate.request.meta.contact_endpoint
            && member.peer.dialect == candidate.dialect;
        if let Some(token) = candidate.request.token.as_ref().map(AuthToken::hash) {
            if self.is_return_token(&member.peer.agent, Some(token)) {
                return Ok(Some(token));
            }
            let lost = member.unproved || at < member.token_given + LOST_ANSWER;
            if token == member.token || lost && member.replaced.contains(&token) {
                return if same {
                    Ok(Some(token))
                } else {
                    Err(Rejection::Moved)
                };
            }
        }
        let excused = self.phase == Phase::Registering
            || member.health.suspended_since.is_some()
            || candidate.dialect == Dialect::V1;
        if same && excused {
            Ok(None)
        } else {
            Err(taken())
        }
    }

    fn is_full(&self) -> bool {
        self.phase != Phase::Registering || self.players.len() >= self.rules.max_players
    }
}

/// The hash of a token that an agent showed of its own, if it showed one.
type Proof = Option<TokenHash>;

/// What a newcomer made for itself; another token may have been seen by others.
fn pledge(candidate: &Applicant) -> Proof {
    let token = candidate.request.token.as_ref()?;
    let own = candidate.dialect != Dialect::V1 && token.is_pledge();
    own.then(|| token.hash())
}

fn returned(
    agent: Agent,
    candidate: &Applicant,
    token: &AuthToken,
    proof: Proof,
    at: Timestamp,
) -> Event {
    Event::AgentReturned {
        agent,
        meta: Box::new(trimmed(candidate)),
        dialect: candidate.dialect,
        token: token.hash(),
        proof,
        at,
    }
}

/// What is kept of what an agent says of itself.
fn trimmed(candidate: &Applicant) -> AgentMeta {
    let meta = &candidate.request.meta;
    AgentMeta {
        speech: candidate.speech,
        display_name: meta.display_name.trim().to_owned(),
        version: excerpt(&meta.version),
        protocol_version: meta.protocol_version.as_deref().map(excerpt),
        game_types: meta.game_types.iter().take(MOST_GAMES).cloned().collect(),
        ..meta.clone()
    }
}

fn is_showable(name: &str) -> bool {
    let length = name.chars().take(LONGEST_NAME + 1).count();
    (1..=LONGEST_NAME).contains(&length) && name.chars().all(is_harmless)
}

/// Neither a control character nor one that turns the direction of text or hides in it.
fn is_harmless(character: char) -> bool {
    !character.is_control()
        && !matches!(
            character,
            '\u{061C}'
                | '\u{200B}'..='\u{200F}'
                | '\u{2028}'..='\u{202E}'
                | '\u{2060}'..='\u{206F}'
                | '\u{FEFF}'
                | '\u{FFF9}'..='\u{FFFB}'
                | '\u{E0000}'..='\u{E007F}'
        )
}

/// Refuses a version that is not spoken here, as much of it as may be shown.
fn check_version(found: Option<&str>) -> Result<(), String> {
    match found {
        None | Some("league.v2") => Ok(()),
        Some(text)
            if text.len() <= LONGEST_VERSION
                && read_version(text).is_some_and(|version| version >= OLDEST) =>
        {
            Ok(())
        }
        Some(text) => Err(excerpt(text)),
    }
}

fn excerpt(text: &str) -> String {
    let plain = text.chars().filter(|&character| is_harmless(character));
    plain.take(LONGEST_VERSION).collect()
}

/// Three numbers with dots between them.
fn read_version(text: &str) -> Option<(u64, u64, u64)> {
    let mut parts = text.split('.').map(|part| {
        let digits = !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
        if digits { part.parse().ok() } else { None }
    });
    let version = (parts.next()??, parts.next()??, parts.next()??);
    parts.next().is_none().then_some(version)
}

/// An agent whose token was checked; only [`League::authenticate`] can make one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AuthenticatedAgent(AgentIndex);

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
    ) -> Result<AuthenticatedAgent, Refusal> {
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
        Ok(AuthenticatedAgent(owner))
    }

    /// The number of the referee that is calling.
    pub(crate) fn calling_referee(
        &self,
        caller: &AuthenticatedAgent,
    ) -> Result<(u32, &RefereeEntry), Refusal> {
        match caller.0 {
            AgentIndex::Referee(number) => self
                .referees
                .get(number)
                .map(|referee| (number, referee))
                .ok_or(Refusal::NotAReferee),
            AgentIndex::Player(_) => Err(Refusal::NotAReferee),
        }
    }

    /// Whom a sender claims to be; the manager is nobody who calls.
    fn claimed(&self, sender: &Agent) -> Result<Option<AgentIndex>, Refusal> {
        match sender {
            Agent::Manager => Ok(None),
            Agent::Player(id) => self
                .players
                .find(id)
                .map(|number| Some(AgentIndex::Player(number)))
                .ok_or_else(|| Refusal::UnknownPlayer(id.clone())),
            Agent::Referee(id) => self
                .referees
                .find(id)
                .map(|number| Some(AgentIndex::Referee(number)))
                .ok_or_else(|| Refusal::UnknownReferee(id.clone())),
        }
    }

    pub(crate) fn find_agent(&self, agent: &Agent) -> Option<AgentIndex> {
        self.claimed(agent).ok().flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_as_numbers() {
        for good in ["2.0.0", "2.1.0", "2.10.3", "3.0.0", "10.0.0", "league.v2"] {
            assert_eq!(check_version(Some(good)), Ok(()), "{good}");
        }
        assert_eq!(check_version(None), Ok(()));
        for bad in [
            "1.9.9", "1.0.0", "0.0.0", "2.0", "2", "2.0.0.0", "v2.0.0", "", "2.x.0", "+2.0.0",
        ] {
            assert!(check_version(Some(bad)).is_err(), "{bad}");
        }
    }

    #[test]
    fn names_that_could_deceive_are_refused() {
        for good in ["Agent Alpha", "é", "אבג", &"x".repeat(64)] {
            assert!(is_showable(good), "{good}");
        }
        for bad in [
            "",
            "a\nb",
            "a\u{202E}b",
            "a\u{2066}b",
            "\u{200B}",
            "a\u{7}",
            &"x".repeat(65),
        ] {
            assert!(!is_showable(bad), "{bad:?}");
        }
    }
}
