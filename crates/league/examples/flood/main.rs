//! What a flood costs honest agents: `cargo xtask campaign flood` calls it.
//!
//! A league is played in a process of its own while peers in this process flood its agents and
//! others only hold connections to them. The same league is played while the same peers do the same
//! to a server that belongs to nobody: the machine is as busy then, and the league is left alone.
#![expect(
    clippy::print_stdout,
    reason = "a person asks for figures and reads them"
)]

mod bystander;
mod honest;
mod league;
mod measure;
mod peers;
mod sockets;
mod spread;
mod wire;

use std::io;
use std::process::ExitCode;

use clap::Parser;

#[tokio::main]
async fn main() -> io::Result<ExitCode> {
    let options = measure::Options::parse();
    // Both ends, if the peers go to the server in this process.
    sockets::provide(4 * options.peers)?;
    let program = league::program()?;
    let rounds = measure::measure(&program, &options).await?;
    let held = measure::tell(&rounds, &options);
    println!("test result: {}", if held { "ok" } else { "FAILED" });
    Ok(if held {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}
