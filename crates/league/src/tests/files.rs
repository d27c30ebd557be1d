//! The files below a root: configuration, projections, logs.

mod config;
mod logs;
mod pages;
mod projections;
mod publishers;
mod replay;
mod repositories;
mod wrong_config;
