//! The agents of a league: who they are, where they answer, how they fare.

use core::net::{IpAddr, Ipv4Addr};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt;
use std::sync::Arc;

use icu_normalizer::ComposingNormalizerBorrowed;
use icu_properties::CodePointSetData;
use icu_properties::props::DefaultIgnorableCodePoint;

use league_protocol::id::{PlayerId, RefereeId};
use league_protocol::message::AgentMeta;
use league_protocol::sender::{Agent, Dialect};
use league_protocol::time::Timestamp;
use league_protocol::token::{AuthToken, TokenHash};

use super::command::MemberKind;
use crate::breaker::{Breaker, BreakerRule};
use crate::letter::Peer;

/// The states of 000 §2.8.1; `INIT` is before the league knows an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum AgentState {
    /// Admitted, the league has not begun.
    Registered,
    Active,
    /// Does not answer for now.
    Suspended,
    Shutdown,
}

impl AgentState {
    /// The state as the documents write it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Registered => "REGISTERED",
            Self::Active => "ACTIVE",
            Self::Suspended => "SUSPENDED",
            Self::Shutdown => "SHUTDOWN",
        }
    }
}

/// An agent by its number in its roster.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum AgentIndex {
    Player(u32),
    Referee(u32),
}

/// How many replaced tokens of an agent are remembered.
const MAX_REPLACED: usize = 8;

/// What every agent of the league has.
#[derive(Debug, Clone, PartialEq)]
pub struct Member {
    pub(crate) peer: Arc<Peer>,
    pub(crate) name: Arc<str>,
    pub(crate) version: Arc<str>,
    /// Whether it says that a person chooses its moves.
    pub(crate) human: bool,
    /// What the manager shows it; nothing to those whose protocol has no tokens.
    pub(crate) manager_token: Option<AuthToken>,
    pub(crate) token: TokenHash,
    pub(crate) token_given: Timestamp,
    /// What it made for itself and showed when it came first.
    pub(crate) pledge: Option<TokenHash>,
    /// Whether it was given a return token, so that it can always prove itself.
    pub(crate) returns: bool,
    /// The tokens before this one, oldest first; at most [`MAX_REPLACED`].
    pub(crate) replaced: Vec<TokenHash>,
    /// Whether it was given its token without showing an older one.
    pub(crate) unproved: bool,
    /// Whether the organiser gave it its name, which a return does not change.
    pub(crate) has_given_name: bool,
    /// How often the organiser replaced its return token; the tokens before prove nothing.
    pub(crate) renewals: u32,
    pub(crate) health: AgentHealth,
}

impl Member {
    pub(crate) fn new(
        agent: Agent,
        meta: &AgentMeta,
        dialect: Dialect,
        token: TokenHash,
        at: Timestamp,
    ) -> Self {
        Self {
            peer: Arc::new(Peer {
                agent,
                endpoint: Arc::from(meta.contact_endpoint.as_str()),
                dialect,
                speech: meta.speech,
                is_foreign: meta.is_foreign(),
            }),
            name: Arc::from(meta.display_name.trim()),
            version: Arc::from(meta.version.as_str()),
            human: meta.human,
            manager_token: None,
            token,
            token_given: at,
            pledge: None,
            returns: false,
            replaced: Vec::new(),
            unproved: false,
            has_given_name: false,
            renewals: 0,
            health: AgentHealth::default(),
        }
    }

    /// Its tokens up to now, as far as they are remembered.
    pub(crate) fn tokens_so_far(&self) -> Vec<TokenHash> {
        let forgotten = (self.replaced.len() + 1).saturating_sub(MAX_REPLACED);
        let mut tokens = self.replaced[forgotten..].to_vec();
        tokens.push(self.token);
        tokens
    }

    /// Who it is, where it answers and how it speaks.
    pub fn peer(&self) -> &Arc<Peer> {
        &self.peer
    }

    /// The name that people see.
    pub fn display_name(&self) -> &Arc<str> {
        &self.name
    }

    /// The agent's own version.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// Whether it says that a person chooses its moves.
    pub fn is_human(&self) -> bool {
        self.human
    }

    /// Failures in a row.
    pub fn failures(&self) -> u32 {
        self.health.breaker.failures()
    }

    /// Since when it is suspended.
    pub fn suspended_since(&self) -> Option<Timestamp> {
        self.health.suspended_since
    }
}

/// How an agent answers lately; a restart forgets it and asks again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct AgentHealth {
    pub(crate) breaker: Breaker,
    pub(crate) suspended_since: Option<Timestamp>,
    /// When it was last asked whether it is there.
    pub(crate) asked: Option<Timestamp>,
    /// Probes since its last answer.
    pub(crate) unanswered: u32,
    /// When it last answered, or received its first match.
    pub(crate) quiet_since: Timestamp,
}

impl AgentHealth {
    pub(crate) fn fail(&mut self, rule: &BreakerRule, at: Timestamp) {
        self.breaker.fail(rule, at);
        if self.breaker.is_open() {
            self.suspended_since.get_or_insert(at);
        }
    }

    pub(crate) fn succeed(&mut self, at: Timestamp) {
        *self = Self {
            quiet_since: at,
            ..Self::default()
        };
    }

    /// Whether one more failure suspends the agent.
    pub(crate) fn reaches_limit(&self, rule: &BreakerRule) -> bool {
        self.breaker.failures().saturating_add(1) >= rule.threshold.max(1)
    }

    /// Whether a suspended agent has rested long enough to be asked.
    pub(crate) fn may_be_asked(&self, rule: &BreakerRule, at: Timestamp) -> bool {
        let rested = |since: Option<Timestamp>| since.is_none_or(|since| since + rule.rest <= at);
        rested(self.suspended_since) && rested(self.asked) && self.breaker.allows(rule, at)
    }
}

/// A player of the league.
#[derive(Debug, Clone, PartialEq)]
pub struct PlayerEntry {
    pub(crate) id: PlayerId,
    pub(crate) member: Member,
    /// Whether it signs its joins and moves.
    pub(crate) signs: bool,
    /// Whether it did not acknowledge the last announcement in time, so that no order waits for it.
    pub(crate) ignores_news: bool,
    /// Technical losses in a row.
    pub(crate) forfeits: u32,
    /// How many of them because it was not there: it did not answer, or could not be reached.
    pub(crate) absences: u32,
    /// Whether a match has waited for it in vain and it was not reached since.
    pub(crate) absent: bool,
    pub(crate) expulsion: Option<Expulsion>,
    pub(crate) seat: Seat,
    /// The seconds by which the organiser extended its clock.
    pub(crate) extra_time: u32,
}

/// Whether a registered player takes part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Seat {
    Taken,
    /// The league is full; it waits for a seat.
    Waiting,
    /// It left before the start, or the organiser took the seat from it.
    GivenUp,
}

/// What put a player out of the league.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ExitCause {
    /// Too many technical losses in a row.
    #[default]
    Losses,
    Withdrawn,
    Removed,
    Disqualified,
}

/// Why a player is out of the league.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Expulsion {
    pub cause: ExitCause,
    /// Whether none of its matches counts.
    pub is_annulled: bool,
    /// The round in which it was put out.
    pub round: u32,
    /// Its technical losses in a row.
    pub losses: u32,
    /// Whether it was only absent, so that it is in again when it returns.
    pub is_absence: bool,
}

impl ExitCause {
    /// What the player is, in a word.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Losses => "out",
            Self::Withdrawn => "withdrawn",
            Self::Removed => "removed",
            Self::Disqualified => "disqualified",
        }
    }
}

impl Expulsion {
    /// Whether the organiser put the player out as a penalty, so that it wins no prize.
    pub fn is_penalty(&self) -> bool {
        matches!(self.cause, ExitCause::Removed | ExitCause::Disqualified)
    }
}

impl PlayerEntry {
    pub fn id(&self) -> &PlayerId {
        &self.id
    }

    /// What every agent has.
    pub fn member(&self) -> &Member {
        &self.member
    }

    /// Why it is out of the league, if it is.
    pub fn expulsion(&self) -> Option<Expulsion> {
        self.expulsion
    }

    /// Whether it has a seat, waits for one, or gave it up.
    pub fn seat(&self) -> Seat {
        self.seat
    }

    /// Whether it does not play.
    pub(crate) fn is_out(&self) -> bool {
        self.expulsion.is_some() || self.seat != Seat::Taken
    }

    /// Whether it was put out, or left before the start.
    pub(crate) fn is_put_out(&self) -> bool {
        self.expulsion.is_some() || self.seat == Seat::GivenUp
    }

    /// Whether none of its matches counts.
    pub(crate) fn is_annulled(&self) -> bool {
        self.expulsion
            .is_some_and(|expulsion| expulsion.is_annulled)
    }

    /// Whether it is out because it was absent, so that it may come back.
    pub(crate) fn may_come_back(&self) -> bool {
        self.expulsion.is_some_and(|expulsion| expulsion.is_absence)
    }

    /// Whether no order waits for it, as it did not acknowledge the last announcement in time.
    pub fn ignores_news(&self) -> bool {
        self.ignores_news
    }
}

impl fmt::Display for Expulsion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { round, losses, .. } = self;
        match self.cause {
            ExitCause::Losses => {
                write!(f, "out since round {round} after {losses} technical losses")
            }
            ExitCause::Withdrawn => write!(f, "withdrawn in round {round}"),
            ExitCause::Removed => write!(f, "removed by the organiser in round {round}"),
            ExitCause::Disqualified => write!(f, "disqualified in round {round}"),
        }
    }
}

/// A referee of the league.
#[derive(Debug, Clone, PartialEq)]
pub struct RefereeEntry {
    pub(crate) id: RefereeId,
    pub(crate) member: Member,
    pub(crate) capacity: u32,
    pub(crate) running: u32,
    pub(crate) queue: VecDeque<u32>,
    /// Matches it was given in all.
    pub(crate) given: u64,
    /// Players that deny having been called where it reported that they failed, or whose proofs were
    /// wrong with it and right with another referee of the same match.
    pub(crate) doubted_by: BTreeSet<PlayerId>,
    /// Whether it was written by the documents alone, so that players have seen its token.
    pub(crate) by_documents: bool,
}

/// So many players that speak against a referee cost it its matches, as long as there is another.
const MAX_DOUBTING: usize = 2;

impl RefereeEntry {
    pub fn id(&self) -> &RefereeId {
        &self.id
    }

    /// What every agent has.
    pub fn member(&self) -> &Member {
        &self.member
    }

    /// How many matches it runs at once at most.
    pub fn capacity(&self) -> u32 {
        self.capacity
    }

    /// How many matches it runs now.
    pub fn running(&self) -> u32 {
        self.running
    }

    /// How many matches wait for it.
    pub fn queued(&self) -> usize {
        self.queue.len()
    }

    /// Whether it was written by the documents alone, so that players have seen its token.
    pub fn is_by_documents(&self) -> bool {
        self.by_documents
    }

    /// Takes a match out of the line; says whether it stood there.
    pub(crate) fn leaves_queue(&mut self, index: u32) -> bool {
        let before = self.queue.len();
        self.queue.retain(|&queued| queued != index);
        self.queue.len() < before
    }

    /// Whether fewer players speak against it than cost it its matches.
    pub(crate) fn is_trusted(&self) -> bool {
        self.doubted_by.len() < MAX_DOUBTING
    }

    /// Whether it is still trusted if this player denies a call.
    pub(crate) fn outlives_denial(&self, by: &PlayerId) -> bool {
        let more = usize::from(!self.doubted_by.contains(by));
        self.doubted_by.len() + more < MAX_DOUBTING
    }

    pub(crate) fn load(&self) -> u64 {
        u64::from(self.running) + self.queue.len() as u64
    }
}

/// The capacity of a referee that names none.
const USUAL_CAPACITY: u32 = 1;
/// The most matches that a referee is believed to run at once.
const MAX_CAPACITY: u32 = 10_000;

/// How many matches a referee is given at once.
pub(crate) fn capacity(meta: &AgentMeta) -> u32 {
    meta.max_concurrent_matches
        .unwrap_or(USUAL_CAPACITY)
        .clamp(1, MAX_CAPACITY)
}

/// An id that is found whatever its case: ids become file names, and some disks see no case.
pub(crate) trait AnyCase: Ord + Clone {
    /// The id of the `number`th agent.
    fn numbered(number: u32) -> Self;
    /// The form in which ids are compared; those that we number have it already.
    fn without_case(&self) -> Cow<'_, Self>;
}

macro_rules! any_case {
    ($($id:ident),*) => {$(
        impl AnyCase for $id {
            fn numbered(number: u32) -> Self {
                Self::numbered(number)
            }

            fn without_case(&self) -> Cow<'_, Self> {
                let id = self.as_str();
                if !id.bytes().any(|byte| byte.is_ascii_lowercase()) {
                    return Cow::Borrowed(self);
                }
                let capitals = Self::new(id.to_ascii_uppercase());
                capitals.map_or(Cow::Borrowed(self), Cow::Owned)
            }
        }
    )*};
}

any_case!(PlayerId, RefereeId);

/// Agents of one kind, by number and by id.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Roster<Id, T> {
    pub(crate) members: Vec<T>,
    by_id: BTreeMap<Id, u32>,
    /// Every number below this one is taken.
    free_from: u32,
}

impl<Id, T> Default for Roster<Id, T> {
    fn default() -> Self {
        Self {
            members: Vec::new(),
            by_id: BTreeMap::new(),
            free_from: 1,
        }
    }
}

impl<Id: AnyCase, T> Roster<Id, T> {
    pub(crate) fn len(&self) -> u32 {
        u32::try_from(self.members.len()).unwrap_or(u32::MAX)
    }

    pub(crate) fn get(&self, number: u32) -> Option<&T> {
        self.members.get(number as usize)
    }

    pub(crate) fn get_mut(&mut self, number: u32) -> Option<&mut T> {
        self.members.get_mut(number as usize)
    }

    /// Finds an id whatever its case.
    pub(crate) fn find(&self, id: &Id) -> Option<u32> {
        self.by_id.get(&id.without_case()).copied()
    }

    /// The id that a candidate gets: the wanted one if it is free, else the next number that is not
    /// kept for another agent.
    pub(crate) fn choose_id(&self, wanted: Option<Id>, is_kept: impl Fn(&Id) -> bool) -> Id {
        let is_taken = |id: &Id| self.find(id).is_some() || is_kept(id);
        if let Some(wanted) = wanted.filter(|wanted| !is_taken(wanted)) {
            return wanted;
        }
        let mut number = self.free_from;
        while is_taken(&Id::numbered(number)) {
            number = number.saturating_add(1);
        }
        Id::numbered(number)
    }

    pub(crate) fn add(&mut self, id: &Id, member: T) -> u32 {
        let number = self.len();
        self.members.push(member);
        self.by_id.insert(id.without_case().into_owned(), number);
        while self.find(&Id::numbered(self.free_from)).is_some() {
            self.free_from = self.free_from.saturating_add(1);
        }
        number
    }
}

impl Roster<PlayerId, PlayerEntry> {
    /// How many players have a seat; they come first.
    pub(crate) fn seated(&self) -> u32 {
        let members = self.members.iter().rev();
        let unseated = members.take_while(|player| player.seat != Seat::Taken);
        self.len() - u32::try_from(unseated.count()).unwrap_or(u32::MAX)
    }

    /// Puts players with a seat before the others, at the start in the order of their ids, short
    /// ones first as numbers grow longer; gives each one's new number by its old one.
    pub(crate) fn sort(&mut self, by_id: bool) -> BTreeMap<u32, u32> {
        let order = |player: &PlayerEntry| {
            let id = by_id.then(|| player.id.without_case().into_owned());
            let length = id.as_ref().map_or(0, |id| id.as_str().len());
            (player.seat != Seat::Taken, length, id)
        };
        self.members.sort_by_cached_key(order);
        let mut numbers = BTreeMap::new();
        for (new, player) in (0..).zip(&self.members) {
            if let Some(number) = self.by_id.get_mut(&player.id.without_case()) {
                numbers.insert(std::mem::replace(number, new), new);
            }
        }
        numbers
    }
}

/// The form in which names are compared: names that look alike by case, width, spaces or invisible
/// characters are the same name.
pub(crate) fn folded(name: &str) -> String {
    let ignorable = CodePointSetData::new::<DefaultIgnorableCodePoint>();
    let visible = |text: &str| {
        text.chars()
            .filter(|&c| !ignorable.contains(c))
            .collect::<String>()
    };
    let composed = ComposingNormalizerBorrowed::new_nfkc()
        .normalize(&visible(name))
        .to_lowercase();
    let words: Vec<&str> = composed.split_whitespace().collect();
    visible(&words.join(" "))
}

/// Whether two addresses are the same, however they are written.
pub fn is_same_place(one: &str, other: &str) -> bool {
    place(one) == place(other)
}

/// The form in which addresses are compared: host, port and path.
pub(crate) fn place(endpoint: &str) -> String {
    let (scheme, rest) = endpoint.split_once("://").unwrap_or(("http", endpoint));
    let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let usual_port = if scheme == "https" { "443" } else { "80" };
    let (host, port) = match authority.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => (host, port),
        _ => (authority, usual_port),
    };
    let host = host.trim_matches(['[', ']']).to_ascii_lowercase();
    let host = host.strip_suffix('.').unwrap_or(&host);
    let number = port.parse::<u16>().map(|number| number.to_string());
    let port = number.as_deref().unwrap_or(port);
    let host = match host.parse::<IpAddr>() {
        Ok(address) => address.to_canonical().to_string(),
        Err(_) if host == "localhost" => Ipv4Addr::LOCALHOST.to_string(),
        Err(_) => host.to_owned(),
    };
    let path = match path.trim_end_matches('/') {
        "" => "/mcp",
        path => path,
    };
    format!("{host} {port} {path}")
}

/// Whether an id names a role, so that an agent of this kind must not wish for it: another agent
/// could be taken for the one that has the role.
pub(crate) fn is_reserved(id: &str, kind: MemberKind) -> bool {
    let letters = id.bytes().filter(u8::is_ascii_alphanumeric);
    let plain: String = letters
        .map(|letter| char::from(letter.to_ascii_lowercase()))
        .collect();
    let numbered = |stem: &str| {
        let number = plain.strip_prefix(stem);
        number.is_some_and(|number| number.bytes().all(|digit| digit.is_ascii_digit()))
    };
    let other_kind = match kind {
        MemberKind::Player => numbered("ref") || plain.starts_with("referee"),
        MemberKind::Referee => numbered("p") || plain.starts_with("player"),
    };
    let management = ["manager", "leaguemanager", "unknown"];
    other_kind || management.iter().any(|role| plain.starts_with(role))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_look_alike_are_one_name() {
        for alike in [
            "agent alpha",
            " AGENT  Alpha ",
            "Agent\u{a0}Alpha",
            "Ａｇｅｎｔ Ａｌｐｈａ",
            "Agent Al\u{ad}pha",
            "Agent\u{3164} Alpha\u{fe0f}",
        ] {
            assert_eq!(folded(alike), "agent alpha", "{alike:?}");
        }
        assert_eq!(folded("e\u{301}"), folded("É"));
        assert_eq!(folded("ﬁn"), "fin");
        assert_ne!(folded("Agent Alpha 2"), "agent alpha");
        assert_eq!(folded("\u{3164}\u{115f}"), "");
    }

    #[test]
    fn spellings_of_an_address_are_one_place() {
        for same in [
            "http://localhost:8101/mcp",
            "http://127.0.0.1:8101/mcp/",
            "http://LOCALHOST:8101",
            "mcp://127.0.0.1:8101",
            "http://localhost.:08101/mcp",
            "http://[::ffff:127.0.0.1]:8101/mcp",
        ] {
            assert_eq!(place(same), "127.0.0.1 8101 /mcp", "{same}");
        }
        assert_eq!(place("mcp://host"), "host 80 /mcp");
        for same in [
            "https://heron.example",
            "https://Heron.Example.:443/mcp/",
            "https://heron.example:0443/mcp",
        ] {
            assert_eq!(place(same), "heron.example 443 /mcp", "{same}");
        }
        assert_eq!(place("http://[::1]/mcp"), "::1 80 /mcp");
        for other in ["http://localhost:8102/mcp", "http://localhost:8101/P02/mcp"] {
            assert_ne!(place(other), "127.0.0.1 8101 /mcp", "{other}");
        }
    }

    #[test]
    fn ids_of_roles_are_reserved() {
        for (id, for_player, for_referee) in [
            ("REF01", true, false),
            ("ref_7", true, false),
            ("Referee-north", true, false),
            ("league_manager", true, true),
            ("Manager", true, true),
            ("P01", false, true),
            ("player_x", false, true),
            ("refill", false, false),
            ("alice", false, false),
            ("Pat", false, false),
        ] {
            assert_eq!(is_reserved(id, MemberKind::Player), for_player, "{id}");
            assert_eq!(is_reserved(id, MemberKind::Referee), for_referee, "{id}");
        }
    }
}
