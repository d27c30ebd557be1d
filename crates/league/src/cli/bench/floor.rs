//! The floors: agents without logic that make the calls of a [`MatchScript`], over bare hyper or
//! over TCP alone.
//!
//! `league bench` starts this in processes of its own. A process hosts some agents of the league:
//! it says where they listen, is told where all listen and, if the manager is among them, plays
//! until its time is over. All roles are there, so a match takes the ways that it takes in a league.

mod wire;

use std::io::{self, BufRead, Write};
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use tokio::net::TcpListener;
use tokio::sync::Notify;

use crate::agents::traffic::CallParty;
use crate::cli::bench::figures::Quantiles;
use crate::cli::bench::floor::wire::{Pool, serve};
use crate::cli::bench::host::read_line;
use crate::cli::bench::script::{MatchScript, ScriptedCall};

/// What carries the calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Wire {
    /// HTTP by hyper.
    Hyper,
    /// Length-prefixed bodies over TCP.
    Tcp,
}

/// The agents of one process, and what they play.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct FloorPlan {
    pub(crate) wire: Wire,
    pub(crate) script: MatchScript,
    /// Whether the manager is here.
    pub(crate) manager: bool,
    pub(crate) referees: usize,
    pub(crate) players: usize,
    /// Whether the players share a listener.
    pub(crate) shared_listener: bool,
    pub(crate) at_once: usize,
    /// Matches before the window opens.
    pub(crate) warm_up: u64,
    pub(crate) length: WindowLength,
}

/// How long a window is: the later of both.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(crate) struct WindowLength {
    pub(crate) seconds: f64,
    pub(crate) matches: u64,
}

impl WindowLength {
    pub(crate) fn is_over(&self, matches: u64, elapsed: Duration) -> bool {
        matches >= self.matches && elapsed.as_secs_f64() >= self.seconds
    }
}

/// Where agents listen.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct AddressBook {
    pub(crate) manager: Option<SocketAddr>,
    pub(crate) referees: Vec<SocketAddr>,
    pub(crate) players: Vec<SocketAddr>,
}

impl AddressBook {
    /// Adds the agents of another process.
    pub(crate) fn add(&mut self, other: Self) {
        self.manager = self.manager.or(other.manager);
        self.referees.extend(other.referees);
        self.players.extend(other.players);
    }
}

/// What a process of a floor prints, besides its addresses.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "lowercase")]
pub(crate) enum FloorEvent {
    /// The warm-up is over; the window opens when the bench answers.
    Warm,
    End {
        /// Matches within the window.
        window: u64,
        /// All matches since the start.
        matches: u64,
        micros: Quantiles,
    },
}

/// Hosts agents until the standard input ends.
pub(crate) async fn host(plan: &FloorPlan) -> io::Result<()> {
    let (book, listeners) = bind(plan).await?;
    say(&book)?;
    let book: AddressBook = tokio::task::spawn_blocking(read_line).await??;
    let floor = Arc::new(Floor::new(plan, book));
    for listener in listeners {
        tokio::spawn(serve(plan.wire, listener, Arc::clone(&floor)));
    }
    if plan.manager {
        for slot in 0..plan.at_once {
            tokio::spawn(Arc::clone(&floor).play(slot));
        }
    }
    let has_manager = plan.manager;
    let input = tokio::task::spawn_blocking(move || {
        if has_manager {
            // The bench has read its clocks, however late it heard of the warm-up.
            io::stdin().lock().read_line(&mut String::new())?;
            floor.progress.open();
        }
        io::copy(&mut io::stdin(), &mut io::sink())
    });
    input.await??;
    Ok(())
}

fn say(what: &impl Serialize) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{}", serde_json::to_string(what)?)?;
    out.flush()
}

/// Binds the listeners of the agents here, as many as a league has.
async fn bind(plan: &FloorPlan) -> io::Result<(AddressBook, Vec<TcpListener>)> {
    let mut book = AddressBook::default();
    let mut listeners = Vec::new();
    let mut listen = async || {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        listeners.push(listener);
        io::Result::Ok(address)
    };
    if plan.manager {
        book.manager = Some(listen().await?);
    }
    for _ in 0..plan.referees {
        book.referees.push(listen().await?);
    }
    match plan.shared_listener && plan.players > 0 {
        true => book.players = vec![listen().await?; plan.players],
        false => {
            for _ in 0..plan.players {
                book.players.push(listen().await?);
            }
        }
    }
    Ok((book, listeners))
}

/// The agents of this process, and the way to all others.
struct Floor {
    script: MatchScript,
    order: usize,
    report: usize,
    /// The bodies, by call.
    requests: Vec<Bytes>,
    answers: Vec<Bytes>,
    book: AddressBook,
    pool: Pool,
    /// Tells a slot of the manager that its match is over.
    reported: Vec<Notify>,
    progress: Progress,
}

impl Floor {
    fn new(plan: &FloorPlan, book: AddressBook) -> Self {
        let script = plan.script.clone();
        let bodies = |size: fn(&ScriptedCall) -> usize| {
            let calls = script.calls.iter();
            calls
                .map(|call| Bytes::from(vec![b' '; size(call)]))
                .collect()
        };
        Self {
            // A script that can be played has both.
            order: script.order().unwrap_or_default(),
            report: script.report().unwrap_or_default(),
            requests: bodies(|call| call.request),
            answers: bodies(|call| call.answer),
            pool: Pool::new(plan.wire),
            reported: (0..plan.at_once).map(|_| Notify::new()).collect(),
            progress: Progress::new(plan),
            script,
            book,
        }
    }

    /// Plays the matches of one slot, one after the other.
    async fn play(self: Arc<Self>, slot: usize) {
        let slots = self.reported.len();
        let mut number = slot as u64;
        while self.progress.goes_on() {
            self.make(CallParty::Manager, 0..self.order, number).await;
            let began = Instant::now();
            self.call(self.order, number, 0).await;
            self.reported[slot].notified().await;
            let took = began.elapsed();
            let news = self.order + 1..self.script.calls.len();
            self.make(CallParty::Manager, news, number).await;
            self.progress.count(took);
            number += slots as u64;
        }
    }

    /// Makes the calls of one party in a part of the script, those of one kind at once.
    async fn make(&self, caller: CallParty, part: std::ops::Range<usize>, number: u64) {
        for call in part {
            if self.script.calls[call].caller != caller {
                continue;
            }
            let count = self.script.calls[call].count(number);
            for first in (0..count).step_by(2) {
                if first + 1 < count {
                    tokio::join!(
                        self.call(call, number, first),
                        self.call(call, number, first + 1)
                    );
                } else {
                    self.call(call, number, first).await;
                }
            }
        }
    }

    /// Makes one call. A floor is on this machine and checks nothing, so a call that fails ends it.
    async fn call(&self, call: usize, number: u64, which: u64) {
        let Some(to) = self.callee(call, number, which) else {
            return;
        };
        let body = self.requests[call].clone();
        if let Err(error) = self.pool.call(to, call, number, body).await {
            self.progress.fail(&error);
        }
    }

    /// A slot has its own players, and shares its referee.
    fn callee(&self, call: usize, number: u64, which: u64) -> Option<SocketAddr> {
        let slot = number % self.reported.len() as u64;
        let of = |agents: &[SocketAddr], place: u64| {
            let place = place.checked_rem(agents.len() as u64)?;
            agents.get(place as usize).copied()
        };
        match self.script.calls[call].callee {
            CallParty::Manager => self.book.manager,
            CallParty::Referee => of(&self.book.referees, slot),
            CallParty::Player => of(&self.book.players, 2 * slot + which % 2),
        }
    }

    /// Answers a call, and does what follows from it.
    fn answer(self: &Arc<Self>, call: usize, number: u64) -> Bytes {
        if call == self.order {
            let floor = Arc::clone(self);
            tokio::spawn(async move {
                let all = 0..floor.script.calls.len();
                floor.make(CallParty::Referee, all, number).await;
            });
        }
        if call == self.report {
            let slot = number % self.reported.len() as u64;
            self.reported[slot as usize].notify_one();
        }
        self.answers.get(call).cloned().unwrap_or_default()
    }
}

/// How far the matches are.
struct Progress {
    warm_up: u64,
    length: WindowLength,
    done: AtomicU64,
    /// When the window opened.
    opened: OnceLock<Instant>,
    ended: OnceLock<()>,
    micros: Mutex<Vec<u64>>,
}

impl Progress {
    fn new(plan: &FloorPlan) -> Self {
        Self {
            warm_up: plan.warm_up,
            length: plan.length,
            done: AtomicU64::new(0),
            opened: OnceLock::new(),
            ended: OnceLock::new(),
            micros: Mutex::default(),
        }
    }

    fn goes_on(&self) -> bool {
        self.ended.get().is_none()
    }

    fn open(&self) {
        self.opened.get_or_init(Instant::now);
    }

    /// Counts a match; says when the warm-up is over, and closes the window.
    fn count(&self, took: Duration) {
        let done = self.done.fetch_add(1, Ordering::Relaxed) + 1;
        if done == self.warm_up {
            self.say(&FloorEvent::Warm);
        }
        let Some(opened) = self.opened.get() else {
            return;
        };
        let mut micros = self.micros.lock().unwrap_or_else(PoisonError::into_inner);
        micros.push(took.as_micros() as u64);
        let is_over = self.length.is_over(micros.len() as u64, opened.elapsed());
        if is_over && self.ended.set(()).is_ok() {
            self.say(&FloorEvent::End {
                window: micros.len() as u64,
                matches: done,
                micros: Quantiles::of(&mut micros),
            });
        }
    }

    fn say(&self, event: &FloorEvent) {
        if let Err(error) = say(event) {
            self.fail(&error);
        }
    }

    /// Ends the process: the bench sees it, and says why.
    fn fail(&self, error: &io::Error) {
        // Connections break when the other processes end.
        if self.goes_on() {
            let _ = writeln!(io::stderr(), "a floor failed: {error}");
            std::process::exit(3);
        }
    }
}
