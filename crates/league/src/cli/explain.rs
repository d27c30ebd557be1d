//! `league explain`: what a message is, and what is wrong with it; and how each message must be.

use std::cmp::Reverse;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use league_protocol::explain::{Explanation, Lens, MAX_EXPLAINED, explain, explain_leniently};
use league_protocol::finding::{Finding, Reading, Severity};
use league_protocol::schema::{example, message_names, named_message};
use league_protocol::sender::Dialect;
use serde::{Serialize, Serializer};
use serde_json::{Map, Value, json};

use crate::cli::arguments::dialect;
use crate::cli::failure::{CommandError, unless_reader_gone};
use crate::cli::text::count;
use crate::cli::{Exit, Output};
use crate::storage::files::pretty;

/// Say what a message is, in which dialect, and what is wrong with it
///
/// Reads bare messages, JSON-RPC requests and responses, arrays of them, and JSON lines, such as
/// those of `league export --match ID --output json`. A message may have 256 KiB, the input 64 MiB.
/// Exits with 0 if there is no error, else with 1.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  league explain reply.json
  echo '{\"message_type\": \"GAME_JOIN_ACK\", \"accept\": true}' | league explain -
  league explain --schema GAME_OVER
  league explain --schema GAME_RESULT --dialect v1 --strict")]
pub(crate) struct ExplainArgs {
    /// File to read, or - for standard input
    #[arg(required_unless_present_any = ["schema", "list", "examples"])]
    file: Option<PathBuf>,
    /// Every deviation is an error; a schema requires all fields
    #[arg(long)]
    strict: bool,
    /// v2, v2-api or v1 [default: detected; of schemas, all]
    #[arg(long, value_parser = dialect)]
    dialect: Option<Dialect>,
    /// Print the JSON Schema (draft 2020-12) of this message type
    #[arg(long, value_name = "NAME", conflicts_with = "file")]
    schema: Option<String>,
    /// List the message types
    #[arg(long, conflicts_with_all = ["file", "schema", "strict"])]
    list: bool,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    output: Output,
    /// Write an example of each message below this folder
    #[arg(long, value_name = "DIR", conflicts_with_all = ["file", "schema", "strict", "list"])]
    examples: Option<PathBuf>,
}

impl ExplainArgs {
    pub(crate) fn run(&self, out: &mut impl Write) -> Result<Exit, CommandError> {
        if let Some(file) = &self.file {
            return self.explain(file, out);
        }
        let dialects: &[Dialect] = match &self.dialect {
            Some(dialect) => std::slice::from_ref(dialect),
            None => &Dialect::ALL,
        };
        if let Some(name) = &self.schema {
            self.print_schema(name, dialects, out)?;
        } else if let Some(folder) = &self.examples {
            let count = write_examples(folder, dialects)?;
            match self.output {
                Output::Text => writeln!(out, "{count} examples in {}", folder.display())?,
                Output::Json => writeln!(out, "{}", json!({"examples": count, "folder": folder}))?,
            }
        } else {
            for (dialect, name) in message_names(dialects) {
                match self.output {
                    Output::Text => writeln!(out, "{dialect:<7}{name}")?,
                    Output::Json => {
                        let object = json!({"dialect": dialect, "message_type": name});
                        writeln!(out, "{object}")?;
                    }
                }
            }
        }
        Ok(Exit::Yes)
    }

    fn print_schema(
        &self,
        name: &str,
        dialects: &[Dialect],
        out: &mut impl Write,
    ) -> Result<(), CommandError> {
        let reading = match self.strict {
            true => Reading::Strict,
            false => Reading::Lenient,
        };
        let schema = named_message(name, dialects, reading).ok_or_else(|| {
            let dialect = self.dialect.map_or("any dialect", Dialect::as_str);
            CommandError::usage(
                format!("could not print the schema of `{}`", name.escape_debug()),
                format!("there is no such message type in {dialect}"),
                "list the message types with `league explain --list`",
            )
        })?;
        let written = match self.output {
            Output::Text => serde_json::to_writer_pretty(&mut *out, &schema),
            Output::Json => serde_json::to_writer(&mut *out, &schema),
        };
        written.map_err(io::Error::from)?;
        Ok(writeln!(out)?)
    }

    fn explain(&self, file: &Path, out: &mut impl Write) -> Result<Exit, CommandError> {
        let bytes = read(file).map_err(|error| unreadable(file, &error))?;
        let explanations = if self.strict {
            let (reading, dialect) = (Reading::Strict, self.dialect);
            explain(&bytes, Lens { reading, dialect })
        } else {
            explain_leniently(&bytes, self.dialect)
        };
        unless_reader_gone(self.print(&explanations, out))?;
        let valid = explanations.iter().all(|explanation| explanation.valid);
        Ok(if valid { Exit::Yes } else { Exit::No })
    }

    fn print(&self, explanations: &[Explanation], out: &mut impl Write) -> io::Result<()> {
        for (entry, explanation) in explanations.iter().enumerate() {
            match self.output {
                Output::Text => {
                    if entry > 0 {
                        writeln!(out)?;
                    }
                    write_text(explanation, out)?;
                }
                Output::Json => {
                    serde_json::to_writer(&mut *out, explanation)?;
                    writeln!(out)?;
                }
            }
        }
        out.flush()
    }
}

/// Reads one byte more than the limit, so that a longer input is recognised.
fn read(file: &Path) -> io::Result<Vec<u8>> {
    let limit = MAX_EXPLAINED as u64 + 1;
    let mut bytes = Vec::new();
    if file.as_os_str() == "-" {
        io::stdin().lock().take(limit).read_to_end(&mut bytes)?;
    } else {
        File::open(file)?.take(limit).read_to_end(&mut bytes)?;
    }
    Ok(bytes)
}

fn unreadable(file: &Path, error: &io::Error) -> CommandError {
    use io::ErrorKind::{IsADirectory, NotFound};
    let cause = match error.kind() {
        IsADirectory => "it is a folder".to_owned(),
        _ => error.to_string(),
    };
    CommandError::world(
        format!("could not read `{}`", file.display()),
        cause,
        "give a file with a message, or `-` for standard input",
    )
    .usage_if(matches!(error.kind(), NotFound | IsADirectory))
}

fn write_text(explanation: &Explanation, out: &mut impl Write) -> io::Result<()> {
    if let Some(index) = explanation.index {
        write!(out, "[{index}] ")?;
    }
    writeln!(out, "{}", headline(explanation))?;
    writeln!(out, "{}", verdict(explanation))?;
    // Errors come before deviations.
    let mut findings: Vec<_> = explanation.findings.iter().collect();
    findings.sort_by_key(|finding| Reverse(finding.severity));
    for finding in findings {
        write_finding(finding, out)?;
    }
    Ok(())
}

fn headline(explanation: &Explanation) -> String {
    let what = match (&explanation.message_type, explanation.dialect) {
        (Some(message_type), Some(dialect)) => {
            format!("{message_type} in dialect {dialect}")
        }
        (Some(message_type), None) => format!("unknown message type {message_type}"),
        (None, _) => explanation.kind.to_owned(),
    };
    match (&explanation.method, &explanation.message_type) {
        (Some(method), Some(_)) => format!("{what}, {} `{method}`", explanation.kind),
        (Some(method), None) => format!("{what} `{method}`"),
        (None, Some(_)) if explanation.kind != "message" => format!("{what}, {}", explanation.kind),
        (None, _) => what,
    }
}

fn verdict(explanation: &Explanation) -> String {
    let errors = explanation
        .findings
        .iter()
        .filter(|finding| finding.severity == Severity::Error)
        .count();
    let deviations = explanation.findings.len() - errors;
    let counts = [(errors, "error"), (deviations, "deviation")];
    let mut verdict = if explanation.valid {
        "valid".to_owned()
    } else {
        "not valid".to_owned()
    };
    for (number, thing) in counts.into_iter().filter(|(number, _)| *number > 0) {
        verdict += &format!(", {}", count(number as u64, thing));
    }
    verdict
}

fn write_finding(finding: &Finding, out: &mut impl Write) -> io::Result<()> {
    let severity = match finding.severity {
        Severity::Error => "error",
        Severity::Deviation => "deviation",
    };
    let place = if finding.path.is_empty() {
        "the whole message"
    } else {
        &finding.path
    };
    writeln!(
        out,
        "\n{severity} {} {} at {place}",
        finding.code,
        finding.code.name()
    )?;
    writeln!(out, "  {}", finding.detail)?;
    writeln!(out, "  expected: {}", finding.expected)?;
    writeln!(out, "  clause: {}", finding.clause)
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
