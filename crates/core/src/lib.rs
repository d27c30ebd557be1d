//! The decisions of a league: machines without clock, file or socket.
//!
//! Four of them, with one shape ([`machine::Machine`]): a [`league::League`] that registers
//! agents, makes rounds and keeps the standings; a [`referee::Referee`] that runs matches, each of
//! them a machine of its own; and a [`player::Player`] that comes, moves and remembers.
//!
//! A machine is given a command and the time, and answers with facts and a reply. The facts that
//! must survive are written down by whoever owns the machine, then taken in; the letters that
//! follow from them are carried out by others. So the same commands always give the same league.

pub mod breaker;
pub mod draw;
pub mod league;
pub mod letter;
pub mod machine;
pub mod player;
pub mod referee;
pub mod timeouts;
