//! `league watch`: prints the standings of a running league when they change.

use std::io::{self, Write};
use std::time::Duration;

use clap::Args;
use serde_json::json;

use crate::cli::failure::CommandError;
use crate::cli::inquiry::{InquiryArgs, LeagueReader, progress};
use crate::cli::runtime::{Signals, runtime};
use crate::cli::text::{print_object, print_standings};
use crate::cli::{Exit, Output};

/// How long to wait between two questions to the manager.
const POLL: Duration = Duration::from_millis(250);
/// How many times in a row a manager may not answer, about a minute.
const MAX_MISSES: u32 = 240;
/// How many rows of the standings are printed.
const MAX_ROWS: usize = 50;

/// Print the standings of a running league whenever they change, until it is over
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Examples:
  league watch
  league watch --manager http://localhost:9000/mcp
  league watch --output json | jq '.standings[0].display_name'")]
pub(crate) struct WatchArgs {
    #[command(flatten)]
    inquiry: InquiryArgs,
}

impl WatchArgs {
    pub(crate) fn run(&self, out: &mut impl Write) -> Result<Exit, CommandError> {
        let manager = self.inquiry.client()?;
        let reader = LeagueReader::new(manager, self.inquiry.common.root());
        runtime()?.block_on(self.follow(reader, out))
    }

    async fn follow(
        &self,
        mut league: LeagueReader,
        out: &mut impl Write,
    ) -> Result<Exit, CommandError> {
        let mut signals = Signals::new()?;
        let mut misses = 0;
        loop {
            let is_new = tokio::select! {
                () = signals.interrupted() => return self.interrupted(out),
                is_new = league.look() => is_new,
            };
            if is_new {
                self.print(&league, out)?;
            }
            if league.is_over() {
                if self.inquiry.common.talks() {
                    writeln!(out, "the league is over")?;
                }
                return Ok(Exit::Yes);
            }
            misses = match &league.away {
                Some(cause) if misses >= MAX_MISSES => return Err(lost(&league, cause)),
                Some(_) => misses + 1,
                None => 0,
            };
            tokio::select! {
                () = signals.interrupted() => return self.interrupted(out),
                () = tokio::time::sleep(POLL) => {}
            }
        }
    }

    fn print(&self, league: &LeagueReader, out: &mut impl Write) -> io::Result<()> {
        let endpoint = league.manager.endpoint();
        let as_json = self.inquiry.common.output == Output::Json;
        match (&league.away, &league.seen) {
            (Some(cause), _) if as_json => {
                let manager = endpoint.to_string();
                let object = json!({"event": "away", "manager": manager, "cause": cause});
                print_object(out, &object)?;
            }
            (Some(cause), _) => writeln!(out, "no answer from {endpoint}: {cause}; still trying")?,
            (None, Some(seen)) if as_json => {
                let mut object = json!(seen.health);
                object["event"] = "table".into();
                object["standings"] = json!(seen.rows);
                print_object(out, &object)?;
            }
            (None, Some(seen)) => {
                writeln!(out, "{}", progress(&seen.health))?;
                print_standings(out, &seen.rows, MAX_ROWS, &seen.health.out)?;
                writeln!(out)?;
            }
            (None, None) => {}
        }
        out.flush()
    }

    fn interrupted(&self, out: &mut impl Write) -> Result<Exit, CommandError> {
        if self.inquiry.common.talks() {
            let flags = self.inquiry.flags();
            writeln!(out, "continue with `league watch{flags}`")?;
        }
        Ok(Exit::Interrupted)
    }
}

fn lost(league: &LeagueReader, cause: &str) -> CommandError {
    let (what, hint) = if league.seen.is_some() {
        (
            "lost the league",
            "start the manager again with the same command, then watch on",
        )
    } else {
        (
            "found no league to watch",
            "start one with `league manager`, or name another with `--manager URL`",
        )
    };
    let cause = format!("no answer from {}: {cause}", league.manager.endpoint());
    CommandError::world(what, cause, hint)
}
