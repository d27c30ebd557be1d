//! Tests that need the inside of this crate and more than one module of it.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on has failed, in a function beside it too"
)]

mod files;
mod lines;
mod store;
mod strategy;
mod verify;
