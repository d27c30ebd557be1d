//! `league check`: our own agents keep every rule, and broken ones are caught by the right rule.

mod managers;
mod mutations;
mod ours;
mod processes;
mod referees;
mod reports;
mod trials;
