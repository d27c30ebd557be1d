//! The league manager, tested as it is used: given what happened, when a command comes, then this
//! is noted, answered and sent.

mod admission;
mod agents;
mod announcing;
mod audit;
mod broadcast;
mod by_documents;
mod claims;
mod draws;
mod forfeits;
mod forgery;
mod formats;
mod hands;
mod identity;
mod journal;
mod levers;
mod news;
mod offers;
mod proof;
mod queries;
mod referees;
mod refused;
mod registration;
mod reports;
mod rounds;
mod seats;
mod speech;
mod standings;
mod whole;
