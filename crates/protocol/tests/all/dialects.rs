//! Each dialect: what its document shows is read whole, and what we say is spelled its way.

pub(crate) mod additions;
mod examples_001;
mod examples_003;
pub(crate) mod kit;
pub(crate) mod samples;
mod tables;
mod v1;
mod v2;
mod v2_api;
mod wrong;
