//! The chart of points over rounds, as SVG.

use std::fmt::Write as _;

use maud::{Markup, html};

use super::face;
use super::format::{counted, cut, name};
use super::isolated;
use crate::model::{Chart, ChartLine};

/// Lines with a colour, a pattern and a name; the others are grey.
const COLOURED: usize = 8;
/// Points of a coloured line; a longer one is thinned out.
const MAX_COLOURED_POINTS: usize = 64;
/// Points of a grey line.
const MAX_GREY_POINTS: usize = 24;
/// The preference of `P01`, which gets the first colour.
const FIRST_PREFERENCE: usize = (b'P' as usize + b'0' as usize + b'1' as usize) % COLOURED;
/// Rounds that the chart has room for at least, if the league has as many.
const MIN_ROUNDS: u32 = 8;
/// The length of a name beside a line, in characters.
const MAX_LABEL_CHARS: usize = 17;

/// The names are to the right of this.
const WIDTH: f64 = 620.0;
const HEIGHT: f64 = 360.0;
/// The height of a chart with one line.
const LOW_HEIGHT: f64 = 220.0;
const LEFT: f64 = 44.0;
const RIGHT: f64 = 600.0;
const TOP: f64 = 14.0;
/// Space for the round numbers.
const BELOW: f64 = 34.0;
/// The distance between names at the ends of lines.
const LABEL_HEIGHT: f64 = 21.0;

/// The chart, or a sentence while there is nothing to draw.
pub(crate) fn chart(chart: &Chart) -> Markup {
    let over = chart
        .lines
        .first()
        .map_or(0, |line| line.points.len().saturating_sub(1));
    if over == 0 {
        return html! { figure #chart .chart { p.more { "The chart begins when the first round is over." } } };
    }
    let all: Vec<&[u32]> = chart.lines.iter().map(|line| &line.points[..]).collect();
    let scale = Scale::of(&all, shown_rounds(over, chart.rounds), HEIGHT);
    let (coloured, grey) = chart.lines.split_at(chart.lines.len().min(COLOURED));
    let colours = colours(coloured);
    html! {
        figure #chart .chart {
            svg viewBox=(format!("0 0 {WIDTH} {HEIGHT}")) role="img" aria-labelledby="chart-name chart-words" {
                title #chart-name { "Points over the rounds" }
                desc #chart-words { (words(chart, over)) }
                (scale.grid())
                @for line in grey.iter().rev() {
                    path.grey d=(scale.path(&line.points, MAX_GREY_POINTS)) {}
                }
                @for (place, line) in coloured.iter().enumerate().rev() {
                    path class={ "line l" (colours[place]) " " (face::colour(&line.player.id)) } d=(scale.path(&line.points, MAX_COLOURED_POINTS)) {}
                }
                @for (place, y) in label_heights(coloured, &scale).into_iter().enumerate() {
                    (scale.label(colours[place], &coloured[place], y))
                }
            }
            (legend(coloured, &colours))
        }
    }
}

/// The names again, for screens too narrow to show them beside the lines.
fn legend(lines: &[ChartLine], colours: &[usize]) -> Markup {
    html! {
        ol.legend { @for (line, colour) in lines.iter().zip(colours) {
            li {
                svg viewBox="0 0 36 6" aria-hidden="true" { path class={ "line l" (colour) " " (face::colour(&line.player.id)) } d="M2 3h32" {} }
                (name(&line.player)) " " span.of { (line.points.last().copied().unwrap_or_default()) }
            }
        } }
    }
}

/// A single line, for the page of a player.
pub(crate) fn single(points: &[u32]) -> Markup {
    let rounds = u32::try_from(points.len().saturating_sub(1)).unwrap_or(u32::MAX);
    let scale = Scale::of(&[points], rounds, LOW_HEIGHT);
    let last = points.last().copied().unwrap_or_default();
    html! {
        figure.chart.single {
            svg viewBox=(format!("0 0 {WIDTH} {LOW_HEIGHT}")) role="img" aria-label={ "Points over the rounds: " (counted(last.into(), "point", "points")) " after round " (rounds) } {
                (scale.grid())
                path.line.l0 d=(scale.path(points, MAX_COLOURED_POINTS)) {}
            }
        }
    }
}

fn words(chart: &Chart, over: usize) -> String {
    let mut text = format!("After round {over} of {}: ", chart.rounds);
    for (place, line) in chart.lines.iter().take(COLOURED).enumerate() {
        let points = line.points.last().copied().unwrap_or_default();
        let comma = if place == 0 { "" } else { ", " };
        let _ = write!(text, "{comma}{} {points}", isolated(&line.player.name));
    }
    text
}

/// How many rounds the chart has room for: all once half are over, fewer before.
fn shown_rounds(over: usize, rounds: u32) -> u32 {
    let over = u32::try_from(over).unwrap_or(u32::MAX);
    if over >= rounds / 2 {
        return rounds;
    }
    over.saturating_add(over / 4).max(MIN_ROUNDS).min(rounds)
}

/// Maps rounds and points to coordinates.
struct Scale {
    rounds: u32,
    points: u32,
    bottom: f64,
}

impl Scale {
    fn of(lines: &[&[u32]], rounds: u32, height: f64) -> Self {
        let points = lines.iter().flat_map(|points| *points).max();
        Self {
            rounds: rounds.max(1),
            points: points.copied().unwrap_or_default().max(1),
            bottom: height - BELOW,
        }
    }

    fn x(&self, round: usize) -> f64 {
        LEFT + (RIGHT - LEFT) * round as f64 / f64::from(self.rounds)
    }

    fn y(&self, points: u32) -> f64 {
        self.bottom - (self.bottom - TOP) * f64::from(points) / f64::from(self.points)
    }

    fn path(&self, points: &[u32], most: usize) -> String {
        let last = points.len().saturating_sub(1);
        let shown = last.min(most.max(1));
        let mut path = String::with_capacity(shown * 10);
        for step in 0..=shown {
            let round = (step * last).checked_div(shown).unwrap_or(0);
            let Some(height) = points.get(round) else {
                break;
            };
            let letter = if step == 0 { 'M' } else { 'L' };
            let _ = write!(path, "{letter}{:.0} {:.1}", self.x(round), self.y(*height));
        }
        path
    }

    fn grid(&self) -> Markup {
        html! {
            g.grid {
                @for points in steps(self.points) {
                    line x1=(LEFT) x2=(RIGHT) y1=(tenth(self.y(points))) y2=(tenth(self.y(points))) {}
                    text x=(LEFT - 8.0) y=(tenth(self.y(points) + 4.5)) text-anchor="end" { (points) }
                }
                @for round in steps(self.rounds) {
                    text x=(tenth(self.x(round as usize))) y=(self.bottom + 24.0) text-anchor="middle" { (round) }
                }
            }
        }
    }

    fn label(&self, colour: usize, line: &ChartLine, y: f64) -> Markup {
        let end = line.points.len().saturating_sub(1);
        let (x, height) = (
            self.x(end),
            self.y(line.points.last().copied().unwrap_or_default()),
        );
        html! {
            g class={ "end l" (colour) " " (face::colour(&line.player.id)) } {
                path.lead d=(format!("M{x:.0} {height:.1}L{:.0} {y:.1}", RIGHT + 12.0)) {}
                circle cx=(tenth(x)) cy=(tenth(height)) r="4" {}
                text x=(RIGHT + 18.0) y=(tenth(y + 4.5)) { (cut(&line.player.name, MAX_LABEL_CHARS)) }
            }
        }
    }
}

/// A colour for each line. It depends on the player and not on the rank, so that a line keeps its
/// colour when it is overtaken.
fn colours(lines: &[ChartLine]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..lines.len()).collect();
    order.sort_by_key(|place| &lines[*place].player.id);
    let mut taken = [false; COLOURED];
    let mut colours = vec![0; lines.len()];
    for place in order {
        let id = lines[place].player.id.as_str();
        // Ids end in a number, so neighbours prefer different colours.
        let preferred = id.bytes().map(usize::from).sum::<usize>() + COLOURED - FIRST_PREFERENCE;
        let free = (preferred..preferred + COLOURED).map(|colour| colour % COLOURED);
        let colour = free.into_iter().find(|colour| !taken[*colour]).unwrap_or(0);
        taken[colour] = true;
        colours[place] = colour;
    }
    colours
}

/// Heights of the names beside the lines: near their ends, without overlap.
fn label_heights(lines: &[ChartLine], scale: &Scale) -> Vec<f64> {
    let wanted = |line: &ChartLine| scale.y(line.points.last().copied().unwrap_or_default());
    let mut order: Vec<usize> = (0..lines.len()).collect();
    order.sort_by(|one, other| wanted(&lines[*one]).total_cmp(&wanted(&lines[*other])));
    let mut heights = vec![0.0; lines.len()];
    let mut lowest = TOP;
    for place in &order {
        heights[*place] = wanted(&lines[*place]).max(lowest);
        lowest = heights[*place] + LABEL_HEIGHT;
    }
    let mut highest = scale.bottom;
    for place in order.iter().rev() {
        heights[*place] = heights[*place].min(highest);
        highest = heights[*place] - LABEL_HEIGHT;
    }
    heights
}

/// At most seven round numbers from 0 to the highest.
fn steps(highest: u32) -> Vec<u32> {
    let sizes = [1, 2, 5, 10, 20, 25, 50].into_iter();
    let scales = (0..8).map(|power| 10_u32.pow(power));
    let step = scales
        .flat_map(|scale| sizes.clone().map(move |size| size * scale))
        .find(|step| highest / step <= 6);
    let step = step.unwrap_or(u32::MAX);
    (0..=highest / step).map(|count| count * step).collect()
}

fn tenth(value: f64) -> String {
    format!("{value:.1}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::PlayerRef;
    use league_protocol::id::PlayerId;

    fn line(points: Vec<u32>) -> ChartLine {
        ChartLine {
            player: PlayerRef {
                id: PlayerId::numbered(1),
                name: "Ada".to_owned(),
            },
            points,
        }
    }

    #[test]
    fn player_keeps_its_colour_at_any_rank() {
        let of = |numbers: &[u32]| {
            let lines: Vec<ChartLine> = numbers
                .iter()
                .map(|number| ChartLine {
                    player: PlayerRef {
                        id: PlayerId::numbered(*number),
                        name: String::new(),
                    },
                    points: vec![0, 1],
                })
                .collect();
            colours(&lines)
        };
        assert_eq!(of(&[1, 2, 3, 4, 5, 6, 7, 8]), [0, 1, 2, 3, 4, 5, 6, 7]);
        assert_eq!(of(&[8, 3, 1]), [7, 2, 0]);
        let mut many = of(&[11, 2, 20, 29, 38, 47, 56, 65]);
        many.sort_unstable();
        assert_eq!(many, [0, 1, 2, 3, 4, 5, 6, 7], "no two have the same");
    }

    #[test]
    fn names_do_not_overlap() {
        let lines = vec![line(vec![0, 5]); COLOURED];
        let scale = Scale::of(&[&[0, 5]], 1, HEIGHT);
        let mut heights = label_heights(&lines, &scale);
        heights.sort_by(f64::total_cmp);
        let gaps = heights.windows(2).map(|pair| pair[1] - pair[0]);
        assert!(gaps.into_iter().all(|gap| gap >= LABEL_HEIGHT));
        assert!(heights.iter().all(|height| (TOP..=HEIGHT).contains(height)));
    }

    #[test]
    fn long_line_is_thinned_out_and_keeps_its_ends() {
        let points: Vec<u32> = (0..=10_000).collect();
        let scale = Scale::of(&[&points], 10_000, HEIGHT);
        let path = scale.path(&points, MAX_GREY_POINTS);
        assert_eq!(path.matches('L').count(), MAX_GREY_POINTS);
        assert!(
            path.starts_with("M44 326.0") && path.ends_with("L600 14.0"),
            "{path}"
        );
    }

    #[test]
    fn steps_are_round_and_few() {
        for highest in [1, 6, 7, 66, 399, 1_000_000, u32::MAX] {
            let steps = steps(highest);
            assert!((2..=7).contains(&steps.len()), "{highest}: {steps:?}");
        }
        assert_eq!(steps(72), [0, 20, 40, 60]);
    }

    #[test]
    fn first_rounds_of_a_long_league_fill_the_chart() {
        assert_eq!(shown_rounds(30, 399), 37);
        assert_eq!(shown_rounds(1, 399), MIN_ROUNDS);
        assert_eq!(shown_rounds(200, 399), 399);
        assert_eq!(shown_rounds(1, 3), 3);
    }
}
