//! What a call costs its server, against a handler that does the bare minimum: `cargo xtask cost`
//! calls it.
//!
//! The servers are this same program, each in a process of its own, so that the system tells what
//! each of them spends.
#![expect(
    clippy::print_stdout,
    reason = "a person asks for figures and reads them"
)]

mod bare;
mod choice;
mod instructions;
mod load;
mod measure;
mod requests;
mod server;
mod servers;
#[path = "../shared/spread.rs"]
mod spread;
mod table;

use std::io::{self, Write};
use std::net::Ipv4Addr;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use tokio::net::TcpListener;

#[derive(Parser)]
#[command(name = "cost", about = "What a call costs its server")]
struct CommandLine {
    #[command(subcommand)]
    part: Part,
}

#[derive(Subcommand)]
enum Part {
    /// Serve with as little as possible, until the standard input ends.
    Bare,
    /// Serve with the server of our agents, until the standard input ends.
    Server,
    /// Start the servers, call them in turn, and print what a call cost each of them.
    Measure(measure::Options),
}

#[tokio::main]
async fn main() -> io::Result<ExitCode> {
    match CommandLine::parse().part {
        Part::Bare => serve(bare::serve).await,
        Part::Server => serve(server::serve).await,
        Part::Measure(options) => measure::measure(&options).await,
    }
}

/// Takes a port, says where it is, and serves until the standard input ends.
async fn serve<Serving>(with: impl FnOnce(TcpListener) -> Serving) -> io::Result<ExitCode>
where
    Serving: Future<Output = ()> + Send + 'static,
{
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    let port = listener.local_addr()?.port();
    writeln!(io::stdout(), "http://127.0.0.1:{port}/mcp")?;
    tokio::spawn(with(listener));
    tokio::task::spawn_blocking(|| io::copy(&mut io::stdin(), &mut io::sink())).await??;
    Ok(ExitCode::SUCCESS)
}
