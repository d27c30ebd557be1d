//! From facts to what pages show: leagues by hand, and what is seen of them.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on has failed, in a function beside it too"
)]

#[path = "facts/board.rs"]
mod board;
#[path = "facts/pages.rs"]
mod pages;
#[path = "facts/replay.rs"]
mod replay;
#[path = "facts/rounds.rs"]
mod rounds;
#[path = "facts/season.rs"]
mod season;
#[path = "facts/tables.rs"]
mod tables;
