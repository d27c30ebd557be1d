//! A referee: registers with a manager and runs the matches that the manager orders.
//!
//! It holds its matches and their common clock; the course of one match is in the files below. Only
//! the two players' own answers count in a match.

mod command;
mod decide;
mod enrolment;
mod event;
mod match_draw;
mod match_end;
mod match_letters;
mod match_state;
mod match_step;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use league_protocol::fault::Code;
use league_protocol::id::{GameType, LeagueId, MatchId, RefereeId};
use league_protocol::time::Timestamp;
use league_protocol::token::{AuthToken, TokenHash};

use crate::breaker::{Breaker, BreakerRule};
use crate::letter::{CallOutcome, Letter, Peer, RetryRule};
use crate::machine::{self, Machine, Persistence};
use crate::timeouts::Timeouts;
use enrolment::ManagerContact;
use match_state::{GameOpening, Match, SEATS};
use match_step::StepContext;

pub use command::{Command, CorrelationId, MatchView, PlayerQuestion, Refusal, Reply};
pub use event::{
    Event, MatchOrder, OpenedSecrets, PrivateDetail, ReportAnswer, SealedChoice, SeatedPlayer,
    Secrets,
};
pub use match_end::SpectatorView;
pub use match_step::{MANUAL_LIMIT, MAX_ATTEMPTS, MAX_POSTPONED};

type Decision = machine::Decision<Event, Reply, Refusal>;

/// The configuration of a referee.
#[derive(Debug, Clone)]
pub struct RefereeRules {
    /// The name that people see.
    pub display_name: String,
    pub version: String,
    /// The id that it would like.
    pub wanted_id: Option<String>,
    /// The key by which the manager admits referees, if it has it.
    pub key: Option<AuthToken>,
    pub endpoint: String,
    /// The games that it runs.
    pub games: Vec<GameType>,
    /// How many matches it plays at once.
    pub max_concurrent: u32,
    /// How long it waits and how often it tries.
    pub timeouts: Timeouts,
    /// When a player is left alone.
    pub breaker: BreakerRule,
    /// The way to the manager.
    pub manager: Arc<Peer>,
}

impl RefereeRules {
    fn report_retry(&self) -> RetryRule {
        self.timeouts.retrying(self.timeouts.report)
    }

    fn game_over_retry(&self) -> RetryRule {
        self.timeouts.retrying(self.timeouts.game_over)
    }

    /// For what a player need not answer: short, as a question may stand behind it in line.
    fn notice(&self) -> RetryRule {
        self.timeouts.once(self.timeouts.game_over)
    }

    fn move_seconds(&self) -> u32 {
        u32::try_from(self.timeouts.make_move.as_secs()).unwrap_or(u32::MAX)
    }
}

/// The machine of a referee.
#[derive(Debug, Clone)]
pub struct Referee {
    rules: RefereeRules,
    enrolment: ManagerContact,
    running: BTreeMap<MatchId, Box<Match>>,
    /// How the match that was opened last began.
    opening: Option<Arc<GameOpening>>,
    /// When each match that waits for time has to be looked at.
    due: BTreeSet<(Timestamp, MatchId)>,
    /// How many of the matches have their secrets and no result.
    playing: usize,
    /// How many matches have been closed.
    finished: u64,
    recent: RecentMatches,
    breakers: Breakers,
    league_over: bool,
}

impl Referee {
    /// A referee before registration.
    pub fn new(rules: RefereeRules) -> Self {
        Self {
            rules,
            enrolment: ManagerContact::default(),
            running: BTreeMap::new(),
            opening: None,
            due: BTreeSet::new(),
            playing: 0,
            finished: 0,
            recent: RecentMatches::default(),
            breakers: Breakers::default(),
            league_over: false,
        }
    }

    /// The rules it was given.
    pub fn rules(&self) -> &RefereeRules {
        &self.rules
    }

    /// Its id and its league, once the manager let it in.
    pub fn enrolled(&self) -> Option<(&RefereeId, &LeagueId)> {
        let held = self.enrolment.held.as_ref();
        held.map(|(referee, league)| (referee, league))
    }

    /// Whether the manager has to prove itself in its calls: it gave a token for that.
    pub fn knows_manager(&self) -> bool {
        self.enrolment.manager.is_some()
    }

    /// Why the manager has not let it in so far.
    pub fn registration_problem(&self) -> Option<&str> {
        self.enrolment.refused()
    }

    /// Why the manager rejected it, if it was never a member.
    pub fn rejection(&self) -> Option<&str> {
        self.enrolment.rejection()
    }

    /// The number of running matches; a match that lost its secrets in a restart does not count, as
    /// another referee may have it by now.
    pub fn playing(&self) -> usize {
        self.playing
    }

    /// How many matches it has closed.
    pub fn finished(&self) -> u64 {
        self.finished
    }

    /// How many matches are held, those that wait for their last letters among them.
    pub fn held(&self) -> usize {
        self.running.len()
    }

    /// Whether the manager announced the end of the league.
    pub fn league_over(&self) -> bool {
        self.league_over
    }

    /// The public state of a current or recent match.
    pub fn view(&self, match_id: &MatchId) -> Option<MatchView> {
        self.find(match_id).map(Match::view)
    }

    /// The public state of every current match.
    pub fn views(&self) -> impl Iterator<Item = MatchView> {
        self.running.values().map(|game| game.view())
    }

    /// What spectators may see of the matches that are being played.
    pub fn spectator_views(&self) -> impl Iterator<Item = SpectatorView> {
        let running = self.running.values();
        running.filter_map(|game| game.spectator_view())
    }

    fn find(&self, match_id: &MatchId) -> Option<&Match> {
        self.running
            .get(match_id)
            .map(|game| &**game)
            .or_else(|| self.recent.get(match_id))
    }

    fn context(&self) -> StepContext<'_> {
        StepContext {
            rules: &self.rules,
            breakers: &self.breakers,
            league_over: self.league_over,
        }
    }

    fn apply_to_match(&mut self, match_id: &MatchId, event: &Event) {
        let Some(game) = self.running.get_mut(match_id) else {
            return;
        };
        let playing = game.is_playing();
        game.apply(event);
        self.playing += usize::from(game.is_playing());
        self.playing -= usize::from(playing);
        self.finished += u64::from(matches!(event, Event::Closed { .. }));
        let is_over = matches!(event, Event::Closed { .. } | Event::GivenBack { .. });
        let new = game.due(&self.rules);
        let old = std::mem::replace(&mut game.listed_at, new);
        self.reschedule(match_id, old, new);
        if is_over {
            self.put_away(match_id);
        }
    }

    fn reschedule(&mut self, match_id: &MatchId, old: Option<Timestamp>, new: Option<Timestamp>) {
        if old == new {
            return;
        }
        if let Some(old) = old {
            self.due.remove(&(old, match_id.clone()));
        }
        if let Some(new) = new {
            self.due.insert((new, match_id.clone()));
        }
    }

    /// Takes a match out of those that are held.
    fn remove(&mut self, match_id: &MatchId) -> Option<Box<Match>> {
        let game = self.running.remove(match_id)?;
        self.playing -= usize::from(game.is_playing());
        self.reschedule(match_id, game.listed_at, None);
        Some(game)
    }

    /// Drops the matches of another league, which may have had the same id: its manager does not
    /// accept this referee's token, and match ids repeat between leagues.
    fn forget_matches(&mut self, is_other: impl Fn(&MatchOrder) -> bool) {
        self.recent = RecentMatches::default();
        let games = self.running.iter();
        let others = games.filter(|(_, game)| is_other(&game.fixture));
        let others: Vec<MatchId> = others.map(|(match_id, _)| match_id.clone()).collect();
        for match_id in others {
            self.remove(&match_id);
        }
    }

    fn put_away(&mut self, match_id: &MatchId) {
        if let Some(game) = self.remove(match_id) {
            self.recent.keep(game);
        }
    }

    fn open(&mut self, fixture: &Arc<MatchOrder>, at: Timestamp) {
        self.remove(&fixture.match_id);
        self.recent.forget(&fixture.match_id);
        if let Ok(game) = Match::open(fixture.clone(), self.opening.as_ref(), at) {
            self.opening = Some(Arc::clone(&game.opening));
            let match_id = fixture.match_id.clone();
            self.running.insert(match_id, Box::new(game));
        }
    }

    /// Keeps the breakers: silence counts, and so does an answer that was good.
    fn apply_to_breakers(&mut self, event: &Event) {
        if self.breakers.are_closed() && !matches!(event, Event::AttemptFailed { .. }) {
            return;
        }
        let Some(game) = event.match_id().and_then(|id| self.running.get(id)) else {
            return;
        };
        match event {
            Event::AttemptFailed {
                seat,
                code: Code::Timeout,
                asked: true,
                at,
                ..
            } => self
                .breakers
                .fail(game.seated(*seat), &self.rules.breaker, *at),
            Event::Joined { seat, .. }
            | Event::ChoiceSealed { seat, .. }
            | Event::MovePlayed { seat, .. } => self.breakers.succeed(game.seated(*seat)),
            // Hidden answers are not in the journal; these two facts vouch for them.
            Event::Started { .. } | Event::Decided { .. } => {
                for seat in SEATS
                    .into_iter()
                    .filter(|&seat| game.slot(seat).loss.is_none())
                {
                    self.breakers.succeed(game.seated(seat));
                }
            }
            _ => {}
        }
    }
}

impl Machine for Referee {
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
        self.weigh(at, command).into()
    }

    fn apply(&mut self, event: &Event) {
        self.apply_to_breakers(event);
        match event {
            Event::Enrolled {
                league_id, manager, ..
            } => {
                self.league_over = false;
                let another = self.enrolled().is_some_and(|(_, held)| held != league_id);
                let renewed = !another && self.enrolment.is_other_manager(*manager);
                self.enrolment.apply(event);
                if another || renewed {
                    self.forget_matches(|order| renewed || order.league_id != *league_id);
                }
            }
            Event::RegistrationTried { .. } | Event::RegistrationFailed { .. } => {
                self.enrolment.apply(event);
            }
            Event::LeagueEnded { .. } => self.league_over = true,
            Event::MatchOpened { fixture, at } => self.open(fixture, *at),
            _ => {
                if let Some(match_id) = event.match_id() {
                    self.apply_to_match(match_id, event);
                }
            }
        }
    }

    fn letters(&self, event: &Event, out: &mut Vec<Letter<CorrelationId>>) {
        match event {
            Event::RegistrationTried { .. } => out.extend(self.enrolment.letter(&self.rules)),
            _ if !event.is_told() => {}
            _ => {
                if let Some(game) = event.match_id().and_then(|id| self.find(id)) {
                    game.letters(&self.rules, event, out);
                }
            }
        }
    }

    fn pending(&self) -> Vec<Letter<CorrelationId>> {
        let mut letters: Vec<_> = self.enrolment.letter(&self.rules).into_iter().collect();
        for game in self.running.values() {
            game.pending(&self.rules, &mut letters);
        }
        letters
    }

    fn wakeup(&self) -> Option<Timestamp> {
        let first = self.due.first().map(|(at, _)| *at);
        first
            .into_iter()
            .chain(self.enrolment.due(&self.rules))
            .min()
    }

    fn keep(event: &Event) -> Persistence {
        event.keep()
    }
}

/// How many failing players are remembered; beyond it a new one is simply tried.
const MAX_BREAKERS: usize = 20_000;

/// The breakers of players that were silent when they were asked and have not answered a question
/// since. A player that returns to its league gets a new token, and with it a new breaker. A player
/// that cannot be reached has none, as the manager knows whether it is there.
#[derive(Debug, Clone, Default)]
pub(crate) struct Breakers(BTreeMap<TokenHash, Breaker>);

impl Breakers {
    /// Whether no player has failed lately, so that a good answer changes nothing.
    pub(crate) fn are_closed(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn allow(&self, player: &SeatedPlayer, rule: &BreakerRule, at: Timestamp) -> bool {
        let breaker = self.0.get(&player.token_hash);
        breaker.is_none_or(|breaker| breaker.allows(rule, at))
    }

    pub(crate) fn fail(&mut self, player: &SeatedPlayer, rule: &BreakerRule, at: Timestamp) {
        if let Some(breaker) = self.0.get_mut(&player.token_hash) {
            breaker.fail(rule, at);
        } else if self.0.len() < MAX_BREAKERS {
            let mut breaker = Breaker::default();
            breaker.fail(rule, at);
            self.0.insert(player.token_hash, breaker);
        }
    }

    /// Notes a good answer.
    pub(crate) fn succeed(&mut self, player: &SeatedPlayer) {
        self.0.remove(&player.token_hash);
    }
}

/// How many matches are remembered after their last letter.
pub const MAX_RECENT: usize = 256;

/// The last matches, oldest first.
#[derive(Debug, Clone, Default)]
pub(crate) struct RecentMatches {
    matches: BTreeMap<MatchId, Box<Match>>,
    order: VecDeque<MatchId>,
}

impl RecentMatches {
    pub(crate) fn get(&self, match_id: &MatchId) -> Option<&Match> {
        self.matches.get(match_id).map(|game| &**game)
    }

    pub(crate) fn keep(&mut self, game: Box<Match>) {
        let match_id = game.fixture.match_id.clone();
        if self.matches.insert(match_id.clone(), game).is_none() {
            self.order.push_back(match_id);
        }
        if self.order.len() > MAX_RECENT
            && let Some(oldest) = self.order.pop_front()
        {
            self.matches.remove(&oldest);
        }
    }

    pub(crate) fn forget(&mut self, match_id: &MatchId) {
        if self.matches.remove(match_id).is_some() {
            self.order.retain(|kept| kept != match_id);
        }
    }
}
