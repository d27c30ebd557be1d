//! A player of the league in Rust, for every game.
//!
//!     cargo run -- --port 8101 --manager http://localhost:8000/mcp --name "My Player"
//!
//! The crate `league-kit` has everything but the strategy: the server, the messages and their rules,
//! proofs, and a file for restarts. Write your own strategy in `choose`.

use std::process::ExitCode;
use std::sync::Arc;

use league_kit::{ChoiceError, Dice, Entrant, Kit, MatchRecord, Think, Value};

/// Your player; it may keep any state between two moves.
#[derive(Default)]
struct MyPlayer;

impl Entrant for MyPlayer {
    /// Returns one of `think.options`, the legal moves: your strategy.
    ///
    /// `think` also has the game, the position as you may see it (`view`), the opponent's id, such as
    /// `P02`, and what you know of it. `history` lists your matches, oldest first: the opponent, both
    /// choices, the result. If the choice is not legal, a random move is played and the error printed.
    fn choose(
        &mut self,
        think: &Think,
        _history: &[Arc<MatchRecord>],
        dice: &mut Dice,
    ) -> Result<Value, ChoiceError> {
        let choice = dice.pick(&think.options);
        Ok(choice.ok_or("there is no legal move")?.clone())
    }
}

fn main() -> ExitCode {
    Kit::main("My Player", MyPlayer)
}
