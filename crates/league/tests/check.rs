//! `league check`: our own agents keep every rule, and broken ones are caught by the right rule.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on has failed, in a function beside it too"
)]

#[path = "check/broken.rs"]
mod broken;
#[path = "check/managers.rs"]
mod managers;
#[path = "check/mcp.rs"]
mod mcp;
#[path = "check/ours.rs"]
mod ours;
#[path = "check/processes.rs"]
mod processes;
#[path = "check/referees.rs"]
mod referees;
#[path = "check/reports.rs"]
mod reports;
#[path = "check/scripted.rs"]
mod scripted;
#[path = "check/servers.rs"]
mod servers;
#[path = "check/strict.rs"]
mod strict;
