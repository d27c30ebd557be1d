//! The tools that a peer lists: their names and inputs, and nothing of what it says about them.

use std::collections::BTreeMap;

use serde_json::Value;
use serde_json::value::RawValue;
use sha2::{Digest, Sha256};

use super::Inputs;
use crate::rpc::members::split;

/// The most tools of a peer that are kept.
pub const MOST_TOOLS: usize = 256;
/// The most pages of a list that are asked for.
pub const MOST_PAGES: usize = 16;
/// The largest schema of a tool that is read, in bytes; a tool with a larger one is sent all.
pub const LARGEST_SCHEMA: usize = 64 * 1024;
/// The longest name of a tool, in bytes.
const LONGEST_NAME: usize = 128;

/// Two names of the tool that asks for a move: the one of Even/Odd, and the one of every game.
const MOVES: [&str; 2] = ["choose_parity", "choose_move"];

/// The tools that a peer lists.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tools {
    inputs: BTreeMap<String, Inputs>,
    /// A digest of each tool, so that a change is noticed.
    digests: BTreeMap<String, [u8; 32]>,
}

impl Tools {
    /// Adds a page of the list; gives where the next one begins, or nothing if it is no list.
    pub(super) fn add(&mut self, page: &RawValue) -> Option<Option<String>> {
        let members = split(page.get()).ok()?;
        let tools: Vec<&RawValue> = serde_json::from_str(members.get("tools")?.get()).ok()?;
        for tool in tools {
            if self.inputs.len() >= MOST_TOOLS {
                return Some(None);
            }
            self.add_tool(tool);
        }
        let next = members
            .get("nextCursor")
            .and_then(crate::rpc::members::text);
        Some(next.map(|next| next.to_string()))
    }

    fn add_tool(&mut self, tool: &RawValue) -> Option<()> {
        let members = split(tool.get()).ok()?;
        let name = crate::rpc::members::text(members.get("name")?)?;
        if name.len() > LONGEST_NAME {
            return None;
        }
        let schema = members.get("inputSchema").map_or("null", RawValue::get);
        let schema = if schema.len() > LARGEST_SCHEMA {
            "null"
        } else {
            schema
        };
        let read: Value = serde_json::from_str(schema).ok()?;
        self.inputs.insert(name.to_string(), Inputs::of(&read));
        let digest = Sha256::digest(schema.as_bytes()).into();
        self.digests.insert(name.to_string(), digest);
        Some(())
    }

    /// The tool that a peer has for ours, under its own name, and what it takes.
    pub fn offered(&self, tool: &str) -> Option<(&str, &Inputs)> {
        let found = |name: &str| self.inputs.get_key_value(name);
        let (name, inputs) = found(tool).or_else(|| {
            let [one, other] = MOVES;
            match tool {
                _ if tool == one => found(other),
                _ if tool == other => found(one),
                _ => None,
            }
        })?;
        Some((name, inputs))
    }

    /// The names, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.inputs.keys().map(String::as_str)
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.inputs.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.inputs.is_empty()
    }

    /// Tells one list from another.
    pub fn digest(&self) -> [u8; 32] {
        let mut hash = Sha256::new();
        for (name, digest) in &self.digests {
            hash.update(Sha256::digest(name.as_bytes()));
            hash.update(digest);
        }
        hash.finalize().into()
    }
}
