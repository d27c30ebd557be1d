//! The machines, tested as they are used: given these events, when a command comes, then these
//! events, answers and letters follow.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on has failed, in a function beside it too"
)]

mod coverage;
mod judge;
mod lab;
mod league;
mod local;
mod player;
mod referee;
mod strategy;
