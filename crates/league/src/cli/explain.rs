//! `league explain`: what a message is, and what is wrong with it.

use std::cmp::Reverse;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::PathBuf;

use clap::Args;
use league_protocol::explain::{Explanation, LARGEST_TEXT, Lens, explain, explain_leniently};
use league_protocol::finding::{Finding, Reading, Severity};
use league_protocol::sender::Dialect;

use crate::cli::arguments::dialect;
use crate::cli::failure::{Failure, Kind};
use crate::cli::{Answer, Output};

/// Say what a message is, in which dialect, and what is wrong with it
///
/// Reads bare messages, JSON-RPC requests and responses, arrays of them, and JSON lines, such as
/// `league replay --match ID --output json` prints. Each may have 256 KiB, all together 64 MiB. Ends
/// with 0 if there is no error, with 1 if there is one.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  league explain reply.json
  echo '{\"message_type\": \"GAME_JOIN_ACK\", \"accept\": true}' | league explain -
  league explain --strict --output json reply.json
  league explain --strict --dialect v2 reply.json
  league replay --match R1M1 --output json | league explain -")]
pub(crate) struct Explain {
    /// The file to read, or - for standard input
    file: PathBuf,
    /// Forgive nothing: every deviation is an error
    #[arg(long)]
    strict: bool,
    /// Hold it to one dialect, v2, v2-api or v1; without it the dialect is found out
    #[arg(long, value_parser = dialect)]
    dialect: Option<Dialect>,
    /// How to print
    #[arg(long, value_enum, default_value_t)]
    output: Output,
}

impl Explain {
    pub(crate) fn run(&self, out: &mut impl Write) -> Result<Answer, Failure> {
        let bytes = self.read().map_err(|error| self.unreadable(&error))?;
        let explanations = match self.strict {
            true => explain(
                &bytes,
                Lens {
                    reading: Reading::Strict,
                    dialect: self.dialect,
                },
            ),
            false => explain_leniently(&bytes, self.dialect),
        };
        let valid = explanations.iter().all(|explanation| explanation.valid);
        let answer = if valid { Answer::Yes } else { Answer::No };
        match self.print(&explanations, out) {
            // The answer stands even if nobody read it to its end.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(answer),
            printed => Ok(printed.map(|()| answer)?),
        }
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

    /// Reads one byte more than a text may have, so that a longer one is known as such.
    fn read(&self) -> io::Result<Vec<u8>> {
        let limit = LARGEST_TEXT as u64 + 1;
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

    fn unreadable(&self, error: &io::Error) -> Failure {
        let missing = error.kind() == io::ErrorKind::NotFound;
        Failure {
            what: format!("could not read `{}`", self.file.display()),
            cause: error.to_string(),
            hint: "name a file with a message in it, or `-` for standard input".to_owned(),
            kind: if missing { Kind::Use } else { Kind::World },
        }
    }
}

fn write_text(explanation: &Explanation, out: &mut impl Write) -> io::Result<()> {
    if let Some(index) = explanation.index {
        write!(out, "[{index}] ")?;
    }
    writeln!(out, "{}", headline(explanation))?;
    writeln!(out, "{}", verdict(explanation))?;
    // What must be mended comes first.
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
    let word = if explanation.valid {
        "valid"
    } else {
        "not valid"
    };
    match (errors, deviations) {
        (0, 0) => word.to_owned(),
        (0, _) => format!("{word}, {}", counted(deviations, "deviation")),
        (_, 0) => format!("{word}, {}", counted(errors, "error")),
        _ => {
            format!(
                "{word}, {}, {}",
                counted(errors, "error"),
                counted(deviations, "deviation")
            )
        }
    }
}

fn counted(count: usize, word: &str) -> String {
    format!("{count} {word}{}", if count == 1 { "" } else { "s" })
}

fn write_finding(finding: &Finding, out: &mut impl Write) -> io::Result<()> {
    let severity = match finding.severity {
        Severity::Error => "error",
        Severity::Deviation => "deviation",
    };
    let place = if finding.path.is_empty() {
        "the whole"
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
