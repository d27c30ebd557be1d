//! `league schema`: the JSON Schema of every message.

use std::io::{self, Write};

use clap::Args;
use league_protocol::finding::Reading;
use league_protocol::schema::{any_message, message_names, named_message};
use league_protocol::sender::Dialect;
use serde_json::json;

use crate::cli::arguments::dialect;
use crate::cli::failure::CommandError;
use crate::cli::{Exit, Output};

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
  league schema --list                   the names")]
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
