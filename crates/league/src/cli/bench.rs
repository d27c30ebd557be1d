//! `league bench`: what a match costs in our league, against the least that its calls can cost.
//!
//! The same calls are made by our league, by bare hyper and by TCP alone, in turn, pass by pass:
//! a busy moment of the machine meets all of them. The floor runs twice under two names; as long as
//! it differs from itself, nothing is judged.

mod appends;
mod figures;
mod floor;
mod floors;
mod host;
mod league;
mod players;
mod process;
mod sample;
mod script;
mod table;

use std::io::{self, Write};
use std::path::PathBuf;

use clap::Args;
use serde::Serialize;

use crate::cli::arguments::number;
use crate::cli::bench::floor::{WindowLength, Wire};
use crate::cli::bench::floors::Program;
use crate::cli::bench::league::LeagueSize;
use crate::cli::bench::process::{Launcher, has_strace};
use crate::cli::bench::sample::Sample;
use crate::cli::bench::script::MatchScript;
use crate::cli::bench::table::SceneResult;
use crate::cli::failure::CommandError;
use crate::cli::{Exit, screen};

const WHAT: &str = "could not measure";
/// System calls are counted with so many matches at once, over so many matches: the calls of the
/// start hardly weigh then.
const TRACED_AT_ONCE: u32 = 16;
const TRACED_MATCHES: u64 = 500;

/// Measure what a match costs, against bare hyper and TCP with the same calls
///
/// Takes minutes, and a quiet machine. The calls are counted in a league that is played first.
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Examples:
  league bench                                  everything: about 15 minutes
  league bench --at-once 16 --passes 3          a first look
  league bench --only one-process --json        for programs
  TMPDIR=/mnt/disk league bench                 with the files of the leagues elsewhere")]
pub(crate) struct BenchArgs {
    /// How often everything is measured
    #[arg(long, value_name = "N", default_value_t = 7, value_parser = number::<usize>(1..=1_000))]
    passes: usize,
    /// How long each is measured in a pass, at least
    #[arg(long, value_name = "S", default_value_t = 1.5, value_parser = seconds)]
    seconds: f64,
    /// How many matches are measured in a pass, at least
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = number::<u64>(1..=1_000_000))]
    matches: u64,
    /// How many matches are played at once
    #[arg(
        long,
        value_name = "A,B,…",
        value_delimiter = ',',
        default_values_t = [1, 16, 128, 1_000],
        value_parser = number::<u32>(1..=5_000)
    )]
    at_once: Vec<u32>,
    /// Measure only what has this text in its name, such as `one-process` or `hyper`; may be repeated
    #[arg(long, value_name = "TEXT")]
    only: Vec<String>,
    /// Print JSON: an object for each scene, then one with the targets
    #[arg(long)]
    json: bool,
    /// Measure the league of another build of this program
    #[arg(long, value_name = "FILE")]
    program: Option<PathBuf>,
    /// The Python of the league in the manner of the course, with `fastapi`, `requests` and `uvicorn`
    #[arg(long, value_name = "PROGRAM", default_value = "python3")]
    python: PathBuf,
    /// Be a process of another `league bench`
    #[arg(long, hide = true)]
    host: bool,
}

fn seconds(text: &str) -> Result<f64, String> {
    let read: Option<f64> = text.parse().ok();
    let fitting = read.filter(|seconds| (0.0..=600.0).contains(seconds));
    fitting.ok_or_else(|| format!("`{text}` is not a number of seconds; give 0 to 600"))
}

/// How the agents are spread over processes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Layout {
    OneProcess,
    /// A manager, two processes of referees, four of players.
    SevenProcesses,
}

impl Layout {
    const fn name(self) -> &'static str {
        match self {
            Self::OneProcess => "one-process",
            Self::SevenProcesses => "seven-processes",
        }
    }
}

/// What is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Variant {
    League,
    Hyper,
    /// The same as `Hyper`: the control.
    HyperAgain,
    Tcp,
    /// The league of the course's document: FastAPI and `requests`.
    Python,
}

impl Variant {
    const ALL: [Self; 5] = [
        Self::League,
        Self::Hyper,
        Self::HyperAgain,
        Self::Tcp,
        Self::Python,
    ];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::League => "league",
            Self::Hyper => "hyper",
            Self::HyperAgain => "hyper-again",
            Self::Tcp => "tcp",
            Self::Python => "python",
        }
    }

    /// Whether its system calls are counted; the control makes those of `Hyper`.
    fn is_traced(self) -> bool {
        matches!(self, Self::League | Self::Hyper | Self::Tcp)
    }

    /// Python has its processes, and more matches at once than this would only wait.
    fn is_in(self, scene: Scene) -> bool {
        self != Self::Python || scene.layout == Layout::SevenProcesses && scene.at_once <= 16
    }
}

/// One table: a layout and a number of matches at once.
#[derive(Debug, Clone, Copy, Serialize)]
pub(crate) struct Scene {
    pub(crate) layout: Layout,
    pub(crate) at_once: u32,
}

impl BenchArgs {
    pub(crate) fn run(&self, out: &mut impl Write) -> Result<Exit, CommandError> {
        if self.host {
            return host::host(WHAT);
        }
        let has_python = self.look_around();
        let mut results = Vec::new();
        for scene in self.scenes() {
            let variants = Variant::ALL.into_iter().filter(|variant| {
                variant.is_in(scene)
                    && (has_python || *variant != Variant::Python)
                    && self.wants(scene, *variant)
            });
            let variants: Vec<Variant> = variants.collect();
            if variants.is_empty() {
                continue;
            }
            let result = self.measure(scene, &variants);
            let result = result.map_err(|error| failed(&error))?;
            result.print(out, self.json)?;
            results.push(result);
        }
        if results.is_empty() {
            let names = Variant::ALL.map(Variant::name).join("`, `");
            return Err(CommandError::usage(
                WHAT,
                format!("nothing is called `{}`", self.only.join("` or `")),
                format!("give a part of `one-process` or `seven-processes`, or of `{names}`"),
            ));
        }
        Ok(table::judge(out, &results, self.json)?)
    }

    /// Says what cannot be measured here, or not well; returns whether Python can play.
    fn look_around(&self) -> bool {
        if cfg!(debug_assertions) {
            self.say(
                "this program is not optimised: its figures say nothing; build with `--release`",
            );
        }
        if !has_strace() {
            self.say("system calls are skipped: there is no `strace` that may trace");
        }
        let has_python = floors::has_python(&self.python);
        if !has_python {
            let python = self.python.display();
            self.say(&format!(
                "python is skipped: `{python}` lacks `fastapi`, `requests` or `uvicorn`; \
                 name another with `--python`"
            ));
        }
        has_python
    }

    fn scenes(&self) -> impl Iterator<Item = Scene> {
        let layouts = [Layout::OneProcess, Layout::SevenProcesses];
        let scene = |layout| {
            let counts = self.at_once.iter();
            counts.map(move |at_once| Scene {
                layout,
                at_once: *at_once,
            })
        };
        layouts.into_iter().flat_map(scene)
    }

    /// Whether the flags ask for a variant in a scene.
    fn wants(&self, scene: Scene, variant: Variant) -> bool {
        let name = format!("{} {}", scene.layout.name(), variant.name());
        self.only.is_empty() || self.only.iter().any(|only| name.contains(only.as_str()))
    }

    /// Measures the variants of a scene, in turn.
    fn measure(&self, scene: Scene, variants: &[Variant]) -> io::Result<SceneResult> {
        let size = LeagueSize::of(scene);
        self.say(&format!("{scene}: counting the calls of a league…"));
        let folder = tempfile::tempdir()?;
        let script = league::record(&std::env::current_exe()?, size, folder.path())?;
        let mut result = SceneResult::new(scene, script);
        let length = WindowLength {
            seconds: self.seconds,
            matches: self.matches,
        };
        for pass in 1..=self.passes {
            for variant in variants {
                let (passes, name) = (self.passes, variant.name());
                self.say(&format!("{scene}: pass {pass} of {passes}, {name}…"));
                let folder = tempfile::tempdir()?;
                let launcher = Launcher {
                    folder: folder.path(),
                    traced: false,
                };
                let sample = self.sample(*variant, size, &result.script, launcher, length)?;
                result.add(*variant, sample);
            }
        }
        if scene.at_once == TRACED_AT_ONCE && has_strace() {
            for variant in variants.iter().filter(|variant| variant.is_traced()) {
                self.trace(*variant, size, &mut result)?;
            }
        }
        Ok(result)
    }

    /// Counts the system calls of a variant, in a run of its own.
    fn trace(
        &self,
        variant: Variant,
        size: LeagueSize,
        result: &mut SceneResult,
    ) -> io::Result<()> {
        let (scene, name) = (result.scene, variant.name());
        self.say(&format!("{scene}: counting the system calls of {name}…"));
        let folder = tempfile::tempdir()?;
        let launcher = Launcher {
            folder: folder.path(),
            traced: true,
        };
        let length = WindowLength {
            seconds: 0.0,
            matches: TRACED_MATCHES,
        };
        let sample = self.sample(variant, size, &result.script, launcher, length)?;
        let calls = launcher.system_calls()?;
        result.note_system_calls(variant, calls as f64 / sample.all_matches as f64);
        Ok(())
    }

    fn sample(
        &self,
        variant: Variant,
        size: LeagueSize,
        script: &MatchScript,
        launcher: Launcher<'_>,
        length: WindowLength,
    ) -> io::Result<Sample> {
        let floor = |program| floors::play(program, size, script, launcher, length);
        match variant {
            Variant::League => league::play(&self.program()?, size, launcher, length),
            Variant::Hyper | Variant::HyperAgain => floor(Program::Own(Wire::Hyper)),
            Variant::Tcp => floor(Program::Own(Wire::Tcp)),
            Variant::Python => floor(Program::Python(&self.python)),
        }
    }

    /// The program whose league is measured.
    fn program(&self) -> io::Result<PathBuf> {
        self.program.clone().map_or_else(std::env::current_exe, Ok)
    }

    /// Tells people what is going on.
    fn say(&self, line: &str) {
        // There is nothing left to do if even this cannot be printed.
        let _ = writeln!(screen::errors(), "{line}");
    }
}

impl std::fmt::Display for Scene {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let layout = self.layout.name().replace('-', " ");
        write!(out, "{} at once, {layout}", self.at_once)
    }
}

fn failed(error: &io::Error) -> CommandError {
    let hint = "stop other programs, and see that the temporary folder has room";
    CommandError::world(WHAT, error.to_string(), hint)
}
