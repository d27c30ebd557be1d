//! `league verify`: whether a league is what its journal says.

use std::error::Error;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use league_protocol::id::LeagueId;

use crate::cli::failure::{Failure, Kind};
use crate::cli::{Answer, Output};
use crate::storage::root::{DEFAULT_ROOT, Root};
use crate::storage::verify::{Checked, NotCompared, Verdict, VerifyError, Wrong, leagues, verify};

/// Work out a league again from its journal, and compare every record of its matches
///
/// What referees wrote down, and the files of matches, must say the same as the manager's
/// journal; what players remember otherwise is told as disputed, what is not here as not
/// compared. Reads only, also while the league
/// is running, and needs no secret. Ends with 0 if everything holds, with 1 if something does not;
/// the first wrong line is named.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  league verify SHARED
  league verify SHARED --league-id league_2025_even_odd
  league verify --output json /copies/SHARED | jq .verified")]
pub(crate) struct Verify {
    /// The root of the league's files
    #[arg(default_value = DEFAULT_ROOT, conflicts_with = "root")]
    dir: PathBuf,
    /// The same, as the other commands take it
    #[arg(long, value_name = "DIR")]
    root: Option<PathBuf>,
    /// One league only; without it every league below the root
    #[arg(long, value_parser = league_id)]
    league_id: Option<LeagueId>,
    /// How to print
    #[arg(long, value_enum, default_value_t)]
    output: Output,
    /// Print only the verdict
    #[arg(short, long)]
    quiet: bool,
}

/// How many files are listed one by one.
const MOST_LISTED: usize = 10;

fn league_id(text: &str) -> Result<LeagueId, String> {
    LeagueId::new(text).map_err(|error| error.to_string())
}

impl Verify {
    pub(crate) fn run(&self, out: &mut impl Write) -> Result<Answer, Failure> {
        let root = Root::new(self.dir());
        let chosen = match &self.league_id {
            Some(league) => vec![league.clone()],
            None => leagues(&root).map_err(|error| self.failed(&error))?,
        };
        let mut answer = Answer::Yes;
        for league in &chosen {
            let verdict = verify(&root, league).map_err(|error| self.failed(&error))?;
            if !verdict.verified {
                answer = Answer::No;
            }
            match self.print(&verdict, out) {
                // The answer stands even if nobody read it to its end.
                Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {}
                printed => printed?,
            }
        }
        Ok(answer)
    }

    fn dir(&self) -> &Path {
        self.root.as_deref().unwrap_or(&self.dir)
    }

    fn print(&self, verdict: &Verdict, out: &mut impl Write) -> io::Result<()> {
        match self.output {
            Output::Text => {
                write_verdict(verdict, out)?;
                if !self.quiet {
                    write_reasons(verdict, out)?;
                }
            }
            Output::Json => {
                serde_json::to_writer(&mut *out, verdict)?;
                writeln!(out)?;
            }
        }
        out.flush()
    }

    fn failed(&self, error: &VerifyError) -> Failure {
        let used_wrongly = matches!(
            error,
            VerifyError::NoLeague(_) | VerifyError::NoSuchLeague { .. }
        );
        let (cause, hint) = match error {
            VerifyError::NoLeague(_) | VerifyError::NoSuchLeague { .. } => (
                error.to_string(),
                "name the folder that holds `data/leagues`".to_owned(),
            ),
            VerifyError::Store(store) => (whole(store), store.hint()),
            other => (
                whole(other),
                "check the disk and the permissions".to_owned(),
            ),
        };
        Failure {
            what: format!("could not verify `{}`", self.dir().display()),
            cause,
            hint,
            kind: if used_wrongly { Kind::Use } else { Kind::World },
        }
    }
}

/// An error with what is behind it.
fn whole(error: &dyn Error) -> String {
    match error.source() {
        Some(source) => format!("{error}: {}", whole(source)),
        None => error.to_string(),
    }
}

/// Whether a league holds, in a line.
fn write_verdict(verdict: &Verdict, out: &mut impl Write) -> io::Result<()> {
    let disputed = !verdict.checked.disputed.is_empty();
    writeln!(
        out,
        "{}: {}",
        verdict.league_id,
        match verdict.verified {
            true if disputed => "verified, but players remember otherwise",
            true => "verified",
            false => "NOT verified",
        }
    )
}

/// What is wrong, or what was looked at.
fn write_reasons(verdict: &Verdict, out: &mut impl Write) -> io::Result<()> {
    let Verdict { wrong, checked, .. } = verdict;
    if let Some(wrong) = wrong {
        write_wrong("wrong   ", wrong, out)?;
    }
    for disputed in &checked.disputed {
        write_wrong("disputed", disputed, out)?;
    }
    if checked.disputed_more > 0 {
        writeln!(
            out,
            "  disputed  {} more",
            counted(checked.disputed_more, "thing")
        )?;
    }
    if wrong.is_some() {
        return writeln!(out, "  stopped   there; nothing is said about the rest");
    }
    write_checked(checked, out)
}

fn write_wrong(label: &str, wrong: &Wrong, out: &mut impl Write) -> io::Result<()> {
    write!(out, "  {label}  {}", wrong.file.display())?;
    if let Some(line) = wrong.line {
        write!(out, " line {line}")?;
    }
    writeln!(out, ": {}", wrong.what)
}

fn write_checked(checked: &Checked, out: &mut impl Write) -> io::Result<()> {
    let Some(phase) = &checked.phase else {
        return Ok(());
    };
    writeln!(out, "  league    {phase}, {}", chance(checked))?;
    if let Some(head) = &checked.head {
        let lines = counted(checked.lines, "line");
        writeln!(out, "  journal   {lines}, head {head}")?;
    }
    if checked.unfinished_bytes > 0 {
        let bytes = counted(checked.unfinished_bytes, "byte");
        writeln!(
            out,
            "  its end   {bytes} not written to their end, left out"
        )?;
    }
    let players = counted(checked.players as u64, "player");
    let referees = counted(checked.referees as u64, "referee");
    writeln!(out, "  agents    {players}, {referees}")?;
    let rounds = counted(u64::from(checked.rounds), "round");
    writeln!(
        out,
        "  results   {} of {} in {rounds}, each draw opened and each game played again",
        checked.results, checked.matches
    )?;
    for document in &checked.documents {
        writeln!(out, "  agrees    {}", document.display())?;
    }
    write_others(checked, out)
}

/// What others wrote down.
fn write_others(checked: &Checked, out: &mut impl Write) -> io::Result<()> {
    if checked.referee_journals > 0 {
        let journals = counted(checked.referee_journals, "journal");
        let lines = counted(checked.referee_lines, "line");
        let results = counted(checked.results - checked.ruled, "result");
        let same = checked.confirmed;
        writeln!(
            out,
            "  referees  {journals}, {lines}; {same} of {results} told the same"
        )?;
    }
    if checked.ruled > 0 {
        let ruled = counted(checked.ruled, "result");
        writeln!(out, "  manager   {ruled} that no referee ran")?;
    }
    if checked.match_files > 0 {
        let files = counted(checked.match_files, "file");
        let agree = if checked.match_files == 1 {
            "agrees"
        } else {
            "agree"
        };
        writeln!(
            out,
            "  matches   {files} {agree}, each with what was said in it"
        )?;
    }
    if checked.player_files > 0 {
        let files = counted(checked.player_files, "file");
        writeln!(out, "  players   {files} of theirs remember the same")?;
    }
    for behind in checked.behind.iter().take(MOST_LISTED) {
        let file = behind.file.display();
        writeln!(
            out,
            "  behind    {file}: agrees up to line {} of its journal",
            behind.line
        )?;
    }
    let more = checked.behind.len().saturating_sub(MOST_LISTED) as u64;
    if more > 0 {
        writeln!(out, "  behind    {} more", counted(more, "file"))?;
    }
    for left_out in &checked.not_compared {
        let NotCompared { count, what, why } = left_out;
        writeln!(out, "  not compared: {count} {what}: {why}")?;
    }
    Ok(())
}

fn counted(number: u64, what: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {what}{plural}")
}

fn chance(checked: &Checked) -> &'static str {
    if checked.reproducible {
        "reproducible from a seed, not for prizes"
    } else {
        "chance from the operating system"
    }
}
