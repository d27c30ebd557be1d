//! Rounds in which the servers are called in turn, so that a busy moment of the machine hits all.

use std::io;
use std::process::{Command, ExitCode};

use clap::Args;

use crate::instructions;
use crate::load::Load;
use crate::requests::{Form, RequestTemplate};
use crate::servers::{Agents, Server};
use crate::table;

/// How the measuring is called.
#[derive(Args)]
pub(crate) struct Options {
    /// How many rounds there are.
    #[arg(long, default_value_t = 7)]
    rounds: usize,
    /// How many calls each server answers in each form and round.
    #[arg(long, default_value_t = 40_000)]
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
    pub(crate) wanted: RequestTemplate,
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

/// In how many slices the calls of a round are made.
const SLICES: u32 = 50;
/// Calls before any is counted.
const WARM_UP: u32 = 2_000;
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
    let (bare, again, ours) = (start("bare")?, start("bare")?, start("server")?);
    // Cargo builds examples in a folder beside the programs.
    let league = ourselves.ancestors().nth(2);
    let league = league.map(|folder| folder.join("league"));
    let agents = Agents::start(&league.unwrap_or_default())?;
    let mut rows = rows(&bare, &again, &ours, &agents.player);
    let mut loads = Vec::new();
    for row in &rows {
        let (address, wanted) = (row.server.address, row.wanted.clone());
        let mut load = Load::open(address, wanted, options.connections, row.expected).await?;
        load.call(WARM_UP).await?;
        loads.push(load);
    }
    for round in 0..options.rounds {
        println!("round {} of {}…", round + 1, options.rounds);
        let costs = turn(&rows, &mut loads, options.calls).await?;
        for (row, cost) in rows.iter_mut().zip(costs) {
            row.cost.push(cost);
        }
    }
    if options.instructions {
        for row in &mut rows {
            if let Some(part) = row.part {
                row.instructions = Some(instructions::count(part, &row.wanted).await?);
            }
        }
    }
    Ok(table::tell(&rows))
}

/// Has the servers called in short slices, one after the other, and returns what a call cost each,
/// in microseconds.
async fn turn(rows: &[Row<'_>], loads: &mut [Load], calls: u32) -> io::Result<Vec<f64>> {
    let mut spent = vec![(0_u64, 0_u32); rows.len()];
    for slice in 0..SLICES {
        for place in 0..rows.len() {
            // Who comes first is another in every slice.
            let place = (place + slice as usize) % rows.len();
            let before = rows[place].server.spent()?;
            let called = loads[place].call(calls / SLICES).await?;
            let (nanoseconds, all) = &mut spent[place];
            *nanoseconds += rows[place].server.spent()? - before;
            *all += called;
        }
    }
    let cost = |(nanoseconds, all)| nanoseconds as f64 / 1e3 / f64::from(all);
    Ok(spent.into_iter().map(cost).collect())
}

fn rows<'s>(
    bare: &'s Server,
    again: &'s Server,
    ours: &'s Server,
    player: &'s Server,
) -> Vec<Row<'s>> {
    let row = |name, server, wanted| Row {
        name,
        server,
        wanted,
        expected: "parity_choice",
        bound: None,
        cost: Vec::new(),
        part: None,
        instructions: None,
    };
    let bare_one = |name, server| Row {
        part: Some("bare"),
        ..row(name, server, RequestTemplate::choice(Form::Simple))
    };
    let our_row = |name, form, bound| Row {
        part: Some("server"),
        bound,
        ..row(name, ours, RequestTemplate::choice(form))
    };
    let state = |name, form| Row {
        expected: "player_id",
        ..row(
            name,
            player,
            RequestTemplate::call(form, "get_player_state", "{}"),
        )
    };
    vec![
        bare_one("bare handler", bare),
        bare_one("the same again", again),
        our_row("server, by name", Form::Simple, Some(SIMPLE_BOUND)),
        our_row("server, MCP 2025-11-25", Form::Legacy, Some(MCP_BOUND)),
        our_row("server, MCP 2026-07-28", Form::Modern, Some(MCP_BOUND)),
        our_row("server, 2026-07-28 by `rmcp`", Form::Relayed, None),
        Row {
            expected: "ok",
            ..row(
                "player, `ping`",
                player,
                RequestTemplate::call(Form::Simple, "ping", "{}"),
            )
        },
        state("player, state by name", Form::Simple),
        state("player, state, 2025-11-25", Form::Legacy),
        state("player, state, 2026-07-28", Form::Modern),
    ]
}
