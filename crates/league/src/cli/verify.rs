//! `league verify`: checks that a league is what its journal says.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::Args;

use league_protocol::id::LeagueId;
use league_protocol::token::hex;

use crate::chance::Chance;
use crate::cli::arguments::league_id;
use crate::cli::failure::{CommandError, chain, unless_reader_gone};
use crate::cli::stored::StoredArgs;
use crate::cli::text::{count, one_line};
use crate::cli::{Exit, Output};
use crate::storage::archive;
use crate::storage::root::Root;
use crate::storage::verify::{
    Checked, Conclusion, NotCompared, RepeatedMatch, Verdict, VerifyError, Wrong, leagues, verify,
};

/// Recompute a league from its journal, and compare every record of its matches
///
/// The journals of the referees and the files of matches must agree with the manager's journal.
/// Records of players, and journals that referees handed in, are listed as disputed if they
/// differ; missing records are listed as not compared. The command only reads, works on a running
/// league too, and needs no secret. Exits with 0 if everything holds and no journal is missing, with
/// 4 if everything holds that is here, and with 1 if something is wrong; then it names the line.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  league verify SHARED
  league verify SHARED --league-id league_2025_even_odd
  league verify week-3.tar.gz              a file of `league leagues --archive`
  league verify --output json /copies/SHARED | jq .verified")]
pub(crate) struct VerifyArgs {
    /// One league only [default: every league below the root]
    #[arg(long, value_name = "ID", value_parser = league_id)]
    league_id: Option<LeagueId>,
    /// Exit with 1 instead of 4 if the journal of a referee is missing
    #[arg(long)]
    complete: bool,
    #[command(flatten)]
    stored: StoredArgs,
}

/// An archive in a folder of its own, which is removed in the end.
struct UnpackedArchive {
    folder: PathBuf,
}

impl UnpackedArchive {
    fn open(file: &Path) -> Result<Self, CommandError> {
        let what = || format!("could not open the archive `{}`", file.display());
        let world = |error: io::Error| {
            let hint = "check the folder for temporary files";
            CommandError::world(what(), error.to_string(), hint)
        };
        let chance = Chance::new(None)
            .map_err(|error| CommandError::world(what(), error.to_string(), "try again"))?;
        let name = format!("league-archive-{}", &hex(&chance.bytes())[..16]);
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir(&folder).map_err(world)?;
        let unpacked = Self { folder };
        archive::unpack(file, &unpacked.folder).map_err(|error| {
            CommandError::usage(what(), unpacked.named(chain(&error), file), ARCHIVE_HINT)
        })?;
        Ok(unpacked)
    }

    /// The text with files named by the archive, not by where it was unpacked.
    fn named(&self, text: String, archive: &Path) -> String {
        let [unpacked, named] = [&self.folder, archive].map(|path| path.display().to_string());
        text.replace(&unpacked, &named)
    }
}

impl Drop for UnpackedArchive {
    fn drop(&mut self) {
        // There is nothing left to do if it cannot be removed.
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

const ARCHIVE_HINT: &str = "give a folder, or a file that `league leagues --archive` wrote";

/// How many files are listed one by one.
const MAX_LISTED: usize = 10;

impl VerifyArgs {
    pub(crate) fn run(&self, out: &mut impl Write) -> Result<Exit, CommandError> {
        let dir = self.stored.dir();
        let unpacked = match dir.is_file() {
            true => Some(UnpackedArchive::open(dir)?),
            false => None,
        };
        let root = match &unpacked {
            Some(unpacked) => Root::new(&unpacked.folder),
            None => self.stored.filled(self.league_id.as_ref())?,
        };
        if matches!(dir.try_exists(), Ok(false)) {
            let named = dir.display();
            return Err(CommandError::usage(
                format!("could not verify `{named}`"),
                format!("there is no file or folder `{named}`"),
                ARCHIVE_HINT,
            ));
        }
        let named = |cause| match &unpacked {
            Some(unpacked) => unpacked.named(cause, dir),
            None => cause,
        };
        let failed = |error: &VerifyError| self.failed(error).with_cause(named);
        let chosen = match &self.league_id {
            Some(league) => vec![league.clone()],
            None => leagues(&root).map_err(|error| failed(&error))?,
        };
        let mut exit = Exit::Yes;
        for league in &chosen {
            let verdict = verify(&root, league).map_err(|error| failed(&error))?;
            exit = match verdict.verdict {
                Conclusion::Failed => Exit::No,
                Conclusion::Incomplete if self.complete => Exit::No,
                Conclusion::Incomplete if exit == Exit::Yes => Exit::Incomplete,
                Conclusion::Incomplete | Conclusion::Verified => exit,
            };
            unless_reader_gone(self.print(&verdict, out))?;
        }
        Ok(exit)
    }

    fn print(&self, verdict: &Verdict, out: &mut impl Write) -> io::Result<()> {
        match self.stored.common.output {
            Output::Text => {
                writeln!(out, "{}: {}", verdict.league_id, verdict.sentence())?;
                if !self.stored.common.quiet {
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

    fn failed(&self, error: &VerifyError) -> CommandError {
        let what = format!("could not verify `{}`", self.stored.dir().display());
        match error {
            VerifyError::NoLeague(_) | VerifyError::NoSuchLeague { .. } => {
                let hint = "give the folder that holds `data/leagues`";
                CommandError::usage(what, error.to_string(), hint)
            }
            VerifyError::Store(store) => CommandError::world(what, chain(store), store.hint()),
            other => CommandError::world(what, chain(other), "check the disk and the permissions"),
        }
    }
}

/// Prints the failure, or what was checked.
fn write_reasons(verdict: &Verdict, out: &mut impl Write) -> io::Result<()> {
    let Verdict { wrong, checked, .. } = verdict;
    if let Some(wrong) = wrong {
        write_wrong("wrong   ", wrong, out)?;
    }
    for disputed in &checked.disputed {
        write_wrong("disputed", disputed, out)?;
    }
    if checked.disputed_more > 0 {
        let more = count(checked.disputed_more, "record");
        writeln!(out, "  disputed  {more} more")?;
    }
    if wrong.is_some() {
        return writeln!(out, "  stopped   there; the rest was not checked");
    }
    write_checked(verdict, out)?;
    let repeated = &verdict.attempts_above_1;
    for RepeatedMatch {
        match_id,
        attempts,
        why,
    } in repeated.iter().take(MAX_LISTED)
    {
        writeln!(out, "  repeated  {match_id}: attempt {attempts}, {why}")?;
    }
    match repeated.len().saturating_sub(MAX_LISTED) as u64 {
        0 => Ok(()),
        more => writeln!(out, "  repeated  {} more", count(more, "match")),
    }
}

fn write_wrong(label: &str, wrong: &Wrong, out: &mut impl Write) -> io::Result<()> {
    write!(out, "  {label}  {}", wrong.file.display())?;
    if let Some(line) = wrong.line {
        write!(out, " line {line}")?;
    }
    writeln!(out, ": {}", one_line(&wrong.what))
}

fn write_checked(verdict: &Verdict, out: &mut impl Write) -> io::Result<()> {
    let checked = &verdict.checked;
    let Some(phase) = &checked.phase else {
        return Ok(());
    };
    let randomness = if checked.reproducible {
        "reproducible from a seed, not for prizes"
    } else {
        "randomness from the operating system"
    };
    let early = match checked.ended_early {
        true => " early by the organiser",
        false => "",
    };
    writeln!(out, "  league    {phase}{early}, {randomness}")?;
    if let Some(head) = &checked.head {
        let lines = count(checked.lines, "line");
        writeln!(out, "  journal   {lines}, head {head}")?;
    }
    if checked.unfinished_bytes > 0 {
        let bytes = count(checked.unfinished_bytes, "byte");
        writeln!(out, "  its end   {bytes} of an unfinished line, ignored")?;
    }
    if verdict.levers > 0 {
        let times = count(verdict.levers, "time");
        writeln!(out, "  organiser acted {times}, as the journal tells")?;
    }
    let players = count(checked.players as u64, "player");
    let referees = count(checked.referees as u64, "referee");
    writeln!(out, "  agents    {players}, {referees}")?;
    let rounds = count(u64::from(checked.rounds), "round");
    let draws = match verdict.draws_not_proven {
        0 => "each draw opened".to_owned(),
        told => format!("each draw opened but {told} that referees only told"),
    };
    writeln!(
        out,
        "  results   {} of {} in {rounds}, {draws} and each game replayed",
        checked.results, checked.matches
    )?;
    for document in &checked.documents {
        writeln!(out, "  agrees    {}", document.display())?;
    }
    write_others(checked, out)?;
    for left_out in verdict.not_compared.iter().chain(&checked.not_compared) {
        let NotCompared { count, kind } = left_out;
        let (what, why) = (kind.what(), kind.why());
        writeln!(out, "  not compared: {count} {what}: {why}")?;
    }
    Ok(())
}

/// Prints the comparison with the records of referees and players.
fn write_others(checked: &Checked, out: &mut impl Write) -> io::Result<()> {
    if checked.referee_journals > 0 {
        let journals = count(checked.referee_journals, "journal");
        let lines = count(checked.referee_lines, "line");
        let results = count(checked.results - checked.ruled, "result");
        let same = checked.confirmed;
        writeln!(
            out,
            "  referees  {journals}, {lines}; {same} of {results} confirmed"
        )?;
    }
    if checked.ruled > 0 {
        let ruled = count(checked.ruled, "result");
        writeln!(out, "  manager   {ruled} without a referee")?;
    }
    if checked.match_files > 0 {
        let records = count(checked.match_files, "record");
        let agree = if checked.match_files == 1 {
            "agrees"
        } else {
            "agree"
        };
        writeln!(out, "  matches   {records} {agree}, with all messages")?;
    }
    if checked.player_files > 0 {
        let files = count(checked.player_files, "file");
        writeln!(out, "  players   {files} with the same records")?;
    }
    for behind in checked.behind.iter().take(MAX_LISTED) {
        let (file, line) = (behind.file.display(), behind.line);
        writeln!(
            out,
            "  behind    {file}: agrees up to line {line} of its journal"
        )?;
    }
    let more = checked.behind.len().saturating_sub(MAX_LISTED) as u64;
    if more > 0 {
        writeln!(out, "  behind    {} more", count(more, "file"))?;
    }
    Ok(())
}
