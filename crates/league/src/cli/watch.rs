//! `league watch`: the live table of a running league.
//!
//! On a terminal it is drawn anew several times a second, elsewhere it is printed when it changes.

mod lines;
mod live;
mod scene;
mod screen;

use std::io::{self, IsTerminal, Write};
use std::time::Duration;

use clap::Args;

use super::asking::inquirer;
use super::common::{Common, runtime};
use super::failure::Failure;
use super::{Answer, Output};
use scene::Watcher;

/// How long to wait before the manager is asked again.
const GAP: Duration = Duration::from_millis(250);

/// Show the live table of a running league
///
/// On a terminal, `q` quits. Elsewhere, or with --output json, the table is printed whenever it
/// changes, until the league is over.
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Examples:
  league watch
  league watch http://localhost:9000/mcp            or with --manager, as elsewhere
  league watch --output json | jq '.standings[0].display_name'")]
pub(super) struct Watch {
    /// Where the league manager answers [default: from config, http://localhost:8000/mcp]
    #[arg(value_name = "URL")]
    url: Option<String>,
    /// The same, as the other commands take it
    #[arg(long, value_name = "URL", conflicts_with = "url")]
    manager: Option<String>,
    #[command(flatten)]
    common: Common,
}

impl Watch {
    pub(super) fn run(&self, out: &mut impl Write) -> Result<Answer, Failure> {
        let watcher = Watcher::new(
            inquirer(
                &self.common,
                self.manager.as_deref().or(self.url.as_deref()),
            )?,
            self.common.root(),
        );
        let runtime = runtime()?;
        if self.common.output == Output::Text && io::stdout().is_terminal() {
            return live::watch(&runtime, watcher);
        }
        runtime.block_on(lines::watch(watcher, &self.common, out))
    }
}
