//! The files below a root: configuration, projections, logs.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on has failed, in a function beside it too"
)]

#[path = "files/config.rs"]
mod config;
#[path = "files/logs.rs"]
mod logs;
#[path = "files/pages.rs"]
mod pages;
#[path = "files/projections.rs"]
mod projections;
#[path = "files/publishers.rs"]
mod publishers;
#[path = "files/replay.rs"]
mod replay;
#[path = "files/repositories.rs"]
mod repositories;
#[path = "files/world.rs"]
mod world;
#[path = "files/wrong_config.rs"]
mod wrong_config;
