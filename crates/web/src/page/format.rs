//! Texts and small elements that all pages share: numbers, times, names, states and outcomes.

use std::time::Duration;

use league_core::league::{AgentState, Phase};
use league_protocol::time::Timestamp;
use maud::{Markup, html};

use super::face::face;
use crate::model::{LatencySummary, PlayerRef, SeatOutcome, TileState};

/// When a round begins that has no set time, or whose time has come.
pub(crate) const AFTER_THIS_ROUND: &str = "when this round is over";

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

/// When something begins; the script counts down to it, and then says `after`.
pub(crate) fn countdown(at: Timestamp, after: &str) -> Markup {
    html! { span.countdown data-until-ms=(at.as_millis()) data-after=(after) { "at " (time_of_day(at)) } }
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

/// A face and a name.
pub(crate) fn name(named: &PlayerRef) -> Markup {
    html! { (face(&named.id)) (bare_name(named)) }
}

/// A name, isolated from the writing direction of the text around it.
pub(crate) fn bare_name(named: &PlayerRef) -> Markup {
    html! { bdi { @if named.name.is_empty() { (named.id) } @else { (named.name) } } }
}

/// A sentence of a referee, with the names of players in place of their ids.
pub(crate) fn sentence(text: &str, players: &[PlayerRef]) -> Markup {
    let is_id = |letter: char| letter.is_ascii_alphanumeric() || letter == '_' || letter == '-';
    let mut rest = text;
    let mut pieces = Vec::new();
    while let Some(first) = rest.chars().next() {
        let inside = is_id(first);
        let end = rest.find(|letter| is_id(letter) != inside);
        let (piece, after) = rest.split_at(end.unwrap_or(rest.len()));
        let named = players.iter().find(|player| player.id.as_str() == piece);
        pieces.push((piece, named));
        rest = after;
    }
    html! {
        bdi { @for (piece, named) in pieces {
            @match named { Some(player) => (bare_name(player)), None => (piece) }
        } }
    }
}

/// A rank in words: `1st`, `12th`, `23rd`.
pub(crate) fn ordinal(rank: u32) -> String {
    let ending = match (rank % 10, rank % 100) {
        (_, 11..=13) => "th",
        (1, _) => "st",
        (2, _) => "nd",
        (3, _) => "rd",
        _ => "th",
    };
    format!("{rank}{ending}")
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
        TileState::Dropped => "not played",
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
        TileState::Waiting | TileState::Dropped => "waiting",
    }
}

/// The letter of an outcome, which is also its class in lower case.
pub(crate) const fn mark_letter(outcome: SeatOutcome) -> &'static str {
    match outcome {
        SeatOutcome::Won => "W",
        SeatOutcome::Drew => "D",
        SeatOutcome::Lost | SeatOutcome::LostByRuling => "L",
        SeatOutcome::Forfeited => "T",
        SeatOutcome::NotCounted => "–",
    }
}

/// The class that gives the letter its shape.
pub(crate) const fn mark_class(outcome: SeatOutcome) -> &'static str {
    match outcome {
        SeatOutcome::Won => "w",
        SeatOutcome::Drew => "d",
        SeatOutcome::Lost | SeatOutcome::LostByRuling => "l",
        SeatOutcome::Forfeited => "t",
        SeatOutcome::NotCounted => "n",
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
    fn ids_in_a_sentence_become_names() {
        let player = |number: u32, name: &str| PlayerRef {
            id: league_protocol::id::PlayerId::numbered(number),
            name: name.to_owned(),
        };
        let players = [player(1, "Ada"), player(2, "<i>")];
        let text = sentence("P01 beat P02; P011 and xP01 (P02) are others", &players);
        assert_eq!(
            text.into_string(),
            "<bdi><bdi>Ada</bdi> beat <bdi>&lt;i&gt;</bdi>; P011 and xP01 \
             (<bdi>&lt;i&gt;</bdi>) are others</bdi>"
        );
    }

    #[test]
    fn ranks_have_their_endings() {
        let all = [1, 2, 3, 4, 11, 12, 13, 21, 102, 113].map(ordinal);
        let expected = [
            "1st", "2nd", "3rd", "4th", "11th", "12th", "13th", "21st", "102nd", "113th",
        ];
        assert_eq!(all, expected);
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
