//! The world of one league: all desks, and the loop that goes from one appointment to the next.

use std::sync::Arc;
use std::time::Duration;

use league_core::league::{League, Phase};
use league_core::letter::Peer;
use league_core::player::{MemoryRule, Player, PlayerRules};
use league_core::referee::{Referee, RefereeRules};
use league_protocol::sender::{Agent, CallStyle, Dialect};
use league_protocol::time::Timestamp;

use crate::actor::Desk;
use crate::agents::Worker;
use crate::behaviour::Manners;
use crate::clock::Clock;
use crate::environment::{Answered, Around, Errand, Parcel, Silence, Thought};
use crate::hostile::Loot;
use crate::oracle::Oracle;
use crate::report::{Digest, Invariant, Report};
use crate::setting::{Person, Plan, Setting, barred_endpoint, endpoint};
use crate::slab::Shelf;
use crate::{Breach, Checked, Who, breach};

/// How long a round may last once nothing fails any more: a referee that lost its token is found
/// out by the limit on a match.
const LONGEST_ROUND: Duration = Duration::from_secs(120 * 60);
/// How long the last letters may take once the league is over and nothing fails any more.
const AFTERMATH: Duration = Duration::from_secs(20 * 60);
/// The most commands that one match may cost, on an average.
const MOST_STEPS_A_MATCH: u64 = 3_000;
/// All journals are replayed, written, read and searched at the end of one league in so many.
const ONE_LEAGUE_IN: u64 = 16;
/// One in so many when nothing fails.
const ONE_QUIET_LEAGUE_IN: u64 = 256;
/// The most commands that a league may cost besides.
const MOST_STEPS_BESIDES: u64 = 300_000;

/// Runs an expression at the desk of an agent, of whatever kind.
macro_rules! at_desk {
    ($world:ident, $who:expr, |$desk:ident, $around:ident| $what:expr) => {{
        let (who, $around) = ($who as usize, &mut $world.around);
        let referees = $world.referees.len();
        if who == 0 {
            let $desk = &mut $world.manager;
            $what
        } else if let Some($desk) = $world.referees.get_mut(who - 1) {
            $what
        } else if let Some($desk) = $world.players.get_mut(who - 1 - referees) {
            $what
        } else {
            Ok(())
        }
    }};
}

/// The world of one league.
pub(crate) struct World {
    manager: Desk<League>,
    referees: Vec<Desk<Referee>>,
    players: Vec<Desk<Player>>,
    around: Around,
    loot: Loot,
    /// When the league was over and nothing failed any more.
    over: Option<Timestamp>,
    /// When it must be over at the latest, and after how many commands.
    latest: Timestamp,
    most_steps: u64,
}

impl World {
    pub(crate) fn new(setting: Setting, plan: &Plan) -> Self {
        let manager = Arc::new(Peer {
            agent: Agent::Manager,
            endpoint: endpoint(0),
            dialect: Dialect::V2,
            speech: Some(CallStyle::Simple),
        });
        let staff = Person {
            dialect: Dialect::V2,
            manners: Manners::HONEST,
            shows_token: true,
            is_barred: false,
        };
        let facts = UsualFacts::of(&setting);
        let referees = (1..).zip(&setting.capacities).map(|(who, &capacity)| {
            let rules = referee_rules(&setting, who, capacity, &manager);
            Desk::new(who, Referee::new(rules), staff, facts.referee)
        });
        let referees: Vec<_> = referees.collect();
        let first = Who::try_from(referees.len()).unwrap_or(0) + 1;
        let (latest, most_steps) = bounds(&setting);
        let players = (first..).zip(&setting.players).map(|(who, person)| {
            let rules = player_rules(&setting, (who, person), &manager);
            Desk::new(who, Player::new(rules), *person, facts.player)
        });
        let players = players.collect();
        Self {
            manager: Desk::new(0, league(&setting), staff, facts.manager),
            referees,
            players,
            around: Around {
                clock: Clock::new(),
                parcels: Shelf::new(),
                answers: Shelf::new(),
                thoughts: Shelf::new(),
                chance: setting.chance.clone(),
                oracle: Oracle::new(&setting, plan.faults),
                report: Report::new(0),
                sabotage: plan.sabotage,
                digest: plan.digest.then(Digest::new),
                faults: plan.faults,
                stormy: plan.faults,
                setting,
            },
            loot: Loot::default(),
            over: None,
            latest,
            most_steps,
        }
    }

    /// Lets the league go on until it is over and everybody knows.
    pub(crate) fn run(mut self) -> Result<Report, Box<Breach>> {
        self.open_doors();
        match self.go_on().and_then(|()| self.end()) {
            Ok(()) => Ok(self.figures()),
            Err(mut breach) => {
                breach.step = self.around.report.steps;
                Err(breach)
            }
        }
    }

    fn go_on(&mut self) -> Checked {
        while let Some(errand) = self.around.clock.advance() {
            self.around.stormy = self.around.now() < self.around.setting.calm_from;
            self.meet(errand)?;
            if self.is_over() {
                return Ok(());
            }
            self.check_bounds()?;
        }
        Ok(())
    }

    /// Everybody comes within the first seconds, in any order.
    fn open_doors(&mut self) {
        let all = 1 + self.referees.len() + self.players.len();
        for who in 0..Who::try_from(all).unwrap_or(0) {
            let wait = if self.around.stormy || who > 0 {
                Duration::from_millis(1 + self.around.chance.below(10_000))
            } else {
                Duration::ZERO
            };
            let at = self.around.now() + wait;
            self.around.clock.note(at, Errand::Rise { who });
        }
        if self.around.setting.rates.mischief > 0 {
            let at = self.around.now() + Duration::from_secs(5);
            self.around.clock.note(at, Errand::Mischief);
        }
    }

    fn meet(&mut self, errand: Errand) -> Checked {
        match errand {
            Errand::Wake { who, life } => {
                at_desk!(self, who, |desk, around| desk.wake(around, life))
            }
            Errand::Sync { who, life } => {
                at_desk!(self, who, |desk, around| desk.sync(around, life))
            }
            Errand::Enough { who, life } => {
                at_desk!(self, who, |desk, around| desk.end_waiting(around, life))
            }
            Errand::Carry(place) => match self.around.parcels.take(place) {
                Some(parcel) => self.deliver(parcel),
                None => Ok(()),
            },
            Errand::Return(place) => match self.around.answers.take(place) {
                Some(answered) => self.bring_back(answered),
                None => Ok(()),
            },
            Errand::Echo(answered) => self.bring_back(*answered),
            Errand::Silence(silence) => {
                let Silence { back, code } = *silence;
                at_desk!(self, back.to, |desk, around| desk.miss(around, back, code))
            }
            Errand::Again(again) => at_desk!(self, again.from, |desk, around| {
                desk.try_again(around, again.to, again.life, again.trying);
                Ok(())
            }),
            Errand::Thought(place) => match self.around.thoughts.take(place) {
                Some(thought) => self.choose(thought),
                None => Ok(()),
            },
            Errand::Rise { who } => self.rise(who),
            Errand::Mischief => {
                self.loot.strike(&mut self.around);
                Ok(())
            }
        }
    }

    /// A player has thought, unless it fell meanwhile.
    fn choose(&mut self, thought: Thought) -> Checked {
        let place = (thought.who as usize).saturating_sub(1 + self.referees.len());
        let Some(desk) = self.players.get_mut(place) else {
            return Ok(());
        };
        if !desk.up || desk.life != thought.life {
            self.around.cut(thought.back);
            return Ok(());
        }
        desk.attend(&mut self.around, &thought.command, thought.back)
    }

    /// Whether somebody is about who has no right to be.
    fn is_unsafe(&self) -> bool {
        self.around.stormy && self.around.setting.rates.mischief > 0
    }

    /// The token that a player shows a referee is seen by others too.
    fn overhear(&mut self, answered: &Answered) {
        let place = (answered.back.asked as usize).checked_sub(1 + self.referees.len());
        let desk = place.and_then(|place| self.players.get(place));
        if let (Some(desk), Some(shown), true) = (desk, answered.token, self.is_unsafe())
            && let (Some(id), Some(token)) = (desk.machine.player_id(), desk.token_behind(shown))
        {
            let chance = &mut self.around.chance;
            self.loot.overhear(chance, desk.who, id, token);
        }
    }

    fn bring_back(&mut self, answered: Answered) -> Checked {
        self.overhear(&answered);
        at_desk!(self, answered.back.to, |desk, around| desk
            .hear(around, answered))
    }

    fn deliver(&mut self, parcel: Parcel) -> Checked {
        if self.is_unsafe() && parcel.to == 0 {
            self.loot.pick_up(&mut self.around.chance, &parcel);
        }
        let place = (parcel.from as usize).checked_sub(1 + self.referees.len());
        let person = place.and_then(|place| self.around.setting.players.get(place));
        let dialect = person.map_or(Dialect::V2, |person| person.dialect);
        at_desk!(self, parcel.to, |desk, around| desk
            .receive(around, parcel, dialect))
    }

    fn rise(&mut self, who: Who) -> Checked {
        let text_too = self.around.chance.below(16) == 0;
        at_desk!(self, who, |desk, around| {
            desk.rise(around)?;
            if desk.life > 0 && desk.up {
                desk.check_replay(text_too)?;
            }
            Checked::Ok(())
        })?;
        if who == 0 && self.manager.up {
            self.around.oracle.check_results(&self.manager.machine)?;
        }
        Ok(())
    }

    fn is_over(&mut self) -> bool {
        if self.around.stormy || self.manager.machine.phase() != Phase::Completed {
            return false;
        }
        let now = self.around.now();
        let over = *self.over.get_or_insert(now);
        now > over + AFTERMATH
    }

    fn check_bounds(&self) -> Checked {
        if self.around.now() > self.latest {
            return breach(Invariant::EveryLeagueEnds, self.standstill("time"));
        }
        if self.around.report.steps > self.most_steps {
            return breach(Invariant::EveryLeagueEnds, self.standstill("steps"));
        }
        Ok(())
    }

    fn standstill(&self, what: &str) -> String {
        let league = &self.manager.machine;
        let round = league.round().map_or(0, league_core::league::Round::number);
        let open = league.round().map_or(0, league_core::league::Round::open);
        let stages = league.round().map(|round| {
            let fixtures = round.fixtures().iter();
            let open = fixtures.filter(|fixture| fixture.result().is_none());
            open.take(3)
                .map(|fixture| format!("{} {:?}", fixture.match_id(), fixture.stage()))
                .collect::<Vec<_>>()
        });
        let referees = self.referees.iter().map(|desk| {
            let (id, machine) = (
                desk.machine.enrolled().map(|(id, _)| id.clone()),
                &desk.machine,
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
            self.around.now(),
            league.phase()
        )
    }

    /// What must hold once all is over.
    fn end(&mut self) -> Checked {
        if self.manager.machine.phase() != Phase::Completed {
            return breach(Invariant::EveryLeagueEnds, self.standstill("errands"));
        }
        self.around.oracle.check_all_met()?;
        self.around.oracle.check_results(&self.manager.machine)?;
        let one_in = if self.around.faults {
            ONE_LEAGUE_IN
        } else {
            ONE_QUIET_LEAGUE_IN
        };
        let whole = self.around.chance.below(one_in) == 0;
        self.look_through(whole)
    }

    /// Replays and searches the journals: the manager's after every fall, all of them in some
    /// leagues.
    fn look_through(&mut self, whole: bool) -> Checked {
        let oracle = &self.around.oracle;
        if whole || self.around.report.crashes > 0 {
            self.manager.check_replay(whole)?;
        }
        if whole || self.around.faults {
            search(oracle, &self.manager, whole)?;
        }
        if !whole {
            return Ok(());
        }
        for desk in &self.referees {
            desk.check_replay(true)?;
            search(oracle, desk, true)?;
        }
        for desk in &self.players {
            desk.check_replay(true)?;
            search(oracle, desk, true)?;
        }
        Ok(())
    }

    fn figures(self) -> Report {
        let mut report = self.around.report;
        (report.matches, report.technical_losses) = self.around.oracle.played();
        report.leagues = 1;
        let end = self.over.unwrap_or(self.around.clock.now());
        report.virtual_seconds = end.since(Clock::<()>::beginning()).as_secs();
        report.digest = self.around.digest.map_or(0, Digest::value);
        report
    }
}

/// When a league must be over at the latest, and after how many commands.
fn bounds(setting: &Setting) -> (Timestamp, u64) {
    let players = u32::try_from(setting.players.len()).unwrap_or(u32::MAX);
    let latest = setting.calm_from + LONGEST_ROUND * (players + 2) + AFTERMATH;
    let matches = u64::from(players) * u64::from(players) / 2;
    (latest, MOST_STEPS_BESIDES + matches * MOST_STEPS_A_MATCH)
}

/// Searches a journal for secrets; of one that is not searched whole, the first facts.
fn search<M: Worker>(oracle: &Oracle, desk: &Desk<M>, whole: bool) -> Checked {
    let most = if whole { usize::MAX } else { 50 };
    let mut facts = desk.journal.iter().take(most);
    facts.try_for_each(|event| oracle.search(event))
}

#[expect(
    clippy::unwrap_used,
    reason = "the rules are drawn from values that make a league"
)]
pub(crate) fn league(setting: &Setting) -> League {
    League::new(setting.rules.clone(), setting.secret).unwrap()
}

pub(crate) fn referee_rules(
    setting: &Setting,
    who: Who,
    capacity: u32,
    manager: &Arc<Peer>,
) -> RefereeRules {
    RefereeRules {
        display_name: format!("Referee {who}"),
        version: "1.0.0".into(),
        wanted_id: None,
        endpoint: endpoint(who).to_string(),
        games: vec![setting.rules.game_type.clone()],
        max_concurrent: capacity,
        timeouts: setting.rules.timeouts,
        breaker: setting.rules.breaker,
        manager: Arc::clone(manager),
    }
}

pub(crate) fn player_rules(
    setting: &Setting,
    (who, person): (Who, &Person),
    manager: &Arc<Peer>,
) -> PlayerRules {
    let home = match person.is_barred {
        true => barred_endpoint(who),
        false => endpoint(who),
    };
    PlayerRules {
        display_name: format!("Player {who}"),
        version: "1.0.0".into(),
        endpoint: home.to_string(),
        games: vec![setting.rules.game_type.clone()],
        timeouts: setting.rules.timeouts,
        manager: Arc::clone(manager),
        wanted_id: None,
        strict: setting.rules.strict,
        memory: MemoryRule::default(),
    }
}

/// How many facts each agent notes if nothing fails, so that its journal has room for them.
pub(crate) struct UsualFacts {
    pub(crate) manager: usize,
    pub(crate) referee: usize,
    pub(crate) player: usize,
}

impl UsualFacts {
    pub(crate) fn of(setting: &Setting) -> Self {
        let (players, referees) = (setting.players.len(), setting.capacities.len());
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
