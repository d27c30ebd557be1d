//! Everyone that takes part, and how it does as a program.

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

/// A row for each agent of a league that may be over.
pub(super) fn rows(agents: &[Agent], over: bool, links: Links) -> Vec<Item> {
    let row = |agent: &Agent| {
        let key = format!("agent-{}", agent.id);
        let html = row(&key, agent, over, links).into_string();
        Item { key, html }
    };
    agents.iter().map(row).collect()
}

fn row(key: &str, agent: &Agent, over: bool, links: Links) -> Markup {
    let state = agent_state(agent.state, over);
    let player = PlayerId::new(&agent.id).ok().filter(|_| !agent.is_referee);
    html! {
        tr id=(key) {
            th scope="row" {
                @match player {
                    Some(id) => a href=(links.of_player(&id)) { bdi { (agent.name) } },
                    None => bdi { (agent.name) },
                }
                span.id { (agent.id) }
            }
            td { @if agent.is_referee { "referee" } @else { "player" } }
            td class=(state) { (state) }
            td { (agent.dialect) }
            td { bdi { (agent.version) } }
            td { (latency(agent.latency)) }
            td {
                (grouped(u64::from(agent.technical_losses)))
                @if agent.is_referee && agent.technical_losses > 0 { " taken away" }
            }
            td { (grouped(agent.deviations)) }
        }
    }
}
