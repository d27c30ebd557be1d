//! The world of one league: all desks, and the loop that goes from one appointment to the next.

use std::sync::Arc;
use std::time::Duration;

use league_core::draw::{LeagueSecret, LeagueSecrets};
use league_core::league::format::Format;
use league_core::league::{Event, League, LeagueFixture, LeagueRound, Phase};
use league_core::letter::Peer;
use league_core::machine::Machine;
use league_core::player::{MemoryRule, Player, PlayerRules};
use league_core::referee::{Referee, RefereeRules};
use league_protocol::sender::{Agent, CallStyle, Dialect};
use league_protocol::time::Timestamp;
use league_protocol::token::AuthToken;
use slab::Slab;

use crate::actor::SimulatedActor;
use crate::agents::SimulatedMachine;
use crate::behaviour::Behaviour;
use crate::clock::Clock;
use crate::environment::{
    AnswerInTransit, Environment, Errand, Parcel, PendingThought, SilenceNotice,
};
use crate::fault::InjectedFault;
use crate::hostile::Attacker;
use crate::oracle::{Oracle, more_rounds};
use crate::organiser::{MAX_PULLS, Organiser};
use crate::report::{Digest, Invariant, SimulationReport};
use crate::scenario::{Person, REFEREE_KEY, Scenario, SimulationPlan, barred_endpoint, endpoint};
use crate::{Breach, CheckResult, NodeId, breach};

/// How long a round may last once nothing fails any more: a referee that lost its token is found
/// out by the limit on a match.
const MAX_ROUND_TIME: Duration = Duration::from_secs(120 * 60);
/// How long the last letters may take once the league is over and nothing fails any more.
const AFTERMATH: Duration = Duration::from_secs(20 * 60);
/// The most commands that one match may cost, on an average.
const MAX_STEPS_PER_MATCH: u64 = 3_000;
/// All journals are replayed, written, read and searched at the end of one league in so many.
const ONE_LEAGUE_IN: u64 = 16;
/// One in so many when nothing fails.
const ONE_QUIET_LEAGUE_IN: u64 = 256;
/// The most commands that a league may cost besides, for a limit on a match of so long.
const MAX_STEPS_BESIDES: u64 = 300_000;
const USUAL_LIMIT: Duration = Duration::from_secs(30 * 60);

/// Runs an expression at the desk of an agent, of whatever kind.
macro_rules! with_actor {
    ($world:ident, $who:expr, |$actor:ident, $environment:ident| $what:expr) => {{
        let (who, $environment) = ($who as usize, &mut $world.environment);
        let referees = $world.referees.len();
        if who == 0 {
            let $actor = &mut $world.manager;
            $what
        } else if let Some($actor) = $world.referees.get_mut(who - 1) {
            $what
        } else if let Some($actor) = $world.players.get_mut(who - 1 - referees) {
            $what
        } else {
            Ok(())
        }
    }};
}

/// The world of one league.
pub(crate) struct World {
    manager: SimulatedActor<League>,
    referees: Vec<SimulatedActor<Referee>>,
    players: Vec<SimulatedActor<Player>>,
    environment: Environment,
    attacker: Attacker,
    organiser: Organiser,
    /// When the league was over and nothing failed any more.
    over: Option<Timestamp>,
    /// When it must be over at the latest, and after how many commands.
    latest: Timestamp,
    most_steps: u64,
}

impl World {
    pub(crate) fn new(scenario: Scenario, plan: &SimulationPlan) -> Self {
        let manager = Arc::new(Peer {
            agent: Agent::Manager,
            endpoint: endpoint(0),
            dialect: Dialect::V2,
            speech: Some(CallStyle::Simple),
            is_foreign: false,
        });
        let staff = Person {
            dialect: Dialect::V2,
            behaviour: Behaviour::HONEST,
            shows_token: true,
            signs: false,
            is_barred: false,
        };
        let facts = UsualFacts::of(&scenario);
        let referees = (1..).zip(&scenario.capacities).map(|(who, &capacity)| {
            let rules = referee_rules(&scenario, who, capacity, &manager);
            SimulatedActor::new(who, Referee::new(rules), staff, facts.referee)
        });
        let referees: Vec<_> = referees.collect();
        let first = NodeId::try_from(referees.len()).unwrap_or(0) + 1;
        let (latest, most_steps) = bounds(&scenario);
        let players = (first..).zip(&scenario.players).map(|(who, person)| {
            let rules = player_rules(&scenario, (who, person), &manager);
            SimulatedActor::new(who, Player::new(rules), *person, facts.player)
        });
        let players = players.collect();
        Self {
            manager: SimulatedActor::new(0, league(&scenario), staff, facts.manager),
            referees,
            players,
            environment: Environment {
                clock: Clock::new(),
                parcels: Slab::new(),
                answers: Slab::new(),
                thoughts: Slab::new(),
                chance: scenario.chance.clone(),
                oracle: Oracle::new(&scenario, plan.faults),
                report: SimulationReport::new(0),
                sabotage: plan.sabotage,
                digest: plan.digest.then(Digest::new),
                faults: plan.faults,
                stormy: plan.faults,
                scenario,
            },
            attacker: Attacker::default(),
            organiser: Organiser::default(),
            over: None,
            latest,
            most_steps,
        }
    }

    /// Runs the league until it is over and all agents know.
    pub(crate) fn run(mut self) -> Result<SimulationReport, Box<Breach>> {
        self.open_doors();
        match self.go_on().and_then(|()| self.end()) {
            Ok(()) => Ok(self.figures()),
            Err(mut breach) => {
                breach.step = self.environment.report.steps;
                Err(breach)
            }
        }
    }

    fn go_on(&mut self) -> CheckResult {
        while let Some(errand) = self.environment.clock.advance() {
            self.environment.stormy = self.environment.now() < self.environment.scenario.calm_from;
            self.meet(errand)?;
            if self.is_over() {
                return Ok(());
            }
            self.check_bounds()?;
        }
        Ok(())
    }

    /// All agents start within the first seconds, in any order.
    fn open_doors(&mut self) {
        let all = 1 + self.referees.len() + self.players.len();
        for who in 0..NodeId::try_from(all).unwrap_or(0) {
            let wait = if self.environment.stormy || who > 0 {
                Duration::from_millis(1 + self.environment.chance.below(10_000))
            } else {
                Duration::ZERO
            };
            let at = self.environment.now() + wait;
            self.environment.clock.note(at, Errand::Rise { who });
        }
        if self.environment.scenario.rates.mischief > 0 {
            let at = self.environment.now() + Duration::from_secs(5);
            self.environment.clock.note(at, Errand::Mischief);
        }
        self.plan_pull();
    }

    fn meet(&mut self, errand: Errand) -> CheckResult {
        match errand {
            Errand::Wake { who, life } => {
                with_actor!(self, who, |actor, environment| actor
                    .wake(environment, life))
            }
            Errand::Sync { who, life } => {
                with_actor!(self, who, |actor, environment| actor
                    .sync(environment, life))
            }
            Errand::Enough { who, life } => {
                with_actor!(self, who, |actor, environment| actor
                    .end_waiting(environment, life))
            }
            Errand::Carry(place) => match self.environment.parcels.try_remove(place) {
                Some(parcel) => self.deliver(parcel),
                None => Ok(()),
            },
            Errand::Return(place) => match self.environment.answers.try_remove(place) {
                Some(answered) => self.bring_back(answered),
                None => Ok(()),
            },
            Errand::Echo(answered) => self.bring_back(*answered),
            Errand::Silence(silence) => {
                let SilenceNotice { back, failure } = *silence;
                with_actor!(self, back.to, |actor, environment| actor.miss(
                    environment,
                    back,
                    failure
                ))
            }
            Errand::Again(again) => with_actor!(self, again.from, |actor, environment| {
                actor.try_again(environment, again.to, again.life, again.trying);
                Ok(())
            }),
            Errand::Thought(place) => match self.environment.thoughts.try_remove(place) {
                Some(thought) => self.choose(thought),
                None => Ok(()),
            },
            Errand::Rise { who } => self.rise(who),
            Errand::Mischief => {
                self.attacker.strike(&mut self.environment);
                Ok(())
            }
            Errand::Pull => self.pull(),
        }
    }

    /// The organiser comes again, until the league is over.
    fn plan_pull(&mut self) {
        let Some(plan) = self.environment.scenario.levers else {
            return;
        };
        if self.manager.machine.phase() != Phase::Completed {
            let wait = self.organiser.wait(&mut self.environment.chance, plan);
            let at = self.environment.now() + wait;
            self.environment.clock.note(at, Errand::Pull);
        }
    }

    /// The organiser pulls a lever; sometimes the manager falls at once.
    fn pull(&mut self) -> CheckResult {
        self.plan_pull();
        let environment = &mut self.environment;
        let Some(plan) = environment.scenario.levers.filter(|_| self.manager.up) else {
            return Ok(());
        };
        let is_calm = environment.faults && !environment.stormy;
        let (now, league) = (environment.now(), &self.manager.machine);
        let chance = &mut environment.chance;
        let command = self.organiser.pull(chance, plan, is_calm, league, now);
        environment.oracle.now_from(0);
        let before = self.manager.journal.len();
        self.manager.attend(environment, &command, None)?;
        for event in self.manager.journal.iter().skip(before) {
            if let Event::OrganiserActed { act, .. } = event {
                *environment.report.levers.entry(act.name()).or_default() += 1;
            }
        }
        if self.manager.up {
            self.manager.check_replay(false)?;
        }
        if self.manager.up && environment.stormy && environment.chance.below(6) == 0 {
            environment.report.fault(InjectedFault::ManagerCrash);
            self.manager.fall(environment)?;
        }
        Ok(())
    }

    /// A player has thought, unless it fell meanwhile.
    fn choose(&mut self, thought: PendingThought) -> CheckResult {
        let place = (thought.who as usize).saturating_sub(1 + self.referees.len());
        let Some(actor) = self.players.get_mut(place) else {
            return Ok(());
        };
        if !actor.up || actor.life != thought.life {
            self.environment.cut(thought.back);
            return Ok(());
        }
        actor.attend(&mut self.environment, &thought.command, thought.back)
    }

    /// Whether this league has a hostile caller.
    fn is_unsafe(&self) -> bool {
        self.environment.stormy && self.environment.scenario.rates.mischief > 0
    }

    /// The token that a player shows a referee is seen by others too.
    fn overhear(&mut self, answered: &AnswerInTransit) {
        let place = (answered.back.asked as usize).checked_sub(1 + self.referees.len());
        let actor = place.and_then(|place| self.players.get(place));
        if let (Some(actor), Some(shown), true) = (actor, answered.token, self.is_unsafe())
            && let (Some(id), Some(token)) = (actor.machine.player_id(), actor.token_behind(shown))
        {
            let chance = &mut self.environment.chance;
            self.attacker.overhear(chance, actor.who, id, token);
        }
    }

    fn bring_back(&mut self, answered: AnswerInTransit) -> CheckResult {
        self.overhear(&answered);
        with_actor!(self, answered.back.to, |actor, environment| actor
            .hear(environment, answered))
    }

    fn deliver(&mut self, parcel: Parcel) -> CheckResult {
        if self.is_unsafe() && (parcel.to == 0 || parcel.from == 0) {
            self.attacker.pick_up(&mut self.environment.chance, &parcel);
        }
        let place = (parcel.from as usize).checked_sub(1 + self.referees.len());
        let person = place.and_then(|place| self.environment.scenario.players.get(place));
        let dialect = person.map_or(Dialect::V2, |person| person.dialect);
        with_actor!(self, parcel.to, |actor, environment| actor.receive(
            environment,
            parcel,
            dialect
        ))
    }

    fn rise(&mut self, who: NodeId) -> CheckResult {
        let text_too = self.environment.chance.below(16) == 0;
        with_actor!(self, who, |actor, environment| {
            actor.rise(environment)?;
            if actor.up {
                actor.check_replay(text_too)?;
            }
            CheckResult::Ok(())
        })?;
        if who == 0 && self.manager.up {
            self.environment
                .oracle
                .check_results(&self.manager.machine)?;
        }
        Ok(())
    }

    fn is_over(&mut self) -> bool {
        if self.environment.stormy || self.manager.machine.phase() != Phase::Completed {
            return false;
        }
        let now = self.environment.now();
        let over = *self.over.get_or_insert(now);
        now > over + AFTERMATH
    }

    fn check_bounds(&self) -> CheckResult {
        if self.environment.now() > self.latest {
            return breach(Invariant::EveryLeagueEnds, self.standstill("time"));
        }
        if self.environment.report.steps > self.most_steps {
            return breach(Invariant::EveryLeagueEnds, self.standstill("steps"));
        }
        Ok(())
    }

    fn standstill(&self, what: &str) -> String {
        let league = &self.manager.machine;
        let round = league
            .round()
            .map_or(0, league_core::league::LeagueRound::number);
        let open = league
            .round()
            .map_or(0, league_core::league::LeagueRound::open);
        let stages = league.round().map(|round| {
            let fixtures = round.fixtures().iter();
            let open = fixtures.filter(|fixture| fixture.result().is_none());
            open.take(3)
                .map(|fixture| format!("{} {:?}", fixture.match_id(), fixture.stage()))
                .collect::<Vec<_>>()
        });
        let referees = self.referees.iter().map(|actor| {
            let (id, machine) = (
                actor.machine.enrolled().map(|(id, _)| id.clone()),
                &actor.machine,
            );
            let suspended = id.as_ref().and_then(|id| league.referee(id));
            let suspended = suspended.and_then(|referee| referee.member().suspended_since());
            let problem = machine.registration_problem();
            format!(
                "{id:?} plays {} of {}, suspended {suspended:?}, {problem:?}",
                machine.playing(),
                machine.held()
            )
        });
        let referees: Vec<String> = referees.collect();
        format!(
            "out of {what} at {}: {:?}, round {round} with {open} matches open: {stages:?}; referees: {referees:?}",
            self.environment.now(),
            league.phase()
        )
    }

    /// What must hold once all is over.
    fn end(&mut self) -> CheckResult {
        if self.manager.machine.phase() != Phase::Completed {
            return breach(Invariant::EveryLeagueEnds, self.standstill("errands"));
        }
        self.environment.oracle.check_all_met()?;
        self.environment
            .oracle
            .check_course(&self.manager.machine)?;
        self.environment
            .oracle
            .check_results(&self.manager.machine)?;
        let one_in = if self.environment.faults {
            ONE_LEAGUE_IN
        } else {
            ONE_QUIET_LEAGUE_IN
        };
        let whole = self.environment.chance.below(one_in) == 0;
        self.look_through(whole)
    }

    /// Replays and searches the journals: the manager's after every fall, all of them in some
    /// leagues.
    fn look_through(&mut self, whole: bool) -> CheckResult {
        let oracle = &self.environment.oracle;
        if whole || self.environment.report.crashes > 0 {
            self.manager.check_replay(whole)?;
        }
        let scenario = &self.environment.scenario;
        let is_listed = scenario.rules.format != Format::default();
        if whole || scenario.levers.is_some() || is_listed {
            self.audit()?;
        }
        if whole || self.environment.faults {
            search(oracle, &self.manager, whole)?;
        }
        if !whole {
            return Ok(());
        }
        for actor in &self.referees {
            actor.check_replay(true)?;
            search(oracle, actor, true)?;
        }
        for actor in &self.players {
            actor.check_replay(true)?;
            search(oracle, actor, true)?;
        }
        Ok(())
    }

    /// The journal of the manager holds no event that could not happen, and tells those without the
    /// secret which moves are signed.
    fn audit(&self) -> CheckResult {
        let unknown = LeagueSecrets::one(LeagueSecret([0; 32]));
        let rules = self.environment.scenario.rules.clone();
        let mut audited = League::new(rules, unknown).expect("the league began with these rules");
        for event in &self.manager.journal {
            if let Err(problem) = audited.audit(event) {
                let what = format!("the audit refuses {event:?}: {problem}");
                return breach(Invariant::LeversHold, what);
            }
            audited.apply(event);
        }
        let signs = |league: &League| {
            let fixtures = league.round().map(LeagueRound::fixtures);
            let fixtures = fixtures.unwrap_or_default().iter();
            fixtures.map(LeagueFixture::signs).collect::<Vec<_>>()
        };
        if signs(&audited) == signs(&self.manager.machine) {
            return Ok(());
        }
        let what = "the journal does not tell who signs".to_owned();
        breach(Invariant::LeversHold, what)
    }

    fn figures(self) -> SimulationReport {
        let mut report = self.environment.report;
        (report.matches, report.technical_losses) = self.environment.oracle.played();
        report.late = self.manager.machine.schedule().plan().late.into();
        report.leagues = 1;
        let format = self.manager.machine.format_plan().format;
        report.formats.insert(format.name(), 1);
        let end = self.over.unwrap_or(self.environment.clock.now());
        report.virtual_seconds = end.since(Clock::<()>::beginning()).as_secs();
        report.digest = self.environment.digest.map_or(0, Digest::value);
        report
    }
}

/// When a league must be over at the latest, and after how many commands.
fn bounds(scenario: &Scenario) -> (Timestamp, u64) {
    let players = u32::try_from(scenario.players.len()).unwrap_or(u32::MAX);
    // A long game has a long limit, which a match may reach once.
    let round = MAX_ROUND_TIME.max(scenario.rules.match_limit * 2);
    let extra = scenario.levers.map_or(0, |_| MAX_PULLS) + more_rounds(&scenario.rules, players);
    let latest = scenario.calm_from + round * (players + extra + 2) + AFTERMATH;
    let matches = u64::from(players) * u64::from(players + extra) / 2;
    let longer = 1 + scenario.rules.match_limit.as_secs() / USUAL_LIMIT.as_secs();
    let steps = MAX_STEPS_BESIDES * longer + matches * MAX_STEPS_PER_MATCH;
    (latest, steps)
}

/// Searches a journal for secrets, whole or only its first events.
fn search<M: SimulatedMachine>(
    oracle: &Oracle,
    actor: &SimulatedActor<M>,
    whole: bool,
) -> CheckResult {
    let most = if whole { usize::MAX } else { 50 };
    let mut facts = actor.journal.iter().take(most);
    facts.try_for_each(|event| oracle.search(event))
}

#[expect(
    clippy::unwrap_used,
    reason = "the rules are drawn from values that make a league"
)]
pub(crate) fn league(scenario: &Scenario) -> League {
    League::new(scenario.rules.clone(), scenario.secrets).unwrap()
}

pub(crate) fn referee_rules(
    scenario: &Scenario,
    who: NodeId,
    capacity: u32,
    manager: &Arc<Peer>,
) -> RefereeRules {
    RefereeRules {
        display_name: format!("Referee {who}"),
        version: "1.0.0".into(),
        wanted_id: None,
        key: (!scenario.is_stranger(who)).then(|| AuthToken::new(REFEREE_KEY)),
        endpoint: endpoint(who).to_string(),
        games: vec![scenario.rules.game_type.clone()],
        max_concurrent: capacity,
        timeouts: scenario.rules.timeouts,
        breaker: scenario.rules.breaker,
        manager: Arc::clone(manager),
    }
}

pub(crate) fn player_rules(
    scenario: &Scenario,
    (who, person): (NodeId, &Person),
    manager: &Arc<Peer>,
) -> PlayerRules {
    let home = if person.is_barred {
        barred_endpoint(who)
    } else {
        endpoint(who)
    };
    PlayerRules {
        display_name: format!("Player {who}"),
        version: "1.0.0".into(),
        endpoint: home.to_string(),
        games: vec![scenario.rules.game_type.clone()],
        timeouts: scenario.rules.timeouts,
        manager: Arc::clone(manager),
        wanted_id: None,
        join_code: None,
        strict: scenario.rules.strict,
        memory: MemoryRule::default(),
        human: false,
    }
}

/// How many facts each agent notes if nothing fails, so that its journal has room for them.
pub(crate) struct UsualFacts {
    pub(crate) manager: usize,
    pub(crate) referee: usize,
    pub(crate) player: usize,
}

impl UsualFacts {
    pub(crate) fn of(scenario: &Scenario) -> Self {
        let (players, referees) = (scenario.players.len(), scenario.capacities.len());
        let matches = players * players / 2;
        Self {
            // Each comes, each match has a result, each round opens and closes.
            manager: players + referees + matches + 2 * players,
            // A match is taken, begins, is decided and put away.
            referee: 4 * matches / referees.max(1),
            // A match is announced and remembered.
            player: 2 * players + 2,
        }
    }
}

#[cfg(test)]
mod tests;
