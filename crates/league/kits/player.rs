//! A player of the Even/Odd league, built with the crates of the league.
//!
//!     cargo run -- --port 8101 --manager http://localhost:8000/mcp --name "My Player"
//!
//! The crate `league` has everything but the strategy: the web server, JSON-RPC and MCP, the messages
//! and their rules, tokens, and a journal for restarts. Write your own strategy in `choose`.

use std::error::Error;
use std::io::Write;
use std::sync::Arc;

use league::entrant::{Dice, Entrant, MatchRecord};

/// Returns `even` or `odd`: your strategy.
///
/// `opponent` is the id of the other player, such as `P02`. `history` lists your matches, oldest
/// first: the opponent, both choices, the result.
fn choose(_opponent: &str, _history: &[Arc<MatchRecord>], dice: &mut Dice) -> &'static str {
    match dice.roll(1..=2) {
        1 => "even",
        _ => "odd",
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    entrant(std::env::args().skip(1))?.play(choose, tell)?;
    Ok(())
}

/// Prints what happens.
fn tell(said: &str) {
    // Standard output may be closed; the player continues.
    let _ = writeln!(std::io::stdout(), "{said}");
}

/// Reads the command line.
fn entrant(mut arguments: impl Iterator<Item = String>) -> Result<Entrant, Box<dyn Error>> {
    let mut entrant = Entrant {
        name: "My Player".to_owned(),
        port: 8101,
        host: None,    // only this machine; in a network, the address of this machine
        manager: None, // from the files below the root, by default http://localhost:8000/mcp
        root: "SHARED".into(), // configuration, memory and token
    };
    while let Some(option) = arguments.next() {
        let value = arguments.next().ok_or(format!("{option} needs a value"))?;
        match option.as_str() {
            "--name" => entrant.name = value,
            "--port" => entrant.port = value.parse()?,
            "--host" => entrant.host = Some(value.parse()?),
            "--manager" => entrant.manager = Some(value),
            "--root" => entrant.root = value.into(),
            _ => {
                return Err(format!(
                    "unknown option {option}; there are --port, --host, --manager, --name, --root"
                )
                .into());
            }
        }
    }
    Ok(entrant)
}
