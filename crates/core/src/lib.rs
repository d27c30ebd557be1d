//! The decisions of a league: machines without clock, file or socket.
//!
//! They share the trait [`machine::Machine`]: a [`league::League`] registers agents, opens rounds
//! and keeps the standings; a [`referee::Referee`] runs matches; a [`player::Player`] joins, moves
//! and remembers.
//!
//! A machine receives a command and the time, and returns events and an answer. Its owner writes
//! the events that must survive, applies them, and sends the letters that follow. So the same
//! commands always give the same league.

pub mod breaker;
pub mod draw;
pub mod entrant;
pub mod forecast;
pub mod judge;
pub mod lab;
pub mod league;
pub mod letter;
pub mod local;
pub mod machine;
pub mod player;
pub mod rating;
pub mod referee;
pub mod strategy;
pub mod timeouts;
