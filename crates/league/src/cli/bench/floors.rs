//! A floor, measured: starts its processes, tells them of each other, and follows the matches.

use std::io;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::cli::bench::Layout;
use crate::cli::bench::floor::{AddressBook, FloorEvent, FloorPlan, WindowLength, Wire};
use crate::cli::bench::host::HostPlan;
use crate::cli::bench::league::{LeagueSize, PLAYER_PROCESSES, REFEREE_PROCESSES, cpu};
use crate::cli::bench::process::{Launcher, Process};
use crate::cli::bench::sample::Sample;
use crate::cli::bench::script::MatchScript;

/// A league in the manner of the course's document.
const COURSE: &str = include_str!("course.py");
/// Players of a league in one process that each have a listener; more of them share one.
const MAX_PLAYER_PORTS: u32 = 64;
/// Rounds before the window opens, and matches at least.
const WARM_UP_ROUNDS: u64 = 2;
const WARM_UP_MATCHES: u64 = 200;

/// What a floor runs on.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Program<'p> {
    Own(Wire),
    /// The league in the manner of the course, by this Python.
    Python(&'p Path),
}

/// Plays the calls of a script without a league.
pub(crate) fn play(
    program: Program<'_>,
    size: LeagueSize,
    script: &MatchScript,
    launcher: Launcher<'_>,
    length: WindowLength,
) -> io::Result<Sample> {
    let mut processes = Vec::new();
    for plan in plans(program, size, script, length) {
        processes.push(program.start(plan, launcher)?);
    }
    let mut book = AddressBook::default();
    for process in &mut processes {
        book.add(hear(process)?);
    }
    let book = serde_json::to_string(&book)?;
    // The manager begins at once, so it is told last.
    for process in processes.iter_mut().rev() {
        process.say(&book)?;
    }
    follow(processes)
}

impl Program<'_> {
    fn start(self, plan: FloorPlan, launcher: Launcher<'_>) -> io::Result<Process> {
        let Self::Python(python) = self else {
            return HostPlan::Floor(plan).start(&std::env::current_exe()?, launcher);
        };
        let mut command = Command::new(python);
        let mut process = launcher.start(command.args(["-c", COURSE]))?;
        process.say(&serde_json::to_string(&plan)?)?;
        Ok(process)
    }
}

/// The agents of each process; the manager is in the first.
fn plans(
    program: Program<'_>,
    size: LeagueSize,
    script: &MatchScript,
    length: WindowLength,
) -> Vec<FloorPlan> {
    let wire = match program {
        Program::Own(wire) => wire,
        Program::Python(_) => Wire::Hyper,
    };
    let plan = |manager, referees: u32, players: u32| FloorPlan {
        wire,
        script: script.clone(),
        manager,
        referees: referees as usize,
        players: players as usize,
        shared_listener: players > MAX_PLAYER_PORTS || size.layout == Layout::SevenProcesses,
        at_once: size.at_once as usize,
        warm_up: WARM_UP_MATCHES.max(WARM_UP_ROUNDS * u64::from(size.at_once)),
        length,
    };
    if size.layout == Layout::OneProcess {
        return vec![plan(true, size.referees, size.players)];
    }
    let mut plans = vec![plan(true, 0, 0)];
    let referees = shares(size.referees, REFEREE_PROCESSES);
    plans.extend(referees.map(|referees| plan(false, referees, 0)));
    let players = shares(size.players, PLAYER_PROCESSES);
    plans.extend(players.map(|players| plan(false, 0, players)));
    plans
}

/// Whether this Python can play.
pub(crate) fn has_python(python: &Path) -> bool {
    let mut command = Command::new(python);
    command.args(["-c", "import fastapi, requests, uvicorn"]);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// So many agents over so many processes.
pub(crate) fn shares(agents: u32, processes: u32) -> impl Iterator<Item = u32> {
    (0..processes).map(move |place| (agents + place) / processes)
}

fn hear<T: serde::de::DeserializeOwned>(process: &mut Process) -> io::Result<T> {
    let line = process.line()?;
    let line = line.ok_or_else(|| process.failure("a floor ended too early"))?;
    Ok(serde_json::from_str(&line)?)
}

fn follow(mut processes: Vec<Process>) -> io::Result<Sample> {
    let out_of_order = || io::Error::other("a floor told its window in the wrong order");
    let FloorEvent::Warm = hear(&mut processes[0])? else {
        return Err(out_of_order());
    };
    let (since, before) = (Instant::now(), cpu(&processes)?);
    processes[0].say("")?;
    let FloorEvent::End {
        window,
        matches,
        micros,
    } = hear(&mut processes[0])?
    else {
        return Err(out_of_order());
    };
    let sample = Sample {
        matches: window,
        all_matches: matches,
        elapsed: since.elapsed(),
        cpu: cpu(&processes)?.saturating_sub(before),
        micros,
        memory: processes.iter().map(Process::peak_memory).sum(),
        ..Sample::default()
    };
    let mut whole_cpu = Duration::ZERO;
    for process in processes {
        whole_cpu += process.end()?;
    }
    Ok(Sample {
        whole_cpu,
        ..sample
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agents_are_shared_out_without_a_rest() {
        for (agents, processes) in [(2, 2), (2, 4), (16, 2), (33, 4), (2_000, 4)] {
            let shared: Vec<u32> = shares(agents, processes).collect();
            assert_eq!(shared.iter().sum::<u32>(), agents, "{shared:?}");
            let (least, most) = (shared.iter().min(), shared.iter().max());
            assert!(most.unwrap() - least.unwrap() <= 1, "{shared:?}");
        }
    }
}
