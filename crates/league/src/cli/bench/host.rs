//! A process that `league bench` or a test starts: it reads what to host, hosts it, and ends with its
//! standard input.

use std::io::{self, BufRead};
use std::path::Path;
use std::process::Command;

use serde::{Deserialize, Serialize};

use crate::cli::Exit;
use crate::cli::bench::appends::AppendsPlan;
use crate::cli::bench::floor::{self, FloorPlan};
use crate::cli::bench::players::PlayersPlan;
use crate::cli::bench::process::{Launcher, Process};
use crate::cli::failure::CommandError;
use crate::cli::runtime::runtime;

/// What a process hosts.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) enum HostPlan {
    Floor(FloorPlan),
    Players(PlayersPlan),
    Appends(AppendsPlan),
}

impl HostPlan {
    /// Starts a process of the program that hosts this.
    pub(crate) fn start(&self, program: &Path, launcher: Launcher<'_>) -> io::Result<Process> {
        let mut command = Command::new(program);
        let mut process = launcher.start(command.args(["bench", "--host"]))?;
        process.say(&serde_json::to_string(self)?)?;
        Ok(process)
    }
}

/// Hosts what the first line of the standard input says.
pub(crate) fn host(what: &str) -> Result<Exit, CommandError> {
    let failed = |error: io::Error| {
        let hint = "`league bench` starts it; do not start it yourself";
        CommandError::world(what, error.to_string(), hint)
    };
    let plan: HostPlan = read_line().map_err(failed)?;
    match plan {
        HostPlan::Floor(plan) => runtime()?.block_on(floor::host(&plan)).map_err(failed)?,
        HostPlan::Players(plan) => plan.host(what)?,
        HostPlan::Appends(plan) => plan.host(what)?,
    }
    Ok(Exit::Yes)
}

pub(crate) fn read_line<T: serde::de::DeserializeOwned>() -> io::Result<T> {
    let mut line = String::new();
    io::stdin().lock().read_line(&mut line)?;
    Ok(serde_json::from_str(&line)?)
}
