//! The files below a root: configuration, projections, logs.

#[path = "files/config.rs"]
mod config;
