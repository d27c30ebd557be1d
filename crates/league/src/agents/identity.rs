//! The identity of an agent: a snapshot that its actor publishes, read by the wire.
//!
//! The machine and its observer own the state. After each batch the actor derives [`AgentInfo`]
//! from them and publishes it: after the journal is written, before answers and letters leave.
//!
//! Terms for an agent on its way into a league: an *invited* player is named by the organiser and
//! never registers itself; an *applicant* has sent a registration that the manager has not decided;
//! an *unregistered* agent has no id yet and is known by its name; an *entrant* is a program that
//! brings its own player; a *member* has been admitted ([`Membership`]).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use league_protocol::dialect::{self, Hints};
use league_protocol::encode::Sender;
use league_protocol::finding::Reading;
use league_protocol::id::{ConversationId, GameType, LeagueId, PlayerId};
use league_protocol::sender::{Agent, Dialect};
use league_protocol::token::{AuthToken, hex};
use sha2::{Digest, Sha256};
use tokio::sync::watch;

/// Digits of a digest that make a conversation id unique to an agent.
const DIGITS: usize = 16;

/// The identity of an agent: constant values, and the latest snapshot of the rest.
#[derive(Debug)]
pub(crate) struct Identity {
    /// Its kind and name, used until it has an id.
    pub(crate) unregistered: Unregistered,
    /// Its own dialect; without one, the agent answers in the caller's dialect.
    dialect: Option<Dialect>,
    /// The league that it wants to enter.
    wanted: Option<LeagueId>,
    /// Whether its manager sends answers without a JSON-RPC frame.
    host_is_bare: AtomicBool,
    snapshot: watch::Receiver<Arc<Snapshot>>,
    membership: watch::Receiver<Membership>,
}

/// The part of an agent's state that its actor publishes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AgentInfo {
    pub(crate) agent: Option<Agent>,
    pub(crate) league_id: Option<LeagueId>,
    pub(crate) game_type: Option<GameType>,
    /// Whether it decodes strictly.
    pub(crate) strict: bool,
    /// Whether its manager authenticates itself, as ours do.
    pub(crate) guarded: bool,
    pub(crate) token: Option<AuthToken>,
    /// The token that authenticates it when it returns.
    pub(crate) return_token: Option<AuthToken>,
    pub(crate) membership: Membership,
}

/// The published state of an agent, and its names in logs.
#[derive(Debug)]
pub(crate) struct Snapshot {
    pub(crate) info: AgentInfo,
    pub(crate) names: LogNames,
}

/// Publishes the derived state; the only writer.
#[derive(Debug)]
pub(crate) struct InfoPublisher {
    unregistered: Unregistered,
    snapshot: watch::Sender<Arc<Snapshot>>,
    /// The same membership, for readers that wait for changes.
    membership: watch::Sender<Membership>,
}

impl InfoPublisher {
    /// Publishes a snapshot, unless it equals the last.
    pub(crate) fn publish(&self, info: AgentInfo) {
        let membership = info.membership.clone();
        self.snapshot.send_if_modified(|last| {
            let changed = last.info != info;
            if changed {
                *last = Arc::new(Snapshot::new(info, &self.unregistered));
            }
            changed
        });
        self.membership.send_if_modified(|last| {
            let changed = *last != membership;
            *last = membership;
            changed
        });
    }
}

impl Snapshot {
    fn new(info: AgentInfo, unregistered: &Unregistered) -> Self {
        let names = LogNames::of(info.agent.as_ref(), unregistered);
        Self { info, names }
    }

    /// How the agent decodes messages.
    pub(crate) fn reading(&self) -> Reading {
        if self.info.strict {
            Reading::Strict
        } else {
            Reading::Lenient
        }
    }
}

/// The progress of an agent in its league.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Membership {
    /// It asks for admission.
    Registering,
    Enrolled,
    /// It was not admitted. A player stops; a referee asks again as long as its process runs.
    Rejected(String),
    /// Its league is over.
    Completed,
}

/// An agent that has no id yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Unregistered {
    /// The manager never has an id.
    Manager,
    /// A referee, by its [`first_name`].
    Referee(String),
    /// A player, by its [`first_name`].
    Player(String),
}

/// The name of an agent that has no id: the id that it wishes for, or else its display name without
/// blanks, which other managers do not expect in a sender.
pub(crate) fn first_name(wanted_id: Option<&str>, display_name: &str) -> String {
    let words: Vec<&str> = display_name.split_whitespace().collect();
    wanted_id.map_or_else(|| words.join("_"), str::to_owned)
}

/// The names of an agent in logs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LogNames {
    /// The name of its log: `P01`, `league_manager`, or `newcomers` for all agents without an id.
    pub(crate) log: Arc<str>,
    /// Its own name: `player:P01`, or `player:Alpha` before it has an id.
    pub(crate) label: Arc<str>,
}

impl LogNames {
    fn of(agent: Option<&Agent>, unregistered: &Unregistered) -> Self {
        let log = match agent {
            Some(Agent::Player(id)) => id.as_str(),
            Some(Agent::Referee(id)) => id.as_str(),
            Some(Agent::Manager) => "league_manager",
            None => "newcomers",
        };
        let label = match (agent, unregistered) {
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

impl Identity {
    /// An agent with its first snapshot.
    pub(crate) fn new(unregistered: Unregistered, info: AgentInfo) -> (InfoPublisher, Self) {
        let publisher = InfoPublisher {
            unregistered: unregistered.clone(),
            membership: watch::Sender::new(info.membership.clone()),
            snapshot: watch::Sender::new(Arc::new(Snapshot::new(info, &unregistered))),
        };
        let identity = Self {
            unregistered,
            dialect: None,
            wanted: None,
            host_is_bare: AtomicBool::new(false),
            snapshot: publisher.snapshot.subscribe(),
            membership: publisher.membership.subscribe(),
        };
        (publisher, identity)
    }

    /// The same agent, with its own dialect and the league that it wants to enter.
    pub(crate) fn bound_for(self, league: LeagueId, dialect: Dialect) -> Self {
        Self {
            dialect: Some(dialect),
            wanted: Some(league),
            ..self
        }
    }

    /// The latest snapshot; a call takes it once, so that one state decides about the whole call.
    pub(crate) fn latest(&self) -> Arc<Snapshot> {
        Arc::clone(&self.snapshot.borrow())
    }

    /// The values that the agent knows and a message may omit.
    pub(crate) fn hints<'s>(&'s self, latest: &'s Snapshot) -> Hints<'s> {
        let Snapshot { info, .. } = latest;
        Hints {
            // Its own league, or the one that it wants to enter.
            league_id: info.league_id.as_ref().or(self.wanted.as_ref()),
            game_type: info.game_type.as_ref(),
            reader: match &info.agent {
                Some(Agent::Player(id)) => Some(id),
                _ => None,
            },
            synonyms: self.takes_anything_in(latest),
            ..Hints::default()
        }
    }

    /// Its id, once it has one.
    pub(crate) fn agent(&self) -> Option<Agent> {
        self.latest().info.agent.clone()
    }

    /// The name for logs and the field `sender`.
    pub(crate) fn label(&self) -> String {
        self.latest().names.label.to_string()
    }

    pub(crate) fn names(&self) -> LogNames {
        self.latest().names.clone()
    }

    /// The conversation of its registration: constant until the agent gets another token, and known
    /// only to the manager that it asked.
    pub(crate) fn own_registration(&self) -> ConversationId {
        let latest = self.latest();
        let mut hash = Sha256::new();
        hash.update("registration:");
        if let Some(token) = &latest.info.token {
            hash.update(token.reveal());
        }
        let digest = hex(&hash.finalize().into());
        let label = &latest.names.label;
        ConversationId::new(format!("conv-reg-{}-{label}", &digest[..DIGITS]))
    }

    /// Whether a conversation is that of its registration, in any dialect.
    pub(crate) fn is_own_registration(&self, named: &ConversationId) -> bool {
        let own = self.own_registration();
        *named == own || named.as_str() == dialect::conversation(own.as_str())
    }

    pub(crate) fn log_name(&self) -> Arc<str> {
        Arc::clone(&self.latest().names.log)
    }

    /// Its id, if it is a player.
    pub(crate) fn player(&self) -> Option<PlayerId> {
        match self.agent() {
            Some(Agent::Player(id)) => Some(id),
            _ => None,
        }
    }

    /// The league that has admitted it.
    pub(crate) fn league(&self) -> Option<LeagueId> {
        self.latest().info.league_id.clone()
    }

    /// The dialect that it requires of every message: its own, if it decodes strictly.
    pub(crate) fn pinned(&self, latest: &Snapshot) -> Option<Dialect> {
        self.dialect.filter(|_| latest.info.strict)
    }

    /// The dialect of its answer to a message in dialect `said`: its own, unless the caller uses a
    /// different protocol altogether.
    pub(crate) fn answers_in(&self, said: Dialect) -> Dialect {
        let own = self.dialect.unwrap_or(said);
        if own.protocol() == said.protocol() {
            own
        } else {
            said
        }
    }

    /// Whether it accepts calls without authentication: it is a player that decodes leniently, and
    /// its manager is not one of ours (ruling 47).
    pub(crate) fn takes_anything(&self) -> bool {
        self.takes_anything_in(&self.latest())
    }

    fn takes_anything_in(&self, latest: &Snapshot) -> bool {
        let Snapshot { info, .. } = latest;
        let player = matches!(self.unregistered, Unregistered::Player(_));
        player && !info.guarded && !info.strict && info.league_id.is_some()
    }

    /// Records whether the answer of its manager had a JSON-RPC frame.
    pub(crate) fn note_host(&self, is_bare: bool) {
        self.host_is_bare.store(is_bare, Ordering::Relaxed);
    }

    /// Whether its answers carry their members beside `result` as well: hosts that send no frames
    /// look for them there.
    pub(crate) fn answers_both_ways(&self) -> bool {
        self.host_is_bare.load(Ordering::Relaxed) && self.takes_anything()
    }

    /// Whether it takes orders in words that are not ours: it is a referee of a lenient league, and
    /// its manager is not one of ours.
    pub(crate) fn takes_foreign_orders(&self) -> bool {
        let Snapshot { info, .. } = &*self.latest();
        let referee = matches!(self.unregistered, Unregistered::Referee(_));
        referee && !info.guarded && !info.strict && info.league_id.is_some()
    }

    /// Its membership, and later changes.
    pub(crate) fn membership(&self) -> watch::Receiver<Membership> {
        self.membership.clone()
    }

    /// Whether no admission is under way.
    pub(crate) fn is_admitted(&self) -> bool {
        *self.membership.borrow() != Membership::Registering
    }

    /// Whether a league has admitted it; waits up to `timeout` for an admission that is still under
    /// way.
    pub(crate) async fn is_in(&self, timeout: Duration) -> bool {
        // Most calls come after the admission, and need neither a waiter nor a timer.
        if self.is_admitted() {
            return true;
        }
        let mut membership = self.membership();
        let admitted = membership.wait_for(|now| *now != Membership::Registering);
        let waited = tokio::time::timeout(timeout, admitted).await;
        matches!(waited, Ok(Ok(_))) || self.agent().is_some()
    }

    /// The value of the `sender` field.
    pub(crate) fn sender<'s>(&'s self, agent: Option<&'s Agent>) -> Sender<'s> {
        match (agent, &self.unregistered) {
            (Some(agent), _) => Sender::Agent(agent),
            (None, Unregistered::Referee(name)) => Sender::NewReferee(name),
            (None, Unregistered::Player(name)) => Sender::NewPlayer(name),
            (None, Unregistered::Manager) => Sender::Agent(&Agent::Manager),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outside(strict: bool) -> AgentInfo {
        AgentInfo {
            agent: None,
            league_id: None,
            game_type: None,
            strict,
            guarded: false,
            token: None,
            return_token: None,
            membership: Membership::Registering,
        }
    }

    fn member_of(league: &str, strict: bool) -> AgentInfo {
        AgentInfo {
            agent: Some(Agent::Player(PlayerId::numbered(1))),
            league_id: Some(LeagueId::new(league).unwrap()),
            membership: Membership::Enrolled,
            ..outside(strict)
        }
    }

    fn player(info: AgentInfo, dialect: Dialect) -> (InfoPublisher, Identity) {
        let alpha = Unregistered::Player("Alpha".to_owned());
        let (publisher, identity) = Identity::new(alpha, info);
        let wanted = LeagueId::new("wanted").unwrap();
        (publisher, identity.bound_for(wanted, dialect))
    }

    fn manager(strict: bool) -> Identity {
        Identity::new(Unregistered::Manager, outside(strict)).1
    }

    #[tokio::test]
    async fn a_call_that_overtook_an_admission_waits_for_it() {
        let returning = AgentInfo {
            membership: Membership::Registering,
            ..member_of("last", false)
        };
        let (publisher, identity) = player(returning, Dialect::V2);
        let called = tokio::spawn(async move {
            let is_in = identity.is_in(Duration::from_secs(60)).await;
            (is_in, identity.league())
        });
        tokio::task::yield_now().await;
        assert!(!called.is_finished());
        publisher.publish(member_of("next", false));
        let (is_in, league) = called.await.unwrap();
        assert!(is_in);
        assert_eq!(league, Some(LeagueId::new("next").unwrap()));
    }

    #[tokio::test]
    async fn a_player_that_is_not_admitted_in_time_goes_by_what_it_knows() {
        let (publisher, identity) = player(outside(false), Dialect::V2);
        assert!(!identity.is_in(Duration::from_millis(1)).await);
        publisher.publish(AgentInfo {
            membership: Membership::Registering,
            ..member_of("last", false)
        });
        assert!(identity.is_in(Duration::from_millis(1)).await);
    }

    #[tokio::test]
    async fn an_equal_snapshot_wakes_no_reader() {
        let (publisher, identity) = player(outside(false), Dialect::V2);
        publisher.publish(outside(false));
        assert!(!identity.snapshot.has_changed().unwrap());
        publisher.publish(outside(true));
        assert!(identity.snapshot.has_changed().unwrap());
    }

    #[test]
    fn an_agent_answers_in_its_own_dialect_unless_the_protocol_is_another() {
        let (_, page) = player(outside(false), Dialect::V2Api);
        for said in Dialect::ALL {
            assert_eq!(manager(false).answers_in(said), said);
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
        let pinned = |strict| {
            let (_, player) = player(outside(strict), Dialect::V1);
            player.pinned(&player.latest())
        };
        assert_eq!(pinned(false), None);
        assert_eq!(pinned(true), Some(Dialect::V1));
        assert_eq!(manager(true).pinned(&manager(true).latest()), None);
    }

    #[test]
    fn only_a_lenient_player_of_a_foreign_league_takes_anything() {
        let takes = |info| player(info, Dialect::V2).1.takes_anything();
        assert!(!takes(outside(false)), "it is in no league yet");
        assert!(takes(member_of("theirs", false)));
        assert!(!takes(member_of("theirs", true)));
        let guarded = AgentInfo {
            guarded: true,
            ..member_of("theirs", false)
        };
        assert!(!takes(guarded), "its manager proves itself");
    }

    #[test]
    fn the_league_that_is_meant_is_the_one_it_is_in_or_else_wants() {
        let (publisher, identity) = player(outside(false), Dialect::V1);
        let meant = || identity.hints(&identity.latest()).league_id.cloned();
        assert_eq!(identity.league(), None);
        assert_eq!(meant(), LeagueId::new("wanted").ok());
        publisher.publish(member_of("theirs", false));
        assert_eq!(meant(), LeagueId::new("theirs").ok());
    }
}
