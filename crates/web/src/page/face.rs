//! A colour and a face for each player, drawn from its id. Every page defines the shapes once
//! ([`shapes`]); a face refers to them, so that it takes few bytes wherever it is shown.

use league_protocol::id::PlayerId;
use maud::{Markup, PreEscaped, html};

const HEADS: [&str; 3] = [
    r#"<circle cx="12" cy="12" r="11"/>"#,
    r#"<rect x="1.5" y="1.5" width="21" height="21" rx="6"/>"#,
    r#"<path d="M12 1l10 6v10l-10 6l-10 -6v-10z"/>"#,
];
const EYES: [&str; 5] = [
    r#"<circle cx="8" cy="10" r="1.8"/><circle cx="16" cy="10" r="1.8"/>"#,
    r#"<circle cx="8" cy="10" r="3"/><circle cx="16" cy="10" r="3"/>"#,
    r#"<path d="M5.5 10.8q2.5 -3.6 5 0M13.5 10.8q2.5 -3.6 5 0" fill="none" stroke-width="2" stroke-linecap="round"/>"#,
    r#"<rect x="6.2" y="7.6" width="3" height="4.6" rx="1"/><rect x="14.8" y="7.6" width="3" height="4.6" rx="1"/>"#,
    r#"<path d="M4 8h16v2q0 3 -3.5 3t-3.5 -3h-2q0 3 -3.5 3t-3.5 -3z"/>"#,
];
const MOUTHS: [&str; 7] = [
    r#"<path d="M7.5 16q4.5 4 9 0" fill="none" stroke-width="2" stroke-linecap="round"/>"#,
    r#"<path d="M8 17h8" fill="none" stroke-width="2" stroke-linecap="round"/>"#,
    r#"<path d="M7 15.5h10q-1 5 -5 5t-5 -5z"/>"#,
    r#"<circle cx="12" cy="17" r="2.2"/>"#,
    r#"<path d="M8 18q4 -3.4 8 0" fill="none" stroke-width="2" stroke-linecap="round"/>"#,
    r#"<path d="M7.5 16.4l3 1.6l3 -1.6l3 1.6" fill="none" stroke-width="2" stroke-linecap="round"/>"#,
    r#"<path d="M10 16.5q4 2.6 6.5 -1" fill="none" stroke-width="2" stroke-linecap="round"/>"#,
];
/// Colours in `style.css`.
const COLOURS: u64 = 12;

/// The shapes of all faces, for the head of a page.
pub(crate) fn shapes() -> Markup {
    let kinds = [("fh", &HEADS[..]), ("fe", &EYES), ("fm", &MOUTHS)];
    html! {
        svg.shapes aria-hidden="true" {
            @for (kind, all) in kinds { @for (number, shape) in all.iter().enumerate() {
                symbol id={ (kind) (number) } viewBox="0 0 24 24" { (PreEscaped(*shape)) }
            } }
        }
    }
}

/// The face of a player; the name beside it says who that is.
///
/// The numbers of colours, eyes and mouths have no common factor, so 420 players in a row look
/// different.
pub(crate) fn face(id: &PlayerId) -> Markup {
    let number = number(id);
    let part = |of: usize| usize::try_from(number % of as u64).unwrap_or(0);
    let head = usize::try_from(number / COLOURS % HEADS.len() as u64).unwrap_or(0);
    html! {
        svg class={ "face " (colour(id)) } viewBox="0 0 24 24" aria-hidden="true" {
            use href={ "#fh" (head) } {}
            use href={ "#fe" (part(EYES.len())) } {}
            use href={ "#fm" (part(MOUTHS.len())) } {}
        }
    }
}

/// The class that gives a player its colour.
pub(crate) fn colour(id: &PlayerId) -> String {
    format!("c{}", number(id) % COLOURS)
}

/// The number in an id such as `P07`; of any other id a hash (FNV-1a).
fn number(id: &PlayerId) -> u64 {
    let text = id.as_str();
    let digits = text.trim_start_matches(|letter: char| !letter.is_ascii_digit());
    digits.parse().unwrap_or_else(|_| {
        text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        })
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn four_hundred_players_have_different_faces() {
        let faces = (1..=400).map(|number| face(&PlayerId::numbered(number)).into_string());
        assert_eq!(faces.collect::<BTreeSet<_>>().len(), 400);
    }

    #[test]
    fn an_id_without_a_number_has_a_face_too() {
        let [one, other] = ["ada", "grace"].map(|id| PlayerId::new(id).unwrap());
        assert_ne!(face(&one).into_string(), face(&other).into_string());
        assert_eq!(face(&one).into_string(), face(&one).into_string());
    }
}
