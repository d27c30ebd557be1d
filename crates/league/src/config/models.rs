//! `models` in `config/system.json`: where language models answer, and how far a player goes
//! with them.
//!
//! Keys are never here: a provider names the environment variable that holds its key.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::reader::{with_defaults, within};

with_defaults! {
    /// Language models that play.
    pub struct ModelsConfig {
        /// The servers of models, by the name before the slash in `--llm PROVIDER/MODEL`.
        providers: BTreeMap<String, ProviderConfig> = usual_providers();
        /// The strategy that moves when a model does not.
        fallback: String = "random".to_owned();
        /// The most tokens that the models of one process may take in a league; null for no limit.
        budget_tokens: Option<u64> = None;
        /// The longest answer of a model, in tokens.
        #[serde(deserialize_with = "within::<16, 1_000_000, _, _>")]
        max_output_tokens: u32 = 2_000;
    }
}

impl ModelsConfig {
    /// The provider that `MODEL` or `PROVIDER/MODEL` names, if it does, and the name of the model.
    pub(crate) fn split<'t>(&self, text: &'t str) -> (Option<&'t str>, &'t str) {
        let named = text
            .split_once('/')
            .filter(|(provider, name)| !name.is_empty() && self.providers.contains_key(*provider));
        named.map_or((None, text), |(provider, name)| (Some(provider), name))
    }
}

/// A server of models.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ProviderConfig {
    /// How it is called.
    pub wire: ModelWire,
    /// Where it answers, up to and with the version: `http://localhost:11434/v1`.
    pub base_url: String,
    /// The environment variable that holds its key; null if it needs none.
    #[serde(default)]
    pub key_env: Option<String>,
    /// What it calls the longest answer.
    #[serde(default = "usual_limit")]
    pub limit_key: String,
    /// Whether a flag replaced its address: then its key is for users that name the provider.
    #[serde(skip)]
    pub is_moved: bool,
}

/// How a server of models is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ModelWire {
    /// Chat completions, as OpenAI and most local servers have them.
    Openai,
    /// The messages of Anthropic.
    Anthropic,
}

fn usual_limit() -> String {
    "max_tokens".to_owned()
}

fn usual_providers() -> BTreeMap<String, ProviderConfig> {
    let provider = |wire, base_url: &str, key_env: Option<&str>, limit_key: &str| ProviderConfig {
        wire,
        base_url: base_url.to_owned(),
        key_env: key_env.map(str::to_owned),
        limit_key: limit_key.to_owned(),
        is_moved: false,
    };
    let openai = provider(
        ModelWire::Openai,
        "https://api.openai.com/v1",
        Some("OPENAI_API_KEY"),
        "max_completion_tokens",
    );
    let anthropic = provider(
        ModelWire::Anthropic,
        "https://api.anthropic.com/v1",
        Some("ANTHROPIC_API_KEY"),
        "max_tokens",
    );
    let local = provider(
        ModelWire::Openai,
        "http://localhost:11434/v1",
        None,
        "max_tokens",
    );
    let named = [
        ("openai", openai),
        ("anthropic", anthropic),
        ("local", local),
    ];
    named
        .map(|(name, provider)| (name.to_owned(), provider))
        .into()
}
