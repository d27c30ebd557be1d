//! Everyone that takes part, and how it does as a program.

use league_core::league::AgentState;
use league_protocol::id::PlayerId;
use maud::{Markup, html};

use super::Links;
use super::words::{agent_state, grouped, latency};
use crate::model::Agent;
use crate::parts::Item;

/// The head of the table.
pub(super) fn head() -> Markup {
    html! {
        thead { tr {
            th.text scope="col" { "Agent" }
            th.text scope="col" { "Role" }
            th.text scope="col" { "State" }
            th.text scope="col" { "Speaks" }
            th.text scope="col" { "Version" }
            th scope="col" { abbr title="Median and 95th percentile" { "Latency" } }
            th scope="col" { abbr title="Matches lost by not playing; for a referee, matches taken from it" { "Technical" } }
            th scope="col" { abbr title="How often it left the protocol" { "Deviations" } }
        } }
    }
}

/// A row for each agent.
pub(super) fn rows(agents: &[Agent], links: Links) -> Vec<Item> {
    let row = |agent: &Agent| {
        let key = format!("agent-{}", agent.id);
        let html = row(&key, agent, links).into_string();
        Item { key, html }
    };
    agents.iter().map(row).collect()
}

fn row(key: &str, agent: &Agent, links: Links) -> Markup {
    let player = PlayerId::new(&agent.id).ok().filter(|_| !agent.is_referee);
    html! {
        tr id=(key) {
            th.who scope="row" {
                @match player {
                    Some(id) => a href=(links.of_player(&id)) { bdi { (agent.name) } },
                    None => bdi { (agent.name) },
                }
                span.id { (agent.id) }
            }
            td.text { @if agent.is_referee { "referee" } @else { "player" } }
            td.text { (state(agent.state)) }
            td.text { (agent.dialect) }
            td.text { bdi { (agent.version) } }
            td { (latency(agent.latency)) }
            td { (count(u64::from(agent.technical_losses))) }
            td { (count(agent.deviations)) }
        }
    }
}

/// A state in a word and a colour.
pub(super) fn state(state: AgentState) -> Markup {
    html! { span class={ "agent " (agent_state(state)) } { (agent_state(state)) } }
}

fn count(number: u64) -> Markup {
    html! { @if number == 0 { span.none { "0" } } @else { (grouped(number)) } }
}
