//! A manager with many matches, whose players and referees are in memory: how soon its results are
//! durable, and a journal of any length.
//!
//! An ordinary run is small. The variables below make it as large as wanted, and figures are printed.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use league_core::draw::LeagueSecrets;
use league_core::league::{Command, CorrelationId, Event, League, Lever};
use league_core::letter::{Letter, PeerAnswer};
use league_core::machine::{Machine, Persistence};
use league_protocol::id::RefereeId;
use league_protocol::message::{Message, StartMatch, StartMatchAck};
use league_protocol::sender::Agent;
use league_protocol::time::Timestamp;
use league_testkit::LeagueWorld;
use league_testkit::league::{SECRET, request_of, rules};
use league_testkit::report::honest;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::agents::actor::{Actor, Handle, Observer, Outbox};
use crate::agents::identity::{AgentInfo, Identity, Membership, Unregistered};
use crate::clock;
use crate::storage::record::Record;
use crate::storage::root::Root;
use crate::storage::store::{Durability, Entry, Journal, Store};
use crate::tests::journals::opening;

/// How many lines the long journal has at least.
const LINES: &str = "LEAGUE_LINES";
/// The players of the league; a round has half as many matches.
const PLAYERS: &str = "LEAGUE_PLAYERS";
/// How many rounds are reported.
const ROUNDS: &str = "LEAGUE_ROUNDS";
/// How many results are reported in a second.
const RATE: &str = "LEAGUE_RATE";
/// The folder that keeps the files; without it they are temporary.
const KEPT: &str = "LEAGUE_FILES";
/// Referees, which share the matches of a round.
const REFEREES: u32 = 4;

fn number(name: &str, usual: u32) -> u32 {
    let given = std::env::var(name).ok();
    given.map_or(usual, |given| given.parse().unwrap())
}

/// A root, and the folder that is removed with it.
fn root() -> (Root, Option<tempfile::TempDir>) {
    if let Some(kept) = std::env::var_os(KEPT) {
        return (Root::new(PathBuf::from(kept)), None);
    }
    let folder = tempfile::tempdir().unwrap();
    (Root::new(folder.path()), Some(folder))
}

/// A league that is about to begin. The world knows the tokens, and makes commands.
fn league(players: u32, now: Timestamp) -> LeagueWorld {
    let mut world = LeagueWorld::new(rules());
    (world.now, world.players_answer) = (now, false);
    for number in 1..=REFEREES {
        world.admit_referee(&format!("Referee {number}"), players.div_ceil(2));
    }
    for number in 1..=players {
        world.admit_player(&format!("Player {number}"));
    }
    world
}

/// The empty journal of a league, with its opening.
fn journal(world: &LeagueWorld, root: &Root, durability: Durability) -> Journal {
    let path = root.league_journal(&world.league.rules().league_id);
    let opened = Journal::open(&path, durability, |_: Entry<Record<Event>>| {});
    let mut journal = opened.unwrap().accept().unwrap();
    let rules = world.league.rules().clone();
    let opening: Record<Event> = opening("league_manager", Some(rules));
    journal.append(world.now, &[opening]).unwrap();
    journal
}

/// What the referee of a match sends until the match is over.
struct MatchCommands {
    draw: Command,
    report: Command,
    told: Command,
}

impl MatchCommands {
    fn of(world: &LeagueWorld, referee: &RefereeId, order: &StartMatch) -> Self {
        let report = honest(order);
        Self {
            draw: world.draw_command(referee, &request_of(&report)),
            told: world.told_command(referee, &report.match_id, report.attempt, None),
            report: world.report_command(referee, report),
        }
    }
}

/// The answer of a player or of a referee to a letter, if the manager waits for it.
fn answer(letter: &Letter<CorrelationId>) -> Option<Command> {
    let message = match &letter.message {
        Message::StartMatch(order) => Message::from(StartMatchAck {
            match_id: order.match_id.clone(),
            accepted: true,
            reason: None,
        }),
        _ => Message::Acknowledged,
    };
    let answer = PeerAnswer {
        message,
        token: None,
    };
    let correlation = letter.correlation.clone()?;
    Some(League::outcome(correlation, Ok(answer)))
}

/// The order in a letter, and its referee.
fn order(letter: &Letter<CorrelationId>) -> Option<(RefereeId, Arc<StartMatch>)> {
    match (&letter.message, &letter.to.agent) {
        (Message::StartMatch(order), Agent::Referee(referee)) => {
            Some((referee.clone(), Arc::clone(order)))
        }
        _ => None,
    }
}

/// A manager without an actor: each command is decided, applied and written.
struct Manager {
    world: LeagueWorld,
    journal: Journal,
    letters: Vec<Letter<CorrelationId>>,
}

impl Manager {
    fn run(&mut self, command: &Command) {
        let (league, at) = (&mut self.world.league, self.world.now);
        let decision = league.decide(at, command);
        assert!(decision.answer.is_ok(), "{:?}", decision.answer);
        let mut records = Vec::new();
        for event in decision.events {
            league.apply(&event);
            league.letters(&event, &mut self.letters);
            if League::keep(&event) == Persistence::Journal {
                records.push(Record::Event(event));
            }
        }
        self.journal.append(at, &records).unwrap();
    }

    /// Plays until the journal has so many lines.
    fn play(&mut self, lines: u64) {
        while self.journal.last() < lines {
            let (league, now) = (&self.world.league, self.world.now);
            assert!(!league.is_over(), "the league is too small");
            if league.wakeup().is_some_and(|due| due <= now) {
                self.run(&League::tick());
            }
            let letters = std::mem::take(&mut self.letters);
            letters
                .iter()
                .filter_map(answer)
                .for_each(|command| self.run(&command));
            for (referee, order) in letters.iter().filter_map(order) {
                let commands = MatchCommands::of(&self.world, &referee, &order);
                [commands.draw, commands.report, commands.told]
                    .iter()
                    .for_each(|command| self.run(command));
            }
            self.world.now = now + Duration::from_millis(1);
        }
    }
}

#[test]
fn long_journal_is_opened_to_the_league_that_was_played() {
    let (root, _folder) = root();
    let world = league(number(PLAYERS, 8), Timestamp::from_millis(1_000_000));
    let mut manager = Manager {
        journal: journal(&world, &root, Durability::Written),
        letters: Vec::new(),
        world,
    };
    let events: Vec<_> = manager
        .world
        .journal()
        .cloned()
        .map(Record::Event)
        .collect();
    manager.journal.append(manager.world.now, &events).unwrap();
    manager.run(&Command::pull(Lever::Start));
    manager.play(number(LINES, 30).into());
    let Manager { world, journal, .. } = manager;
    let (lines, rules) = (journal.last(), world.league.rules());
    drop(journal);
    let mut opened = League::new(rules.clone(), LeagueSecrets::one(SECRET)).unwrap();
    let began = Instant::now();
    let path = root.league_journal(&rules.league_id);
    let end = Journal::open(&path, Durability::Written, |entry: Entry<Record<Event>>| {
        if let Record::Event(event) = &entry.fact {
            opened.apply(event);
        }
    });
    assert_eq!(end.unwrap().last(), lines);
    let (matches, elapsed) = (opened.matches_played(), began.elapsed());
    println!("{lines} lines, {matches} matches, opened and applied in {elapsed:?}");
    assert!(matches > 0);
    assert_eq!(matches, world.league.matches_played());
    assert_eq!(opened.standings(), world.league.standings());
}

/// Watches nothing.
struct Unobserved;

impl Observer<League> for Unobserved {
    fn observe(&mut self, _: u64, _: Timestamp, _: &Record<Event>, _: &League) {}

    fn info(&self, _: &League) -> AgentInfo {
        info()
    }
}

fn info() -> AgentInfo {
    AgentInfo {
        agent: Some(Agent::Manager),
        league_id: None,
        game_type: None,
        strict: false,
        guarded: false,
        token: None,
        return_token: None,
        membership: Membership::Enrolled,
    }
}

/// Hands the letters of the actor to the test.
struct Sent(mpsc::UnboundedSender<Letter<CorrelationId>>);

impl Outbox<CorrelationId> for Sent {
    fn post(&mut self, letter: Letter<CorrelationId>) {
        let _ = self.0.send(letter);
    }
}

/// Answers letters until all matches of a round are ordered.
async fn orders(
    letters: &mut mpsc::UnboundedReceiver<Letter<CorrelationId>>,
    handle: &Handle<League>,
    matches: usize,
) -> Vec<(RefereeId, Arc<StartMatch>)> {
    let mut ordered = Vec::new();
    while ordered.len() < matches {
        let letter = letters.recv().await.unwrap();
        ordered.extend(order(&letter));
        if let Some(command) = answer(&letter) {
            handle.send(command).await;
        }
    }
    ordered
}

/// Hands over the moves, reports the result and tells it; returns how long the report took.
async fn report(handle: Handle<League>, commands: MatchCommands) -> Duration {
    handle.ask(commands.draw).await.unwrap().unwrap();
    let began = Instant::now();
    handle.ask(commands.report).await.unwrap().unwrap();
    let took = began.elapsed();
    handle.ask(commands.told).await.unwrap().unwrap();
    took
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn acknowledged_results_are_in_the_journal() {
    let (root, _folder) = root();
    let (players, rate) = (number(PLAYERS, 8), number(RATE, 1_000));
    let world = league(players, clock::now());
    let mut store = journal(&world, &root, Durability::Synced);
    let events: Vec<_> = world.journal().cloned().map(Record::Event).collect();
    store.append(world.now, &events).unwrap();
    let path = root.league_journal(&world.league.rules().league_id);
    let (handle, inbox) = Handle::inbox();
    let (sent, mut letters) = mpsc::unbounded_channel();
    let actor = Actor {
        machine: world.league.clone(),
        store: Some(Box::new(store)),
        outbox: Box::new(Sent(sent)),
        observer: Box::new(Unobserved),
        info: Identity::new(Unregistered::Manager, info()).0,
        writes: Arc::default(),
    };
    let running = tokio::spawn(actor.run(inbox, vec![Command::pull(Lever::Start)]));
    let mut took = Vec::new();
    for _ in 0..number(ROUNDS, 2) {
        let ordered = orders(&mut letters, &handle, players as usize / 2).await;
        let commands = ordered.iter();
        let commands = commands.map(|(referee, order)| MatchCommands::of(&world, referee, order));
        let commands: Vec<_> = commands.collect();
        let (mut reports, began) = (JoinSet::new(), Instant::now());
        for (place, commands) in (0..).zip(commands) {
            tokio::time::sleep_until(began + Duration::from_secs(1) * place / rate).await;
            reports.spawn(report(handle.clone(), commands));
        }
        took.extend(reports.join_all().await);
        println!("{} results in {:?}", ordered.len(), began.elapsed());
    }
    took.sort();
    let at = |share: usize| took[(took.len() - 1) * share / 1_000];
    println!("p50 {:?}, p99 {:?}, most {:?}", at(500), at(990), at(1_000));
    let mut recorded = 0;
    Journal::read(&path, |entry: Entry<Record<Event>>| {
        let is_result = matches!(entry.fact, Record::Event(Event::ResultRecorded { .. }));
        recorded += usize::from(is_result);
        std::ops::ControlFlow::Continue(())
    })
    .unwrap();
    assert_eq!(recorded, took.len());
    handle.stop().await;
    running.await.unwrap().unwrap();
}
