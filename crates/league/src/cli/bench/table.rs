//! The figures of a bench, as tables for people and as JSON, and how they compare with the targets.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::json;

use crate::cli::Exit;
use crate::cli::bench::figures::{Evidence, Judgement, Spread, Target};
use crate::cli::bench::sample::Sample;
use crate::cli::bench::script::MatchScript;
use crate::cli::bench::{Scene, Variant};
use crate::cli::text::print_object;

/// Everything that was measured in a scene.
#[derive(Debug, Serialize)]
pub(crate) struct SceneResult {
    pub(crate) scene: Scene,
    pub(crate) script: MatchScript,
    pub(crate) variants: Vec<VariantResult>,
}

/// The passes of a variant.
#[derive(Debug, Serialize)]
pub(crate) struct VariantResult {
    pub(crate) variant: Variant,
    pub(crate) passes: Vec<Sample>,
    /// System calls a match, if they were counted.
    pub(crate) system_calls: Option<f64>,
}

impl VariantResult {
    fn figures(&self, figure: impl Fn(&Sample) -> f64) -> Vec<f64> {
        self.passes.iter().map(figure).collect()
    }
}

/// A figure of our league beside a target.
#[derive(Debug, Serialize)]
struct Comparison {
    what: String,
    target: Target,
    measured: Spread,
    judgement: Judgement,
}

impl SceneResult {
    pub(crate) fn new(scene: Scene, script: MatchScript) -> Self {
        Self {
            scene,
            script,
            variants: Vec::new(),
        }
    }

    pub(crate) fn add(&mut self, variant: Variant, sample: Sample) {
        let known = self.variants.iter_mut().find(|it| it.variant == variant);
        match known {
            Some(known) => known.passes.push(sample),
            None => self.variants.push(VariantResult {
                variant,
                passes: vec![sample],
                system_calls: None,
            }),
        }
    }

    pub(crate) fn note_system_calls(&mut self, variant: Variant, per_match: f64) {
        let known = self.variants.iter_mut().find(|it| it.variant == variant);
        if let Some(known) = known {
            known.system_calls = Some(per_match);
        }
    }

    fn of(&self, variant: Variant) -> Option<&VariantResult> {
        self.variants.iter().find(|it| it.variant == variant)
    }

    /// A figure of one variant over that of another, pass by pass.
    fn ratio(
        &self,
        above: Variant,
        below: Variant,
        figure: impl Fn(&Sample) -> f64 + Copy,
    ) -> Option<Spread> {
        let (above, below) = (self.of(above)?, self.of(below)?);
        Spread::of_ratios(&above.figures(figure), &below.figures(figure))
    }

    fn control(&self) -> Option<Spread> {
        self.ratio(Variant::HyperAgain, Variant::Hyper, Sample::cpu_per_match)
    }

    pub(crate) fn print(&self, out: &mut impl Write, as_json: bool) -> io::Result<()> {
        if as_json {
            return print_object(out, &self.object());
        }
        let (bodies, wire) = self.script.bytes_per_match();
        writeln!(
            out,
            "{}: {:.1} calls a match, {:.1} KB on the wire, {:.1} KB of it bodies",
            self.scene,
            self.script.calls_per_match(),
            wire / 1e3,
            bodies / 1e3
        )?;
        writeln!(
            out,
            "  {:<11} {:>19} {:>16} {:>6} {:>6} {:>6} {:>5}",
            "", "CPU µs a match", "× hyper", "per s", "p50 ms", "p99 ms", "MB"
        )?;
        for variant in &self.variants {
            self.print_row(out, variant)?;
        }
        self.print_rest(out)?;
        writeln!(out)
    }

    fn print_row(&self, out: &mut impl Write, row: &VariantResult) -> io::Result<()> {
        let spread = |figure: fn(&Sample) -> f64| Spread::of(row.figures(figure));
        let median = |figure| spread(figure).map_or(0.0, |it| it.median);
        let ratio = self.ratio(row.variant, Variant::Hyper, Sample::cpu_per_match);
        writeln!(
            out,
            "  {:<11} {:>19} {:>16} {:>6.0} {:>6} {:>6} {:>5.0}",
            row.variant.name(),
            shown(spread(Sample::cpu_per_match)),
            shown(ratio),
            median(Sample::rate),
            figure(median(|sample| sample.micros.p50 as f64 / 1e3)),
            figure(median(|sample| sample.micros.p99 as f64 / 1e3)),
            median(|sample| sample.memory as f64 / 1e6),
        )
    }

    /// Prints what only some variants have.
    fn print_rest(&self, out: &mut impl Write) -> io::Result<()> {
        let league = self.of(Variant::League);
        if let Some(disk) = league.and_then(|it| it.passes.last()?.disk) {
            let (data, logs) = (disk.data / 1e3, disk.logs / 1e3);
            writeln!(
                out,
                "  disk a match: {data:.1} KB of journals and records, {logs:.1} KB of logs"
            )?;
        }
        let traced = self.variants.iter().filter_map(|it| {
            let calls = it.system_calls?;
            Some(format!("{} {calls:.0}", it.variant.name()))
        });
        let traced: Vec<String> = traced.collect();
        if !traced.is_empty() {
            writeln!(out, "  system calls a match: {}", traced.join(", "))?;
        }
        Ok(())
    }

    fn object(&self) -> serde_json::Value {
        let mut object = json!(self);
        object["event"] = "scene".into();
        object["calls_per_match"] = json!(self.script.calls_per_match());
        object["control"] = json!(self.control());
        for (row, shown) in self
            .variants
            .iter()
            .zip(object["variants"].as_array_mut().into_iter().flatten())
        {
            let ratio = self.ratio(row.variant, Variant::Hyper, Sample::cpu_per_match);
            shown["cpu_micros_per_match"] = json!(Spread::of(row.figures(Sample::cpu_per_match)));
            shown["cpu_over_hyper"] = json!(ratio);
            shown["matches_per_second"] = json!(Spread::of(row.figures(Sample::rate)));
        }
        object
    }

    /// The targets that this scene can judge.
    fn comparisons(&self) -> Vec<Comparison> {
        let scene = self.scene;
        let mut comparisons = Vec::new();
        let mut compare = |what: &str, target: Target, measured: Option<Spread>, evidence| {
            if let Some(measured) = measured {
                comparisons.push(Comparison {
                    what: format!("{what}, {scene}"),
                    target,
                    measured,
                    judgement: target.judge(measured, evidence),
                });
            }
        };
        let timed = Evidence::Timed {
            passes: self.of(Variant::League).map_or(0, |it| it.passes.len()),
            control: self.control(),
        };
        if [16, 128].contains(&scene.at_once) {
            let cpu = self.ratio(Variant::League, Variant::Hyper, Sample::cpu_per_match);
            compare("CPU over bare hyper", Target::AtMost(2.0), cpu, timed);
            let rate = self.ratio(Variant::League, Variant::Tcp, Sample::rate);
            compare("matches/s over TCP", Target::AtLeast(0.25), rate, timed);
        }
        if scene.at_once == 16 {
            let cpu = self.ratio(Variant::Python, Variant::League, Sample::cpu_per_match);
            let target = Target::AtLeast(50.0);
            compare("CPU of python over ours", target, cpu, timed);
        }
        let disk = self.of(Variant::League).and_then(|league| {
            let passes = league.passes.iter();
            Spread::of(passes.filter_map(|sample| Some(sample.disk?.data / 1e3)))
        });
        compare(
            "KB on disk a match",
            Target::AtMost(8.0),
            disk,
            Evidence::Counted,
        );
        comparisons
    }
}

/// The median, and the range in brackets.
fn shown(spread: Option<Spread>) -> String {
    let Some(Spread {
        median,
        least,
        most,
    }) = spread
    else {
        return "–".to_owned();
    };
    let digits = digits(median);
    format!("{median:.digits$} [{least:.digits$}–{most:.digits$}]")
}

fn figure(value: f64) -> String {
    let digits = digits(value);
    format!("{value:.digits$}")
}

/// Digits after the point, so that three count.
fn digits(value: f64) -> usize {
    match value {
        100.0.. => 0,
        10.0.. => 1,
        _ => 2,
    }
}

/// Prints how the figures compare with the targets; the answer is no if one is missed.
pub(crate) fn judge(
    out: &mut impl Write,
    results: &[SceneResult],
    as_json: bool,
) -> io::Result<Exit> {
    let comparisons: Vec<Comparison> = results.iter().flat_map(SceneResult::comparisons).collect();
    let missed = |it: &Comparison| it.judgement == Judgement::Missed;
    let exit = match comparisons.iter().any(missed) {
        true => Exit::No,
        false => Exit::Yes,
    };
    if as_json {
        print_object(out, &json!({"event": "targets", "targets": comparisons}))?;
        return Ok(exit);
    }
    for comparison in &comparisons {
        let wanted = match comparison.target {
            Target::AtMost(bound) => format!("at most {bound}"),
            Target::AtLeast(bound) => format!("at least {bound}"),
        };
        let judged = match &comparison.judgement {
            Judgement::Met => "met".to_owned(),
            Judgement::Missed => "missed".to_owned(),
            Judgement::Open(because) => format!("not decided: {because}"),
        };
        writeln!(
            out,
            "{}: {}, wanted {wanted}: {judged}",
            comparison.what,
            shown(Some(comparison.measured))
        )?;
    }
    Ok(exit)
}
