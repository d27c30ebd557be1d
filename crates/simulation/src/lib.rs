//! Whole leagues in virtual time: real machines, faulty world, one seed.
//!
//! A [`Simulation`] runs league after league. Each has its own players, referees, rules and rates
//! of faults, all drawn from the seed; its agents are the machines of `league-core` in actors that
//! keep journals as a shell does. From a drawn moment on faults stop, and then every league must
//! end.
//!
//! # What is checked, and when
//!
//! | Invariant | Checked |
//! |---|---|
//! | I1 an acknowledged result stays for ever | with every acknowledgement; all of them, against what is left of the journal, at every crash of the manager |
//! | I2 one result per match | with every result |
//! | I3 the table follows from the results | points with every result; the whole table, recounted naively, at the end of every round, at every restart and at the end |
//! | I4 each pair meets once, or as often as the format says, each player plays once a round | with every round; all pairs at the end |
//! | I5 a round closes only when it is full, the league ends once | with every such event |
//! | I6 only the assigned referee's report of the present attempt counts; players are told of it before it is ordered | with every hand-over, every result and every order |
//! | I7 nothing hidden is seen before its time; no seed leaves before the moves that it is for are safe | the shape of every letter and answer; the text of one journal event in 64, of the manager's first events at the end, of all journals at the end of one league in 16 |
//! | I8 the draw follows from the seed of its attempt and the nonces, and keeps its promise; what is handed over is played once, as the players made it | with every hand-over, every decided match and every ruling; one in 16 when nothing fails |
//! | I9 states move along the diagrams | with every event of a match; of agents with every event about one |
//! | I10, I15 the journal is complete: replayed, and replayed again, it gives the same machine | at every restart; the live machine against its journal at the end of a league with crashes; read back from its text at one restart and in one league in 16 |
//! | I12 attempts are bounded, and none is lost before its deadline | with every event of a match |
//! | I13 ids are never given twice, tokens are nowhere in a journal | with every registration; the text as for I7 |
//! | I14 every league ends once faults stop | by a bound on time and steps; no wake-up is for nothing |
//! | I16 an agent with a manager token obeys only the manager | with every match taken or announced, and every end of the league |
//! | I17 a lie costs no honest agent anything: only admitted referees serve, no honest player loses without playing, no honest referee is set aside | with every event of a league with a liar |
//! | I18 a player gets its messages in the order of the documents: the announcement, its match, the end of the round, the end of the league | with every end of a round that is written to a player; every delivery when nothing fails |
//! | I19 a player loses without being asked only if it left so many questions unanswered since it last answered or returned that its breaker is open | with every failed attempt |
//! | levers: the organiser's word counts at once and is replayed, results stay in the record, no match is lost by a lever that does not say so, and nothing begins in a pause or for a player that is out | with every lever of a league with an organiser; all matches and the audit of the journal at the end |
//! | capacity: no referee gets, or plays, more matches than it declared | with every event |
//!
//! I11, one writer per league, needs processes and is left to others.
//!
//! Without faults the same is checked, but expensive checks run more rarely: the standings and the
//! states of agents at the end and not after every round, the text of one event in 4,096, one draw
//! in 16, and all journals at the end of one league in 256.

mod actor;
mod agents;
mod behaviour;
mod chance;
mod clock;
mod environment;
mod fault;
mod hostile;
mod lies;
mod oracle;
mod organiser;
mod outbox;
mod report;
mod sabotage;
mod scenario;
mod world;

use crate::chance::Rng;
use crate::scenario::Scenario;
use crate::world::World;

pub use fault::InjectedFault;
pub use report::{Invariant, SimulationReport, Violation};
pub use sabotage::Sabotage;
pub use scenario::SimulationPlan;

/// An agent by number: 0 is the manager, then come the referees, then the players.
type NodeId = u32;

/// Leagues by one seed.
#[derive(Debug, Clone, Copy)]
pub struct Simulation;

impl Simulation {
    /// Runs the leagues of a seed until the plan is fulfilled or something does not hold.
    pub fn run(seed: u64, plan: &SimulationPlan) -> Result<SimulationReport, Box<Violation>> {
        let mut report = SimulationReport::new(seed);
        let mut league = plan.league.unwrap_or(0);
        loop {
            let scenario = Scenario::draw(Rng::of_league(seed, league), plan);
            let world = World::new(scenario, plan);
            let part = world.run().map_err(|breach| Violation {
                seed,
                league,
                step: breach.step,
                invariant: breach.invariant,
                what: breach.what,
                faults: plan.faults,
                levers: plan.levers,
                formats: plan.formats,
            })?;
            report.add(&part);
            league += 1;
            let fulfilled = report.matches >= plan.matches && report.leagues >= plan.leagues;
            if plan.league.is_some() || fulfilled {
                return Ok(report);
            }
        }
    }
}

type CheckResult = Result<(), Box<Breach>>;

/// A violated invariant in one league.
#[derive(Debug)]
struct Breach {
    invariant: Invariant,
    step: u64,
    what: String,
}

/// Makes a violation; the world fills in the step.
fn breach<T>(invariant: Invariant, what: impl Into<String>) -> Result<T, Box<Breach>> {
    Err(Box::new(Breach {
        invariant,
        step: 0,
        what: what.into(),
    }))
}
