//! `league explain`: what a message is, and what is wrong with it.

use std::cmp::Reverse;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::PathBuf;

use clap::Args;
use league_protocol::explain::{Explanation, Lens, MAX_EXPLAINED, explain, explain_leniently};
use league_protocol::finding::{Finding, Reading, Severity};
use league_protocol::sender::Dialect;

use crate::cli::arguments::dialect;
use crate::cli::failure::{CommandError, unless_reader_gone};
use crate::cli::text::count;
use crate::cli::{Exit, Output};

/// Say what a message is, in which dialect, and what is wrong with it
///
/// Reads bare messages, JSON-RPC requests and responses, arrays of them, and JSON lines, such as
/// those of `league replay --match ID --output json`. A message may have 256 KiB, the input 64 MiB.
/// Exits with 0 if there is no error, else with 1.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  league explain reply.json
  echo '{\"message_type\": \"GAME_JOIN_ACK\", \"accept\": true}' | league explain -
  league explain --strict --output json reply.json
  league explain --strict --dialect v2 reply.json
  league replay --match R1M1 --output json | league explain -")]
pub(crate) struct ExplainArgs {
    /// File to read, or - for standard input
    file: PathBuf,
    /// Treat every deviation as an error
    #[arg(long)]
    strict: bool,
    /// Read it in this dialect: v2, v2-api or v1 [default: detected]
    #[arg(long, value_parser = dialect)]
    dialect: Option<Dialect>,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    output: Output,
}

impl ExplainArgs {
    pub(crate) fn run(&self, out: &mut impl Write) -> Result<Exit, CommandError> {
        let bytes = self.read().map_err(|error| self.unreadable(&error))?;
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

    /// Reads one byte more than the limit, so that a longer input is recognised.
    fn read(&self) -> io::Result<Vec<u8>> {
        let limit = MAX_EXPLAINED as u64 + 1;
        let mut bytes = Vec::new();
        if self.file.as_os_str() == "-" {
            io::stdin().lock().take(limit).read_to_end(&mut bytes)?;
        } else {
            File::open(&self.file)?
                .take(limit)
                .read_to_end(&mut bytes)?;
        }
        Ok(bytes)
    }

    fn unreadable(&self, error: &io::Error) -> CommandError {
        use io::ErrorKind::{IsADirectory, NotFound};
        let cause = match error.kind() {
            IsADirectory => "it is a folder".to_owned(),
            _ => error.to_string(),
        };
        CommandError::world(
            format!("could not read `{}`", self.file.display()),
            cause,
            "give a file with a message, or `-` for standard input",
        )
        .usage_if(matches!(error.kind(), NotFound | IsADirectory))
    }
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
