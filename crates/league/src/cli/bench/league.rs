//! Our league, measured: everything on, in processes of their own, through the commands that people
//! use.

use std::io;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use serde::Deserialize;

use crate::agents::traffic::Traffic;
use crate::cli::bench::figures::Quantiles;
use crate::cli::bench::floor::WindowLength;
use crate::cli::bench::floors::shares;
use crate::cli::bench::host::HostPlan;
use crate::cli::bench::players::{PlayerGroup, PlayersPlan};
use crate::cli::bench::process::{Launcher, Process};
use crate::cli::bench::sample::{DiskUse, Sample};
use crate::cli::bench::script::MatchScript;
use crate::cli::bench::{Layout, Scene};

/// How long a league plays before its window opens.
const WARM_UP: Duration = Duration::from_millis(300);
/// Matches that a league should have at least, so that no window outlasts it.
const ENOUGH: u64 = 20_000;
/// How often a pair may meet.
const MAX_LEGS: u64 = 1_000;
/// How many matches a referee of `league run` takes at once.
const REFEREE_CAPACITY: u32 = 64;
/// Referees of a league at least, and processes of referees and of players.
pub(crate) const REFEREE_PROCESSES: u32 = 2;
pub(crate) const PLAYER_PROCESSES: u32 = 4;
/// Rounds of the league that is recorded, at least.
const RECORDED_ROUNDS: u64 = 4;

/// The size of a league that has so many matches at once: a round has half as many matches as
/// players, and all of them are played at once. Seven processes have four players at least.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LeagueSize {
    pub(crate) layout: Layout,
    pub(crate) at_once: u32,
    pub(crate) players: u32,
    pub(crate) referees: u32,
}

impl LeagueSize {
    pub(crate) fn of(scene: Scene) -> Self {
        let Scene { layout, at_once } = scene;
        let (least, capacity) = match layout {
            Layout::OneProcess => (2, REFEREE_CAPACITY),
            Layout::SevenProcesses => (PLAYER_PROCESSES, u32::MAX),
        };
        Self {
            layout,
            at_once,
            players: (2 * at_once).max(least),
            referees: at_once.div_ceil(capacity).max(REFEREE_PROCESSES),
        }
    }

    fn matches_in_a_round(self) -> u32 {
        self.players / 2
    }

    fn legs(self) -> u64 {
        let players = u64::from(self.players);
        ENOUGH
            .div_ceil(players * (players - 1) / 2)
            .clamp(1, MAX_LEGS)
    }
}

/// Plays a league below a fresh root.
pub(crate) fn play(
    program: &Path,
    size: LeagueSize,
    launcher: Launcher<'_>,
    length: WindowLength,
) -> io::Result<Sample> {
    let root = launcher.folder;
    let processes = match size.layout {
        Layout::OneProcess => vec![launcher.start(&run(program, size, root))?],
        Layout::SevenProcesses => start_seven(program, size, launcher)?,
    };
    measure(processes, size, root, length)
}

/// Plays a short league of this size in one process, and takes its calls.
pub(crate) fn record(program: &Path, size: LeagueSize, root: &Path) -> io::Result<MatchScript> {
    let file = root.join("traffic.json");
    let mut command = run(program, size, root);
    command.arg("--record-traffic").arg(&file);
    let launcher = Launcher {
        folder: root,
        traced: false,
    };
    let process = launcher.start(&command)?;
    let length = WindowLength {
        seconds: 0.5,
        matches: RECORDED_ROUNDS * u64::from(size.matches_in_a_round()),
    };
    measure(vec![process], size, root, length)?;
    let traffic: Traffic = serde_json::from_slice(&std::fs::read(&file)?)?;
    let script = MatchScript::of(&traffic, size.matches_in_a_round());
    script.ok_or_else(|| io::Error::other("the recorded league played no whole round"))
}

/// The command for a league in one process.
fn run(program: &Path, size: LeagueSize, root: &Path) -> Command {
    let mut command = league(program, "run", size, root);
    command.args(["--ports", "auto"]);
    command
}

/// `league run` or `league manager`.
fn league(program: &Path, what: &str, size: LeagueSize, root: &Path) -> Command {
    let mut command = agent(program, what, root);
    command
        .args(["--players", &size.players.to_string()])
        .args(["--referees", &size.referees.to_string()])
        .args(["--legs", &size.legs().to_string()]);
    command
}

fn agent(program: &Path, what: &str, root: &Path) -> Command {
    let mut command = Command::new(program);
    let common = [what, "--output", "json", "--root"];
    command.args(common).arg(root);
    command
}

/// Starts a manager, referees and players in processes of their own; the manager is the first.
fn start_seven(
    program: &Path,
    size: LeagueSize,
    launcher: Launcher<'_>,
) -> io::Result<Vec<Process>> {
    let root = launcher.folder;
    let at_once = size.at_once.to_string();
    let mut manager = league(program, "manager", size, root);
    manager.args(["--port", "0", "--matches-at-once", &at_once]);
    let mut processes = vec![launcher.start(&manager)?];
    let greeting = processes[0].line()?.unwrap_or_default();
    let greeting: Line = serde_json::from_str(&greeting).unwrap_or_default();
    let Some(manager) = greeting.endpoint else {
        return Err(processes[0].failure("the manager did not say where it answers"));
    };
    for number in 1..=size.referees {
        let mut referee = agent(program, "referee", root);
        referee.args([
            "--port",
            "0",
            "--manager",
            &manager,
            "--matches-at-once",
            &at_once,
        ]);
        referee.args(["--referee-id", &format!("REF{number:02}")]);
        processes.push(launcher.start(&referee)?);
    }
    let mut first = 1;
    for count in shares(size.players, PLAYER_PROCESSES) {
        let plan = HostPlan::Players(PlayersPlan {
            root: root.to_owned(),
            groups: vec![PlayerGroup {
                manager: manager.clone(),
                league: None,
                first,
                count,
            }],
        });
        processes.push(plan.start(program, launcher)?);
        first += count;
    }
    Ok(processes)
}

/// A line of a league, as far as it is read here.
#[derive(Debug, Default, Deserialize)]
struct Line {
    #[serde(default)]
    event: String,
    number: Option<u64>,
    of: Option<u64>,
    milliseconds: Option<u64>,
    /// Where a manager answers.
    endpoint: Option<String>,
}

/// Follows a league through its window and interrupts it; the first process prints the matches.
fn measure(
    mut processes: Vec<Process>,
    size: LeagueSize,
    root: &Path,
    length: WindowLength,
) -> io::Result<Sample> {
    let began = Instant::now();
    let mut opened: Option<(Instant, u64, Duration)> = None;
    let mut micros = Vec::new();
    let sample = loop {
        let Some(line) = processes[0].line()? else {
            return Err(processes[0].failure("the league ended too early"));
        };
        let line: Line = serde_json::from_str(&line).unwrap_or_default();
        let (Some(number), "match") = (line.number, &*line.event) else {
            continue;
        };
        if opened.is_some() {
            micros.push(line.milliseconds.unwrap_or(0) * 1_000);
        }
        // Windows begin and end with a round, so that neither end has a match in half.
        if !number.is_multiple_of(u64::from(size.matches_in_a_round())) {
            continue;
        }
        match &opened {
            None if began.elapsed() < WARM_UP => {}
            None => opened = Some((Instant::now(), number, cpu(&processes)?)),
            Some((since, first, before)) => {
                let (matches, elapsed) = (number - first, since.elapsed());
                if length.is_over(matches, elapsed) || line.of == Some(number) {
                    break Sample {
                        matches,
                        all_matches: number,
                        elapsed,
                        cpu: cpu(&processes)?.saturating_sub(*before),
                        micros: Quantiles::of(&mut micros),
                        memory: processes.iter().map(Process::peak_memory).sum(),
                        ..Sample::default()
                    };
                }
            }
        }
    };
    let whole_cpu = stop(processes)?;
    Ok(Sample {
        whole_cpu,
        disk: Some(DiskUse::below(root, sample.all_matches)?),
        ..sample
    })
}

/// The CPU time of all processes so far.
pub(crate) fn cpu(processes: &[Process]) -> io::Result<Duration> {
    let mut sum = Duration::ZERO;
    for process in processes {
        sum += process.cpu()?;
    }
    Ok(sum)
}

/// Interrupts all, and tells the CPU time of their whole lives.
fn stop(processes: Vec<Process>) -> io::Result<Duration> {
    for process in &processes {
        process.interrupt()?;
    }
    let mut whole = Duration::ZERO;
    for process in processes {
        whole += process.end()?;
    }
    Ok(whole)
}
