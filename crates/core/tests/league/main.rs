//! The league manager, tested as it is used: given what happened, when a command comes, then this
//! is noted, answered and sent.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on has failed, in a function beside it too"
)]

mod agents;
mod audit;
mod broadcast;
mod forfeits;
mod forgery;
mod hands;
mod journal;
mod proof;
mod queries;
mod referees;
mod refused;
mod registration;
mod reporting;
mod reports;
mod rounds;
mod speech;
mod standings;
mod whole;
mod world;
