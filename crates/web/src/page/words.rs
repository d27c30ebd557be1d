//! Words for people: times, numbers, phases and states.

use std::time::Duration;

use league_core::league::{AgentState, Phase};
use league_protocol::time::Timestamp;
use maud::{Markup, html};

use crate::model::{Latency, Named, TileState};

/// A number with its thousands apart: `9,500`.
pub(super) fn grouped(number: u64) -> String {
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

/// A number of things: `1 player`, `2 players`.
pub(super) fn counted(number: u64, one: &str, many: &str) -> String {
    let thing = if number == 1 { one } else { many };
    format!("{} {thing}", grouped(number))
}

/// A text of at most so many characters, with a sign that it goes on.
pub(super) fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", text[..end].trim_end()),
        None => text.to_owned(),
    }
}

/// How long something takes: `840 ms`, `12 s`, `3 min 20 s`, `2 h 5 min`.
pub(super) fn duration(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds {
        0 => format!("{} ms", time.as_millis()),
        1..60 => format!("{seconds} s"),
        60..3_600 => format!("{} min {} s", seconds / 60, seconds % 60),
        _ => format!("{} h {} min", grouped(seconds / 3_600), seconds / 60 % 60),
    }
}

/// The time of day, with the whole moment for machines.
pub(super) fn time_of_day(at: Timestamp) -> Markup {
    let text = at.to_seconds_text();
    html! { time datetime=(at.to_millis_text()) { (text.get(11..19).unwrap_or(&text)) } }
}

/// Day and time, in UTC.
pub(super) fn moment(at: Timestamp) -> Markup {
    let text = at.to_seconds_text();
    let words = match (text.get(..10), text.get(11..19)) {
        (Some(day), Some(time)) => format!("{day} {time} UTC"),
        _ => text,
    };
    html! { time datetime=(at.to_millis_text()) { (words) } }
}

/// How much later one moment is than another: `+1.204 s`.
pub(super) fn offset(at: Timestamp, start: Timestamp) -> String {
    let millis = at.since(start).as_millis();
    format!("+{}.{:03} s", millis / 1_000, millis % 1_000)
}

/// A name kept apart from the text around it, whichever way it is written.
pub(super) fn name(named: &Named) -> Markup {
    html! { bdi { @if named.name.is_empty() { (named.id) } @else { (named.name) } } }
}

/// Median and 95th percentile, in milliseconds.
pub(super) fn latency(latency: Option<Latency>) -> String {
    match latency {
        Some(Latency { median, p95, .. }) => format!("{} / {} ms", millis(median), millis(p95)),
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

/// How far a league is.
pub(super) const fn phase(phase: Phase) -> &'static str {
    match phase {
        Phase::Registering => "Registration is open",
        Phase::Running => "Being played",
        Phase::Completed => "Finished",
    }
}

/// Whether an agent takes part, or did so to the end of a league that is over.
pub(super) const fn agent_state(state: AgentState, over: bool) -> &'static str {
    match state {
        AgentState::Registered | AgentState::Active if over => "finished",
        AgentState::Registered => "registered",
        AgentState::Active => "active",
        AgentState::Suspended => "silent",
        AgentState::Shutdown => "left",
    }
}

/// How far a match is.
pub(super) const fn tile_state(state: TileState) -> &'static str {
    match state {
        TileState::Drawing => "deciding",
        TileState::Choosing => "choosing",
        TileState::Inviting => "inviting",
        TileState::Ordered => "called",
        TileState::Queued => "queued",
        TileState::Waiting => "waiting for a referee",
    }
}

/// The class of a state, for its colour.
pub(super) const fn tile_class(state: TileState) -> &'static str {
    match state {
        TileState::Drawing => "drawing",
        TileState::Choosing => "choosing",
        TileState::Inviting => "inviting",
        TileState::Ordered => "ordered",
        TileState::Queued => "queued",
        TileState::Waiting => "waiting",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_stand_apart() {
        let all = [0, 999, 1_000, 12_345_678].map(grouped);
        assert_eq!(all, ["0", "999", "1,000", "12,345,678"]);
    }

    #[test]
    fn a_long_text_is_cut_between_two_characters() {
        assert_eq!(cut("über alles", 5), "über…");
        assert_eq!(cut("über", 4), "über");
    }

    #[test]
    fn a_duration_is_told_in_two_units_at_most() {
        let all = [840, 12_000, 200_000, 7_500_000].map(Duration::from_millis);
        let words = all.map(duration);
        assert_eq!(words, ["840 ms", "12 s", "3 min 20 s", "2 h 5 min"]);
    }

    #[test]
    fn the_time_since_the_first_message_has_milliseconds() {
        let start = Timestamp::from_millis(1_000);
        assert_eq!(offset(Timestamp::from_millis(3_093), start), "+2.093 s");
    }
}
