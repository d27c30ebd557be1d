//! Who an agent is, as its post and its reception have to know.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};
use std::time::Duration;

use league_protocol::dialect;
use league_protocol::encode::Sender;
use league_protocol::finding::Reading;
use league_protocol::id::{ConversationId, GameType, LeagueId, PlayerId};
use league_protocol::sender::{Agent, Dialect};
use league_protocol::token::{AuthToken, hex};
use sha2::{Digest, Sha256};
use tokio::sync::watch;

use crate::storage::secrets::Tokens;

/// How many digits of a digest make a conversation one's own.
const DIGITS: usize = 16;

/// Who an agent is.
#[derive(Debug)]
pub(crate) struct Identity {
    /// Its kind and name, for as long as it has no id.
    pub(crate) newcomer: Unregistered,
    held: RwLock<Held>,
    strict: AtomicBool,
    /// How it speaks; one that answers everybody in their own words has no dialect.
    dialect: Option<Dialect>,
    /// The league that it asks to be let into.
    wanted: Option<LeagueId>,
    /// Whether its manager proves itself, as ours do.
    guarded: AtomicBool,
    life: watch::Sender<Membership>,
}

/// How far an agent is in its league.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Membership {
    /// It asks to be admitted.
    Registering,
    /// It is in.
    Enrolled,
    /// It was not admitted, and asking again would not help.
    Rejected(String),
    /// Its league is over.
    Completed,
}

/// An agent that has no id yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Unregistered {
    /// The manager has no id at all.
    Manager,
    /// A referee, by its name.
    Referee(String),
    /// A player, by its name.
    Player(String),
}

/// By which names an agent is known in logs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LogNames {
    /// Of its log: `P01`, `league_manager`, and `newcomers` for all who have no id yet.
    pub(crate) log: Arc<str>,
    /// Of itself: `player:P01`, or `player:Alpha` before it has an id.
    pub(crate) label: Arc<str>,
}

impl LogNames {
    fn of(agent: Option<&Agent>, newcomer: &Unregistered) -> Self {
        let log = match agent {
            Some(Agent::Player(id)) => id.as_str(),
            Some(Agent::Referee(id)) => id.as_str(),
            Some(Agent::Manager) => "league_manager",
            None => "newcomers",
        };
        let label = match (agent, newcomer) {
            (Some(agent), _) => agent.to_string(),
            (None, Unregistered::Manager) => Agent::Manager.to_string(),
            (None, Unregistered::Referee(name)) => format!("referee:{name}"),
            (None, Unregistered::Player(name)) => format!("player:{name}"),
        };
        Self {
            log: log.into(),
            label: label.into(),
        }
    }
}

#[derive(Debug)]
struct Held {
    agent: Option<Agent>,
    names: LogNames,
    token: Option<AuthToken>,
    return_token: Option<AuthToken>,
    league_id: Option<LeagueId>,
    game_type: Option<GameType>,
}

impl Identity {
    /// Somebody whom no league knows yet.
    pub(crate) fn new(newcomer: Unregistered, strict: bool) -> Self {
        let agent = (newcomer == Unregistered::Manager).then_some(Agent::Manager);
        Self {
            held: RwLock::new(Held {
                names: LogNames::of(agent.as_ref(), &newcomer),
                agent,
                token: None,
                return_token: None,
                league_id: None,
                game_type: None,
            }),
            newcomer,
            strict: AtomicBool::new(strict),
            dialect: None,
            wanted: None,
            guarded: AtomicBool::new(false),
            life: watch::Sender::new(Membership::Registering),
        }
    }

    /// The same agent, with a dialect of its own and on its way to a league.
    pub(crate) fn bound_for(self, league: LeagueId, dialect: Dialect) -> Self {
        Self {
            dialect: Some(dialect),
            wanted: Some(league),
            ..self
        }
    }

    /// Its id, once it has one.
    pub(crate) fn agent(&self) -> Option<Agent> {
        self.held().agent.clone()
    }

    /// The name for logs and the field `sender`.
    pub(crate) fn label(&self) -> String {
        self.held().names.label.to_string()
    }

    /// The names by which it is known in logs.
    pub(crate) fn names(&self) -> LogNames {
        self.held().names.clone()
    }

    /// The conversation in which it asks to be admitted: the same until it is given another token,
    /// and known to whoever was asked alone.
    pub(crate) fn own_registration(&self) -> ConversationId {
        let mut hash = Sha256::new();
        hash.update("registration:");
        if let Some(token) = self.token() {
            hash.update(token.reveal());
        }
        let digest = hex(&hash.finalize().into());
        let label = self.label();
        ConversationId::new(format!("conv-reg-{}-{label}", &digest[..DIGITS]))
    }

    /// Whether a conversation is the one in which it asked to be admitted, in whatever dialect.
    pub(crate) fn is_own_registration(&self, named: &ConversationId) -> bool {
        let own = self.own_registration();
        *named == own || named.as_str() == dialect::conversation(own.as_str())
    }

    /// The name of its log.
    pub(crate) fn log_name(&self) -> Arc<str> {
        Arc::clone(&self.held().names.log)
    }

    /// Its id as a player.
    pub(crate) fn player(&self) -> Option<PlayerId> {
        match self.agent() {
            Some(Agent::Player(id)) => Some(id),
            _ => None,
        }
    }

    /// What proves it.
    pub(crate) fn token(&self) -> Option<AuthToken> {
        self.held().token.clone()
    }

    /// What proves it when it comes back.
    pub(crate) fn return_token(&self) -> Option<AuthToken> {
        self.held().return_token.clone()
    }

    /// The league it is in.
    pub(crate) fn league(&self) -> Option<LeagueId> {
        self.held().league_id.clone()
    }

    /// The league that is meant where none is named: the one it is in, or would like to be in.
    pub(crate) fn meant(&self) -> Option<LeagueId> {
        self.league().or_else(|| self.wanted.clone())
    }

    /// The dialect that it takes every message to be in: its own, if it reads strictly.
    pub(crate) fn pinned(&self) -> Option<Dialect> {
        self.dialect.filter(|_| self.reading() == Reading::Strict)
    }

    /// The dialect in which it answers what was said in another: its own, unless the caller speaks
    /// another protocol altogether.
    pub(crate) fn answers_in(&self, said: Dialect) -> Dialect {
        let own = self.dialect.unwrap_or(said);
        if own.protocol() == said.protocol() {
            own
        } else {
            said
        }
    }

    /// Whether nobody need prove anything to it, so that it takes what it can: it is a player that
    /// reads leniently, and its manager is none of ours (ruling 47).
    pub(crate) fn takes_anything(&self) -> bool {
        let player = matches!(self.newcomer, Unregistered::Player(_));
        let open = !self.guarded.load(Ordering::Relaxed);
        player && open && self.league().is_some() && self.reading() == Reading::Lenient
    }

    /// Its manager proves itself, or not.
    pub(crate) fn set_guarded(&self, guarded: bool) {
        self.guarded.store(guarded, Ordering::Relaxed);
    }

    /// What that league plays.
    pub(crate) fn game(&self) -> Option<GameType> {
        self.held().game_type.clone()
    }

    /// How it reads what others say.
    pub(crate) fn reading(&self) -> Reading {
        if self.strict.load(Ordering::Relaxed) {
            Reading::Strict
        } else {
            Reading::Lenient
        }
    }

    /// How far it is, and what comes after.
    pub(crate) fn life(&self) -> watch::Receiver<Membership> {
        self.life.subscribe()
    }

    /// It has come further.
    pub(crate) fn set_membership(&self, life: Membership) {
        self.life.send_replace(life);
    }

    /// Reads strictly from now on, or not.
    pub(crate) fn set_strict(&self, strict: bool) {
        self.strict.store(strict, Ordering::Relaxed);
    }

    /// It was given an id in a league.
    pub(crate) fn set_agent(&self, agent: Agent, league_id: LeagueId) {
        let mut held = self.held.write().unwrap_or_else(PoisonError::into_inner);
        held.names = LogNames::of(Some(&agent), &self.newcomer);
        held.agent = Some(agent);
        held.league_id = Some(league_id);
        drop(held);
        self.set_membership(Membership::Enrolled);
    }

    /// Whether a league has admitted it; a call that overtook the admission waits for that long.
    pub(crate) async fn is_in(&self, patience: Duration) -> bool {
        let mut life = self.life();
        let admitted = life.wait_for(|life| *life != Membership::Registering);
        let waited = tokio::time::timeout(patience, admitted).await;
        matches!(waited, Ok(Ok(_))) || self.agent().is_some()
    }

    /// It was given tokens; a return token that is held stays good if no other came.
    pub(crate) fn set_tokens(&self, tokens: &Tokens) {
        let mut held = self.held.write().unwrap_or_else(PoisonError::into_inner);
        held.token = Some(tokens.token.clone());
        if tokens.return_token.is_some() {
            held.return_token = tokens.return_token.clone();
        }
    }

    /// What the league plays is known.
    pub(crate) fn set_game(&self, game_type: GameType) {
        let mut held = self.held.write().unwrap_or_else(PoisonError::into_inner);
        held.game_type = Some(game_type);
    }

    /// Who stands in the field `sender`.
    pub(crate) fn sender<'s>(&'s self, agent: Option<&'s Agent>) -> Sender<'s> {
        match (agent, &self.newcomer) {
            (Some(agent), _) => Sender::Agent(agent),
            (None, Unregistered::Referee(name)) => Sender::NewReferee(name),
            (None, Unregistered::Player(name)) => Sender::NewPlayer(name),
            (None, Unregistered::Manager) => Sender::Agent(&Agent::Manager),
        }
    }

    fn held(&self) -> RwLockReadGuard<'_, Held> {
        self.held.read().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn admit(identity: &Identity, league: &str) {
        let agent = Agent::Player(PlayerId::numbered(1));
        identity.set_agent(agent, LeagueId::new(league).unwrap());
    }

    #[tokio::test]
    async fn a_call_that_overtook_an_admission_waits_for_it_whatever_came_before() {
        let identity = Arc::new(Identity::new(
            Unregistered::Player("Alpha".to_owned()),
            false,
        ));
        admit(&identity, "last");
        identity.set_membership(Membership::Registering);
        let called = tokio::spawn({
            let identity = Arc::clone(&identity);
            async move {
                (
                    identity.is_in(Duration::from_secs(60)).await,
                    identity.league(),
                )
            }
        });
        tokio::task::yield_now().await;
        assert!(!called.is_finished());
        admit(&identity, "next");
        let (is_in, league) = called.await.unwrap();
        assert!(is_in);
        assert_eq!(league, Some(LeagueId::new("next").unwrap()));
    }

    #[tokio::test]
    async fn a_player_that_nobody_admits_goes_by_what_it_knows() {
        let identity = Identity::new(Unregistered::Player("Alpha".to_owned()), false);
        assert!(!identity.is_in(Duration::from_millis(1)).await);
        admit(&identity, "last");
        identity.set_membership(Membership::Registering);
        assert!(identity.is_in(Duration::from_millis(1)).await);
    }

    fn visitor(strict: bool, dialect: Dialect) -> Identity {
        let identity = Identity::new(Unregistered::Player("Alpha".to_owned()), strict);
        identity.bound_for(LeagueId::new("wanted").unwrap(), dialect)
    }

    #[test]
    fn an_agent_answers_in_its_own_dialect_unless_the_protocol_is_another() {
        let manager = Identity::new(Unregistered::Manager, false);
        let page = visitor(false, Dialect::V2Api);
        for said in Dialect::ALL {
            assert_eq!(manager.answers_in(said), said);
            let answer = if said == Dialect::V1 {
                said
            } else {
                Dialect::V2Api
            };
            assert_eq!(page.answers_in(said), answer);
        }
    }

    #[test]
    fn only_a_strict_reader_takes_no_other_dialect_than_its_own() {
        assert_eq!(visitor(false, Dialect::V1).pinned(), None);
        assert_eq!(visitor(true, Dialect::V1).pinned(), Some(Dialect::V1));
        assert_eq!(Identity::new(Unregistered::Manager, true).pinned(), None);
    }

    #[test]
    fn only_a_lenient_player_of_somebody_elses_league_takes_anything() {
        let player = visitor(false, Dialect::V2);
        assert!(!player.takes_anything(), "it is in no league yet");
        admit(&player, "theirs");
        assert!(player.takes_anything());
        player.set_guarded(true);
        assert!(!player.takes_anything(), "its manager proves itself");
        let strict = visitor(true, Dialect::V2);
        admit(&strict, "theirs");
        assert!(!strict.takes_anything());
    }

    #[test]
    fn the_league_that_is_meant_is_the_one_it_is_in_or_else_wants() {
        let player = visitor(false, Dialect::V1);
        assert_eq!(player.league(), None);
        assert_eq!(player.meant(), LeagueId::new("wanted").ok());
        admit(&player, "theirs");
        assert_eq!(player.meant(), LeagueId::new("theirs").ok());
    }
}
