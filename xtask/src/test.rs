//! `cargo xtask test`: runs the steps in order, stops at the first that fails, counts the tests.
//!
//! The steps themselves are listed in `steps`.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Args;
use clap::builder::PossibleValuesParser;

use crate::steps::{Need, STEPS, Step};
use crate::tally::Tally;

/// How `cargo xtask test` is called.
#[derive(Args)]
pub(crate) struct Options {
    /// Run this step alone; may be given more than once.
    #[arg(long, value_name = "STEP", value_parser = step_names())]
    only: Vec<String>,
    /// Name the steps and their commands, and run none.
    #[arg(long)]
    list: bool,
}

/// Runs the chosen steps; the last line printed is the count of tests, whatever happens.
pub(crate) fn test(options: &Options) -> anyhow::Result<ExitCode> {
    let steps: Vec<&Step> = STEPS.iter().filter(|step| options.chooses(step)).collect();
    if options.list {
        let width = steps.iter().map(|step| step.name.len()).max().unwrap_or(0);
        steps
            .iter()
            .for_each(|step| println!("{:width$}  {}", step.name, step.invocation));
        return Ok(ExitCode::SUCCESS);
    }
    let mut tally = Tally::default();
    let code = match missing(&steps).and_then(|()| run_all(&steps, &mut tally)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(stop) => {
            println!("\n{stop}");
            ExitCode::FAILURE
        }
    };
    println!("{tally}");
    Ok(code)
}

impl Options {
    fn chooses(&self, step: &Step) -> bool {
        self.only.is_empty() || self.only.iter().any(|name| name == step.name)
    }
}

fn step_names() -> PossibleValuesParser {
    PossibleValuesParser::new(STEPS.iter().map(|step| step.name))
}

/// Looks for every tool before the first step, so that nobody waits only to be told of one.
fn missing(steps: &[&Step]) -> Result<(), String> {
    let absent: Vec<String> = steps
        .iter()
        .flat_map(|step| step.needs.iter().map(move |need| (step, need)))
        .filter(|(_, need)| !need.probe.succeeds())
        .map(|(step, need)| absence(step, need))
        .collect();
    if absent.is_empty() {
        Ok(())
    } else {
        Err(absent.join("\n"))
    }
}

fn absence(step: &Step, need: &Need) -> String {
    format!(
        "error: step `{}` needs {}, but `{}` does not succeed\nhint: get it with `{}`",
        step.name, need.tool, need.probe, need.remedy
    )
}

fn run_all(steps: &[&Step], tally: &mut Tally) -> Result<(), String> {
    let mut times = Vec::new();
    for (index, step) in steps.iter().enumerate() {
        println!(
            "\n=== {}/{} {}: {}",
            index + 1,
            steps.len(),
            step.name,
            step.promise
        );
        println!("    {}", step.invocation);
        let start = Instant::now();
        let outcome = run_one(step, tally);
        let took = in_seconds(start.elapsed());
        outcome.map_err(|cause| failure(step, &took, &cause))?;
        println!("--- {} passed in {took}", step.name);
        times.push(format!("{} {took}", step.name));
    }
    println!("\nall {} steps passed: {}", steps.len(), times.join(", "));
    Ok(())
}

fn run_one(step: &Step, tally: &mut Tally) -> Result<(), String> {
    let mut counted = Tally::default();
    let outcome = match step.count {
        None => step.invocation.show(),
        Some(count) => step.invocation.show_and_heed(|line| {
            counted += count(line).unwrap_or_default();
        }),
    };
    *tally += counted;
    let status = outcome.map_err(|error| format!("{error:#}"))?;
    if !status.success() {
        return Err(status.to_string());
    }
    if step.count.is_some() && counted == Tally::default() {
        return Err("no test was counted; does its runner still print what `tally` reads?".into());
    }
    Ok(())
}

fn failure(step: &Step, took: &str, cause: &str) -> String {
    format!(
        "error: step `{name}` failed after {took}\n  cause: {cause}\n\
         hint: run it alone with `cargo xtask test --only {name}`, or just `{command}`",
        name = step.name,
        command = step.invocation,
    )
}

fn in_seconds(time: Duration) -> String {
    format!("{:.1} s", time.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::Invocation;
    use crate::tally;

    #[test]
    fn the_first_failure_stops_the_rest_and_names_the_step_and_its_command() {
        let steps = [
            step("good", Invocation::new("rustc", &["--version"])),
            step(
                "bad",
                Invocation::new("a-program-that-nobody-has", &["--now"]),
            ),
            step(
                "never",
                Invocation::new("another-program-that-nobody-has", &[]),
            ),
        ];
        let stop = run_all(&steps.each_ref(), &mut Tally::default()).unwrap_err();
        assert!(stop.contains("step `bad` failed"), "{stop}");
        assert!(stop.contains("cargo xtask test --only bad"), "{stop}");
        assert!(stop.contains("`a-program-that-nobody-has --now`"), "{stop}");
    }

    #[test]
    fn a_missing_tool_is_named_with_the_way_to_get_it() {
        const NEED: Need = Need {
            tool: "a tool",
            probe: Invocation::new("a-program-that-nobody-has", &["--version"]),
            remedy: "fetch it",
        };
        let step = Step {
            needs: &[NEED],
            ..step("needy", Invocation::new("rustc", &[]))
        };
        let stop = missing(&[&step]).unwrap_err();
        assert!(stop.contains("step `needy` needs a tool"), "{stop}");
        assert!(stop.contains("`fetch it`"), "{stop}");
    }

    #[test]
    fn a_step_that_should_count_tests_and_counts_none_fails() {
        let step = Step {
            count: Some(tally::from_cargo_test),
            ..step("empty", Invocation::new("rustc", &["--version"]))
        };
        let stop = run_all(&[&step], &mut Tally::default()).unwrap_err();
        assert!(stop.contains("no test was counted"), "{stop}");
    }

    #[test]
    fn only_chooses_the_named_steps_and_nothing_named_chooses_all() {
        let options = |only: &[&str]| Options {
            only: only.iter().map(|&name| name.to_owned()).collect(),
            list: false,
        };
        let step = step("doc", Invocation::new("rustc", &[]));
        assert!(options(&[]).chooses(&step));
        assert!(options(&["format", "doc"]).chooses(&step));
        assert!(!options(&["format"]).chooses(&step));
    }

    fn step(name: &'static str, invocation: Invocation) -> Step {
        Step {
            name,
            promise: "",
            invocation,
            needs: &[],
            count: None,
        }
    }
}
