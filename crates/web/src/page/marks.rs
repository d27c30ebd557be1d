//! How a match ended for a player: a letter with a shape and a colour.

use maud::{Markup, html};

use crate::model::{Ended, Met};

/// The letter, which is also the class in lower case.
pub(super) const fn letter(ended: Ended) -> &'static str {
    match ended {
        Ended::Won => "W",
        Ended::Drew => "D",
        Ended::Lost => "L",
        Ended::Forfeited => "T",
    }
}

/// The class that gives the letter its shape.
pub(super) const fn class(ended: Ended) -> &'static str {
    match ended {
        Ended::Won => "w",
        Ended::Drew => "d",
        Ended::Lost => "l",
        Ended::Forfeited => "t",
    }
}

/// A mark.
pub(super) fn mark(ended: Ended) -> Markup {
    html! { b class=(class(ended)) { (letter(ended)) } }
}

/// The marks of the last matches, oldest first.
pub(super) fn form(form: &[Met]) -> Markup {
    html! { @for met in form { (mark(met.ended)) } }
}
