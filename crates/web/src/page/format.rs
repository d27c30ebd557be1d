//! Texts and small elements that all pages share: numbers, times, names, states and outcomes.

use std::time::Duration;

use league_core::league::{AgentState, Phase};
use league_protocol::time::Timestamp;
use maud::{Markup, html};

use crate::model::{LatencySummary, PlayerRef, SeatOutcome, TileState};

/// A number with separated thousands: `9,500`.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A count with its noun: `1 player`, `2 players`.
pub(crate) fn counted(number: u64, one: &str, many: &str) -> String {
    let thing = if number == 1 { one } else { many };
    format!("{} {thing}", grouped(number))
}

/// Cuts a text to at most `max` characters, with an ellipsis.
pub(crate) fn cut(text: &str, max: usize) -> String {
    match text.char_indices().nth(max) {
        Some((end, _)) => format!("{}…", text[..end].trim_end()),
        None => text.to_owned(),
    }
}

/// A duration in at most two units: `840 ms`, `12 s`, `3 min 20 s`, `2 h 5 min`.
pub(crate) fn duration(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds {
        0 => format!("{} ms", time.as_millis()),
        1..60 => format!("{seconds} s"),
        60..3_600 => format!("{} min {} s", seconds / 60, seconds % 60),
        _ => format!("{} h {} min", grouped(seconds / 3_600), seconds / 60 % 60),
    }
}

/// The time of day, with the full timestamp for machines.
pub(crate) fn time_of_day(at: Timestamp) -> Markup {
    let text = at.to_seconds_text();
    html! { time datetime=(at.to_millis_text()) { (text.get(11..19).unwrap_or(&text)) } }
}

/// Day and time, in UTC.
pub(crate) fn moment(at: Timestamp) -> Markup {
    let text = at.to_seconds_text();
    let words = match (text.get(..10), text.get(11..19)) {
        (Some(day), Some(time)) => format!("{day} {time} UTC"),
        _ => text,
    };
    html! { time datetime=(at.to_millis_text()) { (words) } }
}

/// The time since a start: `+1.204 s`.
pub(crate) fn offset(at: Timestamp, start: Timestamp) -> String {
    let millis = at.since(start).as_millis();
    format!("+{}.{:03} s", millis / 1_000, millis % 1_000)
}

/// A name, isolated from the writing direction of the text around it.
pub(crate) fn name(named: &PlayerRef) -> Markup {
    html! { bdi { @if named.name.is_empty() { (named.id) } @else { (named.name) } } }
}

/// Median and 95th percentile, in milliseconds.
pub(crate) fn latency(latency: Option<LatencySummary>) -> String {
    match latency {
        Some(LatencySummary { median, p95, .. }) => {
            format!("{} / {} ms", millis(median), millis(p95))
        }
        None => "–".to_owned(),
    }
}

fn millis(value: f64) -> String {
    if value < 10.0 {
        format!("{value:.1}")
    } else {
        format!("{value:.0}")
    }
}

pub(crate) const fn phase(phase: Phase) -> &'static str {
    match phase {
        Phase::Registering => "Registration is open",
        Phase::Running => "Being played",
        Phase::Completed => "Finished",
    }
}

/// The state of an agent; `over` says that the league is.
pub(crate) const fn agent_state(state: AgentState, over: bool) -> &'static str {
    match state {
        AgentState::Registered | AgentState::Active if over => "finished",
        AgentState::Registered => "registered",
        AgentState::Active => "active",
        AgentState::Suspended => "silent",
        AgentState::Shutdown => "out",
    }
}

pub(crate) const fn tile_state(state: TileState) -> &'static str {
    match state {
        TileState::Drawing => "deciding",
        TileState::Choosing => "choosing",
        TileState::Inviting => "inviting",
        TileState::Ordered => "called",
        TileState::Queued => "queued",
        TileState::Waiting => "waiting for a referee",
    }
}

/// The class that gives a state its colour.
pub(crate) const fn tile_class(state: TileState) -> &'static str {
    match state {
        TileState::Drawing => "drawing",
        TileState::Choosing => "choosing",
        TileState::Inviting => "inviting",
        TileState::Ordered => "ordered",
        TileState::Queued => "queued",
        TileState::Waiting => "waiting",
    }
}

/// The letter of an outcome, which is also its class in lower case.
pub(crate) const fn mark_letter(outcome: SeatOutcome) -> &'static str {
    match outcome {
        SeatOutcome::Won => "W",
        SeatOutcome::Drew => "D",
        SeatOutcome::Lost => "L",
        SeatOutcome::Forfeited => "T",
    }
}

/// The class that gives the letter its shape.
pub(crate) const fn mark_class(outcome: SeatOutcome) -> &'static str {
    match outcome {
        SeatOutcome::Won => "w",
        SeatOutcome::Drew => "d",
        SeatOutcome::Lost => "l",
        SeatOutcome::Forfeited => "t",
    }
}

/// An outcome as a letter with a shape and a colour.
pub(crate) fn mark(outcome: SeatOutcome) -> Markup {
    html! { b class=(mark_class(outcome)) { (mark_letter(outcome)) } }
}

/// The marks of the last matches, oldest first.
pub(crate) fn form(form: &[SeatOutcome]) -> Markup {
    html! { @for outcome in form { (mark(*outcome)) } }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_separated() {
        let all = [0, 999, 1_000, 12_345_678].map(grouped);
        assert_eq!(all, ["0", "999", "1,000", "12,345,678"]);
    }

    #[test]
    fn long_text_is_cut_between_characters() {
        assert_eq!(cut("über alles", 5), "über…");
        assert_eq!(cut("über", 4), "über");
    }

    #[test]
    fn duration_has_at_most_two_units() {
        let all = [840, 12_000, 200_000, 7_500_000].map(Duration::from_millis);
        let words = all.map(duration);
        assert_eq!(words, ["840 ms", "12 s", "3 min 20 s", "2 h 5 min"]);
    }

    #[test]
    fn offset_has_milliseconds() {
        let start = Timestamp::from_millis(1_000);
        assert_eq!(offset(Timestamp::from_millis(3_093), start), "+2.093 s");
    }
}
