//! `league admin`: the levers of the organiser of a running league.

use std::io::Write;
use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use league_protocol::finding::excerpt;
use league_protocol::time::Timestamp;
use league_protocol::tools::find_lever;
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::cli::agent::page;
use crate::cli::arguments::{match_id, moment, number, player_id};
use crate::cli::failure::CommandError;
use crate::cli::inquiry::{InquiryArgs, OTHER_ROOT, unanswered};
use crate::cli::runtime::{print_calls, runtime};
use crate::cli::text::{print_object, tell};
use crate::cli::{Exit, Output};
use crate::wire::ask::{AskError, ManagerClient, State, StepReport};
use league_core::league::{MAX_EXTENSION, MAX_LEVER_TEXT};
use league_protocol::id::{MatchId, PlayerId};

// Each decision is written to the league's journal with its reason. All options work after the name
// of the lever too.
/// Decide in a running league as its organiser; the page shows each decision and its reason
#[derive(Debug, Clone, Args)]
#[command(mut_args = |option| option.global(true))]
#[command(after_help = "\
Examples:
  league admin start                                        begin with the agents that are in
  league admin pause --reason \"lunch until 13:00\"           and `league admin resume`
  league admin disqualify P07 --played annulled --reason \"two agents of one person\"
  league admin rule R2M1 --winner P01 --reason \"the network failed\"")]
pub(crate) struct AdminArgs {
    #[command(subcommand)]
    task: AdminTask,
    /// Why; everybody sees it
    #[arg(long, value_name = "TEXT", value_parser = short_text)]
    reason: Option<String>,
    #[command(flatten)]
    inquiry: InquiryArgs,
}

#[derive(Debug, Clone, Subcommand)]
enum AdminTask {
    /// Print the key of the league, and the page on which you log in with it
    Key,
    /// Take the next step of a match in a league with --manual
    Step {
        #[arg(value_name = "MATCH", value_parser = match_id)]
        match_id: MatchId,
    },
    #[command(flatten)]
    Lever(LeverCommand),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "snake_case")]
enum Played {
    /// Its results count, and it loses the matches that it does not play
    Kept,
    /// None of its matches counts
    Annulled,
}

/// A lever, written as the arguments of the tool `admin`.
#[derive(Debug, Clone, Subcommand, Serialize)]
#[serde(tag = "lever", rename_all = "snake_case")]
enum LeverCommand {
    /// Begin the league with the agents that are registered
    Start,
    /// Let no match begin; matches that have begun are finished
    Pause,
    /// Go on after a pause
    Resume,
    /// Admit new players, until a time if you give one
    OpenRegistration {
        /// When it closes by itself: `10m` from now, or 2026-05-04T14:00:00Z
        #[arg(long, value_name = "TIME", value_parser = moment)]
        until: Option<Timestamp>,
    },
    /// Admit no new player
    CloseRegistration,
    /// Set how many players have a seat, and how many more may wait for one
    #[serde(rename = "set_capacity")]
    Capacity {
        #[arg(value_name = "SEATS")]
        players: u32,
        /// How many more players may wait
        #[arg(long, value_name = "N", default_value_t = 0)]
        waiting: u32,
    },
    /// Admit only players that show a code; without one, all
    #[serde(rename = "set_join_code")]
    JoinCode {
        #[arg(value_name = "CODE")]
        #[serde(rename = "join_code")]
        code: Option<String>,
    },
    /// Admit only players whose names stand in a file, one a line; without it, all
    #[serde(rename = "set_roster")]
    Roster {
        #[arg(value_name = "FILE")]
        #[serde(skip)]
        file: Option<PathBuf>,
    },
    /// Let the referee at this address register without a key, also after the start
    AdmitReferee {
        #[arg(value_name = "URL")]
        #[serde(rename = "contact_endpoint")]
        endpoint: String,
    },
    /// Let several players answer at one address
    ShareAddress {
        #[arg(value_name = "URL")]
        #[serde(rename = "contact_endpoint")]
        endpoint: String,
    },
    /// Give an agent another name
    Rename {
        #[arg(value_name = "AGENT")]
        agent: String,
        #[arg(value_name = "NAME")]
        name: String,
    },
    /// Let a player leave: its results count, and it loses the rest
    Withdraw {
        #[arg(value_name = "PLAYER", value_parser = player_id)]
        #[serde(rename = "player_id")]
        player: PlayerId,
    },
    /// Take a player out as if it had never played
    Remove {
        #[arg(value_name = "PLAYER", value_parser = player_id)]
        #[serde(rename = "player_id")]
        player: PlayerId,
    },
    /// Put a player out by a rule, and say what becomes of its results
    Disqualify {
        #[arg(value_name = "PLAYER", value_parser = player_id)]
        #[serde(rename = "player_id")]
        player: PlayerId,
        /// What becomes of its results
        #[arg(long, value_enum)]
        played: Played,
    },
    /// Let a player take part again that is out
    Reinstate {
        #[arg(value_name = "PLAYER", value_parser = player_id)]
        #[serde(rename = "player_id")]
        player: PlayerId,
    },
    /// Do not count a match
    Annul {
        #[arg(value_name = "MATCH", value_parser = match_id)]
        match_id: MatchId,
    },
    /// Play a match again, after the last round; its first result does not count
    Replay {
        #[arg(value_name = "MATCH", value_parser = match_id)]
        match_id: MatchId,
    },
    /// Set how a match counts; the result that it had stays in the record
    Rule {
        #[arg(value_name = "MATCH", value_parser = match_id)]
        match_id: MatchId,
        #[command(flatten)]
        #[serde(skip)]
        result: RuledResult,
    },
    /// Give more time for each answer, in one match or to one player
    Extend {
        #[command(flatten)]
        #[serde(skip)]
        clock: Clock,
        #[arg(long, value_name = "N", value_parser = number::<u32>(1..=MAX_EXTENSION as u64))]
        seconds: u32,
    },
    /// Give an agent a new return token, and void what it had
    NewToken {
        #[arg(value_name = "AGENT")]
        agent: String,
    },
    /// Let an agent that lost its tokens register once more, within 30 minutes
    Readmit {
        #[arg(value_name = "AGENT")]
        agent: String,
    },
    /// Show a message to all on the page; no agent is sent anything
    Announce {
        #[arg(value_name = "TEXT", value_parser = short_text)]
        text: String,
    },
    /// End the league now; matches without a result do not count
    End,
}

#[derive(Debug, Clone, Args)]
#[group(required = true, multiple = false)]
struct RuledResult {
    /// This player wins
    #[arg(long, value_name = "PLAYER", value_parser = player_id)]
    winner: Option<PlayerId>,
    /// The match is drawn
    #[arg(long)]
    draw: bool,
    /// Both players lose
    #[arg(long)]
    both_lose: bool,
}

#[derive(Debug, Clone, Args)]
#[group(required = true, multiple = false)]
struct Clock {
    /// Both players of this match
    #[arg(long = "match", value_name = "MATCH", value_parser = match_id)]
    of_match: Option<MatchId>,
    /// This player, in all its matches
    #[arg(long = "player", value_name = "PLAYER", value_parser = player_id)]
    of_player: Option<PlayerId>,
}

const WHAT: &str = "could not pull the lever";
const STEP: &str = "could not step the match";

impl AdminArgs {
    pub(crate) fn run(&self, out: &mut impl Write) -> Result<Exit, CommandError> {
        print_calls(&self.inquiry.common);
        let manager = self.inquiry.client()?;
        match &self.task {
            AdminTask::Key => self.print_key(&manager, out),
            AdminTask::Step { match_id } => self.step(match_id, &manager, out),
            AdminTask::Lever(lever) => {
                let arguments = self.arguments(lever)?;
                let told = runtime()?.block_on(self.pull(&manager, arguments))?;
                self.print(&told, &manager, out)?;
                Ok(Exit::Yes)
            }
        }
    }

    /// The arguments of the tool `admin` for a lever.
    fn arguments(&self, lever: &LeverCommand) -> Result<Map<String, Value>, CommandError> {
        let more = match lever {
            LeverCommand::Roster { file: Some(file) } => json!({"names": read_names(file)?}),
            LeverCommand::Rule { result, .. } => {
                let (winner, draw, both) = (&result.winner, result.draw, result.both_lose);
                json!({"winner": winner, "draw": draw, "both_lose": both})
            }
            LeverCommand::Extend { clock, .. } => match &clock.of_match {
                Some(match_id) => json!({"lever": "extend_match", "match_id": match_id}),
                None => json!({"lever": "extend_player", "player_id": clock.of_player}),
            },
            _ => Value::Null,
        };
        let [arguments, more] = [json!(lever), more].map(|one| one.as_object().cloned());
        let mut arguments: Map<_, _> = [arguments, more].into_iter().flatten().flatten().collect();
        arguments.retain(|_, value| !value.is_null());
        let name = arguments.get("lever").and_then(Value::as_str);
        let entry = name.and_then(find_lever);
        let reason = self.reason.as_deref().unwrap_or_default();
        if entry.is_some_and(|entry| entry.needs_reason) && reason.trim().is_empty() {
            return Err(CommandError::usage(
                WHAT,
                "this lever takes something from a player, and everybody should know why",
                "add `--reason TEXT`",
            ));
        }
        if let Some(reason) = &self.reason {
            arguments.insert("reason".to_owned(), reason.as_str().into());
        }
        Ok(arguments)
    }

    fn print_key(
        &self,
        manager: &ManagerClient,
        out: &mut impl Write,
    ) -> Result<Exit, CommandError> {
        let common = &self.inquiry.common;
        let failed = |error: AskError| unanswered("could not find the league", manager, &error);
        let health = runtime()?.block_on(manager.health()).map_err(failed)?;
        let key = self.inquiry.admin_token(&health.league_id)?;
        let page = format!("{}admin", page(&manager.endpoint().to_string()));
        if common.output == Output::Json {
            let object = json!({"event": "key", "key": key.reveal(), "page": page});
            print_object(out, &object)?;
        } else {
            writeln!(out, "{}", key.reveal())?;
            if !common.quiet {
                writeln!(out, "log in with it at {page}")?;
            }
        }
        Ok(Exit::Yes)
    }

    /// Takes the next step of a match: the moves are asked for, the number is drawn, or the result
    /// becomes final.
    fn step(
        &self,
        match_id: &MatchId,
        manager: &ManagerClient,
        out: &mut impl Write,
    ) -> Result<Exit, CommandError> {
        let report = runtime()?.block_on(self.take_step(match_id, manager))?;
        let Some(step) = report.step else {
            let cause = format!(
                "no step of `{match_id}` is due: it is {}",
                report.state.as_str()
            );
            let hint = "its players are being asked; try again in a moment";
            return Err(CommandError::refused(STEP, cause, hint));
        };
        let object = json!({
            "event": "stepped", "match_id": match_id, "referee_id": report.referee_id,
            "step": step, "state": report.state, "result": report.result,
        });
        let (state, referee) = (report.state.as_str(), &report.referee_id);
        let mut text = format!("{match_id} · {step} · now {state} at {referee}");
        if let Some(reason) = report.result.get("reason").and_then(Value::as_str) {
            text += &format!("\n{}", excerpt(reason));
        }
        tell(&self.inquiry.common, out, &object, &text)?;
        Ok(Exit::Yes)
    }

    async fn take_step(
        &self,
        match_id: &MatchId,
        manager: &ManagerClient,
    ) -> Result<StepReport, CommandError> {
        let failed = |error: AskError| unanswered(STEP, manager, &error);
        let health = manager.health().await.map_err(failed)?;
        let admin = self.inquiry.admin_token(&health.league_id)?;
        match manager.step(match_id, &admin).await {
            Err(AskError::Refused { sentence, .. }) => {
                let hint = match health.state {
                    State::Registering => {
                        "the league has not started; see `league admin start`".to_owned()
                    }
                    _ => format!(
                        "see the matches with `league query schedule{}`",
                        self.inquiry.flags()
                    ),
                };
                Err(CommandError::refused(STEP, sentence, hint))
            }
            other => other.map_err(failed),
        }
    }

    async fn pull(
        &self,
        manager: &ManagerClient,
        arguments: Map<String, Value>,
    ) -> Result<Value, CommandError> {
        let failed = |error: AskError| match error {
            AskError::Refused { sentence, .. } if !sentence.contains("token") => {
                let page = page(&manager.endpoint().to_string());
                CommandError::refused(WHAT, sentence, format!("see the league at {page}"))
            }
            AskError::Refused { sentence, .. } => CommandError::refused(WHAT, sentence, OTHER_ROOT),
            error => unanswered(WHAT, manager, &error),
        };
        let health = manager.health().await.map_err(failed)?;
        let admin = self.inquiry.admin_token(&health.league_id)?;
        manager.pull(arguments, &admin).await.map_err(failed)
    }

    fn print(
        &self,
        told: &Value,
        manager: &ManagerClient,
        out: &mut impl Write,
    ) -> Result<(), CommandError> {
        let common = &self.inquiry.common;
        if common.output == Output::Json {
            let mut object = told.clone();
            object["event"] = "lever".into();
            print_object(out, &object)?;
        } else if let Some(token) = told["return_token"].as_str() {
            // It is told only here, so that `--quiet` does not hide it.
            writeln!(out, "{token}")?;
            if !common.quiet {
                let endpoint = manager.endpoint();
                writeln!(
                    out,
                    "hand it to the owner of the agent, who starts it with \
                     `LEAGUE_RETURN_TOKEN=… league player --manager {endpoint} …`"
                )?;
            }
        } else if !common.quiet {
            writeln!(out, "{}", told["sentence"].as_str().unwrap_or("done"))?;
        }
        Ok(())
    }
}

/// The names of a roster file: one a line, and nothing after `#`.
pub(crate) fn read_names(file: &PathBuf) -> Result<Vec<String>, CommandError> {
    let text = std::fs::read_to_string(file).map_err(|error| {
        let cause = format!("`{}`: {error}", file.display());
        CommandError::usage(
            "could not read the roster",
            cause,
            "give a text file with one name a line",
        )
    })?;
    // Some editors begin a file with a mark of its encoding.
    let lines = text
        .trim_start_matches('\u{feff}')
        .lines()
        .map(|line| line.split('#').next().unwrap_or(""));
    let names = lines.map(str::trim).filter(|line| !line.is_empty());
    let names: Vec<String> = names.map(str::to_owned).collect();
    if names.is_empty() {
        return Err(CommandError::usage(
            "could not read the roster",
            format!("`{}` has no names", file.display()),
            "give a text file with one name a line",
        ));
    }
    Ok(names)
}

fn short_text(text: &str) -> Result<String, String> {
    if text.chars().count() <= MAX_LEVER_TEXT {
        Ok(text.to_owned())
    } else {
        Err(format!("give at most {MAX_LEVER_TEXT} characters"))
    }
}
