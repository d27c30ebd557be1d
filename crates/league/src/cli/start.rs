//! `league start`: starts the league of a running manager.

use std::io::Write;

use clap::Args;
use serde_json::json;

use crate::cli::failure::CommandError;
use crate::cli::inquiry::{InquiryArgs, OTHER_ROOT, unanswered};
use crate::cli::runtime::{print_calls, runtime};
use crate::cli::text::{count, print_object};
use crate::cli::{Exit, Output};
use crate::wire::ask::{AskError, Health, ManagerClient, State};

const WHAT: &str = "could not start the league";

/// Start the league of a running manager by hand
///
/// This takes a token that the manager keeps in a file below its root, so give both the same --root.
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Examples:
  league manager --players 0          a manager that waits
  league start                        … and is started
  league start --manager http://localhost:9000/mcp --root SHARED")]
pub(crate) struct StartArgs {
    #[command(flatten)]
    inquiry: InquiryArgs,
}

impl StartArgs {
    pub(crate) fn run(&self, out: &mut impl Write) -> Result<Exit, CommandError> {
        let common = &self.inquiry.common;
        print_calls(common);
        let manager = self.inquiry.client()?;
        let Health {
            league_id,
            players,
            referees,
            rounds,
            matches,
            ..
        } = runtime()?.block_on(self.start(&manager))?;
        if common.output == Output::Json {
            let object = json!({
                "event": "started", "league_id": league_id, "players": players,
                "referees": referees, "rounds": rounds, "matches": matches,
            });
            print_object(out, &object)?;
        } else if !common.quiet {
            let players = count(players.into(), "player");
            let rounds = count(rounds.into(), "round");
            let matches = count(matches, "match");
            writeln!(
                out,
                "league `{league_id}` has started: {players}, {rounds}, {matches}"
            )?;
            let (endpoint, ca) = (manager.endpoint(), self.inquiry.trust.flag());
            writeln!(out, "watch it with `league watch {endpoint}{ca}`")?;
        }
        Ok(Exit::Yes)
    }

    async fn start(&self, manager: &ManagerClient) -> Result<Health, CommandError> {
        let failed = |error: AskError| unanswered(WHAT, manager, &error);
        let before = manager.health().await.map_err(failed)?;
        let admin = self.inquiry.admin_token(&before.league_id)?;
        match manager.start(&admin).await {
            Err(AskError::Refused { sentence, .. }) => Err(refused(sentence, &before, manager)),
            other => other.map_err(failed),
        }?;
        manager.health().await.map_err(failed)
    }
}

/// The manager refused: the token, or because the league cannot start now.
fn refused(sentence: String, before: &Health, manager: &ManagerClient) -> CommandError {
    let hint = if sentence.contains("token") {
        OTHER_ROOT.to_owned()
    } else if before.state == State::Registering {
        "start more agents with `league player` and `league referee`, then try again".to_owned()
    } else {
        format!(
            "see its progress with `league watch {}`",
            manager.endpoint()
        )
    };
    CommandError::refused(WHAT, sentence, hint)
}
