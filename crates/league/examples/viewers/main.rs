//! What viewers cost a league: `cargo xtask viewers` calls it.
//!
//! The league is a process of its own, so that the system tells what it spends; the viewers are in
//! this one, and what they spend is not counted.
#![expect(
    clippy::print_stdout,
    reason = "a person asks for figures and reads them"
)]

mod crowd;
mod events;
#[path = "../shared/league.rs"]
mod league;
mod measure;
#[path = "../shared/sockets.rs"]
mod sockets;
#[path = "../shared/spread.rs"]
mod spread;
mod table;
mod weight;

use std::io;
use std::process::ExitCode;

use clap::Parser;

#[tokio::main]
async fn main() -> io::Result<ExitCode> {
    let options = measure::Options::parse();
    sockets::provide(options.viewers)?;
    let program = league::program()?;
    let rows = measure::measure(&program, &options).await?;
    let weights = weight::weigh(&program).await?;
    table::tell(&rows, &options);
    weight::tell(&weights);
    println!("test result: ok");
    Ok(ExitCode::SUCCESS)
}
