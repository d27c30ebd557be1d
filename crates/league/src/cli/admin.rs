//! `league admin`: what the organiser decides in a running league.

use std::io::Write;

use clap::{Args, Subcommand};
use serde_json::json;

use crate::cli::failure::CommandError;
use crate::cli::inquiry::{InquiryArgs, unanswered};
use crate::cli::runtime::{print_calls, runtime};
use crate::cli::text::print_object;
use crate::cli::{Exit, Output};
use crate::wire::ask::{AskError, ManagerClient};

/// Decide, as the organiser, in a running league
///
/// Each decision is written to the league's journal. It takes a token that the manager keeps in a
/// file below its root, so give both the same --root.
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Examples:
  league admin admit-referee http://localhost:8003/mcp     also after the league has begun")]
pub(crate) struct AdminArgs {
    #[command(subcommand)]
    decision: Decision,
}

#[derive(Debug, Clone, Subcommand)]
enum Decision {
    AdmitReferee(AdmitRefereeArgs),
}

/// Let the referee at this address register, without a key and also after the start
#[derive(Debug, Clone, Args)]
struct AdmitRefereeArgs {
    /// Where the referee answers, such as http://localhost:8003/mcp
    #[arg(value_name = "URL")]
    endpoint: String,
    #[command(flatten)]
    inquiry: InquiryArgs,
}

impl AdminArgs {
    pub(crate) fn run(&self, out: &mut impl Write) -> Result<Exit, CommandError> {
        match &self.decision {
            Decision::AdmitReferee(args) => args.run(out),
        }
    }
}

impl AdmitRefereeArgs {
    fn run(&self, out: &mut impl Write) -> Result<Exit, CommandError> {
        let common = &self.inquiry.common;
        print_calls(common);
        let manager = self.inquiry.client()?;
        runtime()?.block_on(self.admit(&manager))?;
        let endpoint = &self.endpoint;
        if common.output == Output::Json {
            let object = json!({"event": "referee_invited", "contact_endpoint": endpoint});
            print_object(out, &object)?;
        } else if !common.quiet {
            writeln!(out, "the referee at {endpoint} may register now")?;
        }
        Ok(Exit::Yes)
    }

    async fn admit(&self, manager: &ManagerClient) -> Result<(), CommandError> {
        const WHAT: &str = "could not admit the referee";
        let failed = |error: AskError| unanswered(WHAT, manager, &error);
        let health = manager.health().await.map_err(failed)?;
        let admin = self.inquiry.admin_token(&health.league_id)?;
        let invited = manager.invite_referee(&self.endpoint, &admin).await;
        invited.map_err(failed)
    }
}
