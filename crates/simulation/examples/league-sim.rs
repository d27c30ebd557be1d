//! Runs the simulation from the command line: `cargo xtask campaign sim` calls it.
//!
//! It reads the arguments, takes the time and prints; all else is in the library.
#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "the library is pure; here a person asks for figures and reads them"
)]

use std::process::ExitCode;
use std::time::Instant;

use league_simulation::{Sabotage, Simulation, SimulationPlan, SimulationReport};

const USAGE: &str = "league-sim [--matches N] [--leagues N] [--seed S] [--no-faults] [--liars] [--levers] [--formats] [--league K] \
    [--players LOW-HIGH] [--referees LOW-HIGH] [--game NAME] [--sabotage NAME]";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some((seed, plan)) = read(&arguments) else {
        println!("{USAGE}");
        return ExitCode::from(2);
    };
    let start = Instant::now();
    match Simulation::run(seed, &plan) {
        Ok(report) => {
            show(&report, start.elapsed().as_secs_f64());
            ExitCode::SUCCESS
        }
        Err(violation) => {
            println!("{violation}");
            ExitCode::FAILURE
        }
    }
}

fn show(report: &SimulationReport, seconds: f64) {
    println!("{report}");
    let rate = report.matches as f64 / seconds.max(0.001);
    println!("{:.1} s, {rate:.0} matches a second, 0 violations", seconds);
}

fn read(arguments: &[String]) -> Option<(u64, SimulationPlan)> {
    let (mut seed, mut plan) = (1, SimulationPlan::new(100_000));
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        match word.as_str() {
            "--no-faults" => plan.faults = false,
            "--liars" => plan.liars = true,
            "--levers" => {
                (plan.levers, plan.players) = (true, SimulationPlan::with_levers(0).players);
            }
            "--formats" => {
                (plan.formats, plan.players) = (true, SimulationPlan::with_formats(0).players);
            }
            "--matches" => plan.matches = words.next()?.parse().ok()?,
            "--leagues" => plan.leagues = words.next()?.parse().ok()?,
            "--seed" => seed = words.next()?.parse().ok()?,
            "--league" => plan.league = Some(words.next()?.parse().ok()?),
            "--players" => plan.players = range(words.next()?)?,
            "--referees" => plan.referees = range(words.next()?)?,
            "--game" => {
                let game = words.next()?;
                plan.game = Some(league_games::find(game)?.rules.game_type);
            }
            "--sabotage" => {
                let name = words.next()?;
                let all = Sabotage::ALL.iter();
                let mut named = all.filter(|sabotage| format!("{sabotage:?}") == *name);
                plan.sabotage = Some(*named.next()?);
            }
            _ => return None,
        }
    }
    Some((seed, plan))
}

fn range(text: &str) -> Option<(u32, u32)> {
    let (low, high) = text.split_once('-').unwrap_or((text, text));
    let (low, high) = (low.parse().ok()?, high.parse().ok()?);
    (1 <= low && low <= high).then_some((low, high))
}
