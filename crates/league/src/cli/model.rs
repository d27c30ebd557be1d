//! The flags of language models, for `league player`, `league run` and `league try`.

use std::sync::Arc;

use clap::Args;
use serde::{Deserialize, Serialize};

use crate::agents::model::{Model, ModelError};
use crate::cli::failure::CommandError;
use crate::config::ModelsConfig;
use league_core::strategy;

/// How language models are asked; kept with the seats of `league run`, so that a resumed league goes
/// on with them.
#[derive(Debug, Clone, Default, Args, Serialize, Deserialize)]
pub(crate) struct ModelArgs {
    /// Where language models answer [default: config]
    #[arg(long, value_name = "URL")]
    llm_url: Option<String>,
    /// Strategy that moves when a model is late [default: config]
    #[arg(long, value_name = "NAME", value_parser = known_strategy)]
    fallback: Option<String>,
    /// The most tokens of models in this league [default: config]
    #[arg(long, value_name = "TOKENS")]
    budget: Option<u64>,
}

fn known_strategy(name: &str) -> Result<String, strategy::UnknownStrategy> {
    strategy::find(name).map(|found| found.name.to_owned())
}

impl ModelArgs {
    /// Whether any flag is given.
    pub(crate) fn is_given(&self) -> bool {
        self.llm_url.is_some() || self.fallback.is_some() || self.budget.is_some()
    }

    /// The flags that are given, as arguments of another process.
    pub(crate) fn flags(&self) -> Vec<String> {
        let budget = self.budget.map(|budget| budget.to_string());
        let given = [
            ("--llm-url", self.llm_url.clone()),
            ("--fallback", self.fallback.clone()),
            ("--budget", budget),
        ];
        let given = given
            .into_iter()
            .filter_map(|(flag, value)| Some([flag.to_owned(), value?]));
        given.flatten().collect()
    }

    /// The flags, and for those that are not given the earlier ones.
    pub(crate) fn or(self, earlier: Self) -> Self {
        Self {
            llm_url: self.llm_url.or(earlier.llm_url),
            fallback: self.fallback.or(earlier.fallback),
            budget: self.budget.or(earlier.budget),
        }
    }

    /// Overrides the configuration with the flags.
    pub(crate) fn settle(&self, models: &mut ModelsConfig) {
        if let Some(url) = &self.llm_url {
            for provider in models.providers.values_mut() {
                provider.base_url.clone_from(url);
                provider.is_moved = true;
            }
        }
        if let Some(fallback) = &self.fallback {
            models.fallback.clone_from(fallback);
        }
        models.budget_tokens = self.budget.or(models.budget_tokens);
    }
}

/// Flags of models are given, and there is no model.
pub(crate) fn for_models(what: &str) -> CommandError {
    CommandError::usage(
        what,
        "`--llm-url`, `--fallback` and `--budget` are for a language model",
        "name the model with `--llm MODEL`, or leave them out",
    )
}

/// Finds a model by its name, or says what is missing and what to do.
pub(crate) fn find_model(name: &str, models: &ModelsConfig) -> Result<Arc<Model>, CommandError> {
    let found = Model::find(name, models).map(Arc::new);
    found.map_err(|error| {
        let hint = match &error {
            ModelError::NoKey(variable) => format!(
                "set `{variable}` to your key, or name a server on this machine with `--llm-url`"
            ),
            ModelError::PlainKey(_) => {
                "give an `https://` address; if the server needs no key, name \
                 the model as `local/MODEL`, or remove `key_env` of its provider in \
                 config/system.json"
                    .to_owned()
            }
            ModelError::NoProvider(_) | ModelError::Fallback(_) => {
                "correct `models` in config/system.json".to_owned()
            }
            ModelError::NoName(_) => "give a name such as `local/llama3.2`".to_owned(),
            ModelError::Address(_) => {
                "give an address such as `http://localhost:11434/v1` with `--llm-url`".to_owned()
            }
        };
        CommandError::usage(
            format!("could not use the language model `{}`", name.escape_debug()),
            error.to_string(),
            hint,
        )
    })
}
