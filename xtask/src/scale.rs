//! `cargo xtask scale`: managers, referees and a database in virtual time, with measured costs.
//!
//! A queueing model of many leagues: every part is a server that takes as long as it was measured to
//! take, and everything follows from one seed. `docs/scale.md` has its table beside a calculation.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::fmt::Write;

/// What was measured, in microseconds; `docs/performance.md`, "Leagues in PostgreSQL", has the tables.
struct Costs {
    /// CPU for a match, of its manager and of its referee.
    manager: f64,
    referee: f64,
    /// CPU of the server for a statement that stores a batch, and for each line in it.
    statement: f64,
    line: f64,
    /// CPU of the server for a renewal, for a look at what waits, and for each league in a list.
    renewal: f64,
    look: f64,
    listed: f64,
    /// A flush of the server's log on a disk of its own; one is for all statements that wait for it.
    flush: f64,
    /// From a statement to the next one of its match, besides.
    way: f64,
}

const COSTS: Costs = Costs {
    manager: 1_100.0,
    referee: 1_900.0,
    statement: 150.0,
    line: 12.0,
    renewal: 115.0,
    look: 60.0,
    listed: 0.9,
    flush: 500.0,
    way: 100.0,
};

/// What the program does, in microseconds: it renews each lease, polls, and lets a match wait for its
/// referee at most so long (`storage/database/lease.rs`, `cli/agent/pool.rs`, `agents/manager/board.rs`).
const RENEWAL: f64 = 3e6;
const POLL: f64 = 250e3;
const PICKUP: f64 = 350e3;

/// How a match goes through the parts: it is taken, begun, thought about, handed over, reported, and
/// closed. Manager and referee share their cost, and their lines, among their steps.
const STEPS: [Step; 7] = [
    Step::Pickup,
    Step::Manager,
    Step::Referee,
    Step::Think,
    Step::Manager,
    Step::Manager,
    Step::Referee,
];
const MANAGER_STEPS: f64 = 3.0;
const REFEREE_STEPS: f64 = 2.0;
const LINES: f64 = 2.0;
/// The step whose answer a referee waits for: the report of the result.
const REPORT: usize = 5;
/// Microseconds that pass before the measurement, and that it takes.
const WARM_UP: f64 = 3e6;
const MEASURED: f64 = 6e6;
/// Cores of a process of managers or referees.
const PROCESS_CORES: usize = 2;

#[derive(Clone, Copy, PartialEq)]
enum Step {
    Pickup,
    Manager,
    Referee,
    Think,
}

/// Leagues, and what plays them.
struct Cluster {
    leagues: usize,
    /// Matches of a round.
    matches: usize,
    /// Microseconds from a round to the next one, at least.
    every: f64,
    /// Microseconds that the players of a match think.
    think: f64,
    /// Processes of managers and of referees, and cores of the database.
    managers: usize,
    referees: usize,
    database: usize,
}

/// 1,000 leagues of 100 players with a round every so many seconds.
const fn large(every: f64, managers: usize, referees: usize, database: usize) -> Cluster {
    Cluster {
        leagues: 1_000,
        matches: 50,
        every: every * 1e6,
        think: 2e6,
        managers,
        referees,
        database,
    }
}

const CLUSTERS: [Cluster; 5] = [
    large(60.0, 2, 2, 2),
    large(60.0, 4, 4, 4),
    large(20.0, 4, 4, 4),
    large(20.0, 8, 8, 8),
    large(10.0, 16, 32, 16),
];

/// Numbers that are the same for the same seed (xorshift).
struct Chance(u64);

impl Chance {
    /// Evenly between 0 and 1.
    fn even(&mut self) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// A time with this mean, as service times and arrivals have it.
    fn time(&mut self, mean: f64) -> f64 {
        -mean * (1.0 - self.even()).ln()
    }
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// A league opens a round.
    Round(usize),
    /// A step of a match is over.
    Next(usize),
    /// A core of a manager or a referee is done with a step of a match.
    Worked(usize),
    /// A process renews one of its leases, or polls.
    Renew(usize),
    Poll(usize),
    /// A core of the database is done with the statement of a process.
    Executed(usize),
    Flushed,
}

/// Cores that take what comes in turn.
#[derive(Default)]
struct Cores {
    all: usize,
    used: usize,
    waiting: VecDeque<(Event, f64)>,
    busy: f64,
}

const MANAGERS: usize = 0;
const REFEREES: usize = 1;
const DATABASE: usize = 2;

/// A statement on its way, with the matches that wait for it.
#[derive(Default)]
struct Statement {
    journal: Option<usize>,
    matches: Vec<usize>,
    cost: f64,
    is_read: bool,
}

/// The one connection of a process: a statement at a time.
#[derive(Default)]
struct Connection {
    present: Option<Statement>,
    since: f64,
    waiting: VecDeque<Statement>,
    busy: f64,
}

/// While a batch is stored, the next one gathers.
#[derive(Default)]
struct Journal {
    is_busy: bool,
    waiting: Vec<usize>,
}

#[derive(Clone, Copy, Default)]
struct Match {
    referee: usize,
    step: usize,
    since: f64,
}

#[derive(Default)]
struct Simulation {
    clock: f64,
    number: u64,
    events: BinaryHeap<Reverse<(u64, u64, Event)>>,
    cores: [Cores; 3],
    /// Those of managers, then those of referees.
    connections: Vec<Connection>,
    /// Those of managers, then of each process of referees one for each league.
    journals: Vec<Journal>,
    matches: Vec<Match>,
    /// Open matches of each league, and when its round began.
    rounds: Vec<(usize, f64)>,
    /// Processes whose statements wait for the next flush, and for the one that runs.
    unflushed: Vec<usize>,
    flushing: Vec<usize>,
    /// What was measured: matches, statements, flushes, and the time until a report was answered.
    played: f64,
    statements: f64,
    flushes: f64,
    answers: Vec<f64>,
}

/// A simulation, and what it is of.
struct Run<'c>(&'c Cluster, Simulation, Chance);

impl<'c> Run<'c> {
    /// Simulates a cluster to the end of the measurement.
    fn of(cluster: &'c Cluster) -> Self {
        let processes = cluster.managers + cluster.referees;
        let journals = cluster.leagues * (1 + cluster.referees);
        let mut state = Simulation {
            connections: (0..processes).map(|_| Connection::default()).collect(),
            journals: (0..journals).map(|_| Journal::default()).collect(),
            matches: vec![Match::default(); cluster.leagues * cluster.matches],
            rounds: vec![(0, 0.0); cluster.leagues],
            ..Simulation::default()
        };
        state.cores[MANAGERS].all = PROCESS_CORES * cluster.managers;
        state.cores[REFEREES].all = PROCESS_CORES * cluster.referees;
        state.cores[DATABASE].all = cluster.database;
        let mut run = Self(cluster, state, Chance(0x9e37_79b9_7f4a_7c15));
        for league in 0..cluster.leagues {
            let first = cluster.every * league as f64 / cluster.leagues as f64;
            run.after(first, Event::Round(league));
        }
        for process in 0..processes {
            run.renew(process);
            let first = POLL * run.2.even();
            run.after(first, Event::Poll(process));
        }
        while let Some(Reverse((at, _, event))) = run.1.events.pop() {
            run.1.clock = at as f64 / 1e3;
            if run.1.clock > WARM_UP + MEASURED {
                break;
            }
            run.handle(event);
        }
        run
    }

    fn after(&mut self, time: f64, event: Event) {
        let state = &mut self.1;
        state.number += 1;
        let at = ((state.clock + time.max(0.0)) * 1e3) as u64;
        state.events.push(Reverse((at, state.number, event)));
    }

    fn is_measured(&self) -> bool {
        self.1.clock >= WARM_UP
    }

    fn handle(&mut self, event: Event) {
        match event {
            Event::Round(league) => self.open_round(league),
            Event::Next(number) => self.advance(number),
            Event::Worked(number) => self.worked(number),
            Event::Renew(process) => {
                self.ask(process, COSTS.renewal, false);
                self.renew(process);
            }
            Event::Poll(process) => {
                let cost = COSTS.look + COSTS.listed * self.0.leagues as f64;
                self.ask(process, cost, true);
                self.after(POLL, Event::Poll(process));
            }
            Event::Executed(process) => {
                self.release(DATABASE);
                let present = self.1.connections[process].present.as_ref();
                if present.is_some_and(|statement| statement.is_read) {
                    return self.answer(process);
                }
                self.1.unflushed.push(process);
                self.flush();
            }
            Event::Flushed => {
                for process in std::mem::take(&mut self.1.flushing) {
                    self.answer(process);
                }
                self.flush();
            }
        }
    }

    /// Plans the next renewal: a manager has a lease for each of its leagues, and a process of referees
    /// one in each league.
    fn renew(&mut self, process: usize) {
        let leagues = self.0.leagues as f64;
        let leases = match process < self.0.managers {
            true => leagues / self.0.managers as f64,
            false => leagues,
        };
        let wait = self.2.time(RENEWAL / leases);
        self.after(wait, Event::Renew(process));
    }

    fn open_round(&mut self, league: usize) {
        let each = self.0.matches;
        self.1.rounds[league] = (each, self.1.clock);
        for number in league * each..(league + 1) * each {
            let referee = (self.2.even() * self.0.referees as f64) as usize;
            self.1.matches[number] = Match {
                referee,
                ..Match::default()
            };
            self.begin(number);
        }
    }

    /// Begins the present step of a match.
    fn begin(&mut self, number: usize) {
        self.1.matches[number].since = self.1.clock;
        match STEPS[self.1.matches[number].step] {
            Step::Pickup => {
                let wait = PICKUP * self.2.even();
                self.after(wait, Event::Next(number));
            }
            Step::Think => self.after(self.0.think, Event::Next(number)),
            Step::Manager => {
                self.work(
                    MANAGERS,
                    COSTS.manager / MANAGER_STEPS,
                    Event::Worked(number),
                );
            }
            Step::Referee => {
                self.work(
                    REFEREES,
                    COSTS.referee / REFEREE_STEPS,
                    Event::Worked(number),
                );
            }
        }
    }

    fn advance(&mut self, number: usize) {
        let Match { step, since, .. } = self.1.matches[number];
        if step == REPORT && self.is_measured() {
            self.1.answers.push(self.1.clock - since);
        }
        self.1.matches[number].step += 1;
        if step + 1 < STEPS.len() {
            return self.begin(number);
        }
        self.1.played += f64::from(self.is_measured());
        let league = number / self.0.matches;
        let (open, began) = &mut self.1.rounds[league];
        *open -= 1;
        if *open == 0 {
            let next = *began + self.0.every - self.1.clock;
            self.after(next, Event::Round(league));
        }
    }

    /// Gives work to a core, or lets it wait for one.
    fn work(&mut self, part: usize, mean: f64, done: Event) {
        let time = self.2.time(mean);
        self.1.cores[part].waiting.push_back((done, time));
        self.fill(part);
    }

    fn release(&mut self, part: usize) {
        self.1.cores[part].used -= 1;
        self.fill(part);
    }

    fn fill(&mut self, part: usize) {
        let is_measured = self.is_measured();
        let cores = &mut self.1.cores[part];
        if cores.used == cores.all {
            return;
        }
        if let Some((done, time)) = cores.waiting.pop_front() {
            cores.used += 1;
            cores.busy += time * f64::from(is_measured);
            self.after(time, done);
        }
    }

    /// A manager or a referee has decided: what it decided goes to its journal.
    fn worked(&mut self, number: usize) {
        let league = number / self.0.matches;
        let Match { referee, step, .. } = self.1.matches[number];
        let (part, journal) = match STEPS[step] {
            Step::Manager => (MANAGERS, league),
            _ => (REFEREES, self.0.leagues * (1 + referee) + league),
        };
        self.release(part);
        self.1.journals[journal].waiting.push(number);
        if !self.1.journals[journal].is_busy {
            self.store(journal);
        }
    }

    /// Sends what has gathered as one statement.
    fn store(&mut self, number: usize) {
        let journal = &mut self.1.journals[number];
        let matches = std::mem::take(&mut journal.waiting);
        journal.is_busy = !matches.is_empty();
        if matches.is_empty() {
            return;
        }
        let process = match number / self.0.leagues {
            0 => number % self.0.managers,
            referee => self.0.managers + referee - 1,
        };
        let statement = Statement {
            journal: Some(number),
            cost: COSTS.statement + COSTS.line * LINES * matches.len() as f64,
            matches,
            is_read: false,
        };
        self.1.connections[process].waiting.push_back(statement);
        self.send(process);
    }

    fn ask(&mut self, process: usize, cost: f64, is_read: bool) {
        let statement = Statement {
            cost,
            is_read,
            ..Statement::default()
        };
        self.1.connections[process].waiting.push_back(statement);
        self.send(process);
    }

    /// Sends the next statement of a process, unless one is on its way.
    fn send(&mut self, process: usize) {
        let clock = self.1.clock;
        let connection = &mut self.1.connections[process];
        if connection.present.is_some() {
            return;
        }
        if let Some(statement) = connection.waiting.pop_front() {
            let cost = statement.cost;
            connection.present = Some(statement);
            connection.since = clock;
            self.work(DATABASE, cost, Event::Executed(process));
        }
    }

    fn flush(&mut self) {
        if self.1.flushing.is_empty() && !self.1.unflushed.is_empty() {
            self.1.flushing = std::mem::take(&mut self.1.unflushed);
            self.1.flushes += f64::from(self.is_measured());
            let time = self.2.time(COSTS.flush);
            self.after(time, Event::Flushed);
        }
    }

    /// The statement of a process is done.
    fn answer(&mut self, process: usize) {
        let is_measured = f64::from(self.is_measured());
        let (clock, connection) = (self.1.clock, &mut self.1.connections[process]);
        let Some(statement) = connection.present.take() else {
            return;
        };
        connection.busy += (clock - connection.since) * is_measured;
        self.1.statements += is_measured;
        self.send(process);
        for number in statement.matches {
            self.after(COSTS.way, Event::Next(number));
        }
        if let Some(journal) = statement.journal {
            self.store(journal);
        }
    }

    /// The share of the time in which each part was busy; of connections, the busiest.
    fn shares(&self) -> [(&'static str, f64); 5] {
        let cores =
            |part: usize| self.1.cores[part].busy / self.1.cores[part].all as f64 / MEASURED;
        let (managers, referees) = self.1.connections.split_at(self.0.managers);
        let busiest = |connections: &[Connection]| {
            let shares = connections.iter().map(|one| one.busy / MEASURED);
            shares.fold(0.0, f64::max)
        };
        [
            ("managers", cores(MANAGERS)),
            ("connections of managers", busiest(managers)),
            ("referees", cores(REFEREES)),
            ("connections of referees", busiest(referees)),
            ("database", cores(DATABASE)),
        ]
    }
}

/// Simulates each cluster, and gives a table.
pub(crate) fn table() -> String {
    let head = [
        "A round every",
        "managers + referees, cores of the database",
        "matches/s",
        "managers: cores, connection",
        "referees: cores, connection",
        "database: cores",
        "statements/s, in a flush",
        "report answered, p50 and p99 ms",
        "fullest",
    ];
    let mut text = format!("| {} |\n{}|\n", head.join(" | "), "|---".repeat(head.len()));
    for cluster in &CLUSTERS {
        let Run(_, mut played, chance) = Run::of(cluster);
        played.answers.sort_by(f64::total_cmp);
        let run = Run(cluster, played, chance);
        let (played, shares) = (&run.1, run.shares());
        let percent = |part: usize| format!("{:.0} %", (100.0 * shares[part].1).min(100.0));
        let wait = |share: usize| {
            let place = played.answers.len() * share / 100;
            played.answers.get(place).map_or(0.0, |micros| micros / 1e3)
        };
        let fullest = shares.iter().max_by(|one, other| one.1.total_cmp(&other.1));
        // A string takes everything.
        let _ = writeln!(
            text,
            "| {:.0} s | {} + {}, {} | {:.0} | {}, {} | {}, {} | {} | {:.0}, {:.1} | {:.0}, {:.0} | {} |",
            cluster.every / 1e6,
            cluster.managers,
            cluster.referees,
            cluster.database,
            played.played / MEASURED * 1e6,
            percent(0),
            percent(1),
            percent(2),
            percent(3),
            percent(4),
            played.statements / MEASURED * 1e6,
            played.statements / played.flushes.max(1.0),
            wait(50),
            wait(99),
            fullest.map_or("", |part| part.0),
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn document_has_the_table_that_is_printed() {
        let document = include_str!("../../docs/scale.md");
        assert!(document.contains(&table()), "{}", table());
    }

    #[test]
    fn rounds_without_thought_are_played_as_fast_as_the_cores_of_managers_allow() {
        let cluster = Cluster {
            leagues: 100,
            every: 0.0,
            think: 0.0,
            ..large(0.0, 1, 8, 64)
        };
        let run = Run::of(&cluster);
        let most = PROCESS_CORES as f64 / COSTS.manager;
        let rate = run.1.played / MEASURED;
        let managers = run.shares()[MANAGERS].1;
        assert!(
            rate <= 1.05 * most && rate >= 0.9 * most * managers,
            "{rate} of {most}, {managers}"
        );
    }
}
