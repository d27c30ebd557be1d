//! The arithmetic of the bench: medians, ranges, ratios pass by pass, and when a target counts as
//! met, as missed, or as not decided.

use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};

/// Where the median of the control may be.
const CONTROL: RangeInclusive<f64> = 0.95..=1.05;

/// The middle and the ends of a figure that was measured more than once.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(crate) struct Spread {
    pub(crate) median: f64,
    pub(crate) least: f64,
    pub(crate) most: f64,
}

impl Spread {
    /// Of figures in any order; none without figures.
    pub(crate) fn of(figures: impl IntoIterator<Item = f64>) -> Option<Self> {
        let mut sorted: Vec<f64> = figures.into_iter().filter(|it| it.is_finite()).collect();
        sorted.sort_by(f64::total_cmp);
        let (least, most) = (*sorted.first()?, *sorted.last()?);
        let upper = sorted.len() / 2;
        let lower = (sorted.len() - 1) / 2;
        Some(Self {
            median: f64::midpoint(sorted[lower], sorted[upper]),
            least,
            most,
        })
    }

    /// The ratios of two variants, pass by pass: both sides of a ratio met the same moment of the
    /// machine.
    pub(crate) fn of_ratios(numerators: &[f64], denominators: &[f64]) -> Option<Self> {
        let pairs = numerators.iter().zip(denominators);
        Self::of(pairs.map(|(numerator, denominator)| numerator / denominator))
    }
}

/// The median and the 99th percentile of durations, in microseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Quantiles {
    pub(crate) p50: u64,
    pub(crate) p99: u64,
}

impl Quantiles {
    /// Sorts the durations.
    pub(crate) fn of(micros: &mut [u64]) -> Self {
        micros.sort_unstable();
        let at = |hundredths: usize| {
            let place = (micros.len() * hundredths).div_ceil(100);
            micros.get(place.saturating_sub(1)).copied().unwrap_or(0)
        };
        Self {
            p50: at(50),
            p99: at(99),
        }
    }
}

/// The fewest passes that decide about time.
const MIN_PASSES: usize = 3;

/// What a figure rests on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Evidence {
    /// Counted, as bytes are: no noise can bend it.
    Counted,
    /// Timed in so many passes, with the floor against itself if that was measured.
    Timed {
        passes: usize,
        control: Option<Spread>,
    },
}

impl Evidence {
    /// Why nothing can be judged by it.
    fn doubt(self) -> Option<String> {
        match self {
            Self::Counted => None,
            Self::Timed { passes, .. } if passes < MIN_PASSES => {
                Some(format!("it takes {MIN_PASSES} passes at least"))
            }
            Self::Timed { control: None, .. } => Some("the control was not measured".to_owned()),
            Self::Timed {
                control: Some(Spread { median, .. }),
                ..
            } => (!CONTROL.contains(&median)).then(|| {
                let (least, most) = (CONTROL.start(), CONTROL.end());
                format!("the floor against itself is {median:.3}, not within {least} to {most}")
            }),
        }
    }
}

/// What a figure should be.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Target {
    AtMost(f64),
    AtLeast(f64),
}

/// Whether a target is met.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Judgement {
    Met,
    Missed,
    /// The measurements do not decide it.
    Open(String),
}

impl Target {
    fn bound(self) -> f64 {
        match self {
            Self::AtMost(bound) | Self::AtLeast(bound) => bound,
        }
    }

    /// Judges a figure.
    pub(crate) fn judge(self, measured: Spread, evidence: Evidence) -> Judgement {
        if let Some(doubt) = evidence.doubt() {
            return Judgement::Open(doubt);
        }
        let (least, most) = match self {
            Self::AtMost(bound) => (measured.least <= bound, measured.most <= bound),
            Self::AtLeast(bound) => (measured.least >= bound, measured.most >= bound),
        };
        match (least, most) {
            (true, true) => Judgement::Met,
            (false, false) => Judgement::Missed,
            _ => Judgement::Open(format!("the passes lie on both sides of {}", self.bound())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spread(least: f64, median: f64, most: f64) -> Spread {
        Spread {
            median,
            least,
            most,
        }
    }

    #[test]
    fn median_is_the_middle_or_between_the_two_middles() {
        assert_eq!(Spread::of([]), None);
        assert_eq!(Spread::of([f64::NAN, f64::INFINITY]), None);
        assert_eq!(Spread::of([3.0]), Some(spread(3.0, 3.0, 3.0)));
        assert_eq!(Spread::of([5.0, 1.0, 2.0]), Some(spread(1.0, 2.0, 5.0)));
        assert_eq!(
            Spread::of([4.0, 1.0, 2.0, 9.0]),
            Some(spread(1.0, 3.0, 9.0))
        );
    }

    #[test]
    fn ratios_are_taken_within_a_pass() {
        // The machine was twice as slow in the second pass; the ratio does not see it.
        let ratios = Spread::of_ratios(&[10.0, 20.0], &[5.0, 10.0]);
        assert_eq!(ratios, Some(spread(2.0, 2.0, 2.0)));
    }

    #[test]
    fn quantiles_are_values_that_were_measured() {
        assert_eq!(Quantiles::of(&mut []), Quantiles::default());
        let mut hundred: Vec<u64> = (1..=100).rev().collect();
        assert_eq!(Quantiles::of(&mut hundred), Quantiles { p50: 50, p99: 99 });
        assert_eq!(Quantiles::of(&mut [7]), Quantiles { p50: 7, p99: 7 });
        assert_eq!(Quantiles::of(&mut [3, 1, 2]), Quantiles { p50: 2, p99: 3 });
    }

    fn timed(passes: usize, control: Option<Spread>) -> Evidence {
        Evidence::Timed { passes, control }
    }

    #[test]
    fn target_is_judged_only_if_all_passes_agree() {
        let quiet = timed(3, Some(spread(0.97, 1.01, 1.04)));
        for (target, measured, expected) in [
            (Target::AtMost(2.0), spread(1.5, 1.8, 2.0), Judgement::Met),
            (
                Target::AtMost(2.0),
                spread(2.1, 2.5, 3.0),
                Judgement::Missed,
            ),
            (
                Target::AtLeast(50.0),
                spread(50.0, 60.0, 70.0),
                Judgement::Met,
            ),
            (
                Target::AtLeast(0.25),
                spread(0.1, 0.2, 0.24),
                Judgement::Missed,
            ),
        ] {
            assert_eq!(
                target.judge(measured, quiet),
                expected,
                "{target:?} {measured:?}"
            );
            assert_eq!(target.judge(measured, Evidence::Counted), expected);
        }
        for straddling in [spread(1.9, 1.95, 2.1), spread(1.9, 2.05, 2.1)] {
            for evidence in [quiet, Evidence::Counted] {
                let judged = Target::AtMost(2.0).judge(straddling, evidence);
                assert!(matches!(judged, Judgement::Open(_)), "{judged:?}");
            }
        }
    }

    #[test]
    fn control_off_by_more_than_a_twentieth_leaves_all_open() {
        let clear = spread(1.0, 1.1, 1.2);
        for (median, open) in [(1.051, true), (0.949, true), (1.05, false), (0.95, false)] {
            let evidence = timed(7, Some(spread(0.5, median, 1.5)));
            let judged = Target::AtMost(2.0).judge(clear, evidence);
            assert_eq!(
                matches!(judged, Judgement::Open(_)),
                open,
                "{median}: {judged:?}"
            );
        }
    }

    #[test]
    fn few_passes_and_a_missing_control_decide_nothing_about_time() {
        let (clear, control) = (spread(1.0, 1.1, 1.2), Some(spread(1.0, 1.0, 1.0)));
        for (evidence, reason) in [
            (timed(2, control), "it takes 3 passes at least"),
            (timed(7, None), "the control was not measured"),
        ] {
            let judged = Target::AtMost(2.0).judge(clear, evidence);
            assert_eq!(judged, Judgement::Open(reason.to_owned()));
        }
    }
}
