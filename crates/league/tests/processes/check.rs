//! `league check`: our own agents keep every rule, and broken ones are caught by the right rule.

mod broken;
mod managers;
mod mcp;
mod ours;
mod processes;
mod referees;
mod reports;
mod scripted;
mod servers;
mod strict;
