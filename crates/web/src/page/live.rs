//! A running match as its referee shows it: the position, whose move is awaited, and the clock.

use league_core::referee::SpectatorView;
use league_games::Picture;
use maud::{Markup, html};

use super::format::{bare_name, time_of_day};
use super::picture::picture;
use crate::model::{DrawnPosition, PlayerRef};

/// A match that is being played.
pub(crate) fn live(shown: &SpectatorView, players: &[PlayerRef; 2]) -> Markup {
    html! {
        div.live {
            @if !shown.position.rows.is_empty() { (position(&shown.position)) }
            p.turn { (turn(shown, players)) (clock(shown)) }
        }
    }
}

fn position(picture_of: &Picture) -> Markup {
    picture(&DrawnPosition {
        picture: picture_of.clone(),
        changed: Vec::new(),
        seats: Vec::new(),
    })
}

fn turn(shown: &SpectatorView, [a, b]: &[PlayerRef; 2]) -> Markup {
    html! {
        @match shown.awaited {
            [true, true] => "Both choose",
            [true, false] => { (bare_name(a)) " chooses" },
            [false, true] => { (bare_name(b)) " chooses" },
            [false, false] => "All choices are in",
        }
    }
}

/// The time that is left; the script counts it down.
fn clock(shown: &SpectatorView) -> Markup {
    html! {
        @if let Some(deadline) = shown.deadline {
            ", " span.countdown data-until-ms=(deadline.as_millis()) { "until " (time_of_day(deadline)) }
        }
    }
}

#[cfg(test)]
mod tests {
    use league_protocol::id::{MatchId, PlayerId};
    use league_protocol::time::Timestamp;

    use super::*;

    #[test]
    fn turn_says_who_has_to_choose() {
        let player = |number, name: &str| PlayerRef {
            id: PlayerId::numbered(number),
            name: name.to_owned(),
        };
        let players = [player(1, "Ada"), player(2, "Grace")];
        let told = |awaited| {
            let shown = SpectatorView {
                match_id: MatchId::numbered(1, 1),
                attempt: 1,
                awaited,
                deadline: None,
                position: Picture::default(),
            };
            live(&shown, &players).into_string()
        };
        let turn = |words: &str| format!(r#"<div class="live"><p class="turn">{words}</p></div>"#);
        assert_eq!(told([true, true]), turn("Both choose"));
        assert_eq!(told([true, false]), turn("<bdi>Ada</bdi> chooses"));
        assert_eq!(told([false, true]), turn("<bdi>Grace</bdi> chooses"));
        assert_eq!(told([false, false]), turn("All choices are in"));
    }

    #[test]
    fn clock_runs_to_the_deadline() {
        let told = |deadline| {
            clock(&SpectatorView {
                match_id: MatchId::numbered(1, 1),
                attempt: 1,
                awaited: [true, false],
                deadline,
                position: Picture::default(),
            })
            .into_string()
        };
        assert_eq!(told(None), "");
        let until = Timestamp::from_millis(1_800_000_000_000);
        let html = told(Some(until));
        assert!(html.contains("data-until-ms=\"1800000000000\""), "{html}");
    }
}
