//! `league schema`: the JSON Schema of every message, and an example of each.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use league_protocol::finding::Reading;
use league_protocol::schema::{any_message, example, message_names, named_message};
use league_protocol::sender::Dialect;
use serde::{Serialize, Serializer};
use serde_json::{Map, Value, json};

use crate::cli::arguments::dialect;
use crate::cli::failure::CommandError;
use crate::cli::{Exit, Output};
use crate::storage::files::pretty;

/// Print the JSON Schema (draft 2020-12) of a message, or of all messages
///
/// Without --dialect a schema allows every dialect that has the message. Without --strict it
/// requires only the fields that a lenient league cannot do without.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  league schema                          every message of every dialect
  league schema GAME_OVER                in any dialect
  league schema GAME_RESULT --dialect v1
  league schema --strict GAME_JOIN_ACK   as strict leagues read it, and as League sends it
  league schema --list                   the names
  league schema --examples doc/message-examples --dialect v2
                                         an example of each message, a file each")]
pub(crate) struct SchemaArgs {
    /// The message type
    name: Option<String>,
    /// One dialect only: v2, v2-api or v1
    #[arg(long, value_parser = dialect)]
    dialect: Option<Dialect>,
    /// Require every field that the documents require
    #[arg(long)]
    strict: bool,
    /// List the message types instead
    #[arg(long, conflicts_with = "name")]
    list: bool,
    /// Write an example of each message below this folder instead, and replace older ones
    #[arg(long, value_name = "DIR", conflicts_with_all = ["name", "strict", "list"])]
    examples: Option<PathBuf>,
    /// Output format: text, or one JSON object a line
    #[arg(long, value_enum, default_value_t)]
    output: Output,
}

impl SchemaArgs {
    pub(crate) fn run(&self, out: &mut impl Write) -> Result<Exit, CommandError> {
        let dialects: &[Dialect] = match &self.dialect {
            Some(dialect) => std::slice::from_ref(dialect),
            None => &Dialect::ALL,
        };
        if self.list {
            for (dialect, name) in message_names(dialects) {
                match self.output {
                    Output::Text => writeln!(out, "{dialect:<7}{name}")?,
                    Output::Json => {
                        let object = json!({"dialect": dialect, "message_type": name});
                        writeln!(out, "{object}")?;
                    }
                }
            }
            return Ok(Exit::Yes);
        }
        if let Some(folder) = &self.examples {
            let count = write_examples(folder, dialects)?;
            match self.output {
                Output::Text => writeln!(out, "{count} examples in {}", folder.display())?,
                Output::Json => writeln!(out, "{}", json!({"examples": count, "folder": folder}))?,
            }
            return Ok(Exit::Yes);
        }
        let reading = if self.strict {
            Reading::Strict
        } else {
            Reading::Lenient
        };
        let schema = match &self.name {
            None => any_message(dialects, reading),
            Some(name) => {
                named_message(name, dialects, reading).ok_or_else(|| self.unknown(name))?
            }
        };
        let written = match self.output {
            Output::Text => serde_json::to_writer_pretty(&mut *out, &schema),
            Output::Json => serde_json::to_writer(&mut *out, &schema),
        };
        written.map_err(io::Error::from)?;
        writeln!(out)?;
        Ok(Exit::Yes)
    }

    fn unknown(&self, name: &str) -> CommandError {
        let dialect = self.dialect.map_or("any dialect", Dialect::as_str);
        CommandError::usage(
            format!("could not print the schema of `{}`", name.escape_debug()),
            format!("there is no such message type in {dialect}"),
            "list the message types with `league schema --list`",
        )
    }
}

/// Writes the examples to `DIR/<dialect>/<group>/<type>.json`; returns how many there are.
fn write_examples(folder: &Path, dialects: &[Dialect]) -> Result<usize, CommandError> {
    let mut count = 0;
    for (dialect, name) in message_names(dialects) {
        let Some(Value::Object(example)) = example(dialect, name) else {
            continue;
        };
        let folder = folder.join(dialect.as_str()).join(group(name));
        let file = folder.join(format!("{}.json", name.to_lowercase()));
        fs::create_dir_all(&folder)
            .and_then(|()| fs::write(&file, pretty(&EnvelopeFirst(&example))))
            .map_err(|error| {
                let what = format!("could not write `{}`", file.display());
                CommandError::world(what, error.to_string(), "choose another folder")
            })?;
        count += 1;
    }
    Ok(count)
}

/// The folder of a message; 000 §11.5 has the first three.
fn group(name: &str) -> &'static str {
    let begins = |words: &[&str]| words.iter().any(|word| name.starts_with(word));
    if name.contains("REGISTER") {
        "registration"
    } else if name.ends_with("_ERROR") {
        "errors"
    } else if begins(&[
        "GAME_", "CHOOSE_", "PLAY_", "MATCH_", "DRAW_", "START_", "CALL_",
    ]) {
        "game-flow"
    } else {
        "league"
    }
}

/// Writes a message in the order of the documents: the envelope first.
struct EnvelopeFirst<'m>(&'m Map<String, Value>);

impl Serialize for EnvelopeFirst<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        const ENVELOPE: [&str; 6] = [
            "protocol",
            "message_type",
            "sender",
            "timestamp",
            "conversation_id",
            "auth_token",
        ];
        let envelope = ENVELOPE
            .iter()
            .filter_map(|&name| self.0.get_key_value(name));
        let body = self
            .0
            .iter()
            .filter(|(name, _)| !ENVELOPE.contains(&name.as_str()));
        serializer.collect_map(envelope.chain(body))
    }
}
