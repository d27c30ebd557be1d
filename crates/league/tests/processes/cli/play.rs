//! `league play`.

use super::league;

#[test]
fn strategy_that_does_not_know_the_game_is_refused() {
    let shown = league(&["play", "--game", "nim", "--against", "minimax"], "");
    assert!(shown.starts_with("exit code 2\n"), "{shown}");
    assert!(shown.contains("does not know the game `nim`"), "{shown}");
}
