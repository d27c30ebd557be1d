//! What pages show after given events.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on has failed, in a function beside it too"
)]

mod board;
mod counted;
mod pages;
mod replay;
mod rounds;
mod season;
mod secrecy;
mod tables;
mod views;
