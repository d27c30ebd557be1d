//! The page of the organiser: the login with the key of the league, and a form for each lever.

use std::collections::BTreeMap;

use league_protocol::tools::{LEVERS, LeverEntry};
use maud::{Markup, html};

use super::Links;
use super::format::{counted, phase};
use crate::model::LeagueSummary;

/// What the organiser's page shows besides the forms.
#[derive(Debug, Clone, Default)]
pub struct OrganiserPage {
    /// The league, if it can be read.
    pub league: Option<LeagueSummary>,
    /// The ids and names of its agents, which fields suggest.
    pub agents: Vec<(String, String)>,
    /// The levers that can do nothing now, and why.
    pub idle: BTreeMap<&'static str, String>,
    /// What each form has to send back, so that no other site can pull a lever.
    pub form_token: String,
    /// What the last lever did, or why it could not be pulled.
    pub told: Option<Result<String, String>>,
}

/// Asks for the key.
pub(crate) fn login(problem: Option<&str>, links: Links) -> Markup {
    html! {
        section.summary {
            h1 { "Organiser" }
            p.lead { "Log in with the key of the league, which " code { "league admin key" } " prints on the machine of the manager." }
            @if let Some(problem) = problem { p.standstill role="alert" { (problem) } }
        }
        section.card {
            form.lever method="post" action={ (links.up()) "admin/login" } {
                p { label { span { "Key" } input type="password" name="key" required autocomplete="current-password" maxlength="200"; } }
                p { button type="submit" { "Log in" } }
            }
        }
    }
}

/// The levers.
pub(crate) fn main(page: &OrganiserPage) -> Markup {
    html! {
        section.summary {
            p.crumbs { a href=(Links::Site.board()) { "Board" } span { "Organiser" } }
            h1 { "Organiser" }
            @if let Some(league) = &page.league { (state(league)) }
            p.lead { "What you do here is written to the journal of the league and shown to all." }
            @match &page.told {
                Some(Ok(sentence)) => p.lead role="status" { strong { bdi { (sentence) } } },
                Some(Err(problem)) => p.standstill role="alert" { bdi { (problem) } },
                None => {}
            }
        }
        section.card {
            h2 { "Levers" }
            @for entry in &LEVERS {
                @if !page.idle.contains_key(entry.name) { (form(entry, &page.form_token)) }
            }
            datalist #agents { @for (id, name) in &page.agents { option value=(id) { (name) } } }
        }
        @if !page.idle.is_empty() {
            section.card {
                h2 { "Not possible now" }
                dl.idle { @for (why, levers) in idle(page) {
                    div { dt { (levers.join(", ")) } dd { (prose(why)) } }
                } }
            }
        }
        section.card {
            form method="post" action="admin/logout" {
                input type="hidden" name="form_token" value=(page.form_token);
                button type="submit" { "Log out" }
            }
        }
    }
}

/// The reasons why levers can do nothing now, and those levers in their usual order.
fn idle(page: &OrganiserPage) -> Vec<(&str, Vec<String>)> {
    let mut reasons: Vec<(&str, Vec<String>)> = Vec::new();
    for entry in &LEVERS {
        let Some(why) = page.idle.get(entry.name) else {
            continue;
        };
        match reasons.iter_mut().find(|(known, _)| known == why) {
            Some((_, levers)) => levers.push(words(entry.name)),
            None => reasons.push((why, vec![words(entry.name)])),
        }
    }
    reasons
}

/// Where the league stands.
fn state(league: &LeagueSummary) -> Markup {
    html! {
        p.lead {
            span { bdi { (league.title) } }
            span { (phase(league.phase)) @if league.paused { ", paused" } }
            span { (counted(league.players as u64, "player", "players")) }
            span { (counted(league.referees as u64, "referee", "referees")) }
            @if league.matches > 0 { span { "round " (league.round) ", " (league.played) " of " (counted(league.matches, "match", "matches")) } }
        }
    }
}

fn form(entry: &LeverEntry, form_token: &str) -> Markup {
    html! {
        details.lever {
            summary { strong { (words(entry.name)) } " " span { (prose(entry.sentence)) } }
            form method="post" action="admin/pull" autocomplete="off" {
                input type="hidden" name="form_token" value=(form_token);
                input type="hidden" name="lever" value=(entry.name);
                @for (name, about, needed) in entry.arguments { (field(name, about, *needed)) }
                p { label {
                    span { "Reason" @if !entry.needs_reason { " (may be empty)" } }
                    input name="reason" maxlength="500" required[entry.needs_reason];
                    small { "All viewers see it." }
                } }
                p { button type="submit" { (words(entry.name)) } }
            }
        }
    }
}

fn field(name: &str, about: &str, needed: bool) -> Markup {
    let is_question = matches!(name, "draw" | "both_lose");
    html! {
        p { label {
            span { (words(name)) @if !needed && !is_question { " (may be empty)" } }
            @match name {
                "player_id" | "agent" | "winner" => input name=(name) maxlength="500" required[needed] list="agents" autocapitalize="characters";,
                "names" => textarea name=(name) rows="6" {},
                "played" => select name=(name) { option value="kept" { "kept" } option value="annulled" { "annulled" } },
                _ if is_question => select name=(name) { option value="" { "no" } option value="true" { "yes" } },
                "players" | "waiting" | "seconds" => input type="number" min="0" name=(name) required[needed];,
                _ => input name=(name) maxlength="500" required[needed];,
            }
            small { (prose(about)) }
        } }
    }
}

/// A sentence with what stands in backticks as code.
fn prose(sentence: &str) -> Markup {
    html! { @for (place, piece) in sentence.split('`').enumerate() {
        @if place % 2 == 1 { code { (piece) } } @else { (piece) }
    } }
}

/// A name with its first letter large and spaces between its words.
fn words(name: &str) -> String {
    let spaced = name.replace('_', " ");
    let mut letters = spaced.chars();
    let first = letters.next().map(|first| first.to_ascii_uppercase());
    first.into_iter().chain(letters).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_levers_that_can_do_something_have_a_form() {
        let why = "the league has not begun".to_owned();
        let page = OrganiserPage {
            idle: BTreeMap::from([("annul", why.clone()), ("rule", why)]),
            ..OrganiserPage::default()
        };
        let shown = main(&page).into_string();
        assert!(shown.contains(r#"value="pause""#), "{shown}");
        assert!(!shown.contains(r#"value="annul""#), "{shown}");
        let told = "<dt>Annul, Rule</dt><dd>the league has not begun</dd>";
        assert!(shown.contains(told), "{shown}");
    }

    #[test]
    fn question_is_answered_with_no_or_yes() {
        let rule = LEVERS.iter().find(|entry| entry.name == "rule").unwrap();
        for question in ["draw", "both_lose"] {
            let (name, about, needed) = rule
                .arguments
                .iter()
                .find(|(name, ..)| *name == question)
                .unwrap();
            let shown = field(name, about, *needed).into_string();
            assert!(shown.contains("<option value=\"\">no</option>"), "{shown}");
            assert!(shown.contains("<small>Whether "), "{shown}");
            assert!(!shown.contains("may be empty"), "{shown}");
        }
    }
}
