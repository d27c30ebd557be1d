//! Admission of new and returning agents (rulings 7 and 12).

use std::time::Duration;

use league_protocol::id::{PlayerId, RefereeId};
use league_protocol::message::{
    AgentMeta, Enrolment, MAX_NAME, RegisterResponse, is_harmless, is_supported,
};
use league_protocol::sender::{Agent, Dialect};
use league_protocol::time::Timestamp;
use league_protocol::token::{AuthToken, TokenHash};

use super::command::{Applicant, MemberKind, Refusal, Rejection, Reply};
use super::event::{Admission, Event};
use super::lever::{KeptSeat, MAX_ENDPOINT, id_of};
use super::pull::is_showable;
use super::roster::{AgentIndex, Member, PlayerEntry, Seat, capacity, folded, is_reserved, place};
use super::{Decision, League, Phase};

/// How many agents may go by one name, told apart by a number.
const MAX_NAMESAKES: u32 = 100;
/// The longest version that an agent may give, in bytes.
const MAX_VERSION: usize = 64;
/// How many of the games that an agent lists are kept.
const MAX_GAMES: usize = 64;
const MAX_REFEREES: u32 = 10_000;
/// What can be printed of a return token.
const RETURN_TOKEN: &str = "tok-return-…";
/// How long a replaced token is still good for registering again, and for nothing else: the reply
/// with the new token may have been lost.
const REPLACED_TOKEN_GRACE: Duration = Duration::from_secs(10 * 60);

/// The hash of the token that an agent showed, if it showed one.
type Proof = Option<TokenHash>;

/// Decides whether an agent is let in.
pub(crate) fn register(
    league: &League,
    at: Timestamp,
    applicant: &Applicant,
    kind: MemberKind,
) -> Result<Decision, Refusal> {
    let registration = Registration {
        league,
        at,
        applicant,
        kind,
    };
    registration.check_form()?;
    Ok(match registration.admission() {
        Ok((id, entry)) => registration.accept(id, entry),
        Err(rejection) => {
            let reason = rejection.to_string();
            Decision::reply(match kind {
                MemberKind::Player => Reply::Player(RegisterResponse::Rejected { reason }),
                MemberKind::Referee => Reply::Referee(RegisterResponse::Rejected { reason }),
            })
        }
    })
}

struct Registration<'a> {
    league: &'a League,
    at: Timestamp,
    applicant: &'a Applicant,
    kind: MemberKind,
}

enum AdmittedId {
    Player(PlayerId),
    Referee(RefereeId),
}

/// How an agent comes in.
#[derive(Clone, Copy)]
enum Entry {
    /// For the first time; players need nothing.
    New(Admission),
    Return(Proof),
    /// Without proof, as the organiser lets it in; with the pledge that it makes now.
    Readmission(Proof),
}

/// Which lasting tokens an agent is given.
#[derive(Clone, Copy, PartialEq, Eq)]
enum LastingTokens {
    None,
    /// What the manager shows.
    Manager,
    /// That, and what the agent comes back with, after so many renewals: it must then always show it.
    Both(u32),
}

impl Registration<'_> {
    /// Refuses a malformed request: an error, not a rejection.
    fn check_form(&self) -> Result<(), Refusal> {
        let (of, applicant) = (self.kind, self.applicant);
        if of == MemberKind::Referee && applicant.dialect == Dialect::V1 {
            return Err(Refusal::RefereeWithoutToken);
        }
        if self.league.volatile.stopped {
            return Err(Refusal::Stopping);
        }
        let meta = &applicant.request.meta;
        if applicant.dialect != Dialect::V1 {
            let found = meta.protocol_version.as_deref();
            check_version(found).map_err(|found| Refusal::Version { of, found })?;
        }
        if is_showable(meta.display_name.trim()) {
            Ok(())
        } else {
            Err(Refusal::Name(of))
        }
    }

    /// The id of the agent, and how it comes in.
    fn admission(&self) -> Result<(AdmittedId, Entry), Rejection> {
        let (league, meta) = (self.league, &self.applicant.request.meta);
        let known = self.known();
        if league.phase == Phase::Completed && known.is_none() {
            return Err(Rejection::Closed);
        }
        if !meta.game_types.contains(&league.rules.game_type) {
            return Err(Rejection::Game(league.rules.game_type.clone()));
        }
        if meta.contact_endpoint.trim().is_empty() {
            let problem = "`contact_endpoint` is missing; send the address at which you answer";
            return Err(Rejection::Endpoint(problem.to_owned()));
        }
        if let Err(problem) = &self.applicant.endpoint {
            return Err(Rejection::Endpoint(problem.clone()));
        }
        if meta.contact_endpoint.len() > MAX_ENDPOINT {
            let problem = format!("it has more than {MAX_ENDPOINT} characters");
            return Err(Rejection::Endpoint(problem));
        }
        let holder = self.holder();
        if let Some(holder) = holder.filter(|&holder| known != Some(holder))
            && let Some(member) = league.member(holder)
        {
            return Err(Rejection::Shared {
                holder: member.peer.agent.to_string(),
                endpoint: meta.contact_endpoint.clone(),
            });
        }
        let new = || {
            let (id, admission) = self.new_id()?;
            Ok((id, Entry::New(admission)))
        };
        let Some(index) = known else {
            return new();
        };
        match self.recognise(index) {
            Ok(entry) => Ok((self.known_id(index)?, entry)),
            Err(_) if holder.is_none() && self.is_namesake() => new(),
            // It is another agent of that name, and comes too late.
            Err(_) if holder.is_none() && self.is_stranger() => Err(self.closed()),
            Err(rejection) => Err(rejection),
        }
    }

    /// The member that the applicant may be: the one that it proves to be, one that goes by its
    /// name, or one of another name at its address.
    fn known(&self) -> Option<AgentIndex> {
        let named = self.known_by_name();
        let is_proven = |named: &AgentIndex| matches!(self.recognise(*named), Ok(Entry::Return(_)));
        named
            .filter(is_proven)
            .or_else(|| self.known_by_proof())
            .or(named)
            .or_else(|| self.known_by_address())
    }

    /// The agent at the address of the applicant, unless several may answer there.
    fn holder(&self) -> Option<AgentIndex> {
        let place = place(&self.applicant.request.meta.contact_endpoint);
        let holder = self.league.endpoints.get(&place).copied();
        holder.filter(|_| !self.league.registration.shared.contains(&place))
    }

    /// The member whose return token or pledge the applicant shows: before the start it may take
    /// another name.
    fn known_by_proof(&self) -> Option<AgentIndex> {
        let shown = self.applicant.request.token.as_ref()?;
        let token = shown.hash();
        // Return tokens are worked out one by one, so only what looks like one is looked for.
        let is_return_token = shown.masked() == RETURN_TOKEN;
        let (players, referees) = (&self.league.players, &self.league.referees);
        let players = (0..).zip(&players.members).filter_map(|(number, player)| {
            let is_there = player.seat != Seat::GivenUp;
            is_there.then_some((AgentIndex::Player(number), &player.member))
        });
        let referees = (0..).zip(&referees.members);
        let referees =
            referees.map(|(number, referee)| (AgentIndex::Referee(number), &referee.member));
        let mut all = players.chain(referees);
        let found = all.find(|(index, member)| {
            let same_kind = matches!(index, AgentIndex::Player(_)) == self.is_player();
            same_kind
                && (member.pledge == Some(token)
                    || is_return_token && self.is_return_token(&member.peer.agent, Some(token)))
        });
        found.map(|(index, _)| index)
    }

    /// The member at the address of the applicant, which restarted under another name before the
    /// start. Only its own machine speaks for it, and only if it has nothing to prove itself with.
    fn known_by_address(&self) -> Option<AgentIndex> {
        let holder = self.holder()?;
        let member = self.league.member(holder)?;
        let same_kind = matches!(holder, AgentIndex::Player(_)) == self.is_player();
        let is_before = self.league.phase == Phase::Registering;
        let may_rename = same_kind && is_before && !member.returns && self.applicant.is_at_address;
        may_rename.then_some(holder)
    }

    fn is_player(&self) -> bool {
        self.kind == MemberKind::Player
    }

    /// The member that goes by the name of the applicant, with a number after it or without. The one
    /// at the address of the applicant comes first, then one that the applicant proves to be.
    fn known_by_name(&self) -> Option<AgentIndex> {
        let (league, meta) = (self.league, &self.applicant.request.meta);
        let named = |name: &str| league.names.get(&folded(name)).copied();
        let first = named(&meta.display_name)?;
        let numbers = 2..=MAX_NAMESAKES;
        let numbered = numbers.map_while(|number| named(&numbered(&meta.display_name, number)));
        let mut all = std::iter::once(first).chain(numbered);
        let own_place = place(&meta.contact_endpoint);
        let is_at = |index: &AgentIndex| {
            let member = league.member(*index);
            member.is_some_and(|member| place(&member.peer.endpoint) == own_place)
        };
        all.clone()
            .find(is_at)
            .or_else(|| all.find(|&index| self.recognise(index).is_ok()))
            .or(Some(first))
    }

    /// Whether the applicant is another agent of the same name, which lenient leagues admit with a
    /// number. An agent that shows a token that this league gave it means to return.
    fn is_namesake(&self) -> bool {
        let token = self.applicant.request.token.as_ref();
        let is_open = self.league.phase == Phase::Registering;
        let last = numbered(&self.applicant.request.meta.display_name, MAX_NAMESAKES);
        let is_last = self.league.names.contains_key(&folded(&last));
        let is_new = token.is_none_or(AuthToken::is_pledge) || self.own_kept_seat().is_some();
        is_open && !self.league.rules.strict && !is_last && is_new
    }

    /// Whether the applicant shows no token once the league has begun and takes no new players.
    fn is_stranger(&self) -> bool {
        let token = self.applicant.request.token.as_ref();
        let is_late = self.league.phase != Phase::Registering;
        let is_closed = is_late && !self.league.registration(self.at).0;
        is_closed && token.is_none_or(AuthToken::is_pledge)
    }

    /// Why no new player is admitted now.
    fn closed(&self) -> Rejection {
        let league = self.league;
        match league.phase {
            Phase::Running if self.is_player() => Rejection::Begun {
                takes_late_entrants: league.rules.format.takes_late_entrants(),
                is_last: !league.takes_players(),
            },
            _ => Rejection::Closed,
        }
    }

    /// The name of an agent: its own, or with the first number that is free if another has it. After
    /// the start, and if the organiser gave the name here or in the league before, it stays as it
    /// was.
    fn name(&self, agent: &Agent) -> String {
        self.name_of(self.league.find_agent(agent))
    }

    fn name_of(&self, index: Option<AgentIndex>) -> String {
        if let Some(given) = self.given_name(index) {
            return given.to_owned();
        }
        let (league, own) = (self.league, self.applicant.request.meta.display_name.trim());
        let holder = |name: &str| league.names.get(&folded(name)).copied();
        let agent = index.and_then(|index| Some(&league.member(index)?.peer.agent));
        let agent = agent.or_else(|| Some(&self.own_kept_seat()?.agent));
        let is_taken = |name: &String| {
            let is_kept = league.registration.kept_from(name, agent).is_some();
            is_kept || holder(name).is_some_and(|holder| index != Some(holder))
        };
        let numbered = (2..=MAX_NAMESAKES).map(|number| numbered(own, number));
        let mut names = std::iter::once(own.to_owned()).chain(numbered);
        let name = names.find(|name| !is_taken(name)).unwrap_or_default();
        let member = index.and_then(|index| league.member(index));
        let is_before = league.phase == Phase::Registering;
        let is_other = !is_before && holder(&name) != index;
        match member.filter(|_| is_other || name.is_empty()) {
            Some(member) => member.name.to_string(),
            None => name,
        }
    }

    /// The name that the organiser gave to a member, or to a newcomer in the league before.
    fn given_name(&self, index: Option<AgentIndex>) -> Option<&str> {
        let Some(index) = index else {
            let seat = self.own_kept_seat().filter(|seat| seat.has_given_name);
            return seat.map(|seat| seat.name.as_str());
        };
        let member = self.league.member(index)?;
        member.has_given_name.then_some(&*member.name)
    }

    /// What keeps a new player out.
    fn check_seat(&self) -> Result<(), Rejection> {
        let (league, state) = (self.league, &self.league.registration);
        let request = &self.applicant.request;
        if !league.registration(self.at).0 {
            return Err(self.closed());
        }
        let code = request
            .join_code
            .as_ref()
            .map(|code| league.code_digest(code));
        if state.code.is_some() && state.code != code {
            return Err(Rejection::JoinCode);
        }
        // A namesake would be another name.
        let name = self.name_of(None);
        if !state.lists(&name) {
            return Err(Rejection::NotListed(name));
        }
        if league.has_room() {
            Ok(())
        } else {
            Err(Rejection::Full(state.capacity))
        }
    }

    fn new_id(&self) -> Result<(AdmittedId, Admission), Rejection> {
        let league = self.league;
        let kept = self.kept_id()?;
        let wanted = self.applicant.request.wanted_id.as_ref();
        let wanted =
            wanted.filter(|wanted| !is_reserved(wanted, self.kind) && self.is_free(wanted));
        let wanted = kept.as_ref().or(wanted);
        match self.kind {
            MemberKind::Player => self.check_seat()?,
            MemberKind::Referee if league.referees.len() >= MAX_REFEREES => {
                return Err(Rejection::Closed);
            }
            MemberKind::Referee => {}
        }
        Ok(match self.kind {
            MemberKind::Player => {
                let wanted = wanted.and_then(|wanted| PlayerId::new(wanted).ok());
                let is_kept =
                    |id: &PlayerId| self.is_kept(&Agent::Player(id.clone()), kept.as_ref());
                let id = league.players.choose_id(wanted, is_kept);
                (AdmittedId::Player(id), Admission::Open)
            }
            MemberKind::Referee => {
                let admission = self.admitted_by()?;
                let wanted = wanted.and_then(|wanted| RefereeId::new(wanted).ok());
                let is_kept =
                    |id: &RefereeId| self.is_kept(&Agent::Referee(id.clone()), kept.as_ref());
                let id = league.referees.choose_id(wanted, is_kept);
                (AdmittedId::Referee(id), admission)
            }
        })
    }

    /// The id that an agent of an earlier league had, if the applicant proves to be that agent. A
    /// kept name is for that agent alone; another one that proves itself gets a number, if the league
    /// gives numbers.
    fn kept_id(&self) -> Result<Option<String>, Rejection> {
        let (own, name) = (
            self.own_kept_seat(),
            &self.applicant.request.meta.display_name,
        );
        let is_numbered = own.is_some() && !self.league.rules.strict;
        let other = self
            .league
            .registration
            .kept_from(name, own.map(|seat| &seat.agent));
        match other.filter(|_| !is_numbered) {
            Some(seat) => Err(Rejection::Kept {
                name: seat.name.clone(),
                holder: id_of(&seat.agent),
            }),
            None => Ok(own.map(|seat| id_of(&seat.agent))),
        }
    }

    /// The seat of an earlier league that is kept for the applicant: it proves itself, or the
    /// organiser lets the agent of its name in.
    fn own_kept_seat(&self) -> Option<&KeptSeat> {
        let (state, request) = (&self.league.registration, &self.applicant.request);
        let token = request.token.as_ref().map(AuthToken::hash);
        let proven = token.and_then(|token| state.kept_by(token));
        let named = state.kept.get(&folded(&request.meta.display_name));
        let let_in = named.filter(|seat| self.league.is_readmitted(&seat.agent, self.at));
        proven.or(let_in).filter(|seat| match &seat.agent {
            Agent::Player(_) => self.kind == MemberKind::Player,
            Agent::Referee(_) => self.kind == MemberKind::Referee,
            Agent::Manager => false,
        })
    }

    /// Whether an id is kept for another agent.
    fn is_kept(&self, agent: &Agent, own: Option<&String>) -> bool {
        let is_own = own.is_some_and(|own| agent.to_string().ends_with(&format!(":{own}")));
        !is_own && self.league.registration.keeps(agent)
    }

    /// How a new referee is admitted; after the start only by the organiser.
    ///
    /// An invitation and a listing are for an address, and so for the machine that it is of.
    fn admitted_by(&self) -> Result<Admission, Rejection> {
        let (league, applicant) = (self.league, self.applicant);
        let endpoint = applicant.request.meta.contact_endpoint.clone();
        let is_invited = league.invited.contains(&place(&endpoint));
        let is_open = league.phase == Phase::Registering;
        if is_invited && applicant.is_at_address {
            Ok(Admission::Organiser)
        } else if is_open && applicant.has_key {
            Ok(Admission::Key)
        } else if is_open && applicant.is_listed && applicant.is_at_address {
            Ok(Admission::Listed)
        } else if is_open && league.rules.open_referees {
            Ok(Admission::Open)
        } else if is_invited || is_open && applicant.is_listed {
            Err(Rejection::OtherMachine { endpoint })
        } else if !is_open {
            Err(Rejection::Late { endpoint })
        } else if applicant.request.referee_key.is_some() {
            Err(Rejection::WrongKey { endpoint })
        } else {
            Err(Rejection::Stranger { endpoint })
        }
    }

    /// Whether no agent of the other kind has this id: people and log files do not tell them apart.
    fn is_free(&self, wanted: &str) -> bool {
        let league = self.league;
        let taken = match self.kind {
            MemberKind::Player => {
                let id = RefereeId::new(wanted).ok();
                id.and_then(|id| league.referees.find(&id))
            }
            MemberKind::Referee => {
                let id = PlayerId::new(wanted).ok();
                id.and_then(|id| league.players.find(&id))
            }
        };
        taken.is_none()
    }

    /// The id of an agent that is in the league already; a player that was put out comes back only
    /// if it was absent.
    fn known_id(&self, index: AgentIndex) -> Result<AdmittedId, Rejection> {
        let id = match index {
            AgentIndex::Player(number) => {
                let player = self.league.players.get(number);
                if let Some(player) = player
                    && let Some(expulsion) = player.expulsion
                    && !expulsion.is_absence
                {
                    let player = player.id.clone();
                    return Err(Rejection::Out { player, expulsion });
                }
                player.map(|player| AdmittedId::Player(player.id.clone()))
            }
            AgentIndex::Referee(number) => {
                let referee = self.league.referees.get(number);
                referee.map(|referee| AdmittedId::Referee(referee.id.clone()))
            }
        };
        id.ok_or(Rejection::Closed)
    }

    /// Checks that the applicant is the agent that has its name, and says how it comes in: with a
    /// token that proves it, or as the organiser lets it in.
    ///
    /// Only with its return token may an agent change its address and its dialect: referees see its
    /// auth token.
    fn recognise(&self, index: AgentIndex) -> Result<Entry, Rejection> {
        let member = self.league.member(index).ok_or(Rejection::Closed)?;
        let taken = || Rejection::taken(&member.name, &member.peer.agent);
        let same_kind = match index {
            AgentIndex::Player(_) => self.kind == MemberKind::Player,
            AgentIndex::Referee(_) => self.kind == MemberKind::Referee,
        };
        if !same_kind {
            return Err(taken());
        }
        // The organiser's word counts after every proof.
        let readmission = || {
            let is_readmitted = self.league.is_readmitted(&member.peer.agent, self.at);
            is_readmitted.then(|| Entry::Readmission(self.pledge()))
        };
        let own_place = place(&self.applicant.request.meta.contact_endpoint);
        let same_peer = place(&member.peer.endpoint) == own_place
            && member.peer.dialect == self.applicant.dialect;
        if let Some(token) = self.applicant.request.token.as_ref().map(AuthToken::hash) {
            if self.is_return_token(&member.peer.agent, Some(token)) {
                return Ok(Entry::Return(Some(token)));
            }
            let is_exposed = self.league.is_by_documents(index);
            let lost = member.unproved || self.at < member.token_given + REPLACED_TOKEN_GRACE;
            let is_own = token == member.token || lost && member.replaced.contains(&token);
            if is_own && !is_exposed {
                return if same_peer {
                    Ok(Entry::Return(Some(token)))
                } else {
                    readmission().ok_or(Rejection::Moved)
                };
            }
        }
        if let Some(entry) = readmission() {
            return Ok(entry);
        }
        // An agent that made a pledge or was given a return token can always prove itself.
        let excused = self.league.phase == Phase::Registering
            || member.health.suspended_since.is_some()
            || self.applicant.dialect == Dialect::V1;
        // Before the start, and for a referee by the documents, whose token others may have seen,
        // only its machine speaks for it.
        let is_at_home = self.applicant.is_at_address
            || self.league.phase != Phase::Registering && !self.league.is_by_documents(index);
        if same_peer && excused && !member.returns && is_at_home {
            Ok(Entry::Return(None))
        } else {
            Err(taken())
        }
    }

    /// Whether a proof is known to the agent alone: its return token, or the pledge with which it
    /// comes back if the reply with that token was lost.
    fn is_return_token(&self, agent: &Agent, proof: Proof) -> bool {
        let pledge = self
            .league
            .member_of(agent)
            .and_then(|member| member.pledge);
        let token = || self.league.return_token_of(agent, 0).hash();
        proof.is_some_and(|proof| pledge == Some(proof) || proof == token())
    }

    fn accept(&self, id: AdmittedId, entry: Entry) -> Decision {
        let (text, agent) = match &id {
            AdmittedId::Player(id) => (id.as_str(), Agent::Player(id.clone())),
            AdmittedId::Referee(id) => (id.as_str(), Agent::Referee(id.clone())),
        };
        let token = AuthToken::mint(text, &self.applicant.chance);
        let lasting = self.lasting_tokens(&agent, entry);
        // A return ends a readmission, so that it has to be written.
        if let Entry::Return(_) = entry
            && !self.league.is_readmitted(&agent, self.at)
            && let Some(token) = self.unchanged_token(&agent)
        {
            let seen = Event::AgentAnswered {
                agent: agent.clone(),
                recovered: true,
                at: self.at,
            };
            return Decision::accept(vec![seen], self.enrolled(id, &agent, token, lasting));
        }
        let event = self.admitted(&id, &agent, entry, token.hash());
        let back = self
            .known_player(&agent)
            .filter(|player| player.may_come_back());
        let back = back.filter(|_| self.league.phase == Phase::Running);
        let back = back.map(|player| Event::PlayerReinstated {
            player_id: player.id.clone(),
            at: self.at,
        });
        let events = std::iter::once(event).chain(back).collect();
        Decision::accept(events, self.enrolled(id, &agent, token, lasting))
    }

    /// What an agent is given. One that knows nothing of return tokens could not restart if it had
    /// one.
    fn lasting_tokens(&self, agent: &Agent, entry: Entry) -> LastingTokens {
        let renewals = self
            .league
            .member_of(agent)
            .map_or(0, |member| member.renewals);
        let is_plain = self.applicant.request.is_plain;
        let knows_return_tokens = self.pledge().is_some() || self.signs() || is_plain;
        match entry {
            Entry::New(_) if knows_return_tokens => LastingTokens::Both(0),
            // What it had is void.
            Entry::Readmission(_) if knows_return_tokens => {
                LastingTokens::Both(renewals.saturating_add(1))
            }
            Entry::New(_) | Entry::Readmission(_) => LastingTokens::Manager,
            Entry::Return(proof) if self.is_return_token(agent, proof) => {
                LastingTokens::Both(renewals)
            }
            Entry::Return(_) => LastingTokens::None,
        }
    }

    fn known_player(&self, agent: &Agent) -> Option<&PlayerEntry> {
        match self.league.find_agent(agent)? {
            AgentIndex::Player(number) => self.league.players.get(number),
            AgentIndex::Referee(_) => None,
        }
    }

    /// Whether the applicant is a player that signs its moves.
    fn signs(&self) -> bool {
        self.kind == MemberKind::Player
            && self.applicant.dialect != Dialect::V1
            && self.applicant.request.meta.proofs
    }

    /// Whether a returning player signs from now on: referees see auth tokens, so that only the
    /// return token changes it.
    fn signs_again(&self, agent: &Agent, proof: Proof) -> bool {
        if self.is_return_token(agent, proof) {
            return self.signs();
        }
        self.known_player(agent).is_some_and(|player| player.signs)
    }

    /// The token with which a returning agent goes on if its return changes nothing, so that a
    /// repeated return fills no journal: the token that it shows, or any token if its dialect has
    /// none.
    fn unchanged_token(&self, agent: &Agent) -> Option<AuthToken> {
        let index = self.league.find_agent(agent)?;
        let member = self.league.member(index)?;
        // A new token closes the breakers that referees have opened for the old one.
        let has_failed = |player: &PlayerEntry| player.absent || player.forfeits > 0;
        let is_same = self.describes(member, index)
            && member.health.suspended_since.is_none()
            && !self.known_player(agent).is_some_and(has_failed);
        if self.applicant.dialect == Dialect::V1 {
            return is_same.then(|| AuthToken::mint("v1", &self.applicant.chance));
        }
        let token = self.applicant.request.token.as_ref()?;
        let is_young = self.at < member.token_given + self.league.rules.token_ttl / 2;
        let is_same = is_same && is_young && !member.unproved && token.hash() == member.token;
        // A return token that the organiser gave is not good for calls.
        let is_good = self.league.tokens.contains_key(&token.hash());
        (is_same && is_good).then(|| token.clone())
    }

    /// Whether the applicant describes itself as the member that is known.
    fn describes(&self, member: &Member, index: AgentIndex) -> bool {
        let meta = self.kept_meta(&member.peer.agent);
        let capacity_of = |number| Some(self.league.referees.get(number)?.capacity);
        let same_capacity = match index {
            AgentIndex::Player(_) => true,
            AgentIndex::Referee(number) => capacity_of(number) == Some(capacity(&meta)),
        };
        *member.peer.endpoint == *meta.contact_endpoint
            && member.peer.dialect == self.applicant.dialect
            && member.peer.speech == meta.speech
            && *member.name == *meta.display_name
            && *member.version == *meta.version
            && member.human == meta.human
            && same_capacity
    }

    fn enrolled(
        &self,
        id: AdmittedId,
        agent: &Agent,
        token: AuthToken,
        lasting: LastingTokens,
    ) -> Reply {
        match id {
            AdmittedId::Player(id) => Reply::Player(self.enrol(id, agent, token, lasting)),
            AdmittedId::Referee(id) => Reply::Referee(self.enrol(id, agent, token, lasting)),
        }
    }

    fn admitted(&self, id: &AdmittedId, agent: &Agent, entry: Entry, token: TokenHash) -> Event {
        let mut meta = Box::new(self.kept_meta(agent));
        meta.proofs = match entry {
            Entry::Return(proof) => self.signs_again(agent, proof),
            Entry::New(_) | Entry::Readmission(_) => self.signs(),
        };
        let (dialect, pledge, at) = (self.applicant.dialect, self.pledge(), self.at);
        match (entry, id) {
            (Entry::Return(proof) | Entry::Readmission(proof), _) => Event::AgentReturned {
                agent: agent.clone(),
                meta,
                dialect,
                token,
                proof,
                readmitted: matches!(entry, Entry::Readmission(_)),
                at,
            },
            (Entry::New(_), AdmittedId::Player(player_id)) => Event::PlayerRegistered {
                player_id: player_id.clone(),
                meta,
                dialect,
                token,
                pledge,
                at,
            },
            (Entry::New(admitted), AdmittedId::Referee(referee_id)) => Event::RefereeRegistered {
                referee_id: referee_id.clone(),
                meta,
                dialect,
                token,
                pledge,
                admitted,
                at,
            },
        }
    }

    /// The reply to an admitted agent.
    ///
    /// A stranger might return in the agent's name with its auth token (referees see the tokens of
    /// players) or without one. So the lasting tokens go out the first time only, and to an agent
    /// that knows them already.
    fn enrol<Id>(
        &self,
        id: Id,
        agent: &Agent,
        token: AuthToken,
        lasting: LastingTokens,
    ) -> RegisterResponse<Id> {
        let speaks_of_tokens = self.applicant.dialect != Dialect::V1 && self.takes_additions();
        let manager = speaks_of_tokens && lasting != LastingTokens::None;
        let (secret, league_id) = (&self.league.secrets.tokens, &self.league.rules.league_id);
        let return_token = match lasting {
            LastingTokens::Both(renewals) if speaks_of_tokens => {
                Some(secret.renewed_token(league_id, agent, renewals))
            }
            _ => None,
        };
        RegisterResponse::from(Enrolment {
            id,
            token,
            league_id: league_id.clone(),
            manager_token: manager.then(|| secret.manager_token(league_id, agent)),
            return_token,
            note: self.renamed(agent),
        })
    }

    /// The note for an agent whose name in the league differs from the one that it registered.
    fn renamed(&self, agent: &Agent) -> Option<String> {
        let (name, own) = (
            self.name(agent),
            self.applicant.request.meta.display_name.trim(),
        );
        let is_given = self.given_name(self.league.find_agent(agent)).is_some();
        let note = match is_given {
            true => format!("the organiser named you `{name}`"),
            false => format!("another agent is named `{own}`, so you are `{name}` in this league"),
        };
        (name != own).then_some(note)
    }

    /// Whether the applicant may be sent what the documents do not have: in a strict league only if
    /// it has shown that it knows such fields.
    fn takes_additions(&self) -> bool {
        let request = &self.applicant.request;
        !self.league.rules.strict || !request.meta.is_foreign() || request.token.is_some()
    }

    /// The token that a new agent made for itself; any other token may have been seen by others.
    fn pledge(&self) -> Proof {
        let token = self.applicant.request.token.as_ref()?;
        // What proved the agent in the league before does so here too.
        let is_kept = self.league.registration.kept_by(token.hash()).is_some();
        let own = self.applicant.dialect != Dialect::V1 && (token.is_pledge() || is_kept);
        own.then(|| token.hash())
    }

    /// The part of an agent's description that is kept.
    fn kept_meta(&self, agent: &Agent) -> AgentMeta {
        let meta = &self.applicant.request.meta;
        AgentMeta {
            speech: self.applicant.speech,
            display_name: self.name(agent),
            version: excerpt(&meta.version),
            protocol_version: meta.protocol_version.as_deref().map(excerpt),
            game_types: meta.game_types.iter().take(MAX_GAMES).cloned().collect(),
            ..meta.clone()
        }
    }
}

/// A name with a number after it, no longer than names may be.
fn numbered(name: &str, number: u32) -> String {
    let number = format!(" ({number})");
    let room = MAX_NAME - number.len();
    name.trim()
        .chars()
        .take(room)
        .chain(number.chars())
        .collect()
}

/// Refuses an unsupported version; the error holds its showable part.
fn check_version(found: Option<&str>) -> Result<(), String> {
    match found {
        Some(text) if !is_supported(text) => Err(excerpt(text)),
        _ => Ok(()),
    }
}

fn excerpt(text: &str) -> String {
    let plain = text.chars().filter(|&character| is_harmless(character));
    plain.take(MAX_VERSION).collect()
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
            "\u{3164}",
            "a\u{7}",
            &"x".repeat(65),
        ] {
            assert!(!is_showable(bad), "{bad:?}");
        }
    }
}
