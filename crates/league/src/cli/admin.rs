//! `league admin`: the levers of the organiser of a running league.

use std::io::Write;
use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use league_protocol::time::Timestamp;
use league_protocol::tools::find_lever;
use serde_json::{Map, Value, json};

use crate::cli::agent::page;
use crate::cli::arguments::{match_id, moment, number, player_id};
use crate::cli::failure::CommandError;
use crate::cli::inquiry::{InquiryArgs, OTHER_ROOT, unanswered};
use crate::cli::runtime::{print_calls, runtime};
use crate::cli::text::print_object;
use crate::cli::{Exit, Output};
use crate::wire::ask::{AskError, ManagerClient};
use league_core::league::{MAX_EXTENSION, MAX_LEVER_TEXT};
use league_protocol::id::{MatchId, PlayerId};

/// Decide, as the organiser, in a running league
///
/// Each decision is written to the league's journal with its reason, and everybody sees it on the
/// page. It takes a token that the manager keeps in a file below its root, so give both the same
/// --root.
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Examples:
  league admin pause --reason \"lunch until 13:00\"           and `league admin resume`
  league admin open-registration --until 10m                close it in ten minutes
  league admin capacity 30 --waiting 5                      30 seats, 5 more may wait
  league admin remove P07 --reason \"a ghost\"                free its seat before the start
  league admin disqualify P07 --played annulled --reason \"two agents of one person\"
  league admin rule R2M1 --winner P01 --reason \"the network failed\"
  league admin replay R2M1 --reason \"the referee's laptop slept\"
  league admin admit-referee http://localhost:8003/mcp      also after the league has begun
  league admin announce \"Finals start at 15:00\"")]
pub(crate) struct AdminArgs {
    #[command(subcommand)]
    lever: LeverCommand,
}

#[derive(Debug, Clone, Args)]
struct PullArgs {
    /// Why; everybody sees it
    #[arg(long, value_name = "TEXT", value_parser = short_text)]
    reason: Option<String>,
    #[command(flatten)]
    inquiry: InquiryArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Played {
    /// Its results count, and it loses the matches that it does not play
    Kept,
    /// None of its matches counts
    Annulled,
}

#[derive(Debug, Clone, Subcommand)]
enum LeverCommand {
    /// Print the key of the league, and the page on which you log in with it
    Key {
        #[command(flatten)]
        pull: PullArgs,
    },
    /// Begin the league with the agents that are registered
    Start {
        #[command(flatten)]
        pull: PullArgs,
    },
    /// Let no match begin; matches that are played are finished, agents and page stay up
    Pause {
        #[command(flatten)]
        pull: PullArgs,
    },
    /// Go on after a pause
    Resume {
        #[command(flatten)]
        pull: PullArgs,
    },
    /// Admit new players, until a time if you give one
    OpenRegistration {
        /// When it closes by itself: `10m` from now, or 2026-05-04T14:00:00Z
        #[arg(long, value_name = "TIME", value_parser = moment)]
        until: Option<Timestamp>,
        #[command(flatten)]
        pull: PullArgs,
    },
    /// Admit no new player
    CloseRegistration {
        #[command(flatten)]
        pull: PullArgs,
    },
    /// Set how many players have a seat, and how many more may wait for one
    Capacity {
        #[arg(value_name = "SEATS")]
        players: u32,
        /// How many more players may wait
        #[arg(long, value_name = "N", default_value_t = 0)]
        waiting: u32,
        #[command(flatten)]
        pull: PullArgs,
    },
    /// Admit only players that show a code; without one, all
    JoinCode {
        #[arg(value_name = "CODE")]
        code: Option<String>,
        #[command(flatten)]
        pull: PullArgs,
    },
    /// Admit only players whose names stand in a file, one a line; without a file, all
    Roster {
        #[arg(value_name = "FILE")]
        file: Option<PathBuf>,
        #[command(flatten)]
        pull: PullArgs,
    },
    /// Let the referee at this address register, without a key and also after the start
    AdmitReferee {
        #[arg(value_name = "URL")]
        endpoint: String,
        #[command(flatten)]
        pull: PullArgs,
    },
    /// Let several players answer at one address
    ShareAddress {
        #[arg(value_name = "URL")]
        endpoint: String,
        #[command(flatten)]
        pull: PullArgs,
    },
    /// Give an agent another name
    Rename {
        #[arg(value_name = "AGENT")]
        agent: String,
        #[arg(value_name = "NAME")]
        name: String,
        #[command(flatten)]
        pull: PullArgs,
    },
    /// Let a player leave: its results count, and it loses the rest
    Withdraw {
        #[arg(value_name = "PLAYER", value_parser = player_id)]
        player: PlayerId,
        #[command(flatten)]
        pull: PullArgs,
    },
    /// Take a player out as if it had never played; before the start its seat is free again
    Remove {
        #[arg(value_name = "PLAYER", value_parser = player_id)]
        player: PlayerId,
        #[command(flatten)]
        pull: PullArgs,
    },
    /// Put a player out by a rule, and say what becomes of the matches that it played
    Disqualify {
        #[arg(value_name = "PLAYER", value_parser = player_id)]
        player: PlayerId,
        /// What becomes of its results
        #[arg(long, value_enum)]
        played: Played,
        #[command(flatten)]
        pull: PullArgs,
    },
    /// Let a player take part again that is out
    Reinstate {
        #[arg(value_name = "PLAYER", value_parser = player_id)]
        player: PlayerId,
        #[command(flatten)]
        pull: PullArgs,
    },
    /// Do not count a match
    Annul {
        #[arg(value_name = "MATCH", value_parser = match_id)]
        match_id: MatchId,
        #[command(flatten)]
        pull: PullArgs,
    },
    /// Play a match again, after the last round; its first result does not count
    Replay {
        #[arg(value_name = "MATCH", value_parser = match_id)]
        match_id: MatchId,
        #[command(flatten)]
        pull: PullArgs,
    },
    /// Set how a match counts; the result that it had stays in the record
    Rule {
        #[arg(value_name = "MATCH", value_parser = match_id)]
        match_id: MatchId,
        #[command(flatten)]
        result: RuledResult,
        #[command(flatten)]
        pull: PullArgs,
    },
    /// Give more time for each answer, to the players of one match or to one player
    Extend {
        #[command(flatten)]
        clock: Clock,
        #[arg(long, value_name = "N", value_parser = number::<u32>(1..=MAX_EXTENSION as u64))]
        seconds: u32,
        #[command(flatten)]
        pull: PullArgs,
    },
    /// Give an agent a new return token, and void what it had
    NewToken {
        #[arg(value_name = "AGENT")]
        agent: String,
        #[command(flatten)]
        pull: PullArgs,
    },
    /// Let an agent that lost its tokens register once without them, within 30 minutes
    Readmit {
        #[arg(value_name = "AGENT")]
        agent: String,
        #[command(flatten)]
        pull: PullArgs,
    },
    /// Show a message to all on the page; no agent is sent anything
    Announce {
        #[arg(value_name = "TEXT", value_parser = short_text)]
        text: String,
        #[command(flatten)]
        pull: PullArgs,
    },
    /// End the league now; matches without a result do not count
    End {
        #[command(flatten)]
        pull: PullArgs,
    },
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

impl AdminArgs {
    pub(crate) fn run(&self, out: &mut impl Write) -> Result<Exit, CommandError> {
        if let LeverCommand::Key { pull } = &self.lever {
            return pull.print_key(out);
        }
        let (pull, arguments) = self.lever.arguments()?;
        pull.run(arguments, out)
    }
}

impl LeverCommand {
    /// The arguments of the tool `admin` for this command.
    #[expect(clippy::too_many_lines, reason = "one arm for each lever")]
    fn arguments(&self) -> Result<(&PullArgs, Value), CommandError> {
        Ok(match self {
            Self::Start { pull } => (pull, json!({"lever": "start"})),
            Self::Pause { pull } => (pull, json!({"lever": "pause"})),
            Self::Resume { pull } => (pull, json!({"lever": "resume"})),
            Self::OpenRegistration { until, pull } => {
                (pull, json!({"lever": "open_registration", "until": until}))
            }
            Self::CloseRegistration { pull } => (pull, json!({"lever": "close_registration"})),
            Self::Capacity {
                players,
                waiting,
                pull,
            } => {
                let lever = "set_capacity";
                (
                    pull,
                    json!({"lever": lever, "players": players, "waiting": waiting}),
                )
            }
            Self::JoinCode { code, pull } => {
                (pull, json!({"lever": "set_join_code", "join_code": code}))
            }
            Self::Roster { file, pull } => {
                let names = file.as_ref().map(read_names).transpose()?;
                (pull, json!({"lever": "set_roster", "names": names}))
            }
            Self::AdmitReferee { endpoint, pull } => {
                let lever = "admit_referee";
                (pull, json!({"lever": lever, "contact_endpoint": endpoint}))
            }
            Self::ShareAddress { endpoint, pull } => {
                let lever = "share_address";
                (pull, json!({"lever": lever, "contact_endpoint": endpoint}))
            }
            Self::Rename { agent, name, pull } => (
                pull,
                json!({"lever": "rename", "agent": agent, "name": name}),
            ),
            Self::Withdraw { player, pull } => {
                (pull, json!({"lever": "withdraw", "player_id": player}))
            }
            Self::Remove { player, pull } => {
                (pull, json!({"lever": "remove", "player_id": player}))
            }
            Self::Reinstate { player, pull } => {
                (pull, json!({"lever": "reinstate", "player_id": player}))
            }
            Self::Disqualify {
                player,
                played,
                pull,
            } => {
                let played = match played {
                    Played::Kept => "kept",
                    Played::Annulled => "annulled",
                };
                let lever = "disqualify";
                (
                    pull,
                    json!({"lever": lever, "player_id": player, "played": played}),
                )
            }
            Self::Annul { match_id, pull } => {
                (pull, json!({"lever": "annul", "match_id": match_id}))
            }
            Self::Replay { match_id, pull } => {
                (pull, json!({"lever": "replay", "match_id": match_id}))
            }
            Self::Rule {
                match_id,
                result,
                pull,
            } => {
                let (winner, draw, both) = (&result.winner, result.draw, result.both_lose);
                let ruling = json!({
                    "lever": "rule", "match_id": match_id, "winner": winner, "draw": draw,
                    "both_lose": both,
                });
                (pull, ruling)
            }
            Self::Extend {
                clock,
                seconds,
                pull,
            } => match &clock.of_match {
                Some(match_id) => (
                    pull,
                    json!({"lever": "extend_match", "match_id": match_id, "seconds": seconds}),
                ),
                None => {
                    let player = &clock.of_player;
                    (
                        pull,
                        json!({"lever": "extend_player", "player_id": player, "seconds": seconds}),
                    )
                }
            },
            Self::NewToken { agent, pull } => (pull, json!({"lever": "new_token", "agent": agent})),
            Self::Readmit { agent, pull } => (pull, json!({"lever": "readmit", "agent": agent})),
            Self::Announce { text, pull } => (pull, json!({"lever": "announce", "text": text})),
            Self::End { pull } => (pull, json!({"lever": "end"})),
            Self::Key { pull } => (pull, Value::Null),
        })
    }
}

impl PullArgs {
    fn print_key(&self, out: &mut impl Write) -> Result<Exit, CommandError> {
        let common = &self.inquiry.common;
        print_calls(common);
        let manager = self.inquiry.client()?;
        let failed = |error: AskError| unanswered("could not find the league", &manager, &error);
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

    fn run(&self, arguments: Value, out: &mut impl Write) -> Result<Exit, CommandError> {
        let common = &self.inquiry.common;
        print_calls(common);
        let Value::Object(mut arguments) = arguments else {
            return Ok(Exit::Yes);
        };
        arguments.retain(|_, value| !value.is_null());
        let name = arguments["lever"].as_str().unwrap_or_default();
        let needs_reason = find_lever(name).is_some_and(|entry| entry.needs_reason);
        if needs_reason
            && self
                .reason
                .as_deref()
                .is_none_or(|text| text.trim().is_empty())
        {
            return Err(CommandError::usage(
                WHAT,
                "this lever takes something from a player, and everybody should know why",
                "add `--reason TEXT`",
            ));
        }
        if let Some(reason) = &self.reason {
            arguments.insert("reason".to_owned(), reason.as_str().into());
        }
        let manager = self.inquiry.client()?;
        let told = runtime()?.block_on(self.pull(&manager, arguments))?;
        self.print(&told, &manager, out)?;
        Ok(Exit::Yes)
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
