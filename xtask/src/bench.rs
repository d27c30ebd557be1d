//! `cargo xtask bench`: what a match costs, against bare hyper and against another build.
//!
//! A real league in one process, the same once more as a control, the league of another build if one
//! is named, and the floor (`examples/floor.rs`) are played in turn, pass by pass: a busy moment of
//! the machine meets all of them. A figure is the median of the passes, with their range; ratios are
//! taken within a pass.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::Instant;

use anyhow::{Context, bail, ensure};
use clap::Args;

use crate::shell::{program, run, target};

/// Rounds before and after the window in which CPU and time are measured.
const OUTSIDE_ROUNDS: f64 = 10.0;
/// A match of the floor takes less, so more of them are played for figures as exact.
const FLOOR_MATCHES: u64 = 5;
/// How many microseconds of CPU a tick of `/proc` is.
const TICK: f64 = 10_000.0;

#[derive(Args)]
pub(crate) struct Options {
    /// How often everything is measured.
    #[arg(long, default_value_t = 7)]
    passes: usize,
    /// Number of players; half as many matches are played at once.
    #[arg(long, default_value_t = 32)]
    players: u64,
    /// How often each pair meets.
    #[arg(long, default_value_t = 4)]
    legs: u64,
    /// The profile that the programs are built in.
    #[arg(long, default_value = "dist")]
    profile: String,
    /// Measure the `league` of another build in the same run.
    #[arg(long, value_name = "FILE")]
    against: Option<PathBuf>,
    /// More arguments for `league run`, such as `-- --store URL`.
    #[arg(last = true)]
    more: Vec<String>,
}

/// What a pass measures: CPU and bytes of a match, times of a call.
const FIGURES: [&str; 5] = ["CPU µs", "matches/s", "p50 ms", "p99 ms", "disk bytes"];
/// What is counted once for a match.
const COUNTS: [&str; 2] = ["system calls", "syncs"];

type Sample = [f64; FIGURES.len()];

/// Something that is measured.
struct Variant {
    name: &'static str,
    program: PathBuf,
    samples: Vec<Sample>,
    counts: [f64; COUNTS.len()],
}

pub(crate) fn bench(options: &Options) -> anyhow::Result<ExitCode> {
    let mut variants = options.build()?;
    for pass in 1..=options.passes {
        println!("pass {pass} of {}…", options.passes);
        for variant in &mut variants {
            let sample = in_folder(|folder| options.sample(variant, folder));
            let sample = sample.with_context(|| format!("could not measure `{}`", variant.name))?;
            variant.samples.push(sample);
        }
    }
    println!("counting system calls with `strace`…");
    for variant in &mut variants {
        match in_folder(|folder| options.trace(variant, folder)) {
            Ok(counts) => variant.counts = counts,
            Err(error) => println!("not counted of `{}`: {error:#}", variant.name),
        }
    }
    print!("{}", table(&variants));
    Ok(ExitCode::SUCCESS)
}

impl Options {
    /// Builds the program and the floor; the floor is the last of the variants.
    fn build(&self) -> anyhow::Result<Vec<Variant>> {
        for target in [
            ["--package", "league", "--bin", "league"],
            ["--package", "xtask", "--example", "floor"],
        ] {
            let mut cargo = program("cargo");
            cargo.args(["build", "--profile", &self.profile]);
            run(cargo.args(target), "is it a profile of `Cargo.toml`?")?;
        }
        // The profile `dev` builds into `debug`.
        let built = target().join(self.profile.replace("dev", "debug"));
        let variant = |name, program| Variant {
            name,
            program,
            samples: Vec::new(),
            counts: [f64::NAN; COUNTS.len()],
        };
        let league = |name| variant(name, built.join("league"));
        let mut variants = vec![league("league"), league("league again")];
        if let Some(against) = &self.against {
            let path = against.canonicalize();
            let path = path.with_context(|| format!("there is no `{}`", against.display()))?;
            variants.push(variant("against", path));
        }
        variants.push(variant("hyper", built.join("examples/floor")));
        Ok(variants)
    }

    /// Adds the arguments that play so many legs, with the files of a league in a folder.
    fn play(&self, command: &mut Command, variant: &Variant, legs: u64, folder: &Path) {
        let players = self.players;
        if variant.name == "hyper" {
            let matches = FLOOR_MATCHES * legs * players * (players - 1) / 2;
            command.args([(players / 2).to_string(), matches.to_string()]);
            return;
        }
        let [players, legs] = [players, legs].map(|number| number.to_string());
        command.args(["run", "--ports", "auto", "--output", "json"]);
        command.args(["--players", &players, "--legs", &legs]);
        let root = folder.join("root");
        command.arg("--root").arg(root).args(&self.more);
    }

    fn sample(&self, variant: &Variant, folder: &Path) -> anyhow::Result<Sample> {
        let mut command = program(&variant.program.to_string_lossy());
        self.play(&mut command, variant, self.legs, folder);
        let mut child = command.stdout(Stdio::piped()).spawn()?;
        let followed = follow(&mut child, (self.players / 2) as f64);
        if followed.is_err() {
            child.kill()?;
        }
        let status = child.wait()?;
        let (matches, mut sample) = followed?;
        ensure!(status.success(), "it ended with {status}");
        sample[FIGURES.len() - 1] = size(&folder.join("root")) as f64 / matches;
        Ok(sample)
    }

    /// Counts the system calls and the syncs of one leg, start and end included.
    fn trace(&self, variant: &Variant, folder: &Path) -> anyhow::Result<[f64; COUNTS.len()]> {
        let file = folder.join("counts");
        let mut command = program("strace");
        let counted = [file.as_path(), &variant.program];
        command.args(["-f", "-c", "-o"]).args(counted);
        self.play(&mut command, variant, 1, folder);
        let output = command.stderr(Stdio::inherit()).output()?;
        let lines = String::from_utf8_lossy(&output.stdout);
        let matches = lines.lines().rev().find_map(|line| number(line, "of"));
        let matches = matches.with_context(|| format!("it ended with {}", output.status))?;
        let counts = fs::read_to_string(&file)?;
        let syncs = calls(&counts, "fsync") + calls(&counts, "fdatasync");
        Ok([calls(&counts, "total") / matches, syncs / matches])
    }
}

/// Follows a program by the matches that it prints; gives their number, and all figures but the last.
fn follow(child: &mut Child, at_once: f64) -> anyhow::Result<(f64, Sample)> {
    let output = child.stdout.take().context("no output")?;
    let (mut all, mut manager, mut marks) = (f64::NAN, None, Vec::new());
    let mut times = [f64::NAN; 2];
    for line in BufReader::new(output).lines() {
        let line = line?;
        if let Some((_, rest)) = line.split_once("\"manager\":\"http://") {
            manager = rest.split('/').next().map(str::to_owned);
        } else if let Some((p50, p99)) = number(&line, "p50").zip(number(&line, "p99")) {
            times = [p50 / 1e3, p99 / 1e3];
        }
        let Some((done, of)) = number(&line, "number").zip(number(&line, "of")) else {
            continue;
        };
        all = of;
        // Whole rounds, so that no match is counted in part.
        let is_end = done > OUTSIDE_ROUNDS * at_once && of - done == OUTSIDE_ROUNDS * at_once;
        if is_end || done == OUTSIDE_ROUNDS * at_once {
            marks.push((done, Instant::now(), cpu(child.id())?));
        }
        if let Some(manager) = manager.as_ref().filter(|_| is_end) {
            let metrics = metrics(manager)?;
            times = [0.5, 0.99].map(|part| 1e3 * quantile(&metrics, part));
        }
    }
    let [(first, since, before), (last, until, after)] = marks[..] else {
        bail!("it ended too early, or after too few `--legs`");
    };
    let (matches, seconds) = (last - first, (until - since).as_secs_f64());
    let cpu = (after - before) / matches;
    Ok((all, [cpu, matches / seconds, times[0], times[1], f64::NAN]))
}

/// Reads a number in a line of JSON.
fn number(line: &str, name: &str) -> Option<f64> {
    let (_, rest) = line.split_once(&format!("\"{name}\":"))?;
    rest.split([',', '}']).next()?.parse().ok()
}

/// The CPU time of a process so far, in microseconds.
fn cpu(process: u32) -> anyhow::Result<f64> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat"))?;
    // The name of the program comes before, in parentheses, and may hold anything.
    let (_, figures) = stat.rsplit_once(')').context("no figures of a process")?;
    let times = figures.split_whitespace().skip(11).take(2);
    let ticks: f64 = times.filter_map(|ticks| ticks.parse::<f64>().ok()).sum();
    Ok(ticks * TICK)
}

/// The figures of a running manager.
fn metrics(manager: &str) -> anyhow::Result<String> {
    let mut stream = TcpStream::connect(manager)?;
    let head = format!("GET /metrics HTTP/1.1\r\nHost: {manager}\r\nConnection: close\r\n\r\n");
    stream.write_all(head.as_bytes())?;
    let mut text = String::new();
    stream.read_to_string(&mut text)?;
    Ok(text)
}

/// A quantile of calls in seconds, between the bounds of the histograms; bits sort as bounds do.
fn quantile(metrics: &str, part: f64) -> f64 {
    let bucket = |line: &str| -> Option<(u64, f64)> {
        let labels = line.strip_prefix("league_call_duration_seconds_bucket{")?;
        let (bound, count) = labels.split_once("le=\"")?.1.split_once("\"} ")?;
        Some((bound.parse::<f64>().ok()?.to_bits(), count.parse().ok()?))
    };
    let mut buckets = BTreeMap::new();
    for (bound, count) in metrics.lines().filter_map(bucket) {
        *buckets.entry(bound).or_insert(0.0) += count;
    }
    let wanted = part * buckets.values().last().copied().unwrap_or(f64::NAN);
    let (mut least, mut below) = (0.0, 0.0);
    for (bound, count) in buckets {
        let most = f64::from_bits(bound);
        if count >= wanted {
            return least + (most - least) * (wanted - below) / (count - below);
        }
        (least, below) = (most, count);
    }
    f64::NAN
}

/// Reads how often a system call was made: `100.00  0.10  4  24533  18 total`, where the column of
/// errors may be empty.
fn calls(counts: &str, name: &str) -> f64 {
    let mut lines = counts
        .lines()
        .map(|line| line.split_whitespace().collect::<Vec<_>>());
    let line = lines.find(|words| words.last() == Some(&name));
    line.and_then(|words| words.get(3)?.parse().ok())
        .unwrap_or(0.0)
}

/// The length of all files below a folder.
fn size(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let sizes = entries.map(|entry| match entry.path() {
        path if path.is_dir() => size(&path),
        path => path.metadata().map_or(0, |file| file.len()),
    });
    sizes.sum()
}

/// Does something in an empty folder, which is deleted then.
fn in_folder<T>(work: impl FnOnce(&Path) -> anyhow::Result<T>) -> anyhow::Result<T> {
    let path = std::env::temp_dir().join(format!("league-bench-{}", std::process::id()));
    fs::create_dir_all(&path)?;
    let done = work(&path);
    fs::remove_dir_all(&path)?;
    done
}

/// A line for each figure, a column for each variant.
fn table(variants: &[Variant]) -> String {
    let line = |name: &str, cell: &dyn Fn(&Variant) -> String| {
        let cells = variants
            .iter()
            .map(|variant| format!("{:<28}", cell(variant)));
        format!("{name:<16}{}\n", cells.collect::<String>())
    };
    let mut text = line("", &|variant| variant.name.to_owned());
    for base in variants.iter().take(1).chain(variants.last()) {
        text += &line(&format!("CPU × {}", base.name), &|variant| {
            let passes = variant.samples.iter().zip(&base.samples);
            spread(passes.map(|(own, base)| own[0] / base[0]))
        });
    }
    for (place, name) in FIGURES.into_iter().enumerate() {
        let figure = |variant: &Variant| spread(variant.samples.iter().map(|sample| sample[place]));
        text += &line(name, &figure);
    }
    for (place, name) in COUNTS.into_iter().enumerate() {
        text += &line(name, &|variant| format!("{:.1}", variant.counts[place]));
    }
    text
}

/// The median, and the range in brackets.
fn spread(values: impl Iterator<Item = f64>) -> String {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    let at = |place: usize| values.get(place).copied().unwrap_or(f64::NAN);
    let last = values.len().saturating_sub(1);
    let median = f64::midpoint(at(last / 2), at(last.div_ceil(2)));
    let digits = if median < 100.0 { 2 } else { 0 };
    format!(
        "{median:.digits$} [{:.digits$}-{:.digits$}]",
        at(0),
        at(last)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_of_a_league_its_metrics_and_strace_are_read() {
        let line = r#"{"event":"match","milliseconds":12,"number":16,"of":496}"#;
        let read = ["number", "of", "p50"].map(|name| number(line, name));
        assert_eq!(read, [Some(16.0), Some(496.0), None]);
        let metrics = "league_call_duration_seconds_bucket{peer=\"a\",le=\"1\"} 2\n\
            league_call_duration_seconds_bucket{peer=\"a\",le=\"2\"} 4\n\
            league_call_duration_seconds_bucket{peer=\"b\",le=\"1\"} 0\n\
            league_call_duration_seconds_bucket{peer=\"b\",le=\"2\"} 4\n";
        assert_eq!(
            [0.125, 0.625].map(|part| quantile(metrics, part)),
            [0.5, 1.5]
        );
        let counts = "50.00  0.01  1  3   fdatasync\n100.00  0.02  0  41  2 total\n";
        let read = ["fdatasync", "total", "fsync"].map(|name| calls(counts, name));
        assert_eq!(read, [3.0, 41.0, 0.0]);
    }

    #[test]
    fn ratios_are_taken_within_a_pass() {
        let variant = |name, cpu: [f64; 3]| Variant {
            name,
            program: PathBuf::new(),
            samples: cpu.map(|cpu| [cpu; FIGURES.len()]).to_vec(),
            counts: [f64::NAN; COUNTS.len()],
        };
        let variants = [("league", [10.0, 20.0, 40.0]), ("hyper", [5.0, 10.0, 10.0])];
        let table = table(&variants.map(|(name, cpu)| variant(name, cpu)));
        let words: Vec<&str> = table.lines().nth(2).unwrap().split_whitespace().collect();
        let expected = "CPU × hyper 2.00 [2.00-4.00] 1.00 [1.00-1.00]";
        assert_eq!(words.join(" "), expected);
    }
}
