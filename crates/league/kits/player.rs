//! A player of the Even/Odd league on the crates of the league itself.
//!
//!     cargo run -- --port 8101 --manager http://localhost:8000/mcp --name "My Player"
//!
//! The crate `league` holds a whole player: the web server, JSON-RPC and MCP, the messages and their
//! rules, tokens, and a journal by which it can be stopped and started again. What it lacks is an
//! opinion. Change `choose`, and you have a player of your own.

use std::error::Error;
use std::io::Write;
use std::sync::Arc;

use league::entrant::{Dice, Entrant, MatchRecord};

/// Says `even` or `odd`. This is your part.
///
/// `opponent` is the id of the other player, such as `P02`. `history` lists your matches, the oldest
/// first: who it was, what you chose, what they chose, how it ended.
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
    // Whoever read it may be gone; the player plays on.
    let _ = writeln!(std::io::stdout(), "{said}");
}

/// Reads the command line.
fn entrant(mut arguments: impl Iterator<Item = String>) -> Result<Entrant, Box<dyn Error>> {
    let mut entrant = Entrant {
        name: "My Player".to_owned(),
        port: 8101,
        host: None, // this machine alone; over a network, the address of this machine in it
        manager: None, // the one that the files below the root name, http://localhost:8000/mcp
        root: "SHARED".into(), // where it keeps its settings, its memory and its token
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
