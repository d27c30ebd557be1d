//! What the dispatcher of an agent has, offered over MCP.

use std::collections::BTreeMap;

use league_mcp::{
    About, Caller, Completing, Given, Offering, Pending, Prompt, PromptFault, Read, Resource,
    Template, Tool,
};
use serde_json::Value;
use serde_json::value::RawValue;

use super::dispatcher::Dispatcher;
use super::prompts;
use super::role::AgentService;
use crate::wire::resources::{TRANSCRIPTS, tame};

/// How long what was read may be taken for the present state, in milliseconds.
const FRESH: u64 = 1_000;

impl<R: AgentService> Offering for Dispatcher<R> {
    fn about(&self) -> About {
        let card = self.role.manifest();
        About {
            name: card.name.to_owned(),
            title: card.title.to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            instructions: card.instructions.to_owned(),
        }
    }

    fn tools(&self) -> &[Tool] {
        &self.tools
    }

    fn call<'o>(
        &'o self,
        tool: &'o str,
        arguments: Option<&'o RawValue>,
        caller: Caller,
    ) -> Pending<'o, Option<Given>> {
        Box::pin(async move {
            let caller = super::Caller {
                bearer: caller.bearer.as_deref(),
                origin: caller.origin,
            };
            self.call_tool(tool, arguments, caller).await
        })
    }

    fn resources(&self) -> Pending<'_, Vec<Resource>> {
        let resources = self.role.manifest().resources.iter();
        let resources = resources.map(|&(uri, title, description)| Resource {
            uri: uri.to_owned(),
            name: uri.to_owned(),
            title: title.to_owned(),
            description: description.to_owned(),
            mime_type: "application/json",
        });
        Box::pin(std::future::ready(resources.collect()))
    }

    fn templates(&self) -> &[Template] {
        self.role.manifest().templates
    }

    fn read<'o>(&'o self, uri: &'o str, _caller: Caller) -> Pending<'o, Option<Read>> {
        Box::pin(async move {
            let found = self.look_up(uri).await?;
            Some(Read {
                mime_type: "application/json",
                text: found.to_string(),
                fresh_for: FRESH,
            })
        })
    }

    fn prompts(&self) -> &[Prompt] {
        self.role.manifest().prompts
    }

    fn prompt<'o>(
        &'o self,
        name: &'o str,
        arguments: BTreeMap<String, String>,
    ) -> Pending<'o, Result<String, PromptFault>> {
        Box::pin(async move {
            let mut prompts = self.role.manifest().prompts.iter();
            let prompt = prompts.find(|prompt| prompt.name == name);
            let prompt = prompt.ok_or(PromptFault::Unknown)?;
            let data = match arguments.get("match_id") {
                Some(match_id) => {
                    let found = self.look_up(&transcript_of(match_id)).await;
                    found.ok_or_else(|| PromptFault::Unfit("there is no such match".to_owned()))?
                }
                None if prompt.arguments.iter().any(|argument| argument.required) => {
                    return Err(PromptFault::Unfit("`match_id` is missing".to_owned()));
                }
                None => self
                    .look_up(self.role.manifest().background)
                    .await
                    .unwrap_or_default(),
            };
            let game = self.identity.game();
            let listing = game
                .as_ref()
                .and_then(|game| league_games::find(game.as_str()));
            let rules = &listing.unwrap_or(&league_games::all()[0]).rules;
            let moves = arguments.get("legal_moves").map(String::as_str);
            prompts::write(name, rules, moves, &data)
        })
    }

    fn complete(&self, wanted: Completing) -> Pending<'_, Vec<String>> {
        Box::pin(async move {
            if wanted.argument != "match_id" {
                return Vec::new();
            }
            let mut matches = self.room.matches().await;
            matches.retain(|match_id| match_id.starts_with(&wanted.typed));
            matches
        })
    }
}

impl<R: AgentService> Dispatcher<R> {
    /// Reads what lies at an address of those that are offered, fit to be shown.
    async fn look_up(&self, uri: &str) -> Option<Value> {
        let card = self.role.manifest();
        let listed = card.resources.iter().any(|(listed, ..)| *listed == uri);
        let of_match = uri.starts_with("match://") && !card.templates.is_empty();
        if !listed && !of_match {
            return None;
        }
        let found = match self.role.show(uri).await {
            Some(found) => found,
            None => self.room.read(uri).await?,
        };
        Some(tame(found))
    }
}

fn transcript_of(match_id: &str) -> String {
    TRANSCRIPTS.pattern.replace("{match_id}", match_id)
}
