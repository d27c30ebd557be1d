//! The league manager: registration, schedule, assignment of referees, results and standings.
//!
//! The machine advances by [`Command::Tick`]: when something is due at once, such as the next
//! round, [`Machine::wakeup`] names a moment in the past. So every step starts from applied events,
//! and a restart between two steps changes nothing.

mod apply;
mod assignment;
mod audit;
mod by_documents;
mod claims;
mod command;
mod counted;
mod effect;
mod event;
pub mod format;
mod hand_over;
mod letters;
mod lever;
mod news;
mod offer;
mod progress;
mod pull;
mod query;
mod registration;
mod report;
mod roster;
mod round;
mod rules;
pub mod schedule;
pub mod standings;
mod tiebreak;
mod verify;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt;
use std::sync::{Arc, OnceLock};

use league_games::Table;
use league_protocol::id::{MatchId, PlayerId, RefereeId};
use league_protocol::message::{Mode, RoundSummary, Rows, StandingRow};
use league_protocol::sender::Agent;
use league_protocol::time::Timestamp;
use league_protocol::token::{AuthToken, TokenHash};

use crate::draw::LeagueSecrets;
use crate::letter::{CallOutcome, Letter};
use crate::machine::{self, Machine, Persistence};
use effect::RegistrationState;
use format::{FormatPlan, Joining, NextRound};
use letters::LetterWriter;
use lever::Amendment;
use news::HeldNews;
use roster::{AgentIndex, Roster};
use schedule::{Pairing, RoundRobin, Schedule};
use standings::{NamedPlayer, Ranking, Standings};

pub use apply::MAX_PAST_MATCHES;
pub use audit::Inconsistency;
pub use command::{
    Applicant, AskedCall, Command, CorrelationId, MemberKind, QueryCause, Refusal, Reply,
};
pub use counted::CountedResult;
pub use event::{Admission, Doubt, Event, Reassignment};
pub use lever::{
    Effect, KeptSeat, Lever, LeverPull, LeverRefusal, MAX_EXTENSION, MAX_LEVER_TEXT, MAX_ROSTER,
    PlayedMatches, READMISSION,
};
pub use roster::{
    AgentState, ExitCause, Expulsion, Member, PlayerEntry, RefereeEntry, Seat, is_same_place,
};
pub use round::{FixtureStage, LeagueFixture, LeagueRound};
pub use rules::{Assignment, LeagueRules, MIN_PROBE_INTERVAL, RulesError};
pub use tiebreak::Tiebreaker;
pub(crate) use verify::{MAX_MOVES, MAX_REASON};
pub use verify::{ReportPart, ReportProblem};

type Decision = machine::Decision<Event, Reply, Refusal>;

/// How far a league is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    Registering,
    Running,
    Completed,
}

impl Phase {
    /// The name on the health page.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Registering => "REGISTERING",
            Self::Running => "RUNNING",
            Self::Completed => "COMPLETED",
        }
    }
}

/// The league manager.
#[derive(Debug, Clone, PartialEq)]
pub struct League {
    rules: LeagueRules,
    secrets: LeagueSecrets,
    opening: OpeningTable,
    phase: Phase,
    players: Roster<PlayerId, PlayerEntry>,
    referees: Roster<RefereeId, RefereeEntry>,
    names: BTreeMap<String, AgentIndex>,
    /// Who answers at an address.
    endpoints: BTreeMap<String, AgentIndex>,
    /// Where referees answer that the organiser lets in, in the form of [`roster::place`].
    invited: BTreeSet<String>,
    tokens: BTreeMap<TokenHash, AgentIndex>,
    registration: RegistrationState,
    /// Whether the organiser holds the league: no match begins.
    paused: bool,
    start_ordered: bool,
    end_ordered: bool,
    /// When it began.
    began: Timestamp,
    /// When the last round was closed.
    closed_at: Timestamp,
    /// When matches of the round last began or ended, a player came, left or returned, or the
    /// organiser acted.
    changed: Timestamp,
    /// The matches that are played again, by their regular places: one list for each additional
    /// round after the schedule.
    extra: Vec<Vec<Pairing>>,
    /// The matches that the organiser amended, by round and index of their regular places.
    amended: BTreeMap<(u32, u32), Amendment>,
    standings: Standings,
    round: Option<LeagueRound>,
    /// Rounds whose reports may still be repeated.
    past: VecDeque<LeagueRound>,
    /// The ends of the last rounds; at most [`apply::MAX_CLOSED`].
    closed: VecDeque<ClosedRound>,
    /// Matches given to referees so far, for taking turns.
    turn: u64,
    /// Matches that wait behind others at their referees.
    queued: u32,
    /// Results whose draw is not proven.
    told_results: u64,
    volatile: Volatile,
    /// The round that follows; every event of the journal forgets it.
    next_round: Derived<Option<NextRound>>,
    /// The matches that join the round; every event of the journal forgets them.
    joining: Derived<Option<Joining>>,
}

/// A value that is made from the rest of its owner when it is first asked for; what changes the rest
/// forgets it.
#[derive(Debug, Clone)]
struct Derived<T>(OnceLock<T>);

impl<T> Default for Derived<T> {
    fn default() -> Self {
        Self(OnceLock::new())
    }
}

impl<T> PartialEq for Derived<T> {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl<T> Derived<T> {
    fn get(&self, make: impl FnOnce() -> T) -> &T {
        self.0.get_or_init(make)
    }

    fn forget(&mut self) {
        self.0 = OnceLock::new();
    }
}

/// The end of a round, as it is told.
#[derive(Debug, Clone, PartialEq)]
struct ClosedRound {
    number: u32,
    summary: RoundSummary,
    table: Arc<Ranking>,
    /// Its rows as players are told them.
    rows: Rows<StandingRow>,
}

/// What a restart may forget.
#[derive(Debug, Clone, PartialEq, Default)]
struct Volatile {
    stopped: bool,
    /// When silent agents are next looked for.
    next_probes: Timestamp,
    suspended: BTreeSet<AgentIndex>,
    /// Whether someone came who may take a waiting match.
    referee_came: bool,
    /// Until when the orders of matches wait for the acknowledgement of their announcements.
    orders_held: BTreeSet<(Timestamp, MatchId)>,
    /// Until when the end of a round, and what follows it, waits for a player to know its result.
    news_held: HeldNews,
    /// Whether this process has begun to run its round.
    resumed: bool,
    /// Letters that could not leave this machine; they are sent again with the next probes.
    unsent: Vec<CorrelationId>,
}

/// An agent whose token was checked; only [`League::authenticate`] can make one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AuthenticatedAgent(AgentIndex);

impl League {
    /// Makes a league without agents.
    pub fn new(rules: LeagueRules, secrets: LeagueSecrets) -> Result<Self, RulesError> {
        let most = RoundRobin::MAX_PLAYERS;
        let (min, max) = (rules.min_players, rules.max_players);
        if min < 2 || max < min || max > most {
            return Err(RulesError::Players { min, max, most });
        }
        if rules.probe_every < MIN_PROBE_INTERVAL {
            return Err(RulesError::ProbeEvery(rules.probe_every));
        }
        let listing = league_games::find(rules.game_type.as_str())
            .ok_or_else(|| RulesError::UnknownGame(rules.game_type.clone()))?;
        let opening = OpeningTable((listing.open)(&rules.game_settings)?);
        rules.check_format()?;
        let registration = RegistrationState {
            capacity: max,
            ..RegistrationState::default()
        };
        Ok(Self {
            standings: Standings::new(Schedule::new(rules.plan(0)), rules.score)
                .ordered_by(rules.tiebreakers.clone()),
            rules,
            secrets,
            opening,
            phase: Phase::Registering,
            players: Roster::default(),
            referees: Roster::default(),
            names: BTreeMap::new(),
            endpoints: BTreeMap::new(),
            invited: BTreeSet::new(),
            tokens: BTreeMap::new(),
            registration,
            paused: false,
            start_ordered: false,
            end_ordered: false,
            began: Timestamp::default(),
            closed_at: Timestamp::default(),
            changed: Timestamp::default(),
            extra: Vec::new(),
            amended: BTreeMap::new(),
            round: None,
            past: VecDeque::new(),
            closed: VecDeque::new(),
            turn: 0,
            queued: 0,
            told_results: 0,
            volatile: Volatile::default(),
            next_round: Derived::default(),
            joining: Derived::default(),
        })
    }

    /// The rules it is held by.
    pub fn rules(&self) -> &LeagueRules {
        &self.rules
    }

    /// How far it is.
    pub fn phase(&self) -> Phase {
        self.phase
    }

    /// Whether every round has been played.
    pub fn is_over(&self) -> bool {
        self.phase == Phase::Completed
    }

    /// Whether the organiser ended it before its last match.
    pub fn ended_early(&self) -> bool {
        self.is_over() && self.end_ordered
    }

    /// The schedule; it has no players until the league has begun.
    pub fn schedule(&self) -> &Schedule {
        self.standings.schedule()
    }

    /// The format and its settings for the present players.
    pub fn format_plan(&self) -> FormatPlan {
        self.rules.plan(self.players.seated())
    }

    /// The round that is played, or was played last.
    pub fn round(&self) -> Option<&LeagueRound> {
        self.round.as_ref()
    }

    /// How many rounds there are, with those in which matches are played again.
    pub fn rounds(&self) -> u32 {
        let extra = u32::try_from(self.extra.len()).unwrap_or(u32::MAX);
        self.schedule().rounds().saturating_add(extra)
    }

    /// How many matches a round has; none if it is not known yet.
    pub fn matches_in(&self, round: u32) -> u32 {
        match self.extra_round(round) {
            Some(extra) => u32::try_from(extra.len()).unwrap_or(u32::MAX),
            None => self.schedule().matches_in(round),
        }
    }

    /// The round after the last one that was opened, in a format in which it follows from results;
    /// `None` if the league is over, or all its rounds are known.
    pub(crate) fn next_round(&self) -> Option<&NextRound> {
        let next = self.next_round.get(|| {
            let is_listed = !self.schedule().is_computed();
            let is_in = |player| !self.is_gone(player);
            is_listed.then(|| self.standings.next_round(&is_in))?
        });
        next.as_ref()
    }

    /// The matches that join the round that is played, and when, in a format whose rounds grow.
    pub(crate) fn joining(&self) -> Option<(Timestamp, &Joining)> {
        let round = self.round.as_ref().filter(|round| !round.closed)?;
        if !self.is_in_time(self.changed) {
            return None;
        }
        let joining = self.joining.get(|| {
            let is_held = self.paused || self.phase != Phase::Running;
            let busy = u64::from(round.open) * 2;
            if is_held
                || self.schedule().is_computed()
                || busy + 2 > u64::from(self.players.seated())
            {
                return None;
            }
            let is_in = |player| !self.is_gone(player);
            let is_open = |pairing: Pairing| {
                let fixture = round.fixture(pairing.index);
                fixture.is_some_and(|fixture| fixture.stage != FixtureStage::Finished)
            };
            let last = |player| self.schedule().pairing_of(player, round.number);
            let is_free = |player| is_in(player) && !last(player).is_some_and(is_open);
            self.standings.joining(&is_in, &is_free)
        });
        let due = self.changed + joining.as_ref()?.wait;
        self.is_in_time(due)
            .then(|| Some((due, joining.as_ref()?)))?
    }

    /// Whether a round follows this one.
    pub(crate) fn has_round_after(&self, round: u32) -> bool {
        if self.schedule().is_computed() {
            return round < self.rounds();
        }
        let opened = self.schedule().opened();
        let is_in_time = self.is_in_time(self.next_begins());
        round < opened || round == opened && is_in_time && self.next_round().is_some()
    }

    /// When the next round begins, if the present one is over.
    fn next_begins(&self) -> Timestamp {
        let opened = self.round.as_ref().map(|round| round.opened);
        let earliest = opened.map_or(self.closed_at, |opened| opened + self.rules.round_every);
        earliest.max(self.closed_at).max(self.changed)
    }

    /// After this time no match begins; `None` if results alone end the league.
    pub fn ends_at(&self) -> Option<Timestamp> {
        let duration = self.format_plan().ends_after()?;
        (self.phase != Phase::Registering).then(|| self.began + duration)
    }

    /// Whether a match may begin at this time.
    pub(crate) fn is_in_time(&self, at: Timestamp) -> bool {
        self.ends_at().is_none_or(|end| at < end)
    }

    /// How many matches there are in all.
    pub fn total_matches(&self) -> u64 {
        let extra: usize = self.extra.iter().map(Vec::len).sum();
        self.schedule().total_matches() + extra as u64
    }

    /// The match at a place of a round; `round` counts from 1, `index` from 0.
    pub fn pairing(&self, round: u32, index: u32) -> Option<Pairing> {
        match self.extra_round(round) {
            Some(extra) => extra.get(index as usize).map(|place| Pairing {
                round,
                index,
                seats: place.seats,
            }),
            None => self.schedule().pairing(round, index),
        }
    }

    /// The match of a player in a round, the last one if it has several; none if it rests.
    pub fn pairing_of(&self, player: u32, round: u32) -> Option<Pairing> {
        self.pairings_of(player, round).next_back()
    }

    /// The matches of a player in a round: one, but in a round that grows.
    pub fn pairings_of(&self, player: u32, round: u32) -> impl DoubleEndedIterator<Item = Pairing> {
        let extra = self.extra_round(round).into_iter().flatten();
        let extra = (0..)
            .zip(extra)
            .filter(move |(_, place)| place.seats.contains(&player));
        let regular = self.schedule().pairings_of(player, round);
        let extra: Vec<u32> = extra.map(|(index, _)| index).collect();
        let extra = extra
            .into_iter()
            .filter_map(move |index| self.pairing(round, index));
        regular.chain(extra)
    }

    /// The regular place of a match: its own, or that of the match which it repeats.
    fn counts_for(&self, pairing: Pairing) -> Pairing {
        let extra = self.extra_round(pairing.round);
        let place = extra.and_then(|extra| extra.get(pairing.index as usize));
        place.copied().unwrap_or(pairing)
    }

    /// The matches that are played again in a round after the schedule.
    fn extra_round(&self, round: u32) -> Option<&Vec<Pairing>> {
        let number = round.checked_sub(self.schedule().rounds().saturating_add(1))?;
        self.extra.get(number as usize)
    }

    /// Whether the organiser holds the league.
    pub fn is_paused(&self) -> bool {
        self.paused
    }

    /// The players that wait for a seat, the first first.
    pub fn waiting_players(&self) -> impl Iterator<Item = &PlayerEntry> {
        let players = self.players.members.iter();
        players.filter(|player| player.seat == Seat::Waiting)
    }

    /// The players with a seat in the order of registration, which is their number in the schedule.
    pub fn players(&self) -> &[PlayerEntry] {
        &self.players.members[..self.players.seated() as usize]
    }

    /// The referees in the order of registration.
    pub fn referees(&self) -> &[RefereeEntry] {
        &self.referees.members
    }

    /// The referee that has a match.
    pub fn referee_of(&self, fixture: &LeagueFixture) -> Option<&RefereeEntry> {
        self.referees.get(fixture.referee?)
    }

    /// Seat A and seat B of a match.
    pub fn seats_of(&self, fixture: &LeagueFixture) -> Option<[&PlayerId; 2]> {
        let [a, b] = fixture.pairing.seats;
        Some([&self.players.get(a)?.id, &self.players.get(b)?.id])
    }

    /// The table with every result so far.
    pub fn standings(&self) -> Arc<[StandingRow]> {
        Arc::clone(&self.table().rows)
    }

    /// What put a row of the table below the one above, in words; `None` for the first row, for a tie,
    /// and before the start.
    pub fn decided_by(&self, rank: u32) -> Option<&'static str> {
        if self.phase == Phase::Registering {
            return None;
        }
        let decided = self
            .table()
            .decided
            .get(rank.checked_sub(1)? as usize)
            .copied();
        decided.flatten()
    }

    /// How far each player has come, in the order of [`Self::players`], in a format in which that
    /// counts before points; empty in others.
    pub fn progress(&self) -> Vec<u32> {
        self.standings.progress()
    }

    /// How many results there are.
    pub fn matches_played(&self) -> u64 {
        self.round.as_ref().map_or(0, |round| {
            let before = round.number.saturating_sub(1);
            let extra = before.saturating_sub(self.schedule().rounds()) as usize;
            let extra: usize = self.extra.iter().take(extra).map(Vec::len).sum();
            self.schedule().matches_before(round.number)
                + extra as u64
                + u64::from(round.summary.total_matches.saturating_sub(round.open))
        })
    }

    /// How many results there are whose draw is not proven.
    pub fn told_results(&self) -> u64 {
        self.told_results
    }

    /// The referees that were written by the documents alone, so that players have seen their tokens.
    pub fn exposed_referees(&self) -> impl Iterator<Item = &RefereeId> {
        let referees = self.referees.members.iter();
        referees
            .filter(|referee| referee.by_documents)
            .map(|referee| &referee.id)
    }

    /// The state of a player in its life.
    pub fn player_state(&self, player: &PlayerEntry) -> AgentState {
        self.state(&player.member, player.is_out())
    }

    /// The state of a referee in its life.
    pub fn referee_state(&self, referee: &RefereeEntry) -> AgentState {
        match self.state(&referee.member, false) {
            AgentState::Active if self.is_set_aside(referee) => AgentState::Suspended,
            state => state,
        }
    }

    /// Looks a player up by id.
    pub fn player(&self, id: &PlayerId) -> Option<&PlayerEntry> {
        self.players.get(self.players.find(id)?)
    }

    /// Looks a referee up by id.
    pub fn referee(&self, id: &RefereeId) -> Option<&RefereeEntry> {
        self.referees.get(self.referees.find(id)?)
    }

    /// Looks up a match of the present round, or of a round that is not long past.
    pub fn fixture(&self, match_id: &MatchId) -> Option<&LeagueFixture> {
        let (round, index) = round::read_match_id(match_id)?;
        let mut rounds = self.round.iter().chain(&self.past);
        rounds.find(|found| found.number == round)?.fixture(index)
    }

    /// The league as it would be after a restart: without what only memory held.
    pub fn after_restart(&self) -> Self {
        let mut league = self.clone();
        league.volatile = Volatile::default();
        for player in &mut league.players.members {
            player.member.health = roster::AgentHealth::default();
            player.ignores_news = false;
            player.absent = false;
        }
        for referee in &mut league.referees.members {
            referee.member.health = roster::AgentHealth::default();
        }
        for round in league.round.iter_mut().chain(&mut league.past) {
            for fixture in &mut round.fixtures {
                if fixture.stage == FixtureStage::Running {
                    fixture.stage = FixtureStage::Ordered;
                }
                fixture.since = Timestamp::default();
                fixture.informed = [false; 2];
                fixture.held_until = None;
                fixture.untold = [false; 2];
                fixture.claim = None;
            }
        }
        league
    }

    fn table(&self) -> Arc<Ranking> {
        if self.phase == Phase::Registering {
            let standings = Standings::new(Schedule::new(self.format_plan()), self.rules.score);
            let standings = standings.ordered_by(self.rules.tiebreakers.clone());
            return standings.table(|| self.named());
        }
        self.standings.table(|| self.named())
    }

    fn named(&self) -> Vec<NamedPlayer> {
        let players = self.players().iter();
        players
            .map(|player| (player.id.clone(), Arc::clone(&player.member.name)))
            .collect()
    }

    fn state(&self, member: &Member, is_out: bool) -> AgentState {
        if is_out || self.phase == Phase::Completed {
            AgentState::Shutdown
        } else if member.health.suspended_since.is_some() {
            AgentState::Suspended
        } else if self.phase == Phase::Running {
            AgentState::Active
        } else {
            AgentState::Registered
        }
    }

    fn member_of(&self, agent: &Agent) -> Option<&Member> {
        self.member(self.find_agent(agent)?)
    }

    fn member(&self, who: AgentIndex) -> Option<&Member> {
        match who {
            AgentIndex::Player(number) => self.players.get(number).map(|player| &player.member),
            AgentIndex::Referee(number) => self.referees.get(number).map(|referee| &referee.member),
        }
    }

    fn member_mut(&mut self, who: AgentIndex) -> Option<&mut Member> {
        match who {
            AgentIndex::Player(number) => self
                .players
                .get_mut(number)
                .map(|player| &mut player.member),
            AgentIndex::Referee(number) => self
                .referees
                .get_mut(number)
                .map(|referee| &mut referee.member),
        }
    }

    fn decide_command(&self, at: Timestamp, command: &Command) -> Result<Decision, Refusal> {
        match command {
            Command::RegisterReferee(applicant) => {
                registration::register(self, at, applicant, MemberKind::Referee)
            }
            Command::RegisterPlayer(applicant) => {
                registration::register(self, at, applicant, MemberKind::Player)
            }
            Command::CreateSchedule { admin } => self.create_schedule(*admin),
            Command::Pull(pull) => self.pull(at, pull),
            Command::RequestDraw {
                token,
                sender,
                request,
            } => {
                let caller = self.authenticate(at, *token, sender.as_ref())?;
                self.weigh_request(at, &caller, request)
            }
            Command::GameOverTold {
                token,
                sender,
                told,
            } => {
                let caller = self.authenticate(at, *token, sender.as_ref())?;
                self.hear_of_telling(at, &caller, told)
            }
            Command::Report { .. } => self.hear_report(at, command),
            Command::Query {
                token,
                sender,
                query,
            } => {
                self.authenticate(at, *token, sender.as_ref())?;
                Ok(Decision::reply(Reply::Query(Box::new(self.inform(query)))))
            }
            Command::Outcome {
                correlation,
                outcome,
            } => Ok(noted(self.take_outcome(at, correlation, outcome))),
            Command::Tick => Ok(noted(self.tick_events(at))),
            Command::Stop => {
                let stops = (!self.volatile.stopped).then_some(Event::Stopped);
                Ok(noted(stops.into_iter().collect()))
            }
        }
    }

    /// Finds out who is calling.
    ///
    /// An unknown sender is refused first, then a missing token, then a token that is invalid,
    /// expired or of another agent.
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

    /// The member that a sender claims to be; the manager itself never calls.
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

    /// Checks that an event of a journal can follow the events that were applied.
    ///
    /// The league may have been made with any secret.
    pub fn audit(&self, event: &Event) -> Result<(), Inconsistency> {
        audit::Auditor { league: self }.check(event)
    }
}

impl Machine for League {
    type Command = Command;
    type Event = Event;
    type Reply = Reply;
    type Refusal = Refusal;
    type CorrelationId = CorrelationId;

    fn tick() -> Command {
        Command::Tick
    }

    fn outcome(correlation: CorrelationId, outcome: CallOutcome) -> Command {
        Command::Outcome {
            correlation,
            outcome,
        }
    }

    fn decide(&self, at: Timestamp, command: &Command) -> Decision {
        self.decide_command(at, command).into()
    }

    fn apply(&mut self, event: &Event) {
        self.apply_event(event);
    }

    fn letters(&self, event: &Event, out: &mut Vec<Letter<CorrelationId>>) {
        if !self.volatile.stopped {
            LetterWriter::new(self, out).write(event);
        }
    }

    fn pending(&self) -> Vec<Letter<CorrelationId>> {
        let mut out = Vec::new();
        LetterWriter::new(self, &mut out).write_pending();
        out
    }

    fn wakeup(&self) -> Option<Timestamp> {
        self.next_step()
    }

    fn keep(event: &Event) -> Persistence {
        event.keep()
    }
}

fn noted(events: Vec<Event>) -> Decision {
    Decision::accept(events, Reply::Noted)
}

/// The first position of the league's game, kept so that settings are read once.
struct OpeningTable(Box<dyn Table>);

impl Clone for OpeningTable {
    fn clone(&self) -> Self {
        Self(self.0.boxed_clone())
    }
}

impl PartialEq for OpeningTable {
    fn eq(&self, other: &Self) -> bool {
        self.0.position() == other.0.position()
    }
}

impl fmt::Debug for OpeningTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// What it takes to step a match.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepAccess {
    pub match_id: MatchId,
    pub referee_id: RefereeId,
    pub endpoint: String,
    /// What it wants to see with each step; it is good for this match alone.
    pub token: AuthToken,
}

/// What it takes to ask a referee in the manager's name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefereeAccess {
    pub referee_id: RefereeId,
    pub endpoint: Arc<str>,
    /// What proves the manager to it.
    pub token: AuthToken,
}

impl League {
    /// What it takes to ask each referee in the manager's name; for the manager's own process only.
    pub fn referee_access(&self) -> Vec<RefereeAccess> {
        let access = |referee: &RefereeEntry| {
            Some(RefereeAccess {
                referee_id: referee.id.clone(),
                endpoint: Arc::clone(&referee.member.peer.endpoint),
                token: referee.member.manager_token.clone()?,
            })
        };
        self.referees().iter().filter_map(access).collect()
    }

    /// What it takes to step a match that is played.
    ///
    /// The caller must make sure that only the administrator receives it.
    ///
    /// # Errors
    ///
    /// The match does not exist, is not running, or is not in manual mode.
    pub fn step_access(&self, match_id: &MatchId) -> Result<StepAccess, Refusal> {
        let unknown = || Refusal::UnknownMatch(match_id.clone());
        let fixture = self.fixture(match_id).ok_or_else(unknown)?;
        let plays_by_itself = || Refusal::PlaysByItself(match_id.clone());
        let token = self.step_token(match_id).ok_or_else(plays_by_itself)?;
        let referee = match fixture.stage {
            FixtureStage::Running => self.referee_of(fixture).ok_or_else(unknown)?,
            FixtureStage::Finished => return Err(Refusal::Over(match_id.clone())),
            _ => return Err(Refusal::NotStarted(match_id.clone())),
        };
        Ok(StepAccess {
            match_id: match_id.clone(),
            referee_id: referee.id.clone(),
            endpoint: referee.member.peer.endpoint.to_string(),
            token,
        })
    }

    /// The token by which people step a match, in a league whose matches are stepped.
    pub(crate) fn step_token(&self, match_id: &MatchId) -> Option<AuthToken> {
        let token = || {
            self.secrets
                .tokens
                .step_token(&self.rules.league_id, match_id)
        };
        (self.rules.mode == Mode::Manual).then(token)
    }
}
