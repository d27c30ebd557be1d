//! The house around the machines of a league: files, journal, servers, post, strategies.
//!
//! Agents are run by the binary of the same name. What other programs may use as a library is
//! [`config`], [`repository`] and [`log`] below a [`root`], the toolkit of 000 chapter 10, and
//! [`strategy`].

pub mod clock;
pub mod config;
pub mod log;
pub mod projection;
pub mod record;
pub mod replay;
pub mod repository;
pub mod root;
pub mod store;
pub mod strategy;
pub mod verify;

/// Keeps the page on the toolkit true: its examples are compiled and run with the other tests.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/library.md")]
struct Toolkit;
