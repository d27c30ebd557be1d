//! The league manager, tested as it is used: given what happened, when a command comes, then this
//! is noted, answered and sent.

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
mod reports;
mod rounds;
mod speech;
mod standings;
mod whole;
