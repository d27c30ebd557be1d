//! Rules against scripted agents: fair ones pass, and each broken one is caught by its rule.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on has failed, in a function beside it too"
)]

mod broken;
mod clumsy;
mod failures;
mod lacking;
mod mcp;
mod player;
mod registrations;
mod restarts;
mod servers;
mod strict;
