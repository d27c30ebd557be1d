//! The tools of all peers under names that each mean one tool.

use std::collections::BTreeMap;

use league_protocol::peer::ToolList;

/// The most tools that are named.
pub(crate) const MOST_NAMES: usize = 1_024;

/// The tools of several servers.
#[derive(Debug, Default)]
pub(crate) struct Registry {
    /// Which servers offer a tool of this name.
    servers: BTreeMap<String, Vec<String>>,
}

impl Registry {
    /// Adds the tools of a server.
    pub(crate) fn add(&mut self, server: &str, tools: &ToolList) {
        for tool in tools.names() {
            let servers = self.servers.entry(tool.to_owned()).or_default();
            servers.push(server.to_owned());
        }
    }

    /// A name for each tool: its own, or `server.tool` where several servers offer it.
    pub(crate) fn names(&self) -> Vec<String> {
        let named = |(tool, servers): (&String, &Vec<String>)| -> Vec<String> {
            match &servers[..] {
                [_] => vec![tool.clone()],
                _ => servers
                    .iter()
                    .map(|server| format!("{server}.{tool}"))
                    .collect(),
            }
        };
        self.servers
            .iter()
            .flat_map(named)
            .take(MOST_NAMES)
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use league_protocol::peer::{HttpReply, Probe, ProbeStep};
    use serde_json::json;

    use super::*;

    fn tools(names: &[&str]) -> ToolList {
        let tools: Vec<_> = names.iter().map(|name| json!({"name": name})).collect();
        let answers = [
            json!({"jsonrpc": "2.0", "id": 1, "result": {"supportedVersions": ["2026-07-28"]}}),
            json!({"jsonrpc": "2.0", "id": 2, "result": {"tools": tools}}),
        ];
        let (mut probe, mut step) = Probe::begin(1);
        for answer in answers {
            let body = answer.to_string();
            let reply = HttpReply {
                status: 200,
                session: None,
                body: body.as_bytes(),
            };
            step = probe.hear(Some(&reply), 2);
        }
        match step {
            ProbeStep::Found(found) => found.tools.unwrap(),
            ProbeStep::Ask(_) => panic!("it has all it needs"),
        }
    }

    #[test]
    fn a_name_that_two_servers_use_is_told_with_the_server() {
        let mut registry = Registry::default();
        registry.add("player:P01", &tools(&["choose_parity", "sing"]));
        registry.add("player:P02", &tools(&["choose_parity"]));
        assert_eq!(
            registry.names(),
            [
                "player:P01.choose_parity",
                "player:P02.choose_parity",
                "sing"
            ]
        );
    }
}
