//! Rounds in which every server is called in turn, so that a busy moment of the machine hits all.

use std::io;
use std::process::{Command, ExitCode};
use std::sync::Arc;

use clap::Args;

use crate::instructions;
use crate::load::{load, once};
use crate::requests::{Form, Wanted};
use crate::servers::{Agents, Server, TICK};
use crate::table;

/// How the measuring is called.
#[derive(Args)]
pub(crate) struct Options {
    /// How many rounds there are.
    #[arg(long, default_value_t = 7)]
    rounds: usize,
    /// How many calls each server answers in each form and round.
    #[arg(long, default_value_t = 50_000)]
    calls: u32,
    /// Over how many connections.
    #[arg(long, default_value_t = 16)]
    connections: u32,
    /// Also count instructions; needs `valgrind`.
    #[arg(long)]
    instructions: bool,
}

/// One line of the table.
pub(crate) struct Row<'s> {
    pub(crate) name: &'static str,
    pub(crate) server: &'s Server,
    pub(crate) wanted: Arc<Wanted>,
    /// What must stand in the answer.
    pub(crate) expected: &'static str,
    /// The most that a call may cost, in calls of the bare handler.
    pub(crate) bound: Option<f64>,
    /// Microseconds of processor time for one call, round by round.
    pub(crate) cost: Vec<f64>,
    /// Which part of this program its server is; none for a real agent.
    pub(crate) part: Option<&'static str>,
    /// Instructions for one call, if they were counted.
    pub(crate) instructions: Option<f64>,
}

/// How often the bare handler's cost a call by the name of a tool may be.
const SIMPLE_BOUND: f64 = 1.25;
/// The same for a call of MCP.
const MCP_BOUND: f64 = 3.0;

/// Measures and prints; fails if a bound does not hold.
///
/// # Errors
///
/// A server may not start, or answer otherwise than it should.
pub(crate) async fn measure(options: &Options) -> io::Result<ExitCode> {
    let ourselves = std::env::current_exe()?;
    let start = |part: &str| Server::start(Command::new(&ourselves).arg(part));
    let (bare, again, door) = (start("bare")?, start("bare")?, start("door")?);
    // Cargo builds examples in a folder beside the programs.
    let league = ourselves
        .ancestors()
        .nth(2)
        .map(|folder| folder.join("league"));
    let agents = Agents::start(&league.unwrap_or_default())?;
    let mut rows = rows(&bare, &again, &door, &agents.player);
    for row in &rows {
        let answer = once(row.server.address, &row.wanted).await?;
        let answer = String::from_utf8_lossy(&answer);
        if !answer.contains(row.expected) {
            let told = format!("`{}` is answered by {answer}", row.name);
            return Err(io::Error::other(told));
        }
        load(
            row.server.address,
            &row.wanted,
            options.calls / 10,
            options.connections,
        )
        .await?;
    }
    for round in 0..options.rounds {
        println!("round {} of {}…", round + 1, options.rounds);
        let length = rows.len();
        for place in 0..length {
            // Who comes first is another in every round.
            let row = &mut rows[(place + round) % length];
            row.cost.push(spend(row, options).await?);
        }
    }
    if options.instructions {
        for row in &mut rows {
            if let Some(part) = row.part {
                row.instructions = Some(instructions::count(part, &row.wanted).await?);
            }
        }
    }
    let per_tick = TICK.as_secs_f64() * 1e6 / f64::from(options.calls);
    Ok(table::tell(&rows, per_tick))
}

/// Has a server called and returns what one call cost it, in microseconds.
async fn spend(row: &Row<'_>, options: &Options) -> io::Result<f64> {
    let (calls, connections) = (options.calls, options.connections);
    let before = row.server.spent()?;
    load(row.server.address, &row.wanted, calls, connections).await?;
    let spent = row.server.spent()?.saturating_sub(before);
    // The call that tells how long an answer is counts as well.
    Ok(spent.as_secs_f64() * 1e6 / (f64::from(calls) + 1.0))
}

fn rows<'s>(
    bare: &'s Server,
    again: &'s Server,
    door: &'s Server,
    player: &'s Server,
) -> Vec<Row<'s>> {
    let row = |name, server, wanted| Row {
        name,
        server,
        wanted: Arc::new(wanted),
        expected: "parity_choice",
        bound: None,
        cost: Vec::new(),
        part: None,
        instructions: None,
    };
    let bare_one = |name, server| Row {
        part: Some("bare"),
        ..row(name, server, Wanted::choice(Form::Simple))
    };
    let at_door = |name, form, bound| Row {
        part: Some("door"),
        bound,
        ..row(name, door, Wanted::choice(form))
    };
    let state = |name, form| Row {
        expected: "player_id",
        ..row(name, player, Wanted::call(form, "get_player_state", "{}"))
    };
    vec![
        bare_one("bare handler", bare),
        bare_one("the same again", again),
        at_door("door, by name", Form::Simple, Some(SIMPLE_BOUND)),
        at_door("door, MCP 2025-11-25", Form::Legacy, Some(MCP_BOUND)),
        at_door("door, MCP 2026-07-28", Form::Modern, Some(MCP_BOUND)),
        at_door("door, 2026-07-28 by `rmcp`", Form::Relayed, None),
        Row {
            expected: "ok",
            ..row(
                "player, `ping`",
                player,
                Wanted::call(Form::Simple, "ping", "{}"),
            )
        },
        state("player, state by name", Form::Simple),
        state("player, state, 2025-11-25", Form::Legacy),
        state("player, state, 2026-07-28", Form::Modern),
    ]
}
