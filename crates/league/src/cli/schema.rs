//! `league schema`: the JSON Schema of every message.

use std::io::{self, Write};

use clap::Args;
use league_protocol::finding::Reading;
use league_protocol::schema::{any_message, message_names, named_message};
use league_protocol::sender::Dialect;
use serde_json::json;

use crate::cli::failure::{Failure, Kind};
use crate::cli::{Answer, Output};

/// Print the JSON Schema (draft 2020-12) of a message, or of all
///
/// Without --dialect a schema allows every dialect that has the message. Without --strict it asks
/// only for what a lenient league cannot do without.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  league schema                          every message of every dialect
  league schema GAME_OVER                in any dialect
  league schema GAME_RESULT --dialect v1
  league schema --strict GAME_JOIN_ACK   as strict leagues read it, and as we send it
  league schema --list                   the names")]
pub(crate) struct Schema {
    /// The message type
    name: Option<String>,
    /// One dialect only: v2, v2-api or v1
    #[arg(long, value_parser = dialect)]
    dialect: Option<Dialect>,
    /// Ask for every field that the documents ask for
    #[arg(long)]
    strict: bool,
    /// List the message types instead
    #[arg(long, conflicts_with = "name")]
    list: bool,
    /// How to print: for people, or one object a line
    #[arg(long, value_enum, default_value_t)]
    output: Output,
}

fn dialect(text: &str) -> Result<Dialect, String> {
    let known = Dialect::ALL
        .into_iter()
        .find(|dialect| dialect.as_str() == text);
    known.ok_or_else(|| "expected `v2`, `v2-api` or `v1`".to_owned())
}

impl Schema {
    pub(crate) fn run(&self, out: &mut impl Write) -> Result<Answer, Failure> {
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
            return Ok(Answer::Yes);
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
        Ok(Answer::Yes)
    }

    fn unknown(&self, name: &str) -> Failure {
        let dialect = self.dialect.map_or("any dialect", Dialect::as_str);
        Failure {
            what: format!("could not print the schema of `{}`", name.escape_debug()),
            cause: format!("there is no such message type in {dialect}"),
            hint: "list the message types with `league schema --list`".to_owned(),
            kind: Kind::Use,
        }
    }
}
