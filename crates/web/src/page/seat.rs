//! The page of a person who plays: the form to join, and the seat with position, moves and clock.
//!
//! The seat is drawn anew with each change; the script only puts it in place.

use std::time::Duration;

use league_games::{Picture, SeatPicture};
use maud::{DOCTYPE, Markup, html};
use serde_json::Value;

use super::format::{duration, mark};
use super::picture::picture;
use super::{Links, common_head, footer, header};
use crate::model::{DrawnPosition, SeatOutcome};

/// A longer move needs a wide button, in bytes.
const MAX_SHORT: usize = 3;

/// The seat of a person, as the person may see it.
#[derive(Debug, Clone)]
pub struct SeatPage {
    pub name: String,
    /// Its player in the league, once it is in.
    pub player_id: Option<String>,
    pub stage: SeatStage,
    /// The last move that was wanted of the seat.
    pub last_move: Option<SeatMove>,
    /// The last move was the strategy's, as the person did not move in time.
    pub missed: bool,
    /// Who moves if the person does not.
    pub fallback: &'static str,
    /// The latest results, the last one first.
    pub results: Vec<SeatResult>,
    /// Rank, points and the number of players, once there are standings.
    pub rank: Option<(u32, u32, usize)>,
}

/// What a seat waits for.
#[derive(Debug, Clone)]
pub enum SeatStage {
    /// The player is not in the league yet.
    Registering,
    /// The manager did not admit the player, for this reason.
    Rejected(String),
    /// Other players are to move.
    Waiting,
    Turn(Box<SeatTurn>),
    /// The person left the seat.
    Left,
    Over,
}

/// A wanted move.
#[derive(Debug, Clone)]
pub struct SeatTurn {
    pub match_id: String,
    pub number: u32,
    pub opponent: String,
    pub opponent_id: String,
    /// What the opponent did since the last turn.
    pub answered: Vec<String>,
    pub drawn: SeatPicture,
    pub options: Vec<Value>,
    pub time_left: Duration,
    pub game: &'static str,
    pub rules: &'static str,
}

/// A move that was made, and the position that followed.
#[derive(Debug, Clone)]
pub struct SeatMove {
    pub match_id: String,
    pub opponent: String,
    /// What the person chose; `None` if the strategy did.
    pub choice: Option<String>,
    pub drawn: SeatPicture,
    /// How the match ended, once it is over.
    pub outcome: Option<SeatOutcome>,
}

/// The result of a match of this seat.
#[derive(Debug, Clone)]
pub struct SeatResult {
    pub match_id: String,
    pub opponent: String,
    pub outcome: SeatOutcome,
}

/// The document in which a person joins and plays.
pub fn seat_page(league: &str) -> String {
    let markup = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                (common_head(&format!("Play in {league}")))
                link rel="icon" href="assets/icon.svg" type="image/svg+xml";
                link rel="stylesheet" href="assets/style.css";
                link rel="stylesheet" href="assets/details.css";
                link rel="stylesheet" href="assets/seat.css";
                script type="module" src="assets/seat.js" {}
            }
            body data-page="seat" {
                a.skip href="#main" { "Skip to the content" }
                (header(Links::Site))
                main #main tabindex="-1" {
                    noscript { p { "To play here, allow JavaScript for this page." } }
                    p #note .note role="alert" {}
                    form #join .join hidden {
                        h1 { "Take a seat in " bdi { (league) } }
                        label { "Your name" input #name name="name" required maxlength="64" autocomplete="nickname"; }
                        label { "Code" input #code name="code" required maxlength="32" autocomplete="off" autocapitalize="characters" spellcheck="false"; }
                        button type="submit" { "Join" }
                    }
                    div #seat {}
                }
                (footer())
            }
        }
    };
    markup.into_string()
}

/// The seat itself, which the script puts into the document.
pub fn seat(page: &SeatPage) -> String {
    let who = page.player_id.as_deref().unwrap_or("not in the league yet");
    let markup = html! {
        section.seat aria-label="Your seat" {
            p.who { bdi { (page.name) } " " span.id { (who) } }
            @if page.missed {
                p.missed { "Your time was over: the strategy " (page.fallback) " moved for you." }
            }
            (stage(page))
        }
        @if !page.results.is_empty() {
            section.results {
                h2 { "Your results" }
                ul { @for result in &page.results {
                    li {
                        (mark(result.outcome)) " against " bdi { (result.opponent) } " "
                        a href={ "match/" (result.match_id) } { (result.match_id) }
                    }
                } }
            }
        }
        p.links {
            @if let Some((rank, points, players)) = page.rank {
                "Rank " (rank) " of " (players) " with " (points) " points. "
            }
            a href="./" { "Standings" }
            @if matches!(page.stage, SeatStage::Waiting | SeatStage::Turn(_)) {
                " " button.leave type="button" data-leave { "Leave the seat" }
            }
        }
    };
    markup.into_string()
}

fn stage(page: &SeatPage) -> Markup {
    html! {
        @match &page.stage {
            SeatStage::Registering => { h1 { "Joining the league" } },
            SeatStage::Rejected(reason) => {
                h1 { "The league did not admit you" }
                p { bdi { (reason) } }
            },
            SeatStage::Waiting => {
                h1 { "Please wait" }
                p { "Your next move is not wanted yet. This page changes by itself." }
                (last_move(page))
            },
            SeatStage::Left => {
                h1 { "You left the seat" }
                p { "The strategy " (page.fallback) " makes your moves." }
                button.choice type="button" data-return { "Take the seat again" }
            },
            SeatStage::Over => {
                h1 { "The league is over" }
                p { "Thank you for playing." }
                (last_move(page))
            },
            SeatStage::Turn(wanted) => (turn(wanted)),
        }
    }
}

/// What the seat saw last, so that a person who waits has the board before the eyes.
fn last_move(page: &SeatPage) -> Markup {
    let Some(made) = &page.last_move else {
        return html! {};
    };
    html! {
        p.made {
            @if let Some(outcome) = made.outcome {
                (made.match_id) " against " bdi { (made.opponent) } " is over: " (ending(outcome)) "."
            } @else if let Some(choice) = &made.choice {
                "You chose " strong { (choice) } " against " bdi { (made.opponent) } " in " (made.match_id) "."
            } @else {
                (made.match_id) " against " bdi { (made.opponent) } "."
            }
        }
        (position(&made.drawn))
    }
}

const fn ending(outcome: SeatOutcome) -> &'static str {
    match outcome {
        SeatOutcome::Won => "you won",
        SeatOutcome::Drew => "a draw",
        SeatOutcome::Lost | SeatOutcome::LostByRuling => "you lost",
        SeatOutcome::Forfeited => "you lost by not playing",
        SeatOutcome::NotCounted => "it does not count",
    }
}

fn position(drawn: &SeatPicture) -> Markup {
    let position = DrawnPosition {
        picture: drawn.picture.clone(),
        changed: Vec::new(),
        seats: Vec::new(),
    };
    html! {
        @if drawn.picture != Picture::default() { figure { (picture(&position)) } }
        @if !drawn.facts.is_empty() {
            dl.view { @for (name, value) in &drawn.facts {
                div { dt { (name) } dd { bdi { (value) } } }
            } }
        }
    }
}

fn turn(turn: &SeatTurn) -> Markup {
    let has_words = turn
        .options
        .iter()
        .any(|option| label(option).len() > MAX_SHORT);
    html! {
        h1 { "Your move" }
        p.against {
            "Against " a href={ "player/" (turn.opponent_id) } { bdi { (turn.opponent) } } " in " (turn.match_id) ", move " (turn.number) ". "
            span.clock data-left-ms=(turn.time_left.as_millis()) { (duration(turn.time_left)) }
            " left."
        }
        @if !turn.answered.is_empty() {
            p.answered { bdi { (turn.opponent) } " chose " strong { (turn.answered.join(", ")) } "." }
        }
        (position(&turn.drawn))
        div.moves.words[has_words] role="group" aria-label="Your legal moves" {
            @for option in &turn.options {
                button.choice type="button" data-match=(turn.match_id) data-number=(turn.number)
                    data-choice=(option) { (label(option)) }
            }
        }
        details.rules {
            summary { "Rules of " (turn.game) }
            @for part in turn.rules.lines() { p { (part) } }
        }
    }
}

/// A move as people read it.
pub fn label(option: &Value) -> String {
    match option {
        Value::String(text) => text.replace('_', " "),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn page(stage: SeatStage) -> SeatPage {
        SeatPage {
            name: "<b>Ada".to_owned(),
            player_id: Some("P02".to_owned()),
            stage,
            last_move: None,
            missed: false,
            fallback: "random",
            results: Vec::new(),
            rank: None,
        }
    }

    #[test]
    fn turn_offers_each_legal_move_as_a_button() {
        let options = vec![json!("rock"), json!({"bid": 2})];
        let turn = SeatTurn {
            match_id: "R1M1".to_owned(),
            number: 3,
            opponent: "<i>Eve".to_owned(),
            opponent_id: "P01".to_owned(),
            answered: vec!["paper".to_owned()],
            drawn: SeatPicture::of(&json!({"pot": 2}), &options),
            options,
            time_left: Duration::from_secs(90),
            game: "a game",
            rules: "Be fair.",
        };
        let shown = seat(&page(SeatStage::Turn(Box::new(turn))));
        for part in [
            r#"data-match="R1M1" data-number="3" data-choice="&quot;rock&quot;">rock</button>"#,
            r#"data-choice="{&quot;bid&quot;:2}">{&quot;bid&quot;:2}</button>"#,
            r#"<span class="clock" data-left-ms="90000">1 min 30 s</span>"#,
            "&lt;b&gt;Ada",
            "&lt;i&gt;Eve",
            "<dt>pot</dt>",
            "Be fair.",
        ] {
            assert!(shown.contains(part), "no {part} in {shown}");
        }
    }

    #[test]
    fn board_stays_after_the_own_move_and_after_the_match() {
        let mut page = page(SeatStage::Waiting);
        let board = json!({"board": ["X", null, null, null], "your_mark": "X"});
        page.last_move = Some(SeatMove {
            match_id: "R1M1".to_owned(),
            opponent: "<i>Eve".to_owned(),
            choice: Some("0".to_owned()),
            drawn: SeatPicture::of(&board, &[json!(1)]),
            outcome: None,
        });
        let shown = seat(&page);
        for part in [
            "You chose <strong>0</strong>",
            "&lt;i&gt;Eve",
            "<figure>",
            "<dd>",
        ] {
            assert!(shown.contains(part), "no {part} in {shown}");
        }
        page.stage = SeatStage::Over;
        page.last_move.as_mut().unwrap().outcome = Some(SeatOutcome::Won);
        let shown = seat(&page);
        assert!(shown.contains("is over: you won."), "{shown}");
        assert!(shown.contains("<figure>"), "{shown}");
    }

    #[test]
    fn only_a_turn_has_moves() {
        for stage in [
            SeatStage::Registering,
            SeatStage::Rejected("full".to_owned()),
            SeatStage::Waiting,
            SeatStage::Left,
            SeatStage::Over,
        ] {
            let shown = seat(&page(stage));
            assert!(!shown.contains("data-choice"), "{shown}");
        }
    }
}
