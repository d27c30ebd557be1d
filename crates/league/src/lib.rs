//! The house around the machines of a league: files, journal, servers, post, strategies.
//!
//! Agents are run by the binary of the same name. What other programs may use as a library is
//! [`config`], [`repository`] and [`log`] below a [`root`], the toolkit of 000 chapter 10,
//! [`strategy`], and [`entrant`] for a player of one's own.

pub mod agent;
pub mod archivist;
pub mod arena;
pub mod ask;
pub mod bot;
pub mod chance;
pub mod clock;
pub mod config;
pub mod correspondence;
pub mod desk;
pub mod deviations;
pub mod entrant;
pub mod identity;
pub mod log;
pub mod net;
pub mod observed;
pub mod paragraph;
pub mod peers;
pub mod post;
pub mod projection;
pub mod reading_room;
pub mod reception;
pub mod record;
pub mod replay;
pub mod repository;
pub mod root;
pub mod secrets;
pub mod store;
pub mod strategy;
pub mod traffic;
pub mod transcript;
pub mod turnstile;
pub mod verify;
pub mod web;

/// Keeps the page on the toolkit true: its examples are compiled and run with the other tests.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/library.md")]
struct Toolkit;
